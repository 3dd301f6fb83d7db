"""Stamps: a hash of what a stored result came from, so that a stale one is seen without a run.

A stamp covers the texts given to it and every file of the library that they name: scenarios,
robots with their models, soils, grounds, and what those name in turn. It does not cover the code of
the laws; numbers that change with it are held by the tests.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from marsyard import library


@cache
def entries() -> dict[str, str]:
    """Text of every robot, soil, ground and scenario of the library, by name."""
    out: dict[str, str] = {}
    for kind in library.KINDS:
        for name in library.names(kind):
            path = library.path_of(kind, name)
            text = path.read_text(encoding="utf-8")
            model = path.with_name("robot.xml")
            if kind == "rovers" and model.exists():
                text += model.read_text(encoding="utf-8")
            out[name] = out.get(name, "") + text
    return out


def used(text: str) -> dict[str, str]:
    """What a text names of the library, and what those name, by name."""
    found: dict[str, str] = {}
    queue = [text]
    while queue:
        words = set(re.findall(r"[\w/-]+", queue.pop()))
        for name in sorted(words & entries().keys() - found.keys()):
            found[name] = entries()[name]
            queue.append(found[name])
    return found


def stamp(*texts: str) -> str:
    """The hash of some texts and of all that the first of them uses."""
    parts = list(texts)
    for name, text in sorted(used(texts[0]).items()):
        parts += [name, text]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
