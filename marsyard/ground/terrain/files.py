"""Elevation files of many kinds as one grid: x east, y north, metres.

    .csv .txt .xyz .asc¹   numbers: a grid of heights, or points x, y, z
    .npy .npz              the same as numpy arrays; .npz holds x, y, z or one array
    .png .jpg .bmp         a picture, its grey as height
    .tif and all others    rasters, through rasterio (extra `maps`), only the window is read

¹ .asc is read by rasterio (ESRI ASCII grid). A table of three columns is taken for points x, y, z
unless `spacing` is given; a header line with x, y, z says so too. Points on a regular grid become
that grid, missing ones holes; scattered ones are put on a grid of `spacing` (default: their median
distance) by linear interpolation over Delaunay's triangles, holes outside their convex hull.

Rows of a raster lie where its transform says, north up or south up; it must not be turned. A map is
true in scale at the middle of its window, whatever its projection (`map_scale`); maps in degrees
need the body's radius. Heights are in the unit that the band, the vertical axis of the map or its x
and y (if those are feet) are said to be in, unless told.
"""

from __future__ import annotations

import csv
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marsyard.errors import InputError, clip, suggest
from marsyard.files import check_file, is_file, read_text
from marsyard.files.arrays import load_arrays
from marsyard.files.pictures import load_picture
from marsyard.ground.terrain.grids import Grid
from marsyard.ground.terrain.layer import Bounds
from marsyard.ground.terrain.map_scale import height_unit, metres_per_degree, metres_per_unit

METRES = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "km": 1e3, "ft": 0.3048, "us_ft": 1200 / 3937}
UNIT_NAMES = {
    "m": "m", "metre": "m", "metres": "m", "meter": "m", "meters": "m", "cm": "cm", "mm": "mm",
    "km": "km", "kilometre": "km", "kilometer": "km", "ft": "ft", "foot": "ft", "feet": "ft",
    "us survey foot": "us_ft", "us_survey_foot": "us_ft", "ftus": "us_ft", "us-ft": "us_ft",
}  # fmt: skip
TABLES = (".csv", ".txt", ".xyz", ".dat")
ARRAYS = (".npy", ".npz")
PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
MOST_POINTS = 100_000_000


class Raw(NamedTuple):
    """A grid in the file's own coordinates, rows from south to north.

    `metres` are the factors from its x and y to metres; `unit` the one its heights are said to be
    in; `full` the span of values of a picture's type; `window` the part that was asked for.
    """

    grid: Grid
    metres: tuple[float, float] = (1.0, 1.0)
    unit: str | None = None
    full: float | None = None
    window: Bounds | None = None


def read_heights(spec: Any, folder: Path | None) -> Grid:
    """The heights of a file layer [m] in the world."""
    path = find(spec.file, folder)
    margin = 1 if spec.interpolation == "linear" else 8
    raw = _read(path, spec, margin, heights=True)
    grid = to_world(raw, spec)
    if spec.nodata is not None and path.suffix.lower() in (*TABLES, *ARRAYS, *PICTURES):
        grid = replace(grid, values=np.where(grid.values == spec.nodata, np.nan, grid.values))
    if spec.heights is not None:
        if raw.full is None:
            raise InputError(f"{path.name}: 'heights' applies to integer pictures; use 'scale'")
        low, high = spec.heights
        return replace(grid, values=low + grid.values * ((high - low) / raw.full))
    factor = METRES[spec.unit or raw.unit or "m"] * spec.scale
    return replace(grid, values=grid.values * factor)


def read_classes(spec: Any, folder: Path | None) -> Grid:
    """The values of a soil map in the world; a colour is the number 0xRRGGBB."""
    return to_world(_read(find(spec.file, folder), spec, 0, heights=False), spec)


def raster_files(path: Path) -> list[Path]:
    """The files beside a map that belong to it: world file, projection, sources of a virtual one;
    none of a file that rasterio does not read."""
    if path.suffix.lower() in (*TABLES, *ARRAYS, *PICTURES):
        return []
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(check_file(path, "map", path.name)) as data:
            return [Path(name) for name in data.files if is_file(name)]


def find(name: str, folder: Path | None) -> Path:
    """The file of that name in `folder`, or else here."""
    tried = [Path(name)] if folder is None else [folder / name, Path(name)]
    for path in tried:
        if is_file(path):
            return path
    raise InputError(f"file: '{name}' does not exist (looked for {tried[0].absolute()})")


