"""Single wheels in soil against measurements, with the soil contact model and its defaults.

Nothing is fitted: soils and wheels are as published, treads are of metal. Bands are parts of the
load W (forces), of W times the radius (torques), or ratios (sinkage); none of the sources but one
gives its spread.

    Ding 2011, smooth wheel       pull and torque agree at all slips; sinkage is 55 to 70 % of what
                                  was measured
    Ding 2011, wheel with lugs    pull agrees up to 20 % slip, torque at all slips; sinkage is 70 to
                                  95 % of what was measured up to 40 % slip, 58 % at 60 %, and the
                                  pull is too large by the resistance of the missing sinkage
    Ishigami 2005, smooth wheel   pull agrees at all slips and angles; side force up to 20 % slip
    Pavlov, small deep wheel      soil unknown; straight on, rolling and spinning, pull agrees

Where the law disagrees the misfit itself is tested, so that a change of it is seen.
"""

from __future__ import annotations

import numpy as np
import pytest
import wheel_tests as wt

pytestmark = pytest.mark.skipif(not wt.there(), reason="no reference data beside this checkout")
FORCE, TORQUE = 0.05, 0.05


def slip_name(row) -> str:
    return f"slip{row['slip']:g}" if isinstance(row, dict) else str(row)


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


# --- Ding et al. 2011


@pytest.mark.parametrize(
    ("kind", "bench", "pull"), [("smooth", wt.DING_SMOOTH, 0.07), ("lug10", wt.DING_LUGS, 0.10)]
)
def test_ding_over_all_slips(kind, bench, pull):
    rows = wt.ding(kind)
    got = [wt.steady(bench, row["slip"]) for row in rows]
    off = [(g["pull"] - r["pull"]) / bench.load for g, r in zip(got, rows, strict=True)]
    turn = bench.load * bench.radius
    assert rms(off) < pull
    assert rms([(g["torque"] - r["torque"]) / turn for g, r in zip(got, rows, strict=True)]) < 0.06


@pytest.mark.parametrize("row", wt.ding("lug10"), ids=slip_name)
def test_ding_wheel_with_lugs(row):
    bench = wt.DING_LUGS
    got = wt.steady(bench, row["slip"])
    assert got["slip"] == pytest.approx(row["slip"], abs=1e-3)
    assert got["load"] == pytest.approx(bench.load, rel=5e-3)
    assert got["torque"] == pytest.approx(row["torque"], abs=0.06 * bench.load * bench.radius)
    over = (got["pull"] - row["pull"]) / bench.load
    if row["slip"] <= 0.2:
        assert abs(over) < FORCE
    else:
        # misfit: the measured wheel sinks deeper and meets more resistance
        assert 0.05 < over < 0.15
    # whether sinkage was measured from the rim or the tips is not said
    ratio = got["sinkage"] / row["sinkage"]
    if row["slip"] <= 0.4:
        assert ratio == pytest.approx(1.0, abs=0.3)
    else:
        assert 0.55 < ratio < 0.65  # misfit: slip sinkage grows faster than Lyasko's


@pytest.mark.parametrize("row", wt.ding("smooth"), ids=slip_name)
def test_ding_smooth_wheel(row):
    bench = wt.DING_SMOOTH
    got = wt.steady(bench, row["slip"])
    assert abs(got["pull"] - row["pull"]) < 0.1 * bench.load
    assert got["torque"] == pytest.approx(row["torque"], abs=0.08 * bench.load * bench.radius)
    ratio = got["sinkage"] / row["sinkage"]
    if row["slip"] <= 0.4:
        assert ratio == pytest.approx(1.0, abs=0.3)
    else:
        assert 0.55 < ratio < 0.65  # misfit: slip sinkage grows faster than Lyasko's


def test_a_dragged_layer_explains_the_sinkage_of_a_smooth_wheel():
    # one number of the soil, shear_layer, chosen so that the sinkage at 60 % slip is met: the pull,
    # which is not fitted, comes closer, too
    row = wt.ding("smooth")[-1]
    plain = wt.steady(wt.DING_SMOOTH, row["slip"])
    fitted = wt.steady(wt.DING_SMOOTH.dragging(0.007), row["slip"])
    assert fitted["sinkage"] == pytest.approx(row["sinkage"], rel=0.15)
    assert abs(fitted["pull"] - row["pull"]) < 0.08 * wt.DING_SMOOTH.load
    assert plain["sinkage"] < 0.65 * row["sinkage"]


