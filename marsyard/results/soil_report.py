"""Soil in reports and on the terminal: parameters, model, ruts and wheels.

Means per wheel are over the last third of the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from pydantic import BaseModel

from marsyard.drawing.page import headed, joined, number, pairs, paragraph, quantity, soft, table
from marsyard.errors import InputError
from marsyard.ground.gravity_scaling import at_gravity
from marsyard.ground.soil import NUMBERS, Soil, changed_numbers, load_soil, read_soil
from marsyard.interaction import about
from marsyard.interaction.soil_columns.options import Columns
from marsyard.interaction.soil_contact.options import SoilContactOptions
from marsyard.results.wheel_order import in_reading_order
from marsyard.scenario.schema import Interaction, Scenario
from marsyard.scenario.soil import TerrainGround, WheelLaw
from marsyard.units import UNITS

if TYPE_CHECKING:
    from rich.table import Table

    from marsyard.results.ground_file import Ground

_NAMES = {
    "exponent": "exponent n",
    "k_c": "cohesive modulus k_c",
    "k_phi": "frictional modulus k_φ",
    "cohesion": "cohesion c",
    "friction_angle": "friction angle φ",
    "shear_modulus": "shear modulus K",
    "shear_modulus_lateral": "shear modulus across K",
    "density": "density ρ",
    "unloading_stiffness": "unloading stiffness k_u",
    "repose_angle": "angle of repose",
    "shear_layer": "shear layer",
    "damping": "damping R",
    "exponent_slip": "slip exponent n₁",
    "exponent_side": "side slip exponent n₂",
    "reece_kc": "Reece's k'_c",
    "reece_kphi": "Reece's k'_φ",
}


# --- means per wheel


@dataclass(frozen=True)
class WheelMean:
    """Means of a wheel over the last third of a run; NaN where nothing is known."""

    wheel: str
    slip: float
    sinkage: float  # [m]
    pull: float  # [N]
    load: float  # [N]
    torque: float  # [N·m]


def wheel_means(ds: xr.Dataset) -> list[WheelMean]:
    """A row per wheel that meets soil, front to rear; empty where there is none."""
    if "sinkage" not in ds or not ds.sizes.get("wheel", 0) or not ds.sizes["time"]:
        return []
    ds = in_reading_order(ds)
    time = ds["time"].values
    late = time >= time[0] + (time[-1] - time[0]) * 2 / 3 - 1e-9

    def mean(name: str) -> np.ndarray:
        if name not in ds:
            return np.full(ds.sizes["wheel"], math.nan)
        values = ds[name].transpose("time", "wheel").values[late]
        known = np.isfinite(values)
        count = known.sum(axis=0)
        total = np.where(known, values, 0.0).sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), math.nan)

    columns = ("slip_ratio", "sinkage", "drawbar_pull", "wheel_load", "driving_torque")
    rows = zip(*(mean(name) for name in columns), strict=True)
    wheels = [str(w) for w in ds["wheel"].values]
    return [WheelMean(w, *map(float, row)) for w, row in zip(wheels, rows, strict=True)]


_HEADS = ("slip [%]", "sinkage [mm]", "pull [N]", "load [N]", "pull/load", "torque [N·m]")


def _cells(row: WheelMean) -> list[str]:
    ratio = row.pull / row.load if abs(row.load) > 1e-9 else math.nan
    values = (
        (100 * row.slip, 1), (1000 * row.sinkage, 1), (row.pull, 1), (row.load, 1), (ratio, 3),
        (row.torque, 2),
    )  # fmt: skip
    return [f"{v:.{d}f}".replace("-", "−") if math.isfinite(v) else "–" for v, d in values]


def _total(rows: list[WheelMean]) -> WheelMean:
    """Mean slip and sinkage, sum of forces."""

    def all_of(name: str) -> np.ndarray:
        values = np.array([getattr(r, name) for r in rows])
        return values[np.isfinite(values)]

    slip, sinkage = (
        float(v.mean()) if (v := all_of(n)).size else math.nan for n in ("slip", "sinkage")
    )
    return WheelMean("all", slip, sinkage, *(float(all_of(n).sum()) for n in _SUMS))


_SUMS = ("pull", "load", "torque")


def wheel_table(ds: xr.Dataset) -> Table | None:
    """The means as a compact table for the terminal; None for runs without soil."""
    rows = wheel_means(ds)
    if not rows:
        return None
    from rich.table import Table

    table = Table(title="Wheels on soil, mean of the last third", title_justify="left", box=None)
    table.add_column("wheel")
    for head in _HEADS:
        table.add_column(head.replace("[", r"\["), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.wheel, *_cells(row))
    if len(rows) > 1:
        table.add_section()
        table.add_row("all", *_cells(_total(rows)), style="bold")
    return table


# --- the section of the report


def soil_section(ds: xr.Dataset, scenario: Scenario, ground: Ground | None) -> str:
    """All about soil, as HTML; empty for runs without."""
    found = [g for g in scenario.ground if isinstance(g, TerrainGround)]
    if not found:
        return ""
    part = found[0]
    blocks = [
        _wheels(ds), headed("Ground at the end", pairs(_ground_rows(ds, part, ground))),
    ]  # fmt: skip
    if ground is not None and (acted := acted_rows(ground)):
        blocks.append(headed("Laws and the bodies they act on", pairs(acted)))
    blocks.append(headed("Soil model", pairs(law_rows(scenario.interaction))))
    if scenario.interaction.wheel is not None:
        blocks.append(headed("Wheel model", pairs(wheel_rows(scenario.interaction.wheel))))
    for index, given in enumerate(_given_soils(part, ground, scenario.gravity)):
        blocks.append(_soil(given, index))
    return joined(*blocks)


def _wheels(ds: xr.Dataset) -> str:
    rows = wheel_means(ds)
    if not rows:
        return ""
    shown = [*rows, _total(rows)] if len(rows) > 1 else rows
    means = table(("wheel", *_HEADS), [(r.wheel, *_cells(r)) for r in shown], id="wheels")
    note = paragraph(
        "For all wheels, slip and sinkage are means; forces and torques are sums. Pull is the soil "
        "force along the heading and the slope of the ground; load is the upward force.",
        "soft",
    )
    return headed("Wheels, mean of the last third of the run", joined(means, note))


def _ground_rows(
    ds: xr.Dataset, part: TerrainGround, ground: Ground | None
) -> list[tuple[str, str]]:
    rows = [("grid spacing", quantity(part.spacing, "m"))]
    if ground is None:
        return rows
    sunk, risen = ground.extremes()
    below, above = ground.volumes()
    rows += [
        ("nodes under a wheel at the end", _nodes(ground)),
        ("nodes touched", f"{int(ground.touched.sum()):,}".replace(",", " ")),
        ("deepest rut", quantity(-1000 * sunk, "mm", 3)),
        ("highest berm", quantity(1000 * risen, "mm", 3)),
        ("volume below and above the undisturbed ground",
         f"{quantity(1000 * below, 'L', 3)} and {quantity(1000 * above, 'L', 3)}"),
    ]  # fmt: skip
    if "displaced_volume" in ds and np.isfinite(ds["displaced_volume"].values[-1]):
        moved = 1000 * float(ds["displaced_volume"].values[-1])
        rows.append(
            (
                "total displaced volume (repeated displacement counted each time)",
                quantity(moved, "L", 3),
            )
        )
    if ground.soils:
        rows.append(("soils", ", ".join(ground.soils)))
    return rows


def _nodes(ground: Ground) -> str:
    """Fewest to most nodes in contact per wheel."""
    data = ground.data
    loaded = data["stress_normal"].values > 0
    wheels = np.flatnonzero(np.abs(data["body_axle"].values).sum(axis=1) > 0)
    owner = data["stress_body"].values
    counts = [int((loaded & (owner == b)).sum()) for b in wheels]
    if not counts:
        return "no wheel"
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def acted_rows(ground: Ground) -> list[tuple[str, str]]:
    """What the laws on a ground say of themselves, and under which bodies they act."""
    return [
        (label, value if isinstance(value, str) else quantity(value, unit))
        for _, rows in ground.laws
        for label, value, unit in rows
    ]


def wheel_rows(wheel: WheelLaw) -> list[tuple[str, str]]:
    """A wheel model, its wheels and its options, whichever it has."""
    rows = [
        ("law", about.laws(about.WHEEL)[wheel.model].title),
        ("wheels", "all" if wheel.wheels is None else ", ".join(wheel.wheels)),
    ]
    for name, value in wheel:
        if name not in ("model", "wheels") and (said := _option(value) or _UNSET.get(name)):
            rows.append((name.replace("_", " "), said))
    return rows


#: what options stand for that are not set
_UNSET = {"exit": "each wheel's own"}


def _option(value: Any) -> str:
    """An option in words; empty for what is not set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, BaseModel | Mapping):
        said = ((name.replace("_", " "), _option(each)) for name, each in dict(value).items())
        return ", ".join(f"{name} {each}" for name, each in said if each)
    return str(value)


