"""Position-level projection: no penetration and no open loop is left at the end of a step.

The velocity-level law lets a contact be closed slightly late or early, and a curved path leaves a
second-order error, so that small penetrations remain. After the step the configuration is moved to
the nearest admissible one in the kinetic metric,

    min ½ δqᵀ M δq   such that   g + G δq ≥ 0  (contacts),   c + E δq = 0  (loop closures),

iterated with updated geometry until the gaps are closed to the tolerance. Velocities stay. Each
iteration is a frictionless contact problem for the same solver. The gap of a wheel of radius R that
moves by δ follows the linear problem up to δ²/R; where that is a tenth of the tolerance or less,
geometry is not looked at again.

Loops are closed at velocity level as well: v ← v − M⁻¹Eᵀ (E M⁻¹Eᵀ)⁻¹ E v with E at the
configuration reached and the inertia matrix as it stands, M̂ of the step (with the gains of motors,
which so keep their speeds) or M of the last projection. MuJoCo's own schemes hold loops by stiff
springs; after each of their steps `close_loops` does both.

Source: the combined projection idea of V. Acary, Projected event-capturing time-stepping schemes
for nonsmooth mechanical systems with unilateral contact and Coulomb's friction, Comput. Methods
Appl. Mech. Engrg. 256 (2013) 224-250.
"""

from __future__ import annotations

from marsyard.interaction.nonsmooth.codes import AUTO, CONVERGED
from marsyard.interaction.rows import LIMIT, POSITIONS
from marsyard.jit import inner
from marsyard.simulation.callables import solve_problem
from marsyard.simulation.delassus import (
    assemble,
    bilateral_impulses,
    eliminate,
    transposed_product,
)
from marsyard.simulation.inertia import factor_inertia, make_inertia, solve_inertia
from marsyard.simulation.mujoco_c import call_md, call_mppd
from marsyard.simulation.rows import (
    add_limits,
    bilateral_rows,
    collect_rows,
    collide,
    most_displaced,
    row_jacobian,
)

MAX_ITERATIONS = 20
#: contacts with a larger gap do not count [m]
NEAR = 1e-3
#: part of the tolerance up to which gaps need not be looked at again
SURE = 0.1


@inner
def project(F, O, m, d, model, data, wheels, scheme, laws, contacts, work):
    """Move qpos out of the ground; returns the largest penetration that is left [m].

    Leaves the kinematics (not the inertia matrix) up to date for the final qpos.
    """
    nv, R = model.nv, laws.rows
    tolerance = scheme.projection_tolerance
    margin = min(NEAR, scheme.margin)
    worst = 0.0
    left = -1.0
    iteration = 0
    while True:
        call_md(F.kinematics, m, d)
        R.used[0] = 0
        if left < 0.0:
            collide(F, m, d, model)
            if collect_rows(O, d, model, laws, margin, POSITIONS) < 0:
                return worst
        bilateral = 0
        worst = max(left, 0.0)
        if model.has_constraints:
            call_md(F.com_pos, m, d)
            if model.has_tendons:
                call_md(F.tendon, m, d)
            call_md(F.make_constraint, m, d)
            bilateral = bilateral_rows(O, d, nv, contacts)
            if bilateral < 0 or add_limits(O, d, nv, R, contacts) < 0:
                return worst
            for i in range(bilateral):
                worst = max(worst, abs(contacts.bilateral[i]))
        for c in range(R.used[0]):
            worst = max(worst, -R.gap[c])
        if worst <= tolerance or iteration == MAX_ITERATIONS:
            return worst
        if left >= 0.0:  # a loop is open: contacts are needed as well
            left = -1.0
            continue
        # frictionless problem for the displacement
        call_md(F.com_pos, m, d)
        make_inertia(F, m, d, model, data)
        factor_inertia(F, m, d, model, data)
        n = 0
        smallest = 1.0
        for c in range(R.used[0]):
            if R.gap[c] > NEAR:
                continue
            if R.kind[c] != LIMIT:
                w = R.wheel[c]
                smallest = min(smallest, wheels.radius[w] if w >= 0 else 0.0)
            contacts.active[n] = c
            contacts.mu[n] = 0.0
            first = bilateral + 3 * n
            if R.kind[c] != LIMIT:
                row_jacobian(F, m, d, nv, R, c, work.jac1, work.jac2, contacts.rows, first)
            else:
                for j in range(nv):
                    contacts.rows[first, j] = contacts.jacobian[3 * c, j]
            for j in range(nv):
                contacts.rows[first + 1, j] = 0.0
                contacts.rows[first + 2, j] = 0.0
            for k in range(3):
                contacts.r[3 * n + k] = 0.0
                contacts.q[3 * n + k] = 0.0
            contacts.q[3 * n] = R.gap[c]
            n += 1
        assemble(F, m, d, model, bilateral, n, contacts, data, work.root)
        rank = 0
        if bilateral > 0:
            rank = eliminate(bilateral, n, contacts)
        status, _, _ = solve_problem(F.solve, n, contacts, 1e-10, scheme.max_iterations, AUTO)
        for i in range(nv):
            work.rhs[i] = 0.0
        transposed_product(3 * n, nv, contacts.rows, bilateral, contacts.r, work.rhs)
        if bilateral > 0:
            bilateral_impulses(bilateral, rank, n, contacts)
            transposed_product(
                bilateral, nv, contacts.rows, 0, contacts.bilateral_impulse, work.rhs
            )
        solve_inertia(F, m, d, model, data, work.delta, work.rhs)
        # gaps follow the linear problem up to δ²/R
        if model.has_meshes and status == CONVERGED:
            moved = most_displaced(
                F, m, d, data, wheels, 1.0, work.delta, 0.0, work.delta, work.jac1, work.jac2
            )
            if moved * moved < SURE * tolerance * smallest:
                left = moved * moved / smallest
        call_mppd(F.integrate_pos, m, data.qpos.ctypes.data, work.delta.ctypes.data, 1.0)
        iteration += 1


