"""Kernels that were brought along: when they are used, and when they are compiled anyway."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest
from llvmlite.binding import parse_bitcode
from numba.core import config
from numba.core.registry import cpu_target

from marsyard import kernel_cache
from marsyard.kernel_cache import MANIFEST, Built, KernelCache, built_here

SOURCE = """
from numba import types
from marsyard.jit import callback, kernel

@kernel
def twice(x):
    return 2 * x

@callback(types.float64(types.float64))
def thrice(x):
    return 3 * x
"""


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package with two kernels, which brings them along, compiled for another processor."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "made.py").write_text(SOURCE)
    monkeypatch.setattr(kernel_cache, "PACKAGE", folder)
    monkeypatch.setattr(kernel_cache, "COMPILED", folder / "compiled")
    _bring(folder, built_here()._replace(cpu="another", features=_some_features()))
    _forget()
    yield folder
    _forget()


def _some_features() -> str:
    """Two that this processor has."""
    return ",".join([f for f in built_here().features.split(",") if f.startswith("+")][:2])


def _forget() -> None:
    kernel_cache.brought.cache_clear()
    kernel_cache.unfit.cache_clear()


def _load(folder: Path, cache: Path) -> ModuleType:
    """The module of a folder anew, with an empty cache of its own."""
    config.CACHE_DIR, old = str(cache), config.CACHE_DIR
    try:
        spec = importlib.util.spec_from_file_location("made", folder / "made.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["made"] = module
        spec.loader.exec_module(module)
        assert module.twice.compiled  # with this cache
        return module
    finally:
        config.CACHE_DIR = old


def _bring(folder: Path, built: Built) -> None:
    """Compile both kernels and lay them into the folder's `compiled`, as if built otherwise."""
    made = _load(folder, folder.parent / "cache-of-the-build")
    made.twice(1.5)
    assert made.thrice.address
    codegen, own = cpu_target.target_context.codegen(), made.thrice._made
    twice = made.twice.compiled
    for cache, signature in ((twice._cache, twice.signatures[0]), (own._cache, own._sig)):
        key = cache._index_key(signature, codegen)
        file = cache.file_in(folder / "compiled")
        os.makedirs(file._cache_path, exist_ok=True)
        machine = (built.triple, built.cpu, built.features)
        file.save((key[0], machine, key[2]), cache._cache_file.load(key))
    _write(folder, built)


def _write(folder: Path, built: Built) -> None:
    (folder / "compiled" / MANIFEST).write_text(json.dumps(built._asdict()))
    _forget()


def _use(folder: Path) -> tuple[bool, bool]:
    """Call both kernels; whether each was loaded, not compiled."""
    made = _load(folder, folder.parent / "cache-of-the-user")
    assert made.twice(1.5) == 3.0
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(made.thrice.address)
    assert call(1.5) == 4.5
    return bool(made.twice.compiled.stats.cache_hits), bool(made.thrice._made.cache_hits)


def _written(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder.parent / "cache-of-the-user").rglob("*.nb?"))


def test_kernels_that_were_brought_along_are_not_compiled(package) -> None:
    before = sorted(package.rglob("*.nb?"))
    assert kernel_cache.unfit() == ""
    made = _load(package, package.parent / "cache-of-the-user")
    assert made.twice.compiled._cache.filled and made.thrice.cached
    assert _use(package) == (True, True)
    assert not _written(package) and sorted(package.rglob("*.nb?")) == before


def test_the_cache_keeps_machine_code_and_the_names_in_it(package) -> None:
    files = list((package / "compiled").glob("*.nbc"))
    assert len(files) == 2
    for data in files:
        (name, kind, (machine, names)), described, *_ = pickle.loads(data.read_bytes())
        module = parse_bitcode(names)
        kept = {each.name for each in module.functions if not each.is_declaration}
        assert described.llvm_func_name in kept
        # nothing is computed there: all of it is in the machine code, which has the names too
        for function in module.functions:
            assert [str(line).split()[0] for b in function.blocks for line in b.instructions] == [
                "ret"
            ]
            assert function.name.encode() in machine


