"""Exact contact geometry of wheels on rigid ground, as compiled scalar kernels.

A wheel is a convex body (`wheel`), the ground a `GroundArrays` (`marsyard.ground.pack`). A contact
is a local minimum of the distance between them: the point on the ground, the unit normal n from
the ground into the wheel, and the signed gap, positive when open. With the wheel's axis a (which
points left) the heading is a × n.

For a convex feature of the ground with normal cone N (a face: one normal; an edge: the arc between
its two faces' normals; a vertex: the cone those arcs enclose) and a reference point q on it, the
signed gap is

    gap = max_{n in N} min_{w in wheel} n · (w - q)

which is the distance when apart and the shallowest way out when inside, continuous through
contact. An inner maximum makes the feature a contact; a maximum on the border of N belongs to the
neighbouring feature. So the seams of a flat mesh, whose arcs have no extent, never touch a wheel,
and concave edges, which have no arc, leave their two faces as two contacts.
"""

from marsyard.interaction.contact_geometry.kinds import (
    CYLINDER,
    DISC,
    SPHERE,
    TORUS,
    WHEEL_KINDS,
)
from marsyard.interaction.contact_geometry.query import wheel_contacts, wheel_distance

__all__ = [
    "CYLINDER",
    "DISC",
    "SPHERE",
    "TORUS",
    "WHEEL_KINDS",
    "wheel_contacts",
    "wheel_distance",
]
