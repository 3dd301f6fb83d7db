"""Ding's rover on Toyoura sand: the drive agrees with the statics of its wheel model.

The paper prints no numbers of its Figs. 16 and 17; what can be checked is that the rover in the
engine slips as the closed form says for its share of the load.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

WHEEL = Wheel(0.1, 0.1, Exit("angle", 0.0), lug_height=0.01, surface=None)
WEIGHT = 18 * 9.81


def slip_for(soil: str, pull: float, loads) -> float:
    """Slip at which wheels under these loads pull with this force together."""
    model = WheelModel(
        "ding", WHEEL, load_soil(soil), {"mean_load": 44.1}, slip_sinkage="exponent", carried=False
    )
    return brentq(lambda s: np.sum(model.under_load(loads, s).drawbar_pull) - pull, -0.2, 0.9)


@pytest.mark.parametrize("tow", [0.0, 30.0, 60.0])
def test_towing(tow):
    settings = {"tethers.0.stiffness": max(tow, 1e-6) / 1000}
    d = Simulation(load_scenario("eldorado2/tow", settings)).run().dataset()
    late = d.sel(time=slice(20, None))
    assert float(late.tether_force.mean()) == pytest.approx(tow, abs=0.1)
    loads = late.wheel_load.values.mean(axis=0)
    assert loads.sum() == pytest.approx(WEIGHT, rel=1e-3)
    # front wheels on virgin sand, rear ones in their ruts, with less resistance
    assert float(late.slip_ratio.mean()) == pytest.approx(
        slip_for("toyoura_ding2011", tow, loads), abs=0.03
    )


@pytest.mark.parametrize("slope", [6.0, 15.0])
def test_climbing(slope):
    angle = math.radians(slope)
    settings = {"ground.0.terrain.layers.0.slope": angle, "robot.attitude.1": -angle}
    d = Simulation(load_scenario("eldorado2/slope", settings)).run().dataset()
    late = d.sel(time=slice(20, None))
    across, along = WEIGHT * math.cos(angle) / 4, WEIGHT * math.sin(angle) / 4
    assert float(late.slip_ratio.mean()) == pytest.approx(
        slip_for("toyoura_ding2011_slope", along, across), abs=0.03
    )


def test_rough_ground_leads_the_rover_off_the_straight_line():
    d = Simulation(load_scenario("eldorado2/rough", {"run.duration": 100})).run().dataset()
    x, y = (d.position_base.sel(axis=a).values for a in "xy")
    assert x[-1] > 2.5 and y[-1] > 2.5
    assert 0.02 < abs((y - x)[-1]) < 1.5
    # the differential: q1 = −q2
    left, right = (d.joint_angle.sel(joint=j).values for j in ("LRocker_y", "RRocker_y"))
    assert abs(left + right).max() < 1e-6
    assert abs(left).max() > 0.02
