"""Ten thousand short runs: all there, once each, at little cost beside the runs themselves."""

from __future__ import annotations

import resource
import time
from collections import Counter

import pytest

import marsyard
from marsyard.campaign.journal import read_records

pytestmark = pytest.mark.soak
RUNS = 10_000
STUDY = {
    "scenario": "rt0448/test-1",
    "set": {"run.duration": 0.01},
    "design": {"kind": "monte_carlo", "n": RUNS},
    "vary": {"robot.velocity.0": "uniform(0, 0.1)", "gravity": "uniform(3, 4)"},
    "outputs": [{"name": "way", "of": "position_base.x", "take": "range", "unit": "mm"}],
}


def test_ten_thousand_short_runs(tmp_path):
    marsyard.sweep({**STUDY, "design": {"kind": "monte_carlo", "n": 20}}, jobs=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    found = marsyard.sweep(STUDY, jobs=2, out=tmp_path / "out")
    spent = time.process_time() - began
    assert not found.failures and len(found.outcomes) == RUNS
    done = Counter(r["point"] for r in read_records(tmp_path / "out/finished.log"))
    assert done == Counter(range(RUNS))
    # of this process: handing out, writing and drawing; the runs are elsewhere
    assert spent / RUNS < 2e-3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 300e3  # kB
