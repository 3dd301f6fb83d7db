"""What viewers may say to viser: its client's own messages pass, nonsense does not reach it."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from marsyard.web.viser_messages import LONGEST_TEXT, can_be_set, is_heeded

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0), "position": (-3.0, 1, 2.0), "fov": 1.0,
    "near": 0.01, "far": 100, "image_height": 300.5, "image_width": 400, "look_at": (0, 0, 0),
    "up_direction": (0, 0, 1),
}  # fmt: skip
CLICK = {
    "type": "ScenePointerMessage", "event_type": "click", "ray_origin": [0, 0, 9.0],
    "ray_direction": [0, 0, -1], "screen_pos": [[0.5, 0.5]], "modifier": None,
}  # fmt: skip


def control(value, **props):
    state = SimpleNamespace(value=value, props=SimpleNamespace(label="size", **props))
    return SimpleNamespace(_impl=state)


CONTROLS = {
    "slider": control(0.5, min=0.1, max=1.0),
    "count": control(3, min=0, max=None),
    "choice": control("rock", options=("rock", "crater")),
    "box": control(True),
    "text": control("mine.yaml"),
    "button": control(False),
    "colour": control((1, 2, 3)),
}


def nested(depth: int) -> list:
    return [nested(depth - 1)] if depth else []


def heeded(message) -> bool:
    return is_heeded(msgspec.msgpack.encode(message), CONTROLS.get)


def updated(uuid: str, value) -> dict:
    return {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}


@pytest.mark.parametrize(
    "message",
    [
        CAMERA,
        CLICK,
        {**CLICK, "ray_origin": None, "ray_direction": None},
        {"type": "GuiButtonHoldMessage", "uuid": "button", "frequency": 10},
        updated("slider", 1),
        updated("slider", 0.1),
        updated("slider", 1.0000000000000002),
        updated("count", 12),
        updated("count", 2.5),
        updated("choice", "crater"),
        updated("box", False),
        updated("text", "äöü" * 100),
        updated("button", True),
        updated("colour", [4, 5, 6]),
    ],
)
def test_what_the_client_says_is_passed_on(message):
    assert heeded(message)


@pytest.mark.parametrize(
    "message",
    [
        updated("gone", 1.0),
        # somebody types "1200"
        updated("slider", 12),
        updated("count", -1),
        {"type": "ShareUrlRequest"},
        {"type": "FileTransferStartUpload", "source_component_uuid": "text"},
        {"type": "GuiTextMessage"},
        {"type": "NoneOfThem"},
    ],
)
def test_what_is_not_used_is_dropped(message):
    assert not heeded(message)


@pytest.mark.parametrize(
    "message, said",
    [
        ([], "no type"),
        ({"type": 7}, "no type"),
        ({**CAMERA, "fov": float("nan")}, "not finite"),
        ({**CAMERA, "position": [0, 0]}, "ViewerCameraMessage: "),
        ({**CAMERA, "fov": "wide"}, "ViewerCameraMessage: "),
        ({**CLICK, "ray_origin": "here"}, "ScenePointerMessage: "),
        ({"type": "GuiUpdateMessage", "uuid": "slider"}, "missing required field `updates`"),
        ({**updated("slider", 1.0), "updates": {"update_cb": []}}, "not by .'update_cb'"),
        ({**updated("slider", 1.0), "updates": {}}, "alone, not by"),
        ({**updated("slider", 1.0), "updates": {"\n\x1b[2J": 1}}, r"not by .'\\n\\x1b"),
        (updated("slider", nested(800)), "nested too deeply|cannot be"),
        (updated("slider", "x"), "'size' cannot be 'x'"),
        (updated("slider", True), "cannot be"),
        (updated("slider", None), "cannot be"),
        (updated("slider", float("inf")), "not finite"),
        (updated("choice", "mountain"), "cannot be"),
        (updated("choice", ["rock"]), "cannot be"),
        (updated("box", 1), "cannot be"),
        (updated("text", "x" * (LONGEST_TEXT + 1)), "cannot be"),
        (updated("text", 7), "cannot be"),
        (updated("colour", [1, 2]), "cannot be"),
        (updated("colour", [1, 2, "x"]), "cannot be"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(message, said):
    with pytest.raises(ValueError, match=said):
        heeded(message)


def test_what_cannot_be_read_is_refused():
    for data in (b"", b"\xc1", b"\x91" * 20_000, "text"):
        with pytest.raises(ValueError, match="it "):
            is_heeded(data, CONTROLS.get)


def test_controls_of_viser_have_what_is_looked_at(tmp_path):
    """The attributes that are used are viser's own, of the version that is installed."""
    from marsyard.web.server import start_server

    server, _ = start_server("127.0.0.1", 0, "a test")
    try:
        gui = server.gui
        slider, choice = gui.add_slider("a", 0, 1, 0.1, 0.5), gui.add_dropdown("b", ("x", "y"))
        number, box = gui.add_number("c", 1.0, min=0), gui.add_checkbox("d", True)
        for handle, good, bad in (
            (slider, 0.7, "x"), (choice, "y", "z"), (number, 3, None), (box, False, "x"),
            (gui.add_text("e", ""), "x", 7), (gui.add_button("f"), True, "x"),
            (gui.add_vector3("g", (0.0, 0.0, 0.0)), [1, 2, 3], [1]),
        ):  # fmt: skip
            assert gui._gui_input_handle_from_uuid[handle._impl.uuid] is handle
            assert can_be_set(handle._impl, {"value": good})
            with pytest.raises(ValueError, match="cannot be"):
                can_be_set(handle._impl, {"value": bad})
        assert not can_be_set(slider._impl, {"value": 2.0})
        assert not can_be_set(number._impl, {"value": -1.0})
    finally:
        server.stop()
