r"""Families of friction-contact problems, for tests and benchmarks.

Each problem is one time step of a small rigid-body scene: with the bodies' masses and inertias in
M [kg, kg m²], the contact Jacobian H (normal, tangent, tangent of every contact) and the velocity
v_free [m/s] the bodies would have without contact impulses,

    W = H M⁻¹ Hᵀ,        q = H v_free.

As q lies in the range of H, and the scenes can be pulled apart, a solution exists. Boxes touch at
four corners, so most scenes are hyperstatic (W singular). Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s²
STEP = 5e-3  # s

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ContactProblem:
    """Delassus matrix W [1/kg], free velocity q [m/s] and friction coefficients, with a name."""

    name: str
    W: Vector
    q: Vector
    mu: Vector

    @property
    def contacts(self) -> int:
        return self.mu.size


class _Scene:
    """Bodies (mass, inertia, position, velocity) and contacts between them or with the ground."""

    def __init__(self) -> None:
        self.bodies: list[tuple[float, Vector, Vector, Vector]] = []
        self.contacts: list[tuple[int, int, Vector, Vector]] = []

    def body(self, mass: float, inertia: Vector, position: Vector, velocity: Vector) -> int:
        self.bodies.append((mass, inertia, position, velocity))
        return len(self.bodies) - 1

    def box(self, mass: float, size: Vector, position: Vector, velocity: Vector) -> int:
        square = size**2
        return self.body(mass, mass / 12.0 * (square.sum() - square), position, velocity)

    def sphere(self, mass: float, radius: float, position: Vector, velocity: Vector) -> int:
        return self.body(mass, np.full(3, 0.4 * mass * radius**2), position, velocity)

    def touch(self, upper: int, lower: int, point: Vector, normal: Vector) -> None:
        """A contact at `point`, normal from `lower` (−1: ground) to `upper`."""
        self.contacts.append((upper, lower, point, normal / np.linalg.norm(normal)))

    def assemble(self, name: str, mu: Vector | float) -> ContactProblem:
        n, bodies = len(self.contacts), len(self.bodies)
        h = np.zeros((3 * n, 6 * bodies))
        for c, (upper, lower, point, normal) in enumerate(self.contacts):
            helper = np.eye(3)[np.argmin(np.abs(normal))]
            tangent = np.cross(normal, helper)
            tangent /= np.linalg.norm(tangent)
            frame = np.stack([normal, tangent, np.cross(normal, tangent)])
            for index, sign in ((upper, 1.0), (lower, -1.0)):
                if index >= 0:
                    arm = point - self.bodies[index][2]
                    block = sign * np.hstack([frame, np.cross(arm, frame)])
                    h[3 * c : 3 * c + 3, 6 * index : 6 * index + 6] = block
        inverse = np.concatenate([np.r_[np.full(3, 1.0 / b[0]), 1.0 / b[1]] for b in self.bodies])
        velocity = np.concatenate([b[3] for b in self.bodies])
        velocity.reshape(-1, 6)[:, :3] += STEP * GRAVITY
        w = (h * inverse) @ h.T
        return ContactProblem(name, 0.5 * (w + w.T), h @ velocity, np.full(n, mu, dtype=float))


def _corners(scene: _Scene, upper: int, lower: int, centre: Vector, half: tuple[float, float]):
    for x in (-half[0], half[0]):
        for y in (-half[1], half[1]):
            scene.touch(upper, lower, centre + np.array([x, y, 0.0]), np.array([0.0, 0.0, 1.0]))


def stack(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """Boxes on top of each other; the mass ratio grows to 1e6; some are pushed sideways."""
    scene = _Scene()
    count = max(1, contacts // 4)
    ratio = 10.0 ** rng.choice([0.0, 2.0, 6.0])
    size = np.array([0.3, 0.2, 0.1])
    for k in range(count):
        mass = ratio ** rng.uniform()
        velocity = np.zeros(6)
        if rng.uniform() < 0.3:
            velocity[:3] = rng.normal(size=3) * [0.3, 0.3, 0.0]
        centre = np.array([0.02 * rng.normal(), 0.02 * rng.normal(), 0.05 + 0.1 * k])
        body = scene.box(mass, size, centre, velocity)
        _corners(scene, body, body - 1, np.array([0.0, 0.0, 0.1 * k]), (0.12, 0.08))
    return scene.assemble(f"stack-{4 * count}-mu{mu:g}", mu)


def wall(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """A brick wall in running bond, hit by a lateral velocity on one brick."""
    scene = _Scene()
    size = np.array([0.2, 0.1, 0.1])
    width = max(2, int(np.sqrt(contacts / 8)))
    below: dict[int, int] = {}
    row = 0
    while len(scene.contacts) < contacts:
        here: dict[int, int] = {}
        for k in range(width):
            if len(scene.contacts) >= contacts:
                break
            slot = 2 * k + row % 2
            centre = np.array([0.1 * slot, 0.0, 0.05 + 0.1 * row])
            velocity = np.zeros(6)
            if rng.uniform() < 0.1:
                velocity[:3] = rng.normal(size=3)
            here[slot] = brick = scene.box(2.0, size, centre, velocity)
            foot = centre - [0.0, 0.0, 0.05]
            if row == 0:
                _corners(scene, brick, -1, foot, (0.1, 0.05))
            else:
                for shift in (-1, 1):
                    if slot + shift in below:
                        side = foot + [0.05 * shift, 0.0, 0.0]
                        _corners(scene, brick, below[slot + shift], side, (0.05, 0.05))
        below = here
        row += 1
    return scene.assemble(f"wall-{len(scene.contacts)}-mu{mu:g}", mu)


def arch(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """A semicircular masonry arch: voussoirs touching at four corners of each joint."""
    scene = _Scene()
    count = max(1, contacts // 4 - 1)
    angle = np.pi / count
    thickness = rng.uniform(0.2, 0.4)
    for k in range(count):
        theta = np.pi - (k + 0.5) * angle
        centre = np.array([np.cos(theta), 0.0, np.sin(theta)])
        scene.box(50.0, np.array([angle, 0.4, thickness]), centre, np.zeros(6))
    scene.bodies[count // 2][3][:3] = rng.normal(size=3) * 0.1
    for k in range(count + 1):
        theta = np.pi - k * angle
        radial = np.array([np.cos(theta), 0.0, np.sin(theta)])
        along = np.array([np.sin(theta), 0.0, -np.cos(theta)])
        upper, lower, normal = (k, k - 1, along) if k < count else (k - 1, -1, -along)
        for a in (1.0 - thickness / 2, 1.0 + thickness / 2):
            for y in (-0.2, 0.2):
                scene.touch(upper, lower, a * radial + [0.0, y, 0.0], normal)
    return scene.assemble(f"arch-{len(scene.contacts)}-mu{mu:g}", mu)


def chain(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """A vertical column of spheres, each on the next, falling at random velocities."""
    scene = _Scene()
    ratio = 10.0 ** rng.choice([0.0, 3.0, 6.0])
    for k in range(contacts):
        mass = ratio ** rng.uniform()
        velocity = rng.normal(size=6) * rng.choice([0.0, 0.5])
        lean = np.array([0.1 * np.sin(k), 0.1 * np.cos(k), 0.5 + k])
        body = scene.sphere(mass, 0.5, lean, velocity)
        normal = lean - (scene.bodies[k - 1][2] if k else lean * [1, 1, 0])
        scene.touch(body, body - 1, lean - 0.5 * normal, normal)
    return scene.assemble(f"chain-{contacts}-mu{mu:g}", mu)


def pile(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """Spheres on a disturbed lattice over the ground, touching their neighbours."""
    scene = _Scene()
    side = max(2, int((contacts / 2.5) ** (1 / 3)))
    grid = [(i, j, k) for k in range(4 * side) for j in range(side) for i in range(side)]
    for place in grid:
        if len(scene.contacts) >= contacts:
            break
        centre = np.array(place) + rng.uniform(-0.2, 0.2, 3) + [0.0, 0.0, 0.5]
        mass = 10.0 ** rng.uniform(-1.0, 1.0)
        body = scene.sphere(mass, 0.5, centre, rng.normal(size=6) * 0.2)
        if place[2] == 0:
            foot = centre * [1, 1, 0]
            scene.touch(body, -1, foot, np.array([0.0, 0.0, 1.0]))
        for other in range(body):
            gap = centre - scene.bodies[other][2]
            if gap @ gap < 1.1 and len(scene.contacts) < contacts:
                scene.touch(body, other, centre - 0.5 * gap, gap)
    return scene.assemble(f"pile-{len(scene.contacts)}-mu{mu:g}", mu)


def pushed_box(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """One box on many feet, pushed or tipped over."""
    scene = _Scene()
    velocity = rng.normal(size=6) * [1.0, 1.0, 0.3, 1.0, 1.0, 1.0]
    box = scene.box(10.0, np.array([1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0]), velocity)
    for _ in range(contacts):
        x, y = rng.uniform(-0.5, 0.5, 2)
        scene.touch(box, -1, np.array([x, y, 0.0]), np.array([0.0, 0.0, 1.0]))
    return scene.assemble(f"box-{contacts}-mu{mu:g}", mu)


def standing_rover(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """A chassis with suspended wheels (vertical, steering, roll freedoms) standing or slipping."""
    modes = contacts * 3 // 2 + 6
    h = np.zeros((3 * contacts, modes))
    for c in range(contacts):
        x, y = (c // 2 - 1) * 0.6, (c % 2 - 0.5) * 1.2
        arm = np.array([x, y, -0.4])
        frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        h[3 * c : 3 * c + 3, :6] = np.hstack([frame, np.cross(arm, frame)])
        h[3 * c : 3 * c + 3, 6 + c] = [0.02, 0.12, 0.0]
        if c // 2 < contacts // 2:
            h[3 * c : 3 * c + 3, 6 + contacts + c // 2] = [0.3 * (-1) ** c, 0.05, 0.1]
    mass = np.r_[np.full(3, 60.0), [5.0, 6.0, 7.0], np.full(modes - 6, 0.5)]
    velocity = rng.normal(size=modes) * 1e-3 * (1.0 if rng.uniform() < 0.5 else 100.0)
    velocity[2] -= 3.7 * STEP
    w = (h / mass) @ h.T
    return ContactProblem(
        f"rover-{contacts}-mu{mu:g}", 0.5 * (w + w.T), h @ velocity, np.full(contacts, mu)
    )


def toed_rover(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """A rolling rover whose wheels are not quite parallel: each axle is off by 1e-12 to 1e-3 rad,
    so that wheels drag each other sideways at that share of the speed. Two contacts a wheel."""
    wheels = (contacts + 1) // 2
    toe = 10.0 ** rng.uniform(-12.0, -3.0)
    radius, speed = 0.14, 0.1
    h = np.zeros((3 * contacts, 6 + wheels))
    angles = toe * rng.normal(size=wheels)
    for c in range(contacts):
        w = c // 2
        angle = angles[w]
        arm = np.array([(w // 2 - 1) * 0.6, (w % 2 - 0.5) * 1.2 + (c % 2 - 0.5) * 0.1, -0.4])
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        frame = np.array([[0.0, 0.0, 1.0], along, [-along[1], along[0], 0.0]])
        h[3 * c : 3 * c + 3, :6] = np.hstack([frame, np.cross(arm, frame)])
        h[3 * c + 1, 6 + w] = -radius
    mass = np.r_[np.full(3, 60.0), [5.0, 6.0, 7.0], np.full(wheels, 0.05)]
    velocity = np.r_[speed, 0.0, -3.7 * STEP, np.zeros(3), np.full(wheels, speed / radius)]
    velocity[6:] += rng.uniform(0.0, 1e-3, wheels)  # what the motors add in a step
    w = (h / mass) @ h.T
    return ContactProblem(
        f"toed-{contacts}-{toe:.0e}-mu{mu:g}", 0.5 * (w + w.T), h @ velocity, np.full(contacts, mu)
    )


def random_bodies(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """Random bodies with contacts at random points in random directions."""
    scene = _Scene()
    count = max(1, int(contacts * rng.uniform(0.2, 1.0)))
    ratio = 10.0 ** rng.choice([0.0, 2.0, 6.0])
    for _ in range(count):
        size = rng.uniform(0.2, 1.0, 3)
        mass = ratio ** rng.uniform()
        scene.box(mass, size, rng.uniform(-1.0, 1.0, 3) * count ** (1 / 3), rng.normal(size=6))
    for _ in range(contacts):
        upper, lower = int(rng.integers(0, count)), int(rng.integers(-1, count))
        if upper == lower:
            lower = -1
        direction = rng.normal(size=3)
        direction[2] = abs(direction[2])
        point = scene.bodies[upper][2] + 0.3 * rng.normal(size=3)
        if lower >= 0:
            direction = scene.bodies[upper][2] - scene.bodies[lower][2] + 0.1 * direction
        scene.touch(upper, lower, point, direction)
    return scene.assemble(f"bodies-{contacts}-mu{mu:g}", mu)


def low_rank(rng: np.random.Generator, contacts: int, mu: float) -> ContactProblem:
    """W = G Gᵀ of low rank with q in its range and a velocity that opens every contact."""
    rank = max(3, int(3 * contacts * rng.uniform(0.2, 0.9)))
    g = rng.normal(size=(3 * contacts, rank))
    g[::3, 0] = 3.0 + np.abs(g[::3, 0]) + 3.0 * mu
    scale = 10.0 ** rng.uniform(-4.0, 2.0)
    velocity = rng.normal(size=rank)
    velocity[0] -= 1.0
    w = scale * g @ g.T
    name = f"low-rank-{contacts}-mu{mu:g}"
    return ContactProblem(name, 0.5 * (w + w.T), g @ velocity, np.full(contacts, mu))


FAMILIES: dict[str, Callable[[np.random.Generator, int, float], ContactProblem]] = {
    "stack": stack,
    "wall": wall,
    "arch": arch,
    "chain": chain,
    "pile": pile,
    "pushed_box": pushed_box,
    "standing_rover": standing_rover,
    "toed_rover": toed_rover,
    "random_bodies": random_bodies,
    "low_rank": low_rank,
}


def generate(
    family: str, sizes: tuple[int, ...], frictions: tuple[float, ...], seed: int
) -> Iterator[ContactProblem]:
    """Problems of one family, one for each number of contacts and friction coefficient."""
    for n in sizes:
        for mu in frictions:
            rng = np.random.default_rng([seed, n, round(1000 * mu)])
            yield FAMILIES[family](rng, n, mu)
