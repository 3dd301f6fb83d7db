"""XML is parsed by expat: no entities of the file's own, limited depth."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

DEEPEST = 490  # elements in each other; MuJoCo reads 500


def make_parser() -> Any:
    """A parser that refuses entities: few lines of them can stand for gigabytes or for files."""
    parser = expat.ParserCreate()

    def refuse(name: str, *_: Any) -> None:
        raise ValueError(f"it defines the entity '{name}', which is not read")

    parser.EntityDeclHandler = refuse
    return parser


def check_xml(data: bytes) -> str:
    """What is wrong with an XML text, in words; nothing if it can be parsed."""
    parser = make_parser()
    depth = [0]

    def start(*_: Any) -> None:
        depth[0] += 1
        if depth[0] > DEEPEST:
            raise ValueError(f"more than {DEEPEST} elements stand in each other")

    def end(_: str) -> None:
        depth[0] -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        return " ".join(str(error).split())
    return ""
