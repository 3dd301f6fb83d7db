"""The studies in examples/sweep: all can be run, and what one of them gives is Coulomb's law."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

import marsyard
from marsyard.campaign import prepared

EXAMPLES = sorted((Path(__file__).parents[2] / "examples/sweep").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_study(path):
    ready = prepared(path)
    assert len(ready) >= 10 and ready.study.title and ready.study.description


def test_a_vehicle_climbs_where_friction_exceeds_the_tangent_of_the_slope():
    path = next(p for p in EXAMPLES if p.stem == "climb")
    study = yaml.safe_load(path.read_text())
    study["vary"]["friction"] = [0.3, 0.5]
    together = study["vary"]["slope"]["together"]
    study["vary"]["slope"]["together"] = {p: values[1:3] for p, values in together.items()}
    ds = marsyard.sweep(study, jobs=1).data
    assert ds.slope.values.tolist() == [15.0, 25.0] and ds.slope.attrs["units"] == "deg"
    coulomb = ds.friction > np.tan(math.pi / 180 * ds.slope)
    assert (ds.succeeded == coulomb).all() and set(ds.succeeded.values.flat) == {0, 1}


@pytest.mark.soak
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    found = marsyard.sweep(path, out=tmp_path / "out")
    assert not found.failures and found.report.exists()
    assert list((tmp_path / "out/figures").glob("*.png"))
