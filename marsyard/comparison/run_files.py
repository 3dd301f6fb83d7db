"""Files of a comparison of runs or studies: compare.csv, compare.nc, figures, report.html."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marsyard.comparison.laws import known_laws
from marsyard.comparison.runs import Comparison, Side
from marsyard.comparison.summary import columns_of, shown
from marsyard.drawing.page import escape, number, pairs, quantity, tiles
from marsyard.drawing.sheet import FigureFile, unit_text
from marsyard.interaction.wheel_models.options import WheelModelOptions
from marsyard.results import save
from marsyard.results.report import (
    figures_section,
    intro,
    section,
    versions,
    write_page,
)
from marsyard.results.report_parameters import parameters_section
from marsyard.scenario.packing import write_scenario


def write_comparison(folder: Path, result: Comparison) -> Path:
    """Write all files of a comparison; the path of its page."""
    save(result.data, folder / "compare.nc")
    write_scenario(result.scenario, folder / "scenario.yaml")
    if result.is_study:
        _write_study_table(folder / "compare.csv", result)
        figures = _study_figures(folder / "figures", result)
    else:
        from marsyard.comparison.run_figures import save_run_figures

        _write_table(folder / "compare.csv", result)
        figures = save_run_figures(
            [s.name for s in result.sides], [s.run.data for s in result.sides],
            result.scenario.report.figures, folder / "figures",
        )  # fmt: skip
    return _report(folder, result, figures)


@dataclass(frozen=True)
class Table:
    """A table of texts: what its rows are, a column per law, a title where there are several."""

    title: str
    head: str
    rows: tuple[tuple[str, ...], ...]


def tables(result: Comparison) -> list[Table]:
    """Tables for the terminal and the page: numbers of the runs, and of a study its outputs."""
    return [*_study_tables(result), *_misfit_table(result), _number_table(result)]


def _misfit_table(result: Comparison) -> list[Table]:
    """Root mean square of each law's curve less the measured points."""
    if result.measured is None:
        return []
    from marsyard.results.study_checks import outputs_of

    rows = []
    for variable, name in outputs_of(result.data).items():
        found = [result.rms[s.name].get(variable) for s in result.sides]
        if any(v is not None for v in found):
            unit = unit_text(str(result.data[variable].attrs["units"]))
            rows.append((f"{name} [{unit}]" if unit else name, *(number(v, 3) for v in found)))
    return [Table(f"rms error against measurements, {result.measured.name}", "", tuple(rows))]


def _number_table(result: Comparison) -> Table:
    numbers = [dict(result.summary[s.name]) for s in result.sides]
    rows = []
    for key, what, unit, factor, digits in columns_of(numbers):
        values = [shown(own, key, factor) for own in numbers]
        small = 0.0 if key == "apart" else 5e-7
        cells = [number(0.0 if v is not None and abs(v) < small else v, digits) for v in values]
        rows.append((f"{what} [{unit}]", *cells))
    if any(n["checks"] for n in numbers):
        rows.append(("checks passed", *(f"{n['passed']} of {n['checks']}" for n in numbers)))
    return Table("", "", tuple(rows))


def _study_tables(result: Comparison) -> list[Table]:
    """An output of the study a table: a row per value of its axis."""
    if not result.is_study:
        return []
    from marsyard.results.study_checks import axis_unit, outputs_of

    ds, varied = result.data, result.data.attrs["varied"]
    unit = axis_unit(ds, varied)
    label = str(ds[varied].attrs["long_name"])
    head = f"{label} [{unit_text(unit)}]" if unit else label
    values = ds[varied].values.tolist()
    places = [v if isinstance(v, str) else number(float(v)) for v in values]
    out = []
    for variable, name in outputs_of(ds).items():
        own = unit_text(str(ds[variable].attrs["units"]))
        rows = [
            (place, *(number(float(x), 4) for x in ds[variable].isel({varied: k}).values))
            for k, place in enumerate(places)
        ]
        out.append(Table(f"{name} [{own}]" if own else name, head, tuple(rows)))
    return out


