"""Runs repeated with half the grid and half the step, and what is said of it."""

import math

import pytest

import marsyard
from marsyard.convergence import (
    Convergence,
    Moved,
    convergence_section,
    estimate_time,
    refinements,
)
from marsyard.errors import InputError
from marsyard.scenario import load_scenario
from marsyard.scenario.schema import MOST_STEPS
from marsyard.simulation import Simulation

RIG = {"run.duration": 2.0}
#: as many steps as a run may have
LONGEST = {"run.duration": MOST_STEPS * 0.0005, "run.record_period": MOST_STEPS * 5e-7}


@pytest.fixture(scope="module")
def rig():
    """A wheel in a rig that stands for a second and rolls for another."""
    return marsyard.run("soil/wheel", settings=RIG, study=False, check_convergence=True)


def test_grid_and_step_are_halved_each_apart():
    scenario = load_scenario("exomars/drawbar-pull")
    grid, step = refinements(scenario)
    assert (grid.name, step.name) == ("half the spacing", "half the step")
    assert grid.scenario.ground[0].spacing == scenario.ground[0].spacing / 2
    assert grid.scenario.run == scenario.run
    assert step.scenario.run.step == scenario.run.step / 2
    assert step.scenario.ground == scenario.ground
    # controllers and records stay
    assert step.scenario.run.control_period == scenario.run.control_period
    assert step.scenario.run.record_period == scenario.run.record_period
    assert [each.name for each in refinements(load_scenario("rt0448/test-1"))] == ["half the step"]
    names = [each.name for each in refinements(load_scenario("compliant/hold"))]
    assert names == ["half the size of elements", "half the step"]


def test_changes_are_those_of_runs_with_half_of_each(rig):
    found = rig.convergence
    assert found.halved == ("half the spacing", "half the step")
    numbers = {n.name: n for n in found.numbers}
    for k, settings in enumerate(({"ground.0.spacing": 0.005}, {"run.step": 0.0005})):
        again = marsyard.run(
            "soil/wheel", settings={**RIG, **settings, "run.control_period": 0.001}, study=False
        )
        late = again.data.isel(time=again.data.time >= 1.0)
        for name, series in (
            ("mean drawbar pull", late.drawbar_pull), ("mean sinkage", late.sinkage)
        ):  # fmt: skip
            assert numbers[name].refined[k] == pytest.approx(float(series.mean()), rel=1e-9), name
    pull = numbers["mean drawbar pull"]
    assert pull.moved == sum(abs(other - pull.value) for other in pull.refined)
    assert pull.moved > 0


def test_the_run_itself_is_not_changed(rig):
    alone = marsyard.run("soil/wheel", settings=RIG, study=False)
    assert alone.convergence is None
    assert (alone.data.sinkage.values == rig.data.sinkage.values).all()


def test_free_fall_moves_as_the_scheme_says():
    # z = z₀ − ½ g t² by the θ-scheme with θ = ½ is exact in every step
    settings = {"run.duration": 0.5}
    found = marsyard.run("rt0448/test-1", settings=settings, check_convergence=True).convergence
    height = next(n for n in found.numbers if n.name == "final height of the base")
    assert height.moved < 1e-12
    # with θ = 1 the velocity is that of the step's end: z is ½ g t h too low, so that half the step
    # gives ½ g t h/2 back
    settings |= {"run.theta": 1.0}
    found = marsyard.run("rt0448/test-1", settings=settings, check_convergence=True).convergence
    height = next(n for n in found.numbers if n.name == "final height of the base")
    assert height.changes[0] == pytest.approx(0.5 * 3.69 * 0.5 * 0.0005 / 2, rel=1e-6)


def moved(changes, allowed=1.0, checked=True):
    return Moved("way", "m", 10.0, tuple(10.0 + c for c in changes), allowed, checked)


def test_the_verdict_is_that_of_the_checks():
    halved = ("half the spacing", "half the step")
    none = (None, None)
    good, bad = moved((0.25, -0.5)), moved((0.75, -0.5))
    assert good.share == 0.75 and good.converged and not bad.converged
    loose = moved((3.0, 0.0), 0.5, checked=False)
    assert Convergence(halved, (good, loose), none).converged
    assert not Convergence(halved, (good, bad), none).converged
    assert not Convergence(halved, (loose,), none).converged
    assert "75 % of its tolerance" in str(Convergence(halved, (good,), none))
    said = str(Convergence(halved, (good, bad, loose), none))
    assert "not converged: 1 of 2 checks moves by more than their tolerance" in said
    assert "1.2 times" in said and "30 %" in said


def test_a_refined_run_that_stops_is_not_converged():
    stopped = Moved("way", "m", 10.0, (None, 10.0), 1.0, True)
    assert stopped.moved == math.inf and not stopped.converged
    found = Convergence(
        ("half the spacing", "half the step"), (stopped,), ("step 3 diverged", None)
    )
    assert not found.converged
    assert "with half the spacing the run stops: step 3 diverged" in str(found)
    assert "not computed" in convergence_section(found)


def test_the_cost_of_refined_runs_is_estimated():
    scenario = load_scenario("exomars/drawbar-pull")
    alone = Simulation(scenario).scenario
    # half the step: twice; half of 1 cm: four times a step on soil
    assert 4 * 60 < estimate_time(alone, wall=60.0) < 6 * 60
    assert estimate_time(load_scenario("rt0448/test-1"), wall=2.0) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("soil/wheel", {}, "a study consists of many runs"),
        ("rt0448/test-1", {"control": lambda state: None}, "may keep a state"),
        ("rt0448/test-1", {"settings": LONGEST, "yes": True}, "run.step: cannot be halved: dur"),
    ],
)
def test_what_cannot_be_repeated_is_refused_before_it_runs(name, given, said, tmp_path):
    with pytest.raises(InputError, match=said):
        marsyard.run(name, check_convergence=True, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_the_report_says_how_converged_a_run_is(tmp_path):
    settings = {"run.duration": 1.0}
    run = marsyard.run(
        "rt0448/test-4", settings=settings, check_convergence=True, out=tmp_path / "run"
    )
    page = run.report.read_text(encoding="utf-8")
    assert "<h2>Convergence</h2>" in page and 'id="convergence"' in page
    assert "This run is converged: none of" in page
    other = marsyard.run("rt0448/test-4", settings=settings, out=tmp_path / "other")
    assert "not checked (--check-convergence)" in other.report.read_text()
    assert "<h2>Convergence</h2>" not in other.report.read_text(encoding="utf-8")
