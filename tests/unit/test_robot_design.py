"""Rovers of other sizes: masses and inertias that follow, geometry, and what is refused."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard.analysis.statics import chassis_of
from marsyard.errors import InputError
from marsyard.robot import designed, load_robot, write_designed
from marsyard.robot.design_bodies import Body
from marsyard.scenario.robot_design import RobotDesign


def design(name, **sizes):
    return designed(load_robot(name), RobotDesign(**sizes))


def posed(robot):
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def wheel_places(robot):
    model, data = posed(robot)
    return {n: data.xpos[model.body(w.body).id].copy() for n, w in robot.wheels.items()}


def mass_matrix(model, data):
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return full


def full_inertia(model, body):
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[body])
    turn = turn.reshape(3, 3)
    return turn @ np.diag(model.body_inertia[body]) @ turn.T


def test_a_stretched_body_is_that_of_its_stretched_points():
    # independent: the sums over a cloud of points, each with det S of its mass
    rng = np.random.default_rng(3)
    points, masses = rng.normal(size=(40, 3)), rng.random(40)
    s = np.array([[1.3, 0.1, 0.0], [0.1, 0.8, 0.05], [0.0, 0.05, 1.1]])

    def body(p, m):
        return Body(m.sum(), m @ p / m.sum(), np.einsum("n,ni,nj->ij", m, p, p))

    def inertia(p, m):
        q = p - m @ p / m.sum()
        return sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(m, q, strict=True))

    new = body(points, masses).stretched(s)
    p, m = points @ s, masses * np.linalg.det(s)
    assert new.mass == pytest.approx(m.sum(), rel=1e-12)
    np.testing.assert_allclose(new.centre, m @ p / m.sum(), rtol=1e-12)
    np.testing.assert_allclose(new.inertia(), inertia(p, m), rtol=1e-11, atol=1e-12)


def test_a_wheel_keeps_its_density_and_has_the_inertia_of_a_cylinder():
    robot = design("rashid_like", wheel_radius=0.12, wheel_width=0.1)
    model, data = posed(robot)
    b = model.body("FLWheel").id
    m = 0.45 * (0.12 / 0.1) ** 2 * (0.1 / 0.08)
    assert model.body_mass[b] == pytest.approx(m, rel=1e-12)
    across = m * (3 * 0.12**2 + 0.1**2) / 12
    np.testing.assert_allclose(
        full_inertia(model, b), np.diag([across, m * 0.12**2 / 2, across]), rtol=1e-5, atol=1e-12
    )
    # the wheels stand where they stood, and the base is higher by the difference of the radii
    assert all(p[2] == pytest.approx(0.12) for p in wheel_places(robot).values())
    assert data.xpos[1][2] == pytest.approx(0.22)
    assert robot.wheels["FL"].radius == 0.12


@pytest.mark.parametrize("name", ["exomars", "curiosity_like", "vehicle_2001"])
def test_track_and_wheelbase_are_met_and_the_rover_stays_symmetric(name):
    before = wheel_places(load_robot(name))
    robot = design(name, track=2.9, wheelbase=2.9)
    after = wheel_places(robot)
    x, y = (np.array([p[k] for p in after.values()]) for k in (0, 1))
    assert np.ptp(y) == pytest.approx(2.9) and np.ptp(x) == pytest.approx(2.9)
    for wheel, p in after.items():
        mirror = wheel[:-1] + {"L": "R", "R": "L"}[wheel[-1]]
        np.testing.assert_allclose(p * (1, -1, 1), after[mirror], atol=1e-12)
        assert p[2] == pytest.approx(before[wheel][2], abs=1e-12)
    model, data = posed(robot)
    assert data.subtree_com[1][1] == pytest.approx(0, abs=1e-12)


def test_a_beam_that_spans_both_sides_grows_with_the_track():
    plain, wide = load_robot("exomars"), design("exomars", track=1.5)
    (a, _), (b, _) = posed(plain), posed(wide)
    beam, chassis, side = (a.body(n).id for n in ("RBogie", "Chassis", "FLBogie"))
    assert b.body_mass[beam] == pytest.approx(a.body_mass[beam] * 1.5 / 1.2, rel=1e-12)
    assert b.body_mass[side] == a.body_mass[side] and b.body_mass[chassis] == a.body_mass[chassis]


def test_sizes_of_its_own_change_nothing():
    plain = load_robot("exomars")
    sizes = {"wheel_radius": 0.1425, "wheel_width": 0.12, "track": 1.2, "wheelbase": 1.36}
    (a, da), (b, db) = posed(plain), posed(design("exomars", **sizes, mass=310.0))
    np.testing.assert_allclose(db.xpos, da.xpos, atol=1e-12)
    np.testing.assert_allclose(b.body_mass, a.body_mass, rtol=1e-9)
    np.testing.assert_allclose(mass_matrix(b, db), mass_matrix(a, da), rtol=1e-6, atol=1e-9)


def test_the_base_takes_the_difference_of_masses():
    model, _ = posed(design("rashid_like", mass=12.5, wheel_radius=0.11))
    assert model.body_mass.sum() == pytest.approx(12.5, rel=1e-12)
    plain, _ = posed(load_robot("rashid_like"))
    ratio = model.body_mass[1] / plain.body_mass[1]
    np.testing.assert_allclose(full_inertia(model, 1), full_inertia(plain, 1) * ratio, rtol=1e-6)


def test_a_moved_pivot_shares_the_load_by_the_lever_rule():
    # the side bogie of exomars with its wheels at ±0.32 m, by hand: the pivot's force F at x, and
    # the weight of all that the bogie carries, whose sum is symmetric about its middle
    shift = {"x": 0.08}
    plain = load_robot("exomars")
    moved = design("exomars", pivots={"FLBogie_y": shift, "FRBogie_y": shift})
    places = [list(wheel_places(r).values()) for r in (moved, plain)]
    np.testing.assert_allclose(*places, atol=1e-12)
    chassis = chassis_of(moved)
    loads = dict(zip(chassis.names, chassis.loads(0.0, 3.72), strict=True))
    own = (10.32 + 2 * 2.0 + 2 * 1.84) * 3.72
    pivot = loads["FL"] + loads["CL"] - own
    assert loads["FL"] - loads["CL"] == pytest.approx(pivot * 0.08 / 0.32, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "sizes", "words"),
    [
        ("rashid_like", {"wheel_radius": 0.16}, "wheels FL and RL would overlap"),
        ("rashid_like", {"track": 0.2}, "wheel FL would run into 'body'"),
        ("rashid_like", {"mass": 2.0}, "leaves no mass for the base; everything else weighs "
                                       "2.6 kg"),
        ("rashid_like", {"pivots": {"FLWheel_y": {"x": 0.1}}}, "not a pivot.*valid: LRocker_y"),
        ("rashid_like", {"pivots": {"LRockr_y": {}}}, "did you mean 'LRocker_y'"),
        ("hexapod", {"track": 1.0}, "has no wheels; only 'mass'"),
        ("single_wheel_rig", {"wheelbase": 1.0}, "has a single axle"),
        ("single_wheel_rig", {"track": 1.0}, "wheels on one side only"),
        ("eldorado2_like", {"wheel_radius": 0.009}, "grousers.height"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(name, sizes, words):
    with pytest.raises(InputError, match=words):
        design(name, **sizes)


def test_a_design_as_a_folder_is_the_same_robot(tmp_path):
    robot = design("eldorado2_like", wheel_radius=0.12, track=0.5, mass=20.0)
    again = load_robot(str(write_designed(robot, tmp_path / "big")))
    (a, da), (b, db) = posed(robot), posed(again)
    np.testing.assert_allclose(mass_matrix(b, db), mass_matrix(a, da), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(db.xpos, da.xpos, atol=1e-6)
    assert again.wheels == robot.wheels and again.roles == robot.roles


def test_a_run_with_a_design_has_its_weight_and_height():
    import marsyard

    sizes = {"wheel_radius": "12 cm", "track": "50 cm", "mass": "12 kg"}
    settings = {"robot.design": sizes, "run.duration": 0.2, "report": {}, "control": []}
    data = marsyard.run("rashid/obstacle", settings=settings).data
    load = float(data.impulse_normal.isel(time=-1).sum()) / float(data.time[-1] - data.time[-2])
    assert load == pytest.approx(12 * 1.62, rel=1e-3)
    assert float(data.position_base.sel(axis="z")[-1]) == pytest.approx(0.22, abs=1e-4)
