"""The triaxial section of a soil, and what is derived where a soil lacks it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.interaction.soil_columns.arrays import (
    CONTRACTS,
    DILATES,
    HEIGHT,
    RESIDUAL,
    STRAIN_R,
    STRENGTH_0,
    STRENGTH_1,
    TAN_START,
)
from marsyard.interaction.soil_columns.numbers import ColumnOptions, granular_row, law_row

EARTH = ColumnOptions(gravity=9.81)


def soil(**triaxial):
    return load_soil({"name": "soil_wheel_default", "triaxial": triaxial})


def test_values_with_units_and_entries_with_provenance_are_read():
    made = soil(
        modulus="2 MPa",
        dilation_angle={
            "value": 8,
            "unit": "deg",
            "provenance": "published",
            "source": "somewhere",
        },
        curve={"points": [[0, 0], [0.05, "80 kPa"]], "provenance": "published", "source": "there"},
    ).triaxial
    assert made.modulus == 2e6
    assert made.dilation_angle == pytest.approx(math.radians(8))
    assert made.curve == ((0.0, 0.0), (0.05, 80e3))
    assert made.failure_ratio is None


def test_a_section_in_a_file_is_changed_by_the_scenario(tmp_path):
    text = "title: t\nnumbers: {cohesion: 0}\ntriaxial:\n  modulus: {value: 3, unit: MPa}\n"
    path = tmp_path / "own.yaml"
    path.write_text(text + "  failure_ratio: {value: 0.9}\n", encoding="utf-8")
    made = load_soil({"name": str(path), "triaxial": {"modulus": 1e6}}).triaxial
    assert (made.modulus, made.failure_ratio) == (1e6, 0.9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"moduls": 1e6}, "unknown 'moduls'; did you mean"),
        ({"modulus": "2 kg"}, "triaxial.modulus"),
        ({"failure_ratio": 1.5}, "from 0.1 to 0.99"),
        ({"dilation_angle": "60 deg"}, "from -20 to 40 deg"),
        ({"curve": [[0, 0]]}, "from 2 to 64"),
        ({"curve": [[0, 1], [1, 2]]}, r"first point must be \[0, 0\]"),
        ({"curve": [[0, 0], [0, 2]]}, "strains must rise"),
        ({"curve": "steep"}, "a list of pairs"),
        ({"volume_curve": [[0, 0], [0.1, 0.2]]}, "more volume than it is shortened"),
    ],
)
def test_mistakes_are_named(given, said):
    with pytest.raises(InputError, match=said):
        soil(**given)


def test_numbers_of_the_law():
    sand = soil(modulus=2e6, dilation_angle=math.radians(5), residual_angle=math.radians(25))
    row = law_row(sand, 0.1, None, EARTH)
    assert row[HEIGHT] == pytest.approx(0.2)
    # ½ γ b N_γ and γ N_q of 30°
    assert row[STRENGTH_0] == pytest.approx(0.5 * 1600 * 9.81 * 0.1 * 22.40, rel=1e-3)
    assert row[STRENGTH_1] == pytest.approx(1600 * 9.81 * 18.40, rel=1e-3)
    assert row[STRAIN_R] == pytest.approx(row[STRENGTH_0] / 2e6)
    K = lambda deg: math.tan(math.radians(45 + deg / 2)) ** 2  # noqa: E731
    assert row[RESIDUAL] == pytest.approx((K(25) - 1) / (K(30) - 1), rel=1e-4)
    # at failure it dilates by 2 sin ψ/(1 − sin ψ)
    s = math.sin(math.radians(5))
    assert row[CONTRACTS] - row[DILATES] == pytest.approx(-2 * s / (1 - s), rel=1e-4)


def test_loose_soil_does_not_dilate_and_a_thin_layer_is_short():
    row = law_row(soil(modulus=1e6), 0.1, None, EARTH)
    assert row[CONTRACTS] - row[DILATES] == pytest.approx(0.0, abs=1e-5)
    thin = law_row(soil(modulus=1e6), 0.1, None, ColumnOptions(9.81, depth=0.05))
    assert thin[HEIGHT] == 0.05


def test_a_soil_without_modulus_and_sinkage_law_is_refused_with_what_it_lacks():
    own = {"cohesion": 280, "friction_angle": 0.67, "density": 1600}
    with pytest.raises(InputError, match=r"triaxial\.modulus or triaxial\.curve"):
        law_row(load_soil(own), 0.1, None, EARTH)


def test_a_sinkage_law_above_the_bearing_capacity_gives_a_warning():
    rock = load_soil("rock")
    with pytest.warns(UserWarning, match="bearing capacity"):
        row = law_row(rock, 0.1, rock.pressure_modulus(0.1), EARTH)
    assert np.isfinite(row).all()


def test_an_angle_of_repose_goes_without_cohesion():
    own = load_soil({"name": "lunar_nominal", "repose_angle": "40 deg"})
    assert granular_row(own, EARTH)[TAN_START] == pytest.approx(math.tan(math.radians(40)))
    assert granular_row(own, EARTH)[2] == 0.0
    assert granular_row(load_soil("lunar_nominal"), EARTH)[2] == 170.0


def test_columns_that_carry_nothing_are_refused():
    # without weight the strength is that of the cohesion alone
    with pytest.raises(InputError, match=r"columns without cohesion carry no load .* scm$"):
        law_row(soil(modulus=1e6), 0.1, None, ColumnOptions(0.0))


def test_what_columns_lack_is_what_their_law_takes():
    from marsyard.scenario import load_scenario
    from marsyard.simulation import Simulation

    scenario = load_scenario("soil/columns-wheel", {"interaction.soil.pressure": "reece"})
    with pytest.raises(InputError, match=r"\(exponent, density, reece_kc, reece_kphi\)"):
        Simulation(scenario)
