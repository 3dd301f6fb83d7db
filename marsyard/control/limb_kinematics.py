"""Forward and inverse kinematics of limbs with feet and wheels.

Points. For joint angles q MuJoCo's kinematics give p_i(q), in the base frame B (x forward, y left,
z up): of a foot its point (`robot.soles`), of a wheel its centre [m].

Balls. A foot that is a ball of radius r, fast on its link, rolls on hard ground while the link
tilts: it touches further on, by r α when the link has tilted by α. With `rolling_feet` p_i is
therefore taken back to where the ball was set down upright; with n the normal of the ground and u
what n has become by the turn of the foot since all joints were zero,

    p_i = c_i − r (α/sin α) (u − (u·n) n),   cos α = u·n,   c_i the middle of the ball        [m]

Ground. A gait says where points are in the frame G of the ground, which goes along with the gait:
its axes are along the ground, its origin is where the base frame's lies when all joints are zero
and the robot stands. A base displaced by c [m] (in G) that leans by the rotation Λ (from B to G)
sees them at

    p_B = Λᵀ (p_G − c)

Inverse. Wanted are angles of the movable joints (roles `legs` and `frame`; those of closed loops
too) within their ranges with p_i(q) = target_i and e_k(q) = 0, e_k the equations of closed loops.
Damped Gauss-Newton: with r the remainders of both and J = ∂r/∂q

    (JᵀJ + λ I) Δq = −Jᵀ r,   λ = 1e-12,   |Δq| ≤ 0.3

where joints at the end of their range that would leave it are left out and the rest is solved
again. The search ends with a step below 1e-8. A target that is missed by more than 10 µm is an
error that says by which leg, where and by how much.

Wheels on legs. A wheel's joint turns against the link that carries it. For the wheel to turn by ρ
over the ground while that link pitches by π (about the base's y, with the base's own lean), the
joint goes to q_w = q_w0 + ρ − π.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import Robot, load_robot
from marsyard.robot.soles import sole

#: roles of joints that a gait moves
MOVING_ROLES = ("legs", "frame")
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_ITERATIONS, _LONGEST, _DAMPING, _DONE = 80, 0.3, 1e-12, 1e-8
#: how much more the equations of loops count than targets
_CLOSED = 1e3
#: remainder that counts as reached [m]
REACHED = 1e-5


class Limbs:
    """Feet and wheels of a robot, moved by gaits.

    Attributes:
        robot: what was read from the library or a file.
        model, data: MuJoCo's, private to this object.
        organs: names of the feet, then of the wheels, in the order of all arrays; a wheel that has
            the name of a foot gets "wheel:" before it.
        is_wheel: bool, shape [n].
        radius: on which wheels roll, of feet 0 [m], shape [n]: of a cone its largest one, which
            touches level ground and carries most on soil.
        clearance: of the points above the ground they stand on [m], shape [n].
        joints: names of the joints that are solved for, in the order of all arrays of angles;
        moving: which of them a gait commands (the others follow in closed loops), bool.
        wheel_joints: names, in the order of the wheels.
        steering_joints: names, of role `steering`.
        home: p_B with all joints at zero [m], shape [n, 3].
    """

    def __init__(self, robot: Robot | str, rolling_feet: bool = False) -> None:
        self.robot = load_robot(robot) if isinstance(robot, str) else robot
        robot = self.robot
        if not robot.feet and not robot.wheels:
            raise InputError(f"robot: {robot.name} has neither feet nor wheels; a gait needs some")
        spec = robot.spec()
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        m = self.model
        self.organs = (
            *robot.feet,
            *(f"wheel:{w}" if w in robot.feet else w for w in robot.wheels),
        )
        bodies = [f.body for f in robot.feet.values()] + [w.body for w in robot.wheels.values()]
        self._body = [m.body(name).id for name in bodies]
        soles = [sole(m, foot, robot.name) for foot in robot.feet.values()]
        self._point = [s.point for s in soles]
        self._point += [np.zeros(3) for _ in robot.wheels]
        self.is_wheel = np.arange(len(bodies)) >= len(robot.feet)
        radii = [w.largest_radius for w in robot.wheels.values()]
        self.radius = np.array([*[0.0] * len(robot.feet), *radii])
        self.clearance = np.array([*[s.radius for s in soles], *radii])
        self.steering_joints = robot.roles.get("steering", ())
        self.wheel_joints = tuple(w.joint for w in robot.wheels.values())
        self._wheel_of = [m.joint(j).id for j in self.wheel_joints]
        self.base = int(m.body(robot.base).id) if robot.base else 1
        names = [joint for role in MOVING_ROLES for joint in robot.roles.get(role, ())]
        commanded = len(names)
        if m.neq:
            names += self._following(names)
        self.joints = tuple(names)
        self.moving = np.arange(len(names)) < commanded
        ids = [m.joint(name).id for name in names]
        self._dof = np.array([m.jnt_dofadr[j] for j in ids], dtype=int)
        self._qpos = np.array([m.jnt_qposadr[j] for j in ids], dtype=int)
        limited = np.array([bool(m.jnt_limited[j]) for j in ids])
        self._low = np.where(limited, m.jnt_range[ids, 0] if ids else 0.0, -np.inf)
        self._high = np.where(limited, m.jnt_range[ids, 1] if ids else 0.0, np.inf)
        self._jacobian, self._turning = np.zeros((3, m.nv)), np.zeros((3, m.nv))
        #: normal of the ground in the base frame
        self.normal = np.array([0.0, 0.0, 1.0])
        self._update(np.zeros(len(names)))
        self._upright = [self._seen_from_base(b) for b in self._body]
        feet = np.arange(len(bodies)) < len(robot.feet)
        self._ball_radius = np.where(feet & rolling_feet, self.clearance, 0.0)
        self.home = self._points()

    # --- forwards

    def points(self, angles: np.ndarray) -> np.ndarray:
        """Feet and wheel centres in the base frame at angles of `joints` [m], shape [n, 3]."""
        self._update(angles)
        return self._points()

    def middles(self, angles: np.ndarray) -> np.ndarray:
        """As `points`, of feet that roll the middles of their balls [m], shape [n, 3]."""
        self._update(angles)
        count = range(len(self.organs))
        return np.array([self._in_base(self._world_point(i)) for i in count])

    def centre(self, angles: np.ndarray) -> np.ndarray:
        """Centre of mass in the base frame [m], shape [3]."""
        self._update(angles)
        return self._in_base(self.data.subtree_com[self.base])

    def link_pitch(self, angles: np.ndarray, lean: np.ndarray | None = None) -> np.ndarray:
        """Pitch of the links that carry the wheels over the ground [rad], shape [wheels]."""
        self._update(angles)
        return self._pitches(np.eye(3) if lean is None else lean)

    def hold(self, joints: Mapping[str, float]) -> None:
        """Set the angles of joints that gaits do not move (steering, passive ones) [rad]."""
        for name, angle in joints.items():
            try:
                address = self.model.joint(name).qposadr[0]
            except KeyError:
                known = [self.model.joint(j).name for j in range(self.model.njnt)]
                raise InputError(
                    f"joints: {self.robot.name} has no joint '{name}'; {suggest(name, known)}"
                ) from None
            self.data.qpos[address] = angle

    # --- backwards

    def reach(
        self, targets: np.ndarray, start: np.ndarray, which: np.ndarray | None = None
    ) -> np.ndarray:
        """Angles of `joints` that put feet and wheels at targets in the base frame [m], [n, 3].

        `start` [rad] begins the search; `which` (bool, [n]) says which organs count, all unless
        told. Raises InputError if one cannot be reached.
        """
        targets = np.asarray(targets, float)
        count = np.ones(len(self.organs), bool) if which is None else np.asarray(which, bool)
        q = np.clip(np.array(start, float), self._low, self._high)
        for _ in range(_ITERATIONS):
            rest, jacobian = self._remainder(q, targets, count)
            step = self._step(q, rest, jacobian)
            longest = float(np.max(np.abs(step), initial=0.0))
            q = np.clip(q + step * min(1.0, _LONGEST / max(longest, 1e-300)), self._low, self._high)
            if longest < _DONE:
                break
        self._update(q)
        self._must_reach(targets, count)
        return q

    def in_base(self, places: np.ndarray, body: np.ndarray, lean: np.ndarray) -> np.ndarray:
        """Places of the ground's frame as a base displaced by `body` that leans sees them [m]."""
        return (places - body) @ lean

    def on_ground(self, points: np.ndarray, body: np.ndarray, lean: np.ndarray) -> np.ndarray:
        """Points of the base frame in the frame of the ground [m]; undoes `in_base`."""
        return points @ lean.T + body

    # --- inside

    def _following(self, commanded: list[str]) -> list[str]:
        """Joints that loops may move: all scalar ones below the base but wheels and steering."""
        m, robot = self.model, self.robot
        fixed = {*commanded, *self.wheel_joints, *robot.roles.get("steering", ())}
        out = []
        for j in range(m.njnt):
            name = m.joint(j).name
            body = int(m.jnt_bodyid[j])
            if m.jnt_type[j] in _SCALAR and name not in fixed and body != self.base:
                out.append(name)
        return out

    def _update(self, q: np.ndarray) -> None:
        self.data.qpos[self._qpos] = q
        if self.model.neq:
            mujoco.mj_fwdPosition(self.model, self.data)
        else:
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)

    def _in_base(self, point: np.ndarray) -> np.ndarray:
        R_WB = self.data.xmat[self.base].reshape(3, 3)
        return (point - self.data.xpos[self.base]) @ R_WB

    def places(self, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Where the contact bodies' points are, given position [m] and rotation (by rows) of their
        bodies:
        of feet their points, of wheels their centres."""
        out = np.array(position)
        for i, point in enumerate(self._point):
            out[i] += rotation[i].reshape(3, 3) @ point
        return out

    def _world_point(self, i: int) -> np.ndarray:
        body = self._body[i]
        return self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ self._point[i]

    def _seen_from_base(self, body: int) -> np.ndarray:
        """Attitude of a body in the base frame."""
        R_WB = self.data.xmat[self.base].reshape(3, 3)
        return R_WB.T @ self.data.xmat[body].reshape(3, 3)

    def _points(self) -> np.ndarray:
        out = np.array([self._in_base(self._world_point(i)) for i in range(len(self.organs))])
        for i in np.flatnonzero(self._ball_radius):
            out[i] -= self._rolled(int(i))[0]
        return out

    def _rolled(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """By how much a ball has rolled, in the base frame [m], and u."""
        n = self.normal
        u = self._seen_from_base(self._body[i]) @ self._upright[i].T @ n
        across = u - (u @ n) * n
        sine = float(np.linalg.norm(across))
        angle = np.arctan2(sine, float(u @ n))
        return self._ball_radius[i] * (angle / sine if sine > 1e-9 else 1.0) * across, u

    def _pitches(self, lean: np.ndarray) -> np.ndarray:
        R_GB = lean @ self.data.xmat[self.base].reshape(3, 3).T
        out = []
        for joint, body in zip(self._wheel_of, np.array(self._body)[self.is_wheel], strict=True):
            # the carrier's forward axis, seen from the ground: x turned about y by the pitch
            axle = self.data.xaxis[joint]
            link = self.data.xmat[self.model.body_parentid[body]].reshape(3, 3)
            up = link[:, 2] - (link[:, 2] @ axle) * axle
            x, _, z = R_GB @ up
            out.append(np.arctan2(x, z))
        return np.array(out)

    def _remainder(
        self, q: np.ndarray, targets: np.ndarray, count: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self._update(q)
        d, m = self.data, self.model
        R_WB = d.xmat[self.base].reshape(3, 3)
        rest, rows = [], []
        for i in map(int, np.flatnonzero(count)):
            point = self._world_point(i)
            mujoco.mj_jac(m, d, self._jacobian, self._turning, point, self._body[i])
            rest.append(self._in_base(point) - targets[i])
            rows.append(R_WB.T @ self._jacobian[:, self._dof])
            if self._ball_radius[i] > 0:
                # du = ω × u, seen along the ground
                rolled, u = self._rolled(i)
                cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
                along = np.eye(3) - np.outer(self.normal, self.normal)
                rest[-1] -= rolled
                turn = R_WB.T @ self._turning[:, self._dof]
                rows[-1] = rows[-1] + self._ball_radius[i] * along @ cross @ turn
        if m.neq:
            # MuJoCo's equality rows come first
            rest.append(_CLOSED * d.efc_pos[: d.ne])
            rows.append(_CLOSED * d.efc_J.reshape(-1, m.nv)[: d.ne][:, self._dof])
        return np.concatenate(rest), np.concatenate(rows)

    def _step(self, q: np.ndarray, rest: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        free = np.ones(len(q), bool)
        for _ in range(len(q) + 1):
            own = jacobian[:, free]
            step = np.zeros(len(q))
            matrix = own.T @ own + _DAMPING * np.eye(own.shape[1])
            step[free] = -np.linalg.solve(matrix, own.T @ rest)
            leaves = free & (((q <= self._low) & (step < 0)) | ((q >= self._high) & (step > 0)))
            if not leaves.any():
                break
            free &= ~leaves
        return step

    def _must_reach(self, targets: np.ndarray, count: np.ndarray) -> None:
        missed = np.linalg.norm(self._points() - targets, axis=1) * count
        worst = int(np.argmax(missed))
        if missed[worst] > REACHED:
            x, y, z = targets[worst]
            raise InputError(
                f"'{self.organs[worst]}' of {self.robot.name} cannot reach "
                f"({x:.3f}, {y:.3f}, {z:.3f}) m of the base frame: it misses by "
                f"{1000 * missed[worst]:.3g} mm; use shorter strides, lower steps or another height"
            )
        open_by = np.abs(self.data.efc_pos[: self.data.ne]) if self.model.neq else np.zeros(0)
        if np.max(open_by, initial=0.0) > REACHED:
            raise InputError(f"loops of {self.robot.name} cannot be closed at this pose")
