"""`marsyard import` as a user meets it: table, folder, exit codes, and the robot in scenarios."""

from __future__ import annotations

import os
import subprocess
import sys

import foreign_robots as foreign
import numpy as np
import pytest
import robot_files as files
import xarray as xr
from command import MAIN, ONE_FIGURE, run_here

FLAT = """
robot: {name: my_rover/robot.yaml, settle: true}
control:
  - {joints: drives, speed: 0.5}
  - {joints: steering, speed: 0}
run: {duration: 1, step: 1 ms}
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("import")
    (folder / "ros").mkdir()
    path = files.four_wheeler(folder / "ros")
    done = run_here(["import", path, "--exit", "height:1.0"], folder)
    return done, folder


def everything_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_what_was_found_is_said(imported):
    done, folder = imported
    assert done.returncode == 0, done.stderr
    assert "4 wheels" in done.stdout
    assert "13.4 kg" in done.stdout
    for name in ("front_left_drive", "front_right_steer", "mast_pan", "base_link"):
        assert name in done.stdout
    assert "not a terminal" in done.stdout
    assert "marsyard run exomars/rough --set robot.name=./my_rover/robot.yaml" in done.stdout
    names = [n for n in everything_in(folder) if n.startswith("my_rover")]
    assert names == ["my_rover", "my_rover/meshes", "my_rover/meshes/wheel.stl",
                     "my_rover/robot.xml", "my_rover/robot.yaml"]  # fmt: skip


def test_it_can_be_shown(imported):
    folder = imported[1]
    for name in ("my_rover", "./my_rover/robot.yaml"):
        done = run_here(["show", name], folder)
        assert done.returncode == 0, done.stderr
        assert "wheel FL   cylinder, radius 0.1 m" in done.stdout
        assert "role steering  front_left_steer, front_right_steer" in done.stdout
    bare = run_here(["show", "ros/my_rover/urdf/my_rover.urdf"], folder)
    assert "front_left_drive" in bare.stdout
    assert "marsyard import" in bare.stdout


def test_it_drives_on_hard_ground(imported):
    folder = imported[1]
    (folder / "flat.yaml").write_text(FLAT)
    done = run_here(["run", "flat.yaml", "-q", "--out", "hard", "-s", ONE_FIGURE], folder)
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(folder / "hard" / "results.nc", engine="h5netcdf") as data:
        way = data.position_base[-1].values - data.position_base[0].values
        # rolling without slip after a start in one step: radius · rate · time
        assert way[0] == pytest.approx(files.RADIUS * 0.5 * 1.0, rel=0.02)
        assert np.abs(way[1:]) == pytest.approx([0, 0], abs=1e-3)


@pytest.mark.parametrize(
    ("make", "name", "speed", "height"),
    [
        # a belt runs at the sprocket's rim, 0.08 m; the hull stands on the road wheels
        (files.tracked, "tank", 0.08 * 0.5, 0.04 + 0.06),
        # legs held straight: 0.12 + 0.18 + 0.1 m and the foot's radius
        (files.dog, "dog", 0.0, 0.42),
    ],
)
def test_tracks_drive_and_legs_stand(tmp_path, make, name, speed, height):
    assert run_here(["import", make(tmp_path)], tmp_path).returncode == 0
    law = "{joints: legs, speed: 0}" if name == "dog" else "{joints: drives, speed: 0.5}"
    (tmp_path / "flat.yaml").write_text(
        f"robot: {{name: {name}, settle: true}}\ncontrol: [{law}]\n"
        "run: {duration: 1, step: 1 ms}\n"
    )
    done = run_here(["run", "flat.yaml", "-q", "--out", "out", "-s", ONE_FIGURE], tmp_path)
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(tmp_path / "out" / "results.nc", engine="h5netcdf") as data:
        way = data.position_base[-1].values - data.position_base[0].values
        assert way == pytest.approx([speed, 0, 0], abs=1e-3)
        assert float(data.position_base[-1, 2]) == pytest.approx(height, abs=1e-3)


@pytest.mark.soak
def test_a_dog_walks_from_its_stance(tmp_path):
    """Feet below the hips, as the command itself says how; four cycles of 4 cm."""
    stance = "*_thigh_joint=0.4,*_calf_joint=-1.18"
    path = files.dog(tmp_path)
    path.write_text(path.read_text().replace('lower="-1.5"', 'lower="-2.5"'))
    done = run_here(["import", path, "--stance", stance], tmp_path)
    assert done.returncode == 0, done.stderr
    line = next(text for text in done.stdout.splitlines() if text.startswith("walk:"))
    given = line.split("marsyard ")[1].split()
    gait = {"stride": "4cm", "period": "4s", "until.cycles": 4, "step_height": "1cm", "duty": 0.9}
    settings = [f"--set=gait.modes.0.{key}={value}" for key, value in gait.items()]
    settings += ["--set=report.checks=[]", "--set=report.figures=[]"]
    ran = run_here([*given, *settings, "-q", "--out", "out"], tmp_path)
    assert ran.returncode == 0, ran.stderr
    with xr.open_dataset(tmp_path / "out" / "results.nc", engine="h5netcdf") as data:
        assert float(data.position_base[-1, 0]) == pytest.approx(0.16, abs=0.01)
        # upright all the way: w of the attitude is the cosine of half the tilt
        assert float(data.quaternion_base.sel(quat="w").min()) > np.cos(0.03 / 2)


@pytest.mark.parametrize("scenario", ["exomars/rough", "eldorado2/rough"])
def test_it_drives_on_soil_and_with_a_wheel_model(imported, scenario):
    folder = imported[1]
    done = run_here(["run", scenario, "-q", "--no-study", "--out", "soft",
                     "--set", "robot.name=my_rover/robot.yaml", "--set", "run.duration='0.2 s'",
                     "--set", ONE_FIGURE], folder)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    with xr.open_dataset(folder / "soft" / "results.nc", engine="h5netcdf") as data:
        assert data.sizes["wheel"] == 4
        assert float(data.wheel_load[-1].sum()) > 10


def test_a_wheel_model_runs_without_a_word_about_the_tread(imported):
    folder = imported[1]
    path = folder / "ros" / "my_rover" / "urdf" / "my_rover.urdf"
    assert run_here(["import", path, "--out", "plain"], folder).returncode == 0
    assert "surface: {material: rough_metal}" in (folder / "plain" / "robot.yaml").read_text()
    done = run_here(["run", "eldorado2/rough", "-q", "--no-study", "--out", "none",
                     "--set", "robot.name=plain", "--set", "run.duration=0.1"],
                    folder)  # fmt: skip
    assert done.returncode == 0, done.stderr


WRONG = (
    ["missing.urdf"],
    ["ros"],
    ["bad.urdf"],
    ["good.urdf", "--wheels", "tyre_*"],
    ["good.urdf", "--wheel-radius", "5 kg"],
    ["good.urdf", "--wheel-radius", "-1"],
    ["good.urdf", "--wheel-shape", "cube"],
    ["good.urdf", "--forward", "north"],
    ["good.urdf", "--base", "mast"],
    ["good.urdf", "--exit", "height:9"],
    ["good.urdf", "--collisions", "hull"],
    ["good.urdf", "--meshes", "nowhere"],
    ["good.urdf", "--name", "a/b"],
    ["good.urdf", "--out", "good.urdf"],
    ["good.urdf", "--out", "ros"],
    ["good.urdf", "--out", "ros", "--force"],
)


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_input_is_one_sentence_and_writes_nothing(tmp_path, arguments):
    files.dog(tmp_path).rename(tmp_path / "good.urdf")
    (tmp_path / "bad.urdf").write_text("<robot>\n<link/>\n</robot>")
    (tmp_path / "ros").mkdir()
    (tmp_path / "ros" / "thesis.txt").write_text("")
    before = everything_in(tmp_path)
    done = run_here(["import", *arguments], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert everything_in(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("answers", "wheels"),
    [("n\n", None), ("\n", 4), ("edit\nrear_*_drive\n\n\n\n\n\n\n\ny\n", 2)],
)
def test_at_a_terminal_it_asks(tmp_path, answers, wheels):
    import pty

    path = files.four_wheeler(tmp_path)
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "import", str(path), "--out", "out"], cwd=tmp_path,
        stdin=theirs, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert "right? [Y/n/edit]" in done.stdout
    assert (tmp_path / "out").exists() == (wheels is not None)
    if wheels is not None:
        text = (tmp_path / "out" / "robot.yaml").read_text()
        assert text.count("shape: cylinder") == wheels


def test_an_inertia_of_no_body_is_refused_or_repaired(tmp_path):
    path = foreign.rigid_rover(tmp_path)
    refused = run_here(["import", path], tmp_path)
    assert refused.returncode == 2
    assert "is physically impossible" in refused.stderr
    assert "--repair-inertia" in refused.stderr
    assert not (tmp_path / "rigid_rover").exists()
    done = run_here(["import", path, "--repair-inertia"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "repaired to 0.0253, 0.0253, 0.05 kg·m²" in done.stdout
    assert "repaired to" in (tmp_path / "rigid_rover" / "robot.yaml").read_text()
