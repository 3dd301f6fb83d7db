"""Validations that are run: against closed forms, in several processes, from the command line."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from marsyard.errors import InputError
from marsyard.operations import Sequence, validate
from marsyard.scenario import validate as scenario_of
from marsyard.study.workers import Stopped

sys.path.insert(0, str(Path(__file__).parents[1] / "end_to_end"))
from command import run_here

SLOPE, G = math.radians(20), 3.69
PLANE = {
    "robot": {"name": "eldorado2_like", "position": [0, 0, 1], "settle": True,
              "wheel_shape": "sphere"},
    "ground": [{"kind": "plane", "name": "plane", "slope": SLOPE}],
    "interaction": {"friction": 0.8},
    "gravity": G,
    "run": {"duration": 5, "step": "10 ms", "theta": 1},
}  # fmt: skip
#: brakes on; then nothing more
BRAKED = Sequence(sequence=[{"rate": 0, "duration": 1}, {"wait": "0.2 s"}])
FRICTION = {"uncertain": {"interaction.friction": "uniform(0.2, 0.5)"}, "seed": 4}
ONLY = {"limits": {"deviation": "10 cm", "tilt": "30 deg", "slip": "off", "clearance": "off"}}


@pytest.fixture(scope="module")
def slid():
    heard = []
    found = validate(
        BRAKED, scenario_of(PLANE), FRICTION, 12, ONLY, workers=1,
        progress=lambda done, total, what: heard.append((done, total, what)),
    )  # fmt: skip
    return found, heard


def test_probability_agrees_with_the_closed_form(slid):
    """A braked rover slides down by ½ g (sin θ − μ cos θ) t², or stays where tan θ < μ."""
    found, heard = slid
    mu = found.data["sample"].values[1:, 0]
    a = G * np.maximum(math.sin(SLOPE) - mu * math.cos(SLOPE), 0.0)
    # on the map, at the time that is told; the steps are those of semi-implicit Euler
    t = found.data.margin_time.sel(limit="deviation").values[1:]
    way = found.data.value.sel(limit="deviation").values[1:]
    exact = 0.5 * (a * math.cos(SLOPE))[:, None] * t**2 * (1 + 0.01 / t)
    still = mu > math.tan(SLOPE)
    assert np.abs(way[still]).max() < 1e-4
    assert way[~still] == pytest.approx(exact[~still], rel=2e-3)

    # the way that the limit allows is that of one μ
    def slides_too_far(t):
        return math.tan(SLOPE) - 2 * 0.1 / (G * math.cos(SLOPE) ** 2 * t**2)

    sure = (slides_too_far(float(t.max())) - 0.2) / 0.3
    chance = found.judgement.limits["deviation"].chance
    assert chance.low <= sure <= chance.high
    # a Latin hypercube has one sample in each stratum, so that the count is known but for one
    assert abs(chance.broken - 12 * sure) <= 1.0
    assert heard[0][2] == "nominal run" and heard[-1][:2] == (12, 12)


def test_tilt_is_the_slope_and_limits_keep_their_command(slid):
    found, _ = slid
    tilt = found.data.value.sel(limit="tilt").values
    assert tilt == pytest.approx(np.full_like(tilt, SLOPE), abs=1e-3)
    # the second command slides on: it is broken in more runs, never in fewer
    first, second = (c.limits["deviation"].chance.broken for c in found.judgement.commands)
    assert first <= second
    times = found.data.margin_time.sel(limit="deviation").values[1:]
    assert np.all(times[:, 0] <= times[:, 1])
    assert found.verdict == "no-go" and found.exit_code == 4
    assert found.not_judged["current"] == "the scenario has no motors"


def test_runs_that_cannot_begin_or_finish_are_failures_with_a_reason():
    """Terrain that ends 2 m away: some starts lie beyond; one command takes too long."""
    flat = {"layers": [], "bounds": [[-2, 2], [-2, 2]], "soil": "dry_sand"}
    scenario = scenario_of(
        {**PLANE, "ground": [{"kind": "terrain", "name": "t", "terrain": flat, "spacing": "5 cm"}],
         "interaction": {},
         "robot": {**PLANE["robot"], "wheel_shape": None}, "run": {**PLANE["run"], "step": "2 ms"}}
    )  # fmt: skip
    found = validate(
        Sequence(sequence=[{"rate": 0, "duration": 0.2}, {"wait": "time > 9 s", "timeout": 0.2}]),
        scenario, {"uncertain": {"robot.position.0": "choice(0, 30)"}}, 2, workers=1,
    )  # fmt: skip
    reasons = sorted(str(r) for r in found.data.reason.values)
    assert reasons[0].startswith("could not begin: ") and reasons[1:] == ["timed out"] * 2
    assert found.verdict == "no-go" and found.judgement.commands[0].runs == 2
    assert found.judgement.commands[0].limits["completion"].chance.broken == 1
    assert found.judgement.commands[1].runs == 1


def test_it_can_be_stopped():
    done = []
    found = validate(
        BRAKED, scenario_of(PLANE), FRICTION, 9, ONLY, workers=1,
        progress=lambda d, total, what: done.append(d), stop=lambda: bool(done) and done[-1] >= 1,
    )  # fmt: skip
    assert found.stopped and found.judgement.runs == 1
    with pytest.raises(Stopped):
        validate(BRAKED, scenario_of(PLANE), FRICTION, 9, ONLY, workers=1, stop=lambda: True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "n = 0: must be 1 or more"),
        ({"workers": 0}, "workers = 0"),
        ({"sequence": "nowhere.yaml"}, "nowhere.yaml: no such file"),
        ({"sequence": Sequence(sequence=[{"turn": 1.0, "note": "x"}, {"posture": {"No": 1}}])},
         "No"),
        ({"limits": {"limits": {"sinkage": "5 cm"}}}, "limits.sinkage: there is no soil"),
        ({"uncertain": {"uncertain": {"interaction.firction": "normal(0, 1)"}}}, "firction"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence_and_leaves_nothing(tmp_path, change, said):
    given = {"sequence": BRAKED, "scenario": scenario_of(PLANE), "n": 2, "workers": 1}
    with pytest.raises(InputError, match=said) as error:
        validate(**{**given, **change}, out=tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


# --- the command line

SEQUENCE = """
title: A little ahead
sequence:
  - {rate: 0.5, duration: 1 s, note: ahead}
  - {wait: 0.3 s}
