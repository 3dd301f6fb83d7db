"""Viewers of the desk's scene that are programs: only the page in control changes the ground."""

from __future__ import annotations

import contextlib
import time

import pytest
from desk_page import own, page, port_of, until
from fake_session import FakeSession, FakeWorlds
from websockets.sync.client import connect

from marsyard.operations.desk import Desk


@pytest.fixture
def desk():
    desk = Desk(FakeSession(delay=0.0), port=0, worlds=FakeWorlds())
    yield desk
    desk.stop()


@contextlib.contextmanager
def viewer(desk, id: str):
    """A client of viser's protocol, as the scene of the page with an id."""
    from viser import __version__
    from viser._messages import ViewerCameraMessage

    with connect(
        f"ws://localhost:{port_of(desk)}/scene/{id}", subprotocols=[f"viser-v{__version__}"],
        max_size=None, **own(desk),
    ) as socket:  # fmt: skip
        # a viewer counts as one when it has told where it looks from
        send(socket, ViewerCameraMessage(
            (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 3.0), 1.0, 0.1, 100.0, 480, 640, (0.0, 0.0, 0.0),
            (0.0, 0.0, 1.0),
        ))  # fmt: skip
        until(lambda: any(desk._page_of(c) == id for c in desk.server.get_clients()))
        yield socket


def send(socket, message) -> None:
    import msgspec

    socket.send(msgspec.msgpack.encode(message.as_serializable_dict()))


def sets(desk, socket, tool: str) -> bool:
    """Whether a viewer that chooses a tool of the editor is heeded."""
    from viser._messages import GuiUpdateMessage

    choice = desk.editing.editor.panel.tool
    send(socket, GuiUpdateMessage(choice._impl.uuid, {"value": tool}))
    end = time.monotonic() + 1.0
    while time.monotonic() < end and choice.value != tool:
        time.sleep(0.02)
    return choice.value == tool


def test_only_the_page_in_control_changes_the_ground(desk, monkeypatch):
    from viser._messages import ShareUrlRequest

    shared = []
    monkeypatch.setattr(desk.server, "request_share_url", lambda: shared.append(1))
    with page(desk) as one, page(desk) as two:
        ids = [p.id for p in desk.pages._pages.values()]
        one.say("environment", do="edit")
        one.wait("environment", lambda m: m["mode"] == "editing")
        with (
            viewer(desk, ids[0]) as first, viewer(desk, ids[1]) as second,
            viewer(desk, "nobody") as third,
        ):  # fmt: skip
            assert sets(desk, first, "rock")
            assert not sets(desk, second, "crater") and not sets(desk, third, "mound")
            two.say("take")
            two.wait("state", lambda s: s["control"] == two.name)
            assert sets(desk, second, "crater") and not sets(desk, first, "mound")
            # nobody has viser share the page with the internet
            send(second, ShareUrlRequest())
            assert sets(desk, second, "goal") and not shared
