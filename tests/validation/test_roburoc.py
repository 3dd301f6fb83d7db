"""RobuROC (Bidaud, Ben Amar, Poulain 2005): hinges, climbing a step and stairs, turning.

Compared with what needs no simulation: geometry of the screws (5) and (6), balance of the front pod
at the face of a step (eq. (11)), the kinematic model (10), Coulomb's law, and the balance of wheels
that slide while the robot turns.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from library_robots import build
from scipy.optimize import brentq, minimize_scalar

from marsyard.analysis.statics import chassis_of
from marsyard.results import evaluate_all
from marsyard.results.dataset import series
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

G = 9.81
SCENARIOS = ("step", "stairs", "six-wheels", "four-wheels")


def run(name, **more):
    changes = {key.replace("__", "."): value for key, value in more.items()}
    scenario = load_scenario(f"roburoc/{name}", changes)
    return scenario, Simulation(scenario).run().dataset()


@pytest.fixture(scope="module")
def runs():
    return {name: run(name) for name in SCENARIOS}


# --- the robot


def test_all_hinges_pass_through_one_point():
    """Screws (5) and (6) have no moment at O_0: pitch, then roll, through the base's origin."""
    robot, model, data = build("roburoc")
    origin = data.body(robot.base).xpos
    depth = robot.numbers["hinge_depth"]["value"]
    for side in ("front", "rear"):
        for kind, axis in (("pitch", [0, 1, 0]), ("roll", [1, 0, 0])):
            joint = model.joint(f"{kind}_{side}").id
            assert data.xanchor[joint] == pytest.approx(origin, abs=1e-12)
            assert data.xaxis[joint] == pytest.approx(axis, abs=1e-12)
        pitch = model.body(model.joint(f"pitch_{side}").bodyid[0])
        roll = model.body(model.joint(f"roll_{side}").bodyid[0])
        assert pitch.parentid[0] == model.body(robot.base).id and roll.parentid[0] == pitch.id
    # the axles lie above it, and symmetrically
    spacing, track = (robot.numbers[n]["value"] for n in ("axle_spacing", "track"))
    for name, wheel in robot.wheels.items():
        x, y = {"F": 1, "M": 0, "R": -1}[name[0]], {"L": 1, "R": -1}[name[1]]
        expected = [x * spacing, y * track / 2, depth]
        assert data.body(wheel.body).xpos - origin == pytest.approx(expected, abs=1e-12)
    for kind in ("pitch", "roll"):
        front, rear = (model.joint(f"{kind}_{s}").range for s in ("front", "rear"))
        assert rear == pytest.approx(-front[::-1])


def test_wheels_of_two_pods_never_meet():
    robot, model, data = build("roburoc")
    for angle in np.linspace(*model.joint("pitch_front").range, 40):
        data.joint("pitch_front").qpos[0], data.joint("pitch_rear").qpos[0] = angle, -angle
        mujoco.mj_kinematics(model, data)
        for end in "FR":
            apart = np.linalg.norm(data.body("MLWheel").xpos - data.body(f"{end}LWheel").xpos)
            assert apart > 2 * robot.wheels["ML"].radius + 0.004


def test_key_frame_on_four_wheels():
    robot, model, data = build("roburoc")
    mujoco.mj_resetDataKeyframe(model, data, model.key("four_wheels").id)
    mujoco.mj_forward(model, data)
    height = {n: data.body(w.body).xpos[2] - w.radius for n, w in robot.wheels.items()}
    assert [height[n] for n in ("ML", "MR", "RL", "RR")] == pytest.approx([0] * 4, abs=1e-6)
    assert height["FL"] == height["FR"] > 0.3
    x = data.subtree_com[0][0]
    assert data.body("RLWheel").xpos[0] < x - 0.04 < x + 0.04 < data.body("MLWheel").xpos[0]
    # the scenario starts there
    robot = load_scenario("roburoc/four-wheels", {}).robot
    assert robot.position == pytest.approx(data.qpos[:3], abs=1e-5)
    for name, angle in robot.joints.items():
        assert angle == pytest.approx(data.joint(name).qpos[0], abs=1e-5)


