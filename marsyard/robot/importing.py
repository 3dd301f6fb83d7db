"""From a model file to a robot of marsyard: roles, conventions, checks.

`plan_import` reads a file, guesses its roles (`guess`) and brings the model to the conventions

- x forward, y left, z up; the base's frame is level and the robot stands on z = 0;
- the base has a free joint, the first of the model;
- a wheel's frame is in its middle, its axle is the frame's y axis and points left; sprockets too;
- steering turns left where it counts up;

and to what every law can do: wheels touch by their shape in robot.yaml, other meshes by boxes
around them, joints have no dry friction, and bodies that overlap in the reference pose do not
collide with each other. Nothing is written (`robot_folder`).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.exit_rule import Exit
from marsyard.robot import extent
from marsyard.robot.closing import close_loops, closed_pose, length
from marsyard.robot.flat_model import FlatModel, flatten, numbers, pose_of, set_pose
from marsyard.robot.guess import guess
from marsyard.robot.loops import GearLoop, add_loops
from marsyard.robot.model_file import ModelFile, quiet, read_model
from marsyard.robot.organs import Roller, Track, Wheel
from marsyard.robot.poses import Pose, row
from marsyard.robot.roles import UPS, Roles, WheelGuess, Wish

COLLISIONS = ("box", "mesh", "none")
#: shapes that a mesh ground does not take
_BOXED = (int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_ELLIPSOID))
_SAME = 1e-9  # frames nearer than this are the same


@dataclass
class Plan:
    """A robot before it is written."""

    source: Path
    flat: FlatModel
    roles: Roles
    model: mujoco.MjModel
    wheels: dict[str, Wheel]
    tracks: dict[str, Track]
    loops: dict[str, GearLoop]
    equalities: list[str]
    flipped: list[str]
    notes: list[str]
    warnings: list[str]

    @property
    def pose(self) -> dict[str, float]:
        """Angles of the file's first keyframe by joint [rad, m], without those that are 0."""
        signs = {n: -1.0 if n in self.flipped else 1.0 for n in self.flat.pose}
        kept = {n for n, role in self.roles.joints.items() if role != "locked"}
        kept -= {w.joint for w in self.wheels.values()}
        return {n: signs[n] * v for n, v in self.flat.pose.items() if n in kept and v != 0}

    @property
    def data(self) -> mujoco.MjData:
        """The model in its reference pose."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        return data

    @property
    def mass(self) -> float:
        """Of the whole robot [kg]."""
        return float(self.model.body_subtreemass[0])

    @property
    def centre_of_mass(self) -> np.ndarray:
        """In the base frame, reference pose [m]."""
        data, base = self.data, self.model.body(self.roles.base).id
        return data.xmat[base].reshape(3, 3).T @ (data.subtree_com[0] - data.xpos[base])

    @property
    def height(self) -> float:
        """From the lowest to the highest point, reference pose [m]."""
        geoms = list(range(self.model.ngeom))
        low, high = (f(self.model, self.data, geoms) for f in (extent.lowest, extent.highest))
        return high - low if geoms else 0.0


def plan_import(
    path: Path,
    wish: Wish | None = None,
    meshes: tuple[Path, ...] = (),
    collisions: str = "box",
    exit_rule: Exit | None = None,
) -> Plan:
    """Read a model file and make a robot of it; what stands in the way is one InputError."""
    wish = wish or Wish()
    file = read_model(path, meshes)
    flat = flatten(file)
    _only_base(flat, wish)
    _put_up(flat, wish.up)
    model = flat.compile()
    before = float(model.body_subtreemass[0])
    try:
        roles = guess(model, file.motors, _ties(flat, model, file), wish)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith("--") else f"{path.name}: {said}") from None
    notes = list(flat.notes)
    _free_base(flat, roles, model, notes)
    for name in roles.of("locked"):
        flat.lock(name)
    _drop_still_ties(flat, roles)
    _put_front(flat, roles)
    flipped = _turn_joints(flat, roles)
    tracks = _tracks(flat.compile(), roles)
    _rolling_shapes(flat, roles)
    _no_dry_friction(flat, model, notes)
    _collide(flat, collisions, notes)
    _soles(flat, roles, notes)
    _used_meshes(flat)
    _stand(flat)
    _exclude_overlaps(flat, notes)
    final = flat.compile()
    if abs(final.body_subtreemass[0] - before) > 1e-6 * before:
        raise InputError(f"{path.name}: its mass changed on the way; please report this file")
    loops = _loops(file, roles, flipped)
    plan = Plan(
        path, flat, roles, final, _wheels(roles, exit_rule), tracks, loops,
        _equalities(flat), flipped, notes, list(roles.warnings),
    )  # fmt: skip
    _check_loops(plan)
    _look_over(plan, file)
    return plan


# --- the base


def _only_base(flat: FlatModel, wish: Wish) -> None:
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


def _put_up(flat: FlatModel, up: str | None) -> None:
    """Turn the whole robot so that what the file calls up is z."""
    if up is None:
        return
    if up not in UPS:
        raise InputError(f"--up: '{up}' is no direction; valid: {', '.join(UPS)}.")
    turn = Pose(np.zeros(3), np.array(UPS[up], dtype=float))
    for body in flat.world.findall("body"):
        set_pose(body, turn.then(pose_of(body)))


def _free_base(flat: FlatModel, roles: Roles, model: mujoco.MjModel, notes: list[str]) -> None:
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
        notes.append(f"a free joint was given to '{roles.base}'")
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


def _put_front(flat: FlatModel, roles: Roles) -> None:
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
    for wheel in _rolling(roles):
        wheel.place = wanted.T @ (wheel.place - (*old.place[:2], 0.0))
        wheel.axis = wanted.T @ wheel.axis


def _rolling(roles: Roles) -> list[WheelGuess]:
    return [*roles.wheels.values(), *(w for t in roles.tracks.values() for w in t.rollers)]


def _clean(turn: np.ndarray) -> np.ndarray:
    out = np.where(np.abs(turn) < 1e-12, 0.0, turn)
    return np.where(np.abs(np.abs(out) - 1) < 1e-12, np.sign(out), out)


# --- joints


def _turn_joints(flat: FlatModel, roles: Roles) -> list[str]:
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
        x = np.cross(axis, up)
        x /= np.linalg.norm(x)
        turn = _clean(np.column_stack([x, axis, np.cross(x, axis)]))
    if np.linalg.norm(place) > _SAME or not np.array_equal(turn, np.eye(3)):
        flat.reframe(wheel.body, Pose(place, turn))
    joint.set("pos", "0 0 0")
    joint.set("axis", "0 1 0")


def _no_dry_friction(flat: FlatModel, model: mujoco.MjModel, notes: list[str]) -> None:
    rough = []
    for joint in flat.each("joint"):
        if joint.get("type") == "free":
            continue
        j = model.joint(joint.get("name")).id
        if model.dof_frictionloss[model.jnt_dofadr[j]] > 0:
            joint.set("frictionloss", "0")
            rough.append(str(joint.get("name")))
    if rough:
        notes.append(f"dry friction left out (no law but MuJoCo's knows it): {_few(rough)}")


def _few(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# --- equations


def _ties(flat: FlatModel, model: mujoco.MjModel, file: ModelFile) -> list[set[str]]:
    """Joints that an equation couples."""
    out = [{g.joint, g.other} for g in file.gears]
    for tie in flat.tree.findall("equality/*"):
        ends = [tie.get("joint1"), tie.get("joint2")]
        if tie.tag == "joint":
            out.append({e for e in ends if e})
            continue
        paths = [_above(model, b) for b in _tied_bodies(tie, model)]
        first, second = map(set, paths)
        out.append(first ^ second)
    tendons = flat.tree.findall("tendon/fixed")
    return [*out, *({str(j.get("joint")) for j in t.findall("joint")} for t in tendons)]


def _tied_bodies(tie: ET.Element, model: mujoco.MjModel) -> list[int]:
    if tie.get("site1"):
        return [int(model.site_bodyid[model.site(tie.get(s)).id]) for s in ("site1", "site2")]
    names = [tie.get("body1"), tie.get("body2")]
    return [model.body(n).id if n else 0 for n in names]


def _above(model: mujoco.MjModel, b: int) -> list[str]:
    out = []
    while b > 0:
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        out += [model.joint(j).name for j in range(first, first + count)]
        b = int(model.body_parentid[b])
    return out


def _drop_still_ties(flat: FlatModel, roles: Roles) -> None:
    """Leave out closures between bodies that no longer move against each other."""
    if not roles.of("locked"):
        return
    model = flat.compile()
    for section in flat.tree.findall("equality"):
        for tie in [t for t in section if t.tag in ("connect", "weld")]:
            first, second = (int(model.body_weldid[b]) for b in _tied_bodies(tie, model))
            if first == second:
                section.remove(tie)


def _loops(file: ModelFile, roles: Roles, flipped: list[str]) -> dict[str, GearLoop]:
    loops = {}
    for gear in file.gears:
        if roles.joints.get(gear.joint) == "locked" or roles.joints.get(gear.other) == "locked":
            continue
        own, other = ((-1.0 if n in flipped else 1.0) for n in (gear.joint, gear.other))
        loops[gear.joint] = GearLoop(
            kind="gear", joint=gear.joint, other=gear.other,
            ratio=own * other * gear.ratio, offset=own * gear.offset,
        )  # fmt: skip
    return loops


def _equalities(flat: FlatModel) -> list[str]:
    out = []
    for tie in flat.tree.findall("equality/*"):
        ends = [tie.get(k) for k in ("body1", "body2", "joint1", "joint2", "site1", "site2")]
        out.append(f"{tie.tag} {' – '.join(e for e in ends if e)}")
    return out


def _check_loops(plan: Plan) -> None:
    """Refuse loops that cannot close; say which are open in the reference pose."""
    with quiet():
        spec = mujoco.MjSpec.from_string(plan.flat.text(), assets=plan.flat.assets)
        add_loops(spec, dict(plan.loops), plan.source.name)
        model = spec.compile()
    data = mujoco.MjData(model)
    start = data.qpos.copy()
    close_loops(model, data, plan.source.name)
    moved = float(np.abs(data.qpos - start).max()) if model.nq else 0.0
    if moved > 0:
        gap = closed_pose(model, start).worst
        plan.notes.append(
            f"closed loops are open in the reference pose; a run starts from the nearest pose that "
            f"closes them ({length(max(moved, gap))} or rad away at most)"
        )


# --- shapes


def _rolling_shapes(flat: FlatModel, roles: Roles) -> None:
    """Shapes of wheels and rollers are only drawn."""
    for wheel in _rolling(roles):
        body = flat.body(wheel.body)
        if wheel.geom:
            _only_seen(next(g for g in flat.each("geom") if g.get("name") == wheel.geom))
            continue
        seen = [g for g in _rigid_geoms(body) if not _collides(g)]
        for geom in _rigid_geoms(body):
            geom.set("contype", "0")
            geom.set("conaffinity", "0")
            if geom not in seen and not seen:
                _show(geom)


def _show(geom: ET.Element) -> None:
    rgba = numbers(geom.get("rgba", "0.5 0.5 0.5 1"), 4)
    if rgba[3] == 0:
        geom.set("rgba", row((*rgba[:3], 1.0)))


def _rigid_geoms(body: ET.Element) -> list[ET.Element]:
    still = [b for b in body.findall("body") if b.find("joint") is None]
    return [*body.findall("geom"), *(g for b in still for g in _rigid_geoms(b))]


def _collides(geom: ET.Element) -> bool:
    return geom.get("contype", "1") != "0" or geom.get("conaffinity", "1") != "0"


def _collide(flat: FlatModel, collisions: str, notes: list[str]) -> None:
    """Boxes for meshes that collide, or as the user says."""
    model = flat.compile()
    boxed = 0
    for body in list(flat.each("body")):
        for geom in body.findall("geom"):
            g = model.geom(geom.get("name")).id
            if not (model.geom_contype[g] or model.geom_conaffinity[g]):
                continue
            if collisions == "none":
                _only_seen(geom)
            elif collisions == "box" and int(model.geom_type[g]) in _BOXED:
                _box(body, geom, model, g)
                boxed += 1
    if boxed:
        notes.append(f"meshes and ellipsoids that collide became boxes around them: {boxed} "
                     "(--collisions mesh keeps them)")  # fmt: skip


def _only_seen(geom: ET.Element) -> None:
    geom.set("contype", "0")
    geom.set("conaffinity", "0")


def _box(body: ET.Element, geom: ET.Element, model: mujoco.MjModel, g: int) -> None:
    low, high = -model.geom_size[g], model.geom_size[g]
    if int(model.geom_type[g]) == mujoco.mjtGeom.mjGEOM_MESH:
        corners = extent.vertices(model, g)
        low, high = corners.min(axis=0), corners.max(axis=0)
    at = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
    at = at.then(Pose((low + high) / 2, np.eye(3)))
    name = str(geom.get("name"))
    keys = ("contype", "conaffinity", "friction", "condim", "class", "group", "priority")
    kept = {k: v for k in keys if (v := geom.get(k)) is not None}
    seen = numbers(geom.get("rgba", "0.5 0.5 0.5 1"), 4)[3] > 0
    box = ET.Element("geom", {"name": f"{name}_box", "type": "box", "mass": "0", **kept})
    box.set("rgba", "0.7 0.7 0.7 0")
    box.set("size", row(np.maximum((high - low) / 2, 1e-4)))
    set_pose(box, at)
    body.insert(list(body).index(geom), box)
    if seen:
        _only_seen(geom)
    else:
        body.remove(geom)


def _soles(flat: FlatModel, roles: Roles, notes: list[str]) -> None:
    """Give each foot a body of its own with its origin in the middle of what touches the ground.

    A shank with a ball at its end is a usual way to write a leg; gaits, margins and records ask
    where the ball is, not where the knee is. The ball moves to a body fixed to the shank, without
    mass (the shank keeps its inertia). A capsule gets a ball of its radius in its lower end and is
    one radius shorter there, so that both do not press on the same ground.
    """
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    moved = []
    for key, name in roles.feet.items():
        body = flat.body(name)
        geoms = [g for g in body.findall("geom") if _collides(g)]
        if not geoms or body.find("joint") is None:  # a foot of its own, fixed to the shank
            continue
        heights = [extent.lowest(model, data, [model.geom(g.get("name")).id]) for g in geoms]
        sole = geoms[int(np.argmin(heights))]
        g = model.geom(sole.get("name")).id
        kind, radius = int(model.geom_type[g]), float(model.geom_size[g, 0])
        at = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
        if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            sole = _tip(body, sole, model, data, g)
            at = pose_of(sole)
        elif kind != mujoco.mjtGeom.mjGEOM_SPHERE:
            roles.warnings.append(
                f"foot {key} ends in no ball: gaits take the middle of the lowest shape of "
                f"'{name}' as its place, or its lower end where it is long; feet.{key}.point of "
                "robot.yaml says another"
            )
            continue
        elif np.linalg.norm(at.place) < 0.1 * radius:
            continue
        else:
            body.remove(sole)
        taken = {b.get("name") for b in flat.each("body")}
        foot = f"{name}_sole"
        while foot in taken:
            foot += "_"
        child = ET.SubElement(body, "body", name=foot)
        set_pose(child, Pose(at.place, np.eye(3)))
        set_pose(sole, Pose(np.zeros(3), np.eye(3)))
        sole.set("mass", "0")
        child.append(sole)
        roles.feet[key] = foot
        roles.why[f"body {foot}"] = f"ball at the end of {name}, {roles.why[f'body {name}']}"
        moved.append(name)
    if moved:
        notes.append(f"feet got bodies of their own, in the balls at the ends of {_few(moved)}")


def _tip(
    body: ET.Element, geom: ET.Element, model: mujoco.MjModel, data: mujoco.MjData, g: int
) -> ET.Element:
    """A ball in the lower end of a capsule, which gets one radius shorter there."""
    radius, half = (float(v) for v in model.geom_size[g, :2])
    down = -1.0 if data.geom_xmat[g, 8] > 0 else 1.0
    at = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
    keys = ("contype", "conaffinity", "friction", "condim", "class", "group", "priority", "rgba")
    kept = {k: v for k in keys if (v := geom.get(k)) is not None}
    ball = ET.Element("geom", {"name": f"{geom.get('name')}_tip", "type": "sphere", **kept})
    ball.set("size", row([radius]))
    set_pose(ball, Pose(at.then(Pose(np.array([0, 0, down * half]), np.eye(3))).place, np.eye(3)))
    cut = min(radius, 2 * half) / 2
    geom.set("size", row([radius, max(half - cut, 1e-4)]))
    set_pose(geom, at.then(Pose(np.array([0, 0, -down * cut]), np.eye(3))))
    return ball


def _used_meshes(flat: FlatModel) -> None:
    """Leave out meshes and materials that nothing uses."""
    for tag, key in (("mesh", "mesh"), ("material", "material")):
        used = {e.get(key) for e in flat.tree.iter() if e.get(key)}
        for section in flat.tree.findall("asset"):
            for element in section.findall(tag):
                if element.get("name") not in used:
                    section.remove(element)
    files = {m.get("file") for m in flat.tree.findall("asset/mesh")}
    flat.assets = {name: data for name, data in flat.assets.items() if name in files}


def _stand(flat: FlatModel) -> None:
    """Lift or lower the robot so that its lowest point is at z = 0."""
    body = flat.world.find("body")
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    low = extent.lowest(model, data, list(range(model.ngeom)))
    free = body is not None and any(j.get("type") == "free" for j in body.findall("joint"))
    if body is not None and free and np.isfinite(low):
        pose = pose_of(body)
        z = round(float(pose.place[2] - low), 6)
        set_pose(body, Pose(np.array([*pose.place[:2], z]), pose.turn))


def _exclude_overlaps(flat: FlatModel, notes: list[str]) -> None:
    """Bodies that touch in the reference pose do not collide."""
    model = flat.compile()
    data = mujoco.MjData(model)
    mujoco.mj_fwdPosition(model, data)
    pairs = set()
    for contact in data.contact[: data.ncon]:
        first, second = (int(model.geom_bodyid[g]) for g in contact.geom)
        pairs.add((min(first, second), max(first, second)))
    section = flat.section("contact") if pairs else None
    for first, second in sorted(pairs):
        ET.SubElement(section, "exclude", body1=model.body(first).name,  # type: ignore[arg-type]
                      body2=model.body(second).name)  # fmt: skip
    if pairs:
        shown = [f"{model.body(a).name} and {model.body(b).name}" for a, b in sorted(pairs)]
        notes.append(f"overlap in the reference pose and do not collide: {_few(shown, 3)}")


# --- organs


def _wheels(roles: Roles, exit_rule: Exit | None) -> dict[str, Wheel]:
    out = {}
    for key, guess_ in roles.wheels.items():
        radius, width = _short(guess_.round.radius), _short(guess_.round.width)
        fields = {"body": guess_.body, "joint": guess_.joint, "radius": radius, "width": width,
                  "shape": guess_.shape, "exit": exit_rule}  # fmt: skip
        out[key] = Wheel.model_validate(fields)
    return out


def _tracks(model: mujoco.MjModel, roles: Roles) -> dict[str, Track]:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    out = {}
    for key, track in roles.tracks.items():
        body = model.body(track.body).id
        turn, place = data.xmat[body].reshape(3, 3), data.xpos[body]
        points = [turn.T @ (r.place + r.round.middle * r.axis - place) for r in track.rollers]
        rollers = [
            Roller(x=_short(p[0]), z=_short(p[2]), radius=_short(r.round.radius))
            for p, r in zip(points, track.rollers, strict=True)
        ]
        out[key] = Track(
            body=track.body, joint=track.rollers[0].joint, sprocket=rollers[0], idler=rollers[-1],
            road_wheels=tuple(rollers[1:-1]), y=_short(float(np.mean([p[1] for p in points]))),
            width=_short(max(r.round.width for r in track.rollers)),
        )  # fmt: skip
    return out


def _short(value: float) -> float:
    return float(f"{value:.6g}") if abs(value) > 1e-9 else 0.0


def _zero_beyond_stops(model: mujoco.MjModel, name: str) -> bool:
    j = model.joint(name).id
    low, high = model.jnt_range[j]
    return bool(model.jnt_limited[j]) and not low - 1e-6 <= 0 <= high + 1e-6


def _look_over(plan: Plan, file: ModelFile) -> None:
    say = plan.warnings.append
    if not 0.05 < plan.mass < 1e5:
        say(f"the mass is {plan.mass:.3g} kg: are the units right?")
    if not 0.02 < plan.height < 50:
        say(f"the robot is {plan.height:.3g} m high: are the lengths in metres?")
    moving = [n for n, r in plan.roles.joints.items() if r != "locked"]
    if moving and not file.motors:
        say("the file names no motors, so that driven and passive joints are guessed by shape and "
            "name")  # fmt: skip
    beyond = [n for n in moving if _zero_beyond_stops(plan.model, n)]
    if beyond:
        say(f"zero is beyond the stops of {_few(beyond)}: robot.joints of a scenario says where "
            "they start; gaits stand with all joints at zero and cannot be used")  # fmt: skip
    places = [w.place for w in plan.roles.wheels.values()]
    if len(places) >= 3 and not plan.roles.fixed:
        x = plan.centre_of_mass + plan.data.xpos[plan.model.body(plan.roles.base).id]
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        if np.any(x[:2] < low[:2]) or np.any(x[:2] > high[:2]):
            say("the centre of mass is not above the wheels: it will tip over")