@inner
def project_velocity(F, O, m, d, model, data, contacts, work):
    """Take the part of the velocity out that opens a loop; rows and inertia as they stand."""
    bilateral = bilateral_rows(O, d, model.nv, contacts)
    if bilateral > 0:
        keep_in_loops(F, m, d, model, data, contacts, work, bilateral)


@inner
def keep_in_loops(F, m, d, model, data, contacts, work, bilateral):
    """v ← v − M⁻¹Eᵀ (E M⁻¹Eᵀ)⁻¹ E v, with E in contacts.rows and M factored."""
    nv = model.nv
    for i in range(bilateral):
        total = 0.0
        for j in range(nv):
            total += contacts.rows[i, j] * data.qvel[j]
        contacts.bilateral[i] = total
    loop_displacement(F, m, d, model, data, contacts, work, bilateral)
    for j in range(nv):
        data.qvel[j] += work.delta[j]


@inner
def loop_displacement(F, m, d, model, data, contacts, work, bilateral):
    """work.delta = −M⁻¹Eᵀ (E M⁻¹Eᵀ)⁻¹ c, with c in contacts.bilateral and M factored."""
    assemble(F, m, d, model, bilateral, 0, contacts, data, work.root)
    rank = eliminate(bilateral, 0, contacts)
    bilateral_impulses(bilateral, rank, 0, contacts)
    for j in range(model.nv):
        work.rhs[j] = 0.0
    transposed_product(bilateral, model.nv, contacts.rows, 0, contacts.bilateral_impulse, work.rhs)
    solve_inertia(F, m, d, model, data, work.delta, work.rhs)


@inner
def close_loops(F, O, m, d, model, data, scheme, contacts, work):
    """Close all loops, positions and velocities, whatever else touches; what is left [m]."""
    worst = 0.0
    for iteration in range(MAX_ITERATIONS + 1):
        call_md(F.kinematics, m, d)
        call_md(F.com_pos, m, d)
        if model.has_tendons:
            call_md(F.tendon, m, d)
        call_md(F.make_constraint, m, d)
        bilateral = bilateral_rows(O, d, model.nv, contacts)
        if bilateral <= 0:
            return worst
        worst = 0.0
        for i in range(bilateral):
            worst = max(worst, abs(contacts.bilateral[i]))
        if iteration == 0 or worst > scheme.projection_tolerance:
            make_inertia(F, m, d, model, data)
            factor_inertia(F, m, d, model, data)
        if worst <= scheme.projection_tolerance or iteration == MAX_ITERATIONS:
            break
        loop_displacement(F, m, d, model, data, contacts, work, bilateral)
        call_mppd(F.integrate_pos, m, data.qpos.ctypes.data, work.delta.ctypes.data, 1.0)
    project_velocity(F, O, m, d, model, data, contacts, work)
    return worst