# --- tables


def _write_table(path: Path, result: Comparison) -> None:
    """A row per law, numbers in full."""
    numbers = [dict(result.summary[s.name]) for s in result.sides]
    columns = columns_of(numbers)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["law", *(f"{head} [{unit}]" for _, head, unit, _, _ in columns), "simulated [s]",
             "checks", "checks passed", "steps not converged", "stopped", "settings"]
        )  # fmt: skip
        for side, own in zip(result.sides, numbers, strict=True):
            values = [shown(own, key, factor) for key, _, _, factor, _ in columns]
            writer.writerow(
                [side.name, *("" if v is None else repr(v) for v in values), own["simulated"],
                 own["checks"], own["passed"], own["unconverged"], own["stopped"],
                 "; ".join(f"{k}={v}" for k, v in side.changes.items())]
            )  # fmt: skip


def _write_study_table(path: Path, result: Comparison) -> None:
    """A row per law and value of the study's axis."""
    from marsyard.results.study_checks import axis_unit, outputs_of

    ds = result.data
    varied = ds.attrs["varied"]
    unit = axis_unit(ds, varied)
    outputs = outputs_of(ds)
    heads = []
    for variable, name in outputs.items():
        own = str(ds[variable].attrs["units"])
        heads.append(f"{name} [{own}]" if own not in ("", "1") else name)
    label = str(ds[varied].attrs["long_name"])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["law", f"{label} [{unit}]" if unit else label, *heads, "stopped"])
        for law in ds["law"].values:
            for value in ds[varied].values:
                here = ds.sel({"law": law, varied: value})
                numbers = [float(here[v]) for v in outputs]
                cells = ["" if n != n else repr(n) for n in numbers]
                writer.writerow([law, value, *cells, str(here["stopped"].values)])


def _study_figures(folder: Path, result: Comparison) -> list[FigureFile]:
    from marsyard.results.study_plots import save_study_figures

    study = result.sides[0].run.scenario.study
    assert study is not None
    if result.measured is not None:
        from marsyard.comparison.measured import with_points

        study = with_points(study, result.data, result.measured)
    return save_study_figures(result.data, study, folder)


# --- the page


def _report(folder: Path, result: Comparison, figures: Sequence[FigureFile]) -> Path:
    names = ", ".join(s.name for s in result.sides)
    title = f"{result.scenario.title or result.name}: {names}"
    numbers, pictures = _table(result), figures_section(figures)
    sections = [
        _head(title, result),
        section("Boundary", _boundaries(result)),
        # the numbers of a study are many, and its figures say the same
        section("Figures", pictures) if result.is_study else section("Comparison", numbers),
        section("Comparison", numbers) if result.is_study else section("Figures", pictures),
        section("Checks", _checks(result)),
        section("Description of the laws", _what(result)),
        section("Base scenario", parameters_section(result.scenario, result.info)),
        section("Versions", pairs(versions(result.info))),
    ]
    return write_page(folder, title, sections)


def _head(title: str, result: Comparison) -> str:
    parts = [intro(title, result.scenario, result.info)]
    for side in result.sides:
        run = side.run
        if run.stopped:
            parts.append(f'<div class="alarm" role="alert">{escape(side.name)}: the run diverged '
                         f"and {escape(run.stopped)}.</div>")  # fmt: skip
        bad = result.summary[side.name].get("unconverged", 0)
        if bad:
            parts.append(
                f'<div class="alarm">{escape(side.name)}: {bad} steps did not converge.</div>'
            )
        parts += [
            f'<div class="alarm">{escape(side.name)}: {escape(w)}.</div>' for w in run.warnings
        ]
    parts += [f'<p class="text">{escape(n[:1].upper() + n[1:])}.</p>' for n in result.notes]
    rows = [
        ("comparison", str(len(result.sides))),
        ("processes", str(result.info["jobs"])),
        ("elapsed", quantity(result.info["elapsed"], "s", 3)),
    ]
    return f"<header>{''.join(parts)}{tiles(rows)}</header>"


