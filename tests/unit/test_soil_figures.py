"""Figures of soils: what is drawn, and the command that draws them."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from marsyard import InputError
from marsyard.cli import app
from marsyard.ground import load_soil
from marsyard.results import draw_soils, soil_canvas


def _curves(canvas):
    return [{line.get_label(): line.get_xydata() for line in ax.lines} for ax in canvas.axes]


def test_curves_are_those_of_the_soil():
    sink, shear = _curves(soil_canvas(["fjs_1", "krenn2008"], width=0.11, pressure=5e3))
    soil = load_soil("fjs_1")
    z, p = sink["fjs_1"].T
    assert p * 1e3 == pytest.approx((1370 / 0.11 + 814e3) * z * 1e-3)
    j, tau = shear["krenn2008"].T
    strength = 188 + 5e3 * np.tan(np.radians(24.8))
    assert tau * 1e3 == pytest.approx(strength * (1 - np.exp(-j * 1e-3 / 0.01)), rel=1e-5)
    assert soil.sinkage(p[-1] * 1e3, 0.11) * 1e3 == pytest.approx(z[-1])


def test_a_soil_without_numbers_is_left_out_of_a_panel():
    sink, shear = _curves(soil_canvas(["jsc_1a", "mars_sand_reece", {"cohesion": 280}]))
    assert list(sink) == ["jsc_1a"]
    assert list(shear) == ["mars_sand_reece"]


def test_a_width_too_small_for_a_background_soil_only_leaves_it_out():
    sink, _ = _curves(soil_canvas(["fjs_1"], width=0.05, background=["grc_1_scm", "clay"]))
    assert len(sink) == 2
    with pytest.raises(InputError, match="not positive"):
        soil_canvas(["grc_1_scm"], width=0.05)


def test_the_file_is_a_picture(tmp_path):
    path = draw_soils(["rock", {"name": "clay", "cohesion": "1 kPa"}], tmp_path / "a" / "s.png")
    assert path.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="ending in .png"):
        draw_soils(["rock"], tmp_path / "s.pdf")


def test_the_command_draws(tmp_path):
    file = tmp_path / "soil.png"
    result = CliRunner().invoke(app, ["show", "lunar_nominal", "--plot", str(file)])
    assert result.exit_code == 0
    assert file.stat().st_size > 10_000
    assert "17.8 to 18 mm" in result.output


def test_the_command_draws_only_soils(tmp_path):
    result = CliRunner().invoke(app, ["show", "exomars", "--plot", str(tmp_path / "s.png")])
    assert isinstance(result.exception, InputError)
    assert "--plot applies to soils only" in str(result.exception)


def test_show_prints_numbers_of_one_law_and_grousers():
    said = CliRunner().invoke(app, ["show", "toyoura_ding2011"]).output
    assert "extra" in said
    assert "c_P1" in said
    said = CliRunner().invoke(app, ["show", "exomars"]).output
    assert "12 grousers 0.008 m high, 0.002 m thick" in said
