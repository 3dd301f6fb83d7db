"""Studies without running anything: axes, members, bisection, checks, table, figures and page.

Runs are replaced by closed forms, so that what is found can be compared with the exact answer.
"""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
import yaml

from marsyard.errors import InputError
from marsyard.results import save
from marsyard.results.study_checks import check_values, evaluate_study
from marsyard.results.study_map import outline
from marsyard.results.study_plots import default_study_figures, draw_study, save_study_figures
from marsyard.results.study_report import Row, key_plots_of_study, write_study_report
from marsyard.scenario import dump, validate
from marsyard.study import _refine
from marsyard.study.axes import field_unit, make_axis
from marsyard.study.bisection import succeeded
from marsyard.study.data import dataset, write_table
from marsyard.study.members import Family, Result
from marsyard.study.task import Outcome

BASE = {
    "robot": {"name": "exomars_rt0448", "attitude": [0, 0, 0]},
    "ground": [{"kind": "plane", "name": "slope"}],
    "parameters": {"slip": 0.2, "cohesion": "1 kPa"},
    "run": {"duration": 1},
}
OUTPUTS = [{"name": "drawbar pull", "of": "speed"}, {"name": "sinkage", "of": "speed"}]


def scenario(**study):
    return validate({**BASE, "study": {"outputs": OUTPUTS, **study}})


def outcome(*numbers, stopped=None, units=("N", "mm")):
    reasons = tuple("" if n is not None else "no number" for n in numbers)
    return Outcome(numbers, units, reasons, stopped, 0, 1000, 1.0, 0.01, ())


def pull(member):
    """A made-up law of the slip s and the cohesion c [Pa]: zero at s = 0.15 for c = 0."""
    s, c = (member.scenario.parameters[k] for k in ("slip", "cohesion"))
    return outcome(100 * (1 - math.exp(-s)) - 100 * (1 - math.exp(-0.15)) + c / 50, 5 + 20 * s)


def ran(family, law=pull):
    return [Result(m, law(m)) for m in family.grid()]


# --- axes


def test_values_keep_their_unit():
    axis = make_axis({"ground.0.slope": (0.0, "5 deg", "10 deg")}, "f")
    assert (axis.name, axis.unit, axis.shown) == ("slope", "deg", (0.0, 5.0, 10.0))
    assert axis.say(5.0) == "slope = 5°"
    assert axis.settings(1) == {"ground.0.slope": "5 deg"}
    mixed = make_axis({"run.step": ("1 ms", "0.002 s")}, "f")
    assert mixed.unit == "ms" and mixed.shown == pytest.approx((1.0, 2.0))


def test_bare_numbers_take_the_unit_of_their_field():
    assert make_axis({"run.duration": (1.0, 2.0)}, "f").unit == "s"
    for path, unit in {
        "ground.0.slope": "rad", "robot.position.2": "m", "interaction.friction": "",
        "interaction.surfaces.a.friction": "", "robot.springs.steering.stiffness": "N·m/rad",
        "gravity": "m/s²", "parameters.slip": "", "robot.attitude.1": "rad",
        "run.control_period": "s",
    }.items():  # fmt: skip
        assert field_unit(path) == unit, path


def test_words_make_an_axis_too():
    axis = make_axis({"robot.wheel_shape": ("sphere", "disc")}, "f")
    assert axis.words and axis.shown == ("sphere", "disc")
    assert axis.label == "wheel shape"
    assert make_axis({"interaction.wheel.exit.value": (0.2, 1.1)}, "f").label == "exit value"
    assert make_axis({"run.projection": (True, False)}, "f").shown == ("True", "False")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((0.1, 0.1), "0.1 appears twice"),
        (("5 deg", 7.0), "7.0 has no unit; add 'deg'"),
        (("5 deg", "3 m"), "'m' and 'deg' are not units of the same quantity"),
    ],
)
def test_values_that_cannot_be(values, says):
    with pytest.raises(InputError, match=says):
        make_axis({"ground.0.slope": values}, "study.values")


