"""The attachments of a world's laws, as the loop works on them (`attached`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import mujoco
import numpy as np

from marsyard.interaction.attachments import Attachment, Attachments, no_attachments
from marsyard.interaction.law import CALLS, COARSE_SUM, LARGEST, PRESENT, SUM, Column, Law
from marsyard.interaction.rows import Bodies, no_meetings, no_rows
from marsyard.jit import Packed
from marsyard.simulation.attached import FIRST, RATE, SECOND, SUM_COLUMNS, Chains, Laws


class Attached(NamedTuple):
    """The laws of a world, ready for the loop but for the addresses of their kernels."""

    loop: Laws
    rows: dict[str, slice]  # of each law among all attachments
    columns: dict[str, tuple[Column, int]]  # what is recorded, and where in a row of the records
    sizes: dict[int, int]  # of such a row, by the kind of column
    dense: bool  # some attachment couples what the inertia matrix of the tree does not
    views: tuple[Packed, ...]  # kept alive: the loop has their addresses


T = TypeVar("T")


def read_only(value: T) -> T:
    """The same arrays as views that cannot be written, in tuples and tuples of tuples."""
    if isinstance(value, np.ndarray):
        view: Any = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(read_only(each) for each in value)  # type: ignore[no-any-return]
    return value


def attach(
    laws: Sequence[Law], model: mujoco.MjModel, data: mujoco.MjData, surfaces: int
) -> Attached:
    """Give every law its part of the attachments, and the table of rows."""
    most = sum(law.most_rows for law in laws) + model.njnt + model.ntendon
    table, meetings = no_rows(most), no_meetings(most)
    bodies = Bodies(data.xpos, data.xmat, data.xaxis)
    given = [a for law in laws for a in law.attachments]
    whole = no_attachments(len(given), surfaces)
    chains, dense = make_chains(given, model)
    rows: dict[str, slice] = {}
    views: list[Packed] = []
    columns: dict[str, tuple[Column, int]] = {}
    recorded: list[tuple[int, int, int]] = []
    sizes = dict.fromkeys((SUM, LARGEST, PRESENT, COARSE_SUM), 0)
    first = 0
    for law in laws:
        last = first + len(law.attachments)
        rows[law.name] = slice(first, last)
        view = Attachments(*(array[first:last] for array in whole))
        if law.gives_rows:
            law.give_rows(table, bodies, meetings)
        law.attach(view)
        views.append(Packed(view))
        first = last
        for column in law.columns():
            a = column.array
            columns[column.name] = column, sizes[column.kind]
            recorded.append((a.ctypes.data, a.size, column.kind))
            sizes[column.kind] += a.size
    loop = Laws(
        calls=np.zeros((len(laws), len(CALLS)), np.int64),
        mine=np.array([view.address for view in views], dtype=np.int64),
        own=np.array([law.packed.address if law.packed else 0 for law in laws], dtype=np.int64),
        attached=whole, chains=chains, column=np.array(recorded, dtype=np.int64).reshape(-1, 3),
        rows=table, meetings=meetings,
    )  # fmt: skip
    return Attached(loop, rows, columns, sizes, dense, tuple(views))


def make_chains(given: list[Attachment], model: mujoco.MjModel) -> tuple[Chains, bool]:
    """Degrees of freedom that move the attachments, and whether the inertia matrix must be dense
    for them."""
    n = len(given)
    dofs, moves = [], []
    for a in given:
        first, second = (set(chain_of(model, b)) for b in a.body)
        rate = {int(model.jnt_dofadr[j]) for j in _joints_of(a) if j >= 0}
        dofs.append(sorted(first | second | rate))
        moves.append(
            [FIRST * (d in first) | SECOND * (d in second) | RATE * (d in rate) for d in dofs[-1]]
        )
    k = max([1, *(len(d) for d in dofs)])
    f, i = np.zeros, np.int64
    address = np.full((n, k, k), -1, dtype=i)
    chain, move = f((n, k), i), f((n, k), i)
    dense = False
    for row, own in enumerate(dofs):
        chain[row, : len(own)] = own
        move[row, : len(own)] = moves[row]
        fill_addresses(model, own, address[row])
        lower = np.tril(np.ones((len(own), len(own)), dtype=bool))
        dense = dense or bool(np.any(address[row, : len(own), : len(own)][lower] < 0))

    def whole(name: str) -> np.ndarray:
        return np.array([getattr(a, name) for a in given], dtype=i)

    body = np.array([a.body for a in given], dtype=i).reshape(n, 2)
    joints = np.array([_joints_of(a) for a in given], dtype=i).reshape(n, 7)
    places = np.append(model.jnt_qposadr, -1).astype(i)
    rates = np.append(model.jnt_dofadr, -1).astype(i)
    made = Chains(
        body=body, root=np.array(model.body_rootid, dtype=i)[body],
        frame=np.array([a.frame for a in given], dtype=float).reshape(n, 2, 12),
        about=whole("about"), at=np.array([a.at for a in given], dtype=float).reshape(n, 3),
        axle=whole("axle"), wheel=whole("wheel"), organ=whole("organ"),
        sign=np.array([a.sign for a in given], dtype=float),
        rate=rates[joints], coordinate=places[joints],
        scale=np.array([a.scale for a in given], dtype=float),
        chain=chain, length=np.array([len(d) for d in dofs], dtype=i), moves=move, address=address,
        jacobian=f((n, 7, k)), sums=f((n, SUM_COLUMNS)), generalised=f(model.nv), column=f(7),
    )  # fmt: skip
    return made, dense


def _joints_of(a: Attachment) -> list[int]:
    """MuJoCo's joints whose rates are the components of V, −1 for the others."""
    first = list(a.joints) or [-1] * 6
    return [*first, *[-1] * (6 - len(first)), a.joint]


def chain_of(model: mujoco.MjModel, body: int) -> list[int]:
    """Degrees of freedom between the world and a body, ascending."""
    dofs: list[int] = []
    while body > 0:
        first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
        dofs += range(first, first + count) if count else []
        body = int(model.body_parentid[body])
    return sorted(dofs)


def fill_addresses(model: mujoco.MjModel, dofs: list[int], address: np.ndarray) -> None:
    """Places of pairs of degrees of freedom in the sparse inertia matrix."""
    for i, row in enumerate(dofs):
        start, count = int(model.M_rowadr[row]), int(model.M_rownnz[row])
        columns = [int(c) for c in model.M_colind[start : start + count]]
        for j, column in enumerate(dofs[: i + 1]):
            if column in columns:
                address[i, j] = start + columns.index(column)
