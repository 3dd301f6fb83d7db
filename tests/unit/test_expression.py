"""Torque laws: the stack machine against Python itself, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marsyard.control.expression import STACK, compile_expression, evaluate
from marsyard.control.names import STATE_NAMES
from marsyard.errors import InputError

JOINTS = {"left": 0, "right": 1}
VALUES = [2.0, 0.5, -1.5, 3.0, 0.1, -0.2, 0.3, 0.4, -0.6, 1.1, 0.02, -0.03, 0.05]
STATE = dict(zip(STATE_NAMES, VALUES, strict=True))
ANGLES, RATES = np.array([0.7, -0.9]), np.array([2.5, -3.5])


class Joints:
    """`angle.left` in Python."""

    def __init__(self, values):
        self.left, self.right = map(float, values)


def value(text, own=0):
    program = compile_expression(text, JOINTS, "torque")
    return evaluate(
        program.op, program.argument, 0, len(program.op), np.array(list(STATE.values())),
        ANGLES, RATES, own, np.zeros(STACK),
    )  # fmt: skip


def python(text):
    names = {
        **STATE, "pi": math.pi, "angle": Joints(ANGLES), "rate": Joints(RATES),
        "where": lambda c, a, b: a if c else b, "min": min, "max": max, "abs": abs,
        "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp,
        "log": math.log, "sign": lambda a: float(np.sign(a)),
    }  # fmt: skip
    return float(eval(text, {"__builtins__": {}}, names))


@pytest.mark.parametrize(
    "text",
    [
        "1", "-2.5", "+3", "1e-3", "t", "x + y*z - vx/vy", "-(0.89 + 3*vx - (6 - x))", "2**3**2",
        "-x**2", "(x - y)**2", "where(t < 1, 5, 6)", "where(t >= 2, x, y)", "1 < t < 3",
        "3 < t < 5", "not t < 1", "t > 1 and x > 1", "t > 1 or x > 1", "t == 2", "t != 2",
        "max(-6, min(6, 1.6*(3 - rate.left)))", "angle.left*rate.right", "sqrt(abs(y))",
        "sin(roll) + cos(pitch)*tan(yaw)", "exp(-t)*log(z)", "sign(y) + sign(x) + sign(0)", "pi/2",
        "where(x < y, 1, 0)", "x - y - z", "x/y/z", "True",
    ],
)  # fmt: skip
def test_agrees_with_python(text):
    assert value(text) == pytest.approx(python(text), rel=1e-15, abs=1e-300)


_leaf = st.sampled_from([*STATE_NAMES, "1.5", "0.25", "angle.left", "rate.right", "pi"])
_tree = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "<", "<=", ">", ">="]), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(st.sampled_from(["sin", "cos", "abs", "-"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda p: f"where({p[0]} > 0, {p[1]}, {p[2]})"),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(_tree)
def test_random_expressions_agree_with_python(text):
    assert value(text) == pytest.approx(python(text), rel=1e-13, abs=1e-13)


def test_own_joint():
    assert value("angle", own=1) == -0.9
    assert value("rate", own=1) == -3.5


@pytest.mark.parametrize("text", ["1/0", "sqrt(-1)", "log(0)", "log(-1)", "0/0", "x/(y - y)"])
def test_undefined_is_nan(text):
    # the engine then stops and names the law
    assert math.isnan(value(text))


def test_overflow_is_infinite():
    assert value("exp(1000)") == math.inf


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("vxx", "did you mean 'vx'"),
        ("foo(1)", "unknown function 'foo'"),
        ("min(1)", "takes 2 arguments"),
        ("angle.lft", "did you mean 'left'"),
        ("1 +", "not an expression"),
        ("", "not an expression"),
        ("__import__('os').system('true')", "not allowed"),
        ("x.real", "not allowed"),
        ("[1, 2]", "not allowed"),
        ("'text'", "not allowed"),
        ("lambda: 1", "not allowed"),
        ("1 if t else 2", "not allowed"),
        ("x in y", "comparison"),
        ("t % 2", "not allowed"),
        ("1e999", "not allowed"),
        pytest.param("1" + "0" * 400, "not allowed", id="huge"),
        ("1j", "not allowed"),
        ("x\0", "not an expression"),
        ("max(a=1, b=2)", "not allowed"),
        ("(" * 300 + "1" + ")" * 300, "not an expression"),
        pytest.param("-" * 20000 + "1", "nested too deeply", id="minus signs"),
        ("1" + "+(1" * 70 + ")" * 70, "nested too deeply"),
    ],
)
def test_refused_with_a_sentence(text, says):
    with pytest.raises(InputError, match=says.replace("(", r"\(")) as error:
        compile_expression(text, JOINTS, "control.0.torque")
    assert str(error.value).startswith("control.0.torque")
    assert "\n" not in str(error.value)


# --- parameters


@given(slip=st.floats(-1e3, 1e3), load=st.floats(1e-3, 1e3))
@settings(max_examples=50, deadline=None)
def test_parameters_are_constants(slip, load):
    text = "max(-load, min(load, slip*(vx - 2) + rate.left/load))"
    written = text.replace("slip", f"({slip!r})").replace("load", f"({load!r})")
    program = compile_expression(text, JOINTS, "torque", {"slip": slip, "load": load})
    got = evaluate(
        program.op, program.argument, 0, len(program.op), np.array(list(STATE.values())),
        ANGLES, RATES, 0, np.zeros(STACK),
    )  # fmt: skip
    assert got == pytest.approx(python(written), rel=1e-13, abs=1e-300)


def test_an_unknown_name_offers_parameters():
    with pytest.raises(InputError, match="did you mean 'slip'"):
        compile_expression("2*slp", JOINTS, "torque", {"slip": 0.2})
    with pytest.raises(InputError, match="parameters.vx: expressions know 'vx' already"):
        compile_expression("1", JOINTS, "torque", {"vx": 0.2})
