"""Soils: the library, reading with overrides, checks, curves."""

from __future__ import annotations

import csv
import dataclasses
import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from marsyard import InputError, library
from marsyard.ground.soil import NUMBERS, PROVENANCE, Soil, load_soil, soil_table
from marsyard.units import UNITS

ROOT = Path(__file__).parents[2]
SOILS = library.names("soils")
CATALOGUE = ROOT.parent / "shared" / "reference" / "wheel-tests" / "soil_parameters.csv"
DEG = math.pi / 180


def _data(name):
    return library.read_yaml(library.path_of("soils", name))


def _error(soil, folder=None):
    with pytest.raises(InputError) as error:
        load_soil(soil, folder)
    text = str(error.value)
    assert "\n" not in text
    return text


# the library


@pytest.mark.parametrize("name", SOILS)
def test_every_number_has_unit_provenance_and_source(name):
    data = _data(name)
    entries = {**data["numbers"], **data.get("extra", {})}
    for key, entry in entries.items():
        assert {"value", "unit", "provenance", "source"} <= set(entry), key
        assert entry["provenance"] in PROVENANCE, key
        assert len(entry["source"]) > 5, key
        if "range" in entry:
            low, high = entry["range"]
            assert low <= entry["value"] <= high, key
    for key, entry in data["numbers"].items():
        # files of the library are SI throughout
        assert UNITS[NUMBERS[key].dimension][entry["unit"]] == 1.0, key
    assert data["title"]
    assert data["description"]
    assert data["sources"]


@pytest.mark.parametrize("name", SOILS)
def test_the_file_is_what_is_loaded(name):
    soil = load_soil(name)
    assert soil.name == name
    for key, entry in _data(name)["numbers"].items():
        assert getattr(soil, key) == pytest.approx(entry["value"], rel=1e-15), key


@pytest.mark.parametrize("name", SOILS)
def test_a_source_that_quotes_the_value_agrees(name):
    """'… : 37.2°' or '… : 1.37 kN/m^(n+1)' at the end of a source says the same as the value."""
    factors = {"°": DEG, "kPa": 1e3, "kN/m^(n+1)": 1e3, "kN/m^(n+2)": 1e3, "mm": 1e-3}
    for key, entry in _data(name)["numbers"].items():
        quoted = entry["source"].rpartition(": ")[2].replace("°", " °").split()
        if len(quoted) != 2 or quoted[1] not in factors:
            continue
        said = float(quoted[0]) * factors[quoted[1]]
        assert entry["value"] == pytest.approx(said, rel=2e-5, abs=1e-9), key


@pytest.mark.parametrize("name", SOILS)
def test_a_wheel_of_ten_centimetres_is_carried(name):
    soil = load_soil(name)
    if soil.has("k_c", "k_phi", "exponent"):
        depth = soil.sinkage(10e3, 0.1)
        assert 1e-6 < depth < 0.35
        assert soil.pressure(depth, 0.1) == pytest.approx(10e3)


def test_the_simulants_agree_with_their_catalogue():
    """Catalogue with citations: the same numbers in kN, kPa and degrees."""
    if not CATALOGUE.exists():
        pytest.skip("reference data are not beside this checkout")
    names = {
        "FJS-1": "fjs_1_catalogue", "JSC-1A": "jsc_1a", "GRC-1": "grc_1", "GRC-3": "grc_3",
        "Apollo_regolith_loose": "lunar_loose", "Apollo_regolith_dense": "lunar_dense",
        "Ding2011_planetary_simulant": "hit_lss1", "KLS-1": "kls_1",
        "Hurrell2025_FJS1": "fjs_1_hurrell2025",
    }  # fmt: skip
    with CATALOGUE.open(encoding="utf-8") as file:
        rows = {row["simulant"]: row for row in csv.DictReader(file)}
    for simulant, name in names.items():
        row, soil = rows[simulant], load_soil(name)
        assert soil.exponent == pytest.approx(float(row["n"])), name
        assert soil.k_c == pytest.approx(float(row["k_c_kN_per_m_n_plus_1"]) * 1e3), name
        assert soil.k_phi == pytest.approx(float(row["k_phi_kN_per_m_n_plus_2"]) * 1e3), name
        assert soil.cohesion == pytest.approx(float(row["cohesion_kPa"]) * 1e3), name
        assert soil.friction_angle == pytest.approx(
            float(row["friction_angle_deg"]) * DEG, rel=1e-5
        )
        assert soil.density == pytest.approx(float(row["density_kg_per_m3"])), name


