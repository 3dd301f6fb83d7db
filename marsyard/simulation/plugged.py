"""Controllers and laws that a scenario takes from plug-ins (`marsyard.plugins`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from marsyard import plugins
from marsyard.scenario.schema import Scenario

if TYPE_CHECKING:
    from marsyard.ports import Control, Interaction


class Boxes(NamedTuple):
    """The boxes of others in a simulation, and how errors call them."""

    control: Control | None
    interaction: Interaction | None
    control_name: str = "control"
    interaction_name: str = "interaction"


def own_boxes(
    scenario: Scenario, control: Control | None, interaction: Interaction | None
) -> Boxes:
    """Those that are given, else those that the scenario takes from plug-ins."""
    boxes = Boxes(control, interaction)
    use = scenario.controller
    if control is None and use is not None:
        made = plugins.make("controllers", use.name, use.options, scenario, "controller")
        name = f"controller {plugins.named('controllers', use.name)}"
        boxes = boxes._replace(control=made, control_name=name)
    use = scenario.interaction.plugin
    compiled = use is not None and plugins.law_class(use.name, "interaction.plugin") is not None
    if interaction is None and use is not None and not compiled:
        made = plugins.make("laws", use.name, use.options, scenario, "interaction.plugin")
        name = f"law {plugins.named('laws', use.name)}"
        boxes = boxes._replace(interaction=made, interaction_name=name)
    return boxes


def without_plugins(scenario: Scenario) -> Scenario:
    """The same scenario with its own control and ground."""
    if scenario.controller is None and scenario.interaction.plugin is None:
        return scenario
    law = scenario.interaction.model_copy(update={"plugin": None})
    return scenario.model_copy(update={"controller": None, "interaction": law})


def plugin_names(scenario: Scenario) -> dict[str, str]:
    """What a scenario takes from plug-ins, with their packages, for the report."""
    uses = {
        "control": ("controllers", scenario.controller),
        "interaction": ("laws", scenario.interaction.plugin),
    }
    return {
        box: f"plug-in {use.name} of {plugins.found(kind)[use.name].origin}"
        for box, (kind, use) in uses.items()
        if use is not None
    }
