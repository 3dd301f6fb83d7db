"""Nonsmooth contact with exact 3D Coulomb friction: the cone, the solver, the compiled kernel.

    from marsyard.interaction.nonsmooth import solve_friction_contact
    solution = solve_friction_contact(W, q, mu)          # u = W r + q, K* ∋ û ⊥ r ∈ K

The solver sees a Delassus matrix, a free velocity and friction coefficients, and knows nothing of
robots. `solve_kernel` is the same solver for compiled loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.interaction.nonsmooth.codes import (
        AUTO,
        CENTRAL_PATH,
        CONVERGED,
        GAUSS_SEIDEL,
        NEWTON,
        NOT_CONVERGED,
        NOT_FINITE,
        PROXIMAL,
    )
    from marsyard.interaction.nonsmooth.cone import (
        de_saxce,
        dual,
        is_inside,
        is_inside_dual,
        project,
        project_dual,
    )
    from marsyard.interaction.nonsmooth.kernel import solve_kernel, work_size
    from marsyard.interaction.nonsmooth.residual import friction_contact_residual
    from marsyard.interaction.nonsmooth.single_contact import one_contact
    from marsyard.interaction.nonsmooth.solver import (
        METHODS,
        FrictionContactSolution,
        solve_friction_contact,
    )

_HOME = {
    "AUTO": "codes",
    "CENTRAL_PATH": "codes",
    "CONVERGED": "codes",
    "FrictionContactSolution": "solver",
    "GAUSS_SEIDEL": "codes",
    "METHODS": "solver",
    "NEWTON": "codes",
    "NOT_CONVERGED": "codes",
    "NOT_FINITE": "codes",
    "PROXIMAL": "codes",
    "de_saxce": "cone",
    "dual": "cone",
    "friction_contact_residual": "residual",
    "is_inside": "cone",
    "is_inside_dual": "cone",
    "one_contact": "single_contact",
    "project": "cone",
    "project_dual": "cone",
    "solve_friction_contact": "solver",
    "solve_kernel": "kernel",
    "work_size": "kernel",
}

__all__ = [
    "AUTO",
    "CENTRAL_PATH",
    "CONVERGED",
    "GAUSS_SEIDEL",
    "METHODS",
    "NEWTON",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "PROXIMAL",
    "FrictionContactSolution",
    "de_saxce",
    "dual",
    "friction_contact_residual",
    "is_inside",
    "is_inside_dual",
    "one_contact",
    "project",
    "project_dual",
    "solve_friction_contact",
    "solve_kernel",
    "work_size",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
