"""Solve a friction-contact problem directly, without a robot.

A box of 1 kg touches the ground with its four corners and is pushed sideways. Four contacts have
twelve impulses, the box has six degrees of freedom: the matrix W is singular, and the impulses of
single corners are not unique. The solver returns the least-norm ones; the velocity is unique.
"""

from __future__ import annotations

import numpy as np

from marsyard.interaction.nonsmooth import friction_contact_residual, solve_friction_contact

MASS, STEP, GRAVITY = 1.0, 0.01, 9.81
SIZE = np.array([0.4, 0.3, 0.2])  # m
MU = 0.5


def box_problem(push: float) -> tuple[np.ndarray, np.ndarray]:
    """W [1/kg] and q [m/s] of a box on the ground, pushed along x with a force [N]."""
    inertia = MASS / 12 * (np.sum(SIZE**2) - SIZE**2)
    inverse_mass = np.diag(np.r_[np.full(3, 1 / MASS), 1 / inertia])
    rows = []
    for corner in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        arm = 0.5 * SIZE * np.array([*corner, -1.0])
        axes = np.eye(3)[[2, 0, 1]]  # normal, tangent, tangent
        rows.append(np.hstack([axes, np.cross(arm, axes)]))
    jacobian = np.vstack(rows)
    free = STEP * np.array([push / MASS, 0, -GRAVITY, 0, 0, 0])
    return jacobian @ inverse_mass @ jacobian.T, jacobian @ free


def main() -> None:
    limit = MU * MASS * GRAVITY
    for push in (0.5 * limit, 2.0 * limit):
        W, q = box_problem(push)
        solution = solve_friction_contact(W, q, MU)
        force = solution.impulse.reshape(4, 3) / STEP
        print(f"push {push:.2f} N (friction limit {limit:.2f} N)")
        print(f"  normal forces of the corners {np.round(force[:, 0], 3)} N")
        print(f"  friction in all {force[:, 1].sum():.3f} N, speed {solution.velocity[1]:.4f} m/s")
        error = friction_contact_residual(W, q, np.full(4, MU), solution.impulse)
        print(f"  residual {error:.1e}, found by {solution.method}")
        assert solution.converged


if __name__ == "__main__":
    main()
