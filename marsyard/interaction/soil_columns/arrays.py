"""What soil in columns adds to the arrays of `soil_contact`: numbers of its law and its flow."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.jit import F2, F3, by_reference

# columns of ColumnNumbers.column, by body and soil: active height [m], strength at the surface [Pa]
# and its growth with sinkage [Pa/m], strain ε_r of the hyperbola and failure ratio R_f, strain at
# failure, strain over which it softens, residual part of the strength; contraction 1 − 1/K_cv and
# (K_p − 1)/K_cv of Rowe's law; number of points of measured curves, 0 for the formulas
(
    HEIGHT, STRENGTH_0, STRENGTH_1, STRAIN_R, RATIO, STRAIN_F, STRAIN_S, RESIDUAL, CONTRACTS,
    DILATES, POINTS, VOLUME_POINTS,
) = range(12)  # fmt: skip
LAW_COLUMNS = 12
#: rows of ColumnNumbers.curve, by soil: strain and share of the strength, strain and change of
#: volume
CURVE_STRAIN, CURVE_SHARE, VOLUME_STRAIN, VOLUME_CHANGE = range(4)

# columns of ColumnNumbers.granular, by soil: tan of the critical angle and of the angle of rest,
# cohesion [Pa] of standing slopes, sine and cosine of the critical angle, unit weight [N/m³]
TAN_START, TAN_REST, SLOPE_COHESION, SIN_START, COS_START, UNIT_WEIGHT = range(6)
GRANULAR_COLUMNS = 6


@by_reference
class ColumnNumbers(NamedTuple):
    """Numbers of soil in columns; `b` bodies, `s` soils."""

    column: F3  # float64[b, s, LAW_COLUMNS]
    curve: F3  # float64[s, 4, MOST_POINTS], measured curves
    granular: F2  # float64[s, GRANULAR_COLUMNS]


class FlowOptions(NamedTuple):
    """Numbers of a flow."""

    time: float  # [s]
    dt: float  # since the last one [s]
    chunk: float  # its longest step [s]
    gravity: float  # [m/s²]
    viscosity: float  # ν [1/s]
    planar: int  # 1: rows along x do not exchange matter
