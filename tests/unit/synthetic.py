"""A made-up run with the shape of a real one: a rover that falls, bounces, stands and drives."""

from __future__ import annotations

import numpy as np
import xarray as xr

WHEELS = ("RL", "RR", "CL", "FL", "CR", "FR")
HUBS = np.array(
    [
        [-0.6, 0.4, 0.0],
        [-0.6, -0.4, 0.0],
        [0.0, 0.4, 0.0],
        [0.6, 0.4, 0.0],
        [0.0, -0.4, 0.0],
        [0.6, -0.4, 0.0],
    ]
)
MASS, GRAVITY, RADIUS = 120.0, 3.7, 0.12

XML = f"""
<mujoco model="six wheels">
  <worldbody>
    <body name="base" pos="0 0 0">
      <freejoint name="base"/>
      <geom name="box" type="box" size="0.5 0.25 0.12" pos="0 0 0.3" rgba="0.85 0.85 0.8 1"/>
      <geom name="mast" type="capsule" size="0.03" fromto="0.35 0 0.4 0.35 0 0.9"/>
      <geom name="head" type="sphere" size="0.08" pos="0.35 0 0.95"/>
      <geom name="dish" type="ellipsoid" size="0.15 0.15 0.05" pos="-0.3 0 0.5"/>
      {
    "".join(
        f'<body name="wheel_{w}" pos="{h[0]} {h[1]} {h[2]}">'
        f'<joint name="{w}" type="hinge" axis="0 1 0"/>'
        f'<geom name="{w}" type="cylinder" size="{RADIUS} 0.05" zaxis="0 1 0"'
        f' rgba="0.3 0.3 0.32 1"/></body>'
        for w, h in zip(WHEELS, HUBS, strict=True)
    )
}
    </body>
  </worldbody>
</mujoco>
"""


def bounce(
    period: float, duration: float, height: float, restitution: float, gravity: float = GRAVITY
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[float, float]]]:
    """A ball dropped from `height`: times, heights, velocities, and its impacts (time, speed).

    Exact between impacts; at rest for good once an arc is shorter than a millimetre per second.
    """
    hits, start, speed = [], np.sqrt(2 * height / gravity), np.sqrt(2 * gravity * height)
    arcs = [(0.0, height, 0.0)]
    while speed > 1e-3:
        hits.append((start, speed))
        speed *= restitution
        arcs.append((start, 0.0, speed))
        start += 2 * speed / gravity
    rest = start
    t = np.round(np.arange(round(duration / period) + 1) * period, 12)
    arc = np.searchsorted([a[0] for a in arcs], t, side="right") - 1
    t0, z0, v0 = np.array(arcs)[arc].T
    z = z0 + v0 * (t - t0) - gravity / 2 * (t - t0) ** 2
    v = v0 - gravity * (t - t0)
    return t, np.where(t < rest, z, 0.0), np.where(t < rest, v, 0.0), hits


