"""Rows of a step's problem: those of laws (`interaction.rows`), joint limits and loop closures.

Laws add contacts, of which the engine makes Jacobians here; MuJoCo gives the rows of joint limits
and loops with their Jacobians, as parts of the robot's model.
"""

from __future__ import annotations

import math

from marsyard.c_calls import read_double, read_int32, read_int64
from marsyard.interaction.rows import LIMIT, POINT, SPIN, add_row
from marsyard.jit import inlined, inner, kernel
from marsyard.simulation.attached import ROWS, call_law
from marsyard.simulation.mujoco_c import call_md, call_mdpppi


@kernel
def collide(F, m, d, model):
    """MuJoCo's collisions at the present positions. Rows of `make_constraint` are lost."""
    if model.has_collisions:
        call_md(F.collision, m, d)


@inner
def take_meetings(O, d, model, meetings):
    """Copy what MuJoCo's collision detection has found; False if it does not fit."""
    meetings.found[0] = 0
    if not model.has_collisions:
        return True
    first = read_int64(d + O.contact, 0)
    n = 0
    for i in range(read_int32(d + O.ncon, 0)):
        at = first + i * O.contact_size
        g1 = read_int32(at + O.contact_geom, 0)
        g2 = read_int32(at + O.contact_geom, 1)
        if read_int32(at + O.contact_exclude, 0) != 0 or g1 < 0 or g2 < 0:
            continue
        if n >= meetings.gap.shape[0]:
            return False
        meetings.geom[n, 0], meetings.geom[n, 1] = g1, g2
        meetings.gap[n] = read_double(at + O.contact_dist, 0)
        for k in range(3):
            meetings.point[n, k] = read_double(at + O.contact_pos, k)
            for a in range(3):
                meetings.frame[n, k, a] = read_double(at + O.contact_frame, 3 * k + a)
        n += 1
    meetings.found[0] = n
    return True


@kernel
def collect_rows(O, d, model, laws, margin, flag):
    """Have all laws add their rows nearer than `margin`; returns how many there are, or −1 when
    there are more than fit. Positions (kinematics) and MuJoCo's collisions (`collide`) must be up
    to date."""
    R = laws.rows
    R.used[0] = 0
    R.margin[0] = margin
    if not take_meetings(O, d, model, laws.meetings):
        return -1
    for l in range(laws.calls.shape[0]):
        R.law[0] = l
        if call_law(laws, l, ROWS, 0.0, 0.0, 0.0, flag) != 0:
            return -1
    return R.used[0]


@inlined
def row_jacobian(F, m, d, nv, R, c, jac1, jac2, out, first):
    """out[first:first+3]: the velocities that contact c resists, by degree of freedom."""
    if R.kind[c] == POINT:
        point_jacobian(F, m, d, nv, R, c, jac1, jac2, out, first)
    else:
        rotation_jacobian(F, m, d, nv, R, c, jac1, out, first)


@inner
def point_jacobian(F, m, d, nv, R, c, jac1, jac2, out, first):
    """out[first:first+3] = frame · (point Jacobian of body2 − that of body1).

    The surface of a belt moves along itself as well, against the heading.
    """
    point = R.point[c].ctypes.data
    call_mdpppi(F.jac, m, d, jac2.ctypes.data, 0, point, R.body2[c])
    if R.body1[c] > 0:
        call_mdpppi(F.jac, m, d, jac1.ctypes.data, 0, point, R.body1[c])
        for j in range(nv):
            jac2[0, j] -= jac1[0, j]
            jac2[1, j] -= jac1[1, j]
            jac2[2, j] -= jac1[2, j]
    frame = R.frame[c]
    for k in range(3):
        a, b, e = frame[k, 0], frame[k, 1], frame[k, 2]
        for j in range(nv):
            out[first + k, j] = a * jac2[0, j] + b * jac2[1, j] + e * jac2[2, j]
    if R.belt[c] >= 0:
        out[first + 1, R.belt[c]] -= R.belt_radius[c]


@inner
def rotation_jacobian(F, m, d, nv, R, c, jac, out, first):
    """Rows of the relative angular velocity, times a length: along both tangents (ROLL), or along
    the normal (SPIN). There is none along the normal of the problem."""
    spin, length, frame = R.kind[c] == SPIN, R.length[c], R.frame[c]
    for k in range(3):
        for j in range(nv):
            out[first + k, j] = 0.0
    point = R.point[c].ctypes.data
    for side in range(2):
        body = R.body2[c] if side == 0 else R.body1[c]
        if body <= 0:
            continue
        sign = length if side == 0 else -length
        call_mdpppi(F.jac, m, d, 0, jac.ctypes.data, point, body)
        for k in range(1, 3):
            if spin and k == 2:
                continue
            t = frame[0] if spin else frame[k]
            for j in range(nv):
                out[first + k, j] += sign * (t[0] * jac[0, j] + t[1] * jac[1, j] + t[2] * jac[2, j])


