"""Map of the ruts: the final ground as a hillshade (light from the north-west, 45° high), coloured
by the change of height: blue is lower than before, red higher; with the wheels' paths, and the path
to follow of a drive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import GIVEN_PATH, wheel_colour
from marsyard.drawing.sheet import FONT, LEFT, SPAN, WIDTH, sheet, wrap
from marsyard.ground import TriangleMesh
from marsyard.results.curves import followed_paths
from marsyard.results.dataset import attitude
from marsyard.results.ground_file import Ground
from marsyard.results.terrain_figures import INK, TINTS, _length, _nice
from marsyard.scenario.report_schema import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from marsyard.ground import Surface

#: ground shown beyond what was touched [m]
MARGIN = 0.25
#: most nodes of the map along its longer side
_PIXELS = 1500
SAND = np.array([0.86, 0.73, 0.60])
ROCK = np.array([0.44, 0.33, 0.27])


def draw_rut_map(
    ground: Ground,
    ds: xr.Dataset | None = None,
    window: Sequence[float] | None = None,
    sections: Sequence[Section] = (),
    surfaces: Sequence[Surface] = (),
) -> Canvas:
    """Hillshade of the final ground and colour of its change [mm], with the wheels' paths and the
    meshes of hard ground that stand out of it."""
    from matplotlib.colors import Normalize

    box = tuple(window) if window is not None else _around(ground, ds)
    part = _thinned(ground, box)
    x, y = part["x"].values, part["y"].values
    change = 1000 * part["change"].values
    scale = _map_scale(change)
    canvas, ax = map_sheet("Rut map", box)
    norm = Normalize(-scale, scale)
    picture = _coloured(part, change, norm)
    step = float(x[1] - x[0]) if len(x) > 1 else ground.spacing
    extent = (x[0] - step / 2, x[-1] + step / 2, y[0] - step / 2, y[-1] + step / 2)
    ax.imshow(picture, extent=extent, origin="lower", interpolation="bilinear", aspect="equal")
    for surface in surfaces:
        if isinstance(surface, TriangleMesh):
            _draw_mesh(ax, surface, part)
    if ds is not None:
        _draw_paths(ax, ds)
        _draw_robot(ax, ground)
    for number, section in enumerate(sections, 1):
        mark = "" if len(sections) == 1 else str(number)
        _draw_line(ax, section, f"A{mark}", f"B{mark}")
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])
    bar_of_length(ax, box)
    colour_bar(canvas, ax, norm, "change of height [mm]", rut_colours())
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
        tuple(SAND),
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
    soils = np.array([SAND, *(to_rgb(c) for c in TINTS[1:])])
    ground = soils[np.maximum(part["soil"].values, 0) % len(soils)]
    # undisturbed ground keeps its own colour; the change fades in
    strength = np.clip(np.abs(change) / norm.vmax / 0.1, 0.0, 1.0)[..., None]
    colour = rut_colours()(norm(change))[..., :3]
    mixed = (1 - strength) * ground + strength * colour
    picture = np.clip(mixed * light[..., None], 0, 1)
    picture[~known] = 1.0
    return picture


def _draw_mesh(ax: Axes, mesh: TriangleMesh, part: xr.Dataset) -> None:
    """The faces of a mesh that look up and lie above the ground of the map, lit as it is."""
    from matplotlib.collections import PolyCollection

    x, y, height = part["x"].values, part["y"].values, part["height"].values
    if min(height.shape) < 2:
        return
    corners = mesh.vertices[mesh.triangles]
    middle = corners.mean(axis=1)
    i = np.rint((middle[:, 0] - x[0]) / (x[1] - x[0])).astype(int)
    j = np.rint((middle[:, 1] - y[0]) / (y[1] - y[0])).astype(int)
    seen = (i >= 0) & (i < len(x)) & (j >= 0) & (j < len(y))
    below = height[np.clip(j, 0, len(y) - 1), np.clip(i, 0, len(x) - 1)]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal = cross / np.linalg.norm(cross, axis=1)[:, None]
    seen &= (normal[:, 2] > 0) & ~(middle[:, 2] < below)
    light = np.clip(normal[seen] @ (np.array([-1.0, 1.0, math.sqrt(2.0)]) / 2.0), 0.0, 1.0)
    colour = np.clip((0.45 + 0.9 * light)[:, None] * ROCK, 0, 1)
    # drawn from below
    order = np.argsort(middle[seen, 2], kind="stable")
    ax.add_collection(
        PolyCollection(
            list(corners[seen][order][..., :2]), facecolors=colour[order],
            edgecolors=colour[order], linewidths=0.2, zorder=2,
        )
    )  # fmt: skip


def map_sheet(title: str, box: Sequence[float]) -> tuple[Canvas, Axes]:
    across, along = box[1] - box[0], box[3] - box[2]
    canvas, (ax,) = sheet(title, [SPAN * along / across])
    ax.grid(False)
    ax.set_xlabel("x [m]", fontsize=FONT)
    ax.set_ylabel("y [m]", fontsize=FONT)
    return canvas, ax


def wheel_paths(ds: xr.Dataset) -> list[tuple[str, int, np.ndarray]]:
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
    for wheel, k, path in wheel_paths(ds):
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
    for centre, along, across, radius, width, _ in wheels_at_end(ground):
        corner = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]])
        x, y = (
            centre[k] + corner[:, 0] * radius * along[k] + corner[:, 1] * width / 2 * across[k]
            for k in range(2)
        )
        ax.plot(x, y, color=INK, linewidth=0.9, zorder=4)


def wheels_at_end(
    ground: Ground,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float, float, int]]:
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


def loaded_wheels(
    ground: Ground,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float, float, int]]:
    """As `wheels_at_end`, of those in contact; without any, other bodies there, ahead along x."""
    if not ground.data.sizes.get("point", 0):
        return []
    owner = ground.data["stress_body"].values
    wheels = [w for w in wheels_at_end(ground) if (owner == w[5]).any()]
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


def bar_of_length(ax: Axes, box: Sequence[float]) -> None:
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


def colour_bar(
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
        Line2D([], [], color=wheel_colour(w, k), linewidth=1.6, label=w)
        for w, k, _ in wheel_paths(ds)
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