def test_a_range_holds_both_ends_without_rounding_dust():
    axis = make_axis(scenario(vary="parameters.slip", range={
        "start": 0, "stop": 0.6, "count": 7}).study.driven, "f")  # fmt: skip
    assert axis.shown == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    slopes = {"start": "-10 deg", "stop": "10 deg", "count": 3}
    assert scenario(vary="ground.0.slope", range=slopes).study.driven == {
        "ground.0.slope": ("-10 deg", "0 deg", "10 deg")
    }


def test_a_scenario_with_a_study_reads_back_the_same():
    s = scenario(
        vary={"ground.0.slope": {"start": "0 deg", "stop": "9 deg", "count": 4},
              "robot.attitude.1": ["0 deg", "3 deg", "6 deg", "9 deg"]},
        also={"parameters.cohesion": [0, "500 Pa"]},
        bisect={"output": "sinkage", "above": 3, "tolerance": "0.1 deg"},
        figures=[{"title": "t", "panels": [["sinkage"]], "reference": [
            {"name": "r", "x": ["3 deg"], "y": [1], "source": "s"}]}],
        checks=[{"name": "c", "output": "sinkage", "at": "3 deg", "also": "500 Pa",
                 "expected": 1, "tolerance": 0.1}],
    )  # fmt: skip
    assert validate(yaml.safe_load(dump(s))) == s


# --- members


def test_members_are_the_base_with_values_set():
    s = scenario(
        vary="parameters.slip", values=[0, 0.4], also={"parameters.cohesion": ["2 kPa", 0]}
    )
    members = Family("x", s).grid()
    got = [(m.scenario.parameters["slip"], m.scenario.parameters["cohesion"]) for m in members]
    assert got == [(0, 2000), (0.4, 2000), (0, 0), (0.4, 0)]
    assert all(m.scenario.study is None for m in members)
    assert members[1].label == "slip = 0.4, cohesion = 2 kPa"
    assert members[1].folder == "02-slip-0.4-cohesion-2-kpa"


def test_paths_driven_together():
    up = {"start": "5 deg", "stop": "15 deg", "count": 3}
    down = {"start": "-5 deg", "stop": "-15 deg", "count": 3}
    family = Family("x", scenario(vary={"ground.0.slope": up, "robot.attitude.1": down}))
    for m in [*family.grid(), family.between(0, 1, 0.25, 0)]:
        slope = m.scenario.ground[0].slope
        assert m.scenario.robot.attitude[1] == pytest.approx(-slope)
        assert math.degrees(slope) == pytest.approx(m.value)
    assert m.value == 6.25


def test_defaults_that_follow_others_follow_the_varied_value():
    # the control period defaults to the step: it must not stay that of the base
    members = Family("x", scenario(vary="run.step", values=["1 ms", "4 ms"])).grid()
    assert [m.scenario.run.control_period for m in members] == [0.001, 0.004]


def test_what_was_left_to_its_default_can_be_varied():
    given = {k: v for k, v in BASE.items() if k != "ground"}
    study = {"vary": "ground.0.slope", "values": ["10 deg"], "outputs": OUTPUTS}
    (member,) = Family("x", validate({**given, "study": study})).grid()
    assert member.scenario.ground[0].slope == pytest.approx(math.radians(10))
    (member,) = Family("x", scenario(vary="interaction.friction", values=[0.1])).grid()
    assert member.scenario.interaction.friction == 0.1


