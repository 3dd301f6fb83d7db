"""viser behind the gate: a server without its own port.

A server of viser's is a thread with an event loop that calls `websockets.asyncio.server.serve` with
a function for requests and one for websockets. Here that call opens no port: it keeps both
functions, and the gate calls them. Each websocket of the gate is seen by viser through a `Bridge`,
since both have event loops of their own.

The host that viser is given decides (`Inside`), so that other servers of viser's in the same
process listen as always. A version of viser that would listen nevertheless is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from websockets.exceptions import ConnectionClosed

from marsyard.errors import InputError
from marsyard.web.viser_messages import MOST_REFUSED, is_heeded

if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

Result = TypeVar("Result")
_LOG = logging.getLogger("marsyard.gate")


class ViserSite:
    """A server of viser's as a site of the gate."""

    server: viser.ViserServer

    def __init__(self) -> None:
        self.is_connected = False  # to a server of viser's
        self._handler: Callable[[Any], Coroutine[Any, Any, None]]
        self._request: Callable[[Any, Any], Response | None]
        self._select: Callable[[Any, list[str]], str | None]
        self._loop: asyncio.AbstractEventLoop

    def connect(
        self,
        loop: asyncio.AbstractEventLoop,
        handler: Callable[[Any], Coroutine[Any, Any, None]],
        process_request: Callable[[Any, Any], Response | None],
        select_subprotocol: Callable[[Any, list[str]], str | None],
    ) -> None:
        """Keep what viser serves with."""
        self._loop, self._handler = loop, handler
        self._request, self._select = process_request, select_subprotocol
        self.is_connected = True

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The client of viser, and its files."""
        return self._request(connection, request)

    def select_subprotocol(self, offered: list[str]) -> str | None:
        """The version of viser's protocol."""
        return self._select(None, offered)

    async def serve(self, connection: ServerConnection, request: Request) -> None:
        """Have viser talk to a viewer, in viser's event loop."""
        bridge = Bridge(connection, request, self._find_control)
        try:
            await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(self._handler(bridge), self._loop)
            )
        except ConnectionClosed:
            pass
        except Exception as error:
            _LOG.warning("a viewer is closed: its message cannot be read (%r)", error)
            await connection.close(1008, "a message that cannot be read")

    def _find_control(self, uuid: str) -> Any:
        """The control of an id, of all viewers or of one."""
        for gui in (self.server.gui, *(c.gui for c in self.server.get_clients().values())):
            if uuid in gui._gui_input_handle_from_uuid:
                return gui._gui_input_handle_from_uuid[uuid]
        return None


class Bridge:
    """A connection of the gate as viser sees it, from viser's event loop.

    Attributes:
        path: that the websocket was opened at, behind the prefix of the site.
    """

    def __init__(
        self, connection: ServerConnection, request: Request, find_control: Callable[[str], Any]
    ) -> None:
        self._connection, self._loop = connection, asyncio.get_running_loop()
        self._find_control, self._refused = find_control, 0
        self.subprotocol, self.path = connection.subprotocol, request.path

    async def send(self, data: bytes) -> None:
        """Send a message; waits while the viewer takes none."""
        await self._there(self._connection.send(data))

    async def recv(self) -> str | bytes:
        """The next message of the viewer that viser is to heed."""
        while True:
            data = await self._there(self._connection.recv())
            try:
                if is_heeded(data, self._find_control):
                    return data
            except ValueError as error:
                await self._refuse(str(error))

    async def _refuse(self, reason: str) -> None:
        _LOG.warning("a viewer's message is refused: %s", reason)
        self._refused += 1
        if self._refused >= MOST_REFUSED:
            await self.close(1008, "too many invalid messages")

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the connection."""
        await self._there(self._connection.close(code, reason))

    def _there(self, work: Coroutine[Any, Any, Result]) -> Awaitable[Result]:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class Inside(str):
    """A host that means: listen nowhere, serve through a site."""

    site: ViserSite


class _Listening:
    """What `serve` gives to viser: nothing to listen on, until viser leaves it."""

    server = SimpleNamespace(sockets=())

    async def __aenter__(self) -> _Listening:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


def start_viser(host: str, port: int) -> tuple[viser.ViserServer, ViserSite]:
    """A server of viser's that listens nowhere, and the site that it serves through. Host and port
    are only what it says of itself."""
    import viser

    _divert_serve()
    inside = Inside(host)
    inside.site = ViserSite()
    # viser's own banner is left out; the address is said by the view
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=inside, port=port, label="marsyard", verbose=False)
    if not inside.site.is_connected:
        server.stop()
        raise InputError(
            f"viser {viser.__version__} is not supported by the access control of marsyard's "
            f"pages; install viser 1.1"
            ""
        )
    inside.site.server = server
    inside.site._loop.set_exception_handler(_tell)
    return server, inside.site


def path_of(server: viser.ViserServer, client_id: int) -> str:
    """The path at which a viewer opened its websocket; empty if there is no such viewer."""
    bridge = server._websock_server._live_connections.get(client_id)
    return bridge.path if isinstance(bridge, Bridge) else ""


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell in a line what a viewer's message has brought about."""
    _LOG.warning("viser: %s (%r)", context.get("message", ""), context.get("exception"))


def _divert_serve() -> None:
    """Have viser's module call our `serve`, which listens unless it is to be inside."""
    import websockets.asyncio.server
    from viser.infra import _infra

    if not isinstance(_infra.websockets, SimpleNamespace):

        def serve(handler: Any, host: Any, port: Any, **options: Any) -> Any:
            if not isinstance(host, Inside):
                return websockets.asyncio.server.serve(handler, host, port, **options)
            host.site.connect(
                asyncio.get_running_loop(), handler, options["process_request"],
                options["select_subprotocol"],
            )  # fmt: skip
            return _Listening()

        server = SimpleNamespace(**{**vars(websockets.asyncio.server), "serve": serve})
        _infra.websockets = SimpleNamespace(  # type: ignore[assignment]
            **{**vars(websockets), "asyncio": SimpleNamespace(server=server)}
        )
