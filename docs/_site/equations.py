r"""Equations as MathML: browsers draw them without a script and without the network.

The translation is that of docutils, with what GitHub reads besides: \big before a bracket, \tag,
\tfrac12, the sign of degrees. What is still not understood is a warning, and so fails the build.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils.nodes import Element, SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)

TAG = re.compile(r"\\tag\{([^}]*)\}")
REWRITES = (
    (re.compile(r"\\([bB]igg?)(?=\s*(\)|\]|\\\}|\\rVert|\\rvert|\\rangle))"), r"\\\1r"),
    (re.compile(r"\\([bB]igg?)(?![a-zA-Z])"), r"\\\1l"),
    (re.compile(r"\\([td]?frac)(\d)(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"°"), r"^\\circ "),
    (re.compile(r"^\^"), "{}^"),
)


def mathml(node: Element, as_block: bool) -> str:
    tex = TAG.sub("", node.astext()).strip()
    for pattern, better in REWRITES:
        tex = pattern.sub(better, tex)
    try:
        # the bar above a letter as a sign that every font has in its place
        return tex2mathml(tex, as_block=as_block).replace("\u02c9", "\u00af")
    except (MathError, IndexError) as error:
        log.warning("equation not understood: %s (%s)", node.astext(), error, location=node)
        return f"<code>{escape(tex)}</code>"


def visit_inline(self: Any, node: Element) -> None:
    self.body.append(mathml(node, as_block=False))
    raise SkipNode


def visit_block(self: Any, node: Element) -> None:
    tag = TAG.search(node.astext())
    number = f'<span class="number">({escape(tag[1])})</span>' if tag else ""
    self.body.append(f'<div class="equation">{mathml(node, as_block=True)}{number}</div>\n')
    raise SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
