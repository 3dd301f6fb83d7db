"""The study file of `marsyard sweep`: a scenario, its varied parameters, the design and the
outputs.

    scenario: eldorado2/rough
    set: {run.duration: 20 s}
    design: {kind: sobol, n: 256}
    vary:
      interaction.friction: uniform(0.3, 0.8)
      slope: {path: ground.0.slope, values: [0 deg, 5 deg, 10 deg]}
    outputs:
      - {name: distance, of: position_base.x, unit: m}
    success: [{output: distance, at_least: 2}]
    replicas: 2
    seed: 1

Paths are those of `--set`; a short name stands for a path where it is unambiguous (friction).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from marsyard.campaign.files import Paths, Seed, TimeLimit
from marsyard.errors import suggest
from marsyard.fields import Part
from marsyard.scenario.study_schema import Limit, Output, Range, Value

Kind = Literal["grid", "list", "latin_hypercube", "sobol", "monte_carlo", "saltelli"]
#: designs that draw points, and so take distributions and a number of points
DRAWN = ("latin_hypercube", "sobol", "monte_carlo", "saltelli")
#: designs whose first points stay the same when there are more of them
GROWING = ("sobol", "monte_carlo")


def _design(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


def _varied(value: Any) -> Any:
    """The short forms: a distribution, a list of values, or start, stop and count."""
    if isinstance(value, str):
        return {"distribution": value}
    if isinstance(value, list | tuple):
        return {"values": value}
    if isinstance(value, Mapping) and {"start", "stop"} & set(value):
        return {"range": value}
    return value


class Design(Part):
    """How the points of a study are chosen."""

    kind: Kind = Field(
        description="grid: every combination of the values; list: all first values together, then "
        "all second values; latin_hypercube, sobol (a low-discrepancy sequence) and "
        "monte_carlo draw points from the distributions; saltelli: the sample "
        "required for Sobol indices"
    )
    n: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None,
        description="number of points; for saltelli the size of the base sample, a power of 2: n "
        "(d + 2) points for d parameters",
    )
    second_order: bool = Field(
        False, description="for saltelli: second-order indices as well, with n (2 d + 2) points"
    )

    @model_validator(mode="after")
    def _complete(self) -> Design:
        if self.kind in DRAWN and self.n is None:
            raise ValueError(f"{self.kind} needs 'n', the number of points")
        if self.kind not in DRAWN and self.n is not None:
            raise ValueError(f"a {self.kind} has as many points as its values define; remove 'n'")
        if self.kind == "saltelli" and self.n and self.n & (self.n - 1):
            raise ValueError(f"n = {self.n}: saltelli needs a power of 2, e.g. 256")
        if self.second_order and self.kind != "saltelli":
            raise ValueError(f"second_order belongs to saltelli, not to {self.kind}")
        return self


class Varied(Part):
    """A parameter of a study: one path of the scenario or several, and its values."""

    path: Paths = Field(
        (), description="path in the scenario, or a list of paths that all get the same value; "
                        "default: the name of the parameter"
    )  # fmt: skip
    values: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(
        None, description="numbers, texts with a unit ('5 deg') or plain texts"
    )
    range: Range | None = Field(None, description="instead of values: start, stop and count")
    distribution: str | None = Field(
        None,
        description="instead of values, for random designs: uniform(0.3, 0.8), …; covariance, at "
        "the path of a soil, draws its numbers jointly, as defined in its file",
    )
    together: dict[str, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(
        {}, description="instead of path and values: several paths, each with its own values"
    )
    label: str = Field("", description="label in figures")

    @model_validator(mode="after")
    def _complete(self) -> Varied:
        forms = ("values", "range", "distribution", "together")
        given = [f for f in forms if getattr(self, f)]
        if len(given) != 1:
            had = f", not {' and '.join(given)}" if given else ""
            raise ValueError(f"give one of {', '.join(forms)}{had}")
        if self.together and self.path:
            raise ValueError("'together' contains the paths; remove 'path'")
        lengths = {p: len(v) for p, v in self.together.items()}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{p} {n}" for p, n in lengths.items())
            raise ValueError(f"paths varied together need the same number of values: {said}")
        return self


class StudyFile(Part):
    """A study: what `marsyard sweep` runs."""

    title: str = Field("", description="one line")
    description: str = Field("", description="purpose")
    scenario: str = Field(description="a scenario of the library, or its file")
    set: dict[str, Any] = Field({}, description="values changed in every run, as with --set")
    design: Annotated[Design, BeforeValidator(_design)] = Field(
        Design(kind="grid"),
        description="how points are chosen, by default a grid; a plain text is its kind",
    )
    vary: Annotated[dict[str, Annotated[Varied, BeforeValidator(_varied)]], Field(min_length=1)] = (
        Field(
            description="parameters by path or name: a distribution, a list of values, start, stop "
            "and count, or a mapping"
        )
    )
    outputs: Annotated[tuple[Output, ...], Field(min_length=1)] = Field(
        description="outputs of each run"
    )
    success: tuple[Limit, ...] = Field(
        (), description="a run succeeds if all are met; gives probabilities and maps of success"
    )
    replicas: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1, description="runs at each point, each with its own seeds"
    )
    replica_seeds: Literal["own", "shared"] = Field(
        "own",
        description="own: every run draws its own ground; shared: all points use the same ground",
    )
    time_limit: TimeLimit = None
    seed: Seed = 0

    @model_validator(mode="after")
    def _names(self) -> StudyFile:
        names = [o.name for o in self.outputs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"outputs: two are called '{name}'; names must differ")
        for k, limit in enumerate(self.success):
            if limit.output not in names:
                raise ValueError(
                    f"success.{k}.output: no output is called '{limit.output}'; "
                    f"{suggest(limit.output, names)}"
                )
        for name, varied in self.vary.items():
            if varied.distribution and self.design.kind not in DRAWN:
                raise ValueError(
                    f"vary.{name}: a {self.design.kind} takes values (a list, or start, stop and "
                    "count); a distribution needs a random design, e.g. latin_hypercube"
                )
        return self
