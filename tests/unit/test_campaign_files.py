"""Studies before anything runs: files and their mistakes, designs, seeds, the journal, resuming."""

from __future__ import annotations

import errno
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from marsyard.campaign import named_files
from marsyard.campaign.base import Base, replica_seed
from marsyard.campaign.design import make_points
from marsyard.campaign.files import made
from marsyard.campaign.journal import Journal, read_records
from marsyard.campaign.maps import success_map, success_of, success_words
from marsyard.campaign.named_files import file_digests
from marsyard.campaign.prepared import make_base
from marsyard.campaign.resume import all_versions, header_of, other_versions, what_changed
from marsyard.campaign.sensitivity import indices, sobol_indices
from marsyard.campaign.study_file import Design, StudyFile, Varied
from marsyard.campaign.tables import grouped, left_out, sobol_rows
from marsyard.errors import InputError
from marsyard.executors import run_members
from marsyard.operations.verdict import clopper_pearson
from marsyard.scenario import scenario_data

STUDY = {
    "scenario": "rt0448/test-1",
    "vary": {"friction": [0.3, 0.5]},
    "outputs": [{"name": "height", "of": "position_base.z"}],
}


def parameters(vary, design="grid", scenario="rt0448/test-1", **more):
    asked = {**STUDY, "scenario": scenario, "vary": vary, "design": design, **more}
    study = made(StudyFile, asked, "study")
    base, found = make_base(study, "study", scenario, scenario_data(scenario))
    return study, base, found


def points(vary, design="grid", seed=0, **more):
    study, _, found = parameters(vary, design, **more)
    return make_points(study.design, found, seed)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"desing": "grid"}, "unknown key 'desing' in the file; did you mean 'design'"),
        ({"design": "sobol"}, "sobol needs 'n', the number of points"),
        ({"design": {"kind": "sobl", "n": 8}}, "'sobl' is not allowed; did you mean 'sobol'"),
        ({"design": {"kind": "grid", "n": 8}}, "as many points as its values define; remove 'n'"),
        ({"design": {"kind": "saltelli", "n": 100}}, "n = 100: saltelli needs a power of 2"),
        ({"vary": {"friction": "uniform(0, 1)"}}, "a distribution needs a random design"),
        ({"vary": {"friction": {"path": "x"}}}, "give one of values, range, distribution"),
        ({"vary": {}}, "vary: holds 0; at least 1 needed"),
        ({"replicas": 0}, "replicas = 0: must be at least 1"),
        ({"replicas": "two"}, "replicas: 'two' is not a whole number"),
        ({"seed": 1.5}, "seed: 1.5 is not a whole number"),
        ({"success": [{"output": "height", "at_most": math.nan}]}, "nan is not a finite number"),
        ({"time_limit": "5 kg"}, "time_limit: 'kg' in '5 kg' is a unit of mass"),
        ({"success": [{"output": "hight", "at_least": 1}]}, "did you mean 'height'"),
        ({"outputs": [{"name": "h", "of": "x", "take": "mid"}]}, "outputs.0.take: 'mid' is not"),
    ],
)
def test_mistakes_in_a_file(change, sentence):
    with pytest.raises(InputError) as caught:
        made(StudyFile, {**STUDY, **change}, "study.yaml")
    text = str(caught.value)
    assert text.startswith("study.yaml: ") and sentence in text and "\n" not in text


@pytest.mark.parametrize(
    "vary, sentence",
    [
        ({"frction": [1, 2]}, "unknown setting 'frction'; did you mean 'friction'"),
        ({"a": {"path": "friction", "values": [1]}, "friction": [2]}, "is varied twice"),
        ({"interaction.law": "plus normal(0, 1)"}, "needs a number of the scenario"),
        ({"friction": "unifrm(0, 1)"}, "not a distribution; did you mean 'uniform'"),
        ({"friction": "uniform(1, 0)"}, "low must be below high"),
        ({"gravity": "uniform(1 m, 2 kg)"}, "not units of the same quantity"),
    ],
)
def test_mistakes_in_parameters(vary, sentence):
    with pytest.raises(InputError, match=f"^study: vary.*{sentence}"):
        parameters(vary, {"kind": "monte_carlo", "n": 4})


