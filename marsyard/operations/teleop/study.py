"""A scripted operator drives a slalom under delay: with predictor, by move and wait, and naively.

All three steer by pure pursuit (`control.path_following`): at a pose x, y, ψ they aim at the point
of the path a distance L ahead, which lies y_L to the left of the course, and order the speed v and
the rate of turning ω = 2 v y_L/L². The course is the heading plus the drift β, by which the rover
slides downhill: the angle of the way it was seen to make, over at least `BASE`, against its mean
heading there, smoothed.

    predictor      steers all the time, by the pose where the rover will be when the order arrives
    move and wait  drives τ seconds, waits until telemetry tells that the rover stands, and so on;
                   aims as far ahead as one move goes, at least L. τ is the longest of `MOVES` whose
                   deviation is not larger than that of the predictor
    naive          steers all the time, by the pose that telemetry tells

Deviation is the distance of the true base from the path, root mean square over the distance and
greatest. The path is done when the operator's pose is at its end; time counts from the first order.
A run that is farther than `LOST` from the path or takes longer than `LONGEST` has failed.

Telemetry comes once a second.

Errors of prediction are those against the truth: how far apart on the ground the rover was from
where the predictor had shown it for that time. *Before* adaptation is the same drive with a
predictor that does not learn the soil, *after* that of one that does, over the second half of the
path, so that there was time to learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.control.path_following import Path, wrapped
from marsyard.control.rover_kinematics import half_width_of
from marsyard.operations.link import Duplex, preset
from marsyard.operations.teleop.teleoperation import Teleoperation
from marsyard.operations.teleop.vehicle import Noise, pose_of
from marsyard.results.gates import GateScore, score_gates

if TYPE_CHECKING:
    from marsyard.scenario.schema import Scenario

#: moves that are tried [s], longest first
MOVES = (6.0, 5.0, 4.0, 3.0, 2.0, 1.0)
#: the operator looks and steers so often [s]
PACE = 0.2
#: distance from the path at which a run has failed [m], and its longest time [s]
LOST, LONGEST = 1.5, 900.0
#: pure pursuit looks so far ahead [m]
LOOK_AHEAD = 0.6
#: distance over which drift is observed [m]
BASE = 0.25
#: share of a new sight of it, and most that is believed [rad]
DRIFT_SHARE, DRIFT_MOST = 0.4, 0.3
#: step of the clock [s]
TICK = 0.1


@dataclass
class Outcome:
    """How a run went.

    Attributes:
        manner: "predictor", "move and wait" or "naive". move: τ [s].
        time: [s]. rms, greatest: deviation [m]. failed: why, or empty.
        errors: of prediction against the truth, (n, 3): time [s], distance [m], heading [rad].
        inside: share of predictions whose 95 % ellipse held the truth.
        places: true ones, (n, 3): time, x, y. shown: as predicted, or told, (n, 3).
        gates: how the true rover took those of the scenario; none without gates.
        beliefs: factors on the soil's numbers at the end, by name.
    """

    manner: str
    move: float = math.nan
    time: float = math.nan
    rms: float = math.nan
    greatest: float = math.nan
    failed: str = ""
    errors: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    inside: float = math.nan
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    shown: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    gates: GateScore | None = None
    beliefs: dict[str, float] = field(default_factory=dict)

    def error(self, part: str = "second half") -> float:
        """Root mean square of the errors of prediction over a part of the path [m]."""
        if not len(self.errors):
            return math.nan
        half = len(self.errors) // 2
        part_of = self.errors[half:] if part == "second half" else self.errors
        return float(np.sqrt(np.mean(part_of[:, 1] ** 2)))


@dataclass(frozen=True)
class Comparison:
    """The slalom on one truth: with predictor, without learning, by move and wait, naively; all
    moves that were tried, and how the truth differs from what was believed."""

    predictor: Outcome
    fixed: Outcome
    waiting: Outcome
    naive: Outcome
    tried: tuple[Outcome, ...]
    truth: dict[str, float]
    seed: int | None = None

    @property
    def faster(self) -> float:
        """How many times faster the predictor is than move and wait."""
        return self.waiting.time / self.predictor.time

    @property
    def better(self) -> float:
        """Error of prediction after adaptation by that before."""
        return self.predictor.error() / self.fixed.error()


def slalom_of(scenario: Scenario) -> tuple[Path, float]:
    """The path and speed of a scenario's first command that has one."""
    from marsyard.errors import InputError
    from marsyard.scenario.drive import PathCommand

    for command in () if scenario.drive is None else scenario.drive.commands:
        if isinstance(command, PathCommand):
            return Path(np.array(command.path), smooth=command.smooth), float(command.speed)
    raise InputError("drive.commands: the script needs a path to follow, but the scenario has none")


