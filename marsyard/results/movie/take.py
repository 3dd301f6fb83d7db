"""A run as it can be filmed: the poses of all bodies and the forces at any time.

Between two records the coordinates are interpolated as MuJoCo does: positions and joint angles
linearly, attitudes along the shortest turn (slerp). Forces are interpolated where both records have
one; else the nearer record counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
import xarray as xr

from marsyard.drawing.meshes import GroundMesh, ground_meshes
from marsyard.errors import InputError, suggest
from marsyard.ground import Surface
from marsyard.results.dataset import open_results, series
from marsyard.results.ground_file import FILE_NAME as GROUND_FILE
from marsyard.results.ground_file import load_ground
from marsyard.results.movie.camera import Subject, headings
from marsyard.results.replay import Scene, build_scene, read_model, run_folder
from marsyard.rotations import matrix_of, x_axes

#: organs other than wheels whose forces are drawn where they are recorded
ORGANS = ("foot", "track")


@dataclass(frozen=True)
class Roll:
    """A wheel on its way: centre [m] and axle, shape [record, 3]; radius and half width [m]."""

    centre: np.ndarray
    axle: np.ndarray
    radius: float
    half: float


def open_take(run: str | Path) -> Take:
    """The run in a folder, or of a `results.nc`, with the ground that its scenario names."""
    ds = open_results(run)
    folder = run_folder(run)
    model = read_model(folder)
    soil = load_ground(folder) if (folder / GROUND_FILE).exists() else None
    scene = build_scene(model, ds, ground_meshes(_surfaces(folder), ds), soil=soil)
    return Take(scene, model, ds, None if soil is None else soil.terrain)


def still(
    model: mujoco.MjModel,
    coordinates: np.ndarray,
    base: int,
    surfaces: Sequence[Surface] = (),
    meshes: Sequence[GroundMesh] = (),
) -> Take:
    """A robot that stands still in a pose; `base`: number of its body that the camera follows.

    Args:
        surfaces, meshes: hard ground to draw; without any it floats.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = coordinates
    mujoco.mj_kinematics(model, data)
    values = {
        "coordinates": ("q", data.qpos), "position_base": ("axis", data.xpos[base]),
        "quaternion_base": ("quat", data.xquat[base]), "velocity_base": ("axis", np.zeros(3)),
    }  # fmt: skip
    ds = xr.Dataset(
        {name: (("time", dim), value[None].copy()) for name, (dim, value) in values.items()},
        coords={"time": [0.0], "axis": ["x", "y", "z"], "quat": ["w", "x", "y", "z"]},
        attrs={"record_period": 1.0},
    )
    ground = [*ground_meshes(surfaces, ds), *meshes]
    return Take(build_scene(model, ds, ground), model, ds)


def _surfaces(folder: Path) -> tuple:
    from marsyard.scenario import load_scenario
    from marsyard.simulation import make_surfaces

    file = folder / "scenario.yaml"
    return make_surfaces(load_scenario(file)) if file.exists() else ()


