"""The account of energy closes in the engine: hard slope, braked descent, soil, DC motors.

Work of the motors = change of mechanical energy + soil + damping + rest, where the rest must vanish
if nothing slides on hard ground. On a hard slope without slip the work is m g Δh.
"""

from __future__ import annotations

import math

import pytest

import marsyard
from marsyard.results import energy_account
from marsyard.scenario import validate

GRAVITY = 9.81
MOTOR = {
    "constant": 0.02, "resistance": 1.0, "gear": 200, "efficiency": 0.8, "voltage_max": 24,
    "current_max": 5,
}  # fmt: skip


def run(slope=10.0, speed=0.5, soil=None, duration=4.0, step="2 ms", **more):
    ground = {"kind": "plane", "slope": f"{slope} deg"}
    if soil is not None:
        layer = {"kind": "plane", "slope": f"{slope} deg"}
        ground = {"kind": "terrain", "terrain": {"layers": [layer]}, "soil": soil}
    data = {
        "robot": {"name": "vehicle_2001", "settle": True, "attitude": [0, f"{-slope} deg", 0]},
        "ground": [ground],
        "gravity": GRAVITY,
        "control": [{"joints": "drives", "speed": f"{speed}*min(1, t)", "gain": 1000}],
        "run": {"duration": duration, "step": step, "record_period": 0.02, "theta": 1},
    }
    return marsyard.run(validate({**data, **more}, "energy"))


def test_a_hard_slope_costs_what_it_lifts():
    found = run()
    a = energy_account(found)
    mass = float(found.data.attrs["mass"])
    assert a.elevation_gain > 0.02
    assert a.causes["lifting"] == pytest.approx(mass * GRAVITY * a.elevation_gain, rel=1e-9)
    assert a.work == pytest.approx(a.causes["lifting"] + a.causes["kinetic"], rel=2e-3)
    assert abs(a.closure) < 2e-3 and abs(a.sampling) < 5e-3
    # at a constant speed the cost is the sine of the slope
    late = energy_account(found, start=2.0)
    assert late.cost_of_transport == pytest.approx(math.sin(math.radians(10)), rel=2e-3)
    assert [g.name for g in late.groups] == ["drives"] and len(late.motors) == 4


@pytest.mark.parametrize("regeneration", [False, True])
def test_a_braked_descent_with_motors(regeneration):
    found = run(speed=-0.5, motors={"drives": {**MOTOR, "regeneration": regeneration}})
    a = energy_account(found, start=2.0)
    assert a.elevation_gain < 0 and a.total.returned > 0.9 * -a.causes["lifting"]
    assert a.work == pytest.approx(a.causes["lifting"], rel=2e-3)
    for motor in a.motors:
        assert abs(motor.closure) < 1e-6 * motor.returned
        assert motor.gear == pytest.approx(0.2 * motor.returned, rel=1e-3)
        assert (motor.electrical < 0) == regeneration and (motor.burnt > 0) != regeneration


def test_damping_takes_its_share():
    springs = {"drives": {"damping": 0.4}}
    robot = {"name": "vehicle_2001", "settle": True, "springs": springs}
    found = run(slope=0.0, robot=robot)
    a = energy_account(found, start=2.0)
    rate = 0.5
    assert a.causes["damping"] == pytest.approx(4 * 0.4 * rate**2 * a.duration, rel=5e-3)
    assert a.work == pytest.approx(a.causes["damping"], rel=5e-3)


def test_on_soil_everything_is_accounted_for():
    found = run(soil="dry_sand", motors={"drives": MOTOR}, duration=3.0)
    a = energy_account(found, start=0.5)
    assert a.soil_only and a.causes["compaction"] > 0 and a.causes["shear"] > 0
    assert abs(a.closure) < 0.01
    parts = sum(a.causes.values())
    assert parts == pytest.approx(a.work, rel=1e-9)
    t = a.total
    assert t.electrical - t.burnt == pytest.approx(t.net + t.copper + t.gear, rel=1e-6)
    assert t.electrical == pytest.approx(
        float(found.data["energy_electrical"][-1] - found.data["energy_electrical"].sel(time=0.5)),
        rel=1e-9,
    )
