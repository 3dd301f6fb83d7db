"""Elevation files: none comes out mirrored, shifted, in the wrong unit or with silent holes."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground.terrain import build_terrain, survey
from marsyard.scenario import load_terrain, validate_terrain

rasterio = pytest.importorskip("rasterio")

# asymmetric in both directions: x east and y north can't be mistaken
ROWS, COLUMNS = 6, 9


def truth(x, y):
    """A surface neither symmetric nor a plane; bilinear, so linear interpolation is exact."""
    return 0.05 * x - 0.02 * y + 0.004 * x * y + 1.0


def layer(file, **options):
    spec = validate_terrain({"layers": [{"kind": "file", "file": str(file), **options}]})
    return build_terrain(spec)


def write_raster(path, values, transform, **options):
    options = {"crs": "EPSG:32633", "dtype": "float64", **options}
    with rasterio.open(
        path, "w", driver="GTiff", height=values.shape[-2], width=values.shape[-1],
        count=values.shape[0] if values.ndim == 3 else 1, transform=transform, **options,
    ) as data:  # fmt: skip
        data.write(values if values.ndim == 3 else values[None])


def pixels(transform, rows=ROWS, columns=COLUMNS):
    """Middles of the pixels, shape [rows, columns] each."""
    column, row = np.meshgrid(np.arange(columns), np.arange(rows))
    t = transform
    x = t.a * (column + 0.5) + t.b * (row + 0.5) + t.c
    return x, t.d * (column + 0.5) + t.e * (row + 0.5) + t.f


def north_up(west=1000.0, north=2000.0, step=2.0):
    return rasterio.Affine(step, 0, west, 0, -step, north)


@pytest.fixture
def dem(tmp_path):
    transform = north_up()
    x, y = pixels(transform)
    values = truth(x - 1000, y - 1980)
    write_raster(tmp_path / "dem.tif", values, transform)
    return tmp_path / "dem.tif"


# --- rasters


@pytest.mark.parametrize("up", ["north", "south", "east_west"])
def test_rows_are_not_mirrored(tmp_path, up):
    transform = {
        "north": north_up(),
        "south": rasterio.Affine(2, 0, 1000, 0, 2, 1988),
        "east_west": rasterio.Affine(-2, 0, 1018, 0, -2, 2000),
    }[up]
    x, y = pixels(transform)
    write_raster(tmp_path / "dem.tif", truth(x - 1000, y - 1980), transform)
    land = layer(tmp_path / "dem.tif", origin="map")
    assert land.height(x, y) == pytest.approx(truth(x - 1000, y - 1980), abs=1e-12)
    # between the pixels too, and rasterio's own reading of single points agrees
    rng = np.random.default_rng(0)
    px, py = rng.uniform(x.min(), x.max(), 50), rng.uniform(y.min(), y.max(), 50)
    assert land.height(px, py) == pytest.approx(truth(px - 1000, py - 1980))
    with rasterio.open(tmp_path / "dem.tif") as data:
        points = np.column_stack([x.ravel(), y.ravel()])
        sampled = np.array([v[0] for v in data.sample(points)])
    assert land.height(x.ravel(), y.ravel()) == pytest.approx(sampled)


def test_origin_is_corner_centre_point_or_map(dem):
    # pixel middles run from x 1001 to 1017 and y 1989 to 1999
    assert layer(dem).bounds == pytest.approx((0, 16, 0, 10))
    assert layer(dem).height(0.0, 0.0) == pytest.approx(truth(1, 9))
    centre = layer(dem, origin="centre")
    assert centre.bounds == pytest.approx((-8, 8, -5, 5))
    assert centre.height(0.0, 0.0) == pytest.approx(truth(9, 14))
    point = layer(dem, origin=[1004, 1990])
    assert point.height(0.5, 0.25) == pytest.approx(truth(4.5, 10.25))
    assert layer(dem, origin="map").bounds == pytest.approx((1001, 1017, 1989, 1999))


def test_window_is_in_map_coordinates_and_starts_at_the_origin(dem):
    part = layer(dem, window=[[1004.5, 1010.5], [1990.25, 1995]])
    assert part.bounds == pytest.approx((0, 6, 0, 4.75))
    x, y = np.meshgrid(np.linspace(0, 6, 13), np.linspace(0, 4.75, 7))
    assert part.height(x, y) == pytest.approx(truth(x + 4.5, y + 10.25))
    # beyond the window the nearest point inside goes on, not what the file has there
    assert part.height(7.0, 1.0) == pytest.approx(truth(10.5, 11.25))
    with pytest.raises(InputError, match="is outside"):
        layer(dem, window=[[0, 1], [0, 1]])


def test_only_the_window_of_a_big_raster_is_read(tmp_path):
    # 40 000 × 40 000 pixels, 12.8 GB as float64: sparse on disk, and never in memory as a whole
    transform = north_up(0, 40000, 1.0)
    with rasterio.open(
        tmp_path / "big.tif", "w", driver="GTiff", height=40000, width=40000, count=1,
        dtype="float32", crs="EPSG:32633", transform=transform, tiled=True, sparse_ok=True,
        bigtiff=True,
    ) as data:  # fmt: skip
        window = rasterio.windows.Window(20000, 20000, 64, 64)
        data.write(np.full((64, 64), 7.0, dtype="float32"), 1, window=window)
    part = layer(tmp_path / "big.tif", window=[[20010, 20030], [19950, 19970]])
    assert part.height(10.0, 10.0) == pytest.approx(7.0)
    with pytest.raises(InputError, match=r"100 million; .*'window: .* \(x lies within 0 and 40000"):
        layer(tmp_path / "big.tif")


def test_a_window_beyond_the_map_does_not_move_its_centre(dem):
    beyond = [[990, 1010.5], [1990.25, 1995]]
    for origin in ("centre", "corner"):
        with pytest.raises(InputError, match=f"extends beyond it, so its {origin} is not"):
            layer(dem, window=beyond, origin=origin)
    # a point stays where it is, however much of the window is there
    part = layer(dem, window=beyond, origin=[1005.0, 1991.0])
    assert part.height(1.0, 2.0) == pytest.approx(truth(6.0, 13.0))


def test_cubic_in_a_window_agrees_with_the_whole(tmp_path):
    transform = north_up(0, 100, 1.0)
    values = np.random.default_rng(2).normal(size=(100, 100))
    write_raster(tmp_path / "a.tif", values, transform)
    whole = layer(tmp_path / "a.tif", interpolation="cubic", origin="map")
    part = layer(
        tmp_path / "a.tif", interpolation="cubic", origin="map", window=[[40, 60], [40, 60]]
    )
    x, y = np.meshgrid(np.linspace(40, 60, 37), np.linspace(40, 60, 31))
    # the spline forgets what lies further away by a factor of 3.7 a point
    assert part.height(x, y) == pytest.approx(whole.height(x, y), abs=2e-3)


def test_bands_units_scale_and_datum(tmp_path):
    transform = north_up(0, 20, 2.0)
    x, y = pixels(transform)
    values = np.stack([np.zeros_like(x), truth(x, y)])
    write_raster(tmp_path / "two.tif", values, transform)
    base = layer(tmp_path / "two.tif", band=2, origin="map")
    assert base.height(5.0, 12.0) == pytest.approx(truth(5, 12))
    for unit, factor in (("cm", 0.01), ("ft", 0.3048), ("mm", 0.001)):
        land = layer(tmp_path / "two.tif", band=2, origin="map", unit=unit, scale=2)
        assert land.height(5.0, 12.0) == pytest.approx(2 * factor * truth(5, 12))
    at_zero = layer(tmp_path / "two.tif", band=2, origin=[5, 12], datum="origin")
    assert at_zero.height(0.0, 0.0) == pytest.approx(0, abs=1e-12)
    assert at_zero.height(1.0, 2.0) == pytest.approx(truth(6, 14) - truth(5, 12))
    lower = layer(tmp_path / "two.tif", band=2, origin="map", datum="-20 cm")
    assert lower.height(5.0, 12.0) == pytest.approx(truth(5, 12) + 0.2)
    with pytest.raises(InputError, match="bands 1 to 2, not 3"):
        layer(tmp_path / "two.tif", band=3)


def test_scale_offset_and_unit_written_in_the_raster(tmp_path):
    transform = north_up(0, 12, 2.0)
    counts = np.arange(54, dtype="int16").reshape(ROWS, COLUMNS)
    write_raster(tmp_path / "counts.tif", counts, transform, dtype="int16")
    with rasterio.open(tmp_path / "counts.tif", "r+") as data:
        data.scales, data.offsets, data.units = (0.5,), (10.0,), ("cm",)
    x, y = pixels(transform)
    land = layer(tmp_path / "counts.tif", origin="map")
    assert land.height(x, y) == pytest.approx((counts * 0.5 + 10) * 0.01)


def test_map_in_feet(tmp_path):
    # US survey feet: EPSG:2225 (California zone 1)
    transform = rasterio.Affine(10, 0, 6_000_000, 0, -10, 2_000_000)
    x, y = pixels(transform)
    write_raster(tmp_path / "ft.tif", np.zeros(x.shape), transform, crs="EPSG:2225")
    assert layer(tmp_path / "ft.tif").bounds[1] == pytest.approx(80 * 1200 / 3937)


@pytest.mark.parametrize(
    ("crs", "unit", "metres"),
    [
        ("EPSG:2225", None, 1200 / 3937),  # heights in the feet of x and y
        ("EPSG:2225", "m", 1.0),  # the band says otherwise
        ("EPSG:32633+6360", None, 1200 / 3937),  # UTM with heights in US survey feet
        ("EPSG:2225+5703", None, 1.0),  # x and y in feet, heights (NAVD88) in metres
    ],
)
def test_heights_of_maps_in_feet_are_in_feet(tmp_path, crs, unit, metres):
    transform = rasterio.Affine(10, 0, 6_000_000, 0, -10, 2_000_000)
    if crs.startswith("EPSG:326"):
        transform = rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)
    write_raster(tmp_path / "ft.tif", np.full((ROWS, COLUMNS), 100.0), transform, crs=crs)
    if unit:
        with rasterio.open(tmp_path / "ft.tif", "r+") as data:
            data.units = (unit,)
    assert layer(tmp_path / "ft.tif").height(5.0, 5.0) == pytest.approx(100 * metres)
    assert layer(tmp_path / "ft.tif", unit="cm").height(5.0, 5.0) == pytest.approx(1.0)


def test_web_mercator_is_true_to_scale_at_the_middle(tmp_path):
    # 60° north: x is a λ and y has a dφ/cos φ on the map, N cos φ dλ and M dφ on the ground
    a, f, phi = 6378137.0, 1 / 298.257223563, math.radians(60)
    y = a * math.log(math.tan(math.pi / 4 + phi / 2))
    transform = rasterio.Affine(2, 0, 1e6, 0, -2, y + ROWS)
    x_map, y_map = pixels(transform)
    slope = 0.01 * (x_map - x_map.min())
    write_raster(tmp_path / "web.tif", slope, transform, crs="EPSG:3857")
    land = layer(tmp_path / "web.tif")
    squared = f * (2 - f)
    w = math.sqrt(1 - squared * math.sin(phi) ** 2)
    east, north = math.cos(phi) / w, math.cos(phi) * (1 - squared) / w**3
    width, depth = 2 * (COLUMNS - 1) * east, 2 * (ROWS - 1) * north
    assert land.bounds == pytest.approx((0, width, 0, depth), rel=1e-6)
    # a slope of 1 % on the map is one of 2 % on the ground
    assert land.height(width, 0) == pytest.approx(0.01 * 2 * (COLUMNS - 1))


def test_maps_whose_scale_changes_or_that_lean_are_refused(tmp_path):
    wide = rasterio.Affine(50_000, 0, 1e6, 0, -50_000, 8.4e6)
    values = np.zeros((ROWS, COLUMNS))
    write_raster(tmp_path / "wide.tif", values, wide, crs="EPSG:3857")
    with pytest.raises(InputError, match="% in the window; give a smaller 'window'"):
        layer(tmp_path / "wide.tif")
    mars = "+proj=sinu +lon_0=0 +R=3396190 +units=m"
    write_raster(tmp_path / "sinu.tif", values, north_up(1e6, 1e6, 2.0), crs=mars)
    with pytest.raises(InputError, match="not perpendicular here; reproject it"):
        layer(tmp_path / "sinu.tif")


def test_mars_and_moon_maps_are_corrected(tmp_path):
    values = np.zeros((ROWS, COLUMNS))
    # equirectangular at 30° latitude: x too long by 1/cos 30°
    mars = "+proj=eqc +lat_ts=0 +R=3396190 +units=m"
    y = math.radians(30) * 3396190
    write_raster(tmp_path / "mars.tif", values, north_up(0, y, 2.0), crs=mars)
    east, north = (2 * (n - 1) for n in (COLUMNS, ROWS))
    assert layer(tmp_path / "mars.tif").bounds[1] == pytest.approx(
        east * math.cos(math.radians(30)), rel=1e-5
    )
    # polar stereographic 10° from the pole: scale 2/(1 + cos 10°)
    moon = "+proj=stere +lat_0=-90 +lat_ts=-90 +R=1737400 +units=m"
    away = 2 * 1737400 * math.tan(math.radians(5))
    write_raster(tmp_path / "moon.tif", values, north_up(0, away, 2.0), crs=moon)
    factor = (1 + math.cos(math.radians(10))) / 2
    found = layer(tmp_path / "moon.tif").bounds
    assert found == pytest.approx((0, east * factor, 0, north * factor), rel=1e-5)


def test_degrees_without_a_projection_are_given(tmp_path):
    radius, degree = 3396190.0, math.radians(1) * 3396190.0
    lon, lat = np.meshgrid(137.0 + 0.001 * np.arange(5), -4.5 + 0.001 * np.arange(4))
    rows = np.column_stack([lon.ravel(), lat.ravel(), (lon - 137).ravel() * 1000])
    np.savetxt(tmp_path / "deg.csv", rows, delimiter=",", header="x,y,z", comments="", fmt="%.6f")
    with pytest.raises(InputError, match="is a map in degrees"):
        layer(tmp_path / "deg.csv", horizontal_unit="deg")
    land = layer(tmp_path / "deg.csv", horizontal_unit="deg", body_radius=radius)
    width = 0.004 * degree * math.cos(math.radians(-4.4985))
    assert land.bounds == pytest.approx((0, width, 0, 0.003 * degree), rel=1e-6)
    assert land.height(width, 0.0) == pytest.approx(4.0)
    # the same as a grid without a coordinate system
    head = "ncols 5\nnrows 4\nxllcorner 136.9995\nyllcorner -4.5005\ncellsize 0.001\n"
    heights = (lon - 137)[::-1] * 1000
    lines = "\n".join(" ".join(f"{v:.4f}" for v in row) for row in heights)
    (tmp_path / "deg.asc").write_text(head + lines + "\n")
    grid = layer(tmp_path / "deg.asc", horizontal_unit="deg", body_radius=radius)
    assert grid.bounds == pytest.approx(land.bounds, rel=1e-6)
    with pytest.raises(InputError, match="not latitudes"):
        layer(_shifted(tmp_path, rows), horizontal_unit="deg", body_radius=radius)


def _shifted(folder, rows):
    """The same points at 120° of latitude."""
    path = folder / "far.csv"
    np.savetxt(path, rows + (0, 124.5, 0), delimiter=",", header="x,y,z", comments="", fmt="%.6f")
    return path


def test_map_in_degrees_is_refused_or_scaled(tmp_path):
    transform = rasterio.Affine(0.01, 0, 137.0, 0, -0.01, -4.0)
    values = np.zeros((ROWS, COLUMNS))
    values[0, -1] = 10.0  # the north-eastern corner
    write_raster(tmp_path / "deg.tif", values, transform, crs="EPSG:4326")
    with pytest.raises(InputError, match="degrees; reproject"):
        layer(tmp_path / "deg.tif")
    radius = 3396190.0
    land = layer(tmp_path / "deg.tif", body_radius=radius)
    degree = math.radians(1) * radius
    middle = math.radians(-4.0 - 0.01 * ROWS / 2)
    width, depth = 0.08 * degree * math.cos(middle), 0.05 * degree
    assert land.bounds == pytest.approx((0, width, 0, depth))
    assert land.height(width, depth) == pytest.approx(10.0)
    assert land.height(width, 0.0) == pytest.approx(0.0)


def test_turned_raster_is_refused(tmp_path):
    transform = rasterio.Affine.rotation(10)
    write_raster(tmp_path / "turned.tif", np.zeros((ROWS, COLUMNS)), transform)
    with pytest.raises(InputError, match="warp it to north-up"):
        layer(tmp_path / "turned.tif")


def test_raster_without_coordinates_needs_a_spacing(tmp_path):
    values = np.arange(54.0).reshape(ROWS, COLUMNS) / 54
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        write_raster(tmp_path / "plain.tif", values, None, crs=None)
    with pytest.raises(InputError, match="spacing"):
        layer(tmp_path / "plain.tif")
    land = layer(tmp_path / "plain.tif", spacing="50 cm")
    assert land.bounds == pytest.approx((0, 4, 0, 2.5))
    assert land.height(0.0, 2.5) == pytest.approx(values[0, 0])
    assert land.height(4.0, 0.0) == pytest.approx(values[-1, -1])
    with pytest.raises(InputError, match="defines its own"):
        write_raster(tmp_path / "dem.tif", values, north_up())
        layer(tmp_path / "dem.tif", spacing=1)


def test_esri_ascii_grid(tmp_path):
    (tmp_path / "a.asc").write_text(
        "ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ncellsize 1\nNODATA_value -9999\n"
        "0.1 0.2 0.3\n0.4 0.5 0.6\n"
    )
    land = layer(tmp_path / "a.asc", origin="map")
    assert land.height(np.array([10.5, 12.5]), np.array([21.5, 20.5])) == pytest.approx([0.1, 0.6])


# --- holes


@pytest.mark.parametrize("how", ["nodata", "nan"])
def test_holes_are_reported_or_filled(tmp_path, how):
    transform = north_up(0, 12, 2.0)
    x, y = pixels(transform)
    values = truth(x, y)
    hole = [(2, 3), (2, 4), (0, 8)]  # two inside, one in the north-eastern corner
    for row, column in hole:
        values[row, column] = -32768 if how == "nodata" else math.nan
    options = {"nodata": -32768} if how == "nodata" else {}
    write_raster(tmp_path / "holes.tif", values, transform, **options)
    with pytest.raises(InputError, match="3 of 54 points have no height") as error:
        layer(tmp_path / "holes.tif", origin="map")
    assert "x = 7, y = 7 m" in str(error.value)  # row 2, column 3 is the southernmost
    land = layer(tmp_path / "holes.tif", origin="map", holes="fill")
    z = land.height(x, y)
    known = np.isfinite(truth(x, y))
    for row, column in hole:
        known[row, column] = False
    assert z[known] == pytest.approx(truth(x, y)[known])
    # each is the mean of its neighbours: the surface's own twist has none, so it is met exactly
    assert z[2, 3:5] == pytest.approx(truth(x, y)[2, 3:5])
    # in the corner the mean of the two that are there
    assert z[0, 8] == pytest.approx((z[0, 7] + z[1, 8]) / 2)


def test_no_data_that_the_file_does_not_declare(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3,4\n1,-9999,3,4\n1,2,3,4\n")
    with pytest.raises(InputError, match="check 'unit', 'scale', 'nodata'"):
        layer(tmp_path / "a.csv", spacing=1)
    with pytest.raises(
        InputError, match="1 of 12 points have no height, the first at x = 1, y = 1"
    ):
        layer(tmp_path / "a.csv", spacing=1, nodata=-9999)
    land = layer(tmp_path / "a.csv", spacing=1, nodata=-9999, holes="fill")
    assert land.height(1.0, 1.0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("kind", "nodata", "given"),
    [("int16", -32768, -32768), ("float32", np.float32(-3.4028227e38), -3.40282265509e38)],
)
def test_no_data_is_as_the_file_holds_it(tmp_path, kind, nodata, given):
    """Before the band's scale and offset, and with the digits of its type."""
    values = np.full((6, 8), 300).astype(kind)
    values[2, 3] = nodata
    with rasterio.open(
        tmp_path / "a.tif", "w", driver="GTiff", height=6, width=8, count=1, dtype=kind,
        transform=north_up(0, 6, 1.0),
    ) as data:  # fmt: skip
        data.write(values, 1)
        data.scales, data.offsets = (0.01,), (5.0,)
    part = layer(tmp_path / "a.tif", nodata=given, holes="fill")
    assert part.height(3.0, 3.0) == pytest.approx(8.0)


