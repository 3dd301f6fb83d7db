"""The soil contact model in a world."""

from __future__ import annotations

import numpy as np

from marsyard.interaction.place import Place
from marsyard.interaction.soft_ground import SoftGround
from marsyard.interaction.soil_contact import about, flow_kernels
from marsyard.interaction.soil_contact.arrays import Soils
from marsyard.interaction.soil_contact.kernels import kernels
from marsyard.interaction.soil_contact.node_law import (
    NodeLaw,
    build_node_law,
    pressure_modulus,
    soil_table,
)
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.interaction.soil_law import Flow
from marsyard.scenario.schema import Interaction

flow = flow_kernels.kernels


class SoilContact(NodeLaw):
    """The soil contact model under the bodies of a robot."""

    kernels = kernels
    label = "soil contact model"

    def soil_numbers(self, interaction: Interaction, gravity: float) -> Soils:
        """With k of the pressure-sinkage law for every body's width."""
        options = interaction.options(SoilContactOptions)
        made = soil_table(self.soils, self.found, options, gravity, exponent=True)
        for s, soil in enumerate(self.soils):
            for b, body in enumerate(self.found):
                width = options.width or body.width
                made.modulus[b, s] = pressure_modulus(soil, width, options.pressure, gravity)
        return made

    def own_flow(self, ground: SoftGround, interaction: Interaction, gravity: float) -> Flow:
        """Erosion to the angle of repose."""
        options, a = interaction.options(SoilContactOptions), self.arrays
        after = options.flow_travel * self.grid.spacing
        numbers = np.array([options.flow, options.deposit_exponent, after], dtype=float)
        arrays = flow_kernels.FlowArrays(a.grid, a.soils, a.bodies, a.patch, numbers, ground.flow)
        return Flow(flow, arrays)


def build_law(place: Place) -> NodeLaw | None:
    """Soil under all bodies of the robot but those of another law."""
    model = place.scenario.interaction.soil.model
    if place.ground is None or model not in [law.name for law in about.LAWS]:
        return None
    return build_node_law(SoilContact, place)
