"""What a new user meets first: help, lists and completion by the shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from command import MAIN, PLAIN, run_aside, run_here

from marsyard import library
from marsyard.cli import app
from marsyard.cli._help import SUMMARIES


def commands():
    return {c.name for c in (*app.registered_commands, *app.registered_groups)}


# --- help


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_groups_all_commands_with_whole_summaries(tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    done = run_here(arguments, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    flat = " ".join(done.stdout.split())
    assert {name for names in SUMMARIES.values() for name in names} == commands()
    for title, summaries in SUMMARIES.items():
        assert f"\n{title}:\n" in done.stdout
        for name, text in summaries.items():
            assert f" {name} {text}" in flat
    assert "…" not in done.stdout and "..." not in done.stdout.replace("[ARGS]...", "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_help_has_five_examples_that_are_commands(tmp_path):
    text = run_here(["--help"], tmp_path).stdout
    examples = re.findall(r"^ +marsyard (\w+) (\S+)", text.partition("Options:")[0], re.MULTILINE)
    assert len(examples) == 5
    for command, what in examples:
        assert command in commands()
        known = (*library.names("scenarios"), *library.KINDS)
        assert what in known or what.removeprefix("runs/").replace("-", "/", 1) in known


def test_analyses_have_whole_summaries_too(tmp_path):
    done = run_here(["analyze", "--help"], tmp_path)
    assert done.returncode == 0 and "..." not in done.stdout.replace("[ARGS]...", "")
    assert "and by cause." in " ".join(done.stdout.split())


def test_a_mistyped_command_is_answered_by_the_nearest(tmp_path):
    done = run_aside(["compre"], tmp_path)
    assert done.returncode == 2 and "Did you mean 'compare'?" in done.stderr


def test_processes_are_asked_for_alike(tmp_path):
    for command in ("run", "compare", "sweep", "optimize", "identify", "validate"):
        text = " ".join(run_here([command, "--help"], tmp_path).stdout.split())
        assert "Processes for the runs [default: one per core]." in text, command
        refused = run_here([command, "x", "-j", "0"], tmp_path)
        assert refused.returncode == 2 and "--jobs" in refused.stderr, command


# --- lists


def lines_of(arguments, folder):
    done = run_here(["list", *arguments], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_scenarios_stand_in_groups(tmp_path):
    lines = lines_of(["scenarios"], tmp_path)
    assert lines[0] == f"scenarios ({len(library.names('scenarios'))})"
    groups = [line.strip() for line in lines if re.match(r"  \S", line)]
    assert 5 <= len(groups) <= 9 and len(set(groups)) == len(groups) and "Others" not in groups
    at = {line.split()[0]: k for k, line in enumerate(lines) if line.startswith("    ")}
    assert sorted(at) == library.names("scenarios")
    assert lines.index("  Rovers on soft ground") < at["exomars/rough"]
    assert lines.index("  The tests of INRIA RT-0448") < at["rt0448/test-1"]


def test_rovers_and_soils_stand_in_groups(tmp_path):
    rovers = lines_of(["rovers"], tmp_path)
    order = [line.split()[0] for line in rovers if line.startswith("    ")]
    assert sorted(order) == library.names("rovers")
    legs = rovers.index("  With legs or tracks")
    assert rovers.index("  Rovers with wheels") < legs
    assert any("hexapod" in line for line in rovers[legs:])
    soils = lines_of(["soils"], tmp_path)
    assert sum(line.startswith("    ") for line in soils) == len(library.names("soils"))
    assert "  Sand" in soils and "  Snow" in soils


def test_soils_say_which_laws_need_no_assumed_number(tmp_path):
    lines = {line.split()[0]: line for line in lines_of(["soils"], tmp_path)}
    assert lines["dry_sand"].endswith("[magic_formula]")
    assert lines["lunar_nominal"].endswith(
        "[scm, columns, wong_reece, ishigami, ding, magic_formula]"
    )
    assert "[" not in lines["chrono_scm_demo"]
    assert "all laws run on all of them" in lines["soils"]


def test_grep_looks_in_names_and_titles(tmp_path):
    lines = lines_of(["scenarios", "--grep", "LUNAR"], tmp_path)
    assert lines[0] == "scenarios (3)"
    found = {line.split()[0] for line in lines if line.startswith("    ")}
    assert found == {"rashid/regolith", "yutu2/regolith", "teleop/slalom"}
    every = lines_of(["--grep", "step|stairs"], tmp_path)
    assert any(line.startswith("grounds (1)") for line in every)
    assert not any(line.startswith("soils") for line in every)


@pytest.mark.parametrize(
    ("text", "said"),
    [("exomasr", "did you mean 'exomars'"), ("(", "'(' is not a regular expression")],
)
def test_what_grep_cannot_find_is_said(tmp_path, text, said):
    done = run_here(["list", "--grep", text], tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: --grep: ")
    assert said in done.stderr


# --- completion


def offered(line, folder, shell="bash"):
    """What the shell is told when tab is pressed at the end of a line."""
    words = line.split(" ")
    asked = {
        "_MARSYARD_COMPLETE": f"complete_{shell}", "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1), "_TYPER_COMPLETE_ARGS": line,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", MAIN], cwd=folder, env=os.environ | PLAIN | asked,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("marsyard tel", ["teleop"]),
        ("marsyard run walker/", ["walker/flat", "walker/sand", "walker/slope"]),
        ("marsyard show sojo", ["sojourner/rocks", "sojourner"]),
        ("marsyard show lunar_n", ["lunar_nominal"]),
        ("marsyard ground rocks_", ["rocks_pathfinder", "rocks_sparse"]),
        ("marsyard run rt0448/test-1 --set fric", ["friction="]),
        ("marsyard compare exomars/rough --laws scm,di", ["scm,ding"]),
        ("marsyard analyze mobility exomars_", ["exomars_rt0448"]),
        ("marsyard analyze mobility exomars --soil dry_sand,snow_u", ["dry_sand,snow_us"]),
        ("marsyard identify t.csv --gravity mo", ["moon"]),
        ("marsyard list la", ["laws"]),
        ("marsyard run nothing_like_it", []),
    ],
)
def test_the_shell_completes_names(tmp_path, line, expected):
    assert offered(line, tmp_path) == expected


def test_the_shell_completes_runs(tmp_path):
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "one" / "results.nc").touch()
    assert offered("marsyard view runs/", tmp_path) == ["runs/one"]


def test_completion_says_nothing_about_what_goes_wrong(monkeypatch):
    from marsyard.cli import _complete

    def fail(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(library, "names", fail)
    assert _complete.scenarios("exo") == []


def test_a_script_for_the_shell_is_there(tmp_path):
    done = run_here(["--help"], tmp_path)
    assert "--install-completion" in done.stdout
    env = os.environ | PLAIN | {"_MARSYARD_COMPLETE": "source_bash"}
    shown = subprocess.run(
        [sys.executable, "-c", MAIN], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert "complete -o default -F _marsyard_completion marsyard" in shown.stdout
