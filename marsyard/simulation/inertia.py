"""The inertia matrix of a step: built, added to on its diagonal, factored and solved with.

Three ways, alike to rounding. Shallow trees, as rovers are, use MuJoCo's sparse M = LᵀDL; its cost
grows with Σ depth² over the degrees of freedom; for a chain of n bodies that is n³. Deep trees use
the articulated-body recursion, O(n) whatever the shape: eqs. (7) to (9) of Grand et al. 2001, here
with one motion axis sᵢ at a time in place of the paper's constraint Jacobians. MuJoCo gives axes
and body inertias about one point of each tree, so that no transformation is needed between bodies.

From the leaves to the root, for every degree of freedom i with its children k,

    Iᵢ  = I_body + Σ (I_k − U_k U_kᵀ/D_k)        articulated inertia, 6 × 6
    Uᵢ  = Iᵢ sᵢ,     Dᵢ = sᵢᵀUᵢ + aᵢ             aᵢ: armature and implicit terms of the step

and M̂ x = f, M̂ = M + diag a, is solved by

    uᵢ = fᵢ − sᵢᵀpᵢ,   p_parent += pᵢ + Uᵢ uᵢ/Dᵢ          up
    xᵢ = (uᵢ − Uᵢᵀ a_parent)/Dᵢ,   aᵢ = a_parent + sᵢ xᵢ    down

Contact between two bodies of which neither carries the other couples what no tree couples: their
world's matrix is factored dense, M̂ = L Lᵀ (Cholesky), with the couplings added to MuJoCo's entries.

Sources: R. Featherstone, Rigid body dynamics algorithms (2008), ch. 7; C. Grand et al. 2001.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.jit import by_reference, inlined, inner
from marsyard.linear_algebra import cholesky, solve_cholesky
from marsyard.simulation.mujoco_c import call_md, call_mdppi

Array = np.ndarray

#: deeper trees than this, in Σ depth² per degree of freedom, are solved by the recursion; where
#: the two cost the same on a chain (`benchmarks/chain.py`)
DEEP = 600.0


@by_reference
class Tree(NamedTuple):
    """The degrees of freedom as a tree, and the recursion's scratch."""

    articulated: bool
    parent: Array  # int64[nv], degree of freedom above, or −1
    of_body: Array  # int64[nbody], last degree of freedom that moves the body, or −1
    armature: Array  # float64[nv]
    extra: Array  # float64[nv], what the step adds to the diagonal
    diagonal: Array  # float64[nv], of M
    body: Array  # float64[nbody, 10], view of mujoco's cinert
    inertia: Array  # float64[nv, 21], lower triangle of Iᵢ
    U: Array  # float64[nv, 6]
    D: Array  # float64[nv]
    p: Array  # float64[nv, 6]
    a: Array  # float64[nv, 6]
    dense: bool
    coupling: Array  # float64[nv, nv], what the tree does not couple; its lower triangle
    factor: Array  # float64[nv, nv], L of the dense matrix
    row: Array  # int64[nv, 2], first entry and entries of each row of mujoco's matrix
    column: Array  # int64[·], of each entry


def make_tree(
    model: mujoco.MjModel, data: mujoco.MjData, allowed: bool, dense: bool = False
) -> Tree:
    """The tree of a model; the recursion is used where it is `allowed` and pays."""
    nv = model.nv
    parent = np.array(model.dof_parentid, dtype=np.int64)
    depth = np.ones(nv)
    for i in range(nv):
        if parent[i] >= 0:
            depth[i] += depth[parent[i]]
    of_body = np.full(model.nbody, -1, dtype=np.int64)
    for b in range(1, model.nbody):
        last = int(model.body_dofadr[b] + model.body_dofnum[b] - 1)
        of_body[b] = last if model.body_dofnum[b] > 0 else of_body[model.body_parentid[b]]
    deep = bool(allowed and not dense and nv > 0 and np.sum(depth**2) > DEEP * nv)
    n, full = nv if deep else 0, nv if dense else 0
    f = np.zeros
    return Tree(
        deep, parent, of_body, np.array(model.dof_armature), f(nv), f(nv), data.cinert,
        f((n, 21)), f((n, 6)), f(n), f((n, 6)), f((n, 6)), dense, f((full, full)), f((full, full)),
        np.stack([model.M_rowadr, model.M_rownnz], axis=1).astype(np.int64),
        np.array(model.M_colind, dtype=np.int64),
    )  # fmt: skip


@inlined
def _at(i, j):
    # place of (i, j), i ≥ j, in a lower triangle by rows
    return i * (i + 1) // 2 + j


