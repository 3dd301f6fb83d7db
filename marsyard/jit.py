"""How the kernels are compiled, and when a cached one may be used again.

`kernel` is Numba's njit as all kernels need it: cached on disk, without the GIL, divisions as IEEE
says, and without reference counts on arrays (`_nrt`): nothing is allocated inside the kernels, and
counting the dozens of arrays that are passed down would cost more than their work.

Numba looks only at a function's own file to see whether its cache is stale, not at the files of
what it calls. Here every kernel's cache carries the fingerprint of all kernel files it could call,
so that a change in one, or an upgrade, never runs old code. Kernels of `marsyard/analysis` may call
those of all packages; no other package imports analysis, so the fingerprint of the others leaves it
out, and a change in an analysis costs the engine no new compilation.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.ccallback import CFunc

#: the package on the right, which calls kernels of the others and is called by none of them
_LAST = "analysis"


@functools.cache
def fingerprint(analysis: bool = False, folder: Path = Path(__file__).parent) -> str:
    """SHA-256 over the package's files that hold kernels; those of the analyses only if asked."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.is_relative_to(folder / _LAST) and not analysis:
            continue
        text = path.read_bytes()
        if b"marsyard.jit" in text or path.name == "jit.py":
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(text)
    return digest.hexdigest()


def _stamped(dispatcher: Any, function: Callable[..., Any]) -> Any:
    file = dispatcher._cache._cache_file
    file._source_stamp = fingerprint(function.__module__.startswith(f"marsyard.{_LAST}."))
    load = file._load_index

    def load_index() -> Any:
        # the index of an older version may name types that are no longer where they were
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    file._load_index = load_index
    return dispatcher


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function as a kernel (decorator, with or without options of njit)."""
    if function is None:
        return functools.partial(kernel, **options)
    given = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False, **options}
    return _stamped(njit(**given)(function), function)


class Callback:
    """A function compiled as a C callback when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        kind = (signature.args, signature.return_type)
        self._made: Any = CFunc(function, kind, {}, {"error_model": "numpy"})
        self._made.enable_caching()
        _stamped(self._made, function)

    @property
    def cached(self) -> bool:
        """It lies in the cache on disk."""
        return bool(self._made._cache._cache_file._load_index())

    @functools.cached_property
    def address(self) -> int:
        """Compile it or load it from the cache."""
        self._made.compile()
        return int(self._made.address or 0)


def callback(signature: Any) -> Callable[[Callable[..., Any]], Callback]:
    """Decorator for a C callback of the given signature."""
    return lambda function: Callback(function, signature)


#: for small functions with many array arguments, whose passing would cost more than their work
inlined = kernel(forceinline=True)
#: for functions that make arrays, outside the loop
allocating = kernel(_nrt=True)
#: `fastmath` of loops that are to run on vector units: sums in any order, fused multiply-add
VECTOR = {"reassoc", "contract", "nsz", "arcp"}
