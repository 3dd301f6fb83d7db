"""Nodes under a wheel are found among those listed near it: the list changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.verification.soil_rig import Land, Rig, Sand, Shape

GROUNDS = {
    "level": Land(),
    "bumpy": Land(lambda x, y: 0.02 * np.sin(9 * x) * np.cos(7 * y)),
    "steps": Land(lambda x, y: 0.05 * (np.floor(x / 0.15) % 2)),
}
SAND = Sand(k=2e5, n=0.8, layer=0.01)


def pose(t: float, lean: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre and axle of a wheel that sinks, rolls on a circle, rocks back and forth and leans."""
    turn = 0.8 * t
    x = 0.3 * math.sin(turn) + 0.004 * math.sin(40 * t)
    y = 0.3 * (1 - math.cos(turn))
    z = 0.14 - 0.03 * min(t / 0.1, 1.0) + 0.01 * math.sin(5 * t)
    axis = [-math.sin(turn) * math.cos(lean), math.cos(turn) * math.cos(lean), math.sin(lean)]
    return np.array([x, y, z]), np.array(axis)


def drive(land: Land, lean: float, fresh: bool, most: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Forces over the steps and the soil at the end of two wheels, one close behind the other; how
    often a list was made. `fresh`: in every step."""
    shape = Shape(radius=0.125, width=0.1)
    rig = Rig([shape, shape], [SAND], 0.02, land)
    h, forces, lists = 2e-3, [], 0
    for step in range(round(most / h)):
        t = step * h
        for b, back in enumerate((0.0, 0.3)):
            (c, a), (c1, _) = pose(t - back + 0.3, lean), pose(t - back + 0.3 + h, lean)
            v = (c1 - c) / h
            rig.place(b, c, v, 4.0 * a, a)
        if fresh:
            rig.patch.candidates[:] = -1
        made = rig.patch.listed_at[:, 9:].copy()
        forces.append(rig.forces(h=h))
        lists += int(np.sum(rig.patch.listed_at[:, 10] <= made[:, 1]))
        if step % 15 == 14:
            rig.flow()
            rig.grid.fill_requests()
    nodes = rig.nodes()
    return np.array(forces), nodes["ref"] - nodes["depth"], lists


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("lean", [0.0, 0.25, -0.6])
def test_the_list_changes_no_bit(ground: str, lean: float) -> None:
    kept, soil, lists = drive(GROUNDS[ground], lean, False, 1.0)
    made, same, _ = drive(GROUNDS[ground], lean, True, 1.0)
    assert np.array_equal(kept, made)
    assert np.array_equal(soil, same)
    assert np.abs(kept[:, :, 2]).max() > 10.0
    # and is kept over steps
    assert lists < 0.9 * 2 * len(kept)
