"""Teleoperation under delay: the remote rover, the operator's predictor, and what both say.

session = Teleoperation(load_scenario("teleop/slalom"), truth_of("teleop/slalom", seed=1)[0])
session.steer(1.0, 0.2)
session.advance(0.1)
session.shown().predicted

The page that shows it is `marsyard.operations.desk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.teleop.session import Preview, Session, Shown
    from marsyard.operations.teleop.study import study_slalom
    from marsyard.operations.teleop.teleoperation import Teleoperation
    from marsyard.operations.teleop.truth import truth_of
    from marsyard.operations.teleop.vehicle import Noise

__all__ = ["Noise", "Preview", "Session", "Shown", "Teleoperation", "study_slalom", "truth_of"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Noise": "vehicle",
        "Preview": "session",
        "Session": "session",
        "Shown": "session",
        "Teleoperation": "teleoperation",
        "study_slalom": "study",
        "truth_of": "truth",
    },
)
