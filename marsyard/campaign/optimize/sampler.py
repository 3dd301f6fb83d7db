"""The sampler: Optuna proposes candidates in generations of a fixed size.

Optuna (T. Akiba et al., KDD 2019) is used through its ask-and-tell interface. A whole generation is
asked for, run, and its scores are reported in the same order, so the proposals depend only on the
seed and the scores, not on the number of workers or their timing. Therefore no state of Optuna is
saved: an interrupted study is repeated from the beginning, proposes the same candidates, and uses
the saved scores.

nsga2 is as published: binary tournament by constrained domination, simulated binary crossover
(η = 20, of a single objective 2), polynomial mutation (η = 20) of each of d variables with
probability 1/d (K. Deb et al. 2002); words are swapped, and drawn anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from marsyard.campaign.optimize.scoring import FAILED, Score
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.optimize.variables import Variable, starts
from marsyard.errors import InputError


def need_optuna() -> Any:
    """Optuna, or an InputError that says where it comes from."""
    try:
        import optuna
    except ImportError:
        raise InputError(
            "optimize needs Optuna; install it with: pip install 'marsyard[campaign]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Asker:
    """Proposes candidates, values by key of the variable, and hears how good they were."""

    def __init__(self, study: OptimizeFile, variables: Sequence[Variable]) -> None:
        optuna = need_optuna()
        self._variables = variables
        self._study_file = study
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = _sampler(optuna, study, variables)
        self._study = optuna.create_study(
            sampler=sampler, directions=["minimize"] * len(study.objectives)
        )
        self._space = {v.key: _distribution(optuna, v) for v in variables}
        self._asked: list[Any] = []
        for values in starts(study, variables):
            self._study.enqueue_trial(values)

    def ask(self, n: int) -> list[dict[str, Any]]:
        """The next n candidates."""
        assert not self._asked
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._asked = [self._study.ask(self._space) for _ in range(n)]
        return [dict(trial.params) for trial in self._asked]

    def tell(self, scores: Sequence[Score]) -> None:
        """The scores of those that were asked for, in their order."""
        signs = [o.sign for o in self._study_file.objectives]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for trial, found in zip(self._asked, scores, strict=True):
                for name, value in _constraints(self._study_file, found).items():
                    trial.set_constraint(name, value)
                values = [0.0] * len(signs)
                if found.complete:
                    values = [s * x for s, x in zip(signs, found.objectives, strict=True)]
                self._study.tell(trial, values)
        self._asked = []


def _constraints(study: OptimizeFile, found: Score) -> dict[str, float]:
    """What Optuna hears of limits, and that all runs yielded numbers: kept where not above 0."""
    named = {f"{k} {c.output}": c for k, c in enumerate(study.constraints)}
    if not found.complete:
        return {**{name: 0.0 for name in named}, "numbers": FAILED}
    return {**dict(zip(named, found.violations, strict=True)), "numbers": 0.0}


def _sampler(optuna: Any, study: OptimizeFile, variables: Sequence[Variable]) -> Any:
    samplers = optuna.samplers
    asked = study.optimiser
    if asked.kind == "random":
        return samplers.RandomSampler(seed=study.seed)
    if asked.kind == "tpe":
        return samplers.TPESampler(
            seed=study.seed, multivariate=True, constant_liar=True,
            n_startup_trials=max(asked.population, 2 * len(variables)),
        )  # fmt: skip
    kind = samplers.NSGAIISampler if asked.kind == "nsga2" else samplers.NSGAIIISampler
    return kind(
        population_size=asked.population, seed=study.seed, crossover=samplers.nsgaii.SBXCrossover(),
        mutation=samplers.nsgaii.PolynomialMutation(),
    )  # fmt: skip


def _distribution(optuna: Any, variable: Variable) -> Any:
    if variable.choices:
        return optuna.distributions.CategoricalDistribution(variable.choices)
    if variable.integer:
        low, high = int(variable.low), int(variable.high)
        return optuna.distributions.IntDistribution(low, high, log=variable.log)
    return optuna.distributions.FloatDistribution(variable.low, variable.high, log=variable.log)
