"""The program inside an exported FMU: a rover's simulation behind the functions of FMI 2.0.

The FMU holds pythonfmu's library, which loads this class into Python; marsyard must be installed
there. The world is built when initialisation ends, with the parameters as they then are. A step of
the master is so many physics steps in one go, inside the compiled loop, with the inputs held.

A step that is no whole multiple of the control period, does not begin where the last one ended, or
in which the simulation diverges is discarded (fmi2Discard), with the reason in the log.
"""

from __future__ import annotations

import io
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

import marsyard
from marsyard.errors import InputError
from marsyard.files import parse_json, read_json
from marsyard.files.arrays import read_arrays
from marsyard.fmi.contents import SCENARIO
from marsyard.fmi.interface import Interface

if TYPE_CHECKING:
    from marsyard.simulation import Simulation

INTERFACE = "interface.json"
#: of the control period, within which times are the same
_SAME = 1e-6


class RoverSlave(Fmi2Slave):
    """A rover and its ground, stepped by a master."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._folder = Path(unquote(str(self.resources)))
        data = read_json(self._folder / INTERFACE)
        self.interface = Interface.read(data)
        self._variables = self.interface.variables
        self._values: list[Any] = [v.start for v in self._variables]
        self._simulation: Simulation | None = None
        self._start = 0.0
        #: references of the outputs and their places among the readings
        self._outputs: dict[int, int] = {}
        self._arguments: list[tuple[int, int]] = []
        self._read = np.zeros(0)
        if self.interface.version != marsyard.__version__:
            self.log(
                f"made by marsyard {self.interface.version}, run by {marsyard.__version__}",
                Fmi2Status.warning,
            )

    # --- FMI

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """The time of the master at which the simulation begins [s]."""
        self._start = start_time

    def exit_initialization_mode(self) -> None:
        """Build the world."""
        self._need_simulation()

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance from current_time by step_size [s]; False discards the step."""
        from marsyard.simulation import Diverged

        simulation = self._need_simulation()
        try:
            count = self._steps(simulation, current_time, step_size)
            for reference, argument in self._arguments:
                simulation.set_setpoint(argument, self._values[reference])
            simulation.step(count)
        except (InputError, Diverged) as error:
            self.log(str(error), Fmi2Status.discard)
            return False
        self._read = self._readings.values()
        return True

    def terminate(self) -> None:
        """Free FMUs inside the scenario, if there are some."""
        if self._simulation is not None:
            self._simulation.close()

    def _steps(self, simulation: Simulation, time: float, step: float) -> int:
        """Physics steps of a step of the master."""
        period = self.interface.period
        now = self._start + simulation.time
        if abs(time - now) > _SAME * period:
            raise InputError(f"the step begins at t = {time:.9g} s, the last ended at {now:.9g} s")
        periods = round(step / period)
        if periods < 1 or abs(periods * period - step) > _SAME * period:
            near = max(1, periods) * period
            raise InputError(
                f"the step of {step:.9g} s is not a whole multiple of the control period of "
                f"{period:g} s; the nearest is {near:g} s"
            )
        return periods * simulation.scheme.steps_per_control

    # --- the world

    def _need_simulation(self) -> Simulation:
        if self._simulation is None:
            # what a user may want to know goes to the master's log
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                self._simulation = self._build()
            for warning in caught:
                self.log(str(warning.message), Fmi2Status.warning)
        return self._simulation

    def _build(self) -> Simulation:
        from marsyard.simulation import Simulation
        from marsyard.simulation.commands import setpoints
        from marsyard.simulation.readings import Readings

        simulation = Simulation(packed_scenario(self._folder, self._settings()), say=self.log)
        simulation.stop_recording()
        first = {p.law: p.argument for p in setpoints(simulation.scenario, simulation.world)}
        self._arguments = [
            (k, first[v.law]) for k, v in enumerate(self._variables) if v.law is not None
        ]
        self._readings = Readings(simulation)
        self._outputs = {
            k: self._readings.index[v.source]
            for k, v in enumerate(self._variables)
            if v.causality == "output"
        }
        self._read = self._readings.values()
        return simulation

    def _settings(self) -> dict[str, Any]:
        """Parameters that differ from the packed scenario."""
        return {
            v.source: value
            for v, value in zip(self._variables, self._values, strict=True)
            if v.causality == "parameter" and value != v.start
        }

    # --- values

    def _get(self, references: Sequence[int]) -> list[Any]:
        if any(self._variables[k].causality == "output" for k in references):
            self._need_simulation()
        read, at = self._read, self._outputs
        return [float(read[at[k]]) if k in at else self._values[k] for k in references]

    def _set(self, references: Sequence[int], values: Sequence[Any]) -> None:
        for k, value in zip(references, values, strict=True):
            variable = self._variables[k]
            if variable.causality == "output":
                raise InputError(f"'{variable.name}' is an output and cannot be set")
            if variable.causality == "parameter" and value != self._values[k]:
                if self._simulation is not None:
                    raise InputError(f"'{variable.name}' is fixed once the FMU is initialised")
            self._values[k] = value

    get_real = get_integer = get_boolean = get_string = _get
    set_real = set_integer = set_boolean = set_string = _set

    # --- state

    def _get_fmu_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"values": list(self._values), "start": self._start, "arrays": None}
        if self._simulation is not None:
            arrays = dict(self._simulation.state().arrays)
            felt = {f"read_{name}": value for name, value in self._readings.state().items()}
            state["arrays"] = {**arrays, **felt, "read_values": self._read.copy()}
        return state

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        from marsyard.simulation import State

        self._check_values(state["values"], state["start"])
        arrays = state["arrays"]
        if arrays is None:
            self._values, self._start = list(state["values"]), state["start"]
            self._simulation = None
            return
        before = self._values
        self._values = list(state["values"])
        simulation = self._need_simulation()
        own = {f"read_{name}": value for name, value in self._readings.state().items()}
        try:
            State(arrays).must_fit({**own, "read_values": self._read})
            own_arrays = {k: v for k, v in arrays.items() if not k.startswith("read_")}
            simulation.restore(State(own_arrays))
        except InputError:
            self._values = before
            raise
        self._start = state["start"]
        felt = {k.removeprefix("read_"): v for k, v in arrays.items() if k.startswith("read_felt")}
        self._readings.restore(felt)
        self._read = np.array(arrays["read_values"])

    def _check_values(self, values: Any, start: Any) -> None:
        """Refuse values and a start time that are none of this FMU's."""
        own = [v.start for v in self._variables]
        if not isinstance(values, list) or len(values) != len(own):
            raise InputError("the FMU's state: has other variables than this FMU")
        for variable, value in zip(self._variables, values, strict=True):
            number = isinstance(variable.start, int | float) and isinstance(value, int | float)
            if not number and type(value) is not type(variable.start):
                raise InputError(f"the FMU's state: '{variable.name}' is of another type")
        if not isinstance(start, int | float) or not math.isfinite(start):
            raise InputError("the FMU's state: its start time is not a finite number")

    @staticmethod
    def _fmu_state_to_bytes(state: dict[str, Any]) -> bytes:
        file = io.BytesIO()
        rest = json.dumps({k: v for k, v in state.items() if k != "arrays"})
        np.savez(
            file, allow_pickle=False, rest=np.frombuffer(rest.encode(), np.uint8),
            **{f"array_{k}": v for k, v in (state["arrays"] or {}).items()},
        )  # fmt: skip
        return file.getvalue()

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> dict[str, Any]:
        found = read_arrays(io.BytesIO(state), "state", "the FMU's state")
        if not isinstance(found, dict) or "rest" not in found:
            raise InputError("the FMU's state: is none that this FMU saved")
        rest = parse_json(found.pop("rest").tobytes(), "the FMU's state")
        if not isinstance(rest, dict) or set(rest) != {"values", "start"}:
            raise InputError("the FMU's state: is none that this FMU saved")
        arrays = {k.removeprefix("array_"): v for k, v in found.items()}
        return {**rest, "arrays": arrays or None}


def packed_scenario(folder: Path, settings: dict[str, Any]) -> Any:
    """The scenario of an unpacked FMU, with settings on top."""
    from marsyard.fmi.paths import is_soil
    from marsyard.scenario import scenario_data, validate
    from marsyard.scenario.scenario import apply_setting

    data = scenario_data(folder / SCENARIO)
    for path, value in settings.items():
        parts = path.split(".")
        if is_soil(parts[:3]) and isinstance(data["ground"][int(parts[1])]["soil"], str):
            # a soil by name, of which one number changes
            ground = data["ground"][int(parts[1])]
            ground["soil"] = {"name": ground["soil"]}
        apply_setting(data, path, value, "parameter")
    return validate(data, "the FMU's scenario")
