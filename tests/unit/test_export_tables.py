"""Tables and classic NetCDF of a run, read by pandas, pyarrow, csv and scipy."""

from __future__ import annotations

import csv
import errno
import json
import shutil
import tempfile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.io import netcdf_file
from synthetic import dataset

import marsyard
from marsyard.errors import InputError
from marsyard.results import lines, save, series
from marsyard.results.export import export
from marsyard.results.export.netcdf import write_netcdf


@pytest.fixture(scope="module")
def ds():
    return dataset(period=0.1, duration=2.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ds):
    run = tmp_path_factory.mktemp("run")
    save(ds, run)
    written = export(run, ["csv", "parquet", "netcdf"])
    assert all(path.parent == run / "export" and path.stat().st_size for path in written)
    return run


def test_one_line_opens_a_run_in_pandas(folder, ds):
    frame = marsyard.to_dataframe(folder)
    assert frame.index.name == "time" and len(frame) == ds.sizes["time"]
    for name in ("position_base.z", "wheel_rate.FL", "impulse_normal.FL.plane"):
        np.testing.assert_array_equal(frame[name], series(ds, name))
    assert frame.attrs["units"]["position_base.z"] == "m"
    # every curve of every variable over time is there, once
    count = sum(int(v.size / ds.sizes["time"]) for v in ds.data_vars.values() if "time" in v.dims)
    assert frame.shape[1] == count == len(set(frame.columns))


def test_parquet_keeps_every_bit_the_units_and_the_attributes(folder, ds):
    path = folder / "export" / "results.parquet"
    frame = pd.read_parquet(path)
    pd.testing.assert_frame_equal(frame, marsyard.to_dataframe(ds), check_exact=True)
    assert (
        frame.attrs["units"][f"motor_torque.{ds.joint.values[0]}"]
        == ds["motor_torque"].attrs["units"]
    )
    field = pq.read_schema(path).field("position_base.x")
    assert field.metadata[b"unit"] == b"m" and b"position" in field.metadata[b"long_name"]
    assert json.loads(pq.read_schema(path).metadata[b"title"]) == ds.attrs["title"]
    assert pq.read_schema(path).names[0] == "time"


def test_csv_keeps_every_bit_and_has_the_unit_in_its_head(folder, ds):
    frame = pd.read_csv(folder / "export" / "results.csv", index_col="time [s]")
    expected = marsyard.to_dataframe(ds)
    np.testing.assert_array_equal(frame.to_numpy(), expected.to_numpy())
    np.testing.assert_array_equal(frame.index, expected.index)
    assert frame.columns[0] == "position_base.x [m]"
    # Excel takes bytes beyond ASCII for another alphabet
    assert (folder / "export" / "results.csv").read_bytes().isascii()
    assert any(name.endswith(" [N m]") for name in frame.columns)
    with (folder / "export" / "constants.csv").open(encoding="utf-8") as stream:
        head = next(csv.reader(stream))
    assert head == ["name", "labels", "value", "unit", "long_name"]


def test_classic_netcdf_is_read_by_scipy(folder, ds):
    with netcdf_file(folder / "export" / "results_classic.nc", mmap=False) as file:
        assert file.version_byte == 2
        # times of a run are no dates, which the CF conventions ask for
        assert not hasattr(file, "Conventions") and file.variables["time"].units == b"s"
        assert not hasattr(file.variables["time"], "_FillValue")
        np.testing.assert_array_equal(file.variables["position_base"][:], ds["position_base"])
        assert file.variables["motor_torque"].units == b"N m"
        labels = [b"".join(row).decode().strip() for row in file.variables["wheel"][:]]
        assert labels == [str(w) for w in ds["wheel"].values]


def test_two_units_of_a_variable_are_a_comment_of_classic_netcdf(ds, tmp_path):
    ds = ds.copy(deep=True)
    ds["reaction"].attrs["units"] = "N·s, N·m·s"
    with netcdf_file(write_netcdf(ds, tmp_path)[0], mmap=False) as file:
        mixed = file.variables["reaction"]
        assert not hasattr(mixed, "units") and mixed.comment == b"units by component: N s, N m s"


def test_outputs_of_fmus_have_units_of_their_own(ds, tmp_path):
    values = np.zeros((ds.sizes["time"], 2))
    about = {"units": "see fmu_unit", "long_name": "outputs of the scenario's FMUs"}
    ds = ds.assign_coords(fmu=["motor.FL.current", "pilot.share"], fmu_unit=("fmu", ["A", ""]))
    ds = ds.assign(fmu_output=(("time", "fmu"), values, about))
    units = marsyard.to_dataframe(ds).attrs["units"]
    assert units["fmu_output.motor.FL.current"] == "A" and units["fmu_output.pilot.share"] == ""
    assert series(ds, "fmu_output.motor.FL.current").attrs["units"] == "A"
    assert [line.units for line in lines(ds, "fmu_output")] == ["A", ""]
    with netcdf_file(write_netcdf(ds, tmp_path)[0], mmap=False) as file:
        assert not hasattr(file.variables["fmu_output"], "units")


def test_a_folder_that_cannot_be_written_is_one_sentence(folder, tmp_path, monkeypatch):
    def closed(**_):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(tempfile, "mkdtemp", closed)
    with pytest.raises(InputError, match=r"--out: .* cannot be written \(Permission denied\)"):
        export(folder, ["parquet"], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_refusal_leaves_no_folder_and_no_file(folder, tmp_path, monkeypatch):
    broken = tmp_path / "run"
    shutil.copytree(folder, broken)
    (broken / "model.mjb").write_bytes(b"no model" * 50)
    (broken / "model.xml").unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in broken.iterdir())
    with pytest.raises(InputError, match="MuJoCo cannot read the model"):
        export(broken, ["csv", "mcap"])
    with pytest.raises(InputError, match="MuJoCo cannot read the model"):
        export(broken, ["csv", "mcap"], tmp_path / "a" / "b")
    assert sorted(p.name for p in broken.iterdir()) == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"], "nor MUJOCO_LOG.TXT"


def test_mistakes_are_one_sentence(folder, tmp_path):
    with pytest.raises(InputError, match="format 'parket'; did you mean 'parquet'"):
        export(folder, ["parket"])
    with pytest.raises(InputError, match="does not exist"):
        export(tmp_path / "nowhere", ["csv"])
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        export(folder, ["csv"], tmp_path / "taken")


def test_a_missing_package_is_named_with_its_extra(monkeypatch, folder):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs the package pandas: pip install 'marsyard\[data"):
        marsyard.to_dataframe(folder)
