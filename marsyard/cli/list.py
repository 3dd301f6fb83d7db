"""`marsyard list`: what is in the library."""

from __future__ import annotations

import typer


def list_(
    kind: str = typer.Argument("all", help="scenarios, rovers, soils, grounds, or all of them."),
) -> None:
    """What is there, one line each.

    Examples:  marsyard list   |   marsyard list rovers
    """
    from marsyard import library
    from marsyard.errors import InputError, suggest

    if kind != "all" and kind not in library.KINDS:
        raise InputError(f"list: unknown kind '{kind}'; {suggest(kind, [*library.KINDS, 'all'])}")
    for one in library.KINDS if kind == "all" else (kind,):
        names = library.names(one)
        typer.echo(f"{one} ({len(names)})")
        width = max((len(n) for n in names), default=0)
        for name in names:
            title = library.read_yaml(library.path_of(one, name)).get("title", "")
            typer.echo(f"  {name:<{width}}  {title}")