def test_the_reference_soil_is_the_published_one_with_round_strength():
    krenn = load_soil("krenn2008")
    for name, cohesion in (("soil_wheel_default", 0.0), ("soil_wheel_default_c500", 500.0)):
        soil = load_soil(name)
        assert (soil.exponent, soil.k_c, soil.k_phi) == (0.63, 2370, 60300)
        assert (soil.exponent, soil.k_c, soil.k_phi) == (krenn.exponent, krenn.k_c, krenn.k_phi)
        assert soil.cohesion == cohesion
        assert soil.friction_angle == pytest.approx(30 * DEG, rel=1e-5)
        assert soil.shear_modulus == 0.01
    assert krenn.pressure_modulus(0.1) == pytest.approx(84000)


def test_the_dense_bound_is_softer_than_nominal_at_the_surface():
    """What its description says: k z^1.2 overtakes k z only at 15 cm."""
    dense, nominal = load_soil("lunar_dense"), load_soil("lunar_nominal")
    assert dense.pressure(0.14, 0.1) < nominal.pressure(0.14, 0.1)
    assert dense.pressure(0.16, 0.1) > nominal.pressure(0.16, 0.1)


def test_rock_hardly_gives_way():
    """Load of a wheel on a bed of springs: W = ∫ b k (z − x²/2r) dx = (4/3) b k z √(2 r z)."""
    k, b, r, load = load_soil("rock").pressure_modulus(0.12), 0.12, 0.1425, 200.0
    z = (3 * load / (4 * b * k * math.sqrt(2 * r))) ** (2 / 3)
    assert z == pytest.approx(0.5e-3, rel=0.1)
    assert math.tan(load_soil("rock").friction_angle) == pytest.approx(0.70, abs=0.005)


# reading


def test_a_mapping_replaces_numbers_with_units():
    soil = load_soil(
        {
            "name": "krenn2008",
            "shear_modulus": "2 cm",
            "friction_angle": "30 deg",
            "cohesion": "0.5 kPa",
            "k_phi": "120.6 kN/m^(n+2)",
            "density": "1.5 g/cm³",
            "unloading_stiffness": "200 MPa/m",
            "shear_layer": 0.004,
        }
    )
    assert soil.shear_modulus == pytest.approx(0.02)
    assert soil.friction_angle == pytest.approx(30 * DEG)
    assert soil.cohesion == pytest.approx(500)
    assert soil.k_phi == pytest.approx(120600)
    assert soil.density == pytest.approx(1500)
    assert soil.unloading_stiffness == pytest.approx(2e8)
    assert soil.shear_layer == 0.004
    assert soil.exponent == load_soil("krenn2008").exponent


def test_a_mapping_without_name_is_a_soil_of_its_own():
    soil = load_soil({"exponent": 1, "k_c": 0, "k_phi": 1e6})
    assert soil.pressure(0.02, 0.1) == pytest.approx(2e4)
    assert not soil.has("cohesion")


def test_a_file_of_ones_own(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "title: mine\nnumbers:\n  cohesion: {value: 0.4, unit: kPa}\n  friction_angle: 31 deg\n"
        "  exponent: 1.2\nextra: {c_P1: -0.2}\n"
    )
    soil = load_soil("mine.yaml", folder=tmp_path)
    assert (soil.name, soil.title) == ("mine", "mine")
    assert soil.cohesion == pytest.approx(400)
    assert soil.friction_angle == pytest.approx(31 * DEG)
    assert soil.extra == {"c_P1": -0.2}
    assert load_soil({"name": "mine.yaml", "exponent": 1}, folder=tmp_path).exponent == 1


