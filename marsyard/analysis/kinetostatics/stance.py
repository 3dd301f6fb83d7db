"""A robot in a pose with its contacts, as required by kineto-statics.

Frame. Everything is expressed in the frame R₀ of one body, the platform (the robot's base unless
another is named), at its origin: twists X = (v, ω) [m/s, rad/s], wrenches (f, m) [N, N·m], power
f·v + m·ω. With the rates q̇ of the scalar joints the point of the robot that touches at contact i
moves, along the contact's normal (into the robot), heading and left, with

    u_i = W_i X + S_i q̇                                                            [m/s], [3]

W_i (`wrenches`) holds the wrenches on the platform of unit forces at the contact, by rows; S_i
(`rates`) is the motion by the joints with the platform at rest. Closures of loops and differentials
are rows C q̇ = 0 (`closures`).

Virtual work. Contact forces f_i (normal, along, left), weight, an external wrench w on the
platform, joint torques τ and closure forces λ are in balance if

    Σ_i W_iᵀ f_i + w_weight + w = 0                                          6 equations
    Σ_i S_iᵀ f_i + τ_weight + τ + Cᵀ λ = 0                                   one per joint

Passive joints have τ = 0 but at a stop, where it may push away from the stop; springs of joints
count with the weight.

Joints. Those with any role but `passive` in robot.yaml have motors (`driven`); wheels that are in
no role roll freely. Friction in the joints is not looked at.

Wheels touch at one point, in the middle of the tread where ground and wheel allow it; a broad wheel
on firm ground carries on its whole width, which tips a little later. Simulated poses have the
points that the simulation has.

Poses come from `stance_on` (a place on a terrain: the stand of least potential energy, see
`control.placement`), `stances_of_run` and `stance_of` (the contacts a simulation has on hard ground
with steps and faces) or `stance_at` (contacts given by hand, by the angle at which each wheel
touches).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import Robot, load_robot
from marsyard.robot.closing import closure_rows
from marsyard.units import read_gravity

if TYPE_CHECKING:
    from marsyard.control.placement import Ground, Stand
    from marsyard.simulation import Simulation

#: distance from a stop within which a joint lies on it [rad or m], and in poses of a simulation
AT_STOP, NEAR_STOP = 1e-6, 1e-3
#: gap below which a wheel of a stand touches, and of one whose search ended at a kink [m]; as in
#: the traction map
TOUCH, NEARLY = 1e-4, 5e-4
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_FREE = int(mujoco.mjtJoint.mjJNT_FREE)


class Contact(NamedTuple):
    """A point where the robot touches, in the world.

    name: of the wheel, foot or body; body: its number in the model.
    point [m], [3]; frame: normal into the robot, heading, left, by rows, [3, 3].
    radius: of a wheel, 0 for all else [m].
    """

    name: str
    body: int
    point: np.ndarray
    frame: np.ndarray
    radius: float = 0.0


@dataclass(frozen=True)
class Stance:
    """A robot in a pose with its contacts; see the module docstring.

    Attributes:
        robot: which; model: MuJoCo's; qpos: its coordinates.
        platform: name of the body whose frame is used. rotation: R_W0, [3, 3]; origin [m], [3].
        contacts: names, [n]; points in R₀ [m], [n, 3]; axes (normal, along, left) in R₀, [n, 3, 3].
        radius: of the wheels, 0 for others [m], [n].
        wrenches: W, [n, 3, 6]; rates: S, [n, 3, k]; closures: C, [m, k].
        joints: names of the scalar joints, [k]; angles [rad or m], [k].
        driven: whether a joint has a motor, [k]; chain: whether it lies between platform and
            contact, [n, k]; stops: +1 where a passive joint lies on its lower stop, -1 on its
            upper one, else 0, [k].
        mass [kg]; com: centre of mass in R₀ [m], [3]; gravity: in R₀ [m/s²], [3].
        weight_matrix: w_weight and τ_weight per gravity [N, N·m per m/s²], [6 + k, 3].
        springs: torques of the joints' springs [N·m], [k].
    """

    robot: Robot
    model: mujoco.MjModel = field(repr=False)
    qpos: np.ndarray = field(repr=False)
    platform: str
    rotation: np.ndarray = field(repr=False)
    origin: np.ndarray = field(repr=False)
    contacts: tuple[str, ...]
    points: np.ndarray = field(repr=False)
    axes: np.ndarray = field(repr=False)
    radius: np.ndarray = field(repr=False)
    wrenches: np.ndarray = field(repr=False)
    rates: np.ndarray = field(repr=False)
    closures: np.ndarray = field(repr=False)
    joints: tuple[str, ...] = field(repr=False)
    angles: np.ndarray = field(repr=False)
    driven: np.ndarray = field(repr=False)
    chain: np.ndarray = field(repr=False)
    stops: np.ndarray = field(repr=False)
    mass: float
    com: np.ndarray = field(repr=False)
    gravity: np.ndarray = field(repr=False)
    weight_matrix: np.ndarray = field(repr=False)
    springs: np.ndarray = field(repr=False)

    @property
    def weight(self) -> np.ndarray:
        """w_weight: wrench of the weight on the platform [N, N·m], [6]."""
        return self.weight_matrix[:6] @ self.gravity

    @property
    def weight_joints(self) -> np.ndarray:
        """τ_weight: generalised force of weight and springs on the joints [N·m], [k]."""
        return self.weight_matrix[6:] @ self.gravity + self.springs

    @property
    def up(self) -> np.ndarray:
        """Against gravity, in R₀, [3]."""
        return -self.gravity / np.linalg.norm(self.gravity)

    def joint(self, name: str) -> int:
        """Number of a joint."""
        if name not in self.joints:
            raise InputError(
                f"joints: {self.robot.name} has no joint '{name}'; {suggest(name, self.joints)}"
            )
        return self.joints.index(name)

    def load_of(self, generalised: np.ndarray) -> np.ndarray:
        """A generalised force of the model, by MuJoCo's velocities, [nv], as load on the platform
        and on the joints [N, N·m], [6 + k]: both do the same work in every motion."""
        return _Pose(self.robot, self.model, self.qpos, self.platform).load_of(generalised)

    def braked(self, names: Iterable[str]) -> Stance:
        """The same with passive joints held by brakes: they carry any torque."""
        held = {self.joint(name) for name in names}
        mask = np.array([k in held for k in range(len(self.joints))], dtype=bool)
        return replace(self, driven=self.driven | mask, stops=np.where(mask, 0, self.stops))

    def in_world(self, vectors: np.ndarray) -> np.ndarray:
        """Directions of R₀ in the world, [..., 3]."""
        return np.asarray(vectors) @ self.rotation.T

    def to_world(self, points: np.ndarray) -> np.ndarray:
        """Points of R₀ in the world [m], [..., 3]."""
        return self.origin + self.in_world(points)


# --- where poses come from


def stance_on(
    robot: Robot | str,
    ground: Ground,
    x: float = 0.0,
    y: float = 0.0,
    heading: float = 0.0,
    *,
    joints: Mapping[str, float] | None = None,
    gravity: float | str = 9.81,
    platform: str | None = None,
) -> Stance:
    """A rover at rest on a terrain, at x, y [m] and heading [rad].

    Args:
        ground: anything with `height(x, y)` [m].
        joints: angles of joints that are held [rad]; zero unless told.
        gravity: [m/s²] along −z of the world, or a world's name.
    """
    from marsyard.control.placement import Placer

    given, gravity = _robot(robot), read_gravity(gravity)
    placer = Placer(given, ground, joints, gravity)
    return stance_of_stand(placer.place(x, y, heading), placer, gravity, platform)


def stance_of_stand(
    stand: Stand, placer: object, gravity: float = 9.81, platform: str | None = None
) -> Stance:
    """The stance of a stand that a `Placer` found; wheels more than `TOUCH` in the air are out, or
    `NEARLY` where its search ended at a kink of the ground and left them there."""
    near = TOUCH if stand.converged else NEARLY
    hanging = (stand.gap > near) & (stand.load > 1e-3 * stand.load.sum())
    if not stand.converged and hanging.any():
        x, y, _ = stand.position
        raise InputError(
            f"ground: no equilibrium was found at x = {x:g} m, y = {y:g} m; try a place nearby"
        )
    kinematics = placer.kinematics  # type: ignore[attr-defined]
    qpos = placer.coordinates(stand)  # type: ignore[attr-defined]
    pose = _Pose(kinematics.robot, kinematics.model, qpos, platform)
    rows = zip(stand.wheels, stand.contact, stand.normal, stand.gap, strict=True)
    contacts = [pose.wheel_contact(name, p, n) for name, p, n, gap in rows if gap < near]
    return pose.stance(contacts, np.array([0.0, 0.0, -gravity]))


def stance_at(
    robot: Robot | str,
    joints: Mapping[str, float] | None = None,
    contact: Mapping[str, float] | float = 0.0,
    *,
    lifted: Iterable[str] = (),
    attitude: Sequence[float] = (0.0, 0.0, 0.0),
    gravity: float | str | Sequence[float] = 9.81,
    platform: str | None = None,
) -> Stance:
    """A rover whose wheels have given contact angles on a suitable ground; feet touch below.

    Args:
        joints: angles by name [rad]; unless told as in the model's key frame `stand`, else zero.
        contact: angle of each wheel's contact before its lowest point [rad], as the platform sees
            it: 0 below the axle, 90° a face ahead. By wheel, or one for all.
        lifted: wheels and feet that do not touch.
        attitude: roll, pitch, yaw of the platform [rad].
        gravity: [m/s²] along −z of the world, a world's name, or a vector.
    """
    given = _robot(robot)
    if isinstance(gravity, Sequence) and not isinstance(gravity, str):
        vector = np.array(gravity, dtype=float)
    else:
        vector = np.array([0.0, 0.0, -read_gravity(gravity)])
    model = given.compile()
    return _at(given, model, joints or {}, contact, lifted, attitude, vector, platform)


def restance(
    stance: Stance,
    joints: Mapping[str, float] | None = None,
    contact: Mapping[str, float] | float = 0.0,
    lifted: Iterable[str] = (),
) -> Stance:
    """The same robot, platform and gravity with other angles, as `stance_at`, without building the
    model anew; the platform keeps its attitude."""
    given, gravity = stance.robot, stance.in_world(stance.gravity)
    turn = stance.rotation
    return _at(given, stance.model, joints or {}, contact, lifted, turn, gravity, stance.platform)


def _at(
    given: Robot,
    model: mujoco.MjModel,
    joints: Mapping[str, float],
    contact: Mapping[str, float] | float,
    lifted: Iterable[str],
    attitude: Sequence[float] | np.ndarray,
    gravity: np.ndarray,
    platform: str | None,
) -> Stance:
    qpos = _start(model)
    known = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] in _SCALAR]
    for name, angle in joints.items():
        if name not in known:
            raise InputError(f"joints: {given.name} has no joint '{name}'; {suggest(name, known)}")
        qpos[model.joint(name).qposadr[0]] = angle
    _set_attitude(model, qpos, attitude)
    pose = _Pose(given, model, qpos, platform)
    angles = _by_wheel(given, contact)
    away = set(_known(given, lifted, "lifted", (*given.wheels, *given.feet)))
    contacts = [pose.wheel_at(name, angle) for name, angle in angles.items() if name not in away]
    contacts += [pose.foot_contact(name) for name in given.feet if name not in away]
    return pose.stance(contacts, gravity)


def _start(model: mujoco.MjModel) -> np.ndarray:
    """Coordinates of the key frame `stand` where the model has one, else all joints at zero."""
    for k in range(model.nkey):
        if model.key(k).name == "stand":
            return np.array(model.key_qpos[k])
    return np.array(model.qpos0)


def stance_of(
    simulation: Simulation,
    qpos: np.ndarray | None = None,
    margin: float = 1e-3,
    platform: str | None = None,
) -> Stance:
    """The stance of a simulation on hard ground, at present or in another pose.

    A contact is where the gap is below `margin` [m]; a wheel in a corner has two. A joint lies on a
    stop within `NEAR_STOP`.
    """
    from marsyard.simulation.touching import touching_points

    points = touching_points(simulation, qpos, margin)
    robot, model = simulation.world.robot, simulation.model
    pose = _Pose(robot, model, np.array(simulation.data.qpos), platform)
    wheels = list(robot.wheels.items())
    contacts = []
    for p in points:
        if p.belt >= 0:
            raise InputError(
                f"robot: {robot.name} stands on tracks; only wheels and feet are supported"
            )
        if p.wheel >= 0:
            name, radius = wheels[p.wheel][0], wheels[p.wheel][1].radius
        else:
            name, radius = model.body(p.body).name, 0.0
        contacts.append(Contact(name, p.body, p.point, p.frame, radius))
    return pose.stance(contacts, np.array(model.opt.gravity), NEAR_STOP)


# --- how it is worked out


class _Pose:
    """A model in a pose, with its Jacobians split into platform and joints."""

    def __init__(
        self, robot: Robot, model: mujoco.MjModel, qpos: np.ndarray, platform: str | None
    ) -> None:
        self.robot, self.model, self.qpos = robot, model, np.array(qpos, dtype=float)
        self.data = mujoco.MjData(model)
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(model, self.data)
        mujoco.mj_comPos(model, self.data)
        free = np.flatnonzero(model.jnt_type == _FREE)
        if not free.size:
            raise InputError(f"robot: {robot.name} has no free joint; a robot that moves is needed")
        if np.any(model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)):
            raise InputError(
                f"robot: {robot.name} has ball joints; only hinges and slides are supported"
            )
        first = int(model.jnt_dofadr[free[0]])
        self._root = np.arange(first, first + 6)
        self.joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) in _SCALAR]
        self._dofs = model.jnt_dofadr[self.joints].astype(int)
        self.body = self._platform(platform)
        self.R = self.data.xmat[self.body].reshape(3, 3).copy()
        self.p = self.data.xpos[self.body].copy()
        whole = self._jacobian(self.p, self.body)
        self._inverse = np.linalg.inv(whole[:, self._root])
        self._by_joints = whole[:, self._dofs]

    def _platform(self, name: str | None) -> int:
        model = self.model
        if name is None and self.robot.base is not None:
            name = self.robot.base
        if name is None:
            free = np.flatnonzero(model.jnt_type == _FREE)
            return int(model.jnt_bodyid[free[0]])
        names = [model.body(b).name for b in range(1, model.nbody)]
        if name not in names:
            raise InputError(
                f"frame: {self.robot.name} has no body '{name}'; {suggest(name, names)}"
            )
        return int(model.body(name).id)

    def _jacobian(self, point: np.ndarray, body: int) -> np.ndarray:
        """Velocity of a point and angular velocity of its body in R₀, [6, dof]."""
        rows = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, rows[0], rows[1], np.asarray(point, float), body)
        return np.concatenate([self.R.T @ rows[0], self.R.T @ rows[1]])

    # contacts

    def wheel_contact(self, name: str, point: np.ndarray, normal: np.ndarray) -> Contact:
        """A wheel that touches at a point [m] with a normal, both in the world."""
        wheel = self.robot.wheels[name]
        axle = self._axle(name)
        heading = np.cross(axle, normal)
        size = np.linalg.norm(heading)
        if size < 1e-6:
            raise InputError(
                f"wheel {name}: it lies flat on the ground; it must stand on its tread"
            )
        heading /= size
        frame = np.array([normal, heading, np.cross(normal, heading)])
        radius = wheel.largest_radius
        return Contact(name, int(self.model.body(wheel.body).id), np.asarray(point), frame, radius)

    def wheel_at(self, name: str, angle: float) -> Contact:
        """A wheel that touches at an angle before its lowest point [rad], as R₀ sees it."""
        wheel = self.robot.wheels[name]
        axle = self._axle(name)
        ahead = np.cross(axle, self.R[:, 2])
        ahead /= np.linalg.norm(ahead)
        up = np.cross(ahead, axle)
        normal = np.cos(angle) * up - np.sin(angle) * ahead
        centre = self.data.xpos[self.model.body(wheel.body).id]
        return self.wheel_contact(name, centre - wheel.largest_radius * normal, normal)

    def foot_contact(self, name: str) -> Contact:
        """A foot that stands on ground square to the platform's z axis."""
        from marsyard.robot.soles import sole

        foot = self.robot.feet[name]
        body = int(self.model.body(foot.body).id)
        where = sole(self.model, foot, self.robot.name)
        turn = self.data.xmat[body].reshape(3, 3)
        point = self.data.xpos[body] + turn @ where.point - where.radius * self.R[:, 2]
        frame = np.array([self.R[:, 2], self.R[:, 0], self.R[:, 1]])
        return Contact(name, body, point, frame)

    def _axle(self, name: str) -> np.ndarray:
        """Axle of a wheel in the world, to the platform's left."""
        axis = self.data.xaxis[self.model.joint(self.robot.wheels[name].joint).id]
        return axis * (1.0 if axis @ self.R[:, 1] >= 0 else -1.0)

    # all of it

    def stance(
        self, contacts: Sequence[Contact], gravity: np.ndarray, at_stop: float = AT_STOP
    ) -> Stance:
        """The stance with these contacts and gravity [m/s²] in the world."""
        if not contacts:
            raise InputError(f"robot: {self.robot.name} does not touch the ground in this pose")
        model, R = self.model, self.R
        k = len(self.joints)
        points = np.array([R.T @ (c.point - self.p) for c in contacts])
        axes = np.array([c.frame @ R for c in contacts])
        moments = np.cross(points[:, None, :], axes)
        rates = np.zeros((len(contacts), 3, k))
        for i, c in enumerate(contacts):
            moved = self._jacobian(c.point, c.body)[:3]
            rates[i] = axes[i] @ self._joints_alone(moved)
        names = tuple(model.joint(j).name for j in self.joints)
        driven = self._driven(names)
        return Stance(
            robot=self.robot, model=model, qpos=self.qpos, platform=model.body(self.body).name,
            rotation=R, origin=self.p, contacts=tuple(c.name for c in contacts),
            points=points, axes=axes, radius=np.array([c.radius for c in contacts]),
            wrenches=np.concatenate([axes, moments], axis=2), rates=rates,
            closures=self._closures(), joints=names,
            angles=self.qpos[model.jnt_qposadr[self.joints]], driven=driven,
            chain=np.array([self._between(c.body) for c in contacts]).reshape(len(contacts), k),
            stops=self._stops(driven, at_stop), mass=float(model.body_subtreemass[0]),
            com=R.T @ (self._com() - self.p), gravity=R.T @ gravity,
            weight_matrix=self._weight_matrix(), springs=self._springs(),
        )  # fmt: skip

    def _joints_alone(self, rows: np.ndarray) -> np.ndarray:
        """Rows [r, dof] per rate of the joints with the platform at rest, [r, k].

        Rates of the root are those that keep the platform where it is.
        """
        return rows[:, self._dofs] - rows[:, self._root] @ self._inverse @ self._by_joints

    def load_of(self, generalised: np.ndarray) -> np.ndarray:
        """See `Stance.load_of`."""
        on_platform = self._inverse.T @ generalised[self._root]
        on_joints = generalised[self._dofs] - self._by_joints.T @ on_platform
        return np.concatenate([on_platform, on_joints])

    def _com(self) -> np.ndarray:
        mass = self.model.body_mass
        return mass @ self.data.xipos / mass.sum()

    def _weight_matrix(self) -> np.ndarray:
        """Load on platform and joints per gravity in R₀, [6 + k, 3]."""
        out = np.zeros((6 + len(self.joints), 3))
        for body in np.flatnonzero(self.model.body_mass[1:] > 0) + 1:
            mass, at = float(self.model.body_mass[body]), self.data.xipos[body]
            x, y, z = self.R.T @ (at - self.p)
            out[:3] += mass * np.eye(3)
            out[3:6] += mass * np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            out[6:] += mass * self._joints_alone(self._jacobian(at, int(body))[:3]).T
        return out

    def _springs(self) -> np.ndarray:
        """Torque of the joints' springs [N·m]."""
        model = self.model
        address = model.jnt_qposadr[self.joints]
        stretch = self.qpos[address] - model.qpos_spring[address]
        return (
            -np.asarray(model.jnt_stiffness[self.joints]).reshape(len(stretch), -1)[:, 0] * stretch
        )

    def _driven(self, names: tuple[str, ...]) -> np.ndarray:
        roles = self.robot.roles
        moved = {j for role, joints in roles.items() if role != "passive" for j in joints}
        return np.array([name in moved for name in names], dtype=bool)

    def _closures(self) -> np.ndarray:
        """Rows of the model's equality constraints by the joints' rates, [m, k]."""
        return self._joints_alone(closure_rows(self.model, self.data)[1])

    def _between(self, body: int) -> np.ndarray:
        """Joints between the platform and a body, [k]."""
        up, down = self._above(self.body), self._above(body)
        chain = set(up) ^ set(down)
        return np.array([int(self.model.jnt_bodyid[j]) in chain for j in self.joints], dtype=bool)

    def _above(self, body: int) -> list[int]:
        out = []
        while body > 0:
            out.append(body)
            body = int(self.model.body_parentid[body])
        return out

    def _stops(self, driven: np.ndarray, near: float) -> np.ndarray:
        model = self.model
        out = np.zeros(len(self.joints), dtype=int)
        for k, j in enumerate(self.joints):
            if driven[k] or not model.jnt_limited[j]:
                continue
            low, high = model.jnt_range[j]
            q = self.qpos[model.jnt_qposadr[j]]
            out[k] = (q <= low + near) - int(q >= high - near)
        return out


