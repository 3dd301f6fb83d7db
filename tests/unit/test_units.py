"""Units at the door."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.units import UNITS, to_si


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("10 deg", "angle", math.pi / 18),
        ("10°", "angle", math.pi / 18),
        ("5 cm", "length", 0.05),
        ("5cm", "length", 0.05),
        (" -3.5e-1 mm ", "length", -3.5e-4),
        ("2 min", "time", 120.0),
        ("0.5 ms", "time", 5e-4),
        ("36 km/h", "speed", 10.0),
        ("60 rpm", "angular_speed", 2 * math.pi),
        ("20 %", "number", 0.2),
        ("0.3", "number", 0.3),
        (".5", "number", 0.5),
        (3, "length", 3.0),
        (np.float64(0.25), "length", 0.25),
        ("1 N·m/deg", "angular_stiffness", 180 / math.pi),
        ("3.69 m/s²", "acceleration", 3.69),
    ],
)
def test_converted(text, dimension, expected):
    assert to_si(text, dimension) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("dimension", UNITS)
def test_every_unit_is_read_and_the_first_is_si(dimension):
    for unit, factor in UNITS[dimension].items():
        assert to_si(f"2 {unit}", dimension) == pytest.approx(2 * factor)
    assert next(iter(UNITS[dimension].values())) == 1.0


@pytest.mark.parametrize(
    ("value", "dimension", "says"),
    [
        ("5 kg", "length", "is a unit of mass"),
        ("5 metres", "length", "not a known unit"),
        ("five", "length", "is not a length"),
        ("", "length", "is not a length"),
        (True, "length", "is not a length"),
        (None, "time", "is not a time"),
        ([1], "time", "is not a time"),
        (math.nan, "speed", "not finite"),
        (math.inf, "speed", "not finite"),
        ("nan", "speed", "is not a speed"),
        ("1e999 m", "length", "not finite"),
        pytest.param(10**400, "length", "not finite", id="huge"),
        ("1,5 m", "length", "not a known unit"),
    ],
)
def test_refused_with_a_sentence(value, dimension, says):
    with pytest.raises(ValueError, match=says) as error:
        to_si(value, dimension)
    assert "\n" not in str(error.value)
