"""A triangle mesh as heights: at x, y the highest of the triangles over that place.

    z(x, y) = max over triangles ABC with (x, y) inside of  u z_A + v z_B + w z_C

with the barycentric coordinates u, v, w seen from above. Vertical triangles have no place of their
own and are left out; overhangs are closed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.cells import cell_of, compiled, make_cells
from marsyard.ground.terrain.files import find
from marsyard.ground.terrain.layer import Layer
from marsyard.ground.triangle_mesh import read_mesh

PROBES = 200  # places along each side where a mesh is checked for holes


def mesh(spec: Any, folder: Path | None) -> Layer:
    """The layer of a mesh file."""
    vertices, triangles = read_mesh(find(spec.file, folder))
    corners = (vertices * spec.scale + np.array(spec.offset))[triangles]
    if not np.isfinite(corners).all():
        raise InputError(f"{spec.file}: has corners that are not finite")
    low, high = corners[:, :, :2].min(axis=1), corners[:, :, :2].max(axis=1)
    side, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = side[:, 0] * other[:, 1] - side[:, 1] * other[:, 0]
    flat = np.abs(area) > 1e-12 * np.prod(np.maximum(high - low, 1e-12), axis=1)
    if not flat.any():
        raise InputError(
            f"{spec.file}: all its triangles are vertical; it has no surface to stand on"
        )
    corners, low, high = np.ascontiguousarray(corners[flat]), low[flat], high[flat]
    cells = make_cells(low, high)
    floor = float(corners[:, :, 2].min()) if spec.outside is None else spec.outside

    def heights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        _highest(x, y, cells, corners, out)
        return np.where(np.isnan(out), floor, out)

    if spec.outside is not None:
        return Layer(heights)
    (xmin, ymin), (xmax, ymax) = low.min(axis=0), high.max(axis=0)
    _check_holes(spec.file, cells, corners, (xmin, xmax, ymin, ymax))
    return Layer(heights, (float(xmin), float(xmax), float(ymin), float(ymax)))


def _check_holes(name: str, cells: Any, corners: np.ndarray, bounds: tuple) -> None:
    """A sentence when places within the mesh's rectangle have no triangle."""
    xmin, xmax, ymin, ymax = bounds
    share = (np.arange(PROBES) + 0.5) / PROBES
    x, y = np.meshgrid(xmin + share * (xmax - xmin), ymin + share * (ymax - ymin))
    found = np.empty(x.size)
    _highest(x.ravel(), y.ravel(), cells, corners, found)
    holes = np.isnan(found)
    if holes.any():
        first = np.flatnonzero(holes)[0]
        raise InputError(
            f"{name}: has no triangle over {100 * holes.mean():.2g} % of its rectangle, e.g. at "
            f"x = {x.ravel()[first]:.4g}, y = {y.ravel()[first]:.4g} m; give 'outside' (a height)"
        )


@compiled
def _highest(x, y, cells, corners, out):
    for p in range(len(x)):
        best = np.nan
        # a point on the far border of the rectangle belongs to the last cell
        c = cell_of(cells, x[p], y[p])
        if c >= 0:
            for n in range(cells.first[c], cells.first[c + 1]):
                t = corners[cells.item[n]]
                ax, ay = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1]
                bx, by = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1]
                dx, dy = x[p] - t[0, 0], y[p] - t[0, 1]
                area = ax * by - ay * bx
                v = (dx * by - dy * bx) / area
                w = (ax * dy - ay * dx) / area
                # a hair of tolerance, so that no seam is missed
                if v >= -1e-9 and w >= -1e-9 and v + w <= 1.0 + 2e-9:
                    z = t[0, 2] + v * (t[1, 2] - t[0, 2]) + w * (t[2, 2] - t[0, 2])
                    if not best >= z:
                        best = z
        out[p] = best