def pursue(path: Path, pose: np.ndarray, near: float, speed: float, ahead: float) -> tuple:
    """Pure pursuit: arc length of the nearest point, and the rate of turning [rad/s]."""
    x, y, heading = pose
    s = path.nearest(x, y, near)
    target = path.point(min(s + ahead, path.length))
    if s + ahead > path.length:  # beyond the end, straight on
        end = path.heading(path.length)
        rest = s + ahead - path.length
        target = target + rest * np.array([math.cos(end), math.sin(end)])
    dx, dy = target[0] - x, target[1] - y
    to_left = -math.sin(heading) * dx + math.cos(heading) * dy
    return s, 2.0 * speed * to_left / max(dx * dx + dy * dy, 1e-6)


class _Run:
    """One drive of a scripted operator."""

    def __init__(self, session: Teleoperation, path: Path, speed: float, outcome: Outcome) -> None:
        self.session, self.path, self.speed, self.outcome = session, path, speed, outcome
        self.now, self.near = 0.0, 0.0
        self._true: list[tuple[float, ...]] = []
        self._shown: list[tuple[float, ...]] = []
        self._from: np.ndarray | None = None
        self._seen_drift = 0.0

    def tick(self) -> None:
        self.session.advance(self.now)
        world = self.session.remote.world  # type: ignore[attr-defined]
        x, y, _, heading = pose_of(world.vehicle.simulation.qpos)
        self._true.append((world.time, float(x), float(y), float(heading)))
        self.now = round(self.now + TICK, 9)

    def wait(self, duration: float) -> None:
        for _ in range(round(duration / TICK)):
            self.tick()

    def pose(self, predicted: bool) -> np.ndarray | None:
        session = self.session
        if predicted:
            found = session.prediction
            pose = None if found is None else found.pose
        else:
            told = session.telemetry
            qpos = None if told is None else np.array([*told.position, *told.attitude])
            pose = None if qpos is None else pose_of(qpos)[[0, 1, 3]]
        if pose is not None:
            self._shown.append((self.now, float(pose[0]), float(pose[1])))
            pose = np.array([pose[0], pose[1], pose[2] + self._drift(pose)])
        return pose

    def _drift(self, pose: np.ndarray) -> float:
        """By how much the rover is seen to move to the left of its heading [rad]."""
        if self._from is None:
            self._from = pose
        way = pose[:2] - self._from[:2]
        if np.hypot(*way) >= BASE:
            mean = self._from[2] + wrapped(pose[2] - self._from[2]) / 2
            seen = wrapped(math.atan2(way[1], way[0]) - mean)
            seen = min(max(seen, -DRIFT_MOST), DRIFT_MOST)
            self._seen_drift += DRIFT_SHARE * (seen - self._seen_drift)
            self._from = pose
        return self._seen_drift

    @property
    def is_lost(self) -> bool:
        _, x, y, _ = self._true[-1]
        away = np.hypot(*(self.path.point(self.path.nearest(x, y)) - [x, y]))
        if self.session.remote.state != "running":
            self.outcome.failed = self.session.remote.reason
        elif away > LOST:
            self.outcome.failed = f"{away:.1f} m from the path"
        elif self.now > LONGEST:
            self.outcome.failed = f"not done after {LONGEST:g} s"
        return bool(self.outcome.failed)

    def steer_on(self, predicted: bool) -> float:
        """Steer all the time; when it began [s]."""
        self.wait(2 * self.session.link.round_trip + 2.0)
        began = self.now
        while not self.is_lost:
            pose = self.pose(predicted)
            assert pose is not None
            self.near, turn = pursue(self.path, pose, self.near, self.speed, LOOK_AHEAD)
            if self.near >= self.path.length - 0.05:
                break
            self.session.steer(1.0, turn / self.session.turn)
            self.wait(PACE)
        self.outcome.time = self.now - began
        self.session.steer(0.0, 0.0)
        self.wait(2 * self.session.link.round_trip + 2.0)
        return began

    def move_and_wait(self, move: float) -> float:
        """Move, wait until the rover is seen to stand; when it began [s]."""
        self.wait(2 * self.session.link.round_trip + 2.0)
        began = self.now
        ahead = max(LOOK_AHEAD, self.speed * move)
        while not self.is_lost:
            pose = self.pose(False)
            assert pose is not None
            self.near, turn = pursue(self.path, pose, self.near, self.speed, ahead)
            left = self.path.length - self.near
            if left <= 0.05:
                break
            duration = min(move, max(0.5, left / self.speed))
            id = self.session.drive(self.speed, turn, duration)
            self.wait(TICK)
            while not self._stands(id) and not self.is_lost:
                self.wait(TICK)
        self.outcome.time = self.now - began
        return began

    def _stands(self, id: int) -> bool:
        """Whether telemetry tells that the rover stands after an order."""
        entry, told = self.session.operator.entries[id], self.session.telemetry
        if entry.state in ("expired", "lost", "refused", "cancelled"):
            return True
        if told is None or "done" not in entry.times:
            return False
        return told.time > entry.times["done"] and told.values.get("speed", 1.0) < 2e-3

    def finish(self, began: float) -> Outcome:
        out, true = self.outcome, np.array(self._true)
        if self.session.scenario.gates:
            scenario = self.session.scenario
            half_width = half_width_of(scenario.robot.name)
            out.gates = score_gates(scenario.gates, true[:, 0], true[:, 1:3], half_width)
        out.places, out.shown = true[:, :3], np.array(self._shown).reshape(-1, 3)
        driven = true[true[:, 0] >= began]
        steps = np.hypot(*np.diff(driven[:, 1:3], axis=0).T)
        # over the distance, not the time: standing does not count
        rows, near = [], 0.0
        for _, x, y, _ in driven:
            near = self.path.nearest(x, y, near)
            rows.append(np.hypot(*(self.path.point(near) - [x, y])))
        away = np.array(rows)[1:]
        if steps.sum() > 0:
            out.rms = float(np.sqrt(np.sum(steps * away**2) / steps.sum()))
            out.greatest = float(np.max(away))
        out.errors, out.inside = self._errors(true, began)
        adaptation = self.session.predictor.adaptation
        factors = map(float, np.exp(adaptation.theta))
        out.beliefs = dict(zip(adaptation.names, factors, strict=True))
        return out

    def _errors(self, true: np.ndarray, began: float) -> tuple[np.ndarray, float]:
        """Errors of prediction against the truth while the rover was driving."""
        record = self.session.record
        rows, inside = [], []
        at = {round(t / TICK): k for k, t in enumerate(true[:, 0])}
        for time, pose, axes, error in zip(
            record["time"], record["predicted"], record["axes"], self.session.errors, strict=True
        ):
            k = at.get(round(time / TICK))
            if k is None or time < began or error.driven < 0.05:
                continue
            dx, dy = true[k, 1] - pose[0], true[k, 2] - pose[1]
            turn = (true[k, 3] - pose[2] + math.pi) % (2 * math.pi) - math.pi
            rows.append((time, math.hypot(dx, dy), abs(turn)))
            major, minor, angle = axes
            u = math.cos(angle) * dx + math.sin(angle) * dy
            v = -math.sin(angle) * dx + math.cos(angle) * dy
            inside.append((u / major) ** 2 + (v / minor) ** 2 <= 1.0)
        share = float(np.mean(inside)) if inside else math.nan
        return np.array(rows).reshape(-1, 3), share


