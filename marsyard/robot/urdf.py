"""URDF, read link by link into an MJCF tree, with its mistakes named by line and element.

What becomes of it:

- A link is a body with the same name and frame. A fixed link without mass and shape (a sensor's
  frame) is a site. The mass of fixed links belongs to the moving body that carries them.
- The root has a free joint, unless it is called `world`. An empty root that carries the real one by
  a fixed joint (`base_footprint`) becomes a site of it; up is where its z axis points.
- Collision shapes collide; visual ones are only drawn, and left out if their mesh is missing while
  there are others.
- revolute, continuous, prismatic are hinge and slide. A revolute joint whose limits are missing,
  both zero or infinite has none. Damping is kept, friction is kept as MuJoCo's frictionloss.
- `<mimic>` is a gear: angle = offset + multiplier · angle of the other joint.
- `<transmission>` and `<ros2_control>` say which joints have motors (`motors`).

Format: wiki.ros.org/urdf/XML. Rotations are rpy: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marsyard.errors import suggest
from marsyard.robot import link_inertia
from marsyard.robot.mesh_file import MeshError, find_mesh, mesh_bytes
from marsyard.robot.motors import Motors, read_motors
from marsyard.robot.poses import Pose, row
from marsyard.robot.xml_file import Element

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: an angle this near to a quarter turn is one: files give 4 or 5 digits [rad]
_QUARTER = 5e-5
_LONGEST = 150  # joints in a chain
_TURNS = 1e3  # a limit beyond this is none [rad, m]


@dataclass
class Gear:
    """angle of `joint` = offset + ratio · angle of `other`."""

    joint: str
    other: str
    ratio: float
    offset: float


@dataclass
class Urdf:
    """What a URDF holds: an MJCF tree, mesh files by name, and what MJCF does not say."""

    tree: ET.Element
    assets: dict[str, bytes] = field(default_factory=dict)
    gears: list[Gear] = field(default_factory=list)
    motors: Motors = field(default_factory=Motors)
    notes: list[str] = field(default_factory=list)
    elements: dict[str, Element] = field(default_factory=dict)


@dataclass
class _Link:
    element: Element
    mass: float = 0.0
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    joint: _Joint | None = None
    children: list[_Joint] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.element.name

    @property
    def shapes(self) -> bool:
        return bool(self.element.all("visual") or self.element.all("collision"))

    @property
    def empty(self) -> bool:
        """No mass, no shape, and nothing but the same fixed to it."""
        fixed = all(j.kind == "fixed" and j.child.empty for j in self.children)
        return self.mass == 0 and not self.shapes and fixed


@dataclass
class _Joint:
    element: Element
    kind: str
    parent: _Link
    child: _Link
    pose: Pose


def read_urdf(
    root: Element, folder: Path, meshes: tuple[Path, ...] = (), repair: bool = False
) -> Urdf:
    """The robot of a URDF that lies in `folder`; `meshes` are further folders with its meshes;
    `repair` replaces physically impossible inertias by the nearest possible ones."""
    _refuse_xacro(root)
    notes: list[str] = []
    links = _links(root, notes if repair else None)
    joints = _joints(root, links)
    top = _root(root, links)
    out = Urdf(ET.Element("mujoco", model=root.name or "robot"), notes=notes)
    out.elements = {e.name: e for e in root.children if e.tag in ("link", "joint")}
    ET.SubElement(out.tree, "compiler", angle="radian", autolimits="true")
    _Builder(out, root, folder, meshes, repair).build(top)
    out.gears = _gears(joints)
    out.motors = read_motors(root, joints)
    return out


def _refuse_xacro(root: Element) -> None:
    # definitions that nothing uses any more are left over from expanding
    left = [e for e in root.children if e.tag in ("xacro:property", "xacro:arg")]
    inside = {id(e) for top in left for e in top.walk()}
    for element in root.walk():
        if id(element) in inside:
            continue
        if element.tag.startswith("xacro:"):
            raise element.error(
                "is xacro, which must be expanded first: xacro FILE.xacro > FILE.urdf"
            )
        for key, text in element.attributes.items():
            if "${" in text or "$(" in text:
                raise element.error(
                    f'{key}="{text}" is xacro, which must be expanded first: '
                    "xacro FILE.xacro > FILE.urdf"
                )


# --- links and joints


def _links(root: Element, repaired: list[str] | None) -> dict[str, _Link]:
    links: dict[str, _Link] = {}
    for element in root.all("link"):
        if not element.name:
            raise element.error("a link needs a name")
        if element.name in links:
            other = links[element.name].element.line
            raise element.error(f"the name is already used by the link in line {other}")
        links[element.name] = _inertial(_Link(element), repaired)
    if not links:
        raise root.error("holds no <link>")
    return links


def _inertial(link: _Link, repaired: list[str] | None) -> _Link:
    """Fill in mass [kg], centre [m] and inertia about it, in the link's frame [kg·m²]; `repaired`
    is told what was changed, none refuses what no body has."""
    given = link.element.first("inertial")
    if given is None:
        return link
    mass = given.first("mass")
    if mass is None:
        raise given.error(f"the inertial of link '{link.name}' has no <mass>")
    link.mass = mass.number("value")
    if link.mass < 0:
        raise mass.error(f"mass {link.mass:g} kg of link '{link.name}' must be above 0")
    pose = _pose(given)
    link.centre = pose.place
    element = given.first("inertia")
    if element is None:
        return link
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    xx, yy, zz, xy, xz, yz = (element.number(n, "0") for n in names)
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    fault = link_inertia.find_fault(own) if link.mass > 0 else None
    if fault is not None and repaired is None:
        raise element.error(
            f"the inertia of link '{link.name}' {fault}; --repair-inertia takes the nearest "
            f"possible one"
            ""
        )
    if fault is not None:
        own = link_inertia.repair(own, link.mass)
        repaired.append(  # type: ignore[union-attr]
            f"the inertia of link '{link.name}' {fault}; repaired to "
            f"{link_inertia.describe_moments(own)} kg·m²"
        )
    elif link.mass > 0:
        own = link_inertia.balance(own)
    link.inertia = pose.turn @ own @ pose.turn.T
    return link


def _joints(root: Element, links: dict[str, _Link]) -> dict[str, _Joint]:
    joints: dict[str, _Joint] = {}
    for element in root.all("joint"):
        if not element.name:
            raise element.error("a joint needs a name")
        if element.name in joints:
            other = joints[element.name].element.line
            raise element.error(f"the name is already used by the joint in line {other}")
        kind = element.attributes.get("type", "")
        if kind not in JOINTS:
            raise element.error(f"type '{kind}' is unknown; {suggest(kind, JOINTS)}")
        if kind == "planar":
            raise element.error("planar joints are not read; use two prismatic and a continuous")
        parent, child = (_end(element, end, links) for end in ("parent", "child"))
        if parent is child:
            raise element.error(f"joins link '{parent.name}' to itself")
        if child.joint is not None:
            raise element.error(
                f"link '{child.name}' is the child of joint '{child.joint.element.name}' already, "
                "so that the links close a loop; leave one joint out and close it by 'loops' in "
                "robot.yaml"
            )
        joint = _Joint(element, kind, parent, child, _pose(element))
        joints[element.name] = joint
        child.joint = joint
        parent.children.append(joint)
    return joints


def _end(joint: Element, end: str, links: dict[str, _Link]) -> _Link:
    element = joint.first(end)
    if element is None or "link" not in element.attributes:
        raise joint.error(f'has no <{end} link="…"/>')
    name = element.attributes["link"]
    if name not in links:
        raise joint.error(f"its {end} '{name}' is not a link of the file; {suggest(name, links)}")
    return links[name]


def _root(root: Element, links: dict[str, _Link]) -> _Link:
    tops = [link for link in links.values() if link.joint is None]
    if not tops:
        raise root.error("every link is the child of a joint, in a circle; one must be the root")
    if len(tops) > 1:
        second = tops[1]
        raise second.element.error(
            f"no joint has it as child, nor '{tops[0].name}': a robot has one root; join them"
        )
    seen, stack = set(), [(tops[0], 0)]
    while stack:
        link, depth = stack.pop()
        if depth > _LONGEST:
            raise link.element.error(f"is more than {_LONGEST} joints below '{tops[0].name}'")
        seen.add(link.name)
        stack += [(j.child, depth + 1) for j in link.children]
    for link in links.values():
        if link.name not in seen:
            raise link.element.error(
                f"is part of a loop of joints that does not reach the root '{tops[0].name}'"
            )
    return tops[0]


def _pose(element: Element) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return Pose.none()
    rpy = [_quarter(a) for a in origin.numbers("rpy", 3, "0 0 0")]
    return Pose.of_rpy(origin.numbers("xyz", 3, "0 0 0"), rpy)


def _quarter(angle: float) -> float:
    """1.5708 means a quarter of a turn."""
    whole = round(angle / (math.pi / 2)) * math.pi / 2
    return whole if abs(angle - whole) < _QUARTER else angle


def _gears(joints: dict[str, _Joint]) -> list[Gear]:
    gears = []
    for name, joint in joints.items():
        mimic = joint.element.first("mimic")
        if mimic is None or joint.kind == "fixed":
            continue
        other = mimic.attributes.get("joint", "")
        if other not in joints:
            raise mimic.error(
                f"joint '{name}' follows '{other}', which is not a joint of the file; "
                f"{suggest(other, joints)}"
            )
        if other == name:
            raise mimic.error(f"joint '{name}' follows itself")
        if joints[other].kind == "fixed":
            raise mimic.error(f"joint '{name}' follows '{other}', which is fixed")
        ratio, offset = mimic.number("multiplier", "1"), mimic.number("offset", "0")
        gears.append(Gear(name, other, ratio, offset))
    return gears


# --- the tree


class _Builder:
    """Writes links into the MJCF tree."""

    def __init__(
        self, out: Urdf, root: Element, folder: Path, meshes: tuple[Path, ...], repair: bool
    ) -> None:
        self.out = out
        self.repair = repair
        self.folder = folder
        self.meshes = meshes
        self.colours = {
            m.name: c.attributes.get("rgba", "") for m in root.all("material")
            if (c := m.first("color")) is not None
        }  # fmt: skip
        self.asset = ET.SubElement(out.tree, "asset")
        self.world = ET.SubElement(out.tree, "worldbody")
        self.mesh_names: dict[tuple[str, str], str] = {}
        self.frictions: list[str] = []

    def build(self, top: _Link) -> None:
        frames: list[tuple[str, Pose]] = []
        if top.name == "world" and top.mass == 0:
            self._below(top, self.world)
        else:
            top, frames = self._real_root(top)
            # upright as the names above it say, wherever it lies
            up = frames[0][1].inverse().turn if frames else np.eye(3)
            body = self._body(self.world, top, Pose(np.zeros(3), up))
            for name, pose in frames:
                _site(body, name, pose)
            self._below(top, body)
        self._check_moving(top)

    def _real_root(self, top: _Link) -> tuple[_Link, list[tuple[str, Pose]]]:
        """The first link of the chain that is more than a name, and the names above it."""
        frames: list[tuple[str, Pose]] = []
        while top.mass == 0 and not top.shapes:
            real = [j for j in top.children if j.kind not in ("fixed",) or not j.child.empty]
            if len(real) != 1 or real[0].kind not in ("fixed", "floating"):
                break
            if len(top.children) > 1:
                break
            back = real[0].pose.inverse()
            frames = [(name, back.then(pose)) for name, pose in [*frames, (top.name, Pose.none())]]
            top = real[0].child
        return top, frames

    def _below(self, top: _Link, place: ET.Element) -> None:
        stack = [(top, place, Pose.none())]
        while stack:
            link, body, at = stack.pop()
            for joint in link.children:
                child, pose = joint.child, at.then(joint.pose)
                if joint.kind == "floating" and body is not self.world:
                    raise joint.element.error("only the root of a robot can float")
                if joint.kind == "fixed" and child.empty:
                    _site(body, child.name, pose)
                    stack.append((child, body, pose))
                else:
                    stack.append((child, self._body(body, child, pose), Pose.none()))

    def _body(self, parent: ET.Element, link: _Link, pose: Pose) -> ET.Element:
        body = ET.SubElement(parent, "body", {"name": link.name, **pose.attributes()})
        joint = link.joint
        if joint is None or joint.kind == "floating" or self._is_top(parent, joint):
            ET.SubElement(body, "freejoint", name=f"{link.name}_free")
        elif joint.kind != "fixed":
            self._joint(body, joint)
        if joint is None or joint.kind != "fixed" or parent is self.world:
            self._inertial(body, link)
        for kind in ("collision", "visual"):
            for k, element in enumerate(link.element.all(kind)):
                self._geom(body, link, element, kind, k)
        return body

    def _is_top(self, parent: ET.Element, joint: _Joint) -> bool:
        return parent is self.world and joint.kind == "fixed" and joint.parent.name != "world"

    def _joint(self, body: ET.Element, joint: _Joint) -> None:
        element = joint.element
        axis = np.array([1.0, 0.0, 0.0])
        given = element.first("axis")
        if given is not None:
            axis = np.array(given.numbers("xyz", 3, "1 0 0"))
            if np.linalg.norm(axis) < 1e-9:
                raise given.error(f"the axis of joint '{element.name}' is zero")
        kind = "slide" if joint.kind == "prismatic" else "hinge"
        out = ET.SubElement(body, "joint", name=element.name, type=kind)
        out.set("axis", row(axis / np.linalg.norm(axis)))
        limits = None if joint.kind == "continuous" else self._limits(joint)
        if limits is not None:
            out.set("range", row(limits))
        dynamics = element.first("dynamics")
        if dynamics is not None:
            for key, name in (("damping", "damping"), ("friction", "frictionloss")):
                value = dynamics.number(key, "0")
                if value < 0:
                    raise dynamics.error(f"{key} {value:g} of joint '{element.name}' is below 0")
                if value > 0:
                    out.set(name, repr(value))

    def _limits(self, joint: _Joint) -> tuple[float, float] | None:
        limit = joint.element.first("limit")
        name = joint.element.name
        if limit is None:
            self.out.notes.append(f"joint '{name}' has no <limit>: treated as having no stops")
            return None
        low, high = (_limit(limit, key) for key in ("lower", "upper"))
        if low > high:
            raise limit.error(f"lower {low:g} of joint '{name}' is above upper {high:g}")
        if low == high == 0:
            self.out.notes.append(f"joint '{name}' has limits 0 to 0: treated as having no stops")
            return None
        if low == high:
            raise limit.error(f"lower and upper of joint '{name}' are both {low:g}")
        if low < -_TURNS or high > _TURNS:
            return None
        return low, high

    def _inertial(self, body: ET.Element, link: _Link) -> None:
        mass, centre, inertia = _carried(link)
        if mass > 0:
            if self.repair and np.linalg.eigvalsh(inertia)[0] <= 1e-14:
                inertia = link_inertia.repair(inertia, mass)
                self.out.notes.append(
                    f"the inertia of link '{link.name}' was zero; repaired to "
                    f"{link_inertia.describe_moments(inertia)} kg·m²"
                )
            full = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
            ET.SubElement(body, "inertial", mass=repr(mass), pos=row(centre), fullinertia=row(full))

    def _check_moving(self, top: _Link) -> None:
        """Every moving body, with what is fixed to it, has mass and inertia."""
        stack = [top]
        while stack:
            link = stack.pop()
            stack += [j.child for j in link.children]
            still = link.joint is not None and link.joint.kind == "fixed"
            if (still and link is not top) or link.name == "world":
                continue
            mass, _, inertia = _carried(link)
            if mass <= 0:
                given = "has mass 0" if link.element.first("inertial") else "has no <inertial>"
                raise link.element.error(
                    f"moves but {given}, and no body is fixed to it; give its mass and inertia"
                )
            if np.linalg.eigvalsh(inertia)[0] <= 1e-14 and not self.repair:
                raise link.element.error(
                    "moves but its inertia is zero; give ixx, iyy, izz above 0 (a ball of its mass "
                    f"and 5 cm radius has {0.4 * mass * 0.05**2:.2g} kg·m²), or --repair-inertia"
                )

    # --- shapes

    def _geom(self, body: ET.Element, link: _Link, element: Element, kind: str, k: int) -> None:
        geometry = element.first("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            raise element.error(f"the {kind} of link '{link.name}' has no shape in <geometry>")
        attributes = self._shape(shape, link, kind)
        if attributes is None:
            return
        name = f"{link.name}_{kind}" + (f"_{k + 1}" if k else "")
        attributes = {"name": name, **attributes, **_pose(element).attributes()}
        geom = ET.SubElement(body, "geom", attributes)
        geom.set("mass", "0")
        if kind == "visual":
            geom.set("contype", "0")
            geom.set("conaffinity", "0")
            geom.set("group", "2")
            geom.set("rgba", self._colour(element))
        else:
            geom.set("group", "3")
            # only seen where nothing else is
            geom.set("rgba", "0.7 0.7 0.7 " + ("0" if link.element.all("visual") else "1"))

    def _shape(self, shape: Element, link: _Link, kind: str) -> dict[str, str] | None:
        if shape.tag == "box":
            size = _above(shape, shape.numbers("size", 3), "size", link)
            return {"type": "box", "size": row(s / 2 for s in size)}
        if shape.tag == "sphere":
            return {"type": "sphere", "size": row(_sizes(shape, ("radius",), link))}
        if shape.tag in ("cylinder", "capsule"):
            radius, length = _sizes(shape, ("radius", "length"), link)
            return {"type": shape.tag, "size": row((radius, length / 2))}
        if shape.tag == "mesh":
            return self._mesh(shape, link, kind)
        known = ("box", "sphere", "cylinder", "capsule", "mesh")
        raise shape.error(
            f"in the {kind} of link '{link.name}' is no known shape; {suggest(shape.tag, known)}"
        )

    def _mesh(self, shape: Element, link: _Link, kind: str) -> dict[str, str] | None:
        file = shape.attributes.get("filename", "")
        if not file:
            raise shape.error(f"in the {kind} of link '{link.name}' has no filename")
        scale = shape.numbers("scale", 3, "1 1 1")
        if 0.0 in scale:
            raise shape.error(f"in the {kind} of link '{link.name}' has a scale of 0")
        key = (file, row(scale))
        if key not in self.mesh_names:
            try:
                path = find_mesh(file, self.folder, self.meshes)
            except MeshError as error:
                if kind == "visual" and link.element.all("collision"):
                    self._not_drawn(error)
                    return None
                raise shape.error(f"in the {kind} of link '{link.name}': {error}") from None
            try:
                ending, data = mesh_bytes(path)
            except MeshError as error:
                if kind == "visual" and "pycollada" in str(error):
                    self._not_drawn(error)
                    return None
                raise shape.error(f"in the {kind} of link '{link.name}': {error}") from None
            self.mesh_names[key] = self._add_mesh(path, ending, data, scale)
        name = self.mesh_names[key]
        self.out.elements.setdefault(name, shape)
        return {"type": "mesh", "mesh": name}

    def _not_drawn(self, error: MeshError) -> None:
        text = f"not drawn: {error}"
        if text not in self.out.notes:
            self.out.notes.append(text)

    def _add_mesh(self, path: Path, ending: str, data: bytes, scale: list[float]) -> str:
        taken = set(self.mesh_names.values())
        name, k = path.stem, 1
        while name in taken:
            k += 1
            name = f"{path.stem}_{k}"
        self.out.assets[f"{name}{ending}"] = data
        ET.SubElement(self.asset, "mesh", name=name, file=f"{name}{ending}", scale=row(scale))
        return name

    def _colour(self, element: Element) -> str:
        material = element.first("material")
        text = ""
        if material is not None:
            colour = material.first("color")
            text = self.colours.get(material.name, "")
            if colour is not None:
                text = colour.attributes.get("rgba", "")
        try:
            rgba = [min(max(float(part), 0.0), 1.0) for part in text.split()]
        except ValueError:
            rgba = []
        return row(rgba) if len(rgba) == 4 else "0.7 0.7 0.7 1"


def _site(body: ET.Element, name: str, pose: Pose) -> None:
    attributes = {"name": name, "size": "0.005", "group": "4", **pose.attributes()}
    ET.SubElement(body, "site", attributes)


def _limit(element: Element, key: str) -> float:
    text = element.attributes.get(key, "0")
    try:
        value = float(text)
    except ValueError:
        raise element.error(f'{key}="{text}": must be a number') from None
    if math.isnan(value):
        raise element.error(f'{key}="{text}": must be a number')
    return value


def _sizes(shape: Element, keys: tuple[str, ...], link: _Link) -> list[float]:
    return [_above(shape, [shape.number(key)], key, link)[0] for key in keys]


def _above(shape: Element, values: list[float], key: str, link: _Link) -> list[float]:
    if min(values) <= 0:
        raise shape.error(f"{key} of link '{link.name}' must be above 0 [m]")
    return values


def _carried(link: _Link) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and inertia about it of a link and all that is fixed to it, in its frame."""
    parts: list[tuple[float, np.ndarray, np.ndarray]] = []
    stack = [(link, Pose.none())]
    while stack:
        one, at = stack.pop()
        if one.mass > 0:
            turned = at.turn @ one.inertia @ at.turn.T
            parts.append((one.mass, at.turn @ one.centre + at.place, turned))
        stack += [(j.child, at.then(j.pose)) for j in one.children if j.kind == "fixed"]
    mass = sum(p[0] for p in parts)
    if mass == 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    centre = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, own in parts:
        d = c - centre
        inertia += own + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia
