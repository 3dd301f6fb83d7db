"""What polygonal contact says of itself."""

from marsyard.interaction.about import HARD, About, Guide

LAWS = (
    About(
        "polygonal", HARD, "firm ground under faces of wheels and rocks, elastic layers (PCM)",
        "elastic layers on polygon meshes (PCM)", "polygonal-contact",
        places_as_rigid=True, belts=False, step_time=2e-5,
        guide=Guide(
            ground="elastic layers", gives="contact area and pressure of any shapes", lacks="ruts",
            needs="materials or stiffness", checked="closed forms",
            use="rocks, concave parts, docking",
            valid="depth small against the layer's thickness",
        ),
    ),
)  # fmt: skip
