"""A terrain: layers added up, a soil by place, deterministic from its seed.

    height(x, y) = Σ layers,    soil(x, y) = rock, else the last place, else the map, else default

Outside its bounds a terrain goes on with the value at the nearest point inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.terrain import closed_forms
from marsyard.ground.terrain.layer import Bounds, Heights, Layer
from marsyard.ground.terrain.soils import SoilMapping, map_soils

if TYPE_CHECKING:
    from marsyard.scenario.terrain import TerrainSpec

#: what soil 0 is called when a terrain does not name one
DEFAULT_SOIL = "default"


@dataclass(frozen=True, eq=False)
class Terrain:
    """An immutable terrain.

    Attributes:
        title: one line.
        layers: what is added up.
        soil_mapping: which soil lies where.
        bounds: xmin, xmax, ymin, ymax [m]; None for an endless terrain.
    """

    title: str
    layers: tuple[Layer, ...]
    soil_mapping: SoilMapping = field(repr=False)
    bounds: Bounds | None = None

    def __repr__(self) -> str:
        """As a terminal shows it."""
        from marsyard.cards import several, text_card

        bounds = (
            "endless"
            if self.bounds is None
            else "x {:g} to {:g}, y {:g} to {:g} m".format(*self.bounds)
        )
        rows = [
            ("layers", len(self.layers)),
            ("soils", several([s for s in self.soils if s != "default"], "soil")),
            ("bounds", bounds),
        ]
        return text_card(f"Terrain '{self.title}'", rows)

    @property
    def soils(self) -> tuple[str, ...]:
        """Names of the soils that occur; the first is the default."""
        return self.soil_mapping.names

    def height(self, x, y) -> np.ndarray:
        """Heights [m] at points x, y [m] of any equal shapes."""
        x, y, shape = self.inside(x, y)
        total = np.zeros(x.shape)
        for layer in self.layers:
            total += layer.heights(x, y)
        return total.reshape(shape)

    def soil(self, x, y) -> np.ndarray:
        """Index into `soils` at points x, y [m] of any equal shapes, int64."""
        x, y, shape = self.inside(x, y)
        return self.soil_mapping.index(x, y).reshape(shape)

    def inside(self, x, y) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """The points in one row, within the bounds, and the shape they had."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if x.shape != y.shape:
            x, y = np.broadcast_arrays(x, y)
        shape = x.shape
        x, y = x.ravel(), y.ravel()
        if self.bounds is not None:
            xmin, xmax, ymin, ymax = self.bounds
            x, y = np.clip(x, xmin, xmax), np.clip(y, ymin, ymax)
        return x, y, shape


#: layers by what they were made from, see `layer_key`
Known = dict[tuple[Any, ...], Layer]


def build_terrain(
    spec: TerrainSpec, folder: Path | None = None, known: Known | None = None
) -> Terrain:
    """The terrain that `spec` describes; relative files count from `folder`, then from here.

    `known` keeps the layers, for terrains that are built again with small changes.
    """
    layers = []
    for index, part in enumerate(spec.layers):
        key = layer_key(spec, index) if known is not None else None
        if known is not None and key in known:
            layers.append(known[key])
            continue
        random = layer_generator(spec.seed, index, getattr(part, "seed", None))
        try:
            layers.append(_BUILDERS[part.kind](part, random, folder))
        except InputError as error:
            raise InputError(f"layers.{index} ({part.kind}): {error}") from None
        if known is not None and key is not None:
            known[key] = layers[-1]
    soils = map_soils(spec, layers, folder, DEFAULT_SOIL)
    return Terrain(spec.title, tuple(layers), soils, _bounds(spec, layers))


def layer_key(spec: TerrainSpec, index: int) -> tuple[Any, ...] | None:
    """All that decides what a layer is; None for one that holds an array or is a plug-in's."""
    part = spec.layers[index]
    if part.kind in ("array", "plugin"):
        return None
    drawn = "seed" in type(part).model_fields and getattr(part, "seed", None) is None
    return part, (spec.seed, index) if drawn else None


def layer_generator(seed: int, index: int, own: int | None) -> np.random.Generator:
    """The random numbers of a layer: from its own seed, or from the terrain's and its place."""
    if own is not None:
        return np.random.default_rng(np.random.SeedSequence(own))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def _bounds(spec: TerrainSpec, layers: Sequence[Layer]) -> Bounds | None:
    """The rectangle that lies in the terrain's own bounds and in those of all layers."""
    given = [layer.bounds for layer in layers if layer.bounds is not None]
    if spec.bounds is not None:
        (x0, x1), (y0, y1) = spec.bounds
        given.append((x0, x1, y0, y1))
    if not given:
        return None
    columns = list(zip(*given, strict=True))
    xmin, xmax, ymin, ymax = max(columns[0]), min(columns[1]), max(columns[2]), min(columns[3])
    if not (xmin < xmax and ymin < ymax):
        listed = "; ".join(f"x {a:g} to {b:g}, y {c:g} to {d:g} m" for a, b, c, d in given)
        raise InputError(f"bounds: those of the terrain and its layers do not overlap: {listed}")
    return xmin, xmax, ymin, ymax


# --- one builder per kind of layer; heavy imports wait for the first use

Builder = Callable[[Any, np.random.Generator, Path | None], Layer]


def _closed(form: Callable[[Any], Heights]) -> Builder:
    return lambda part, random, folder: Layer(form(part))


def _fractal(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.fractal import fractal

    return fractal(part, random)


def _crater(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.craters import crater

    return crater(part)


def _craters(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.craters import craters

    return craters(part, random)


def _rocks(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.rocks import rocks

    return rocks(part, random)


def _array(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.grids import array

    return array(part)


def _file(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.grids import file

    return file(part, folder)


def _mesh(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.mesh import mesh

    return mesh(part, folder)


def _plugin(part: Any, random: np.random.Generator, folder: Path | None) -> Layer:
    from marsyard.ground.terrain.plugin import plugin_layer

    return plugin_layer(part, random)


_BUILDERS: dict[str, Builder] = {
    "plane": _closed(closed_forms.plane),
    "step": _closed(closed_forms.step),
    "bump": _closed(closed_forms.bump),
    "sine": _closed(closed_forms.sine),
    "fractal": _fractal,
    "crater": _crater,
    "craters": _craters,
    "rocks": _rocks,
    "array": _array,
    "file": _file,
    "mesh": _mesh,
    "plugin": _plugin,
}
