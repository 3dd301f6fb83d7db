"""Queries of a compiled model: its tree, names, and shapes around its joints."""

from __future__ import annotations

import fnmatch
import re

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import extent
from marsyard.robot.extent import Round

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
FREE = int(mujoco.mjtJoint.mjJNT_FREE)

#: least reach across an axle by the largest of what is round
ROUND = 0.88
#: vertical part of an axis that counts as level (below) and as upright (above)
LEVEL, UPRIGHT = 0.35, 0.8


class Anatomy:
    """Bodies and joints of a model in its reference pose, by MuJoCo's numbers.

    Attributes:
        m, d: the model, and its data in the reference pose.
        joints: hinges and slides; names: of them.
        seen: geoms of the robot. low: height of its lowest point [m]; height: its own [m].
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.m = model
        self.d = mujoco.MjData(model)
        mujoco.mj_kinematics(model, self.d)
        self.seen = [g for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
        self.low = extent.lowest(model, self.d, self.seen)
        self.height = max(extent.highest(model, self.d, self.seen) - self.low, 0.0)
        kinds = (HINGE, SLIDE)
        self.joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) in kinds]
        self.names = {j: model.joint(j).name for j in self.joints}

    # --- the tree

    def body_of(self, j: int) -> int:
        """Number of the body that a joint moves."""
        return int(self.m.jnt_bodyid[j])

    def body_name(self, b: int) -> str:
        """Name of a body."""
        return self.m.body(b).name

    def above(self, b: int) -> list[int]:
        """Bodies from b up to the root."""
        out = []
        while b > 0:
            out.append(b)
            b = int(self.m.body_parentid[b])
        return out

    def joints_above(self, b: int, itself: bool = True) -> list[int]:
        """Hinges and slides between a body and the root, its own among them unless told."""
        chain = set(self.above(b) if itself else self.above(b)[1:])
        return [j for j in self.joints if self.body_of(j) in chain]

    def rigid(self, b: int) -> list[int]:
        """A body and what is fixed to it."""
        head = int(self.m.body_weldid[b])
        return [k for k in range(self.m.nbody) if int(self.m.body_weldid[k]) == head]

    def geoms(self, b: int) -> list[int]:
        """Shapes of a body and of what is fixed to it."""
        bodies = set(self.rigid(b))
        return [g for g in self.seen if int(self.m.geom_bodyid[g]) in bodies]

    def is_last(self, j: int) -> bool:
        """Whether nothing moves on the body of a joint, and no other joint moves it."""
        b = self.body_of(j)
        moving = [k for k in range(self.m.nbody) if self.m.body_jntnum[k] > 0 and k != b]
        alone = int(self.m.body_jntnum[b]) == 1
        return alone and not any(b in self.above(k) for k in moving)

    def text(self, j: int) -> str:
        """Names of a joint and its body, to look for words in."""
        return f"{self.names[j]} {self.body_name(self.body_of(j))}"

    # --- patterns

    def matching(self, patterns: list[str], option: str) -> dict[str, list[int]]:
        """Joints by key for 'KEY=pattern' or patterns of joint or body names."""
        out: dict[str, list[int]] = {}
        for text in patterns:
            key, sign, pattern = text.rpartition("=")
            found = [
                j for j in self.joints
                if fnmatch.fnmatchcase(self.names[j], pattern)
                or fnmatch.fnmatchcase(self.body_name(self.body_of(j)), pattern)
            ]  # fmt: skip
            if not found:
                known = list(self.names.values())
                raise InputError(
                    f"--{option}: no joint is called '{pattern}'; {suggest(pattern, known)}"
                )
            group = out.setdefault(key.strip() if sign else "", [])
            group += [j for j in found if j not in group]
        return out

    # --- shapes

    def rolls(self, j: int) -> Round | None:
        """The shape of a joint's body about it, if it may roll."""
        if int(self.m.jnt_type[j]) != HINGE or not self.is_last(j) or not self.endless(j):
            return None
        if abs(self.axle(j)[2]) > LEVEL:
            return None
        shape = self.round_about(j)
        if shape is None or shape.roundness < ROUND or shape.width > 4 * shape.radius:
            return None
        return shape

    def rollers_around(self, hub: int) -> list[int]:
        """Joints of the rollers of an omni wheel by its hub's joint, by angle; none if it is none.

        They hang on the hub, have no stops, are round, and lie in a ring around its axle: equally
        far from it, no two neighbours more than 150° apart.
        """
        m, b = self.m, self.body_of(hub)
        if int(m.jnt_type[hub]) != HINGE or int(m.body_jntnum[b]) != 1 or not self.endless(hub):
            return []
        still, axis, place = set(self.rigid(b)), self.axle(hub), np.array(self.d.xanchor[hub])
        across = np.eye(3) - np.outer(axis, axis)
        ring = []
        for j in self.joints:
            own = int(m.body_parentid[self.body_of(j)]) in still and self.body_of(j) not in still
            if not own or int(m.jnt_type[j]) != HINGE or not self.endless(j) or not self.is_last(j):
                continue
            shape = self.round_about(j)
            if shape is not None and shape.roundness >= ROUND:
                ring.append((j, across @ (np.array(self.d.xanchor[j]) - place)))
        if len(ring) < 3:
            return []
        away = np.array([np.linalg.norm(v) for _, v in ring])
        if away.min() < 0.8 * away.max() or away.max() < 1e-6:
            return []
        first = ring[0][1] / away[0]
        angles = [np.arctan2(np.cross(first, v) @ axis, first @ v) for _, v in ring]
        order = np.argsort(angles)
        gaps = np.diff([*np.sort(angles), np.min(angles) + 2 * np.pi])
        return [ring[k][0] for k in order] if gaps.max() < np.radians(150) else []

    def endless(self, j: int) -> bool:
        """Whether a joint has no stops, or stops that are turns apart."""
        low, high = self.m.jnt_range[j]
        far = 2 * np.pi if re.search("wheel", self.text(j), re.I) else 4 * np.pi
        return not self.m.jnt_limited[j] or high - low > far - 0.1

    def round_about(self, j: int) -> Round | None:
        """The best account of the shape about the joint: what collides before what is drawn."""
        m = self.m
        geoms = self.geoms(self.body_of(j))
        hard = [g for g in geoms if m.geom_contype[g] or m.geom_conaffinity[g]]
        soft = [g for g in geoms if g not in hard]
        place, axis = np.array(self.d.xanchor[j]), self.axle(j)
        shapes = [extent.about(m, self.d, group, place, axis) for group in (hard, soft) if group]
        if not shapes:
            return None
        good = [s for s in shapes if s.roundness >= ROUND]
        best = good[0] if good else shapes[0]
        if len(good) == 2 and self.are_balls(hard) and good[1].width < best.width:
            # a ball collides for a wheel that is drawn
            best = best._replace(width=good[1].width, middle=good[1].middle)
        return best

    def are_balls(self, geoms: list[int]) -> bool:
        """Whether all of the geoms are balls or ellipsoids."""
        balls = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
        return bool(geoms) and all(int(self.m.geom_type[g]) in balls for g in geoms)

    def axle(self, j: int) -> np.ndarray:
        """Axis of a joint in the world, unit vector."""
        return np.array(self.d.xaxis[j])