def test_filling_a_plane_is_exact_inside(tmp_path):
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.arange(30.0), np.arange(20.0))
    values = 0.03 * x - 0.01 * y
    damaged = values.copy()
    missing = rng.random(values.shape) < 0.3
    missing[[0, -1]] = missing[:, [0, -1]] = False
    damaged[missing] = np.nan
    spec = {"kind": "array", "values": damaged, "spacing": 1, "holes": "fill"}
    land = build_terrain(validate_terrain({"layers": [spec]}))
    assert land.height(x, y) == pytest.approx(values, abs=1e-9)


def test_nothing_but_holes(tmp_path):
    write_raster(tmp_path / "a.tif", np.full((ROWS, COLUMNS), np.nan), north_up())
    for holes in ("error", "fill"):
        with pytest.raises(InputError, match="no point of it has a height"):
            layer(tmp_path / "a.tif", holes=holes)


# --- wrong units


def test_heights_in_millimetres_taken_for_metres(tmp_path):
    transform = north_up(0, 12, 2.0)
    x, y = pixels(transform)
    write_raster(tmp_path / "mm.tif", 1000 * truth(x, y), transform)
    with pytest.raises(InputError, match="over an extent of only 16 m; check 'unit'"):
        layer(tmp_path / "mm.tif")
    land = layer(tmp_path / "mm.tif", unit="mm", origin="map")
    assert land.height(x, y) == pytest.approx(truth(x, y))


