"""Statics of stances: virtual work against the multibody model, closed forms, brute force."""

from __future__ import annotations

import dataclasses
import math

import mujoco
import numpy as np
import pytest
from scipy.optimize import linprog

from marsyard.analysis.kinetostatics.balance import Balance
from marsyard.analysis.kinetostatics.climb import climb_step, largest_step
from marsyard.analysis.kinetostatics.polytope import wrench_polytope
from marsyard.analysis.kinetostatics.stance import Stance, stance_at, stance_on
from marsyard.analysis.kinetostatics.summary import analyse, steering_held
from marsyard.analysis.kinetostatics.transmission import ellipsoid, grasp
from marsyard.analysis.kinetostatics.velocity import velocity_model
from marsyard.errors import InputError

G = 9.81
ROVERS = (
    "exomars",
    "curiosity_like",
    "eldorado2_like",
    "marsokhod_like",
    "vehicle_2001",
    "roburoc",
)


class Slope:
    """A plane through the origin that rises by an angle [rad] along a direction [rad]."""

    def __init__(self, angle: float = 0.0, towards: float = 0.0) -> None:
        self._rise = math.tan(angle) * np.array([math.cos(towards), math.sin(towards)])

    def height(self, x, y):
        return self._rise[0] * np.asarray(x) + self._rise[1] * np.asarray(y)


class Bumps:
    """Smooth hills of some centimetres."""

    def height(self, x, y):
        x, y = np.asarray(x), np.asarray(y)
        return 0.04 * np.sin(2.1 * x + 0.3) * np.cos(1.7 * y) + 0.1 * x - 0.05 * y


