"""The docking's drives and attitude control, with contact left out: momentum, ways, limits."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard import load_scenario
from marsyard.simulation import Simulation


def docking(**changes):
    given = {
        "interaction.law": "none",
        "interaction.polygonal.pairs": [],
        **{k.replace("__", "."): v for k, v in changes.items()},
    }
    return Simulation(load_scenario("docking/smart-olev", given))


def joint(sim, name):
    """A joint's way over the records."""
    return sim.records.coordinates[:, sim.model.joint(name).qposadr[0]]


def momentum(sim):
    """Linear and angular momentum about the common centre of mass, in the world."""
    mujoco.mj_forward(sim.model, sim.data)
    mujoco.mj_subtreeVel(sim.model, sim.data)
    return sim.model.body_subtreemass[0] * sim.data.subtree_linvel[0], sim.data.subtree_angmom[0]


def test_the_tool_comes_to_its_seat_slowly():
    sim = docking(run__duration=40, run__record_period=0.1).run()
    z, way, time = sim.records.base_position[:, 2], joint(sim, "cdm_extend"), sim.records.time
    goal, creep = (sim.scenario.parameters[k] for k in ("goal", "creep"))
    there = time[np.argmax(z + way > goal)]
    assert 30 < there < 36
    # through the nozzle at 25 mm/s, past the seat at the speed of creeping
    speed = np.diff(way) / 0.1
    inside = (z + way)[1:] > goal - 0.34
    assert speed[inside].max() < 0.0251
    assert speed[time[1:] > there + 1] == pytest.approx(creep, rel=1e-3)
    # the tug goes back by the share of the mass that goes forth: 5 + 13 kg of 1000 kg
    assert z[-1] == pytest.approx(-0.018 * way[-1], rel=1e-3)
    assert speed.max() < 0.0851


def test_momentum_stays_zero():
    sim = docking(run__duration=220).run()
    linear, angular = momentum(sim)
    # against what moves: 18 kg at 85 mm/s
    assert np.abs(linear).max() < 1e-6 * 18 * 0.085
    assert np.abs(angular).max() < 1e-6 * 18 * 0.085
    assert np.ptp(sim.records.com, axis=0).max() < 1e-8


def test_wheels_bring_the_tug_to_its_attitude_within_their_torque():
    sim = docking(robot__attitude=[0.05, -0.03, 0.06], run__duration=300, control=[
        law.model_dump(exclude_none=True) | {"end": 300.0}
        for law in load_scenario("docking/smart-olev").control if "wheel" in str(law.joints)
    ]).run()  # fmt: skip
    w, x, y, z = sim.records.base_quaternion[-1]
    off = 2 * np.array([x, y, z]) * np.sign(w)
    p = sim.scenario.parameters
    assert off == pytest.approx([p["tilt_x"], p["tilt_y"], p["tilt_z"]], abs=1e-4)
    torques = sim.records.torque[:, :3]
    assert np.abs(torques).max() == pytest.approx(p["torque"], rel=1e-9)
    # what the tug has lost the wheels hold
    _, angular = momentum(sim)
    assert np.abs(angular).max() < 1e-6


def test_the_pair_draws_itself_in_by_its_drive_alone():
    # energy of the whole run: what the drives do is kept or damped, none appears
    sim = docking(run__duration=230).run()
    ds = sim.dataset()
    assert float(ds.energy_motors[-1]) >= float(ds.energy_kinetic[-1] + ds.energy_potential[-1]) - (
        float(ds.energy_kinetic[0] + ds.energy_potential[0]) + 1e-9
    )
    assert joint(sim, "cdm_extend")[-1] < 0.02
    # nothing bends a boom that only slides
    assert max(np.abs(joint(sim, n)).max() for n in ("cdm_x", "cdm_y")) < 1e-5
