"""A prepared optimisation: cases opened and checked, candidates as settings of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from marsyard.campaign.base import Base, refuse_set_and_varied, replica_seed
from marsyard.campaign.files import data_of, refuse_twice
from marsyard.campaign.member import Plan, digest
from marsyard.campaign.optimize.study_file import Case, OptimizeFile
from marsyard.campaign.optimize.variables import Variable, make_variables, starts
from marsyard.campaign.trial import begin, check_outputs, model_digest
from marsyard.drawing.page import quantity
from marsyard.errors import InputError
from marsyard.scenario.short_names import full_path
from marsyard.single_run import Say
from marsyard.study.task import Outcome

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Cases(Plan):
    """What all runs share: a plan for each case. Settings of a run say of which case it is."""

    cases: Mapping[str, Plan] = field(default_factory=dict)

    def evaluate(
        self, settings: Mapping[str, Any], tell: Callable[[float], Any] | None = None
    ) -> Outcome:
        return self.cases[settings["case"]].evaluate(settings["set"], tell)


@dataclass(frozen=True)
class Member:
    """One run of a candidate: its case and replica, what it sets, and a fingerprint of all."""

    case: str
    replica: int
    settings: Mapping[str, Any]
    key: str


@dataclass(frozen=True)
class Problem:
    """A study whose candidates can be run.

    Attributes:
        name: of the study. plan: what runs share. variables: that are sought. seeds: by case, paths
            of what is drawn anew in each replica. model: fingerprint of the robots' models.
    """

    name: str
    study: OptimizeFile
    plan: Plan
    variables: tuple[Variable, ...]
    bases: Mapping[str, Mapping[str, Any]]
    seeds: Mapping[str, tuple[str, ...]]
    model: str

    @property
    def runs(self) -> int:
        """Runs of a candidate."""
        return len(self.study.all_cases) * self.study.replicas

    def settings(self, values: Values) -> dict[str, Any]:
        """What a candidate sets in the scenarios."""
        return {k: v for x in self.variables for k, v in x.settings(values[x.key]).items()}

    def members(self, values: Values) -> list[Member]:
        """The runs of a candidate."""
        common = self.settings(values)
        found = []
        for case in self.study.all_cases:
            for replica in range(self.study.replicas):
                # all candidates meet the same replicas, so that they can be compared
                seeds = {
                    path: replica_seed(self.study.seed, None, replica, path)
                    for path in self.seeds.get(case, ())
                }
                settings = {"case": case, "set": {**common, **seeds}}
                found.append(Member(case, replica, settings, digest(settings)))
        return found

    def words(self, values: Values) -> str:
        """'wheel radius = 10 cm, mass = 8 kg'."""
        said = []
        for variable in self.variables:
            value = values[variable.key]
            text = variable.text(value)
            if not variable.choices:
                text = quantity(value, "°" if variable.unit == "deg" else variable.unit, 4)
            said.append(f"{variable.label} = {text}")
        return ", ".join(said)


def make_problem(study: OptimizeFile, name: str, folder: Path, say: Say) -> Problem:
    """Check a study and make it ready; `folder` is where its paths count from."""
    try:
        paths = {key: tuple(given.path) or (key,) for key, given in study.vary.items()}
        data = {case: data_of(given.scenario, folder) for case, given in study.all_cases.items()}
        whole = _whole_paths(paths, data)
        outputs = [o.name for c in study.all_cases.values() for o in c.outputs]
        names = [*outputs, *(r.name for r in study.ratios)]
        variables = make_variables(study, whole, names)
        starts(study, variables)
        bases = {
            case: _base(case, given, data[case], variables, study)
            for case, given in study.all_cases.items()
        }
        seeds = _seeds(study, bases, variables)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    plans = {
        case: Plan(given.scenario, bases[case].data, given.outputs, study.time_limit)
        for case, given in study.all_cases.items()
    }
    problem = Problem(
        name, study, Cases(name, {}, (), study.time_limit, plans), tuple(variables),
        {case: base.data for case, base in bases.items()}, seeds, "",
    )  # fmt: skip
    return replace(problem, model=digest([_try(problem, case, say) for case in plans]))


def _whole_paths(
    paths: Mapping[str, Sequence[str]], data: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """The whole paths that each variable drives, the same in all cases."""
    found: dict[str, tuple[str, ...]] = {}
    for key, given in paths.items():
        for case in data.values():
            try:
                found[key] = tuple(full_path(p, case) for p in given)
            except InputError as error:
                raise InputError(f"vary.{key}: {error}") from None
    refuse_twice(found)
    return found


def _base(
    name: str, case: Case, data: Mapping[str, Any], variables: Sequence[Variable],
    study: OptimizeFile,
) -> Base:  # fmt: skip
    """The opened scenario of a case; bounds that it cannot take at all are refused."""
    where = f"cases.{name}: " if study.cases else ""
    fixed = {full_path(path, data): value for path, value in case.set.items()}
    refuse_set_and_varied(fixed, {v.key: v.paths for v in variables})
    base = Base(case.scenario, data, fixed, [p for v in variables for p in v.paths])
    for variable in variables:
        for value in variable.trials():
            try:
                base.check(variable.settings(value), "")
            except InputError as error:
                text = str(error).removeprefix(": ")
                raise InputError(f"{where}vary.{variable.key}: {text}") from None
    return base


def _seeds(
    study: OptimizeFile, bases: Mapping[str, Base], variables: Sequence[Variable]
) -> dict[str, tuple[str, ...]]:
    if study.replicas == 1:
        return {}
    driven = [p for v in variables for p in v.paths]
    seeds = {case: base.seeds(driven) for case, base in bases.items()}
    if not any(seeds.values()):
        raise InputError(
            f"replicas = {study.replicas}: no scenario has a seed, so that all replicas would be "
            "the same; leave it out"
        )
    return seeds


def _try(problem: Problem, case: str, say: Say) -> str:
    """Try a run of a case as its scenario is; the fingerprint of its model."""
    given = problem.study.all_cases[case]
    where = f"{problem.name}: " + (f"cases.{case}: " if problem.study.cases else "")
    try:
        simulation, ds = begin(given.scenario, problem.bases[case], {}, say)
    except InputError as error:
        raise InputError(f"{where}the scenario cannot begin as it is: {error}") from None
    check_outputs(ds, given.outputs, where)
    return model_digest(simulation)
