"""Soft ground as it changes: tiles of the soil's grid in full detail, the terrain around them.

Only tiles whose surface has moved since they were drawn are drawn again, the longest waiting first,
as many as go in a moment. When there are many, those at rest are drawn with every fourth node.
Around them lies the undisturbed terrain in patches of 16 × 16 tiles, made as the robot comes near.
Under tiles it is drawn lower, as a floor that is seen only through gaps at their edges.

Colours by stress show the largest normal stress that each place has carried so far, from the
records: the mean normal stress over a strip of the wheel (see `stress_normal` of the data set) is
laid on the nodes below that strip.

The grid is read while the physics writes it. A node may be one step newer than its neighbour; the
display shows it right the next time.
"""

from __future__ import annotations

import time as clock
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.ground.soil_nodes import NODES, SIDE
from marsyard.results.soil_scene import (
    change_colours,
    soil_colours,
    soil_mesh,
    square_shade,
    squares,
)

if TYPE_CHECKING:
    from marsyard.operations.live.physics import Snapshot
    from marsyard.simulation import Simulation

Place = tuple[int, int]

COLOURS = ("height change", "normal stress", "soil")
SEEN = 2e-4  # changes of height that are drawn [m]
AT_ONCE = 0.06  # time for drawing tiles in one update [s]
FINE = 500  # tiles in full detail
COARSE = 4  # every how many nodes of the others
PATCH = 16  # tiles along a patch of the terrain around
MARGIN = 8.0  # terrain shown around the robot [m]
MOST_PATCHES = 300
STRESSED = 60  # records whose stresses are laid down in one update


