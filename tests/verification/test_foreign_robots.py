"""Robots as others write them, imported, settled and driven: they stand and move as they should."""

from __future__ import annotations

import math

import foreign_robots as foreign
import numpy as np
import pytest
import robot_files as files

from marsyard.errors import InputError
from marsyard.robot.importing import plan_import
from marsyard.robot.robot_folder import write_robot
from marsyard.scenario import validate
from marsyard.simulation import Simulation

G = 9.81


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Folder of each robot by name, imported when first asked for."""
    folder, found = tmp_path_factory.mktemp("foreign"), {}

    def get(name):
        if name not in found:
            (folder / name).mkdir()
            plan = plan_import(foreign.MAKERS[name](folder / name), repair=True)
            found[name] = str(write_robot(plan, folder / name / "out"))
        return found[name]

    return get


def world(robot, duration=0.1, ground=(), **parts):
    return Simulation(
        validate(
            {
                "robot": {"name": robot, "settle": True},
                "ground": [{"kind": "plane"}, *ground],
                "gravity": G,
                "interaction": {"friction": 0.7},
                "run": {"duration": duration, "step": "2 ms", "record_period": 0.1},
                **parts,
            }
        )
    )


def yaw(sim):
    return 2 * math.atan2(sim.qpos[6], sim.qpos[3])


@pytest.mark.parametrize(
    ("name", "height"),
    [
        # the base's origin over the lowest wheels: of the rover pivots, arms and wheels add up
        ("mars_rover", 0.05 + foreign.ROCKER_RISE + foreign.ROVER_RADIUS),
        ("rigid_rover", foreign.RIGID_RADIUS),
        ("crawler", 0.08 + foreign.CRAWLER_RADIUS),
        ("boat_rover", foreign.BOAT_RADIUS),
    ],
)
def test_they_drive_along_a_path(imported, name, height):
    commands = [{"path": [[0, 0], [0.25, 0]], "speed": 0.1}]
    sim = world(imported(name), 6.0, drive={"commands": commands})
    assert sim.qpos[2] == pytest.approx(height, abs=1e-4)
    assert np.abs(sim.qpos[4:7]).max() < 1e-4
    sim.run()
    assert sim.drive.finished and sim.time < 5
    assert sim.qpos[:2] == pytest.approx([0.25, 0], abs=0.03)
    assert sim.dataset().penetration.max() < 1e-6


_ARC = {"arc": {"radius": 1.5, "angle": "15 deg"}, "speed": 0.15}


@pytest.mark.parametrize(
    ("name", "command"),
    [("mars_rover", _ARC), ("boat_rover", _ARC), ("rigid_rover", {"turn": "15 deg"})],
)
def test_they_turn(imported, name, command):
    # by steering, and by skidding on the spot where nothing steers
    mode = "skid" if name == "rigid_rover" else "free"
    sim = world(imported(name), 12.0, drive={"mode": mode, "commands": [command]}).run()
    assert yaw(sim) == pytest.approx(math.radians(15), abs=0.1)


def test_a_rock_passes_under_the_rocker(imported):
    """Higher than the axles and lower than the bent arm: a box around the arm would stand on it."""
    rock = {"kind": "box", "centre": [0.1, 0.45, 0.1], "size": [0.1, 0.1, 0.2]}
    assert rock["size"][2] > foreign.ROVER_RADIUS
    sim = world(imported("mars_rover"), ground=[rock])
    height = 0.05 + foreign.ROCKER_RISE + foreign.ROVER_RADIUS
    assert sim.qpos[2] == pytest.approx(height, abs=1e-4)
    assert np.abs(sim.qpos[4:6]).max() < 1e-4


def test_an_omni_platform_moves_sideways(imported):
    """Hub k at the bearing β_k rolls along its tangent: rate_k = v·t_k/R, with free rollers."""
    speed, radius = 0.05, foreign.OMNI_RING + foreign.OMNI_ROLLER
    bearing = np.radians([0.0, 120.0, 240.0])
    heading = np.array([0.0, 1.0])  # straight to the left
    control = []
    for k, b in enumerate(bearing):
        # the hub's axle points outwards: it rolls to axle × up
        ahead = np.array([math.sin(b), -math.cos(b)])
        rate = speed * float(ahead @ heading) / radius
        control.append({"joints": f"hub_{k}_j", "speed": rate})
    sim = world(imported("omni_platform"), 1.5, control=control)
    start = sim.qpos[:3].copy()
    sim.run()
    way = sim.qpos[:2] - start[:2]
    assert way @ heading == pytest.approx(speed * 1.5, rel=0.12)
    assert abs(way[0]) < 0.2 * abs(way[1])
    assert abs(yaw(sim)) < 0.12
    # and on the spot, all hubs alike: R ω over the arm
    spin = world(imported("omni_platform"), 1.0, control=[{"joints": "drives", "speed": 1.0}]).run()
    assert abs(yaw(spin)) == pytest.approx(radius / foreign.OMNI_ARM, rel=0.12)


def test_a_drive_does_not_turn_rollers_of_omni_wheels(imported):
    with pytest.raises(InputError, match="turn hub_0_j, hub_1_j, hub_2_j, which are hubs"):
        world(imported("omni_platform"), drive={"commands": [{"rate": 1, "duration": 1}]})


def test_a_drive_leaves_wheels_without_motor_free(tmp_path):
    path = files.rocker_bogie(tmp_path)
    motors = "".join(
        f'<transmission name="{s}"><joint name="{e}_{s}_wheel_joint"/><actuator name="m"/>'
        "</transmission>"
        for e in ("front", "middle")
        for s in ("left", "right")
    )
    path.write_text(path.read_text().replace("</robot>", motors + "</robot>"))
    robot = str(write_robot(plan_import(path), tmp_path / "out"))
    sim = world(robot, 4.0, drive={"commands": [{"path": [[0, 0], [0.2, 0]], "speed": 0.1}]}).run()
    assert sim.drive.finished
    # the rear wheels roll along, and no motor turns them
    data = sim.dataset()
    assert np.abs(data.motor_torque.sel(joint="rear_left_wheel_joint")).max() == 0
    free, driven = (data.wheel_rate.sel(wheel=w).values[5:20] for w in ("RL", "FL"))
    assert driven.max() > 0.5
    np.testing.assert_allclose(free, driven, atol=0.02)
