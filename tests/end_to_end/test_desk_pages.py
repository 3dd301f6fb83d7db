"""The desk as programs see it: who gets in, what is refused, who drives, what stops the rover."""

from __future__ import annotations

import contextlib
import http.client
import logging
import re
import threading
import time

import pytest
from desk_page import own, page, port_of, until
from fake_session import FakeSession
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from marsyard.operations.desk import CommandJudged, Desk, Judged
from marsyard.operations.desk.messages import MAX_BYTES
from marsyard.operations.desk.pages import MOST_REFUSED, MOST_TEXTS

TOKEN = "a-token-for-the-desk"
TEXT = "sequence:\n  - {wait: 1 s}\n"


def judge(sequence, scenario, progress, stop) -> Judged:
    """A verdict by the number of commands."""
    progress(0.5)
    for command in sequence.sequence:
        if command.note == "wait for the end":
            while not stop():
                time.sleep(0.01)
            raise RuntimeError("ended")
    judge.scenario = scenario
    word = "no-go" if len(sequence.sequence) > 1 else "go"
    return Judged(word, "as the test says", tuple(CommandJudged(word) for _ in sequence.sequence))


@pytest.fixture(scope="module")
def shared():
    session = FakeSession(delay=0.2)
    desk = Desk(session, port=0, validate=judge)
    yield desk, session
    desk.stop()


# --- who gets in


def test_the_page_and_its_files(desk):
    def get(path: str, host: str = "localhost") -> tuple[int, bytes, str]:
        connection = http.client.HTTPConnection("localhost", port_of(desk), timeout=10)
        cookie = own(desk)["additional_headers"]
        connection.request("GET", path, headers={"Host": f"{host}:{port_of(desk)}", **cookie})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers.get("Content-Type", "")

    status, body, kind = get("/")
    assert status == 200 and b"main.js" in body and kind.startswith("text/html")
    # nothing from elsewhere: the desk works without a network
    assert not re.search(rb'(src|href)="(https?:)?//', body)
    for name in re.findall(rb'(?:src|href)="([\w.]+)"', body):
        assert get(f"/{name.decode()}")[0] == 200
    assert get("/main.js")[2].startswith("text/javascript")
    assert get("/scene/")[0] == 200
    for path in (
        "/../desk.py",
        "/%2e%2e/desk.py",
        "/..%2fdesk.py",
        "/files/x/y",
        "/nothing",
        "//",
        f"/{'x' * 5000}",
    ):
        assert get(path)[0] in ((404,) if path != "//" else (200, 404)), path
    for host in ("far.example", "localhost.far.example", "far.example@localhost"):
        assert get("/", host=host)[0] == 403, host


def test_other_pages_cannot_open_a_websocket(desk, session):
    for path in ("ws", "scene/abc"):
        with pytest.raises(InvalidStatus) as refused:
            fields = {**own(desk), "origin": "http://far.example"}
            connect(f"ws://localhost:{port_of(desk)}/{path}", **fields)
        assert refused.value.response.status_code == 403
    with page(desk) as one:
        one.wait("state")


def test_with_a_token_nobody_gets_in_without(session, caplog):
    desk = Desk(session, port=0, token=TOKEN)
    try:
        assert desk.url.endswith(f"/?token={TOKEN}")
        with caplog.at_level(logging.WARNING), pytest.raises(InvalidStatus) as refused:
            connect(f"ws://localhost:{port_of(desk)}/ws")
        assert refused.value.response.status_code == 403 and desk.gate.refused == 1
        assert "refused" in caplog.text and TOKEN not in caplog.text
        with page(desk) as one:
            one.wait("state", lambda s: s["control"] == one.name)
    finally:
        desk.stop()


def test_reports_are_offered_and_nothing_beside_them(desk, tmp_path):
    folder = tmp_path / "validation"
    folder.mkdir()
    (folder / "report.html").write_text("<html>a report</html>")
    (folder / "secret.key").write_text("x")
    (tmp_path / "other.html").write_text("x")
    (folder / "link.html").symlink_to(tmp_path / "other.html")
    path = desk.pages.offer(folder / "report.html")
    key = path.split("/")[1]

    def status(path: str) -> int:
        connection = http.client.HTTPConnection("localhost", port_of(desk), timeout=10)
        connection.request("GET", path, headers=own(desk)["additional_headers"])
        return connection.getresponse().status

    assert status(f"/{path}") == 200
    for other in ("../other.html", "%2e%2e/other.html", "link.html", "secret.key", ""):
        assert status(f"/files/{key}/{other}") == 404, other


