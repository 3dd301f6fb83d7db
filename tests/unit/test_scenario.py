"""Scenarios: defaults, extends, settings, and mistakes said in one sentence."""

from __future__ import annotations

import pytest
import yaml
from pydantic import ValidationError

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import changed_numbers, load_soil
from marsyard.scenario import dump, load_scenario, parse_setting, validate

BASE = {"robot": {"name": "exomars_rt0448"}, "run": {"duration": 1}}


def test_defaults():
    s = validate(BASE)
    assert s.gravity == 3.69
    assert [g.name for g in s.ground] == ["plane"]
    assert s.run.control_period == s.run.step == 1e-3
    assert s.interaction.law == "nonsmooth"


def test_default_ground_can_be_named_in_the_law():
    s = validate({**BASE, "interaction": {"surfaces": {"plane": {"friction": 0.2}}}})
    assert s.interaction.surfaces["plane"].friction == 0.2


@pytest.mark.parametrize("duration", [0.001, 0.5, 5, 7, 11, 13.37, 120, 997.003])
def test_default_record_period_fits_every_duration(duration):
    run = validate({**BASE, "run": {"duration": duration}}).run
    records = run.duration / run.record_period
    assert records == pytest.approx(round(records))
    assert run.record_period / run.step == pytest.approx(round(run.record_period / run.step))


def test_surfaces_are_named_and_numbered():
    plane = {"kind": "plane"}
    ground = [plane, plane, {"kind": "sphere", "name": "rock", "centre": [0, 0, 0], "radius": 1}]
    assert [g.name for g in validate({**BASE, "ground": ground}).ground] == [
        "plane", "plane-2", "rock",
    ]  # fmt: skip


def test_immutable():
    with pytest.raises(ValidationError):
        validate(BASE).run.step = 1.0


@pytest.mark.parametrize("name", library.names("scenarios"))
def test_dump_reads_back_the_same(name):
    scenario = load_scenario(name)
    assert validate(yaml.safe_load(dump(scenario))) == scenario
    short = dump(scenario, defaults=False)
    assert validate(yaml.safe_load(short)) == scenario and len(short) < len(dump(scenario))


# --- files, extends, settings


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_extends_merges_groups_and_replaces_lists(tmp_path):
    write(tmp_path, "base.yaml", "extends: rt0448/test-1\ninteraction: {friction: 0.5}\n")
    path = write(
        tmp_path, "child.yaml",
        "extends: base.yaml\ninteraction: {restitution: 0.1}\n"
        "ground: [{kind: plane, name: floor}]\n",
    )  # fmt: skip
    s = load_scenario(path)
    assert (s.interaction.friction, s.interaction.restitution) == (0.5, 0.1)
    assert [g.name for g in s.ground] == ["floor"]
    assert s.robot.name == "exomars_rt0448"


def test_extends_in_a_circle(tmp_path):
    write(tmp_path, "a.yaml", "extends: b.yaml\n")
    path = write(tmp_path, "b.yaml", "extends: a.yaml\n")
    with pytest.raises(InputError, match="extends itself"):
        load_scenario(path)


def test_settings():
    s = load_scenario(
        "rt0448/test-4",
        dict(parse_setting(t) for t in (
            "interaction.friction=0.3", "run.step=1 ms", "control.1.torque=2*t",
            "robot.position=[1, 2, 3]", "robot.joints.RBogie_x=5 deg", "run.projection=false",
            "interaction.solver.tolerance=1e-8",
        )),
    )  # fmt: skip
    assert s.interaction.friction == 0.3
    assert s.run.step == 1e-3
    assert s.control[1].torque == "2*t"
    assert s.robot.position == (1, 2, 3)
    assert s.robot.joints["RBogie_x"] == pytest.approx(0.0872664626)
    assert s.run.projection is False
    assert s.interaction.solver.tolerance == 1e-8


@pytest.mark.parametrize("text", ["friction", "=3", "a=[1", "a={b: c: d}"])
def test_bad_settings(text):
    with pytest.raises(InputError, match="--set"):
        parse_setting(text)


def test_a_setting_below_a_value():
    with pytest.raises(InputError, match="holds a value"):
        load_scenario("rt0448/test-1", {"gravity.x": 1})
    with pytest.raises(InputError, match="index"):
        load_scenario("rt0448/test-1", {"ground.7.slope": 1})


