"""Arrays behind plain addresses: how large laws are handed their arrays through a C callback.

A law that is compiled apart from the loop (`callables`) gets one table, int64[arrays, 5], with the
address and the shape of each of its arrays; the readers turn a row back into an array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray

from marsyard.jit import allocating
from marsyard.simulation.mujoco_c import as_pointer


def address_table(*groups: NamedTuple) -> np.ndarray:
    """Address and shape of every array of the named tuples, int64[arrays, 5], in order.

    The arrays must be kept alive as long as the table is in use."""
    arrays = [a for group in groups for a in group]
    table = np.zeros((len(arrays), 5), dtype=np.int64)
    for row, array in zip(table, arrays, strict=True):
        if not array.flags.c_contiguous:
            raise TypeError("arrays of a law must be contiguous")
        row[0] = array.ctypes.data
        row[1 : 1 + array.ndim] = array.shape
    return table


def _reader(kind: type, dimensions: int):
    if dimensions == 1:

        @allocating
        def read(table, k):
            return carray(as_pointer(table[k, 0], kind), (table[k, 1],))

    elif dimensions == 2:

        @allocating
        def read(table, k):
            return carray(as_pointer(table[k, 0], kind), (table[k, 1], table[k, 2]))

    elif dimensions == 3:

        @allocating
        def read(table, k):
            return carray(as_pointer(table[k, 0], kind), (table[k, 1], table[k, 2], table[k, 3]))

    else:

        @allocating
        def read(table, k):
            return carray(
                as_pointer(table[k, 0], kind), (table[k, 1], table[k, 2], table[k, 3], table[k, 4])
            )

    return read


#: readers by type and number of dimensions
f1, f2, f3, f4 = (_reader(np.float64, n) for n in (1, 2, 3, 4))
i1, i2, i3 = (_reader(np.int64, n) for n in (1, 2, 3))
b1, b3 = (_reader(np.uint8, n) for n in (1, 3))
