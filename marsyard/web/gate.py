"""The server in front of all pages: access control and limits.

It is built on websockets, a library made for servers of websockets that browsers reach: it reads
requests strictly (GET, HTTP/1.1, lines of at most 8 KiB, 128 fields), has a hook for each of them
before anything is opened, limits the size of messages, waits for slow readers and closes
connections in good order. viser and the desk run on it anyway, so that no other package is needed.

Pages have no servers of their own. A `Site` lies behind the gate in the same process; nothing but
the gate listens, and there is no way around it:

    GET /?token=TOKEN     answered with a cookie and the address without the token
    GET /PREFIX/PATH      answered by the site of that prefix, then the connection is closed
    websocket             handed over to the site of its prefix

Who is let in says `access`. Everybody else is answered with 403. Limits: of connections that have
not shown a token at most `MOST_STRANGERS` are kept, the oldest goes first, and their requests must
have come within `HEAD_TIME`; of those that have shown one, at most `MOST_GUESTS`, the next is
answered with 503. A message has at most `MAX_MESSAGE` bytes. A reader that takes nothing for
`STALL_CHECKS` · `STALL_TIME` is cut off. The connection is not encrypted; over other people's
networks use ssh.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import http
import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from marsyard.errors import InputError
from marsyard.web.access import Access, Verdict, comes_from_link, is_upgrade, without_token

HEAD_TIME = 5.0  # in which a request must have come [s]
ANSWER_TIME = 120.0  # in which an answer must have been taken [s]
CLOSE_TIME = 1.0  # in which the other side must close, too [s]
PING_TIME, PONG_TIME = 10.0, 30.0  # between pings, and for their answers [s]
STALL_TIME, STALL_CHECKS = 10.0, 3  # of readers that take nothing [s]
MAX_MESSAGE = 2**20  # [B]
MOST_STRANGERS, MOST_GUESTS = 256, 128  # connections
BACKLOG = 512  # connections that wait to be accepted

#: of every answer. Pages are made of inline scripts, styles and WebAssembly, and load nothing from
#: elsewhere; viser's client would connect to any server that its address names
SECURITY_FIELDS = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Connection": "close",
}
_LOG = logging.getLogger("marsyard.gate")


class Site(Protocol):
    """What lies behind the gate under a prefix."""

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a request for a page or file, in a thread of the gate's; None: there is
        none. Paths begin behind the prefix, with a slash."""

    def select_subprotocol(self, offered: list[str]) -> str | None:
        """Which of the subprotocols that a websocket offers is spoken."""

    async def serve(self, connection: ServerConnection, request: Request) -> None:
        """Talk to a websocket, in the event loop of the gate."""


def new_token() -> str:
    """A token nobody can guess, 128 bits."""
    return secrets.token_urlsafe(16)


