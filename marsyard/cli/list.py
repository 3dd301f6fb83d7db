"""`marsyard list`: what is in the library, and what plug-ins bring."""

from __future__ import annotations

import typer


def list_(
    kind: str = typer.Argument(
        "all",
        help="scenarios, rovers, soils, grounds, laws; of plug-ins: controllers, generators; or "
        "all of them.",
    ),
) -> None:
    """What is there, one line each; what plug-ins bring with their package in brackets. Of soils
    also the laws whose numbers are all published; the others run with assumed ones.

    Examples:  marsyard list   |   marsyard list rovers
    """
    from marsyard import library, plugins
    from marsyard.errors import InputError, suggest

    known = (*library.KINDS, *plugins.CALLED)
    if kind != "all" and kind not in known:
        raise InputError(f"list: unknown kind '{kind}'; {suggest(kind, [*known, 'all'])}")
    for one in known if kind == "all" else (kind,):
        rows = _entries(one) if one in library.KINDS else plugins.listed(one)
        rows = [*_laws(), *rows] if one == "laws" else rows
        if not rows and kind == "all":
            continue
        typer.echo(f"{one} ({len(rows)})")
        width = max((len(name) for name, _, _ in rows), default=0)
        for name, title, origin in rows:
            typer.echo(f"  {name:<{width}}  {title}{f'  [{origin}]' if origin else ''}")


def _laws() -> list[tuple[str, str, str]]:
    """Name, title and the key of a scenario that picks it, of every law of marsyard."""
    from marsyard.interaction import about

    kinds = [(each, about.KEYS[kind]) for kind in about.KINDS for each in about.laws(kind).values()]
    return [(each.name, each.title, key) for each, key in kinds]


def _entries(kind: str) -> list[tuple[str, str, str]]:
    """Name, title and origin of everything of a kind in the library."""
    from marsyard import library, plugins
    from marsyard.errors import InputError

    rows = []
    for name in library.names(kind):
        origin = library.origin_of(kind, name)
        try:
            title = str(library.read_yaml(library.path_of(kind, name)).get("title", ""))
        except InputError as error:
            if not origin:
                raise
            plugins.leave_out(f"{kind[:-1]} '{name}' of {origin} cannot be read: {error}")
            continue
        rows.append((name, f"{title}{_published(name) if kind == 'soils' else ''}", origin))
    return rows


def _published(soil: str) -> str:
    """The laws that can run on a soil with published numbers alone."""
    from marsyard.cli._soils import published_laws

    return f"  (published for: {', '.join(published_laws(soil)) or 'no law'})"
