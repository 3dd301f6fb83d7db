"""Runs that cannot be true end or are named under every law: start, motion, energy, solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_modules import springs
from test_polygonal_world import two_bodies
from worlds import ball, mjcf, simulation

import marsyard
from marsyard.errors import InputError
from marsyard.ground.typical import SoilRemark
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Diverged, Simulation

SOIL = {"kind": "terrain", "soil": "krenn2008"}


def world(ground, height=None, law="nonsmooth", run=None, **parts):
    robot = {"settle": True} if height is None else {"position": [0, 0, height]}
    smooth = {"integrator": "semi_implicit"} if law == "mujoco" else {}
    return validate(
        {
            "robot": {"name": "exomars", **robot},
            "ground": [ground],
            "interaction": {"law": law, **parts.pop("interaction", {})},
            "run": {"duration": 0.2, **smooth, **(run or {})},
            **parts,
        }
    )


def remarks_of(scenario):
    """What is said of a run that goes through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        Simulation(scenario).run()
    return [str(w.message) for w in caught if not issubclass(w.category, SoilRemark)]


# --- the start


@pytest.mark.parametrize("law", ["nonsmooth", "compliant", "polygonal", "mujoco"])
@pytest.mark.parametrize(
    "ground",
    [{"kind": "plane"}, {"kind": "sphere", "centre": [0, 0, 0], "radius": 2.0}],
    ids=lambda g: g["kind"],
)
def test_a_start_deep_inside_hard_ground_is_refused(law, ground):
    with pytest.raises(InputError, match=r"robot.position: the robot starts .* mm inside"):
        Simulation(world(ground, 0.1, law))


BOX = {"kind": "box", "centre": [0, 0, -0.5], "size": [6, 6, 1]}


@pytest.mark.parametrize("law", ["nonsmooth", "compliant", "polygonal", "mujoco"])
def test_a_start_inside_a_box_is_said(law):
    # boxes are meshes to the laws of contact, which are not felt from far inside: the rover, whose
    # wheels of 0.15 m stand on the box at 0.59 m, hung in it unsaid
    with pytest.raises(InputError, match=r"the robot starts 240 mm inside the ground \(body '.*Wh"):
        Simulation(world(BOX, 0.35, law))
    for height, depth in ((0.45, 140), (0.55, 40)):
        with pytest.warns(UserWarning, match=f"the robot starts {depth} mm inside the ground"):
            Simulation(world(BOX, height, law))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulation(world(BOX, 0.591, law))


@pytest.mark.parametrize("law", ["nonsmooth", "compliant"])
@pytest.mark.parametrize("turn", [[0, 0, 0], [0, 0.05, 0.4]])
def test_a_tracked_rover_is_settled_on_a_box_that_it_starts_inside(law, turn):
    # its tracks were not felt, so that its chassis was put on the box
    box = {"kind": "box", "centre": [0, 0, 0.07], "size": [6, 6, 0.25], "attitude": turn}
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True}, "ground": [box],
                "interaction": {"law": law}, "run": {"duration": 0.01},
            }
        )
    )  # fmt: skip
    # it stands 0.25 m above its tracks
    height = np.cos(turn[1]) * (sim.qpos[2] - 0.07) + np.sin(turn[1]) * sim.qpos[0]
    assert height == pytest.approx(0.125 + 0.25, abs=2e-3)


@pytest.mark.parametrize("height", [3.0, 0.45, 0.1])
def test_a_rover_is_settled_on_a_box_from_anywhere(height):
    # its chassis is felt from further away than its wheels
    scenario = world(BOX)
    robot = scenario.robot.model_copy(update={"position": (0.0, 0.0, height)})
    sim = Simulation(scenario.model_copy(update={"robot": robot}))
    assert sim.qpos[2] == pytest.approx(0.59, abs=1e-3)


