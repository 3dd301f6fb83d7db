"""Importing MJCF and URDF: mistakes in one sentence."""

from __future__ import annotations

import os

import pytest
import robot_files as files
import trimesh

from marsyard import InputError
from marsyard.robot.importing import plan_import
from marsyard.robot.roles import Wish

FIXED = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'

WRONG = {
    "text": (files.ONE_WHEEL, "hello", "line 1: is not XML"),
    "cut": ("</robot>", "", "line 7: is not XML inside <robot>"),
    "root": (files.ONE_WHEEL, "<sdf/>", r"line 1, <sdf>: is SDF; a robot begins with <mujoco>"),
    "no link": (files.ONE_WHEEL, '<robot name="r"/>', 'line 1, <robot name="r">: holds no <link>'),
    "parent": ('parent link="base"', 'parent link="bse"', "'bse' is not a link of the file; did "
                                                          "you"),
    "child": ('<child link="w"/>', "", 'line 5, <joint name="j">: has no <child'),
    "type": ("continuous", "continous", "type 'continous' is unknown; did you mean 'continuous'"),
    "planar": ("continuous", "planar", "planar joints are not read"),
    "floating": ("continuous", "floating", "only the root of a robot can float"),
    "two roots": ("</robot>", '<link name="z"/></robot>', 'line 6, <link name="z">: no joint has'),
    "circle": ("</robot>", FIXED.format("k", "w", "base") + "</robot>", "in a circle"),
    "two parents": (
        "</robot>",
        '<link name="z"/>' + FIXED.format("k", "w", "z") + FIXED.format("l", "base", "z")
        + "</robot>",
        "close a loop; leave one joint out",
    ),
    "itself": ('child link="w"', 'child link="base"', "joins link 'base' to itself"),
    "mesh": (
        '<sphere radius="0.1"/>', '<mesh filename="package://p/m/w.stl"/>',
        r"line 4, <mesh>: in the collision of link 'w': no such mesh 'package://p/m/w.stl'; looked",
    ),
    "mesh format": ('<sphere radius="0.1"/>', '<mesh filename="w.step"/>', "no known mesh format"),
    "mesh broken": ('<sphere radius="0.1"/>', '<mesh filename="w.ply"/>', "is not a mesh that can"),
    "mesh flat": ('<sphere radius="0.1"/>', '<mesh filename="flat.stl"/>', "line 4, <mesh>: "),
    "no inertial": (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>', "",
        'line 3, <link name="w">: moves but has no <inertial>',
    ),
    "zero mass": ('mass value="1"', 'mass value="0"', "moves but has mass 0"),
    "negative mass": ('mass value="1"', 'mass value="-1"', "mass -1 kg of link 'w' must be above"),
    "nan": ('mass value="1"', 'mass value="nan"', 'line 3, <mass>: value="nan": must be finite'),
    "unit": ('mass value="1"', 'mass value="1kg"', 'value="1kg": must be a number'),
    "zero inertia": ('ixx="1" iyy="1" izz="1"', "", "moves but its inertia is zero"),
    "triangle": ('izz="1"', 'izz="3"', "is physically impossible: its largest moment exceeds the "
                                       "sum"),
    "negative inertia": ('ixx="1"', 'ixx="-1"', "has a moment below 0"),
    "axis": ('xyz="0 1 0"', 'xyz="0 0 0"', "line 5, <axis>: the axis of joint 'j' is zero"),
    "short axis": ('xyz="0 1 0"', 'xyz="0 1"', "must be 3 numbers, not 2"),
    "link twice": ("</robot>", '<link name="w"/></robot>', "already used by the link in line 3"),
    "no name": (' name="j"', "", "line 5, <joint>: a joint needs a name"),
    "limits": (
        'type="continuous">', 'type="revolute"><limit lower="1" upper="-1"/>',
        "lower 1 of joint 'j' is above upper -1",
    ),
    "mimic": ("<axis", '<mimic joint="q"/><axis', "joint 'j' follows 'q', which is not a joint"),
    "shape": ("<sphere", "<spere", "is no known shape; did you mean 'sphere'"),
    "size": ('radius="0.1"', 'radius="0"', "radius of link 'w' must be above 0"),
    "xacro": ('value="1"', 'value="${m}"', "is xacro, which must be expanded first"),
    "friction": ("<axis", '<dynamics friction="-1"/><axis', "friction -1 of joint 'j' is below 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_of_urdf_are_one_sentence(tmp_path, case):
    old, new, said = WRONG[case]
    assert old in files.ONE_WHEEL
    (tmp_path / "w.step").write_text("ISO-10303")
    (tmp_path / "w.ply").write_text("not a mesh")
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    (tmp_path / "flat.stl").write_bytes(flat.export(file_type="stl"))
    path = tmp_path / "bad.urdf"
    path.write_text(files.ONE_WHEEL.replace(old, new, 1))
    with pytest.raises(InputError, match=said) as error:
        plan_import(path)
    assert str(error.value).startswith("bad.urdf, line ")
    assert "\n" not in str(error.value)


def test_the_good_one_is_good(tmp_path):
    path = tmp_path / "good.urdf"
    path.write_text(files.ONE_WHEEL)
    wheel = plan_import(path).wheels["W"]
    assert (wheel.radius, wheel.shape) == (0.1, "sphere")


BODY = '<mujoco>\n<worldbody>\n<body name="a">\n{}\n</body>\n</worldbody>\n</mujoco>'


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ('<joint/><geom size="0.1" mass="0"/>', 'line 3, <body name="a">: moves but has no mass'),
        ('<joint/><geom size="nan"/>', 'line 4, <geom>: size="nan": must be finite'),
        (
            '<joint range="40 -40"/><geom size="0.1"/>',
            'line 4, <joint>: range="40 -40": its lower end is above its upper one',
        ),
        ('<joint/><geom type="sphre" size="1"/>', "line 4, <geom>: invalid keyword: 'sphre'"),
        ('<joint axs="0 1 0"/><geom size="1"/>', "unknown attribute 'axs'; did you mean 'axis'"),
        ('<jont/><geom size="1"/>', "line 4, <jont>: is not an element of MJCF"),
        ('<joint name="j"/><joint name="j"/><geom size="1"/>', "another joint is called 'j'"),
        ('<inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/><joint/>', "physically impossible"),
        ('<joint/><geom type="mesh" mesh="m"/>', "line 4, <geom>: mesh 'm' not found"),
        ('<joint axis="0 0 0"/><geom size="1"/>', "line 4, <joint>: axis too small"),
    ],
)
def test_mistakes_of_mjcf_are_one_sentence(tmp_path, inside, said):
    path = tmp_path / "bad.xml"
    path.write_text(BODY.format(inside))
    with pytest.raises(InputError, match=said) as error:
        plan_import(path)
    assert str(error.value).startswith("bad.xml, line ")
    assert "\n" not in str(error.value)
    # reading leaves no log behind
    assert [p.name for p in tmp_path.iterdir()] == ["bad.xml"]


