"""`marsyard analyze kinetostatics` as its user runs it."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from marsyard.cli import app
from marsyard.errors import InputError

runner = CliRunner()


def analyze(*words: str):
    return runner.invoke(app, ["analyze", "kinetostatics", *words])


def test_a_stance_is_printed_and_drawn(tmp_path):
    done = analyze("roburoc", "--twist", "0.2,0,0,0,0,0.1", "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    for words in (
        "degree of mobility (rank of D): 4",
        "uncontrolled: 1: sideways",
        "forbidden by the ground: up, roll about x",
        "B = diag(1, 0.9505, 1, 1, 1, 0.9505)",
        "friction demand 0",
    ):
        assert words in done.output
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"friction.png", "forces.png", "stance.png", "kinetostatics.json"}
    data = json.loads((tmp_path / "kinetostatics.json").read_text())
    # v = R (θ_l + θ_r)/2, ω = R (θ_r − θ_l)/(2 d)
    rates = data["rates"]
    right, left = rates["MRWheel_y"], rates["MLWheel_y"]
    assert 0.24 * (right + left) / 2 == pytest.approx(0.2)
    assert 0.24 * (right - left) / 0.64 == pytest.approx(0.1)


def test_on_ground_as_json_without_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = analyze(
        "exomars", "--ground", "slope_15", "--heading", "0deg", "--gravity", "mars", "--json"
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["friction_demand"] == pytest.approx(0.268, abs=2e-3)  # tan 15°
    assert not list(tmp_path.iterdir())


def test_path_and_map(tmp_path):
    done = analyze(
        "exomars", "--ground", "slope_15", "--path", "0,0;1,0", "--friction", "0.5", "-o",
        str(tmp_path / "path"), "-q",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "along the path" in done.output
    assert "D: reciprocal screws" not in done.output  # one pose is not what was asked for
    assert "verdict of 11 poses: go 100.0 %" in done.output
    assert (tmp_path / "path" / "path.png").exists()
    done = analyze(
        "exomars", "--ground", "slope_15", "--map", "--headings", "4", "--spacing", "5m",
        "--bounds", "0,10,-10,10", "--friction", "0.5", "-o", str(tmp_path / "map"), "-q",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "traction map: 32 poses, 4 x 2 cells" in done.output
    assert (tmp_path / "map" / "traction_map.nc").exists()


def test_climb_and_sigma(tmp_path):
    done = analyze("vehicle_2001", "--step", "3cm", "--friction", "0.4", "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "friction 0.4 is not enough" in done.output
    assert (tmp_path / "climb.png").exists()
    moments = json.loads((tmp_path / "kinetostatics.json").read_text())["climb"]["moments"]
    largest = max(abs(t) for m in moments for t in m["torques"].values())
    assert f"largest torque {largest:.3g} N·m, at " in done.output


def test_tilt_on_a_slope_is_what_is_left_of_it(tmp_path):
    done = analyze("exomars", "--ground", "slope_15", "--gravity", "mars", "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "largest slope" not in done.output
    left = float(done.output.split("can be tilted further, uphill")[1].split("°")[0])
    assert left == pytest.approx(30.96 - 15, abs=0.1)  # atan 0.6 less the slope


def test_the_base_may_be_tipped_as_in_the_key_frame_on_four_wheels(tmp_path):
    done = analyze(
        "roburoc", "--lifted", "FL,FR", "--attitude", "pitch=-15deg", "--contact", "-15deg",
        "--pose", "pitch_front=-30deg,pitch_rear=0.25721388rad", "--json",
        "--brake", "pitch_front,pitch_rear",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    contacts = json.loads(done.stdout)["contacts"]
    # on one level floor, as high above it as in the key frame: along the tipped base's vertical
    up = (math.sin(math.radians(15)), 0, math.cos(math.radians(15)))
    heights = [sum(a * b for a, b in zip(c["point"], up, strict=True)) for c in contacts]
    assert heights == pytest.approx([-0.17238519] * 4, abs=1e-7)
    for c in contacts:
        assert c["normal"] == pytest.approx(up, abs=1e-9)


def test_the_examples_of_the_help_are_of_grounds_that_there_are():
    from marsyard.cli.analyze_kinetostatics import kinetostatics
    from marsyard.scenario import load_terrain

    words = (kinetostatics.__doc__ or "").split()
    names = [after for word, after in zip(words, words[1:], strict=False) if word == "--ground"]
    assert len(names) >= 2
    for name in names:
        load_terrain(name)


def test_a_rover_stands_within_the_border_of_an_elevation_map(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = [(0.5 * i, 0.5 * j) for j in range(17) for i in range(17)]
    (tmp_path / "own.csv").write_text("x,y,z\n" + "".join(f"{x},{y},0\n" for x, y in points))
    for place in ("0,0", "100,4"):
        done = analyze("exomars", "--ground", "own.csv", "--at", place)
        assert isinstance(done.exception, InputError), done.output
        assert "from x = 0 to 8 m" in str(done.exception)
    assert not (tmp_path / "runs").exists()
    done = analyze("exomars", "--ground", "own.csv", "--at", "4,4", "--json")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["robroc"], "roburoc"),
        (["roburoc", "--pose", "pitch_frnt=1deg"], "pitch_front"),
        (["roburoc", "--pose", "pitch_front"], "NAME=ANGLE"),
        (["roburoc", "--pose", "pitch_front=1m"], "--pose pitch_front"),
        (["roburoc", "--contact", "FX=1deg"], "no wheel 'FX'"),
        (["roburoc", "--lifted", "FL,FR,ML,MR,RL,RR"], "does not touch the ground"),
        (["roburoc", "--frame", "pod"], "no body 'pod'"),
        (["roburoc", "--lateral", "slip"], "slips"),
        (["roburoc", "--twist", "1,2"], "6 finite numbers"),
        (["roburoc", "--friction", "-1"], "0 or more"),
        (["roburoc", "--friction", "nan"], "0 or more"),
        (["roburoc", "--torque", "5m"], "--torque"),
        (["roburoc", "--gravity", "venus"], "mars"),
        (["roburoc", "--step", "-4cm"], "--step = -0.04 m: must be above 0"),
        (["roburoc", "--torque", "0N*m"], "--torque"),
        (["roburoc", "--pose", "pitch_front=400deg"], "beyond its stops"),
        (["roburoc", "--contact", "200deg"], "180°"),
        (["roburoc", "--attitude", "pich=3deg"], "did you mean 'pitch'"),
        (["roburoc", "--attitude", "pitch=3deg", "--step", "4cm"], "--attitude: not with --step"),
        (["roburoc", "--attitude", "pitch=3deg", "--ground", "flat"], "not with --ground"),
        (["roburoc", "--at", "3,2"], "--at: needs a ground"),
        (["roburoc", "--heading", "3deg"], "--heading: needs a ground"),
        (["roburoc", "--ground", "flat", "--spacing", "1m"], "--spacing: is of the map"),
        (["roburoc", "--ground", "flat", "--headings", "4"], "--headings: is of the map"),
        (["roburoc", "--ground", "flat", "--step", "4cm"], "--ground: not with --step"),
        (["roburoc", "--largest-step", "--lifted", "FL"], "--lifted: not with --largest-step"),
        (["roburoc", "--ground", "flat", "--map", "--view"], "--view: not with --map"),
        (["roburoc", "--ground", "flat", "--map", "--path", "0,0;1,1"], "--path: not with --map"),
        (["roburoc", "--ground", "flat", "--path", "0,0;1,1", "--at", "1,1"], "--at: not with"),
        (["roburoc", "--ground", "flat", "--path", "0,0;0,0"], "two different"),
        (["roburoc", "--ground", "flat", "--map", "--bounds", "1,0,0,1"], "xmin < xmax"),
        (["roburoc", "--view", "--port", "99999"], "--port = 99999"),
        (["roburoc", "--sigma", "FL=0deg:1deg,FL=0deg:1deg"], "given twice"),
        (["roburoc", "--sigma", "FX=0deg:1deg,FL=0deg:1deg"], "no wheel or joint 'FX'"),
        (["hexapod", "--largest-step"], "three wheels"),
        (["roburoc", "--path", "0,0;1,1"], "--ground"),
        (["roburoc", "--map"], "--ground"),
        (["roburoc", "--ground", "nowhere"], "unknown ground"),
        (["roburoc", "--ground", "flat", "--contact", "5deg"], "--ground"),
        (["roburoc", "--ground", "flat", "--path", "0,0"], "two points"),
        (["roburoc", "--sigma", "FL=0deg:1deg"], "two angles"),
        (["roburoc", "--sigma", "FL=0deg,FR=0deg:1deg"], "LOW:HIGH"),
        (["tracked_rover"], "no wheels"),
        (["hexapod", "--ground", "flat"], "no wheels"),
        (["plate_rig"], "free joint"),
    ],
)
def test_mistakes_get_one_sentence_and_write_nothing(words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = analyze(*words)
    assert isinstance(done.exception, InputError), done.output
    assert sentence in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_four_wheels_need_brakes(tmp_path, monkeypatch):
    """RobuRoc with its front pod lifted: hinges give way, unless they are held."""
    monkeypatch.chdir(tmp_path)
    words = ("roburoc", "--lifted", "FL,FR", "--pose", "pitch_front=-30deg", "--json")
    loose = analyze(*words)
    assert isinstance(loose.exception, InputError)
    assert "not in equilibrium" in str(loose.exception) and "--brake" in str(loose.exception)
    done = analyze(*words, "--brake", "pitch_front,pitch_rear")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    loads = [c["normal_force"] for c in data["contacts"]]
    assert sum(loads) == pytest.approx(160 * 9.81) and min(loads) > 0
    assert data["pulls"]["ahead"] == pytest.approx(0.6 * 160 * 9.81, rel=1e-3)
    assert data["pulls_limited_by"]["ahead"] == "friction: all"
    assert data["pulls_limited_by"]["back"] == "lifts: RL RR"
    assert "pitch_rear" in str(analyze(*words, "--brake", "pitch_raer").exception)
