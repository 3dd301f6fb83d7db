"""Wheels front to rear, left before right, wherever the rover stands and looks."""

import numpy as np
import pytest
import xarray as xr
from synthetic import dataset

from marsyard.results.wheel_order import in_reading_order, wheel_order

ORDER = ["FL", "FR", "CL", "CR", "RL", "RR"]


def turned(ds: xr.Dataset, yaw: float) -> xr.Dataset:
    """The run as seen by somebody who stands elsewhere."""
    c, s = np.cos(yaw), np.sin(yaw)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    out = ds.copy(deep=True)
    for name, dims in (("position_base", ("time", "axis")),
                       ("wheel_position", ("time", "wheel", "axis"))):  # fmt: skip
        out[name] = (dims, ds[name].transpose(*dims).values @ turn.T + [3.0, -7.0, 1.0])
    w, x, y, z = ds["quaternion_base"].transpose("quat", "time").values
    half, side = np.cos(yaw / 2), np.sin(yaw / 2)
    new = np.stack([half * w - side * z, half * x - side * y, half * y + side * x,
                    half * z + side * w], axis=1)  # fmt: skip
    out["quaternion_base"] = (("time", "quat"), new)
    return out


@pytest.fixture(scope="module")
def ds():
    from synthetic import soil_dataset

    return soil_dataset()


@pytest.mark.parametrize("yaw", [0.0, 1.0, np.pi, -2.0])
def test_front_to_rear_left_first(ds, yaw):
    names = [str(w) for w in ds["wheel"].values]
    assert names != ORDER
    assert [names[k] for k in wheel_order(turned(ds, yaw))] == ORDER
    assert [str(w) for w in in_reading_order(turned(ds, yaw))["wheel"].values] == ORDER


def test_without_positions_the_order_stays():
    ds = dataset().drop_vars("wheel_position", errors="ignore")
    assert wheel_order(ds) == list(range(6)) and in_reading_order(ds) is ds
