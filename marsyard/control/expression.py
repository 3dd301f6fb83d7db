"""Torque laws written as expressions, evaluated inside the compiled loop.

A law such as ``-(0.89 + 3*vx - (6 - x))`` is parsed once with Python's own parser, checked against
a short list of names and functions, and turned into a postfix program: two arrays (operation and
argument). A small stack machine in Numba evaluates it each control period, so any law runs
without Python and without compiling anything anew.

Names: `t` [s]; `x, y, z` [m] and `vx, vy, vz` [m/s] of the base frame in the world; `roll, pitch,
yaw` [rad]; `wx, wy, wz`, the base's angular velocity in its own frame [rad/s]; `angle`, `rate` of
the joint the law acts on [rad, rad/s]; `angle.JOINT`, `rate.JOINT` of another one. Functions:
where(c, a, b), min, max, abs, sqrt, sin, cos, tan, exp, log, sign. Truth is 1.0, falsehood 0.0;
`where` evaluates both branches. `pi` is known, and so are the scenario's parameters, which enter
the program as constants.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from marsyard.control.names import BUILT_IN, FUNCTIONS, STATE_NAMES
from marsyard.errors import InputError, suggest
from marsyard.jit import kernel

STACK = 64

(
    CONST, STATE, ANGLE, RATE, OWN_ANGLE, OWN_RATE,
    ADD, SUB, MUL, DIV, POW, NEG, LT, LE, GT, GE, EQ, NE, AND, OR, NOT,
    WHERE, MIN, MAX, ABS, SQRT, SIN, COS, TAN, EXP, LOG, SIGN,
) = range(32)  # fmt: skip

_BINARY = {ast.Add: ADD, ast.Sub: SUB, ast.Mult: MUL, ast.Div: DIV, ast.Pow: POW}
_COMPARE = {ast.Lt: LT, ast.LtE: LE, ast.Gt: GT, ast.GtE: GE, ast.Eq: EQ, ast.NotEq: NE}
_FUNCTIONS = {
    "where": WHERE, "min": MIN, "max": MAX, "abs": ABS, "sqrt": SQRT, "sin": SIN, "cos": COS,
    "tan": TAN, "exp": EXP, "log": LOG, "sign": SIGN,
}  # fmt: skip


class Program(NamedTuple):
    """An expression as a postfix program: operation codes and their arguments."""

    op: np.ndarray
    argument: np.ndarray


def compile_expression(
    text: str | float,
    joints: Mapping[str, int],
    field: str,
    parameters: Mapping[str, float] | None = None,
) -> Program:
    """The postfix program of an expression.

    `joints` maps a joint's name to its index; `field` is where the text stands, for messages;
    `parameters` are named constants.
    """
    known = dict(parameters or {})
    for name in known:
        if name in BUILT_IN:
            raise InputError(f"parameters.{name}: expressions know '{name}' already; rename it")
    try:
        # a NUL is a ValueError before Python 3.11.4, and a SyntaxError since
        tree = ast.parse(str(text).strip().replace("\0", " \\ "), mode="eval")
        code: list[tuple[int, float]] = []
        _emit(tree.body, joints, known, field, str(text), code)
    except SyntaxError as error:
        raise InputError(f"{field}: '{text}' is not an expression ({error.msg})") from None
    except (RecursionError, MemoryError):
        raise InputError(f"{field}: the expression is nested too deeply") from None
    _check_depth(code, field)
    return Program(
        np.array([c[0] for c in code], dtype=np.int64),
        np.array([c[1] for c in code], dtype=np.float64),
    )


def _emit(
    node: ast.expr,
    joints: Mapping[str, int],
    parameters: Mapping[str, float],
    field: str,
    text: str,
    code: list[tuple[int, float]],
) -> None:
    def emit(child: ast.expr) -> None:
        _emit(child, joints, parameters, field, text, code)

    def refuse(what: str) -> InputError:
        return InputError(f"{field}: {what} in '{text}' is not allowed in a torque law")

    def unknown(what: str, name: str, valid: Iterable[str]) -> InputError:
        return InputError(f"{field}: unknown {what} '{name}' in '{text}'; {suggest(name, valid)}")

    match node:
        case ast.Constant(value=bool(b)):
            code.append((CONST, float(b)))
        case ast.Constant(value=int() | float() as number):
            if not -1e308 < number < 1e308:
                raise refuse(f"{number}")
            code.append((CONST, float(number)))
        case ast.Name(id=name):
            if name in STATE_NAMES:
                code.append((STATE, float(STATE_NAMES.index(name))))
            elif name == "angle":
                code.append((OWN_ANGLE, 0.0))
            elif name == "rate":
                code.append((OWN_RATE, 0.0))
            elif name == "pi":
                code.append((CONST, math.pi))
            elif name in parameters:
                code.append((CONST, float(parameters[name])))
            else:
                raise unknown("name", name, [*parameters, *BUILT_IN])
        case ast.Attribute(value=ast.Name(id="angle" | "rate" as kind), attr=joint):
            if joint not in joints:
                raise unknown("joint", joint, joints)
            code.append((ANGLE if kind == "angle" else RATE, float(joints[joint])))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            emit(left)
            emit(right)
            code.append((_BINARY[type(op)], 0.0))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            emit(operand)
            code.append((NEG, 0.0))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            emit(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            emit(operand)
            code.append((NOT, 0.0))
        case ast.BoolOp(op=op, values=values):
            emit(values[0])
            for value in values[1:]:
                emit(value)
                code.append((AND if isinstance(op, ast.And) else OR, 0.0))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            # a chain a < b < c is (a < b) and (b < c)
            for k, (comparison, right) in enumerate(zip(ops, rights, strict=True)):
                if type(comparison) not in _COMPARE:
                    raise refuse(f"the comparison '{type(comparison).__name__}'")
                emit(left if k == 0 else rights[k - 1])
                emit(right)
                code.append((_COMPARE[type(comparison)], 0.0))
                if k > 0:
                    code.append((AND, 0.0))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in _FUNCTIONS:
                raise unknown("function", name, _FUNCTIONS)
            op_code, count = _FUNCTIONS[name], FUNCTIONS[name]
            if len(args) != count:
                raise InputError(
                    f"{field}: {name} takes {count} arguments, '{text}' gives {len(args)}"
                )
            for argument in args:
                emit(argument)
            code.append((op_code, 0.0))
        case _:
            raise refuse(f"'{ast.unparse(node)}'")


def _check_depth(code: list[tuple[int, float]], field: str) -> None:
    depth = deepest = 0
    for op, _ in code:
        if op <= OWN_RATE:
            depth += 1
        elif op == WHERE:
            depth -= 2
        elif op in (ADD, SUB, MUL, DIV, POW, LT, LE, GT, GE, EQ, NE, AND, OR, MIN, MAX):
            depth -= 1
        deepest = max(deepest, depth)
    if deepest > STACK:
        raise InputError(f"{field}: the expression is nested too deeply ({deepest} > {STACK})")


@kernel
def evaluate(op, argument, first, last, state, angles, rates, own, stack):
    """Value of the program in op[first:last] for the given state.

    `state` as STATE_NAMES; `angles`, `rates` by joint; `own` is the index of the law's joint.
    """
    top = 0
    for k in range(first, last):
        o = op[k]
        if o <= OWN_RATE:
            if o == CONST:
                value = argument[k]
            elif o == STATE:
                value = state[int(argument[k])]
            elif o == ANGLE:
                value = angles[int(argument[k])]
            elif o == RATE:
                value = rates[int(argument[k])]
            elif o == OWN_ANGLE:
                value = angles[own]
            else:
                value = rates[own]
            stack[top] = value
            top += 1
        elif o == WHERE:
            top -= 2
            stack[top - 1] = stack[top] if stack[top - 1] != 0.0 else stack[top + 1]
        elif o == NEG:
            stack[top - 1] = -stack[top - 1]
        elif o == NOT:
            stack[top - 1] = 1.0 if stack[top - 1] == 0.0 else 0.0
        elif o >= ABS:
            a = stack[top - 1]
            if o == ABS:
                a = abs(a)
            elif o == SQRT:
                a = math.sqrt(a) if a >= 0.0 else math.nan
            elif o == SIN:
                a = math.sin(a)
            elif o == COS:
                a = math.cos(a)
            elif o == TAN:
                a = math.tan(a)
            elif o == EXP:
                a = math.exp(a)
            elif o == LOG:
                a = math.log(a) if a > 0.0 else math.nan
            else:
                a = 1.0 if a > 0.0 else (-1.0 if a < 0.0 else 0.0)
            stack[top - 1] = a
        else:
            top -= 1
            a = stack[top - 1]
            b = stack[top]
            if o == ADD:
                a = a + b
            elif o == SUB:
                a = a - b
            elif o == MUL:
                a = a * b
            elif o == DIV:
                a = a / b if b != 0.0 else math.nan
            elif o == POW:
                a = a**b
            elif o == LT:
                a = 1.0 if a < b else 0.0
            elif o == LE:
                a = 1.0 if a <= b else 0.0
            elif o == GT:
                a = 1.0 if a > b else 0.0
            elif o == GE:
                a = 1.0 if a >= b else 0.0
            elif o == EQ:
                a = 1.0 if a == b else 0.0
            elif o == NE:
                a = 1.0 if a != b else 0.0
            elif o == AND:
                a = 1.0 if a != 0.0 and b != 0.0 else 0.0
            elif o == OR:
                a = 1.0 if a != 0.0 or b != 0.0 else 0.0
            elif o == MIN:
                a = min(a, b)
            else:
                a = max(a, b)
            stack[top - 1] = a
    return stack[0]
