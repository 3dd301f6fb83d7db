"""Messages as bytes: CDR, as ROS 2 and MCAP files have them.

Plain CDR version 1, little-endian (OMG DDS-XTYPES 1.3, section 7.4): four bytes that say so, then
the fields in order, each at a multiple of its size counted behind these four bytes. A text is its
length with the closing zero, its bytes and the zero; a sequence its count and its members; an array
its members alone.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from marsyard.results.export.messages import MESSAGES

_HEAD = b"\x00\x01\x00\x00"
_NUMBERS = {
    "bool": "?", "uint8": "B", "int32": "i", "uint32": "I", "float32": "f", "float64": "d",
}  # fmt: skip
_PACK = {name: struct.Struct("<" + code) for name, code in _NUMBERS.items()}


def encode(name: str, message: tuple[Any, ...]) -> bytes:
    """A message, given as a tuple of its fields, as bytes."""
    data = bytearray(_HEAD)
    _message(data, name, message)
    return bytes(data)


def _message(data: bytearray, name: str, message: tuple[Any, ...]) -> None:
    for (kind, _), value in zip(MESSAGES[name], message, strict=True):
        bare, bracket, count = kind.partition("[")
        if not bracket:
            _value(data, bare, value)
            continue
        if count == "]":
            _number(data, "uint32", len(value))
        elif len(value) != int(count[:-1]):
            raise ValueError(f"{name}: {kind} cannot hold {len(value)} values")
        _values(data, bare, value)


def _values(data: bytearray, kind: str, values: Any) -> None:
    if kind in _PACK and len(values):
        _align(data, _PACK[kind].size)
        data += np.asarray(values).astype("<" + _NUMBERS[kind].replace("?", "b")).tobytes()
    elif kind not in _PACK:
        for value in values:
            _value(data, kind, value)


def _value(data: bytearray, kind: str, value: Any) -> None:
    if kind in _PACK:
        _number(data, kind, value)
    elif kind == "string":
        text = value.encode() + b"\x00"
        _number(data, "uint32", len(text))
        data += text
    else:
        _message(data, kind, value)


def _number(data: bytearray, kind: str, value: Any) -> None:
    pack = _PACK[kind]
    _align(data, pack.size)
    data += pack.pack(value)


def _align(data: bytearray, size: int) -> None:
    data += bytes(-(len(data) - len(_HEAD)) % size)