@pytest.mark.parametrize(
    ("study", "says"),
    [
        ({"vary": "parameters.slp", "values": [1]}, "no such parameter; did you mean 'slip'"),
        ({"vary": "interaction.frction", "values": [1]}, "did you mean 'friction'"),
        ({"vary": "interaction.friction", "values": [0.1, -1]}, "friction = −1.*at least 0"),
        ({"vary": "ground.3.slope", "values": [0]}, "not an index"),
        ({"vary": "gravity", "values": [1], "also": {"gravity": [2]}}, "varied already"),
    ],
)
def test_members_that_cannot_be(study, says):
    with pytest.raises(InputError, match=says) as error:
        Family("x", scenario(**study)).grid()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("study", "says"),
    [
        ({"vary": "gravity"}, "either 'values' or 'range'"),
        ({"vary": "gravity", "values": []}, "study.values"),
        ({"vary": {"gravity": [1, 2], "run.step": [1]}}, "as many values each: gravity 2"),
        ({"vary": {"gravity": [1]}, "values": [1]}, "each has its own values"),
        ({"vary": "gravity", "values": [1], "bisect": {
            "output": "sinkag", "below": 1, "tolerance": 1}}, "did you mean 'sinkage'"),
        ({"vary": "gravity", "values": [1], "bisect": {
            "output": "sinkage", "tolerance": 1}}, "either 'below' or 'above'"),
        ({"vary": "gravity", "values": [1], "figures": [
            {"title": "t", "panels": [["sinkag"]]}]}, "figures.0.panels: no output"),
        ({"vary": "gravity", "values": [1], "figures": [{"title": "t", "panels": [["sinkage"]],
            "reference": [{"name": "r", "panel": 1, "x": [1], "y": [1], "source": "s"}]}]},
         "panel 1 does not exist"),
        ({"vary": "gravity", "values": [1], "checks": [
            {"name": "c", "take": "boundary", "expected": 1, "tolerance": 1}]}, "needs 'bisect'"),
        ({"vary": "gravity", "range": {"start": 1, "stop": "3 m/s²", "count": 3}}, "same unit"),
        ({"vary": "gravity", "values": [1], "keep": "some"}, "study.keep"),
        ({"vary": "gravity", "values": [1], "figures": [
            {"title": "t", "kind": "map", "panels": [["sinkage"]]}]}, "map needs a second path"),
        ({"vary": "gravity", "values": [1], "success": [{"output": "sinkage"}]},
         "'sinkage' needs 'at_least' or 'at_most'"),
        ({"vary": "gravity", "values": [1], "success": [{"output": "sinkag", "at_most": 1}]},
         "did you mean 'sinkage'"),
    ],
)  # fmt: skip
def test_studies_that_cannot_be(study, says):
    with pytest.raises(InputError, match=says) as error:
        scenario(**study)
    assert "\n" not in str(error.value)


# --- bisection


class Crew:
    """Runs members by a law."""

    def __init__(self, law):
        self.law = law
        self.count = 0

    def run(self, members):
        self.count += len(members)
        return [Result(m, self.law(m)) for m in members]


def refined(law, tolerance="1e-4", **changes):
    bisect = {"output": "drawbar pull", "below": 0, "tolerance": tolerance}
    s = scenario(**{"vary": "parameters.slip", "values": [0.5, 0, 0.3, 0.1], "bisect": bisect,
                    "also": {"parameters.cohesion": [0]}, **changes})  # fmt: skip
    family = Family("x", s)
    results, crew = ran(family, law), Crew(law)
    return s, family, results, _refine(s, family, results, crew), crew


def test_the_boundary_is_where_the_law_changes_sign():
    _, family, results, (found,), crew = refined(pull)
    # the pull is negative below s = 0.15
    assert found.failure < 0.15 <= found.success
    assert found.success - found.failure <= 1e-4
    # from the interval 0.1 … 0.3 of the values, halved as often as it takes
    assert crew.count == math.ceil(math.log2(0.2 / 1e-4))
    assert len(results) == 4 + crew.count
    assert family.axis.say(0.1) == "slip = 0.1"
    assert "succeeds" in found.words


def test_each_curve_has_its_own_boundary():
    s, family, results, found, _ = refined(
        pull, also={"parameters.cohesion": [0, "200 Pa", "1 kPa"]}
    )
    # c/50 = 4 N: 100 exp(-s) = 100 exp(-0.15) + 4
    exact = [0.15, -math.log(math.exp(-0.15) + 0.04)]
    for k in (0, 1):
        middle = (found[k].success + found[k].failure) / 2
        assert middle == pytest.approx(exact[k], abs=1e-4)
    assert found[2].success is None
    assert "all runs from 0 to 0.5 succeed" in found[2].words
    ds = dataset("x", s, family, results, found)
    assert ds["boundary_success"].dims == ("cohesion",)
    assert np.isnan(ds["boundary_failure"].values).tolist() == [False, False, True]


