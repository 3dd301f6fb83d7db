"""Convergence of a run in grid and step: it is repeated with half of each.

With a spacing l of the soil's grid (or the size l of the elements of a contact law) and a step h, a
number of a run has the error a lᵖ + b h^q and terms of both, which are smaller still. So the run
is repeated with half the spacing and with half the step, each apart, and

    moved = |y(l/2, h) − y(l, h)| + |y(l, h/2) − y(l, h)|

bounds what halving both would change, at less than half the cost of a run with both halved: on a
grid of half the spacing a step takes up to four times as long. A change of this size remains as the
error for order 1, a third of it for order 2.

Numbers are the checks of the scenario, whose tolerance `moved` is compared with, the bounds of its
questions, and headline quantities that say how the run went (`HEADLINES`), shown relative to their
size.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from marsyard.drawing.page import badge, joined, number, paragraph, table
from marsyard.errors import InputError
from marsyard.scenario.report_schema import Measure

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from marsyard.scenario import Scenario

Say = Callable[[str], Any]
Progress = Callable[[float, float, str], Any]

#: name, series, what is taken of it, and unit; means are of the second half
_MEAN, _END = "mean", "final"
HEADLINES = (
    ("final x of the base", "position_base.x", _END, "m"),
    ("final y of the base", "position_base.y", _END, "m"),
    ("final height of the base", "position_base.z", _END, "m"),
    ("mean speed", "speed", _MEAN, "m/s"),
    ("mean slip ratio", "slip_ratio.mean", _MEAN, ""),
    ("mean sinkage", "sinkage.mean", _MEAN, "m"),
    ("largest sinkage", "sinkage.max", _MEAN, "m"),
    ("mean drawbar pull", "drawbar_pull.sum", _MEAN, "N"),
    ("mean driving torque", "driving_torque.sum", _MEAN, "N·m"),
    ("work of the motors", "energy_motors", _END, "J"),
)
#: numbers smaller than these are none, whatever they are relative to
_NOTHING = {"m": 1e-4, "m/s": 1e-4, "": 1e-3, "N": 1e-2, "N·m": 1e-3, "J": 1e-2}
#: part of itself by which a headline may move
HEADLINE_SHARE = 0.05


@dataclass(frozen=True)
class Refinement:
    """A scenario with something halved, and what that is."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Moved:
    """A number of a run and what it is in each refined run.

    allowed: what it may move by: the tolerance of a check, a share of a headline quantity.
    checked: it is a check's, not a headline quantity.
    """

    name: str
    unit: str
    value: float | None
    refined: tuple[float | None, ...]
    allowed: float
    checked: bool

    @property
    def changes(self) -> tuple[float | None, ...]:
        """By how much each refinement changes it; None where a run does not give the number."""
        value = self.value
        return tuple(
            None if value is None or other is None else other - value for other in self.refined
        )

    @property
    def moved(self) -> float:
        """Sum of the sizes of the changes; infinite where a run does not give the number."""
        return sum(math.inf if c is None else abs(c) for c in self.changes)

    @property
    def share(self) -> float:
        """`moved` by what is allowed."""
        return self.moved / self.allowed

    @property
    def converged(self) -> bool:
        """It moves by no more than is allowed."""
        return self.share <= 1.0


@dataclass(frozen=True)
class Convergence:
    """What became of a run's numbers in the refined runs.

    halved: what was halved in each; stopped: why a refined run ended early.
    """

    halved: tuple[str, ...]
    numbers: tuple[Moved, ...]
    stopped: tuple[str | None, ...] = ()

    @property
    def converged(self) -> bool:
        """No refined run stopped, and no check, without checks no headline, moves too far."""
        judged = [n for n in self.numbers if n.checked] or list(self.numbers)
        return not any(self.stopped) and all(n.converged for n in judged)

    def __str__(self) -> str:
        """One sentence."""
        for name, why in zip(self.halved, self.stopped, strict=True):
            if why:
                return f"not converged: with {name} the run stops: {why}"
        parts = []
        for checked, what, limit in (
            (True, "checks", "their tolerance"), (False, "headline quantities", "5 % of themselves")
        ):  # fmt: skip
            found = [n for n in self.numbers if n.checked == checked]
            if not found:
                continue
            worst = max(found, key=lambda n: n.share)
            bad = sum(not n.converged for n in found)
            far = f"{_share(worst)} of its tolerance" if checked else _relative(worst)
            parts.append(
                f"{bad or 'none'} of {len(found)} {what} move{'s' if bad < 2 else ''} by more than "
                f"{limit} (most: {worst.name}, {far})"
            )
        return f"{'converged' if self.converged else 'not converged'}: {'; '.join(parts)}"


