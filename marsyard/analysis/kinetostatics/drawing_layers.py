"""Kineto-static results as drawing layers: positions, lengths, colours.

Lengths. Forces at the contacts, forces of the platform (polytope, pull) and ellipsoids are drawn to
one scale each, a round number per metre, so that the largest is about as long as
a share of the robot's radius. The words of each layer say the scale.

    friction cone     apex at the contact, axis along its normal, as high as the normal load;
                      half the opening angle is arctan μ, so the force ends on the rim of the lid
                      where all friction is used
    contact force     from the contact, as it acts on the robot
    ellipsoid         at the platform's origin, with its axes; flat ones as a disc
    polytope          what the platform can push its surroundings with, from the origin
    support polygon   hull of the contacts seen along gravity; the centre of mass falls in it or not
    motions           those the drives do not control: axis of the screw, or a double arrow
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from marsyard.analysis.kinetostatics.balance import Forces
from marsyard.analysis.kinetostatics.polytope import Polytope
from marsyard.analysis.kinetostatics.screws import describe
from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.analysis.kinetostatics.transmission import Ellipsoid
from marsyard.drawing.layers import (
    Arrow,
    Label,
    Layer,
    Solid,
    Strokes,
    ball_solid,
    cone_solid,
    dashes,
    edges,
    ellipsoid_solid,
    ring,
)
from marsyard.drawing.meshes import Colour

CONES: Colour = (240, 170, 40)
FORCES: Colour = (226, 38, 60)
POLYTOPE: Colour = (52, 110, 214)
ELLIPSOID: Colour = (150, 84, 200)
MOMENTS: Colour = (30, 150, 150)
PULL: Colour = (40, 170, 80)
SUPPORT: Colour = (250, 250, 245)
MOTIONS: Colour = (220, 60, 170)
AXES: tuple[Colour, ...] = ((205, 50, 40), (40, 150, 70), (40, 90, 205))
_FAINT = 1e-3  # forces below, in the largest, are not drawn
_SHARP = math.radians(20.0)  # edges of a polytope that are drawn
_ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def round_scale(largest: float, length: float) -> float:
    """Amount per metre, a round number, with which `largest` is no longer than
    `length` [m]."""
    least = max(largest, 1e-300) / length
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in _ROUND if k * power >= least * (1 - 1e-9))


def number(value: float) -> str:
    """A value with three digits and no exponent where it has no more than five before the point."""
    if 100 <= abs(value) < 1e5:
        return f"{value:.0f}"
    return f"{value:.3g}"


def centimetres(value: float) -> str:
    """A length [m] in cm with three digits; what is below a micrometre is 0."""
    return f"{100 * value:.3g}" if abs(value) > 1e-6 else "0"


def scale_words(per_metre: float, unit: str, size: float) -> str:
    """The scale in words for a robot of that size [m], e.g. `1 m = 500 N`."""
    if size >= 0.5:
        return f"1 m = {per_metre:g} {unit}"
    return f"10 cm = {per_metre / 10:g} {unit}"


def contact_vectors(stance: Stance, forces: Forces) -> np.ndarray:
    """Contact forces on the robot in the world [N], [n, 3]."""
    parts = np.stack([forces.normal, forces.along, forces.left], axis=1)
    return stance.in_world(np.einsum("ni,nij->nj", parts, stance.axes))


def cone_layer(
    stance: Stance, friction: np.ndarray, normal: np.ndarray, per_metre: float, size: float
) -> Layer:
    """Friction cones, as high as the normal loads [N]; without load a little one."""
    points, axes = stance.to_world(stance.points), stance.in_world(stance.axes)
    height = np.maximum(normal / per_metre, 0.06 * size)
    cones = tuple(
        cone_solid(points[k], axes[k, 0], float(friction[k]), float(height[k]), CONES)
        for k in range(len(points))
        if friction[k] > 0
    )
    same = np.ptp(friction) < 1e-12
    words = f"μ = {friction[0]:g}" if same else f"μ = {friction.min():g} to {friction.max():g}"
    return Layer("friction cones", CONES, words, solids=cones, opacity=0.45, behind=0.4)


def force_layer(stance: Stance, forces: Forces, per_metre: float, size: float) -> Layer:
    """Contact forces, with the names of the contacts and their loads."""
    points = stance.to_world(stance.points)
    vectors = contact_vectors(stance, forces)
    length = np.linalg.norm(vectors, axis=1)
    arrows, labels = [], []
    for k, name in enumerate(stance.contacts):
        tip = points[k] + vectors[k] / per_metre
        if length[k] > _FAINT * length.max(initial=0.0):
            arrows.append(Arrow(points[k], tip, FORCES, 0.013 * size))
        text = f"{name} {number(length[k])} N"
        above = stance.in_world(stance.axes[k, 0]) * 0.05 * size
        labels.append(Label(text, tip + above))
    return Layer(
        "contact forces", FORCES, scale_words(per_metre, "N", size), arrows=tuple(arrows),
        labels=tuple(labels), behind=0.75,
    )  # fmt: skip


def support_layer(stance: Stance, size: float) -> Layer:
    """Support polygon, centre of mass, and the plumb line from it down to the contacts' height."""
    hull = stance.to_world(stance.points)[support_ring(stance)]
    up = stance.in_world(stance.up)
    com = stance.to_world(stance.com)
    low = float(np.mean(hull @ up))
    foot = com - (float(com @ up) - low) * up
    margin = support_margin(stance)
    inside = "inside by" if margin > -1e-6 else "outside by"
    words = f"centre of mass {inside} {centimetres(abs(margin))} cm"
    strokes = [Strokes(dashes(com, foot, 0.03 * size), SUPPORT, 2.0)]
    if len(hull) > 1:
        strokes.append(Strokes(ring(hull), SUPPORT, 2.5))
    solids = (
        ball_solid(com, 0.03 * size, SUPPORT), ball_solid(foot, 0.016 * size, SUPPORT),
    )  # fmt: skip
    return Layer(
        "support", SUPPORT, words, solids=solids, strokes=tuple(strokes), opacity=0.95, behind=0.6
    )


