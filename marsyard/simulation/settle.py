"""Placing a robot placed on the ground before the start.

The robot is first moved straight up or down (from above a mesh) until its lowest point touches.
Then it sinks onto the ground with drives, steering, legs and frame held and its velocity damped
away, by the same compiled step as the run itself, until it rests: first without friction and held
in x, y and yaw, so that every wheel comes down; then free and with friction, to a pose of static
equilibrium. Onto soil it is eased likewise, straight down and then free, so that nothing drops.

The steps are taken in pieces of a tenth of a second on the clock, so that ctrl-c is answered and a
long wait is told. A robot that does not come to rest, or that tips over, is refused.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground import Box, TriangleMesh
from marsyard.interaction.contact_geometry.body_shapes import BodyShapes
from marsyard.interaction.contact_geometry.wheel import wheel_core
from marsyard.interaction.hard_ground import Wheels
from marsyard.interaction.law import NEEDS_ROOM, PRESS, RIGID
from marsyard.interaction.nonsmooth.codes import AUTO
from marsyard.rotations import yaw_of, z_axes
from marsyard.scenario.schema import ContactSolver
from marsyard.simulation import arrays
from marsyard.simulation.attached import LAW
from marsyard.simulation.moreau_jean import OK
from marsyard.simulation.world import body_name

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: beyond this much motion up or down nothing is found to stand on [m]
_FAR = 1e4
#: margin at which contacts that do not fit are given up [m]
_NEAREST = 1e-6
#: roles of joints that are held by an inertia [kg·m², kg]; damping would let them creep on a slope,
#: and the projection that ends a step would turn them
_HELD = ("drives", "steering", "legs", "frame")
_HOLD = 1e10
_HOLD_BASE = 1e10  # and the base [N·s/m, N·m·s/rad]
_STEP = 2e-3  # [s]
_MAX_STEPS = 20000
# on soil, stresses between the wheels fade slowly and without consequence
_MAX_STEPS_SOIL = 5000
_SLOW_ON_SOIL = 2e-5  # [m/s]
#: a robot that still moves faster than this when the steps are used up does not stand [m/s, rad/s]
_MOVING = 1e-3
#: and one that has turned by more than this has not settled but tipped over [rad]
_TIPPED = np.radians(75.0)
#: one piece of the steps, time between two messages, and the longest that settling may take [s]
_PIECE, _TELL, LONGEST = 0.1, 5.0, 60.0


def smallest_gap(simulation: Simulation, margin: float = 0.05) -> tuple[float, str]:
    """Smallest gap [m] of the present pose and the body it belongs to.

    Where more than fits lies within the margin (belts beside a field of rocks) it is looked for
    nearer; if nothing is there, the gap is at least how near that was.
    """
    s = simulation
    nearer = margin
    while (found := s.find_contacts(nearer)) < 0:
        if nearer < _NEAREST:
            return np.inf, ""
        nearer /= 4
    if found == 0:
        return (nearer if nearer < margin else np.inf), ""
    c = int(np.argmin(s.rows.gap[:found]))
    return float(s.rows.gap[c]), f"body '{body_name(s.model, int(s.rows.body2[c]))}'"


class _Solids(NamedTuple):
    """Shapes of a robot, each a centre with disc, segment along the axis and ball (as the wheels of
    `interaction.contact_geometry`): body, and in the world centre [m] and unit axis; sizes [m]."""

    body: np.ndarray
    centre: np.ndarray
    axis: np.ndarray
    disc: np.ndarray
    half: np.ndarray
    ball: np.ndarray


def box_gap(simulation: Simulation) -> tuple[float, str]:
    """Smallest gap [m] of wheels, tracks and bodies that stand in a box with their lowest point
    towards a face that they are above or behind, and the body it belongs to; infinite where there
    is none. The laws of contact take boxes for meshes, which are not felt from far inside. The
    kinematics must be up to date."""
    s = simulation
    best = np.inf, ""
    for box in s.world.surfaces:
        if not isinstance(box, Box):
            continue
        turn, half = box.rotation_matrix(), np.array(box.half_size)
        for solids in _solids(s):
            gap = _gap_to_box(solids, (solids.centre - box.centre) @ turn, solids.axis @ turn, half)
            if len(gap) and gap.min() < best[0]:
                name = body_name(s.model, int(solids.body[np.argmin(gap)]))
                best = float(gap.min()), f"body '{name}'"
    return best


def _gap_to_box(
    solids: _Solids, centre: np.ndarray, axis: np.ndarray, half: np.ndarray
) -> np.ndarray:
    """Gap of each solid by its shortest way out, with centres and axes in the box's frame."""
    gap = np.full(len(centre), np.inf)
    for k in range(3):
        others = [i for i in range(3) if i != k]
        over = (np.abs(centre[:, others]) < half[others]).all(axis=1)
        for side in (-1.0, 1.0):
            normal = side * np.eye(3)[k]
            along = axis @ normal
            across = np.sqrt(np.maximum(1.0 - along**2, 0.0))
            out = (normal - along[:, None] * axis) / np.maximum(across, 1e-12)[:, None]
            lowest = centre - solids.disc[:, None] * out - solids.ball[:, None] * normal
            lowest = lowest - (solids.half * np.sign(along))[:, None] * axis
            inside = over & (np.abs(lowest) < half).all(axis=1)
            here = np.where(inside, lowest @ normal - half[k], np.inf)
            gap = np.where(
                np.isinf(gap) | np.isinf(here), np.minimum(gap, here), np.maximum(gap, here)
            )
    return gap


