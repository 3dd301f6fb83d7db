"""Post-processing by user functions: called with the data set of a run, saved by name.

A function may give a number or text (a row of the report), a matplotlib figure (a picture of the
report, `figures/post-NAME.png`), or a table: an xarray object, a pandas frame, or a mapping of
columns (`post/NAME.csv`, its first rows in the report). Anything else is kept in `Run.post`, and
the report says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.drawing.page import headed, joined, number, paragraph, table
from marsyard.drawing.sheet import FigureFile, save_png, slug
from marsyard.errors import InputError, format_exception
from marsyard.files import read_text

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.ports import PostProcessing

#: rows of a table that the report shows
_SHOWN = 20


def check_post(post: Mapping[str, PostProcessing]) -> None:
    """Refuse what cannot be called, before the run."""
    for name, function in post.items():
        if not callable(function):
            raise InputError(f"post.{name}: is a {type(function).__name__}; a function is needed")
    taken: dict[str, str] = {}
    for name in post:
        other = taken.setdefault(slug(name), name)
        if other != name:
            raise InputError(f"post: '{other}' and '{name}' would have the same file name")


def evaluate_post(data: xr.Dataset, post: Mapping[str, PostProcessing]) -> dict[str, Any]:
    """What each function gives; one that fails gives its `PostError`."""
    check_post(post)
    out: dict[str, Any] = {}
    for name, function in post.items():
        try:
            # a function may not change what others see
            out[name] = function(data.copy(deep=True))
        except Exception as error:
            out[name] = PostError(f"post.{name}: {format_exception(error)}")
    return out


class PostError(str):
    """What went wrong in a function, in one sentence, in place of its result."""


#: what the report says of a picture
_BY_USER = "By a function of the user's."


def write_tables(folder: Path, results: Mapping[str, Any]) -> None:
    """Write what is a table into a run folder."""
    for name, value in results.items():
        if not hasattr(value, "savefig") and (frame := _frame(value)) is not None:
            path = folder / "post" / f"{slug(name)}.csv"
            path.parent.mkdir(exist_ok=True)
            frame.to_csv(path, index=False)


def save_pictures(folder: Path, results: Mapping[str, Any]) -> list[FigureFile]:
    """Draw what is a picture into a run folder."""
    figures = []
    for name, value in results.items():
        if hasattr(value, "savefig"):
            path = folder / "figures" / f"post-{slug(name)}.png"
            path.parent.mkdir(exist_ok=True)
            figures.append(FigureFile(name, _BY_USER, save_png(value, path, 130)))
    return figures


def kept_pictures(folder: Path) -> list[FigureFile]:
    """The pictures that a run folder holds."""
    found = sorted((folder / "figures").glob("post-*.png"))
    return [FigureFile(path.stem.removeprefix("post-"), _BY_USER, path) for path in found]


def post_texts(results: Mapping[str, Any]) -> dict[str, str]:
    """What is neither a picture nor a table, in words."""
    return {
        name: _text(value)
        for name, value in results.items()
        if not hasattr(value, "savefig") and _frame(value) is None
    }


def post_section(texts: Mapping[str, str], folder: Path) -> str:
    """The section of the report: texts, and the first rows of the tables in a run folder."""
    import csv

    shown = table(("result", "value"), texts.items(), 2, id="post") if texts else ""
    parts = [shown]
    for path in sorted((folder / "post").glob("*.csv")):
        try:
            names, *rows = csv.reader(read_text(path, "table").splitlines())
        except (csv.Error, ValueError):
            raise InputError(f"'{path}' is not a table") from None
        first = [[_cell(cell) for cell in row] for row in rows[:_SHOWN]]
        more = paragraph(f"{len(rows)} rows, all in post/{path.name}.", "soft")
        parts.append(headed(path.stem, joined(table(names, first, len(names)), more)))
    return joined(*parts)


def _frame(value: Any) -> Any:
    """A value as a table, or none."""
    import pandas as pd
    import xarray as xr

    if isinstance(value, pd.DataFrame):
        return value
    if isinstance(value, pd.Series):
        return value.to_frame().reset_index()
    if isinstance(value, xr.DataArray) and value.ndim == 0:
        return None
    if isinstance(value, xr.DataArray):
        return value.rename(value.name or "value").to_dataframe().reset_index()
    if isinstance(value, xr.Dataset):
        return value.to_dataframe().reset_index()
    if isinstance(value, Mapping):
        scalar = all(not hasattr(v, "__len__") or isinstance(v, str) for v in value.values())
        return pd.DataFrame([value] if scalar else dict(value))
    return None


def _cell(text: str) -> str:
    """A number as it is read, or the text."""
    try:
        return number(float(text))
    except ValueError:
        return text


def _text(value: Any) -> str:
    if hasattr(value, "ndim") and value.ndim == 0:
        units = getattr(value, "attrs", {}).get("units", "")
        return f"{_text(value.item())} {units}".strip()
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value) if isinstance(value, str | bool) else f"a {type(value).__name__}"
    return number(float(value))
