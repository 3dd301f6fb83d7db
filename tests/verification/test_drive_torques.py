"""Strong drive torques on a slope: the bogies want to turn, the contacts hold all wheels down."""

from __future__ import annotations

import math

import numpy as np

from marsyard.scenario import validate
from marsyard.simulation import Simulation

MASS, EFFECTIVE_MASS, RADIUS, GRAVITY = 64.6, 64.9, 0.129, 3.69


def test_climb_with_constant_torque():
    # a = (6 τ/r − m g sin α) / m_eff; without slip m_eff = m + 6 I/r² = 64.9 kg
    slope, torque = math.radians(15), 1.5
    scenario = validate(
        {
            "robot": {
                "name": "exomars_rt0448",
                "position": [0, 0, 1],
                "attitude": [0, -slope, 0],
                "settle": True,
            },
            "ground": [{"kind": "plane", "slope": slope, "uphill": 0}],
            "interaction": {"friction": 0.9},
            "control": [{"joints": "drives", "torque": torque}],
            "run": {"duration": 1.5, "step": 0.001, "record_period": 0.001},
        }
    )
    data = Simulation(scenario).run().dataset()
    exact = (6 * torque / RADIUS - MASS * GRAVITY * math.sin(slope)) / EFFECTIVE_MASS
    speed = np.hypot(data.velocity_base.sel(axis="x"), data.velocity_base.sel(axis="z")).values
    late = data.time.values > 0.5
    rate = np.polyfit(data.time.values[late], speed[late], 1)[0]
    assert abs(rate - exact) < 1e-6

    # every wheel is loaded in every step, evenly from step to step
    force = data.impulse_normal.sum("surface").values[late] / 0.001
    assert force.min() > 1.0
    assert np.abs(np.diff(force, axis=0)).max() < 0.05
    total = force.sum(axis=1)
    np.testing.assert_allclose(total, MASS * GRAVITY * math.cos(slope), rtol=1e-6)
