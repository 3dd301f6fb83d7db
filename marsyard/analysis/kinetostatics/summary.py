"""Kineto-static results of one stance: mobility, transmission, statics.

Directions of pulls and slopes are the platform's, level with the horizon. A slope is the angle by
which the stance as a whole, ground and all, may be tilted: uphill ahead, downhill, to either side.
The margin of stability is the smallest angle by which gravity may turn about an edge of the support
polygon (force-angle margin, see `control.stability_margin`); slopes count friction, torques and the
joints of the chassis as well and may be smaller.

Steering joints count as held at their angles in the velocity model and the ellipsoids: turning a
wheel on the spot moves nothing, but on uneven ground it would, by the last millimetre of its trail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marsyard.analysis.kinetostatics.balance import Balance, Forces, Push
from marsyard.analysis.kinetostatics.contacts import Contacts, Lateral, hold
from marsyard.analysis.kinetostatics.mobility import Mobility, mobility_of, motion_shares
from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.analysis.kinetostatics.transmission import Ellipsoid, ellipsoid, traction_index
from marsyard.analysis.kinetostatics.velocity import VelocityModel, velocity_model
from marsyard.control.stability_margin import tip_over_angle
from marsyard.errors import InputError

#: directions to look and to tilt, in the platform's frame
DIRECTIONS = {"ahead": (1.0, 0.0), "back": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}
SLOPES = {"uphill": "back", "downhill": "ahead", "left side low": "left", "right side low": "right"}
#: tolerance of ranks for poses that were searched for, and for exact ones
FOUND, EXACT = 1e-3, 1e-9


@dataclass(frozen=True)
class Analysis:
    """Kineto-statics of a stance.

    Attributes:
        stance, balance: with friction and torque limits. brakes: passive joints that are held.
        lateral: "slips" or "holds"; tolerance: of ranks.
    """

    stance: Stance
    balance: Balance
    lateral: Lateral
    tolerance: float
    brakes: tuple[str, ...] = ()

    @cached_property
    def model(self) -> VelocityModel:
        """B, D, J_a."""
        held = steering_held(self.stance, self.brakes)
        # feet hold in all directions
        sideways = [self.lateral == "holds" or radius == 0.0 for radius in self.stance.radius]
        return velocity_model(held, sideways, tolerance=self.tolerance)

    @cached_property
    def mobility(self) -> Mobility:
        """What can be moved."""
        return mobility_of(self.model)

    @cached_property
    def sigma(self) -> float:
        """σ of eq. (12), unit screws, f_x and f_z."""
        return traction_index(self.model)

    @cached_property
    def ellipsoids(self) -> dict[str, Ellipsoid]:
        """Of forces and moments for unit torques, [N per N·m] and [1]."""
        return {part: ellipsoid(self.model, part, by="torques") for part in ("force", "moment")}

    @cached_property
    def demand(self) -> tuple[float, Forces | None]:
        """Friction demand, and the forces that need no more."""
        return self.balance.friction_demand()

    @cached_property
    def pushes(self) -> dict[str, Push]:
        """Largest horizontal pull at the platform's origin by direction, with its forces."""
        return {
            direction: self.balance.largest(self._level(d)) for direction, d in DIRECTIONS.items()
        }

    @property
    def pulls(self) -> dict[str, float]:
        """Sizes of the largest horizontal pulls [N]; NaN without equilibrium."""
        return {direction: push.size for direction, push in self.pushes.items()}

    def limited_by(self, direction: str) -> str:
        """The limit of a pull: wheels that slide, lift off or reach their torque limit."""
        forces = self.pushes[direction].forces
        if forces is None:
            return ""
        s = self.stance
        light = 1e-4 * s.mass * float(np.linalg.norm(s.gravity))
        lifted = [n for n, f in zip(s.contacts, forces.normal, strict=True) if f < light]
        sliding = [
            n for n, use, mu, f in zip(
                s.contacts, forces.use, self.balance.friction, forces.normal, strict=True
            ) if f >= light and use > 0.999 * mu
        ]  # fmt: skip
        weak = [
            joint for (joint, torque), most in zip(
                forces.torque.items(), self.balance.limits, strict=True
            ) if abs(torque) > 0.999 * most
        ]  # fmt: skip
        parts = []
        for names, words in ((sliding, "friction"), (lifted, "lifts"), (weak, "torque")):
            if names:
                parts.append(
                    f"{words}: {'all' if len(names) == len(s.contacts) else ' '.join(names)}"
                )
        return "; ".join(parts)

    @cached_property
    def slopes(self) -> dict[str, float]:
        """Largest tilt of the whole [rad]."""
        return {
            name: self.balance.tilt(self._level(DIRECTIONS[direction]))
            for name, direction in SLOPES.items()
        }

    @cached_property
    def margin(self) -> float:
        """Force-angle margin of stability [rad]; NaN with fewer than three contacts."""
        s = self.stance
        if len(s.contacts) < 3:
            return math.nan
        return float(tip_over_angle(s.points, s.com, s.mass * s.gravity))

    def _level(self, direction: tuple[float, float]) -> np.ndarray:
        up = self.stance.up
        d = np.array([*direction, 0.0])
        level = d - (d @ up) * up
        size = float(np.linalg.norm(level))
        if size < 1e-6:
            raise InputError(
                "pose: the platform is vertical, so it has no horizontal forward direction"
            )
        return level / size

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words, SI."""
        s, m = self.stance, self.mobility
        demand, forces = self.demand
        rows = []
        for i, name in enumerate(s.contacts):
            row: dict[str, Any] = {"contact": name, "point": s.points[i].tolist(),
                                   "normal": s.axes[i, 0].tolist()}  # fmt: skip
            if forces is not None:
                row |= {"normal_force": forces.normal[i], "along": forces.along[i],
                        "left": forces.left[i], "use": forces.use[i]}  # fmt: skip
            rows.append(row)
        return plain(
            {
                "robot": s.robot.name, "platform": s.platform, "mass": s.mass,
                "gravity": float(np.linalg.norm(s.gravity)),
                "friction": dict(zip(s.contacts, self.balance.friction, strict=True)),
                "joints": dict(zip(s.joints, s.angles, strict=True)),
                "contacts": rows, "rows": self.model.rows, "coordinates": self.model.coordinates,
                "D": self.model.D, "B": self.model.B, "J_a": self.model.J_a,
                "constraints": self.model.constraints,
                "degree_of_mobility": m.degree, "controllable": m.controllable_words,
                "uncontrolled": m.uncontrolled_words, "forbidden": m.forbidden_words,
                "motion_shares": motion_shares(self.model),
                "surplus": m.surplus, "condition": m.condition, "sigma": self.sigma,
                "force_semi_axes": self.ellipsoids["force"].semi_axes,
                "force_directions": self.ellipsoids["force"].directions,
                "moment_semi_axes": self.ellipsoids["moment"].semi_axes,
                "friction_demand": demand,
                "torques": {} if forces is None else forces.torque,
                "stops": {} if forces is None else forces.stops,
                "pulls": self.pulls, "slopes": self.slopes, "stability_margin": self.margin,
                "pulls_limited_by": {name: self.limited_by(name) for name in DIRECTIONS},
            }
        )  # fmt: skip


def steering_held(stance: Stance, brakes: Iterable[str] = ()) -> Contacts:
    """The stance with its steering joints, and others that are named, held."""
    held = {*stance.robot.roles.get("steering", ()), *brakes} & set(stance.joints)
    return hold(stance, held) if held else stance


def analyse(
    stance: Stance,
    friction: float | Mapping[str, float] = 0.6,
    torque: float | Mapping[str, float] | None = None,
    *,
    lateral: Lateral = "slips",
    exact: bool = True,
    brakes: Iterable[str] = (),
) -> Analysis:
    """Kineto-statics of a stance.

    Args:
        friction: of all contacts or by name. torque: largest of the drives [N·m].
        lateral: whether wheels slip sideways in the velocity model ("slips", as the paper) or hold.
        exact: the pose is exact; a pose that was searched for has ranks to 1e-3 only.
        brakes: passive joints that are held.
    """
    names = tuple(brakes)
    held = stance.braked(names) if names else stance
    balance = Balance(held, friction, torque)
    return Analysis(held, balance, lateral, EXACT if exact else FOUND, names)


def plain(value: Any) -> Any:
    """Numbers and lists that JSON knows; what is not finite becomes words."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else str(float(value))
    return int(value) if isinstance(value, np.integer) else value
