"""Files of a comparison of runs or studies: compare.csv, compare.nc, figures, report.html."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.comparison.laws import known_laws
from marsyard.comparison.runs import Comparison, Side
from marsyard.comparison.summary import columns_of, shown
from marsyard.drawing.page import (
    badge,
    capital,
    columns,
    headed,
    joined,
    link,
    number,
    pairs,
    paragraph,
    picture,
    quantity,
    strong,
    table,
    tiles,
)
from marsyard.drawing.page_plots import PagePlot
from marsyard.drawing.report_page import (
    BAD,
    FIGURES,
    WARNING,
    Part,
    ReportPage,
    write_report_page,
)
from marsyard.drawing.sheet import FigureFile, unit_text
from marsyard.interaction.wheel_models.options import WheelModelOptions
from marsyard.results import save
from marsyard.results.report import description_of, versions
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
    passed = _passed(result)
    key = _key_plots(result)
    above = [] if key else list(figures[:1])
    names = ", ".join(s.name for s in result.sides)
    page = ReportPage(
        answer=_answer(result),
        title=f"{result.scenario.title or result.name}: {names}",
        name=str(result.info.get("scenario") or ""),
        kind="compare",
        remarks=_remarks(result),
        notes=[f"{capital(n).rstrip('.')}." for n in result.notes],
        picture=picture(above[0]) if above else "",
        key_plots=key,
        parts=[
            Part("About this comparison", joined(description_of(result.scenario), _tiles(result))),
            Part("Boundary", _boundaries(result)),
            Part("Comparison", _table(result), open=not result.is_study),
            FIGURES,
            Part("Checks", _checks(result), passed),
            Part("Description of the laws", _what(result)),
            Part("Base scenario", parameters_section(result.scenario, result.info)),
            Part("Versions", pairs(versions(result.info))),
        ],
        figures=figures[len(above) :],
    )
    return write_report_page(folder, page)


#: numbers that tell most of how laws differ, the first that two of them have
_TELLING = ("apart", "pull", "distance", "slip", "energy")


def _answer(result: Comparison) -> str:
    """By how much the laws differ in what tells most, and in how they end."""
    count = len(result.sides)
    if count == 1:
        return f"One law: {result.sides[0].name}"
    if result.is_study:
        said = _study_answer(result)
    else:
        said = _run_answer(result)
    passed = _passed(result)
    return f"{said}; {passed}" if passed else said


def _run_answer(result: Comparison) -> str:
    numbers = [dict(result.summary[s.name]) for s in result.sides]
    said: list[str] = []
    columns = {c[0]: c for c in columns_of(numbers)}
    for key, what, unit, factor, _ in (columns[k] for k in _TELLING if k in columns):
        values = [(shown(own, key, factor), s.name)
                  for own, s in zip(numbers, result.sides, strict=True)]  # fmt: skip
        known = [(v, name) for v, name in values if v is not None]
        if len(known) + (key == "apart") < 2 or len(said) == 2:
            continue
        (low, least), (high, most) = min(known), max(known)
        if key == "apart":
            if high > 5e-7:
                said.append(f"ends up to {quantity(high, unit, 2)} apart ({most})")
        elif high - low > 1e-3 * max(abs(low), abs(high)):
            said.append(f"{what} {number(low, 3)} ({least}) to {quantity(high, unit, 3)} ({most})")
    many = f"{len(result.sides)} laws"
    return f"{many}: {', '.join(said)}" if said else f"{many} that do the same"


def _study_answer(result: Comparison) -> str:
    """By how much the first output differs at most, and where."""
    from marsyard.results.study_checks import axis_unit, outputs_of

    ds, varied = result.data, result.data.attrs["varied"]
    label = str(ds[varied].attrs["long_name"])
    many = f"{len(result.sides)} laws over {label}"
    for variable, name in outputs_of(ds).items():
        values = ds[variable].transpose("law", ..., varied).values.reshape(len(result.sides), -1)
        known = np.isfinite(values).all(axis=0)
        if not known.any():
            continue
        spread = np.where(known, np.ptp(np.where(known, values, 0.0), axis=0), -1.0)
        k = int(np.argmax(spread))
        unit = unit_text(str(ds[variable].attrs["units"]))
        place = ds[varied].values[k % ds.sizes[varied]]
        at = str(place) if isinstance(place, str) else quantity(
            float(place), unit_text(axis_unit(ds, varied)), 4
        )  # fmt: skip
        most = quantity(float(spread[k]), unit, 3)
        return f"{many}: {name} differs by up to {most}, at {label} {at}"
    return many


def _passed(result: Comparison) -> str:
    """'all checks pass under 2 of 3'."""
    if not result.sides[0].run.checks:
        return ""
    good = sum(all(c.ok for c in s.run.checks) for s in result.sides)
    if good == len(result.sides):
        return "all checks pass"
    return f"all checks pass under {good} of {len(result.sides)}"


def _remarks(result: Comparison) -> list[tuple[str, str]]:
    out = []
    for side in result.sides:
        if side.run.stopped:
            out.append((BAD, f"{side.name}: the run diverged and {side.run.stopped}."))
        bad = result.summary[side.name].get("unconverged", 0)
        if bad:
            out.append((BAD, f"{side.name}: {bad} steps did not converge."))
        out += [(WARNING, f"{side.name}: {w.rstrip('.')}.") for w in side.run.warnings]
    return out


def _tiles(result: Comparison) -> str:
    return tiles([
        ("laws compared", str(len(result.sides))),
        ("processes", str(result.info["jobs"])),
        ("elapsed", quantity(result.info["elapsed"], "s", 3)),
    ])  # fmt: skip


def _key_plots(result: Comparison) -> list[PagePlot]:
    """Outputs of a study over its value, or the first quantities over time; a curve per law."""
    if result.is_study:
        from marsyard.results.study_report import key_plots_of_study

        return key_plots_of_study(result.data)
    from marsyard.comparison.run_figures import key_plot

    names = [s.name for s in result.sides]
    found = key_plot(names, [s.run.data for s in result.sides], result.scenario.report.figures)
    return [found] if found else []


def _table(result: Comparison) -> str:
    laws = [link(f"laws/{s.folder}/report.html", s.name) for s in result.sides]
    shown_tables = [headed(t.title, table([t.head, *laws], t.rows)) for t in tables(result)]
    note = "The name of each law links to its report."
    if not result.is_study:
        note = (
            ""
            f"Means over all wheels and the whole run. Sinkage refers to the rim in wheel models "
            f"and to the grouser tips in the soil contact model. {note}"
        )
    return joined(*shown_tables, paragraph(note, "soft"))


def _boundaries(result: Comparison) -> str:
    return joined(*(
        paragraph(joined(strong(s.name), f": {b.words}."))
        for s in result.sides
        for b in getattr(s.run, "boundaries", ())
    ))  # fmt: skip


def _checks(result: Comparison) -> str:
    """A row per check, a column per law."""
    checks = result.sides[0].run.checks
    if not checks:
        return ""
    heads = ["check", "published or exact", "± tolerance", "unit", *(s.name for s in result.sides)]
    rows = [
        [c.name, number(c.expected), number(c.tolerance), c.unit,
         *(_verdict(side, k, c.name) for side in result.sides)]
        for k, c in enumerate(checks)
    ]  # fmt: skip
    return table(heads, rows)


def _verdict(side: Side, index: int, name: str) -> str:
    own = side.run.checks
    if index >= len(own) or own[index].name != name:
        return "–"
    check = own[index]
    kind, mark = {"pass": ("pass", "✓"), "fail": ("fail", "✗")}.get(check.verdict, ("open", "–"))
    return joined(f"{number(check.computed)} ", badge(mark, kind, check.reason))


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
        blocks.append((side.name, pairs(rows)))
    return columns(blocks)
