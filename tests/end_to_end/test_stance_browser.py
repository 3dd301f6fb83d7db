"""Kineto-static results in a real browser: they load cleanly, are drawn, and can be hidden."""

from __future__ import annotations

from browsing import IN_A_BROWSER, open_page, pixels

pytestmark = IN_A_BROWSER


def test_polytope_of_a_stance_can_be_hidden(browser):
    from marsyard.analysis.kinetostatics.stance import stance_at
    from marsyard.analysis.kinetostatics.view import view_stance

    running = view_stance(stance_at("roburoc"), port=0, block=False, shown=("polytope",))
    try:
        page = open_page(browser, running.url, 700, 400)
        page.wait_for_selector("canvas")
        page.get_by_text("friction demand").wait_for()
        shown = blue_once(page, lambda share: share > 0.005)
        page.get_by_label("wrench polytope").click()
        hidden = blue_once(page, lambda share: share < 0.1 * shown)
        page.close()
        assert not running.boxes["polytope"].value
    finally:
        running.stop()
    assert shown > 0.005
    assert hidden < 0.1 * shown
    assert not page.problems


def blue_once(page, done) -> float:
    """Share of the scene that is blue, once it is as wanted or time is up; sand and sky are not."""
    share = 0.0
    for _ in range(40):
        seen = pixels(page, 0, 140, 360, 260)
        share = float((seen[..., 2] > seen[..., 0] + 15).mean())
        if done(share):
            break
        page.wait_for_timeout(250)
    return share
