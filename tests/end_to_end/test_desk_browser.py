"""The desk in a real browser: load, drive, pause, click a goal, validate, see the verdict."""

from __future__ import annotations

import math
import os
from pathlib import Path

import desk_page
import pytest
from browsing import IN_A_BROWSER, open_page, text, until
from fake_session import FakeSession, FakeWorlds

from marsyard.operations.desk import CommandJudged, Desk, Judged
from marsyard.operations.desk.scene import GREEN, WHITE, YELLOW
from marsyard.scenario import load_scenario

#: a folder for pictures to look at
PICTURES = os.environ.get("MARSYARD_PICTURES")

pytestmark = IN_A_BROWSER


def judge(sequence, scenario, progress, stop) -> Judged:
    """Turns are not allowed."""
    progress(0.5)
    words = ["no-go" if c.__class__.__name__ == "TurnCommand" else "go" for c in sequence.sequence]
    commands = tuple(CommandJudged(w, "slip 0.31 of 0.6 at most") for w in words)
    return Judged("no-go" if "no-go" in words else "go", "turns are not allowed", commands)


@pytest.fixture(scope="module")
def desk():
    session = FakeSession(delay=1.0)
    desk = Desk(session, port=0, token="a-token-for-the-test", validate=judge)
    yield desk
    desk.stop()


def open_desk(browser, desk, quality: float, width: int = 1280, height: int = 720):
    page = open_page(browser, desk.url + f"&quality={quality}", width, height)
    until(page, lambda: text(page, "link") == "good")
    return page


@pytest.fixture(scope="module")
def page(desk, browser):
    """Without the 3D scene: drawn in software it would hold up everything else."""
    page = open_desk(browser, desk, 0)
    yield page
    page.close()


def press(page, name: str) -> None:
    # without waiting until the picture stands still
    page.locator(f"#{name}").dispatch_event("click")


