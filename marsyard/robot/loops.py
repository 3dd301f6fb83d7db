"""Closed loops, which a tree of bodies cannot represent, declared in robot.yaml.

A loop is cut at one joint, and the cut is closed by equations between its two sides:

    ball    a point of one body stays at a point of another            3 equations
    hinge   two points along a common axis do: the bodies turn about it 6, of which 5 independent
    weld    two bodies stay as they stand to each other in the model   6
    gear    angle of `joint` = offset + ratio · angle of `other`       1 (differential: ratio −1)
            (both counted from the model's reference pose)

Points are given in each body's own frame [m]. The equations are solved exactly together with
contacts (`simulation.delassus`), redundant ones too; a robot whose start pose does not meet them is
moved to the nearest pose that does.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from marsyard.errors import InputError, suggest
from marsyard.units import Angle, Length, Number

Point = tuple[Length, Length, Length]


class _Closure(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class BallLoop(_Closure):
    """`point` of `body` [m] stays at `other_point` of `other` [m]."""

    kind: Literal["ball"]
    body: str
    other: str
    point: Point
    other_point: Point


class HingeLoop(_Closure):
    """As ball, and the axes (in each body's frame) stay parallel."""

    kind: Literal["hinge"]
    body: str
    other: str
    point: Point
    other_point: Point
    axis: Point = (0.0, 1.0, 0.0)
    other_axis: Point | None = None

    @model_validator(mode="after")
    def _has_axes(self) -> HingeLoop:
        for name, axis in (("axis", self.axis), ("other_axis", self.other_axis)):
            if axis is not None and sum(a * a for a in axis) < 1e-12:
                raise ValueError(f"{name} = {list(axis)}: must not be zero")
        return self


class WeldLoop(_Closure):
    """Two bodies keep the relative pose they have in the model."""

    kind: Literal["weld"]
    body: str
    other: str


class GearLoop(_Closure):
    """angle of `joint` = offset + ratio · angle of `other`, [rad] or [m]."""

    kind: Literal["gear"]
    joint: str
    other: str
    ratio: Number = -1.0
    offset: Angle = 0.0


Loop = Annotated[BallLoop | HingeLoop | WeldLoop | GearLoop, Field(discriminator="kind")]

#: distance of the two points that keep the axes of a hinge parallel [m]
_ALONG = 0.1


def add_loops(spec: mujoco.MjSpec, loops: dict[str, Loop], where: str) -> None:
    """Add the equations of the loops to a MuJoCo specification; `where` names it in errors."""
    bodies = [b.name for b in spec.bodies]
    joints = [j.name for j in spec.joints]
    for name, loop in loops.items():
        gear, label = isinstance(loop, GearLoop), f"loop:{name}"
        known = joints if gear else bodies
        for field in ("joint", "other") if gear else ("body", "other"):
            value = getattr(loop, field)
            if value not in known:
                raise InputError(
                    f"{where}: loops.{name}.{field}: '{value}' is not in the model; "
                    f"{suggest(value, known)}"
                )
        if (loop.joint if isinstance(loop, GearLoop) else loop.body) == loop.other:
            what = "joint" if isinstance(loop, GearLoop) else "body"
            raise InputError(
                f"{where}: loops.{name}.other: '{loop.other}' is the {what} itself; give another "
                f"one"
            )
        if isinstance(loop, GearLoop):
            _equality(spec, label, mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtObj.mjOBJ_JOINT, loop.joint,
                      loop.other).data[:5] = [loop.offset, loop.ratio, 0.0, 0.0, 0.0]  # fmt: skip
        elif isinstance(loop, WeldLoop):
            # the relative pose is as in the model where none is given
            _equality(spec, label, mujoco.mjtEq.mjEQ_WELD, mujoco.mjtObj.mjOBJ_BODY, loop.body,
                      loop.other).data[:11] = [*[0.0] * 10, 1.0]  # fmt: skip
        elif isinstance(loop, BallLoop):
            _pin(spec, label, loop, np.array(loop.point), np.array(loop.other_point))
        else:
            own = _unit(loop.axis)
            other = _unit(loop.other_axis or loop.axis)
            for k, side in enumerate((-0.5, 0.5)):
                _pin(spec, f"loop{k}:{name}", loop, np.array(loop.point) + side * _ALONG * own,
                     np.array(loop.other_point) + side * _ALONG * other)  # fmt: skip


def loop_of(equality: str) -> str | None:
    """The loop that an equation of the model belongs to, by the equation's name."""
    found = re.fullmatch(r"loop\d?:(.*)", equality, re.S)
    return found.group(1) if found else None


def _unit(axis: tuple[float, ...]) -> np.ndarray:
    return np.array(axis) / np.linalg.norm(axis)


def _equality(
    spec: mujoco.MjSpec, label: str, kind: mujoco.mjtEq, of: mujoco.mjtObj, first: str, second: str
) -> mujoco.MjsEquality:
    return spec.add_equality(
        name=label, type=kind, objtype=of, name1=first, name2=second, active=True
    )


def _pin(
    spec: mujoco.MjSpec, label: str, loop: BallLoop | HingeLoop, own: np.ndarray, other: np.ndarray
) -> None:
    ends = {f"{label}:1": (loop.body, own), f"{label}:2": (loop.other, other)}
    for site, (body, place) in ends.items():
        spec.body(body).add_site(name=site, pos=place)
    first, second = ends
    _equality(spec, label, mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtObj.mjOBJ_SITE, first, second)
