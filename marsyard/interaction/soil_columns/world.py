"""Soil in columns in a world."""

from __future__ import annotations

import warnings
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil import Soil
from marsyard.ground.typical import StandsIn
from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_columns import about, flow_kernels
from marsyard.interaction.soil_columns.arrays import LAW_COLUMNS, ColumnNumbers
from marsyard.interaction.soil_columns.kernels import ColumnArrays, kernels
from marsyard.interaction.soil_columns.numbers import (
    ColumnOptions,
    curve_rows,
    granular_row,
    law_row,
)
from marsyard.interaction.soil_columns.options import Columns
from marsyard.interaction.soil_contact.arrays import Soils
from marsyard.interaction.soil_contact.bodies import SoilBody
from marsyard.interaction.soil_contact.kernels import SoilArrays
from marsyard.interaction.soil_contact.node_law import (
    NodeLaw,
    build_node_law,
    pressure_modulus,
    soil_table,
)
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_law import Flow
from marsyard.robot import Robot
from marsyard.scenario.schema import Interaction, Scenario

flow = flow_kernels.kernels


class SoilColumns(NodeLaw):
    """Granular soil in columns under the bodies of a robot."""

    kernels = kernels
    label = "granular columns"

    def soil_numbers(self, interaction: Interaction, gravity: float) -> Soils:
        """Without a pressure-sinkage law."""
        options = interaction.options(SoilContactOptions)
        return soil_table(self.soils, self.found, options, gravity, exponent=False)

    def with_own(self, arrays: SoilArrays, interaction: Interaction, gravity: float) -> Any:
        """With the numbers of the columns."""
        numbers = column_numbers(self.soils, self.found, interaction, gravity)
        return ColumnArrays(*arrays, numbers)

    def own_flow(self, ground: SoftGround, interaction: Interaction, gravity: float) -> Flow:
        """Avalanches in time."""
        options, own = interaction.options(SoilContactOptions), interaction.options(Columns)
        g, a = soil_gravity(own, gravity), self.arrays
        # matter crosses no more than a quarter of a column in a step: its speed is at most ½ g/ν
        chunk = min(0.5 * self.grid.spacing * own.viscosity / g, 0.25 / own.viscosity)
        after = options.flow_travel * self.grid.spacing
        numbers = np.array(
            [options.flow, options.deposit_exponent, after, chunk, chunk, g, own.viscosity,
             own.planar],
            dtype=float,
        )  # fmt: skip
        arrays = flow_kernels.FlowArrays(a.grid, a.numbers, a.bodies, a.patch, numbers, ground.flow)
        return Flow(flow, arrays)

    def change_soils(
        self, scenario: Scenario, robot: Robot, model: mujoco.MjModel, soils: tuple[Soil, ...]
    ) -> None:
        """The columns' numbers, too."""
        super().change_soils(scenario, robot, model, soils)
        numbers = column_numbers(soils, self.found, scenario.interaction, scenario.gravity)
        for old, new in zip(self.arrays.numbers, numbers, strict=True):
            old[...] = new


def column_numbers(
    soils: tuple[Soil, ...], bodies: list[SoilBody], interaction: Interaction, gravity: float
) -> ColumnNumbers:
    """Numbers of soil in columns: by body and soil, measured curves, of the surface."""
    options, own = interaction.options(SoilContactOptions), interaction.options(Columns)
    needed = {
        "bekker": ("exponent", "k_c", "k_phi"),
        "reece": ("exponent", "density", "reece_kc", "reece_kphi"),
    }[options.pressure]
    numbers = ColumnOptions(
        soil_gravity(own, gravity), own.influence, own.depth, own.match_sinkage, own.rest, needed,
    )  # fmt: skip
    laws = np.zeros((max(len(bodies), 1), len(soils), LAW_COLUMNS))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for s, soil in enumerate(soils):
            for b, body in enumerate(bodies):
                width = options.width or body.width
                k = None
                if soil.supplies(*needed) or (options.pressure == "bekker" and soil.has_modulus):
                    k = pressure_modulus(soil, width, options.pressure, numbers.gravity)
                laws[b, s] = law_row(soil, width, k, numbers)
        granular = np.array([granular_row(soil, numbers) for soil in soils])
    # once for all bodies: the first that says it
    for each in said:
        if isinstance(each.message, StandsIn):
            warnings.warn(each.message, stacklevel=2)
    for soil in soils:
        texts = [str(w.message) for w in said if f"soil {soil.name}: its press" in str(w.message)]
        if texts:
            warnings.warn(texts[0], stacklevel=2)
    return ColumnNumbers(laws, np.array([curve_rows(soil) for soil in soils]), granular)


def soil_gravity(own: Columns, gravity: float) -> float:
    """g of the soil [m/s²]."""
    g = own.gravity or gravity
    if not g > 0:
        raise InputError(
            "interaction.soil.columns.gravity: is required where the scenario's gravity is 0, "
            "because columns carry load and flow by their weight"
            "; e.g. 9.81"
        )
    return g


def build_law(place: Place) -> NodeLaw | None:
    """Soil under all bodies of the robot but those of another law."""
    model = place.scenario.interaction.soil.model
    if place.ground is None or model not in [law.name for law in about.LAWS]:
        return None
    return build_node_law(SoilColumns, place)
