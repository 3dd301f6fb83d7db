"""`report.html` of a validation: a self-contained file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.page import escape, number, pairs, quantity, tiles
from marsyard.drawing.sheet import FigureFile
from marsyard.operations.sequence import sequence_text
from marsyard.operations.validation.judgement import CommandFinding, Finding
from marsyard.operations.validation.report.figures import save_figures
from marsyard.operations.validation.report.replay import replay_section
from marsyard.operations.validation.table import end_words, limit_words, probability, thinnest
from marsyard.results.report import section, versions, write_page
from marsyard.results.report_parameters import parameters_section

if TYPE_CHECKING:
    from marsyard.operations.distributions import Distribution
    from marsyard.operations.validation.validate import Validation
    from marsyard.operations.validation.worst import WorstRun
    from marsyard.simulation import Simulation

_CLASS = {"go": "pass", "caution": "open", "no-go": "fail"}


def write_page_of(
    folder: Path, found: Validation, simulation: Simulation, worst: WorstRun | None
) -> Path:
    """Draw the figures and write the page; `worst` is the worst run, none if it could not begin."""
    figures = save_figures(found, simulation, folder / "figures")
    title = f"{found.verdict.upper()}: {found.sequence.title or 'command sequence'}"
    info = {"scenario": found.scenario.title, "versions": found.info.get("versions")}
    sections = [
        _head(found),
        section("Commands", _commands(found) + _picture(figures["timeline"])),
        section("Map", _picture(figures["map"]) + f"<p>The rover {escape(end_words(found))}.</p>"),
        section("Limits", _limits(found)),
        section("Limits over time", _picture(figures["margins"])),
        section("Worst run", _worst(found) + _replay(found, worst)),
        section("Runs that failed", _failures(found)),
        section("What is uncertain", _uncertain(found)),
        section("Sequence", f"<pre>{escape(sequence_text(found.sequence))}</pre>"),
        section("Nominal scenario", parameters_section(found.scenario, info)),
        section("Speed", pairs(_speed(found))),
        section("Versions", pairs(versions(info))),
    ]
    return write_page(folder, title, sections)


# --- sections


def _head(found: Validation) -> str:
    j, s = found.judgement, found.sequence
    parts = [
        '<p class="kicker">marsyard · validation of a sequence · '
        f"{escape(found.scenario.robot.name)}</p>",
        f"<h1>{escape(s.title or 'Command sequence')}</h1>",
        f'<p style="font-size:1.3rem"><span class="verdict {_CLASS[j.verdict]}">'
        f"{escape(j.verdict.upper())}</span></p>",
        f'<p class="text"><b>{escape(j.why[:1].upper() + j.why[1:])}</b></p>',
    ]
    if s.description:
        parts.append(f'<p class="text">{escape(" ".join(s.description.split()))}</p>')
    if found.stopped:
        asked = int(found.data.attrs["asked"])
        parts.append(
            f'<div class="alarm" role="alert">Stopped after {j.runs} of {asked} runs: '
            f"intervals are wider than with all runs.</div>"
        )
    bad = int(np.sum(found.data.unconverged.values > 0))
    if bad:
        parts.append(
            f'<div class="alarm" role="alert">{bad} runs had steps with an unconverged contact '
            f"problem"
            ".</div>"
        )
    rows = [("runs", str(j.runs)), ("any limit violated [%]", probability(j.any))]
    if j.thinnest is not None:
        margin, _ = thinnest(found, j.thinnest)
        rows.append(
            (f"smallest margin: {limit_words(found, j.thinnest.limit)}", margin.split(" (")[0])
        )
    nominal = float(found.data.simulated.values[0])
    rows.append(("nominal duration", quantity(nominal, "s", 3)))
    return f"<header>{''.join(parts)}{tiles(rows)}</header>"


def _badge(word: str) -> str:
    return f'<span class="verdict {_CLASS[word]}">{escape(word)}</span>'


def _commands(found: Validation) -> str:
    rows = "".join(_command_row(found, c) for c in found.judgement.commands)
    return (
        '<div class="scroll"><table id="commands"><thead><tr><th>command</th><th>verdict</th>'
        '<th>decisive limit</th><th class="num">violated [%]</th>'
        '<th class="num">smallest margin</th><th>where, when</th></tr></thead>'
        f'<tbody>{rows}</tbody></table></div><p class="soft">'
        f"Probability that any limit is violated during a command, over the runs that started it, "
        f"with its interval ({100 * found.judgement.policy.confidence:g} %, Clopper-Pearson). go: "
        f"at most "
        f"{100 * found.judgement.policy.accepted:g} %, significantly below "
        f"{100 * found.judgement.policy.refused:g} %; no-go: significantly above that, or "
        f"violated in the nominal run; caution: in between, or too few runs to tell. The margin "
        f"is the distance to the limit, negative where the limit is violated.</p>"
    )


def _command_row(found: Validation, c: CommandFinding) -> str:
    margin, where = thinnest(found, c.limits[c.deciding].spot)
    return (
        f"<tr><td>{escape(c.words)}</td><td>{_badge(c.verdict)}</td>"
        f"<td>{escape(limit_words(found, c.deciding))}</td>"
        f'<td class="num">{escape(probability(c.any))}</td><td class="num">{escape(margin)}</td>'
        f'<td class="soft">{escape(where)}</td></tr>'
    )


def _limits(found: Validation) -> str:
    rows = "".join(_limit_row(found, n, f) for n, f in found.judgement.limits.items())
    left = "; ".join(f"{k}: {v}" for k, v in found.not_judged.items())
    return (
        '<div class="scroll"><table id="limits"><thead><tr><th>limit</th><th>verdict</th>'
        '<th class="num">violated in</th><th class="num">probability [%]</th>'
        '<th class="num">smallest margin</th><th>command</th><th>where, when</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        + (f'<p class="soft">Not evaluated: {escape(left)}.</p>' if left else "")
    )


def _limit_row(found: Validation, name: str, f: Finding) -> str:
    margin, where = thinnest(found, f.spot)
    count = f"{f.chance.broken} of {f.chance.runs}" if f.chance else "–"
    command = "" if f.spot is None else found.judgement.commands[f.spot.command].words
    nominal = '<br><span class="soft">also in the nominal run</span>' if f.nominal_broken else ""
    return (
        f'<tr><td style="white-space:nowrap">{escape(limit_words(found, name))}{nominal}</td>'
        f"<td>{_badge(f.verdict)}</td>"
        f'<td class="num">{count}</td><td class="num">{escape(probability(f))}</td>'
        f'<td class="num">{escape(margin)}</td><td>{escape(command)}</td>'
        f'<td class="soft" style="white-space:nowrap">{escape(where)}</td></tr>'
    )


def _worst(found: Validation) -> str:
    number_of = found.judgement.worst_run
    at = found.data.sel(run=number_of)
    broken = [str(n) for i, n in enumerate(at.limit.values) if np.any(at.broken.values[i] == 1)]
    text = "The nominal run" if number_of == 0 else f"Run {number_of} of the samples"
    text += (
        f" violates most limits: {', '.join(limit_words(found, n) for n in broken)}."
        if broken
        else " has the smallest margin; it violates no limit."
    )
    reason = str(at.reason.values)
    text += f" {reason[:1].upper()}{reason[1:]}." if reason else ""
    parts = [f"<p>{escape(text)}</p>"]
    if number_of and "sample" in at:
        values = zip(at.uncertain.values, at["sample"].values, strict=True)
        drawn = [(str(p), number(float(v), 4)) for p, v in values]
        parts.append(f"<details><summary>Its values [SI]</summary>{pairs(drawn)}</details>")
    return "".join(parts)


def _replay(found: Validation, worst: WorstRun | None) -> str:
    """In 3D, at first a little before its smallest margin."""
    zones = [x.zone for x in found.limits if x.zone is not None]
    at = found.data.sel(run=found.judgement.worst_run)
    margin = np.where(np.isnan(at.margin.values), np.inf, at.margin.values)
    thin = np.unravel_index(int(np.argmin(margin)), margin.shape)
    return replay_section(worst, zones, float(at.margin_time.values[thin]) - 1.0)


def _failures(found: Validation) -> str:
    data = found.data
    rows = []
    for i, run in enumerate(data.run.values):
        for k in np.flatnonzero(data.broken.values[i, 0] == 1):
            note = str(data.note.values[i, k]) or str(data.outcome.values[i, k])
            rows.append((int(run), found.judgement.commands[int(k)].words, note))
    if not rows:
        return "<p>All commands were completed in all runs.</p>"
    body = "".join(
        f'<tr><td class="num">{run or "nominal"}</td><td>{escape(c)}</td><td>{escape(n)}</td></tr>'
        for run, c, n in rows[:40]
    )
    more = (
        f'<p class="soft">and {len(rows) - 40} more, in validation.nc</p>' if len(rows) > 40 else ""
    )
    return (
        '<div class="scroll"><table><thead><tr><th class="num">run</th><th>command</th>'
        f"<th>why</th></tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


def _uncertain(found: Validation) -> str:
    rows = [(p, distribution_text(d)) for p, d in found.uncertain.values.items()]
    how = "Default (assumed values), see docs/how-to/validate.md." if found.assumed else "As given."
    if not rows:
        return "<p>Nothing: all runs are identical.</p>"
    return (
        f"<p>{how} Latin hypercube of {int(found.data.attrs['asked'])} samples, seed "
        f"{found.uncertain.seed}. Numbers are SI.</p>{pairs(rows)}"
    )


def distribution_text(d: Distribution) -> str:
    """A distribution as it is written in a file, SI."""
    inner = ", ".join(v if isinstance(v, str) else f"{v:.4g}" for v in d.arguments)
    return f"{'times ' if d.times else 'plus ' if d.plus else ''}{d.kind}({inner})"


def _speed(found: Validation) -> list[tuple[str, str]]:
    info: Any = found.info
    elapsed, simulated = float(info["elapsed"]), float(info["simulated"])
    runs = max(found.data.sizes["run"], 1)
    return [
        ("runs, including the nominal one", str(runs)),
        ("processes", str(info["workers"])),
        ("simulated time, all runs", quantity(simulated, "s", 4)),
        ("elapsed", quantity(elapsed, "s", 4)),
        ("times real time", f"{simulated / max(elapsed, 1e-9):.3g} ×"),
        ("computing time, all runs", quantity(float(info["wall_time"]), "s", 4)),
        ("started", str(info["started"])),
    ]


def _picture(figure: FigureFile) -> str:
    data = base64.b64encode(figure.path.read_bytes()).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{escape(figure.title)}">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