def test_heights_beyond_any_planet(tmp_path):
    transform = north_up(0, 0, 1e5)
    write_raster(tmp_path / "far.tif", np.full((ROWS, COLUMNS), -32768.0), transform)
    with pytest.raises(InputError, match="beyond ±30 km"):
        layer(tmp_path / "far.tif")


# --- tables, arrays, pictures


def test_csv_grid_first_row_is_north_unless_said(tmp_path):
    (tmp_path / "a.csv").write_text("# heights\n0.1,0.2,0.3,0.4\n0.5,0.6,0.7,0.8\n")
    land = layer(tmp_path / "a.csv", spacing=1)
    assert land.bounds == (0, 3, 0, 1)
    assert land.height(np.array([0.0, 3.0]), np.array([1.0, 0.0])) == pytest.approx([0.1, 0.8])
    south = layer(tmp_path / "a.csv", spacing=1, first_row="south", unit="cm")
    assert south.height(np.array([0.0, 3.0]), np.array([0.0, 1.0])) == pytest.approx([0.001, 0.008])
    with pytest.raises(InputError, match="spacing"):
        layer(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2\n3\n", "row 2 has 1 values"),
        ("1,2\n3,x\n", "row 2 holds 'x'"),
        ("\n# only a comment\n", "holds no numbers"),
        ("1,2\n,4\n", "1 of 4 points have no height"),
    ],
)
def test_broken_tables(tmp_path, text, says):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=says):
        layer(tmp_path / "a.csv", spacing=1)


