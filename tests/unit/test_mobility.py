"""Mobility in closed form, against hand computation of statics and textbook formulas.

The rovers of these tests are written here: their masses and lever arms are plain numbers.
"""

from __future__ import annotations

import json
import math
import warnings
from time import process_time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from marsyard import InputError, library
from marsyard.analysis.mobility import (
    Settings,
    as_data,
    bekker_resistance,
    bekker_sinkage,
    bulldozing_resistance,
    compare,
    evaluate,
    rowland_pressure,
)
from marsyard.analysis.statics import chassis_of, largest_step
from marsyard.ground.gravity_scaling import at_gravity
from marsyard.ground.soil import load_soil
from marsyard.ground.typical import SoilRemark, StandsIn
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.robot import load_robot

G = 3.72
R, HALF, TRACK, HEIGHT = 0.15, 0.5, 0.8, 0.4  # wheel radius, half wheelbase, track, height of com
AHEAD = 0.07  # of the centre of mass
TINY = 1e-9  # mass of what should weigh nothing
LUNAR = load_soil("lunar_nominal")


def wheel(name, x, y, z=0.0):
    return (
        f'<body name="{name}" pos="{x} {y} {z}"><joint name="{name}_y" axis="0 1 0"/>'
        f'<inertial pos="0 0 0" mass="{TINY}" diaginertia="1e-9 1e-9 1e-9"/></body>'
    )


def rover(folder, name, inside, wheels, equality="", roles=""):
    """A robot with a box of 100 kg, written to `folder`."""
    home = folder / name
    home.mkdir()
    (home / "robot.xml").write_text(
        f'<mujoco><worldbody><body name="base" pos="0 0 {R}"><freejoint/>'
        f'<inertial pos="{AHEAD} 0 {HEIGHT - R}" mass="100" diaginertia="5 5 5"/>{inside}'
        f"</body></worldbody>{equality}</mujoco>"
    )
    listed = "".join(
        f"  {w}: {{body: {w}, joint: {w}_y, radius: {R}, width: 0.1, shape: cylinder, "
        "exit: {rule: height, value: 1.0}}\n"
        for w in wheels
    )
    drives = ", ".join(f"{w}_y" for w in wheels)
    (home / "robot.yaml").write_text(
        f"model: robot.xml\nbase: base\nwheels:\n{listed}roles:\n  drives: [{drives}]\n{roles}"
    )
    return load_robot(str(home / "robot.yaml"))


@pytest.fixture
def rigid(tmp_path):
    """Four wheels on a rigid frame: one load is open."""
    places = {"FL": (HALF, 1), "FR": (HALF, -1), "RL": (-HALF, 1), "RR": (-HALF, -1)}
    inside = "".join(wheel(n, x, s * TRACK / 2) for n, (x, s) in places.items())
    return rover(tmp_path, "rigid", inside, places)


PIVOT = 0.30  # height of the bogies' pivots
BOGIE_X, ARM = 0.3, 0.25


@pytest.fixture
def bogies(tmp_path):
    """A bogie at each side, middle of two wheels, and a rear axle: weightless but for the box."""
    inside = ""
    for side, y in (("L", TRACK / 2), ("R", -TRACK / 2)):
        wheels = wheel("F" + side, ARM, 0, R - PIVOT) + wheel("C" + side, -ARM, 0, R - PIVOT)
        inside += (
            f'<body name="B{side}" pos="{BOGIE_X} {y} {PIVOT - R}">'
            f'<joint name="B{side}_y" axis="0 1 0"/>'
            f'<inertial pos="0 0 0" mass="{TINY}" diaginertia="1e-9 1e-9 1e-9"/>{wheels}</body>'
        )
        inside += wheel("R" + side, -HALF, y)
    return rover(tmp_path, "bogies", inside, ("FL", "CL", "RL", "FR", "CR", "RR"))


# --- wheel loads


@pytest.mark.parametrize("degrees", [0, 10, 25])
def test_loads_of_two_axles_are_those_of_the_lever_arms(rigid, degrees):
    slope = math.radians(degrees)
    loads = chassis_of(rigid).loads(slope, G)
    rear = (math.cos(slope) * (HALF - AHEAD) + math.sin(slope) * HEIGHT) / (2 * HALF) * 100 * G
    front = 100 * G * math.cos(slope) - rear
    assert loads == pytest.approx([front / 2, front / 2, rear / 2, rear / 2], rel=1e-6)


