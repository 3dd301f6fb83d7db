"""Filter for the controls and clicks a viser server accepts.

viser takes what any viewer sends: a slider that is moved, a button, a click into the scene, a file.
Hiding a panel does not close it, since a viewer may be a program. Here such messages of viewers who
may not change anything are dropped as they come. Each viewer's own camera is not concerned: it is
heard by the viewer's own connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def heed_only(server: Any, may: Callable[[int], bool]) -> None:
    """Have a server heed only viewers of whose number `may` says yes."""
    inner = server._websock_server
    handle = inner._handle_incoming_message

    async def heed(client_id: int, message: Any) -> None:
        if may(client_id):
            await handle(client_id, message)

    inner._handle_incoming_message = heed
