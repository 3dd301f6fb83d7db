"""The report of a study: one page with results, failures and the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from marsyard.campaign.base import varied
from marsyard.campaign.maps import success_words
from marsyard.campaign.prepared import Prepared
from marsyard.campaign.tables import (
    SHARES,
    grouped,
    left_out,
    pair_rows,
    sobol_rows,
    summaries,
)
from marsyard.drawing.page import escape, number, pairs, quantity, tiles
from marsyard.drawing.sheet import FigureFile
from marsyard.results.report import (
    figures_section,
    section,
    versions,
    write_page,
)
from marsyard.results.report_parameters import parameters_section

if TYPE_CHECKING:
    from marsyard.campaign.running import Sweep

#: failed runs that are listed one by one
_LISTED = 50
_DESIGNS = {
    "latin_hypercube": "Latin hypercube", "sobol": "Sobol sequence",
    "monte_carlo": "Monte-Carlo sample", "saltelli": "Saltelli sample",
}  # fmt: skip


def write_report(found: Sweep, folder: Path, figures: Sequence[FigureFile]) -> Path:
    """Write `report.html` of a study."""
    ready, ds = found.ready, found.data
    title = ready.study.title or f"Sweep of {ready.study.scenario}"
    base = varied(ready.plan.name, ready.plan.data, {})
    sections = [
        _head(title, found),
        section("Outputs", _outputs(ds) + _gaps(found)),
        section("Sensitivity", _sensitivity(ds)),
        section("Figures", figures_section(figures)),
        section("Runs that failed", _failures(found)),
        section("Warnings", warnings_table(found.warned, found.ready.words, "runs")),
        section("Parameters", _varied(ready)),
        section("Base scenario", parameters_section(base, {})),
        section("Speed", pairs(speed_rows(found.info))),
        section("Versions", pairs(versions({}))),
    ]
    return write_page(folder, title, sections)


def _head(title: str, found: Sweep) -> str:
    study, info = found.study, found.info
    parts = title_parts(title, found.ready.name, study.description)
    parts.append(f'<p class="text">{escape(what_was_run(found.ready))}</p>')
    failed, runs = len(found.failures), len(found.outcomes)
    if failed:
        parts.append(
            f'<div class="alarm" role="alert">{failed} of {runs} runs failed and yield no '
            "outputs; the table below lists the reasons.</div>"
        )
    bad = int((found.data["unconverged"].values > 0).sum())
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{bad} of {runs} runs had steps with an unconverged '
            f"contact problem"
            ".</div>"
        )
    rows = [("runs", str(runs)), ("failed", str(failed))]
    good = success_words(found.data)
    if good:
        rows.append(("succeeded (95 % interval)" if "(" in good else "succeeded", good))
    rows.append(elapsed_tile(info))
    return f"<header>{''.join(parts)}{tiles(rows)}</header>"


def title_parts(title: str, name: str, description: str) -> list[str]:
    """The head of a campaign's page: its name, title and description."""
    parts = [f'<p class="kicker">marsyard · {escape(name)}</p>', f"<h1>{escape(title)}</h1>"]
    texts = description.strip().split("\n\n") if description else []
    return parts + [f'<p class="text">{escape(" ".join(text.split()))}</p>' for text in texts]


def what_was_run(ready: Prepared) -> str:
    """The study in a sentence."""
    study, points = ready.study, ready.points
    kind = _DESIGNS.get(study.design.kind, study.design.kind)
    words = f"{study.scenario}, {len(points)} points of a {kind} over "
    words += ", ".join(p.label for p in points.parameters)
    if study.replicas > 1:
        words += f", {study.replicas} runs at each, each with its own seeds"
    return f"{words}; seed {study.seed}."


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """A table whose first columns are texts and the others numbers."""

    def row(tag: str, cells: Sequence[str]) -> str:
        kinds = [tag if k < texts else f'{tag} class="num"' for k in range(len(cells))]
        inner = (f"<{k}>{escape(c)}</{tag}>" for k, c in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return (
        f'<div class="scroll"><table class="runs"><thead>{row("th", head)}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _outputs(ds: xr.Dataset) -> str:
    head = ["output", "unit", "runs", "mean", "standard deviation", "min"]
    head += [*(f"{100 * s:g} %" for s in SHARES), "max"]
    rows = []
    for s in summaries(ds):
        numbers = (s.mean, s.deviation, s.low, *s.at_shares, s.high)
        rows.append([s.name, s.unit, str(s.count), *(number(v, 4) for v in numbers)])
    return html_table(head, rows, 2)


def _gaps(found: Sweep) -> str:
    rows = [
        [name, str(len(members)), reason, found.ready.words(members[0])]
        for name, reasons in found.gaps.items()
        for reason, members in grouped(reasons)
    ]
    if not rows:
        return ""
    table = html_table(["output", "runs without a value", "why", "for example"], rows, 4)
    return f"<h3>Completed runs without a value</h3>{table}"


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
        "Spearman's ρ: 1 where the output increases monotonically with the parameter, −1 where "
        "it decreases."
    )
    return html_table(["output", "parameter", "rank correlation"], rows, 2) + _soft(note)


def _sobol(ds: xr.Dataset) -> str:
    head = ["output", "parameter", "first order", "±", "total", "±"]
    note = (
        "Sobol indices: the share of an output's variance caused by a parameter alone (first "
        "order), and including its interactions with others (total); ± half of the 95 % interval."
    )
    missing = left_out(ds)
    alarm = f'<div class="alarm" role="alert">{escape(missing)}</div>' if missing else ""
    page = alarm + html_table(head, sobol_rows(ds), 2) + _soft(note)
    if "sobol_second" in ds and ds.sizes["parameter"] > 1:
        head = ["output", "parameter", "with", "second order", "±"]
        page += "<h3>Pairs</h3>" + html_table(head, pair_rows(ds), 3)
        page += _soft("The share caused by the interaction of two parameters.")
    return page


def _soft(text: str) -> str:
    return f'<p class="soft">{escape(text)}</p>'


def _failures(found: Sweep) -> str:
    failures = found.failures
    if not failures:
        return ""
    ready = found.ready
    groups = [
        [str(len(members)), reason, ready.words(members[0])]
        for reason, members in grouped(failures)
    ]
    table = html_table(["runs", "why", "for example"], groups, 3)
    listed = [[str(k), ready.words(k), reason] for k, reason in list(failures.items())[:_LISTED]]
    table += "<h3>Individual failures</h3>" + html_table(["run", "parameters", "why"], listed, 3)
    if len(failures) > _LISTED:
        table += f'<p class="soft">… and {len(failures) - _LISTED} more, see sweep.csv.</p>'
    return table


def warnings_table(warned: Mapping[int, str], words: Callable[[int], str], head: str) -> str:
    """Which warnings runs gave, how often, and an example in `words`; empty without any."""
    rows = [[str(len(m)), said, words(m[0])] for said, m in grouped(warned)]
    return html_table([head, "said", "for example"], rows, 3) if rows else ""


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
    return html_table(["parameter", "path", "values", "unit"], rows, 4) + (
        pairs(fixed) if fixed else ""
    )


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
