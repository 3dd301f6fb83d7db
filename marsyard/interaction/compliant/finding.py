"""Which elements of compliant contact touch the ground, and how they stand in it.

Distances to the ground change by no more than a point moves: a ball around elements that was g away
from the ground (or g inside it) cannot touch (or leave) before its middle has moved by g. Balls
stand in a hierarchy, parents first; most are passed by with one comparison. An element is looked at
through a ball inside the body that touches the surface at its middle, since the exact kernels see
ground only from outside: on a mesh down to about 0.8 of that ball's radius. Where it sees several
places, the one counts that lies most nearly under the element, a deeper one before a shallower.

Planes are looked at directly. Elements that may touch one are listed, each with a lower bound of
its distance; an element cannot touch before the body has moved by more than this along the normal.
The list is made again when an element outside it might touch. Only what cannot touch is left out:
the result does not depend on when the list was made, to the last bit.

The elements of a belt are material, too: they move along its outline with the sprocket's angle.
"""

from __future__ import annotations

import math

from numba import types

from marsyard.c_calls import void_call
from marsyard.interaction.compliant.elements import RADIUS, ROW
from marsyard.interaction.compliant.law import (
    FACING,
    all_in_ground,
    arc_ends,
    immersed,
    middle_of_arc,
    part_of_arc,
    whole_arc,
)
from marsyard.interaction.contact_geometry.kinds import SPHERE
from marsyard.jit import FUSED, inlined, inner, kernel

# what is called for every ball or element is inlined: handing over all these arrays would cost more
# than its work

# columns of CompliantArrays.numbers
STIFFNESS, DAMPING, INSIDE, FAR = range(4)
#: of the ball with which a group of elements looks for ground [m]
SMALL = 0.01
#: a difference of depth below this is none [m]
LEVEL = 1e-12
# columns of CompliantArrays.listed_at: pose when the list was made (12), how far the body may move
# until it is made again [m], evaluations since then, boxes around all elements and around those in
# the list (6 each)
W_VALID, W_USED, W_ALL, W_NEAR = 12, 13, 14, 20
LISTED = 26
#: for how many evaluations a list should do, its margin [m], and by how much bounds may be wrong
USES = 64
LEAST_MARGIN, MOST_MARGIN, ROUNDING = 1e-5, 5e-3, 1e-10
#: elements that have to turn by more than this to face a plane are not in the list [rad]
SPARE = 0.05

_P, _I, _D = types.int64, types.int64, types.float64
_call_contacts = void_call((_I, _D, _D, _P, _P, _P, _I, _D, _I, _P, _P, _P, _P, _P, _P))
_call_distance = void_call((_I, _D, _D, _P, _P, _P, _I, _I, _P))


@inlined
def look(C, radius, margin):
    """Contacts of a ball at C.scratch[0] nearer than margin; returns how many, and the smallest
    gap."""
    _call_contacts(
        C.geometry[0], SPHERE, radius, 0.0, C.scratch[0].ctypes.data, C.scratch[1].ctypes.data,
        C.ground.ctypes.data, C.ground.shape[0], margin, C.near_gap.shape[0],
        C.near_point.ctypes.data, C.near_normal.ctypes.data, C.near_gap.ctypes.data,
        C.near_surface.ctypes.data, C.near_feature.ctypes.data, C.near_count.ctypes.data,
    )  # fmt: skip
    gap = margin
    for i in range(C.near_count[0]):
        gap = min(gap, C.near_gap[i])
    return C.near_count[0], gap


@inlined
def remember(C, seen, gap):
    """Keep where something was looked at, and what was found."""
    seen[0], seen[1], seen[2] = C.scratch[0, 0], C.scratch[0, 1], C.scratch[0, 2]
    seen[3] = gap


