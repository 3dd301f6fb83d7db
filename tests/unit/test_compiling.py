"""Progress of compiling: kernels are counted before, and told as they compile."""

import os
import subprocess
import sys
import time
from io import StringIO
from types import ModuleType

import pytest
from numba import njit
from rich.console import Console

import marsyard
from marsyard.cli._compiling import LINES, CompileLines
from marsyard.cli.run import _Bar
from marsyard.compile_progress import CompileProgress, kernels_of
from marsyard.compile_watch import CompileWatch
from marsyard.jit import inner, kernel

SOURCE = """
@inner
def leaf(x):
    return x + 1

@kernel
def branch(x):
    return leaf(x) + leaf(x)

@njit
def root(x):
    return branch(x) * helper.other(x)
"""


def kernels() -> ModuleType:
    """Three kernels of a module, and one of another that they know by that module's name."""
    helper = ModuleType("marsyard.made.helper")
    exec("from numba import njit\n@njit\ndef other(x):\n    return x", helper.__dict__)
    made = ModuleType("marsyard.made.kernels")
    made.__dict__.update(helper=helper, inner=inner, kernel=kernel, njit=njit)
    exec(SOURCE, made.__dict__)
    return made


def test_kernels_are_found_through_names_and_modules() -> None:
    made = kernels()
    names = {each.__name__ for each in kernels_of(made.root.py_func)}
    assert names == {"root", "branch", "leaf", "other"}


def test_every_kernel_is_told_of_and_counted() -> None:
    made, told = kernels(), []
    progress = CompileProgress(lambda *count: told.append(count))
    try:
        made.root(1)
    finally:
        progress.stop()
    assert told[0] == ("kernels.root", 0, 4)
    assert told[-1] == ("kernels.root", 4, 4)
    assert {"kernels.leaf", "kernels.branch", "helper.other"} <= {name for name, _, _ in told}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    before = len(told)
    njit(lambda x: x)(1)
    assert len(told) == before


def test_a_law_that_is_called_by_address_counts_from_the_miss_to_the_cache() -> None:
    made, told = kernels(), []
    progress = CompileProgress(lambda *count: told.append((*count, progress.is_open)))
    try:
        progress.missed(made.root.py_func)
        assert told == [("kernels.root", 0, 4, True)]
        made.root(1)
        progress.kept(made.root.py_func)
    finally:
        progress.stop()
    assert told[-1] == ("kernels.root", 4, 4, False)
    assert any(name == "kernels.branch" and done < 4 for name, done, _, _ in told)


def lines() -> tuple[CompileLines, list[str], list[float]]:
    out: list[str] = []
    now = [0.0]
    return CompileLines(out.append, lambda: now[0]), out, now


def test_lines_about_kernels_come_now_and_then() -> None:
    shown, out, now = lines()
    for k in range(300):
        now[0] = float(k)
        shown.show([f"loop.part_{k}", "law.solve", "law.solve"], k, 350)
    now[0] = 300.0
    shown.show([], 350, 350)
    assert [int(line.split()[1]) for line in out[:-1]] == [3, 13, 33, 73, 133, 193, 253]
    assert out[0] == "compiling: 3 of 350 kernels (loop.part_3, law.solve)"
    assert out[-1] == "compiled 350 kernels in 300 s"


def test_what_takes_no_time_is_not_worth_a_word_and_does_not_count_later() -> None:
    shown, out, now = lines()
    shown.show(["a.b"], 1, 2)
    now[0] = 1.0
    shown.show([], 2, 2)
    assert out == []
    for now[0] in (10.0, 14.0):
        shown.show(["c.d", "e.f", "g.h", "i.j"], 5, 12)
    assert out == ["compiling: 3 of 10 kernels (c.d, e.f, g.h and 1 more)"]


def test_what_was_counted_before_is_not_counted_again() -> None:
    shown, out, now = lines()
    for now[0] in (0.0, 20.0):
        shown.show(["loop.advance"], 90, 100)
    shown.show([], 97, 100)  # three that names suggested were never called
    assert out[-1] == "compiled 97 kernels in 20 s"
    taken = []
    shown.bar = lambda *what: taken.append(what)
    shown.show(["loop.record"], 97, 100)
    assert taken == []
    shown.show(["loop.record", "law.solve", "law.walk"], 99, 108)
    assert taken == [("compiling: loop.record and 2 more", 2, 8)]