def to_world(raw: Raw, spec: Any) -> Grid:
    """The grid in metres, with the origin where the specification wants it."""
    grid, (mx, my) = raw.grid, raw.metres
    xmin, xmax, ymin, ymax = raw.window or grid.extent
    if spec.origin == "corner":
        ox, oy = xmin, ymin
    elif spec.origin == "centre":
        ox, oy = (xmin + xmax) / 2, (ymin + ymax) / 2
    elif spec.origin == "map":
        ox, oy = 0.0, 0.0
    else:
        ox, oy = spec.origin
    bounds = None
    if raw.window is not None:
        bounds = ((xmin - ox) * mx, (xmax - ox) * mx, (ymin - oy) * my, (ymax - oy) * my)
    return Grid(
        grid.values, (grid.x0 - ox) * mx, (grid.y0 - oy) * my, grid.dx * mx, grid.dy * my, bounds
    )


def _read(path: Path, spec: Any, margin: int, heights: bool) -> Raw:
    suffix = path.suffix.lower()
    if suffix in (".stl", ".obj", ".ply"):
        raise InputError(f"{path.name}: is a mesh; use a layer of 'kind: mesh'")
    if suffix in TABLES:
        return _cut(_table(path, spec), spec, margin, path.name)
    if suffix in ARRAYS:
        return _cut(_numpy(path, spec), spec, margin, path.name)
    if suffix in PICTURES:
        return _cut(_picture(path, spec, heights), spec, margin, path.name)
    return _raster(path, spec, margin, heights)


def _cut(raw: Raw, spec: Any, margin: int, name: str) -> Raw:
    """The part of a grid in the window, with some points around it to interpolate from."""
    if spec.window is None:
        return raw
    grid = raw.grid
    window = _clipped(spec, grid.extent, (grid.dx, grid.dy), name)
    rows, columns = grid.values.shape
    i0, i1 = _reach(window[0], window[1], grid.x0, grid.dx, columns, margin)
    j0, j1 = _reach(window[2], window[3], grid.y0, grid.dy, rows, margin)
    part = Grid(
        grid.values[j0:j1, i0:i1], grid.x0 + i0 * grid.dx, grid.y0 + j0 * grid.dy, grid.dx, grid.dy
    )
    return raw._replace(grid=part, window=window)


def _reach(
    low: float, high: float, start: float, step: float, count: int, margin: int
) -> tuple[int, int]:
    first = math.floor((low - start) / step + 1e-9) - margin + 1
    last = math.ceil((high - start) / step - 1e-9) + margin - 1
    return max(0, first), min(count, last + 1)


def _clipped(spec: Any, extent: Bounds, step: tuple[float, float], name: str) -> Bounds:
    """The window as far as the file goes; a sentence when it does not go there at all, or when the
    origin would not lie where the window as given has it. `step` is between the file's points."""
    (x0, x1), (y0, y1) = spec.window
    part = max(x0, extent[0]), min(x1, extent[1]), max(y0, extent[2]), min(y1, extent[3])
    covers = (
        f"{name} covers x from {extent[0]:.10g} to {extent[1]:.10g} and y from {extent[2]:.10g} to "
        f"{extent[3]:.10g}"
    )
    if not (part[0] < part[1] and part[2] < part[3]):
        raise InputError(f"window: {covers}; the window is outside of it")
    over = max(part[0] - x0, x1 - part[1]) > step[0] or max(part[2] - y0, y1 - part[3]) > step[1]
    if over and spec.origin in ("corner", "centre"):
        raise InputError(
            f"window: {covers}; the window extends beyond it, so its {spec.origin} is not "
            "that of the ground; give a smaller one, or 'origin' as a point"
        )
    return part


def _plain_grid(values: np.ndarray, spec: Any, name: str, full: float | None = None) -> Raw:
    """A grid without coordinates: lower left point at 0, 0, spacing as said."""
    if spec.spacing is None:
        raise InputError(f"spacing: {name} does not define the spacing of its points; give it")
    if spec.first_row == "north":
        values = values[::-1]
    return Raw(Grid(values, 0.0, 0.0, spec.spacing, spec.spacing), full=full)


# --- tables and arrays


