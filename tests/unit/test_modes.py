"""Comparing modes: what may be asked for, the search for the limit, what is measured and said."""

from __future__ import annotations

import json
import math

import mujoco
import numpy as np
import pytest
import xarray as xr

from marsyard.comparison.mode_answer import Limit, ModeComparison, cheapest, words
from marsyard.comparison.mode_files import as_dict, dataset, draw_modes, draw_parts, write_modes
from marsyard.comparison.mode_measures import Row, cycle_ends, direction, measure, normal, planned
from marsyard.comparison.mode_slopes import Ramp, Search, find_ramp, parse_slopes
from marsyard.comparison.mode_variants import ModeVariant, mode_variants, must_measure, scenario_at
from marsyard.errors import InputError
from marsyard.scenario import validate

BASE = {
    "title": "A slope",
    "robot": {"name": "marsokhod_like", "settle": True},
    "ground": [{"kind": "plane", "slope": 0}],
    "gait": {
        "modes": [
            {"mode": "rolling", "speed": "4 cm/s", "until": {"time": 5}},
            {"mode": "peristaltic", "stride": 0.2},
        ],
        "repeat": True,
    },
    "run": {"duration": 40, "step": "4 ms", "record_period": 0.04},
}


def base(**changes):
    return validate({**BASE, **changes}, "test")


# --- what is asked for


def test_slopes():
    assert np.degrees(parse_slopes("0:30:10")) == pytest.approx([0, 10, 20, 30])
    assert np.degrees(parse_slopes("0:9:2.5")) == pytest.approx([0, 2.5, 5, 7.5])
    assert np.degrees(parse_slopes("10, 5,0.1 rad")) == pytest.approx([5, math.degrees(0.1), 10])
    assert parse_slopes([0, "0.2 rad"]) == pytest.approx([0, 0.2])
    for wrong, about in (
        ("0:90:5", "90"), ("-5:10:5", "-5"), ("10:0:5", "upwards"), ("0:10:0", "upwards"),
        ("0:10", "start:stop:step"), ("steep", "steep"), ("0:80:0.001", "1000"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=about):
            parse_slopes(wrong)


def test_modes_take_their_numbers_from_the_scenario():
    found = mode_variants(base(), "", ())
    assert [v.name for v in found] == ["rolling", "peristaltic"]
    assert found[0].fields == {"speed": 0.04} and found[1].fields == {"stride": 0.2}
    # one that the scenario does not have runs with its defaults
    assert mode_variants(base(), "walking", ())[0].fields == {}
    own = mode_variants(base(), "rolling", ["long: mode=peristaltic, stride=24 cm, gravity=1"])
    assert own[1].fields == {"stride": "24 cm"} and own[1].settings == {"gravity": 1}


@pytest.mark.parametrize(
    ("modes", "variants", "about"),
    [
        ("rollin", (), "did you mean 'rolling'"),
        ("rolling,rolling", (), "appears twice"),
        ("", ["a: stride=1"], "mode"),
        ("", ["a: mode=rolling, stride=1"], "neither of mode rolling"),
    ],
)
def test_wrong_modes(modes, variants, about):
    with pytest.raises(InputError, match=about) as error:
        mode_variants(base(), modes, variants)
    assert "\n" not in str(error.value)


def test_the_slope_is_found_on_planes_and_terrain():
    assert find_ramp(base()).path == "ground.0.slope"
    sand = {"kind": "terrain", "soil": "dry_sand",
            "terrain": {"layers": [{"kind": "plane", "slope": 0, "uphill": "90 deg"}]}}  # fmt: skip
    ramp = find_ramp(base(ground=[sand]))
    assert ramp.path == "ground.0.terrain.layers.0.slope" and ramp.uphill == pytest.approx(
        np.pi / 2
    )
    with pytest.raises(InputError, match="several slopes"):
        find_ramp(base(ground=[sand, {"kind": "plane"}]))
    assert find_ramp(base(ground=[sand, {"kind": "plane"}]), "ground.1.slope").uphill == 0
    with pytest.raises(InputError, match="has no slope"):
        find_ramp(base(ground=[{"kind": "sphere", "centre": [0, 0, -9], "radius": 9}]))
    with pytest.raises(InputError, match="is not a slope of the ground"):
        find_ramp(base(), "ground.0.slop")


@pytest.mark.parametrize("heading", [0.0, 0.7, 2.0, -2.5])
def test_the_robot_stands_on_the_slope(heading):
    slope, uphill = 0.4, 0.3
    roll, pitch, yaw = Ramp("", uphill, heading).attitude(slope)
    quaternion = np.zeros(4)
    mujoco.mju_euler2Quat(quaternion, np.array([yaw, pitch, roll]), "zyx")
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quaternion)
    axes = turn.reshape(3, 3)
    assert axes[:, 2] == pytest.approx(normal(slope, uphill))
    assert axes[:, 0] == pytest.approx(direction(slope, uphill, heading))


