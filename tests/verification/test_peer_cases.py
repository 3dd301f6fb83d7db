"""Analytic cases of other simulators' own tests: each number within what its step allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from peer_cases import CASES

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.title.replace(" ", "_"))
def test_case(case, tmp_path):
    for row in case.compute(tmp_path):
        assert row.computed == pytest.approx(row.exact, abs=row.tolerance), row.quantity


def test_every_case_stands_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for case in CASES:
        assert f"| {case.title} " in text, "run python docs/make_peer_cases.py"
