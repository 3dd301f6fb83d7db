"""Modules of one's own inside the compiled engine: control and interaction in Python.

A controller is called at the start of each control period. Its torques and speeds stand in the
table of laws as constants, so that the scenario's motors bound them as they bound any law.

An interaction takes the place of the soil: the loop calls the law of the soil by address before
each step, with the organs' states at the step's configuration, and puts its forces and their
derivatives into the step (`soil`). Here that address leads to Python.

What a box does wrong ends the run in one sentence that names box, field and time; what was recorded
is kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from marsyard.errors import InputError, told
from marsyard.interaction.soil_contact.arrays import STIFF_COLUMNS, TOTAL_COLUMNS
from marsyard.modules.ports import Control, Interaction, JointCommands, Message, OrganWrenches
from marsyard.simulation.commands import FOREVER
from marsyard.simulation.port_states import (
    Felt,
    OrganTable,
    base_state,
    joint_states,
    look,
    organ_table,
)
from marsyard.simulation.soil import NUMBERS, STRESS_BINS, SUM_COLUMNS, SoilLoop
from marsyard.simulation.soil_world import chain_of, fill_addresses, no_soil

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: a status of the soil that it does not have itself
FAILED = 50
CALLBACK = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 4)


class BoxError(InputError):
    """What a box of the user's did wrong, with the box and the time."""


@contextmanager
def blamed(box: str, time: float) -> Iterator[None]:
    """Errors inside become one sentence about the box."""
    try:
        yield
    except InputError as error:
        raise BoxError(f"{box} at t = {time:.6g} s: {error}") from error
    except Exception as error:
        raise BoxError(f"{box} at t = {time:.6g} s: {told(error)}") from error


def answer_of(kind: type[Message], value: Any, **sizes: int) -> Any:
    """What a box gave, as arrays; one sentence if it is something else."""
    if not isinstance(value, kind):
        raise InputError(f"gave a {type(value).__name__}; {kind.__name__} is needed")
    return value.fit(**sizes)


def memory_of(box: Any, prefix: str) -> dict[str, np.ndarray]:
    """The state of a box that has one."""
    if not hasattr(box, "state"):
        return {}
    return {f"{prefix}_{name}": np.array(value) for name, value in box.state().items()}


def recall(box: Any, prefix: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Give a box its state back."""
    if hasattr(box, "restore"):
        own = {
            k.removeprefix(f"{prefix}_"): v for k, v in arrays.items() if k.startswith(f"{prefix}_")
        }
        box.restore(own)


# --- control


class OwnControl:
    """A controller in Python, once per control period; `name` begins errors."""

    def __init__(self, simulation: Simulation, law: Control, name: str) -> None:
        self.law = law
        self._name = name
        self._simulation = simulation
        self._table = organ_table(simulation.world.robot, simulation.model)
        self._felt = Felt(simulation, self._table)

    @property
    def due(self) -> int:
        """Steps until the next period begins."""
        return -self._simulation.steps % self._simulation._scheme.steps_per_control

    def update(self) -> None:
        """Ask the controller and write its commands into the table of laws."""
        s = self._simulation
        look(s)
        with blamed(self._name, s.time):
            given = self.law(s.time, joint_states(s), base_state(s), self._felt.mean())
            m = len(s.world.joints)
            command: JointCommands = answer_of(JointCommands, given, m=m)
            if np.isinf(command.speed).any():
                raise InputError("speed: must be finite, or NaN for none [rad/s, m/s]")
            if not (command.limit >= 0).all() or not (command.gain > 0).all():
                raise InputError("limit: must be at least 0 [N·m], and gain above 0 [N·m·s/rad]")
        c = s._commands
        held = np.isfinite(command.speed)
        torque_row, speed_row = c.first[-2 * m : -m or None], c.first[-m:]
        if m:
            c.argument[torque_row] = command.torque
            c.argument[speed_row] = np.where(held, command.speed, 0.0)
            c.start[-m:] = np.where(held, 0, FOREVER)
            # whether a motor is at its limit is found anew where that changes
            c.servo_full[c.limit[-m:] != command.limit] = 0.0
            c.limit[-m:], c.gain[-m:] = command.limit, command.gain

    def state(self) -> dict[str, np.ndarray]:
        """The controller's own state, and what was felt."""
        own = memory_of(self.law, "control")
        return {**self._felt.state(), "law_gain": self._simulation._commands.gain.copy(), **own}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        self._felt.restore(arrays)
        self._simulation._commands.gain[:] = arrays["law_gain"]
        recall(self.law, "control", arrays)


# --- interaction


class OwnInteraction:
    """A law of the ground in Python, before every step; `name` begins errors."""

    def __init__(self, simulation: Simulation, law: Interaction, name: str) -> None:
        self.law = law
        self._name = name
        self.error: BaseException | None = None
        self._simulation = simulation
        self.table = organ_table(simulation.world.robot, simulation.model)
        self.loop = organ_loop(simulation.model, self.table, simulation.scenario.run.step)
        # kept alive: the loop has its address
        self._callback = CALLBACK(self._evaluate)

    @property
    def address(self) -> int:
        """Where the loop finds it."""
        return int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)

    def _evaluate(self, *_: Any) -> None:
        # an exception cannot pass through the compiled loop
        try:
            self._act()
            self.loop.answer[0] = 0
        except BaseException as error:
            self.error = error
            self.loop.answer[0] = FAILED

    def _act(self) -> None:
        s, loop = self._simulation, self.loop
        time, step = float(loop.numbers[2]), float(loop.numbers[0])
        with blamed(self._name, time):
            given = self.law(time, step, self.table.states(s.data, loop.twist))
            w = answer_of(OrganWrenches, given, n=len(self.table.name))
            if (np.diagonal(w.damping, axis1=1, axis2=2) < 0).any():
                raise InputError("damping: must not be negative on its diagonal; it brakes")
        loop.force[:, :3], loop.force[:, 3:6], loop.force[:, 6] = w.force, w.moment, w.belt_force
        if w.damping.any():
            for b in range(len(loop.body)):
                loop.stiff[b] = packed_damping(w.damping[b], loop.axis[b], loop.wheel[b] >= 0)
        else:
            loop.stiff[:] = 0.0

    def take_error(self) -> BaseException | None:
        """What went wrong in the last call, once."""
        error, self.error = self.error, None
        return error

    def state(self) -> dict[str, np.ndarray]:
        """The law's own state, and sums since the last record."""
        own = memory_of(self.law, "interaction")
        return {"organ_sums": self.loop.sums.copy(), **own}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        self.loop.sums[:] = arrays["organ_sums"]
        recall(self.law, "interaction", arrays)


