"""How the kernels are compiled.

`kernel` is Numba's njit as all kernels need it: cached on disk (`kernel_cache`), without the GIL,
divisions as IEEE says, and without reference counts on arrays (`_nrt`): nothing is allocated inside
the kernels, and counting the dozens of arrays that are passed down would cost more than their work.
What a kernel calls is compiled as a part of it (`parts`); `inner` is for what nobody else calls.

`by_reference` is for tuples of arrays that are passed down through many kernels. Numba passes every
array of a tuple as seven arguments at every call; hundreds of them took most of the time of
compiling. Such a tuple is passed as one pointer instead, and a field is loaded where it is used.

A law is compiled apart from the loop, which calls it by address (`law_callback`) and hands it such
pointers. Its tuples say their types in their annotations (`F2`: float64 array of two dimensions),
so that the law can be compiled before there is a tuple; `Packed` lays one out in memory as the
compiled code expects it.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof_impl
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    register_model,
    unbox,
)

from marsyard.kernel_cache import cached
from marsyard.parts import PartCompiler, WholeCompiler

T = TypeVar("T")

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


class Part:
    """A function that only kernels call: each takes it in as a part of its own code."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self._options = function, options
        functools.update_wrapper(self, function)

    @functools.cached_property
    def part(self) -> Any:
        """What a kernel that calls it compiles."""
        given = {**_OPTIONS, **self._options, "no_cpython_wrapper": True}
        return njit(**given, pipeline_class=PartCompiler)(self.py_func)

    def __call__(self, *given: Any) -> Any:
        raise TypeError(
            f"{self.py_func.__qualname__}() is part of a kernel and can only be called by kernels"
        )


class Kernel(Part):
    """A function that Python calls, compiled when it does so first, or loaded from the cache.

    For kernels that call it, it is a part like others.
    """

    @functools.cached_property
    def compiled(self) -> Any:
        """What Python calls."""
        given = {**_OPTIONS, **self._options, "pipeline_class": WholeCompiler}
        return cached(njit(**given)(self.py_func), self.py_func)

    @property
    def cached(self) -> bool:
        """It lies in the cache on disk, or was brought along."""
        return bool(self.compiled._cache.filled)

    def __call__(self, *given: Any) -> Any:
        return self.compiled(*given)


@typeof_impl.register(Part)
def _typeof_part(value: Part, c: Any) -> Any:
    return types.Dispatcher(value.part)


def _decorator(kind: type[Part], **fixed: Any) -> Any:
    """Decorator for functions, with or without options of njit."""

    def made(function: Callable[..., Any] | None = None, **options: Any) -> Any:
        if function is None:
            return lambda function: kind(function, {**fixed, **options})
        return kind(function, {**fixed, **options})

    return made


#: for functions that Python calls
kernel = _decorator(Kernel)
#: for what only kernels call
inner = _decorator(Part)
#: for small functions with many array arguments, whose passing would cost more than their work
inlined = _decorator(Part, forceinline=True)
#: for functions that make arrays, outside the loop
allocating = _decorator(Kernel, _nrt=True)


@intrinsic
def _natural(typing: Any, index: Any) -> Any:
    """An index that is never negative. Numba counts negative ones from the end and looks at each
    for it, which takes longer than most of what is done with an item, unless LLVM sees that it need
    not: of the variable of a loop it does, of what was read from an array it is told by this."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        (value,) = given
        builder.assume(builder.icmp_signed(">=", value, ir.Constant(value.type, 0)))
        return value

    return index(index), code


#: see there: an index that kernels need not look at for a sign
natural: Any = _natural
#: `fastmath` of loops that are to run on vector units: sums in any order, fused multiply-add
VECTOR = {"reassoc", "contract", "nsz", "arcp"}
#: `fastmath` that only fuses multiplication and addition
FUSED = {"contract", "nsz", "arcp"}


class Callback:
    """A function compiled as a C callback when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], signature: Any, **options: Any) -> None:
        kind = (signature.args, signature.return_type)
        self.name, self.module, self.signature = function.__name__, function.__module__, signature
        made = CFunc(function, kind, {}, {"error_model": "numpy", **options}, WholeCompiler)
        self._made: Any = cached(made, function)

    @property
    def cached(self) -> bool:
        """It lies in the cache on disk."""
        return bool(self._made._cache.filled)

    @functools.cached_property
    def address(self) -> int:
        """Compile it or load it from the cache."""
        self._made.compile()
        return int(self._made.address or 0)


