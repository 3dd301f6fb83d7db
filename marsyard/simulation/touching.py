"""Where a robot touches hard ground in a given pose, found as the simulation finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.errors import InputError

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation


class TouchingPoint(NamedTuple):
    """A contact of a robot with the ground, in the world.

    body: MuJoCo's number. wheel, organ: numbers of the wheel, and of the foot or track; -1 if it is
    none. belt: degree of freedom that moves the surface along itself, with belt_radius [m]; or -1.
    surface: number of the ground surface. gap [m]. point [m], [3].
    frame: normal into the robot, first tangent (a wheel's heading), second tangent, [3, 3].
    """

    body: int
    wheel: int
    organ: int
    belt: int
    belt_radius: float
    surface: int
    gap: float
    point: np.ndarray
    frame: np.ndarray


def touching_points(
    simulation: Simulation, qpos: np.ndarray | None = None, margin: float = 1e-3
) -> list[TouchingPoint]:
    """Contacts with the ground whose gap is below `margin` [m].

    `qpos` is a pose in MuJoCo's coordinates, the present one without; the simulation is left there.
    Contacts between two bodies of the robot are left out.
    """
    s = simulation
    if qpos is not None:
        s.data.qpos[:] = qpos
    count, rows = s.find_contacts(margin), s.rows
    if count < 0:
        raise InputError(f"contacts: more than {len(rows.gap)} at once")
    return [
        TouchingPoint(
            int(rows.body2[c]), int(rows.wheel[c]), int(rows.organ[c]),
            int(rows.belt[c]), float(rows.belt_radius[c]), int(rows.surface[c]),
            float(rows.gap[c]), rows.point[c].copy(), rows.frame[c].copy(),
        )
        for c in range(count)
        if rows.body1[c] == 0 and rows.gap[c] < margin
    ]  # fmt: skip
