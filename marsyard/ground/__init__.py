"""Where a rover drives: rigid ground as a list of named surfaces, and soils."""

from marsyard.ground.geometry import GroundArrays, Surface, pack
from marsyard.ground.shapes import Box, Plane, Sphere
from marsyard.ground.soil import Soil, load_soil, soil_table
from marsyard.ground.triangle_mesh import TriangleMesh

__all__ = [
    "Box",
    "GroundArrays",
    "Plane",
    "Soil",
    "Sphere",
    "Surface",
    "TriangleMesh",
    "load_soil",
    "pack",
    "soil_table",
]
