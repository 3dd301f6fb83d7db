"""History of quantities and tracks in bounded memory.

Both keep all of the run, not the last part of it: when room runs out every second entry is dropped,
and from then on entries are taken half as densely.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


class History:
    """Values over time of quantities with several components each; at most `room` rows."""

    def __init__(self, room: int = 600) -> None:
        self.room = max(room, 4)
        self.count = 0
        self._time = np.zeros(self.room)
        self._values: dict[str, np.ndarray] = {}
        self._spacing = 0.0

    @property
    def time(self) -> np.ndarray:
        """Times of the rows [s]."""
        return self._time[: self.count]

    @property
    def names(self) -> tuple[str, ...]:
        """What is kept."""
        return tuple(self._values)

    def values(self, name: str) -> np.ndarray:
        """Rows of a quantity, shape [row, component]."""
        return self._values[name][: self.count]

    def add(self, time: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Append rows in order of time; those closer than the present spacing are left out."""
        for k, t in enumerate(time):
            if self.count and t - self._time[self.count - 1] < max(self._spacing, 1e-12):
                continue
            if self.count == self.room:
                self._thin()
            self._time[self.count] = t
            for name, rows in values.items():
                self._place(name, rows)[self.count] = rows[k]
            self.count += 1

    def _place(self, name: str, rows: np.ndarray) -> np.ndarray:
        if name not in self._values:
            self._values[name] = np.full((self.room, rows.shape[1]), np.nan, dtype=np.float32)
        return self._values[name]

    def _thin(self) -> None:
        kept = self._time[: self.count : 2].copy()
        self._time[: len(kept)] = kept
        for values in self._values.values():
            values[: len(kept)] = values[: self.count : 2].copy()
        self.count = len(kept)
        self._spacing = float(np.min(np.diff(kept))) if len(kept) > 1 else 0.0


class Track:
    """Points of several wheels [m], NaN in the air; at most `room` rows, in pieces of `size`.

    A row is kept when some wheel has moved by `gap` [m] since the last one, or has lost or found
    the ground. `version` grows when earlier rows were dropped.
    """

    def __init__(self, wheels: int, room: int = 4800, size: int = 100, gap: float = 0.01) -> None:
        self.room, self.size, self.gap = max(room, 2 * size), size, gap
        self.count, self.version = 0, 0
        self._rows = np.full((self.room, wheels, 3), np.nan)

    @property
    def rows(self) -> np.ndarray:
        """The points, shape [row, wheel, 3]."""
        return self._rows[: self.count]

    @property
    def pieces(self) -> int:
        """How many pieces are complete."""
        return max(0, self.count - 1) // self.size

    def piece(self, number: int) -> np.ndarray:
        """The points of a piece with the first one of the next, or what there is of it."""
        start = number * self.size
        return self.rows[start : start + self.size + 1]

    def add(self, points: np.ndarray) -> None:
        """Append points, shape [row, wheel, 3]."""
        for row in points:
            if self.count and not self._moved(row):
                continue
            if self.count == self.room:
                self._thin()
            self._rows[self.count] = row
            self.count += 1

    def _moved(self, row: np.ndarray) -> bool:
        last = self._rows[self.count - 1]
        if np.any(np.isnan(row[:, 0]) != np.isnan(last[:, 0])):
            return True
        moved = np.linalg.norm(row - last, axis=1)
        return bool(np.nanmax(moved, initial=0.0) >= self.gap)

    def _thin(self) -> None:
        kept = math.ceil(self.count / 2)
        self._rows[:kept] = self._rows[: self.count : 2].copy()
        self.count, self.gap, self.version = kept, 2 * self.gap, self.version + 1
