"""Identification with the soil contact model: its rig against the scenario, and known answers.

The rig is the scenario `soil/wheel` run as a user runs it; parameters that were put into runs of it
are found again from another start.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import marsyard
from marsyard.analysis import WheelData, identify
from marsyard.analysis.wheel_data import join
from marsyard.analysis.wheel_rig import Point, Rig, RigModel, RigWheel
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import Exit

SOIL = replace(load_soil("hit_lss1"), k_c=0.0, k_phi=1.5e6, exponent_slip=0.5)
WHEEL = RigWheel(0.12, 0.1, 0.008)
ERRORS = {"pull": 0.5, "torque": 0.1, "sinkage": 5e-4}


def measured(slips, soil=SOIL, wheel=WHEEL, load=60.0):
    """What the rig gives, as data."""
    slip = np.asarray(slips, dtype=float)
    f = RigModel(wheel, soil).under_load(load, slip)
    found = {"pull": f.drawbar_pull, "torque": f.torque, "sinkage": f.sinkage}
    return WheelData(
        "runs", wheel.radius, wheel.width, wheel.lug_height, np.full(len(slip), load), slip,
        np.zeros(len(slip)), found,
    )  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return measured([0.0, 0.1, 0.3, 0.6])


@pytest.mark.parametrize(("slip", "angle"), [(0.3, 0.0), (-0.3, 0.0), (0.2, 15.0)])
def test_the_rig_is_the_scenario(slip, angle):
    """The same numbers as the means of a longer run at the scenario's own speed, by its records."""
    tip, beta = WHEEL.radius + WHEEL.lug_height, math.radians(angle)
    settings = {
        "parameters.slip": slip, "parameters.load": 60, "parameters.radius": tip,
        "parameters.slip_angle": beta, "robot.wheel.radius": WHEEL.radius,
        "robot.wheel.width": WHEEL.width, "robot.joints": {"steer": beta, "lift": tip - 0.125},
        "robot.wheel.grousers": {"height": WHEEL.lug_height, "count": 30},
        "ground.0.soil": {"name": "hit_lss1", "k_c": 0, "k_phi": 1.5e6, "exponent_slip": 0.5},
        "ground.0.spacing": 0.0064, "robot.wheel.surface": {"material": "grit"},
        "interaction.soil": {"slip_sinkage": "exponent", "slip_transport": False},
    }  # fmt: skip
    late = marsyard.run("soil/wheel", settings=settings, study=False).data
    late = late.sel(time=slice(6, None)).isel(wheel=0).mean("time")
    with Rig() as rig:
        (found,) = rig.many([(Point(0.12, 0.1, 0.008, 60.0, slip, beta), SOIL)])
    assert not found.failed and found.drift < 0.01
    assert found.values["pull"] == pytest.approx(float(late.drawbar_pull), abs=0.015 * 60)
    assert found.values["side"] == pytest.approx(float(late.side_force), abs=0.015 * 60)
    torque = float(late.driving_torque)
    assert found.values["torque"] == pytest.approx(torque, abs=0.015 * 60 * tip)
    # how high a braked wheel rides on what it pushes depends on where the nodes lie, by 1.5 mm
    if slip > 0:
        assert found.values["sinkage"] == pytest.approx(float(late.sinkage), rel=0.04)


def test_parameters_put_in_are_found_again(data):
    fit = identify(
        data, "scm", soil="hit_lss1", fix={"c": 250.0, "n": 1.1}, errors=ERRORS, starts=1,
        free=["phi", "K", "k", "n1"],
    )  # fmt: skip
    true = {"phi": SOIL.friction_angle, "K": 0.011, "k": 1.5e6, "n1": 0.5}
    for f in fit.found:
        assert f.value == pytest.approx(true[f.name], rel=0.04), f.name
    assert all(fit.after[q] < 0.2 * e for q, e in ERRORS.items())
    assert fit.before["sinkage"] > 2 * ERRORS["sinkage"] > 20 * fit.after["sinkage"]
    # the residuals are those of runs of the fitted soil
    again = RigModel(WHEEL, fit.soil).under_load(60.0, data.slip)
    assert fit.computed["pull"] == pytest.approx(again.drawbar_pull, abs=1e-12)
    assert fit.soil.exponent_slip == fit["n1"].value and fit.models[0].name == "scm"


