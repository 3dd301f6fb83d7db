"""Result of an optimisation as text and table: the best candidates, or the nearest to feasible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.campaign.optimize.best import best_of
from marsyard.campaign.optimize.data import units_of
from marsyard.drawing.page import number
from marsyard.drawing.sheet import unit_text, with_unit

if TYPE_CHECKING:
    from rich.table import Table

    from marsyard.campaign.optimize.running import Optimized
    from marsyard.campaign.optimize.study_file import Constraint, OptimizeFile


def front_table(found: Optimized) -> Table:
    """The best candidates for a terminal."""
    from rich.markup import escape
    from rich.table import Table

    units = units_of(found.problem, found.candidates)
    names = [o.output for o in found.study.objectives]
    labels = [(v.label, v.unit) for v in found.problem.variables]
    labels += [(a, units[b]) for a, b in zip(objective_labels(found.study), names, strict=True)]
    head = [escape(with_unit(label, unit)) for label, unit in labels]
    many = len(found.front)
    title = f"Pareto front, {many} candidate{'s' if many != 1 else ''}"
    table = Table("candidate", *head, title=title if len(names) > 1 else "The best candidate")
    for k in best_of(found):
        candidate = found.candidates[k]
        cells = [v.text(candidate.values[v.key]) for v in found.problem.variables]
        table.add_row(str(k), *cells, *(number(v, 4) for v in candidate.score.objectives))
    return table


def objective_labels(study: OptimizeFile) -> list[str]:
    """What tables call the objectives: 'worst of way' where there are replicas."""
    several = study.replicas > 1
    return [f"{o.over} of {o.output}" if several else o.output for o in study.objectives]


def nearest_words(found: Optimized) -> str:
    """The candidate nearest to feasibility, and its violations."""
    k = found.nearest
    if k is None:
        return ""
    units = units_of(found.problem, found.candidates)
    candidate = found.candidates[k]
    missed = []
    for limit, by in zip(found.study.constraints, candidate.score.violations, strict=True):
        if by > 0:
            values = [number(v, 4) for v in candidate.score.numbers[limit.output]]
            unit = unit_text(units[limit.output])
            is_ = f"{limit.output} is {', '.join(values)} {unit}".rstrip()
            missed.append(f"{is_}, not {bounds_words(limit)}")
    return f"the nearest is candidate {k} ({found.words(k)}): {'; '.join(missed)}"


def bounds_words(limit: Constraint) -> str:
    """'at least 0.5 and at most 2'."""
    bounds = [f"at least {limit.at_least:g}"] if limit.at_least is not None else []
    bounds += [f"at most {limit.at_most:g}"] if limit.at_most is not None else []
    return " and ".join(bounds)