@inlined(fastmath=FUSED)
def to_world(o, R, local, out):
    """out = o + R local."""
    x, y, z = local[0], local[1], local[2]
    out[0] = o[0] + R[0] * x + R[1] * y + R[2] * z
    out[1] = o[1] + R[3] * x + R[4] * y + R[5] * z
    out[2] = o[2] + R[6] * x + R[7] * y + R[8] * z


@inlined
def moved(seen, p):
    """How far p is from where it was last looked at."""
    x, y, z = p[0] - seen[0], p[1] - seen[1], p[2] - seen[2]
    return math.sqrt(x * x + y * y + z * z)


@inlined
def away(C, c):
    """Whether ball c, at C.scratch[0], is away from the ground."""
    p = C.scratch[0]
    if C.plane.shape[0] > 0:
        for i in range(C.plane.shape[0]):
            n = C.plane[i]
            if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - n[3] < C.ball[c, 3]:
                return False
        return True
    seen = C.ball_seen[c]
    way = moved(seen, p)
    if way < seen[3]:
        return True
    if way < -seen[3]:
        return False
    # a small ball with a wide margin: one of that size could have its middle too near to be seen
    radius = C.ball[c, 3] - SMALL
    _, gap = look(C, SMALL, radius + C.numbers[FAR])
    remember(C, seen, gap - radius)
    return gap > radius


@inner
def search_near(C, b, pose):
    """List the elements of body b in the balls that are not away from the ground."""
    o, R, p = pose, pose[3:], C.scratch[0]
    first = C.range[b, 0]
    count = 0
    c = C.balls[b, 0]
    while c < C.balls[b, 1]:
        to_world(o, R, C.ball[c], p)
        if away(C, c):
            c = C.ball_next[c, 0]
            continue
        for e in range(C.ball_next[c, 1], C.ball_next[c, 2]):
            C.listed[first + count] = e
            C.listed_gap[first + count] = -math.inf
            count += 1
        c = C.ball_next[c, 0] if C.ball_next[c, 2] > C.ball_next[c, 1] else c + 1
    C.listed_count[b] = count


@inlined
def moved_since(C, b, pose, box):
    """How far points in the box, in the frame of body b, have moved along the planes' normals at
    most since the list was made [m]; infinite if it has turned by more than SPARE."""
    w = C.listed_at[b]
    most = 0.0
    for i in range(C.plane.shape[0]):
        n = C.plane[i]
        middle = 0.0
        reach = 0.0
        angle = 0.0
        for k in range(3):
            middle += n[k] * (pose[k] - w[k])
            turned = 0.0
            for j in range(3):
                turned += n[j] * (pose[3 + 3 * j + k] - w[3 + 3 * j + k])
            middle += 0.5 * (box[k] + box[3 + k]) * turned
            reach += 0.5 * (box[3 + k] - box[k]) * abs(turned)
            angle += turned * turned
        if angle > SPARE * SPARE:
            return math.inf
        most = max(most, abs(middle) + reach)
    return most


@inner
def update_near(C, b, pose):
    """On planes: list the elements of body b that may touch, unless the list is still good; how far
    those in it have moved since it was made [m]."""
    w = C.listed_at[b]
    margin = LEAST_MARGIN
    if C.listed_count[b] >= 0:
        moved = moved_since(C, b, pose, w[W_ALL:])
        w[W_USED] += 1.0
        if moved + ROUNDING < w[W_VALID]:
            if C.listed_count[b] == 0:
                return 0.0
            return moved_since(C, b, pose, w[W_NEAR:]) + ROUNDING
        margin = max(USES * moved / w[W_USED], LEAST_MARGIN)
        if not margin < MOST_MARGIN:
            margin = MOST_MARGIN
    list_near(C, b, pose, margin)
    return ROUNDING


