"""What nonsmooth contact says of itself."""

from marsyard.interaction.about import HARD, About, Guide

LAWS = (
    About(
        "nonsmooth", HARD, "rigid ground, exact Coulomb friction",
        "unilateral contact, Coulomb friction, Newton impact", "friction-contact", rank=0,
        gives_rows=True, places_as_rigid=True, bodies_collide=True, rolling_friction=True,
        joint_friction=False,
        guide=Guide(
            ground="rigid", gives="impacts, true sticking, exact Coulomb cone",
            lacks="pressure, sinkage, unique loads of single wheels", needs="friction",
            checked="closed forms, [RT-0448](validation.md), Siconos",
            use="rock, steps, stairs, hard tracks",
            valid="hard ground, dry friction, impacts up to 10 m/s",
        ),
    ),
)  # fmt: skip
