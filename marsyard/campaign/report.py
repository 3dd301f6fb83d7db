"""The report of a study: one page with all that came out, which runs failed, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from marsyard.campaign.base import varied
from marsyard.campaign.prepared import Prepared
from marsyard.campaign.tables import SHARES, grouped, success_of, summaries
from marsyard.results._page import escape, number, pairs, quantity, tiles
from marsyard.results._sheet import FigureFile
from marsyard.results.report import (
    figures_section,
    parameters_section,
    section,
    versions,
    write_page,
)

if TYPE_CHECKING:
    from marsyard.campaign.running import Sweep

#: failed runs that are listed one by one
_LISTED = 50


def write_report(found: Sweep, folder: Path, figures: Sequence[FigureFile]) -> Path:
    """Write `report.html` of a study."""
    ready, ds = found.ready, found.data
    title = ready.study.title or f"Sweep of {ready.study.scenario}"
    base = varied(ready.plan.name, ready.plan.data, {})
    sections = [
        _head(title, found),
        section("Outputs", _outputs(ds)),
        section("Which parameter matters", _sensitivity(ds)),
        section("Figures", figures_section(figures)),
        section("Runs that failed", _failures(found)),
        section("What was varied", _varied(ready)),
        section("Base scenario", parameters_section(base, {})),
        section("Speed", pairs(speed_rows(found.info, "finished before it", ", all runs"))),
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
            f'<div class="alarm" role="alert">{failed} of {runs} runs failed; they give no '
            "numbers, and the table below says why.</div>"
        )
    bad = int((found.data["unconverged"].values > 0).sum())
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{bad} of {runs} runs had steps whose contact problem '
            "did not converge.</div>"
        )
    rows = [("runs", str(runs)), ("failed", str(failed))]
    good = success_of(found.data)
    if good is not None:
        rows.append(("succeeded (95 % interval)", good.words))
    rows.append(("elapsed", quantity(info["elapsed"], "s", 3)))
    return f"<header>{''.join(parts)}{tiles(rows)}</header>"


def title_parts(title: str, name: str, description: str) -> list[str]:
    """The head of a campaign's page: its name, title and description."""
    parts = [f'<p class="kicker">marsyard · {escape(name)}</p>', f"<h1>{escape(title)}</h1>"]
    texts = description.strip().split("\n\n") if description else []
    return parts + [f'<p class="text">{escape(" ".join(text.split()))}</p>' for text in texts]


def what_was_run(ready: Prepared) -> str:
    """The study in a sentence."""
    study, points = ready.study, ready.points
    kind = study.design.kind.replace("_", " ")
    words = f"{study.scenario}, {len(points)} points of a {kind} design over "
    words += ", ".join(p.label for p in points.parameters)
    if study.replicas > 1:
        words += f", {study.replicas} runs at each, with seeds of their own"
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


def _sensitivity(ds: xr.Dataset) -> str:
    keys: tuple[str, ...]
    if "sobol_first" in ds:
        head = ["output", "parameter", "first order", "±", "total", "±"]
        keys = ("sobol_first", "sobol_first_conf", "sobol_total", "sobol_total_conf")
        note = (
            "Sobol indices: the share of an output's variance that a parameter makes by itself, "
            "and with all it does together with others; ± half of the 95 % interval."
        )
        blocks = ds["sobol_blocks"].values
        total = ds.sizes["point"] // _block(ds)
        if (blocks < total).any():
            note += f" Blocks with failed runs were left out: {int(blocks.min())} of {total} used."
    elif "rank_correlation" in ds:
        head, keys = ["output", "parameter", "rank correlation"], ("rank_correlation",)
        note = (
            "Spearman's ρ: 1 where the output always rises with the parameter, −1 where it falls."
        )
    else:
        return ""
    rows = [
        [
            str(ds[str(o)].attrs["long_name"]), str(ds[str(p)].attrs["long_name"]),
            *(number(float(ds[k].sel(output=o, parameter=p)), 3) for k in keys),
        ]
        for o in ds["output"].values
        for p in ds["parameter"].values
    ]  # fmt: skip
    return html_table(head, rows, 2) + f'<p class="soft">{escape(note)}</p>'


def _block(ds: xr.Dataset) -> int:
    d = ds.sizes["parameter"]
    return 2 * d + 2 if "sobol_second" in ds else d + 2


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
    table += "<h3>One by one</h3>" + html_table(["run", "parameters", "why"], listed, 3)
    if len(failures) > _LISTED:
        table += f'<p class="soft">… and {len(failures) - _LISTED} more, see sweep.csv.</p>'
    return table


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


def speed_rows(info: Mapping[str, Any], kept: str, counted: str) -> list[tuple[str, str]]:
    """How fast a campaign went; what runs of earlier calls are called, and which runs' times are
    added up."""
    rows = [("runs in this call", str(info["ran"])), (kept, str(info["kept"]))]
    if info["ran"]:
        rows.append(("on", str(info["where"])))
        rows.append(("runs a second", number(info["ran"] / max(info["elapsed"], 1e-9), 3)))
    rows += [
        (f"simulated time{counted}", quantity(info["simulated"], "s")),
        (f"time of the loops{counted}", quantity(info["wall_time"], "s", 4)),
        ("elapsed in this call", quantity(info["elapsed"], "s", 4)),
        ("started", str(info["started"])),
    ]
    return rows
