"""What the soil contact model says of itself."""

from marsyard.interaction.about import SOIL, About

LAWS = (
    About(
        "scm", SOIL, "soil contact model: the deformable grid carries the wheels",
        "the soil contact model, on a pressure-sinkage law", "soil-contact", rank=0,
        # sums and totals by body, stresses around the wheels
        node_bytes=150, record_bytes=(8 * 21, 4 * 108), step_time=2.5e-4,
    ),
)  # fmt: skip
