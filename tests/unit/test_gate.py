"""The gate before a page: its rules, its limits, and viser behind it."""

from __future__ import annotations

import contextlib
import http.client
import logging
import re
import socket
import time

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

import marsyard.web.gate
from marsyard.errors import InputError
from marsyard.web.access import Access, Verdict, is_wildcard, without_token
from marsyard.web.gate import Gate, new_token
from marsyard.web.server import address, start_server

TOKEN = "only-for-this-test"
COOKIE = f"Cookie: marsyard-8080={TOKEN}"
HOST, ORIGIN = "Host: localhost:8080", "Origin: http://localhost:8080"
UPGRADE = "Upgrade: websocket"


def judge(path: str, *fields: str, host: str = "127.0.0.1", port: int = 8080) -> Verdict:
    headers = Headers([tuple(field.split(": ", 1)) for field in fields])
    return Access(host, port, TOKEN).judge(Request(path, headers), "192.168.7.7")


@pytest.mark.parametrize(
    "path, fields, verdict",
    [
        ("/", (HOST,), Verdict.TOKEN),
        ("/?token=wrong", (HOST,), Verdict.TOKEN),
        ("/?token=" + TOKEN, (HOST,), Verdict.WELCOME),
        ("/?a=b&token=" + TOKEN, (HOST,), Verdict.WELCOME),
        ("/?token=" + TOKEN[:-1], (HOST,), Verdict.TOKEN),
        ("/?tokens=" + TOKEN, (HOST,), Verdict.TOKEN),
        ("/?token=\udcff", (HOST,), Verdict.TOKEN),
        ("/", (HOST, COOKIE), Verdict.PASS),
        ("/", (HOST, f"Cookie: a=b; marsyard-8080={TOKEN}"), Verdict.PASS),
        ("/", (HOST, "Cookie: a=b", f"Cookie: c=ü; marsyard-8080={TOKEN}"), Verdict.PASS),
        ("/", (HOST, f"Cookie: marsyard-8081={TOKEN}"), Verdict.TOKEN),
        ("/", (HOST, "Cookie: marsyard-8080="), Verdict.TOKEN),
        ("/", (HOST, f"X-Cookie: marsyard-8080={TOKEN}"), Verdict.TOKEN),
        ("/", (HOST, UPGRADE), Verdict.TOKEN),
        ("/", (HOST, UPGRADE, ORIGIN), Verdict.TOKEN),
        ("/", (HOST, UPGRADE, ORIGIN, COOKIE), Verdict.PASS),
        ("/", (HOST, UPGRADE, COOKIE), Verdict.ORIGIN),
        ("/?token=" + TOKEN, (HOST, UPGRADE), Verdict.PASS),
        ("/?token=" + TOKEN, (HOST, UPGRADE, "Origin: null"), Verdict.ORIGIN),
        ("/", (HOST, COOKIE, "Origin: http://localhost:8081"), Verdict.ORIGIN),
        ("/", (HOST, COOKIE, "Origin: https://localhost:8080"), Verdict.ORIGIN),
        ("/", (HOST, COOKIE, ORIGIN, ORIGIN), Verdict.ORIGIN),
        ("/", (COOKIE,), Verdict.HOST),
    ],
)
def test_who_gets_through(path, fields, verdict):
    assert judge(path, *fields) is verdict


