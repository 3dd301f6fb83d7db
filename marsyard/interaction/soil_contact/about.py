"""What the soil contact model says of itself."""

from marsyard.interaction.about import SOIL, About, Guide

LAWS = (
    About(
        "scm", SOIL, "soil contact model: the deformable grid carries the wheels",
        "the soil contact model, on a pressure-sinkage law", "soil-contact", rank=0,
        # sums and totals by body, stresses around the wheels
        node_bytes=150, record_bytes=(8 * 21, 4 * 108), step_time=1.2e-5,
        soil_numbers=("modulus", "exponent", "cohesion", "friction_angle", "shear_modulus"),
        guide=Guide(
            ground="soil grid",
            gives="sinkage, slip, ruts, berms, multipass, digging in; any body",
            lacks="overhangs, soil on top of a wheel", needs="a soil",
            checked="closed forms, [measured wheels](validation-overview.md)",
            use="sand and regolith, any wheel, foot or track",
            valid="smooth and lugged wheels, slip up to 80 %",
        ),
    ),
)  # fmt: skip
