"""Optimisation: exact hypervolumes, known fronts, the same bits however it is run, mistakes."""

from __future__ import annotations

import errno
import itertools
import re

import numpy as np
import pytest
import yaml
from optimize_problems import Formula, problem

import marsyard
from marsyard.campaign import Interrupted
from marsyard.campaign.files import made
from marsyard.campaign.journal import Journal
from marsyard.campaign.optimize.data import history
from marsyard.campaign.optimize.pareto import hypervolume, ranks, spread
from marsyard.campaign.optimize.running import solve
from marsyard.campaign.optimize.scoring import score
from marsyard.campaign.optimize.study_file import OptimizeFile
from marsyard.campaign.optimize.tables import objective_labels
from marsyard.errors import InputError
from marsyard.study.task import Outcome

# --- fronts


def test_hypervolumes_of_boxes():
    one = np.array([2.0, 3.0])
    assert hypervolume(np.array([[1.0, 1.0]]), one) == 2.0
    assert hypervolume(np.array([[1.0, 1.0], [0.0, 2.0], [1.5, 1.5], [3.0, 0.0]]), one) == 3.0
    assert hypervolume(np.array([[2.0, 0.0]]), one) == 0.0
    assert hypervolume(np.array([[1.0], [0.5]]), np.array([3.0])) == 2.5
    cube = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], dtype=float)
    # three boxes 2 × 1 × 1 that share the cube of 1
    assert hypervolume(cube, np.full(3, 2.0)) == pytest.approx(4.0)


def test_hypervolume_against_counting_cells():
    # integer points: the volume is the number of unit cells that some point dominates
    rng = np.random.default_rng(2)
    points = rng.integers(0, 6, size=(9, 4)).astype(float)
    cells = np.array(list(itertools.product(range(6), repeat=4)), dtype=float)
    dominated = (points[:, None] <= cells[None]).all(axis=2).any(axis=0).sum()
    assert hypervolume(points, np.full(4, 6.0)) == pytest.approx(dominated)


def test_ranks_by_their_definition():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 5, size=(40, 2)).astype(float)
    found = ranks(values)

    def dominates(a, b):
        return (a <= b).all() and (a < b).any()

    for k, v in enumerate(values):
        above = [found[j] for j, w in enumerate(values) if dominates(w, v)]
        assert found[k] == (max(above) + 1 if above else 1)


def test_history_never_shrinks_and_leaves_out_what_is_not_feasible():
    values = np.array([[1.0, 1.0], [0.0, 0.0], [0.5, 0.2], [0.2, 0.6]])
    grown = history(values, np.array([True, False, True, True]))
    # by hand: box [0.2, 1] × [0.2, 1]; 0 at its corner, then (0.375, 0), then (0, 0.5) too
    np.testing.assert_allclose(grown, [0.0, 0.0, 0.625, 0.8125])


def test_spread_keeps_the_extremes():
    values = np.column_stack([np.linspace(0, 1, 50), 1 - np.linspace(0, 1, 50) ** 2])
    chosen = spread(values, 5)
    assert len(set(chosen)) == 5 and {0, 49} <= set(chosen)
    assert np.diff(chosen).max() < 20


def run(given, folder=None, jobs=1, resume=False, stop=None, overwrite=False):
    quiet = (lambda text: None, lambda watch: None, stop or (lambda: False))
    return solve(given, folder, jobs, "", resume, overwrite, *quiet)


def test_the_front_of_binh_and_korn_is_reached():
    found = run(problem())
    f = found.data["objective"].values[found.front]
    # exact front: x = y up to 3, then y = 3 up to x = 5 (Binh and Korn 1997)
    x = np.concatenate([np.linspace(0, 3, 2000), np.linspace(3, 5, 2000)])
    y = np.minimum(x, 3.0)
    exact = np.column_stack([4 * x**2 + 4 * y**2, (x - 5) ** 2 + (y - 5) ** 2])
    reference = np.array([140.0, 50.0])
    share = hypervolume(f, reference) / hypervolume(exact, reference)
    assert 0.97 < share <= 1.0
    # nobody is beyond the exact front, and limits are kept
    for point in f:
        assert not ((exact - point) > 1e-2).all(axis=1).any()
    front = found.data.isel(candidate=found.front)
    assert float(front["near"].max()) <= 25 and float(front["far"].min()) >= 7.7
    assert found.data.hypervolume.values[-1] == found.data.hypervolume.values.max()


