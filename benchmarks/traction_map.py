"""Traction maps: poses a second by the compiled kernels, against the same numbers from Python.

The comparison places the same poses with `marsyard.control.Placer` and solves the same largest pull
with Clarabel, both on one core, as the kernels here; the friction demand, which costs the kernels
half of their time, is left out of it.
"""

from __future__ import annotations

import os
import time

import numpy as np

from marsyard.analysis.traction_map.placing import HeightGrid, placing_work
from marsyard.analysis.traction_map.poses import Asked, judge, judge_poses, typical_length
from marsyard.analysis.traction_map.rover_tables import rover_tables
from marsyard.analysis.traction_map.traction import assemble, traction_work
from marsyard.control import Placer
from marsyard.ground.terrain import build_terrain
from marsyard.scenario import load_terrain, validate_terrain

SPACING, HALF, GRAVITY, FRICTION = 0.05, 6.0, 3.71, 0.6


def _ground():
    """Rough fractal ground as a grid and as a terrain of the same heights."""
    source = build_terrain(*load_terrain("fractal_rough"))
    at = np.arange(-HALF, HALF + SPACING / 2, SPACING)
    height = source.height(*np.meshgrid(at, at))
    layer = {"kind": "array", "values": height.tolist(), "origin": [-HALF, -HALF],
             "spacing": SPACING, "interpolation": "linear"}  # fmt: skip
    terrain = build_terrain(validate_terrain({"title": "grid", "layers": [layer]}, "grid"))
    return HeightGrid(height, -HALF, -HALF, 1 / SPACING, 1 / SPACING), terrain


def _poses(count: int) -> np.ndarray:
    random = np.random.default_rng(0)
    return np.column_stack([random.uniform(-4, 4, (count, 2)), random.uniform(0, 6.28, count)])


def _python_time(robot: str, rover, grid, terrain, asked, poses) -> tuple[float, float]:
    """Seconds a pose of Placer and Clarabel; greatest difference of the pull [weight]."""
    import clarabel
    from scipy import sparse

    placer = Placer(robot, terrain, gravity=GRAVITY)
    placing, work = placing_work(rover), traction_work(rover)
    unit = GRAVITY * rover.chain.carried[0] * asked.length
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    spent, worst = 0.0, 0.0
    for pose in poses:
        numbers, loads = np.zeros((1, 9)), np.zeros((1, len(rover.wheels.radius)))
        judge_poses(rover, grid, asked, pose[None].copy(), placing, work, numbers, loads)
        contacts = int(numbers[0, 8])
        begin = time.perf_counter()
        placer.place(*pose)
        rows, n = assemble(rover, work.statics, contacts, FRICTION, unit, True, work.cone)
        A = sparse.csc_matrix(np.vstack([work.cone.A[:rows, :n], -np.eye(n)]))
        b = np.concatenate([work.cone.dual[5, :rows], np.zeros(n)])
        cones = [clarabel.ZeroConeT(rows)] + [clarabel.SecondOrderConeT(3)] * contacts
        cones += [clarabel.NonnegativeConeT(n - 3 * contacts)]
        c, none = work.cone.vector[10, :n].copy(), sparse.csc_matrix((n, n))
        found = clarabel.DefaultSolver(none, c, A, b, cones, settings).solve()
        spent += time.perf_counter() - begin
        if np.isfinite(numbers[0, 5]):
            worst = max(worst, abs(numbers[0, 5] + 5 + found.obj_val))
    return spent / len(poses), worst


def run() -> list[dict]:
    """The benchmark's rows: name, value, unit, bar, ok, note."""
    robot = "exomars"
    grid, terrain = _ground()
    rover, _ = rover_tables(robot)
    asked = Asked(GRAVITY, FRICTION, typical_length(rover))
    poses = _poses(1500)
    judge(rover, grid, asked, poses[:64])
    rates = {}
    for threads in (1, os.cpu_count() or 1):
        begin = time.perf_counter()
        judge(rover, grid, asked, poses, threads)
        rates[threads] = len(poses) / (time.perf_counter() - begin)
    slow, worst = _python_time(robot, rover, grid, terrain, asked, poses[:40])
    ratio, most = slow * rates[1], max(rates)
    cores = "core" if most == 1 else f"{most} cores"
    return [
        {
            "name": "kernels against Python", "value": ratio, "unit": "×", "bar": "≥ 20",
            "ok": bool(ratio >= 20.0),
            "note": f"{1e3 * slow:.1f} ms a pose by Placer and Clarabel; pulls within {worst:.0e}",
        },
        {
            "name": "poses a second", "value": rates[most], "unit": "1/s",
            "bar": None, "ok": None,
            "note": f"{robot} on fractal_rough, {cores}; {rates[1]:.0f} on one",
        },
    ]  # fmt: skip
