"""Old names of public things, which keep working for one version after they were renamed.

An attribute of a class:

    class EnergyAccount:
        path_length: float
        way = Renamed("path_length")

A name of a package is listed in `lazy_names(..., renamed={"OrganStates": "ContactBodyStates"})`.
Both issue a DeprecationWarning that names the new one.
"""

from __future__ import annotations

import warnings
from typing import Any


def warn_renamed(where: str, old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that `old` of a class or package is now called `new`."""
    warnings.warn(
        f"{where}.{old} is deprecated and will be removed in the next version; use {new}",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


class Renamed:
    """An attribute that has a new name: reading it warns, and returns the new one."""

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        warn_renamed(type(instance).__name__, self._old, self._new)
        return getattr(instance, self._new)
