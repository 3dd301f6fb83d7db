"""The table of laws, variants, rigid ground in place of terrain, and wheel models side by side."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
import trimesh

from marsyard import InputError, compare_wheel, load_scenario
from marsyard.analysis import identify, read_wheel_data
from marsyard.analysis.fit_files import write_soil
from marsyard.comparison import LAWS, Variant, parse_variant, variants_of
from marsyard.comparison.laws import scenario_under
from marsyard.comparison.measured import misfits, other_wheel, read_points, with_points
from marsyard.comparison.rigid_ground import make_rigid
from marsyard.comparison.run_figures import moving_mean, quantities
from marsyard.comparison.wheel_files import dataset
from marsyard.ground.soil import load_soil
from marsyard.ground.terrain import build_terrain
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.report_schema import Figure
from marsyard.scenario.terrain import TerrainSpec

PEAKS = {"coefficients.peak_0": 0.43, "coefficients.peak_1": 0.32}


def under(law, name="eldorado2/rough", files=None, **settings):
    return scenario_under(scenario_data(name), Variant(law, law, settings), name, files)


# --- laws


def test_every_wheel_model_is_a_law():
    assert set(MODELS) < set(LAWS)


@pytest.mark.parametrize("law", ["ding", "rigid_slip"])
def test_a_wheel_model_changes_the_model_and_nothing_else(law):
    scenario, changes = under(law, "wheel/pull")
    base = load_scenario("wheel/pull")
    assert scenario.interaction.wheel.model == law
    assert scenario.interaction.wheel.exit == base.interaction.wheel.exit
    assert (scenario.ground, scenario.control, scenario.run) == (
        base.ground, base.control, base.run,
    )  # fmt: skip
    # a model keeps those of Wong and Reece's coefficients that it knows
    expected = {"rigid_slip": {"friction": base.interaction.friction},
                "ding": base.interaction.wheel.coefficients}  # fmt: skip
    assert scenario.interaction.wheel.coefficients == expected[law]
    assert changes["interaction.wheel.model"] == law


def test_scm_takes_the_wheel_model_away():
    scenario, changes = under("scm")
    assert scenario.interaction.wheel is None and changes == {"interaction.wheel": None}
    assert scenario.ground == load_scenario("eldorado2/rough").ground


def test_settings_come_after_the_law():
    scenario, changes = under("ding", "soil/wheel", **{
        "interaction.wheel.coefficients.mean_load": 50, "interaction.wheel.exit": {
            "rule": "angle", "value": 0}})  # fmt: skip
    assert scenario.interaction.wheel.coefficients == {"mean_load": 50}
    assert changes["interaction.wheel.coefficients.mean_load"] == 50


def test_as_is_changes_nothing():
    scenario, changes = under("as_is")
    assert changes == {} and scenario == load_scenario("eldorado2/rough")


# --- variants


def test_variants_as_text_and_as_mapping_are_the_same():
    text = "two, slick: law=scm, robot.position=[0, 0, 1], interaction.friction=0.3"
    settings = {"law": "scm", "robot.position": [0, 0, 1], "interaction.friction": 0.3}
    assert parse_variant(text) == variants_of(variants={"two, slick": settings})[0]
    assert [v.name for v in variants_of("scm, ding", [text])] == ["scm", "ding", "two, slick"]


@pytest.mark.parametrize(
    ("laws", "variants", "says"),
    [
        ("dign", [], "unknown law 'dign'; did you mean 'ding'"),
        ("ding,ding", [], "'ding' appears twice"),
        ("", [], "nothing to compare"),
        ("", ["slick"], "NAME: PATH=VALUE"),
        ("", ["slick: friction"], "--variant slick: 'friction' is not of the form"),
        ("", ["slick: law=dingo"], "variant slick: law: unknown law 'dingo'"),
    ],
)
def test_wrong_variants_are_one_sentence(laws, variants, says):
    with pytest.raises(InputError, match=says) as error:
        variants_of(laws, variants)
    assert "\n" not in str(error.value)


def test_a_law_that_cannot_run_the_scenario_is_named():
    with pytest.raises(InputError, match=r"^ding: the law needs ground of kind terrain.*plane"):
        under("ding", "rt0448/test-4")
    with pytest.raises(InputError, match=r"^as_is: .*did you mean 'friction'"):
        under("as_is", **{"interaction.fricton": 1})


# --- rigid ground


def test_a_terrain_of_planes_becomes_a_plane(tmp_path):
    data = scenario_data("eldorado2/slope")
    data["ground"][0]["terrain"] = {
        "layers": [{"kind": "plane", "slope": "8 deg", "uphill": "30 deg"}]
    }
    scenario, changes = scenario_under(data, Variant("n", "nonsmooth"), "x", tmp_path)
    plane = scenario.ground[0]
    assert plane.kind == "plane" and plane.name == "sand"
    assert plane.slope == pytest.approx(math.radians(8), abs=1e-12)
    assert plane.uphill == pytest.approx(math.radians(30), abs=1e-12)
    # smooth wheels that roll on the tips of the grousers
    assert scenario.robot.wheel.radius == pytest.approx(0.11)
    assert scenario.robot.wheel.grousers == "none"
    assert "tips" in changes["robot.wheel.radius"] and list(tmp_path.iterdir()) == []


def test_rough_terrain_becomes_a_mesh_through_its_heights(tmp_path):
    data = scenario_data("eldorado2/rough")
    data["run"]["duration"] = 10
    changes = make_rigid(data, tmp_path)
    mesh = trimesh.load(data["ground"][0]["file"])
    terrain = build_terrain(
        TerrainSpec.model_validate(scenario_data("eldorado2/rough")["ground"][0]["terrain"])
    )
    x, y, z = mesh.vertices.T
    assert np.abs(z - terrain.height(x, y)).max() < 1e-6
    assert (mesh.face_normals[:, 2] > 0).all()
    # as far as the wheels roll: 1.1 · 0.04 m/s · 10 s + 1 m about the start
    assert (x.min(), x.max()) == pytest.approx((0.5 - 1.44, 0.5 + 1.44), abs=1e-6)
    assert f"{len(mesh.faces)} triangles" in changes["ground.0"]


def test_rough_terrain_without_a_known_reach_is_refused(tmp_path):
    data = scenario_data("eldorado2/rough")
    data["control"] = [{"joints": "drives", "torque": 1.0}]
    with pytest.raises(InputError, match="needs bounds, because the distance travelled"):
        make_rigid(data, tmp_path)


# --- curves of several laws


def test_panels_are_means_of_the_wheels_and_one_for_each_quantity():
    import xarray as xr

    time = np.arange(4.0)
    load = np.array([[1.0, 3.0], [2.0, 4.0], [np.nan, 5.0], [0.0, 8.0]])
    both = xr.Dataset(
        {
            "wheel_load": (("time", "wheel"), load, {"units": "N", "long_name": "load"}),
            "position_base": (("time", "axis"), np.arange(12.0).reshape(4, 3), {"units": "m"}),
        },
        coords={"time": time, "wheel": ["L", "R"], "axis": ["x", "y", "z"]},
    )
    figure = Figure(title="t", panels=(("wheel_load",), ("position_base",)))
    found, missing = quantities([both, both.drop_vars("wheel_load")], figure)
    assert [(q.variable, q.picks, q.count) for q in found] == [
        ("wheel_load", (), 2), ("position_base", ("x",), 1), ("position_base", ("y",), 1),
        ("position_base", ("z",), 1),
    ]  # fmt: skip
    assert found[0].curves[0].mean.tolist() == [2.0, 3.0, 5.0, 4.0]
    assert found[0].curves[0].high.tolist() == [3.0, 4.0, 5.0, 8.0]
    assert len(found[0].curves) == 1 and len(found[1].curves) == 2
    assert missing == {"wheel_load": {1}}


# --- wheels


def wheel_file(folder):
    """Points that are no model's, of two wheels, with a column in mm and one in percent."""
    path = folder / "tests.csv"
    rows = [
        "radius_mm,width_cm,lug_height_mm,load_N,slip_percent,beta_deg,Fx_N,Fx_sd,Fy_N,sinkage_mm"
    ]
    for lugs in (0, 5):
        for i, slip in enumerate((0, 10, 30, 50)):
            rows.append(f"90,10,{lugs},60,{slip},{4 * i},{2 * i - 3 + lugs},0.5,{-3 * i},{8 + i}")
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_measured_points_are_those_of_the_file_and_numbers_those_of_the_model(tmp_path):
    result = compare_wheel(
        wheel_file(tmp_path), "ding,wong_reece", ["late: law=ding, exit=angle:0.3"],
        soil="dry_sand", exit="height:0.2", settings=PEAKS,
    )  # fmt: skip
    ds, soil = dataset(result), load_soil("dry_sand")
    shown = repr(result).splitlines()
    assert shown[0].startswith("Wheel models on '") and len(shown) == 4
    assert shown[1].split()[0] == "ding" and "sinkage" in shown[1]
    with (tmp_path / "tests.csv").open() as file:
        given = list(csv.DictReader(file))
    assert ds.sizes["row"] == len(given) == 8
    for k, row in enumerate(given):
        here = ds.isel(row=k)
        assert float(here.measured_pull) == float(row["Fx_N"])
        assert float(here.measured_side) == float(row["Fy_N"])
        assert float(here.measured_sinkage) == pytest.approx(float(row["sinkage_mm"]) / 1e3)
        lugs = float(row["lug_height_mm"]) / 1e3
        slip, angle = float(row["slip_percent"]) / 100, math.radians(float(row["beta_deg"]))
        peaks = {"peak_0": 0.43, "peak_1": 0.32}
        for name, law, exit, own in (
            ("ding", "ding", Exit("height", 0.2), {"mean_load": 60.0, **peaks}),
            ("wong_reece", "wong_reece", Exit("height", 0.2), peaks),
            ("late", "ding", Exit("angle", 0.3), {"mean_load": 60.0, **peaks}),
        ):
            forces = WheelModel(law, Wheel(0.09, 0.1, exit, lugs), soil, own).under_load(
                60.0, slip, angle
            )
            computed = here.sel(law=name)
            assert float(computed.computed_pull) == forces.drawbar_pull
            assert float(computed.computed_side) == pytest.approx(forces.side_force, abs=1e-12)
            assert float(computed.computed_sinkage) == forces.sinkage
    off = ds.computed_pull.sel(law="late") - ds.measured_pull
    assert result.rms["late"]["pull"] == pytest.approx(math.sqrt(float((off**2).mean())))
    assert result.candidates[2].exits == "angle:0.3" and result.candidates[0].soil == "dry_sand"


