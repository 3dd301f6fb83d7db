"""Feasibility of a design: wheels that overlap or intersect the base, ground clearance.

All is looked at with joints at zero: what turning a wheel or a bogie would touch is not.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.robot.contact_bodies import Wheel
from marsyard.robot.extent import reach
from marsyard.robot.robot import Robot

#: distance from which on shapes are of no interest to each other [m]
_FAR = 1.0


class _Posed(NamedTuple):
    """A compiled model with all joints at zero."""

    robot: Robot
    model: mujoco.MjModel
    data: mujoco.MjData
    base: int
    shapes: dict[str, int]  # a cylinder for each wheel, lugs in it


def check_design(plain: Robot, made: Robot) -> None:
    """Refuse a design that could not be built; `plain` is the robot it was made from."""
    before, after = _posed(plain), _posed(made)
    _check_overlap(after)
    known = _hits(before)
    for wheel, geom in _hits(after).items():
        if wheel not in known:
            raise InputError(f"robot.design: wheel {wheel} would run into {geom} of the base")
    height = _clearance(after)
    if height is not None and height <= 0 < (_clearance(before) or 0.0):
        raise InputError(
            f"robot.design: the base would reach {-1000 * height:.3g} mm below the wheels"
        )


def _posed(robot: Robot) -> _Posed:
    spec = robot.spec()
    for name, wheel in robot.wheels.items():
        spec.body(wheel.body).add_geom(
            name=f"wheel:{name}", type=mujoco.mjtGeom.mjGEOM_CYLINDER, contype=0, conaffinity=0,
            size=[_outer(wheel), wheel.width / 2, 0.0], quat=[0.5**0.5, 0.5**0.5, 0.0, 0.0],
            mass=0.0,
        )  # fmt: skip
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    base = model.body(robot.base).id if robot.base else 1
    shapes = {name: model.geom(f"wheel:{name}").id for name in robot.wheels}
    return _Posed(robot, model, data, base, shapes)


def _outer(wheel: Wheel) -> float:
    return wheel.largest_radius + wheel.lug_height


def _check_overlap(posed: _Posed) -> None:
    turn = posed.data.xmat[posed.base].reshape(3, 3)
    for one, other in itertools.combinations(posed.robot.wheels, 2):
        a, b = posed.robot.wheels[one], posed.robot.wheels[other]
        apart = posed.data.geom_xpos[posed.shapes[other]] - posed.data.geom_xpos[posed.shapes[one]]
        x, y, z = apart @ turn
        reach_of_both = _outer(a) + _outer(b)
        if abs(y) < (a.width + b.width) / 2 and np.hypot(x, z) < reach_of_both:
            if np.hypot(x, z) < 1e-6:
                raise InputError(
                    f"robot.design: wheels {one} and {other} would overlap: their middles are "
                    f"{abs(y):.4g} m apart, and they are {(a.width + b.width) / 2:.4g} m wide"
                )
            raise InputError(
                f"robot.design: wheels {one} and {other} would overlap: their axles are "
                f"{np.hypot(x, z):.4g} m apart, and their radii with grousers add up to "
                f"{reach_of_both:.4g} m"
            )


def _hits(posed: _Posed) -> dict[str, str]:
    """Wheels that a shape of the base, drawn or colliding, reaches into."""
    found = {}
    model = posed.model
    solid = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    of_base = [
        g for g in range(model.ngeom)
        if model.geom_bodyid[g] == posed.base and int(model.geom_type[g]) not in solid
        and g not in posed.shapes.values()
    ]  # fmt: skip
    for wheel, shape in posed.shapes.items():
        for g in of_base:
            if mujoco.mj_geomDistance(model, posed.data, shape, g, _FAR, None) < 0:
                name = model.geom(g).name
                found[wheel] = f"'{name}'" if name else "a shape"
    return found


def _clearance(posed: _Posed) -> float | None:
    """Height of the base's lowest colliding shape above the lowest wheel's tread [m]."""
    model, data = posed.model, posed.data
    down = np.array([[0.0, 0.0, -1.0]])
    own = [
        g for g in range(model.ngeom)
        if model.geom_bodyid[g] == posed.base and model.geom_contype[g] | model.geom_conaffinity[g]
    ]  # fmt: skip
    if not own or not posed.shapes:
        return None
    base = min(-float(reach(model, data, g, down)[0]) for g in own)
    treads = (
        data.geom_xpos[g][2] - posed.robot.wheels[name].largest_radius
        for name, g in posed.shapes.items()
    )
    return base - float(min(treads))