def _solids(s: Simulation) -> Iterator[_Solids]:
    """Wheels, parts of tracks and wheels, and geoms that collide as points."""
    m, d, wheels = s.model, s.data, s.wheels
    yield _round(wheels, wheels.body, d.xpos[wheels.body], d.xaxis[wheels.joint])
    parts = wheels.parts
    turn = d.xmat[parts.body].reshape(-1, 3, 3)
    place = d.xpos[parts.body] + np.einsum("nij,nj->ni", turn, parts.position)
    yield _round(parts, parts.body, place, np.einsum("nij,nj->ni", turn, parts.axis))
    own = (s.world.geom_surface < 0) & (m.geom_bodyid > 0)
    own &= (m.geom_contype | m.geom_conaffinity) != 0
    zero = np.zeros(int(own.sum()))
    yield _Solids(m.geom_bodyid[own], d.geom_xpos[own], d.geom_xpos[own] * 0.0, zero, zero, zero)


def _round(
    shapes: Wheels | BodyShapes, body: np.ndarray, centre: np.ndarray,
    axis: np.ndarray,
) -> _Solids:  # fmt: skip
    kinds = shapes.kind, shapes.radius, shapes.width
    cores = [wheel_core.py_func(*row) for row in zip(*kinds, strict=True)]
    return _Solids(body, centre, axis, *np.array(cores, dtype=float).reshape(-1, 3).T)


def place_on_ground(simulation: Simulation, say: Callable[[str], Any] | None = None) -> None:
    """Settle the robot on the ground; raises InputError if there is none under it, if it does not
    come to rest, or if it tips over. `say` hears of a long wait."""
    s = simulation
    if not s.facts.free_base or s.scenario.interaction.law == "none":
        raise InputError("robot.settle: needs a robot with a free base and a contact law")
    up = _up(s.data.qpos)
    clock = _Clock(say)
    with _motors_held(s):
        if s.world.soil is not None:
            _ease_into_soil(s, clock)
        else:
            _onto_hard_ground(s, clock)
    turned = float(np.arccos(np.clip(up @ _up(s.data.qpos), -1.0, 1.0)))
    if turned > _TIPPED:
        raise InputError(
            f"robot.settle: the robot tips over by {np.degrees(turned):.0f}° while settling; give "
            f"robot.joints in which it stands, or robot.position and robot.attitude"
            ""
        )


class _Clock:
    """Time spent on settling, and what is told of it."""

    def __init__(self, say: Callable[[str], Any] | None) -> None:
        self.began = self.reported = time.perf_counter()
        self.say = say

    def tell(self, simulated: float, speed: float) -> None:
        """Tell of a long wait now and then; raises InputError when it is too long."""
        now = time.perf_counter()
        state = (
            f"after {simulated:.3g} s of simulated time it is still moving at {speed:.2g} m/s or "
            f"rad/s"
        )
        if now - self.began > LONGEST:
            raise InputError(
                f"robot.settle: the robot does not come to rest within {LONGEST:.0f} "
                f"s of computing time; {state}; give robot.position and robot.attitude instead"
            )
        if self.say is not None and now - self.reported > _TELL:
            self.reported = now
            self.say(f"settling the robot on the ground: {state}")


def _up(qpos: np.ndarray) -> np.ndarray:
    """The base's z axis in the world."""
    return z_axes(qpos[3:7])


@contextmanager
def _motors_held(s: Simulation) -> Iterator[None]:
    """Hold all driven joints by an inertia that nothing here can move; models are afterwards as
    before."""
    roles = s.world.robot.roles
    joints = [joint for role in _HELD for joint in roles.get(role, ())]
    dofs = s.facts.joint_dof[[s.world.joints.index(name) for name in joints]]
    both = s.model.dof_armature, s.facts.tree.armature
    before = [np.array(armature) for armature in both]
    for armature in both:
        armature[dofs] += _HOLD
    try:
        yield
    finally:
        for armature, old in zip(both, before, strict=True):
            armature[...] = old


