"""Gamepad and fingers at the desk, in a real browser: what is held, let go, unplugged."""

from __future__ import annotations

import pytest
from browsing import IN_A_BROWSER, text, until
from fake_session import FakeSession

from marsyard.operations.desk import Desk

pytestmark = IN_A_BROWSER

PAD = """() => {
  window.pad = {connected: true, axes: [0, 0, 0, 0],
    buttons: [...Array(17)].map(() => ({pressed: false, value: 0}))};
  navigator.getGamepads = () => [null, window.pad];
}"""


@pytest.fixture(scope="module")
def desk():
    desk = Desk(FakeSession(delay=0.0), port=0)
    yield desk
    desk.stop()


@pytest.fixture(scope="module")
def page(desk, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, has_touch=True)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(desk.url + "&quality=0")
    until(page, lambda: text(page, "control") == "you")
    yield page
    context.close()


def stands(desk) -> bool:
    return desk.stick == (0.0, 0.0)


def test_a_gamepad_drives_stops_and_may_be_unplugged(page, desk):
    page.evaluate(PAD)
    page.evaluate("pad.axes = [-0.5, -0.8, 0, 0]")
    until(page, lambda: desk.stick == (0.8, 0.5))
    assert "gamepad" in text(page, "steering")
    page.evaluate("pad.axes = [0.05, 0.06, 0, 0]")  # near its middle
    until(page, lambda: stands(desk) and text(page, "steering") == "released")
    for unplugged in ("pad.connected = false", "pad = null"):
        page.evaluate(PAD)
        page.evaluate("pad.axes = [0, -1, 0, 0]")
        until(page, lambda: desk.stick == (1.0, 0.0))
        page.evaluate(unplugged)
        until(page, lambda: stands(desk))
    page.evaluate(PAD)
    stops = [c for c in desk.session.calls if c[0] == "stop"]
    page.evaluate("pad.axes = [0, -1, 0, 0]; pad.buttons[1] = {pressed: true, value: 1}")
    until(page, lambda: text(page, "mode") == "stopped")
    page.wait_for_timeout(500)
    # a button that is held stops once
    assert len([c for c in desk.session.calls if c[0] == "stop"]) == len(stops) + 1
    page.evaluate("pad = null")
    until(page, lambda: stands(desk))
    assert page.problems == []


def test_a_finger_holds_the_stick_and_a_second_one_does_not(page, desk):
    touches = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    box = page.locator("#stick").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch("touchStart", (x, y))
    touch("touchMove", (x, y - 46))
    until(page, lambda: desk.stick == (pytest.approx(1.0, abs=0.05), pytest.approx(0.0, abs=0.05)))
    held = desk.stick
    touch("touchStart", (x, y - 46), (x + 30, y + 30))
    page.wait_for_timeout(300)
    assert desk.stick == held
    touch("touchEnd")
    until(page, lambda: stands(desk))
    touch("touchStart", (x, y - 30))
    until(page, lambda: desk.stick[0] > 0.3)
    touch("touchCancel")
    until(page, lambda: stands(desk))
    assert page.problems == []
