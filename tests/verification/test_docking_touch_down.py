"""The end of the docking from near by: lock, touch down and preload with all pairs in contact.

The client starts where drawing in leaves it, its nozzle on the tool, the ring a millimetre above
the brackets: the crown locks, the boom pulls, the ring comes to rest on one bracket after another.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard import load_scenario
from marsyard.simulation import Simulation

pytestmark = pytest.mark.soak
START = 0.001
#: of the nozzle against the ring
ASIDE, TILT = 0.001, 0.0026179939
THROAT = 0.30

CONTROL = [
    {"joints": "crown_slide", "speed": 1e-3, "gain": 1e4, "limit": 62, "end": 2},
    {"joints": "crown_slide", "speed": 0, "gain": 1e7, "start": 2},
    {"joints": "cdm_extend", "speed": 0, "limit": 5, "end": 2},
    {"joints": "cdm_extend", "limit": 300, "start": 2,
     "speed": "-where(angle.cdm_spring < 0.0198, where(t < 9, 5e-4, 4e-3), 0)"},
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    scenario = load_scenario(
        "docking/smart-olev",
        {
            "robot.position": [0, 0, 0],
            "robot.attitude": [0, 0, 0],
            "robot.joints": {"cdm_extend": START, "crown_slide": 0.0068},
            "control": CONTROL,
            "run.duration": 14,
            "run.record_period": 0.05,
        },
    )
    sim = Simulation(scenario)
    # the nozzle, not the ring, is in line with the tool
    turn = np.array([np.cos(TILT / 2), 0, -np.sin(TILT / 2), 0])
    arm = np.zeros(3)
    mujoco.mju_rotVecQuat(arm, np.array([ASIDE, 0.0, THROAT]), turn)
    at = int(sim.model.joint("client").qposadr[0])
    sim.qpos[at : at + 3] = np.array([0.0, 0.0, 0.9 + THROAT + START]) - arm
    sim.qpos[at + 3 : at + 7] = turn
    return sim.run()


@pytest.fixture(scope="module")
def ds(run):
    return run.dataset()


def test_all_pairs_but_the_bolt_carry(ds):
    end = ds.isel(time=-1).pair_force.sel(axis="z")
    for k in (1, 2, 3):
        assert float(end.sel(pair=f"bracket{k}")) > 20.0
    # what the spring pulls the brackets push back: three of them against 198 N
    brackets = float(end.sel(pair=["bracket1", "bracket2", "bracket3"]).sum())
    pull = -float(ds.slide_force.sel(slide="cdm_extend")[-1])
    assert pull == pytest.approx(198.0, abs=1.0)
    assert brackets == pytest.approx(pull, abs=1.0)
    # and the tool's two contacts together
    assert float(end.sel(pair="crown") + end.sel(pair="tool")) == pytest.approx(pull, abs=1.0)
    assert float(end.sel(pair="tool")) < -5.0
    assert float(ds.pair_faces.sel(pair="bolt").max()) == 0


def test_momentum_of_the_pair_stays_zero(run):
    mujoco.mj_forward(run.model, run.data)
    mujoco.mj_subtreeVel(run.model, run.data)
    assert np.abs(2450 * run.data.subtree_linvel[0]).max() < 1e-10
    assert np.abs(run.data.subtree_angmom[0]).max() < 1e-9
    # the first record is of the pose before the client was moved
    assert np.ptp(run.records.com[1:], axis=0).max() < 1e-9


def test_ring_meets_the_brackets_one_after_the_other(ds):
    first = [
        float(ds.time[int(np.argmax(ds.pair_faces.sel(pair=f"bracket{k}").values > 0))])
        for k in (1, 2, 3)
    ]
    # tilted about y: the two on the left first, that on the right 2.6 mrad times 0.9 m later
    assert first[0] - max(first[1:]) > 1.0
    assert abs(first[1] - first[2]) < 0.5


def test_boom_ends_in_the_shape_of_an_s(ds):
    # cubic of a beam clamped at its root, w and θ at its tip: w''(0) and w''(L) differ in sign
    end = ds.isel(time=-1).joint_angle
    length = 1.26 + float(end.sel(joint="cdm_extend"))
    w, slope = float(end.sel(joint="cdm_x")), float(end.sel(joint="cdm_ry"))
    root = 6 * w / length**2 - 2 * slope / length
    tip = 4 * slope / length - 6 * w / length**2
    assert abs(w) > 2e-4 and root * tip < 0


def test_elastic_foundation_holds(ds):
    assert 1e-4 < float(ds.pair_depth.max()) < 0.5e-3
