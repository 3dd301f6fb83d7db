"""Figures of an optimisation, drawn by default.

| study | figures |
| --- | --- |
| two and more objectives | each pair of them: all candidates and the Pareto front |
| one objective | its value over the evaluations, and the best so far |
| one objective, few variables | its value against each of them |
| others | hypervolume over the evaluations; parallel coordinates of variables and objectives |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.campaign._drawing import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    Drawn,
    colour_bar,
    save_all,
    sheet,
)
from marsyard.campaign.optimize.best import best_of
from marsyard.campaign.optimize.data import units_of
from marsyard.drawing.page import capital
from marsyard.drawing.sheet import FONT, FigureFile, with_unit, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from marsyard.campaign.optimize.running import Optimized
    from marsyard.campaign.optimize.variables import Variable

#: pairs of objectives that are drawn
_PAIRS = 6
#: variables that are drawn side by side
_WIDE = 4


def save_figures(found: Optimized, folder: Path) -> list[FigureFile]:
    """Draw the figures as PNG files."""
    return save_all(draw_all(found), folder)


def draw_all(found: Optimized) -> Iterator[Drawn]:
    """Title, caption and figure, one after the other."""
    m = len(found.study.objectives)
    if not (found.data["completed"].values == 1).any():
        return
    for a, b in list(itertools.combinations(range(m), 2))[:_PAIRS]:
        yield _front(found, a, b)
    if m == 1:
        yield _single(found)
    elif found.front:
        yield _hypervolume(found)
    if found.front and m == 1 and len(found.problem.variables) <= _WIDE:
        yield _against(found)
    elif found.front:
        yield _parallel(found)


def _label(found: Optimized, name: str) -> str:
    return with_unit(name, units_of(found.problem, found.candidates)[name])


def _goal(found: Optimized, k: int) -> str:
    objective = found.study.objectives[k]
    better = "less" if objective.sign > 0 else "more"
    return wrap(f"{_label(found, objective.output)}, {better} is better", 46)


def _blues() -> Any:
    """Matplotlib's blues without the palest."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["Blues"](np.linspace(0.3, 1.0, 256)))


def _front(found: Optimized, a: int, b: int) -> Drawn:
    from matplotlib.ticker import MaxNLocator

    canvas, panels = sheet(1, 1, 6.2, 4.4)
    ax = panels[0, 0]
    values = found.data["objective"].values
    feasible = found.data["feasible"].values == 1
    missed = ~feasible & (found.data["completed"].values == 1)
    look: dict[str, Any] = {"linewidths": 0, "alpha": 0.7}
    if missed.any():
        ax.scatter(values[missed, a], values[missed, b], s=12, color=RED, label="violates a limit",
                   marker="x", linewidths=0.9, alpha=0.6)  # fmt: skip
    generations = found.data["generation"].values
    dots = ax.scatter(values[feasible, a], values[feasible, b], s=16, c=generations[feasible],
                      cmap=_blues(), vmin=0, vmax=max(1, generations.max()), **look)  # fmt: skip
    colour_bar(canvas, ax, dots, "generation").locator = MaxNLocator(integer=True)
    if found.front:
        _draw_front(ax, found, a, b)
    ax.set_xlabel(_goal(found, a), fontsize=FONT)
    ax.set_ylabel(_goal(found, b), fontsize=FONT)
    if found.front or missed.any():
        ax.legend(frameon=False, fontsize=FONT - 1)
    names = [found.study.objectives[k].output for k in (a, b)]
    caption = (
        "Each dot is a candidate, later ones are darker. No candidate is better than one on the "
        "front in one objective without being worse in another. Numbers refer to best/, where "
        "space permits."
    )
    return f"{names[0]} and {names[1]}", caption, canvas


def _draw_front(ax: Axes, found: Optimized, a: int, b: int) -> None:
    values = found.data["objective"].values
    x, y = values[found.front, a], values[found.front, b]
    order = np.argsort(x, kind="stable")
    if len(found.study.objectives) == 2:
        # what the front dominates is bounded by steps
        style = "steps-post" if found.study.objectives[a].sign > 0 else "steps-pre"
        ax.plot(x[order], y[order], color=ORANGE, linewidth=1, alpha=0.6, drawstyle=style)
    ax.scatter(x, y, s=26, color=ORANGE, edgecolor="white", linewidths=0.6, zorder=3,
               label="Pareto front")  # fmt: skip
    _number_best(ax, found, values[:, [a, b]])


def _number_best(ax: Axes, found: Optimized, values: np.ndarray) -> None:
    """Numbers of the candidates in best/, the ends first, where they do not cover each other."""
    chosen = best_of(found)
    corner, far = np.transpose([ax.get_xlim(), ax.get_ylim()])
    placed: list[np.ndarray] = []
    for k in (chosen[:1] + chosen[-1:] + chosen[1:-1])[: len(chosen)]:
        at = (values[k] - corner) / (far - corner)
        if all((np.abs(at - other) > (0.05, 0.05)).any() for other in placed):
            placed.append(at)
            ax.annotate(str(k), values[k], fontsize=FONT - 2, color="#444444", xytext=(4, 4),
                        textcoords="offset points")  # fmt: skip


