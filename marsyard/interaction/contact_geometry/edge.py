"""One wheel and one convex (or open) edge.

The unit normals an edge offers form an arc n(θ) = n₁ cos θ + t₁ sin θ, 0 <= θ <= θ₁, from the
normal n₁ of its first face to that of the second (an open edge: to the direction that points away
from its face in its plane), all perpendicular to the edge's direction e. With D = centre - q,
q the start of the edge, and s = n·a, k = sqrt(1 - s²),

    f(θ) = min_w n·(w - q) = D·n - rho k - half |s| - r
    f'(θ) = D·t + rho s s'/k - half sign(s) s',      t = n'(θ), s' = t·a

is the gap seen along n(θ). The contact is where f is largest inside the arc: f' falls from positive
to negative. f'(0) <= 0 leaves it to the first face, f'(θ₁) >= 0 to the second. Where s changes
sign, f of a cylinder has a kink: there the tread between the rims touches.
"""

from __future__ import annotations

import math

from marsyard.jit import inlined, kernel

# a disc no deeper than half its radius has a second peak only if (n₁·a)² + (t₁·a)² is above this
TWO_PEAKS = 0.5

# what `solve_edge` found
NOTHING, RIM, TREAD = 0, 1, 2


@inlined
def _slope(c, si, sigma, P, Q, A, B, rho, half):
    """f'(θ) and f''(θ), given cos θ and sin θ, on the side of the kink where sign(s) = sigma."""
    s = A * c + B * si
    ds = B * c - A * si
    k2 = max(1.0 - s * s, 1e-24)
    k = math.sqrt(k2)
    first = Q * c - P * si + rho * s * ds / k - half * sigma * ds
    bend = (ds * ds - s * s) / k + s * s * ds * ds / (k2 * k)
    second = -(P * c + Q * si) + rho * bend + half * sigma * s
    return first, second


@kernel
def _peak(c_low, s_low, c_high, s_high, sigma, P, Q, A, B, rho, half):
    """Where f' falls through zero between two angles, or -1: Newton kept inside a bracket.

    The ends are given by their cosines and sines, so that edges that do not touch cost no
    trigonometric function.
    """
    first, _ = _slope(c_low, s_low, sigma, P, Q, A, B, rho, half)
    if not first > 0.0:
        return -1.0
    last, _ = _slope(c_high, s_high, sigma, P, Q, A, B, rho, half)
    if not last < 0.0:
        return -1.0
    low = math.atan2(s_low, c_low)
    high = math.atan2(s_high, c_high)
    # a sphere, or an edge parallel to the axis, has its peak here
    theta = math.atan2(Q, P)
    if not low < theta < high:
        theta = 0.5 * (low + high)
    elif A * A + B * B < 1e-24 or rho + half == 0.0:
        return theta
    for _ in range(80):
        first, second = _slope(math.cos(theta), math.sin(theta), sigma, P, Q, A, B, rho, half)
        if first > 0.0:
            low = theta
        else:
            high = theta
        step = -first / second if second < 0.0 else math.inf
        if abs(step) < 1e-15 or high - low < 1e-15:
            break
        if low < theta + step < high:
            theta += step
        else:
            theta = 0.5 * (low + high)
    return theta


@kernel
def _peak_in_parts(c_end, s_end, P, Q, A, B, rho, half):
    """The highest peak on the whole arc, cut where n is nearest to the axis and normal to it.

    Between these angles f has no more than one peak; a wheel that is thin for its depth has one
    on either side. Returns what was found, its angle, and the side of the axis (see solve_edge).
    """
    size = math.sqrt(A * A + B * B)
    flip = 1.0 if B >= 0.0 else -1.0
    c_near, s_near = flip * A / size, flip * B / size
    flip = 1.0 if A >= 0.0 else -1.0
    c_kink, s_kink = -flip * B / size, flip * A / size
    # a kink just outside the arc is on its end
    if s_kink < 1e-9:
        c_kink, s_kink = 1.0, 0.0

    what, theta, share, best = NOTHING, -1.0, 0.0, -math.inf
    c_low, s_low = 1.0, 0.0
    for part in range(3):
        # next end: the inner angles in order (larger cosine first), then the arc's own end
        c_high, s_high = c_end, s_end
        if part < 2:
            near_first = c_near >= c_kink
            if near_first == (part == 0):
                c_high, s_high = c_near, s_near
            else:
                c_high, s_high = c_kink, s_kink
            if c_high < c_end:
                c_high, s_high = c_end, s_end
        # the rim that supports in this part
        sigma = 1.0 if A * (c_low + c_high) + B * (s_low + s_high) > 0.0 else -1.0
        found = _peak(c_low, s_low, c_high, s_high, sigma, P, Q, A, B, rho, half)
        if found >= 0.0:
            c, si = math.cos(found), math.sin(found)
            s = A * c + B * si
            f = P * c + Q * si - rho * math.sqrt(max(1.0 - s * s, 0.0)) - half * abs(s)
            if f > best:
                what, theta, share, best = RIM, found, -sigma, f
        c_low, s_low = c_high, s_high

    # the kink itself: f' jumps down through zero, the tread touches between the rims
    if half > 0.0 and c_kink >= c_end:
        ds = B * c_kink - A * s_kink
        base = Q * c_kink - P * s_kink
        if abs(base) <= half * abs(ds) and P * c_kink + Q * s_kink - rho > best:
            what, theta, share = TREAD, math.atan2(s_kink, c_kink), -base / ds / half
    return what, theta, share


