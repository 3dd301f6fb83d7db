"""The heap of the library, as its user runs it: to the angle of repose, with all its volume."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation


def test_the_heap_of_the_library_collapses():
    simulation = Simulation(load_scenario("soil/pile"))
    grid = simulation.world.soil.grid
    volume = grid.missing_volume()
    # a bump of height h and radius R holds (π/2 − 2/π) h R²
    assert volume == pytest.approx((np.pi / 2 - 2 / np.pi) * 0.6 * 0.5**2, rel=1e-3)
    simulation.run()
    assert grid.missing_volume() == pytest.approx(volume, rel=1e-12)
    at = np.arange(-0.9, 0.91, grid.spacing)
    h = grid.change(*np.meshgrid(at, at, indexing="ij"))
    steps = [np.diff(h, axis=0), np.diff(h, axis=1)]
    diagonals = [h[1:, 1:] - h[:-1, :-1], h[1:, :-1] - h[:-1, 1:]]
    steepest = max(
        max(np.abs(s).max() for s in steps) / grid.spacing,
        max(np.abs(s).max() for s in diagonals) / (grid.spacing * np.sqrt(2)),
    )
    assert 0.97 * np.tan(np.radians(30)) < steepest < np.tan(np.radians(30)) * (1 + 1e-6)
    assert h.max() < 0.45
