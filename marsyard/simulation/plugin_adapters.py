"""Modules of one's own inside the compiled engine: control and interaction in Python.

A controller is called at the start of each control period. Its torques and speeds stand in the
table of laws as constants, so that the scenario's motors bound them as they bound any law.

An interaction is a law (`interaction.law`) whose attachments are the contact bodies and the ground.
The loop calls it by address before each step; here that address leads to Python.

What a box does wrong ends the run in one sentence that names box, field and time; what was recorded
is kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError, format_exception
from marsyard.interaction.attachments import Attachment, Attachments
from marsyard.interaction.law import CALLS, Law, Recorded, Variable, must_fit
from marsyard.jit import F1, by_reference
from marsyard.ports import ContactBodyWrenches, Control, Interaction, JointCommands, Message
from marsyard.simulation.owner import part_of
from marsyard.simulation.port_states import (
    Felt,
    OrganTable,
    base_state,
    joint_states,
    look,
    organ_table,
)

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: what a law in Python answers when it has made an error
FAILED = 50
CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int64, *(ctypes.c_int64,) * 2, *(ctypes.c_double,) * 3, ctypes.c_int64
)


class BoxError(InputError):
    """What a box of the user's did wrong, with the box and the time."""


@contextmanager
def attribute_errors_to(box: str, time: float) -> Iterator[None]:
    """Errors inside become one sentence about the box."""
    try:
        yield
    except InputError as error:
        raise BoxError(f"{box} at t = {time:.6g} s: {error}") from error
    except Exception as error:
        raise BoxError(f"{box} at t = {time:.6g} s: {format_exception(error)}") from error


def answer_of(kind: type[Message], value: Any, **sizes: int) -> Any:
    """What a box gave, as arrays; one sentence if it is something else."""
    if not isinstance(value, kind):
        raise InputError(f"gave a {type(value).__name__}; {kind.__name__} is required")
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
        self._simulation: Simulation = part_of(simulation)
        self._table = organ_table(simulation.world.robot, simulation.model)
        self._felt = Felt(simulation, self._table)

    @property
    def due(self) -> int:
        """Steps until the next period begins."""
        return -self._simulation.steps % self._simulation.scheme.steps_per_control

    def update(self) -> None:
        """Ask the controller and write its commands into the table of laws."""
        s = self._simulation
        look(s)
        with attribute_errors_to(self._name, s.time):
            given = self.law(s.time, joint_states(s), base_state(s), self._felt.mean())
            m = len(s.world.joints)
            command: JointCommands = answer_of(JointCommands, given, m=m)
            if np.isinf(command.speed).any():
                raise InputError("speed: must be finite, or NaN for none [rad/s, m/s]")
            if not (command.limit >= 0).all() or not (command.gain > 0).all():
                raise InputError("limit: must be at least 0 [N·m], and gain above 0 [N·m·s/rad]")
        s.command_joints(command.torque, command.speed, command.limit, command.gain)

    def state(self) -> dict[str, np.ndarray]:
        """The controller's own state, and what was felt."""
        own = memory_of(self.law, "control")
        return {**self._felt.state(), **own}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        self._felt.restore(arrays)
        recall(self.law, "control", arrays)


# --- interaction


class OwnInteraction(Law):
    """A law of the ground in Python, before every step; `title` begins errors."""

    name = "interaction"
    shown = False

    def __init__(self, simulation: Simulation, law: Interaction, title: str) -> None:
        self.law = law
        self._title = title
        self.error: BaseException | None = None
        self._simulation: Simulation = part_of(simulation)
        self.table = organ_table(simulation.world.robot, simulation.model)
        self.attachments = organ_attachments(simulation.model, self.table)
        self.arrays = _Nothing(np.zeros(0))
        me: OwnInteraction = part_of(self)
        # kept alive: the loop has its address
        self._callback = CALLBACK(lambda a, b, time, h, theta, flag: me._evaluate(time, h))

    def attach(self, attached: Attachments) -> None:
        """The contact bodies' velocities and forces."""
        self._attached = attached
        super().attach(attached)

    def calls(self) -> tuple[int, ...]:
        """The way from the loop to Python."""
        address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        return tuple(address if name == "evaluate" else 0 for name in CALLS)

    def coordinates(self) -> dict[str, Any]:
        """The contact bodies by name."""
        return {"contact_body": list(self.table.name)}

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """Means over each record interval of what it did to the contact bodies."""
        mean = seen.impulses / seen.interval[:, None, None]
        force = "force of the interaction on the contact body"
        moment = "its moment about the origin of the contact body"
        return {
            "contact_body_force": Variable(("contact_body", "axis"), mean[..., 0:3], "N", force),
            "contact_body_moment": Variable(
                ("contact_body", "axis"), mean[..., 3:6], "N·m", moment
            ),
        }

    def _evaluate(self, time: float, step: float) -> int:
        # an exception cannot pass through the compiled loop
        try:
            self._act(time, step)
        except BaseException as error:
            self.error = error
            return FAILED
        return 0

    def _act(self, time: float, step: float) -> None:
        a = self._attached
        with attribute_errors_to(self._title, time):
            given = self.law(time, step, self.table.states(self._simulation.data, a.V))
            w = answer_of(ContactBodyWrenches, given, n=len(self.table.name))
            if (np.diagonal(w.damping, axis1=1, axis2=2) < 0).any():
                raise InputError("damping: must not be negative on its diagonal")
        a.F[:, :3], a.F[:, 3:6], a.F[:, 6] = w.force, w.moment, w.belt_force
        a.B[:] = 0.5 * (w.damping + np.swapaxes(w.damping, 1, 2))
        a.active[:] = 1

    def take_error(self) -> BaseException | None:
        """What went wrong in the last call, once."""
        error, self.error = self.error, None
        return error

    def state(self) -> dict[str, np.ndarray]:
        """The law's own state."""
        return memory_of(self.law, "interaction")

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse a state of another law."""
        must_fit(arrays, self.state())

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        recall(self.law, "interaction", arrays)


@by_reference
class _Nothing(NamedTuple):
    """A law in Python has no arrays of its own in the loop."""

    nothing: F1


def organ_attachments(model: mujoco.MjModel, table: OrganTable) -> list[Attachment]:
    """The contact bodies and the ground."""
    made, organ = [], 0
    for k, kind in enumerate(table.kind):
        is_organ = kind in ("foot", "track")
        joint = int(model.dof_jntid[table.belt[k]]) if table.belt[k] >= 0 else -1
        made.append(
            Attachment(
                table.name[k], (int(table.body[k]), 0), axle=int(table.joint[k]),
                wheel=k if table.joint[k] >= 0 else -1, organ=organ if is_organ else -1,
                joint=joint, scale=float(table.pitch[k]),
            )
        )  # fmt: skip
        organ += is_organ
    return made
