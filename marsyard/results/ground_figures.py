"""Figures of the soil that a run left: map of the ruts, cross sections, stresses, energy.

Map: the final ground as a hillshade (light from the north-west, 45° high), coloured by the change
of height: blue is lower than before, red higher.

Cross section: across the direction of travel, by itself at the place that most wheels have passed
and that lies farthest from where they stood at the start and stand at the end.

Stress over the contact angle: mean over the records of the last fifth of the run (or a span the
scenario gives); each record is the force on a strip of the wheel over the strip's area, which jumps
with the grid's nodes while its mean does not. Footprints: the stresses
of the last step, node by node, seen from above with the heading upwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.results._page import quantity
from marsyard.results._sheet import FONT, LEFT, SPAN, WIDTH, legend, plain, sheet, wrap
from marsyard.results.dataset import attitude
from marsyard.results.ground_file import Ground
from marsyard.results.plots import GIVEN_PATH, followed_paths, wheel_colour
from marsyard.results.terrain_figures import INK, SOFT, TINTS, _length, _nice
from marsyard.scenario.report_schema import GroundFigures, Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: ground shown beyond what was touched [m]
MARGIN = 0.25
#: most nodes of the map along its longer side
_PIXELS = 1500
_SAND = np.array([0.86, 0.73, 0.60])


def draw_all(
    ds: xr.Dataset, ground: Ground, wanted: GroundFigures
) -> Iterator[tuple[str, str, Canvas]]:
    """Title, caption and figure of all that is wanted and can be drawn."""
    sections: list[Section] = list(wanted.sections)
    if not sections and "section" in wanted.show:
        automatic = find_section(ds, ground)
        sections = [automatic] if automatic else []
    if "map" in wanted.show and ground.touched.any():
        about = (
            "The ground at the end; blue is lower than before, red higher. Lines: paths of the "
            "wheels' centres; circle and square: the base at the start and at the end."
        )
        yield "Rut map", about, draw_rut_map(ground, ds, wanted.window, sections)
    if "section" in wanted.show:
        for number, section in enumerate(sections, 1):
            title = section.title or ("Cross section" + (f" {number}" if len(sections) > 1 else ""))
            about = "Undisturbed and final surface along the line of the map; bars: wheels' widths."
            yield title, about, draw_section(ground, ds, section, title)
    if "stress" in wanted.show and _any(ds, "stress_normal") and _pressed(ds):
        start, end = stress_span(ds, wanted)
        about = f"Mean over {start:.4g} to {end:.4g} s."
        yield "Stress under the wheels", about, draw_stress(ds, start, end)
    if "footprint" in wanted.show and _loaded(ground):
        about = (
            f"At t = {float(ground.data.attrs.get('time_end', math.nan)):.4g} s. Colour: normal "
            "stress; arrows: shear stress on the wheel. Seen from above, heading upwards."
        )
        yield "Footprints", about, draw_footprints(ground)
    if "energy" in wanted.show and _any(ds, "energy_soil"):
        about = (
            "Work of the motors since the start and where it went; the rest is what neither the "
            "soil nor the robot's motion holds: dampers, friction, contacts with hard ground."
        )
        yield "Energy on soil", about, draw_energy(ds)


def _any(ds: xr.Dataset, name: str) -> bool:
    return name in ds and bool(np.isfinite(ds[name].values).any())


def _pressed(ds: xr.Dataset) -> bool:
    """Whether any wheel ever met soil."""
    return bool(np.nanmax(np.abs(ds["stress_normal"].values)) > 0)


# --- map


def draw_rut_map(
    ground: Ground,
    ds: xr.Dataset | None = None,
    window: Sequence[float] | None = None,
    sections: Sequence[Section] = (),
) -> Canvas:
    """Hillshade of the final ground and colour of its change [mm], with the wheels' paths."""
    from matplotlib.colors import Normalize

    box = tuple(window) if window is not None else _around(ground, ds)
    part = _thinned(ground, box)
    x, y = part["x"].values, part["y"].values
    change = 1000 * part["change"].values
    scale = _map_scale(change)
    canvas, ax = _map_sheet("Rut map", box)
    norm = Normalize(-scale, scale)
    picture = _coloured(part, change, norm)
    step = float(x[1] - x[0]) if len(x) > 1 else ground.spacing
    extent = (x[0] - step / 2, x[-1] + step / 2, y[0] - step / 2, y[-1] + step / 2)
    ax.imshow(picture, extent=extent, origin="lower", interpolation="bilinear", aspect="equal")
    if ds is not None:
        _draw_paths(ax, ds)
        _draw_robot(ax, ground)
    for number, section in enumerate(sections, 1):
        mark = "" if len(sections) == 1 else str(number)
        _draw_line(ax, section, f"A{mark}", f"B{mark}")
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])
    _bar_of_length(ax, box)
    _colour_bar(canvas, ax, norm, "change of height [mm]", rut_colours())
    if ds is not None:
        _map_legend(canvas, ax, ds)
    return canvas


