"""Small worlds for the verification tests: MJCF in a string, a scenario as a dictionary."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

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
    return sim.records.energy.sum(axis=1)


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
