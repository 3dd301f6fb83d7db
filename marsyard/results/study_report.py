"""The report of a study: varied values, results, and comparison with references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from marsyard.drawing.page import escape, number, pairs, quantity, tiles
from marsyard.drawing.sheet import FigureFile, unit_text
from marsyard.results.checks import CheckResult
from marsyard.results.report import (
    checks_section,
    figures_section,
    intro,
    section,
    versions,
    write_page,
)
from marsyard.results.report_parameters import parameters_section
from marsyard.results.study_checks import axis_unit, outputs_of, second_axis
from marsyard.scenario.schema import Scenario


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
    title = scenario.title or str(info.get("scenario") or "A study")
    sections = [
        _head(title, ds, scenario, checks, rows, info),
        section(
            "Boundary", "".join(f'<p class="text"><b>{escape(_sentence(w))}</b></p>' for w in found)
        ),
        section("Checks", checks_section(checks) if checks else ""),
        section("Figures", figures_section(figures)),
        section("Runs", _members(ds, rows)),
        section("Base scenario", parameters_section(scenario, info)),
        section("Speed", pairs(_speed(rows, info))),
        section("Versions", pairs(versions(info))),
    ]
    return write_page(folder, title, sections)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _head(
    title: str,
    ds: xr.Dataset,
    scenario: Scenario,
    checks: Sequence[CheckResult],
    rows: Sequence[Row],
    info: Mapping[str, Any],
) -> str:
    parts = [intro(title, scenario, info), f'<p class="text">{escape(_what(ds, rows))}</p>']
    stopped = sum(1 for r in rows if r.stopped)
    if stopped:
        parts.append(
            f'<div class="alarm" role="alert">{_count(stopped, "run")} of {len(rows)} diverged and '
            "stopped before the end; the table says when and why. They yield no outputs.</div>"
        )
    bad = sum(1 for r in rows if r.unconverged)
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{_count(bad, "run")} had steps with an unconverged '
            f"contact problem"
            "; see the table.</div>"
        )
    parts += [f'<div class="alarm">Warning: {escape(w)}.</div>' for w in info.get("warnings") or ()]
    numbers = [("runs", str(len(rows)))]
    if checks:
        passed = sum(c.ok for c in checks)
        numbers.insert(0, ("checks passed", f"{passed} of {len(checks)}"))
    if second_axis(ds) is None and "boundary_success" in ds:
        varied = ds.attrs["varied"]
        ends = [float(ds[f"boundary_{end}"]) for end in ("success", "failure")]
        middle = quantity(sum(ends) / 2, unit_text(axis_unit(ds, varied)), 4)
        numbers.append((f"{ds[varied].attrs['long_name']} at the boundary", middle))
    if info.get("simulated"):
        numbers.append(("simulated", quantity(info["simulated"], "s")))
    if info.get("elapsed"):
        numbers.append(("elapsed", quantity(info["elapsed"], "s", 3)))
    return f"<header>{''.join(parts)}{tiles(numbers)}</header>"


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
    text = f"Varied: {span(varied)}"
    if other:
        text += f"; for each {span(other)}"
    refined = sum(r.refined for r in rows)
    return text + (f"; {_count(refined, 'run')} more to locate the boundary." if refined else ".")


# --- the table


def _members(ds: xr.Dataset, rows: Sequence[Row]) -> str:
    varied, other = ds.attrs["varied"], second_axis(ds)
    names = [str(ds[d].attrs["long_name"]) for d in (varied, other) if d]
    outputs = outputs_of(ds)
    judged = any(r.succeeded is not None for r in rows)
    head = "".join(f'<th class="num">{escape(n)}</th>' for n in names)
    for variable, name in outputs.items():
        unit = unit_text(str(ds[variable].attrs["units"]))
        head += f'<th class="num">{escape(name)}{f" [{escape(unit)}]" if unit else ""}</th>'
    head += '<th class="verdicts">outcome</th><th>notes</th>'
    ordered = sorted(rows, key=lambda r: (r.curve_index, r.place))
    body = "".join(_row(r, bool(other), judged) for r in ordered)
    note = (
        '<p class="soft">Runs in italics were added by the bisection.</p>'
        if any(r.refined for r in rows)
        else ""
    )
    return (
        f'<div class="scroll"><table class="runs"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def _row(row: Row, other: bool, judged: bool) -> str:
    place = [row.value, row.curve] if other else [row.value]
    if row.refined:
        cells = "".join(f'<td class="num"><i>{escape(p)}</i></td>' for p in place)
    else:
        cells = "".join(f'<td class="num">{escape(p)}</td>' for p in place)
    cells += "".join(f'<td class="num">{number(n, 4)}</td>' for n in row.numbers)
    if row.stopped:
        mark, text = "fail", "stopped"
    elif judged:
        mark, text = ("pass", "success") if row.succeeded else ("fail", "failure")
    else:
        mark, text = "pass", "completed"
    notes = [f"the run {row.stopped}"] if row.stopped else list(row.reasons)
    if row.unconverged:
        notes.append(f"{_count(row.unconverged, 'step')} not converged")
    said = escape("; ".join(notes))
    if row.kept:
        link = f'<a href="{escape(row.kept)}/report.html">report</a>'
        said = f"{said}; {link}" if said else link
    return f'<tr>{cells}<td><span class="verdict {mark}">{text}</span></td><td>{said}</td></tr>'


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
