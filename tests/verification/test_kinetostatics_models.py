"""The velocity model against textbook kinematics and against the unreduced rolling conditions."""

import numpy as np
import pytest
from kinetostatics_robots import (
    R,
    Robot,
    Z,
    bogies,
    car,
    cart,
    full_motions,
    full_rows,
    random_pods,
    random_tree,
    rocker,
    skid,
    turn,
)
from numpy.testing import assert_allclose

from marsyard.analysis.kinetostatics.contacts import contact_points, hold
from marsyard.analysis.kinetostatics.mobility import mobility_of, singular_poses
from marsyard.analysis.kinetostatics.screws import contains, rank
from marsyard.analysis.kinetostatics.velocity import velocity_model
from marsyard.errors import InputError

YAW = "turning about a vertical axis (yaw)"


def rate(model, found, name):
    return found.rates[list(model.stance.joints).index(name)]


def test_differential_drive():
    """v = R (θ̇r + θ̇l) / 2, ω = R (θ̇r − θ̇l) / 2 d; the castor follows by its own geometry."""
    model = velocity_model(cart(), "holds")
    found = mobility_of(model)
    assert set(found.controllable_words) == {"forward", YAW} and not found.uncontrolled_words
    assert "sideways" in found.forbidden_words and len(found.forbidden) == 4
    names = [model.stance.joints[j] for j in model.drives]
    rates = {"spin_L": 1.3, "spin_R": 2.9}
    out = model.forward([rates[n] for n in names])
    v, w = R * (2.9 + 1.3) / 2, R * (2.9 - 1.3) / 0.6
    assert_allclose(out.twist, [v, 0, 0, 0, 0, w], atol=1e-12)
    assert out.misfit < 1e-12 and len(out.undetermined) == 0
    # castor: its contact trails by b; heading rate from the pivot's sideways velocity
    pivot = np.array([v, -0.5 * w])
    c, s = np.cos(0.4), np.sin(0.4)
    ahead, aside = pivot @ [c, s], pivot @ [-s, c]
    back = model.inverse([v, 0, 0, 0, 0, w])
    assert rate(model, back, "swivel") == pytest.approx(aside / 0.1 - w, abs=1e-12)
    assert rate(model, back, "spin_C") == pytest.approx(ahead / R, abs=1e-12)
    assert rate(model, back, "spin_L") == pytest.approx(1.3, abs=1e-12)
    assert back.forbidden_words == "" and back.open == ()


def test_forbidden_part_is_named():
    model = velocity_model(cart(), "holds")
    found = model.inverse([0.5, 0.2, 0, 0, 0, 0.1])
    assert_allclose(found.forbidden, [0, 0.2, 0, 0, 0, 0], atol=1e-12)
    assert found.forbidden_words == "sideways"
    assert_allclose(found.followed, [0.5, 0, 0, 0, 0, 0.1], atol=1e-12)


@pytest.mark.parametrize("curvature", [-0.5, 0.2, 0.7])
def test_car_with_ackermann_steering(curvature):
    """All axes meet at (0, 1/κ): one motion is left, and wheel rates are in ratio of distances."""
    c = np.array([0.0, 1 / curvature])
    angle = [np.arctan(1.2 / (c[1] - y)) for y in (0.4, -0.4)]
    model = velocity_model(car(*angle), "holds")
    found = mobility_of(model)
    assert found.controllable_words == (f"turning about a vertical axis through (0, {c[1]:.4g})",)
    assert found.surplus == 3
    w = 0.3
    out = model.inverse([w * c[1], 0, 0, 0, 0, w])
    points = contact_points(model.stance)[:, :2]
    for name, point in zip(model.stance.contacts, points, strict=True):
        distance = np.linalg.norm(point - c) * np.sign(c[1])
        assert rate(model, out, f"spin_{name}") == pytest.approx(w * distance / R, rel=1e-12)
    assert set(out.open) == {"steer_FL", "steer_FR"}  # turning on the spot moves nothing


def test_car_with_parallel_steering_is_locked():
    model = velocity_model(car(0.3, 0.3), "holds")
    assert len(mobility_of(model).allowed) == 0
    assert len(mobility_of(velocity_model(car(0.3, 0.3), "slips")).controllable) > 0


def test_skid_steering():
    """Without slip only straight ahead; with it yaw as well, sideways is not controlled."""
    held = mobility_of(velocity_model(skid(), "holds"))
    assert held.controllable_words == ("forward",)
    free = mobility_of(velocity_model(skid(), "slips"))
    assert set(free.controllable_words) == {"forward", YAW}
    assert free.uncontrolled_words == ("sideways",)
    assert free.surplus == 2
    model = velocity_model(skid())
    turning = model.inverse([0, 0, 0, 0, 0, 1.0])
    # contacts at the front slip to the left, those behind to the right
    assert_allclose(turning.slip, [0.4, 0.4, -0.4, -0.4], atol=1e-12)
    # four wheel rates that do not fit: least squares is their mean
    out = model.forward([1.0, 1.0, 2.0, 2.0])
    assert out.twist[0] == pytest.approx(1.5 * R) and out.misfit > 0.01


