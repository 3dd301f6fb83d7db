"""Names of a package that load when first used, so that importing it stays fast (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, home: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; `home` says in which of its modules a name is, or
    in which one of the package around it (".ports")."""

    def load(name: str) -> Any:
        if name in home:
            return getattr(import_module(f".{home[name]}", package), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return load, names