def test_runs_that_stop_or_give_no_number_have_failed():
    def law(m):
        s = m.scenario.parameters["slip"]
        if s > 0.42:
            return outcome(None, None, stopped="stopped at t = 0.1 s")
        return outcome(None, 1.0) if s > 0.4 else outcome(1.0, 1.0)

    _, _, _, (found,), _ = refined(law)
    assert found.success <= 0.4 < found.failure
    assert found.failure - found.success <= 1e-4


def test_the_first_of_several_changes_is_taken_and_said():
    def law(m):
        return outcome(-1.0 if 0.05 < m.scenario.parameters["slip"] < 0.2 else 1.0, 0.0)

    _, _, _, (found,), _ = refined(law)
    assert found.success <= 0.05 < found.failure
    assert "changes 2 times, this is the first change" in found.words


def test_above_is_the_other_way_around():
    bisect = {"output": "sinkage", "above": 9, "tolerance": 0.001}
    _, _, _, (found,), _ = refined(pull, bisect=bisect)
    # 5 + 20 s = 9
    assert found.success <= 0.2 < found.failure <= found.success + 0.001


# --- data, checks, table


def finished(**changes):
    study = {"vary": "parameters.slip", "values": [0, 0.1, 0.2, 0.4],
             "also": {"parameters.cohesion": [0, "500 Pa"]}, **changes}  # fmt: skip
    s = scenario(**study)
    family = Family("x", s)

    def law(m):
        stop = m.value == 0.4 and m.curve == 1
        return outcome(None, None, stopped="stopped at t = 0.3 s: too fast") if stop else pull(m)

    results = ran(family, law)
    found = _refine(s, family, results, Crew(law)) if s.study.bisect else []
    return s, family, results, dataset("x", s, family, results, found)


def test_the_data_set_is_labelled(tmp_path):
    ds = finished()[3]
    assert ds["drawbar_pull"].dims == ("slip", "cohesion")
    assert ds["drawbar_pull"].attrs["units"] == "N"
    assert ds["cohesion"].attrs["units"] == "Pa"
    here = ds["drawbar_pull"].sel(slip=0.2, cohesion=500)
    assert float(here) == pytest.approx(100 * (math.exp(-0.15) - math.exp(-0.2)) + 10)
    assert float(ds["completed"].sel(slip=0.4, cohesion=500)) == 0
    assert "too fast" in str(ds["stopped"].sel(slip=0.4, cohesion=500).item())
    assert np.isnan(ds["drawbar_pull"].sel(slip=0.4, cohesion=500))
    import xarray as xr

    again = xr.load_dataset(save(ds, tmp_path / "study.nc"), engine="h5netcdf")
    xr.testing.assert_equal(again, ds)


