"""Text tables as written by laboratories: column names and cells.

Comma, semicolon, tab, bar or blanks between cells; decimal point or, where the separator is not a
comma, decimal comma. Lines that start with #, % or // are comments. The line of names is the one
with most names that are understood; what stands above it (title, name of the wheel, load) belongs
to the comments. A line of units below the names is joined to them. Rows may be chosen by conditions
on their cells.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from marsyard.analysis.wheel_columns import Column, is_unit, understand
from marsyard.errors import InputError, clip, suggest
from marsyard.files import read_bytes

EMPTY = ("", "nan", "na", "n/a", "#n/a", "#value!", "#div/0!", "-", "--", "–", "—", "null", "none")
#: lines looked at for the names of the columns
_TOP = 60
_LONGEST_REMARK = 1000
#: a % before a separator is a unit
_COMMENT = re.compile(r"^\s*(?:#|//|%(?!\s*[;,\t|]))")
_CONDITION = re.compile(r"^\s*([^<>=!]+?)\s*(<=|>=|!=|=|<|>)\s*(.+?)\s*$")
_COMMA = re.compile(r"^[-+]?\d*,\d+(?:[eE][-+]?\d+)?$")


@dataclass(frozen=True)
class Table:
    """Names and cells of a file, and its comments."""

    file: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: str = ""

    def column(self, name: str) -> list[str]:
        """The cells below a name."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]

    def numbers(self, name: str, percent: bool = False) -> np.ndarray:
        """The numbers below a name, NaN where a cell is empty.

        percent: "20%" is 0.2; else the sign of percent is passed over.
        """
        out = np.full(len(self.rows), np.nan)
        for i, cell in enumerate(self.column(name)):
            if cell.lower() in EMPTY:
                continue
            text, share = cell, 1.0
            if cell.endswith("%"):
                text, share = cell[:-1].strip(), 0.01 if percent else 1.0
            value = number(text)
            if value is None:
                raise InputError(f"{self.file}: row {i + 1}: '{name}' = '{cell}' is not a number")
            if not math.isfinite(value):
                raise InputError(f"{self.file}: row {i + 1}: '{name}' is not finite")
            out[i] = share * value
        return out

    def times(self, name: str) -> np.ndarray:
        """The times below a name: numbers, or dates and hours as seconds."""
        cells = self.column(name)
        try:
            stamps = [datetime.fromisoformat(c) for c in cells]
        except ValueError:
            return self.numbers(name)
        return np.array([(s - stamps[0]).total_seconds() for s in stamps])

    def chosen(self, where: Sequence[str]) -> np.ndarray:
        """Rows for which all conditions hold, bool[n]."""
        keep = np.ones(len(self.rows), dtype=bool)
        for condition in where:
            name, test = parse_condition(condition)
            if name not in self.names:
                raise InputError(f"where: no column '{name}'; {suggest(name, self.names)}")
            cells = self.column(name)
            keep &= np.array([test(cell) for cell in cells])
            if not keep.any():
                some = ", ".join(list(dict.fromkeys(cells))[:8])
                raise InputError(f"where: no row has {condition} ('{name}' holds {some})")
        return keep


def number(text: str) -> float | None:
    """A number, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def parse_condition(text: str) -> tuple[str, Callable[[str], bool]]:
    """ "slip<0.5" as a column's name and a test of its cells; numbers compare as numbers."""
    match = _CONDITION.match(text)
    if match is None:
        raise InputError(f"where: '{text}' must be COLUMN=VALUE (or <, <=, >, >=, !=)")
    column, sign, value = match.groups()
    limit = number(value)
    if limit is None and sign not in ("=", "!="):
        raise InputError(f"where: '{text}': '{value}' is not a number")

    def test(cell: str) -> bool:
        have = number(cell)
        if limit is None or have is None:
            return (cell == value) == (sign == "=") if sign in ("=", "!=") else False
        near = math.isclose(have, limit, rel_tol=1e-9, abs_tol=1e-12)
        return {
            "=": near, "!=": not near, "<": have < limit, ">": have > limit,
            "<=": have <= limit, ">=": have >= limit,
        }[sign]  # fmt: skip

    return column, test


def read_table(path: Path, known: Sequence[str] = ()) -> Table:
    """Read a file. known: names of columns said by the user, which mark the line of names, too."""
    lines = _text(path).splitlines()
    remarks = [line for line in lines if _COMMENT.match(line)]
    body = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    if not body:
        raise InputError(f"{path.name}: there are no rows below a line of column names")
    at, mark = _head(body, known)
    names = _names(path.name, _cells(body[at], mark))
    rows = []
    for line in body[at + 1 :]:
        cells = _cells(line, mark)
        # empty cells at the end, and lines of text
        cells = cells[: len(names)] + [c for c in cells[len(names) :] if c]
        if sum(map(bool, cells)) == 1 and len(names) > 1 and len(cells) != len(names):
            remarks.append(line)
            continue
        rows.append(cells)
    if not rows:
        raise InputError(f"{path.name}: there are no rows below a line of column names")
    if _is_units(rows[0]):
        units = rows.pop(0)
        names = [_with_unit(n, u) for n, u in zip(names, units, strict=False)]
    _same_length(path.name, names, rows, mark)
    if not rows:
        raise InputError(f"{path.name}: there are no rows below a line of column names")
    rows = _points(rows) if mark != "," else rows
    filled = tuple(tuple(c.replace("−", "-") for c in row) for row in rows)
    # sizes are looked for in lines that somebody wrote
    said = [line for line in (*body[:at], *remarks) if len(line) < _LONGEST_REMARK]
    return Table(path.name, tuple(names), filled, "\n".join(said))


