"""Steering kinematics against geometry done another way: complex numbers, MuJoCo, circles."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marsyard.control import RoverKinematics, Twist, WheelLayout, mode_command
from marsyard.errors import InputError
from marsyard.robot import Robot, load_robot

ROVERS = ["exomars", "exomars_rt0448"]
speeds = st.floats(-0.2, 0.2)


@pytest.fixture(scope="module", params=ROVERS)
def layout(request):
    return WheelLayout.of(request.param)


def _car(tmp_path, extra: str = "", axis: str = "0 1 0") -> Robot:
    """A car of four wheels; only the front ones steer, the right ones may turn backwards."""
    wheels = ""
    for name, x, y in (("FL", 1, 0.5), ("FR", 1, -0.5), ("RL", -1, 0.5), ("RR", -1, -0.5)):
        steer = f'<joint name="{name}_s" axis="0 0 1" {extra}/>' if name[0] == "F" else ""
        turned = axis if name[1] == "R" else "0 1 0"
        wheels += f"""<body pos="{x} {y} -0.3">{steer}<geom size="0.01" mass="1"/>
          <body name="{name}" pos="0 0 -0.1"><joint name="{name}_w" axis="{turned}"/>
          <geom type="sphere" size="0.1"/></body></body>"""
    path = tmp_path / "car.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1"/>{wheels}</body>'
        "</worldbody></mujoco>"
    )
    names = ("FL", "FR", "RL", "RR")
    return Robot.model_validate(
        {
            "name": "car",
            "model": path,
            "base": "b",
            "wheels": {
                n: {"body": n, "joint": f"{n}_w", "radius": 0.1, "width": 0.05, "shape": "disc"}
                for n in names
            },
            "roles": {"steering": ["FL_s", "FR_s"]},
        }
    )


@given(forward=speeds, left=speeds, turn=speeds)
def test_no_wheel_is_dragged_sideways_when_all_are_steered(forward, left, turn):
    layout = WheelLayout.of(KINEMATICS)
    command = layout.command(Twist(forward, left, turn))
    assert np.allclose(command.side_slip, 0, atol=1e-12)
    # the rim speed is the speed of the contact, taken from complex numbers
    contact = layout.contact(command.angle) @ [1, 1j]
    velocity = forward + 1j * left + 1j * turn * contact
    assert np.allclose(np.abs(command.rate * layout.radius), np.abs(velocity), atol=1e-12)
    rolled = command.rate * layout.radius * np.exp(1j * layout.headings(command.angle))
    assert np.allclose(rolled, velocity, atol=1e-12)
    assert np.all(np.abs(command.angle) <= np.pi / 2 + 1e-9)


KINEMATICS = RoverKinematics("exomars")


@given(forward=speeds, left=speeds, turn=speeds)
def test_there_and_back(forward, left, turn):
    layout = WheelLayout.of(KINEMATICS)
    command = layout.command(Twist(forward, left, turn))
    back, left_over = layout.twist(command.rate, command.angle)
    assert np.allclose(back, (forward, left, turn), atol=1e-12)
    assert np.allclose(left_over, 0, atol=1e-12)


def test_positions_are_those_of_the_model(layout):
    by_name = dict(zip(layout.wheels, layout.contact(), strict=True))
    assert by_name["FL"][0] > by_name["CL"][0] > by_name["RL"][0]
    assert by_name["FL"][1] == pytest.approx(-by_name["FR"][1])
    assert by_name["FL"][0] - by_name["CL"][0] == pytest.approx(0.64, abs=1e-6)
    assert by_name["CL"][0] - by_name["RL"][0] == pytest.approx(0.72, abs=1e-4)
    assert layout.steered.all() and np.all(layout.sign == 1)
    assert np.allclose(layout.heading, 0) and np.allclose(layout.offset, 0)


def test_wheels_roll_without_slip_in_mujoco(layout):
    """The contact point's velocity by MuJoCo's own Jacobian vanishes for the commanded speeds."""
    kinematics = RoverKinematics(load_robot("exomars"))
    layout = WheelLayout.of(kinematics)
    model, data = kinematics.model, kinematics.data
    command = layout.command(Twist(0.04, 0.01, 0.05))
    angles = dict(zip(layout.steering_joint, command.angle, strict=True))
    kinematics.set_joints(angles)
    mujoco.mj_forward(model, data)
    data.qvel[:] = 0
    data.qvel[:2], data.qvel[5] = (0.04, 0.01), 0.05
    for joint, rate in zip(layout.drive_joint, command.rate, strict=True):
        data.joint(joint).qvel[0] = rate
    for body, radius in zip(kinematics.wheel_body, layout.radius, strict=True):
        jac = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jac, None, data.xpos[body] - [0, 0, radius], body)
        assert np.allclose(jac @ data.qvel, 0, atol=1e-12)


def test_all_axles_meet_in_the_turning_centre(layout):
    command = mode_command(layout, "double_ackermann", 0.05, turn=0.02)
    twist = command.twist
    centre = np.array([-twist.left / twist.turn, twist.forward / twist.turn])
    heading = layout.headings(command.angle)
    ahead = np.column_stack([np.cos(heading), np.sin(heading)])
    assert np.allclose(np.sum(ahead * (centre - layout.contact(command.angle)), axis=1), 0)
    middle = [name[0] == "C" for name in layout.wheels]
    assert np.allclose(command.angle[middle], 0)


def test_ackermann_of_a_car(tmp_path):
    """cot δ_outer − cot δ_inner = track / wheelbase, and rear wheels without side slip."""
    layout = WheelLayout.of(_car(tmp_path))
    command = mode_command(layout, "ackermann", 1.0, turn=0.2)
    inner, outer = command.angle[:2]
    assert 1 / np.tan(outer) - 1 / np.tan(inner) == pytest.approx(1.0 / 2.0)
    assert np.allclose(command.side_slip, 0, atol=1e-12)
    # the rear axle's middle runs at the speed of the base's forward component: radius 5 m
    assert command.rate[2] * 0.1 == pytest.approx(0.2 * (5 - 0.5))
    assert command.rate[3] * 0.1 == pytest.approx(0.2 * (5 + 0.5))


def test_six_wheels_steered_in_front_share_the_side_slip(layout):
    command = mode_command(layout, "ackermann", 0.05, turn=0.02)
    x = layout.contact()[:, 0]
    front = np.array([name[0] == "F" for name in layout.wheels])
    assert np.allclose(command.angle[~front], 0)
    assert np.allclose(command.side_slip[front], 0, atol=1e-12)
    assert np.allclose(command.side_slip[~front], 0.02 * (x[~front] - x[~front].mean()))


def test_crab_and_point_turn(layout):
    crab = mode_command(layout, "crab", 0.05, direction=np.radians(30))
    assert np.allclose(crab.angle, np.radians(30))
    assert np.allclose(crab.rate, 0.05 / layout.radius)
    turn = mode_command(layout, "point_turn", turn=0.1)
    contact = layout.contact(turn.angle)
    distance = np.hypot(*contact.T)
    assert np.allclose(np.abs(turn.rate) * layout.radius, 0.1 * distance)
    left = contact[:, 1] > 0
    assert np.all(turn.rate[left] < 0) and np.all(turn.rate[~left] > 0)


def test_a_wheel_takes_the_nearer_of_two_equivalent_angles(layout):
    backward = layout.command(Twist(-0.1))
    assert np.allclose(backward.angle, 0) and np.all(backward.rate < 0)
    now = np.full(len(layout.wheels), np.radians(170))
    turned = layout.command(Twist(0.1), now)
    assert np.allclose(turned.angle, np.pi) and np.all(turned.rate < 0)
    still = layout.command(Twist(), now)
    assert np.allclose(still.angle, now) and np.allclose(still.rate, 0)


def test_limits_of_angle_cost_side_slip():
    layout = WheelLayout.of("exomars", angle_limit=np.radians(30))
    command = mode_command(layout, "crab", 0.1, direction=np.radians(50))
    assert np.allclose(command.angle, np.radians(30))
    assert np.allclose(command.side_slip, 0.1 * np.sin(np.radians(20)))
    # 160° is out of reach, the opposite angle is not
    command = mode_command(layout, "crab", 0.1, direction=np.radians(160))
    assert np.allclose(command.angle, np.radians(-20)) and np.all(command.rate < 0)
    assert np.allclose(command.side_slip, 0, atol=1e-12)


def test_a_limit_of_rate_keeps_the_turning_centre():
    layout = WheelLayout.of("exomars", rate_max=0.2)
    wanted = Twist(0.1, 0.02, 0.05)
    command = layout.command(wanted)
    assert np.max(np.abs(command.rate)) == pytest.approx(0.2)
    assert command.scale < 1
    assert command.twist.forward / command.twist.turn == pytest.approx(2.0)
    assert command.twist.left / command.twist.turn == pytest.approx(0.4)
    free = WheelLayout.of("exomars").command(wanted)
    assert np.allclose(command.angle, free.angle)
    assert np.allclose(command.rate, free.rate * command.scale)


def test_skid_steering_of_a_car(tmp_path):
    layout = WheelLayout.of(_car(tmp_path))
    command = mode_command(layout, "skid", 0.1, turn=0.2)
    assert np.allclose(command.rate * 0.1, [0.1 - 0.1, 0.1 + 0.1, 0.0, 0.2])
    assert np.allclose(command.side_slip, 0.2 * layout.contact()[:, 0])
    twist, _ = layout.twist(command.rate, np.zeros(4), side_weight=1e-9)
    assert np.allclose(twist, (0.1, 0.0, 0.2), atol=1e-6)


def test_backward_mounted_wheels_and_joint_limits(tmp_path):
    robot = _car(tmp_path, extra='range="-20 20" limited="true"', axis="0 -1 0")
    layout = WheelLayout.of(robot)
    command = layout.command(Twist(0.1))
    assert np.allclose(command.rate, [1, -1, 1, -1])
    assert np.allclose(layout.angle_max[:2], np.radians(20))
    assert np.allclose(layout.command(Twist(0, 0.1, 0)).angle[:2], np.radians(20))
    assert layout.steering_joint == ("FL_s", "FR_s", "", "")


def test_offset_wheels_neither_trail_nor_scrub_gives_side_slip(tmp_path):
    """A contact beside and behind its steering axis still rolls without side slip."""
    from dataclasses import replace

    plain = WheelLayout.of("exomars")
    layout = replace(plain, offset=np.tile([-0.05, 0.08], (6, 1)))
    command = layout.command(Twist(0.05, 0.01, 0.04))
    assert np.allclose(command.side_slip, 0, atol=1e-12)
    back, _ = layout.twist(command.rate, command.angle)
    assert np.allclose(back, (0.05, 0.01, 0.04), atol=1e-12)


def test_errors_in_one_sentence(layout):
    with pytest.raises(InputError, match="unknown mode 'krab'; did you mean 'crab'"):
        mode_command(layout, "krab")
    with pytest.raises(InputError, match="has no wheels"):
        WheelLayout.of("plate_rig")
    with pytest.raises(InputError, match="finite"):
        layout.command(Twist(np.nan))
    with pytest.raises(InputError, match="did you mean 'RBogie_x'"):
        WheelLayout.of("exomars", {"RBogie": 0.1})


def test_the_rig_has_a_layout():
    layout = WheelLayout.of("single_wheel_rig")
    assert layout.steering_joint == ("steer",)
    assert np.allclose(layout.command(Twist(0.1, 0.1)).angle, np.pi / 4)
