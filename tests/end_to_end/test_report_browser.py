"""The report of a run in a real browser, from a file: replay, plots, cursor, zoom, print, phone."""

from __future__ import annotations

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from browsing import IN_A_BROWSER, open_page, pixels
from synthetic import XML, dataset

from marsyard.drawing.page import code, table
from marsyard.drawing.page_plots import PageCurve, PagePanel, plot_over
from marsyard.drawing.report_page import Part, ReportPage, write_report_page
from marsyard.results import evaluate_all, write_report
from marsyard.scenario.schema import Scenario

pytestmark = IN_A_BROWSER
EVIL = '</script><script>document.title="broken in"</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def run():
    return dataset()


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    """The report of a made-up run whose texts are hostile."""
    check = {"name": EVIL, "of": "position_base.z", "expected": 0.12, "tolerance": 1e-6}
    scenario = Scenario.model_validate(
        {
            "title": EVIL, "description": EVIL, "robot": {"name": "six wheels"},
            "run": {"duration": 12.0}, "report": {"checks": [check]},
        }
    )  # fmt: skip
    checks = evaluate_all(run, scenario.report.checks)
    model = mujoco.MjModel.from_xml_string(XML)
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, run, scenario, checks, model=model)


def opened(browser, report, width=1280, height=900):
    page = open_page(browser, "about:blank", width, height)
    page.requests = []
    page.on("request", lambda r: page.requests.append(r.url))
    page.goto(report.as_uri())
    page.wait_for_selector("#key-plots svg.canvas .curve")
    return page


@pytest.fixture
def page(browser, report):
    page = opened(browser, report)
    yield page
    assert page.problems == []
    page.close()


def canvas(page, panel: int = 0):
    """Where a panel of the key plots lies: x, y, width, height."""
    box = page.locator("#key-plots svg.canvas").nth(panel)
    box.scroll_into_view_if_needed()
    return box.bounding_box()


def labels(page, panel: int = -1) -> list[str]:
    texts = page.locator("#key-plots svg.canvas").nth(panel).locator(".below").all_text_contents()
    return texts[:-1]  # without the name of the axis


def at(box, share: float) -> float:
    """The place on screen of a share of the time axis: 58 pixels to the left, 10 to the right."""
    return box["x"] + 58 + share * (box["width"] - 68)


def test_opens_from_a_file_without_a_request(page, report):
    assert [r for r in page.requests if not r.startswith("data:")] == [report.as_uri()]
    assert page.title().startswith("</script>") and "broken in" in page.title()


