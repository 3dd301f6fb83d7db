"""What a teleoperation offers to whoever drives: a page, a script, a test.

Time is that of the operator's clock, in seconds since the session began. `shown` may be called at
any time from any thread; what it returns never changes afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import mujoco

    from marsyard.operations.operator_side import View
    from marsyard.operations.sequence import Sequence
    from marsyard.results.gates import GateScore
    from marsyard.scenario.schema import Scenario


@dataclass(frozen=True)
class Ellipse:
    """Region that holds a place with a probability: centre x, y [m], semi-axes [m], angle of the
    first axis from x [rad]."""

    centre: tuple[float, float]
    axes: tuple[float, float]
    angle: float
    probability: float = 0.95


@dataclass(frozen=True)
class OrderShown:
    """An order in the queue: its id, what it is in words, its state, since when [s], why or what
    comes next, and whether anything can still come of it (see `teleop.queue`)."""

    id: int
    words: str
    state: str
    since: float
    reason: str = ""
    open: bool = False


@dataclass(frozen=True)
class Belief:
    """A soil parameter: what it was taken for at the start, what is believed now, how surely."""

    name: str
    unit: str
    prior: float
    value: float
    deviation: float


@dataclass(frozen=True)
class PredictionError:
    """What came of a prediction: when it was for [s], how far off it was on the ground [m], in
    heading [rad], how far the rover had driven since the telemetry it was made from [m]."""

    time: float
    distance: float
    heading: float
    driven: float


@dataclass(frozen=True)
class Shown:
    """All that a display needs at one time.

    Attributes:
        time: operator's clock [s].
        link: state of link, rover's mode, delays, ages, words (see `operator_side.View`).
        remote: "starting", "running", "ended", or "gone" with the reason in `remote_reason`.
        delayed: positions (qpos) of the rover as the newest telemetry tells, none before it;
            delayed_time: when it was so, by the operator's clock [s].
        predicted: positions where it will be when a command given now arrives; predicted_time:
            when that is [s].
        ellipse: of the predicted place; heading_deviation: of the predicted heading [rad].
        path: predicted places from the delayed one on, (n, 3) [m].
        trail: places that telemetry told, (n, 3) [m]. forecasts: places predicted for them, (n, 3).
        orders: newest last. queue: what is open of them, in one line. gates: how those of the
            scenario stand by telemetry, none without gates.
        beliefs: of soil parameters. errors: of past predictions, newest last.
        numbers: by name, for the eye: speed, slip, sinkage, tilt, power …
    """

    time: float
    link: View
    remote: str = "starting"
    remote_reason: str = ""
    delayed: np.ndarray | None = None
    delayed_time: float | None = None
    predicted: np.ndarray | None = None
    predicted_time: float | None = None
    ellipse: Ellipse | None = None
    heading_deviation: float = 0.0
    path: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    trail: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    forecasts: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    orders: tuple[OrderShown, ...] = ()
    queue: str = ""
    gates: GateScore | None = None
    beliefs: tuple[Belief, ...] = ()
    errors: tuple[PredictionError, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Preview:
    """A sequence carried out by the predictor from where the rover will be: places (n, 3) [m] at
    times [s], positions (n, nq) for the 3D view, where it ends, and how each command ended."""

    time: np.ndarray
    places: np.ndarray
    positions: np.ndarray
    end: Ellipse
    outcomes: tuple[str, ...]


class Session(Protocol):
    """A running teleoperation."""

    #: what the operator believes the world to be, and its model for `Shown.delayed`, `predicted`
    scenario: Scenario
    model: mujoco.MjModel

    def shown(self) -> Shown:
        """What is known now."""

    def steer(self, forward: float, left: float) -> None:
        """The stick, −1 … 1 each, held until it is called again; (0, 0) stands. Who steers has to
        call it at least twice a second: after a second of silence the session takes it for (0, 0).
        """

    def goal(self, x: float, y: float) -> int:
        """Order to drive to a place on the ground [m]; the order's id."""

    def send(self, sequence: Sequence) -> list[int]:
        """Send the commands of a sequence, each after the one before; their ids."""

    def preview(self, sequence: Sequence) -> Preview:
        """Have the predictor carry out a sequence; nothing is sent."""

    def stop(self, reason: str = "") -> int:
        """Emergency stop."""

    def resume(self) -> int:
        """Accept commands again after a stop or a hold."""

    def flush(self, current: bool = False) -> int:
        """Discard pending commands; `current`: also the active one."""

    def recorded(self) -> Sequence:
        """What was ordered so far, as a sequence that can be edited, validated and sent again."""

    def close(self) -> Path | None:
        """End both worlds; the folder that holds what was recorded."""
