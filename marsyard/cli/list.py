"""`marsyard list`: the content of the library and of plug-ins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import typer

from marsyard.cli import _complete


class Row(NamedTuple):
    """A line of the list; `group` is the heading it stands under, `more` and the package that
    brings it stand in brackets."""

    name: str
    title: str
    group: str = ""
    more: str = ""
    origin: str = ""


#: headings of scenarios, each with the folders that belong there
_TOPICS = {
    "Rovers on soft ground": ("exomars", "eldorado2", "tracked/sand", "vehicle2001/sand",
                              "curiosity/ripple", "rashid/regolith", "yutu2"),
    "Rovers on rocks, steps and hard slopes": ("curiosity", "rashid", "sojourner", "roburoc",
                                                 "tracked", "vehicle2001", "leg2001", "compliant"),
    "Walking, and walking on wheels": ("walker", "hylos", "marsokhod", "modes"),
    "Drives to a goal, teleoperation, learning": ("control", "teleop", "learning"),
    "Wheels, plates and heaps in a rig": ("soil", "wheel"),
    "The tests of INRIA RT-0448": ("rt0448",),
    "Satellites": ("docking",),
}  # fmt: skip
_ROVERS = ("Rovers with wheels", "With legs or tracks", "Rigs and others")
_SOILS = {
    "regolith": "Regolith and its simulants", "sand": "Sand", "loam": "Loam", "clay": "Clay",
    "snow": "Snow", "": "Others",
}  # fmt: skip
_LAWS = {
    "soil": "Soft ground, all bodies",
    "wheel": "Soft ground, wheels only",
    "hard": "Hard ground",
}
_REMARKS = {
    "soils": "all laws run on all of them; for those in brackets every number is published",
    "laws": "in brackets the key of a scenario that selects the law",
}


def list_(
    kind: str = typer.Argument(
        "all",
        help="scenarios, rovers, soils, grounds, laws; of plug-ins: controllers, generators; or "
        "all of them.",
        autocompletion=_complete.kinds,
    ),
    grep: str = typer.Option(
        "", "--grep", metavar="TEXT",
        help="Show only entries whose name or title matches this text or regular expression.",
    ),
) -> None:  # fmt: skip
    """List the library in groups, one line per entry; entries of plug-ins name their package.

    All laws run on all soils. For the laws in brackets after a soil, every number they need is
    published; other laws assume missing numbers, with a warning.

    \b
    Examples:
      marsyard list
      marsyard list rovers
      marsyard list scenarios --grep slope
    """
    from marsyard import library, plugins
    from marsyard.errors import InputError, suggest

    known = (*library.KINDS, *plugins.CALLED)
    if kind != "all" and kind not in known:
        raise InputError(f"list: unknown kind '{kind}'; {suggest(kind, [*known, 'all'])}")
    wanted = _pattern(grep)
    found = {one: _rows(one) for one in (known if kind == "all" else (kind,))}
    shown = {one: [r for r in rows if wanted.search(_text(r))] for one, rows in found.items()}
    if grep and not any(shown.values()):
        names = [row.name for rows in found.values() for row in rows]
        raise InputError(f"--grep: nothing has '{grep}' in its name or title; "
                         f"{suggest(grep, names)}")  # fmt: skip
    for one, rows in shown.items():
        if rows or (kind != "all" and not grep):
            _print(one, rows)


def _pattern(text: str) -> re.Pattern[str]:
    from marsyard.errors import InputError

    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise InputError(f"--grep: '{text}' is not a regular expression ({error})") from None


def _text(row: Row) -> str:
    return f"{row.name}  {row.title}  {row.more}"


def _print(kind: str, rows: Sequence[Row]) -> None:
    remark = f"; {_REMARKS[kind]}" if kind in _REMARKS else ""
    typer.echo(f"{kind} ({len(rows)}){remark}")
    width = max((len(row.name) for row in rows), default=0)
    indent, group = "  ", ""
    for row in rows:
        if row.group and row.group != group:
            group = row.group
            typer.echo(f"  {group}")
            indent = "    "
        more = "".join(f"  [{text}]" for text in (row.more, row.origin) if text)
        typer.echo(f"{indent}{row.name:<{width}}  {row.title}{more}")


def _rows(kind: str) -> list[Row]:
    """Everything of a kind, in the order of its groups."""
    from marsyard import library, plugins

    if kind in library.KINDS:
        groups = [*_TOPICS, *_ROVERS, *_SOILS.values(), ""]
        return sorted(_entries(kind), key=lambda row: groups.index(row.group))
    ours, group = (_laws(), "Of plug-ins") if kind == "laws" else ([], "")
    found = plugins.listed(kind)
    return [*ours, *(Row(name, title, group, origin=origin) for name, title, origin in found)]


def _laws() -> list[Row]:
    """Every law of marsyard, with the key of a scenario that picks it."""
    from marsyard.interaction import about

    return [
        Row(law.name, law.title, _LAWS[kind], about.KEYS[kind])
        for kind in about.KINDS
        for law in about.laws(kind).values()
    ]


def _entries(kind: str) -> list[Row]:
    """Everything of a kind in the library."""
    from marsyard import library, plugins
    from marsyard.errors import InputError

    rows = []
    for name in library.names(kind):
        origin = library.origin_of(kind, name)
        try:
            data = library.read_yaml(library.path_of(kind, name))
        except InputError as error:
            if not origin:
                raise
            plugins.leave_out(f"{kind[:-1]} '{name}' of {origin} cannot be read: {error}")
            continue
        more = _published(name) if kind == "soils" else ""
        rows.append(Row(name, str(data.get("title", "")), _group(kind, name, data), more, origin))
    return rows


def _group(kind: str, name: str, data: dict[str, object]) -> str:
    """The heading that something stands under."""
    if kind == "scenarios":
        for part in (name, name.partition("/")[0]):
            for topic, folders in _TOPICS.items():
                if part in folders:
                    return topic
        return "Others"
    if kind == "rovers":
        wheels = data.get("wheels")
        if isinstance(wheels, dict) and len(wheels) > 1:
            return _ROVERS[0]
        legs = data.get("feet")
        walks = isinstance(legs, dict) and len(legs) > 1
        return _ROVERS[1] if walks or data.get("tracks") else _ROVERS[2]
    if kind == "soils":
        return _SOILS.get(str(data.get("kind") or ""), _SOILS[""])
    return ""


def _published(soil: str) -> str:
    """The laws that can run on a soil with published numbers alone."""
    from marsyard.cli._soils import published_laws

    return ", ".join(published_laws(soil))
