"""The page inside an exported FMU, documentation/index.html: requirements, variables and
stepping.
"""

from __future__ import annotations

from html import escape

from marsyard.fmi.interface import Interface, Variable

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%;margin-bottom:2em}"
    "th,td{text-align:left;padding:.2em .8em .2em 0;border-bottom:1px solid #ccc;"
    "vertical-align:top}"
    "td:last-child,th:last-child{width:60%}code{font-size:95%}"
)
_NEEDS = """<h2>What it needs</h2>
<p>This FMU (FMI 2.0, co-simulation) has libraries for Linux and Windows, 64 bit. They load a
Python, in which marsyard must be installed: <code>pip install 'marsyard[fmi]'</code>. It was
written by marsyard {version}.</p>
<ul>
<li>A program that is itself Python uses its own. For others <code>PYTHONPATH</code> must lead to
marsyard and its packages, of the same Python version as the library that is loaded.</li>
<li>On Linux a program without Python says <code>undefined symbol: _Py_NoneStruct</code>. Start it
with <code>LD_PRELOAD=/path/to/libpython3.11.so</code>, the one of your Python.</li>
<li>The first step of a new installation compiles the physics, which takes minutes: run
<code>marsyard run rt0448/test-1</code> once before.</li>
</ul>
<h2>How it steps</h2>
<p>A communication step is a whole multiple of {period:g} s, over which inputs hold. One that
cannot be done is discarded, with the reason in the log: turn logging on. States can be saved,
restored and written to bytes. All numbers are in SI units, angles in radians; the world has z up.
</p>
"""


def documentation(interface: Interface) -> bytes:
    """The page's text."""
    groups = [
        ("Inputs", "input", "They hold over a step."),
        ("Parameters", "parameter", "Set before initialisation ends, fixed after that."),
        ("Outputs", "output", "Forces are means over the last step, all others of its end."),
    ]
    tables = "".join(
        f"<h2>{title}</h2>\n<p>{text}</p>\n{_table(members)}"
        for title, causality, text in groups
        if (members := [v for v in interface.variables if v.causality == causality])
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(interface.model)}</title><style>{_STYLE}</style></head>\n<body>\n"
        f"<h1>{escape(interface.model)}</h1>\n<p>{escape(interface.text)}</p>\n"
        + _NEEDS.format(version=escape(interface.version), period=interface.period)
        + tables
        + "</body></html>\n"
    ).encode()


def _table(variables: list[Variable]) -> str:
    with_start = variables[0].causality != "output"
    head = ["name", "unit", *(["start"] if with_start else []), "meaning"]
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in _cells(v, with_start)) + "</tr>\n"
        for v in variables
    )
    return f"<table><tr><th>{'</th><th>'.join(head)}</th></tr>\n{rows}</table>\n"


def _cells(v: Variable, with_start: bool) -> list[str]:
    start = [f"{v.start:g}" if isinstance(v.start, float) else escape(str(v.start))]
    name = f"<code>{escape(v.name)}</code>"
    return [name, escape(v.unit), *(start if with_start else []), escape(v.text)]
