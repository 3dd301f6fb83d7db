"""Checks: a number from the results compared with a published or exact one.

An impact is an interval between records whose normal impulse, summed over the wheels, exceeds
five times what carries the weight at rest, and in which a wheel comes down that was in the air.
Its instant is not the time of a record: with the gap g, its closing speed v and the acceleration
a of the last record before, it lies τ later, g = v τ + ½ a τ².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from marsyard.errors import InputError
from marsyard.results.dataset import record_period, series, span_text
from marsyard.scenario.report_schema import Check, Measure
from marsyard.units import UNITS, dimension_of, in_unit

IMPACT_FACTOR = 5.0
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class CheckResult:
    """The outcome of a check. `computed` is None when it could not be computed; see `reason`."""

    name: str
    computed: float | None
    expected: float
    tolerance: float
    unit: str
    verdict: str
    source: str
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Computed, and within the tolerance."""
        return self.verdict == "pass"

    @property
    def judged(self) -> bool:
        """Whether the check could be evaluated, i.e. it is not about a part of the run left out by
        the user.
        """
        return self.verdict != NOT_JUDGED


def evaluate(ds: xr.Dataset, check: Check) -> CheckResult:
    """The check's number and verdict; whatever is missing makes it "not computed"."""
    computed, reason = measure(ds, check)
    return judge(
        check.name, computed, check.expected, check.tolerance, check.unit, check.source, reason
    )


def measure(ds: xr.Dataset, what: Measure) -> tuple[float | None, str]:
    """The number asked for, or None and the reason why there is none."""
    try:
        computed = float(TAKES[what.take](ds, what))
    except InputError as error:
        return None, str(error)
    except Exception as error:  # one odd number must not hide the others
        return None, f"{type(error).__name__}: {error}"
    if not np.isfinite(computed):
        return None, "the result is not a finite number"
    return computed, ""


#: units as the data set has them, as they are written
_WRITTEN = {"N s": "N·s", "N m s": "N·m·s", "N m": "N·m", "1": "", "": ""}
_OWN_UNIT = {
    "crossing_time": "s", "impact_time": "s", "impact_speed": "m/s", "rebound_speed": "m/s",
    "impact_impulse": "N·s",
}  # fmt: skip


def measure_unit(ds: xr.Dataset, what: Measure) -> str:
    """The unit of the number asked for."""
    units = "" if what.of == "impact" else str(series(ds, what.of).attrs.get("units", ""))
    if what.take in _OWN_UNIT:
        return _OWN_UNIT[what.take]
    written = _WRITTEN.get(units, units)
    if what.take != "slope":
        return written
    return f"{written}²" if written.endswith("/s") else f"{written or '1'}/s"


def measure_in(ds: xr.Dataset, what: Measure, unit: str) -> tuple[float | None, str, str]:
    """The number asked for in `unit` (its own where none is given), that unit, and why there is
    none. InputError where the series is missing or the unit is one of something else."""
    own = measure_unit(ds, what)
    unit = own if unit in ("", "1") else unit
    if unit != own and (dimension_of(own) is None or dimension_of(own) != dimension_of(unit)):
        allowed = ", ".join(u for u in UNITS.get(dimension_of(own) or "", {own: 1.0}) if u)
        raise InputError(
            f"'{unit}' is not a unit of this quantity, which is "
            + (f"in '{own}'; valid: {allowed}" if own else f"a plain number; valid: {allowed}")
        )
    number, reason = measure(ds, what)
    if number is not None and own != unit:
        number = in_unit(f"{number!r} {own}" if own else number, unit)
    return number, unit, reason


def judge(
    name: str,
    computed: float | None,
    expected: float,
    tolerance: float,
    unit: str = "",
    source: str = "",
    reason: str = "",
) -> CheckResult:
    """The verdict on a number, "not computed" where there is none."""
    if computed is None:
        verdict = "not computed"
    else:
        slack = 1e-12 * max(abs(expected), abs(computed))
        verdict = "pass" if abs(computed - expected) <= tolerance + slack else "fail"
    return CheckResult(name, computed, expected, tolerance, unit, verdict, source, reason)


def evaluate_all(
    ds: xr.Dataset, checks: Iterable[Check], shortened: bool = False
) -> list[CheckResult]:
    """All checks in their order; of a run that was `shortened` those about what it still holds."""
    results = [(check, evaluate(ds, check)) for check in checks]
    if not shortened:
        return [result for _, result in results]
    end = float(ds["time"].values[-1])
    reason = f"shortened to {end:g} s"
    return [
        result if within(check, result.computed, end)
        else replace(result, verdict=NOT_JUDGED, reason=reason)
        for check, result in results
    ]  # fmt: skip


