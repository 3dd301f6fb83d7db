"""Reading wheel logs: names of columns, units, conventions, and one sentence for every defect."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.analysis.options import parse_sizes
from marsyard.analysis.wheel_data import WheelData
from marsyard.analysis.wheel_files import read_wheel_data
from marsyard.analysis.wheel_table import parse_condition
from marsyard.errors import InputError

WHEEL = {"radius": 0.1, "width": 0.05}


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_wide_file_with_units_and_spreads(tmp_path):
    path = write(
        tmp_path,
        "case,Wheel_Radius_mm,width [cm],Fz_N,slip_percent,beta_deg,Fx_N,Fx_sd,torque_mNm,"
        "sinkage_mm,sinkage_sd,other\n"
        "a,58,5,24,20,10,1.5,0.2,300,12,0.5,x\n"
        "b,58,5,24,-30,0,-2,,,nan,,y\n",
    )
    data = read_wheel_data(path)
    assert data.radius == pytest.approx([0.058, 0.058])
    assert data.width == pytest.approx([0.05, 0.05])
    assert data.lug_height == pytest.approx([0, 0])
    assert data.slip == pytest.approx([0.2, -0.3])
    assert np.degrees(data.slip_angle) == pytest.approx([10, 0])
    assert data.measured["pull"] == pytest.approx([1.5, -2])
    assert data.measured["torque"] == pytest.approx([0.3, np.nan], nan_ok=True)
    # a spread without unit is in the unit of its quantity
    assert data.spread["sinkage"] == pytest.approx([0.5e-3, np.nan], nan_ok=True)
    assert data.measured["sinkage"] == pytest.approx([0.012, np.nan], nan_ok=True)
    assert data.quantities == ("pull", "torque", "sinkage")


def test_long_file_with_comment(tmp_path):
    path = write(
        tmp_path,
        "# wheel r 0.09 b 100 mm, load 65 N\nquantity;slip;slip_angle_deg;value\n"
        "Fx_N;0.1;4;3\nFy_N;0.1;4;8\nsinkage_rel_mm;0.2;0;-4\n",
    )
    data = read_wheel_data(path)
    assert (data.radius[0], data.width[0], data.load[0]) == (0.09, 0.1, 65.0)
    assert data.relative_sinkage
    assert data.measured["pull"] == pytest.approx([3, np.nan, np.nan], nan_ok=True)
    assert data.measured["sinkage"] == pytest.approx([np.nan, np.nan, -0.004], nan_ok=True)
    # soil pushes against the side slip: positive forces belong to motion to the right
    assert np.degrees(data.slip_angle) == pytest.approx([-4, -4, 0])
    assert any("reversed" in note for note in data.notes)


def test_angles_that_already_follow_the_convention_stay(tmp_path):
    path = write(tmp_path, "slip,beta_deg,Fy_N,load\n0.1,5,-3,20\n0.1,-5,4,20\n")
    assert np.degrees(read_wheel_data(path, wheel=WHEEL).slip_angle) == pytest.approx([5, -5])


def test_what_is_given_wins_over_the_file(tmp_path):
    path = write(tmp_path, "slip,load,pull,radius,width\n0.1,20,3,0.2,0.1\n")
    data = read_wheel_data(path, wheel={"radius": 0.15}, load=30)
    assert (data.radius[0], data.width[0], data.load[0]) == (0.15, 0.1, 30)


@pytest.mark.parametrize("rim", [0.0, 0.3, 0.8, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("angle", [0.0, 15.0, 60.0, 85.0])
def test_slip_counted_with_the_speed_of_travel(tmp_path, rim, angle):
    # a wheel travels with v = 1; the file counts with v, the models with v cos β
    counted = (rim - 1) / max(rim, 1)
    path = write(tmp_path, f"slip,beta_deg,pull,load\n{counted!r},{angle},1,20\n")
    got = read_wheel_data(path, wheel=WHEEL, slip_from="travel").slip[0]
    ahead = math.cos(math.radians(angle))
    assert got == pytest.approx((rim - ahead) / max(rim, ahead), abs=1e-9)


def test_auto_finds_slip_of_travel_before_rows_are_chosen(tmp_path):
    path = write(tmp_path, "slip,beta_deg,pull,load\n0,60,1,20\n0.2,90,1,20\n")
    data = read_wheel_data(path, wheel=WHEEL, where=["beta_deg=60"])
    assert data.slip == pytest.approx([0.5])
    assert any("total travel speed" in note for note in data.notes)
    assert read_wheel_data(path, wheel=WHEEL, slip_from="heading").slip == pytest.approx([0, 0.2])


def test_of_two_columns_the_measured_one_is_used(tmp_path):
    path = write(tmp_path, "slip,load_n,meas_fz_n,fx,pull\n0.1,20,21,1,2\n")
    data = read_wheel_data(path, wheel=WHEEL)
    assert data.load[0] == 21 and data.measured["pull"][0] == 1
    assert sum("both mean" in note for note in data.notes) == 2


def test_a_log_over_time_is_averaged(tmp_path):
    lines = ["time_s,wheel,slip,load,pull"]
    for i in range(40):
        t = 100 + 0.1 * i
        for wheel, more in ((1, 0), (2, 5)):
            lines.append(f"{t:.1f},{wheel},{0.1 * (i // 10):.1f},20,{i % 10 + more}")
    path = write(tmp_path, "\n".join(lines))
    data = read_wheel_data(path, wheel=WHEEL, window=1.0)
    # 4 s of two wheels, the mean of 0 … 9 in each second
    assert data.measured["pull"] == pytest.approx([4.5] * 4 + [9.5] * 4)
    assert data.slip == pytest.approx([0, 0.1, 0.2, 0.3] * 2)
    assert any("80 rows over time are averaged over 1 s to 8" in n for n in data.notes)


def test_where(tmp_path):
    path = write(tmp_path, "kind,slip,load,pull\na,0.1,20,1\na,0.4,20,2\nb,0.1,20,3\n")
    pull = lambda *where: list(read_wheel_data(path, wheel=WHEEL, where=where).measured["pull"])  # noqa: E731
    assert pull("kind=a") == [1, 2]
    assert pull("kind=a", "slip<0.2") == [1]
    assert pull("slip=0.10") == [1, 3]
    assert pull("kind!=a") == [3]
    column, test = parse_condition("slip >= 0.4")
    assert column == "slip" and test("0.4") and not test("0.39")


def test_different_wheels_are_told_apart():
    data = WheelData(
        "x", radius=[0.1, 0.2, 0.1], width=0.1, lug_height=0, load=20, slip=np.zeros(3),
        slip_angle=0, measured={"pull": np.ones(3)},
    )  # fmt: skip
    assert [(size[0], list(rows)) for size, rows in data.wheels()] == [
        (0.1, [True, False, True]),
        (0.2, [False, True, False]),
    ]


# --- files as other laboratories write them

TRUE = {"slip": [0.1, 0.4], "load": [80, 80], "pull": [11, 15], "torque": [3, 5]}
TRUE["sinkage"] = [0.0055, 0.0125]
RIG = {"radius": 0.15, "width": 0.165}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("slip (%),Normal load (N),drawbar pull (N),T_w [Nm],sinkage (mm)\n"
         "10,80,11,3,5.5\n40,80,15,5,12.5\n", {"wheel": RIG}),
        # decimal comma, single letters
        ("i;W;DP;T;z_mm\n0,1;80;11,0;3,0;5,5\n0,4;80;15;5;12,5\n", {"wheel": RIG}),
        # tabs, signs the other way, numbers below ground
        ("slip_pct\tFz_N\tFx\tM_y\tz\n10\t-80\t11\t-3\t-0.0055\n40\t-80\t15\t-5\t-0.0125\n",
         {"wheel": RIG}),
        # names with their symbols
        ("Slip ratio s [-];Drawbar pull F_{DP} [N];Torque T_y [N m];Sinkage z [mm];Load W (N)\n"
         "0.1;11;3;5.5;80\n0.4;15;5;12.5;80\n", {"wheel": RIG}),
        # pull by load
        ("slip,load,DP/W,torque,sinkage_mm\n0.1,80,0.1375,3,5.5\n0.4,80,0.1875,5,12.5\n",
         {"wheel": RIG}),
        # a head with the wheel, a line of units
        ("Report 12\nWheel radius [mm];150\nWheel width: 16,5 cm\nLugs;0;mm\nNormal load;80;N\n"
         "\nSlip;F_DP;Torque;Sinkage\n-;N;N·m;mm\n0,1;11;3;5,5\n0,4;15;5;12,5\n", {}),
        ("# wheel D=300 mm, b=165 mm, load 0.08 kN\nslip, F_{DP} / kN, torque/mN·m, sinkage [cm]\n"
         "0.1, 0.011, 3000, 0.55\n0.4, 0.015, 5000, 1.25\n", {}),
        # blanks, camel case, percent in the cells, rows without numbers
        ("slipRatio normalLoad drawbarPull driveTorque wheelSinkage_mm\n"
         "40% 80 15 5 12.5\n10% 80 11 3 5.5\n20% 80 - - -\n", {"wheel": RIG}),
        ("Schlupf;Zugkraft;Last;Moment;Tiefe\n0,1;11;80;3;5,5\n0,4;15;80;5;12,5\n",
         {"wheel": RIG, "columns": {"slip": "Schlupf", "pull": "Zugkraft", "load": "Last [N]",
                                    "sinkage": "Tiefe [mm]"}}),
        # speeds instead of slip: r ω = 0.1 m/s
        ("omega [rad/s],carriage velocity (mm/s),Fz,Fx,torque,sinkage_mm\n"
         "0.6666667,90,80,11,3,5.5\n0.6666667,60,80,15,5,12.5\n", {"wheel": RIG}),
        ("wheel_surface_speed_mm_s,vx,Fz,Fx,torque,sinkage_mm\n100,0.09,80,11,3,5.5\n"
         "-100,-0.06,80,15,5,12.5\n", {"wheel": RIG}),
    ],
)  # fmt: skip
def test_one_set_of_tests_as_many_files(tmp_path, text, options):
    data = read_wheel_data(write(tmp_path, text), **options)
    order = np.argsort(data.slip)
    assert (data.radius[0], data.width[0]) == pytest.approx((0.15, 0.165))
    assert data.slip[order] == pytest.approx(TRUE["slip"], abs=1e-6)
    assert data.load == pytest.approx(TRUE["load"])
    for name in data.quantities:
        assert data.measured[name][order] == pytest.approx(TRUE[name]), name
    assert set(data.quantities) == {"pull", "torque", "sinkage"}


def test_other_encodings(tmp_path):
    for encoding in ("cp1252", "utf-16"):
        path = tmp_path / "data.csv"
        path.write_bytes("alpha (°),slip,lateral force,load\n5,.1,-3,20\n".encode(encoding))
        assert np.degrees(read_wheel_data(path, wheel=WHEEL).slip_angle) == pytest.approx([5])


@pytest.mark.parametrize(
    "head", ["σ_Fx,Fx_N", "std(Fx),Fx_N", "Fx_sd_N,Fx_N", "Fx_N_std,Fx_N", "error Fx (N),Fx (N)"]
)
def test_standard_deviations(tmp_path, head):
    data = read_wheel_data(write(tmp_path, f"slip,load,{head}\n.1,80,0.5,11\n"), wheel=WHEEL)
    assert data.measured["pull"] == pytest.approx([11])
    assert data.spread["pull"] == pytest.approx([0.5])


def test_pull_that_falls_with_slip_has_its_sign_turned(tmp_path):
    path = write(tmp_path, "slip,load,Fx\n0,80,6\n0.1,80,-9\n0.2,80,-12\n0.3,80,-14\n0.6,80,-13\n")
    data = read_wheel_data(path, wheel=WHEEL)
    assert data.measured["pull"] == pytest.approx([-6, 9, 12, 14, 13])
    assert any("the sign of the pull is reversed" in note for note in data.notes)


def test_lugs_in_the_comment_and_columns_not_used(tmp_path):
    path = write(tmp_path, "# r 150 mm, 30 lugs of 15 mm\nslip,load,pull,h\n0.1,80,3,5\n")
    data = read_wheel_data(path, wheel={"width": 0.1})
    assert data.lug_height[0] == 0.015 and data.radius[0] == 0.15
    assert "columns not used: h" in data.notes
    smooth = read_wheel_data(write(tmp_path, GOOD), wheel=WHEEL)
    assert any("assumed to be smooth" in note for note in smooth.notes)


@pytest.mark.parametrize(
    "head",
    ["slip_FL,slip_FR,Fz_FL_N,Fz_FR_N,torque_FL,torque_FR",
     "FL.slip,FR.slip,FL.load [N],FR.load [N],FL.torque,FR.torque",
     "slip front left,slip front right,load front left,load front right,"
     "torque front left,torque front right",
     "slip_1,slip_2,load_1,load_2,torque_1,torque_2"],
)  # fmt: skip
def test_wheels_side_by_side(tmp_path, head):
    rows = "".join(f"2024-05-01 10:00:{k:02d},.1,.2,40,41,2,3\n" for k in range(4))
    data = read_wheel_data(write(tmp_path, f"time,{head}\n{rows}"), wheel=WHEEL, window=2.0)
    assert sorted(zip(data.slip.round(6), data.load, data.measured["torque"], strict=True)) == [
        (0.1, 40, 2), (0.1, 40, 2), (0.2, 41, 3), (0.2, 41, 3),
    ]  # fmt: skip


def test_a_rig_s_log_gives_its_steady_part(tmp_path):
    # two runs, each settling over 2 s; the second begins where time starts again
    rng = np.random.default_rng(1)
    lines = ["Time (s);omega [rpm];carriage velocity (mm/s);Fx (N);Fz (N);sinkage (mm)"]
    for speed, pull in ((50, 10), (30, 14)):
        for t in np.arange(0, 20, 0.1):
            gone = 1 - np.exp(-t / 2)
            noise = rng.normal(0, 1, 4)
            cells = [t, 4 + 0.05 * noise[0], speed + noise[1], pull * gone + 0.5 * noise[2],
                     80 + 2 * noise[3], 12 * gone]  # fmt: skip
            lines.append(";".join(f"{c:.3f}".replace(".", ",") for c in cells))
    data = read_wheel_data(write(tmp_path, "\n".join(lines)), wheel=RIG)
    rim = 0.15 * 4 * math.pi / 30
    for slip, pull in ((1 - 0.05 / rim, 10), (1 - 0.03 / rim, 14)):
        rows = np.abs(data.slip - slip) < 0.05
        assert 10 <= rows.sum() < 20
        assert data.measured["pull"][rows] == pytest.approx(pull, rel=0.12)
        assert data.measured["sinkage"][rows] == pytest.approx(0.012, rel=0.12)
    assert any("not steady" in note for note in data.notes)


@pytest.mark.filterwarnings("error")
def test_any_file_is_read_or_refused(tmp_path):
    # random heads and cells: numbers within their bounds, or one sentence; nothing else
    heads = ["slip_percent", "i", "Fx_N", "DP [kN]", "T", "t", "time_s", "z", "sinkage_mm", "W",
             "beta_deg", "Fy", "omega", "v", "rpm", "Fx_sd", "run", "wheel", "quantity", "value",
             "r", "D [mm]", "slip_FL", "slip_FR", "load_FL", "load_FR", "h"]  # fmt: skip
    cells = ["0.1", "0.2", "0.3", "0.5", "0.8", "1", "nan", "", "x", "inf", "0,5", "10%", "-80"]
    rng = np.random.default_rng(0)
    path, read = tmp_path / "any.csv", 0
    for _ in range(150):
        names = ["slip", "load", "pull", *rng.choice(heads, rng.integers(0, 5), replace=False)]
        rng.shuffle(names)
        some = cells[:6] if rng.random() < 0.7 else cells
        rows = [names, *rng.choice(some, (rng.integers(0, 9), len(names)))]
        mark = rng.choice(list(",;\t| "))
        path.write_text("\n".join(mark.join(row) for row in rows), encoding="utf-8")
        try:
            data = read_wheel_data(path, wheel=WHEEL, load=30.0)
        except InputError as error:
            assert "\n" not in str(error)
            continue
        read += 1
        assert np.all(np.abs(data.slip) <= 1) and np.all(np.abs(data.slip_angle) <= np.pi / 2)
        assert np.all(data.load > 0) and data.quantities
    assert read > 20


GOOD = "slip,load,pull\n0.1,20,1\n"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("slip,load,pull\n", {}, "no rows"),
        ("", {}, "no rows"),
        ("load,pull\n20,1\n", {}, "no column for the slip"),
        ("slip,load\n0.1,20\n", {}, "no column of a measured quantity"),
        ("slip,pull\n0.1,1\n", {}, "no column for the load.*--load"),
        ("slip,load_stone,pull\n0.1,20,1\n", {}, "'stone' is not a unit of load"),
        ("slip,load,pull [stone]\n0.1,20,1\n", {}, r"'stone' is not a unit of pull; n, kn"),
        ("slip,load,torque_stone\n0.1,20,1\n", {}, "'stone' is not a unit of torque"),
        ("slip,load,pull\nnan,20,1\n", {}, "'slip' is empty in all rows"),
        ("slip,load,pull\n0.1,x,1\n", {}, "row 1: 'load' = 'x' is not a number"),
        ("slip,load,pull\n0.1,20,inf\n", {}, "'pull' is not finite"),
        ("slip,load,pull\n0.1,20,nan\n", {}, "no row has a measured value"),
        ("slip,load,pull\n0.1,20\n", {}, "row 1 has 2 cells"),
        ("slip,load,pull\n20,20,1\n", {}, "slip_percent"),
        ("slip,load,pull,beta\n0.1,20,1,15\n", {}, "slip_angle_deg"),
        ("slip,load,pull\n0.1,-20,1\n0.2,20,1\n", {}, "load = -20: above 0"),
        ("slip,load,sinkage\n0.1,20,15\n", {}, "sinkage_mm"),
        ("slip,load,pull,radius\n0.1,20,1,150\n", {"wheel": {"width": 0.1}}, "radius_mm"),
        ("quantity,slip,load,value\nsoup,0.1,20,1\n", {}, "quantity 'soup' is not known"),
        (GOOD, {"wheel": {"width": 0.1}}, "no column for the radius.*--wheel"),
        (GOOD, {"wheel": {**WHEEL, "colour": 1}}, "unknown 'colour'"),
        (GOOD, {"wheel": {**WHEEL, "radius": -1}}, "radius = -1"),
        (GOOD, {"wheel": {**WHEEL, "lug_height": 0.2}}, "lug_height is not below the radius"),
        (GOOD, {"where": ["kind=a"]}, "no column 'kind'"),
        (GOOD, {"where": ["slip=0.9"]}, "no row has slip=0.9"),
        (GOOD, {"where": ["slip"]}, "COLUMN=VALUE"),
        (GOOD, {"where": ["slip<a"]}, "'a' is not a number"),
        (GOOD, {"slip_from": "x"}, "auto, heading or travel"),
        (GOOD, {"columns": {"pul": "pull"}}, "no quantity 'pul'; did you mean 'pull'"),
        (GOOD, {"columns": {"pull": "pul"}}, "no column 'pul'; did you mean 'pull'"),
        (GOOD, {"columns": {"pull": "pull [m]"}}, "'m' is no unit of pull"),
        ("slip,load,pull,pull\n0.1,80,1,2\n", {}, "two columns are called 'pull'"),
        ("slip,load,pull\n0,1,80,6\n", {}, "decimal comma need semicolons"),
        ("slip,load,pull\n0.1,0.08,6\n", {}, "load_kn"),
        ("slip,load,sinkage\n0.1,80,5.5e-6\n", {}, "sinkage_mm"),
        ("slip,load,pull\n0.1,80,9000\n", {}, "20 times the load"),
        ("wheel_speed,v,Fz,Fx\n1,.1,80,4\n", {}, "'wheel_speed' is not used: state its unit"),
        ("omega,v,Fz,Fx\n0,0,80,4\n", {}, "all speeds are 0"),
        ("time,slip,load,pull\n,0.1,80,4\n", {}, "'time' is empty"),
    ],
)
def test_defects_are_said_in_one_sentence(tmp_path, text, options, said):
    path = write(tmp_path, text)
    options = {"wheel": WHEEL, **options}
    with pytest.raises(InputError, match=said) as error:
        read_wheel_data(path, **options)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="none.csv: no such file"):
        read_wheel_data(tmp_path / "none.csv")
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_wheel_data(path)


def test_sizes():
    assert parse_sizes("radius=58mm, b=5cm") == pytest.approx({"radius": 0.058, "width": 0.05})
    for text, said in (("radius", "NAME=LENGTH"), ("radius=5N", "unit of force")):
        with pytest.raises(InputError, match=said):
            parse_sizes(text)


def rover_log(tmp_path):
    import xarray as xr

    from marsyard.results import save

    time = np.arange(0, 4, 0.1)
    wheels = ["left", "right"]
    base = np.outer(np.floor(time), np.ones(2))
    fields = {
        "slip_ratio": 0.1 * base, "wheel_load": 40 + 0 * base, "drawbar_pull": base + [0, 1],
        "sinkage": 0.01 + 0 * base, "driving_torque": base, "side_force": 0 * base,
        "slip_angle": 0 * base,
    }  # fmt: skip
    ds = xr.Dataset(
        {k: (("time", "wheel"), v) for k, v in fields.items()},
        {"time": time, "wheel": wheels},
    )
    ds["slip_ratio"][:10, 1] = np.nan
    return save(ds, tmp_path / "results.nc")


def test_a_run_is_read_as_means_over_windows(tmp_path):
    rover_log(tmp_path)
    data = read_wheel_data(tmp_path / "results.nc", wheel=WHEEL, window=1.0)
    # four seconds of the left wheel, three of the right: it was in the air in the first
    assert data.measured["pull"] == pytest.approx([0, 1, 2, 3, 2, 3, 4])
    assert data.slip == pytest.approx([0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    left = read_wheel_data(tmp_path / "results.nc", wheel=WHEEL, where=["wheel=left", "time>1"])
    assert left.measured["pull"] == pytest.approx([1, 2, 3])
    for options, said in (
        ({}, "wheel's radius"),
        ({"wheel": WHEEL, "where": ["slip=1"]}, "no column 'slip'"),
        ({"wheel": WHEEL, "where": ["wheel=none"]}, "no wheel is on soil"),
    ):
        with pytest.raises(InputError, match=said):
            read_wheel_data(tmp_path / "results.nc", **options)
