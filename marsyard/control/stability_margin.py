"""Stability margins of a robot on feet or wheels.

Let P_i be the points that carry [m], C the centre of mass, d the unit vector downwards (all in one
frame, whichever). Seen along d the points have a convex hull, the support polygon; C is seen at one
point of the same plane.

    static margin          distance of C to the nearest edge of the polygon, negative outside   [m]
    longitudinal margin    distance of C to the polygon's rim along a direction, the lesser of
                           forwards and backwards, negative outside                            [m]
    energy margin          height that C must rise to tip about an edge, the least of all edges [m]
                           h = ρ (cos ψ − R·z/ρ) = ρ cos ψ (1 − cos θ)
    tip-over angle         θ_i = σ_i acos(f̂_i·l̂_i), the least of all edges                    [rad]

Energy margin: R is the vector from the edge to C, at right angles to it, ρ = |R|, ψ the edge's own
inclination, θ the angle between R and the upright plane through the edge. m g h is the energy
stability margin of Messuri and Klein, h the normalised one of Hirose et al.

Tip-over angle: f is the force that acts on C (gravity, and m a against accelerations), f_i and l_i
the parts of f and of (edge − C) at right angles to edge i; σ_i is 1 while f passes inside, else −1.
Standing still, it is the angle by which the ground may still be tilted.

Sources:
  R. B. McGhee, A. A. Frank: On the stability properties of quadruped creeping gaits. Mathematical
    Biosciences 3, 1968 (static and longitudinal margin)
  D. A. Messuri, C. A. Klein: Automatic body regulation for maintaining stability of a legged
    vehicle during rough-terrain locomotion. IEEE J. of Robotics and Automation 1, 1985
  S. Hirose, H. Tsukagoshi, K. Yoneda: Normalized energy stability margin. CLAWAR 1998
  E. G. Papadopoulos, D. A. Rey: A new measure of tipover stability margin for mobile manipulators.
    IEEE Int. Conf. on Robotics and Automation 1996
"""

from __future__ import annotations

import numpy as np

_DOWN = (0.0, 0.0, -1.0)


def hull(points: np.ndarray) -> np.ndarray:
    """Numbers of the points [n, 2] on the convex hull, counter-clockwise (monotone chain)."""
    order = sorted(range(len(points)), key=lambda k: (points[k][0], points[k][1]))
    if len(order) < 3:
        return np.array(order, dtype=int)

    def chain(indices: list[int]) -> list[int]:
        out: list[int] = []
        for k in indices:
            while len(out) > 1 and _turn(points[out[-2]], points[out[-1]], points[k]) <= 0:
                out.pop()
            out.append(k)
        return out

    lower, upper = chain(order), chain(order[::-1])
    return np.array(lower[:-1] + upper[:-1], dtype=int)


def support_polygon(points: np.ndarray, down: np.ndarray | tuple = _DOWN) -> np.ndarray:
    """Numbers of the points [n, 3] that are corners of the support polygon, counter-clockwise seen
    from above."""
    return hull(_seen(np.asarray(points, float), down))


def static_margin(
    points: np.ndarray, centre: np.ndarray, down: np.ndarray | tuple = _DOWN
) -> float:
    """Static stability margin [m] of carrying points [n, 3] and the centre of mass [3]."""
    flat, at = _seen(np.asarray(points, float), down), _seen(np.asarray([centre], float), down)[0]
    corners = flat[hull(flat)]
    if len(corners) == 0:
        return -np.inf
    if len(corners) < 3:
        return -_to_segment(at, corners[0], corners[-1])
    edges = np.roll(corners, -1, axis=0) - corners
    inside = np.array([_turn(a, a + e, at) for a, e in zip(corners, edges, strict=True)])
    if np.all(inside >= 0):
        return float(np.min(inside / np.linalg.norm(edges, axis=1)))
    ends = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    return -min(_to_segment(at, a, b) for a, b in ends)


def longitudinal_margin(
    points: np.ndarray,
    centre: np.ndarray,
    along: np.ndarray | tuple = (1.0, 0.0, 0.0),
    down: np.ndarray | tuple = _DOWN,
) -> float:
    """The lesser distance from the centre of mass to the edge of the polygon, along or against
    `along` [m].
    """
    flat, at = _seen(np.asarray(points, float), down), _seen(np.asarray([centre], float), down)[0]
    direction = _seen(np.asarray([along], float), down)[0]
    direction = direction / np.linalg.norm(direction)
    corners = flat[hull(flat)] - at
    forward, side = corners @ direction, corners @ [-direction[1], direction[0]]
    crossings = []
    for k in range(len(corners)):
        j = (k + 1) % len(corners)
        a, b = side[k], side[j]
        if a * b <= 0 and a != b:
            crossings.append(forward[k] + (forward[j] - forward[k]) * a / (a - b))
    if not crossings:
        return -np.inf
    return float(min(max(crossings), -min(crossings)))


def energy_margin(
    points: np.ndarray, centre: np.ndarray, down: np.ndarray | tuple = _DOWN
) -> float:
    """Height by which the centre of mass must rise to tip over [m]; below 0 outside the polygon."""
    points, centre = np.asarray(points, float), np.asarray(centre, float)
    up = -np.asarray(down, float) / np.linalg.norm(down)
    least = np.inf
    for a, b in _edges(points, down):
        e = (b - a) / np.linalg.norm(b - a)
        arm = centre - a - ((centre - a) @ e) * e
        across = up - (up @ e) * e
        rise = float(np.linalg.norm(arm) * np.linalg.norm(across) - arm @ up)
        # e × up points out of a polygon that runs counter-clockwise
        least = min(least, rise if arm @ np.cross(e, up) <= 0 else -rise)
    return least


def tip_over_angle(points: np.ndarray, centre: np.ndarray, force: np.ndarray) -> float:
    """Force-angle measure [rad]: least angle of the force on the centre of mass [N], shape [3], to
    the edges of the support polygon; negative when it passes outside."""
    points, centre = np.asarray(points, float), np.asarray(centre, float)
    force = np.asarray(force, float)
    least = np.inf
    for a, b in _edges(points, force / np.linalg.norm(force)):
        e = (b - a) / np.linalg.norm(b - a)
        own = force - (force @ e) * e
        to_edge = (a - centre) - ((a - centre) @ e) * e
        cosine = own @ to_edge / (np.linalg.norm(own) * np.linalg.norm(to_edge))
        angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
        # the force passes inside when it must turn outwards, about −e, to meet the edge
        least = min(least, angle if np.cross(own, to_edge) @ e <= 0 else -angle)
    return least


def _edges(points: np.ndarray, down: np.ndarray | tuple) -> list[tuple[np.ndarray, np.ndarray]]:
    corners = points[support_polygon(points, down)]
    return list(zip(corners, np.roll(corners, -1, axis=0), strict=True))


def _seen(points: np.ndarray, down: np.ndarray | tuple) -> np.ndarray:
    """Points seen along `down`, from above, [n, 2]."""
    z = -np.asarray(down, float) / np.linalg.norm(down)
    x = np.array([1.0, 0.0, 0.0]) - z[0] * z
    if x @ x < 1e-6:
        x = np.array([0.0, 1.0, 0.0]) - z[1] * z
    x = x / np.linalg.norm(x)
    y = np.array([z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]])
    return points @ np.array([x, y]).T


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Twice the area of a triangle, positive counter-clockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _to_segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    length = float((b - a) @ (b - a))
    share = 0.0 if length == 0 else min(1.0, max(0.0, float((p - a) @ (b - a)) / length))
    return float(np.linalg.norm(p - a - share * (b - a)))
