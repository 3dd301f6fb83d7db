"""The command line as a user meets it: a process, its exit code, its words, its files.

Where the process is not what is tested, the command runs in this one: a start takes a second.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from command import ONE_FIGURE, run_aside, run_here


def everything_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*"))


# --- looking around


def test_help_is_quick_and_loads_nothing_heavy(tmp_path):
    code = (
        "import sys; sys.argv = ['marsyard', '--help']\n"
        "from marsyard.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert not e.code\n"
        "heavy = {'numpy', 'numba', 'mujoco', 'xarray', 'scipy', 'matplotlib', 'pydantic', 'viser',"
        " 'trimesh', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for command in ("list", "show", "run", "view", "bench"):
        assert command in done.stdout


def test_version(tmp_path):
    import marsyard as package

    done = run_aside(["--version"], tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, f"marsyard {package.__version__}")


def test_list(tmp_path):
    done = run_aside(["list"], tmp_path)
    assert done.returncode == 0
    assert "rt0448/test-1 " in done.stdout
    assert "exomars_rt0448" in done.stdout
    only = run_here(["list", "rovers"], tmp_path)
    assert "exomars_rt0448" in only.stdout
    assert "rt0448/test-1" not in only.stdout


def test_list_of_laws(tmp_path):
    done = run_here(["list", "laws"], tmp_path)
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert {"scm", "ding", "nonsmooth", "polygonal"} <= lines.keys()
    assert "[interaction.wheel.model]" in lines["ding"]


def test_show(tmp_path):
    done = run_here(["show", "rt0448/test-4"], tmp_path)
    assert done.returncode == 0
    assert "RT-0448" in done.stdout
    assert "friction: 0.8" in done.stdout and "restitution" not in done.stdout
    whole = run_here(["show", "rt0448/test-4", "--all"], tmp_path)
    assert "restitution: 0.0" in whole.stdout
    assert len(whole.stdout.splitlines()) > 3 * len(done.stdout.splitlines())
    rover = run_here(["show", "exomars_rt0448"], tmp_path)
    assert rover.returncode == 0
    assert "64.6 kg" in rover.stdout


# --- running


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    done = run_aside(["run", "rt0448/test-1", "--out", "here", "--figures", "png"], folder)
    return done, folder


def test_run_succeeds(finished):
    done, folder = finished
    assert done.returncode == 0, done.stderr
    assert "times real time" in done.stdout
    assert "report:" in done.stdout
    assert "Traceback" not in done.stderr
    assert everything_in(folder)[0] == "here"
    assert [p.name for p in folder.iterdir()] == ["here"]


def test_run_folder_is_complete(finished):
    folder = finished[1] / "here"
    names = {p.name for p in folder.iterdir()}
    wanted = {"results.nc", "run.json", "scenario.yaml", "model.mjb", "figures", "report.html"}
    assert wanted <= names
    with xr.open_dataset(folder / "results.nc", engine="h5netcdf") as data:
        assert data.sizes["time"] == 4001
        assert float(data.position_base[-1, 2]) == pytest.approx(0.57875, abs=1e-6)
    assert len(list((folder / "figures").glob("*.png"))) >= 4


def test_report_is_self_contained(finished):
    page = (finished[1] / "here" / "report.html").read_text(encoding="utf-8")
    assert "RT-0448 test 1" in page
    # nothing is fetched: no file or address in src, or in href of a stylesheet
    for source in re.findall(r'\bsrc="([^"]*)"', page):
        assert source.startswith("data:")
    assert not re.search(r"<link[^>]+href=\"(?!data:)", page)
    assert not re.search(r"url\((?!['\"]?data:)", page)


def test_run_again_into_the_same_folder(finished):
    done, folder = finished
    again = run_here(["run", "rt0448/test-1", "--out", "here", "--quiet", "--set",
                      "run.duration=0.1", "--set", ONE_FIGURE], folder)  # fmt: skip
    # too short for the impact: checks are not judged, and that is no failure
    assert again.returncode == 0 and again.stdout.count("not judged") > 0
    with xr.open_dataset(folder / "here" / "results.nc", engine="h5netcdf") as data:
        assert float(data.time[-1]) == pytest.approx(0.1)
    assert [p.name for p in folder.iterdir()] == ["here"]


@pytest.mark.soak
def test_scenario_of_a_run_folder_runs(tmp_path):
    # own files beside the scenario, called by a relative name; the run folder finds them again
    (tmp_path / "robot.xml").write_text(ROBOT)
    (tmp_path / "mine.yaml").write_text(
        "robot: {name: robot.xml, position: [0, 0, 1]}\nrun: {duration: 0.2}\n"
    )
    done = run_here(["run", "mine.yaml", "--out", "runs/a"], tmp_path)
    assert done.returncode == 0, done.stderr
    again = run_here(["run", "runs/a/scenario.yaml", "--out", "runs/b"], tmp_path)
    assert again.returncode == 0, again.stderr
    with (
        xr.open_dataset(tmp_path / "runs/a/results.nc", engine="h5netcdf") as a,
        xr.open_dataset(tmp_path / "runs/b/results.nc", engine="h5netcdf") as b,
    ):
        assert (a.coordinates.values == b.coordinates.values).all()


ROBOT = (
    '<mujoco><worldbody><body name="ball"><freejoint name="free"/>'
    '<geom type="sphere" size="0.1" mass="1"/>'
    '<body name="arm"><joint name="arm" axis="0 1 0"/>'
    '<geom type="sphere" size="0.05" pos="0 0 0.3" mass="0.1"/>'
    "</body></body></worldbody></mujoco>"
)


QUESTIONS = """
extends: rt0448/test-1
run: {duration: 0.2}
report:
  checks: []
  figures: [{title: Height, panels: [[position_base.z]]}]
  questions:
    - question: Does it fall?
      measures: [{name: speed, of: velocity_base.z, take: final, unit: mm/s, at_most: -100}]
    - question: Does it fly?
      measures: [{name: speed, of: velocity_base.z, take: final, unit: mm/s, at_least: 0}]
