"""Numbers of soils at another gravity: Reece's form, and the scaling of granular media."""

import math
import warnings
from dataclasses import replace

import pytest

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground import load_soil
from marsyard.ground.gravity_scaling import at_gravity
from marsyard.ground.soil import EARTH, Soil
from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation

MOON = 1.62
SAND = {
    "name": "dry_sand", "k_c": 900.0, "k_phi": 1.5e6, "cohesion": 0.0, "density": 1600.0,
    "damping": 2e3, "unloading_stiffness": 1e8,
}  # fmt: skip


@pytest.mark.parametrize("gravity", [MOON, 3.71, 20.0])
def test_reece_is_reeces_form(gravity):
    # n = 1: (c k'_c + ρ g b k'_φ) z/b = (k_c/b + k_φ) z with k_c = c k'_c, k_φ = ρ g k'_φ
    c, rho, kc, kphi = 300.0, 1600.0, 20.0, 60.0
    numbers = {"exponent": 1.0, "cohesion": c, "density": rho}
    bekker = Soil("b", k_c=c * kc, k_phi=rho * EARTH * kphi, **numbers)
    reece = Soil("r", reece_kc=kc, reece_kphi=kphi, **numbers)
    for b in (0.05, 0.2):
        expected = (c * kc + rho * gravity * b * kphi) / b
        assert at_gravity(bekker, gravity, "reece").pressure_modulus(b) == pytest.approx(expected)
        assert at_gravity(reece, gravity, "reece").pressure_modulus(b) == pytest.approx(expected)
        # and at the gravity of the measurement nothing changes
        assert at_gravity(bekker, EARTH, "reece") == bekker


def test_the_default_unloading_stiffness_goes_with_gravity_too():
    soil = replace(load_soil(SAND), unloading_stiffness=None)
    for given, k_u in (((), 2e7), ((6e6,), 6e6)):
        scaled = at_gravity(soil, MOON, "granular", *given)
        assert scaled.unloading_stiffness == pytest.approx(k_u * MOON / EARTH)
    assert at_gravity(soil, MOON, "reece").unloading_stiffness is None


@pytest.mark.parametrize("model", ["wong_reece", "ishigami", "ding"])
@pytest.mark.parametrize("slip", [0.0, 0.1, 0.3, 0.7])
def test_wheel_of_given_mass_sinks_alike_at_every_gravity(model, slip):
    # granular: forces go with gravity, lengths and angles do not
    own = {"peak_0": 0.4, "peak_1": 0.15} if model != "ding" else {}
    wheel, mass = Wheel(0.12, 0.1, Exit("height", 0.3), lug_height=0.01), 8.0
    forces = {}
    for g in (EARTH, MOON):
        soil = at_gravity(load_soil(SAND), g, "granular")
        made = WheelModel(model, wheel, soil, own, g)
        forces[g] = made.under_load(mass * g, slip, slip_angle=0.2)
    here, there, ratio = forces[EARTH], forces[MOON], MOON / EARTH
    assert there.sinkage == pytest.approx(here.sinkage, rel=1e-9)
    for name in ("drawbar_pull", "torque", "side_force", "thrust", "resistance"):
        assert getattr(there, name) == pytest.approx(ratio * getattr(here, name), rel=1e-8), name
    # with numbers as measured the wheel sinks less, as in tests with reduced weight
    as_measured = WheelModel(model, wheel, load_soil(SAND), own, MOON).under_load(mass * MOON, slip)
    assert as_measured.sinkage < 0.7 * there.sinkage


def driven(gravity, scaling):
    """Sinkage [m], pull over load and record of a wheel of 10 kg in the rig, at speeds that go
    with √g and for times that go with 1/√g."""
    root = math.sqrt(gravity / EARTH)
    data = scenario_data("soil/wheel")
    data.pop("study")
    # the rig gives the load and has no gravity of its own: the soil is that of the gravity
    soil = at_gravity(load_soil(SAND), gravity, scaling)
    names = ("k_c", "k_phi", "damping", "unloading_stiffness")
    numbers = {name: getattr(soil, name) for name in names}
    begin = f"min(1, max(0, t*{root} - 1))"
    settings = {
        "ground": [{"kind": "terrain", "soil": {**SAND, **numbers}, "spacing": 0.01}],
        "robot.joints.lift": 0.0,
        "control": [
            {"joints": "lift", "torque": f"-{10 * gravity}*min(1, t*{root})"},
            {"joints": "travel", "speed": f"{0.1 * root}*{begin}"},
            {"joints": "wheel_y", "speed": f"{0.1 * root}/0.125/(1 - 0.3)*{begin}"},
        ],
        "run.duration": round(5 / root / 0.02) * 0.02,
        "run.step": "1 ms",
    }
    for key, value in settings.items():
        apply_setting(data, key, value)
    made = Simulation(validate(data, "rig")).run().dataset()
    late = made.isel(time=slice(-50, None))
    pull = float(late.drawbar_pull.sel(wheel="W").mean())
    return float(late.sinkage.sel(wheel="W").mean()), pull / (10 * gravity)


def test_soil_contact_model_scales_with_gravity():
    # the same mass in the same cohesionless sand: the same sinkage and share of the load, by
    # Froude's scaling of time; what is left is that the masses of the rig do not swing alike
    here, there = driven(EARTH, "none"), driven(MOON, "granular")
    assert there[0] == pytest.approx(here[0], rel=0.005)
    assert there[1] == pytest.approx(here[1], abs=0.004)
    assert driven(MOON, "none")[0] < 0.7 * here[0]


def caught_warnings(soil, **ground):
    data = scenario_data("exomars/drawbar-pull")
    data["ground"] = [{"kind": "terrain", "name": "soil", "soil": soil, **ground}]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = Simulation(validate(data, "drive"))
    return simulation, [str(w.message) for w in caught if "gravity" in str(w.message)]


def test_run_at_another_gravity_warns_once():
    simulation, said = caught_warnings("grc_1")
    assert len(said) == 1
    assert "gravity is 3.72 m/s²" in said[0]
    assert "grc_1 (9.81 m/s²)" in said[0]
    assert "ground.soil.gravity_scaling" in said[0]
    assert simulation.world.soil.soils[0].k_phi == load_soil("grc_1").k_phi


def test_scaled_or_measured_there_is_silent():
    simulation, said = caught_warnings("grc_1", gravity_scaling="granular")
    assert not said
    found = simulation.world.soil.soils[0]
    assert found.k_phi == pytest.approx(load_soil("grc_1").k_phi * 3.72 / 9.81)
    assert found.cohesion == load_soil("grc_1").cohesion
    for soil in ("mars_sojourner", "rock"):
        assert not caught_warnings(soil)[1]


def test_every_soil_says_at_which_gravity_it_was_measured():
    for name in library.names("soils"):
        assert load_soil(name).measured_at in (None, 1.62, 3.71, 3.72, 9.81), name
    assert load_soil({"name": "dry_sand", "measured_at": "3.71 m/s²"}).measured_at == 3.71
    assert load_soil({"name": "dry_sand", "measured_at": "any"}).measured_at is None
    with pytest.raises(InputError, match="measured_at = 0 m/s²: above 0, or any"):
        load_soil({"name": "dry_sand", "measured_at": 0})
    with pytest.raises(InputError, match="needs a gravity above 0"):
        at_gravity(load_soil("dry_sand"), 0.0, "reece")
