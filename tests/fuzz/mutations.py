"""Damaged versions of good files: what a broken disk, a typing error or an attacker makes of them.

`mutate(path, target, rng)` writes a version of the file `path` to `target` and says in words what
was done. Text files are changed by line, by value and by nasty fragments of their format; binary
files by bytes; and any file may be replaced by what is no regular file at all.
"""

from __future__ import annotations

import io
import os
import random
import re
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: values that stand where others are expected
VALUES = (
    "0", "-1", "1e308", "-1e308", "1e-320", "1e400", ".nan", ".inf", "nan", "inf", "true", "null",
    "{}", "[]", "''", "[[]]", "{a: {}}", "10000000000000", "1e12", "1e-12", "9" * 20_000,
    "-" + "9" * 400, "0x" + "f" * 5000, "1e" + "9" * 50, "'" + "x" * 100_000 + "'", "\"\\ud800\"",
    "\"\\udfff x\"", "\"\\0\"", "2001-99-99", "2001-01-01", "12:30:45.5", ":".join(["59"] * 300),
    "!!binary x", "!!python/object:os.system {}", "!!set {a, b}", "!!float abc", "!!int ''",
    "!!timestamp x", "{? [a, b] : c}", "{? {a: b} : c}", "&a [*a]", "*nowhere", "{<<: 5}",
    "{<<: [1, 2]}", "/dev/zero", "/dev/stdin", "../../../../etc/passwd", "3 parsecs", "5 m/s m",
    "é" * 300, "[" * 60 + "]" * 60, "[" * 4000 + "]" * 4000, "{a: " * 900 + "1" + "}" * 900,
    "0.1 deg", "1 ns", "-0.0", "999", "0.001",
)  # fmt: skip