@inlined
def solve_edge(edge, i, thick, rho, half, ball, cx, cy, cz, ax, ay, az):
    """The contact of one wheel with edge i, not yet cut to the edge's length.

    Args:
        thick: True if the edge does not enter the wheel's core, where f has a single peak.

    Returns:
        what: NOTHING, RIM (one support point) or TREAD (between the rims of a cylinder).
        theta: angle of the normal in the arc [rad].
        middle: gap at mid-width of the wheel [m]; the rim on the ±a side has middle ± half s.
        place: coordinate of the wheel's mid-width along the edge from its start [m].
        share: where along the axis the contact is, from -1 to 1 (in half widths).
    """
    dx = cx - edge[i, 0]
    dy = cy - edge[i, 1]
    dz = cz - edge[i, 2]
    P = dx * edge[i, 7] + dy * edge[i, 8] + dz * edge[i, 9]
    Q = dx * edge[i, 10] + dy * edge[i, 11] + dz * edge[i, 12]
    A = ax * edge[i, 7] + ay * edge[i, 8] + az * edge[i, 9]
    B = ax * edge[i, 10] + ay * edge[i, 11] + az * edge[i, 12]
    c_end, s_end = edge[i, 14], edge[i, 15]
    what, theta, share = RIM, -1.0, 0.0
    if A * A + B * B < 1e-24:
        # edge parallel to the axis: the whole tread touches
        theta = _peak(1.0, 0.0, c_end, s_end, 0.0, P, Q, 0.0, 0.0, rho, 0.0)
        what = TREAD
    elif half > 0.0:
        what, theta, share = _peak_in_parts(c_end, s_end, P, Q, A, B, rho, half)
    else:
        theta = _peak(1.0, 0.0, c_end, s_end, 0.0, P, Q, A, B, rho, 0.0)
        # f bends upwards where D·n < rho s'², s' <= |(A, B)|: only there it has a second peak
        if theta < 0.0 and not thick and A * A + B * B > TWO_PEAKS:
            what, theta, _ = _peak_in_parts(c_end, s_end, P, Q, A, B, rho, 0.0)
    if theta < 0.0:
        return NOTHING, 0.0, 0.0, 0.0, 0.0

    # the gap there, and where along the edge
    c = math.cos(theta)
    si = math.sin(theta)
    s = A * c + B * si
    k = math.sqrt(max(1.0 - s * s, 1e-24))
    along = ax * edge[i, 3] + ay * edge[i, 4] + az * edge[i, 5]
    middle = P * c + Q * si - rho * k - ball
    place = dx * edge[i, 3] + dy * edge[i, 4] + dz * edge[i, 5] + rho * s * along / k
    return what, theta, middle, place, share


@kernel
def cut_tread(edge, i, last, rho, half, ball, cx, cy, cz, ax, ay, az):
    """A cylinder's tread that lies on a face of edge i and hangs over the edge.

    With the normal of the first face (or of the second, `last`), the rims are on both sides of
    the edge while the inner one is the lower: the face has the inner rim's contact, the edge cuts
    the tread here. Returns found, middle, place and share as `solve_edge` does.
    """
    c = edge[i, 14] if last else 1.0
    si = edge[i, 15] if last else 0.0
    nx = edge[i, 7] * c + edge[i, 10] * si
    ny = edge[i, 8] * c + edge[i, 11] * si
    nz = edge[i, 9] * c + edge[i, 12] * si
    tx = edge[i, 10] * c - edge[i, 7] * si
    ty = edge[i, 11] * c - edge[i, 8] * si
    tz = edge[i, 12] * c - edge[i, 9] * si
    dx = cx - edge[i, 0]
    dy = cy - edge[i, 1]
    dz = cz - edge[i, 2]
    s = ax * nx + ay * ny + az * nz
    ds = ax * tx + ay * ty + az * tz
    k = math.sqrt(max(1.0 - s * s, 1e-24))
    # offset of the support line's middle and half length across the edge
    across = dx * tx + dy * ty + dz * tz + rho * s * ds / k
    if abs(s) > 0.5 or abs(across) >= half * abs(ds):
        return False, 0.0, 0.0, 0.0
    share = -across / (half * ds)
    along = ax * edge[i, 3] + ay * edge[i, 4] + az * edge[i, 5]
    middle = dx * nx + dy * ny + dz * nz - rho * k - ball
    place = dx * edge[i, 3] + dy * edge[i, 4] + dz * edge[i, 5] + rho * s * along / k
    return True, middle, place, share
