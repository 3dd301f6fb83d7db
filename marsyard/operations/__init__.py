"""Operating rovers: command sequences and their validation, live view, teleoperation.

Command sequences are files and objects, and can be recorded:

from marsyard.operations import load_sequence, on_scenario

scenario = on_scenario(load_sequence("monday.yaml"), marsyard.load_scenario("control/goal"))

and validated over what is uncertain before they are sent:

found = validate("monday.yaml", "control/goal", n=200, out="runs/monday")
found.verdict, found.judgement.why
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.distributions import read_uncertain
    from marsyard.operations.recording import record_sequence, sequence_of_setpoints
    from marsyard.operations.sequence import (
        Sequence,
        load_sequence,
        on_scenario,
        save_sequence,
        sequence_of,
    )
    from marsyard.operations.validation.base import base_scenario
    from marsyard.operations.validation.limits import read_limits
    from marsyard.operations.validation.validate import Validation, validate

__all__ = [
    "Sequence",
    "Validation",
    "base_scenario",
    "load_sequence",
    "on_scenario",
    "read_limits",
    "read_uncertain",
    "record_sequence",
    "save_sequence",
    "sequence_of",
    "sequence_of_setpoints",
    "validate",
]

_HOME = {
    "Sequence": "sequence",
    "Validation": "validation.validate",
    "base_scenario": "validation.base",
    "load_sequence": "sequence",
    "on_scenario": "sequence",
    "read_limits": "validation.limits",
    "read_uncertain": "distributions",
    "record_sequence": "recording",
    "save_sequence": "sequence",
    "sequence_of": "sequence",
    "sequence_of_setpoints": "recording",
    "validate": "validation.validate",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