def test_a_grid_has_every_combination():
    found = points({"friction": [0.3, 0.5, 0.7], "slope": {"path": "gravity", "values": [1, 2]}})
    assert found.shape == (3, 2) and len(found) == 6
    assert found.settings(1) == {"interaction.friction": 0.3, "gravity": 2.0}
    assert found.settings(4) == {"interaction.friction": 0.7, "gravity": 1.0}
    assert found.words(4) == "friction = 0.7, slope = 1 m/s²"


def test_a_list_goes_row_by_row():
    found = points({"friction": [0.3, 0.5], "gravity": [1, 2]}, "list")
    assert [found.settings(k)["gravity"] for k in range(2)] == [1.0, 2.0] and len(found) == 2
    with pytest.raises(InputError, match="as many values of each parameter: friction 2, gravity 3"):
        points({"friction": [0.3, 0.5], "gravity": [1, 2, 3]}, "list")


def test_one_parameter_drives_several_paths():
    same = points({"start": {"path": ["robot.velocity.0", "robot.velocity.1"], "values": [1, 2]}})
    assert same.settings(1) == {"robot.velocity.0": 2.0, "robot.velocity.1": 2.0}
    own = points({"both": {"together": {"gravity": [1, 2], "friction": [0.1, 0.2]}}})
    assert own.settings(1) == {"gravity": 2.0, "interaction.friction": 0.2}


@pytest.mark.parametrize("kind", ["latin_hypercube", "sobol", "monte_carlo"])
def test_drawn_points(kind):
    vary = {"friction": "uniform(0.2, 0.6)", "robot.attitude.0": "normal(0, 2 deg)"}
    found = points(vary, {"kind": kind, "n": 64}, seed=3)
    x, angle = (np.array(found.shown(k)) for k in range(2))
    assert x.min() >= 0.2 and x.max() <= 0.6 and abs(x.mean() - 0.4) < 0.05
    assert found.parameters[1].unit == "deg" and 1.2 < angle.std() < 2.8
    assert found.settings(7)["robot.attitude.0"] == pytest.approx(math.radians(angle[7]))
    if kind != "monte_carlo":  # one in each of 64 strata
        assert sorted(np.floor((x - 0.2) / 0.4 * 64)) == list(range(64))
    again = points(vary, {"kind": kind, "n": 64}, seed=3)
    assert again.picked == found.picked
    assert points(vary, {"kind": kind, "n": 64}, seed=4).picked != found.picked
    if kind != "latin_hypercube":  # the first ones stay when more are asked for
        assert points(vary, {"kind": kind, "n": 100}, seed=3).picked[:64] == found.picked


def test_designs_that_would_fill_the_memory_are_refused():
    with pytest.raises(InputError, match="n = 524288: makes 1572864 points; at most 1000000"):
        points({"friction": "uniform(0, 1)"}, {"kind": "saltelli", "n": 524288})
    with pytest.raises(InputError, match="the grid has more than 1000000 points"):
        many = {"start": 1, "stop": 2, "count": 2000}
        points({"friction": many, "gravity": many})


def test_the_scenario_is_opened_where_parameters_reach():
    data = scenario_data("eldorado2/rough")
    paths = ["ground.0.soil.cohesion", "robot.velocity.1", "ground.0.terrain.layers.0.roughness"]
    base = Base("eldorado2/rough", data, {}, paths)
    varied = base.vary({"ground.0.soil.cohesion": 500.0, "robot.velocity.1": 0.1})
    assert varied.ground[0].soil == {"name": "toyoura_ding2011", "cohesion": 500.0}
    assert varied.robot.velocity == (0.0, 0.1, 0.0)
    assert base.own("ground.0.terrain.layers.0.roughness") == pytest.approx(0.06)
    assert base.own("ground.0.soil.friction_angle") == pytest.approx(math.radians(31.9), rel=0.2)
    with pytest.raises(InputError, match="a soil has no 'cohsion'; did you mean 'cohesion'"):
        Base("eldorado2/rough", data, {}, ["ground.0.soil.cohsion"])
    named = Base("wheel/pull", scenario_data("wheel/pull"), {}, ["ground.0.terrain.bounds"])
    assert isinstance(named.data["ground"][0]["terrain"], dict)
    start = Base("wheel/pull", scenario_data("wheel/pull"), {}, ["robot.position.0"])
    assert len(start.data["robot"]["position"]) == 3


