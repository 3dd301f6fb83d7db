"""Mobility of a rover in a pose: controllable and uncontrollable motions, and singular poses.

With the model B q̇_a = D X, K X = 0 of `velocity`:

    degree of mobility of the paper   rank D (4 for the RobuRoc on a plane)
    allowed motions        F = {K X = 0}: no wheel leaves or enters the ground, or slips where it
                           holds
    uncontrolled motions   U = {D X = 0, K X = 0}: they need no turning of any drive, the ground
                           allows them (by sideways slip, passive joints or rolling of free wheels)
    controllable motions   F without U, dim F − dim U of them
    forbidden motions      6 − dim F of them: each has a constraint wrench that would do work
    surplus                rank J − (dim F − dim U): relations among the drives' rates that must
                           hold, or wheels slip

The paper counts rank D alone and calls {D X = 0} not controlled. On a plane its count of 4 takes in
v_z, which the middle pod's own wheels forbid (constraint wrench f_z), and its uncontrolled roll
about x_0 is forbidden as well (couple m_x of the same two wheels). The finer count is
3 controllable (forward, pitch of the platform about y, yaw), 1 uncontrolled (sideways), 2 forbidden
(up, roll).

Named motions. U and the controllable ones (the complement of U within F that is orthogonal to it
by |v|² + L² |ω|²) are given as reduced bases. Forbidden motions are named by the coordinates that
the constraint wrenches solve for: pivots of their echelon form, forces first.

Singular poses, of two kinds as in parallel mechanisms. The rank of D drops: the platform gains a
motion that the drives do not control. The rank of B drops: a drive loses its hold on the platform
(`idle`; for a pod of the RobuRoc C β C γ = 0 or C λ = 0). The ratio of the largest singular value
of D (rows as they are, with (f, m / L)) to the smallest that is not zero is the condition number.
Along a family of poses the smallest of the generic rank's singular values goes through zero; it is
searched on a grid and refined by Brent's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from marsyard.analysis.kinetostatics.contacts import Contacts, Lateral
from marsyard.analysis.kinetostatics.screw_description import motion_in_words, wrench_in_words
from marsyard.analysis.kinetostatics.screws import (
    rank,
    readable,
    scaled,
    span,
)
from marsyard.analysis.kinetostatics.velocity import VelocityModel, velocity_model
from marsyard.errors import InputError


@dataclass(frozen=True)
class Mobility:
    """Mobility in a pose, see the head of the module; bases of shape [n, 6] and their names.

    degree: rank of D. not_controlled: {D X = 0}, as the paper counts. singular_values of D, scaled.
    condition: number; smallest: singular value that is not zero. idle: drives without a row.
    """

    degree: int
    not_controlled: np.ndarray
    not_controlled_words: tuple[str, ...]
    allowed: np.ndarray
    controllable: np.ndarray
    controllable_words: tuple[str, ...]
    uncontrolled: np.ndarray
    uncontrolled_words: tuple[str, ...]
    forbidden: np.ndarray
    forbidden_words: tuple[str, ...]
    constraints: np.ndarray
    constraint_words: tuple[str, ...]
    surplus: int
    singular_values: np.ndarray
    condition: float
    smallest: float
    idle: tuple[str, ...]


def mobility_of(model: VelocityModel) -> Mobility:
    """The mobility of a robot in a pose."""
    L, K, small = model.length, model.constraints, model.tolerance
    controllable = _without(model.allowed, model.undetermined, model)
    blind = model.reciprocal(model.D)
    forbidden = np.zeros((len(K), 6))
    for row, wrench in zip(forbidden, K, strict=True):
        row[np.flatnonzero(wrench)[0]] = 1.0
    J = model.J / np.where(np.any(model.J, axis=0), np.linalg.norm(model.J, axis=0), 1.0)
    values = singular_values(model)
    kept = values[values > small * values.max(initial=0.0)]
    return Mobility(
        degree=rank(model.D, "wrench", L, small),
        not_controlled=blind,
        not_controlled_words=_motions(blind, model),
        allowed=model.allowed,
        controllable=controllable,
        controllable_words=_motions(controllable, model),
        uncontrolled=model.undetermined,
        uncontrolled_words=_motions(model.undetermined, model),
        forbidden=forbidden,
        forbidden_words=_motions(forbidden, model),
        constraints=K,
        constraint_words=tuple(wrench_in_words(w, L, small) for w in K),
        surplus=int(np.linalg.matrix_rank(J, tol=small) if J.size else 0) - len(controllable),
        singular_values=values,
        condition=float(kept[0] / kept[-1]) if len(kept) else float("inf"),
        smallest=float(kept[-1]) if len(kept) else 0.0,
        idle=tuple(c for c, b in zip(model.coordinates, model.B.T, strict=True) if not np.any(b)),
    )


#: the six plain motions, in the order of a twist
PLAIN = ("forward", "sideways", "up", "roll", "pitch", "yaw")


def motion_shares(model: VelocityModel) -> dict[str, tuple[float, float, float]]:
    """How much of each plain motion is allowed, controllable and uncontrolled, 0 to 1 each.

    The length of its projection on these sets of twists, by |v|² + L² |ω|². On rough ground nothing
    is exactly forward: 0.98 forward is a motion that is nearly so, with some roll, pitch and rise.
    """
    scale = np.repeat([1.0, model.length], 3)
    controllable = _without(model.allowed, model.undetermined, model)
    out = {}
    for k, name in enumerate(PLAIN):
        shares = []
        for system in (model.allowed, controllable, model.undetermined):
            rows = np.asarray(system, float).reshape(-1, 6) * scale
            basis = np.linalg.svd(rows, full_matrices=False)[2][: len(rows)]
            shares.append(float(np.linalg.norm(basis[:, k])) if len(rows) else 0.0)
        out[name] = (shares[0], shares[1], shares[2])
    return out


def singular_values(model: VelocityModel) -> np.ndarray:
    """Singular values of D with moments divided by L, largest first, shape [min(r, 6)]."""
    rows = scaled(model.D, "wrench", model.length)
    return np.linalg.svd(rows, compute_uv=False) if len(rows) else np.zeros(0)


@dataclass(frozen=True)
class Singular:
    """A pose of a family where a rank drops: its parameter, the rank there and elsewhere."""

    at: float
    rank: int
    generic: int
    smallest: float


def singular_poses(
    family: Callable[[float], Contacts],
    start: float,
    stop: float,
    *,
    of: Literal["D", "B"] = "D",
    lateral: Lateral = "slips",
    samples: int = 61,
    tolerance: float = 1e-6,
) -> list[Singular]:
    """Where the rank of D (or of B) drops along a one-parameter family, start ≤ t ≤ stop.

    tolerance: singular values below count as zero at the refined parameter.
    """
    from scipy.optimize import minimize_scalar

    if of not in ("D", "B"):
        raise InputError(f"of is '{of}' but must be 'D' or 'B'")
    if not stop > start or samples < 3:
        raise InputError("singular_poses needs start < stop and samples of 3 or more")

    @cache
    def values(t: float) -> np.ndarray:
        model = velocity_model(family(float(t)), lateral)
        if of == "D":
            found, most = singular_values(model), 6
        else:
            found, most = np.linalg.svd(model.B, compute_uv=False), len(model.coordinates)
        return np.concatenate([found, np.zeros(most - len(found))])

    grid = np.linspace(start, stop, samples)
    table = np.array([values(t) for t in grid])
    generic = int(np.max(np.sum(table > tolerance, axis=1)))
    if generic == 0:
        return []
    low = table[:, generic - 1]
    out: list[Singular] = []
    for k in range(samples):
        if low[k] > min(low[max(k - 1, 0)], low[min(k + 1, samples - 1)]):
            continue
        ends = grid[max(k - 1, 0)], grid[min(k + 1, samples - 1)]
        found = minimize_scalar(
            lambda t: values(t)[generic - 1],
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-10},
        )
        at = min((float(found.x), float(grid[k])), key=lambda t: values(t)[generic - 1])
        size = values(at)
        if size[generic - 1] <= tolerance and not any(
            abs(at - o.at) < 1e-6 * (stop - start) for o in out
        ):
            out.append(
                Singular(at, int(np.sum(size > tolerance)), generic, float(size[generic - 1]))
            )
    return out


def _without(system: np.ndarray, part: np.ndarray, model: VelocityModel) -> np.ndarray:
    """Reduced basis of the complement of a part within a system of twists."""
    if not len(part):
        return system
    length, small = model.length, model.tolerance
    basis = scaled(span(part, "twist", length, small), "twist", length)
    rows = scaled(span(system, "twist", length, small), "twist", length)
    _, _, right = np.linalg.svd(rows - rows @ basis.T @ basis)
    found = right[: len(rows) - len(basis)] / np.repeat([1.0, length], 3)
    return readable(found, "twist", length, small)


def _motions(twists: np.ndarray, model: VelocityModel) -> tuple[str, ...]:
    return tuple(motion_in_words(t, model.length, model.tolerance) for t in twists)
