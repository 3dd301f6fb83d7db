"""Geoms of a robot that may touch the ground."""

from __future__ import annotations

from typing import NamedTuple

import mujoco

from marsyard.robot import Robot


class CollidingGeom(NamedTuple):
    """A geom of the robot, not of a wheel, that may touch the ground."""

    geom: int
    body: int
    name: str
    foot: int  # number of the foot whose body it is on, or −1


def colliding_geoms(robot: Robot, model: mujoco.MjModel) -> list[CollidingGeom]:
    """All of them: wheels have shapes of their own, and what is fixed to the world is ground."""
    wheels = {model.body(w.body).id for w in robot.wheels.values()}
    feet = {model.body(f.body).id: k for k, f in enumerate(robot.feet.values())}
    out = []
    for g in range(model.ngeom):
        body = int(model.geom_bodyid[g])
        if body == 0 or body in wheels or model.body_weldid[body] == 0:
            continue
        if model.geom_contype[g] | model.geom_conaffinity[g]:
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom{g}"
            out.append(CollidingGeom(g, body, name, feet.get(body, -1)))
    return out
