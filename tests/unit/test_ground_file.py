"""The ground a run left: windows, profiles, volumes, and what is asked of it wrongly."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from synthetic import Slope, ground_data, soil_dataset

from marsyard.errors import InputError
from marsyard.results import Ground, load_ground, save_ground

SPACING, SIDE = 0.05, 32


def made(change, tiles, terrain=None, spacing=SPACING) -> Ground:
    """A ground whose change is a function of x, y on the given tiles."""
    tiles = np.array(tiles).reshape(-1, 2)
    at = spacing * np.arange(SIDE)
    x, y = tiles[:, :1] * SIDE * spacing + at, tiles[:, 1:] * SIDE * spacing + at
    X = np.broadcast_to(x[:, :, None], (len(tiles), SIDE, SIDE))
    Y = np.broadcast_to(y[:, None, :], X.shape)
    values = np.asarray(change(X, Y), dtype=np.float32)
    nodes = ("tile", "i", "j")
    data = xr.Dataset(
        {
            "tile_x": ("tile", x[:, 0]),
            "tile_y": ("tile", y[:, 0]),
            "base": (nodes, Slope().height(X, Y)),
            "change": (nodes, values),
            "depth": (nodes, np.maximum(-values, 0)),
            "soil": (nodes, np.zeros(X.shape, dtype=np.uint8)),
            "time": (nodes, np.where(values != 0, 1.0, np.nan).astype(np.float32)),
        },
        attrs={"spacing": spacing, "soils": ["sand"]},
    )
    return Ground(data, terrain=terrain)


def bump(x, y):
    return -0.02 * np.exp(-((x**2 + y**2) / 0.4**2))


AROUND_ZERO = [(-1, -1), (-1, 0), (0, -1), (0, 0)]


def test_a_window_is_stitched_from_tiles_on_both_sides_of_zero():
    part = made(bump, AROUND_ZERO).window(-1.0, 1.2, -0.5, 0.75)
    assert part.change.dims == ("y", "x") and part.change.shape == (26, 45)
    np.testing.assert_allclose(part.x.values[[0, -1]], [-1.0, 1.2], atol=1e-12)
    np.testing.assert_allclose(part.change.values, bump(part.x, part.y).T, atol=1e-9)
    slope = (0.05 * part.x + 0 * part.y).transpose("y", "x")
    np.testing.assert_allclose(part.height, slope + part.change, atol=1e-9)


def test_beyond_the_tiles_the_ground_is_undisturbed_or_unknown():
    window = (1.0, 3.0, 0.0, 1.0)
    unknown = made(bump, AROUND_ZERO).window(*window)
    known = made(bump, AROUND_ZERO, Slope()).window(*window)
    outside = known.x.values >= SIDE * SPACING - 1e-9
    assert np.isnan(unknown.height.values[:, outside]).all()
    assert (unknown.soil.values[:, outside] == -1).all()
    np.testing.assert_allclose(known.height.values[:, outside], 0.05 * known.x.values[outside][None]
                               + 0 * known.y.values[:, None], atol=1e-12)  # fmt: skip
    assert (known.change.values[:, outside] == 0).all()


def test_a_coarse_window_keeps_the_deepest_rut():
    def narrow(x, y):
        return np.where(np.abs(y - 3 * SPACING) < 1e-9, -0.01, 0.0)

    ground = made(narrow, AROUND_ZERO)
    fine = ground.window(-1, 1, -1, 1)
    coarse = ground.window(-1, 1, -1, 1, every=8)
    assert coarse.change.size < fine.change.size / 40
    assert float(coarse.change.min()) == pytest.approx(-0.01)
    # in one row only, and that row knows when
    rows = np.flatnonzero((coarse.change < 0).any("x").values)
    assert len(rows) == 1 and np.isfinite(coarse.time.values[rows]).all()


def test_profiles_are_bilinear():
    ground = made(lambda x, y: 0.01 * x - 0.02 * y + 0.03 * x * y, AROUND_ZERO)
    cut = ground.profile((-0.33, 0.71), (0.9, -0.42), step=0.01)
    x, y = cut.x.values, cut.y.values
    # bilinear interpolation has no error in a function of this form
    np.testing.assert_allclose(cut.change, 0.01 * x - 0.02 * y + 0.03 * x * y, atol=1e-8)
    np.testing.assert_allclose(cut.undisturbed, 0.05 * x, atol=1e-12)
    assert float(cut.distance[-1]) == pytest.approx(np.hypot(1.23, 1.13))


def test_volume_of_a_known_hole():
    below, above = made(bump, AROUND_ZERO).volumes()
    assert below == pytest.approx(0.02 * np.pi * 0.4**2, rel=1e-3)
    assert above == 0.0


def test_two_places_far_apart_cost_two_tiles(tmp_path):
    far = 40_000  # tiles: 64 km
    ground = made(lambda x, y: -0.01 + 0 * x, [(0, 0), (far, -far)])
    path = save_ground(ground, tmp_path)
    assert path.stat().st_size < 200_000
    loaded = load_ground(path)
    x0, y0 = far * SIDE * SPACING, -far * SIDE * SPACING
    assert float(loaded.window(x0, x0 + 1, y0, y0 + 1).change.max()) == pytest.approx(-0.01)
    assert loaded.bounds()[1] > 60_000
    with pytest.raises(InputError, match="every="):
        loaded.window(*loaded.bounds())


def test_saved_and_loaded_it_is_the_same(tmp_path):
    ds = soil_dataset()
    ground = Ground(ground_data(ds), terrain=Slope())
    save_ground(ground, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["ground.nc"]
    loaded = load_ground(tmp_path)
    assert loaded.soils == ("sand", "dust") and loaded.tiles == ground.tiles
    box = ground.bounds()
    xr.testing.assert_allclose(loaded.window(*box).change, ground.window(*box).change)
    assert loaded.terrain is None
    assert "deepest rut 30.0 mm" in repr(loaded)


def test_a_ground_nobody_touched(tmp_path):
    ground = made(bump, [])
    save_ground(ground, tmp_path)
    ground = load_ground(tmp_path)
    assert (ground.tiles, ground.bounds(), ground.extremes()) == (0, None, (0.0, 0.0))
    assert np.isnan(ground.window(0, 1, 0, 1).height).all()


def test_the_terrain_comes_from_the_scenario(tmp_path):
    save_ground(made(bump, AROUND_ZERO), tmp_path)
    (tmp_path / "scenario.yaml").write_text(
        "robot: {name: exomars}\nrun: {duration: 1}\nground:\n"
        "  - {kind: terrain, terrain: {layers: [{kind: plane, slope: 0.1}]}, soil: krenn2008}\n"
    )
    part = load_ground(tmp_path).window(5.0, 6.0, 0.0, 1.0)
    plane = (np.tan(0.1) * part.x + 0 * part.y).transpose("y", "x")
    np.testing.assert_allclose(part.height, plane, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.window(1, 0, 0, 1), "not a valid rectangle"),
        (lambda g: g.window(0, np.nan, 0, 1), "not a valid rectangle"),
        (lambda g: g.window(0, 1, 0, 1, every=0), "at least 1"),
        (lambda g: g.profile((1, 1), (1, 1)), "not a valid line"),
    ],
)
def test_wrong_questions_are_told(call, message):
    with pytest.raises(InputError, match=message):
        call(made(bump, AROUND_ZERO))


def test_missing_and_foreign_files_are_told(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_ground(tmp_path / "none.nc")
    (tmp_path / "results.nc").write_bytes(b"")
    with pytest.raises(InputError, match="no ground of kind terrain"):
        load_ground(tmp_path)
    (tmp_path / "ground.nc").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a file of a ground"):
        load_ground(tmp_path)
