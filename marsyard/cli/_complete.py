"""Shell completion: names of the library, of runs and of settings.

Whatever goes wrong while a shell asks, nothing is offered and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path

Offer = Callable[[str], list[str]]


def _silent(function: Callable[[str], Iterable[str]]) -> Offer:
    """Offers what begins with the word; nothing after an error or a warning."""

    @wraps(function)
    def offer(incomplete: str) -> list[str]:
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return [name for name in function(incomplete) if name.startswith(incomplete)]
        except Exception:
            return []

    return offer


def _names(*kinds: str) -> list[str]:
    from marsyard import library

    return [name for kind in kinds for name in library.names(kind)]


@_silent
def scenarios(incomplete: str) -> Iterable[str]:
    return _names("scenarios")


@_silent
def rovers(incomplete: str) -> Iterable[str]:
    return _names("rovers")


@_silent
def soils(incomplete: str) -> Iterable[str]:
    return _names("soils")


@_silent
def grounds(incomplete: str) -> Iterable[str]:
    return _names("grounds")


@_silent
def entries(incomplete: str) -> Iterable[str]:
    """Everything in the library, for `show`."""
    return _names("scenarios", "rovers", "soils", "grounds")


@_silent
def scenarios_and_rovers(incomplete: str) -> Iterable[str]:
    return _names("scenarios", "rovers")


@_silent
def kinds(incomplete: str) -> Iterable[str]:
    """What `list` lists."""
    from marsyard import library, plugins

    return (*library.KINDS, *plugins.CALLED)


@_silent
def ground_and_soil(incomplete: str) -> Iterable[str]:
    """'fractal_mild', then 'fractal_mild:dry_sand'."""
    ground, colon, _ = incomplete.partition(":")
    return [f"{ground}:{soil}" for soil in _names("soils")] if colon else _names("grounds")


@_silent
def soil_list(incomplete: str) -> Iterable[str]:
    """Soils separated by commas."""
    return _after_comma(incomplete, _names("soils"))


@_silent
def laws(incomplete: str) -> Iterable[str]:
    """Laws separated by commas."""
    from marsyard.interaction import about

    names = [name for kind in about.KINDS for name in about.laws(kind) if name != "none"]
    return _after_comma(incomplete, ["as_is", *names])


@_silent
def settings(incomplete: str) -> Iterable[str]:
    """Short names of settings, ready for the value; names of worlds for gravity."""
    key, sign, _ = incomplete.partition("=")
    if sign:
        from marsyard.units import WORLDS

        return [f"gravity={world}" for world in WORLDS] if key == "gravity" else []
    from marsyard.scenario.short_names import setting_names

    return [f"{name}=" for name in setting_names({})]


@_silent
def worlds(incomplete: str) -> Iterable[str]:
    from marsyard.units import WORLDS

    return WORLDS


@_silent
def runs(incomplete: str) -> Iterable[str]:
    """Folders of runs, in runs/."""
    return [path.parent.as_posix() for path in sorted(Path("runs").glob("*/results.nc"))]


def _after_comma(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, _ = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name not in taken]
