"""The report of an optimisation: the front, figures, failures and the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marsyard.campaign._drawing import BLUE, ORANGE, RED
from marsyard.campaign.base import varied
from marsyard.campaign.optimize.best import best_of
from marsyard.campaign.optimize.data import units_of
from marsyard.campaign.optimize.tables import bounds_words, nearest_words, objective_labels
from marsyard.campaign.report import (
    elapsed_tile,
    speed_rows,
    unconverged_remarks,
    warnings_table,
)
from marsyard.campaign.tables import grouped
from marsyard.drawing.page import (
    capital,
    joined,
    number,
    pairs,
    paragraph,
    paragraphs,
    picture,
    quantity,
    table,
    tiles,
)
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import BAD, FIGURES, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FigureFile, unit_text, with_unit
from marsyard.results.report import versions
from marsyard.results.report_parameters import parameters_section

if TYPE_CHECKING:
    from marsyard.campaign.optimize.running import Optimized


def write_report(
    found: Optimized, folder: Path, figures: Sequence[FigureFile], best: Mapping[int, list[Path]]
) -> Path:
    """Write `report.html` of an optimisation."""
    study = found.study
    shown = best_words(found, best)
    key = key_plots(found)
    above = [] if key else list(figures[:1])
    parts = [
        Part("About this optimisation", joined(paragraphs(study.description or ""),
                                               _tiles(found))),
        Part("The best candidates", shown, open=bool(shown)),
        FIGURES,
        Part("Not feasible", _infeasible(found), str(len(found.infeasible))),
        Part("Warnings", warnings_table(found.warned, found.words, "candidates")),
        Part("Objectives and limits", _sought(found)),
        Part("Design variables", _variables(found)),
    ]  # fmt: skip
    for case, given in study.all_cases.items():
        base = varied(given.scenario, found.problem.bases[case], {})
        name = f"Base scenario: {case}" if study.cases else "Base scenario"
        parts.append(Part(name, parameters_section(base, {})))
    parts.append(Part("Speed", pairs(speed_rows(found.info))))
    parts.append(Part("Versions", pairs(versions({}))))
    page = ReportPage(
        answer=_answer(found),
        title=study.title or f"Optimisation {found.problem.name}",
        name=found.problem.name,
        kind="optimize",
        remarks=_remarks(found),
        notes=[_asked(found)],
        picture=picture(above[0]) if above else "",
        key_plots=key,
        parts=parts,
        figures=figures[len(above) :],
    )
    return write_report_page(folder, page)


def _answer(found: Optimized) -> str:
    """The best candidate and its values, or how far the front goes."""
    if not found.front:
        return "No candidate is feasible"
    units = units_of(found.problem, found.candidates)
    sought = [o.output for o in found.study.objectives]
    labels = objective_labels(found.study)
    values = [found.candidates[k].score.objectives for k in found.front]
    if len(values) == 1 or len(sought) == 1:  # of one objective all on the front are as good
        best = [
            f"{label} {quantity(value, unit_text(units[name]), 4)}"
            for label, name, value in zip(labels, sought, values[0], strict=True)
        ]
        return f"{capital(', '.join(best))} with {found.words(found.front[0])}"
    spans = []
    for k, (label, name) in enumerate(zip(labels, sought, strict=True)):
        low, high = min(v[k] for v in values), max(v[k] for v in values)
        spans.append(f"{label} {number(low, 3)} to {quantity(high, unit_text(units[name]), 3)}")
    return f"{len(values)} candidates on the front: {', '.join(spans)}"


def _asked(found: Optimized) -> str:
    asked, runs = found.study.optimiser, found.problem.runs
    return (
        f"{asked.kind}: {asked.evaluations} candidates in generations of {asked.population}, "
        f"{runs} run{'s' if runs > 1 else ''} each; seed {found.study.seed}."
    )


def _remarks(found: Optimized) -> list[tuple[str, str]]:
    out = []
    if not found.front:
        nearest = nearest_words(found)
        more = f" {capital(nearest)}." if nearest else ""
        out.append((BAD, f"The table below lists the reasons.{more}"))
    return out + unconverged_remarks(found.data, "candidates")


def _tiles(found: Optimized) -> str:
    return tiles([
        ("candidates", str(len(found.candidates))),
        ("feasible", str(int(found.data["feasible"].sum()))),
        ("on the front", str(len(found.front))),
        elapsed_tile(found.info),
    ])  # fmt: skip


def key_plots(found: Optimized) -> list[PagePlot]:
    """Of one objective its value over the evaluations, else the first two against each other."""
    values = found.data["objective"].values
    feasible = found.data["feasible"].values == 1
    missed = ~feasible & np.isfinite(values).all(axis=1)
    units = units_of(found.problem, found.candidates)
    labels = [with_unit(o.output, units[o.output]) for o in found.study.objectives]
    if len(labels) == 1:
        x, y = np.arange(len(values), dtype=float), values[:, 0]
        sign = found.study.objectives[0].sign
        best = sign * np.fmin.accumulate(np.where(feasible, sign * y, np.nan))
        over, line = "evaluation", PageCurve("best so far", x, best, ORANGE, 2.0)
    else:
        (x, y), over = values[:, :2].T, labels[0]
        front = sorted(found.front, key=lambda k: x[k])
        line = PageCurve("Pareto front", x[front], y[front], ORANGE, dots=True)
    clouds = [
        PageCurve(name, x[some], y[some], colour, points=True)
        for name, some, colour in (("candidate", feasible, BLUE), ("misses a limit", missed, RED))
        if some.any()
    ]
    if not clouds:
        return []
    made = plot_over("The search", over, [PagePanel(labels[min(1, len(labels) - 1)],
                                                    (*clouds, line))])  # fmt: skip
    return [made] if made else []


def best_words(found: Optimized, best: Mapping[int, list[Path]]) -> str:
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
    many = len(found.front)
    note = f"{many} candidates are on the front" if many > 1 else "One candidate is on the front"
    if len(found.front) > len(chosen):
        note += f"; {len(chosen)} of them that are far apart are shown"
    files = ", ".join(p.name for k in chosen[:3] for p in best.get(k, [])[:1])
    note += f". Their scenarios are in best/ ({files}, …), ready for marsyard run."
    return joined(table(head, rows, 1), paragraph(note, "soft"))


def _infeasible(found: Optimized) -> str:
    if not found.infeasible:
        return ""
    rows = [
        [str(len(members)), reason, found.words(members[0])]
        for reason, members in grouped(found.infeasible)
    ]
    return table(["candidates", "why", "for example"], rows, 3)


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
    return table(head[:wide], [row[:wide] for row in rows], wide)


def _variables(found: Optimized) -> str:
    rows = []
    for v in found.problem.variables:
        how = ", ".join(map(str, v.choices)) or f"{number(v.low, 4)} to {number(v.high, 4)}"
        how += ", whole numbers" if v.integer else ""
        how += ", by its logarithm" if v.log else ""
        rows.append([v.label, ", ".join(v.paths), how, unit_text(v.unit)])
    return table(["variable", "path", "values", "unit"], rows, 4)
