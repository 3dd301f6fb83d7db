"""The Python reference: a directive that documents the public names of a package.

    .. api:: marsyard.results

gives the package's docstring and each name of its `__all__`, once: a name that `marsyard` itself
exports is documented there and linked from the others. Types in signatures lead to where a name
is documented, wherever it is defined. Names that load late (`marsyard.lazy`) load here.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from docstrings import to_rst
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from pydantic import BaseModel
from sphinx import addnodes
from sphinx.util.docutils import switch_source_input

CALL = re.compile(r"^\.\. api:: ([\w.]+)", re.MULTILINE)
#: words of signatures that usually mean the standard library's
NOT_OURS = ("Path", "Sequence", "pathlib.Path", "collections.abc.Sequence")
#: packages of the reference, and the place of an object defined elsewhere: filled by `collect`
HOMES: dict[Any, str] = {}
SHORT: dict[str, set[str]] = {}


def public(module: Any) -> list[str]:
    """Its `__all__`; without one, the classes and functions defined there."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        and (inspect.isclass(value) or inspect.isroutine(value))
    ]  # fmt: skip


def key(value: Any) -> Any:
    """What identifies a class or a function; compiled kernels by what they were compiled from."""
    value = getattr(value, "py_func", value)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return (module, name) if module and name else id(value)


def collect(app: Any) -> None:
    """Where every public name is documented, read off the pages."""
    pages = sorted(Path(app.srcdir, "docs", "api").glob("*.md"))
    found = [m for p in pages for m in CALL.findall(p.read_text(encoding="utf-8"))]
    HOMES.clear()
    SHORT.clear()
    for path in sorted(found, key=lambda path: (path != "marsyard", path)):
        module = import_module(path)
        for name in public(module):
            full = f"{path}.{name}"
            if HOMES.setdefault(key(getattr(module, name)), full) == full:
                SHORT.setdefault(name, set()).add(full)
                SHORT.setdefault(full, {full})


def place_of(name: str) -> str | None:
    """The documented name that a word in a docstring means, if there is just one."""
    if name.startswith("marsyard.") or (name[:1].isupper() and name.isidentifier()):
        found = SHORT.get(name, set())
        return next(iter(found)) if len(found) == 1 else None
    return None


class Api(Directive):
    """The names of one package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = self.arguments[0]
        module = import_module(path)
        doc = inspect.getdoc(module) or ""
        lines = [f".. py:module:: {path}", "", *to_rst(doc.split("\n"), place_of), ""]
        for name in public(module):
            lines += self.entry(path, name, getattr(module, name))
        source = StringList(lines, source=module.__file__ or path)
        with switch_source_input(self.state, source):
            node = nodes.section()
            node.document = self.state.document
            self.state.nested_parse(source, 0, node)
        return node.children

    @staticmethod
    def entry(path: str, name: str, value: Any) -> list[str]:
        full = f"{path}.{name}"
        home = HOMES.get(key(value), full)
        if home != full:
            return [f"``{name}``: see :py:obj:`{home}`.", ""]
        value = getattr(value, "py_func", value)
        if inspect.isclass(value):
            options = [] if issubclass(value, BaseModel) else ["   :members:"]
            kind = "exception" if issubclass(value, Exception) else "class"
            return [f".. auto{kind}:: {full}", *options, ""]
        if inspect.isroutine(value):
            return [f".. autofunction:: {full}", ""]
        return [f".. py:data:: {full}", f"   :type: {type(value).__name__}", ""]


def plain(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    if inspect.isclass(value) and (value.__doc__ or "").startswith(f"{value.__name__}("):
        lines[:] = []  # what a dataclass says of itself, the signature says already
    lines[:] = to_rst(list(lines), place_of)


def signature(
    app: Any, what: str, name: str, value: Any, options: Any, text: str | None, back: str | None
) -> tuple[str | None, str | None] | None:
    """Models of the scenario file have a page of their own: no list of all their keys here."""
    if inspect.isclass(value) and issubclass(value, BaseModel):
        return "(…)", None
    # defaults and names as a reader would write them
    short = re.sub(r"~[\w.]*?(\w+)(?![\w.])", r"\1", text or "").replace("<factory>", "...")
    return (short, back) if text else None


def not_ours(app: Any, doctree: nodes.document) -> None:
    """Words of signatures that are the standard library's stay plain text."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("reftype") == "class" and node.get("reftarget") in NOT_OURS:
            node.replace_self(nodes.Text(node["reftarget"].rpartition(".")[2]))


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """A type or name that is ours but defined elsewhere; what is not ours stays plain text."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    found = SHORT.get(target) or SHORT.get(target.rpartition(".")[2], set())
    if len(found) == 1:
        domain = env.get_domain("py")
        full = next(iter(found))
        made = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, contnode)
        if made is not None:
            return made
    return contnode


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("api", Api)
    app.connect("builder-inited", collect)
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", signature)
    app.connect("doctree-read", not_ours)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
