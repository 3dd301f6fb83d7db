"""The plug-in of examples/plugin, installed and used; broken plug-ins, which break nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder into which the plug-in is installed, without network."""
    pytest.importorskip("setuptools", minversion="70.1")
    base = tmp_path_factory.mktemp("plugin")
    shutil.copytree(FOLDER, base / "source")
    target = base / "site"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
         "--no-index", "--no-compile", "--disable-pip-version-check", "--target", str(target),
         str(base / "source")],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target


def _python(site: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(site), *given]))}
    return subprocess.run(
        [sys.executable, *arguments], env=where, cwd=cwd,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_its_own_tests_pass_where_it_is_installed(site, tmp_path):
    shutil.copy(FOLDER / "tests" / "test_plugin.py", tmp_path)
    done = _python(site, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plugin.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "19 passed" in done.stdout


def test_list_shows_what_it_brings_and_from_where(site, tmp_path):
    done = _python(site, tmp_path, "-m", "marsyard", "list")
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    origin = "[marsyard-dunes 0.1.0]"
    ours = [line for line in lines if line.endswith(origin)]
    for name in ("dunes/crossing", "dunes/elastic-bed", "four_wheeler", "dune_sand", "dune_field",
                 "elastic_bed", "rigid_slip_outside", "dunes/two-laws", "hold_heading",
                 "cable", "dunes/tethered", "dunes"):  # fmt: skip
        assert any(line.split()[0] == name for line in ours), name
    assert len(ours) == 12


def test_a_compiled_law_runs_and_compares_from_the_command_line(site, tmp_path):
    short = ("-s", "run.duration=1")
    done = _python(site, tmp_path, "-m", "marsyard", "run", "dunes/two-laws", *short, "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    # what acted, with its numbers, and where it came from
    assert "Wheels with friction by slip, from outside" in page and "50000 N/m" in page
    assert "plug-in rigid_slip_outside of marsyard-dunes 0.1.0" in page
    assert "friction μ" not in page and "restitution" not in page  # no hard ground
    code = (
        "from marsyard.results import open_results as o; d = o('out'); print("
        "d.rigid_slip_outside_slip.attrs['units'], d.rigid_slip_outside_force.attrs['units'])"
    )
    assert _python(site, tmp_path, "-c", code).stdout.split() == ["1", "N"]
    done = _python(site, tmp_path, "-m", "marsyard", "compare", "dunes/crossing", "--laws",
                   "scm,rigid_slip_outside", *short, "-o", "both")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rigid_slip_outside" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "def evaluate(A, L, time, h, theta, flag)",
            "def evaluate(A, L, time)",
            "evaluate() takes 3 arguments; a kernel of a law takes 6: Attachments, Arrays",
        ),
        (
            "@law_callback(Attachments, Arrays)\ndef commit",
            "@law_callback(Attachments, Attachments)\ndef commit",
            "the kernel commit of a law must be decorated with law_callback(Attachments, …), with "
            "the same tuple for all",
        ),
        ("A.F[n], A.axis[n]", "A.force[n], A.axis[n]", "does not compile: Unknown attribute"),
    ],
)
def test_a_law_whose_kernel_is_wrong_is_refused(site, tmp_path, old, new, said):
    package = site / "marsyard_dunes" / "rigid_slip.py"
    text = package.read_text(encoding="utf-8")
    wrong = tmp_path / "site"
    shutil.copytree(site, wrong)
    (wrong / "marsyard_dunes" / "rigid_slip.py").write_text(
        text.replace(old, new), encoding="utf-8"
    )
    assert old in text
    done = _python(wrong, tmp_path, "-m", "marsyard", "run", "dunes/two-laws", "-o", "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.soak
def test_run_keeps_where_the_law_came_from(site, tmp_path):
    done = _python(site, tmp_path, "-m", "marsyard", "run", "dunes/elastic-bed", "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "plug-in elastic_bed of marsyard-dunes 0.1.0" in page
    assert "plug-in hold_heading of marsyard-dunes 0.1.0" in page


def _metadata(site: Path, name: str, entries: str) -> None:
    """A distribution that says it has these entry points."""
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
    (folder / "entry_points.txt").write_text(entries, encoding="utf-8")


def test_broken_plugins_are_named_and_break_nothing(tmp_path):
    site = tmp_path / "site"
    _metadata(site, "broken-one", "[marsyard.laws]\nbad = no_such_module:law\n"
              "[marsyard.controllers]\nnumber = broken_two:NUMBER\ngood = broken_two:make\n"
              "[marsyard.library]\nnone = no_such_package\n")  # fmt: skip
    _metadata(site, "broken-two", "[marsyard.controllers]\ngood = broken_two:other\n"
              "[marsyard.library]\nmine = taken\n")  # fmt: skip
    (site / "broken_two.py").write_text(
        'NUMBER = 3\ndef make(scenario):\n    "Good."\ndef other(scenario):\n    "Late."\n'
    )
    soils = site / "taken" / "soils"
    soils.mkdir(parents=True)
    (site / "taken" / "__init__.py").write_text("")
    (soils / "clay.yaml").write_text("title: not this one\n")
    done = _python(site, tmp_path, "-m", "marsyard", "list")
    assert done.returncode == 0, done.stderr
    assert "not this one" not in done.stdout and "clay" in done.stdout
    assert "Good." in done.stdout and "Late." not in done.stdout
    said = done.stderr.splitlines()
    for part in (
        "plug-in 'bad' of broken-one 1.0 cannot be loaded (ModuleNotFoundError",
        "plug-in 'number' of broken-one 1.0 is of type int, not a function",
        "plug-in 'good' of broken-two 1.0 is left out: broken-one 1.0 provides one of that name",
        "the library 'none' of broken-one 1.0 is left out",
        "soil 'clay' of broken-two 1.0 is left out: marsyard has one of that name",
    ):
        assert sum(part in line for line in said) == 1, (part, done.stderr)
    assert all(line.startswith("warning: ") for line in said) and len(said) == 5, done.stderr


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("controller={name: nothing}", "controller: no plug-in provides a controller 'nothing'"),
        ("interaction.plugin={name: nothing}", "interaction.plugin: no plug-in provides a law"),
    ],
)
def test_a_plugin_that_is_not_there_is_an_input_error(setting, text):
    from marsyard import InputError, load_scenario
    from marsyard.scenario.scenario import parse_setting
    from marsyard.simulation import Simulation

    scenario = load_scenario("rt0448/test-1", dict([parse_setting(setting)]))
    with pytest.raises(InputError, match=text):
        Simulation(scenario)


