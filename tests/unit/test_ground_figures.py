"""Figures of soil: what they compute, that they show it, and that no odd run breaks them."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic import WHEELS, Slope, ground_data, soil_dataset

from marsyard.results import Ground, default_figures, save_figures
from marsyard.results.ground_figures import draw_all, energy_terms
from marsyard.results.ground_section import _crossings, draw_section, find_section
from marsyard.results.ground_stress import mean_stress
from marsyard.results.rut_map import hillshade
from marsyard.scenario.report_schema import GroundFigures, Section


@pytest.fixture(scope="module")
def ds():
    return soil_dataset()


@pytest.fixture(scope="module")
def ground(ds):
    return Ground(ground_data(ds), terrain=Slope())


def _pixels(canvas) -> np.ndarray:
    canvas.canvas.draw()
    return np.asarray(canvas.canvas.buffer_rgba())[..., :3].astype(float)


def test_all_figures_are_drawn(ds, ground, tmp_path):
    saved = save_figures(ds, (), tmp_path, dpi=50, ground=ground)
    titles = [f.title for f in saved]
    for title in ("Rut map", "Cross section", "Stress under the wheels", "Footprints",
                  "Energy on soil", "Slip and sinkage on soil", "Forces of the soil"):  # fmt: skip
        assert title in titles
    assert len({f.path for f in saved}) == len(saved) and all(f.path.exists() for f in saved)


def test_a_scenario_chooses_what_is_shown(ds, ground):
    wanted = GroundFigures(
        show=("map", "section"),
        window=(0.0, 1.0, -1.0, 1.0),
        sections=(
            Section(start=(0.5, -1), end=(0.5, 1)),
            Section(start=(0.2, 0), end=(0.8, 0), title="Along"),
        ),
    )
    drawn = [(title, canvas) for title, _, canvas in draw_all(ds, ground, wanted)]
    assert [title for title, _ in drawn] == ["Rut map", "Cross section 1", "Along"]
    assert drawn[0][1].axes[0].get_xlim() == (0.0, 1.0)


def test_ruts_are_blue_and_berms_red_on_the_map(ds, ground):
    _, _, canvas = next(draw_all(ds, ground, GroundFigures(show=("map",))))
    p = _pixels(canvas)
    blue = (p[..., 2] > p[..., 0] + 40).mean()
    red = (p[..., 0] > p[..., 2] + 90).mean()
    assert 0.01 < blue < 0.4 and 0.005 < red < 0.4


def test_light_comes_from_the_north_west():
    x = y = np.linspace(0, 1, 11)
    level = hillshade(np.zeros((11, 11)), x, y)
    rises_east = hillshade(0.3 * np.broadcast_to(x, (11, 11)), x, y)
    rises_north = hillshade(0.3 * np.broadcast_to(y[:, None], (11, 11)), x, y)
    np.testing.assert_allclose(level, 1.0)
    # a slope that rises to the east faces west, into the light
    assert rises_east.min() > 1.0 > rises_north.max()


def test_the_section_lies_across_the_tracks_that_wheels_have_passed(ds, ground):
    section = find_section(ds, ground)
    crossed = {c.wheel for c in _crossings(ds, section)}
    assert len(crossed) >= 2
    # its ends lie on undisturbed ground, its middle crosses the ruts of 3 cm
    cut = ground.profile(section.start, section.end)
    assert abs(float(cut.change[0])) < 1e-3 and abs(float(cut.change[-1])) < 1e-3
    assert float(cut.change.min()) == pytest.approx(-0.03, abs=1e-3)


def test_crossings_are_where_the_wheels_passed(ds):
    # the base drives along x first: wheels on the left pass at y = 0.4
    section = Section(start=(0.1, 1.0), end=(0.1, -1.0))
    found = {c.wheel: c.distance for c in _crossings(ds, section)}
    path = ds["wheel_position"].sel(wheel="CL").values
    y = np.interp(0.1, path[:, 0], path[:, 1])
    assert found["CL"] == pytest.approx(1.0 - y, abs=1e-3)
    assert "FL" not in found and "RL" in found


def test_stress_is_the_mean_of_the_records(ds):
    # an even number of records
    got = mean_stress(ds, "stress_normal", 10.0, 11.98)
    angle = ds["contact_angle"].values
    touched = np.abs(angle - 0.2) < 0.5
    expected = 10e3 * (1 - ((angle[touched] - 0.2) / 0.5) ** 2)
    np.testing.assert_allclose(got[:, touched], np.tile(expected, (6, 1)))
    assert (got[:, ~touched] == 0).all()


def test_stress_is_shown_where_there_is_some(ds, ground):
    _, _, canvas = next(draw_all(ds, ground, GroundFigures(show=("stress",))))
    low, high = canvas.axes[-1].get_xlim()
    # contact from −17° to 40°
    assert -35 < low < -17 and 40 < high < 58


def test_a_span_between_two_records_takes_the_nearest(ds):
    got = mean_stress(ds, "stress_normal", 5.031, 5.032)
    assert np.isfinite(got).any()


def test_energy_adds_up(ds):
    terms = energy_terms(ds)
    np.testing.assert_allclose(terms["rest"], 0.0, atol=1e-9)
    assert terms["soil"][-1] == pytest.approx(36.0)


def test_figures_of_hard_ground_are_left_out_where_there_is_none(ds):
    soft = ds.isel(surface=slice(0, 0))
    assert "Contact impulses per wheel" in [f.title for f in default_figures(ds)]
    titles = [f.title for f in default_figures(soft)]
    assert "Contact impulses per wheel" not in titles and "Slip and sinkage on soil" in titles


def _untouched(ds, ground):
    data = ground.data.isel(tile=slice(0, 0), point=slice(0, 0))
    return ds, Ground(data, terrain=Slope())


def _no_contact(ds, ground):
    air = ds.copy()
    for name in ("stress_normal", "stress_along", "stress_across"):
        air[name] = air[name] * 0
    data = ground.data.copy()
    data["time"] = data["time"] * np.nan
    data["change"] = data["change"] * 0
    return air, Ground(data, terrain=Slope())


def _one_record(ds, ground):
    return ds.isel(time=slice(0, 1)), ground


def _diverged_at_once(ds, ground):
    broken = ds.isel(time=slice(0, 2)).copy(deep=True)
    for name in ("position_base", "wheel_position", "sinkage", "quaternion_base", "energy_soil"):
        broken[name] = broken[name] * np.nan
    data = ground.data.copy(deep=True)
    data["body_position"] = data["body_position"] * np.nan
    return broken, Ground(data)


def _no_wheels(ds, ground):
    names = [n for n, v in ds.variables.items() if "wheel" in v.dims]
    bodies = ground.data.isel(point=slice(0, 0)).copy()
    bodies["body_axle"] = bodies["body_axle"] * 0
    return ds.drop_vars(names), Ground(bodies)


@pytest.mark.parametrize(
    "odd", [_untouched, _no_contact, _one_record, _diverged_at_once, _no_wheels]
)
def test_odd_runs_break_no_figure(odd, ds, ground, tmp_path):
    ds, ground = odd(ds, ground)
    saved = save_figures(ds, (), tmp_path, dpi=40, ground=ground)
    assert all(f.path.exists() for f in saved)


def test_a_section_beyond_the_tiles_without_terrain(ds, ground):
    lone = Ground(ground.data)
    canvas = draw_section(lone, ds, Section(start=(50, 0), end=(51, 0)))
    assert _pixels(canvas).std() > 5


def test_bodies_other_than_wheels_have_footprints_too(ds, ground):
    data = ground.data.isel(body=[0]).isel(point=slice(0, 15)).copy()
    data["body_axle"] = data["body_axle"] * 0
    _, _, canvas = next(draw_all(ds, Ground(data), GroundFigures(show=("footprint",))))
    assert canvas.axes[0].get_title("left").startswith("RL: 15 nodes")


def test_wheels_are_named_in_the_footprints(ds, ground):
    _, _, canvas = next(draw_all(ds, ground, GroundFigures(show=("footprint",))))
    titles = [ax.get_title("left") for ax in canvas.axes]
    for wheel in WHEELS:
        # 15 nodes of 4 cm² under 10 kPa carry 60 N
        assert any(t.startswith(f"{wheel}: 15 nodes") and "60 N" in t for t in titles)


def test_rocks_that_stand_out_are_drawn_on_the_rut_map(ds, ground):
    from matplotlib.collections import PolyCollection

    from marsyard.ground import TriangleMesh
    from marsyard.ground.rocks import icosphere

    points, triangles = icosphere(320)
    surface = float(ground.terrain.height(np.array([0.5]), np.array([0.0]))[0])
    drawn = []
    for height in (surface, surface - 0.5):
        rock = TriangleMesh(0.1 * points + [0.5, 0.0, height], triangles, name="rock")
        wanted = GroundFigures(show=("map",), window=(0.0, 1.0, -1.0, 1.0))
        _, _, canvas = next(draw_all(ds, ground, wanted, [rock]))
        made = [c for c in canvas.axes[0].collections if isinstance(c, PolyCollection)]
        drawn.append(sum(len(c.get_paths()) for c in made))
    # about the upper half of a ball whose middle is in the surface, and nothing of a buried one
    assert 110 <= drawn[0] <= 210 and drawn[1] == 0
