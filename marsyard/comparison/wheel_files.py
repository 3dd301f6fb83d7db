"""Files of compared wheel models: compare.csv, compare.nc, figures, report.html."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.analysis.wheel_data import WheelData
from marsyard.comparison.wheels import WheelComparison
from marsyard.drawing.page import (
    capital,
    joined,
    number,
    pairs,
    paragraph,
    picture,
    quantity,
    table,
    tiles,
)
from marsyard.drawing.report_page import (
    FIGURES,
    Part,
    ReportPage,
    write_report_page,
)
from marsyard.drawing.sheet import FigureFile
from marsyard.interaction.wheel_models import MODELS
from marsyard.run_folder import written_whole

if TYPE_CHECKING:
    import xarray as xr

#: slips whose numbers stand in the table of curves
TABLE_SLIPS = (0.1, 0.2, 0.4, 0.6)


def save_wheels(result: WheelComparison, folder: str | Path) -> Path:
    """Write all files of a comparison into `folder`, whole or not at all; the path of its page."""
    from marsyard.comparison.wheel_figures import save_wheel_figures
    from marsyard.results import save

    target = Path(folder)
    with written_whole(target) as staging:
        assert staging is not None
        save(dataset(result), staging / "compare.nc")
        _write_table(staging / "compare.csv", result)
        figures = save_wheel_figures(result, staging / "figures")
        write_report_page(staging, _page(result, figures))
    return target / "report.html"


def _page(result: WheelComparison, figures: list[FigureFile]) -> ReportPage:
    from marsyard.comparison.wheel_figures import key_plot
    from marsyard.results.report import versions

    heads, rows = heads_and_rows(result)
    given, coefficients = _given(result)
    key = key_plot(result)
    above = [] if key else figures[:1]
    return ReportPage(
        answer=_answer(result),
        title=f"{result.title}: {', '.join(c.name for c in result.candidates)}",
        kind="compare",
        notes=[f"{capital(n).rstrip('.')}." for n in result.notes],
        picture=picture(above[0]) if above else "",
        key_plots=[key] if key else [],
        parts=[
            Part("Comparison", joined(tiles(_tiles(result)), table(heads, rows, 3),
                                        paragraph(_explained(result), "soft")), open=True),
            FIGURES,
            Part("What each model was given", table(given, coefficients, len(given))),
            Part("Versions", pairs(versions())),
        ],
        figures=figures[len(above) :],
    )  # fmt: skip


def _answer(result: WheelComparison) -> str:
    """Which model is nearest to the measured rows, or how far apart their pull lies."""
    if result.data is not None:
        q = result.data.quantities[0]
        _, factor, unit, name = QUANTITIES[q]
        order = sorted(result.candidates, key=lambda c: result.rms[c.name][q])
        best, last = (quantity(factor * result.rms[c.name][q], unit, 3)
                      for c in (order[0], order[-1]))  # fmt: skip
        said = f"{order[0].name} is nearest to {len(result.data)} measured rows: {name} "
        said += f"within {best} rms"
        return said if len(order) == 1 else f"{said}, {order[-1].name} {last}"
    assert result.curves is not None
    pull = result.curves["drawbar_pull"].isel(at_angle=0).sel(slip=0.2, method="nearest")
    known = [(float(pull.sel(law=c.name)), c.name) for c in result.candidates]
    known = [each for each in known if each[0] == each[0]]
    if not known:
        return "The wheel sinks to its axle under every model"
    (low, least), (high, most) = min(known), max(known)
    if least == most:
        return f"Drawbar pull {quantity(low, 'N', 3)} at slip 0.2 ({least})"
    return (
        f"Drawbar pull at slip 0.2: {number(low, 3)} ({least}) to {quantity(high, 'N', 3)} ({most})"
    )


def heads_and_rows(result: WheelComparison) -> tuple[list[str], list[list[str]]]:
    """The table as texts: rms by quantity where there are measured rows, else numbers by slip."""
    heads = ["model", "soil", "exit"]
    rows = [[c.name, c.soil or "–", c.exits or "–"] for c in result.candidates]
    if result.data is not None:
        for q in result.data.quantities:
            _, factor, unit, name = QUANTITIES[q]
            heads.append(f"rms {name} [{unit}]")
            for row, c in zip(rows, result.candidates, strict=True):
                row.append(number(factor * result.rms[c.name][q], 3))
        if any(result.sunk.values()):
            heads.append("rows sunk to the axle")
            for row, c in zip(rows, result.candidates, strict=True):
                row.append(str(result.sunk[c.name]))
        return heads, rows
    assert result.curves is not None
    here = result.curves.isel(at_angle=0)
    for slip in TABLE_SLIPS:
        heads.append(f"pull at slip {slip:g} [N]")
        for row, c in zip(rows, result.candidates, strict=True):
            value = here["drawbar_pull"].sel(law=c.name).sel(slip=slip, method="nearest")
            row.append(number(float(value), 3))
    for variable, name, unit, factor in (
        ("torque", "torque at slip 0.2", "N·m", 1.0),
        ("sinkage", "sinkage at slip 0.2", "mm", 1e3),
    ):
        heads.append(f"{name} [{unit}]")
        for row, c in zip(rows, result.candidates, strict=True):
            value = here[variable].sel(law=c.name).sel(slip=0.2, method="nearest")
            row.append(number(factor * float(value), 3))
    return heads, rows


def _tiles(result: WheelComparison) -> list[tuple[str, str]]:
    out = [("models", str(len(result.candidates)))]
    if result.data is not None:
        out.append(("measured rows", str(len(result.data))))
    return [*out, ("computing time", quantity(1e3 * result.seconds, "ms", 3))]


def _explained(result: WheelComparison) -> str:
    if result.data is None:
        return 'At the first slip angle; "–": the wheel sinks to its axle.'
    return (
        "Root mean square of computed minus measured values, over the rows in which the wheel "
        "carries its load."
    )


def _given(result: WheelComparison) -> tuple[list[str], list[list[str]]]:
    """Model, wheel, soil, exit rule, coefficients and fit of each candidate."""
    heads = ["model", "law", "wheels", "soil", "exit rule", "coefficients", "from a fit"]
    rows = []
    for c in result.candidates:
        wheels = "; ".join(
            f"r {1e3 * m.wheel.radius:g} mm, b {1e3 * m.wheel.width:g} mm, lugs "
            f"{1e3 * m.wheel.lug_height:g} mm" for m in c.models
        )  # fmt: skip
        own = zip(MODELS[c.law][1], c.models[0].own_numbers(), strict=True)
        coefficients = ", ".join(f"{k} {number(float(v), 4)}" for k, v in own)
        rows.append([c.name, c.law, wheels, c.soil or "–", c.exits or "–", coefficients or "–",
                     c.fitted or "–"])  # fmt: skip
    return heads, rows


# --- data


def dataset(result: WheelComparison) -> xr.Dataset:
    """Curves, or the measured rows with what each model gives there."""
    import xarray as xr

    if result.data is None:
        assert result.curves is not None
        return result.curves.assign_attrs(title=result.title)
    data = result.data
    variables = {
        key: ("row", getattr(data, key), {"units": unit})
        for key, unit in (("radius", "m"), ("width", "m"), ("lug_height", "m"), ("load", "N"),
                          ("slip", "1"), ("slip_angle", "rad"))
    }  # fmt: skip
    out = xr.Dataset(variables)
    for q in data.quantities:
        unit, _, _, name = QUANTITIES[q]
        attrs = {"units": unit, "long_name": name}
        out[f"measured_{q}"] = ("row", data.measured[q], attrs)
        values = np.stack([result.computed[c.name][q] for c in result.candidates])
        out[f"computed_{q}"] = (("law", "row"), values, attrs)
    names = np.array([c.name for c in result.candidates], dtype=object)
    return out.assign_coords(law=names).assign_attrs(title=result.title)


def _write_table(path: Path, result: WheelComparison) -> None:
    """A row per measured point, or per point of the curves, SI."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if result.data is not None:
            _write_points(writer, result, result.data)
        else:
            _write_curves(writer, result)


