"""Whether a saved state can be one of this world, before anything is changed.

A state comes from a file that may be damaged or of another world. Compiled code takes its arrays as
they are, so that a wrong index would reach into foreign memory. Checked are, one sentence each:

    all arrays    there, of this world's types and shapes
    numbers       finite, but for those that may be infinite (limits) or not known (times)
    coordinates   within 1e12 m, rad, m/s, rad/s; quaternions that are a rotation
    indices       of contacts, elements, faces, tiles and nodes: within what they point into
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from marsyard.interaction.law import check_range, refuse

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation
    from marsyard.simulation.state import State

#: may be infinite, beside what laws say of theirs: no limit; the end of a drive without one
_INFINITE = ("servo_limit", "plan_limit", "law_limit", "drive_numbers")
#: may be NaN: a point without contact, a time that has not come; those of plug-ins are their own
_UNKNOWN = ("sum_point", "drive_timeline")
_OWN = ("control_", "interaction_", "fmu_")
#: largest coordinate and speed [m, rad, m/s, rad/s]
LARGEST = 1e12
#: steps that a run can count
_MOST_STEPS = 2**53


def check_state(simulation: Simulation, state: State) -> None:
    """Refuse a state that is none of this simulation."""
    s, arrays = simulation, state.arrays
    state.must_fit(s.state_arrays())
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
    for law in s.laws:
        law.check(arrays)
    infinite = {*_INFINITE, *(name for law in s.laws for name in law.may_be_infinite)}
    unknown = {*_UNKNOWN, *(name for law in s.laws for name in law.may_be_unknown)}
    for name, array in arrays.items():
        _check_numbers(name, array, infinite, unknown)
    _check_coordinates(s, arrays)
    _check_indices(s, arrays)


def _check_numbers(
    name: str, array: np.ndarray, infinite: Collection[str], unknown: Collection[str]
) -> None:
    if array.dtype.kind != "f" or name.startswith(_OWN):
        return
    if name not in unknown and np.isnan(array).any():
        raise refuse(name, "holds a value that is not a number")
    if name not in infinite and np.isinf(array).any():
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
