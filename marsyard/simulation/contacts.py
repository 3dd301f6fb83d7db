"""Finding contacts and their Jacobians.

Wheels meet the ground through the exact kernels of `interaction.contact_geometry`; other bodies
collide by MuJoCo's shapes. Either way a contact is: two bodies (body1 may be the world), a point, a
gap (positive when open) and a frame whose first row is the normal from body1 into body2, the
second the first tangent (a wheel's heading) and the third the second tangent (to its left).
"""

from __future__ import annotations

import math

from marsyard.c_calls import read_double, read_int32, read_int64
from marsyard.interaction.contact_geometry.frame import wheel_frame
from marsyard.jit import inlined, inner, kernel
from marsyard.simulation.callables import near_contacts
from marsyard.simulation.mujoco_c import call_md, call_mdpppi


@inner
def keep_near(contacts, n, i, key, body, wheel, organ, surface, axis):
    """Near contact i becomes contact n; it acts on the body's surface, not on the ground's."""
    contacts.key[n] = key << 48 ^ contacts.near_feature[i]
    contacts.body1[n] = 0
    contacts.body2[n] = body
    contacts.wheel[n] = wheel
    contacts.organ[n] = organ
    contacts.belt[n] = -1
    contacts.surface[n] = surface
    contacts.gap[n] = contacts.near_gap[i]
    for k in range(3):
        contacts.point[n, k] = (
            contacts.near_point[i, k] + contacts.near_gap[i] * contacts.near_normal[i, k]
        )
    wheel_frame(contacts.near_normal[i], axis, contacts.frame[n])


@inner
def place_part(data, parts, i, place):
    """Centre and axis of shape i of `parts` in the world, into `place`."""
    body = parts.body[i]
    for k in range(3):
        centre = data.xpos[body, k]
        axis = 0.0
        for a in range(3):
            centre += data.xmat[body, 3 * k + a] * parts.position[i, a]
            axis += data.xmat[body, 3 * k + a] * parts.axis[i, a]
        place[0, k] = centre
        place[1, k] = axis


@inner
def contacts_with_ground(F, model, data, wheels, ground, margin, contacts):
    """Fill `contacts` with what is near the ground by the exact kernels; the count, or -1."""
    capacity = contacts.gap.shape[0]
    n = 0
    # wheels on the ground
    for w in range(wheels.body.shape[0]):
        if model.meets_ground[wheels.body[w]] == 0:
            continue
        centre = data.xpos[wheels.body[w]]
        axis = data.xaxis[wheels.joint[w]]
        count = near_contacts(F.contacts, wheels, w, centre, axis, ground, margin, contacts)
        if n + count > capacity:
            return -1
        for i in range(count):
            surface = contacts.near_surface[i]
            keep_near(contacts, n, i, w + 1, wheels.body[w], w, -1, surface, axis)
            n += 1
    # the other discs of conical wheels, and tracks
    parts = wheels.parts
    for i in range(parts.body.shape[0]):
        body = parts.body[i]
        if model.meets_ground[body] == 0:
            continue
        place_part(data, parts, i, contacts.place)
        axis = contacts.place[1]
        count = near_contacts(
            F.contacts, parts, i, contacts.place[0], axis, ground, margin, contacts
        )
        if n + count > capacity:
            return -1
        for j in range(count):
            surface = contacts.near_surface[j]
            w, organ = wheels.part_wheel[i], wheels.part_organ[i]
            keep_near(contacts, n, j, i + 8192, body, w, organ, surface, axis)
            contacts.belt[n] = wheels.part_dof[i]
            contacts.belt_radius[n] = wheels.part_radius[i]
            n += 1
    # other bodies on meshes
    shapes = wheels.shapes
    for i in range(shapes.body.shape[0]):
        body = shapes.body[i]
        if model.meets_ground[body] == 0:
            continue
        place_part(data, shapes, i, contacts.place)
        axis = contacts.place[1]
        count = near_contacts(
            F.contacts, shapes, i, contacts.place[0], axis, wheels.meshes, margin, contacts
        )
        if n + count > capacity:
            return -1
        for j in range(count):
            surface = wheels.mesh_surface[contacts.near_surface[j]]
            organ = model.body_organ[body]
            keep_near(contacts, n, j, i + 4096, body, -1, organ, surface, axis)
            n += 1
    return n


@kernel
def collide(F, m, d, model):
    """MuJoCo's collisions at the present positions. Rows of `make_constraint` are lost."""
    if model.has_collisions:
        call_md(F.collision, m, d)


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