def _around(ground: Ground, ds: xr.Dataset | None) -> tuple[float, float, float, float]:
    """A rectangle around all that was touched, no sliver."""
    x0, x1, y0, y1 = ground.bounds() or (-0.5, 0.5, -0.5, 0.5)
    margin = max(MARGIN * min(1.0, max(x1 - x0, y1 - y0)), 4 * ground.spacing)
    x0, x1, y0, y1 = x0 - margin, x1 + margin, y0 - margin, y1 + margin
    if y1 - y0 < 0.25 * (x1 - x0):
        middle, half = (y0 + y1) / 2, 0.125 * (x1 - x0)
        y0, y1 = middle - half, middle + half
    if x1 - x0 < 0.8 * (y1 - y0):
        middle, half = (x0 + x1) / 2, 0.4 * (y1 - y0)
        x0, x1 = middle - half, middle + half
    return x0, x1, y0, y1


def _thinned(ground: Ground, box: Sequence[float]) -> xr.Dataset:
    longest = max(box[1] - box[0], box[3] - box[2])
    every = max(1, math.ceil(longest / ground.spacing / _PIXELS))
    xmin, xmax, ymin, ymax = box
    return ground.window(xmin, xmax, ymin, ymax, every=every)


def _map_scale(change: np.ndarray) -> float:
    """Round end of the colour scale [mm]: nearly all changes lie within."""
    size = np.abs(change[np.isfinite(change) & (change != 0)])
    top = float(np.percentile(size, 99.5)) if size.size else 1.0
    power = 10.0 ** math.floor(math.log10(max(top, 1e-6)))
    return next(k * power for k in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if k * power >= top * 0.999)