@inner
def make_inertia(F, m, d, model, data):
    """M, or the body inertias the recursion begins with and M's diagonal; nothing added yet."""
    tree = model.tree
    if not tree.articulated:
        call_md(F.make_inertia, m, d)
        if tree.dense:
            tree.coupling[:] = 0.0
        return
    nv = model.nv
    for i in range(nv):
        tree.extra[i] = 0.0
    lay_down_bodies(tree)
    # the diagonal of M is that of the composite inertias: D holds nothing else yet
    for i in range(nv - 1, -1, -1):
        s = data.cdof[i]
        times(tree.inertia[i], s, tree.U[i])
        total = tree.armature[i]
        for k in range(6):
            total += s[k] * tree.U[i, k]
        tree.diagonal[i] = total
        p = tree.parent[i]
        if p >= 0:
            for k in range(21):
                tree.inertia[p, k] += tree.inertia[i, k]


@inlined
def lay_down_bodies(tree):
    """Each body's inertia at the last degree of freedom that moves it."""
    for i in range(tree.inertia.shape[0]):
        for k in range(21):
            tree.inertia[i, k] = 0.0
    for b in range(1, tree.of_body.shape[0]):
        i = tree.of_body[b]
        if i >= 0:
            add_body(tree.inertia[i], tree.body[b])


@inlined
def add_body(inertia, body):
    """Add mujoco's ten numbers of a body: I about the tree's point, m c, m."""
    xx, yy, zz, xy, xz, yz = body[0], body[1], body[2], body[3], body[4], body[5]
    hx, hy, hz, mass = body[6], body[7], body[8], body[9]
    inertia[0] += xx
    inertia[1] += xy
    inertia[2] += yy
    inertia[3] += xz
    inertia[4] += yz
    inertia[5] += zz
    # rows of velocity: mass, and −[h]× against rotation
    inertia[7] += hz
    inertia[8] -= hy
    inertia[9] += mass
    inertia[10] -= hz
    inertia[12] += hx
    inertia[14] += mass
    inertia[15] += hy
    inertia[16] -= hx
    inertia[20] += mass


@inlined
def times(inertia, s, out):
    """out = I s, I by its lower triangle."""
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += (inertia[_at(i, j)] if i >= j else inertia[_at(j, i)]) * s[j]
        out[i] = total


@inlined
def diagonal_of(model, data, i):
    """The diagonal entry of M̂ for one degree of freedom."""
    if model.tree.articulated:
        return model.tree.diagonal[i] + model.tree.extra[i]
    return data.inertia[model.diagonal[i]]


@inlined
def add_to_diagonal(model, data, i, value):
    """M̂_ii += value, before the matrix is factored."""
    if model.tree.articulated:
        model.tree.extra[i] += value
    else:
        data.inertia[model.diagonal[i]] += value


@inner
def factor_inertia(F, m, d, model, data):
    """Factor M̂."""
    tree = model.tree
    if not tree.articulated:
        call_md(F.factor_inertia, m, d)
        if tree.dense:
            factor_dense(tree, data, model.nv)
        return
    lay_down_bodies(tree)
    for i in range(model.nv - 1, -1, -1):
        s = data.cdof[i]
        U = tree.U[i]
        times(tree.inertia[i], s, U)
        D = tree.armature[i] + tree.extra[i]
        for k in range(6):
            D += s[k] * U[k]
        tree.D[i] = D
        p = tree.parent[i]
        if p >= 0:
            for r in range(6):
                for c in range(r + 1):
                    at = _at(r, c)
                    tree.inertia[p, at] += tree.inertia[i, at] - U[r] * U[c] / D


@inner
def factor_dense(tree, data, nv):
    """L of M̂ = L Lᵀ: mujoco's entries and the couplings."""
    L = tree.factor
    for i in range(nv):
        for j in range(i + 1):
            L[i, j] = tree.coupling[i, j]
        first = tree.row[i, 0]
        for k in range(first, first + tree.row[i, 1]):
            L[i, tree.column[k]] += data.inertia[k]
    cholesky(L, nv, L, 0.0, math.nan)


@inner
def solve_inertia(F, m, d, model, data, out, rhs):
    """out = M̂⁻¹ rhs, with M̂ factored."""
    tree = model.tree
    if tree.dense:
        solve_cholesky(tree.factor, model.nv, rhs, out)
        return
    if not tree.articulated:
        call_mdppi(F.solve_inertia, m, d, out.ctypes.data, rhs.ctypes.data, 1)
        return
    nv = model.nv
    for i in range(nv):
        for k in range(6):
            tree.p[i, k] = 0.0
    for i in range(nv - 1, -1, -1):
        s = data.cdof[i]
        u = rhs[i]
        for k in range(6):
            u -= s[k] * tree.p[i, k]
        out[i] = u
        up = tree.parent[i]
        if up >= 0:
            f = u / tree.D[i]
            for k in range(6):
                tree.p[up, k] += tree.p[i, k] + tree.U[i, k] * f
    for i in range(nv):
        s = data.cdof[i]
        up = tree.parent[i]
        x = out[i]
        if up >= 0:
            for k in range(6):
                x -= tree.U[i, k] * tree.a[up, k]
        x /= tree.D[i]
        out[i] = x
        for k in range(6):
            tree.a[i, k] = s[k] * x + (tree.a[up, k] if up >= 0 else 0.0)