@inner
def bilateral_rows(O, d, nv, contacts):
    """Copy MuJoCo's equality rows (loop closures) into `rows`; their position errors into
    `bilateral`. Returns the count, or -1 when there are more than fit."""
    count = read_int32(d + O.ne, 0)
    if count > contacts.bilateral.shape[0]:
        return -1
    jacobian = read_int64(d + O.efc_J, 0)
    position = read_int64(d + O.efc_pos, 0)
    ids = read_int64(d + O.efc_id, 0)
    place = 0
    for i in range(count):
        # the three rows of a point, the three of a rotation, and single ones keep together
        place = place + 1 if i > 0 and read_int32(ids, i) == read_int32(ids, i - 1) else 0
        contacts.bilateral_group[i] = 2 * read_int32(ids, i) + (1 if place >= 3 else 0)
        contacts.bilateral[i] = read_double(position, i)
        for j in range(nv):
            contacts.rows[i, j] = read_double(jacobian, i * nv + j)
    return count


@inner
def add_limits(O, d, nv, R, contacts):
    """Joint limits as frictionless contacts without tangents, after all others; returns how many
    there are now, or -1 when there are more than fit."""
    first = read_int32(d + O.ne, 0) + read_int32(d + O.nf, 0)
    jacobian = read_int64(d + O.efc_J, 0)
    position = read_int64(d + O.efc_pos, 0)
    R.law[0] = -1
    for i in range(read_int32(d + O.nl, 0)):
        c = add_row(R, i, -1, -1, read_double(position, first + i))
        if c < 0:
            return -1
        R.kind[c] = LIMIT
        for j in range(nv):
            contacts.jacobian[3 * c, j] = read_double(jacobian, (first + i) * nv + j)
            contacts.jacobian[3 * c + 1, j] = 0.0
            contacts.jacobian[3 * c + 2, j] = 0.0
    return R.used[0]


# --- rows whose normal impulse is given


@inlined
def is_given(R, c):
    """Whether the normal impulse of contact c is given."""
    return R.kind[c] != POINT and R.kind[c] != LIMIT


@inner
def bind_given(n, R, contacts):
    """Fill the diagonal of the Delassus matrix where there is no normal row."""
    W = contacts.delassus
    for i in range(n):
        if is_given(R, contacts.active[i]):
            w = max(W[3 * i + 1, 3 * i + 1], W[3 * i + 2, 3 * i + 2])
            w = w if w > 0.0 else 1.0
            W[3 * i, 3 * i] = w
            for k in range(1, 3):
                if W[3 * i + k, 3 * i + k] == 0.0:
                    W[3 * i + k, 3 * i + k] = w


@inner
def press_given(n, R, contacts):
    """Have them carry what is given: with any w > 0 on the diagonal and q_N = −w p,

    0 ≤ u_N = w p_N + q_N ⊥ p_N ≥ 0   ⇒   p_N = p.
    """
    for i in range(n):
        c = contacts.active[i]
        if is_given(R, c):
            contacts.q[3 * i] = -contacts.delassus[3 * i, 3 * i] * R.pressed[c]


# --- how far bodies move


@inner
def most_displaced(F, m, d, data, wheels, a, v, b, w, jac1, jac2):
    """The largest sum of two displacements, a times that by the velocity v and b times that by w,
    of any point that may touch the ground [m], or a little more."""
    most = 0.0
    for i in range(wheels.bodies.shape[0]):
        body = wheels.bodies[i]
        origin = data.xpos[body].ctypes.data
        call_mdpppi(F.jac, m, d, jac1.ctypes.data, jac2.ctypes.data, origin, body)
        way = a * fastest_point(jac1, jac2, v, wheels.extent[i])
        if b > 0.0:
            way += b * fastest_point(jac1, jac2, w, wheels.extent[i])
        most = max(most, way)
    return most


@inlined
def fastest_point(linear, angular, v, extent):
    """|J v| + extent |J_R v|, a bound on the speed of all points of a body."""
    moved = 0.0
    turned = 0.0
    for k in range(3):
        x = 0.0
        y = 0.0
        for j in range(v.shape[0]):
            x += linear[k, j] * v[j]
            y += angular[k, j] * v[j]
        moved += x * x
        turned += y * y
    return math.sqrt(moved) + extent * math.sqrt(turned)