YAML_BOMB = "\n".join(
    ["bomb0: &b0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"bomb{k}: &b{k} [{', '.join([f'*b{k - 1}'] * 10)}]" for k in range(1, 9)]
)

XML_FRAGMENTS = (
    '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">]>',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<include file="/dev/zero"/>',
    '<asset><mesh name="zero" file="/dev/zero"/></asset>',
    '<asset><texture name="zero" type="2d" file="/dev/zero"/></asset>',
    '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>',
    "<a>" * 3000 + "</a>" * 3000,
    '<b x="' + "9" * 200_000 + '"/>',
    "<!-- " + "x" * 100_000 + " -->",
    "&undefined;",
    "\x00",
    "<body>",
    "</body>",
    '<option timestep="1e-300"/>',
)

XML_VALUES = (
    "0", "-1", "1e308", "nan", "inf", "1e400", "", "abc", "9" * 20_000, "1 2", "0 0 0",
    "1 2 3 4 5 6 7", "/dev/zero", "package://nowhere/x.stl", "x" * 100_000, "&#xD800;", "\ud7ff",
    "1e-320", "true", "-0", "1e12",
)  # fmt: skip


def mutate(path: Path, target: Path, rng: random.Random) -> str:
    """Write a damaged version of a file to `target`; what was done, in words."""
    if rng.random() < 0.06:
        return _irregular(target, rng)
    data = path.read_bytes()
    kind = path.suffix.lower()
    if kind in (".yaml", ".yml"):
        changes = _YAML
    elif kind in (".xml", ".urdf", ".dae"):
        changes = _XML
    elif kind in (".csv", ".txt", ".xyz", ".asc", ".json", ".obj", ".jsonl"):
        changes = _TEXT
    elif kind in (".npz", ".fmu"):
        changes = _ZIP
    elif kind == ".npy":
        changes = _NPY
    else:
        changes = _BYTES
    said = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice(changes)
        data = change(data, rng)
        said.append(change.__name__.strip("_"))
    target.write_bytes(data)
    return ", ".join(said)


def _irregular(target: Path, rng: random.Random) -> str:
    """What is no regular file in the place of one."""
    what = rng.choice(("zero", "pipe", "folder", "socket", "dangling", "loop", "random", "empty"))
    if what in ("zero", "random"):
        target.symlink_to(f"/dev/{'zero' if what == 'zero' else 'urandom'}")
    elif what == "pipe":
        os.mkfifo(target)
    elif what == "folder":
        target.mkdir()
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as end:
            # the path of a socket is short
            here = os.getcwd()
            os.chdir(target.parent)
            end.bind(target.name)
            os.chdir(here)
    elif what == "dangling":
        target.symlink_to("nowhere")
    elif what == "loop":
        target.symlink_to(target.name)
    else:
        target.write_bytes(b"")
    return what


# --- bytes


def _flip(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32))):
        if out:
            out[_place(len(out), rng)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    at = _place(len(out), rng)
    what = rng.choice((b"\xff", b"\0", b"\x7f", bytes([rng.randrange(256)])))
    count = rng.choice((1, 2, 4, 8, 64))
    out[at : at + count] = what * len(out[at : at + count])
    return bytes(out)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: _place(len(data) + 1, rng)]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = _place(len(data) + 1, rng)
    return data[:at] + rng.randbytes(rng.choice((1, 4, 100))) + data[at:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    at = _place(len(data) + 1, rng)
    return data[:at] + data[at + rng.choice((1, 4, 100, 4096)) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    at, count = _place(len(data) + 1, rng), rng.choice((4, 100, 4096))
    return data[:at] + data[at : at + count] * rng.choice((2, 50)) + data[at:]


def _place(length: int, rng: random.Random) -> int:
    """Somewhere in a file: anywhere, or near its beginning, where heads stand."""
    if length < 1:
        return 0
    return rng.randrange(length if rng.random() < 0.5 else min(length, 512))


_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _overwrite, _truncate, _insert, _cut, _repeat,
)  # fmt: skip


# --- texts


def _lines(data: bytes, rng: random.Random) -> bytes:
    """A line removed, doubled or exchanged with another."""
    lines = data.splitlines(keepends=True) or [b""]
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        del lines[a]
    elif how == 1:
        lines.insert(b, lines[a])
    else:
        lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def _number(data: bytes, rng: random.Random) -> bytes:
    """Another value where a number stands."""
    found = list(re.finditer(rb"(?<![\w.])[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", data))
    if not found:
        return data
    at = rng.choice(found)
    return data[: at.start()] + _encoded(rng.choice(VALUES)) + data[at.end() :]


def _long_line(data: bytes, rng: random.Random) -> bytes:
    at = _place(len(data) + 1, rng)
    long = rng.choice((b'"' + b"x" * 300_000 + b'"', b"9" * 300_000, b"1," * 100_000))
    return data[:at] + long + data[at:]


def _other_encoding(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    how = rng.choice(("utf-16", "latin-1", "utf-8-sig", "utf-32", "cp037"))
    return text.encode(how, "replace")


def _bad_bytes(data: bytes, rng: random.Random) -> bytes:
    at = _place(len(data) + 1, rng)
    what = rng.choice((b"\xed\xa0\x80", b"\xff\xfe", b"\0", b"\x1b[2J", b"\xe2\x80\xa8", b"\x85"))
    return data[:at] + what + data[at:]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_TEXT = (_lines, _number, _long_line, _other_encoding, _bad_bytes, _flip, _truncate)


def _value(data: bytes, rng: random.Random) -> bytes:
    """Another value behind a key."""
    found = list(re.finditer(rb"(?<=: )[^\n{}\[\],]+", data))
    if not found:
        return data
    at = rng.choice(found)
    return data[: at.start()] + _encoded(rng.choice(VALUES)) + data[at.end() :]


def _key(data: bytes, rng: random.Random) -> bytes:
    """Another key."""
    found = list(re.finditer(rb"(?<![\w-])[\w-]{1,40}(?=:\s)", data))
    if not found:
        return data
    at = rng.choice(found)
    other = rng.choice([f.group() for f in found] + [b"unknown", b"1", b"null", b"true", b"<<"])
    return data[: at.start()] + other + data[at.end() :]


def _bomb(data: bytes, rng: random.Random) -> bytes:
    """References of references, put in the place of a value."""
    found = list(re.finditer(rb"(?<=: )[^\n{}\[\],]+", data))
    bomb = YAML_BOMB.encode() + b"\n"
    if not found or rng.random() < 0.3:
        return bomb + data
    at = rng.choice(found)
    return bomb + data[: at.start()] + b"*b8" + data[at.end() :]


_YAML = (*_TEXT, _value, _value, _value, _value, _number, _number, _key, _key, _bomb)


def _attribute(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb'(?<==")[^"]*(?=")', data))
    if not found:
        return data
    at = rng.choice(found)
    others = [f.group() for f in found]
    new = rng.choice(others) if rng.random() < 0.3 else _encoded(rng.choice(XML_VALUES))
    return data[: at.start()] + new + data[at.end() :]


def _fragment(data: bytes, rng: random.Random) -> bytes:
    places = [m.end() for m in re.finditer(rb">", data)] or [0]
    at = rng.choice([0, *places])
    return data[:at] + _encoded(rng.choice(XML_FRAGMENTS)) + data[at:]


def _element(data: bytes, rng: random.Random) -> bytes:
    """An empty element removed or doubled."""
    found = list(re.finditer(rb"<[^<>]*/>", data))
    if not found:
        return data
    at = rng.choice(found)
    return data[: at.start()] + at.group() * rng.choice((0, 2)) + data[at.end() :]


_XML = (*_TEXT, _attribute, _attribute, _attribute, _fragment, _element, _element)


# --- arrays and archives


def _claim(data: bytes, rng: random.Random) -> bytes:
    """An .npy whose head claims other numbers than there are."""
    found = re.search(rb"'shape': \(([^)]*)\)", data)
    if not found:
        return data
    shape = rng.choice((b"100000000000,", b"-1,", b"3, 4, 5", b"", b"10**9,", b"0,", b"2,"))
    head = data[: found.start(1)] + shape + data[found.end(1) :]
    # the length of the head stands before it
    end = head.find(b"\n")
    length = min(max(end - 9, 0), 65535)
    return head[:8] + length.to_bytes(2, "little") + head[10:]


def _array_type(data: bytes, rng: random.Random) -> bytes:
    other = rng.choice((b"|O", b"<c16", b"<U9", b"|V8", b">f8", b"<i8", b"<M8[s]", b"|b1", b"<f2"))
    return re.sub(rb"'descr': '[^']*'", b"'descr': '" + other + b"'", data, count=1)


_NPY = (*_BYTES, _claim, _claim, _array_type)


def _member(data: bytes, rng: random.Random) -> bytes:
    """A member of a zip archive changed, left out, renamed, or one more."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return data
    if not members:
        return data
    name = rng.choice(sorted(members))
    how = rng.randrange(6)
    if how == 0:
        del members[name]
    elif how == 1:
        members[rng.choice(("../../evil", "x" * 300, "a.npy", "modelDescription.xml"))] = (
            members.pop(name)
        )
    elif how == 2:
        members["zeros.npy"] = b"\0" * 30_000_000
    elif name.endswith(".npy"):
        members[name] = _other_array(members[name], rng)
    else:
        members[name] = rng.choice((*_TEXT, *_XML))(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in members.items():
            archive.writestr(key, content)
    return out.getvalue()


def _other_array(content: bytes, rng: random.Random) -> bytes:
    how = rng.randrange(9)
    if how < 2:
        return rng.choice((_claim, _array_type, _flip))(content, rng)
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return content
    if how == 2:
        array = array[..., None]
    elif how == 3:
        array = np.concatenate([array.ravel(), array.ravel(), np.zeros(3, array.dtype)])
    elif how == 4:
        array = array.astype(rng.choice((np.float32, np.int32, np.complex128, np.int64, str)))
    elif array.size and array.dtype.kind in "fiu":
        array = np.array(array)
        flat = array.reshape(-1)
        special = {
            "f": (np.nan, np.inf, -1e300, 1e300, 1e-320, 0.0, -1.0),
            "i": (-1, -(2**40), 2**62, 10**6, 0, 7), "u": (0, 255, 7),
        }[array.dtype.kind]  # fmt: skip
        value = rng.choice(special)
        with np.errstate(all="ignore"):
            flat[rng.randrange(len(flat)) if how < 7 else slice(None)] = np.array(value).astype(
                array.dtype
            )
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


_ZIP = (*_BYTES, _member, _member, _member, _member)