def test_widths_and_loads_tell_k_c_k_phi_and_n_apart():
    soil = replace(SOIL, k_c=6e4, k_phi=1e6, exponent=0.9)
    wheels = [RigWheel(0.12, b, 0.008) for b in (0.06, 0.18)]
    data = join([
        measured([0.1, 0.4], soil, wheel, load) for wheel in wheels for load in (30.0, 90.0)
    ])  # fmt: skip
    fit = identify(
        data, "scm", soil=SOIL, free=["n", "k_c", "k_phi"], errors=ERRORS, starts=1
    )  # fmt: skip
    assert fit["n"].value == pytest.approx(0.9, abs=0.03)
    assert fit["k_c"].value == pytest.approx(6e4, rel=0.25)
    assert fit["k_phi"].value == pytest.approx(1e6, rel=0.15)
    assert len(fit.models) == 2
    # by default, too
    names = [p.name for p in _problem(data).free]
    assert names == ["phi", "K", "k_c", "k_phi", "n1", "n"]


def _problem(data):
    from marsyard.analysis.fit_problem import make_problem
    from marsyard.analysis.fit_rig import RigProblem

    return make_problem(data, "scm", SOIL, [], {}, {}, None, {}, 9.81, RigProblem)


def test_a_bound_is_named_and_the_fit_no_worse_than_its_start(data):
    # more pull than the soil has: the friction is as large as can be
    more = replace(data, measured={**data.measured, "pull": data.measured["pull"] + 80})
    fit = identify(
        more, "scm", soil=SOIL, free=["phi", "n1"], errors=ERRORS, starts=1
    )  # fmt: skip
    assert fit["phi"].at_bound == "high"
    assert any("phi ended at its upper bound, 60 deg" in text for text in fit.warnings)
    # the truth as the start: there is nothing better, but for ripples of 0.02 N
    same = identify(data, "scm", soil=SOIL, free=["phi", "k"], errors=ERRORS, starts=1)
    assert same.cost < 0.02 and same["phi"].value == pytest.approx(SOIL.friction_angle, rel=2e-3)


def test_what_the_data_cannot_tell_is_said(data):
    one = replace(data, measured={"sinkage": data.measured["sinkage"]})
    fit = identify(one, "scm", soil=SOIL, free=["n", "k"], errors={"sinkage": 5e-4}, starts=1)
    assert any("k and n" in text or "n and k" in text for text in fit.warnings)


def test_the_same_input_gives_the_same_bits_in_any_number_of_processes(data):
    first, second = (
        identify(data, "scm", soil="hit_lss1", free=["phi"], starts=1, jobs=jobs) for jobs in (1, 2)
    )
    assert first["phi"] == second["phi"] and first.cost == second.cost


def test_a_wheel_that_sinks_to_its_axle_is_said(data):
    with Rig() as rig:
        (found,) = rig.many([(Point(0.12, 0.1, 0.0, 60.0, 0.2), replace(SOIL, k_phi=2e3))])
    assert found.failed and found.simulated < 2.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"free": ["exit"]}, "no parameter 'exit' of scm; scm does not use it"),
        ({"free": ["n2"]}, "no parameter 'n2' of scm; scm does not use it"),
        ({"free": ["c_P1"]}, "no parameter 'c_P1' of scm; scm does not use it"),
        ({"exit": Exit("height", 0.2)}, "scm has no exit rule"),
        ({"bootstrap": 5}, "as many runs as the fit itself"),
        ({"jobs": 0}, "jobs = 0: must be at least 1"),
        ({"starts": 0}, "starts must be 1 or more"),
    ],
)
def test_what_it_does_not_have_is_refused(data, options, words):
    with pytest.raises(InputError, match=words):
        identify(data, "scm", soil="hit_lss1", **options)


def test_a_spinning_wheel_is_refused(data):
    fast = replace(data, slip=np.array([0.0, 0.1, 0.3, 1.0]))
    with pytest.raises(InputError, match=r"slip 1: the rig runs at slips up to 0\.95"):
        identify(fast, "scm", soil="hit_lss1", jobs=1)


def test_data_with_and_without_a_zero_of_the_sinkage_do_not_go_together(data):
    other = replace(data, name="other", relative_sinkage=True)
    with pytest.raises(
        InputError, match="the zero of the sinkage is known in some data but not in"
    ):
        identify([data, other], "scm", soil="hit_lss1")