def test_seeds_of_replicas_depend_on_nothing_but_the_member():
    _, base, _ = parameters({"friction": [0.3]}, scenario="eldorado2/rough")
    assert base.seeds([]) == ("ground.0.terrain.seed",)
    assert base.seeds(["ground.0.terrain.seed"]) == ()
    made = {(p, r): replica_seed(1, p, r, "s") for p in (None, *range(20)) for r in range(20)}
    assert len(set(made.values())) == len(made)
    assert made[3, 4] == replica_seed(1, 3, 4, "s") != replica_seed(2, 3, 4, "s")


# --- the journal


def test_a_journal_keeps_what_was_appended(tmp_path):
    path = tmp_path / "log"
    journal = Journal.create(path, {"of": "ä study"})
    numbers = [0.1, 1 / 3, 1e-300, -0.0]
    journal.append([{"k": 1, "numbers": numbers}, {"k": 2}])
    with pytest.raises(InputError, match="another process writes"):
        Journal.open(path)
    journal.close()
    again = Journal.open(path)
    assert again.header == {"of": "ä study"} and again.damaged == 0
    assert [r["k"] for r in again.records] == [1, 2] and again.records[0]["numbers"] == numbers


def test_a_journal_in_use_is_not_replaced(tmp_path):
    path = tmp_path / "finished.log"
    held = Journal.create(path, {"study": 1})
    for begin in (lambda: Journal.create(path, {"study": 2}), lambda: Journal.open(path)):
        with pytest.raises(InputError, match="is in use: another process writes its results"):
            begin()
    held.append([{"point": 0}])
    assert read_records(path) == [{"point": 0}]
    held.close()
    Journal.create(path, {"study": 2}).close()
    assert read_records(path) == []


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_line_is_left_out(tmp_path, cut):
    path = tmp_path / "log"
    journal = Journal.create(path, {})
    journal.append([{"k": 1, "text": "some"}, {"k": 2, "text": "more text"}])
    journal.close()
    os.truncate(path, path.stat().st_size - cut)
    again = Journal.open(path)
    assert [r["k"] for r in again.records] == [1] and again.damaged == 1
    again.append([{"k": 3}])
    again.close()
    assert [r["k"] for r in read_records(path)] == [1, 3]


def test_a_changed_line_is_left_out(tmp_path):
    path = tmp_path / "log"
    journal = Journal.create(path, {})
    journal.append([{"k": 111}, {"k": 222}])
    journal.close()
    path.write_bytes(path.read_bytes().replace(b"111", b"112"))
    again = Journal.open(path)
    assert [r["k"] for r in again.records] == [222] and again.damaged == 1
    again.close()
    path.write_bytes(b"something else\n")
    with pytest.raises(InputError, match="not a journal"):
        Journal.open(path)


def test_a_disk_that_gets_full_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "log"
    journal = Journal.create(path, {})
    journal.append([{"k": 1}])
    write = os.write

    def half(handle, data):
        if len(data) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"):
        journal.append([{"k": 2, "text": "x" * 100}])
    monkeypatch.undo()
    journal.append([{"k": 3}])
    journal.close()
    assert [r["k"] for r in read_records(path)] == [1, 3]


# --- resuming


