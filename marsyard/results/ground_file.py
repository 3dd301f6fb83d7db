"""The soil after a run: `ground.nc` in the folder of a run.

The ground is kept as the tiles that were needed, 32 × 32 nodes each, so that a track of a kilometre
costs the track and not the square kilometre around it. Dimensions: tile, i (along x), j (along y).
Node (i, j) of a tile lies at tile_x + i·spacing, tile_y + j·spacing.

    base      height of the undisturbed surface [m]
    change    height of the surface above it at the end [m]; ruts are negative
    depth     plastic sinkage, how far the soil is compacted below its reference level [m]
    compaction  of soil in columns only: height by which it got denser [m], below 0 where looser
    soil      index into the attribute `soils`
    time      when the node was last changed [s], NaN if never

The stresses of the last step lie along `point`, one per node in contact: `stress_body`,
`stress_position` relative to the body's centre in world axes [m], `stress_normal`, `stress_along`
(positive drives the wheel ahead), `stress_across` [Pa], and the area they act on, `stress_area`
[m²]. The bodies: `body_position` [m], `body_axle` (unit, zero for other bodies than wheels),
`body_radius`, `body_width` [m].

    ground = load_ground("runs/drive")
    ground.window(-1, 2, -1, 1).change.plot()       # a rectangle as 2D arrays
    ground.profile((0.5, -1), (0.5, 1)).height      # along a line
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.errors import InputError, quote
from marsyard.files import parse_json
from marsyard.files.netcdf import load_netcdf
from marsyard.results.dataset import save

if TYPE_CHECKING:
    from marsyard.interaction.soil_law import WorldSoil

#: a law's title, and labels, numbers or words, units
Acted = tuple[str, list[tuple[str, float | str, str]]]

FILE_NAME = "ground.nc"
#: most nodes of one window
MOST_NODES = 40_000_000
_HALF = 2**25  # tiles are numbered from −_HALF to _HALF


class Ground:
    """The ground at the end of a run.

    Attributes:
        data: what `ground.nc` holds, see the head of this module.
        spacing: distance of the nodes [m].
        soils: names of the soils; `soil` is an index into them.
        terrain: the undisturbed terrain, with height(x, y) and soil(x, y); None where it could not
            be rebuilt.
        laws: which laws acted on it, each with what it says of itself; not in the file.
    """

    def __init__(
        self,
        data: xr.Dataset,
        terrain: Any = None,
        rebuild: Callable[[], Any] | None = None,
        laws: Sequence[Acted] = (),
    ) -> None:
        self.data = data
        self.laws = tuple(laws)
        self.spacing = float(data.attrs["spacing"])
        self.side = int(data.sizes["i"])
        said = data.attrs.get("soils", "[]")
        named = parse_json(said, "soils") if isinstance(said, str) else said
        self.soils: tuple[str, ...] = tuple(named)
        self._terrain, self._rebuild = terrain, rebuild

    def __repr__(self) -> str:
        sunk, risen = self.extremes()
        return (
            f"Ground: {self.tiles} tiles, a node every {self.spacing:g} m, deepest rut "
            f"{-1000 * sunk:.1f} mm, highest berm {1000 * risen:.1f} mm, "
            f"soil {', '.join(self.soils)}"
        )

    @property
    def terrain(self) -> Any:
        if self._terrain is None and self._rebuild is not None:
            self._terrain = self._rebuild()
            self._rebuild = None
        return self._terrain

    @property
    def columns(self) -> bool:
        """Whether the soil model was soil in columns."""
        return "compaction" in self.data

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return int(self.data.sizes["tile"])

    @property
    def touched(self) -> np.ndarray:
        """Nodes that were changed, or lie under a heap, shape [tile, i, j]."""
        return np.isfinite(self.data["time"].values) | (self.data["change"].values != 0)

    def extremes(self) -> tuple[float, float]:
        """Lowest and highest change of the surface [m]; both 0 where nothing was touched."""
        change = self.data["change"].values
        change = change[np.isfinite(change)]
        if not change.size:
            return 0.0, 0.0
        return min(float(change.min()), 0.0), max(float(change.max()), 0.0)

    def volumes(self) -> tuple[float, float]:
        """Volume below and above the undisturbed surface [m³], both positive."""
        change = np.nan_to_num(self.data["change"].values.astype(float))
        cell = self.spacing**2
        return float(-cell * change[change < 0].sum()), float(cell * change[change > 0].sum())

    def bounds(self) -> tuple[float, float, float, float] | None:
        """Rectangle xmin, xmax, ymin, ymax around all changed nodes [m]; None if there is none."""
        touched = self.touched
        if not touched.any():
            return None
        t, i, j = np.nonzero(touched)
        x = self.data["tile_x"].values[t] + i * self.spacing
        y = self.data["tile_y"].values[t] + j * self.spacing
        return float(x.min()), float(x.max()), float(y.min()), float(y.max())

    # --- rectangles and lines

    def window(
        self, xmin: float, xmax: float, ymin: float, ymax: float, every: int = 1
    ) -> xr.Dataset:
        """The nodes in a rectangle [m] as 2D arrays over y, x.

        `height`, `undisturbed`, `change` [m], `depth` [m], `soil` (index) and `time` [s]. Where no
        tile is, the change and depth are 0, the heights those of the terrain, or NaN and soil −1
        where the terrain is not at hand. With `every` above 1 only every so-maniest node along x
        and y is given; its change is the largest, up or down, of the nodes it stands for, its time
        the latest of theirs, so that ruts do not get lost.
        """
        if not (np.isfinite([xmin, xmax, ymin, ymax]).all() and xmin < xmax and ymin < ymax):
            raise InputError(
                f"window: x {xmin:g} to {xmax:g}, y {ymin:g} to {ymax:g} m is not a valid rectangle"
            )
        if every < 1:
            raise InputError(f"every = {every}: must be at least 1")
        i, j = self._range(xmin, xmax, every), self._range(ymin, ymax, every)
        if len(i) * len(j) > MOST_NODES:
            more = int(np.ceil(np.sqrt(len(i) * len(j) / MOST_NODES))) * every
            raise InputError(
                f"window: {len(i)} × {len(j)} nodes are too many; take every={more} or a smaller "
                "rectangle"
            )
        jj, ii = np.meshgrid(j, i, indexing="ij")
        nodes = self._nodes(ii, jj)
        undisturbed, soil = self._undisturbed(ii, jj, nodes)
        change, time = self._at("change", nodes, 0.0), self._at("time", nodes, np.nan)
        if every > 1:
            change, time = self._strongest(i, j, every)
        there = {"units": "m", "long_name": "height above the undisturbed surface"}
        return xr.Dataset(
            {
                "height": (("y", "x"), undisturbed + change, _about("m", "height")),
                "undisturbed": (("y", "x"), undisturbed, _about("m", "undisturbed height")),
                "change": (("y", "x"), change, there),
                "depth": (("y", "x"), self._at("depth", nodes, 0.0), _about("m", "compaction")),
                "soil": (("y", "x"), soil, {"long_name": "soil", "names": list(self.soils)}),
                "time": (("y", "x"), time, _about("s", "last change")),
            },
            coords={
                "x": ("x", i * self.spacing, _about("m", "x")),
                "y": ("y", j * self.spacing, _about("m", "y")),
            },
        )

    def profile(
        self, start: Sequence[float], end: Sequence[float], step: float | None = None
    ) -> xr.Dataset:
        """Heights along the line from `start` to `end` (x, y [m]), bilinear between the nodes.

        `height`, `undisturbed`, `change` over `distance` [m], a point every `step` (half the
        spacing).
        """
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        length = float(np.hypot(*(b - a)))
        if not (np.isfinite(length) and length > 0):
            raise InputError(f"profile: from {tuple(start)} to {tuple(end)} is not a valid line")
        count = int(min(max(np.ceil(length / (step or self.spacing / 2)), 1), 1_000_000)) + 1
        s = np.linspace(0.0, length, count)
        x, y = (a[k] + s / length * (b[k] - a[k]) for k in range(2))
        undisturbed, change = self.sample(x, y)
        return xr.Dataset(
            {
                "height": ("distance", undisturbed + change, _about("m", "height")),
                "undisturbed": ("distance", undisturbed, _about("m", "undisturbed height")),
                "change": ("distance", change, _about("m", "change of height")),
            },
            coords={
                "distance": ("distance", s, _about("m", "distance")),
                "x": ("distance", x),
                "y": ("distance", y),
            },
        )

    def sample(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Undisturbed height and its change [m] at any points, bilinear between the nodes."""
        u, v = np.asarray(x, dtype=float) / self.spacing, np.asarray(y, dtype=float) / self.spacing
        i, j = np.floor(u).astype(np.int64), np.floor(v).astype(np.int64)
        fu, fv = u - i, v - j
        base, change = np.zeros(u.shape), np.zeros(u.shape)
        for di, wi in ((0, 1 - fu), (1, fu)):
            for dj, wj in ((0, 1 - fv), (1, fv)):
                nodes = self._nodes(i + di, j + dj)
                weight = wi * wj
                # a neighbour of no weight may lie where no height is known
                at = np.where(weight > 0, self._undisturbed(i + di, j + dj, nodes)[0], 0.0)
                base += weight * at
                change += weight * self._at("change", nodes, 0.0)
        return base, change

    # --- nodes

    def _range(self, low: float, high: float, every: int) -> np.ndarray:
        first = int(np.ceil(low / self.spacing - 1e-9))
        last = int(np.floor(high / self.spacing + 1e-9))
        if last < first:
            last = first
        # a multiple of `every`, so that windows beside each other share their nodes
        first = -(-first // every) * every
        return np.arange(first, max(last, first) + 1, every, dtype=np.int64)

    @cached_property
    def tile_number(self) -> np.ndarray:
        """Numbers of the tiles along x and y, shape [tile, 2]."""
        step = self.side * self.spacing
        corner = np.stack([self.data["tile_x"].values, self.data["tile_y"].values], axis=-1)
        return np.rint(corner / step).astype(np.int64).reshape(-1, 2)

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        keys = _key(self.tile_number[:, 0], self.tile_number[:, 1])
        order = np.argsort(keys)
        return keys[order], order

    def _nodes(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Place in the flattened arrays of the nodes i, j; −1 where no tile is."""
        keys, order = self._index
        if not len(keys):
            return np.full(np.shape(i), -1, dtype=np.int64)
        key = _key(i // self.side, j // self.side)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        inside = (i % self.side) * self.side + j % self.side
        return np.where(keys[at] == key, order[at] * self.side**2 + inside, -1)

    def _at(self, name: str, nodes: np.ndarray, otherwise: float) -> np.ndarray:
        out = np.full(nodes.shape, otherwise)
        there = nodes >= 0
        out[there] = self.data[name].values.reshape(-1)[nodes[there]]
        return out

    def _undisturbed(
        self, i: np.ndarray, j: np.ndarray, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Undisturbed height [m] and soil at nodes; of the terrain where no tile is."""
        height = self._at("base", nodes, np.nan)
        soil = self._at("soil", nodes, -1).astype(np.int64)
        missing = nodes < 0
        if missing.any() and self.terrain is not None:
            x, y = i[missing] * self.spacing, j[missing] * self.spacing
            height[missing] = self.terrain.height(x, y)
            soil[missing] = self.terrain.soil(x, y)
        return height, soil

    def _strongest(self, i: np.ndarray, j: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
        """For each node of a coarse window the largest change of the nodes around it [m], and the
        time of the latest [s]."""
        low, high = np.zeros((len(j), len(i))), np.zeros((len(j), len(i)))
        latest = np.full((len(j), len(i)), np.nan)
        fine = np.arange(self.side)
        for slot, (ti, tj) in enumerate(self.tile_number):
            a = (ti * self.side + fine + every // 2 - i[0]) // every
            b = (tj * self.side + fine + every // 2 - j[0]) // every
            ka, kb = (a >= 0) & (a < len(i)), (b >= 0) & (b < len(j))
            if not (ka.any() and kb.any()):
                continue
            change = self.data["change"].values[slot][np.ix_(ka, kb)].T
            where = np.ix_(b[kb], a[ka])
            at = tuple(np.broadcast_arrays(*where))
            np.maximum.at(high, at, change)
            np.minimum.at(low, at, change)
            np.fmax.at(latest, at, self.data["time"].values[slot][np.ix_(ka, kb)].T)
        return np.where(high > -low, high, low), latest


def _key(ti: np.ndarray, tj: np.ndarray) -> np.ndarray:
    return (ti + _HALF) * (2 * _HALF) + tj + _HALF


def _about(units: str, text: str) -> dict[str, str]:
    return {"units": units, "long_name": text}


# --- from a simulation, to disk and back


def ground_of(simulation: Any) -> Ground | None:
    """The ground of a simulation as it is now; None without soil."""
    from marsyard.interaction.soil_law import SoilLaw

    soil = simulation.world.soil
    if soil is None:
        return None
    laws = [(law.title, law.acted()) for law in simulation.laws if isinstance(law, SoilLaw)]
    return Ground(_dataset(soil, simulation), terrain=soil.grid.terrain, laws=laws)


def save_ground(ground: Ground, path: str | Path) -> Path:
    """Write a ground to `path` (a folder takes `ground.nc`), atomically."""
    path = Path(path)
    return save(ground.data, path if path.suffix == ".nc" else path / FILE_NAME)


def load_ground(run: str | Path) -> Ground:
    """The ground after a run, from its folder or its `ground.nc`.

    The undisturbed terrain beyond the tiles is rebuilt from `scenario.yaml` beside it when it is
    first needed.
    """
    path = Path(run)
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        if path.is_dir() and (path / "results.nc").exists():
            raise InputError(f"'{path}' has no {FILE_NAME}; the run had no ground of kind terrain")
        raise InputError(f"'{file}' does not exist; give the folder of a run on soil")
    data = load_netcdf(file, "a file of a ground")
    _check(data, file)
    return Ground(data, rebuild=lambda: _terrain(file.parent / "scenario.yaml"))


def _check(data: xr.Dataset, file: Path) -> None:
    """Refuse a data set that is not the ground of a run."""
    about = f"'{file}' is not the ground of a run"
    if "spacing" not in data.attrs or "change" not in data:
        raise InputError(f"{about}: it has no 'change' and 'spacing'")
    spacing = data.attrs["spacing"]
    if not isinstance(spacing, float | np.floating) or not 0 < spacing < np.inf:
        raise InputError(f"{about}: its spacing is {quote(spacing)}, not a length")
    for name, dims in _VARIABLES.items():
        if name not in data or data[name].dims != dims or data[name].dtype.kind not in "fiu":
            raise InputError(f"{about}: '{name}' is missing or not numbers over {', '.join(dims)}")
    for name in ("tile_x", "tile_y"):
        if not (np.abs(data[name].values / spacing) < _HALF * data.sizes["i"]).all():
            raise InputError(f"{about}: '{name}' is outside of the grid's tiles")


_NODES = ("tile", "i", "j")
#: what every ground has
_VARIABLES: dict[str, tuple[str, ...]] = {
    "tile_x": ("tile",), "tile_y": ("tile",), "base": _NODES, "change": _NODES, "depth": _NODES,
    "soil": _NODES, "time": _NODES,
}  # fmt: skip


def _terrain(path: Path) -> Any:
    """The undisturbed terrain of a scenario; None where it cannot be had."""
    from marsyard.interaction.soft_ground import terrain_of
    from marsyard.scenario import load_scenario
    from marsyard.scenario.soil import TerrainGround

    if not path.exists():
        return None
    try:
        for ground in load_scenario(path).ground:
            if isinstance(ground, TerrainGround):
                return terrain_of(ground)
    except InputError:
        pass
    return None


def _dataset(soil: WorldSoil, simulation: Any) -> xr.Dataset:
    tiles = soil.grid.touched()
    nodes = ("tile", "i", "j")
    change = tiles["height"] - tiles["base"]
    bodies = soil.pressing()
    counts = [len(points) for points in bodies.points]
    field = np.concatenate([np.zeros((0, 7)), *bodies.points])
    b = ("body",)
    ds = xr.Dataset(
        {
            "tile_x": ("tile", tiles["x"][:, 0], _about("m", "x of a tile's first node")),
            "tile_y": ("tile", tiles["y"][:, 0], _about("m", "y of a tile's first node")),
            "base": (nodes, tiles["base"], _about("m", "height of the undisturbed surface")),
            "change": (
                nodes, change.astype(np.float32), _about("m", "change of height")
            ),
            "depth": (nodes, tiles["depth"].astype(np.float32), _about("m", "plastic sinkage")),
            "soil": (nodes, tiles["soil"].astype(np.uint8), {"long_name": "index of the soil"}),
            "time": (nodes, tiles["time"].astype(np.float32), _about("s", "last change")),
            "body_position": (("body", "axis"), bodies.position, _about("m", "centre")),
            "body_axle": (
                ("body", "axis"), bodies.axle, _about("1", "direction of the axle"),
            ),
            "body_radius": (b, bodies.radius, _about("m", "radius")),
            "body_width": (b, bodies.width, _about("m", "width")),
            "stress_body": ("point", np.repeat(np.arange(len(counts)), counts), {}),
            "stress_position": (
                ("point", "axis"), field[:, :3], _about("m", "position relative to the body's "
                                                             "centre")
            ),
            "stress_normal": ("point", field[:, 3], _about("Pa", "normal stress")),
            "stress_along": ("point", field[:, 4], _about("Pa", "shear stress along the heading")),
            "stress_across": ("point", field[:, 5], _about("Pa", "shear stress along the axle")),
            "stress_area": ("point", field[:, 6], _about("m²", "area of the contact surface")),
        },
        coords={
            "axis": ["x", "y", "z"],
            "body": np.array([n.removeprefix("wheel ") for n in bodies.names], dtype=str),
        },
    )  # fmt: skip
    if soil.grid.columns:
        ds["compaction"] = (
            nodes, tiles["compaction"].astype(np.float32), _about("m", "height reduction by "
                                                                       "compaction")
        )  # fmt: skip
    ds.attrs = {
        "title": simulation.scenario.title,
        "spacing": soil.grid.spacing,
        "time_end": float(simulation.time),
        "soils": [s.name for s in soil.soils],
        "ground": soil.ground.name,
        "terrain": getattr(soil.grid.terrain, "title", ""),
        "lost_volume": soil.grid.missing_volume(),
    }
    return ds