@pytest.mark.parametrize(
    ("soil", "said"),
    [
        ("luna_nominal", "unknown soil 'luna_nominal'; did you mean 'lunar_nominal'"),
        ("nowhere.yaml", "no such file 'nowhere.yaml'"),
        (
            {"name": "dry_sand", "cohesien": 1},
            "unknown number 'cohesien'; did you mean 'cohesion'?",
        ),
        ({"name": "dry_sand", "cohesion": -1}, "dry_sand: cohesion = -1: 0 or more"),
        ({"name": "dry_sand", "cohesion": "1 kg"}, "a pressure takes Pa, kPa"),
        ({"name": "dry_sand", "exponent": 0}, "exponent = 0: above 0 and at most 2.5"),
        ({"name": "dry_sand", "exponent": 2.6}, "exponent = 2.6: above 0 and at most 2.5"),
        ({"name": "dry_sand", "friction_angle": "61 deg"}, "61 deg: from 0 to 60 deg"),
        ({"name": "dry_sand", "friction_angle": 30}, "1718.87 deg: from 0 to 60 deg"),
        ({"name": "dry_sand", "shear_modulus": 0}, "shear_modulus = 0: above 0"),
        ({"name": "dry_sand", "density": 0}, "density = 0: above 0"),
        ({"name": "dry_sand", "repose_angle": "90 deg"}, "90 deg: from 0 to 89 deg"),
        ({"name": "dry_sand", "k_phi": True}, "'True' is not a frictional modulus"),
        ({"name": "dry_sand", "k_phi": float("nan")}, "not finite"),
    ],
)
def test_mistakes_are_named(soil, said):
    assert said in _error(soil)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("numbers: {cohesin: {value: 1, unit: Pa}}", "did you mean 'cohesion'?"),
        ("numbers: {cohesion: {unit: Pa}}", "cohesion: 'value' is missing"),
        ("numbers: {cohesion: {value: 1, unit: m}}", "'m' in '1 m' is a unit of length"),
        ("numbers: [1, 2]", "numbers: a mapping of numbers is expected"),
        ("nubers: {cohesion: 1}", "unknown key 'nubers'; did you mean 'numbers'?"),
        ("extra: {c_P1: much}", "extra: c_P1: 'much' is not a number"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, said):
    (tmp_path / "mine.yaml").write_text(text)
    assert said in _error("mine.yaml", tmp_path)


def test_limits_themselves_are_allowed():
    soil = load_soil({"exponent": 2.5, "cohesion": 0, "friction_angle": "60 deg"})
    assert soil.exponent == 2.5
    assert load_soil({"friction_angle": 0}).friction_angle == 0


# what a law asks for


def test_a_missing_number_is_named_with_the_way_out():
    soil = load_soil({"cohesion": 280, "friction_angle": 0.67})
    soil.require("cohesion", "friction_angle")
    with pytest.raises(InputError) as error:
        soil.require("cohesion", "k_phi")
    assert str(error.value) == (
        "soil custom soil has no k_phi [N/m^(n+2)], which this law needs; give it with "
        "{name: custom soil, k_phi: …}"
    )
    # and the way out works
    load_soil({"name": "mars_sojourner", "k_phi": 8e5}).require("k_phi")


def test_asking_for_something_that_does_not_exist():
    with pytest.raises(InputError, match="no number 'cohesin'; did you mean 'cohesion'"):
        load_soil("dry_sand").require("cohesin")


def test_what_stands_in():
    soil = load_soil("lunar_nominal")
    assert soil.number("shear_modulus_lateral") == soil.shear_modulus
    assert soil.number("repose_angle") == soil.friction_angle
    assert load_soil("fjs_1").number("shear_modulus_lateral") == 0.013
    # a replaced number takes its stand-in along
    other = dataclasses.replace(soil, shear_modulus=0.05)
    assert other.number("shear_modulus_lateral") == 0.05
    assert (soil.shear_layer, soil.damping, soil.exponent_slip) == (0, 0, 0)


