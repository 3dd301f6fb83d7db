"""Mesh files of robot models: where they are, and in a form that MuJoCo reads.

ROS names meshes by package, `package://PACKAGE/path`. Without ROS the package is looked for from
the model's folder upwards: a folder on the way that is called PACKAGE or holds one of that name,
or simply `path` itself.

MuJoCo reads binary STL, OBJ and MSH. ASCII STL, PLY, OFF, GLB, GLTF and, with the package
pycollada, DAE are turned into binary STL [m].
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import numpy as np

from marsyard.errors import InputError
from marsyard.files import is_file, read_bytes
from marsyard.files.meshes import parse_mesh

READ = (".stl", ".obj", ".msh")
TURNED = (".ply", ".off", ".glb", ".gltf", ".dae")
_STL = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])
_FARTHEST = 1e6  # coordinate of a vertex [m, or mm of a mesh that is scaled]
_UP = 6  # folders above the model that are looked into


class MeshError(ValueError):
    """A mesh that cannot be used: the rest of a sentence."""


def find_mesh(name: str, folder: Path, also: tuple[Path, ...] = ()) -> Path:
    """The file that a model in `folder` means by `name`; `also` are folders to look in first."""
    places = list(dict.fromkeys(_places(name, folder, also)))
    for place in places:
        if is_file(place):
            return place
    shown = [str(p) for p in places[:3]]
    more = f" and {len(places) - 3} more places" if len(places) > 3 else ""
    raise MeshError(f"no such mesh '{name}'; looked for {', '.join(shown)}{more}")


def _places(name: str, folder: Path, also: tuple[Path, ...]) -> list[Path]:
    folder = folder.resolve()
    scheme, mark, rest = name.partition("://")
    if not mark:
        given = Path(name.replace("\\", "/"))
        inside = [base / part for base in also for part in (given, given.name)]
        return [*inside, given if given.is_absolute() else folder / given]
    rest = unquote(rest).replace("\\", "/")
    if scheme == "file":
        return [*(base / Path(rest).name for base in also), Path(rest), folder / rest]
    package, _, path = rest.partition("/")
    places = [base / part for base in also for part in (path, rest, Path(path).name)]
    for base in [folder, *folder.parents][: _UP + 1]:
        # a folder is no package by being above all others
        if base == Path(base.anchor):
            break
        places += [base / path] if base.name == package else []
        places += [base / rest, base / path, base / "share" / rest]
    return places


def mesh_bytes(path: Path) -> tuple[str, bytes]:
    """Ending and content of a mesh as MuJoCo reads it."""
    kind = path.suffix.lower()
    if kind not in READ + TURNED:
        known = ", ".join(k[1:] for k in READ + TURNED)
        raise MeshError(f"'{path.name}' is of no known mesh format; use one of {known}")
    try:
        data = read_bytes(path, "mesh")
    except InputError as error:
        raise MeshError(str(error)) from None
    if not data.strip():
        raise MeshError(f"the mesh file '{path.name}' is empty")
    if kind in TURNED or (kind == ".stl" and not _is_binary_stl(data)):
        kind, data = ".stl", _turned(path, data, kind)
    if kind == ".stl":
        _check_extent(path, data)
    return kind, data


def _check_extent(path: Path, data: bytes) -> None:
    """Refuse a binary STL with a vertex that no robot has; a damaged bit makes one."""
    count = int.from_bytes(data[80:84], "little")
    vertices = np.frombuffer(data, _STL, count, 84)["vertices"]
    if not (np.abs(vertices) < _FARTHEST).all():
        raise MeshError(f"'{path.name}' has a vertex beyond {_FARTHEST:g} m, or that is no number")


def _is_binary_stl(data: bytes) -> bool:
    """Whether the length is that of the number of triangles in the head."""
    if len(data) < 84:
        return False
    count = int.from_bytes(data[80:84], "little")
    return len(data) >= 84 + 50 * count and (count > 0 or not data.startswith(b"solid"))


def _turned(path: Path, data: bytes, kind: str) -> bytes:
    try:
        return parse_mesh(data, kind[1:], process=True).export(file_type="stl")
    except ImportError:
        raise MeshError(
            f"'{path.name}': reading {kind[1:]} needs the package pycollada (pip install "
            "pycollada), or save the mesh as stl or obj"
        ) from None
    except ValueError as error:
        raise MeshError(f"'{path.name}' is not a mesh that can be read ({error})") from None
