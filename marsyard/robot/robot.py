"""A robot: an MJCF model with roles.

`robot.yaml` beside an MJCF file says what the model's joints and bodies are for: `base`; the
contact bodies `wheels`, `feet` and `tracks` (`organs`); closed `loops` (`loops`); elastic
`beams` (`beams`); `shapes` that polygonal contact knows (`shapes`); and `roles`, named groups of
joints (drives, steering, passive, …). A bare MJCF or URDF file is a robot without roles; `marsyard
import` finds them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import mujoco
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from marsyard import library
from marsyard.cards import card, several, table, text_card
from marsyard.errors import InputError, suggest
from marsyard.file_mistakes import sentence
from marsyard.files import exists, is_file
from marsyard.robot.beams import Beam
from marsyard.robot.contact_bodies import Foot, Track, Wheel
from marsyard.robot.loops import GearLoop, Loop, add_loops
from marsyard.robot.model_file import ModelFile, read_model
from marsyard.robot.shapes import Shape


class Robot(BaseModel):
    """Content of `robot.yaml`, and the path of the model."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    name: str
    title: str = ""
    description: str = ""
    model: Path
    base: str | None = None
    wheels: dict[str, Wheel] = {}
    feet: dict[str, Foot] = {}
    tracks: dict[str, Track] = {}
    loops: dict[str, Loop] = {}
    shapes: dict[str, Shape] = {}
    beams: dict[str, Beam] = {}
    roles: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, dict[str, Any]] = {}
    sources: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _own_bodies(self) -> Robot:
        """Wheels and feet are known by their bodies."""
        owners: dict[str, str] = {}
        for kind, organs in (("wheels", self.wheels), ("feet", self.feet)):
            for key, organ in organs.items():
                name = f"{kind}.{key}"
                if organ.body in owners:
                    raise ValueError(
                        f"{name}.body: '{organ.body}' is the body of {owners[organ.body]} already; "
                        "each wheel and foot needs its own"
                    )
                owners[organ.body] = name
        return self

    def __repr__(self) -> str:
        """As a terminal shows it."""
        rows = [
            ("what", self.title),
            ("base", self.base or "the first body"),
            ("wheels", several(list(self.wheels), "wheel")),
            ("feet", several(list(self.feet), "foot" if len(self.feet) == 1 else "contact")),
            ("tracks", several(list(self.tracks), "track")),
            *((role, several(joints, "joint")) for role, joints in self.roles.items()),
        ]
        return text_card(f"Robot '{self.name}'", rows)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        wheels = [
            (name, w.joint, w.shape, w.radius, w.width, w.lug_height)
            for name, w in self.wheels.items()
        ]
        heads = ("wheel", "joint", "shape", "radius [m]", "width [m]", "lugs [m]")
        rows = [("base", self.base or "the first body")]
        rows += [(f"{role} joints", ", ".join(joints)) for role, joints in self.roles.items()]
        rows += [
            (kind, ", ".join(organs))
            for kind, organs in (
                ("feet", self.feet),
                ("tracks", self.tracks),
                ("loops", self.loops),
            )
            if organs
        ]
        tables = [table(wheels, heads)] if wheels else []
        title = f"{self.name}: {self.title}" if self.title else self.name
        return card(title, self.description, *tables, table(rows), sources=self.sources)

    def spec(self) -> mujoco.MjSpec:
        """A fresh, editable MuJoCo specification of the model, with its loops closed."""
        return self.read_file().spec

    def compile(self) -> mujoco.MjModel:
        """The compiled model; errors of MuJoCo become an InputError."""
        return self.read_file().compile()

    def read_file(self) -> ModelFile:
        file = read_model(self.model)
        gears = {g.joint: GearLoop(kind="gear", joint=g.joint, other=g.other, ratio=g.ratio,
                                   offset=g.offset) for g in file.gears}  # fmt: skip
        for k, joint in enumerate(file.spec.joints):
            joint.name = joint.name or f"joint{k}"
        add_loops(file.spec, {**gears, **self.loops}, self.name)
        return file

    def joints_of(self, group: str | tuple[str, ...], joints: list[str], field: str) -> list[str]:
        """The joints of a role, a joint's name or a list of names."""
        if isinstance(group, tuple):
            return [j for g in group for j in self.joints_of(g, joints, field)]
        if group in self.roles:
            return list(self.roles[group])
        if group in joints:
            return [group]
        raise InputError(
            f"{field}: '{group}' is neither a role nor a joint of {self.name}; "
            f"{suggest(group, [*self.roles, *joints])}"
        )


def load_robot(name: str, folder: Path | None = None) -> Robot:
    """A robot of the library by name, or from a robot.yaml, its folder, or an MJCF/URDF file.

    A relative path counts from `folder` (where the scenario lies) and then from here.
    """
    path = robot_path(name, folder)
    if name in library.names("rovers"):
        return _from_yaml(path, name)
    if path.suffix in (".yaml", ".yml"):
        return _from_yaml(path, Path(os.path.abspath(path)).parent.name)
    return Robot(name=path.stem, model=path)


def robot_path(name: str, folder: Path | None = None) -> Path:
    """The file that `load_robot` reads: robot.yaml, or an MJCF or URDF file."""
    if name in library.names("rovers"):
        return library.path_of("rovers", name)
    candidates = [Path(name)] if folder is None else [folder / name, Path(name)]
    looks_like_path = any(s in name for s in ("/", "\\", ".xml", ".yaml", ".yml", ".urdf"))
    if not looks_like_path and not any(is_file(p / "robot.yaml") for p in candidates):
        raise InputError(
            f"robot.name: unknown rover '{name}'; {suggest(name, library.names('rovers'))}"
        )
    path = next((p for p in candidates if exists(p)), None)
    if path is None:
        raise InputError(f"robot.name: no such file '{name}'")
    return path / "robot.yaml" if path.is_dir() else path


def _from_yaml(path: Path, name: str) -> Robot:
    data = library.read_yaml(path)
    if isinstance(data.get("shapes"), str):
        # long profiles may lie in a file of their own
        beside = path.parent / data["shapes"]
        if not is_file(beside):
            raise InputError(f"{path.name}: shapes: no such file '{data['shapes']}'")
        data = {**data, "shapes": library.read_yaml(beside).get("shapes", {})}
    try:
        robot = Robot.model_validate({"name": name, **data})
    except ValidationError as error:
        raise InputError(f"{path.name}: {sentence(error, Robot)}") from None
    model = path.parent / robot.model
    if not exists(model):
        raise InputError(f"{path.name}: model: no such file '{robot.model}'")
    return robot.model_copy(update={"model": model})
