"""Parts of a validation without a run: zones, winding, clearance, limits, judgement and more."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

from marsyard.errors import InputError
from marsyard.executors import Workers
from marsyard.ground import Box, Plane, Sphere, TriangleMesh
from marsyard.operations.distributions import uncertain_of
from marsyard.operations.validation.base import base_scenario
from marsyard.operations.validation.clearance import belly_points, clearance, height_of
from marsyard.operations.validation.data import dataset
from marsyard.operations.validation.judgement import judge_runs
from marsyard.operations.validation.limits import Limit, limits_of
from marsyard.operations.validation.members import BINS, Outcome, Plan
from marsyard.operations.validation.quantities import (
    line_distance,
    smoothed_slip,
    without_set_down,
)
from marsyard.operations.validation.uncertainty import Scatter
from marsyard.operations.validation.winding import Winding, temperature_rise
from marsyard.operations.validation.zones import Zone, footprints
from marsyard.operations.verdict import Policy, chance
from marsyard.scenario import validate
from marsyard.scenario.drive import WaitCommand

# --- zones


def test_distance_from_a_circle():
    zone = Zone(circle={"centre": (3, 0), "radius": 1})
    square = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    shifts = np.array([[0, 0], [0, 3], [1.5, 0], [3, 0]], dtype=float)
    found = zone.distance(square + shifts[:, None])
    # beside, across a corner, touching, with the centre within the footprint
    expected = [1.5, math.hypot(2.5, 2.5) - 1, 0.0, -1.5]
    assert found == pytest.approx(expected)


def test_distance_from_a_polygon_against_many_points():
    """Brute force: both outlines as thousands of points."""
    zone = Zone(polygon=[(2, 0), (4, 1), (3, 3), (2.5, 1)])
    foot = np.array([[0.0, 0.0], [1.0, 0.2], [0.8, 1.0], [-0.1, 0.9]])

    def many(corners):
        ends = np.roll(corners, -1, axis=0)
        t = np.linspace(0, 1, 400)[:, None, None]
        return (corners * (1 - t) + ends * t).reshape(-1, 2)

    apart = np.linalg.norm(many(foot)[:, None] - many(np.array(zone.polygon))[None], axis=-1).min()
    assert zone.distance(foot[None])[0] == pytest.approx(apart, abs=5e-3)
    # a corner 0.25 m within, and edges that cross without a corner in either
    assert zone.distance(foot[None] + [1.75, 0.1])[0] < 0
    bar = np.array([[-9, 1.4], [9, 1.4], [9, 1.6], [-9, 1.6]])
    assert zone.distance(bar[None])[0] <= 0.0


def test_a_path_crosses_a_zone_when_it_should():
    """A footprint of 1 m moves along x at y = 1: a circle of radius 0.3 at (2, 0.2)."""
    x = np.linspace(0, 4, 401)
    base = np.column_stack([x, np.ones_like(x)])
    wheels = base[:, None] + np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]])
    zone = Zone(circle={"centre": (2, 0.2), "radius": 0.31})
    d = zone.distance(footprints(base, wheels))
    assert zone.distance(footprints(base, wheels), 0.15) == pytest.approx(d - 0.15)
    # the nearer side passes 0.3 m beside the centre, as long as the rover is above it
    inside = x[d < 0]
    assert d.min() == pytest.approx(-0.01)
    assert inside.min() == pytest.approx(1.5 - math.sqrt(0.31**2 - 0.3**2), abs=0.011)


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ({"polygon": [[0, 0], [1, 1]]}, "holds 2; at least 3 needed"),
        ({"polygon": [[0, 0], [1, 1], [2, 2]]}, "enclose no area"),
        ({"circle": {"centre": [0, 0], "radius": -1}}, "must be above 0"),
        ({"name": "nothing"}, "give either a circle or a polygon"),
    ],
)
def test_wrong_zones_are_one_sentence(zone, said):
    with pytest.raises(InputError, match=said):
        limits_of({"limits": {"keep_out": [zone]}})


# --- winding


def test_winding_against_the_closed_form():
    w = Winding(thermal_resistance=20, heat_capacity=10)
    time = np.linspace(0, 600, 61)
    current = np.full((61, 1), 2.0)
    exact = 20 * 1.5 * 4 * (1 - np.exp(-time / 200))
    assert temperature_rise(time, current, np.array([1.5]), w)[:, 0] == pytest.approx(exact)


def test_winding_against_an_integrator():
    w = Winding(thermal_resistance="8 K/W", heat_capacity="5 J/K")
    time = np.linspace(0, 100, 1001)
    current = 1.5 + np.sin(0.2 * time)
    found = temperature_rise(time, current[:, None], np.array([2.0]), w)[-1, 0]

    def rate(t, y):
        return (2.0 * (1.5 + np.sin(0.2 * t)) ** 2 - y / 8) / 5

    exact = solve_ivp(rate, (0, 100), [0.0], rtol=1e-9, atol=1e-9).y[0, -1]
    assert found == pytest.approx(exact, rel=1e-4)


# --- clearance

BOX = """<mujoco><worldbody><body name="B" pos="1 2 3" quat="0.9 0.1 0.2 0.3"><freejoint/>
  <geom type="box" size=".25 .15 .1"/><geom type="box" size=".6 .6 .02" pos="0 0 .4"/>
  <body name="fixed" pos="0 .1 -.12"><geom type="sphere" size=".03"/></body>
  <body name="wheel" pos=".3 .3 -.3"><joint type="hinge" axis="0 1 0"/>
    <geom type="sphere" size=".1"/></body>
