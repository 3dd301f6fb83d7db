"""What soil in columns says of itself."""

from marsyard.interaction.about import SOIL, About

LAWS = (
    About(
        "columns", SOIL, "granular soil in columns: triaxial curves, avalanches",
        "granular soil in columns, on triaxial curves, with avalanches in time", "soil-columns",
        step_time=1.2e-3, columns=True,
    ),
)  # fmt: skip
