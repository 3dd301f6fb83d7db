"""YAML of limited depth, references, digits and lengths.

PyYAML composes a text into nodes and constructs values of them. The limits are watched while it
composes, so that nothing large is made first: a reference (*name) counts as all that it stands for.

1e-3 is a number (YAML 1.1 takes it for a text), and a key said twice is an error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from marsyard.errors import InputError
from marsyard.files.regular import read_text

DEEPEST = 60  # lists and mappings in each other
MOST_NODES = 100_000  # values, with references written out
LONGEST_TEXT = 20_000  # characters of a value
LONGEST_NUMBER = 60  # characters of a number
_DIGITS = re.compile(r"[-+.0-9][-+.:0-9_eExXa-fA-F]*")


def read_yaml(path: str | Path) -> dict[str, Any]:
    """A YAML file that holds a mapping; errors name the file and the line."""
    return read_yaml_text(read_text(path, "yaml"), str(path))


def read_yaml_text(text: str, name: str) -> dict[str, Any]:
    """A YAML text that holds a mapping; errors name it by `name` and the line."""
    # many runs of a family read the same few files
    data = copy.deepcopy(parse_yaml(text, name))
    if not isinstance(data, dict):
        raise InputError(f"{name}: holds no keys; a mapping such as 'robot: …' is expected")
    return data


def parse_yaml(text: str, name: str) -> Any:
    """The value of a YAML text, which nobody may change; errors name it by `name` and the line."""
    try:
        return _parsed(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise InputError(f"{name}{where}: not valid YAML ({problem})") from None


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    return yaml.load(text, Loader=Loader)


def _wrong(problem: str, mark: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


class Loader(yaml.SafeLoader):
    """The safe loader with limits."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._nodes = 0
        #: values that an anchor stands for, once all of it was read
        self._anchored: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node, counted; a reference by all that it stands for."""
        event: Any = self.peek_event()
        anchor = event.anchor
        if isinstance(event, yaml.AliasEvent):
            # one that is not known is refused below, by its name
            if anchor in self.anchors and anchor not in self._anchored:
                raise _wrong(f"'*{anchor}' stands in itself", event.start_mark)
            self._count(self._anchored.get(anchor, 0), event)
            return super().compose_node(parent, index)
        before = self._nodes
        self._count(1, event)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _wrong(f"is nested more than {DEEPEST} levels deep", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if anchor is not None:
            self._anchored[anchor] = self._nodes - before
        return node

    def _count(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            text = f"stands for more than {MOST_NODES} values with its references written out"
            raise _wrong(text, event.start_mark)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node; of a long text without YAML's expressions for numbers, whose time
        grows with the square of its length."""
        if kind is yaml.ScalarNode and implicit[0] and len(value) > LONGEST_NUMBER:
            number = _DIGITS.fullmatch(value[:LONGEST_NUMBER])
            return f"tag:yaml.org,2002:{'int' if number else 'str'}"
        return super().resolve(kind, value, implicit)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """The value of a node; what PyYAML's constructors cannot do is an error of the file."""
        if isinstance(node, yaml.ScalarNode):
            _check_scalar(node)
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError, TypeError, KeyError, IndexError, AttributeError):
            # yaml.YAMLError is none of these
            kind = node.tag.rpartition(":")[2]
            raise _wrong(f"is not a value of type '{kind}'", node.start_mark) from None


def _check_scalar(node: yaml.ScalarNode) -> None:
    text = node.value
    kind = node.tag.rpartition(":")[2]
    if kind in ("int", "float", "timestamp") and len(text) > LONGEST_NUMBER:
        raise _wrong(
            f"is a number of {len(text)} characters; at most {LONGEST_NUMBER} are read",
            node.start_mark,
        )
    if len(text) > LONGEST_TEXT:
        raise _wrong(
            f"is a text of {len(text)} characters; at most {LONGEST_TEXT} are read",
            node.start_mark,
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _wrong("holds half of a character (a lone surrogate)", node.start_mark) from None


def _construct_int(loader: Loader, node: yaml.ScalarNode) -> int | float:
    """A whole number; beyond 64 bits a floating-point one, as YAML's 1e30 is."""
    value = yaml.SafeLoader.construct_yaml_int(loader, node)
    return value if -(2**63) <= value < 2**63 else float(value)


def _mapping_without_twins(loader: Loader, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise _wrong("a list or mapping stands where a key should", key_node.start_mark)
        if key in seen:
            raise _wrong(f"the key '{key}' appears twice", key_node.start_mark)
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)
Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_twins)
Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
