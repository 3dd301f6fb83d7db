"""Writing an imported robot atomically: a folder with robot.xml, robot.yaml and meshes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from marsyard.errors import InputError
from marsyard.robot.importing import Plan

_GENERIC = ("robot", "model", "scene", "main", "urdf", "mjcf", "xml", "description")


def robot_name(path: Path) -> str:
    """A name for the robot of a file: the file's, or its folder's where that says nothing."""
    stem = path.name.split(".")[0]
    folder = Path(os.path.abspath(path)).parent
    while stem.lower() in _GENERIC and folder.name:
        stem, folder = folder.name, folder.parent
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_") or "robot"


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that cannot be written, before any work is done."""
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--out: '{folder}' is a file; give a folder")
        if not folder.is_dir() or not any(folder.iterdir()):
            return
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be used ({error.strerror})") from None
    if not force:
        raise InputError(f"--out: '{folder}' exists; give another folder, or --force")
    if not (folder / "robot.yaml").exists():
        raise InputError(f"--out: '{folder}' holds other files than a robot; give a new folder")


def write_robot(plan: Plan, folder: Path, force: bool = False) -> Path:
    """Write the folder of a robot and return its robot.yaml; on failure nothing is left behind."""
    from marsyard.robot.robot import load_robot

    check_folder(folder, force)
    folder = folder.absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    try:
        new = work / folder.name
        new.mkdir()
        _write_files(plan, new)
        load_robot(str(new / "robot.yaml")).compile()
        if folder.exists():
            folder.rename(work / "old")
        new.rename(folder)
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(work)
    return folder / "robot.yaml"


def _write_files(plan: Plan, folder: Path) -> None:
    for mesh in plan.flat.tree.findall("asset/mesh"):
        if mesh.get("file"):
            (folder / "meshes").mkdir(exist_ok=True)
            name = str(mesh.get("file"))
            (folder / "meshes" / name).write_bytes(plan.flat.assets[name])
            mesh.set("file", f"meshes/{name}")
    text = plan.flat.text()
    for mesh in plan.flat.tree.findall("asset/mesh"):
        if mesh.get("file"):
            mesh.set("file", str(mesh.get("file")).removeprefix("meshes/"))
    (folder / "robot.xml").write_text(text, encoding="utf-8")
    (folder / "robot.yaml").write_text(robot_yaml(plan), encoding="utf-8")


def robot_yaml(plan: Plan) -> str:
    """The text of robot.yaml."""
    roles, source = plan.roles, plan.source.name
    lines = [
        f"# Imported from {source} by `marsyard import`. Roles are guesses from shape, motors and",
        "# names unless you gave them: correct them here. All lengths are metres.",
    ]
    lines += [f"# {text}" for text in (*plan.notes, *(f"warning: {w}" for w in plan.warnings))]
    if plan.flipped:
        lines.append(f"# counts the other way than in {source}: {', '.join(plan.flipped)}")
    if plan.pose:
        angles = ", ".join(f"{name}: {angle:.6g}" for name, angle in plan.pose.items())
        lines.append(f"# The keyframe of {source}, for scenarios:")
        lines.append(f"# robot: {{joints: {{{angles}}}}}")
    if plan.wheels:
        lines += [
            "# Soil acts by the tread, too: add to each wheel, for example,",
            "#   surface: {material: rough_metal}",
            "#   grousers: {count: 12, height: 0.01, thickness: 0.002}",
        ]
    lines += [
        f"title: {_flow(plan.flat.tree.get('model') or plan.source.stem)}",
        f"description: {_flow(f'Imported from {source}. x forward, y left, z up.')}",
        "model: robot.xml",
        f"base: {_flow(roles.base)}",
    ]
    parts: dict[str, dict[str, Any]] = {
        "wheels": _plain(plan.wheels),
        "feet": {k: {"body": b} for k, b in roles.feet.items()},
        "tracks": _plain(plan.tracks),
        "loops": {k: loop.model_dump() for k, loop in plan.loops.items()},
        "roles": _roles(plan),
        "numbers": _numbers(plan),
    }
    for part, entries in parts.items():
        if entries:
            lines.append(f"{part}:")
            lines += [f"  {_flow(key)}: {_flow(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def _plain(organs: Mapping[str, BaseModel]) -> dict[str, Any]:
    return {k: o.model_dump(mode="json", exclude_defaults=True) for k, o in organs.items()}


def _flow(value: Any) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
    )
    return text.removesuffix("...\n").strip()


def _roles(plan: Plan) -> dict[str, list[str]]:
    names = ["drives", "steering", "passive"]
    names += [r for r in ("legs", "frame", "other") if plan.roles.of(r)]
    return {name: plan.roles.of(name) for name in names}


def _numbers(plan: Plan) -> dict[str, dict[str, Any]]:
    centre = ", ".join(f"{v:.4g}" for v in plan.centre_of_mass + 0.0)
    out = {
        "mass": _number(float(f"{plan.mass:.6g}"), "kg", plan),
        "centre_of_mass": _number(f"{centre} (base frame)", "m", plan),
        "height": _number(float(f"{plan.height:.4g}"), "m", plan),
    }
    radii = sorted({w.radius for w in plan.wheels.values()})
    if radii:
        value = radii[0] if len(radii) == 1 else f"{radii[0]:g} to {radii[-1]:g}"
        out["wheel_radius"] = _number(value, "m", plan)
    return out


def _number(value: Any, unit: str, plan: Plan) -> dict[str, Any]:
    source = f"imported from {plan.source.name}, reference pose"
    return {"value": value, "unit": unit, "provenance": "imported", "source": source}
