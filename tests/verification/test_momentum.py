"""Internal forces do not move the centre of mass: servos, stops and loops of a falling robot."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import mjcf, simulation

from marsyard.scenario import validate
from marsyard.simulation import Simulation

G = 3.69


def falls(sim):
    """Largest deviation of the centre of mass from g t²/2, and of its speed from g t."""
    r = sim.records
    fallen = r.com[0, 2] - r.com[:, 2] - 0.5 * G * r.time**2
    return np.abs(fallen).max(), np.abs(r.com_velocity[:, 2] + G * r.time).max()


def test_a_servo_against_a_stop_inside_a_loop_does_not_move_the_robot():
    # the lift and the reach of the leg stand at their stops from 0.04 s on
    sim = Simulation(
        validate(
            {
                "robot": {"name": "leg_2001"}, "ground": [], "gravity": G,
                "control": [{"joints": "legs", "speed": 1.0}],
                "run": {"duration": 0.77},
            }
        )
    )  # fmt: skip
    sim.run()
    place, speed = falls(sim)
    assert place < 0.01 and speed < 0.02  # of 1.09 m and 2.84 m/s
    # an ideal motor pushes with its gain times the speed it misses, and does not wind up
    late = np.abs(sim.records.torque[sim.records.time > 0.1]).max()
    assert late < 2.2e5


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_motors_against_stops_of_a_free_chain_keep_its_momentum(tmp_path, theta):
    link = '<geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5"/>'
    chain = mjcf(
        '<body name="base"><freejoint/><geom size="0.1" mass="2"/>'
        f'<body pos="0.1 0 0"><joint name="a" axis="0 1 0" range="-0.5 0.5"/>{link}'
        f'<body pos="0.3 0 0"><joint name="b" axis="0 1 0" range="-0.3 0.3"/>{link}'
        "</body></body></body>"
    )
    sim = simulation(
        tmp_path, chain, gravity=G, ground=[], control=[{"joints": ["a", "b"], "speed": 3.0}],
        run={"duration": 0.5, "theta": theta},
    )  # fmt: skip
    sim.run()
    place, speed = falls(sim)
    assert place < 2e-3 and speed < 5e-3
    # once both are at their stops, nothing turns any more but the whole
    assert np.abs(sim.qvel[6:]).max() < 1e-6