@pytest.mark.parametrize("psi", [0.0, 0.4, 1.0])
def test_bogies_on_a_step(psi):
    """Planar kinematics of a bogie whose front wheel rolls up an edge."""
    l1, l2, c, v = 0.3, 0.35, 0.1, 0.2
    model = velocity_model(bogies(psi))
    assert [limb.name for limb in model.limbs] == ["RL + FL", "RR + FR"]
    up = v * np.sin(psi) / (np.cos(psi) * (l1 + l2) - c * np.sin(psi))  # nose-up rate of bogies
    out = model.inverse([v, 0, l1 * up, 0, 0, 0])
    assert out.forbidden_words == ""
    assert rate(model, out, "bogie_L") == pytest.approx(-up, abs=1e-12)
    rear = (v + up * c) / R + up
    front = ((v + up * c) * np.cos(psi) + (l1 + l2) * up * np.sin(psi)) / R + up
    assert rate(model, out, "spin_RL") == pytest.approx(rear, abs=1e-12)
    assert rate(model, out, "spin_FR") == pytest.approx(front, abs=1e-12)
    level = model.inverse([v, 0, 0, 0, 0, 0])
    assert (level.forbidden_words == "") == (psi == 0.0)
    found = mobility_of(model)
    assert "pitch about y" in found.uncontrolled_words


@pytest.mark.parametrize("seed", range(120))
def test_random_trees(seed):
    """The reduced model says the same as all rolling conditions together."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, loops=seed % 3)
    model = velocity_model(robot, "holds" if rng.random() < 0.5 else "slips")
    motions = full_motions(model)
    theta = motions[:, 6:][:, list(model.drives)]
    assert_allclose(model.J @ theta.T, model.D @ motions[:, :6].T, atol=1e-9)
    twists = motions[:, :6][np.linalg.norm(motions[:, :6], axis=1) > 1e-8]
    assert rank(twists, "twist", model.length) == len(model.allowed)
    assert contains(model.allowed, twists, "twist", model.length)
    still = full_motions(model, locked=True)[:, :6]
    still = still[np.linalg.norm(still, axis=1) > 1e-8]
    assert rank(still, "twist", model.length) == len(model.undetermined)
    # the inverse model solves all conditions for what it follows, and the forward one returns it
    out = model.inverse(rng.normal(size=6))
    rows = full_rows(model)
    assert_allclose(rows @ np.concatenate([out.followed, out.rates]), 0, atol=1e-8)
    back = model.forward(out.rates[list(model.drives)])
    assert back.misfit < 1e-8
    apart = back.twist - out.followed
    assert np.linalg.norm(apart) < 1e-8 or contains(
        model.undetermined, apart / np.linalg.norm(apart), "twist", model.length
    )


@pytest.mark.parametrize("seed", range(20))
def test_working_rows_work_on_one_drive(seed):
    """Where a limb has as many rows as drives, B is diagonal and `screws` gives it back."""
    rng = np.random.default_rng(seed)
    model = velocity_model(random_tree(rng))
    for limb in model.limbs:
        for row, names in zip(limb.B, limb.works_on, strict=True):
            assert np.count_nonzero(row) == len(names) >= 1
        if len(limb.B) == len(limb.coordinates):
            assert_allclose(limb.B, np.diag(np.diag(limb.B)), atol=1e-10)
            screws = limb.screws
            alone = np.isfinite(screws[:, 0])
            rows = np.vstack([limb.D, limb.constraints])
            assert alone.all() == (rank(rows, "wrench") == len(rows))
            assert_allclose(limb.D @ screws[alone].T, limb.B[:, alone], atol=1e-8)
            assert_allclose(limb.constraints @ screws[alone].T, 0, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_another_unit_of_length(unit):
    """All lengths times a factor: the same mobility and names, D with moments times it."""
    pods = random_pods(np.random.default_rng(5), roll=0.4)
    model = velocity_model(pods.robot())
    for name in ("h", "a", "a0", "d", "R", "x0"):
        setattr(pods, name, getattr(pods, name) * unit)
    other = velocity_model(pods.robot())
    one, two = mobility_of(model), mobility_of(other)
    assert (one.degree, one.surplus) == (two.degree, two.surplus)
    assert len(one.controllable) == len(two.controllable)
    assert_allclose(other.limbs[0].D[1, :3], model.limbs[0].D[1, :3], atol=1e-11)
    assert one.degree == two.degree == 6 and len(one.allowed) == len(two.allowed)


def test_rocker_bogie_on_a_plane():
    """The differential carries the body: without it the body's pitch is not controlled."""
    model = velocity_model(rocker())
    assert len(model.limbs) == 1
    found = mobility_of(model)
    assert set(found.controllable_words) == {"forward", YAW}
    assert found.uncontrolled_words == ("sideways",)
    assert len(found.forbidden) == 3
    loose = mobility_of(velocity_model(rocker(closed=False)))
    assert set(loose.uncontrolled_words) == {"sideways", "pitch about y"}
    assert len(velocity_model(rocker(closed=False)).limbs) == 2


