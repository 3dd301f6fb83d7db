"""Statics of a rover: wheel loads on level ground and slopes, and steps.

Frame: x forward along the ground, y left, z normal to the ground; all joints at zero. On a slope θ
the rover heads uphill and weight points along g(θ) = g (−sin θ, 0, −cos θ).

Wheel loads. Every wheel i touches the ground at its lowest point p_i with a normal force N_i ≥ 0
and a traction T_i = ρ N_i along x, ρ = tan θ for all wheels: the wheels share the pull in
proportion to their loads, so that every contact force is vertical. With the multibody model at
rest (MuJoCo: generalised weight f = −qfrc_inverse, Jacobians J_i of the points p_i)

    Zᵀ [Σ_i (J_i^z + ρ J_i^x)ᵀ N_i + f] = 0

where the rows of held joints (drives, steering, wheel joints: a motor carries them) are left out
and Z spans the motions that loop closures and differentials allow (their forces do no work there).
Drive torques act between a wheel and what carries it, so that T_i turns a bogie about its pivot.

On a slope a pod on one axle that pitches freely about its hinge (roburoc) needs another share of
the pull. Where equal ρ cannot balance the rover, T_i = ρ N_i + τ_i with the τ_i of least Σ τ_i².

Where the chassis is statically indeterminate (four wheels without a differential, for example) the
loads of least Σ N_i² are taken: those of a rigid chassis on wheels of equal stiffness. `free` says
how many loads statics alone leaves open. A negative load means that a wheel lifts off.

Step. A whole axle meets the edge of a step of height h, perpendicular to the direction of travel;
its wheels, of radius r, are about to leave the ground. The edge touches them at the angle ψ from
their lowest point, cos ψ = 1 − h/r (ψ = 90° for h ≥ r, a vertical face), and pushes along
n = (−sin ψ, cos ψ) with the friction t = (cos ψ, sin ψ), |T| ≤ μ N. The wheels on the ground have
−max(|κ|, μ) N ≤ T ≤ κ N, κ the pull to load ratio of the ground. The step can
be met if forces within these bounds balance the rover (the weight lies in the cone they span; its
size cancels). The largest h is found by bisection, for each axle with all others on the level; the
smallest over the axles counts. Assumptions: quasi-static, all joints at zero (the moment at which a
wheel leaves the ground, not the climb after it), ideal sharing of traction among the wheels, motors
strong enough, belly clear. So it is an upper bound of what traction allows. `height` is None where
a vertical face can be met: then the chassis' geometry, which is not looked at, sets the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.robot import Robot

#: roles whose joints are held by motors
HELD = ("drives", "steering", "legs", "frame")
_LEVEL = 0.1  # wheels may stand this share of a radius above or below their common plane


_DEAR = 1e4  # weight of a traction that differs from its share against a load


def _least(matrix: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, float]:
    """The least forces that balance `force`, and what they leave unbalanced."""
    found, *_ = np.linalg.lstsq(matrix, -force, rcond=1e-10)
    return np.asarray(found), float(np.abs(matrix @ found + force).max())


@dataclass(frozen=True)
class Chassis:
    """What statics needs of a rover, with all joints at zero.

    names: of the wheels. centres: of the wheels in the base's frame [m], shape [wheel, 3].
    radius, width, lug [m]: shape [wheel].
    mass [kg]; com: centre of mass in the base's frame [m].
    weight: generalised force of a unit acceleration along x, y, z, shape [3, dof].
    at_centre, turning: Jacobians of the wheels' centres and of their bodies' rotation,
        shape [wheel, 3, dof] each.
    motions: Z, shape [dof, free motion].
    """

    names: tuple[str, ...]
    centres: np.ndarray
    radius: np.ndarray
    width: np.ndarray
    lug: np.ndarray
    mass: float
    com: np.ndarray
    weight: np.ndarray
    at_centre: np.ndarray
    turning: np.ndarray
    motions: np.ndarray

    @property
    def free(self) -> int:
        """How many wheel loads statics leaves open."""
        matrix, _ = self._balance(0.0, 1.0)
        return len(self.names) - int(np.linalg.matrix_rank(matrix, tol=1e-8 * np.abs(matrix).max()))

    def loads(self, slope: float, gravity: float) -> np.ndarray:
        """Normal forces [N] on a slope [rad], shape [wheel]; negative where a wheel lifts off."""
        matrix, force = self._balance(slope, gravity)
        least = 1e-6 * self.mass * gravity
        found, unbalanced = _least(matrix, force)
        if unbalanced > least and slope != 0.0:
            # a τ counts so much more than a load that it only does what loads cannot
            pulls = self.motions.T @ self.feet[:, 0].T / _DEAR
            found, unbalanced = _least(np.hstack([matrix, pulls]), force)
        if unbalanced > least:
            raise InputError(
                f"the rover does not stand on its wheels: {unbalanced:.3g} N or N·m remain "
                f"unbalanced"
                "; are all motors' joints in the roles drives, steering, legs and frame?"
            )
        return found[: len(self.names)]

    def axles(self) -> list[np.ndarray]:
        """Indices of the wheels of each axle, front first."""
        order = np.argsort(-self.centres[:, 0], kind="stable")
        groups: list[list[int]] = []
        for k in order:
            x = self.centres[k, 0]
            if groups and abs(self.centres[groups[-1][0], 0] - x) < 0.25 * self.radius[k]:
                groups[-1].append(int(k))
            else:
                groups.append([int(k)])
        return [np.array(g) for g in groups]

    def points(self, offset: np.ndarray) -> np.ndarray:
        """Jacobians of points that lie at `offset` [m] from the wheels' centres, [wheel, 3, dof].

        The points belong to the wheels' bodies.
        """
        x, y, z = np.broadcast_to(offset, (len(self.names), 3)).T
        none = np.zeros_like(x)
        # v = v_c + ω × offset
        cross = np.array([[none, z, -y], [-z, none, x], [y, -x, none]]).transpose(2, 0, 1)
        return self.at_centre + cross @ self.turning

    @cached_property
    def feet(self) -> np.ndarray:
        """Jacobians of the wheels' lowest points, shape [wheel, 3, dof]."""
        return self.points(np.outer(self.radius, [0.0, 0.0, -1.0]))

    def _balance(self, slope: float, gravity: float) -> tuple[np.ndarray, np.ndarray]:
        columns = self.feet[:, 2] + math.tan(slope) * self.feet[:, 0]
        force = -gravity * (math.sin(slope) * self.weight[0] + math.cos(slope) * self.weight[2])
        return self.motions.T @ columns.T, self.motions.T @ force


