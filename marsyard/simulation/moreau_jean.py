"""One step of Moreau-Jean time stepping.

State (q, v) at t; step h; θ in [½, 1]. All that depends on the configuration is evaluated at
q_m = q ⊕ (1−θ) h v: with θ = ½ this is Moreau's midpoint rule, with θ = 1 the semi-implicit Euler
scheme.

    M̂ (v_free − v) = h f(q_m, v + θ (v_free − v)),   M̂ = M(q_m) + h θ C + h² θ² K
    M̂ (v⁺ − v_free) = Cᵀ p + Eᵀ λ                     contacts and bilateral constraints
    0 ≤ u_N + e u_N⁻ ⊥ p_N ≥ 0,   ‖p_T‖ ≤ μ p_N with maximal dissipation on u_T + e_T u_T⁻
    q⁺ = q_m ⊕ θ h v⁺                                 (= q ⊕ h (θ v⁺ + (1−θ) v))

Springs K and dampers C of joints are implicit, as are laws (`attached`); velocity-dependent inertia
forces are taken at the mean velocity by one correction, so that a freely moving robot is integrated
with second order for θ = ½. A contact is active when it is closed at t, or when its gap predicted
for t + γ h with the free velocity is closed:

    g ≤ 0   or   g + γ h u_N,free ≤ 0,    g = g(q_m) − (1−θ) h u_N⁻

(The free velocity alone would not do: strong drive torques turn a bogie, and a wheel that the other
contacts hold down can have a free velocity upwards.)
u⁻ = C v is the local velocity at the start of the step. Units: SI; p, λ are impulses [N·s].

Loops. A bilateral constraint c(q) = 0 holds on the displacement of the step, E(q_m) (θ v⁺ + (1−θ)
v) = 0, so that its impulses do no work for θ = ½; what is left of c at the end is projected away,
and so is E v⁺ (`projection`). A linkage keeps its energy to second order in h.

Energy. For e = 0 the law never adds energy to v_free. Newton's law with e > 0 and friction at
several contacts can (Kane's paradox); where the impulses of a step would do positive work,
Σ p·(u⁺ + u_free)/2 > 0, the step is solved again with all its restitution coefficients scaled by
the largest s < 1 that adds none, to within `SCALE_WIDTH`. Such steps are counted (`limited`).

Sources: J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics (1988);
M. Jean, The non-smooth contact dynamics method (1999); V. Acary, B. Brogliato, Numerical methods
for nonsmooth dynamical systems (2008), ch. 10; INRIA RT-0448, eqs. (1) to (7).
"""

from __future__ import annotations

import math

from marsyard.interaction.nonsmooth.codes import CONVERGED
from marsyard.interaction.rows import LIMIT, POINT
from marsyard.jit import inlined, inner, kernel
from marsyard.simulation.attached import (
    MOST_CORRECTIONS,
    add_implicit_inertia,
    commit_laws,
    correct_laws,
    deepest,
    evaluate_laws,
)
from marsyard.simulation.callables import solve_problem
from marsyard.simulation.delassus import (
    assemble,
    bilateral_impulses,
    eliminate,
    transposed_product,
)
from marsyard.simulation.floating import restore_momentum
from marsyard.simulation.inertia import (
    add_to_diagonal,
    factor_inertia,
    make_inertia,
    solve_inertia,
)
from marsyard.simulation.mujoco_c import call_md, call_mdip, call_mppd
from marsyard.simulation.projection import keep_in_loops, project, project_velocity
from marsyard.simulation.rows import (
    add_limits,
    bilateral_rows,
    bind_given,
    collect_rows,
    collide,
    is_given,
    most_displaced,
    press_given,
    row_jacobian,
)
from marsyard.simulation.servos import apply_speed_servos, commit_servos

# what a step can end with; what a law answered is `attached.LAW` or more
OK, NOT_FINITE_FORCE, NOT_FINITE_VELOCITY, NOT_FINITE_POSITION, TOO_MANY_CONTACTS = range(5)
# a predicted gap counts as closed up to this much [m]: what projection and rounding leave open;
# without it some contacts of a resting pile are missed in turn, and it creeps
TOUCHING = 1e-9
#: restitution that would add energy is scaled back by this much first, then by twice as much, …
SCALE_BACK = 1e-4
#: until no energy is added; what is needed is then found to this width, or is all of it after
#: so many tries
SCALE_WIDTH, SCALE_TRIES = 1e-3, 40
#: where contacts change the rate of a joint by more than this, inertia forces are taken again
#: at the mean velocity that they leave [rad/s, m/s]
STOPPED = 0.5


