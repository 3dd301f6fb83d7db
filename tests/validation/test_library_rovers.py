"""The rovers with rockers and a differential against their published figures and hand statics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from library_robots import build, independent_equations

from marsyard import library
from marsyard.analysis.statics import chassis_of
from marsyard.ground.soil import PROVENANCE
from marsyard.robot import load_robot
from marsyard.wheel_surface import MATERIALS

G = 3.72
#: mass [kg], wheel radius and width [m], x and y of the left wheels [m], velocities
ROVERS = {
    "curiosity_like": (
        899, 0.25, 0.40, {"F": (1.095, 1.063), "C": (-0.089, 1.194), "R": (-1.163, 1.063)}, 20,
    ),
    "sojourner": (10.6, 0.065, 0.08, {"F": (0.24, 0.2), "C": (0, 0.2), "R": (-0.24, 0.2)}, 20),
    "yutu2": (135, 0.15, 0.15, {"F": (0.5, 0.425), "C": (0, 0.425), "R": (-0.5, 0.425)}, 20),
    "eldorado2_like": (18, 0.10, 0.10, {"F": (0.25, 0.2), "R": (-0.25, 0.2)}, 16),
    "rashid_like": (10, 0.10, 0.08, {"F": (0.1525, 0.2295), "R": (-0.1525, 0.2295)}, 12),
}  # fmt: skip
SIX = [name for name, (*_, places, _n) in ROVERS.items() if len(places) == 3]


@pytest.fixture(params=ROVERS)
def rover(request):
    return build(request.param)


def test_mass_is_the_one_given(rover):
    robot, model, _ = rover
    mass = ROVERS[robot.name][0]
    assert model.body_subtreemass[0] == pytest.approx(mass, rel=1e-9)
    assert robot.numbers["mass"]["value"] == mass
    assert model.body("Chassis").mass[0] == pytest.approx(robot.numbers["chassis_mass"]["value"])
    keys = {"Wheel": "wheel_mass", "Steering": "steering_mass", "Rocker": "rocker_mass"}
    keys["Bogie"] = "bogie_mass"
    for body in range(2, model.nbody):
        name = model.body(body).name
        key = next(k for end, k in keys.items() if name.endswith(end))
        assert model.body(body).mass[0] == pytest.approx(robot.numbers[key]["value"]), name


def test_centre_of_mass_is_the_one_given(rover):
    robot, model, data = rover
    x, y, z = data.subtree_com[0]
    assert x == pytest.approx(robot.numbers["centre_of_mass_x"]["value"], abs=1e-5)
    assert y == pytest.approx(0, abs=1e-9)
    assert z == pytest.approx(robot.numbers["centre_of_mass_height"]["value"], abs=1e-5)


def test_wheels_stand_where_they_should(rover):
    robot, _, data = rover
    _, radius, width, places, _ = ROVERS[robot.name]
    assert set(robot.wheels) == {axle + side for axle in places for side in "LR"}
    for name, wheel in robot.wheels.items():
        x, y = places[name[0]]
        centre = data.body(wheel.body).xpos
        assert (wheel.radius, wheel.width) == (radius, width)
        assert centre == pytest.approx([x, y if name[1] == "L" else -y, radius], abs=1e-9), name
        assert wheel.surface.material in MATERIALS
        assert wheel.grousers.height == robot.numbers["grouser_height"]["value"]


def test_degrees_of_freedom(rover):
    robot, model, data = rover
    velocities = ROVERS[robot.name][-1]
    assert model.nv == velocities
    assert independent_equations(model, data) == 1
    roles = [joint for joints in robot.roles.values() for joint in joints]
    assert len(roles) == len(set(roles)) == velocities - 6
    # all turn about the axes they are named for
    for name in roles:
        axis = model.joint(name).axis
        assert axis == pytest.approx([0, 0, 1] if name.endswith("_z") else [0, 1, 0])


def test_the_differential_turns_the_rockers_against_each_other(rover):
    _, model, data = rover
    for left, right, open_by in ((0.2, -0.2, 0.0), (0.2, 0.2, 0.4), (-0.1, 0.3, 0.2)):
        data.joint("LRocker_y").qpos[0], data.joint("RRocker_y").qpos[0] = left, right
        mujoco.mj_forward(model, data)
        assert data.efc_pos[0] == pytest.approx(open_by, abs=1e-12)
    row = data.efc_J.reshape(-1, model.nv)[0]
    both = [model.joint(n).dofadr[0] for n in ("LRocker_y", "RRocker_y")]
    assert row[both[0]] == row[both[1]] != 0
    assert np.count_nonzero(row) == 2


def test_the_body_pitches_half_as_much_as_one_side(rover):
    """Left wheels on ground tilted by 0.1 about y, right ones level: the body is at 0.05."""
    robot, model, data = rover
    data.qpos[3:7] = np.cos(0.025), 0, np.sin(0.025), 0
    data.joint("LRocker_y").qpos[0], data.joint("RRocker_y").qpos[0] = 0.05, -0.05
    mujoco.mj_forward(model, data)
    assert data.efc_pos[0] == pytest.approx(0, abs=1e-12)
    tilt = {}
    for side in "LR":
        front = data.body(f"F{side}Wheel").xpos
        rear = data.body(f"R{side}Wheel").xpos
        tilt[side] = np.arctan2(rear[2] - front[2], front[0] - rear[0])
    assert tilt == pytest.approx({"L": 0.1, "R": 0.0}, abs=1e-9)


@pytest.mark.parametrize("degrees", [0, 12])
@pytest.mark.parametrize("name", SIX)
def test_loads_by_levers(name, degrees):
    """Balance of the rover and of a bogie about its pivot, written down by hand.

    All contact forces are vertical, so only horizontal distances count, on a slope measured along
    e = (cos θ, 0, −sin θ) of the ground's frame.
    """
    robot = load_robot(name)
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    slope = np.radians(degrees)
    e = np.array([np.cos(slope), 0, -np.sin(slope)])
    weight = ROVERS[name][0] * G
    radius = ROVERS[name][1]
    axles = list(ROVERS[name][3])
    feet = {a: e @ (data.body(f"{a}LWheel").xpos - [0, 0, radius]) for a in axles}
    pivot = e @ data.body("LBogie").xpos
    bogie = model.body("LBogie").id
    own = model.body_subtreemass[bogie] * G * (e @ data.subtree_com[bogie] - pivot)
    # the bogie carries the two wheels whose bodies hang below it
    carried = [a for a in axles if _below(model, f"{a}LWheel", bogie)]
    assert len(carried) == 2
    levers = [feet[a] - pivot if a in carried else 0.0 for a in axles]
    matrix = [[1] * 3, [feet[a] for a in axles], levers]
    right = [weight / 2, weight / 2 * (e @ data.subtree_com[0]), own]
    vertical = np.linalg.solve(matrix, right)
    expected = dict(zip(axles, vertical * np.cos(slope), strict=True))
    chassis = chassis_of(robot)
    assert chassis.free == 0
    for wheel, load in zip(chassis.names, chassis.loads(slope, G), strict=True):
        assert load == pytest.approx(expected[wheel[0]], rel=1e-6), wheel
    if degrees == 0:
        assert all(0.25 < 2 * load / weight < 0.42 for load in expected.values())


def _below(model, name, body):
    k = model.body(name).id
    while k > 0 and k != body:
        k = model.body_parentid[k]
    return k == body


@pytest.mark.parametrize("name", library.names("rovers"))
def test_every_number_says_where_it_comes_from(name):
    data = library.read_yaml(library.path_of("rovers", name))
    # what is assumed throughout has no source
    assumed = all(e["provenance"] == "assumed" for e in data["numbers"].values())
    assert data.get("sources") or assumed
    for key, entry in data["numbers"].items():
        assert entry["provenance"] in PROVENANCE, key
        assert len(entry["source"]) > 5, key
        assert "value" in entry, key


@pytest.mark.parametrize("name", ROVERS)
def test_show_tells_the_rover(name):
    from typer.testing import CliRunner

    from marsyard.cli import app

    done = CliRunner().invoke(app, ["show", name])
    assert done.exit_code == 0, done.output
    assert "[assumed]" in done.output
    assert ("grit, exit angle 0" if name == "eldorado2_like" else "surface metal") in done.output
    assert "LRocker_y" in done.output
