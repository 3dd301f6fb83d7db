"""Triangle meshes, read by trimesh from bytes: nothing that a mesh names beside it is opened."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from marsyard.files.regular import format_reason


def parse_mesh(data: bytes, kind: str, process: bool = False) -> Any:
    """The mesh of a file's bytes, of the format `kind` ("stl", "obj", …); `process` merges equal
    vertices. Raises ValueError, its text the end of a sentence."""
    import trimesh

    try:
        mesh: Any = trimesh.load(io.BytesIO(data), file_type=kind, force="mesh", process=process)
        if not len(mesh.faces):
            raise ValueError("it holds no triangles")
        faces, count = np.asarray(mesh.faces), len(mesh.vertices)
        if faces.min() < 0 or faces.max() >= count:
            raise ValueError("a triangle names a vertex that is not there")
    except ImportError:
        raise
    except Exception as error:  # trimesh's readers raise whatever they meet
        raise ValueError(format_reason(error)) from None
    return mesh