@kernel
def update_positions(F, m, d, model):
    """Everything that follows from qpos alone, except the inertia matrix."""
    call_md(F.kinematics, m, d)
    call_md(F.com_pos, m, d)
    if model.has_tendons:
        call_md(F.tendon, m, d)
    if model.has_actuators:
        call_md(F.transmission, m, d)


@inner
def free_velocity(F, m, d, model, data, scheme, commands, laws, contacts, work, bilateral):
    """v_free of the scheme above, with the inertia matrix M̂ factored. False if not finite.

    `bilateral` rows of loops stand in contacts.rows; they count in the mean velocity.
    """
    h, theta, nv = scheme.h, scheme.theta, model.nv
    v = work.v_start
    make_inertia(F, m, d, model, data)
    for i in range(nv):
        implicit = h * theta * model.damping[i] + h * h * theta * theta * model.stiffness[i]
        add_to_diagonal(model, data, i, implicit)
    apply_speed_servos(model, data, commands, h, v)
    if model.has_laws:
        add_implicit_inertia(model, data, laws, h)
    factor_inertia(F, m, d, model, data)
    # forces at (q_m, v); mujoco's spring is taken at q_m, the scheme wants q + θ h v
    call_md(F.com_vel, m, d)
    call_md(F.passive, m, d)
    call_mdip(F.rne, m, d, 0, data.bias.ctypes.data)
    if model.has_actuators:
        call_md(F.fwd_actuation, m, d)
    for i in range(nv):
        work.bias[i] = data.bias[i]
        work.force[i] = (
            data.applied[i]
            + data.passive[i]
            + data.actuator[i]
            - (2.0 * theta - 1.0) * h * model.stiffness[i] * v[i]
        )
        if model.has_laws:
            work.force[i] += laws.chains.generalised[i]
    for j in range(commands.torque.shape[0]):
        work.force[model.joint_dof[j]] += commands.torque[j] - commands.given[j]
    for i in range(nv):
        work.rhs[i] = h * (work.force[i] - work.bias[i])
    solve_inertia(F, m, d, model, data, work.delta, work.rhs)
    # inertia forces once more, at the mean velocity; θ = 1 is of first order anyway
    if theta < 1.0:
        for i in range(nv):
            data.qvel[i] = v[i] + theta * work.delta[i]
        if bilateral > 0 and scheme.projection:
            keep_in_loops(F, m, d, model, data, contacts, work, bilateral)
        call_md(F.com_vel, m, d)
        call_mdip(F.rne, m, d, 0, data.bias.ctypes.data)
        for i in range(nv):
            work.bias[i] = data.bias[i]
            work.rhs[i] = h * (work.force[i] - data.bias[i])
        solve_inertia(F, m, d, model, data, work.delta, work.rhs)
    for i in range(nv):
        data.qvel[i] = v[i]
        work.v_free[i] = v[i] + work.delta[i]
        if not math.isfinite(work.v_free[i]):
            work.failure[1] = i
            return False
    return True


@inner
def activate(F, m, d, model, scheme, R, contacts, work, bilateral):
    """Local velocities of all contacts; those closed at the predicted time enter the problem."""
    nv = model.nv
    n = 0
    for c in range(R.used[0]):
        if R.kind[c] != LIMIT:
            row_jacobian(F, m, d, nv, R, c, work.jac1, work.jac2, contacts.jacobian, 3 * c)
        for k in range(3):
            before = 0.0
            free = 0.0
            for j in range(nv):
                before += contacts.jacobian[3 * c + k, j] * work.v_start[j]
                free += contacts.jacobian[3 * c + k, j] * work.v_free[j]
            contacts.before[3 * c + k] = before
            contacts.free[3 * c + k] = free
        # the gap now, and the one predicted with the free velocity
        now = R.gap[c] - scheme.h * (1.0 - scheme.theta) * contacts.before[3 * c]
        predicted = now + scheme.h * scheme.activation * contacts.free[3 * c]
        if min(now, predicted) <= TOUCHING:
            contacts.active[n] = c
            contacts.mu[n] = R.friction[c]
            for k in range(3):
                for j in range(nv):
                    contacts.rows[bilateral + 3 * n + k, j] = contacts.jacobian[3 * c + k, j]
            n += 1
    return n


