"""What compliant contact says of itself."""

from __future__ import annotations

import math
from typing import Any

from marsyard.interaction.about import HARD, About, Guide


def elements(radius: float, interaction: Any) -> float:
    """Elements of a ball of this radius [m]."""
    return 4.0 * math.pi * (radius / float(interaction.compliant.element_size)) ** 2


LAWS = (
    About(
        "compliant", HARD, "firm ground under elements, friction by displacement",
        "elastic ground under elements, friction by displacement", "compliant-contact",
        bodies_collide=True, finds_ground=True, walls=0.1, couples_freedoms=True,
        joint_friction=False, step_time=6e-6, elements=elements, node_bytes=600,
        guide=Guide(
            ground="elastic", gives="pressure, loads of single wheels, friction with a peak",
            lacks="ruts", needs="stiffness, friction curve", checked="closed forms",
            use="feet, tracks, firm ground", valid="depth small against wheel or foot",
        ),
    ),
)  # fmt: skip
