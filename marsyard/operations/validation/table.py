"""A validation for the terminal and for programs: tables and plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from marsyard.operations.validation.judgement import CommandFinding, Finding, Spot, margin_words
from marsyard.operations.validation.limits import Limit
from marsyard.operations.verdict import percent

if TYPE_CHECKING:
    from rich.table import Table

    from marsyard.operations.validation.validate import Validation

_COLOUR = {"go": "green", "caution": "yellow", "no-go": "bold red"}
#: rows that are shown on the terminal
_MOST = 40


def limit_words(found: Validation, name: str) -> str:
    """What a limit demands, in words."""
    return next((x.words for x in found.limits if x.name == name), "carried out")


def limit_named(found: Validation, name: str) -> Limit | None:
    """A limit by name; none for completion."""
    return next((x for x in found.limits if x.name == name), None)


def probability(finding: Finding) -> str:
    """In per cent, "1.5 [0.3, 4.3]"."""
    c = finding.chance
    if c is None:
        return "never started"
    return f"{percent(c.share)} [{percent(c.low)}, {percent(c.high)}]"


def thinnest(found: Validation, spot: Spot | None) -> tuple[str, str]:
    """Margin and value at a spot, and where it is."""
    if spot is None:
        return "–", ""
    limit = limit_named(found, spot.limit)
    if limit is None:
        return "not carried out", spot.words
    left = margin_words(spot.margin, limit.value)
    return f"{left} ({limit.shown(spot.value)})" if limit.value else left, spot.words


def command_table(found: Validation) -> Table:
    """A row per command: verdict, decisive limit, its probability, where its margin is thinnest."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Commands", title_justify="left", expand=False)
    heads = ("command", "verdict", "limit", "violated [%]", "smallest margin", "where, when")
    for name in heads:
        table.add_column(Text(name))
    commands = found.judgement.commands
    for c in commands[:_MOST]:
        f = c.limits[c.deciding]
        margin, where = thinnest(found, f.spot)
        table.add_row(
            Text(c.words), Text(c.verdict, style=_COLOUR[c.verdict]),
            Text(limit_words(found, c.deciding)), Text(probability(c.any)), Text(margin),
            Text(where),
        )  # fmt: skip
    if len(commands) > _MOST:
        table.caption = f"and {len(commands) - _MOST} more, in the report"
    return table


def limit_table(found: Validation) -> Table:
    """A row per limit, over all commands."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Limits, over all commands", title_justify="left", expand=False)
    for name in ("limit", "verdict", "violated [%]", "nominal", "smallest margin", "where, when"):
        table.add_column(Text(name))
    for name, f in found.judgement.limits.items():
        margin, where = thinnest(found, f.spot)
        table.add_row(
            Text(limit_words(found, name)), Text(f.verdict, style=_COLOUR[f.verdict]),
            Text(probability(f)), Text("broken" if f.nominal_broken else "kept"), Text(margin),
            Text(where),
        )  # fmt: skip
    if found.not_judged:
        table.caption = "not evaluated: " + "; ".join(
            f"{k}: {v}" for k, v in found.not_judged.items()
        )
    return table


def end_words(found: Validation) -> str:
    """Where the rover ends."""
    ellipse = found.judgement.ellipse
    if ellipse is None:
        return "too few runs for an ellipse of the end point"
    (x, y), (a, b) = ellipse.centre, ellipse.semi_axes
    text = (
        f"ends at ({x:.2f}, {y:.2f}) m; 95 % ellipse ± {100 * a:.3g} cm × ± {100 * b:.3g} cm, "
        f"long axis at {math.degrees(ellipse.angle) % 180:.0f}°"
    )
    return text.replace("-", "−")


# --- plain data


def as_dict(found: Validation) -> dict[str, Any]:
    """Verdicts and probabilities, ready for JSON."""
    j = found.judgement
    ellipse = j.ellipse
    return {
        "verdict": j.verdict,
        "why": j.why,
        "runs": j.runs,
        "asked": int(found.data.attrs["asked"]),
        "stopped": found.stopped,
        "seed": found.uncertain.seed,
        "any": _finding(j.any),
        "limits": {n: {"limit": limit_words(found, n), **_finding(f)} for n, f in j.limits.items()},
        "not_judged": dict(found.not_judged),
        "commands": [_command(c) for c in j.commands],
        "end": None
        if ellipse is None
        else {
            "centre": list(ellipse.centre),
            "semi_axes": list(ellipse.semi_axes),
            "angle": ellipse.angle,
            "probability": 0.95,
        },
        "worst_run": j.worst_run,
        "reasons": _reasons(found),
    }


def _reasons(found: Validation) -> dict[str, int]:
    """Why runs failed, and how many."""
    texts = [str(r) for r in found.data.reason.values[1:] if r]
    return {t: texts.count(t) for t in dict.fromkeys(texts)}


def _command(c: CommandFinding) -> dict[str, Any]:
    return {
        "number": c.number, "kind": c.kind, "note": c.note, "verdict": c.verdict, "runs": c.runs,
        "deciding": c.deciding, "any": _finding(c.any),
        "limits": {n: _finding(f) for n, f in c.limits.items()},
    }  # fmt: skip


def _finding(f: Finding) -> dict[str, Any]:
    c, s = f.chance, f.spot
    return {
        "verdict": f.verdict,
        "broken": None if c is None else c.broken,
        "runs": 0 if c is None else c.runs,
        "probability": None if c is None else c.share,
        "interval": None if c is None else [c.low, c.high],
        "nominal_broken": f.nominal_broken,
        "thinnest": None if s is None else {k: _finite(v) for k, v in vars(s).items()},
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
