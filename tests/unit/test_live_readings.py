"""What a simulation reads by name: the same numbers as its records, without changing anything."""

from __future__ import annotations

import time

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation
from marsyard.simulation.live_readings import Pose


def on_soil() -> Simulation:
    return Simulation(load_scenario("exomars/drawbar-pull"))


@pytest.fixture(scope="module")
def soil():
    return on_soil()


def test_readings_are_those_of_the_record_of_that_time(soil):
    soil.step(500)
    soil.record_now()
    now = soil.dataset().isel(time=-1)
    pose = soil.pose
    assert pose.position == pytest.approx(now.position_base.values, abs=1e-12)
    w, x, y, z = now.quaternion_base.values
    assert pose.pitch == pytest.approx(np.arcsin(2 * (w * y - z * x)), abs=1e-12)
    assert pose.yaw == pytest.approx(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    for name, of in (("slip", "slip_ratio"), ("slip_angle", "slip_angle"), ("sinkage", "sinkage")):
        read = getattr(soil, name)
        assert list(read) == [str(w) for w in now.wheel.values] and len(read) == 6
        expected = [float(now[of].sel(wheel=w)) for w in read]
        assert list(read.values()) == pytest.approx(expected, abs=1e-9), name
        assert all(type(v) is float for v in read.values())
    assert all(0.001 < v < 0.1 for v in soil.sinkage.values())


def test_reading_changes_nothing(soil):
    plain, read = on_soil(), on_soil()
    for _ in range(20):
        plain.step(10)
        read.step(10)
        _ = read.pose, read.slip, read.slip_angle, read.sinkage, repr(read)
    assert plain.state().hash() == read.state().hash()


def test_readings_are_cheap(soil):
    soil.pose, soil.slip, soil.sinkage  # noqa: B018 - loads what there is to load
    for name in ("pose", "slip", "sinkage"):
        best = min(_time(lambda name=name: getattr(soil, name)) for _ in range(20))
        assert best < 1e-3, name


def _time(call) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def test_on_hard_ground_nothing_sinks_in():
    sim = Simulation(load_scenario("rt0448/test-1"))
    assert sim.pose.z > 0.5 and set(sim.slip) == set(sim.world.robot.wheels)
    with pytest.raises(InputError, match="this ground is hard"):
        sim.sinkage  # noqa: B018


def test_a_robot_without_wheels_has_no_slip():
    sim = Simulation(load_scenario("walker/flat"))
    assert sim.slip == {} and sim.slip_angle == {}


def test_a_pose_reads_in_degrees():
    assert repr(Pose(1.0, 2.0, 0.5, 0.0, 0.1, -np.pi / 2)) == (
        "Pose(x=1 m, y=2 m, z=0.5 m, roll=0.00°, pitch=5.73°, yaw=-90.00°)"
    )
