"""Camera presets, as pure functions of the robot's pose.

A view is a point that is looked at, a distance from it, and the direction of looking: azimuth
counter-clockwise from +x, elevation above the horizontal (negative: down). The camera stands at

    eye = target − distance · (cos(el) cos(az), cos(el) sin(az), sin(el)).

The presets turn with the robot's smoothed heading, so that jolts of the robot do not shake the
picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from marsyard.errors import InputError, suggest

FIELD_OF_VIEW = math.radians(32.0)  # vertical
_CALM = 1.0  # of the movie over which the camera's motion is smoothed [s]


@dataclass(frozen=True)
class View:
    """Target [m], shape [3]; distance [m], azimuth and elevation [rad]."""

    target: np.ndarray
    distance: float
    azimuth: float
    elevation: float

    @property
    def direction(self) -> np.ndarray:
        """Unit vector of looking."""
        level = math.cos(self.elevation)
        return np.array(
            [level * math.cos(self.azimuth), level * math.sin(self.azimuth),
             math.sin(self.elevation)]
        )  # fmt: skip

    def sees(self, centre: np.ndarray, radius: np.ndarray, aspect: float) -> np.ndarray:
        """Which of some balls, centres [m] of shape [n, 3] and radii [m], the camera may see; of a
        picture `aspect` times as wide as high."""
        corner = math.atan(math.tan(FIELD_OF_VIEW / 2) * math.hypot(1.0, aspect))
        to = centre - self.eye
        gap = np.linalg.norm(to, axis=1)
        outside = gap > radius
        angle = np.arccos(np.clip(to @ self.direction / np.maximum(gap, 1e-12), -1.0, 1.0))
        wide = np.arcsin(np.clip(radius / np.maximum(gap, 1e-12), 0.0, 1.0))
        return ~outside | (angle < corner + wide)

    def project(self, points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """Where points [m], shape [n, 3], are in a picture of `size`: from its left and upper edge
        [pixels], shape [n, 2]; NaN behind the camera."""
        ahead = self.direction
        right = np.array([math.sin(self.azimuth), -math.cos(self.azimuth), 0.0])
        to = np.atleast_2d(points) - self.eye
        depth = to @ ahead
        scale = size[1] / 2 / math.tan(FIELD_OF_VIEW / 2) / np.where(depth > 1e-9, depth, np.nan)
        across, up = to @ right, to @ np.cross(right, ahead)
        return np.stack([size[0] / 2 + scale * across, size[1] / 2 - scale * up], axis=-1)

    @property
    def eye(self) -> np.ndarray:
        """Where the camera stands [m]."""
        return self.target - self.distance * self.direction


@dataclass(frozen=True)
class Preset:
    """Azimuth against the heading and elevation [rad], distance in radii of what is looked at,
    how many times the camera goes round during the movie, and whether it stays where it is."""

    azimuth: float
    elevation: float
    radii: float
    turns: float = 0.0
    words: str = ""
    fixed: bool = False


def _preset(
    azimuth: float, elevation: float, radii: float, words: str, turns: float = 0.0,
    fixed: bool = False,
) -> Preset:  # fmt: skip
    return Preset(math.radians(azimuth), math.radians(elevation), radii, turns, words, fixed)


PRESETS = {
    "follow": _preset(42, -20, 3.95, "from behind and the right, following the robot"),
    "fixed": _preset(
        42, -20, 3.95, "from a fixed point, far enough to see the whole drive", fixed=True
    ),
    "orbit": _preset(42, -20, 3.95, "one orbit around the robot", turns=1.0),
    "wheel": _preset(68, -14, 5.5, "close-up of one wheel"),
    "side": _preset(90, -7, 3.95, "from the right"),
    "top": _preset(0, -89.9, 3.9, "from above, heading upwards in the picture"),
    "front": _preset(180 - 25, -14, 3.95, "from the front"),
}


@dataclass(frozen=True)
class Subject:
    """What is looked at, at the times of the frames: its centre [m], shape [frame, 3], heading
    [rad], shape [frame], and radius [m]; on the left means to be seen from the left."""

    centre: np.ndarray
    heading: np.ndarray
    radius: float
    left: bool = False


def views(
    name: str,
    subject: Subject,
    rate: float,
    azimuth: float | None = None,
    elevation: float | None = None,
    distance: float | None = None,
) -> list[View]:
    """A view for every frame, `rate` of them a second of the movie.

    `azimuth` against the heading, `elevation` [rad] and `distance` [m] replace the preset's.
    """
    preset = preset_named(name)
    count = len(subject.heading)
    side = -1.0 if subject.left else 1.0
    turn = side * preset.azimuth if azimuth is None else azimuth
    if elevation is not None:
        preset = replace(preset, elevation=elevation)
    centre = smooth(subject.centre, _CALM * rate)
    heading = smooth(np.unwrap(subject.heading), 3 * _CALM * rate)
    radius = subject.radius
    if preset.fixed:
        low, high = centre.min(axis=0), centre.max(axis=0)
        radius += float(np.linalg.norm(high - low)) / 2
        centre = np.broadcast_to((low + high) / 2, centre.shape)
    away = preset.radii * radius if distance is None else distance
    if preset.turns or preset.fixed:
        heading = np.full(count, heading[0])
    rounds = 2 * math.pi * preset.turns * np.arange(count) / max(count, 1)
    return [
        View(centre[k], away, float(heading[k] + turn + rounds[k]), preset.elevation)
        for k in range(count)
    ]


def preset_named(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise InputError(f"camera: '{name}' is no preset; {suggest(name, list(PRESETS))}")
    return PRESETS[name]


def smooth(values: np.ndarray, frames: float) -> np.ndarray:
    """Moving average over about `frames`, along the first axis, with a rounded window.

    Beyond the ends the values go on as they were reflected in the end points, so that a steady
    motion stays as it is.
    """
    half = min(int(frames), len(values) - 1)
    if half < 1:
        return values.astype(float)
    window = np.hanning(2 * half + 3)[1:-1]
    window /= window.sum()
    flat = values.reshape(len(values), -1)
    before = 2 * flat[:1] - flat[half:0:-1]
    after = 2 * flat[-1:] - flat[-2 : -half - 2 : -1]
    longer = np.concatenate([before, flat, after])
    columns = [np.convolve(c, window, mode="valid") for c in longer.T]
    return np.stack(columns, axis=-1).reshape(values.shape)


def headings(forward: np.ndarray) -> np.ndarray:
    """Heading [rad] of unit vectors, shape [frame, 3]; where one points up or down it stays."""
    level = np.hypot(forward[:, 0], forward[:, 1])
    known = np.flatnonzero(level > 0.2)
    if not known.size:
        return np.zeros(len(forward))
    angle = np.unwrap(np.arctan2(forward[known, 1], forward[known, 0]))
    return np.interp(np.arange(len(forward)), known, angle)
