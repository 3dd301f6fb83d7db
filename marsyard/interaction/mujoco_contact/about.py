"""What MuJoCo's soft contact says of itself."""

from marsyard.interaction.about import HARD, MUJOCOS, About, Guide

LAWS = (
    About(
        "mujoco", HARD, "rigid ground, MuJoCo's soft contact",
        "its soft contact, as a baseline to compare with", rank=2, integrators=MUJOCOS,
        is_mujocos=True, meshes=False, belts=False,
        guide=Guide(
            ground="soft", gives="–", lacks="true sticking, restitution", needs="–", checked="–",
            use="a [baseline](how-to/compare-with-mujoco.md)",
            valid="where a little creep and sinkage do no harm",
        ),
    ),
)  # fmt: skip
