"""Controllers in the engine on rough sand: what the papers state of them.

Ding et al. 2011, section 5.2.3 and Fig. 19 (slip-ratio-coordinated control, path following); D. M.
Helmick et al., Advanced Robotics 20, 2006 (slip compensation). Neither prints numbers that could be
compared with; their statements can be.
"""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control import SinkageEstimator
from marsyard.results.dataset import series
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

SHORT = {"run.step": "2 ms", "drive.period": "0.2 s"}


def drive(name, **settings):
    return Simulation(load_scenario(name, {**SHORT, **settings})).run()


@pytest.mark.parametrize(
    ("compensate", "least", "most"),
    [(True, 0.0, 0.05), pytest.param(False, 0.15, 0.4, marks=pytest.mark.soak)],
)
def test_ten_metres_of_path_on_rough_sloping_sand(compensate, least, most):
    sim = drive("control/path", **{"drive.following.compensate": compensate})
    data = sim.dataset()
    assert sim.done and float(data.path_distance[-1]) > 9.9
    offset = np.abs(data.path_offset.values)
    assert least <= offset.max() < most
    assert 0.7 * least <= offset[-1] < most
    if compensate:
        end = data.path.values[-1]
        assert np.hypot(*(sim.qpos[:2] - end)) < 0.05
        # the speed along the path is the one asked for, slip or not
        late = data.time.values > 5
        speed = np.polyfit(data.time.values[late], data.path_distance.values[late], 1)[0]
        assert speed == pytest.approx(0.05, rel=0.03)


@pytest.mark.parametrize(
    ("rover", "mode", "uphill"),
    [("curiosity_like", "double_ackermann", 0.044), ("sojourner", "ackermann", 0.006),
     ("rashid_like", "skid", 0.009)],
)  # fmt: skip
def test_rovers_that_cannot_crab_turn_their_nose(rover, mode, uphill):
    law = {"model": "wong_reece", "coefficients": {"peak_0": 0.4, "peak_1": 0.15}}
    sim = drive(
        "control/path",
        **{"robot.name": rover, "robot.position": [0, uphill, 1.5], "drive.mode": mode},
        **{"ground.0.soil": "mars_sand_zhou2023", "interaction.wheel": law},
        **{"drive.commands.0.path": [[0, 0], [1, 0.2], [2, 0.2], [3, 0.2]]},
    )
    data = sim.dataset()
    # set down on the slope they end up on the path
    assert abs(float(data.path_offset[0])) < 0.005
    assert sim.done and np.abs(data.path_offset).max() < 0.05
    assert abs(float(data.path_offset[-1])) < 0.025
    # the ground leads it downhill, its nose points uphill of where it goes
    late = data.time.values > 40
    drift = data.slip_angle.values[late].mean()
    assert drift < -np.radians(1)


def test_slips_agree_when_they_are_made_to():
    rough = {"ground.0.terrain.layers.0.roughness": "10 cm", "drive.commands.0.path.1": [4, 0]}
    spread = {}
    for share in ("rates", "slip"):
        data = drive("control/slip", **{"drive.share": share, **rough}).dataset()
        late = data.time.values > 10
        slip = data.slip_ratio.values[late]
        spread[share] = float(np.mean(slip.std(axis=1)))
    # of the recorder's slips, not of those the controller itself has seen
    assert spread["slip"] < 0.6 * spread["rates"]


def test_sinkage_from_pose_joints_and_map():
    short = {"drive.commands.0.path": [[0, 0], [0.6, 0]], "robot.attitude": [0, 0, 0]}
    sim = drive("control/path", **short)
    data = sim.dataset()
    estimator = SinkageEstimator("eldorado2_like", sim.world.soil.grid.terrain)
    for k in range(10, len(data.time), 10):
        roll, pitch, yaw = (float(series(data, name)[k]) for name in ("roll", "pitch", "yaw"))
        joints = dict(zip(sim.world.joints, data.joint_angle.values[k], strict=True))
        found = estimator.estimate(data.position_base.values[k], roll, pitch, yaw, joints)
        # the deepest point of the tread here, the lowest across the mean slope in the results
        assert found == pytest.approx(data.sinkage.values[k], abs=4e-3)
    assert data.sinkage.values[-1].min() > 0.003


def test_dead_reckoning_does_not_see_the_slip():
    short = {"drive.commands.0.path": [[0, 0], [3, 0]], "robot.attitude": [0, 0, 0]}
    sim = drive("control/path", **{"drive.sense.by": "wheel_odometry", **short})
    data = sim.dataset()
    # it believes to be on the path, and slides downhill by tan β of the way
    believed = data.position_sensed.values[5:-1, 1]
    assert np.abs(believed).max() < 0.03
    slid = sim.qpos[1] - data.position_base.values[0, 1]
    slope = np.tan(data.slip_angle.values[10:].mean())
    assert slid == pytest.approx(3 * slope, rel=0.25) and slid < -0.25
