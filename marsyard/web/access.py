"""Access rules of a page: the `Host`, the `Origin` and the token of a request.

    Host     names this machine as the page was started (loopback names and the given host, with the
             page's port): another site's name that was made to lead here (DNS rebinding) does not
    Origin   where there is one, is the page's own: scheme, host and port. A websocket needs one,
             unless its request shows the token: programs have no origin, pages always do
    token    in the address, /?token=TOKEN, or in the cookie that is the answer to it

All three must hold, on this machine, too: any web page that a browser shows can send requests to
it. A cookie alone is not enough, since browsers send it from pages of every port of a machine.
"""

from __future__ import annotations

import enum
import hmac
import ipaddress
import re
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

if TYPE_CHECKING:
    from websockets.datastructures import Headers
    from websockets.http11 import Request

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HTTP_PORT = 80  # which browsers leave out


class Verdict(enum.Enum):
    """What becomes of a request, and what is said to those who are refused."""

    PASS = ""
    WELCOME = "the token is in the address: it becomes a cookie"
    HOST = "Unknown host name: use the address printed by marsyard."
    ORIGIN = "This page does not accept requests from other sites or ports."
    TOKEN = "This page requires a token: use the full address printed by marsyard."


@dataclass(frozen=True)
class Access:
    """The rules of a page at `host`:`port` with a token."""

    host: str
    port: int
    token: str

    @property
    def cookie(self) -> str:
        """Name of the cookie; a browser keeps those of all ports of a machine together."""
        return f"marsyard-{self.port}"

    def judge(self, request: Request, local: str) -> Verdict:
        """What becomes of a request that came to the address `local` of this machine."""
        headers = request.headers
        host = self._own_host(headers, local)
        if host is None:
            return Verdict.HOST
        origins = headers.get_all("Origin")
        if origins and origins != [f"http://{host}"]:
            return Verdict.ORIGIN
        shown = tokens_shown(request.path)
        if shown:
            if len(shown) != 1 or not is_same(shown[0], self.token):
                return Verdict.TOKEN
            return Verdict.PASS if is_upgrade(headers) else Verdict.WELCOME
        if not any(is_same(value, self.token) for value in cookies(headers, self.cookie)):
            return Verdict.TOKEN
        if is_upgrade(headers) and not origins:
            return Verdict.ORIGIN
        return Verdict.PASS

    def _own_host(self, headers: Headers, local: str) -> str | None:
        """The host and port that a request names, if they are the page's."""
        hosts = headers.get_all("Host")
        if len(hosts) != 1:
            return None
        host = hosts[0].lower()
        found = re.fullmatch(r"([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?", host, re.ASCII)
        if found is None or int(found[2] or HTTP_PORT) != self.port:
            return None
        return host if found[1].strip("[]") in self._names(local) else None

    def _names(self, local: str) -> set[str]:
        """Names of this machine. A page for all of its addresses is also known by the address that
        a request came to, which no site can pretend, and by the machine's name."""
        names = {*LOOPBACK, self.host.lower()}
        if is_wildcard(self.host):
            name = socket.gethostname().lower()
            names |= {local.partition("%")[0].removeprefix("::ffff:"), name, f"{name}.local"}
        return names


def is_wildcard(host: str) -> bool:
    """Whether a host means all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def is_upgrade(headers: Headers) -> bool:
    """Whether a request opens a websocket."""
    return any("websocket" in value.lower() for value in headers.get_all("Upgrade"))


def comes_from_link(headers: Headers) -> bool:
    """Whether a browser was led here by a link on a page of another site. Then it keeps the cookie
    that it has just been given to itself, until the page is asked for from here."""
    navigates = headers.get_all("Sec-Fetch-Mode") == ["navigate"]
    return navigates and headers.get_all("Sec-Fetch-Site") == ["cross-site"]


def tokens_shown(path: str) -> list[str]:
    """The tokens in an address."""
    return parse_qs(path.partition("?")[2], keep_blank_values=True).get("token", [])


def without_token(path: str) -> str:
    """The address that a request with a token is sent on to: the front page, with whatever else was
    asked for."""
    asked = parse_qs(path.partition("?")[2])
    rest = urlencode({k: v for k, v in asked.items() if k != "token"}, doseq=True)
    return f"/?{rest}" if rest else "/"


def cookies(headers: Headers, name: str) -> list[str]:
    """Values of the cookies of a name."""
    found = []
    for line in headers.get_all("Cookie"):
        # one by one: what other programs of this machine have set may not be readable
        for part in line.split(";"):
            try:
                read = SimpleCookie(part.strip())
            except CookieError:
                continue
            found += [morsel.value for key, morsel in read.items() if key == name]
    return found


def is_same(given: str, token: str) -> bool:
    """Compared in a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