@pytest.mark.parametrize("name", ["a.xyz", "a.csv", "header.csv", "semicolon.csv"])
def test_points_on_a_grid_in_any_order(tmp_path, name):
    x, y = np.meshgrid(100 + 0.5 * np.arange(7), -3 + 0.25 * np.arange(5))
    points = np.column_stack([x.ravel(), y.ravel(), truth(x, y).ravel()])
    np.random.default_rng(0).shuffle(points)
    sign = {"a.xyz": " ", "semicolon.csv": ";"}.get(name, ",")
    head = "intensity,z,y,x\n" if name == "header.csv" else ""
    if head:
        points = np.column_stack([np.arange(35), points[:, ::-1]])
    lines = [sign.join(repr(float(v)) for v in p) for p in points]
    (tmp_path / name).write_text(head + "\n".join(lines))
    land = layer(tmp_path / name, origin="map")
    assert land.bounds == pytest.approx((100, 103, -3, -2))
    assert land.height(x + 0.1, y) == pytest.approx(truth(np.minimum(x + 0.1, 103), y))


def test_a_missing_point_is_a_hole(tmp_path):
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0))
    points = np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel()])
    np.savetxt(tmp_path / "a.xyz", np.delete(points, 7, axis=0))
    with pytest.raises(
        InputError, match="1 of 20 points have no height, the first at x = 2, y = 1"
    ):
        layer(tmp_path / "a.xyz")


