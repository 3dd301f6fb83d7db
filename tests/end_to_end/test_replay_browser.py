"""Replay and report in a real browser: they load cleanly, draw, move and answer the controls."""

from __future__ import annotations

import http.server
import socket
import sys
import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from browsing import IN_A_BROWSER, open_page, pixels, until
from synthetic import XML, Slope, dataset, ground_data, soil_dataset

from marsyard.errors import InputError
from marsyard.ground import Plane, Sphere
from marsyard.results import Ground, evaluate_all, save_figures, write_report
from marsyard.results.replay import build_scene, ground_meshes, serve
from marsyard.scenario.schema import Scenario

TITLE = "A drop & a <b>drive</b>"

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def replay():
    model, ds = mujoco.MjModel.from_xml_string(XML), dataset()
    ground = ground_meshes([Plane(), Sphere((3.0, 0.5, -0.3), 0.5)], ds)
    replay = serve(build_scene(model, ds, ground, TITLE), port=0, block=False)
    yield replay
    replay.stop()


@pytest.fixture(scope="module")
def page(browser, replay):
    """The replay's page, loaded, with the problems it met."""
    page = open_page(browser, "about:blank", 900, 600)
    page.on("requestfailed", lambda request: page.problems.append(request.url))
    own = replay.url.partition("?")[0]
    page.on(
        "request",
        lambda r: None if r.url.startswith((own, "data:", "blob:", "ws")) else
        page.problems.append(f"request to {r.url}"),
    )  # fmt: skip
    page.goto(replay.url)
    page.wait_for_selector("canvas")
    page.get_by_role("button", name="Play").wait_for()
    _settled(page)
    yield page
    page.close()


def _pixels(page) -> np.ndarray:
    """The part of the page left of the controls, where only the scene is."""
    return pixels(page, 0, 150, 560, 440)


def _settled(page) -> np.ndarray:
    """The picture once it has stopped changing."""
    before = _pixels(page)
    for _ in range(30):
        page.wait_for_timeout(700)
        now = _pixels(page)
        if np.abs(now - before).mean() < 0.02 and now.std() > 10:
            return now
        before = now
    return before


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """Share of pixels that changed clearly."""
    return float((np.abs(a - b).max(axis=2) > 25).mean())


def _set_time(page, key: str) -> np.ndarray:
    page.get_by_role("slider").first.focus()
    page.keyboard.press(key)
    return _settled(page)