def refinements(scenario: Scenario) -> tuple[Refinement, ...]:
    """The scenario with half the spacing of its grid, where it has one, and with half the step."""
    found: list[tuple[str, dict[str, Any]]] = []
    finer = [
        g.model_copy(update={"spacing": g.spacing / 2}) if g.kind == "terrain" else g
        for g in scenario.ground
    ]
    if any(g.kind == "terrain" for g in scenario.ground):
        found.append(("half the spacing", {"ground": tuple(finer)}))
    name = scenario.interaction.law
    own: Any = getattr(scenario.interaction, name, None)
    size = getattr(own, "element_size", None)
    if size is not None:
        part = own.model_copy(update={"element_size": size / 2})
        law = scenario.interaction.model_copy(update={name: part})
        found.append(("half the size of elements", {"interaction": law}))
    run = scenario.run
    try:
        halved = type(run).model_validate({**run.model_dump(), "step": run.step / 2})
    except ValidationError as error:
        said = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"check_convergence: run.step: cannot be halved: {said}") from None
    found.append(("half the step", {"run": halved}))
    return tuple(Refinement(name, scenario.model_copy(update=part)) for name, part in found)


def check_refinable(scenario: Scenario, own_modules: bool, live: bool) -> None:
    """Refuse, before anything is run, what cannot be run again."""
    if live:
        raise InputError("check_convergence: a run that is steered live cannot be run again")
    if own_modules:
        raise InputError(
            "check_convergence: Python functions for control and interaction may keep a state, so "
            "the run cannot be repeated; put them into a plug-in"
        )
    if scenario.study is not None:
        raise InputError(
            "check_convergence: a study consists of many runs; check one of them, with "
            "study=False (--no-study) and its values"
        )
    refinements(scenario)


def estimate_time(scenario: Scenario, wall: float | None = None) -> float:
    """Time that the refined runs take [s], from that of the run itself where it is known."""
    from marsyard.simulation.cost import estimate_cost

    alone = estimate_cost(scenario).seconds
    more = sum(estimate_cost(each.scenario).seconds for each in refinements(scenario))
    return more if wall is None else more / alone * wall


def check_convergence(
    scenario: Scenario,
    data: xr.Dataset,
    wall: float | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    yes: bool = False,
) -> Convergence:
    """Run the scenario again, refined, and compare with the `data` of its run.

    wall: what the run itself took [s], for the estimate; `yes` confirms refined runs that take
    longer than a day or most of the memory (`simulation.cost`).
    """
    from marsyard.simulation.cost import check_cost

    found = refinements(scenario)
    for each in found:
        try:
            check_cost(each.scenario, yes)
        except InputError as error:
            raise InputError(f"check_convergence: with {each.name}: {error}") from None
    if say is not None:
        names = " and ".join(each.name for each in found)
        seconds = estimate_time(scenario, wall)
        say(f"checking convergence with {names}: about {_time(seconds)}")
    refined, stopped = [], []
    for each in found:
        other, why = _run(each, progress)
        refined.append(other)
        stopped.append(why)
    numbers = (*_checked(scenario, data, refined), *_headlines(scenario, data, refined))
    return Convergence(tuple(each.name for each in found), numbers, tuple(stopped))