def _stands_on(robot: Robot) -> str:
    for organs, name, scenario in (
        (robot.tracks, "tracks", "tracked/sand"), (robot.feet, "feet", "walker/sand"),
    ):  # fmt: skip
        if organs:
            return f" but stands on {name}; simulate it, e.g. in the scenario {scenario}"
    return ""


def chassis_of(robot: Robot) -> Chassis:
    """The chassis of a robot with a free base and at least three wheels."""
    if len(robot.wheels) < 3:
        raise InputError(
            f"{robot.name}: a rover with three wheels or more is expected, it has "
            f"{len(robot.wheels)}{_stands_on(robot)}"
        )
    model = robot.compile()
    if model.njnt == 0 or model.jnt_type[0] != mujoco.mjtJoint.mjJNT_FREE:
        raise InputError(f"{robot.name}: the base has no free joint; a rover is expected")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    base = data.body(robot.base) if robot.base else data.body(int(model.jnt_bodyid[0]))
    bodies = [model.body(w.body).id for w in robot.wheels.values()]
    centres = data.xpos[bodies].copy()
    radius = np.array([w.largest_radius for w in robot.wheels.values()])
    bottom = centres[:, 2] - radius
    if np.ptp(bottom) > _LEVEL * radius.min():
        raise InputError(
            f"{robot.name}: with all joints at zero the wheels' lowest points differ by "
            f"{np.ptp(bottom):.3g} m in height; they must stand on level ground"
        )
    at_centre, turning = _jacobians(model, data, bodies)
    return Chassis(
        names=tuple(robot.wheels),
        centres=centres - base.xpos,
        radius=radius,
        width=np.array([w.width for w in robot.wheels.values()]),
        lug=np.array([w.lug_height for w in robot.wheels.values()]),
        mass=float(model.body_subtreemass[0]),
        com=data.subtree_com[0] - base.xpos,
        weight=_weights(model),
        at_centre=at_centre,
        turning=turning,
        motions=_motions(robot, model, data),
    )


