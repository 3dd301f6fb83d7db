"""Constants of a robot that an account of its energy needs, beside what is recorded over time.

dof_damping          b of each degree of freedom, of the model and of the scenario's springs
joint_role           the role of each joint: drives, steering, legs, frame, passive, or other
motor_resistance     R of each motor of the scenario
motor_emf            k n, back-emf per rate of the joint
motor_regeneration   1 where braking feeds the battery
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marsyard.simulation.commands import motors_of

if TYPE_CHECKING:
    from marsyard.simulation.columns import Columns
    from marsyard.simulation.simulation import Simulation

#: the role of a joint that has none
OTHER = "other"


def add_energy_constants(s: Simulation, ds: Columns) -> None:
    """Add these variables, none of which depends on time."""
    about = {"units": "N·m·s/rad, N·s/m", "long_name": "damping"}
    ds["dof_damping"] = ("dof", np.array(s.model.dof_damping, dtype=float), about)
    roles = {joint: role for role, joints in reversed(s.world.robot.roles.items())
             for joint in joints}  # fmt: skip
    names = [roles.get(joint, OTHER) for joint in s.world.joints]
    text = "role of the joint"
    ds["joint_role"] = ("joint", np.array(names, dtype=object), {"long_name": text})
    motors = list(motors_of(s.scenario, s.world).values())
    if motors:
        for name, values, units, text in (
            ("resistance", [m.resistance for m in motors], "Ω", "armature resistance"),
            ("emf", [m.constant * m.gear for m in motors], "V·s/rad", "back-emf per joint rate"),
            ("regeneration", [float(m.regeneration) for m in motors], "1", "braking recuperates"),
        ):
            about = {"units": units, "long_name": text}
            ds[f"motor_{name}"] = ("motor", np.array(values, dtype=float), about)
