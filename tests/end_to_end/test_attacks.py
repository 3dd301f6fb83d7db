"""Attacks on the pages: live view, replay, editor and desk, on this machine and published.

Every attack sends orders that do harm (pause the run, move the replay, write a file, drive the
rover); the first test shows that the same orders are obeyed when the page itself sends them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from pathlib import Path

import mujoco
import pytest
from attacker import (
    HELLO,
    UPGRADE,
    Target,
    exchange,
    get,
    head,
    listening_ports,
    look_from,
    opened,
    order,
    press,
    strike,
    strike_as_owner,
    update,
    upgrade,
    upload,
    wait_until,
)
from fake_session import FakeSession
from websockets.exceptions import ConnectionClosed

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from synthetic import XML, dataset

import marsyard.web.gate
from marsyard.ground import Plane
from marsyard.operations.desk import Desk
from marsyard.operations.editor import Environment, serve_editor
from marsyard.operations.live import LiveRun
from marsyard.results.replay import build_scene, ground_meshes, serve
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation


def button(server, label: str):
    """The button of a label."""
    handles = server.gui._gui_input_handle_from_uuid.values()
    return next(h for h in handles if getattr(h, "label", "") == label)


@contextlib.contextmanager
def live_view(host: str):
    scenario = load_scenario("rt0448/test-3")
    run = scenario.run.model_copy(update={"duration": 600.0})
    simulation = Simulation(scenario.model_copy(update={"run": run}))
    live = LiveRun(host, 0, speed=1.0)
    thread = threading.Thread(target=live.run, args=(simulation,), daemon=True)
    thread.start()
    assert wait_until(lambda: live.view is not None)
    yield (
        live, "/", lambda: [press(live.view._pause)], lambda: live.mailbox.peek().paused,
        live.mailbox.go_on,
    )  # fmt: skip
    live.mailbox.stop()
    thread.join(timeout=10)
    live.stop()


@contextlib.contextmanager
def replay(host: str):
    data = dataset()
    scene = build_scene(
        mujoco.MjModel.from_xml_string(XML), data, ground_meshes([Plane()], data), "A drop"
    )
    page = serve(scene, host, 0, block=False)

    def restore() -> None:
        page._time.value = 0.0

    yield page, "/", lambda: [update(page._time, 5.0)], lambda: page._time.value == 5.0, restore
    page.stop()


@contextlib.contextmanager
def editor(host: str):
    page = serve_editor(Environment.new(), host, 0, file="mine.yaml", block=False)
    planted = Path("planted.yaml").absolute()
    panel = page.editor.panel
    yield (
        page, "/", lambda: [update(panel.file, planted.name), press(button(page.server, "Save"))],
        planted.exists, lambda: planted.unlink(missing_ok=True),
    )  # fmt: skip
    page.stop()


@contextlib.contextmanager
def desk(host: str):
    session = FakeSession(delay=0.0)
    page = Desk(session, host, 0)
    yield (
        page, "/ws", lambda: [order("take"), order("stick", forward=1, left=0)],
        lambda: ("steer", (1.0, 0.0)) in session.calls, session.calls.clear,
    )  # fmt: skip
    page.stop()


PAGES = {"editor": editor, "live view": live_view, "replay": replay, "desk": desk}
#: pytest orders tests by the place of a page in these lists, so that each is started once
HERE = [(name, "127.0.0.1") for name in PAGES]
PUBLISHED = [(name, "0.0.0.0") for name in PAGES]


def name_of(given: tuple[str, str]) -> str:
    return f"{given[0].replace(' ', '-')}-{given[1]}"


#: for what does not depend on the address
on_this_machine = pytest.mark.parametrize("target", HERE, indirect=True, ids=name_of)


@pytest.fixture(scope="module", params=HERE + PUBLISHED, ids=name_of)
def target(request, tmp_path_factory):
    """A page, started once, in a folder of its own."""
    name, host = request.param
    before, here = listening_ports(), Path.cwd()
    os.chdir(tmp_path_factory.mktemp("session"))
    try:
        with PAGES[name](host) as (page, path, orders, harmed, restore):
            yield Target(
                name, page, path, orders, harmed, restore, listening_ports() - before
            )  # fmt: skip
    finally:
        os.chdir(here)


@pytest.fixture(autouse=True)
def unharmed(target):
    """After every attack the page works and nothing has happened."""
    assert not target.harmed()
    yield
    harmed = target.harmed()
    target.restore()
    assert not harmed


def owner(target: Target) -> dict:
    """What the page's own websocket carries."""
    return {"origin": target.origin, "additional_headers": {"Cookie": target.cookie}}


