"""Gaits as tables: joint angles over time, and the planned motion.

A `Schedule` gives the angles q_k [rad] (slides [m]; wheels as continuous angles) of some joints at
the times

    t_k = start + k·period,   k = 0 … n − 1                                               [s]

with straight lines in between: q(t) = q_k + (q_{k+1} − q_k)(t − t_k)/period, and q_{n−1} held after
the last one. A `Motion` is a schedule that begins at time 0 together with the plan it was made
from: which feet or wheels carry, the stability margin, and how far the base is to go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marsyard.errors import InputError


@dataclass(frozen=True)
class Schedule:
    """Angles of joints over time.

    Attributes:
        joints: names.
        period: between samples [s].
        angles: [rad] or [m], shape [samples, joints].
        start: time of the first sample [s].
    """

    joints: tuple[str, ...]
    period: float
    angles: np.ndarray
    start: float = 0.0

    def __post_init__(self) -> None:
        angles = np.array(self.angles, dtype=float)
        object.__setattr__(self, "angles", angles)
        object.__setattr__(self, "joints", tuple(self.joints))
        if angles.ndim != 2 or angles.shape[1] != len(self.joints) or len(angles) == 0:
            raise InputError(
                f"schedule.angles: shape {angles.shape}; one row per sample and one column for "
                f"each of the {len(self.joints)} joints are needed"
            )
        if not np.all(np.isfinite(angles)):
            raise InputError("schedule.angles: all numbers must be finite")
        if not self.period > 0:
            raise InputError(f"schedule.period = {self.period}: must be above 0 [s]")
        if len(set(self.joints)) < len(self.joints):
            raise InputError("schedule.joints: a joint is named twice; names must differ")

    @property
    def duration(self) -> float:
        """From the first sample to the last [s]."""
        return (len(self.angles) - 1) * self.period

    def at(self, time: float) -> np.ndarray:
        """Angles at a time, shape [joints]; those of the ends before and after."""
        place = np.clip((time - self.start) / self.period, 0.0, len(self.angles) - 1)
        k = min(int(place), max(len(self.angles) - 2, 0))
        after = min(k + 1, len(self.angles) - 1)
        return self.angles[k] + (self.angles[after] - self.angles[k]) * (place - k)

    def begun_at(self, time: float) -> Schedule:
        """The same table, begun at another time [s]."""
        return replace(self, start=time)


@dataclass(frozen=True)
class Pose:
    """Pose of a robot between two motions of a gait.

    Attributes:
        angles: of the joints that limbs are solved for (`limb_kinematics.Limbs.joints`) [rad].
        steering, wheels: angles of steering and wheel joints [rad].
        rates: of the wheel joints [rad/s].
        body: displacement of the base in the ground's frame [m], shape [3].
        lean: attitude of the base against the ground, rotation matrix.
        down: direction of gravity in the ground's frame, unit vector.
    """

    angles: np.ndarray
    steering: np.ndarray
    wheels: np.ndarray
    rates: np.ndarray
    body: np.ndarray
    lean: np.ndarray
    down: np.ndarray


@dataclass(frozen=True)
class Motion:
    """A schedule and the plan behind it.

    Attributes:
        schedule: begins at time 0.
        organs: names of feet and wheels, in the order of `support`.
        support: which of them carry from a sample to the next, bool, shape [samples, organs].
        margin: planned static stability margin [m], shape [samples].
        advance: displacement of the base forwards and to the left [m] and turn to the left [rad],
            seen from where it stands at the beginning.
        end: where it ends, what the next one begins from.
    """

    schedule: Schedule
    organs: tuple[str, ...]
    support: np.ndarray
    margin: np.ndarray
    advance: tuple[float, float, float]
    end: Pose

    @property
    def duration(self) -> float:
        """[s]."""
        return self.schedule.duration


def joined(first: Motion, second: Motion) -> Motion:
    """Two motions of the same joints, the second of which begins where the first ends."""
    a, b = first.schedule, second.schedule
    if a.joints != b.joints or a.period != b.period:
        raise InputError("schedule: motions of different joints or periods cannot be joined")
    angles = np.concatenate([a.angles, b.angles[1:]])
    c, s = np.cos(first.advance[2]), np.sin(first.advance[2])
    x, y, turn = second.advance
    x0, y0, turn0 = first.advance
    return Motion(
        schedule=Schedule(a.joints, a.period, angles, a.start),
        organs=first.organs,
        # the last row of the first says nothing: no sample follows it there
        support=np.concatenate([first.support[:-1], second.support]),
        margin=np.concatenate([first.margin[:-1], second.margin]),
        advance=(x0 + c * x - s * y, y0 + s * x + c * y, turn0 + turn),
        end=second.end,
    )


def smooth(share: np.ndarray | float) -> np.ndarray:
    """From 0 to 1 with no speed and no acceleration at the ends: 10 s³ − 15 s⁴ + 6 s⁵."""
    s = np.clip(share, 0.0, 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2)