def callback(signature: Any) -> Callable[[Callable[..., Any]], Callback]:
    """Decorator for a C callback of the given signature."""
    return lambda function: Callback(function, signature)


def law_callback(*tuples: type) -> Callable[[Callable[..., Any]], Callback]:
    """Decorator for a kernel of a law: f(*tuples by reference, time, h, theta, flag) → int."""

    def made(function: Callable[..., Any]) -> Callback:
        wanted = (*(each.__name__ for each in tuples), "time", "h", "theta", "flag")
        if function.__code__.co_argcount != len(wanted):
            raise TypeError(
                f"{function.__name__}() takes {function.__code__.co_argcount} arguments; a kernel "
                f"of a law takes {len(wanted)}: {', '.join(wanted)}"
            )
        d, i = types.float64, types.int64
        given = [reference(each) for each in tuples]
        return Callback(function, i(*given, d, d, d, i), _nrt=False)

    return made


# --- tuples by reference


class Reference(types.Type):
    """A named tuple in memory that does not change while a kernel runs (its arrays' items may)."""

    def __init__(self, fields: Any) -> None:
        self.fields = fields
        self.names: tuple[str, ...] = fields.instance_class._fields
        # kernels in the cache know fields by their places: names count, so that none is mistaken
        digest = hashlib.sha256(f"{fields} {self.names}".encode()).hexdigest()
        super().__init__(f"Reference({fields.instance_class.__name__}, {digest[:16]})")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(kind.fields).get_value_type().as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:  # type: ignore[override]
        return kind.fields[kind.names.index(name)] if name in kind.names else None


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, kind: Reference, pointer: Any, name: str) -> Any:
    index = kind.names.index(name)
    field = context.get_value_type(kind.fields[index])
    return _load(builder, pointer, [0, index], field)


def _load(builder: Any, pointer: Any, place: list[int], field: Any) -> Any:
    """The value at `place` in a structure, its members loaded one by one: each may stay in a
    register, since none changes."""
    if isinstance(field, ir.Aggregate):
        value = ir.Constant(field, ir.Undefined)
        for k in range(len(field)):
            part = _load(builder, pointer, [*place, k], field.gep(ir.Constant(ir.IntType(32), k)))
            value = builder.insert_value(value, part, k)
        return value
    at = builder.gep(pointer, [ir.Constant(ir.IntType(32), k) for k in place], inbounds=True)
    value = builder.load(at)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@unbox(Reference)
def _unbox_reference(kind: Reference, given: Any, c: Any) -> NativeValue:
    made = c.unbox(kind.fields, given)
    place = cgutils.alloca_once_value(c.builder, made.value)
    # whatever is inlined: no field is loaded before it is stored
    barrier = ir.FunctionType(place.type, [place.type])
    place = c.builder.asm(barrier, "", "=r,0,~{memory}", [place], side_effect=True)
    return NativeValue(place, is_error=made.is_error, cleanup=made.cleanup)


def by_reference(kind: type[T]) -> type[T]:
    """Decorator for a named tuple that kernels take as one pointer."""

    @typeof_impl.register(kind)
    def _typeof(value: Any, c: Any) -> Reference:
        fields = [typeof_impl(each, c) for each in value]
        return Reference(types.BaseTuple.from_types(fields, kind))

    return kind


# --- tuples whose types are known before there is one


def _array(dtype: Any, dimensions: int) -> Any:
    return types.Array(dtype, dimensions, "C")


