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


def test_polytope_of_a_stance_can_be_hidden():
    sync_api = pytest.importorskip("playwright.sync_api")

    from marsyard.analysis.kinetostatics.stance import stance_at
    from marsyard.analysis.kinetostatics.view import view_stance

    running = view_stance(stance_at("roburoc"), port=0, block=False, shown=("polytope",))
    problems: list[str] = []
    try:
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 700, "height": 400})
            page.set_default_timeout(60_000)
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(running.url)
            page.wait_for_selector("canvas")
            page.get_by_text("friction demand").wait_for()
            shown = blue_once(page, lambda share: share > 0.005)
            page.get_by_label("wrench polytope").click()
            hidden = blue_once(page, lambda share: share < 0.1 * shown)
            browser.close()
        assert not running.boxes["polytope"].value
    finally:
        running.stop()
    assert shown > 0.005
    assert hidden < 0.1 * shown
    assert not problems


def blue_once(page, done) -> float:
    """Share of the scene that is blue, once it is as wanted or time is up; sand and sky are not."""
    from PIL import Image

    share = 0.0
    for _ in range(40):
        shot = page.screenshot(clip={"x": 0, "y": 140, "width": 360, "height": 260})
        pixels = np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
        share = float((pixels[..., 2] > pixels[..., 0] + 15).mean())
        if done(share):
            break
        page.wait_for_timeout(250)
    return share
