"""Cost of a field of rocks: a wheel over one rock in sand, alone and among some hundred others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import marsyard
from marsyard.ground import TriangleMesh
from marsyard.scenario import load_scenario, validate

ROCK = {"place": [0.3, 0], "diameter": 0.36, "height": 0.16, "seed": 2}
#: others keep off the wheel's way
FIELD = {
    "area": [[-3, 5], [-4, 4]],
    "coverage": 0.3,
    "smallest": 0.08,
    "largest": 0.4,
    "height_ratio": 0.6,
    "clear": [{"centre": [x, 0], "radius": 0.2} for x in (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8)],
}
DURATION, STEP = 9.0, 1e-3


def _scenario(law: str, field: bool) -> Any:
    rocks: dict[str, Any] = {"kind": "rocks", "name": "rocks", "rocks": [ROCK]}
    if field:
        rocks["field"] = FIELD
    sand = {"kind": "terrain", "name": "sand", "soil": "mars_sand_zhou2023", "spacing": "1 cm"}
    return validate(
        {
            "robot": {
                "name": "single_wheel_rig",
                "springs": {"steer": {"stiffness": 1e6, "damping": 1e3}},
            },
            "ground": [sand, rocks],
            "gravity": 0,
            "interaction": {"law": law, "friction": 0.7, "polygonal": {"refine": 3}},
            "parameters": {"speed": 0.06, "radius": 0.125, "load": 150},
            "control": [
                {"joints": "lift", "torque": "-load*min(1, t)"},
                {"joints": "travel", "speed": "speed*min(1, max(0, t - 0.5))"},
                {"joints": "wheel_y", "speed": "speed/radius*min(1, max(0, t - 0.5))"},
            ],
            "run": {"duration": DURATION, "step": STEP, "record_period": 0.05, "theta": 1},
        },
        "rocks",
    )


def _cost(law: str, field: bool) -> tuple[float, int, np.ndarray]:
    """Processor time of a run [s], triangles, path of the wheel."""
    sim = marsyard.Simulation(_scenario(law, field))
    begin = time.process_time()
    sim.run()
    spent = time.process_time() - begin
    (mesh,) = sim.world.surfaces
    assert isinstance(mesh, TriangleMesh)
    return spent, len(mesh.triangles), sim.dataset().wheel_position.values[:, 0]


def run() -> list[dict]:
    """The benchmark's rows: name, value, unit, bar, ok, note."""
    rows = []

    def add(name: str, value: float, unit: str, bar: float, note: str) -> None:
        rows.append(
            {
                "name": name, "value": value, "unit": unit, "bar": f"≤ {bar:g}",
                "ok": bool(value <= bar), "note": note,
            }
        )  # fmt: skip

    for law in ("polygonal", "nonsmooth"):
        _cost(law, False)
        # in turn, so that a busy machine slows both
        spent = np.array([[_cost(law, field)[0] for field in (False, True)] for _ in range(3)])
        one, many = spent.min(axis=0)
        _, few, alone = _cost(law, False)
        _, all_, among = _cost(law, True)
        same = float(np.abs(alone - among).max())
        add(
            f"{law}: among hundreds of rocks over one rock", many / one, "×", 1.25,
            f"{all_ // 320} rocks against {few // 320}; the wheel's path differs by {same:.1g} m; "
            f"{1e6 * one * STEP / DURATION:.0f} µs a step",
        )  # fmt: skip
    made = load_scenario("exomars/rocks-and-sand", {"run.duration": 40})
    sim = marsyard.Simulation(made)
    begin = time.process_time()
    sim.run()
    spent_rover = time.process_time() - begin
    add(
        "exomars in rocks and sand", spent_rover / 40, "s/s", 1.0,
        "processor time for a simulated second, six wheels in rocks and sand",
    )  # fmt: skip
    return rows