def test_page_loads_and_draws(page):
    picture = _settled(page)
    assert picture.std() > 15
    # sand, sky and robot: many colours, not one flat area
    assert len(np.unique((picture // 16).reshape(-1, 3), axis=0)) > 20
    assert page.problems == []


def test_panel_names_the_scenario_as_plain_text(page):
    panel = page.locator("body").inner_text()
    assert TITLE in panel
    assert "synthetic/drop-and-drive" in panel
    for said in ("speed", "follow the robot", "show forces", "show wheel tracks", "base x"):
        assert said in panel, said


@pytest.mark.soak
def test_time_slider_moves_the_robot(page, replay):
    start = _set_time(page, "Home")
    assert "time 0.000 s" in page.locator("body").inner_text()
    end = _set_time(page, "End")
    assert "time 12.000 s" in page.locator("body").inner_text()
    assert _difference(start, end) > 0.01
    again = _set_time(page, "Home")
    assert _difference(start, again) < 0.002


@pytest.mark.soak
def test_force_arrows_can_be_switched_off(page):
    shown = _set_time(page, "End")
    box = page.get_by_label("show forces")
    box.click()
    hidden = _settled(page)
    assert _difference(shown, hidden) > 0.0005
    # arrows are red: more red without green and blue when they are shown
    red = [((p[..., 0] > 1.8 * p[..., 1]) & (p[..., 0] > 120)).sum() for p in (shown, hidden)]
    assert red[0] > red[1] + 30
    box.click()
    assert _difference(shown, _settled(page)) < 0.002


@pytest.mark.soak
def test_play_runs_to_the_end_and_stops(page, replay):
    _set_time(page, "Home")
    replay._speed.value = "2×"
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for()
    page.get_by_text("12.000 s").wait_for()
    assert page.problems == []


@pytest.mark.soak
def test_ruts_appear_as_time_passes(browser, page):
    page.goto("about:blank")  # the last test of that page; two scenes at once are slow to draw
    model, ds = mujoco.MjModel.from_xml_string(XML), soil_dataset()
    soil = Ground(ground_data(ds), terrain=Slope())
    replay = serve(build_scene(model, ds, (), TITLE, soil), port=0, block=False)
    page = open_page(browser, replay.url, 900, 600)
    page.get_by_role("button", name="Play").wait_for()
    page.get_by_label("show forces").click()
    start, end = _set_time(page, "Home"), _set_time(page, "End")
    # ruts are blue, sand and sky are not
    blue = [((p[..., 2] > p[..., 0] + 15).mean()) for p in (start, end)]
    assert blue[1] > blue[0] + 0.002
    # coloured by soil they are gone
    replay._colour.value = "soil"
    plain = _settled(page)
    assert (plain[..., 2] > plain[..., 0] + 15).mean() < blue[1] - 0.002
    assert "Soil" in page.locator("body").inner_text() and page.problems == []
    page.close()
    replay.stop()


def test_a_link_of_another_site_leads_to_the_page(browser, replay):
    """Browsers do not send a strict cookie with a request that another site led to."""
    context = browser.new_context(java_script_enabled=False)  # nothing has to be drawn
    page = context.new_page()
    link = f'<a href="{replay.url}">go</a>'
    page.route("http://far.example/", lambda r: r.fulfill(body=link, content_type="text/html"))
    page.goto("http://far.example/")
    answers = []
    page.on("response", lambda r: answers.append(r.status))
    page.get_by_text("go").click(no_wait_after=True)
    until(page, lambda: 200 in answers)
    assert page.url == replay.url.partition("?")[0] and answers == [303, 403, 200]
    context.close()


ATTACK = """async url => {
  const opened = await new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws"), "viser-v%s");
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
  });
  const fetched = await fetch(url, { credentials: "include" }).then(
    (answer) => answer.status, () => "refused");
  return [opened, fetched];
}"""


class Foreign(http.server.BaseHTTPRequestHandler):
    """A server of somebody else's on this machine; browsers keep other ones off by themselves."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>a page</p>")

    def log_message(self, *given) -> None:
        pass


def test_other_pages_in_the_same_browser_get_nothing(browser, replay):
    """Neither another site nor another port of this machine, whose requests carry the cookie."""
    import viser

    own = replay.url.partition("?")[0]
    context = browser.new_context()
    context.request.get(replay.url)  # the user has opened the page: the cookie is there
    page, said = context.new_page(), []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        port = foreign.server_address[1]
        for site in (f"{own}none", f"http://localhost:{port}/", f"http://127.0.0.1:{port}/"):
            page.goto(site)
            said.append(page.evaluate(ATTACK % viser.__version__, own))
        context.close()
        foreign.shutdown()
    assert said == [["open", 200], ["refused", "refused"], ["refused", "refused"]]


def test_a_taken_port_is_said_clearly(replay):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*--port"):
            serve(replay.scene, port=port, block=False)


def test_report_opens_without_a_request(browser, tmp_path):
    ds = dataset()
    scenario = Scenario.model_validate(
        {
            "title": "A drop",
            "robot": {"name": "six wheels"},
            "run": {"duration": 12.0},
            "report": {
                "checks": [
                    {"name": "rest", "of": "position_base.z", "expected": 0.12, "tolerance": 1e-6}
                ]
            },
        }
    )
    figures = save_figures(ds, (), tmp_path / "figures", dpi=60)
    checks = evaluate_all(ds, scenario.report.checks)
    path = write_report(tmp_path, ds, scenario, checks, figures)
    page, requests, problems = browser.new_page(), [], []
    page.on("request", lambda r: requests.append(r.url))
    page.on("requestfailed", lambda r: problems.append(r.url))
    page.on("console", lambda m: problems.append(m.text))
    page.goto(path.as_uri())
    assert page.locator("#checks tbody tr").count() == 1
    assert "pass" in page.locator("#checks").text_content()
    widths = page.evaluate("[...document.images].map(i => i.naturalWidth)")
    assert len(widths) == len(figures) and min(widths) > 200
    # nothing wider than the window, so that it can be read without scrolling sideways
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert problems == []
    assert [r for r in requests if not r.startswith("data:")] == [path.as_uri()]
    page.close()
