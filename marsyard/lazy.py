"""What keeps importing fast: names of a package that load when first used (PEP 562), and no garbage
collection meanwhile."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, home: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; `home` says in which of its modules a name is, or
    in which one of the package around it (".ports"); `renamed` maps old names to new ones."""

    def load(name: str) -> Any:
        if name in home:
            return getattr(import_module(f".{home[name]}", package), name)
        if renamed and name in renamed:
            from marsyard.renamed import warn_renamed

            warn_renamed(package, name, renamed[name])
            return load(renamed[name])
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return load, names


@contextmanager
def gc_paused() -> Iterator[None]:
    """No garbage collection: imports make objects by the hundred thousand, which live to the end,
    and looking through them again and again takes a sixth of the time of importing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # all that is there goes into the oldest generation, not looked through for it
                gc.freeze()
                gc.unfreeze()
            gc.enable()
