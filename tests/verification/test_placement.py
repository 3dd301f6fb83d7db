"""Rovers placed on ground: planes, pedestals of known height, corners, brute force."""

from __future__ import annotations

import time

import numpy as np
import pytest

from marsyard.control import Placer, RoverKinematics, place
from marsyard.errors import InputError
from marsyard.ground.terrain import build_terrain
from marsyard.robot import Robot
from marsyard.scenario import load_terrain, validate_terrain

ROVERS = ["exomars", "exomars_rt0448"]


def _terrain(*layers, **more):
    return build_terrain(validate_terrain({"title": "t", "layers": list(layers), **more}, "t"))


class Pedestal:
    """Flat ground with a square table of a height around a point."""

    def __init__(self, height, x, y, half=0.2):
        self.top, self.x, self.y, self.half = height, x, y, half

    def height(self, x, y):
        on = (np.abs(x - self.x) < self.half) & (np.abs(y - self.y) < self.half)
        return np.where(on, self.top, 0.0)


def _wheel(stand, name):
    return stand.wheels.index(name)


@pytest.mark.parametrize("rover", ROVERS)
def test_on_a_plane_as_in_the_model(rover):
    stand = place(rover, _terrain({"kind": "plane"}), 1.0, 2.0, 0.7)
    height = {"exomars": 0.59, "exomars_rt0448": 0.57875}[rover]
    assert stand.converged and stand.position[2] == pytest.approx(height, abs=1e-7)
    assert np.allclose([stand.roll, stand.pitch, *stand.joints.values()], 0, atol=1e-7)
    assert np.allclose(stand.gap, 0, atol=1e-8)
    kinematics = RoverKinematics(rover)
    weight = 9.81 * kinematics.model.body_mass.sum()
    assert stand.load.sum() == pytest.approx(weight)
    assert stand.unloaded == ()
    # moments about the base: loads against the centre of mass by MuJoCo
    kinematics.set_joints({})
    import mujoco

    mujoco.mj_forward(kinematics.model, kinematics.data)
    com = kinematics.data.subtree_com[0][:2]
    c, s = np.cos(0.7), np.sin(0.7)
    arm = (stand.contact[:, :2] - [1, 2]) @ np.array([[c, -s], [s, c]])
    assert np.allclose(stand.load @ arm / weight, com, atol=1e-6)


