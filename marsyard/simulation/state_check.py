"""Whether a saved state can be one of this world, before anything is changed.

A state comes from a file that may be damaged or of another world. Compiled code takes its arrays as
they are, so that a wrong index would reach into foreign memory. Checked are, one sentence each:

    all arrays    there, of this world's types and shapes
    numbers       finite, but for those that may be infinite (limits) or not known (times)
    coordinates   within 1e12 m, rad, m/s, rad/s; quaternions that are a rotation
    indices       of contacts, elements, faces, tiles and nodes: within what they point into
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground.soil_grid import KEPT_COLUMNS
from marsyard.ground.soil_nodes import HALF, NODES
from marsyard.simulation.soil_world import COUNTED

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation
    from marsyard.simulation.soil_world import SoilWorld
    from marsyard.simulation.state import State

#: may be infinite: no limit; the end of a drive without one
_INFINITE = ("servo_limit", "plan_limit", "law_limit", "drive_numbers")
#: may be NaN: a point without contact, a time that has not come; those of plug-ins are their own
_UNKNOWN = ("sum_point", "soil_time", "drive_timeline")
_OWN = ("control_", "interaction_", "fmu_")
#: largest coordinate and speed [m, rad, m/s, rad/s]
LARGEST = 1e12
#: steps that a run can count
_MOST_STEPS = 2**53
#: a value for each node of the soil's tiles
_BY_NODE = ("ref", "depth", "flag", "time")


def check_state(simulation: Simulation, state: State) -> None:
    """Refuse a state that is none of this simulation."""
    s, arrays = simulation, state.arrays
    state.must_fit(s._state_arrays())
    if s.drive is not None:
        state.must_fit(s.drive.fixed_state())
        _check_drive(s, arrays)
    if s.gait is not None:
        state.must_fit(s.gait.state())
        _check_gait(s, arrays)
    for box in (s.control, s.interaction):
        if box is not None:
            state.must_fit(box.state())
    if s.fmus is not None:
        state.must_fit(s.fmus.fixed_state())
    if s._soil is not None:
        state.must_fit(_fixed_soil(s._soil))
        _check_soil(s._soil, arrays)
    for name, array in arrays.items():
        _check_numbers(name, array)
    _check_coordinates(s, arrays)
    _check_indices(s, arrays)


def refuse(name: str, what: str = "does not fit this world") -> InputError:
    """One sentence about an array of a saved state."""
    return InputError(f"restore: '{name}' of the saved state {what}")


def _check_numbers(name: str, array: np.ndarray) -> None:
    if array.dtype.kind != "f" or name.startswith(_OWN):
        return
    if name not in _UNKNOWN and np.isnan(array).any():
        raise refuse(name, "holds a value that is not a number")
    if name not in _INFINITE and np.isinf(array).any():
        raise refuse(name, "holds an infinite value")


def _check_coordinates(s: Simulation, arrays: Mapping[str, np.ndarray]) -> None:
    for name in ("qpos", "qvel"):
        if np.abs(arrays[name]).max(initial=0.0) > LARGEST:
            raise refuse(name, f"holds a value beyond {LARGEST:g} m, rad, m/s or rad/s")
    m, q = s.model, arrays["qpos"]
    for kind, first in zip(m.jnt_type, m.jnt_qposadr, strict=True):
        at = {int(mujoco.mjtJoint.mjJNT_FREE): first + 3, int(mujoco.mjtJoint.mjJNT_BALL): first}
        if kind in at and abs(np.linalg.norm(q[at[kind] : at[kind] + 4]) - 1.0) > 1e-3:
            raise refuse("qpos", "holds a quaternion that is not a rotation")


def _check_indices(s: Simulation, arrays: Mapping[str, np.ndarray]) -> None:
    check_range("counters", arrays["counters"], 0, _MOST_STEPS)
    check_range("contact_count", arrays["contact_count"], 0, len(arrays["contact_key"]))
    rows = len(arrays["plan"])
    for at, low, high in ((0, -_MOST_STEPS, 2**62), (1, 1, _MOST_STEPS), (2, 0, rows)):
        check_range("plan_at", arrays["plan_at"][at], low, high)
    check_range("law_start", arrays["law_start"], 0, 2**62)
    if s._model.has_compliant:
        c = s._compliant
        elements, bodies = len(c.now), len(c.body)
        check_range("compliant_now", arrays["compliant_now"], 0, 1)
        check_range("compliant_counts", arrays["compliant_counts"], 0, elements)
        check_range("compliant_before", arrays["compliant_before"], 0, elements - 1)
        touching = arrays["compliant_touching"]
        check_range("compliant_touching", touching[:, 0], 0, elements - 1)
        check_range("compliant_touching", touching[:, 1], 0, bodies - 1)
        check_range("compliant_touching", touching[:, 2], 0, max(len(s.world.surfaces) - 1, 0))
    if s._model.has_polygonal:
        p = s._polygonal.pairs
        ends = np.append(p.place[1:, 0], len(p.slot))
        for (slot, place, room), end, counts in zip(
            p.place, ends, arrays["polygonal_count"], strict=True
        ):
            check_range("polygonal_count", counts, 0, room)
            check_range("polygonal_slot", arrays["polygonal_slot"][slot:end], -1, room - 1)
            faces = arrays["polygonal_before"][place : place + room]
            check_range("polygonal_before", faces, 0, end - slot - 1)


def check_range(name: str, values: np.ndarray, low: float, high: float) -> None:
    """Refuse an array of a saved state with a value outside of a range."""
    values = np.asarray(values)
    if values.size and not (values.min() >= low and values.max() <= high):
        raise refuse(name, f"holds an index outside of {low} to {max(low, high)}")


# --- drive and gait


def _check_drive(s: Simulation, arrays: Mapping[str, np.ndarray]) -> None:
    from marsyard.control.command import STATES

    assert s.drive is not None
    now, began, _, _, at, ends_at = arrays["drive_numbers"]
    if not np.isfinite([now, began, at]).all() or np.isnan(ends_at):
        raise refuse("drive_numbers")
    check_range("drive_numbers", now, -1, s.drive.last)
    check_range("drive_numbers", at, -1, _MOST_STEPS)
    check_range("drive_driver", arrays["drive_driver"][0], 0, len(STATES) - 1)
    table, own = arrays.get("drive_timeline"), s.drive.timeline.table
    if table is None or table.ndim != 2 or table.dtype != own.dtype:
        raise refuse("drive_timeline")
    if table.shape[1] != own.shape[1]:
        raise refuse("drive_timeline")


def _check_gait(s: Simulation, arrays: Mapping[str, np.ndarray]) -> None:
    from marsyard.control.locomotion import STATES

    assert s.gait is not None
    check_range("gait_numbers", arrays["gait_numbers"][:2], -1, _MOST_STEPS)
    memory = arrays["gait_memory"]
    check_range("gait_memory", memory[0], -1, len(s.gait.locomotion.modes))
    check_range("gait_memory", memory[1], 0, len(STATES) - 1)
    check_range("gait_memory", memory[2], 0, _MOST_STEPS)


# --- soil


def _fixed_soil(soil: SoilWorld) -> dict[str, np.ndarray]:
    """The part of the soil's state whose shapes do not change."""
    out = {f"soil_{name}": getattr(soil.loop, name) for name in COUNTED}
    out |= {"soil_wheel_state": soil.laws.state, "soil_belt_rise": soil.belts.rise}
    if soil.grid.columns:
        out["soil_flow_due"] = np.zeros(2)
    return out


