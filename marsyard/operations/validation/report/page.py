"""`report.html` of a validation: a self-contained file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.page import (
    badge,
    capital,
    code,
    folded,
    joined,
    number,
    pairs,
    paragraph,
    paragraphs,
    picture,
    quantity,
    soft,
    stacked,
    table,
    tiles,
)
from marsyard.drawing.report_page import BAD, FIGURES, Part, ReportPage, write_report_page
from marsyard.operations.sequence import sequence_text
from marsyard.operations.validation.judgement import CommandFinding, Finding
from marsyard.operations.validation.report.figures import KEY_PANELS, limits_plot, save_figures
from marsyard.operations.validation.table import end_words, limit_words, probability, thinnest
from marsyard.results.page_replay import replay_block, replay_data
from marsyard.results.report import versions
from marsyard.results.report_parameters import parameters_section

if TYPE_CHECKING:
    from marsyard.operations.distributions import Distribution
    from marsyard.operations.validation.validate import Validation
    from marsyard.operations.validation.worst import WorstRun
    from marsyard.simulation import Simulation

#: commands that failed, listed one by one
_LISTED = 40
_CLASS = {"go": "pass", "caution": "open", "no-go": "fail"}


def write_page_of(
    folder: Path, found: Validation, simulation: Simulation, worst: WorstRun | None
) -> Path:
    """Draw the figures and write the page; `worst` is the worst run, none if it could not begin."""
    figures = save_figures(found, simulation, folder / "figures")
    info = {"scenario": found.scenario.title, "versions": found.info.get("versions")}
    j, s = found.judgement, found.sequence
    key, every = limits_plot(found, KEY_PANELS), limits_plot(found)
    failures = _failures(found)
    page = ReportPage(
        answer=capital(j.why),
        verdict=(j.verdict.upper(), _CLASS[j.verdict]),
        title=s.title or "Command sequence",
        name=found.scenario.robot.name,
        kind="validation of a sequence",
        remarks=_remarks(found),
        picture=_replay(found, worst) if worst else picture(figures["map"]),
        is_replay=worst is not None,
        key_plots=[key] if key else [],
        plots=[every] if every else [],
        parts=[
            Part("About this sequence", joined(paragraphs(s.description or ""), _tiles(found))),
            Part("Commands", joined(_commands(found), picture(figures["timeline"])), open=True),
            Part("Map", joined(picture(figures["map"]),
                               paragraph(f"The rover {end_words(found)}."))),
            Part("Limits", _limits(found)),
            FIGURES,
            Part("Worst run", joined(_worst(found), _worst_files(worst))),
            Part("Runs that failed", failures),
            Part("What is uncertain", _uncertain(found)),
            Part("Sequence", code(sequence_text(s), block=True)),
            Part("Nominal scenario", parameters_section(found.scenario, info)),
            Part("Speed", pairs(_speed(found))),
            Part("Versions", pairs(versions(info))),
        ],
    )  # fmt: skip
    return write_report_page(folder, page)


# --- sections


def _remarks(found: Validation) -> list[tuple[str, str]]:
    """What is to be said against the verdict."""
    out = []
    if found.stopped:
        asked = int(found.data.attrs["asked"])
        out.append((BAD, f"Stopped after {found.judgement.runs} of {asked} runs: intervals are "
                    "wider than with all runs."))  # fmt: skip
    bad = int(np.sum(found.data.unconverged.values > 0))
    if bad:
        out.append((BAD, f"{bad} runs had steps with an unconverged contact problem."))
    return out


def _tiles(found: Validation) -> str:
    j = found.judgement
    rows = [("runs", str(j.runs)), ("any limit violated [%]", probability(j.any))]
    if j.thinnest is not None:
        margin, _ = thinnest(found, j.thinnest)
        rows.append(
            (f"smallest margin: {limit_words(found, j.thinnest.limit)}", margin.split(" (")[0])
        )
    nominal = float(found.data.simulated.values[0])
    rows.append(("nominal duration", quantity(nominal, "s", 3)))
    return tiles(rows)


def _badge(word: str) -> str:
    return badge(word, _CLASS[word])


def _commands(found: Validation) -> str:
    policy = found.judgement.policy
    heads = (
        "command",
        "verdict",
        "decisive limit",
        "violated [%]",
        "smallest margin",
        "where, when",
    )
    rows = [_command_row(found, c) for c in found.judgement.commands]
    note = (
        "Probability that any limit is violated during a command, over the runs that started it, "
        f"with its interval ({100 * policy.confidence:g} %, Clopper-Pearson). go: at most "
        f"{100 * policy.accepted:g} %, significantly below {100 * policy.refused:g} %; no-go: "
        "significantly above that, or violated in the nominal run; caution: in between, or too few "
        "runs to tell. The margin is the distance to the limit, negative where the limit is "
        "violated."
    )
    shown = table(heads, rows, numeric=(3, 4), id="commands")
    return joined(shown, paragraph(note, "soft"))


def _command_row(found: Validation, c: CommandFinding) -> list[str]:
    margin, where = thinnest(found, c.limits[c.deciding].spot)
    return [c.words, _badge(c.verdict), limit_words(found, c.deciding), probability(c.any), margin,
            soft(where)]  # fmt: skip


def _limits(found: Validation) -> str:
    heads = ("limit", "verdict", "broken in", "probability [%]", "smallest margin", "command",
             "where, when")  # fmt: skip
    rows = [_limit_row(found, n, f) for n, f in found.judgement.limits.items()]
    left = "; ".join(f"{k}: {v}" for k, v in found.not_judged.items())
    return joined(
        table(heads, rows, numeric=(2, 3, 4), id="limits"),
        paragraph(f"Not evaluated: {left}.", "soft") if left else "",
    )


def _limit_row(found: Validation, name: str, f: Finding) -> list[str]:
    margin, where = thinnest(found, f.spot)
    count = f"{f.chance.broken} of {f.chance.runs}" if f.chance else "–"
    command = "" if f.spot is None else found.judgement.commands[f.spot.command].words
    nominal = soft("also in the nominal run") if f.nominal_broken else ""
    return [stacked(limit_words(found, name), nominal), _badge(f.verdict), count, probability(f),
            margin, command, soft(where)]  # fmt: skip


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
    parts = [paragraph(text)]
    if number_of and "sample" in at:
        values = zip(at.uncertain.values, at["sample"].values, strict=True)
        drawn = [(str(p), number(float(v), 4)) for p, v in values]
        parts.append(folded("Its values [SI]", pairs(drawn)))
    return joined(*parts)


def _worst_files(worst: WorstRun | None) -> str:
    """How it is looked at by itself."""
    if worst is None:
        return paragraph("The run could not start; there is nothing to replay.")
    return paragraph(joined(
        "With forces and all numbers: ", code("marsyard view worst"),
        " in this folder; with figures and a report of its own: ",
        code("marsyard run worst/scenario.yaml"), ".",
    ))  # fmt: skip


def _replay(found: Validation, worst: WorstRun) -> str:
    """The worst run in 3D, at first a little before its smallest margin."""
    zones = [x.zone.outline() for x in found.limits if x.zone is not None]
    at = found.data.sel(run=found.judgement.worst_run)
    margin = np.where(np.isnan(at.margin.values), np.inf, at.margin.values)
    thin = np.unravel_index(int(np.argmin(margin)), margin.shape)
    start = float(at.margin_time.values[thin]) - 1.0
    data = replay_data(worst.model, worst.data, worst.scenario, worst.ground, zones, start)
    return replay_block(data)


def _failures(found: Validation) -> str:
    data = found.data
    rows = []
    for i, run in enumerate(data.run.values):
        for k in np.flatnonzero(data.broken.values[i, 0] == 1):
            note = str(data.note.values[i, k]) or str(data.outcome.values[i, k])
            words = found.judgement.commands[int(k)].words
            rows.append((str(run or "nominal"), words, note))
    if not rows:
        return paragraph("All commands were completed in all runs.")
    shown = table(("run", "command", "why"), rows[:_LISTED], 3)
    more = f"and {len(rows) - _LISTED} more, in validation.nc" if len(rows) > _LISTED else ""
    return joined(shown, paragraph(more, "soft") if more else "")


def _uncertain(found: Validation) -> str:
    rows = [(p, distribution_text(d)) for p, d in found.uncertain.values.items()]
    how = "Default (assumed values), see docs/how-to/validate.md." if found.assumed else "As given."
    if not rows:
        return paragraph("Nothing: all runs are identical.")
    asked = int(found.data.attrs["asked"])
    said = f"{how} Latin hypercube of {asked} samples, seed {found.uncertain.seed}."
    return joined(paragraph(f"{said} Numbers are SI."), pairs(rows))


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
