"""Closing the loops of a robot at the start: the nearest pose that satisfies all constraints.

The equations of all closures (`loops` of robot.yaml, `<equality>` of the model) are r(q) = 0, with
J = ∂r/∂q as MuJoCo builds them; points are counted in [m], angles and gears in [rad]. From the
given q₀ the nearest solution is sought,

    min |q ⊖ q₀|²   subject to   r(q) = 0

by Gauss-Newton steps that close and, once closed, steps along the solutions towards q₀:

    dq = −J⁺ r(q)                       J⁺ the pseudo-inverse: redundant equations do no harm
    dq = (1 − J⁺J) (q₀ ⊖ q)

with Levenberg's damping where a step would make |r| larger. Free joints are held, so that the robot
stays where it is, and joints whose angle was asked for as far as that can be; stops of joints are
not looked at. A pose in which a step leads nowhere (all links in line, for example) is left by
small steps to the side, always the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.robot.loops import loop_of

#: loops closer than this are closed: nothing is moved [m, rad]
CLOSED = 1e-10
#: a loop that stays further open than this cannot close [m, rad]
OPEN = 1e-9
_STEPS = 200
_STILL = 1e-8  # of steps along the solutions [rad, m]
_LONGEST = 0.3  # step of one joint [rad, m]
_ASIDE = (0.0, 1e-3, 0.03, 0.3, 1.0)  # steps to the side for a fresh start [rad, m]


class Closing(NamedTuple):
    """A pose, and by how much each closure is open there [m, rad], by its number in the model."""

    qpos: np.ndarray
    open: dict[int, float]

    @property
    def worst(self) -> float:
        """The largest of all openings, 0 without closures [m, rad]."""
        return max(self.open.values(), default=0.0)


def close_loops(
    model: mujoco.MjModel, data: mujoco.MjData, where: str, held: Iterable[str] = ()
) -> None:
    """Move `data.qpos` to the nearest pose that closes all loops; `where` begins error sentences.

    The joints `held` keep their angles if the loops can be closed that way. A pose that is closed
    already is left as it is, bit for bit.
    """
    if model.neq == 0:
        return
    still = _free(model)
    for name in held:
        still[model.jnt_dofadr[model.joint(name).id]] = True
    found = closed_pose(model, data.qpos, data.eq_active, still)
    if found.worst > OPEN and held:
        found = closed_pose(model, data.qpos, data.eq_active)
    if found.worst > OPEN:
        worst = max(found.open, key=lambda e: found.open[e])
        raise InputError(f"{where}: {_sentence(model, worst, found.open[worst])}")
    data.qpos[:] = found.qpos


def closure_rows(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Values of all closures in the pose of `data` [m, rad], and their derivatives, [n, nv].

    Positions and `mj_comPos` must be up to date.
    """
    if model.neq == 0:
        return np.zeros(0), np.zeros((0, model.nv))
    mujoco.mj_tendon(model, data)
    mujoco.mj_transmission(model, data)
    mujoco.mj_makeConstraint(model, data)
    rows = np.flatnonzero(data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY))
    if mujoco.mj_isSparse(model):
        full = np.zeros((data.nefc, model.nv))
        mujoco.mju_sparse2dense(
            full, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr,
            data.efc_J_colind.ravel(),
        )  # fmt: skip
    else:
        full = data.efc_J.reshape(-1, model.nv)
    return data.efc_pos[rows].copy(), full[rows]