def test_the_table_has_a_row_per_run(tmp_path):
    _, family, results, ds = finished()
    write_table(tmp_path / "study.csv", ds, family, results)
    with (tmp_path / "study.csv").open(encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head[:4] == ["slip", "cohesion [Pa]", "drawbar pull [N]", "sinkage [mm]"]
    assert len(rows) == 8
    assert float(rows[2][2]) == float(ds["drawbar_pull"].sel(slip=0.2, cohesion=0))
    assert rows[7][2] == "" and rows[7][5] == "no" and "too fast" in rows[7][7]


def test_checks_read_numbers_off_the_study():
    checks = [
        {"name": "at", "output": "drawbar pull", "at": 0.2, "also": 0, "expected": 4.19773,
         "tolerance": 1e-5},
        {"name": "between", "output": "sinkage", "at": 0.15, "also": 0, "expected": 8.0,
         "tolerance": 1e-9},
        {"name": "zero", "output": "drawbar pull", "take": "crossing", "also": "0 Pa",
         "expected": 0.15, "tolerance": 0.002},
        {"name": "least", "output": "sinkage", "take": "min", "also": "0.5 kPa", "expected": 5,
         "tolerance": 1e-9},
        {"name": "wrong", "output": "sinkage", "take": "max", "also": 0, "expected": 5,
         "tolerance": 1},
        {"name": "stopped", "output": "sinkage", "at": 0.4, "also": 500, "expected": 5,
         "tolerance": 1},
        {"name": "rises", "output": "sinkage", "take": "least_rise", "also": 0, "expected": 2,
         "tolerance": 1e-9},
        {"name": "stopped rise", "output": "sinkage", "take": "least_rise", "also": 500,
         "expected": 2, "tolerance": 1},
        {"name": "ratio", "output": "drawbar pull", "at": 0.2, "also": 500, "divided_by": 0,
         "expected": 1 + 10 / 4.19773, "tolerance": 1e-4},
    ]  # fmt: skip
    s, _, _, ds = finished(checks=checks)
    got = {c.name: c for c in evaluate_study(ds, s.study)}
    assert [got[n].verdict for n in ("at", "between", "zero", "least")] == ["pass"] * 4
    assert got["wrong"].verdict == "fail" and got["wrong"].computed == pytest.approx(13.0)
    assert got["stopped"].verdict == "not computed" and got["stopped"].reason
    assert got["at"].unit == "N" and got["zero"].unit == ""
    assert got["rises"].ok and got["ratio"].ok and got["ratio"].unit == ""
    assert "missing at some varied values" in got["stopped rise"].reason


def test_a_check_of_the_boundary():
    s, _, _, ds = finished(
        also={"parameters.cohesion": [0]},
        bisect={"output": "drawbar pull", "below": 0, "tolerance": 1e-3},
        checks=[{"name": "b", "take": "boundary", "expected": 0.15, "tolerance": 1e-3}],
    )
    (check,) = evaluate_study(ds, s.study)
    assert check.ok and check.computed == pytest.approx(0.15, abs=5e-4)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"at": "3 deg"}, "'deg' in '3 deg' cannot be given in ''"),
        ({"also": 7}, "no curve '7'"),
        ({"also": None}, "several curves"),
        ({"take": "crossing", "expected": "3 m"}, "'m' in '3 m'"),
        ({"divided_by": 7}, "no curve '7'"),
    ],
)
def test_checks_that_do_not_fit_are_refused_before_anything_runs(changes, says):
    check = {"name": "c", "output": "sinkage", "at": 0.2, "also": 0, "expected": 1,
             "tolerance": 1, **changes}  # fmt: skip
    s = scenario(vary="parameters.slip", values=[0, 1], checks=[check])
    with pytest.raises(InputError, match=says):
        check_values(s.study, "", None, (0.0, 500.0), "Pa")


# --- figures and page

FIGURE = {
    "title": "Pull and sinkage", "panels": [["drawbar pull"], ["sinkage"]],
    "reference": [{"name": "closed form", "panel": 1, "x": [0, "50 %"], "y": [5, 15],
                   "draw": "line", "source": "5 + 20 s"},
                  {"name": "measured", "x": [0.1], "y": [9], "also": "500 Pa", "source": "x"}],
}  # fmt: skip


def test_figures_show_runs_references_and_stops():
    s, _, _, ds = finished(figures=[FIGURE])
    upper, lower = draw_study(ds, s.study, s.study.figures[0]).axes
    assert upper.get_ylabel() == "drawbar pull [N]" and lower.get_ylabel() == "sinkage [mm]"
    assert lower.get_xlabel() == "slip"
    assert [t.get_text() for t in upper.get_legend().get_texts()] == ["0", "500", "measured"]
    # points of a curve take its colour
    by_label = {line.get_label(): line for line in upper.get_lines()}
    assert by_label["measured"].get_markeredgecolor() == by_label["500"].get_color()
    assert upper.get_legend().get_title().get_text() == "cohesion [Pa]"
    # the curves are named once
    assert [t.get_text() for t in lower.get_legend().get_texts()] == ["closed form"]
    drawn = [line.get_xydata() for line in lower.get_lines()]
    assert any(d.shape == (2, 2) and np.allclose(d, [[0, 5], [0.5, 15]]) for d in drawn)
    crosses = [line for line in lower.get_lines() if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[0.4]]


