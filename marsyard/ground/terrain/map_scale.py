"""Metres on the ground per unit of a map, where its projection stretches lengths.

A projection maps longitude λ and latitude φ to x, y. On an ellipsoid with radii of curvature N (to
the east) and M (to the north) a step d(x, y) is on the ground

    [east, north] = J d(x, y),    J = diag(N cos φ, M) ∂(λ, φ)/∂(x, y)      [m per unit]

with a the equatorial radius, e² = f (2 − f), W² = 1 − e² sin² φ, N = a/W, M = a (1 − e²)/W³ (Snyder
1987, Map Projections: A Working Manual, eq. 4-18 to 4-20). J is taken at the middle of the window;
the lengths of its columns are the factors of x and y. Web Mercator at 60° of latitude has 0.5. For
maps in degrees of a ball of radius R, J = diag(R cos φ, R) π/180.

Refused are maps whose scale changes by more than 1 % within the window, or whose x and y are not at
right angles on the ground within 1 %. Factors within 0.5 % of the unit's own are left at it: UTM
and national grids count as true. The turn of the grid against north is not undone: y is the map's.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain.layer import Bounds

#: scales nearer to 1 than this are 1
TRUE = 0.005
#: most that a scale may change within a window, and x and y may lean
EVEN = 0.01

_ADVICE = "reproject it to a local map (gdalwarp -t_srs '+proj=tmerc +lat_0=… +lon_0=…')"


def metres_per_unit(crs: Any, window: Bounds, name: str) -> tuple[float, float]:
    """Factors from x and y of a projected map to metres on the ground, in a window of it."""
    metre = float(crs.linear_units_factor[1])
    west, east, south, north = window
    middle = ((west + east) / 2, (south + north) / 2)
    corners = [(x, y) for x in (west, east) for y in (south, north)]
    found = _jacobians(crs, [middle, *corners], max(east - west, north - south) / 100)
    if found is None:
        return metre, metre
    sizes = np.linalg.norm(found, axis=1)
    lean = np.abs(np.sum(found[0][:, 0] * found[0][:, 1])) / np.prod(sizes[0])
    change = np.abs(sizes / sizes[0] - 1).max()
    if lean > EVEN or change > EVEN:
        raise InputError(
            f"{name}: is in a projection whose x and y are not perpendicular here; {_ADVICE}"
            if lean > EVEN
            else f"{name}: the scale of its projection changes by {100 * change:.2g} % in the "
            f"window; give a smaller 'window', or {_ADVICE}"
        )
    if np.abs(sizes[0] / metre - 1).max() < TRUE:
        return metre, metre
    return float(sizes[0, 0]), float(sizes[0, 1])


def metres_per_degree(radius: float, window: Bounds, name: str) -> tuple[float, float]:
    """Factors from longitude and latitude [deg] to metres on a ball [m], in a window of a map."""
    low, high = (np.radians(angle) for angle in window[2:])
    if not -np.pi / 2 <= low <= high <= np.pi / 2:
        raise InputError(
            f"{name}: y from {window[2]:g} to {window[3]:g} are not latitudes, which are from -90 "
            f"to 90 degrees"
        )
    middle = np.cos((low + high) / 2)
    change = max(abs(np.cos(low) / middle - 1), abs(np.cos(high) / middle - 1))
    if change > EVEN:
        raise InputError(
            f"{name}: a degree of longitude changes by {100 * change:.2g} % in the window; give a "
            f"smaller 'window', or {_ADVICE}"
        )
    degree = np.pi / 180 * radius
    return float(degree * middle), float(degree)


def _jacobians(crs: Any, places: list[tuple[float, float]], step: float) -> np.ndarray | None:
    """J at places of a map [n, 2, 2]; none where the map is not said to lie on an ellipsoid."""
    from rasterio.crs import CRS
    from rasterio.errors import RasterioError
    from rasterio.warp import transform

    base, shape = _geographic(crs.to_wkt()), _ellipsoid(crs.to_wkt())
    if base is None or shape is None:
        return None
    step = max(step, 1e-3)
    at = np.repeat(np.array(places, dtype=float), 4, axis=0)
    at += np.tile([(-step, 0), (step, 0), (0, -step), (0, step)], (len(places), 1))
    try:
        lon, lat = transform(crs, CRS.from_wkt(base), *at.T)
    except RasterioError:
        return None
    angles = np.radians(np.column_stack([lon, lat])).reshape(-1, 2, 2, 2)
    if not np.isfinite(angles).all():
        return None
    # columns: by x, by y; a longitude may jump by a turn
    slope = angles[:, :, 1] - angles[:, :, 0]
    slope[..., 0] = (slope[..., 0] + np.pi) % (2 * np.pi) - np.pi
    slope = slope.transpose(0, 2, 1) / (2 * step)
    a, f = shape
    squared = f * (2 - f)
    phi = angles[..., 1].reshape(len(places), -1).mean(axis=1)
    w = np.sqrt(1 - squared * np.sin(phi) ** 2)
    radii = np.column_stack([a / w * np.cos(phi), a * (1 - squared) / w**3])
    return radii[:, :, None] * slope


def _geographic(wkt: str) -> str | None:
    """The part of a description that is in degrees."""
    found = re.search(r"GEOGCS\[|BASEGEOGCRS\[", wkt)
    if found is None:
        return None
    depth = 0
    for k in range(found.start(), len(wkt)):
        depth += (wkt[k] == "[") - (wkt[k] == "]")
        if wkt[k] == "]" and depth == 0:
            return wkt[found.start() : k + 1].replace("BASEGEOGCRS[", "GEOGCRS[")
    return None


def _ellipsoid(wkt: str) -> tuple[float, float] | None:
    """Equatorial radius [m] and flattening."""
    found = re.search(r'(?:SPHEROID|ELLIPSOID)\["[^"]*",\s*([0-9.eE+]+),\s*([0-9.eE+]+)', wkt)
    if found is None:
        return None
    a, inverse = float(found.group(1)), float(found.group(2))
    return a, 1 / inverse if inverse else 0.0


def height_unit(crs: Any) -> str | None:
    """The unit of heights by a map's own description: that of its vertical axis, or feet where x
    and y are in feet."""
    if crs is None:
        return None
    vertical = re.search(r'VERT(?:_CS|CRS)\[.*?(?:LENGTH)?UNIT\["([^"]*)"', crs.to_wkt())
    said = vertical.group(1) if vertical else (crs.linear_units if crs.is_projected else "")
    name = said.strip().lower().replace("_", " ")
    if "foot" in name or "feet" in name or name in ("ft", "ftus", "us-ft"):
        return "us_ft" if "us" in name.replace("-", " ").split() or "ftus" in name else "ft"
    return "m" if vertical and name in ("metre", "meter", "m") else None