@pytest.mark.parametrize("kind", ["tpe", "nsga3", "random"])
def test_other_optimisers_find_feasible_fronts(kind):
    found = run(problem(optimiser={"kind": kind, "population": 10, "evaluations": 30}))
    assert len(found.candidates) == 30 and found.front


def test_a_single_objective_reaches_its_optimum():
    found = run(
        problem(
            objectives=[{"maximise": "second"}],
            constraints=[{"output": "first", "at_least": 40}],
            optimiser={"population": 12, "evaluations": 240},
        )
    )
    # exact: on 4 (x² + y²) = 40 the point of the box farthest from (5, 5) is (√10, 0)
    best = found.candidates[found.front[0]]
    assert len(found.front) == 1
    assert best.score.objectives[0] == pytest.approx(60 - 10 * 10**0.5, abs=0.15)


# --- how it is run

SMALL = {"optimiser": {"population": 8, "evaluations": 36}}


def files(folder):
    return {n: (folder / n).read_bytes() for n in ("optimize.csv", "study.yaml")}


@pytest.fixture
def no_scenarios(monkeypatch):
    """Formulas have no scenarios to write or to describe."""
    monkeypatch.setattr("marsyard.campaign.optimize.best.write_best", lambda found, folder: {})
    monkeypatch.setattr("marsyard.campaign.optimize.figures.save_figures", lambda *a: [])
    monkeypatch.setattr("marsyard.campaign.optimize.report.write_report", lambda *a: None)


def test_a_torn_journal_is_gone_on_with_to_the_same_bits(tmp_path, no_scenarios, monkeypatch):
    whole = run(problem(**SMALL), tmp_path / "whole")
    count = itertools.count()
    with pytest.raises(Interrupted):
        run(problem(**SMALL), tmp_path / "cut", stop=lambda: next(count) > 40)
    log = tmp_path / "cut" / "finished.log"
    kept = len(log.read_bytes().splitlines()) - 2
    assert 5 < kept < 36
    log.write_bytes(log.read_bytes()[:-25])  # as a power cut leaves it
    ran = []
    evaluate = Formula.evaluate
    monkeypatch.setattr(Formula, "evaluate", lambda s, x, t: ran.append(1) or evaluate(s, x))
    again = run(problem(**SMALL), tmp_path / "cut", resume=True)
    # candidates that come up twice are run once
    assert len(ran) == whole.info["ran"] - kept
    assert again.data.identical(whole.data)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_two_processes_give_the_same_bits(tmp_path, no_scenarios):
    one = run(problem(**SMALL))
    two = run(problem(**SMALL), jobs=2)
    assert one.data.identical(two.data) and two.info["where"] == "2 processes"


def test_more_candidates_are_the_same_ones_and_then_some(tmp_path, no_scenarios):
    few = run(problem(optimiser={"population": 8, "evaluations": 20}), tmp_path / "r")
    more = run(problem(**SMALL), tmp_path / "r", resume=True)
    assert few.info["ran"] + more.info["ran"] == run(problem(**SMALL)).info["ran"]
    assert [c.values for c in more.candidates[:20]] == [c.values for c in few.candidates]


def test_failed_runs_are_kept_with_their_reason_and_stop_nothing():
    found = run(problem("fails", constraints=[], **SMALL))
    x = found.data["x"].values
    assert (x > 2).any()
    np.testing.assert_array_equal(found.data["completed"].values == 0, x > 2)
    assert set(found.infeasible.values()) == {"diverged at 1 s"}
    # the search turns away from where runs fail
    assert (x[:12] > 2).mean() > (x[-12:] > 2).mean()


