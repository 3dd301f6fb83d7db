"""Findings about a run, as sentences: its success and the reliability of its numbers.

Each finding follows from what is recorded and from a threshold:

| finding | level | threshold |
| --- | --- | --- |
| the run ended early, or steps did not converge | bad | any |
| a command was not carried out | bad | any that is not "reached" |
| the rover is stuck at the end | bad | over the last `STUCK_TIME` [s] the wheels roll `STUCK_ROLL` of a turn or more, and the base moves by less than `STUCK_SHARE` of that and turns by less than `STUCK_TURN` |
| the rover has tipped over | bad | its upright axis is inclined by more than `TIPPED` at the end |
| gates were left out | warning | any that was not passed (`results.gates`); all passed: a note |
| the path was left | warning | by more than `OFF_PATH` [m] |
| rocks were touched | warning | any normal impulse of a wheel on ground of kind rocks |
| the body touched the ground | warning | any impulse on a body that is no wheel, foot or track |
| slip surges | warning | half the distance from the 5th to the 95th percentile of the mean slip of the wheels, less its mean over `SURGE_WINDOW` [s], exceeds `SURGE` |
| a wheel spins in place | warning | slip above `SPIN` for `SPIN_TIME` [s] on end |
| a wheel does not turn as commanded | warning | slower than `BLOCKED` of its command for `SPIN_TIME` [s] on end |
| settings are not converged | warning | `--check-convergence` says so; a note where it was not asked |
| the motors have no limit | note | driven joints without a limit of torque and without a model |
| numbers were assumed | note | any number of the soil that no source gives |

Pure functions of the data set and the scenario; nothing is simulated.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from marsyard.control.rover_kinematics import half_width_of
from marsyard.drawing.page import capital, number
from marsyard.results.dataset import attitude
from marsyard.results.gates import score_gates
from marsyard.scenario.schema import Scenario, SpeedLaw

#: distance from the path [m]
OFF_PATH = 0.10
#: half the spread of slip about its running mean [1], and the length of that mean [s]
SURGE, SURGE_WINDOW = 0.10, 5.0
#: slip of a wheel that spins in place [1], share of its command that a blocked one keeps below,
#: and how long either must last [s]
SPIN, BLOCKED, SPIN_TIME = 0.9, 0.1, 2.0
#: a commanded rate that counts [rad/s]
LEAST_RATE = 0.02
#: span at the end [s], share of a turn that wheels roll in it, share of the rolled distance that
#: the base moves, and its change of heading [rad]
STUCK_TIME, STUCK_ROLL, STUCK_SHARE, STUCK_TURN = 5.0, 0.25, 0.05, math.radians(3.0)
#: inclination of the upright axis [rad]
TIPPED = math.radians(60.0)

BAD, WARNING, NOTE = "bad", "warning", "note"
_REACHED = ("reached", "until")


@dataclass(frozen=True)
class Finding:
    """A finding about a run. `level`: bad, warning or note; `subject`: its topic."""

    level: str
    subject: str
    text: str


def judge_run(
    ds: xr.Dataset,
    scenario: Scenario,
    info: Mapping[str, Any] | None = None,
    assumed: Sequence[str] = (),
) -> list[Finding]:
    """All findings, the worst first. `info` as for the report (`stopped`, `convergence`);
    `assumed` names numbers that no source gives."""
    info = info or {}
    rocks = [str(g.name) for g in scenario.ground if g.kind == "rocks"]
    found = [
        _stopped(ds, info), _unconverged(ds), *_commands(ds), _stuck(ds), _tipped(ds),
        gates_taken(ds, scenario), off_path(ds), rocks_touched(ds, rocks), body_touched(ds),
        surging(ds), spinning(ds), blocked(ds), _convergence(info), _motors(ds, scenario),
        _assumed(assumed),
    ]  # fmt: skip
    order = (BAD, WARNING, NOTE)
    return sorted((f for f in found if f is not None), key=lambda f: order.index(f.level))


# --- gates


def gates_taken(ds: xr.Dataset, scenario: Scenario) -> Finding | None:
    """How the rover took the gates of its scenario."""
    if not scenario.gates or "position_base" not in ds:
        return None
    score = score_gates(
        scenario.gates, ds["time"].values, ds["position_base"].values,
        half_width_of(scenario.robot.name),
    )  # fmt: skip
    left_out = [str(k) for k, s in enumerate(score.states, 1) if s != "passed"]
    text = f"It passed {score.passed} of {len(score.states)} gates"
    if score.mean_offset is not None:
        text += f", {100 * score.mean_offset:.2g} cm from their middles on average"
    if not left_out:
        return Finding(NOTE, "gates", f"{text}.")
    return Finding(WARNING, "gates", f"{text}; not passed: {', '.join(left_out)}.")


# --- the end of the run


def _stopped(ds: xr.Dataset, info: Mapping[str, Any]) -> Finding | None:
    reason = info.get("stopped") or ds.attrs.get("stopped")
    if not reason:
        return None
    text = capital(str(reason)).rstrip(".")
    return Finding(BAD, "end", f"The run ended early. {text}.")


def _unconverged(ds: xr.Dataset) -> Finding | None:
    count = int(np.nansum(ds["unconverged"].values)) if "unconverged" in ds else 0
    if not count:
        return None
    steps = f"{count} steps" if count > 1 else "One step"
    return Finding(BAD, "solver", f"{steps} did not converge in the contact problem.")


def _commands(ds: xr.Dataset) -> list[Finding]:
    if "command_outcome" not in ds.coords:
        return []
    out = []
    for k in range(ds.sizes["drive_command"]):
        outcome = str(ds["command_outcome"].values[k])
        if outcome in _REACHED:
            continue
        reason = str(ds["command_reason"].values[k])
        what = f"Command {k} ({ds['command_kind'].values[k]}): {outcome}"
        out.append(Finding(BAD, "drive", what + (f", {reason}" if reason else "") + "."))
    return out


def _stuck(ds: xr.Dataset) -> Finding | None:
    needed = ("wheel_angle", "wheel_radius", "position_base", "quaternion_base")
    time = ds["time"].values.astype(float)
    if not all(n in ds for n in needed) or "tether" in ds.dims or time[-1] - time[0] < STUCK_TIME:
        return None
    k = int(np.searchsorted(time, time[-1] - STUCK_TIME))
    angle = ds["wheel_angle"].transpose("time", "wheel").values
    rolled = np.abs(angle[-1] - angle[k])
    if not np.isfinite(rolled).all() or float(np.median(rolled)) < STUCK_ROLL * 2 * math.pi:
        return None
    distance = float(np.mean(rolled * ds["wheel_radius"].values))
    base = ds["position_base"].transpose("time", "axis").values
    moved = float(np.linalg.norm(base[-1] - base[k]))
    yaw = attitude(ds["quaternion_base"].transpose("time", "quat").values[k:])[:, 2]
    if moved >= STUCK_SHARE * distance or abs(yaw[-1] - yaw[0]) >= STUCK_TURN:
        return None
    text = (
        f"The rover is stuck at the end: in the last {number(STUCK_TIME)} s its wheels rolled "
        f"{number(distance, 2)} m and it moved {number(1000 * moved, 2)} mm."
    )
    return Finding(BAD, "stuck", text)


def _tipped(ds: xr.Dataset) -> Finding | None:
    if "quaternion_base" not in ds or not ds.sizes.get("wheel", 0) or "floating" in ds.dims:
        return None
    _, x, y, _ = ds["quaternion_base"].transpose("time", "quat").values[-1]
    inclined = math.acos(min(1.0, max(-1.0, 1 - 2 * (x * x + y * y))))
    if not inclined > TIPPED:
        return None
    text = f"The rover has tipped over: it ends inclined by {number(math.degrees(inclined), 3)}°."
    return Finding(BAD, "attitude", text)


# --- the drive


def off_path(ds: xr.Dataset) -> Finding | None:
    """The largest cross-track error that was to be followed."""
    if "path_offset" not in ds or not np.isfinite(ds["path_offset"].values).any():
        return None
    offset = np.abs(ds["path_offset"].values)
    k = int(np.nanargmax(offset))
    if not offset[k] > OFF_PATH:
        return None
    when = number(float(ds["time"].values[k]), 3)
    return Finding(
        WARNING, "path",
        f"The greatest cross-track error was {number(float(offset[k]), 2)} m (at {when} s).",
    )  # fmt: skip


def rocks_touched(ds: xr.Dataset, rocks: Sequence[str]) -> Finding | None:
    """Wheels on ground of kind rocks, whose names are `rocks`."""
    if "impulse_normal" not in ds or "surface" not in ds.coords:
        return None
    there = [str(s) for s in ds["surface"].values if str(s) in rocks]
    if not there:
        return None
    impulse = ds["impulse_normal"].sel(surface=there).sum("surface").transpose("time", "wheel")
    touched = np.nan_to_num(impulse.values) > 0
    wheels = [str(w) for w, any_ in zip(ds["wheel"].values, touched.any(axis=0), strict=True)
              if any_]  # fmt: skip
    if not wheels:
        return None
    first = float(ds["time"].values[int(np.argmax(touched.any(axis=1)))])
    text = f"Rocks were touched by {_wheels(wheels)}, first at {number(first, 3)} s."
    return Finding(WARNING, "rocks", text)


def body_touched(ds: xr.Dataset) -> Finding | None:
    """Hard ground on bodies that are not made to touch it."""
    if "impulse_other" not in ds or not ds.sizes.get("wheel", 0):
        return None
    if any(ds.sizes.get(kind, 0) for kind in ("foot", "track", "pair")):
        return None
    size = np.linalg.norm(ds["impulse_other"].transpose("time", "axis").values, axis=1)
    touched = np.nan_to_num(size) > 0
    if not touched.any():
        return None
    first = number(float(ds["time"].values[int(np.argmax(touched))]), 3)
    text = f"Parts of the rover other than its wheels touched the ground, first at {first} s."
    return Finding(WARNING, "body", text)


def surging(ds: xr.Dataset) -> Finding | None:
    """Slip that goes up and down about its running mean."""
    if "slip_ratio" not in ds or ds.sizes["time"] < 20:
        return None
    slip = ds["slip_ratio"].transpose("time", "wheel").values
    moving = np.isfinite(slip) & (slip != 0.0)
    count = moving.sum(axis=1)
    turning = count > 0
    if turning.sum() < 20:
        return None
    mean = np.where(moving, slip, 0.0).sum(axis=1)[turning] / count[turning]
    time = ds["time"].values.astype(float)[turning]
    size = max(3, int(SURGE_WINDOW / max(float(np.median(np.diff(time))), 1e-9)))
    if size >= len(mean):
        return None
    total = np.cumsum(np.concatenate([[0.0], mean]))
    running = (total[size:] - total[:-size]) / size
    rest = mean[size // 2 :][: len(running)] - running
    low, high = np.percentile(rest, [5, 95])
    if not (high - low) / 2 > SURGE:
        return None
    text = f"Slip surges by ± {number(50 * (high - low), 2)} % about its running mean."
    return Finding(WARNING, "slip", text)


def spinning(ds: xr.Dataset) -> Finding | None:
    """Wheels that turn without moving ahead."""
    if "slip_ratio" not in ds:
        return None
    slip = ds["slip_ratio"].transpose("time", "wheel").values
    return _lasting(ds, slip > SPIN, lambda who, long: (
        f"{capital(who)} spun in place (slip above {number(100 * SPIN)} %), for up to {long} s."
    ))  # fmt: skip


def blocked(ds: xr.Dataset) -> Finding | None:
    """Wheels that do not turn although they are commanded to."""
    if "rate_commanded" not in ds or "wheel_rate" not in ds:
        return None
    wanted = np.abs(ds["rate_commanded"].transpose("time", "wheel").values)
    rate = np.abs(ds["wheel_rate"].transpose("time", "wheel").values)
    still = (wanted > LEAST_RATE) & (rate < BLOCKED * wanted)
    return _lasting(ds, still, lambda who, long: (
        f"{capital(who)} did not turn as commanded, for up to {long} s."
    ))  # fmt: skip


def _lasting(ds: xr.Dataset, holds: np.ndarray, words: Callable[[str, str], str]) -> Finding | None:
    """A finding about wheels for which something holds for `SPIN_TIME` on end."""
    time = ds["time"].values.astype(float)
    spans = [_longest(time, holds[:, k]) for k in range(holds.shape[1])]
    which = [str(w) for w, s in zip(ds["wheel"].values, spans, strict=True) if s >= SPIN_TIME]
    if not which:
        return None
    return Finding(WARNING, "wheels", words(_wheels(which), number(max(spans), 3)))


def _longest(time: np.ndarray, holds: np.ndarray) -> float:
    """The longest span on end in which something holds [s]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int)))
    starts, ends = edges[::2], edges[1::2] - 1
    return float((time[ends] - time[starts]).max()) if starts.size else 0.0


