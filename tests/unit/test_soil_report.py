"""What report and terminal say of soil."""

from __future__ import annotations

import io

import markupsafe
import numpy as np
import pytest
from rich.console import Console
from synthetic import Slope, dataset, ground_data, soil_dataset

from marsyard import Simulation, load_scenario
from marsyard.results import Ground, ground_of, wheel_means, wheel_table, write_report
from marsyard.results.soil_report import acted_rows, law_rows, soil_section, wheel_rows
from marsyard.scenario.schema import Interaction, Scenario


@pytest.fixture(scope="module")
def ds():
    return soil_dataset()


@pytest.fixture(scope="module")
def ground(ds):
    return Ground(ground_data(ds), terrain=Slope())


def _scenario(soil="krenn2008", **more) -> Scenario:
    return Scenario.model_validate(
        {
            "title": "A drive on soil",
            "robot": {"name": "exomars"},
            "run": {"duration": 12.0},
            "ground": [{"kind": "terrain", "name": "soil", "soil": soil}],
            **more,
        }
    )


def test_means_are_those_of_the_last_third(ds):
    changed = ds.copy(deep=True)
    changed["sinkage"][: 2 * changed.sizes["time"] // 3 - 1] = 9.0
    rows = wheel_means(changed)
    assert [r.wheel for r in rows] == ["FL", "FR", "CL", "CR", "RL", "RR"]
    recorded = {str(w): k for k, w in enumerate(ds["wheel"].values, 1)}
    at = np.array([recorded[r.wheel] for r in rows])
    np.testing.assert_allclose([r.sinkage for r in rows], 0.01 * at, rtol=1e-2)
    np.testing.assert_allclose([r.pull for r in rows], at - 3.5)


def test_runs_without_soil_have_no_table():
    assert wheel_means(dataset()) == [] and wheel_table(dataset()) is None


def test_the_terminal_gets_a_compact_table(ds):
    console = Console(file=io.StringIO(), width=80)
    console.print(wheel_table(ds))
    said = console.file.getvalue().splitlines()
    assert len(said) <= 10 and max(map(len, said)) <= 80
    assert any("RL" in line and "1.0" in line and "10.0" in line for line in said)
    # sums: pull 0, load 6·70 + 21
    assert any(line.split()[:1] == ["all"] and "441.0" in line for line in said)


def test_unknown_values_are_dashes(ds):
    broken = ds.copy(deep=True)
    broken["drawbar_pull"][:] = np.nan
    console = Console(file=io.StringIO(), width=80)
    console.print(wheel_table(broken))
    assert "–" in console.file.getvalue()


def test_the_law_is_told_in_words():
    def rows(**options):
        return law_rows(Interaction.model_validate({"soil": options}))

    original = rows(pressure="bekker", shear="coulomb", unloading="none", slip_transport=False)
    assert "original form" in original[0][1]
    assert "Janosi-Hanamoto shear, elastic unloading, slip sinkage" in rows()[0][1]
    assert "without berms" in dict(rows(flow=False))["flow of displaced soil"]


def test_numbers_come_with_their_provenance(ds, ground):
    page = soil_section(ds, _scenario({"name": "krenn2008", "cohesion": "500 Pa"}), ground)
    assert "Krenn, Hirzinger 2008, Fig. 17" in page and "published" in page and "assumed" in page
    row = next(r for r in page.split("<tr>") if "cohesion c" in r)
    assert "500 Pa" in row and "set in the scenario" in row
    assert "24.8°" in page


def test_numbers_at_another_gravity_are_those_that_were_used(ds, ground):
    ground_of_terrain = {"kind": "terrain", "soil": "dry_sand", "gravity_scaling": "reece"}
    page = soil_section(ds, _scenario(ground=[ground_of_terrain], gravity=4.905), ground)
    assert "Numbers measured at 9.81 m/s²." in page
    row = next(r for r in page.split("<tr>") if "scaled by gravity" in r)
    assert "k_φ" in row and "at 9.81 m/s²" in row
    assert "7.6422" in row and "1.5284" in row  # half of it
    assert "any gravity" in soil_section(ds, _scenario("rock"), ground)


def test_ruts_and_volumes_are_told(ds, ground, tmp_path):
    path = write_report(tmp_path, ds, _scenario(), [], [], {}, ground)
    text = path.read_text(encoding="utf-8")
    for said in ("deepest rut", "30 mm", "highest berm", "nodes under a wheel", ">15<", "12 L"):
        assert said in text, said


def test_hard_ground_has_no_section_on_soil(tmp_path):
    scenario = Scenario.model_validate(
        {"title": "x", "robot": {"name": "exomars"}, "run": {"duration": 1.0}}
    )
    text = write_report(tmp_path, dataset(), scenario, [], []).read_text(encoding="utf-8")
    assert "<h2>Soil</h2>" not in text


def test_a_run_that_stopped_at_once_still_has_a_section(ds):
    page = soil_section(ds.isel(time=slice(0, 1)), _scenario(), None)
    assert "Wheels" in page and "grid spacing" in page


def test_all_laws_that_share_a_rover_are_told_with_their_wheels():
    wheel = {"model": "ding", "wheels": ["FL", "FR"], "exit": {"rule": "height", "value": 0.2}}
    simulation = Simulation(load_scenario("exomars/drawbar-pull", {"interaction.wheel": wheel}))
    simulation.step(1)
    ground = ground_of(simulation)
    told = dict(acted_rows(ground))
    under = {name: law for law, names in told.items() for name in names.split(", ")}
    assert set(under) >= {"FL", "FR", "CL", "CR", "RL", "RR"}
    assert len({under[name] for name in ("FL", "FR")}) == 1 and "ding" in under["FL"]
    assert len({under[name] for name in ("CL", "CR", "RL", "RR")}) == 1
    assert under["RL"] != under["FL"]
    page = str(soil_section(simulation.dataset(), simulation.scenario, ground))
    for law, names in told.items():
        assert f"{law}</td><td>{markupsafe.escape(names)}" in page
    for said in ("Ding&#39;s closed form", "height:0.2", "damping ratio", "Bekker"):
        assert said in page, said


def test_a_wheel_model_is_told_with_all_its_options():
    wheel = {"model": "rigid_slip", "coefficients": {"friction": 0.5}, "rut": False}
    rows = dict(wheel_rows(Interaction.model_validate({"wheel": wheel}).wheel))
    assert rows["wheels"] == "all" and rows["rut"] == "no"
    assert rows["coefficients"] == "friction 0.5" and rows["exit"] == "each wheel's own"
