"""Pieces of a page: numbers in words; tables, tiles, figures and notes as HTML.

HTML is made by the macros of `templates/pieces.html` alone, which escape every text that is given
to them; what they made themselves (`Markup`) goes in as it is.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.drawing.sheet import FigureFile

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from marsyard.drawing.page_plots import PagePlot

TEMPLATES = Path(__file__).parent / "templates"

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def capital(text: str) -> str:
    """A text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def number(value: float | None, digits: int = 5) -> str:
    """A number for reading: 5 digits, true minus sign, powers of ten written as such."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
        text = power if mantissa == "1" else f"{mantissa}·{power}"
    return text.replace("-", "−")


def quantity(value: float | None, unit: str = "", digits: int = 5) -> str:
    """A number with its unit."""
    text = number(value, digits)
    if not unit or text == "–":
        return text
    return f"{text}{unit}" if unit == "°" else f"{text} {unit}"


def vector(values: Iterable[float], unit: str = "") -> str:
    """Several numbers in brackets with their unit."""
    return f"({', '.join(number(v) for v in values)}) {unit}".strip()


@cache
def templates() -> Environment:
    """All templates; they escape what is not marked as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _piece(name: str, *given: Any, **more: Any) -> Markup:
    from markupsafe import Markup

    macro = getattr(_pieces(), name)
    return Markup(str(macro(*given, **more)).strip())


@cache
def _pieces() -> Any:
    return templates().get_template("pieces.html").module


def joined(*parts: str, by: str = "") -> Markup:
    """Pieces one after the other; texts among them are escaped."""
    from markupsafe import Markup, escape

    return Markup(escape(by)).join(parts)


def pairs(rows: Iterable[tuple[str, str]]) -> Markup:
    """A two-column table of names and values."""
    return _piece("pairs", list(rows))


def tiles(rows: Iterable[tuple[str, str]]) -> Markup:
    """A row of cards, each a value above what it is."""
    return _piece("tiles", list(rows))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    texts: int = 1,
    numeric: Collection[int] | None = None,
    id: str = "",
) -> Markup:
    """A table whose first columns are `texts` and the others numbers, or those of `numeric`."""
    rows = [list(row) for row in rows]
    width = max([len(heads), *map(len, rows)])
    numbers = range(texts, width) if numeric is None else numeric
    return _piece("table", list(heads), rows, list(numbers), id)


def badge(word: str, kind: str = "open", hint: str = "") -> Markup:
    """A word on a coloured ground; kinds: pass, fail, open."""
    return _piece("badge", word, kind, hint)


def paragraph(words: str, kind: str = "text") -> Markup:
    """A paragraph; of the kind "soft" a quiet one."""
    return _piece("paragraph", words, kind)


def paragraphs(words: str) -> Markup:
    """Paragraphs that are parted by empty lines."""
    parts = words.strip().split("\n\n") if words.strip() else []
    return joined(*(paragraph(" ".join(part.split())) for part in parts))


def soft(words: str) -> Markup:
    """A quiet part of a sentence."""
    return _piece("soft", words)


def strong(words: str) -> Markup:
    """A part of a sentence that stands out."""
    return _piece("strong", words)


def stacked(*parts: str) -> Markup:
    """Texts below each other in one cell."""
    from markupsafe import Markup

    return Markup("<br>").join(p for p in parts if p)


def alarm(words: str) -> Markup:
    """What must not be overlooked."""
    return _piece("alarm", words)


def items(words: Iterable[str]) -> Markup:
    """A list; nothing of none."""
    return _piece("items", list(words))


def headed(title: str, body: str) -> Markup:
    """A part of a part, with a title; nothing where there is no body."""
    return _piece("headed", title, body)


def columns(blocks: Iterable[tuple[str, str]]) -> Markup:
    """Titled blocks side by side, as many as there is room for."""
    return _piece("columns", [headed(title, body) for title, body in blocks])


def link(to: str, words: str) -> Markup:
    """A link to a file beside the page or a part of it."""
    return _piece("link", to, words)


def code(words: str, block: bool = False) -> Markup:
    """What is typed, or with `block` what a file says."""
    return _piece("code", words, block)


def folded(title: str, body: str) -> Markup:
    """What is shown once its title is clicked."""
    return _piece("folded", title, body)


def picture(figure: FigureFile, index: int | None = None) -> Markup:
    """A figure with its caption, inside the page; with a number where it has one."""
    data = base64.b64encode(Path(figure.path).read_bytes()).decode("ascii")
    return _piece("picture", figure, data, index)


def plot(place: int, shown: PagePlot, index: int | None = None) -> Markup:
    """Where a plot stands, the one at `place` of the page's data; with a number if it has one."""
    return _piece("plot", place, shown.title, shown.caption, index)


def replay(data: str, speeds: Sequence[int]) -> Markup:
    """Canvas, slider and program of a replay; its data are JSON that is safe in a page."""
    from markupsafe import Markup

    return _piece("replay", Markup(data), Markup(program("page_replay.js")), speeds)


@cache
def program(name: str) -> str:
    """A program that pages carry."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
