"""What elastic booms say of themselves."""

from marsyard.interaction.about import ROBOT, About

LAWS = (
    About(
        "beam", ROBOT, "elastic booms of the robot", "Euler-Bernoulli beams between two bodies",
        "beam",
    ),
)  # fmt: skip
