"""Validations that are run: against closed forms, in several processes, from the command line."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from marsyard.errors import InputError
from marsyard.executors import Stopped
from marsyard.operations import Sequence, validate
from marsyard.scenario import validate as scenario_of

sys.path.insert(0, str(Path(__file__).parents[1] / "end_to_end"))
from command import run_here

SLOPE, G = math.radians(20), 3.69
PLANE = {
    "robot": {"name": "eldorado2_like", "position": [0, 0, 1], "settle": True,
              "attitude": [0, 0, 0], "wheel_shape": "sphere"},
    "interaction": {"friction": 0.8},
    "gravity": G,
    "run": {"duration": 5, "step": "10 ms", "theta": 1},
}  # fmt: skip
#: brakes on; then nothing more
BRAKED = Sequence(sequence=[{"rate": 0, "duration": 1}, {"wait": "0.2 s"}])
FRICTION = {"uncertain": {"interaction.friction": "uniform(0.2, 0.5)"}, "seed": 4}
ONLY = {"limits": {"deviation": "10 cm", "tilt": "30 deg", "slip": "off", "clearance": "off"}}


def test_braked_on_a_slope_against_the_closed_form():
    """A braked rover slides down by ½ g (sin θ − μ cos θ) t², or stays where tan θ < μ."""
    slope = scenario_of({**PLANE, "ground": [{"kind": "plane", "slope": SLOPE}]})
    found = validate(BRAKED, slope, FRICTION, 2, ONLY, jobs=1)
    mu = found.data["sample"].values[1:, 0]
    a = G * np.maximum(math.sin(SLOPE) - mu * math.cos(SLOPE), 0.0)
    # on the map, at the time that is told; the steps are those of semi-implicit Euler
    t = found.data.margin_time.sel(limit="deviation").values[1:]
    way = found.data.value.sel(limit="deviation").values[1:]
    exact = 0.5 * (a * math.cos(SLOPE))[:, None] * t**2 * (1 + 0.01 / t)
    still = mu > math.tan(SLOPE)
    assert still.any() and not still.all()
    assert np.abs(way[still]).max() < 1e-4
    assert way[~still] == pytest.approx(exact[~still], rel=2e-3)
    # a limit is blamed on the command in which it is broken
    assert np.all(t[:, 0] <= 1.0) and np.all(t[~still, 1] > 1.0)
    broken = found.data.broken.sel(limit="deviation").values[1:]
    assert np.array_equal(broken, (exact > 0.1).astype(int))
    tilt = found.data.value.sel(limit="tilt").values
    assert tilt == pytest.approx(np.full_like(tilt, SLOPE), abs=1e-3)
    assert found.not_judged["current"] == "the scenario has no motors"
    text = repr(found)
    assert (
        text.startswith("Validation\n  verdict     CAUTION: ") and "current: the scenario" in text
    )
    assert len(text.splitlines()) < 12


def test_probability_agrees_with_the_closed_form():
    """A rover that stands beside a zone, with an uncertain y: P is that of the normal law."""
    y, r, sd = 0.37, 0.3, 0.05
    heard = []
    limits = {"limits": {"keep_out": [{"circle": {"centre": [0, 1.0], "radius": r}}]}}
    found = validate(
        Sequence(sequence=[{"wait": "0.1 s"}]), scenario_of(PLANE),
        {"uncertain": {"robot.position.1": f"normal({y}, {sd})"}, "seed": 2}, 16, limits,
        jobs=1, progress=lambda done, total, what: heard.append((done, total, what)),
    )  # fmt: skip
    # from the nominal run follows how far the rover reaches to its left
    nominal = float(found.data.value.sel(limit="keep_out: zone 1").values[0, 0])
    reach = 1.0 - r - nominal
    # half the track and a wheel however it is steered
    assert reach == pytest.approx(0.2 + math.hypot(0.1 + 0.01, 0.05), abs=1e-9)
    exact = 1 - stats.norm.cdf(1.0 - r - reach, y, sd)
    assert 0.02 < exact < 0.98
    k = found.judgement.limits["keep_out: zone 1"].chance
    assert k.low <= exact <= k.high
    # a Latin hypercube has one sample in each stratum, so that the count is known but for one
    assert abs(k.broken - 16 * exact) <= 1.0
    # where it ends is where it began: the ellipse is that of y alone
    ends = found.data.end.values[1:, 1]
    assert np.std(ends) == pytest.approx(sd, rel=0.05)
    assert heard[0][2] == "nominal run" and heard[-1][:2] == (16, 16)


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
        scenario, {"uncertain": {"robot.position.0": "choice(0, 30)"}}, 2, jobs=1,
    )  # fmt: skip
    reasons = sorted(str(r) for r in found.data.reason.values)
    assert reasons[0].startswith("could not begin: ") and reasons[1:] == ["timed out"] * 2
    assert found.verdict == "no-go" and found.judgement.commands[0].runs == 2
    assert found.judgement.commands[0].limits["completion"].chance.broken == 1
    assert found.judgement.commands[1].runs == 1


def test_it_can_be_stopped():
    done = []
    found = validate(
        BRAKED, scenario_of(PLANE), FRICTION, 9, ONLY, jobs=1,
        progress=lambda d, total, what: done.append(d), stop=lambda: bool(done) and done[-1] >= 1,
    )  # fmt: skip
    assert found.stopped and found.judgement.runs == 1
    with pytest.raises(Stopped):
        validate(BRAKED, scenario_of(PLANE), FRICTION, 9, ONLY, jobs=1, stop=lambda: True)
    # after the nominal run, but before the first one of the others is done
    said: list[str] = []
    with pytest.raises(Stopped):
        validate(
            BRAKED, scenario_of(PLANE), FRICTION, 9, ONLY, jobs=1,
            progress=lambda d, total, what: said.append(what), stop=lambda: "runs" in said,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "n = 0: must be 1 or more"),
        ({"jobs": 0}, "jobs = 0"),
        ({"sequence": "nowhere.yaml"}, "nowhere.yaml: no such file"),
        ({"sequence": Sequence(sequence=[{"turn": 1.0, "note": "x"}, {"posture": {"No": 1}}])},
         "No"),
        ({"limits": {"limits": {"sinkage": "5 cm"}}}, "limits.sinkage: there is no soil"),
        ({"uncertain": {"uncertain": {"interaction.firction": "normal(0, 1)"}}}, "firction"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence_and_leaves_nothing(tmp_path, change, said):
    given = {"sequence": BRAKED, "scenario": scenario_of(PLANE), "n": 2, "jobs": 1}
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


ASK = ["validate", "ahead.yaml", "--robot", "eldorado2_like", "-n", "2", "-q",
       "--set", "run.step=10 ms", "--set", "robot.wheel_shape=sphere"]  # fmt: skip


def test_from_the_command_line(folder):
    """No-go by a zone at the start, with all files."""
    done = run_here([*ASK, "--limits", "limits.yaml", "-j", "1", "-o", "out"], folder)
    assert done.returncode == 4, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "NO-GO: the limit 'outside hole' is violated in 2 of 2" in said
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="replay-data"' in page and 'id="commands"' in page
    assert not re.search(r'(src|href)="http', page)
    summary = json.loads((folder / "out" / "validation.json").read_text())
    assert summary["verdict"] == "no-go" and summary["commands"][0]["note"] == "ahead"
    assert (folder / "out" / "worst" / "results.nc").exists()


@pytest.mark.soak
def test_the_same_bits_from_one_and_two_processes():
    found = [
        validate(BRAKED, scenario_of(PLANE), None, 4, ONLY, seed=7, jobs=k).data for k in (1, 2)
    ]
    assert found[0].identical(found[1])
    assert found[0].value.values.tobytes() == found[1].value.values.tobytes()


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
