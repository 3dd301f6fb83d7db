"""Pages in browsers: the files they are made of, and a websocket for each.

A site behind the gate (`web.gate`), in whose event loop it talks to pages:

    GET /             the page; GET /NAME its other files
    GET /files/KEY/   a file that was offered, and those beside it
    /ws               websocket; what comes must be a message (see `messages`)

Messages that cannot be used are counted, logged and answered in a sentence; a page with more than
`MOST_REFUSED` of them is closed, one that sends more than `MAX_BYTES` at once too.

To each page goes the newest of what is published, so a slow one skips states and nothing piles up;
what is told to a page (an answer) is not skipped, but of more than `MOST_WAITING` the oldest are.
What pages say is acted upon by one thread, in the order in which it came; a stop by another one, so
that it never waits; texts of sequences are read by a third one, so that long ones hold up nobody's
stick. At most `MOST_TEXTS` of a page wait to be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import logging
import mimetypes
import secrets
import time as clock
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from marsyard.errors import InputError
from marsyard.operations.desk.messages import (
    MAX_BYTES,
    Check,
    Edit,
    Refused,
    Said,
    Stop,
    read,
    write,
)

STATIC = Path(__file__).parent / "static"
MOST_REFUSED = 20
MOST_WAITING = 200
MOST_PAGES = 50
MOST_TEXTS = 8
RATE, BURST = 60.0, 120.0  # messages of a page [1/s], and at once
SHOWABLE = (".html", ".png", ".svg", ".css", ".csv", ".yaml", ".json", ".txt", ".gif", ".mp4")
_LOG = logging.getLogger("marsyard.desk")


class Page:
    """A page that is open: its id, and who it is in the log."""

    def __init__(self, connection: ServerConnection, number: int) -> None:
        self.id, self.name = secrets.token_urlsafe(12), f"page {number}"
        self.connection = connection
        self.refused = 0
        self.texts = 0  # that wait to be read
        self.outbox: deque[str] = deque(maxlen=MOST_WAITING)
        self.seen: dict[str, int] = {}
        self.wake = asyncio.Event()
        self._allowance, self._counted = BURST, clock.monotonic()

    def spend(self) -> None:
        """Count a message; Refused if there are too many."""
        now = clock.monotonic()
        self._allowance = min(BURST, self._allowance + RATE * (now - self._counted))
        self._counted = now
        if self._allowance < 1.0:
            raise Refused("rate", f"message: more than {RATE:g} a second")
        self._allowance -= 1.0


class Pages:
    """All pages that are open.

    act: called with a page and what it said; an InputError is its answer.
    joined, left: called with a page.

    Attributes:
        refused: messages by cause: oversized, malformed, control, rate.
    """

    def __init__(
        self,
        act: Callable[[Page, Said], None],
        joined: Callable[[Page], None],
        left: Callable[[Page], None],
    ) -> None:
        self._act, self._joined, self._left = act, joined, left
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""
        self._pages: dict[str, Page] = {}
        self._count = 0
        self._newest: dict[str, tuple[int, str]] = {}
        self._files: dict[str, Path] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._urgent = ThreadPoolExecutor(1, thread_name_prefix="desk stop")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="desk texts")
        self._loop: asyncio.AbstractEventLoop | None = None  # since the first page

    @property
    def count(self) -> int:
        """How many are open."""
        return len(self._pages)

    def stop(self) -> None:
        """Act upon nothing more; the gate closes them."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._urgent.shutdown(wait=False, cancel_futures=True)
        self._reader.shutdown(wait=False, cancel_futures=True)

    # --- to pages

    def publish(self, kind: str, message: dict[str, Any]) -> None:
        """Have all pages show the newest of a kind."""
        version = self._newest.get(kind, (0, ""))[0] + 1
        self._newest[kind] = (version, write({"is": kind, **message}))
        self._call(self._wake_all)

    def tell(self, page: Page | None, kind: str, **fields: Any) -> None:
        """Tell a page something, or all."""
        text = write({"is": kind, **fields})

        def put() -> None:
            for one in list(self._pages.values()) if page is None else [page]:
                one.outbox.append(text)
                one.wake.set()

        self._call(put)

    def offer(self, path: Path) -> str:
        """The address of a file, and of those beside and below it."""
        key = secrets.token_urlsafe(12)
        self._files[key] = path.parent.resolve()
        return f"files/{key}/{path.name}"

    def _wake_all(self) -> None:
        for page in self._pages.values():
            page.wake.set()

    def _call(self, function: Callable[[], Any]) -> None:
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    # --- from pages

    def refuse(self, page: Page, cause: str, text: str) -> None:
        """Count what cannot be used, log it and say why."""
        self.refused[cause] += 1
        self.last_refusal = text
        page.refused += cause != "control"
        _LOG.warning("%s: refused (%s): %s", page.name, cause, text)
        self.tell(page, "refused", cause=cause, text=text)

    async def _take(self, page: Page, data: str | bytes) -> None:
        try:
            page.spend()
            said = read(data)
            if isinstance(said, Check | Edit) and page.texts >= MOST_TEXTS:
                raise Refused(
                    "rate", f"message: {MOST_TEXTS} messages are already waiting to be read"
                )
        except Refused as error:
            self.refuse(page, error.cause, str(error))
            if page.refused >= MOST_REFUSED:
                _LOG.warning("%s: closed after %d rejected messages", page.name, page.refused)
                await page.connection.close(1008, "too many invalid messages")
            return
        self._put(page, said)

    def _put(self, page: Page, said: Said) -> None:
        """Have it acted upon in the thread for it."""
        worker = self._urgent if isinstance(said, Stop) else self._worker
        with contextlib.suppress(RuntimeError):  # the desk is being closed
            if isinstance(said, Check | Edit):
                page.texts += 1
                self._reader.submit(self._read, page, said)
            else:
                worker.submit(self._do, page, said)

    def _read(self, page: Page, said: Said) -> None:
        """Act upon a text."""
        try:
            self._do(page, said)
        finally:
            self._call(lambda: setattr(page, "texts", page.texts - 1))

    def _do(self, page: Page, said: Said) -> None:
        try:
            self._act(page, said)
        except Refused as error:
            self.refuse(page, error.cause, str(error))
        except InputError as error:
            self.tell(page, "answer", good=False, text=str(error))
        except Exception as error:
            _LOG.exception("%s: %s failed", page.name, type(said).__name__)
            what = type(said).__name__.lower()
            self.tell(page, "answer", good=False, text=f"{what} failed: {error}")

    def _gone(self, page: Page) -> None:
        with contextlib.suppress(RuntimeError):
            self._worker.submit(self._left, page)

    # --- the site

    def select_subprotocol(self, offered: list[str]) -> str | None:
        """None is spoken."""
        return None

    async def serve(self, connection: ServerConnection, request: Request) -> None:
        """Talk to a page until it is gone."""
        self._loop = asyncio.get_running_loop()
        if unquote(request.path.partition("?")[0]) != "/ws":
            await connection.close(1008, "no such websocket")
            return
        if len(self._pages) >= MOST_PAGES:
            await connection.close(1013, "too many pages are open")
            return
        self._count += 1
        page = Page(connection, self._count)
        self._pages[page.id] = page
        _LOG.info("%s: open", page.name)
        with contextlib.suppress(RuntimeError):
            self._worker.submit(self._joined, page)
        page.wake.set()
        sending = asyncio.ensure_future(self._send(page))
        try:
            async for data in connection:
                if len(data if isinstance(data, bytes) else data.encode()) > MAX_BYTES:
                    await connection.close(1009, "message too long")
                    break
                await self._take(page, data)
                if page.refused >= MOST_REFUSED:
                    break  # it is closed; what it sent meanwhile is not read
        except ConnectionClosed:
            pass
        finally:
            if connection.close_code == 1009:
                self.refuse(page, "oversized", f"message: more than {MAX_BYTES} bytes")
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self._pages.pop(page.id, None)
            _LOG.info("%s: closed", page.name)
            self._gone(page)

    async def _send(self, page: Page) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await page.wake.wait()
                page.wake.clear()
                while page.outbox:
                    await page.connection.send(page.outbox.popleft())
                for kind, (version, text) in list(self._newest.items()):
                    if page.seen.get(kind) != version:
                        page.seen[kind] = version
                        await page.connection.send(text)

    # --- files

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """A file of the page's, or one that is offered."""
        found = self._find(unquote(request.path.partition("?")[0]))
        if found is None:
            return None
        kind = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
        if found.suffix in (".js", ".mjs"):
            kind = "text/javascript"
        kind += "; charset=utf-8" if kind.startswith("text/") else ""
        body = found.read_bytes()
        fields = Headers({"Content-Type": kind, "Content-Length": str(len(body))})
        return Response(http.HTTPStatus.OK, "OK", fields, body)

    def _find(self, path: str) -> Path | None:
        """The file at a path, if it is one of the page's or offered."""
        parts = [part for part in path.split("/") if part]
        if any(part in (".", "..") or "\\" in part or "\0" in part for part in parts):
            return None
        if not parts:
            return STATIC / "index.html"
        if parts[0] != "files":
            own = STATIC / parts[0]
            return own if len(parts) == 1 and own.is_file() else None
        folder = self._files.get(parts[1]) if len(parts) > 2 else None
        if folder is None:
            return None
        found = folder.joinpath(*parts[2:]).resolve()
        inside = found.is_relative_to(folder) and found.is_file()
        return found if inside and found.suffix in SHOWABLE else None