def dataset(
    period: float = 0.01, duration: float = 12.0, height: float = 1.0, restitution: float = 0.2
) -> xr.Dataset:
    """A run: fall from `height` [m], a few bounces, then from 5 s a drive in a gentle bend."""
    t, z, vz, hits = bounce(period, duration, height, restitution)
    n, weight = len(t), MASS * GRAVITY
    total = np.where(np.arange(n) > 0, weight * period, 0.0)
    rest = hits[-1][0] if hits else 0.0
    total[t < rest] = 0.0
    for when, speed in hits:
        if when <= t[-1]:
            total[np.searchsorted(t, when)] += MASS * speed * (1 + restitution)

    # drive: speed rises to 0.2 m/s, heading turns slowly
    s = np.clip(t - 5.0, 0.0, None)
    speed = 0.2 * (1 - np.exp(-s))
    yaw = 0.25 * (s - 1 + np.exp(-s)) / 2
    velocity = np.stack([speed * np.cos(yaw), speed * np.sin(yaw), vz], axis=1)
    way = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(t))])
    position = np.zeros((n, 3))
    position[1:] = np.cumsum((velocity[1:] + velocity[:-1]) / 2 * np.diff(t)[:, None], axis=0)
    position[:, 2] = z + RADIUS
    quaternion = np.stack([np.cos(yaw / 2), 0 * yaw, 0 * yaw, np.sin(yaw / 2)], axis=1)
    angle = np.repeat((way / RADIUS)[:, None], 6, axis=1)
    rate = np.repeat((speed / RADIUS)[:, None], 6, axis=1)

    # contact: shares of the load, points under the hubs
    share = np.array([0.16, 0.15, 0.17, 0.18, 0.16, 0.18])
    normal = total[:, None] * share
    drive = 0.1 * normal * (s > 0)[:, None] * np.exp(-s)[:, None]
    side = 0.02 * normal * (s > 0)[:, None]
    c, si = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    hub_x = position[:, :1] + c * HUBS[:, 0] - si * HUBS[:, 1]
    hub_y = position[:, 1:2] + si * HUBS[:, 0] + c * HUBS[:, 1]
    touching = normal > 0
    point = np.stack([hub_x, hub_y, np.zeros_like(hub_x)], axis=2)
    point[~touching] = np.nan
    world = np.stack([c * drive - si * side, si * drive + c * side, normal], axis=2)
    contact_velocity = np.zeros((n, 6, 3))
    contact_velocity[:, :, 0] = vz[:, None]
    coordinates = np.concatenate([position, quaternion, angle], axis=1)
    velocities = np.concatenate([velocity, np.zeros((n, 3)), rate], axis=1)
    dofs = ("x", "y", "z", "rx", "ry", "rz", *WHEELS)
    reaction = np.zeros((n, len(dofs)))
    reaction[:, :3] = world.sum(axis=1)
    residual = np.where(total > 0, 10.0 ** (-11 + np.sin(7 * t)), 0.0)
    iterations = np.where(total > 0, 8 + np.round(4 * np.sin(3 * t)), 0)

    zeros = np.zeros(n)
    variables = {
        "position_base": ("axis", position, "m", "base position"),
        "quaternion_base": ("quat", quaternion, "1", "base attitude"),
        "velocity_base": ("axis", velocity, "m/s", "base velocity"),
        "angular_velocity_base": ("axis", np.zeros((n, 3)), "rad/s", "base angular velocity"),
        "position_com": ("axis", position + [0, 0, 0.25], "m", "position of the centre of mass"),
        "velocity_com": ("axis", velocity, "m/s", "velocity of the centre of mass"),
        "joint_angle": ("joint", angle, "rad", "joint angle"),
        "joint_rate": ("joint", rate, "rad/s", "joint rate"),
        "wheel_angle": ("wheel", angle, "rad", "wheel angle"),
        "wheel_rate": ("wheel", rate, "rad/s", "wheel rate"),
        "motor_torque": ("joint", 0.5 * (rate > 0), "N m", "motor torque"),
        "motor_power": ("joint", 0.5 * rate, "W", "motor power"),
        "reaction": ("dof", reaction, "N s", "generalised contact impulse"),
        "impulse_normal": ("wheel surface", normal[:, :, None], "N s", "normal impulse"),
        "impulse_tangent": (
            "wheel surface tangent",
            np.stack([drive, side], axis=2)[:, :, None, :],
            "N s",
            "tangential impulse",
        ),
        "gap": ("wheel surface", np.repeat(z[:, None], 6, axis=1)[:, :, None], "m", "gap"),
        "contact_velocity": ("wheel component", contact_velocity, "m/s", "contact velocity"),
        "contact_point": ("wheel axis", point, "m", "contact point"),
        "contact_impulse_world": ("wheel axis", world, "N s", "contact impulse in the world"),
        "energy_kinetic": ("", MASS / 2 * (velocity**2).sum(axis=1), "J", "kinetic energy"),
        "energy_potential": ("", weight * position[:, 2], "J", "potential energy"),
        "contacts": ("", 6.0 * (total > 0), "1", "contacts"),
        "solver_iterations": ("", iterations, "1", "solver iterations"),
        "solver_residual": ("", residual, "1", "solver residual"),
        "unconverged": ("", zeros, "1", "steps not converged"),
        "penetration": ("", zeros + 1e-9, "m", "penetration"),
        "coordinates": ("q", coordinates, "m, rad", "coordinates"),
        "velocities": ("dof", velocities, "m/s, rad/s", "velocities"),
    }
    return xr.Dataset(
        {
            name: (("time", *dims.split()), values, {"units": units, "long_name": long_name})
            for name, (dims, values, units, long_name) in variables.items()
        },
        coords={
            "time": ("time", t, {"units": "s", "long_name": "time"}),
            "axis": list("xyz"),
            "quat": list("wxyz"),
            "wheel": list(WHEELS),
            "joint": list(WHEELS),
            "dof": list(dofs),
            "surface": ["plane"],
            "component": ["normal", "forward", "left"],
            "tangent": ["forward", "left"],
        },
        attrs={
            "scenario": "synthetic/drop-and-drive",
            "title": "A drop and a drive",
            "step": 0.001,
            "record_period": period,
            "weight": weight,
            "wall_time": 0.4,
        },
    )


