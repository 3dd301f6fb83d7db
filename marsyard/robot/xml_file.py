"""Reading XML so that every mistake can be named with its line and element.

`read_xml` gives a tree of `Element`s that know their line. `Element.error` makes the sentence

    rover.urdf, line 12, <joint name="FL">: what is wrong and what is allowed
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from marsyard.errors import InputError, clip
from marsyard.files import read_bytes
from marsyard.files.xml_text import DEEPEST, make_parser


@dataclass
class Element:
    """A tag with its attributes, what it holds, and where it stands."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Its own children of one kind."""
        return [c for c in self.children if c.tag == tag]

    def first(self, tag: str) -> Element | None:
        """Its first child of one kind, or none."""
        return next(iter(self.all(tag)), None)

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)

    @property
    def name(self) -> str:
        """Its attribute `name`, or nothing."""
        return self.attributes.get("name", "")

    def error(self, text: str) -> InputError:
        """One sentence that names file, line and element."""
        named = f' name="{clip(self.name)}"' if self.name else ""
        return InputError(f"{self.file}, line {self.line}, <{clip(self.tag)}{named}>: {text}")

    def numbers(self, key: str, count: int, default: str | None = None) -> list[float]:
        """The attribute `key` as `count` finite numbers."""
        text = self.attributes.get(key, default)
        if text is None:
            raise self.error(f"needs the attribute '{key}'")
        try:
            values = [float(part) for part in text.split()]
        except ValueError:
            raise self.error(f'{key}="{clip(text)}": must be {_count(count)}') from None
        if len(values) != count:
            raise self.error(f'{key}="{clip(text)}": must be {_count(count)}, not {len(values)}')
        if not all(math.isfinite(v) for v in values):
            raise self.error(f'{key}="{clip(text)}": must be finite')
        return values

    def number(self, key: str, default: str | None = None) -> float:
        """The attribute `key` as one finite number."""
        return self.numbers(key, 1, default)[0]


def _count(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"


def read_xml(path: Path) -> Element:
    """The root of an XML file; what cannot be read is one sentence."""
    data = read_bytes(path, "xml")
    if not data.strip():
        raise InputError(f"{path.name}: is empty")
    return _parse(data, path.name)


def _parse(data: bytes, file: str) -> Element:
    parser = make_parser()
    stack: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, file)
        if len(stack) > DEEPEST:
            raise element.error(f"is nested in more than {DEEPEST} elements")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except InputError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", parser.CurrentLineNumber)
        reason = str(error).split(":")[0]
        inside = f" inside <{stack[-1].tag}>" if stack else ""
        raise InputError(f"{file}, line {line}: is not XML{inside} ({reason})") from None
    finally:
        # `start` and the parser hold each other
        parser.StartElementHandler = None
    return roots[0]
