"""A coloured mesh as a binary glTF 2.0 file, written quickly, because changing ruts need many per
second.

A file is a header (magic, version, length), a chunk of JSON that describes the arrays, and a chunk
with the arrays themselves, all in little-endian order and padded to four bytes (Khronos glTF 2.0,
section 4). There is no material, as in files of trimesh: viewers take the vertices' colours.
"""

from __future__ import annotations

import json
import struct

import numpy as np

_FLOAT, _BYTE, _UINT = 5126, 5121, 5125
_VERTICES, _INDICES = 34962, 34963


def glb(
    points: np.ndarray, normals: np.ndarray, triangles: np.ndarray, colours: np.ndarray
) -> bytes:
    """A mesh of points [m] and normals, [n, 3], triangles [m, 3] and colours, linear RGBA from 0 to
    255, [n, 4]."""
    place = np.ascontiguousarray(points, dtype="<f4")
    index = np.ascontiguousarray(triangles, dtype="<u4").ravel()
    size = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    arrays = [
        (index.tobytes(), _INDICES),
        (place.tobytes(), _VERTICES),
        (np.ascontiguousarray(normals / size, dtype="<f4").tobytes(), _VERTICES),
        (np.ascontiguousarray(colours, dtype=np.uint8).tobytes(), _VERTICES),
    ]
    views, offset = [], 0
    for data, target in arrays:
        views.append({"buffer": 0, "byteOffset": offset, "byteLength": len(data), "target": target})
        offset += len(data)  # all of them are whole numbers of four bytes
    n = len(place)
    accessors = [
        {"bufferView": 0, "componentType": _UINT, "count": len(index), "type": "SCALAR"},
        {
            "bufferView": 1, "componentType": _FLOAT, "count": n, "type": "VEC3",
            "min": place.min(axis=0).tolist(), "max": place.max(axis=0).tolist(),
        },
        {"bufferView": 2, "componentType": _FLOAT, "count": n, "type": "VEC3"},
        {
            "bufferView": 3, "componentType": _BYTE, "normalized": True, "count": n,
            "type": "VEC4",
        },
    ]  # fmt: skip
    attributes = {"POSITION": 1, "NORMAL": 2, "COLOR_0": 3}
    text = json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": attributes, "indices": 0, "mode": 4}]}],
            "buffers": [{"byteLength": offset}],
            "bufferViews": views,
            "accessors": accessors,
        },
        separators=(",", ":"),
    ).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(data for data, _ in arrays)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(body))
    return b"".join(
        [head, struct.pack("<I4s", len(text), b"JSON"), text,
         struct.pack("<I4s", len(body), b"BIN\0"), body]
    )  # fmt: skip