@inner
def list_near(C, b, pose, margin):
    """List the elements of body b that are nearer to a plane than the margin."""
    w, q = C.listed_at[b], C.scratch[0]
    whole, listed = w[W_ALL:], w[W_NEAR:]
    o, R = pose, pose[3:]
    for k in range(12):
        w[k] = pose[k]
    for k in range(3):
        whole[k] = listed[k] = math.inf
        whole[3 + k] = listed[3 + k] = -math.inf
    valid = math.inf
    first = C.range[b, 0]
    count = 0
    for e in range(first, C.range[b, 1]):
        x, m = C.place[e], C.normal[e]
        to_world(o, R, x, q)
        gap = math.inf
        for i in range(C.plane.shape[0]):
            n = C.plane[i]
            faces = 0.0
            for k in range(3):
                faces += m[k] * (n[0] * R[k] + n[1] * R[3 + k] + n[2] * R[6 + k])
            if faces < FACING + SPARE:
                # what it reaches out by where it is tilted
                tilted = min(math.sqrt(max(1.0 - faces * faces, 0.0)) + SPARE, 1.0)
                reach = C.size[e, 2] * tilted
                gap = min(gap, n[0] * q[0] + n[1] * q[1] + n[2] * q[2] - n[3] - reach)
        for k in range(3):
            whole[k], whole[3 + k] = min(whole[k], x[k]), max(whole[3 + k], x[k])
        if gap > margin:
            valid = min(valid, gap)
            continue
        for k in range(3):
            listed[k], listed[3 + k] = min(listed[k], x[k]), max(listed[3 + k], x[k])
        C.listed[first + count] = e
        C.listed_gap[first + count] = gap
        count += 1
    C.listed_count[b] = count
    w[W_VALID], w[W_USED] = valid, 0.0


@inner
def move_belt(C, angle, b):
    """Bring the elements of a belt to where the sprocket's angle has taken them."""
    first, points = C.belt[b, 0], C.belt[b, 1] - C.belt[b, 0]
    length = C.belt_size[b, 1]
    gone = C.belt_size[b, 0] * angle
    inside = C.numbers[INSIDE]
    for c in range(C.balls[b, 0], C.balls[b, 1]):
        start = C.ball_next[c, 1]
        at = (C.along[start] - gone) / length
        at = (at - math.floor(at)) * points
        i = min(int(at), points - 1)
        part = at - i
        j = first + (i + 1 if i + 1 < points else 0)
        i += first
        x = C.outline[i, 0] + part * (C.outline[j, 0] - C.outline[i, 0])
        z = C.outline[i, 1] + part * (C.outline[j, 1] - C.outline[i, 1])
        nx = C.outline[i, 2] + part * (C.outline[j, 2] - C.outline[i, 2])
        nz = C.outline[i, 3] + part * (C.outline[j, 3] - C.outline[i, 3])
        size = math.sqrt(nx * nx + nz * nz)
        nx /= size
        nz /= size
        for e in range(start, C.ball_next[c, 2]):
            C.place[e, 0], C.place[e, 2] = x, z
            C.normal[e, 0], C.normal[e, 1], C.normal[e, 2] = nx, 0.0, nz
        C.ball[c, 0], C.ball[c, 2] = x - inside * nx, z - inside * nz


@inlined(fastmath=FUSED)
def deepest_plane(C):
    """Surface (−1: none) and depth [m] of the plane in which the element at C.scratch[2] with the
    normal C.scratch[3] stands deepest; its normal into C.scratch[4]."""
    q, m, out = C.scratch[2], C.scratch[3], C.scratch[4]
    surface = -1
    depth = -math.inf
    for i in range(C.plane.shape[0]):
        n = C.plane[i]
        under = n[3] - n[0] * q[0] - n[1] * q[1] - n[2] * q[2]
        if under > depth and n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < FACING:
            surface, depth = C.plane_surface[i], under
            out[0], out[1], out[2] = n[0], n[1], n[2]
    return surface, depth


