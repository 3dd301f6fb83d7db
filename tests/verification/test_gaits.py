"""Gaits in the engine: feet that carry hold the ground, speed is stride per cycle, nothing tips."""

from __future__ import annotations

import time
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import yaml

from marsyard import library
from marsyard.control.walking import Walking
from marsyard.errors import InputError
from marsyard.robot import load_robot
from marsyard.scenario import Scenario, load_scenario
from marsyard.simulation import Simulation


def _scenario(name, gait, duration=20.0, slope=0.0, **more):
    return Scenario.model_validate(
        {
            "robot": {"name": name, "settle": True, "attitude": [0, -slope, 0]},
            "ground": [{"kind": "plane", "slope": slope}],
            "gravity": 3.72,
            "interaction": {"friction": 0.7},
            "gait": gait,
            "run": {"duration": duration, "step": 0.004, "theta": 1, "record_period": 0.02},
            **more,
        }
    )


def _run(*given, **more):
    simulation = Simulation(_scenario(*given, **more)).run()
    return simulation, simulation.dataset()


def _tilt(ds) -> float:
    """Greatest angle of the base's z axis to the vertical [rad]."""
    w, x, y, z = ds.coordinates.values[:, 3:7].T
    return float(np.max(np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1))))


TURN = {"stride": 0, "turn": "15 deg", "pattern": "tripod", "period": 2.0}


@pytest.mark.parametrize(
    "gait",
    [
        {"pattern": "tripod", "stride": 0.12, "period": 2.0},
        {"pattern": "ripple", "stride": -0.1, "period": 3.0},
        {"pattern": "wave", "stride": 0.08, "heading": "60 deg", "period": 3.0},
        TURN,
    ],
    ids=["tripod", "backwards", "crab", "turn"],
)
def test_walker_on_flat_ground(gait):
    simulation, ds = _run("hexapod", {"mode": "walking", **gait, "until": {"cycles": 3}})
    run = simulation.gait
    assert run.finished
    # the static margin of real poses never falls below the plan's, and nothing tips
    planned = min(e.motion.margin.min() for e in run.log if e.motion is not None)
    assert float(ds.stability_margin.min()) > planned - 1e-3 > 0.03
    assert _tilt(ds) < 2e-3
    # strides per cycle
    x, y, turn = 3 * np.array(run.locomotion.modes[0].gait.advance)
    w, _, _, z = simulation.qpos[3:7]
    assert 2 * np.arctan2(z, w) == pytest.approx(turn, abs=0.02)
    assert simulation.qpos[:2] == pytest.approx([x, y], abs=3e-3)
    total = ds.foot_force.sel(axis="z").sum("foot").values
    assert np.mean(total[5:]) == pytest.approx(8 * 3.72, rel=2e-3)
    _must_hold(simulation, ds)


def test_margins_below_zero_are_said():
    """Tripods up a slope so steep that the centre of mass is behind the hind feet of some."""
    gait = {"mode": "walking", "pattern": "tripod", "stride": 0.12, "period": 2.0,
            "least_margin": -0.2, "until": {"cycles": 1}}  # fmt: skip
    for slope, falls in ((0.25, False), (0.35, True)):
        simulation, ds = _run("hexapod", gait, slope=slope, interaction={"friction": 1.2})
        least = float(ds.stability_margin.min())
        assert (least < -1e-3) == falls
        said = [f"the stability margin fell to {1e3 * least:.2g} mm at "] if falls else []
        assert [r.split(" at ")[0] + " at " for r in simulation.gait.remarks()] == said


def _must_hold(simulation, ds):
    """Feet that carry stay where they were set down; those in the air feel no force."""
    feet = _set_down(simulation, ds)
    for entry in simulation.gait.log:
        if entry.motion is None or entry.state != 2:
            continue
        rows = entry.motion.support
        first = round(entry.time / 0.02)
        at = first + np.arange(len(rows))
        if at[-1] >= len(feet):
            continue
        for k in range(rows.shape[1]):
            for begin, end in _spans(rows[:-1, k]):
                held = feet[at[begin] : at[end] + 1, k]
                assert np.ptp(held[:, :2], axis=0).max() < 1e-3
            for begin, end in _spans(~rows[:-1, k]):
                inside = slice(at[begin] + 3, at[end] - 2)
                assert np.abs(ds.foot_force.values[inside, k]).max(initial=0.0) == 0.0


