"""`marsyard export`, and recordings on the command line."""

from __future__ import annotations

import mujoco
import numpy as np
import pandas as pd
import pytest
from command import run_here

from marsyard.results import open_results, save
from marsyard.scenario import load_scenario
from marsyard.scenario.scenario import dump
from marsyard.simulation import Simulation


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a short run, without figures and report."""
    folder = tmp_path_factory.mktemp("drop")
    simulation = Simulation(load_scenario("rt0448/test-1", {"run.duration": 0.2})).run()
    save(simulation.dataset(), folder)
    (folder / "scenario.yaml").write_text(dump(simulation.scenario), encoding="utf-8")
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"))
    return folder


def test_a_run_is_exported_in_several_formats_at_once(run, tmp_path):
    done = run_here(["export", run, "--mcap", "--parquet", "--urdf", "-o", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    files = {line.strip() for line in done.stdout.splitlines()}
    assert {"out/run.mcap", "out/robot.urdf", "out/results.parquet"} <= files
    assert all((tmp_path / f).stat().st_size for f in files)
    frame = pd.read_parquet(tmp_path / "out" / "results.parquet")
    np.testing.assert_array_equal(
        frame["position_base.z"], open_results(run)["position_base"][:, 2]
    )
    done = run_here(["view", "out/run.mcap", "--topic", "odo=/x"], tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: --topic: unknown key 'odo'")


def test_a_robot_is_exported_without_a_run(tmp_path):
    done = run_here(["export", "sojourner", "--urdf"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<robot" in (tmp_path / "sojourner-urdf" / "robot.urdf").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "rt0448/test-1", "--csv"], "is a scenario; run it first"),
        (["export", "rt0448/test-1", "--urdf"], "then export runs/rt0448-test-1"),
        (["export", "exomars", "--urdf", "--csv"], "'exomars' is a robot"),
        (["export", "runs/no", "--urdf"], "'runs/no' does not exist; give the folder of a run"),
        (["export", "nowhere", "--csv"], "'nowhere' does not exist"),
        (["export", "nowhere"], "at least one of --mcap, --urdf, --csv"),
        (["export", "sojorner", "--urdf"], "did you mean 'sojourner'"),
        (["view", "cut.mcap"], "is truncated"),
        (["identify", "cut.mcap"], "is truncated"),
        (["identify", "tests.csv", "--robot", "exomars"], "only apply to recordings"),
    ],
)
def test_mistakes_are_one_sentence(arguments, said, tmp_path):
    (tmp_path / "cut.mcap").write_bytes(b"\x89MCAP0\r\n and then the battery was empty")
    done = run_here(arguments, tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["cut.mcap"]  # nothing was written
