"""A gate before a web server: only who knows the token gets through.

viser has no log-in of its own. Where it is to be seen from other machines it listens on a port of
127.0.0.1 only, and this gate listens in its stead. It reads the head of every HTTP request, the
opening of a websocket among them, and passes bytes on only after it has found the token there:

    GET /?token=TOKEN     answered with a cookie and the address without the token
    Cookie: marsyard-PORT=TOKEN

Everything else is answered with 403 and closed. A connection carries one request ("Connection:
close" is put in), so that none slips through behind another. Bytes go no faster than the slower
side takes them. The way itself is not encrypted; over other people's networks use ssh.

Behind it there may be several servers (`routes`): what begins with a prefix, "/scene/", goes to
another port, without the prefix. A page that commands something is in front of a gate even without
a token. Then a request must name this machine as its host, and a websocket must be opened by a page
of the same host (`Origin`): no other web page that the same browser shows can open it, neither by
its own name nor by one that it has made point here.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

LONGEST_HEAD = 32_768  # [bytes]
HEAD_TIME = 10.0  # in which the head of a request must have come [s]
PIECE = 65_536  # [bytes]
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REFUSED = b"This view is open only to its token: use the whole address that marsyard printed.\n"
_FOREIGN = b"This page is open only to this machine and to its own pages.\n"
_LOG = logging.getLogger("marsyard.gate")


def new_token() -> str:
    """A token nobody can guess, 128 bits."""
    return secrets.token_urlsafe(16)


class Gate:
    """A running gate from `host`:`port` to a port of this machine; `stop` ends it.

    token: none for a page of this machine only. routes: other ports by prefix of the path, "/x/".
    strict: refuse websockets of other pages. opened: told the path of each websocket, without its
    prefix, and the port from which the server behind the gate sees it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        inner_port: int,
        token: str | None,
        *,
        routes: Mapping[str, int] | None = None,
        strict: bool = False,
        opened: Callable[[str, int], None] | None = None,
    ) -> None:
        self._host, self._port, self._inner, self._token = host, port, inner_port, token
        self._routes, self._strict, self._opened = dict(routes or {}), strict, opened
        self._cookie = f"marsyard-{port}"
        self.refused = 0  # requests
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
        except asyncio.CancelledError:
            pass  # the gate is closed; asyncio would print it
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_TIME)
        verdict = self._judge(head)
        if verdict == "pass":
            await self._pass_on(head, reader, writer)
            return
        if verdict != "welcome":
            self.refused += 1
            # a token that is nearly right has no place in a log
            asked = head[:200].split(b"\r\n")[0].split(b"?")[0].decode("latin-1")
            _LOG.warning("refused (%s): %r", verdict, asked)
        if verdict == "welcome":
            answer = (
                f"HTTP/1.1 303 See Other\r\nLocation: {without_token(head)}\r\n"
                f"Set-Cookie: {self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict\r\n"
                "Referrer-Policy: no-referrer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ).encode()
        else:
            text = _FOREIGN if verdict == "foreign" else _REFUSED
            answer = (
                "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            ).encode() + text
        writer.write(answer)
        await writer.drain()

    def _judge(self, head: bytes) -> str:
        if self._token is not None:
            verdict = judge(head, self._cookie, self._token)
        else:
            verdict = "pass" if names_this_machine(head, self._host) else "foreign"
        if verdict == "pass" and self._strict and is_upgrade(head) and not is_own_page(head):
            return "foreign"
        return verdict

    async def _pass_on(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head, path, port = routed(head, self._routes, self._inner)
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            if self._opened is not None and is_upgrade(head):
                self._opened(path, int(inner_writer.get_extra_info("sockname")[1]))
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


def without_token(head: bytes) -> str:
    """The address that a request with a token is sent on to: the front page, with whatever else was
    asked for."""
    asked = parse_qs(urlsplit(head.split(b"\r\n")[0].split(b" ")[1].decode("latin-1")).query)
    rest = urlencode({k: v for k, v in asked.items() if k != "token"}, doseq=True)
    return f"/?{rest}" if rest else "/"


def is_upgrade(head: bytes) -> bool:
    """Whether a request opens a websocket."""
    return any(value.lower() == "websocket" for value in _fields(head, "upgrade"))


def names_this_machine(head: bytes, host: str) -> bool:
    """Whether a request was meant for this machine by name, and not by a name of somebody else's
    that leads here."""
    request = head.split(b"\r\n")[0].split(b" ")
    if len(request) != 3 or request[0] not in (b"GET", b"HEAD"):
        return False
    hosts = _fields(head, "host")
    if len(hosts) != 1 or "@" in hosts[0]:
        return False
    return _host_name(f"http://{hosts[0]}") in {*LOOPBACK, host.lower()}


def is_own_page(head: bytes) -> bool:
    """Whether a websocket is opened by a page of the same host and port, or by no page at all."""
    origins, hosts = _fields(head, "origin"), _fields(head, "host")
    if not origins:
        return True
    if len(origins) != 1 or len(hosts) != 1:
        return False
    return urlsplit(origins[0]).netloc.lower() == hosts[0].lower()


def routed(head: bytes, routes: Mapping[str, int], usual: int) -> tuple[bytes, str, int]:
    """A request as the server behind gets it, its path there, and that server's port."""
    line, _, rest = head.partition(b"\r\n")
    method, path, version = line.decode("latin-1").split(" ")
    for prefix, port in routes.items():
        if path.startswith(prefix):
            path = path[len(prefix) - 1 :]
            return f"{method} {path} {version}\r\n".encode("latin-1") + rest, path, port
    return head, path, usual


def _fields(head: bytes, name: str) -> list[str]:
    """Values of the fields of a name (in small letters)."""
    fields = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    return [value.strip() for key, _, value in fields if key.strip().lower() == name]


def _host_name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


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
