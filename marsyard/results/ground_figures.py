"""Figures of the soil after a run: map of the ruts, cross sections, stresses, energy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from marsyard.drawing.page import quantity
from marsyard.drawing.sheet import FONT, legend, sheet
from marsyard.results.ground_file import Ground
from marsyard.results.ground_section import draw_section, find_section
from marsyard.results.ground_stress import draw_footprints, draw_stress, stress_span
from marsyard.results.rut_map import draw_rut_map, loaded_wheels
from marsyard.results.terrain_figures import INK
from marsyard.scenario.report_schema import GroundFigures, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from marsyard.ground import Surface


def draw_all(
    ds: xr.Dataset, ground: Ground, wanted: GroundFigures, surfaces: Sequence[Surface] = ()
) -> Iterator[tuple[str, str, Canvas]]:
    """Title, caption and figure of all that is wanted and can be drawn."""
    sections: list[Section] = list(wanted.sections)
    if not sections and "section" in wanted.show:
        automatic = find_section(ds, ground)
        sections = [automatic] if automatic else []
    if "map" in wanted.show and ground.touched.any():
        about = (
            "The ground at the end; blue: lower, red: higher than before. Lines: paths of the "
            "wheel centres; circle and square: start and end of the base."
        )
        yield "Rut map", about, draw_rut_map(ground, ds, wanted.window, sections, surfaces)
    if "section" in wanted.show:
        for number, section in enumerate(sections, 1):
            title = section.title or ("Cross section" + (f" {number}" if len(sections) > 1 else ""))
            about = "Undisturbed and final surface along the line in the map; bars: wheel widths."
            yield title, about, draw_section(ground, ds, section, title)
    if "stress" in wanted.show and _any(ds, "stress_normal") and _pressed(ds):
        start, end = stress_span(ds, wanted)
        about = f"Mean over {start:.4g} to {end:.4g} s."
        yield "Stress under the wheels", about, draw_stress(ds, start, end)
    if "footprint" in wanted.show and loaded_wheels(ground):
        about = (
            f"At t = {float(ground.data.attrs.get('time_end', math.nan)):.4g} s. Colour: normal "
            "stress; arrows: shear stress on the wheel. Seen from above, heading upwards."
        )
        yield "Footprints", about, draw_footprints(ground)
    if "energy" in wanted.show and _any(ds, "energy_soil"):
        about = (
            "Work of the motors since the start and its use. The rest is work neither work on the "
            "soil nor stored in the robot's motion: dampers, friction, contacts with hard ground."
        )
        yield "Energy on soil", about, draw_energy(ds)


def _any(ds: xr.Dataset, name: str) -> bool:
    return name in ds and bool(np.isfinite(ds[name].values).any())


def _pressed(ds: xr.Dataset) -> bool:
    """Whether any wheel ever met soil."""
    return bool(np.nanmax(np.abs(ds["stress_normal"].values)) > 0)


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
        "motors": ("motor input", INK, 2.0),
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
    panels[1].set_ylabel("work on the soil [J]", fontsize=FONT)
    panels[1].set_xlabel("time [s]", fontsize=FONT)
    for ax in panels:
        legend(ax)
    if time[-1] > time[0]:
        panels[-1].set_xlim(time[0], time[-1])
    return canvas
