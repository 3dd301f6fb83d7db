"""Plug-ins of other packages, found through entry points and named with their package.

    marsyard.library       a package whose folder holds rovers, soils, grounds, scenarios as
                           `marsyard/library` does; they are used by their names
    marsyard.laws          f(scenario, **options) -> Interaction, a law in Python; or a class made
                           of `marsyard.interaction.law.Law`, a compiled one;   interaction.plugin
    marsyard.controllers   f(scenario, **options) -> Control;       controller
    marsyard.grounds       f(random, **options) -> heights(x, y) [m];   a layer of kind plugin

`Interaction` and `Control` are the ports of `marsyard.ports`. A function is asked once for
every simulation, so that what it gives may have a memory.

A plug-in that cannot be used (it fails when imported, is of the wrong kind, has a name that is
taken) is left out with one warning that names its package; everything else works on.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from marsyard.errors import InputError, format_exception, suggest

#: what can be called, by the name that lists use, and their groups of entry points
CALLED = {
    "laws": "marsyard.laws",
    "controllers": "marsyard.controllers",
    "generators": "marsyard.grounds",
}
LIBRARY = "marsyard.library"
#: what each is given first
_FIRST = {"laws": "scenario", "controllers": "scenario", "generators": "random"}
_ONE = {"laws": "law", "controllers": "controller", "generators": "generator"}


@dataclass(frozen=True)
class Plugin:
    """One entry point and the package it is of."""

    name: str
    origin: str
    entry: EntryPoint

    def load(self) -> Any:
        """The object it stands for; an InputError in one sentence if there is none to be had."""
        try:
            made = self.entry.load()
        except Exception as error:
            raise InputError(
                f"plug-in '{self.name}' of {self.origin} cannot be loaded "
                f"({format_exception(error)})"
            ) from error
        if not callable(made):
            raise InputError(
                f"plug-in '{self.name}' of {self.origin} is of type {type(made).__name__}, "
                "not a function"
            )
        return made


def found(kind: str) -> dict[str, Plugin]:
    """All plug-ins that can be called of a kind (`CALLED`), by name; nothing is imported."""
    return dict(_found(CALLED[kind]))


@cache
def _found(group: str) -> Mapping[str, Plugin]:
    plugins: dict[str, Plugin] = {}
    # in the order of their packages' names, so that the same one wins everywhere
    for entry in sorted(entry_points(group=group), key=lambda e: (_origin(e), e.name, e.value)):
        plugin = Plugin(entry.name, _origin(entry), entry)
        known = plugins.setdefault(entry.name, plugin)
        if known is not plugin and known.entry.value != entry.value:
            leave_out(
                f"plug-in '{entry.name}' of {plugin.origin} is left out: {known.origin} provides "
                f"one of that name"
            )
    return plugins


def _origin(entry: EntryPoint) -> str:
    dist = entry.dist
    return "an unknown package" if dist is None else f"{dist.name} {dist.version}"


def versions() -> dict[str, str]:
    """Versions of all packages that bring something, by name; nothing is imported."""
    entries = [e for group in (*CALLED.values(), LIBRARY) for e in entry_points(group=group)]
    known = {e.dist.name: e.dist.version for e in entries if e.dist is not None}
    return dict(sorted(known.items()))


def leave_out(sentence: str) -> None:
    """Say that something of a plug-in is not used."""
    warnings.warn(sentence, UserWarning, stacklevel=2)


def listed(kind: str) -> list[tuple[str, str, str]]:
    """Name, first line of the description and origin of all plug-ins of a kind that load."""
    rows = []
    for name, plugin in sorted(found(kind).items()):
        try:
            text = inspect.getdoc(plugin.load()) or ""
        except InputError as error:
            leave_out(f"{error}; it is left out")
            continue
        rows.append((name, text.strip().split("\n")[0], plugin.origin))
    return rows


def make(kind: str, name: str, options: Mapping[str, Any], first: Any, field: str) -> Any:
    """What the plug-in of a name makes, from `first` and options; `field` begins errors."""
    known = found(kind)
    one = _ONE[kind]
    if name not in known:
        raise InputError(f"{field}: no plug-in provides a {one} '{name}'; {suggest(name, known)}")
    function = known[name].load()
    who = f"{field}: {one} {named(kind, name)}"
    _check_options(function, options, first, who, _FIRST[kind])
    try:
        made = function(first, **options)
    except InputError as error:
        raise InputError(f"{who}: {error}") from None
    except Exception as error:
        raise InputError(f"{who}: {format_exception(error)}") from error
    if not callable(made):
        raise InputError(f"{who} returned a {type(made).__name__}, which cannot be called")
    return made


def law_class(name: str, field: str) -> Any:
    """The class of a compiled law of a plug-in, or None if its law is one in Python."""
    known = found("laws")
    if name not in known:
        raise InputError(f"{field}: no plug-in provides a law '{name}'; {suggest(name, known)}")
    made = known[name].load()
    return made if inspect.isclass(made) and hasattr(made, "build") else None


def build_law(name: str, options: Mapping[str, Any], place: Any, field: str) -> Any:
    """A compiled law of a plug-in in a world."""
    kind = law_class(name, field)
    who = f"{field}: law {named('laws', name)}"
    _check_options(kind.build, options, place, who, "place")
    try:
        return kind.build(place, **options)
    except InputError as error:
        raise InputError(f"{who}: {error}") from None
    except Exception as error:
        raise InputError(f"{who}: {format_exception(error)}") from error


def named(kind: str, name: str) -> str:
    """A plug-in as errors name it: 'dunes' of marsyard-dunes 0.1.0."""
    return f"'{name}' of {found(kind)[name].origin}"


def _check_options(
    function: Callable[..., Any], options: Mapping[str, Any], first: Any, who: str, called: str
) -> None:
    """Refuse options that the function does not take, and say which it does; and a function that
    does not take what it is given first."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind_partial(first)
    except TypeError:
        raise InputError(
            f"{who} must take {called} as its first argument: f({called}, **options)"
        ) from None
    try:
        signature.bind(first, **options)
    except TypeError as error:
        names = list(signature.parameters)[1:]
        raise InputError(f"{who}: {error}; options: {', '.join(names) or 'none'}") from None


# --- libraries of data


@cache
def libraries() -> tuple[tuple[str, Path], ...]:
    """Origin and folder of every library that a plug-in brings."""
    folders = []
    for name, plugin in _found(LIBRARY).items():
        try:
            folders.append((plugin.origin, _folder(plugin)))
        except InputError as error:
            leave_out(f"the library '{name}' of {plugin.origin} is left out: {error}")
    return tuple(folders)


def _folder(plugin: Plugin) -> Path:
    """The folder of the package that an entry point names, without running its code."""
    try:
        spec = find_spec(plugin.entry.module)
    except Exception as error:
        raise InputError(format_exception(error)) from None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    folder = next((Path(p) for p in places if Path(p).is_dir()), None)
    if folder is None or plugin.entry.attr:
        raise InputError(f"'{plugin.entry.value}' is not a package with a folder")
    return folder


def forget() -> None:
    """Look for plug-ins anew at the next use, for packages installed meanwhile."""
    _found.cache_clear()
    libraries.cache_clear()
