"""Estimators and odometry against what the engine knows: a rover drives over rough soil."""

from __future__ import annotations

import numpy as np
import pytest

import marsyard
from marsyard.control import (
    Odometry,
    RoverKinematics,
    SinkageEstimator,
    Twist,
    WheelLayout,
    estimate_slip,
)
from marsyard.control.odometry import attitude_matrix
from marsyard.ground.terrain import build_terrain


@pytest.fixture(scope="module")
def drive():
    scenario = marsyard.load_scenario(
        "exomars/rough", {"run.duration": 30, "run.record_period": 0.1}
    )
    sim = marsyard.Simulation(scenario)
    sim.run()
    terrain = build_terrain(scenario.ground[0].terrain)
    return sim.dataset(), terrain, RoverKinematics("exomars", grousers=True)


def _joints(ds, k):
    return dict(zip(ds.joint.values.tolist(), ds.joint_angle.values[k].tolist(), strict=True))


def test_slip_from_the_twist_of_the_base(drive):
    """On uneven ground the plane layout misses the wheels' tilt: a few hundredths."""
    ds, _, kinematics = drive
    estimates = []
    for k in range(50, len(ds.time)):
        R = attitude_matrix(ds.quaternion_base.values[k])
        velocity = R.T @ ds.velocity_base.values[k]
        turn = (R.T @ ds.angular_velocity_base.values[k])[2]
        layout = WheelLayout.of(kinematics, _joints(ds, k))
        slip = estimate_slip(
            layout,
            Twist(velocity[0], velocity[1], turn),
            ds.wheel_rate.values[k],
            ds.steering_angle.values[k],
        )
        estimates.append(slip.ratio)
    error = np.array(estimates) - ds.slip_ratio.values[50:]
    true = ds.slip_ratio.values[50:]
    assert np.std(true) > 0.02
    assert np.sqrt(np.mean(error**2)) < 0.05
    assert np.corrcoef(np.ravel(estimates), np.ravel(true))[0, 1] > 0.85


def test_sinkage_from_pose_and_suspension(drive):
    """The engine's lowest point below the undisturbed ground, within the soil's grid of 2 cm."""
    ds, terrain, kinematics = drive
    estimator = SinkageEstimator(kinematics, terrain)
    error = []
    for k in range(0, len(ds.time), 10):
        R = attitude_matrix(ds.quaternion_base.values[k])
        roll, pitch = np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0])
        heading = np.arctan2(R[1, 0], R[0, 0])
        z = estimator.estimate(ds.position_base.values[k], roll, pitch, heading, _joints(ds, k))
        error.append(z - ds.sinkage.values[k])
    assert ds.sinkage.values.mean() > 0.005
    assert abs(np.mean(error)) < 1e-3
    assert np.max(np.abs(error)) < 5e-3


def test_dead_reckoning_is_off_by_the_slip(drive):
    ds, _, kinematics = drive
    position, attitude = ds.position_base.values, ds.quaternion_base.values
    odometry = Odometry(kinematics, position[0], attitude[0], _joints(ds, 0))
    for k in range(2, len(ds.time), 2):
        odometry.update(attitude[k], _joints(ds, k))
    true, found = position[-1] - position[0], odometry.position - position[0]
    slip = float(ds.slip_ratio.values.mean())
    assert true[0] > 1
    assert 1 - true[0] / found[0] == pytest.approx(slip, abs=0.02)
    assert np.abs(found - true)[1:].max() < 0.05
