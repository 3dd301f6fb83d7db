"""Ruts over time.

A run keeps only the final state of its soil, with the time at which each node was last changed; the
replay shows a node undisturbed until then. Here a node that some wheel has passed, but that is yet
to be changed again, lies where the wheels have pressed it so far: at the lowest height of their
rims above it, not below the height at which the run left it. With a wheel of radius r and half
width b about a level axle at c, and a node at the distance u ahead of the axle and s along it,

    z = c_z + s tan(tilt) − √(r² − u²)    for |u| < r, |s| ≤ b.

Berms still appear only when they have come to rest.
"""

from __future__ import annotations

import numpy as np

from marsyard.results.movie.take import Roll, Take
from marsyard.results.soil_scene import Block

_AT_ONCE = 128  # footprints


class Ruts:
    """The blocks of soft ground of a take as they are at a time."""

    def __init__(self, take: Take) -> None:
        soil = take.scene.soil
        self._blocks: tuple[Block, ...] = soil.blocks if soil else ()
        self._records = take.scene.time
        rolls = take.rolls()
        self._rolls = rolls
        self._near = [_records_near(block, rolls) for block in self._blocks]
        self._time = -np.inf
        self._begin()

    def _begin(self) -> None:
        self._lowest = [np.full(block.base.shape, np.inf) for block in self._blocks]
        self._states = [-1] * len(self._blocks)

    def move_to(self, time: float) -> list[int]:
        """Go to a time [s]; gives the numbers of the blocks that now look otherwise than before."""
        if time < self._time:
            self._begin()
            self._time = -np.inf
        passed = (self._records > self._time) & (self._records <= time + 1e-9)
        changed = []
        for number, block in enumerate(self._blocks):
            pressed = self._press(number, passed)
            state = block.state(time)
            if pressed or state != self._states[number]:
                changed.append(number)
            self._states[number] = state
        self._time = time
        return changed

    def height(self, number: int) -> np.ndarray:
        """Heights of a block's nodes now [m], shape [y, x]."""
        block = self._blocks[number]
        deepest = block.base + np.minimum(block.change, 0.0)
        pressed = np.minimum(block.base, np.maximum(self._lowest[number], deepest))
        return np.where(block.time <= self._time + 1e-6, block.height(self._time), pressed)

    def _press(self, number: int, passed: np.ndarray) -> bool:
        """Take the wheels' places in some records into account; tells if that changed anything."""
        block, lowest = self._blocks[number], self._lowest[number]
        before = lowest.copy()
        for roll, near in zip(self._rolls, self._near[number], strict=True):
            found = np.flatnonzero(near & passed)
            for k in range(0, len(found), _AT_ONCE):
                rim = rim_heights(roll, found[k : k + _AT_ONCE], block.x, block.y)
                np.minimum(lowest, rim, out=lowest)
        return bool(((lowest < before) & (lowest < block.base)).any())


def rim_heights(roll: Roll, records: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Lowest height [m] of a wheel in some records above nodes x, y [m]; shape [y, x], infinite
    where it never was."""
    centre, axle = roll.centre[records], roll.axle[records]
    level = np.maximum(np.hypot(axle[:, 0], axle[:, 1]), 1e-9)
    ax, ay, tilt = axle[:, 0] / level, axle[:, 1] / level, axle[:, 2] / level
    dx = x[None, None, :] - centre[:, 0, None, None]
    dy = y[None, :, None] - centre[:, 1, None, None]
    along = dx * ax[:, None, None] + dy * ay[:, None, None]
    ahead = dx * ay[:, None, None] - dy * ax[:, None, None]
    inside = (np.abs(along) <= roll.half) & (np.abs(ahead) < roll.radius)
    drop = np.sqrt(np.maximum(roll.radius**2 - ahead**2, 0.0))
    z = centre[:, 2, None, None] + along * tilt[:, None, None] - drop
    return np.where(inside, z, np.inf).min(axis=0)


def _records_near(block: Block, rolls: list[Roll]) -> list[np.ndarray]:
    """Of each wheel, in which records it is above the block or nearly so."""
    out = []
    for roll in rolls:
        reach = roll.radius + roll.half
        x, y = roll.centre[:, 0], roll.centre[:, 1]
        out.append(
            (x > block.x[0] - reach) & (x < block.x[-1] + reach)
            & (y > block.y[0] - reach) & (y < block.y[-1] + reach)
        )  # fmt: skip
    return out
