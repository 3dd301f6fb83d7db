"""Progress of compiling: kernels are counted before, and told as they compile."""

import sys
from io import StringIO
from types import ModuleType

from numba import njit
from rich.console import Console

from marsyard.cli._compiling import CompileProgress, kernels_of
from marsyard.cli.run import _Bar
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


def test_lines_about_kernels_come_now_and_then(monkeypatch) -> None:
    stream, now = StringIO(), 0.0
    monkeypatch.setattr(sys.modules["marsyard.cli.run"], "monotonic", lambda: now)
    bar = _Bar(Console(file=stream), quiet=False)
    bar.say("compiling the physics kernels")
    for now in (5.0, 11.0, 12.0, 30.0):
        bar.count_kernels("loop.record", int(now), 135)
    bar.__exit__()
    assert stream.getvalue().splitlines() == [
        "compiling the physics kernels",
        "compiling: loop.record, 11 of 135 kernels",
        "compiling: loop.record, 30 of 135 kernels",
    ]
