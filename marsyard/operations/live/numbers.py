"""Quantities of a running simulation, by the names of its data set.

The records since the last look are made into fewer, longer ones: impulses, sums and works are added
up over the records that are put together, everything else is that of the last. The columns of
these few rows are made by the same code as those of a finished run, so that numbers and names
agree. Quantities that run up from the start (energies) go on from where they were.

Everything here happens in the thread of the display; the physics takes no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.operations.live.history import History
from marsyard.simulation.recorder import columns

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.operations.live.physics import Snapshot
    from marsyard.simulation import Simulation
    from marsyard.simulation.arrays import Records
    from marsyard.simulation.columns import Columns

#: fields of the records that add up
ADDED = (
    "normal", "tangent", "world", "reaction", "other", "motor_work", "organ", "attached", "summed",
    "coarse",
)  # fmt: skip
#: and those of which the largest counts
LARGEST = ("largest",)
ROWS = 40  # rows made of the new records, at most
MEAN = 0.02  # forces shown as arrows are means over about this [s]
LOG = 4000  # entries of a drive's log that are looked at
#: left out of what can be chosen: raw impulses depend on how records are put together
_LEFT_OUT = ("coordinates", "velocities", "reaction", "quaternion_base", "restitution_limited")


@dataclass(frozen=True)
class Quantity:
    """Something that can be plotted: its name, unit, what it is, and names of its lines."""

    name: str
    units: str
    text: str
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.units}]" if self.units not in ("", "1") else self.name


class Numbers:
    """All quantities of a simulation so far, and the newest value of each."""

    def __init__(self, simulation: Simulation, room: int = 600) -> None:
        self._simulation = simulation
        self.history = History(room)
        self.quantities: dict[str, Quantity] = {}
        self.newest: dict[str, np.ndarray] = {}
        self._seen = 0
        self._offset: dict[str, np.ndarray] = {}

    def update(self, now: Snapshot) -> bool:
        """Take in the records up to a snapshot; whether there were any."""
        if now.count <= self._seen:
            return False
        first = max(self._seen - 1, 0)
        # who comes late sees the whole run so far
        rows_wanted = ROWS if self._seen else self.history.room // 2
        records = joined(now.records, first, self._seen, now.count, rows_wanted)
        ds = columns(_with_records(self._simulation, records))
        _add_force(ds)
        new = slice(1 if self._seen else 0, None)
        rows = {}
        for name, array in ds.variables.items():
            if not _is_offered(name, array):
                continue
            values = _flat(array)
            if _runs_up(name):
                values = self._go_on(name, values)
            rows[name] = values[new]
            if name not in self.quantities:
                self.quantities[name] = _quantity(name, array, ds)
        self.history.add(ds.coords["time"].values[new], rows)
        self.newest = {name: values[-1] for name, values in rows.items()}
        self._seen = now.count
        return True

    def _go_on(self, name: str, values: np.ndarray) -> np.ndarray:
        """Sums since the start from those since the last look."""
        if self._seen:
            values = values - values[0] + self._offset.get(name, 0.0)
        self._offset[name] = values[-1]
        return values

    def of_wheel(self, wheel: str) -> dict[str, tuple[float, str]]:
        """Newest values of all that is known by wheel, with units; and of its joint's motor."""
        joint = self._simulation.world.robot.wheels[wheel].joint
        found = {}
        for name, quantity in self.quantities.items():
            for line, label in enumerate(quantity.lines):
                head, _, rest = label.partition(" ")
                if head in (wheel, joint):
                    key = f"{name} {rest}".strip()
                    found[key] = (float(self.newest[name][line]), quantity.units)
        return found


def joined(records: Records, before: int, start: int, end: int, rows: int) -> Records:
    """Records from `start` to `end` put together to at most `rows`, after that at `before`."""
    every = -(-(end - start) // rows)
    first = np.arange(start, end, every)
    last = np.append(first[1:], end) - 1
    head = np.arange(before, start)
    taken = np.concatenate([head, last])

    def field(name: str, array: np.ndarray) -> np.ndarray:
        if len(array) < end:
            return array  # fields that this kind of run does not have
        if name not in (*ADDED, *LARGEST):
            return array[taken]
        join = np.maximum if name in LARGEST else np.add
        return np.concatenate([array[head], join.reduceat(array[start:end], first - start, axis=0)])

    return type(records)(*(field(n, a) for n, a in zip(records._fields, records, strict=True)))


def mean_forces(now: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """Contact points [m] and forces on the wheels [N], [wheel, 3], means over a few records."""
    records, end = now.records, now.count
    if end < 2 or not records.world.shape[1]:
        nothing = np.full((records.world.shape[1], 3), np.nan)
        return nothing, nothing
    time = records.time
    start = end - 1
    while start > 1 and time[end - 1] - time[start - 1] < MEAN and end - start < 200:
        start -= 1
    span = time[end - 1] - time[start - 1]
    point = records.point[end - 1].copy()
    if not span > 0:
        return point, np.full_like(point, np.nan)
    force = records.world[start:end].sum(axis=0) / span
    return point, np.where(np.isfinite(point), force, np.nan)


# --- the data set of a few records


class _Seen:
    """An object with some of its attributes replaced."""

    def __init__(self, of: Any, **instead: Any) -> None:
        self.__dict__.update(instead)
        self.__dict__["_of"] = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_of"], name)


def _with_records(simulation: Simulation, records: Records) -> Any:
    """The simulation as if it had only these records, and only the end of its drive's log."""
    instead: dict[str, Any] = {"records": records}
    for name in ("drive", "gait"):
        pilot = getattr(simulation, name)
        if pilot is not None:
            instead[name] = _Seen(pilot, log=list(pilot.log[-LOG:]))
    return _Seen(simulation, **instead)


def _add_force(ds: Columns) -> None:
    """Mean force on each wheel since the row before."""
    if "contact_impulse_world" not in ds:
        return
    interval = np.diff(ds.coords["time"].values, prepend=np.nan)
    interval = np.where(interval > 0, interval, np.nan)
    force = ds["contact_impulse_world"].values / interval[:, None, None]
    about = {"units": "N", "long_name": "force of the ground on the wheel"}
    ds["contact_force"] = (("time", "wheel", "axis"), force, about)


def _is_offered(name: str, array: xr.Variable) -> bool:
    if "time" not in array.dims or "contact_angle" in array.dims or array.size == 0:
        return False
    return not (name in _LEFT_OUT or "impulse" in name) and array.dtype.kind in "fiub"


def _runs_up(name: str) -> bool:
    """Whether a quantity is summed from the start of the run."""
    if name in ("energy_kinetic", "energy_potential"):
        return False
    return name.startswith("energy_") or name == "displaced_volume"


def _quantity(name: str, array: xr.Variable, of: Columns) -> Quantity:
    dims = [d for d in array.dims if d != "time"]
    labels = [""]
    for dim in dims:
        own = [str(v) for v in of.coords[dim].values] if dim in of.coords else []
        own = own or [str(k) for k in range(array.sizes[dim])]
        labels = [f"{a} {b}".strip() for a in labels for b in own]
    attrs = array.attrs
    units, text = str(attrs.get("units", "")), str(attrs.get("long_name", name))
    return Quantity(name, units, text, tuple(labels))


def _flat(array: xr.Variable) -> np.ndarray:
    """Values of shape [time, component]."""
    order = ["time", *(d for d in array.dims if d != "time")]
    values = array.transpose(*order).values.astype(float)
    return values.reshape(len(values), -1)
