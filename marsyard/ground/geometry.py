"""Rigid ground as plain arrays, ready for compiled contact kernels.

`pack` turns a list of surfaces into one `GroundArrays`: contiguous float64 and int64 arrays only,
so that Numba takes it as an argument and caches what it compiles. The number of a surface is its
place in the list. Boxes become twelve triangles; every mesh (and box) keeps its own
bounding-volume hierarchy, and the triangle, edge and vertex tables of all meshes are concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.ground.shapes import BOX_TRIANGLES, Box, Plane, Sphere
from marsyard.ground.triangle_mesh import TriangleMesh

Surface = Plane | Sphere | Box | TriangleMesh

# values of GroundArrays.surface[:, 0]
PLANE, SPHERE, MESH = 0, 1, 2


class GroundArrays(NamedTuple):
    """All surfaces of a rigid ground. P planes, S spheres, M meshes, N nodes, T triangles,
    E edges that can touch, V vertices that can touch, K rays around those vertices.

    surface         (P+S+M, 2) int64   kind (PLANE, SPHERE, MESH), row in that kind's table
    plane           (P, 4) float64     unit normal n, offset d: the surface is n·x = d [m]
    plane_surface   (P,) int64         number of the surface
    sphere          (S, 4) float64     centre, radius [m]
    sphere_surface  (S,) int64
    mesh            (M, 5) int64       surface number, first triangle, triangle count, node before
                                       the root, leaf count (a power of two)
    mesh_normal     (M, 4) float64     fixed normal of horizontal edges (zero if none), 1 if set
    node            (N, 6) float64     bounding boxes, low xyz and high xyz [m]; heap order
    triangle        (T, 12) float64    corners a, b, c [m], unit normal
    triangle_index  (T, 7) int64       flat region, three edges owned or -1, three vertices or -1
    edge            (E, 16) float64    start q [m], unit direction e, length [m], first normal n,
                                       turning direction t, end angle of the normal arc [rad],
                                       its cosine and sine
    edge_group      (E,) int64         number shared by collinear pieces of one straight edge
    vertex          (V, 6) float64     position [m], mean outward normal
    ring            (V+1,) int64       first ray of each vertex
    ray             (K, 3) float64     unit directions of the edges that leave a vertex
    """

    surface: np.ndarray
    plane: np.ndarray
    plane_surface: np.ndarray
    sphere: np.ndarray
    sphere_surface: np.ndarray
    mesh: np.ndarray
    mesh_normal: np.ndarray
    node: np.ndarray
    triangle: np.ndarray
    triangle_index: np.ndarray
    edge: np.ndarray
    edge_group: np.ndarray
    vertex: np.ndarray
    ring: np.ndarray
    ray: np.ndarray


def pack(surfaces: Sequence[Surface], walls: float = 0.0) -> GroundArrays:
    """One `GroundArrays` for all `surfaces`, numbered in the order given; open meshes with `walls`
    of this height below their rims [m].

    Raises `InputError` for an object that is no surface or for two surfaces of one name.
    """
    if walls:
        surfaces = [s.with_walls(walls) if isinstance(s, TriangleMesh) else s for s in surfaces]
    kinds = np.zeros((len(surfaces), 2), dtype=np.int64)
    planes: list[list[float]] = []
    spheres: list[list[float]] = []
    numbers: tuple[list[int], list[int], list[int]] = ([], [], [])
    meshes: list[TriangleMesh] = []
    names: set[str] = set()

    # sort the surfaces into the table of their kind
    for number, surface in enumerate(surfaces):
        if isinstance(surface, Plane):
            kind = PLANE
            normal = np.array(surface.normal)
            planes.append([*surface.normal, float(normal @ np.array(surface.point))])
        elif isinstance(surface, Sphere):
            kind = SPHERE
            spheres.append([*surface.centre, surface.radius])
        elif isinstance(surface, Box):
            kind = MESH
            meshes.append(TriangleMesh(surface.corners(), BOX_TRIANGLES, name=surface.name))
        elif isinstance(surface, TriangleMesh):
            kind = MESH
            meshes.append(surface)
        else:
            raise InputError(
                f"surface {number} must be a Plane, Sphere, Box or TriangleMesh, "
                f"not {type(surface).__name__}."
            )
        if surface.name in names:
            raise InputError(
                f"surface name '{surface.name}' is used twice; each surface needs its own."
            )
        names.add(surface.name)
        kinds[number] = kind, len(numbers[kind])
        numbers[kind].append(number)

    tables = _concatenate(meshes, numbers[MESH])
    return GroundArrays(
        surface=kinds,
        plane=np.array(planes, dtype=float).reshape(-1, 4),
        plane_surface=np.array(numbers[PLANE], dtype=np.int64),
        sphere=np.array(spheres, dtype=float).reshape(-1, 4),
        sphere_surface=np.array(numbers[SPHERE], dtype=np.int64),
        **tables,
    )


def _concatenate(meshes: list[TriangleMesh], numbers: list[int]) -> dict[str, np.ndarray]:
    """The mesh fields of `GroundArrays`."""
    rows, normals = [], []
    parts: dict[str, list[np.ndarray]] = {
        "node": [np.zeros((0, 6))],
        "triangle": [np.zeros((0, 12))],
        "triangle_index": [np.zeros((0, 7), np.int64)],
        "edge": [np.zeros((0, 16))],
        "edge_group": [np.zeros(0, np.int64)],
        "vertex": [np.zeros((0, 6))],
        "ring": [np.zeros(1, np.int64)],
        "ray": [np.zeros((0, 3))],
    }
    nodes = triangles = edges = vertices = rays = 0
    for mesh, number in zip(meshes, numbers, strict=True):
        tables = mesh.tables()
        # numbers inside a mesh become numbers in the common tables
        index = tables.triangle_index.copy()
        index[:, 1:4][index[:, 1:4] >= 0] += edges
        index[:, 4:7][index[:, 4:7] >= 0] += vertices
        leaves = (len(tables.node) + 1) // 2
        rows.append([number, triangles, len(tables.triangle), nodes - 1, leaves])
        fixed = mesh.edge_normal
        normals.append([0.0, 0.0, 0.0, 0.0] if fixed is None else [*fixed, 1.0])
        parts["node"].append(tables.node)
        parts["triangle"].append(tables.triangle)
        parts["triangle_index"].append(index)
        parts["edge"].append(tables.edge)
        parts["edge_group"].append(tables.edge_group)
        parts["vertex"].append(tables.vertex)
        parts["ring"].append(tables.ring[1:] + rays)
        parts["ray"].append(tables.ray)
        nodes += len(tables.node)
        triangles += len(tables.triangle)
        edges += len(tables.edge)
        vertices += len(tables.vertex)
        rays += len(tables.ray)
    out = {name: np.ascontiguousarray(np.concatenate(part)) for name, part in parts.items()}
    out["mesh"] = np.array(rows, dtype=np.int64).reshape(-1, 5)
    out["mesh_normal"] = np.array(normals, dtype=float).reshape(-1, 4)
    return out
