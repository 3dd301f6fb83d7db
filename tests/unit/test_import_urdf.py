"""URDF as other tools write it: left-overs, missing meshes, frames that are not upright."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import robot_files as files

from marsyard import InputError
from marsyard.robot.import_table import rows
from marsyard.robot.importing import plan_import
from marsyard.robot.roles import Wish

#: a rover drawn with y up, as CAD programs do: wheels below (−y), axles along z either way
CORNERS = {"FL": (0.22, -0.25, 1), "FR": (0.22, 0.25, -1), "RL": (-0.22, -0.25, 1),
           "RR": (-0.22, 0.25, 1)}  # fmt: skip


def _y_up(folder: Path, above: str = "") -> Path:
    wheel = files.shape('<cylinder radius="0.12" length="0.1"/>')
    parts = [above, files.box_link("Base_Link", 14.0, 0.6, 0.2, 0.4)]
    for key, (x, z, sign) in CORNERS.items():
        name = f"Wheel_{key}"
        parts += [
            f'<link name="{name}">{files.inertial(1.2, (0.0045, 0.0045, 0.0088))}{wheel}</link>',
            files.joint(f"{name}_Joint", "continuous", "Base_Link", name, f"{x} -0.1 {z}",
                        f"0 0 {sign}"),
        ]  # fmt: skip
    path = folder / "Rover.urdf"
    path.write_text(f'<robot name="Rover">{"".join(parts)}</robot>')
    return path


FOOTPRINT = (
    '<link name="base_footprint"/><joint name="up" type="fixed"><origin xyz="0 0 0.22" '
    'rpy="1.5708 0 0"/><parent link="base_footprint"/><child link="Base_Link"/></joint>'
)


@pytest.mark.parametrize(("above", "wish"), [(FOOTPRINT, Wish()), ("", Wish(up="+y"))])
def test_a_base_with_y_up_is_set_upright(tmp_path, above, wish):
    plan = plan_import(_y_up(tmp_path, above), wish)
    assert list(plan.wheels) == ["FL", "FR", "RL", "RR"]
    data, model = plan.data, plan.model
    for key, (x, z, _) in CORNERS.items():
        body = model.body(plan.wheels[key].body).id
        assert data.xpos[body] == pytest.approx([x, -z, 0.12], abs=1e-6)
        assert data.xaxis[model.joint(plan.wheels[key].joint).id] == pytest.approx([0, 1, 0])
    base = data.xmat[model.body("Base_Link").id].reshape(3, 3)
    assert base == pytest.approx(np.eye(3), abs=1e-9)
    # the box that was 0.2 high along y is so along z
    assert plan.height == pytest.approx(0.12 + 0.1 + 0.1, abs=1e-6)


def test_wheels_that_lie_on_their_side_are_a_hint(tmp_path):
    plan = plan_import(_y_up(tmp_path))
    assert not plan.wheels
    assert any("Wheel_FL_Joint" in w and "--up y" in w for w in plan.warnings)


def test_up_is_checked(tmp_path):
    with pytest.raises(InputError, match=r"--up: 'north' is not a direction; valid: \+z, -z"):
        plan_import(_y_up(tmp_path), Wish(up="north"))


def test_left_over_definitions_of_xacro_are_no_mistake(tmp_path):
    path = files.four_wheeler(tmp_path)
    text = path.read_text()
    at = text.index(">", text.index("<robot")) + 1
    left = '<xacro:property name="PI" value="3.14"/><xacro:arg name="laser" default="${1}"/>'
    path.write_text(text[:at] + left + text[at:])
    assert len(plan_import(path).wheels) == 4
    path.write_text(text[:at] + left + '<xacro:wheel name="spare"/>' + text[at:])
    with pytest.raises(InputError, match="is xacro, which must be expanded first"):
        plan_import(path)


def test_what_would_only_be_drawn_may_be_missing(tmp_path):
    """But not where nothing else says what a link looks like."""
    mesh = '<mesh filename="package://gone/meshes/Body.stl" scale="0.001 0.001 0.001"/>'
    path = _y_up(tmp_path, FOOTPRINT)
    drawn = f"<visual><geometry>{mesh}</geometry></visual>"
    text = path.read_text()
    path.write_text(text.replace("</link>", f"{drawn}</link>"))
    whole = plan_import(path)
    assert len(whole.wheels) == 4
    # once, not once per link
    assert sum("not drawn: no such mesh 'package://gone" in n for n in whole.notes) == 1
    path.write_text(text.replace("<collision>", "<!--").replace("</collision>", f"-->{drawn}"))
    with pytest.raises(InputError, match="no such mesh"):
        plan_import(path)


def test_roots_of_urdf_have_no_joint_of_their_own(tmp_path):
    base = rows(plan_import(files.four_wheeler(tmp_path)))[0]
    assert base[0] == "base_link" and base[1] == "base, free"
    assert base[3] == "root of the file"


def test_ball_joints_stand_in_the_table(tmp_path):
    path = tmp_path / "cart.xml"
    hinge = '<joint name="w{0}" axis="0 1 0"/><geom type="cylinder" size=".1 .03" euler="90 0 0"/>'
    wheels = "".join(
        f'<body name="w{k}" pos="{x} {y} 0">{hinge.format(k)}</body>'
        for k, (x, y) in enumerate([(0.3, 0.3), (0.3, -0.3), (-0.3, 0.3), (-0.3, -0.3)])
    )
    path.write_text(
        '<mujoco><worldbody><body name="hull"><freejoint/><geom type="box" size=".3 .2 .05"/>'
        f'{wheels}<body name="load" pos="0 0 .2"><joint name="hook" type="ball"/>'
        '<geom type="sphere" size=".05"/></body></body></worldbody></mujoco>'
    )
    plan = plan_import(path)
    table = {row[0]: row for row in rows(plan)}
    assert table["hook"][1] == "ball joint" and "moves freely" in table["hook"][3]
    assert table["hull"][3] == "has a free joint"


def test_a_zero_beyond_the_stops_is_warned_of(tmp_path):
    path = files.dog(tmp_path)
    assert not any("beyond the stops" in w for w in plan_import(path).warnings)
    text = path.read_text()
    knee = re.search(r'<joint name="(FL_\w*(?:calf|knee)\w*)".*?</joint>', text, re.S)
    assert knee is not None
    stops = re.sub(r"<limit[^>]*>", '<limit lower="-2.8" upper="-0.9" effort="1" velocity="1"/>',
                   knee.group(0))  # fmt: skip
    path.write_text(text.replace(knee.group(0), stops))
    said = [w for w in plan_import(path).warnings if "beyond the stops" in w]
    assert len(said) == 1 and knee.group(1) in said[0]
