"""Where compiled kernels are kept, and when one may be used again.

Numba looks only at a function's own file to see whether its cache is stale, not at the files of
what it calls. Here every kernel's cache carries the fingerprint of its own file and of all that
this one imports, directly or through other files with kernels and through packages' `__init__`: a
change in one makes stale what could call it, and nothing else. What a law's file holds behind an
address costs the loop that calls it no new compilation. How kernels are kept changes nothing in
them: this file is in no fingerprint.

A wheel brings kernels along, compiled for a common level of processor (`release/make_wheel.py`).
They lie in `compiled/` inside the package, where nothing is ever written. What is not in the cache
of this machine is looked for there. Where they do not fit, because numba is another one or the
processor is too old, kernels compile as ever, and `unfit` says why.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

PACKAGE = Path(__file__).parent
#: what a wheel brought, and the file in it that says how it was made
COMPILED = PACKAGE / "compiled"
MANIFEST = "built.json"

# --- fingerprints

#: at the top of a file: what functions import themselves, or only checkers of types, no kernel sees
_IMPORT = re.compile(
    r"^(?:from[ ]+([.\w]+)[ ]+import[ ]+(\([^)]*\)|[^\n]*)|import[ ]+([.\w]+))", re.MULTILINE
)


@functools.cache
def _read(path: str) -> tuple[bytes, bool, tuple[str, ...]]:
    """Hash of a file, whether others are to be looked for behind it, modules it may import."""
    with open(path, "rb") as file:
        text = file.read()
    names: list[str] = []
    for module, listed, plain in _IMPORT.findall(text.decode()):
        # a name may be a module of the package
        names += [plain] if plain else [module]
        names += [f"{module.rstrip('.')}.{name}" for name in re.findall(r"\w+", listed)]
    follows = b"marsyard.jit" in text or os.path.basename(path) in ("__init__.py", "jit.py")
    return hashlib.sha256(text).digest(), follows, tuple(names)


@functools.cache
def _file(module: str, folder: str) -> str | None:
    """The file of a module of the package in `folder`."""
    path = os.path.join(folder, *module.split(".")[1:])
    for candidate in (f"{path}.py" if path != folder else "", os.path.join(path, "__init__.py")):
        if candidate and os.path.isfile(candidate):
            return candidate
    return None


@functools.cache
def _package(folder: str) -> str:
    """The outermost package that a folder is in."""
    above = os.path.dirname(folder)
    return _package(above) if os.path.isfile(os.path.join(above, "__init__.py")) else folder


def _found(name: str, path: str, folder: str) -> str | None:
    """The file of a module that the file at `path` imports, if it is of its own package or of the
    one in `folder`."""
    own = _package(os.path.dirname(path))
    if name.startswith("."):
        up = len(name) - len(name.lstrip("."))
        inside = Path(path).parents[up - 1].relative_to(Path(own).parent).parts
        name = ".".join((*inside, *filter(None, name[up:].split("."))))
    first = name.split(".")[0]
    if first == os.path.basename(own):
        return _file(name, own)
    return _file(name, folder) if first in ("marsyard", os.path.basename(folder)) else None


@functools.cache
def _imported(path: str, folder: str) -> tuple[str, ...]:
    """The files that a file may call or take numbers from, directly."""
    _, follows, names = _read(path)
    found = (_found(name, path, folder) for name in names if follows)
    return tuple(dict.fromkeys(each for each in found if each and each != __file__))


@functools.cache
def fingerprint(path: Path, folder: Path = PACKAGE) -> str:
    """SHA-256 over a file and all that it may call or take numbers from in its package and in
    this one; the same wherever they lie."""
    seen = {str(path)}
    left = [str(path)]
    while left:
        new = [each for each in _imported(left.pop(), str(folder)) if each not in seen]
        seen.update(new)
        left += new
    digest = hashlib.sha256()
    for each in sorted(seen):
        digest.update(os.path.basename(each).encode())
        digest.update(_read(each)[0])
    return digest.hexdigest()


# --- kernels that were brought along


class Built(NamedTuple):
    """What kernels were compiled with, and for which processor."""

    python: str
    numba: str
    llvmlite: str
    triple: str
    cpu: str
    features: str  # that the processor must have, '+avx2,+fma', …

    @property
    def versions(self) -> str:
        """In words."""
        return f"Python {self.python}, numba {self.numba} and llvmlite {self.llvmlite}"


def built_here() -> Built:
    """What a kernel that is compiled now is compiled with."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Built(python, numba.__version__, llvmlite.__version__, *_machine())


