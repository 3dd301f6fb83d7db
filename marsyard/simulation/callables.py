"""Calls of the contact solver and of the distance to the ground by their addresses.

Numba compiles whatever a function calls into that function again, at every level. The solver and
the geometry are large, so they are compiled once as C callbacks (`contact_geometry.callbacks` and
`nonsmooth.callback` of `interaction`) and the loop calls them by address, as it calls MuJoCo: the
loop compiles quickly, and either can change without the other being compiled anew.
"""

from __future__ import annotations

from numba import types

from marsyard.c_calls import void_call
from marsyard.jit import inner

_P, _I, _D = types.int64, types.int64, types.float64
_call_solve = void_call((_I, _P, _I, _P, _P, _P, _P, _P, _I, _D, _I, _I, _P))
_call_distance = void_call((_I, _D, _D, _P, _P, _P, _I, _I, _P))


@inner
def solve_problem(address, n, contacts, tolerance, most, method):
    """Solve the problem in contacts.delassus, q, mu; r and u are written.

    Returns status, iterations and residual of the solver.
    """
    _call_solve(
        address, n, contacts.delassus.ctypes.data, contacts.q.shape[0], contacts.q.ctypes.data,
        contacts.mu.ctypes.data, contacts.r.ctypes.data, contacts.u.ctypes.data,
        contacts.work.ctypes.data, contacts.work.shape[0], tolerance, most, method,
        contacts.answer.ctypes.data,
    )  # fmt: skip
    return contacts.answer[0], contacts.answer[1], contacts.answer[2]


@inner
def surface_distance(address, wheels, w, centre, axis, ground, surface, only, contacts):
    """Gap [m] between wheel w and one surface, at any distance; one more than the number of the
    nearest triangle of a mesh into contacts.answer[2], or 0. only: likewise one that is looked at
    alone, or 0."""
    contacts.answer[1] = only
    _call_distance(
        address, wheels.kind[w], wheels.radius[w], wheels.width[w], centre.ctypes.data,
        axis.ctypes.data, ground.ctypes.data, ground.shape[0], surface, contacts.answer.ctypes.data,
    )  # fmt: skip
    return contacts.answer[0]
