"""Import: equations that couple joints, as MJCF's equalities and URDF's mimic say them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco

from marsyard.robot.flat_model import FlatModel
from marsyard.robot.loops import GearLoop
from marsyard.robot.model_file import ModelFile
from marsyard.robot.roles import Roles


def ties_of(flat: FlatModel, model: mujoco.MjModel, file: ModelFile) -> list[set[str]]:
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


def drop_still_ties(flat: FlatModel, roles: Roles) -> None:
    """Leave out closures between bodies that no longer move against each other."""
    if not roles.of("locked"):
        return
    model = flat.compile()
    for section in flat.tree.findall("equality"):
        for tie in [t for t in section if t.tag in ("connect", "weld")]:
            first, second = (int(model.body_weldid[b]) for b in _tied_bodies(tie, model))
            if first == second:
                section.remove(tie)


def gear_loops(file: ModelFile, roles: Roles, flipped: list[str]) -> dict[str, GearLoop]:
    """URDF's mimic as gears, as joints count now."""
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


def equalities(flat: FlatModel) -> list[str]:
    """What MJCF's equations couple, a line each."""
    out = []
    for tie in flat.tree.findall("equality/*"):
        ends = [tie.get(k) for k in ("body1", "body2", "joint1", "joint2", "site1", "site2")]
        out.append(f"{tie.tag} {' – '.join(e for e in ends if e)}")
    return out
