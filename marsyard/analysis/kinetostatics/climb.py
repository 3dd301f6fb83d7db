"""Quasi-static climb of a step, axle by axle: friction demand and greatest height.

The step is the solid {z ≤ 0} ∪ {x ≥ 0, z ≤ h}, perpendicular to the direction of travel; left and
right wheels do the same. One axle after the other climbs it, front first. Its centre rises from z =
r, where its wheels touch floor and face, along the face and around the edge up to z = h + r:

    z < h:  x = −r                        face ahead, normal −x
    z ≥ h:  x² + (z − h)² = r²            edge, normal from the edge to the axle

With the axle's centre held there the rover takes the pose of least potential energy among those in
which no wheel is in the ground (as in `control.placement`, with the distance to the solid in place
of the height above ground); unknown are x, z and pitch of the base and the passive joints. In each
pose all wheels with no gap are contacts; a wheel that has just left the floor does not touch it.

The friction demand of a pose is the smallest μ for which contact forces and drive torques exist
that balance the weight (`balance.friction_demand`). The demand of the step is the largest along the
climb: the pose where it is hardest. The largest step for a friction μ is found by bisection on h;
it is bounded by `highest`, and by the rover's geometry: a climb that no pose leads through (the
belly is not looked at) counts as too high.

Assumptions: quasi-static (no run-up), ideal sharing of traction, wheels as discs, motors strong
enough unless `torque` bounds them, chassis clear of the edge, both sides alike.

Where contacts leave the base free to pitch (a pod on one axle, as RobuRoc's central one: it can
turn about its axle until a hinge comes to its stop), drive torques hold it, and weight does not
settle where. Of all its angles the one that takes least friction is taken, searched from that of
the pose before; so the climb is the easiest there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from marsyard.analysis.kinetostatics.balance import Balance, Forces
from marsyard.analysis.kinetostatics.stance import Contact, Stance, _Pose, _robot
from marsyard.control.placement import null_space, positive, quadratic
from marsyard.errors import InputError, suggest
from marsyard.robot import Robot
from marsyard.robot.closing import closure_rows
from marsyard.units import read_gravity

_CLOSE = 1e-6  # gap of a contact [m]
_GIVES_UP = 1e-7  # largest violation of a pose that counts as found [m]
#: steps of the search, bound of one and step at which it ends [m, rad]
_STEPS, _LONGEST, _DONE = 60, 0.1, 1e-10
#: steps of the search for the easiest pitch [rad]
_SPREADS = (0.1, 0.03)
#: how strongly the base leans, by weight [m]; much more would lift wheels
_LEAN = 0.05


@dataclass(frozen=True)
class Moment:
    """A pose of a climb.

    Attributes:
        axle: number of the axle that climbs, 0 the front one; wheels: their names.
        height: of its centre above the floor [m]; progress: 0 to 1 along its climb.
        stance: the pose with its contacts.
        demand: friction that it takes; inf if no friction suffices.
        forces: those that take no more friction.
    """

    axle: int
    wheels: tuple[str, ...]
    height: float
    progress: float
    stance: Stance
    demand: float
    forces: Forces | None


@dataclass(frozen=True)
class Climb:
    """A climb of a step.

    Attributes:
        step: height [m]; moments: poses in order.
        complete: whether a pose was found all the way.
    """

    step: float
    moments: tuple[Moment, ...]
    complete: bool

    @property
    def hardest(self) -> Moment:
        """The pose that takes most friction."""
        if not self.moments:
            raise ValueError("no pose was found")
        return max(self.moments, key=lambda m: m.demand)

    @property
    def demand(self) -> float:
        """Friction that the climb takes; inf if it cannot be made."""
        return self.hardest.demand if self.complete else math.inf


def climb_step(
    robot: Robot | str,
    height: float,
    *,
    poses: int = 12,
    gravity: float | str = 9.81,
    torque: float | Mapping[str, float] | None = None,
    joints: Mapping[str, float] | None = None,
    until: float = math.inf,
) -> Climb:
    """The climb of a step of that height [m].

    Args:
        poses: per axle. torque: largest of the drives [N·m]. joints: held ones [rad].
        until: friction demand above which the rest of the climb is left out.
    """
    if poses < 2:
        raise InputError(f"poses = {poses}: must be 2 or more")
    climber = _Climber(_robot(robot), height, joints or {}, read_gravity(gravity))
    moments: list[Moment] = []

    def rough(stance: Stance) -> float:
        return Balance(stance, torque=torque).friction_demand(accuracy=5e-3)[0]

    for axle in range(len(climber.axles)):
        for k, z in enumerate(climber.heights(axle, poses)):
            stance = climber.easiest(axle, z, rough)
            if stance is None:
                return Climb(height, tuple(moments), False)
            demand, forces = Balance(stance, torque=torque).friction_demand()
            names = climber.names(axle)
            moments.append(Moment(axle, names, z, k / (poses - 1), stance, demand, forces))
            if demand > until:
                return Climb(height, tuple(moments), False)
    return Climb(height, tuple(moments), True)


def largest_step(
    robot: Robot | str,
    friction: float,
    *,
    highest: float | None = None,
    poses: int = 8,
    gravity: float | str = 9.81,
    torque: float | Mapping[str, float] | None = None,
    accuracy: float = 1e-3,
    progress: Callable[[float], object] | None = None,
) -> float:
    """The largest step [m] whose climb takes no more than `friction`.

    `highest` [m] bounds the search: three times the largest wheel radius unless told.
    """
    given = _robot(robot)
    if not friction > 0:
        raise InputError(f"friction = {friction:g}: must be above 0")
    if len(given.wheels) < 3:
        raise InputError(f"robot: {given.name} needs three wheels or more to climb a step")
    top = 3 * max(w.radius for w in given.wheels.values()) if highest is None else highest

    def climbs(h: float) -> bool:
        found = climb_step(
            given, h, poses=poses, gravity=gravity, torque=torque, until=friction
        )  # fmt: skip
        return found.demand <= friction

    low, high = 0.0, top
    if climbs(top):
        return top
    while high - low > accuracy:
        middle = 0.5 * (low + high)
        if climbs(middle):
            low = middle
        else:
            high = middle
        if progress is not None:
            progress((high - low) / top)
    return low


class _Climber:
    """Poses of a rover on a step, each found from the last."""

    def __init__(
        self, robot: Robot, height: float, joints: Mapping[str, float], gravity: float
    ) -> None:
        if not (math.isfinite(height) and height > 0):
            raise InputError(f"height = {height:g} m: must be above 0")
        if len(robot.wheels) < 3:
            raise InputError(f"robot: {robot.name} needs three wheels or more to climb a step")
        self.robot, self.step, self.gravity = robot, height, gravity
        self.model = robot.compile()
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.data = mujoco.MjData(self.model)
        free = np.flatnonzero(self.model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
        if not free.size:
            raise InputError(f"robot: {robot.name} has no free joint; a rover is expected")
        self._q0, self._v0 = (
            int(self.model.jnt_qposadr[free[0]]), int(self.model.jnt_dofadr[free[0]]),
        )  # fmt: skip
        known = [self.model.joint(j).name for j in range(self.model.njnt)]
        for name, angle in joints.items():
            if name not in known:
                raise InputError(
                    f"joints: {robot.name} has no joint '{name}'; {suggest(name, known)}"
                )
            self.data.qpos[self.model.joint(name).qposadr[0]] = angle
        passive = [j for j in robot.roles.get("passive", ()) if j not in joints]
        ids = [self.model.joint(j).id for j in passive]
        self._q = self.model.jnt_qposadr[ids].astype(int) if ids else np.zeros(0, int)
        self._v = self.model.jnt_dofadr[ids].astype(int) if ids else np.zeros(0, int)
        self._bounds = self._limits(ids)
        self.bodies = [self.model.body(w.body).id for w in robot.wheels.values()]
        self.radius = np.array([w.largest_radius for w in robot.wheels.values()])
        self._settle_level()
        self.axles = self._axles()
        self._pitches = self._is_free_to_pitch()

    def _limits(self, ids: list[int]) -> list[tuple[float, float]]:
        out = [(-math.inf, math.inf), (-math.inf, math.inf), (-1.5, 1.5)]
        for j in ids:
            limited = bool(self.model.jnt_limited[j])
            low, high = self.model.jnt_range[j]
            out.append((float(low), float(high)) if limited else (-math.inf, math.inf))
        return out

    def _settle_level(self) -> None:
        """Begin on the floor, well before the step."""
        self._u = np.zeros(3 + len(self._q))
        self._set(self._u)
        centres = self.data.xpos[self.bodies]
        self._u[0] -= float(centres[:, 0].max()) + 2 * float(self.radius.max())
        self._u[1] -= float((centres[:, 2] - self.radius).min())
        found = self._find(None, 0.0, 0.0)
        if found is None:  # a chassis that stands only tilted
            found = self._find(None, 0.0, None)
        if found is None:
            raise InputError(f"robot: {self.robot.name} has no equilibrium on level ground")
        self._u = found

    def _axles(self) -> list[np.ndarray]:
        """Wheels of each axle, front first."""
        self._set(self._u)
        x = self.data.xpos[self.bodies][:, 0]
        groups: list[list[int]] = []
        for k in np.argsort(-x, kind="stable"):
            if groups and abs(x[groups[-1][0]] - x[k]) < 0.25 * self.radius[k]:
                groups[-1].append(int(k))
            else:
                groups.append([int(k)])
        return [np.array(g) for g in groups]

    def names(self, axle: int) -> tuple[str, ...]:
        """Names of the wheels of an axle."""
        names = list(self.robot.wheels)
        return tuple(names[k] for k in self.axles[axle])

    def heights(self, axle: int, count: int) -> np.ndarray:
        """Heights of the axle's centre along its climb [m]; it begins just off the floor."""
        r = float(self.radius[self.axles[axle]].max())
        return r + self.step * np.linspace(1e-4, 1 - 1e-4, count)

    def _is_free_to_pitch(self) -> bool:
        """Whether the base can pitch while all wheels that touch the level floor stay on it."""
        gaps, slopes = self._free(self._u, [])
        ahead = np.eye(len(self._u))[:1]  # rolling is no pitching
        rows = np.vstack([slopes[gaps < _CLOSE], self._equal(self._u, [], 0.0)[1], ahead])
        _, basis = null_space(rows, np.zeros(len(rows)), len(self._u))
        return float(np.abs(basis[2]).max(initial=0.0)) > 1e-6

    def easiest(self, axle: int, z: float, demand: Callable[[Stance], float]) -> Stance | None:
        """The pose with the centre of an axle at height z [m] that takes least friction."""
        if not self._pitches:
            return self.stance(axle, z)
        best: tuple[float, np.ndarray, Stance] | None = None
        start = self._u

        def look(pitch: float | None, lean: float = 0.0) -> None:
            nonlocal best
            self._u = start
            stance = self.stance(axle, z, pitch, lean)
            if stance is not None:
                found = demand(stance)
                if best is None or found < best[0] - 1e-9:
                    best = (found, self._u, stance)

        # as far as the stops let it, both ways; then in between
        look(None, -1.0)
        look(None, 1.0)
        centre = float(start[2])
        for spread in _SPREADS:
            for shift in (-2.0, -1.0, 0.0, 1.0, 2.0):
                look(centre + spread * shift)
            if best is not None:
                centre = float(best[1][2])
        if best is None:
            return None
        self._u = best[1]
        return best[2]

    def stance(
        self, axle: int, z: float, pitch: float | None = None, lean: float = 0.0
    ) -> Stance | None:
        """The pose with the centre of an axle at height z [m]; None if there is none.

        `pitch` of the base [rad] is held if given; with `lean` -1 it leans back as far as it goes,
        with 1 forward.
        """
        found = self._find(axle, z, pitch, lean)
        if found is None:
            return None
        self._u = found
        self._set(found)
        pose = _Pose(self.robot, self.model, np.array(self.data.qpos), None)
        contacts: list[Contact] = []
        for k, name in enumerate(self.robot.wheels):
            centre = self.data.xpos[self.bodies[k]]
            for gap, normal in self._gaps(centre, self.radius[k]):
                if gap < _CLOSE:
                    point = centre - self.radius[k] * normal
                    contacts.append(pose.wheel_contact(name, point, normal))
        return pose.stance(contacts, np.array([0.0, 0.0, -self.gravity]))

    def _gaps(self, centre: np.ndarray, r: float) -> list[tuple[float, np.ndarray]]:
        """Gaps of a wheel to floor and step [m], with their normals."""
        x, _, z = centre
        up = np.array([0.0, 0.0, 1.0])
        floor = (z - r, up)
        if z < self.step:
            return [floor, (-x - r, np.array([-1.0, 0.0, 0.0]))]
        if x >= 0:
            return [floor, (z - self.step - r, up)]
        size = math.hypot(x, z - self.step)
        return [floor, (size - r, np.array([x, 0.0, z - self.step]) / max(size, 1e-12))]

    # --- the search

    def _find(
        self, axle: int | None, z: float, pitch: float | None, lean: float = 0.0
    ) -> np.ndarray | None:
        """Unknowns of the pose of least energy with an axle held; by quadratic steps, each with the
        Hessian of the energy and all gaps linear."""
        u = self._u.copy()
        held = [] if axle is None else list(self.axles[axle])
        if held:
            u = self._brought(u, held, z)
        for _ in range(_STEPS):
            value, rows = self._equal(u, held, z, pitch)
            gaps, slopes = self._free(u, held)
            force = self._slope(u)
            force[2] -= _LEAN * lean
            curved = positive(self._hessian(u), 1.0)
            particular, basis = null_space(rows, -value, len(u))
            try:
                y, _ = quadratic(
                    basis.T @ curved @ basis, basis.T @ (force + curved @ particular),
                    slopes @ basis, -(gaps + slopes @ particular),
                )  # fmt: skip
            except InputError:  # stops and ground exclude each other
                return None
            step = particular + basis @ y
            length = float(np.abs(step).max())
            u = u + step * min(1.0, _LONGEST / max(length, 1e-30))
            if length < _DONE:
                break
        value, gaps = self._equal(u, held, z, pitch)[0], self._free(u, held)[0]
        wrong = max(float(np.abs(value).max(initial=0.0)), -float(gaps.min(initial=0.0)))
        return u if wrong < _GIVES_UP else None

    def _hessian(self, u: np.ndarray) -> np.ndarray:
        small = 1e-5
        force = self._slope(u)
        columns = np.array([(self._slope(u + small * e) - force) / small for e in np.eye(len(u))])
        return (columns + columns.T) / 2

    def _brought(self, u: np.ndarray, held: list[int], z: float) -> np.ndarray:
        """The last pose moved so that the axle is ahead of the step."""
        self._set(u)
        k = held[0]
        centre, r = self.data.xpos[self.bodies[k]], self.radius[k]
        at = -r if z < self.step else -math.sqrt(max(r * r - (z - self.step) ** 2, 0.0))
        out = u.copy()
        out[0] += at - centre[0]
        return out

    def _set(self, u: np.ndarray) -> None:
        data, q = self.data, self._q0
        data.qpos[q : q + 7] = u[0], 0.0, u[1], math.cos(u[2] / 2), 0.0, math.sin(u[2] / 2), 0.0
        data.qpos[self._q] = u[3:]
        mujoco.mj_kinematics(self.model, data)

    def _columns(self, rows: np.ndarray) -> np.ndarray:
        """Derivatives by the unknowns, of rows by MuJoCo's velocities."""
        v = self._v0
        return np.column_stack([rows[:, v], rows[:, v + 2], rows[:, v + 4], rows[:, self._v]])

    def _slope(self, u: np.ndarray) -> np.ndarray:
        self._set(u)
        mujoco.mj_comPos(self.model, self.data)
        rows = np.zeros((3, self.model.nv))
        mujoco.mj_jacSubtreeCom(self.model, self.data, rows, 0)
        return self._columns(rows[2:])[0]

    def _free(self, u: np.ndarray, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """What must not be negative, and its derivatives: gaps of the wheels but the climbing ones
        to floor and step [m], distances of joints from their stops [rad]."""
        self._set(u)
        gaps, rows = [], []
        for k, body in enumerate(self.bodies):
            if k in held:
                continue
            slope = self._centre_slopes(body)
            for gap, normal in self._gaps(self.data.xpos[body], self.radius[k]):
                gaps.append(gap)
                rows.append(normal @ slope)
        for k, (low, high) in enumerate(self._bounds):
            unit = np.eye(len(u))[k]
            gaps += [u[k] - low, high - u[k]]
            rows += [unit, -unit]
        finite = np.isfinite(gaps)
        return np.array(gaps)[finite], np.array(rows)[finite]

    def _equal(
        self, u: np.ndarray, held: list[int], z: float, pitch: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What must be zero, and its derivatives: height of the climbing wheels, their gap to the
        step [m], closures."""
        self._set(u)
        values, rows = [], []
        for k in held:
            slope = self._centre_slopes(self.bodies[k])
            centre = self.data.xpos[self.bodies[k]]
            gap, normal = self._gaps(centre, self.radius[k])[1]
            values += [centre[2] - z, gap]
            rows += [slope[2], normal @ slope]
        if self.model.neq:
            more, slopes = self._closures(u)
            values += more.tolist()
            rows += list(self._columns(slopes))
        if pitch is not None:
            values.append(u[2] - pitch)
            rows.append(np.eye(len(u))[2])
        return np.array(values), np.array(rows).reshape(-1, len(u))

    def _centre_slopes(self, body: int) -> np.ndarray:
        mujoco.mj_comPos(self.model, self.data)
        rows = np.zeros((3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, rows, None, self.data.xpos[body], body)
        return self._columns(rows)

    def _closures(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model, data = self.model, self.data
        self._set(u)
        mujoco.mj_comPos(model, data)
        return closure_rows(model, data)