def _machine() -> tuple[str, str, str]:
    """Numba's name of the machine that it compiles for: triple, processor, features."""
    return cpu_target.target_context.codegen().magic_tuple()


@functools.cache
def brought() -> Built | None:
    """What the kernels in this package were compiled with, if it has some."""
    try:
        return Built(**json.loads((COMPILED / MANIFEST).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


@functools.cache
def unfit() -> str:
    """Why the kernels that were brought along cannot be used; empty if they can, or if there are
    none."""
    built = brought()
    if built is None:
        return ""
    here, kernels = built_here(), "the compiled kernels of this package"
    if here[:3] != built[:3]:
        return f"{kernels} are for {built.versions}, but this environment has {here.versions}"
    if (config.CPU_NAME, config.CPU_FEATURES) != (None, None):  # type: ignore[attr-defined]
        return f"{kernels} are for {built.cpu}, and NUMBA_CPU_NAME or NUMBA_CPU_FEATURES is set"
    missing = sorted({*built.features.split(",")} - {*here.features.split(",")})
    if here.triple != built.triple or missing:
        lacks = f"lacks {' '.join(missing).replace('+', '')}" if missing else f"is {here.triple}"
        return f"{kernels} are for {built.triple}, level {built.cpu}, and this machine {lacks}"
    return ""


# --- the cache


@functools.cache
def _progress() -> Any:
    """Who hears what compiles in this process, where somebody wants to know."""
    from marsyard.compile_watch import FOLDER

    folder = os.environ.get(FOLDER)
    if folder is None:
        return None
    from marsyard.compile_progress import report_into

    return report_into(folder)


class _File(IndexDataCacheFile):
    def _load_index(self) -> Any:
        # the index of an older version may name types that are no longer where they were
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


class KernelCache(FunctionCache):
    """Numba's cache of one kernel on this machine, and behind it what was brought along."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._source = Path(function.__code__.co_filename)
        name = self._impl.filename_base
        self._cache_file = _File(self._cache_path, name, fingerprint(self._source))

    @property
    def filled(self) -> bool:
        """A kernel for this machine lies in it."""
        machine = _machine()
        if any(key[1] == machine for key in self._cache_file._load_index()):
            return True
        file = self._brought_file()
        return file is not None and bool(file._load_index())

    def file_in(self, folder: Path) -> IndexDataCacheFile | None:
        """Its place in a folder of kernels to be brought along, which has those of this package."""
        if not self._source.is_relative_to(PACKAGE):
            return None
        place = folder / self._source.parent.relative_to(PACKAGE)
        return _File(str(place), self._impl.filename_base, self._cache_file._source_stamp)

    def _brought_file(self) -> IndexDataCacheFile | None:
        return None if brought() is None or unfit() else self.file_in(COMPILED)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        if found is None:
            found = self._load_brought(sig, target_context)
        if found is None and (progress := _progress()) is not None:
            progress.missed(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel that was compiled."""
        super().save_overload(sig, data)
        if (progress := _progress()) is not None:
            progress.kept(self._py_func)

    def _load_brought(self, sig: Any, target_context: Any) -> Any:
        file, built = self._brought_file(), brought()
        if file is None or built is None:
            return None
        signature, _, code = self._index_key(sig, target_context.codegen())
        data = file.load((signature, (built.triple, built.cpu, built.features), code))
        return None if data is None else self._impl.rebuild(target_context, data)


def cached(made: Any, function: Callable[..., Any]) -> Any:
    """A dispatcher or a callback of Numba with a cache on disk."""
    made._cache = KernelCache(function)
    return made
