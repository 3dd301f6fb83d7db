"""Robots of the library, built and in their reference pose."""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.robot import Robot, load_robot


def build(name: str) -> tuple[Robot, mujoco.MjModel, mujoco.MjData]:
    robot = load_robot(name)
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return robot, model, data


def independent_equations(model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """How many velocities the loops of a robot take away."""
    rows = data.efc_J.reshape(-1, model.nv)[: data.ne]
    return int(np.linalg.matrix_rank(rows)) if len(rows) else 0
