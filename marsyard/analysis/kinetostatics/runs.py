"""Kineto-statics along a run: index σ and friction demand compared with the simulation.

For some records of a run on hard ground the robot is put into its recorded pose, its contacts are
found as the simulation finds them, and for each such stance are worked out

    σ          traction index of eq. (12), by unit screws, in the forces f_x, f_z of the platform
    demand     the smallest friction with which the stance can be held (`balance`)
    moving     the same with the inertia forces −(M a + c) of the run, a by differences of its
               velocities: the smallest friction with which it can move as it does
    use        the largest √(T² + S²)/N of a wheel in the simulation, over the record's interval

The demand is that of the robot at rest with ideal sharing of traction: where it is above the
ground's friction the robot cannot stand so, it only passes through, swinging or falling on;
`moving` says what that takes. Wheels that fight each other use more. Gaps below `MARGIN` are
contacts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import xarray as xr

from marsyard.analysis.kinetostatics.balance import Balance
from marsyard.analysis.kinetostatics.stance import Stance, stance_of
from marsyard.analysis.kinetostatics.summary import FOUND, steering_held
from marsyard.analysis.kinetostatics.transmission import traction_index
from marsyard.analysis.kinetostatics.velocity import velocity_model
from marsyard.errors import InputError

MARGIN = 2e-4  # gap of a contact [m]


def along_run(
    run: str | Path,
    poses: int = 200,
    torque: float | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> xr.Dataset:
    """σ, friction demand and use along a run; a data set over `time`.

    Args:
        run: folder of a run on hard ground. poses: how many are looked at.
        torque: largest of the drives [N·m]; without limit unless given.
    """
    from marsyard.results.dataset import open_results
    from marsyard.results.replay import run_folder
    from marsyard.scenario import load_scenario
    from marsyard.simulation import Simulation

    ds = open_results(run)
    file = run_folder(run) / "scenario.yaml"
    if not file.exists():
        raise InputError(f"run: {file} is missing; a folder of a run is expected")
    scenario = load_scenario(file)
    if scenario.interaction.law != "nonsmooth":
        raise InputError(
            f"interaction.law = {scenario.interaction.law}: the contacts of a run are known on "
            "rigid ground only, with the law nonsmooth"
        )
    simulation = Simulation(scenario)
    numbers = np.unique(np.linspace(0, ds.sizes["time"] - 1, max(poses, 2)).round().astype(int))
    rows = []
    inertia = _Inertia(simulation.model, ds)
    for count, k in enumerate(numbers):
        q = ds["coordinates"].isel(time=int(k)).values
        rows.append(_row(simulation, q, torque, inertia.force(int(k))))
        if progress is not None:
            progress(count + 1, len(numbers))
    table = np.array(rows)
    use = _use(ds)[numbers]
    time = ds["time"].values[numbers]
    friction = float(scenario.interaction.friction)
    out = xr.Dataset(coords={"time": ("time", time, {"units": "s"})})
    columns = (
        ("sigma", table[:, 0], "1", "traction index σ, eq. (12)"),
        ("demand", table[:, 1], "1", "friction demand of the stance"),
        ("moving", table[:, 2], "1", "friction demand with inertia forces"),
        ("contacts", table[:, 3], "1", "contacts"),
        ("traction", table[:, 4], "N", "largest pull along the heading"),
        ("use", use, "1", "largest use of friction in the simulation"),
        ("height", ds["position_base"].sel(axis="z").values[numbers], "m", "height of the base"),
        ("x", ds["position_base"].sel(axis="x").values[numbers], "m", "x of the base"),
    )
    for name, values, unit, words in columns:
        out[name] = ("time", values, {"units": unit, "long_name": words})
    out.attrs.update(scenario=str(ds.attrs.get("scenario", "")), friction=friction)
    return out


def hardest(found: xr.Dataset) -> xr.Dataset:
    """The pose of largest friction demand; where several have none, the first of those."""
    demand = found["demand"].values
    return found.isel(time=int(np.argmax(np.where(np.isnan(demand), -1.0, demand))))


class _Inertia:
    """Inertia forces along a run, by MuJoCo's velocities."""

    def __init__(self, model: mujoco.MjModel, ds: xr.Dataset) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        self._q = ds["coordinates"].values
        self._v = ds["velocities"].values
        self._a = np.gradient(self._v, ds["time"].values, axis=0)

    def force(self, k: int) -> np.ndarray:
        """−(M a + c) of record k, c without weight, [nv]."""
        model, data = self._model, self._data
        gravity = model.opt.gravity.copy()
        model.opt.gravity[:] = 0.0
        data.qpos[:], data.qvel[:], data.qacc[:] = self._q[k], self._v[k], self._a[k]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_comVel(model, data)
        needed = np.zeros(model.nv)
        mujoco.mj_rne(model, data, 1, needed)
        model.opt.gravity[:] = gravity
        return -needed


def _row(
    simulation: object, q: np.ndarray, torque: float | None, inertia: np.ndarray
) -> tuple[float, ...]:
    """σ, demand, that with inertia, number of contacts, largest pull; NaN in the air."""
    try:
        stance: Stance = stance_of(simulation, q, MARGIN)  # type: ignore[arg-type]
    except InputError:
        return math.nan, math.nan, math.nan, 0.0, math.nan
    friction = float(simulation.scenario.interaction.friction)  # type: ignore[attr-defined]
    balance = Balance(stance, friction, torque)
    demand, _ = balance.friction_demand(accuracy=1e-4)
    load = stance.load_of(inertia)
    moving, _ = Balance(stance, friction, torque, load).friction_demand(accuracy=1e-4)
    return sigma(stance), demand, moving, float(len(stance.contacts)), pull(balance)


def sigma(stance: Stance) -> float:
    """σ of eq. (12) by unit screws in (f_x, f_z); NaN where wheels drive nothing."""
    try:
        return float(traction_index(velocity_model(steering_held(stance), tolerance=FOUND)))
    except InputError:
        return math.nan


def pull(balance: Balance) -> float:
    """Largest horizontal pull along the platform's heading [N]; NaN without balance."""
    up = balance.stance.up
    ahead = np.array([1.0, 0.0, 0.0])
    level = ahead - (ahead @ up) * up
    size = float(np.linalg.norm(level))
    return math.nan if size < 1e-9 else balance.largest(level / size).size


def _use(ds: xr.Dataset) -> np.ndarray:
    """Largest use of friction of a wheel in each record, 0 without load."""
    from marsyard.results.dataset import series

    use = series(ds, "friction_use").values
    return np.nan_to_num(use.reshape(len(use), -1)).max(axis=1)