def organ_loop(model: mujoco.MjModel, table: OrganTable, step: float) -> SoilLoop:
    """What the loop knows of the organs: each of them a body of the soil's."""
    n, f, i = len(table.name), np.zeros, np.int64
    chains = [
        sorted([*chain_of(model, int(b)), *([int(dof)] if dof >= 0 else [])])
        for b, dof in zip(table.body, table.belt, strict=True)
    ]
    k = max([1, *(len(c) for c in chains)])
    chain, address = f((n, k), i), np.full((n, k, k), -1, dtype=i)
    for b, dofs in enumerate(chains):
        chain[b, : len(dofs)] = dofs
        fill_addresses(model, dofs, address[b])
    wheel = np.where(table.joint >= 0, np.arange(n), -1).astype(i)
    organ = [k in ("foot", "track") for k in table.kind]
    numbers = np.zeros(NUMBERS)
    numbers[0] = step
    return no_soil(model.nv)._replace(
        body=table.body, joint=table.joint, geom=np.full(n, -1, i), wheel=wheel,
        root=model.body_rootid[table.body].astype(i), reach=f(n), chain=chain,
        chain_count=np.array([len(c) for c in chains], dtype=i), address=address,
        jacobian=f((n, 7, k)), organ=np.where(organ, np.cumsum(organ) - 1, -1).astype(i),
        belt=table.belt, belt_radius=table.pitch,
        centre=f((n, 3)), axis=f((n, 3)), rotation=f((n, 9)),
        twist=f((n, 7)), force=f((n, 7)), stiff=f((n, STIFF_COLUMNS)), total=f((n, TOTAL_COLUMNS)),
        field=f((n, 0, 7)), field_count=f(n, i), sums=f((n, SUM_COLUMNS)),
        bins=f((n, STRESS_BINS, 3)), numbers=numbers, flow_after=np.array([np.inf]),
    )  # fmt: skip


_UPPER = np.triu_indices(3)


def packed_damping(D: np.ndarray, axis: np.ndarray, is_wheel: bool) -> np.ndarray:
    """A 7 × 7 damping as the loop takes it (`soil_contact.arrays`); of a wheel's angular part only
    the spin about the axle."""
    D = (D + D.T) / 2
    out = np.zeros(STIFF_COLUMNS)
    out[:6] = D[:3, :3][_UPPER]
    if is_wheel:
        out[6:9] = D[:3, 3:6] @ axis
        out[9] = axis @ D[3:6, 3:6] @ axis
    else:
        out[6:9], out[9] = D[:3, 6], D[6, 6]
        out[10:19] = D[:3, 3:6].ravel()
        out[19:25] = D[3:6, 3:6][_UPPER]
        out[25:28] = D[3:6, 6]
    return out


def unpacked_damping(B: np.ndarray, axis: np.ndarray, is_wheel: bool) -> np.ndarray:
    """The other way round."""
    D = np.zeros((7, 7))
    D[:3, :3][_UPPER] = B[:6]
    if is_wheel:
        D[:3, 3:6] = np.outer(B[6:9], axis)
        D[3:6, 3:6] = B[9] * np.outer(axis, axis)
    else:
        D[:3, 6], D[6, 6] = B[6:9], B[9]
        D[:3, 3:6] = B[10:19].reshape(3, 3)
        D[3:6, 3:6][_UPPER] = B[19:25]
        D[3:6, 6] = B[25:28]
    return np.triu(D) + np.triu(D, 1).T
