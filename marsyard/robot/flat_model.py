"""A model as one flat MJCF tree that can be changed safely and is written in full precision.

`flatten` takes MuJoCo's own account of a model (`MjSpec.to_xml`), which has six digits and may hold
nested `<frame>`s, dissolves the frames, gives every part a name, and puts the compiled model's
numbers in: poses, axes, limits, masses. What belongs to a scene and not to a robot (options,
lights, the floor, actuators, sensors, keyframes) is left out and said.

The changes keep the physics:

    reframe   a body's frame moves; everything in it keeps its place in the world
    flip      a joint counts the other way round: axis, limits, rest, couplings
    lock      a joint is left out, its body stays as in the reference pose
    bend      a joint counts from another angle: its zero and the reference pose are there
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.robot.mesh_file import MeshError, mesh_bytes
from marsyard.robot.model_file import ModelFile, mesh_path, quiet
from marsyard.robot.poses import Pose, row

_KEPT = ("compiler", "default", "asset", "worldbody", "contact", "equality", "tendon")
_BAKED = ("inertiafromgeom", "settotalmass", "boundmass", "boundinertia", "balanceinertia",
          "meshdir", "texturedir", "assetdir", "strippath", "fusestatic", "discardvisual",
          "autolimits", "alignfree", "eulerseq", "coordinate", "saveinertial")  # fmt: skip
_TURNS = ("quat", "euler", "axisangle", "xyaxes", "zaxis", "fromto")
_POSED = ("body", "geom", "site", "camera", "light", "inertial")


class FlatModel:
    """The tree, with its mesh files, and changes to it."""

    def __init__(self, tree: ET.Element, assets: dict[str, bytes], file: ModelFile) -> None:
        self.tree = tree
        self.assets = assets
        self.file = file
        self.notes: list[str] = []
        #: angles of the first keyframe by joint [rad, m], where the model has one
        self.pose: dict[str, float] = {}

    @property
    def world(self) -> ET.Element:
        """The body of the world."""
        world = self.tree.find("worldbody")
        assert world is not None
        return world

    def each(self, tag: str) -> Iterator[ET.Element]:
        """All elements of a kind in the world."""
        return self.world.iter(tag)

    def body(self, name: str) -> ET.Element:
        """A body by name."""
        return next(b for b in self.each("body") if b.get("name") == name)

    def joint(self, name: str) -> ET.Element:
        """A joint by name."""
        return next(j for j in self.each("joint") if j.get("name") == name)

    def parent(self, element: ET.Element) -> ET.Element:
        """What holds an element."""
        return next(p for p in self.world.iter() if element in list(p))

    def section(self, tag: str) -> ET.Element:
        """A part of the file, made where it is missing."""
        found = self.tree.find(tag)
        return ET.SubElement(self.tree, tag) if found is None else found

    def text(self) -> str:
        """The file."""
        for tag in ("asset", "contact", "equality", "tendon"):
            for section in self.tree.findall(tag):
                if len(section) == 0:
                    self.tree.remove(section)
        tree = ET.ElementTree(self.tree)
        ET.indent(tree, "  ")
        return ET.tostring(self.tree, encoding="unicode") + "\n"

    def compile(self) -> mujoco.MjModel:
        """The compiled model; errors of MuJoCo become an InputError."""
        try:
            with quiet():
                return mujoco.MjSpec.from_string(self.text(), assets=self.assets).compile()
        except (ValueError, OSError) as error:
            raise self.file.sentence(str(error)) from None

    # --- changes

    def reframe(self, name: str, change: Pose) -> None:
        """Put the frame of a body to `change` in its old frame."""
        body = self.body(name)
        set_pose(body, pose_of(body).then(change))
        back = change.inverse()
        for child in body:
            if child.tag in _POSED:
                set_pose(child, back.then(pose_of(child)))
            elif child.tag == "joint" and child.get("type") != "free":
                place = numbers(child.get("pos"), 3)
                child.set("pos", row(back.turn @ place + back.place))
                child.set("axis", row(back.turn @ numbers(child.get("axis"), 3)))
        for tie in self.tree.findall("equality/*"):
            _reframe_tie(tie, name, change)

    def flip(self, name: str) -> None:
        """Let a joint count the other way round."""
        joint = self.joint(name)
        joint.set("axis", row(-numbers(joint.get("axis"), 3)))
        for key in ("range", "actuatorfrcrange"):
            if key in joint.attrib:
                low, high = numbers(joint.get(key), 2)
                joint.set(key, row((-high, -low)))
        for key in ("ref", "springref"):
            if key in joint.attrib:
                joint.set(key, row(-numbers(joint.get(key), 1)))
        for tie in self.tree.findall("equality/joint"):
            powers = numbers(tie.get("polycoef", "0 1 0 0 0"), 5)
            if tie.get("joint1") == name:
                powers = -powers
            if tie.get("joint2") == name:
                powers = powers * (1, -1, 1, -1, 1)
            tie.set("polycoef", row(powers))
        for end in self.tree.findall("tendon/fixed/joint"):
            if end.get("joint") == name:
                end.set("coef", row(-numbers(end.get("coef"), 1)))

    def bend(self, name: str, angle: float) -> None:
        """Let a joint count from `angle` [rad, m]: there is its zero, and the reference pose."""
        joint = self.joint(name)
        body = self.parent(joint)
        axis, place = (numbers(joint.get(key), 3) for key in ("axis", "pos"))
        offset = angle - numbers(joint.get("ref"), 1)[0]
        if joint.get("type", "hinge") == "slide":
            change = Pose(offset * axis, np.eye(3))
        else:
            quat = np.array([np.cos(offset / 2), *(np.sin(offset / 2) * axis)])
            turn = Pose.of_quat(np.zeros(3), quat).turn
            change = Pose(place - turn @ place, turn)
        set_pose(body, pose_of(body).then(change))
        joint.attrib.pop("ref", None)
        joint.set("springref", row(numbers(joint.get("springref"), 1) - angle))
        if "range" in joint.attrib:
            joint.set("range", row(numbers(joint.get("range"), 2) - angle))
        for tie in self.tree.findall("equality/joint"):
            powers = np.polynomial.Polynomial(numbers(tie.get("polycoef", "0 1 0 0 0"), 5))
            if tie.get("joint2") == name:
                powers = powers(np.polynomial.Polynomial([offset, 1.0]))
            if tie.get("joint1") == name:
                powers = powers - offset
            tie.set("polycoef", row([*powers.coef, *[0.0] * (5 - len(powers.coef))]))
        if name in self.pose:
            self.pose[name] -= angle

    def lock(self, name: str) -> None:
        """Leave a joint out."""
        joint = self.joint(name)
        self.parent(joint).remove(joint)
        for parent in self.tree.findall("equality"):
            for tie in list(parent):
                if tie.tag == "joint" and name in (tie.get("joint1"), tie.get("joint2")):
                    parent.remove(tie)
        for parent in self.tree.findall("tendon"):
            for tendon in parent.findall("fixed"):
                if any(end.get("joint") == name for end in tendon):
                    parent.remove(tendon)

    def drop_loose(self) -> None:
        """Leave out contacts, closures and tendons of parts that are no longer there."""
        names = {t: {e.get("name") for e in self.each(t)} for t in ("geom", "joint", "site")}
        names["body"] = {"world", *(b.get("name") for b in self.each("body"))}
        for tag in ("contact", "equality", "tendon"):
            for section in self.tree.findall(tag):
                for element in list(section):
                    if any(_is_loose(e, names) for e in element.iter()):
                        section.remove(element)


def _is_loose(element: ET.Element, names: dict[str, set[str | None]]) -> bool:
    keys = ((key, key.rstrip("12")) for key in element.attrib)
    return any(kind in names and element.get(key) not in names[kind] for key, kind in keys)


def pose_of(element: ET.Element) -> Pose:
    """Where an element stands in its body."""
    quat = numbers(element.get("quat", "1 0 0 0"), 4)
    return Pose.of_quat(numbers(element.get("pos", "0 0 0"), 3), quat)


def set_pose(element: ET.Element, pose: Pose) -> None:
    """Put an element somewhere in its body."""
    for key in ("pos", *_TURNS):
        element.attrib.pop(key, None)
    element.attrib.update(pose.attributes())
    if element.tag == "inertial":
        element.set("pos", row(pose.place))


def numbers(text: str | None, count: int) -> np.ndarray:
    """Numbers of an attribute; zeros where there are none."""
    values = [float(part) for part in (text or "").split()]
    return np.array([*values, *[0.0] * (count - len(values))])


def _reframe_tie(tie: ET.Element, name: str, change: Pose) -> None:
    first, second = tie.get("body1") == name, tie.get("body2") == name
    back = change.inverse()
    holds_anchor = first if tie.tag == "connect" else second
    if "anchor" in tie.attrib and holds_anchor:
        tie.set("anchor", row(back.turn @ numbers(tie.get("anchor"), 3) + back.place))
    if tie.tag == "weld" and "relpose" in tie.attrib and (first or second):
        values = numbers(tie.get("relpose"), 7)
        if np.any(values[3:]):
            pose = Pose.of_quat(values[:3], values[3:])
            pose = back.then(pose) if first else pose
            pose = pose.then(change) if second else pose
            tie.set("relpose", row((*pose.place, *pose.quat())))


# --- from a file


def flatten(file: ModelFile) -> FlatModel:
    """The flat tree of a model file."""
    # not a copy of it: MuJoCo leaves broken references out of copies without a word
    spec = file.spec
    _name_parts(spec)
    model = file.compile()
    with quiet():
        tree = ET.fromstring(spec.to_xml())
    flat = FlatModel(tree, dict(file.assets), file)
    flat.notes += file.notes
    if file.kind == "mjcf":
        _take_meshes(flat, spec)
    _strip(flat)
    _dissolve(flat.world)
    _put_numbers(flat, model)
    if model.nkey:
        flat.pose = _keyframe(model)
    return flat


def _keyframe(model: mujoco.MjModel) -> dict[str, float]:
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) in kinds]
    return {model.joint(j).name: float(model.key_qpos[0][model.jnt_qposadr[j]]) for j in joints}


def _name_parts(spec: mujoco.MjSpec) -> None:
    """A name for every body, joint, geom and site that has none."""
    for kind, things in (("body", spec.bodies), ("joint", spec.joints), ("geom", spec.geoms),
                         ("site", spec.sites)):  # fmt: skip
        taken = {t.name for t in things}
        for thing in things:
            if thing.name:
                continue
            owner = thing.parent.name or "world"
            stem, k = f"{owner}_{kind}", 1
            name = stem
            while name in taken:
                k += 1
                name = f"{stem}_{k}"
            thing.name = name
            taken.add(name)


def _take_meshes(flat: FlatModel, spec: mujoco.MjSpec) -> None:
    """The bytes of all files that the model refers to, under plain names."""
    held = spec.assets
    for element in flat.tree.findall("asset/mesh"):
        file = element.get("file")
        if file is None:
            continue
        path = mesh_path(spec, file, spec.meshdir)
        try:
            ending, data = (path.suffix, held[file]) if file in held else mesh_bytes(path)
        except MeshError as error:
            raise InputError(f"{flat.file.path.name}, <mesh>: {error}") from None
        element.set("name", element.get("name") or path.stem)
        element.set("file", _plain(path.stem, ending, data, flat.assets))
        element.attrib.pop("content_type", None)
    asset = flat.tree.find("asset")
    for element in list(asset) if asset is not None else []:
        # pictures are not shown anywhere
        if element.tag in ("texture", "hfield", "skin", "model"):
            asset.remove(element)  # type: ignore[union-attr]
        element.attrib.pop("texture", None)
        for layer in element.findall("layer"):
            element.remove(layer)


def _plain(stem: str, ending: str, data: bytes, assets: dict[str, bytes]) -> str:
    name, k = f"{stem}{ending}", 1
    while assets.get(name, data) != data:
        k += 1
        name = f"{stem}_{k}{ending}"
    assets[name] = data
    return name


def _strip(flat: FlatModel) -> None:
    """Leave out what belongs to a scene."""
    gone = [e for e in flat.tree if e.tag not in _KEPT]
    said = {"actuator": "actuator", "sensor": "sensor", "keyframe": "keyframe",
            "deformable": "deformable", "extension": "plugin", "custom": "number"}  # fmt: skip
    left = [_count(len(e), said[e.tag]) for e in gone if e.tag in said and len(e)]
    for element in gone:
        flat.tree.remove(element)
    compiler = flat.section("compiler")
    for key in _BAKED:
        compiler.attrib.pop(key, None)
    compiler.set("angle", "radian")
    floor = [e for e in flat.world if e.tag in ("geom", "site", "light", "camera")]
    for element in floor:
        flat.world.remove(element)
    if any(e.tag == "geom" for e in floor):
        shapes = _count(sum(e.tag == "geom" for e in floor), "shape")
        left.append(f"{shapes} of the world (the ground comes from the scenario)")
    for body in flat.each("body"):
        for element in [e for e in body if e.tag in ("light", "camera", "plugin", "composite")]:
            body.remove(element)
    if left:
        flat.notes.append(f"left out: {', '.join(left)}")
    flat.drop_loose()


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _dissolve(element: ET.Element) -> None:
    """Put what stands in frames where the frames stood."""
    k = 0
    while k < len(element):
        child = element[k]
        if child.tag == "frame":
            for part in child:
                if child.get("childclass"):
                    key = "childclass" if part.tag in ("body", "frame") else "class"
                    part.attrib.setdefault(key, child.get("childclass", ""))
            inner = list(child)
            element.remove(child)
            for part in reversed(inner):
                element.insert(k, part)
        else:
            _dissolve(child)
            k += 1


def _put_numbers(flat: FlatModel, model: mujoco.MjModel) -> None:
    """Poses, axes, limits, sizes and masses of the compiled model."""
    for body in flat.each("body"):
        b = model.body(body.get("name")).id
        set_pose(body, Pose.of_quat(model.body_pos[b], model.body_quat[b]))
        for old in body.findall("inertial"):
            body.remove(old)
        if model.body_mass[b] > 0:
            inertial = ET.Element("inertial", mass=row([model.body_mass[b]]))
            set_pose(inertial, Pose.of_quat(model.body_ipos[b], model.body_iquat[b]))
            inertial.set("diaginertia", row(model.body_inertia[b]))
            body.insert(0, inertial)
    for joint in flat.each("joint"):
        _put_joint(joint, model)
    for geom in flat.each("geom"):
        _put_geom(geom, model)
    for site in flat.each("site"):
        s = model.site(site.get("name")).id
        set_pose(site, Pose.of_quat(model.site_pos[s], model.site_quat[s]))


def _put_joint(joint: ET.Element, model: mujoco.MjModel) -> None:
    j = model.joint(joint.get("name")).id
    if int(model.jnt_type[j]) == mujoco.mjtJoint.mjJNT_FREE:
        return
    joint.set("pos", row(model.jnt_pos[j]))
    joint.set("axis", row(model.jnt_axis[j]))
    if model.jnt_limited[j]:
        joint.set("range", row(model.jnt_range[j]))
        joint.set("limited", "true")
    else:
        joint.attrib.pop("range", None)
        joint.set("limited", "false")
    if int(model.jnt_type[j]) != mujoco.mjtJoint.mjJNT_BALL:
        at = model.jnt_qposadr[j]
        for key, value in (("ref", model.qpos0[at]), ("springref", model.qpos_spring[at])):
            joint.attrib.pop(key, None)
            if value != 0:
                joint.set(key, row([value]))


def _put_geom(geom: ET.Element, model: mujoco.MjModel) -> None:
    g = model.geom(geom.get("name")).id
    pose = Pose.of_quat(model.geom_pos[g], model.geom_quat[g])
    mesh = int(model.geom_dataid[g])
    if int(model.geom_type[g]) == mujoco.mjtGeom.mjGEOM_MESH:
        # MuJoCo moves a mesh to its principal axes and the geom with it
        inner = Pose.of_quat(model.mesh_pos[mesh], model.mesh_quat[mesh])
        pose = pose.then(inner.inverse())
    elif int(model.geom_type[g]) != mujoco.mjtGeom.mjGEOM_HFIELD:
        geom.attrib.pop("mesh", None)
        geom.set("type", mujoco.mjtGeom(int(model.geom_type[g])).name[7:].lower())
        geom.set("size", row(model.geom_size[g]))
    set_pose(geom, pose)
