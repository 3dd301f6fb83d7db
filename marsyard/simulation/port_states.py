"""The robot as the ports of `marsyard.modules` see it: joints, base, organs, and what they feel.

An organ is what may touch the ground: wheels, feet, tracks, then all other bodies that collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

from marsyard.ports import BaseState, ContactBodyStates, ContactBodyWrenches, JointStates
from marsyard.robot import Robot
from marsyard.simulation.owner import part_of

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation


class OrganTable(NamedTuple):
    """What does not change of the contact bodies of a robot."""

    name: tuple[str, ...]
    kind: tuple[str, ...]
    body: np.ndarray  # int64[n], mujoco's
    joint: np.ndarray  # int64[n], mujoco's joint of a wheel's axle, else −1
    radius: np.ndarray
    width: np.ndarray
    belt: np.ndarray  # int64[n], degree of freedom of the sprocket, else −1
    pitch: np.ndarray  # float64[n], belt speed per rate [m]

    def states(self, data: mujoco.MjData, twist: np.ndarray) -> ContactBodyStates:
        """The contact bodies at mujoco's present kinematics; twist: velocity and angular
        velocity.
        """
        n, wheel = len(self.name), self.joint >= 0
        axis = np.zeros((n, 3))
        axis[wheel] = data.xaxis[self.joint[wheel]]
        return ContactBodyStates(
            name=self.name, kind=self.kind, radius=self.radius, width=self.width,
            position=data.xpos[self.body], velocity=twist[:, :3].copy(),
            rotation=data.xmat[self.body].reshape(n, 3, 3),
            angular_velocity=twist[:, 3:6].copy(), axis=axis,
            belt_speed=np.where(self.belt >= 0, self.pitch * data.qvel[self.belt], 0.0),
        )  # fmt: skip


def organ_table(robot: Robot, model: mujoco.MjModel) -> OrganTable:
    """Wheels, feet, tracks, then all other bodies with a geom that collides."""
    rows: list[tuple[str, str, int, int, float, float, int, float]] = []
    for name, w in robot.wheels.items():
        joint = model.joint(w.joint).id
        rows.append((name, "wheel", model.body(w.body).id, joint, w.radius, w.width, -1, 0.0))
    for name, f in robot.feet.items():
        rows.append((name, "foot", model.body(f.body).id, -1, 0.0, 0.0, -1, 0.0))
    for name, t in robot.tracks.items():
        dof = int(model.jnt_dofadr[model.joint(t.joint).id])
        body = model.body(t.body).id
        rows.append((name, "track", body, -1, 0.0, t.width, dof, t.pitch_radius))
    known = {row[2] for row in rows}
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    for b in np.unique(model.geom_bodyid[collides]):
        if b not in known and model.body_weldid[b] != 0:
            name = model.body(b).name or f"body{b}"
            rows.append((name, "body", int(b), -1, 0.0, 0.0, -1, 0.0))
    whole = [np.array([row[k] for row in rows], dtype=np.int64) for k in (2, 3, 6)]
    sizes = [np.array([row[k] for row in rows], dtype=float) for k in (4, 5, 7)]
    body, joint, belt = whole
    radius, width, pitch = sizes
    names = tuple(row[0] for row in rows)
    kinds = tuple(row[1] for row in rows)
    return OrganTable(names, kinds, body, joint, radius, width, belt, pitch)


def look(s: Simulation) -> None:
    """Bring mujoco's kinematics up to the present state."""
    mujoco.mj_kinematics(s.model, s.data)
    mujoco.mj_comPos(s.model, s.data)
    mujoco.mj_comVel(s.model, s.data)


def twist_of(s: Simulation, body: int) -> np.ndarray:
    """Velocity of a body's origin and angular velocity, in the world, after `look`."""
    out = np.zeros(6)
    mujoco.mj_objectVelocity(s.model, s.data, mujoco.mjtObj.mjOBJ_XBODY, body, out, 0)
    return np.concatenate([out[3:], out[:3]])