def test_a_fit_is_taken_over_with_its_soil_and_exit(tmp_path):
    data = read_wheel_data(wheel_file(tmp_path), where=["lug_height_mm=0"])
    fit = identify(data, "ding", soil="dry_sand", free=["phi", "k", "exit"], starts=1)
    write_soil(fit, tmp_path / "fit" / "soil.yaml")
    (tmp_path / "fit" / "fit.json").write_text(json.dumps(fit.as_dict()), encoding="utf-8")
    result = compare_wheel(data, variants={"fitted": {"fit": str(tmp_path / "fit")}})
    for q in ("pull", "sinkage"):
        assert result.rms["fitted"][q] == pytest.approx(fit.after[q], rel=1e-9)
    assert result.candidates[0].exits.startswith("angle:")


def test_curves_of_a_rovers_wheel():
    result = compare_wheel(
        "exomars", "ding,rigid_slip", soil="dry_sand", gravity=3.72, at_slip=(0.1, 0.3),
        settings={"coefficients.friction": 0.6},
    )  # fmt: skip
    load = result.candidates[0].load
    assert load == pytest.approx(310 * 3.72 / 6, rel=1e-3)
    model = WheelModel("rigid_slip", Wheel(0.1425, 0.12, Exit("angle", 0), 0.008), None,
                       {"friction": 0.6})  # fmt: skip
    curve = result.curves.drawbar_pull.sel(law="rigid_slip", at_angle=0.0)
    assert np.array_equal(curve.values, model.under_load(load, curve.slip.values).drawbar_pull)
    # closed form: μ F_z (1 − e^(−C s/μ)), C = 10
    at = float(curve.sel(slip=0.2, method="nearest"))
    assert at == pytest.approx(0.6 * load * (1 - math.exp(-10 * 0.2 / 0.6)), rel=1e-9)
    side = result.curves.side_force_over_angle.sel(law="ding", at_slip=0.3)
    assert float(side[0]) == 0.0 and (np.diff(side.values) < 0).all()
    assert result.as_dict()["laws"]["ding"]["exit"] == "rebound:0.333"


