"""Scenarios that stand for a published experiment check what its text says."""

import pytest

from marsyard import run
from marsyard.scenario import load_scenario

#: Krenn and Hirzinger 2008, Ding et al. 2011
LONG = ("exomars/drawbar-pull", "exomars/gradability", "control/path", "control/slip")
SHORT = ("eldorado2/tow", "eldorado2/slope", "eldorado2/rough")


@pytest.mark.parametrize(
    "name", [*SHORT, *(pytest.param(name, marks=pytest.mark.soak) for name in LONG)]
)
def test_scenario_agrees_with_the_text_of_its_source(name):
    found = run(name)
    assert found.stopped is None
    assert found.checks
    failed = [f"{c.name}: {c.computed} ({c.source})" for c in found.checks if not c.ok]
    assert not failed, "; ".join(failed)


@pytest.mark.parametrize("name", [*SHORT, *LONG])
def test_every_check_names_where_its_number_comes_from(name):
    scenario = load_scenario(name)
    checks = [*scenario.report.checks, *(scenario.study.checks if scenario.study else ())]
    assert checks
    assert all(check.source for check in checks)