@pytest.mark.parametrize("degrees", [0, 10, 20])
def test_a_bogie_shifts_load_backward_on_a_slope(bogies, degrees):
    """Contact forces are vertical, so each acts about the pivot with its horizontal distance."""
    slope = math.radians(degrees)
    chassis = chassis_of(bogies)
    front, centre, rear = chassis.loads(slope, G)[:3]
    lean = PIVOT * math.tan(slope)
    assert front / centre == pytest.approx((ARM - lean) / (ARM + lean), rel=1e-6)
    assert 2 * (front + centre + rear) == pytest.approx(100 * G * math.cos(slope), rel=1e-6)
    # moment about the rear feet, lengths along the ground and heights above it
    turned = 2 * front * (BOGIE_X + ARM + HALF) + 2 * centre * (BOGIE_X - ARM + HALF)
    held = 100 * G * (math.cos(slope) * (AHEAD + HALF) - math.sin(slope) * HEIGHT)
    assert turned == pytest.approx(held, rel=1e-6)
    assert chassis.free == 1  # left against right: both bogies and the rear axle carry roll


def test_open_loads_are_those_of_equal_springs(rigid, tmp_path):
    """A centre of mass aside: a rigid frame on springs carries w (1/4 + x/4a + y/4b)."""
    assert chassis_of(rigid).free == 1
    text = rigid.model.read_text().replace(f'pos="{AHEAD} 0 ', f'pos="{AHEAD} 0.05 ')
    rigid.model.write_text(text)
    loads = chassis_of(rigid).loads(0.0, G)
    share = [0.25 * (1 + sx * AHEAD / HALF + sy * 0.05 / (TRACK / 2))
             for sx, sy in ((1, 1), (1, -1), (-1, 1), (-1, -1))]  # fmt: skip
    assert loads == pytest.approx(np.array(share) * 100 * G, rel=1e-6)


def test_a_differential_carries_no_pitch_of_its_own(tmp_path):
    """Two rockers, q1 = −q2: loads follow from balance, and none is left open."""
    inside = ""
    for side, y in (("L", TRACK / 2), ("R", -TRACK / 2)):
        inside += (
            f'<body name="B{side}" pos="0.05 {y} 0.2"><joint name="q{side}" axis="0 1 0"/>'
            f'<inertial pos="0 0 0" mass="{TINY}" diaginertia="1e-9 1e-9 1e-9"/>'
            f"{wheel('F' + side, HALF - 0.05, 0, -0.2)}{wheel('R' + side, -HALF - 0.05, 0, -0.2)}"
            "</body>"
        )
    equal = '<equality><joint joint1="qL" joint2="qR" polycoef="0 -1 0 0 0"/></equality>'
    robot = rover(tmp_path, "rockers", inside, ("FL", "RL", "FR", "RR"), equal)
    chassis = chassis_of(robot)
    slope = math.radians(15)
    rear = (math.cos(slope) * (HALF - AHEAD) + math.sin(slope) * HEIGHT) / (2 * HALF) * 100 * G
    front = 100 * G * math.cos(slope) - rear
    assert chassis.free == 0
    assert chassis.loads(slope, G) == pytest.approx(np.array([front, rear] * 2) / 2, rel=1e-6)
    # without the differential the body falls about the pivots
    robot = rover(tmp_path, "loose", inside, ("FL", "RL", "FR", "RR"))
    with pytest.raises(InputError, match="loose: the rover does not stand on its wheels"):
        evaluate(robot, [LUNAR], Settings())


ROVERS = [n for n in library.names("rovers") if len(load_robot(n).wheels) > 2]


@pytest.mark.parametrize("name", ROVERS)
def test_loads_of_every_rover_add_up_to_its_weight(name):
    chassis = chassis_of(load_robot(name))
    for degrees in (0, 8):
        slope = math.radians(degrees)
        loads = chassis.loads(slope, G)
        assert loads.sum() == pytest.approx(chassis.mass * G * math.cos(slope), rel=1e-9)
        assert loads.min() > 0
        left = {n[:-1]: v for n, v in zip(chassis.names, loads, strict=True) if n.endswith("L")}
        right = {n[:-1]: v for n, v in zip(chassis.names, loads, strict=True) if n.endswith("R")}
        assert left == pytest.approx(right, rel=1e-6)


# --- single wheels