@pytest.mark.parametrize(
    ("what", "options", "says"),
    [
        ("wheel", {}, "radius: is required and missing"),
        ("exomars", {}, "ding: soil: is required"),
        ("exomars", {"soil": "dry_sand", "settings": {"coeffcients.x": 1}}, "not a setting of a"),
        ("exomars", {"soil": "dry_sand", "settings": {"coefficients.peak": 1}}, "did you mean"),
        ("exomars", {"soil": "dry_sand", "variants": ["w: law=magic_formula"]},
         "w: coefficients peak_x, stiff_x: missing; give them with --set coefficients.peak_x=… "),
        ("exomars", {"soil": "dry_sand", "load": -5.0}, "load = -5 N: must be above 0"),
        ("exomars", {"soil": "dry_sand", "load": math.nan}, "load = nan N: must be above 0"),
        ("exomars", {"soil": "dry_sand", "gravity": 0.0}, "gravity = 0 m/s²: must be above 0"),
        ("exomars", {"soil": "dry_sand", "variants": ["w: law=ding, load=0"]}, "w: load = 0 N"),
        ("exomars", {"soil": "dry_sand", "variants": ["w: fit=nowhere"]}, "no fit.json"),
        ("exomars", {"soil": "dry_sand", "variants": ["w: law=ding, soil=mud"]}, "w: unknown soil"),
        ("exomars", {"soil": "dry_sand", "where": ["slip=0"]}, "selects rows of a file"),
        ("exomars", {"soil": "dry_sand", "at_slip": (2.0,)}, "from −1 to 1"),
    ],
)  # fmt: skip
def test_wrong_wheels_are_one_sentence(what, options, says):
    with pytest.raises(InputError, match=says) as error:
        compare_wheel(what, "ding", **options)
    assert "\n" not in str(error.value)


