"""The report of a study: varied values, results, and comparison with references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page import (
    badge,
    capital,
    joined,
    link,
    number,
    pairs,
    paragraph,
    picture,
    quantity,
    stacked,
    table,
    tiles,
)
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import (
    BAD,
    FIGURES,
    WARNING,
    Part,
    ReportPage,
    write_report_page,
)
from marsyard.drawing.sheet import FigureFile, unit_text, with_unit
from marsyard.results.checks import CheckResult
from marsyard.results.report import checks_section, description_of, versions
from marsyard.results.report_parameters import parameters_section
from marsyard.results.study_checks import axis_unit, outputs_of, second_axis
from marsyard.scenario.schema import Scenario

#: outputs, and curves in each of their panels, among the key plots
_PANELS, _CURVES = 3, 8


@dataclass(frozen=True)
class Row:
    """One member as the table shows it; `place` along the axis puts the rows in order."""

    value: str
    place: float
    curve: str
    curve_index: int
    refined: bool
    numbers: tuple[float | None, ...]
    succeeded: bool | None
    stopped: str
    reasons: tuple[str, ...]
    unconverged: int
    wall_time: float
    kept: str


def write_study_report(
    folder: str | Path,
    ds: xr.Dataset,
    scenario: Scenario,
    checks: Sequence[CheckResult],
    figures: Sequence[FigureFile],
    rows: Sequence[Row],
    found: Sequence[str],
    info: Mapping[str, Any],
) -> Path:
    """Write `report.html` of a study; `found` are the sentences of the bisection."""
    good = sum(c.ok for c in checks)
    passed = f"{good} of {len(checks)} checks passed" if checks else ""
    key = key_plots_of_study(ds)
    # what the key plots cannot show: a map, an axis of words
    above = [] if key else list(figures[:1])
    page = ReportPage(
        answer=_answer(ds, rows, found, passed),
        title=scenario.title or str(info.get("scenario") or "A study"),
        name=str(info.get("scenario") or ""),
        kind="study",
        remarks=_remarks(rows, info),
        notes=[_what(ds, rows)],
        picture=picture(above[0]) if above else "",
        key_plots=key,
        parts=[
            Part("About this study", joined(description_of(scenario), _tiles(ds, rows, info))),
            Part("Boundary", joined(*(paragraph(_sentence(w)) for w in found))),
            Part("Checks", checks_section(checks) if checks else "", passed,
                 good < len(checks)),
            FIGURES,
            Part("Runs", _members(ds, rows), str(len(rows))),
            Part("Base scenario", parameters_section(scenario, info)),
            Part("Speed", pairs(_speed(rows, info))),
            Part("Versions", pairs(versions(info))),
        ],
        figures=figures[len(above) :],
    )  # fmt: skip
    return write_report_page(folder, page)


def _sentence(words: str) -> str:
    return capital(words).rstrip(".") + "."


# --- the top of the page


def _answer(ds: xr.Dataset, rows: Sequence[Row], found: Sequence[str], passed: str) -> str:
    """The boundary where one was sought, else how far the first output goes; and the checks."""
    if len(found) == 1:
        said = found[0].partition(" (")[0].rstrip(".")
    elif found:
        said = f"{len(found)} boundaries over {_long_name(ds, ds.attrs['varied'])}"
    else:
        said = f"{_count(len(rows), 'run')} over {_long_name(ds, ds.attrs['varied'])}"
        for variable, name in outputs_of(ds).items():
            values = ds[variable].values[np.isfinite(ds[variable].values)]
            if values.size:
                unit = unit_text(str(ds[variable].attrs["units"]))
                low, high = number(float(values.min()), 3), quantity(float(values.max()), unit, 3)
                said += f": {name} {high if low == high.split()[0] else f'{low} to {high}'}"
                break
    judged = [r.succeeded for r in rows if r.succeeded is not None]
    if judged and not found:
        said += f", {sum(judged)} of {len(judged)} succeed"
    return capital(f"{said}; {passed}" if passed else said)


def _long_name(ds: xr.Dataset, dim: str) -> str:
    return str(ds[dim].attrs["long_name"])


def _remarks(rows: Sequence[Row], info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is to be said against the numbers."""
    out = []
    stopped = sum(1 for r in rows if r.stopped)
    if stopped:
        out.append((BAD, f"{_count(stopped, 'run')} of {len(rows)} diverged and stopped before the "
                    "end; the table says when and why. They yield no outputs."))  # fmt: skip
    bad = sum(1 for r in rows if r.unconverged)
    if bad:
        out.append((BAD, f"{_count(bad, 'run')} had steps with an unconverged contact problem; "
                    "see the table."))  # fmt: skip
    return out + [(WARNING, _sentence(str(w))) for w in info.get("warnings") or ()]


