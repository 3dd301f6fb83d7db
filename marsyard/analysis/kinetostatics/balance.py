"""Static equilibrium with friction cones and torque limits: the forces a stance can bear and exert.

Unknown are the contact forces f_i = (N_i, T_i, S_i) (normal, along, left), the torques τ of the
driven joints, the forces λ of closures and those ρ of stops that are touched. They balance weight
and an external wrench w on the platform (see `stance`),

    Σ_i W_iᵀ f_i + w_weight + w = 0,      Σ_i S_iᵀ f_i + τ_weight + τ + Cᵀ λ + ρ = 0

within

    √(T_i² + S_i²) ≤ μ_i N_i      Coulomb's cone, exact (second order)
    |τ_k| ≤ τ_max,k               motors; without limit unless given

All that is asked is one convex program each (Clarabel, an interior-point solver for cones):

- `forces`: a balance of least Σ (T_i² + S_i²), with the least Σ N_i² among these
- `largest`: the largest s for which the platform can push with s d, w = −s d (d a wrench): traction
- `friction_demand`: the smallest μ with which there is a balance, and the torques that need no
  more: the distribution that minimises the highest friction demand, max_i √(T_i² + S_i²)/N_i. The
  cones grow with μ, so it is found by bisection
- `support`: the point of the set of wrenches that is furthest in a direction (see `polytope`)
- `tilt`: the largest angle by which gravity may be turned in a direction before nothing balances;
  since a balance can be scaled with gravity this is one program as well, unless torque limits,
  springs or another load have a size of their own

Assumptions: quasi-static, rigid bodies and ground, any contact force within its cone can be chosen
(ideal traction control). So every result is an upper bound of what a controller can do; that
rigid statics is often indeterminate does not matter: a balance exists or does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.errors import InputError, suggest

#: accuracy of the friction demand, and the highest looked for
DEMAND_STEP, HIGHEST_DEMAND = 1e-6, 1e4


@dataclass(frozen=True)
class Forces:
    """Forces in balance.

    Attributes:
        contacts: names; normal, along, left: components [N], [n] each, acting on the robot.
        torque: of the driven joints [N·m], by name; stops: of the stops that passive joints lie on.
        wrench: that acts on the platform from outside, in R₀ [N, N·m], [6].
    """

    contacts: tuple[str, ...]
    normal: np.ndarray
    along: np.ndarray
    left: np.ndarray
    torque: dict[str, float]
    stops: dict[str, float]
    wrench: np.ndarray

    @property
    def use(self) -> np.ndarray:
        """Friction that each contact uses, √(T² + S²)/N; 0 without load, [n]."""
        small = 1e-9 * max(float(np.abs(self.normal).max(initial=0.0)), 1e-30)
        size = np.hypot(self.along, self.left)
        return np.where(self.normal > small, size / np.maximum(self.normal, small), 0.0)

    @property
    def demand(self) -> float:
        """The highest use of friction."""
        return float(self.use.max(initial=0.0))


class Balance:
    """The balance of one stance.

    Args:
        friction: μ of all contacts, or by name.
        torque: largest torque of driven joints [N·m], one for all drives of wheels or by joint;
            none: without limit.
        load: on platform and joints besides the weight [N, N·m], [6 + k], e.g. inertia forces.
    """

    def __init__(
        self,
        stance: Stance,
        friction: float | Mapping[str, float] = 0.6,
        torque: float | Mapping[str, float] | None = None,
        load: np.ndarray | None = None,
    ) -> None:
        self.stance = stance
        self.friction = _friction(stance, friction)
        self.limits = _limits(stance, torque)
        self._problem = _Problem(stance, self.limits)
        # whether a balance can be scaled with gravity
        self._scales = not (np.isfinite(self.limits).any() or stance.springs.any())
        if load is not None:
            self._problem.load = self._problem.load + load
            self._scales = self._scales and not np.any(load)

    def forces(self, wrench: np.ndarray | None = None) -> Forces | None:
        """The equilibrium with least tangential forces under an external wrench; None if there is
        none.

        `wrench`: on the platform, in R₀ [N, N·m], [6]; none without.
        """
        p = self._problem
        quadratic = np.zeros(p.size)
        quadratic[p.tangents] = 1.0
        quadratic[p.normals] = 1e-4
        found = p.solve(np.zeros(p.size), self.friction, wrench, quadratic=quadratic)
        return None if found is None else self._forces(found, wrench)

    def largest(self, direction: np.ndarray, wrench: np.ndarray | None = None) -> Push:
        """The largest push of the platform along `direction`, a wrench [6] or a force [3] in R₀.

        The reaction −s d acts on the platform, on top of `wrench`. NaN where there is no
        equilibrium even for s = 0 and none for any s; inf where nothing bounds it.
        """
        d = _as_wrench(direction)
        p = self._problem
        found = p.solve(-p.unit_s, self.friction, wrench, along=-d)
        if found is None:
            return Push(math.nan, None)
        if found is UNBOUNDED:
            return Push(math.inf, None)
        s = float(found[p.s])
        acting = -s * d if wrench is None else np.asarray(wrench) - s * d
        return Push(s, self._forces(found, acting))

    def support(
        self, direction: np.ndarray, columns: np.ndarray, most: np.ndarray,
        wrench: np.ndarray | None = None,
    ) -> np.ndarray | None:  # fmt: skip
        """The point y of the set of wrenches Σ_j y_j columns_j that the platform can exert, with
        |y_j| ≤ most_j, that is furthest along a direction; None if the set is empty.

        Args:
            direction: of y, [m]; columns: [m, 6], all other wrenches are none; most: [m].
        """
        p = self._problem
        found = p.solve_set(np.asarray(direction), columns, most, self.friction, wrench)
        return None if found is None else found[p.size : p.size + len(columns)]

    def friction_demand(
        self, wrench: np.ndarray | None = None, accuracy: float = DEMAND_STEP
    ) -> tuple[float, Forces | None]:
        """The smallest friction that allows an equilibrium, and its forces.

        inf and None if there is none with any friction. One friction for all contacts.
        """
        low, high = 0.0, 0.05
        if self._stands(low, wrench):
            return 0.0, self._at(0.0, wrench)
        while not self._stands(high, wrench):
            low, high = high, 2 * high
            if high > HIGHEST_DEMAND:
                return math.inf, None
        while high - low > accuracy * max(1.0, high):
            middle = 0.5 * (low + high)
            if self._stands(middle, wrench):
                high = middle
            else:
                low = middle
        return high, self._at(high * (1 + 1e-6) + 1e-9, wrench)

    def tilt(self, towards: np.ndarray) -> float:
        """Largest angle [rad] by which gravity may turn from its own towards a direction of R₀.

        0 if there is no equilibrium in the stance itself; at most 90°.
        """
        g = self.stance.gravity
        size = float(np.linalg.norm(g))
        down = g / size
        side = np.asarray(towards, dtype=float)
        side = side - (side @ down) * down
        if np.linalg.norm(side) < 1e-9:
            raise InputError("towards: must not be along gravity")
        side /= np.linalg.norm(side)
        if self._scales:
            return self._free_tilt(side, size)
        low, high = 0.0, math.pi / 2
        if not self._stands_tilted(down, side, 0.0, size):
            return 0.0
        while high - low > 1e-7:
            middle = 0.5 * (low + high)
            if self._stands_tilted(down, side, middle, size):
                low = middle
            else:
                high = middle
        return low

    # --- pieces

    def _free_tilt(self, side: np.ndarray, size: float) -> float:
        p = self._problem
        found = p.solve(-p.unit_s, self.friction, None, along=p.weight_of(size * side), joints=True)
        if found is None:
            return 0.0
        if found is UNBOUNDED:
            return math.pi / 2
        return max(math.atan(float(found[p.s])), 0.0)

    def _stands_tilted(self, down: np.ndarray, side: np.ndarray, angle: float, size: float) -> bool:
        p = self._problem
        change = size * (math.sin(angle) * side + (math.cos(angle) - 1) * down)
        found = p.solve(np.zeros(p.size), self.friction, None, load=p.weight_of(change))
        return found is not None

    def _stands(self, friction: float, wrench: np.ndarray | None) -> bool:
        p = self._problem
        mu = np.full(len(self.stance.contacts), friction)
        return p.solve(np.zeros(p.size), mu, wrench) is not None

    def _at(self, friction: float, wrench: np.ndarray | None) -> Forces | None:
        same = Balance.__new__(Balance)
        same.stance, same.limits, same._problem = self.stance, self.limits, self._problem
        same.friction = np.full(len(self.stance.contacts), friction)
        return same.forces(wrench)

    def _forces(self, found: np.ndarray, wrench: np.ndarray | None) -> Forces:
        p, s = self._problem, self.stance
        f = found[: p.contact_size].reshape(-1, 3)
        torque = found[p.torques]
        names = [name for name, d in zip(s.joints, s.driven, strict=True) if d]
        stopped = np.flatnonzero(s.stops)
        stops = s.stops[stopped] * found[p.stopping]
        acting = np.zeros(6) if wrench is None else np.asarray(wrench, dtype=float)
        return Forces(
            contacts=s.contacts, normal=f[:, 0], along=f[:, 1], left=f[:, 2],
            torque=dict(zip(names, map(float, torque), strict=True)),
            stops={s.joints[k]: float(v) for k, v in zip(stopped, stops, strict=True)},
            wrench=acting,
        )  # fmt: skip


@dataclass(frozen=True)
class Push:
    """How far a platform can push: the size of the push [N or N·m], and the forces then."""

    size: float
    forces: Forces | None


class _Unbounded:
    """Answer of a program that nothing bounds."""


UNBOUNDED = _Unbounded()


class _Problem:
    """The balance as a conic program, min ½ zᵀPz + cᵀz, A z + s = b, s in cones.

    z = (f of all contacts, τ of driven joints, λ, ρ, s), lengths by the largest lever and forces by
    the weight, so that numbers are of order one.
    """

    def __init__(self, stance: Stance, limits: np.ndarray) -> None:
        n, k = len(stance.contacts), len(stance.joints)
        driven = np.flatnonzero(stance.driven)
        stopped = np.flatnonzero(stance.stops)
        closures = stance.closures
        self.stance = stance
        self.contact_size = 3 * n
        first = 3 * n
        self.torques = np.arange(first, first + len(driven))
        first += len(driven)
        closing = np.arange(first, first + len(closures))
        first += len(closures)
        stopping = np.arange(first, first + len(stopped))
        self.s = first + len(stopped)
        self.size = self.s + 1
        self.unit_s = np.eye(self.size)[self.s]
        self.normals = np.arange(0, 3 * n, 3)
        self.tangents = np.setdiff1d(np.arange(3 * n), self.normals)
        force = stance.mass * float(np.linalg.norm(stance.gravity))
        length = max(float(np.abs(stance.points).max()), 1e-3)
        self.force = force
        lever = np.full(3 + k, 1 / (force * length))
        self._rows = np.concatenate([np.full(3, 1 / force), lever])
        self._column = np.full(self.size, force)
        self._column[self.torques] *= length
        self._column[stopping] *= length
        matrix = np.zeros((6 + k, self.size))
        matrix[:6, : 3 * n] = stance.wrenches.reshape(3 * n, 6).T
        matrix[6:, : 3 * n] = stance.rates.reshape(3 * n, k).T
        matrix[6 + driven, self.torques] = 1.0
        matrix[6:, closing] = closures.T
        for column, joint in zip(stopping, stopped, strict=True):
            matrix[6 + joint, column] = stance.stops[joint]
        self.matrix = matrix
        self.load = np.concatenate([stance.weight, stance.weight_joints])
        self.stopping = stopping
        self._limited = np.flatnonzero(np.isfinite(limits))
        self._limits = limits[self._limited]
        self._n = n

    def weight_of(self, gravity: np.ndarray) -> np.ndarray:
        """Load of another gravity in R₀ [m/s²], [6 + k]."""
        return self.stance.weight_matrix @ gravity

    def solve(
        self,
        cost: np.ndarray,
        friction: np.ndarray,
        wrench: np.ndarray | None,
        along: np.ndarray | None = None,
        joints: bool = False,
        load: np.ndarray | None = None,
        quadratic: np.ndarray | None = None,
    ):
        """The best z; None if none is feasible, UNBOUNDED if the cost falls without end.

        `along` is the load per s: a wrench [6], or with `joints` one on all rows [6 + k]; `load`
        comes on top of the weight.
        """
        matrix = self.matrix.copy()
        if along is not None:
            matrix[: len(along), self.s] = along
        else:
            matrix = np.delete(matrix, self.s, axis=1)
            cost = np.delete(cost, self.s)
        rest = self.load.copy()
        if wrench is not None:
            rest[:6] += wrench
        if load is not None:
            rest = rest + load
        found = self._solve(matrix, cost, friction, -rest, quadratic)
        if found is None or found is UNBOUNDED:
            return found
        return found if along is not None else np.append(found, 0.0)

    def solve_set(
        self, direction: np.ndarray, columns: np.ndarray, most: np.ndarray, friction: np.ndarray,
        wrench: np.ndarray | None,
    ):  # fmt: skip
        """The best (z, y) for the largest direction·y, the platform exerting columnsᵀ y."""
        m = len(columns)
        matrix = np.hstack([self.matrix, np.zeros((len(self.matrix), m))])
        matrix[:6, self.size :] = -np.asarray(columns, dtype=float).T
        cost = np.concatenate([np.zeros(self.size), -np.asarray(direction, dtype=float)])
        rest = self.load.copy()
        if wrench is not None:
            rest[:6] += wrench
        return self._solve(matrix, cost, friction, -rest, None, most)

    def _solve(self, matrix, cost, friction, right, quadratic, most=None):
        """min ½ zᵀ diag(quadratic) z + costᵀz with matrix z = right within the cones."""
        import clarabel
        from scipy import sparse

        size = matrix.shape[1]
        column = np.concatenate([self._column, np.full(size, self.force)])[:size]
        if most is not None:
            column[self.size :] = most
        equal = self._rows[:, None] * matrix * column
        scale = np.maximum(np.abs(equal).max(axis=1, initial=0.0), 1e-12)
        linear, bound = self._linear(size, most)
        linear = linear * column
        cone = np.zeros((3 * self._n, size))
        diagonal = np.arange(3 * self._n)
        cone[diagonal, diagonal] = np.where(diagonal % 3 == 0, -np.repeat(friction, 3), -1.0)
        blocks = (equal / scale[:, None], linear / self.force, cone)
        rights = (self._rows * right / scale, bound / self.force, np.zeros(3 * self._n))
        cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(linear))]
        cones += [clarabel.SecondOrderConeT(3)] * self._n
        weights = np.zeros(size)
        if quadratic is not None:
            weights[: len(quadratic)] = quadratic[:size]
        goal = cost * column
        goal = goal / max(float(np.abs(goal).max()), 1e-30)
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.diag(weights)), goal, sparse.csc_matrix(np.vstack(blocks)),
            np.concatenate(rights), cones, _settings(),
        )  # fmt: skip
        answer = solver.solve()
        status = str(answer.status)
        if status in ("Solved", "AlmostSolved"):
            return np.asarray(answer.x) * column
        if status in ("DualInfeasible", "AlmostDualInfeasible"):
            return UNBOUNDED
        return None

    def _linear(self, size: int, most: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all that is bounded by numbers, row·z ≤ bound.

        Loads push (said again beside the cones, which without friction have no inside), torques,
        stops, and what else is capped.
        """
        columns: list[tuple[int, float, float]] = [(3 * i, -1.0, 0.0) for i in range(self._n)]
        for k, limit in zip(self._limited, self._limits, strict=True):
            columns += [(self.torques[k], 1.0, limit), (self.torques[k], -1.0, limit)]
        columns += [(int(c), -1.0, 0.0) for c in self.stopping]
        if most is not None:
            for j, limit in enumerate(most):
                columns += [(self.size + j, 1.0, limit), (self.size + j, -1.0, limit)]
        rows = np.zeros((len(columns), size))
        for i, (column, sign, _) in enumerate(columns):
            rows[i, column] = sign
        return rows, np.array([limit for *_, limit in columns])


