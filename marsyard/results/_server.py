"""A viser server at a free port, and waiting for ctrl-c: what all 3D views have in common."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import threading
import time
from typing import TYPE_CHECKING, Protocol

from marsyard.errors import InputError
from marsyard.results._gate import LOOPBACK, Gate, new_token
from marsyard.results._viser_events import mend
from marsyard.results._viser_filter import heed_only

if TYPE_CHECKING:
    import viser


class View(Protocol):
    """Something shown until it is stopped."""

    def wait(self) -> None: ...
    def stop(self) -> None: ...


def start_server(
    host: str, port: int, what: str, token: str | None = None
) -> tuple[viser.ViserServer, str]:
    """A server at `host`:`port` (0 takes any free port) for `what`, and its address.

    An address that other machines can reach is open only to a token, which stands in the address
    that is returned (see `_gate`); `token` chooses it, and asks for it on this machine, too.
    """
    try:
        import viser
    except ImportError:
        raise InputError(f"{what} needs the package viser: pip install viser") from None
    mend()
    check_token(token)
    gated = token is not None or host not in LOOPBACK
    port = free_port(host, port)
    inner_host, inner_port = ("127.0.0.1", free_port("127.0.0.1", 0)) if gated else (host, port)
    # viser's own banner is left out; the address is said by the view
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(
            host=inner_host, port=inner_port, label="marsyard", verbose=False
        )
    if server.get_port() != inner_port:
        server.stop()
        raise InputError(f"port {port} of {host} was taken meanwhile; choose another with --port")
    # everybody who gets in may use the controls, but not share them with the internet
    heed_only(server, lambda viewer: True)
    url = address(host, port)
    if not gated:
        return server, url
    token = token or new_token()
    _close_with(server, Gate(host, port, inner_port, token))
    return server, f"{url}/?token={token}"


def check_token(token: str | None) -> None:
    """Refuse a token that is too short or would not survive an address."""
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{8,128}", token):
        raise InputError("--token: must be 8 to 128 letters, digits, '-' or '_'")


def address(host: str, port: int) -> str:
    """What to type into a browser."""
    shown = "localhost" if host in ("0.0.0.0", "127.0.0.1", "::", "::1") else host
    return f"http://{shown}:{port}"


def _close_with(server: viser.ViserServer, gate: Gate) -> None:
    """Have the gate closed when the server is stopped."""
    stop = server.stop

    def stop_both() -> None:
        gate.stop()
        stop()

    setattr(server, "stop", stop_both)  # noqa: B010


def show_until_ctrl_c(view: View) -> None:
    """Say how to end it, wait, and stop it."""
    with contextlib.suppress(KeyboardInterrupt):
        print("press ctrl-c to end", flush=True)
        view.wait()
    view.stop()


def wait_for(stopped: threading.Event) -> None:
    """Wait for the event, asleep: ctrl-c in the midst of its own wait can leave its lock taken."""
    while not stopped.is_set():
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
                "choose another with --port, or 0 for any that is free"
            ) from None
        return int(probe.getsockname()[1])
