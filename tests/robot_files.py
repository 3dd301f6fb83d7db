"""Robots that tests write as URDF or MJCF: a rover, a rocker-bogie, a dog, a tracked vehicle."""

from __future__ import annotations

from pathlib import Path

import trimesh


def box_inertia(mass, x, y, z):
    """Of a solid box about its middle [kg·m²]."""
    return tuple(mass / 12 * v for v in (y * y + z * z, x * x + z * z, x * x + y * y))


def inertial(mass, moments, xyz="0 0 0"):
    a, b, c = moments
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia ixx="{a}" iyy="{b}" '
        f'izz="{c}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def shape(geometry, xyz="0 0 0", rpy="0 0 0", both=True):
    one = f'<origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry>'
    seen = f"<visual>{one}</visual>"
    return seen + (f"<collision>{one}</collision>" if both else "")


def box_link(name, mass, x, y, z):
    inside = inertial(mass, box_inertia(mass, x, y, z)) + shape(f'<box size="{x} {y} {z}"/>')
    return f'<link name="{name}">{inside}</link>'


def joint(name, kind, parent, child, xyz="0 0 0", axis="", more="", rpy="0 0 0"):
    turn = f'<axis xyz="{axis}"/>' if axis else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{turn}{more}</joint>'
    )


def robot(name, parts):
    return (
        '<?xml version="1.0"?>\n' + f'<robot name="{name}">\n' + "\n".join(parts) + "\n</robot>\n"
    )


RADIUS, WIDTH = 0.1, 0.06


def wheel_mesh(radius=RADIUS, width=WIDTH, sections=64):
    """A cylinder about z as binary STL."""
    return trimesh.creation.cylinder(radius, width, sections=sections).export(file_type="stl")


def four_wheeler(folder: Path) -> Path:
    """A ROS package: four driven wheels with meshes about their z axis, the front ones steered,
    axes to the right on the right side, sensors on fixed links."""
    package = folder / "my_rover"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    (package / "meshes" / "wheel.stl").write_bytes(wheel_mesh())
    mesh = shape('<mesh filename="package://my_rover/meshes/wheel.stl"/>')
    solid = (0.5 * RADIUS**2 * 0.5 + WIDTH**2 / 12 * 0.5,) * 2 + (0.5 * 0.5 * RADIUS**2,)
    parts = [
        '<link name="base_footprint"/>', box_link("base_link", 10, 0.6, 0.3, 0.1),
        joint("base_joint", "fixed", "base_footprint", "base_link", "0 0 0.15"),
        '<link name="camera"/>', joint("camera_joint", "fixed", "base_link", "camera", "0.3 0 0.2"),
        f'<link name="imu">{inertial(0.1, (0, 0, 0))}</link>',
        joint("imu_joint", "fixed", "base_link", "imu", "0 0 0.1"),
        box_link("mast", 0.5, 0.05, 0.05, 0.4),
        joint("mast_pan", "continuous", "base_link", "mast", "0.2 0 0.25", "0 0 1"),
    ]  # fmt: skip
    stops = '<limit lower="-0.8" upper="0.5" effort="10" velocity="1"/>'
    for end, x in (("front", 0.25), ("rear", -0.25)):
        for side, y in (("left", 0.2), ("right", -0.2)):
            name = f"{end}_{side}"
            carrier, at = "base_link", f"{x} {y} -0.05"
            if end == "front":
                parts += [
                    box_link(f"{name}_fork", 0.4, 0.05, 0.05, 0.1),
                    joint(f"{name}_steer", "revolute", "base_link", f"{name}_fork", f"{x} {y} 0",
                          "0 0 1" if side == "left" else "0 0 -1", stops),
                ]  # fmt: skip
                carrier, at = f"{name}_fork", "0 0 -0.05"
            # the wheel's z axis points left on the left side and right on the right side
            rpy = "-1.5708 0 0" if side == "left" else "1.5708 0 0"
            parts += [
                f'<link name="{name}_wheel">{inertial(0.5, solid)}{mesh}</link>',
                joint(f"{name}_drive", "continuous", carrier, f"{name}_wheel", at, "0 0 1",
                      '<dynamics damping="0.01" friction="0.1"/>', rpy),
            ]  # fmt: skip
    path = package / "urdf" / "my_rover.urdf"
    path.write_text(robot("my_rover", parts))
    return path


def rocker_bogie(folder: Path) -> Path:
    """Six wheels on rockers and bogies; the right rocker follows the left one backwards."""
    roll = shape('<cylinder radius="0.08" length="0.07"/>', rpy="1.5708 0 0")
    wheel = inertial(0.4, (0.0009, 0.0013, 0.0009)) + roll
    parts = [box_link("chassis", 8, 0.5, 0.3, 0.15)]
    for side, y in (("left", 0.25), ("right", -0.25)):
        mimic = '<mimic joint="left_rocker" multiplier="-1"/>' if side == "right" else ""
        stops = '<limit lower="-0.5" upper="0.5" effort="0" velocity="0"/>'
        parts += [
            box_link(f"{side}_rocker_link", 1, 0.5, 0.03, 0.03),
            joint(f"{side}_rocker", "revolute", "chassis", f"{side}_rocker_link", f"0 {y} 0",
                  "0 1 0", stops + mimic),
            box_link(f"{side}_bogie_link", 0.6, 0.3, 0.03, 0.03),
            joint(f"{side}_bogie", "revolute", f"{side}_rocker_link", f"{side}_bogie_link",
                  "-0.2 0 -0.05", "0 1 0", stops),
        ]  # fmt: skip
        for end, parent, at in (
            ("front", f"{side}_rocker_link", "0.3 0 -0.15"),
            ("middle", f"{side}_bogie_link", "0.15 0 -0.1"),
            ("rear", f"{side}_bogie_link", "-0.15 0 -0.1"),
        ):
            name = f"{end}_{side}_wheel"
            parts += [
                f'<link name="{name}">{wheel}</link>',
                joint(f"{name}_joint", "continuous", parent, name, at, "0 1 0"),
            ]
    path = folder / "six.urdf"
    path.write_text(robot("six", parts))
    return path