def test_a_bar_takes_the_place_of_lines_and_quiet_of_both() -> None:
    shown, out, now = lines()
    taken = []
    shown.bar = lambda *what: taken.append(what)
    for now[0] in (0.0, 20.0):
        shown.show(["loop.advance"], 1, 97)
    shown.show([], 97, 97)
    assert out == [] and taken[-1] == ("compiling: loop.advance", 1, 97)
    shown.bar, shown.quiet = None, True
    for now[0] in (100.0, 120.0):
        shown.show(["loop.advance"], 1, 97)
    shown.show([], 97, 97)
    assert out == []


def test_the_bar_of_a_run_shows_kernels_until_it_simulates() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=120)
    with _Bar(console, quiet=False) as bar:
        assert LINES.bar is not None
        LINES.bar("compiling: loop.advance", 12, 97)
        (task,) = bar._progress.tasks
        assert (task.completed, task.total, task.fields["unit"]) == (12, 97, "kernels")
        bar.update(1.0, 5.0, "t")
        LINES.bar("compiling: a late one", 90, 97)
        (task,) = bar._progress.tasks
        assert (task.completed, task.total, task.fields["unit"]) == (1.0, 5.0, "s")
    assert LINES.bar is None


CHILD = """
import sys, time
from types import FunctionType
from marsyard.compile_progress import report_into
import os
progress = report_into(os.environ["MARSYARD_COMPILE_PROGRESS"])
def other(x): return x
progress.missed(other)
time.sleep(float(sys.argv[1]))
if sys.argv[1] != "0": progress.kept(other)
"""


def wait_for(condition) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_other_processes_are_seen_and_those_that_died_are_not_waited_for() -> None:
    seen: list[tuple[list[str], int, int]] = []
    watch = CompileWatch(lambda *what: seen.append(what))
    watch.start()
    try:
        with subprocess.Popen([sys.executable, "-c", CHILD, "2"]):
            wait_for(lambda: bool(seen))
            assert seen[-1] == (["other"], 0, 1)
        wait_for(lambda: seen[-1] == ([], 1, 1))
        # one that ends without a word
        with subprocess.Popen([sys.executable, "-c", CHILD, "0"]):
            pass
        wait_for(lambda: seen[-1] == ([], 1, 2))
    finally:
        watch.stop()
    assert "MARSYARD_COMPILE_PROGRESS" not in os.environ


def test_a_process_with_an_empty_cache_says_what_it_compiles(tmp_path) -> None:
    """A kernel that is called by address, as laws are."""
    seen: list[tuple[list[str], int, int]] = []
    watch = CompileWatch(lambda *what: seen.append(what))
    watch.start()
    (tmp_path / "its_law.py").write_text(
        "from numba import types\nfrom marsyard.jit import callback, inner\n"
        "@inner\ndef leaf(x):\n    return x + 1.0\n"
        "@callback(types.float64(types.float64))\ndef root(x):\n    return leaf(x) * 2.0\n"
    )
    try:
        subprocess.run(
            [sys.executable, "-c", "import its_law; print(its_law.root.address > 0)"],
            cwd=tmp_path, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                               "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            check=True,
        )  # fmt: skip
        wait_for(lambda: bool(seen) and seen[-1][0] == [])
    finally:
        watch.stop()
    assert seen[-1] == ([], 2, 2)


def test_python_is_told_that_kernels_compile_and_nothing_else(monkeypatch, caplog) -> None:
    from marsyard.simulation import simulation as of

    monkeypatch.setattr(of, "needs_compiling", lambda: True)
    monkeypatch.setattr(of.Simulation, "_find_geometry", lambda self: 1 / 0)
    with caplog.at_level("INFO", logger="marsyard"), pytest.raises(ZeroDivisionError):
        marsyard.run("rt0448/test-1")
    assert [r.getMessage() for r in caplog.records] == [
        "compiling the physics kernels, once: one to four minutes; later runs start at once"
    ]
    # on the command line the watch says more
    caplog.clear()
    monkeypatch.setenv("MARSYARD_COMPILE_PROGRESS", "/nowhere")
    with pytest.raises(ZeroDivisionError):
        marsyard.Simulation(marsyard.load_scenario("rt0448/test-1"))
    assert caplog.records == []
