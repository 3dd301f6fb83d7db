"""The page of every report: what stands on it, in which order, and that texts stay texts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from marsyard.drawing import page as pieces
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import (
    BAD,
    FIGURES,
    WARNING,
    Part,
    ReportPage,
    report_html,
    write_report_page,
)
from marsyard.drawing.sheet import FigureFile

EVIL = "</script><img src=x onerror='alert(\"1\")'>"


def a_plot(title: str = "Plot", linked: bool = True) -> PagePlot:
    x = np.linspace(0, 1, 5)
    panel = PagePanel("y [m]", (PageCurve(EVIL, x, x**2, "#112233"),))
    return PagePlot(title, (panel,), "time [s]", (0.0, 1.0), linked=linked)


@pytest.fixture
def figure(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG")
    return FigureFile(EVIL, EVIL, path)


def places(html: str, *texts: str) -> list[int]:
    found = [html.find(text) for text in texts]
    assert -1 not in found, dict(zip(texts, found, strict=True))
    return found


def test_order_of_the_page(figure):
    page = ReportPage(
        answer="It went 5 m", title="A title", name="group/name", kind="study",
        verdict=("GO", "pass"), alarms=["an alarm"], remarks=[(BAD, "bad"), (WARNING, "careful")],
        notes=["a note"], picture=pieces.picture(figure), key_plots=[a_plot()],
        parts=[Part("First", pieces.paragraph("one")), FIGURES, Part("Empty", ""),
               Part("Last", pieces.paragraph("two"), "in short", open=True)],
        plots=[a_plot("Other")], figures=[figure],
    )  # fmt: skip
    html = report_html(page)
    found = places(
        html, "marsyard · study · group/name · A title", ">GO<", "It went 5\u00a0m", "an alarm",
        'class="bad"', 'class="warning"', "a note", '<section id="picture"', "id=\"key-plots\"",
        'aria-label="Contents"', '<details class="part" id="part-first"',
        '<details class="part" id="part-figures"', "Figure 1: Other", "Figure 2: ",
        '<details class="part" id="part-last" open', 'id="plot-data"',
    )  # fmt: skip
    assert found == sorted(found)
    assert "Empty" not in html and html.count("data-plot=") == 2


def test_figures_come_last_where_no_place_is_named_and_the_bare_page_has_none(figure):
    html = report_html(ReportPage("a", [Part("Only", "text")], figures=[figure]))
    assert html.index("part-only") < html.index("part-figures")
    bare = report_html(ReportPage("a", []))
    assert "Contents" not in bare.partition("</style>")[2].partition("<script>")[0]
    assert "plot-data" not in bare.partition("<script>")[0].partition("</style>")[2]


def test_texts_are_never_html(figure):
    rows = [(EVIL, EVIL)]
    parts = [
        pieces.pairs(rows), pieces.tiles(rows), pieces.table((EVIL, EVIL), rows, id=EVIL),
        pieces.badge(EVIL, EVIL, EVIL), pieces.paragraph(EVIL), pieces.paragraphs(EVIL),
        pieces.soft(EVIL), pieces.strong(EVIL), pieces.alarm(EVIL), pieces.items([EVIL]),
        pieces.headed(EVIL, EVIL), pieces.columns(rows), pieces.link(EVIL, EVIL),
        pieces.code(EVIL), pieces.code(EVIL, block=True), pieces.folded(EVIL, EVIL),
        pieces.picture(figure, 1), pieces.plot(0, a_plot(EVIL)), pieces.stacked(EVIL, EVIL),
        pieces.joined(EVIL, EVIL),
    ]  # fmt: skip
    for part in parts:
        assert "<img src=x" not in part and "</script>" not in part, part
    page = ReportPage(
        EVIL, [Part(EVIL, EVIL, EVIL)], EVIL, EVIL, EVIL, (EVIL, EVIL), [EVIL], [(BAD, EVIL)],
        [EVIL], EVIL, key_plots=[a_plot(EVIL)], plots=[a_plot(EVIL)], figures=[figure],
    )  # fmt: skip
    html = report_html(page)
    assert "<img src=x" not in html
    assert html.count("</script>") == 2  # those of the data and the program


def test_only_programs_of_the_page_may_run_and_nothing_is_loaded():
    html = report_html(ReportPage("a", [], key_plots=[a_plot()]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'") and policy.count("'sha256-") == 1
    assert not re.search(r'(src|href)="(?!data:|#)', html)


def test_numbers_stay_with_their_units():
    html = report_html(ReportPage("5.1 m in 53 s, slip 35 %", []))
    assert "5.1\u00a0m in 53\u00a0s, slip 35\u00a0%" in html


def test_a_page_is_whole_or_not_there(tmp_path):
    path = write_report_page(tmp_path, ReportPage("a", []), "other.html")
    assert path == tmp_path / "other.html" and path.read_text().rstrip().endswith("</html>")
    assert [p.name for p in tmp_path.iterdir()] == ["other.html"]


def test_columns_of_numbers():
    html = pieces.table(("a", "b", "c"), [("x", "1", "2")])
    assert html.count('<td class="num">') == 2 and "<td>x</td>" in html
    assert pieces.table(("a", "b"), [("1", "x")], numeric=[0]).count('<td class="num">') == 1


def test_a_plot_over_anything_is_as_wide_as_its_curves():
    x = np.array([2.0, 4.0, np.nan, 90.0])
    panel = PagePanel("y", (PageCurve("a", x, np.array([1.0, 2.0, 3.0, np.nan]), "#000000"),))
    plot = plot_over("t", "x", [panel])
    assert plot.x_limits == pytest.approx((1.94, 4.06)) and plot.along and not plot.linked
    assert plot_over("t", "x", [PagePanel("y", ())]) is None
