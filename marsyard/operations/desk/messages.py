"""What pages say to the desk, and the refusal of what cannot be used.

A message is a JSON object with its name in "is" and bounded fields, at most `MAX_BYTES` long:

    {"is": "stick", "forward": 0.5, "left": 0}

Unknown names and fields, numbers that are not finite or out of bounds and texts that are too long
are refused by a `Refused` of one sentence. `WATCHING` are those that any page may send; all others
need the control, which one page at a time has. An emergency stop needs none.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from marsyard.errors import InputError

#: longest message [B]; a sequence is the longest thing that a page sends
MAX_BYTES = 65_536

Stroke = Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)]
#: a place on the ground [m]
Metres = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
Text = Annotated[str, msgspec.Meta(max_length=200)]
SequenceText = Annotated[str, msgspec.Meta(max_length=40_000)]
Line = Annotated[str, msgspec.Meta(max_length=10_000)]
Place = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="is", tag=str.lower):
    """Something a page said."""


class Stick(_Said, frozen=True):
    """The stick is held there, −1 … 1 each."""

    forward: Stroke
    left: Stroke


class Take(_Said, frozen=True):
    """Take the control; `free`: only if nobody has it."""

    free: bool = False


class Release(_Said, frozen=True):
    """Give the control back."""


class Goal(_Said, frozen=True):
    """Drive to a place [m]."""

    x: Metres
    y: Metres


class Aim(_Said, frozen=True):
    """What a click on the terrain means: nothing, a goal, or a point for the sequence."""

    at: Literal["", "goal", "point"]


class Stop(_Said, frozen=True):
    """Emergency stop."""

    reason: Text = ""


class Resume(_Said, frozen=True):
    """Accept commands again."""


class Flush(_Said, frozen=True):
    """Discard pending commands; `current`: also the active one."""

    current: bool = False


class Pause(_Said, frozen=True):
    """Let time stand still, or go on, where the session can."""

    on: bool


class Camera(_Said, frozen=True):
    """How to look at the scene."""

    mode: Literal["free", "rover", "prediction", "above"]


class Forget(_Said, frozen=True):
    """Take marks of clicks and of a preview away."""


class Check(_Said, frozen=True):
    """Is this text a sequence?"""

    text: SequenceText


class Edit(_Said, frozen=True):
    """Change a sequence: add the command of a line, or move or remove the one at a place."""

    text: SequenceText
    change: Literal["add", "up", "down", "remove"]
    at: Place = 0
    line: Line = ""


class Preview(_Said, frozen=True):
    """Have the predictor carry out a sequence."""

    text: SequenceText


class Validate(_Said, frozen=True):
    """Judge a sequence."""

    text: SequenceText


class Cancel(_Said, frozen=True):
    """End the running validation."""


class Send(_Said, frozen=True):
    """Send a sequence; `anyway`: also when it is judged no-go, or not judged."""

    text: SequenceText
    anyway: bool = False


class Record(_Said, frozen=True):
    """What was ordered so far, as a sequence."""


class Environment(_Said, frozen=True):
    """Edit the ground; go back to driving, `anyway`: also when edits are lost; or drive on it."""

    do: Literal["edit", "back", "drive"]
    anyway: bool = False


KINDS: tuple[type[_Said], ...] = (
    Stick, Take, Release, Goal, Aim, Stop, Resume, Flush, Pause, Camera, Forget, Check, Edit,
    Preview, Validate, Cancel, Send, Record, Environment,
)  # fmt: skip
#: what a page without the control may send
WATCHING: tuple[type[_Said], ...] = (Take, Stop, Camera, Check, Edit, Record)
#: what needs the rover and its scene: not while the ground is edited
DRIVING: tuple[type[_Said], ...] = (
    Stick, Goal, Aim, Resume, Flush, Pause, Forget, Preview, Validate, Send,
)  # fmt: skip
Said = (
    Stick | Take | Release | Goal | Aim | Stop | Resume | Flush | Pause | Camera | Forget | Check
    | Edit | Preview | Validate | Cancel | Send | Record | Environment
)  # fmt: skip

_DECODER = msgspec.json.Decoder(Said)


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


class Refused(InputError):
    """A message that cannot be used; `cause`: oversized, malformed, control or rate."""

    def __init__(self, cause: str, text: str):
        super().__init__(text)
        self.cause = cause


def read(data: str | bytes) -> Said:
    """The message of a text; Refused if it is none."""
    size = len(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    if size > MAX_BYTES:
        raise Refused("oversized", f"message: {size} bytes are more than {MAX_BYTES}")
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused("malformed", f"message: {error}") from None


def write(message: dict[str, Any]) -> str:
    """A message to pages; numbers that are not finite become null."""
    return _ENCODER.encode(message).decode()
