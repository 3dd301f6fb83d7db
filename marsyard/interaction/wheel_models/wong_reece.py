"""Wong and Reece's wheel: stresses over the contact arc, shear in the direction of the slip.

J. Y. Wong, A. R. Reece: Prediction of rigid wheel performance based on the analysis of soil-wheel
stresses, parts I and II, J. Terramechanics 4 (1967). Stresses, shear displacement and integrals as
in `arc`. Longitudinal and lateral slip mobilise one and the same strength ("together").

Coefficients: peak_0 and peak_1, a₀ and a₁ of θ_m = (a₀ + a₁ s) θ₁. Wong and Reece found 0.43 and
0.32 for compact sand and 0.18 and 0.32 for loose sand; where nobody gives them, the latter stand
in, with a warning.

Assumptions: rigid wheel, steady motion, plane ground; for braked wheels the shear follows the net
displacement since entry (their part II counts it anew where the direction turns).
"""

from __future__ import annotations

from marsyard.interaction.wheel_models.arc import arc_forces
from marsyard.jit import kernel

PEAK_0, PEAK_1 = range(2)
COEFFICIENTS = {"peak_0": 0.18, "peak_1": 0.32}
#: those of them that stand in for what nobody measured, with their source
_SOURCE = "Wong and Reece 1967, loose sand"
TYPICAL = {"peak_0": _SOURCE, "peak_1": _SOURCE}


@kernel
def wong_reece(wheel, soil, own, z, v_x, v_y, w, out):
    """Forces on a wheel that rolls forward."""
    arc_forces(wheel, soil, own[PEAK_0], own[PEAK_1], True, z, v_x, v_y, w, out)
