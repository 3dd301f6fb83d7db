"""A rover as plain arrays for the kernels that place it: links, joints, wheels.

All joints but the passive ones are held. What they carry is rigid, so that the model's tree of
bodies shrinks to *links*: link 0 is the base with all that is fixed to it, link j + 1 is moved by
the passive joint j. Everything is written in the base frame B with all passive joints at zero
(product of exponentials; R. M. Murray, Z. Li, S. S. Sastry: A mathematical introduction to robotic
manipulation, 1994, section 3.2): a link's motion is

    T_link = T_parent · exp(ξ_j q_j),    ξ_j a turn about an axis through an anchor, or a slide

Equality constraints between joints (differentials) are linear, E q = e, and hold for all

    q = q_0 + B y,    E q_0 = e,  E B = 0,  BᵀB = 1

Springs of passive joints are left out, as in `marsyard.control.placement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np

from marsyard.control.rover_kinematics import RoverKinematics
from marsyard.errors import InputError, suggest
from marsyard.robot import Robot

CYLINDER, DISC, SPHERE = 0, 1, 2
_SHAPES = {"cylinder": CYLINDER, "disc": DISC, "torus": DISC, "sphere": SPHERE}


class Chain(NamedTuple):
    """Links and the p passive joints between them: n = p + 1 links.

    Attributes:
        parent: link that carries each joint, int64[p]; it moves link j + 1.
        sliding: 1 where the joint slides, int64[p].
        axis, anchor: of the joints in B [1], [m], float64[p, 3].
        above: 1 where joint j moves link k, int64[n, p].
        mass, com: of the links [kg], [m], float64[n], float64[n, 3].
        carried: mass of a link and all it carries [kg], float64[n].
    """

    parent: np.ndarray
    sliding: np.ndarray
    axis: np.ndarray
    anchor: np.ndarray
    above: np.ndarray
    mass: np.ndarray
    com: np.ndarray
    carried: np.ndarray


class Limits(NamedTuple):
    """What binds the passive joints.

    Attributes:
        low, high: limits [rad, m], infinite if none, float64[p].
        offset, basis: q_0 float64[p] and B float64[p, r] of the constraints.
    """

    low: np.ndarray
    high: np.ndarray
    offset: np.ndarray
    basis: np.ndarray


class Wheels(NamedTuple):
    """The wheels.

    Attributes:
        link: that carries each, int64[w].
        centre, axle: [m], [1], float64[w, 3]; axles point left.
        radius, width: [m], float64[w].
        shape: CYLINDER, DISC or SPHERE, int64[w].
        torque: largest of the drive [N·m], infinite if not bounded, 0 if not driven, float64[w].
    """

    link: np.ndarray
    centre: np.ndarray
    axle: np.ndarray
    radius: np.ndarray
    width: np.ndarray
    shape: np.ndarray
    torque: np.ndarray


class RoverTables(NamedTuple):
    """A rover for kernels."""

    chain: Chain
    limits: Limits
    wheels: Wheels


class RoverNames(NamedTuple):
    """What the rows of the tables are called: the robot, its passive joints, its wheels."""

    robot: str
    joints: tuple[str, ...]
    wheels: tuple[str, ...]


def rover_tables(
    robot: Robot | str | RoverKinematics,
    joints: Mapping[str, float] | None = None,
    torque: float | Mapping[str, float] | None = None,
) -> tuple[RoverTables, RoverNames]:
    """The tables of a rover.

    Args:
        robot: of the library, by name, or its kinematics.
        joints: angles of joints that are held [rad], by name; zero unless told.
        torque: largest of every drive [N·m], or by wheel; not bounded unless told.
    """
    kinematics = robot if isinstance(robot, RoverKinematics) else RoverKinematics(robot)
    model = kinematics.model
    free = np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
    name = kinematics.robot.name
    if not free.size or model.jnt_bodyid[free[0]] != kinematics.base:
        raise InputError(f"robot: {name} cannot be placed, its base has no free joint")
    held = dict(joints or {})
    kinematics.set_joints(held)
    wanted = (j for j in kinematics.robot.roles.get("passive", ()) if j not in held)
    passive = sorted({model.joint(j).id for j in wanted} - set(kinematics.wheel_joint.tolist()))
    kinematics.data.qpos[model.jnt_qposadr[passive]] = 0.0
    mujoco.mj_kinematics(model, kinematics.data)
    link = _links(kinematics, passive)
    parent, above = _tree(kinematics, passive, link)
    offset, basis = _constraints(kinematics, passive)
    mass, com = _masses(kinematics, link, len(passive) + 1)
    limited = model.jnt_limited[passive].astype(bool)
    bounds = model.jnt_range[passive].reshape(-1, 2)
    sliding = model.jnt_type[passive] == int(mujoco.mjtJoint.mjJNT_SLIDE)
    carried = [mass.sum(), *(mass[above[:, j] > 0].sum() for j in range(len(passive)))]
    data = kinematics.data
    tables = RoverTables(
        _packed(
            Chain(
                parent=parent,
                sliding=sliding.astype(np.int64),
                axis=_turned(kinematics, data.xaxis[passive]),
                anchor=_seen(kinematics, data.xanchor[passive]),
                above=above,
                mass=mass,
                com=com,
                carried=np.array(carried),
            )
        ),
        _packed(
            Limits(
                low=np.where(limited, bounds[:, 0], -np.inf),
                high=np.where(limited, bounds[:, 1], np.inf),
                offset=offset,
                basis=basis,
            )
        ),
        _packed(
            Wheels(
                link=link[kinematics.wheel_body],
                centre=_seen(kinematics, data.xpos[kinematics.wheel_body]),
                axle=_turned(
                    kinematics, data.xaxis[kinematics.wheel_joint] * kinematics.sign[:, None]
                ),
                radius=kinematics.radius.astype(float),
                width=kinematics.width.astype(float),
                shape=np.array([_SHAPES[w.shape] for w in kinematics.robot.wheels.values()]),
                torque=_torques(kinematics, torque),
            )
        ),
    )
    names = RoverNames(name, tuple(model.joint(j).name for j in passive), kinematics.wheels)
    return tables, names


def _packed(table):
    return type(table)(*(np.ascontiguousarray(part) for part in table))


def _seen(kinematics: RoverKinematics, points: np.ndarray) -> np.ndarray:
    """Points of the world in the base frame."""
    return _turned(kinematics, points - kinematics.data.xpos[kinematics.base])


def _turned(kinematics: RoverKinematics, vectors: np.ndarray) -> np.ndarray:
    return vectors.reshape(-1, 3) @ kinematics.data.xmat[kinematics.base].reshape(3, 3)


def _links(kinematics: RoverKinematics, passive: list[int]) -> np.ndarray:
    """The link that each body belongs to; −1 for what does not hang on the base."""
    model = kinematics.model
    link = np.full(model.nbody, -1)
    link[kinematics.base] = 0
    for body in range(model.nbody):
        if body != kinematics.base and body > 0:
            link[body] = link[model.body_parentid[body]]
        # of several passive joints of one body the last moves it
        for number, joint in enumerate(passive):
            if model.jnt_bodyid[joint] == body:
                link[body] = number + 1
    return link


def _tree(
    kinematics: RoverKinematics, passive: list[int], link: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The link that carries each passive joint, and which links each of them moves."""
    model = kinematics.model
    parent = np.zeros(len(passive), dtype=np.int64)
    above = np.zeros((len(passive) + 1, len(passive)), dtype=np.int64)
    for number, joint in enumerate(passive):
        body = model.jnt_bodyid[joint]
        first = number == 0 or model.jnt_bodyid[passive[number - 1]] != body
        parent[number] = link[model.body_parentid[body]] if first else number
        above[number + 1] = above[parent[number]]
        above[number + 1, number] = 1
    return parent, above