def drive_slalom(
    manner: str,
    scenario: Scenario,
    truth: Scenario,
    link: Duplex,
    *,
    move: float = math.nan,
    adapt: bool = True,
    noise: Noise | None = None,
    telemetry_period: float = 1.0,
) -> Outcome:
    """One run: "predictor", "move and wait" (with `move` [s]) or "naive"."""
    path, speed = slalom_of(scenario)
    session = Teleoperation(
        scenario, truth, link.copy(), speed=speed, turn=max(0.3, 2 * speed), adapt=adapt,
        predict=manner == "predictor", noise=noise, telemetry_period=telemetry_period,
    )  # fmt: skip
    run = _Run(session, path, speed, Outcome(manner, move))
    if manner == "move and wait":
        began = run.move_and_wait(move)
    else:
        began = run.steer_on(predicted=manner == "predictor")
    return run.finish(began)


def study_slalom(
    scenario: Scenario,
    truth: Scenario,
    link: Duplex | str = "moon",
    *,
    difference: dict[str, float] | None = None,
    seed: int | None = None,
    noise: Noise | None = None,
    moves: Iterable[float] = MOVES,
    say: Callable[[str], Any] | None = None,
) -> Comparison:
    """The slalom in all manners on one truth, the same link and noise for all."""
    say = say or (lambda text: None)
    link = preset(link, seed=seed or 0) if isinstance(link, str) else link
    noise = noise or Noise(0.003, math.radians(0.1), seed or 0)

    def drive(manner: str, **more: Any) -> Outcome:
        out = drive_slalom(manner, scenario, truth, link, noise=noise, **more)
        said = out.failed or f"{out.time:.1f} s, deviation {100 * out.rms:.1f} cm rms"
        say(f"{manner}{f', moves of {out.move:g} s' if out.move > 0 else ''}: {said}")
        return out

    predictor = drive("predictor")
    fixed = replace(drive("predictor", adapt=False), manner="predictor without learning")
    naive = drive("naive")
    tried: list[Outcome] = []
    for move in moves:
        tried.append(drive("move and wait", move=move))
        if not tried[-1].failed and tried[-1].rms <= predictor.rms:
            break
    good = [o for o in tried if not o.failed and o.rms <= predictor.rms]
    # if none keeps to the deviation, the one that comes nearest
    waiting = good[-1] if good else min(tried, key=lambda o: math.inf if o.failed else o.rms)
    return Comparison(predictor, fixed, waiting, naive, tuple(tried), difference or {}, seed)


