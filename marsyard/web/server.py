"""A page with viser's 3D scene behind the gate, and waiting for ctrl-c: what all 3D views have in
common."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from marsyard.errors import InputError
from marsyard.web.browser import open_page
from marsyard.web.viser_events import mend

if TYPE_CHECKING:
    import viser

    from marsyard.web.gate import Gate
    from marsyard.web.viser_site import ViserSite


class View(Protocol):
    """Something shown until it is stopped."""

    def wait(self) -> None: ...
    def stop(self) -> None: ...


def start_server(
    host: str, port: int, what: str, token: str | None = None
) -> tuple[viser.ViserServer, str]:
    """A server at `host`:`port` (0 takes any free port) for `what`, and its address, which holds
    the token that the page needs: `token`, or a random one. See `gate`."""
    from marsyard.web.gate import Gate

    check_token(token)
    port = free_port(host, port)
    server, site = start_scene(host, port, what)
    try:
        gate = Gate(host, port, {"/": site}, token)
    except BaseException:
        server.stop()
        raise
    _close_with(server, gate)
    return server, address(gate)


def start_scene(host: str, port: int, what: str) -> tuple[viser.ViserServer, ViserSite]:
    """viser's server for `what`, to be put behind a gate at `host`:`port`."""
    try:
        from marsyard.web.viser_site import start_viser

        mend()
        server, site = start_viser(host, port)
    except ImportError:
        raise InputError(f"{what} needs the package viser: pip install viser") from None
    return server, site


def check_token(token: str | None) -> None:
    """Refuse a token that is too short or would not survive an address."""
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{8,128}", token):
        raise InputError("--token: must be 8 to 128 letters, digits, '-' or '_'")


def address(gate: Gate) -> str:
    """What to type into a browser."""
    access = gate.access
    # localhost need not lead to the address of IPv6
    name = {"0.0.0.0": "localhost", "127.0.0.1": "localhost", "::": "::1"}.get(
        access.host, access.host
    )
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{access.port}/?token={access.token}"


def _close_with(server: viser.ViserServer, gate: Gate) -> None:
    """Have the gate closed when the server is stopped."""
    stop = server.stop

    def stop_both() -> None:
        gate.stop()
        stop()

    setattr(server, "stop", stop_both)  # noqa: B010


def show_page(view: View, url: str, what: str, browser: bool, block: bool) -> bool:
    """Say where a page is and open it where that is asked for and there is a browser; with `block`
    wait for ctrl-c and stop it. Returns whether it still runs."""
    print(f"{what}: {url}", flush=True)
    if browser:
        open_page(url)
    if block:
        show_until_ctrl_c(view)
    return not block


def show_until_ctrl_c(view: View) -> None:
    """Say how to end it, wait, and stop it."""
    with contextlib.suppress(KeyboardInterrupt):
        print("press ctrl-c to end", flush=True)
        view.wait()
    view.stop()


def wait_for(stopped: threading.Event, asked: Callable[[], bool] = lambda: False) -> None:
    """Wait for the event, or until asked to end, asleep: ctrl-c in the midst of the event's own
    wait can leave its lock taken."""
    while not stopped.is_set() and not asked():
        time.sleep(0.2)


def free_port(host: str, port: int) -> int:
    """`port` if nobody listens there; any free one for 0."""
    if not 0 <= port <= 65535:
        raise InputError(f"port {port} is not between 0 and 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on {host} port {port} ({error.strerror}); "
                "choose another with --port, or 0 for any free port"
            ) from None
        return int(probe.getsockname()[1])
