"""What a run says of itself: each sentence at its threshold, on made-up data."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

import marsyard
from marsyard.results import CheckResult, findings_of, headline_of, judge_run
from marsyard.results import run_judgement as module
from marsyard.scenario.schema import Scenario

WHEELS = ["FL", "FR", "RL", "RR"]
RADIUS = 0.1


def scenario(**changes) -> Scenario:
    given = {"robot": {"name": "made up"}, "run": {"duration": 20.0}, **changes}
    return Scenario.model_validate(given)


def drive(
    speed: float = 0.05, slip: float | np.ndarray = 0.2, slope: float = 0.0, seconds: float = 20.0
) -> xr.Dataset:
    """A rover that drives along x up a slope [rad], with a slip that may change over time."""
    t = np.arange(0.0, seconds + 1e-9, 0.1)
    n, four = len(t), np.ones(4)
    s = np.broadcast_to(np.asarray(slip, dtype=float), (n,))
    x = speed * t
    base = np.stack([x * np.cos(slope), 0 * t, x * np.sin(slope)], axis=1)
    roll = x / (1 - s.mean()) / RADIUS
    power = np.full((n, 4), 1.5)
    torque, rate = np.full((n, 4), 0.3), np.full((n, 4), 5.0)
    return xr.Dataset(
        {
            "position_base": (("time", "axis"), base),
            "quaternion_base": (("time", "quat"), np.tile([1.0, 0, 0, 0], (n, 1))),
            "slip_ratio": (("time", "wheel"), s[:, None] * four),
            "wheel_angle": (("time", "wheel"), roll[:, None] * four),
            "wheel_rate": (("time", "wheel"), np.full((n, 4), 0.6)),
            "wheel_radius": ("wheel", RADIUS * four),
            "motor_power": (("time", "joint"), power),
            "motor_torque": (("time", "joint"), torque),
            "joint_rate": (("time", "joint"), rate),
            "unconverged": ("time", np.zeros(n)),
        },
        coords={"time": t, "wheel": WHEELS, "axis": list("xyz"), "joint": WHEELS,
                "quat": list("wxyz")},
    )  # fmt: skip


def said(ds: xr.Dataset, info=None, given=None, **options) -> dict[str, str]:
    """Sentences by subject; `all` holds the levels."""
    found = judge_run(ds, given or scenario(), info or {"convergence": "converged: all"}, **options)
    levels = [f.level for f in found]
    assert levels == sorted(levels, key=["bad", "warning", "note"].index)
    return {f.subject: f.text for f in found}


def test_a_run_without_fault_says_nothing():
    assert said(drive()) == {}


@pytest.mark.parametrize(("offset", "heard"), [(0.34, True), (-0.34, True), (0.09, False)])
def test_the_path_was_left(offset, heard):
    ds = drive()
    away = np.zeros(ds.sizes["time"])
    away[120] = offset
    text = said(ds.assign(path_offset=("time", away))).get("path", "")
    assert (text == "The greatest cross-track error was 0.34 m (at 12 s).") == heard and bool(
        text
    ) == heard


def test_rocks_that_were_touched():
    ds = drive()
    impulse = np.zeros((ds.sizes["time"], 4, 2))
    impulse[:, :, 0] = 1.0
    ds["impulse_normal"] = (("time", "wheel", "surface"), impulse)
    ds = ds.assign_coords(surface=["plane", "stones"])
    stones = {"kind": "rocks", "name": "stones", "rocks": [{"place": [1, 0], "diameter": 0.2}]}
    ground = [{"kind": "plane", "name": "plane"}, stones]
    given = scenario(ground=ground)
    assert "rocks" not in said(ds, given=given)
    impulse[50:60, 1, 1] = 0.2
    impulse[70:80, 2, 1] = 0.2
    expected = "Rocks were touched by wheels FR and RL, first at 5 s."
    assert said(ds, given=given)["rocks"] == expected


def test_the_body_on_the_ground():
    ds = drive()
    other = np.zeros((ds.sizes["time"], 3))
    ds["impulse_other"] = (("time", "axis"), other)
    assert "body" not in said(ds)
    other[30, 2] = 0.1
    assert said(ds)["body"].endswith("first at 3 s.")


@pytest.mark.parametrize(("size", "heard"), [(0.25, True), (0.05, False)])
def test_slip_that_surges(size, heard):
    t = np.arange(0.0, 20.0 + 1e-9, 0.1)
    found = said(drive(slip=0.4 + size * np.sin(2 * np.pi * t)))
    assert ("slip" in found) == heard
    if heard:
        assert re.fullmatch(r"Slip surges by ± 2[456] % about its running mean\.", found["slip"])


def test_slip_that_rises_steadily_does_not_surge():
    t = np.arange(0.0, 20.0 + 1e-9, 0.1)
    assert "slip" not in said(drive(slip=0.1 + 0.03 * t))


def test_a_wheel_that_spins_and_one_that_is_blocked():
    ds = drive()
    ds["slip_ratio"][50:80, 2] = 0.97
    assert said(ds)["wheels"].startswith("Wheel RL spun in place (slip above 90 %), for up to 2.9")
    short = drive()
    short["slip_ratio"][50:60, 2] = 0.97
    assert "wheels" not in said(short)
    blocked = drive().assign(rate_commanded=lambda d: 0 * d["wheel_rate"] + 0.5)
    assert "wheels" not in said(blocked)
    blocked["wheel_rate"][100:, 0] = 0.01
    assert said(blocked)["wheels"] == "Wheel FL did not turn as commanded, for up to 10 s."


def test_stuck_and_tipped():
    ds = drive()
    ds["position_base"][120:] = ds["position_base"][120].values
    assert said(ds)["stuck"].startswith("The rover is stuck at the end: in the last 5 s its wheels")
    half = np.radians(70) / 2
    over = drive()
    over["quaternion_base"][-1] = [np.cos(half), np.sin(half), 0, 0]
    assert said(over)["attitude"].endswith("inclined by 70°.")
    assert "attitude" not in said(drive())


def test_commands_that_were_not_carried_out():
    ds = drive().assign_coords(
        drive_command=[0, 1, 2],
        command_kind=("drive_command", ["path", "turn", "wait"]),
        command_outcome=("drive_command", ["reached", "timed out", "until"]),
        command_reason=("drive_command", ["", "60 s", "speed < 1"]),
    )
    found = [f for f in judge_run(ds, scenario()) if f.subject == "drive"]
    assert [f.text for f in found] == ["Command 1 (turn): timed out, 60 s."]
    assert found[0].level == "bad"


def test_how_far_numbers_can_be_trusted():
    ds = drive()
    ds["unconverged"][3] = 2
    found = said(ds, {"stopped": "velocities grew without bound"})
    assert found["solver"] == "2 steps did not converge in the contact problem."
    assert found["end"] == "The run ended early. Velocities grew without bound."
    assert "--check-convergence" in found["convergence"]
    assert (
        "not converged: by far"
        in said(drive(), {"convergence": "not converged: by far"})["convergence"]
    )
    assert said(drive(), assumed=["density ρ of soil dust"])["assumed"] == (
        "Assumed values without a source: density ρ of soil dust."
    )


def test_motors_without_limit():
    law = {"joints": "drives", "speed": 0.5}
    assert said(drive(), given=scenario(control=[law]))["motors"] == (
        "The motors have no torque or speed limit; the greatest torque was 0.3 N·m."
    )
    assert "motors" not in said(drive(), given=scenario(control=[{**law, "limit": 5}]))


def test_each_threshold_stands_in_the_specification():
    text = module.__doc__
    for name in ("OFF_PATH", "SURGE", "SURGE_WINDOW", "SPIN", "SPIN_TIME", "BLOCKED", "TIPPED",
                 "STUCK_TIME", "STUCK_ROLL", "STUCK_SHARE", "STUCK_TURN"):  # fmt: skip
        assert f"`{name}`" in text and isinstance(getattr(module, name), float), name


# --- the headline


def check(verdict: str) -> CheckResult:
    return CheckResult("c", 1.0, 1.0, 0.1, "", verdict, "")


def test_climbing():
    line = headline_of(drive(slope=np.radians(12.0), slip=0.35), [check("pass")] * 4)
    assert line.words.startswith("Climbed 1 m (0.21 m higher) in 20 s, slip 35 %")
    assert line.words.endswith("all 4 checks pass")
    assert line.distance == pytest.approx(1.0) and line.slip == pytest.approx(0.35)
    down = headline_of(drive(slope=-np.radians(12.0)))
    assert down.words.startswith("Descended 1 m (0.21 m lower)") and "check" not in down.words


def test_driving_and_checks_that_fail():
    line = headline_of(drive(slip=0.0), [check("pass"), check("fail"), check("not judged")])
    assert line.words == "Drove 1 m in 20 s, 1 of 2 checks fail"
    stopped = headline_of(drive(), stopped="diverged at t = 20 s")
    assert stopped.words == "Drove 1 m in 20 s, slip 20 %, then the run diverged"


def test_falling_turning_and_standing():
    ds = drive(speed=0.0)
    assert headline_of(ds).words == "Stayed in place for 20 s"
    fallen = ds.copy(deep=True)
    fallen["position_base"][:, 2] = np.linspace(1.42, 0.0, ds.sizes["time"])
    assert headline_of(fallen).words == "Fell 1.42 m in 20 s"
    turned = ds.copy(deep=True)
    half = np.linspace(0, np.pi / 4, ds.sizes["time"])
    turned["quaternion_base"][:, 0], turned["quaternion_base"][:, 3] = np.cos(half), np.sin(half)
    assert headline_of(turned).words == "Turned by 90° in place in 20 s"


# --- real runs


def test_a_short_drop_on_a_plane():
    run = marsyard.run("rt0448/test-1", duration=1.0)
    assert headline_of(run.data, run.checks).words.startswith("Fell 1.42 m in 1 s")
    found = findings_of(run.data, run.scenario, run.info, run.ground)
    assert [f.level for f in found] == ["note"] and found[0].subject == "convergence"


def test_a_wheel_at_a_high_slip():
    run = marsyard.run("soil/wheel", study=False, duration=6, settings={"parameters.slip": "95 %"})
    found = {f.subject: f for f in findings_of(run.data, run.scenario, run.info, run.ground)}
    assert found["wheels"].level == "warning" and "spun in place" in found["wheels"].text
