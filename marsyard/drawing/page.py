"""Pieces of a page: numbers, tables and the style sheet of the report."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

STYLE = """
:root { color-scheme: light dark;
  --ink: #1d2329; --soft: #5c6670; --paper: #ffffff; --card: #f6f4f1; --rule: #ddd8d0;
  --accent: #a6461f; --good: #1a7f37; --good-bg: #e3f4e6; --bad: #b42318; --bad-bg: #fde7e4;
  --open: #8a5a00; --open-bg: #fdf1d6; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e7e4df; --soft: #a8a39b; --paper: #17181a; --card: #212327; --rule: #3a3d42;
  --accent: #f0936a; --good: #6fd08c; --good-bg: #12351d; --bad: #ff9c90; --bad-bg: #47150f;
  --open: #f0c463; --open-bg: #3c2c08; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; padding-bottom: .3rem;
  border-bottom: 2px solid var(--accent); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; color: var(--soft); font-weight: 600; }
p { margin: .5rem 0; max-width: 46rem; }
.kicker { color: var(--accent); font-weight: 600; letter-spacing: .04em; margin: 0 0 .3rem; }
a { color: var(--accent); }
.soft { color: var(--soft); }
.text { max-width: 72ch; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1.2rem 0 0; padding: 0; }
.tile { background: var(--card); border-radius: .5rem; padding: .6rem .9rem; min-width: 8.5rem; }
.tile b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .82rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .82rem; }
th, td { padding: .38rem .7rem .38rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
td.num, th.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.key { color: var(--soft); width: 15rem; }
.columns td.key { width: 10.5rem; }
table.pairs { max-width: 46rem; }
table.runs td, table.runs th { padding-right: 1.1rem; }
.verdict { display: inline-block; padding: 0 .55rem; border-radius: 1rem; font-weight: 600;
  white-space: nowrap; }
.pass { color: var(--good); background: var(--good-bg); }
.fail { color: var(--bad); background: var(--bad-bg); }
.open { color: var(--open); background: var(--open-bg); }
.alarm { color: var(--bad); background: var(--bad-bg); border-left: .4rem solid var(--bad);
  padding: .8rem 1rem; border-radius: .3rem; font-weight: 600; margin: 1rem 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
  gap: 0 2.5rem; }
figure { margin: 1.4rem 0 2rem; break-inside: avoid; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: .4rem;
  border: 1px solid var(--rule); }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .45rem; }
figcaption b { color: var(--ink); }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --card: #f3f3f3; --rule: #bbb;
    --accent: #a6461f; --good: #1a7f37; --good-bg: #fff; --bad: #b42318; --bad-bg: #fff;
    --open: #8a5a00; --open-bg: #fff; }
  main { max-width: none; padding: 0; } body { font-size: 10pt; }
  h2 { break-after: avoid; } tr, .tile { break-inside: avoid; } @page { margin: 16mm; } }
"""

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def escape(text: object) -> str:
    """Text made safe for HTML."""
    return html.escape(str(text), quote=True)


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


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """A two-column table of names and values; both are escaped here."""
    body = "".join(
        f'<tr><td class="key">{escape(key)}</td><td>{escape(value)}</td></tr>'
        for key, value in rows
    )
    return f'<div class="scroll"><table class="pairs"><tbody>{body}</tbody></table></div>'


def tiles(rows: Sequence[tuple[str, str]]) -> str:
    """A row of cards, each a value above what it is."""
    body = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(key)}</span></div>'
        for key, value in rows
    )
    return f'<div class="tiles">{body}</div>'