class Take:
    """A run as it can be filmed.

    Attributes:
        scene: what the replay shows of it; model: the robot.
        time: of the records [s]; coordinates of the robot then, shape [record, q].
        terrain: the undisturbed soft ground, with height(x, y); None without.
    """

    def __init__(
        self, scene: Scene, model: mujoco.MjModel, ds: xr.Dataset, terrain: object = None
    ) -> None:
        self.scene, self.model, self.terrain = scene, model, terrain
        # a run that broke down is shown up to where it did
        self.time = ds["time"].values.astype(float)
        self.time = self.time[self.time <= scene.time[-1] + 1e-12]
        count = len(self.time)
        self.coordinates = series(ds, "coordinates").values[:count].astype(float)
        self._base = series(ds, "position_base").values[:count]
        self._heading = headings(_forward(ds)[:count])
        organs = [_organ(ds, kind, count) for kind in ORGANS]
        self._organs = [o for o in organs if o is not None]
        self._hubs = _hubs(ds)
        self._data = mujoco.MjData(model)

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions [m], shape [body, 3], and quaternions w x y z of the scene's bodies."""
        self._data.qpos[:] = self.coordinates_at(time)
        mujoco.mj_kinematics(self.model, self._data)
        numbers = list(self.scene.numbers)
        return self._data.xpos[numbers].copy(), self._data.xquat[numbers].copy()

    def coordinates_at(self, time: float) -> np.ndarray:
        """The robot's coordinates at a time [s], those of the ends beyond them."""
        k, part = _between(self.time, time)
        before = self.coordinates[k]
        if part == 0.0:
            return before.copy()
        step = np.zeros(self.model.nv)
        mujoco.mj_differentiatePos(self.model, step, 1.0, before, self.coordinates[k + 1])
        out = before.copy()
        mujoco.mj_integratePos(self.model, out, step, part)
        return out

    def forces(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Where forces act [m] and how large they are [N], both of shape [n, 3]."""
        scene = self.scene
        wheels = (scene.time, scene.contact_point, scene.contact_force)
        found = [_mixed(*wheels, time)]
        found += [_mixed(self.time, o.point, o.force, time) for o in self._organs]
        point = np.concatenate([f[0] for f in found])
        force = np.concatenate([f[1] for f in found])
        known = np.isfinite(point).all(axis=1) & np.isfinite(force).all(axis=1)
        return point[known], force[known]

    @cached_property
    def usual_force(self) -> float:
        """Median size of the forces [N]; 0 without any."""
        sizes = [np.linalg.norm(self.scene.contact_force, axis=-1).ravel()]
        sizes += [np.linalg.norm(o.force, axis=-1).ravel() for o in self._organs]
        size = np.concatenate(sizes)
        size = size[np.isfinite(size) & (size > 1e-9)]
        return float(np.median(size)) if size.size else 0.0

    # --- what the camera looks at

    @cached_property
    def _box(self) -> tuple[np.ndarray, float]:
        """Middle of the robot against its base, x ahead, in the first record [m], and its radius
        [m]."""
        cloud = self.cloud(self.time[0])
        if not len(cloud):
            return np.zeros(3), 1.0
        middle = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
        radius = float(np.linalg.norm(cloud - middle, axis=1).max())
        return _turn_z(-self._heading[0], (middle - self._base[0])[None])[0], max(radius, 1e-3)

    def cloud(self, time: float) -> np.ndarray:
        """Points of the robot's surface at a time [m], shape [n, 3]."""
        position, quaternion = self.poses(time)
        points = [
            position[b] + part.vertices @ matrix_of(quaternion[b]).T
            for b, parts in enumerate(self.scene.shapes)
            for part in parts
        ]
        return np.concatenate([np.zeros((0, 3)), *points])

    @property
    def radius(self) -> float:
        """Radius of a ball around the robot [m]."""
        return self._box[1]

    def robot(self, times: np.ndarray) -> Subject:
        """The whole robot as what the camera looks at."""
        base, heading = self._along(self._base, times), np.interp(times, self.time, self._heading)
        offset, radius = self._box
        centre = base + _turn_z(heading, np.broadcast_to(offset, base.shape))
        return Subject(centre, heading, radius)

    def wheel(self, times: np.ndarray, name: str | None = None) -> Subject:
        """One wheel as what the camera looks at; without a name the front one on the right."""
        scene = self.scene
        if not len(self._hubs):
            raise InputError("camera wheel: the robot has no wheels; use another camera")
        if name is not None and name not in scene.wheels:
            raise InputError(f"wheel: '{name}' is not a wheel; {suggest(name, scene.wheels)}")
        bodies = [self._wheel_body(k) for k in range(len(scene.wheels))]
        ahead = _turn_z(-self._heading[0], scene.position[0, bodies] - self._base[0])
        if name is None:
            number = int(np.argmax(ahead[:, 0] - 0.5 * ahead[:, 1]))
        else:
            number = scene.wheels.index(name)
        body = bodies[number]
        centre = np.array([self.poses(t)[0][body] for t in times])
        radius = max(np.linalg.norm(p.vertices, axis=1).max() for p in scene.shapes[body])
        heading = np.interp(times, self.time, self._heading)
        return Subject(centre, heading, float(radius), left=bool(ahead[number, 1] > 1e-3))

    def body(self, times: np.ndarray, name: str) -> Subject:
        """One body as what the camera looks at."""
        names = self.scene.bodies
        if name not in names:
            raise InputError(f"body: '{name}' is not a body with a shape; {suggest(name, names)}")
        number = names.index(name)
        cloud = np.concatenate([p.vertices for p in self.scene.shapes[number]])
        middle = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
        poses = [self.poses(t) for t in times]
        centre = np.array([p[number] + matrix_of(q[number]) @ middle for p, q in poses])
        radius = float(np.linalg.norm(cloud - middle, axis=1).max())
        return Subject(centre, np.interp(times, self.time, self._heading), max(radius, 1e-3))

    def rolls(self) -> list[Roll]:
        """All wheels on their way, in the frames of the scene."""
        scene = self.scene
        out = []
        for wheel in range(len(self._hubs)):
            body = self._wheel_body(wheel)
            joint = self.model.body_jntadr[scene.numbers[body]]
            axis = self.model.jnt_axis[joint] if joint >= 0 else np.array([0.0, 1.0, 0.0])
            vertices = np.concatenate([p.vertices for p in scene.shapes[body]])
            along = vertices @ axis
            radius = np.linalg.norm(vertices - along[:, None] * axis, axis=1).max()
            axle = np.array([matrix_of(q) @ axis for q in scene.quaternion[:, body]])
            out.append(Roll(scene.position[:, body], axle, float(radius), float(np.ptp(along) / 2)))
        return out

    def _wheel_body(self, wheel: int) -> int:
        """Number among the scene's bodies of a wheel's body: the one whose origin is the hub."""
        gap = np.linalg.norm(self.scene.position[0] - self._hubs[wheel], axis=1)
        return int(np.argmin(gap))

    def _along(self, values: np.ndarray, times: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(times, self.time, c) for c in values.T], axis=-1)


