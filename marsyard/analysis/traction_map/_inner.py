"""Kernels that only kernels call.

They have no door from Python: reading some thirty arrays out of tuples there would take longer to
compile than most of the kernels themselves.
"""

from __future__ import annotations

from typing import Any

from marsyard.jit import VECTOR, kernel

_CLOSED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = kernel(**_CLOSED)
#: for large functions that are called at one place: compiled there and nowhere else
merged = kernel(inline="always")
#: sums in any order
inner_vector = kernel(fastmath=VECTOR, **_CLOSED)