def _onto_hard_ground(s: Simulation, clock: _Clock) -> None:
    if any(law.placing == PRESS for law in s.laws):
        _press_onto(s, clock)
        return
    if s.world.surfaces and any(law.placing == RIGID for law in s.laws):
        # onto the surfaces as if they were rigid, then into their layers
        with _rigid(s):
            _onto_rigid_ground(s, clock)
        _sink(s, clock, friction=None, upright=False)
        return
    _onto_rigid_ground(s, clock)


@contextmanager
def _rigid(s: Simulation) -> Iterator[None]:
    """Exact contact in place of the laws."""
    facts = s.facts._replace(
        has_laws=False, has_rigid=True,
        has_collisions=len(s.world.colliding_bodies()) > 0,
    )  # fmt: skip
    with s.replaced(facts), s.world.rigid.on_rigid_ground():
        yield


def _onto_rigid_ground(s: Simulation, clock: _Clock) -> None:
    _lift(s)
    _touch(s)
    # without friction, straight down: wheels that stick would keep others in the air; then with it
    place = s.data.qpos[:2].copy()
    heading = yaw_of(s.data.qpos[3:7])
    for _ in range(3):
        _sink(s, clock, friction=0.0, upright=True)
        s.data.qpos[:2] = place
        _turn(s.data.qpos, heading - yaw_of(s.data.qpos[3:7]))
    _sink(s, clock, friction=2.0, upright=False)


def _ease_into_soil(s: Simulation, clock: _Clock) -> None:
    # from just touching, straight down with x, y and yaw held, then free
    gap, _ = law_gap(s)
    if not np.isfinite(gap):
        raise InputError("robot.settle: the robot has no wheel and no body that touches soil")
    s.data.qpos[2] -= gap
    if s.world.surfaces:
        rigid, _ = smallest_gap(s)
        s.data.qpos[2] += max(0.0, -rigid) if np.isfinite(rigid) else 0.0
    for upright in (True, False):
        _sink(s, clock, friction=2.0, upright=upright)


def _press_onto(s: Simulation, clock: _Clock) -> None:
    # as onto rigid ground, with the law's own depth; friction is the ground's in the end
    _lift(s, law_gap)
    _touch(s, law_gap)
    place = s.data.qpos[:2].copy()
    heading = yaw_of(s.data.qpos[3:7])
    _sink(s, clock, friction=0.0, upright=True)
    s.data.qpos[:2] = place
    _turn(s.data.qpos, heading - yaw_of(s.data.qpos[3:7]))
    for law in s.laws:
        law.forget()
    _sink(s, clock, friction=None, upright=False)


def law_gap(simulation: Simulation, margin: float = np.inf) -> tuple[float, str]:
    """Smallest gap of what laws act on [m], and where."""
    s = simulation
    s.look_at_attachments()
    gap, where = min((law.gap(s.data) for law in s.laws), default=(np.inf, ""))
    return (gap, where) if gap <= margin else (np.inf, "")


def _turn(qpos: np.ndarray, angle: float) -> None:
    # about the vertical
    turn = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    mujoco.mju_mulQuat(qpos[3:7], turn, qpos[3:7].copy())


def _lift(s: Simulation, measure: Callable[..., tuple[float, str]] = smallest_gap) -> None:
    # a mesh is not felt from far inside: begin above its triangles under and around the robot, and
    # above boxes if it is deeper in one than the law of contact feels
    mujoco.mj_kinematics(s.model, s.data)
    points = s.data.geom_xpos[s.model.geom_bodyid > 0]
    reach = s.model.geom_rbound[s.model.geom_bodyid > 0][:, None]
    if len(points) == 0:
        return
    low, high = (points - reach).min(axis=0), (points + reach).max(axis=0)
    while box_gap(s)[0] < measure(s)[0] - 1e-6:
        tops = [_top(b) for b in s.world.surfaces if isinstance(b, Box) and _top(b) > low[2]]
        up = min(tops, default=low[2]) - low[2] + 0.01
        s.data.qpos[2] += up
        low[2] += up
        high[2] += up
        mujoco.mj_kinematics(s.model, s.data)
    for surface in s.world.surfaces:
        if isinstance(surface, TriangleMesh):
            near = np.ones(len(surface.triangles), dtype=bool)
            for k in range(2):
                a, b, c = surface.vertices[:, k][surface.triangles.T]
                near &= np.maximum(np.maximum(a, b), c) >= low[k]
                near &= np.minimum(np.minimum(a, b), c) <= high[k]
            if near.any():
                top = surface.vertices[surface.triangles[near], 2].max()
                s.data.qpos[2] += max(0.0, top - low[2] + 0.01)
                low[2] = max(low[2], top + 0.01)


