"""Display order of wheels: front to rear, left before right.

Where a wheel is follows from its position in the base's frame at the first record; pairs are wheels
whose distance along the heading differs by less than a fifth of the rover's length. Data without
positions of wheels keep their order.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from marsyard.rotations import x_axes, y_axes

#: wheels this close along the heading are a pair, as a share of the distance from first to last
_PAIR = 0.2


def wheel_order(ds: xr.Dataset) -> list[int]:
    """The indices of the wheels, front to rear, left before right."""
    count = ds.sizes.get("wheel", 0)
    needed = ("wheel_position", "position_base", "quaternion_base")
    if count < 2 or not all(name in ds for name in needed):
        return list(range(count))
    place = ds["wheel_position"].transpose("time", "wheel", "axis").values[0]
    base = ds["position_base"].transpose("time", "axis").values[0]
    turn = ds["quaternion_base"].transpose("time", "quat").values[0]
    along, across = (place - base) @ x_axes(turn), (place - base) @ y_axes(turn)
    if not (np.isfinite(along).all() and np.isfinite(across).all()):
        return list(range(count))
    room = _PAIR * float(np.ptp(along))
    order = np.argsort(-along, kind="stable")
    rows = np.cumsum(np.diff(-along[order], prepend=-along[order[0]]) > room)
    row_of = np.empty(count, dtype=int)
    row_of[order] = rows
    return sorted(range(count), key=lambda k: (row_of[k], -across[k]))


def in_reading_order(ds: xr.Dataset) -> xr.Dataset:
    """The same data with the wheels in reading order."""
    order = wheel_order(ds)
    return ds if order == sorted(order) else ds.isel(wheel=order)
