"""Import: the base and the joints brought to marsyard's conventions.

x forward, y left, z up; the base's frame is level and has a free joint; a wheel's frame is in its
middle, its axle is the frame's y axis and points left, and so do sprockets; steering turns left
where it counts up; joints have no dry friction.
"""

from __future__ import annotations

import fnmatch
import xml.etree.ElementTree as ET
from dataclasses import replace

import mujoco
import numpy as np

from marsyard.errors import InputError, few, suggest
from marsyard.robot.flat_model import FlatModel, numbers, pose_of, set_pose
from marsyard.robot.poses import Pose
from marsyard.robot.roles import UPS, Roles, WheelGuess, Wish
from marsyard.units import to_si

_SAME = 1e-9  # frames nearer than this are the same


def only_base(flat: FlatModel, wish: Wish) -> None:
    """Leave out the bodies beside the one that the user calls base."""
    tops = flat.world.findall("body")
    named = [b for b in tops if b.get("name") == wish.base]
    if len(tops) > 1 and named:
        for body in tops:
            if body is not named[0]:
                flat.world.remove(body)
        gone = [b.get("name") for b in tops if b is not named[0]]
        flat.notes.append(f"left out: {', '.join(map(str, gone))} beside the base")
        flat.drop_loose()


def put_up(flat: FlatModel, up: str | None) -> None:
    """Turn the whole robot so that what the file calls up is z."""
    if up is None:
        return
    if up not in UPS:
        raise InputError(f"--up: '{up}' is not a direction; valid: {', '.join(UPS)}.")
    turn = Pose(np.zeros(3), np.array(UPS[up], dtype=float))
    for body in flat.world.findall("body"):
        set_pose(body, turn.then(pose_of(body)))


def put_stance(flat: FlatModel, stance: list[str] | None) -> None:
    """Count joints from the angles at which the robot stands, 'pattern=angle', or from those of the
    file's first keyframe, 'keyframe'."""
    if stance is None:
        return
    angles = dict(flat.pose) if stance == ["keyframe"] else _angles(flat, stance)
    if not angles:
        raise InputError("--stance: the file has no keyframe; give PATTERN=ANGLE")
    tied = [t for t in flat.tree.findall("equality/*") if t.get("body1")]
    ends = {e.get("joint") for e in flat.tree.findall("tendon/fixed/joint")}
    if tied or ends & angles.keys():
        raise InputError(
            "--stance: a model with connect, weld or tendon has its own reference pose; change "
            "the file so that the robot stands with all joints at zero"
            ""
        )
    for name, angle in angles.items():
        flat.bend(name, angle)
    flat.file.gears = [
        replace(g, offset=g.offset + g.ratio * angles.get(g.other, 0.0) - angles.get(g.joint, 0.0))
        for g in flat.file.gears
    ]
    moved = [name for name, angle in angles.items() if angle]
    flat.notes.append(f"joint angles are measured from the stance: {few(moved)}")


def _angles(flat: FlatModel, stance: list[str]) -> dict[str, float]:
    """Angles by joint [rad, m]."""
    kinds = {
        str(j.get("name")): j.get("type", "hinge") for j in flat.each("joint")
        if j.get("type", "hinge") in ("hinge", "slide")
    }  # fmt: skip
    angles: dict[str, float] = {}
    for text in stance:
        pattern, sign, value = (part.strip() for part in text.rpartition("="))
        found = [n for n in kinds if fnmatch.fnmatchcase(n, pattern)]
        if not sign:
            raise InputError(f"--stance: '{text}' must be PATTERN=ANGLE, or keyframe alone")
        if not found:
            raise InputError(
                f"--stance: no hinge or slide is called '{pattern}'; {suggest(pattern, kinds)}"
            )
        for name in found:
            try:
                angles[name] = to_si(value, "length" if kinds[name] == "slide" else "angle")
            except ValueError as error:
                raise InputError(f"--stance: {name}: {error}") from None
    return angles


def free_base(flat: FlatModel, roles: Roles, model: mujoco.MjModel, notes: list[str]) -> None:
    """A free joint for a base that moves and has none; none for one that is fixed."""
    body = flat.body(roles.base)
    free = [j for j in body if j.tag == "freejoint" or j.get("type") == "free"]
    moves = roles.wheels or roles.feet or roles.tracks
    if roles.fixed:
        for joint in free:
            body.remove(joint)
    elif not free and moves and body.find("joint") is None:
        taken = {model.joint(j).name for j in range(model.njnt)}
        name = f"{roles.base}_free"
        while name in taken:
            name += "_"
        at = 1 if body.find("inertial") is not None else 0
        body.insert(at, ET.Element("joint", name=name, type="free"))
        notes.append(f"a free joint was added to '{roles.base}'")
        if body.find("inertial") is None and not _has_mass(body):
            raise InputError(
                f"{flat.file.path.name}: base '{roles.base}' has no mass; give it an inertial"
            )
    elif not free:
        roles.fixed = True
    if roles.fixed:
        roles.why[f"body {roles.base}"] = "does not move freely"
    elif free and flat.file.kind == "urdf":
        roles.why[f"body {roles.base}"] = "root of the file"


