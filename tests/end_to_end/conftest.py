"""Fixtures of the tests from the outside."""

from __future__ import annotations

import pytest
from browsing import ARGUMENTS, CHROMIUM
from desk_page import until


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, drawing in software.

    One for each file, which costs a second: while it is open, this thread counts as inside of a
    running event loop, and tests that run one of their own would fail.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def desk(shared):
    """The desk of a file (its `shared`: desk, session); at the end no page is left on it."""
    yield shared[0]
    until(lambda: shared[0].pages.count == 0)


@pytest.fixture
def session(shared):
    """The session of that desk, its record of calls empty."""
    shared[1].calls.clear()
    return shared[1]
