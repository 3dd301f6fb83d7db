"""The timeline of a drive's commands: tables for report and terminal.

Both come from the data set alone (`command_began`, `command_ended`, `command_outcome`, …), so that
they can be made of a run that was saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.drawing.page import joined, number, paragraph, table

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = ("", "command", "begin [s]", "end [s]", "ended by", "x [m]", "y [m]", "heading [°]")
_NUMERIC = (0, 2, 3, 5, 6, 7)
#: rows that are shown in the report, and on the terminal
_MOST, _MOST_THERE = 200, 30


def timeline_rows(ds: xr.Dataset) -> list[tuple[str, ...]]:
    """A row of texts per command, in the order of `HEADINGS`; none without a drive."""
    if "command_began" not in ds:
        return []
    rows: list[tuple[str, ...]] = []
    for k in range(ds.sizes["drive_command"]):
        at = ds.isel(drive_command=k)
        kind, note = str(at.command_kind.values), str(at.command_note.values)
        outcome, reason = str(at.command_outcome.values), str(at.command_reason.values)
        values = [at.command_began, at.command_ended, at.command_x, at.command_y]
        began, ended, x, y = (_number(float(v)) for v in values)
        heading = _number(float(np.degrees(at.command_heading)))
        what = f"{kind}: {note}" if note else kind
        how = f"{outcome}: {reason}" if reason else outcome
        rows.append((str(k), what, began, ended, how, x, y, heading))
    return rows


def timeline_section(ds: xr.Dataset) -> str:
    """The table as HTML; empty without a drive."""
    rows = timeline_rows(ds)
    if not rows:
        return ""
    more = paragraph(f"and {len(rows) - _MOST} more", "soft") if len(rows) > _MOST else ""
    return joined(table(HEADINGS, rows[:_MOST], numeric=_NUMERIC, id="timeline"), more)


def timeline_table(ds: xr.Dataset) -> Table | None:
    """The table for the terminal; none without a drive."""
    from rich.table import Table
    from rich.text import Text

    rows = timeline_rows(ds)
    if not rows:
        return None
    shown = Table(title="Commands", title_justify="left", expand=False)
    for k, name in enumerate(HEADINGS):
        shown.add_column(Text(name), justify="right" if k in _NUMERIC else "left")
    for row in rows[:_MOST_THERE]:
        shown.add_row(*(Text(text) for text in row))
    if len(rows) > _MOST_THERE:
        shown.caption = f"and {len(rows) - _MOST_THERE} more, in the report"
    return shown


def _number(value: float) -> str:
    return "–" if np.isnan(value) else number(value, 4)
