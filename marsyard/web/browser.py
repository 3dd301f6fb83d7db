"""Open a page in the user's browser, if there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path


def open_page(address: str | Path) -> bool:
    """Open an address or a file in the browser. Returns whether one was asked to.

    Nothing happens where nobody would see it: without a terminal, without a display, over SSH, or
    where tests run (`CI` in the environment).
    """
    if not _has_screen():
        return False
    if isinstance(address, Path):
        address = address.absolute().as_uri()
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    ):
        return False  # a browser of the terminal would take it over
    return browser.open(address)


def _has_screen() -> bool:
    if not sys.stdout.isatty() or os.environ.keys() & {"SSH_CONNECTION", "CI"}:
        return False
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True
