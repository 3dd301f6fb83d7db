"""Power and energy of locomotion: by motor, per metre, and by cause.

By motor, with torque τ and rate ω of its joint at the records, integrals by the trapezoidal
rule over them:

    P = τ ω                            mechanical power [W]
    spent = ∫ max(P, 0) dt             work that the motor does                              [J]
    returned = ∫ max(−P, 0) dt         work that the load does on the motor, braking          [J]

Returned work is lost, burnt in the brake, unless motors regenerate. With a model of the motor
(`motors` of the scenario: R, k n, gear), current i and voltage U = R i + k n ω,

    U i = R i² + (k n ω i − τ ω) + τ ω
    taken from the battery − burnt = copper + gear + mechanical                              [J]

where `burnt` is ∫ max(−U i, 0) dt without regeneration and 0 with it; the sums close exactly.

Distances: `path_length` is that of the base, `net_displacement` its displacement along the wanted
direction: the robot's heading at the start, tilted as the robot is (uphill on a slope), or one that
is given. The energy E drawn, electrical where motors with a model do 99 % of the work, mechanical
otherwise (spent, less what is returned with regeneration), gives

    energy per metre E/d [J/m],  cost of transport E/(m g d),
    specific resistance: the same with the mechanical energy (G. Gabrielli, Th. von Kármán: What
    price speed? Mechanical Engineering 72, 1950), with d the path length or the net displacement.

Where the work of all motors W went (`energy_motors`, summed in every step):

    W = Δ kinetic + m g Δz (lifting the centre of mass) + Δ springs and tethers
      + soil: compaction + shear + its rest (rebound, soil pushed aside)
      + ground of the compliant law or of one of your own (friction, damping, what it stores)
      + damping of joints ∫ Σ b q̇² dt and of beams (summed in every step) + what is left

What is left holds friction and impacts on hard ground, the loss of the integration scheme, and the
error of the records; on soil alone it is the error of the account, `closure` by the energy spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.errors import InputError
from marsyard.renamed import Renamed
from marsyard.results.dataset import open_results, span_text
from marsyard.rotations import x_axes

if TYPE_CHECKING:
    from marsyard.single_run import Run

#: causes in the order in which they are shown, and what they are called
CAUSES = {
    "kinetic": "kinetic energy",
    "lifting": "lifting",
    "springs": "springs and tethers",
    "compaction": "soil compaction",
    "shear": "soil shear and slip",
    "soil_rest": "other soil work",
    "ground": "contact layers, compliant ground, custom law",
    "damping": "damping of joints and beams",
    "rest": "rest",
}
#: share of the work that motors without a model may do while the electrical energy counts as known
SMALL = 0.01
#: below this path length a cost per metre means nothing [m]
LEAST_PATH = 0.01


@dataclass(frozen=True)
class MotorEnergy:
    """Energy of one motor, or of a group; electrical parts are NaN without a model of the motor.

    Powers [W]; energies [J]: spent, returned, electrical (from the battery), copper, gear, burnt.
    """

    name: str
    role: str
    mean_power: float
    peak_power: float
    spent: float
    returned: float
    electrical: float = math.nan
    copper: float = math.nan
    gear: float = math.nan
    burnt: float = math.nan

    @property
    def net(self) -> float:
        """Mechanical work at the joint [J]."""
        return self.spent - self.returned

    @property
    def works(self) -> bool:
        """Whether it did or took any work."""
        return self.spent + self.returned > 0.0

    @property
    def has_model(self) -> bool:
        """Whether its electrical energy is known."""
        return math.isfinite(self.electrical)

    @property
    def closure(self) -> float:
        """Electrical energy that its parts leave open [J]."""
        return self.electrical - self.burnt - self.copper - self.gear - self.net


@dataclass(frozen=True)
class EnergyAccount:
    """The energy of a run, or of a span of it.

    Attributes:
        start, end: the span [s].
        weight: m g [N].
        motors: all that work or have a model. groups: the same summed by role.
        total: all of them; its peak is that of the sum.
        work: of all motors, net, summed in every step [J].
        causes: where it went [J], by the names of `CAUSES`.
        path_length, net_displacement, elevation_gain: length of the base's path, displacement along
            the wanted direction, and rise of the centre of mass [m].
        regeneration: whether returned work counts as recuperated, of motors without a model.
        soil_only: nothing but soil carried the robot, so that `rest` is the error of the account.
    """

    start: float
    end: float
    weight: float
    motors: tuple[MotorEnergy, ...]
    groups: tuple[MotorEnergy, ...]
    total: MotorEnergy
    work: float
    causes: Mapping[str, float]
    path_length: float
    net_displacement: float
    elevation_gain: float
    regeneration: bool
    soil_only: bool

    way = Renamed("path_length")
    made_good = Renamed("net_displacement")
    rise = Renamed("elevation_gain")

    @property
    def duration(self) -> float:
        """Length of the span [s]."""
        return self.end - self.start

    @property
    def mechanical(self) -> float:
        """Mechanical energy drawn [J]."""
        return self.total.net if self.regeneration else self.total.spent

    @property
    def electrical(self) -> float:
        """Electrical energy drawn [J]; NaN unless motors with a model do nearly all the work."""
        return self.total.electrical

    @property
    def drawn(self) -> float:
        """Electrical energy where it is known, else mechanical [J]."""
        return self.electrical if math.isfinite(self.electrical) else self.mechanical

    @property
    def basis(self) -> str:
        """Which of the two `drawn` is."""
        return "electrical" if math.isfinite(self.electrical) else "mechanical"

    def per_metre(self, energy: float, distance: float | None = None) -> float:
        """Energy per metre of path, or of another distance [J/m]; infinite where there is none."""
        d = self.path_length if distance is None else distance
        return energy / d if d > LEAST_PATH else math.inf

    def by_weight(self, energy: float, distance: float | None = None) -> float:
        """Energy by weight and distance."""
        return self.per_metre(energy, distance) / self.weight if self.weight > 0 else math.nan

    @property
    def cost_of_transport(self) -> float:
        """Energy drawn by weight and net displacement."""
        return self.by_weight(self.drawn, self.net_displacement)

    @property
    def specific_resistance(self) -> float:
        """Mechanical energy by weight and net displacement."""
        return self.by_weight(self.mechanical, self.net_displacement)

    @property
    def closure(self) -> float:
        """Residual of the energy balance over the energy spent."""
        scale = self.total.spent + self.total.returned
        return self.causes["rest"] / scale if scale > 0 else 0.0

    @property
    def sampling(self) -> float:
        """Work summed in every step less that of the records, by the energy spent."""
        scale = self.total.spent + self.total.returned
        return (self.work - self.total.net) / scale if scale > 0 else 0.0

    @property
    def moves(self) -> bool:
        """Whether motors worked and the base travelled."""
        return self.total.works and self.path_length > 0.05

    def as_dict(self) -> dict[str, Any]:
        """All numbers, SI, ready for JSON (infinite and unknown ones are None)."""
        numbers = {
            "start": self.start, "end": self.end, "weight": self.weight, "work": self.work,
            "path_length": self.path_length, "net_displacement": self.net_displacement,
            "elevation_gain": self.elevation_gain,
            "mechanical": self.mechanical, "electrical": self.electrical, "drawn": self.drawn,
            "mechanical_per_metre": self.per_metre(self.mechanical),
            "electrical_per_metre": self.per_metre(self.electrical),
            "drawn_per_metre_net": self.per_metre(self.drawn, self.net_displacement),
            "cost_of_transport": self.cost_of_transport,
            "specific_resistance": self.specific_resistance,
            "closure": self.closure, "sampling": self.sampling,
        }  # fmt: skip
        return {
            **{k: _finite(v) for k, v in numbers.items()},
            "basis": self.basis, "regeneration": self.regeneration, "soil_only": self.soil_only,
            "causes": {k: _finite(v) for k, v in self.causes.items()},
            "motors": [_numbers(m) for m in self.motors],
            "groups": [_numbers(m) for m in self.groups],
            "total": _numbers(self.total),
        }  # fmt: skip


def energy_account(
    run: xr.Dataset | Run | str | Path,
    *,
    start: float | None = None,
    end: float | None = None,
    along: Sequence[float] | None = None,
    regeneration: bool | None = None,
) -> EnergyAccount:
    """The energy account of a run: its data set, a `Run`, or its folder.

    start, end: only this span of it [s]. along: the wanted direction in the world, two or three
    numbers; without it the robot's heading at the start. regeneration: whether work returned to
    motors is fed back; without it, as the scenario's motors say, and not at all for motors that
    have no model.
    """
    ds = _data(run)
    for name in ("motor_torque", "joint_rate", "energy_kinetic", "position_com"):
        if name not in ds:
            raise InputError(f"energy: the results hold no '{name}'; run the scenario again")
    first, last = _span(ds, start, end)
    piece = ds.isel(time=slice(first, last + 1))
    motors = _motors(piece, regeneration)
    total = _sum("all", "", motors, _power(piece).sum(axis=1))
    base = piece["position_base"].transpose("time", "axis").values
    steps = np.linalg.norm(np.diff(base, axis=0), axis=1)
    direction = _direction(piece, along)
    com = piece["position_com"].transpose("time", "axis").values
    causes = {name: float(values[-1]) for name, values in causes_of(piece).items()}
    return EnergyAccount(
        start=float(piece["time"][0]), end=float(piece["time"][-1]),
        weight=_weight(ds), motors=tuple(motors), groups=tuple(_groups(piece, motors)),
        total=total, work=causes.pop("motors"), causes=causes, path_length=float(steps.sum()),
        net_displacement=float((base[-1] - base[0]) @ direction),
        elevation_gain=float(com[-1, 2] - com[0, 2]),
        regeneration=bool(regeneration), soil_only=_soil_only(piece),
    )  # fmt: skip


def causes_of(ds: xr.Dataset) -> dict[str, np.ndarray]:
    """Work of the motors and where it went since the first record [J], each of shape [time]."""

    def since(name: str) -> np.ndarray:
        values = ds[name].values.astype(float) if name in ds else np.zeros(ds.sizes["time"])
        return values - values[0]

    power = _power(ds).sum(axis=1)
    work = since("energy_motors") if "energy_motors" in ds else _running(ds, power)
    height = ds["position_com"].sel(axis="z").values
    lifting = _weight(ds) * (height - height[0])
    soil, compaction, shear = (since(f"energy_{n}") for n in ("soil", "compaction", "shear"))
    out = {
        "motors": work,
        "kinetic": since("energy_kinetic"),
        "lifting": lifting,
        "springs": since("energy_potential") - lifting,
        "compaction": compaction,
        "shear": shear,
        "soil_rest": soil - compaction - shear,
        "ground": since("energy_ground"),
        "damping": _damping(ds) + since("energy_beams"),
    }
    out["rest"] = work - sum(values for name, values in out.items() if name != "motors")
    return out


def powers_of(ds: xr.Dataset) -> dict[str, np.ndarray]:
    """Mechanical power by role [W], of joints that work, each of shape [time]."""
    power, roles = _power(ds), _roles(ds)
    out: dict[str, np.ndarray] = {}
    for role in dict.fromkeys(roles):
        total = power[:, [r == role for r in roles]].sum(axis=1)
        if np.any(total):
            out[role] = total
    return out


# --- motors


def _motors(ds: xr.Dataset, regeneration: bool | None) -> list[MotorEnergy]:
    """A row per joint that works or has a model of its motor."""
    power = _power(ds)
    known = [str(m) for m in ds["motor"].values] if "motor_resistance" in ds else []
    out = []
    for k, (name, role) in enumerate(zip(ds["joint"].values.tolist(), _roles(ds), strict=True)):
        electrical = _electrical(ds, str(name), power[:, k], regeneration) if name in known else {}
        motor = _row(ds, str(name), role, power[:, k], electrical)
        if motor.works or motor.has_model:
            out.append(motor)
    return out


def _row(
    ds: xr.Dataset, name: str, role: str, power: np.ndarray, electrical: Mapping[str, float]
) -> MotorEnergy:
    spent, returned = (_whole(ds, np.maximum(sign * power, 0.0)) for sign in (1.0, -1.0))
    return MotorEnergy(
        name, role, _mean(ds, spent - returned), float(np.max(np.abs(power), initial=0.0)),
        spent, returned, **electrical,
    )  # fmt: skip


def _electrical(
    ds: xr.Dataset, name: str, power: np.ndarray, regeneration: bool | None
) -> dict[str, float]:
    """What the battery gives and where it is lost [J]."""
    own = ds.sel(motor=name)
    current, voltage = own["motor_current"].values, own["motor_voltage"].values
    rate = ds["joint_rate"].sel(joint=name).values
    feeds = bool(own["motor_regeneration"]) if regeneration is None else regeneration
    taken = voltage * current
    burnt = 0.0 * taken if feeds else np.maximum(-taken, 0.0)
    return {
        "electrical": _whole(ds, taken + burnt),
        "copper": _whole(ds, float(own["motor_resistance"]) * current**2),
        "gear": _whole(ds, float(own["motor_emf"]) * rate * current - power),
        "burnt": _whole(ds, burnt),
    }


def _groups(ds: xr.Dataset, motors: Sequence[MotorEnergy]) -> list[MotorEnergy]:
    power, roles = _power(ds), _roles(ds)
    out = []
    for role in dict.fromkeys(m.role for m in motors):
        members = [m for m in motors if m.role == role]
        out.append(_sum(role, role, members, power[:, [r == role for r in roles]].sum(axis=1)))
    return out


def _sum(name: str, role: str, members: Sequence[MotorEnergy], power: np.ndarray) -> MotorEnergy:
    """Several motors together: the peak is that of their sum. Members that have no model and do
    more than `SMALL` of the work leave the electrical parts unknown."""

    def of(field: str, of_these: Sequence[MotorEnergy] = members) -> float:
        return float(sum(getattr(m, field) for m in of_these))

    known = [m for m in members if m.has_model]
    unknown = [m for m in members if not m.has_model]
    electric = {}
    moved = of("spent") + of("returned")
    if known and of("spent", unknown) + of("returned", unknown) <= SMALL * moved:
        electric = {f: of(f, known) for f in ("electrical", "copper", "gear", "burnt")}
    return MotorEnergy(
        name, role, of("mean_power"), float(np.max(np.abs(power), initial=0.0)), of("spent"),
        of("returned"), **electric,
    )  # fmt: skip


# --- pieces


def _data(run: Any) -> xr.Dataset:
    if isinstance(run, xr.Dataset):
        return run
    if isinstance(run, str | Path):
        return open_results(run)
    return run.data


def _span(ds: xr.Dataset, start: float | None, end: float | None) -> tuple[int, int]:
    """First and last record of the span."""
    time = ds["time"].values.astype(float)
    slack = 1e-9 * max(1.0, abs(float(time[-1])))
    inside = np.ones(len(time), dtype=bool)
    if start is not None:
        inside &= time >= start - slack
    if end is not None:
        inside &= time <= end + slack
    found = np.flatnonzero(inside)
    if len(found) < 2:
        raise InputError(
            f"energy: fewer than two records {span_text(start, end)}; the run goes "
            f"from {time[0]:g} s to {time[-1]:g} s"
        )
    return int(found[0]), int(found[-1])


def _power(ds: xr.Dataset) -> np.ndarray:
    """Mechanical power of each joint [W], shape [time, joint]."""
    torque, rate = (ds[n].transpose("time", "joint").values for n in ("motor_torque", "joint_rate"))
    return np.nan_to_num(torque * rate)


def _roles(ds: xr.Dataset) -> list[str]:
    if "joint_role" not in ds:
        return ["motors"] * ds.sizes["joint"]
    return [str(role) for role in ds["joint_role"].values]


def _whole(ds: xr.Dataset, power: np.ndarray) -> float:
    return float(np.trapezoid(power, ds["time"].values))


def _running(ds: xr.Dataset, power: np.ndarray) -> np.ndarray:
    step = np.diff(ds["time"].values)
    return np.concatenate([[0.0], np.cumsum(step * (power[1:] + power[:-1]) / 2)])


def _mean(ds: xr.Dataset, work: float) -> float:
    span = float(ds["time"][-1] - ds["time"][0])
    return work / span if span > 0 else 0.0


def _damping(ds: xr.Dataset) -> np.ndarray:
    if "dof_damping" not in ds or "velocities" not in ds:
        return np.zeros(ds.sizes["time"])
    rate = ds["velocities"].transpose("time", "dof").values
    return _running(ds, rate**2 @ ds["dof_damping"].values)


def _weight(ds: xr.Dataset) -> float:
    return float(ds.attrs.get("weight", 0.0))


def _direction(ds: xr.Dataset, along: Sequence[float] | None) -> np.ndarray:
    """The wanted direction, a unit vector in the world."""
    if along is None:
        return x_axes(ds["quaternion_base"].transpose("time", "quat").values[0])
    given = np.array([*along, 0.0][:3], dtype=float)
    size = np.linalg.norm(given)
    if len(along) not in (2, 3) or not np.isfinite(size) or size == 0:
        raise InputError(f"along = {list(along)}: must be two or three numbers, not all 0")
    return given / size


def _soil_only(ds: xr.Dataset) -> bool:
    """Whether there is soil, and nothing met hard ground, another body or a stop: only wheels have
    impulses of their own, all rigid contacts are counted."""
    if "energy_soil" not in ds or "energy_ground" in ds:
        return False
    hard = [ds[name].values[1:] for name in ("impulse_normal", "contacts") if name in ds]
    return not any(np.any(np.nan_to_num(values) != 0) for values in hard)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(motor: MotorEnergy) -> dict[str, Any]:
    values = {f.name: getattr(motor, f.name) for f in fields(motor)}
    return {k: v if isinstance(v, str) else _finite(v) for k, v in values.items()}
