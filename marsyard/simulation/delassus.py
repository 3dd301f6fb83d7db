"""The velocity-level problem of the active contacts and the bilateral constraints.

With rows J = [E; C] (E bilateral, C contacts, three rows each) and the inertia matrix M:

    u = C v⁺ = W p + q,    W = C M⁻¹ Cᵀ − G B⁻¹ Gᵀ,    q = C v_free + … − G B⁻¹ (E v_free − b)

where B = E M⁻¹ Eᵀ and G = C M⁻¹ Eᵀ: the bilateral impulses λ are eliminated exactly (Schur
complement), so that the contact solver sees contacts only. Redundant bilateral rows (a loop closed
twice) are normal: a pivot of B below 1e-10 of its largest is skipped, its impulse is zero.
"""

from __future__ import annotations

import math

from marsyard.jit import kernel
from marsyard.simulation.mujoco_c import call_mdpppi


@kernel
def assemble(F, m, d, nv, bilateral, n, contacts, data, root):
    """Delassus matrix of n active contacts whose rows follow `bilateral` rows in contacts.rows.

    The inertia matrix must be factored. Fills contacts.delassus (before elimination),
    contacts.coupling[:, :3n] = B-side rows and contacts.bilateral_gram.
    """
    for i in range(nv):
        root[i] = math.sqrt(data.inverse_pivots[i])
    count = bilateral + 3 * n
    if count > 0:
        call_mdpppi(
            F.solve_inertia_half, m, d, contacts.half.ctypes.data, contacts.rows.ctypes.data,
            root.ctypes.data, count,
        )  # fmt: skip
    half = contacts.half
    for i in range(3 * n):
        for j in range(i + 1):
            total = 0.0
            for k in range(nv):
                total += half[bilateral + i, k] * half[bilateral + j, k]
            contacts.delassus[i, j] = total
            contacts.delassus[j, i] = total
    for i in range(bilateral):
        for j in range(3 * n):
            total = 0.0
            for k in range(nv):
                total += half[i, k] * half[bilateral + j, k]
            contacts.coupling[i, j] = total
        for j in range(i + 1):
            total = 0.0
            for k in range(nv):
                total += half[i, k] * half[j, k]
            contacts.bilateral_gram[i, j] = total


@kernel
def eliminate(bilateral, n, contacts):
    """Eliminate the bilateral rows from contacts.delassus and contacts.q.

    On entry contacts.bilateral holds E v_free − b. Afterwards contacts.coupling holds L⁻¹ of the
    coupling and, in column 3n, L⁻¹ (E v_free − b), which `bilateral_impulses` needs.
    """
    gram = contacts.bilateral_gram
    coupling = contacts.coupling
    columns = 3 * n + 1
    largest = 0.0
    for i in range(bilateral):
        largest = max(largest, gram[i, i])
        coupling[i, 3 * n] = contacts.bilateral[i]
    # cholesky with skipped pivots, applied to the coupling on the way
    for i in range(bilateral):
        for j in range(i):
            total = gram[i, j]
            for k in range(j):
                total -= gram[i, k] * gram[j, k]
            gram[i, j] = total / gram[j, j] if gram[j, j] > 0.0 else 0.0
        pivot = gram[i, i]
        for k in range(i):
            pivot -= gram[i, k] * gram[i, k]
        if pivot > 1e-10 * largest:
            gram[i, i] = math.sqrt(pivot)
            for c in range(columns):
                total = coupling[i, c]
                for k in range(i):
                    total -= gram[i, k] * coupling[k, c]
                coupling[i, c] = total / gram[i, i]
        else:
            gram[i, i] = 0.0
            for c in range(columns):
                coupling[i, c] = 0.0
    for i in range(3 * n):
        for j in range(3 * n):
            total = 0.0
            for k in range(bilateral):
                total += coupling[k, i] * coupling[k, j]
            contacts.delassus[i, j] -= total
        total = 0.0
        for k in range(bilateral):
            total += coupling[k, i] * coupling[k, 3 * n]
        contacts.q[i] -= total


@kernel
def bilateral_impulses(bilateral, n, contacts):
    """λ = −B⁻¹ (E v_free − b + Gᵀ p), by back substitution; into contacts.bilateral_impulse."""
    gram = contacts.bilateral_gram
    out = contacts.bilateral_impulse
    for i in range(bilateral):
        total = contacts.coupling[i, 3 * n]
        for j in range(3 * n):
            total += contacts.coupling[i, j] * contacts.r[j]
        out[i] = -total
    for i in range(bilateral - 1, -1, -1):
        if gram[i, i] > 0.0:
            total = out[i]
            for k in range(i + 1, bilateral):
                total -= gram[k, i] * out[k]
            out[i] = total / gram[i, i]
        else:
            out[i] = 0.0


@kernel
def transposed_product(count, nv, rows, first, impulse, out):
    """out += rows[first:first+count]ᵀ · impulse[:count]"""
    for i in range(count):
        p = impulse[i]
        if p != 0.0:
            for j in range(nv):
                out[j] += rows[first + i, j] * p