def _changing_soil(soil: SoilWorld) -> dict[str, np.ndarray]:
    """Arrays with the types and further dimensions of what changes its length."""
    a, p = soil.grid.arrays, soil.patch
    out = {f"soil_{name}": getattr(a, name) for name in (*_BY_NODE, "tile", "top", "request")}
    out["soil_queue"] = a.queue
    if soil.grid.columns:
        out["soil_column"] = a.column[:, :KEPT_COLUMNS]
    for b in range(len(soil.names)):
        for part in ("node", "key", "touching", "state"):
            out[f"soil_contact_{b}_{part}"] = getattr(p, part)[0, b]
    return out


def _check_soil(soil: SoilWorld, arrays: Mapping[str, np.ndarray]) -> None:
    if ("soil_column" in arrays) != soil.grid.columns:
        raise InputError(
            "restore: the saved state has another interaction.soil.model (scm or columns)"
        )
    for name, own in _changing_soil(soil).items():
        found = arrays.get(name)
        if found is None or found.dtype != own.dtype or found.shape[1:] != own.shape[1:]:
            raise refuse(name)
        if found.ndim != own.ndim:
            raise refuse(name)
    tile = arrays["soil_tile"]
    nodes = len(tile) * NODES
    check_range("soil_tile", tile, 1 - HALF, HALF - 1)
    if len(np.unique(tile, axis=0)) != len(tile):
        raise refuse("soil_tile", "names a tile twice")
    for name in (*_BY_NODE, *(("column",) if soil.grid.columns else ())):
        if len(arrays[f"soil_{name}"]) != nodes:
            raise refuse(f"soil_{name}")
    if len(arrays["soil_top"]) != len(tile):
        raise refuse("soil_top")
    if len(arrays["soil_request"]) > len(soil.grid.arrays.request):
        raise refuse("soil_request")
    check_range("soil_request", arrays["soil_request"], 1 - HALF, HALF - 1)
    if len(arrays["soil_queue"]) > nodes:
        raise refuse("soil_queue")
    check_range("soil_queue", arrays["soil_queue"], 0, nodes - 1)
    check_range("soil_bin_count", arrays["soil_bin_count"], 0, _MOST_STEPS)
    check_range("soil_evaluations", arrays["soil_evaluations"], 0, _MOST_STEPS)
    for b in range(len(soil.names)):
        _check_contact(f"soil_contact_{b}_", arrays, nodes, soil.patch.node.shape[2])


def _check_contact(prefix: str, arrays: Mapping[str, np.ndarray], nodes: int, room: int) -> None:
    """The nodes under one body: as many of everything, in the order of their keys."""
    count = len(arrays[prefix + "node"])
    if count > room:
        raise refuse(prefix + "node")
    for part in ("key", "touching", "state"):
        if len(arrays[prefix + part]) != count:
            raise refuse(prefix + part)
    check_range(prefix + "node", arrays[prefix + "node"], 0, nodes - 1)
    check_range(prefix + "touching", arrays[prefix + "touching"], 0, 1)
    if (np.diff(arrays[prefix + "key"]) <= 0).any():
        raise refuse(prefix + "key", "is not in order")
