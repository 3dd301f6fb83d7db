"""What pictures are made of: meshes of a model that is drawn, arrows and lines of a scene."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

ARROW = mujoco.mjtGeom.mjGEOM_ARROW
LINE = mujoco.mjtGeom.mjGEOM_LINE
_SHELL = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL


def add_mesh(
    spec: mujoco.MjSpec,
    name: str,
    vertices: np.ndarray,
    triangles: np.ndarray,
    normals: np.ndarray,
    texture: np.ndarray | None = None,
) -> None:
    """Add triangles [m] with normals, and places on a texture, to a model."""
    mesh = spec.add_mesh(name=name)
    mesh.inertia = _SHELL
    mesh.uservert = np.asarray(vertices, dtype=np.float64).ravel()
    mesh.userface = np.asarray(triangles, dtype=np.int32).ravel()
    mesh.usernormal = unit(normals).ravel()
    if texture is not None:
        mesh.usertexcoord = np.asarray(texture, dtype=np.float64).ravel()


def leave_plain(scene: mujoco.MjvScene) -> None:
    """Neither shadows, sky, haze nor mirrors in a scene."""
    for flag in ("SHADOW", "SKYBOX", "FOG", "HAZE", "REFLECTION"):
        scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0


def connect(
    scene: mujoco.MjvScene, kind: Any, width: float, a: np.ndarray, b: np.ndarray, colour: Any,
    glow: float = 0.1,
) -> None:  # fmt: skip
    """Add a line or an arrow from a to b [m] to a scene."""
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    rgba = np.array([*colour, 1.0], dtype=np.float32)
    mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba)
    mujoco.mjv_connector(geom, kind, width, a, b)
    if kind == ARROW:
        geom.size[2] *= 2  # mujoco draws arrows half as long as they are set
    geom.emission = glow
    scene.ngeom += 1


def normals_of(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Normals at the vertices: those of the triangles around, by their area."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    face = np.cross(b - a, c - a)
    out = np.zeros_like(vertices, dtype=float)
    for k in range(3):
        np.add.at(out, triangles[:, k], face)
    return out


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length one, [n, 3]; up where one is zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), [0.0, 0.0, 1.0])
