"""C functions and memory by their addresses, inside kernels.

A kernel cannot hold the address of a function or of an array and be cached on disk; it is handed
addresses as integers instead. Small intrinsics cast an integer to a function pointer and call it,
or read and write what lies there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from marsyard.jit import inlined


def _call_by_address(wanted: tuple[Any, ...], answer: Any) -> Any:
    """An intrinsic `call(address, *arguments)` for a C function."""
    llvm_of = {
        types.int64: ir.IntType(64),
        types.int32: ir.IntType(32),
        types.float64: ir.DoubleType(),
        types.void: ir.VoidType(),
    }

    @intrinsic
    def call(typingctx: Any, address: Any, *arguments: Any) -> Any:
        args = arguments[0] if isinstance(arguments[0], tuple) else arguments
        signature = answer(types.int64, types.StarArgTuple(args))

        def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            packed = cgutils.unpack_tuple(builder, values[1])
            out = [
                context.cast(builder, value, kind, want)
                for kind, value, want in zip(args, packed, wanted, strict=True)
            ]
            fn_type = ir.FunctionType(llvm_of[answer], [llvm_of[w] for w in wanted])
            fn = builder.inttoptr(values[0], fn_type.as_pointer())
            value = builder.call(fn, out)
            return context.get_dummy_value() if answer == types.void else value

        return signature, codegen

    return call


def void_call(wanted: tuple[Any, ...]) -> Any:
    """An intrinsic `call(address, *arguments)` for a C function that returns nothing."""
    return _call_by_address(wanted, types.void)


def int_call(wanted: tuple[Any, ...]) -> Any:
    """The same for one that returns an int64."""
    return _call_by_address(wanted, types.int64)


def _cast(typingctx: Any, address: Any, kind: Any) -> Any:
    pointer = types.CPointer(kind.dtype)

    def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(pointer))

    return pointer(types.int64, kind), codegen


#: as_pointer(address, dtype): a typed pointer from an integer
as_pointer: Any = intrinsic(_cast)


def _reader(kind: Any) -> Any:
    @inlined
    def read(address: int, index: int) -> Any:
        return as_pointer(address, kind)[index]

    return read


#: value of the double, int32 or int64 number `index` after an address
read_double = _reader(np.float64)
read_int32 = _reader(np.int32)
read_int64 = _reader(np.int64)


def _writer(kind: Any) -> Any:
    @inlined
    def write(address: int, index: int, value: Any) -> None:
        as_pointer(address, kind)[index] = value

    return write


#: set the double number `index` after an address
write_double = _writer(np.float64)
