"""Bodies of a model as mass, centre and second moments, to be stretched; see `design`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from marsyard.rotations import matrix_of


@dataclass(frozen=True)
class Body:
    """mass [kg]; centre of mass in the body's frame [m]; second moments of mass about the frame's
    origin, in it [kg·m²], shape [3, 3]."""

    mass: float
    centre: np.ndarray
    moments: np.ndarray

    @classmethod
    def of(cls, model: mujoco.MjModel, i: int) -> Body:
        """A body of a compiled model."""
        turn = matrix_of(model.body_iquat[i])
        principal = model.body_inertia[i]
        about_centre = turn @ np.diag(principal.sum() / 2 - principal) @ turn.T
        mass, centre = float(model.body_mass[i]), model.body_ipos[i].copy()
        return cls(mass, centre, about_centre + mass * np.outer(centre, centre))

    def stretched(self, s: np.ndarray) -> Body:
        """Stretched about the frame's origin by a symmetric matrix, at the same density."""
        more = float(np.linalg.det(s))
        return Body(more * self.mass, s @ self.centre, more * (s @ self.moments @ s))

    def heavier(self, factor: float) -> Body:
        """Of the same size and so many times the density."""
        return Body(factor * self.mass, self.centre, factor * self.moments)

    def inertia(self) -> np.ndarray:
        """About the centre of mass, in axes of the body's frame [kg·m²], shape [3, 3]."""
        moments = self.moments - self.mass * np.outer(self.centre, self.centre)
        return np.trace(moments) * np.eye(3) - moments


def write_inertia(body: Any, new: Body) -> None:
    """Give a body of a specification its mass and inertia."""
    inertia = new.inertia()
    body.explicitinertial = True
    body.mass, body.ipos = new.mass, new.centre
    body.iquat = [1.0, 0.0, 0.0, 0.0]
    body.inertia = [0.0, 0.0, 0.0]
    body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]


def stretch_geoms(spec: mujoco.MjSpec, model: mujoco.MjModel, i: int, s: np.ndarray) -> None:
    """Stretch the shapes of a body; meshes only move."""
    first = int(model.body_geomadr[i])
    for k, geom in enumerate(spec.bodies[i].geoms):
        if np.all(np.isfinite(geom.fromto)):
            geom.fromto = [*(s @ geom.fromto[:3]), *(s @ geom.fromto[3:])]
            continue
        # by how much each axis of the shape gets longer
        factors = np.linalg.norm(s @ matrix_of(model.geom_quat[first + k]), axis=0)
        geom.pos = s @ geom.pos
        geom.size = np.array(geom.size) * _size_factors(geom.type, factors)


def _size_factors(kind: Any, factors: np.ndarray) -> np.ndarray:
    """Factors of MuJoCo's sizes of a shape; round ones stay round."""
    types = mujoco.mjtGeom
    if kind in (types.mjGEOM_BOX, types.mjGEOM_ELLIPSOID):
        return factors
    if kind in (types.mjGEOM_CYLINDER, types.mjGEOM_CAPSULE):
        return np.array([factors[:2].min(), factors[2], 1.0])
    return np.full(3, factors.min()) if kind == types.mjGEOM_SPHERE else np.ones(3)
