"""Names of the columns of the arrays that soil in columns adds to the numbers of the soils."""

from __future__ import annotations

# columns of Soils.column, by body and soil: active height [m], strength at the surface [Pa] and its
# growth with sinkage [Pa/m], strain ε_r of the hyperbola and failure ratio R_f, strain at failure,
# strain over which it softens, residual part of the strength; contraction 1 − 1/K_cv and
# (K_p − 1)/K_cv of Rowe's law; number of points of measured curves, 0 for the formulas
(
    HEIGHT, STRENGTH_0, STRENGTH_1, STRAIN_R, RATIO, STRAIN_F, STRAIN_S, RESIDUAL, CONTRACTS,
    DILATES, POINTS, VOLUME_POINTS,
) = range(12)  # fmt: skip
LAW_COLUMNS = 12
#: rows of Soils.curve, by soil: strain and share of the strength, strain and change of volume
CURVE_STRAIN, CURVE_SHARE, VOLUME_STRAIN, VOLUME_CHANGE = range(4)

# columns of Soils.granular, by soil: tan of the critical angle and of the angle of rest, cohesion
# [Pa] of standing slopes, sine and cosine of the critical angle, unit weight [N/m³]
TAN_START, TAN_REST, SLOPE_COHESION, SIN_START, COS_START, UNIT_WEIGHT = range(6)
GRANULAR_COLUMNS = 6
