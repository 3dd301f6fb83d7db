"""Walking on 2n legs by wave gaits that are stable at every instant.

Timing. Legs are numbered by pair m = 0 … n − 1 from the front, left and right. In a cycle of T [s]
a leg carries for the share β (duty factor), then swings. In a wave gait the placing of feet runs
from rear to front on each side, half a cycle apart between the sides; leg m is placed at

    φ_m = frac(m β)  left,   frac(m β + ½)  right            (shares of the cycle)

so that ψ = frac(t/T − φ) is the leg's own phase: 0 ≤ ψ < β carrying, β ≤ ψ < 1 swinging. Wave gaits
have the greatest longitudinal stability margin of all regular symmetric gaits. With the stride
λ = v T, the stroke of a leg R = β λ, the distance P of neighbouring legs and the centre of mass in
the middle it is

    S = (n/2 − 1) P + (1 − 3/(4β)) R                                                     [m]

as long as R ≤ P; for four legs S = (β − ¾) λ (McGhee and Frank), for six S = P/2 + (β − ¾) λ.
Patterns:

    tripod   six legs, β = ½: three at a time        ripple   six, β = ⅔: two at a time
    wave     β = 1 − 1/(2n): one at a time            crawl    four, β = 0.85: one at a time, pauses

Feet. The base moves at constant velocity (v, heading χ, turn rate ω); a foot that carries rests in
the world, so that in the base's frame, τ = (ψ/β − ½) β T from the middle of its stance,

    p(τ) = R_z(−ω τ) (p₀ − d(τ)),   d(τ) = ∫₀^τ R_z(ω s) v ds                             [m]

p₀ is where it is when all joints are zero. Swinging, with s = (ψ − β)/(1 − β), x and y are the
quintic that meets position and velocity of both ends without acceleration: in the world the foot
lifts and lands without speed. Height: z = z₀ + 64 h s³ (1 − s)³.

Base. Height and sway: c = (0, −A cos 2π(t/T − t_c), Δz), t_c the middle of the left legs' swings,
so that the base leans away from legs in the air. Attitude: parallel to the ground, or level.

Sources:
  R. B. McGhee, A. A. Frank: On the stability properties of quadruped creeping gaits. Mathematical
    Biosciences 3, 1968, pp. 331-351
  S. M. Song, K. J. Waldron: An analytical approach for gait study and its applications on wave
    gaits. International Journal of Robotics Research 6, 1987, pp. 60-71
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marsyard.control.gait_planner import Plan, motion, solved
from marsyard.control.gait_schedule import Motion, Pose
from marsyard.control.limb_kinematics import Limbs
from marsyard.errors import InputError, suggest

PATTERNS = ("tripod", "ripple", "wave", "crawl")
_DUTY = {"tripod": 1 / 2, "ripple": 2 / 3, "crawl": 0.85}
_LEGS = {"tripod": 6, "ripple": 6, "crawl": 4}
#: rounding of phases
_TINY = 1e-9
#: change of the slope that is worth another look at the margin [rad]
_SAME_SLOPE = 1e-3


@dataclass(frozen=True)
class WalkingGait:
    """Parameters of a walk.

    Attributes:
        pattern: of PATTERNS.
        stride: distance of the base per cycle [m].
        period: of a cycle [s].
        duty: β; none for that of the pattern.
        heading: direction of travel in the base's frame, to the left [rad].
        turn: of the base per cycle, to the left [rad].
        step_height: by which feet are lifted [m].
        height: by which the base stands higher than with all joints at zero [m].
        sway: A, to the side [m].
        least_margin: smallest planned static margin [m].
        level: keep the base level on a slope, else parallel to it.
    """

    pattern: str = "wave"
    stride: float = 0.08
    period: float = 4.0
    duty: float | None = None
    heading: float = 0.0
    turn: float = 0.0
    step_height: float = 0.03
    height: float = 0.0
    sway: float = 0.0
    least_margin: float = 0.0
    level: bool = False


def duty_of(pattern: str, legs: int, duty: float | None = None) -> float:
    """Duty factor β of a pattern on so many legs; one sentence if they do not fit together."""
    if pattern not in PATTERNS:
        raise InputError(f"pattern: '{pattern}' is not known; {suggest(pattern, PATTERNS)}")
    if legs < 4 or legs % 2:
        raise InputError(f"walking needs an even number of legs, at least four, not {legs}")
    if _LEGS.get(pattern, legs) != legs:
        fits = [p for p in PATTERNS if _LEGS.get(p, legs) == legs]
        raise InputError(
            f"pattern: '{pattern}' is for {_LEGS[pattern]} legs, not {legs}; "
            f"use {' or '.join(fits)}"
        )
    value = _DUTY.get(pattern, 1 - 1 / legs) if duty is None else duty
    lowest = 1 / 2 if legs > 4 else 3 / 4
    if not lowest <= value < 1:
        raise InputError(
            f"duty = {value:g}: a statically stable walk on {legs} legs needs {lowest:g} to below 1"
        )
    return value


def wave_phases(pairs: int, duty: float) -> np.ndarray:
    """When feet are placed, as shares of the cycle, [pairs, left and right]."""
    left = np.arange(pairs) * duty
    return np.mod(np.column_stack([left, left + 0.5]) + _TINY, 1.0) - _TINY


def wave_margin(pairs: int, duty: float, stride: float, distance: float) -> float:
    """Longitudinal stability margin of a wave gait by Song and Waldron's formula [m]."""
    return (pairs / 2 - 1) * distance + (1 - 3 / (4 * duty)) * duty * stride


