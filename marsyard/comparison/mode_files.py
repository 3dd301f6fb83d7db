"""Files of a comparison of modes: compare.csv, compare.nc, two figures and the page."""

from __future__ import annotations

import csv
import math
import textwrap
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.comparison.mode_answer import ModeComparison
from marsyard.comparison.mode_measures import Row
from marsyard.drawing.page import capital, headed, joined, number, pairs, table, tiles
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import FIGURES, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FONT, WIDTH, FigureFile, legend, save_png, sheet
from marsyard.results import save
from marsyard.results.report import description_of, versions
from marsyard.results.report_parameters import parameters_section
from marsyard.scenario.packing import write_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

#: colour of a mode by its place in the comparison
COLOURS = ("#2b5fc0", "#d55e00", "#2f8f4e", "#8e5bb5", "#b8860b", "#c2568a")
_MARKS = ("o", "s", "^", "D", "v", "P")
#: what a metre costs, from the bottom up: field, name, colour
PARTS = (
    ("lifting", "lifting", "#2b5fc0"),
    ("compaction", "soil compaction", "#d55e00"),
    ("shear", "soil shear and slip", "#b8860b"),
    ("soil_rest", "other soil work", "#c9a77c"),
    ("rest", "friction, damping, other", "#8e5bb5"),
    ("braking", "returned to motors", "#9aa3ab"),
    ("copper", "copper loss", "#444444"),
    ("gear", "gear loss", "#7d8790"),
)
#: columns of the tables: field, heading, factor from SI, digits
COLUMNS = (
    ("slope", "slope [°]", 180 / math.pi, 4),
    ("speed", "speed [mm/s]", 1e3, 3),
    ("slip", "slip [%]", 100.0, 3),
    ("mechanical", "mechanical [J/m]", 1.0, 4),
    ("electrical", "electrical [J/m]", 1.0, 4),
    ("cost_of_transport", "cost of transport", 1.0, 3),
    ("power", "mean power [W]", 1.0, 3),
    ("sinkage", "sinkage [mm]", 1e3, 3),
    ("margin", "stability margin [mm]", 1e3, 3),
)
_UNITS = {
    "slope": "rad", "speed": "m/s", "still": "m/s", "net_displacement": "m", "power": "W",
    "margin": "m", "sinkage": "m", "mechanical": "J/m", "electrical": "J/m", "wall_time": "s",
    **{name: "J/m" for name, _, _ in PARTS},
}  # fmt: skip


def write_modes(folder: Path, result: ModeComparison) -> Path:
    """Write all files of a comparison of modes; the path of its page."""
    save(dataset(result), folder / "compare.nc")
    write_scenario(result.scenario, folder / "scenario.yaml")
    write_table(folder / "compare.csv", result)
    figures = [
        FigureFile(
            "Modes over slope", result.words,
            save_png(draw_modes(result), folder / "figures" / "01-modes.png", 130),
        ),
        FigureFile(
            "Energy budget", "Shares of the energy per metre, on slopes that are climbed.",
            save_png(draw_parts(result), folder / "figures" / "02-parts.png", 130),
        ),
    ]  # fmt: skip
    return _page(folder, result, figures)


# --- data


def dataset(result: ModeComparison) -> xr.Dataset:
    """The numbers over mode and slope [°]; NaN where a mode was not run."""
    modes = [v.name for v in result.modes]
    slopes = sorted({round(math.degrees(r.slope), 6) for r in result.rows})
    place = {s: k for k, s in enumerate(slopes)}
    ds = xr.Dataset(
        coords={
            "mode": modes,
            "slope": ("slope", slopes, {"units": "deg", "long_name": "slope"}),
        }
    )
    for f in fields(Row):
        if f.name in ("mode", "slope", "why"):
            continue
        values = np.full((len(modes), len(slopes)), np.nan)
        for row in result.rows:
            at = modes.index(row.mode), place[round(math.degrees(row.slope), 6)]
            values[at] = float(getattr(row, f.name))
        about = {"units": _UNITS.get(f.name, "1"), "long_name": f.name.replace("_", " ")}
        ds[f.name] = (("mode", "slope"), values, about)
    for name in ("climbs", "fails"):
        found = [getattr(limit, name) for limit in result.limits]
        values = np.array([math.nan if v is None else math.degrees(v) for v in found])
        ds[f"limit_{name}"] = ("mode", values, {"units": "deg"})
    ds.attrs = {"title": result.scenario.title, "words": result.words, "basis": result.basis}
    return ds


def write_table(path: Path, result: ModeComparison) -> None:
    """A row per run, SI, slopes in degrees too."""
    names = [f.name for f in fields(Row)]
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        units = [f"{n}_{_UNITS[n].replace('/', '_per_')}" if n in _UNITS else n for n in names]
        out.writerow(["slope_deg", *units])
        for row in result.rows:
            values = [getattr(row, n) for n in names]
            out.writerow([f"{math.degrees(row.slope):.6g}", *(_plain(v) for v in values)])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return str(value)