def _header(**changes):
    asked = {**STUDY, "design": {"kind": "sobol", "n": 8}, "replicas": 2,
             "vary": {"friction": "uniform(0, 1)"}, **changes}  # fmt: skip
    base = {"run": {"duration": 1.0}, "robot": {"name": "a"}}
    return header_of(made(StudyFile, asked, "study"), base, "m")


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({}, ""),
        ({"replicas": 5}, ""),
        ({"title": "another", "time_limit": "5 s"}, ""),
        ({"design": {"kind": "sobol", "n": 16}}, ""),
        ({"design": {"kind": "sobol", "n": 4}}, "design.n was 8, now it is 4"),
        ({"seed": 1}, "seed was 0, now it is 1"),
        ({"set": {"run.step": 0.1}}, "set.run.step was nothing, now it is 0.1"),
        (
            {"vary": {"friction": "uniform(0, 2)"}},
            "vary.friction.distribution was uniform(0, 1), now it is uniform(0, 2)",
        ),
    ],
)
def test_what_changed_is_named(changes, sentence):
    assert what_changed(_header(), _header(**changes)) == sentence


def test_a_changed_scenario_or_model_is_named():
    new = _header()
    new["base"] = {"run": {"duration": 2.0}, "robot": {"name": "a"}}
    assert what_changed(_header(), new).endswith("run.duration was 1.0, now it is 2.0")
    assert "model was changed" in what_changed(_header(), {**_header(), "model": "n"})


def test_a_changed_file_that_the_scenario_names_is_named(tmp_path, monkeypatch):
    fmu, ground, grid = (tmp_path / n for n in ("Pilot of two.fmu", "ground.yaml", "map.tif"))
    fmu.write_bytes(b"one")
    grid.write_bytes(b"x" * 100)
    ground.write_text("layers: [{kind: map, file: map.tif}]")
    data = {"control": [{"file": str(fmu)}], "ground": [{"terrain": str(ground)}], "title": "a.b"}
    before = {**_header(), "files": file_digests(data)}
    assert len(before["files"]) == 3 and what_changed(before, before) == ""
    # a journal from before files were looked at
    assert what_changed({k: v for k, v in before.items() if k != "files"}, before) == ""
    for file, name in ((grid, "map.tif"), (fmu, "Pilot of two.fmu")):
        old, content = {**before, "files": file_digests(data)}, file.read_bytes()
        file.write_bytes(b"y" + content[1:])
        new = {**before, "files": file_digests(data)}
        assert what_changed(old, new) == f"the file '{name}' was changed"
    # of a huge file the ends count
    monkeypatch.setattr(named_files, "WHOLE", 50)
    monkeypatch.setattr(named_files, "_END", 10)
    ends = file_digests(data)
    grid.write_bytes(grid.read_bytes()[:-1] + b"z")
    assert file_digests(data) != ends


