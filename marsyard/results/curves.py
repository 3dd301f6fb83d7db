"""Content of a run's figures: panels, curves, units, colours and labels.

Nothing is drawn here: `plots` draws them on paper, `page_plots` on the page of the report. Angles
are shown in degrees, sinkage in millimetres and slip in per cent, unless a figure says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import AXES, OTHERS, wheel_colour
from marsyard.drawing.sheet import unit_text, wrap
from marsyard.errors import InputError, suggest
from marsyard.results.dataset import DERIVED, REDUCTIONS, Line, lines, series
from marsyard.scenario.report_schema import Figure
from marsyard.units import UNITS, dimension_of, in_unit

_SMALL = ("solver_residual", "penetration")  # small by nature; elsewhere 1e-9 is rounding
_NOISE = {"slip_angle": 6e-3, "side_force": 1e-2, "slip_ratio": 1e-4}  # below it lies nothing
#: most points of a curve
POINTS = 2400
#: units that read better than SI: by the unit, and by the variable
_SHOWN_UNITS = {"rad": "°"}
_SHOWN_UNITS_OF = {
    "sinkage": "mm", "penetration": "mm", "pair_depth": "mm", "slip_ratio": "%",
    "slip_sensed": "%", "track_slip": "%", "track_slip_sensed": "%",
}  # fmt: skip
#: letters of the names of several curves that fit beside an axis, in two lines
_ROOM = 48
#: words that say nothing by themselves
_LITTLE = ("the", "a", "of", "in", "at", "and", "is", "to", "by")
_ON_SOIL = ("Slip and sinkage on soil",)
_ON_HARD = (
    "Contact impulses per wheel", "Gap and normal contact velocity",
    "Sliding velocity at the wheels", "Solver",
)  # fmt: skip


def drawable(ds: xr.Dataset, figure: Figure) -> tuple[Figure | None, list[str]]:
    """The figure with what the data set has of it, none if nothing, and what is missing."""
    missing: list[str] = []

    def there(name: str) -> bool:
        try:
            lines(ds, name)
        except InputError as error:
            missing.append(str(error))
            return False
        return True

    if figure.against is not None and not there(figure.against):
        return None, missing
    panels = [tuple(name for name in wanted if there(name)) for wanted in figure.panels]
    units = [unit for names, unit in zip(panels, panel_units(figure), strict=True) if names]
    panels = [names for names in panels if names]
    if missing and not panels:
        return None, missing
    return figure.model_copy(update={"panels": tuple(panels), "units": tuple(units)}), missing


def panel_units(figure: Figure) -> list[str]:
    """The unit of each panel; '' leaves it as it is."""
    return [*figure.units, *[""] * len(figure.panels)][: len(figure.panels)]


def default_figures(ds: xr.Dataset) -> tuple[Figure, ...]:
    """Default figures of any run, as far as the data set has the variables."""
    driven = _driven_joints(ds)
    # of the generalised reaction the part that pushes the base: its first three dofs
    dofs = [str(d) for d in ds["dof"].values[:3]] if "dof" in ds.coords else []
    wanted: list[tuple[str, list[list[str]]]] = [
        (
            "Base position, velocity and reaction",
            [["position_base"], ["velocity_base"], [f"reaction.{d}" for d in dofs]],
        ),
        ("Attitude and speed", [["roll", "pitch", "yaw"], ["speed"]]),
        (
            "The drive",
            [
                ["path_distance"],
                ["path_offset"],
                ["rate_commanded", "track_rate_commanded"],
                ["angle_commanded"],
            ],
        ),
        (
            "Contact impulses per wheel",
            [["impulse_normal"], ["impulse_tangent.forward"], ["impulse_tangent.left"]],
        ),
        ("Gap and normal contact velocity", [["gap"], ["contact_velocity.normal"]]),
        (
            "Sliding velocity at the wheels",
            [["contact_velocity.forward"], ["contact_velocity.left"]],
        ),
        ("Wheel angle and rate", [["wheel_angle"], ["wheel_rate"]]),
        (
            "Motor torque and power",
            [[f"{n}.{j}" for j in driven] for n in ("motor_torque", "motor_power")],
        ),
        (
            "Electrical power of the motors",
            [["electrical_power"], ["motor_current"], ["motor_voltage"], ["energy_electrical"]],
        ),
        ("Slip and sinkage on soil", [["slip_ratio"], ["slip_angle"], ["sinkage"]]),
        ("Forces of the soil", [["drawbar_pull"], ["wheel_load"], ["side_force"]]),
        (
            "Driving torque and resistances in soil",
            [["driving_torque"], ["compaction_resistance"], ["bulldozing_resistance"]],
        ),
        ("Tension of the tethers", [["tether_force"]]),
        ("Energy", [["energy_kinetic", "energy_potential", "energy"]]),
        (
            "Solver",
            [["contacts"], ["solver_iterations"], ["solver_residual"], ["penetration"]],
        ),
    ]
    # without hard ground there is nothing to see of it
    soil = "sinkage" in ds
    hard = "surface" not in ds.sizes or ds.sizes["surface"] > 0
    figures = []
    for title, panels in wanted:
        if (title in _ON_SOIL and not soil) or (title in _ON_HARD and not hard):
            continue
        there = [tuple(n for n in names if _has(ds, n)) for names in panels]
        if any(there):
            figures.append(Figure(title=title, panels=tuple(p for p in there if p), note=None))
    return tuple(figures)


def _driven_joints(ds: xr.Dataset) -> list[str]:
    """Joints whose motor does anything in this run."""
    if "motor_torque" not in ds or "joint" not in ds["motor_torque"].coords:
        return []
    used = (ds["motor_torque"] != 0).any("time").values
    return [str(j) for j, u in zip(ds["joint"].values, used, strict=True) if u]


def _has(ds: xr.Dataset, name: str) -> bool:
    try:
        return series(ds, name).size > 0
    except ValueError:
        return False


def binned_medians(x: np.ndarray, y: np.ndarray, bins: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Medians of x and y in bins of equal width in x; an empty bin is left out."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not x.size or np.ptp(x) == 0:
        return np.zeros(0), np.zeros(0)
    which = np.minimum(((x - x.min()) / np.ptp(x) * bins).astype(int), bins - 1)
    full = np.unique(which)
    middle = [[float(np.median(v[which == k])) for k in full] for v in (x, y)]
    return np.array(middle[0]), np.array(middle[1])


def curve_styles(ds: xr.Dataset, curves: list[Line]) -> list[dict[str, Any]]:
    """Colour and dash of the curves of a panel: by wheel, by axis, else in turn."""
    wheels = wheel_names(ds)
    of_wheel = [_owner(c, wheels) for c in curves]
    if len(curves) > 1 and len(set(of_wheel)) == 1:  # several things of one wheel
        of_wheel = [None] * len(curves)
    of_axis = [c.picks[-1].rsplit("_", 1)[-1] if c.picks else "" for c in curves]
    by_axis = len(set(of_axis)) == len(curves) and all(a in AXES for a in of_axis)
    # a joint named after its wheel takes the wheel's colour if no other joint in sight does
    own = [of_wheel.count(w) == 1 or w in c.picks for w, c in zip(of_wheel, curves, strict=True)]
    looks = []
    for index, wheel in enumerate(of_wheel):
        # later curves are thinner: where several coincide, the others show as a rim
        look: dict[str, Any] = {"linewidth": max(1.1, 1.9 - 0.16 * index)}
        if wheel is not None and own[index]:
            look["color"] = wheel_colour(wheel, wheels.index(wheel))
            if wheel.endswith("R"):
                look |= {"linestyle": (0, (4, 1.6)), "zorder": 3}
            if wheel in of_wheel[:index]:
                look["linestyle"] = (0, (1, 1.2))
        elif by_axis:
            look["color"] = AXES[of_axis[index]]
        else:
            look["color"] = OTHERS[index % len(OTHERS)]
            if index >= len(OTHERS):
                look["linestyle"] = (0, (4, 1.6)) if index < 2 * len(OTHERS) else (0, (1, 1))
        looks.append(look)
    return looks


def wheel_names(ds: xr.Dataset) -> list[str]:
    return [str(w) for w in ds["wheel"].values] if "wheel" in ds.coords else []


def _owner(curve: Line, wheels: list[str]) -> str | None:
    """The wheel that a curve belongs to: one of its labels, or the start of one."""
    for pick in curve.picks:
        if pick in wheels:
            return pick
    starts = [w for w in wheels for pick in curve.picks if pick.startswith(w)]
    return starts[0] if starts else None


def shared_picks(curves: list[Line]) -> list[str]:
    """Labels that all curves of a panel carry, in their order."""
    if not curves:
        return []
    return [p for p in curves[0].picks if all(p in c.picks for c in curves)]


def axis_label(ds: xr.Dataset, curves: list[Line], shared: list[str]) -> str:
    units = {unit_text(c.units) for c in curves}
    unit = f" [{next(iter(units))}]" if len(units) == 1 and "" not in units else ""
    names = list(dict.fromkeys(long_name_of(ds, c.variable) for c in curves))
    name = names[0] if len(names) == 1 else _common_words(names)
    how = "".join(f", {p}" for p in shared if p in REDUCTIONS)
    text = " ".join([name, *(p for p in shared if p not in REDUCTIONS)]) + how + unit
    return wrap(text.strip())


def _common_words(names: list[str]) -> str:
    """The words that all names share; all names where they share none and there is room."""
    if not names:
        return ""
    words = [w for w in names[0].split() if all(w in n.split() for n in names)]
    if all(w in _LITTLE for w in words):
        words = []
    together = ", ".join(names)
    return " ".join(words) or (together if len(together) <= _ROOM else "")


def long_name_of(ds: xr.Dataset, variable: str) -> str:
    if variable in ds:
        return str(ds[variable].attrs.get("long_name") or variable.replace("_", " "))
    return str(DERIVED[variable](ds).attrs["long_name"])


def cut_curve(curve: Line, start: float | None, end: float | None) -> Line:
    """The part of a curve between start and end, which also sets the height of the panel."""
    inside = np.ones(len(curve.time), dtype=bool)
    if start is not None:
        inside &= curve.time >= start - 1e-9
    if end is not None:
        inside &= curve.time <= end + 1e-9
    return Line(
        curve.label, curve.time[inside], curve.values[inside], curve.units, curve.variable,
        curve.picks,
    )  # fmt: skip


def in_panel_unit(curve: Line, unit: str, figure: Figure) -> Line:
    """A curve in the unit that its panel asks for; without one in the unit that reads best."""
    unit = unit or shown_unit(curve)
    if unit == curve.units:
        return curve
    if unit == "%" and curve.units in ("", "1"):
        return replace(curve, values=100 * curve.values, units=unit)
    if dimension_of(unit) is None or dimension_of(unit) != dimension_of(curve.units):
        known = UNITS.get(dimension_of(curve.units) or "", {})
        given = f"figure '{figure.title}': '{unit}' is not a unit of {curve.variable}"
        raise InputError(f"{given}, which is in '{curve.units}'; {suggest(unit, list(known))}")
    values = curve.values / in_unit(f"1 {unit}", curve.units)
    return replace(curve, values=values, units=unit)


def shown_unit(curve: Line) -> str:
    """The unit in which a curve reads best."""
    si = {"m": "mm", "1": "%", "": "%"}
    shown = _SHOWN_UNITS_OF.get(curve.variable)
    if shown is not None and si.get(curve.units) == shown:
        return shown
    return _SHOWN_UNITS.get(curve.units, curve.units)


@dataclass(frozen=True)
class Scale:
    """How a panel's ordinate runs; without limits, as far as its curves do."""

    logarithmic: bool = False
    limits: tuple[float, float] | None = None


