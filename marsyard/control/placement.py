"""Placement of a rover on a known terrain: pose, passive joint angles, wheel contacts and loads.

Given are the place (x, y) of the base, its heading and the angles of all joints but the passive
ones. Unknown are u = (z, roll, pitch, passive joints). The stand is that of least potential energy
among those where no wheel is in the ground:

    minimise  V(u) = −Σ m_b g·p_b(u)     subject to  gap_i(u) ≥ 0,  e_k(u) = 0,  limits of joints

e_k are the model's equality constraints (differentials, loops). The attitude is
R = R_z(heading) R_y(pitch) R_x(roll). The gap of a wheel is vertical,

    gap_i = min over the points P of its lower surface of  P_z − h(P_x, P_y)               [m]

which is zero exactly where the wheel touches. The surface is the tread of a disc (its rim), a
cylinder (with its width), a sphere; a torus counts as a disc of its radius.

Where a rover has as many unknowns as wheels (three bogies: 3 + 3 unknowns, 6 wheels) and all loads
are pushes, every wheel touches and energy does not matter: the stand is geometry alone. Where it
has fewer unknowns (a rigid chassis on four wheels) some wheels keep a gap; where a load would have
to pull, the wheel lifts off and its bogie hangs by its weight. The multipliers of gap_i ≥ 0 are the
loads of a stand without friction whose x, y and heading are held; on a slope they differ from those
with friction, but say which wheels carry nothing.

Solved by sequential quadratic programming: the Hessian of V from differences, made positive;
the exact derivative of a gap is N·∂P/∂u with the common normal N (N_z = 1) at the touching point;
each small problem by non-negative least squares (C. L. Lawson, R. J. Hanson: Solving least squares
problems, 1974, chapter 23, least-distance programming). Steps are bounded by 0.1 (m, rad); after
each the rover is lifted out of the ground, and the step halved until the energy falls. So a stand
is never in the ground, and on rocks, where the search may end at a kink, `converged` is false.

A rigid rover that is balanced on two diagonal wheels is at a saddle of the energy, where a search
from a symmetric start ends. It is then tipped a little to either side, and falls onto a third wheel
if that lowers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import mujoco
import numpy as np

from marsyard.control.rover_kinematics import RoverKinematics
from marsyard.errors import InputError
from marsyard.robot import Robot
from marsyard.robot.closing import closure_rows
from marsyard.rotations import matrix_of, quaternion_of
from marsyard.units import read_gravity

#: steps of the search, bound of one step [m, rad], step at which it ends [m, rad]
_ITERATIONS, _LONGEST, _DONE = 60, 0.1, 1e-9
#: half the angle of the tread looked at, samples along and across it, passes after the first
_REACH, _ALONG, _ACROSS, _PASSES = 1.4, 33, 7, 12
#: how much higher than the lowest another low point of a wheel may be to count [m]
_NEAR = 0.03
#: by how much the middle of a tread is preferred, and how far the ground is felt sideways [m]
_EVEN, _FEEL = 1e-8, 1e-3
#: tipping: turn [rad], drop of the centre of mass that is a fall [m], falls at most, gap of a point
#: that resists [m]
_TIP, _FALL, _FALLS, _MET = 5e-3, 1e-7, 3, 1e-5


class _Touch(NamedTuple):
    """Low points: wheel [k], point [k, 3], gap [k], normal [k, 3], slopes [k, unknowns]."""

    wheel: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    normal: np.ndarray
    slopes: np.ndarray


class Ground(Protocol):
    """Anything with a height [m] at points x, y [m], as `marsyard.ground.terrain.Terrain`."""

    def height(self, x, y) -> np.ndarray:
        """Heights [m]."""
        ...


@dataclass(frozen=True)
class Stand:
    """A rover at rest on a terrain.

    Attributes:
        position: of the base in the world [m], [3].
        roll, pitch, heading: [rad].
        joints: angles of all joints by name [rad], those given and those found.
        wheels: names, in the order of what follows.
        contact: lowest point of each wheel over the ground, in the world [m], [n, 3].
        normal: of the ground there, [n, 3].
        gap: vertical distance to the ground [m], [n].
        load: normal force of a stand without friction [N], [n].
        converged: whether the search ended by itself.
    """

    position: np.ndarray
    roll: float
    pitch: float
    heading: float
    joints: dict[str, float]
    wheels: tuple[str, ...]
    contact: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    load: np.ndarray
    converged: bool

    @property
    def rotation(self) -> np.ndarray:
        """Attitude R_WB, [3, 3]."""
        return rotation(self.roll, self.pitch, self.heading)

    @property
    def unloaded(self) -> tuple[str, ...]:
        """Wheels that carry less than a thousandth of the weight."""
        limit = 1e-3 * self.load.sum()
        return tuple(w for w, f in zip(self.wheels, self.load, strict=True) if f < limit)


class Placer:
    """Places one robot on one terrain, again and again.

    Args:
        robot: of the library, by name, or its kinematics.
        ground: a terrain.
        joints: angles of joints that are held [rad], by name; zero unless told.
        gravity: [m/s²], or a world's name.
    """

    def __init__(
        self,
        robot: Robot | str | RoverKinematics,
        ground: Ground,
        joints: Mapping[str, float] | None = None,
        gravity: float | str = 9.81,
    ):
        self.kinematics = robot if isinstance(robot, RoverKinematics) else RoverKinematics(robot)
        self.ground = ground
        model = self.kinematics.model
        free = np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
        if not free.size or model.jnt_bodyid[free[0]] != self.kinematics.base:
            name = self.kinematics.robot.name
            raise InputError(f"robot: {name} cannot be placed, its base has no free joint")
        model.opt.gravity[:] = 0, 0, -read_gravity(gravity)
        model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        off = mujoco.mjtDisableBit
        model.opt.disableflags |= int(off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_SPRING)
        self._base_q = int(model.jnt_qposadr[free[0]])
        self._base_v = int(model.jnt_dofadr[free[0]])
        self._given = dict(joints or {})
        self._passive = [
            j for j in self.kinematics.robot.roles.get("passive", ()) if j not in self._given
        ]
        ids = [model.joint(j).id for j in self._passive]
        self._q = model.jnt_qposadr[ids].astype(int) if ids else np.zeros(0, int)
        self._v = model.jnt_dofadr[ids].astype(int) if ids else np.zeros(0, int)
        limited = model.jnt_limited[ids].astype(bool) if ids else np.zeros(0, bool)
        bounds = model.jnt_range[ids] if ids else np.zeros((0, 2))
        self._low = np.where(limited, bounds[:, 0], -np.inf)
        self._high = np.where(limited, bounds[:, 1], np.inf)
        self._spheres = np.array([w.shape == "sphere" for w in self._wheels()])
        self._flat = np.array([w.shape in ("disc", "torus") for w in self._wheels()])

    def place(
        self,
        x: float,
        y: float,
        heading: float = 0.0,
        joints: Mapping[str, float] | None = None,
        near: Stand | None = None,
    ) -> Stand:
        """The stand at x, y [m] and heading [rad]; `near` is a stand to begin from."""
        held = {**self._given, **(joints or {})}
        self.kinematics.set_joints(held)
        self._place = float(x), float(y), float(heading)
        u = self._begin() if near is None else self._from(near)
        for _ in range(_FALLS):
            u, load, converged = self._search(u)
            fallen = self._fallen(u)
            if fallen is None:
                break
            u = fallen
        return self._stand(u, load, held, converged)

    def _search(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Unknowns and loads where the search ends, and whether it ended by itself."""
        load, energy = np.zeros(0), self._energy(u)
        for _ in range(_ITERATIONS):
            touch = self._touching(u)
            step, load = self._step(u, touch)
            length = float(np.max(np.abs(step)))
            if length < _DONE:
                return u, load, True
            u, energy, moved = self._descend(u, energy, step * min(1.0, _LONGEST / length))
            if not moved:
                break
        return u, load, False

    def _fallen(self, u: np.ndarray) -> np.ndarray | None:
        """A rigid rover tipped to the side to which it falls; none if it stands."""
        if len(self._q):
            return None
        touch, energy = self._touching(u), self._energy(u)
        _, sizes, rows = np.linalg.svd(touch.slopes[touch.gap < _MET])
        if np.count_nonzero(sizes > 1e-3 * sizes.max(initial=1e-300)) == len(u):
            return None
        weight = -self.kinematics.model.opt.gravity[2] * self.kinematics.model.body_mass.sum()
        for side in (_TIP, -_TIP):
            tipped = self._lifted(u + side * rows[-1], float("inf"))
            if self._energy(tipped) < energy - _FALL * weight:
                return tipped
        return None

    def _descend(self, u, energy, step) -> tuple[np.ndarray, float, bool]:
        """As much of a step as lowers the energy, with the rover lifted out of the ground."""
        slack = 1e-12 * max(abs(energy), 1.0)
        for _ in range(12):
            trial = u + step
            self._set(trial)
            trial[0] -= min(float(self._lowest_points().gap.min()), 0.0)
            found = self._energy(trial)
            if found <= energy + slack:
                return trial, found, True
            step = step / 2
        return u, energy, False

    def _energy(self, u: np.ndarray) -> float:
        """Potential energy [J]."""
        self._set(u)
        model, data = self.kinematics.model, self.kinematics.data
        return float(-model.opt.gravity[2] * model.body_mass @ data.xipos[:, 2])

    def path(self, poses: np.ndarray, joints: Mapping[str, float] | None = None) -> list[Stand]:
        """Stands at poses [m, 3] of x, y [m] and heading [rad]; each begins from the last."""
        stands: list[Stand] = []
        for x, y, heading in np.asarray(poses, dtype=float):
            stands.append(self.place(x, y, heading, joints, stands[-1] if stands else None))
        return stands

    def gaps(
        self,
        position: np.ndarray,
        roll: float,
        pitch: float,
        heading: float,
        joints: Mapping[str, float] | None = None,
    ) -> np.ndarray:
        """Vertical gap of each wheel [m] in a known pose; negative is depth in the ground.

        `joints` [rad] by name, passive ones included; zero unless told.
        """
        held = {**self._given, **(joints or {})}
        self.kinematics.set_joints(held)
        self._place = float(position[0]), float(position[1]), float(heading)
        passive = [held.get(name, 0.0) for name in self._passive]
        self._set(np.array([position[2], roll, pitch, *passive], dtype=float))
        touch = self._lowest_points()
        return np.array([touch.gap[touch.wheel == i].min() for i in range(len(self._spheres))])

    def coordinates(self, stand: Stand) -> np.ndarray:
        """MuJoCo's coordinates of a stand that this object found, [nq]."""
        self.kinematics.set_joints(stand.joints)
        self._place = float(stand.position[0]), float(stand.position[1]), stand.heading
        passive = [stand.joints[name] for name in self._passive]
        self._set(np.array([stand.position[2], stand.roll, stand.pitch, *passive]))
        return np.array(self.kinematics.data.qpos)

    def _wheels(self):
        return self.kinematics.robot.wheels.values()

    def _begin(self) -> np.ndarray:
        """Level with all wheels in the air, tilted as the plane through the ground below them."""
        u = np.zeros(3 + len(self._q))
        self._set(u)
        centre = self._centres()
        height = self.ground.height(centre[:, 0], centre[:, 1])
        level = np.column_stack([np.ones(len(centre)), centre[:, :2] - self._place[:2]])
        fit = np.linalg.lstsq(level, height, rcond=None)[0]
        c, s = np.cos(self._place[2]), np.sin(self._place[2])
        u[1] = np.arctan(-s * fit[1] + c * fit[2])
        u[2] = -np.arctan(c * fit[1] + s * fit[2])
        return self._lifted(u, float("inf"))

    def _from(self, stand: Stand) -> np.ndarray:
        passive = [stand.joints[name] for name in self._passive]
        u = np.array([stand.position[2], stand.roll, stand.pitch, *passive])
        return self._lifted(u, 0.0)

    def _lifted(self, u: np.ndarray, highest: float) -> np.ndarray:
        """The unknowns with z such that the lowest gap is zero, or at most `highest`."""
        self._set(u)
        u[0] -= min(float(self._lowest_points().gap.min()), highest)
        return u

    def _set(self, u: np.ndarray) -> None:
        """Move the model to the unknowns."""
        data, model = self.kinematics.data, self.kinematics.model
        x, y, heading = self._place
        q = self._base_q
        data.qpos[q : q + 3] = x, y, u[0]
        data.qpos[q + 3 : q + 7] = quaternion_of(u[1], u[2], heading)
        data.qpos[self._q] = u[3:]
        mujoco.mj_kinematics(model, data)

    def _centres(self) -> np.ndarray:
        return self.kinematics.data.xpos[self.kinematics.wheel_body].copy()

    def _touching(self, u: np.ndarray) -> _Touch:
        """Where wheels touch or nearly do, with the derivatives of the gaps by the unknowns."""
        self._set(u)
        model, data = self.kinematics.model, self.kinematics.data
        touch = self._lowest_points()
        mujoco.mj_comPos(model, data)
        slopes = np.zeros((len(touch.gap), len(u)))
        jacobian = np.zeros((3, model.nv))
        turn = self._turns(u)
        b = self._base_v
        for k, wheel in enumerate(touch.wheel):
            body = int(self.kinematics.wheel_body[wheel])
            mujoco.mj_jac(model, data, jacobian, None, touch.point[k], body)
            rows = touch.normal[k] @ jacobian
            slopes[k, 0] = rows[b + 2]
            slopes[k, 1:3] = rows[b + 3 : b + 6] @ turn
            slopes[k, 3:] = rows[self._v]
        return touch._replace(slopes=slopes)

    def _turns(self, u: np.ndarray) -> np.ndarray:
        """Angular velocity in the base frame per rate of roll and of pitch, [3, 2]."""
        c, s = np.cos(u[1]), np.sin(u[1])
        return np.array([[1.0, 0.0], [0.0, c], [0.0, -s]])

    def _lowest_points(self) -> _Touch:
        """Per wheel the points of its surface where the height over the ground is least.

        One per wheel, and more where it is as low, within `_NEAR`, at another place: a wheel
        between two rocks touches twice.
        """
        k = self.kinematics
        axle = k.data.xaxis[k.wheel_joint] * k.sign[:, None]
        ahead = np.cross(axle, [0.0, 0.0, 1.0])
        ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
        frame = (self._centres(), ahead, np.cross(ahead, axle), axle)
        wheel, middle = self._coarse(frame)
        frame = tuple(part[wheel] for part in frame)
        each, reach = (
            np.arange(len(wheel)),
            np.array([_REACH * 3 / (_ALONG - 1), 3 / (_ACROSS - 1)]),
        )
        for _ in range(_PASSES):
            a = middle[:, 0, None, None] + reach[0] * np.linspace(-1, 1, 9)[None, :, None]
            w = middle[:, 1, None, None] + reach[1] * np.linspace(-1, 1, _ACROSS)[None, None, :]
            a, w = np.clip(a, -_REACH, _REACH), np.clip(w, -1, 1)
            points, over = self._over(wheel, frame, a, w)
            # a tread that lies flat touches in its middle
            best = np.argmin((over + _EVEN * w**2).reshape(len(wheel), -1), axis=1)
            i, j = np.divmod(best, _ACROSS)
            middle = np.column_stack([a[each, i, 0], w[each, 0, j]])
            reach = reach * [3 / 8, 3 / (_ACROSS - 1)]
        point = points[each, i, j]
        centre, ahead, up, _ = frame
        normal = self._normals(wheel, point, centre, ahead, up, middle[:, 0])
        return _Touch(wheel, point, over[each, i, j], normal, np.zeros((0, 0)))

    def _coarse(self, frame) -> tuple[np.ndarray, np.ndarray]:
        """Wheels and places (angle, across) of low points on a coarse net over the treads."""
        from scipy.ndimage import minimum_filter

        a = np.linspace(-_REACH, _REACH, _ALONG)[None, :, None]
        w = np.linspace(-1, 1, _ACROSS)[None, None, :]
        every = np.arange(len(frame[0]))
        _, over = self._over(every, frame, a, w)
        over = over + _EVEN * w**2
        low = (over <= minimum_filter(over, (1, 3, 3), mode="nearest")) & (
            over < over.min(axis=(1, 2), keepdims=True) + _NEAR
        )
        wheel, i, j = np.nonzero(low)
        return wheel, np.column_stack([a[0, i, 0], w[0, 0, j]])

    def _over(self, wheel, frame, a, w) -> tuple[np.ndarray, np.ndarray]:
        """Points of the treads of wheels, and their heights over the ground [m]."""
        points = self._surface(wheel, frame, a, w)
        return points, points[..., 2] - self.ground.height(points[..., 0], points[..., 1])

    def _normals(self, wheel, point, centre, ahead, up, a) -> np.ndarray:
        """Normals with z = 1, square to the tread; so they hold at an edge of the ground, too.

        Along the heading from the tread, N·(cos a ahead + sin a up) = 0; across from the ground.
        """
        left = np.column_stack([-ahead[:, 1], ahead[:, 0]])
        plus, minus = point[:, :2] + _FEEL * left, point[:, :2] - _FEEL * left
        rise = self.ground.height(*plus.T) - self.ground.height(*minus.T)
        across = np.clip(-rise / (2 * _FEEL), -2, 2)
        along = -np.tan(a) * (across * np.sum(up[:, :2] * left, axis=1) + up[:, 2])
        level = along[:, None] * ahead[:, :2] + across[:, None] * left
        normal = np.column_stack([level, np.ones(len(a))])
        outward = centre - point
        steep = np.maximum(outward[:, 2:], 1e-3)
        return np.where(self._spheres[wheel, None], outward / steep, normal)

    def _surface(self, wheel, frame, a, w) -> np.ndarray:
        """Points of the treads at angles a before the lowest and places w across, in -1 … 1."""
        k = self.kinematics
        centre, ahead, up, axle = frame
        r = k.radius[wheel, None, None]
        side = np.where(self._spheres, _REACH, 0.0)[wheel, None, None] * w
        shift = np.where(self._spheres | self._flat, 0.0, k.width / 2)[wheel, None, None] * w
        along = r * np.sin(a) * np.cos(side)
        below = r * np.cos(a) * np.cos(side)
        across = shift + r * np.sin(side)
        wide = (slice(None), None, None)
        return (
            centre[wide]
            + along[..., None] * ahead[wide]
            - below[..., None] * up[wide]
            + across[..., None] * axle[wide]
        )

    def _force(self, u: np.ndarray) -> np.ndarray:
        """Derivative of the potential energy by the unknowns [N, N·m]."""
        self._set(u)
        model, data = self.kinematics.model, self.kinematics.data
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        data.qvel[:] = 0
        mujoco.mj_comVel(model, data)
        weight = np.zeros(model.nv)
        mujoco.mj_rne(model, data, 0, weight)
        b = self._base_v
        turning = weight[b + 3 : b + 6] @ self._turns(u)
        return np.concatenate([[weight[b + 2]], turning, weight[self._v]])

    def _equalities(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the model's equality constraints and their derivatives."""
        model, data = self.kinematics.model, self.kinematics.data
        if model.neq == 0:
            return np.zeros(0), np.zeros((0, len(u)))
        self._set(u)
        mujoco.mj_comPos(model, data)
        values, full = closure_rows(model, data)
        b = self._base_v
        turning = full[:, b + 3 : b + 6] @ self._turns(u)
        return values, np.hstack([full[:, b + 2 : b + 3], turning, full[:, self._v]])

    def _step(self, u, touch: _Touch) -> tuple[np.ndarray, np.ndarray]:
        """The step of the quadratic problem, and the multipliers of the gaps [N]."""
        force = self._force(u)
        curved = positive(self._hessian(u, force), force[0])
        value, rows = self._equalities(u)
        particular, basis = null_space(rows, -value, len(u))
        # joint limits are gaps, too
        limited_low, limited_high = np.isfinite(self._low), np.isfinite(self._high)
        eye = np.eye(len(u))[3:]
        matrix = np.vstack([touch.slopes, eye[limited_low], -eye[limited_high]])
        margin = np.concatenate(
            [touch.gap, (u[3:] - self._low)[limited_low], (self._high - u[3:])[limited_high]]
        )
        reduced = basis.T @ curved @ basis
        linear = basis.T @ (force + curved @ particular)
        y, multipliers = quadratic(reduced, linear, matrix @ basis, -(margin + matrix @ particular))
        return particular + basis @ y, multipliers[: len(touch.gap)]

    def _hessian(self, u: np.ndarray, force: np.ndarray) -> np.ndarray:
        small = 1e-5
        columns = [(self._force(u + small * e) - force) / small for e in np.eye(len(u))]
        return (np.array(columns) + np.array(columns).T) / 2

    def _stand(self, u, load, held, converged) -> Stand:
        self._set(u)
        touch = self._lowest_points()
        size = np.linalg.norm(touch.normal, axis=1)
        force = load * size if len(load) == len(size) else np.zeros(len(size))
        wheels = range(len(self._spheres))
        lowest = [int(np.argmin(np.where(touch.wheel == i, touch.gap, np.inf))) for i in wheels]
        joints = {**held, **dict(zip(self._passive, map(float, u[3:]), strict=True))}
        x, y, heading = self._place
        return Stand(
            position=np.array([x, y, u[0]]),
            roll=float(u[1]),
            pitch=float(u[2]),
            heading=heading,
            joints=joints,
            wheels=self.kinematics.wheels,
            contact=touch.point[lowest],
            normal=(touch.normal / size[:, None])[lowest],
            gap=touch.gap[lowest],
            load=np.array([force[touch.wheel == i].sum() for i in wheels]),
            converged=converged,
        )


def place(
    robot: Robot | str | RoverKinematics,
    ground: Ground,
    x: float,
    y: float,
    heading: float = 0.0,
    joints: Mapping[str, float] | None = None,
) -> Stand:
    """Placement of a robot at one pose; see `Placer` for many."""
    return Placer(robot, ground, joints).place(x, y, heading)


def rotation(roll: float, pitch: float, heading: float) -> np.ndarray:
    """R_z(heading) R_y(pitch) R_x(roll), [3, 3]."""
    return matrix_of(quaternion_of(roll, pitch, heading))


def positive(matrix: np.ndarray, scale: float) -> np.ndarray:
    """A symmetric matrix with its eigenvalues made positive, at least 1e-3 of `scale`."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(np.abs(values), 1e-3 * abs(scale))) @ vectors.T


def null_space(rows: np.ndarray, value: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The least x with rows x = value, and a basis of what may be added to it."""
    if len(rows) == 0:
        return np.zeros(n), np.eye(n)
    _, s, vt = np.linalg.svd(rows)
    rank = int(np.sum(s > 1e-9 * max(s[0], 1e-30)))
    return np.linalg.pinv(rows, rcond=1e-9) @ value, vt[rank:].T


def quadratic(H, g, G, h) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ½ yᵀH y + gᵀy subject to G y ≥ h; y and the multipliers of the rows.

    With H = L Lᵀ and t = Lᵀy + L⁻¹g this is the point t nearest to the origin with
    G L⁻ᵀ t ≥ h + G H⁻¹ g, found as non-negative least squares.
    """
    # a sixth of what the engine takes to import, and few runs place a rover
    from scipy.optimize import nnls

    L = np.linalg.cholesky(H)
    centre = -np.linalg.solve(H, g)
    A = np.linalg.solve(L, G.T).T
    b = h - G @ centre
    size = max(float(np.max(np.abs(b), initial=0.0)), 1e-12)
    E = np.vstack([A.T, b[None] / size])
    f = np.zeros(len(E))
    f[-1] = 1.0
    w, _ = nnls(E, f)
    rest = E @ w - f
    if -rest[-1] < 1e-14:
        raise InputError("placement: the joint limits are incompatible with the ground")
    t = rest[:-1] / -rest[-1] * size
    return centre + np.linalg.solve(L.T, t), w * size / -rest[-1]
