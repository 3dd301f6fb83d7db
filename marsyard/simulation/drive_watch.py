"""What a drive's conditions are asked about: the values of their names, once per period.

Names and units are those of `control.condition`. Poses are as the rover senses them, attitude is
exact. The slip ratio of a wheel is that of its rim speed rω and its speed v along the ground,
s = ⟨rω − v⟩/⟨max(|rω|, |v|)⟩, both smoothed over τ = 1 s, x ← x + (1 − exp(−Δt/τ)) (x_now − x), so
that starts, stops and turns of direction do not count as slip; a wheel slower than 5 mm/s has none.
Sinkage is the depth of the wheel's lowest point below the terrain as it was, across its slope.
Currents and torques are those at the end of the period.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.control.condition import Condition, read_condition
from marsyard.control.odometry import attitude_matrix
from marsyard.control.path_following import wrapped
from marsyard.errors import InputError, suggest
from marsyard.interaction.contact_geometry.organs import is_cone
from marsyard.simulation.commands import motors_of
from marsyard.simulation.owner import part_of

if TYPE_CHECKING:
    from marsyard.simulation.drive import Drive, Seen

#: τ over which speeds are smoothed for slip ratios [s]
SLIP_TIME = 1.0
#: speed below which a wheel stands [m/s]
STANDING = 5e-3


class Watch:
    """Conditions of all commands, and what they ask for.

    Attributes:
        until, abort_if: by command, none where there is none.
        wait: conditions that waits wait for, likewise.
        limits: those of the whole drive, by name.
    """

    def __init__(self, drive: Drive) -> None:
        self.drive: Drive = part_of(drive)
        commands = drive.spec.commands
        fields = {"until": "until", "abort_if": "abort_if", "wait": "wait"}
        read: dict[str, list[Condition | None]] = {}
        for name, field in fields.items():
            texts = [getattr(c, field, None) for c in commands]
            read[name] = [read_condition(t) if isinstance(t, str) else None for t in texts]
        self.until, self.abort_if, self.wait = read["until"], read["abort_if"], read["wait"]
        self.limits = {
            name: read_condition(text)
            for name, text in drive.spec.abort_limits.conditions().items()
        }
        self.motors = motors_of(drive.simulation.scenario, drive.simulation.world)
        self._names = self._checked_names(fields)
        world, shape = drive.simulation.world, drive.simulation.scenario.robot.wheel_shape
        wheels = world.robot.wheels.values()
        n = len(drive.layout.wheels)
        # tracks come after the wheels
        self._tapers = np.zeros(n)
        self._tapers[: len(wheels)] = [w.taper if is_cone(w, shape) else 0.0 for w in wheels]
        # distance and rotation since the command began, distance since the start, last pose sensed
        self._sums = np.zeros(6)
        self._speeds = np.zeros((2, n))  # rω − v, and the larger of them; smoothed [m/s]
        self._known = False
        self._speed = 0.0

    def _checked_names(self, fields: Mapping[str, str]) -> set[str]:
        names: set[str] = set()
        for where, field in fields.items():
            for k, condition in enumerate(getattr(self, where)):
                if condition is not None:
                    names.update(self._checked(condition, f"drive.commands.{k}.{field}"))
        for limit, condition in self.limits.items():
            names.update(self._checked(condition, f"drive.abort_limits.{limit}"))
        return names

    def _checked(self, condition: Condition, field: str) -> tuple[str, ...]:
        """The condition's names, if this world has what they stand for."""
        drive = self.drive
        for name in condition.names:
            head, _, part = name.partition(".")
            if head == "sinkage" and drive.simulation.world.soil is None:
                raise InputError(f"{field}: sinkage needs ground of kind terrain")
            if head == "slip" and drive.spec.sense.by == "wheel_odometry":
                raise InputError(
                    f"{field}: wheel odometry does not observe slip; use another sense.by"
                )
            if head == "current" and not self.motors:
                raise InputError(f"{field}: current needs motors, but the scenario has none")
            parts = tuple(self.motors) if head == "current" else drive.layout.wheels
            what = "motor" if head == "current" else "wheel"
            if part and part not in parts:
                raise InputError(f"{field}: no {what} is called '{part}'; {suggest(part, parts)}")
        return condition.names

    def take(self, k: int, spec: Any) -> None:
        """Watch a command as number k, in place of all from there on."""
        read: dict[str, Condition | None] = {}
        names: set[str] = set()
        for where in ("until", "abort_if", "wait"):
            text = getattr(spec, where, None)
            read[where] = read_condition(text) if isinstance(text, str) else None
            if (condition := read[where]) is not None:
                names |= set(self._checked(condition, f"drive.commands.{k}.{where}"))
        self._names |= names
        for where, condition in read.items():
            getattr(self, where)[k:] = [condition]

    # --- once per period

    def observe(self, seen: Seen) -> None:
        """Take in what was sensed over the last period."""
        sums, here = self._sums, np.array([seen.x, seen.y, seen.heading])
        if self._known:
            distance = float(np.hypot(*(here[:2] - sums[3:5])))
            sums[0] += distance
            sums[1] += wrapped(here[2] - sums[5])
            sums[2] += distance
            self._speed = distance / self.drive.spec.period
        self._known = True
        sums[3:6] = here
        layout = self.drive.layout
        rim = layout.sign * layout.radius * seen.rate
        share = 1 - np.exp(-self.drive.spec.period / SLIP_TIME)
        v = seen.wheel_speed
        now = np.array([rim - v, np.maximum(np.abs(rim), np.abs(v))])
        self._speeds += share * (now - self._speeds)

    @property
    def path_length(self) -> float:
        """Since the start, as sensed [m]."""
        return float(self._sums[2])

    def move_to(self, x: float, y: float, heading: float) -> None:
        """The rover was moved by hand: distance and turn go on from there."""
        self._sums[3:6] = x, y, heading

    def begin(self) -> None:
        """A command begins: its distance and rotation are zero."""
        self._sums[:2] = 0.0

    def holds(self, condition: Condition | None) -> bool:
        """Whether a condition holds at present."""
        return condition is not None and condition.holds(self.values())

    def broken_limit(self) -> int:
        """Number of the first limit of the drive that is broken, or -1."""
        values = self.values() if self.limits else {}
        broken = (k for k, c in enumerate(self.limits.values()) if c.holds(values))
        return next(broken, -1)

    def values(self) -> dict[str, float]:
        """Values of all names that are asked for."""
        out = self._of_the_base()
        asked = {name.partition(".")[0] for name in self._names}
        wheels = self.drive.layout.wheels
        if "slip" in asked:
            out |= _with_largest("slip", wheels, np.abs(self.slips()))
        if "sinkage" in asked:
            out |= _with_largest("sinkage", wheels, self.sinkages())
        if "torque" in asked:
            torque = self.drive.simulation.commands.torque[self.drive.wheel_joints]
            out |= _with_largest("torque", wheels, np.abs(torque))
        if "current" in asked:
            out |= _with_largest("current", tuple(self.motors), np.abs(self._currents()))
        return out

    def _of_the_base(self) -> dict[str, float]:
        drive = self.drive
        R = attitude_matrix(drive.simulation.qpos[3:7])
        distance, turned, total, x, y, heading = map(float, self._sums)
        time = drive.simulation.time
        offset = drive.log[-1].offset if drive.log else np.nan
        return {
            "time": round(time - drive.began, 9), "total_time": round(time, 9),
            "distance": distance, "total_distance": total, "turned": turned,
            "x": x, "y": y, "heading": heading, "speed": self._speed,
            "offset": 0.0 if np.isnan(offset) else offset,
            "tilt": float(np.arccos(np.clip(R[2, 2], -1, 1))),
            "pitch": float(np.arcsin(np.clip(-R[2, 0], -1, 1))),
            "roll": float(np.arctan2(R[2, 1], R[2, 2])),
        }  # fmt: skip

    def slips(self) -> np.ndarray:
        """Slip ratio of each wheel, smoothed; 0 at rest."""
        apart, speed = self._speeds
        return np.where(speed > STANDING, apart / np.maximum(speed, STANDING), 0.0)

    def _currents(self) -> np.ndarray:
        s = self.drive.simulation
        at = [s.world.joints.index(name) for name in self.motors]
        torque, rate = s.commands.torque[at], s.qvel[s.facts.joint_dof[at]]
        pairs = zip(self.motors.values(), torque, rate, strict=True)
        return np.array([float(motor.drive(t, r).current) for motor, t, r in pairs])

    def sinkages(self) -> np.ndarray:
        """Depth of each wheel's lowest point below the terrain, across its slope [m]."""
        s = self.drive.simulation
        assert s.world.soil is not None
        height = s.world.soil.grid.terrain.height
        R = attitude_matrix(s.qpos[3:7])
        frames = self.drive.kinematics.frames(self.drive.joint_angles(s.qpos))
        centre, axle = s.qpos[:3] + frames.centre @ R.T, frames.axle @ R.T
        r = self.drive.kinematics.radius.copy()
        r[: len(s.carrying_radius)] = s.carrying_radius
        x, y = centre[:, 0], centre[:, 1]
        rise_x = (height(x + r, y) - height(x - r, y)) / (2 * r)
        rise_y = (height(x, y + r) - height(x, y - r)) / (2 * r)
        n = np.stack([-rise_x, -rise_y, np.ones_like(x)], axis=-1)
        n /= np.linalg.norm(n, axis=-1, keepdims=True)
        along = np.sum(n * axle, axis=-1, keepdims=True)
        down = along * axle - n
        down /= np.maximum(np.linalg.norm(down, axis=-1, keepdims=True), 1e-9)
        deepest = np.zeros(len(r))
        for end in self._ends(along):
            lowest = centre + (r[:, None] + self._tapers[:, None] * end) * down + end * axle
            deepest = np.maximum(deepest, height(lowest[:, 0], lowest[:, 1]) - lowest[:, 2])
        return deepest * n[:, 2]

    def _ends(self, along: np.ndarray) -> list[np.ndarray]:
        """Where along its axle a wheel may be deepest: of a cone at either end [m]."""
        half = self.drive.kinematics.width[:, None] / 2
        low = -np.sign(along) * half * (np.abs(along) > 1e-9)
        cone = self._tapers[:, None] != 0.0
        return [np.where(cone, -half, low), np.where(cone, half, low)]

    # --- saved and restored

    def state(self) -> np.ndarray:
        """What the next period needs of those before."""
        return np.concatenate([[self._known, self._speed], self._sums, self._speeds.ravel()])

    def restore(self, state: np.ndarray) -> None:
        """Go on from what `state` gave."""
        self._known, self._speed = bool(state[0]), float(state[1])
        self._sums = np.array(state[2:8])
        self._speeds = np.array(state[8:]).reshape(2, -1)


def _with_largest(name: str, parts: tuple[str, ...], values: np.ndarray) -> dict[str, float]:
    """A value by part, and the largest of them under the name alone."""
    by_part = {f"{name}.{part}": float(v) for part, v in zip(parts, values, strict=True)}
    return {name: max(by_part.values(), default=0.0), **by_part}
