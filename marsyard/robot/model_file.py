"""Reading a robot's model from MJCF or URDF, with clear error messages.

URDF is read by `urdf`. MJCF is read by MuJoCo; what it complains about is said with the line and
element it names, and numbers and mesh files are looked at before.
"""

from __future__ import annotations

import contextlib
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import link_inertia
from marsyard.robot.motors import Motors, find_motors
from marsyard.robot.named_files import check_named_files
from marsyard.robot.urdf import Gear, read_urdf
from marsyard.robot.xml_file import Element, read_xml

#: attributes that name something and may well be called nan
_WORDS = ("name", "class", "childclass", "file", "material", "mesh", "texture", "model")


@dataclass
class ModelFile:
    """What a model file holds, and what its format says beyond MuJoCo's specification.

    gears: joints that follow others (URDF's mimic). motors: which joints have one.
    notes: what was read with a pinch of salt. assets: mesh files by name (URDF).
    """

    path: Path
    kind: str
    spec: mujoco.MjSpec
    gears: list[Gear] = field(default_factory=list)
    motors: Motors = field(default_factory=Motors)
    notes: list[str] = field(default_factory=list)
    assets: dict[str, bytes] = field(default_factory=dict)
    elements: dict[str, Element] = field(default_factory=dict)
    root: Element | None = None

    def compile(self) -> mujoco.MjModel:
        """The compiled model; errors of MuJoCo become an InputError."""
        try:
            with quiet():
                return self.spec.compile()
        except (ValueError, OSError) as error:
            raise self.sentence(str(error)) from None

    def sentence(self, text: str) -> InputError:
        """MuJoCo's complaint with the line and element of this file."""
        return _sentence(text, self.path.name, self.root, self.elements)