def test_a_start_inside_soil_is_said():
    # its wheels stand on the soil at 0.6 m, and have a radius of 0.15 m
    with pytest.raises(InputError, match=r"robot.position: the robot starts 498 mm inside the gr"):
        Simulation(world(SOIL, 0.1))
    with pytest.warns(UserWarning, match=r"the robot starts 98 mm inside the ground"):
        Simulation(world(SOIL, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulation(world(SOIL, 0.59))


# --- on the way


def test_a_run_that_gains_energy_ends_before_it_is_absurd():
    # soil at steps of 0.2 s: it went on to 1e30 J
    sim = Simulation(
        world(SOIL, run={"duration": 10, "step": 0.2}, control=[{"joints": "drives", "speed": 1}])
    )
    with pytest.raises(Diverged, match=r"stopped at t = .* has gained .* J of unexplained energy"):
        sim.run()
    assert sim.records.energy.max() < 1e5
    assert sim.dataset().stopped == sim.stopped


def test_energy_from_a_start_inside_elements_is_named():
    said = remarks_of(world({"kind": "plane"}, 0.53, "compliant"))
    assert any("J until t = " in text and "mm inside" in text for text in said)


def test_energy_from_a_start_inside_elastic_soil_is_named():
    # the grousers of its default place stand 7.5 mm in the soil, which pushes with 1.6 weights
    parts = {
        "robot": {"name": "curiosity_like"},
        "ground": [{"kind": "terrain", "soil": "mars_sand_zhou2023"}],
        "run": {"duration": 0.1},
    }
    gains = []
    for step in (1e-3, 2e-4):
        sim = Simulation(validate({**parts, "run": {"duration": 0.1, "step": step}}))
        with pytest.warns(UserWarning, match=r"gained 2.\d+ J .* it started 7.5 mm inside"):
            sim.run()
        energy = sim.records.energy.sum(axis=1)
        gains.append(energy.max() - energy[0])
    # it is the soil's and no error of the step
    assert gains[0] == pytest.approx(gains[1], rel=0.05)
    settled = {"name": "curiosity_like", "settle": True}
    assert not remarks_of(validate({**parts, "robot": settled}))


def test_joints_that_turn_far_in_a_step_are_named():
    # two motors without limits start a linkage at once; in the first step it turns by 0.8 rad
    def started(step):
        sim = Simulation(
            validate(
                {
                    "robot": {"name": "leg_2001"}, "ground": [],
                    "control": [{"joints": ["Reach_x", "Lift_z"], "speed": 46.0}],
                    "run": {"duration": step, "step": step},
                }
            )
        )  # fmt: skip
        sim.run()
        r = sim.records
        return r.energy[-1].sum() - r.energy[0].sum() - r.motor_work[-1], r.motor_work[-1]

    with pytest.warns(UserWarning, match=r"too long\? UpperLink_y turns by 0.75 rad in a step"):
        gain, work = started(1e-3)
    assert gain > 0.1 * work
    # the error of a step, which goes with its length
    gain, work = started(1e-4)
    assert gain < 0.01 * work


@pytest.mark.parametrize("by_hand", [True, False])
def test_speeds_that_nothing_reaches_end_the_run(tmp_path, by_hand):
    sim = simulation(
        tmp_path,
        mjcf('<body><joint name="x" type="slide"/><geom size="0.1" mass="1"/></body>'),
        ground=[], control=[{"joints": "x", "torque": 1e9}], run={"duration": 0.1},
    )  # fmt: skip
    with pytest.raises(Diverged, match=r"x\) moves at 1e\+06 m/s .* too long, or .*joint .x. too"):
        if by_hand:
            sim.step(50)
        else:
            sim.run()
    assert len(sim.records.time) == 1  # the start alone could be true


def test_a_start_at_such_a_speed_keeps_its_record(tmp_path):
    robot = {"velocity": [1e6, 0, 0]}
    sim = simulation(
        tmp_path, mjcf(ball()), robot=robot, gravity=0.0, ground=[], run={"duration": 0.01}
    )
    with pytest.raises(Diverged, match=r"moves at 1e\+06 m/s"):
        sim.run()
    assert sim.dataset().sizes["time"] == 1


def test_torques_that_are_not_finite_are_not_kept():
    # a motor with a voltage bounds the torque that acts; the law itself overflows
    sim = Simulation(
        validate(
            {
                "robot": {"name": "exomars"}, "ground": [], "interaction": {"law": "none"},
                "control": [{"joints": "steering", "torque": "exp(1e5*t) - exp(2e5*t)"}],
                "run": {"duration": 0.02},
            }
        )
    )  # fmt: skip
    with pytest.raises(Diverged):
        sim.run()
    assert np.isfinite(sim.records.torque).all() and np.isfinite(sim.records.velocities).all()


def test_contacts_that_projection_closes_are_seen_again():
    # with an activation of 0 this rover gained 2.4 kJ in 6 s: its contacts, left open by microns,
    # never became active, and it "fell" on the spot
    spec = {
        "robot": {
            "name": "tracked_rover", "settle": True, "angular_velocity": [-7.34, 0.29, 0.03],
            "joint_rates": {"drives": 4.3},
        },
        "ground": [
            {"kind": "sphere", "centre": [-0.034, -0.296, 0.137], "radius": 0.1134},
            {"kind": "box", "centre": [-2.8, -1.1, 0.07], "size": [17.4, 4.4, 0.25]},
        ],
        "control": [{"joints": ["LeftSprocket_y"], "torque": -0.29}],
        "run": {"duration": 6.0, "step": 0.005, "record_period": 0.01, "activation": 0.05},
    }  # fmt: skip
    sim = Simulation(validate(spec)).run()
    energy = sim.records.energy.sum(axis=1) - np.cumsum(sim.records.motor_work)
    assert energy.max() <= energy[0] + 1e-6
    with pytest.raises(InputError, match=r"run.activation"):
        validate({**spec, "run": {**spec["run"], "activation": 0}})


def test_a_state_changed_by_hand_is_no_gain_of_energy(tmp_path):
    sim = simulation(
        tmp_path, mjcf(ball()), gravity=0.0, ground=[], run={"duration": 0.1}
    )  # fmt: skip
    sim.step(10)
    sim.qvel[:] = 50.0
    sim.run()
    assert sim.stopped is None and sim.time == pytest.approx(0.1)


# --- at the end


def test_steps_that_do_not_converge_are_named():
    poor = {"solver": {"max_iterations": 1, "method": "gauss_seidel"}}
    drive = [{"joints": "drives", "torque": 3}]
    said = remarks_of(world({"kind": "plane"}, interaction=poor, control=drive))
    assert any("did not converge in 200 of 200 steps (100 %)" in text for text in said)
    assert not remarks_of(world({"kind": "plane"}, control=drive))


@pytest.mark.parametrize("model", ["scm", "columns"])
def test_wheels_deeper_than_their_radius_are_named(model):
    soft = {**SOIL, "soil": {"name": "krenn2008", "k_phi": 2000.0, "k_c": 0.0}}
    said = remarks_of(world(soft, interaction={"soil": {"model": model}}))
    assert any(f"the soil model '{model}' is not valid" in text for text in said)


def test_remarks_stand_in_the_run():
    poor = {"interaction.solver.max_iterations": 1, "interaction.solver.method": "gauss_seidel"}
    heard: list[str] = []
    run = marsyard.run("rt0448/test-1", settings={**poor, "run.duration": 2}, say=heard.append)
    assert any("did not converge" in text for text in run.warnings)
    assert run.info["warnings"] == run.warnings
    assert any(text.startswith("warning: the contact problem") for text in heard)


def test_a_plausible_run_is_not_named():
    for name in ("rt0448/test-1-restitution", "exomars/drawbar-pull"):
        scenario = load_scenario(name, {"run.duration": 2}).model_copy(update={"study": None})
        assert not remarks_of(scenario)


# --- energy of an interaction beside polygonal pairs


def test_an_interaction_and_pairs_share_the_account_of_energy(tmp_path):
    # a ball falls on springs of the user's; two other bodies in polygonal contact float far away
    bodies = "".join(
        f'<body name="{n}" pos="{x} 0 5"><freejoint name="{n}_free"/>'
        f'<geom name="{n}" type="sphere" size="0.1" mass="1"/></body>'
        for n, x in (("a", 0.0), ("b", 0.5))
    )
    shapes = {n: {"body": n, "geom": n} for n in ("a", "b")}
    pairs = [{"faces": "a", "against": "b"}]
    robot = two_bodies(tmp_path, bodies, shapes, pairs, run={"duration": 0.1})
    scenario = robot.scenario

    def brake(time, step, organs):
        # takes energy: a force against the motion of every organ
        wrenches = springs(time, step, organs)
        wrenches.force[:] = -5.0 * organs.velocity
        return wrenches

    sim = Simulation(scenario, interaction=brake)
    sim.qvel[0] = 1.0
    before = 0.5
    sim.run()
    ds = sim.dataset()
    lost = before - float(ds.energy_kinetic[-1])
    assert lost > 0.01
    assert float(ds.energy_ground[-1]) == pytest.approx(lost, rel=1e-3)


# --- the open edge of a mesh


def sheet(size, end):
    """Flat triangles of this size over x from −1 m to `end`, 1.2 m wide, as corners."""
    xs, ys = np.arange(-1.0, end + 1e-9, size), np.arange(-0.6, 0.6 + 1e-9, size)
    made = []
    for a, b in zip(xs[:-1], xs[1:], strict=True):
        for c, d in zip(ys[:-1], ys[1:], strict=True):
            p, q, r, s = [a, c, 0.0], [b, c, 0.0], [b, d, 0.0], [a, d, 0.0]
            made += [[p, q, r], [p, r, s]]
    return np.array(made)


@pytest.mark.parametrize("law", ["nonsmooth", "compliant", "polygonal"])
def test_a_vehicle_gains_no_energy_over_the_edge_of_a_mesh(law):
    # it rolls with 1.1 J over the end of a sheet, and its belly comes down on the edge
    sim = Simulation(
        validate(
            {
                "robot": {
                    "name": "vehicle_2001", "settle": True, "position": [0.25, 0, 0.3],
                    "velocity": [0.4, 0, 0], "joint_rates": {"drives": 4.0},
                },
                "ground": [{"kind": "mesh", "triangles": sheet(0.2, 0.6).tolist()}],
                "gravity": 9.81,
                "interaction": {"law": law},
                "run": {"duration": 1.0},
            }
        )
    )  # fmt: skip
    sim.run()
    energy = sim.records.energy.sum(axis=1)
    assert sim.records.com[:, 2].min() < 0.09  # it has tipped over the edge
    assert energy.max() < energy[0] + 0.02


def test_elements_gain_no_energy_over_the_edge_of_a_mesh():
    # obliquely over the end of two large triangles; a wheel comes under them from the side
    heading = np.radians(35.0)
    speed = 0.4 * np.array([np.cos(heading), np.sin(heading), 0.0])
    corners = [[-3, -2, 0], [0.6, -2, 0], [0.6, 2, 0]], [[-3, -2, 0], [0.6, 2, 0], [-3, 2, 0]]
    sim = Simulation(
        validate(
            {
                "robot": {
                    "name": "rashid_like", "settle": True, "attitude": [0, 0, heading],
                    "velocity": speed.tolist(), "joint_rates": {"drives": 4.0},
                },
                "ground": [{"kind": "mesh", "triangles": corners}],
                "gravity": 9.81,
                "interaction": {"law": "compliant"},
                "run": {"duration": 2.4},
            }
        )
    )  # fmt: skip
    sim.run()
    energy = sim.records.energy.sum(axis=1)
    assert energy.max() < energy[0] + 0.02


def test_a_start_beyond_the_stops_of_a_joint_is_refused():
    # pushed back by its stops the rover gained 4.8 J from nothing
    spec = {
        "robot": {"name": "curiosity_like", "joints": {"passive": -1.4}},
        "run": {"duration": 0.01},
    }
    with pytest.raises(InputError, match="beyond its stops; it must be between"):
        Simulation(validate(spec))