def test_scattered_points(tmp_path):
    rng = np.random.default_rng(1)
    corners = np.array([[0, 0], [4, 0], [0, 3], [4, 3]])
    point = np.concatenate([corners, rng.uniform(0, 1, (400, 2)) * [4, 3]])
    plane = 0.2 * point[:, 0] - 0.1 * point[:, 1]
    np.savetxt(tmp_path / "a.xyz", np.column_stack([point * 100, plane * 100]))
    land = layer(tmp_path / "a.xyz", horizontal_unit="cm", unit="cm", spacing="10 cm", origin="map")
    assert land.bounds == pytest.approx((0, 4, 0, 3))
    x, y = np.meshgrid(np.linspace(0, 4, 9), np.linspace(0, 3, 9))
    assert land.height(x, y) == pytest.approx(0.2 * x - 0.1 * y, abs=1e-9)
    # without corners the convex hull leaves holes
    np.savetxt(tmp_path / "b.xyz", np.column_stack([point, plane])[4:])
    with pytest.raises(InputError, match="have no height"):
        layer(tmp_path / "b.xyz", spacing=0.1)
    filled = layer(tmp_path / "b.xyz", spacing=0.1, holes="fill", origin="map")
    assert filled.height(2.0, 1.5) == pytest.approx(0.25, abs=1e-9)


