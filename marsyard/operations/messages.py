"""What travels over the link: formats, sizes, and the refusal of what cannot be used.

A message is a frame

    version (1 byte) | MessagePack array: kind, fields in order | CRC-32 of all before (4 bytes)

at most `MAX_BYTES` long. Fields have no names on the way; numbers are as short as their value
allows, times are float64 [s] of the mission clock, lists of measured values float32, little endian
(`Floats`; NaN where nothing was measured). The checksum is that of IEEE 802.3 (zlib), so that a
damaged command is not taken for another one: what a link damages it should lose, but a message may
come from anywhere.

Up, from the operator: `Order` (a command), `Stop` (emergency stop), `Resume`, `Flush`, `Ping`.
Down, from the rover: `Report` (what became of commands: acknowledgements), `Telemetry`, `Event`.

`encode` refuses what is too long or not valid, `decode` what is not a message of this version; both
by an InputError of one sentence. `Inbox` decodes without raising and counts. Message formats are
compared by `VERSION` alone: any change of a field makes a new one.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import msgspec

from marsyard.errors import InputError

#: of all formats of this module
VERSION = 2
#: longest frame [B]
MAX_BYTES = 4096

#: priorities on a link: what is urgent jumps the queue
URGENT, SOON, USUAL, LATER = 3, 2, 1, 0

Id = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
#: finite numbers; bounds also keep out NaN
Real = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
Positive = Annotated[float, msgspec.Meta(gt=0.0, le=1e15)]
Text = Annotated[str, msgspec.Meta(max_length=200)]
Name = Annotated[str, msgspec.Meta(max_length=40, min_length=1)]


class Floats:
    """Measured values, rounded to float32 as they go over the link; NaN where there is none."""

    __slots__ = ("data",)

    def __init__(self, values: Iterable[float] = ()):
        values = tuple(values)
        if any(math.isinf(v) or abs(v) > 3.4e38 for v in values):
            raise InputError("message: measured values must be finite, or NaN where there is none")
        self.data = struct.pack(f"<{len(values)}f", *values)

    @classmethod
    def unpack(cls, data: bytes) -> Floats:
        """The values of a packed list; ValueError if it is none."""
        if len(data) % 4:
            raise ValueError(f"{len(data)} bytes are no list of float32")
        return cls(struct.unpack(f"<{len(data) // 4}f", data))

    def __iter__(self) -> Iterator[float]:
        return iter(struct.unpack(f"<{len(self)}f", self.data))

    def __len__(self) -> int:
        return len(self.data) // 4

    def __getitem__(self, k: int) -> float:
        return tuple(self)[k]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Floats) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"Floats({list(self)})"


class _Action(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """What a command asks for."""


class Goal(_Action, frozen=True, tag="g"):
    """Reach x, y [m] at a speed [m/s] within a tolerance [m]."""

    x: Real
    y: Real
    speed: Positive = 0.04
    tolerance: Positive = 0.05


class Route(_Action, frozen=True, tag="r"):
    """Follow a path through points x, y [m] at a speed [m/s] within a tolerance [m]."""

    points: Annotated[list[tuple[Real, Real]], msgspec.Meta(min_length=1, max_length=200)]
    speed: Positive = 0.04
    tolerance: Positive = 0.05


class Motors(_Action, frozen=True, tag="m"):
    """Wheel rates [rad/s] and steering angles [rad] by name order of the rover, for a time [s]."""

    rates: Annotated[list[Real], msgspec.Meta(max_length=64)]
    angles: Annotated[list[Real], msgspec.Meta(max_length=64)]
    duration: Positive


class Drive(_Action, frozen=True, tag="d"):
    """Drive at a speed [m/s] while turning at a rate [rad/s], for a time [s]."""

    speed: Real
    turn: Real
    duration: Positive


class Wait(_Action, frozen=True, tag="w"):
    """Stand for a time [s]."""

    duration: Positive


class Other(_Action, frozen=True, tag="o"):
    """Anything else the rover knows by name, with numbers by name."""

    name: Name
    values: Annotated[dict[Name, Real], msgspec.Meta(max_length=32)] = {}


class Command(_Action, frozen=True, tag="c"):
    """A command as a line of a sequence file: its keys and values in SI as JSON. `time` [s] and
    `distance` [m]: of the whole sequence it belongs to, counted from the begin of the first
    order of its chain; beyond them the command is aborted."""

    text: Annotated[str, msgspec.Meta(min_length=2, max_length=3800)]
    time: Positive | None = None
    distance: Positive | None = None


Action = Goal | Route | Motors | Drive | Wait | Other | Command


class _Up(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all messages of the operator carry.

    Attributes:
        sent: when this copy was sent [s].
        confirmed: all changes of reports up to this number have arrived.
    """

    sent: Real
    confirmed: Count = 0