def law_rows(interaction: Interaction) -> list[tuple[str, str]]:
    """The options of the soil's law in words."""
    law, options = interaction.soil.model, interaction.options(SoilContactOptions)
    if law == "columns":
        return _column_rows(interaction)
    if law != "scm":
        return [("law", about.laws(about.SOIL)[law].title)]
    original = (
        options.pressure == "bekker" and options.shear == "coulomb"
        and options.unloading == "none" and not options.slip_transport
    )  # fmt: skip
    changed = [
        text
        for here, text in (
            (options.pressure == "reece", "Reece's pressure"),
            (options.shear == "janosi", "Janosi-Hanamoto shear"),
            (options.unloading == "elastic", "elastic unloading"),
            (options.slip_transport, "slip sinkage"),
        )
        if here
    ]
    name = "soil contact model of Krenn and Hirzinger 2008"
    name += ", original form" if original else " with " + ", ".join(changed)
    pressure = {
        "bekker": "Bekker, p = (k_c/b + k_φ) zⁿ",
        "reece": "Reece, p = (c k'_c + γ b k'_φ)(z/b)ⁿ",
    }
    shear = {
        "janosi": "Janosi-Hanamoto, τ = (c + p tan φ)(1 − exp(−j/K))",
        "coulomb": f"Coulomb, full strength after {quantity(1000 * options.stick, 'mm')} of slip",
    }
    unloading = {
        "elastic": f"elastic, {number(options.unloading_stiffness)} Pa/m where the soil has no "
        f"value",
        "none": "instantaneous, no rebound",
    }
    flow = "none: ruts without berms"
    if options.flow:
        flow = f"each {number(options.flow_travel)} of the spacing a wheel moves, laid down around "
        flow += (
            f"the body, cosᵐ α with m = {number(options.deposit_exponent)}, slides to the angle "
        )
        flow += "of repose"
    width = "each body's own"
    if options.width is not None:
        width = f"{quantity(options.width, 'm')} for all bodies"
    return [
        ("law", name),
        ("normal stress", pressure[options.pressure]),
        ("width b", width),
        ("shear stress", shear[options.shear]),
        ("unloading", unloading[options.unloading]),
        ("damping", quantity(options.damping, "Pa·s/m") if options.damping else "as the soil's"),
        ("flow of displaced soil", flow),
        *_tread_rows(options),
    ]


