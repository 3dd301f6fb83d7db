"""Messages between the modules of a simulation: names, shapes and units.

A simulation is four black boxes (Grand et al. 2001, section 1):

    control ──joint commands──▶ multibody ──organ states──▶ interaction
       ▲──joint states, base──────┘    ▲────organ wrenches───────┘      ▶ data set ▶ post-processing

Anything that takes and gives these data can stand for one of marsyard's own. A box is a function,
or an object that can be called; one with a memory may have `state() -> dict of arrays` and
`restore(dict)`, and is then saved and resumed with the simulation. The multibody box is an object
with four methods.

Everything is SI, in the world frame (x forward, y left, z up); n organs, m joints.
`docs/modules.md` is made of the annotations below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self, get_type_hints

import numpy as np

from marsyard.errors import InputError, suggest

if TYPE_CHECKING:
    import xarray as xr

Array = np.ndarray
Names = tuple[str, ...]


class Port(NamedTuple):
    """Shape ("n, 3"), unit and meaning of a field; `gaps`: not every value need be finite."""

    shape: str
    unit: str
    meaning: str
    gaps: bool = False


def left_out(value: Any) -> Any:
    """What a field is where it is left out, for each organ or joint."""
    return value


class Message:
    """Data on their way between two boxes."""

    def fit(self, **sizes: int) -> Self:
        """The same with every field an array of its shape, for n organs or m joints.

        A single number stands for all of them. Raises InputError naming the field that does not
        fit.
        """
        made: dict[str, Any] = {}
        for name, port in ports(type(self)).items():
            value = getattr(self, name)
            shape = _shape(port.shape, sizes)
            if port.unit == "":
                made[name] = _texts(name, value, shape[0])
                continue
            made[name] = _array(name, value, shape, port, value is getattr(type(self), name, None))
        return replace(self, **made)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class ContactBodyStates(Message):
    """Poses and velocities of the contact bodies: wheels, feet, tracks, then all other bodies that
    collide.
    """

    name: Annotated[Names, Port("n", "", "names of wheels, feet, tracks, bodies")]
    position: Annotated[Array, Port("n, 3", "m", "origin: of a wheel its centre")]
    velocity: Annotated[Array, Port("n, 3", "m/s", "velocity of the origin")]
    rotation: Annotated[Array, Port("n, 3, 3", "1", "columns: axes of the contact body")] = (
        left_out(((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    )
    angular_velocity: Annotated[Array, Port("n, 3", "rad/s", "angular velocity")] = left_out(0.0)
    axis: Annotated[
        Array,
        Port("n, 3", "1", "for a wheel: unit vector along its axle, to the left; otherwise 0"),
    ] = left_out(0.0)
    belt_speed: Annotated[Array, Port("n", "m/s", "for a track: belt speed, positive forwards")] = (
        left_out(0.0)
    )
    radius: Annotated[Array, Port("n", "m", "for a wheel, without grousers; otherwise 0")] = (
        left_out(0.0)
    )
    width: Annotated[Array, Port("n", "m", "for a wheel or a belt; otherwise 0")] = left_out(0.0)
    kind: Annotated[Names, Port("n", "", "wheel, foot, track or body")] = ()


@dataclass(frozen=True, eq=False)
class ContactBodyWrenches(Message):
    """Wrenches of the ground on the contact bodies, in their order."""

    force: Annotated[Array, Port("n, 3", "N", "force on the contact body")]
    moment: Annotated[Array, Port("n, 3", "N·m", "moment about the origin of the contact body")] = (
        left_out(0.0)
    )
    damping: Annotated[
        Array,
        Port(
            "n, 7, 7",
            "N·s/m, N·s, N·m·s",
            "D = −∂(force, moment, belt force)/∂V, V = (velocity, angular velocity, belt speed), "
            "symmetric; over a step the force is then force − D (V⁺ − V), implicit and stable. A "
            "spring K adds K step. 0: explicit",
        ),
    ] = left_out(0.0)
    belt_force: Annotated[
        Array,
        Port(
            "n",
            "N",
            "for a track: force along the belt's motion, whose power is belt force × belt speed; "
            "it acts on the sprocket. Forward traction is negative here",
        ),
    ] = left_out(0.0)


@dataclass(frozen=True, eq=False)
class JointStates(Message):
    """Hinges and slides."""

    name: Annotated[Names, Port("m", "", "names of the joints")]
    angle: Annotated[Array, Port("m", "rad, m", "angle, or position of a slide")]
    rate: Annotated[Array, Port("m", "rad/s, m/s", "its rate")]

    def index(self, *names: str) -> list[int]:
        """Where these joints stand."""
        for name in names:
            if name not in self.name:
                raise InputError(f"unknown joint '{name}'; {suggest(name, self.name)}")
        return [self.name.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class BaseState(Message):
    """The robot's base frame."""

    position: Annotated[Array, Port("3", "m", "position of the base frame")]
    quaternion: Annotated[Array, Port("4", "1", "w, x, y, z: attitude of the base frame")]
    velocity: Annotated[Array, Port("3", "m/s", "its velocity")]
    angular_velocity: Annotated[Array, Port("3", "rad/s", "its angular velocity")]