def table_of(comparisons: Iterable[Comparison]) -> str:
    """The comparisons as text."""
    lines = []
    for c in comparisons:
        head = "" if c.seed is None else f"truth {c.seed}: "
        lines.append(head + ", ".join(f"{k} {v:.3g}" for k, v in c.truth.items()))
        for out in (c.predictor, c.fixed, c.waiting, c.naive):
            name = out.manner + (f", {out.move:g} s" if out.move > 0 else "")
            numbers = (
                f"{out.time:8.1f} s  {100 * out.rms:6.1f} cm rms  {100 * out.greatest:6.1f} cm"
            )
            if out.gates is not None and not out.failed:
                numbers += f"  {out.gates.passed}/{len(out.gates.states)} gates"
            error = "" if math.isnan(out.error()) else f"  error {100 * out.error():.2f} cm"
            lines.append(f"  {name:<26}{out.failed or numbers}{error}")
        lines.append(
            f"  {c.faster:.2f} times faster than move and wait; prediction error after adaptation "
            f"{c.better:.2f} of that before; truth inside the 95 % ellipse in "
            f"{100 * c.predictor.inside:.0f} %"
        )
    return "\n".join(lines)


def draw_slalom(comparison: Comparison, path: Path, file: FilePath | str) -> FilePath:
    """Paths and errors of a comparison as a picture."""
    from matplotlib.figure import Figure

    file = FilePath(file)
    figure = Figure(figsize=(9, 7), layout="constrained")
    above, below = figure.subplots(2, height_ratios=(1.2, 1))
    line = path.point(np.linspace(0.0, path.length, 300))
    above.plot(*line.T, color="0.7", lw=5, label="path")
    for out, style in (
        (comparison.naive, ":"), (comparison.waiting, "--"), (comparison.predictor, "-"),
    ):  # fmt: skip
        name = out.manner + (f", moves of {out.move:g} s" if out.move > 0 else "")
        label = f"{name}: {out.failed or f'{out.time:.0f} s, {100 * out.rms:.1f} cm rms'}"
        above.plot(out.places[:, 1], out.places[:, 2], style, lw=1.5, label=label)
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    above.legend(fontsize=8)
    for out, label in ((comparison.fixed, "without learning"), (comparison.predictor, "learning")):
        below.plot(out.errors[:, 0], 100 * out.errors[:, 1], label=label)
    below.set(xlabel="time [s]", ylabel="prediction error [cm]", ylim=(0, None))
    below.legend(fontsize=8)
    figure.savefig(file, dpi=90)
    return file