def close_rates(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Move `data.qvel` to the nearest velocity, in the kinetic metric, that keeps loops closed."""
    if model.neq == 0 or not np.any(data.qvel):
        return
    work = mujoco.MjData(model)
    work.eq_active[:] = data.eq_active
    _, jacobian = _equations(model, work, np.array(data.qpos))
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, work, inertia)
    opening = jacobian @ data.qvel
    if np.abs(opening).max(initial=0.0) < 1e-14:
        return
    # v ← v − L⁻ᵀ (J L⁻ᵀ)⁺ J v with M = L Lᵀ
    root = np.linalg.cholesky(inertia)
    half = np.linalg.solve(root, jacobian.T).T
    data.qvel[:] -= np.linalg.solve(root.T, np.linalg.pinv(half, rcond=1e-9) @ opening)


def closed_pose(
    model: mujoco.MjModel,
    start: np.ndarray,
    active: np.ndarray | None = None,
    held: np.ndarray | None = None,
) -> Closing:
    """The pose nearest to `start` (qpos) that closes all loops, or the best there is.

    held: bool[nv], velocities that stay zero; default: those of free joints.
    """
    work = mujoco.MjData(model)
    if active is not None:
        work.eq_active[:] = active
    start = np.array(start, dtype=float)
    best = _at(model, work, start)
    if best.worst <= CLOSED:
        return best
    rng = np.random.default_rng(0)
    held = _free(model) if held is None else held
    for aside in _ASIDE:
        step = np.where(held, 0.0, aside * rng.uniform(-1.0, 1.0, model.nv))
        found = _search(model, work, start, _moved(model, start, step), ~held)
        best = min(best, found, key=lambda c: c.worst)
        if best.worst <= OPEN:
            break
    return best


def _search(
    model: mujoco.MjModel,
    work: mujoco.MjData,
    start: np.ndarray,
    qpos: np.ndarray,
    moving: np.ndarray,
) -> Closing:
    """From `qpos` to a solution, then along the solutions to the one nearest to `start`."""
    qpos = _close(model, work, qpos, moving)
    if _at(model, work, qpos).worst > OPEN:
        return _at(model, work, qpos)
    far, share = _distance(model, qpos, start), 1.0
    for _ in range(_STEPS):
        back = np.zeros(model.nv)
        mujoco.mj_differentiatePos(model, back, 1.0, qpos, start)
        slide = np.zeros(model.nv)
        _, jacobian = _equations(model, work, qpos)
        vt = _parts(jacobian[:, moving])[2]
        slide[moving] = back[moving] - vt.T @ (vt @ back[moving])
        if np.abs(slide).max() < _STILL or share < 1e-6:
            break
        trial = _close(model, work, _moved(model, qpos, share * slide), moving)
        new = _distance(model, trial, start)
        if new < far and _at(model, work, trial).worst <= CLOSED:
            qpos, far, share = trial, new, min(1.0, 2 * share)
        else:
            share /= 2
    return _at(model, work, qpos)


def _close(
    model: mujoco.MjModel, work: mujoco.MjData, qpos: np.ndarray, moving: np.ndarray
) -> np.ndarray:
    """Gauss-Newton with Levenberg's damping from `qpos` to a solution, or to the least residual."""
    residual, jacobian = _equations(model, work, qpos)
    damping, step = 0.0, np.zeros(model.nv)
    for _ in range(_STEPS):
        u, s, vt = _parts(jacobian[:, moving])
        step[moving] = -vt.T @ ((s / (s**2 + damping)) * (u.T @ residual))
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-14:
            break
        trial = _moved(model, qpos, step)
        new, slope = _equations(model, work, trial)
        if new @ new < residual @ residual:
            qpos, residual, jacobian = trial, new, slope
            damping = damping / 10 if damping > 1e-9 else 0.0
        elif np.abs(residual).max() < CLOSED / 100 or damping > 1e6:
            break
        else:
            damping = max(10 * damping, 1e-6)
    return qpos


def _parts(slope: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values of a Jacobian and their vectors, without those that are zero."""
    u, s, vt = np.linalg.svd(slope, full_matrices=False)
    kept = s > 1e-9 * max(float(s[0]) if len(s) else 0.0, 1e-12)
    return u[:, kept], s[kept], vt[kept]


def _distance(model: mujoco.MjModel, qpos: np.ndarray, start: np.ndarray) -> float:
    step = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, step, 1.0, qpos, start)
    return float(np.linalg.norm(step))


def _equations(
    model: mujoco.MjModel, work: mujoco.MjData, qpos: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Residual [m, rad] and Jacobian of all active closures at a pose."""
    work.qpos[:] = qpos
    work.qvel[:] = 0.0
    mujoco.mj_fwdPosition(model, work)
    rows = work.ne
    if mujoco.mj_isSparse(model):
        jacobian = np.zeros((rows, model.nv))
        for i in range(rows):
            first, count = int(work.efc_J_rowadr[i]), int(work.efc_J_rownnz[i])
            jacobian[i, work.efc_J_colind[first : first + count]] = work.efc_J[
                first : first + count
            ]
    else:
        jacobian = np.array(work.efc_J).reshape(-1, model.nv)[:rows].copy()
    return np.array(work.efc_pos[:rows]), jacobian


def _at(model: mujoco.MjModel, work: mujoco.MjData, qpos: np.ndarray) -> Closing:
    residual, _ = _equations(model, work, qpos)
    of = np.array(work.efc_id[: len(residual)])
    return Closing(
        np.array(qpos), {int(e): float(np.linalg.norm(residual[of == e])) for e in np.unique(of)}
    )


def _free(model: mujoco.MjModel) -> np.ndarray:
    """Which velocities belong to free joints."""
    joint_of = model.dof_jntid
    return np.asarray(model.jnt_type)[joint_of] == int(mujoco.mjtJoint.mjJNT_FREE)


def _moved(model: mujoco.MjModel, qpos: np.ndarray, step: np.ndarray) -> np.ndarray:
    out = np.array(qpos)
    mujoco.mj_integratePos(model, out, step, 1.0)
    return out


def _sentence(model: mujoco.MjModel, equality: int, gap: float) -> str:
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, equality) or ""
    loop = loop_of(name)
    if loop is not None:
        what = f"loops.{loop}"
    else:
        what = f"equality '{name}'" if name else f"equality {equality} of the model"
    if int(model.eq_type[equality]) == int(mujoco.mjtEq.mjEQ_JOINT):
        return f"{what} cannot close: its joints stay {np.degrees(gap):.2g}° off at best"
    return f"{what} cannot close: its ends stay {length(gap)} apart at best"


def length(value: float) -> str:
    """A length in words that suit its size."""
    for unit, size in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3)):
        if value >= size:
            return f"{value / size:.2g} {unit}"
    return f"{value * 1e6:.2g} µm"
