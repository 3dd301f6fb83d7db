"""Comparisons: the same drive, study or wheel under several laws, overlaid.

`runs` compares scenarios, `wheels` wheel models without a simulation, both as `laws` says. Names
load when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marsyard.comparison.laws import LAWS, Law, Variant, parse_variant, variants_of
    from marsyard.comparison.runs import Comparison, Side, compare
    from marsyard.comparison.wheels import WheelComparison, compare_wheel

_HOME = {
    "LAWS": "laws",
    "Comparison": "runs",
    "Law": "laws",
    "Side": "runs",
    "Variant": "laws",
    "WheelComparison": "wheels",
    "compare": "runs",
    "compare_wheel": "wheels",
    "parse_variant": "laws",
    "variants_of": "laws",
}

__all__ = [
    "LAWS",
    "Comparison",
    "Law",
    "Side",
    "Variant",
    "WheelComparison",
    "compare",
    "compare_wheel",
    "parse_variant",
    "variants_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"marsyard.comparison.{_HOME[name]}"), name)
    raise AttributeError(f"module 'marsyard.comparison' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
