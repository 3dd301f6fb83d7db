"""The legged, hybrid and articulated robots: masses, degrees of freedom, standing pose, loops."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from library_robots import build, independent_equations

from marsyard.robot import load_robot
from marsyard.scenario import validate
from marsyard.simulation import Simulation

#: mass [kg], velocities, independent equations of its loops, joints of each role
ROBOTS = {
    "hexapod": (8.0, 24, 0, {"legs": 18}),
    "marsokhod_like": (72.0, 17, 0, {"drives": 6, "frame": 2, "passive": 3}),
    "hylos_like": (12.0, 22, 0, {"drives": 4, "steering": 4, "legs": 8}),
    "vehicle_2001": (12.0, 10, 0, {"drives": 4}),
    "roburoc": (160.0, 16, 0, {"drives": 6, "passive": 4}),
    "leg_2001": (6.85, 7, 4, {"legs": 2, "passive": 4, "guide": 1}),
}


@pytest.fixture(params=ROBOTS)
def built(request):
    return build(request.param)


def test_mass_and_degrees_of_freedom(built):
    robot, model, data = built
    mass, velocities, closed, roles = ROBOTS[robot.name]
    assert model.body_subtreemass[0] == pytest.approx(mass, rel=1e-9)
    assert robot.numbers["mass"]["value"] == mass
    assert model.nv == velocities
    assert independent_equations(model, data) == closed
    assert {role: len(joints) for role, joints in robot.roles.items()} == roles
    named = [joint for joints in robot.roles.values() for joint in joints]
    free = 6 if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE else 0
    assert len(named) == len(set(named)) == velocities - free


def test_all_joints_at_zero_is_standing(built):
    robot, model, data = built
    for foot in robot.feet.values():
        centre, radius = data.body(foot.body).xpos, model.geom(foot.body).size[0]
        assert centre[2] == pytest.approx(radius, abs=1e-9)
    for wheel in robot.wheels.values():
        largest = wheel.radius + abs(wheel.taper) * wheel.width / 2
        assert data.body(wheel.body).xpos[2] == pytest.approx(largest, abs=1e-9)
    if robot.name != "leg_2001":
        names = {*robot.feet, *robot.wheels}
        assert {n[:-1] + "R" for n in names if n.endswith("L")} == {
            n for n in names if n.endswith("R")
        }
        assert data.subtree_com[0][1] == pytest.approx(0, abs=1e-12)


def test_cones_are_thick_outside():
    for name, wheel in load_robot("marsokhod_like").wheels.items():
        assert np.sign(wheel.taper) == (1 if name.endswith("L") else -1)


def test_the_pantograph_magnifies():
    """F = Q/s − A (1 − s)/s: three times the lift downwards, four times the reach."""
    model = load_robot("leg_2001").spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, jacobian, None, model.body("Foot").id)
    rows = data.efc_J.reshape(-1, model.nv)[: data.ne]
    _, sizes, motions = np.linalg.svd(rows)
    free = motions[np.sum(sizes > 1e-9) :]
    speed = {name: free[:, model.joint(name).dofadr[0]] for name in ("guide", "Lift_z", "Reach_x")}
    foot = jacobian @ free.T
    assert foot[0] == pytest.approx(4 * speed["Reach_x"], abs=1e-4)
    assert foot[2] == pytest.approx(speed["guide"] - 3 * speed["Lift_z"], abs=1e-4)


@pytest.mark.parametrize("height", [-0.5, 3.0])
def test_settles_from_far_above_and_below(height):
    # feet are found by MuJoCo's shapes, which otherwise look only a few centimetres ahead
    scenario = validate(
        {
            "robot": {"name": "hexapod", "settle": True, "position": [0.0, 0.0, height]},
            "ground": [{"kind": "plane"}],
            "run": {"duration": 1.0},
        }
    )
    sim = Simulation(scenario)
    robot = load_robot("hexapod")
    feet = [sim.data.body(foot.body).xpos[2] for foot in robot.feet.values()]
    radius = sim.model.geom("FLFoot").size[0]
    assert feet == pytest.approx([radius] * 6, abs=1e-5)
