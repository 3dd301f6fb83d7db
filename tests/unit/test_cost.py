"""The estimate of what a run costs, before anything is built."""

from __future__ import annotations

import time

import pytest

import marsyard
from marsyard import Simulation, library, load_scenario
from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import cost


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"run.duration": 1e6, "run.step": 1e-6}, r"1e\+12 steps of 1e-06 s .* about 197 days"),
        ({"run.duration": 1e6, "run.step": 1e-4}, "1e\\+10 steps .* about 1.97 days"),
        ({"run.duration": 1e300}, "run: duration = 1e\\+300 s is more than 1e\\+12 steps"),
        ({"run.duration": 1, "run.step": 1e-300}, "more than 1e\\+12 steps"),
        ({"run.control_period": 1e300}, "more than 1e\\+12 times step"),
        ({"run.record_period": 1e300}, "more than 1e\\+12 times control_period"),
    ],
)  # fmt: skip
def test_runs_without_end_are_refused_at_once(settings, said, tmp_path):
    began = time.process_time()
    with pytest.raises(InputError, match=said):
        marsyard.run("rt0448/test-1", settings=settings, out=tmp_path / "run")
    assert time.process_time() - began < 5.0
    assert not (tmp_path / "run").exists()


def test_a_long_run_can_be_confirmed():
    long = load_scenario("rt0448/test-1", {"run.duration": 1e6, "run.step": 1e-6})
    with pytest.raises(InputError, match=r"confirm it with --yes \(yes=True in Python\)"):
        cost.check_cost(long)
    told: list[str] = []
    assert cost.check_cost(long, yes=True, say=told.append).steps == 10**12
    assert "197 days" in told[0] and "GB of memory" in told[1]
    with pytest.raises(InputError, match="would take about"):
        Simulation(load_scenario("rt0448/test-1", {"run.duration": 2e7})).run()


def test_records_of_twenty_minutes_every_millisecond_are_told(monkeypatch):
    settings = {"run.duration": 1200, "run.record_period": "1 ms"}
    scenario = load_scenario("exomars/drawbar-pull", settings)
    monkeypatch.setattr(cost, "machine_memory", lambda: 16e9)
    with pytest.raises(InputError, match=r"run.record_period: 1.2e\+06 records of \d+ bytes need"):
        cost.check_cost(scenario)
    monkeypatch.setattr(cost, "machine_memory", lambda: 200e9)
    told: list[str] = []
    found = cost.check_cost(scenario, say=told.append)
    assert any("GB of memory" in text for text in told)
    assert found.records * found.record_bytes == pytest.approx(6.6e9, rel=0.1)


@pytest.mark.parametrize(
    "name", ["rt0448/test-1", "exomars/drawbar-pull", "roburoc/stairs", "walker/sand", "wheel/pull"]
)
def test_the_size_of_a_record_is_estimated(name):
    simulation = Simulation(load_scenario(name))
    true = sum(array.nbytes for array in simulation._new_records(1))
    assert cost._record_bytes(simulation.scenario, None) == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize(
    "name, settings, field",
    [
        ("soil/pile", {"ground.0.spacing": 1e-6}, "ground.0.spacing"),
        ("soil/wheel", {"ground.0.spacing": 1e-7}, "ground.0.spacing"),
        ("soil/pile", {"ground.0.heaps.0.radius": 1e4}, "ground.0.spacing"),
        ("compliant/hold", {"interaction.compliant.element_size": 1e-6},
         "interaction.compliant.element_size"),
    ],
)  # fmt: skip
def test_more_nodes_than_memory_are_refused_at_once(name, settings, field):
    began = time.process_time()
    with pytest.raises(InputError, match=rf"{field}: .* nodes would need about .* GB of memory"):
        Simulation(load_scenario(name, settings))
    assert time.process_time() - began < 5.0


def test_no_scenario_of_the_library_needs_to_be_confirmed():
    for name in library.names("scenarios"):
        found = cost.check_cost(load_scenario(name))
        assert found.seconds < cost.LONGEST / 10, name


@pytest.mark.parametrize(
    "one, six, settings",
    [
        ("wheel/pull", "exomars/rough", {"interaction.wheel": None}),
        ("compliant/shear", "compliant/hold", {}),
    ],
)
def test_the_time_of_a_step_grows_with_the_bodies_that_touch(one, six, settings):
    def least(name, settings):
        return cost._step_time(load_scenario(name, settings))

    # one wheel, and six: what remains is the share of a step without contact
    assert 4.0 < least(six, {}) / least(one, settings) < 6.0


def test_wheels_under_a_model_are_counted_with_it():
    def estimate(wheels):
        wheel = {"model": "ding", "wheels": wheels, "exit": {"rule": "height", "value": 0.2}}
        return cost._step_time(load_scenario("exomars/rough", {"interaction.wheel": wheel}))

    none, two, all_of_them = estimate([]), estimate(["FL", "FR"]), estimate(None)
    assert none == cost._step_time(load_scenario("exomars/rough"))
    assert none - two == pytest.approx((none - all_of_them) / 3)
    assert all_of_them < two < none


def test_a_chain_takes_time_by_its_length(tmp_path):
    def estimate(count):
        link = '<body pos="0 0 -0.1"><joint type="hinge"/><geom size="0.01" contype="0"/>'
        chain = f"<mujoco><worldbody>{count * link}{count * '</body>'}</worldbody></mujoco>"
        (tmp_path / "chain.xml").write_text(chain)
        data = {"robot": {"name": str(tmp_path / "chain.xml")}, "run": {"duration": 1.0}}
        return cost._step_time(validate(data, "chain"))

    assert estimate(200) - estimate(100) == pytest.approx(100 * cost._FREEDOM)


@pytest.mark.soak
# but a heap that slides in its first ten steps, which take a hundred times as long as the others
@pytest.mark.parametrize("name", [n for n in library.names("scenarios") if n != "soil/pile"])
def test_the_time_of_a_step_is_estimated_within_a_factor_of_five(name):
    simulation = Simulation(load_scenario(name))
    simulation.step(100)
    # satellites fly freely for a long time before they touch
    run = simulation.scenario.run
    count = round(run.duration / run.step) - 100 if name.startswith("docking/") else 1000
    began = time.process_time()
    simulation.step(count)
    spent = (time.process_time() - began) / count
    assert 0.2 < cost._step_time(simulation.scenario) / spent < 5.0
