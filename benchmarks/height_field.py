"""A four-wheeled rover on a rough height field, beside plain MuJoCo on the same one.

The same bodies, motors, step (1 ms) and heights (grid of 5 cm, 1 cm rms): here rigid contact with
Coulomb's friction to 1e-10 on the triangles, there MuJoCo's `hfield`, soft contact and Newton's
method at their defaults. Both drive in turns in one run; time is the processor's in one thread,
best of several; the ratio is what counts.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np

from marsyard.robot import load_robot
from marsyard.scenario import validate
from marsyard.simulation import Simulation

CELLS, CELL, ROUGH = 80, 0.05, 0.01
ROBOT, SPEED, STEP = "eldorado2_like", 1.0, 1e-3
STEPS, ROUNDS, UNDER_WAY = 500, 12, 500
GAIN = 50.0
BAR = 1.0


def heights(seed: int = 1) -> np.ndarray:
    """Heights of the grid's points [m], rows along y, columns along x."""
    rough = np.random.default_rng(seed).standard_normal((CELLS + 1, CELLS + 1))
    for axis in (0, 1):  # neighbours are alike
        rough = rough + np.roll(rough, 1, axis) + np.roll(rough, -1, axis)
    return ROUGH * rough / rough.std()


def triangles(z: np.ndarray) -> list[Any]:
    """The grid as triangles, its middle at the origin [m]."""
    x = (np.arange(CELLS + 1) - CELLS / 2) * CELL
    p = np.stack([*np.meshgrid(x, x), z], axis=-1)
    a, b, c, d = p[:-1, :-1], p[:-1, 1:], p[1:, 1:], p[1:, :-1]
    halves = [np.stack(corners, axis=2).reshape(-1, 3, 3) for corners in ((a, b, c), (a, c, d))]
    return np.concatenate(halves).tolist()


def ours(z: np.ndarray) -> Simulation:
    """The rover on the ground, in marsyard."""
    scenario = validate(
        {
            "title": "Height field",
            "robot": {"name": ROBOT, "position": [-1.5, 0.0, 0.5], "settle": True},
            "ground": [{"kind": "mesh", "triangles": triangles(z)}],
            "control": [
                {"joints": "drives", "speed": SPEED},
                {"joints": "steering", "speed": 0.0},
            ],
            "run": {"duration": 60.0, "step": STEP, "record_period": 0.5},
        }
    )
    return Simulation(scenario)


def theirs(z: np.ndarray, start: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The same rover, heights and start, in plain MuJoCo."""
    robot = load_robot(ROBOT)
    spec = robot.spec()
    low, span = z.min(), np.ptp(z)
    field = spec.add_hfield(
        name="ground", size=[CELLS * CELL / 2, CELLS * CELL / 2, span, 0.1],
        nrow=CELLS + 1, ncol=CELLS + 1, userdata=((z - low) / span).ravel().tolist(),
    )  # fmt: skip
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=field.name, pos=[0, 0, low],
        contype=1, conaffinity=1,
    )  # fmt: skip
    wheels = {wheel.body for wheel in robot.wheels.values()}
    for body in spec.bodies:
        for geom in body.geoms:
            if body.name in wheels and geom.name == body.name:
                geom.contype = geom.conaffinity = 1
    for joint in (*robot.roles["drives"], *robot.roles["steering"]):
        motor = spec.add_actuator(name=joint, target=joint)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_velocity(kv=GAIN)
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = start
    for joint in robot.roles["drives"]:
        data.actuator(joint).ctrl = SPEED
    return model, data


def run() -> list[dict[str, Any]]:
    """Ratio of a step here to a step of plain MuJoCo."""
    z = heights()
    sim = ours(z)
    model, data = theirs(z, sim.qpos)
    sim.step(UNDER_WAY)
    mujoco.mj_step(model, data, UNDER_WAY)
    best = np.full(2, np.inf)
    touching: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        began = time.thread_time()
        sim.step(STEPS)
        between = time.thread_time()
        mujoco.mj_step(model, data, STEPS)
        best = np.minimum(best, [between - began, time.thread_time() - between])
        touching[0].append(sim.records.stats[-1, 0])
        touching[1].append(data.ncon)
    here, there = (best / STEPS).tolist()
    ratio = here / there
    contacts = [float(np.mean(each)) for each in touching]
    way = [float(sim.qpos[0]), float(data.qpos[0])]
    return [
        {"name": "step / step of plain MuJoCo", "value": ratio, "unit": "×", "bar": f"≤ {BAR:g}",
         "ok": ratio <= BAR,
         "note": f"{contacts[0]:.1f} contacts here, {contacts[1]:.1f} there; both end at x = "
                 f"{way[0]:.2f} and {way[1]:.2f} m"},
        {"name": "marsyard", "value": STEP / here, "unit": "× real time", "bar": None, "ok": None,
         "note": f"{1e6 * here:.1f} µs a step"},
        {"name": "plain MuJoCo", "value": STEP / there, "unit": "× real time", "bar": None,
         "ok": None, "note": f"{1e6 * there:.1f} µs a step"},
    ]  # fmt: skip