def _top(box: Box) -> float:
    """Height of a box's highest corner [m]."""
    return float(box.centre[2] + np.abs(box.rotation_matrix()[2]) @ box.half_size)


def _touch(s: Simulation, measure: Callable[..., tuple[float, str]] = smallest_gap) -> None:
    # straight up or down until the smallest gap is zero
    with _ground_felt_from_afar(s):
        height = s.data.qpos[2]
        for _ in range(200):
            gap = _nearest(s, measure)
            if not np.isfinite(gap) or abs(s.data.qpos[2] - height) > _FAR:
                raise InputError("robot.settle: there is no ground above or below the robot")
            s.data.qpos[2] -= gap
            if abs(gap) < 1e-9:
                return


def _nearest(s: Simulation, measure: Callable[..., tuple[float, str]]) -> float:
    """Smallest gap, however large [m]; looked for nearby first, since far is dear on a mesh."""
    for margin in (0.1, 1.0, 10.0, _FAR) if measure is smallest_gap else (_FAR,):
        gap, _ = measure(s, margin=margin)
        # MuJoCo's shapes are found beyond the margin, where wheels and tracks are not
        if gap <= margin:
            break
    return gap


@contextmanager
def _ground_felt_from_afar(s: Simulation) -> Iterator[None]:
    """Have MuJoCo find the gaps of feet and bodies to the ground at any distance."""
    ground = s.world.geom_surface >= 0
    margin = s.model.geom_margin[ground].copy()
    s.model.geom_margin[ground] = _FAR
    try:
        yield
    finally:
        s.model.geom_margin[ground] = margin


def _sink(s: Simulation, clock: _Clock, friction: float | None, upright: bool) -> None:
    soil = s.world.soil
    held = s.facts.damping.copy()
    if upright:
        held[[0, 1, 5]] += _HOLD_BASE  # x, y and yaw
    # MuJoCo's soft contact gives way to the exact one here
    alone = not s.facts.has_laws
    model = s.facts._replace(damping=held, smooth=False, has_rigid=s.facts.has_rigid or alone)
    # where a robot stands does not depend on how the run solves its contact problems
    solver = ContactSolver()
    scheme = s.scheme._replace(
        h=_STEP, theta=1.0, projection=True, tolerance=solver.tolerance,
        max_iterations=solver.max_iterations, method=AUTO,
    )  # fmt: skip
    for each in s.every_law:
        each.ease(friction)
    s.data.qvel[:] = 0.0
    s.data.qfrc_applied[:] = 0.0
    slow = 1e-6 if upright else 1e-9
    if soil is not None:
        slow = _SLOW_ON_SOIL
    most = _MAX_STEPS if soil is None else _MAX_STEPS_SOIL
    try:
        rests = _step_until_rest(s, model, scheme, most, slow, clock)
    finally:
        for each in s.every_law:
            each.placed()
    speed = float(np.max(np.abs(s.data.qvel)))
    # without friction a body may turn on its wheels for long; what counts is the free pose
    if not rests and speed > _MOVING and not upright:
        text = (
            f"robot.settle: the robot does not come to rest on the ground; after {most * _STEP:g} "
            f"s of simulated time it is still moving at {speed:.2g} m/s or rad/s"
        )
        if soil is None:
            raise InputError(f"{text}; give robot.position and robot.attitude instead")
        # what soil can hold is for the run to show
        warnings.warn(text, stacklevel=2)
    s.data.qvel[:] = 0.0
    s.forget_sums()


def _step_until_rest(
    s: Simulation,
    model: arrays.Model,
    scheme: arrays.Scheme,
    most: int,
    slow: float,
    clock: _Clock,
) -> bool:
    """Step until nothing moves faster than `slow` [m/s, rad/s], at most `most` steps; whether it
    rests."""
    counters = np.zeros(2, np.int64)
    piece = 50
    while counters[0] < most:
        began, before = time.perf_counter(), int(counters[0])
        ahead = min(piece, most - before)
        status = s.advance_loop(model, scheme, counters, ahead, slow)
        if status >= LAW and status % LAW == NEEDS_ROOM:
            s.make_room(status)
            continue
        if status != OK:
            raise InputError("robot.settle: the robot could not be placed on the ground")
        done = int(counters[0]) - before
        # the loop takes a tenth of the velocity away before it ends; a piece may end with it, too
        if done < ahead or (counters[0] > 10 and np.max(np.abs(s.data.qvel)) <= 0.9 * slow):
            return True
        clock.tell(int(counters[0]) * scheme.h, float(np.max(np.abs(s.data.qvel))))
        spent = time.perf_counter() - began
        piece = int(min(max(done * _PIECE / max(spent, 1e-4), 1), 10 * piece))
    return False
