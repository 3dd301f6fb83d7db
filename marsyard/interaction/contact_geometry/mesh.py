"""Contacts of one wheel with one triangle mesh."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True)
def mesh_contacts(
    mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
    count, room, point, normal, gaps, surfaces, ids,
):  # fmt: skip
    """Add the contacts with one mesh to the rows from `count` on; returns the new count."""
    return count


@njit(cache=True, nogil=True)
def mesh_distance(mesh, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground):
    """Signed gap [m] to the nearest feature of one mesh."""
    return math.inf
