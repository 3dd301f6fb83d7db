"""Sinkage of conical wheels counts to the rim of their large ends."""

from __future__ import annotations

import numpy as np
import pytest

import marsyard
from marsyard.scenario import validate

#: of marsokhod_like, at the large end [m]
LARGE = 0.175


def test_a_standing_cone_sinks_by_its_large_end():
    sand = {"kind": "terrain", "terrain": "flat", "soil": "krenn2008", "spacing": "2 cm"}
    data = {
        "robot": {"name": "marsokhod_like", "settle": True},
        "ground": [sand],
        "gravity": 3.72,
        "run": {"duration": 0.1, "step": "2 ms", "record_period": 0.02, "theta": 1},
    }
    ds = marsyard.run(validate(data, "cone")).data
    sunk, height = ds["sinkage"].values[-1], ds["wheel_position"].sel(axis="z").values[-1]
    # axles are level but for what the soil gives way on one side
    assert sunk == pytest.approx(LARGE - height, abs=2e-3)
    assert np.all(sunk > 1e-3) and np.all(sunk < 0.05)
