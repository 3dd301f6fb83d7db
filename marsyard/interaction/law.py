"""A law of interaction in one world: what it gives to the engine, which has no law by name.

The kernels are compiled apart from the engine's loop, only where a world needs them, and called by
their addresses, `kernel(attachments, arrays, time, h, theta, flag)`:

| kernel | when | answer |
| --- | --- | --- |
| `prepare` | before all laws are evaluated; nothing has happened yet | 1: it needs room |
| `evaluate` | at the configuration of the step, velocity at its start | 0, or why it cannot go on |
| `correct` | after the free velocity is known; flag 1: bounds may only shrink | 1: F, B changed |
| `commit` | when the end velocity is known: state moves on | – |
| `relax` | after the step: what happens to the ground by itself | – |
| `rows` | at any configuration, between `evaluate` and `commit`, too | 1: its rows do not fit |

A force law has `evaluate`, a constraint law `rows` (`interaction.rows`), a law that acts on no body
but on the ground that others share, `relax`; the others may be left out.

The configuration of the step is q + (1 − θ) h v (`simulation.moreau_jean`). A law is of second
order in h for θ = ½ if F − B (V⁺ − V) is its force at the mean configuration and velocity of the
step; for a spring k and damper c along one direction F = −k (x + (2θ − 1) h V) − c V and
B = θ c + θ² h k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError

from marsyard.aside import Aside
from marsyard.errors import InputError
from marsyard.interaction.attachments import Attachment, Attachments
from marsyard.interaction.rows import Bodies, Meetings, Rows
from marsyard.jit import Callback, Packed, reference

if TYPE_CHECKING:
    import mujoco

    from marsyard.interaction.place import Place

#: how robots are placed on a law, see `Law.placing`
SINK, PRESS, RIGID = 1, 2, 3
#: the kernels of a law, in the order of their calls
CALLS = ("prepare", "evaluate", "correct", "commit", "relax", "rows")
#: what `prepare` answers if `make_room` is to be called
NEEDS_ROOM = 1


class Kernels(Aside):
    """The compiled kernels of a law, by what they do."""

    def __init__(self, **made: Callback) -> None:
        if not made or set(made) - set(CALLS):
            raise TypeError(f"a law has evaluate or rows, and may have {', '.join(CALLS)}")
        # the largest
        first = "evaluate" if "evaluate" in made else max(made, key=CALLS.index)
        for call, each in made.items():
            if not isinstance(each, Callback) or each.signature != made[first].signature:
                raise TypeError(
                    f"the kernel {call} of a law must be decorated with law_callback(Attachments, "
                    "…), with the same tuple for all"
                )
        others = {call: each for call, each in made.items() if call != first}
        super().__init__([made[first]], list(others.values()))
        self._calls = (first, *others)
        self._first = made[first]

    @property
    def made(self) -> tuple[str, ...]:
        """Which kernels there are."""
        return self._calls

    def check(self, arrays: type) -> None:
        """Refuse arrays that the kernels do not take."""
        given = self._first.signature.args[:2]
        if given != (reference(Attachments), reference(arrays)):
            raise InputError(
                f"the kernels of {self._first.module} must take Attachments and "
                f"{arrays.__name__}: law_callback(Attachments, {arrays.__name__})"
            )

    def by_call(self) -> tuple[int, ...]:
        """Addresses in the order of CALLS, 0 for those it does not have."""
        try:
            found = dict(zip(self._calls, self.addresses(), strict=True))
        except NumbaError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            told = next((line for line in lines if "Failed in" not in line), "")
            module = self._first.module
            raise InputError(f"a kernel of {module} does not compile: {told}") from None
        return tuple(found.get(name, 0) for name in CALLS)


#: what a law records: a sum or the largest since the last record, which empties it; or the present
#: value; or a sum that is recorded in single precision
SUM, LARGEST, PRESENT, COARSE_SUM = range(4)


@dataclass(frozen=True)
class Column:
    """Something a law records: an array that the engine copies at every record.

    With a `text` it becomes a variable of the results, `<law>_<name>`, by attachment if its first
    dimension is as long; a single number of a law without attachments has no dimension but time."""

    name: str
    array: np.ndarray  # float64
    kind: int = SUM
    units: str = ""
    text: str = ""


class WheelSizes(NamedTuple):
    """Of all wheels of the robot."""

    radius: np.ndarray  # where they carry [m]
    width: np.ndarray  # [m]


class Recorded(NamedTuple):
    """What the engine has recorded of a law; the first index is that of the record."""

    interval: np.ndarray  # since the record before; infinite for the first [s]
    impulses: np.ndarray  # and moments of force on each attachment since then [N·s, N·m·s]
    work: np.ndarray  # done on each attachment since then [J]
    columns: Mapping[str, np.ndarray]  # by name
    wheels: WheelSizes
    coordinates: np.ndarray  # of the robot, as in MuJoCo's qpos


class Variable(NamedTuple):
    """A variable of the results: its dimensions after time, values, units and what it is."""

    dims: tuple[str, ...]
    values: np.ndarray
    units: str
    text: str

    def beside(self, other: Variable) -> Variable:
        """One of the same name and dimensions by another law: where this one knows nothing the
        other one counts, and sums over all bodies add up."""
        if not self.dims:
            return self._replace(values=self.values + other.values)
        values = np.where(np.isnan(self.values), other.values, self.values)
        return self._replace(values=values)


def refuse(name: str, what: str = "does not fit this world") -> InputError:
    """One sentence about an array of a saved state."""
    return InputError(f"restore: '{name}' of the saved state {what}")


def must_fit(arrays: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray]) -> None:
    """Refuse a saved state without these arrays, or with others of their names."""
    for name, array in own.items():
        found = arrays.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype:
            raise refuse(name)


def check_range(name: str, values: np.ndarray, low: float, high: float) -> None:
    """Refuse an array of a saved state with a value outside of a range."""
    values = np.asarray(values)
    if values.size and not (values.min() >= low and values.max() <= high):
        raise refuse(name, f"holds an index outside of {low} to {max(low, high)}")


class Law:
    """What a law is to the engine; laws override what they need.

    `arrays` is the law's own tuple `by_reference`; `attach` gives it the arrays it shares with the
    engine, before the first step.
    """

    name: str
    title: str = ""
    kernels: Kernels | None = None
    attachments: list[Attachment]
    arrays: Any = None
    packed: Packed | None = None
    #: a law of a plug-in that acts beside those of the ground, not in their place
    beside: bool = False
    #: it only takes energy: a robot that has more than at the start is not to be trusted
    passive: bool = False
    #: what it takes is the soil's, and counted there
    on_soil: bool = False
    #: it gives back what it takes: `stored` is a part of the potential energy
    stores: bool = False
    #: mujoco's bodies that it takes for itself: no other law of the ground acts on them
    taken: frozenset[int] = frozenset()
    #: force and moment on its attachments are variables of the results, `<law>_force` …
    shown: bool = True
    #: friction on hard ground is one coefficient a surface, which may change (`set_friction`)
    has_friction: bool = False
    #: on soft ground: it lays soil down there or wakes it, so that the ground is to flow
    moves_soil: bool = True
    #: how a robot is placed on it: let down to its `gap` and sunk in with friction (SINK); let down
    #: to its `gap`, pressed in without friction, then with its own (PRESS); placed as on rigid
    #: ground, then pressed in (RIGID); or not at all
    placing: int = 0
    #: arrays of its state, by name, that may hold infinite values, and NaN
    may_be_infinite: tuple[str, ...] = ()
    may_be_unknown: tuple[str, ...] = ()
    #: contacts that it may add to the problem of a step, at most
    most_rows: int = 0
    #: whether it acts in a run, and whether its rows may tie bodies to the world
    acts: bool = True
    ties_to_world: bool = True
    #: robots are placed on hard ground by its rows, under whatever law; see `on_rigid_ground`
    places: bool = False
    #: pairs of surfaces that it acts between, each told by `pressed`
    surface_pairs: tuple[str, ...] = ()

    @classmethod
    def build(cls, place: Place) -> Law:
        """The law in a world; a law of a plug-in takes its options as further arguments."""
        raise NotImplementedError(f"the law '{cls.name}' cannot be built by itself")

    @property
    def gives_rows(self) -> bool:
        """Whether it is a constraint law, or one as well."""
        return self.kernels is not None and "rows" in self.kernels.made

    @property
    def gives_more(self) -> bool:
        """Whether it is asked for more than rows."""
        return self.kernels is not None and self.kernels.made != ("rows",)

    def give_rows(self, rows: Rows, bodies: Bodies, meetings: Meetings) -> None:
        """A law with the kernel `rows` takes the engine's table, where bodies are, and which of
        MuJoCo's shapes meet: fields `rows`, `bodies` and `meetings` of its arrays, if it has
        them."""
        given = {"rows": rows, "bodies": bodies, "meetings": meetings}
        own = {name: each for name, each in given.items() if name in self.arrays._fields}
        self.arrays = self.arrays._replace(**own)

    def attach(self, attached: Attachments) -> None:
        """Take the engine's arrays of the law's own attachments."""
        if self.kernels is not None:
            self.kernels.check(type(self.arrays))
        if self.arrays is not None:
            self.packed = Packed(self.arrays)

    def start(self) -> None:
        """Begin to compile what is not in the cache."""
        if self.kernels is not None:
            self.kernels.start()

    def calls(self) -> tuple[int, ...]:
        """Addresses of the kernels, compiled if need be; 0 for those it does not have."""
        return (0,) * len(CALLS) if self.kernels is None else self.kernels.by_call()

    def columns(self) -> tuple[Column, ...]:
        """What is recorded."""
        return ()

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """What becomes of its records in the results, by name: mean forces on its attachments, if
        they are to be shown, and columns with a text."""
        out = {}
        if self.shown:
            mean = seen.impulses / seen.interval[:, None, None]
            text = "mean {} of the law on each of its bodies"
            for what, part, units in (("force", slice(0, 3), "N"), ("moment", slice(3, 6), "N·m")):
                values = mean[..., part]
                out[f"{self.name}_{what}"] = Variable((self.name, "axis"), values, units,
                                                      text.format(what))  # fmt: skip
        for column in self.columns():
            if column.text:
                name = f"{self.name}_{column.name}"
                dims = [f"{name}_{k}" for k in range(column.array.ndim)]
                values = seen.columns[column.name]
                if column.array.shape == (1,) and not self.attachments:
                    dims, values = [], values[:, 0]
                elif column.array.shape[:1] == (len(self.attachments),):
                    dims[0] = self.name
                out[name] = Variable(tuple(dims), values, column.units, column.text)
        return out

    def stored(self, coordinates: np.ndarray) -> np.ndarray:
        """Energy that it holds and gives back, at recorded coordinates of the robot [J]."""
        return np.zeros(len(coordinates))

    def coordinates(self) -> dict[str, Any]:
        """Names or numbers along the dimensions of its variables, as xarray takes them."""
        return {self.name: [each.name for each in self.attachments]}

    def pressed(self, pair: str) -> Any:
        """What passes between one of its `surface_pairs`."""
        raise NotImplementedError(f"the law '{self.name}' does not support pairs")

    def kept(self) -> dict[str, np.ndarray]:
        """The arrays that make its state, by the names under which they are saved."""
        return {}

    def state(self) -> dict[str, np.ndarray]:
        """Copies of all that is needed to go on as if nothing had happened."""
        return {name: array.copy() for name, array in self.kept().items()}

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse a saved state that is none of this law in this world."""
        must_fit(arrays, self.kept())

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        for name, array in self.kept().items():
            array[...] = arrays[name]

    def make_room(self) -> None:
        """What `prepare` asked for."""

    def refresh(self) -> None:
        """What laws share (the soil's grid) has got room, or was restored: take its arrays anew."""

    def explain(self, status: int) -> str:
        """Why `evaluate` could not go on, in words."""
        return f"the law '{self.name}' answered {status}"

    def acted(self) -> list[tuple[str, float | str, str]]:
        """What the report says of it: labels, numbers or words, units."""
        return []

    def gap(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest gap of what it acts on [m], negative inside the ground, and where; infinite
        where that is not for the law to say. Positions and poses are up to date."""
        return math.inf, ""

    def set_friction(self, friction: np.ndarray) -> None:
        """Coulomb's coefficient from now on, on each surface of hard ground and between bodies."""

    def ease(self, friction: float | None) -> None:
        """While a robot is placed on the ground: friction as given, or the law's own."""

    def placed(self) -> None:
        """The robot rests: friction is the law's own again, and what was summed is forgotten."""

    def forget(self) -> None:
        """Forget displacements: the robot was moved."""


def stored_energy(laws: Sequence[Law], coordinates: np.ndarray) -> np.ndarray:
    """What all laws store, at recorded coordinates of the robot [J]."""
    return sum((law.stored(coordinates) for law in laws), np.zeros(len(coordinates)))
