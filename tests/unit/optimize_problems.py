"""Problems with known fronts, evaluated in closed form where a simulation would stand."""

from __future__ import annotations

from dataclasses import dataclass

from marsyard.campaign.files import made
from marsyard.campaign.member import Plan
from marsyard.campaign.optimize.problem import Cases, Problem
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.optimize.variables import Variable
from marsyard.study.task import Outcome


@dataclass(frozen=True)
class Formula(Plan):
    """The problem of Binh and Korn (1997), or the sphere; `name` says which."""

    def evaluate(self, settings, tell=None):
        x, y = (float(settings[k]) for k in ("x", "y"))
        if self.name == "fails" and x > 2:
            return Outcome((None,) * 4, ("",) * 4, ("x",) * 4, "diverged at 1 s", 0, 0, 0, 0, ())
        numbers = (
            4 * x**2 + 4 * y**2,
            (x - 5) ** 2 + (y - 5) ** 2,
            (x - 5) ** 2 + y**2,
            (x - 8) ** 2 + (y + 3) ** 2,
        )
        return Outcome(numbers, ("J", "m", "", ""), ("",) * 4, None, 0, 10, 1.0, 0.01, ())


def study(**changes):
    outputs = [{"name": n, "of": "time"} for n in ("first", "second", "near", "far")]
    data = {
        "scenario": "rt0448/test-1",
        "vary": {"x": {"low": 0, "high": 5}, "y": {"low": 0, "high": 3}},
        "outputs": outputs,
        "objectives": [{"minimise": "first"}, {"minimise": "second"}],
        "constraints": [{"output": "near", "at_most": 25}, {"output": "far", "at_least": 7.7}],
        "optimiser": {"population": 20, "evaluations": 300},
        "seed": 4,
    }
    return made(OptimizeFile, {**data, **changes}, "study")


def problem(name="bnh", **changes):
    given = study(**changes)
    plan = Formula(name, {}, given.outputs)
    variables = (
        Variable("x", "x", "x", "", ("x",), 0.0, 5.0),
        Variable("y", "y", "y", "", ("y",), 0.0, 3.0),
    )
    cases = Cases(name, {}, (), None, {"run": plan})
    return Problem(name, given, cases, variables, {"run": {}}, {}, "none")