def test_a_mode_on_a_slope():
    rolling = mode_variants(base(), "rolling", ())[0]
    made = scenario_at(base(), rolling, find_ramp(base()), 0.2)
    assert made.ground[0].slope == 0.2 and made.robot.attitude == pytest.approx((0, -0.2, 0))
    assert len(made.gait.modes) == 1 and not made.gait.repeat
    assert made.gait.modes[0].until.time is None and made.gait.modes[0].speed == 0.04
    for fields, said in (
        ({"speed": 0}, "does not move"),
        ({"period": 20}, "fewer than three cycles of 20 s"),
    ):
        variant = ModeVariant("a", "rolling", fields)
        made = scenario_at(base(), variant, find_ramp(base()), 0.0)
        with pytest.raises(InputError, match=said):
            must_measure(made, variant)
    with pytest.raises(InputError, match="mode a: .*stride"):
        scenario_at(base(), ModeVariant("a", "peristaltic", {"stride": "x"}), find_ramp(base()), 0)


# --- the search


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("limit", [0.0, 0.13, 0.29, 0.31])
def test_the_limit_is_found(limit, count):
    search = Search(np.linspace(0, 0.5, 6), 0.01)
    asked = 0
    while more := search.next(count):
        asked += len(more)
        for slope in more:
            search.tell(slope, slope <= limit)
    assert search.climbs <= limit < search.fails <= search.climbs + 0.01 + 1e-9
    assert search.left() == 0 and asked < 14


def test_a_mode_that_climbs_all_or_none():
    search = Search([0.0, 0.1], 0.01)
    while more := search.next(1):
        search.tell(more[0], True)
    assert (search.climbs, search.fails) == (0.1, None)
    search = Search([0.0, 0.1], 0.01)
    search.tell(search.next(1)[0], False)
    assert search.next(1) == [] and (search.climbs, search.fails) == (None, 0.0)
    rough = Search([0.0, 0.1], 0.0)
    rough.tell(0.0, True)
    rough.tell(0.1, False)
    assert rough.next(1) == []


# --- what is measured


def climbing(speed=lambda t: 0.02 + 0 * t, slope=0.2, period=2.0, lean=0.0) -> xr.Dataset:
    """A cart of 10 kg goes up a slope in cycles of 2 s; its motor lifts it and nothing else."""
    t = np.arange(0, 20 + 1e-9, 0.1)
    v = speed(t)
    way = np.concatenate([[0.0], np.cumsum((v[1:] + v[:-1]) / 2 * 0.1)])
    position = way[:, None] * np.array([math.cos(slope), 0, math.sin(slope)])
    pitch = -slope + lean * t / 20
    quaternion = np.stack([np.cos(pitch / 2), 0 * t, np.sin(pitch / 2), 0 * t], axis=1)
    phase = np.where(t > 0, (t - 1e-9) % period, 0) / period
    power = 10 * 4.0 * math.sin(slope) * v
    return xr.Dataset(
        {
            "position_base": (("time", "axis"), position),
            "position_com": (("time", "axis"), position),
            "quaternion_base": (("time", "quat"), quaternion),
            "motor_torque": (("time", "joint"), power[:, None]),
            "joint_rate": (("time", "joint"), np.ones((len(t), 1))),
            "energy_kinetic": ("time", 0 * t),
            "energy_potential": ("time", 40.0 * position[:, 2]),
            "gait_state": ("time", np.full(len(t), 2.0)),
            "gait_phase": ("time", phase),
            "stability_margin": ("time", 0.1 + 0 * t),
            "unconverged": ("time", 0 * t),
        },
        coords={"time": t, "axis": list("xyz"), "quat": list("wxyz"), "joint": ["j"]},
        attrs={"weight": 40.0},
    )