def read_model(path: Path, meshes: tuple[Path, ...] = (), repair: bool = False) -> ModelFile:
    """Read MJCF or URDF, whichever it is; `meshes` are folders to look for URDF's meshes first,
    `repair` replaces physically impossible inertias."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give an MJCF or URDF file")
    root = read_xml(path)
    if root.tag == "robot":
        return _from_urdf(path, root, meshes, repair)
    if root.tag == "mujoco":
        return _from_mjcf(path, root, repair)
    known = {"sdf": "SDF", "COLLADA": "a COLLADA mesh", "svg": "a picture", "html": "a web page"}
    what = f"is {known[root.tag]}; " if root.tag in known else ""
    raise root.error(f"{what}a robot begins with <mujoco> (MJCF) or <robot> (URDF)")


def _from_urdf(path: Path, root: Element, meshes: tuple[Path, ...], repair: bool) -> ModelFile:
    urdf = read_urdf(root, path.parent, meshes, repair)
    text = ET.tostring(urdf.tree, encoding="unicode")
    try:
        with quiet():
            spec = mujoco.MjSpec.from_string(text, assets=urdf.assets)
    except (ValueError, OSError) as error:
        raise _sentence(str(error), path.name, None, urdf.elements) from None
    return ModelFile(
        path, "urdf", spec, urdf.gears, urdf.motors, urdf.notes, urdf.assets, urdf.elements
    )


def _from_mjcf(path: Path, root: Element, repair: bool) -> ModelFile:
    _check_numbers(root)
    check_named_files(root, path)
    try:
        with quiet():
            spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, OSError) as error:
        raise _sentence(str(error), path.name, root, {}) from None
    _check_meshes(spec, root, path)
    notes = _repair_inertias(spec) if repair else []
    return ModelFile(path, "mjcf", spec, motors=find_motors(spec), notes=notes, root=root)


def _repair_inertias(spec: mujoco.MjSpec) -> list[str]:
    """Replace physically impossible inertias by the nearest ones that one can have; what was
    changed.
    """
    notes = []
    for body in spec.bodies:
        if not body.explicitinertial or body.mass <= 0:
            continue
        full = np.array(body.fullinertia)
        given, whole = np.diag(body.inertia), bool(np.isfinite(full).all())
        if whole:
            xx, yy, zz, xy, xz, yz = full
            given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        fault = link_inertia.find_fault(given)
        if fault is None and np.linalg.eigvalsh(given)[0] <= 1e-14:
            fault = "was zero"
        if fault is None:
            continue
        good = link_inertia.repair(given, body.mass)
        if whole:
            body.fullinertia = [*np.diag(good), good[0, 1], good[0, 2], good[1, 2]]
        else:
            body.inertia = np.diag(good)
        described = link_inertia.describe_moments(good)
        notes.append(f"the inertia of body '{body.name}' {fault}; repaired to {described} kg·m²")
    return notes


def _check_numbers(root: Element) -> None:
    for element in root.walk():
        for key, text in element.attributes.items():
            if key in _WORDS or key.endswith(("name", "1", "2", "dir")):
                continue
            if any(w in ("nan", "inf", "-nan", "-inf") for w in text.lower().split()):
                raise element.error(f'{key}="{text}": must be finite')
        if element.tag == "joint":
            _check_range(element)


def _check_range(joint: Element) -> None:
    # mujoco takes a reversed range for none, without a word
    text = joint.attributes.get("range", "")
    if joint.attributes.get("limited", "auto") == "false":
        return
    try:
        low, high = (float(v) for v in text.split())
    except ValueError:
        return
    if low > high:
        raise joint.error(f'range="{text}": its lower end is above its upper one')


def _check_meshes(spec: mujoco.MjSpec, root: Element, path: Path) -> None:
    for mesh in spec.meshes:
        if mesh.file and mesh.file not in spec.assets:
            place = mesh_path(spec, mesh.file, spec.meshdir)
            if not place.is_file():
                named = f"'{mesh.file}'; looked for {place}"
                element = _naming(root, "mesh", mesh.file)
                if element is not None:
                    raise element.error(f"no such mesh {named}")
                raise InputError(f"{path.name}: no such mesh {named}")


def mesh_path(spec: mujoco.MjSpec, file: str, folder: str) -> Path:
    """Where MuJoCo looks for a file of the model."""
    name = Path(file).name if spec.strippath else file
    return Path(spec.modelfiledir) / folder / name


def _naming(root: Element, tag: str, file: str) -> Element | None:
    same = (e for e in root.walk() if e.tag == tag and e.attributes.get("file") == file)
    return next(same, None)


# --- MuJoCo's complaints

_PLAIN = (
    (r"mass and inertia of moving bodies must be larger.*",
     "moves but has no mass or inertia; give it an <inertial> or a geom with mass"),
    (r"inertia must satisfy A \+ B >= C.*",
     "its inertia is physically impossible: the largest moment exceeds the sum of the others; "
     "--repair-inertia takes the nearest possible one"
     ""),
    (r"inertia must have positive eigenvalues.*",
     "its inertia has a moment below 0; --repair-inertia takes the nearest possible one"),
    (r"Schema violation: unrecognized attribute: '(.*)'", r"unknown attribute '\1'"),
    (r"Schema violation: unrecognized element.*",
     "is not an element of MJCF, or is misplaced"),
    (r"Error opening file '(.*)'", r"no such file '\1'"),
    (r"repeated name '(.*)' in (\w+)", r"another \2 is called '\1' already"),
)  # fmt: skip
_PLACE = re.compile(r"Element(?: name)? '([^']*)'(?:, id (\d+))?(?:, line (\d+))?")


def _sentence(
    text: str, file: str, root: Element | None, elements: dict[str, Element]
) -> InputError:
    flat = " ".join(text.split())
    place = _PLACE.search(flat)
    said = flat[: place.start()] if place else flat
    said = re.sub(r"^(?:(?:XML )?Error: )+", "", said.strip()).rstrip(" .")
    for pattern, plain in _PLAIN:
        said = re.sub(pattern, plain, said)
    element = _element(place, said, root, elements)
    if element is not None:
        if said.startswith("unknown attribute"):
            said += _near(said, element)
        return element.error(said)
    name = place.group(1) if place else ""
    line = place.group(3) if place and root is not None else None
    where = f"{file}, line {line}" if line else file
    return InputError(f"{where}{f', {name!r}' if name else ''}: {said}")


def _near(said: str, element: Element) -> str:
    known = {
        "joint": ("axis", "range", "type", "pos", "damping", "stiffness", "armature", "limited"),
        "geom": ("type", "size", "pos", "quat", "euler", "fromto", "mass", "density", "rgba",
                 "friction", "contype", "conaffinity", "mesh"),
        "body": ("name", "pos", "quat", "euler", "childclass"),
        "inertial": ("pos", "quat", "mass", "diaginertia", "fullinertia"),
    }  # fmt: skip
    wrong = said.split("'")[1]
    hint = suggest(wrong, known.get(element.tag, ()))
    return f"; {hint}" if hint.startswith("did you mean") else ""


def _element(
    place: re.Match[str] | None, said: str, root: Element | None, elements: dict[str, Element]
) -> Element | None:
    """The element of the file that a complaint is about, if it can be found."""
    if root is None:
        return elements.get(place.group(1)) if place else None
    if place and place.group(3):
        line, name = int(place.group(3)), place.group(1)
        there = [e for e in root.walk() if e.line == line]
        words = {name, *said.split()} - {""}
        named = [e for e in there if e.tag in words or e.name in words]
        found = named or there[::-1]
        return found[0] if found else None
    file = re.search(r"no such file '(.*)'", said)
    if file:
        ending = Path(file.group(1)).name
        for element in root.walk():
            if Path(element.attributes.get("file", "")).name == ending:
                return element
    return None


#: how many are quiet now, and who heard MuJoCo's warnings before the first of them
_quiet: list[Any] = []
_quiet_lock = threading.Lock()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """MuJoCo's warnings neither printed nor written to a log file; who heard them before does so
    again when the last of all threads leaves."""
    with _quiet_lock:
        _quiet.append(mujoco.get_mju_user_warning() if not _quiet else None)
        mujoco.set_mju_user_warning(_hush)
    try:
        yield
    finally:
        with _quiet_lock:
            before = _quiet[0]
            _quiet.pop()
            if not _quiet:
                mujoco.set_mju_user_warning(before)


def _hush(_: str) -> None:
    pass
