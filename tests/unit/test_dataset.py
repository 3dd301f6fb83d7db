"""The data set on disk, and series by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from synthetic import GRAVITY, MASS, WHEELS, dataset

from marsyard.errors import InputError
from marsyard.results import lines, names, open_results, save, series


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return dataset(period=0.02, duration=8.0)


def test_round_trip_keeps_values_labels_and_attributes(ds, tmp_path):
    path = save(ds.assign_attrs(flag=True, nothing=None, versions={"numpy": "2"}), tmp_path)
    back = open_results(tmp_path)
    assert path == tmp_path / "results.nc"
    xr.testing.assert_equal(back, ds)
    assert back["gap"].attrs == ds["gap"].attrs
    assert back.attrs["flag"] == 1 and back.attrs["versions"] == '{"numpy": "2"}'
    xr.testing.assert_identical(back, open_results(path))


def test_saving_compresses_and_leaves_nothing_else(ds, tmp_path):
    path = save(ds, tmp_path / "run" / "results.nc")
    assert [p.name for p in path.parent.iterdir()] == ["results.nc"]
    assert path.stat().st_size < 0.6 * ds.nbytes


def test_a_failed_save_keeps_the_old_file(ds, tmp_path):
    save(ds, tmp_path)
    broken = ds.assign(position_base=ds["position_base"].astype(object))
    broken["position_base"].values[0, 0] = object()
    with pytest.raises(Exception):  # noqa: B017 (whatever the writer raises)
        save(broken, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["results.nc"]
    xr.testing.assert_equal(open_results(tmp_path), ds)


def test_opening_what_is_no_run_says_so(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_results(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not the folder of a run"):
        open_results(tmp_path)
    (tmp_path / "results.nc").write_text("not a data set")
    with pytest.raises(InputError, match="not a file of results"):
        open_results(tmp_path)
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="no dimension 'time'"):
        open_results(tmp_path / "other.nc")


def test_components_are_picked_in_any_order(ds):
    np.testing.assert_array_equal(series(ds, "position_base.z"), ds["position_base"][:, 2])
    a = series(ds, "impulse_tangent.RL.plane.left")
    b = series(ds, "impulse_tangent.left.RL")
    np.testing.assert_array_equal(a, b)
    assert a.dims == ("time",) and a.attrs["units"] == "N s"


def test_surfaces_left_over_are_summed_and_gaps_give_the_smallest(ds):
    two = xr.concat([ds[["impulse_normal", "gap"]]] * 2, dim="surface")
    two["surface"] = ["plane", "rock"]
    two["gap"].loc[{"surface": "rock"}] -= 0.5
    both = series(two, "impulse_normal.FL")
    np.testing.assert_allclose(both, 2 * series(ds, "impulse_normal.FL"))
    np.testing.assert_allclose(series(two, "gap.FL"), series(ds, "gap.FL") - 0.5)
    np.testing.assert_allclose(series(two, "gap.FL.plane"), series(ds, "gap.FL"))


def test_dimensions_left_over_become_lines(ds):
    curves = lines(ds, "impulse_normal")
    assert [c.label for c in curves] == list(WHEELS)
    assert all(c.units == "N s" and c.values.shape == c.time.shape for c in curves)
    assert [c.label for c in lines(ds, "position_base.z")] == ["z"]
    assert [c.label for c in lines(ds, "speed")] == ["speed"]
    assert len(lines(ds, "coordinates")) == 13
    assert lines(ds, "coordinates.2")[0].values[0] == pytest.approx(1.12)


def test_reductions_over_what_is_left(ds):
    rate = ds["wheel_rate"].values
    np.testing.assert_allclose(series(ds, "wheel_rate.mean"), rate.mean(axis=1))
    np.testing.assert_allclose(series(ds, "impulse_normal.max"), ds["impulse_normal"].max(
        ["wheel", "surface"]))  # fmt: skip
    forward = ds["impulse_tangent"].values[..., 0].sum(axis=(1, 2))
    for name in ("impulse_tangent.forward.sum", "impulse_tangent.sum.forward"):
        total = series(ds, name)
        np.testing.assert_allclose(total, forward)
        assert total.dims == ("time",) and total.attrs["units"] == "N s"
    # of the contact points those in the air are not known: they do not count
    x = ds["contact_point"].values[..., 0]
    some = np.isfinite(x).any(axis=1)
    np.testing.assert_allclose(
        series(ds, "contact_point.x.min").values[some], np.nanmin(x[some], axis=1)
    )
    assert np.isnan(series(ds, "contact_point.x.sum").values[~some]).all()
    assert [c.label for c in lines(ds, "wheel_rate.mean")] == ["mean"]


def test_reductions_that_make_no_sense(ds):
    with pytest.raises(InputError, match=r"one curve already; drop '\.mean'"):
        series(ds, "speed.mean")
    with pytest.raises(InputError, match="one of mean, max at a time"):
        series(ds, "wheel_rate.mean.max")
    with pytest.raises(InputError, match="did you mean 'mean'"):
        series(ds, "wheel_rate.meen")


def test_a_component_called_like_a_reduction_goes_before():
    ds = xr.Dataset(
        {"power": (("time", "limit"), [[1.0, 7.0]])},
        coords={"time": [0.0], "limit": ["min", "max"]},
    )
    assert series(ds, "power.min").item() == 1.0
    assert series(ds, "power.mean").item() == 4.0


def test_labels_may_hold_dots():
    ds = xr.Dataset(
        {"joint_angle": (("time", "joint"), [[1.0, 2.0]])},
        coords={"time": [0.0], "joint": ["bogie.left", "bogie.right"]},
    )
    assert series(ds, "joint_angle.bogie.right").item() == 2.0


def test_derived_series(ds):
    rest = series(ds, "force_normal_sum").values[-1]
    assert rest == pytest.approx(MASS * GRAVITY)
    assert series(ds, "force_normal.RL").values[-1] == pytest.approx(0.16 * rest)
    assert series(ds, "force_tangent.RL.left").values[-1] == pytest.approx(0.02 * 0.16 * rest)
    assert series(ds, "impulse_normal_sum").values[-1] == pytest.approx(rest * 0.02)
    assert series(ds, "speed").values[-1] == pytest.approx(0.2 * (1 - np.exp(-3)))
    energy = series(ds, "energy")
    np.testing.assert_allclose(energy, ds["energy_kinetic"] + ds["energy_potential"])
    assert energy.attrs["units"] == "J"


def test_friction_use_is_the_largest_over_surfaces():
    """Two wheels on floor and wall: 3, 4 over 10 and 1 over 4; the second one in the air."""
    normal = [[[10.0, 4.0], [0.0, 0.0]]]
    tangent = [[[[3.0, -4.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]]
    ds = xr.Dataset(
        {
            "impulse_normal": (("time", "wheel", "surface"), normal),
            "impulse_tangent": (("time", "wheel", "surface", "tangent"), tangent),
        },
        coords={
            "time": [0.1], "wheel": ["L", "R"], "surface": ["floor", "wall"],
            "tangent": ["forward", "left"],
        },
    )  # fmt: skip
    assert series(ds, "friction_use").values.tolist() == [[0.5, 0.0]]
    assert series(ds, "friction_use.max").item() == 0.5


def test_attitude_of_known_rotations(ds):
    # R = Rz(yaw) Ry(pitch) Rx(roll), here yaw passes π and runs on
    yaw = np.linspace(0.0, 4.0, ds.sizes["time"])
    roll, pitch = 0.3, -0.4
    parts = [(np.cos(a / 2), np.sin(a / 2)) for a in (roll, pitch)]
    (cr, sr), (cp, sp), cy, sy = *parts, np.cos(yaw / 2), np.sin(yaw / 2)
    quaternion = np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=1,
    )
    turned = ds.assign(quaternion_base=(("time", "quat"), quaternion))
    np.testing.assert_allclose(series(turned, "yaw"), yaw, atol=1e-12)
    np.testing.assert_allclose(series(turned, "roll"), roll, atol=1e-12)
    np.testing.assert_allclose(series(turned, "pitch"), pitch, atol=1e-12)


def test_unknown_names_offer_the_nearest(ds):
    with pytest.raises(InputError, match="did you mean 'impulse_normal'"):
        series(ds, "impulse_normale")
    with pytest.raises(InputError, match="no component 'RX'.*did you mean 'R"):
        series(ds, "impulse_normal.RX")
    with pytest.raises(InputError, match="no component 'z'"):
        series(ds, "speed.z")
    assert {"gap", "speed", "energy"} <= set(names(ds))


def test_importing_the_package_is_light():
    code = (
        "import sys, marsyard.results; "
        "sys.exit(any(m in sys.modules for m in ('matplotlib', 'viser', 'mujoco', 'xarray')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_engine_loads_without_data_frames():
    """Stepping by hand needs no data set: xarray and pandas load when one is made."""
    code = (
        "import sys; from marsyard.simulation import Simulation; "
        "sys.exit(any(m in sys.modules for m in ('xarray', 'pandas', 'matplotlib', 'dask')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
