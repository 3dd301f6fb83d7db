"""A robot's tree of bodies as URDF, with its meshes.

Each body is a link with the body's name and frame. The root is `base_link`, an empty link fixed to
the base (ROS's kinematics do not take a root with mass), unless the base has that name itself, or
`world` for a robot that is tied to the world. Joints keep their names and count as in the results:
the frame of a joint's child stands at

    p = p_PB + R_PB a,   R = R_PB R(axis, −q₀)

in the parent's frame, with p_PB, R_PB the body in its parent in the reference pose, a the joint's
anchor in the body and q₀ its value in the reference pose. A body with several joints, or whose
anchor is not its origin, gets links in between, called BODY_JOINT, of a milligram each: simulators
refuse links that move without a mass.

What URDF cannot say is noted as a comment: closed loops and couplings, springs, armature, bodies
that float beside the robot. A ball joint becomes one of type `floating`.

Boxes, balls and cylinders stay what they are; capsules, ellipsoids and meshes are written as binary
STL [m]. Format: wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from marsyard.drawing.meshes import geom_mesh, seen_geoms, wheel_bodies
from marsyard.files.replacing import replacing
from marsyard.robot.poses import Pose, row

ROOT = "base_link"
WORLD = "world"
#: folder of the meshes beside the file
MESHES = "meshes"
#: limits of a joint that has none: URDF wants numbers [N·m or N; rad/s or m/s; m]
_EFFORT, _RATE, _WAY = 1e6, 1e3, 1e3
#: mass [kg] and moments of inertia [kg·m²] of a link between two joints of a body
_TINY = 1e-6, 1e-9

_FREE, _BALL, _SLIDE, _HINGE = (int(getattr(mujoco.mjtJoint, f"mjJNT_{n}"))
                                for n in ("FREE", "BALL", "SLIDE", "HINGE"))  # fmt: skip
_BOX, _SPHERE, _CYLINDER = (int(getattr(mujoco.mjtGeom, f"mjGEOM_{n}"))
                            for n in ("BOX", "SPHERE", "CYLINDER"))  # fmt: skip


class Urdf(NamedTuple):
    """The file, the meshes it names by file name, and what it cannot say."""

    text: str
    meshes: dict[str, bytes]
    notes: tuple[str, ...]


def write_urdf(model: mujoco.MjModel, base: str | None, folder: Path, name: str) -> list[Path]:
    """Write `robot.urdf` and `meshes/*.stl` into a folder; the files written."""
    made = urdf_of(model, base, name)
    written = []
    for mesh, data in made.meshes.items():
        path = folder / MESHES / mesh
        with replacing(path) as part:
            part.write_bytes(data)
        written.append(path)
    path = folder / "robot.urdf"
    with replacing(path) as part:
        part.write_text(made.text, encoding="utf-8")
    return [path, *written]


def urdf_of(model: mujoco.MjModel, base: str | None, name: str) -> Urdf:
    """A compiled model as URDF; `base` is the name of its base body [the first]."""
    return _Writer(model, base).write(name)


def body_name(model: mujoco.MjModel, body: int) -> str:
    """Name of a body, which is that of its link and frame."""
    return model.body(body).name or f"body{body}"


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    """Name of a joint."""
    return model.joint(joint).name or f"joint{joint}"


def inner_link(model: mujoco.MjModel, joint: int) -> str | None:
    """The link that a joint moves where that is not yet its body: another joint follows, or the
    joint's anchor is not the body's origin."""
    body = int(model.jnt_bodyid[joint])
    last = int(model.body_jntadr[body] + model.body_jntnum[body]) - 1
    if floats(model, body) or (joint == last and not np.any(model.jnt_pos[joint])):
        return None
    return f"{body_name(model, body)}_{joint_name(model, joint)}"


def base_of(model: mujoco.MjModel, base: str | None) -> int:
    """Number of the base body."""
    return int(model.body(base).id) if base else min(1, model.nbody - 1)


def has_own_root(model: mujoco.MjModel, base: int) -> bool:
    """Whether `base_link` is a link beside the base, which is not called so itself."""
    return body_name(model, base) != ROOT


def floats(model: mujoco.MjModel, body: int) -> bool:
    """Whether a body has a free joint."""
    first = int(model.body_jntadr[body])
    return first >= 0 and int(model.jnt_type[first]) == _FREE


class _Writer:
    def __init__(self, model: mujoco.MjModel, base: str | None) -> None:
        self.model, self.base = model, base_of(model, base)
        self.apart = has_own_root(model, self.base)
        self.root = ET.Element("robot")
        self.meshes: dict[str, bytes] = {}
        self.notes: list[str] = []
        self.seen = set(seen_geoms(model))
        self.colliding = self._colliding()

    def write(self, name: str) -> Urdf:
        self.root.set("name", name)
        # for readers that use MuJoCo: no link is left out or merged
        hints = ET.SubElement(ET.SubElement(self.root, "mujoco"), "compiler")
        hints.attrib.update(fusestatic="false", discardvisual="false", strippath="false")
        tree = int(self.model.body_rootid[self.base])
        loose = floats(self.model, tree)
        if not loose:
            self._link(WORLD, None)
        elif tree == self.base and self.apart:
            self._link(ROOT, None)
        for body in range(1, self.model.nbody):
            if loose and int(self.model.body_rootid[body]) != tree:
                continue
            self._body(body, loose and body == tree)
        if self.apart and not (loose and tree == self.base):
            # the base is not the root: its frame hangs on it
            self._link(ROOT, None)
            self._joint(f"{ROOT}_fixed", "fixed", body_name(self.model, self.base), ROOT, _ORIGIN)
        self._note_rest(tree, loose)
        for note in self.notes:
            self.root.insert(0, ET.Comment(f" {note.replace('--', '- -')} "))
        ET.indent(self.root, "  ")
        text = '<?xml version="1.0"?>\n' + ET.tostring(self.root, encoding="unicode") + "\n"
        return Urdf(text, self.meshes, tuple(self.notes))

    def _colliding(self) -> set[int]:
        """Geoms that collide; marsyard's wheels do so by their roles, here by what is drawn."""
        model = self.model
        found = set(np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist())
        for body in wheel_bodies(model):
            geoms = np.flatnonzero(model.geom_bodyid == body).tolist()
            if not found.intersection(geoms):
                found.add(max(geoms, key=lambda g: float(model.geom_rbound[g])))
        return found

    # --- links

    def _body(self, body: int, is_root: bool) -> None:
        model, name = self.model, body_name(self.model, body)
        self._link(name, body)
        if is_root:
            if body == self.base and self.apart:
                self._joint(f"{name}_fixed", "fixed", ROOT, name, _ORIGIN)
            return
        up = int(model.body_parentid[body])
        parent = body_name(model, up) if up else WORLD
        place = Pose.of_quat(model.body_pos[body], model.body_quat[body])
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        if not model.body_jntnum[body]:
            self._joint(f"{name}_fixed", "fixed", parent, name, place)
            return
        # one joint after the other, each about its own anchor
        for joint in joints:
            anchor = model.jnt_pos[joint]
            at, back = Pose(anchor, np.eye(3)), Pose(-anchor, np.eye(3))
            child = inner_link(model, joint) or name
            if child != name:
                _inertial(self._link(child, None), _ORIGIN, _TINY[0], np.full(3, _TINY[1]))
            self._moving(joint, parent, child, place.then(at))
            parent, place = child, back
        if parent != name:
            self._joint(f"{name}_fixed", "fixed", parent, name, place)

    def _link(self, name: str, body: int | None) -> ET.Element:
        link = ET.SubElement(self.root, "link", name=name)
        if body is None:
            return link
        model = self.model
        if model.body_mass[body] > 0:
            centre = Pose.of_quat(model.body_ipos[body], model.body_iquat[body])
            _inertial(link, centre, model.body_mass[body], model.body_inertia[body])
        for geom in np.flatnonzero(model.geom_bodyid == body).tolist():
            if geom in self.seen:
                self._shape(link, "visual", geom)
            if geom in self.colliding:
                self._shape(link, "collision", geom)
        return link

    def _shape(self, link: ET.Element, tag: str, geom: int) -> None:
        model, kind = self.model, int(self.model.geom_type[geom])
        size = model.geom_size[geom]
        what: dict[str, str]
        if kind == _BOX:
            shape, what = "box", {"size": row(2 * size)}
        elif kind == _SPHERE:
            shape, what = "sphere", {"radius": row(size[:1])}
        elif kind == _CYLINDER:
            shape, what = "cylinder", {"radius": row(size[:1]), "length": row(2 * size[1:2])}
        else:
            file = self._mesh(geom)
            if file is None:
                return
            shape, what = "mesh", {"filename": f"{MESHES}/{file}"}
        element = ET.SubElement(link, tag)
        _origin(element, Pose.of_quat(model.geom_pos[geom], model.geom_quat[geom]))
        ET.SubElement(ET.SubElement(element, "geometry"), shape, attrib=what)
        if tag == "visual":
            material = int(model.geom_matid[geom])
            rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
            colour = ET.SubElement(element, "material", name=f"colour{geom}")
            ET.SubElement(colour, "color", rgba=row(np.round(rgba.astype(float), 4)))

    def _mesh(self, geom: int) -> str | None:
        """File name of a geom's triangles; None for planes and height fields."""
        mesh = geom_mesh(self.model, geom)
        if mesh is None:
            return None
        body = body_name(self.model, int(self.model.geom_bodyid[geom]))
        file = f"{_plain(body)}_{geom}.stl"
        data = mesh.export(file_type="stl")
        assert isinstance(data, bytes)
        self.meshes[file] = data
        return file

    # --- joints

    def _moving(self, joint: int, parent: str, child: str, place: Pose) -> None:
        model, kind = self.model, int(self.model.jnt_type[joint])
        name, axis = joint_name(model, joint), model.jnt_axis[joint]
        if kind in (_BALL, _FREE):
            self._joint(name, "floating", parent, child, place)
            if kind == _BALL:
                self.notes.append(
                    f"joint {name} is a ball joint: it is written as type "
                    f"'floating', which has too many degrees of freedom"
                )
            return
        zero, limited = float(model.qpos0[model.jnt_qposadr[joint]]), model.jnt_limited[joint]
        if kind == _HINGE:
            place = place.then(turned(axis, -zero))
            word = "revolute" if limited else "continuous"
        else:
            place = place.then(Pose(-zero * axis, np.eye(3)))
            word = "prismatic"
        element = self._joint(name, word, parent, child, place)
        ET.SubElement(element, "axis", xyz=row(axis))
        limit: dict[str, Any] = {"effort": _EFFORT, "velocity": _RATE}
        if model.jnt_actfrclimited[joint]:
            limit["effort"] = np.abs(model.jnt_actfrcrange[joint]).max()
        if limited:
            limit["lower"], limit["upper"] = model.jnt_range[joint]
        elif kind == _SLIDE:
            limit["lower"], limit["upper"] = -_WAY, _WAY
        ET.SubElement(element, "limit", attrib={k: row([v]) for k, v in limit.items()})
        dof = int(model.jnt_dofadr[joint])
        losses = {"damping": model.dof_damping[dof], "friction": model.dof_frictionloss[dof]}
        if any(losses.values()):
            ET.SubElement(element, "dynamics", attrib={k: row([v]) for k, v in losses.items()})

    def _joint(self, name: str, kind: str, parent: str, child: str, place: Pose) -> ET.Element:
        joint = ET.SubElement(self.root, "joint", name=name, type=kind)
        _origin(joint, place)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    # --- what is not said

    def _note_rest(self, tree: int, loose: bool) -> None:
        model = self.model
        bodies = range(1, model.nbody)
        beside = [body_name(model, b) for b in bodies if loose and model.body_rootid[b] != tree]
        sprung = [joint_name(model, j) for j in range(model.njnt) if np.any(model.jnt_stiffness[j])]
        geared = [joint_name(model, j) for j in range(model.njnt)
                  if model.jnt_type[j] in (_HINGE, _SLIDE)
                  and model.dof_armature[model.jnt_dofadr[j]] > 0]  # fmt: skip
        ties = [model.equality(e).name or f"equality{e}" for e in range(model.neq)]
        for names, what in (
            (ties, "closed loops and joint couplings, left out"),
            (sprung, "joints whose springs are left out"),
            (geared, "joints whose motors' inertia (armature) is left out"),
            (beside, "bodies outside of the robot's tree, left out"),
        ):
            if names:
                self.notes.append(f"{what}: {', '.join(names)}")