def _table(path: Path, spec: Any) -> Raw:
    header, values = _numbers(path)
    axes = [h.strip().lower() for h in header]
    if {"x", "y", "z"} <= set(axes):
        return _points(values[:, [axes.index(a) for a in "xyz"]], spec, path.name)
    if path.suffix.lower() == ".xyz" or (values.shape[1] == 3 and spec.spacing is None):
        if values.shape[1] < 3:
            raise InputError(f"{path.name}: points need three columns x, y, z")
        return _points(values[:, :3], spec, path.name)
    return _plain_grid(values, spec, path.name)


def _numbers(path: Path) -> tuple[list[str], np.ndarray]:
    """The header, if any, and the numbers of a text file; empty and NaN cells are holes."""
    lines = read_text(path, "table", path.name, "utf-8-sig").split("\n")
    text = [t for t in (line.split("#")[0].strip() for line in lines) if t]
    if not text:
        raise InputError(f"{path.name}: holds no numbers")
    sign = next((s for s in (";", "\t", ",") if s in text[0]), None)
    try:
        rows = list(csv.reader(text, delimiter=sign)) if sign else [t.split() for t in text]
    except csv.Error as error:
        raise InputError(f"{path.name}: is not a table of numbers ({error})") from None
    header: list[str] = []
    if not all(_is_number(cell) for cell in rows[0]):
        header = rows.pop(0)
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows, start=1 + bool(header)):
        if len(row) != width:
            raise InputError(f"{path.name}: row {number} has {len(row)} values, the first {width}")
        bad = next((cell for cell in row if not _is_number(cell)), None)
        if bad is not None:
            said = f"row {number} holds '{clip(bad)}', which is not a number"
            raise InputError(f"{path.name}: {said}")
    if not rows:
        raise InputError(f"{path.name}: holds no numbers")
    return header, np.array([[float(c) if c.strip() else np.nan for c in row] for row in rows])


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return not cell.strip()
    return True


def _numpy(path: Path, spec: Any) -> Raw:
    data = load_arrays(path)
    if isinstance(data, np.ndarray):
        return _array_or_points(data, spec, path.name)
    names = list(data)
    if {"x", "y", "z"} <= set(names):
        x, y, z = (_real(data[n], path.name) for n in "xyz")
        return _gridded(x, y, z, spec, path.name)
    if len(names) == 1:
        return _array_or_points(data[names[0]], spec, path.name)
    raise InputError(f"{path.name}: must hold x, y and z, or one array, not {', '.join(names)}")


def _array_or_points(values: np.ndarray, spec: Any, name: str) -> Raw:
    if values.ndim != 2:
        raise InputError(f"{name}: must hold a table of numbers with two dimensions")
    values = _real(values, name)
    if values.shape[1] == 3 and spec.spacing is None:
        return _points(values, spec, name)
    return _plain_grid(values, spec, name)


