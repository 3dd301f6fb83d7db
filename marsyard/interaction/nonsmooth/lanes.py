r"""Eight numbers of a row at a time: the inner loops of `dense` written for vector units.

LLVM makes vector code of a loop only where it can prove, or test before, that what is written is
not what is read, and does what is left over of a row's length one by one. For matrices of a few
dozen rows that costs more than the arithmetic. These operations work on *eight columns j…j + 7* of
a two-dimensional contiguous array and are straight lines of vector instructions, at whatever width
the processor has; multiplication and subtraction are fused where it can. Rows must be at least
j + 8 long; nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: numbers at a time
LANES = 8

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_LONG, _SHORT = ir.IntType(64), ir.IntType(32)
_SAME = ir.Constant(ir.VectorType(_SHORT, LANES), [0] * LANES)
_FUSED = ("contract",)
_index, _number = types.int64, types.float64


class _Rows:
    """The array while code is made: loads, stores and arithmetic of eight numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, given: Any) -> None:
        array = context.make_array(kind)(context, builder, given)
        self._builder, self._data = builder, array.data
        self._width = cgutils.unpack_tuple(builder, array.shape)[1]

    def _place(self, i: Any, j: Any, row: int, column: int) -> Any:
        add, constant = self._builder.add, ir.Constant
        at = self._builder.mul(add(i, constant(_LONG, row)), self._width)
        return self._builder.gep(self._data, [add(add(at, j), constant(_LONG, column))])

    def _eight(self, i: Any, j: Any, row: int) -> Any:
        return self._builder.bitcast(self._place(i, j, row, 0), _VECTOR.as_pointer())

    def load(self, i: Any, j: Any, row: int = 0) -> Any:
        """a[i + row, j:j + 8]."""
        return self._builder.load(self._eight(i, j, row), align=8)

    def store(self, value: Any, i: Any, j: Any, row: int = 0) -> None:
        """a[i + row, j:j + 8] = value."""
        self._builder.store(value, self._eight(i, j, row), align=8)

    def number(self, i: Any, j: Any, row: int, column: int) -> Any:
        """a[i + row, j + column], eight times."""
        return self.eight_times(self._builder.load(self._place(i, j, row, column)))

    def eight_times(self, value: Any) -> Any:
        """A number in all eight places."""
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = self._builder.insert_element(nothing, value, ir.Constant(_SHORT, 0))
        return self._builder.shuffle_vector(first, nothing, _SAME)

    def subtract_number(self, value: Any, i: Any, j: Any) -> None:
        """a[i, j] −= value."""
        place = self._place(i, j, 0, 0)
        self._builder.store(self._builder.fsub(self._builder.load(place), value), place)

    def sum_of_products(self, x: Any, y: Any) -> Any:
        """x · y, added up by halves."""
        total, half = self._builder.fmul(x, y), LANES // 2
        while half:
            turned = [*range(half, LANES), *range(half)]
            turned = ir.Constant(ir.VectorType(_SHORT, LANES), turned)
            other = self._builder.shuffle_vector(total, total, turned)
            total, half = self._builder.fadd(total, other), half // 2
        return self._builder.extract_element(total, ir.Constant(_SHORT, 0))

    def plus(self, x: Any, factor: Any, y: Any) -> Any:
        """x + factor · y."""
        product = self._builder.fmul(factor, y, flags=_FUSED)
        return self._builder.fadd(x, product, flags=_FUSED)

    def minus(self, x: Any, factor: Any, y: Any) -> Any:
        """x − factor · y."""
        product = self._builder.fmul(factor, y, flags=_FUSED)
        return self._builder.fsub(x, product, flags=_FUSED)


def _made(a: Any, given: tuple[Any, ...], body: Callable[..., None]) -> Any:
    """What an intrinsic returns: its signature, and the maker of its code."""
    signature = types.void(a, *given)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        body(_Rows(context, builder, signature.args[0], given[0]), *given[1:])
        return context.get_dummy_value()

    return signature, generate


def _eliminate(context: Any, a: Any, i: Any, j: Any, factor: Any, p: Any) -> Any:
    """eliminate(a, i, j, factor, p): a[i, j:j + 8] −= factor · a[p, j:j + 8]."""

    def body(rows: _Rows, i: Any, j: Any, factor: Any, p: Any) -> None:
        rows.store(rows.minus(rows.load(i, j), rows.eight_times(factor), rows.load(p, j)), i, j)

    return _made(a, (_index, _index, _number, _index), body)