_WRONG = """
import numpy as np
from marsyard.modules import JointCommands, ContactBodyWrenches

def nan(scenario):
    return lambda t, h, organs: ContactBodyWrenches(np.full((len(organs.name), 3), np.nan))

def pushes(scenario):
    def act(t, h, organs):
        n = len(organs.name)
        return ContactBodyWrenches(np.zeros((n, 3)), 0.0, -np.ones((n, 7, 7)))
    return act

def alone():
    pass

def lost(scenario):
    def steer(t, joints, base, wrenches):
        raise LookupError("no map\\nof this place")
    return steer

def short(random):
    return lambda x, y: np.zeros(3)

def deep(random):
    return lambda x, y: -np.inf * np.ones_like(x)

def dry(random):
    def heights(x, y):
        raise RuntimeError("no wind")
    return heights
"""


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """Plug-ins of all kinds that do something wrong."""
    from importlib.metadata import EntryPoint

    from marsyard import plugins

    (tmp_path / "wrong_plugins.py").write_text(_WRONG)
    monkeypatch.syspath_prepend(tmp_path)
    names = ("nan", "pushes", "alone", "lost", "short", "deep", "dry")
    found = {
        n: plugins.Plugin(n, "wrong 1.0", EntryPoint(n, f"wrong_plugins:{n}", "")) for n in names
    }
    monkeypatch.setattr(plugins, "_found", lambda group: found)
    yield
    sys.modules.pop("wrong_plugins", None)


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (
            "law",
            "nan",
            "law 'nan' of wrong 1.0 at t = 0 s: force: has a value that is not a finite",
        ),
        ("law", "pushes", "law 'pushes' of wrong 1.0 at t = 0 s: damping: must not be negative"),
        (
            "law",
            "alone",
            "law 'alone' of wrong 1.0 must take scenario as its first argument: f(scenario, **",
        ),
        ("control", "lost", "controller 'lost' of wrong 1.0 at t = 0 s: LookupError: no map of t"),
        ("ground", "short", "generator 'short' of wrong 1.0 gave heights of shape (3,) for points"),
        ("ground", "deep", "generator 'deep' of wrong 1.0 gave heights that are not finite [m]"),
        ("ground", "dry", "generator 'dry' of wrong 1.0: RuntimeError: no wind"),
    ],
)
def test_what_a_plugin_does_wrong_is_told_with_its_name(wrong, kind, name, said):
    from marsyard import InputError
    from marsyard.scenario import validate
    from marsyard.simulation import Simulation

    layers = [{"kind": "plugin", "generator": name}]
    use = {
        "law": {"interaction": {"plugin": {"name": name}}},
        "control": {"controller": {"name": name}},
        "ground": {"ground": [{"kind": "terrain", "terrain": {"layers": layers}, "soil": "clay"}]},
    }[kind]
    base = {"robot": {"name": "exomars_rt0448"}, "run": {"duration": 0.1, "step": 0.002}}
    with pytest.raises(InputError) as error:
        Simulation(validate({**base, **use})).step(1)
    assert said in str(error.value) and "\n" not in str(error.value)
