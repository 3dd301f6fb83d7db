"""Exchangeable modules of a simulation: their inputs and outputs, and how to replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.modules.multibody import EngineMultibody
    from marsyard.modules.scenario_laws import ScenarioControl
    from marsyard.modules.soil_box import SoilInteraction
    from marsyard.modules.yard import Yard
    from marsyard.ports import (
        BaseState,
        ContactBodyStates,
        ContactBodyWrenches,
        Control,
        Interaction,
        JointCommands,
        JointStates,
        Multibody,
        PostProcessing,
    )

_HOME = {
    "BaseState": ".ports",
    "Control": ".ports",
    "EngineMultibody": "multibody",
    "Interaction": ".ports",
    "JointCommands": ".ports",
    "JointStates": ".ports",
    "Multibody": ".ports",
    "ContactBodyStates": ".ports",
    "ContactBodyWrenches": ".ports",
    "PostProcessing": ".ports",
    "ScenarioControl": "scenario_laws",
    "SoilInteraction": "soil_box",
    "Yard": "yard",
}

__all__ = [
    "BaseState",
    "Control",
    "EngineMultibody",
    "Interaction",
    "JointCommands",
    "JointStates",
    "Multibody",
    "ContactBodyStates",
    "ContactBodyWrenches",
    "PostProcessing",
    "ScenarioControl",
    "SoilInteraction",
    "Yard",
]

_RENAMED = {"OrganStates": "ContactBodyStates", "OrganWrenches": "ContactBodyWrenches"}

__getattr__, __dir__ = lazy_names(__name__, _HOME, _RENAMED)
