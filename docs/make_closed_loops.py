"""Iterative against direct solution of closed loops: table and figure of physics/closed-loops.md.

python docs/make_closed_loops.py      prints the table, writes images/closed-loops.png and chain.png
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from numba import njit

from marsyard.robot import load_robot

IMAGES = Path(__file__).with_name("images")
TOLERANCE = 1e-9
MOST = 100_000


class Problem(NamedTuple):
    """M q̈ + Jᵀλ = F, J q̈ = γ."""

    name: str
    M: np.ndarray
    J: np.ndarray
    F: np.ndarray
    gamma: np.ndarray


def of_model(name: str, model: mujoco.MjModel, seed: int = 1) -> Problem:
    """The problem of a mechanism moving within its loops."""
    data = mujoco.MjData(model)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(model, data)
    J = data.efc_J[: data.ne * model.nv].reshape(data.ne, model.nv).copy()
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    rng = np.random.default_rng(seed)
    # a velocity that keeps the loops closed, and γ = −J̇ q̇ by a difference along it
    v = rng.standard_normal(model.nv)
    v -= np.linalg.pinv(J) @ (J @ v)
    e = 1e-6
    mujoco.mj_integratePos(model, data.qpos, v, e)
    data.qvel[:] = v
    mujoco.mj_forward(model, data)
    after = data.efc_J[: data.ne * model.nv].reshape(data.ne, model.nv)
    gamma = -(after - J) @ v / e
    return Problem(name, M, J, -data.qfrc_bias.copy(), gamma)


def ladder(loops: int) -> mujoco.MjModel:
    """A chain of four-bar linkages on top of each other, each closed by a pin."""
    link = '<inertial pos="{0} 0 {1}" mass="1" diaginertia="0.01 0.01 0.01"/>'
    text, close = "", ""
    for k in range(loops):
        z = 0.0 if k == 0 else 0.5
        text += (
            f'<body name="r{k}" pos="0.4 0 {z}"><joint axis="0 1 0"/>{link.format(0, 0.25)}</body>'
            f'<body name="l{k}" pos="0 0 {z}"><joint axis="0 1 0"/>{link.format(0, 0.25)}'
            f'<body name="t{k}" pos="0 0 0.5"><joint axis="0 1 0"/>{link.format(0.2, 0)}'
        )
        close += f'<connect body1="t{k}" body2="r{k}" anchor="0.4 0 0"/>'
    text += "</body></body>" * loops
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{text}</worldbody><equality>{close}</equality></mujoco>"
    )


@njit
def direct(A, b):
    """λ of A λ = b by Cholesky with the largest pivot first, as the engine does."""
    n = len(b)
    L = np.zeros((n, n))
    order = np.arange(n)
    pivot = np.diag(A).copy()
    x = b.copy()
    rank = 0
    largest = pivot.max()
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if pivot[order[i]] > pivot[order[best]]:
                best = i
        order[k], order[best] = order[best], order[k]
        row = order[k]
        if pivot[row] <= 1e-10 * largest:
            break
        rank += 1
        L[row, k] = np.sqrt(pivot[row])
        for i in range(k + 1, n):
            o = order[i]
            s = A[row, o]
            for j in range(k):
                s -= L[row, j] * L[o, j]
            L[o, k] = s / L[row, k]
            pivot[o] -= L[o, k] ** 2
    out = np.zeros(n)
    for k in range(rank):
        row = order[k]
        for j in range(k):
            x[row] -= L[row, j] * x[order[j]]
        x[row] /= L[row, k]
    for k in range(rank - 1, -1, -1):
        row = order[k]
        s = x[row]
        for i in range(k + 1, rank):
            s -= L[order[i], k] * out[order[i]]
        out[row] = s / L[row, k]
    return out


@njit
def iterate(H, J, free, gamma, c, tolerance, most, errors):
    """λ ← λ + c δ, δ = J q̈ − γ, q̈ = free − H λ; returns iterations, fills the errors."""
    lam = np.zeros(len(gamma))
    scale = np.abs(J @ free - gamma).max()
    for k in range(most):
        delta = J @ (free - H @ lam) - gamma
        worst = np.abs(delta).max() / scale
        if k < len(errors):
            errors[k] = worst
        if worst < tolerance:
            return k
        lam += c * delta
    return most


def times(function, *arguments) -> float:
    function(*arguments)
    count, best = 20, np.inf
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(count):
            function(*arguments)
        best = min(best, (time.perf_counter() - began) / count)
    return best


def solve(p: Problem) -> list[tuple[str, float, float, float, np.ndarray]]:
    """For each method: iterations, time [s], error of J q̈ = γ, errors on the way."""
    rows = []
    W = p.J @ np.linalg.solve(p.M, p.J.T)
    free = np.linalg.solve(p.M, p.F)
    b = p.J @ free - p.gamma
    scale = np.abs(b).max()
    lam = direct(W, b)
    acceleration = free - np.linalg.solve(p.M, p.J.T @ lam)
    error = np.abs(p.J @ acceleration - p.gamma).max() / scale
    rows.append(("direct", 1, times(direct, W, b), error, np.array([1.0, error])))
    sizes = np.linalg.eigvalsh(W)
    largest, smallest = sizes[-1], sizes[sizes > 1e-10 * sizes[-1]][0]
    errors = np.full(3000, np.nan)
    H = np.ascontiguousarray(np.linalg.solve(p.M, p.J.T))
    c = 2.0 / (largest + smallest)
    n = iterate(H, p.J, free, p.gamma, c, TOLERANCE, MOST, errors)
    spent = times(iterate, H, p.J, free, p.gamma, c, TOLERANCE, MOST, errors)
    rows.append(("eq. (13), best c", n, spent, TOLERANCE, errors.copy()))
    for factor in (1.0, 100.0):
        c = factor / smallest
        augmented = p.M + c * p.J.T @ p.J
        H = np.ascontiguousarray(np.linalg.solve(augmented, p.J.T))
        free_c = np.linalg.solve(augmented, p.F + c * p.J.T @ p.gamma)
        errors[:] = np.nan
        n = iterate(H, p.J, free_c, p.gamma, c, TOLERANCE, MOST, errors)
        spent = times(iterate, H, p.J, free_c, p.gamma, c, TOLERANCE, MOST, errors)
        label = f"augmented, c = {factor:g}/σ_min"
        rows.append((label, n, spent, TOLERANCE, errors.copy()))
    return rows


def main() -> None:
    """Print the table and write the figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    problems = [
        of_model("leg_2001 (pantograph)", load_robot("leg_2001").spec().compile()),
        of_model("3 linkages", ladder(3)),
        of_model("10 linkages", ladder(10)),
        of_model("30 linkages", ladder(30)),
    ]
    figure, panels = plt.subplots(1, len(problems), figsize=(11, 3.4), sharey=True,
                                  layout="constrained")  # fmt: skip
    print("| mechanism | nv | rows of J (rank) | method | iterations | time [µs] | error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for p, axes in zip(problems, panels, strict=True):
        rank = np.linalg.matrix_rank(p.J)
        for label, n, spent, error, errors in solve(p):
            print(f"| {p.name} | {len(p.M)} | {len(p.J)} ({rank}) | {label} | {n:g} "
                  f"| {1e6 * spent:.3g} | {error:.1e} |")  # fmt: skip
            axes.loglog(np.arange(1, len(errors) + 1), errors, "o-" if n == 1 else "-",
                        label=label)  # fmt: skip
        axes.set(title=p.name, xlabel="iterations", ylim=(1e-16, 10))
        axes.grid(True, alpha=0.3)
    panels[0].set_ylabel("‖J q̈ − γ‖ relative")
    panels[0].legend(fontsize=7)
    figure.savefig(IMAGES / "closed-loops.png", dpi=100)
    chain = Path(__file__).parents[1] / "benchmarks" / "chain.py"
    runpy.run_path(str(chain))["plot"](str(IMAGES / "chain.png"))


if __name__ == "__main__":
    main()
