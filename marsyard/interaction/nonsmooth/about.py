"""What nonsmooth contact says of itself."""

from marsyard.interaction.about import HARD, About

LAWS = (
    About(
        "nonsmooth", HARD, "rigid ground, exact Coulomb friction",
        "unilateral contact, Coulomb friction, Newton impact", "friction-contact", rank=0,
        gives_rows=True, places_as_rigid=True, bodies_collide=True, rolling_friction=True,
        joint_friction=False,
    ),
)  # fmt: skip
