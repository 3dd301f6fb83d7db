"""The page of every report: `templates/report.html`, filled in and written as one file.

It begins with the answer in one line and what is to be said against it, then a picture (a replay in
3D or a figure), the key plots, and a table of contents of the rest, whose parts are folded. The
file carries data, pictures, programs and style inside, loads nothing, and allows no other program
to run in it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from marsyard.drawing.page import joined, picture, plot, program, templates
from marsyard.drawing.page_plots import PagePlot, json_in_page, plots_data
from marsyard.drawing.sheet import FigureFile
from marsyard.files.replacing import replacing

FILE_NAME = "report.html"
#: how much a remark matters
BAD, WARNING = "bad", "warning"
_KEYS = "Drag to zoom, double-click to zoom out; with the keyboard + − and arrows."


@dataclass(frozen=True)
class Part:
    """A folded part of the page: HTML under a title, and what it comes to in a few words."""

    title: str
    body: str
    summary: str = ""
    open: bool = False

    @property
    def id(self) -> str:
        """What links to it name."""
        return "part-" + re.sub(r"[^a-z]+", "-", self.title.lower()).strip("-")


#: stands for the part with all plots and figures
FIGURES = Part("Figures", "")


@dataclass(frozen=True)
class ReportPage:
    """What a report says.

    kind: of what it is a report; name, title: what that is called; verdict: a word before the
    answer and its kind (pass, fail, open). remarks: how much they matter (BAD, WARNING) and what
    they say; alarms: what must not be overlooked; notes: what is said quietly. picture: HTML, a
    figure or a replay (`drawing.page.replay`). `plots` and `figures` stand in the part `FIGURES`,
    after the others where that is not named; parts without a body are left out.
    """

    answer: str
    parts: Sequence[Part]
    title: str = ""
    name: str = ""
    kind: str = ""
    verdict: tuple[str, str] | None = None
    alarms: Sequence[str] = ()
    remarks: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    picture: str = ""
    is_replay: bool = False
    key_plots: Sequence[PagePlot] = ()
    plots: Sequence[PagePlot] = ()
    figures: Sequence[FigureFile] = ()


def write_report_page(folder: str | Path, page: ReportPage, file: str = FILE_NAME) -> Path:
    """Write the page into a folder, whole or not at all."""
    path = Path(folder) / file
    text = report_html(page)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def report_html(page: ReportPage) -> str:
    """The page as it stands in its file."""
    from markupsafe import Markup

    programs = [program("page_plots.js"), *([program("page_replay.js")] if page.is_replay else [])]
    plots = [*page.key_plots, *page.plots]
    key = [plot(place, each) for place, each in enumerate(page.key_plots)]
    # of a file only its name
    name = Path(page.name).name if Path(page.name).is_absolute() else page.name
    named = [each for each in (page.kind, name, page.title) if each]
    return (
        templates()
        .get_template("report.html")
        .render(
            page=page,
            title=page.title or page.answer,
            kicker=" · ".join(dict.fromkeys(["marsyard", *named])),
            script_hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in programs),
            answer=_unbroken(page.answer),
            key_plots=key,
            hint=_hint(page) if key else "",
            parts=_parts(page),
            plot_data=Markup(json_in_page(plots_data(plots))) if plots else "",
            plot_script=Markup(programs[0]),
        )
    )


def _parts(page: ReportPage) -> list[Part]:
    """All that have a body, those of the figures among them."""
    given = list(page.parts)
    if FIGURES not in given:
        given.append(FIGURES)
    return [p for each in given for p in (_figures(page) if each is FIGURES else [each]) if p.body]


def _figures(page: ReportPage) -> list[Part]:
    """All plots and figures, numbered."""
    first, count = len(page.key_plots), len(page.plots)
    drawn = [plot(first + k, each, 1 + k) for k, each in enumerate(page.plots)]
    drawn += [picture(each, 1 + count + k) for k, each in enumerate(page.figures)]
    return [Part(FIGURES.title, joined(*drawn), str(len(drawn)))] if drawn else []


def _hint(page: ReportPage) -> str:
    """How the key plots are used."""
    if not any(each.linked for each in page.key_plots):
        return _KEYS
    seek = " A click takes the replay to that time." if page.is_replay else ""
    return f"{_KEYS}{seek} The cursor runs across all plots over time."


def _unbroken(text: str) -> str:
    """Numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=\(?(?:m|s|%|J/m)\b|%)", "\u00a0", text)


def _sha256(text: str) -> str:
    """As a page's policy names a program that may run in it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
