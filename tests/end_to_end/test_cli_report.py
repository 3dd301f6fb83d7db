"""`marsyard report`: the report again from the folder of a run, and results that ctrl-c spares."""

from __future__ import annotations

import html
import json
import re
import shutil

import markupsafe
import pytest
from command import run_here

import marsyard.single_run
from marsyard.results import open_results

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A short run with its figures as files, made once."""
    folder = tmp_path_factory.mktemp("report")
    done = run_here(
        ["run", "rt0448/test-1", "-o", "run", "-q", "-s", "run.duration=1.2", "--figures", "svg"],
        folder,
    )
    assert done.returncode == 0, done.stderr
    return done, folder / "run"


@pytest.fixture
def folder(made, tmp_path):
    """A copy of it."""
    return shutil.copytree(made[1], tmp_path / "run")


def answer(folder) -> str:
    page = (folder / "report.html").read_text(encoding="utf-8")
    return html.unescape(re.search(r'<h1 id="answer">(.*?)</h1>', page)[1])


def test_the_run_says_its_headline_on_the_terminal_too(made):
    done, folder = made
    said = answer(folder).replace("\u00a0", " ")
    assert said.startswith("Fell 1.42 m in 1.2 s") and said in done.stdout


def test_the_same_report_again(folder):
    before = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").unlink()
    done = run_here(["report", folder], folder)
    assert done.returncode == 0, done.stderr
    after = (folder / "report.html").read_text(encoding="utf-8")
    assert after == before
    assert "report.html" in done.stdout.replace("\n", "")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_figures_for_papers(folder, kind):
    (folder / "figures" / "mine.txt").write_text("stays")
    assert run_here(["report", folder, "--figures", kind], folder).returncode == 0
    assert (folder / "figures" / "mine.txt").exists()
    # those of the report before are gone
    files = sorted(p for p in (folder / "figures").iterdir() if p.suffix != ".txt")
    assert len(files) >= 4 and {p.suffix for p in files} == {f".{kind}"}
    head = files[0].read_bytes()[:8]
    assert head.startswith(b"<?xml" if kind == "svg" else b"\x89PNG")


def test_without_being_asked_no_curve_is_drawn_twice(tmp_path):
    done = run_here(["run", "rt0448/test-1", "-o", "r", "-q", "-s", "run.duration=0.05"], tmp_path)
    assert done.returncode == 0 and not (tmp_path / "r" / "figures").exists()


def test_ctrl_c_while_the_report_is_drawn_leaves_the_results(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(marsyard.single_run, "draw_report", interrupted)
        done = run_here(["run", "rt0448/test-1", "-o", "r", "-s", "run.duration=0.1"], tmp_path)
    assert done.returncode == 130
    assert "marsyard report r" in done.stderr and "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    assert open_results(tmp_path / "r").time[-1] == pytest.approx(0.1)
    assert not (tmp_path / "r" / "report.html").exists()
    done = run_here(["report", "r"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert answer(tmp_path / "r").endswith("its check passes")


def test_ctrl_c_over_an_earlier_run_leaves_no_stale_report(folder, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(marsyard.single_run, "draw_report", interrupted)
    run_here(["run", "rt0448/test-1", "-o", folder, "-s", "run.duration=0.1"], tmp_path)
    assert open_results(folder).time[-1] == pytest.approx(0.1)
    assert not (folder / "report.html").exists() and not (folder / "figures").exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "results.nc").unlink(), "has no results.nc"),
        (lambda f: (f / "scenario.yaml").unlink(), "has no scenario.yaml"),
        (lambda f: (f / "model.mjb").unlink(), "model.mjb"),
        (lambda f: (f / "run.json").write_text("{"), "run.json: not valid JSON"),
        (lambda f: (f / "run.json").write_text('{"steps": "many"}'), "run.json.*steps"),
        (lambda f: (f / "run.json").write_text("[1]"), "run.json.*not a record of a run"),
        (lambda f: (f / "results.nc").write_bytes(b"nothing"), "results.nc"),
    ],
)
def test_what_is_missing_or_damaged_is_one_sentence(folder, spoil, said):
    spoil(folder)
    done = run_here(["report", folder], folder)
    assert done.returncode == 2 and re.search(said, done.stderr), done.stderr
    assert done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1


def test_what_is_no_run_or_no_format_is_refused(folder, tmp_path):
    for arguments, said in (
        (["report", tmp_path / "nowhere"], "is not the folder of a run"),
        (["report", folder, "--figures", "bmp"], "'bmp' is not one of png, svg, pdf"),
        (["run", "rt0448/test-1", "--figures", "gif"], "'gif' is not one of png, svg, pdf"),
    ):
        done = run_here(arguments, tmp_path)
        assert done.returncode == 2 and said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_run_without_a_record_still_has_a_report(folder):
    """Runs that were made before there was one."""
    (folder / "run.json").unlink()
    assert run_here(["report", folder], folder).returncode == 0
    assert answer(folder).startswith("Fell")


def test_a_hostile_record_is_only_text(folder):
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record |= {
        "scenario": EVIL, "overrides": [EVIL], "warnings": [EVIL], "modules": {EVIL: EVIL},
        "laws": [[EVIL, [[EVIL, EVIL, EVIL]]]], "versions": {EVIL: EVIL}, "post": {EVIL: EVIL},
        "started": EVIL, "convergence_html": EVIL, "stopped": EVIL,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert run_here(["report", folder], folder).returncode == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert EVIL not in page and "<img src=x" not in page and "<script>alert" not in page
    assert markupsafe.escape(EVIL) in page


def test_tables_of_own_functions_come_again(tmp_path):
    import marsyard

    post = {
        "speeds": lambda ds: {"name": ["a<b", "c"], "speed": [0.25, 1e-7]},
        "mean": lambda ds: 4.5,
    }
    run = marsyard.run("rt0448/test-1", duration=0.05, post=post, out=tmp_path / "r")
    before = run.report.read_text(encoding="utf-8")
    for said in ("<td>a&lt;b</td><td>0.25</td>", "<td>mean</td><td>4.5</td>", "post/speeds.csv"):
        assert said in before, said
    assert run_here(["report", tmp_path / "r"], tmp_path).returncode == 0
    assert run.report.read_text(encoding="utf-8") == before
    (tmp_path / "r" / "post" / "speeds.csv").write_bytes(b"")
    done = run_here(["report", tmp_path / "r"], tmp_path)
    assert done.returncode == 2 and "is not a table" in done.stderr
    # a run without such functions leaves none of the earlier one's
    marsyard.run("rt0448/test-1", duration=0.05, out=tmp_path / "r")
    assert not (tmp_path / "r" / "post").exists()
