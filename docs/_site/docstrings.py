"""Docstrings as they stand in the code, plain text, turned into reStructuredText.

What is indented, or set in columns by spaces, is kept as it is. `Args:` and its like, and lists
of `name: what` with hanging lines, become lists. The rest is prose: only `names` in backticks mean
something there, so that no sign of an equation can be taken for markup.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Callable

SECTION = re.compile(r"^(Args|Arguments|Attributes|Returns|Raises|Yields|Example|Examples):$")
ITEM = re.compile(r"^(\*{0,2}\w[\w.,* ]*): (.*)")
NAMED = re.compile(r"`([^`]+)`")

Link = Callable[[str], str | None]


def escaped(text: str) -> str:
    return re.sub(r"([\\*|_`<>])", r"\\\1", text)


def prose(text: str, link: Link) -> str:
    """One paragraph: names in backticks as code or as links, everything else as it is read."""
    parts = []
    for i, part in enumerate(NAMED.split(text)):
        if i % 2 == 0:
            parts.append(escaped(part))
        elif target := link(part):
            parts.append(rf"\ :py:obj:`{part} <{target}>`\ ")
        else:
            parts.append(rf"\ ``{part}``\ " if part.strip() == part else escaped(part))
    return "".join(parts)


def blocks(lines: list[str]) -> list[list[str]]:
    """Lines between blank ones; indented blocks that follow each other stay one."""
    out: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            out[-1].append(line.rstrip())
        elif out[-1]:
            out.append([])
    merged: list[list[str]] = []
    for block in (b for b in out if b):
        inside = all(line.startswith(" ") for line in block)
        if merged and inside and all(line.startswith(" ") for line in merged[-1]):
            merged[-1] += ["", *block]
        else:
            merged.append(block)
    return merged


def as_is(block: list[str]) -> list[str]:
    text = textwrap.dedent("\n".join(block))
    try:
        ast.parse(text)
        language = "python"
    except SyntaxError:
        language = "text"
    return [f".. code-block:: {language}", "", *textwrap.indent(text, "   ").split("\n"), ""]


def items(block: list[str], link: Link) -> list[str]:
    """A list, an entry for each line that is not a hanging one."""
    edge = min(len(line) - len(line.lstrip()) for line in block)
    entries: list[str] = []
    for line in block:
        hanging = len(line) - len(line.lstrip()) > edge
        if entries and hanging:
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    out = []
    for entry in entries:
        named = ITEM.match(entry)
        if named:
            out.append(f"- **{escaped(named[1])}**: {prose(named[2], link)}")
        else:
            out.append(f"- {prose(entry.removeprefix('- '), link)}")
    return [*out, ""]


def in_columns(block: list[str]) -> bool:
    return len(block) > 1 and sum("  " in line.strip() for line in block) > len(block) / 2


def is_list(block: list[str]) -> bool:
    """Lines with hanging ones below, the first of them `name: what`; or lines with a dash."""
    hanging = any(line.startswith(" ") for line in block)
    return (hanging and ":" in block[0]) or all(re.match(r"- |  ", line) for line in block)


def one_block(block: list[str], link: Link) -> list[str]:
    if SECTION.match(block[0]):
        below = textwrap.dedent("\n".join(block[1:])).split("\n")
        return [f"**{block[0][:-1]}**", "", *(items(below, link) if below != [""] else [])]
    if in_columns(block) or all(line.startswith(" ") for line in block if line):
        return as_is(block)
    if is_list(block):
        return items(block, link)
    # prose, and what is indented right below it
    prose_lines = list(itertools.takewhile(lambda line: not line.startswith(" "), block))
    rest = block[len(prose_lines) :]
    return [prose(" ".join(prose_lines), link), "", *(as_is(rest) if rest else [])]


def to_rst(lines: list[str], link: Link = lambda name: None) -> list[str]:
    """A docstring's lines, dedented, as lines of reStructuredText."""
    return [line for block in blocks(lines) for line in one_block(block, link)]