@inlined
def nearest_place(C, e):
    """As `deepest_plane` for any ground: the place most nearly under element e."""
    q, m, out, inner = C.scratch[2], C.scratch[3], C.scratch[4], C.scratch[0]
    radius, reach = C.numbers[INSIDE], C.size[e, 2]
    for k in range(3):
        inner[k] = q[k] - radius * m[k]
    seen = C.seen[e]
    if moved(seen, inner) < seen[3] - reach:
        return -1, 0.0
    found, gap = look(C, radius, 0.5 * C.numbers[FAR] + reach)
    remember(C, seen, gap)
    surface = -1
    depth = 0.0
    best = math.inf
    for i in range(found):
        n = C.near_normal[i]
        if n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > FACING:
            continue
        x = C.near_point[i]
        dx, dy, dz = x[0] - q[0], x[1] - q[1], x[2] - q[2]
        under = dx * n[0] + dy * n[1] + dz * n[2]
        beside = math.sqrt(max(dx * dx + dy * dy + dz * dz - under * under, 0.0))
        if beside - under < best:
            best = beside - under
            surface, depth = C.near_surface[i], under
            out[0], out[1], out[2] = n[0], n[1], n[2]
    return surface, depth


@inlined(fastmath=FUSED)
def stand(C, e, R, depth):
    """Mean depth [m] of element e and the part of it in the ground, whose normal is C.scratch[4].

    Its place C.scratch[2] goes to where its force acts; the middle of its elastic pressure into
    C.scratch[5], the spread of what is in the ground, a vector [m], into C.scratch[3]."""
    if C.arc[e, RADIUS] > 0.0:
        return stand_on_arc(C, e, R, depth)
    q, m, n = C.scratch[2], C.scratch[3], C.scratch[4]
    cosine = -(n[0] * m[0] + n[1] * m[1] + n[2] * m[2])
    slant = math.sqrt(max(1.0 - cosine * cosine, 0.0))
    mean, part, shift = immersed(depth, slant, C.size[e, 1])
    if slant > 1e-9:
        for k in range(3):
            q[k] -= shift / slant * (n[k] + cosine * m[k])
    for k in range(3):
        C.scratch[5, k] = q[k]
        m[k] = 0.0
    return mean, part


