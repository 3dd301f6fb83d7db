"""A short run on soil from the command line and from Python: all its files, and what they say."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import marsyard
from marsyard.cli import app
from marsyard.results import load_ground, open_results, open_scene
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soil") / "run"
    return marsyard.run("soil/wheel", duration=2.5, out=folder, study=False)


def test_the_folder_holds_the_ground(result):
    names = {p.name for p in result.folder.iterdir()}
    assert {"results.nc", "ground.nc", "scenario.yaml", "model.mjb", "report.html"} <= names
    kept = load_ground(result.folder)
    box = kept.bounds()
    np.testing.assert_array_equal(
        kept.window(*box).change.values, result.ground.window(*box).change.values
    )
    # the terrain is level: rebuilt from scenario.yaml it gives heights beyond the tiles
    assert float(np.abs(kept.window(50, 51, 50, 51).height).max()) == 0.0


def test_the_ground_is_what_the_simulation_has():
    simulation = Simulation(load_scenario("soil/wheel", {"run.duration": 1.5, "study": None}))
    simulation.run()
    grid = simulation.world.soil.grid
    part = marsyard.results.ground_of(simulation).window(-0.3, 0.4, -0.3, 0.3)
    x, y = np.meshgrid(part.x.values, part.y.values)
    np.testing.assert_allclose(part.change.values, grid.change(x, y), atol=1e-8)
    np.testing.assert_allclose(part.height.values, grid.height(x, y), atol=1e-8)
    assert part.change.values.min() < -0.005


def test_soil_is_neither_lost_nor_made(result):
    below, above = result.ground.volumes()
    waiting = 0.1 * below
    assert below > 1e-4 and abs(below - above) < waiting


def test_stresses_carry_the_load(result):
    """∫ (p cos + τ sin) dA over the nodes of the last step is the force upwards."""
    data = result.ground.data
    p = data.stress_position.values
    axle = data.body_axle.values[0]
    radius = np.hypot(p[:, 0], p[:, 2])
    up, ahead = -p[:, 2] / radius, p[:, 0] / radius
    assert abs(axle[1]) == pytest.approx(1.0)
    force = np.sum(data.stress_area * (data.stress_normal * up + data.stress_along * ahead))
    assert float(force) == pytest.approx(float(result.data.wheel_load[-1, 0]), rel=0.1)


def test_figures_and_report_show_the_soil(result):
    figures = {p.stem.split("-", 1)[1] for p in (result.folder / "figures").iterdir()}
    wanted = {"rut-map", "cross-section", "stress-under-the-wheels", "footprints", "energy-on-soil"}
    assert wanted <= figures
    text = result.report.read_text(encoding="utf-8")
    for said in ("<summary><h2>Soil</h2>", "soil_wheel_default", "deepest rut", "Janosi-Hanamoto"):
        assert said in text, said


def test_the_replay_has_the_ground(result):
    scene = open_scene(result.folder)
    assert scene.soil is not None and scene.soil.around is not None
    assert max(len(b.moments) for b in scene.soil.blocks) > 20
    # tracks lie on the surface, not below it
    assert np.nanmin(scene.track[..., 2] - scene.contact_point[..., 2]) >= 0


def test_the_command_line_prints_the_wheels(tmp_path):
    out = tmp_path / "run"
    settings = ["-s", "run.duration=0.5", "-s", "report.ground.show=[]"]
    said = CliRunner().invoke(
        app, ["run", "soil/wheel", "--no-study", "-q", "-o", str(out), *settings]
    )
    assert said.exit_code == 0, said.output
    assert "Wheels on soil" in said.output and "sinkage" in said.output
    assert open_results(out).sizes["wheel"] == 1
    assert not list((out / "figures").glob("*rut-map*"))


def test_a_run_that_never_touches_the_soil(tmp_path):
    result = marsyard.run(
        "soil/wheel",
        settings={"control": [], "robot.joints": {"lift": 0.5}},
        duration=0.06,
        study=False,
        out=tmp_path / "r",
    )
    assert result.report.exists()
    assert load_ground(tmp_path / "r").extremes() == (0.0, 0.0)