def _wheels(names: Sequence[str]) -> str:
    """'wheel FL', 'wheels FL, FR and RL'."""
    if len(names) == 1:
        return f"wheel {names[0]}"
    return f"wheels {', '.join(names[:-1])} and {names[-1]}"


# --- how far the numbers can be trusted


def _convergence(info: Mapping[str, Any]) -> Finding | None:
    said = info.get("convergence")
    if said is None:
        text = "Convergence in grid and step was not checked (use --check-convergence)."
        return Finding(NOTE, "convergence", text)
    if str(said).startswith("converged"):
        return None
    return Finding(WARNING, "convergence", f"Grid and step are {said}.")


def _motors(ds: xr.Dataset, scenario: Scenario) -> Finding | None:
    laws = [law for law in scenario.control if isinstance(law, SpeedLaw)]
    free = scenario.drive is not None or scenario.gait is not None
    free = free or any(law.limit is None for law in laws)
    if scenario.motors or not free:
        return None
    text = "The motors have no torque or speed limit"
    if "motor_torque" in ds and np.isfinite(ds["motor_torque"].values).any():
        text += f"; the greatest torque was {number(_greatest(ds, 'motor_torque'), 3)} N·m"
    return Finding(NOTE, "motors", f"{text}.")


def _greatest(ds: xr.Dataset, name: str) -> float:
    return float(np.nanmax(np.abs(ds[name].values), initial=0.0))


def _assumed(names: Sequence[str]) -> Finding | None:
    if not names:
        return None
    return Finding(NOTE, "assumed", f"Assumed values without a source: {', '.join(names)}.")