"""


def test_questions_are_answered(tmp_path):
    (tmp_path / "asked.yaml").write_text(QUESTIONS, encoding="utf-8")
    done = run_here(["run", "asked.yaml", "--out", "out", "--quiet"], tmp_path)
    # a no is an answer, no failure
    assert done.returncode == 0, done.stderr
    assert "Does it fall? yes" in done.stdout and "Does it fly? no" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index("Questions</h2>") < page.index("Checks</h2>")
    assert 'verdict pass">yes' in page and 'verdict fail">no' in page
    # free fall for 0.2 s from rest
    said = re.search(r"speed −([0-9.]+) mm/s", done.stdout)
    gravity = float(xr.load_dataset(tmp_path / "out" / "results.nc").attrs["gravity"])
    assert said and float(said[1]) == pytest.approx(0.2e3 * gravity, rel=1e-3)


def test_a_diverging_run_keeps_what_it_has(tmp_path):
    (tmp_path / "robot.xml").write_text(ROBOT)
    (tmp_path / "bad.yaml").write_text(
        "robot: {name: robot.xml, position: [0, 0, 5]}\n"
        "control: [{joints: arm, torque: 'exp(1000*t)'}]\n"
        "run: {duration: 2, record_period: 0.01}\n"
    )
    done = run_here(["run", "bad.yaml", "--out", "out", "-s", ONE_FIGURE], tmp_path)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert re.search(r"stopped at t = 0\.\d+ s", said)
    assert "body 'arm'" in said or "body 'ball'" in said
    assert "torque law on joint 'arm'" in said or "not finite" in said
    with xr.open_dataset(tmp_path / "out" / "results.nc", engine="h5netcdf") as data:
        assert 1 < data.sizes["time"] < 201
        assert "stopped" in data.attrs
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    "integrator", ["semi_implicit", pytest.param("implicit_damping", marks=pytest.mark.soak)]
)
def test_a_diverging_smooth_run_says_so(tmp_path, integrator):
    # mujoco alone would start anew from the first position, without a word
    (tmp_path / "robot.xml").write_text(ROBOT)
    (tmp_path / "bad.yaml").write_text(
        "robot: {name: robot.xml, position: [0, 0, 5]}\ninteraction: {law: none}\n"
        "control: [{joints: arm, torque: 'exp(1000*t)'}]\n"
        f"run: {{duration: 2, record_period: 0.01, integrator: {integrator}}}\n"
    )
    done = run_here(["run", "bad.yaml", "--out", "out", "-s", ONE_FIGURE], tmp_path)
    assert done.returncode == 1, done.stdout
    assert re.search(r"stopped at t = 0\.\d+ s", done.stdout + done.stderr)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.yaml", "out", "robot.xml"]


# --- wrong input

GOOD = "robot: {name: exomars_rt0448, position: [0, 0, 1]}\nrun: {duration: 0.1}\n"
MESH = "ground: [{kind: mesh, %s}]\n"
BROKEN_ROBOTS = {
    "negative.xml": '<mujoco><worldbody><body name="b"><freejoint/>'
    '<geom type="sphere" size="0.1" mass="-1"/></body></worldbody></mujoco>',
    "negative2.xml": '<mujoco><worldbody><body name="b"><freejoint/>'
    '<inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></worldbody></mujoco>',
    "broken.xml": "<mujoco><worldbody><body>",
    "massless.xml": '<mujoco><worldbody><body name="b"><freejoint/></body></worldbody></mujoco>',
}

BAD_FILES = {
    "unknown key": (GOOD + "interaction: {frction: 1}\n", "frction"),
    "wrong unit": (GOOD + "gravity: 9.81 kg\n", "unit of mass"),
    "negative friction": (GOOD + "interaction: {friction: -0.1}\n", "at least 0"),
    "restitution": (GOOD + "interaction: {restitution: 1.2}\n", "at most 1"),
    "record period": (
        "robot: {name: exomars_rt0448}\nrun: {duration: 1, step: 0.001, record_period: 0.0015}\n",
        "whole multiple",
    ),
    "NaN": (GOOD + "gravity: .nan\n", "finite"),
    "infinite": (GOOD + "gravity: .inf\n", "finite"),
    "steep": (GOOD + "ground: [{kind: plane, slope: 95 deg}]\n", "slope"),
    "mesh without triangles": (GOOD + MESH % "triangles: []", "triangle"),
    "mesh without anything": (GOOD + MESH % "name: a", "triangles"),
    "degenerate triangle": (
        GOOD + MESH % "triangles: [[[0, 0, 0], [1, 0, 0], [2, 0, 0]]]", "triangle",
    ),
    "missing mesh": (GOOD + MESH % "file: none.stl", "none.stl"),
    "unknown joint": (GOOD + "control: [{joints: drivs, torque: 1}]\n", "did you mean 'drives'"),
    "bad expression": (GOOD + "control: [{joints: drives, torque: '2 +'}]\n", "not an expression"),
    "unknown name": (GOOD + "control: [{joints: drives, torque: 'vxx'}]\n", "did you mean 'vx'"),
    "unknown spring": ("robot: {name: exomars_rt0448, springs: {steer: {}}}\nrun: {duration: 1}\n",
                       "steering"),
    "duplicate key": ("run: {duration: 1}\n" + GOOD, "appears twice"),
    "unknown rover": ("robot: {name: exomars_rt}\nrun: {duration: 1}\n", "exomars_rt0448"),
    "missing robot file": ("robot: {name: none.xml}\nrun: {duration: 1}\n", "none.xml"),
    "settle without ground": (
        "robot: {name: exomars_rt0448, settle: true}\nground: []\nrun: {duration: 1}\n", "settle",
    ),
    **{name: (f"robot: {{name: {name}}}\nrun: {{duration: 1}}\n", name.removesuffix(".xml"))
       for name in BROKEN_ROBOTS},
}  # fmt: skip


def assert_one_sentence(done, says):
    assert done.returncode == 2, done.stdout + done.stderr
    # on a cold cache, what only the kernels can find is preceded by the notice that they compile
    lines = [t for t in done.stderr.strip().splitlines() if not t.startswith("compiling")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert says in lines[0]
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize("case", BAD_FILES)
def test_wrong_input_is_one_sentence(tmp_path, case):
    text, says = BAD_FILES[case]
    (tmp_path / "bad.yaml").write_text(text)
    for name, model in BROKEN_ROBOTS.items():
        (tmp_path / name).write_text(model)
    before = everything_in(tmp_path)
    # no --out: even the default folder runs/ must not be left behind
    assert_one_sentence(run_here(["run", "bad.yaml"], tmp_path), says)
    assert everything_in(tmp_path) == before


def test_wrong_input_in_a_process(tmp_path):
    assert_one_sentence(
        run_aside(["run", "rt0448/test1"], tmp_path), "did you mean 'rt0448/test-1'"
    )
    done = run_here(["run", "rt0448/test-1", "--set", "interaction.friction=-1"], tmp_path)
    assert_one_sentence(done, "interaction.friction")
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "rover"], "did you mean 'rovers'"),
        (["show", "exomars_rt"], "exomars_rt0448"),
        (["run", "none.yaml"], "no such file"),
        (["run", "rt0448/test-1", "--set", "friction"], "--set"),
        (["run", "rt0448/test-1", "--set", "run.duraton=1"], "duration"),
        (["view", "nowhere"], "nowhere"),
        (["bench", "nothing"], "unknown benchmark"),
    ],
)
def test_wrong_arguments_are_one_sentence(tmp_path, arguments, says):
    assert_one_sentence(run_here(arguments, tmp_path), says)
    assert everything_in(tmp_path) == []


def test_output_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    before = everything_in(tmp_path)
    for out, says in (("file", "is a file"), ("file/under/it", "cannot be written"),
                      ("full", "holds other files"), ("x" * 300, "cannot be written")):  # fmt: skip
        done = run_here(["run", "rt0448/test-1", "--out", out], tmp_path)
        assert_one_sentence(done, says)
    assert everything_in(tmp_path) == before
    assert (tmp_path / "full" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize(
    ("times", "said"),
    [(0.0763, "0.076"), (1.58, "1.6"), (9.4, "9.4"), (28.3, "28"), (1240, "1240")],
)
def test_the_pace_of_slow_runs_is_no_zero(times, said):
    from marsyard.cli.run import _pace

    assert _pace(times) == said
