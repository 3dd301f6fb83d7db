"""Lugs dig a trench: the same on all grids, with pull at high slip, as in wheel models."""

from __future__ import annotations

import numpy as np
import pytest
from soil_rig import Sand, Shape
from soil_rig import Wheel as Bench

from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import Wheel, WheelModel
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation
from marsyard.wheel_surface import TreadSurface

RIM, LUG, WIDTH, LOAD = 0.125, 0.012, 0.11, 86.0
SOIL = "toyoura_ding2011"


def bench(slip, spacing=0.02, soil=SOIL, travel=0.55, **more):
    """The rig of `soil/wheel` with a wheel with lugs, its rim at 4 cm/s."""
    speed = 0.04 * (1 - slip)
    settings = {
        "parameters.slip": slip, "parameters.load": LOAD, "parameters.speed": speed,
        "parameters.radius": RIM + LUG, "robot.wheel.radius": RIM, "robot.wheel.width": WIDTH,
        "robot.wheel.grousers": {"height": LUG, "count": 24}, "robot.joints": {"lift": LUG},
        "ground.0.soil": soil, "ground.0.spacing": spacing,
        "run.duration": round(2 + travel / speed),
        **more,
    }  # fmt: skip
    return Simulation(load_scenario("soil/wheel", settings))


def steady(slip, spacing=0.02, **more):
    """Pull by load, torque by load and radius, sinkage [m]: means over the last tenth."""
    data = bench(slip, spacing, **more).run().dataset().isel(wheel=0)
    late = data.sel(time=slice(0.9 * float(data.time[-1]), None)).mean("time")
    return (
        float(late.drawbar_pull) / LOAD, float(late.driving_torque) / (LOAD * (RIM + LUG)),
        float(late.sinkage),
    )  # fmt: skip


@pytest.mark.parametrize("slip", [0.6, 0.8])
def test_pull_at_high_slip_does_not_depend_on_the_grid(slip):
    # with digging by whole cells 0.23 and 0.15 on 2 cm, 0.46 and 0.49 on a quarter of it
    coarse, fine = steady(slip, 0.02), steady(slip, 0.01)
    assert coarse == pytest.approx(fine, rel=0.02)
    assert coarse[0] > 0.5


def test_pull_of_a_wheel_with_lugs_rises_with_slip():
    got = [steady(slip, travel=0.7 * (1 - slip) + 0.2) for slip in (0.3, 0.5, 0.7, 0.9)]
    pull, torque, sinkage = np.transpose(got)
    assert np.all(np.diff(pull) > 0) and np.all(np.diff(torque) > 0)
    assert np.all(np.diff(sinkage) > 0)


@pytest.mark.parametrize("slip", [0.4, 0.6, 0.8])
def test_wheel_models_agree_with_the_soil_contact_model(slip):
    pull, _, sinkage = steady(slip)
    wheel = Wheel(
        RIM, WIDTH, lug_height=LUG, lug_count=24, lug_thickness=0.002, surface=TreadSurface()
    )
    made = WheelModel("wong_reece", wheel, load_soil(SOIL)).under_load(LOAD, slip)
    assert pull == pytest.approx(made.drawbar_pull / LOAD, abs=0.1)
    assert sinkage == pytest.approx(made.sinkage, rel=0.1)


def test_a_soils_own_slip_exponent():
    # N = n + n₁ |s| under a smooth wheel, exactly the soil of that exponent at this slip
    slip, own = 0.5, load_soil(SOIL)
    options = {"interaction.soil": {"slip_sinkage": "exponent", "slip_transport": False}}
    none = {"interaction.soil": {"slip_sinkage": "none", "slip_transport": False}}
    steeper = {"name": SOIL, "exponent": own.exponent + slip * own.exponent_slip}
    by_slip, by_hand = steady(slip, **options), steady(slip, soil=steeper, **none)
    assert by_slip == pytest.approx(by_hand, rel=0.01)
    assert by_slip[2] > 1.5 * steady(slip, **none)[2]


def test_a_restored_state_goes_on_with_the_same_bits():
    # what the lugs could not take yet, and the levels at which strips begin, are parts of the state
    sim = bench(0.6)
    sim.step(6000)
    kept = sim.state()
    sim.step(1500)
    first = sim.state().hash()
    sim.restore(kept)
    assert sim.state().hash() == kept.hash()
    sim.step(1500)
    assert sim.state().hash() == first


def test_soil_is_conserved_while_lugs_dig():
    wheel = Bench(
        shape=Shape(RIM + LUG, WIDTH), sand=Sand(layer=LUG), load=LOAD, slip=0.7, speed=0.02,
        flow=1, every=20,
    )  # fmt: skip
    wheel.run(8.0)
    rig = wheel.rig
    assert rig.grid.moved_volume() > 1e-4
    assert abs(rig.grid.missing_volume() + rig.waiting()) < 1e-12