@pytest.mark.parametrize("heading", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("rover", ROVERS)
def test_on_a_slope_the_chassis_is_parallel_to_it(rover, heading):
    slope = np.radians(15)
    ground = _terrain({"kind": "plane", "slope": "15 deg", "uphill": "30 deg"})
    stand = place(rover, ground, 0.0, 0.0, heading)
    up = np.array([-np.sin(slope) * np.cos(np.pi / 6), -np.sin(slope) / 2, np.cos(slope)])
    assert np.allclose(stand.rotation[:, 2], up, atol=1e-6)
    assert np.allclose(stand.normal, up, atol=1e-4)
    assert np.allclose(list(stand.joints.values()), 0, atol=1e-6)
    height = {"exomars": 0.59, "exomars_rt0448": 0.57875}[rover]
    assert stand.position[2] == pytest.approx(height / np.cos(slope), abs=1e-6)


@pytest.mark.parametrize("rover", ROVERS)
def test_one_front_wheel_on_a_low_pedestal_by_hand(rover):
    """Every bogie holds the mean of its two wheels; three such points carry the chassis.

    To first order in H: the chassis plane goes through H/2 at (p, y), 0 at (p, −y), 0 at (−q, 0)
    with p the side bogies' middle, y half the track, −q the rear axle. The tilt puts the side
    wheels of a cylinder on their right edges; the rear bogie stays level.
    """
    frames = dict(
        zip(RoverKinematics(rover).wheels, RoverKinematics(rover).frames()[0], strict=True)
    )
    front, centre, rear = frames["FL"], frames["CL"], frames["RL"]
    H = 1e-3
    middle, base = (front[0] + centre[0]) / 2, front[0] - centre[0]
    roll = (H / 2) / (2 * front[1])
    edge = {"exomars": 0.06, "exomars_rt0448": 0.0}[rover]
    nose_up = (H / 2) * (front[1] + edge) / (2 * front[1]) / (middle - rear[0])
    stand = place(rover, Pedestal(H, front[0], front[1]), 0.0, 0.0)
    assert np.allclose(stand.gap, 0, atol=1e-8)
    assert stand.roll == pytest.approx(roll, rel=5e-3)
    assert stand.pitch == pytest.approx(-nose_up, rel=5e-3)
    assert stand.joints["RBogie_x"] == pytest.approx(-roll, rel=5e-3)
    assert stand.joints["FLBogie_y"] == pytest.approx(-(H / base - nose_up), rel=5e-3)
    assert stand.joints["FRBogie_y"] == pytest.approx(nose_up, rel=5e-3)


@pytest.mark.parametrize("H", [0.05, 0.15])
def test_both_front_wheels_on_a_high_step_in_the_plane(H):
    """Exactly, in the plane: a beam of two wheels on a step, the chassis on the beams' pivots."""
    rover = "exomars_rt0448"
    ground = _terrain({"kind": "step", "height": H, "position": 0.5})
    stand = place(rover, ground, 0.0, 0.0)
    beam = np.arcsin(H / 0.64)
    assert stand.pitch + stand.joints["FLBogie_y"] == pytest.approx(-beam, abs=1e-6)
    assert stand.joints["FLBogie_y"] == pytest.approx(stand.joints["FRBogie_y"], abs=1e-7)
    # pivot of the side bogies: above the middle of both wheel centres, along the beam's normal
    above = 0.221908 - 0.005908
    pivot_z = 0.129 + H / 2 + above * np.cos(beam)
    # rear wheels' centres: at 0.129; vector from there to the side pivot in the chassis
    dx, dz = 0.4025001 + 0.4139999 + 0.2235, -0.23375 + 0.16375 + 0.064092 + 0.221908
    pitch = -(np.arcsin((pivot_z - 0.129) / np.hypot(dx, dz)) - np.arctan2(dz, dx))
    assert stand.pitch == pytest.approx(pitch, abs=1e-6)
    assert np.allclose(stand.gap, 0, atol=1e-7)


def test_a_wheel_leans_on_the_corner_of_a_step():
    """Distance from the wheel's centre to the edge is the radius where the rim rests on it."""
    kinematics = RoverKinematics("exomars")
    x = kinematics.frames().centre[kinematics.wheels.index("FL"), 0]
    ground = _terrain({"kind": "step", "height": 0.05, "position": x + 0.06})
    stand = place(kinematics, ground, 0.0, 0.0)
    frames = kinematics.frames(stand.joints)
    centre = stand.position + frames.centre @ stand.rotation.T
    for name in ("FL", "FR"):
        to_edge = centre[_wheel(stand, name), [0, 2]] - [x + 0.06, 0.05]
        assert np.hypot(*to_edge) == pytest.approx(0.1425, abs=1e-5)
    assert stand.load[_wheel(stand, "FL")] > 0 and np.allclose(stand.gap, 0, atol=1e-6)


@pytest.mark.parametrize("rover", ROVERS)
def test_no_point_of_a_wheel_is_in_the_ground(rover):
    """Brute force over dense surfaces, with frames from another code path."""
    ground = _terrain(
        {"kind": "sine", "amplitude": 0.05, "wavelength": 1.3, "heading": "25 deg"},
        {"kind": "bump", "centre": [0.6, 0.6], "radius": 0.3, "height": 0.1},
    )
    kinematics = RoverKinematics(rover)
    for heading in (0.0, 1.0):
        stand = place(kinematics, ground, 0.1, -0.1, heading)
        frames = kinematics.frames(stand.joints)
        R = stand.rotation
        a, w = np.meshgrid(np.linspace(-1.6, 1.6, 801), np.linspace(-1, 1, 401))
        for i in range(6):
            left, side = R @ frames.axle[i], R @ frames.carrier[i]
            r, half = kinematics.radius[i], kinematics.width[i] / 2
            if rover == "exomars":
                ring, shift = r * np.ones_like(w), half * w
            else:
                ring, shift = r * np.cos(w * np.pi / 2), r * np.sin(w * np.pi / 2)
            p = (stand.position + R @ frames.centre[i])[:, None, None]
            p = (
                p
                + side[:, 0, None, None] * ring * np.sin(a)
                - side[:, 2, None, None] * ring * np.cos(a)
            )
            p = p + left[:, None, None] * shift
            over = p[2] - ground.height(p[0], p[1])
            assert over.min() == pytest.approx(0, abs=2e-6)


def _rover(tmp_path, differential: bool, com: float = 0.2) -> Robot:
    """Four wheels at (±1, ±0.5), on a rigid chassis or on two rockers with a differential."""
    sides = ""
    for side, y in (("L", 0.5), ("R", -0.5)):
        wheels = "".join(
            f'<body name="{a}{side}" pos="{x} 0 -0.4"><joint name="{a}{side}_w" axis="0 1 0"/>'
            '<geom size="0.1" mass="1"/></body>'
            for a, x in (("F", 1), ("R", -1))
        )
        joint = f'<joint name="{side}_rocker" axis="0 1 0"/>' if differential else ""
        sides += f'<body pos="0 {y} 0">{joint}<geom size="0.05" mass="0.1"/>{wheels}</body>'
    tie = '<equality><joint joint1="L_rocker" joint2="R_rocker" polycoef="0 -1 0 0 0"/></equality>'
    path = tmp_path / "rover.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><freejoint/>'
        f'<geom pos="{com} 0 0" size="0.1" mass="50"/>'
        f"{sides}</body></worldbody>{tie if differential else ''}</mujoco>"
    )
    return Robot.model_validate(
        {
            "name": "four",
            "model": path,
            "base": "b",
            "wheels": {
                n: {"body": n, "joint": f"{n}_w", "radius": 0.1, "width": 0.05, "shape": "disc"}
                for n in ("FL", "FR", "RL", "RR")
            },
            "roles": {"passive": ["L_rocker", "R_rocker"] if differential else []},
        }
    )