def test_numpy_files(tmp_path):
    x, y = np.meshgrid(np.arange(4.0), 10 + np.arange(3.0))
    np.save(tmp_path / "a.npy", truth(x, y))
    south = layer(tmp_path / "a.npy", spacing=1, first_row="south")
    assert south.height(x, y - 10) == pytest.approx(truth(x, y))
    np.savez(tmp_path / "b.npz", x=x[0], y=y[:, 0], z=truth(x, y))
    land = layer(tmp_path / "b.npz", origin="map")
    assert land.height(x, y) == pytest.approx(truth(x, y))
    # axes may run backwards: they say where a row lies
    np.savez(tmp_path / "c.npz", x=x[0], y=y[::-1, 0], z=truth(x, y)[::-1])
    assert layer(tmp_path / "c.npz", origin="map").height(x, y) == pytest.approx(truth(x, y))
    (tmp_path / "bad.npy").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="cannot be read by numpy"):
        layer(tmp_path / "bad.npy", spacing=1)


@pytest.mark.parametrize("bits", [8, 16])
def test_picture_as_heights(tmp_path, bits):
    from PIL import Image

    top = 2**bits - 1
    grey = np.zeros((3, 5), dtype=f"uint{bits}")
    grey[0, 4] = top  # north-east
    grey[2, 0] = top // 5  # south-west
    Image.fromarray(grey).save(tmp_path / "a.png")
    land = layer(tmp_path / "a.png", spacing=1, heights=["-1 m", "1 m"])
    assert land.height(4.0, 2.0) == pytest.approx(1.0)
    assert land.height(0.0, 0.0) == pytest.approx(-0.6, abs=1e-9)
    assert land.height(2.0, 1.0) == pytest.approx(-1.0)
    scaled = layer(tmp_path / "a.png", spacing=1, scale=1 / top)
    assert scaled.height(4.0, 2.0) == pytest.approx(1.0)
    with pytest.raises(InputError, match="not both"):
        layer(tmp_path / "a.png", spacing=1, heights=[0, 1], unit="cm")


