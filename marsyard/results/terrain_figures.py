"""Pictures of a terrain: map, slopes, profile, roughness, relief; and a page that shows them.

The map is a hillshade lit from the north-west, 45° high, tinted by soil. Slopes are those of the
survey's grid. All pictures say their scale; the relief also how much its heights are stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.page import items, joined, number, pairs, paragraphs, picture
from marsyard.drawing.report_page import FIGURES, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FigureFile
from marsyard.files.replacing import replacing
from marsyard.ground.terrain import Survey, Terrain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# sand first, then tints that differ also to colour-blind eyes; rocks are grey
TINTS = ("#d8a878", "#e8d9a8", "#b5651d", "#9dbf9e", "#8fb1cc", "#c59fc9", "#d98880", "#c9c27a")
ROCK = "#8d8a86"
INK, SOFT = "#1d2329", "#5c6670"
LINE = "#0b3c8c"
DPI = 130
Profile = tuple[tuple[float, float], tuple[float, float]]


def tints(view: Survey) -> list[str]:
    """A colour for each soil."""
    free = iter(TINTS[k % len(TINTS)] for k in range(len(view.soils)))
    return [ROCK if name in view.rocks else next(free) for name in view.soils]


def summary(view: Survey) -> list[tuple[str, str]]:
    """What describes a terrain, as rows of name and value."""
    x, y, z = view.x, view.y, view.z
    steepest, sx, sy = view.steepest
    lag, rough = view.roughness(1.0)
    share = view.shares()
    baseline = f"over {number(2 * view.spacing, 3)} m"
    rows = [
        ("extent", f"{number(x[-1] - x[0], 4)} m × {number(y[-1] - y[0], 4)} m, "
                   f"x {number(x[0], 4)} to {number(x[-1], 4)}, "
                   f"y {number(y[0], 4)} to {number(y[-1], 4)} m"),
        ("grid", f"{len(x)} × {len(y)} points, every {number(view.spacing, 3)} m"),
        ("heights", f"{number(z.min(), 4)} to {number(z.max(), 4)} m, "
                    f"mean {number(z.mean(), 3)} m, standard deviation {number(z.std(), 3)} m"),
        ("RMS slope", f"{number(math.degrees(view.rms_slope), 3)}° {baseline}"),
        ("steepest slope", f"{number(math.degrees(steepest), 3)}° {baseline}, "
                           f"at x = {number(sx, 4)}, y = {number(sy, 4)} m"),
        ("RMS height difference", f"{number(100 * rough, 3)} cm over {number(lag, 3)} m"),
    ]  # fmt: skip
    if view.rocks:
        covered = sum(share[name] for name in view.rocks)
        rows.append(("rock coverage", f"{number(100 * covered, 3)} % of the area"))
    soils = ", ".join(f"{name} {number(100 * s, 3)} %" for name, s in share.items() if s > 0)
    rows.append(("soils by area", soils))
    return rows


def save_terrain(
    terrain: Terrain,
    view: Survey,
    folder: Path,
    profile: Profile | None = None,
    say: Callable[[str], None] = lambda text: None,
    about: str = "",
    sources: Sequence[str] = (),
) -> Path:
    """Draw everything into `folder`, with the heights and a page; the path of the page."""
    line = profile or middle_profile(view)
    drawn = [
        ("Map", "map", lambda: draw_map(view, line)),
        ("Slopes", "slope", lambda: draw_slopes(view)),
        ("Profile", "profile", lambda: draw_profile(terrain, view, line)),
        ("Relief", "relief", lambda: draw_relief(view)),
        ("Roughness", "roughness", lambda: draw_roughness(view)),
    ]
    figures = []
    for title, stem, draw in drawn:
        say(f"drawing {stem}.png")
        path = folder / f"{stem}.png"
        with replacing(path) as part:
            draw().savefig(part, format="png", dpi=DPI)
        figures.append((title, path))
    say("writing heights.npz and index.html")
    with replacing(folder / "heights.npz") as part, part.open("wb") as stream:
        np.savez_compressed(stream, x=view.x, y=view.y, z=view.z, soil=view.soil)
    return write_report_page(folder, _page(view, figures, about, sources), "index.html")


def middle_profile(view: Survey) -> Profile:
    """From west to east through the middle."""
    y = float(view.y[0] + view.y[-1]) / 2
    return (float(view.x[0]), y), (float(view.x[-1]), y)


# --- the pictures


def draw_map(view: Survey, profile: Profile | None = None) -> Figure:
    """Hillshade tinted by soil, with contours and a scale."""
    canvas, ax, side = _map_sheet(view, f"{view.title or 'Terrain'}: map")
    ax.imshow(shaded_map(view), extent=_extent(view), origin="lower", interpolation="bilinear")
    low, high = float(view.z.min()), float(view.z.max())
    if high - low > 1e-6:
        step = _nice((high - low) / 9)
        levels = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
        if len(levels):
            # contours of smoothed heights: of every pebble they would hide the picture
            z = _smoothed(view)
            bold = np.isclose(np.mod(np.round(levels / step), 5), 0)
            ax.contour(
                view.x, view.y, z, levels=levels, colors=INK, alpha=0.5, linestyles="solid",
                linewidths=np.where(bold, 0.9, 0.45),
            )  # fmt: skip
        side.text(0, 1, f"contours every {_length(step)}", va="top", fontsize=8, color=SOFT)
    else:
        side.text(0, 1, "level", va="top", fontsize=8, color=SOFT)
    if profile is not None:
        (x0, y0), (x1, y1) = profile
        ax.plot([x0, x1], [y0, y1], color=LINE, linewidth=1.4, alpha=0.85)
        for label, x, y in (("A", x0, y0), ("B", x1, y1)):
            ax.annotate(
                label, (x, y), color="white", fontsize=8, fontweight="bold", ha="center",
                va="center", bbox={"boxstyle": "circle,pad=0.2", "fc": LINE, "ec": "none"},
            )  # fmt: skip
    _scale_bar(ax, view)
    _soil_legend(side, view)
    return canvas


def draw_slopes(view: Survey) -> Figure:
    """Slope in degrees with a colour bar, and the share of the ground below each slope."""
    canvas, ax, side = _map_sheet(view, f"{view.title or 'Terrain'}: slope")
    slope = np.degrees(view.slope)
    top = max(5.0, min(45.0, 5 * math.ceil(float(np.percentile(slope, 99.5)) / 5)))
    shown = ax.imshow(
        slope, extent=_extent(view), origin="lower", cmap="inferno_r", vmin=0, vmax=top,
        interpolation="nearest",
    )  # fmt: skip
    box = side.get_position()
    bar_ax = canvas.add_axes((box.x0, box.y0 + 0.5 * box.height, 0.022, 0.5 * box.height))
    extend = "max" if slope.max() > top else "neither"
    bar = canvas.colorbar(shown, cax=bar_ax, extend=extend)
    bar.set_label(f"slope over {_length(2 * view.spacing)} [°]", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    below = canvas.add_axes((box.x0 + 0.03, box.y0, box.width - 0.045, 0.34 * box.height))
    degrees = np.linspace(0, top, 200)
    share = np.searchsorted(np.sort(slope, axis=None), degrees, side="right") / slope.size
    below.plot(degrees, 100 * share, color=LINE, linewidth=1.4)
    below.set_xlim(0, top)
    below.set_ylim(0, 102)
    below.set_xlabel("slope [°]", fontsize=8)
    below.set_title("area below [%]", fontsize=8, loc="left", color=SOFT)
    below.grid(alpha=0.3)
    _plain(below, 7.5)
    _scale_bar(ax, view)
    return canvas


def draw_profile(terrain: Terrain, view: Survey, profile: Profile) -> Figure:
    """Height and slope along a line, soils below."""
    (x0, y0), (x1, y1) = profile
    length = math.hypot(x1 - x0, y1 - y0)
    count = max(400, min(4000, round(length / view.spacing) * 2))
    share = np.linspace(0, 1, count)
    x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
    s, z, soil = share * length, terrain.height(x, y), terrain.soil(x, y)

    canvas = _canvas(8.6, 4.6)
    title = f"{view.title or 'Terrain'}: profile A ({x0:.4g}, {y0:.4g}) to B ({x1:.4g}, {y1:.4g}) m"
    _title(canvas, title)
    upper = canvas.add_axes((0.09, 0.42, 0.88, 0.46))
    lower = canvas.add_axes((0.09, 0.11, 0.88, 0.24), sharex=upper)
    room = max(0.12 * float(np.ptp(z)), 0.01 * length / 4)
    bottom, top = float(z.min()) - 1.6 * room, float(z.max()) + room
    # the ground in its own soil, others as a band below the surface
    colours = tints(view)
    upper.fill_between(s, z, bottom, color=colours[0], alpha=0.55, linewidth=0)
    for index in np.unique(soil[soil > 0]):
        here = soil == index
        upper.fill_between(s, z, z - 0.9 * room, where=here, color=colours[index], linewidth=0)
    upper.plot(s, z, color=INK, linewidth=1.1)
    upper.set_ylim(bottom, top)
    upper.set_xlim(0, length)
    upper.set_ylabel("height [m]", fontsize=9)
    exaggeration = (0.46 * 4.6 / (top - bottom)) / (0.88 * 8.6 / length)
    upper.set_title(
        f"heights exaggerated {exaggeration:.2g} times", fontsize=8, loc="right", color=SOFT
    )
    upper.text(0.004, 0.97, "A", transform=upper.transAxes, va="top", fontweight="bold", color=LINE)
    upper.text(0.996, 0.97, "B", transform=upper.transAxes, va="top", ha="right",
               fontweight="bold", color=LINE)  # fmt: skip
    lower.plot(s, np.degrees(np.arctan(np.gradient(z, s))), color=LINE, linewidth=0.9)
    lower.axhline(0, color=SOFT, linewidth=0.6)
    lower.set_ylabel("slope [°]", fontsize=9)
    lower.set_xlabel("distance from A [m]", fontsize=9)
    for ax in (upper, lower):
        ax.grid(alpha=0.3)
        _plain(ax)
    upper.tick_params(labelbottom=False)
    return canvas


def draw_relief(view: Survey) -> Figure:
    """The terrain in three dimensions, seen from the south-west."""
    from matplotlib.colors import to_rgb

    skip = max(1, math.ceil(max(view.z.shape) / 260))
    x, y = np.meshgrid(view.x[::skip], view.y[::skip])
    z = view.z[::skip, ::skip]
    light = _light(view)[::skip, ::skip]
    colour = np.array([to_rgb(c) for c in tints(view)])[view.soil[::skip, ::skip]]
    width, depth, height = float(np.ptp(x)), float(np.ptp(y)), float(np.ptp(z))
    longest = max(width, depth)
    # true to scale, unless so flat that nothing would be seen
    stretch = 1.0 if height > 0.03 * longest else _nice(0.06 * longest / max(height, 1e-9))
    stretch = min(stretch, 20.0)
    canvas = _canvas(8.6, 5.3)
    note = "true to scale" if stretch == 1 else f"heights exaggerated {stretch:g} times"
    _title(canvas, f"{view.title or 'Terrain'}: relief, {note}")
    ax: Any = canvas.add_axes((-0.06, -0.1, 1.12, 1.16), projection="3d", computed_zorder=False)
    ax.plot_surface(
        x, y, z, facecolors=np.clip(colour * light[..., None], 0, 1), rstride=1, cstride=1,
        linewidth=0, antialiased=False, shade=False,
    )  # fmt: skip
    ax.set_box_aspect((width, depth, max(stretch * height, 0.02 * longest)), zoom=1.1)
    if height < 1e-9:
        ax.set_zlim(z.min() - 0.01 * longest, z.max() + 0.01 * longest)
    ax.view_init(elev=32, azim=-122)
    ax.set_xlabel("x [m]", fontsize=8)
    ax.set_ylabel("y [m]", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.zaxis.set_major_locator(_few_ticks(2))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.pane.set_visible(False)
        axis.line.set_color("#bbbbbb")
    ax.grid(False)
    return canvas


def draw_roughness(view: Survey) -> Figure:
    """RMS height difference over distance, with the power law that fits it best."""
    canvas = _canvas(8.6, 4.2)
    _title(canvas, f"{view.title or 'Terrain'}: roughness over distance")
    ax = canvas.add_axes((0.1, 0.13, 0.86, 0.73))
    extent = (min(view.z.shape) - 1) * view.spacing
    wanted = np.geomspace(view.spacing, max(extent / 4, 2 * view.spacing), 25)
    pairs_ = dict(view.roughness(lag) for lag in wanted)
    lag, rough = np.array(list(pairs_)), np.array(list(pairs_.values()))
    there = rough > 0
    if there.sum() >= 3:
        ax.loglog(lag[there], 100 * rough[there], "o", color=LINE, markersize=4, label="this map")
        short = there & (lag >= 4 * view.spacing) & (lag <= extent / 8)
        if short.sum() >= 3:
            hurst, start = np.polyfit(np.log(lag[short]), np.log(rough[short]), 1)
            ax.loglog(
                lag, 100 * np.exp(start) * lag**hurst, color="#c25a2b", linewidth=1.2,
                label=f"{100 * math.exp(start):.3g} cm · (d / 1 m)^{hurst:.2f}",
            )  # fmt: skip
        ax.legend(fontsize=8, frameon=False)
    else:
        ax.text(0.5, 0.5, "level: no roughness", ha="center", transform=ax.transAxes, color=SOFT)
    ax.set_xlabel("distance d [m]", fontsize=9)
    ax.set_ylabel("RMS height difference [cm]", fontsize=9)
    ax.grid(alpha=0.3, which="both")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(_some_labels)
    _plain(ax)
    ax.tick_params(which="minor", labelsize=8)
    return canvas


# --- pieces


def _canvas(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height))
    FigureCanvasAgg(canvas)
    return canvas


def _title(canvas: Figure, text: str) -> None:
    height = canvas.get_figheight()
    width = int(canvas.get_figwidth() * 9.6)
    text = text if len(text) <= width else text[: width - 1] + "…"
    canvas.text(0.012, 1 - 0.1 / height, text, va="top", fontsize=11, fontweight="bold", color=INK)


def _map_sheet(view: Survey, title: str) -> tuple[Figure, Axes, Axes]:
    """A sheet with a map true to scale and room to its right, which is a bare panel."""
    x0, x1, y0, y1 = _extent(view)
    wide, most = 6.3, 6.6  # of the map [inch]
    ratio = (y1 - y0) / (x1 - x0)
    width, depth = (wide, wide * ratio) if wide * ratio <= most else (most / ratio, most)
    depth = max(depth, 1.9)
    left, right, top, bottom = 0.7, 1.75, 0.45, 0.55
    total_w, total_h = left + width + right, top + depth + bottom
    canvas = _canvas(total_w, total_h)
    _title(canvas, title)
    ax = canvas.add_axes((left / total_w, bottom / total_h, width / total_w, depth / total_h))
    side = canvas.add_axes(
        ((left + width + 0.18) / total_w, bottom / total_h, (right - 0.3) / total_w,
         depth / total_h)
    )  # fmt: skip
    side.set_axis_off()
    ax.set_xlabel("x, east [m]", fontsize=9)
    ax.set_ylabel("y, north [m]", fontsize=9)
    ax.tick_params(labelsize=8)
    return canvas, ax, side


def _extent(view: Survey) -> tuple[float, float, float, float]:
    return float(view.x[0]), float(view.x[-1]), float(view.y[0]), float(view.y[-1])


def _light(view: Survey) -> np.ndarray:
    """Brightness of the ground under a sun in the north-west, 45° high; 1 on level ground.

    Flat relief is shaded as if it were up to five times as high, so that it can be read.
    """
    gy, gx = np.gradient(view.z, view.y, view.x)
    typical = float(np.sqrt(np.mean(gx**2 + gy**2)))
    stretch = min(5.0, max(1.0, 0.25 / typical)) if typical > 0 else 1.0
    gx, gy = gx * stretch, gy * stretch
    sun = np.array([-1.0, 1.0, math.sqrt(2.0)]) / 2.0
    facing = (-gx * sun[0] - gy * sun[1] + sun[2]) / np.sqrt(1 + gx**2 + gy**2)
    light = np.clip(facing, 0.0, 1.0) / sun[2]
    return 0.32 + 0.68 * light


def shaded_map(view: Survey) -> np.ndarray:
    """The hillshade tinted by soil, shape [row, column, 3]."""
    from matplotlib.colors import to_rgb

    colour = np.array([to_rgb(c) for c in tints(view)])[view.soil]
    return np.clip(colour * _light(view)[..., None], 0, 1)


def _smoothed(view: Survey) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(view.z, 0.012 * max(view.z.shape), mode="nearest")


def _scale_bar(ax: Axes, view: Survey) -> None:
    """A bar of a round length in the lower left corner."""
    x0, x1, y0, y1 = _extent(view)
    length = _nice(0.2 * (x1 - x0))
    x, y = x0 + 0.04 * (x1 - x0), y0 + 0.05 * (y1 - y0)
    ax.plot([x, x + length], [y, y], color="white", linewidth=5, solid_capstyle="butt", alpha=0.85)
    ax.plot([x, x + length], [y, y], color=INK, linewidth=2.2, solid_capstyle="butt")
    ax.annotate(
        _length(length), (x + length / 2, y), xytext=(0, 5), textcoords="offset points",
        ha="center", fontsize=8, fontweight="bold", color=INK,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75},
    )  # fmt: skip
    ax.set_xlim(x0, x1)
    ax.set_ylim(y0, y1)


def _soil_legend(side: Axes, view: Survey) -> None:
    from matplotlib.patches import Patch

    share = view.shares()
    patches = [
        Patch(color=colour, label=f"{name}  {number(100 * share[name], 3)} %")
        for name, colour in zip(view.soils, tints(view), strict=True)
        if share[name] > 0
    ]
    low, high = number(float(view.z.min()), 3), number(float(view.z.max()), 3)
    side.text(0, 0.95, f"z {low} to {high} m", va="top", fontsize=8, color=SOFT)
    side.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(-0.06, 0.9), frameon=False, fontsize=8,
        title="soil", title_fontsize=8, alignment="left", borderaxespad=0, handlelength=1.2,
    )  # fmt: skip


def _nice(value: float) -> float:
    """1, 2 or 5 times a power of ten near `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return min((1, 2, 5, 10), key=lambda k: abs(math.log(k * power / value))) * power


def _length(metres: float) -> str:
    if metres >= 1000:
        return f"{metres / 1000:.3g} km"
    if metres >= 1:
        return f"{metres:.3g} m"
    return f"{100 * metres:.3g} cm" if metres >= 0.01 else f"{1000 * metres:.3g} mm"


def _some_labels(value: float, position: float) -> str:
    """Labels between powers of ten: 2 and 5 only."""
    digit = value / 10.0 ** math.floor(math.log10(value))
    return f"{value:g}" if round(digit, 6) in (2, 5) else ""


def _few_ticks(count: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count)


def _plain(ax: Axes, size: float = 8) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=size)


def _page(
    view: Survey, figures: Sequence[tuple[str, Path]], about: str, sources: Sequence[str]
) -> ReportPage:
    """What the page says: its first figure above, the numbers, the others."""
    first, *others = (FigureFile(title, "", path) for title, path in figures)
    return ReportPage(
        answer=_answer(view),
        title=view.title or "Terrain",
        kind="ground",
        picture=picture(first),
        parts=[
            Part("About this ground", joined(paragraphs(about), items(sources)), open=True),
            Part("Numbers", pairs(summary(view)), open=True),
            FIGURES,
        ],
        figures=others,
    )


def _answer(view: Survey) -> str:
    """A terrain in one line: how large, how high, how steep."""
    wide, deep = view.x[-1] - view.x[0], view.y[-1] - view.y[0]
    steepest = math.degrees(view.steepest[0])
    return (
        f"{number(wide, 3)} m × {number(deep, 3)} m, {_length(float(np.ptp(view.z)))} from the "
        f"lowest point to the highest, slopes up to {number(steepest, 2)}°"
    )
