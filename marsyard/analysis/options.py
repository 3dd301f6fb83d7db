"""Options of an identification written as text: "phi=35±2deg", "height:0.2", "pull=1N"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from marsyard.analysis.parameters import Parameter, find
from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.errors import InputError, suggest
from marsyard.units import read_gravity, to_si

#: sizes of a wheel [m]
SIZES = ("radius", "width", "lug_height")
_DIMENSION = {"pull": "force", "side": "force", "torque": "torque", "sinkage": "length"}
_PLUS_MINUS = re.compile(r"\s*(?:±|\+/-|\+-)\s*")
_TAIL = re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*(.*)$")


def fixed_of(model: str, texts: Sequence[str]) -> dict[str, float]:
    """["n=1.1", "c=200Pa"] by name, SI; a bare number is in the unit the parameter is shown in."""
    out = {}
    for name, value in _pairs(texts, "--fix", "n=1.1"):
        parameter = find(model, name, "fix")
        out[parameter.name] = _value(parameter, value, f"--fix {name}")
    return out


def priors_of(model: str, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """["phi=35±2deg"] as mean and standard deviation by name, SI."""
    out = {}
    for name, value in _pairs(texts, "--prior", "phi=35±2deg"):
        parameter = find(model, name, "prior")
        parts = _PLUS_MINUS.split(value)
        if len(parts) != 2:
            raise InputError(f"--prior: '{name}={value}' must be NAME=MEAN±SD, e.g. phi=35±2deg")
        mean, sd = parts
        # 35±2deg: the unit belongs to both
        unit = _TAIL.match(sd)
        own = _TAIL.match(mean)
        if unit and own and unit.group(1) and not own.group(1):
            mean += unit.group(1)
        what = f"--prior {name}"
        out[parameter.name] = (_value(parameter, mean, what), _value(parameter, sd, what))
    return out


def errors_of(texts: Sequence[str]) -> dict[str, float]:
    """["pull=1N", "sinkage=1mm"] by quantity, SI."""
    out = {}
    for name, value in _pairs(texts, "--error", "pull=1N"):
        if name not in QUANTITIES:
            raise InputError(f"--error: no quantity '{name}'; {suggest(name, QUANTITIES)}")
        out[name] = quantity_of(value, _DIMENSION[name], f"--error {name}")
    return out


def columns_of(texts: Sequence[str]) -> dict[str, str]:
    """["pull=Zugkraft [N]"] by quantity."""
    return dict(_pairs(texts, "--column", "pull=NAME"))


def gravity_of(text: str) -> float:
    """ "mars" or "3.7 m/s²" [m/s²]."""
    value = read_gravity(text, "--gravity")
    if not value > 0:
        raise InputError(f"--gravity = {value:g} m/s²: must be above 0")
    return value


def numbers_of(text: str, dimension: str, option: str) -> list[float]:
    """ "0deg,10deg" as numbers, SI."""
    return [quantity_of(part, dimension, option) for part in text.split(",")]


def _pairs(texts: Sequence[str], option: str, example: str) -> list[tuple[str, str]]:
    out = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option}: '{text}' must be NAME=VALUE, e.g. {example}")
        out.append((name.strip(), value.strip()))
    return out


def _value(parameter: Parameter, text: str, what: str) -> float:
    try:
        return float(text) / parameter.factor
    except ValueError:
        return quantity_of(text, parameter.dimension, what)


def parse_sizes(text: str) -> dict[str, float]:
    """ "radius=58mm,width=5cm" as numbers [m]."""
    out: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"--wheel: '{part}' must be NAME=LENGTH, e.g. radius=58mm")
        key = {"r": "radius", "b": "width", "lugs": "lug_height"}.get(key.strip(), key.strip())
        if key not in SIZES:
            raise InputError(f"--wheel: unknown '{key}'; {suggest(key, SIZES)}")
        out[key] = quantity_of(value, "length", f"--wheel: {key}")
    return out


def quantity_of(text: Any, dimension: str, what: str) -> float:
    """A number with unit, or one sentence that says what is wrong with it."""
    try:
        return to_si(text.strip() if isinstance(text, str) else text, dimension)
    except ValueError as error:
        raise InputError(f"{what}: {error}") from None
