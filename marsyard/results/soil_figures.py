"""Curves of soils: pressure over sinkage, and shear stress over shear displacement.

Left: p = (k_c/b + k_φ) zⁿ for a plate of the given width b, on a logarithmic scale.
Right: τ = (c + p tan φ)(1 − e^(−j/K)) at the given pressure p.
A soil without the numbers of a curve is left out of that panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.files.replacing import replacing
from marsyard.ground.soil import Soil, load_soil

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

WIDTH, PRESSURE = 0.1, 10e3  # [m], [Pa]
DEEPEST, FARTHEST = 0.06, 0.10  # of the axes [m]
_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6b6b", "#8e5bb5",
)  # fmt: skip
_LINES = ("-", "--", ":")


def draw_soils(
    soils: Iterable[str | Mapping[str, Any] | Soil],
    path: str | Path,
    width: float = WIDTH,
    pressure: float = PRESSURE,
    background: Iterable[str | Soil] = (),
    dpi: int = 110,
) -> Path:
    """Draw soils into a PNG file and return its path.

    soils: as `load_soil` takes them, or Soil objects.
    width: of the plate [m]. pressure: under which is sheared [Pa].
    background: soils drawn in grey, to compare with.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError(f"plot: '{path.name}': a file ending in .png is expected")
    canvas = soil_canvas(soils, width, pressure, background)
    try:
        with replacing(path) as part:
            canvas.savefig(part, format="png", dpi=dpi)
    except OSError as error:
        raise InputError(f"plot: '{path}' cannot be written ({error.strerror})") from None
    return path


def soil_canvas(
    soils: Iterable[str | Mapping[str, Any] | Soil],
    width: float = WIDTH,
    pressure: float = PRESSURE,
    background: Iterable[str | Soil] = (),
) -> Canvas:
    """The same as a matplotlib figure."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9.4, 4.3), layout="constrained")
    sink, shear = canvas.subplots(1, 2)
    for soil in map(_soil, background):
        with suppress(InputError):  # k_c/b + k_phi not positive for this width
            _curves(sink, shear, soil, width, pressure, color="#c8c8c8", lw=0.8, zorder=1)
    for i, soil in enumerate(map(_soil, soils)):
        style = {"color": _COLOURS[i % 8], "ls": _LINES[i // 8 % 3], "lw": 1.6, "zorder": 2}
        _curves(sink, shear, soil, width, pressure, label=soil.name, **style)
    _finish(sink, f"plate of width {width * 100:g} cm", "sinkage [mm]", "pressure [kPa]")
    sink.set_yscale("log")
    sink.set_ylim(bottom=0.3)
    _finish(shear, f"at {pressure / 1e3:g} kPa", "shear displacement [mm]", "shear stress [kPa]")
    shear.set_ylim(bottom=0)
    # soils of either panel, each said once
    said: dict[str, Any] = {}
    for ax in (sink, shear):
        handles, labels = ax.get_legend_handles_labels()
        said |= {n: h for h, n in zip(handles, labels, strict=True) if n not in said}
    if said:
        canvas.legend(
            list(said.values()), list(said), loc="outside right upper", fontsize=7.5, frameon=False
        )
    return canvas


def _soil(soil: str | Mapping[str, Any] | Soil) -> Soil:
    return soil if isinstance(soil, Soil) else load_soil(soil)


def _curves(
    sink: Axes, shear: Axes, soil: Soil, width: float, pressure: float, **style: Any
) -> None:
    if soil.has("exponent", "k_c", "k_phi"):
        z = np.linspace(0, DEEPEST, 121)[1:]
        sink.plot(z * 1e3, soil.pressure(z, width) / 1e3, **style)
    if soil.has("cohesion", "friction_angle", "shear_modulus"):
        j = np.linspace(0, FARTHEST, 201)
        shear.plot(j * 1e3, soil.shear(pressure, j) / 1e3, **style)


def _finish(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(color="#e4e4e4", lw=0.6)
    ax.set_xlim(left=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
