"""Spelling of units for other tools: UDUNITS in ASCII."""

from __future__ import annotations

_SPELLED = {"·": " ", "²": "2", "³": "3", "Ω": "ohm", "µ": "u", "°": "degree"}


def udunits(unit: str) -> str:
    """A unit in the spelling of UDUNITS: "N m" for N·m, "m2" for m²."""
    for sign, word in _SPELLED.items():
        unit = unit.replace(sign, word)
    return unit
