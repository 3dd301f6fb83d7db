"""What MuJoCo's soft contact says of itself."""

from marsyard.interaction.about import HARD, MUJOCOS, About

LAWS = (
    About(
        "mujoco", HARD, "rigid ground, MuJoCo's soft contact",
        "its soft contact, as a baseline to compare with", rank=2, integrators=MUJOCOS,
        is_mujocos=True, meshes=False, belts=False,
    ),
)  # fmt: skip