def test_a_setting_into_a_named_soil(tmp_path):
    ground = {"kind": "terrain", "name": "sand", "terrain": "flat", "soil": "dry_sand"}
    path = write(tmp_path, "s.yaml", yaml.safe_dump({**BASE, "ground": [ground]}))
    s = load_scenario(path, {"ground.0.soil.cohesion": "2 kPa"})
    assert changed_numbers(s.ground[0].soil) == {"cohesion": "2 kPa"}
    assert load_soil(s.ground[0].soil) == load_soil({"name": "dry_sand", "cohesion": "2 kPa"})
    own = {**ground, "soil": "mine", "soils": {"mine": {"name": "dry_sand", "k_c": 1.0}}}
    path = write(tmp_path, "s.yaml", yaml.safe_dump({**BASE, "ground": [own]}))
    s = load_scenario(path, {"ground.0.soil.cohesion": 1.0})
    assert changed_numbers(s.ground[0].soil) == {"k_c": 1.0, "cohesion": 1.0}
    path = write(tmp_path, "s.yaml", yaml.safe_dump({**BASE, "ground": [ground]}))
    with pytest.raises(InputError, match="'ground.0.terrain' holds a value, not a group"):
        load_scenario(path, {"ground.0.terrain.seed": 3})


def test_paths_count_from_the_scenario_and_are_kept(tmp_path, monkeypatch):
    # a run folder's own scenario.yaml must find the files again
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", "robot.xml", "<mujoco/>")
    path = write(
        tmp_path / "in", "s.yaml",
        "robot: {name: robot.xml}\nrun: {duration: 1}\nground: [{kind: mesh, file: rock.obj}]\n",
    )  # fmt: skip
    monkeypatch.chdir(path.parent)
    s = load_scenario("s.yaml")
    (tmp_path / "out").mkdir()
    again = load_scenario(write(tmp_path / "out", "scenario.yaml", dump(s)))
    assert again.ground[0].file == str(tmp_path / "in" / "rock.obj")
    assert again.robot.name == str(tmp_path / "in" / "robot.xml")


def test_parameters_take_any_unit():
    given = {"slip": 0.2, "load": "1.5 kN", "speed": "36 km/h", "angle_of_attack": "180 deg"}
    s = validate({**BASE, "parameters": given})
    assert s.parameters == pytest.approx(
        {"slip": 0.2, "load": 1500.0, "speed": 10.0, "angle_of_attack": 3.141592653589793}
    )


def test_settings_of_parameters(tmp_path):
    path = write(tmp_path, "p.yaml", yaml.safe_dump({**BASE, "parameters": {"slip": 0.2}}))
    assert load_scenario(path, {"parameters.slip": "40 %"}).parameters["slip"] == 0.4
    # a new one would be used nowhere: a slip of the pen
    with pytest.raises(InputError, match="no such parameter; did you mean 'slip'"):
        load_scenario(path, {"parameters.slp": 0.4})


# --- mistakes


