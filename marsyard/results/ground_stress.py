"""Stresses under the wheels in soil.

Over the contact angle: mean over the records of the last fifth of the run (or a span the scenario
gives); each record is the force on a strip of the wheel over the strip's area, which jumps with the
grid's nodes while its mean does not. Footprints: the stresses of the last step, node by node, seen
from above with the heading upwards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.drawing.colours import robust_limits, wheel_colour
from marsyard.drawing.sheet import FONT, LEFT, SPAN, WIDTH, legend, plain, sheet, wrap
from marsyard.results.ground_file import Ground
from marsyard.results.rut_map import colour_bar, loaded_wheels
from marsyard.results.terrain_figures import SOFT
from marsyard.scenario.report_schema import GroundFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


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
    wheels = loaded_wheels(ground)
    pressure = data["stress_normal"].values / 1000
    loads = pressure[np.isin(owner, [w[5] for w in wheels])]
    top = robust_limits(loads[loads > 0])[1] if (loads > 0).any() else 0.0
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
        colour_bar(canvas, first, norm, "normal stress [kPa]", "inferno_r", 1.0)
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