def support_ring(stance: Stance) -> np.ndarray:
    """Numbers of the contacts at the corners of the support polygon, around it."""
    flat = _level(stance, stance.points)
    if len(flat) < 3 or np.linalg.matrix_rank(flat - flat.mean(axis=0), tol=1e-9) < 2:
        if len(flat) < 2:
            return np.arange(len(flat))
        along = flat - flat.mean(axis=0)
        line = along @ np.linalg.svd(along)[2][0]
        return np.array([int(np.argmin(line)), int(np.argmax(line))])
    from scipy.spatial import ConvexHull

    return np.asarray(ConvexHull(flat).vertices)


def support_margin(stance: Stance) -> float:
    """Level distance of the centre of mass from the support polygon's edge [m], < 0 outside."""
    corners = _level(stance, stance.points)[support_ring(stance)]
    at = _level(stance, stance.com[None])[0]
    a, b = corners, np.roll(corners, -1, axis=0)
    edge = b - a
    share = np.einsum("ij,ij->i", at - a, edge) / np.maximum((edge**2).sum(axis=1), 1e-300)
    gap = np.linalg.norm(at - a - np.clip(share, 0, 1)[:, None] * edge, axis=1)
    # the hull runs counter-clockwise, so inside is left of all edges
    left = edge[:, 0] * (at - a)[:, 1] - edge[:, 1] * (at - a)[:, 0]
    inside = len(corners) > 2 and bool((left >= 0).all())
    return float(gap.min()) * (1.0 if inside else -1.0)


def _level(stance: Stance, points: np.ndarray) -> np.ndarray:
    """Points of R₀ seen along gravity [m], [n, 2]."""
    up = stance.up
    first = np.eye(3)[0] - up[0] * up if abs(up[0]) < 0.9 else np.eye(3)[1] - up[1] * up
    first /= np.linalg.norm(first)
    return np.asarray(points) @ np.stack([first, np.cross(up, first)], axis=1)