#: annotations of fields: contiguous arrays of float64, int64 and uint8 by their dimensions
F1 = Annotated[np.ndarray, _array(types.float64, 1)]
F2 = Annotated[np.ndarray, _array(types.float64, 2)]
F3 = Annotated[np.ndarray, _array(types.float64, 3)]
F4 = Annotated[np.ndarray, _array(types.float64, 4)]
I1 = Annotated[np.ndarray, _array(types.int64, 1)]
I2 = Annotated[np.ndarray, _array(types.int64, 2)]
I3 = Annotated[np.ndarray, _array(types.int64, 3)]
U1 = Annotated[np.ndarray, _array(types.uint8, 1)]
U3 = Annotated[np.ndarray, _array(types.uint8, 3)]


@functools.cache
def reference(kind: Any) -> Reference:
    """The type under which kernels take a tuple `by_reference`, from its annotations."""
    hints = get_type_hints(kind, include_extras=True)
    fields = [_kind_of(f"{kind.__name__}.{name}", hints[name]) for name in kind._fields]
    return Reference(types.BaseTuple.from_types(fields, kind))


def _kind_of(name: str, hint: Any) -> Any:
    plain = {int: types.int64, float: types.float64, bool: types.boolean}
    if hint in plain:
        return plain[hint]
    if hasattr(hint, "_fields"):
        return reference(hint)
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, types.Array):
            return each
    raise TypeError(f"{name}: kernels do not know {hint}; use F1, I2, …, int, float or bool")


class Packed:
    """A tuple `by_reference` in memory, as compiled code reads it at `address`.

    Keeps the arrays alive. `replace` changes it in place: what has the address sees the change.
    """

    def __init__(self, value: Any) -> None:
        self._inside: dict[str, Packed] = {}
        self._laid: dict[str, tuple[Any, bytes]] = {}  # items and how they lie there, by field
        self._memory = np.zeros(0, np.uint8)
        self.replace(value)

    @property
    def address(self) -> int:
        """Where it lies."""
        return int(self._memory.ctypes.data)

    def replace(self, value: Any) -> None:
        """Lay out another tuple of the same type in its place."""
        out = bytearray()
        kind: Any = type(value)
        for field, name in zip(reference(kind).fields, value._fields, strict=True):
            item = getattr(value, name)
            if not isinstance(field, types.Boolean):
                out += bytes(-len(out) % 8)
            before, laid = self._laid.get(name, (None, b""))
            if before is not item or not laid:
                laid = self._lay(f"{kind.__name__}.{name}", field, name, item)
                self._laid[name] = item, laid
            out += laid
        if not len(self._memory):
            self._memory = np.zeros(-(-len(out) // 8), np.int64).view(np.uint8)
        self._memory[: len(out)] = np.frombuffer(out, np.uint8)

    def _lay(self, what: str, field: Any, name: str, item: Any) -> bytes:
        """A field as compiled code reads it."""
        if isinstance(field, types.Boolean):
            return struct.pack("<?", item)
        if isinstance(field, types.Array):
            return self._array(what, field, item)
        if isinstance(field, Reference):
            if name in self._inside:
                self._inside[name].replace(item)
            else:
                self._inside[name] = Packed(item)
            return struct.pack("<q", self._inside[name].address)
        return struct.pack("<d" if isinstance(field, types.Float) else "<q", item)

    @staticmethod
    def _array(name: str, kind: Any, item: np.ndarray) -> bytes:
        found = (item.ndim, item.dtype.name, bool(item.flags.c_contiguous))
        if found != (kind.ndim, str(kind.dtype), True):
            raise TypeError(
                f"{name}: must be a contiguous array of {kind.dtype} with {kind.ndim} dimensions, "
                f"not one of {item.dtype} with {item.ndim}"
            )
        numbers = (0, 0, item.size, item.itemsize, item.ctypes.data, *item.shape, *item.strides)
        return struct.pack(f"<{len(numbers)}q", *numbers)
