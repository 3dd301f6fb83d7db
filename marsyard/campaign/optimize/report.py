"""The report of an optimisation: the front, figures, failures and the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from marsyard.campaign.base import varied
from marsyard.campaign.optimize.best import best_of
from marsyard.campaign.optimize.data import units_of
from marsyard.campaign.optimize.tables import bounds_words, nearest_words, objective_labels
from marsyard.campaign.report import (
    elapsed_tile,
    html_table,
    speed_rows,
    title_parts,
    warnings_table,
)
from marsyard.campaign.tables import grouped
from marsyard.drawing.page import capital, escape, number, pairs, tiles
from marsyard.drawing.sheet import FigureFile, unit_text, with_unit
from marsyard.results.report import (
    figures_section,
    section,
    versions,
    write_page,
)
from marsyard.results.report_parameters import parameters_section

if TYPE_CHECKING:
    from marsyard.campaign.optimize.running import Optimized


def write_report(
    found: Optimized, folder: Path, figures: Sequence[FigureFile], best: Mapping[int, list[Path]]
) -> Path:
    """Write `report.html` of an optimisation."""
    study = found.study
    title = study.title or f"Optimisation {found.problem.name}"
    sections = [
        _head(title, found),
        section("The best candidates", _best(found, best)),
        section("Figures", figures_section(figures)),
        section("Not feasible", _infeasible(found)),
        section("Warnings", warnings_table(found.warned, found.words, "candidates")),
        section("Objectives and limits", _sought(found)),
        section("Design variables", _variables(found)),
    ]
    for case, given in study.all_cases.items():
        base = varied(given.scenario, found.problem.bases[case], {})
        name = f"Base scenario: {case}" if study.cases else "Base scenario"
        sections.append(section(name, parameters_section(base, {})))
    sections.append(section("Speed", pairs(speed_rows(found.info))))
    sections.append(section("Versions", pairs(versions({}))))
    return write_page(folder, title, sections)


def _head(title: str, found: Optimized) -> str:
    study, info = found.study, found.info
    parts = title_parts(title, found.problem.name, study.description)
    asked = study.optimiser
    said = (
        f"{asked.kind}: {asked.evaluations} candidates in generations of {asked.population}, "
        f"{found.problem.runs} run{'s' if found.problem.runs > 1 else ''} each; seed {study.seed}."
    )
    parts.append(f'<p class="text">{escape(said)}</p>')
    if not found.front:
        nearest = nearest_words(found)
        more = f" {capital(nearest)}." if nearest else ""
        parts.append(
            '<div class="alarm" role="alert">No candidate is feasible; the table below '
            f"lists the reasons.{escape(more)}</div>"
        )
    bad = int((found.data["unconverged"].values > 0).sum())
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{bad} candidates had steps with an unconverged '
            f"contact problem"
            ".</div>"
        )
    rows = [
        ("candidates", str(len(found.candidates))),
        ("feasible", str(int(found.data["feasible"].sum()))),
        ("on the front", str(len(found.front))),
        elapsed_tile(info),
    ]
    return f"<header>{''.join(parts)}{tiles(rows)}</header>"


def _best(found: Optimized, best: Mapping[int, list[Path]]) -> str:
    chosen = best_of(found)
    if not chosen:
        return ""
    problem = found.problem
    units = units_of(problem, found.candidates)
    sought = [o.output for o in found.study.objectives]
    limited = [c.output for c in found.study.constraints if c.output not in sought]
    limited = list(dict.fromkeys(limited))
    mean = "mean of " if found.study.replicas > 1 else ""
    head = ["candidate", *(with_unit(v.label, v.unit) for v in problem.variables)]
    named = zip(objective_labels(found.study), sought, strict=True)
    head += [with_unit(label, units[name]) for label, name in named]
    head += [with_unit(f"{mean}{name}", units[name]) for name in limited]
    rows = []
    for k in chosen:
        candidate = found.candidates[k]
        row = [str(k), *(v.text(candidate.values[v.key]) for v in problem.variables)]
        row += [number(value, 4) for value in candidate.score.objectives]
        several = [candidate.score.numbers[name] for name in limited]
        rows.append([*row, *(number(sum(n) / len(n), 4) for n in several)])
    note = f"{len(found.front)} candidates are on the front"
    if len(found.front) > len(chosen):
        note += f"; {len(chosen)} of them that are far apart are shown"
    files = ", ".join(p.name for k in chosen[:3] for p in best.get(k, [])[:1])
    note += f". Their scenarios are in best/ ({files}, …), ready for marsyard run."
    return html_table(head, rows, 1) + f'<p class="soft">{escape(note)}</p>'


def _infeasible(found: Optimized) -> str:
    if not found.infeasible:
        return ""
    rows = [
        [str(len(members)), reason, found.words(members[0])]
        for reason, members in grouped(found.infeasible)
    ]
    return html_table(["candidates", "why", "for example"], rows, 3)


def _sought(found: Optimized) -> str:
    several = found.study.replicas > 1
    units = units_of(found.problem, found.candidates)
    rows = []
    for o in found.study.objectives:
        over = f"{o.over} of replicas" if several else ""
        rows.append([o.output, "minimise" if o.sign > 0 else "maximise", over])
    for c in found.study.constraints:
        over = f"{c.over} of replicas" if several else ""
        goal = f"{bounds_words(c)} {unit_text(units[c.output])}".strip()
        rows.append([c.output, goal, over])
    head, wide = ["output", "goal", "over"], 3 if several else 2
    return html_table(head[:wide], [row[:wide] for row in rows], wide)


def _variables(found: Optimized) -> str:
    rows = []
    for v in found.problem.variables:
        how = ", ".join(map(str, v.choices)) or f"{number(v.low, 4)} to {number(v.high, 4)}"
        how += ", whole numbers" if v.integer else ""
        how += ", by its logarithm" if v.log else ""
        rows.append([v.label, ", ".join(v.paths), how, unit_text(v.unit)])
    return html_table(["variable", "path", "values", "unit"], rows, 4)