def _set_down(simulation, ds):
    """Where the balls were set down, from the recorded poses: their middles less what they rolled,
    in the world [m]."""
    limbs, joints = simulation.gait.limbs, list(ds.joint.values)
    columns = [joints.index(name) for name in limbs.joints]
    out = []
    for row, angles in zip(ds.coordinates.values, ds.joint_angle.values, strict=True):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, row[3:7])
        out.append(row[:3] + limbs.points(angles[columns]) @ turn.reshape(3, 3).T)
    return np.array(out)


def _spans(mask):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return list(zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize("attitude", ["parallel", "level"])
def test_walker_on_a_slope(attitude):
    slope = np.radians(12)
    gait = {"mode": "walking", "pattern": "wave", "stride": 0.1, "attitude": attitude}
    simulation, ds = _run("hexapod", {**gait, "until": {"cycles": 2}}, 25, slope=slope)
    assert float(ds.stability_margin.min()) > 0.02
    way = simulation.qpos[:3] - ds.position_base.values[0]
    begun = next(e for e in simulation.gait.log if e.state == 2)
    at = round(begun.time / 0.02)
    way = simulation.qpos[:3] - ds.position_base.values[at]
    assert np.linalg.norm(way) == pytest.approx(0.2, abs=2e-3)
    assert np.arctan2(way[2], way[0]) == pytest.approx(slope, abs=0.01)
    _, x, y, _ = simulation.qpos[3:7]
    tilt = np.arccos(1 - 2 * (x**2 + y**2))
    assert tilt == pytest.approx(slope if attitude == "parallel" else 0, abs=3e-3)


def _quadruped(folder):
    """The hexapod without its middle legs."""
    spec = load_robot("hexapod").spec()
    for leg in ("CLHip", "CRHip"):
        spec.delete(spec.body(leg))
    data = library.read_yaml(library.path_of("rovers", "hexapod"))
    feet = {name: foot for name, foot in data["feet"].items() if name[0] != "C"}
    legs = [joint for joint in data["roles"]["legs"] if joint[0] != "C"]
    (folder / "robot.xml").write_text(spec.to_xml(), encoding="utf-8")
    robot = {"base": "Chassis", "model": "robot.xml", "feet": feet, "roles": {"legs": legs}}
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot), encoding="utf-8")
    return str(folder / "robot.yaml")


def test_four_legs_crawl_and_sway(tmp_path):
    """Three feet carry; the base makes room before each first step, then sways."""
    gait = {"mode": "walking", "pattern": "crawl", "stride": 0.1, "period": 6.0, "duty": 0.85}
    simulation, ds = _run(_quadruped(tmp_path), {**gait, "sway": 0.04, "until": {"cycles": 1}}, 25)
    run = simulation.gait
    assert [e.state for e in run.log] == [1, 2, 0]
    cycle = run.log[1].motion
    assert cycle.support.sum(axis=1).min() == 3
    assert float(ds.stability_margin.min()) > 0.002
    assert _tilt(ds) < 2e-3
    assert simulation.qpos[0] == pytest.approx(0.1, abs=3e-3)
    # without sway the margin is that of McGhee and Frank across the edge, and less
    plain = Walking(run.limbs, replace(run.locomotion.modes[0].gait.gait, sway=0.0), 0.02)
    least = plain.cycle(replace(run.log[0].motion.end, body=np.zeros(3))).margin.min()
    formula = (0.85 - 0.75) * 0.1 * 0.305 / np.hypot(0.305, 0.18)
    assert least == pytest.approx(formula, abs=1.5e-3)
    assert cycle.margin.min() > least + 0.005


def test_peristaltic_marsokhod_stands_on_four_wheels_and_moves_two():
    gait = {"mode": "peristaltic", "stride": 0.15, "period": 6.0, "until": {"cycles": 2}}
    simulation, ds = _run("marsokhod_like", gait, 15)
    assert simulation.qpos[0] == pytest.approx(0.3, abs=1e-3)
    rates = np.abs(ds.wheel_rate.values[1:])
    moving = (rates > 1e-3).reshape(len(rates), 3, 2).any(axis=2).sum(axis=1)
    assert moving.max() == 1
    # each wheel has rolled two strides on its large end
    assert ds.wheel_angle.values[-1] == pytest.approx([0.3 / 0.175] * 6, abs=1e-3)
    assert float(ds.gait_slip.values[-1]) == pytest.approx(0, abs=1e-3)