def _masses(
    kinematics: RoverKinematics, link: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    model, data = kinematics.model, kinematics.data
    places = _seen(kinematics, data.xipos)
    mass, com = np.zeros(count), np.zeros((count, 3))
    for k in range(count):
        own = link == k
        mass[k] = model.body_mass[own].sum()
        com[k] = model.body_mass[own] @ places[own] / max(mass[k], 1e-300)
    return mass, com


def _constraints(kinematics: RoverKinematics, passive: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """q_0 and B of the equality constraints between joints, or an InputError."""
    model, data = kinematics.model, kinematics.data
    column = {joint: k for k, joint in enumerate(passive)}
    rows, values = [], []
    for k in range(model.neq):
        if not model.eq_active0[k]:
            continue
        linear = model.eq_type[k] == int(mujoco.mjtEq.mjEQ_JOINT) and not np.any(
            model.eq_data[k, 2:5]
        )
        if not linear:
            what = mujoco.mjtEq(int(model.eq_type[k])).name.removeprefix("mjEQ_").lower()
            raise InputError(
                f"robot: {kinematics.robot.name} has a closed loop (a constraint of kind {what}), "
                "which a traction map cannot follow; only linear ones between joints are allowed"
            )
        row, value = np.zeros(len(passive)), float(model.eq_data[k, 0])
        one, other = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        # q1 − q1_0 = c0 + c1 (q2 − q2_0)
        for joint, factor in ((one, 1.0), (other, -float(model.eq_data[k, 1]))):
            if joint < 0:
                continue
            address = model.jnt_qposadr[joint]
            value += factor * model.qpos0[address]
            if joint in column:
                row[column[joint]] += factor
            else:
                value -= factor * data.qpos[address]
        if np.any(row):
            rows.append(row)
            values.append(value)
    if not rows:
        return np.zeros(len(passive)), np.eye(len(passive))
    from scipy.linalg import null_space

    matrix = np.array(rows)
    return np.linalg.pinv(matrix) @ np.array(values), null_space(matrix)


def _torques(kinematics: RoverKinematics, torque: float | Mapping[str, float] | None) -> np.ndarray:
    """The largest torque of each wheel's drive [N·m]."""
    wheels = kinematics.robot.wheels
    if isinstance(torque, Mapping):
        for name in torque:
            if name not in wheels:
                raise InputError(
                    f"torque: {kinematics.robot.name} has no wheel '{name}'; "
                    f"{suggest(name, wheels)}"
                )
        given = [float(torque.get(name, np.inf)) for name in wheels]
    else:
        given = [np.inf if torque is None else float(torque)] * len(wheels)
    if min(given) < 0 or np.isnan(given).any():
        raise InputError("torque: must be 0 N·m or more")
    drives = kinematics.robot.roles.get("drives", ())
    driven = [not drives or wheel.joint in drives for wheel in wheels.values()]
    return np.where(driven, given, 0.0)
