"""Sensitivity: Sobol indices, and rank correlations for other designs.

Sobol indices (I. M. Sobol', Math. Comput. Simul. 55, 2001; A. Saltelli et al., Comput. Phys. Comm.
181, 2010) split the variance V of an output Y over independent parameters x_i:

    S_i  = V[E(Y | x_i)]/V              first order: what x_i does by itself
    S_Ti = E[V(Y | all but x_i)]/V      total: with all that it does together with others
    S_ij                                what two do together, beyond each alone

They need the design `saltelli`. SALib computes them, with half widths of their 95 % intervals by
resampling. Replicas of a point are averaged first. A run that failed has no number: its whole block
of d + 2 (or 2 d + 2) points is left out, and how many were is told (`blocks`).

Of other designs that draw, Spearman's rank correlation ρ of each output with each parameter says
how far one rises (1) or falls (−1) with the other, whatever the form of the curve.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from marsyard.campaign.design import block_points, need_salib, unit_problem
from marsyard.campaign.study_file import DRAWN, Design
from marsyard.results.study_checks import outputs_of

#: fewest blocks that indices are computed from
FEWEST = 8


def parameters_of(ds: xr.Dataset) -> list[str]:
    """Names of the parameters of a study's data set."""
    return [name for name in str(ds.attrs["parameters"]).split(",") if name]


def indices(ds: xr.Dataset, design: Design, seed: int) -> xr.Dataset:
    """What the data set says about which parameter matters; empty for grids and lists."""
    if design.kind == "saltelli":
        return _sobol(ds, design, seed)
    return _ranks(ds) if design.kind in DRAWN else xr.Dataset()


def sobol_indices(
    numbers: np.ndarray, d: int, second_order: bool, seed: int
) -> tuple[dict[str, np.ndarray], int]:
    """Sobol indices from the numbers at the points of a Saltelli design, in their order; and how
    many blocks they are from. NaN where too few are left, or where nothing varies."""
    blocks = numbers.reshape(-1, block_points(d, second_order))
    good = blocks[np.isfinite(blocks).all(axis=1)]
    shapes: dict[str, tuple[int, ...]] = {"S1": (d,), "S1_conf": (d,), "ST": (d,), "ST_conf": (d,)}
    if second_order:
        shapes |= {"S2": (d, d), "S2_conf": (d, d)}
    if len(good) < FEWEST or np.ptp(good) == 0:
        return {name: np.full(shape, np.nan) for name, shape in shapes.items()}, len(good)
    problem = unit_problem([f"x{k}" for k in range(d)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # SALib takes a seed of 0 for none; a list of it is a seed
        found = need_salib().analyze.sobol.analyze(
            problem, good.ravel(), calc_second_order=second_order, seed=[seed]
        )
    return {name: np.asarray(found[name], float) for name in shapes}, len(good)


def block_size(ds: xr.Dataset) -> int:
    """Points in a block of a Saltelli design, by the data set of a study."""
    return block_points(len(parameters_of(ds)), "sobol_second" in ds)


_WORDS = {
    "S1": ("sobol_first", "Sobol index, first order"),
    "ST": ("sobol_total", "Sobol index, total"),
    "S2": ("sobol_second", "Sobol index of pairs"),
}


def _sobol(ds: xr.Dataset, design: Design, seed: int) -> xr.Dataset:
    names, outputs = parameters_of(ds), list(outputs_of(ds))
    found: dict[str, list[np.ndarray]] = {}
    blocks = []
    for output in outputs:
        values = ds[output]
        if "replica" in values.dims:
            values = values.mean("replica", skipna=False)
        table, count = sobol_indices(values.values, len(names), design.second_order, seed)
        blocks.append(count)
        for key, array in table.items():
            found.setdefault(key, []).append(array)
    variables: dict[str, Any] = {
        "sobol_blocks": ("output", blocks, {"long_name": "blocks without a failure"})
    }
    for key, arrays in found.items():
        name, text = _WORDS[key.removesuffix("_conf")]
        dims = ["output", "parameter"] + (["with_parameter"] if key.startswith("S2") else [])
        if key.endswith("_conf"):
            name, text = f"{name}_conf", f"{text}, half width of its 95 % interval"
        variables[name] = (dims, np.array(arrays), {"units": "1", "long_name": text})
    coords = {"output": outputs, "parameter": names}
    if design.second_order:
        coords["with_parameter"] = names
    return xr.Dataset(variables, coords)


def _ranks(ds: xr.Dataset) -> xr.Dataset:
    from scipy.stats import rankdata

    names = [n for n in parameters_of(ds) if ds[n].dtype.kind in "fiu"]
    outputs = list(outputs_of(ds))
    table = np.full((len(outputs), len(names)), np.nan)
    for i, output in enumerate(outputs):
        for k, name in enumerate(names):
            x, y = column(ds, name), column(ds, output)
            good = np.isfinite(y)
            if good.sum() > 2 and np.ptp(x[good]) > 0 and np.ptp(y[good]) > 0:
                table[i, k] = np.corrcoef(rankdata(x[good]), rankdata(y[good]))[0, 1]
    attrs = {"units": "1", "long_name": "Spearman's rank correlation"}
    return xr.Dataset(
        {"rank_correlation": (("output", "parameter"), table, attrs)},
        {"output": outputs, "parameter": names},
    )


def column(ds: xr.Dataset, name: str) -> np.ndarray:
    """A parameter or an output with a value for every run, in the order of the members."""
    like = ds["completed"]
    return ds[name].broadcast_like(like).transpose(*like.dims).values.ravel()


def strongest(ds: xr.Dataset, of: np.ndarray, names: Sequence[str]) -> list[str]:
    """Parameters by how strongly a number of every run goes along with them, strongest first."""

    def strength(name: str) -> float:
        x = places(column(ds, name))
        good = np.isfinite(of)
        if good.sum() < 3 or np.ptp(x[good]) == 0 or np.ptp(of[good]) == 0:
            return 0.0
        return abs(float(np.corrcoef(x[good], of[good])[0, 1]))

    return sorted(names, key=strength, reverse=True)


def places(values: np.ndarray) -> np.ndarray:
    """Numbers as they are; words as their places in the order in which they first come."""
    if values.dtype.kind in "fiu":
        return values.astype(float)
    order = {word: k for k, word in enumerate(dict.fromkeys(values.tolist()))}
    return np.array([order[word] for word in values], float)