@inner
def warm_start(n, R, contacts):
    """Impulses of the last step for the contacts that go on, zero for new ones."""
    old = R.last_count[0]
    for i in range(n):
        c = contacts.active[i]
        key, owner = R.key[c], R.owner[c]
        at = -1
        if i < old and R.last_key[i] == key and R.last_owner[i] == owner:
            at = i
        else:
            for k in range(old):
                if R.last_key[k] == key and R.last_owner[k] == owner:
                    at = k
                    break
        for k in range(3):
            contacts.r[3 * i + k] = R.last_impulse[3 * at + k] if at >= 0 else 0.0


@inner
def keep_for_warm_start(n, R, contacts):
    """Remember this step's impulses by the law and key of their contact."""
    for i in range(n):
        c = contacts.active[i]
        R.last_owner[i] = R.owner[c]
        R.last_key[i] = R.key[c]
        for k in range(3):
            R.last_impulse[3 * i + k] = contacts.r[3 * i + k]
    R.last_count[0] = n


@inner
def solve_contacts(F, m, d, model, data, scheme, R, contacts, work, n, bilateral):
    """Impulses of the n active contacts and the bilateral rows."""
    nv = model.nv
    assemble(F, m, d, model, bilateral, n, contacts, data, work.root)
    bind_given(n, R, contacts)
    # right-hand side of the bilateral rows: E v_free − b. The way of the step lies in the loop,
    # E (θ v⁺ + (1−θ) v) = 0, and `project` sees to positions and to the end velocity; without it
    # E v⁺ = −c/(10 h) keeps the loop from drifting
    back = (1.0 - scheme.theta) / scheme.theta if scheme.projection else 0.0
    for i in range(bilateral):
        total = 0.0 if scheme.projection else 0.1 / scheme.h * contacts.bilateral[i]
        for j in range(nv):
            total += contacts.rows[i, j] * (work.v_free[j] + back * work.v_start[j])
        contacts.bilateral[i] = total
    warm_start(n, R, contacts)
    scale = 1.0
    low, high = -1.0, 1.0
    iterations = 0
    attempt = 0
    rank = 0
    while True:
        restitution = False
        for i in range(n):
            c = contacts.active[i]
            e, et = R.restitution[c], R.restitution_tangential[c]
            restitution = restitution or e > 0.0 or et > 0.0
            contacts.q[3 * i] = contacts.free[3 * c] + scale * e * contacts.before[3 * c]
            for k in range(1, 3):
                contacts.q[3 * i + k] = (
                    contacts.free[3 * c + k] + scale * et * contacts.before[3 * c + k]
                )
        press_given(n, R, contacts)
        if bilateral > 0:
            if attempt > 0:
                assemble(F, m, d, model, bilateral, n, contacts, data, work.root)
                bind_given(n, R, contacts)
            rank = eliminate(bilateral, n, contacts)
        status, used, residual = solve_problem(
            F.solve, n, contacts, scheme.tolerance, scheme.max_iterations, scheme.method
        )
        iterations += used
        if not restitution or scale == 0.0:
            break
        # work of the impulses: u⁺ is the velocity without the restitution terms
        gained = 0.0
        size = 0.0
        for i in range(n):
            c = contacts.active[i]
            e, et = R.restitution[c], R.restitution_tangential[c]
            for k in range(3):
                before, free = contacts.before[3 * c + k], contacts.free[3 * c + k]
                after = contacts.u[3 * i + k] - scale * (e if k == 0 else et) * before
                impulse = contacts.r[3 * i + k]
                # forces take back on the way what they gave to the free velocity: once scaled,
                # count from whichever of the two gains more
                if attempt > 0 and impulse * before > impulse * free:
                    free = before
                half = 0.5 * impulse * (after + free)
                gained += half
                size += abs(half)
        if gained <= 1e-9 * size:
            if attempt == 0 or scale == low or high - scale <= SCALE_WIDTH:
                break
            low = scale
        else:
            # the same problem may have several solutions
            low = 0.0 if scale <= low else low
            high = scale
        scale = 1.0 - SCALE_BACK * 2.0**attempt
        if low < 0.0 and scale <= 0.0:
            low = 0.0
        if low >= 0.0:
            scale = 0.5 * (low + high) if high - low > SCALE_WIDTH else low
        attempt += 1
        if attempt > SCALE_TRIES:
            scale = 0.0
    if bilateral > 0:
        bilateral_impulses(bilateral, rank, n, contacts)
    # a step may solve twice
    work.stats[1] += iterations
    work.stats[2] = residual
    work.stats[3] = 0.0 if status == CONVERGED else 1.0
    work.stats[4] = 1.0 if attempt > 0 else 0.0


