"""Validation of messages from viewers to viser: known messages with valid values.

viser sets whatever a viewer says, as long as it can be converted: text for a number that is not
one, a choice that is not offered, or any other attribute of a control. It also takes files for any
control, and shares the page over a server on the internet when it is asked to. Here each message is
read before viser gets it:

    camera, pointer, clicks, drags     of the types that viser declares, with finite numbers
    values of controls                 within bounds, among the choices, of the control's type
    everything else                    is dropped; no page of marsyard's uses it
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

LONGEST_TEXT = 10_000  # characters
MOST_REFUSED = 20  # messages of a viewer, then it is closed
Place = tuple[float, float, float]


class _Camera(msgspec.Struct):
    """As viser's, except that the size of a picture need not be whole."""

    wxyz: tuple[float, float, float, float]
    position: Place
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: Place
    up_direction: Place


#: names of viser's messages that are passed on
_AS_DECLARED = (
    "GuiButtonHoldMessage", "ScenePointerMessage", "SceneNodeClickMessage", "SceneNodeDragMessage",
    "TransformControlsUpdateMessage", "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
)  # fmt: skip


def is_heeded(data: str | bytes, find_control: Callable[[str], Any]) -> bool:
    """Whether a message is passed on to viser; ValueError, with a sentence, if it cannot be used.

    find_control: the control of an id, or None.
    """
    from viser import _messages

    if isinstance(data, str):
        raise ValueError("it is text")
    try:
        said = msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ValueError("it cannot be decoded") from None
    name = said.get("type") if isinstance(said, dict) else None
    if not isinstance(name, str):
        raise ValueError("it has no type")
    kind: Any = None
    if name == "ViewerCameraMessage":
        kind = _Camera
    elif name == "GuiUpdateMessage" or name in _AS_DECLARED:
        kind = getattr(_messages, name)
    if kind is None:
        return False
    try:
        if not _is_finite(said):
            raise ValueError(f"{name} has numbers that are not finite")
        msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    if name != "GuiUpdateMessage":
        return True
    control = find_control(said["uuid"])
    if control is None:
        return False  # it has just been taken away
    return can_be_set(control._impl, said["updates"])


def can_be_set(state: Any, updates: dict[str, Any]) -> bool:
    """Whether a control, by its state in viser, can be set to that: a number that somebody types
    may be out of bounds for a while. ValueError if no client would say so."""
    if list(updates) != ["value"]:
        given = str(list(updates))[:60]
        raise ValueError(f"a control is set by its value alone, not by {given}")
    value, now, props = updates["value"], state.value, state.props
    label = getattr(props, "label", "")
    options = getattr(props, "options", None)
    if options is not None:
        good = isinstance(value, str) and value in options
    elif isinstance(now, bool):
        good = isinstance(value, bool)
    elif isinstance(now, int | float):
        good = _is_number(value)
    elif isinstance(now, str):
        good = isinstance(value, str) and len(value) <= LONGEST_TEXT
    elif isinstance(now, tuple):
        good = isinstance(value, list) and len(value) == len(now) and all(map(_is_number, value))
    else:
        good = False
    if not good:
        raise ValueError(f"'{label}' cannot be {str(value)[:40]!r}")
    return not _is_number(value) or _is_within(value, props)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within(value: float, props: Any) -> bool:
    low, high = getattr(props, "min", None), getattr(props, "max", None)
    slack = 1e-9 * max(abs(bound) for bound in (low or 0.0, high or 0.0, 1.0))
    return (low is None or value >= low - slack) and (high is None or value <= high + slack)


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True
