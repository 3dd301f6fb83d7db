"""The editor in a real browser: a tool is chosen, the ground clicked, a rock appears, is undone,
and the file that is saved loads."""

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


def _until(page, condition) -> None:
    for _ in range(600):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen")


def _picture(page) -> np.ndarray:
    from PIL import Image

    area = {"x": 120, "y": 120, "width": 130, "height": 190}
    picture = Image.open(io.BytesIO(page.screenshot(clip=area, timeout=60_000)))
    return np.asarray(picture.convert("RGB"), dtype=float)


# a software renderer takes half a minute; the editor at the desk is in the ordinary tests
@pytest.mark.soak
@pytest.mark.parametrize("look", [False, True])
def test_place_undo_and_save(look, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    from marsyard.operations.editor import Environment, serve_editor
    from marsyard.scenario import load_scenario

    environment = Environment.new()
    file = tmp_path / "mine.yaml"
    running = serve_editor(environment, port=0, block=False, file=file, token="a-token-for-it")
    panel = running.editor.panel
    try:
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 560, "height": 320})
            page.set_default_timeout(60_000)
            problems = []
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(running.url)
            page.get_by_role("combobox", name="tool").wait_for()
            # without waiting until the picture stands still
            page.get_by_role("combobox", name="tool").click(force=True)
            page.get_by_role("option", name="rock").click(force=True)
            _until(page, lambda: panel.tool.value == "rock")
            panel._sizes["rock"]["diameter"].value = 2.5
            seen = [_picture(page)] if look else []
            while look and seen[-1].std() < 15:  # until the ground is there
                seen.append(_picture(page))
            page.mouse.click(205, 230)
            _until(page, lambda: len(environment.items) == 1)
            # seen from the south-west, a place below the middle of the picture is nearer
            x, y = environment.items[0].place
            assert -10 < x < 0 and -10 < y < 0
            if look:
                _until(page, lambda: (np.abs(_picture(page) - seen[-1]) > 25).mean() > 0.02)
            page.get_by_role("button", name="Undo").dispatch_event("click")
            _until(page, lambda: not environment.items)
            page.get_by_role("button", name="Redo").dispatch_event("click")
            _until(page, lambda: len(environment.items) == 1)
            page.get_by_role("tab", name="File").click(force=True)
            page.get_by_role("button", name="Save").dispatch_event("click")
            _until(page, file.exists)
            browser.close()
    finally:
        running.stop()
    saved = load_scenario(file)
    assert [g.kind for g in saved.ground] == ["terrain", "rocks"] and saved == environment.scenario
    assert problems == []