# --- the owner


def test_the_page_itself_is_obeyed(target):
    assert strike_as_owner(target)


def test_the_address_leads_to_the_page(target):
    status, answer = get(target.port, f"/?token={target.token}")
    assert status == 303 and b"\r\nLocation: /\r\n" in answer
    assert f"Set-Cookie: {target.cookie}; Path=/; HttpOnly; SameSite=Strict".encode() in answer
    status, answer = get(target.port, "/", f"Cookie: {target.cookie}")
    assert status == 200 and b"<html" in answer.lower()
    for field in (
        b"X-Content-Type-Options: nosniff",
        b"X-Frame-Options: SAMEORIGIN",
        b"Referrer-Policy: no-referrer",
        b"Cross-Origin-Resource-Policy: same-origin",
        b"Cache-Control: no-store",
        b"Content-Security-Policy: default-src 'self'",
    ):
        assert field in answer.partition(b"\r\n\r\n")[0], field


def test_a_program_that_shows_the_token_needs_no_origin(target):
    assert strike(target, target.port, f"{target.path}?token={target.token}") == "open"
    assert target.harmed()
    target.restore()


# --- other sites


ORIGINS = [
    "http://far.example",
    "http://far.example:PORT",
    "null",
    "http://localhost:OTHER",
    "http://127.0.0.1:OTHER",
    "http://127.0.0.1:PORT",  # the page itself is localhost here
    "https://localhost:PORT",
    "http://localhost",
    "http://localhost:PORT.far.example",
    "http://localhost:PORT@far.example",
    "http://localhost:PORT/",
    "file://",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_other_origins_open_no_websocket(target, origin):
    origin = origin.replace("PORT", str(target.port)).replace("OTHER", str(target.port + 1))
    # of another port of this machine the browser sends the cookie, too
    for fields in ({}, {"Cookie": target.cookie}):
        said = strike(target, target.port, origin=origin, additional_headers=fields)
        assert said == "refused" and not target.harmed()
    # not even with the token
    path = f"{target.path}?token={target.token}"
    assert strike(target, target.port, path, origin=origin) == "refused"
    assert get(target.port, "/", f"Cookie: {target.cookie}", f"Origin: {origin}")[0] == 403


def test_a_cookie_without_an_origin_opens_no_websocket(target):
    fields = {"Cookie": target.cookie}
    assert strike(target, target.port, additional_headers=fields) == "refused"


def test_two_origins_open_no_websocket(target):
    fields = [("Cookie", target.cookie), ("Origin", "http://far.example")]
    said = strike(target, target.port, origin=target.origin, additional_headers=fields)
    assert said == "refused"


# --- other names for this machine


HOST_NAMES = [
    "far.example:PORT",
    "far.example",
    "localhost.far.example:PORT",
    "localhost:OTHER",
    "localhost",
    "localhost.:PORT",
    "127.0.0.1.far.example:PORT",
    "10.1.2.3:PORT",
    "far.example@localhost:PORT",
    "localhost:PORT:PORT",
    "[::1",
    "",
]


@pytest.mark.parametrize("host", HOST_NAMES)
def test_other_hosts_get_nothing(target, host):
    host = host.replace("PORT", str(target.port)).replace("OTHER", str(target.port + 1))
    cookie = f"Cookie: {target.cookie}"
    for fields in ((), (cookie,), (cookie, f"Origin: http://{host}")):
        status, answer = get(target.port, "/", *fields, host=host)
        assert status == 403 and b"<html" not in answer.lower()
    assert get(target.port, f"/?token={target.token}", host=host)[0] == 403
    asked = head(target.path, f"Host: {host}", cookie, f"Origin: http://{host}", *UPGRADE)
    assert exchange(target.port, asked).startswith(b"HTTP/1.1 403 ")


def test_two_hosts_or_none_get_nothing(target):
    cookie, own = f"Cookie: {target.cookie}", f"Host: localhost:{target.port}"
    for fields in ((cookie,), (own, "Host: far.example", cookie), (own, own, cookie)):
        assert exchange(target.port, head("/", *fields)).startswith(b"HTTP/1.1 403 ")


# --- the token


def places(target: Target) -> dict[str, tuple[str, dict[str, str]]]:
    """Path and fields of requests whose token is missing, wrong, or where it does not belong."""
    token, port = target.token, target.port
    half = token[: len(token) // 2]
    return {
        "missing": ("", {}),
        "empty": ("?token=", {}),
        "wrong": (f"?token={token[::-1]}x", {}),
        "short": (f"?token={half}", {}),
        "long": (f"?token={token}x", {}),
        "in capitals": (f"?token={token.upper()}{token.lower()}", {}),
        "twice": (f"?token={token}&token={token}", {}),
        "right and wrong": (f"?token=wrong&token={token}", {}),
        "under another name": (f"?tokens={token}", {}),
        "in the path": (f"{token}", {}),
        "behind a semicolon": (f"?a=b;token={token}", {}),
        "as authorization": ("", {"Authorization": f"Bearer {token}"}),
        "in a field of its own": ("", {"X-Token": token, "Token": token}),
        "as referrer": ("", {"Referer": f"http://localhost:{port}/?token={token}"}),
        "in a cookie of another port": ("", {"Cookie": f"marsyard-{port + 1}={token}"}),
        "in a cookie of another name": ("", {"Cookie": f"token={token}; marsyard={token}"}),
        "wrong in the cookie": ("", {"Cookie": f"marsyard-{port}={token[::-1]}x"}),
        "empty in the cookie": ("", {"Cookie": f"marsyard-{port}="}),
        "wrong beside a good cookie": ("?token=wrong", {"Cookie": f"marsyard-{port}={token}"}),
    }


def test_tokens_missing_wrong_and_in_the_wrong_place(target):
    for where, (path, fields) in places(target).items():
        lines = [f"{name}: {value}" for name, value in fields.items()]
        status, answer = get(target.port, f"/{path}", *lines)
        assert status == 403 and b"<html" not in answer.lower(), where
        assert target.token.encode() not in answer, where
        for origin in (None, target.origin):
            said = strike(
                target, target.port, f"{target.path}{path}", origin=origin,
                additional_headers=fields,
            )  # fmt: skip
            assert said == "refused", where


def test_no_file_of_the_page_without_a_token(target):
    for path in ("/index.html", "/main.js", "/scene/", "/scene/index.html", "/files/x/y.html"):
        status, answer = get(target.port, path)
        assert status == 403 and b"<html" not in answer.lower()


def test_the_token_is_random_and_long(target):
    assert len(target.token) >= 22


# --- what lies behind the gate


def test_nothing_else_listens(target):
    for port in target.listening - {target.port}:
        # attack it first, to see what it would mean
        for path in ("/", "/ws", target.path):
            strike(target, port, path, origin="http://far.example")
        assert not target.harmed(), f"port {port} takes orders from anybody"
        assert get(port, "/")[0] != 200, f"port {port} shows the page to anybody"
    assert target.listening == {target.port}


# --- paths and files


TRAVERSALS = [
    "/../../../../../../etc/passwd",
    "/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/..\\..\\..\\..\\etc\\passwd",
    "/%5c..%5c..%5c..%5cetc%5cpasswd",
    "//etc/passwd",
    "/%00",
    "/index.html%00.png",
    "/./../__init__.py",
    "/scene/../../../../../../../etc/passwd",
    "/scene/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/files/../../../../../../etc/passwd",
    "/files/x/%2e%2e/%2e%2e/etc/passwd",
    "file:///etc/passwd",
    "http://far.example/",
    f"/{'x' * 5000}",
]


@on_this_machine
def test_paths_lead_to_no_other_files(target):
    for path in TRAVERSALS:
        status, answer = get(target.port, path, f"Cookie: {target.cookie}")
        assert status == 404 or (status == 200 and b"<html" in answer.lower()), path
        assert status == 200 or answer.endswith(b"Page not found.\n"), path
        assert b"root:" not in answer and b"import " not in answer.partition(b"<")[0], path


@pytest.mark.parametrize("target", HERE[:1], indirect=True, ids=name_of)
def test_the_editor_writes_nowhere_else(target, tmp_path):
    """Not even for who has the token."""
    (tmp_path / "foreign.yaml").write_text("mine: 1\n", encoding="utf-8")
    Path("out").symlink_to(tmp_path, target_is_directory=True)
    Path("there.yaml").write_text("mine: 2\n", encoding="utf-8")
    before = sorted(p.name for p in Path().iterdir())
    panel, up = target.page.editor.panel, os.path.relpath(tmp_path)
    names = (
        f"{tmp_path}/new.yaml", f"{tmp_path}/foreign.yaml", f"{up}/new.yaml", f"{up}/foreign.yaml",
        "out/new.yaml", "out/foreign.yaml", "there.yaml",
    )  # fmt: skip
    with opened(target.port, "/", **owner(target)) as one:
        one.send(HELLO)
        for name in names:
            panel.say("")
            one.send(update(panel.file, name))
            one.send(press(button(target.page.server, "Save")))
            assert wait_until(lambda: "save:" in panel._message.content), name
    assert [p.name for p in tmp_path.iterdir()] == ["foreign.yaml"]
    assert (tmp_path / "foreign.yaml").read_text(encoding="utf-8") == "mine: 1\n"
    assert Path("there.yaml").read_text(encoding="utf-8") == "mine: 2\n"
    assert sorted(p.name for p in Path().iterdir()) == before
    Path("out").unlink()


# --- messages and requests that make no sense


@on_this_machine
def test_oversized_messages_end_their_connection_only(target):
    for path in {target.path, "/scene/x" if target.path == "/ws" else "/"}:
        with opened(target.port, path, **owner(target)) as one:
            with pytest.raises(ConnectionClosed) as closed:
                one.send(b"x" * (4 * 2**20))
                while True:
                    one.recv(timeout=10)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert strike_as_owner(target)


NONSENSE = [
    b"", b"\xc1", b"\x81\xa4type", b"\x00" * 1000, b"\x91" * 20_000, "text", "{" * 20_000,
    b"\x81\xa4type\xa4None", b"\x81\xa4type\xb0GuiUpdateMessage",
]  # fmt: skip


@on_this_machine
def test_malformed_messages_change_nothing(target, capfd):
    server = target.page.server
    assert wait_until(lambda: not server.get_clients())
    for path in {target.path, "/scene/x" if target.path == "/ws" else "/"}:
        with opened(target.port, path, **owner(target)) as one:
            for message in NONSENSE:
                one.send(message)
            if path == "/ws":
                refusals = 0
                while refusals < len(NONSENSE):
                    refusals += '"is":"refused"' in one.recv(timeout=10)
            else:
                one.send(HELLO)  # it is still listened to
                assert wait_until(lambda: bool(server.get_clients()))
    assert strike_as_owner(target)
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err


@pytest.mark.parametrize("target", HERE[:3], indirect=True, ids=name_of)
def test_values_that_controls_cannot_take_change_nothing(target, capfd):
    """All controls of the pages that have some."""
    server = target.page.server
    controls = list(server.gui._gui_input_handle_from_uuid.values())
    before = [control.value for control in controls]
    assert len(controls) > 5
    for number, control in enumerate(controls):
        with opened(target.port, "/", **owner(target)) as one:
            one.send(HELLO)
            is_text = isinstance(control.value, str) and not hasattr(control, "options")
            for value in (None, [], {}, [1e308] * 3, float("nan"), -1e9, b"x", "x" * 20_000):
                one.send(update(control, value))
            one.send(update(control, 7 if is_text else "x"))
            for name in ("update_cb", "removed", "sync_cb"):
                one.send(update(control, True, name))
            one.send(upload(control))
            # messages are acted upon in the order in which they come
            one.send(look_from(100.0 + number))
            assert wait_until(lambda x=100.0 + number: is_looked_at_from(server, x))
    assert [control.value for control in controls] == before
    assert not any(control._impl.removed for control in controls)
    assert all(callable(f) for control in controls for f in control._impl.update_cb)
    assert not server.gui._current_file_upload_states
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err


def is_looked_at_from(server, x: float) -> bool:
    return any(client.camera.position[0] == x for client in server.get_clients().values())


MALFORMED = [
    b"\x00" * 64,
    b"\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : localhost:PORT\r\nCookie: COOKIE\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\n Cookie: COOKIE\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost:PORT\r\nCookie: COOKIE\r\nContent-Length: 0\r\n\r\n",
    b"CONNECT far.example:80 HTTP/1.1\r\nHost: localhost:PORT\r\nCookie: COOKIE\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nCookie: COOKIE\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nCookie: COOKIE\r\nContent-Length: 5\r\n\r\nhello",
    b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
]


@on_this_machine
def test_malformed_requests_get_no_page(target, monkeypatch):
    monkeypatch.setattr(marsyard.web.gate, "HEAD_TIME", 0.5)
    for request in MALFORMED:
        request = request.replace(b"PORT", str(target.port).encode())
        request = request.replace(b"COOKIE", target.cookie.encode())
        answer = exchange(target.port, request)
        assert b" 200 " not in answer[:20] and b"<html" not in answer.lower(), request[:60]
    assert get(target.port, "/", f"Cookie: {target.cookie}")[0] == 200


@on_this_machine
def test_a_second_request_behind_a_good_one_is_not_answered(target):
    good = head("/", f"Host: localhost:{target.port}", f"Cookie: {target.cookie}")
    assert exchange(target.port, good).count(b"HTTP/1.1 200 ") == 1
    assert exchange(target.port, good + good).count(b"HTTP/1.1 ") <= 1


@on_this_machine
def test_frames_that_break_the_protocol_end_their_connection_only(target):
    for frame in (b"\xff" * 16, b"\x81\x05hello", b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"):
        with socket.create_connection(("127.0.0.1", target.port), timeout=10) as one:
            one.sendall(upgrade(target))
            assert one.recv(13) == b"HTTP/1.1 101 "
            one.sendall(frame + b"\x00" * 4)
            with contextlib.suppress(ConnectionError):
                while one.recv(65536):
                    pass
    assert strike_as_owner(target)


# --- many and slow clients


@on_this_machine
def test_two_hundred_connections_keep_nobody_out(target):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            one = socket.create_connection(("127.0.0.1", target.port), timeout=10)
            stack.enter_context(one)
            one.sendall(b"GET / HTTP/1.1\r\nHost: ")
        began = time.monotonic()
        assert get(target.port, "/", f"Cookie: {target.cookie}")[0] == 200
        assert strike_as_owner(target)
        assert time.monotonic() - began < 5.0


@on_this_machine
def test_two_hundred_websockets_get_a_clear_answer(target):
    with contextlib.ExitStack() as stack:
        said = []
        for _ in range(200):
            one = socket.create_connection(("127.0.0.1", target.port), timeout=10)
            stack.enter_context(one)
            one.sendall(upgrade(target))
            said.append(one.recv(4096).replace(b"\r\n\r\n", b""))
            if target.path == "/ws":
                said[-1] += one.recv(4096)
    refused = [answer for answer in said if b"too many" in answer.lower()]
    # the desk itself takes fewer pages than the gate takes connections, and says so when it closes
    assert 50 <= len(refused) <= 150
    if target.path != "/ws":
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in refused)
    assert all(answer.startswith(b"HTTP/1.1 101 ") for answer in said if answer not in refused)
    assert wait_until(lambda: get(target.port, "/", f"Cookie: {target.cookie}")[0] == 200)
    assert strike_as_owner(target)


@on_this_machine
def test_slow_heads_are_cut_off(target, monkeypatch):
    monkeypatch.setattr(marsyard.web.gate, "HEAD_TIME", 0.5)
    with socket.create_connection(("127.0.0.1", target.port), timeout=0.1) as slow:
        began, said = time.monotonic(), None
        while said is None and time.monotonic() - began < 5.0:
            with contextlib.suppress(ConnectionError):
                slow.send(b"G")
            try:
                said = slow.recv(1000)
            except TimeoutError:
                continue
            except ConnectionError:
                said = b""
        assert said == b"" and time.monotonic() - began < 3.0