def test_a_failed_run_counts_though_no_objective_is_taken_of_it():
    case = {"scenario": "rt0448/test-1", "outputs": [{"name": "work", "of": "energy_motors"}]}
    other = {**case, "outputs": [{"name": "way", "of": "position_base.x"}]}
    asked = {
        "cases": {"level": case, "slope": other},
        "vary": {"gravity": [1, 2]},
        "objectives": [{"minimise": "work"}],
    }
    given = made(OptimizeFile, asked, "study")
    good = Outcome((2.0,), ("J",), ("",), None, 0, 1, 1.0, 0.1, ())
    lost = Outcome((None,), ("m",), ("",), "diverged at 1 s", 0, 1, 1.0, 0.1, ())
    found = score(given, {("level", 0): good, ("slope", 0): lost})
    assert not found.feasible and found.reason == "slope: diverged at 1 s"
    assert score(given, {("level", 0): good, ("slope", 0): good}).feasible


def test_other_studies_and_other_files_are_refused(tmp_path, no_scenarios):
    run(problem(**SMALL), tmp_path / "r")
    with pytest.raises(InputError, match="holds a study; continue it with --resume"):
        run(problem(**SMALL), tmp_path / "r")
    with pytest.raises(InputError, match="another study: seed was 4, now it is 5"):
        run(problem(**SMALL, seed=5), tmp_path / "r", resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        run(problem(**SMALL), tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_full_disk_is_said_and_can_be_gone_on_from(tmp_path, no_scenarios, monkeypatch):
    whole = run(problem(**SMALL))
    append, count = Journal.append, itertools.count()

    def full(self, records):
        if next(count) == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, records)

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(InputError, match="no space is left.*12 of 36 runs are kept.*--resume"):
        run(problem(**SMALL), tmp_path / "r")
    assert run(problem(**SMALL), tmp_path / "r", resume=True).data.identical(whole.data)


# --- mistakes

STUDY = {
    "scenario": "vehicle2001/slope",
    "set": {"run.duration": 0.1},
    "vary": {"robot.design.mass": ["10 kg", "16 kg"]},
    "outputs": [{"name": "work", "of": "energy_motors"}, {"name": "way", "of": "position_base.x"}],
    "objectives": [{"minimise": "work"}, {"maximise": "way"}],
    "optimiser": {"population": 4, "evaluations": 8},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vary": {"robot.design.mas": [1, 2]}}, "vary.robot.design.mas: .*mas.*mass"),
        ({"vary": {"frictoin": [0.1, 0.2]}}, "vary.frictoin: unknown setting.*friction"),
        ({"vary": {"gravity": [5, 3]}}, "vary.gravity: the lower bound 5.* must be below"),
        ({"vary": {"gravity": [-5, 3]}}, "vary.gravity: .*gravity"),
        ({"vary": {"gravity": {"low": 0, "high": 3, "log": True}}}, "logarithm needs bounds"),
        ({"vary": {"gravity": [1, 2, 3]}}, r"holds 3; give two bounds, \[low, high\], or"),
        ({"start": [{"robot.design.mass": "heavy"}]}, "start.0.robot.design.mass: 'heavy' is no"),
        ({"set": {"gravity": 3}, "vary": {"gravity": [1, 2]}}, "is fixed by 'set' as well"),
        ({"outputs": [{"name": "rank", "of": "energy_motors"}],
          "objectives": [{"minimise": "rank"}]}, "'rank' is reserved"),
        ({"vary": {"robot.name": {"choice": ["vehicle_2001", "vehicle"]}}}, "unknown rover"),
        ({"vary": {"gravity": {"low": 1}}}, r"give two bounds, \[low, high\], or 'choice'"),
        ({"vary": {"robot.design.track": ["1 m", "3 kg"]}}, "not units of the same quantity"),
        ({"vary": {"robot.design.track": ["10 cm", 3]}}, "3.* has no unit; add 'cm'"),
        ({"objectives": [{"minimise": "wrok"}]}, "no output is called 'wrok'; did you mean 'work'"),
        ({"objectives": []}, "objectives"),
        ({"objectives": [{"output": "work"}]}, "output"),
        ({"constraints": [{"output": "work"}]}, "needs 'at_least' or 'at_most'"),
        ({"constraints": [{"output": "work", "at_least": 2, "at_most": 1}]}, "must not be above"),
        ({"outputs": [{"name": "work", "of": "enregy"}], "objectives": [{"minimise": "work"}]},
         "no variable 'enregy'"),
        ({"cases": {"a": {"scenario": "x", "outputs": []}}}, "cases"),
        ({"replicas": 3}, "no scenario has a seed"),
        ({"start": [{"robot.design.mass": "20 kg"}]}, "20 kg is not between 10 and 16 kg"),
        ({"optimiser": {"kind": "nsga4"}}, "optimiser.kind"),
        ({"scenario": "vehicle2001/slop"}, "vehicle2001/slope"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(changes, words):
    with pytest.raises(InputError, match=words) as caught:
        marsyard.optimize({**STUDY, **changes})
    assert "\n" not in str(caught.value)


def test_tables_say_how_replicas_make_an_objective():
    sought = [{"minimise": "work"}, {"maximise": "way", "over": "worst"}]
    study = made(OptimizeFile, {**STUDY, "objectives": sought, "replicas": 2}, "study")
    assert objective_labels(study) == ["mean of work", "worst of way"]
    alone = made(OptimizeFile, {**STUDY, "objectives": sought}, "study")
    assert objective_labels(alone) == ["work", "way"]


def test_an_unreachable_scheduler_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("marsyard.campaign.cluster.PATIENCE", 0.5)
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        marsyard.optimize(STUDY, out=tmp_path / "r", scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("campaign", [marsyard.optimize, marsyard.sweep])
def test_no_jobs_at_all_are_refused(campaign):
    with pytest.raises(InputError, match="^jobs = 0: must be at least 1$"):
        campaign("not-read.yaml", jobs=0)


# --- a rover


def test_a_rover_up_a_slope_follows_from_its_weight(tmp_path):
    """On a hard slope the work per horizontal metre is at least m g tan θ, and a lighter rover
    is what the search finds; a candidate's scenario gives its numbers again."""
    study = {
        **STUDY,
        "set": {"run.duration": 0.4},
        "ratios": [{"name": "work per metre", "of": "work", "by": "way"}],
        "outputs": [
            {"name": "work", "of": "energy_motors"},
            {"name": "way", "of": "position_base.x", "take": "range"},
        ],
        "vary": {
            "robot.design.mass": ["10 kg", "16 kg"],
            "robot.design.wheelbase": ["15 cm", "60 cm"],
        },
        "objectives": [{"minimise": "work per metre"}],
        "start": [{"robot.design.wheelbase": "17 cm"}],
        "optimiser": {"population": 6, "evaluations": 12},
    }
    found = marsyard.optimize(study, out=tmp_path / "r", jobs=1)
    assert "would overlap" in found.infeasible[0]
    good = found.data.isel(candidate=found.data.feasible.values == 1)
    least = good.mass.values * 9.81 * np.tan(np.radians(15))
    assert (good.work_per_metre.values > least).all()
    assert np.corrcoef(good.mass, good.work_per_metre)[0, 1] > 0.9
    best = found.front[0]
    assert f"front {best}" in repr(found) and "work per metre" in repr(found)
    assert repr(found).startswith("Optimisation\n  candidates  ")
    assert float(found.data.mass[best]) < float(good.mass.min()) + 0.2
    first, last = (good.work_per_metre.values[good.generation.values == g] for g in (0, 1))
    assert last.mean() < first.mean()
    assert good.work_per_metre.attrs["units"] == "J/m"
    file = tmp_path / "r" / "best" / f"candidate-{best:04d}.yaml"
    again = marsyard.run(file)
    work = float(again.data.energy_motors[-1])
    assert work == found.candidates[best].score.numbers["work"][0]
    page = (tmp_path / "r" / "report.html").read_text()
    assert "would overlap" in page and page.count("<img") >= 2
    assert re.search(rf'<h1 id="answer">[^<]* with {re.escape(found.words(best))}</h1>', page)
    assert yaml.safe_load((tmp_path / "r" / "study.yaml").read_text())["objectives"]
    assert marsyard.open_optimized(tmp_path / "r").identical(found.data)
