"""The mechanical tests of INRIA RT-0448: every scenario passes its checks; trajectories of tests 1
and 3 agree with those of a rerun of the original programs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from marsyard import library
from marsyard.runner import run
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation

TRAJECTORIES = (
    Path(__file__).parents[2].parent / "shared" / "reference" / "exomars-rt0448" / "trajectories"
)
SCENARIOS = [name for name in library.names("scenarios") if name.startswith("rt0448/")]


def test_all_seven_are_there():
    assert {f"rt0448/test-{k}" for k in range(1, 8)} <= set(SCENARIOS)


#: variants that take long and repeat what another scenario shows
LONG = ("rt0448/test-3-text",)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak) if n in LONG else n for n in SCENARIOS]
)
def test_scenario(name):
    result = run(name)
    assert result.stopped is None
    assert result.checks
    failed = [f"{c.name}: {c.computed} (expected {c.expected})" for c in result.checks if not c.ok]
    assert not failed, "; ".join(failed)
    assert int(result.data.unconverged.sum()) == 0
    # what a step leaves is the projection's tolerance
    assert float(result.data.penetration.max()) < 1e-8


def trajectory(name):
    """Table of a rerun with Siconos 4.4 and the original classes."""
    path = TRAJECTORIES / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip("reference data are not beside this checkout")
    with gzip.open(path, "rt") as file:
        return np.genfromtxt(file, delimiter=",", names=True)


@pytest.fixture(scope="module", params=["e00", "e02"])
def rerun(request):
    """Scenario and trajectory of test 1."""
    scenario = "rt0448/test-1" if request.param == "e00" else "rt0448/test-1-restitution"
    return scenario, trajectory(f"test1_{request.param}")


def series(scenario, table, projection):
    """Height, vertical speed and sum of the normal impulses at the times of the table."""
    data = run(scenario, settings={"run.projection": projection}).data
    at = np.round(table["t"] / 0.0005).astype(int)
    return (
        data.position_base.values[at, 2],
        data.velocity_base.values[at, 2],
        data.impulse_normal.sum(("wheel", "surface")).values[at],
    )


def test_trajectory_without_projection(rerun):
    # same scheme, same step, no projection in either: the curves coincide to the digits of the
    # file (9), through all impacts: 209.29 N·s (e = 0); 251.13, 50.32, 9.67 N·s (e = 0.2)
    z, v, impulse = series(*rerun, projection=False)
    table = rerun[1]
    assert np.abs(z - table["q2"]).max() < 5e-9
    assert np.abs(v - table["v2"]).max() < 2e-8
    assert np.abs(impulse - table["R_z"]).max() < 2e-6
    expected = [209.29] if rerun[0] == "rt0448/test-1" else [251.13, 50.32, 9.67]
    assert np.sort(impulse)[::-1][: len(expected)] == pytest.approx(expected, abs=0.01)


def test_trajectory_with_projection(rerun):
    # the rerun keeps what it penetrates in the step of an impact (0.22 mm at 3.24 m/s); here it is
    # projected out, so heights differ by that much, and later, smaller impacts come a step later
    z, v, impulse = series(*rerun, projection=True)
    table = rerun[1]
    assert np.abs(z - table["q2"]).max() < 1e-3
    two = table["t"] < 1.2985  # until the third impact
    assert np.abs(v - table["v2"])[two].max() < 1e-6
    assert np.abs(impulse - table["R_z"])[two].max() < 1e-4
    rest = table["t"] > 1.9
    assert np.abs(v[rest]).max() < 1e-9
    assert np.abs(impulse - table["R_z"])[rest].max() < 1e-9


def test_trajectory_of_test_3():
    # start, coast, brake, reverse with the rerun's step of 5 ms: the rerun loses 1.3 % of its speed
    # while it coasts, which exact rolling does not, and is 12 mm of 2.1 m behind in the end
    table = trajectory("test3_h005")
    data = run("rt0448/test-3", settings={"run.step": 0.005}).data
    at = np.round(table["t"] / 0.05).astype(int)
    behind = data.position_base.values[at, 0] - table["q0"]
    slower = data.velocity_base.values[at, 0] - table["v0"]
    start = table["t"] < 40
    assert np.abs(behind[start]).max() < 5e-5 and np.abs(slower[start]).max() < 1e-5
    assert np.abs(behind).max() == pytest.approx(0.0118, abs=0.0005)
    coasting = (table["t"] > 79) & (table["t"] < 80)
    assert slower[coasting].mean() / 0.0100333 == pytest.approx(0.013, abs=0.001)
    assert np.abs(slower).max() < 3e-4


def test_7_original_does_not_gain_energy_from_its_false_normals():
    """The program's ramp of 45 degrees in place of the step's vertical face: projection along such
    normals would lift the rover for nothing (3.7 J of 23.4 J), more or less of it with the step."""
    ends = []
    for h in (1e-3, 5e-4):
        data = scenario_data("rt0448/test-7-original")
        apply_setting(data, "run.step", h)
        apply_setting(data, "run.record_period", 0.01)
        sim = Simulation(validate(data, "test-7-original"))
        sim.run()
        ends.append(float(sim.qpos[0]))
        # what was climbed and lost came from the motors and the fall
        ds = sim.dataset()
        total = (ds.energy_kinetic + ds.energy_potential - ds.energy_motors).values
        after = total[ds.time.values > 9.9]
        assert np.diff(after).max() < 2e-3
    assert ends[0] == pytest.approx(ends[1], abs=0.01)


def test_toe_of_the_rear_wheels_brakes():
    # wheels toed by ±ε slide sideways with all of μ N but what drives them, F = 2 ε √((μN)² − T²)
    toe, mu, torque, radius, weight = 0.0038, 0.8, 0.87072, 0.129, 64.6 * 3.69
    along, normal = weight * np.sin(np.radians(10)), weight * np.cos(np.radians(10))
    thrust = torque / radius
    # load of the rear wheels: the thrust of two wheels tilts each front bogie about its pivot,
    # which moves the centre of its loads forward
    rear, front, com, height, pivot = -0.6375, 0.4025, 0.005, 0.5288, 0.345
    load = 68.7
    for _ in range(20):
        ahead = front + 4 * thrust * pivot / (normal - load)
        load = (normal * (ahead - com) - along * height) / (ahead - rear)
    brake = 2 * toe * np.sqrt((mu * load / 2) ** 2 - thrust**2)
    expected = (along - 6 * thrust - brake) / 64.9 * np.cos(np.radians(10)) * 30
    found = {}
    for scenario in ("rt0448/test-4-printed", "rt0448/test-4-original-toe"):
        data = run(scenario, settings={"run.duration": 30}).data
        found[scenario] = float(data.velocity_base.sel(axis="x")[-1])
    assert found["rt0448/test-4-original-toe"] == pytest.approx(expected, rel=0.01)
    assert found["rt0448/test-4-printed"] - expected > 0.1