def _has_mass(body: ET.Element) -> bool:
    still = [b for b in body.findall("body") if b.find("joint") is None]
    return body.find("inertial") is not None or any(_has_mass(b) for b in still)


def put_front(flat: FlatModel, roles: Roles) -> None:
    """Turn the base's frame level and forward, and the robot so that its front is +x."""
    forward = roles.front
    up = np.array([0.0, 0.0, 1.0])
    wanted = np.column_stack([forward, np.cross(up, forward), up])
    body = flat.body(roles.base)
    old = pose_of(body)
    change = old.turn.T @ wanted
    if np.abs(change - np.eye(3)).max() > _SAME:
        flat.reframe(roles.base, Pose(np.zeros(3), _clean(change)))
    place = pose_of(body).place
    set_pose(body, Pose(np.array([0.0, 0.0, place[2]]), np.eye(3)))
    # places and axes in the guesses turn along
    for wheel in roles.rolling:
        wheel.place = wanted.T @ (wheel.place - (*old.place[:2], 0.0))
        wheel.axis = wanted.T @ wheel.axis


def turn_joints(flat: FlatModel, roles: Roles) -> list[str]:
    """Axles to the left in the middle of wheels, steering upwards; names of joints that now count
    the other way."""
    flipped = []
    for wheel in roles.wheels.values():
        joint = flat.joint(wheel.joint)
        joint.attrib.pop("range", None)
        joint.set("limited", "false")
    sprockets = [t.rollers[0] for t in roles.tracks.values()]
    for wheel in [*roles.wheels.values(), *sprockets]:
        if wheel.axis[1] < 0:
            flat.flip(wheel.joint)
            flipped.append(wheel.joint)
            wheel.axis = -wheel.axis
            wheel.round = wheel.round._replace(middle=-wheel.round.middle)
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for wheel in roles.wheels.values():
        turn = data.xmat[model.body(wheel.body).id].reshape(3, 3)
        _centre(flat, wheel, turn.T @ (0.0, 0.0, 1.0))
    for name in roles.of("steering"):
        if data.xaxis[model.joint(name).id][2] < 0:
            flat.flip(name)
            flipped.append(name)
    return flipped


def _centre(flat: FlatModel, wheel: WheelGuess, up: np.ndarray) -> None:
    """Put the frame of a wheel's body into its middle, y along the axle, z as upright as can be;
    `up` is the vertical in the old frame."""
    joint = flat.joint(wheel.joint)
    axis = numbers(joint.get("axis"), 3)
    axis /= np.linalg.norm(axis)
    middle = wheel.round.middle if abs(wheel.round.middle) > 1e-6 else 0.0
    place = numbers(joint.get("pos"), 3) + middle * axis
    turn = np.eye(3)
    if np.linalg.norm(axis - (0.0, 1.0, 0.0)) > _SAME:
        # a roller of an omni wheel may have an upright axle: any x across it does
        x = np.cross(axis, up if abs(axis @ up) < 0.999 else np.eye(3)[np.argmin(np.abs(axis))])
        x /= np.linalg.norm(x)
        turn = _clean(np.column_stack([x, axis, np.cross(x, axis)]))
    if np.linalg.norm(place) > _SAME or not np.array_equal(turn, np.eye(3)):
        flat.reframe(wheel.body, Pose(place, turn))
    joint.set("pos", "0 0 0")
    joint.set("axis", "0 1 0")


def no_dry_friction(flat: FlatModel, model: mujoco.MjModel, notes: list[str]) -> None:
    """Leave out dry friction of joints."""
    rough = []
    for joint in flat.each("joint"):
        if joint.get("type") == "free":
            continue
        j = model.joint(joint.get("name")).id
        if model.dof_frictionloss[model.jnt_dofadr[j]] > 0:
            joint.set("frictionloss", "0")
            rough.append(str(joint.get("name")))
    if rough:
        notes.append(f"dry friction left out (only MuJoCo's contact supports it): {few(rough)}")


def _clean(turn: np.ndarray) -> np.ndarray:
    out = np.where(np.abs(turn) < 1e-12, 0.0, turn)
    return np.where(np.abs(np.abs(out) - 1) < 1e-12, np.sign(out), out)