def _real(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers as float64."""
    if values.dtype.kind not in "fiu":
        raise InputError(f"{name}: must hold real numbers, not values of type {values.dtype}")
    return values.astype(np.float64)


def _gridded(x: np.ndarray, y: np.ndarray, z: np.ndarray, spec: Any, name: str) -> Raw:
    """Arrays x, y, z: axes of a grid z[y, x], or the coordinates of points of one shape."""
    if x.ndim == y.ndim == 1 and z.shape == (len(y), len(x)) and len(x) * len(y) != len(x):
        x, y = np.meshgrid(x, y)
    if not x.shape == y.shape == z.shape:
        raise InputError(f"{name}: z must have the shape [len(y), len(x)], or that of x and y")
    return _points(np.column_stack([x.ravel(), y.ravel(), z.ravel()]), spec, name)


def _points(points: np.ndarray, spec: Any, name: str) -> Raw:
    """A grid from points x, y, z, shape [n, 3]."""
    points = np.asarray(points, dtype=np.float64)
    if not np.isfinite(points[:, :2]).all():
        raise InputError(f"{name}: x and y of every point must be finite")
    if len(points) < 3:
        raise InputError(f"{name}: needs at least 3 points, not {len(points)}")
    if spec.horizontal_unit == "deg":
        (west, south), (east, north) = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
        (west, east), (south, north) = spec.window or ((west, east), (south, north))
        metres = _per_degree(spec, (west, east, south, north), name)
    else:
        metres = (METRES[spec.horizontal_unit],) * 2
    grid = _regular(points) or _scattered(points, spec, name, metres[1])
    return Raw(grid, metres)


def _regular(points: np.ndarray) -> Grid | None:
    """The grid the points lie on, if they do and fill at least half of it."""
    axes = []
    for column in points[:, :2].T:
        value = np.unique(column)
        if len(value) < 2:
            return None
        start, step = float(value[0]), float(np.diff(value).min())
        number = (column - start) / step
        if np.abs(number - np.round(number)).max() > 0.01:
            return None
        count = round(float(number.max())) + 1
        axes.append((start, (float(value[-1]) - start) / (count - 1), count))
    (x0, dx, nx), (y0, dy, ny) = axes
    if nx * ny > 2 * len(points):
        return None
    values = np.full((ny, nx), np.nan)
    i = np.round((points[:, 0] - x0) / dx).astype(int)
    j = np.round((points[:, 1] - y0) / dy).astype(int)
    values[j, i] = points[:, 2]
    return Grid(values, x0, y0, dx, dy)


def _scattered(points: np.ndarray, spec: Any, name: str, metre: float) -> Grid:
    """Scattered points on a grid by linear interpolation over Delaunay's triangles."""
    from scipy.interpolate import LinearNDInterpolator
    from scipy.spatial import QhullError, cKDTree

    points = points[np.isfinite(points[:, 2])]
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    if spec.spacing is not None:
        step = spec.spacing / metre
    else:
        distance = cKDTree(points[:, :2]).query(points[:, :2], k=2)[0][:, 1]
        step = float(np.median(distance[distance > 0])) if (distance > 0).any() else 0.0
    counts = np.maximum(np.ceil((high - low) / step - 1e-9).astype(int) + 1, 2) if step > 0 else [0]
    if step <= 0 or np.prod(counts, dtype=float) > MOST_POINTS:
        raise InputError(f"{name}: give a 'spacing' for the grid its points are put on")
    x, y = (np.linspace(low[a], high[a], counts[a]) for a in range(2))
    try:
        linear = LinearNDInterpolator(points[:, :2] - low, points[:, 2])
    except QhullError:
        raise InputError(f"{name}: its points lie on one line; a surface is needed") from None
    values = linear(*np.meshgrid(x - low[0], y - low[1]))
    return Grid(values, x[0], y[0], x[1] - x[0], y[1] - y[0])


# --- pictures and rasters


def _picture(path: Path, spec: Any, heights: bool) -> Raw:
    mode, values = load_picture(path, _by_colour(spec))
    full = float(np.iinfo(values.dtype).max) if np.issubdtype(values.dtype, np.integer) else 1.0
    if mode == "I":
        full = 65535.0
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if values.ndim == 3 and heights:
        if not (np.ptp(values, axis=2) == 0).all():
            raise InputError(f"{path.name}: is in colour; heights need a grey picture")
        values = values[..., 0]
    if values.ndim == 3:
        red, green, blue = (values[..., c].astype(np.int64) for c in range(3))
        values = red * 65536 + green * 256 + blue
    return _plain_grid(values.astype(np.float64), spec, path.name, full)


def _by_colour(spec: Any) -> bool:
    return any(key.startswith("#") for key in getattr(spec, "legend", ()))


def _raster(path: Path, spec: Any, margin: int, heights: bool) -> Raw:
    try:
        import rasterio
        from rasterio.errors import NotGeoreferencedWarning, RasterioError
    except ImportError:
        raise InputError(
            f"{path.name}: reading maps needs the package rasterio: pip install 'marsyard[maps]'"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        try:
            with rasterio.open(check_file(path, "map", path.name)) as data:
                return _read_raster(data, path.name, spec, margin, heights)
        except RasterioError as error:
            kinds = [*TABLES, *ARRAYS, *PICTURES, ".tif", ".asc", ".img", ".jp2", ".vrt"]
            hint = "" if path.suffix.lower() in kinds else f"; {suggest(path.suffix, kinds)}"
            said = " ".join(str(error.__cause__ or error).split())
            raise InputError(f"{path.name}: cannot be read as a map ({said}){hint}") from None


def _read_raster(data: Any, name: str, spec: Any, margin: int, heights: bool) -> Raw:
    """The window of one band of an open raster."""
    if not 1 <= spec.band <= data.count:
        raise InputError(f"band: {name} has bands 1 to {data.count}, not {spec.band}")
    a = data.transform
    if a.b or a.d:
        raise InputError(
            f"{name}: its rows do not run east-west; warp it to north-up first (gdalwarp)"
        )
    plain = a.is_identity
    if plain and spec.window is not None:
        raise InputError(f"window: {name} has no coordinates, so it cannot be cropped")
    if not plain and spec.spacing is not None:
        raise InputError(f"spacing: {name} defines its own, {abs(a.a):g}; leave it out")

    # middles of the pixels: x of column i is x0 + i dx, y of row j likewise, dy < 0 when north up
    x0, dx, y0, dy = a.c + a.a / 2, a.a, a.f + a.e / 2, a.e
    columns, rows = data.width, data.height
    i0, i1, j0, j1 = 0, columns, 0, rows
    window: Bounds | None = None
    if spec.window is not None:
        xs, ys = sorted((x0, x0 + (columns - 1) * dx)), sorted((y0, y0 + (rows - 1) * dy))
        window = _clipped(spec, (xs[0], xs[1], ys[0], ys[1]), (abs(dx), abs(dy)), name)
        i0, i1 = _pixels(window[0], window[1], x0, dx, columns, margin)
        j0, j1 = _pixels(window[2], window[3], y0, dy, rows, margin)
    if (i1 - i0) * (j1 - j0) > MOST_POINTS:
        west, south, east, north = data.bounds
        raise InputError(
            f"window: {name} has {i1 - i0} × {j1 - j0} points to read, more than "
            f"{MOST_POINTS // 10**6} million; give the layer a smaller 'window: [[x from, to], [y "
            f"from, to]]' (x lies within {west:.10g} and {east:.10g}, y within {south:.10g} and "
            f"{north:.10g})"
        )
    nodata = spec.nodata if heights else None
    values = _band(data, spec.band, ((j0, j1), (i0, i1)), heights, nodata)
    x0, y0 = x0 + i0 * dx, y0 + j0 * dy
    unit = UNIT_NAMES.get((data.units[spec.band - 1] or "").strip().lower())
    unit = unit or height_unit(data.crs)
    if plain:
        return _plain_grid(values, spec, name)._replace(unit=unit)
    # rows from south to north, columns from west to east
    if dy < 0:
        values, y0, dy = values[::-1], y0 + (j1 - j0 - 1) * dy, -dy
    if dx < 0:
        values, x0, dx = values[:, ::-1], x0 + (i1 - i0 - 1) * dx, -dx
    grid = Grid(np.ascontiguousarray(values), x0, y0, dx, dy)
    return Raw(grid, _metres(data, grid, window, spec, name), unit, None, window)


def _pixels(
    low: float, high: float, start: float, step: float, count: int, margin: int
) -> tuple[int, int]:
    """First and last-plus-one pixel of a window along an axis whose step may be negative."""
    if step > 0:
        return _reach(low, high, start, step, count, margin)
    return _reach(-high, -low, -start, -step, count, margin)


def _band(data: Any, band: int, window: Any, heights: bool, nodata: float | None) -> np.ndarray:
    """Values of a band as floats: no data as NaN, the band's own scale and offset applied."""
    masked = data.read(band, window=window, masked=True)
    values = np.ma.filled(masked.astype(np.float64), np.nan)
    if nodata is not None:
        # as the file holds it: before the scale, with as many digits
        single = masked.dtype == np.float32
        values[values == (float(np.float32(nodata)) if single else nodata)] = np.nan
    if heights:
        values = values * data.scales[band - 1] + data.offsets[band - 1]
    return values


def _metres(
    data: Any, grid: Grid, window: Bounds | None, spec: Any, name: str
) -> tuple[float, float]:
    """Factors from a raster's coordinates to metres."""
    crs, part = data.crs, window or grid.extent
    if crs is not None and crs.is_geographic:
        return _per_degree(spec, part, name)
    if crs is not None and crs.is_projected:
        return metres_per_unit(crs, part, name)
    if spec.horizontal_unit == "deg":
        return _per_degree(spec, part, name)
    metre = METRES[spec.horizontal_unit]
    return metre, metre


def _per_degree(spec: Any, window: Bounds, name: str) -> tuple[float, float]:
    if spec.body_radius is None:
        raise InputError(
            f"{name}: is a map in degrees; reproject it to metres (gdalwarp -t_srs …), or give "
            "'body_radius' (Mars: 3396190) to convert it by its scale at the middle"
        )
    return metres_per_degree(spec.body_radius, window, name)
