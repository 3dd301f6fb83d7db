"""Comparisons: the same drive, study or wheel under several laws, overlaid; modes of locomotion.

`runs` compares scenarios, `wheels` wheel models without a simulation, both as `laws` says; `modes`
compares ways to move against the slope. Names load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.comparison.laws import LAWS, Law, Variant, parse_variant, variants_of
    from marsyard.comparison.mode_answer import ModeComparison
    from marsyard.comparison.modes import compare_modes
    from marsyard.comparison.runs import Comparison, Side, compare
    from marsyard.comparison.wheels import WheelComparison, compare_wheel

_HOME = {
    "LAWS": "laws",
    "Comparison": "runs",
    "Law": "laws",
    "ModeComparison": "mode_answer",
    "Side": "runs",
    "Variant": "laws",
    "WheelComparison": "wheels",
    "compare": "runs",
    "compare_modes": "modes",
    "compare_wheel": "wheels",
    "parse_variant": "laws",
    "variants_of": "laws",
}

__all__ = [
    "LAWS",
    "Comparison",
    "Law",
    "ModeComparison",
    "Side",
    "Variant",
    "WheelComparison",
    "compare",
    "compare_modes",
    "compare_wheel",
    "parse_variant",
    "variants_of",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