def within(check: Measure, computed: float | None, end: float) -> bool:
    """Whether a run that ends earlier than the scenario's has what a number is about."""
    if check.take in _OWN_UNIT:  # an event: there or not yet
        return computed is not None
    until = check.at if check.take == "at" else check.end
    return until is not None and until <= end + 1e-9 * max(1.0, end)


# --- what can be taken of a series


def _window(ds: xr.Dataset, check: Measure, several: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and values of the series between start and end; one column per curve."""
    array = series(ds, check.of)
    if array.ndim > 1 and not several:
        dims = ", ".join(str(d) for d in array.dims if d != "time")
        raise InputError(f"'{check.of}' has several curves; select one of its {dims} with a dot")
    time, values = array["time"].values.astype(float), array.values.astype(float)
    inside = _inside(time, check)
    if not inside.any():
        raise InputError(
            f"no record {span_text(check.start, check.end)}; "
            f"the run goes from {time[0]:g} s to {time[-1]:g} s"
        )
    return time[inside], values[inside]


def _inside(time: np.ndarray, check: Measure) -> np.ndarray:
    slack = 1e-9 * max(1.0, float(np.abs(time).max()))
    start = -np.inf if check.start is None else check.start - slack
    end = np.inf if check.end is None else check.end + slack
    return (time >= start) & (time <= end)


def _reduced(function: Callable[[np.ndarray], float], several: bool = False):
    def take(ds: xr.Dataset, check: Measure) -> float:
        values = _window(ds, check, several)[1]
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise InputError(f"'{check.of}' has no finite value in the window")
        return float(function(finite))

    return take


def _at(ds: xr.Dataset, check: Measure) -> float:
    if check.at is None:
        raise InputError("take: at needs a time 'at'")
    time, values = _window(ds, check)
    slack = 1e-9 * max(1.0, abs(time[-1]))
    if not time[0] - slack <= check.at <= time[-1] + slack:
        raise InputError(f"at = {check.at:g} s lies outside {time[0]:g} s … {time[-1]:g} s")
    return float(np.interp(check.at, time, values))


def _slope(ds: xr.Dataset, check: Measure) -> float:
    time, values = _window(ds, check)
    finite = np.isfinite(values)
    if finite.sum() < 2:
        raise InputError("a slope needs two records at least")
    t = time[finite] - time[finite].mean()
    return float(t @ values[finite] / (t @ t))


def _crossing_time(ds: xr.Dataset, check: Measure) -> float:
    time, values = _window(ds, check)
    above = values - check.level
    for i in range(len(above) - 1):
        before, after = above[i], above[i + 1]
        if before != 0 and before * after <= 0:
            return float(time[i] + (time[i + 1] - time[i]) * before / (before - after))
    raise InputError(f"'{check.of}' does not cross {check.level:g} in the window")


# --- impacts


@dataclass(frozen=True)
class Impact:
    """One impact: its instant [s] and total normal impulse [N·s], with the records around it."""

    time: float
    impulse: float
    before: int
    after: int


def impacts(ds: xr.Dataset) -> list[Impact]:
    """All impacts of the run in order of time."""
    per_wheel = series(ds, "impulse_normal").transpose("time", "wheel").values
    total = np.nansum(per_wheel, axis=1)
    time = ds["time"].values.astype(float)
    rest = _resting_impulse(ds, total)
    strong = total > IMPACT_FACTOR * rest
    found = []
    for onset in (np.flatnonzero(strong[1:] & ~strong[:-1]) + 1).tolist():
        # wheels that come down in this interval: loaded now, in the air before
        landing = (per_wheel[onset] > 0) & ~(per_wheel[onset - 1] > 0.01 * rest)
        if not landing.any():
            continue
        end = onset + int(np.argmin(np.append(strong[onset:], False)))
        peak = onset + int(np.argmax(total[onset:end]))
        instant, before = _instant(ds, time, onset, landing)
        found.append(Impact(instant, float(total[peak]), int(before), int(peak)))
    return found


def _resting_impulse(ds: xr.Dataset, total: np.ndarray) -> float:
    """Impulse that carries the weight over one record interval [N·s]."""
    if "weight" in ds.attrs:
        return float(ds.attrs["weight"]) * record_period(ds)
    loaded = total[total > 0]
    return float(np.median(loaded)) if loaded.size else np.inf


def _instant(
    ds: xr.Dataset, time: np.ndarray, onset: int, landing: np.ndarray
) -> tuple[float, int]:
    """When the gap of the first landing wheel closes [s], and the last record before."""
    gap = series(ds, "gap").transpose("time", "wheel").values[:, landing]
    closing = _closing_speed(ds, landing)
    # last record with all these wheels in the air, and the wheel that is nearest
    before = onset - 1
    while before > 0 and not ((gap[before] > 0) & np.isfinite(gap[before])).all():
        before -= 1
    wheel = int(np.argmin(gap[before]))
    distance, speed = gap[before, wheel], closing[before, wheel]
    if not (speed > 0 and np.isfinite(distance)):
        return float(time[onset]), before
    # g = v τ + ½ a τ², in the form that is safe for small a
    slowing = 0.0
    if before > 0:
        slowing = (speed - closing[before - 1, wheel]) / (time[before] - time[before - 1])
    root = speed**2 + 2 * slowing * distance
    tau = 2 * distance / (speed + np.sqrt(root)) if root >= 0 else distance / speed
    return float(time[before] + np.clip(tau, 0.0, time[onset] - time[before])), before


def _closing_speed(ds: xr.Dataset, landing: np.ndarray) -> np.ndarray:
    """Speed at which the wheels near the ground [m/s], shape [time, landing wheel].

    Where the contact velocity is not known in the air, that of the base stands for it.
    """
    base = -series(ds, "velocity_base.z").values[:, None]
    if "contact_velocity" not in ds:
        return np.repeat(base, int(landing.sum()), axis=1)
    normal = series(ds, "contact_velocity.normal").transpose("time", "wheel").values[:, landing]
    return np.where(np.isfinite(normal), -normal, base)


def _impact(ds: xr.Dataset, check: Measure) -> tuple[Impact, Impact | None]:
    """The impact a check asks for, and the next one."""
    found = impacts(ds)
    found = [hit for hit in found if _inside(np.array([hit.time]), check)[0]]
    if not 0 <= check.index < len(found):
        raise InputError(f"impact {check.index} asked for, but {len(found)} found in the window")
    following = found[check.index + 1] if check.index + 1 < len(found) else None
    return found[check.index], following


def _vertical(ds: xr.Dataset, check: Measure) -> np.ndarray:
    """The velocity an impact is judged by: that of the base unless the check names another."""
    array = series(ds, "velocity_base.z" if check.of == "impact" else check.of)
    if array.ndim > 1:
        raise InputError(f"'{check.of}' has several curves; select one velocity, or 'impact'")
    return array.values.astype(float)


def _impact_time(ds: xr.Dataset, check: Measure) -> float:
    return _impact(ds, check)[0].time


def _impact_impulse(ds: xr.Dataset, check: Measure) -> float:
    return _impact(ds, check)[0].impulse


def _impact_speed(ds: xr.Dataset, check: Measure) -> float:
    """Downward speed at the instant of impact, extrapolated from the two records before."""
    hit, _ = _impact(ds, check)
    velocity, time = _vertical(ds, check), ds["time"].values.astype(float)
    i = hit.before
    if i == 0:
        return float(-velocity[0])
    slope = (velocity[i] - velocity[i - 1]) / (time[i] - time[i - 1])
    return float(-(velocity[i] + slope * (hit.time - time[i])))


def _rebound_speed(ds: xr.Dataset, check: Measure) -> float:
    """Largest upward speed between this impact and the next."""
    hit, following = _impact(ds, check)
    velocity = _vertical(ds, check)
    end = len(velocity) if following is None else following.before + 1
    return float(np.nanmax(velocity[hit.after : max(end, hit.after + 1)]))


TAKES: dict[str, Callable[[xr.Dataset, Measure], float]] = {
    "at": _at,
    "mean": _reduced(np.mean),
    "min": _reduced(np.min, several=True),
    "max": _reduced(np.max, several=True),
    "max_abs": _reduced(lambda x: np.max(np.abs(x)), several=True),
    "range": _reduced(np.ptp),
    "final": _reduced(lambda x: x[-1]),
    "slope": _slope,
    "crossing_time": _crossing_time,
    "impact_time": _impact_time,
    "impact_speed": _impact_speed,
    "impact_impulse": _impact_impulse,
    "rebound_speed": _rebound_speed,
}
