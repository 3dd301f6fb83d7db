"""Static limits of slope and step against the simulation, on both sides of the limit."""

from __future__ import annotations

import math

import pytest

from marsyard.analysis.kinetostatics.balance import Balance
from marsyard.analysis.kinetostatics.climb import largest_step
from marsyard.analysis.kinetostatics.stance import stance_at
from marsyard.scenario import validate
from marsyard.simulation import Simulation

VEHICLE = "vehicle_2001"


def _tilted(angle: float, friction: float, towards: tuple[float, float], duration: float = 1.0):
    """Held by its motors on a level plane with gravity turned, which is a slope; its records."""
    sin, cos = 9.81 * math.sin(angle), 9.81 * math.cos(angle)
    scenario = validate(
        {
            # discs touch in the middle of the tread, as wheels of a stance do
            "robot": {"name": VEHICLE, "settle": True, "wheel_shape": "disc"},
            "ground": [{"kind": "plane", "name": "slope"}],
            "gravity": 9.81,
            "interaction": {"law": "nonsmooth", "friction": friction},
            "control": [{"joints": "drives", "speed": 0, "gain": 1e4}],
            "run": {"duration": duration, "step": 2e-3, "record_period": 0.1},
        }
    )
    sim = Simulation(scenario)
    sim.model.opt.gravity[:] = sin * towards[0], sin * towards[1], -cos
    sim.run()
    return sim.dataset()


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_vehicle_slides_beyond_its_slope_and_holds_below(share):
    limit = Balance(stance_at(VEHICLE), 0.5).tilt([-1, 0, 0])
    ds = _tilted(share * limit, 0.5, (-1, 0))
    way = float(abs(ds.position_base.values[-1] - ds.position_base.values[1]).max())
    assert (way > 5e-3) == (share > 1), way


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_vehicle_tips_beyond_its_slope_and_stands_below(share):
    limit = Balance(stance_at(VEHICLE), 5.0).tilt([0, 1, 0])
    ds = _tilted(share * limit, 5.0, (0, 1), 1.5)
    lifted = float(ds.gap.values[-1].max())
    assert (lifted > 5e-3) == (share > 1), lifted


@pytest.mark.parametrize("share", [0.97, 1.03])
def test_the_rear_axle_climbs_what_statics_allows(share):
    """Without run-up, at 1 cm/s: the front axle is on top, the rear one 5 mm before the step."""
    friction, length, radius = 0.8, 0.4, 0.1
    height = share * largest_step(VEHICLE, friction, poses=5, accuracy=2e-4)
    scenario = validate(
        {
            "robot": {"name": VEHICLE, "settle": True, "position": [0, 0, 0.3],
                      "attitude": [0, f"{-math.degrees(math.asin(height / length))} deg", 0]},
            "ground": [
                {"kind": "plane", "name": "floor"},
                {"kind": "box", "name": "step",
                 "centre": [2.005 - length / 2 + radius, 0, height / 2], "size": [4, 4, height]},
            ],
            "gravity": 9.81,
            "interaction": {"law": "nonsmooth", "friction": friction},
            "control": [{"joints": "drives", "speed": "0.1*min(1, t)", "gain": 200}],
            "run": {"duration": 4.0, "step": 2e-3, "record_period": 0.1},
        }
    )  # fmt: skip
    sim = Simulation(scenario)
    sim.run()
    risen = float(sim.dataset().wheel_position.sel(wheel="RL", axis="z").values[-1]) - radius
    assert (risen > 5e-3) == (share < 1), risen
