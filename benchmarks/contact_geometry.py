"""Cost of wheel contact geometry: planes, meshes of 100 and 1e6 triangles, building a mesh."""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from marsyard.ground import GroundArrays, Plane, TriangleMesh, pack
from marsyard.interaction.contact_geometry import DISC, wheel_contacts

RADIUS = 0.129
CELL = 0.05


def rough_ground(cells: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A rough square of cells × cells squares, two triangles each: vertices, triangles."""
    x = np.arange(cells + 1) * CELL
    gx, gy = np.meshgrid(x, x, indexing="ij")
    height = 0.2 * CELL * np.random.default_rng(seed).standard_normal(gx.shape)
    number = np.arange(gx.size).reshape(gx.shape)
    a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
    c, d = number[1:, 1:].ravel(), number[:-1, 1:].ravel()
    vertices = np.stack([gx.ravel(), gy.ravel(), height.ravel()], axis=1)
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


@njit(nogil=True)
def _drive(kind, centre, axis, ground, steps, step, point, normal, gap, surface, feature):
    """Roll six wheels side by side over `steps` positions; returns the number of contacts."""
    total = 0
    for _ in range(steps):
        for _ in range(6):
            total += wheel_contacts(
                kind, RADIUS, 0.03, centre, axis, ground, 0.01, 8,
                point, normal, gap, surface, feature,
            )  # fmt: skip
            centre[0] += step
    return total


def wheel_time(ground: GroundArrays, start: list[float], steps: int, step: float) -> float:
    """Seconds per wheel query, the best of seven passes."""
    out = (np.zeros((8, 3)), np.zeros((8, 3)), np.zeros(8), np.zeros(8, int), np.zeros(8, int))
    axis = np.array([0.0, 1.0, 0.0])
    best = np.inf
    for _ in range(8):
        centre = np.array(start)
        begin = time.perf_counter()
        _drive(DISC, centre, axis, ground, steps, step, *out)
        best = min(best, (time.perf_counter() - begin) / (6 * steps))
    return best


def run() -> list[dict]:
    """The benchmark's rows: name, value, unit, bar, ok, note."""
    rows = []

    def add(name: str, value: float, unit: str, bar: float, note: str) -> None:
        rows.append(
            {
                "name": name, "value": value, "unit": unit, "bar": f"≤ {bar:g}",
                "ok": bool(value <= bar), "note": note,
            }
        )  # fmt: skip

    plane = wheel_time(pack([Plane.horizontal()]), [0.0, 0.0, RADIUS], 20000, 1e-6)
    add("wheel on a plane", plane * 1e9, "ns/wheel", 200.0, "thin disc on a plane")

    small = pack([TriangleMesh(*rough_ground(7), name="small")])
    build = np.inf
    vertices, triangles = rough_ground(708)
    TriangleMesh(vertices[:200], np.array([[0, 1, 2]]), orient=True)
    for _ in range(2):
        begin = time.perf_counter()
        mesh = TriangleMesh(vertices, triangles, name="large")
        large = pack([mesh])
        build = min(build, time.perf_counter() - begin)
    add(
        "building a mesh of a million triangles",
        build, "s", 5.0, f"{len(triangles)} triangles: check, weld, orient, hierarchy, tables",
    )  # fmt: skip

    # the same wheel over triangles of the same size; a path of 5 cm inside the small mesh
    path = 4000
    step = 0.05 / (6 * path)
    near = wheel_time(small, [0.15, 0.175, RADIUS], path, step)
    far = wheel_time(large, [17.65, 17.675, RADIUS], path, step)
    add(
        "wheel on a mesh of a million triangles over one of 98", far / near, "×", 2.0,
        f"{far * 1e6:.2f} µs on {len(triangles)} triangles, {near * 1e6:.2f} µs on 98",
    )  # fmt: skip
    add("six wheels on a mesh", 6e6 * far, "µs", 15.0, "5 cm triangles, wheel 26 cm")
    return rows
