"""Files of an identification: soil.yaml, fit.json, points.csv, figures, report.html.

soil.yaml is read by `load_soil` at once. Identified numbers are marked "derived" and name the data
and the model, with the 95 % interval as `range`; numbers the fit did not touch keep the mark and
source of the soil it started from. Coefficients of the model stand under `extra`, where a wheel
model finds them; `exit_value` there is for reading, as the exit rule belongs to the wheel.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard import library
from marsyard.analysis.fit import Fit, Found
from marsyard.analysis.fit_covariance import soil_covariance
from marsyard.analysis.parameters import SCM, find, has_exit, needs
from marsyard.analysis.wheel_data import QUANTITIES
from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page import capital, items, number, pairs, picture, table
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import FIGURES, WARNING, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FONT, FigureFile, plain, save_png, unit_text
from marsyard.files.replacing import replacing
from marsyard.ground.soil import NUMBERS
from marsyard.interaction.wheel_models import WheelModel
from marsyard.units import UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: more groups of points than this are drawn without curves
CURVES = 10


def save_fit(fit: Fit, folder: str | Path, tell: Callable[[str], None] = lambda text: None) -> Path:
    """Write all files of an identification into `folder`; returns the path of report.html."""
    folder = Path(folder)
    write_soil(fit, folder / "soil.yaml")
    _write(folder / "fit.json", json.dumps(fit.as_dict(), indent=2, ensure_ascii=False) + "\n")
    _write(folder / "points.csv", _points(fit))
    tell("drawing the figures …")
    return _report(fit, folder, save_figures(fit, folder))


def _write(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


# --- the soil


def write_soil(fit: Fit, path: Path) -> Path:
    """The fitted soil as a file for `load_soil`."""
    import yaml

    data = {
        "title": f"Identified from {fit.data.name} with {fit.model}",
        "description": _description(fit),
        "numbers": _numbers(fit),
        "extra": _extra(fit),
        "covariance": soil_covariance(fit.covariance, [f.parameter for f in fit.found]),
        "sources": [f"{fit.data.name}, {len(fit.data)} rows, marsyard identify"],
    }
    data = {key: value for key, value in data.items() if value or key == "numbers"}
    text = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
    )
    _write(path, text)
    return path


def _description(fit: Fit) -> str:
    after = ", ".join(
        f"{QUANTITIES[q][3]} {value * QUANTITIES[q][1]:.3g} {QUANTITIES[q][2]}"
        for q, value in fit.after.items()
    )
    text = f"Root mean square misfit: {after}. Valid for the wheels, loads and slips of the data."
    text += f" Use it with {use(fit)}."
    return " ".join([text, *(w[0].upper() + w[1:] + "." for w in fit.warnings)])


#: what is found are numbers of the wheel and the soil together
_TREAD = "robot.wheel.surface: {material: grit}"


def use(fit: Fit) -> str:
    """What stands beside the soil in a scenario: the model and the tread it was found with."""
    own = "slip_sinkage: exponent, slip_transport: false"
    if fit.model == SCM:
        return f"interaction.soil: {{model: scm, {own}}} and {_TREAD}"
    wheels = [m.wheel for m in fit.models if isinstance(m, WheelModel)]
    wheel = wheels[0]
    text = f"interaction.wheel: {{model: {fit.model}"
    if has_exit(fit.model):
        text += f", exit: {{rule: {wheel.exit.rule}, value: {wheel.exit.value:.4g}}}"
        others = {w.lug_height: w.exit for w in wheels if w.exit != wheel.exit}
        for height, leave in others.items():
            text += f" (with lugs of {height * 1e3:g} mm {leave.rule}, {leave.value:.4g})"
    for name in ("shear_share", "lug_share"):
        if any(f.name == name for f in fit.found) or name in fit.fixed:
            text += f", {name}: {getattr(wheel, name):.4g}"
    if not needs(fit.model):
        return text + "}"
    return f"{text}}}, interaction.soil: {{{own}}} and {_TREAD}"


def _numbers(fit: Fit) -> dict[str, Any]:
    if not needs(fit.model):
        return {}
    known = _library_entries(fit.start_soil.name)
    set_by = {_field(fit, f.name): f for f in fit.found}
    fixed = {_field(fit, name) for name in fit.fixed}
    out: dict[str, Any] = {}
    for name, kind in NUMBERS.items():
        value = getattr(fit.soil, name)
        if value is None or (name in ("shear_layer", "damping") and value == 0):
            continue
        unit = next(iter(UNITS[kind.dimension]))
        entry: dict[str, Any] = {"value": float(value), "unit": unit}
        lumped = name == "k_c" and "k" in {*(f.name for f in fit.found), *fit.fixed}
        if name in set_by:
            entry |= _derived(fit, set_by[name])
        elif lumped:
            entry |= {"provenance": "derived", "source": "not separated from k_phi"}
        elif name in fixed:
            entry |= {"provenance": "assumed", "source": "fixed for the identification"}
        elif name in known:
            old = known[name]
            entry["provenance"] = old.get("provenance", "published")
            entry["source"] = f"not identified; that of {fit.start_soil.name}: {old.get('source')}"
        elif name in ("exponent_slip", "exponent_side") and value == 0:
            continue
        else:
            source = f"not identified; from the soil {fit.start_soil.name}"
            entry |= {"provenance": "assumed", "source": source}
        out[name] = entry
    return out


def _field(fit: Fit, name: str) -> str:
    """The soil's number behind a parameter; a lumped modulus goes to k_phi."""
    parameter = find(fit.model, name)
    if parameter.place != "soil":
        return ""
    return "k_phi" if parameter.field == "k" else parameter.field


