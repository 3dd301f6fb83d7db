"""Studies that run: the same numbers as single runs, on any number of workers, once each."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from deadly import DeadlyPlan

import marsyard
from marsyard.campaign import Interrupted, open_sweep
from marsyard.campaign.journal import Journal, read_records
from marsyard.campaign.member import Plan
from marsyard.errors import InputError
from marsyard.executors import Here, Processes, run_members, too_long
from marsyard.scenario.study_schema import Output
from marsyard.study.task import take

STUDY = {
    "scenario": "rt0448/test-1",
    "set": {"run.duration": 0.1},
    "design": {"kind": "monte_carlo", "n": 6},
    "vary": {"robot.velocity.0": "uniform(0, 0.1)", "gravity": "uniform(3, 4)"},
    "outputs": [
        {"name": "height", "of": "position_base.z", "unit": "mm"},
        {"name": "way", "of": "position_base.x", "take": "range"},
    ],
    "success": [{"output": "way", "at_least": 0.005}],
    "seed": 5,
}


@pytest.fixture
def counted(monkeypatch):
    """Settings of every member that is run."""
    seen = []
    evaluate = Plan.evaluate

    def counting(self, settings, tell=None):
        seen.append(dict(settings))
        return evaluate(self, settings, tell)

    monkeypatch.setattr(Plan, "evaluate", counting)
    return seen


@pytest.fixture
def undrawn(monkeypatch):
    """Folders without figures, which take a second each."""
    monkeypatch.setattr("marsyard.campaign.figures.save_figures", lambda *_: [])


def test_numbers_are_those_of_single_runs(tmp_path):
    found = marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s")
    ds = found.data
    assert dict(ds.sizes)["point"] == 6 and not found.failures
    for k in (0, 3):
        settings = {"robot.velocity": [float(ds.velocity[k]), 0, 0], "run.duration": 0.1}
        single = marsyard.run(
            "rt0448/test-1", settings=settings, gravity=float(ds.gravity[k])
        ).data.position_base.sel(axis=["x", "z"])
        assert float(ds.way[k]) == np.ptp(single.sel(axis="x").values)
        assert float(ds.height[k]) == pytest.approx(1e3 * float(single.sel(axis="z")[-1]))
    assert (ds.succeeded == (ds.way >= 0.005)).all() and 0 < ds.succeeded.sum() < 6
    assert ds.gravity.attrs["path"] == "gravity" and ds.height.attrs["units"] == "mm"
    xr.testing.assert_identical(open_sweep(tmp_path / "s").drop_attrs(), ds.drop_attrs())
    rows = (tmp_path / "s/sweep.csv").read_text().splitlines()
    assert rows[0].startswith("point,replica,velocity [m/s],gravity [m/s²],height [mm],way [m]")
    assert float(rows[4].split(",")[5]) == float(ds.way[3])
    page = (tmp_path / "s/report.html").read_text()
    good = int(ds.succeeded.sum())
    assert f'<h1 id="answer">{good} of 6 runs succeeded, ' in page and "data-plot" in page
    assert "Spearman" in page and "elapsed time of the last call" not in page


def test_a_stopped_study_goes_on_without_doing_anything_twice(tmp_path, counted, undrawn):
    whole = marsyard.sweep(STUDY, jobs=1)
    assert len(counted) == 6
    counted.clear()
    with pytest.raises(Interrupted, match="2 of 6 runs are finished"):
        marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s", stop=lambda: len(counted) >= 3)
    # a run that was being written when the power went
    log = tmp_path / "s/finished.log"
    with log.open("ab") as file:
        file.write(b'12345678 {"point":2,"repl')
    with pytest.raises(InputError, match="holds a study; continue it with --resume"):
        marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s")
    heard = []
    again = marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s", resume=True, say=heard.append)
    assert any("1 damaged" in text for text in heard)
    # the third was under way when it was stopped
    assert len(counted) == 3 + 4 and again.info["ran"] == 4 and again.info["kept"] == 2
    assert len({tuple(s.values()) for s in counted}) == 6
    xr.testing.assert_identical(again.data, whole.data)
    assert len(read_records(log)) == 6
    assert "elapsed time of the last call" in (tmp_path / "s/report.html").read_text()
    # more points of the same sequence: only those are run
    counted.clear()
    more = {**STUDY, "design": {"kind": "monte_carlo", "n": 8}}
    grown = marsyard.sweep(more, jobs=1, out=tmp_path / "s", resume=True)
    assert len(counted) == 2 and (grown.data.way[:6] == whole.data.way).all()
    with pytest.raises(InputError, match="another study: seed was 5, now it is 6; change it back"):
        marsyard.sweep({**STUDY, "seed": 6}, jobs=1, out=tmp_path / "s", resume=True)
    counted.clear()
    marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s", overwrite=True, zarr=True)
    assert len(counted) == 6 and not (tmp_path / "s/sweep.nc").exists()
    assert (open_sweep(tmp_path / "s").way == whole.data.way).all()


def test_warnings_of_runs_are_told(tmp_path):
    study = {**STUDY, "design": "grid", "vary": {"robot.position.2": [2.0, 0.57]}}
    found = marsyard.sweep(study, jobs=1, out=tmp_path / "s")
    assert list(found.warned) == [1] and not found.failures
    assert "mm inside the ground" in found.warned[1]
    assert "mm inside the ground" in (tmp_path / "s/report.html").read_text()


def test_failed_members_are_recorded_and_stop_nothing(tmp_path):
    study = {
        **STUDY, "vary": {"run.step": "choice(0.0003, 0.0005)", "gravity": "uniform(3, 4)"},
    }  # fmt: skip
    found = marsyard.sweep(study, jobs=1, out=tmp_path / "s")
    bad = found.data.step.values == 0.0003
    assert 0 < bad.sum() < 6 and (found.data.completed.values == ~bad).all()
    assert np.isnan(found.data.way.values[bad]).all() and np.isfinite(found.data.way[~bad]).all()
    reason = str(found.data.reason.values[bad][0])
    assert reason.startswith("could not begin: ") and "not a whole multiple" in reason
    assert set(found.failures) == set(np.flatnonzero(bad))
    assert "not a whole multiple" in (tmp_path / "s/report.html").read_text()


def test_replicas_draw_their_own_ground():
    study = {
        "scenario": "wheel/pull",
        "set": {
            "run.duration": 0.02,
            "ground.0.terrain": {"layers": [{"kind": "fractal", "hurst": 0.8, "roughness": 0.01,
                                             "lag": 1, "spacing": 0.1, "patch": 12.8}]},
        },
        "vary": {"slip": [0.1, 0.2]},
        "outputs": [{"name": "sinkage", "of": "sinkage.W"}],
        "success": [{"output": "sinkage", "at_most": 1}],
        "replicas": 2,
    }  # fmt: skip
    own = marsyard.sweep(study, jobs=1).data
    assert own.sinkage.dims == ("slip", "replica")
    assert own.success_probability.values.tolist() == [1.0, 1.0]
    assert own.success_low.values == pytest.approx([0.158] * 2, abs=1e-3)  # 0.025 ** (1/2)
    shared = marsyard.sweep({**study, "replica_seeds": "shared"}, jobs=1)
    settings = [shared.ready.settings(k)["ground.0.terrain.seed"] for k in range(4)]
    assert settings[:2] == settings[2:] and settings[0] != settings[1]
    with pytest.raises(InputError, match="replicas = 3: nothing in .* has a seed"):
        marsyard.sweep({**STUDY, "replicas": 3})


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"vary": {"interaction.frction": [1, 2]}}, "unknown key 'frction' in interaction; did"),
        ({"vary": {"friction": [0.5, -1]}}, "interaction.friction = -1.0: must be at least 0"),
        ({"vary": {"gravity": "uniform(1 kg, 2 kg)"}}, "gravity: 'kg' in .* is a unit of mass"),
        ({"set": {"run.stp": 1}}, "unknown key 'stp' in run; did you mean 'step'"),
        ({"outputs": [{"name": "way", "of": "position_bas.x"}]}, "did you mean 'position_base'"),
        (
            {"outputs": [{"name": "way", "of": "position_base.x", "unit": "kg"}]},
            "'kg' is not a unit",
        ),
        ({"scenario": "rt0448/test-9"}, "unknown scenario 'rt0448/test-9'; did you mean"),
    ],
)
def test_wrong_studies_run_nothing(tmp_path, change, sentence):
    study = {**STUDY, **change}
    if isinstance(next(iter(study["vary"].values())), list):
        study["design"] = "grid"
    with pytest.raises(InputError, match=sentence) as caught:
        marsyard.sweep(study, out=tmp_path / "s")
    assert not (tmp_path / "s").exists() and "\n" not in str(caught.value)


def test_a_full_disk_keeps_what_is_finished(tmp_path, monkeypatch, undrawn):
    append = Journal.append

    def full(self, records):
        if len(read_records(self.path)) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, records)

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(InputError, match=r"\(no space is left\); 2 of 6 runs are kept; continue"):
        marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s")
    monkeypatch.setattr(Journal, "append", append)
    assert marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s", resume=True).info["ran"] == 4


# --- processes


def test_a_process_that_dies_is_replaced(tmp_path):
    plan = DeadlyPlan(tmp_path)
    members = [(k, {"number": k}) for k in range(5)]
    members[1][1]["die"], members[2][1]["die"] = "once", "always"
    outcomes = {}
    executor = Processes(plan, 1)
    try:
        assert run_members(executor, members, outcomes.update)
    finally:
        executor.close()
    assert sorted(outcomes) == list(range(5)) and outcomes[1].numbers == (1.0,)
    assert [k for k in range(5) if outcomes[k].stopped is not None] == [2]
    assert outcomes[2].stopped == "lost its process 2 times (ended by SIGKILL)"
    assert [len(list(tmp_path.glob(f"{k}-*"))) for k in range(5)] == [1, 2, 2, 1, 1]


def test_a_member_that_hangs_is_ended_after_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("marsyard.executors.GRACE", 0.5)
    members = [(k, {"number": k}) for k in range(3)]
    members[1][1]["die"] = "hang"
    outcomes = {}
    executor = Processes(DeadlyPlan(tmp_path, time_limit=0.5), 1)
    try:
        assert executor.words == "1 process"
        assert run_members(executor, members, outcomes.update)
    finally:
        executor.close()
    assert [outcomes[k].stopped for k in range(3)] == [None, too_long(0.5), None]
    assert not alive(int((tmp_path / "pid").read_text()))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_workers_end_with_a_killed_parent(tmp_path):
    """A worker in a long run ends though nobody told it to."""
    script = tmp_path / "study.py"
    here, folder = str(Path(__file__).parent), str(tmp_path)
    script.write_text(
        f"import sys; sys.path.insert(0, {here!r})\n"
        "from deadly import DeadlyPlan\n"
        "from marsyard.executors import Processes\n"
        "if __name__ == '__main__':\n"
        f"    executor = Processes(DeadlyPlan({folder!r}), 1)\n"
        "    executor.submit(0, {'number': 0, 'die': 'hang'})\n"
        "    while True: executor.ready(1)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    pid, until = tmp_path / "pid", time.monotonic() + 60
    while not pid.exists() or not pid.read_text():
        assert parent.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    worker = int(pid.read_text())
    assert alive(worker)
    parent.kill()
    parent.wait()
    while alive(worker):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_limit_of_time_is_an_outcome_and_may_be_changed(tmp_path, counted, undrawn, monkeypatch):
    # in this process, so that runs are counted
    monkeypatch.setattr("marsyard.campaign.running.make_executor", lambda plan, *_: Here(plan))
    clock = iter(range(1_000_000))
    monkeypatch.setattr("marsyard.campaign.member.time.monotonic", lambda: next(clock))
    study = {**STUDY, "design": "grid", "vary": {"run.duration": [0.02, 0.5]}, "set": {}}
    # the clock goes on by a second whenever it is read: twice at the first word, then once
    short = marsyard.sweep({**study, "time_limit": "1 s"}, jobs=1, out=tmp_path / "s")
    assert short.failures[1] == "took longer than the time limit of 1 s"
    assert np.isnan(short.data.way.values[1]) and short.data.completed.values[1] == 0
    counted.clear()
    kept = marsyard.sweep({**study, "time_limit": "1 s"}, jobs=1, out=tmp_path / "s", resume=True)
    assert not counted and kept.failures == short.failures
    # without a limit only what took too long is run again
    free = marsyard.sweep(study, jobs=1, out=tmp_path / "s", resume=True)
    assert len(counted) == len(short.failures) and not free.failures
    counted.clear()
    assert (
        not marsyard.sweep(
            {**study, "time_limit": "1 s"}, jobs=1, out=tmp_path / "s", resume=True
        ).failures
        and not counted
    )
    with pytest.raises(InputError, match="time_limit.*above 0"):
        marsyard.sweep({**study, "time_limit": 0})


def test_names_of_the_results_and_unknown_ones_are_refused(tmp_path):
    def refused(sentence, **change):
        with pytest.raises(InputError, match=sentence):
            marsyard.sweep({**STUDY, **change}, out=tmp_path / "s")
        assert not (tmp_path / "s").exists()

    height = {"name": "height", "of": "position_base.z"}
    refused("'reason' is reserved", outputs=[{**height, "name": "reason"}], success=[])
    twice = [{**height, "name": name} for name in ("the way", "the_way")]
    refused("both 'the_way' in the results", outputs=twice, success=[])
    wheel = {"scenario": "wheel/pull", "set": {}, "success": [], "design": "grid",
             "outputs": [{"name": "pull", "of": "drawbar_pull.W"}]}  # fmt: skip
    refused("vary.ground.0.soil: .*'wet_sand'", vary={"ground.0.soil": ["wet_sand"]}, **wheel)
    refused("vary.robot.name: .*'exmars'; did you mean 'exomars'",
            vary={"robot.name": "choice(exomars, exmars)"})  # fmt: skip
    refused("vary.gravity: 'gravity' is fixed by 'set' as well", set={"gravity": 3})
    refused("'parsec' is not a unit .* in 'm'; valid: m, mm", success=[],
            outputs=[{**height, "unit": "parsec"}])  # fmt: skip
    refused("at_least = 2 must not be above at_most = 1",
            success=[{"output": "way", "at_least": 2, "at_most": 1}])  # fmt: skip


def test_values_no_run_begins_with_are_warned_of_and_counted():
    heard = []
    study = {**STUDY, "vary": {"gravity": "uniform(-4, 4)"}, "seed": 1}
    found = marsyard.sweep(study, jobs=1, say=heard.append)
    assert "vary.gravity includes values with which runs cannot start" in heard[0]
    assert set(found.failures) == set(np.flatnonzero(found.data.gravity.values < 0))
    late = {**STUDY["outputs"][1], "take": "mean", "start": 5}
    gaps = marsyard.sweep({**STUDY, "outputs": [late]}, jobs=1).gaps
    assert list(gaps["way"]) == list(range(6)) and gaps["way"][0]


def test_shares_and_slip_are_given_in_per_cent():
    """A plain number in per cent is a hundred times as large, not only called so."""
    ds = xr.Dataset({"slip": ("time", [0.1, 0.2], {"units": "1"})}, {"time": [0.0, 1.0]})
    output = Output(name="slip", of="slip", unit="%")
    assert take(ds, output, None)[:2] == (20.0, "%")
    with pytest.raises(InputError, match="'m' is not a unit .* a plain number; valid: %"):
        take(ds, Output(name="slip", of="slip", unit="m"), None)


def test_runs_that_diverge_leave_no_log_where_the_user_is(tmp_path, monkeypatch, capfd):
    import mujoco

    monkeypatch.chdir(tmp_path)
    heard = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        wild = [{"joints": "drives", "torque": "-1e3*rate + 1e2*sin(1e3*t)"}]
        # speeds grow four hundredfold a step: recorded at each, none is infinite unseen
        settings = {
            "control": wild, "run.duration": 0.4, "run.control_period": "2 ms",
            "run.record_period": "2 ms",
        }  # fmt: skip
        run = marsyard.run("vehicle2001/slope", **settings)
        assert run.stopped and "moves at" in run.stopped
        study = {**STUDY, "scenario": "vehicle2001/slope", "set": settings, "replicas": 1}
        found = marsyard.sweep({**study, "vary": {"gravity": [3.7]}, "design": "grid"}, jobs=1)
        assert found.failures
        assert (
            not list(tmp_path.iterdir()) and not heard and "WARNING" not in capfd.readouterr().err
        )
        # who listened to MuJoCo before does so again
        assert mujoco.get_mju_user_warning() == heard.append
    finally:
        mujoco.set_mju_user_warning(None)
