"""The live view in a real browser: the robot moves while it is computed, and orders are obeyed."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from browsing import IN_A_BROWSER, open_page, pixels, until

from marsyard.operations.live import LiveRun
from marsyard.results import build_scene, ground_meshes
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def live():
    """A run in its own thread that waits for a viewer, with a token."""
    scenario = load_scenario("rt0448/test-3")
    run = scenario.run.model_copy(update={"duration": 600.0})
    simulation = Simulation(scenario.model_copy(update={"run": run}))
    simulation.warm_up()
    live = LiveRun(port=0, token="a-token-for-the-test", speed=1.0, wait=True)
    live.simulation = simulation
    live.thread = threading.Thread(
        target=live.run, args=(simulation,), kwargs={"name": "rt0448/test-3"}, daemon=True
    )
    live.thread.start()
    yield live
    live.mailbox.stop()
    live.thread.join(timeout=10)
    live.stop()


@pytest.fixture(scope="module")
def page(browser, live):
    page = open_page(browser, live.url, 640, 420)
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_text("Plot 1").wait_for()
    yield page
    page.close()


def _shown_time(page) -> float:
    """The time on the page; the panel may come a moment after the page."""
    for _ in range(150):
        found = re.search(r"time ([\d.]+) s of", page.locator("body").inner_text())
        if found is not None:
            return float(found.group(1))
        page.wait_for_timeout(200)
    raise AssertionError("no time is shown")


def _press(page, button: str) -> None:
    # without waiting until the picture stands still
    page.get_by_role("button", name=button).dispatch_event("click")


def _picture(page) -> np.ndarray:
    return pixels(page, 0, 150, 300, 260)


def test_it_runs_while_somebody_watches(page, live):
    # the token went into a cookie
    assert "token" not in page.url
    before = _shown_time(page)
    until(page, lambda: _shown_time(page) > before)
    until(page, lambda: "slip ratio" in page.locator("body").inner_text())
    text = page.locator("body").inner_text()
    for said in ("running", "speed", "camera", "Plot 1", "Wheel", "force z", "slip ratio"):
        assert said in text, said
    assert live.view.viewers == 1 and live.view.frames > 2


def test_pause_stops_time_and_step_is_one_control_period(page, live):
    _press(page, "Pause")
    page.get_by_role("button", name="Resume").wait_for()
    until(page, lambda: "paused" in page.locator("body").inner_text())
    stands = live.simulation.steps
    page.wait_for_timeout(600)
    assert live.simulation.steps == stands
    until(page, lambda: abs(_shown_time(page) - live.simulation.time) < 6e-4)
    run = live.simulation.scenario.run
    _press(page, "Step")
    until(page, lambda: live.simulation.steps != stands)
    each = round(run.control_period / run.step)
    assert live.simulation.steps == (stands // each + 1) * each
    page.wait_for_timeout(300)
    assert live.simulation.steps * run.step - stands * run.step <= run.control_period + 1e-9


@pytest.mark.soak
def test_a_speed_can_be_chosen_and_the_robot_moves(page, live):
    start = _picture(page)
    page.get_by_role("combobox", name="speed").click()
    page.get_by_role("option", name="max").click()
    until(page, lambda: live.mailbox.peek().speed == float("inf"))
    where = live.simulation.qpos[:2].copy()
    _press(page, "Resume")
    until(page, lambda: np.linalg.norm(live.simulation.qpos[:2] - where) > 0.3)
    live.mailbox.pause()
    page.get_by_role("button", name="Resume").wait_for()
    until(page, lambda: abs(_shown_time(page) - live.simulation.time) < 6e-4)
    page.wait_for_timeout(1500)
    changed = (np.abs(_picture(page) - start).max(axis=2) > 25).mean()
    assert changed > 0.01
    assert page.problems == []


@pytest.mark.soak
def test_two_viewers_choose_for_themselves(browser, page, live):
    other = browser.new_page(viewport={"width": 400, "height": 300})
    other.goto(live.url)
    until(page, lambda: live.view.viewers == 2)
    one, two = list(live.view._panels.values())
    wheels = live.view.wheels
    two.pick(wheels[-1])
    assert one._wheel.value == wheels[0] and two._wheel.value == wheels[-1]
    other.close()
    until(page, lambda: live.view.viewers == 1)


@pytest.mark.soak
def test_the_finished_run_becomes_a_replay(page, live):
    live.mailbox.stop()
    live.thread.join(timeout=10)
    s = live.simulation
    data = s.dataset()
    live.show(build_scene(s.model, data, ground_meshes(s.world.surfaces, data), "Finished"))
    page.get_by_role("button", name="Play").wait_for()
    until(page, lambda: "Finished" in page.locator("body").inner_text())
    assert page.get_by_role("button", name="Step").count() == 0
    assert "Plot 1" not in page.locator("body").inner_text()
    assert page.problems == []
