"""A terrain from Python: an elevation map, finer roughness, rocks, and a function of our own.

The map has 1 m between its points. A fractal layer adds what a wheel feels, a rock field what it
bumps into, and a layer of our own digs a ditch. The numbers that describe the ground are printed
for the map alone and for the whole, and pictures are drawn into the folder `ground`.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np

from marsyard.ground.terrain import Layer, Terrain, build_terrain, survey
from marsyard.results.terrain_figures import save_terrain
from marsyard.scenario import validate_terrain


def hills(count: int = 61) -> np.ndarray:
    """Heights of gentle hills on a grid of 1 m [m]; the first row is the southern one."""
    x, y = np.meshgrid(np.arange(count), np.arange(count))
    return 1.2 * np.sin(x / 11) * np.cos(y / 8) + 0.02 * y


def ditch(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A ditch of 1 m width and 40 cm depth that winds from west to east [m]."""
    across = y - 30.0 - 3.0 * np.sin(x / 6.0)
    return -0.4 * np.exp(-((across / 0.5) ** 2))


def describe(name: str, terrain: Terrain) -> None:
    seen = survey(terrain, (24.0, 24.0), (30.0, 30.0), 0.06)
    lag, rough = seen.roughness(0.3)
    print(
        f"{name:<12} RMS slope {math.degrees(seen.rms_slope):5.2f}°, "
        f"steepest {math.degrees(seen.steepest[0]):5.1f}°, "
        f"RMS height difference over {lag:.2g} m {100 * rough:.2f} cm, "
        f"rocks {100 * seen.shares().get('rock', 0):.1f} %"
    )


def main() -> None:
    coarse = {"kind": "array", "values": hills(), "spacing": 1.0, "interpolation": "cubic"}
    fine = {
        "kind": "fractal", "hurst": 0.6, "roughness": "1.5 cm", "lag": "30 cm", "spacing": "5 cm",
        "patch": "25.6 m", "longest": "2 m",
    }  # fmt: skip
    stones = {"kind": "rocks", "coverage": "6 %", "area": [[0, 60], [0, 60]], "smallest": "10 cm"}
    alone = build_terrain(validate_terrain({"title": "Hills", "layers": [coarse]}))
    spec = {"title": "Hills, ditch, rocks", "seed": 4, "layers": [coarse, fine, stones]}
    whole = build_terrain(validate_terrain(spec))
    whole = dataclasses.replace(whole, layers=(*whole.layers, Layer(ditch)))

    describe("map alone", alone)
    describe("with details", whole)
    page = save_terrain(whole, survey(whole, (24.0, 24.0), (30.0, 30.0), 0.06), Path("ground"))
    print(f"pictures: {page}")


if __name__ == "__main__":
    main()
