"""The model on MuJoCo's robots: the RobuRoc's closed forms, and all rovers of the library."""

import dataclasses

import numpy as np
import pytest
from kinetostatics_robots import closed_form, full_motions, pods_of
from numpy.testing import assert_allclose

from marsyard.analysis.kinetostatics.contacts import hold
from marsyard.analysis.kinetostatics.mobility import mobility_of, singular_poses
from marsyard.analysis.kinetostatics.screws import contains, rank
from marsyard.analysis.kinetostatics.stance import stance_at, stance_of_stand
from marsyard.analysis.kinetostatics.transmission import grasp, torques_of, traction_index
from marsyard.analysis.kinetostatics.velocity import velocity_model
from marsyard.control import Placer
from marsyard.errors import InputError

YAW = "turning about a vertical axis (yaw)"
ROVERS = ["curiosity_like", "eldorado2_like", "exomars", "hylos_like", "marsokhod_like",
          "rashid_like", "roburoc", "sojourner", "yutu2"]  # fmt: skip


def random_roburoc(seed, roll=0.4):
    """Random joints, and a random contact angle for each pod but the middle one."""
    rng = np.random.default_rng(seed)
    pitch, tilt = rng.uniform(-0.4, 0.4, 2), rng.uniform(-roll, roll, 2)
    front, rear = rng.uniform(-0.5, 0.8, 2)
    joints = {"pitch_front": pitch[0], "roll_front": tilt[0],
              "pitch_rear": pitch[1], "roll_rear": tilt[1]}  # fmt: skip
    contact = {"FL": front, "FR": front, "RL": rear, "RR": rear}
    return stance_at("roburoc", joints, contact, attitude=rng.uniform(-0.5, 0.5, 3))


@pytest.mark.parametrize("seed", range(6))
def test_closed_forms_on_the_multibody_model(seed):
    """D, B and σ from MuJoCo's Jacobians against the closed forms in α, β, γ, h, a."""
    stance = random_roburoc(seed, roll=0.0 if seed % 2 else 0.4)
    model = velocity_model(stance)
    D, B = closed_form(pods_of(stance))
    assert_allclose(model.D, D, rtol=0, atol=1e-11)
    assert_allclose(model.B, np.diag(B), rtol=0, atol=1e-11)
    names = [stance.joints[j] for j in model.drives]
    block = model.J_a[:2][:, [names.index("FRWheel_y"), names.index("FLWheel_y")]]
    half, R = 0.32, 0.24
    assert_allclose(block, [[R / half / 2, -R / half / 2], [R / 2, R / 2]], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_index_of_the_multibody_model(seed):
    stance = random_roburoc(seed, roll=0.0)
    pods = pods_of(stance)
    p, q = np.arctan2(pods.a, pods.h) + pods.gamma + pods.alpha
    sigma = np.sqrt(np.sin(p - q) ** 2 + np.sin(p) ** 2 + np.sin(q) ** 2)
    assert traction_index(velocity_model(stance)) == pytest.approx(sigma, abs=1e-11)


def test_roburoc_on_a_plane():
    """As the paper: degree 4, lateral translation and roll about x_0 not controlled."""
    found = mobility_of(velocity_model(stance_at("roburoc")))
    assert found.degree == 4
    assert set(found.not_controlled_words) == {"sideways", "roll about x"}
    assert set(found.controllable_words) == {"forward", "pitch about y", YAW}
    assert set(found.forbidden_words) == {"up", "roll about x"}


def test_singular_pose_of_the_roburoc():
    """Rank 5 along a symmetric bend but in two poses, where it is 4.

    Straight (α = 0) the couples of all pods are about z_0; and where contacts are level with O_0
    all forces have the direction x_0.
    """

    def pose(pitch):
        return stance_at("roburoc", {"pitch_front": pitch, "pitch_rear": -pitch}, 0.0)

    found = singular_poses(pose, -0.5, 0.75, samples=14)
    # contact 0.24 m below an axle at (0.52, 0.07): level with O_0 where the axle is 0.24 m above
    pitch = np.arctan2(0.07, 0.52) - np.arcsin(0.24 / np.hypot(0.52, 0.07))
    assert [s.at for s in found] == pytest.approx([pitch, 0.0], abs=1e-7)
    assert [(s.rank, s.generic) for s in found] == [(4, 5), (4, 5)]


@pytest.mark.parametrize("lateral", ["slips", "holds"])
@pytest.mark.parametrize("rover", ROVERS)
def test_rovers_of_the_library(rover, lateral):
    """Random passive angles and contacts: reduced model = all rolling conditions together."""
    rng = np.random.default_rng(len(rover))
    level = stance_at(rover)
    free = [j for j, driven in zip(level.joints, level.driven, strict=True) if not driven]
    joints = {j: float(rng.uniform(-0.1, 0.1)) for j in free} if not len(level.closures) else {}
    contact = {w: float(rng.uniform(-0.3, 0.6)) for w in level.contacts}
    bent = stance_at(rover, joints, contact)
    steering = level.robot.roles.get("steering", ())
    for stance in (level, bent, hold(bent, steering)):
        model = velocity_model(stance, lateral)
        motions = full_motions(model)
        theta = motions[:, 6:][:, list(model.drives)]
        assert_allclose(model.J @ theta.T, model.D @ motions[:, :6].T, atol=1e-9)
        twists = motions[:, :6][np.linalg.norm(motions[:, :6], axis=1) > 1e-7]
        assert rank(twists, "twist", model.length) == len(model.allowed)
        assert contains(model.allowed, twists, "twist", model.length)
        # power of a random motion and random amplitudes
        out = model.inverse(rng.normal(size=6))
        y = rng.normal(size=len(model.D))
        work = torques_of(model, y) @ out.rates[list(model.drives)]
        assert (grasp(model) @ y) @ out.followed == pytest.approx(work, abs=1e-8)


@pytest.mark.parametrize("rover", ["exomars", "sojourner", "curiosity_like"])
def test_rocker_bogies_drive_straight(rover):
    """On level ground: forward needs v / R of every wheel and no motion of the suspension."""
    stance = stance_at(rover)
    model = velocity_model(stance, "holds")
    out = model.inverse([0.1, 0, 0, 0, 0, 0])
    assert out.forbidden_words == ""
    for name, radius in zip(stance.contacts, stance.radius, strict=True):
        spin = stance.joint(stance.robot.wheels[name].joint)
        sign = -np.sign(stance.rates[stance.contacts.index(name), 1, spin])
        assert out.rates[spin] == pytest.approx(sign * 0.1 / radius, rel=1e-9)


class Level:
    """Level ground."""

    def height(self, x, y):
        return 0.0 * np.asarray(x) + 0.0 * np.asarray(y)


def test_stands_at_a_kink_keep_the_wheels_that_carry():
    """The search may end some tenths of a millimetre above; further off there is no equilibrium."""
    placer = Placer("exomars", Level())
    stand = placer.place(0.0, 0.0, 0.0)
    assert stand.converged and (stand.load > 1.0).all()
    for gap, converged, contacts in ((0.0, True, 6), (2e-4, True, 5), (2e-4, False, 6)):
        gaps = np.array([gap, *np.zeros(5)])
        moved = dataclasses.replace(stand, gap=gaps, converged=converged)
        assert len(stance_of_stand(moved, placer).contacts) == contacts
    lost = dataclasses.replace(stand, gap=np.array([0.03, *np.zeros(5)]), converged=False)
    with pytest.raises(InputError, match="no equilibrium was found at x = 0 m, y = 0 m"):
        stance_of_stand(lost, placer)
