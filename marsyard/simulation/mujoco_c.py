"""MuJoCo's C functions inside compiled loops.

Numba code cannot call Python bindings without the interpreter. Here the addresses of MuJoCo's C
functions are taken from the shared library inside the `mujoco` package and are passed into the
compiled loop as integers (`c_calls`), next to the addresses of `mjModel` and `mjData`. Because
nothing is captured as a global, the loop can be cached on disk.

Arrays of fixed size (`qpos`, `xpos`, `M`, …) are numpy views of C memory and are passed as arrays.
What MuJoCo allocates anew each step (contacts, constraint rows) is read through the pointers in
`mjData`; their offsets come from the struct layout that `mujoco.introspect` describes and are
verified against known pointers when this module is first used.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
from numba import types

from marsyard.c_calls import void_call
from marsyard.errors import InputError
from marsyard.jit import by_reference


@by_reference
class Functions(NamedTuple):
    """Addresses of the C functions the loop calls (each as an integer)."""

    kinematics: int
    com_pos: int
    tendon: int
    make_inertia: int
    factor_inertia: int
    solve_inertia: int
    solve_inertia_half: int
    com_vel: int
    passive: int
    rne: int
    fwd_actuation: int
    transmission: int
    collision: int
    make_constraint: int
    jac: int
    integrate_pos: int
    energy_pos: int
    energy_vel: int
    subtree_vel: int
    forward: int
    euler: int
    solve: int = 0  # callbacks of our own, see `callables`
    distance: int = 0


_NAMES = {
    "kinematics": "mj_kinematics",
    "com_pos": "mj_comPos",
    "tendon": "mj_tendon",
    "make_inertia": "mj_makeM",
    "factor_inertia": "mj_factorM",
    "solve_inertia": "mj_solveM",
    "solve_inertia_half": "mj_solveM2",
    "com_vel": "mj_comVel",
    "passive": "mj_passive",
    "rne": "mj_rne",
    "fwd_actuation": "mj_fwdActuation",
    "transmission": "mj_transmission",
    "collision": "mj_collision",
    "make_constraint": "mj_makeConstraint",
    "jac": "mj_jac",
    "integrate_pos": "mj_integratePos",
    "energy_pos": "mj_energyPos",
    "energy_vel": "mj_energyVel",
    "subtree_vel": "mj_subtreeVel",
    "forward": "mj_forward",
    "euler": "mj_Euler",
}


@functools.cache
def functions() -> Functions:
    """The addresses of MuJoCo's C functions in this process."""
    folder = Path(mujoco.__file__).parent
    found = [
        p
        for pattern in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
        for p in sorted(folder.glob(pattern))
    ]
    if not found:
        raise InputError(
            f"mujoco {mujoco.__version__}: the package contains no shared library; install mujoco "
            f"from its wheel"
            " (pip install --only-binary :all: mujoco)"
        )
    library = ctypes.CDLL(str(found[0]))
    addresses = {
        field: int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
        for field, name in _NAMES.items()
    }
    return Functions(**addresses)


@by_reference
class Offsets(NamedTuple):
    """Byte offsets inside `mjData` and `mjContact` that the loop reads."""

    ncon: int
    ne: int
    nf: int
    nl: int
    nefc: int
    contact: int
    efc_J: int
    efc_pos: int
    efc_force: int
    efc_id: int
    contact_size: int
    contact_dist: int
    contact_pos: int
    contact_frame: int
    contact_geom: int
    contact_exclude: int
    contact_efc_address: int


_SIZES = {
    "mjtNum": 8, "double": 8, "int": 4, "float": 4, "size_t": 8, "mjtSize": 8, "uintptr_t": 8,
    "mjtBool": 1, "mjtByte": 1, "uint64_t": 8, "char": 1, "unsigned char": 1,
}  # fmt: skip


def _size_and_alignment(kind: Any) -> tuple[int, int]:
    """Size and alignment [bytes] of a C type described by mujoco.introspect."""
    from mujoco.introspect import ast_nodes, structs

    if isinstance(kind, ast_nodes.PointerType):
        return 8, 8
    if isinstance(kind, ast_nodes.ArrayType):
        size, align = _size_and_alignment(kind.inner_type)
        for extent in kind.extents:
            size *= extent
        return size, align
    name = kind.name
    if name in _SIZES:
        return _SIZES[name], _SIZES[name]
    struct = structs.STRUCTS.get(name) or structs.STRUCTS.get(name.rstrip("_"))
    if struct is not None:
        _, size, align = _layout(struct.fields)
        return size, align
    return 4, 4  # enums


def _layout(fields: Any) -> tuple[dict[str, int], int, int]:
    """Offsets by field, total size and alignment of a C struct, by the usual rules."""
    offsets: dict[str, int] = {}
    at, largest = 0, 1
    for field in fields:
        size, align = _size_and_alignment(field.type)
        at = -(-at // align) * align
        offsets[field.name] = at
        at += size
        largest = max(largest, align)
    return offsets, -(-at // largest) * largest, largest


@functools.cache
def offsets() -> Offsets:
    """Offsets of the fields the loop reads, checked on a small model with one contact."""
    from mujoco.introspect import structs

    in_data, _, _ = _layout(structs.STRUCTS["mjData"].fields)
    in_contact, contact_size, _ = _layout(structs.STRUCTS["mjContact"].fields)
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option jacobian='dense'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<body pos='0 0 .09'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)

    def pointer(name: str) -> int:
        return ctypes.c_uint64.from_address(data._address + in_data[name]).value

    def integer(name: str) -> int:
        return ctypes.c_int32.from_address(data._address + in_data[name]).value

    contact = data.contact
    right = (
        pointer("qpos") == data.qpos.ctypes.data
        and pointer("efc_J") == data.efc_J.ctypes.data
        and pointer("efc_pos") == data.efc_pos.ctypes.data
        and pointer("efc_type") == data.efc_type.ctypes.data
        and pointer("efc_id") == data.efc_id.ctypes.data
        and integer("ncon") == 1
        and integer("nefc") == data.nefc
        and pointer("contact") + in_contact["dist"] == contact.dist.ctypes.data
        and pointer("contact") + in_contact["frame"] == contact.frame.ctypes.data
        and contact.dist.strides[0] == contact_size
    )
    if not right:
        raise InputError(
            f"mujoco {mujoco.__version__}: the layout of mjData differs from its package's "
            f"description; use a version pinned in the constraints file"
            ""
        )
    inside = {f"contact_{name}": offset for name, offset in in_contact.items()}
    known = {**in_data, **inside, "contact_size": contact_size}
    return Offsets(**{name: known[name] for name in Offsets._fields})


# --- calls of MuJoCo's functions

_P, _I, _D = types.int64, types.int32, types.float64
#: f(m, d)
call_md = void_call((_P, _P))
#: f(m, d, array, array, n)
call_mdppi = void_call((_P, _P, _P, _P, _I))
#: f(m, d, array, array, array, n)
call_mdpppi = void_call((_P, _P, _P, _P, _P, _I))
#: f(m, d, flag, array)
call_mdip = void_call((_P, _P, _I, _P))
#: f(m, array, array, double)
call_mppd = void_call((_P, _P, _P, _D))
