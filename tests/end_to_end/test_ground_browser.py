"""The 3D view of a terrain in a real browser: it loads cleanly, draws ground and rocks."""

from __future__ import annotations

from browsing import IN_A_BROWSER, open_page, pixels

pytestmark = IN_A_BROWSER


def test_view_of_a_rock_field(browser):
    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.results.terrain_view import serve_terrain
    from marsyard.scenario import load_terrain

    land = build_terrain(*load_terrain("rocks_pathfinder"))
    running = serve_terrain(survey(land, (8.0, 8.0), spacing=0.1), port=0, block=False)
    try:
        # small: a software renderer draws every pixel on the processor
        page = open_page(browser, running.url, 560, 320)
        page.wait_for_selector("canvas")
        page.get_by_text("rock coverage").wait_for()
        for _ in range(300):
            # the sky has no pixel as dark as the shaded side of a rock
            dark = (pixels(page, 0, 150, 220, 165).sum(axis=2) < 200).mean()
            if dark > 0.01:
                break
            page.wait_for_timeout(100)
        page.close()
    finally:
        running.stop()
    assert dark > 0.01
    assert not page.problems
