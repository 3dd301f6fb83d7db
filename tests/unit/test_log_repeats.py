"""Lines of a log that repeat themselves are collapsed, and none is lost from the count."""

from __future__ import annotations

import logging
import time

import pytest

from marsyard.cli._repeats import CollapseRepeats


class Kept(logging.Handler):
    """Keeps its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def log():
    kept, clock = Kept(), [0.0]
    handler = CollapseRepeats(kept, lambda: clock[0])
    logger = logging.getLogger("test of repeats")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield logger, handler, kept, clock
    logger.removeHandler(handler)
    handler.close()


def test_a_flood_is_told_by_its_number(log):
    logger, _, kept, clock = log
    for k in range(500):
        clock[0] = 0.01 * k
        logger.warning("%s: refused (%s)", "page 1", k)
    clock[0] = 10.5
    logger.warning("something else")
    assert kept.lines == [
        "page 1: refused (0)",
        "page 1: refused (499) (and 498 more like it in 10 s)",
        "something else",
    ]


def test_as_long_as_it_goes_on_lines_come_ever_more_seldom(log):
    logger, handler, kept, clock = log
    for k in range(36_000):  # ten times a second for an hour
        clock[0] = 0.1 * k
        logger.warning("the stick is released")
    handler.close()
    assert 8 <= len(kept.lines) <= 14
    numbers = [int(line.split("and ")[1].split()[0]) + 1 for line in kept.lines[1:]]
    assert 1 + sum(numbers) == 36_000


def test_lines_that_differ_and_such_after_a_quiet_time_come_at_once(log):
    logger, _, kept, clock = log
    logger.warning("one")
    logger.info("one")
    logger.warning("other")
    clock[0] = 60.0
    logger.warning("one")
    assert kept.lines == ["one", "one", "other", "one"]


def test_numbers_are_told_though_nothing_follows():
    kept = Kept()
    handler = CollapseRepeats(kept, first=0.05)
    for _ in range(3):
        handler.handle(logging.LogRecord("x", logging.WARNING, "", 0, "again", (), None))
    end = time.monotonic() + 10.0
    while len(kept.lines) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert kept.lines == ["again", "again (and 1 more like it in 0 s)"]
    handler.close()


def test_an_error_is_told_with_its_trace_once(log):
    logger, handler, kept, _ = log
    for k in range(3):
        try:
            raise ValueError(f"number {k}")
        except ValueError:
            logger.exception("the prediction failed")
    handler.close()
    assert kept.lines == [
        "the prediction failed",
        "the prediction failed (and 1 more like it in 0 s)",
    ]