def as_dict(result: ModeComparison) -> dict[str, Any]:
    """Everything, ready for JSON; angles in degrees where they are called so, the rest SI."""

    def deg(value: float | None) -> float | None:
        return None if value is None else math.degrees(value)

    def clean(row: Row) -> dict[str, Any]:
        values = {f.name: getattr(row, f.name) for f in fields(Row)}
        known = {
            k: None if isinstance(v, float) and not math.isfinite(v) else v
            for k, v in values.items()
        }
        return {**known, "slope_deg": math.degrees(row.slope)}

    return {
        "words": result.words,
        "basis": result.basis,
        "limits": {
            m.mode: {"climbs_deg": deg(m.climbs), "fails_deg": deg(m.fails)} for m in result.limits
        },
        "crossings_deg": [deg(s) for s in result.crossings],
        "cheapest": [
            {"mode": c.mode, "start_deg": deg(c.start), "end_deg": deg(c.end)}
            for c in result.cheapest
        ],
        "rows": [clean(r) for r in result.rows],
    }


# --- figures


def draw_modes(result: ModeComparison) -> Canvas:
    """Energy per metre, speed and slip against the slope, a curve per mode."""
    canvas, panels = sheet(_title(result), [2.9, 1.7, 1.7])
    for k, variant in enumerate(result.modes):
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)], "marker": _MARKS[k % len(_MARKS)], "markersize": 4,
            "linewidth": 1.6,
        }  # fmt: skip
        rows = [r for r in result.of(variant.name) if r.climbs]
        x = [math.degrees(r.slope) for r in rows]
        cost = [getattr(r, result.basis) for r in rows]
        panels[0].plot(x, cost, label=variant.name, **look)
        if result.basis == "electrical":
            thin = {**look, "linewidth": 0.9, "markersize": 2.5, "linestyle": (0, (4, 1.6))}
            own = [r.mechanical for r in rows]
            panels[0].plot(x, own, label=f"{variant.name}, mechanical", **thin)
        panels[1].plot(x, [1e3 * r.speed for r in rows], label=variant.name, **look)
        panels[2].plot(x, [100 * r.slip for r in rows], label=variant.name, **look)
        lost = [r for r in result.of(variant.name) if not r.climbs and math.isfinite(r.slip)]
        shares = [100 * min(r.slip, 1.2) for r in lost]
        at = [math.degrees(r.slope) for r in lost]
        panels[2].plot(at, shares, "x", color=look["color"], markersize=5)
        _mark_limit(panels, result, variant.name, look["color"])
    _mark_crossings(panels[0], result)
    panels[0].set_yscale("log")
    panels[0].set_ylabel(f"{result.basis} energy\nper metre [J/m]", fontsize=FONT)
    panels[1].set_ylabel("speed up the\nslope [mm/s]", fontsize=FONT)
    panels[2].set_ylabel("slip [%]", fontsize=FONT)
    panels[2].set_xlabel("slope [°]    (×: does not climb; dotted: steepest slope climbed)",
                         fontsize=FONT)  # fmt: skip
    from matplotlib.ticker import FuncFormatter, NullFormatter

    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    legend(panels[0])
    return canvas


def _title(result: ModeComparison) -> str:
    room = round(WIDTH * 9.5)
    lines = textwrap.wrap(result.words[:1].upper() + result.words[1:], room)
    return "\n".join(lines[:2]) + (" …" if len(lines) > 2 else "")


def _mark_limit(panels: Any, result: ModeComparison, mode: str, colour: str) -> None:
    limit = next(m for m in result.limits if m.mode == mode)
    if limit.climbs is None or limit.fails is None:
        return
    at = math.degrees(limit.climbs)
    for ax in panels:
        ax.axvline(at, color=colour, linewidth=0.9, linestyle=(0, (2, 2)))
    middle = panels[1]
    middle.text(at, 0.97, f"{at:.1f}° ", transform=middle.get_xaxis_transform(), color=colour,
                fontsize=FONT - 1, ha="right", va="top")  # fmt: skip


def _mark_crossings(ax: Any, result: ModeComparison) -> None:
    for slope in result.crossings:
        name = next(c.mode for c in result.cheapest if abs(c.start - slope) < 1e-12)
        rows = [r for r in result.of(name) if r.climbs]
        cost = np.log([getattr(r, result.basis) for r in rows])
        y = float(np.exp(np.interp(slope, [r.slope for r in rows], cost)))
        x = math.degrees(slope)
        ax.plot([x], [y], "o", markersize=11, markerfacecolor="none", markeredgecolor="#222222")
        ax.annotate(f"equal at {x:.1f}°", (x, y), xytext=(12, -14), textcoords="offset points",
                    fontsize=FONT - 1)  # fmt: skip


