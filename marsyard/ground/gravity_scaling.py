"""Scaling of soil parameters to another gravity than they were measured at.

Plates and wheels are tested on Earth. A soil's resistance has a part from its weight, which falls
with gravity, and one from cohesion, which does not. With the ratio ρ = g/g₀ of the gravity at hand
to that of the measurement:

    none      the numbers as measured, whatever the gravity

    reece     A. R. Reece: Principles of soil-vehicle mechanics, Proc. Inst. Mech. Eng. 180 (1965),
              p = (c k'_c + γ b k'_φ)(z/b)ⁿ: k'_c and k'_φ have no dimension and belong to the soil,
              γ = density · g. Bekker's k_φ stands for the part with γ, k_c for that with c:
              k_φ → ρ k_φ;  k_c, c, φ, K, n as measured

    granular  J. Slonaker et al.: General scaling relations for locomotion in granular media, Phys.
              Rev. E 95 (2017) 052901: stresses in soil without cohesion that yields by friction
              are density · g · length times a function of shape and slip alone. So
              k_c → ρ k_c,  k_φ → ρ k_φ,  slopes of unloading → ρ times,  damping → √ρ times;
              φ, K, n as measured. The soil's cohesion c, which that law does not know, stays

For soil without cohesion, k_c and damping both are the same, and a wheel of given mass has the same
sinkage, and its pull the same share of the load, at every gravity and slip, for loads and stresses
fall together. Times are √(1/ρ) longer: runs correspond whose Froude number v²/(g r) is the same.
Wong (J. Terramechanics 49 (2012) 49, 349), Kobayashi et al. (J. Terramechanics 47 (2010) 261) and
Nakashima and Kobayashi (J. Terramechanics 53 (2014) 37) found sinkage at equal mass to be
independent of gravity, on aircraft and with discrete elements. With numbers as measured, sinkage
at low gravity is underestimated.

How far to trust it: docs/physics/soils.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from marsyard.errors import InputError
from marsyard.ground.soil import UNLOADING_STIFFNESS, Soil
from marsyard.ground.typical import SoilRemark

GravityScaling = Literal["none", "reece", "granular"]
#: gravities that differ by less than this part are the same
_SAME = 0.02


def at_gravity(
    soil: Soil, gravity: float, scaling: GravityScaling, unloading: float = UNLOADING_STIFFNESS
) -> Soil:
    """The soil with the numbers it has at `gravity` [m/s²]; `unloading`: k_u of soils that give
    none [Pa/m]."""
    if scaling == "none" or soil.measured_at is None:
        return soil
    if not gravity > 0:
        raise InputError(f"gravity_scaling: {scaling}: needs a gravity above 0, not {gravity:g}")
    ratio = gravity / soil.measured_at
    factors = {"k_phi": ratio}
    if scaling == "granular":
        soil = replace(soil, unloading_stiffness=soil.unloading_stiffness or unloading)
        factors |= {
            "k_c": ratio, "reece_kc": ratio, "unloading_stiffness": ratio,
            "damping": math.sqrt(ratio),
        }  # fmt: skip
    changed = {
        name: factor * value
        for name, factor in factors.items()
        if (value := getattr(soil, name)) is not None
    }
    return replace(soil, measured_at=gravity, **changed)  # type: ignore[arg-type]


#: what can be asked for
SCALINGS: tuple[str, ...] = get_args(GravityScaling)


def warn_of_gravity(soils: Sequence[Soil], gravity: float, key: str, what: str = "run") -> None:
    """Say once which soils a run takes to another gravity than theirs with their numbers as
    measured; `key` would change that."""
    if gravity <= 0:
        return
    found: dict[str, float] = {}
    for soil in soils:
        at = soil.measured_at
        if at is not None and abs(gravity / at - 1) > _SAME:
            found[soil.name] = at
    if found:
        each = ", ".join(f"{name} ({at:g} m/s²)" for name, at in found.items())
        warnings.warn(
            f"the {what}'s gravity is {gravity:g} m/s², but these soils were measured at another: "
            f"{each}; their parameters are used as measured; {key} (reece or granular) would "
            f"scale them"
            "",
            SoilRemark,
            stacklevel=2,
        )