@dataclass(frozen=True)
class _Organ:
    """Recorded places [m] and forces [N], shape [record, organ, 3]."""

    point: np.ndarray
    force: np.ndarray


def _organ(ds: xr.Dataset, kind: str, count: int) -> _Organ | None:
    """Forces on feet or tracks; None where they are not recorded."""
    names = (f"{kind}_position", f"{kind}_force")
    if any(n not in ds or set(ds[n].dims) != {"time", kind, "axis"} for n in names):
        return None
    point, force = (ds[n].transpose("time", kind, "axis").values[:count] for n in names)
    return _Organ(point, np.where(np.isfinite(point), force, np.nan))


def _hubs(ds: xr.Dataset) -> np.ndarray:
    """Centres of the wheels in the first record [m], shape [wheel, 3]."""
    if "wheel_position" not in ds:
        return np.zeros((0, 3))
    return ds["wheel_position"].transpose("time", "wheel", "axis").values[0]


def _forward(ds: xr.Dataset) -> np.ndarray:
    """Direction of the base's x axis, shape [record, 3]."""
    return x_axes(series(ds, "quaternion_base").transpose("time", "quat").values)


def _between(times: np.ndarray, time: float) -> tuple[int, float]:
    """The record before a time, and how far on the way to the next it is, from 0 to 1."""
    k = int(np.searchsorted(times, time, side="right")) - 1
    if k < 0 or k >= len(times) - 1:
        return min(max(k, 0), len(times) - 1), 0.0
    return k, float((time - times[k]) / (times[k + 1] - times[k]))


def _mixed(
    times: np.ndarray, point: np.ndarray, force: np.ndarray, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points and forces at a time, mixed of two records where both know them."""
    k, part = _between(times, time)
    if part == 0.0:
        return point[k], force[k]
    near = k + round(part)
    known = np.isfinite(force[k] + force[k + 1]).all(axis=-1, keepdims=True)
    mixed = [np.where(known, (1 - part) * a[k] + part * a[k + 1], a[near]) for a in (point, force)]
    return mixed[0], mixed[1]


def _turn_z(angle: np.ndarray | float, vectors: np.ndarray) -> np.ndarray:
    """Vectors, shape [n, 3], turned about z by angles [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    return np.stack([c * x - s * y, s * x + c * y, z], axis=-1)
