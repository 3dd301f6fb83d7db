"""The worst run in 3D inside the page, see `marsyard.results.page_replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from marsyard.operations.validation.zones import Zone
from marsyard.results.page_replay import replay_block, replay_data

if TYPE_CHECKING:
    from marsyard.operations.validation.worst import WorstRun


def replay_section(worst: WorstRun | None, zones: Sequence[Zone] = (), start: float = 0.0) -> str:
    """The replay of the worst run; `start`: time shown at first [s]."""
    if worst is None:
        return "<p>The run could not start; there is nothing to replay.</p>"
    links = (
        "<p>With forces and all numbers: <code>marsyard view worst</code> in this folder; with "
        "figures and a report of its own: <code>marsyard run worst/scenario.yaml</code>.</p>"
    )
    outlines = [zone.outline() for zone in zones]
    data = replay_data(worst.model, worst.data, worst.scenario, worst.ground, outlines, start)
    return replay_block(data) + links