def test_singular_castor_pose():
    """A driven castor with no trail cannot push sideways: rank drops where the offset is zero."""

    def pose(offset):
        out = Robot()
        out.joint("steer", Z, [0.3, 0.0, 0.0], driven=True)
        out.wheel("A", np.array([0.3 - offset, 0.0, 0.0]), np.eye(3), R, ("steer",))
        out.wheel("B", np.array([-0.3, 0.4, 0.0]), np.eye(3), R)
        return out

    def side(offset):
        return velocity_model(pose(offset), "holds")

    assert rank(side(0.1).D, "wrench") == 3 and rank(side(0.0).D, "wrench") == 2
    found = singular_poses(pose, -0.1, 0.15, lateral="holds", samples=30)
    assert all(abs(s.at) < 1e-6 for s in found)


def test_steering_held():
    """A trail of 5 cm lets steering motors push the car sideways; held, they do not."""
    robot = Robot()
    for name, x in (("A", 0.5), ("B", -0.5)):
        pivot = np.array([x, 0.0, 0.0])
        robot.joint(f"steer_{name}", Z, pivot, driven=True)
        robot.wheel(name, pivot - [0.05, 0, 0], np.eye(3), R, (f"steer_{name}",))
    free = velocity_model(robot, "holds")
    held = velocity_model(hold(robot, ["steer_A", "steer_B"]), "holds")
    aside = np.array([0, 0.1, 0, 0, 0, 0])
    assert free.inverse(aside).forbidden_words == ""
    # the contact stays while the pivot, 5 cm ahead of it, moves to the left: +0.1 / 0.05
    assert rate(free, free.inverse(aside), "steer_A") == pytest.approx(0.1 / 0.05)
    assert held.inverse(aside).forbidden_words == "sideways"
    assert "steer_A" not in held.stance.joints
    with pytest.raises(InputError, match="steer_A"):
        hold(robot, ["steer_a"])


def cornered(*wheels):
    """The skid-steered rover with some front wheels at a face as well as on the floor."""
    robot, face = skid(), Robot()
    for name in wheels:
        y = 0.3 if name == "FL" else -0.3
        face.wheel(name, np.array([0.4 + R, y, 0.0]), turn("y", -np.pi / 2), R)
        robot.chains.append({f"spin_{name}"})
    robot.contacts += face.contacts
    robot.frames += face.frames
    robot.radii += face.radii
    return robot


def test_wheels_in_a_corner():
    """Floor and face at once, two contacts of one wheel: it neither turns nor goes ahead."""
    both = velocity_model(cornered("FL", "FR"))
    assert mobility_of(both).controllable_words == ()
    assert_allclose(both.inverse([1.0, 0, 0, 0, 0, 0]).forbidden, [1, 0, 0, 0, 0, 0], atol=1e-12)
    # one of them in the corner: the rover can turn about vertical axes beside it, y = 0.3
    one = velocity_model(cornered("FL"))
    out = one.inverse([0.3 * 0.5, 0, 0, 0, 0, 0.5])
    assert out.forbidden_words == ""
    assert rate(one, out, "spin_FL") == pytest.approx(0, abs=1e-12)
    assert rate(one, out, "spin_FR") == pytest.approx(0.6 * 0.5 / R)
    assert_allclose(full_rows(one) @ np.r_[out.followed, out.rates], 0, atol=1e-12)


def test_poses_with_noise():
    """Contacts that are off by 1e-5: an exact count finds motions that are not there."""
    rng = np.random.default_rng(0)
    robot = rocker()
    robot.frames = [f + 1e-5 * rng.normal(size=f.shape) for f in robot.frames]
    assert mobility_of(velocity_model(robot)).degree > 4
    found = mobility_of(velocity_model(robot, tolerance=1e-3))
    assert found.degree == mobility_of(velocity_model(rocker())).degree <= 4
    assert set(found.controllable_words) == {"forward", YAW}
    assert found.uncontrolled_words == ("sideways",)
    out = velocity_model(robot, tolerance=1e-3).inverse([0.1, 0, 0, 0, 0, 0])
    assert np.abs(out.forbidden).max() < 1e-3
    spins = [rate(velocity_model(robot), out, f"spin_{w}") for w in robot.contacts]
    assert_allclose(spins, 0.1 / R, rtol=1e-3)


def test_mistakes_are_told():
    with pytest.raises(InputError, match="lateral"):
        velocity_model(cart(), "slides")
    with pytest.raises(InputError, match="twist"):
        velocity_model(cart()).inverse([1, 2])
    with pytest.raises(InputError, match="drive_rates"):
        velocity_model(cart()).forward([1.0])