def test_bekkers_sinkage_carries_the_load():
    """Against the load by sinkage that the magic formula's module uses."""
    own = {"nominal_load": 100, "peak_x": 0.5, "stiff_x": 5}
    model = WheelModel("magic_formula", Wheel(0.14, 0.12, Exit("angle", 0)), LUNAR, own)
    depth = bekker_sinkage(np.array([50.0, 200.0]), 0.14, 0.12, LUNAR)
    assert model.at_sinkage(depth).load == pytest.approx([50.0, 200.0], rel=1e-9)


def test_compaction_is_the_work_of_pressing_the_rut():
    soil = load_soil("dry_sand")
    depth = float(bekker_sinkage(150.0, 0.14, 0.12, soil))
    work, _ = quad(lambda z: 0.12 * soil.pressure(z, 0.12), 0, depth)
    assert float(bekker_resistance(150.0, 0.14, 0.12, soil)) == pytest.approx(work, rel=1e-7)


def test_passive_bulldozing_is_the_integral_of_earth_pressure():
    phi, c, gamma = LUNAR.friction_angle, LUNAR.cohesion, LUNAR.density * G
    k = (1 + math.sin(phi)) / (1 - math.sin(phi))
    force, _ = quad(lambda z: 0.12 * (gamma * z * k + 2 * c * math.sqrt(k)), 0, 0.03)
    assert float(bulldozing_resistance(0.03, 0.14, 0.12, LUNAR, G)) == pytest.approx(force)


def test_bekkers_bulldozing_uses_terzaghis_factors():
    """φ = 30°: Terzaghi's N_c = 37.2 and N_q = 22.5; the wedge at α = 30°."""
    soil = load_soil({"name": "lunar_nominal", "friction_angle": "30 deg", "density": 1e-9})
    z, r, phi = 0.14 * (1 - math.cos(math.pi / 6)), 0.14, math.pi / 6
    wedge = 0.1 * math.sin(2 * phi) / (2 * math.sin(phi) * math.cos(phi))
    expected = wedge * 2 * z * soil.cohesion * (37.16 - math.tan(phi)) * math.cos(phi) ** 2
    found = bulldozing_resistance(z, r, 0.1, soil, G, "bekker")
    assert float(found) == pytest.approx(expected, rel=2e-3)
    assert float(bulldozing_resistance(z, r, 0.1, soil, G, "none")) == 0


def test_rowlands_formula_by_hand():
    # 100 kN on three axles, 0.4 m by 1.2 m, a fifth deflected
    expected = 3.9 * 100 / (2 * 3 * 0.4**0.85 * 1.2**1.15 * math.sqrt(0.2))
    assert rowland_pressure(1e5, 3, 0.4, 1.2, 0.2) == pytest.approx(1e3 * expected)
    with pytest.raises(InputError, match="2 to 6 axles, not for 7"):
        rowland_pressure(1e5, 7, 0.4, 1.2, 0.2)


# --- a rover where everything can be computed by hand

FRICTION, STIFF = 0.6, 30.0
HAND = {"model": "rigid_slip", "coefficients": {"friction": FRICTION, "slip_stiffness": STIFF},
        "bulldozing": "none", "gravity": G}  # fmt: skip


@pytest.mark.parametrize("rolling", [0.0, 0.1])
def test_largest_slope_is_the_angle_of_the_pull_ratio(bogies, rolling):
    found = evaluate(bogies, [LUNAR], Settings(**HAND, rolling=rolling)).soils[0]
    assert found.slope_limit_by == "traction"
    assert found.slope_limit == pytest.approx(math.atan(FRICTION - rolling), abs=2e-4)
    assert found.pull_max == pytest.approx((FRICTION - rolling) * 100 * G, rel=1e-6)


def test_slip_torque_and_power_at_work(bogies):
    """F/N = μ (1 − e^(−C s/μ)) = tan θ; torque r F; power F v/(1 − s)."""
    slope = math.radians(12)
    found = evaluate(bogies, [LUNAR], Settings(**HAND, slope=slope, speed=0.05)).soils[0]
    slip = -FRICTION / STIFF * math.log(1 - math.tan(slope) / FRICTION)
    pull = 100 * G * math.sin(slope)
    assert found.slip == pytest.approx(slip, abs=1e-5)
    assert found.torque == pytest.approx(R * pull, rel=1e-4)
    assert found.power == pytest.approx(pull * 0.05 / (1 - slip), rel=1e-4)
    assert found.pull == pytest.approx(found.slope, rel=1e-4)