def _tread_rows(options: SoilContactOptions) -> list[tuple[str, str]]:
    """What wheels make of the soil under them, alike for all laws of bodies on nodes."""
    strength = "as the soil's, regardless of the surface"
    if options.interface:
        strength = "soil-on-surface between grousers, soil-on-soil where the grousers hold soil"
    sinks = ["grousers dig and carry soil"] if options.slip_transport else []
    if options.slip_sinkage != "none":
        by = {"lyasko": "Lyasko 2010", "exponent": "by the soil's exponent_slip"}
        sinks += [f"slip softens the soil ({by[options.slip_sinkage]})"]
    return [
        ("strength under wheels", strength),
        ("slip sinkage", ", ".join(sinks) or "no"),
        ("side walls of wheels", "meet soil (Hegedus 1960)" if options.side_walls else "meet none"),
    ]


def _column_rows(interaction: Interaction) -> list[tuple[str, str]]:
    """Those of soil in columns."""
    options, own = interaction.options(SoilContactOptions), interaction.options(Columns)
    shear = "Janosi-Hanamoto" if options.shear == "janosi" else "Coulomb"
    height = f"{number(own.influence)} widths of the body"
    if own.depth is not None:
        height += f", at most {quantity(own.depth, 'm')}"
    return [
        ("law", "granular soil in columns, Grand et al. 2001"),
        ("normal stress", "triaxial curve up to the bearing capacity"),
        ("active height of a column", height),
        ("shear stress", shear),
        ("flow", f"ẍ = −ν ẋ + g sin α, ν = {number(own.viscosity)} 1/s, ends at "
                 f"{number(own.rest)} of the critical slope"),
        ("columns", "planar: rows along x" if own.planar else "3D"),
        *_tread_rows(options),
    ]  # fmt: skip


