"""What the wheel models work on: plain arrays of numbers, and what they answer.

A model is called with the wheel's numbers, the soil's numbers, the model's own coefficients, and
the motion: depth z [m] to which the wheel's lowest point (of the rim, without lugs) presses the
soil, that is the sinkage below the plane of the ground less what slip has dug away; velocity of the
centre along and across the wheel (v_x forward, v_y to the left) and speed w = r_s ω of the surface
that shears the soil, all [m/s]. It answers with forces and moments on the wheel at its centre, in
the frame x forward, y left, z normal to the ground.
"""

from __future__ import annotations

# columns of the wheel's numbers [m, –]
RADIUS, WIDTH, SHEAR_RADIUS, EXIT_RULE, EXIT_VALUE = range(5)
WHEEL_NUMBERS = 5
# values of EXIT_RULE
BY_HEIGHT, BY_ANGLE, BY_REBOUND = 0.0, 1.0, 2.0

# columns of the soil's numbers under a wheel (see `interaction.tread`): pressure-sinkage law, mean
# strength, resistance of a blade of unit width by its depth and the square of it, stiffness of
# unloading [Pa/m], exponent of slip sinkage, layer carried along by slip, depth dug away, scale of
# the trench's walls [m]; radius at which the soil begins to be sheared [m]; resistance in front of
# the wheel by its sinkage and the square of it; share of the layer that lugs lift
(
    MODULUS, EXPONENT, EXPONENT_SLIP, COHESION, TAN_PHI, K_X, K_Y, BLADE, BLADE_SQUARE,
    EXPONENT_SIDE, UNLOADING, SOFTENING, LAYER, DUG, WALLS, LUG_RADIUS, FRONT, FRONT_SQUARE,
    LIFTED,
) = range(19)  # fmt: skip
SOIL_NUMBERS = 19

# columns of the answer: forces [N], moments [N·m], angles [rad]; thrust is the part of F_X from
# shear, resistance the part from normal stress (positive against the motion); SLOPE_X = ∂F_x/∂s and
# SLOPE_Y = −∂F_y/∂(v_y/w) [N] (not of the fitted models)
F_X, F_Y, F_Z, M_X, M_Y, M_Z, ENTRY, EXIT, THRUST, RESISTANCE, SLOPE_X, SLOPE_Y = range(12)
ANSWERS = 12

#: slip beyond which a ratio of speeds counts as infinite
STILL = 1e-9
