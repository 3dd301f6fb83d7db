"""The editor in a real browser: a tool is chosen, the ground clicked, a rock appears, is undone,
and the file that is saved loads."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import IN_A_BROWSER, open_page, pixels, until

pytestmark = IN_A_BROWSER


def _picture(page) -> np.ndarray:
    return pixels(page, 120, 120, 130, 190)


# a software renderer takes half a minute; the editor at the desk is in the ordinary tests
@pytest.mark.soak
@pytest.mark.parametrize("look", [False, True])
def test_place_undo_and_save(look, browser, tmp_path):
    from marsyard.operations.editor import Environment, serve_editor
    from marsyard.scenario import load_scenario

    environment = Environment.new()
    file = tmp_path / "mine.yaml"
    running = serve_editor(environment, port=0, block=False, file=file, token="a-token-for-it")
    panel = running.editor.panel
    try:
        page = open_page(browser, running.url, 560, 320)
        page.get_by_role("combobox", name="tool").wait_for()
        # without waiting until the picture stands still
        page.get_by_role("combobox", name="tool").click(force=True)
        page.get_by_role("option", name="rock").click(force=True)
        until(page, lambda: panel.tool.value == "rock")
        panel._sizes["rock"]["diameter"].value = 2.5
        seen = [_picture(page)] if look else []
        while look and seen[-1].std() < 15:  # until the ground is there
            seen.append(_picture(page))
        page.mouse.click(205, 230)
        until(page, lambda: len(environment.items) == 1)
        # seen from the south-west, a place below the middle of the picture is nearer
        x, y = environment.items[0].place
        assert -10 < x < 0 and -10 < y < 0
        if look:
            until(page, lambda: (np.abs(_picture(page) - seen[-1]) > 25).mean() > 0.02)
        page.get_by_role("button", name="Undo").dispatch_event("click")
        until(page, lambda: not environment.items)
        page.get_by_role("button", name="Redo").dispatch_event("click")
        until(page, lambda: len(environment.items) == 1)
        page.get_by_role("tab", name="File").click(force=True)
        page.get_by_role("button", name="Save").dispatch_event("click")
        until(page, file.exists)
        page.close()
    finally:
        running.stop()
    saved = load_scenario(file)
    assert [g.kind for g in saved.ground] == ["terrain", "rocks"] and saved == environment.scenario
    assert page.problems == []