def hillshade(height: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Brightness of ground lit from the north-west, 45° high; 1 on level ground, shape [y, x]."""
    if min(height.shape) < 2:
        return np.ones(height.shape)
    gy, gx = np.gradient(height, y, x)
    sun = np.array([-1.0, 1.0, math.sqrt(2.0)]) / 2.0
    facing = (-gx * sun[0] - gy * sun[1] + sun[2]) / np.sqrt(1 + gx**2 + gy**2)
    light = np.clip(facing, 0.0, None) / sun[2]
    # walls of ruts are steep: soft shades, so that their colour can still be read
    return 1.0 + 0.45 * np.tanh(1.2 * (light - 1.0))


def rut_colours() -> Any:
    """Blue for lower, the colour of sand for unchanged, red for higher."""
    from matplotlib.colors import LinearSegmentedColormap

    stops: list[Any] = [
        "#062a5c",
        "#2166ac",
        "#74aad2",
        tuple(_SAND),
        "#e58267",
        "#b2182b",
        "#5c0a1c",
    ]
    return LinearSegmentedColormap.from_list("ruts", stops)


def _coloured(part: xr.Dataset, change: np.ndarray, norm: Any) -> np.ndarray:
    """The picture of a map, shape [y, x, 3]."""
    from matplotlib.colors import to_rgb

    height = part["height"].values
    known = np.isfinite(height)
    filled = np.where(known, height, np.nanmean(height) if known.any() else 0.0)
    light = hillshade(filled, part["x"].values, part["y"].values)
    soils = np.array([_SAND, *(to_rgb(c) for c in TINTS[1:])])
    ground = soils[np.maximum(part["soil"].values, 0) % len(soils)]
    # undisturbed ground keeps its own colour; the change fades in
    strength = np.clip(np.abs(change) / norm.vmax / 0.1, 0.0, 1.0)[..., None]
    colour = rut_colours()(norm(change))[..., :3]
    mixed = (1 - strength) * ground + strength * colour
    picture = np.clip(mixed * light[..., None], 0, 1)
    picture[~known] = 1.0
    return picture


def _map_sheet(title: str, box: Sequence[float]) -> tuple[Canvas, Axes]:
    across, along = box[1] - box[0], box[3] - box[2]
    canvas, (ax,) = sheet(title, [SPAN * along / across])
    ax.grid(False)
    ax.set_xlabel("x [m]", fontsize=FONT)
    ax.set_ylabel("y [m]", fontsize=FONT)
    return canvas, ax


def _paths(ds: xr.Dataset) -> list[tuple[str, int, np.ndarray]]:
    """Name, number and path of each wheel, shape [time, 2 or 3], finite points only."""
    name = "wheel_position" if "wheel_position" in ds else "contact_point"
    if name not in ds or "wheel" not in ds[name].dims:
        return []
    points = ds[name].transpose("time", "wheel", "axis").values
    out = []
    for k, wheel in enumerate(str(w) for w in ds["wheel"].values):
        path = points[:, k]
        out.append((wheel, k, path[np.isfinite(path).all(axis=1)]))
    return [row for row in out if len(row[2])]


def _draw_paths(ax: Axes, ds: xr.Dataset) -> None:
    for given in followed_paths(ds):
        ax.plot(given[:, 0], given[:, 1], **GIVEN_PATH)
    for wheel, k, path in _paths(ds):
        look: dict[str, Any] = {"color": wheel_colour(wheel, k), "linewidth": 1.0}
        ax.plot(path[:, 0], path[:, 1], alpha=0.9, **look)
    for end, mark, label in ((0, "o", "start"), (-1, "s", "end")):
        pose = _pose(ds, end)
        if pose is None:
            continue
        x, y, yaw = pose
        ax.plot(x, y, mark, color="white", markeredgecolor=INK, markersize=6, label=label, zorder=6)
        ax.annotate(
            "", (x, y), xytext=(38 * math.cos(yaw), 38 * math.sin(yaw)), zorder=5,
            textcoords="offset points", arrowprops={"arrowstyle": "<|-", "color": INK, "lw": 1.2},
        )  # fmt: skip


def _pose(ds: xr.Dataset, which: int) -> tuple[float, float, float] | None:
    """x, y [m] and heading [rad] of the base in a record; of the last finite one for −1."""
    if "position_base" not in ds or "quaternion_base" not in ds:
        return None
    position = ds["position_base"].transpose("time", "axis").values
    turned = ds["quaternion_base"].transpose("time", "quat").values
    good = np.flatnonzero(np.isfinite(position).all(axis=1) & np.isfinite(turned).all(axis=1))
    if not good.size:
        return None
    at = good[which]
    return (
        float(position[at, 0]),
        float(position[at, 1]),
        float(attitude(turned[at : at + 1])[0, 2]),
    )


def _draw_robot(ax: Axes, ground: Ground) -> None:
    """Outlines of the wheels where they stand at the end."""
    for centre, along, across, radius, width, _ in _wheels(ground):
        corner = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]])
        x, y = (
            centre[k] + corner[:, 0] * radius * along[k] + corner[:, 1] * width / 2 * across[k]
            for k in range(2)
        )
        ax.plot(x, y, color=INK, linewidth=0.9, zorder=4)


def _wheels(ground: Ground) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float, float, int]]:
    """Centre, level heading, level axle to the left, radius, width and number of each wheel."""
    out = []
    data = ground.data
    if "body_axle" not in data:
        return []
    for b, axle in enumerate(data["body_axle"].values):
        level = math.hypot(axle[0], axle[1])
        centre = data["body_position"].values[b]
        if level < 1e-6 or not np.isfinite(centre).all():
            continue
        across = np.array([axle[0], axle[1]]) / level
        along = np.array([across[1], -across[0]])
        radius, width = float(data["body_radius"][b]), float(data["body_width"][b])
        out.append((centre, along, across, radius, width, b))
    return out


def _loaded(ground: Ground) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float, float, int]]:
    """As `_wheels`, of those in contact; without any, other bodies in contact, ahead along x."""
    if not ground.data.sizes.get("point", 0):
        return []
    owner = ground.data["stress_body"].values
    wheels = [w for w in _wheels(ground) if (owner == w[5]).any()]
    if wheels:
        return wheels
    ahead, left = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    centres = ground.data["body_position"].values
    return [(centres[b], ahead, left, 0.0, 0.0, int(b)) for b in np.unique(owner)[:12]]


def _draw_line(ax: Axes, section: Section, first: str, last: str) -> None:
    (x0, y0), (x1, y1) = section.start, section.end
    ax.plot([x0, x1], [y0, y1], color=INK, linewidth=1.1, linestyle=(0, (5, 2)), zorder=5)
    for label, x, y in ((first, x0, y0), (last, x1, y1)):
        ax.annotate(
            label, (x, y), color="white", fontsize=FONT - 1.5, fontweight="bold", ha="center",
            va="center", bbox={"boxstyle": "circle,pad=0.18", "fc": INK, "ec": "none"}, zorder=7,
        )  # fmt: skip


def _bar_of_length(ax: Axes, box: Sequence[float]) -> None:
    x0, x1, y0, _ = box
    length = _nice(0.18 * (x1 - x0))
    # as far from both edges
    x = x0 + 0.03 * (x1 - x0)
    y = y0 + 0.03 * (x1 - x0)
    for colour, width in (("white", 5), (INK, 2.2)):
        ax.plot(
            [x, x + length], [y, y], color=colour, linewidth=width, solid_capstyle="butt", zorder=8
        )
    ax.annotate(
        _length(length), (x + length / 2, y), xytext=(0, 5), textcoords="offset points", zorder=8,
        ha="center", fontsize=FONT - 1, fontweight="bold", color=INK,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75},
    )  # fmt: skip


def _colour_bar(
    canvas: Canvas, ax: Axes, norm: Any, label: str, cmap: Any, height: float = 0.6
) -> None:
    from matplotlib.cm import ScalarMappable

    place = ax.get_position()
    size = min(height * place.height, 2.2 / canvas.get_figheight())
    bar = canvas.add_axes(((LEFT + SPAN + 0.15) / WIDTH, place.y1 - size, 0.14 / WIDTH, size))
    canvas.colorbar(ScalarMappable(norm, cmap), cax=bar)
    bar.tick_params(labelsize=FONT - 1.5, color="#8a8a8a")
    # beside the bar if there is room, else above it
    if size * canvas.get_figheight() > 1.6:
        bar.set_ylabel(wrap(label, 30), fontsize=FONT - 1)
    else:
        bar.set_title(wrap(label, 18), fontsize=FONT - 1, loc="left", pad=6)
    for spine in bar.spines.values():
        spine.set_visible(False)


def _map_legend(canvas: Canvas, ax: Axes, ds: xr.Dataset) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=wheel_colour(w, k), linewidth=1.6, label=w) for w, k, _ in _paths(ds)
    ]
    if followed_paths(ds):
        handles.append(Line2D([], [], label="path", **GIVEN_PATH))
    if _pose(ds, 0):
        look: dict[str, Any] = {"color": "white", "markeredgecolor": INK, "linestyle": "none"}
        handles += [
            Line2D([], [], marker="o", label="start", **look),
            Line2D([], [], marker="s", label="end", **look),
        ]
    place = ax.get_position()
    canvas.legend(
        handles=handles, loc="lower left", bbox_to_anchor=((LEFT + SPAN + 0.05) / WIDTH, place.y0),
        frameon=False, fontsize=FONT - 1.5, handlelength=1.4, labelspacing=0.25, borderaxespad=0,
        ncols=1 if place.height * canvas.get_figheight() > 3.0 else 2, columnspacing=0.7,
        handletextpad=0.4,
    )  # fmt: skip


# --- cross section


@dataclass(frozen=True)
class _Crossing:
    """Where a wheel passed a line: distance from its start [m] and time [s]."""

    wheel: str
    number: int
    distance: float


def find_section(ds: xr.Dataset, ground: Ground) -> Section | None:
    """A line across the direction of travel that most wheels have passed; None without travel."""
    paths = _paths(ds)
    if not paths or not ground.touched.any():
        return None
    way = np.mean([p[-1, :2] - p[0, :2] for _, _, p in paths], axis=0)
    if np.hypot(*way) < 4 * ground.spacing:
        return None
    sampled = [p[np.unique(np.linspace(0, len(p) - 1, 200).astype(int)), :2] for _, _, p in paths]
    best: tuple[tuple[float, float], np.ndarray, np.ndarray] | None = None
    ends = np.array([p[at, :2] for at in (0, -1) for _, _, p in paths])
    for own in sampled:
        for k in range(2, len(own) - 2, 4):
            step = own[k + 2] - own[k - 2]
            if np.hypot(*step) < 1e-4:
                continue
            ahead = step / np.hypot(*step)
            passed = sum(_crosses(p, own[k], ahead) is not None for p in sampled)
            clear = float(np.min(np.abs((ends - own[k]) @ ahead)))
            if best is None or (passed, clear) > best[0]:
                best = (passed, clear), own[k], ahead
    if best is None:
        return None
    _, point, ahead = best
    left = np.array([-ahead[1], ahead[0]])
    offsets = [d for d in (_crosses(p, point, ahead) for p in sampled) if d is not None]
    width = max((w[4] for w in _wheels(ground)), default=0.1)
    room = max(2.0 * width, 6 * ground.spacing)
    low, high = min(offsets) - room, max(offsets) + room
    a, b = point + high * left, point + low * left
    return Section(start=(float(a[0]), float(a[1])), end=(float(b[0]), float(b[1])), title=None)


def _crosses(path: np.ndarray, point: np.ndarray, ahead: np.ndarray) -> float | None:
    """How far to the left of `point` a path crosses the line through it across `ahead` [m]."""
    along = (path - point) @ ahead
    turns = np.flatnonzero((along[:-1] < 0) != (along[1:] < 0))
    if not turns.size:
        return None
    k = int(turns[-1])
    share = along[k] / (along[k] - along[k + 1])
    at = path[k] + share * (path[k + 1] - path[k])
    offset = float((at - point) @ np.array([-ahead[1], ahead[0]]))
    return offset if abs(offset) < 20.0 else None


def _crossings(ds: xr.Dataset, section: Section) -> list[_Crossing]:
    """Wheels that have passed a section between its ends."""
    a, b = np.array(section.start), np.array(section.end)
    length = float(np.hypot(*(b - a)))
    along = (b - a) / length
    ahead = np.array([-along[1], along[0]])
    out = []
    for wheel, k, path in _paths(ds):
        offset = _crosses(path[:, :2], a, ahead)
        distance = -offset if offset is not None else math.nan
        if 0 <= distance <= length:
            out.append(_Crossing(wheel, k, distance))
    return out


def draw_section(
    ground: Ground, ds: xr.Dataset | None, section: Section, title: str = "Cross section"
) -> Canvas:
    """Undisturbed and final surface along a line, with the wheels that have passed it."""
    cut = ground.profile(section.start, section.end)
    s = cut["distance"].values
    known = cut["undisturbed"].values[np.isfinite(cut["undisturbed"].values)]
    level = float(known.mean()) if known.size else 0.0
    before = 1000 * (cut["undisturbed"].values - level)
    after = 1000 * (cut["height"].values - level)
    canvas, (ax,) = sheet(title, [2.9])
    finite = np.concatenate([before[np.isfinite(before)], after[np.isfinite(after)], [0.0]])
    spread = max(float(np.ptp(finite)), 2.0)
    bottom, top = float(finite.min()) - 0.35 * spread, float(finite.max()) + 0.18 * spread
    ax.fill_between(s, bottom, after, color=_SAND, alpha=0.6, linewidth=0)
    ax.fill_between(s, before, after, where=after < before, color="#4393c3", alpha=0.45,
                    linewidth=0, label="lower", interpolate=True)  # fmt: skip
    ax.fill_between(s, before, after, where=after > before, color="#d6604d", alpha=0.45,
                    linewidth=0, label="higher", interpolate=True)  # fmt: skip
    ax.plot(s, before, color=SOFT, linewidth=1.1, linestyle=(0, (5, 2)), label="undisturbed")
    ax.plot(s, after, color=INK, linewidth=1.5, label="final")
    ax.set_xlim(0, s[-1])
    ax.set_ylim(bottom, top)
    _draw_wheels(ax, ground, _crossings(ds, section) if ds is not None else [], bottom, spread)
    stretch = 2.9 / (top - bottom) / (SPAN / (1000 * s[-1]))
    (x0, y0), (x1, y1) = section.start, section.end
    where = (
        f"A ({x0:.2f}, {y0:.2f}) to B ({x1:.2f}, {y1:.2f}) m, heights stretched {stretch:.2g} times"
    )
    ax.set_title(where, fontsize=FONT - 1, loc="right", color=SOFT)
    ax.set_xlabel("distance from A [m]", fontsize=FONT)
    ax.set_ylabel("height [mm]", fontsize=FONT)
    legend(ax)
    return canvas


def _draw_wheels(
    ax: Axes, ground: Ground, crossings: list[_Crossing], bottom: float, spread: float
) -> None:
    """Bars as wide as the wheels below the surface, those on the same track above each other."""
    names = [str(n) for n in ground.data["body"].values]
    rows: list[tuple[float, float, int]] = []
    for crossing in crossings:
        width = 0.1
        if crossing.wheel in names:
            width = float(ground.data["body_width"].values[names.index(crossing.wheel)])
        # the name stands to the right of the bar
        low, high = crossing.distance - width / 2, crossing.distance + width / 2
        beside = {r for a, b, r in rows if low < b + 0.4 * width and a < high + 0.4 * width}
        rows.append((low, high, next(r for r in range(len(rows) + 1) if r not in beside)))
    step = 0.09 * spread * min(1.0, 3 / (1 + max((r for _, _, r in rows), default=0)))
    for crossing, (low, high, row) in zip(crossings, rows, strict=True):
        y = bottom + 0.08 * spread + row * step
        colour = wheel_colour(crossing.wheel, crossing.number)
        ax.plot([low, high], [y, y], color=colour, linewidth=3.5, solid_capstyle="butt")
        ax.annotate(crossing.wheel, (high, y), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=FONT - 2, color=colour)  # fmt: skip


# --- stresses


def stress_span(ds: xr.Dataset, wanted: GroundFigures | None = None) -> tuple[float, float]:
    """Times [s] between which stresses are averaged: as wanted, else the last fifth of the run."""
    time = ds["time"].values
    end = float(time[-1])
    start = end - 0.2 * (end - float(time[0]))
    if wanted is not None:
        end = end if wanted.stress_end is None else wanted.stress_end
        start = start if wanted.stress_start is None else wanted.stress_start
    return start, end


def mean_stress(ds: xr.Dataset, name: str, start: float, end: float) -> np.ndarray:
    """Mean of a stress over time per wheel and contact angle [Pa]; NaN where nothing touched."""
    time = ds["time"].values
    inside = (time >= start - 1e-9) & (time <= end + 1e-9)
    if not inside.any():
        inside[np.argmin(np.abs(time - end))] = True
    values = ds[name].transpose("time", "wheel", "contact_angle").values[inside].astype(float)
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def draw_stress(ds: xr.Dataset, start: float | None = None, end: float | None = None) -> Canvas:
    """Normal and shear stress over the contact angle, per wheel, mean between two times [s]."""
    usual = stress_span(ds)
    start, end = usual[0] if start is None else start, usual[1] if end is None else end
    canvas, panels = sheet("Stress under the wheels", [2.0, 2.0, 1.5])
    angle = np.degrees(ds["contact_angle"].values)
    wheels = [str(w) for w in ds["wheel"].values]
    seen = np.zeros(len(angle), dtype=bool)
    for ax, name, label in zip(
        panels,
        ("stress_normal", "stress_along", "stress_across"),
        ("normal stress [kPa]", "shear stress, ahead [kPa]", "shear stress, to the left [kPa]"),
        strict=True,
    ):
        values = mean_stress(ds, name, start, end) / 1000
        for k, wheel in enumerate(wheels):
            known = np.isfinite(values[k])
            # from where the wheel first carries anything to where it last does
            seen |= known & (np.abs(values[k]) > 0.003 * np.nanmax(np.abs(values), initial=1e-12))
            look: dict[str, Any] = {"color": wheel_colour(wheel, k), "linewidth": 1.6}
            if wheel.endswith("R"):
                look |= {"linestyle": (0, (4, 1.6)), "zorder": 3}
            ax.plot(angle[known], values[k][known], marker=".", markersize=4, label=wheel, **look)
        if name != "stress_normal":
            ax.axhline(0, color=SOFT, linewidth=0.7)
            _no_noise(ax, values, 1e-3)
        ax.axvline(0, color=SOFT, linewidth=0.7)
        ax.set_ylabel(wrap(label, 20), fontsize=FONT)
    if seen.any():
        panels[-1].set_xlim(angle[seen].min() - 7, angle[seen].max() + 7)
    panels[-1].set_xlabel(
        "contact angle [°], behind (−) and ahead (+) of the lowest point", fontsize=FONT
    )
    legend(panels[0])
    return canvas


def _no_noise(ax: Axes, values: np.ndarray, least: float) -> None:
    """No zoom into values that are nothing but rounding."""
    known = values[np.isfinite(values)]
    if known.size and np.abs(known).max() < least:
        ax.set_ylim(-10 * least, 10 * least)


def draw_footprints(ground: Ground) -> Canvas:
    """Stresses of the last step on the wheels' footprints, one panel per wheel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure as Figure_

    data = ground.data
    owner = data["stress_body"].values
    wheels = _loaded(ground)
    pressure = data["stress_normal"].values / 1000
    top = float(np.nanmax(pressure[np.isin(owner, [w[5] for w in wheels])], initial=0.0))
    norm = Normalize(0, max(top, 1e-6))
    placed, columns, rows = _arranged(wheels)
    reach = _footprint_reach(ground, wheels)
    aspect = (reach[3] - reach[2]) / (reach[1] - reach[0])
    wide = min(SPAN / columns, 3.4)
    high = min(wide * aspect, 3.4)
    height = 0.75 + rows * (high + 0.3) + 0.4
    canvas = Figure_(figsize=(WIDTH, height))
    FigureCanvasAgg(canvas)
    canvas.text(0.12 / WIDTH, 1 - 0.12 / height, "Footprints", va="top", fontsize=FONT + 3,
                fontweight="bold")  # fmt: skip
    shear = max(
        float(np.nanmax(np.hypot(data["stress_along"].values, data["stress_across"].values),
                        initial=0.0)) / 1000, 1e-9,
    )  # fmt: skip
    first: Axes | None = None
    for wheel, (row, column) in zip(wheels, placed, strict=True):
        place = (
            (0.75 + column * (wide + 0.12)) / WIDTH,
            (height - 0.75 - (row + 1) * high - row * 0.3) / height,
            (wide - 0.12) / WIDTH,
            high / height,
        )
        ax = canvas.add_axes(place)
        _footprint(ax, ground, wheel, norm, shear)
        ax.set_xlim(100 * reach[1], 100 * reach[0])
        ax.set_ylim(100 * reach[2], 100 * reach[3])
        ax.set_aspect("equal", adjustable="box", anchor="N")
        ax.tick_params(labelleft=column == 0, labelbottom=row == max(r for r, _ in placed))
        if column == 0:
            ax.set_ylabel("ahead [cm]", fontsize=FONT - 1)
        if row == max(r for r, _ in placed):
            ax.set_xlabel("left [cm]", fontsize=FONT - 1)
        first = first or ax
    if first is not None:
        _colour_bar(canvas, first, norm, "normal stress [kPa]", "inferno_r", 1.0)
        canvas.text(
            (LEFT + SPAN + 0.1) / WIDTH, 0.45 / height,
            f"longest arrow:\n{shear:.3g} kPa\nshear stress", fontsize=FONT - 1.5, color=SOFT,
        )  # fmt: skip
    return canvas


def _arranged(wheels: list[Any]) -> tuple[list[tuple[int, int]], int, int]:
    """Row and column of each wheel's panel: as on the robot, front row on top, left on the left."""
    if not wheels:
        return [], 1, 1
    ahead, left = np.mean([w[1] for w in wheels], axis=0), np.mean([w[2] for w in wheels], axis=0)
    centre = np.mean([w[0][:2] for w in wheels], axis=0)
    along = np.array([(w[0][:2] - centre) @ ahead for w in wheels])
    across = np.array([(w[0][:2] - centre) @ left for w in wheels])
    # as many columns as keep the sheet low
    columns = min(3, len(wheels))
    order = np.lexsort((-along, -np.sign(np.round(across, 3))))
    places: list[tuple[int, int]] = [(0, 0)] * len(wheels)
    for k, w in enumerate(order):
        places[w] = (k // columns, k % columns)
    return places, columns, math.ceil(len(wheels) / columns)


def _footprint_reach(ground: Ground, wheels: list[Any]) -> tuple[float, float, float, float]:
    """Sideways and lengthwise limits that hold every footprint [m]."""
    data, half, back, front = ground.data, 0.01, 0.0, 0.0
    for _, along, across, _, width, b in wheels:
        p = data["stress_position"].values[data["stress_body"].values == b][:, :2]
        half = max(half, width / 2, float(np.abs(p @ across).max()))
        back = min(back, float((p @ along).min()))
        front = max(front, float((p @ along).max()))
    room = 1.5 * ground.spacing
    return -half - room, half + room, back - room, front + room


def _footprint(ax: Axes, ground: Ground, wheel: Any, norm: Any, shear: float) -> None:
    """The nodes in contact as squares coloured by normal stress, with arrows of shear stress."""
    from matplotlib.collections import PolyCollection

    data, (_, along, across, _, width, b) = ground.data, wheel
    mine = data["stress_body"].values == b
    p = data["stress_position"].values[mine][:, :2]
    pressure = data["stress_normal"].values[mine] / 1000
    half = ground.spacing / 2
    corners = p[:, None, :] + half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    shape = 100 * np.stack([corners @ across, corners @ along], axis=-1)
    squares = PolyCollection(
        list(shape), array=pressure, cmap="inferno_r", norm=norm, linewidths=0.3, edgecolors="white"
    )
    ax.add_collection(squares)
    u = data["stress_across"].values[mine] / 1000
    v = data["stress_along"].values[mine] / 1000
    # at most some two hundred arrows
    keep = slice(None, None, max(1, len(p) // 200))
    size = 160 * ground.spacing * math.sqrt(max(1, len(p) // 200)) / shear
    # the left points to the left of the picture
    x, y = 100 * (p @ across)[keep], 100 * (p @ along)[keep]
    ax.quiver(x, y, -u[keep] * size, v[keep] * size, angles="uv",
              scale_units="y", scale=1.0, width=0.006, color="#2fa8ff", headwidth=3.5)  # fmt: skip
    for side in (-width / 2, width / 2) if width else ():
        ax.axvline(100 * side, color=SOFT, linewidth=0.8, linestyle=(0, (3, 2)))
    load = float(np.nansum(pressure * data["stress_area"].values[mine]))
    ax.set_title(
        f"{data['body'].values[b]}: {int((pressure > 0).sum())} nodes, ∫p dA {1000 * load:.0f} N",
        fontsize=FONT - 1, loc="left",
    )  # fmt: skip
    plain(ax)
    ax.locator_params(nbins=6)
    ax.yaxis.set_label_coords(-0.17, 0.5)


# --- energy


def energy_terms(ds: xr.Dataset) -> dict[str, np.ndarray]:
    """Work and energy since the start [J]: what the motors put in and where it went."""
    kinetic = ds["energy_kinetic"].values - ds["energy_kinetic"].values[0]
    potential = ds["energy_potential"].values - ds["energy_potential"].values[0]
    motors = ds["energy_motors"].values - ds["energy_motors"].values[0]
    soil = ds["energy_soil"].values
    return {
        "motors": motors,
        "soil": soil,
        "potential": potential,
        "kinetic": kinetic,
        "rest": motors - soil - potential - kinetic,
    }


def _joules(value: float, scale: float) -> str:
    """An energy with three digits; what is nothing against `scale` is 0."""
    return quantity(0.0 if abs(value) < 1e-6 * abs(scale) else float(value), "J", 3)


def draw_energy(ds: xr.Dataset) -> Canvas:
    """Work of the motors and where it went; below, what the soil took by cause."""
    terms = energy_terms(ds)
    time = ds["time"].values
    canvas, panels = sheet("Energy on soil", [2.3, 1.9])
    looks = {
        "motors": ("motors, in", INK, 2.0),
        "soil": ("soil", "#b8860b", 1.7),
        "potential": ("potential", "#2b5fc0", 1.4),
        "kinetic": ("kinetic", "#2f8f4e", 1.4),
        "rest": ("rest", "#8e5bb5", 1.2),
    }
    for name, values in terms.items():
        text, colour, width = looks[name]
        text = f"{text}: {_joules(values[-1], terms['motors'][-1])}"
        ax = panels[0]
        ax.plot(time, values, color=colour, linewidth=width, label=text,
                linestyle="-" if name != "rest" else (0, (4, 1.6)))  # fmt: skip
    panels[0].set_ylabel("work and change\nof energy [J]", fontsize=FONT)
    for name, text, colour in (
        ("energy_soil", "all of the soil", "#b8860b"),
        ("energy_compaction", "compaction", "#d55e00"),
        ("energy_shear", "shear", "#0072b2"),
    ):
        if name in ds:
            values = ds[name].values
            label = f"{text}: {_joules(values[-1], values[-1])}"
            panels[1].plot(time, values, color=colour, linewidth=1.6, label=label)
    panels[1].set_ylabel("taken by the soil [J]", fontsize=FONT)
    panels[1].set_xlabel("time [s]", fontsize=FONT)
    for ax in panels:
        legend(ax)
    if time[-1] > time[0]:
        panels[-1].set_xlim(time[0], time[-1])
    return canvas