def test_the_machines_own_cache_comes_first(package, monkeypatch) -> None:
    user = package.parent / "cache-of-the-user"
    monkeypatch.setattr(kernel_cache, "COMPILED", package / "nowhere")
    _forget()
    assert _use(package) == (False, False)
    assert len(_written(package)) == 4
    monkeypatch.setattr(kernel_cache, "COMPILED", package / "compiled")
    _forget()
    made, asked = _load(package, user), []
    monkeypatch.setattr(KernelCache, "_load_brought", lambda *_: asked.append(1))
    made.twice(1.5)
    assert made.twice.compiled.stats.cache_hits and not asked


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"numba": "0.1"}, "numba 0.1 and"),
        ({"llvmlite": "0.2"}, "llvmlite 0.2, but this environment has"),
        ({"python": "3.1"}, "are for Python 3.1,"),
        ({"cpu": "v9", "features": "+avx9,+fma9"}, "level v9, and this machine lacks avx9 fma9"),
        ({"triple": "sparc-sun"}, "are for sparc-sun, level another, and this machine is"),
    ],
)  # fmt: skip
def test_kernels_that_do_not_fit_are_compiled_and_told_of(package, change, told) -> None:
    _write(package, kernel_cache.brought()._replace(**change))
    assert told in kernel_cache.unfit() and "\n" not in kernel_cache.unfit()
    made = _load(package, package.parent / "cache-of-the-user")
    assert not made.twice.compiled._cache.filled and not made.thrice.cached
    assert _use(package) == (False, False)
    assert _use(package) == (True, True)


def test_whoever_names_a_processor_gets_kernels_for_it(package, monkeypatch) -> None:
    monkeypatch.setattr(config, "CPU_NAME", "haswell")
    _forget()
    assert "NUMBA_CPU_NAME" in kernel_cache.unfit()


def test_kernels_of_other_sources_are_not_taken(package) -> None:
    (package / "made.py").write_text(SOURCE.replace("2 * x", "x + x"))
    kernel_cache.fingerprint.cache_clear()
    kernel_cache._read.cache_clear()
    assert _use(package) == (False, False)


def test_the_fingerprint_is_the_same_wherever_a_package_lies(package, tmp_path) -> None:
    """What is built in one place is used in another."""
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "made.py").write_text(SOURCE)
    here = kernel_cache.fingerprint(package / "made.py", package)
    assert kernel_cache.fingerprint(moved / "made.py", moved) == here


def test_a_package_without_kernels_has_nothing_to_tell(package, monkeypatch) -> None:
    monkeypatch.setattr(kernel_cache, "COMPILED", package / "nowhere")
    _forget()
    assert kernel_cache.brought() is None and kernel_cache.unfit() == ""


def test_a_run_says_why_it_compiles(monkeypatch) -> None:
    """Once, before it says that it does."""
    from marsyard.scenario import load_scenario
    from marsyard.simulation import Simulation, simulation

    said: list[str] = []
    monkeypatch.setattr(simulation, "needs_compiling", lambda: True)
    monkeypatch.setattr(simulation, "unfit", lambda: "numba is another one")
    Simulation(load_scenario("leg2001/slope"), say=said.append)
    assert said[0] == "numba is another one" and said[1].startswith("compiling ")


@pytest.mark.parametrize(("hard", "soft", "begins"), [
    (True, False, "compiling the physics kernels"),
    (False, False, "compiling the kernels of this ground"),
    (False, True, None),
])  # fmt: skip
def test_a_run_says_what_it_compiles(monkeypatch, hard, soft, begins) -> None:
    from marsyard.scenario import load_scenario
    from marsyard.simulation import Simulation, simulation

    said: list[str] = []
    monkeypatch.setattr(simulation, "needs_compiling", lambda: hard)
    monkeypatch.setattr(simulation, "unfit", lambda: "")
    monkeypatch.setattr(simulation, "are_compiled", lambda laws: soft)
    Simulation(load_scenario("leg2001/slope"), say=said.append)
    assert [text for text in said if text.startswith("compiling")] == said
    assert len(said) == (begins is not None) and all(text.startswith(begins) for text in said)