def with_(path, value):
    data = {**BASE, "ground": [{"kind": "plane"}]}
    data = yaml.safe_load(yaml.safe_dump(data))
    at = data
    *groups, last = path.split(".")
    for part in groups:
        at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
    at[int(last) if isinstance(at, list) else last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("interaction.frction", 0.5, "interaction.frction: unknown key 'frction'.*'friction'"),
        ("ground.0.slop", 0.1, "ground.0.slop: unknown key 'slop'.*'slope'"),
        ("extra", 1, "unknown key 'extra'"),
        ("interaction.friction", -0.1, "interaction.friction = -0.1: must be at least 0"),
        ("interaction.restitution", 1.2, "interaction.restitution = 1.2: must be at most 1"),
        ("interaction.friction", float("nan"), "interaction.friction: .*not finite"),
        (
            "interaction.surfaces",
            {"plane": {"friction": -1}},
            "interaction.surfaces.plane.friction",
        ),
        ("interaction.surfaces", {"plne": {}}, "no ground surface is called 'plne'"),
        ("ground.0.slope", "95 deg", "ground.0.slope: 95° is not a valid slope; .*below 90°"),
        ("ground.0.slope", "5 m", "ground.0.slope: 'm' in '5 m' is a unit of length"),
        ("ground.0.kind", "plain", "ground.0.kind: unknown or missing kind; valid: plane"),
        ("run.duration", 0, "run.duration = 0.*must be above 0"),
        ("run.record_period", 0.0015, "record_period = 0.0015 s is not a whole multiple"),
        ("run.control_period", 0.0015, "control_period = 0.0015 s is not a whole multiple"),
        ("run.theta", 0.4, "run.theta = 0.4: must be at least 0.5"),
        ("run.integrator", "euler", "run.integrator: 'euler' is not allowed"),
        ("run.integrator", "semi_implicit", "does not support the nonsmooth law"),
        ("interaction.law", "mujoco", "needs a smooth integrator"),
        ("robot.position", [1, 2], "robot.position"),
        ("robot.name", None, "robot.name"),
        ("robot", "exomars", "robot"),
        ("control", [{"joints": "drives", "torque": 1, "start": 2, "end": 1}], "must lie after"),
        ("control", [{"joints": "drives"}], "control.0.torque: is required"),
        ("ground.0", {"kind": "mesh"}, "either 'file' or 'triangles'"),
        ("ground.0", {"kind": "sphere", "centre": [0, 0, 0], "radius": 0}, "radius = .*above 0"),
        ("ground", [{"kind": "plane", "name": "a"}] * 2, "two surfaces are called 'a'"),
        ("gravity", "9.81 m", "gravity: 'm' in '9.81 m'"),
        ("parameters", {"vx": 1}, "parameters: expressions know 'vx' already"),
        ("parameters", {"a-b": 1}, "'a-b' is not a name"),
        ("parameters", {"a": "3 furlong"}, "'furlong' in '3 furlong' is not a known unit"),
        ("parameters", {"a": True}, "parameters.a: 'True'"),
    ],
)
def test_mistakes_are_one_sentence(path, value, says):
    with pytest.raises(InputError, match=says) as error:
        validate(with_(path, value))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("run: {duration: 1}\nrun: {duration: 2}\n", "line 2: .*'run' appears twice"),
        ("run: {duration: 1\n", "not valid YAML"),
        ("- 1\n", "holds no keys"),
        ("", "holds no keys"),
        ("{{ x }}: 1\n", "not valid YAML"),
        ("[a, b]: 1\n", "not valid YAML"),
        ("extends: [a, b]\n", "give the name of one scenario"),
        ("extends: rt0448/test-99\n", "did you mean 'rt0448/test-"),
        ("a: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as error:
        load_scenario(write(tmp_path, "bad.yaml", text))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="did you mean 'rt0448/test-1'"):
        load_scenario("rt0448/test1")
    with pytest.raises(InputError, match="no such file"):
        load_scenario(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="folder without a scenario.yaml"):
        load_scenario(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"title: \xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        load_scenario(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    ("terrain", "message"),
    [
        ({"layers": [{"kind": "plne"}]}, "ground.0.terrain.layers.0.kind: unknown or missing kind"),
        ({"layers": [], "bounds": [1, 2]}, "ground.0.terrain.bounds.0: 1 is not a list"),
        ({"layer": []}, "ground.0.terrain.layer: unknown key 'layer' in ground.0.terrain; did"),
        (3, "ground.0.terrain: 3 is not a text"),
    ],
)
def test_what_is_wrong_in_a_terrain_is_told(terrain, message):
    ground = {"kind": "terrain", "name": "sand", "terrain": terrain, "soil": "dry_sand"}
    with pytest.raises(InputError) as error:
        validate({"robot": {"name": "exomars"}, "ground": [ground], "run": {"duration": 1}})
    assert message in str(error.value)


def test_an_unknown_key_is_told_before_a_missing_one():
    """What stands there was meant for something; what is missing follows from it."""
    data = {"robot": {"name": "hexapod"}, "run": {"duration": 1},
            "control": [{"joints": "legs", "angle": 0}]}  # fmt: skip
    with pytest.raises(
        InputError, match="control.0.angle: unknown key 'angle' in control.0; .*speed"
    ):
        validate(data)


def test_lists_that_are_too_long_say_how_long_they_may_be():
    layer = {"materials": [{"modulus": "3 MPa", "thickness": "4 mm"}] * 3}
    given = {"robot": {"name": "exomars"}, "interaction": {"polygonal": {"layer": layer}}}
    with pytest.raises(InputError, match=r"layer\.materials: holds 3; at most 2 allowed"):
        validate({**given, "run": {"duration": 1}})


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit_damping"])
@pytest.mark.parametrize("law", ["none", "mujoco"])
def test_soil_needs_an_integrator_that_knows_it(integrator, law):
    # MuJoCo's schemes do not evaluate soil: the robot would fall through it
    data = {
        "robot": {"name": "exomars"},
        "ground": [{"kind": "terrain", "name": "sand", "soil": "krenn2008"}],
        "interaction": {"law": law},
        "run": {"duration": 1, "integrator": integrator},
    }
    with pytest.raises(
        InputError, match=f"run.integrator: '{integrator}' .* soil of ground 'sand'"
    ):
        validate(data)
    data["interaction"] = {"law": law, "plugin": {"name": "springs"}}
    with pytest.raises(InputError, match=r"does not support interaction.plugin; use moreau_jean"):
        validate({**data, "ground": []})
