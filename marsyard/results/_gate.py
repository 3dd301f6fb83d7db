"""A gate before a web server: only who knows the token gets through.

viser has no log-in of its own. Where it is to be seen from other machines it listens on a port of
127.0.0.1 only, and this gate listens in its stead. It reads the head of every HTTP request, the
opening of a websocket among them, and passes bytes on only after it has found the token there:

    GET /?token=TOKEN     answered with a cookie and the address without the token
    Cookie: marsyard-PORT=TOKEN

Everything else is answered with 403 and closed. A connection carries one request ("Connection:
close" is put in), so that none slips through behind another. Bytes go no faster than the slower
side takes them. The way itself is not encrypted; over other people's networks use ssh.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import threading
from urllib.parse import parse_qs, urlsplit

LONGEST_HEAD = 32_768  # [bytes]
HEAD_TIME = 10.0  # in which the head of a request must have come [s]
PIECE = 65_536  # [bytes]
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REFUSED = b"This view is open only to its token: use the whole address that marsyard printed.\n"


def new_token() -> str:
    """A token nobody can guess, 128 bits."""
    return secrets.token_urlsafe(16)


class Gate:
    """A running gate from `host`:`port` to a port of this machine; `stop` ends it."""

    def __init__(self, host: str, port: int, inner_port: int, token: str) -> None:
        self._host, self._port, self._inner, self._token = host, port, inner_port, token
        self._cookie = f"marsyard-{port}"
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._failure: OSError | None = None
        self._ended: asyncio.Event | None = None
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="gate", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End all connections and free the port."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(timeout=2.0)

    def _end(self) -> None:
        if self._ended is not None:
            self._ended.set()

    def _serve(self, ready: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._listen(ready))
        finally:
            ready.set()
            self._loop.close()

    async def _listen(self, ready: threading.Event) -> None:
        self._ended = asyncio.Event()
        try:
            server = await asyncio.start_server(
                self._connected, self._host, self._port, limit=LONGEST_HEAD
            )
        except OSError as error:
            self._failure = error
            return
        ready.set()
        await self._ended.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_TIME)
        verdict = judge(head, self._cookie, self._token)
        if verdict == "pass":
            await self._pass_on(head, reader, writer)
            return
        if verdict == "welcome":
            answer = (
                "HTTP/1.1 303 See Other\r\nLocation: /\r\n"
                f"Set-Cookie: {self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict\r\n"
                "Referrer-Policy: no-referrer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ).encode()
        else:
            answer = (
                "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(_REFUSED)}\r\nConnection: close\r\n\r\n"
            ).encode() + _REFUSED
        writer.write(answer)
        await writer.drain()

    async def _pass_on(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._inner)
        try:
            if not is_upgrade(head):
                # what the viewer sends behind the head of a page is not read
                inner_writer.write(one_request(head))
                await _pump(inner_reader, writer)
                return
            inner_writer.write(head)
            ways = [
                asyncio.ensure_future(_pump(reader, inner_writer)),
                asyncio.ensure_future(_pump(inner_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            inner_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()


# --- heads of requests


def judge(head: bytes, cookie: str, token: str) -> str:
    """What to do with a request: "pass", "welcome" (token in the address) or "refuse"."""
    lines = head.decode("latin-1").split("\r\n")
    request = lines[0].split(" ")
    if len(request) != 3 or request[0] not in ("GET", "HEAD"):
        return "refuse"
    if any(_same(given, token) for given in _cookies(lines[1:], cookie)):
        return "pass"
    given = parse_qs(urlsplit(request[1]).query).get("token", [])
    if not any(_same(text, token) for text in given):
        return "refuse"
    return "pass" if is_upgrade(head) else "welcome"


def is_upgrade(head: bytes) -> bool:
    """Whether a request opens a websocket."""
    fields = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    return any(n.lower() == "upgrade" and v.strip().lower() == "websocket" for n, _, v in fields)


def one_request(head: bytes) -> bytes:
    """The head with "Connection: close" in place of what it said of the connection."""
    lines = head[:-4].split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith((b"connection:", b"keep-alive:"))]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])


def _cookies(lines: list[str], name: str) -> list[str]:
    """Values of the cookies of a name."""
    found = []
    for line in lines:
        field, _, value = line.partition(":")
        if field.strip().lower() != "cookie":
            continue
        for part in value.split(";"):
            key, _, given = part.strip().partition("=")
            if key == name:
                found.append(given)
    return found


def _same(given: str, token: str) -> bool:
    """Compared in a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("latin-1", "replace"), token.encode("latin-1"))
