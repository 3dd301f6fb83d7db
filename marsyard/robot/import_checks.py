"""Import: warnings about problems an imported robot will have in a run.

Bodies below the belly line, which is half a wheel's radius above the wheels' lowest points: they
hang on the first stone. Steering that meets a body: each steering joint is turned through its range
(a quarter turn either way without stops), while the distance of what it carries to all other
bodies is measured between convex shapes. Wheels are only drawn, so that nothing would stop them
in a run.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.errors import few
from marsyard.robot import extent
from marsyard.robot.roles import Roles

#: height of the belly line by the radius of the smallest wheel
_BELLY = 0.5
#: shapes that are deeper than this in each other are blocked [m]
_DEEP = 1e-3
_STEP = np.radians(3.0)
_FREE = np.radians(90.0)


def find_low_bodies(model: mujoco.MjModel, roles: Roles) -> list[str]:
    """A warning that names bodies below the belly line, or nothing."""
    if not roles.wheels:
        return []
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    wheels = {model.body(w.body).id for w in roles.wheels.values()}
    rolling = {model.body(w.body).id for w in roles.rolling} | {
        b for b in range(model.nbody) if int(model.body_weldid[b]) in wheels
    }
    ground = min(
        float(data.xpos[model.body(w.body).id][2]) - w.round.radius for w in roles.wheels.values()
    )
    line = ground + _BELLY * min(w.round.radius for w in roles.wheels.values())
    feet = {model.body(name).id for name in (*roles.feet.values(), *roles.hubs.values())}
    low: dict[str, float] = {}
    for b in range(1, model.nbody):
        geoms = [g for g in _colliding(model) if int(model.geom_bodyid[g]) == b]
        if not geoms or b in rolling or b in feet:
            continue
        height = extent.lowest(model, data, geoms)
        if height < line:
            low[model.body(b).name] = height - ground
    if not low:
        return []
    shown = [f"{name} ({1000 * z:.3g} mm)" for name, z in sorted(low.items(), key=lambda p: p[1])]
    return [
        f"ground clearance below half a wheel radius, {1000 * (line - ground):.3g} mm: "
        f"{few(shown)}; they will get caught on rocks"
    ]


def find_blocked_steering(model: mujoco.MjModel, roles: Roles) -> list[str]:
    """A warning for each steering joint that meets another body within its range."""
    warnings = []
    for name in roles.of("steering"):
        j = model.joint(name).id
        low, high = model.jnt_range[j] if model.jnt_limited[j] else (-_FREE, _FREE)
        carried = _subtree(model, int(model.jnt_bodyid[j]))
        mine = [g for g in range(model.ngeom) if int(model.geom_bodyid[g]) in carried]
        others = [g for g in _colliding(model) if int(model.geom_bodyid[g]) not in carried]
        for end in (low, high):
            met = _first_meeting(model, j, float(end), mine, others)
            if met is not None:
                angle, g = met
                body = model.body(int(model.geom_bodyid[g])).name
                warnings.append(
                    f"steering {name} meets {body} at {np.degrees(angle):.0f}° of its "
                    f"{np.degrees(low):.0f}° to {np.degrees(high):.0f}°: wheels do not collide "
                    "with bodies in a run; give the joint nearer stops"
                )
    return warnings


def _colliding(model: mujoco.MjModel) -> list[int]:
    hard = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return [int(g) for g in np.flatnonzero(hard & (model.geom_bodyid > 0))]


def _subtree(model: mujoco.MjModel, body: int) -> set[int]:
    out = {body}
    for b in range(body + 1, model.nbody):
        if int(model.body_parentid[b]) in out:
            out.add(b)
    return out


def _first_meeting(
    model: mujoco.MjModel, j: int, end: float, mine: list[int], others: list[int]
) -> tuple[float, int] | None:
    """The first angle on the way to `end` [rad] at which a shape is met, and its geom."""
    data = mujoco.MjData(model)
    address = int(model.jnt_qposadr[j])
    reach = {g: float(model.geom_rbound[g]) for g in (*mine, *others)}
    free: list[tuple[int, int]] = []
    angles = np.linspace(0.0, end, max(2, int(np.ceil(abs(end) / _STEP)) + 1))
    for k, angle in enumerate(angles):
        data.qpos[address] = angle
        mujoco.mj_kinematics(model, data)
        if k == 0:
            # what touches in the reference pose touches always
            pairs = [(a, b) for a in mine for b in others]
            free = [pair for pair in pairs if _depth(model, data, *pair, reach) < _DEEP]
            continue
        for a, b in free:
            if _depth(model, data, a, b, reach) > _DEEP:
                return float(angle), b
    return None


def _depth(
    model: mujoco.MjModel, data: mujoco.MjData, a: int, b: int, reach: dict[int, float]
) -> float:
    """How deep two geoms are in each other [m], 0 or less where they are not."""
    if float(np.linalg.norm(data.geom_xpos[a] - data.geom_xpos[b])) > reach[a] + reach[b]:
        return 0.0
    return -float(mujoco.mj_geomDistance(model, data, a, b, 0.01, None))