@dataclass(frozen=True)
class _Given:
    """A soil as it was given and as it was used at the run's gravity, its entries in the soil's
    file and what the scenario changed."""

    soil: Soil
    used: Soil
    entries: Mapping[str, Any]
    changed: frozenset[str]


def _given_soils(part: TerrainGround, ground: Ground | None, gravity: float) -> list[_Given]:
    """The soils of the ground, the scenario's own first."""
    names: list[Any] = list(ground.soils) if ground is not None else []
    if part.soil is not None:
        names = [part.soil, *names[1:]]
    out = []
    for name in names:
        own = part.soils.get(name) if isinstance(name, str) else None
        try:
            given = read_soil(name if own is None else own)
            soil = load_soil(given)
            used = at_gravity(soil, gravity, part.gravity_scaling)
        except InputError:
            continue
        if own is not None:
            soil = replace(soil, name=name)
        entries = given.get("definition", {}).get("numbers") or {}
        out.append(_Given(soil, used, entries, frozenset(changed_numbers(given))))
    return out


def assumed_numbers(scenario: Scenario, ground: Ground | None) -> list[str]:
    """Numbers of the soils that their files mark as assumed, and the scenario does not set."""
    found = [g for g in scenario.ground if isinstance(g, TerrainGround)]
    if not found:
        return []
    out = []
    for given in _given_soils(found[0], ground, scenario.gravity):
        names = [
            _NAMES[name]
            for name, entry in given.entries.items()
            if name in _NAMES and name not in given.changed and isinstance(entry, Mapping)
            and entry.get("provenance") == "assumed"
        ]  # fmt: skip
        if names:
            out.append(f"{', '.join(names)} of soil {given.soil.name}")
    return out


def _soil(given: _Given, index: int) -> str:
    soil, rows = given.soil, []
    for name, kind in NUMBERS.items():
        value = getattr(soil, name)
        if value is None or (
            value == 0 and name not in given.entries and name not in given.changed
        ):
            continue
        entry = given.entries.get(name)
        entry = entry if isinstance(entry, Mapping) else {}
        whence, source = str(entry.get("provenance", "")), str(entry.get("source", ""))
        if name in given.changed:
            whence, source = "scenario", "set in the scenario"
        used = getattr(given.used, name)
        if used != value:
            source = f"{_value(value, kind.dimension)} at {soil.measured_at:g} m/s²; {source}"
            value, whence = used, f"{whence}, scaled by gravity".removeprefix(", ")
        rows.append((_NAMES[name], _value(value, kind.dimension), whence or "–", soft(source)))
    title = f": {soil.title}" if soil.title else ""
    at = "holds at any gravity" if soil.measured_at is None else (
        f"measured at {quantity(soil.measured_at, 'm/s²')}"
    )  # fmt: skip
    heads = ("number", "value", "provenance", "source")
    numbers = table(heads, rows, numeric=(1,), id=f"soil-{index}")
    return headed(f"Soil {soil.name}{title}", joined(paragraph(f"Numbers {at}.", "soft"), numbers))


def _value(value: float, dimension: str) -> str:
    """A number of a soil with a handy unit."""
    if dimension == "angle":
        return quantity(math.degrees(value), "°", 4)
    if dimension == "length":
        return quantity(1000 * value, "mm", 4)
    unit = next(iter(UNITS.get(dimension, {"": 1.0})))
    return quantity(value, unit, 5)
