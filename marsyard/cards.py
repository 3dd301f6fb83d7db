"""Objects as notebooks and terminals show them: a title, a sentence, a table. Plain HTML and plain
text, nothing is loaded."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_STYLE = "border-collapse:collapse;margin:.3em 0"
_CELL = "text-align:left;padding:.1em .8em .1em 0;vertical-align:top"


def card(title: str, text: str = "", *tables: str, sources: Iterable[str] = ()) -> str:
    """A title, a text, tables (see `table`) and sources."""
    parts = [f"<b>{html.escape(title)}</b>"]
    if text.strip():
        parts.append(f"<div style='max-width:50em'>{html.escape(text.strip())}</div>")
    parts += tables
    listed = "".join(f"<li>{html.escape(s)}</li>" for s in sources)
    if listed:
        parts.append(f"<small>Sources<ul>{listed}</ul></small>")
    return f"<div>{''.join(parts)}</div>"


def text_card(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """The same as text, for `repr`: a title, and a line for each row that has something to say."""
    said = [(name, _plain(value)) for name, value in rows]
    said = [(name, value) for name, value in said if value]
    wide = max((len(name) for name, _ in said), default=0)
    return "\n".join([title, *(f"  {name:<{wide}}  {value}" for name, value in said)])


def several(names: Sequence[object], what: str, most: int = 8) -> str:
    """'3 wheels: FL, FR, RL'; empty without names."""
    if not names:
        return ""
    listed = ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''}: {listed}"


def table(rows: Iterable[Sequence[object]], heads: Sequence[str] = ()) -> str:
    """A table of texts and numbers; numbers with four digits."""
    top = "".join(f"<th style='{_CELL}'>{html.escape(h)}</th>" for h in heads)
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{_text(c)}</td>" for c in row) + "</tr>"
        for row in rows
    )
    return f"<table style='{_STYLE}'>{f'<tr>{top}</tr>' if top else ''}{body}</table>"


def _plain(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _text(value: object) -> str:
    return html.escape(_plain(value))
