"""The report of a run: a self-contained HTML file, and the table of checks on the terminal.

The page is that of all reports (`drawing.report_page`), with the run in 3D as its picture.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.page import (
    alarm,
    badge,
    capital,
    joined,
    number,
    pairs,
    paragraph,
    paragraphs,
    quantity,
    soft,
    stacked,
    table,
    tiles,
)
from marsyard.drawing.report_page import FIGURES, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FigureFile
from marsyard.files import parse_json
from marsyard.results.checks import CheckResult
from marsyard.results.energy_figures import energy_section
from marsyard.results.headline import headline_of
from marsyard.results.questions import Answer, questions_section
from marsyard.results.report_parameters import parameters_section
from marsyard.results.run_judgement import BAD, NOTE, WARNING, Finding, judge_run
from marsyard.results.run_plots import key_plot, plots_of_run
from marsyard.results.soil_report import assumed_numbers, soil_section
from marsyard.results.timeline import timeline_section
from marsyard.results.wheel_order import in_reading_order
from marsyard.scenario.schema import Scenario

if TYPE_CHECKING:
    import mujoco
    from rich.table import Table

    from marsyard.results.ground_file import Ground

_CLASS = {"pass": "pass", "fail": "fail"}
_MARK = {"pass": "✓ pass", "fail": "✗ fail"}
#: findings that have an alarm of their own
_ALARMED = ("end", "solver")


def write_report(
    folder: str | Path,
    ds: xr.Dataset,
    scenario: Scenario,
    checks: Sequence[CheckResult],
    figures: Sequence[FigureFile] = (),
    run_info: Mapping[str, Any] | None = None,
    ground: Ground | None = None,
    results: str = "",
    answers: Sequence[Answer] = (),
    model: mujoco.MjModel | None = None,
) -> Path:
    """Write `report.html` into `folder`, atomically.

    `run_info` may hold `scenario` (its name), `overrides` (a list of "key=value"), `steps`,
    `wall_time` [s] of the loop, `compile_time` [s], `started`, `versions` (a mapping) and
    `convergence` with its section `convergence_html`; what is missing is looked up in `ds.attrs`.
    `figures` are pictures to show beside the plots, `ground` is the soil as the run left it,
    `results` the section of post-processing functions. With the `model` the run is shown in 3D.
    """
    info = {**ds.attrs, **(run_info or {})}
    info["slides"] = [str(s) for s in ds["slide"].values] if "slide" in ds.coords else []
    shown = _replay(model, ds, scenario, ground)
    ds = in_reading_order(ds)
    stopped = info.get("stopped") or ds.attrs.get("stopped")
    found = findings_of(ds, scenario, info, ground)
    first = key_plot(ds, scenario.report.figures)
    judged, failing = [c for c in checks if c.judged], any(c.judged and not c.ok for c in checks)
    passed = f"{sum(c.ok for c in judged)} of {len(judged)} checks passed" if judged else ""
    parts = [
        Part("About this run", _about(ds, scenario, info, passed)),
        Part("Questions", questions_section(answers), open=bool(answers)),
        Part("Checks", checks_section(checks), passed, failing),
        Part("Convergence", info.get("convergence_html") or ""),
        Part("Commands", timeline_section(ds)),
        Part("Results of custom functions", results),
        Part("Power and energy", energy_section(ds)),
        Part("Soil", soil_section(ds, scenario, ground)),
        Part("Scenario and parameters", parameters_section(scenario, info)),
        FIGURES,
        Part("Solver health", _health(ds, info), _health_words(ds)),
        Part("Speed", pairs(_speed_rows(ds, info))),
        Part("Versions", pairs(versions(info))),
    ]
    page = ReportPage(
        answer=headline_of(ds, checks, str(stopped) if stopped else None).words,
        parts=parts,
        title=scenario.title or str(info.get("title") or info.get("scenario") or "A run"),
        name=str(info.get("scenario") or ""),
        alarms=_alarms(ds, stopped),
        remarks=[(f.level, f.text) for f in found if f.level != NOTE and f.subject not in _ALARMED],
        notes=[f.text for f in found if f.level == NOTE],
        picture=shown,
        is_replay=bool(shown),
        key_plots=[first] if first else [],
        plots=plots_of_run(ds, scenario.report.figures),
        figures=figures,
    )
    return write_report_page(folder, page)


def findings_of(
    ds: xr.Dataset, scenario: Scenario, info: Mapping[str, Any], ground: Ground | None
) -> list[Finding]:
    """Findings and warnings of a run, the worst first."""
    found = judge_run(ds, scenario, info, assumed_numbers(scenario, ground))
    warned = [
        Finding(WARNING, "warning", f"{capital(str(text)).rstrip('.')}.")
        for text in info.get("warnings") or ()
    ]
    worst = [f for f in found if f.level == BAD]
    return [*worst, *(f for f in found if f.level == WARNING), *warned,
            *(f for f in found if f.level == NOTE)]  # fmt: skip


def _replay(
    model: mujoco.MjModel | None, ds: xr.Dataset, scenario: Scenario, ground: Ground | None
) -> str:
    """The run in 3D; empty where there is no model, or nothing was recorded for it."""
    if model is None or "coordinates" not in ds:
        return ""
    from marsyard.results.page_replay import replay_block, replay_data

    try:
        return replay_block(replay_data(model, ds, scenario, ground))
    except ValueError:  # InputError is one; so is what numbers without bound lead to
        return ""


def check_table(checks: Sequence[CheckResult]) -> Table:
    """The checks as a table for the terminal; the report also has their sources."""
    from rich.table import Table
    from rich.text import Text

    colours = {"pass": "green", "fail": "bold red"}
    table = Table(title="Checks", title_justify="left", expand=False)
    for name in ("check", "computed", "expected", "± tolerance", "unit", "verdict"):
        numeric = name in ("computed", "expected", "± tolerance")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for check in checks:
        table.add_row(
            Text(check.name),
            number(check.computed),
            number(check.expected),
            number(check.tolerance),
            Text(check.unit),
            Text(
                check.verdict + (f": {check.reason}" if check.reason else ""),
                style=colours.get(check.verdict, "yellow"),
            ),
        )
    return table


# --- parts of the page


def description_of(scenario: Scenario) -> str:
    """What a scenario says of itself, and its sources."""
    said = [paragraphs(scenario.description or "")]
    if scenario.sources:
        said.append(paragraph(f"Source: {'; '.join(scenario.sources)}", "soft"))
    return joined(*said)


def _about(ds: xr.Dataset, scenario: Scenario, info: Mapping[str, Any], passed: str) -> str:
    """The scenario in its own words, and the run in a few numbers."""
    rows = [("simulated", quantity(_span(ds), "s"))]
    speed = dict(_speed_rows(ds, info))
    rows += [(key, speed[key]) for key in ("times real time", "time per step") if key in speed]
    if passed:
        rows.insert(0, ("checks passed", passed.removesuffix(" checks passed")))
    return joined(description_of(scenario), tiles(rows))


def _alarms(ds: xr.Dataset, stopped: Any) -> list[str]:
    """What must not be overlooked."""
    out = []
    if stopped:
        how = f"was {stopped}" if "by hand" in str(stopped) else f"diverged and {stopped}"
        out.append(f"The run {how}. The report covers the results up to that time.")
    if bad := unconverged(ds):
        out.append(
            f"{bad} steps did not converge: their contact problem has a residual above the "
            f"tolerance. Results after the first of these steps are unreliable; see Solver health."
        )
    return out


def checks_section(checks: Sequence[CheckResult]) -> str:
    """A row for each check; without any that is said."""
    if not checks:
        return paragraph("This scenario lists no checks.", "soft")
    heads = ("check", "computed", "published or exact", "difference", "tolerance", "unit",
             "verdict", "source")  # fmt: skip
    rows = [
        (
            stacked(c.name, soft(c.reason) if c.reason else ""),
            number(c.computed), number(c.expected),
            number(None if c.computed is None else c.computed - c.expected, 3),
            f"± {number(c.tolerance)}", c.unit,
            badge(_MARK.get(c.verdict, f"– {c.verdict}"), _CLASS.get(c.verdict, "open")),
            soft(c.source),
        )
        for c in checks
    ]  # fmt: skip
    return table(heads, rows, numeric=range(1, 5), id="checks")


# --- health, speed, versions


def unconverged(ds: xr.Dataset) -> int:
    """Number of steps with an unconverged contact problem."""
    return int(np.nansum(ds["unconverged"].values)) if "unconverged" in ds else 0


def _span(ds: xr.Dataset) -> float:
    time = ds["time"].values
    return float(time[-1] - time[0])


def _steps(ds: xr.Dataset, info: Mapping[str, Any]) -> int | None:
    if info.get("steps") is not None:
        return int(info["steps"])
    return round(_span(ds) / float(info["step"])) if info.get("step") else None


def _largest(ds: xr.Dataset, name: str) -> float | None:
    values = ds[name].values if name in ds else np.array([np.nan])
    return float(np.nanmax(values)) if np.isfinite(values).any() else None


def _mean(ds: xr.Dataset, name: str) -> float | None:
    values = ds[name].values if name in ds else np.array([np.nan])
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def _health(ds: xr.Dataset, info: Mapping[str, Any]) -> str:
    bad, steps = unconverged(ds), _steps(ds, info)
    rows = [
        ("steps", "–" if steps is None else f"{steps:,}".replace(",", " ")),
        ("contacts, most / mean", f"{number(_largest(ds, 'contacts'))} / "
         f"{number(_mean(ds, 'contacts'), 3)}"),
        ("iterations, most / mean", f"{number(_largest(ds, 'solver_iterations'))} / "
         f"{number(_mean(ds, 'solver_iterations'), 3)}"),
        ("largest residual", number(_largest(ds, "solver_residual"), 3)),
        ("steps not converged", f"{bad}" + ("" if "unconverged" in ds else " (not recorded)")),
        ("largest penetration", quantity(_largest(ds, "penetration"), "m", 3)),
        ("in grid and step", str(info.get("convergence") or "not checked (--check-convergence)")),
    ]  # fmt: skip
    said = ""
    if bad:
        first = float(ds["time"].values[np.flatnonzero(ds["unconverged"].values > 0)[0]])
        of = f" of {steps}" if steps else ""
        said = alarm(f"{bad} unconverged steps{of}, the first before t = {quantity(first, 's')}.")
    return joined(said, pairs(rows + _energy_rows(ds)))


def _health_words(ds: xr.Dataset) -> str:
    """All that a reader in a hurry needs to know of the solver."""
    if "unconverged" not in ds:
        return ""
    bad = unconverged(ds)
    return f"{bad} steps did not converge" if bad else "all steps converged"


def _energy_rows(ds: xr.Dataset) -> list[tuple[str, str]]:
    """Where the energy went: change of state = work of the motors − what was dissipated."""
    if "energy_kinetic" not in ds or "energy_potential" not in ds:
        return []
    energy = ds["energy_kinetic"].values + ds["energy_potential"].values
    rows = [
        ("mechanical energy at the start", quantity(energy[0], "J")),
        ("mechanical energy at the end", quantity(energy[-1], "J")),
    ]
    work = 0.0
    if "energy_motors" in ds:
        work = float(ds["energy_motors"].values[-1] - ds["energy_motors"].values[0])
        rows.append(("work of the motors", quantity(work, "J", 4)))
    elif "motor_power" in ds:
        power = np.nansum(ds["motor_power"].transpose("time", ...).values, axis=1)
        work = float(np.trapezoid(power, ds["time"].values))
        rows.append(("work of the motors", quantity(work, "J", 4)))
    lost = energy[0] + work - energy[-1]
    if "energy_soil" in ds:
        soil = float(ds["energy_soil"].values[-1])
        rows.append(("work on the soil", quantity(soil, "J", 4)))
        lost -= soil
    rows.append(("dissipated (impact, friction, damping)", quantity(lost, "J", 4)))
    return rows


def _speed_rows(ds: xr.Dataset, info: Mapping[str, Any]) -> list[tuple[str, str]]:
    wall, steps = info.get("wall_time"), _steps(ds, info)
    rows: list[tuple[str, str]] = []
    if wall:
        wall = float(wall)
        rows += [
            ("simulated time", quantity(_span(ds), "s")),
            ("wall time of the loop", quantity(wall, "s", 4)),
            ("times real time", f"{_span(ds) / wall:.3g} ×"),
        ]
        if steps:
            rows += [
                ("steps per second", f"{steps / wall:,.0f}".replace(",", " ")),
                ("time per step", quantity(1e6 * wall / steps, "µs", 3)),
            ]
    if info.get("compile_time") is not None:
        rows.append(("compiling or loading code", quantity(float(info["compile_time"]), "s", 3)))
    if info.get("started"):
        rows.append(("started", str(info["started"])))
    return rows or [("wall time", "not recorded")]


def versions(info: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Versions of what made the run; of this machine where the run does not say.

    A run says them as a mapping `versions` (or its JSON), or one by one, `mujoco_version`.
    """
    info = info or {}
    said = info.get("versions") or {}
    if isinstance(said, str):
        said = parse_json(said, "versions")
    rows = {}
    for package in ("marsyard", "mujoco", "numba", "numpy"):
        try:
            rows[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            rows[package] = "not installed"
    rows["python"] = platform.python_version()
    rows["platform"] = platform.platform()
    rows |= {k: str(info[f"{k}_version"]) for k in rows if f"{k}_version" in info}
    return list({**rows, **{str(k): str(v) for k, v in said.items()}}.items())