def _library_entries(name: str) -> dict[str, Any]:
    if name not in library.names("soils"):
        return {}
    return library.read_yaml(library.path_of("soils", name)).get("numbers") or {}


def _derived(fit: Fit, f: Found) -> dict[str, Any]:
    what = f"identified from {fit.data.name} with {fit.model}"
    if f.at_bound:
        return {"provenance": "derived", "source": f"{what}; at its bound"}
    out: dict[str, Any] = {"provenance": "derived", "source": f"{what}; range: 95 % interval"}
    if f.low is not None and f.high is not None and math.isfinite(f.high - f.low):
        out["range"] = [float(f.low), float(f.high)]
    return out


def _extra(fit: Fit) -> dict[str, Any]:
    found = {f.name: f for f in fit.found}
    out: dict[str, Any] = {}
    for name, value in fit.soil.extra.items():
        entry: dict[str, Any] = {"value": float(value), "unit": ""}
        if name in found:
            entry |= _derived(fit, found[name])
        elif name in fit.fixed:
            entry |= {"provenance": "assumed", "source": "fixed for the identification"}
        else:
            entry |= {"provenance": "assumed", "source": f"that of {fit.start_soil.name}"}
        out[name] = entry
    for name in ("exit", "shear_share", "lug_share"):
        if name in found:
            rule = f", exit rule {fit.exit_rule}" if name == "exit" else ""
            key = "exit_value" if name == "exit" else name
            entry = {"value": float(found[name].value), "unit": "", **_derived(fit, found[name])}
            out[key] = {**entry, "source": entry["source"] + rule}
    return out


# --- the points


def _points(fit: Fit) -> str:
    """Operating points, measured, computed at start and fitted, SI."""
    data = fit.data
    columns = data.points()
    for q in data.quantities:
        columns[f"{q}_measured"] = data.measured[q]
        columns[f"{q}_start"] = fit.computed_start[q]
        columns[f"{q}_fitted"] = fit.computed[q]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if math.isnan(x) else f"{x:.9g}" for x in row])
    return text.getvalue()


# --- figures


def save_figures(fit: Fit, folder: Path) -> list[FigureFile]:
    """fit.png, residuals.png, correlation.png."""
    parts = [
        (
            "fit", "Measured and computed", draw_fit(fit),
            "Marks: measured. Solid: fitted. Dashed: with the start values."
            + (" Lines connect the runs of the rows." if fit.model == SCM else ""),
        ),
        (
            "residuals", "Computed minus measured", draw_residuals(fit),
            "Filled: fitted. Hollow: with the start values. Band: twice the fitted rms.",
        ),
    ]  # fmt: skip
    if len(fit.found) > 1:
        note = "Correlation between parameters; near ±1 the data cannot distinguish them."
        parts.append(("correlation", "Correlation", draw_correlation(fit), note))
    return [
        FigureFile(title, caption, save_png(canvas, folder / f"{name}.png", dpi=130))
        for name, title, canvas, caption in parts
    ]


def over_angle(fit: Fit) -> bool:
    """Whether the data go over slip angles at a few slips, rather than the other way round."""
    angles = np.unique(np.round(np.degrees(np.abs(fit.data.slip_angle))))
    slips = np.unique(np.round(fit.data.slip / 0.02))
    return len(angles) > max(len(slips), 3)


