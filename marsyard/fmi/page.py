"""The page inside an exported FMU, documentation/index.html: requirements, variables and
stepping.
"""

from __future__ import annotations

from marsyard.drawing.page import templates
from marsyard.fmi.interface import Interface, Variable


def documentation(interface: Interface) -> bytes:
    """The page's text."""
    groups = [
        ("Inputs", "input", "They hold over a step."),
        ("Parameters", "parameter", "Set before initialisation ends, fixed after that."),
        ("Outputs", "output", "Forces are means over the last step, all others of its end."),
    ]
    tables = [
        (title, about, *_table(members))
        for title, causality, about in groups
        if (members := [v for v in interface.variables if v.causality == causality])
    ]
    page = templates().get_template("fmu.html").render(interface=interface, tables=tables)
    return page.encode()


def _table(variables: list[Variable]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; only what is set has a start."""
    if variables[0].causality == "output":
        return ["name", "unit", "meaning"], [[v.name, v.unit, v.text] for v in variables]
    starts = (f"{v.start:g}" if isinstance(v.start, float) else str(v.start) for v in variables)
    rows = [[v.name, v.unit, s, v.text] for v, s in zip(variables, starts, strict=True)]
    return ["name", "unit", "start", "meaning"], rows
