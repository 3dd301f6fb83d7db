"""Plots of a page as data: what is chosen, thinned, carried once, and safe in a page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from synthetic import dataset, soil_dataset

from marsyard.drawing.page_plots import (
    PageCurve,
    PagePanel,
    PagePlot,
    json_in_page,
    plots_data,
)
from marsyard.results.run_plots import key_plot, plots_of_run
from marsyard.scenario.report_schema import Figure


def panels(plot) -> list[str]:
    return [panel.label for panel in plot.panels]


def test_key_plots_of_a_run_on_soil_are_slip_sinkage_and_power():
    slip, sinkage, power = key_plot(soil_dataset()).panels
    assert slip.label.replace("_", " ") == "slip ratio [%]" and sinkage.label.endswith("[mm]")
    assert power.label.endswith("[W]")


def test_key_plots_begin_with_those_of_the_scenario():
    own = (
        Figure(title="cloud", panels=(("speed",),), against="yaw"),
        Figure(title="part", panels=(("speed",),), start=1.0),
        Figure(title="nothing", panels=(("sinkage.none",),)),
        Figure(title="height", panels=(("position_base.z",), ("speed",)), units=("cm",)),
        Figure(title="angle", panels=(("yaw",),)),
        Figure(title="third", panels=(("pitch",),)),
    )
    found = panels(key_plot(dataset(), own))
    assert len(found) == 3 and found[0].endswith("z [cm]") and found[1] == "yaw [°]"
    assert "pitch [°]" not in found


def test_angles_in_degrees_against_another_variable_too():
    figure = Figure(title="t", panels=(("speed",),), against="yaw")
    plot = next(p for p in plots_of_run(dataset(), (figure,)) if p.title == "t")
    ds = dataset()
    assert plot.x_label == "yaw [°]" and not plot.linked
    points, median = plot.panels[0].curves
    assert points.points and not median.points
    q = ds["quaternion_base"].transpose("time", "quat").values[-1]
    assert points.x.max() == pytest.approx(np.degrees(2 * np.arctan2(q[3], q[0])), rel=1e-2)


def test_an_array_is_carried_once_however_many_plots_show_it():
    x, y = np.linspace(0, 1, 50), np.linspace(1, 2, 50)
    panel = PagePanel("y", (PageCurve("a", x, y, "#000000"), PageCurve("b", x, y, "#ff0000")))
    data = plots_data([PagePlot("t", (panel, panel), "time [s]", (0.0, 1.0))] * 3)
    assert len(data["arrays"]) == 2 and len(data["plots"]) == 3


def test_long_curves_are_thinned_and_keep_their_peaks():
    ds = dataset(period=0.001, duration=12.0)
    figure = Figure(title="t", panels=(("impulse_normal_sum",),))
    curve = plots_of_run(ds, (figure,))[0].panels[0].curves[0]
    assert len(curve.x) < 3000 < ds.sizes["time"]
    assert curve.y.max() == pytest.approx(
        float(ds["impulse_normal"].sum(["wheel", "surface"]).max())
    )


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "\u2028", "&amp;"])
def test_json_cannot_end_its_element(text):
    made = json_in_page({"title": text})
    assert "<" not in made and "\u2028" not in made
    assert json.loads(made) == {"title": text}
