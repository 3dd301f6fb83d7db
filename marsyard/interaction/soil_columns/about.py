"""What soil in columns says of itself."""

from marsyard.interaction.about import SOIL, About, Guide

LAWS = (
    About(
        "columns", SOIL, "granular soil in columns: triaxial curves, avalanches",
        "granular soil in columns, on triaxial curves, with avalanches in time", "soil-columns",
        # sums and totals by body, stresses around the wheels
        node_bytes=150, record_bytes=(8 * 21, 4 * 108), step_time=2.3e-4, columns=True,
        soil_numbers=(
            "modulus", "exponent", "cohesion", "friction_angle", "shear_modulus", "density"
        ),
        guide=Guide(
            ground="soil grid", gives="avalanches, compaction, gravity",
            lacks="overhangs, a pressure-sinkage law", needs="a soil with strength",
            checked="closed forms; **no** measured wheels",
            use="steep or cohesive slopes, feet near failure",
            valid="strains up to failure; no measured wheels",
        ),
    ),
)  # fmt: skip
