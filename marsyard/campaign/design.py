"""The points of a study: which values are run together.

| kind | points |
| --- | --- |
| grid | every combination of the values, the last parameter fastest |
| list | first values together, second values together, … |
| latin_hypercube | n points, one in each of n equal strata of every parameter (McKay 1979) |
| sobol | the first n of Sobol's sequence, scrambled (Owen); best for n a power of 2 |
| monte_carlo | n independent points |
| saltelli | n (d + 2) points, or n (2 d + 2) with pairs, for Sobol indices (Saltelli 2010; SALib) |

Drawn points are shares between 0 and 1 of each parameter, independent of one another, made into
values by the inverse of its distribution; those of numbers of a soil that scatter together are
correlated first (`ground.soil_covariance.correlated`). The same seed gives the same points, bit for
bit; of sobol and monte_carlo the first ones stay when n grows.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marsyard.campaign.parameters import Levels, Parameter, Picked
from marsyard.campaign.study_file import Design
from marsyard.errors import InputError
from marsyard.ground.soil_covariance import correlated
from marsyard.operations.distributions import Joint

#: most points; more would fill the memory before the first run
MOST = 1_000_000


@dataclass(frozen=True)
class Points:
    """The points of a study in their order, a value of every parameter each.

    `shape` is that of a grid, None otherwise.
    """

    parameters: tuple[Parameter, ...]
    picked: tuple[tuple[Picked, ...], ...]
    shape: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.picked)

    def settings(self, point: int) -> dict[str, Any]:
        """What a point sets in the scenario."""
        return {k: v for p in self.picked[point] for k, v in p.settings.items()}

    def shown(self, parameter: int) -> list[float | str]:
        """The values of one parameter at all points."""
        return [row[parameter].shown for row in self.picked]

    def words(self, point: int) -> str:
        """'friction = 0.4, slope = 5°'."""
        from marsyard.drawing.page import quantity

        said = []
        for parameter, picked in zip(self.parameters, self.picked[point], strict=True):
            value = picked.shown
            if not isinstance(value, str):
                value = quantity(value, "°" if parameter.unit == "deg" else parameter.unit, 4)
            said.append(f"{parameter.label} = {value}")
        return ", ".join(said)


def make_points(
    design: Design, parameters: Sequence[Parameter], seed: int, joints: Sequence[Joint] = ()
) -> Points:
    """The points of a design; parameters at the paths of `joints` are drawn together."""
    if design.kind in ("grid", "list"):
        levels = [p for p in parameters if isinstance(p, Levels)]
        return _grid(levels) if design.kind == "grid" else _listed(levels)
    count = design.n or 0
    if design.kind == "saltelli":
        count *= block_points(len(parameters), design.second_order)
    if count > MOST:
        raise InputError(f"design.n = {design.n}: makes {count} points; at most {MOST} are allowed")
    shares = np.clip(_shares(design, len(parameters), seed), 1e-12, 1 - 1e-12)
    first = [p.paths[0] for p in parameters]
    for joint in joints:
        columns = [first.index(path) for path in joint.paths]
        shares[:, columns] = correlated(shares[:, columns], joint.correlation)
    picked = tuple(
        tuple(p.pick(float(share)) for p, share in zip(parameters, row, strict=True))
        for row in shares
    )
    return Points(tuple(parameters), picked)


def block_points(d: int, second_order: bool) -> int:
    """Points in a block of a Saltelli design of d parameters."""
    return 2 * d + 2 if second_order else d + 2


def _grid(levels: Sequence[Levels]) -> Points:
    shape = tuple(len(p) for p in levels)
    if np.prod([float(n) for n in shape]) > MOST:
        raise InputError(f"design: the grid has more than {MOST} points; give fewer values")
    picked = itertools.product(*([p.level(k) for k in range(len(p))] for p in levels))
    return Points(tuple(levels), tuple(picked), shape)


def _listed(levels: Sequence[Levels]) -> Points:
    lengths = {p.name: len(p) for p in levels}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise InputError(f"vary: a list needs as many values of each parameter: {said}")
    rows = range(len(levels[0]))
    return Points(tuple(levels), tuple(tuple(p.level(k) for p in levels) for k in rows))


def _shares(design: Design, d: int, seed: int) -> np.ndarray:
    """Points in the unit cube, [n, d]."""
    from scipy.stats import qmc

    n = design.n
    assert n is not None
    generator = np.random.default_rng(seed)
    if design.kind == "latin_hypercube":
        return qmc.LatinHypercube(d, rng=generator).random(n)
    if design.kind == "monte_carlo":
        return generator.random((n, d))
    with warnings.catch_warnings():
        # that n should be a power of 2 is said in the documentation
        warnings.simplefilter("ignore")
        if design.kind == "sobol":
            return qmc.Sobol(d, rng=generator).random(n)
        salib = need_salib()
        problem = unit_problem([f"x{k}" for k in range(d)])
        return salib.sample.sobol.sample(
            problem, n, calc_second_order=design.second_order, seed=seed
        )


def unit_problem(names: Sequence[str]) -> dict[str, Any]:
    """What SALib wants to know of parameters that are shares between 0 and 1."""
    return {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}


def need_salib() -> Any:
    """SALib, or an InputError that says where it comes from."""
    try:
        import SALib
        import SALib.analyze.sobol
        import SALib.sample.sobol
    except ImportError:
        raise InputError(
            "Sobol indices need SALib; install it with: pip install 'marsyard[campaign]'"
        ) from None
    return SALib
