"""Insertion and lock of the docking with contact, from aside: forces of the paper and momentum.

The tool starts 5 cm beside the nozzle's axis and tilted; the bell leads it to the throat.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard import load_scenario
from marsyard.simulation import Simulation

TILT = np.radians(0.1)


@pytest.fixture(scope="module")
def run():
    scenario = load_scenario(
        "docking/smart-olev",
        {
            "robot.position": [0.05, 0.0, 0.0],
            "robot.attitude": [TILT, 0.0, 0.0],
            **{f"parameters.tilt_{a}": TILT if a == "x" else 0.0 for a in "xyz"},
            "run.duration": 51,
        },
    )
    return Simulation(scenario).run()


@pytest.fixture(scope="module")
def ds(run):
    return run.dataset()


def size(ds, pair):
    """Size of a pair's force over time [N]."""
    return np.linalg.norm(ds.pair_force.sel(pair=pair).transpose("time", "axis").values, axis=1)


def test_insertion_hardly_needs_force(ds):
    early = ds.sel(time=slice(0, 39.9))
    assert 0.1 < max(size(early, p).max() for p in ("tool", "crown", "bolt")) < 10.0
    # nothing before the tool's tip reaches the nozzle, nothing at the brackets
    assert float(ds.sel(time=slice(0, 25)).pair_faces.max()) == 0
    assert float(ds.pair_faces.sel(pair=["bracket1", "bracket2", "bracket3"]).max()) == 0


def test_lock_presses_with_a_hundred_newton(ds):
    late = ds.sel(time=slice(49.0, 49.9))
    axial = late.pair_force.sel(axis="z")
    assert axial.sel(pair="crown").values == pytest.approx(100.0, abs=5.0)
    # the shoulder carries what the crown pulls, but for what the boom takes
    assert axial.sel(pair="tool").values == pytest.approx(-100.0, abs=5.0)
    assert float(ds.pair_depth.max()) < 0.5e-3
    # with less force of the drive, which goes further than the wires do at the wall
    assert float(late.slide_force.sel(slide="crown_slide").max()) == pytest.approx(62.0)
    assert 6.5e-3 < float(ds.slide_position.sel(slide="crown_slide")[-1]) < 8e-3


def test_lock_excites_bending(ds):
    def bend(start, end):
        late = ds.sel(time=slice(start, end)).joint_angle
        return float(np.hypot(late.sel(joint="cdm_x"), late.sel(joint="cdm_y")).max())

    assert bend(0.0, 25.0) < 1e-5 < 1e-3 < bend(47.0, 51.0)


def test_momentum_of_the_pair_stays_zero(run):
    mujoco.mj_forward(run.model, run.data)
    mujoco.mj_subtreeVel(run.model, run.data)
    # against the 1.4 N·s of the tool on its way
    assert np.abs(2450 * run.data.subtree_linvel[0]).max() < 1e-10
    assert np.abs(run.data.subtree_angmom[0]).max() < 1e-9


def test_motion_of_the_client_is_recorded(run, ds):
    # against MuJoCo's own kinematics at the last record
    data = mujoco.MjData(run.model)
    data.qpos[:], data.qvel[:] = run.records.coordinates[-1], run.records.velocities[-1]
    mujoco.mj_forward(run.model, data)
    twist = np.zeros(6)
    client = run.model.body("client").id
    mujoco.mj_objectVelocity(run.model, data, mujoco.mjtObj.mjOBJ_XBODY, client, twist, 0)
    end = ds.isel(time=-1).sel(floating="client")
    assert end.floating_position.values == pytest.approx(data.xpos[client], abs=1e-12)
    assert end.floating_velocity.values == pytest.approx(twist[3:], abs=1e-12)
    assert float(end.floating_rate) == pytest.approx(np.linalg.norm(twist[:3]), rel=1e-9)
    # angle of the rotation matrix; the client starts untilted
    cosine = (np.trace(data.xmat[client].reshape(3, 3)) - 1) / 2
    assert float(end.floating_turn) == pytest.approx(np.arccos(cosine), abs=1e-6) != 0
    assert float(end.floating_displacement) == pytest.approx(
        np.linalg.norm(data.xpos[client] - run.model.body("client").pos), rel=1e-9
    )