@inlined(fastmath=FUSED)
def stand_on_arc(C, e, R, depth):
    """As `stand`, in two rows across: at different depths where the element is tilted."""
    n, arc, m = C.scratch[4], C.arc[e], C.normal[e]
    ox, oy, oz, ax, ay, az = arc[0], arc[1], arc[2], arc[3], arc[4], arc[5]
    # in the body's frame: the ground's normal, and the way across
    nx = R[0] * n[0] + R[3] * n[1] + R[6] * n[2]
    ny = R[1] * n[0] + R[4] * n[1] + R[7] * n[2]
    nz = R[2] * n[0] + R[5] * n[1] + R[8] * n[2]
    cx, cy, cz = m[1] * az - m[2] * ay, m[2] * ax - m[0] * az, m[0] * ay - m[1] * ax
    down, ahead = -(nx * ox + ny * oy + nz * oz), -(nx * ax + ny * ay + nz * az)
    tilt, widens = nx * cx + ny * cy + nz * cz, ox * cx + oy * cy + oz * cz
    # it lies above its tangent
    if depth + 0.5 * C.size[e, 1] * abs(ahead) + arc[ROW] * abs(tilt) <= 0.0:
        return 0.0, 0.0
    # where the arc is deepest, from the element's middle
    steep = math.sqrt(down * down + ahead * ahead)
    if steep == 0.0:
        return 0.0, 0.0
    ct, st = down / steep, ahead / steep
    half = C.half[e]
    al, cl, ah, ch = arc_ends(ct, -st, half[1], half[2])
    inverse = 0.5 / half[0]
    centre, scatter = middle_of_arc(al, cl, ah, ch, inverse)
    level = math.sqrt(1.0 - centre * centre)
    rows = 2 if abs(tilt) * arc[ROW] > LEVEL else 1
    # of force and of pressure: across, outwards and ahead
    mean = part = spread = 0.0
    f_across = f_out = f_ahead = p_across = p_out = p_ahead = 0.0
    for i in range(rows):
        beside = 0.0 if rows == 1 else (arc[ROW] if i == 0 else -arc[ROW])
        radius = arc[RADIUS] + beside * widens
        deepest = depth - beside * tilt + radius * (steep - down)
        if deepest <= 0.0:
            continue
        share, sine, wide, cosine = 1.0, centre, scatter, level
        if all_in_ground(deepest, radius * steep, al, cl, ah, ch):
            own, pressed = whole_arc(
                deepest, radius * steep, al, cl, ah, ch, 2.0 * half[0], inverse
            )
        else:
            own, share, pressed, sine, wide = part_of_arc(
                deepest, radius * steep, half[0], al, cl, ah, ch
            )
            cosine = math.sqrt(1.0 - sine * sine)
        if own <= 0.0:
            continue
        mean += own
        part += share
        spread += share * radius * radius * wide
        f_across += share * beside
        f_out += share * radius * (cosine * ct - sine * st - 1.0)
        f_ahead += share * radius * (sine * ct + cosine * st)
        cosine = math.sqrt(1.0 - pressed * pressed)
        p_across += own * beside
        p_out += own * radius * (cosine * ct - pressed * st - 1.0)
        p_ahead += own * radius * (pressed * ct + cosine * st)
    if mean <= 0.0:
        return 0.0, 0.0
    q, p = C.scratch[2], C.scratch[5]
    by_mean, by_part, spread = 1.0 / mean, 1.0 / part, math.sqrt(spread / part)
    for k in range(3):
        across = R[3 * k] * cx + R[3 * k + 1] * cy + R[3 * k + 2] * cz
        out = R[3 * k] * ox + R[3 * k + 1] * oy + R[3 * k + 2] * oz
        along = R[3 * k] * ax + R[3 * k + 1] * ay + R[3 * k + 2] * az
        p[k] = q[k] + by_mean * (p_across * across + p_out * out + p_ahead * along)
        q[k] += by_part * (f_across * across + f_out * out + f_ahead * along)
        C.scratch[3, k] = spread * (ct * along - st * out)
    return mean / rows, part / rows


@inlined
def ground_distance(C, p):
    """Distance of the point p to the nearest surface [m], negative inside."""
    least = math.inf
    for s in range(C.friction.shape[0]):
        _call_distance(
            C.geometry[1], SPHERE, 0.0, 0.0, p.ctypes.data, C.scratch[1].ctypes.data,
            C.ground.ctypes.data, C.ground.shape[0], s, C.answer.ctypes.data,
        )  # fmt: skip
        least = min(least, C.answer[0])
    return least


@kernel
def smallest_element_gap(A, C):
    """Smallest distance of the elements to the ground [m], at any distance, and its attachment;
    poses must be up to date. Balls that are further away than what is found already are passed
    by."""
    least = math.inf
    nearest = -1
    for b in range(C.balls.shape[0]):
        o, R = A.pose[b, 0], A.pose[b, 0, 3:]
        if C.belt[b, 0] >= 0:
            move_belt(C, A.coordinate[b, 6], b)
        p, q = C.scratch[0], C.scratch[2]
        c = C.balls[b, 0]
        while c < C.balls[b, 1]:
            if least < math.inf:
                # around the balls inside the body through which elements are seen
                to_world(o, R, C.ball[c], p)
                reach = C.ball[c, 3] + C.numbers[INSIDE]
                if ground_distance(C, p) - reach >= least:
                    c = C.ball_next[c, 0]
                    continue
            for e in range(C.ball_next[c, 1], C.ball_next[c, 2]):
                to_world(o, R, C.place[e], q)
                gap = ground_distance(C, q)
                if gap < least:
                    least = gap
                    nearest = b
            c = C.ball_next[c, 0] if C.ball_next[c, 2] > C.ball_next[c, 1] else c + 1
    return least, nearest
