"""Where a rover drives: rigid ground as a list of named surfaces."""

from marsyard.ground.geometry import GroundArrays, Surface, pack
from marsyard.ground.shapes import Box, Plane, Sphere
from marsyard.ground.triangle_mesh import TriangleMesh

__all__ = ["Box", "GroundArrays", "Plane", "Sphere", "Surface", "TriangleMesh", "pack"]