def test_negative_k_c_holds_only_for_wide_wheels():
    soil = load_soil("grc_1_scm")
    limit = 202 / 2990
    assert soil.pressure_modulus(0.1) == pytest.approx(2990e3 - 202e3 / 0.1)
    assert soil.pressure_modulus(limit * 1.001) > 0
    with pytest.raises(InputError, match=r"not positive for the width b = 0.05 m.*above 0.0676 m"):
        soil.pressure_modulus(0.05)
    with pytest.raises(InputError, match="above 0"):
        soil.pressure_modulus(0)
    with pytest.raises(InputError, match="of no size"):
        load_soil({"k_c": -1, "k_phi": -1}).pressure_modulus(0.1)


# curves


def test_sinkage_and_pressure_are_inverse():
    soil = load_soil("krenn2008")
    depth = np.linspace(0, 0.1, 50)
    assert soil.sinkage(soil.pressure(depth, 0.1), 0.1) == pytest.approx(depth)
    assert soil.pressure(-0.01, 0.1) == 0
    # 10 kPa, as the file's description says
    assert soil.sinkage(10e3, 0.1) == pytest.approx(0.034, abs=0.0005)


def test_shear_reaches_its_strength():
    soil = load_soil("fjs_1")
    p = 12e3
    strength = 800 + p * math.tan(37.2 * DEG)
    assert soil.shear_strength(p) == pytest.approx(strength, rel=1e-6)
    assert soil.shear(p, 0.036) == pytest.approx(strength * (1 - math.exp(-1)), rel=1e-6)
    assert soil.shear(p, 10.0) == pytest.approx(strength, rel=1e-6)
    # the slope at the start is strength / K
    assert soil.shear(p, 1e-9) / 1e-9 == pytest.approx(strength / 0.036, rel=1e-6)


def test_soils_are_plain_values():
    assert load_soil("rock") == load_soil("rock")
    assert len({load_soil("rock"), load_soil("rock"), load_soil("clay")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_soil("rock").cohesion = 1


def test_every_field_is_a_number_or_named_here():
    names = {f.name for f in dataclasses.fields(Soil)}
    assert names == set(NUMBERS) | {
        "name", "title", "kind", "measured_at", "extra", "triaxial", "covariance",
    }  # fmt: skip


# the documentation


def test_the_page_shows_every_soil_as_it_is():
    page = (ROOT / "docs" / "physics" / "soils.md").read_text(encoding="utf-8")
    renewed = runpy.run_path(str(ROOT / "docs" / "make_soils.py"))["page"](page)
    assert page == renewed, "run python docs/make_soils.py"
    assert soil_table() in page
    for name in SOILS:
        assert f"| `{name}` |" in page
    for number in NUMBERS:
        assert f"`{number}`" in page, number


def test_the_estimate_for_a_wheel_carries_its_load():
    """The closed form of the sinkage is Bekker's: compare with the load summed over the contact.

    Bekker takes √(z − z') ≈ (√z)(1 − z'/2z) under the integral, good to a few per cent for n ≤ 1.
    """
    estimate = runpy.run_path(str(ROOT / "docs" / "make_soils.py"))["wheel_estimate"]
    load, r, b = 190.0, 0.1425, 0.12
    for name in ("krenn2008", "lunar_nominal"):
        soil = load_soil(name)
        z, resistance, grip = estimate(soil, load, r, b)
        x = np.linspace(0, math.sqrt(2 * r * z), 20001)
        depth = z - x**2 / (2 * r)
        carried = np.trapezoid(soil.pressure(depth, b), x) * b
        assert carried == pytest.approx(load, rel=0.07), name
        horizontal = np.trapezoid(soil.pressure(depth, b) * x / r, x) * b
        assert resistance * load == pytest.approx(horizontal, rel=1e-6), name
        assert grip > math.tan(soil.friction_angle)


def test_the_table_marks_what_is_assumed():
    rows = {line.split("|")[1].strip(" `"): line for line in soil_table().splitlines()}
    assert "188 ᵃ" in rows["krenn2008"]
    assert "2.37 |" in rows["krenn2008"]
    assert "1796 ᵈ" in rows["toyoura_ding2011"]
    assert "| – |" in rows["mars_sojourner"]
    assert "820 ᵃ" in rows["mars_sojourner"]
