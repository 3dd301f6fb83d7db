"""Tracks on soil: a single belt in a rig against Bekker's and Janosi's closed forms, the belt as a
string, and the rover's energy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml

from marsyard.scenario import validate
from marsyard.simulation import Simulation

G = 9.81
LENGTH, WIDTH, ROLLER = 1.0, 0.15, 0.02
RADIUS = ROLLER  # pitch radius, for a belt without thickness
MASS = 60.0
SOIL = {
    "name": "dry_sand", "k_c": 0.0, "k_phi": 2e6, "exponent": 1.0, "cohesion": 500.0,
    "friction_angle": 0.5, "shear_modulus": 0.02, "shear_modulus_lateral": 0.02,
}  # fmt: skip


def rig(folder, tension=None, wheels=11, soil=None, speed=0.0, slip=0.0, duration=1.0, **run):
    """A belt on a guide: driven along x with `speed`, free up and down, under its weight, damped
    so well that it does not sink deeper than it rests."""
    model = f"""<mujoco><worldbody>
      <body name="carriage" pos="0 0 {ROLLER}">
        <joint name="x" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="0.1" diaginertia="0.01 0.01 0.01"/>
        <body name="frame"><joint name="z" type="slide" axis="0 0 1"/>
          <inertial pos="0 0 0" mass="{MASS - 1}" diaginertia="1 1 1"/>
          <body name="sprocket" pos="{-LENGTH / 2} 0 0"><joint name="s" axis="0 1 0"/>
            <inertial pos="0 0 0" mass="1" diaginertia="0.001 0.001 0.001"/></body>
        </body></body></worldbody></mujoco>"""
    (folder / "rig.xml").write_text(model)
    ends = np.linspace(-LENGTH / 2, LENGTH / 2, wheels)
    rollers = [{"x": float(x), "z": 0.0, "radius": ROLLER} for x in ends]
    track = {
        "body": "frame", "joint": "s", "width": WIDTH, "sprocket": rollers[0],
        "idler": rollers[-1], "road_wheels": rollers, "tension": tension,
    }  # fmt: skip
    robot = {"model": "rig.xml", "base": "carriage", "tracks": {"T": track}}
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot))
    belt = speed / (1 - slip) / RADIUS
    sim = Simulation(
        validate(
            {
                "robot": {"name": str(folder / "robot.yaml")},
                "ground": [{"kind": "terrain", "soil": soil or SOIL, "spacing": 0.01}],
                "gravity": G,
                "interaction": {"soil": {"damping": 2e5, "slip_transport": False, "flow": False}},
                "control": [
                    {"joints": "x", "speed": f"{speed}*min(t, 1)"},
                    {"joints": "s", "speed": f"{belt}*min(t, 1)"},
                ],
                "run": {"duration": duration, "step": 1e-3, "record_period": 0.05, **run},
            }
        )
    )
    return sim.run()


def sinkage(sim):
    ds = sim.dataset()
    return float(-ds.slide_position.sel(slide="z").values[-10:].mean())


def test_standing_belt_sinks_as_bekker_says(tmp_path):
    # W = ∫ b k z dx over the flat run and the two round ends
    z = sinkage(rig(tmp_path, duration=2.0))
    k = SOIL["k_phi"]
    ends = 2 * WIDTH * k * _under_a_circle(z)
    assert WIDTH * LENGTH * k * z + ends == pytest.approx(MASS * G, rel=0.01)
    # Bekker's uniform pressure, without the ends: within their share
    assert z == pytest.approx(MASS * G / (WIDTH * LENGTH * k), rel=0.02)


def _under_a_circle(z):
    """∫ (depth below the surface) dx ahead of the lowest point of a roller [m²]."""
    x = np.linspace(0.0, math.sqrt(max(2 * ROLLER * z - z * z, 0.0)), 400)
    return float(np.trapezoid(z - (ROLLER - np.sqrt(ROLLER**2 - x**2)), x))


@pytest.mark.parametrize("slip", [0.05, 0.2, 0.6])
def test_thrust_is_janosis(tmp_path, slip):
    # F = (A c + W tan φ) (1 − K/(i l) (1 − exp(−i l/K))), less the compaction resistance
    # b k z²/2 at the front; the torque on the sprocket is that of the thrust alone
    sim = rig(tmp_path, speed=0.1, slip=slip, duration=15.0, record_period=0.1)
    ds = sim.dataset()
    length = LENGTH + math.sqrt(2 * ROLLER * sinkage(sim))
    share = slip * length / SOIL["shear_modulus"]
    strength = length * WIDTH * SOIL["cohesion"] + MASS * G * math.tan(SOIL["friction_angle"])
    thrust = strength * (1 - (1 - math.exp(-share)) / share)
    pull = float(ds.track_force.values[-30:, 0, 0].mean())
    resistance = WIDTH * SOIL["k_phi"] * sinkage(sim) ** 2 / 2
    assert pull == pytest.approx(thrust - resistance, rel=0.04)
    torque = float(ds.motor_torque.sel(joint="s").values[-30:].mean())
    assert torque / RADIUS == pytest.approx(thrust, rel=0.04)


def test_belt_gives_way_like_a_string(tmp_path):
    # T w'' + b k (z₀ − w) = 0 between two road wheels on soil of exponent 1:
    # w = z₀ (1 − cosh(β x)/cosh(β s/2)), β² = b k/T
    tension = 4000.0
    sim = rig(tmp_path, tension=tension, wheels=6, duration=3.0)
    belts = sim.world.soil.laws[0].belts
    place, rise = belts.place[0, :51], belts.rise[0, :51]
    z = sinkage(sim)
    span = LENGTH / 5
    beta = math.sqrt(WIDTH * SOIL["k_phi"] / tension)
    x = place[20:31] - place[20:31].mean()
    string = z * (1 - np.cosh(beta * x) / np.cosh(beta * span / 2))
    assert string.max() > 0.2 * z
    assert rise[20:31] == pytest.approx(string, abs=0.05 * string.max())
    assert np.all(rise[::10] == 0.0)
    # a slack belt leaves the weight to the road wheels, which sink deeper
    taut = sinkage(rig(tmp_path, tension=None, wheels=6, duration=3.0))
    assert z > 1.15 * taut


def test_rover_on_soil_keeps_its_books():
    # work of the motors = gain of energy + work taken by the soil
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "ground": [
                    {
                        "kind": "terrain",
                        "terrain": {"layers": [{"kind": "plane", "slope": "10 deg"}]},
                        "soil": "dry_sand",
                    }
                ],
                "gravity": G,
                "control": [{"joints": "drives", "speed": 1.5}],
                "run": {"duration": 4.0, "step": 1e-3, "record_period": 0.1},
            }
        )
    ).run()
    ds = sim.dataset()
    energy = ds.energy_kinetic + ds.energy_potential
    gained = float(energy[-1] - energy[0])
    assert gained > 0
    spent = float(ds.energy_motors[-1] - ds.energy_motors[0])
    soil = float(ds.energy_soil[-1] - ds.energy_soil[0])
    assert spent == pytest.approx(gained + soil, rel=2e-3)
    # it climbs, slower than its belts, and its tracks carry its weight
    speed = np.linalg.norm(ds.velocity_base.values[-5:].mean(axis=0))
    assert 0.5 < speed / (1.5 * 0.075) < 0.999
    assert float(ds.track_force.values[-10:, :, 2].sum(axis=1).mean()) == pytest.approx(
        float(ds.attrs["weight"]), rel=0.01
    )


def test_state_of_a_belt_is_saved_and_restored(tmp_path):
    sim = rig(tmp_path, tension=2000.0, wheels=6, speed=0.1, slip=0.2, duration=0.5)
    state = sim.state()
    sim.step(200)
    ahead = sim.state().hash()
    sim.restore(state)
    sim.step(200)
    assert sim.state().hash() == ahead