# --- a drive on soil


class Slope:
    """An endless terrain z = 0.05 x of one soil, another one beyond y = 2."""

    soils = ("sand", "dust")
    bounds = None
    title = "slope"

    def height(self, x, y):
        return 0.05 * np.asarray(x, dtype=float) + 0 * np.asarray(y, dtype=float)

    def soil(self, x, y):
        return np.where(np.asarray(y) > 2, 1, 0) + 0 * np.asarray(x, dtype=np.int64)


def soil_dataset(period: float = 0.02) -> xr.Dataset:
    """The same drive with what a run on soil records; all numbers in closed form."""
    ds = dataset(period=period, height=0.001)
    t, n = ds["time"].values, ds.sizes["time"]
    yaw = 2 * np.arctan2(ds["quaternion_base"].values[:, 3], ds["quaternion_base"].values[:, 0])
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    base = ds["position_base"].values
    centre = np.stack(
        [
            base[:, :1] + c * HUBS[:, 0] - s * HUBS[:, 1],
            base[:, 1:2] + s * HUBS[:, 0] + c * HUBS[:, 1],
            np.full((n, 6), RADIUS),
        ],
        axis=2,
    )
    ds["wheel_position"] = (("time", "wheel", "axis"), centre)
    share = np.arange(1.0, 7.0)
    table = {
        "slip_ratio": (0.01 * share, "1"),
        "slip_angle": (0.0 * share, "rad"),
        "sinkage": (0.01 * share, "m"),
        "drawbar_pull": (share - 3.5, "N"),
        "side_force": (0.1 * share, "N"),
        "wheel_load": (70 + share, "N"),
        "driving_torque": (0.5 * share, "N·m"),
        "compaction_resistance": (2 * share, "N"),
        "bulldozing_resistance": (0.2 * share, "N"),
    }
    for name, (values, units) in table.items():
        ds[name] = (("time", "wheel"), np.tile(values, (n, 1)), {"units": units, "long_name": name})
    angle = ((np.arange(36) + 0.5) / 36 - 0.5) * np.pi
    ds = ds.assign_coords(contact_angle=("contact_angle", angle, {"units": "rad"}))
    shape = np.where(np.abs(angle - 0.2) < 0.5, 1.0 - ((angle - 0.2) / 0.5) ** 2, 0.0)
    for name, size in (("stress_normal", 10e3), ("stress_along", 4e3), ("stress_across", 50.0)):
        values = size * np.tile(shape, (n, 6, 1))
        # every other record has the nodes of two strips in one, as on a coarse grid
        values[::2, :, ::2] = 0.0
        values[1::2, :, ::2] *= 2.0
        ds[name] = (("time", "wheel", "contact_angle"), values, {"units": "Pa"})
    work = 3.0 * t
    state = (ds["energy_kinetic"] + ds["energy_potential"]).values
    ds["energy_soil"] = (("time",), work, {"units": "J"})
    ds["energy_compaction"] = (("time",), 2.0 * t, {"units": "J"})
    ds["energy_shear"] = (("time",), 1.0 * t, {"units": "J"})
    ds["energy_motors"] = (("time",), work + state - state[0], {"units": "J"})
    ds["displaced_volume"] = (("time",), 1e-3 * t, {"units": "m³"})
    return ds


