"""Fingerprints of the compiled kernels: what makes a cached one stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from marsyard.jit import fingerprint, kernel


def _package(folder: Path, **texts: str) -> Path:
    for name, text in {"engine": "a = 1", "analysis": "b = 1", **texts}.items():
        (folder / name).mkdir(exist_ok=True)
        uses = "" if name == "plain" else "from marsyard.jit import kernel\n"
        (folder / name / "kernels.py").write_text(uses + text)
    fingerprint.cache_clear()
    return folder


@pytest.fixture(autouse=True)
def _forget():
    yield
    fingerprint.cache_clear()


@pytest.mark.parametrize(
    ("package", "engine", "analysis"),
    [("engine", True, True), ("analysis", False, True), ("plain", False, False)],
)
def test_a_change_makes_stale_what_could_call_it(tmp_path, package, engine, analysis):
    """Analyses may call kernels of the engine, never the other way round."""
    folder = _package(tmp_path, plain="c = 1")
    before = [fingerprint(which, folder) for which in (False, True)]
    _package(tmp_path, **{"plain": "c = 1", package: "changed = 2"})
    after = [fingerprint(which, folder) for which in (False, True)]
    assert [a != b for a, b in zip(before, after, strict=True)] == [engine, analysis]
    assert before[0] != before[1]


def test_a_kernel_carries_the_fingerprint_of_its_package():
    def nothing():
        return 0

    stamps = []
    for module in ("marsyard.ground.x", "marsyard.analysis.x.y", "marsyard.analysis_of_mine"):
        nothing.__module__ = module
        stamps.append(kernel(nothing)._cache._cache_file._source_stamp)
    assert stamps == [fingerprint(), fingerprint(True), fingerprint()]


def test_no_package_before_imports_an_analysis_kernel():
    """What the shorter fingerprint rests on."""
    import marsyard

    folder = Path(marsyard.__file__).parent
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "marsyard.jit" in text and not path.is_relative_to(folder / "analysis"):
            assert path.name == "jit.py" or "marsyard.analysis" not in text, path


def test_files_with_kernels_under_another_name_say_so():
    """Decorators made of `kernel` elsewhere: the fingerprint looks for the words marsyard.jit."""
    import re

    import marsyard

    for path in Path(marsyard.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^@(kernel|inlined|allocating|inner|inner_vector|merged)\b", text, re.M):
            assert "marsyard.jit" in text, path
