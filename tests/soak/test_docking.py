"""The whole docking, 300 s: the story of Krenn and Hirzinger 2008, section II.C."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import pytest

from marsyard import load_scenario
from marsyard.results import answer_all, evaluate_all, series
from marsyard.simulation import Simulation

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def run():
    sim = Simulation(load_scenario("docking/smart-olev"))
    sim.warm_up()
    began = time.process_time()
    sim.run()
    sim.cpu = time.process_time() - began
    return sim


@pytest.fixture(scope="module")
def ds(run):
    return run.dataset()


def test_faster_than_real_time_on_one_core(run):
    assert run.cpu < 300.0


def test_checks_pass_and_questions_are_answered(run, ds):
    report = run.scenario.report
    assert all(c.ok for c in evaluate_all(ds, report.checks))
    answers = [a.answer for a in answer_all(ds, report.questions)]
    assert answers == ["yes", "yes", "see note", "yes", "measured"]


def test_momentum_of_the_pair_stays_zero(run):
    mujoco.mj_forward(run.model, run.data)
    mujoco.mj_subtreeVel(run.model, run.data)
    assert np.abs(2450 * run.data.subtree_linvel[0]).max() < 1e-10
    assert np.abs(run.data.subtree_angmom[0]).max() < 1e-9


def test_bending_is_slowly_damped(ds):
    def swing(start, end):
        return float(series(ds.sel(time=slice(start, end)), "pair_force.crown.x").max())

    assert swing(50, 70) > swing(120, 140) > swing(200, 218) > 1.0


def test_touch_down_takes_some_seconds(ds):
    first = sorted(
        float(ds.time[int(np.argmax(series(ds, f"pair_faces.bracket{k}").values > 0))])
        for k in (1, 2, 3)
    )
    assert first[0] > 218 and first[-1] < 232 and first[-1] - first[0] > 2.0
