"""Measures of one run of a mode on a slope.

The span is that of whole cycles, without the first, in which the robot finds its gait. With its
direction of travel e (the heading on the slope, turned as the mode says) and the planned speed v₀,

    speed        displacement of the base along e by the length of the span            [m/s]
    slip         1 − speed/v₀
    energy       mechanical and electrical, by the net displacement along e          [J/m]
                 (`results.energy`), and by cause
    still        the same speed in the later half of the span

It climbs if the run goes through, the base never leans by more than 45° from the slope, and in the
later half it still makes `least` of the planned speed: a robot that digs itself in does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from marsyard.control.locomotion import STATES
from marsyard.errors import InputError
from marsyard.results.energy import energy_account
from marsyard.rotations import z_axes

#: the base tips over beyond this [rad]
TIPPED = math.radians(45)
_CYCLE = STATES.index("cycle")


@dataclass(frozen=True)
class Row:
    """One run: a mode on a slope [rad]; SI, NaN where nothing is known.

    `why` says why it does not climb. Energies are by net displacement [J/m].
    """

    mode: str
    slope: float
    climbs: bool
    why: str
    speed: float = math.nan
    still: float = math.nan
    slip: float = math.nan
    net_displacement: float = math.nan
    power: float = math.nan
    mechanical: float = math.nan
    electrical: float = math.nan
    cost_of_transport: float = math.nan
    specific_resistance: float = math.nan
    margin: float = math.nan
    sinkage: float = math.nan
    closure: float = math.nan
    lifting: float = math.nan
    compaction: float = math.nan
    shear: float = math.nan
    soil_rest: float = math.nan
    braking: float = math.nan
    rest: float = math.nan
    copper: float = math.nan
    gear: float = math.nan
    wall_time: float = math.nan
    unconverged: int = 0


def planned(mode: Any) -> tuple[float, float]:
    """Planned speed [m/s] and direction against the heading [rad] of a mode of the scenario."""
    speed = mode.speed if mode.mode == "rolling" else mode.stride / mode.period
    turn = math.pi if speed < 0 else 0.0
    return abs(speed), turn + float(getattr(mode, "heading", 0.0))


def cycle_ends(ds: xr.Dataset) -> np.ndarray:
    """Records at which a cycle ends."""
    state, phase = ds["gait_state"].values, ds["gait_phase"].values
    inside = state == _CYCLE
    falls = np.append((phase[1:] < phase[:-1]) | (state[1:] != _CYCLE), phase[-1] > 1 - 1e-6)
    return np.flatnonzero(inside & falls)


def direction(slope: float, uphill: float, heading: float) -> np.ndarray:
    """Unit vector along the slope whose trace on the level has this heading; all [rad]."""
    rise = math.tan(slope) * math.cos(heading - uphill)
    out = np.array([math.cos(heading), math.sin(heading), rise])
    return out / np.linalg.norm(out)


def normal(slope: float, uphill: float) -> np.ndarray:
    """Of the slope, upwards."""
    down = -math.sin(slope)
    return np.array([down * math.cos(uphill), down * math.sin(uphill), math.cos(slope)])


def measure(
    ds: xr.Dataset,
    name: str,
    mode: Any,
    slope: float,
    uphill: float,
    heading: float,
    least: float,
    stopped: str | None,
    wall_time: float,
) -> Row:
    """The numbers of a run; angles [rad]."""
    health: dict[str, Any] = {
        "wall_time": wall_time, "unconverged": int(np.nansum(ds["unconverged"].values)),
    }  # fmt: skip
    if stopped is not None:
        return Row(name, slope, False, f"the run {stopped}", **health)
    ends = cycle_ends(ds)
    if len(ends) < 3:
        raise InputError(
            f"{name}: only {len(ends)} cycles end within the run, but at least 3 are needed; "
            f"increase run.duration"
            ""
        )
    speed, turn = planned(mode)
    along = direction(slope, uphill, heading + turn)
    time = ds["time"].values
    first, middle, last = ends[0], ends[len(ends) // 2], ends[-1]
    account = energy_account(ds, start=time[first], end=time[last], along=along.tolist())
    base = ds["position_base"].transpose("time", "axis").values
    still = float((base[last] - base[middle]) @ along / (time[last] - time[middle]))
    why = _fails(ds, slope, uphill, still, speed, least)
    d = account.net_displacement if account.net_displacement > 1e-3 else math.nan
    by = {k: v / d for k, v in account.causes.items()}
    total = account.total
    return Row(
        name, slope, not why, why,
        speed=account.net_displacement / account.duration, still=still,
        slip=1 - account.net_displacement / account.duration / speed,
        net_displacement=account.net_displacement,
        power=account.drawn / account.duration,
        mechanical=account.mechanical / d, electrical=account.electrical / d,
        cost_of_transport=account.drawn / d / account.weight if account.weight else math.nan,
        specific_resistance=account.mechanical / d / account.weight if account.weight else math.nan,
        margin=_least(ds, "stability_margin", first), sinkage=_mean(ds, "sinkage", first),
        closure=account.closure, lifting=by["lifting"], compaction=by["compaction"],
        shear=by["shear"], soil_rest=by["soil_rest"], braking=total.returned / d,
        rest=sum(by[k] for k in ("rest", "ground", "damping", "springs", "kinetic")),
        copper=total.copper / d, gear=(total.gear + total.burnt) / d, **health,
    )  # fmt: skip


def _fails(
    ds: xr.Dataset, slope: float, uphill: float, still: float, speed: float, least: float
) -> str:
    """Why the robot does not climb; empty if it does."""
    up = z_axes(ds["quaternion_base"].transpose("time", "quat").values)
    lean = np.arccos(np.clip(up @ normal(slope, uphill), -1.0, 1.0))
    if np.nanmax(lean) > TIPPED:
        return "tips over"
    if still < -0.01 * speed:
        return "slides back"
    if still < least * speed:
        return f"ends at {100 * still / speed:.0f} % of its speed"
    return ""


def _least(ds: xr.Dataset, name: str, first: int) -> float:
    values = ds[name].values[first:] if name in ds else np.zeros(0)
    return float(np.nanmin(values)) if np.isfinite(values).any() else math.nan


def _mean(ds: xr.Dataset, name: str, first: int) -> float:
    values = ds[name].values[first:] if name in ds else np.zeros(0)
    return float(np.nanmean(values)) if np.isfinite(values).any() else math.nan
