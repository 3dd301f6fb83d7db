"""The gate before a view: who has no token gets nothing, who has it gets everything."""

from __future__ import annotations

import http.client
import re
import socket

import pytest

from marsyard.errors import InputError
from marsyard.results._gate import (
    is_own_page,
    is_upgrade,
    judge,
    names_this_machine,
    new_token,
    one_request,
    routed,
    without_token,
)
from marsyard.results._server import start_server

TOKEN = "only-for-this-test"


def head(path: str = "/", *fields: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *fields, "", ""]).encode()


@pytest.mark.parametrize(
    "request_, verdict",
    [
        (head(), "refuse"),
        (head("/?token=wrong"), "refuse"),
        (head("/?token=" + TOKEN), "welcome"),
        (head("/?a=b&token=" + TOKEN), "welcome"),
        (head("/?token=" + TOKEN[:-1]), "refuse"),
        (head("/?tokens=" + TOKEN), "refuse"),
        (head("/", f"Cookie: a=b; marsyard-1={TOKEN}"), "pass"),
        (head("/", f"cookie: marsyard-1={TOKEN}"), "pass"),
        (head("/", f"Cookie: marsyard-2={TOKEN}"), "refuse"),
        (head("/", "Cookie: marsyard-1="), "refuse"),
        (head("/", f"X-Cookie: marsyard-1={TOKEN}"), "refuse"),
        (head("/", "Upgrade: websocket"), "refuse"),
        (head("/", "Upgrade: websocket", f"Cookie: marsyard-1={TOKEN}"), "pass"),
        (head("/?token=" + TOKEN, "Upgrade: websocket"), "pass"),
        (head("/", f"Cookie: marsyard-1={TOKEN}", method="POST"), "refuse"),
        (b"nonsense\r\n\r\n", "refuse"),
        (b"\xff\xfe\r\n\r\n", "refuse"),
    ],
)
def test_who_gets_through(request_, verdict):
    assert judge(request_, "marsyard-1", TOKEN) == verdict


@pytest.mark.parametrize(
    "path, to",
    [
        ("/?token=a", "/"),
        ("/?token=a&quality=0.5", "/?quality=0.5"),
        ("/?x=%0d%0aSet-Cookie:a&token=a", "/?x=%0D%0ASet-Cookie%3Aa"),
        ("//far.example/?token=a", "/"),
    ],
)
def test_the_token_leaves_the_address_and_the_rest_stays(path, to):
    assert without_token(head(path)) == to


def test_a_page_is_one_request():
    changed = one_request(head("/a", "Connection: keep-alive", "Keep-Alive: 5", "Accept: b"))
    assert changed.endswith(b"\r\n\r\n") and changed.count(b"onnection:") == 1
    assert b"Connection: close" in changed and b"Accept: b" in changed
    assert not is_upgrade(changed) and is_upgrade(head("/", "upgrade: WebSocket"))


def test_tokens_differ_and_are_long():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50 and min(map(len, tokens)) >= 22


@pytest.fixture(scope="module")
def gated():
    server, url = start_server("127.0.0.1", 0, "a test", TOKEN)
    port = int(re.search(r":(\d+)/", url).group(1))
    yield server, port, url
    server.stop()


def _get(port: int, path: str, **fields: str):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=fields)
    answer = connection.getresponse()
    return answer, answer.read()


def test_pages_need_the_token(gated):
    _, port, url = gated
    assert url.endswith(f"/?token={TOKEN}")
    answer, body = _get(port, "/")
    assert answer.status == 403 and b"token" in body and TOKEN.encode() not in body
    assert _get(port, "/?token=nearly")[0].status == 403
    answer, _ = _get(port, f"/?token={TOKEN}")
    assert answer.status == 303 and answer.headers["Location"] == "/"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    answer, body = _get(port, "/", Cookie=cookie.partition(";")[0])
    assert answer.status == 200 and b"<html" in body.lower() and len(body) > 10_000


