"""From foot and wheel positions over time to a motion: joint angles, wheel rotation, margins.

A gait says, sample by sample, where feet and wheel centres are in the ground's frame G
(`limb_kinematics`), how the base is displaced and leans, by how much each wheel has rolled over the
ground, and which of them carry. Here that becomes joint angles, by inverse kinematics from one
sample to the next, and the static stability margin of every sample, along gravity. A plan whose
margin falls below the least allowed is refused, with the time and by how much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marsyard.control.gait_schedule import Motion, Pose, Schedule
from marsyard.control.limb_kinematics import Limbs
from marsyard.control.stability_margin import static_margin
from marsyard.errors import InputError


def standing(limbs: Limbs) -> Pose:
    """The pose with all joints at zero on level ground."""
    wheels = len(limbs.wheel_joints)
    return Pose(
        angles=np.zeros(len(limbs.joints)),
        steering=np.zeros(len(limbs.steering_joints)),
        wheels=np.zeros(wheels),
        rates=np.zeros(wheels),
        body=np.zeros(3),
        lean=np.eye(3),
        down=np.array([0.0, 0.0, -1.0]),
    )


@dataclass(frozen=True)
class Plan:
    """A motion as a gait thinks of it, arrays over samples.

    Attributes:
        places: of feet and wheel centres in the ground's frame [m], shape [samples, n, 3].
        body: displacement of the base [m], shape [samples, 3].
        lean: attitude of the base, shape [samples, 3, 3].
        rolled: distance rolled by each wheel since the first sample [m], shape [samples, wheels].
        steering: angles of the steering joints [rad], shape [samples, steering].
        support: which carry from a sample to the next, bool, shape [samples, n].
        advance: of the base, forwards, to the left [m], turned to the left [rad].
    """

    places: np.ndarray
    body: np.ndarray
    lean: np.ndarray
    rolled: np.ndarray
    steering: np.ndarray
    support: np.ndarray
    advance: tuple[float, float, float]


def motion(
    limbs: Limbs,
    plan: Plan,
    begin: Pose,
    period: float,
    *,
    least: float = -np.inf,
    name: str = "gait",
    angles: np.ndarray | None = None,
    margin: np.ndarray | None = None,
    still_rolling: bool = False,
) -> Motion:
    """The motion of a plan, with samples every `period` [s], from a pose.

    `least` [m] is the smallest static margin allowed; `name` begins error sentences; `angles` are
    those of `solved`, and `margin`, where they are known already; `still_rolling`: wheels go on at
    the end.
    """
    if angles is None:
        angles = solved(limbs, plan, begin.angles, period, name)
    margins = _margins(limbs, plan, angles, begin.down) if margin is None else margin
    k = int(np.argmin(margins))
    if margins[k] < least:
        raise InputError(
            f"{name}: the stability margin would fall to {1000 * margins[k]:.3g} mm after "
            f"{k * period:.3g} s, {1000 * (least - margins[k]):.3g} mm below the least allowed, "
            f"{1000 * least:.3g} mm; use a larger duty factor, shorter strides or more sway"
        )
    moving = limbs.moving
    wheels = _wheel_angles(limbs, plan, angles, begin)
    joints = tuple(n for n, yes in zip(limbs.joints, moving, strict=True) if yes)
    names = (*joints, *limbs.steering_joints, *limbs.wheel_joints)
    rates = (wheels[-1] - wheels[-2]) / period if len(wheels) > 1 else begin.rates
    end = replace(
        begin, angles=angles[-1], steering=plan.steering[-1], wheels=wheels[-1],
        rates=rates if still_rolling else 0 * rates, body=plan.body[-1], lean=plan.lean[-1],
    )  # fmt: skip
    return Motion(
        schedule=Schedule(names, period, np.hstack([angles[:, moving], plan.steering, wheels])),
        organs=limbs.organs,
        support=plan.support,
        margin=margins,
        advance=plan.advance,
        end=end,
    )


def solved(limbs: Limbs, plan: Plan, start: np.ndarray, period: float, name: str) -> np.ndarray:
    """Angles of all joints solved for, [samples, joints], searched from `start` on [rad]."""
    q, out = start, []
    for k in range(len(plan.places)):
        limbs.normal = plan.lean[k][2]
        try:
            q = limbs.reach(_targets(limbs, plan, k), q)
        except InputError as error:
            raise InputError(f"{name}: after {k * period:.3g} s {error}") from None
        out.append(q)
    return np.array(out)


def _targets(limbs: Limbs, plan: Plan, k: int) -> np.ndarray:
    return limbs.in_base(plan.places[k], plan.body[k], plan.lean[k])


def _margins(limbs: Limbs, plan: Plan, angles: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Of every sample, the lesser of its own pose and the next one's with what carries it."""
    out = np.empty(len(angles))
    # where they touch: below the points, along the ground's normal
    below = [limbs.clearance[:, None] * lean[2] for lean in plan.lean]
    touching = [limbs.middles(q) - low for q, low in zip(angles, below, strict=True)]
    centres = [limbs.centre(q) for q in angles]
    for k in range(len(angles)):
        both = (k, min(k + 1, len(angles) - 1))
        out[k] = min(
            static_margin(touching[j][plan.support[k]], centres[j], plan.lean[j].T @ down)
            for j in dict.fromkeys(both)
        )
    return out


def _wheel_angles(limbs: Limbs, plan: Plan, angles: np.ndarray, begin: Pose) -> np.ndarray:
    radius = limbs.radius[limbs.is_wheel]
    if len(radius) == 0:
        return np.zeros((len(angles), 0))
    poses = zip(angles, plan.lean, strict=True)
    pitch = np.unwrap(np.array([limbs.link_pitch(q, lean) for q, lean in poses]), axis=0)
    pitch = pitch - limbs.link_pitch(begin.angles, begin.lean)
    return begin.wheels + plan.rolled / radius - pitch