def _exchange(context: Any, a: Any, i: Any, p: Any, j: Any) -> Any:
    """exchange(a, i, p, j): a[i, j:j + 8] and a[p, j:j + 8] change places."""

    def body(rows: _Rows, i: Any, p: Any, j: Any) -> None:
        x, y = rows.load(i, j), rows.load(p, j)
        rows.store(y, i, j)
        rows.store(x, p, j)

    return _made(a, (_index,) * 3, body)


def _substitute(context: Any, a: Any, first: Any, j: Any) -> Any:
    """substitute(a, first, j): X = L⁻¹ X of the eight rows X = a[first:first + 8, j:j + 8], L being
    the lower half of a[first:first + 8, first:first + 8] with ones on its diagonal."""

    def body(rows: _Rows, first: Any, j: Any) -> None:
        x = [rows.load(first, j, k) for k in range(LANES)]
        for k in range(1, LANES):
            for p in range(k):
                x[k] = rows.minus(x[k], rows.number(first, first, k, p), x[p])
            rows.store(x[k], first, j, k)

    return _made(a, (_index,) * 2, body)


def _subtract(count: int, turned: bool) -> Any:
    def subtract(context: Any, a: Any, i: Any, first: Any, j: Any) -> Any:
        """subtract(a, i, first, j): a[i:i + count, j:j + 8] −= F a[first:first + 8, j:j + 8] with
        F = a[i:i + count, first:first + 8], or turned with F = a[first:first + 8, i:i + count]ᵀ."""

        def factor(rows: _Rows, i: Any, first: Any, k: int, p: int) -> Any:
            return rows.number(first, i, p, k) if turned else rows.number(i, first, k, p)

        def body(rows: _Rows, i: Any, first: Any, j: Any) -> None:
            x = [rows.load(i, j, k) for k in range(count)]
            for p in range(LANES):
                line = rows.load(first, j, p)
                x = [rows.minus(x[k], factor(rows, i, first, k, p), line) for k in range(count)]
            for k in range(count):
                rows.store(x[k], i, j, k)

        return _made(a, (_index,) * 3, body)

    return subtract


def _subtract_product(context: Any, a: Any, i: Any, j: Any, p: Any, q: Any) -> Any:
    """subtract_product(a, i, j, p, q): a[i, q] −= a[i, j:j + 8] · a[p, j:j + 8]."""

    def body(rows: _Rows, i: Any, j: Any, p: Any, q: Any) -> None:
        rows.subtract_number(rows.sum_of_products(rows.load(i, j), rows.load(p, j)), i, q)

    return _made(a, (_index,) * 4, body)


def _combine(count: int) -> Any:
    def combine(context: Any, a: Any, x: Any, end: Any, j: Any, out: Any) -> Any:
        """combine(a, x, end, j, out): out[j:j + 8 count] = Σ x[i] a[i, j:j + 8 count] over i < end,
        which must not be 0; one after the other."""
        signature = types.void(a, x, _index, _index, out)

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kind, kind_x, _, _, kind_out = signature.args
            a, x, end, j, out = given
            rows = _Rows(context, builder, kind, a)
            x = context.make_array(kind_x)(context, builder, x).data
            out = context.make_array(kind_out)(context, builder, out).data
            columns = [builder.add(j, ir.Constant(_LONG, LANES * k)) for k in range(count)]
            before, loop = builder.basic_block, builder.append_basic_block("combine")
            after = builder.append_basic_block("combined")
            builder.branch(loop)
            builder.position_at_end(loop)
            i, sums = builder.phi(_LONG), [builder.phi(_VECTOR) for _ in range(count)]
            i.add_incoming(ir.Constant(_LONG, 0), before)
            factor = rows.eight_times(builder.load(builder.gep(x, [i])))
            for total, column in zip(sums, columns, strict=True):
                total.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), before)
                total.add_incoming(rows.plus(total, factor, rows.load(i, column)), loop)
            following = builder.add(i, ir.Constant(_LONG, 1))
            i.add_incoming(following, loop)
            builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
            builder.position_at_end(after)
            for total, column in zip(sums, columns, strict=True):
                place = builder.bitcast(builder.gep(out, [column]), _VECTOR.as_pointer())
                builder.store(total.incomings[1][0], place, align=8)
            return context.get_dummy_value()

        return signature, generate

    return combine


eliminate: Any = intrinsic(_eliminate)
exchange: Any = intrinsic(_exchange)
substitute: Any = intrinsic(_substitute)
subtract_one: Any = intrinsic(_subtract(1, False))
subtract_four: Any = intrinsic(_subtract(4, False))
subtract_turned: Any = intrinsic(_subtract(LANES, True))
subtract_product: Any = intrinsic(_subtract_product)
combine_one: Any = intrinsic(_combine(1))
combine_four: Any = intrinsic(_combine(4))
