"""Pull, friction demand and tip-over margin of a rover at rest.

Contacts are the low points of a stand whose gap is below 0.1 mm, or 0.5 mm where the search for the
stand ended at a kink and leaves wheels that carry a little in the air. Contact i has
a normal n_i into the wheel, t_i = axle × n_i along its rolling direction, s_i = n_i × t_i to its
left, and carries

    f_i = N_i n_i + T_i t_i + S_i s_i,    ‖(T_i, S_i)‖ ≤ μ N_i

Statics of the whole rover, for all free motions: three forces, three moments about the base's
origin O, and the moments (forces) about every passive joint j, which what it carries must balance;
those of joints tied by constraints are mixed by the basis B of the motions these leave
(`rover_tables`), because the forces of the ties do no work there:

    Σ f_i + m g − F d = 0
    Σ (p_i − O) × f_i + (c − O) × m g = 0
    Bᵀ [a_j·((p_i − o_j) × f_i)|_{i carried by j} + a_j·((c_j − o_j) × m_j g) + l_j] = 0

F pulls back at the hitch, which is the base's origin, against the direction d: the heading,
parallel to the mean plane of the ground (fitted through the lowest points of all wheels by least
squares). l_j ≥ 0 (≤ 0) is the moment of a joint's lower (upper) stop where the joint is at it.
Drives hold the wheels, as motors do steering joints; a wheel's drive carries
M_w = axle·Σ (p_i − C_w) × f_i, which is r T on a round wheel, with |M_w| ≤ τ_max; M_w = 0 for a
wheel that is not driven.

    largest pull     maximise F
    friction demand  the smallest μ at which F = 0 has forces, whatever the drives' torque

Both rest on the freedom of statics: a rover whose forces are not determined may share them as is
best. A rigid rover with four wheels stands on three of them, its centre of mass near the diagonal
between two, and rocks onto the fourth at the least push. A wheel in the air of a rover without
passive joints counts as a contact, at the ground below it, if the rover reaches it by rocking: by a
turn of at most 10°,

    α = gap / (level distance of the wheel's low point from the polygon of the contacts)

about an edge of that polygon. Which of its stands the rover takes then depends on the pull. Ground
that locks a wheel (a steep face behind it) could carry any pull; |F| ≤ 5 m g and Σ N_i ≤ 20 m g
bound the program.

Tip-over angle: the force-angle margin of the contacts' support polygon under gravity, as
`marsyard.control.stability_margin.tip_over_angle`, less the largest turn α by which the rover rocks
inside of that polygon.

The demand is found by bisection to 0.002, quickened by both outcomes: forces found show that the
largest of their own ratios ‖(T, S)‖/N is enough; a proof (a_N, a_T, a_S) that there are none holds
for all μ ≤ min a_N/‖(a_T, a_S)‖.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marsyard.analysis.traction_map.cone import (
    IMPOSSIBLE,
    OPTIMAL,
    STUCK,
    ConeWork,
    cone_work,
    independent_rows,
    solve_cone,
)
from marsyard.analysis.traction_map.placing import velocity
from marsyard.analysis.traction_map.rover_tables import RoverTables
from marsyard.jit import inner, kernel

#: gap of a contact, of one of a stand at a kink, and distance within which two on a wheel are one
#: [m]; joint at its stop [rad]
TOUCHING, NEARLY, _SAME, _STOP = 1e-4, 5e-4, 2e-3, 1e-7
#: contacts of one wheel
_EACH = 3
#: greatest pull and sum of normal forces [weight]
PULL, LOADS = 5.0, 20.0
#: greatest friction looked for, and how exactly
STEEPEST, _EXACT = 3.0, 2e-3
#: tries of the program of the pull, and share of μ that each later one does without
_TRIES, _LESS = 4, 1e-4
#: turn by which a rover may rock onto a wheel that is in the air [rad]
_ROCKING = math.radians(10.0)
_HUGE = 1e300


class Statics(NamedTuple):
    """Balance of a stand in units of its weight and of a length L.

    contact: numbers of the low points that touch [k]; stop: ±1 where a joint is at one [p].
    point [k, 3]: where they touch. matrix [rows, 3 k + p]: of the forces N, T, S of each contact,
    then of the stops. weight, pull [rows]: of the rover's weight, of a unit pull. drive [w, 3 k]:
    moments about the wheels' axles. rocking [3]: number of contacts that touch without rocking, the
    largest turn to reach one of the others [rad], number of all.
    """

    contact: np.ndarray
    stop: np.ndarray
    point: np.ndarray
    matrix: np.ndarray
    weight: np.ndarray
    pull: np.ndarray
    drive: np.ndarray
    axes: np.ndarray
    rocking: np.ndarray


class TractionWork(NamedTuple):
    """Scratch of one pose."""

    statics: Statics
    cone: ConeWork


def traction_work(rover: RoverTables) -> TractionWork:
    """Room for the statics of a rover; one for each thread."""
    w, p, r = len(rover.wheels.radius), len(rover.chain.parent), rover.limits.basis.shape[1]
    k, rows = _EACH * w, 6 + r + w
    f = np.zeros
    return TractionWork(
        Statics(
            f(k, np.int64), f(p), f((k, 3)), f((rows, 3 * k + p)), f(rows), f(rows),
            f((w, 3 * k)), f((4, 3)), f(3),
        ),
        cone_work(rows + 2 * w + 2, 3 * k + p + 2 * w + 3),
    )  # fmt: skip


@inner
def _contacts(touch, count, near, statics):
    """The low points with a gap below `near` [m], one where two are the same; how many."""
    found, first, wheel = 0, 0, -1
    for m in range(count):
        if touch.wheel[m] != wheel:
            first, wheel = found, touch.wheel[m]
        if touch.gap[m] > near or found - first == _EACH:
            continue
        new = True
        for k in range(first, found):
            far = 0.0
            for c in range(3):
                far += (touch.point[m, c] - statics.point[k, c]) ** 2
            new = new and far > _SAME * _SAME
        if new:
            statics.contact[found] = m
            for c in range(3):
                statics.point[found, c] = touch.point[m, c]
            found += 1
    return found


@inner
def _distance_to_polygon(point, count, x, y):
    """Level distance [m] of x, y from the convex hull of points; 0 inside."""
    outside = count < 3
    for i in range(count):
        ax, ay = point[i, 0] - x, point[i, 1] - y
        one_side = True
        for j in range(count):
            bx, by = point[j, 0] - x, point[j, 1] - y
            one_side = one_side and ax * by - ay * bx >= 0.0
        outside = outside or one_side
    least = math.inf if outside else 0.0
    # of all lines between two points the nearest is an edge
    for i in range(count):
        for j in range(i, count):
            ex, ey = point[j, 0] - point[i, 0], point[j, 1] - point[i, 1]
            px, py = x - point[i, 0], y - point[i, 1]
            size = ex * ex + ey * ey
            share = min(max((px * ex + py * ey) / size, 0.0), 1.0) if size > 0.0 else 0.0
            least = min(least, math.hypot(px - share * ex, py - share * ey))
    return least


@inner
def _rock(touch, count, near, found, statics):
    """Add wheels in the air that a rigid rover rocks onto to the contacts; how many then."""
    statics.rocking[0], statics.rocking[1] = found, 0.0
    touching, m = found, 0
    while m < count and touching > 0 and len(statics.stop) == 0:
        best, wheel, carries = m, touch.wheel[m], False
        while m < count and touch.wheel[m] == wheel:
            if touch.gap[m] < touch.gap[best]:
                best = m
            carries = carries or touch.gap[m] <= near
            m += 1
        if carries:
            continue
        p = touch.point[best]
        away = _distance_to_polygon(statics.point, touching, p[0], p[1])
        if touch.gap[best] < _ROCKING * away:
            statics.contact[found] = best
            statics.point[found, 0], statics.point[found, 1] = p[0], p[1]
            statics.point[found, 2] = p[2] - touch.gap[best]
            statics.rocking[1] = max(statics.rocking[1], math.atan2(touch.gap[best], away))
            found += 1
    statics.rocking[2] = found
    return found


@inner
def _frame(normal, axle, axes):
    """n, t, s of a contact in the rows of `axes`."""
    size = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    for c in range(3):
        axes[0, c] = normal[c] / size
    n, t, s = axes[0], axes[1], axes[2]
    t[0] = axle[1] * n[2] - axle[2] * n[1]
    t[1] = axle[2] * n[0] - axle[0] * n[2]
    t[2] = axle[0] * n[1] - axle[1] * n[0]
    size = math.sqrt(t[0] ** 2 + t[1] ** 2 + t[2] ** 2)
    for c in range(3):
        t[c] /= size
    s[0] = n[1] * t[2] - n[2] * t[1]
    s[1] = n[2] * t[0] - n[0] * t[2]
    s[2] = n[0] * t[1] - n[1] * t[0]


@inner
def _balance_of(rover, pose, link, point, force, length, scratch, out):
    """Parts of a force at a point of a link in the balances: `out` [6 + r]."""
    chain, basis = rover.chain, rover.limits.basis
    o = pose.shift[0]
    x, y, z = point[0] - o[0], point[1] - o[1], point[2] - o[2]
    for c in range(3):
        out[c] = force[c]
    out[3] = (y * force[2] - z * force[1]) / length
    out[4] = (z * force[0] - x * force[2]) / length
    out[5] = (x * force[1] - y * force[0]) / length
    for a in range(basis.shape[1]):
        out[6 + a] = 0.0
    for j in range(len(chain.parent)):
        velocity(chain, pose, 3 + j, link, point, scratch)
        work = scratch[0] * force[0] + scratch[1] * force[1] + scratch[2] * force[2]
        for a in range(basis.shape[1]):
            out[6 + a] += basis[j, a] * work / length


@inner
def _mean_direction(pose, touch, count, heading, out):
    """The heading, along the plane fitted through the lowest points of all wheels."""
    mx = my = mz = total = xx = xy = yy = xz = yz = 0.0
    for phase in range(2):
        m = 0
        while m < count:
            # the lowest of the wheel's points
            best, wheel = m, touch.wheel[m]
            while m < count and touch.wheel[m] == wheel:
                if touch.gap[m] < touch.gap[best]:
                    best = m
                m += 1
            p = touch.point[best]
            if phase == 0:
                mx, my, mz, total = mx + p[0], my + p[1], mz + p[2], total + 1.0
            else:
                a, b, h = p[0] - mx / total, p[1] - my / total, p[2] - mz / total
                xx, xy, yy, xz, yz = xx + a * a, xy + a * b, yy + b * b, xz + a * h, yz + b * h
    c, s, rise = math.cos(heading), math.sin(heading), 0.0
    size = xx * yy - xy * xy
    if size > 1e-12 * (xx + yy) ** 2:
        rise = (c * (yy * xz - xy * yz) + s * (xx * yz - xy * xz)) / size
    norm = math.sqrt(1.0 + rise * rise)
    out[0], out[1], out[2] = c / norm, s / norm, rise / norm


@inner
def build_statics(rover, length, heading, pose, touch, count, near, statics):
    """Fill the tables of the balance; number of contacts, whose gap is below `near` [m]."""
    chain, wheels = rover.chain, rover.wheels
    axes, rows = statics.axes, 6 + rover.limits.basis.shape[1]
    matrix, scratch = statics.matrix, statics.axes[3]
    contacts = _contacts(touch, count, near, statics)
    contacts = _rock(touch, count, near, contacts, statics)
    # columns are built in rows of `drive`'s shape: the balance of one force at a time
    for i in range(contacts):
        m = statics.contact[i]
        k = touch.wheel[m]
        axle, centre, p = pose.frame[k, 2], pose.frame[k, 3], statics.point[i]
        _frame(touch.normal[m], axle, axes)
        x, y, z = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
        for e in range(3):
            f = axes[e]
            _balance_of(rover, pose, wheels.link[k], p, f, length, scratch, statics.weight)
            for r in range(rows):
                matrix[r, 3 * i + e] = statics.weight[r]
            for w in range(len(wheels.radius)):
                statics.drive[w, 3 * i + e] = 0.0
            statics.drive[k, 3 * i + e] = (
                axle[0] * (y * f[2] - z * f[1])
                + axle[1] * (z * f[0] - x * f[2])
                + axle[2] * (x * f[1] - y * f[0])
            ) / length
    force = axes[0]
    _mean_direction(pose, touch, count, heading, force)
    for c in range(3):
        force[c] = -force[c]
    _balance_of(rover, pose, np.int64(0), pose.shift[0], force, length, scratch, statics.pull)
    for r in range(rows):
        statics.weight[r] = 0.0
    o, c = pose.shift[0], pose.moved[0]
    statics.weight[2] = -1.0
    statics.weight[3] = -(c[1] - o[1]) / length
    statics.weight[4] = (c[0] - o[0]) / length
    for j in range(len(chain.parent)):
        velocity(chain, pose, 3 + j, j + 1, pose.moved[3 + j], scratch)
        share = chain.carried[j + 1] / chain.carried[0]
        for a in range(rows - 6):
            statics.weight[6 + a] -= rover.limits.basis[j, a] * share * scratch[2] / length
        statics.stop[j] = 0.0
        if pose.u[3 + j] < rover.limits.low[j] + _STOP:
            statics.stop[j] = 1.0
        elif pose.u[3 + j] > rover.limits.high[j] - _STOP:
            statics.stop[j] = -1.0
        for r in range(rows):
            own = rover.limits.basis[j, r - 6] if r >= 6 else 0.0
            matrix[r, 3 * contacts + j] = statics.stop[j] * own
    return contacts


@kernel
def assemble(rover, statics, contacts, friction, unit, pulling, cone):
    """The cone program of a pose: its rows and variables.

    unit: weight times L [N·m], for the drives' torques; pulling: 1 to maximise F, 0 for F = 0.
    """
    A, b, c = cone.A, cone.dual[5], cone.vector[10]
    rows, n = 6 + rover.limits.basis.shape[1], 3 * contacts
    wheels, stops = rover.wheels, rover.chain.parent.size
    width = A.shape[1]
    for r in range(A.shape[0]):
        for i in range(width):
            A[r, i] = 0.0
        b[r] = 0.0
    for i in range(width):
        c[i] = 0.0
    for r in range(rows):
        for i in range(n):
            A[r, i] = statics.matrix[r, i] / (friction if i % 3 == 0 else 1.0)
        b[r] = -statics.weight[r]
    for j in range(stops):
        if statics.stop[j] != 0.0:
            for r in range(rows):
                A[r, n] = statics.matrix[r, 3 * contacts + j]
            n += 1
    if pulling:
        # F + PULL ≥ 0 is the variable
        for r in range(rows):
            A[r, n] = statics.pull[r]
            b[r] += PULL * statics.pull[r]
        c[n] = -1.0
        A[rows, n] = A[rows, n + 1] = 1.0
        b[rows] = 2.0 * PULL
        n, rows = n + 2, rows + 1
    for i in range(contacts):
        A[rows, 3 * i] = 1.0 / friction
    A[rows, n] = 1.0
    b[rows] = LOADS
    n, rows = n + 1, rows + 1
    for k in range(len(wheels.radius)):
        most = wheels.torque[k] / unit
        if most > 0.0 and (most > 1e9 or not pulling):
            continue
        for i in range(3 * contacts):
            A[rows, i] = statics.drive[k, i] / (friction if i % 3 == 0 else 1.0)
        rows += 1
        if most > 0.0:
            # M + s = τ, s + s' = 2 τ
            A[rows - 1, n] = A[rows, n] = A[rows, n + 1] = 1.0
            b[rows - 1], b[rows] = most, 2.0 * most
            n, rows = n + 2, rows + 1
    return rows, n


@inner
def _solved(rover, statics, contacts, friction, unit, pulling, cone):
    rows, n = assemble(rover, statics, contacts, friction, unit, pulling, cone)
    rows = independent_rows(cone.A, cone.dual[5], rows, n)
    # a proof of 1e-5 is one, too: no variable of the program can exceed 100
    tight = 1e-9 if pulling else 1e-5
    return IMPOSSIBLE if rows < 0 else solve_cone(contacts, rows, n, tight, cone)


@inner
def _enough(cone, contacts, friction):
    """The greatest ratio of friction to load in the forces that were found."""
    x, most = cone.vector[0], 0.0
    for k in range(contacts):
        i = 3 * k
        if x[i] > 1e-9:
            most = max(most, friction * math.hypot(x[i + 1], x[i + 2]) / x[i])
    return most


@inner
def _not_enough(cone, contacts, friction):
    """The greatest friction for which a proof that there are no forces holds."""
    s, most = cone.vector[1], math.inf
    for k in range(contacts):
        i = 3 * k
        side = math.hypot(s[i + 1], s[i + 2])
        if side > 1e-12:
            most = min(most, friction * s[i] / side)
    return most


@inner
def pull_and_demand(rover, friction, unit, statics, contacts, cone):
    """Largest pull [weight], NaN if there is none; friction demand, infinite above 3."""
    demand, pull, low, trial = math.inf, math.nan, 0.0, friction
    # the last of the programs is the one with a pull; where it gets stuck, with a little less μ
    tries = 0
    for k in range(40 + _TRIES):
        pulling = k >= 40 or demand - low < _EXACT or low >= STEEPEST
        mu = friction * (1.0 - _LESS * tries) if pulling else trial
        outcome = _solved(rover, statics, contacts, mu, unit, pulling, cone)
        if pulling:
            if outcome == OPTIMAL:
                at = 3 * contacts
                for j in range(len(statics.stop)):
                    at += 1 if statics.stop[j] != 0.0 else 0
                pull = cone.vector[0, at] - PULL
            tries += 1
            if outcome != STUCK or tries == _TRIES:
                break
            continue
        if outcome == OPTIMAL:
            demand = min(demand, _enough(cone, contacts, trial))
        elif outcome == IMPOSSIBLE:
            low = min(max(low, trial, _not_enough(cone, contacts, trial)), demand)
        else:
            # undecided at this friction: look beside it
            low = max(low, trial)
        trial = 0.5 * (low + demand) if demand < math.inf else min(2.0 * low + 0.1, STEEPEST)
    return pull, demand


@kernel
def tip_over_angle(point, contacts, centre):
    """Least angle [rad] of gravity at the centre of mass to the edges of the support polygon."""
    if contacts < 3:
        return math.nan
    start = 0
    for k in range(contacts):
        if point[k, 0] < point[start, 0] or (
            point[k, 0] == point[start, 0] and point[k, 1] < point[start, 1]
        ):
            start = k
    # round the polygon counter-clockwise (Jarvis' march)
    least, at = math.inf, start
    for _ in range(contacts):
        after = 0 if at != 0 else 1
        for k in range(contacts):
            ax, ay = point[after, 0] - point[at, 0], point[after, 1] - point[at, 1]
            bx, by = point[k, 0] - point[at, 0], point[k, 1] - point[at, 1]
            turn = ax * by - ay * bx
            if turn < 0.0 or (turn == 0.0 and bx * bx + by * by > ax * ax + ay * ay):
                after = k
        least = min(least, _edge_angle(point[at], point[after], centre))
        at = after
        if at == start:
            break
    return least


@inner
def _edge_angle(a, b, centre):
    """Angle [rad] between gravity and the direction to an edge, at right angles to it; < 0
    outside.
    """
    ex, ey, ez = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    size = math.sqrt(ex * ex + ey * ey + ez * ez)
    ex, ey, ez = ex / size, ey / size, ez / size
    x, y, z = a[0] - centre[0], a[1] - centre[1], a[2] - centre[2]
    along = x * ex + y * ey + z * ez
    x, y, z = x - along * ex, y - along * ey, z - along * ez
    # gravity (0, 0, −1) at right angles to the edge
    fx, fy, fz = ez * ex, ez * ey, ez * ez - 1.0
    sine = ex * (fy * z - fz * y) + ey * (fz * x - fx * z) + ez * (fx * y - fy * x)
    return math.atan2(-sine, fx * x + fy * y + fz * z)