def picture(page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", timeout=60_000)


def places(desk) -> tuple[float, float]:
    """x of the rover as told, and as predicted [m]."""
    shown = desk.session.shown()
    return float(shown.delayed[0]), float(shown.predicted[0])


def test_the_page_shows_what_is_known(page, desk):
    # the token went into a cookie
    assert "token" not in page.url
    assert text(page, "control") == "you" and text(page, "mode") == "nominal"
    assert text(page, "round-trip") == "1.00 s" and text(page, "remote") == "running"
    until(page, lambda: "as it was" in text(page, "legend-rover"))
    assert "95 %" in text(page, "legend-ghost")
    numbers = text(page, "numbers")
    for said in ("speed", "slip", "10 %", "sinkage", "12.0 mm", "tilt", "2.9 °", "14.2 W"):
        assert said in numbers, said
    until(page, lambda: "friction angle" in text(page, "beliefs"))
    # nothing is cut off, nothing scrolls
    for width, height in ((1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(OVERFLOWING) == []
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


#: parts of the page that are wider or higher than their place, or outside of the window
OVERFLOWING = """() => [...document.querySelectorAll(`#bar, #bar *, #dock, #dock *, #side .tabs *,
  #numbers, #numbers *, #monitor, .actions *`)].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > innerWidth + 1 || box.bottom > innerHeight + 1
      || (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
          && getComputedStyle(e).display !== "inline"
          && !["ellipsis"].includes(getComputedStyle(e).textOverflow)));
  }).map((e) => e.outerHTML.slice(0, 80))"""


def test_keys_drive_and_the_prediction_is_ahead(page, desk):
    start = places(desk)[0]
    page.locator("body").evaluate("e => e.ownerDocument.defaultView.focus()")
    page.keyboard.down("w")
    until(page, lambda: desk._stick == (1.0, 0.0))
    until(page, lambda: places(desk)[1] > start + 0.1)
    told, predicted = places(desk)
    assert predicted > told
    until(page, lambda: places(desk)[0] > start + 0.05)
    assert "ahead" in text(page, "steering") and "keyboard" in text(page, "steering")
    until(page, lambda: desk.scene._roots["/ghost"].visible)
    assert desk.scene._at["prediction"][0] > desk.scene._at["rover"][0]
    picture(page, "drive")
    page.keyboard.up("w")
    until(page, lambda: desk._stick == (0.0, 0.0) and text(page, "steering") == "released")


def test_no_time_is_negative_though_the_prediction_is_behind(page, desk):
    desk.session.late = 2.5  # the prediction is for a time that has passed
    try:
        until(page, lambda: ", now" in text(page, "legend-ghost"))
        until(page, lambda: desk.scene._last["label prediction"] == "predicted, now")
        assert "-" not in text(page, "legend-ghost") and "-" not in text(page, "age")
    finally:
        desk.session.late = 0.0
    until(page, lambda: "in 0.5 s" in text(page, "legend-ghost"))


def test_the_line_above_the_queue_is_what_the_session_says(page, desk):
    assert text(page, "queue-counts") == ""
    desk.session.queue = "stop 8 arrives in 0.4 s, ends 2; 1 under way, 1 waiting at the rover"
    try:
        until(page, lambda: text(page, "queue-counts") == desk.session.queue)
    finally:
        desk.session.queue = ""
    until(page, lambda: text(page, "queue-counts") == "")


def test_gates_stand_in_the_scene_and_are_counted(browser):
    gates = [{"centre": [1.0, 0.0], "width": "2 m"}, {"centre": [40.0, 0.0], "width": "2 m"}]
    session = FakeSession(delay=0.2, scenario=load_scenario("rt0448/test-3", {"gates": gates}))
    desk = Desk(session, port=0, token="a-token-for-the-test")
    try:
        page = open_desk(browser, desk, 0.5)
        until(page, lambda: text(page, "gates") == "0 of 2")
        assert page.locator("#tile-gates").is_visible()
        colours = {YELLOW, WHITE}
        until(page, lambda: {g[0].color for g in desk.scene._gates} == colours)
        # the rover goes through the first
        session.gates.observe(0.0, 0.5, 0.2)
        session.gates.observe(1.0, 1.5, 0.2)
        until(page, lambda: text(page, "gates") == "1 of 2")
        until(page, lambda: [g[0].color for g in desk.scene._gates] == [GREEN, YELLOW])
        picture(page, "gates")
        assert page.evaluate(OVERFLOWING) == []
        assert not page.problems
        page.close()
    finally:
        desk.stop()


def test_a_page_without_gates_has_no_tile_for_them(page, desk):
    assert not page.locator("#tile-gates").is_visible()


def test_typing_does_not_drive(page, desk):
    desk.session.calls.clear()
    page.locator("#text").evaluate("e => { e.closest('section').hidden = false; e.focus(); }")
    page.keyboard.type("was d ")
    assert page.locator("#text").input_value() == "was d "
    page.locator("#text").evaluate("e => { e.value = ''; e.closest('section').hidden = true; }")
    # a stick let go before is said a few times more
    moved = [c for c in desk.session.calls if c[0] in ("steer", "stop") and c[1] != (0.0, 0.0)]
    assert moved == []


def test_the_stick_on_the_screen(page, desk):
    box = page.locator("#stick").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 23, y - 40)  # of 46 pixels
    until(page, lambda: desk._stick == (pytest.approx(40 / 46.14, 0.05), pytest.approx(0.5, 0.05)))
    assert math.hypot(*desk._stick) <= 1.0001
    page.mouse.up()
    until(page, lambda: desk._stick == (0.0, 0.0))


def test_pause_and_go_on(page, desk):
    press(page, "pause")
    until(page, lambda: desk.session.paused and "Paused" in text(page, "words"))
    stands = text(page, "clock")
    assert text(page, "pause") == "Continue"
    press(page, "pause")
    until(page, lambda: not desk.session.paused and text(page, "clock") != stands)


def test_stop_resume_and_flush(page, desk):
    desk.session.goal(30.0, 0.0)
    until(page, lambda: "executing" in text(page, "orders"))
    page.keyboard.press("Space")
    until(page, lambda: text(page, "mode") == "stopped")
    assert "press Resume" in text(page, "words") and "EMERGENCY STOP" in text(page, "orders")
    until(page, lambda: "cancelled" in text(page, "orders"))
    assert "emergency stop" in text(page, "orders")
    picture(page, "stop")
    press(page, "flush-all")
    until(page, lambda: ("flush", {"current": True}) in desk.session.calls)
    press(page, "resume")
    until(page, lambda: text(page, "mode") == "nominal")
    press(page, "stop")
    until(page, lambda: text(page, "mode") == "stopped")
    press(page, "resume")
    until(page, lambda: text(page, "mode") == "nominal")


def test_a_sequence_is_put_together_judged_and_sent(page, desk):
    page.locator("[data-tab=sequence]").dispatch_event("click")
    for kind in ("arc", "turn", "wait"):
        page.locator("#kind").select_option(kind)
        press(page, "add")
        until(page, lambda kind=kind: kind in text(page, "commands"))
    assert "straight 1 m at 4 cm/s" in text(page, "commands")
    assert page.locator("#text").input_value().count("  - {") == 3
    assert page.evaluate(OVERFLOWING) == []
    press(page, "preview")
    until(page, lambda: "Preview: ends at" in text(page, "text-words"))
    press(page, "validate")
    until(page, lambda: text(page, "verdict").startswith("NO-GO"))
    colours = page.locator("#commands li").evaluate_all("all => all.map((e) => e.className)")
    assert colours == ["go", "no-go", "go"]
    picture(page, "verdict")
    desk.session.calls.clear()
    press(page, "send")
    until(page, lambda: page.locator("#ask").evaluate("e => e.open"))
    assert "no-go" in text(page, "ask")
    page.locator("#ask button[value=no]").dispatch_event("click")
    assert not [c for c in desk.session.calls if c[0] == "command"]
    # without the turn it may go
    page.locator("#commands li:nth-child(2) button[title=remove]").dispatch_event("click")
    until(page, lambda: "turn" not in page.locator("#text").input_value())
    press(page, "validate")
    until(page, lambda: text(page, "verdict").startswith("GO"))
    press(page, "send")
    until(page, lambda: len([c for c in desk.session.calls if c[0] == "command"]) == 2)


def test_mistakes_in_the_text_are_told(page, desk):
    page.locator("#text").fill("sequence:\n  - {trun: 45 deg}\n")
    until(page, lambda: "trun" in text(page, "text-words"))
    assert "bad" in page.locator("#text").get_attribute("class")
    press(page, "clear")
    until(page, lambda: text(page, "text-words") == "")
    page.locator("[data-tab=monitor]").dispatch_event("click")
    until(page, lambda: desk._aim.at == "")


def test_a_lost_link_is_seen(page, desk):
    session = desk.session
    session.silent_since = session.shown().time
    try:
        until(page, lambda: text(page, "link") == "late")
        until(page, lambda: text(page, "link") == "lost")
        assert "nothing heard for" in text(page, "words")
        assert "lost" in page.locator("#view").get_attribute("class")
        assert float(text(page, "age").removesuffix(" s")) > 2.0
        picture(page, "lost")
    finally:
        session.silent_since = None
    until(page, lambda: text(page, "link") == "good")


def test_who_watches_cannot_drive_until_he_takes_the_control(page, desk, browser):
    other = open_desk(browser, desk, 0)
    try:
        until(other, lambda: text(other, "control").startswith("page "))
        desk.session.calls.clear()
        other.keyboard.down("w")
        until(other, lambda: "take control" in text(other, "steering"))
        other.keyboard.up("w")
        assert not [c for c in desk.session.calls if c[0] == "steer"]
        press(other, "take")
        until(other, lambda: text(other, "control") == "you")
        until(page, lambda: text(page, "control").startswith("page "))
    finally:
        other.close()
    press(page, "take")
    until(page, lambda: text(page, "control") == "you")


def test_a_lost_connection_is_red_and_found_again(page, desk):
    page.keyboard.down("w")
    until(page, lambda: desk._stick == (1.0, 0.0))
    (one,) = desk.pages._pages.values()
    desk.pages._loop.call_soon_threadsafe(one.connection.transport.abort)
    until(page, lambda: desk._stick == (0.0, 0.0))
    until(page, lambda: page.evaluate("document.body.className").find("disconnected") < 0
          and desk.pages.count == 1 and text(page, "control") == "you")  # fmt: skip
    page.keyboard.up("w")
    # while it was away it said so
    page.evaluate("document.body.classList.add('disconnected')")
    assert page.locator("#offline").evaluate("e => getComputedStyle(e).display") == "grid"
    page.evaluate("document.body.classList.remove('disconnected')")
    assert [p for p in page.problems if "WebSocket connection" not in p] == []


# --- with the 3D scene


@pytest.fixture(scope="module")
def scene_page(desk, browser):
    desk_page.until(lambda: desk.pages.count <= 1)
    page = open_desk(browser, desk, 0.2, *((1280, 720) if PICTURES else (900, 560)))
    press(page, "take")
    until(page, lambda: text(page, "control") == "you" and len(desk._viewers) == 1)
    yield page
    page.close()


def test_a_click_on_the_terrain_is_a_goal_after_it_is_confirmed(scene_page, desk):
    page = scene_page
    session = desk.session
    # without the switch a click does nothing
    click_terrain(page, lambda: True)
    assert text(page, "goal-words").startswith("Enable it")
    page.locator("#aim-goal").evaluate("e => e.click()")
    until(page, lambda: desk._aim.at == "goal")
    click_terrain(page, lambda: desk._aim.places)

    # a slow page may take more than one of the clicks: the last is the goal
    def told() -> bool:
        x, y, _ = desk._aim.places[0]
        return f"x {x:.2f}, y {y:.2f} m" in text(page, "goal-words")

    until(page, told)
    picture(page, "goal")
    before = len(session._orders)
    page.wait_for_timeout(300)
    assert len(session._orders) == before  # only proposed
    place = desk._aim.places[0]
    assert abs(place[2]) < 1e-6  # on the plane z = 0
    press(page, "goal-send")
    until(page, lambda: len(session._orders) > before)
    order = session._orders[-1]
    assert (order["x"], order["y"]) == pytest.approx((place[0], place[1]))
    until(page, lambda: "drive to" in text(page, "orders") and "executing" in text(page, "orders"))
    page.locator("#aim-goal").evaluate("e => e.click()")
    until(page, lambda: desk._aim.at == "")


def click_scene(page, happened, across: float, down: float) -> None:
    """Click into the scene at parts of its width and height, again if it was busy."""
    box = page.locator("#scene").bounding_box()
    for _ in range(20):
        page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
        for _ in range(40):
            if happened():
                return
            page.wait_for_timeout(50)
    raise AssertionError("no click was heard")


def click_terrain(page, happened) -> None:
    click_scene(page, happened, 0.65, 0.7)


def test_a_click_is_a_goal_of_a_sequence_too(scene_page, desk):
    page = scene_page
    page.locator("[data-tab=sequence]").dispatch_event("click")
    until(page, lambda: desk._aim.at == "point")
    click_terrain(page, lambda: "goal" in page.locator("#text").input_value())
    assert "to (" in text(page, "commands")
    page.locator("[data-tab=monitor]").dispatch_event("click")
    until(page, lambda: desk._aim.at == "")


def test_keys_in_the_scene_drive_too_and_shift_is_fine(scene_page, desk):
    page = scene_page
    scene = page.locator("#scene").element_handle().content_frame()
    scene.evaluate("window.focus()")
    fine = """(kind) => window.dispatchEvent(new KeyboardEvent(kind,
        {code: "ArrowDown", key: "ArrowDown", shiftKey: true, cancelable: true, bubbles: true}))"""
    assert scene.evaluate(fine, "keydown") is False  # taken, so that the camera stays
    until(page, lambda: desk._stick == (pytest.approx(-0.3), 0.0))
    scene.evaluate(fine, "keyup")
    until(page, lambda: desk._stick == (0.0, 0.0))


# --- editing


@pytest.mark.soak
def test_edit_the_ground_and_drive_there(browser):
    worlds = FakeWorlds()
    session = FakeSession(delay=0.2)
    desk = Desk(session, port=0, token="a-token-for-the-test", worlds=worlds)
    try:
        page = open_desk(browser, desk, 0.2, *((1280, 720) if PICTURES else (900, 560)))
        until(page, lambda: text(page, "control") == "you" and len(desk._viewers) == 1)
        page.locator("[data-tab=environment]").dispatch_event("click")
        assert "hard plane" in text(page, "world") and "exomars_rt0448" in text(page, "world")
        scene = page.locator("#scene").element_handle().content_frame()
        assert not scene.locator(".mantine-Paper-root").first.is_visible()
        press(page, "edit-begin")
        until(page, lambda: text(page, "editing") == "Editing: the rover stands")
        scene.get_by_role("combobox", name="tool").wait_for()
        # keys do not drive
        page.keyboard.press("w")
        page.keyboard.press("Space")
        scene.get_by_role("combobox", name="tool").click(force=True)
        scene.get_by_role("option", name="rock").click(force=True)
        editor = desk.editing.editor
        until(page, lambda: editor.panel.tool.value == "rock")
        # on the ground at the left, where no panel is
        click_scene(page, lambda: len(editor.environment.items) > 1, 0.4, 0.75)
        picture(page, "editing")
        assert not [c for c in session.calls if c[0] in ("steer", "stop")]
        worlds.go.clear()
        press(page, "edit-drive")
        until(page, lambda: "being built" in text(page, "editing"))
        worlds.go.set()
        until(page, lambda: desk.session is not session and "rock" in text(page, "world"))
        until(page, lambda: not page.locator("#editing").is_visible())
        assert not scene.locator(".mantine-Paper-root").first.is_visible()
        page.keyboard.down("w")
        until(page, lambda: ("steer", (1.0, 0.0)) in desk.session.calls)
        page.keyboard.up("w")
        picture(page, "edited")
        assert page.problems == []
        page.close()
    finally:
        desk.stop()