def test_a_mesh_that_mjcf_misses_is_named(tmp_path):
    path = tmp_path / "bad.xml"
    asset = '<mujoco>\n<asset>\n<mesh name="m" file="no.stl"/>\n</asset>'
    path.write_text(BODY.format('<joint/><geom type="mesh" mesh="m"/>').replace("<mujoco>", asset))
    with pytest.raises(InputError, match="line 3, <mesh name=\"m\">: no such mesh 'no.stl'"):
        plan_import(path)


def test_references_that_lead_nowhere_are_found(tmp_path):
    path = tmp_path / "bad.xml"
    tie = '<equality>\n<joint joint1="x"/>\n</equality></mujoco>'
    path.write_text(BODY.format('<joint/><geom size="1"/>').replace("</mujoco>", tie))
    with pytest.raises(InputError, match="line 8, <joint>: unknown element 'x'"):
        plan_import(path)


def test_a_loop_that_cannot_close_is_refused(tmp_path):
    path = tmp_path / "open.xml"
    path.write_text("""<mujoco><worldbody><body name="a"><freejoint/><geom size="1"/>
      <site name="far" pos="0 0 2"/>
      <body name="b" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/>
        <site name="end" pos="0.2 0 0"/></body></body></worldbody>
      <equality><connect name="shut" site1="end" site2="far"/></equality></mujoco>""")
    # an arm of 0.2 m cannot reach a point 1 m away
    said = "^open.xml: equality 'shut' cannot close: its ends stay 80 cm apart at best$"
    with pytest.raises(InputError, match=said):
        plan_import(path)