def load_groups(load: np.ndarray) -> np.ndarray:
    """Loads that belong together, int[n]: a new group begins where the next is a tenth more."""
    order = np.argsort(load)
    jumps = np.diff(load[order]) > 0.1 * load[order][:-1]
    out = np.zeros(len(load), dtype=int)
    out[order] = np.concatenate([[0], np.cumsum(jumps)])
    return out


def groups(fit: Fit) -> list[tuple[str, int, np.ndarray]]:
    """Points that belong to one curve: label, number of the wheel, rows.

    One of a wheel, a load and a slip angle (to the degree); of a slip where the curves go over it.
    """
    data, out = fit.data, []
    wheels = data.wheels()
    degrees = np.round(np.degrees(np.abs(data.slip_angle))).astype(int)
    across = over_angle(fit)
    keys = np.round(data.slip / 0.02) * 0.02 if across else degrees
    heavy = load_groups(data.load)
    for i, (size, rows) in enumerate(wheels):
        for key in np.unique(keys[rows]):
            for load in np.unique(heavy[rows & (keys == key)]):
                some = rows & (keys == key) & (heavy == load)
                words = []
                if len(wheels) > 1:
                    wide = f", b {size[1] * 1e3:g} mm" if np.ptp(data.width) > 0 else ""
                    words.append(f"r {size[0] * 1e3:g} mm{wide}, lugs {size[2] * 1e3:g} mm")
                if across:
                    words.append(f"slip {key:.2g}")
                elif degrees.any():
                    words.append(f"{key}°")
                if heavy.max() > 0:
                    words.append(f"{data.load[heavy == load].mean():.3g} N")
                out.append((", ".join(words), i, some))
    return out


def _canvas(width: float, height: float) -> Canvas:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def _panels(fit: Fit) -> tuple[Canvas, list[tuple[str, Axes]]]:
    names = fit.data.quantities
    canvas = _canvas(max(3.4 * len(names), 5.0), 3.5)
    over = "slip angle [°]" if over_angle(fit) else "slip"
    axes = canvas.subplots(1, len(names), squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        plain(ax)
        ax.yaxis.set_label_coords(-0.15, 0.5)
        ax.set_xlabel(over, fontsize=FONT)
        ax.set_ylabel(f"{QUANTITIES[name][3]} [{QUANTITIES[name][2]}]", fontsize=FONT)
    return canvas, list(zip(names, axes, strict=True))


def _colours(count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0.0, 0.85, max(count, 2)))


