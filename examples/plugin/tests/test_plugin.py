"""What this package brings works in marsyard; needs it installed."""

import numpy as np
import pytest

import marsyard
from marsyard import library, plugins


def test_everything_is_found():
    assert "four_wheeler" in library.names("rovers")
    assert "dune_sand" in library.names("soils")
    assert "dune_field" in library.names("grounds")
    assert library.origin_of("scenarios", "dunes/crossing").startswith("marsyard-dunes")
    assert "elastic_bed" in plugins.found("laws")
    assert "hold_heading" in plugins.found("controllers")
    assert "dunes" in plugins.found("generators")


def test_rover_crosses_dunes():
    data = marsyard.run("dunes/crossing").data
    assert 2.0 < float(data.position_base.sel(axis="x")[-1]) < 4.0
    assert abs(float(data.position_base.sel(axis="y")[-1])) < 0.3
    assert np.ptp(data.position_base.sel(axis="z").values) > 0.05


def test_rover_turns_on_the_elastic_bed():
    result = marsyard.run("dunes/elastic-bed")
    assert result.ok, [(c.name, c.computed) for c in result.checks]


def test_a_wrong_option_is_told():
    with pytest.raises(marsyard.InputError, match="options: stiffness, damping, friction"):
        marsyard.run("dunes/elastic-bed", settings={"interaction.plugin.options.stifness": 1e4})