@pytest.mark.parametrize(
    "host, started, passes",
    [
        ("LOCALHOST:8080", "127.0.0.1", True),
        ("127.0.0.1:8080", "127.0.0.1", True),
        ("[::1]:8080", "::1", True),
        ("localhost", "127.0.0.1", False),
        ("localhost:80", "127.0.0.1", False),
        ("192.168.7.7:8080", "127.0.0.1", False),
        ("192.168.7.7:8080", "192.168.7.7", True),
        ("yard.example:8080", "yard.example", True),
        ("far.example:8080", "yard.example", False),
        # a page for all addresses is known by the one that a request came to, and by no other name
        ("192.168.7.7:8080", "0.0.0.0", True),
        ("192.168.7.7:8080", "::", True),
        (f"{socket.gethostname()}:8080", "0.0.0.0", True),
        ("192.168.7.8:8080", "0.0.0.0", False),
        ("far.example:8080", "0.0.0.0", False),
        ("0.0.0.0:8080", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("[::1", "127.0.0.1", False),
        ("localhost:8080:8080", "127.0.0.1", False),
        ("a@localhost:8080", "127.0.0.1", False),
    ],
)
def test_the_page_is_known_by_its_own_names_only(host, started, passes):
    expected = Verdict.PASS if passes else Verdict.HOST
    assert judge("/", f"Host: {host}", COOKIE, host=started) is expected
    origin = f"Origin: http://{host.lower()}"
    assert judge("/", f"Host: {host}", COOKIE, origin, UPGRADE, host=started) is expected


def test_browsers_leave_port_80_out():
    cookie = f"Cookie: marsyard-80={TOKEN}"
    for host in ("localhost", "localhost:80"):
        assert judge("/", f"Host: {host}", cookie, port=80) is Verdict.PASS


def test_hosts_that_mean_all_addresses():
    assert all(map(is_wildcard, ("0.0.0.0", "::", "")))
    assert not any(map(is_wildcard, ("127.0.0.1", "::1", "localhost", "192.168.7.7")))


@pytest.mark.parametrize(
    "path, to",
    [
        ("/?token=a", "/"),
        ("/?token=a&quality=0.5", "/?quality=0.5"),
        ("/?x=%0d%0aSet-Cookie:a&token=a", "/?x=%0D%0ASet-Cookie%3Aa"),
        ("//far.example/?token=a", "/"),
        ("//[/?token=a", "/"),
    ],
)
def test_the_token_leaves_the_address_and_the_rest_stays(path, to):
    assert without_token(path) == to


def test_tokens_differ_and_are_long():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50 and min(map(len, tokens)) >= 22


# --- a gate before a site


class Words:
    """A site that says where it was asked, and sends what it is told to."""

    size = 10

    def answer(self, connection, request):
        if request.path == "/none":
            return None
        if request.path == "/fails":
            raise OSError("a name that no file can have")
        body = request.path.encode() + b"x" * self.size
        return Response(200, "OK", Headers({"Content-Length": str(len(body))}), body)

    def select_subprotocol(self, offered):
        return None

    async def serve(self, connection, request):
        await connection.send(request.path)
        async for message in connection:
            await connection.send(b"x" * int(message))


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.fixture
def gate():
    gate = Gate("127.0.0.1", free(), {"/": Words(), "/other/": Words()}, TOKEN)
    yield gate
    gate.stop()


def get(gate: Gate, path: str, cookie: bool = True):
    port = gate.access.port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    fields = {"Cookie": f"marsyard-{port}={TOKEN}"} if cookie else {}
    connection.request("GET", path, headers=fields)
    answer = connection.getresponse()
    return answer, answer.read()


def websocket(gate: Gate, path: str = "/"):
    from websockets.sync.client import connect

    url = f"ws://127.0.0.1:{gate.access.port}{path}?token={TOKEN}"
    return connect(url, max_size=None, compression=None, close_timeout=0.1)


def until(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_requests_go_to_sites_by_the_longest_prefix_without_it(gate):
    same = ("/", "/a/b?c=d", "/other", "/a/other/")
    for path, inner in {**{p: p for p in same}, "/other/a": "/a", "/other/": "/"}.items():
        assert get(gate, path)[1] == inner.encode() + b"x" * 10
    for path in ("/none", "/fails"):
        answer, body = get(gate, path)
        assert answer.status == 404 and body == b"Page not found.\n"
    with websocket(gate, "/other/abc") as one:
        assert one.recv(timeout=10) == f"/abc?token={TOKEN}"


def test_refusals_are_counted_and_logged_without_the_token(gate, caplog):
    with caplog.at_level(logging.WARNING):
        assert get(gate, f"/page?token={TOKEN}x")[0].status == 403
    assert gate.refused == 1
    assert "refused (token): '/page'" in caplog.text and TOKEN not in caplog.text


def test_the_oldest_connection_without_a_token_goes_first(gate, monkeypatch):
    monkeypatch.setattr(marsyard.web.gate, "MOST_STRANGERS", 3)
    with contextlib.ExitStack() as stack:
        held = []
        for k in range(5):
            one = socket.create_connection(("127.0.0.1", gate.access.port), timeout=10)
            held.append(stack.enter_context(one))
            until(lambda k=k: sum(gate.connections) == min(k + 1, 3))
        for one in held[:2]:
            with contextlib.suppress(ConnectionError):
                assert one.recv(10) == b""
        held[4].settimeout(0.1)
        with pytest.raises(TimeoutError):
            held[4].recv(10)
        assert get(gate, "/")[0].status == 200


def test_a_slow_reader_is_served_and_one_that_stands_still_is_cut_off(gate, monkeypatch):
    monkeypatch.setattr(marsyard.web.gate, "STALL_TIME", 0.1)
    monkeypatch.setattr(Words, "size", 8_000_000)
    port = gate.access.port
    asked = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: marsyard-{port}={TOKEN}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
        slow.sendall(asked.encode())
        heard = 0
        while piece := slow.recv(400_000):
            heard += len(piece)
            time.sleep(0.04)
    assert heard > 8_000_000
    with socket.create_connection(("127.0.0.1", port), timeout=10) as still:
        still.sendall(asked.encode())
        until(lambda: gate.connections == (0, 1))
        until(lambda: gate.connections == (0, 0))
    # the same for websockets
    with websocket(gate) as one:
        one.recv(timeout=10)
        (connection,) = gate._guests
        waiting = []
        for _ in range(30):
            one.send("8000000")

        def gone() -> bool:
            waiting.append(connection.transport.get_write_buffer_size())
            return gate.connections == (0, 0)

        until(gone)
        assert 0 < max(waiting) < 9_000_000  # one message, not all of them


def test_it_stops_at_once_and_frees_the_port(gate):
    port = gate.access.port
    with (
        websocket(gate),
        socket.create_connection(("127.0.0.1", port), timeout=10) as one,
    ):
        one.sendall(b"GET / ")
        until(lambda: gate.connections == (1, 1))
        began = time.monotonic()
        gate.stop()
        assert time.monotonic() - began < 3.0
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1 port {port} .*--port"):
            Gate("127.0.0.1", port, {"/": Words()})


@pytest.mark.parametrize(
    "host, start",
    [("127.0.0.1", "localhost"), ("0.0.0.0", "localhost"), ("::1", "[::1]"), ("::", "[::1]"),
     ("yard.example", "yard.example"), ("fe80::1", "[fe80::1]")],
)  # fmt: skip
def test_addresses(host, start):
    class Fake:
        access = Access(host, 8080, TOKEN)

    assert address(Fake()) == f"http://{start}:8080/?token={TOKEN}"


# --- viser behind it


@pytest.fixture(scope="module")
def scene():
    server, url = start_server("127.0.0.1", 0, "a test", TOKEN)
    yield server, int(re.search(r":(\d+)/", url).group(1)), url
    server.stop()


def test_viser_listens_nowhere_and_is_seen_through_the_gate(scene):
    import psutil
    import viser
    from websockets.sync.client import connect

    server, port, url = scene
    assert url == f"http://localhost:{port}/?token={TOKEN}" and server.get_port() == port
    server.scene.add_frame("/something")
    protocol = [f"viser-v{viser.__version__}"]
    how = {"subprotocols": protocol, "max_size": None, "origin": f"http://localhost:{port}"}
    cookie = {"Cookie": f"marsyard-{port}={TOKEN}"}
    with connect(f"ws://localhost:{port}/", additional_headers=cookie, **how) as viewer:
        assert len(viewer.recv(timeout=10)) > 16
        inner = server._websock_server
        assert list(inner._live_connections) == [0]
    until(lambda: not inner._live_connections)
    listening = [
        c.laddr.port
        for c in psutil.Process().net_connections("tcp")
        if c.status == psutil.CONN_LISTEN
    ]
    assert port in listening
    assert not any(_is_open(other, cookie, how) for other in set(listening) - {port})


def _is_open(port: int, cookie: dict, how: dict) -> bool:
    from websockets.exceptions import InvalidHandshake
    from websockets.sync.client import connect

    try:
        with connect(f"ws://localhost:{port}/", additional_headers=cookie, **how):
            return True
    except (InvalidHandshake, OSError, EOFError):
        return False


def test_other_servers_of_viser_listen_as_always(scene):
    import viser

    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    other = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        other.stop()


def test_a_viser_that_would_listen_is_refused(monkeypatch):
    from marsyard.web.viser_site import ViserSite

    monkeypatch.setattr(ViserSite, "connect", lambda *given: None)
    with pytest.raises(InputError, match="is not supported by the access control"):
        start_server("127.0.0.1", 0, "a test")


@pytest.mark.parametrize("token", ["short", "with space in it", "a" * 200, 'quo"te-quote'])
def test_odd_tokens_are_refused(token):
    with pytest.raises(InputError, match="--token"):
        start_server("127.0.0.1", 0, "a test", token)
