"""Studies that run: the same numbers as single runs, on any number of workers, once each."""

from __future__ import annotations

import errno

import numpy as np
import pytest
import xarray as xr
from deadly import DeadlyPlan

import marsyard
from marsyard.campaign import Interrupted, open_sweep
from marsyard.campaign.executors import Processes, run_members
from marsyard.campaign.journal import Journal, read_records
from marsyard.campaign.member import Plan
from marsyard.errors import InputError

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
    assert "Spearman" in (tmp_path / "s/report.html").read_text()


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
    with pytest.raises(InputError, match="holds a study; go on with it by --resume"):
        marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s")
    heard = []
    again = marsyard.sweep(STUDY, jobs=1, out=tmp_path / "s", resume=True, say=heard.append)
    assert any("1 damaged" in text for text in heard)
    # the third was under way when it was stopped
    assert len(counted) == 3 + 4 and again.info["ran"] == 4 and again.info["kept"] == 2
    assert len({tuple(s.values()) for s in counted}) == 6
    xr.testing.assert_identical(again.data, whole.data)
    assert len(read_records(log)) == 6
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
    with pytest.raises(InputError, match=r"\(no space is left\); 2 of 6 runs are kept, go on"):
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
