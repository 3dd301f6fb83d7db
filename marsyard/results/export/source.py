"""Source of an export: a run's folder, with files read once on first use."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
import xarray as xr

from marsyard.results.dataset import open_results
from marsyard.results.export.urdf import base_of
from marsyard.results.replay import read_model, run_folder
from marsyard.robot import Robot
from marsyard.robot.poses import Pose
from marsyard.scenario import Scenario, load_scenario


class Source:
    """A run, given by its folder or its `results.nc`.

    `data` is all that was recorded; `ds` leaves out records whose coordinates are not finite.
    """

    def __init__(self, run: str | Path) -> None:
        self.data: xr.Dataset = open_results(run)
        self.folder = run_folder(run)

    @cached_property
    def ds(self) -> xr.Dataset:
        """The records up to where a run broke down."""
        return self.data.isel(time=np.isfinite(self.data["coordinates"].values).all(axis=1))

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as resolved."""
        return load_scenario(self.folder / "scenario.yaml")

    @cached_property
    def robot(self) -> Robot:
        """The robot with its roles."""
        from marsyard.simulation.world import robot_of

        return robot_of(self.scenario, self.folder)

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The compiled model."""
        return read_model(self.folder)

    @property
    def time(self) -> np.ndarray:
        """Of the records [s]."""
        return self.ds["time"].values.astype(float)

    @property
    def base(self) -> int:
        """Number of the base body."""
        return base_of(self.model, self.robot.base)

    @cached_property
    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Places [m] and quaternions of all bodies in the world, [time, body, 3] and [.., 4]."""
        data = mujoco.MjData(self.model)
        q = self.ds["coordinates"].values
        place = np.empty((len(q), self.model.nbody, 3))
        turn = np.empty((len(q), self.model.nbody, 4))
        for k, row in enumerate(q):
            data.qpos[:] = row
            mujoco.mj_kinematics(self.model, data)
            place[k], turn[k] = data.xpos, data.xquat
        return place, turn

    def values(self, name: str, *dims: str) -> np.ndarray:
        """A variable over the records."""
        return self.ds[name].transpose("time", *dims).values

    @property
    def wheels(self) -> list[str]:
        """Names of the wheels."""
        return [str(w) for w in self.ds["wheel"].values] if "wheel" in self.ds.coords else []

    def carrier(self, wheel: str) -> int:
        """Number of the body that carries a wheel."""
        return int(self.model.body_parentid[self.model.body(self.robot.wheels[wheel].body).id])

    @cached_property
    def hubs(self) -> dict[str, Pose]:
        """The hub frames of the wheels in the frames of what carries them."""
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        ahead = data.xmat[self.base].reshape(3, 3)[:, 0]
        out = {}
        for wheel in self.wheels:
            role = self.robot.wheels[wheel]
            left = data.xaxis[self.model.joint(role.joint).id]
            x = ahead - (ahead @ left) * left
            x = x / np.linalg.norm(x)
            centre = data.xpos[self.model.body(role.body).id]
            hub = Pose(centre, np.stack([x, left, np.cross(x, left)], axis=1))
            up = self.carrier(wheel)
            carrier = Pose(data.xpos[up].copy(), data.xmat[up].reshape(3, 3))
            out[wheel] = carrier.inverse().then(hub)
        return out