class LiveSoil:
    """The soil of a simulation in a scene of viser."""

    def __init__(self, simulation: Simulation, view: Any) -> None:
        assert simulation.world.soil is not None
        self._simulation, self._soil, self._view = simulation, simulation.world.soil, view
        self._grid = self._soil.grid
        self._slot: dict[Place, int] = {}
        self._base: dict[Place, np.ndarray] = {}
        self._drawn = np.zeros((0, NODES), dtype=np.float32)
        self._waiting: OrderedDict[Place, None] = OrderedDict()
        self._recent: OrderedDict[Place, None] = OrderedDict()
        self._handles: dict[Place, Any] = {}
        self._patches: dict[Place, tuple[int, Any]] = {}
        self._peak: dict[Place, np.ndarray] = {}
        self._records = 0
        self.colour = COLOURS[0]
        self.scale, self.stress_scale = 1e-3, 1e3  # at the end of the colours [m], [Pa]

    # --- what has changed

    def update(self, now: Snapshot, colour: str, base: np.ndarray) -> int:
        """Bring the scene up to date; how many tiles were drawn."""
        stressed = self._lay_stress(now)
        if colour != self.colour:
            self.colour = colour
            self._waiting.update(dict.fromkeys(self._slot))
        elif colour == "normal stress":
            self._wait(stressed)
        self._find_changes()
        drawn, end = 0, clock.perf_counter() + AT_ONCE
        while self._waiting and clock.perf_counter() < end:
            place, _ = self._waiting.popitem(last=False)
            self._draw(place, 1)
            self._recent[place] = None
            self._recent.move_to_end(place)
            drawn += 1
        while len(self._recent) > FINE:
            place, _ = self._recent.popitem(last=False)
            self._draw(place, COARSE)
        self._draw_patches(base)
        return drawn

    def _find_changes(self) -> None:
        a = self._grid.arrays
        tiles = int(a.used[0])
        change = (a.ref[: tiles * NODES] - a.depth[: tiles * NODES]).reshape(tiles, NODES)
        known = len(self._drawn)
        for new_slot in range(known, tiles):
            self._slot[int(a.tile[new_slot, 0]), int(a.tile[new_slot, 1])] = new_slot
        if tiles > known:
            new = np.zeros((tiles - known, NODES), dtype=np.float32)
            self._drawn = np.concatenate([self._drawn, new])
        self._grow_scale(change)
        moved = np.abs(change - self._drawn).max(axis=1) > SEEN
        moved[known:] = True
        for slot in np.flatnonzero(moved):
            i, j = (int(v) for v in a.tile[slot])
            self._drawn[slot] = change[slot]
            # a tile's mesh reaches to the first nodes of the next ones
            self._wait([(i, j), (i - 1, j), (i, j - 1), (i - 1, j - 1)])

    def _grow_scale(self, change: np.ndarray) -> None:
        """Colours end at the largest change so far; redrawn when that has grown by a half."""
        largest = 0.8 * float(np.abs(change).max(initial=0.0))
        if largest > 1.5 * self.scale:
            self.scale = largest
            if self.colour == "height change":
                self._waiting.update(dict.fromkeys(self._slot))

    def _wait(self, places: Any) -> None:
        for place in places:
            if place in self._slot:
                self._waiting[place] = None

    # --- stress

    def _lay_stress(self, now: Snapshot) -> set[Place]:
        """Raise the largest stress of the nodes under the wheels; tiles in which that happened."""
        r, first, last = now.records, self._records, now.count
        self._records = last
        rows = np.unique(np.linspace(first, last - 1, min(last - first, STRESSED)).astype(int))
        wheels = len(self._simulation.wheels.body)
        if not len(rows) or not wheels:
            return set()
        names = (column.name for column in self._soil.columns())
        columns = {name: self._simulation.column(name, r)[rows] for name in names}
        around = self._soil.wheel_stress(columns, wheels)
        if around is None:
            return set()
        points, stress = _strips(
            around[..., 0], r.wheel_centre[rows], r.wheel_axis[rows],
            self._simulation.carrying_radius, self._simulation.wheels.width,
            self._grid.spacing,
        )  # fmt: skip
        node = np.rint(points / self._grid.spacing).astype(np.int64)
        place, within = node // SIDE, node % SIDE
        touched = set()
        for tile in np.unique(place, axis=0):
            key = (int(tile[0]), int(tile[1]))
            here = (place == tile).all(axis=1)
            peak = self._peak.setdefault(key, np.zeros((SIDE, SIDE), dtype=np.float32))
            np.maximum.at(peak, (within[here, 0], within[here, 1]), stress[here])
            touched.add(key)
        largest = max((float(self._peak[key].max()) for key in touched), default=0.0)
        if largest > 1.5 * self.stress_scale:
            self.stress_scale = largest
            touched = set(self._slot)
        return touched

    # --- drawing

    def _draw(self, place: Place, every: int) -> None:
        z0 = self._undisturbed(place)[::every, ::every]
        change = self._whole(place, self._change_of)[::every, ::every]
        soil = self._soil_of(place)[::every, ::every]
        i, j = place
        x = (i * SIDE + np.arange(0, SIDE + 1, every)) * self._grid.spacing
        y = (j * SIDE + np.arange(0, SIDE + 1, every)) * self._grid.spacing
        z = z0 + change
        gx, gy = np.gradient(z, x, y)
        shade = square_shade(i + j)
        colours = self._colours(place, change, soil, every) * shade
        xx, yy = np.meshgrid(x, y, indexing="ij")
        points = np.stack([xx, yy, z], axis=-1).reshape(-1, 3)
        normals = np.stack([-gx, -gy, np.ones_like(z)], axis=-1).reshape(-1, 3)
        # rows run along x here, so triangles turn the other way round
        triangles = squares(*z.shape)[:, ::-1]
        mesh = soil_mesh(points, normals, triangles, colours.reshape(-1, 3))
        if place in self._handles:
            self._handles[place].glb_data = mesh
        else:
            name = f"/soil/{i}_{j}"
            self._handles[place] = self._view.add_glb(name, mesh, cast_shadow=False)

    def _colours(
        self, place: Place, change: np.ndarray, soil: np.ndarray, every: int
    ) -> np.ndarray:
        if self.colour == "height change":
            return change_colours(change, soil, self.scale)
        if self.colour == "normal stress":
            stress = self._whole(place, self._peak_of)[::every, ::every]
            return stress_colours(stress / self.stress_scale, soil)
        sunk = np.clip(-change / max(self.scale, 1e-6), 0.0, 1.0)
        return soil_colours(soil) * (1 - 0.35 * sunk[..., None])

    def _change_of(self, place: Place) -> np.ndarray:
        slot = self._slot.get(place)
        return np.zeros((SIDE, SIDE)) if slot is None else self._drawn[slot].reshape(SIDE, SIDE)

    def _peak_of(self, place: Place) -> np.ndarray:
        return self._peak.get(place, np.zeros((SIDE, SIDE), dtype=np.float32))

    def _whole(self, place: Place, of: Any) -> np.ndarray:
        """Values of a tile's nodes with the first of the next tiles, [33, 33]."""
        i, j = place
        out = np.zeros((SIDE + 1, SIDE + 1))
        out[:-1, :-1] = of(place)
        out[-1, :-1] = of((i + 1, j))[0]
        out[:-1, -1] = of((i, j + 1))[:, 0]
        out[-1, -1] = of((i + 1, j + 1))[0, 0]
        return out

    def _undisturbed(self, place: Place) -> np.ndarray:
        if place not in self._base:
            at = np.arange(SIDE + 1)
            x, y = ((n * SIDE + at) * self._grid.spacing for n in place)
            xx, yy = np.meshgrid(x, y, indexing="ij")
            self._base[place] = self._grid.terrain.height(xx, yy).astype(np.float32)
        return self._base[place]

    def _soil_of(self, place: Place) -> np.ndarray:
        slot = self._slot[place]
        own = self._grid.arrays.soil[slot * NODES : (slot + 1) * NODES].reshape(SIDE, SIDE)
        return np.pad(own, ((0, 1), (0, 1)), mode="edge")

    # --- the terrain around

    def _draw_patches(self, base: np.ndarray) -> None:
        edge = PATCH * SIDE * self._grid.spacing
        reach = min(MARGIN, 4 * edge)
        low = np.floor((base[:2] - reach) / edge).astype(int)
        high = np.floor((base[:2] + reach) / edge).astype(int)
        counts: dict[Place, int] = {}
        for i, j in self._handles:
            key = (i // PATCH, j // PATCH)
            counts[key] = counts.get(key, 0) + 1
        for a in range(low[0], high[0] + 1):
            for b in range(low[1], high[1] + 1):
                count = counts.get((a, b), 0)
                if (a, b) not in self._patches or self._patches[a, b][0] != count:
                    self._draw_patch((a, b), count)
        while len(self._patches) > MOST_PATCHES:
            away = {p: float(np.abs(np.array(p) * edge - base[:2]).max()) for p in self._patches}
            self._patches.pop(max(away, key=lambda p: away[p]))[1].remove()

    def _draw_patch(self, patch: Place, count: int) -> None:
        cells = np.stack(np.meshgrid(*(n * PATCH + np.arange(PATCH) for n in patch)), -1)
        cells = cells.reshape(-1, 2)
        under = np.array([(int(i), int(j)) in self._handles for i, j in cells])
        corners = cells[:, None, :] + np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        edge = SIDE * self._grid.spacing
        x, y = (corners * edge).reshape(-1, 2).T
        height = self._grid.terrain.height
        z = height(x, y) - np.where(np.repeat(under, 4), 0.05 + 1.3 * self.scale, 0.0)
        gx = (height(x + edge / 2, y) - height(x - edge / 2, y)) / edge
        gy = (height(x, y + edge / 2) - height(x, y - edge / 2)) / edge
        shade = np.repeat([square_shade(int(i + j)) for i, j in cells], 4)
        colours = soil_colours(self._grid.terrain.soil(x, y)) * shade[:, None]
        triangles = 4 * np.arange(len(cells))[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
        known = np.isfinite(z).reshape(-1, 4).all(axis=1)
        if not known.any():
            return
        z = np.nan_to_num(z)
        normals = np.nan_to_num(np.stack([-gx, -gy, np.ones_like(z)], axis=-1))
        mesh = soil_mesh(
            np.stack([x, y, z], axis=-1), normals, triangles[known].reshape(-1, 3), colours
        )
        if patch in self._patches:
            handle = self._patches[patch][1]
            handle.glb_data = mesh
        else:
            name = f"/soil/around/{patch[0]}_{patch[1]}"
            handle = self._view.add_glb(name, mesh, cast_shadow=False)
        self._patches[patch] = (count, handle)


def stress_colours(share: np.ndarray, soil: np.ndarray) -> np.ndarray:
    """From the soil's own colour over yellow and red to dark for a share of 1, sRGB from 0 to 1."""
    import matplotlib

    share = np.clip(share, 0.0, 1.0)
    colours = matplotlib.colormaps["inferno_r"](0.1 + 0.8 * share)[..., :3]
    strength = np.clip(share / 0.04, 0.0, 1.0)[..., None]
    return (1 - strength) * soil_colours(soil) + strength * colours


def _strips(
    force: np.ndarray,
    centre: np.ndarray,
    axis: np.ndarray,
    radius: np.ndarray,
    half: np.ndarray,
    spacing: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Places x, y [m], [n, 2], under strips of wheels and the normal stress there [Pa], [n].

    force: on each strip [N], [row, wheel, strip]; centre [m] and axis of the wheels, [row, wheel,
    3]; their radius and half width [m], [wheel].
    """
    bins = force.shape[2]
    area = 2 * half * radius * np.pi / bins
    row, wheel, strip = np.nonzero(force > 0)
    stress = force[row, wheel, strip] / area[wheel]
    a, c = axis[row, wheel], centre[row, wheel]
    size = np.maximum(np.hypot(a[:, 0], a[:, 1]), 1e-6)
    ahead = np.stack([a[:, 1] / size, -a[:, 0] / size], axis=-1)
    # up in the wheel's plane, as far as it leans
    up = np.stack([ahead[:, 1] * a[:, 2], -ahead[:, 0] * a[:, 2]], axis=-1)
    along = max(2, int(np.ceil(np.max(radius, initial=0.0) * np.pi / bins / spacing)) + 1)
    across = max(2, int(np.ceil(2 * np.max(half, initial=0.0) / spacing)) + 1)
    angle = ((strip[:, None] + np.linspace(0, 1, along)) / bins - 0.5) * np.pi
    lie = radius[wheel][:, None, None] * (
        np.sin(angle)[..., None] * ahead[:, None] - np.cos(angle)[..., None] * up[:, None]
    )
    side = half[wheel][:, None, None] * np.linspace(-1, 1, across)[None, :, None] * a[:, None, :2]
    points = c[:, None, None, :2] + lie[:, :, None] + side[:, None]
    everywhere = np.broadcast_to(stress[:, None, None], points.shape[:-1])
    return points.reshape(-1, 2), everywhere.reshape(-1)