def _robot(robot: Robot | str) -> Robot:
    return load_robot(robot) if isinstance(robot, str) else robot


def _set_attitude(
    model: mujoco.MjModel, qpos: np.ndarray, attitude: Sequence[float] | np.ndarray
) -> None:
    """Turn the base by roll, pitch, yaw [rad], or by a rotation matrix."""
    from marsyard.robot.poses import Pose

    free = np.flatnonzero(model.jnt_type == _FREE)
    if free.size:
        at = int(model.jnt_qposadr[free[0]])
        turn = np.asarray(attitude, dtype=float)
        pose = Pose(np.zeros(3), turn) if turn.shape == (3, 3) else Pose.of_rpy((0, 0, 0), turn)
        qpos[at + 3 : at + 7] = pose.quat()


def _known(robot: Robot, names: Iterable[str], field_name: str, organs: Sequence[str]) -> list[str]:
    out = []
    for name in names:
        if name not in organs:
            raise InputError(
                f"{field_name}: {robot.name} has no wheel '{name}'; {suggest(name, organs)}"
            )
        out.append(name)
    return out


def _by_wheel(robot: Robot, angle: Mapping[str, float] | float) -> dict[str, float]:
    if not robot.wheels and not robot.feet:
        raise InputError(f"robot: {robot.name} has no wheels and no feet to stand on")
    if isinstance(angle, Mapping):
        _known(robot, angle, "contact", list(robot.wheels))
        return {name: float(angle.get(name, 0.0)) for name in robot.wheels}
    return {name: float(angle) for name in robot.wheels}
