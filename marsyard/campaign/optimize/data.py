"""The results of an optimisation as one labelled data set, and as a table.

Dimension `candidate`, with the variables as coordinates along it. Variables: outputs and ratios
(over `replica` too where there are several); `objective` [candidate, sought] in the outputs' own
units; `violation` [candidate, limit], kept where not above 0; `feasible`; `rank` (1: nobody
dominates it; 0: not feasible); `generation`; `hypervolume` (of all candidates up to this one);
`completed`, `reason`, `unconverged`. Nothing in it depends on the machine or the workers.

The hypervolume's reference point is the worst value of each objective among all feasible
candidates, and each objective counts by its range among them, so that it is a share between 0 and
1: of the box between the best and the worst values.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.campaign.data import column_head
from marsyard.campaign.optimize.pareto import hypervolume, ranks
from marsyard.campaign.optimize.problem import Problem
from marsyard.errors import InputError
from marsyard.results.dataset import load_file
from marsyard.results.study_checks import variable_name

if TYPE_CHECKING:
    from marsyard.campaign.optimize.running import Candidate, Optimized

FILE_NAME = "optimize.nc"


def dataset(problem: Problem, candidates: Sequence[Candidate]) -> xr.Dataset:
    """All candidates, labelled."""
    study = problem.study
    scores = [c.score for c in candidates]
    feasible = np.array([s.feasible for s in scores])
    signs = np.array([o.sign for o in study.objectives])
    objectives = np.array([s.objectives for s in scores], dtype=float)
    rank = np.zeros(len(scores), dtype=np.int64)
    if feasible.any():
        rank[feasible] = ranks(objectives[feasible] * signs)
    variables: dict[str, Any] = _numbers(problem, candidates)
    variables["objective"] = (
        ("candidate", "sought"), objectives, {"long_name": "objective"},
    )  # fmt: skip
    if study.constraints:
        missed = np.array([s.violations for s in scores], dtype=float)
        words = {"long_name": "relative violation of a limit", "units": "1"}
        variables["violation"] = (("candidate", "limit"), missed, words)
    one = {
        "feasible": (feasible.astype(np.int8), "satisfies all limits"),
        "rank": (rank, "Pareto rank, 1 is best, 0 not feasible"),
        "generation": (np.array([c.generation for c in candidates]), "generation"),
        "completed": (np.array([s.complete for s in scores], np.int8), "all runs yielded numbers"),
        "unconverged": (
            np.array([sum(o.unconverged for o in c.outcomes.values()) for c in candidates]),
            "steps not converged",
        ),
    }
    variables |= {n: ("candidate", values, {"long_name": w}) for n, (values, w) in one.items()}
    grown = {"long_name": "hypervolume", "units": "1"}
    variables["hypervolume"] = ("candidate", history(objectives * signs, feasible), grown)
    reasons = np.array([s.reason for s in scores], dtype=object)
    variables["reason"] = ("candidate", reasons, {"long_name": "reason for infeasibility"})
    about = {
        "title": study.title, "study": problem.name, "optimiser": study.optimiser.kind,
        "seed": study.seed, "variables": ",".join(v.name for v in problem.variables),
    }  # fmt: skip
    return xr.Dataset(variables, _coordinates(problem, candidates), about)


def units_of(problem: Problem, candidates: Sequence[Candidate]) -> dict[str, str]:
    """Units of outputs and ratios by name."""
    units: dict[str, str] = {}
    for case, given in problem.study.all_cases.items():
        for k, output in enumerate(given.outputs):
            found = (
                c.outcomes[case, 0].units[k]
                for c in candidates
                if k < len(c.outcomes[case, 0].units) and c.outcomes[case, 0].units[k]
            )
            units[output.name] = next(found, output.unit)
    for ratio in problem.study.ratios:
        above, below = (units[n] for n in (ratio.of, ratio.by))
        plain = above if below in ("", "1") else f"{above or 1}/{below}"
        units[ratio.name] = ratio.unit or ("" if above == below else plain)
    return units


def _numbers(problem: Problem, candidates: Sequence[Candidate]) -> dict[str, Any]:
    several = problem.study.replicas > 1
    dims = ("candidate", "replica") if several else ("candidate",)
    found = {}
    for name, unit in units_of(problem, candidates).items():
        values = np.array([c.score.numbers[name] for c in candidates], dtype=float)
        values = values if several else values[:, 0]
        found[variable_name(name)] = (dims, values, {"long_name": name, "units": unit or "1"})
    return found


def _coordinates(problem: Problem, candidates: Sequence[Candidate]) -> dict[str, Any]:
    study = problem.study
    coords: dict[str, Any] = {"candidate": ("candidate", np.arange(len(candidates)))}
    for variable in problem.variables:
        values = np.empty(len(candidates), object if variable.words else float)
        values[:] = [
            str(c.values[variable.key]) if variable.words else c.values[variable.key]
            for c in candidates
        ]
        attrs = {"long_name": variable.label, "path": ", ".join(variable.paths)}
        if not variable.words:
            attrs["units"] = variable.unit or "1"
        coords[variable.name] = ("candidate", values, attrs)
    names = np.array([o.output for o in study.objectives], dtype=object)
    coords["sought"] = ("sought", names)
    goals = ["minimise" if o.sign > 0 else "maximise" for o in study.objectives]
    coords["goal"] = ("sought", np.array(goals, dtype=object))
    if study.constraints:
        limits = np.array([c.output for c in study.constraints], dtype=object)
        coords["limit"] = ("limit", limits)
    if study.replicas > 1:
        coords["replica"] = ("replica", np.arange(study.replicas))
    return coords


def history(values: np.ndarray, feasible: np.ndarray) -> np.ndarray:
    """The hypervolume of the first 1, 2, … candidates, values [n, m] to be small; shape [n]."""
    grown = np.zeros(len(values))
    if not feasible.any():
        return grown
    good = values[feasible]
    low, high = good.min(axis=0), good.max(axis=0)
    reach = np.where(high > low, high - low, 1.0)
    # a value that all share takes no part
    scaled = np.where(high > low, (values - low) / reach, 0.0)
    front = np.empty((0, values.shape[1]))
    volume = 0.0
    for k, point in enumerate(scaled):
        if feasible[k] and not (front <= point).all(axis=1).any():
            front = np.vstack([front[~(front >= point).all(axis=1)], point])
            volume = hypervolume(front, np.ones(values.shape[1]))
        grown[k] = volume
    return grown


def save_data(ds: xr.Dataset, folder: Path) -> Path:
    """Write the data set, atomically."""
    from marsyard.results import save

    save(ds, folder / FILE_NAME)
    return folder / FILE_NAME


def open_optimized(path: str | Path) -> xr.Dataset:
    """Read the results of an optimisation: its folder or its optimize.nc."""
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"'{path}' holds no {FILE_NAME}; give the folder of a finished study")
    return load_file(file)


def write_table(path: Path, found: Optimized) -> None:
    """A row per candidate: variables, outputs (means of replicas), rank, and why not."""
    from marsyard.files.replacing import replacing

    problem, candidates = found.problem, found.candidates
    units = units_of(problem, candidates)
    head = ["candidate", "generation", *(column_head(v.label, v.unit) for v in problem.variables)]
    head += [column_head(name, unit) for name, unit in units.items()]
    head += ["feasible", "rank", "reason"]
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for k, c in enumerate(candidates):
            row: list[Any] = [k, c.generation, *(c.values[v.key] for v in problem.variables)]
            means = [float(np.mean(c.score.numbers[name])) for name in units]
            row += ["" if np.isnan(m) else repr(m) for m in means]
            rank = int(found.data["rank"].values[k])
            row += ["yes" if c.score.feasible else "no", rank or "", c.score.reason]
            writer.writerow(row)
