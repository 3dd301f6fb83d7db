"""Soil against a wall of a sunk wheel: the resistance of a blade that is pushed through it.

Beside the wheel, Hegedus 1960, as in Ishigami et al. 2007, eqs. (17) and (19) of Ding 2011. A blade
of unit width that is pushed through soil to the depth d meets

    R_b = a₁ d + a₂ d²                                                        [N/m]
    a₁ = 2 c cot X_c,  a₂ = γ cot X_c (cot X_c + cot² X_c tan φ),  X_c = π/4 − φ/2

that is [cot X_c + tan(X_c + φ)] {c d + ½ γ d² [cot X_c + cot² X_c tan φ]}, as X_c + φ = π/2 − X_c
(the print of 2011 lost the brackets around the first sum and writes 1/cot φ; the constants 4.03 and
2.55 of Ishigami et al. 2005 for φ = 37.2° confirm this form). γ = ρ g [N/m³], X_c the angle of the
plane on which the soil fails.

In front of the wheel, Rankine's passive earth pressure on its width b over its sinkage (M. G.
Bekker 1960), off unless asked for:

    R_b = b (2 c √K_p z + ½ γ K_p z²),   K_p = tan²(π/4 + φ/2)                   [N]

It comes on top of Bekker's compaction resistance. Measured wheels do not show it: with it the
unfitted pull of `wong_reece` is off by 32 instead of 11 % of the load on Pavlov's wheel, by 21
instead of 7 % on Ishigami's, by 6 instead of 5 % on Ding's smooth one; with lugs 4 instead of 8 %.
"""

from __future__ import annotations

import math

from marsyard.ground.soil import Soil


def blade_resistance(soil: Soil, gravity: float) -> tuple[float, float]:
    """a₁ [N/m²] and a₂ [N/m³]."""
    phi, weight = soil.number("friction_angle"), soil.number("density") * gravity
    cot = 1.0 / math.tan(0.25 * math.pi - 0.5 * phi)
    cohesive = 2.0 * cot * soil.number("cohesion")
    return cohesive, cot * weight * (cot + cot * cot * math.tan(phi))


def passive_resistance(soil: Soil, gravity: float) -> tuple[float, float]:
    """2 c √K_p [Pa] and ½ γ K_p [Pa/m] of a wall that is pushed forward, by its depth and the
    square of it."""
    phi, weight = soil.number("friction_angle"), soil.number("density") * gravity
    root = math.tan(0.25 * math.pi + 0.5 * phi)
    return 2.0 * root * soil.number("cohesion"), 0.5 * root * root * weight
