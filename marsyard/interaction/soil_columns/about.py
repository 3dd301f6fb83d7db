"""What soil in columns says of itself."""

from marsyard.interaction.about import SOIL, About

LAWS = (
    About(
        "columns", SOIL, "granular soil in columns: triaxial curves, avalanches",
        "granular soil in columns, on triaxial curves, with avalanches in time", "soil-columns",
        # sums and totals by body, stresses around the wheels
        node_bytes=150, record_bytes=(8 * 21, 4 * 108), step_time=1.2e-3, columns=True,
    ),
)  # fmt: skip