def test_loads_on_a_slope_by_hand():
    """Three pods about O_0, in the plane, on 8°; tractions as near to tan θ N as balance allows.

    The central pod alone fixes its traction: T (R − h) = −Σ m z g sin θ, whatever the others do.
    """
    robot, model, data = build("roburoc")
    slope = math.radians(8)
    along, down = G * math.sin(slope), G * math.cos(slope)
    origin = data.body(robot.base).xpos
    low = robot.wheels["ML"].radius - robot.numbers["hinge_depth"]["value"]
    spacing = robot.numbers["axle_spacing"]["value"]
    mass, x, z = {}, {}, {}
    for key, name in (("F", "FrontLink"), ("R", "RearLink"), ("M", "CentralPod")):
        body = model.body(name).id
        mass[key] = model.body_subtreemass[body]
        x[key], _, z[key] = mass[key] * (data.subtree_com[body] - origin)
    whole = mass["M"]
    mass["M"], z["M"] = (whole - mass["F"] - mass["R"], z["M"] - z["F"] - z["R"])
    pull = {"M": -z["M"] * along / low}

    def loads(front):
        pull["F"] = front
        pull["R"] = whole * along - pull["M"] - front
        load = {k: s * (x[k] * down - z[k] * along - low * pull[k]) / spacing
                for k, s in (("F", 1), ("R", -1))}  # fmt: skip
        return {**load, "M": whole * down - sum(load.values())}

    def unlike(front):
        return sum((pull[k] - math.tan(slope) * n) ** 2 for k, n in loads(front).items())

    expected = loads(minimize_scalar(unlike, bounds=(-400, 600), method="bounded").x)
    chassis = chassis_of(robot)
    for name, load in zip(chassis.names, chassis.loads(slope, G), strict=True):
        assert load == pytest.approx(expected[name[0]] / 2, rel=1e-4), name


# --- scenarios


@pytest.mark.parametrize("name", SCENARIOS)
def test_checks_of_the_scenarios(runs, name):
    scenario, ds = runs[name]
    results = evaluate_all(ds, scenario.report.checks)
    assert len(results) >= 3
    assert [(r.name, r.computed) for r in results if not r.ok] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_friction_is_never_above_its_coefficient(runs, name):
    scenario, ds = runs[name]
    use = series(ds, "friction_use").values
    assert use.max() <= scenario.interaction.friction * (1 + 1e-9)
    assert use.max() > 0.5 * scenario.interaction.friction
    # loads carry the weight at the end of every run
    up = series(ds, "contact_force_world").sel(axis="z").values[-1].sum()
    assert up == pytest.approx(160 * G, rel=0.01)


# --- the step


def heights(ds):
    """Highest place of the lowest points of front, central and rear wheels [m]."""
    above = ds.gap.sel(surface="floor")
    return [float(above.sel(wheel=name).max()) for name in ("FL", "ML", "RL")]


def test_too_little_friction_for_the_step():
    _, ds = run("step", interaction__friction=0.3, run__duration=10.0)
    assert max(heights(ds)) < 0.01
    assert abs(ds.position_base.values[-1, 0] - ds.position_base.values[-250, 0]) < 1e-3


def least_friction():
    """μ from which the front wheels leave the ground at the face.

    Front pod about O_0, P its weight at x: (L + R) f_t + h f_n = P x (eq. (11)). All others slide:
    f_n = μ (W − f_t). At the bound the front wheels slide too, f_t = μ f_n.
    """
    robot, model, data = build("roburoc")
    spacing, depth = (robot.numbers[n]["value"] for n in ("axle_spacing", "hinge_depth"))
    pod = model.body("FrontLink").id
    origin = data.body(robot.base).xpos
    moment = model.body_subtreemass[pod] * G * (data.subtree_com[pod][0] - origin[0])
    weight = model.body_subtreemass[0] * G
    arm = spacing + robot.wheels["FL"].radius

    def spare(mu):
        push = mu * weight / (1 + mu**2)
        return (mu * arm + depth) * push - moment

    return brentq(spare, 0.05, 2.0)


def test_the_front_wheels_rise_from_the_friction_of_eq_11_on():
    bound = least_friction()
    assert 0.4 < bound < 0.5
    rise = {}
    for share in (0.98, 1.02):
        more = {"interaction__friction": share * bound, "run__duration": 6.0}
        rise[share] = heights(run("step", **more)[1])[0]
    assert rise[0.98] < 0.02 and rise[1.02] > 0.2


def test_the_central_pod_comes_level_by_the_kinematic_model(runs):
    """Eq. (10) with ω_y = −pitch per second: the pitch falls as exp(−t)."""
    pitch = series(runs["step"][1], "pitch").sel(time=slice(15, 19))
    assert pitch.values[0] < math.radians(-10)
    rate = np.polyfit(pitch.time, np.log(-pitch.values), 1)[0]
    assert rate == pytest.approx(-1.0, rel=0.03)