def test_another_version_of_a_plugin_is_told(tmp_path, monkeypatch):
    def installed(version):
        home = tmp_path / version / "dunes.dist-info"
        home.mkdir(parents=True)
        (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: dunes\nVersion: {version}\n")
        (home / "entry_points.txt").write_text("[marsyard.laws]\nbed = nowhere:bed\n")
        monkeypatch.syspath_prepend(str(home.parent))
        return {"versions": all_versions()}

    bare, old, new = {"versions": all_versions()}, installed("0.1"), installed("0.2")
    assert other_versions(old, new) == "dunes 0.1 → 0.2"
    # one that was not there had no part in the runs
    assert other_versions(bare, new) == other_versions(old, old) == ""


# --- running and judging


class Instant:
    """An executor whose members are done at once; notes what is asked of it."""

    def __init__(self, slots):
        self.slots, self.words, self.log, self._queue = slots, "", [], []

    def submit(self, key, settings):
        self.log.append(f"begin {key}")
        self._queue.append((key, settings))

    def ready(self, timeout):
        return [self._queue.pop(0)] if self._queue else []


def test_members_begin_before_results_are_written():
    executor = Instant(2)
    done = lambda batch: executor.log.extend(f"write {k}" for k, _ in batch)  # noqa: E731
    assert run_members(executor, ((k, None) for k in range(4)), done)
    assert executor.log == [
        "begin 0", "begin 1", "begin 2", "write 0", "begin 3", "write 1", "write 2", "write 3",
    ]  # fmt: skip


def test_a_stop_writes_what_is_done_and_begins_no_more():
    executor = Instant(1)
    written = []
    assert not run_members(
        executor, ((k, None) for k in range(9)), written.extend, lambda: len(written) >= 3
    )
    assert [k for k, _ in written] == [0, 1, 2]


def test_sobol_indices_of_ishigamis_function():
    """sin x + 7 sin² y + 0.1 z⁴ sin x over ±π: closed form in Saltelli et al. 2008."""
    a, b = 7.0, 0.1
    study, _, found = parameters(
        {p: "uniform(-3.141592653589793, 3.141592653589793)" for p in
         ("robot.velocity.0", "robot.velocity.1", "robot.velocity.2")},
        {"kind": "saltelli", "n": 1024},
    )  # fmt: skip
    made = make_points(study.design, found, 1)
    assert len(made) == 1024 * 5
    x, y, z = (np.array(made.shown(k)) for k in range(3))
    numbers = np.sin(x) + a * np.sin(y) ** 2 + b * z**4 * np.sin(x)
    pi = math.pi
    v1 = 0.5 * (1 + b * pi**4 / 5) ** 2
    v2, v13 = a**2 / 8, b**2 * pi**8 * 8 / 225
    v = v1 + v2 + v13
    got, blocks = sobol_indices(numbers, 3, False, 1)
    assert blocks == 1024
    assert got["S1"] == pytest.approx([v1 / v, v2 / v, 0.0], abs=0.03)
    assert got["ST"] == pytest.approx([(v1 + v13) / v, v2 / v, v13 / v], abs=0.03)
    # intervals are resampled by the seed, whatever it is
    first, again = (sobol_indices(numbers[:640], 3, False, 0)[0] for _ in range(2))
    assert (first["S1_conf"] == again["S1_conf"]).all() and first["S1_conf"].min() > 0
    other = sobol_indices(numbers[:640], 3, False, 1)[0]
    assert (first["S1"] == other["S1"]).all() and (first["S1_conf"] != other["S1_conf"]).all()
    # blocks with a failed run are left out, the others still say the same
    numbers[np.arange(0, 5120, 23)] = np.nan
    left, blocks = sobol_indices(numbers, 3, False, 1)
    assert blocks == 1024 - np.unique(np.arange(0, 5120, 23) // 5).size
    assert left["ST"] == pytest.approx(got["ST"], abs=0.06)
    assert np.isnan(sobol_indices(np.full(5120, 2.0), 3, False, 1)[0]["S1"]).all()


def test_a_map_of_success_counts_every_run():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (2, 600))
    good = (x + y > 1).astype(np.int8)
    ds = xr.Dataset(
        {"succeeded": ("point", good), "completed": ("point", np.ones(600, np.int8))},
        {"x": ("point", x), "y": ("point", y), "word": ("point", np.array(["a", "b"] * 300))},
        {"parameters": "x,y", "design": "monte_carlo"},
    )
    found = success_map(ds, "x", "y")
    assert found.runs.sum() == 600 and found.good.sum() == good.sum()
    inside = [
        (x >= found.x.borders[i]) & (x < found.x.borders[i + 1])
        & (y >= found.y.borders[1]) & (y < found.y.borders[2])
        for i in range(1, len(found.x) - 1)
    ]  # fmt: skip
    assert found.runs[1, 1:-1].tolist() == [int(m.sum()) for m in inside]
    assert found.good[1, 1:-1].tolist() == [int(good[m].sum()) for m in inside]
    words = success_map(ds, "word")
    assert words.x.words == ("a", "b") and words.runs.tolist() == [300, 300]


def drawn_runs(good, design="monte_carlo"):
    """The data set of runs [points, replicas] that succeeded or not, over a drawn x."""
    points = len(good)
    x = np.random.default_rng(1).uniform(0, 1, points)
    return xr.Dataset(
        {
            "succeeded": (("point", "replica"), good.astype(np.int8)),
            "completed": (("point", "replica"), np.ones(good.shape, np.int8)),
        },
        {"x": ("point", x)},
        {"parameters": "x", "design": design},
    )


def test_few_drawn_points_are_counted_in_spans_not_one_by_one():
    found = success_map(drawn_runs(np.ones((12, 4))), "x")
    assert len(found.x) == 4 and np.ptp(np.diff(found.x.borders)) < 1e-12
    assert found.runs.sum() == 48


def test_replicas_that_agree_are_worth_no_more_than_their_points():
    """Coverage: points whose success is decided by their parameters alone, ten replicas each."""
    rng = np.random.default_rng(3)
    covered = wrong = 0
    for _ in range(200):
        good = np.repeat(rng.random((20, 1)) < 0.3, 10, axis=1)
        found = success_of(drawn_runs(good))
        covered += found.low <= 0.3 <= found.high
        pooled = clopper_pearson(int(good.sum()), good.size)
        wrong += not pooled[0] <= 0.3 <= pooled[1]
    assert covered / 200 > 0.94 and wrong / 200 > 0.3
    # one run a point: Clopper and Pearson as it stands; none in 12 points, however many replicas
    alone = success_of(drawn_runs(np.arange(20)[:, None] < 6))
    assert (alone.low, alone.high) == pytest.approx((0.1189, 0.5428), abs=1e-4)
    none = success_of(drawn_runs(np.zeros((12, 4))))
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 12))