def test_a_rigid_chassis_stands_on_three_wheels(tmp_path):
    """Centre of mass ahead: front wheels and the rear right one carry, the rear left is lifted."""
    H = 1e-3
    stand = place(_rover(tmp_path, False), Pedestal(H, 1.0, 0.5), 0.0, 0.0)
    assert stand.unloaded == ("RL",)
    assert np.allclose(stand.gap, [0, 0, H, 0], atol=1e-6)
    assert stand.roll == pytest.approx(H / 1.0, rel=1e-3)
    assert stand.pitch == pytest.approx(0, abs=1e-6)


def test_a_rigid_chassis_balanced_on_a_diagonal_falls(tmp_path):
    """On z = c x y the wheels of one diagonal carry, and the others are equally high above it."""
    twist = 0.04

    class Saddle:
        def height(self, x, y):
            return twist * np.asarray(x) * np.asarray(y)

    stand = place(_rover(tmp_path, False, com=0.0), Saddle(), 0.0, 0.0)
    gaps = np.sort(stand.gap)
    assert gaps[2] < 1e-4
    assert gaps[3] == pytest.approx(4 * twist * 1.0 * 0.5, rel=0.05)
    # to one of its two sides
    assert abs(stand.roll) > 0.01 or abs(stand.pitch) > 0.01


def test_a_differential_lets_all_four_touch(tmp_path):
    H = 1e-3
    stand = place(_rover(tmp_path, True), Pedestal(H, 1.0, 0.5), 0.0, 0.0)
    assert np.allclose(stand.gap, 0, atol=1e-7)
    assert stand.joints["L_rocker"] == pytest.approx(-stand.joints["R_rocker"], abs=1e-9)
    # left rocker slopes by H/2, the right by 0; the chassis has the mean, raised H/2 on the left
    assert stand.pitch == pytest.approx(-H / 4, rel=5e-3)
    assert stand.joints["L_rocker"] == pytest.approx(-H / 4, rel=5e-3)
    assert stand.roll == pytest.approx(H / 2, rel=5e-3)


def test_joint_limits_lift_wheels(tmp_path):
    robot = load_limited(tmp_path)
    stand = place(robot, Pedestal(0.1, 0.8, 0.6), 0.0, 0.0)
    assert stand.joints["FLBogie_y"] == pytest.approx(-0.05, abs=1e-7)
    assert stand.converged and stand.unloaded and stand.gap.min() > -1e-7


def load_limited(tmp_path) -> Robot:
    from marsyard.robot import load_robot

    robot = load_robot("exomars_rt0448")
    text = robot.model.read_text(encoding="utf-8")
    joint = '<joint name="FLBogie_y" axis="0 1 0"'
    assert joint in text
    path = tmp_path / "limited.xml"
    path.write_text(text.replace(joint, joint + ' limited="true" range="-0.05 0.05"'))
    return robot.model_copy(update={"model": path})


def test_a_hundred_poses_are_quick():
    ground = _terrain({"kind": "sine", "amplitude": 0.06, "wavelength": 1.9, "heading": "40 deg"})
    along = np.linspace(0, 10, 100)
    begin = time.perf_counter()
    stands = Placer("exomars", ground).path(np.column_stack([along, 0 * along, 0 * along]))
    assert time.perf_counter() - begin < 10
    assert all(s.converged and np.max(np.abs(s.gap)) < 1e-6 for s in stands)
    # a stand does not depend on where the search began
    alone = place("exomars", ground, along[50], 0.0)
    assert np.allclose(alone.position, stands[50].position, atol=1e-6)


@pytest.mark.parametrize("ground", ["fractal_rough", "rocks_pathfinder"])
def test_on_ground_of_the_library(ground):
    """Never in the ground; on fractal ground all wheels touch, among rocks nearly always."""
    terrain = build_terrain(*load_terrain(ground))
    along = np.linspace(0, 10, 40)
    stands = Placer("exomars", terrain).path(np.column_stack([along, 0 * along, 0 * along]))
    assert min(s.gap.min() for s in stands) > -1e-9
    settled = [s for s in stands if s.converged]
    assert len(settled) >= {"fractal_rough": 40, "rocks_pathfinder": 36}[ground]
    weight = 310 * 9.81
    for stand in settled:
        vertical = stand.load * stand.normal[:, 2]
        assert np.allclose(stand.gap[stand.load > 1e-3 * weight], 0, atol=1e-6)
        if ground == "fractal_rough":
            assert np.allclose(stand.gap, 0, atol=1e-6)
            assert vertical.sum() == pytest.approx(weight, rel=1e-3)


def test_depth_in_the_ground_is_a_negative_gap():
    ground = _terrain({"kind": "plane"})
    gaps = Placer("exomars", ground).gaps(np.array([0, 0, 0.59 - 0.02]), 0.0, 0.0, 0.0)
    assert np.allclose(gaps, -0.02, atol=1e-7)


def test_a_rig_cannot_be_placed():
    with pytest.raises(InputError, match="no free joint"):
        place("single_wheel_rig", _terrain({"kind": "plane"}), 0.0, 0.0)
