"""Operating rovers: sequences, their validation before they are sent, live view, teleoperation.

Command sequences are files and objects, and can be recorded:

from marsyard.operations import load_sequence, on_scenario

scenario = on_scenario(load_sequence("monday.yaml"), marsyard.load_scenario("control/goal"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard._lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.recording import record_sequence, sequence_of_setpoints
    from marsyard.operations.sequence import (
        Sequence,
        load_sequence,
        on_scenario,
        save_sequence,
        sequence_of,
    )

__all__ = [
    "Sequence",
    "load_sequence",
    "on_scenario",
    "record_sequence",
    "save_sequence",
    "sequence_of",
    "sequence_of_setpoints",
]

_HOME = {
    "Sequence": "sequence",
    "load_sequence": "sequence",
    "on_scenario": "sequence",
    "record_sequence": "recording",
    "save_sequence": "sequence",
    "sequence_of": "sequence",
    "sequence_of_setpoints": "recording",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
