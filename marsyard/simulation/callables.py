"""The contact solver and the wheel geometry behind plain addresses.

Numba compiles whatever a function calls into that function again, at every level. The solver and
the geometry are large, so they are compiled once as C callbacks and the loop calls them by address,
as it calls MuJoCo: the loop compiles quickly, and either can change without the other being
compiled anew.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
from numba import carray, types

from marsyard.ground import GroundArrays
from marsyard.interaction.contact_geometry import wheel_contacts, wheel_distance
from marsyard.interaction.nonsmooth.kernel import solve_kernel
from marsyard.jit import Callback, allocating, callback, kernel
from marsyard.simulation.mujoco_c import as_pointer, void_call

_F = types.CPointer(types.float64)
_N = types.CPointer(types.int64)
_i, _f = types.int64, types.float64

#: number type and dimensions of each table of GroundArrays, in order
_TABLES = {
    "surface": ("i", 2), "plane": ("f", 2), "plane_surface": ("i", 1), "sphere": ("f", 2),
    "sphere_surface": ("i", 1), "mesh": ("i", 2), "mesh_normal": ("f", 2), "node": ("f", 2),
    "triangle": ("f", 2), "triangle_index": ("i", 2), "edge": ("f", 2), "edge_group": ("i", 1),
    "vertex": ("f", 2), "ring": ("i", 1), "ray": ("f", 2),
}  # fmt: skip


def ground_table(ground: GroundArrays) -> np.ndarray:
    """Address, rows and columns of every table of the ground, int64[tables, 3].

    The ground must be kept alive as long as the table is in use.
    """
    table = np.zeros((len(ground), 3), dtype=np.int64)
    if ground._fields != tuple(_TABLES):
        raise TypeError(f"GroundArrays has the fields {ground._fields}")
    for k, (name, array) in enumerate(zip(ground._fields, ground, strict=True)):
        kind, dimensions = _TABLES[name]
        dtype = np.float64 if kind == "f" else np.int64
        if array.ndim != dimensions or array.dtype != dtype or not array.flags.c_contiguous:
            raise TypeError(f"GroundArrays.{name} has shape {array.shape}, type {array.dtype}")
        table[k] = array.ctypes.data, array.shape[0], array.shape[-1]
    return table


@allocating
def _floats(table, k):
    return carray(as_pointer(table[k, 0], np.float64), (table[k, 1], table[k, 2]))


@allocating
def _integers(table, k):
    return carray(as_pointer(table[k, 0], np.int64), (table[k, 1], table[k, 2]))


@allocating
def _row(table, k):
    return carray(as_pointer(table[k, 0], np.int64), (table[k, 1],))


@allocating
def _ground(table):
    return GroundArrays(
        _integers(table, 0), _floats(table, 1), _row(table, 2), _floats(table, 3), _row(table, 4),
        _integers(table, 5), _floats(table, 6), _floats(table, 7), _floats(table, 8),
        _integers(table, 9), _floats(table, 10), _row(table, 11), _floats(table, 12),
        _row(table, 13), _floats(table, 14),
    )  # fmt: skip


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


@callback(types.void(_i, _f, _f, _F, _F, _N, _i, _f, _i, _F, _F, _F, _N, _N, _N))
def contact_finder(kind, radius, width, centre, axis, table, tables, margin, most,
                   point, normal, gap, surface, feature, count):  # fmt: skip
    """All contacts of one wheel."""
    count[0] = wheel_contacts(
        kind, radius, width, carray(centre, (3,)), carray(axis, (3,)),
        _ground(carray(table, (tables, 3))), margin, most, carray(point, (most, 3)),
        carray(normal, (most, 3)), carray(gap, (most,)), carray(surface, (most,)),
        carray(feature, (most,)),
    )  # fmt: skip


@callback(types.void(_i, _f, _f, _F, _F, _N, _i, _i, _F))
def distance_finder(kind, radius, width, centre, axis, table, tables, surface, out):
    """Distance of one wheel to one surface."""
    out[0] = wheel_distance(
        kind, radius, width, carray(centre, (3,)), carray(axis, (3,)),
        _ground(carray(table, (tables, 3))), surface,
    )  # fmt: skip


class Aside:
    """Callbacks that are compiled in a process of their own, if they are not in the cache.

    The solver is about half of all there is to compile; the other half goes on here meanwhile.
    """

    def __init__(self, module: str, **callbacks: Callback) -> None:
        self._module = module
        self._callbacks = callbacks
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, if there is something to compile."""
        missing = [name for name, made in self._callbacks.items() if not made.cached]
        if self._process is not None or not missing:
            return
        # the loop takes longest and is compiled here: the others give way to it
        code = (
            "import os; getattr(os, 'nice', int)(10); "
            f"import {self._module} as m; [getattr(m, n).address for n in {missing!r}]"
        )
        quiet = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdout=quiet, stderr=quiet
            )

    def addresses(self) -> list[int]:
        """Addresses of all callbacks, once they are compiled."""
        self.start()
        if self._process is not None:
            self._process.wait()
        return [made.address for made in self._callbacks.values()]


solver_aside = Aside("marsyard.simulation.callables", solver=solver)


_P, _I, _D = types.int64, types.int64, types.float64
_call_solve = void_call((_I, _P, _I, _P, _P, _P, _P, _P, _I, _D, _I, _I, _P))
_call_contacts = void_call((_I, _D, _D, _P, _P, _P, _I, _D, _I, _P, _P, _P, _P, _P, _P))
_call_distance = void_call((_I, _D, _D, _P, _P, _P, _I, _I, _P))


@kernel
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


@kernel
def near_contacts(address, wheels, w, centre, axis, ground, margin, contacts):
    """Contacts of wheel w (or of a shape likewise) into contacts.near_…; returns their number."""
    _call_contacts(
        address, wheels.kind[w], wheels.radius[w], wheels.width[w], centre.ctypes.data,
        axis.ctypes.data, ground.ctypes.data, ground.shape[0], margin, contacts.near_gap.shape[0],
        contacts.near_point.ctypes.data, contacts.near_normal.ctypes.data,
        contacts.near_gap.ctypes.data, contacts.near_surface.ctypes.data,
        contacts.near_feature.ctypes.data, contacts.near_count.ctypes.data,
    )  # fmt: skip
    return contacts.near_count[0]


@kernel
def surface_distance(address, wheels, w, centre, axis, ground, surface, contacts):
    """Gap [m] between wheel w and one surface, at any distance."""
    _call_distance(
        address, wheels.kind[w], wheels.radius[w], wheels.width[w], centre.ctypes.data,
        axis.ctypes.data, ground.ctypes.data, ground.shape[0], surface, contacts.answer.ctypes.data,
    )  # fmt: skip
    return contacts.answer[0]
