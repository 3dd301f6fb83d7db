"""Bad files at the command line: exit code 2, one sentence, no traceback, nothing left behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from marsyard import cli
from marsyard.errors import InputError

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)]
)
#: texts in the place of any YAML file
TEXTS = {
    "alias-bomb": BOMB,
    "deep": "run: " + "[" * 20_000,
    "surrogate": 'title: "\\ud800"',
    "digits": "gravity: " + "9" * 20_000,
    "long-string": "title: " + "x" * 200_000,
    "binary": "\x00\x01",
    "date": "gravity: 2001-99-99",
}
#: commands that take a YAML file
COMMANDS = {
    "run": ["run", "FILE"],
    "show": ["show", "FILE"],
    "ground": ["ground", "FILE"],
    "sweep": ["sweep", "FILE"],
    "optimize": ["optimize", "FILE"],
    "validate": ["validate", "FILE", "--robot", "exomars"],
    "sequence": ["run", "control/goal", "--sequence", "FILE"],
    "link": ["teleop", "--link", "FILE"],
    "robot": ["run", "rt0448/test-1", "-s", "robot.name=FILE"],
    "edit": ["edit", "FILE"],
}


def refuse(arguments, folder: Path, monkeypatch, capsys) -> str:
    """The sentence with which the command line refuses arguments."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["marsyard", *arguments])
    before = sorted(folder.rglob("*"))
    began = time.process_time()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert time.process_time() - began < 30.0
    said = capsys.readouterr().err.strip()
    assert ended.value.code == 2, said
    # typer tells wrong options in its own frame
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1 and lines[0].startswith("error: "), said
    assert len(lines[0]) < 420 and lines[0].isprintable()
    assert sorted(folder.rglob("*")) == before, "nothing is left behind"
    return lines[0]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_yaml_that_does_harm(command, text, tmp_path, monkeypatch, capsys):
    (tmp_path / "a.yaml").write_text(TEXTS[text], encoding="utf-8", errors="surrogatepass")
    arguments = [a.replace("FILE", "a.yaml") for a in COMMANDS[command]]
    refuse(arguments, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("what", ["pipe", "zero", "folder"])
@pytest.mark.parametrize(
    "arguments",
    [
        *COMMANDS.values(),
        ["import", "FILE"],
        ["identify", "FILE"],
        ["view", "FILE"],
        ["export", "FILE", "--csv"],
        ["run", "rt0448/test-1", "-s", "extends=FILE"],
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_what_is_no_regular_file(what, arguments, tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.yaml"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "zero":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    refuse([a.replace("FILE", "a.yaml") for a in arguments], tmp_path, monkeypatch, capsys)


LAWS = {
    "unknown law": ("rt0448/test-1", ["law=complaint"], "did you mean 'compliant'?"),
    "unknown soil model": ("wheel/pull", ["soil.model=colums"], "did you mean 'columns'?"),
    "unknown option": ("rt0448/test-1", ["compliant.stifness=1"], "did you mean 'stiffness'?"),
    "unknown options": ("rt0448/test-1", ["polygonl.refine=1"], "did you mean 'polygonal'"),
    "option of another law": ("rt0448/test-1", ["soil.columns.viscocity=1"],
                              "did you mean 'viscosity'"),
    "option of a group": ("rt0448/test-1", ["polygonal.layer.stifness=1"],
                          "did you mean 'stiffness'"),
    "curve without kind": ("rt0448/test-1", ["compliant.curve.knd=dense"],
                           "curve.kind: unknown or missing kind; valid: loose, dense, table"),
    "unknown coefficient": ("wheel/pull", ["wheel.coefficients.peek_0=1"], "did you mean 'peak_0'"),
    "wheel model on hard ground": ("rt0448/test-1", ["wheel.model=ding"],
                                   "ding needs ground of kind terrain, and the scenario has plane"),
    "polygons under tracks": ("tracked/step", ["law=polygonal"], "does not support belts; use"),
    "soft contact of meshes": ("rt0448/test-7", ["law=mujoco", "run.integrator=semi_implicit"],
                               "takes only convex shapes"),
    "soft contact by impulses": ("rt0448/test-1", ["law=mujoco"], "needs a smooth integrator"),
    "rigid contact without": ("rt0448/test-1", ["run.integrator=semi_implicit"],
                              "does not support the nonsmooth law; use moreau_jean"),
    "soil without": ("wheel/pull", ["law=none", "run.integrator=semi_implicit"],
                     "does not support the soil of ground 'soil'"),
}  # fmt: skip


@pytest.mark.parametrize("what", LAWS)
def test_laws_and_options_that_do_not_fit(what, tmp_path, monkeypatch, capsys):
    scenario, settings, said = LAWS[what]
    arguments = ["run", scenario]
    for each in settings:
        arguments += ["-s", each if each.startswith("run.") else f"interaction.{each}"]
    assert said in refuse(arguments, tmp_path, monkeypatch, capsys)


def head(shape: str) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64


FILES = {
    "extends a pipe": ("a.yaml", "extends: pipe\n", ["run", "a.yaml"], "is a pipe"),
    "csv field": ("a.csv", 'slip,force\n0.1,"' + "x" * 200_000 + '"\n', ["identify", "a.csv"],
                  "field larger than field limit"),
    "npy of 745 GiB": ("a.npy", head("(100000000000,)"), ["ground", "g.yaml"], "head claims"),
    "broken results": ("run/results.nc", b"\x89HDF\r\n\x1a\n" + b"\xff" * 200, ["view", "run"],
                       "not a file of results"),
    "broken run to export": ("run/results.nc", b"junk", ["export", "run", "--csv", "-o", "x/y"],
                             "not a file of results"),
    "broken mcap": ("a.mcap", b"\x89MCAP0\r\n" + b"\xff" * 100, ["view", "a.mcap", "--robot",
                    "exomars"], "truncated|cannot be read"),
    "entities": ("a.urdf", '<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', ["import",
                 "a.urdf"],                  "defines the entity"),
    "fmu": ("a.fmu", b"PK\x03\x04 broken", ["run", "f.yaml"], "is not an FMU"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_damaged_files(case, tmp_path, monkeypatch, capsys):
    name, content, arguments, said = FILES[case]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "g.yaml").write_text("layers: [{kind: file, file: a.npy, spacing: 0.1}]\n")
    (tmp_path / "f.yaml").write_text(
        "extends: rt0448/test-1\ncontrol: [{kind: fmu, file: a.fmu, outputs: {y: torque.drives}}]\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        text = refuse(arguments, tmp_path, monkeypatch, capsys)
    assert any(part in text for part in said.split("|")), text


@pytest.mark.parametrize(
    "settings, said",
    [
        (["run.duration=1e6", "run.step=1e-6"], "would take about 197 days"),
        (["run.duration=" + "9" * 20_000], "number of 20000 characters"),
        (["run.duration=[" + "[" * 1000], "nested more than"),
        (["robot.name=" + "x" * 100_000], "at most 20000"),
        (["robot.name=" + "x" * 10_000], "unknown rover"),
        (["x" * 10_000], "is not of the form"),
    ],
)
def test_settings_that_cannot_be_used(settings, said, tmp_path, monkeypatch, capsys):
    options = [part for setting in settings for part in ("--set", setting)]
    assert said in refuse(["run", "rt0448/test-1", *options], tmp_path, monkeypatch, capsys)


def test_heaps_of_more_nodes_than_memory(tmp_path, monkeypatch, capsys):
    options = ["--no-study", "--set", "ground.0.spacing=1e-7"]
    text = refuse(["run", "soil/pile", *options], tmp_path, monkeypatch, capsys)
    assert "GB of memory" in text


def test_a_long_run_begins_when_it_is_confirmed(tmp_path, monkeypatch):
    from marsyard import runner

    asked = {}

    def record(*_, **options):
        asked.update(options)
        raise InputError("begun")

    monkeypatch.setattr(runner, "run", record)
    monkeypatch.setattr(sys, "argv", ["marsyard", "run", "rt0448/test-1", "--yes"])
    with pytest.raises(SystemExit):
        cli.main()
    assert asked["yes"] is True