def test_two_bodies_in_the_world_need_a_base(tmp_path):
    path = tmp_path / "two.xml"
    one = '<body name="{}"><freejoint/><geom size="1"/></body>'
    path.write_text(f"<mujoco><worldbody>{one.format('a')}{one.format('b')}</worldbody></mujoco>")
    with pytest.raises(InputError, match="2 bodies have no parent"):
        plan_import(path)
    assert plan_import(path, Wish(base="b")).model.nbody == 2


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(wheels=["rear"]), "--wheels: no joint is called 'rear'"),
        (Wish(wheels=["mast_pan"]), "--wheels: 'mast_pan' is not round about its axis"),
        (Wish(feet=["hand"]), "--feet: no body is called 'hand'"),
        (Wish(base="mast"), "--base: 'mast' is carried by 'base_link'"),
        (Wish(forward="up"), r"--forward: 'up' is not a direction; valid: \+x"),
        (Wish(tracks=["L=mast_pan"]), "--tracks: L has 1 rollers"),
    ],
)
def test_wishes_that_cannot_be_met_are_one_sentence(tmp_path, wish, said):
    with pytest.raises(InputError, match=said):
        plan_import(files.four_wheeler(tmp_path), wish)


# --- what MuJoCo would open by itself


@pytest.mark.parametrize(
    "inside, said",
    [
        ('<include file="/dev/zero"/>', r"line 2, <include>: /dev/zero: is a device; give a file"),
        ('<asset><mesh name="m" file="/dev/zero"/></asset>', '<mesh name="m">: /dev/zero: is a'),
        ('<asset><texture name="t" type="2d" file="pipe"/></asset>', "pipe: is a pipe; give a"),
        ('<include file="robot.xml"/>', "robot.xml"),
        ('<include file="other.xml"/>', r"other.xml, line 1: is not XML"),
    ],
)  # fmt: skip
def test_files_that_a_model_names_must_be_regular(tmp_path, inside, said):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other.xml").write_text("<mujoco>")
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>\n{inside}\n<worldbody><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(InputError, match=said):
        plan_import(path, Wish())


def test_a_model_with_entities_is_refused(tmp_path):
    lines = ["<!DOCTYPE mujoco [", '<!ENTITY a "x">']
    lines += [
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    path = tmp_path / "robot.xml"
    path.write_text("\n".join([*lines, "]>", "<mujoco>&i;</mujoco>"]))
    with pytest.raises(InputError, match="line 2: is not XML .it defines the entity 'a'"):
        plan_import(path, Wish())


def test_a_vertex_far_away_is_refused(tmp_path):
    path = files.four_wheeler(tmp_path)
    mesh = path.parents[1] / "meshes" / "wheel.stl"
    data = bytearray(mesh.read_bytes())
    data[99] = 0x7E  # the exponent of a coordinate
    mesh.write_bytes(data)
    with pytest.raises(InputError, match="'wheel.stl' has a vertex beyond 1e\\+06 m"):
        plan_import(path, Wish())