def convergence_table(found: Convergence) -> Table:
    """For the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Convergence", title_justify="left", expand=False)
    for name in _heads(found):
        left = name == "number"
        table.add_column(name, justify="left" if left else "right", no_wrap=not left)
    for moved in found.numbers:
        style = "green" if moved.converged else "bold red" if moved.checked else "yellow"
        *cells, verdict = _cells(moved)
        table.add_row(*(Text(cell) for cell in cells), Text(verdict, style=style))
    return table


def convergence_section(found: Convergence | None) -> str:
    """For the report."""
    if found is None:
        return ""
    rows = [
        (*cells, badge(verdict, "pass" if moved.converged else "fail"))
        for moved in found.numbers
        for *cells, verdict in [_cells(moved)]
    ]
    heads = _heads(found)
    return joined(
        paragraph(f"This run is {found}."),
        table(heads, rows, numeric=range(1, len(heads) - 1), id="convergence"),
        paragraph(
            "The run was repeated with half the grid spacing and with half the step. Changes are "
            "relative to the run reported here; their sum bounds the change from halving both at "
            "once. Changes of checks are compared with the tolerance of the check, those of other "
            "numbers with 5 % of the number (for positions: of the distance from the start); means "
            "are over the second half of the run.",
            "soft",
        ),
    )


# --- parts


def _run(each: Refinement, progress: Progress | None) -> tuple[xr.Dataset | None, str | None]:
    """The data of a refined run, and why it ended early."""
    from marsyard.simulation import Diverged, Simulation

    total = each.scenario.run.duration

    def report_time(t: float) -> None:
        if progress is not None:
            progress(t, total, each.name)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            simulation = Simulation(each.scenario)
            simulation.run(report_time, yes=True)
        except (Diverged, InputError) as error:
            return None, str(error)
        data = simulation.dataset()
        simulation.close()
    return data, None


def _checked(scenario: Scenario, data: xr.Dataset, refined: list[xr.Dataset | None]) -> list[Moved]:
    out = []
    for check in scenario.report.checks:
        value, *others = (_take(ds, check) for ds in (data, *refined))
        if value is None:  # told by the check itself, e.g. of a run that was shortened
            continue
        out.append(Moved(check.name, check.unit, value, tuple(others), check.tolerance, True))
    return out


def _headlines(
    scenario: Scenario, data: xr.Dataset, refined: list[xr.Dataset | None]
) -> list[Moved]:
    half = float(data["time"][-1]) / 2
    tethers = data["tether"].values if "tether" in data.dims else ()
    pulls = [(f"mean pull of {name}", f"tether_force.{name}", _MEAN, "N") for name in tethers]
    out = []
    for name, of, take, unit in (*HEADLINES, *pulls):
        measure = Measure.model_validate({"name": name, "of": of, "take": take, "start": half})
        value = _take(data, measure)
        if value is None:
            continue
        # a place by how far it is from the start
        size = _travelled(data) if of.startswith("position_base") else abs(value)
        allowed = max(HEADLINE_SHARE * size, _NOTHING[unit])
        others = tuple(_take(ds, measure) for ds in refined)
        out.append(Moved(name, unit, value, others, allowed, False))
    return out


def _travelled(data: xr.Dataset) -> float:
    """Net displacement of the base [m]."""
    path = data["position_base"].transpose("time", "axis").values
    return float(math.dist(path[0], path[-1]))


def _take(ds: xr.Dataset | None, what: Measure) -> float | None:
    from marsyard.results.checks import measure

    return None if ds is None else measure(ds, what)[0]


def _heads(found: Convergence) -> tuple[str, ...]:
    return ("number", "value", *found.halved, "moves by")


def _cells(moved: Moved) -> tuple[str, ...]:
    unit = f" {moved.unit}" if moved.unit not in ("", "1") else ""
    changes = (f"{'+' if c and c > 0 else ''}{number(c, 2)}" for c in moved.changes)
    far = f"{_share(moved)} of ± {number(moved.allowed, 3)}" if moved.checked else _relative(moved)
    return (
        moved.name, f"{number(moved.value)}{unit}", *changes,
        far if math.isfinite(moved.share) else "not computed",
    )  # fmt: skip


def _share(moved: Moved) -> str:
    """`moved` by what is allowed."""
    return f"{100 * moved.share:.2g} %" if moved.share < 0.995 else f"{moved.share:.2g} times"


def _relative(moved: Moved) -> str:
    """`moved` by the size that 5 % were taken of."""
    return f"{number(100 * HEADLINE_SHARE * moved.share, 2)} %"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
