"""Insertion and lock of the docking with contact: forces of the paper, momentum, and from aside."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard import load_scenario
from marsyard.simulation import Simulation


def locked(position, tilt=0.0):
    """The run from the start to two seconds after locking."""
    scenario = load_scenario(
        "docking/smart-olev",
        {
            "robot.position": list(position),
            "robot.attitude": [tilt, 0.0, 0.0],
            **{f"parameters.tilt_{a}": tilt if a == "x" else 0.0 for a in "xyz"},
            "run.duration": 52,
            "run.record_period": 0.1,
        },
    )
    return Simulation(scenario).run()


@pytest.fixture(scope="module")
def run():
    return locked((0.004, -0.003, 0.0), np.radians(0.1))


@pytest.fixture(scope="module")
def slightly_off(run):
    return run.dataset()


def size(ds, pair):
    """Size of a pair's force over time [N]."""
    return np.linalg.norm(ds.pair_force.sel(pair=pair).transpose("time", "axis").values, axis=1)


def test_insertion_hardly_needs_force(slightly_off):
    ds = slightly_off.sel(time=slice(0, 39.9))
    assert sum(size(ds, p).max() for p in ("tool", "crown", "bolt")) < 10.0
    # only the bolt and the tool can touch: the folded crown stands behind the bolt's head
    assert float(ds.pair_faces.sel(pair=["bracket1", "bracket2", "bracket3"]).max()) == 0


def test_lock_presses_with_a_hundred_newton(slightly_off):
    late = slightly_off.sel(time=slice(49.0, 49.9))
    axial = late.pair_force.sel(axis="z")
    assert axial.sel(pair="crown").values == pytest.approx(100.0, rel=0.03)
    # the shoulder carries what the crown pulls, but for what the boom takes
    assert axial.sel(pair="tool").values == pytest.approx(-100.0, rel=0.1)
    assert float(slightly_off.pair_depth.max()) < 0.5e-3
    assert float(slightly_off.joint_angle.sel(joint="crown_slide")[-1]) > 5e-3


def test_lock_excites_bending(slightly_off):
    def bend(start, end):
        late = slightly_off.sel(time=slice(start, end)).joint_angle
        return float(np.hypot(late.sel(joint="cdm_x"), late.sel(joint="cdm_y")).max())

    assert bend(0.0, 25.0) < 1e-5 < 1e-3 < bend(47.0, 52.0)


def test_tool_finds_its_seat_from_aside():
    # 5 cm beside the axis, the bell leads the bolt to the throat
    ds = locked((0.05, 0.0, 0.0)).dataset()
    end = ds.isel(time=-1).pair_force.sel(axis="z")
    assert float(end.sel(pair="crown")) == pytest.approx(95.0, abs=10.0)
    assert float(end.sel(pair="tool")) == pytest.approx(-95.0, abs=10.0)


def test_momentum_of_the_pair_stays_zero(run):
    mujoco.mj_forward(run.model, run.data)
    mujoco.mj_subtreeVel(run.model, run.data)
    # against the 1.4 N·s of the tool on its way
    assert np.abs(2450 * run.data.subtree_linvel[0]).max() < 1e-10
    assert np.abs(run.data.subtree_angmom[0]).max() < 1e-9
