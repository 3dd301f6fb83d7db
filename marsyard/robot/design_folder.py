"""A redesigned robot as a folder: robot.xml and robot.yaml, for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from marsyard.robot.design import DesignedRobot
from marsyard.robot.robot import Robot


def write_designed(robot: Robot, folder: Path) -> Path | None:
    """Write the robot of a design; its robot.yaml, or None for what a folder cannot hold (meshes,
    loops, beams and shapes beside the model), of which nothing is written.

    Numbers have the digits that MuJoCo writes into MJCF. Sources of numbers are left out: they are
    the library's, and the design is not.
    """
    if not isinstance(robot, DesignedRobot) or robot.loops or robot.beams or robot.shapes:
        return None
    spec = robot.spec()
    if spec.meshes or spec.textures or spec.hfields:
        return None
    spec.compile()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "robot.xml").write_text(spec.to_xml(), encoding="utf-8")
    path = folder / "robot.yaml"
    text = yaml.safe_dump(_yaml(robot), sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8")
    return path


def _yaml(robot: DesignedRobot) -> dict[str, Any]:
    sizes = robot.design.model_dump(exclude_defaults=True)
    said = ", ".join(f"{k} {v}" for k, v in sizes.items())
    data = robot.model_dump(
        mode="json", exclude_defaults=True, include={"base", "wheels", "feet", "tracks", "roles"}
    )
    about = f"{robot.plain.title or robot.name}, redesigned"
    return {
        "title": about, "description": f"{robot.name} with {said} (SI units).",
        "model": "robot.xml", **data,
    }  # fmt: skip