def _settings():
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return settings


def _as_wrench(direction: np.ndarray) -> np.ndarray:
    d = np.asarray(direction, dtype=float)
    if d.shape == (3,):
        d = np.concatenate([d, np.zeros(3)])
    if d.shape != (6,) or not np.isfinite(d).all() or not np.any(d):
        raise InputError("direction: a force [3] or a wrench [6] that is not zero is expected")
    return d


def _friction(stance: Stance, friction: float | Mapping[str, float]) -> np.ndarray:
    given = friction if isinstance(friction, Mapping) else None
    if given is not None:
        for name in given:
            if name not in stance.contacts:
                raise InputError(
                    f"friction: no contact is called '{name}'; {suggest(name, stance.contacts)}"
                )
    values = [friction if given is None else given.get(c, 0.0) for c in stance.contacts]
    out = np.array(values, dtype=float)
    if not (np.isfinite(out).all() and (out >= 0).all()):
        raise InputError(f"friction = {friction}: must be 0 or more")
    return out


def _limits(stance: Stance, torque: float | Mapping[str, float] | None) -> np.ndarray:
    """Largest torques of the driven joints [N·m], inf without limit."""
    names = [name for name, d in zip(stance.joints, stance.driven, strict=True) if d]
    out = np.full(len(names), np.inf)
    if torque is None:
        return out
    if isinstance(torque, Mapping):
        for name, value in torque.items():
            if name not in names:
                raise InputError(
                    f"torque: no driven joint is called '{name}'; {suggest(name, names)}"
                )
            out[names.index(name)] = value
    else:
        wheels = {w.joint for w in stance.robot.wheels.values()}
        out[[name in wheels for name in names]] = torque
    if not (out > 0).all():
        raise InputError(f"torque = {torque}: must be above 0")
    return out
