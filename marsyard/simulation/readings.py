"""What can be read of a simulation at present, by name: for FMUs on either side of it.

| name | unit | |
| --- | --- | --- |
| base.x, y, z; vx, vy, vz | m; m/s | of the base frame, in the world |
| base.qw, qx, qy, qz; roll, pitch, yaw | 1; rad | its attitude |
| base.wx, wy, wz | rad/s | its angular velocity, in its own frame |
| angle.JOINT, rate.JOINT | rad, rad/s (m, m/s) | of a hinge (of a slide) |
| torque.JOINT | N·m (N) | of the joint's motor |
| wheel.NAME.force_x, force_y, force_z | N | of the ground, in the world; also foot, track |
| wheel.NAME.slip, slip_angle | 1, rad | zero at rest |
| wheel.NAME.sinkage | m | on soil |
| power.motors, energy.motors | W, J | mechanical: Σ torque × rate, and its sum since the start |
| power.electrical | W | of the scenario's motors |

Forces are means since the values were last read, all others those of the moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

from marsyard.simulation.commands import motors_of
from marsyard.simulation.live_readings import attitude_now, sinkage_now, slip_now, wheels_now
from marsyard.simulation.owner import part_of
from marsyard.simulation.port_states import Felt, look, organ_table, twist_of

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

_BASE = (
    *((f"base.{c}", "m", f"position of the base, {c}") for c in "xyz"),
    *((f"base.q{c}", "1", f"attitude of the base as a quaternion, {c}") for c in "wxyz"),
    *((f"base.{c}", "rad", f"{c} of the base") for c in ("roll", "pitch", "yaw")),
    *((f"base.v{c}", "m/s", f"velocity of the base in the world, {c}") for c in "xyz"),
    *((f"base.w{c}", "rad/s", f"angular velocity of the base in its own frame, {c}")
      for c in "xyz"),
)  # fmt: skip
_ORGANS = ("wheel", "foot", "track")


class Reading(NamedTuple):
    """Something that can be read: its name, SI unit and meaning."""

    name: str
    unit: str
    text: str


class Readings:
    """The readings of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        s: Simulation = part_of(simulation)
        self._simulation = s
        self._table = organ_table(s.world.robot, s.model)
        self._felt = Felt(s, self._table)
        self._organs = [k for k, kind in enumerate(self._table.kind) if kind in _ORGANS]
        self._motors = motors_of(s.scenario, s.world)
        self.all = tuple(Reading(*row) for row in self._rows())
        self.index = {reading.name: k for k, reading in enumerate(self.all)}

    def _rows(self) -> list[tuple[str, str, str]]:
        s = self._simulation
        rows = list(_BASE)
        slide = [int(s.model.jnt_type[s.model.joint(n).id]) == mujoco.mjtJoint.mjJNT_SLIDE
                 for n in s.world.joints]  # fmt: skip
        for key, hinge, sliding in (
            ("angle", "rad", "m"), ("rate", "rad/s", "m/s"), ("torque", "N·m", "N"),
        ):  # fmt: skip
            rows += [
                (f"{key}.{name}", sliding if on_slide else hinge, f"{key} of the joint {name}")
                for name, on_slide in zip(s.world.joints, slide, strict=True)
            ]
        for k in self._organs:
            kind, name = self._table.kind[k], self._table.name[k]
            text = f"mean force of the ground on the {kind} {name}, "
            rows += [(f"{kind}.{name}.force_{c}", "N", text + c) for c in "xyz"]
        wheels = list(s.world.robot.wheels)
        rows += [(f"wheel.{w}.slip", "1", f"slip ratio of the wheel {w}") for w in wheels]
        rows += [(f"wheel.{w}.slip_angle", "rad", f"slip angle of the wheel {w}") for w in wheels]
        if s.world.soil is not None:
            text = "depth below the undisturbed surface of the wheel "
            rows += [(f"wheel.{w}.sinkage", "m", text + w) for w in wheels]
        rows.append(("power.motors", "W", "mechanical power of all motors"))
        rows.append(("energy.motors", "J", "work of all motors since the start"))
        if self._motors:
            rows.append(("power.electrical", "W", "electrical power of the scenario's motors"))
        return rows

    def values(self) -> np.ndarray:
        """All readings now, in the order of `all`; forces are means since the last call."""
        s = self._simulation
        look(s)
        m, d = s.facts, s.data
        force = self._felt.mean().force[self._organs]
        rates = d.qvel[m.joint_dof]
        torque = s.commands.torque + s.commands.manual[m.joint_dof]
        quaternion, twist = d.xquat[m.base], twist_of(s, m.base)
        spin = d.xmat[m.base].reshape(3, 3).T @ twist[3:]
        if m.free_base:
            twist, spin = np.array(d.qvel[:3]), np.array(d.qvel[3:6])
        parts = [
            d.xpos[m.base], quaternion, attitude_now(quaternion), twist[:3], spin,
            d.qpos[m.joint_qpos], rates, torque, force.ravel(), self._wheel_values(),
            [torque @ rates, s.records.motor_work.sum() + s.sums.work[0]],
            self._electrical(torque, rates),
        ]  # fmt: skip
        return np.concatenate([np.asarray(p, dtype=float) for p in parts])

    def _wheel_values(self) -> np.ndarray:
        s = self._simulation
        if not len(s.wheels.body):
            return np.zeros(0)
        now = wheels_now(s)
        out = [*slip_now(s, now)]
        if s.world.soil is not None:
            out.append(sinkage_now(s, now))
        return np.concatenate(out)

    def _electrical(self, torque: np.ndarray, rates: np.ndarray) -> list[float]:
        if not self._motors:
            return []
        joints = self._simulation.world.joints
        at = [joints.index(name) for name in self._motors]
        powers = [
            motor.drive(torque[j], rates[j]).power
            for j, motor in zip(at, self._motors.values(), strict=True)
        ]
        return [float(np.sum(powers))]

    def state(self) -> dict[str, np.ndarray]:
        """What is needed to go on with the same means."""
        return self._felt.state()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        self._felt.restore(arrays)
