"""Measured wheels in a study of slip: points in its figures, and the error of each law.

A study whose axis is the slip of a wheel is compared with the rows of a file that go straight on
(slip angles below half a degree). An output is compared if it is taken of `drawbar_pull`,
`side_force`, `driving_torque` or `sinkage`. The misfit of a law is the root mean square of its
curve, straight between its runs, less the points within its range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.analysis.wheel_data import WheelData
from marsyard.analysis.wheel_files import read_wheel_data
from marsyard.errors import InputError
from marsyard.results.study_checks import outputs_of, variable_name
from marsyard.results.study_plots import default_study_figures
from marsyard.scenario.study_schema import Reference, Study, StudyFigure
from marsyard.units import in_unit

if TYPE_CHECKING:
    from marsyard.scenario import Scenario

#: what an output is taken of, and the measured quantity
OF = {"drawbar_pull": "pull", "side_force": "side", "driving_torque": "torque",
      "sinkage": "sinkage"}  # fmt: skip
STRAIGHT = math.radians(0.5)


def read_points(
    file: str | Path | WheelData,
    study: Study | None,
    wheel: Mapping[str, float] | None = None,
    load: float | None = None,
    where: Sequence[str] = (),
) -> WheelData:
    """The rows to compare a study with, or one sentence why there are none."""
    paths = [] if study is None else list(study.driven)
    if not any(p.rsplit(".", 1)[-1] in ("slip", "slip_ratio") for p in paths):
        have = f"varies {', '.join(paths)}" if paths else "is not a study"
        raise InputError(f"data: measured wheels need a study of slip, but the scenario {have}")
    assert study is not None
    data = file
    if not isinstance(data, WheelData):
        data = read_wheel_data(data, wheel=wheel, load=load, where=where)
    straight = np.abs(data.slip_angle) < STRAIGHT
    if not straight.any():
        raise InputError(f"data: {data.name} has no rows without slip angle, as the study requires")
    if not any(quantity_of_output(o.of) in data.quantities for o in study.outputs):
        raise InputError(
            f"data: {data.name} has {', '.join(data.quantities)}, none of which is an output of "
            f"the study"
        )
    rows = {k: getattr(data, k)[straight] for k in ("radius", "width", "lug_height", "load")}
    return replace(
        data, **rows, slip=data.slip[straight], slip_angle=data.slip_angle[straight],
        measured={k: v[straight] for k, v in data.measured.items()},
        spread={k: v[straight] for k, v in data.spread.items()},
    )  # fmt: skip


def other_wheel(data: WheelData, scenario: Scenario) -> list[str]:
    """Notes about what differs by more than 2 % between the measured wheel and the scenario's."""
    from marsyard.simulation.world import robot_of

    wheels = robot_of(scenario).wheels
    if not wheels:
        return []
    first, change = next(iter(wheels.values())), scenario.robot.wheel
    here = {"radius": (change.radius or first.radius, "m", "robot.wheel.radius"),
            "width": (change.width or first.width, "m", "robot.wheel.width")}  # fmt: skip
    if isinstance(load := scenario.parameters.get("load"), int | float):
        here["load"] = (float(load), "N", "parameters.load")
    notes = []
    for key, (own, unit, path) in here.items():
        measured = np.unique(getattr(data, key))
        if np.abs(measured - own).max() > 0.02 * abs(own):
            values = " and ".join(f"{v:.4g}" for v in measured[:3])
            values += " and others" if len(measured) > 3 else ""
            notes.append(
                f"{key} is {own:.4g} {unit} in the scenario and {values} {unit} in {data.name}; "
                f"set {path} or choose rows"
            )
    return notes


def quantity_of_output(of: str) -> str:
    """The measured quantity an output is compared with; "" if there is none."""
    return OF.get(of.split(".")[0], "")


def points_of(data: WheelData, ds: xr.Dataset, variable: str) -> tuple[np.ndarray, np.ndarray]:
    """Slips and measured values in the unit of an output."""
    quantity = quantity_of_output(str(ds[variable].attrs["of"]))
    if quantity not in data.quantities:
        return np.zeros(0), np.zeros(0)
    known = np.isfinite(data.measured[quantity])
    own, unit = QUANTITIES[quantity][0], str(ds[variable].attrs["units"])
    factor = 1.0 if unit == own else in_unit(f"1 {own}", unit)
    return data.slip[known], factor * data.measured[quantity][known]


def with_points(study: Study, ds: xr.Dataset, data: WheelData) -> Study:
    """The study with measured points in the panels of its figures."""
    figures = []
    for figure in study.figures or default_study_figures(ds):
        more = [
            Reference(name="measured", panel=k, x=tuple(x.tolist()), y=tuple(y.tolist()),
                      source=data.name)
            for k, panel in enumerate(figure.panels) for name in panel
            for x, y in [points_of(data, ds, variable_name(name))] if len(x)
        ]  # fmt: skip
        own = figure.model_dump() | {"reference": (*figure.reference, *more)}
        figures.append(StudyFigure.model_validate(own))
    return study.model_copy(update={"figures": tuple(figures)})


def misfits(ds: xr.Dataset, data: WheelData) -> dict[str, dict[str, float]]:
    """Root mean square by law and output, in the output's unit."""
    slip = ds[ds.attrs["varied"]].values.astype(float)
    order = np.argsort(slip)
    out: dict[str, dict[str, float]] = {}
    for law in (str(v) for v in ds["law"].values):
        out[law] = {}
        for variable in outputs_of(ds):
            x, y = points_of(data, ds, variable)
            curve = ds[variable].sel(law=law).values[order]
            inside = (x >= slip.min() - 1e-9) & (x <= slip.max() + 1e-9)
            if inside.any() and np.isfinite(curve).all():
                off = np.interp(x[inside], slip[order], curve) - y[inside]
                out[law][variable] = float(np.sqrt(np.mean(off**2)))
    return out
