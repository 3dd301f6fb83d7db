"""What a wheel's tread makes of the soil: strength under it, soil it carries along, slip sinkage.

All soil models share these pieces, so that they agree about the same wheel on the same soil.

Strength. On a share f of the tread soil shears on soil, on the rest it slides on the rim:

    τ_max = f (c + σ tan φ) + (1 − f)(c_a + σ tan δ)        δ = (δ/φ) φ, c_a = (c_a/c) c
    K_x   = f K_soil + (1 − f) min(K_rim, K_soil)
    f     = 1 − (1 − f_lugs)(1 − open area of the rim)

The law of Mohr and Coulomb is linear in σ, so that the sum is one with mean cohesion and tan φ; the
mean K is exact where one of the surfaces prevails; across the wheel the soil's own K_y acts, for
measured side forces show no smaller one. A lug holds the soil in front of it up to the
plane on which it fails in passive earth pressure, inclined by π/4 − φ/2 (Rankine; Bekker 1960
spaces the grousers of tracks by it). N lugs of height h and thickness t on a rim of radius r thus
cover

    f_lugs = min{1, N [t + h tan(π/4 + φ/2)]/(2π r)}

Lugs whose number is not known are taken to stand close, f_lugs = 1.

Slip sinkage. Lugs dig: the soil they hold moves back with the slip, on the mean over the tread a
layer of the thickness δ = f_lugs h (and, under any wheel, the soil's `shear_layer`). A wheel that
rolls steadily leaves behind what it carries, a layer of a = δ s/(1 − s) (A. R. Reece 1965, for lugs
that stand close), δ |s| where it brakes (not in the wheel models). It comes from a trench whose
walls slide in at the angle of repose φ_r,

    z_s + z_s²/(b tan φ_r) = a

b the wheel's width: z_s = a where the trench is shallow; the walls are ours.

Beside that, slip softens soil that is pressed (M. G. Lyasko, J. Terramechanics 47 (2010) 21–31,
after Vasil'ev): the sinkage grows to z = z₀ K_ss^(n/(n+1)), K_ss = (1 + s)/(1 − s/2). In terms of
the pressure p = k zᴺ the modulus falls to

    k K_ss^(−n N/(n+1))

Braking takes |s|, which is ours. `slip_sinkage: exponent` takes the n₁ of the soil instead,
N = n + n₁ |s| (Ding et al. 2009). It is a number of a wheel in a soil, found with wheels: what
their lugs dig is in it, too, so that `slip_transport` should be off beside it. Hence it is not the
default, even where a soil gives it.

It is soil that is cut and carried away, not pressed: the wheel rolls on a ground that lies z_s
lower. Soil that the lugs of a driven wheel carry is released where they rise out of it: a third of
it under the rear arc, the rest behind the wheel, from the cells between the lugs (assumed; the pull
that paddled wheels keep at high slip supports it). It fills what the elastic rebound leaves open,
so that the contact ends where the rim has risen by

    z_e = σ_m/k_u + ⅓ z_s

over its lowest point, k_u the stiffness of unloading, where all of z_s is the lugs'; what a wheel
drags along by shear alone (`shear_layer`) is not lifted. A smooth wheel's contact thus ends a
millimetre or less behind the lowest point, a lugged one's grows with slip.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from marsyard.ground.soil import Soil
from marsyard.robot import Wheel
from marsyard.wheel_surface import TreadSurface

#: how slip softens the soil
SlipSinkage = Literal["lyasko", "exponent", "none"]


class Strength(NamedTuple):
    """Mean strength of the soil under a tread."""

    cohesion: float  # [Pa]
    tan_phi: float
    K_x: float  # [m], along the wheel
    K_y: float  # [m], across it


class Tread(NamedTuple):
    """A wheel's tread; lugs of a count that is not known stand close."""

    radius: float  # of the rim [m]
    surface: TreadSurface | None = None  # none: as strong as the soil
    lug_height: float = 0.0  # [m]
    lug_count: int | None = None
    lug_thickness: float = 0.0  # [m]

    @classmethod
    def of(cls, wheel: Wheel) -> Tread:
        """Of a robot's wheel."""
        lugs = wheel.grousers
        if lugs is None:
            return cls(wheel.radius, wheel.surface)
        return cls(wheel.radius, wheel.surface, lugs.height, lugs.count, lugs.thickness)

    def lug_share(self, phi: float) -> float:
        """f_lugs in a soil of friction angle φ [rad]."""
        if self.lug_height <= 0:
            return 0.0
        if self.lug_count is None:
            return 1.0
        held = self.lug_thickness + self.lug_height * math.tan(0.25 * math.pi + 0.5 * phi)
        return min(1.0, self.lug_count * held / (2 * math.pi * self.radius))

    def carried_layer(self, soil: Soil) -> float:
        """δ, mean thickness of the layer that moves with the tread [m]."""
        if self.lug_height <= 0.0:
            return soil.shear_layer
        held = self.lug_share(soil.number("friction_angle"))
        return held * self.lug_height + soil.shear_layer

    def lifted_share(self, soil: Soil) -> float:
        """Share of that layer which lugs lift; the rest is sheared under the rim."""
        layer = self.carried_layer(soil)
        return 1.0 - soil.shear_layer / layer if layer > 0.0 else 0.0

    def soil_share(self, phi: float) -> float:
        """f, the share on which soil shears on soil; 1 without a surface."""
        if self.surface is None:
            return 1.0
        return 1.0 - (1.0 - self.lug_share(phi)) * (1.0 - self.surface.open_area)


def strength(soil: Soil, tread: Tread | None, K_x: float, K_y: float) -> Strength:
    """Mean strength under a tread, or of the soil; its K along and across the wheel [m]."""
    c, phi = soil.number("cohesion"), soil.number("friction_angle")
    surface = None if tread is None else tread.surface
    if tread is None or surface is None:
        return Strength(c, math.tan(phi), K_x, K_y)
    f = tread.soil_share(phi)
    K = surface.modulus
    on_rim = K_x if K is None else min(K, K_x)
    tan_delta = math.tan(surface.friction * phi)
    return Strength(
        c * (f + (1.0 - f) * surface.adhesion), f * math.tan(phi) + (1.0 - f) * tan_delta,
        f * K_x + (1.0 - f) * on_rim, K_y,
    )  # fmt: skip


def softening(soil: Soil, slip_sinkage: str) -> float:
    """n/(n + 1) of Lyasko's slip sinkage; 0 where none is wanted."""
    if slip_sinkage != "lyasko":
        return 0.0
    n = soil.number("exponent")
    return n / (n + 1.0)


def wall_scale(soil: Soil, width: float) -> float:
    """b tan φ_r of a wheel's trench [m]."""
    return width * math.tan(soil.number("repose_angle"))
