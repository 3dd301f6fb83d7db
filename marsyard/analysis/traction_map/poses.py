"""Many poses of one rover on one ground: input of the kernels for maps and paths.

A pose's numbers depend on nothing but its place and heading, so that they are the same to the last
bit however the poses are shared among threads.
"""

from __future__ import annotations

import math
import os
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from marsyard.analysis.traction_map.placing import (
    HeightGrid,
    PlacingWork,
    place,
    placing_work,
    sharpen,
)
from marsyard.analysis.traction_map.rover_tables import RoverTables, rover_tables
from marsyard.analysis.traction_map.traction import (
    NEARLY,
    TOUCHING,
    TractionWork,
    build_statics,
    pull_and_demand,
    tip_over_angle,
    traction_work,
)
from marsyard.jit import kernel

#: columns of the numbers of a pose
COLUMNS = (
    "height", "roll", "pitch", "tilt", "margin", "pull", "demand", "converged", "contacts",
)  # fmt: skip
_BUNCH = 64


class Asked(NamedTuple):
    """What holds for all poses: gravity [m/s²], friction [1], L [m] (see `traction`)."""

    gravity: float
    friction: float
    length: float


@kernel
def judge_poses(rover, grid, asked, poses, placing, traction, numbers, loads):
    """Numbers [n, 9] and wheel loads [n, w] of poses [n, 3] of x, y [m] and heading [rad]."""
    pose, touch, statics = placing.pose, placing.touch, traction.statics
    unit = asked.gravity * rover.chain.carried[0] * asked.length
    for k in range(len(poses)):
        x, y, heading = poses[k, 0], poses[k, 1], poses[k, 2]
        out = numbers[k]
        for w in range(loads.shape[1]):
            loads[k, w] = 0.0
        count, converged = place(rover, grid, asked.gravity, x, y, heading, placing)
        if count == 0:
            for c in range(len(out)):
                out[c] = math.nan
            out[6], out[7], out[8] = math.inf, 0.0, 0.0
            continue
        for m in range(count):
            n = touch.normal[m]
            size = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            loads[k, touch.wheel[m]] += touch.load[m] * size
        near = TOUCHING if converged else NEARLY
        sharpen(grid, rover.wheels, pose, touch, count, near)
        contacts = build_statics(rover, asked.length, heading, pose, touch, count, near, statics)
        out[0], out[1], out[2] = pose.u[0], pose.u[1], pose.u[2]
        out[3] = math.acos(min(max(pose.turn[0, 2, 2], -1.0), 1.0))
        out[4] = tip_over_angle(statics.point, contacts, pose.moved[0]) - statics.rocking[1]
        out[5], out[6] = pull_and_demand(
            rover, asked.friction, unit, statics, contacts, traction.cone
        )
        out[7], out[8] = 1.0 if converged else 0.0, statics.rocking[0]


def judge(
    rover: RoverTables,
    grid: HeightGrid,
    asked: Asked,
    poses: np.ndarray,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers [n, 9], see COLUMNS, and wheel loads [n, w] of poses [n, 3].

    threads: as many as there are cores unless told. progress: is told how many poses are done, of
    how many.
    """
    poses = np.ascontiguousarray(poses, dtype=float)
    numbers = np.full((len(poses), len(COLUMNS)), np.nan)
    loads = np.zeros((len(poses), len(rover.wheels.radius)))
    count = max(1, threads or os.cpu_count() or 1)
    rooms: queue.SimpleQueue[tuple[PlacingWork, TractionWork]] = queue.SimpleQueue()
    for _ in range(count):
        rooms.put((placing_work(rover), traction_work(rover)))

    def bunch(first: int) -> int:
        room = rooms.get()
        part = slice(first, first + _BUNCH)
        judge_poses(rover, grid, asked, poses[part], *room, numbers[part], loads[part])
        rooms.put(room)
        return len(poses[part])

    done, firsts = 0, range(0, len(poses), _BUNCH)
    with ThreadPoolExecutor(count) as pool:
        for size in pool.map(bunch, firsts) if count > 1 else map(bunch, firsts):
            done += size
            if progress is not None:
                progress(done, len(poses))
    return numbers, loads


def typical_length(rover: RoverTables) -> float:
    """L: half the distance between the wheels that are farthest apart [m]; scales moments."""
    centre = rover.wheels.centre[:, :2]
    return max(float(np.linalg.norm(centre[:, None] - centre[None], axis=2).max()) / 2, 1e-3)


def compile_map_kernels() -> None:
    """Compile the kernels of the traction map into the cache on disk."""
    rover, _ = rover_tables("exomars")
    grid = HeightGrid(np.zeros((2, 2)), -5.0, -5.0, 0.1, 0.1)
    judge(rover, grid, Asked(3.71, 0.6, typical_length(rover)), np.zeros((1, 3)), threads=1)