def _single(found: Optimized) -> Drawn:
    canvas, panels = sheet(1, 1, 6.2, 3.6)
    ax = panels[0, 0]
    values = found.data["objective"].values[:, 0]
    feasible = found.data["feasible"].values == 1
    missed = ~feasible & np.isfinite(values)
    at = np.arange(len(values))
    if missed.any():
        ax.scatter(at[missed], values[missed], s=10, color=RED, marker="x", linewidths=0.9,
                   alpha=0.6, label="violates a limit")  # fmt: skip
    ax.scatter(at[feasible], values[feasible], s=10, color=GREY, linewidths=0, label="candidate")
    if feasible.any():
        sign = found.study.objectives[0].sign
        best = sign * np.fmin.accumulate(np.where(feasible, sign * values, np.nan))
        ax.plot(at, best, color=ORANGE, linewidth=1.4, drawstyle="steps-post", label="best so far")
    ax.set_xlabel("evaluation", fontsize=FONT)
    ax.set_ylabel(_goal(found, 0), fontsize=FONT)
    ax.legend(frameon=False, fontsize=FONT - 1)
    return "The search", "Each candidate in the order of its evaluation.", canvas


def _against(found: Optimized) -> Drawn:
    """The objective against each variable."""
    variables = found.problem.variables
    canvas, panels = sheet(1, len(variables), 2.6 * len(variables) + 0.8, 3.0)
    feasible = found.data["feasible"].values == 1
    values, best = found.data["objective"].values[:, 0], found.front[0]
    for ax, variable, (name, x) in zip(panels[0], variables, _columns(found), strict=False):
        missed = ~feasible & np.isfinite(values)
        ax.scatter(x[missed], values[missed], s=12, color=RED, marker="x", linewidths=0.9)
        ax.scatter(x[feasible], values[feasible], s=16, color=BLUE, linewidths=0, alpha=0.7)
        ax.scatter(x[best], values[best], s=40, color=ORANGE, edgecolor="white", zorder=3)
        ax.set_xlabel(wrap(name, 30), fontsize=FONT)
        if variable.log:
            ax.set_xscale("log")
        if variable.words:
            words = _words(found, variable)
            ax.set_xticks(range(len(words)), words)
    panels[0, 0].set_ylabel(_goal(found, 0), fontsize=FONT)
    name = found.study.objectives[0].output
    caption = "Each dot is a candidate; orange: the best; crosses: a limit is violated."
    return f"{capital(name)} against the design variables", caption, canvas


def _words(found: Optimized, variable: Variable) -> list[str]:
    return sorted(set(map(str, found.data[variable.name].values)))


def _hypervolume(found: Optimized) -> Drawn:
    canvas, panels = sheet(1, 1, 6.2, 3.2)
    ax = panels[0, 0]
    ax.plot(found.data["hypervolume"].values, color=BLUE, drawstyle="steps-post")
    ax.set_xlabel("evaluation", fontsize=FONT)
    ax.set_ylabel("hypervolume", fontsize=FONT)
    ax.set_ylim(0, 1)
    caption = (
        "Hypervolume dominated by the front, as a share of the box between the best and worst "
        "values of all feasible candidates. The search has converged where it stops growing."
    )
    return "Hypervolume over evaluations", caption, canvas


def _columns(found: Optimized) -> list[tuple[str, np.ndarray]]:
    """Variables and objectives: what they are called, and numbers for each candidate."""
    columns: list[tuple[str, np.ndarray]] = []
    for variable in found.problem.variables:
        values = found.data[variable.name].values
        if variable.words:
            words = _words(found, variable)
            values = np.array([words.index(str(v)) for v in values], dtype=float)
        columns.append((with_unit(variable.label, variable.unit), values))
    for k, objective in enumerate(found.study.objectives):
        columns.append((_label(found, objective.output), found.data["objective"].values[:, k]))
    return columns


def _parallel(found: Optimized) -> Drawn:
    """A line per candidate over variables and objectives, each from its least to its largest."""
    columns = _columns(found)
    canvas, panels = sheet(1, 1, max(5.0, 1.25 * len(columns) + 1.0), 4.0)
    ax = panels[0, 0]
    feasible = np.flatnonzero(found.data["feasible"].values == 1).tolist()
    front = set(found.front)
    table = np.full((len(columns), len(found.candidates)), 0.5)
    logs = [v.log for v in found.problem.variables] + [False] * len(found.study.objectives)
    for x, ((_, values), log) in enumerate(zip(columns, logs, strict=True)):
        low, high = float(np.min(values[feasible])), float(np.max(values[feasible]))
        if high > low and log:
            table[x] = np.log(values / low) / np.log(high / low)
        elif high > low:
            table[x] = (values - low) / (high - low)
        ax.text(x, 1.02, f"{high:.4g}", ha="center", va="bottom", fontsize=FONT - 2)
        ax.text(x, -0.02, f"{low:.4g}", ha="center", va="top", fontsize=FONT - 2)
        ax.axvline(x, color="#cccccc", linewidth=0.8, zorder=0)
    for k in feasible:
        if k not in front:
            ax.plot(table[:, k], color=GREY, linewidth=0.5, alpha=0.25)
    for k in sorted(front):
        ax.plot(table[:, k], color=ORANGE, linewidth=1.0, alpha=0.8, zorder=3)
    ax.set_xticks(range(len(columns)), [wrap(n, 14) for n, _ in columns], fontsize=FONT - 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_ylim(-0.1, 1.1)
    ax.grid(False)
    caption = (
        "One line per feasible candidate, from its variables to its objectives. Each axis covers "
        "the range of values (logarithmic for log variables). Coloured: the Pareto front."
    )
    return "Parallel coordinates", caption, canvas
