"""The 3D view of a terrain in a real browser: it loads cleanly, draws ground and rocks."""

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


def test_view_of_a_rock_field():
    sync_api = pytest.importorskip("playwright.sync_api")
    from PIL import Image

    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.results.terrain_view import serve_terrain
    from marsyard.scenario import load_terrain

    land = build_terrain(*load_terrain("rocks_pathfinder"))
    running = serve_terrain(survey(land, (8.0, 8.0), spacing=0.1), port=0, block=False)
    try:
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 560, "height": 320})
            page.set_default_timeout(60_000)
            problems = []
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(running.url)
            page.wait_for_selector("canvas")
            page.get_by_text("rock coverage").wait_for()
            area = {"x": 0, "y": 150, "width": 220, "height": 165}
            # small: a software renderer draws every pixel on the processor
            for _ in range(300):
                shot = page.screenshot(clip=area, timeout=60_000)
                pixels = np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
                # the sky has no pixel as dark as the shaded side of a rock
                dark = (pixels.sum(axis=2) < 200).mean()
                if dark > 0.01:
                    break
                page.wait_for_timeout(100)
            browser.close()
    finally:
        running.stop()
    assert dark > 0.01
    assert not problems
