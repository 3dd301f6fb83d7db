"""Slopes for comparing modes: the requested ones, the slope parameter of the ground, and the search
for the steepest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marsyard.errors import InputError, suggest
from marsyard.scenario import Scenario

#: slopes when none are given [°]
SLOPES = "0:30:5"


def parse_slopes(given: str | Sequence[Any]) -> list[float]:
    """Ascending slopes [rad] of "0:30:2.5", "0,5,10" or a list; bare numbers are degrees."""
    text = given if isinstance(given, str) else ",".join(str(v) for v in given)
    parts = [p.strip() for p in text.split(":")]
    if len(parts) == 3:
        start, stop, step = (_angle(p, text) for p in parts)
        if step <= 0 or stop < start:
            raise InputError(f"slopes: '{text}' must be start:stop:step, upwards, e.g. 0:30:2.5")
        if (stop - start) / step > 1000:
            raise InputError(f"slopes: '{text}' are more than 1000; choose a larger step")
        count = math.floor((stop - start) / step + 1e-9) + 1
        slopes = [start + k * step for k in range(count)]
    elif len(parts) == 1:
        slopes = sorted({_angle(p.strip(), text) for p in text.split(",")})
    else:
        raise InputError(f"slopes: '{text}' must be start:stop:step or numbers separated by commas")
    for slope in slopes:
        if not 0 <= slope < math.pi / 2:
            shown = f"{math.degrees(slope):g}"
            raise InputError(
                f"slopes: {shown}° is not a valid slope; it must be at least 0 and below 90°"
            )
    return slopes


def _angle(text: str, whole: str) -> float:
    from marsyard.units import to_si

    try:
        return math.radians(float(text))
    except ValueError:
        pass
    try:
        return to_si(text, "angle")
    except ValueError:
        raise InputError(
            f"slopes: '{text}' in '{whole}' is not an angle; give degrees, e.g. 0:30:2.5"
        ) from None


@dataclass(frozen=True)
class Ramp:
    """The slope of a scenario's ground: its path, where it rises to, and the robot's heading."""

    path: str
    uphill: float
    heading: float

    def attitude(self, slope: float) -> list[float]:
        """Roll, pitch, yaw of a robot of this heading that stands on the slope [rad]."""
        relative = self.heading - self.uphill
        pitch = -math.atan(math.tan(slope) * math.cos(relative))
        across = -math.sin(slope) * math.sin(relative)
        upright = math.cos(slope) * math.cos(pitch) - math.sin(slope) * math.sin(pitch) * math.cos(
            relative
        )
        return [math.atan2(across, upright), pitch, self.heading]


def find_ramp(scenario: Scenario, path: str = "") -> Ramp:
    """The slope to vary: the only one of the ground, or the one asked for."""
    found: dict[str, float] = {}
    for k, ground in enumerate(scenario.ground):
        if ground.kind == "plane":
            found[f"ground.{k}.slope"] = ground.uphill
        elif ground.kind == "terrain" and not isinstance(ground.terrain, str):
            for j, layer in enumerate(ground.terrain.layers):
                if layer.kind == "plane":
                    found[f"ground.{k}.terrain.layers.{j}.slope"] = layer.uphill
    if not found:
        raise InputError(
            "compare --modes: the scenario's ground has no slope; give it a plane, or a terrain "
            "with a layer {kind: plane, slope: 0}"
        )
    if path and path not in found:
        raise InputError(f"slope-of: '{path}' is not a slope of the ground; {suggest(path, found)}")
    if not path and len(found) > 1:
        raise InputError(f"slope-of: the ground has several slopes; give one of {', '.join(found)}")
    chosen = path or next(iter(found))
    attitude = scenario.robot.attitude
    return Ramp(chosen, found[chosen], attitude[2] if attitude else 0.0)


class Search:
    """Slopes of one mode: up the list to the first failure, then halving."""

    def __init__(self, slopes: Sequence[float], tolerance: float) -> None:
        self._slopes, self._tolerance = list(slopes), tolerance
        self._asked = 0
        self.tried: dict[float, bool] = {}

    @property
    def fails(self) -> float | None:
        """The least slope that was not climbed [rad]."""
        return min((s for s, ok in self.tried.items() if not ok), default=None)

    @property
    def climbs(self) -> float | None:
        """The steepest slope below it that was [rad]."""
        below = math.inf if self.fails is None else self.fails
        return max((s for s, ok in self.tried.items() if ok and s < below), default=None)

    def next(self, count: int) -> list[float]:
        """At most `count` slopes to try now; none when all is known."""
        if self.fails is None:
            more = self._slopes[self._asked : self._asked + count]
            self._asked += len(more)
            return more
        if self.climbs is None or self._tolerance == 0:
            return []
        gap = self.fails - self.climbs
        if gap <= self._tolerance + 1e-9:
            return []
        return [self.climbs + gap / 2]

    def tell(self, slope: float, climbs: bool) -> None:
        """Hear what came out."""
        self.tried[slope] = climbs

    def left(self) -> int:
        """How many runs may still come, for the progress bar."""
        if self.fails is None:
            return len(self._slopes) - self._asked
        if self.climbs is None or self._tolerance == 0:
            return 0
        return max(0, math.ceil(math.log2((self.fails - self.climbs) / self._tolerance) - 1e-9))