def test_hybrid_rover_changes_its_mode_on_a_slope():
    gait = [
        {"mode": "rolling", "speed": 0.05, "until": {"slope": "4 deg"}},
        {"mode": "peristaltic", "stride": 0.08, "period": 4.0},
    ]
    simulation, ds = _run("hylos_like", gait, 12, slope=np.radians(6))
    assert ds.gait_mode.values[0] == 0 and ds.gait_mode.values[-1] == 1
    # after its first cycle of 2 s and the brake
    first = next(e for e in simulation.gait.log if e.mode == 1)
    assert first.time == pytest.approx(2.0)
    assert float(ds.gait_slip.values[-1]) == pytest.approx(0, abs=0.01)


def test_hybrid_rover_goes_through_all_modes():
    scenario = load_scenario("hylos/modes")
    simulation = Simulation(scenario).run()
    ds = simulation.dataset()
    assert list(dict.fromkeys(ds.gait_mode.values)) == [0, 1, 2]
    assert float(ds.stability_margin.min()) > 0.005
    assert _tilt(ds) < 5e-3
    way = sum(e.motion.advance[0] for e in simulation.gait.log if e.motion is not None)
    assert simulation.qpos[0] == pytest.approx(way, abs=2e-2)


@pytest.mark.parametrize("name", ["walker/flat", "marsokhod/peristaltic", "hylos/modes"])
def test_ten_times_faster_than_real_time(name):
    simulation = Simulation(load_scenario(name))
    simulation.warm_up()
    simulation.step(10)
    before = time.process_time()
    simulation.run()
    spent = time.process_time() - before
    assert simulation.time > 10 * spent


def test_a_gait_is_saved_and_restored_bit_for_bit():
    gait = {"mode": "walking", "pattern": "tripod", "stride": 0.1, "period": 2.0}
    scenario = _scenario("hexapod", gait, 10)
    first = Simulation(scenario)
    first.step(1510)  # within a cycle
    saved = first.state()
    first.step(600)  # into the next
    other = Simulation(scenario)
    other.restore(saved)
    assert other.gait.log[-1].mode == 0
    other.step(600)
    assert first.state().hash() == other.state().hash()
    first.restore(saved)
    first.step(600)
    assert first.state().hash() == other.state().hash()
    assert np.array_equal(first.qpos, other.qpos)


@pytest.mark.parametrize(
    ("robot", "gait", "said"),
    [
        (
            "hexapod",
            {"mode": "walking", "stride": "60 cm"},
            "gait.modes.0: walking: .*cannot reach",
        ),
        ("hexapod", {"mode": "walking", "least_margin": 0.2}, "below the least allowed, 200 mm"),
        ("hexapod", {"mode": "walking", "pattern": "crawl"}, "'crawl' is for 4 legs, not 6"),
        ("hexapod", {"mode": "rolling"}, "hexapod has no wheels; use walking"),
        ("vehicle_2001", {"mode": "walking"}, "vehicle_2001 has no legs"),
        ("marsokhod_like", {"mode": "peristaltic", "stride": 0.4}, "cannot reach"),
    ],
)
def test_gaits_that_cannot_be_carried_out(robot, gait, said):
    with pytest.raises(InputError, match=said) as error:
        Simulation(_scenario(robot, gait))
    assert "\n" not in str(error.value)


def test_a_slope_that_tips_ends_the_run_with_a_sentence():
    gait = {"mode": "walking", "pattern": "tripod", "stride": 0.1, "least_margin": 0.01}
    simulation = Simulation(_scenario("hexapod", gait, 20, slope=np.radians(22)))
    with pytest.raises(InputError, match="stability margin would fall to"):
        simulation.run()


def test_the_closed_loop_leg_does_knee_bends():
    simulation = Simulation(load_scenario("leg2001/slope")).run()
    ds = simulation.dataset()
    lift, guide = ds.joint_angle.sel(joint="Lift_z"), ds.joint_angle.sel(joint="guide")
    assert float(np.abs(guide - 3 * lift).max()) < 5e-4
    # loops stay closed
    assert np.abs(simulation.data.efc_pos[: simulation.data.ne]).max(initial=0.0) < 1e-6
    force = ds.foot_force.sel(foot="Foot", axis="z").values
    assert np.mean(force[5:]) == pytest.approx(6.85 * 9.81, rel=5e-3)
