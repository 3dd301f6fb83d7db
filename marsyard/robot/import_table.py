"""The table of an import: part, role, numbers, reason."""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.robot.importing import Plan

Row = tuple[str, str, str, str]


def summary(plan: Plan) -> str:
    """One line about the robot."""
    counts = [(len(plan.wheels), "wheel"), (len(plan.roles.feet), "foot"),
              (len(plan.tracks), "track")]  # fmt: skip
    plural = {"wheel": "wheels", "foot": "feet", "track": "tracks"}
    organs = [f"{n} {word if n == 1 else plural[word]}" for n, word in counts if n]
    parts = [*organs, f"{plan.mass:.4g} kg", f"{plan.height:.3g} m high"]
    if plan.roles.forward != "+x":
        parts.append(f"front was {plan.roles.forward}")
    return f"{plan.source.name}: {', '.join(parts)}"


def rows(plan: Plan) -> list[Row]:
    """The table."""
    roles = plan.roles
    out: list[Row] = [_base(plan)]
    for key, wheel in plan.wheels.items():
        role = f"wheel {key}, {'driven' if roles.joints[wheel.joint] == 'drives' else 'no motor'}"
        size = f"radius {wheel.radius:.4g} m, width {wheel.width:.4g} m, {wheel.shape}"
        out.append((wheel.joint, role, size, _why(plan, wheel.joint)))
    for key, track in plan.tracks.items():
        size = f"{len(track.rollers)} rollers, width {track.width:.4g} m"
        out.append((track.joint, f"track {key}", size, _why(plan, track.joint)))
    for key, body in roles.feet.items():
        out.append((body, f"foot {key}", "", roles.why[f"body {body}"]))
    shown = {w.joint for w in plan.wheels.values()} | {t.joint for t in plan.tracks.values()}
    for role in ("drives", "steering", "passive", "legs", "frame", "other", "locked"):
        names = [name for name in roles.of(role) if name not in shown]
        out += [(name, role, _joint(plan, name), _why(plan, name)) for name in names]
    out += [(name, "ball joint", "", _BALL) for name in balls(plan.model)]
    for name, loop in plan.loops.items():
        numbers = f"{loop.ratio:+.4g} · {loop.other}" + (
            f" {loop.offset:+.4g} rad" if loop.offset else ""
        )
        out.append((name, "closed loop", numbers, "mimic: a gear"))
    out += [(text, "closed loop", "", "equality of the model") for text in plan.equalities]
    return out


_BALL = "moves freely: roles and motors require hinges or slides"


def balls(model: mujoco.MjModel) -> list[str]:
    """Names of the ball joints."""
    kinds = list(model.jnt_type)
    return [model.joint(j).name for j, k in enumerate(kinds) if k == mujoco.mjtJoint.mjJNT_BALL]


def _base(plan: Plan) -> Row:
    centre = ", ".join(f"{v:.3g}" for v in np.round(plan.centre_of_mass, 4) + 0.0)
    role = "base, fixed" if plan.roles.fixed else "base, free"
    why = plan.roles.why.get(f"body {plan.roles.base}", "")
    return plan.roles.base, role, f"centre of mass at {centre} m", why


def _why(plan: Plan, name: str) -> str:
    turned = "; now reversed" if name in plan.flipped else ""
    return plan.roles.why.get(name, "") + turned


def _joint(plan: Plan, name: str) -> str:
    j = mujoco.mj_name2id(plan.model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if j < 0:
        return ""
    if not plan.model.jnt_limited[j]:
        return "no stops"
    low, high = plan.model.jnt_range[j]
    if int(plan.model.jnt_type[j]) == mujoco.mjtJoint.mjJNT_SLIDE:
        return f"{low:.3g} to {high:.3g} m"
    return f"{np.degrees(low):.3g}° to {np.degrees(high):.3g}°"