def test_a_second_request_behind_a_good_one_is_not_passed_on(gated):
    _, port, _ = gated
    good = head("/robots.txt", f"Cookie: marsyard-{port}={TOKEN}")
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(good + head("/"))
        said = b""
        while piece := connection.recv(65536):
            said += piece
    assert said.count(b"HTTP/1.1 ") == 1


def test_websockets_need_the_token(gated):
    import viser
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    server, port, _ = gated
    server.scene.add_frame("/something")
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{port}/")
    assert refused.value.response.status_code == 403
    protocol = [f"viser-v{viser.__version__}"]
    cookie = {"Cookie": f"marsyard-{port}={TOKEN}"}
    with connect(
        f"ws://127.0.0.1:{port}/", subprotocols=protocol, additional_headers=cookie, max_size=None
    ) as viewer:
        assert len(viewer.recv(timeout=10)) > 16


def test_other_machines_always_need_one():
    server, url = start_server("0.0.0.0", 0, "a test")
    try:
        port = int(re.search(r":(\d+)/", url).group(1))
        assert len(url.partition("token=")[2]) >= 22
        assert _get(port, "/")[0].status == 403
        # viser itself listens on this machine alone
        assert server.get_host() == "127.0.0.1" and server.get_port() != port
    finally:
        server.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_this_machine_needs_none():
    server, url = start_server("127.0.0.1", 0, "a test")
    assert "token" not in url and server.get_port() == int(url.rpartition(":")[2])
    server.stop()


@pytest.mark.parametrize("token", ["short", "with space in it", "a" * 200, 'quo"te-quote'])
def test_odd_tokens_are_refused(token):
    with pytest.raises(InputError, match="--token"):
        start_server("127.0.0.1", 0, "a test", token)


# --- a gate before something that takes commands


@pytest.mark.parametrize(
    "host, passes",
    [
        ("localhost:8080", True),
        ("127.0.0.1:8080", True),
        ("[::1]:8080", True),
        ("LOCALHOST", True),
        ("far.example:8080", False),  # a name of somebody else's that leads here
        ("localhost.far.example", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_without_a_token_requests_must_name_this_machine(host, passes):
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert names_this_machine(request, "127.0.0.1") is passes


def test_two_hosts_or_none_are_refused():
    for fields in (b"", b"Host: localhost\r\nHost: far.example\r\n"):
        assert not names_this_machine(b"GET / HTTP/1.1\r\n" + fields + b"\r\n", "127.0.0.1")
    assert not names_this_machine(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "127.0.0.1")


@pytest.mark.parametrize(
    "origin, own",
    [
        ("http://localhost:8080", True),
        ("https://localhost:8080", True),
        ("http://LOCALHOST:8080", True),
        ("http://localhost:8081", False),
        ("http://far.example", False),
        ("http://far.example/localhost:8080", False),
        ("http://localhost:8080@far.example", False),
        ("null", False),
    ],
)
def test_a_websocket_of_another_page_is_known_by_its_origin(origin, own):
    request = f"GET /ws HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: {origin}\r\n\r\n".encode()
    assert is_own_page(request) is own


def test_programs_send_no_origin():
    assert is_own_page(b"GET /ws HTTP/1.1\r\nHost: localhost:8080\r\n\r\n")


def test_routes_go_by_prefix_and_take_it_off():
    routes = {"/scene/": 7}
    changed, path, port = routed(head("/scene/abc?x=1"), routes, 5)
    assert (path, port) == ("/abc?x=1", 7)
    assert (
        changed.startswith(b"GET /abc?x=1 HTTP/1.1\r\nHost: x\r\n") and changed[-4:] == b"\r\n\r\n"
    )
    for other in ("/", "/scene", "/other/scene/", "/scenes/"):
        assert routed(head(other), routes, 5) == (head(other), other, 5)
