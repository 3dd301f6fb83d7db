"""Polygonal contact (PCM): an elastic foundation on polygon meshes, Krenn and Hirzinger 2008.

`layer` what gives way, `law` the force of a face, `profile` bodies of revolution, `surface`
meshes and shapes, `distance` how deep a point is, `near` which faces may touch, `contact` all faces
of a pair, `pairs` what is in contact with what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.interaction.polygonal.layer import Layer, Material, in_series
    from marsyard.interaction.polygonal.pairs import Pair, PolygonalContact, Pressed, make_pairs
    from marsyard.interaction.polygonal.profile import resample
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

_HOME = {
    "Layer": "layer",
    "Material": "layer",
    "Other": "surface",
    "Pair": "pairs",
    "PolygonalContact": "pairs",
    "Pressed": "pairs",
    "Surface": "surface",
    "ball": "surface",
    "box": "surface",
    "closed_surface": "surface",
    "divided": "surface",
    "in_series": "layer",
    "make_pairs": "pairs",
    "mesh": "surface",
    "open_surface": "surface",
    "plane": "surface",
    "resample": "profile",
    "revolution": "surface",
    "solid_box": "surface",
    "sphere": "surface",
    "turned": "surface",
    "with_walls": "surface",
}

__all__ = [
    "Layer", "Material", "Other", "Pair", "PolygonalContact", "Pressed", "Surface", "ball", "box",
    "closed_surface", "divided", "in_series", "make_pairs", "mesh", "open_surface",
    "plane", "resample", "revolution", "solid_box", "sphere", "turned",
    "with_walls",
]  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, _HOME)
