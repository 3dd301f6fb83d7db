"""Where shapes of bodies are in the world, and the contact frame of a wheel."""

from __future__ import annotations

import math

from marsyard.jit import inlined, inner


@inlined
def place_shape(position, rotation, shapes, i, place):
    """Centre and axis of shape i in the world, into `place`, with the bodies where they are."""
    body = shapes.body[i]
    for k in range(3):
        centre = position[body, k]
        axis = 0.0
        for a in range(3):
            centre += rotation[body, 3 * k + a] * shapes.position[i, a]
            axis += rotation[body, 3 * k + a] * shapes.axis[i, a]
        place[0, k] = centre
        place[1, k] = axis


@inner
def wheel_frame(normal, axis, frame):
    """Contact frame of a wheel: heading t1 = axis × n, then t2 = n × t1; any when axis ∥ n."""
    tx = axis[1] * normal[2] - axis[2] * normal[1]
    ty = axis[2] * normal[0] - axis[0] * normal[2]
    tz = axis[0] * normal[1] - axis[1] * normal[0]
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    if size < 1e-6:
        # the wheel lies flat: take the world axis least along the normal
        if abs(normal[0]) < 0.6:
            tx, ty, tz = 0.0, normal[2], -normal[1]
        else:
            tx, ty, tz = -normal[2], 0.0, normal[0]
        size = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx /= size
    ty /= size
    tz /= size
    frame[0, 0], frame[0, 1], frame[0, 2] = normal[0], normal[1], normal[2]
    frame[1, 0], frame[1, 1], frame[1, 2] = tx, ty, tz
    frame[2, 0] = normal[1] * tz - normal[2] * ty
    frame[2, 1] = normal[2] * tx - normal[0] * tz
    frame[2, 2] = normal[0] * ty - normal[1] * tx
