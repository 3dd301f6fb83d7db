"""What polygonal contact says of itself."""

from marsyard.interaction.about import HARD, About

LAWS = (
    About(
        "polygonal", HARD, "firm ground under faces of wheels and rocks, elastic layers (PCM)",
        "elastic layers on polygon meshes (PCM)", "polygonal-contact",
        places_as_rigid=True, belts=False, step_time=8e-4,
    ),
)  # fmt: skip