def scale_of(curves: Sequence[Line]) -> Scale:
    """Logarithmic for residuals; no zoom into rounding noise."""
    values = np.concatenate([c.values[np.isfinite(c.values)] for c in curves] or [np.zeros(0)])
    positive = values[values > 0]
    residual = all("residual" in c.variable for c in curves)
    if residual and positive.size and positive.max() > 100 * positive.min():
        return Scale(logarithmic=True)
    if not values.size:
        return Scale()
    middle, spread = float(values.max() + values.min()) / 2, np.ptp(values)
    tiny = 0.0 if any(c.variable in _SMALL for c in curves) else 1e-9
    tiny *= 60.0 if any(c.units == "°" for c in curves) else 1.0
    tiny = max([tiny, *(_NOISE.get(c.variable, 0.0) for c in curves)])
    if spread > max(1e-6 * abs(middle), tiny):
        return Scale()
    room = 0.05 * abs(middle) if abs(middle) > tiny else 1.0
    return Scale(limits=(middle - room, middle + room))


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: its curves with their names and styles, and the label of its axis."""

    label: str
    curves: tuple[Line, ...]
    names: tuple[str, ...]
    styles: tuple[dict[str, Any], ...]


def panels_of(ds: xr.Dataset, figure: Figure) -> list[Panel]:
    """The panels of a figure over time or against another variable, cut to its span."""
    out = []
    for wanted, unit in zip(figure.panels, panel_units(figure), strict=False):
        found = [in_panel_unit(line, unit, figure) for name in wanted for line in lines(ds, name)]
        curves = [cut_curve(c, figure.start, figure.end) for c in found]
        out.append(panel_of(ds, curves))
    return out


def panel_of(ds: xr.Dataset, curves: list[Line]) -> Panel:
    """A panel of these curves; each is called by what tells it from the others."""
    shared, wheels = shared_picks(curves), wheel_names(ds)
    several = len({c.variable for c in curves}) > 1
    units = {c.units for c in curves}
    names = []
    for curve in curves:
        name = " ".join(p for p in curve.picks if p not in shared)
        if several:
            own = [p for p in curve.picks if p not in shared or p not in wheels]
            name = " ".join([long_name_of(ds, curve.variable), *own])
            name += f" [{unit_text(curve.units)}]" if len(units) > 1 else ""
        names.append(name)
    styles = tuple(curve_styles(ds, curves))
    return Panel(axis_label(ds, curves, shared), tuple(curves), tuple(names), styles)


def thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points that look the same: of each bin its lowest and highest, so that peaks stay."""
    values = np.where(np.isfinite(values), values, np.nan)
    size = len(values) // (POINTS // 2)
    if size < 4:
        return time, values
    bins = len(values) // size
    block = values[: bins * size].reshape(bins, size)
    start = np.arange(bins) * size
    low = start + np.argmin(np.where(np.isnan(block), np.inf, block), axis=1)
    high = start + np.argmax(np.where(np.isnan(block), -np.inf, block), axis=1)
    keep = np.unique(np.concatenate([[0], low, high, np.arange(bins * size, len(values))]))
    keep = np.unique(np.append(keep, len(values) - 1))
    return time[keep], values[keep]


def has_travelled(ds: xr.Dataset) -> bool:
    """Whether the base moved enough sideways to be worth a picture of its track."""
    if "position_base" not in ds:
        return False
    position = series(ds, "position_base").values
    return bool(np.ptp(position[:, :2], axis=0).max() > 0.05)


def followed_paths(ds: xr.Dataset) -> list[np.ndarray]:
    """The paths that the drive followed, each of shape [point, 2]."""
    if "path" not in ds:
        return []
    points, number = ds["path"].values, ds["path_command"].values
    return [points[number == k] for k in np.unique(number)]


def figure_caption(figure: Figure) -> str:
    window = ""
    if figure.start is not None or figure.end is not None:
        start = "the start" if figure.start is None else f"{figure.start:g} s"
        end = "the end" if figure.end is None else f"{figure.end:g} s"
        window = f"From {start} to {end}."
    cloud = "" if figure.against is None else "A point per record; the line is the median of bins."
    return " ".join(t for t in (window, cloud, figure.note or "") if t)