"""
LIMITS = """
limits:
  keep_out: [{name: hole, circle: {centre: [0.1, 0], radius: 0.2}}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "ahead.yaml").write_text(SEQUENCE)
    (tmp_path / "limits.yaml").write_text(LIMITS)
    return tmp_path


ASK = ["validate", "ahead.yaml", "--robot", "eldorado2_like", "-n", "3", "-q",
       "--set", "run.step=10 ms", "--set", "robot.wheel_shape=sphere"]  # fmt: skip


def test_from_the_command_line(folder):
    """No-go by a zone at the start; the same bits from two processes and from one."""
    done = run_here([*ASK, "--limits", "limits.yaml", "-j", "2", "-o", "out"], folder)
    assert done.returncode == 4, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "NO-GO: the limit 'outside hole' is broken in 3 of 3" in said
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="replay-data"' in page and 'id="commands"' in page and "http" not in page
    summary = json.loads((folder / "out" / "validation.json").read_text())
    assert summary["verdict"] == "no-go" and summary["commands"][0]["note"] == "ahead"
    assert (folder / "out" / "worst" / "results.nc").exists()
    from marsyard.operations import base_scenario

    settings = {"run.step": "10 ms", "robot.wheel_shape": "sphere"}
    again = validate(
        folder / "ahead.yaml", base_scenario("eldorado2_like", "plane", settings), None, 3,
        folder / "limits.yaml", workers=1,
    )  # fmt: skip
    kept = xr.load_dataset(folder / "out" / "validation.nc", engine="h5netcdf")
    for name, variable in again.data.data_vars.items():
        assert np.array_equal(
            kept[name].values, variable.values, equal_nan=variable.dtype.kind == "f"
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["validate", "none.yaml", "--robot", "exomars"], "none.yaml: no such file"),
        (["validate", "ahead.yaml"], "--robot: give a robot"),
        (["validate", "ahead.yaml", "--robot", "exomras"], "did you mean 'exomars'"),
        (["validate", "ahead.yaml", "--robot", "exomars", "-n", "0"], "n = 0"),
        (["validate", "ahead.yaml", "--scenario", "control/goal", "--robot", "exomars"],
         "leave out"),
    ],
)  # fmt: skip
def test_wrong_input_on_the_command_line(folder, arguments, said):
    done = run_here(arguments, folder)
    assert done.returncode == 2 and said in " ".join(done.stderr.split())
    assert not (folder / "runs").exists()


@pytest.mark.soak
def test_the_example_of_the_help(tmp_path):
    root = Path(__file__).parents[2] / "examples" / "validate"
    files = {k: str(root / f"{k}.yaml") for k in ("sequence", "scenario", "limits", "uncertain")}
    done = run_here(
        ["validate", files["sequence"], "--scenario", files["scenario"], "--limits",
         files["limits"], "--soil", files["uncertain"], "-n", "50", "-o", "out"], tmp_path,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stdout + done.stderr