def test_a_high_rover_is_stopped_by_lift_off(rigid):
    """tan θ = (distance of the rear feet)/height of the centre of mass."""
    text = rigid.model.read_text().replace(f" {HEIGHT - R}", " 1.35")
    rigid.model.write_text(text)
    settings = Settings(**{**HAND, "coefficients": {"friction": 0.9, "slip_stiffness": 60}})
    found = evaluate(rigid, [LUNAR], settings).soils[0]
    assert found.slope_limit_by == "lift-off"
    assert math.tan(found.slope_limit) == pytest.approx((HALF + AHEAD) / 1.5, rel=1e-3)
    steep = evaluate(rigid, [LUNAR], Settings(**HAND, slope=math.radians(30))).soils[0]
    assert not steep.climbs
    assert "lifts off" in steep.notes[0]


@pytest.mark.parametrize(("friction", "ratio"), [(0.5, 0.5), (0.7, 0.3), (0.3, 0.1)])
def test_step_of_two_axles_by_planar_statics(rigid, friction, ratio):
    """All friction used: forces of known directions at edge and foot, moment about the other."""

    def unbalanced(psi, front):
        edge_x = HALF if front else -HALF
        edge = np.array([edge_x + R * math.sin(psi), R * (1 - math.cos(psi))])
        push = np.array([-math.sin(psi) + friction * math.cos(psi),
                         math.cos(psi) + friction * math.sin(psi)])  # fmt: skip
        foot = np.array([-edge_x, 0.0])
        ground = np.array([ratio, 1.0])
        a, b = np.linalg.solve(np.array([push, ground]).T, [0.0, 1.0])

        def moment(p, f):
            return p[0] * f[1] - p[1] * f[0]

        return a * moment(edge, push) + b * moment(foot, ground) - AHEAD

    expected = []
    for front in (True, False):
        psi = np.linspace(1e-3, math.pi / 2, 400)
        values = np.array([unbalanced(p, front) for p in psi])
        # a change of sign that is no pole
        small = np.maximum(abs(values[:-1]), abs(values[1:])) < 0.1
        k = np.flatnonzero((values[:-1] * values[1:] < 0) & small)[0]
        root = brentq(unbalanced, psi[k], psi[k + 1], args=(front,))
        expected.append(R * (1 - math.cos(root)))
    found = largest_step(chassis_of(rigid), friction, ratio)
    assert found.axles == pytest.approx(expected, abs=1e-4)
    assert found.height == pytest.approx(min(expected), abs=1e-4)


def test_steps_at_the_ends(rigid):
    chassis = chassis_of(rigid)
    assert largest_step(chassis, 0.0, 0.0).height == 0.0
    assert largest_step(chassis, 2.0, 2.0).height is None
    heights = [largest_step(chassis, 0.5, k).height for k in (0.1, 0.2, 0.3)]
    assert heights == sorted(heights)


# --- a rover on soils


@pytest.fixture(scope="module")
def exomars():
    return load_robot("exomars")


def test_pull_is_the_sum_of_the_wheels(exomars):
    settings = Settings(model="ishigami", bulldozing="none", exit=Exit("height", 0.9))
    found = evaluate(exomars, [LUNAR], settings)
    wheel = Wheel(
        0.1425, 0.12, Exit("height", 0.9), lug_height=0.008, lug_count=12, lug_thickness=0.002
    )
    model = WheelModel("ishigami", wheel, LUNAR, gravity=G)
    loads = np.array(list(found.loads_level.values()))
    expected = model.under_load(loads, 0.2).drawbar_pull.sum()
    assert found.soils[0].pull_20 == pytest.approx(expected, rel=1e-9)
    assert found.exits == ("height:0.9",)


@pytest.mark.parametrize("model", ["wong_reece", "ishigami", "ding"])
def test_forces_balance_at_work(exomars, model):
    settings = Settings(model=model, slope=math.radians(2), rolling=0.02, gravity=3.72)
    G = settings.gravity
    for s in evaluate(exomars, [LUNAR, load_soil("hit_lss1")], settings).soils:
        assert s.climbs
        resisting = s.compaction + s.bulldozing + s.rolling + s.slope
        assert s.thrust == pytest.approx(resisting, rel=1e-3)
        assert s.rolling == pytest.approx(0.02 * 310 * G * math.cos(settings.slope))
        assert sum(w.load for w in s.wheels) == pytest.approx(310 * G * math.cos(settings.slope))


def test_slope_limit_is_where_the_rover_just_climbs(exomars):
    limit = evaluate(exomars, [LUNAR], Settings()).soils[0].slope_limit
    below, above = (
        evaluate(exomars, [LUNAR], Settings(slope=limit + d)).soils[0].climbs for d in (-0.01, 0.01)
    )
    assert (below, above) == (True, False)


