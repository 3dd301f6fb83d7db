"""The study file of `marsyard optimize`: design variables, objectives and limits.

    scenario: rashid/obstacle
    set: {run.duration: 20 s}
    vary:
      robot.design.wheel_radius: [8 cm, 13 cm]
      robot.design.mass: {low: 8 kg, high: 14 kg}
    outputs:
      - {name: energy, of: energy_motors}
      - {name: distance, of: position_base.x}
      - {name: tilt, of: pitch, take: max_abs, unit: deg}
    ratios: [{name: energy per metre, of: energy, by: distance}]
    objectives: [{minimise: energy per metre}, {maximise: distance}]
    constraints: [{output: tilt, at_most: 20}]
    optimiser: {kind: nsga2, population: 24, evaluations: 240}
    seed: 1

Instead of `scenario`, `set` and `outputs` several `cases` may be given, each with its own: a
candidate is then run in all of them. Paths are those of `--set`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from marsyard.campaign.files import Paths, Seed, TimeLimit
from marsyard.errors import suggest
from marsyard.fields import Part
from marsyard.scenario.study_schema import Limit, Output, Value

Over = Literal["mean", "worst"]


def _bounds(value: Any) -> Any:
    """The short form of a variable: its two bounds."""
    if not isinstance(value, list | tuple):
        return value
    if len(value) != 2:
        raise ValueError(f"{value!r} holds {len(value)}; give two bounds, [low, high], or 'choice'")
    return {"low": value[0], "high": value[1]}


class VariableFile(Part):
    """What an optimiser may change: a path of the scenario, or several, between two bounds."""

    path: Paths = Field(
        (), description="path in the scenario, or a list of paths that all get the same value; "
                        "default: the name of the variable"
    )  # fmt: skip
    low: Value | None = Field(
        None, description="smallest value, as a number or with a unit ('8 cm')"
    )
    high: Value | None = Field(None, description="largest value")
    choice: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(
        None, description="instead of bounds: texts or numbers to choose from"
    )
    integer: bool = Field(False, description="whole numbers only")
    log: bool = Field(
        False, description="search on a logarithmic scale, for values over several decades"
    )
    label: str = Field("", description="label in figures")

    @model_validator(mode="after")
    def _complete(self) -> VariableFile:
        bounds = [b for b in (self.low, self.high) if b is not None]
        if self.choice is not None and bounds:
            raise ValueError("give either bounds (low and high) or 'choice', not both")
        if self.choice is None and len(bounds) != 2:
            raise ValueError("give two bounds, [low, high], or 'choice'")
        if self.choice is not None and (self.integer or self.log):
            raise ValueError("'integer' and 'log' belong to bounds, not to 'choice'")
        if self.choice is not None and len(set(map(str, self.choice))) < len(self.choice):
            raise ValueError("choice: a value appears twice; values must differ")
        return self


class Ratio(Part):
    """One output by another, of the same candidate: energy by distance."""

    name: str = Field(description="its name in objectives, limits and tables")
    of: str = Field(description="numerator: name of an output")
    by: str = Field(description="denominator: name of an output")
    unit: str = Field("", description="unit shown with it, e.g. J/m; values are not converted")


class Objective(Part):
    """An output that is to be as small, or as large, as possible."""

    minimise: str | None = Field(None, description="name of an output or ratio")
    maximise: str | None = Field(None, description="likewise; exactly one of the two")
    over: Over = Field("mean", description="over several replicas: mean or worst")

    @model_validator(mode="after")
    def _one(self) -> Objective:
        if (self.minimise is None) == (self.maximise is None):
            raise ValueError("give either 'minimise' or 'maximise', exactly one of the two")
        return self

    @property
    def output(self) -> str:
        """Name of the output."""
        return str(self.minimise if self.maximise is None else self.maximise)

    @property
    def sign(self) -> float:
        """What the output is multiplied by so that less is better."""
        return 1.0 if self.maximise is None else -1.0


class Constraint(Limit):
    """What an output or ratio must keep to for a candidate to be feasible."""

    over: Over = Field("worst", description="over several replicas: mean or worst")


class Case(Part):
    """A scenario in which every candidate is run, and what is taken of it."""

    scenario: str = Field(description="a scenario of the library, or its file")
    set: dict[str, Any] = Field({}, description="values changed in every run, as with --set")
    outputs: Annotated[tuple[Output, ...], Field(min_length=1)] = Field(
        description="outputs of each run"
    )


class Optimiser(Part):
    """How candidates are sought."""

    kind: Literal["nsga2", "nsga3", "tpe", "random"] = Field(
        "nsga2",
        description="nsga2, nsga3: genetic, for several objectives (nsga3 for four or more); tpe: "
        "a statistical model, for few, expensive runs; random: as a baseline",
    )
    population: Annotated[int, Field(ge=2, le=1_000)] = Field(
        24, description="candidates per generation, run together"
    )
    evaluations: Annotated[int, Field(ge=1, le=10_000)] = Field(
        240, description="total number of candidates; may be increased with --resume"
    )


class OptimizeFile(Part):
    """A study of `marsyard optimize`."""

    title: str = Field("", description="one line")
    description: str = Field("", description="purpose")
    scenario: str | None = Field(None, description="a scenario of the library, or its file")
    set: dict[str, Any] = Field({}, description="values changed in every run, as with --set")
    outputs: tuple[Output, ...] = Field((), description="outputs of each run")
    cases: dict[str, Case] = Field(
        {},
        description="instead of scenario, set and outputs: several named scenarios, all of "
        "which are run",
    )
    vary: Annotated[
        dict[str, Annotated[VariableFile, BeforeValidator(_bounds)]], Field(min_length=1)
    ] = Field(description="design variables by path or name: [low, high] or a mapping")
    start: tuple[dict[str, Value], ...] = Field(
        (), description="initial candidates, values by name as in vary; missing values are drawn "
                        "at random"
    )  # fmt: skip
    ratios: tuple[Ratio, ...] = Field(
        (), description="ratios of outputs, e.g. energy over distance"
    )
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)] = Field(
        description="outputs to minimise or maximise"
    )
    constraints: tuple[Constraint, ...] = Field((), description="constraints on candidates")
    replicas: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1, description="runs of each candidate with different seeds, the same for all candidates"
    )
    optimiser: Optimiser = Optimiser()
    time_limit: TimeLimit = None
    seed: Seed = 0

    @model_validator(mode="after")
    def _complete(self) -> OptimizeFile:
        alone = [k for k in ("scenario", "outputs", "set") if getattr(self, k)]
        if self.cases and alone:
            raise ValueError(f"'cases' have their own {alone[0]}; remove one of them")
        if not self.cases and (self.scenario is None or not self.outputs):
            lacking = "scenario" if self.scenario is None else "outputs"
            raise ValueError(f"'{lacking}' is missing; give scenario and outputs, or 'cases'")
        self._check_names()
        for k, given in enumerate(self.start):
            for name in given:
                if name not in self.vary:
                    raise ValueError(
                        f"start.{k}: '{name}' is not varied; {suggest(name, list(self.vary))}"
                    )
        return self

    def _check_names(self) -> None:
        outputs = [o.name for case in self.all_cases.values() for o in case.outputs]
        names = [*outputs, *(r.name for r in self.ratios)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"outputs: two are called '{name}'; names must differ")
        used = [
            (f"ratios.{k}", n, outputs) for k, r in enumerate(self.ratios) for n in (r.of, r.by)
        ]
        used += [(f"objectives.{k}", o.output, names) for k, o in enumerate(self.objectives)]
        used += [(f"constraints.{k}", c.output, names) for k, c in enumerate(self.constraints)]
        for place, name, known in used:
            if name not in known:
                raise ValueError(f"{place}: no output is called '{name}'; {suggest(name, known)}")
        sought = [o.output for o in self.objectives]
        for name in sought:
            if sought.count(name) > 1:
                raise ValueError(f"objectives: '{name}' appears twice; remove one of them")

    @property
    def all_cases(self) -> dict[str, Case]:
        """The cases by name; a single one is called 'run'."""
        if self.cases:
            return self.cases
        assert self.scenario is not None
        return {"run": Case(scenario=self.scenario, set=self.set, outputs=self.outputs)}

    def with_settings(self, settings: Mapping[str, Any]) -> OptimizeFile:
        """With values laid on `set`, of all cases."""
        if not settings:
            return self
        if not self.cases:
            return self.model_copy(update={"set": {**self.set, **settings}})
        cases = {
            name: case.model_copy(update={"set": {**case.set, **settings}})
            for name, case in self.cases.items()
        }
        return self.model_copy(update={"cases": cases})
