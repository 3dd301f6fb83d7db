"""Five robots as others write them, with the traits that importers meet in the wild.

mars_rover       URDF: six wheels on rockers and bogies of bent meshes, four of them steered by
                 joints that are called casters but have ros2_control commands; rockers have a
                 transmission without actuator
rigid_rover      URDF: four wheels on one rigid body, whose mesh lies askew in its frame; a link
                 with an inertia that no body has
omni_platform    MJCF: three omni wheels of eight rollers each, driven at the hubs
crawler          URDF: two belts over thirty small rollers each, called wheels
boat_rover       MJCF: a large curved hull low between steered wheels, which turn into it
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from robot_files import box_inertia, box_link, inertial, joint, robot, shape


def bent_arm(reach: float, rise: float, thickness: float) -> trimesh.Trimesh:
    """Two beams from the ends (±reach, −rise) up to the middle: an inverted V in the x-z plane."""
    span, angle = np.hypot(reach, rise), np.arctan2(rise, reach)
    beams = []
    for side in (-1, 1):
        beam = trimesh.creation.box((span, thickness, thickness))
        turn = trimesh.transformations.rotation_matrix(side * angle, (0, 1, 0))
        beam.apply_transform(turn)
        beam.apply_translation((side * reach / 2, 0, -rise / 2))
        beams.append(beam)
    return trimesh.util.concatenate(beams)


def boat(length: float, width: float, height: float) -> trimesh.Trimesh:
    """The lower half of an ellipsoid, closed by a deck at z = 0."""
    ball = trimesh.creation.icosphere(4)
    points = np.asarray(ball.vertices) * (length / 2, width / 2, height)
    points[:, 2] = np.minimum(points[:, 2], 0.0)
    return trimesh.Trimesh(points, ball.faces, process=True)


def _save(mesh: trimesh.Trimesh, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mesh.export(file_type="stl"))


#: of the mars rover [m]: wheels, height of the rocker's pivot above the axles, its ends
ROVER_RADIUS, ROCKER_RISE, ROCKER_REACH, BEAM = 0.125, 0.25, 0.4, 0.04


def mars_rover(folder: Path) -> Path:
    """Six wheels, rocker-bogie, four-corner steering; ros2_control commands wheels and corners."""
    _save(bent_arm(ROCKER_REACH, ROCKER_RISE, BEAM), folder / "meshes" / "rocker.stl")
    arm = shape('<mesh filename="meshes/rocker.stl"/>')
    roll = shape(f'<cylinder radius="{ROVER_RADIUS}" length="0.1"/>', rpy="1.5708 0 0")
    wheel = inertial(1.2, (0.006, 0.009, 0.006)) + roll
    free = '<limit lower="-0.6" upper="0.6" effort="0" velocity="0"/>'
    turn = '<limit lower="-0.6" upper="0.6" effort="20" velocity="1"/>'
    parts = [box_link("chassis", 25, 0.7, 0.4, 0.2)]
    commanded, plain = [], []
    for side, y in (("left", 0.45), ("right", -0.45)):
        mimic = '<mimic joint="left_rocker_joint" multiplier="-1"/>' if side == "right" else ""
        rocker, bogie = f"{side}_rocker", f"{side}_bogie"
        parts += [
            f'<link name="{rocker}">{inertial(2.5, (0.03, 0.15, 0.15), "0 0 -0.12")}{arm}</link>',
            joint(f"{rocker}_joint", "revolute", "chassis", rocker, f"0 {y} -0.05", "0 1 0",
                  free + mimic),
            box_link(bogie, 1.2, 0.4, 0.03, 0.03),
            joint(f"{bogie}_joint", "revolute", rocker, bogie,
                  f"-{ROCKER_REACH} 0 -{ROCKER_RISE - 0.08}", "0 1 0", free),
        ]  # fmt: skip
        plain += [f"{rocker}_joint", f"{bogie}_joint"]
        for end, parent, x, z in (
            ("front", rocker, ROCKER_REACH, -ROCKER_RISE),
            ("middle", bogie, 0.2, -0.08),
            ("rear", bogie, -0.2, -0.08),
        ):
            name, carrier, at = f"{side}_{end}", parent, f"{x} 0 {z}"
            if end != "middle":
                parts += [
                    box_link(f"{name}_caster", 0.5, 0.04, 0.04, 0.08),
                    joint(f"{name}_caster_joint", "revolute", parent, f"{name}_caster", at,
                          "0 0 1", turn),
                ]  # fmt: skip
                commanded.append(f"{name}_caster_joint")
                carrier, at = f"{name}_caster", "0 0 0"
            parts += [
                f'<link name="{name}_wheel">{wheel}</link>',
                joint(f"{name}_wheel_joint", "continuous", carrier, f"{name}_wheel", at, "0 1 0"),
            ]
            commanded.append(f"{name}_wheel_joint")
    interface = '<command_interface name="velocity"/><state_interface name="position"/>'
    control = "".join(f'<joint name="{n}">{interface}</joint>' for n in commanded)
    parts.append(
        '<ros2_control name="rover" type="system"><hardware><plugin>some/System</plugin>'
        f"</hardware>{control}</ros2_control>"
    )
    parts += [f'<transmission name="{n}_t"><joint name="{n}"/></transmission>' for n in plain]
    path = folder / "mars_rover.urdf"
    path.write_text(robot("mars_rover", parts))
    return path


#: of the rigid rover [m]: wheels, their places, the lowest point of its body above the ground
RIGID_RADIUS, RIGID_X, RIGID_Y, RIGID_BELLY = 0.15, 0.35, 0.3, 0.155


def rigid_rover(folder: Path) -> Path:
    """Four driven wheels on a rigid body, whose mesh has corners cut off and lies askew."""
    hull = trimesh.creation.box((0.7, 0.4, 0.12))
    bow = trimesh.creation.cone(0.12, 0.3, sections=24)
    bow.apply_transform(trimesh.transformations.rotation_matrix(0.9, (0, 1, 0)))
    bow.apply_translation((0.2, 0, 0.06))
    mesh = trimesh.util.concatenate([hull, bow])
    mesh.apply_translation((0, 0, RIGID_BELLY - RIGID_RADIUS + 0.06))
    # the file's frame of the mesh is turned; the link turns it back
    mesh.apply_transform(trimesh.transformations.rotation_matrix(-0.7, (1, 0, 0)))
    _save(mesh, folder / "meshes" / "body.stl")
    skin = shape('<mesh filename="meshes/body.stl"/>', rpy="0.7 0 0")
    roll = shape(f'<cylinder radius="{RIGID_RADIUS}" length="0.1"/>', rpy="1.5708 0 0")
    parts = [f'<link name="body">{inertial(20, box_inertia(20, 0.7, 0.4, 0.12))}{skin}</link>']
    for end, x in (("front", RIGID_X), ("rear", -RIGID_X)):
        for side, y in (("left", RIGID_Y), ("right", -RIGID_Y)):
            # moments of a needle across itself: no body turns like that
            wheel = inertial(1.5, (0.009, 0.05, 0.009)) + roll
            name = f"{end}_{side}_wheel"
            parts += [
                f'<link name="{name}">{wheel}</link>',
                joint(f"{name}_joint", "continuous", "body", name, f"{x} {y} 0", "0 1 0"),
            ]
    path = folder / "rigid_rover.urdf"
    path.write_text(robot("rigid_rover", parts))
    return path


#: of the omni platform [m]: from its middle to the wheels, ring of the rollers, their radius
OMNI_ARM, OMNI_RING, OMNI_ROLLER, OMNI_ROLLERS = 0.2, 0.05, 0.02, 8


def omni_platform(folder: Path) -> Path:
    """Three omni wheels under a plate, their axles 120° apart; motors turn the hubs."""
    wheels, motors = "", ""
    for k in range(3):
        bearing = 120.0 * k
        rollers = ""
        for i in range(OMNI_ROLLERS):
            angle = 2 * np.pi * (i + 0.5) / OMNI_ROLLERS
            # around the axle, y; the roller's own axis is along the rim
            x, z = OMNI_RING * np.sin(angle), -OMNI_RING * np.cos(angle)
            ax, az = np.cos(angle), np.sin(angle)
            rollers += (
                f'<body name="roller_{k}_{i}" pos="{x} 0 {z}"><joint name="roller_{k}_{i}_j" '
                f'axis="{ax} 0 {az}"/><geom type="ellipsoid" size="0.012 0.02 0.02" mass="0.02" '
                f'quat="{np.cos(-angle / 2)} 0 {np.sin(-angle / 2)} 0"/></body>'
            )
        wheels += (
            f'<body name="hub_{k}" pos="{OMNI_ARM * np.cos(np.radians(bearing))} '
            f'{OMNI_ARM * np.sin(np.radians(bearing))} 0" euler="0 0 {bearing - 90}">'
            f'<joint name="hub_{k}_j" axis="0 1 0"/><geom type="cylinder" size="0.03 0.01" '
            f'euler="90 0 0" mass="0.2" contype="0" conaffinity="0"/>{rollers}</body>'
        )
        motors += f'<velocity joint="hub_{k}_j" kv="1"/>'
    path = folder / "omni_platform.xml"
    path.write_text(
        '<mujoco model="omni"><worldbody><body name="plate" pos="0 0 0.07"><freejoint/>'
        '<geom type="cylinder" size="0.2 0.01" pos="0 0 0.09" mass="3"/>'
        f"{wheels}</body></worldbody><actuator>{motors}</actuator></mujoco>"
    )
    return path


#: of the crawler [m]: rollers of a belt, their radius and distance
CRAWLER_ROLLERS, CRAWLER_RADIUS, CRAWLER_STEP = 30, 0.02, 0.042


def crawler(folder: Path) -> Path:
    """Two belts over rows of small rollers; nothing is called a track, the last roller is driven"""
    parts = [box_link("hull", 15, 1.0, 0.3, 0.12)]
    names = []
    for side, y in (("left", 0.25), ("right", -0.25)):
        for k in range(CRAWLER_ROLLERS):
            x = (k - (CRAWLER_ROLLERS - 1) / 2) * CRAWLER_STEP
            roll = shape(f'<cylinder radius="{CRAWLER_RADIUS}" length="0.08"/>', rpy="1.5708 0 0")
            link = f"{side}_wheel_{k}"
            parts += [
                f'<link name="{link}">{inertial(0.1, (1e-4,) * 3)}{roll}</link>',
                joint(f"{link}_joint", "continuous", "hull", link, f"{x} {y} -0.08", "0 1 0"),
            ]
        names.append(f"{side}_wheel_0_joint")
    parts += [
        f'<transmission name="{n}_t"><joint name="{n}"/><actuator name="{n}_m"/></transmission>'
        for n in names
    ]
    path = folder / "crawler.urdf"
    path.write_text(robot("crawler", parts))
    return path


#: of the boat rover [m]: hull, height of its deck above the axles, wheels
BOAT, BOAT_DECK, BOAT_RADIUS = (1.1, 0.56, 0.2), 0.15, 0.14


def boat_rover(folder: Path) -> Path:
    """A curved hull between four wheels, the front ones steered by a quarter turn into it."""
    _save(boat(*BOAT), folder / "boat.stl")
    wheels = ""
    for end, x in (("front", 0.3), ("rear", -0.3)):
        for side, y in (("left", 0.31), ("right", -0.31)):
            name = f"{end}_{side}"
            roll = (
                f'<joint name="{name}_drive" axis="0 1 0"/><geom type="cylinder" mass="1" '
                f'size="{BOAT_RADIUS} 0.03" euler="90 0 0"/>'
            )
            body = f'<body name="{name}_wheel">{roll}</body>'
            if end == "front":
                body = (
                    f'<joint name="{name}_steer" axis="0 0 1" range="-90 90"/>'
                    f'<geom type="sphere" size="0.02" mass="0.3" pos="0 0 0.16"/>{body}'
                )
            else:
                body = f'<geom type="sphere" size="0.02" mass="0.3" pos="0 0 0.16"/>{body}'
            wheels += f'<body name="{name}_knuckle" pos="{x} {y} 0">{body}</body>'
    path = folder / "boat_rover.xml"
    path.write_text(
        '<mujoco model="boat_rover"><asset><mesh name="boat" file="boat.stl"/></asset>'
        '<worldbody><body name="hull" pos="0 0 0.14"><freejoint/>'
        f'<geom type="mesh" mesh="boat" pos="0 0 {BOAT_DECK}" mass="20"/>'
        f"{wheels}</body></worldbody></mujoco>"
    )
    return path


MAKERS = {
    "mars_rover": mars_rover,
    "rigid_rover": rigid_rover,
    "omni_platform": omni_platform,
    "crawler": crawler,
    "boat_rover": boat_rover,
}