@inner
def find_impulses(F, m, d, model, data, scheme, R, contacts, work, n, bilateral):
    """Impulses of contacts and loops, and the velocity they add, into work.delta; generalised
    impulse of the contacts alone into work.force."""
    for i in range(model.nv):
        work.rhs[i] = 0.0
    solve_contacts(F, m, d, model, data, scheme, R, contacts, work, n, bilateral)
    transposed_product(3 * n, model.nv, contacts.rows, bilateral, contacts.r, work.rhs)
    for i in range(model.nv):
        work.force[i] = work.rhs[i]
    transposed_product(bilateral, model.nv, contacts.rows, 0, contacts.bilateral_impulse, work.rhs)
    solve_inertia(F, m, d, model, data, work.delta, work.rhs)


@inlined
def is_stopped(model, work):
    """Whether contacts have changed the rate of a joint by much."""
    for j in range(model.joint_dof.shape[0]):
        if abs(work.delta[model.joint_dof[j]]) > STOPPED:
            return True
    return False


@inner
def correct_free_velocity(F, m, d, model, data, scheme, work):
    """Take inertia forces at the mean velocity with contacts, v + θ (v⁺ − v), in place of that
    without them. A motor that pushes against a stop has a large free velocity that never comes
    about; its centrifugal forces would act on the robot from nowhere."""
    h, theta = scheme.h, scheme.theta
    v = work.v_start
    for i in range(model.nv):
        data.qvel[i] = v[i] + theta * (work.v_free[i] + work.delta[i] - v[i])
    call_md(F.com_vel, m, d)
    call_mdip(F.rne, m, d, 0, data.bias.ctypes.data)
    for i in range(model.nv):
        work.rhs[i] = h * (work.bias[i] - data.bias[i])
        work.bias[i] = data.bias[i]
    solve_inertia(F, m, d, model, data, work.delta, work.rhs)
    for i in range(model.nv):
        work.v_free[i] += work.delta[i]
        data.qvel[i] = v[i]


@inner
def reachable(F, m, d, model, data, scheme, wheels, work):
    """Gap at q_m [m] beyond which no contact can be active (`activate`), twice over; −∞ if the
    ground is not hard. On meshes slow robots have few contacts to look at; planes and spheres cost
    nothing to look at."""
    if not model.has_meshes:
        return scheme.margin
    before, free = scheme.h * (1.0 - scheme.theta), scheme.h * scheme.activation
    way = most_displaced(
        F, m, d, data, wheels, free, work.v_free, before, work.v_start, work.jac1, work.jac2
    )
    return min(scheme.near + 2.0 * way, scheme.margin)