def draw_fit(fit: Fit) -> Canvas:
    """Measured points, curves before and after."""
    canvas, panels = _panels(fit)
    found = groups(fit)
    colours = _colours(len(found))
    for name, ax in panels:
        factor = QUANTITIES[name][1]
        for (label, wheel, rows), colour in zip(found, colours, strict=False):
            at, y = _abscissa(fit)[rows], factor * fit.data.measured[name][rows]
            ax.plot(at, y, ".", color=colour, ms=6, label=label)
            if not np.isfinite(y).any():
                continue
            if len(found) > CURVES:
                ax.plot(at, factor * fit.computed[name][rows], "x", color=colour, ms=4)
                continue
            for models, line, offset in (
                (fit.start_models, "--", fit.start_offset),
                (fit.models, "-", fit.offset),
            ):
                model, look = models[wheel], {"color": colour, "lw": 1.3}
                look["alpha"] = 0.5 if line == "--" else 1.0
                if isinstance(model, WheelModel):
                    x, values = _curve(fit, model, rows, name)
                    values = values + (offset if name == "sinkage" else 0.0)
                else:
                    computed = fit.computed_start if line == "--" else fit.computed
                    x, values = _through(at, computed[name][rows])
                ax.plot(x, factor * values, line, **look)
        _limit(ax, factor * fit.data.measured[name], factor * fit.computed[name])
    _say_lines(panels[0][1], len(found) > CURVES)
    if len(found) > 1:
        title = "slip angle" if found[0][0].endswith("°") else None
        columns = max(1, min(len(found), 60 // max(len(label) for label, *_ in found)))
        marks, labels = panels[0][1].get_legend_handles_labels()
        canvas.legend(marks, labels, loc="outside lower center", fontsize=FONT - 2, title=title,
                      title_fontsize=FONT - 2, ncols=columns)  # fmt: skip
    canvas.suptitle(f"{fit.data.name}: {fit.model}", fontsize=FONT + 1, fontweight="bold")
    return canvas


def _say_lines(ax: Axes, points_only: bool) -> None:
    """Beside the axes: which marks are measured, fitted and the start."""
    from matplotlib.lines import Line2D

    looks: list[tuple[str, dict[str, Any]]] = [("measured", {"marker": ".", "linestyle": "none"})]
    if points_only:
        looks.append(("fitted", {"marker": "x", "linestyle": "none"}))
    else:
        looks += [("fitted", {"linestyle": "-"}), ("start", {"linestyle": "--", "alpha": 0.5})]
    marks = [Line2D([], [], color="#444444", lw=1.3, label=text, **look) for text, look in looks]
    # a legend of its own: that of the groups is made from the labels of the axes
    ax.add_artist(ax.legend(handles=marks, fontsize=FONT - 2, frameon=False, loc="best"))


def _abscissa(fit: Fit) -> np.ndarray:
    """What the figures go over: slip, or the size of the slip angle [deg]."""
    return np.degrees(np.abs(fit.data.slip_angle)) if over_angle(fit) else fit.data.slip


def _through(at: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The computed points of a group in order: between them no run was made."""
    order = np.argsort(at, kind="stable")
    return at[order], values[order]


def _curve(
    fit: Fit, model: WheelModel, rows: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """A quantity over slip (or slip angle) for a group of points, its load between theirs."""
    data, at = fit.data, _abscissa(fit)[rows]
    order = np.argsort(at)
    at, loads = at[order], data.load[rows][order]
    x = np.linspace(at[0], at[-1], 60) if len(at) > 1 else at
    angle = data.slip_angle[rows]
    slip: Any = x
    aside: Any = float(np.mean(angle))
    if over_angle(fit):
        slip = np.interp(x, at, data.slip[rows][order])
        aside = np.radians(x) * (1.0 if np.sum(angle) >= 0 else -1.0)
    forces = model.under_load(np.interp(x, at, loads), slip, aside)
    columns = {"pull": "drawbar_pull", "side": "side_force"}
    return x, np.asarray(getattr(forces, columns.get(name, name)))


def _limit(ax: Axes, *arrays: np.ndarray) -> None:
    """The panel shows measured and fitted points; a start far off may leave it."""
    values = np.concatenate(arrays)
    low, high = np.nanmin(values), np.nanmax(values)
    room = 0.25 * (high - low) or 1.0
    ax.set_ylim(low - room, high + room)


def draw_residuals(fit: Fit) -> Canvas:
    """Computed minus measured over slip."""
    canvas, panels = _panels(fit)
    found = groups(fit)
    for name, ax in panels:
        factor = QUANTITIES[name][1]
        measured = fit.data.measured[name]
        for (_, _, rows), colour in zip(found, _colours(len(found)), strict=False):
            x = _abscissa(fit)[rows]
            for computed, fill in ((fit.computed_start, "none"), (fit.computed, colour)):
                ax.plot(
                    x, factor * (computed[name] - measured)[rows], "o", ms=4, mec=colour, mfc=fill
                )
        band = 2 * factor * fit.after.get(name, 0.0)
        ax.axhspan(-band, band, color="#d0d0d0", alpha=0.4, lw=0)
        ax.axhline(0, color="#555555", lw=0.8)
    canvas.suptitle("computed minus measured", fontsize=FONT + 1, fontweight="bold")
    return canvas


def draw_correlation(fit: Fit) -> Canvas:
    """The correlation matrix as a map."""
    names = [f.name for f in fit.found]
    size = 1.4 + 0.5 * len(names)
    canvas = _canvas(size + 1.2, size)
    ax = canvas.subplots()
    image = ax.imshow(fit.correlation, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=FONT - 1)
    ax.set_yticks(range(len(names)), names, fontsize=FONT - 1)
    for i in range(len(names)):
        for j in range(len(names)):
            c = fit.correlation[i, j]
            text = f"{c:.2f}" if np.isfinite(c) else "–"
            colour = "white" if abs(c) > 0.6 else "black"
            ax.text(j, i, text, ha="center", va="center", fontsize=FONT - 2, color=colour)
    canvas.colorbar(image, ax=ax, shrink=0.8)
    return canvas


# --- tables and the page


def parameter_rows(fit: Fit) -> list[list[str]]:
    """Cells of the parameters' table below `parameter_heads`."""
    rows = []
    for f in fit.found:
        k = f.parameter.factor
        interval = {"": "–", "low": "at lower bound", "high": "at upper bound"}[f.at_bound]
        if f.low is not None and f.high is not None:
            interval = f"{f.low * k:.3g} … {f.high * k:.3g}"
        error = "–" if f.error is None else f"{f.error * k:.2g}"
        row = [f.name, f"{f.value * k:.4g}", error, interval, f.parameter.unit or "–"]
        row.append(f"{f.start * k:.4g}")
        if fit.has_priors:
            row.append(f"{f.prior[0] * k:.4g} ± {f.prior[1] * k:.2g}" if f.prior else "")
        if fit.samples is not None and f.boot:
            row.append(f"{f.boot[0] * k:.3g} … {f.boot[1] * k:.3g}")
        rows.append(row)
    return rows


def parameter_heads(fit: Fit) -> list[str]:
    """parameter, value, its 95 % interval, unit, start; prior and bootstrap where there are."""
    heads = ["parameter", "value", "±", "95 % interval", "unit", "start"]
    heads += ["prior"] if fit.has_priors else []
    return heads + (["bootstrap"] if fit.samples is not None else [])


def error_rows(fit: Fit) -> list[list[str]]:
    """quantity, points, rms before and after, unit."""
    rows = []
    for q, after in fit.after.items():
        _, k, unit, name = QUANTITIES[q]
        count = int(np.isfinite(fit.data.measured[q]).sum())
        weight = f"{fit.stated[q] * k:.3g}" if q in fit.stated else "not fitted"
        rows.append(
            [name, str(count), f"{fit.before[q] * k:.3g}", f"{after * k:.3g}", unit, weight]
        )
    return rows


ERROR_HEADS = ["quantity", "values", "rms at start", "rms fitted", "unit", "stated error"]


def _report(fit: Fit, folder: Path, figures: list[FigureFile]) -> Path:
    from marsyard.results.report import versions

    key = key_plot(fit)
    above = [] if key else figures[:1]
    page = ReportPage(
        answer=_answer(fit),
        title=f"{fit.model} fitted to {fit.data.name}",
        kind="identify",
        remarks=[(WARNING, f"{capital(w).rstrip('.')}.") for w in fit.warnings],
        picture=picture(above[0]) if above else "",
        key_plots=[key] if key else [],
        parts=[
            Part("Parameters", table(parameter_heads(fit), parameter_rows(fit)), open=True),
            Part("Errors", table(ERROR_HEADS, error_rows(fit))),
            FIGURES,
            Part("Notes", items([*fit.notes, f"use soil.yaml with {use(fit)}"])),
            Part("Versions", pairs(versions())),
        ],
        figures=figures[len(above) :],
    )
    return write_report_page(folder, page)


#: parameters that the answer names
_NAMED = 3


def _answer(fit: Fit) -> str:
    """What was found, and how much nearer the model is to the data than before."""
    found = []
    for f in fit.found[:_NAMED]:
        k, unit = f.parameter.factor, unit_text(f.parameter.unit)
        error = "" if f.error is None else f" ± {number(f.error * k, 2)}"
        space = "" if unit == "°" else " "
        found.append(f"{f.name} {number(f.value * k, 3)}{error}{space}{unit}".strip())
    more = len(fit.found) - _NAMED
    said = ", ".join([*found, f"and {more} more"] if more > 0 else found)
    q = next(iter(fit.after))
    _, k, unit, name = QUANTITIES[q]
    before, after = fit.before[q] * k, fit.after[q] * k
    return f"{said}; {name} within {after:.2g} {unit} rms, {before:.2g} at the start"


def key_plot(fit: Fit) -> PagePlot | None:
    """Measured and fitted over slip (or slip angle), a colour for each group of points; none where
    there are too many groups."""
    found = groups(fit)
    if len(found) > len(OTHERS):
        return None
    panels = []
    for name in fit.data.quantities[:3]:
        if not np.isfinite(fit.data.measured[name]).any():
            continue
        factor, curves = QUANTITIES[name][1], []
        for (label, wheel, rows), colour in zip(found, OTHERS, strict=False):
            at, y = _abscissa(fit)[rows], fit.data.measured[name][rows]
            if not np.isfinite(y).any():
                continue
            model, offset = fit.models[wheel], fit.offset if name == "sinkage" else 0.0
            x, values = (
                _curve(fit, model, rows, name) if isinstance(model, WheelModel)
                else _through(at, fit.computed[name][rows] - offset)
            )  # fmt: skip
            curves.append(PageCurve("", at, factor * y, colour, points=True))
            curves.append(PageCurve(label or "fitted", x, factor * (values + offset), colour))
        panels.append(PagePanel(f"{QUANTITIES[name][3]} [{QUANTITIES[name][2]}]", tuple(curves)))
    over = "slip angle [°]" if over_angle(fit) else "slip"
    return plot_over("Measured (points) and fitted", over, panels)