def rut(distance: np.ndarray) -> np.ndarray:
    """Change of the surface at a distance from a wheel's path [m]: a rut of 3 cm, berms of 1 cm."""
    berm = 0.01 * np.exp(-(((distance - 0.1) / 0.02) ** 2))
    return np.where(distance < 0.06, -0.03, berm)


def ground_data(ds: xr.Dataset, spacing: float = 0.02, side: int = 32) -> xr.Dataset:
    """The ground that this drive leaves: ruts along the paths of the wheels, on the slope."""
    paths = ds["wheel_position"].values[..., :2]
    step = spacing * side
    near = np.unique(np.floor(paths.reshape(-1, 2) / step).astype(int), axis=0)
    around = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    tiles = np.unique((near[:, None] + around).reshape(-1, 2), axis=0)
    at = spacing * np.arange(side)
    x = tiles[:, :1] * step + at
    y = tiles[:, 1:] * step + at
    X = np.broadcast_to(x[:, :, None], (len(tiles), side, side))
    Y = np.broadcast_to(y[:, None, :], X.shape)
    change, time = np.zeros(X.shape), np.full(X.shape, np.nan)
    for w in range(6):
        path = paths[::10, w]
        gap = np.hypot(X[..., None] - path[:, 0], Y[..., None] - path[:, 1])
        nearest = gap.argmin(axis=-1)
        new = rut(gap.min(axis=-1))
        here = (np.abs(new) > 1e-4) & ((np.abs(new) > np.abs(change)) | np.isnan(time))
        change[here] = new[here]
        time[here] = ds["time"].values[::10][nearest[here]]
    hub = ds["wheel_position"].values[-1]
    i, j = np.meshgrid(np.arange(-2, 3), np.arange(-1, 2), indexing="ij")
    flat = spacing * np.stack([i.ravel(), j.ravel(), 0 * i.ravel()], axis=1) - [0, 0, RADIUS]
    nodes = ("tile", "i", "j")
    yaw = 2 * np.arctan2(*ds["quaternion_base"].values[-1, [3, 0]])
    return xr.Dataset(
        {
            "tile_x": ("tile", x[:, 0]),
            "tile_y": ("tile", y[:, 0]),
            "base": (nodes, Slope().height(X, Y)),
            "change": (nodes, change.astype(np.float32)),
            "depth": (nodes, np.maximum(-change, 0).astype(np.float32)),
            "soil": (nodes, Slope().soil(X, Y).astype(np.uint8)),
            "time": (nodes, time.astype(np.float32)),
            "body_position": (("body", "axis"), hub),
            "body_axle": (("body", "axis"), np.tile([-np.sin(yaw), np.cos(yaw), 0.0], (6, 1))),
            "body_radius": ("body", np.full(6, RADIUS)),
            "body_width": ("body", np.full(6, 0.1)),
            "stress_body": ("point", np.repeat(np.arange(6), len(flat))),
            "stress_position": (("point", "axis"), np.tile(flat, (6, 1))),
            "stress_normal": ("point", np.full(6 * len(flat), 10e3)),
            "stress_along": ("point", np.full(6 * len(flat), 4e3)),
            "stress_across": ("point", np.zeros(6 * len(flat))),
            "stress_area": ("point", np.full(6 * len(flat), spacing**2)),
        },
        coords={"axis": list("xyz"), "body": list(WHEELS)},
        attrs={"spacing": spacing, "soils": ["sand", "dust"], "time_end": 12.0, "title": "made up"},
    )
