"""Figures of a run: stacked panels over a shared time axis, and the track seen from above.

A wheel keeps its colour from figure to figure; wheels of the right side are dashed, so that a
pair that does the same can still be told apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import AXES, GIVEN_PATH, OTHERS, wheel_colour
from marsyard.drawing.sheet import (
    FONT,
    LEFT,
    SPAN,
    WIDTH,
    FigureFile,
    legend,
    save_png,
    sheet,
    slug,
    unit_text,
    wrap,
)
from marsyard.errors import InputError, suggest
from marsyard.results.dataset import DERIVED, REDUCTIONS, Line, lines, series
from marsyard.results.energy_figures import account_of, save_energy_figures
from marsyard.scenario.report_schema import Figure, GroundFigures
from marsyard.units import UNITS, dimension_of, in_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from marsyard.ground import Surface
    from marsyard.results.ground_file import Ground

_SMALL = ("solver_residual", "penetration")  # small by nature; elsewhere 1e-9 is rounding
_NOISE = {"slip_angle": 1e-4, "side_force": 1e-2, "slip_ratio": 1e-6}  # below it lies nothing
_POINTS = 2400
#: letters of the names of several curves that fit beside an axis, in two lines
_ROOM = 48
#: words that say nothing by themselves
_LITTLE = ("the", "a", "of", "in", "at", "and", "is", "to", "by")
_ON_SOIL = ("Slip and sinkage on soil",)
_ON_HARD = (
    "Contact impulses per wheel", "Gap and normal contact velocity",
    "Sliding velocity at the wheels", "Solver",
)  # fmt: skip


def save_figures(
    ds: xr.Dataset,
    figures: Sequence[Figure],
    folder: str | Path,
    dpi: int = 130,
    ground: Ground | None = None,
    ground_figures: GroundFigures | None = None,
    surfaces: Sequence[Surface] = (),
) -> list[FigureFile]:
    """Draw the figures (the default ones where there are none), the track and, of a robot that
    moves itself, its energy as PNG files.

    What a figure asks for and the data set does not have is left out, with a warning.

    With a `ground` also those of the soil, as far as `ground_figures` wants them; meshes among the
    `surfaces` of hard ground are drawn on its map.
    """
    folder = Path(folder)
    saved: list[FigureFile] = []
    for figure in figures or default_figures(ds):
        there, missing = _drawable(ds, figure)
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            warnings.warn(f"figure '{figure.title}': {missing[0]}{more}", stacklevel=2)
        if there is None:
            continue
        path = folder / f"{len(saved) + 1:02d}-{slug(figure.title)}.png"
        caption = " ".join([_caption(there), *(f"Left out: {text}" for text in missing)]).strip()
        saved.append(FigureFile(figure.title, caption, save_png(draw(ds, there), path, dpi)))
    if has_travelled(ds):
        path = folder / f"{len(saved) + 1:02d}-track.png"
        wheels = " and the wheels' contact points" if _wheels(ds) else ""
        caption = f"Path of the base{wheels}, from above and from the side."
        saved.append(FigureFile("Track", caption, save_png(draw_track(ds), path, dpi)))
    account = account_of(ds)
    if account is not None:
        saved += save_energy_figures(ds, account, folder, len(saved) + 1, dpi, motors=False)
    if ground is not None:
        from marsyard.results.ground_figures import draw_all

        wanted = ground_figures or GroundFigures()
        for title, caption, canvas in draw_all(ds, ground, wanted, surfaces):
            path = folder / f"{len(saved) + 1:02d}-{slug(title)}.png"
            saved.append(FigureFile(title, caption, save_png(canvas, path, dpi)))
    return saved


def _drawable(ds: xr.Dataset, figure: Figure) -> tuple[Figure | None, list[str]]:
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
    units = [unit for names, unit in zip(panels, _units(figure), strict=True) if names]
    panels = [names for names in panels if names]
    if missing and not panels:
        return None, missing
    return figure.model_copy(update={"panels": tuple(panels), "units": tuple(units)}), missing


def _units(figure: Figure) -> list[str]:
    """The unit of each panel; '' leaves it as it is."""
    return [*figure.units, *[""] * len(figure.panels)][: len(figure.panels)]


def default_figures(ds: xr.Dataset) -> tuple[Figure, ...]:
    """What is worth seeing of any run, as far as the data set has it."""
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
        ("Pull of the tethers", [["tether_force"]]),
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


# --- one figure


def draw(ds: xr.Dataset, figure: Figure) -> Canvas:
    """The figure as a matplotlib object: one panel below the other over the same time."""
    if figure.against is not None:
        return _draw_against(ds, figure, figure.against)
    count = max(len(figure.panels), 1)
    canvas, panels = sheet(figure.title, [1.85] * count)
    shown: list[str] = []
    for ax, wanted, unit in zip(panels, figure.panels, _units(figure), strict=False):
        curves = [_in_unit(line, unit, figure) for name in wanted for line in lines(ds, name)]
        _panel(ax, ds, [cut_curve(c, figure.start, figure.end) for c in curves])
        # the same legend is said once
        labels = ax.get_legend_handles_labels()[1]
        if len(labels) > 1 and labels != shown:
            legend(ax)
            shown = labels
    time = ds["time"].values
    start = time[0] if figure.start is None else figure.start
    end = time[-1] if figure.end is None else figure.end
    if end > start:
        panels[-1].set_xlim(start, end)
    panels[-1].set_xlabel("time [s]", fontsize=FONT)
    return canvas


def _draw_against(ds: xr.Dataset, figure: Figure, name: str) -> Canvas:
    """Panels over another variable: every record a point, and the median in each of 24 bins.

    A single curve is coloured by time; several keep their own colours.
    """
    across = lines(ds, name)
    if len(across) != 1:
        raise InputError(f"figure '{figure.title}': against '{name}' is several curves; pick one")
    x = cut_curve(across[0], figure.start, figure.end)
    canvas, panels = sheet(figure.title, [2.3] * max(len(figure.panels), 1))
    for ax, wanted, unit in zip(panels, figure.panels, _units(figure), strict=False):
        found = [_in_unit(line, unit, figure) for name in wanted for line in lines(ds, name)]
        curves = [cut_curve(c, figure.start, figure.end) for c in found]
        shared = _shared_picks(curves)
        for curve, look in zip(curves, _looks(ds, curves), strict=True):
            alone = len(curves) == 1
            points = _cloud(ax, x.values, curve, None if alone else str(look["color"]))
            label = " ".join(p for p in curve.picks if p not in shared)
            # thin, so that the points show beside it
            ink = {**look, "linewidth": 1.2, "zorder": 5}
            if alone:
                ink |= {"color": "#222222", "linestyle": "-"}
            ax.plot(*binned_medians(x.values, curve.values), label=label, **ink)
            if alone and points is not None:
                _time_bar(canvas, ax, points)
        ax.set_ylabel(_y_label(ds, curves, shared), fontsize=FONT)
        scale_ordinate(ax, curves)
        if len(curves) > 1:
            legend(ax)
    panels[-1].set_xlabel(_y_label(ds, [x], list(x.picks)).replace("\n", " "), fontsize=FONT)
    return canvas


def _cloud(ax: Axes, x: np.ndarray, curve: Line, colour: str | None) -> Any:
    """The records as light points, at most some thousand; by time where no colour is given."""
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(curve.values))
    keep = keep[:: len(keep) // _POINTS + 1]
    if not keep.size:
        return None
    look: dict[str, Any] = {"s": 15, "linewidths": 0, "rasterized": True}
    if colour is not None:
        look |= {"color": colour, "alpha": 0.3}
    else:
        look |= {"c": curve.time[keep], "cmap": "viridis", "alpha": 0.65}
    return ax.scatter(x[keep], curve.values[keep], **look)


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


def _time_bar(canvas: Canvas, ax: Axes, points: Any) -> None:
    place = ax.get_position()
    bar = canvas.add_axes(((LEFT + SPAN + 0.15) / WIDTH, place.y0, 0.12 / WIDTH, place.height))
    canvas.colorbar(points, cax=bar).set_alpha(1.0)
    bar.tick_params(labelsize=FONT - 1.5, color="#8a8a8a")
    bar.set_ylabel("time [s]", fontsize=FONT - 1)
    for spine in bar.spines.values():
        spine.set_visible(False)


def _panel(ax: Axes, ds: xr.Dataset, curves: list[Line]) -> None:
    """One panel: its curves, axis label with unit, and legend."""
    shared = _shared_picks(curves)
    wheels = _wheels(ds)
    variables = {c.variable for c in curves}
    units = {c.units for c in curves}
    for curve, look in zip(curves, _looks(ds, curves), strict=True):
        label = " ".join(p for p in curve.picks if p not in shared)
        if len(variables) > 1:
            own = [p for p in curve.picks if p not in shared or p not in wheels]
            label = " ".join([long_name_of(ds, curve.variable), *own])
            label += f" [{unit_text(curve.units)}]" if len(units) > 1 else ""
        time, values = thinned(curve.time, curve.values)
        ax.plot(time, values, label=label, **look)
    ax.set_ylabel(_y_label(ds, curves, shared), fontsize=FONT)
    scale_ordinate(ax, curves)
    _count(ax, ds, curves)


def _count(ax: Axes, ds: xr.Dataset, curves: list[Line]) -> None:
    """Whole ticks for whole numbers, and words for those that stand for something."""
    from matplotlib.ticker import MaxNLocator

    values = np.concatenate([c.values[np.isfinite(c.values)] for c in curves] or [np.zeros(0)])
    # not what merely happens to be zero all the time
    if not values.size or np.any(values != np.round(values)) or not 0 < np.ptp(values) <= 10:
        return
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    names = {str(ds[c.variable].attrs.get("flag_meanings", "")) for c in curves if c.variable in ds}
    if len(names) == 1 and (meanings := names.pop().split()):
        ax.set_yticks(range(len(meanings)), meanings)
        ax.set_ylim(-0.3, len(meanings) - 0.7)
        # words need the room of the label, which goes above
        ax.set_title(ax.get_ylabel().replace("\n", " "), loc="left", fontsize=FONT)
        ax.set_ylabel("")


def _looks(ds: xr.Dataset, curves: list[Line]) -> list[dict[str, Any]]:
    """Colour and dash of the curves of a panel: by wheel, by axis, else in turn."""
    wheels = _wheels(ds)
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


def _wheels(ds: xr.Dataset) -> list[str]:
    return [str(w) for w in ds["wheel"].values] if "wheel" in ds.coords else []


def _owner(curve: Line, wheels: list[str]) -> str | None:
    """The wheel that a curve belongs to: one of its labels, or the start of one."""
    for pick in curve.picks:
        if pick in wheels:
            return pick
    starts = [w for w in wheels for pick in curve.picks if pick.startswith(w)]
    return starts[0] if starts else None


def _shared_picks(curves: list[Line]) -> list[str]:
    """Labels that all curves of a panel carry, in their order."""
    if not curves:
        return []
    return [p for p in curves[0].picks if all(p in c.picks for c in curves)]


def _y_label(ds: xr.Dataset, curves: list[Line], shared: list[str]) -> str:
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


def scale_ordinate(ax: Axes, curves: list[Line]) -> None:
    """Powers of ten above the axis; logarithmic for residuals; no zoom into rounding noise."""
    from marsyard.drawing.ticks import PlainNumbers

    values = np.concatenate([c.values[np.isfinite(c.values)] for c in curves] or [np.zeros(0)])
    positive = values[values > 0]
    residual = all("residual" in c.variable for c in curves)
    if residual and positive.size and positive.max() > 100 * positive.min():
        ax.set_yscale("log")
        return
    ax.yaxis.set_major_formatter(PlainNumbers(-3, 4))
    ax.yaxis.get_offset_text().set_fontsize(FONT - 1.5)
    if values.size:
        middle, spread = (values.max() + values.min()) / 2, np.ptp(values)
        tiny = 0.0 if any(c.variable in _SMALL for c in curves) else 1e-9
        tiny = max([tiny, *(_NOISE.get(c.variable, 0.0) for c in curves)])
        if spread <= max(1e-6 * abs(middle), tiny):
            room = 0.05 * abs(middle) if abs(middle) > tiny else 1.0
            ax.set_ylim(middle - room, middle + room)


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


def _in_unit(curve: Line, unit: str, figure: Figure) -> Line:
    """A curve in another unit of the same quantity."""
    if not unit or unit == curve.units:
        return curve
    if dimension_of(unit) is None or dimension_of(unit) != dimension_of(curve.units):
        known = UNITS.get(dimension_of(curve.units) or "", {})
        given = f"figure '{figure.title}': '{unit}' is not a unit of {curve.variable}"
        raise InputError(f"{given}, which is in '{curve.units}'; {suggest(unit, list(known))}")
    values = curve.values / in_unit(f"1 {unit}", curve.units)
    return replace(curve, values=values, units=unit)


def thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points that look the same: of each bin its lowest and highest, so that peaks stay."""
    values = np.where(np.isfinite(values), values, np.nan)
    size = len(values) // (_POINTS // 2)
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