def organ_states(s: Simulation, table: OrganTable) -> ContactBodyStates:
    """The contact bodies now, after `look`."""
    twist = [twist_of(s, int(b)) for b in table.body]
    return table.states(s.data, np.array(twist).reshape(-1, 6))


def joint_states(s: Simulation) -> JointStates:
    """The joints now."""
    model = s.facts
    return JointStates(s.world.joints, s.qpos[model.joint_qpos], s.qvel[model.joint_dof])


def base_state(s: Simulation) -> BaseState:
    """The base frame now, after `look`."""
    b = s.facts.base
    twist = twist_of(s, b)
    return BaseState(s.data.xpos[b].copy(), s.data.xquat[b].copy(), twist[:3], twist[3:])


class Felt:
    """Mean wrenches on the contact bodies since the last call, from the loop's sums of impulses.

    A record empties the sums, and keeps what they held; there may be several between two calls.
    Moments are those of force laws; hard ground gives forces alone, and only those on wheels, feet
    and tracks.
    """

    def __init__(self, simulation: Simulation, table: OrganTable) -> None:
        self._simulation: Simulation = part_of(simulation)
        self._row = {int(body): k for k, body in reversed(list(enumerate(table.body)))}
        #: time of the last call [s], and the sums then
        self._last = 0.0
        self._sums = np.zeros((len(table.name), 6))
        #: impulses of the records since then, and the time up to which they are in [s]
        self._recorded = np.zeros_like(self._sums)
        self._counted = 0.0

    def mean(self) -> ContactBodyWrenches:
        """Since the last call."""
        s = self._simulation
        since, now = s.time - self._last, self._now()
        self._count()
        # of force and moment [N·s, N·m·s]
        impulse = now - self._sums + self._recorded
        mean = impulse / since if since > 0 else 0.0 * now
        self._last = self._counted = s.time
        self._sums, self._recorded = now, np.zeros_like(now)
        return ContactBodyWrenches(mean[:, :3], mean[:, 3:]).fit(n=len(mean))

    def state(self) -> dict[str, np.ndarray]:
        """What is needed to go on with the same means, also where the records are gone."""
        self._count()
        return {
            "felt_time": np.array([self._last]), "felt_sums": self._sums.copy(),
            "felt_recorded": self._recorded.copy(),
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave."""
        self._last, self._counted = float(arrays["felt_time"][0]), self._simulation.time
        self._sums = np.array(arrays["felt_sums"])
        self._recorded = np.array(arrays["felt_recorded"])

    def _count(self) -> None:
        """Add what the records hold that are new."""
        s, r = self._simulation, self._simulation.records
        new = np.searchsorted(r.time, self._counted + 0.5 * s.scenario.run.step)
        for k in range(int(new), len(r.time)):
            self._recorded += self._impulse(r.world[k], r.organ[k], r.attached[k])
        self._counted = s.time

    def _now(self) -> np.ndarray:
        s = self._simulation
        return self._impulse(s.sums.world, s.sums.organ, s.attachments.chains.sums)

    def _impulse(self, wheels: np.ndarray, organs: np.ndarray, sums: np.ndarray) -> np.ndarray:
        out = np.zeros_like(self._sums)
        w = len(wheels)
        out[:w, :3] = wheels
        out[w : w + len(organs), :3] = organs
        loop = self._simulation.attachments
        for n, c in enumerate(loop.chains.sign):
            # what the ground does to a body; to wheels, feet and tracks it is in the sums above
            body = int(loop.chains.body[n, 0 if c > 0 else 1])
            if c == 0.0 or body not in self._row:
                continue
            row, force, moment = self._row[body], c * sums[n, :3], c * sums[n, 3:6]
            if loop.chains.wheel[n] < 0 and loop.chains.organ[n] < 0:
                out[row, :3] += force
            arm = loop.attached.point[n] - self._simulation.data.xpos[body]
            arm = arm if np.any(loop.chains.at[n]) else 0.0 * arm
            out[row, 3:] += moment + np.cross(arm, force)
        return out
