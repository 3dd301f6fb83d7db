"""A study as labelled data and as a table.

`study.nc`: the outputs over the varied value (and the second axis), with units; `completed`,
`stopped` (why not) and `unconverged` of each run, `succeeded` where the study says what that is. A
bisection adds `boundary_success` and `boundary_failure`, and its runs along `bisection_step`:
`bisection_value` and the outputs. Nothing in it depends on the machine or the number of processes.
`study.csv`: a row per run.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard.results.study_checks import outputs_of, variable_name
from marsyard.scenario import Scenario
from marsyard.study.axes import Axis
from marsyard.study.bisection import Boundary, succeeded
from marsyard.study.members import Family, Result


def dataset(
    name: str,
    scenario: Scenario,
    family: Family,
    results: Sequence[Result],
    boundaries: Sequence[Boundary],
) -> xr.Dataset:
    """All outcomes, labelled."""
    study = scenario.study
    assert study is not None
    also = [] if family.also is None else [family.also]
    grid = [r for r in results if not r.member.refined]
    dims = [family.axis.name, *(a.name for a in also)]
    coords: dict[str, Any] = {a.name: _coordinate(a) for a in (family.axis, *also)}

    def laid(values: list[Any], dtype: Any = float) -> np.ndarray:
        flat = np.array(values, dtype=dtype)
        square = flat.reshape(family.curves, len(family.axis)).T
        return square if also else square[:, 0]

    variables: dict[str, Any] = {}
    for k, output in enumerate(study.outputs):
        units = next(iter(r.outcome.units[k] for r in results))
        attrs = {"units": units or "1", "long_name": output.name, "of": output.of}
        attrs["take"] = output.take
        numbers = [_number(r.outcome.numbers[k]) for r in grid]
        variables[variable_name(output.name)] = (dims, laid(numbers), attrs)
        if boundaries:
            variables[f"bisection_{variable_name(output.name)}"] = _refined(
                family, results, lambda r, k=k: _number(r.outcome.numbers[k]), attrs
            )
    done = [int(r.outcome.stopped is None) for r in grid]
    variables["completed"] = (dims, laid(done, np.int8), {"long_name": "run completed"})
    reasons = [r.outcome.stopped or "" for r in grid]
    variables["stopped"] = (dims, laid(reasons, object), {"long_name": "reason for stopping"})
    bad = [r.outcome.unconverged for r in grid]
    variables["unconverged"] = (dims, laid(bad, np.int64), {"long_name": "steps not converged"})
    if study.success:
        good = [int(succeeded(study, r.outcome)) for r in grid]
        variables["succeeded"] = (dims, laid(good, np.int8), {"long_name": "run succeeded"})
    if boundaries:
        variables |= _boundary_variables(family, results, boundaries)
    attrs = {"scenario": name, "title": scenario.title, "varied": family.axis.name}
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _coordinate(axis: Axis) -> tuple[str, Any, dict[str, str]]:
    attrs = {"long_name": axis.label, "path": ", ".join(axis.paths)}
    if axis.words:
        return axis.name, np.array(axis.shown, dtype=object), attrs
    return axis.name, np.array(axis.shown, dtype=float), {**attrs, "units": axis.unit or "1"}


def _refined(family: Family, results: Sequence[Result], take: Any, attrs: Any) -> Any:
    """A number of every run of the bisection, padded with NaN where a curve took fewer."""
    rows = [
        [take(r) for r in results if r.member.refined and r.member.curve == curve]
        for curve in range(family.curves)
    ]
    table = np.full((family.curves, max(len(r) for r in rows)), np.nan)
    for curve, row in enumerate(rows):
        table[curve, : len(row)] = row
    if family.also is None:
        return ["bisection_step"], table[0], attrs
    return [family.also.name, "bisection_step"], table, attrs


def _boundary_variables(
    family: Family, results: Sequence[Result], boundaries: Sequence[Boundary]
) -> dict[str, Any]:
    axis = family.axis
    units = {"units": axis.unit or "1"}
    dims = [] if family.also is None else [family.also.name]
    found = {}
    for end, long_name in (("success", "last success"), ("failure", "first failure")):
        values = np.array([_number(getattr(b, end)) for b in boundaries])
        attrs = {**units, "long_name": f"{axis.label}, {long_name}"}
        found[f"boundary_{end}"] = (dims, values if dims else values[0], attrs)
    found["bisection_value"] = _refined(
        family, results, lambda r: float(r.member.value), {**units, "long_name": axis.label}
    )
    return found


def write_table(path: Path, ds: xr.Dataset, family: Family, results: Sequence[Result]) -> None:
    """`study.csv`: a row per run in the order they were made."""
    axes = [family.axis] if family.also is None else [family.axis, family.also]
    outputs = list(outputs_of(ds))
    head = [_head(a.label, a.unit) for a in axes]
    head += [_head(ds[o].attrs["long_name"], ds[o].attrs["units"]) for o in outputs]
    head += ["part of", "completed", "steps not converged", "reason"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for r in results:
            place: list[Any] = [r.member.value]
            if family.also is not None:
                place.append(family.also.shown[r.member.curve])
            numbers = ["" if n is None else repr(n) for n in r.outcome.numbers]
            why = r.outcome.stopped or "; ".join(t for t in r.outcome.reasons if t)
            part = "bisection" if r.member.refined else "values"
            done = "no" if r.outcome.stopped else "yes"
            writer.writerow([*place, *numbers, part, done, r.outcome.unconverged, why])


def _head(label: str, unit: str) -> str:
    return f"{label} [{unit}]" if unit not in ("", "1") else label