</body></worldbody></mujoco>"""
ROBOT = SimpleNamespace(base="B", wheels={}, feet={})


def level(position, pitch=0.0):
    return np.array([position]), np.array([[math.cos(pitch / 2), 0, math.sin(pitch / 2), 0]])


@pytest.fixture(scope="module")
def belly():
    return belly_points(mujoco.MjModel.from_xml_string(BOX), ROBOT)


def test_the_underside_is_that_of_the_base_alone(belly):
    # the fixed ball hangs 5 cm below the box; the deck above and the wheel do not count
    assert belly[:, 2].min() == pytest.approx(-0.15, abs=1e-3)
    assert np.abs(belly[:, 0]).max() == pytest.approx(0.25, abs=1e-4)
    assert belly[:, 2].max() <= -0.1 + 1e-9


def test_clearance_above_a_plane(belly):
    ground = height_of([Plane.horizontal(0.2)], None, (-9, 9, -9, 9))
    assert clearance(belly, *level([0, 0, 1.0]), ground)[0] == pytest.approx(0.65, abs=1e-3)
    # nose down by 30°: the front edge of the box, at x = 0.25, z = −0.1
    tilted = clearance(belly, *level([0, 0, 1.0], math.radians(30)), ground)[0]
    edge = 1.0 - 0.25 * math.sin(math.radians(30)) - 0.1 * math.cos(math.radians(30)) - 0.2
    assert tilted == pytest.approx(edge, abs=1e-5)
    # above a slope of 10° that rises ahead, level: the front edge again
    slope = height_of([Plane.slope(math.radians(10))], None, (-9, 9, -9, 9))
    low = clearance(belly, *level([0, 0, 1.0]), slope)[0]
    assert low == pytest.approx(min(0.9 - 0.25 * math.tan(math.radians(10)), 0.85), abs=2e-3)


def test_clearance_above_bumps(belly):
    plane = Plane.horizontal(0.0)
    ball = Sphere((0.1, -0.05, 0.0), 0.3)
    ground = height_of([plane, ball], None, (-9, 9, -9, 9))
    assert clearance(belly, *level([0, 0, 0.5]), ground)[0] == pytest.approx(0.1, abs=2e-4)
    # far from it only the plane is left
    assert clearance(belly, *level([5, 0, 0.5]), ground)[0] == pytest.approx(0.35, abs=1e-3)
    box = Box((0.1, 0.0, 0.0), (0.05, 2.0, 0.12))
    ground = height_of([plane, box], None, (-9, 9, -9, 9))
    assert clearance(belly, *level([0, 0, 0.5]), ground)[0] == pytest.approx(0.28, abs=1e-6)


def test_a_mesh_of_many_triangles_is_as_high_as_its_surface():
    x = np.linspace(-1, 1, 21)
    X, Y = np.meshgrid(x, x, indexing="ij")
    points = np.stack([X, Y, 0.2 * X + 0.1 * np.cos(3 * Y)], axis=-1)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    corners = np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([a, c, d], 2).reshape(-1, 3, 3)]
    )
    height = height_of([TriangleMesh.from_triangles(corners)], None, (-0.5, 0.5, -0.5, 0.5))
    at = np.random.default_rng(1).uniform(-0.45, 0.45, (300, 2))
    exact = 0.2 * at[:, 0] + 0.1 * np.cos(3 * at[:, 1])
    # the highest of samples 1 cm apart in a cell of 2 cm, on facets of 10 cm
    above = height(*at.T) - exact
    assert above.min() > -4e-3 and above.max() < 0.02 * math.hypot(0.2, 0.3) + 2e-3


# --- slip and paths


def test_slip_of_a_steady_wheel():
    time = np.arange(0, 10, 0.1)
    rim, along = np.full((100, 2), 0.05), np.array([[0.04, 0.05]]) * np.ones((100, 1))
    found = smoothed_slip(time, rim, along)
    assert found[-1] == pytest.approx([0.2, 0.0])
    # one that stands has none
    assert smoothed_slip(time, rim * 0.01, along * 0.0).max() == 0.0


def test_what_the_set_down_left_between_wheels_counts_as_their_mean_until_they_rolled():
    # two wheels that push against each other, of which one never rolls its diameter
    torque = np.array([[9.0, -8.0], [9.0, -8.0], [6.0, -2.0], [3.0, 1.0], [3.0, 1.0]])
    angle = np.array([[0.5, 0.0], [0.5, 0.0], [1.9, -1.0], [2.5, -1.9], [2.4, -1.0]])
    found = without_set_down(torque, angle)
    assert found[:3] == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5], [2.0, 2.0]]))
    # one that has rolled stays so, backwards or not; what the rover needs as a whole is kept
    assert found[3:] == pytest.approx(np.array([[3.0, 2.0], [3.0, 2.0]]))
    stalled = np.full((3, 2), 7.0)
    assert without_set_down(stalled, np.zeros((3, 2))) == pytest.approx(stalled)


def test_distance_from_a_line():
    line = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    points = np.array([[1.0, 0.3], [2.4, 1.0], [-3.0, -4.0], [1.0, 1.0]])
    assert line_distance(points, line) == pytest.approx([0.3, 0.4, 5.0, 1.0])
    assert line_distance(points[:1], line[:1]) == pytest.approx([math.hypot(1, 0.3)])


# --- files


def test_limits_are_read_with_units_and_off():
    limits = limits_of({"limits": {"tilt": "20 deg", "energy": "2 Wh", "slip": False}})
    assert limits.limits.tilt == pytest.approx(math.radians(20))
    assert limits.limits.energy == 7200.0
    assert limits.limits.slip is None and "slip" in limits.limits.model_fields_set


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"limits": {"tlit": 1}}, "limits.tlit: unknown key 'tlit'.*did you mean 'tilt'"),
        ({"limits": {"tilt": "-3 deg"}}, "limits.tilt = .*must be above 0"),
        ({"limits": {"tilt": None}}, "limits.tilt: has no value; give one, or off"),
        ({"limits": {"slip": 1.5}}, "must be below 1"),
        ({"limits": {"time": "3 m"}}, "unit of length"),
        ({"policy": {"accepted": 0.5, "refused": 0.1}}, "policy: accepted, refused.*must increase"),
    ],
)
def test_wrong_limits_are_one_sentence(data, said):
    with pytest.raises(InputError, match=said) as error:
        limits_of(data)
    assert "\n" not in str(error.value)


# --- uncertainty


@pytest.fixture(scope="module")
def soft():
    return base_scenario("exomars", "fractal_mild:dry_sand")


def test_default_uncertainty_of_soft_ground(soft):
    scatter = Scatter(soft, None, 5)
    own = scatter.nominal.ground[0].soil
    samples = scatter.samples(200)
    assert scatter.samples(200) == samples
    made = [scatter.scenario(s) for s in samples]
    x = [m.robot.position[0] for m in made]
    assert np.mean(x) == pytest.approx(0, abs=2e-3) and np.std(x) == pytest.approx(0.05, rel=0.03)
    # moduli scatter by one factor, of the spread that is said
    factors = np.array([m.ground[0].soil["k_c"] for m in made]) / own["k_c"]
    assert np.std(np.log(factors)) == pytest.approx(math.log(1.3), rel=0.05)
    phi = np.array([m.ground[0].soil["k_phi"] for m in made]) / own["k_phi"]
    assert phi == pytest.approx(factors)
    # the nominal ground is as it was, the others are rougher
    layers = [m.ground[0].terrain.layers for m in made]
    assert scatter.nominal.ground[0].terrain.layers[-1].roughness == 0.0
    assert {0.0 < row[-1].roughness < 0.02 for row in layers} == {True}
    assert len({row[-1].seed for row in layers}) == 200


def test_own_uncertainty_reaches_named_soils_and_terrains(soft):
    u = uncertain_of(
        {
            "uncertain": {
                "ground.0.soil.friction_angle": "times uniform(0.5, 0.6)",
                "ground.0.terrain.layers.0.roughness": "times uniform(2, 3)",
            }
        }
    )
    made = Scatter(soft, u, None)
    sample = made.samples(1)[0]
    phi = made.nominal.ground[0].soil["friction_angle"]
    assert 0.5 * phi <= made.scenario(sample).ground[0].soil["friction_angle"] <= 0.6 * phi
    assert 0.06 <= made.scenario(sample).ground[0].terrain.layers[0].roughness <= 0.09


@pytest.fixture
def patched():
    """Sand with a soft patch of its own, one of the library, and one of the same sand."""
    circle = {"kind": "circle", "radius": 0.5}
    place = [
        {**circle, "soil": name, "centre": [k, 1.0]}
        for k, name in enumerate(("soft", "lete_sand", "dry_sand"))
    ]
    ground = {
        "kind": "terrain", "terrain": {"places": place}, "soil": "dry_sand",
        "soils": {"soft": {"name": "dry_sand", "k_phi": "90 kN/m^(n+2)"}},
    }  # fmt: skip
    data = base_scenario("exomars", "flat:dry_sand").model_dump(mode="json")
    return validate({**data, "ground": [ground]}, "patched")


def _laid(scenario):
    """The soils at the three patches and beside them, as the engine takes them."""
    from marsyard.interaction.soft_ground import soils_of, terrain_of

    terrain = terrain_of(scenario.ground[0])
    soils = soils_of(scenario.ground[0], terrain)
    at = terrain.soil(np.array([0.0, 1.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0, -3.0]))
    return [soils[k] for k in at]


def test_soils_by_place_scatter_too(patched):
    scatter = Scatter(patched, None, 5)
    own = _laid(patched)
    assert [s.k_phi for s in _laid(scatter.nominal)] == [s.k_phi for s in own]
    made = [_laid(scatter.scenario(s)) for s in scatter.samples(8)]
    for number, spread in (("k_phi", 1.3), ("k_c", 1.3), ("friction_angle", 1.1)):
        of = np.array([[getattr(s, number) for s in row] for row in made])
        ratio = np.log(of / [getattr(s, number) for s in own])
        assert np.std(ratio, axis=0) == pytest.approx(math.log(spread), rel=0.35)
        # the same sand in another place is as it is around; the others have draws of their own
        assert ratio[:, 2] == pytest.approx(ratio[:, 3])
        assert np.abs(np.corrcoef(ratio[:, [0, 1, 3]].T) - np.eye(3)).max() < 0.99


def test_the_covariance_of_a_soil_goes_before_what_is_assumed(patched, tmp_path):
    file = tmp_path / "known.yaml"
    file.write_text(
        "numbers: {exponent: 1, k_c: 100, k_phi: 1.0e+6, cohesion: 200, friction_angle: 30 deg,\n"
        "  shear_modulus: 1 cm, density: 1500}\n"
        "extra: {c_P1: 0.2}\n"
        "covariance:\n"
        "  numbers: {friction_angle: {sd: 1 deg}, k_phi: {sd: 0.2, scale: log}, c_P1: {sd: 0.1}}\n"
        "  correlation: [[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]\n"
    )
    ground = patched.ground[0].model_dump(mode="json", exclude_defaults=True)
    ground["terrain"]["places"][2]["soil"] = ground["soil"] = str(file)
    data = {**patched.model_dump(mode="json"), "ground": [{**ground, "kind": "terrain"}]}
    scatter = Scatter(validate(data, "known"), None, 5)
    made = [_laid(scatter.scenario(s)) for s in scatter.samples(200)]
    phi = np.array([[s.friction_angle for s in row] for row in made])
    k = np.log([[s.k_phi for s in row] for row in made])
    extra = np.array([row[3].extra["c_P1"] for row in made])
    assert np.std(phi[:, 3]) == pytest.approx(math.radians(1), rel=0.1)
    assert np.std(k[:, 3]) == pytest.approx(0.2, rel=0.1)
    assert np.corrcoef(phi[:, 3], k[:, 3])[0, 1] == pytest.approx(0.9, abs=0.05)
    assert np.std(extra) == pytest.approx(0.1, rel=0.1)
    # the same soil in another place is as it is around; the others have draws of their own
    assert phi[:, 2] == pytest.approx(phi[:, 3]) and k[:, 2] == pytest.approx(k[:, 3])
    assert abs(np.corrcoef(phi[:, 0], phi[:, 3])[0, 1]) < 0.3
    # what the file says nothing of scatters as usual
    cohesion = np.log([row[3].cohesion for row in made])
    assert np.std(cohesion) == pytest.approx(math.log(1.5), rel=0.1)


def test_own_uncertainty_reaches_soils_by_place_and_numbers_with_units(patched):
    paths = {"ground.0.soils.soft.k_phi": 9e4, "ground.0.soils.soft.friction_angle": None}
    u = uncertain_of({"uncertain": {p: "times uniform(0.5, 0.6)" for p in paths}})
    scatter = Scatter(patched, u, None)
    soft = _laid(scatter.scenario(scatter.samples(1)[0]))[0]
    assert 0.5 * 9e4 <= soft.k_phi <= 0.6 * 9e4
    assert 0.5 <= soft.friction_angle / _laid(patched)[0].friction_angle <= 0.6


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("robot.positon.0", "no 'positon' in robot; did you mean 'position'"),
        ("ground.0.soil.friction", "no such number; did you mean"),
        ("ground.3.spacing", "'3' is not an index"),
        ("robot.position", "is a group"),
        ("gravity.x", "holds a value"),
    ],
)
def test_paths_that_do_not_exist_are_one_sentence(soft, path, said):
    with pytest.raises(InputError, match=said):
        Scatter(soft, uncertain_of({"uncertain": {path: "normal(0, 1)"}}), None)


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("robot.position.0", "plus normal(0, 4 kg)", "position.0: 'kg' in .* is a unit of mass"),
        ("robot.attitude.2", "normal(0, 2 cm)", "attitude.2: 'cm' in .* is a unit of length"),
        ("ground.0.soil.friction_angle", "normal(30 cm, 1 cm)", "friction_angle: .*'cm'.*length"),
        ("ground.0.soil", "covariance", "ground.0.soil: the soil dry_sand has no covariance"),
        ("ground.0.spacing", "covariance", "covariance is for the soil of a terrain"),
        ("ground.2.soil", "covariance", "covariance is for the soil of a terrain"),
    ],
)
def test_what_cannot_be_drawn_there_is_one_sentence(soft, path, text, said):
    with pytest.raises(InputError, match=said) as error:
        Scatter(soft, uncertain_of({"uncertain": {path: text}}), None)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("robot", "ground", "said"),
    [
        ("exomras", "plane", "exomras.*did you mean 'exomars'"),
        ("exomars", "fractal_midl", "did you mean 'fractal_mild'"),
        ("exomars", "flat:dry_snad", "did you mean 'dry_sand'"),
    ],
)
def test_wrong_robots_and_grounds_are_one_sentence(robot, ground, said):
    with pytest.raises(InputError, match=said):
        base_scenario(robot, ground)


# --- judgement

LIMITS = (Limit("tilt", "tilt", 0.4, "°", math.pi / 180), Limit("slip", "slip", 0.5))
PLAN = Plan(LIMITS, Winding(), {}, 1.0)
COMMANDS = (WaitCommand(wait=1, note="first"), WaitCommand(wait=1), WaitCommand(wait=1))


def outcome(number, tilt=(0.1, 0.1, 0.1), slip=(0.1, 0.1, 0.1), how=("reached",) * 3, note=None):
    value = np.array([tilt, slip], dtype=float)
    value[:, [h == "not begun" for h in how]] = np.nan
    place = np.where(np.isnan(value), np.nan, [[1.0, 2.0, 3.0]] * 2)
    end = np.array([number, number**2 % 7, 0.0])
    return Outcome(
        number, 3.0, 0.1, "", 0, end, np.array([0.0, 1, 2]), np.array([1.0, 2, 3]), how,
        note or ("",) * 3, value, place, place, place, np.full((2, BINS), 0.1),
        np.full((BINS, 2), 0.0),
    )  # fmt: skip


def judged(outcomes, policy=None):
    ds = dataset(outcomes, [{} for _ in outcomes], PLAN, COMMANDS, {})
    return judge_runs(ds, policy or Policy())


def test_a_limit_is_blamed_on_its_command():
    """30 of 100 runs slip in the second command, and nothing else happens."""
    runs = [outcome(0)] + [
        outcome(k, slip=(0.1, 0.6 if k <= 30 else 0.2, 0.1)) for k in range(1, 101)
    ]
    j = judged(runs)
    assert [c.verdict for c in j.commands] == ["go", "no-go", "go"]
    found = j.commands[1].limits["slip"]
    assert found.chance == chance(30, 100) and j.commands[1].deciding == "slip"
    assert found.spot.margin == pytest.approx(-0.2) and found.spot.time == 2.0
    assert j.limits["slip"].verdict == "no-go" and j.limits["tilt"].verdict == "go"
    assert j.verdict == "no-go" and "slip at most 0.5" in j.why and "30 of 100" in j.why
    assert j.any.chance == chance(30, 100) and j.worst_run == 1


def test_go_caution_and_too_few_runs():
    assert judged([outcome(k) for k in range(101)]).verdict == "go"
    few = judged([outcome(k) for k in range(11)])
    assert few.verdict == "caution" and "36 runs would show enough" in few.why
    one = judged([outcome(k, tilt=(0.1, 0.1, 0.5 if k in (3, 4, 5) else 0.1)) for k in range(101)])
    assert one.verdict == "caution" and [c.verdict for c in one.commands] == ["go", "go", "caution"]


def test_the_nominal_run_must_keep_every_limit():
    j = judged([outcome(k, tilt=(0.5 if k == 0 else 0.1, 0.1, 0.1)) for k in range(101)])
    assert j.verdict == "no-go" and j.any.chance.broken == 0
    # it is none of the samples
    assert "violated in 0 of 100, 0 % (0 to 3.6 %), and in the nominal run" in j.why


def test_commands_that_fail_and_those_never_begun():
    failed = {
        "how": ("reached", "aborted", "not begun"),
        "note": ("", "aborted: tilt > 20 deg", ""),
    }
    j = judged([outcome(0)] + [outcome(k, **(failed if k <= 40 else {})) for k in range(1, 101)])
    assert j.commands[1].limits["completion"].chance == chance(40, 100)
    # the third counts only where it was begun
    assert j.commands[2].any.chance == chance(0, 60) and j.commands[2].verdict == "go"
    assert "not carried out (mostly: aborted)" in j.why
    every = judged([outcome(k, **failed) for k in range(51)])
    assert every.commands[2].verdict == "no-go" and every.commands[2].any.chance is None


def test_nothing_to_judge_by_is_no_go():
    j = judged([outcome(0)])
    assert j.verdict == "no-go" and "nothing to evaluate" in j.why and j.ellipse is None


def test_the_map_shows_what_is_beside_the_rover():
    from marsyard.operations.validation.report.figures import _box

    track = xr.DataArray([[[0.0, 0.0], [0.5, 0.0]]], dims=("run", "span", "axis"))
    found = SimpleNamespace(
        data=SimpleNamespace(track=track), judgement=SimpleNamespace(ellipse=None), limits=()
    )
    x0, x1, y0, y1 = _box(found)
    # half the width of a large rover, and a wheel beside it
    assert x0 <= -1 and x1 >= 1.5 and y0 <= -1 and y1 >= 1


def test_data_are_saved_and_judged_again(tmp_path):
    from marsyard.results import save

    runs = [outcome(k, slip=(0.1, 0.1, 0.1 + 0.005 * k)) for k in range(101)]
    ds = dataset(runs, [{}, *({"a": 1.0, "b": "word"} for _ in range(100))], PLAN, COMMANDS, {})
    save(ds, tmp_path / "validation.nc")
    again = xr.load_dataset(tmp_path / "validation.nc", engine="h5netcdf")
    assert judge_runs(again, Policy()) == judge_runs(ds, Policy())
    assert str(again.sample_word.values[5, 1]) == "word"


# --- stopping


class Count:
    """A task that only counts."""

    def __init__(self, number):
        self.number = number

    def work(self, tell):
        tell(1.0)
        return SimpleNamespace(simulated=1.0, number=self.number)


def test_stopped_workers_give_what_they_have():
    done = []
    with Workers(1, 5) as workers:
        found = workers.run(
            [Count(k) for k in range(5)], lambda t: None, lambda k, o: done.append(k),
            lambda: len(done) >= 2,
        )  # fmt: skip
    assert done == [0, 1]
    assert [o is None for o in found] == [False, False, True, True, True]


def test_a_failed_run_is_not_begun_later():
    o = outcome(1, how=("timed out", "not begun", "not begun"), note=("timed out", "", ""))
    assert o.carried_out == pytest.approx([0.0, np.nan, np.nan], nan_ok=True)
    timed_out = replace(o, outcome=("timed out", "reached", "reached"))
    assert timed_out.carried_out == pytest.approx([0.0, 1.0, 1.0])


def test_processes_that_begin_meanwhile_are_deaf_to_ctrl_c():
    import signal
    import subprocess
    import sys

    from marsyard.executors import block_sigint

    asks = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with block_sigint():
        said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True)
    assert said.stdout.strip() == "True"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