MAP = {"title": "Where it pulls", "kind": "map", "panels": [["drawbar pull"], ["sinkage"]]}
PULLS = [{"output": "drawbar pull", "at_least": 0}, {"output": "sinkage", "at_most": 8}]


def test_a_map_shows_every_run_in_its_place():
    s, _, _, ds = finished(figures=[MAP], success=PULLS)
    upper, lower, *bars = draw_study(ds, s.study, s.study.figures[0]).axes
    assert lower.get_xlabel() == "slip" and upper.get_ylabel() == "cohesion [Pa]"
    assert [bar.get_ylabel() for bar in bars] == ["drawbar pull [N]", "sinkage [mm]"]
    cells = upper.collections[0]
    shown = np.ma.filled(cells.get_array().reshape(2, 4), np.nan)
    np.testing.assert_array_equal(shown, ds["drawbar_pull"].values.T)
    # borders of the cells lie in the middle between the values
    corners = cells.get_coordinates()[0, :, 0]
    assert corners.tolist() == pytest.approx([-0.05, 0.05, 0.15, 0.3, 0.5])
    # the run that stopped has a cross and no number
    (crosses,) = (line for line in upper.get_lines() if line.get_marker() == "x")
    assert crosses.get_xydata().tolist() == [pytest.approx([0.4, 500.0])]
    assert len(upper.texts) == 7
    assert upper.get_xlim() == pytest.approx((-0.05, 0.5))


def test_runs_that_keep_all_limits_have_succeeded():
    s, family, results, ds = finished(success=PULLS)
    pull, sunk = ds["drawbar_pull"], ds["sinkage"]
    expected = (pull >= 0) & (sunk <= 8)
    np.testing.assert_array_equal(ds["succeeded"].values, expected.values.astype(int))
    assert 0 < int(ds["succeeded"].sum()) < 7
    assert not succeeded(s.study, results[-1].outcome)  # stopped


@pytest.mark.parametrize("seed", range(4))
def test_the_outline_is_closed_and_divides_inside_from_outside(seed):
    inside = np.random.default_rng(seed).random((5, 7)) < 0.5
    sides = outline(inside)
    # as many as there are changes between neighbours, each side once
    assert len(sides) == len(set(sides))
    padded = np.pad(inside, 1).astype(int)
    assert len(sides) == sum(int(np.abs(np.diff(padded, axis=a)).sum()) for a in (0, 1))
    # each corner is met an even number of times: closed curves
    corners = [corner for side in sides for corner in side]
    assert all(corners.count(c) % 2 == 0 for c in set(corners))
    # Green: area inside, from the sides along y, left ones minus right ones
    area = 0
    for (i, j), (k, _) in sides:
        if i == k:
            area += -i if padded[j + 1, i + 1] > padded[j + 1, i] else i
    assert area == inside.sum()


def test_the_failing_side_is_shaded():
    s, _, _, ds = finished(
        also={"parameters.cohesion": [0]},
        bisect={"output": "drawbar pull", "below": 0, "tolerance": 1e-3},
    )
    # one curve after all: without the second axis
    ds = ds.isel(cohesion=0, drop=True)
    figure = draw_study(ds, s.study, default_study_figures(ds)[0])
    shade = figure.axes[0].patches[0].get_extents().transformed(figure.axes[0].transData.inverted())
    assert shade.x1 == pytest.approx(0.15, abs=1e-3) and shade.x0 < 0
    texts = [t.get_text() for t in figure.axes[0].texts]
    assert any(t.startswith("fails from 0.1") for t in texts)
    assert "fails below 0" in texts