# --- what is refused


def test_what_is_no_message_is_refused_counted_logged_and_answered(desk, session, caplog):
    before = desk.pages.refused["malformed"]
    with caplog.at_level(logging.WARNING), page(desk) as one:
        for text in ("nonsense", '{"is": "stick", "forward": 7, "left": 0}', b"\xff\x00", "{}"):
            one.socket.send(text)
            said = one.wait("refused")
            assert said["cause"] == "malformed" and said["text"].startswith("message: ")
        # it goes on
        one.say("stick", forward=0.5, left=0)
        until(lambda: ("steer", (0.5, 0.0)) in session.calls)
    assert desk.pages.refused["malformed"] == before + 4
    assert caplog.text.count("refused (malformed)") == 4
    assert ("steer", (7, 0)) not in session.calls


def test_a_message_that_is_too_long_ends_the_connection_and_nothing_else(desk, session, caplog):
    with page(desk) as other, page(desk) as one, caplog.at_level(logging.WARNING):
        with pytest.raises(ConnectionClosed) as closed:
            one.socket.send("x" * (MAX_BYTES + 1))
            while True:
                one.socket.recv(timeout=20)
        assert closed.value.rcvd.code == 1009
        until(lambda: "refused (oversized)" in caplog.text)
        assert other.wait("state", lambda s: s["pages"] == 1)


def test_a_page_with_nothing_but_nonsense_is_closed(desk):
    with page(desk) as one:
        with pytest.raises(ConnectionClosed) as closed:
            for _ in range(MOST_REFUSED + 5):
                one.socket.send("nonsense")
            while True:
                one.socket.recv(timeout=20)
        assert closed.value.rcvd.code == 1008


def test_a_flood_is_refused(desk, session):
    with page(desk) as one, contextlib.suppress(ConnectionClosed):
        for _ in range(400):
            one.say("camera", mode="free")
        one.wait("refused", lambda m: m["cause"] == "rate")
    assert desk.pages.refused["rate"] > 0


# --- who drives


