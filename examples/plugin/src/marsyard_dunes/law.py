"""A law of contact: wheels on a level elastic bed (Winkler's foundation) with friction.

A wheel of radius r whose centre is at height z presses δ = r − z > 0 into the bed. At its lowest
point, which moves with u = v + ω × (0, 0, −r),

    N = max(0, k δ − c u_z)                          upwards [N]
    T = −μ N u_t / max(|u_t|, v₀)                    Coulomb's friction, linear below v₀ [N]

k stiffness [N/m], c damping [N·s/m], μ friction, v₀ = 1 cm/s. Both are given with their derivative
by the velocity, so that marsyard takes them implicitly and the step may be long.
"""

import numpy as np

from marsyard.modules import ContactBodyWrenches

SLOW = 0.01  # v₀ [m/s]


def elastic_bed(scenario, stiffness=2e4, damping=500.0, friction=0.7):
    """Wheels on a level elastic bed with friction."""

    def act(time, step, organs):
        n = len(organs.name)
        force, moment, damp = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 7, 7))
        for i in np.flatnonzero(organs.radius > organs.position[:, 2]):
            lever = cross(np.array([0.0, 0.0, -organs.radius[i]]))
            u = organs.velocity[i] - lever @ organs.angular_velocity[i]
            depth = organs.radius[i] - organs.position[i, 2]
            normal = max(0.0, stiffness * depth - damping * u[2])
            drag = friction * normal / max(np.hypot(u[0], u[1]), SLOW)
            force[i] = -drag * u[0], -drag * u[1], normal
            moment[i] = lever @ force[i]
            # the point's velocity from the wheel's six
            point = np.hstack([np.eye(3), -lever])
            rates = np.diag([drag, drag, damping + stiffness * step])
            damp[i, :6, :6] = point.T @ rates @ point
        return ContactBodyWrenches(force, moment, damp)

    return act


def cross(r):
    """The matrix of r ×."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
