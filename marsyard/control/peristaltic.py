"""Rolling-walking: one axle (or wheel) at a time is moved against the frame, the others stand.

A cycle of T [s] has as many phases as there are axles, from the front to the rear. In its phase an
axle moves forwards by the stride λ [m]; its wheels roll along, while all other wheels are braked
and hold the ground: wheels that stand, and hold better than wheels that roll, push one axle
at a time. With the displacement of axle i

    X_i(t) = λ σ((t − t_i)/(T/n)),   σ(s) = 10 s³ − 15 s⁴ + 6 s⁵,   t_i = i T/n              [m]

the base goes by b = X_k if axle k is fast on it, else by the mean of all X_i; the axle stands
before its place in the frame by u_i = X_i − b, which legs or slides have to reach; wheels turn
over the ground by X_i/r, r the radius they roll on. After a cycle all u_i are zero again and the
base is λ further.

Source: G. Andrade, F. Ben Amar, P. Bidaud, R. Chatila: Modeling wheel-sand interaction for
optimization of a rolling-peristaltic motion of a Marsokhod robot. IEEE/RSJ Int. Conf. on
Intelligent Robots and Systems, 1998, pp. 576-581
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marsyard.control.gait_planner import Plan, motion, solved
from marsyard.control.gait_schedule import Motion, Pose, smooth
from marsyard.control.limb_kinematics import Limbs
from marsyard.errors import InputError

#: wheels whose places differ by less along x stand on one axle [m]
_SAME = 0.02


@dataclass(frozen=True)
class PeristalticGait:
    """Parameters of a rolling walk.

    Attributes:
        stride: distance of the base per cycle, negative backwards [m].
        period: of a cycle [s].
        move: "axle" or "wheel", what is moved at a time.
        height: by which the base stands higher than with all joints at zero [m].
        least_margin: smallest planned static margin [m].
    """

    stride: float = 0.15
    period: float = 9.0
    move: str = "axle"
    height: float = 0.0
    least_margin: float = 0.0


class Peristaltic:
    """Makes cycles of a rolling walk for a robot.

    Attributes:
        limbs, gait: what moves and how.
        groups: numbers of the contact bodies that move together, in the order in which they move.
        fast: whether an organ is fast on the base, bool, shape [n].
    """

    name = "peristaltic"

    def __init__(self, limbs: Limbs, gait: PeristalticGait, sample: float) -> None:
        self.limbs, self.gait, self.sample = limbs, gait, sample
        if not np.all(limbs.is_wheel):
            raise InputError(f"peristaltic: {limbs.robot.name} stands on feet; it needs wheels")
        if not np.any(limbs.moving):
            raise InputError(
                f"peristaltic: the wheels of {limbs.robot.name} cannot be moved against its frame; "
                "name the joints that do it in roles.legs or roles.frame"
            )
        self.groups = self._groups()
        self.fast = self._fast()
        self.samples = round(gait.period / sample)
        self._plan = self._make_plan()
        self._solved: np.ndarray | None = None

    def begin(self, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the wheels and displacement of the base when a cycle begins [m]."""
        return np.array(self.limbs.home), np.array([0.0, 0.0, self.gait.height])

    def lean(self, down: np.ndarray) -> np.ndarray:
        """Attitude of the base against the ground: parallel."""
        return np.eye(3)

    def cycle(self, begin: Pose) -> Motion:
        """One cycle, from where the last one, or a transition to `begin`, ended."""
        plan = self._plan
        if self._solved is None:
            start = np.zeros(len(self.limbs.joints))
            self._solved = solved(self.limbs, plan, start, self.sample, self.name)
        return motion(
            self.limbs, plan, begin, self.sample, least=self.gait.least_margin, name=self.name,
            angles=self._solved,
        )  # fmt: skip

    @property
    def advance(self) -> tuple[float, float, float]:
        """Planned displacement of the base in a cycle, forwards, left [m], turn [rad]."""
        return self.gait.stride, 0.0, 0.0

    def _make_plan(self) -> Plan:
        limbs, n = self.limbs, len(self.limbs.organs)
        times = np.arange(self.samples + 1) * (self.gait.period / self.samples)
        travel = np.zeros((len(times), n))
        phase = self.gait.period / len(self.groups)
        for k, group in enumerate(self.groups):
            moved = self.gait.stride * smooth((times - k * phase) / phase)
            travel[:, group] = moved[:, None]
        base = travel[:, self.fast].mean(axis=1) if self.fast.any() else travel.mean(axis=1)
        places = np.repeat(limbs.home[None], len(times), axis=0)
        places[:, :, 0] += travel - base[:, None]
        body = np.zeros((len(times), 3))
        body[:, 2] = self.gait.height
        return Plan(
            places=places,
            body=body,
            lean=np.broadcast_to(np.eye(3), (len(times), 3, 3)),
            rolled=travel,
            steering=np.zeros((len(times), len(limbs.steering_joints))),
            support=np.ones((len(times), n), bool),
            advance=self.advance,
        )

    def _groups(self) -> list[np.ndarray]:
        x = self.limbs.home[:, 0] * (1.0 if self.gait.stride >= 0 else -1.0)
        order = np.argsort(-x, kind="stable")
        if self.gait.move == "wheel":
            return [np.array([k]) for k in order]
        groups: list[list[int]] = []
        for k in order:
            if groups and abs(x[groups[-1][0]] - x[k]) < _SAME:
                groups[-1].append(int(k))
            else:
                groups.append([int(k)])
        return [np.array(g) for g in groups]

    def _fast(self) -> np.ndarray:
        """Organs that no moving joint moves."""
        limbs = self.limbs
        nudge = np.where(limbs.moving, 0.01, 0.0)
        return np.linalg.norm(limbs.points(nudge) - limbs.home, axis=1) < 1e-9
