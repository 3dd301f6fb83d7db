"""Path following with slip compensation.

A path is a curve over its arc length s [m], a polyline or a smooth spline through its points, with
heading ψ_p(s) and curvature κ(s). At the nearest point the errors are

    e = cross-track error, positive left of the path [m]       θ = course − ψ_p [rad]

The course is the heading ψ plus the angle of the velocity in the base frame, atan2(v_y, v_x): with
side slip a rover that can't crab must point its nose beside the path.

Feedback law (A. Micaelli, C. Samson: Trajectory tracking for unicycle-type and two-steering-wheels
mobile robots, INRIA RR-2097, 1993; C. Canudas de Wit, B. Siciliano, G. Bastin (eds.): Theory of
robot control, 1996, section 9.3), with the speed v along the course:

    ω = v [ κ cos θ / (1 − κ e) − k_e e sin θ / θ ] − k_θ |v| θ                       [rad/s]

With ė = v sin θ and θ' = ω − κ v cos θ / (1 − κ e) the function V = (k_e e² + θ²)/2 falls,
V' = −k_θ |v| θ². k_e [1/m²], k_θ [1/m]; critically damped for k_θ = 2 √k_e. Far from the path the
law asks for approach angles beyond 90°, where k_e |e| sin θ/θ > k_θ |θ| at θ = π/2; so |e| counts
in its second term as no more than π² k_θ/(4 k_e), at which the rover comes in square to the path.

Pure pursuit (R. C. Coulter: Implementation of the pure pursuit path tracking algorithm,
CMU-RI-TR-92-01, 1992): for a goal at the distance L ahead on the path, y_L to the left of the
course, ω = v 2 y_L / L².

Slip compensation (D. M. Helmick, S. I. Roumeliotis, Y. Cheng, D. S. Clouse, M. Bajracharya,
L. H. Matthies: Slip-compensated path following for planetary exploration rovers, Advanced Robotics
20, 2006): the slip is the measured twist less the one the wheels should give,
Δ = measured − kinematic, smoothed over the time τ; the command is the wanted twist less Δ. With a
constant slip ratio this tends to wanted/(1 − s). `limit` bounds |Δ| by a share of the wanted speed.
A rover that can crab so cancels side slip by driving against it; one that can't (`crab=False`)
leaves v_y at zero and turns its nose through the course.

Turning of wheels that skid: a rover without steering turns by less than the rates of its wheels
say, since all of them slip sideways (ω = η ω_kinematic; a half on soil is usual, less for long and
narrow rovers). What is missing is in proportion to the turn, so that η is learned over the angle
turned and the command divided by it; only what is left counts as slip:

    dη = (ω_measured/ω_kinematic − η) |ω_kinematic| dt/Θ        command: (ω_wanted − Δ_ω)/η

(A. Mandow, J. L. Martínez, J. Morales, J. L. Blanco, A. García-Cerezo, J. González: Experimental
kinematics for wheeled skid-steer mobile robots, IROS 2007: there η is the track by the distance
between the centres about which both sides turn.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marsyard.control.steering import Twist
from marsyard.errors import InputError, suggest


class Path:
    """A curve through points, by arc length.

    Args:
        points: x, y [m], shape [n, 2], n ≥ 2.
        smooth: a spline (C², natural) through the points instead of a polyline.
    """

    def __init__(self, points, smooth: bool = False):
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
            raise InputError(f"path: shape {points.shape}; give at least two points of x and y")
        keep = np.concatenate([[True], np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-9])
        points = points[keep]
        if len(points) < 2 or not np.all(np.isfinite(points)):
            raise InputError("path: give at least two different, finite points")
        self.points = _resampled(points) if smooth and len(points) > 2 else points
        step = np.diff(self.points, axis=0)
        size = np.linalg.norm(step, axis=1)
        self.arc = np.concatenate([[0.0], np.cumsum(size)])
        self.length = float(self.arc[-1])
        self._directions = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
        self._smooth = smooth and len(points) > 2
        #: how far from where it was the nearest point is looked for [m]
        self.reach = 1.0

    @classmethod
    def arc_of(cls, x: float, y: float, heading: float, curvature: float, length: float) -> Path:
        """An arc from x, y [m] in the direction `heading` [rad]; curvature [1/m] positive left."""
        if curvature == 0.0:
            end = (x + length * np.cos(heading), y + length * np.sin(heading))
            return cls([(x, y), end])
        turn = curvature * length
        along = np.linspace(0.0, turn, max(50, int(np.ceil(np.degrees(abs(turn))))) + 1)
        points = np.column_stack(
            [
                x + (np.sin(heading + along) - np.sin(heading)) / curvature,
                y - (np.cos(heading + along) - np.cos(heading)) / curvature,
            ]
        )
        path = cls(points)
        path._smooth = True
        # less than the distance to the other side, where a full circle meets itself
        path.reach = min(1.0, 0.5 * np.pi / abs(curvature))
        return path

    def point(self, s) -> np.ndarray:
        """Points at arc lengths s [m], [..., 2]."""
        return np.stack([np.interp(s, self.arc, self.points[:, k]) for k in (0, 1)], axis=-1)

    def heading(self, s: float) -> float:
        """Direction at s [rad]."""
        if not self._smooth:
            return float(self._directions[self._segment(s)])
        middles = (self.arc[1:] + self.arc[:-1]) / 2
        return float(np.interp(s, middles, self._directions))

    def curvature(self, s: float) -> float:
        """Curvature at s [1/m], positive to the left; 0 on a polyline."""
        if not self._smooth:
            return 0.0
        middles = (self.arc[1:] + self.arc[:-1]) / 2
        bend = np.diff(self._directions) / np.diff(middles)
        return float(np.interp(s, self.arc[1:-1], bend))

    def nearest(
        self, x: float, y: float, near: float | None = None, reach: float | None = None
    ) -> float:
        """Arc length of the point nearest to x, y [m]; only within `reach` [m] of `near` if given.

        So a path that crosses itself is not left at the crossing.
        """
        here = np.array([x, y])
        reach = self.reach if reach is None else reach
        first, last = 0, len(self.arc) - 1
        if near is not None:
            first, last = self._segment(near - reach), self._segment(near + reach) + 1
        start, size = self.points[first:last], np.diff(self.arc[first : last + 1])
        step = np.diff(self.points[first : last + 1], axis=0)
        along = np.clip(np.sum((here - start) * step, axis=1) / size**2, 0, 1)
        s = self.arc[first:last] + along * size
        if near is not None:
            s = np.clip(s, near - reach, near + reach)
            along = (s - self.arc[first:last]) / size
        away = np.linalg.norm(start + along[:, None] * step - here, axis=1)
        return float(s[np.argmin(away)])

    def cross_track(self, x: float, y: float, s: float) -> float:
        """Distance of x, y to the left of the path at s [m]."""
        px, py = self.point(s)
        heading = self.heading(s)
        return float(-(x - px) * np.sin(heading) + (y - py) * np.cos(heading))

    def _segment(self, s: float) -> int:
        return int(np.clip(np.searchsorted(self.arc, s, side="right") - 1, 0, len(self.arc) - 2))


def _resampled(points: np.ndarray) -> np.ndarray:
    """Points close together on the spline through `points`."""
    from scipy.interpolate import CubicSpline

    chord = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    spline = CubicSpline(chord, points, bc_type="natural")
    return spline(np.linspace(0, chord[-1], max(200, 20 * len(points))))


@dataclass
class TurnEfficiency:
    """How much of the turn that their rates stand for wheels that skid give.

    Attributes:
        value: η, measured by kinematic rate of turning. angle: Θ over which it is learned [rad].
        least, most: bounds of η.
    """

    value: float = 1.0
    angle: float = 0.2
    least: float = 0.25
    most: float = 1.2

    def observe(self, measured: float, kinematic: float, dt: float) -> None:
        """Take in rates of turning [rad/s] over dt [s]."""
        turned = abs(kinematic) * dt
        if turned < 1e-9:
            return
        share = 1 - np.exp(-turned / self.angle)
        value = self.value + share * (measured / kinematic - self.value)
        self.value = float(np.clip(value, self.least, self.most))


@dataclass
class SlipCompensation:
    """Estimate of the twist lost to slip, smoothed.

    Attributes:
        time_constant: τ [s].
        limit: greatest slip velocity made good, as a share of the wanted speed.
        slip: smoothed measured − kinematic twist (forward, left [m/s], turn [rad/s]).
        turning: of wheels that skid; none for wheels that are steered.
    """

    time_constant: float = 1.0
    limit: float = 2.0
    slip: np.ndarray = field(default_factory=lambda: np.zeros(3))
    turning: TurnEfficiency | None = None

    def observe(self, measured: Twist, kinematic: Twist, dt: float) -> None:
        """Update with the motion measured over dt [s] and the motion expected from wheel
        rotation.
        """
        if self.turning is not None:
            self.turning.observe(measured.turn, kinematic.turn, dt)
            kinematic = kinematic._replace(turn=self.turning.value * kinematic.turn)
        share = 1 - np.exp(-dt / self.time_constant)
        self.slip += share * (np.subtract(measured, kinematic) - self.slip)

    def correct(self, wanted: Twist, crab: bool = True) -> Twist:
        """The command that yields the wanted twist at the present slip."""
        speed = np.hypot(wanted.forward, wanted.left)
        size = np.hypot(*self.slip[:2])
        slip = self.slip * min(1.0, self.limit * speed / size) if size > 0 else self.slip
        left = wanted.left - slip[1] if crab else wanted.left
        turn = wanted.turn - slip[2]
        if self.turning is not None:
            turn /= self.turning.value
        return Twist(wanted.forward - slip[0], left, turn)


@dataclass
class PathFollower:
    """Twists that keep a rover on a path.

    Attributes:
        path: to follow.
        speed: along the path [m/s].
        law: "feedback" or "pure_pursuit".
        gain_track: k_e [1/m²].
        gain_heading: k_θ [1/m].
        look_ahead: L of pure pursuit [m].
        turn_max: greatest |ω| [rad/s].
        slow_down: distance from the end over which the speed falls to a fifth [m].
        braking: deceleration with which the end is approached [m/s²]; infinite: at full speed.
        tolerance: rest of the path that counts as arrived [m], however far beside it.
        compensation: none to leave slip as it is.
        crab: whether the rover can drive sideways.
        s: how far along the path it is [m].
    """

    path: Path
    speed: float
    law: str = "feedback"
    gain_track: float = 1.0
    gain_heading: float = 2.0
    look_ahead: float = 0.8
    turn_max: float = np.inf
    slow_down: float = 0.0
    braking: float = np.inf
    tolerance: float = 0.02
    compensation: SlipCompensation | None = None
    crab: bool = True
    s: float = 0.0

    def __post_init__(self) -> None:
        if self.law not in ("feedback", "pure_pursuit"):
            known = suggest(self.law, ("feedback", "pure_pursuit"))
            raise InputError(f"law: unknown law '{self.law}'; {known}")
        if not self.speed > 0:
            raise InputError(f"speed: {self.speed:g} m/s; it must be positive")

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.path.length - self.s <= self.tolerance

    def update(
        self,
        x: float,
        y: float,
        heading: float,
        measured: Twist | None = None,
        kinematic: Twist | None = None,
        dt: float = 0.0,
    ) -> Twist:
        """The twist to command at the pose x, y [m], heading [rad].

        `measured` (by visual odometry, say) and `kinematic` (from the wheels) twists over the last
        `dt` [s] feed the compensation.
        """
        if self.compensation is not None and measured is not None and kinematic is not None:
            self.compensation.observe(measured, kinematic, dt)
        self.s = self.path.nearest(x, y, self.s)
        if self.done:
            return Twist()
        wanted = self._law(x, y, self._course(heading), self.speed_now)
        if self.compensation is None:
            return wanted
        command = self.compensation.correct(wanted, self.crab)
        return command._replace(turn=float(np.clip(command.turn, -self.turn_max, self.turn_max)))

    @property
    def speed_now(self) -> float:
        """Speed wanted along the path at s [m/s]."""
        left = self.path.length - self.s
        # v²/2 = a · distance, with a fifth in reserve
        fastest = braking_rate(self.braking, left)
        share = np.clip(fastest / self.speed, 0.2, 1)
        if self.slow_down > 0:
            share = min(share, np.clip(left / self.slow_down, 0.2, 1))
        return self.speed * float(share)

    def _course(self, heading: float) -> float:
        """Direction of travel: the heading, and the side slip of a rover that can't crab."""
        if self.compensation is None or self.crab:
            return heading
        side = self.compensation.slip[1]
        return heading + float(np.arctan2(side, max(self.speed_now, abs(side))))

    def _law(self, x: float, y: float, course: float, v: float) -> Twist:
        if self.law == "pure_pursuit":
            turn = v * self._pursuit_curvature(x, y, course)
        else:
            turn = self._feedback_turn(x, y, course, v)
        return Twist(v, 0.0, float(np.clip(turn, -self.turn_max, self.turn_max)))

    def _feedback_turn(self, x: float, y: float, course: float, v: float) -> float:
        e = self.path.cross_track(x, y, self.s)
        theta = wrapped(course - self.path.heading(self.s))
        bend = self.path.curvature(self.s)
        follow = bend * np.cos(theta) / max(1 - bend * e, 0.1)
        far = np.pi**2 * self.gain_heading / (4 * self.gain_track)
        pull = self.gain_track * float(np.clip(e, -far, far)) * np.sinc(theta / np.pi)
        return float(v * (follow - pull) - self.gain_heading * abs(v) * theta)

    def _pursuit_curvature(self, x: float, y: float, course: float) -> float:
        ahead = self.s + self.look_ahead
        goal = self.path.point(min(ahead, self.path.length))
        # beyond the end the path goes on straight
        heading = self.path.heading(self.path.length)
        beyond = max(ahead - self.path.length, 0.0)
        dx, dy = goal + beyond * np.array([np.cos(heading), np.sin(heading)]) - [x, y]
        side = -np.sin(course) * dx + np.cos(course) * dy
        return float(2 * side / (dx**2 + dy**2))


def braking_rate(deceleration: float, left: float) -> float:
    """Speed from which four fifths of a deceleration come to rest over what is left, also of a
    turn."""
    return float(np.sqrt(1.6 * deceleration * left)) if left > 0 else 0.0


def wrapped(angle: float) -> float:
    """The same direction from −π to below π [rad]."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
