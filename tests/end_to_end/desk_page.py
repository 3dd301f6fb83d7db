"""A page of the desk as a program sees it, without a browser."""

from __future__ import annotations

import contextlib
import json
import re
import time

from websockets.sync.client import connect


def port_of(desk) -> int:
    return int(re.search(r":(\d+)/", desk.url).group(1))


def own(desk) -> dict:
    """What a websocket of the desk's own page carries: origin and cookie."""
    port = port_of(desk)
    cookie = f"marsyard-{port}={desk.gate.access.token}"
    return {"origin": f"http://localhost:{port}", "additional_headers": {"Cookie": cookie}}


class Page:
    """A page without a browser."""

    def __init__(self, desk):
        self.socket = connect(f"ws://localhost:{port_of(desk)}/ws", max_size=None, **own(desk))
        self.name = self.wait("welcome")["name"]

    def say(self, name: str, **fields) -> None:
        self.socket.send(json.dumps({"is": name, **fields}))

    def wait(self, name: str, condition=lambda message: True, seconds: float = 20.0) -> dict:
        """The next message of a name for which a condition holds."""
        end = time.monotonic() + seconds
        while True:
            message = json.loads(self.socket.recv(timeout=max(0.01, end - time.monotonic())))
            if message["is"] == name and condition(message):
                return message


@contextlib.contextmanager
def page(desk):
    one = Page(desk)
    try:
        yield one
    finally:
        one.socket.close()


def until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
