"""Drive the compiled soil kernels straight from Python: bodies with given or free motion.

A rig holds one soil grid and some bodies. `place` says where they are and how fast, `forces` calls
the law once, `flow` lets displaced soil come to rest. `Wheel` is the test bench of the literature:
forced travel speed and slip, free vertical motion under a load, stepped as the simulation does it
(linearly implicit with the law's own derivative).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from marsyard.ground.soil_grid import SoilGrid
from marsyard.ground.soil_nodes import SIDE
from marsyard.interaction.soil_columns.contact import column_forces
from marsyard.interaction.soil_columns.flow import column_flow
from marsyard.interaction.soil_contact.arrays import (
    MESH,
    V_PUSHED,
    V_SINKAGE,
    WHEEL,
    Bodies,
    Options,
    Soils,
    make_patch,
)
from marsyard.interaction.soil_contact.belt import make_belts
from marsyard.interaction.soil_contact.kernel import soil_flow, soil_forces
from marsyard.interaction.soil_contact.side_wall import take_slip
from marsyard.interaction.soil_kernels import NEEDS_TILES, OK, T_BULLDOZING, T_COMPACTION

ALL = 10**9
#: the map ends nowhere
BOUNDS = np.array([-math.inf, math.inf, -math.inf, math.inf])


class Land:
    """An undisturbed terrain from two functions of x, y."""

    bounds = None
    soils: tuple[str, ...] = ("soil",)

    def __init__(self, height: Callable | None = None, soil: Callable | None = None) -> None:
        self._height = height
        self._soil = soil

    def height(self, x, y):
        return np.zeros(x.shape) if self._height is None else self._height(x, y) + 0.0 * x

    def soil(self, x, y):
        return np.zeros(x.shape, int) if self._soil is None else self._soil(x, y)


@dataclass(frozen=True)
class Sand:
    """Numbers of one soil; the modulus k is that of the body at hand."""

    k: float = 84000.0
    n: float = 0.63
    c: float = 0.0
    phi: float = 30.0  # [deg]
    K: float = 0.01
    K_across: float | None = None
    k_u: float = 2e7
    damping: float = 0.0
    repose: float = 30.0  # [deg]
    layer: float = 0.0
    released: float = 1 / 3

    @property
    def row(self) -> list[float]:
        return [self.n, self.k_u, self.damping, math.tan(math.radians(self.repose)), 0.0, 0.0]

    @property
    def strength(self) -> list[float]:
        tan_phi = math.tan(math.radians(self.phi))
        return [self.c, tan_phi, self.K, self.K_across or self.K]

    def but(self, **changes) -> Sand:
        return replace(self, **changes)


@dataclass(frozen=True)
class Shape:
    """A wheel: radius, width, edge rounding, crown radius [m]."""

    radius: float = 0.125
    width: float = 0.1
    rounding: float = 0.0
    crown: float = 0.0

    @property
    def row(self) -> list[float]:
        return [self.radius, self.width / 2, self.rounding, self.crown]


#: one of each kind
SHAPES = {
    "cylinder": Shape(),
    "rounded": Shape(rounding=0.02),
    "crowned": Shape(crown=0.3),
    "both": Shape(rounding=0.015, crown=0.4),
    "torus": Shape(rounding=0.05),
    "sphere": Shape(width=0.25, crown=0.125),
}


class Rig:
    """A grid, soils and bodies. A body is a `Shape` (wheel) or triangles float[t, 3, 3] (mesh)."""

    def __init__(
        self, bodies, soils=None, spacing=0.02, land=None, room=8192, exponent=2.0, columns=None
    ):
        self.grid = SoilGrid(land or Land(), spacing, columns=columns is not None)
        self.columns = columns
        soils = soils or [Sand()]
        b = len(bodies)
        meshes = [np.zeros((0, 9)) if isinstance(x, Shape) else x.reshape(-1, 9) for x in bodies]
        ends = np.cumsum([0, *(len(m) for m in meshes)])
        shape, reach = [], []
        for body in bodies:
            if isinstance(body, Shape):
                shape.append(body.row)
                reach.append(math.hypot(body.radius, body.width / 2))
            else:
                r = float(np.linalg.norm(body.reshape(-1, 3), axis=1).max())
                shape.append([r, r, 0.0, 0.0])
                reach.append(r)
        self.bodies = Bodies(
            kind=np.array([WHEEL if isinstance(x, Shape) else MESH for x in bodies], np.int64),
            shape=np.pad(np.array(shape, dtype=float).reshape(b, 4), ((0, 0), (0, 1))),
            reach=np.array(reach, dtype=float),
            triangles=np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64),
            triangle=np.concatenate([np.zeros((0, 9)), *meshes]),
            centre=np.zeros((b, 3)), axis=np.tile([0.0, 1.0, 0.0], (b, 1)),
            rotation=np.tile(np.eye(3).ravel(), (b, 1)), twist=np.zeros((b, 7)),
            slip=np.zeros((b, 2)),
        )  # fmt: skip
        for k, body in enumerate(bodies):
            if not isinstance(body, Shape):
                self.bodies.axis[k] = 0.0
        self.soils = Soils(
            np.array([s.row for s in soils]),
            np.tile([s.k for s in soils], (b, 1)),
            np.tile([float(s.layer) for s in soils], (b, 1)),
            np.tile([s.released for s in soils], (b, 1)),
            np.tile([s.strength for s in soils], (b, 1, 1)),
            np.zeros((b, len(soils), 2)),
        )
        self.numbers = None if columns is None else columns.arrays(b)
        self.patch = make_patch(b, room)
        self.belts = make_belts(b)
        self.exponent = exponent

    def place(self, b, centre, velocity=(0, 0, 0), spin=(0, 0, 0), axis=None, rotation=None):
        self.bodies.centre[b] = centre
        self.bodies.twist[b] = [*velocity, *spin, 0.0]
        if axis is not None:
            self.bodies.axis[b] = axis
        if rotation is not None:
            self.bodies.rotation[b] = np.asarray(rotation).ravel()

    def options(self, h=1e-3, implicit=None, flow=1, time=0.0, dt=0.0) -> Options:
        return Options(h, h if implicit is None else implicit, time, flow, 1)

    def forces(self, **options) -> np.ndarray:
        """One call of the law; the wrench on each body at its centre, float[b, 6]."""
        while True:
            given = self.bodies, self.patch, self.options(**options), self.belts, BOUNDS
            if self.numbers is None:
                status = soil_forces(self.grid.arrays, self.soils, *given)
            else:
                status = column_forces(self.grid.arrays, self.soils, self.numbers, *given)
            if status != NEEDS_TILES:
                break
            self.grid.fill_requests()
        assert status == OK
        return self.patch.force[:, :6].copy()

    def flow(self, most=ALL, flow=1, time=0.0, dt=0.0, **_) -> int:
        given = self.bodies, self.patch
        if self.numbers is None:
            own = self.soils, *given, time, flow, self.exponent, most
            return soil_flow(self.grid.arrays, *own)
        own = self.columns.options(self.grid.spacing, time, dt), flow, self.exponent
        return column_flow(self.grid.arrays, self.numbers, *given, *own)

    # --- reading

    def waiting(self) -> float:
        """Displaced soil that has not been laid down yet [m³]."""
        p = self.patch
        total = 0.0
        for b in range(len(p.side)):
            now = p.side[b]
            state = p.state[now, b, : p.listed[now, b]]
            total += float(state[:, V_SINKAGE].sum() + state[:, V_PUSHED].sum())
        return total

    def nodes(self) -> dict[str, np.ndarray]:
        """Flat arrays over all nodes in use: i, j, base, ref, depth, flag."""
        a, n = self.grid.arrays, self.grid.tiles
        at = np.arange(SIDE)
        i = (a.tile[:n, 0, None] * SIDE + at)[:, :, None] + 0 * at
        j = (a.tile[:n, 1, None] * SIDE + at)[:, None, :] + 0 * at[:, None]
        out = {"i": i.ravel(), "j": j.ravel()}
        for name in ("base", "ref", "depth", "flag"):
            out[name] = getattr(a, name)[: n * SIDE * SIDE].copy()
        return out

    def surface(self) -> dict[tuple[int, int], float]:
        """Height by node."""
        q = self.nodes()
        z = q["base"] + q["ref"] - q["depth"]
        return {(int(i), int(j)): float(v) for i, j, v in zip(q["i"], q["j"], z, strict=True)}


@dataclass
class Wheel:
    """A wheel in a bench. Angles of heading (travel) and yaw (of the wheel against it) in rad."""

    shape: Shape = field(default_factory=Shape)
    sand: Sand = field(default_factory=Sand)
    load: float = 100.0
    speed: float = 0.1
    slip: float = 0.2
    heading: float = 0.0
    yaw: float = 0.0
    spacing: float = 0.02
    h: float = 1e-3
    flow: int = 0
    every: int = 20
    towed: bool = False
    mass: float = 5.0
    start: tuple[float, float] = (0.0, 0.0)
    ramp: float = 0.5
    land: Land | None = None

    def spin(self, v: float) -> float:
        r, s = self.shape.radius, self.slip
        # s = 1 − v/(rω) when driving, rω/v − 1 when braking
        return v / (r * (1 - s)) if s >= 0 else v * (1 + s) / r

    def run(self, duration: float, rig: Rig | None = None) -> dict[str, np.ndarray]:
        """Time series: t, sinkage, pull (along travel), side, load, torque, spin, resistances."""
        rig = rig or Rig([self.shape], [self.sand], self.spacing, self.land)
        self.rig = rig
        e = np.array([math.cos(self.heading), math.sin(self.heading)])
        a = self.heading + self.yaw
        axis = np.array([-math.sin(a), math.cos(a), 0.0])
        r, h = self.shape.radius, self.h
        z, vz, s, spin = r, 0.0, 0.0, 0.0
        inertia = 0.5 * r * r
        rows = []
        for i in range(round(duration / h)):
            t = i * h
            load = self.load * min(1.0, t / self.ramp)
            v = self.speed * min(1.0, max(0.0, t - self.ramp) / self.ramp)
            if not self.towed:
                spin = self.spin(v)
            x, y = np.array(self.start) + s * e
            rig.place(0, (x, y, z), (v * e[0], v * e[1], vz), spin * axis, axis)
            F = rig.forces(h=h, flow=self.flow, time=t)[0]
            B = rig.patch.stiff[0]
            dv = h * (F[2] - load) / (self.mass + h * B[5])
            lift = F[2] - B[5] * dv
            torque = -float(F[3:] @ axis)
            if self.towed:
                dspin = -h * torque / (inertia + h * B[9])
                spin += dspin
            total = rig.patch.total[0]
            rows.append(
                (t, r - z, F[0] * e[0] + F[1] * e[1], -F[0] * e[1] + F[1] * e[0], lift, torque,
                 spin, total[T_COMPACTION], total[T_BULLDOZING])
            )  # fmt: skip
            take_slip(rig.bodies, rig.patch, 0, rig.bodies.twist[0], h)
            vz += dv
            z += h * vz
            s += h * v
            if i % self.every == 0:
                looked = rig.flow(most=1_000_000, h=h, time=t, flow=self.flow)
                assert looked < 1_000_000, "sliding does not end"
        names = ("t", "sinkage", "pull", "side", "load", "torque", "spin", "compaction", "pushed")
        return dict(zip(names, np.array(rows).T, strict=True))

    def steady(self, duration: float, last: float = 0.4, **options) -> dict[str, float]:
        """Means over the last part of a run."""
        out = self.run(duration, **options)
        late = out["t"] > (1 - last) * duration
        return {name: float(values[late].mean()) for name, values in out.items()}


def box_mesh(size) -> np.ndarray:
    """Triangles of a box about its centre, outward normals."""
    import trimesh

    return np.asarray(trimesh.creation.box(extents=size).triangles, dtype=float)


def disc_mesh(radius: float, height: float, sections: int = 360) -> np.ndarray:
    """Triangles of an upright round plate about its centre."""
    import trimesh

    mesh = trimesh.creation.cylinder(radius=radius, height=height, sections=sections)
    return np.asarray(mesh.triangles, dtype=float)


def ball_mesh(radius: float) -> np.ndarray:
    """Triangles of a ball."""
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=4, radius=radius)
    return np.asarray(mesh.triangles, dtype=float)


def rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    cr, sr, cp, sp, cy, sy = (f(v) for v in (roll, pitch, yaw) for f in (math.cos, math.sin))
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return rz @ ry @ rx
