"""Figures and tables that can be read: colours that one value cannot spoil, labels that are there,
maps that show the whole of what they are named after."""

from __future__ import annotations

import io

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from marsyard.analysis.kinetostatics.tables import _table
from marsyard.analysis.traction_map.figures import draw_numbers
from marsyard.drawing.colours import bar_ends, robust_limits
from marsyard.ground.terrain import build_terrain, survey, usual_view
from marsyard.scenario import load_terrain

# --- colours


def test_one_runaway_value_does_not_blind_a_map():
    values = np.random.default_rng(1).normal(10.0, 1.0, (40, 40))
    low, high = robust_limits(values)
    assert (low, high) == (values.min(), values.max())
    spoilt = values.copy()
    spoilt[3, 3] = 1e6
    spoilt[4, 4] = np.nan
    assert robust_limits(spoilt)[1] == pytest.approx(high, abs=0.5)
    assert bar_ends(spoilt, *robust_limits(spoilt)) == "max"
    assert bar_ends(-spoilt, *robust_limits(-spoilt)) == "min"
    assert bar_ends(values, low, high) == "neither"


@pytest.mark.parametrize(
    "values", [[3.0, 3.0, 3.0], [np.nan, np.inf], [], [0.0, 0.0, 0.0, 0.0, 5.0]]
)
def test_limits_of_what_hardly_varies(values):
    low, high = robust_limits(np.array(values))
    assert np.isfinite([low, high]).all() and low < high
    if values and values[-1] == 5.0:  # few values that differ are the picture, not a mistake
        assert high == 5.0


# --- tables


def test_units_in_brackets_are_no_markup():
    table = _table("screws (forces [1], moments [m])", ("[m]", "force [N]"))
    table.add_row("wheel [FL]", "1 [bold]")
    out = io.StringIO()
    Console(file=out, width=120).print(table)
    for said in ("forces [1], moments [m]", "[m]", "force [N]", "wheel [FL]", "1 [bold]"):
        assert said in " ".join(out.getvalue().split()), said


# --- maps


def test_the_usual_view_of_a_crater_shows_all_of_it():
    terrain = build_terrain(*load_terrain("crater_10m"))
    x0, x1, y0, y1 = usual_view(terrain)
    assert x1 >= 8 + 1.2 * 5 and y0 <= -1.2 * 5 and y1 >= 1.2 * 5
    assert x0 <= 0 <= x1  # and the origin, where rovers start
    seen = survey(terrain, spacing=0.25)
    assert seen.x[-1] == pytest.approx(x1, abs=0.25)
    # the lowest place is the crater's middle
    row, column = np.unravel_index(int(seen.z.argmin()), seen.z.shape)
    assert np.hypot(seen.x[column] - 8, seen.y[row]) < 1.0


def test_grounds_without_a_feature_are_seen_as_before():
    assert usual_view(build_terrain(*load_terrain("fractal_mild"))) == (-10, 10, -10, 10)


@pytest.mark.parametrize(("nx", "ny"), [(24, 24), (60, 12), (12, 60), (3, 40)])
@pytest.mark.parametrize("origin", [(-10.0, -6.0), (99000.0, -25000.0)])
def test_labels_of_a_map_lie_on_its_sheet(nx, ny, origin):
    numbers = np.random.default_rng(0).random((ny, nx, 4))
    names = ("traction_ratio", "tilt", "margin", "friction_demand")
    found = xr.Dataset(
        {name: (("y", "x", "heading"), numbers) for name in names},
        coords={"x": origin[0] + 0.5 * np.arange(nx), "y": origin[1] + 0.5 * np.arange(ny),
                "heading": np.arange(4) * np.pi / 2},
        attrs={"title": "made up", "friction": 0.5, "limit_tilt": 0.5},
    )  # fmt: skip
    canvas = draw_numbers(found)
    canvas.canvas.draw()
    renderer = canvas.canvas.get_renderer()
    for ax in canvas.axes:
        for text in (ax.xaxis.label, ax.yaxis.label, ax._left_title):
            if text.get_text():
                box = text.get_window_extent(renderer)
                assert box.x0 > 2 and box.y0 > 2, text.get_text()
                assert box.x1 < canvas.bbox.width - 2, text.get_text()
                assert box.y1 < canvas.bbox.height - 2, text.get_text()