def test_runs_of_a_saltelli_block_are_not_independent():
    ds = drawn_runs(np.repeat(np.arange(16) < 8, 3)[:, None], "saltelli")  # blocks of d + 2 = 3
    found = success_of(ds)
    assert (found.broken, found.runs) == (24, 48)
    # worth 16 runs at most: 8 of 16 by Clopper and Pearson
    assert found.low <= 0.2465 and found.high >= 0.7535


def test_a_grid_is_no_sample():
    good = np.array([[1, 1], [0, 1]])
    assert success_words(drawn_runs(good, "list")) == "3 of 4"
    assert success_words(drawn_runs(good)).startswith("3 of 4, 75 % (")


def test_failures_are_grouped_by_words_not_by_names():
    same = {0: "unknown soil 'fjs_1'", 1: "unknown soil 'fjs_1'"}
    assert grouped(same) == [("unknown soil 'fjs_1'", [0, 1])]
    kept = {0: "rt0448/test-1: gravity = -2", 1: "rt0448/test-1: gravity = -1e-3"}
    assert grouped(kept) == [("rt0448/test-1: gravity = …", [0, 1])]
    other = {0: "diverged at 1.5 s", 1: "diverged at 2 s", 2: "lost"}
    assert grouped(other) == [("diverged at … s", [0, 1]), ("lost", [2])]


def test_failed_runs_under_sobol_indices_are_told():
    study, _, found = parameters({"friction": "uniform(0, 1)"}, {"kind": "saltelli", "n": 16})
    numbers = np.array(make_points(study.design, found, 1).shown(0))
    numbers[7] = np.nan
    ds = xr.Dataset(
        {"height": ("point", numbers, {"take": "final", "long_name": "height"})},
        {"friction": ("point", np.zeros(48), {"long_name": "friction"})},
        {"parameters": "friction", "design": "saltelli"},
    )
    ds = ds.merge(indices(ds, study.design, 1))
    assert "without a number: 1 of 16 blocks for height." in left_out(ds)
    assert sobol_rows(ds)[0][:2] == ["height", "friction"]
    assert float(ds.sobol_total[0, 0]) == pytest.approx(1, abs=0.3)


def test_the_how_to_names_every_key():
    text = (Path(__file__).parents[2] / "docs/how-to/sweep.md").read_text()
    for model in (StudyFile, Design, Varied):
        for key in model.model_fields:
            assert re.search(rf"\b{key}\b", text), key
