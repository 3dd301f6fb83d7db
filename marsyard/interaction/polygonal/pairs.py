"""Pairs of surfaces in polygonal contact: their arrays, and one pair on its own.

The engine builds all pairs of a world at once (`make_pairs`); `PolygonalContact` is one pair by
itself, for analysis and tests: given where two bodies are and how they move, what passes between
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marsyard.interaction.polygonal import arrays, contact
from marsyard.interaction.polygonal.arrays import Pairs, Shapes
from marsyard.interaction.polygonal.layer import Layer
from marsyard.interaction.polygonal.surface import (
    MOST_CUTS,
    Other,
    Surface,
    face_order,
    pack_shapes,
)

Array = np.ndarray

#: room for touching faces of one pair, at most
MOST_TOUCHING = 50_000
#: how deep meshes are searched, unless said otherwise [m]
DEEPEST = 0.05
#: how often a face may be cut, unless said otherwise
REFINE = 4


@dataclass(frozen=True)
class Pair:
    """Faces of one body against another one."""

    faces: Surface
    other: Other
    layer: Layer
    refine: int = REFINE
    deepest: float = DEEPEST
    weight: float = 1.0  # w of the time step, see `law`
    cap: float = math.inf  # stiffest spring along the surface that the step can resolve [N/m]


def make_pairs(given: list[Pair]) -> tuple[Shapes, Pairs]:
    """The arrays of all pairs."""
    shapes, face_number, other_number = pack_shapes(
        [p.faces for p in given], [p.other for p in given]
    )
    n = len(given)
    f, i = np.zeros, np.int64
    numbers = f((n, arrays.NUMBERS))
    place = f((n, 3), i)
    slots = places = 0
    for k, pair in enumerate(given):
        numbers[k, :8] = pair.layer
        numbers[k, arrays.DEEPEST] = pair.deepest
        numbers[k, arrays.REFINE] = min(pair.refine, MOST_CUTS)
        numbers[k, arrays.ROUND] = pair.other.roundness
        numbers[k, arrays.WEIGHT], numbers[k, arrays.CAP] = pair.weight, pair.cap
        numbers[k, arrays.CONVEX] = pair.other.convex
        numbers[k, arrays.WIDEST] = pair.faces.widest
        room = min(len(pair.faces), MOST_TOUCHING)
        place[k] = slots, places, room
        slots += len(pair.faces)
        places += room
    pose = np.tile(np.concatenate([f(3), np.eye(3).ravel()]), (n, 1))
    return shapes, Pairs(
        faces=np.array(face_number, dtype=i), kind=np.array([p.other.kind for p in given], dtype=i),
        number=np.array(other_number, dtype=i),
        size=np.array([p.other.size for p in given], dtype=float).reshape(n, 3),
        numbers=numbers, place=place, face_pose=pose.copy(), other_pose=pose.copy(),
        centre=f((n, 3)), twist=f((n, 7)), force=f((n, 7)), stiff=f((n, 7, 7)),
        result=f((n, arrays.RESULTS)), slot=np.full(slots, -1, dtype=i),
        extent=np.array([p.other.extent for p in given], dtype=float).reshape(n, 6),
        near=f(slots, i), near_gap=f(slots), near_count=np.full(n, -1, dtype=i),
        close=f(slots, i), close_count=f(n, i), near_at=f((n, arrays.NEAR)), counts=f((n, 2), i),
        touching=f(places, i), touch=f((places, arrays.TOUCH_COLUMNS)), before=f(places, i),
        state=f((places, arrays.STATE_COLUMNS)),
        face=f(arrays.FACE), turn=f(12),
    )  # fmt: skip


class Pressed(NamedTuple):
    """What passes between two bodies; forces act on the body that carries the faces.

    In a world that is the tested body of the pair, or the ground where wheels and bodies are
    searched in its mesh."""

    force: Array  # [N], in the world
    torque: Array  # [N·m] about the origin of the moving body: that with the faces, if it moves
    normal_force: float  # sum of the faces' [N]
    depth: float  # largest [m]
    area: float  # [m²]
    faces: int
    point: Array  # float64[faces, 3], middle of pressure of each face, in the world [m]
    pressure: Array  # float64[faces], over the part of a face that touches [Pa]
    face: Array  # int64[faces], number of the triangle, as the surface was given


def pressed(pairs: Pairs, k: int, faces: Surface) -> Pressed:
    """What passes between the bodies of pair k, whose faces are those, as last evaluated."""
    first, n = int(pairs.place[k, 1]), int(pairs.counts[k, 0])
    rows = pairs.touch[first : first + n]
    facing = rows[:, arrays.T_FACING] > contact.EDGEWISE
    rows, wrench = rows[facing], pairs.force[k].copy()
    # what acts along the direction of contact, as a pressure on the face
    normal = rows[:, arrays.FN] * rows[:, arrays.T_FACING] + rows[:, arrays.FD]
    pressure = normal / (rows[:, arrays.T_FACING] * rows[:, arrays.T_PATCH])
    return Pressed(
        wrench[:3], wrench[3:6], float(normal.sum()),
        float(pairs.result[k, arrays.Q_DEPTH]), float(pairs.result[k, arrays.Q_AREA]), len(rows),
        rows[:, :3] + pairs.centre[k], pressure,
        face_order(faces)[pairs.touching[first : first + n][facing]],
    )  # fmt: skip


class PolygonalContact:
    """One pair on its own.

    pair = PolygonalContact(Pair(ball(0.1, 0.005), plane(), layer))
    pair.press(place=(0, 0, 0.0995)).force
    """

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.shapes, self.pairs = make_pairs([pair])

    def press(
        self,
        place: Array | tuple[float, float, float] = (0.0, 0.0, 0.0),
        turn: Array | None = None,
        velocity: Array | tuple[float, float, float] = (0.0, 0.0, 0.0),
        rate: Array | tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        advance: float = 0.0,
    ) -> Pressed:
        """The faces' body at `place` [m], turned by the matrix `turn`, moving with `velocity` [m/s]
        and `rate` [rad/s]; the other body stays at the origin. With `advance` [s] the anchors of
        friction move on by that time."""
        p = self.pairs
        p.face_pose[0, :3] = place
        p.face_pose[0, 3:] = np.eye(3).ravel() if turn is None else np.ravel(turn)
        p.centre[0] = place
        p.twist[0, :3], p.twist[0, 3:6] = velocity, rate
        if contact.evaluate(self.shapes, p, 0, 0.0, 0.5) != arrays.OK:
            raise RuntimeError(f"more than {MOST_TOUCHING} faces touch")
        made = pressed(p, 0, self.pair.faces)
        if advance > 0.0:
            contact.account(p, 0, advance, 0.5)
        return made

    def set_profile(self, value: float) -> None:
        """Change the other body's profile to that at the coordinate `value`."""
        contact.change_profile(self.shapes, int(self.pairs.number[0]), value)
