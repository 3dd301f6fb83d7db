"""What tests that attack pages share: pages to attack, requests as a browser would never send
them, and websockets that try to do harm."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import psutil
import viser
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import connect

VISER = [f"viser-v{viser.__version__}"]


def look_from(x: float) -> bytes:
    """The message of viser's client for where it looks from."""
    return msgspec.msgpack.encode({
        "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (x, -3.0, 2.0),
        "fov": 1.0, "near": 0.01, "far": 100.0, "image_height": 300, "image_width": 400,
        "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
    })  # fmt: skip


#: a viewer counts as one when it has said where it looks from
HELLO = look_from(-3.0)
UPGRADE = (
    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)  # fmt: skip


@dataclass
class Target:
    """A page under attack.

    path: of the websocket that takes orders. orders: messages that do harm; harmed: whether they
    did; restore: undo it. listening: TCP ports that the process listens on because of this page.
    """

    name: str
    page: Any
    path: str
    orders: Callable[[], list[str | bytes]]
    harmed: Callable[[], bool]
    restore: Callable[[], None]
    listening: set[int]

    @property
    def port(self) -> int:
        return urlsplit(self.page.url).port

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.page.url).query).get("token", ["none-was-given"])[0]

    @property
    def cookie(self) -> str:
        return f"marsyard-{self.port}={self.token}"

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"


def listening_ports() -> set[int]:
    """TCP ports on which this process listens."""
    found = psutil.Process().net_connections("tcp")
    return {c.laddr.port for c in found if c.status == psutil.CONN_LISTEN}


def press(handle: Any) -> bytes:
    """The message of viser's client for a button that is pressed."""
    return update(handle, True)


def update(handle: Any, value: Any, name: str = "value") -> bytes:
    """The message of viser's client for a control that is set to a value."""
    return msgspec.msgpack.encode(
        {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {name: value}}
    )


def upload(handle: Any) -> bytes:
    """The message of viser's client that begins to send a file to a control."""
    return msgspec.msgpack.encode({
        "type": "FileTransferStartUpload", "source_component_uuid": handle._impl.uuid,
        "transfer_uuid": "x", "filename": "x", "mime_type": "text/plain", "part_count": 9,
        "size_bytes": 9,
    })  # fmt: skip


def order(name: str, **fields: Any) -> str:
    """A message of the desk's page."""
    return json.dumps({"is": name, **fields})


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


# --- plain HTTP, byte by byte


def exchange(port: int, data: bytes, seconds: float = 10.0) -> bytes:
    """Send bytes and read until the other side closes the connection."""
    said = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection,
        contextlib.suppress(ConnectionError, TimeoutError),
    ):
        connection.sendall(data)
        while piece := connection.recv(65536):
            said += piece
    return said


def head(path: str, *fields: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", *fields, "", ""]).encode("latin-1")


def get(port: int, path: str, *fields: str, host: str | None = None) -> tuple[int, bytes]:
    """Status and whole answer of a request; status 0 where the connection was closed without."""
    host = f"localhost:{port}" if host is None else host
    said = exchange(port, head(path, f"Host: {host}", *fields, "Connection: close"))
    return (int(said.split(b" ", 2)[1]) if said.startswith(b"HTTP/1.1 ") else 0), said


# --- websockets


@contextlib.contextmanager
def opened(port: int, path: str, *, host: str | None = None, **options: Any) -> Iterator[Any]:
    """A websocket whose request names `host`, wherever it really goes to."""
    host = f"localhost:{port}" if host is None else host
    raw = socket.create_connection(("127.0.0.1", port), timeout=10)
    options = {"subprotocols": VISER, "max_size": None, "compression": None, **options}
    with connect(f"ws://{host}{path}", sock=raw, **options) as one:
        yield one


def upgrade(target: Target) -> bytes:
    """The request with which the page itself opens its websocket."""
    return head(
        target.path, f"Host: localhost:{target.port}", f"Origin: {target.origin}",
        f"Cookie: {target.cookie}", *UPGRADE, f"Sec-WebSocket-Protocol: {VISER[0]}",
    )  # fmt: skip


def strike(target: Target, port: int, path: str | None = None, **options: Any) -> str:
    """Try to do harm through a websocket: "refused", or "open" if the websocket was opened."""
    try:
        with opened(port, target.path if path is None else path, **options) as one:
            one.send(HELLO if target.path != "/ws" else order("take"))
            for message in target.orders():
                one.send(message)
            wait_until(target.harmed, 0.5)
    except ConnectionClosed:
        return "open"
    except (InvalidHandshake, OSError, EOFError, ValueError):
        return "refused"
    return "open"


def strike_as_owner(target: Target) -> bool:
    """The same orders from the page itself: whether they are obeyed."""
    fields = {"Cookie": target.cookie}
    with opened(
        target.port, target.path, origin=target.origin, additional_headers=fields
    ) as one:  # fmt: skip
        one.send(HELLO if target.path != "/ws" else order("take"))
        for message in target.orders():
            one.send(message)
        obeyed = wait_until(target.harmed)
    target.restore()
    return obeyed
