"""A run folder alone reproduces the run: on another place, with the library and all files that the
scenario was written with changed or gone, the same bits come out."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
import xarray as xr
import yaml
from command import ONE_FIGURE, run_here
from robot_files import four_wheeler

import marsyard
from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.scenario import load_scenario, scenario_data, validate
from marsyard.scenario.packing import write_scenario
from marsyard.simulation import Simulation

#: files opened while somebody listens
_opened: list[str] = []
_listening: list[bool] = []
sys.addaudithook(
    lambda event, about: (
        _opened.append(str(about[0])) if event == "open" and any(_listening) else None
    )
)


@pytest.fixture
def opened():
    """Paths of files that are opened from now on."""
    _opened.clear()
    _listening.append(True)
    yield _opened
    _listening.clear()


@pytest.fixture
def other_library(tmp_path, monkeypatch):
    """Call it, and soils, grounds and rovers of the library are others from then on."""

    def change():
        folder = tmp_path / "library"
        shutil.copytree(library.FOLDER, folder, ignore=shutil.ignore_patterns("*.py*"))
        for file in folder.glob("soils/*.yaml"):
            text = re.sub(r"(friction_angle: {value: )[\d.]+", r"\g<1>0.05", file.read_text())
            file.write_text(re.sub(r"(k_phi: {value: )", r"\g<1>3", text))
        for file in folder.glob("grounds/*.yaml"):
            file.write_text("layers: [{kind: plane, slope: 30 deg}]\n")
        for file in folder.glob("rovers/*/robot.xml"):
            file.write_text(re.sub(r'mass="', 'mass="1', file.read_text()))
        monkeypatch.setattr(library, "FOLDER", folder)
        library._entries.cache_clear()

    yield change
    monkeypatch.undo()
    library._entries.cache_clear()


def final_state(scenario, steps=60) -> str:
    simulation = Simulation(scenario)
    simulation.step(steps)
    found = simulation.state().hash()
    simulation.close()
    return found


def moved(scenario, tmp_path: Path) -> Path:
    """A folder with the scenario, written in one place and moved to another."""
    (tmp_path / "here").mkdir()
    write_scenario(scenario, tmp_path / "here" / "scenario.yaml")
    (tmp_path / "there").mkdir()
    return Path(shutil.move(tmp_path / "here", tmp_path / "there" / "run"))


def given(folder: Path, data: dict) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


RUN = {"duration": 0.2, "step": "1 ms"}
SAND = {"kind": "terrain", "soil": "dry_sand", "spacing": "2 cm"}
ROVER = {"name": "sojourner", "settle": True}


def rig(**parts) -> dict:
    return {"robot": ROVER, "gravity": 3.7, "run": RUN, "ground": [SAND], **parts}


# --- inputs of every kind; each writes its files into a folder and gives the scenario's data


def library_names(folder):
    return rig(ground=[{**SAND, "terrain": "fractal_rough"}])


def changed_soil(folder):
    return rig(ground=[{**SAND, "soil": {"name": "dry_sand", "cohesion": "2 kPa"}}])


def soil_file(folder):
    text = library.path_of("soils", "dry_sand").read_text()
    (folder / "mine.yaml").write_text(text.replace("title:", "title: of mine,"))
    (folder / "patch.yaml").write_text(text)
    place = {"kind": "circle", "centre": [0, 0], "radius": 0.2, "soil": "patch.yaml"}
    return rig(ground=[{**SAND, "soil": "mine.yaml", "terrain": {"places": [place]}}])


def own_soils(folder):
    place = {"kind": "circle", "centre": [0, 0], "radius": 0.2, "soil": "soft"}
    rocks = {"kind": "rocks", "coverage": 0.05, "area": [[-2, 2], [-2, 2]], "largest": 0.3}
    own = {"soft": {"name": "krenn2008", "k_phi": 40000}}
    terrain = {"layers": [rocks], "places": [place], "soil": "dry_sand", "seed": 3}
    return rig(ground=[{"kind": "terrain", "terrain": terrain, "soils": own}])


def terrain_file(folder):
    random = np.random.default_rng(1)
    (folder / "maps").mkdir()
    np.save(folder / "maps" / "heights.npy", 0.02 * random.random((60, 60)))
    np.save(folder / "maps" / "kinds.npy", random.integers(0, 2, (30, 30)))
    grid = {"kind": "file", "file": "maps/heights.npy", "spacing": 0.1, "origin": [3, 3]}
    where = {"file": "maps/kinds.npy", "spacing": 0.2, "legend": {0: "krenn2008", 1: None}}
    terrain = {"layers": [grid], "soil": "dry_sand", "soil_map": {**where, "origin": [3, 3]}}
    (folder / "field.yaml").write_text(yaml.safe_dump(terrain))
    return rig(ground=[{"kind": "terrain", "terrain": "field.yaml"}])


def elevation_map(folder):
    rasterio = pytest.importorskip("rasterio")
    heights = (0.02 * np.random.default_rng(2).random((40, 40))).astype(np.float32)
    shape = {"width": 40, "height": 40, "count": 1, "dtype": "float32", "driver": "GTiff"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(folder / "map.tif", "w", **shape) as file:
            file.write(heights, 1)
    # spacing and origin are in the file beside it
    (folder / "map.tfw").write_text("0.1\n0\n0\n-0.1\n-2\n2\n")
    layer = {"kind": "file", "file": "map.tif", "origin": "map"}
    return rig(ground=[{**SAND, "terrain": {"layers": [layer]}}])


def mesh_ground(folder):
    trimesh.creation.box((6, 6, 1)).apply_translation((0, 0, -0.5)).export(folder / "slab.stl")
    return rig(ground=[{"kind": "mesh", "file": "slab.stl"}])


def urdf_package(folder):
    model = four_wheeler(folder)
    return rig(
        robot={"name": str(model.relative_to(folder)), "position": [0, 0, 0.3]},
        ground=[{"kind": "plane"}], interaction={"law": "mujoco"},
        run={**RUN, "integrator": "semi_implicit"},
    )  # fmt: skip


def mjcf_with_parts(folder):
    """A model of several files, with meshes beside its folder."""
    home = folder / "robots" / "sled"
    home.mkdir(parents=True)
    (folder / "robots" / "meshes").mkdir()
    trimesh.creation.icosphere(1, 0.2).export(folder / "robots" / "meshes" / "hull.stl")
    (home / "assets.xml").write_text(
        '<mujoco><asset><mesh name="hull" file="hull.stl"/></asset></mujoco>'
    )
    (home / "robot.xml").write_text(
        '<mujoco><compiler meshdir="../meshes"/><include file="assets.xml"/><worldbody>'
        '<body name="hull" pos="0 0 0.5"><freejoint/><geom type="mesh" mesh="hull" mass="3"/>'
        "</body></worldbody></mujoco>"
    )
    (home / "robot.yaml").write_text("model: robot.xml\nbase: hull\n")
    return rig(robot={"name": "robots/sled"}, ground=[{"kind": "plane"}])


def gait(folder):
    return scenario_data("walker/flat")


def drive(folder):
    data = scenario_data("control/path")
    return {k: v for k, v in data.items() if k != "study"}


def fmu(folder):
    pytest.importorskip("fmpy")
    from fmu_files import example_fmu

    law = {
        "kind": "fmu", "file": example_fmu("speed_controller", folder).name, "each": "drives",
        "inputs": {"wanted": 0.5, "rate": "rate"}, "outputs": {"torque": "torque"},
    }  # fmt: skip
    return rig(control=[law])


def curve_of_a_soil(folder):
    curve = {"kind": "loose", "soil": "dry_sand"}
    law = {"law": "compliant", "compliant": {"curve": curve}}
    return rig(interaction=law, ground=[{"kind": "plane"}])


@pytest.mark.parametrize(
    "kind",
    [
        library_names, changed_soil, soil_file, own_soils, terrain_file, elevation_map, mesh_ground,
        urdf_package, mjcf_with_parts, gait, drive, fmu, curve_of_a_soil,
    ],
)  # fmt: skip
def test_what_a_scenario_names_is_in_its_folder(kind, tmp_path, other_library):
    source = tmp_path / "source"
    source.mkdir()
    file = given(source, kind(source))
    scenario = load_scenario(file)
    before = final_state(scenario)
    folder = moved(scenario, tmp_path)
    shutil.rmtree(source)
    other_library()
    again = load_scenario(folder)
    assert final_state(again) == before
    # and what it is made of names no other place
    assert str(tmp_path) not in (folder / "scenario.yaml").read_text()
    # a copy of the copy is the same
    shutil.rmtree(tmp_path / "there2", ignore_errors=True)
    (tmp_path / "there2").mkdir()
    write_scenario(again, tmp_path / "there2" / "scenario.yaml")
    assert files_in(tmp_path / "there2" / "inputs") == files_in(folder / "inputs")


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_changed_library_does_change_a_run_by_name(tmp_path, other_library):
    data = library_names(tmp_path)
    before = final_state(validate(data))
    other_library()
    assert final_state(validate(data)) != before


def test_heights_from_python_are_kept_as_they_are(tmp_path):
    heights = 0.03 * np.random.default_rng(5).random((400, 400))
    layer = {"kind": "array", "values": heights, "spacing": 0.02, "origin": [-4, -4]}
    scenario = validate(rig(ground=[{**SAND, "terrain": {"layers": [layer]}}]))
    before = final_state(scenario)
    folder = moved(scenario, tmp_path)
    assert (folder / "scenario.yaml").stat().st_size < 20_000
    assert final_state(load_scenario(folder)) == before


def test_the_command_runs_a_moved_folder(tmp_path, other_library):
    source = tmp_path / "source"
    source.mkdir()
    given(source, terrain_file(source))
    asked = ["--out", "first", "-s", ONE_FIGURE, "-s", "ground.0.soil=krenn2008", "--quiet"]
    assert run_here(["run", "source/scenario.yaml", *asked], tmp_path).returncode == 0
    (tmp_path / "other").mkdir()
    shutil.move(tmp_path / "first", tmp_path / "other" / "moved")
    shutil.rmtree(source)
    other_library()
    done = run_here(["run", "other/moved", "--out", "second", "--quiet"], tmp_path)
    assert done.returncode == 0, done.stderr
    one = xr.load_dataset(tmp_path / "other" / "moved" / "results.nc")
    two = xr.load_dataset(tmp_path / "second" / "results.nc")
    assert one.drop_attrs().identical(two.drop_attrs())
    # run into its own folder: what it reads is replaced only when all is done
    done = run_here(["run", "second", "--out", "second", "--quiet"], tmp_path)
    assert done.returncode == 0, done.stderr
    again = xr.load_dataset(tmp_path / "second" / "results.nc")
    assert again.drop_attrs().identical(two.drop_attrs())


def test_the_soil_that_acted_stands_in_the_folder(tmp_path):
    settings = {"run.duration": 0.1, "ground.0.soil.cohesion": "1 kPa"}
    marsyard.run("soil/wheel", settings=settings, study=False, out=tmp_path / "run")
    data = yaml.safe_load((tmp_path / "run" / "scenario.yaml").read_text())
    soil = data["ground"][0]["soil"]
    assert soil["name"] == "soil_wheel_default" and soil["cohesion"] == "1 kPa"
    published = library.read_yaml(library.path_of("soils", "soil_wheel_default"))
    assert soil["definition"] == published
    assert load_soil(soil).cohesion == 1000.0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "set in the scenario" in page
    assert published["numbers"]["exponent"]["source"] in page


@pytest.mark.parametrize(
    "name", ["exomars/rough", "exomars/rocks-and-sand", "exomars/drawbar-pull", "soil/wheel"]
)
def test_soils_and_grounds_are_read_once(name, tmp_path, opened):
    marsyard.run(name, duration=0.2, study=False, out=tmp_path / "run")
    read = [p for p in opened if re.search(r"library/(soils|grounds|scenarios)/", p)]
    assert read and len(read) == len(set(read)), read


def test_nothing_of_soils_and_grounds_is_read_after_loading(tmp_path, opened):
    scenario = load_scenario("exomars/rough", {"run.duration": 0.2})
    opened.clear()
    marsyard.run(scenario, out=tmp_path / "run")
    assert not [p for p in opened if re.search(r"library/(soils|grounds|scenarios)/", p)]
    assert [p for p in opened if "library/rovers" in p]


def test_members_of_a_study_share_their_files(tmp_path, other_library):
    source = tmp_path / "source"
    source.mkdir()
    study = {
        "vary": "ground.0.soil.cohesion", "values": [0, 500], "keep": "all",
        "outputs": [{"name": "x", "of": "position_base.x", "take": "final"}],
    }  # fmt: skip
    file = given(source, terrain_file(source) | {"study": study, "robot": ROVER})
    found = marsyard.run(file, out=tmp_path / "study", duration=0.02)
    numbers = found.study["x"].values
    members = sorted((tmp_path / "study" / "members").iterdir())
    assert len(members) == 2 and not any((m / "inputs").exists() for m in members)
    assert len(list((tmp_path / "study" / "inputs").iterdir())) == 3
    shutil.move(tmp_path / "study", tmp_path / "moved")
    shutil.rmtree(source)
    other_library()
    again = marsyard.run(tmp_path / "moved", out=tmp_path / "again")
    assert np.array_equal(again.study["x"].values, numbers)
    alone = marsyard.run(tmp_path / "moved" / "members" / members[1].name)
    assert float(alone.data["position_base"].isel(time=-1).sel(axis="x")) == numbers[1]


def test_a_sweep_keeps_its_scenario_and_notices_another_library(tmp_path, other_library):
    study = {
        "scenario": "soil/wheel", "set": {"run.duration": 0.1},
        "vary": {"ground.0.soil.cohesion": {"values": [0, 500]}},
        "outputs": [{"name": "z", "of": "position_base.z", "take": "final"}],
    }  # fmt: skip
    found = marsyard.sweep(study, out=tmp_path / "sweep", jobs=1)
    other_library()
    with pytest.raises(InputError, match=r"'soil/wheel' was changed: ground\.0\.terrain\."):
        marsyard.sweep(study, out=tmp_path / "sweep", jobs=1, resume=True)
    settings = {"ground.0.soil.cohesion": 500}
    alone = marsyard.run(tmp_path / "sweep", settings=settings)
    assert float(alone.data["position_base"].isel(time=-1).sel(axis="z")) == found.data["z"][-1]


# --- what cannot be contained


def test_a_model_that_names_an_absolute_path_is_told(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    data = mjcf_with_parts(source)
    model = source / "robots" / "sled" / "robot.xml"
    model.write_text(model.read_text().replace("../meshes", str(source / "robots" / "meshes")))
    scenario = load_scenario(given(source, data))
    with pytest.warns(UserWarning, match=r"robot\.name: the model names '.*' by an absolute path"):
        moved(scenario, tmp_path)


def test_a_file_that_is_too_large_is_told(tmp_path, monkeypatch):
    source = tmp_path / "source"
    source.mkdir()
    scenario = load_scenario(given(source, mesh_ground(source)))
    monkeypatch.setattr("marsyard.scenario.packing.LARGEST", 600)
    with pytest.warns(UserWarning, match=r"ground\.0\.file: 'slab.stl' has 0\.0 GB, which is too"):
        folder = moved(scenario.model_copy(update={"robot": scenario.robot}), tmp_path)
    assert str(source / "slab.stl") in (folder / "scenario.yaml").read_text()


def test_a_plug_in_that_is_missing_is_told(tmp_path):
    data = rig(controller={"name": "autopilot_of_somebody"})
    scenario = validate(data)
    folder = moved(scenario, tmp_path)
    with pytest.raises(InputError, match="controller: no plug-in provides a controller"):
        Simulation(load_scenario(folder))
