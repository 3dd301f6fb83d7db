"""Texts and names use the words of the field: no phrase or name that `glossary.yaml` refuses.

Texts are README and docs, the package's web pages and templates, its messages (strings) and its
docstrings. Names are modules, functions, classes, parameters and variables of the package.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GLOSSARY = yaml.safe_load((Path(__file__).parent / "glossary.yaml").read_text(encoding="utf-8"))
KINDS = ("pages", "messages", "docstrings")


class Text(NamedTuple):
    file: str
    line: int
    kind: str
    text: str


class Name(NamedTuple):
    file: str
    line: int
    name: str


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_texts(source: str, file: str) -> Iterator[Text]:
    """Strings and docstrings of a module; placeholders of f-strings become `…`."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values]
            yield Text(file, node.lineno, "messages", "".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in inside:
                kind = "docstrings" if id(node) in docstrings else "messages"
                yield Text(file, node.lineno, kind, node.value)


def python_names(source: str, file: str) -> Iterator[Name]:
    """What a module defines: itself, functions, classes, parameters, variables."""
    yield Name(file, 1, Path(file).name)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield Name(file, node.lineno, node.name)
        elif isinstance(node, ast.arg):
            yield Name(file, node.lineno, node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Name(file, node.lineno, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield Name(file, node.lineno, node.attr)


def page_texts(source: str, file: str) -> Iterator[Text]:
    """Lines of a page."""
    for number, line in enumerate(source.splitlines(), 1):
        yield Text(file, number, "pages", line)


@cache
def texts() -> tuple[Text, ...]:
    package = ROOT / "marsyard"
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += sorted(p for p in package.rglob("*") if p.suffix in (".html", ".js"))
    found = [t for p in pages for t in page_texts(p.read_text(encoding="utf-8"), _relative(p))]
    for path in sorted(package.rglob("*.py")):
        found += python_texts(path.read_text(encoding="utf-8"), _relative(path))
    return tuple(found)


@cache
def names() -> tuple[Name, ...]:
    paths = sorted((ROOT / "marsyard").rglob("*.py"))
    return tuple(n for p in paths for n in python_names(p.read_text("utf-8"), _relative(p)))


def is_exempt(file: str, text: str) -> bool:
    return any(fnmatch.fnmatch(file, e["file"]) and e["text"] in text for e in GLOSSARY["exempt"])


def refused(found: Iterator[Text] | tuple[Text, ...], phrase: dict) -> list[str]:
    """Places with a refused phrase, and what to write."""
    pattern = re.compile(phrase["match"], re.IGNORECASE)
    kinds = phrase.get("texts", KINDS)
    out = []
    for place in found:
        text = " ".join(place.text.split())
        hit = pattern.search(text) if place.kind in kinds else None
        if hit and not is_exempt(place.file, text):
            out.append(f"{place.file}:{place.line}: '{hit[0]}'; write: {phrase['write']}")
    return out


@pytest.mark.parametrize("phrase", GLOSSARY["phrases"], ids=lambda p: p["match"])
def test_no_text_has_a_refused_phrase(phrase):
    assert refused(texts(), phrase) == []


def test_no_refused_name_is_defined():
    banned = GLOSSARY["names"]
    bad = [
        f"{n.file}:{n.line}: {n.name}; use: {banned[n.name.strip('_')]}"
        for n in names()
        if n.name.strip("_") in banned and not is_exempt(n.file, n.name)
    ]
    assert bad == []


def test_every_exemption_has_a_reason_and_is_needed():
    for one in GLOSSARY["exempt"]:
        assert len(one["why"]) > 10, one
        lines = [(t.file, " ".join(t.text.split())) for t in texts()]
        lines += [(n.file, n.name) for n in names()]
        assert any(fnmatch.fnmatch(f, one["file"]) and one["text"] in t for f, t in lines), one


def test_the_glossary_is_well_formed():
    assert GLOSSARY.keys() == {"terms", "phrases", "names", "exempt"}
    for phrase in GLOSSARY["phrases"]:
        assert phrase.keys() <= {"match", "write", "texts"} and phrase["write"]
        assert set(phrase.get("texts", KINDS)) <= set(KINDS)


# --- the checker itself can fail


MODULE = '''"""Height won over a step."""

def told(way):
    """What is told."""
    luck = f"the way of the base, {way} m"
    return luck
'''


def test_the_checker_sees_messages_docstrings_and_names():
    found = list(python_texts(MODULE, "marsyard/told.py"))
    assert {(t.line, t.kind) for t in found} == {
        (1, "docstrings"),
        (4, "docstrings"),
        (5, "messages"),
    }
    assert refused(found, {"match": "height WON", "write": "elevation gain"}) == [
        "marsyard/told.py:1: 'Height won'; write: elevation gain"
    ]
    assert refused(found, {"match": "way of the base, … m", "write": "distance"})
    assert not refused(found, {"match": "way of", "write": "x", "texts": ["docstrings"]})
    defined = {n.name for n in python_names(MODULE, "marsyard/told.py")}
    assert defined == {"told.py", "told", "way", "luck"}


def test_the_checker_sees_pages_by_line():
    found = list(page_texts("A title\n\nMarks that tell luck of", "docs/x.md"))
    assert refused(found, {"match": "luck of", "write": "loss"}) == [
        "docs/x.md:3: 'luck of'; write: loss"
    ]
