"""The velocity-level problem of the active contacts and the bilateral constraints.

With rows J = [E; C] (E bilateral, C contacts, three rows each) and the inertia matrix M:

    u = C v⁺ = W p + q,    W = C M⁻¹ Cᵀ − G B⁻¹ Gᵀ,    q = C v_free + … − G B⁻¹ (E v_free − b)

where B = E M⁻¹ Eᵀ and G = C M⁻¹ Eᵀ: the bilateral impulses λ are eliminated exactly (Schur
complement), so that the contact solver sees contacts only. Redundant bilateral rows (a loop closed
twice, a planar linkage closed in space) are normal: B is factored with the largest pivot first, and
rows whose pivots are below 1e-10 of the largest entry of their own loop depend on the others; their
impulse is zero.
"""

from __future__ import annotations

import math

from marsyard.jit import inner
from marsyard.simulation.inertia import solve_inertia
from marsyard.simulation.mujoco_c import call_mdpppi


@inner
def assemble(F, m, d, model, bilateral, n, contacts, data, root):
    """Delassus matrix of n active contacts whose rows follow `bilateral` rows in contacts.rows.

    The inertia matrix must be factored. Fills contacts.delassus (before elimination),
    contacts.coupling[:, :3n] = B-side rows and contacts.bilateral_gram.
    """
    nv = model.nv
    count = bilateral + 3 * n
    half = contacts.half
    other = half
    if model.tree.articulated or model.tree.dense:
        # no square root there: rows times the inverse against the rows themselves
        other = contacts.rows
        for i in range(count):
            solve_inertia(F, m, d, model, data, half[i], contacts.rows[i])
    elif count > 0:
        for i in range(nv):
            root[i] = math.sqrt(data.inverse_pivots[i])
        call_mdpppi(
            F.solve_inertia_half, m, d, contacts.half.ctypes.data, contacts.rows.ctypes.data,
            root.ctypes.data, count,
        )  # fmt: skip
    for i in range(3 * n):
        for j in range(i + 1):
            total = 0.0
            for k in range(nv):
                total += half[bilateral + i, k] * other[bilateral + j, k]
            contacts.delassus[i, j] = total
            contacts.delassus[j, i] = total
    for i in range(bilateral):
        for j in range(3 * n):
            total = 0.0
            for k in range(nv):
                total += half[i, k] * other[bilateral + j, k]
            contacts.coupling[i, j] = total
        for j in range(i + 1):
            total = 0.0
            for k in range(nv):
                total += half[i, k] * other[j, k]
            contacts.bilateral_gram[i, j] = total


@inner
def factor_bilateral(bilateral, contacts):
    """B = L Lᵀ with the largest pivot first; returns the rank. Rows come in the order
    contacts.bilateral_order, those beyond the rank depend on the others.

    A pivot counts by its share of the largest diagonal entry among the rows of the same kind of the
    same equality: the rows of different loops may differ by any factor, in units and in inertia.
    """
    gram, L, order = contacts.bilateral_gram, contacts.bilateral_factor, contacts.bilateral_order
    group, scale = contacts.bilateral_group, contacts.bilateral_scale
    for i in range(bilateral):
        order[i] = i
        contacts.bilateral_pivot[i] = gram[i, i]
        scale[i] = 0.0
        for j in range(bilateral):
            if group[j] == group[i]:
                scale[i] = max(scale[i], gram[j, j])
    for k in range(bilateral):
        best = k
        most = 0.0
        for i in range(k, bilateral):
            o = order[i]
            share = contacts.bilateral_pivot[o] / scale[o] if scale[o] > 0.0 else 0.0
            if share > most:
                best, most = i, share
        if not most > 1e-10:
            return k
        row = order[best]
        order[best] = order[k]
        order[k] = row
        pivot = contacts.bilateral_pivot[row]
        L[row, k] = math.sqrt(pivot)
        for i in range(k + 1, bilateral):
            other = order[i]
            total = gram[max(row, other), min(row, other)]
            for j in range(k):
                total -= L[row, j] * L[other, j]
            L[other, k] = total / L[row, k]
            contacts.bilateral_pivot[other] -= L[other, k] * L[other, k]
    return bilateral


@inner
def eliminate(bilateral, n, contacts):
    """Eliminate the bilateral rows from contacts.delassus and contacts.q. Returns their rank.

    On entry contacts.bilateral holds E v_free − b. Afterwards contacts.coupling holds L⁻¹ of the
    coupling and, in column 3n, L⁻¹ (E v_free − b), which `bilateral_impulses` needs.
    """
    coupling = contacts.coupling
    L, order = contacts.bilateral_factor, contacts.bilateral_order
    columns = 3 * n + 1
    for i in range(bilateral):
        coupling[i, 3 * n] = contacts.bilateral[i]
    rank = factor_bilateral(bilateral, contacts)
    for k in range(rank):
        row = order[k]
        for c in range(columns):
            total = coupling[row, c]
            for j in range(k):
                total -= L[row, j] * coupling[order[j], c]
            coupling[row, c] = total / L[row, k]
    for i in range(3 * n):
        for j in range(3 * n):
            total = 0.0
            for k in range(rank):
                total += coupling[order[k], i] * coupling[order[k], j]
            contacts.delassus[i, j] -= total
        total = 0.0
        for k in range(rank):
            total += coupling[order[k], i] * coupling[order[k], 3 * n]
        contacts.q[i] -= total
    return rank


@inner
def bilateral_impulses(bilateral, rank, n, contacts):
    """λ = −B⁻¹ (E v_free − b + Gᵀ p), by back substitution; into contacts.bilateral_impulse."""
    L, order, out = contacts.bilateral_factor, contacts.bilateral_order, contacts.bilateral_impulse
    for i in range(bilateral):
        out[i] = 0.0
    for k in range(rank - 1, -1, -1):
        row = order[k]
        total = -contacts.coupling[row, 3 * n]
        for j in range(3 * n):
            total -= contacts.coupling[row, j] * contacts.r[j]
        for i in range(k + 1, rank):
            total -= L[order[i], k] * out[order[i]]
        out[row] = total / L[row, k]


@inner
def transposed_product(count, nv, rows, first, impulse, out):
    """out += rows[first:first+count]ᵀ · impulse[:count]"""
    for i in range(count):
        p = impulse[i]
        if p != 0.0:
            for j in range(nv):
                out[j] += rows[first + i, j] * p