@kernel
def find_contacts(F, O, m, d, model, data, wheels, ground, margin, contacts):
    """Fill `contacts` with everything nearer than `margin`; returns the count, or -1 when there
    are more than fit. Positions (kinematics) and MuJoCo's collisions (`collide`) must be up to
    date. With a margin of −∞ the ground is not hard, and only bodies are looked at."""
    capacity = contacts.gap.shape[0]
    n = 0
    if margin > -math.inf:
        n = contacts_with_ground(F, model, data, wheels, ground, margin, contacts)
        if n < 0:
            return -1
    # other bodies by MuJoCo's shapes
    if model.has_collisions:
        first = read_int64(d + O.contact, 0)
        last1 = -1
        last2 = -1
        ordinal = 0
        for i in range(read_int32(d + O.ncon, 0)):
            at = first + i * O.contact_size
            if read_int32(at + O.contact_exclude, 0) != 0:
                continue
            g1 = read_int32(at + O.contact_geom, 0)
            g2 = read_int32(at + O.contact_geom, 1)
            if g1 < 0 or g2 < 0:
                continue
            surface = max(model.geom_surface[g1], model.geom_surface[g2])
            b1 = model.geom_body[g1]
            b2 = model.geom_body[g2]
            if surface >= 0 and model.meets_ground[max(b1, b2)] == 0:
                continue
            if n >= capacity:
                return -1
            # several points of one pair of geoms are told apart by their order
            ordinal = ordinal + 1 if g1 == last1 and g2 == last2 else 0
            last1, last2 = g1, g2
            contacts.key[n] = -((g1 * 65536 + g2) * 64 + ordinal) - 1
            flip = b2 == 0
            contacts.body1[n] = b2 if flip else b1
            contacts.body2[n] = b1 if flip else b2
            contacts.wheel[n] = -1
            contacts.organ[n] = model.body_organ[b1 if flip else b2] if b1 == 0 or flip else -1
            contacts.belt[n] = -1
            contacts.surface[n] = surface if surface >= 0 else model.between
            contacts.gap[n] = read_double(at + O.contact_dist, 0)
            sign = -1.0 if flip else 1.0
            # mujoco's point lies in the middle of the gap; against the ground, take the body's side
            shift = 0.5 * contacts.gap[n] if contacts.body1[n] == 0 else 0.0
            for k in range(3):
                contacts.frame[n, 0, k] = sign * read_double(at + O.contact_frame, k)
                contacts.point[n, k] = (
                    read_double(at + O.contact_pos, k) + shift * contacts.frame[n, 0, k]
                )
                contacts.frame[n, 1, k] = read_double(at + O.contact_frame, 3 + k)
                contacts.frame[n, 2, k] = sign * read_double(at + O.contact_frame, 6 + k)
            n += 1
    return n


@inner
def contact_jacobian(F, m, d, nv, contacts, c, jac1, jac2, rows, first):
    """rows[first:first+3] = frame · (point Jacobian of body2 − that of body1).

    The surface of a belt moves along itself as well, against the heading.
    """
    point = contacts.point[c].ctypes.data
    call_mdpppi(F.jac, m, d, jac2.ctypes.data, 0, point, contacts.body2[c])
    if contacts.body1[c] > 0:
        call_mdpppi(F.jac, m, d, jac1.ctypes.data, 0, point, contacts.body1[c])
        for j in range(nv):
            jac2[0, j] -= jac1[0, j]
            jac2[1, j] -= jac1[1, j]
            jac2[2, j] -= jac1[2, j]
    frame = contacts.frame[c]
    for k in range(3):
        a, b, e = frame[k, 0], frame[k, 1], frame[k, 2]
        for j in range(nv):
            rows[first + k, j] = a * jac2[0, j] + b * jac2[1, j] + e * jac2[2, j]
    if contacts.belt[c] >= 0:
        rows[first + 1, contacts.belt[c]] -= contacts.belt_radius[c]


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
def limit_contacts(O, d, nv, n, contacts):
    """Joint limits as frictionless contacts without tangents, after the first n contacts."""
    first = read_int32(d + O.ne, 0) + read_int32(d + O.nf, 0)
    jacobian = read_int64(d + O.efc_J, 0)
    position = read_int64(d + O.efc_pos, 0)
    for i in range(read_int32(d + O.nl, 0)):
        if n >= contacts.gap.shape[0]:
            return -1
        contacts.key[n] = -(1 << 50) - i
        contacts.body1[n] = -1
        contacts.body2[n] = -1
        contacts.wheel[n] = -1
        contacts.organ[n] = -1
        contacts.belt[n] = -1
        contacts.surface[n] = -1
        contacts.bound[n] = 0.0
        contacts.pressed[n] = -1.0
        contacts.gap[n] = read_double(position, first + i)
        for j in range(nv):
            contacts.jacobian[3 * n, j] = read_double(jacobian, (first + i) * nv + j)
            contacts.jacobian[3 * n + 1, j] = 0.0
            contacts.jacobian[3 * n + 2, j] = 0.0
        n += 1
    return n