class Walking:
    """Makes cycles of a walk for a robot.

    Attributes:
        limbs, gait: what walks and how.
        duty: β, rounded up to whole samples.
        phase: φ of each leg, shape [n].
        samples: of a cycle, without its last.
    """

    name = "walking"

    def __init__(self, limbs: Limbs, gait: WalkingGait, sample: float) -> None:
        self.limbs, self.gait, self.sample = limbs, gait, sample
        if not np.any(limbs.moving):
            raise InputError(
                f"walking: {limbs.robot.name} has no legs; name their joints in roles.legs"
            )
        self.samples = round(gait.period / sample)
        # whole samples: a foot lands before the next one lifts, not within the same sample
        duty = duty_of(gait.pattern, len(limbs.organs), gait.duty)
        self.duty = np.ceil(duty * self.samples - _TINY) / self.samples
        if self.samples * (1 - self.duty) < 3:
            raise InputError(
                f"walking: feet swing for {(1 - duty) * gait.period:.3g} s, less than three "
                f"samples of {sample:g} s; use a longer period or a smaller gait.sample"
            )
        self.phase = self._phases()
        swings = np.exp(2j * np.pi * (self.phase[self._left] + (1 + self.duty) / 2))
        self._sway_phase = float(np.angle(np.sum(swings)) / (2 * np.pi))
        self._solved: dict[bytes, tuple[Plan, np.ndarray]] = {}
        self._checked: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    # --- what a controller asks for

    def begin(self, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the feet and displacement of the base when a cycle begins [m]."""
        return self._places(0.0)[0], self._body(0.0)

    def lean(self, down: np.ndarray) -> np.ndarray:
        """Attitude of the base against the ground, given the direction of gravity in its frame."""
        return level_against(down) if self.gait.level else np.eye(3)

    def cycle(self, begin: Pose) -> Motion:
        """One cycle, from where the last one, or a transition to `begin`, ended."""
        key = begin.lean.tobytes()
        if key not in self._solved:
            plan = self._plan(begin.lean)
            # from the standing pose: a cycle is the same whatever was before it
            start = np.zeros(len(self.limbs.joints))
            self._solved[key] = plan, solved(self.limbs, plan, start, self.sample, self.name)
        plan, angles = self._solved[key]
        down, margin = self._checked.get(key, (None, None))
        if down is None or np.linalg.norm(down - begin.down) > _SAME_SLOPE:
            down, margin = begin.down, None
        done = motion(
            self.limbs, plan, begin, self.sample, least=self.gait.least_margin, name=self.name,
            angles=angles, margin=margin,
        )  # fmt: skip
        self._checked[key] = (down, done.margin)
        return done

    @property
    def advance(self) -> tuple[float, float, float]:
        """Planned displacement of the base in a cycle, forwards, left [m], turn [rad]."""
        x, y = self._displacement(self.gait.period)
        return float(x), float(y), self.gait.turn

    # --- inside

    def _phases(self) -> np.ndarray:
        home = self.limbs.home
        self._left = np.flatnonzero(home[:, 1] > 0)
        right = np.flatnonzero(home[:, 1] <= 0)
        if len(self._left) != len(right):
            raise InputError(
                f"walking: {self.limbs.robot.name} has {len(self._left)} legs on the left and "
                f"{len(right)} on the right; the same number is required"
            )
        # the wave runs along the direction of travel: backwards when walking backwards
        sign = 1.0 if np.cos(self.gait.heading) * self.gait.stride >= 0 else -1.0
        wave = wave_phases(len(right), self.duty)
        wave = np.round(wave * self.samples - _TINY) / self.samples
        phase = np.zeros(len(home))
        for side, legs in enumerate((self._left, right)):
            order = legs[np.argsort(-sign * home[legs, 0], kind="stable")]
            phase[order] = wave[:, side]
        return phase

    def _plan(self, lean: np.ndarray) -> Plan:
        times = np.arange(self.samples + 1) * (self.gait.period / self.samples)
        found = [self._places(t) for t in times]
        wheels = int(np.sum(self.limbs.is_wheel))
        return Plan(
            places=np.array([p for p, _ in found]),
            body=np.array([self._body(t) for t in times]),
            lean=np.broadcast_to(lean, (len(times), 3, 3)),
            rolled=np.zeros((len(times), wheels)),
            steering=np.zeros((len(times), len(self.limbs.steering_joints))),
            support=np.array([s for _, s in found]),
            advance=self.advance,
        )

    def _places(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Feet in the ground's frame [m], and which carry."""
        own = np.mod(time / self.gait.period - self.phase + _TINY, 1.0)
        half = self.duty * self.gait.period / 2
        out = np.array(self.limbs.home)
        carrying = own < self.duty + 2 * _TINY
        for i, phase in enumerate(own):
            if carrying[i]:
                out[i, :2] = self._stance(i, (phase / self.duty - 0.5) * 2 * half)
            else:
                share = (phase - self.duty) / (1 - self.duty)
                out[i, :2] = self._swing(i, share, half)
                out[i, 2] += 64 * self.gait.step_height * share**3 * (1 - share) ** 3
        # to the next sample
        stays = own + 1 / self.samples <= self.duty + 2 * _TINY
        return out, carrying & stays

    def _body(self, time: float) -> np.ndarray:
        angle = 2 * np.pi * (time / self.gait.period - self._sway_phase)
        return np.array([0.0, -self.gait.sway * np.cos(angle), self.gait.height])

    def _displacement(self, time: float) -> np.ndarray:
        """d(τ): displacement of the base, in its frame of the middle of the stance [m]."""
        v = self.gait.stride / self.gait.period
        w, a = self.gait.turn / self.gait.period, self.gait.heading
        turned = w * time
        if abs(turned) < 1e-9:
            return v * time * np.array([np.cos(a + turned / 2), np.sin(a + turned / 2)])
        return v / w * np.array([np.sin(a + turned) - np.sin(a), np.cos(a) - np.cos(a + turned)])

    def _stance(self, leg: int, time: float) -> np.ndarray:
        turned = self.gait.turn / self.gait.period * time
        c, s = np.cos(turned), np.sin(turned)
        x, y = self.limbs.home[leg, :2] - self._displacement(time)
        return np.array([c * x + s * y, -s * x + c * y])

    def _stance_velocity(self, leg: int, time: float) -> np.ndarray:
        w = self.gait.turn / self.gait.period
        v = self.gait.stride / self.gait.period
        x, y = self._stance(leg, time)
        a = self.gait.heading
        return np.array([-v * np.cos(a) + w * y, -v * np.sin(a) - w * x])

    def _swing(self, leg: int, share: float, half: float) -> np.ndarray:
        time = (1 - self.duty) * self.gait.period
        p0, p1 = self._stance(leg, half), self._stance(leg, -half)
        v0 = self._stance_velocity(leg, half) * time
        v1 = self._stance_velocity(leg, -half) * time
        s = share
        # the quintic with these ends and no acceleration there
        a3 = 10 * (p1 - p0) - 6 * v0 - 4 * v1
        a4 = -15 * (p1 - p0) + 8 * v0 + 7 * v1
        a5 = 6 * (p1 - p0) - 3 * (v0 + v1)
        return p0 + v0 * s + a3 * s**3 + a4 * s**4 + a5 * s**5


def level_against(down: np.ndarray) -> np.ndarray:
    """The least rotation from a level base's frame to the ground's, where gravity points `down`."""
    z = -np.asarray(down, float) / np.linalg.norm(down)
    axis = np.cross([0.0, 0.0, 1.0], z)
    sine, cosine = float(np.linalg.norm(axis)), float(z[2])
    if sine < 1e-12:
        return np.eye(3)
    x, y, w = axis / sine
    K = np.array([[0, -w, y], [w, 0, -x], [-y, x, 0]])
    return np.eye(3) + sine * K + (1 - cosine) * K @ K
