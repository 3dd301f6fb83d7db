"""Checks on series whose numbers are known exactly."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from synthetic import GRAVITY, MASS, dataset

from marsyard.results import evaluate, evaluate_all, impacts
from marsyard.scenario.schema import Check


def check(of: str, take: str, expected: float = 0.0, tolerance: float = 1e-9, **rest) -> Check:
    return Check(name=take, of=of, take=take, expected=expected, tolerance=tolerance, **rest)


@pytest.fixture(scope="module")
def sine() -> xr.Dataset:
    t = np.linspace(0.0, 2.0, 2001)
    return xr.Dataset(
        {
            "wave": ("time", np.sin(2 * np.pi * t)),
            "ramp": ("time", 3.0 - 2.0 * t),
            "pair": (("time", "wheel"), np.stack([t, -3 * t], axis=1)),
            "empty": ("time", np.full(t.size, np.nan)),
        },
        coords={"time": t, "wheel": ["L", "R"]},
    )


@pytest.mark.parametrize(
    ("of", "take", "options", "value"),
    [
        ("wave", "at", {"at": 0.25}, 1.0),
        ("ramp", "at", {"at": 0.12345}, 3.0 - 2.0 * 0.12345),
        ("ramp", "at", {"at": 2.0}, -1.0),
        ("ramp", "mean", {"start": 0.5, "end": 1.5}, 1.0),
        ("wave", "min", {}, -1.0),
        ("wave", "max", {"start": 0.5, "end": 1.0}, 0.0),
        ("wave", "max_abs", {"start": 0.5, "end": 1.0}, 1.0),
        ("wave", "range", {}, 2.0),
        ("ramp", "final", {}, -1.0),
        ("ramp", "final", {"end": 1.0}, 1.0),
        ("ramp", "slope", {"start": 0.3}, -2.0),
        ("ramp", "crossing_time", {"level": 0.4321}, (3 - 0.4321) / 2),
        ("wave", "crossing_time", {"start": 0.6}, 1.0),
        ("pair.R", "final", {}, -6.0),
        ("pair", "min", {}, -6.0),
        ("pair", "max_abs", {}, 6.0),
        # two series
        ("pair.L + pair.R", "final", {}, -4.0),
        ("ramp - pair.L", "at", {"at": 1.0}, 0.0),
        ("pair.R / pair.L", "mean", {}, -3.0),
        ("pair / ramp", "min", {"end": 1.0}, -3.0),
    ],
)
def test_what_is_taken_of_a_series(sine, of, take, options, value):
    result = evaluate(sine, check(of, take, value, 1e-9, **options))
    assert result.verdict == "pass", result
    assert result.computed == pytest.approx(value, abs=1e-9)


def test_a_series_that_starts_at_the_level_has_not_crossed_it(sine):
    result = evaluate(sine, check("wave", "crossing_time", 0.5, 1e-9))
    assert result.computed == pytest.approx(0.5)


def test_verdict_and_fields(sine):
    wrong = evaluate(sine, check("ramp", "final", -1.5, 0.4, unit="m", source="Fig. 4"))
    assert (wrong.verdict, wrong.ok) == ("fail", False)
    assert (wrong.computed, wrong.expected, wrong.tolerance) == (-1.0, -1.5, 0.4)
    assert (wrong.unit, wrong.source, wrong.reason) == ("m", "Fig. 4", "")
    assert evaluate(sine, check("ramp", "final", -1.5, 0.5)).ok


@pytest.mark.parametrize(
    ("of", "take", "options", "reason"),
    [
        ("wafe", "final", {}, "did you mean 'wave'"),
        ("wave", "at", {}, "needs a time"),
        ("wave", "at", {"at": 3.0}, "outside"),
        ("wave", "mean", {"start": 5.0}, "no record"),
        ("wave", "crossing_time", {"level": 2.0}, "does not cross"),
        ("pair", "final", {}, "several curves"),
        ("empty", "mean", {}, "no finite value"),
        ("empty", "final", {}, "no finite value"),
        ("wave", "slope", {"start": 1.9999}, "two records"),
        ("impact", "impact_time", {}, "no variable 'impulse_normal'"),
    ],
)
def test_missing_data_is_not_computed_and_says_why(sine, of, take, options, reason):
    result = evaluate(sine, check(of, take, **options))
    assert result.verdict == "not computed" and result.computed is None
    assert reason in result.reason


def test_one_bad_check_does_not_hide_the_others(sine):
    results = evaluate_all(sine, [check("none", "final"), check("ramp", "final", -1.0)])
    assert [r.verdict for r in results] == ["not computed", "pass"]


# --- a bouncing ball: falls from h, hits after √(2h/g) with √(2gh), rebounds with e times that


@pytest.mark.parametrize("period", [0.001, 0.01, 0.037])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("weight_known", [True, False])
def test_first_impact_of_a_ball(period, restitution, weight_known):
    height = 1.3
    ds = dataset(period, 150 * 0.037, height, restitution)
    if not weight_known:
        del ds.attrs["weight"]
    instant, speed = np.sqrt(2 * height / GRAVITY), np.sqrt(2 * GRAVITY * height)
    impulse = MASS * speed * (1 + restitution)
    for take, value, tolerance in (
        ("impact_time", instant, 1e-9),
        ("impact_speed", speed, 1e-9),
        # the weight over the rest of the interval is part of it
        ("impact_impulse", impulse, MASS * GRAVITY * period + 1e-6),
    ):
        result = evaluate(ds, check("impact", take, value, tolerance))
        assert result.ok, result
    rebound = evaluate(ds, check("impact", "rebound_speed", restitution * speed, 1e-9))
    # the first record after the impact may come one period late, and gravity slows meanwhile
    assert rebound.computed == pytest.approx(restitution * speed, abs=GRAVITY * period + 1e-9)


def test_later_impacts_and_windows():
    height, e = 2.0, 0.6
    ds = dataset(0.005, 6.0, height, e)
    first, speed = np.sqrt(2 * height / GRAVITY), np.sqrt(2 * GRAVITY * height)
    second = first + 2 * e * speed / GRAVITY
    third = second + 2 * e**2 * speed / GRAVITY
    for index, instant in enumerate((first, second, third)):
        assert evaluate(ds, check("impact", "impact_time", instant, 1e-9, index=index)).ok
        hit = evaluate(ds, check("impact", "impact_speed", e**index * speed, 1e-9, index=index))
        assert hit.ok, hit
    late = check("impact", "impact_time", third, 1e-9, start=second + 0.01)
    assert evaluate(ds, late).ok
    missing = evaluate(ds, check("impact", "impact_time", index=99))
    assert missing.verdict == "not computed" and "found" in missing.reason


def test_impact_time_does_not_need_the_contact_velocity():
    ds = dataset(0.01, 5.0, 1.0, 0.0)
    ds["contact_velocity"] = ds["contact_velocity"] * np.nan
    expected = np.sqrt(2 / GRAVITY)
    assert evaluate(ds, check("impact", "impact_time", expected, 1e-9)).ok
    assert evaluate(ds.drop_vars("contact_velocity"), check("impact", "impact_time", expected)).ok


def test_impact_of_a_named_velocity():
    ds = dataset(0.01, 5.0, 1.0, 0.0)
    ds["velocity_com"] = 2 * ds["velocity_com"]
    expected = 2 * np.sqrt(2 * GRAVITY)
    assert evaluate(ds, check("velocity_com.z", "impact_speed", expected)).ok


def test_standing_and_driving_are_no_impacts():
    ds = dataset(0.01, 12.0, 1.0, 0.0)
    assert len(impacts(ds)) == 1
    assert impacts(ds.isel(time=ds["time"] > 2.0)) == []


def test_one_wheel_that_drops_while_the_others_stand():
    ds = dataset(0.01, 4.0, 1.0, 0.0).isel(time=slice(200, None))
    # wheel FL is lifted, falls freely from 0.1 m at t0 and hits
    time, t0, height = ds["time"].values, 2.5, 0.1
    gap = np.clip(height - GRAVITY / 2 * np.clip(time - t0, 0, None) ** 2, 0, None)
    instant = t0 + np.sqrt(2 * height / GRAVITY)
    hit = int(np.searchsorted(time, instant))
    ds["gap"].loc[{"wheel": "FL"}] = gap[:, None]
    speed = np.where(gap > 0, -GRAVITY * np.clip(time - t0, 0, None), 0.0)
    ds["contact_velocity"].loc[{"wheel": "FL", "component": "normal"}] = speed
    ds["impulse_normal"].loc[{"wheel": "FL"}] = np.where(gap > 0, 0.0, 0.7)[:, None]
    ds["impulse_normal"][hit, 3] = 60.0
    assert [i.time for i in impacts(ds)] == pytest.approx([instant], abs=1e-9)


def test_a_shortened_run_is_judged_by_what_it_holds(sine):
    """Cut to half its length: what was complete before is judged as in the whole run."""
    asked = [
        check("ramp", "final", -1.0),
        check("wave", "max", 1.0),
        check("ramp", "at", 1.0, at=1.0),
        check("ramp", "at", -1.0, at=2.0),
        check("ramp", "mean", 2.0, end=1.0),
        check("ramp", "crossing_time", 0.5, level=2.0),
        check("ramp", "crossing_time", 1.5),
        check("ramp", "at", 7.0, at=0.5),
    ]
    whole = [c.verdict for c in evaluate_all(sine, asked)]
    assert whole == ["pass"] * 7 + ["fail"]
    half = evaluate_all(sine.isel(time=slice(0, 1001)), asked, shortened=True)
    assert [c.verdict for c in half] == [
        "not judged", "not judged", "pass", "not judged", "pass", "pass", "not judged", "fail",
    ]  # fmt: skip
    assert [c.judged for c in half].count(False) == 4
    assert half[0].reason == "shortened to 1 s"
