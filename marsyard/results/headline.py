"""The headline of a run: motion, distance, duration, slip, energy per metre and checks.

    climbed 5.1 m in 53 s, slip 35 %, 117 J/m, all 4 checks pass

Everything is computed from the data set:

    distance   length of the path of the base, from record to record                         [m]
    climbed    where the straight line from start to end rises by more than 3°, with the height
               gained; descended where it falls by more than that; else drove, or walked without
               wheels, or moved where no motor worked
    fell, rose, turned, stayed    where the base ends within 5 cm of the vertical through its start
    slip       mean of `slip_ratio` over wheels and records at which the wheel turns or moves
               (it is 0 at rest), where a rover drives                                       [1]
    J/m        energy drawn by distance, as in the section Power and energy
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from marsyard.drawing.page import number
from marsyard.results.checks import CheckResult
from marsyard.results.dataset import attitude
from marsyard.results.energy_figures import account_of

#: a rise of the straight line from start to end above which a rover climbs [rad]
CLIMB = math.radians(3.0)
#: distance from the vertical through the start below which a base has stayed in place [m]
IN_PLACE = 0.05
#: change of height and of heading that count where it has [m], [rad]
FALL, TURN = 0.05, math.radians(10.0)


@dataclass(frozen=True)
class Headline:
    """The numbers of the line, NaN where there is none, and the line itself.

    distance [m]: along the path. rise [m]: of the base from start to end. duration [s].
    """

    verb: str
    distance: float
    rise: float
    duration: float
    slip: float
    energy_per_metre: float
    words: str


def headline_of(
    ds: xr.Dataset, checks: Sequence[CheckResult] = (), stopped: str | None = None
) -> Headline:
    """The headline of a run; `stopped` is the reason for an early end."""
    time = ds["time"].values.astype(float)
    duration = float(time[-1] - time[0])
    verb, distance, rise, phrase = _motion(ds)
    slip, cost = math.nan, math.nan
    how_long = "for" if verb == "stayed" else "in"
    parts = [f"{phrase} {how_long} {number(duration, 3)} s"]
    if verb in ("climbed", "descended", "drove"):
        slip = mean_slip(ds)
        if math.isfinite(slip):
            parts.append(f"slip {_plain(100 * slip, 2)} %" if abs(slip) >= 5e-4 else "no slip")
    travelled = verb in ("climbed", "descended", "drove", "walked")
    account = account_of(ds) if travelled else None
    if account is not None:
        cost = account.per_metre(account.drawn)
        if math.isfinite(cost):
            parts.append(f"{_plain(cost, 3)} J/m")
    if stopped:
        parts.append("stopped by the user" if "by hand" in stopped else "then the run diverged")
    parts.append(checks_words(checks))
    words = ", ".join(part for part in parts if part)
    return Headline(verb, distance, rise, duration, slip, cost, words[:1].upper() + words[1:])


def checks_words(checks: Sequence[CheckResult]) -> str:
    """'all 4 checks pass', '2 of 4 checks fail'; empty where nothing is judged."""
    judged = [c for c in checks if c.judged]
    bad = sum(not c.ok for c in judged)
    if not judged:
        return ""
    if len(judged) == 1:
        return "its check fails" if bad else "its check passes"
    if bad:
        return f"{bad} of {len(judged)} checks fail"
    return f"all {len(judged)} checks pass"


def mean_slip(ds: xr.Dataset) -> float:
    """Mean slip of the wheels while they turn or move [1]; NaN where they never do."""
    if "slip_ratio" not in ds:
        return math.nan
    slip = ds["slip_ratio"].values
    moving = np.isfinite(slip) & (slip != 0.0)
    return float(slip[moving].mean()) if moving.any() else math.nan


def _motion(ds: xr.Dataset) -> tuple[str, float, float, str]:
    """What the base did: the verb, the distance [m], the rise [m], and both in words."""
    if "position_base" not in ds:
        return "simulated", math.nan, math.nan, "simulated"
    base = ds["position_base"].transpose("time", "axis").values
    base = base[np.isfinite(base).all(axis=1)]
    if len(base) < 2:
        return "simulated", math.nan, math.nan, "simulated"
    distance = float(np.linalg.norm(np.diff(base, axis=0), axis=1).sum())
    rise = float(base[-1, 2] - base[0, 2])
    level = math.hypot(*(base[-1, :2] - base[0, :2]))
    if level < IN_PLACE and float(np.ptp(base[:, :2], axis=0).max()) < 2 * IN_PLACE:
        return _in_place(ds, distance, rise)
    slope = math.atan2(rise, level)
    far = f"{number(distance, 2 if distance < 100 else 3)} m"
    if not _driven(ds):
        verb = "moved"
    elif abs(slope) > CLIMB:
        verb = "climbed" if slope > 0 else "descended"
        far += f" ({number(abs(rise), 2)} m {'higher' if rise > 0 else 'lower'})"
    else:
        verb = "drove" if ds.sizes.get("wheel", 0) or ds.sizes.get("track", 0) else "walked"
    return verb, distance, rise, f"{verb} {far}"


def _in_place(ds: xr.Dataset, distance: float, rise: float) -> tuple[str, float, float, str]:
    if abs(rise) > FALL:
        verb = "fell" if rise < 0 else "rose"
        return verb, distance, rise, f"{verb} {number(abs(rise), 3)} m"
    if "quaternion_base" in ds:
        yaw = attitude(ds["quaternion_base"].transpose("time", "quat").values)[:, 2]
        turn = float(yaw[-1] - yaw[0])
        if abs(turn) > TURN:
            phrase = f"turned by {number(math.degrees(turn), 3)}° in place"
            return "turned", distance, rise, phrase
    return "stayed", distance, rise, "stayed in place"


def _plain(value: float, digits: int) -> str:
    """A number with as many digits that count, without a power of ten."""
    return f"{float(f'{value:.{digits}g}'):.12g}".replace("-", "−")


def _driven(ds: xr.Dataset) -> bool:
    """Whether any motor did work."""
    if "motor_power" not in ds:
        return False
    power = ds["motor_power"].values
    return bool(np.nanmax(np.abs(power), initial=0.0) > 1e-9)