def row(ds, least=0.1, stopped=None, speed=0.04):
    mode = validate({**BASE, "gait": {"mode": "rolling", "speed": speed}}, "t").gait.modes[0]
    return measure(ds, "rolling", mode, 0.2, 0.0, 0.0, least, stopped, 1.0)


def test_cycles_and_numbers():
    ds = climbing()
    ends = ds["time"].values[cycle_ends(ds)]
    assert ends == pytest.approx(np.arange(2, 21, 2))
    found = row(ds)
    assert found.climbs and found.why == ""
    assert found.speed == pytest.approx(0.02) and found.slip == pytest.approx(0.5)
    assert found.mechanical == pytest.approx(40 * math.sin(0.2)) == pytest.approx(found.lifting)
    assert found.cost_of_transport == pytest.approx(math.sin(0.2))
    assert found.net_displacement == pytest.approx(0.36) and found.margin == pytest.approx(0.1)


def test_who_does_not_climb():
    assert row(climbing(lambda t: np.where(t < 9, 0.04, 0.001))).why == "ends at 2 % of its speed"
    assert row(climbing(lambda t: 0.02 - 0.004 * t)).why == "slides back"
    assert row(climbing(lean=1.5)).why == "tips over"
    assert "diverged" in row(climbing(), stopped="diverged at 3 s").why
    assert row(climbing(lambda t: 0.003 + 0 * t)).climbs is False
    assert row(climbing(lambda t: 0.003 + 0 * t), least=0.05).climbs
    with pytest.raises(InputError, match="at least 3"):
        row(climbing(period=15.0))


def test_planned_ways():
    def mode(**given):
        return validate({**BASE, "gait": given}, "t").gait.modes[0]

    assert planned(mode(mode="rolling", speed=-0.1)) == pytest.approx((0.1, math.pi))
    assert planned(mode(mode="peristaltic", stride=0.15, period=5)) == pytest.approx((0.03, 0))
    assert planned(mode(mode="walking", stride=0.1, period=2, heading=0.5)) == pytest.approx(
        (0.05, 0.5)
    )


# --- the answer


def comparison(curves, limits, basis="mechanical") -> ModeComparison:
    rows = [
        Row(mode, math.radians(s), True, "", mechanical=e, speed=0.01, slip=0.2, lifting=e)
        for mode, points in curves.items()
        for s, e in points
    ]
    rows += [Row(m, math.radians(f), False, "slides back", slip=1.0) for m, (_, f) in limits.items()
             if f is not None]  # fmt: skip
    found = [
        Limit(m, None if c is None else math.radians(c), None if f is None else math.radians(f))
        for m, (c, f) in limits.items()
    ]
    modes = tuple(ModeVariant(m, "rolling") for m in limits)
    info = {"least": 0.1, "tolerance": 0.01, "elapsed": 1.0, "jobs": 1, "scenario": "test"}
    args = ("test", base(), modes, tuple(rows), tuple(found))
    first = ModeComparison(*args, (), basis, "", None, info)
    again = ModeComparison(*args, tuple(cheapest(first)), basis, "", None, info)
    return ModeComparison(*args, again.cheapest, basis, words(again), None, info)


CROSSING = comparison(
    # logarithms go straight: e^(2 + 0.1 s) and e^(3 + 0.02 s) meet at s = 12.5
    {
        "rolling": [(s, math.exp(2 + 0.1 * s)) for s in (0, 10, 20)],
        "peristaltic": [(s, math.exp(3 + 0.02 * s)) for s in (0, 10, 20, 25)],
    },
    {"rolling": (20, 20.5), "peristaltic": (25, 25.5)},
)