def _tiles(ds: xr.Dataset, rows: Sequence[Row], info: Mapping[str, Any]) -> str:
    numbers = [("runs", str(len(rows)))]
    if second_axis(ds) is None and "boundary_success" in ds:
        varied = ds.attrs["varied"]
        ends = [float(ds[f"boundary_{end}"]) for end in ("success", "failure")]
        middle = quantity(sum(ends) / 2, unit_text(axis_unit(ds, varied)), 4)
        numbers.append((f"{_long_name(ds, varied)} at the boundary", middle))
    if info.get("simulated"):
        numbers.append(("simulated", quantity(info["simulated"], "s")))
    if info.get("elapsed"):
        numbers.append(("elapsed", quantity(info["elapsed"], "s", 3)))
    return tiles(numbers)


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _what(ds: xr.Dataset, rows: Sequence[Row]) -> str:
    """What was varied, in a sentence."""

    def span(dim: str) -> str:
        values, unit = ds[dim].values, unit_text(axis_unit(ds, dim))
        label, path = ds[dim].attrs["long_name"], ds[dim].attrs["path"]
        if values.dtype.kind not in "fiu":
            listed = ", ".join(str(v) for v in values)
        else:
            low, high = (quantity(float(v), unit, 6) for v in (values.min(), values.max()))
            listed = f"{len(values)} values from {low} to {high}" if len(values) > 1 else low
        return f"{label} ({path}): {listed}"

    varied = ds.attrs["varied"]
    other = second_axis(ds)
    said = f"Varied: {span(varied)}"
    if other:
        said += f"; for each {span(other)}"
    refined = sum(r.refined for r in rows)
    return said + (f"; {_count(refined, 'run')} more to locate the boundary." if refined else ".")


# --- key plots


def key_plots_of_study(ds: xr.Dataset) -> list[PagePlot]:
    """The first outputs over the varied value, a dot per run; none where they have no number, or
    there are more curves than can be told apart."""
    varied, other = ds.attrs["varied"], second_axis(ds)
    if other is not None and ds.sizes[other] > _CURVES:
        return []
    words = ds[varied].dtype.kind not in "fiu"
    named = [(float(k), str(v)) for k, v in enumerate(ds[varied].values)] if words else []
    panels = []
    for variable, name in list(outputs_of(ds).items())[:_PANELS]:
        curves = [
            PageCurve(label, *_points(curve, variable, words), OTHERS[k % len(OTHERS)], dots=True)
            for k, (label, curve) in enumerate(_curves(ds, other))
        ]
        label = with_unit(name, str(ds[variable].attrs["units"]))
        panels.append(PagePanel(label, tuple(curves)))
    label = with_unit(_long_name(ds, varied), axis_unit(ds, varied))
    made = plot_over("Outputs", label, panels, named)
    return [made] if made else []


def _curves(ds: xr.Dataset, other: str | None) -> list[tuple[str, xr.Dataset]]:
    """What is drawn as a curve of its own, and its name."""
    if other is None:
        return [("", ds)]
    unit, label = unit_text(axis_unit(ds, other)), _long_name(ds, other)
    return [
        (v if isinstance(v, str) else f"{label} {quantity(float(v), unit)}", ds.isel({other: k}))
        for k, v in enumerate(ds[other].values.tolist())
    ]


def _points(curve: xr.Dataset, variable: str, words: bool) -> tuple[np.ndarray, np.ndarray]:
    """The runs in order of their value, those of a bisection among them."""
    values = curve[curve.attrs["varied"]].values
    x = np.arange(len(values), dtype=float) if words else values.astype(float)
    y = curve[variable].values.astype(float)
    if f"bisection_{variable}" in curve:
        x = np.append(x, curve["bisection_value"].values)
        y = np.append(y, curve[f"bisection_{variable}"].values)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    order = known[np.argsort(x[known], kind="stable")]
    return x[order], y[order]


# --- the table


def _members(ds: xr.Dataset, rows: Sequence[Row]) -> str:
    varied, other = ds.attrs["varied"], second_axis(ds)
    heads = [_long_name(ds, d) for d in (varied, other) if d]
    for variable, name in outputs_of(ds).items():
        heads.append(with_unit(name, str(ds[variable].attrs["units"])))
    judged = any(r.succeeded is not None for r in rows)
    ordered = sorted(rows, key=lambda r: (r.curve_index, r.place))
    cells = [_cells(r, bool(other), judged) for r in ordered]
    note = "Those marked · were added by the bisection." if any(r.refined for r in rows) else ""
    shown = table((*heads, "outcome", "notes"), cells, numeric=range(len(heads)))
    return joined(shown, paragraph(note, "soft") if note else "")


def _cells(row: Row, other: bool, judged: bool) -> list[str]:
    place = [row.value, row.curve] if other else [row.value]
    if row.refined:
        place[0] = f"· {place[0]}"
    if row.stopped:
        outcome = badge("stopped", "fail")
    elif judged:
        outcome = badge("success", "pass") if row.succeeded else badge("failure", "fail")
    else:
        outcome = badge("completed", "pass")
    notes = [f"the run {row.stopped}"] if row.stopped else list(row.reasons)
    if row.unconverged:
        notes.append(f"{_count(row.unconverged, 'step')} not converged")
    report = link(f"{row.kept}/report.html", "report") if row.kept else ""
    return [*place, *(number(n, 4) for n in row.numbers), outcome,
            stacked("; ".join(notes), report)]  # fmt: skip


def _speed(rows: Sequence[Row], info: Mapping[str, Any]) -> list[tuple[str, str]]:
    wall, steps = float(info["wall_time"]), int(info["steps"])
    return [
        ("runs", str(len(rows))),
        ("processes", str(info["jobs"])),
        ("simulated time, all runs", quantity(info["simulated"], "s")),
        ("computing time, all runs", quantity(wall, "s", 4)),
        ("elapsed time", quantity(info["elapsed"], "s", 4)),
        ("time per step", quantity(1e6 * wall / max(steps, 1), "µs", 3)),
        ("started", str(info["started"])),
    ]
