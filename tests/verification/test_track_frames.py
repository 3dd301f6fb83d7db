"""Tracks that share a body with the chassis, and sprockets that cannot drive a belt."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.robot import load_robot
from marsyard.scenario import validate
from marsyard.simulation import Simulation

MODEL = """<mujoco>
  <worldbody>
    <body name="Chassis" pos="0 0 0.3">
      <freejoint/>
      <geom name="box" type="box" size="0.2 0.1 0.1" mass="20"/>
      <body name="LeftSprocket" pos="-0.3 0.25 0">
        <joint name="left" type="{kind}" axis="{axis}"/>
        <geom type="sphere" size="0.05" mass="1" contype="0" conaffinity="0"/>
      </body>
      <body name="RightSprocket" pos="-0.3 -0.25 0">
        <joint name="right" axis="0 1 0"/>
        <geom type="sphere" size="0.05" mass="1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
TRACK = """
  {key}: {{body: {frame}, joint: {joint}, y: {y}, width: 0.1,
      sprocket: {{x: -0.3, z: 0, radius: 0.07}}, idler: {{x: 0.3, z: 0, radius: 0.07}},
      road_wheels: [{{x: 0, z: 0, radius: 0.07}}]}}"""


def robot(folder, kind="hinge", axis="0 1 0", frame="Chassis"):
    """A robot whose two belts run around its box."""
    (folder / "robot.xml").write_text(MODEL.format(kind=kind, axis=axis))
    left = TRACK.format(key="L", joint="left", y=0.25, frame=frame)
    right = TRACK.format(key="R", joint="right", y=-0.25, frame="Chassis")
    (folder / "robot.yaml").write_text(f"model: robot.xml\nbase: Chassis\ntracks:{left}{right}\n")
    return str(folder / "robot.yaml")


def simulation(name, ground, control=(), **run):
    return Simulation(
        validate(
            {
                "robot": {"name": name, "position": [0, 0, 0.3]},
                "ground": list(ground),
                "gravity": 9.81,
                "control": list(control),
                "run": {"duration": 0.5, "record_period": 0.02, **run},
            }
        )
    )


def test_what_the_belly_rests_on_is_no_force_on_a_track(tmp_path):
    # belts end 7 cm below the middle of the chassis, its box 10 cm: the belly carries all
    block = {"kind": "box", "centre": [0, 0, 0.1], "size": [1, 1, 0.2]}
    ds = simulation(robot(tmp_path), [block]).run().dataset()
    weight = ds.attrs["weight"]
    assert ds.impulse_other.values[-1, 2] / 0.02 == pytest.approx(weight, rel=1e-6)
    assert np.abs(ds.track_force.values).max() < 1e-9


def test_slip_of_a_belt_counts_beside_it(tmp_path):
    # it turns on the spot, and each belt runs as fast as its side of the frame goes
    sim = Simulation(
        validate(
            {
                "robot": {"name": robot(tmp_path), "angular_velocity": [0, 0, 0.5]},
                "gravity": 0.0,
                "control": [
                    {"joints": "left", "speed": -0.5 * 0.25 / 0.07},
                    {"joints": "right", "speed": 0.5 * 0.25 / 0.07},
                ],
                "run": {"duration": 0.5, "record_period": 0.02},
            }
        )
    )
    ds = sim.run().dataset()
    # it turns about its centre of mass, 3 cm behind the frame's origin, which moves a little
    assert ds.track_slip.values[-1] == pytest.approx([0.0, 0.0], abs=0.05)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "slide"}, "must be a hinge"),
        ({"axis": "0 -1 0"}, "must turn about the y axis of 'Chassis'"),
        ({"frame": "LeftSprocket"}, "not the frame itself"),
        ({"frame": "RightSprocket"}, "must move a body that the track's frame"),
    ],
)
def test_sprockets_that_cannot_drive_their_belt_are_refused(tmp_path, change, said):
    with pytest.raises(InputError, match=rf"tracks\.L\.joint: 'left' .*{said}"):
        simulation(robot(tmp_path, **change), [{"kind": "plane"}])


def test_two_feet_need_two_bodies(tmp_path):
    robot(tmp_path)
    file = tmp_path / "robot.yaml"
    file.write_text("model: robot.xml\nfeet: {A: {body: Chassis}, B: {body: Chassis}}\n")
    with pytest.raises(InputError, match=r"^robot.yaml: feet.B.body: 'Chassis' is .* of feet.A"):
        load_robot(str(file))


def test_a_roller_too_small_to_feel_is_refused(tmp_path):
    name = robot(tmp_path)
    file = tmp_path / "robot.yaml"
    small = file.read_text().replace("x: 0, z: 0, radius: 0.07", "x: 0, z: 0, radius: 1e-9")
    file.write_text(small)
    with pytest.raises(InputError, match=r"^robot.yaml: tracks.L: a roller of radius 1e-09 m"):
        load_robot(name)
