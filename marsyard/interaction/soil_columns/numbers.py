"""From a soil to the numbers of the law of columns; see `triaxial` and `surface` for their meaning.

What a soil lacks:

    E_i           such that the stress at `match_sinkage` z_m (1 cm) is that of the pressure-
                  sinkage law p_B (Bekker's or Reece's): f_m = p_B/q_f(z_m),
                  ε_r = (z_m/H)(1/f_m − R_f). Where p_B is more than half of q_f/R_f, which c and φ
                  allow, f_m = ½/R_f is taken instead: columns carry less than Bekker then, and a
                  warning says so if p_B is above q_f.
    R_f           0.8 (Duncan and Chang 1970: 0.7 to 0.95 for sands)
    ψ             φ − 30°, not below 0 (Vermeer and de Borst 1984, for quartz sands)
    ε_s           0.1, assumed
    density       typical of the soil's kind, with a warning (`ground.typical`)
    β₀            the angle of repose, without cohesion; if that is not given, φ with cohesion c
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil import Soil
from marsyard.ground.triaxial import MOST_POINTS, Triaxial
from marsyard.interaction.soil_columns.arrays import (
    CONTRACTS,
    CURVE_SHARE,
    CURVE_STRAIN,
    DILATES,
    GRANULAR_COLUMNS,
    HEIGHT,
    LAW_COLUMNS,
    POINTS,
    RATIO,
    RESIDUAL,
    STRAIN_F,
    STRAIN_R,
    STRAIN_S,
    STRENGTH_0,
    STRENGTH_1,
    VOLUME_CHANGE,
    VOLUME_POINTS,
    VOLUME_STRAIN,
)

FAILURE_RATIO = 0.8
SOFTENING_STRAIN = 0.1
#: friction angle of quartz sand at constant volume [rad]
CONSTANT_VOLUME = math.radians(30)
#: of soils without friction [rad]
_LEAST_ANGLE = 1e-4


@dataclass(frozen=True)
class ColumnOptions:
    """Options of the law.

    influence: active height of a column in widths of the body.
    depth: thickness of the soil layer [m]; None: deep.
    match_sinkage: where the stress is that of the pressure-sinkage law [m].
    gravity: [m/s²].
    rest: tan of the angle of rest by tan of the critical angle.
    sinkage_numbers: names of the soil's numbers that the pressure-sinkage law takes.
    """

    gravity: float
    influence: float = 2.0
    depth: float | None = None
    match_sinkage: float = 0.01
    rest: float = 0.96
    sinkage_numbers: tuple[str, ...] = ("exponent", "k_c", "k_phi")


def bearing_factors(phi: float) -> tuple[float, float, float]:
    """N_c, N_q, N_γ of a strip (Prandtl, Reissner, Vesić) for a friction angle [rad]."""
    phi = max(phi, _LEAST_ANGLE)
    N_q = math.exp(math.pi * math.tan(phi)) * math.tan(math.pi / 4 + phi / 2) ** 2
    return (N_q - 1) / math.tan(phi), N_q, 2 * (N_q + 1) * math.tan(phi)


def passive(phi: float) -> float:
    """K = tan²(45° + φ/2)."""
    return math.tan(math.pi / 4 + phi / 2) ** 2


def strength(soil: Soil, width: float, gravity: float) -> tuple[float, float]:
    """q_f at the surface [Pa] and its growth with sinkage [Pa/m] under a body of this width."""
    weight = soil.number("density") * gravity
    N_c, N_q, N_gamma = bearing_factors(soil.number("friction_angle"))
    return soil.number("cohesion") * N_c + 0.5 * weight * width * N_gamma, weight * N_q


def lateral_pressure(soil: Soil, width: float, gravity: float) -> float:
    """P₀ at the surface that stands for the neighbours [Pa]."""
    phi = max(soil.number("friction_angle"), _LEAST_ANGLE)
    q_f = strength(soil, width, gravity)[0]
    c = soil.number("cohesion")
    return (q_f * (1 - math.sin(phi)) - 2 * c * math.cos(phi)) / (2 * math.sin(phi))


def law_row(soil: Soil, width: float, modulus: float | None, options: ColumnOptions) -> np.ndarray:
    """The law's numbers for a body of `width` [m] on a soil.

    modulus: k of the pressure-sinkage law p = k zⁿ of this body [N/m^(n+2)], None if not known.
    """
    tri = soil.triaxial or Triaxial()
    phi = max(soil.number("friction_angle"), _LEAST_ANGLE)
    height = options.influence * width
    if options.depth is not None:
        height = min(height, options.depth)
    q0, q1 = strength(soil, width, options.gravity)
    if not q0 > 0:
        raise InputError(
            f"soil {soil.name}: columns without cohesion carry no load where gravity = "
            f"{options.gravity:g} m/s²; give the soil a cohesion, or use interaction.soil.model scm"
        )
    ratio = tri.failure_ratio or FAILURE_RATIO
    row = np.zeros(LAW_COLUMNS)
    row[HEIGHT], row[STRENGTH_0], row[STRENGTH_1], row[RATIO] = height, q0, q1, ratio
    row[STRAIN_R] = _reference_strain(soil, tri, q0, q1, ratio, height, modulus, options)
    row[STRAIN_F] = row[STRAIN_R] / (1 - ratio)
    row[STRAIN_S] = tri.softening_strain or SOFTENING_STRAIN
    K_p = passive(phi)
    row[RESIDUAL] = 1.0
    if tri.residual_angle is not None:
        row[RESIDUAL] = min((passive(tri.residual_angle) - 1) / (K_p - 1), 1.0)
    psi = tri.dilation_angle
    if psi is None:
        psi = max(0.0, phi - CONSTANT_VOLUME)
    K_cv = K_p * (1 - math.sin(psi)) / (1 + math.sin(psi))
    row[CONTRACTS], row[DILATES] = 1 - 1 / K_cv, (K_p - 1) / K_cv
    row[POINTS] = len(tri.curve or ())
    row[VOLUME_POINTS] = len(tri.volume_curve or ())
    return row


def _reference_strain(
    soil: Soil,
    tri: Triaxial,
    q0: float,
    q1: float,
    ratio: float,
    height: float,
    modulus: float | None,
    options: ColumnOptions,
) -> float:
    """ε_r of the hyperbola."""
    if tri.modulus is not None:
        return q0 / tri.modulus
    if tri.curve is not None and tri.volume_curve is not None:
        return 1.0  # not used
    if tri.curve is not None:
        # the slope of the measured curve at its beginning
        top = max(y for _, y in tri.curve)
        return tri.curve[1][0] / (tri.curve[1][1] / top)
    if modulus is None:
        raise InputError(
            f"soil {soil.name}: columns need triaxial.modulus or triaxial.curve, or the numbers of "
            f"the pressure-sinkage law ({', '.join(options.sinkage_numbers)}) to derive it from"
        )
    z = options.match_sinkage
    pressure = modulus * z ** soil.number("exponent")
    limit = q0 + q1 * z
    if pressure > limit:
        warnings.warn(
            f"soil {soil.name}: its pressure-sinkage law gives {pressure / 1e3:.3g} kPa at "
            f"{100 * z:g} cm, more than the bearing capacity of {limit / 1e3:.3g} kPa that follows "
            "from its cohesion and friction angle: columns carry less load than scm",
            stacklevel=2,
        )
    share = min(pressure / limit, 0.5 / ratio)
    return z / height * (1 / share - ratio)


def curve_rows(soil: Soil) -> np.ndarray:
    """Measured curves of a soil, zeros where it has none."""
    rows = np.zeros((4, MOST_POINTS))
    tri = soil.triaxial or Triaxial()
    if tri.curve:
        x, y = np.array(tri.curve).T
        rows[CURVE_STRAIN, : len(x)], rows[CURVE_SHARE, : len(x)] = x, y / y.max()
    if tri.volume_curve:
        x, y = np.array(tri.volume_curve).T
        rows[VOLUME_STRAIN, : len(x)], rows[VOLUME_CHANGE, : len(x)] = x, y
    return rows


def granular_row(soil: Soil, options: ColumnOptions) -> np.ndarray:
    """Numbers of the surface's flow."""
    angle = soil.number("repose_angle")
    cohesion = soil.number("cohesion") if soil.repose_angle is None else 0.0
    tan = math.tan(angle)
    row = np.array([
        tan, options.rest * tan, cohesion, math.sin(angle), math.cos(angle),
        soil.number("density") * options.gravity,
    ])  # fmt: skip
    assert len(row) == GRANULAR_COLUMNS
    return row


def critical_height(angle: float, cohesion: float, phi: float, weight: float) -> float:
    """Height up to which a slope of this angle [rad] stands (Culmann) [m]; weight [N/m³]."""
    if angle <= phi:
        return math.inf
    turned = 1 - math.cos(angle - phi)
    return 4 * cohesion / weight * math.sin(angle) * math.cos(phi) / turned
