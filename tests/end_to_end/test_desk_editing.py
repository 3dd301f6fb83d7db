"""The editor on the desk: when it may begin, what is refused meanwhile, back, and a new session."""

from __future__ import annotations

import dataclasses
import logging

import pytest
from desk_page import page, until
from fake_session import FakeSession, FakeWorlds

from marsyard.errors import InputError
from marsyard.operations.desk import Desk
from marsyard.operations.desk.editing import Editing, about, obstacle
from marsyard.operations.teleop.session import OrderShown
from marsyard.scenario import load_scenario


@pytest.fixture(scope="module")
def shared():
    session, worlds = FakeSession(delay=0.0), FakeWorlds()
    desk = Desk(session, port=0, worlds=worlds)
    yield desk, session, worlds
    desk.stop()


def begin(one) -> None:
    one.say("environment", do="edit")
    assert one.wait("environment", lambda m: m["mode"] == "editing")["can_go_back"]


def test_why_it_cannot_begin():
    stands = FakeSession(delay=0.0).shown()

    def why(stick=(0.0, 0.0), **changed) -> str:
        return obstacle(dataclasses.replace(stands, **changed), stick)

    def order(state: str, words: str = "drive to (1.00, 0.00) m") -> tuple[OrderShown, ...]:
        return (OrderShown(7, words, state, 0.0), OrderShown(8, "turn", "done", 1.0))

    assert why() == ""
    assert "joystick is active" in why(stick=(0.0, 0.3))
    assert "drives at 2.0 cm/s" in why(numbers={"speed": -0.02})
    assert why(numbers={"speed": 0.001}) == ""
    for state in ("queued", "sent", "acknowledged", "executing"):
        assert f"order 7 (drive to (1.00, 0.00) m) is {state}" in why(orders=order(state))
    for state in ("done", "failed", "aborted", "cancelled", "expired", "refused"):
        assert why(orders=order(state)) == ""
    # nothing comes after the acknowledgement of a flush
    assert why(orders=order("acknowledged", "flush")) == ""
    assert "is sent" in why(orders=order("sent", "flush"))
    moved = stands.delayed.copy()
    moved[0] += 0.1
    assert "predicted to be moving" in why(predicted=moved)
    # a rover that is gone does not move
    assert why(remote="gone", orders=order("executing"), numbers={"speed": 1.0}) == ""


def test_the_world_in_words():
    said = about(load_scenario("control/goal"))
    assert "(exomars)" in said["rover"] and "crater" in said["ground"]
    assert "(mars_sand_zhou2023)" in said["soil"]
    assert "friction 0.7" in about(load_scenario("rt0448/test-3"))["soil"]


def test_orders_under_way_and_other_pages_keep_it_from_beginning(desk, session):
    with page(desk) as one, page(desk) as two:
        assert one.wait("environment")["mode"] == "driving"
        one.say("goal", x=40, y=0)
        one.wait("state", lambda s: s["orders"] and s["orders"][-1]["state"] == "executing")
        one.say("environment", do="edit")
        said = one.wait("answer", lambda m: not m["good"])["text"]
        assert said.startswith("edit: order ") and "is executing" in said
        two.say("environment", do="edit")
        assert two.wait("refused")["cause"] == "control"
        for text in ('{"is": "environment", "do": "eat"}', '{"is": "environment"}',
                     '{"is": "environment", "do": "edit", "file": "/etc/passwd"}'):  # fmt: skip
            one.socket.send(text)
            assert one.wait("refused")["cause"] == "malformed"
        one.say("environment", do="drive")
        assert "the desk is driving" in one.wait("answer", lambda m: not m["good"])["text"]
        assert desk.editing.mode == "driving" and desk.scene is not None
        one.say("stop")
        one.wait("state", lambda s: s["mode"] == "stopped")
        one.say("resume")
        one.wait("state", lambda s: s["mode"] == "nominal")


def test_while_it_edits_nothing_drives_and_back_leaves_all_as_it_was(desk, session, caplog):
    caplog.set_level(logging.CRITICAL)
    with page(desk) as one:
        begin(one)
        handles = desk.server.scene._handle_from_node_name
        assert "/editor" in handles and "/robot" not in handles
        session.calls.clear()
        one.say("goal", x=1, y=1)
        assert "the ground is being edited" in one.wait("answer")["text"]
        one.say("stick", forward=1, left=0)
        assert "stick: the ground is being edited" in one.wait("answer")["text"]
        one.say("stick", forward=0, left=0)
        one.say("camera", mode="above")
        assert one.wait("state")["rover"] is None
        assert session.calls == []
        # edits are asked about
        desk.editing.editor.environment.place_rock(2.0, 1.0, 0.4)
        one.say("environment", do="back")
        asked = one.wait("ask")
        assert asked["about"] == "back" and "not saved" in asked["text"]
        assert desk.editing.mode == "editing"
        one.say("environment", do="back", anyway=True)
        one.wait("environment", lambda m: m["mode"] == "driving")
        assert desk.session is session and ("close", ()) not in session.calls
        assert "/editor" not in handles and "/robot" in handles
        assert "rock" not in one.wait("state", lambda s: s["rover"])["words"]
        one.say("flush")
        until(lambda: ("flush", {"current": False}) in session.calls)


def test_drive_here_begins_a_new_session_and_the_old_one_stays_until_it_is_there(shared, tmp_path):
    desk, session, worlds = shared
    session.calls.clear()
    session.folder = tmp_path
    with page(desk) as one:
        begin(one)
        editor = desk.editing.editor
        editor.panel.tool.value = "rock"
        editor.use(2.0, 1.0)
        # one that cannot be built leaves editor and session as they are
        worlds.refuse = "robot: this rover has no wheels"
        one.say("environment", do="drive")
        said = one.wait("environment", lambda m: m["words"])
        assert said["words"] == worlds.refuse and said["mode"] == "editing"
        assert desk.session is session and desk.editing.editor is editor
        worlds.refuse = ""
        worlds.go.clear()
        one.say("environment", do="drive")
        one.wait("environment", lambda m: m["mode"] == "building")
        one.say("environment", do="back")
        assert "the desk is building" in one.wait("answer")["text"]
        assert desk.session is session and session.calls == []
        worlds.go.set()
        said = one.wait("environment", lambda m: m["mode"] == "driving")
        assert "rock" in said["world"]["ground"]
        until(lambda: desk.editing.kept == [tmp_path])
        assert desk.session is not session and ("close", ()) in session.calls
        assert [g.kind for g in desk.session.scenario.ground] == ["plane", "rocks"]
        # the page drives the new one
        one.say("stick", forward=1, left=0)
        until(lambda: ("steer", (1.0, 0.0)) in desk.session.calls)
        one.wait("state", lambda s: s["rover"] and s["rover"]["x"] > 0.001)


def test_without_a_session_it_begins_with_editing():
    worlds = FakeWorlds()
    desk = Desk(None, port=0, worlds=worlds)
    try:
        with page(desk) as one:
            said = one.wait("environment")
            assert said["mode"] == "editing" and not said["can_go_back"]
            assert one.wait("state")["remote"] == "none"
            one.say("environment", do="back")
            assert "no session is running yet" in one.wait("answer")["text"]
            one.say("stop")
            assert "no session is running yet" in one.wait("answer")["text"]
            assert desk.editing.editor.environment.name == worlds.name
    finally:
        desk.stop()


def test_a_desk_without_worlds_says_so():
    with pytest.raises(InputError, match="cannot start sessions"):
        Editing(desk=None, worlds=None).begin()
