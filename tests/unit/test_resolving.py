"""Resolving: names of soils and terrains give way to what they stand for, once."""

from __future__ import annotations

import pytest
import yaml

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil, read_soil
from marsyard.interaction.soft_ground import soils_of, terrain_of
from marsyard.scenario import load_scenario, resolve, scenario_data, validate

BASE = {"robot": {"name": "exomars"}, "run": {"duration": 1}}


def with_ground(**ground):
    return validate({**BASE, "ground": [{"kind": "terrain", **ground}]})


def circle(soil):
    return {"kind": "circle", "centre": [0, 0], "radius": 1, "soil": soil}


@pytest.mark.parametrize("name", library.names("soils"))
def test_a_read_soil_is_the_soil(name):
    assert load_soil(read_soil(name)) == load_soil(name)
    # also after a round through YAML, and with a change
    again = yaml.safe_load(yaml.safe_dump(read_soil({"name": name, "cohesion": "1 kPa"})))
    assert load_soil(again) == load_soil({"name": name, "cohesion": 1000})


def test_a_definition_is_all_that_counts():
    soil = read_soil("krenn2008")
    assert read_soil(soil) == soil
    assert load_soil({**soil, "name": "something"}).k_phi == load_soil("krenn2008").k_phi
    assert load_soil({**soil, "name": "something"}).name == "something"
    with pytest.raises(InputError, match="soil mine: definition: a mapping as in a soil's file"):
        load_soil({"name": "mine", "definition": "krenn2008"})


@pytest.mark.parametrize("name", library.names("scenarios"))
def test_scenarios_of_the_library_mean_the_same(name):
    given = validate(scenario_data(name), name)
    found = resolve(given)
    assert resolve(found) is found
    assert validate(found.model_dump(mode="json")) == found
    for one, other in zip(given.ground, found.ground, strict=True):
        if one.kind == "terrain":
            a, b = terrain_of(one), terrain_of(other)
            assert a.soils == b.soils
            assert soils_of(one, a) == soils_of(other, b)
        else:
            assert one is other


def test_every_soil_that_a_terrain_names_is_found():
    rocks = {"kind": "rocks", "coverage": 0.1}
    terrain = {"soil": "dry_sand", "places": [circle("krenn2008")], "layers": [rocks]}
    (ground,) = resolve(with_ground(terrain=terrain)).ground
    assert set(ground.soils) == {"dry_sand", "krenn2008", "rock"} and ground.soil is None
    # the ground's own choice replaces the terrain's
    (ground,) = resolve(with_ground(terrain=terrain, soil="grc_1")).ground
    assert set(ground.soils) == {"krenn2008", "rock"} and ground.soil["name"] == "grc_1"
    own = {"mine": {"name": "krenn2008", "cohesion": 5}}
    (ground,) = resolve(with_ground(terrain=terrain, soil="mine", soils=own)).ground
    assert ground.soil == "mine" and ground.soils["mine"]["cohesion"] == 5


def test_what_is_not_there_is_named():
    with pytest.raises(InputError, match=r"ground\.terrain: unknown soil 'dry_sant'; did you mean"):
        resolve(with_ground(soil="dry_sant"))
    with pytest.raises(InputError, match=r"ground\.terrain: unknown ground 'flt'"):
        resolve(with_ground(terrain="flt", soil="dry_sand"))
    with pytest.raises(
        InputError,
        match=r"soils\.dry_sand: the library already has a soil of "
        r"that name",
    ):
        resolve(with_ground(soil="dry_sand", soils={"dry_sand": {"cohesion": 1}}))


def test_files_of_soils_count_from_the_scenario(tmp_path):
    text = library.path_of("soils", "krenn2008").read_text()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.yaml").write_text(text)
    places = [circle("a/mine.yaml"), circle("b/mine.yaml")]
    (tmp_path / "field.yaml").write_text(yaml.safe_dump({"places": places}))
    ground = {"kind": "terrain", "soil": {"name": "a/mine.yaml", "cohesion": 7}}
    file = tmp_path / "s.yaml"
    for terrain in ("field.yaml", {"places": places}):
        data = {**BASE, "ground": [{**ground, "terrain": terrain}]}
        file.write_text(yaml.safe_dump(data))
        (found,) = load_scenario(file).ground
        assert load_soil(found.soil).cohesion == 7 and found.soil["name"] == "mine"
        # files of one name are told apart, and no path is left
        assert [p.soil for p in found.terrain.places] == ["mine", "mine-2"]
        assert str(tmp_path) not in str(found)
        assert [s.name for s in soils_of(found, terrain_of(found))] == ["mine", "mine", "mine-2"]


def test_a_file_does_not_hide_a_soil_of_the_library(tmp_path):
    text = library.path_of("soils", "dry_sand").read_text()
    (tmp_path / "krenn2008.yaml").write_text(text)
    places = [circle("krenn2008.yaml"), circle("krenn2008")]
    ground = {"kind": "terrain", "soil": "grc_1", "terrain": {"places": places}}
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({**BASE, "ground": [ground]}))
    (found,) = load_scenario(file).ground
    assert [p.soil for p in found.terrain.places] == ["krenn2008-2", "krenn2008"]
    soils = soils_of(found, terrain_of(found))
    assert [s.k_phi for s in soils[1:]] == [load_soil(n).k_phi for n in ("dry_sand", "krenn2008")]


def test_a_setting_reaches_into_the_soil_of_the_terrain(tmp_path):
    terrain = {"soil": "krenn2008", "layers": []}
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({**BASE, "ground": [{"kind": "terrain", "terrain": terrain}]}))
    (ground,) = load_scenario(file, {"ground.0.soil.cohesion": 4}).ground
    assert load_soil(ground.soil) == load_soil({"name": "krenn2008", "cohesion": 4})