def test_a_wheel_that_sinks_to_its_axle_is_named():
    options = {"wheel": {"radius": 0.1, "width": 0.1}, "soil": "dry_sand", "exit": "height:0.2"}
    # half submerged, the soil's largest pressure k r^n under the whole width carries k b r^(n+1)·2
    k = 990.0 / 0.1 + 1528430.0
    found = compare_wheel("wheel", "ding", load=2 * k * 0.1 * 0.1**2.1, **options)
    assert found.notes == ("ding: the wheel sinks to its axle at all slips",)
    assert compare_wheel("wheel", "ding", load=50.0, **options).notes == ()


def test_names_of_a_wheels_sizes():
    from marsyard.analysis.options import parse_sizes

    assert parse_sizes("r=9cm, width=0.1,lugs=5mm") == {
        "radius": 0.09, "width": 0.1, "lug_height": 0.005
    }  # fmt: skip
    with pytest.raises(InputError, match="--wheel: unknown 'lug_count'; did you mean 'lug_height'"):
        parse_sizes("radius=9cm,lug_count=18")


def test_gravity_is_above_zero():
    from marsyard.analysis.options import gravity_of

    assert gravity_of("Moon") == 1.62 and gravity_of("3.7 m/s²") == 3.7
    for text in ("0", "-3"):
        with pytest.raises(InputError, match="--gravity = .* must be above 0"):
            gravity_of(text)


def test_a_curve_of_jitter_is_calmed_and_others_are_left_alone():
    time = np.linspace(0.0, 20.0, 801)
    slow = 0.1 * np.sin(0.5 * time)
    jitter = 0.3 * (-1.0) ** np.arange(801)
    mean = moving_mean(slow + jitter)
    # away from the ends, alternating signs cancel but for one of the window's 21 records
    assert np.abs(mean - slow)[20:-20].max() < 0.3 / 21 + 0.002
    assert (
        moving_mean(slow) is None
        and moving_mean(slow + 0.1 * jitter) is None
        and moving_mean(1e-9 * jitter) is None
    )


def test_the_ground_of_a_drive_reaches_around_its_path(tmp_path):
    data = scenario_data("control/path")
    make_rigid(data, tmp_path)
    low, high = trimesh.load(data["ground"][0]["file"]).bounds
    # the path runs from x = 0 to 10 m and y = −0.4 to 0.4 m
    assert (low[0], high[0]) == pytest.approx((-2, 12), abs=1e-6)
    assert (low[1], high[1]) == pytest.approx((-2.4, 2.4), abs=1e-6)


# --- measured points beside a study


