"""Polygonal contact (PCM): an elastic foundation on polygon meshes, Krenn and Hirzinger 2008.

`layer` what gives way, `law` the force of a face, `revolution` bodies of revolution, `surface`
meshes and shapes, `distance` how deep a point is, `contact` all faces of a pair, `pairs` what is
in contact with what.
"""

from marsyard.interaction.polygonal.layer import Layer, Material, in_series
from marsyard.interaction.polygonal.pairs import Pair, PolygonalContact, Pressed, make_pairs
from marsyard.interaction.polygonal.revolution import check_profile, resample
from marsyard.interaction.polygonal.surface import (
    Other,
    Surface,
    ball,
    box,
    closed_surface,
    divided,
    mesh,
    open_surface,
    plane,
    revolution,
    solid_box,
    sphere,
    turned,
    with_walls,
)

__all__ = [
    "Layer", "Material", "Other", "Pair", "PolygonalContact", "Pressed", "Surface", "ball", "box",
    "check_profile", "closed_surface", "divided", "in_series", "make_pairs", "mesh", "open_surface",
    "plane", "resample", "revolution", "solid_box", "sphere", "turned",
    "with_walls",
]  # fmt: skip