@inner
def step(F, O, m, d, model, data, wheels, scheme, commands, laws, time, contacts, work, sums):
    """Advance the state by one step; returns OK or what went wrong.

    That a law needs room is no failure: nothing has changed, and the step can be tried again.
    """
    h, theta, nv, R = scheme.h, scheme.theta, model.nv, laws.rows
    for i in range(model.nq):
        work.q_start[i] = data.qpos[i]
    for i in range(nv):
        work.v_start[i] = data.qvel[i]
    work.stats[:] = 0.0

    # configuration q_m at which everything is evaluated
    call_mppd(F.integrate_pos, m, data.qpos.ctypes.data, data.qvel.ctypes.data, (1.0 - theta) * h)
    update_positions(F, m, d, model)
    if model.has_laws:
        answer = evaluate_laws(data, laws, work.v_start, time, h, theta)
        if answer != 0:
            for i in range(model.nq):
                data.qpos[i] = work.q_start[i]
            return answer
    bilateral = 0
    if model.has_rigid:
        collide(F, m, d, model)
    if model.has_constraints:
        call_md(F.make_constraint, m, d)
        bilateral = bilateral_rows(O, d, nv, contacts)
        if bilateral < 0:
            return TOO_MANY_CONTACTS

    # motion without contact
    attempt = 0
    while True:
        if not free_velocity(
            F, m, d, model, data, scheme, commands, laws, contacts, work, bilateral
        ):  # fmt: skip
            return NOT_FINITE_FORCE
        attempt += 1
        if not model.has_laws or attempt > MOST_CORRECTIONS:
            break
        # bounds by the velocity found, where that differs from what the start promised
        last = attempt == MOST_CORRECTIONS
        if not correct_laws(laws, work.v_free, time, h, theta, last):
            break

    # what may touch within the step
    R.used[0] = 0
    total = 0
    if model.has_rigid:
        margin = reachable(F, m, d, model, data, scheme, wheels, work)
        total = collect_rows(O, d, model, laws, margin, 0)
    if model.has_constraints and total >= 0:
        total = add_limits(O, d, nv, R, contacts)
    if total < 0:
        return TOO_MANY_CONTACTS

    # impulses, and the motion with them
    n = activate(F, m, d, model, scheme, R, contacts, work, bilateral)
    for i in range(n):
        work.stats[0] += 0.0 if is_given(R, contacts.active[i]) else 1.0
    for i in range(nv):
        work.rhs[i] = 0.0
        work.delta[i] = 0.0
    if n + bilateral > 0:
        find_impulses(F, m, d, model, data, scheme, R, contacts, work, n, bilateral)
        # not for loops alone, which the mean velocity knows already
        if n > 0 and theta < 1.0 and scheme.projection and is_stopped(model, work):
            correct_free_velocity(F, m, d, model, data, scheme, work)
            # nearly the same problem again: its answer is the better warm start
            keep_for_warm_start(n, R, contacts)
            n = activate(F, m, d, model, scheme, R, contacts, work, bilateral)
            find_impulses(F, m, d, model, data, scheme, R, contacts, work, n, bilateral)
        add_to_sums(n, R, contacts, work, sums)
    keep_for_warm_start(n, R, contacts)
    for i in range(nv):
        data.qvel[i] = work.v_free[i] + work.delta[i]
        if not math.isfinite(data.qvel[i]):
            work.failure[1] = i
            return NOT_FINITE_VELOCITY
    call_mppd(F.integrate_pos, m, data.qpos.ctypes.data, data.qvel.ctypes.data, theta * h)
    commit_servos(model, data, commands, h, work.v_start, sums)
    if model.has_laws:
        give_impulses(n, R, contacts)
        commit_laws(data, laws, time, h, theta, sums, work.stats)

    # no penetration left
    if scheme.projection and model.has_rigid:
        work.stats[5] = project(F, O, m, d, model, data, wheels, scheme, laws, contacts, work)
        if model.has_loops:
            project_velocity(F, O, m, d, model, data, contacts, work)
    if model.has_laws:
        work.stats[5] = max(work.stats[5], deepest(laws))
    for i in range(model.nq):
        if not math.isfinite(data.qpos[i]):
            work.failure[1] = i
            return NOT_FINITE_POSITION
    if model.floating:
        restore_momentum(F, m, d, model, data, work)
    return OK


@inner
def give_impulses(n, R, contacts):
    """Tell laws the impulses of their rows, zero for those that were not in the problem."""
    R.impulse[: R.used[0], :] = 0.0
    for i in range(n):
        for k in range(3):
            R.impulse[contacts.active[i], k] = contacts.r[3 * i + k]


@inner
def add_to_sums(n, R, contacts, work, sums):
    """Add this step's impulses to what the next record will show."""
    for j in range(work.force.shape[0]):
        sums.reaction[j] += work.force[j]
    for i in range(n):
        c = contacts.active[i]
        if R.kind[c] != POINT:
            continue
        s, w = R.surface[c], R.wheel[c]
        for k in range(3):
            world = 0.0
            for a in range(3):
                world += R.frame[c, a, k] * contacts.r[3 * i + a]
            if w >= 0:
                sums.world[w, k] += world
                sums.point[w, k] = R.point[c, k]
            elif R.body1[c] == 0:
                sums.other[k] += world
                if R.organ[c] >= 0:
                    sums.organ[R.organ[c], k] += world
        if w >= 0 and s >= 0:
            sums.normal[w, s] += contacts.r[3 * i]
            sums.tangent[w, s, 0] += contacts.r[3 * i + 1]
            sums.tangent[w, s, 1] += contacts.r[3 * i + 2]
