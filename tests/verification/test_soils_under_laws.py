"""Every soil of the library runs under every law of soft ground; what is assumed for it is said."""

import math
import warnings

import numpy as np
import pytest

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground import load_soil
from marsyard.ground.soil import NUMBERS, Soil
from marsyard.ground.typical import KINDS, TYPICAL, StandsIn, one_warning
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation

EXIT = {"rule": "height", "value": 0.2}
LAWS = {
    "scm": {},
    "columns": {"interaction.soil.model": "columns", "interaction.soil.columns.gravity": 9.81},
    "wong_reece": {"interaction.wheel": {"model": "wong_reece", "exit": EXIT}},
    "ishigami": {"interaction.wheel": {"model": "ishigami", "exit": EXIT}},
    "ding": {"interaction.wheel": {"model": "ding", "exit": EXIT}},
}


def rolled(soil, law, seconds=2.0):
    """The data of a wheel under 40 N that stands for a second and rolls from then on, and the
    warnings."""
    data = scenario_data("soil/wheel")
    data.pop("study")
    ground = [{"kind": "terrain", "soil": soil}]
    settings = {"ground": ground, "run.duration": seconds, "parameters.load": 40.0}
    for key, value in {**settings, **LAWS[law]}.items():
        apply_setting(data, key, value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = Simulation(validate(data, "rig"))
        simulation.run()
    return simulation.dataset(), caught


@pytest.mark.parametrize("soil", library.names("soils"))
def test_every_soil_runs_under_every_law(soil):
    radius = 0.125
    for law in LAWS:
        data, caught = rolled(soil, law)
        z = data.sinkage.sel(wheel="W").values[-1]
        # columns of snow give way even under this load
        assert 0 < z < (math.inf if law == "columns" and "snow" in soil else radius), law
        assert np.isfinite(data.drawbar_pull.values).all(), law
        # one warning, and it names all that is assumed
        said = [str(w.message) for w in caught if isinstance(w.message, StandsIn)]
        assert len(said) <= 1, law
        missing = [n for n in ("shear_modulus",) if getattr(load_soil(soil), n) is None]
        if law in ("wong_reece", "ishigami", "ding"):
            peaks = [n for n in ("peak_0", "peak_1") if n not in load_soil(soil).extra]
            missing += [*peaks, *(["density"] if not load_soil(soil).density else [])]
        assert not missing or all(name in said[0] for name in missing), law


def test_number_of_the_kind_stands_in_with_value_and_source():
    soil = Soil("own", kind="snow", friction_angle=0.3)
    assert soil.typical("shear_modulus") == TYPICAL["snow"]["shear_modulus"]
    assert not soil.has("shear_modulus")
    assert soil.supplies("shear_modulus", "shear_modulus_lateral", "repose_angle")
    with pytest.warns(
        StandsIn, match=r"soil own: shear_modulus = 0.0375 m \(middle of 25 to 50 mm"
    ):
        assert soil.number("shear_modulus_lateral") == 0.0375
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert soil.number("repose_angle") == 0.3


def test_soil_of_no_kind_is_refused_and_told_which_kinds_there_are():
    soil = Soil("own", exponent=1.0, k_c=0.0, k_phi=1e6, cohesion=0.0, friction_angle=0.5)
    assert not soil.supplies("shear_modulus")
    with pytest.raises(InputError, match=r"has no shear_modulus \[m\].* or its kind \(sand, regol"):
        soil.number("shear_modulus")
    with pytest.raises(InputError, match="kind 'sandy'; did you mean 'sand'"):
        Soil("own", kind="sandy")
    # there is no typical strength or stiffness
    with pytest.raises(InputError, match="has no cohesion"):
        Soil("own", kind="sand").number("cohesion")


def test_typical_numbers_lie_in_their_range_and_name_a_source():
    for numbers in TYPICAL.values():
        for name, typical in numbers.items():
            assert name in NUMBERS
            assert typical.low <= typical.value <= typical.high
            assert len(typical.source) > 10
    assert {load_soil(n).kind for n in library.names("soils")} <= {"", *KINDS}


def test_sand_and_regolith_are_what_the_library_has():
    # mean of the densities that sands of the library give, and their range
    given = [
        load_soil(name).density or 0.0
        for name in ("hit_lss1", "sand_push_pull_2020", "grc_1", "grc_3")
    ]
    sand = TYPICAL["sand"]["density"]
    assert (min(given), max(given)) == (sand.low, sand.high)
    assert sand.value == pytest.approx(np.mean(given), rel=0.01)
    assert TYPICAL["regolith"]["density"].value == load_soil("lunar_nominal").density


def test_one_warning_keeps_the_others():
    with pytest.warns(UserWarning) as caught, one_warning():
        Soil("a").number("density")
        Soil("a").number("density")
        Soil("b", kind="snow").number("density")
        warnings.warn("something else", stacklevel=1)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert texts[0] == "something else"
    assert texts[1].count("soil a: density = 1600 kg/m³") == 1
    assert texts[1].count("soil b: density = 300 kg/m³") == 1


def test_modulus_from_reece_numbers():
    soil = load_soil("mars_sand_reece")
    assert soil.has_modulus
    assert not soil.has("k_c")
    b, n = 0.1, 1.4
    pressure = 200 * 9.1 + 1650 * 3.71 * b * 500.8
    assert soil.pressure_modulus(b) == pytest.approx(pressure / b**n, rel=1e-12)
    # a plate at the depth of its width: (z/b)^n = 1
    assert soil.pressure(b, b) == pytest.approx(pressure, rel=1e-12)


@pytest.mark.parametrize("law", ["wong_reece", "ishigami"])
def test_angle_of_the_largest_stress_stands_in(law):
    wheel = Wheel(0.09, 0.11, Exit("height", 0.9), surface=None)
    soil = load_soil("fjs_1")
    with pytest.warns(StandsIn, match=f"{law}: peak_0 = 0.18 .Wong and Reece 1967"):
        usual = WheelModel(law, wheel, soil, slip_sinkage="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = {"peak_0": 0.4, "peak_1": 0.15}
        given = WheelModel(law, wheel, soil, own, slip_sinkage="none")
        assert given.under_load(64.68, slip=0.2).drawbar_pull == pytest.approx(10.06, rel=0.02)
        own = {"peak_0": 0.18, "peak_1": 0.32}
        loose = WheelModel(law, wheel, soil, own, slip_sinkage="none")
    with pytest.warns(StandsIn):
        assert math.isclose(
            usual.under_load(64.68, slip=0.2).drawbar_pull,
            loose.under_load(64.68, slip=0.2).drawbar_pull,
        )
