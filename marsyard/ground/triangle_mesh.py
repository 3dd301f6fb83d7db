"""Triangle meshes as rigid ground: reading, checking, welding and orienting them.

The front side of a triangle is the one from which its corners run counter-clockwise; wheels touch
only front sides. Corners that coincide are welded, so that neighbours are known and a wheel rolls
over the seams without feeling them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marsyard.errors import InputError
from marsyard.files import exists, read_bytes
from marsyard.files.meshes import parse_mesh
from marsyard.ground.rim_walls import hang_walls
from marsyard.ground.shapes import surface_name, unit_vector

if TYPE_CHECKING:
    from marsyard.ground.mesh_tables import MeshTables

FILE_KINDS = (".stl", ".obj", ".ply")


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Rigid ground made of triangles.

    Attributes:
        vertices: corners in the world [m], shape (n, 3); welded when the mesh is made.
        triangles: three corner numbers each, counter-clockwise seen from the front, shape (m, 3).
        name: what results and messages call this surface.
        edge_normal: None for the true geometry of edges. A vector makes it the normal of every
            contact with a horizontal edge and leaves the other edges out, as the program behind
            the ExoMars report rt0448 does with (0.707, 0, 0.707); scaled to unit length.
        two_sided: touch the back sides too.
        orient: turn triangles so that neighbours agree, closed bodies face outwards and open
            ground faces up, with a warning when anything was turned. False keeps every winding.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    name: str = "mesh"
    edge_normal: Sequence[float] | None = None
    two_sided: bool = False
    orient: bool = True
    turned: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "name", surface_name(self.name))
        if self.edge_normal is not None:
            set_field(self, "edge_normal", unit_vector("mesh edge_normal", self.edge_normal))
        vertices, triangles = _checked(self.name, self.vertices, self.triangles)

        from marsyard.ground import mesh_topology as topology

        # weld corners closer than a billionth of the mesh's extent, then look for slivers
        extent = float(np.max(np.ptp(vertices, axis=0)))
        vertices, corner = topology.weld(vertices, 1e-9 * extent)
        triangles = corner[triangles]
        flat = topology.degenerate(vertices, triangles)
        if len(flat):
            listed = ", ".join(str(i) for i in flat[:5]) + (", …" if len(flat) > 5 else "")
            raise InputError(
                f"mesh '{self.name}' must have triangles of an area above zero; "
                f"{len(flat)} of {len(triangles)} have none: {listed}."
            )

        # one winding for neighbours, outward or upward as a whole
        if self.orient:
            turned = topology.orient(vertices, triangles)
            set_field(self, "turned", turned)
            if turned:
                warnings.warn(
                    f"mesh '{self.name}': {turned} of {len(triangles)} triangles were turned so "
                    "that neighbours agree and the ground faces up (or out of a closed body).",
                    stacklevel=3,
                )
        vertices.setflags(write=False)
        triangles.setflags(write=False)
        set_field(self, "vertices", vertices)
        set_field(self, "triangles", triangles)

    @classmethod
    def from_triangles(cls, triangles: np.ndarray, **options) -> TriangleMesh:
        """A mesh from a list of triangles, corner coordinates [m], shape (m, 3, 3)."""
        try:
            corners = np.asarray(triangles, dtype=float)
        except (TypeError, ValueError):
            corners = np.zeros(0)
        if corners.ndim != 3 or corners.shape[1:] != (3, 3):
            raise InputError("mesh triangles must be a list of triangles, each of 3 corners xyz.")
        index = np.arange(3 * len(corners), dtype=np.int64).reshape(-1, 3)
        return cls(corners.reshape(-1, 3), index, **options)

    @classmethod
    def from_file(cls, path: str | Path, scale: float = 1.0, **options) -> TriangleMesh:
        """A mesh from an STL, OBJ or PLY file; `scale` turns its unit of length into metres."""
        path = Path(path)
        try:
            scale = float(scale)
        except (TypeError, ValueError):
            scale = 0.0
        if not (np.isfinite(scale) and scale > 0.0):
            raise InputError("mesh scale must be a positive number.")
        vertices, triangles = read_mesh(path)
        options.setdefault("name", path.stem)
        return cls(vertices * scale, triangles, **options)

    def with_walls(self, height: float) -> TriangleMesh:
        """The same with walls of this height [m] below its rim (`rim_walls`); itself if closed."""
        vertices, triangles = hang_walls(self.vertices, self.triangles, height)
        if triangles is self.triangles:
            return self
        return replace(self, vertices=vertices, triangles=triangles, orient=False)

    def tables(self) -> MeshTables:
        """The arrays the contact kernels need, made once: hierarchy, faces, edges, vertices."""
        return self._tables

    @cached_property
    def _tables(self) -> MeshTables:
        from marsyard.ground.mesh_tables import build_tables

        return build_tables(self.vertices, self.triangles, self.two_sided)


def _checked(name: str, vertices, triangles) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles as fresh arrays of the right kind, or a sentence."""
    try:
        points = np.array(vertices, dtype=float)
        index = np.array(triangles)
    except (TypeError, ValueError):
        raise InputError(f"mesh '{name}' must have numbers as vertices and triangles.") from None
    if index.size == 0 or points.size == 0:
        raise InputError(f"mesh '{name}' must have at least one triangle.")
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"mesh '{name}' vertices must be of shape (n, 3), not {points.shape}.")
    if index.ndim != 2 or index.shape[1] != 3:
        raise InputError(f"mesh '{name}' triangles must be of shape (m, 3), not {index.shape}.")
    if not np.issubdtype(index.dtype, np.integer):
        raise InputError(f"mesh '{name}' triangles must be whole numbers, not {index.dtype}.")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(f"mesh '{name}' vertices must be finite; vertex {bad[0]} is not.")
    index = index.astype(np.int64)
    if index.min() < 0 or index.max() >= len(points):
        raise InputError(
            f"mesh '{name}' triangles must use vertices 0 to {len(points) - 1}; "
            f"one uses {index.min() if index.min() < 0 else index.max()}."
        )
    return points, index


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a file as they are written there."""
    if path.suffix.lower() not in FILE_KINDS:
        raise InputError(f"mesh file '{path}' must end in {', '.join(FILE_KINDS)}.")
    if not exists(path):
        raise InputError(f"mesh file '{path}' does not exist.")
    try:
        mesh = parse_mesh(read_bytes(path, "mesh"), path.suffix[1:].lower())
    except ValueError as error:
        raise InputError(f"mesh file '{path}' cannot be read: {error}.") from None
    return np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64)
