"""Old public names work for one version and warn with the new one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

import marsyard.modules
from marsyard.renamed import Renamed
from marsyard.results import EnergyAccount, open_results


@dataclasses.dataclass(frozen=True)
class Box:
    width: float

    breadth = Renamed("width")


def test_an_old_attribute_warns_and_has_the_new_value():
    with pytest.warns(
        DeprecationWarning, match=r"Box\.breadth is deprecated .* use width$"
    ) as seen:
        assert Box(2.0).breadth == 2.0
    # the warning points at the caller
    assert seen[0].filename == __file__
    # it is no field, and the class itself can be looked at
    assert [f.name for f in dataclasses.fields(Box)] == ["width"]
    assert isinstance(Box.breadth, Renamed)


@pytest.mark.parametrize("old", ["way", "made_good", "rise"])
def test_old_names_of_the_energy_account(old):
    assert isinstance(vars(EnergyAccount)[old], Renamed)


def test_an_old_name_of_a_package_warns_and_is_the_new_one():
    with pytest.warns(DeprecationWarning, match="OrganStates is deprecated .* use Contact") as seen:
        old = marsyard.modules.OrganStates
    assert old is marsyard.modules.ContactBodyStates
    assert seen[0].filename == __file__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Organ'"):
        _ = marsyard.modules.Organ


def test_results_of_an_earlier_version_are_read_with_the_present_names(tmp_path):
    force = xr.DataArray(
        np.ones((2, 1, 3)), dims=("time", "organ", "axis"), coords={"organ": ["W"]}
    )
    file = tmp_path / "results.nc"
    xr.Dataset({"organ_force": force}, {"time": [0.0, 1.0]}).to_netcdf(file, engine="h5netcdf")
    ds = open_results(file)
    assert ds.contact_body_force.sel(contact_body="W").shape == (2, 3)
    assert "organ" not in ds.dims and "organ_force" not in ds
