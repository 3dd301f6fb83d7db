"""What a step costs, beside MuJoCo's bare step of the same model."""

from __future__ import annotations

import time

import mujoco

from marsyard.simulation.simulation import Simulation


def beside_mj_step(simulation: Simulation, steps: int, rounds: int) -> tuple[float, float]:
    """Seconds of a step and of a bare `mj_step` without contact, from the present pose.

    Measured alternately, best of `rounds` of `steps` each: the ratio holds on a busy machine, too.
    """
    model = simulation.model
    data = mujoco.MjData(model)
    data.qpos[:] = simulation.qpos
    flags = model.opt.disableflags
    ours = bare = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        simulation.step(steps)
        ours = min(ours, time.perf_counter() - began)
        model.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        began = time.perf_counter()
        mujoco.mj_step(model, data, steps)
        bare = min(bare, time.perf_counter() - began)
        mujoco.mj_resetData(model, data)
        model.opt.disableflags = flags
    return ours / steps, bare / steps
