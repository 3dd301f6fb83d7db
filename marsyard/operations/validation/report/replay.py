"""The worst run to look at (made whole below)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marsyard.runner import Run


def replay_section(folder: Path, worst: Run | None) -> str:
    """Links to the worst run."""
    if worst is None:
        return "<p>It could not begin; there is nothing to replay.</p>"
    return (
        '<p>Its own report: <a href="worst/report.html">worst/report.html</a>. In 3D: '
        "<code>marsyard view worst</code> in this folder.</p>"
    )
