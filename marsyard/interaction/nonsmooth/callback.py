"""The contact solver as a C callback, compiled apart from the loop."""

from __future__ import annotations

from numba import carray, types

from marsyard.aside import Aside
from marsyard.interaction.nonsmooth.kernel import solve_kernel
from marsyard.jit import callback

_F = types.CPointer(types.float64)
_i, _f = types.int64, types.float64


@callback(types.void(_i, _F, _i, _F, _F, _F, _F, _F, _i, _f, _i, _i, _F))
def solver(n, W, size, q, mu, r, u, work, work_size, tolerance, most, method, out):
    """The friction-contact solver on plain pointers."""
    status, iterations, residual, _ = solve_kernel(
        n, carray(W, (size, size)), carray(q, (size,)), carray(mu, (size // 3,)),
        carray(r, (size,)), carray(u, (size,)), carray(work, (work_size,)),
        tolerance, most, method,
    )  # fmt: skip
    out[0] = status
    out[1] = iterations
    out[2] = residual


solver_aside = Aside([solver], nice=5)