class Gate:
    """A running gate at `host`:`port` before sites by prefix of the path ("/", "/scene/"); `stop`
    ends it.

    Attributes:
        refused: requests that were not let in.
    """

    def __init__(
        self, host: str, port: int, sites: Mapping[str, Site], token: str | None = None
    ) -> None:
        self.access = Access(host, port, token or new_token())
        # the longest prefix is looked for first
        self._sites = sorted(sites.items(), key=lambda item: -len(item[0]))
        self.refused = 0
        self._strangers: dict[_Connection, None] = {}
        self._guests: set[_Connection] = set()
        self._files = ThreadPoolExecutor(2, thread_name_prefix="gate files")
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._failure: OSError | None = None
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="gate", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            reason = self._failure.strerror or self._failure
            raise InputError(
                f"cannot listen on {host} port {port} ({reason}); choose another with --port"
            )

    def stop(self) -> None:
        """Close all connections and free the port."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(timeout=5.0)
        self._files.shutdown(wait=False, cancel_futures=True)

    @property
    def connections(self) -> tuple[int, int]:
        """How many there are that have not shown the token, and that have."""
        return len(self._strangers), len(self._guests)

    # --- the server

    def _run(self, ready: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._listen(ready))
        finally:
            ready.set()
            self._loop.close()

    async def _listen(self, ready: threading.Event) -> None:
        quiet = logging.getLogger("marsyard.gate.websockets")
        quiet.setLevel(logging.CRITICAL)  # it tells of every connection that is cut off
        make: Any = functools.partial(_Connection, self)
        server = serve(
            self._serve, self.access.host, self.access.port, process_request=self._answer,
            process_response=_add_security_fields, server_header=None, open_timeout=ANSWER_TIME,
            ping_interval=PING_TIME, ping_timeout=PONG_TIME, close_timeout=CLOSE_TIME,
            max_size=MAX_MESSAGE, compression=None, logger=quiet, backlog=BACKLOG,
            create_connection=make,
            select_subprotocol=_select_subprotocol,
        )  # fmt: skip
        try:
            running = await server
        except OSError as error:
            self._failure = error
            return
        ready.set()
        await self._ended.wait()
        running.close()
        await asyncio.sleep(0)
        for connection in [*self._strangers, *(g for g in self._guests if not g.is_websocket)]:
            connection.transport.abort()
        await running.wait_closed()

    def take_in(self, connection: _Connection) -> None:
        """Keep a new connection; the oldest that has not shown a token may have to go for it."""
        if len(self._strangers) >= MOST_STRANGERS:
            oldest = next(iter(self._strangers))
            self.forget(oldest)
            oldest.transport.abort()
        self._strangers[connection] = None

    def forget(self, connection: _Connection) -> None:
        """A connection is gone."""
        self._strangers.pop(connection, None)
        self._guests.discard(connection)

    # --- requests

    async def _answer(self, connection: Any, request: Request) -> Response | None:
        """The answer to a request; None: a websocket is opened."""
        verdict = self.access.judge(request, connection.local_address[0])
        if verdict is Verdict.WELCOME:
            return self._welcome(request)
        if verdict is not Verdict.PASS:
            self.refused += 1
            # a token that is nearly right has no place in a log
            asked = request.path.partition("?")[0][:200]
            _LOG.warning("refused (%s): %r", verdict.name.lower(), asked)
            again = verdict is Verdict.TOKEN and comes_from_link(request.headers)
            return _say(http.HTTPStatus.FORBIDDEN, verdict.value, again)
        if len(self._guests) >= MOST_GUESTS:
            most = f"{MOST_GUESTS} connections"
            return _say(
                http.HTTPStatus.SERVICE_UNAVAILABLE,
                f"Too many viewers: {most} are connected; close some.",
            )
        self._strangers.pop(connection, None)
        self._guests.add(connection)
        return await self._find(connection, request)

    async def _find(self, connection: _Connection, request: Request) -> Response | None:
        """The answer of the site that a request is for."""
        nothing = _say(http.HTTPStatus.NOT_FOUND, "Page not found.")
        for prefix, site in self._sites:
            if request.path.startswith(prefix):
                connection.site = site
                connection.inner = dataclasses.replace(
                    request, path=request.path[len(prefix) - 1 :]
                )
                break
        else:
            return nothing
        if is_upgrade(request.headers):
            connection.is_websocket = True
            return None
        connection.close_timeout = ANSWER_TIME
        try:
            answer = await self._loop.run_in_executor(
                self._files, connection.site.answer, connection, connection.inner
            )
        except (OSError, ValueError):  # a name that no file can have
            answer = None
        return nothing if answer is None or answer.status_code == nothing.status_code else answer

    def _welcome(self, request: Request) -> Response:
        cookie = f"{self.access.cookie}={self.access.token}; Path=/; HttpOnly; SameSite=Strict"
        fields = {
            "Location": without_token(request.path), "Set-Cookie": cookie, "Content-Length": "0",
        }  # fmt: skip
        return Response(303, "See Other", Headers(fields), b"")

    async def _serve(self, connection: Any) -> None:
        await connection.site.serve(connection, connection.inner)


class _Connection(ServerConnection):
    """A connection of the gate: counted, with a time for its request, and cut off when the other
    side takes nothing.

    Attributes:
        site, inner: whom its request is for, and the request as that one sees it.
    """

    site: Site
    inner: Request

    def __init__(self, gate: Gate, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._gate = gate
        self.is_websocket = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._gate.take_in(self)
        self.loop.call_later(HEAD_TIME, self._end_without_request)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._gate.forget(self)
        self._stop_timer()

    def _end_without_request(self) -> None:
        if self.request is None:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size(), STALL_CHECKS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_timer()

    def _watch(self, waiting: int, checks: int) -> None:
        """Look again in a while whether less waits to be taken; what adds to it waits itself, so
        that it cannot grow time and again."""

        def look() -> None:
            now = self.transport.get_write_buffer_size()
            left = STALL_CHECKS if now < waiting else checks - 1
            if left:
                self._watch(now, left)
            else:
                _LOG.warning("cut off: the client does not read, %d bytes are pending", now)
                self.transport.abort()

        self._timer = self.loop.call_later(STALL_TIME, look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _select_subprotocol(connection: Any, offered: Sequence[str]) -> Any:
    return connection.site.select_subprotocol(list(offered))


def _add_security_fields(connection: Any, request: Request, response: Response) -> None:
    if response.status_code == http.HTTPStatus.SWITCHING_PROTOCOLS:
        return
    for name, value in SECURITY_FIELDS.items():
        if name in response.headers:
            del response.headers[name]
        response.headers[name] = value


def _say(status: http.HTTPStatus, text: str, again: bool = False) -> Response:
    """An answer of one sentence; `again`: the browser is to ask for the front page once more."""
    body = f"{text}\n".encode()
    fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    if again:
        fields["Refresh"] = "0; url=/"
    return Response(status, status.phrase, Headers(fields), body)