def test_long_texts_of_a_page_hold_up_nobodys_stick(desk, session, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr(desk, "_do_check", lambda page, message: go_on.wait(20.0))
    with page(desk) as driver, page(desk) as watcher:
        driver.say("take")
        for _ in range(MOST_TEXTS + 1):
            watcher.say("check", text=TEXT)
        assert "messages are already waiting" in watcher.wait("refused")["text"]
        driver.say("stick", forward=0.5, left=0.0)
        until(lambda: ("steer", (0.5, 0.0)) in session.calls)
        go_on.set()
        until(lambda: not any(one.texts for one in desk.pages._pages.values()))


def test_one_page_drives_the_others_watch_and_may_stop(desk, session):
    with page(desk) as one, page(desk) as two:
        two.wait("state", lambda s: s["control"] == one.name)
        two.say("stick", forward=1, left=0)
        assert two.wait("refused")["cause"] == "control"
        two.say("goal", x=1, y=1)
        assert "take control first" in two.wait("refused")["text"]
        two.say("stop", reason="test")
        until(lambda: any(c[0] == "stop" for c in session.calls))
        assert "Emergency stop" in one.wait("answer")["text"]
        two.say("take")
        two.wait("state", lambda s: s["control"] == two.name)
        assert two.name in one.wait("answer", lambda m: "took" in m["text"])["text"]
        two.say("stick", forward=1, left=0)
        until(lambda: ("steer", (1.0, 0.0)) in session.calls)
        assert not any(c[0] == "goal" for c in session.calls)


@pytest.mark.parametrize("how", ["leaves", "is silent", "loses the control"])
def test_the_stick_is_released_when_its_page(desk, session, how):
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(page(desk))
        one.say("stick", forward=1, left=0.5)
        until(lambda: ("steer", (1.0, 0.5)) in session.calls)
        if how == "leaves":
            one.socket.close()
        elif how == "loses the control":
            stack.enter_context(page(desk)).say("take")
        until(lambda: session.calls[-1] == ("steer", (0.0, 0.0)))


def test_control_is_free_again_when_its_page_leaves(desk):
    with page(desk) as one:
        one.wait("state", lambda s: s["control"] == one.name)
    until(lambda: desk.pages.count == 0)
    with page(desk) as two:
        two.wait("state", lambda s: s["control"] == two.name)


def test_mistakes_of_orders_are_answered(desk, session):
    with page(desk) as one:
        one.say("goal", x=1000, y=0)
        assert "off the map" in one.wait("answer", lambda m: not m["good"])["text"]
        one.say("goal", x=2, y=1)
        assert "(2.00, 1.00) m" in one.wait("answer")["text"]
        one.say("flush", current=True)
        until(lambda: ("flush", {"current": True}) in session.calls)
        one.say("resume")
        until(lambda: any(c[0] == "resume" for c in session.calls))


def test_pause(desk, session):
    with page(desk) as one:
        one.say("pause", on=True)
        stands = one.wait("state", lambda s: s["paused"])["time"]
        assert one.wait("state")["time"] == pytest.approx(stands, abs=1e-6)
        one.say("pause", on=False)
        one.wait("state", lambda s: s["time"] > stands)


def test_a_session_that_fails_is_seen_and_the_stop_still_works(desk, session, caplog):
    with page(desk) as one:
        session.broken = "the far side burns"
        try:
            assert "the far side burns" in one.wait("trouble")["text"]
            one.say("stop")
            until(lambda: any(c[0] == "stop" for c in session.calls))
        finally:
            session.broken = ""
        one.wait("state")


# --- sequences


def test_sequences_are_checked_judged_asked_about_and_sent(desk, session):
    two = TEXT + "  - {turn: 10 deg}\n"
    with page(desk) as one:
        one.say("check", text="sequence: [{trun: 1}]")
        assert "trun" in one.wait("checked", lambda m: not m["good"])["words"]
        one.say("edit", text=TEXT, change="add", line="{turn: 10 deg}")
        checked = one.wait("checked")
        assert checked["text"] == two and [c["kind"] for c in checked["commands"]] == [
            "wait",
            "turn",
        ]
        one.say("send", text=two)
        assert "has not been validated" in one.wait("ask")["text"]
        one.say("validate", text=two)
        verdict = one.wait("validation", lambda m: not m["running"])
        assert verdict["verdict"] == "no-go" and len(verdict["commands"]) == 2
        one.say("send", text=two)
        assert "no-go" in one.wait("ask")["text"]
        assert not any(c[0] == "command" for c in session.calls)
        one.say("send", text=two, anyway=True)
        assert "2 commands sent" in one.wait("answer")["text"]
        assert sum(c[0] == "command" for c in session.calls) == 2
        # a good one is not asked about
        one.say("validate", text=TEXT)
        assert one.wait("validation", lambda m: not m["running"])["verdict"] == "go"
        one.say("send", text=TEXT)
        assert "1 commands sent" in one.wait("answer")["text"]


def test_a_validation_begins_where_the_rover_will_be(desk, session):
    with page(desk) as one:
        one.say("validate", text=TEXT)
        one.wait("validation", lambda m: not m["running"])
        shown = session.shown()
        place, attitude = desk.scene.base_of(shown.predicted)
        assert judge.scenario.robot.position == pytest.approx(place, abs=0.05)
        assert judge.scenario.robot.attitude[2] == pytest.approx(attitude[2], abs=0.05)
        assert judge.scenario.robot.settle


def test_a_validation_can_be_cancelled(desk):
    with page(desk) as one:
        one.say("validate", text="sequence:\n  - {wait: 1 s, note: wait for the end}\n")
        one.wait("validation", lambda m: m["running"])
        one.say("validate", text=TEXT)
        assert "already running" in one.wait("answer")["text"]
        one.say("cancel")
        ended = one.wait("validation", lambda m: not m["running"])
        assert "cancelled" in ended["words"] and "verdict" not in ended


def test_previews_and_records(desk, session):
    with page(desk) as one:
        one.say("preview", text=TEXT)
        told = one.wait("previewed")
        assert told["outcomes"] == ["done"] and "ends at" in told["words"]
        assert desk.scene._lines["preview"].visible
        one.say("forget")
        until(lambda: not desk.scene._lines["preview"].visible)
        one.say("record")
        assert one.wait("checked")["text"].startswith("sequence:")
