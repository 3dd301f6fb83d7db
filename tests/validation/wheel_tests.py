"""Single-wheel tests of the literature: the measured rows, and the same tests in marsyard.

Each test is the scenario soil/wheel with another wheel, load and soil, as a user would set it. No
number of a soil is fitted to the rows it is compared with; where one is (`dragged`), the name says
so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.analysis import WheelData, read_wheel_data

FOLDER = Path(__file__).parents[2].parent / "shared" / "reference" / "wheel-tests"


@dataclass(frozen=True)
class Bench:
    """A wheel, its load and soil; lengths [m], force [N], speed [m/s]."""

    radius: float
    width: float
    load: float
    soil: str
    grousers: float = 0.0
    count: int = 0
    spacing: float = 0.01
    speed: float = 0.1
    dragged: float = 0.0  # thickness of the layer a smooth wheel drags along

    def dragging(self, layer: float) -> Bench:
        return replace(self, dragged=layer)


#: Ding et al. 2011, Harbin: K is published as 9.7 to 13.1 mm, 11 mm is taken
DING_SMOOTH = Bench(0.15735, 0.165, 80.0, "hit_lss1")
DING_LUGS = replace(DING_SMOOTH, grousers=0.010, count=30)
#: Ishigami et al. 2005, Tohoku; the load is that of the same authors' later papers
ISHIGAMI = Bench(0.09, 0.10, 64.7, "fjs_1")
#: Pavlov, Carnegie Mellon: its soil has no parameters here, a dry sand of the handbooks stands in
PAVLOV = Bench(0.058, 0.05, 24.0, "dry_sand", spacing=0.005)


@cache
def steady(bench: Bench, slip: float, slip_angle: float = 0.0) -> dict[str, float]:
    """Means of the last third of six seconds: pull, side [N], torque [N·m], sinkage [m], …

    slip_angle [deg] > 0: the wheel is steered to the left of its way.
    """
    import marsyard

    tip = bench.radius + bench.grousers
    soil: dict[str, Any] = {"name": bench.soil}
    if bench.dragged:
        soil["shear_layer"] = bench.dragged
    settings: dict[str, Any] = {
        "parameters.slip": slip,
        "parameters.load": bench.load,
        "parameters.speed": bench.speed,
        "parameters.radius": tip,
        "parameters.slip_angle": math.radians(slip_angle),
        "robot.wheel.radius": bench.radius,
        "robot.wheel.width": bench.width,
        "robot.joints": {"steer": math.radians(slip_angle), "lift": tip - 0.125},
        "ground.0.soil": soil,
        "ground.0.spacing": bench.spacing,
        "run.duration": 6.0,
    }
    if bench.grousers:
        settings["robot.wheel.grousers"] = {"height": bench.grousers, "count": bench.count}
    data = marsyard.run("soil/wheel", settings=settings, study=False).data
    late = data.sel(time=slice(4, None)).isel(wheel=0).mean("time")
    names = {
        "pull": "drawbar_pull", "side": "side_force", "torque": "driving_torque",
        "sinkage": "sinkage", "load": "wheel_load", "slip": "slip_ratio",
    }  # fmt: skip
    return {short: float(late[name]) for short, name in names.items()}


# --- measured


def there() -> bool:
    """The measured data lie beside this checkout."""
    return FOLDER.is_dir()


def _read(name: str, *where: str, **options: Any) -> WheelData:
    return read_wheel_data(FOLDER / name, where=where, **options)


def ding(kind: str) -> list[dict[str, float]]:
    """Rows of "smooth" or "lug10": slip, pull, torque, sinkage."""
    if not there():
        return []
    height = {"smooth": 0.0, "lug10": 0.01}[kind]
    data = _read("ding2011_single_wheel.csv", f"grouser_height_m={height}")
    return _records(data, "pull", "torque", "sinkage")


def ishigami(quantity: str, slip_angle: float) -> np.ndarray:
    """Single points slip, value of "Fx_N", "Fy_N" or "sinkage_rel_mm", float[n, 2]."""
    if not there():
        return np.zeros((0, 2))
    conditions = (f"quantity={quantity}", f"slip_angle_deg={slip_angle}")
    data = _read("ishigami2005_smooth.csv", *conditions, load=ISHIGAMI.load)
    name, factor = {"Fx_N": ("pull", 1.0), "Fy_N": ("side", 1.0)}.get(quantity, ("sinkage", 1e3))
    return np.stack([data.slip, factor * data.measured[name]], axis=1)


def pavlov(slip_angle: float = 0.0) -> list[dict[str, float]]:
    """Rows: slip along the heading, pull, side, sinkage [m], spread of the pull.

    The file counts slip with the whole speed of travel; it is converted, as the rig counts it.
    """
    if not there():
        return []
    wheel = {"radius": PAVLOV.radius, "width": PAVLOV.width}
    where = f"beta_deg={slip_angle}"
    data = _read("pavlov_smooth_means.csv", where, wheel=wheel, slip_from="travel")
    rows = _records(data, "pull", "side", "sinkage")
    return [
        {**row, "pull_sd": float(sd)} for row, sd in zip(rows, data.spread["pull"], strict=True)
    ]


def _records(data: WheelData, *names: str) -> list[dict[str, float]]:
    columns = {"slip": data.slip, **{name: data.measured[name] for name in names}}
    return [
        dict(zip(columns, map(float, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
