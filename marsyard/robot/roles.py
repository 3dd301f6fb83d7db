"""Roles of a model's parts: requested by the user, and found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marsyard.robot.extent import Round

#: directions of the front, in the base's frame
FRONTS = {"+x": (1, 0, 0), "-x": (-1, 0, 0), "+y": (0, 1, 0), "-y": (0, -1, 0)}
#: rotations that turn what a file calls up to z; y and its kin keep x
UPS = {
    "+z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)), "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "+y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)), "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "+x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)), "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
}  # fmt: skip


@dataclass
class Wish:
    """What the user says; None leaves it to the guess. Lists hold name patterns, such as
    'wheel_*'; of wheels, feet and tracks also 'KEY=pattern', of the stance 'pattern=angle' or
    'keyframe'."""

    wheels: list[str] | None = None
    feet: list[str] | None = None
    tracks: list[str] | None = None
    drives: list[str] | None = None
    steering: list[str] | None = None
    passive: list[str] | None = None
    keep: list[str] | None = None
    base: str | None = None
    forward: str | None = None
    up: str | None = None
    stance: list[str] | None = None
    fixed: bool | None = None
    radius: float | None = None
    width: float | None = None
    shape: str | None = None


@dataclass
class WheelGuess:
    """A wheel with its joint, and its shape about it; a roller that does not turn has no joint but
    a geom."""

    body: str
    joint: str
    shape: str
    round: Round
    place: np.ndarray
    axis: np.ndarray
    geom: str = ""


@dataclass
class TrackGuess:
    """Rollers of a belt: sprocket first, idler last; `spare` are those it runs over that add
    nothing to it."""

    body: str
    rollers: list[WheelGuess]
    spare: list[WheelGuess] = field(default_factory=list)


@dataclass
class Roles:
    """What everything is for. `forward` counts in the base's frame, `front` is the same in the
    world. `hubs` are the bodies of omni wheels by key. `why` says how each joint, or 'body NAME',
    got its role."""

    base: str
    fixed: bool = False
    forward: str = "+x"
    front: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    wheels: dict[str, WheelGuess] = field(default_factory=dict)
    feet: dict[str, str] = field(default_factory=dict)
    tracks: dict[str, TrackGuess] = field(default_factory=dict)
    hubs: dict[str, str] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def rolling(self) -> list[WheelGuess]:
        """Wheels, and rollers of tracks."""
        rollers = (w for t in self.tracks.values() for w in (*t.rollers, *t.spare))
        return [*self.wheels.values(), *rollers]

    def of(self, role: str) -> list[str]:
        """Joints of a role, in the model's order."""
        return [name for name, own in self.joints.items() if own == role]

    def give(self, name: str, role: str, why: str) -> None:
        """A joint its role."""
        self.joints[name] = role
        self.why[name] = why