def test_coloured_picture_is_refused(tmp_path):
    from PIL import Image

    Image.fromarray(np.eye(3, dtype="uint8")[None].repeat(3, 0) * 200).save(tmp_path / "a.png")
    with pytest.raises(InputError, match="in colour"):
        layer(tmp_path / "a.png", spacing=1)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        layer(tmp_path / "none.tif")
    (tmp_path / "text.tif").write_text("not a picture")
    with pytest.raises(InputError, match=r"text.tif: cannot be read as a map"):
        layer(tmp_path / "text.tif")
    (tmp_path / "a.png").write_text("not a picture")
    with pytest.raises(InputError, match=r"a.png: cannot be read as a picture"):
        layer(tmp_path / "a.png", spacing=1)


def test_missing_rasterio_is_named_with_its_extra(dem, monkeypatch):
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(InputError, match=r"rasterio: pip install 'marsyard\[maps\]'"):
        layer(dem)


def test_files_count_from_the_folder_of_their_yaml(tmp_path, monkeypatch, dem):
    (tmp_path / "land.yaml").write_text("layers: [{kind: file, file: dem.tif}]\n")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    land = build_terrain(*load_terrain("../land.yaml"))
    assert land.height(0.0, 0.0) == pytest.approx(truth(1, 9))
    # else from where one stands
    (tmp_path / "there.yaml").write_text("layers: [{kind: file, file: here.csv, spacing: 1}]\n")
    (other / "here.csv").write_text("1,1\n1,1\n")
    assert build_terrain(*load_terrain("../there.yaml")).height(0.5, 0.5) == 1.0


# --- roughness over a coarse map


def test_fine_roughness_over_a_coarse_map(tmp_path):
    transform = north_up(0, 60, 1.0)
    x, y = pixels(transform, 60, 60)
    write_raster(tmp_path / "dem.tif", 2 * np.sin(x / 12) + 0.5 * np.cos(y / 9), transform)
    coarse = {"kind": "file", "file": str(tmp_path / "dem.tif"), "interpolation": "cubic"}
    rough = {
        "kind": "fractal", "hurst": 0.6, "roughness": "1 cm", "lag": "20 cm", "spacing": "2 cm",
        "patch": "16 m", "longest": "2 m",
    }  # fmt: skip
    both = build_terrain(validate_terrain({"layers": [coarse, rough]}))
    alone = build_terrain(validate_terrain({"layers": [coarse]}))
    assert both.bounds == alone.bounds == pytest.approx((0, 59, 0, 59))
    fine = [survey(land, (16.0, 16.0), (20.0, 20.0), 0.05) for land in (both, alone)]
    added = fine[0].z - fine[1].z
    # RMS difference at the lag as asked, and nothing left of it over the map's own spacing
    lag = round(0.2 / fine[0].spacing)
    found = math.sqrt(np.mean((added[lag:] - added[:-lag]) ** 2))
    assert found == pytest.approx(0.01, rel=0.15)
    block = added[:320, :320].reshape(4, 80, 4, 80).mean(axis=(1, 3))  # means over 4 m
    assert np.abs(block).max() < 0.1 * added.std()


# --- soil maps