def test_measured_points_beside_a_study_of_slip(tmp_path):
    import xarray as xr

    path = tmp_path / "tests.csv"
    rows = ["radius_m,width_m,load_N,slip,Fx_N,sinkage_m", "0.1,0.1,50,0.1,5,0.01"]
    rows += ["0.1,0.1,50,0.3,9,0.02", "0.1,0.1,50,0.9,1,0.03"]
    path.write_text("\n".join(rows), encoding="utf-8")
    study = load_scenario("wheel/pull").study
    points = read_points(path, study)
    attrs = {"take": "mean", "long_name": "drawbar pull", "of": "drawbar_pull.W", "units": "N"}
    depth = {"take": "mean", "long_name": "sinkage", "of": "sinkage.W", "units": "mm"}
    other = {
        "take": "mean",
        "long_name": "driving torque",
        "of": "driving_torque.W",
        "units": "N·m",
    }
    axes = ("slip", "law")
    ds = xr.Dataset(
        {
            "drawbar_pull": (axes, [[2.0, 0.0], [6.0, 4.0], [10.0, 8.0]], attrs),
            "sinkage": (axes, [[10.0, 9.0], [10.0, 9.0], [30.0, 9.0]], depth),
            "driving_torque": (axes, np.ones((3, 2)), other),
            "completed": (axes, np.ones((3, 2))),
        },
        coords={"slip": ("slip", [0.0, 0.2, 0.4], {"long_name": "slip"}), "law": ["a", "b"]},
        attrs={"varied": "slip"},
    )
    # a is at 4 and 8 N where 5 and 9 N were measured; the row beyond its range does not count
    found = misfits(ds, points)
    assert found["a"]["drawbar_pull"] == pytest.approx(1.0)
    assert found["b"]["drawbar_pull"] == pytest.approx(3.0)
    # 10 and 20 mm were measured, in metres; a has 10 and 20 mm
    assert found["a"]["sinkage"] == pytest.approx(0.0, abs=1e-12)
    drawn = with_points(study, ds, points).figures[0].reference
    assert [(r.panel, r.x, r.y) for r in drawn] == [
        (0, (0.1, 0.3, 0.9), (5.0, 9.0, 1.0)), (2, (0.1, 0.3, 0.9), (10.0, 20.0, 30.0)),
    ]  # fmt: skip
    # the rig has 0.125 m, 0.1 m and 100 N
    notes = other_wheel(points, load_scenario("wheel/pull"))
    assert [n.split(" is ")[0] for n in notes] == ["radius", "load"]
    assert "0.125 m in the scenario and 0.1 m in tests.csv" in notes[0]
    same = {"robot.wheel.radius": 0.1, "parameters.load": 50}
    assert other_wheel(points, load_scenario("wheel/pull", same)) == []
    with pytest.raises(InputError, match="need a study of slip, but the scenario varies ground"):
        read_points(path, load_scenario("eldorado2/slope").study)
    with pytest.raises(InputError, match="need a study of slip, but the scenario is not a study"):
        read_points(path, None)


DRIVE = {
    "robot": {"name": "exomars", "position": [0, 0, 1], "settle": True},
    "ground": [
        {
            "kind": "terrain",
            "name": "sand",
            "terrain": {"layers": [{"kind": "crater", "centre": [3, 0.1], "diameter": 2}]},
            "soil": "mars_sand_zhou2023",
        }
    ],
    "run": {"duration": 1},
}


def test_goals_are_planned_for_rigid_ground(tmp_path):
    commands = [{"goal": [6, 0], "speed": 0.1}, {"path": [[6, 0], [7, 0]]}, {"goal": [8, 0]}]
    data = {**DRIVE, "drive": {"commands": commands, "limits": {"slope": "10 deg"}}}
    changes = make_rigid(data, tmp_path)
    path = np.array(data["drive"]["commands"][0]["path"])
    np.testing.assert_allclose(path[[0, -1]], [[0, 0], [6, 0]], atol=1e-9)
    # around the crater, and a little longer than straight on
    assert np.hypot(path[:, 0] - 3, path[:, 1] - 0.1).min() > 0.9
    assert 6.0 < np.hypot(*np.diff(path, axis=0).T).sum() < 8.0
    assert data["drive"]["commands"][1] == commands[1]
    assert "planned over the terrain" in changes["drive.commands.2"]
    assert commands[0] == {"goal": [6, 0], "speed": 0.1}
    validate(data, "rigid")
    after_motors = [{"rate": 1, "duration": 1}, {"goal": [6, 0]}]
    with pytest.raises(
        InputError,
        match=r"drive.commands.1.goal: on rigid ground, a goal cannot "
        r"be planned",
    ):
        make_rigid({**DRIVE, "drive": {"commands": after_motors}}, tmp_path)


def test_laws_of_hard_ground_leave_the_sand_between_rocks(tmp_path):
    data = scenario_data("exomars/rocks-and-sand")
    for law in ("nonsmooth", "compliant", "polygonal"):
        scenario, changes = scenario_under(data, Variant(law, law), "x", tmp_path)
        assert [g.kind for g in scenario.ground] == ["terrain", "rocks"]
        assert scenario.interaction.law == law
        assert changes == ({} if law == "polygonal" else {"interaction.law": law})
    # without hard ground the sand itself becomes it
    alone = scenario_data("eldorado2/slope")
    scenario, changes = scenario_under(alone, Variant("p", "polygonal"), "x", tmp_path)
    assert scenario.ground[0].kind == "plane" and changes["interaction.law"] == "polygonal"
    assert scenario.robot.wheel.grousers == "none"
