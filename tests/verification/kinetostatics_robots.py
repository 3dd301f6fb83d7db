"""Robots on contacts, made by hand from elementary screws, without any multibody library."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marsyard.analysis.kinetostatics.screws import force, rotation

Y, Z = np.eye(3)[1:]
R = 0.2  # of all wheels but those of pods [m]


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


def cart(caster=0.4, offset=0.1):
    """Two driven wheels at x = 0, y = ±0.3, and a castor behind; origin on the ground."""
    out = Robot()
    out.wheel("L", np.array([0, 0.3, 0]), np.eye(3), R)
    out.wheel("R", np.array([0, -0.3, 0]), np.eye(3), R)
    axes = turn("z", caster)
    pivot = np.array([-0.5, 0.0, 0.0])
    out.joint("swivel", Z, pivot)
    out.wheel("C", pivot - offset * axes[:, 0], axes, R, ("swivel",), driven=False)
    return out


def car(left, right, length=1.2, half=0.4):
    """Rear wheels driven at the origin, front ones steered by motors over their contacts."""
    out = Robot()
    for name, y in (("RL", half), ("RR", -half)):
        out.wheel(name, np.array([0, y, 0]), np.eye(3), R)
    for name, y, angle in (("FL", half, left), ("FR", -half, right)):
        point = np.array([length, y, 0])
        out.joint(f"steer_{name}", Z, point, driven=True)
        out.wheel(name, point, turn("z", angle), R, (f"steer_{name}",))
    return out


def skid():
    out = Robot()
    for x, end in ((0.4, "F"), (-0.4, "R")):
        for y, side in ((0.3, "L"), (-0.3, "R")):
            out.wheel(end + side, np.array([x, y, -R]), np.eye(3), R)
    return out


def bogies(psi, l1=0.3, l2=0.35, c=0.1):
    """A left and a right bogie, pivot at the origin's height; front wheels on edges at angle ψ."""
    out = Robot()
    for y, side in ((0.5, "L"), (-0.5, "R")):
        bogie = f"bogie_{side}"
        out.joint(bogie, [0, 1, 0], [0, y, 0])
        out.wheel(f"R{side}", np.array([-l1, y, -c - R]), np.eye(3), R, (bogie,))
        axes = turn("y", -psi)
        centre = np.array([l2, y, -c])
        out.wheel(f"F{side}", centre - R * axes[:, 2], axes, R, (bogie,))
    return out


def random_tree(rng, loops=0):
    """Wheels at the ends of random chains, some joints and wheels driven, random closures."""
    out, names = Robot(), []
    for k in range(int(rng.integers(1, 6))):
        out.joint(f"j{k}", rng.normal(size=3), rng.normal(size=3), bool(rng.random() < 0.3))
        names.append(f"j{k}")
    for k in range(int(rng.integers(2, 6))):
        axes = turn("z", rng.normal()) @ turn("x", 0.4 * rng.normal()) @ turn("y", rng.normal())
        above = [n for n in names if rng.random() < 0.4]
        out.wheel(f"W{k}", rng.normal(size=3), axes, R, above, bool(rng.random() < 0.7))
    for _ in range(loops):
        out.loops.append({n: float(rng.normal()) for n in names if rng.random() < 0.6})
    return out


def rocker(closed=True):
    """Six wheels, rockers and bogies; a differential makes the rockers turn against each other."""
    out = Robot()
    for y, side in ((0.5, "L"), (-0.5, "R")):
        out.joint(f"rocker_{side}", [0, 1, 0], [0, y, 0])
        out.joint(f"bogie_{side}", [0, 1, 0], [-0.3, y, -0.1])
        rock, bog = f"rocker_{side}", f"bogie_{side}"
        out.wheel(f"F{side}", np.array([0.5, y, -0.4]), np.eye(3), R, (rock,))
        out.wheel(f"M{side}", np.array([-0.1, y, -0.4]), np.eye(3), R, (rock, bog))
        out.wheel(f"R{side}", np.array([-0.5, y, -0.4]), np.eye(3), R, (rock, bog))
    if closed:
        out.loops.append({"rocker_L": 1.0, "rocker_R": 1.0})
    return out


def rows_of(pods, j):
    """D and B of the paper for the pod j at any α, β, γ, in closed form (ours, see the docs)."""
    al, be, ga, h, a = (x[j] for x in (pods.alpha, pods.beta, pods.gamma, pods.h, pods.a))
    la = np.arctan2(a, h)
    ca, sa, cb, sb = np.cos(al), np.sin(al), np.cos(be), np.sin(be)
    z = np.array([
        -ca * np.sin(ga) - sa * cb * np.cos(ga), -sb * np.cos(ga),
        -sa * np.sin(ga) + ca * cb * np.cos(ga),
    ])  # fmt: skip
    yaw = [*(-sb / h * z), -sa, 0.0, ca]
    cs, ss = np.cos(la + ga), np.sin(la + ga)
    ahead = [ca * cs - sa * cb * ss, -sb * ss, sa * cs + ca * cb * ss, 0.0, 0.0, 0.0]
    return np.array([yaw, ahead]), np.array([cb * np.cos(ga), np.cos(la)])


def closed_form(pods):
    """All of D and diag B, with the signs of ours (B > 0)."""
    front, b_front = rows_of(pods, 0)
    rear, b_rear = rows_of(pods, 1)
    middle = [[0, 0, 0, 0, 0, 1], [1, 0, 0, 0, pods.a0, 0]]
    D, B = np.vstack([front, middle, rear]), np.concatenate([b_front, [1, 1], b_rear])
    return D * np.sign(B)[:, None], np.abs(B)


def full_motions(model, locked=False):
    """Oracle: null space of the rolling conditions and closures in (X, q̇), no reduction."""
    stance = model.stance
    rows = full_rows(model)
    if locked:
        still = np.eye(6 + len(stance.joints))[[6 + j for j in model.drives]]
        rows = np.vstack([rows, still])
    _, size, right = np.linalg.svd(rows)
    return right[int(np.sum(size > 1e-9 * size[0])) :]


def full_rows(model):
    stance = model.stance
    rows = [np.hstack([stance.wrenches[i, a], stance.rates[i, a]])
            for i in range(len(stance.contacts)) for a in range(3)
            if a < 2 or model.holds[i]]  # fmt: skip
    return np.array(rows + [np.hstack([np.zeros(6), c]) for c in stance.closures])


def pods_of(stance) -> ThreePods:
    """Angles and sizes of a RobuRoc's stance, from its joints, contact points and normals."""
    mean = {e: stance.points[[stance.contacts.index(e + s) for s in "LR"]].mean(0) for e in "FMR"}
    alpha = -np.array([stance.angles[stance.joint(f"pitch_{e}")] for e in ("front", "rear")])
    beta = np.array([stance.angles[stance.joint(f"roll_{e}")] for e in ("front", "rear")])
    gamma, h, a = np.zeros((3, 2))
    for j, end in enumerate("FR"):
        pod = turn("y", -alpha[j]) @ turn("x", beta[j])
        x, _, z = pod.T @ stance.axes[stance.contacts.index(end + "L"), 0]
        gamma[j] = np.arctan2(-x, z)
        h[j], _, a[j] = turn("y", gamma[j]) @ pod.T @ mean[end]
    return ThreePods(alpha, beta, gamma, h, a, mean["M"][2], np.full(3, 0.32), 0.24)
