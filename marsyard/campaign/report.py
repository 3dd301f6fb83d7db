"""The report of a study: one page with results, failures and the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from marsyard.campaign._drawing import label
from marsyard.campaign.base import varied
from marsyard.campaign.maps import drawn, success_words
from marsyard.campaign.prepared import Prepared
from marsyard.campaign.sensitivity import column, parameters_of, strongest
from marsyard.campaign.tables import (
    SHARES,
    grouped,
    left_out,
    pair_rows,
    sobol_rows,
    summaries,
)
from marsyard.drawing.colours import OTHERS
from marsyard.drawing.page import (
    alarm,
    headed,
    joined,
    number,
    pairs,
    paragraph,
    paragraphs,
    picture,
    quantity,
    table,
    tiles,
)
from marsyard.drawing.page_plots import PageCurve, PagePanel, PagePlot, plot_over
from marsyard.drawing.report_page import BAD, FIGURES, Part, ReportPage, write_report_page
from marsyard.drawing.sheet import FigureFile
from marsyard.results.report import versions
from marsyard.results.report_parameters import parameters_section
from marsyard.results.study_checks import outputs_of

if TYPE_CHECKING:
    from marsyard.campaign.running import Sweep

#: failed runs that are listed one by one
_LISTED = 50
#: outputs among the key plots
_PANELS = 3
_DESIGNS = {
    "latin_hypercube": "Latin hypercube", "sobol": "Sobol sequence",
    "monte_carlo": "Monte-Carlo sample", "saltelli": "Saltelli sample",
}  # fmt: skip


def write_report(found: Sweep, folder: Path, figures: Sequence[FigureFile]) -> Path:
    """Write `report.html` of a study."""
    ready, ds = found.ready, found.data
    base = varied(ready.plan.name, ready.plan.data, {})
    key = key_plots(ds)
    # maps, and what stands over words, are pictures
    above = [] if key else list(figures[:1])
    page = ReportPage(
        answer=_answer(found),
        title=ready.study.title or f"Sweep of {ready.study.scenario}",
        name=ready.name,
        kind="sweep",
        remarks=_remarks(found),
        notes=[what_was_run(ready)],
        picture=picture(above[0]) if above else "",
        key_plots=key,
        parts=[
            Part("About this study", joined(paragraphs(found.study.description or ""),
                                            _tiles(found))),
            Part("Outputs", joined(_outputs(ds), _gaps(found))),
            Part("Sensitivity", _sensitivity(ds)),
            FIGURES,
            Part("Runs that failed", _failures(found), str(len(found.failures))),
            Part("Warnings", warnings_table(found.warned, ready.words, "runs")),
            Part("Parameters", _varied(ready)),
            Part("Base scenario", parameters_section(base, {})),
            Part("Speed", pairs(speed_rows(found.info))),
            Part("Versions", pairs(versions({}))),
        ],
        figures=figures[len(above) :],
    )  # fmt: skip
    return write_report_page(folder, page)


def _answer(found: Sweep) -> str:
    """How many runs succeeded where that was asked, else where the first output lies."""
    ds, runs = found.data, len(found.outcomes)
    good = success_words(ds)
    if good:
        count, comma, share = good.partition(",")
        return f"{count} runs succeeded{comma}{share}"
    said = f"{runs} runs"
    for s in summaries(ds):
        if s.count:
            low, middle, high = s.at_shares
            said += (
                f": {s.name} {quantity(middle, s.unit, 3)} in the median, "
                f"{number(low, 3)} to {quantity(high, s.unit, 3)} in 90 % of them"
            )
            break
    failed = len(found.failures)
    return f"{said}; {failed} failed" if failed else said


def _remarks(found: Sweep) -> list[tuple[str, str]]:
    """What is to be said against the numbers."""
    out = []
    failed, runs = len(found.failures), len(found.outcomes)
    if failed:
        out.append((BAD, f"{failed} of {runs} runs failed and yield no outputs; the table below "
                    "lists the reasons."))  # fmt: skip
    return out + unconverged_remarks(found.data, f"of {runs} runs")


def unconverged_remarks(ds: xr.Dataset, what: str) -> list[tuple[str, str]]:
    """How many runs had steps that did not converge; nothing of none."""
    bad = int((ds["unconverged"].values > 0).sum())
    said = f"{bad} {what} had steps with an unconverged contact problem."
    return [(BAD, said)] if bad else []


def _tiles(found: Sweep) -> str:
    rows = [("runs", str(len(found.outcomes))), ("failed", str(len(found.failures)))]
    good = success_words(found.data)
    if good:
        rows.append(("succeeded (95 % interval)" if "(" in good else "succeeded", good))
    return tiles([*rows, elapsed_tile(found.info)])


def key_plots(ds: xr.Dataset) -> list[PagePlot]:
    """The first outputs over the parameter that matters most: a point per run of a sample, the
    mean at each value of a grid; none where that parameter has words."""
    outputs = [o for o in outputs_of(ds) if np.isfinite(ds[o].values).any()][:_PANELS]
    if not outputs:
        return []
    name = strongest(ds, column(ds, outputs[0]).astype(float), parameters_of(ds))[0]
    if ds[name].dtype.kind not in "fiu" or (not drawn(ds) and len(parameters_of(ds)) > 1):
        return []
    x = column(ds, name).astype(float)
    panels = [PagePanel(label(ds, o), _curves(ds, x, o)) for o in outputs]
    made = plot_over("Outputs", label(ds, name), panels)
    return [made] if made else []


def _curves(ds: xr.Dataset, x: np.ndarray, output: str) -> tuple[PageCurve, ...]:
    y = column(ds, output).astype(float)
    if not drawn(ds):
        at = np.unique(x[np.isfinite(y)])
        mean = np.array([y[np.isfinite(y) & (x == v)].mean() for v in at])
        return (PageCurve("", at, mean, OTHERS[0], dots=True),)
    if "succeeded" not in ds:
        return (PageCurve("", x, y, OTHERS[0], points=True),)
    good = column(ds, "succeeded") == 1
    return tuple(
        PageCurve(name, x[some], y[some], colour, points=True)
        for name, some, colour in (("success", good, OTHERS[0]), ("failure", ~good, OTHERS[1]))
        if some.any()
    )


def what_was_run(ready: Prepared) -> str:
    """The study in a sentence."""
    study, points = ready.study, ready.points
    kind = _DESIGNS.get(study.design.kind, study.design.kind)
    words = f"{study.scenario}, {len(points)} points of a {kind} over "
    words += ", ".join(p.label for p in points.parameters)
    if study.replicas > 1:
        words += f", {study.replicas} runs at each, each with its own seeds"
    return f"{words}; seed {study.seed}."


def _outputs(ds: xr.Dataset) -> str:
    head = ["output", "unit", "runs", "mean", "standard deviation", "min"]
    head += [*(f"{100 * s:g} %" for s in SHARES), "max"]
    rows = []
    for s in summaries(ds):
        numbers = (s.mean, s.deviation, s.low, *s.at_shares, s.high)
        rows.append([s.name, s.unit, str(s.count), *(number(v, 4) for v in numbers)])
    return table(head, rows, 2)


def _gaps(found: Sweep) -> str:
    rows = [
        [name, str(len(members)), reason, found.ready.words(members[0])]
        for name, reasons in found.gaps.items()
        for reason, members in grouped(reasons)
    ]
    if not rows:
        return ""
    without = table(["output", "runs without a value", "why", "for example"], rows, 4)
    return headed("Completed runs without a value", without)


def _sensitivity(ds: xr.Dataset) -> str:
    if "sobol_first" in ds:
        return _sobol(ds)
    if "rank_correlation" not in ds:
        return ""
    rows = [
        [
            str(ds[str(o)].attrs["long_name"]), str(ds[str(p)].attrs["long_name"]),
            number(float(ds["rank_correlation"].sel(output=o, parameter=p)), 3),
        ]
        for o in ds["output"].values
        for p in ds["parameter"].values
    ]  # fmt: skip
    note = (
        "Spearman's ρ: 1 where the output increases monotonically with the parameter, −1 where it "
        "decreases."
    )
    shown = table(["output", "parameter", "rank correlation"], rows, 2)
    return joined(shown, paragraph(note, "soft"))


def _sobol(ds: xr.Dataset) -> str:
    head = ["output", "parameter", "first order", "±", "total", "±"]
    note = (
        "Sobol indices: the share of an output's variance caused by a parameter alone (first "
        "order), and including its interactions with others (total); ± half of the 95 % interval."
    )
    missing = left_out(ds)
    parts = [alarm(missing) if missing else "", table(head, sobol_rows(ds), 2),
             paragraph(note, "soft")]  # fmt: skip
    if "sobol_second" in ds and ds.sizes["parameter"] > 1:
        head = ["output", "parameter", "with", "second order", "±"]
        more = "The share caused by the interaction of two parameters."
        pairs_of = joined(table(head, pair_rows(ds), 3), paragraph(more, "soft"))
        parts.append(headed("Pairs", pairs_of))
    return joined(*parts)


def _failures(found: Sweep) -> str:
    failures = found.failures
    if not failures:
        return ""
    ready = found.ready
    groups = [
        [str(len(members)), reason, ready.words(members[0])]
        for reason, members in grouped(failures)
    ]
    listed = [[str(k), ready.words(k), reason] for k, reason in list(failures.items())[:_LISTED]]
    singly = [table(["run", "parameters", "why"], listed, 3)]
    if len(failures) > _LISTED:
        more = f"… and {len(failures) - _LISTED} more, see sweep.csv."
        singly.append(paragraph(more, "soft"))
    by_reason = table(["runs", "why", "for example"], groups, 3)
    return joined(by_reason, headed("Individual failures", joined(*singly)))


def warnings_table(warned: Mapping[int, str], words: Callable[[int], str], head: str) -> str:
    """Which warnings runs gave, how often, and an example in `words`; empty without any."""
    rows = [[str(len(m)), said, words(m[0])] for said, m in grouped(warned)]
    return table([head, "said", "for example"], rows, 3) if rows else ""


def _varied(ready: Prepared) -> str:
    rows = []
    for parameter, given in zip(ready.points.parameters, ready.study.vary.values(), strict=True):
        how = given.distribution
        if how is None:
            values = [parameter.level(k).shown for k in range(len(parameter))]  # type: ignore
            texts = [v if isinstance(v, str) else number(v, 4) for v in values]
            how = ", ".join(texts if len(texts) <= 12 else [*texts[:6], "…", texts[-1]])
        unit = "" if parameter.words else parameter.unit
        rows.append([parameter.label, ", ".join(parameter.paths), how, unit])
    fixed = [(f"set {k}", str(v)) for k, v in ready.study.set.items()]
    shown = table(["parameter", "path", "values", "unit"], rows, 4)
    return joined(shown, pairs(fixed) if fixed else "")


def elapsed_tile(info: Mapping[str, Any]) -> tuple[str, str]:
    """How long it took; of a study that was resumed, the last call alone."""
    words = "elapsed time of the last call" if info["kept"] else "elapsed"
    return words, quantity(info["elapsed"], "s", 3)


def speed_rows(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How fast a campaign went."""
    rows = [("runs in this call", str(info["ran"])), ("finished before", str(info["kept"]))]
    if info["repeated"]:
        rows.append(("repeated, not run twice", str(info["repeated"])))
    if info["ran"]:
        rows.append(("on", str(info["where"])))
        rows.append(("runs per second", number(info["ran"] / max(info["elapsed"], 1e-9), 3)))
    rows += [
        ("simulated time in this call", quantity(info["simulated"], "s", 4)),
        ("computing time in this call", quantity(info["wall_time"], "s", 4)),
        ("elapsed time of this call", quantity(info["elapsed"], "s", 4)),
        ("started", str(info["started"])),
    ]
    return rows