def draw_parts(result: ModeComparison) -> Canvas:
    """Where the energy of a metre goes, as shares, stacked; a panel per mode."""
    shown = [v for v in result.modes if any(r.climbs for r in result.of(v.name))]
    title = f"Budget of the {result.basis} energy per metre"
    canvas, panels = sheet(title, [2.2] * max(len(shown), 1))
    for ax, variant in zip(panels, shown, strict=False):
        rows = [r for r in result.of(variant.name) if r.climbs]
        x = [math.degrees(r.slope) for r in rows]
        parts = [p for p in PARTS if p[0] != "braking" or result.basis == "mechanical"]
        stack = np.array([[max(_known(getattr(r, p[0])), 0.0) for r in rows] for p in parts])
        whole = np.maximum(stack.sum(axis=0), 1e-12)
        base = np.zeros(len(rows))
        for (_, text, colour), values in zip(parts, 100 * stack / whole, strict=True):
            if np.any(values > 0.1):
                ax.fill_between(x, base, base + values, color=colour, linewidth=0, label=text)
            base = base + values
        ax.set_ylim(0, 100)
        ax.set_ylabel(f"{variant.name}\n[% of energy]", fontsize=FONT)
        legend(ax)
    panels[-1].set_xlabel("slope [°]", fontsize=FONT)
    return canvas


def _known(value: float) -> float:
    return value if math.isfinite(value) else 0.0


# --- the page


def table_of(result: ModeComparison, mode: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a mode's table, as texts; columns without a number are left out."""
    rows = result.of(mode)
    columns = [c for c in COLUMNS if any(math.isfinite(getattr(r, c[0])) for r in rows)]
    cells = [
        [*(_cell(r, name, f, digits) for name, _, f, digits in columns),
         "climbs" if r.climbs else r.why]
        for r in rows
    ]  # fmt: skip
    return [*(c[1] for c in columns), ""], cells


def _cell(row: Row, name: str, factor: float, digits: int) -> str:
    """A number; what a metre costs is not said of a mode that does not climb."""
    if not row.climbs and name in ("mechanical", "electrical", "cost_of_transport"):
        return "–"
    value = factor * getattr(row, name)
    return number(0.0 if abs(value) < 1e-4 else value, digits)


def _page(folder: Path, result: ModeComparison, figures: list[FigureFile]) -> Path:
    cards = [(m.mode, "none" if m.climbs is None else f"{math.degrees(m.climbs):.1f}°")
             for m in result.limits]  # fmt: skip
    cards += [(f"{result.basis} cost equal", f"{math.degrees(s):.1f}°") for s in result.crossings]
    runs = joined(*(headed(v.name, table(*table_of(result, v.name), 0)) for v in result.modes))
    rules = pairs([
        ("climbs if", f"in the second half of the run it reaches "
                      f"{100 * result.info['least']:.0f} % "
         "of its planned speed, does not tip over and completes the run"),
        ("steepest slope known to", f"{math.degrees(result.info['tolerance']):.2g}°"),
        *((f"mode {v.name}", _mode_text(v.mode, {**v.fields, **v.settings}))
          for v in result.modes),
        ("time", f"{result.info['elapsed']:.0f} s for {len(result.rows)} runs, "
         f"{result.info['jobs']} at a time"),
    ])  # fmt: skip
    key = key_plot(result)
    page = ReportPage(
        answer=capital(result.words),
        title=f"Modes of locomotion: {result.scenario.title or result.name}",
        name=str(result.info.get("scenario") or ""),
        kind="compare modes",
        key_plots=[key] if key else [],
        parts=[
            Part("About this comparison", joined(description_of(result.scenario), tiles(cards))),
            Part("Runs", runs, str(len(result.rows))),
            FIGURES,
            Part("What was compared", rules),
            Part("The scenario", parameters_section(result.scenario, result.info)),
            Part("Versions", pairs(versions(result.info))),
        ],
        figures=figures,
    )
    return write_report_page(folder, page)


def key_plot(result: ModeComparison) -> PagePlot | None:
    """Energy per metre, speed and slip over the slope, a curve per mode."""
    panels = []
    for label, name, factor in (
        (f"{result.basis} energy per metre [J/m]", result.basis, 1.0),
        ("speed up the slope [mm/s]", "speed", 1e3),
        ("slip [%]", "slip", 100.0),
    ):
        curves = []
        for k, variant in enumerate(result.modes):
            rows = [r for r in result.of(variant.name) if r.climbs]
            x = np.array([math.degrees(r.slope) for r in rows])
            y = np.array([factor * getattr(r, name) for r in rows])
            curves.append(PageCurve(variant.name, x, y, COLOURS[k % len(COLOURS)], dots=True))
        panels.append(PagePanel(label, tuple(curves), logarithmic=name == result.basis))
    return plot_over("Modes against the slope", "slope [°]", panels)


def _mode_text(mode: str, settings: Mapping[str, Any]) -> str:
    return ", ".join([mode, *(f"{k} {v}" for k, v in settings.items())])
