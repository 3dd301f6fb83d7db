"""The operator's model of the rover: where it will be when a command given now arrives.

All times here are by the rover's clock. The predictor runs a rover of its own (`RoverWorld`: the
same protocol, a vehicle on the ground the operator believes in) and keeps it at an *anchor*, the
time t_a of the newest telemetry. When telemetry for t₂ comes, it

1. goes back to the anchor and drives from t_a to t₂ with the messages that arrived there by then,
   at the times the rover reported, or at those expected where it has not;
2. compares the told pose with its own: the innovation; nudges the soil by it (`adaptation`);
3. corrects its pose by a Kalman filter, which with telemetry free of noise means to what was told,
   takes over mode and active orders as told, and makes this the new anchor;
4. drives on with what is active or still to arrive until the time at which a command given now
   arrives. Between telemetry it only goes on.

Height, tilt and joints stay those of the own model: the ground under the rover is known only as far
as it is believed, and a told height would lift the wheels or bury them. Corrections below the
rounding of telemetry are left out, so that with equal worlds prediction and truth are the same.

Uncertainty. With d = Σ (|Δp| + ℓ |Δψ|) the distance driven since the anchor (ℓ = `LEVER`), F the
Jacobian of the pose at the end by that at the anchor, and B the rotation of the rover's frame,

    Σ = F P F ᵀ + B (diag(a²) (d² + d₀²) + J P_θ Jᵀ) Bᵀ,

P that of the anchor's pose, J the sensitivities of the latest window scaled with the distance, P_θ
of the soil's factors. a, the errors forwards, sideways and of heading per metre, begins as
`PER_METRE` and follows the squares of what past predictions missed by,

    a² ← a² + g ((e² − σ²)/(d² + d₀²) − a²),   g = max(1/(n + `PRIOR_WEIGHT`), 1/`MEMORY`),

σ² the part that noise of telemetry and P_θ explain, n the number of the prediction. a is at least
`LEAST_ERROR`. A variance that remembers M predictions is as good as one of ν = 2 M − 1 independent
ones, so that xᵀ Σ⁻¹ x / 2 follows Fisher's F(2, ν), and the ellipse that holds 95 % is the one
with xᵀ Σ⁻¹ x = ν (0.05^(−2/ν) − 1), a little larger than the χ² of a known Σ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.control.path_following import wrapped
from marsyard.operations.teleop.adaptation import DIFFERENCE, ROUNDING, Adaptation, adaptation_for
from marsyard.operations.teleop.rover import TICK, Moment, RoverWorld
from marsyard.operations.teleop.session import Ellipse
from marsyard.operations.teleop.vehicle import Noise, Vehicle, pose_of

if TYPE_CHECKING:
    from marsyard.operations.messages import Mode, Telemetry
    from marsyard.operations.protocol import ProtocolSettings
    from marsyard.scenario.schema import Scenario

#: a turn counts as this distance per radian [m]
LEVER = 0.5
#: errors forwards, sideways [m] and of heading [rad] per metre, before anything is learned
PER_METRE = (0.2, 0.1, 0.15)
#: distance assigned to an error at rest [m]
LEAST_WAY = 0.02
#: the least error per metre that is believed
LEAST_ERROR = 0.005
#: predictions that the learned error remembers
MEMORY = 12
#: the prior counts as this many predictions
PRIOR_WEIGHT = 5
#: a window of adaptation: at least this distance [m] and time [s], and at most this time [s]
WINDOW_WAY, WINDOW_TIME, WINDOW_LONGEST = 0.05, 0.9, 6.0
#: distance below which an error says nothing about errors per metre [m]
WAY_TO_LEARN = 0.1
#: square of the reach of an ellipse that holds 95 %, in deviations
REACH_95 = (2 * MEMORY - 1) * (0.05 ** (-2 / (2 * MEMORY - 1)) - 1)


@dataclass(frozen=True)
class Arrival:
    """A message that arrives at the rover at a time [s], or is expected to."""

    id: int
    time: float
    data: bytes


@dataclass(frozen=True)
class Told:
    """What telemetry tells: time [s], pose x, y, heading, active order, mode and hold, orders
    known to have ended, mean torque [N·m] and sinkage [m] (NaN where not told)."""

    time: float
    pose: np.ndarray
    order: int
    mode: Mode
    hold: int
    ended: frozenset[int]
    torque: float = math.nan
    sinkage: float = math.nan

    @classmethod
    def of(cls, message: Telemetry, ended: frozenset[int]) -> Told:
        """From a message of telemetry."""
        qpos = np.array([*message.position, *message.attitude])
        x, y, _, heading = pose_of(qpos)
        values = message.values
        return cls(
            message.time, np.array([x, y, heading]), message.order, message.mode, message.hold,
            ended, values.get("torque", math.nan), values.get("sinkage", math.nan),
        )  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """Where the rover will be.

    Attributes:
        time: for which [s]. anchor: time of the telemetry it is made from [s].
        qpos: positions. covariance: of x, y, heading. way: driven since the anchor [m].
        path: places from the anchor on, (n, 3) [m].
        own: the part of the covariance in the rover's frame that is not learned (see `Predictor`).
    """

    time: float
    anchor: float
    qpos: np.ndarray
    covariance: np.ndarray
    way: float
    path: np.ndarray
    own: np.ndarray

    @property
    def pose(self) -> np.ndarray:
        """x, y, heading."""
        return pose_of(self.qpos)[[0, 1, 3]]

    @property
    def ellipse(self) -> Ellipse:
        """That holds the place with 95 %."""
        x, y, _ = self.pose
        return ellipse_of(x, y, self.covariance[:2, :2])

    @property
    def heading_deviation(self) -> float:
        """Of the heading [rad]."""
        return math.sqrt(max(0.0, float(self.covariance[2, 2])))


def ellipse_of(x: float, y: float, covariance: np.ndarray) -> Ellipse:
    """The ellipse about x, y that holds 95 % of a Gaussian."""
    value, vector = np.linalg.eigh(covariance)
    axes = np.sqrt(np.maximum(value, 0.0) * REACH_95)
    return Ellipse(
        (float(x), float(y)), (float(axes[1]), float(axes[0])),
        math.atan2(vector[1, 1], vector[0, 1]),
    )  # fmt: skip


class Mark(NamedTuple):
    """How far a prediction has come."""

    path: list[np.ndarray]
    way: float


class ErrorPerWay:
    """How far predictions miss, as deviations per metre driven, learned from past ones."""

    def __init__(self) -> None:
        self._square = np.array(PER_METRE) ** 2
        self._count = 0

    @property
    def per_metre(self) -> np.ndarray:
        """a, forwards, sideways [m] and of heading [rad] per metre."""
        return np.sqrt(np.maximum(self._square, LEAST_ERROR**2))

    def variance(self, way: float) -> np.ndarray:
        """Of the three after a distance [m]."""
        return self.per_metre**2 * (way**2 + LEAST_WAY**2)

    def learn(self, error: np.ndarray, way: float, other: np.ndarray) -> None:
        """From an error after a distance, of which `other` variances explain a part."""
        if way < WAY_TO_LEARN:
            return
        self._count += 1
        gain = max(1.0 / (self._count + PRIOR_WEIGHT), 1.0 / MEMORY)
        now = (error**2 - other) / (way**2 + LEAST_WAY**2)
        self._square = self._square + gain * (now - self._square)


class Predictor:
    """Where the rover will be, as far as the operator can know.

    Args:
        scenario: what the operator believes in.
        settings: of the protocol.
        noise: deviations of the told pose, as known to the operator.
        adapt: whether the soil is learned.

    Attributes:
        world: the rover's model. adaptation: what is believed of the ground.
        error: of predictions per metre, as learned. innovations: of all telemetry so far: time,
            forwards, sideways, heading and distance since the previous one.
    """

    def __init__(
        self, scenario: Scenario, settings: ProtocolSettings, *, noise: Noise | None = None,
        adapt: bool = True,
    ) -> None:  # fmt: skip
        # silence is told by the rover's mode, not guessed; records are not kept
        quiet = settings.model_copy(update={"watchdog": None})
        run = scenario.run.model_copy(update={"record_period": 100.0})
        self.vehicle = Vehicle(scenario.model_copy(update={"run": run}))
        self.world = RoverWorld(self.vehicle, quiet)
        self.noise = noise or Noise()
        self.adaptation: Adaptation = adaptation_for(self.vehicle)
        self.adapt = adapt
        self.error = ErrorPerWay()
        self.innovations: list[tuple[float, float, float, float, float]] = []
        self._anchor = self.world.moment()
        self._learned = False  # from the window that is at its end
        self._P = np.zeros((3, 3))
        self._window = _Window(self._anchor, self._own_pose(), 0.0)
        self._J = np.zeros((3, len(self.adaptation.names)))  # per metre
        self._begin_path()

    @property
    def anchor(self) -> float:
        """Time of the newest telemetry that was taken in [s]."""
        return self._anchor.time

    @property
    def time(self) -> float:
        """For which the model stands [s]."""
        return self.world.time

    # telemetry --------------------------------------------------------------------------------

    def rebase(self, told: Told, arrivals: Iterable[Arrival], learn: bool = True) -> bool:
        """Take in telemetry; whether it was newer than what was known. `learn`: whether there is
        time to learn the soil."""
        if told.time <= self.anchor + TICK:
            return False
        arrivals = list(arrivals)
        self._go_back(self._anchor, arrivals)
        self.drive_to(told.time)
        own, way = self._own_pose(), self._way
        self._note(told, own, way)
        self._window.take(told, arrivals, way)
        if self._window.is_full(told.time) and self.adapt and learn:
            self._learn(told)
            self._go_back(self._anchor, arrivals)
            self.drive_to(told.time)
            own, way = self._own_pose(), self._way
        elif not learn:
            self._window.pass_over(told.time)
        self._correct(told, own, way)
        self.world.protocol.assume(
            max(told.time, self.world.protocol.now), told.mode, told.hold, told.order, told.ended,
        )  # fmt: skip
        if self._window.done:
            self.vehicle.reset_means()
        self.vehicle.forget(self.anchor)
        self._anchor = self.world.moment()
        if self._window.done:
            self._window = _Window(self._anchor, self._own_pose(), 0.0, rests=self._learned)
            self._learned = False
        self._begin_path()
        return True

    def go_on(self, arrivals: Iterable[Arrival], until: float) -> Prediction:
        """Drive on to the first period that begins at or after a time [s]."""
        self.feed(arrivals)
        period = self.vehicle.period
        self.drive_to(math.ceil(until / period - 1e-6) * period)
        return self.prediction()

    def replay(self, arrivals: Iterable[Arrival], until: float) -> Prediction:
        """Drive from the anchor to a time [s] anew, with what is now known of arrivals."""
        self._go_back(self._anchor, arrivals)
        self._begin_path()
        return self.go_on((), until)

    def _go_back(self, moment: Moment, arrivals: Iterable[Arrival]) -> None:
        self.world.restore(moment)
        self._begin_path()
        self.feed(arrivals)

    def feed(self, arrivals: Iterable[Arrival]) -> None:
        """Have messages arrive; those that did are known by their ids and ignored."""
        self.world.clear()
        for arrival in arrivals:
            if math.isfinite(arrival.time) and (self.world.protocol.outcome(arrival.id) is None):
                self.world.give(arrival.data, arrival.time)

    def drive_to(self, time: float) -> None:
        while self.world.time < time - TICK and not self.world.stopped:
            self.world.advance_to(self.world.time + self.vehicle.period)
            here = pose_of(self.vehicle.simulation.qpos)
            last = self._path[-1]
            turn = abs(wrapped(float(here[3] - last[3])))
            self._way += math.hypot(*map(float, here[:2] - last[:2])) + LEVER * turn
            self._path.append(here)

    def mark(self) -> Mark:
        """Where the path under prediction is, for `go_back`."""
        return Mark(list(self._path), self._way)

    def go_back(self, mark: Mark) -> None:
        """Take the path up again where it was at a mark; the world is for the caller to restore."""
        self._path, self._way = mark.path, mark.way

    def _begin_path(self) -> None:
        self._path = [pose_of(self.vehicle.simulation.qpos)]
        self._way = 0.0

    def _own_pose(self) -> np.ndarray:
        return pose_of(self.vehicle.simulation.qpos)[[0, 1, 3]]

    def _note(self, told: Told, own: np.ndarray, way: float) -> None:
        forwards, sideways, turn = _in_frame(told.pose, own)
        self.innovations.append((told.time, forwards, sideways, turn, way))

    # correction -------------------------------------------------------------------------------

    def _correct(self, told: Told, own: np.ndarray, way: float) -> None:
        """Pull the pose to what was told, by how far both can be trusted."""
        self._P, _ = self._spread(own, way)
        R = np.diag([self.noise.place**2] * 2 + [self.noise.heading**2]) + 1e-14 * np.eye(3)
        K = self._P @ np.linalg.inv(self._P + R)
        off = told.pose - own
        off[2] = wrapped(off[2])
        size = np.maximum(1.0, np.abs(told.pose))
        if np.all(np.abs(off) <= ROUNDING * size):
            self._P = np.zeros((3, 3))
            return
        new = own + K @ off
        self._P = (np.eye(3) - K) @ self._P
        self._P = (self._P + self._P.T) / 2
        self.vehicle.move_to(*map(float, new))

    def _spread(self, pose: np.ndarray, way: float) -> tuple[np.ndarray, np.ndarray]:
        """Covariance of the pose after a distance from the anchor, and the part of it in the
        rover's
        frame that is not learned from errors."""
        x0, y0, _, _ = self._path[0]
        F = np.eye(3)
        F[0, 2], F[1, 2] = -(pose[1] - y0), pose[0] - x0
        J = self._J * way
        own = J @ self.adaptation.covariance @ J.T
        learned = np.diag(self.error.variance(way))
        B = _frame(pose[2])
        return F @ self._P @ F.T + B @ (learned + own) @ B.T, own

    def missed(self, prediction: Prediction, told: Told) -> np.ndarray:
        """Learn from what a prediction missed by: forwards, sideways [m] and heading [rad]."""
        error = np.array(_in_frame(told.pose, prediction.pose))
        R = np.array([self.noise.place**2] * 2 + [self.noise.heading**2])
        self.error.learn(error, prediction.way, R + np.diag(prediction.own))
        return error

    # soil -------------------------------------------------------------------------------------

    def _learn(self, told: Told) -> None:
        """Nudge the soil by what was told over the window."""
        window, adaptation = self._window, self.adaptation
        window.done = self._learned = True
        if not adaptation.names:
            return
        model = self._over(window, told.time)
        observed = np.array([*_in_frame(told.pose, window.pose), *window.means()])
        observed[2] = wrapped(told.pose[2] - window.pose[2])
        if np.allclose(observed[:3], model[:3], rtol=ROUNDING, atol=4 * ROUNDING):
            return  # nothing to be learned
        H = np.zeros((5, len(adaptation.names)))
        for k in range(len(adaptation.names)):
            theta = adaptation.theta.copy()
            # towards the middle, so that bounds are not crossed
            step = -DIFFERENCE if theta[k] > 0 else DIFFERENCE
            theta[k] += step
            adaptation.apply(theta)
            H[:, k] = (self._over(window, told.time) - model) / step
        adaptation.apply()
        R = adaptation.trust.variance(
            window.way, model[3], model[4], self.noise.place, self.noise.heading
        )
        if np.all(np.isfinite(H[:3])) and np.all(np.isfinite(model[:3])):
            self._J = H[:3] / max(window.way, WINDOW_WAY)
            if adaptation.update(told.time, observed, model, H, R, window.way):
                adaptation.apply()

    def _over(self, window: _Window, time: float) -> np.ndarray:
        """What the model does over a window: displacement forwards and sideways, turn, torque,
        sinkage.
        """
        self._go_back(window.moment, window.arrivals)
        self.drive_to(time)
        pose = self._own_pose()
        torque, sinkage = self.vehicle.means()
        if self.world.stopped:
            return np.full(5, np.nan)
        way = _in_frame(pose, window.pose)
        return np.array([way[0], way[1], wrapped(pose[2] - window.pose[2]), torque, sinkage])

    # what is predicted ------------------------------------------------------------------------

    def prediction(self) -> Prediction:
        """Where the model stands now."""
        qpos = np.array(self.vehicle.simulation.qpos)
        covariance, own = self._spread(self._own_pose(), self._way)
        path = np.array(self._path)[:, :3]
        return Prediction(
            self.time, self.anchor, qpos, covariance, self._way, path, own
        )  # fmt: skip


@dataclass
class _Window:
    """A stretch of driving from which the soil is learned."""

    moment: Moment
    pose: np.ndarray
    way: float
    torque: float = 0.0
    sinkage: float = 0.0
    count: int = 0
    done: bool = False
    rests: bool = False
    arrivals: tuple[Arrival, ...] = ()

    def take(self, told: Told, arrivals: list[Arrival], way: float) -> None:
        """Telemetry within it, and the distance since the previous one."""
        self.way += way
        if math.isfinite(told.torque) and math.isfinite(told.sinkage):
            self.torque += told.torque
            self.sinkage += told.sinkage
            self.count += 1
        known = {a.id: a for a in self.arrivals} | {a.id: a for a in arrivals}
        self.arrivals = tuple(known.values())

    def means(self) -> tuple[float, float]:
        """Mean torque [N·m] and sinkage [m]."""
        if not self.count:
            return math.nan, math.nan
        return self.torque / self.count, self.sinkage / self.count

    def pass_over(self, time: float) -> None:
        """There was no time to learn: begin anew rather than learn from a long one, which would
        take longer still."""
        lasts = time - self.moment.time
        self.done |= self.way >= WINDOW_WAY and lasts > 2 * WINDOW_TIME

    def is_full(self, time: float) -> bool:
        """Whether there is something to learn from."""
        lasts = time - self.moment.time
        # every other window only: it takes a drive per number of the soil
        if self.rests:
            self.done = lasts >= WINDOW_TIME
            return False
        if lasts < WINDOW_TIME:
            return False
        # it stood, or there was no time to learn: begin anew
        self.done = self.way < WINDOW_WAY or lasts > WINDOW_LONGEST
        return self.way >= WINDOW_WAY


def _in_frame(pose: np.ndarray, of: np.ndarray) -> tuple[float, float, float]:
    """A pose x, y, heading as seen from another: forwards, to the left [m], turned [rad]."""
    dx, dy = pose[0] - of[0], pose[1] - of[1]
    c, s = math.cos(of[2]), math.sin(of[2])
    return c * dx + s * dy, -s * dx + c * dy, wrapped(pose[2] - of[2])


def _frame(heading: float) -> np.ndarray:
    c, s = math.cos(heading), math.sin(heading)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
