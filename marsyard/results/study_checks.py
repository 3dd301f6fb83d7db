"""Numbers of a whole study: outputs, derived values and checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from marsyard.drawing.sheet import unit_text
from marsyard.errors import InputError, suggest
from marsyard.results.checks import CheckResult, judge
from marsyard.scenario.study_schema import Study, StudyCheck
from marsyard.units import in_unit


def variable_name(output: str) -> str:
    """The variable of an output: 'drawbar pull' → 'drawbar_pull'."""
    return re.sub(r"\W+", "_", output).strip("_") or "output"


def outputs_of(ds: xr.Dataset) -> dict[str, str]:
    """The outputs of a study's data set: variable and what it is called."""
    return {
        str(n): str(v.attrs["long_name"])
        for n, v in ds.data_vars.items()
        if "take" in v.attrs and not str(n).startswith("bisection_")
    }


def second_axis(ds: xr.Dataset) -> str | None:
    """The dimension that makes several curves, if there is one."""
    others = [str(d) for d in ds["completed"].dims if d != ds.attrs["varied"]]
    return others[0] if others else None


def axis_unit(ds: xr.Dataset, dim: str) -> str:
    """The unit in which a varied value is given."""
    unit = str(ds[dim].attrs.get("units", ""))
    return "" if unit == "1" else unit


# --- before the runs


def check_values(
    study: Study,
    unit: str,
    words: Sequence[str] | None,
    curves: Sequence[Any] = (),
    curve_unit: str = "",
) -> None:
    """Refuse a value in `study` that does not fit its axis, before anything is run.

    `unit` of the varied value, or its `words`; `curves` are the values of the second axis as shown,
    in `curve_unit`.
    """
    if study.bisect is not None:
        if words is not None:
            raise InputError("study.bisect: the varied values are not numbers")
        _fits(study.bisect.tolerance, unit, "study.bisect.tolerance")
    for k, figure in enumerate(study.figures):
        for reference in figure.reference:
            field = f"study.figures.{k}.reference '{reference.name}'"
            for x in reference.x:
                _fits(x, unit, field)
            curve_index(reference.also, curves, curve_unit, field)
    for check in study.checks:
        field = f"study.checks '{check.name}'"
        if check.take in ("crossing", "boundary"):
            if words is not None:
                raise InputError(f"{field}: the varied values are not numbers; use take: at")
            _fits(check.expected, unit, field)
            _fits(check.tolerance, unit, field)
        if check.take == "at" and words is not None and check.at not in words:
            raise InputError(f"{field}: no value '{check.at}'; {suggest(str(check.at), words)}")
        if check.take == "at" and words is None:
            _fits(check.at, unit, field)
        if check.also is None and len(curves) > 1:
            raise InputError(f"{field}: there are several curves; select one with 'also'")
        curve_index(check.also, curves, curve_unit, field)
        if check.divided_by is not None and len(curves) < 2:
            raise InputError(f"{field}: divided_by needs several curves; the study has no 'also'")
        curve_index(check.divided_by, curves, curve_unit, field)


def _fits(value: Any, unit: str, field: str) -> None:
    try:
        in_unit(value, unit)
    except ValueError as error:
        raise InputError(f"{field}: {error}") from None


# --- after them


def evaluate_study(ds: xr.Dataset, study: Study) -> list[CheckResult]:
    """All checks of a study in their order."""
    return [_evaluate(ds, check) for check in study.checks]


def _evaluate(ds: xr.Dataset, check: StudyCheck) -> CheckResult:
    varied = ds.attrs["varied"]
    unit = axis_unit(ds, varied)
    of_axis = check.take in ("crossing", "boundary")
    if not of_axis:
        assert check.output is not None
        unit = str(ds[variable_name(check.output)].attrs["units"])
        unit = "" if unit == "1" or check.divided_by is not None else unit
    expected, tolerance = (
        in_unit(v, unit) if of_axis or isinstance(v, str) else float(v)
        for v in (check.expected, check.tolerance)
    )
    computed: float | None = None
    reason = ""
    try:
        computed = _taken(ds, check, varied)
        if not np.isfinite(computed):
            computed, reason = None, "the run stopped or gave no number there"
    except InputError as error:
        reason = str(error)
    shown = unit_text(unit)
    return judge(check.name, computed, expected, tolerance, shown, check.source, reason)


def _taken(ds: xr.Dataset, check: StudyCheck, varied: str) -> float:
    other = second_axis(ds)
    if other is not None:
        field = f"study.checks '{check.name}'"
        shown = ds[other].values.tolist()
        curve = curve_index(check.also, shown, axis_unit(ds, other), field)
        below = ds.isel({other: curve_index(check.divided_by, shown, axis_unit(ds, other), field)})
        ds = ds.isel({other: curve})
    if check.take == "boundary":
        ends = float(ds["boundary_success"]), float(ds["boundary_failure"])
        if not np.isfinite(ends).all():
            raise InputError("no boundary was found among the values")
        return (ends[0] + ends[1]) / 2
    assert check.output is not None
    array = ds[variable_name(check.output)]
    if check.divided_by is not None:
        divisor = below[variable_name(check.output)].values
        array = array.copy(data=np.divide(array.values, divisor))
    if check.take == "at" and array[varied].dtype.kind not in "fiu":
        return float(array.sel({varied: check.at}))
    if check.take in ("min", "max"):
        return float(array.min() if check.take == "min" else array.max())
    array = array.sortby(varied)
    x, y = array[varied].values, array.values
    known = np.isfinite(y)
    if check.take == "least_rise":
        if known.sum() < 2 or not known.all():
            raise InputError("the output is missing at some varied values")
        return float(np.diff(y).min())
    if check.take == "crossing":
        return _crossing(x[known], y[known] - check.level, check)
    at = in_unit(check.at, axis_unit(ds, varied))
    slack = 1e-9 * max(1.0, float(np.abs(x).max()))
    exact = np.flatnonzero(np.abs(x - at) <= slack)
    if exact.size:
        return float(y[exact[0]])
    if not (known.any() and x[known][0] <= at <= x[known][-1]):
        raise InputError(f"at = {check.at} is outside of the completed runs")
    return float(np.interp(at, x[known], y[known]))


def _crossing(x: np.ndarray, above: np.ndarray, check: StudyCheck) -> float:
    for k in range(len(x) - 1):
        a, b = above[k], above[k + 1]
        if a == 0:
            return float(x[k])
        if a * b < 0:
            return float(x[k] + (x[k + 1] - x[k]) * a / (a - b))
    if len(x) and above[-1] == 0:
        return float(x[-1])
    raise InputError(f"{check.output} does not cross {check.level:g} among the values")


def curve_index(wanted: Any, shown: Sequence[Any], unit: str, field: str) -> int:
    """The index of the curve whose value on the second axis is `wanted`; 0 for None."""
    if wanted is None:
        return 0
    if any(isinstance(v, str) for v in shown):
        if str(wanted) in shown:
            return list(shown).index(str(wanted))
    else:
        _fits(wanted, unit, field)
        number = in_unit(wanted, unit)
        for k, value in enumerate(shown):
            if abs(number - value) <= 1e-9 * max(1.0, abs(value)):
                return k
    asked, *known = (f"{v:g}" if isinstance(v, float) else str(v) for v in (wanted, *shown))
    raise InputError(f"{field}: no curve '{asked}'; {suggest(asked, known)}")
