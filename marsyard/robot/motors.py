"""Which joints have a motor, as a model file says.

URDF says it in two ways. A `<transmission>` names joints and the actuators that move them; without
an actuator it says that its joints have none. A joint in `<ros2_control>` has a motor if it has a
command interface; with state interfaces only it is measured, not moved.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import mujoco

from marsyard.robot.xml_file import Element


@dataclass
class Motors:
    """Joints by what the file says of them: `named` have a motor; `without` are mentioned as having
    none."""

    named: set[str] = field(default_factory=set)
    without: set[str] = field(default_factory=set)

    def says(self, joint: str) -> bool | None:
        """Whether a joint has a motor; none where the file names no motor at all.

        A file that names motors says by this that joints it does not name have none.
        """
        return joint in self.named if self.named else None


def read_motors(root: Element, joints: Container[str]) -> Motors:
    """What a URDF says of its joints."""
    named: set[str] = set()
    seen: set[str] = set()
    for group in root.all("transmission"):
        parts = list(group.walk())
        found = {e.name for e in parts if e.tag == "joint" or e.tag.endswith("_joint")}
        moved = any(e.tag == "actuator" or e.tag.endswith("_actuator") for e in parts)
        seen |= found
        named |= found if moved else set()
    for group in root.all("ros2_control"):
        for joint in group.all("joint"):
            seen.add(joint.name)
            named |= {joint.name} if joint.first("command_interface") else set()
    named = {name for name in named if name in joints}
    return Motors(named, {name for name in seen - named if name in joints})


def find_motors(spec: mujoco.MjSpec) -> Motors:
    """Joints that an actuator of an MJCF works on."""
    kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    return Motors({a.target for a in spec.actuators if a.trntype in kinds})