# --- the track


def has_travelled(ds: xr.Dataset) -> bool:
    """Whether the base moved enough sideways to be worth a picture of its track."""
    if "position_base" not in ds:
        return False
    position = series(ds, "position_base").values
    return bool(np.ptp(position[:, :2], axis=0).max() > 0.05)


def draw_track(ds: xr.Dataset) -> Canvas:
    """Path of the base and of the contact points, from above (x, y) and from the side (x, z)."""
    base = series(ds, "position_base").values
    paths: list[tuple[str, np.ndarray, dict[str, Any]]] = [
        ("base", base, {"color": "#222222", "linewidth": 1.8}),
    ]
    if "contact_point" in ds:
        points = ds["contact_point"].transpose("time", "wheel", "axis").values
        for i, wheel in enumerate(str(w) for w in ds["wheel"].values):
            style: dict[str, Any] = {"color": wheel_colour(wheel, i), "linewidth": 1.2}
            if wheel.endswith("R"):
                style["linestyle"] = (0, (4, 1.6))
            paths.append((f"wheel {wheel}", points[:, i], style))
    given = followed_paths(ds)
    # the same scale along x and y, neither a sliver nor a tower
    low = np.nanmin([np.nanmin(p[1], axis=0) for p in paths if np.isfinite(p[1]).any()], axis=0)
    high = np.nanmax([np.nanmax(p[1], axis=0) for p in paths if np.isfinite(p[1]).any()], axis=0)
    middle, span = (low + high) / 2, 1.12 * (high - low)
    width = max(span[0], span[1] / 0.75)
    depth = max(span[1], 0.25 * width)
    canvas, panels = sheet("Track", [SPAN * depth / width, 1.4])
    for number, path in enumerate(given):
        label = "" if number else "path to follow"
        panels[0].plot(path[:, 0], path[:, 1], label=label, **GIVEN_PATH)
    for ax, across in zip(panels, (1, 2), strict=True):
        for label, path, style in paths:
            ax.plot(path[:, 0], path[:, across], label=label, **style)
        for end, mark, label in ((0, "o", "start"), (-1, "s", "end")):
            ax.plot(*base[end, [0, across]], mark, color="#222222", markersize=5, label=label)
        ax.set_ylabel(f"{'xyz'[across]} [m]", fontsize=FONT)
    panels[0].set_xlim(middle[0] - width / 2, middle[0] + width / 2)
    panels[0].set_ylim(middle[1] - depth / 2, middle[1] + depth / 2)
    panels[-1].set_xlabel("x [m]", fontsize=FONT)
    legend(panels[0])
    return canvas


def followed_paths(ds: xr.Dataset) -> list[np.ndarray]:
    """The paths that the drive followed, each of shape [point, 2]."""
    if "path" not in ds:
        return []
    points, number = ds["path"].values, ds["path_command"].values
    return [points[number == k] for k in np.unique(number)]


# --- files


def _caption(figure: Figure) -> str:
    window = ""
    if figure.start is not None or figure.end is not None:
        start = "the start" if figure.start is None else f"{figure.start:g} s"
        end = "the end" if figure.end is None else f"{figure.end:g} s"
        window = f"From {start} to {end}."
    cloud = "" if figure.against is None else "A point per record; the line is the median of bins."
    return " ".join(t for t in (window, cloud, figure.note or "") if t)