def test_soil_map_from_a_raster(tmp_path):
    transform = north_up(0, 12, 2.0)
    codes = np.ones((ROWS, COLUMNS), dtype="uint8")
    codes[:2, 6:] = 2  # the north-east
    codes[5, 0] = 255  # no data: the default soil
    write_raster(tmp_path / "soil.tif", codes, transform, dtype="uint8", nodata=255)
    spec = {
        "soil": "sand", "layers": [],
        "soil_map": {"file": str(tmp_path / "soil.tif"), "origin": "map",
                     "legend": {1: "dust", 2: "ice"}},
        "places": [{"kind": "circle", "soil": "duricrust", "centre": [9, 5], "radius": 1}],
    }  # fmt: skip
    land = build_terrain(validate_terrain(spec))
    assert land.soils == ("sand", "dust", "ice", "duricrust")
    x, y = pixels(transform)
    expected = np.where(codes == 255, 0, codes)
    expected[np.hypot(x - 9, y - 5) <= 1] = 3
    assert (land.soil(x, y) == expected).all()
    # a pixel reaches half its size; beyond the map the default lies
    assert land.soil(np.array([12.1, 11.9, 17.9, 18.1]), np.full(4, 9.0)).tolist() == [2, 1, 2, 0]
    spec["soil_map"]["legend"] = {1: "dust"}
    with pytest.raises(InputError, match="values 2 of .* are not listed"):
        build_terrain(validate_terrain(spec))


def test_soil_map_by_colour(tmp_path):
    from PIL import Image

    picture = np.zeros((2, 3, 3), dtype="uint8")
    picture[0, 2] = (0xC0, 0x80, 0x40)  # north-east
    Image.fromarray(picture).save(tmp_path / "soil.png")
    legend = {"#000000": None, "#c08040": "ice"}
    soil_map = {"file": str(tmp_path / "soil.png"), "spacing": 1, "legend": legend}
    land = build_terrain(validate_terrain({"soil": "sand", "soil_map": soil_map}))
    x, y = np.meshgrid(np.arange(3), np.arange(2))
    assert land.soils == ("sand", "ice")
    assert land.soil(x, y).tolist() == [[0, 0, 0], [0, 0, 1]]
    legend["brown"] = "ice"
    with pytest.raises(InputError, match="neither a number nor a colour"):
        build_terrain(validate_terrain({"soil": "sand", "soil_map": soil_map}))


# --- meshes


def mesh_layer(path, **options):
    part = {"kind": "mesh", "file": str(path), **options}
    return build_terrain(validate_terrain({"layers": [part]}))


def test_mesh_of_a_grid_is_the_grid(tmp_path):
    import trimesh

    rng = np.random.default_rng(4)
    z = rng.normal(size=(12, 15)) * 0.1
    x, y = np.meshgrid(np.arange(15.0), np.arange(12.0))
    number = np.arange(180).reshape(12, 15)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3),
                            np.stack([a, c, d], -1).reshape(-1, 3)])  # fmt: skip
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    trimesh.Trimesh(points * 100, faces, process=False).export(tmp_path / "a.stl")
    land = mesh_layer(tmp_path / "a.stl", scale=0.01, offset=[5, -2, 1])
    assert land.bounds == pytest.approx((5, 19, -2, 9), abs=1e-5)
    assert land.height(x + 5, y - 2) == pytest.approx(z + 1, abs=1e-5)
    # inside triangles: linear between the corners
    middle = (z[:-1, :-1] + z[:-1, 1:] + z[1:, 1:]) / 3
    found = land.height(x[:-1, :-1] + 5 + 2 / 3, y[:-1, :-1] - 2 + 1 / 3)
    assert found == pytest.approx(middle + 1, abs=1e-5)


def test_mesh_takes_the_highest_surface(tmp_path):
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.5)
    ball.export(tmp_path / "ball.obj")
    land = mesh_layer(tmp_path / "ball.obj", outside=0)
    assert land.bounds is None
    r = np.linspace(0, 0.45, 50)
    assert land.height(r, np.zeros(50)) == pytest.approx(np.sqrt(0.25 - r**2), abs=2e-3)
    assert land.height(0.6, 0.0) == 0.0
    with pytest.raises(InputError, match="has no triangle over"):
        mesh_layer(tmp_path / "ball.obj")


def test_box_mesh_is_finite_everywhere(tmp_path):
    import trimesh

    trimesh.creation.box(extents=(2, 1, 0.4)).export(tmp_path / "box.ply")
    land = mesh_layer(tmp_path / "box.ply")
    x, y = np.meshgrid(np.linspace(-1, 1, 101), np.linspace(-0.5, 0.5, 101))
    assert land.height(x, y) == pytest.approx(0.2)
    assert land.height(5.0, 5.0) == pytest.approx(0.2)


def test_mesh_given_as_map(tmp_path):
    (tmp_path / "a.stl").write_text("solid\nendsolid\n")
    with pytest.raises(InputError, match="kind: mesh"):
        layer(tmp_path / "a.stl")
