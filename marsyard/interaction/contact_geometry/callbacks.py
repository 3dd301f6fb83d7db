"""The geometry of contact as C callbacks, compiled apart from what calls it."""

from __future__ import annotations

import numpy as np
from numba import carray, types

from marsyard.aside import Aside
from marsyard.c_calls import as_pointer
from marsyard.ground import GroundArrays
from marsyard.interaction.contact_geometry import wheel_contacts
from marsyard.interaction.contact_geometry.query import distance_to
from marsyard.jit import allocating, callback

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
    """Distance of one wheel to one surface, into out[0]; one more than the number of the nearest
    triangle of a mesh into out[2], or 0. out[1]: likewise one that is looked at alone, or 0."""
    gap, nearest = distance_to(
        kind, radius, width, carray(centre, (3,)), carray(axis, (3,)),
        _ground(carray(table, (tables, 3))), surface, int(out[1]) - 1,
    )  # fmt: skip
    out[0], out[2] = gap, nearest + 1


geometry_aside = Aside([contact_finder, distance_finder], nice=15)
