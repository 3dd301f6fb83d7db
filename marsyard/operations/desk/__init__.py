"""The operator's desk: a web page from which a rover is driven under delay.

    from marsyard.operations.desk import Desk

    desk = Desk(session, port=8080)
    print(desk.url)
    desk.wait()

`Desk` takes any `marsyard.operations.teleop.session.Session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.desk.desk import Desk
    from marsyard.operations.desk.judged import CommandJudged, Judged

__all__ = ["CommandJudged", "Desk", "Judged"]

_HOME = {"CommandJudged": "judged", "Desk": "desk", "Judged": "judged"}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
