"""Small worlds for the verification tests: MJCF in a string, a scenario as a dictionary."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.interaction.law import stored_energy
from marsyard.scenario import validate
from marsyard.simulation import Simulation

G = 9.81

#: size of the rows of `Records.stats`
CONTACTS, ITERATIONS, RESIDUAL, UNCONVERGED, LIMITED, PENETRATION = range(6)


def mjcf(bodies: str, more: str = "", option: str = "") -> str:
    """A model of some bodies; inertias come from the geoms unless given."""
    return (
        f'<mujoco><compiler angle="radian" autolimits="true"/>{option}'
        f"<worldbody>{bodies}</worldbody>{more}</mujoco>"
    )


def ball(radius: float = 0.1, mass: float = 1.0, name: str = "ball", pos: str = "0 0 0") -> str:
    """A free solid ball."""
    return (
        f'<body name="{name}" pos="{pos}"><freejoint name="{name}_free"/>'
        f'<geom type="sphere" size="{radius}" mass="{mass}"/></body>'
    )


def box(half: str = "0.2 0.2 0.1", mass: float = 1.0, name: str = "box", pos: str = "0 0 0") -> str:
    """A free solid box."""
    return (
        f'<body name="{name}" pos="{pos}"><freejoint name="{name}_free"/>'
        f'<geom type="box" size="{half}" mass="{mass}"/></body>'
    )


def simulation(folder: Path, model: str, **parts: Any) -> Simulation:
    """A simulation of an MJCF text; `parts` are those of a scenario (robot without its name)."""
    path = folder / "model.xml"
    path.write_text(model)
    robot = {"name": str(path), **parts.pop("robot", {})}
    parts.setdefault("gravity", G)
    return Simulation(validate({"robot": robot, **parts}))


def energy(sim: Simulation) -> np.ndarray:
    """Kinetic and potential energy at every record [J]."""
    return sim.records.energy.sum(axis=1) + stored_energy(sim.laws, sim.records.coordinates)


def order(errors: list[float], ratio: float = 2.0) -> float:
    """Measured order of convergence of errors at steps h, h/ratio, h/ratio², …"""
    e = np.log(errors)
    return float(np.polyfit(-np.log(ratio) * np.arange(len(e)), e, 1)[0])


def digest(sim: Simulation) -> str:
    """Hash of the state and of all records."""
    out = hashlib.sha256(sim.state().hash().encode())
    for array in sim.records:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()


def impacting_stick(folder: Path) -> tuple[Simulation, np.ndarray, np.ndarray, float]:
    """A stick meets the ground with one end at 1 m/s, e = 1 and μ = 0.01: the end slides one way
    before the impact and the other way after it. Returns the simulation, the velocities of the end
    before and after [m/s], and the energy before [J]."""
    stick = (
        '<body name="stick"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".08 .08 .001"/>'
        '<geom type="sphere" size=".01" pos="0 0 -.5"/>'
        '<geom type="sphere" size=".01" pos="0 0 .5"/></body>'
    )
    tilt = 0.5
    low = 0.5 * math.cos(tilt) + 0.01
    sim = simulation(
        folder, mjcf(stick), robot={"position": [0, 0, low + 1e-6], "attitude": [0, tilt, 0]},
        interaction={"friction": 0.01, "restitution": 1.0}, gravity=0.0,
        run={"duration": 0.01, "step": 1e-3, "record_period": 1e-3},
    )  # fmt: skip
    arm = np.array([-0.5 * math.sin(tilt), 0, -0.5 * math.cos(tilt) - 0.01])

    def velocity() -> np.ndarray:
        spin = sim.data.body("stick").xmat.reshape(3, 3) @ sim.qvel[3:6]
        return sim.qvel[:3] + np.cross(spin, arm)

    sim.qvel[:3] = [0.8, 0, -1.0]
    sim.step(0)
    before = velocity()
    sim.step(2)
    return sim, before, velocity(), 0.5 * (0.8**2 + 1.0**2)