def _text(path: Path) -> str:
    raw = read_bytes(path, "table")
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    if path.suffix.lower() in (".xls", ".xlsx", ".ods", ".mat", ".h5") or (
        b"\0" in raw and not wide
    ):
        raise InputError(f"'{path}' is not a text file; a CSV file or a run folder is expected")
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError(f"'{path}' is not a text file; a CSV file or a run folder is expected")


def _cells(line: str, mark: str) -> list[str]:
    if mark == " ":
        return line.split()
    try:
        cells = next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])
    except csv.Error as error:
        raise InputError(f"the line '{clip(line)}' is not one of a table ({error})") from None
    return [c.strip() for c in cells]


def _head(body: list[str], known: Sequence[str]) -> tuple[int, str]:
    """The line of names and the separator: where most names are understood."""
    best, found = (0, max(",;\t|", key=body[0].count)), 0
    for i, line in enumerate(body[:_TOP]):
        for mark in ",;\t| ":
            cells = _cells(line, mark)
            # a line of numbers has none
            if mark == " " and (len(cells) < 2 or any(m in line for m in ",;\t|")):
                continue
            count = sum(_is_name(c, known) for c in cells)
            if count > found:
                best, found = (i, mark), count
    return best


def _is_name(cell: str, known: Sequence[str]) -> bool:
    if cell in known or cell.lower() in ("quantity", "value"):
        return True
    try:
        return isinstance(understand(cell), Column)
    except InputError:
        # a known quantity with a wrong unit
        return True


def _names(file: str, cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells.pop()
    twice = next((c for c in cells if c and cells.count(c) > 1), None)
    if twice:
        raise InputError(f"{file}: two columns are called '{twice}'; names must differ")
    return cells


def _is_units(cells: list[str]) -> bool:
    """Whether a row is one of units: no numbers, and most cells are units."""
    said = [c.strip("[]() ") for c in cells if c.strip("[]() ")]
    if not said or any(number(c.replace(",", ".")) is not None for c in said if c != "1"):
        return False
    return sum(is_unit(c) for c in said) > 0.6 * len(said) and any(c not in EMPTY for c in said)


def _with_unit(name: str, unit: str) -> str:
    unit = unit.strip("[]() ")
    return name if not unit or "[" in name or "(" in name else f"{name} [{unit}]"


def _same_length(file: str, names: list[str], rows: list[list[str]], mark: str) -> None:
    for at, row in enumerate(rows, start=1):
        if len(row) != len(names):
            hint = ""
            if mark == "," and len(row) > len(names):
                hint = "; numbers with a decimal comma need semicolons between the cells"
            raise InputError(
                f"{file}: row {at} has {len(row)} cells, but there are {len(names)} columns{hint}"
            )


def _points(rows: list[list[str]]) -> list[list[str]]:
    """Decimal commas as points."""
    cells = [c for row in rows for c in row]
    if not any(_COMMA.match(c) for c in cells):
        return rows
    return [[c.replace(",", ".") if _COMMA.match(c) else c for c in row] for row in rows]


def per_wheel(table: Table) -> Table:
    """A log with the columns of each wheel side by side (slip_FL, slip_FR, …) as one below another.

    A word before or after a known name is a wheel's where at least two known names have it.
    """
    words: dict[str, dict[str, int]] = {}
    for at, name in enumerate(table.names):
        for word, rest in _splits(name):
            if (
                not is_unit(word)
                and isinstance(column := _quiet(rest), Column)
                and column.quantity != "time"
            ):
                words.setdefault(word, {})[rest] = at
    sets = {w: c for w, c in words.items() if len(c) > 1}
    if len(sets) < 2:
        return table
    taken = {at for c in sets.values() for at in c.values()}
    common = [at for at in range(len(table.names)) if at not in taken]
    heads = list(dict.fromkeys(rest for c in sets.values() for rest in c))
    rows = [
        (*(row[at] for at in common), *(row[c[h]] if h in c else "" for h in heads), wheel)
        for wheel, c in sets.items()
        for row in table.rows
    ]
    names = (*(table.names[at] for at in common), *heads, "wheel")
    return replace(table, names=names, rows=tuple(rows))


def _splits(name: str) -> list[tuple[str, str]]:
    """A name cut into a wheel's word and the rest: slip_FL, FL_slip, slip_FL [%], Fz.front_left."""
    match = re.match(r"^(.*?)(\s*[\[(].*)?$", name.strip())
    assert match is not None
    parts, unit = re.split(r"[_\s.\-/]+", match[1]), match[2] or ""
    out = []
    for count in (1, 2):
        if len(parts) > count:
            out.append(("_".join(parts[-count:]), "_".join(parts[:-count]) + unit))
            out.append(("_".join(parts[:count]), "_".join(parts[count:]) + unit))
            # slip_FL_N
            if len(parts) > count + 1 and is_unit(parts[-1]):
                word, rest = parts[-1 - count : -1], [*parts[: -1 - count], parts[-1]]
                out.append(("_".join(word), "_".join(rest) + unit))
    return out


def _quiet(name: str) -> Column | str | None:
    try:
        return understand(name)
    except InputError:
        return None