def _write_points(writer: object, result: WheelComparison, data: WheelData) -> None:
    columns = data.points()
    for q in data.quantities:
        columns[f"{q}_measured"] = data.measured[q]
        for c in result.candidates:
            columns[f"{q}_{c.name}"] = np.asarray(result.computed[c.name][q])
    writer.writerow(columns)  # type: ignore[attr-defined]
    for row in zip(*columns.values(), strict=True):
        cells = ["" if np.isnan(x) else repr(float(x)) for x in row]
        writer.writerow(cells)  # type: ignore[attr-defined]


def _write_curves(writer: object, result: WheelComparison) -> None:
    ds = result.curves
    assert ds is not None
    names = ["drawbar_pull", "side_force", "torque", "sinkage"]
    heads = ["law", "slip", "slip_angle_rad", "drawbar_pull_n", "side_force_n", "torque_nm",
             "sinkage_m"]  # fmt: skip
    writer.writerow(heads)  # type: ignore[attr-defined]
    for suffix, at, along in (("", "at_angle", "slip"), ("_over_angle", "at_slip", "slip_angle")):
        for law in ds["law"].values:
            for here in ds[at].values:
                part = ds.sel({"law": law, at: here})
                for k, x in enumerate(ds[along].values):
                    slip, angle = (x, here) if along == "slip" else (here, x)
                    values = [float(part[n + suffix].values[k]) for n in names]
                    cells = ["" if v != v else repr(v) for v in values]
                    place = [law, repr(float(slip)), repr(float(angle))]
                    writer.writerow([*place, *cells])  # type: ignore[attr-defined]
