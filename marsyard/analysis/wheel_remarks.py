"""Wheel dimensions and load from the comments of a file, or from lines above its column names.

"r 0.09 b 0.10", "load 60 N", "30 lugs of 15 mm" anywhere in the text, or a line of its own with a
name as that of a column: "Wheel radius [mm];150", "normal load: 80 N".
"""

from __future__ import annotations

import re

from marsyard.analysis.wheel_columns import UNITS, Column, understand, unit_of
from marsyard.errors import InputError

_NUMBER = r"(\d+(?:[.,]\d+)?|\.\d+)"
#: what comments say about the wheel: value, then unit
_IN_REMARKS = {
    "radius": (rf"\b(?:r|radius)\s*[=:;,\t]?\s*{_NUMBER}[;,\t ]*(mm|cm|m)?\b",),
    "diameter": (rf"\b(?:d|dia|diameter)\s*[=:;,\t]?\s*{_NUMBER}[;,\t ]*(mm|cm|m)?\b",),
    "width": (rf"\b(?:b|width)\s*[=:;,\t]?\s*{_NUMBER}[;,\t ]*(mm|cm|m)?\b",),
    "load": (rf"\b(?:load|w|weight)\s*[=:;,\t]?\s*{_NUMBER}[;,\t ]*(kN|N|kg)\b",),
    "lug_height": (
        rf"\b(?:lugs?|grousers?)(?:\s+height)?\s*(?:[=:;,\t]|of|h)?\s*{_NUMBER}[;,\t ]*(mm|cm|m)\b",
        rf"{_NUMBER}\s*(mm|cm|m)\s+(?:high\s+)?(?:lugs?|grousers?)\b",
    ),
}


def remark(text: str, key: str) -> float | None:
    """radius, width, lug_height [m] or load [N] as said in the text; None where it is not."""
    for line in text.splitlines():
        if (value := _pair(line.lstrip("#%/ "), key)) is not None:
            return value
    for kind in (key, "diameter") if key == "radius" else (key,):
        for pattern in _IN_REMARKS[kind]:
            if found := re.search(pattern, text, re.IGNORECASE):
                unit = unit_of(found.group(2) or "")
                return float(found.group(1).replace(",", ".")) * UNITS[kind][unit]
    return None


def _pair(line: str, key: str) -> float | None:
    """ "Wheel radius [mm];150" or "Wheel radius: 150 mm" as a number in SI."""
    cells = [c.strip() for c in re.split(r"[;:=\t|]|,(?!\d)", line) if c.strip()]
    if len(cells) < 2:
        return None
    found = re.match(rf"^{_NUMBER}\s*([a-zA-Z%·]*)$", cells[1])
    try:
        column = understand(cells[0])
    except InputError:
        return None
    if found is None or not isinstance(column, Column) or column.quantity != key or column.letter:
        return None
    value = float(found.group(1).replace(",", "."))
    unit = unit_of(found.group(2) or (cells[2] if len(cells) > 2 else ""))
    if column.bare and unit in UNITS[key]:
        return value * UNITS[key][unit] * column.factor
    return value * column.factor if not column.bare else None
