"""Terrains: closed forms, bounds, soils by place, seeds, and errors in one sentence."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.terrain import Layer, build_terrain, survey
from marsyard.scenario import load_terrain, validate_terrain


def terrain(*layers, **more):
    return build_terrain(validate_terrain({"layers": list(layers), **more}))


def grid(low=-3.0, high=3.0, count=41):
    return np.meshgrid(np.linspace(low, high, count), np.linspace(low, high, count))


# --- shapes with a closed form


def test_no_layers_is_level():
    flat = terrain()
    x, y = grid()
    assert flat.bounds is None
    assert flat.soils == ("default",)
    assert (flat.height(x, y) == 0).all()


def test_plane_rises_by_its_slope_uphill_only():
    plane = terrain({"kind": "plane", "slope": "20 deg", "uphill": "90 deg", "through": [1, 2, 3]})
    assert plane.height(1.0, 2.0) == pytest.approx(3.0)
    assert plane.height(1.0, 4.0) - 3.0 == pytest.approx(2 * math.tan(math.radians(20)))
    assert plane.height(-7.0, 2.0) == pytest.approx(3.0)


def test_step_has_a_vertical_face_or_a_ramp():
    face = terrain({"kind": "step", "height": "10 cm", "position": 2})
    assert face.height(np.array([1.999, 2.0, 5.0]), np.zeros(3)).tolist() == [0, 0.1, 0.1]
    ramp = terrain(
        {"kind": "step", "height": 0.1, "position": 2, "ramp": 0.5, "heading": "180 deg"}
    )
    x = -np.array([1.9, 2.25, 2.6])
    assert ramp.height(x, np.zeros(3)) == pytest.approx([0, 0.05, 0.1])


def test_bump_is_smooth_and_as_steep_as_documented():
    bump = terrain({"kind": "bump", "centre": [1, -1], "radius": 2, "height": 0.3})
    r = np.linspace(0, 2.2, 4001)
    z = bump.height(1 + r, -np.ones_like(r))
    slope = np.gradient(z, r)
    assert z[0] == pytest.approx(0.3)
    assert z[r >= 2] == pytest.approx(0, abs=1e-12)
    assert np.abs(slope).max() == pytest.approx(math.pi * 0.3 / (2 * 2), rel=1e-5)
    assert np.abs(slope[[0, -1]]).max() < 1e-3
    assert np.abs(np.diff(slope)).max() < 1e-3  # no kink


def test_sine_along_its_heading():
    waves = terrain(
        {"kind": "sine", "amplitude": 0.1, "wavelength": 2, "heading": "90 deg", "phase": "90 deg"}
    )
    y = np.array([0.0, 0.5, 1.0, 2.0])
    assert waves.height(np.full(4, 7.3), y) == pytest.approx([0.1, 0, -0.1, 0.1], abs=1e-12)


def test_layers_add_up():
    parts = (
        {"kind": "plane", "slope": "5 deg"},
        {"kind": "bump", "radius": 2, "height": 0.3},
        {"kind": "fractal", "hurst": 0.6, "roughness": 0.05, "seed": 3},
        {"kind": "crater", "diameter": 3, "centre": [1, 1]},
    )
    x, y = grid()
    total = terrain(*parts).height(x, y)
    assert total == pytest.approx(sum(terrain(p).height(x, y) for p in parts), abs=1e-12)


def test_any_shape_of_points():
    hills = terrain({"kind": "fractal", "hurst": 0.6, "roughness": 0.05}, {"kind": "rocks",
                    "coverage": 0.2})  # fmt: skip
    x, y = grid()
    z, soil = hills.height(x, y), hills.soil(x, y)
    assert z.shape == soil.shape == x.shape
    assert soil.dtype == np.int64
    one = hills.height(x[3, 4], y[3, 4])
    assert one.shape == () and one == z[3, 4]
    assert hills.height(x[5:7, ::2], y[5:7, ::2]).tolist() == z[5:7, ::2].tolist()
    assert hills.height(x[:0], y[:0]).shape == (0, 41)
    assert hills.height(x.T, y.T).tolist() == z.T.tolist()
    assert hills.height(x.tolist(), y.tolist()).tolist() == z.tolist()


def test_a_terrain_is_immutable():
    flat = terrain()
    with pytest.raises(dataclasses.FrozenInstanceError):
        flat.title = "other"
    x, y = grid()
    first = flat.height(x, y)
    first += 1.0
    assert (flat.height(x, y) == 0).all()


def test_a_layer_of_ones_own():
    plane = terrain({"kind": "plane", "slope": "10 deg"})
    own = Layer(lambda x, y: 0.5 * x * y)
    land = dataclasses.replace(plane, layers=(*plane.layers, own))
    x, y = grid()
    assert land.height(x, y) == pytest.approx(plane.height(x, y) + 0.5 * x * y)


# --- bounds


def test_outside_its_bounds_the_nearest_value_goes_on():
    hill = terrain(
        {"kind": "plane", "slope": "45 deg"},
        bounds=[[-1, 2], [-3, 3]],
        soil="a",
        places=[{"kind": "circle", "soil": "b", "centre": [2, 0], "radius": 0.5}],
    )
    assert hill.bounds == (-1, 2, -3, 3)
    assert hill.height(np.array([-9.0, 0.5, 9.0]), np.zeros(3)) == pytest.approx([-1, 0.5, 2])
    assert hill.soil(np.array([9.0, 9.0]), np.array([0.0, 2.0])).tolist() == [1, 0]


def test_bounds_of_layers_meet():
    values = np.zeros((3, 5))
    both = terrain(
        {"kind": "array", "values": values, "spacing": 1, "origin": [0, 0]},
        {"kind": "array", "values": values, "spacing": 1, "origin": [1, 1]},
    )
    assert both.bounds == (1, 4, 1, 2)
    with pytest.raises(InputError, match="do not overlap"):
        terrain({"kind": "array", "values": values, "spacing": 1}, bounds=[[10, 11], [0, 1]])


# --- soils


def test_later_places_win_and_rocks_over_all():
    land = terrain(
        {"kind": "rocks", "coverage": 0.3, "smallest": 0.2, "area": [[-3, 3], [-3, 3]], "seed": 1},
        soil="sand",
        places=[
            {"kind": "circle", "soil": "dust", "centre": [0, 0], "radius": 2},
            {"kind": "polygon", "soil": "ice", "points": [[0, 0], [3, 0], [3, 3], [0, 3]]},
        ],
    )
    assert land.soils == ("sand", "dust", "ice", "rock")
    x, y = grid(count=301)
    soil, rock = land.soil(x, y), land.height(x, y) > 0
    assert rock.any() and (soil[rock] == 3).all()
    ice = (x > 0) & (x < 3) & (y > 0) & (y < 3) & ~rock
    dust = (np.hypot(x, y) < 2) & ~((x >= 0) & (y >= 0)) & ~rock
    assert (soil[ice] == 2).all()
    assert (soil[dust] == 1).all()
    assert (soil[(np.hypot(x, y) > 2) & ~((x >= 0) & (y >= 0)) & ~rock] == 0).all()


def test_polygon_against_matplotlib():
    from matplotlib.path import Path

    corners = [[-2, -1], [1, -2.5], [0.5, 0], [2.5, 1], [-0.5, 0.7], [-1, 2.6]]
    land = terrain(places=[{"kind": "polygon", "soil": "b", "points": corners}])
    point = np.random.default_rng(0).uniform(-3, 3, (5000, 2))
    inside = Path(corners).contains_points(point)
    assert 500 < inside.sum() < 4500
    assert (land.soil(*point.T) == inside).all()


# --- seeds


RANDOM = [
    {"kind": "fractal", "hurst": 0.6, "roughness": 0.05},
    {"kind": "craters", "smallest": 0.5, "largest": 5},
    {"kind": "rocks", "coverage": 0.15},
]


@pytest.mark.parametrize("layer", RANDOM, ids=lambda p: p["kind"])
def test_same_seed_same_bits(layer):
    x, y = grid(-20, 20, 201)
    base = terrain(layer, seed=5).height(x, y)
    assert (terrain(layer, seed=5).height(x, y) == base).all()
    assert not (terrain(layer, seed=6).height(x, y) == base).all()
    # an own seed does not depend on the terrain's, nor on the layer's place
    own = {**layer, "seed": 9}
    here = terrain(own, seed=1).height(x, y)
    assert (terrain({"kind": "plane"}, own, seed=2).height(x, y) == here).all()


def test_two_layers_of_a_kind_differ():
    layer = {"kind": "fractal", "hurst": 0.6, "roughness": 0.05}
    x, y = grid()
    one, two = terrain(layer).height(x, y), terrain(layer, layer).height(x, y)
    assert np.abs(two - 2 * one).max() > 0.01


# --- endless


@pytest.mark.parametrize(
    ("layer", "period"),
    [
        ({"kind": "fractal", "hurst": 0.6, "roughness": 0.05, "patch": 12.8}, 12.8),
        ({"kind": "craters", "smallest": 0.5, "largest": 5, "repeat": True}, 40.0),
        ({"kind": "rocks", "coverage": 0.15, "repeat": True}, 40.0),
    ],
    ids=lambda p: p["kind"] if isinstance(p, dict) else "",
)
def test_repeats_without_a_seam(layer, period):
    endless = terrain(layer)
    x, y = grid(-6, 6, 61)
    x, y = x + 0.0173, y - 0.0231  # not on a cell's border, where rounding chooses the side
    z = endless.height(x, y)
    assert endless.height(x + 3 * period, y - 2 * period) == pytest.approx(z, abs=1e-9)
    # across the seam heights change no faster than elsewhere
    s = np.linspace(-20, 20, 20001)
    for at in (np.full_like(s, period / 2), s):
        other = s if at is not s else np.full_like(s, period / 2)
        left, right = endless.height(at - 1e-9, other), endless.height(at + 1e-9, other)
        assert np.percentile(np.abs(left - right), 99.9) < 1e-6


def test_places_kept_clear():
    start = {"centre": [2, 1], "radius": 3}
    angle, radius = np.meshgrid(np.linspace(0, 7, 200), np.linspace(0, 2.999, 60))
    x, y = 2 + radius * np.cos(angle), 1 + radius * np.sin(angle)
    rocky = {"kind": "rocks", "coverage": 0.3}
    assert (terrain(rocky).height(x, y) > 0).any()
    assert (terrain({**rocky, "clear": [start]}).height(x, y) == 0).all()


# --- arrays


def test_array_goes_through_its_values():
    values = np.random.default_rng(1).normal(size=(7, 9))
    for interpolation in ("linear", "cubic"):
        land = terrain({"kind": "array", "values": values, "spacing": 0.5, "origin": [1, -2],
                        "interpolation": interpolation})  # fmt: skip
        x, y = np.meshgrid(1 + 0.5 * np.arange(9), -2 + 0.5 * np.arange(7))
        assert land.height(x, y) == pytest.approx(values, abs=1e-12)
        assert land.bounds == (1, 5, -2, 1)


def test_array_survives_being_written():
    values = np.random.default_rng(1).normal(size=(4, 5))
    spec = validate_terrain({"layers": [{"kind": "array", "values": values, "spacing": 1}]})
    again = validate_terrain(spec.model_dump(mode="json"))
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0))
    assert (build_terrain(again).height(x, y) == values).all()


def test_linear_stays_within_and_cubic_has_no_kinks():
    values = np.zeros((9, 9))
    values[:, 4:] = 1.0
    x = np.linspace(0, 8, 4001)
    heights = {}
    for name in ("linear", "cubic"):
        land = terrain({"kind": "array", "values": values, "spacing": 1, "interpolation": name})
        heights[name] = land.height(x, np.full_like(x, 3.3))
    assert heights["linear"].min() >= 0 and heights["linear"].max() <= 1
    kink = {name: np.abs(np.diff(z, 2)).max() for name, z in heights.items()}
    assert kink["cubic"] < kink["linear"] / 100


# --- wrong input

FRACTAL = {"kind": "fractal", "hurst": 0.5, "roughness": 0.1}
ROCKS = {"kind": "rocks", "coverage": 0.1}
CRATERS = {"kind": "craters", "smallest": 1, "largest": 5}
WRONG = {
    "vertical plane": ({"kind": "plane", "slope": "90 deg"}, "layers.0.slope: 90° is not a valid "
                                                             "slope"),
    "negative ramp": ({"kind": "step", "height": 1, "ramp": -1}, "layers.0.ramp = -1"),
    "unknown kind": ({"kind": "hill"}, "layers.0.kind"),
    "unknown key": ({**FRACTAL, "spaceing": 1}, "did you mean 'spacing'"),
    "wrong unit": ({"kind": "bump", "radius": "1 kg", "height": 1}, "unit of mass"),
    "hurst": ({**FRACTAL, "hurst": 1.2}, "layers.0.hurst = 1.2: must be below 1"),
    "lag": ({**FRACTAL, "lag": 100}, "half the patch"),
    "huge patch": ({**FRACTAL, "patch": 5000}, "4096"),
    "coverage": ({**ROCKS, "coverage": 19}, "layers.0.coverage = 19: must be at most 0.4"),
    "rock sizes": ({**ROCKS, "smallest": 3}, "smallest must be below largest"),
    "too many rocks": ({**ROCKS, "smallest": 0.001}, "rocks; at most"),
    "too many craters": ({**CRATERS, "smallest": 0.001}, "craters; at most"),
    "narrow repeat": ({**CRATERS, "largest": 30, "repeat": True}, "twice as wide"),
    "empty area": ({**ROCKS, "area": [[1, 1], [0, 1]]}, "the first must be lower"),
    "high rim": ({"kind": "crater", "diameter": 1, "rim_ratio": 0.3}, "rim_ratio"),
    "bad array": ({"kind": "array", "values": [[1, "a"]], "spacing": 1}, "table of numbers"),
    "line": ({"kind": "array", "values": [1, 2, 3], "spacing": 1}, "2 × 2"),
    "hole": ({"kind": "array", "values": [[0, 1], [math.nan, 2]], "spacing": 1}, "x = 0, y = 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_layers_are_one_sentence(case):
    layer, says = WRONG[case]
    with pytest.raises(InputError) as error:
        terrain(layer)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert "layers.0" in str(error.value)


# --- the library


@pytest.mark.parametrize("name", library.names("grounds"))
def test_grounds_of_the_library(name):
    spec, folder = load_terrain(name)
    assert spec.title and spec.description
    land = build_terrain(spec, folder)
    seen = survey(land, (10.0, 10.0), spacing=0.1)
    assert np.isfinite(seen.z).all()
    # soils of the library, or what stands for them
    for soil in land.soils:
        assert soil in (*library.names("soils"), "default", "rock")


def test_numbers_in_titles_of_the_library_are_true():
    for name, lag, expected in (("fractal_mild", 1.0, 0.03), ("fractal_rough", 1.0, 0.096)):
        spec, folder = load_terrain(name)
        layer = spec.layers[0]
        found = []
        for seed in range(8):
            own = spec.model_copy(update={"layers": (layer.model_copy(update={"seed": seed}),)})
            seen = survey(build_terrain(own, folder), (layer.patch, layer.patch), spacing=0.2)
            found.append(seen.roughness(lag)[1] ** 2)
        assert math.sqrt(np.mean(found)) == pytest.approx(expected, rel=0.08)
    washboard = survey(build_terrain(load_terrain("washboard")[0]), (4.0, 1.0), spacing=0.005)
    assert np.ptp(washboard.z) == pytest.approx(0.10, rel=1e-3)
    assert math.degrees(washboard.steepest[0]) == pytest.approx(17.4, abs=0.1)


def test_unknown_ground_and_file():
    with pytest.raises(InputError, match="did you mean 'fractal_rough'"):
        load_terrain("fractal_rogh")
    with pytest.raises(InputError, match="no such file"):
        load_terrain("nowhere.tif")
    with pytest.raises(InputError, match="no such file"):
        load_terrain("nowhere.yaml")


# --- the survey


def test_survey_of_a_plane():
    plane = terrain({"kind": "plane", "slope": "12 deg", "uphill": "30 deg"})
    seen = survey(plane, (6.0, 4.0), (1.0, 2.0), 0.1)
    assert (seen.x[0], seen.x[-1]) == pytest.approx((-2, 4))
    assert (seen.y[0], seen.y[-1]) == pytest.approx((0, 4))
    assert math.degrees(seen.rms_slope) == pytest.approx(12)
    assert math.degrees(seen.steepest[0]) == pytest.approx(12)
    lag, rough = seen.roughness(1.0)
    rise = math.tan(math.radians(12))
    n = [seen.z[:, 10:].size, seen.z[10:].size]
    mean = (n[0] * math.cos(math.pi / 6) ** 2 + n[1] * math.sin(math.pi / 6) ** 2) / sum(n)
    assert (lag, rough) == pytest.approx((1.0, rise * math.sqrt(mean)))


def test_survey_stays_in_the_bounds():
    small = terrain({"kind": "plane"}, bounds=[[0, 3], [0, 1]])
    seen = survey(small)
    assert seen.x[-1] == pytest.approx(3) and seen.y[-1] == pytest.approx(1, abs=0.01)
    with pytest.raises(InputError, match="is outside"):
        survey(small, (1.0, 1.0), (50.0, 0.0))
    with pytest.raises(InputError, match="points"):
        survey(small, spacing=1e-6)


# --- the recipes of docs/how-to/ground.md


def test_recipes_of_the_documentation_work():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "ground.md"
    text = page.read_text(encoding="utf-8")
    recipes = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(recipes) >= 4
    for recipe in recipes:
        validate_terrain(yaml.safe_load(recipe))
    build_terrain(validate_terrain(yaml.safe_load(recipes[0])))
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, str(page), "exec"), {})