def test_the_energy_of_the_climb():
    """Work of the motors = what the robot gained + what sliding wheels lost + a little for impacts.

    The loss is summed from forces and velocities of the contacts, at every step. Wheels that land
    and hinges that meet their stops do not rebound: what is left is small, and never a gain.
    """
    _, ds = run("step", run__record_period=0.002, run__duration=13.0)
    gained = float(series(ds, "energy")[-1] - series(ds, "energy")[0])
    work = float(ds.energy_motors[-1])
    rise = float(ds.position_com[-1, 2] - ds.position_com[0, 2])
    assert rise > 0.38
    assert gained == pytest.approx(160 * G * rise, rel=0.01)
    slip = ds.contact_velocity.sel(component=["forward", "left"]).values
    push = ds.impulse_tangent.sum("surface").sel(tangent=["forward", "left"]).values
    lost = -float((slip * push).sum())
    assert lost > 0.3 * work
    assert 0 < work - gained - lost < 0.05 * work


# --- turning on the spot


def test_turning_on_six_wheels_is_the_balance_of_sliding_wheels(runs):
    """With the loads of the run: friction μ N against the slip (Rθ̇ − ω d, ω x) of each wheel."""
    _, ds = runs["six-wheels"]
    robot, _, data = build("roburoc")
    load = series(ds, "force_normal").isel(time=-1)
    mu, radius, half = 0.6, 0.24, robot.numbers["track"]["value"] / 2
    wheels = [
        (float(data.body(f"{n}Wheel").xpos[0]), float(load.sel(wheel=n))) for n in robot.wheels
    ]

    def moment(turn):
        along = radius - turn * half
        return sum(
            mu * n * (along * half - turn * x * x) / math.hypot(along, turn * x) for x, n in wheels
        )

    turn = brentq(moment, 1e-3, radius / half - 1e-6)
    yaw = series(ds, "yaw").sel(time=slice(6, 8))
    assert np.polyfit(yaw.time, yaw, 1)[0] == pytest.approx(turn, rel=1e-3)
    # what the drives give is what slides
    along = radius - turn * half
    lost = sum(mu * n * math.hypot(along, turn * x) for x, n in wheels)
    work = ds.energy_motors.sel(time=slice(6, 8))
    assert np.polyfit(work.time, work, 1)[0] == pytest.approx(lost, rel=1e-3)


def test_four_wheels_turn_for_less(runs):
    torque, cost = {}, {}
    for name in ("six-wheels", "four-wheels"):
        late = runs[name][1].sel(time=slice(6, 8))
        drives = [j for j in late.joint.values if j.endswith("Wheel_y")]
        torque[name] = float(np.abs(late.motor_torque.sel(joint=drives)).sum("joint").mean())
        turned = float(series(runs[name][1], "yaw").sel(time=slice(6, 8)).diff("time").sum())
        cost[name] = float(late.energy_motors.diff("time").sum()) / turned
    assert torque["four-wheels"] < 0.3 * torque["six-wheels"]
    assert cost["four-wheels"] < 0.15 * cost["six-wheels"]


# --- stairs


def test_stairs_too_steep_for_statics():
    """17 and 29 cm: where it stops, wheels that touch nothing but edges could not push it on.

    A wheel that touches an edge at θ from the vertical pushes forward with at most tan(φ − θ) of
    what it carries; summed over the wheels that is below 0 there.
    """
    stairs = {f"ground.{k + 1}.centre": [4 + 0.29 * k, 0, 0.17 * (k + 1) - 0.5] for k in range(5)}
    scenario = load_scenario("roburoc/stairs", {**stairs, "run.duration": 14.0})
    ds = Simulation(scenario).run().dataset()
    assert heights(ds)[2] < 0.01
    assert abs(float(ds.position_base[-1, 0] - ds.position_base[-100, 0])) < 1e-4
    robot, model, data = build("roburoc")
    data.qpos[:] = ds.coordinates.values[-1]
    mujoco.mj_kinematics(model, data)
    push = 0.0
    for name, edge in (("FL", (1.87, 0.68)), ("ML", (1.29, 0.34)), ("RL", (1.0, 0.17))):
        x, _, z = data.body(f"{name}Wheel").xpos
        assert math.hypot(edge[0] - x, z - edge[1]) == pytest.approx(0.24, abs=1e-4)
        lean = math.atan2(edge[0] - x, z - edge[1])
        load = float(series(ds, "contact_force_world").sel(wheel=name, axis="z")[-1])
        push += load * math.tan(math.atan(scenario.interaction.friction) - lean)
    assert push < 0