def largest_step(chassis: Chassis, friction: float, pull_ratio: float) -> Step:
    """The largest step that traction allows, see the module docstring.

    friction: μ of the wheels against the edge. pull_ratio: κ of the ground.
    """
    axles = chassis.axles()
    angle = [_largest_angle(chassis, axle, friction, pull_ratio) for axle in axles]
    height = [
        None if a is None else float(chassis.radius[axle].min() * (1 - math.cos(a)))
        for a, axle in zip(angle, axles, strict=True)
    ]
    known = [h for h in height if h is not None]
    worst = min(known) if known else None
    return Step(tuple(height), worst, tuple(chassis.names[axle[0]] for axle in axles))


@dataclass(frozen=True)
class Step:
    """The largest step: of each axle, front first, and of the rover [m]; None: a vertical face."""

    axles: tuple[float | None, ...]
    height: float | None
    wheels: tuple[str, ...]


def _largest_angle(
    chassis: Chassis, axle: np.ndarray, friction: float, pull_ratio: float
) -> float | None:
    """Largest ψ [rad] at which the axle can leave the ground; None: 90°."""
    if _can_lift(chassis, axle, math.pi / 2, friction, pull_ratio):
        return None
    low, high = 0.0, math.pi / 2
    if not _can_lift(chassis, axle, 1e-4, friction, pull_ratio):
        return 0.0
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        if _can_lift(chassis, axle, middle, friction, pull_ratio):
            low = middle
        else:
            high = middle
    return low


def _can_lift(
    chassis: Chassis, axle: np.ndarray, psi: float, friction: float, ratio: float
) -> bool:
    """Whether forces within their bounds balance the rover with an axle against an edge."""
    from scipy.optimize import nnls

    sin, cos = math.sin(psi), math.cos(psi)
    normal, along = chassis.feet[:, 2].copy(), chassis.feet[:, 0].copy()
    brake = np.full(len(normal), max(abs(ratio), friction))
    drive = np.full(len(normal), ratio)
    edge = chassis.points(np.outer(chassis.radius, [sin, 0.0, -cos]))
    normal[axle] = -sin * edge[axle, 0] + cos * edge[axle, 2]
    along[axle] = cos * edge[axle, 0] + sin * edge[axle, 2]
    brake[axle] = drive[axle] = friction
    # a force within its bounds is a sum, with weights of 0 or more, of the two it is bounded by
    cone = np.concatenate([normal + drive[:, None] * along, normal - brake[:, None] * along])
    Z = chassis.motions
    _, left = nnls(Z.T @ cone.T, Z.T @ chassis.weight[2] / chassis.mass)
    return bool(left < 1e-6)


def _jacobians(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    shift, turn = np.zeros((2, len(bodies), 3, model.nv))
    for k, body in enumerate(bodies):
        mujoco.mj_jac(model, data, shift[k], turn[k], data.xpos[body], body)
    return shift, turn


def _weights(model: mujoco.MjModel) -> np.ndarray:
    """Generalised force of unit gravity along x, y and z; springs are taken out."""
    data = mujoco.MjData(model)

    def inverse(gravity: np.ndarray) -> np.ndarray:
        model.opt.gravity[:] = gravity
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        mujoco.mj_forward(model, data)
        data.qacc[:] = 0
        mujoco.mj_inverse(model, data)
        return np.array(data.qfrc_inverse)

    before, flags = model.opt.gravity.copy(), model.opt.disableflags
    nothing = inverse(np.zeros(3))
    out = np.array([nothing - inverse(axis) for axis in np.eye(3)])
    model.opt.gravity[:], model.opt.disableflags = before, flags
    return out


def _motions(robot: Robot, model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Z: motions of unheld joints that loop closures allow, shape [dof, motion]."""
    from scipy.linalg import null_space

    held = {w.joint for w in robot.wheels.values()}
    held |= {j for role in HELD for j in robot.roles.get(role, ())}
    keep = np.ones(model.nv, dtype=bool)
    for name in held:
        joint = model.joint(name)
        keep[joint.dofadr[0]] = False
    free = np.eye(model.nv)[:, keep]
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    if not np.any(equality):
        return free
    rows = (
        data.efc_J.reshape(-1, model.nv) if not mujoco.mj_isSparse(model) else _dense(model, data)
    )
    return free @ null_space(rows[equality] @ free)


def _dense(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    out = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        out, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind.ravel()
    )
    return out
