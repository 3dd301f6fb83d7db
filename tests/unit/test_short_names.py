"""Short names of settings and names of worlds: the same rule wherever settings are given."""

from __future__ import annotations

import math

import pytest

from marsyard.comparison.laws import parse_variant, scenario_under
from marsyard.errors import InputError
from marsyard.operations.teleop.truth import truth_of
from marsyard.operations.validation.base import base_scenario
from marsyard.scenario import load_scenario, scenario_data, validate
from marsyard.scenario.short_names import full_path, full_paths, setting_names
from marsyard.units import WORLDS, gravity_to_si, read_gravity

HARD, SOFT = "rt0448/test-1", "exomars/drawbar-pull"


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("friction", "interaction.friction"),
        ("duration", "run.duration"),
        ("position", "robot.position"),
        ("gravity", "gravity"),
        ("radius", "parameters.radius"),
        ("ground.0.soil", "ground.0.soil"),
    ],
)
def test_a_short_name_stands_for_its_path(key, path):
    assert full_path(key, scenario_data(SOFT)) == path


def test_a_name_with_two_meanings_is_refused_with_both():
    with pytest.raises(InputError, match=r"'wheel': could be robot\.wheel or interaction\.wheel;"):
        full_path("wheel", {})
    with pytest.raises(
        InputError, match=r"could be parameters\.friction or interaction\.friction; give the whole"
    ):
        full_path("friction", {"parameters": {"friction": 1}})


def test_an_unknown_name_is_answered_by_the_nearest():
    with pytest.raises(InputError, match=r"^--set: unknown setting 'frction'; did you mean 'frict"):
        full_path("frction", {}, "--set")


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("soil", "dry_sand", "ground.0.soil"),
        ("rover", "sojourner", "robot.name"),
        ("robot", "sojourner", "robot.name"),
        ("ground", "crater_10m", "ground.0.terrain"),
    ],
)
def test_a_name_where_a_group_stands_is_answered_by_its_path(key, value, path):
    said = rf"setting '{key}': to choose one by name, give {path}={value}$"
    with pytest.raises(InputError, match=said):
        load_scenario(SOFT, {key: value})
    with pytest.raises(InputError, match=said):
        full_paths({key: value}, {})
    load_scenario(SOFT, {path: value})


def test_every_short_name_leads_to_a_key_of_the_scenario():
    data = {"parameters": {"reach": 1.0}}
    for name in setting_names(data):
        if name == "wheel":
            continue
        head, _, rest = full_path(name, data).partition(".")
        assert head == name or rest == name


def test_of_a_setting_given_twice_the_last_holds():
    settings = {"friction": 0.3, "interaction.friction": 0.4}
    assert full_paths(settings, {}) == {"interaction.friction": 0.4}


def test_settings_of_a_scenario_take_short_names():
    made = load_scenario(HARD, {"friction": 0.35, "duration": "2 s", "gravity": "moon"})
    assert (made.interaction.friction, made.run.duration, made.gravity) == (0.35, 2.0, 1.62)


def test_variants_of_a_comparison_take_short_names():
    data = scenario_data(HARD)
    made, changes = scenario_under(data, parse_variant("slick: friction=0.3"), HARD)
    assert made.interaction.friction == 0.3
    assert changes["interaction.friction"] == 0.3 and "friction" not in changes


def test_the_truth_of_a_teleoperation_takes_short_names():
    truth, _ = truth_of(HARD, settings={"friction": 0.2, "gravity": "Earth"})
    assert (truth.interaction.friction, truth.gravity) == (0.2, 9.81)


def test_a_rover_on_a_ground_takes_short_names():
    assert base_scenario("exomars", "plane", {"friction": 0.25}).interaction.friction == 0.25


def test_what_is_uncertain_takes_short_names():
    from marsyard.operations.distributions import Uncertain, parse
    from marsyard.operations.validation.uncertainty import Scatter

    drawn = Uncertain({"friction": parse("uniform(0.3, 0.5)", "friction")})
    scatter = Scatter(load_scenario(HARD), drawn, seed=1)
    assert list(scatter.samples(1)[0]) == ["interaction.friction"]
    made = scatter.scenario({"interaction.friction": 0.4})
    assert made.interaction.friction == 0.4


def test_axes_of_a_study_take_short_names():
    from marsyard.study import Family

    data = scenario_data(HARD) | {
        "study": {
            "vary": "friction", "values": [0.3, 0.6], "also": {"gravity": ["moon", "mars"]},
            "outputs": [{"name": "height", "of": "position_base.z"}],
        }
    }  # fmt: skip
    family = Family(HARD, validate(data))
    found = [(m.scenario.interaction.friction, m.scenario.gravity) for m in family.grid()]
    assert found == [(0.3, 1.62), (0.6, 1.62), (0.3, 3.72), (0.6, 3.72)]
    assert family.axis.label == "friction"


def test_modes_of_locomotion_take_short_names():
    from marsyard.comparison.mode_variants import mode_variants

    found = mode_variants(
        load_scenario("marsokhod/rolling"), "", ["slick: mode=rolling, friction=0.4"]
    )
    assert found[0].settings == {"interaction.friction": 0.4}


# --- gravity by the name of a world


@pytest.mark.parametrize(
    ("given", "expected"),
    [("moon", 1.62), ("Mars", 3.72), (" EARTH ", 9.81), (3.69, 3.69), ("3.7 m/s²", 3.7)],
)
def test_gravity_is_a_number_or_a_world(given, expected):
    assert gravity_to_si(given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("moom", "unknown world 'moom'; did you mean 'moon'?"),
        ("venus", "unknown world 'venus'; give mars, moon, earth or a number in m/s²"),
        ("9.81 kg", "'kg' in '9.81 kg' is a unit of mass"),
    ],
)
def test_other_words_are_refused(given, said):
    with pytest.raises(InputError, match="^gravity: ") as error:
        read_gravity(given)
    assert said in str(error.value)
    with pytest.raises(InputError, match="gravity: "):
        load_scenario(HARD, {"gravity": given})


def test_worlds_are_known_wherever_there_is_gravity():
    from marsyard.analysis.kinetostatics import stance_at
    from marsyard.analysis.mobility import Settings
    from marsyard.analysis.options import gravity_of
    from marsyard.control import Placer
    from marsyard.ground import load_soil
    from marsyard.interaction.soil_columns.options import Columns

    moon = WORLDS["moon"]
    assert gravity_of("Moon") == Settings(gravity="moon").gravity == moon
    assert load_soil({"name": "dry_sand", "measured_at": "moon"}).measured_at == moon
    assert Columns.model_validate({"gravity": "moon"}).gravity == moon
    assert math.isclose(-stance_at("exomars", gravity="moon").gravity[2], moon)
    assert Placer("exomars", None, gravity="moon").kinematics.model.opt.gravity[2] == -moon


def test_a_wheel_is_compared_in_the_gravity_of_a_world():
    from marsyard.comparison.wheels import settings_of

    assert settings_of({"gravity": "moon"}) == {"gravity": 1.62}
    with pytest.raises(InputError, match=r"^gravity: unknown world 'mon'; did you mean 'moon'"):
        settings_of({"gravity": "mon"})
