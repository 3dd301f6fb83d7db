"""FMUs of a scenario's `control`, as controllers or motors: stepped once per period, in Python.

At the begin t of a period an FMU gets its inputs as they are at t and is stepped to t + period;
what it then gives is commanded until that time. FMUs are stepped in the order of `control`, so that
a motor gets at t what the controller before it gave for the same period. A master that steps the
controller first and then the rover does the same (`marsyard.fmi`), and gets the same motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.control.expression import (
    OWN_ANGLE,
    OWN_RATE,
    STACK,
    Program,
    compile_expression,
    evaluate,
)
from marsyard.control.fmu import FmuFile, FmuUnit
from marsyard.control.names import STATE_NAMES
from marsyard.errors import InputError, suggest
from marsyard.scenario.fmu import READ, FmuLaw
from marsyard.scenario.schema import whole_ratio
from marsyard.simulation.commands import setpoints
from marsyard.simulation.owner import part_of
from marsyard.simulation.readings import Readings, attitude_now

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: gives the value of an input, of the readings and the outputs of all FMUs
Source = Callable[[np.ndarray, np.ndarray], float]


class _Unit(NamedTuple):
    """An instance of an FMU, and where its numbers come from and go."""

    unit: FmuUnit
    steps: int  # physics steps of a period
    sources: list[Source]
    outputs: slice  # of all outputs
    commands: list[tuple[int, int]]  # output, and argument of the table of laws


class FmuLaws:
    """All FMUs of a scenario.

    Attributes:
        names, units: of all outputs, e.g. "motor.FLWheel_y.current", "A".
        log: time [s] and outputs of every period.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation: Simulation = part_of(simulation)
        self._readings = Readings(simulation)
        self.names: list[str] = []
        self.units: list[str] = []
        self.log: list[tuple[float, np.ndarray]] = []
        self._units: list[_Unit] = []
        self._opened: list[str] = []  # names of the FMUs so far
        self._index = {name: k for k, name in enumerate(simulation.world.joints)}
        self._stack = np.zeros(STACK)
        self._state = np.zeros(len(STATE_NAMES))
        self._angles = self._rates = np.zeros(0)
        self._read = False  # whether an input is a reading
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        self._outputs = np.zeros(len(self.names))

    # --- once per period

    @property
    def due(self) -> int:
        """Steps until the next FMU is to be stepped."""
        now = self._simulation.steps
        return min(-now % unit.steps for unit in self._units)

    @property
    def ahead(self) -> int:
        """Steps that may be done now until one is to be stepped again."""
        now = self._simulation.steps
        return min(unit.steps - now % unit.steps for unit in self._units)

    def update(self) -> None:
        """Step the FMUs whose period begins now, and write what they command."""
        s = self._simulation
        read = self._sense()
        for unit in self._units:
            if s.steps % unit.steps:
                continue
            values = [source(read, self._outputs) for source in unit.sources]
            given = unit.unit.step(s.time, unit.steps * s.scenario.run.step, values)
            self._outputs[unit.outputs] = given
            for output, argument in unit.commands:
                value = self._outputs[output]
                if not np.isfinite(value):
                    raise unit.unit.file.error(f"its output '{self.names[output]}' is {value}")
                s.set_setpoint(argument, value)
        self.log.append((s.time, self._outputs.copy()))

    def _sense(self) -> np.ndarray:
        """What expressions and readings see now."""
        s = self._simulation
        q, v, model = s.qpos, s.qvel, s.facts
        self._state[0] = s.time
        if model.free_base:
            self._state[1:4], self._state[4:7], self._state[10:13] = q[:3], v[:3], v[3:6]
            self._state[7:10] = attitude_now(q[3:7])
        self._angles, self._rates = q[model.joint_qpos], v[model.joint_dof]
        return self._readings.values() if self._read else np.zeros(0)

    # --- state, end

    def state(self) -> dict[str, np.ndarray]:
        """States of all FMUs as bytes, and their outputs."""
        out = {
            f"fmu_{k}": np.frombuffer(unit.unit.state(), np.uint8)
            for k, unit in enumerate(self._units)
        }
        felt = {f"fmu_{name}": value for name, value in self._readings.state().items()}
        return {**out, **felt, "fmu_outputs": self._outputs.copy()}

    def fixed_state(self) -> dict[str, np.ndarray]:
        """Arrays whose shape does not change."""
        return {"fmu_outputs": self._outputs}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        for k, unit in enumerate(self._units):
            if f"fmu_{k}" not in arrays:
                raise InputError(f"restore: the saved state has no 'fmu_{k}', a state of an FMU")
            unit.unit.restore(arrays[f"fmu_{k}"].tobytes())
        self._outputs[:] = arrays["fmu_outputs"]
        felt = {n.removeprefix("fmu_"): v for n, v in arrays.items() if n.startswith("fmu_felt_")}
        self._readings.restore(felt)
        now = self._simulation.time - 0.5 * self._simulation.scenario.run.step
        self.log = [entry for entry in self.log if entry[0] < now]

    def close(self) -> None:
        """Free the FMUs and their folders; done by itself with the last use of the simulation."""
        for unit in self._units:
            unit.unit.close()
        for unit in self._units:
            unit.unit.file.close()

    # --- building

    def _open(self) -> None:
        s = self._simulation
        places = setpoints(s.scenario, s.world)
        for k, law in enumerate(s.scenario.control):
            if not isinstance(law, FmuLaw):
                continue
            file = FmuFile(law.file, f"control.{k}")
            name = _name(law)
            if name in self._opened:
                raise InputError(
                    f"control.{k}.name: '{name}' is the name of another FMU; choose "
                    f"a different name"
                )
            self._opened.append(name)
            joints: list[str | None] = [None]
            if law.each is not None:
                field = f"control.{k}.each"
                joints = [*s.world.robot.joints_of(law.each, list(s.world.joints), field)]
            once = file.description.coSimulation.canBeInstantiatedOnlyOncePerProcess
            if once and len(joints) > 1:
                raise file.error(f"can be started only once, and `each` asks for {len(joints)}")
            for joint in joints:
                commands = {
                    (p.key, p.argument) for p in places if p.law == k and joint in (None, p.joint)
                }
                self._add(k, law, file, name, joint, sorted(commands))

    def _add(
        self, k: int, law: FmuLaw, file: FmuFile, name: str, joint: str | None,
        commands: list[tuple[str, int]],
    ) -> None:  # fmt: skip
        s = self._simulation
        run = s.scenario.run
        period = law.period or run.control_period
        steps = whole_ratio("period", period, "step", run.step)
        file.check_step(steps * run.step, f"control.{k}.period")
        given = list(dict.fromkeys([*law.outputs, *file.names("output")]))
        sources = [
            self._source(text, joint, f"control.{k}.inputs.{key}")
            for key, text in law.inputs.items()
        ]
        unit = FmuUnit(file, list(law.inputs), given, law.parameters)
        first = len(self.names)
        label = name if joint is None else f"{name}.{joint}"
        self.names += [f"{label}.{output}" for output in given]
        self.units += [file.variable(output, "output").unit or "" for output in given]
        to = [(first + given.index(key), argument) for key, argument in commands]
        self._units.append(_Unit(unit, steps, sources, slice(first, len(self.names)), to))

    def _source(self, text: str | float, joint: str | None, field: str) -> Source:
        """Where an input's value comes from."""
        if isinstance(text, str):
            name = text.strip()
            if name in self.names:
                at = self.names.index(name)
                return lambda read, outputs: float(outputs[at])
            if name in self._readings.index and not name.startswith(("angle.", "rate.")):
                self._read, at = True, self._readings.index[name]
                return lambda read, outputs: float(read[at])
            first = name.split(".")[0]
            if first in {*READ, *self._opened} - {"angle", "rate"}:
                valid = [*self._readings.index, *self.names]
                raise InputError(f"{field}: unknown reading '{name}'; {suggest(name, valid)}")
            laws = self._simulation.scenario.control
            if first in [_name(law) for law in laws if isinstance(law, FmuLaw)]:
                raise InputError(
                    f"{field}: '{first}' is an FMU later in the list; move it before this one"
                )
        program = compile_expression(text, self._index, field, self._simulation.scenario.parameters)
        if joint is None and _asks_own(program):
            raise InputError(
                f"{field}: 'angle' and 'rate' without a joint need `each`; name a joint, as in "
                f"rate.JOINT"
                ""
            )
        own = 0 if joint is None else self._index[joint]
        me: FmuLaws = part_of(self)
        return lambda read, outputs: me._value(program, own)

    def _value(self, program: Program, own: int) -> float:
        value = evaluate(
            program.op, program.argument, 0, len(program.op), self._state, self._angles,
            self._rates, own, self._stack,
        )  # fmt: skip
        return float(value)


def _name(law: FmuLaw) -> str:
    return law.name or Path(law.file).stem.replace(".", "_")


def _asks_own(program: Program) -> bool:
    return bool(np.isin(program.op, (OWN_ANGLE, OWN_RATE)).any())