_ORIGIN = Pose.none()


def turned(axis: np.ndarray, angle: float) -> Pose:
    """A turn about an axis through the origin [rad]."""
    quat = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quat, np.asarray(axis, dtype=float), angle)
    return Pose.of_quat(np.zeros(3), quat)


def _inertial(link: ET.Element, centre: Pose, mass: float, moments: np.ndarray) -> None:
    """Mass [kg] and principal moments [kg·m²] of a link about its centre of mass."""
    element = ET.SubElement(link, "inertial")
    _origin(element, centre)
    ET.SubElement(element, "mass", value=row([mass]))
    tensor = dict(zip(("ixx", "iyy", "izz"), moments, strict=True)) | dict.fromkeys(
        ("ixy", "ixz", "iyz"), 0.0
    )
    ET.SubElement(element, "inertia", attrib={k: row([v]) for k, v in tensor.items()})


def _origin(element: ET.Element, pose: Pose) -> None:
    """The place of an element, where it is not that of its parent."""
    if np.any(pose.place) or np.abs(pose.turn - np.eye(3)).max() > 1e-14:
        ET.SubElement(element, "origin", xyz=row(pose.place), rpy=row(rpy(pose.turn)))


def rpy(turn: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw [rad] of a rotation matrix, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    level = float(np.hypot(turn[0, 0], turn[1, 0]))
    pitch = np.arctan2(-turn[2, 0], level)
    if level > 1e-9:
        roll, yaw = np.arctan2(turn[2, 1], turn[2, 2]), np.arctan2(turn[1, 0], turn[0, 0])
    else:
        # nose straight up or down: roll and yaw are one turn
        roll, yaw = np.arctan2(-turn[1, 2], turn[1, 1]), 0.0
    return np.array([roll, pitch, yaw])


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
