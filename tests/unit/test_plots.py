"""Figures: what they show, and that they can be drawn from anything."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread
from synthetic import WHEELS, dataset

from marsyard.drawing.sheet import fold, sheet
from marsyard.drawing.ticks import PlainNumbers
from marsyard.errors import InputError
from marsyard.results import default_figures, draw, draw_track, save_figures
from marsyard.scenario.schema import Figure


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return dataset(period=0.02, duration=8.0)


def test_panels_carry_units_names_and_a_legend(ds):
    figure = draw(ds, Figure(title="Forces", panels=(("impulse_normal",), ("position_base.z",))))
    upper, lower = figure.axes
    assert upper.get_ylabel() == "normal impulse [N·s]"
    assert lower.get_ylabel() == "base position z [m]"
    assert lower.get_xlabel() == "time [s]"
    assert [t.get_text() for t in upper.get_legend().get_texts()] == list(WHEELS)
    assert lower.get_legend() is None
    assert figure.texts[0].get_text() == "Forces"


def test_numbers_beside_an_axis_are_text_and_its_power_is_typeset():
    canvas, (ax,) = sheet("t", [1.0])
    ax.plot([0.0, 1.0], [-3e-6, 3e-6])
    ax.yaxis.set_major_formatter(PlainNumbers(-3, 4))
    canvas.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert {"−2", "0", "2"} <= set(labels)
    assert ax.yaxis.get_offset_text().get_text().strip("$").startswith(r"\times")


def test_a_wheel_keeps_its_colour(ds):
    panels = (("impulse_normal",), ("contact_velocity.normal",), ("gap.CL",))
    first, second, third = draw(ds, Figure(title="t", panels=panels)).axes
    colours = [line.get_color() for line in first.get_lines()]
    assert colours == [line.get_color() for line in second.get_lines()]
    assert third.get_lines()[0].get_color() == colours[WHEELS.index("CL")]
    assert len(set(colours)) == 6
    # the same legend is said once
    assert first.get_legend() is not None and second.get_legend() is None


def test_window_cuts_time_and_sets_the_height(ds):
    figure = draw(ds, Figure(title="t", panels=(("impulse_normal_sum",),), start=3.0, end=4.0))
    ax = figure.axes[0]
    assert ax.get_xlim() == (3.0, 4.0)
    assert ax.get_ylim()[1] < 20.0 < float(ds["impulse_normal"].sum("wheel").max())


def test_mixed_units_stand_in_the_legend(ds):
    panels = (("position_base.z", "velocity_base.z"),)
    ax = draw(ds, Figure(title="t", panels=panels)).axes[0]
    texts = [t.get_text().replace("\n", " ") for t in ax.get_legend().get_texts()]
    assert texts == ["base position z [m]", "base velocity z [m/s]"]


def test_several_things_of_one_wheel_are_told_apart():
    time = np.arange(5.0)
    long = "resistance from something with a name that is very long"
    made = xr.Dataset(
        {n: (("time", "wheel"), np.ones((5, 1)), {"units": "N", "long_name": n + long})
         for n in ("pull", "push")},
        coords={"time": time, "wheel": ["W"]},
    )  # fmt: skip
    made["load"] = made.pull.assign_attrs(long_name="weight")
    ax = draw(made, Figure(title="t", panels=(("pull.W", "push.W", "load.W"),))).axes[0]
    assert len({line.get_color() for line in ax.get_lines()}) == 3
    assert ax.get_ylabel() == "W [N]"  # the names would not fit, and stand in the legend
    canvas = ax.figure
    canvas.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x1 <= canvas.bbox.x1


def test_many_records_are_thinned_and_keep_their_peak():
    time = np.arange(200_000) * 1e-3
    values = np.sin(time)
    values[123_457] = 9.0
    ds = xr.Dataset({"a": ("time", values, {"units": "m"})}, coords={"time": time})
    line = draw(ds, Figure(title="t", panels=(("a",),))).axes[0].get_lines()[0]
    x, y = line.get_data()
    assert len(x) < 5000 and y.max() == 9.0
    assert (x[0], x[-1]) == (time[0], time[-1])
    assert (np.diff(x) > 0).all()


@pytest.mark.parametrize("values", [0.0, 7.5, np.nan, np.inf])
def test_flat_and_empty_series_can_be_drawn(values, tmp_path):
    ds = xr.Dataset(
        {"solver_residual": ("time", np.full(5, values))}, coords={"time": np.arange(5.0)}
    )
    saved = save_figures(ds, [Figure(title="flat", panels=(("solver_residual",),))], tmp_path)
    assert imread(saved[0].path).std() > 0


def test_unknown_variable_is_named(ds):
    with pytest.raises(InputError, match="did you mean 'gap'"):
        draw(ds, Figure(title="t", panels=(("gaps",),)))


def test_default_figures_are_drawn_as_png_with_the_track(ds, tmp_path):
    saved = save_figures(ds, (), tmp_path, dpi=60)
    titles = [f.title for f in saved]
    assert titles[-2:] == ["Track", "Power and energy"]
    for word in ("Base position", "impulses", "Gap", "Sliding", "Wheel angle", "Energy", "Solver"):
        assert any(word in t for t in titles), word
    for figure in saved:
        pixels = imread(figure.path)
        assert pixels.shape[1] > 400 and pixels[..., :3].std() > 0.02, figure.title
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f.path.name for f in saved)


def test_default_figures_leave_out_what_is_not_there():
    ds = xr.Dataset(
        {"energy_kinetic": ("time", [1.0, 2.0]), "gap": ("time", [1.0, 0.5])},
        coords={"time": [0.0, 1.0]},
    )
    assert [f.title for f in default_figures(ds)] == ["Gap and normal contact velocity", "Energy"]
    assert default_figures(ds)[0].panels == (("gap",),)


def test_no_track_of_a_robot_that_stays(tmp_path):
    ds = dataset(period=0.02, duration=2.0)
    saved = save_figures(ds, [Figure(title="z", panels=(("position_base.z",),))], tmp_path)
    assert [f.title for f in saved] == ["z"]


def test_track_has_one_scale_along_x_and_y(ds):
    upper = draw_track(ds).axes[0]
    box = upper.get_window_extent()
    per_x = box.width / np.ptp(upper.get_xlim())
    per_y = box.height / np.ptp(upper.get_ylim())
    assert per_x == pytest.approx(per_y, rel=1e-6)


def test_captions_tell_the_window_and_the_source(ds, tmp_path):
    figure = Figure(title="A/B: <c>", panels=(("gap",),), start=1.0, note="Figure 6 of the source.")
    saved = save_figures(ds.isel(time=slice(0, 100)), [figure], tmp_path)[0]
    assert saved.caption == "From 1 s to the end. Figure 6 of the source."
    assert saved.path.name == "01-a-b-c.png"


def test_joints_take_the_colour_of_their_wheel_where_that_is_clear(ds):
    named = ds.assign_coords(joint=[f"{w}Wheel_y" for w in WHEELS])
    panels = (("wheel_rate",), ("joint_rate",), ("joint_rate.RLWheel_y", "joint_angle.RLWheel_y"))
    wheels, joints, mixed = draw(named, Figure(title="t", panels=panels)).axes
    colours = [line.get_color() for line in wheels.get_lines()]
    assert colours == [line.get_color() for line in joints.get_lines()]
    assert len({line.get_color() for line in mixed.get_lines()}) == 2


def test_motors_that_do_nothing_are_left_out_by_default(ds):
    torque = ds["motor_torque"].copy()
    torque[:, 1:] = 0.0
    figures = {f.title: f.panels for f in default_figures(ds.assign(motor_torque=torque))}
    assert figures["Motor torque and power"] == (("motor_torque.RL",), ("motor_power.RL",))
    idle = {f.title for f in default_figures(ds.assign(motor_torque=0 * torque))}
    assert "Motor torque and power" not in idle


def test_rounding_noise_is_not_blown_up(ds):
    noise = ds["wheel_angle"] * 0 + 1e-13 * np.arange(ds.sizes["time"])[:, None]
    small = ds["penetration"] * 0 + 1e-13 * np.arange(ds.sizes["time"])
    noisy = ds.assign(wheel_angle=noise, penetration=small)
    panels = (("wheel_angle",), ("penetration",))
    upper, lower = draw(noisy, Figure(title="t", panels=panels)).axes
    assert np.ptp(upper.get_ylim()) > 1.0
    assert np.ptp(lower.get_ylim()) < 1e-6  # [mm]


# --- against another variable


def test_against_another_variable_the_bins_show_the_law(ds):
    # one record in a hundred is far off: the median of a bin stays on the sine all the same
    n = 48_000
    phase = np.linspace(0.0, 3.0, n)
    made = xr.Dataset(
        {
            "phase": ("time", phase, {"units": "rad", "long_name": "phase"}),
            "pull": ("time", 2 * np.sin(phase) + 50.0 * (np.arange(n) % 100 == 0), {"units": "N"}),
        },
        coords={"time": np.arange(n) * 1e-3},
    )
    figure = draw(made, Figure(title="t", panels=(("pull",),), against="phase"))
    ax, bar = figure.axes
    assert ax.get_xlabel() == "phase [°]"
    assert ax.get_ylabel() == "pull [N]"
    assert bar.get_ylabel() == "time [s]"
    (line,) = ax.get_lines()
    x, y = line.get_data()
    assert len(x) == 24
    np.testing.assert_allclose(np.radians(x), 3.0 / 24 * (np.arange(24) + 0.5), atol=1e-3)
    np.testing.assert_allclose(y, 2 * np.sin(np.radians(x)), atol=5e-3)  # means would be 0.5 off
    points = ax.collections[0].get_offsets()
    assert 1000 < len(points) <= 2400


def test_against_keeps_the_colours_of_the_wheels_and_cuts_time(ds):
    panels = (("wheel_rate",), ("motor_power.sum",))
    figure = draw(ds, Figure(title="t", panels=panels, against="speed", start=6.0))
    wheels, total, _ = figure.axes
    over_time = draw(ds, Figure(title="t", panels=panels)).axes[0]
    colours = [line.get_color() for line in over_time.get_lines()]
    assert [line.get_color() for line in wheels.get_lines()] == colours
    assert total.get_ylabel() == "motor power, sum [W]"
    late = ds["velocity_base"].sel(time=slice(6.0, None))
    slowest = float(((late**2).sum("axis") ** 0.5).min())
    assert wheels.collections[0].get_offsets()[:, 0].min() == pytest.approx(slowest)


def test_against_several_curves_is_refused(ds):
    with pytest.raises(InputError, match="against 'wheel_rate' has several curves"):
        draw(ds, Figure(title="t", panels=(("speed",),), against="wheel_rate"))


def test_what_the_data_do_not_have_is_left_out_and_said(ds, tmp_path):
    figures = [
        Figure(title="All", panels=(("no_such.y",), ("no_such",))),
        Figure(title="Some", panels=(("speed", "no_such"), ("gap",), ("no_such.x",))),
        Figure(title="Over", panels=(("speed",),), against="no_such"),
    ]
    with pytest.warns(UserWarning, match="no variable 'no_such'") as told:
        saved = save_figures(ds, figures, tmp_path)
    assert [f.title for f in saved if f.title in ("All", "Some", "Over")] == ["Some"]
    assert "Left out: no variable 'no_such'" in saved[0].caption
    # one warning each
    assert [str(w.message).split("'")[1] for w in told] == ["All", "Some", "Over"]
    assert str(told[1].message).endswith("(and 1 more)")
    # numbered without gaps
    assert sorted(p.name[:2] for p in tmp_path.glob("*.png"))[:2] == ["01", "02"]


def test_states_are_named_on_the_axis():
    t = np.arange(6.0)
    meanings = {"units": "1", "long_name": "activity of the robot", "flag_meanings": "rest walk"}
    ds = xr.Dataset(
        {
            "state": ("time", np.array([0, 0, 1, 1, 0, 0.0]), meanings),
            "mode": ("time", np.array([0, 1, 2, 3, 3, 3.0]),
                     {"units": "1", "long_name": "number of the mode"}),
        },
        coords={"time": t},
    )  # fmt: skip
    figure = draw(ds, Figure(title="t", panels=(("state",), ("mode",), ("mode", "state"))))
    state, mode, both = figure.axes[:3]
    assert [label.get_text() for label in state.get_yticklabels()] == ["rest", "walk"]
    assert state.get_title(loc="left") == "activity of the robot"
    assert all(float(v).is_integer() for v in mode.get_yticks())
    # "the" alone is no name for both
    assert both.get_ylabel() == "number of the mode, activity of the robot".replace(
        " activity", "\nactivity"
    )


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("LeftSprocket_y", ["LeftSprocket_y"]),
        ("RightSprocket_y", ["RightSprocket_", "y"]),
        ("Right_Front_Wheel_Joint", ["Right_Front_", "Wheel_Joint"]),
        ("motor torque FL", ["motor torque FL"]),
        ("sum of front_left_wheel_joint", ["sum of", "front_left_", "wheel_joint"]),
        ("", [""]),
    ],
)
def test_long_names_fit_beside_a_panel(name, lines):
    assert fold(name).split("\n") == lines


def test_more_names_than_fit_are_counted():
    names = [f"Left_{k}_Wheel_Joint" for k in range(14)]
    ds = xr.Dataset(
        {"joint_angle": (("time", "joint"), np.random.default_rng(0).normal(size=(5, 14)))},
        coords={"time": np.arange(5.0), "joint": names},
    )
    canvas = draw(ds, Figure(title="t", panels=(("joint_angle",),)))
    shown = [text.get_text() for text in canvas.axes[0].get_legend().get_texts()]
    # two lines each, and one that counts
    assert shown[:-1] == [fold(name) for name in names[: len(shown) - 1]]
    assert shown[-1] == f"and {14 - (len(shown) - 1)} more" and len(shown) == 7
    canvas.canvas.draw()
    right = canvas.axes[0].get_legend().get_window_extent().x1
    assert right <= canvas.bbox.x1