def ellipsoid_layer(
    stance: Stance, found: Ellipsoid, per_metre: float, size: float, part: str, unit: str
) -> Layer:
    """An ellipsoid of forces or moments at the platform's origin, with its principal axes."""
    colour = ELLIPSOID if part == "force" else MOMENTS
    directions = stance.in_world(found.directions)
    half = found.semi_axes / per_metre
    ends = half[:, None] * directions
    ends = ends[half > 1e-3 * size]
    lines = np.stack([stance.origin - ends, stance.origin + ends], axis=1)
    solid = ellipsoid_solid(stance.origin, half, directions, colour)
    dark: Colour = (colour[0] // 2, colour[1] // 2, colour[2] // 2)
    return Layer(
        f"{part} ellipsoid", colour, scale_words(per_metre, unit, size), solids=(solid,),
        strokes=(Strokes(lines, dark, 2.5),), opacity=0.55, behind=0.5,
    )  # fmt: skip


def polytope_layer(stance: Stance, found: Polytope, per_metre: float, size: float) -> Layer:
    """The forces (fx, fy, fz) that the platform can exert, from its origin."""
    points = stance.origin + stance.in_world(found.points) / per_metre
    dark: Colour = (24, 52, 120)
    solids: tuple[Solid, ...] = ()
    lines = np.zeros((0, 2, 3))
    if len(found.triangles):
        solids = (Solid(points, found.triangles, POLYTOPE, smooth=False),)
        lines = edges(points, found.triangles, _SHARP)
    words = scale_words(per_metre, "N", size)
    if found.cut.any():
        words += f", cut at {number(np.abs(found.points).max())} N"
    return Layer(
        "wrench polytope", POLYTOPE, words, solids=solids, strokes=(Strokes(lines, dark, 1.6),),
        opacity=0.28, behind=0.6,
    )  # fmt: skip


def pull_layer(
    stance: Stance, pulls: Mapping[str, tuple[np.ndarray, float]], per_metre: float, size: float
) -> Layer:
    """Arrows of the largest pull: direction in R₀, unit, and size [N], by name."""
    arrows, labels = [], []
    for name, (direction, force) in pulls.items():
        if not math.isfinite(force) or force <= 0:
            continue
        axis = stance.in_world(direction)
        tip = stance.origin + axis * force / per_metre
        arrows.append(Arrow(stance.origin, tip, PULL, 0.015 * size))
        labels.append(Label(f"{name} {number(force)} N", tip + 0.06 * size * axis))
    return Layer(
        "largest pull", PULL, scale_words(per_metre, "N", size), arrows=tuple(arrows),
        labels=tuple(labels), behind=0.7,
    )  # fmt: skip


def motion_layer(stance: Stance, twists: np.ndarray, words: Sequence[str], size: float) -> Layer:
    """Twists [n, 6] as screws: dashed axis with an arc around it, or a double arrow."""
    arrows: list[Arrow] = []
    strokes: list[Strokes] = []
    for twist in twists:
        screw = describe(twist, "twist", size)
        axis = stance.in_world(screw.direction)
        if screw.point is None:
            for sign in (-1.0, 1.0):
                tip = stance.origin + sign * 0.75 * size * axis
                arrows.append(Arrow(stance.origin, tip, MOTIONS, 0.012 * size))
            continue
        at = stance.to_world(screw.point)
        strokes.append(
            Strokes(dashes(at - size * axis, at + size * axis, 0.05 * size), MOTIONS, 2.5)
        )
        arc = _arc(at + 0.8 * size * axis, axis, 0.14 * size)
        strokes.append(Strokes(np.stack([arc[:-1], arc[1:]], axis=1), MOTIONS, 2.5))
        arrows.append(Arrow(arc[-2], arc[-1] + 2.0 * (arc[-1] - arc[-2]), MOTIONS, 0.012 * size))
    return Layer(
        "uncontrolled", MOTIONS, "; ".join(words), arrows=tuple(arrows), strokes=tuple(strokes),
        behind=0.6,
    )  # fmt: skip


def _arc(centre: np.ndarray, axis: np.ndarray, radius: float) -> np.ndarray:
    """Points on three quarters of a circle about an axis [m], [n, 3]."""
    side = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    side /= np.linalg.norm(side)
    angle = np.linspace(0.0, 1.5 * np.pi, 28)[:, None]
    return centre + radius * (np.cos(angle) * side + np.sin(angle) * np.cross(axis, side))


def frame_layer(stance: Stance, size: float) -> Layer:
    """The platform's frame x, y, z, and those of the contacts: normal, heading, left."""
    arrows, labels = [], []
    for k in range(3):
        axis = stance.rotation[:, k]
        tip = stance.origin + 0.4 * size * axis
        arrows.append(Arrow(stance.origin, tip, AXES[k], 0.012 * size))
        labels.append(Label("xyz"[k], tip + 0.05 * size * axis))
    axes = stance.in_world(stance.axes)
    # of a contact the heading is drawn as x, left as y, the normal as z
    for point, frame in zip(stance.to_world(stance.points), axes, strict=True):
        for k in range(3):
            tip = point + 0.16 * size * frame[(1, 2, 0)[k]]
            arrows.append(Arrow(point, tip, AXES[k], 0.007 * size))
    words = "x red, y green, z (normal) blue"
    return Layer("frames", AXES[0], words, arrows=tuple(arrows), labels=tuple(labels), behind=0.8)
