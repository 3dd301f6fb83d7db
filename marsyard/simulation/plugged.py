"""Controllers and laws that a scenario takes from plug-ins (`marsyard.plugins`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard import plugins
from marsyard.scenario.schema import Scenario

if TYPE_CHECKING:
    from marsyard.modules.ports import Control, Interaction


def own_control(scenario: Scenario) -> Control:
    """The controller that a scenario's `controller` names."""
    use = scenario.controller
    assert use is not None
    return plugins.make("controllers", use.name, use.options, scenario, "controller")


def own_interaction(scenario: Scenario) -> Interaction:
    """The law that a scenario's `interaction.plugin` names."""
    use = scenario.interaction.plugin
    assert use is not None
    return plugins.make("laws", use.name, use.options, scenario, "interaction.plugin")


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