def test_words_on_the_axis():
    s = scenario(vary="robot.wheel_shape", values=["sphere", "disc", "torus"])
    family = Family("x", s)
    results = [Result(m, outcome(float(m.index), 1.0)) for m in family.grid()]
    ds = dataset("x", s, family, results, [])
    ax = draw_study(ds, s.study, default_study_figures(ds)[0]).axes[-1]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["sphere", "disc", "torus"]


def test_the_page_says_everything(tmp_path):
    s, family, results, ds = finished(figures=[FIGURE], checks=[
        {"name": "least <b>", "output": "sinkage", "take": "min", "also": 0, "expected": 5,
         "tolerance": 1}])  # fmt: skip
    figures = save_study_figures(ds, s.study, tmp_path / "figures", dpi=50)
    assert figures[0].caption == "closed form: 5 + 20 s. measured: x."
    rows = [
        Row(str(r.member.value), float(r.member.value), str(r.member.curve), r.member.curve, False,
            r.outcome.numbers, None, r.outcome.stopped or "", (), 0, 0.1, "")
        for r in results
    ]  # fmt: skip
    info = {"scenario": "x", "steps": 10, "wall_time": 1.0, "elapsed": 2.0, "simulated": 8.0,
            "jobs": 2, "started": "now", "versions": {}}  # fmt: skip
    checks = evaluate_study(ds, s.study)
    path = write_study_report(tmp_path, ds, s, checks, figures, rows, ["slip 0.1 fails"], info)
    page = path.read_text(encoding="utf-8")
    assert '<h1 id="answer">Slip 0.1 fails; 1 of 1 checks passed</h1>' in page
    for words in ("Slip 0.1 fails.", "least &lt;b&gt;", "too fast", "1 run of 8 diverged",
                  "drawbar pull [N]", "slip (parameters.slip): 4 values from 0 to 0.4",
                  "1 of 1"):  # fmt: skip
        assert words in page, words
    assert page.count("<tr>") >= 9


def test_the_answer_says_where_the_first_output_lies_without_a_bisection(tmp_path):
    s, _, results, ds = finished()
    rows = [
        Row(str(r.member.value), float(r.member.value), str(r.member.curve), r.member.curve, False,
            r.outcome.numbers, None, r.outcome.stopped or "", (), 0, 0.1, "")
        for r in results
    ]  # fmt: skip
    info = {"scenario": "x", "steps": 10, "wall_time": 1.0, "elapsed": 2.0, "simulated": 8.0,
            "jobs": 2, "started": "now", "versions": {}}  # fmt: skip
    page = write_study_report(tmp_path, ds, s, [], [], rows, [], info).read_text(encoding="utf-8")
    low, high = float(ds.drawbar_pull.min()), float(ds.drawbar_pull.max())
    said = f"8 runs over slip: drawbar pull {low:.3g} to {high:.3g}".replace("-", "−")
    assert f'<h1 id="answer">{said}' in page


def test_key_plots_join_the_runs_of_a_curve_with_those_of_its_bisection():
    _, _, _, ds = finished()
    (plot,) = key_plots_of_study(ds)
    assert plot.x_label == "slip" and [p.label for p in plot.panels] == [
        "drawbar pull [N]", "sinkage [mm]",
    ]  # fmt: skip
    first, second = plot.panels[0].curves
    assert first.name == "cohesion 0 Pa" and second.name == "cohesion 500 Pa" and first.dots
    known = np.isfinite(ds.drawbar_pull.values[:, 1])
    np.testing.assert_array_equal(second.x, ds.slip.values[known])
    np.testing.assert_array_equal(second.y, ds.drawbar_pull.values[known, 1])
    more = {"bisection_value": ("k", [0.15]), "bisection_drawbar_pull": ("k", [3.0])}
    one = ds.isel(cohesion=0, drop=True).assign(more)
    (curve,) = key_plots_of_study(one)[0].panels[0].curves
    assert 0.15 in curve.x and (np.diff(curve.x) > 0).all()
