"""Conditions on a rover's state: "slip > 0.6", "tilt > 20 deg or sinkage > 4 cm".

    condition  = all ("or" all)*
    all        = part ("and" part)*
    part       = "not" part | "(" condition ")" | NAME (< | <= | > | >=) NUMBER [UNIT]

A number without unit is SI; one with a unit must measure what the name does. A parser of a few
lines reads this and nothing else: no Python is evaluated. Names (`NAMES`):

    time, total_time          since the command, the drive began [s]
    distance, total_distance  distance of the base since then, as sensed [m]
    turned                    change of the heading since the command began, positive left [rad]
    x, y, heading             as sensed, in the world [m], [m], [rad]
    offset                    distance beside the path, positive left [m]; 0 without path
    speed                     of the base along the ground, as sensed [m/s]
    tilt                      between the base's z axis and the vertical [rad]
    roll, pitch               of the base, pitch positive nose down [rad]
    slip                      largest |slip ratio| of a wheel, smoothed over a second [1]
    sinkage                   of the deepest wheel, below the soil before it was driven on [m]
    current                   largest |current| of a motor of the scenario's `motors` [A]
    torque                    largest |torque| of a wheel's joint [N·m]

`slip`, `sinkage` and `torque` of one wheel, and `current` of one joint: `slip.FL > 0.6`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from marsyard.errors import suggest
from marsyard.units import UNITS, dimension_of, to_si

#: what a condition may ask for, and what it measures
NAMES = {
    "time": "time", "total_time": "time", "distance": "length", "total_distance": "length",
    "turned": "angle", "x": "length", "y": "length", "heading": "angle", "offset": "length",
    "speed": "speed", "tilt": "angle", "roll": "angle", "pitch": "angle", "slip": "number",
    "sinkage": "length", "current": "current", "torque": "torque",
}  # fmt: skip
#: those that may be asked of one wheel or joint
BY_PART = ("slip", "sinkage", "torque", "current")
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
#: parentheses and `not` inside one another
DEEPEST = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<sign>[<>]=?|[()])"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)?)"
    r"|(?P<other>\S))"
)
#: a unit behind a number, up to the next word or bracket
_UNIT = re.compile(r"\s*([^\s\d()<>=][^\s()<>=]*)")

Test = Callable[[Mapping[str, float]], bool]


@dataclass(frozen=True)
class Condition:
    """A condition that was read.

    Attributes:
        text: as given.
        names: what it asks for, with the part behind a dot where there is one.
    """

    text: str
    names: tuple[str, ...]
    _test: Test

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether the condition holds for values by name [SI]; comparisons with NaN are false."""
        return self._test(values)


def read_condition(text: str) -> Condition:
    """Parse a condition; ValueError with one sentence if it is invalid."""
    reader = _Reader(str(text))
    test = reader.condition(0)
    reader.must_end()
    return Condition(str(text), tuple(dict.fromkeys(reader.names)), test)


def is_condition(text: object) -> bool:
    """Whether a text is meant as a condition, rather than as a number with a unit."""
    return isinstance(text, str) and re.search(r"[<>=]", text) is not None


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.names: list[str] = []
        if not text.strip():
            raise ValueError("an empty condition; give one such as 'slip > 0.6'")

    # --- the grammar

    def condition(self, depth: int) -> Test:
        parts = list(self._joined("or", lambda: self._all(depth)))
        return parts[0] if len(parts) == 1 else lambda v: any(p(v) for p in parts)

    def _all(self, depth: int) -> Test:
        parts = list(self._joined("and", lambda: self._part(depth)))
        return parts[0] if len(parts) == 1 else lambda v: all(p(v) for p in parts)

    def _joined(self, word: str, read: Callable[[], Test]) -> Iterator[Test]:
        yield read()
        while self._peek() == word:
            self._next()
            yield read()

    def _part(self, depth: int) -> Test:
        if depth > DEEPEST:
            raise ValueError("the condition is nested too deeply")
        token = self._peek()
        if token == "not":
            self._next()
            inner = self._part(depth + 1)
            return lambda v: not inner(v)
        if token == "(":
            self._next()
            inner = self.condition(depth + 1)
            if self._next() != ")":
                raise self._wrong("a ')' is missing")
            return inner
        return self._comparison()

    def _comparison(self) -> Test:
        name = self._name()
        sign = self._next()
        if sign not in COMPARISONS:
            raise self._wrong(f"'{name}' must be followed by <, <=, > or >=")
        limit = self._quantity(name.partition(".")[0])
        compare = COMPARISONS[sign]
        self.names.append(name)
        return lambda v: bool(compare(v[name], limit))

    def _name(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup != "name":
            what = "nothing" if match is None else f"'{match.group().strip()}'"
            raise self._wrong(f"{what} where a name must stand, as in 'slip > 0.6'")
        self.at = match.end()
        name = str(match["name"])
        head, dot, _ = name.partition(".")
        if head not in NAMES:
            raise self._wrong(f"unknown name '{head}'", suggest(head, NAMES))
        if dot and head not in BY_PART:
            raise self._wrong(f"'{head}' is not one of a part", f"only {', '.join(BY_PART)} are")
        return name

    def _quantity(self, name: str) -> float:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup != "number":
            raise self._wrong(f"'{name}' must be compared with a number")
        self.at = match.end()
        unit = _UNIT.match(self.text, self.at)
        text = str(match["number"])
        if unit is not None and unit[1] not in ("and", "or", "not", *NAMES):
            self.at = unit.end()
            text = f"{text} {unit[1]}"
            if dimension_of(unit[1]) is None:
                units = [u for u in UNITS[NAMES[name]] if u]
                raise self._wrong(f"'{unit[1]}' is not a known unit", suggest(unit[1], units))
        try:
            return to_si(text, NAMES[name])
        except ValueError as error:
            raise self._wrong(f"{name}: {error}") from None

    # --- tokens

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return "" if match is None else match.group().strip()

    def _next(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group().strip()

    def must_end(self) -> None:
        """Nothing may be left over."""
        left = self.text[self.at :].strip()
        if left:
            raise self._wrong(f"'{left}' is left over", "join comparisons by 'and' or 'or'")

    def _wrong(self, what: str, hint: str = "") -> ValueError:
        return ValueError(f"{what} in '{self.text}'" + (f"; {hint}" if hint else ""))
