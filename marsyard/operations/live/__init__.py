"""The live view of a running simulation: `marsyard run SCENARIO --live`.

    physics   runs the simulation in short pieces, at a chosen speed
    mailbox   orders to it: pause, go on, single step, speed
    numbers   quantities and forces, from the records
    history   their past, in bounded memory
    soil      the ground as it changes
    view      what the browser shows; panel: what each viewer chooses
    run       all of it together

The physics never waits for the display. It leaves a small note of where it is (`Snapshot`) between
two pieces, and the display reads the newest one when it is ready for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.operations.live.mailbox import Mailbox, Orders
    from marsyard.operations.live.physics import Physics, Snapshot
    from marsyard.operations.live.run import LiveRun
    from marsyard.operations.live.view import LiveView

__all__ = ["LiveRun", "LiveView", "Mailbox", "Orders", "Physics", "Snapshot"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LiveRun": "run",
        "LiveView": "view",
        "Mailbox": "mailbox",
        "Orders": "mailbox",
        "Physics": "physics",
        "Snapshot": "physics",
    },
)