class Order(_Up, tag=1, frozen=True, kw_only=True):
    """A command.

    Attributes:
        id: increases with every order, stop, resume and flush; a repeated one is the same.
        expires: latest time to begin it [s]; later it is not executed but reported.
        after: the order that must be done before this one begins; 0 for none.
        replace: whether it takes the place of all orders before it, also of the active one.
        action: what to do.
    """

    id: Id
    expires: Real
    after: Id = 0
    replace: bool = False
    action: Action


class Stop(_Up, tag=2, frozen=True, kw_only=True):
    """Emergency stop: stand at once, forget orders with a lower id, also those still to come."""

    id: Id
    reason: Text = ""


class Resume(_Up, tag=3, frozen=True, kw_only=True):
    """Accept commands again: ends emergency stops with a lower id, and the hold with this
    number.
    """

    id: Id
    hold: Count = 0


class Flush(_Up, tag=4, frozen=True, kw_only=True):
    """Forget all orders with a lower id, also those still to come; `current`: the active one
    as well."""

    id: Id
    current: bool = False


class Ping(_Up, tag=5, frozen=True, kw_only=True):
    """A sign of life."""


#: what became of an order (or stop, resume, flush), as the rover reports it
Outcome = Literal[
    "acknowledged", "executing", "done", "failed", "aborted", "cancelled", "expired", "refused"
]