def dog(folder: Path) -> Path:
    """Four legs of three hinges each, with feet as fixed balls."""
    stops = '<limit lower="-1.5" upper="1.5" effort="30" velocity="10"/>'
    parts = [box_link("trunk", 6, 0.4, 0.2, 0.1)]
    for end, x in (("F", 0.2), ("R", -0.2)):
        for side, y in (("L", 0.1), ("R", -0.1)):
            n = end + side
            ball = inertial(0.05, (2e-5,) * 3) + shape('<sphere radius="0.02"/>')
            parts += [
                box_link(f"{n}_hip", 0.5, 0.05, 0.05, 0.05),
                joint(f"{n}_hip_joint", "revolute", "trunk", f"{n}_hip", f"{x} {y} 0", "1 0 0",
                      stops),
                box_link(f"{n}_thigh", 0.6, 0.03, 0.03, 0.15),
                joint(f"{n}_thigh_joint", "revolute", f"{n}_hip", f"{n}_thigh", "0 0 -0.12",
                      "0 1 0", stops),
                box_link(f"{n}_calf", 0.2, 0.02, 0.02, 0.15),
                joint(f"{n}_calf_joint", "revolute", f"{n}_thigh", f"{n}_calf", "0 0 -0.18",
                      "0 1 0", stops),
                f'<link name="{n}_foot">{ball}</link>',
                joint(f"{n}_foot_fixed", "fixed", f"{n}_calf", f"{n}_foot", "0 0 -0.1"),
            ]  # fmt: skip
    path = folder / "dog.urdf"
    path.write_text(robot("dog", parts))
    return path


def tracked(folder: Path) -> Path:
    """Two belts: a sprocket behind, an idler in front, two road wheels each."""
    parts = [box_link("hull", 20, 0.6, 0.3, 0.15)]
    for side, y in (("left", 0.25), ("right", -0.25)):
        for name, x, z, r in (
            ("sprocket", -0.35, 0.02, 0.08),
            ("road_1", -0.12, -0.04, 0.06),
            ("road_2", 0.12, -0.04, 0.06),
            ("idler", 0.35, 0.0, 0.07),
        ):
            roll = shape(f'<cylinder radius="{r}" length="0.1"/>', rpy="1.5708 0 0")
            link = f"{side}_{name}"
            parts += [
                f'<link name="{link}">{inertial(0.5, (0.001,) * 3)}{roll}</link>',
                joint(f"{link}_joint", "continuous", "hull", link, f"{x} {y} {z}", "0 1 0"),
            ]
    path = folder / "tank.urdf"
    path.write_text(robot("tank", parts))
    return path


def offset_rover(folder: Path) -> Path:
    """An MJCF with frames, classes, a mesh far from its origin, and wheels beside their frames."""
    mesh = trimesh.creation.box((0.2, 0.1, 0.3))
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.5, (1, 2, 3), (0.1, 0, 0)))
    mesh.apply_translation((0.3, 0.1, 0.2))
    (folder / "stuff").mkdir()
    (folder / "stuff" / "block.stl").write_bytes(mesh.export(file_type="stl"))
    wheels = "".join(
        f'<body name="{n}" pos="{x} {y} -0.1" euler="0 0 {turn}" childclass="wheel">'
        f'<joint name="{n}_j" pos="0.02 {off} 0.01"/><geom pos="0.02 {off + 0.03} 0.01"/></body>'
        for n, x, y, turn, off in (
            ("fl", 0.3, 0.3, 0, 0.0), ("fr", 0.3, -0.3, 180, 0.05),
            ("rl", -0.3, 0.3, 0, -0.02), ("rr", -0.3, -0.3, 180, 0.0),
        )
    )  # fmt: skip
    path = folder / "odd.xml"
    path.write_text(f"""<mujoco model="odd"><compiler meshdir="stuff"/>
      <asset><mesh name="block" file="block.stl" scale="2 2 2"/></asset>
      <default><default class="wheel"><joint axis="0 1 0" damping="0.3"/>
        <geom type="cylinder" size="0.11 0.04" euler="90 0 0"/></default></default>
      <worldbody><geom type="plane" size="1 1 1"/><light pos="0 0 3"/>
        <body name="car" pos="1 2 0.5" euler="0 0 30"><geom type="box" size="0.3 0.2 0.05"/>
          <frame pos="0 0 0.1" euler="20 0 10"><geom type="mesh" mesh="block" mass="3"/></frame>
          <frame pos="0 0 0.02">{wheels}</frame></body></worldbody>
      <equality><joint joint1="fl_j" joint2="fr_j" polycoef="0 1 0 0 0"/></equality>
      <actuator><motor joint="fl_j"/></actuator></mujoco>""")
    return path


#: the least URDF that rolls
ONE_WHEEL = """<robot name="r">
<link name="base"><inertial><mass value="5"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial></link>
<link name="w"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><origin rpy="1.5708 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="w"/><axis xyz="0 1 0"/></joint>
</robot>
"""