def _html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], first: int = 1) -> str:
    """A table whose columns from `first` on are numbers; heads and cells are escaped already."""
    head = "".join(f"<th{' class=num' if k >= first else ''}>{h}</th>" for k, h in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=num' if k >= first else ''}>{c}</td>" for k, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="runs"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _table(result: Comparison) -> str:
    laws = [
        f'<a href="laws/{escape(s.folder)}/report.html">{escape(s.name)}</a>' for s in result.sides
    ]
    parts = []
    for table in tables(result):
        title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
        rows = [[escape(c) for c in row] for row in table.rows]
        parts.append(title + _html_table([escape(table.head), *laws], rows))
    note = "The name of each law links to its report."
    if not result.is_study:
        note = (
            ""
            f"Means over all wheels and the whole run. Sinkage refers to the rim in wheel models "
            f"and to the grouser tips in the soil contact model. {note}"
        )
    return "".join(parts) + f'<p class="soft">{note}</p>'


def _boundaries(result: Comparison) -> str:
    found = [
        f'<p class="text"><b>{escape(s.name)}</b>: {escape(b.words)}.</p>'
        for s in result.sides
        for b in getattr(s.run, "boundaries", ())
    ]
    return "".join(found)


def _checks(result: Comparison) -> str:
    """A row per check, a column per law."""
    checks = result.sides[0].run.checks
    if not checks:
        return ""
    heads = ["check", "published or exact", "± tolerance", "unit"]
    heads += [escape(s.name) for s in result.sides]
    rows = []
    for k, check in enumerate(checks):
        row = [escape(check.name), number(check.expected), number(check.tolerance)]
        row.append(escape(check.unit))
        row += [_verdict(side, k, check.name) for side in result.sides]
        rows.append(row)
    return _html_table(heads, rows)


def _verdict(side: Side, index: int, name: str) -> str:
    own = side.run.checks
    if index >= len(own) or own[index].name != name:
        return "–"
    check = own[index]
    mark = {"pass": ("pass", "✓"), "fail": ("fail", "✗")}.get(check.verdict, ("open", "–"))
    return (
        f'{number(check.computed)} <span class="verdict {mark[0]}" '
        f'title="{escape(check.reason)}">{mark[1]}</span>'
    )


def settings_text(changes: Mapping[str, Any]) -> str:
    """What a law changed of the scenario, in one line."""
    words = {None: "none", True: "yes", False: "no"}
    parts = []
    for path, value in changes.items():
        plain = words[value] if isinstance(value, bool | None) else str(value)
        parts.append(f"{path} = {plain}")
    return "; ".join(parts) or "none: unchanged scenario"


def exit_text(side: Side) -> str:
    """The exit rule of the treads, which decides about the pull; nothing for other laws."""
    from marsyard.robot import load_robot

    interaction = side.run.scenario.interaction
    if interaction.wheel is None or interaction.wheel.model in ("rigid_slip", "magic_formula"):
        return ""
    exit = interaction.options(WheelModelOptions).exit
    if exit is not None:
        return f"{exit.rule} {exit.value:g} (of the scenario)"
    wheels = load_robot(side.run.scenario.robot.name).wheels.values()
    said = {f"{w.exit.rule} {w.exit.value:g}" for w in wheels if w.exit is not None}
    return f"{', '.join(sorted(said))} (of the rover)" if said else ""


def _what(result: Comparison) -> str:
    blocks = []
    for side in result.sides:
        rows = [
            ("law", f"{side.variant.law}: {known_laws()[side.variant.law].title}"),
            ("changed", settings_text(side.changes)),
        ]
        if text := exit_text(side):
            rows.append(("exit rule", text))
        blocks.append(f"<div><h3>{escape(side.name)}</h3>{pairs(rows)}</div>")
    return f'<div class="columns">{"".join(blocks)}</div>'
