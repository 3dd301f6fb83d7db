"""Comparisons: the same drive, study or wheel under several laws, overlaid.

`runs` compares scenarios, `wheels` wheel models without a simulation, both as `laws` says. Names
load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard._lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
