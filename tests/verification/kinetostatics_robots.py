"""Robots on contacts, made by hand from elementary screws, without any multibody library."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marsyard.analysis.kinetostatics.screws import force, rotation

Y = np.array([0.0, 1.0, 0.0])


def turn(axis: str, angle: float) -> np.ndarray:
    """Rotation matrix, right hand about x, y or z."""
    c, s = np.cos(angle), np.sin(angle)
    if axis == "x":
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    if axis == "y":
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


@dataclass
class Robot:
    """Contacts, built joint by joint: `joint` then `wheel` with the names of the joints above."""

    joints: list[str] = field(default_factory=list)
    contacts: list[str] = field(default_factory=list)
    twists: list[np.ndarray] = field(default_factory=list)
    motors: list[bool] = field(default_factory=list)
    frames: list[np.ndarray] = field(default_factory=list)
    chains: list[set[str]] = field(default_factory=list)
    radii: list[float] = field(default_factory=list)
    loops: list[dict[str, float]] = field(default_factory=list)

    def joint(self, name, axis, point, driven=False):
        self.joints.append(name)
        self.twists.append(rotation(axis, point))
        self.motors.append(driven)

    def wheel(self, name, point, axes, radius, above=(), driven=True):
        """point: of contact; axes: (heading, left, normal) as columns; spins about left."""
        heading, left, normal = axes.T
        self.joint(f"spin_{name}", left, point + radius * normal, driven)
        self.contacts.append(name)
        self.frames.append(np.array([force(e, point) for e in (normal, heading, left)]))
        self.chains.append({*above, f"spin_{name}"})
        self.radii.append(radius)

    @property
    def wrenches(self):
        return np.array(self.frames)

    @property
    def radius(self):
        return np.array(self.radii)

    @property
    def driven(self):
        return np.array(self.motors)

    @property
    def chain(self):
        return np.array([[j in c for j in self.joints] for c in self.chains])

    @property
    def rates(self):
        moved = np.einsum("iac,jc->iaj", self.wrenches, np.array(self.twists))
        return moved * self.chain[:, None, :]

    @property
    def closures(self):
        return np.array([[row.get(j, 0.0) for j in self.joints] for row in self.loops]).reshape(
            len(self.loops), len(self.joints)
        )


@dataclass
class ThreePods:
    """Angles and sizes of a three-pod robot; index 0 front (paper's 1), 1 rear (paper's 2)."""

    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray
    h: np.ndarray  # x of the contacts' middle from O_0, in R_j
    a: np.ndarray  # z of it
    a0: float  # z of the middle pod's contacts
    d: np.ndarray  # half tracks: front, middle, rear
    R: float
    x0: float = 0.0  # x of the middle pod's contacts

    def axes(self, j: int) -> np.ndarray:
        """R_j's axes in R_0: pitch α (nose up), roll β, then γ (nose up)."""
        return turn("y", -self.alpha[j]) @ turn("x", self.beta[j]) @ turn("y", -self.gamma[j])

    def robot(self) -> Robot:
        out = Robot()
        for j, end in ((0, "front"), (None, ""), (1, "rear")):
            above = ()
            axes, middle, d = np.eye(3), np.array([self.x0, 0.0, self.a0]), self.d[1]
            if j is not None:
                out.joint(f"pitch_{end}", Y, np.zeros(3))
                out.joint(f"roll_{end}", turn("y", -self.alpha[j])[:, 0], np.zeros(3))
                above = (f"pitch_{end}", f"roll_{end}")
                axes, d = self.axes(j), self.d[2 * j]
                middle = axes @ [self.h[j], 0.0, self.a[j]]
            letter = end[:1].upper() or "M"
            for side, sign in (("L", 1), ("R", -1)):
                point = middle + sign * d * axes[:, 1]
                out.wheel(letter + side, point, axes, self.R, above)
        return out


def random_pods(rng: np.random.Generator, roll: float = 0.0, bend: float = 0.6) -> ThreePods:
    """Random angles (|α|, |γ| ≤ bend, |β| ≤ roll) and random sizes."""
    return ThreePods(
        alpha=rng.uniform(-bend, bend, 2),
        beta=rng.uniform(-roll, roll, 2),
        gamma=rng.uniform(-bend, bend, 2),
        h=np.array([rng.uniform(0.2, 0.9), -rng.uniform(0.2, 0.9)]),
        a=-rng.uniform(0.05, 0.5, 2),
        a0=-rng.uniform(0.05, 0.5),
        d=rng.uniform(0.2, 0.5, 3),
        R=rng.uniform(0.1, 0.3),
    )


def flat_pods(rng: np.random.Generator) -> ThreePods:
    """All angles zero, contacts on one plane."""
    pods = random_pods(rng)
    pods.alpha, pods.gamma = np.zeros(2), np.zeros(2)
    pods.a[:] = pods.a0
    return pods