@dataclass(frozen=True, eq=False)
class JointCommands(Message):
    """Commands to the motors until the next control period, bounded by the scenario's motors."""

    torque: Annotated[Array, Port("m", "N·m, N", "torque, or force of a slide")] = left_out(0.0)
    speed: Annotated[
        Array, Port("m", "rad/s, m/s", "commanded rate, held by an ideal motor; NaN: none", True)
    ] = left_out(np.nan)
    limit: Annotated[
        Array, Port("m", "N·m, N", "torque limit of the rate servo; infinite: none", True)
    ] = left_out(np.inf)
    gain: Annotated[
        Array, Port("m", "N·m·s/rad, N·s/m", "gain of the rate servo; 10⁵ is ideal")
    ] = left_out(1e5)


class Multibody(Protocol):
    """The robot's mechanics: torques and wrenches in, a step of time, states out."""

    def organs(self) -> ContactBodyStates:
        """The contact bodies, where the scheme wants the forces of the next step: now, or
        midway.
        """

    def joints(self) -> JointStates:
        """The joints now."""

    def base(self) -> BaseState:
        """The base frame now."""

    def advance(self, step: float, commands: JointCommands, wrenches: ContactBodyWrenches) -> None:
        """Continue with `step` [s]."""


class Interaction(Protocol):
    """The ground: states of the contact bodies at `time` [s] in, wrenches for the next `step` [s]
    out.
    """

    def __call__(self, time: float, step: float, organs: ContactBodyStates) -> ContactBodyWrenches:
        """Called once before every step."""


class Control(Protocol):
    """The controller: measurements at `time` [s] in, commands for the joints out."""

    def __call__(
        self, time: float, joints: JointStates, base: BaseState, wrenches: ContactBodyWrenches
    ) -> JointCommands:
        """Called once per control period; `wrenches` are the means over the last one."""


class PostProcessing(Protocol):
    """Results: the data set of a finished run in; a number, text, figure or table out."""

    def __call__(self, data: xr.Dataset) -> Any:
        """Called once after the run."""


# --- reading the annotations


def ports(message: Any) -> Mapping[str, Port]:
    """The port of each field of a message."""
    return _ports(message)


@cache
def _ports(message: Any) -> Mapping[str, Port]:
    hints = get_type_hints(message, include_extras=True)
    return {f.name: hints[f.name].__metadata__[0] for f in fields(message)}


def _shape(text: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[s] if s in sizes else int(s) for s in text.split(", "))


def _texts(name: str, value: Any, count: int) -> Names:
    value = tuple(value) or ("",) * count
    if len(value) != count:
        raise InputError(f"{name}: {len(value)} names; {count} are needed")
    return value


def _array(name: str, value: Any, shape: tuple[int, ...], port: Port, left_out: bool) -> Array:
    if left_out:
        return np.broadcast_to(value, shape)
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: must be numbers [{port.unit}] of shape {shape}") from None
    if array.ndim == 0:
        array = np.full(shape, array)
    if array.shape != shape:
        raise InputError(
            f"{name}: has the shape {array.shape}; {shape} is needed, [{port.shape}] in {port.unit}"
        )
    if not port.gaps and not np.isfinite(array).all():
        raise InputError(f"{name}: has a value that is not a finite number [{port.unit}]")
    return array
