"""Typical parameters of kinds of soil, used where a soil's source does not give them.

A soil says its `kind`: sand, regolith (planetary soil and its simulants), loam, clay or snow. Where
a law asks for a number that neither the soil nor another of its numbers gives, the typical one of
the kind stands in, and a warning says number, value, range and source. Soils of no kind have only a
typical density; for anything else they are refused.

    K, displacement of the shear stress. Wong (Theory of Ground Vehicles, 4th edition, 2008,
    section 2.4) has 10 mm for firm sand, 25 mm for loose sand, 6 mm for compacted clay and 25 to
    50 mm for fresh snow.
    Density: of the same kind among the soils of the library that have one, or of the handbooks
    named below.

There is no typical sinkage number or strength: they range over decades within one kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Typical:
    """A typical number [SI], the range it is found in, and its source."""

    value: float
    low: float
    high: float
    source: str


_WONG = "Wong, Theory of Ground Vehicles, 2008"
_DENSITY = Typical(
    1600.0, 1400.0, 1900.0, "lunar_nominal; range of lunar_loose and lunar_dense (Heiken 1991)"
)
#: by kind and number; "" is a soil of no kind
TYPICAL: dict[str, dict[str, Typical]] = {
    "": {"density": _DENSITY},
    "sand": {
        "shear_modulus": Typical(
            0.015, 0.010, 0.025, f"between 10 mm of firm and 25 mm of loose sand, {_WONG}"
        ),
        "density": Typical(
            1600.0, 1430.0, 1700.0, "mean and range of the library's sands that have one"
        ),
    },
    "regolith": {
        "shear_modulus": Typical(
            0.018, 0.010, 0.036, "lunar_nominal and fjs_1_catalogue; range of the library's FJS-1, "
            "HIT-LSS1 and GRC",
        ),
        "density": _DENSITY,
    },
    "loam": {
        "shear_modulus": Typical(
            0.010, 0.006, 0.025, f"firm ground, between compacted clay and loose sand, {_WONG}"
        ),
        "density": Typical(
            1600.0, 1300.0, 1900.0, "dry 1400 kg/m³ (USDA NRCS, soil quality indicators: bulk "
            "density) with 15 % of moisture",
        ),
    },
    "clay": {
        "shear_modulus": Typical(0.006, 0.006, 0.010, f"clay at maximum compaction, {_WONG}"),
        "density": Typical(
            1700.0, 1500.0, 1900.0, "dry 1100 to 1390 kg/m³ (USDA NRCS, soil quality indicators: "
            "bulk density) with 38 % of moisture",
        ),
    },
    "snow": {
        "shear_modulus": Typical(
            0.0375, 0.025, 0.05, f"middle of 25 to 50 mm of fresh snow, {_WONG}"
        ),
        "density": Typical(
            300.0, 200.0, 400.0, "settled to wind-packed snow, Paterson, The Physics of Glaciers, "
            "1994, table 2.1",
        ),
    },
}  # fmt: skip
KINDS = tuple(kind for kind in TYPICAL if kind)
#: Python's note of what was said
_SAID: dict[Any, Any] = {}


class SoilRemark(UserWarning):
    """What a run should say of its soils, though nothing is wrong with the scenario."""


class StandsIn(SoilRemark):
    """A number that nobody gave; `said` names it with value and source."""

    def __init__(self, said: str) -> None:
        super().__init__(f"assumed, not given: {said}")
        self.said = said


def warn_stand_in(owner: str, name: str, shown: str, source: str) -> None:
    """Say that a number of `owner`, a soil or a law, is assumed; wherever it is asked for from, so
    that Python's own filter says it once."""
    said = StandsIn(f"{owner}: {name} = {shown} ({source})")
    warnings.warn_explicit(said, StandsIn, __file__, 1, __name__, _SAID)


@contextmanager
def one_warning() -> Iterator[None]:
    """All numbers that stand in within this block are named in one warning at its end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said: dict[str, None] = {}
    for each in caught:
        if isinstance(each.message, StandsIn):
            said[each.message.said] = None
        else:
            warnings.warn(each.message, stacklevel=3)
    if said:
        warnings.warn(StandsIn("; ".join(said)), stacklevel=3)
