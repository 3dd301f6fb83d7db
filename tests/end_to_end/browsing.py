"""What tests in a real browser share: the mark, a page that keeps its problems, waiting, pixels."""

from __future__ import annotations

import io
import shutil
import time

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]

#: `pytestmark` of a file whose tests need the browser
IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def open_page(browser, url: str, width: int, height: int):
    """A page whose errors are kept in `page.problems`."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(60_000)
    page.problems = []
    page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(url)
    return page


def until(page, condition, seconds: float = 40.0) -> None:
    """Let the page go on until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        page.wait_for_timeout(50)


def text(page, name: str) -> str:
    """What stands in the element of that id."""
    return page.locator(f"#{name}").evaluate("e => e.textContent")


def pixels(page, x: int, y: int, width: int, height: int) -> np.ndarray:
    """A part of the page as it looks now, red, green and blue from 0 to 255, [height, width, 3]."""
    from PIL import Image

    area = {"x": x, "y": y, "width": width, "height": height}
    picture = Image.open(io.BytesIO(page.screenshot(clip=area, timeout=60_000)))
    return np.asarray(picture.convert("RGB"), dtype=float)
