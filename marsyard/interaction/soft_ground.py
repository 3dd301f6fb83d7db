"""Soft ground of a scenario: the grid of its soil, which laws share, its soils, and its flow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.gravity_scaling import at_gravity, warn_of_gravity
from marsyard.ground.soil import Soil, load_soil
from marsyard.ground.soil_grid import SoilGrid
from marsyard.ground.terrain import Terrain, build_terrain, closed_forms
from marsyard.interaction import about
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_kernels import FLOW_NUMBERS, TRAVELLED
from marsyard.scenario.resolving import resolve_ground, resolve_terrain
from marsyard.scenario.schema import Scenario
from marsyard.scenario.soil import TerrainGround
from marsyard.scenario.terrain import BumpLayer


def terrain_of(ground: TerrainGround) -> Terrain:
    """The undisturbed terrain of a ground: from the library, a file, or as described in place."""
    return build_terrain(resolve_terrain(ground.terrain))


def soils_of(ground: TerrainGround, terrain: Terrain) -> tuple[Soil, ...]:
    """The soils of a terrain's places; the ground's own choice replaces the first."""
    out = []
    for k, name in enumerate(terrain.soils):
        chosen: Any = ground.soil if k == 0 and ground.soil is not None else name
        if k == 0 and ground.soil is None and name == "default":
            raise InputError(
                "soil: is required and missing; give a soil of the library (see `marsyard list "
                "soils`) or its numbers"
            )
        out.append(_load_own(chosen, ground))
    return tuple(out)


def _load_own(chosen: Any, ground: TerrainGround) -> Soil:
    """A soil of the library, of a file, or of the ground's own by its name there."""
    if not isinstance(chosen, str) or chosen not in ground.soils:
        return load_soil(chosen)
    return replace(load_soil(ground.soils[chosen]), name=chosen)


@dataclass(frozen=True)
class SoftGround:
    """Ground of kind terrain: what the laws that act on it share.

    Attributes:
        name: in the scenario.
        grid: its nodes; soils: of its places.
        heaps: there is loose soil, which slides in the first step.
        flow: how far bodies have moved since it flowed last, and when that was; laws record the
        distance
            of their bodies there (`soil_kernels`), the soil bed does the rest.
    """

    name: str
    grid: SoilGrid
    soils: tuple[Soil, ...]
    heaps: bool = False
    flow: np.ndarray = field(default_factory=lambda: np.zeros(FLOW_NUMBERS))

    @property
    def bounds(self) -> np.ndarray:
        """xmin, xmax, ymin, ymax within which bodies may be [m]."""
        bounds = self.grid.terrain.bounds
        if bounds is None or self.grid.outside != "stop":
            bounds = (-np.inf, np.inf, -np.inf, np.inf)
        return np.array(bounds, dtype=float)


def soft_ground(scenario: Scenario) -> SoftGround | None:
    """The soft ground of a scenario, or None if it has no ground of kind terrain."""
    grounds = [g for g in scenario.ground if isinstance(g, TerrainGround)]
    if not grounds:
        return None
    if len(grounds) > 1:
        raise InputError("ground: only one ground of kind terrain is allowed; use soil by place")
    ground = resolve_ground(grounds[0])
    try:
        terrain = terrain_of(ground)
        soils = soils_of(ground, terrain)
        if ground.gravity_scaling == "none":
            warn_of_gravity(soils, scenario.gravity, f"ground.{ground.name}.gravity_scaling")
        unloading = scenario.interaction.options(SoilContactOptions).unloading_stiffness
        soils = tuple(
            at_gravity(s, scenario.gravity, ground.gravity_scaling, unloading) for s in soils
        )
        law = about.laws(about.SOIL)[scenario.interaction.soil.model]
        grid = SoilGrid(terrain, ground.spacing, ground.outside, law.columns)
        for heap in ground.heaps:
            _lay_heap(grid, heap)
        made = SoftGround(str(ground.name), grid, soils, bool(ground.heaps))
        if made.heaps:
            made.flow[TRAVELLED] = np.inf
        return made
    except InputError as error:
        raise InputError(f"ground.{ground.name}: {error}") from None


def _lay_heap(grid: SoilGrid, heap: BumpLayer) -> None:
    if heap.height <= 0:
        raise InputError(f"heaps: height = {heap.height:g} m: must be above 0")
    (x, y), r = heap.centre, heap.radius
    shape = closed_forms.bump(heap)
    # with room for the soil that slides off
    grid.make_area(x - 2 * r, x + 2 * r, y - 2 * r, y + 2 * r)
    grid.lay(shape)