def _velocities(s: Stance, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random motion: MuJoCo's velocities, the platform's twist, rates of the joints."""
    v = rng.normal(size=s.model.nv)
    data = _data(s)
    rows = np.zeros((2, 3, s.model.nv))
    body = s.model.body(s.platform).id
    mujoco.mj_jac(s.model, data, rows[0], rows[1], data.xpos[body], body)
    twist = np.concatenate([s.rotation.T @ rows[0] @ v, s.rotation.T @ rows[1] @ v])
    return v, twist, np.array([v[s.model.joint(j).dofadr[0]] for j in s.joints])


def _data(s: Stance) -> mujoco.MjData:
    data = mujoco.MjData(s.model)
    data.qpos[:] = s.qpos
    mujoco.mj_kinematics(s.model, data)
    mujoco.mj_comPos(s.model, data)
    return data


# --- stances against the multibody model


@pytest.mark.parametrize("name", ROVERS)
@pytest.mark.parametrize("platform", [None, "wheel"])
def test_contact_velocities_and_weight_are_those_of_the_multibody_model(name, platform):
    rng = np.random.default_rng(7)
    s = stance_on(name, Bumps(), 0.3, -0.2, 0.8)
    if platform is not None:  # any body may be the platform, even a wheel
        body = s.robot.wheels[s.contacts[0]].body
        s = stance_on(name, Bumps(), 0.3, -0.2, 0.8, platform=body)
    v, twist, rates = _velocities(s, rng)
    data = _data(s)
    for i, wheel in enumerate(s.contacts):
        body = s.model.body(s.robot.wheels[wheel].body).id
        row = np.zeros((3, s.model.nv))
        mujoco.mj_jac(s.model, data, row, None, s.to_world(s.points[i]), body)
        expected = s.axes[i] @ s.rotation.T @ (row @ v)
        assert np.allclose(s.wrenches[i] @ twist + s.rates[i] @ rates, expected, atol=1e-12)
    power = 0.0
    for b in range(1, s.model.nbody):
        row = np.zeros((3, s.model.nv))
        mujoco.mj_jac(s.model, data, row, None, data.xipos[b], b)
        power += s.model.body_mass[b] * -G * (row @ v)[2]
    assert s.weight @ twist + s.weight_joints @ rates == pytest.approx(power, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("name", ROVERS)
def test_forces_in_balance_keep_the_multibody_model_at_rest(name):
    """Inverse dynamics of MuJoCo with no acceleration asks for just these forces and torques."""
    s = stance_on(name, Bumps(), 0.3, -0.2, 0.8)
    found = Balance(s, 0.8).forces()
    data = _data(s)
    s.model.opt.gravity[:] = 0, 0, -G
    total = np.zeros(s.model.nv)
    for i, wheel in enumerate(found.contacts):
        force = s.in_world(np.array([found.normal[i], found.along[i], found.left[i]]) @ s.axes[i])
        row = np.zeros((3, s.model.nv))
        body = s.model.body(s.robot.wheels[wheel].body).id
        mujoco.mj_jac(s.model, data, row, None, s.to_world(s.points[i]), body)
        total += row.T @ force
    for joint, torque in (found.torque | found.stops).items():
        total[s.model.joint(joint).dofadr[0]] += torque
    needed = np.zeros(s.model.nv)
    mujoco.mj_comVel(s.model, data)
    mujoco.mj_rne(s.model, data, 0, needed)
    left = needed - total
    if len(s.closures):  # closures may carry the rest, along their own rows
        rows = np.zeros((len(s.closures), s.model.nv))
        for k, joint in enumerate(s.joints):
            rows[:, s.model.joint(joint).dofadr[0]] = s.closures[:, k]
        left -= rows.T @ np.linalg.lstsq(rows.T, left, rcond=None)[0]
    assert np.abs(left).max() < 1e-6 * s.mass * G
    assert (found.normal > 0).all() and found.demand < 0.8


# --- closed forms


# RobuRoc's central pod stands on one axle and would turn about it
@pytest.mark.parametrize("name", ROVERS[:-1])
@pytest.mark.parametrize("angle", [0.0, 0.2])
def test_pull_and_friction_demand_on_a_slope(name, angle):
    """F = W (μ cos θ − sin θ) parallel to the slope through the ground, demand tan θ."""
    s = stance_on(name, Slope(angle))
    weight = s.mass * G
    balance = Balance(s, 0.6)
    uphill = s.rotation.T @ [math.cos(angle), 0, math.sin(angle)]
    # at the height of the wheels' contacts the pull does not tip the rover
    point = s.points.mean(axis=0)
    pull = balance.largest(np.concatenate([uphill, np.cross(point, uphill)]))
    expected = weight * (0.6 * math.cos(angle) - math.sin(angle))
    assert pull.size == pytest.approx(expected, rel=1e-3)
    assert pull.forces.use == pytest.approx(np.full(len(s.contacts), 0.6), rel=1e-3)
    assert balance.friction_demand()[0] == pytest.approx(math.tan(angle), abs=3e-4)


def test_the_largest_slope_is_that_of_friction_or_of_tipping():
    s = stance_at("vehicle_2001")
    wide = float(np.abs(s.points[:, 1]).max())
    height = float(s.com[2] - s.points[:, 2].mean())
    assert Balance(s, 0.3).tilt([0, 1, 0]) == pytest.approx(math.atan(0.3), abs=1e-6)
    assert Balance(s, 10.0).tilt([0, 1, 0]) == pytest.approx(math.atan(wide / height), abs=1e-6)
    ahead = float(s.points[:, 0].max() - s.com[0])
    assert Balance(s, 10.0).tilt([1, 0, 0]) == pytest.approx(math.atan(ahead / height), abs=1e-6)


def test_weak_motors_bound_pull_and_slope():
    s = stance_at("vehicle_2001")
    torque = 0.05 * s.mass * G * s.radius[0]
    balance = Balance(s, 0.6, torque)
    point = np.array([*s.com[:2], s.points[0, 2]])
    ahead = np.array([1.0, 0, 0])
    pull = balance.largest(np.concatenate([ahead, np.cross(point, ahead)])).size
    assert pull == pytest.approx(4 * 0.05 * s.mass * G, rel=1e-6)
    assert balance.tilt([-1, 0, 0]) == pytest.approx(math.asin(0.2), abs=1e-5)
    # across, the wheels hold without torque
    assert balance.tilt([0, 1, 0]) == pytest.approx(math.atan(0.6), abs=1e-3)


def test_a_balance_can_be_scaled_with_gravity():
    mars, earth = (stance_at("exomars", gravity=g) for g in (3.71, 9.81))
    ahead = [1.0, 0, 0]
    ratio = Balance(earth).largest(ahead).size / Balance(mars).largest(ahead).size
    assert ratio == pytest.approx(9.81 / 3.71, rel=1e-6)


# --- polytopes


def _brute(s: Stance, friction: float, direction: np.ndarray, sides: int) -> float:
    """The furthest force in x and y of the platform, none along z, moments as they come, with
    cones of flat sides inside the true ones (HiGHS)."""
    angle = 2 * math.pi * np.arange(sides) / sides
    rays = np.stack([np.ones(sides), friction * np.cos(angle), friction * np.sin(angle)], axis=1)
    columns = np.concatenate([rays @ s.wrenches[i] for i in range(len(s.contacts))])
    rates = np.concatenate([rays @ s.rates[i] for i in range(len(s.contacts))])
    still = ~s.driven
    answer = linprog(
        -columns[:, :2] @ direction,
        A_eq=np.vstack([rates[:, still].T, columns[:, 2]]),
        b_eq=np.append(-s.weight_joints[still], -s.weight[2]),
        bounds=(0, None),
    )
    assert answer.status == 0
    return float(-answer.fun + s.weight[:2] @ direction)


def test_the_polytope_against_brute_force():
    """Support of the projection by linear programs with cones of 64 sides: just inside."""
    s = stance_on("exomars", Bumps(), 0.3, -0.2, 0.8)
    found = wrench_polytope(Balance(s, 0.5), ("fx", "fy"), ("mx", "my", "mz"), 1e-4, most=5.0)
    assert not found.cut.any()
    rng = np.random.default_rng(3)
    for _ in range(12):
        d = rng.normal(size=2)
        d /= np.linalg.norm(d)
        far = float((found.points @ d).max())
        assert 0.995 * far < _brute(s, 0.5, d, 64) < far + 3e-4 * s.mass * G


def test_section_of_a_symmetric_vehicle_is_its_friction_disc():
    """Forces in the ground's plane with no moment about the contacts' middle: a disc of μ W."""
    s = stance_at("vehicle_2001")
    down = np.array([s.com[0], s.com[1], s.points[0, 2]])

    class Shifted(Balance):
        def support(self, direction, columns, most, wrench=None):
            moved = columns.copy()
            moved[:, 3:] += np.cross(down, columns[:, :3])
            return super().support(direction, moved, most, wrench)

    found = wrench_polytope(Shifted(s, 0.4), ("fx", "fy"), tolerance=1e-4)
    size = np.linalg.norm(found.points, axis=1)
    assert size == pytest.approx(np.full(len(size), 0.4 * s.mass * G), rel=1e-6)
    assert found.size == pytest.approx(math.pi * (0.4 * s.mass * G) ** 2, rel=1e-3)
    assert not found.cut.any()


def test_points_of_a_polytope_are_reached_and_none_beyond():
    s = stance_on("curiosity_like", Bumps(), 0.1, 0.2, 0.3)
    balance = Balance(s, 0.5, torque=150.0)
    found = wrench_polytope(balance, ("fx", "fy", "fz"), tolerance=0.02)
    middle = found.points.mean(axis=0)
    weight = s.mass * G
    for point in found.points[:: max(len(found.points) // 12, 1)]:
        inside = 0.999 * (point - middle) + middle
        outside = 1.05 * (point - middle) + middle
        push = np.concatenate([inside, np.zeros(3)])
        assert balance.forces(-push) is not None
        if np.abs(point).max() < 1.99 * weight:  # not where it was cut
            assert balance.forces(-np.concatenate([outside, np.zeros(3)])) is None
    corners = found.points[found.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.einsum("ij,ij->i", normal, corners[:, 0] - middle).min() > 0


# --- ellipsoids and polytopes


@pytest.mark.parametrize("name", ["roburoc", "exomars", "vehicle_2001"])
def test_the_ellipsoid_of_torques_is_inside_the_polytope(name):
    """Torques of the ball ‖τ‖ ≤ t are among those of the box |τ_k| ≤ t; friction does not bind.

    Along x, where the ground's own wrenches do nothing, the polytope reaches t Σ |G_xk|, the
    ellipsoid t (Σ G_xk²)^½.
    """
    s = stance_at(name)
    found = analyse(s, friction=5.0, torque=0.01 * s.mass * G)
    limit = 0.01 * s.mass * G
    matrix = grasp(found.model, "torques")
    held = [s.joints.index(found.model.stance.joints[k]) for k in found.model.drives]
    ball = ellipsoid(found.model, "force", by="torques")
    free = ("my", "mz")
    along = wrench_polytope(found.balance, ("fx",), free, most=5.0)
    assert along.points[1, 0] == pytest.approx(limit * np.abs(matrix[0]).sum(), rel=1e-6)
    reach = limit * ball.reach([1, 0, 0])
    assert reach < along.points[1, 0] < math.sqrt(len(held)) * reach * (1 + 1e-9)
    rng = np.random.default_rng(5)
    for _ in range(6):
        torque = rng.normal(size=len(held))
        torque *= limit / np.linalg.norm(torque)
        assert found.balance.forces(-matrix @ torque) is not None


@pytest.mark.parametrize("name", ["roburoc", "exomars", "curiosity_like"])
def test_power_is_the_same_on_both_sides(name):
    """Forces in balance and a motion without slip: wrench · twist + weight = −torque · rates."""
    s = stance_on(name, Bumps(), 0.3, -0.2, 0.8)
    found = analyse(s, 0.8, exact=False)
    push = np.array([0.05, 0.0, -0.02, 0.0, 0.01, 0.02]) * s.mass * G
    forces = found.balance.forces(push)
    moved = found.model.inverse([0.1, 0.02, 0.0, 0.0, 0.0, 0.05])
    joints = found.model.stance.joints
    rates = np.array([moved.rates[joints.index(j)] if j in joints else 0.0 for j in s.joints])
    torque = np.array([(forces.torque | forces.stops).get(j, 0.0) for j in s.joints])
    # sideways slip is the only motion at the contacts
    slip = forces.left @ moved.slip
    power = (push + s.weight) @ moved.followed + s.weight_joints @ rates + torque @ rates + slip
    size = abs(push @ moved.followed) + abs(torque @ rates)
    assert abs(power) < 1e-5 * size


def test_a_flat_section_keeps_both_ends():
    """Without friction a level vehicle pushes down as far as it is cut, and nowhere else."""
    s = stance_at("vehicle_2001")
    found = wrench_polytope(Balance(s, 0.0), ("fx", "fz"), most=0.5)
    weight = s.mass * G
    assert found.size == pytest.approx(0.0, abs=1e-6 * weight**2)
    assert np.abs(found.points[:, 0]).max() < 1e-6 * weight
    assert np.ptp(found.points[:, 1]) == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize(("name", "pushing"), [("roburoc", 4), ("exomars", 6), ("vehicle_2001", 4)])
def test_the_ellipsoid_lies_in_the_polytope_and_this_in_a_larger_one(name, pushing):
    """Where friction is ample, ‖τ‖ ≤ t lies in |τ_i| ≤ t, which lies in ‖τ‖ ≤ √n t."""
    s, t = stance_at(name), 0.5
    held = steering_held(s)
    model = velocity_model(held)
    G_torque, n = grasp(model, "torques"), len(model.drives)
    balance = Balance(s, friction=5.0, torque=t)
    rng = np.random.default_rng(4)
    for _ in range(20):
        torque = rng.normal(size=n)
        push = G_torque @ torque * (0.999 * t / np.linalg.norm(torque))
        assert balance.forces(-push) is not None
    ahead = np.array([1.0, 0.0, 0.0])
    found = ellipsoid(model, "force", by="torques")
    pure = ellipsoid(model, "force", other="zero", by="torques").pure(ahead)
    largest = balance.largest(ahead).size
    assert t * pure <= largest * (1 + 1e-6)
    assert largest <= math.sqrt(n) * t * found.reach(ahead) * (1 + 1e-6)
    # T = t / r at each wheel, but none at RobuRoc's central ones: the pull at its centre of hinges
    # leaves nothing to hold the central pod's pitch against their torque
    assert largest == pytest.approx(pushing * t / s.radius[0], rel=1e-5)


def test_springs_do_not_scale_with_gravity():
    """A tilt counts springs as they are: there is a balance just below it, and none above."""
    s = stance_at("exomars", contact=0.1)
    springs = np.zeros(len(s.joints))
    springs[s.joint("FRBogie_y")] = 0.1 * s.mass * G
    s = dataclasses.replace(s, springs=springs)
    down, ahead = s.gravity / G, np.array([1.0, 0.0, 0.0])
    found = Balance(s, 0.6).tilt(ahead)
    for angle, stands in ((found - 2e-3, True), (found + 2e-3, False)):
        turned = G * (math.cos(angle) * down + math.sin(angle) * ahead)
        balance = Balance(dataclasses.replace(s, gravity=turned), 0.6)
        assert (balance.forces() is not None) == stands


# --- climbing


def test_the_first_moment_of_a_climb_is_the_balance_of_a_wheel_at_an_edge():
    """A light wheel at an edge: the highest demand of a low step is at its start, and grows."""
    low, high = (climb_step("vehicle_2001", h, poses=4) for h in (0.02, 0.05))
    assert low.complete and high.complete
    assert low.demand < high.demand
    assert all(m.progress == 0.0 for m in (low.hardest, high.hardest))


def _plane_demand(edge: np.ndarray, normal: np.ndarray, front: np.ndarray, x: float) -> float:
    """Friction of a body that touches an edge and, with another wheel, level ground, in the plane.

    Points [m] from any origin, x of the centre of mass. Forces lie between two rays each; whether
    these balance the weight is a linear program (HiGHS), the least friction found by bisection.
    """
    along = np.array([normal[1], -normal[0]])
    up, ahead = np.array([0.0, 1.0]), np.array([1.0, 0.0])

    def stands(mu: float) -> bool:
        rays = [
            [*force, at[0] * force[1] - at[1] * force[0]]
            for n, t, at in ((normal, along, edge), (up, ahead, front))
            for force in (n + mu * t, n - mu * t)
        ]
        weight = [0.0, 1.0, x]
        return linprog(np.zeros(4), A_eq=np.array(rays).T, b_eq=weight).status == 0

    low, high = 0.0, 5.0
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stands(middle) else (middle, high)
    return high


def test_rear_axle_of_a_vehicle_against_plane_statics():
    c = climb_step("vehicle_2001", 0.05, poses=3)
    for moment in (m for m in c.moments if m.axle == 1 and m.progress < 1):
        s = moment.stance
        rear = s.contacts.index(moment.wheels[0])
        front = next(k for k, name in enumerate(s.contacts) if name not in moment.wheels)
        world, normal = s.to_world(s.points)[:, ::2], s.in_world(s.axes[rear, 0])[::2]
        assert world[rear] == pytest.approx([0.0, 0.05], abs=1e-6)  # the edge
        expected = _plane_demand(world[rear], normal, world[front], s.to_world(s.com)[0])
        assert moment.demand == pytest.approx(expected, abs=1e-5)


def test_the_largest_step_takes_all_friction():
    h = largest_step("vehicle_2001", 0.6, poses=4, accuracy=5e-4)
    assert climb_step("vehicle_2001", h, poses=4).demand <= 0.6
    assert climb_step("vehicle_2001", h + 2e-3, poses=4).demand > 0.6


def test_roburoc_leans_back_until_its_stops_to_climb():
    """The published climb, 0.4 m with μ = 0.6, is possible; the rear axle is the hardest."""
    c = climb_step("roburoc", 0.4, poses=5)
    assert c.complete and c.demand < 0.6
    assert c.hardest.axle == 2
    assert any(m.stance.stops.any() for m in c.moments)


# --- what is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stance_at("roburoc", {"pitch_frnt": 0.1}), "pitch_front"),
        (lambda: stance_at("roburoc", contact={"FX": 0.1}), "no wheel 'FX'"),
        (lambda: stance_at("roburoc", platform="pod"), "no body 'pod'"),
        (lambda: stance_at("roburoc", lifted=["FL", "FR", "ML", "MR", "RL", "RR"]), "not touch"),
        (lambda: stance_at("plate_rig"), "free joint"),
        (lambda: Balance(stance_at("exomars"), -0.1), "0 or more"),
        (lambda: Balance(stance_at("exomars"), math.nan), "0 or more"),
        (lambda: Balance(stance_at("exomars"), {"FX": 1.0}), "no contact"),
        (lambda: Balance(stance_at("exomars"), torque=0.0), "above 0"),
        (lambda: Balance(stance_at("exomars"), torque={"FLWhel_y": 1.0}), "FLWheel_y"),
        (lambda: Balance(stance_at("exomars")).largest([0, 0, 0]), "not zero"),
        (lambda: wrench_polytope(Balance(stance_at("exomars")), ("fx", "fq")), "no part"),
        (lambda: climb_step("exomars", -1.0), "above 0"),
        (lambda: climb_step("exomars", math.nan), "above 0"),
        (lambda: climb_step("exomars", 0.1, joints={"FLBogie": 0.1}), "did you mean 'FLBogie_y'"),
        (lambda: climb_step("exomars", 0.1, poses=1), "2 or more"),
        (lambda: largest_step("exomars", 0.0), "above 0"),
    ],
)  # fmt: skip
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_stance_without_balance_has_no_forces():
    """On two wheels of one side nothing balances."""
    s = stance_at("vehicle_2001", lifted=["FR", "RR"])
    assert Balance(s, 0.6).forces() is None
    assert Balance(s, 0.6).friction_demand() == (math.inf, None)
    assert math.isnan(Balance(s, 0.6).largest([1.0, 0, 0]).size)
    assert wrench_polytope(Balance(s, 0.6), ("fx", "fy")).empty