def test_lugs_against_a_smooth_wheel():
    # measured: lugs of 10 mm make the wheel pull and sink more at large slip
    smooth, lugs = (wt.steady(b, 0.6) for b in (wt.DING_SMOOTH, wt.DING_LUGS))
    assert lugs["sinkage"] > 1.5 * smooth["sinkage"]
    assert lugs["pull"] > 1.3 * smooth["pull"]
    assert lugs["torque"] > 1.2 * smooth["torque"]


@pytest.mark.parametrize("slip", [0.6, 0.8])
def test_the_pull_of_lugs_does_not_collapse(slip):
    # what lugs carry is released under the rear arc, which keeps its share of the load; without it
    # pull fell to a few per cent of the load at 80 % slip
    assert wt.steady(wt.DING_LUGS, slip)["pull"] > 0.2 * wt.DING_LUGS.load


# --- Ishigami et al. 2005

ANGLES = (4, 8, 12, 16)
SLIPS = (0.03, 0.12, 0.2, 0.3, 0.4, 0.6, 0.8)


def ishigami_mean(quantity, angle, slip):
    points = wt.ishigami(quantity, angle)
    return float(np.mean(points[np.abs(points[:, 0] - slip) < 0.05, 1]))


def ishigami_off(quantity, name):
    """What is computed less what was measured, by the load, float[angle, slip]."""
    return np.array([
        [(wt.steady(wt.ISHIGAMI, s, a)[name] - ishigami_mean(quantity, a, s)) / wt.ISHIGAMI.load
         for s in SLIPS] for a in ANGLES
    ])  # fmt: skip


def test_ishigami_pull():
    # points at the same slip differ by up to 7 % of the load
    off = ishigami_off("Fx_N", "pull")
    assert rms(off) < 0.08 and np.abs(off).max() < 0.12


def test_ishigami_side_force():
    off = ishigami_off("Fy_N", "side")
    assert rms(off) < 0.1 and np.abs(off).max() < 0.16
    # misfit: too large beyond 20 % slip, by a tenth of the load; measured side forces even fall
    # below zero there
    assert 0.05 < off[:, 3:].mean() < 0.12


@pytest.mark.parametrize("slip", SLIPS)
def test_ishigami_order_of_the_slip_angles(slip):
    side = [wt.steady(wt.ISHIGAMI, slip, a)["side"] for a in ANGLES]
    assert np.all(np.diff(side) > 0)


# --- Pavlov


@pytest.mark.parametrize("row", range(3, 9), ids=lambda i: f"row{i}")
def test_pavlov_straight_on(row):
    # the soil is a stand-in, and the wheel sinks by a quarter of its radius: a tenth of the load
    measured = wt.pavlov(0)[row]
    got = wt.steady(wt.PAVLOV, measured["slip"])
    assert measured["slip"] > -0.25
    assert got["pull"] == pytest.approx(measured["pull"], abs=0.1 * wt.PAVLOV.load)
    assert 0.5 < got["sinkage"] / measured["sinkage"] < 0.9


@pytest.mark.parametrize("row", range(3, 9), ids=lambda i: f"row{i}")
def test_pavlov_at_a_slip_angle(row):
    measured = wt.pavlov(15)[row]
    got = wt.steady(wt.PAVLOV, measured["slip"], 15)
    assert got["pull"] == pytest.approx(measured["pull"], abs=0.12 * wt.PAVLOV.load)
    assert got["side"] == pytest.approx(measured["side"], abs=0.12 * wt.PAVLOV.load)


def test_pavlov_far_from_rolling():
    # misfit: a locked wheel digs in to five sixths of its radius and ploughs; the model's skids on
    # top. At 45° the measured wheel stands more than twice as deep
    skid = wt.pavlov(0)[1]
    assert skid["slip"] < -0.6
    got = wt.steady(wt.PAVLOV, skid["slip"])
    assert 0.5 < got["pull"] / skid["pull"] < 0.75
    assert got["sinkage"] < 0.4 * skid["sinkage"]
    aside = wt.pavlov(45)[4]
    got = wt.steady(wt.PAVLOV, aside["slip"], 45)
    assert got["sinkage"] < 0.5 * aside["sinkage"]
    assert 0.5 < got["side"] / aside["side"] < 0.8