def test_the_crossing_and_the_words():
    assert [math.degrees(s) for s in CROSSING.crossings] == pytest.approx([12.5])
    spans = [(c.mode, math.degrees(c.start), math.degrees(c.end)) for c in CROSSING.cheapest]
    assert spans[0] == ("rolling", 0, pytest.approx(12.5))
    assert spans[1] == ("peristaltic", pytest.approx(12.5), pytest.approx(25))
    assert CROSSING.words == (
        "peristaltic climbs to 25.0°, rolling climbs to 20.0°; rolling costs less below 12.5°, "
        "peristaltic above."
    )
    shown = repr(CROSSING).splitlines()
    assert shown[0] == "Comparison of modes on 'test'" and CROSSING.words in shown[1]
    assert shown[2] == "  modes   2 modes: rolling, peristaltic"


def test_other_answers():
    one = comparison(
        {"a": [(0, 1), (10, 2)], "b": [(0, 2), (10, 5), (20, 9)]}, {"a": (10, 11), "b": (20, None)}
    )
    assert one.words == (
        "b climbs all to 20.0°, a climbs to 10.0°; a costs less wherever both climb."
    )
    # that b goes on alone where a ends is no crossing
    assert one.crossings == ()
    none = comparison({}, {"a": (None, 0), "b": (None, 0)})
    assert none.words == "a climbs none, b climbs none; no mode climbs." and not none.ok
    alone = comparison({"a": [(0, 1), (10, 2)]}, {"a": (10, 11), "b": (None, 0)})
    assert "only one mode climbs" in alone.words
    single = comparison({"a": [(0, 1.5), (10, 2)]}, {"a": (10, 11)})
    assert single.words == (
        "a climbs to 10.0°; it costs 1.5 J/m at 0.0° and 2 J/m at 10.0° (mechanical)."
    )
    assert comparison({}, {"a": (None, 0)}).words == "a climbs none."
    twice = comparison(
        {"a": [(0, 1), (10, 4), (20, 5)], "b": [(0, 2), (10, 2), (20, 8)]},
        {"a": (20, None), "b": (20, None)},
    )
    assert len(twice.crossings) == 2 and "cheapest is a from 0.0°, b from" in twice.words


def test_who_is_ahead_by_chance_only_is_not_ahead():
    near = [(0, 2.0), (10, 3.97), (20, 8.0)]
    found = comparison({"a": [(0, 1), (10, 4), (20, 7)], "b": near}, {"a": (20, 21), "b": (20, 21)})
    assert found.crossings == () and "a costs less wherever both climb" in found.words
    far = [(0, 2.0), (10, 3.8), (20, 8.0)]
    found = comparison({"a": [(0, 1), (10, 4), (20, 7)], "b": far}, {"a": (20, 21), "b": (20, 21)})
    assert len(found.crossings) == 2


def test_files(tmp_path):
    ds = dataset(CROSSING)
    assert ds["mechanical"].sel(mode="rolling", slope=10).item() == pytest.approx(math.exp(3))
    assert ds["limit_climbs"].values == pytest.approx([20, 25])
    assert np.isnan(ds["mechanical"].sel(mode="rolling", slope=25).item())
    assert len(draw_modes(CROSSING).axes) == 3 and len(draw_parts(CROSSING).axes) == 2
    page = write_modes(tmp_path, CROSSING).read_text()
    assert f'<h1 id="answer">{CROSSING.words[0].upper()}' in page and "data-plot" in page
    assert "rolling costs less below 12.5°" in page and "slides back" in page
    assert {p.name for p in tmp_path.iterdir()} >= {"compare.csv", "compare.nc", "scenario.yaml"}
    lines = (tmp_path / "compare.csv").read_text().splitlines()
    assert len(lines) == 1 + len(CROSSING.rows) and lines[0].startswith("slope_deg,mode,slope_rad")
    told = json.loads(json.dumps(as_dict(CROSSING), allow_nan=False))
    assert told["crossings_deg"] == pytest.approx([12.5])
