"""The elastic layers of polygonal contact: stiffness, damping and friction per area.

Both bodies are rigid under a thin elastic layer (elastic foundation, Winkler). A layer of thickness
b [m] on a rigid core, pressed by p [Pa] and too wide to give way sideways, is compressed by

    s = p b / K,     K = E (1 − ν) / ((1 + ν) (1 − 2ν))            plane strain in both directions

with Young's modulus E [Pa] and Poisson's ratio ν. Two layers lie in series:

    k = p/s = 1 / (b₁/K₁ + b₂/K₂)                                    [Pa/m]

and the layers' shear moduli G = E/(2 (1 + ν)) likewise give the tangential stiffness

    k_T = 1 / (b₁/G₁ + b₂/G₂)                                        [Pa/m]

A face of area A has the constants of eqs. (1) and (2) of Krenn and Hirzinger 2008: c_N = k A,
d_N = d A, c_T = k_T A, d_T = d_T' A. Damping d [Pa·s/m] is given, or follows from a relaxation time
τ of the layer, d = τ k; it is no published quantity for any of the contacts here.

Assumptions: thickness small against the size of the contact, depth small against the thickness;
pressure at one place does not press down its surroundings (that is what makes it a foundation).
Thin hard layers are very stiff: a coating, a tread, a pad is what gives way.

Source: G. Hippmann, Modellierung von Kontakten komplex geformter Körper in der
Mehrkörpersimulation, dissertation, TU Wien 2004; K. L. Johnson, Contact mechanics (1985), ch. 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from marsyard.errors import InputError

#: d/k of layers that say nothing of their damping [s], assumed
RELAXATION = 1e-3


class Material(NamedTuple):
    """A layer of a material."""

    modulus: float  # Young's modulus E [Pa]
    poisson: float  # ν
    thickness: float  # b [m]

    def confined(self) -> float:
        """K [Pa]: uniaxial strain."""
        nu = self.poisson
        return self.modulus * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))

    def shear(self) -> float:
        """G [Pa]."""
        return self.modulus / (2.0 * (1.0 + self.poisson))


class Layer(NamedTuple):
    """What the law of a face needs, per area."""

    stiffness: float  # k [Pa/m]
    damping: float  # d [Pa·s/m]
    transition: float  # s_d0, depth below which damping fades out [m]
    stiffness_tangential: float  # [Pa/m]
    damping_tangential: float  # [Pa·s/m]
    stick: float  # μ_stick
    slip: float  # μ_slip
    slip_speed: float  # v_T0 [m/s]


def in_series(materials: Sequence[Material]) -> tuple[float, float]:
    """Normal and tangential stiffness [Pa/m] of one or two layers."""
    for material in materials:
        if not material.modulus > 0.0:
            raise InputError(f"layer: modulus = {material.modulus:g} Pa: must be above 0")
        if not material.thickness > 0.0:
            raise InputError(f"layer: thickness = {material.thickness:g} m: must be above 0")
        if not 0.0 <= material.poisson < 0.5:
            raise InputError(
                f"layer: poisson = {material.poisson:g}: must be at least 0 and below 0.5 (a layer "
                "that keeps its volume cannot be pressed together)"
            )
    if not materials:
        raise InputError("layer: give at least one material")
    normal = sum(m.thickness / m.confined() for m in materials)
    shear = sum(m.thickness / m.shear() for m in materials)
    return 1.0 / normal, 1.0 / shear