def test_first_screen_has_the_answer_and_the_rover(page):
    assert page.locator("#answer").bounding_box()["y"] < 120
    box = page.locator("#replay canvas").bounding_box()
    assert box["y"] + box["height"] < 900
    picture = pixels(page, *(int(box[k]) for k in ("x", "y", "width", "height")))
    assert picture.std() > 15 and len(np.unique((picture // 16).reshape(-1, 3), axis=0)) > 20


def test_the_page_is_short_and_no_wider_than_the_window(browser, report, page):
    assert page.evaluate("document.documentElement.scrollHeight") < 2600
    phone = opened(browser, report, 390, 844)
    for each in (page, phone):
        each.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        each.wait_for_timeout(300)
        assert each.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    phone.close()


def test_one_cursor_across_all_plots(page, run):
    box = canvas(page, 1)
    page.mouse.move(at(box, 0.5), box["y"] + 60)
    lines = page.locator("#key-plots .cursor").evaluate_all("e => e.map(x => x.getAttribute('d'))")
    assert len(lines) == 3 and len(set(lines)) == 1 and lines[0]
    assert page.locator("#cursor-time").inner_text().startswith("t = 6")
    # every curve says its value there
    panel = page.locator("#key-plots .panel").nth(0)
    shown = [float(t.replace("−", "-").replace("·10", "e").replace("⁻", "-"))
             for t in panel.locator("output").all_inner_texts() if "⁻" not in t]  # fmt: skip
    z = float(run["position_base"].sel(axis="z").sel(time=6.0, method="nearest"))
    label = panel.locator(".panel-label").inner_text()
    assert shown and ("position" not in label or any(abs(v - z) < 1e-3 for v in shown))
    page.mouse.move(5, 5)
    assert page.locator("#cursor-time").inner_text() == ""


def test_zoom_by_dragging_is_shared_and_undone(page):
    before = labels(page)
    box = canvas(page, 0)
    page.mouse.move(at(box, 0.25), box["y"] + 50)
    page.mouse.down()
    page.mouse.move(at(box, 0.5), box["y"] + 60, steps=4)
    assert float(page.locator("#key-plots .area").first.get_attribute("width")) > 100
    page.mouse.up()
    zoomed = [float(t) for t in labels(page)]
    assert zoomed[0] > 2.9 and zoomed[-1] < 6.1  # of 12 s
    # other plots over time go along, once they are to be seen
    page.locator("a[href='#part-figures']").click()
    page.wait_for_selector("#part-figures svg.canvas .curve")
    others = page.locator("#part-figures svg.canvas .below").all_text_contents()
    assert str(labels(page)[0]) in others
    page.locator("#key-plots .reset").click()
    assert labels(page) == before
    assert page.locator("#key-plots .reset").is_hidden()


def test_keys_zoom_and_move_the_cursor(page):
    before = labels(page)
    page.locator("#key-plots svg.canvas").first.focus()
    page.keyboard.press("End")
    assert page.locator("#cursor-time").inner_text() == "t = 12 s"
    page.keyboard.press("+")
    assert float(labels(page)[0]) > 5
    page.keyboard.press("Escape")
    assert labels(page) == before


def test_a_click_takes_the_replay_there_and_the_replay_moves_the_cursor(page):
    box = canvas(page, 0)
    page.mouse.click(at(box, 0.75), box["y"] + 50)
    slider = page.locator("#replay input[type=range]")
    assert float(slider.input_value()) == pytest.approx(9.0, abs=0.1)
    page.mouse.move(5, 5)
    slider.evaluate("e => { e.value = 3; e.dispatchEvent(new Event('input')); }")
    assert page.locator("#cursor-time").inner_text() == "t = 3 s"


def test_links_open_parts_and_all_open_for_printing(page):
    part = page.locator("#part-scenario-and-parameters")
    assert part.get_attribute("open") is None
    page.locator("a[href='#part-scenario-and-parameters']").click()
    page.wait_for_selector("#part-scenario-and-parameters[open]")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.part:not([open])").count() == 0
    assert page.locator("#replay img").evaluate("e => e.src.length") > 5000
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.part:not([open])").count() > 3
    assert page.locator("#replay img").count() == 0
    page.locator("#open-all").click()
    assert page.locator("details.part:not([open])").count() == 0


def test_dark_where_the_system_is(browser, report):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(report.as_uri())
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(c) for c in colour.removeprefix("rgb(").rstrip(")").split(",")) < 60
    context.close()


def test_no_other_program_may_run(browser, report):
    page = opened(browser, report)
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.bad === undefined")
    assert any("Content Security Policy" in text for text in page.problems)
    page.close()


def test_two_fingers_zoom_and_one_moves_the_cursor(browser, report):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("#key-plots svg.canvas .curve")
    before = labels(page)
    box = canvas(page, 0)
    y = box["y"] + 60
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *shares: float) -> None:
        points = [{"x": at(box, s), "y": y, "id": k} for k, s in enumerate(shares)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", 0.5)
    shown = page.locator("#cursor-time").inner_text().removeprefix("t = ").removesuffix(" s")
    assert float(shown) == pytest.approx(6.0, abs=0.1)
    send("touchEnd")
    # what lies at 40 and 60 % is drawn apart to 20 and 80 %: a third of the 12 s is left
    send("touchStart", 0.4, 0.6)
    send("touchMove", 0.3, 0.7)
    send("touchMove", 0.2, 0.8)
    send("touchEnd")
    zoomed = [float(t) for t in labels(page)]
    assert labels(page) != before and zoomed[0] > 3.9 and zoomed[-1] < 8.1
    assert zoomed[-1] - zoomed[0] >= 2
    context.close()


@pytest.fixture(scope="module")
def other_report(tmp_path_factory):
    """A report of many runs: plots over words and over a number, long texts, no replay."""
    x = np.array([0.0, 1.0, 2.0])
    words = [(0.0, "sphere"), (1.0, "disc"), (2.0, "torus")]
    curves = (PageCurve("slow", x, 10 * x, "#2b5fc0", dots=True),
              PageCurve("fast", x, 20 * x + 1, "#d55e00", dots=True))  # fmt: skip
    band = PageCurve("90 %", x, np.array([1.0, 2.0, np.nan]), "#888888",
                     upper=np.array([3.0, 90.0, 4.0]))  # fmt: skip
    cloud = PageCurve("runs", np.linspace(0, 2, 40), np.linspace(3, 5, 40), "#2f8f4e", points=True)
    panels = [PagePanel("pull [N]", (band, *curves)), PagePanel("work [J]", (cloud,))]
    long = "a_very_long_name_without_any_place_to_break_it/" * 4
    rows = [[long, *(f"{k}.123456" for k in range(14))]]
    page = ReportPage(
        answer=f"Pull 0 to 41 N over {long}", name=long, kind="study", verdict=("GO", "pass"),
        key_plots=[plot_over("Outputs", "wheel shape", panels, words)],
        parts=[Part("Runs", table(["name", *map(str, range(14))], rows)),
               Part("File", code("x" * 300, block=True))],
    )  # fmt: skip
    return write_report_page(tmp_path_factory.mktemp("other"), page)


@pytest.mark.parametrize("width", [1280, 390])
def test_reports_of_many_runs_fit_the_window(browser, other_report, width):
    page = opened(browser, other_report, width, 844)
    page.locator("#open-all").click()
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("details.part:not([open])").count() == 0
    assert page.problems == []
    page.close()


def test_plots_over_words_have_their_names_and_a_cursor(browser, other_report):
    page = opened(browser, other_report)
    assert labels(page) == ["sphere", "disc", "torus"]
    box = canvas(page, 0)
    page.mouse.move(at(box, 0.5), box["y"] + 40)
    panel = page.locator("#key-plots .panel").first
    # a band has no value of its own
    assert panel.locator(".legend output").all_inner_texts() == ["", "10", "21"]
    assert panel.locator(".at").inner_text() == "wheel shape: disc"
    assert page.locator("#cursor-time").inner_text() == ""
    # the zoom is that of both panels
    page.locator("#key-plots svg.canvas").first.focus()
    page.keyboard.press("+")
    assert labels(page) == ["disc"]
    page.close()


def test_a_band_is_filled_where_both_its_ends_are_known(browser, other_report):
    page = opened(browser, other_report)
    bands = page.locator("#key-plots .panel").first.locator(".curves .curve").first
    outline = bands.get_attribute("d")
    assert outline.endswith("Z") and outline.count("L") == 3  # of the first two values
    high = page.locator("#key-plots svg.canvas").first.locator(".beside").all_text_contents()
    assert max(float(t) for t in high) >= 60
    page.close()


def test_a_page_without_plots_still_opens_its_parts(browser, tmp_path):
    file = write_report_page(tmp_path, ReportPage("a", [Part("One", "text"), Part("Two", "more")]))
    page = open_page(browser, file.as_uri(), 800, 600)
    page.locator("a[href='#part-two']").click()
    page.wait_for_selector("#part-two[open]")
    assert page.problems == []
    page.close()