class Change(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """One change of state of one order: number in the rover's log, when [s], and why."""

    number: Count
    id: Id
    outcome: Outcome
    time: Real
    reason: Text = ""


#: of the rover: taking orders, stopped by the operator, or by itself since the link is silent
Mode = Literal["nominal", "stopped", "safe"]


class _Down(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all messages of the rover carry.

    Attributes:
        sent: when [s], by the rover's clock.
        echo, heard: of the newest message of the operator that arrived: its `sent`, and when it was
            heard by the rover's clock [s]; none as long as there was none.
        mode: of the rover. hold: number of the present or last hold.
    """

    sent: Real
    echo: Real | None = None
    heard: Real | None = None
    mode: Mode = "nominal"
    hold: Count = 0


class Report(_Down, tag=17, frozen=True, kw_only=True):
    """Changes of orders that the operator has not confirmed; `oldest`: the first number that the
    rover still keeps."""

    oldest: Count = 0
    changes: Annotated[list[Change], msgspec.Meta(max_length=12)] = []


class Telemetry(_Down, tag=18, frozen=True, kw_only=True):
    """State of the rover.

    Attributes:
        number: of telemetry messages, from 1, without gaps: a gap tells of a loss.
        time: of the state, by the simulation or the rover [s].
        order: under way; 0 for none. waiting: number of orders that wait.
        position: of the base x, y, z [m]. attitude: quaternion w, x, y, z.
        joints: angles [rad]. wheels: rates [rad/s]. slips, currents [A], loads [N]: per wheel.
        values: anything else, by name. state: hash of the simulation's state.
    """

    number: Count
    time: Real
    order: Id = 0
    waiting: Count = 0
    position: Floats = Floats()
    attitude: Floats = Floats()
    joints: Floats = Floats()
    wheels: Floats = Floats()
    slips: Floats = Floats()
    currents: Floats = Floats()
    loads: Floats = Floats()
    values: Annotated[dict[Name, Real], msgspec.Meta(max_length=64)] = {}
    state: Annotated[bytes, msgspec.Meta(max_length=32)] = b""


class Event(_Down, tag=19, frozen=True, kw_only=True):
    """Something happened: what kind, how grave (0 to know, 1 to look at, 2 to act on)."""

    number: Count
    kind: Name
    text: Text = ""
    grave: Annotated[int, msgspec.Meta(ge=0, le=2)] = 0


Upward = Order | Stop | Resume | Flush | Ping
Downward = Report | Telemetry | Event
Message = Upward | Downward

UPWARD: tuple[type[msgspec.Struct], ...] = (Order, Stop, Resume, Flush, Ping)
DOWNWARD: tuple[type[msgspec.Struct], ...] = (Report, Telemetry, Event)
_KINDS = {kind.__struct_config__.tag: kind for kind in (*UPWARD, *DOWNWARD)}

#: priority of each kind on the link
PRIORITY: dict[type, int] = {
    Stop: URGENT, Flush: SOON, Resume: USUAL, Order: USUAL, Ping: LATER,
    Report: SOON, Event: USUAL, Telemetry: LATER,
}  # fmt: skip


def _to_wire(value: Any) -> Any:
    if isinstance(value, Floats):
        return value.data
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _from_wire(kind: type, value: Any) -> Any:
    if kind is Floats and isinstance(value, bytes):
        return Floats.unpack(value)
    raise ValueError(f"expected measured values, got {type(value).__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_to_wire)
_DECODER = msgspec.msgpack.Decoder(Message, dec_hook=_from_wire)


class Refused(InputError):
    """A message that cannot be used; `cause` is one of `CAUSES`."""

    def __init__(self, cause: str, text: str):
        super().__init__(text)
        self.cause = cause


#: why a message is refused
CAUSES = ("oversized", "short", "version", "checksum", "malformed")


def encode(message: Message) -> bytes:
    """The frame of a message; InputError if it is not valid or too long."""
    try:
        body = bytes([VERSION]) + _ENCODER.encode(message)
    except (TypeError, OverflowError, msgspec.MsgspecError) as error:
        raise InputError(f"message: {error}") from None
    frame = body + zlib.crc32(body).to_bytes(4, "big")
    # what would be refused at the other end is not sent
    decode(frame)
    return frame


def decode(data: bytes) -> Message:
    """The message of a frame; Refused if it is none."""
    if len(data) > MAX_BYTES:
        raise Refused("oversized", f"message: {len(data)} bytes are more than {MAX_BYTES}")
    if len(data) < 6:
        raise Refused("short", f"message: {len(data)} bytes are too few for a message")
    body, check = data[:-4], data[-4:]
    if zlib.crc32(body).to_bytes(4, "big") != check:
        raise Refused("checksum", "message: the checksum does not fit, it is damaged")
    if data[0] != VERSION:
        raise Refused("version", f"message: version {data[0]} is not known, only {VERSION} is")
    try:
        return _DECODER.decode(body[1:])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused("malformed", f"message: {_with_field(str(error), body[1:])}") from None


def _with_field(text: str, body: bytes) -> str:
    """The text of an error with the name of the field it is about instead of its place."""
    place = re.search(r" - at `\$\[(\d+)\](.*)`$", text)
    try:
        kind = _KINDS[msgspec.msgpack.decode(body)[0]]
        assert place is not None
        field = kind.__struct_fields__[int(place[1]) - 1]
    except (msgspec.MsgspecError, LookupError, TypeError, AssertionError, RecursionError):
        return text
    return f"{kind.__name__}.{field}{place[2]}: {text[: place.start()]}"


class Inbox:
    """Decodes messages of some kinds and counts what it refuses; never raises.

    Attributes:
        accepted: how many. refused: how many by cause, "direction" for kinds that do not belong.
        last_refusal: the sentence about the latest one.
    """

    def __init__(self, kinds: tuple[type, ...]):
        self.kinds = kinds
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""

    def open(self, data: bytes) -> Message | None:
        """The message, or none if it is refused."""
        try:
            message = decode(data)
        except Refused as error:
            self.refuse(error.cause, str(error))
            return None
        if not isinstance(message, self.kinds):
            self.refuse("direction", f"message: a {type(message).__name__} does not belong here")
            return None
        self.accepted += 1
        return message

    def refuse(self, cause: str, text: str) -> None:
        """Count a refusal."""
        self.refused[cause] += 1
        self.last_refusal = text
