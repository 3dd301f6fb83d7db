"""How the parts of a simulation know it, without keeping it alive.

A part that held its simulation would close a cycle of references, and the memory of a simulation
(MuJoCo's data, soil, records) would stay until Python's garbage collector comes by: a loop over
many runs would fill the memory first. With these references a simulation is freed with its last
use.
"""

from __future__ import annotations

import weakref
from typing import Any


def part_of(owner: Any) -> Any:
    """The owner as its part may hold it: used like the owner itself, a ReferenceError once the
    owner is gone."""
    return owner if isinstance(owner, weakref.ProxyTypes) else weakref.proxy(owner)
