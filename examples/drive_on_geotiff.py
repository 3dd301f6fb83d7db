"""A rover on a window of a huge elevation map: a GeoTIFF of 40 000 × 40 000 points.

The map is made here, block by block, from a formula, with Mars's projection as its georeference: 20
km wide, half a metre between its points, 6.4 GB if it were held as a whole. Only the blocks around
the landing site are written, so that the file is small; marsyard reads the window that a scenario
names and nothing else. Printed are the heights against the formula, the memory that reading took,
and where the rover got.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import rasterio
from rasterio.windows import Window

import marsyard
from marsyard.ground.terrain import build_terrain
from marsyard.scenario import validate_terrain

COUNT, STEP, BLOCK = 40_000, 0.5, 512  # points along a side, [m] between them, points of a block
WEST, NORTH = 4_580_000.0, 1_100_000.0  # upper left corner in the map's coordinates [m]
SITE = (4_588_123.0, 1_092_456.0)  # landing site, x and y in the map's coordinates [m]
# Mars, equidistant cylindrical, true in scale at the latitude of the site
CRS = "+proj=eqc +lat_ts=18.43 +lon_0=0 +R=3396190 +units=m +no_defs"


def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height of the made-up site [m] at the map's coordinates [m]: hills and ripples."""
    u, v = x - SITE[0], y - SITE[1]
    return -2540.0 + 3.0 * np.sin(u / 40) * np.cos(v / 30) + 0.05 * np.sin(u / 3 + v / 5)


def write_map(path: Path) -> None:
    """The blocks within 300 m of the site; the others stay empty."""
    options = {"tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK, "sparse_ok": True}
    transform = rasterio.Affine(STEP, 0.0, WEST, 0.0, -STEP, NORTH)
    with rasterio.open(
        path, "w", driver="GTiff", width=COUNT, height=COUNT, count=1, dtype="float32", crs=CRS,
        transform=transform, nodata=-32768.0, compress="deflate", **options,
    ) as data:  # fmt: skip
        column, row = ~transform @ SITE
        for i in range(int(column - 600) // BLOCK, int(column + 600) // BLOCK + 1):
            for j in range(int(row - 600) // BLOCK, int(row + 600) // BLOCK + 1):
                window = Window(i * BLOCK, j * BLOCK, BLOCK, BLOCK)
                x = WEST + STEP * (i * BLOCK + np.arange(BLOCK) + 0.5)
                y = NORTH - STEP * (j * BLOCK + np.arange(BLOCK) + 0.5)
                data.write(height(*np.meshgrid(x, y)).astype("float32"), 1, window=window)


def memory() -> float:
    """Largest memory of this process so far [MB]."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    path = Path("site.tif")
    write_map(path)
    print(f"{path}: {COUNT} × {COUNT} points, {path.stat().st_size / 1e6:.1f} MB on disk")
    around = [[SITE[0] - 30, SITE[0] + 30], [SITE[1] - 30, SITE[1] + 30]]
    layer = {
        "kind": "file", "file": str(path), "window": around, "origin": "centre",
        "datum": "origin", "interpolation": "cubic",
    }  # fmt: skip
    before = memory()
    terrain = build_terrain(validate_terrain({"soil": "mars_sand_zhou2023", "layers": [layer]}))
    x, y = np.random.default_rng(0).uniform(-28, 28, (2, 1000))
    true = height(x + SITE[0], y + SITE[1]) - height(*np.array(SITE))
    error = np.abs(terrain.height(x, y) - true).max()
    print(f"heights differ from the formula by at most {1000 * error:.2f} mm")
    grown = memory() - before
    print(f"largest memory {before:.0f} MB before the window was read, {grown:.0f} MB more after")
    assert error < 0.005 and grown < 300

    ground = {"kind": "terrain", "name": "site", "terrain": {"soil": "mars_sand_zhou2023",
              "layers": [layer]}, "spacing": "2 cm"}  # fmt: skip
    run = marsyard.run("exomars/rough", settings={"ground": [ground], "run.duration": 3})
    place = run.data.position_base[-1].values
    print(f"the rover is at x = {SITE[0] + place[0]:.2f} m, y = {SITE[1] + place[1]:.2f} m")


if __name__ == "__main__":
    main()
