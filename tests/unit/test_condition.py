"""Conditions: what they read, what they mean, and what they refuse."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marsyard.control.condition import NAMES, read_condition

VALUES = {"slip": 0.7, "tilt": 0.4, "sinkage": 0.03, "time": 70.0, "x": -1.0, "slip.FL": 0.6}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("slip > 0.6", True),
        ("slip>0.6", True),
        ("slip > 0.7", False),  # exactly
        ("slip >= 0.7", True),
        ("slip > 75 %", False),
        ("tilt > 20 deg", True),  # 0.349
        ("tilt > 23deg", False),  # 0.401
        ("sinkage > 4 cm", False),
        ("x > -2 m and x < -50 cm", True),
        ("time > 1 min", True),
        ("slip.FL < 0.65", True),
        # and binds closer than or
        ("slip > 0.6 or tilt > 1 and time < 1", True),
        ("(slip > 0.6 or tilt > 1) and time < 1", False),
        ("not time < 1 and not (slip < 0.1 or tilt < 0.1)", True),
    ],
)
def test_meaning(text, holds):
    assert read_condition(text).holds(VALUES) is holds


def test_names_are_told():
    assert read_condition("slip > 1 and slip.FL > 1 or slip < 2").names == ("slip", "slip.FL")


@given(
    a=st.floats(-2, 2), b=st.floats(-2, 2), c=st.floats(-2, 2),
    shape=st.sampled_from(["{} and {} or {}", "{} or {} and {}", "not {} or {} and not {}"]),
)  # fmt: skip
def test_words_bind_as_in_python(a, b, c, shape):
    text = shape.format("x > 0", "y <= 0.5", "speed < 1")
    # the same words mean the same to Python
    expected = eval(text, {"x": a, "y": b, "speed": c})
    assert read_condition(text).holds({"x": a, "y": b, "speed": c}) == expected


def test_nothing_compares_with_nan():
    assert not read_condition("slip > 0").holds({"slip": math.nan})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty condition"),
        ("slp > 1", "unknown name 'slp' in 'slp > 1'; did you mean 'slip'"),
        ("tilt > 3 m", "'m' in '3 m' is a unit of length; an angle takes rad, deg"),
        ("tilt > 3 degg", "'degg' is not a known unit in 'tilt > 3 degg'; did you mean 'deg'?"),
        ("tilt 3", "'tilt' must be followed by <, <=, > or >="),
        ("time == 3", "'time' must be followed by <, <=, > or >="),
        ("time > x", "'time' must be compared with a number"),
        ("time >", "'time' must be compared with a number"),
        ("slip > 0.6 tilt > 3", "'tilt > 3' is left over"),
        ("slip > 1 or", "nothing where a name must stand"),
        ("(slip > 1", "a ')' is missing"),
        ("slip > 1)", "')' is left over"),
        ("3 < slip", "'3' where a name must stand"),
        ("heading.FL > 2", "'heading' is not one of a part"),
        ("__import__('os')", "unknown name '__import__'"),
        ("slip > 1e999", "is not finite"),
        ("(" * 3000 + "slip > 1" + ")" * 3000, "nested too deeply"),
        ("not " * 3000 + "slip > 1", "nested too deeply"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(ValueError) as error:
        read_condition(text)
    assert message in str(error.value)


@given(st.text(alphabet=" <>=()0123456789.-eslipandortiltdeg%", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        condition = read_condition(text)
    except ValueError as error:
        assert str(error)
        return
    condition.holds({**dict.fromkeys(NAMES, 0.0), **dict.fromkeys(condition.names, 0.0)})