def test_an_evaluation_takes_well_under_a_second(exomars):
    soils = [LUNAR, load_soil("dry_sand"), load_soil("krenn2008")]
    settings = Settings(slope=0.1)
    evaluate(exomars, soils, settings)  # the compiled models are loaded now
    start = process_time()
    evaluate(exomars, soils, settings)
    assert process_time() - start < 1.0


def test_what_was_taken_is_said(exomars):
    with pytest.warns(StandsIn, match="soil dry_sand: density = 1600 kg/m³"):
        evaluate(exomars, [load_soil("dry_sand")], Settings())
    given = Settings(coefficients={"peak_0": 0.3, "peak_1": 0.2}, bulldozing="none")
    assert evaluate(exomars, [load_soil("dry_sand")], given).soils[0].notes == ()


def test_wheels_that_sink_to_their_axles(exomars):
    quicksand = load_soil({"name": "lunar_nominal", "k_c": 0.0, "k_phi": 1e3})
    found = evaluate(exomars, [quicksand], Settings(slope=0.1)).soils[0]
    assert "the wheels sink to their axles" in found.notes
    assert (found.slope_limit, found.step.height, found.climbs) == (0.0, 0.0, False)
    assert math.isnan(found.pull_max)
    assert found.mean_maximum_pressure > 0
    assert (
        as_data([evaluate(exomars, [quicksand], Settings())])["rovers"][0]["soils"][0]["pull_max"]
        is None
    )


def test_soils_at_another_gravity_are_said_or_scaled(exomars):
    sand = load_soil("dry_sand")
    with pytest.warns(SoilRemark, match="9.81 m/s².*--gravity-scaling"):
        compare([exomars], [sand], Settings(gravity=1.62))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SoilRemark)
        warnings.simplefilter("ignore", StandsIn)
        scaled = compare([exomars], [sand], Settings(gravity=1.62, gravity_scaling="granular"))
        by_hand = compare([exomars], [at_gravity(sand, 1.62, "granular")], Settings(gravity=1.62))
    assert as_data(scaled)["rovers"][0]["soils"] == as_data(by_hand)["rovers"][0]["soils"]
    with pytest.raises(InputError, match="did you mean 'granular'"):
        Settings(gravity_scaling="granlar")  # type: ignore[arg-type]


def test_rovers_side_by_side_are_each_alone(exomars, rigid):
    settings = Settings(slope=0.1)
    both = compare([exomars, rigid], [LUNAR], settings)
    alone = evaluate(rigid, [LUNAR], settings)
    assert [r.rover for r in both] == ["exomars", "rigid"]
    assert both[1].soils[0].slope_limit == alone.soils[0].slope_limit
    data = json.loads(json.dumps(as_data(both), allow_nan=False))
    assert data["rovers"][1]["soils"][0]["pull_20"] == pytest.approx(alone.soils[0].pull_20)
    assert data["rovers"][1]["free"] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "wong_reese"}, "unknown wheel model 'wong_reese'; did you mean 'wong_reece'"),
        ({"bulldozing": "plough"}, "unknown formula 'plough'"),
        ({"gravity": 0}, "gravity = 0 m/s²: above 0"),
        ({"slope": 2.0}, "slope = 114.592°: from 0 to 60"),
        ({"speed": -1}, "speed = -1 m/s: above 0"),
        ({"rolling": 1.5}, "rolling = 1.5: from 0 to 1"),
        ({"deflection": 0}, "deflection = 0: above 0"),
    ],
)
def test_impossible_settings_are_refused(settings, said):
    with pytest.raises(InputError, match=said):
        Settings(**settings)


def test_unfit_robots_and_soils_are_refused(exomars):
    with pytest.raises(InputError, match="single_wheel_rig: a rover with three wheels or more"):
        evaluate(load_robot("single_wheel_rig"), [LUNAR], Settings())
    # a rover whose wheels say nothing of their tread is one with smooth metal wheels
    assert evaluate(load_robot("exomars_rt0448"), [LUNAR], Settings()).exits == (
        "rebound:0.333333",
    )
    with pytest.raises(InputError, match="custom soil has no exponent"):
        evaluate(
            exomars,
            [load_soil({"cohesion": 280, "friction_angle": 0.67, "k_c": 0, "k_phi": 1e6})],
            Settings(),
        )
    with pytest.raises(InputError, match="at least one soil"):
        evaluate(exomars, [], Settings())
