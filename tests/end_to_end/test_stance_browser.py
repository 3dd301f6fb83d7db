"""Kineto-static results in a real browser: they load cleanly, are drawn, and can be hidden."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def test_forces_of_a_stance_can_be_hidden():
    sync_api = pytest.importorskip("playwright.sync_api")

    from marsyard.analysis.kinetostatics.stance import stance_at
    from marsyard.analysis.kinetostatics.view import view_stance

    running = view_stance(stance_at("roburoc"), port=0, block=False, shown=("forces",))
    problems: list[str] = []
    try:
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 800, "height": 420})
            page.set_default_timeout(60_000)
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(running.url)
            page.wait_for_selector("canvas")
            page.get_by_text("friction demand").wait_for()
            shown = wait_for_red(page, lambda red: red > 1e-3)
            page.get_by_label("contact forces").click()
            hidden = wait_for_red(page, lambda red: red < 0.1 * shown)
            browser.close()
        assert not running.boxes["forces"].value
    finally:
        running.stop()
    assert shown > 1e-3
    assert hidden < 0.1 * shown
    assert not problems


def wait_for_red(page, done) -> float:
    """Share of the scene that is as red as the arrows, once it is as wanted or time is up."""
    from PIL import Image

    red = 0.0
    for _ in range(60):
        shot = page.screenshot(clip={"x": 0, "y": 0, "width": 460, "height": 420})
        r, g, b = np.moveaxis(
            np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int), -1, 0
        )
        red = float(((r > 150) & (g < 90) & (b < 110) & (r > 2 * g)).mean())
        if done(red):
            break
        page.wait_for_timeout(250)
    return red
