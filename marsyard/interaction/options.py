"""Options of laws: what may stand in a scenario for each of them, as its folder says.

A folder of laws may have a module `options` with `OPTIONS`, a tuple of `Group`. The schema of
scenarios is made of them, by the kind of the folder's laws:

| kind | `Group("bristles", …)` | `Group("", …)` |
| --- | --- | --- |
| hard | `interaction.bristles` | fields of `interaction` itself |
| soil | `interaction.soil.bristles` | fields of `interaction.soil` itself |
| wheel | `interaction.wheel.bristles` | fields of `interaction.wheel` itself |

A law asks for its own with `scenario.interaction.options(Bristles)`, where `Bristles` is the model
of the group.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self, TypeVar, cast

from pydantic import Field, create_model

from marsyard.fields import Part
from marsyard.interaction import about

P = TypeVar("P", bound=Part)
#: the types of fields are known when it is called
_make: Any = create_model


class LawOptions(Part):
    """Options of a law."""

    def resolved(self) -> Self:
        """With the contents of what they name, soils of the library for example."""
        return self

    def acts_by(self) -> str:
        """The key because of which the law acts whatever law of the ground is chosen, or ''."""
        return ""


class Group(NamedTuple):
    """Where options stand, their model, and what the schema says of them."""

    key: str
    model: type[LawOptions]
    text: str = ""


def groups(kind: str) -> list[Group]:
    """The options of all laws of a kind, in the order of the laws."""
    order = list(about.laws(kind))
    found = []
    for folder in about.folders("options"):
        laws = about.laws_of(folder)
        if laws[0].kind == kind:
            module = importlib.import_module(f"{about.PACKAGE}.{folder}.options")
            found.append((order.index(laws[0].name), module.OPTIONS))
    return [group for _, own in sorted(found, key=lambda each: each[0]) for group in own]


def with_options(kind: str) -> Callable[[type[P]], type[P]]:
    """A decorator of models: puts in the options of all laws of a kind, after the model's own
    fields. Type checkers see the model as it is written; laws know their options by `Group.model`.
    """

    def extend(base: type[P]) -> type[P]:
        own: dict[str, Any] = {}
        beside: list[type[LawOptions]] = []
        for key, model, text in groups(kind):
            if key in base.model_fields or key in own:
                raise TypeError(f"the key '{key}' of {model.__module__} is taken by another one")
            if key:
                own[key] = (model, Field(model(), description=text))
            else:
                beside.append(model)
        name, told = base.__name__, {"__module__": base.__module__, "__doc__": base.__doc__}
        made = _make(name, __base__=base, **told, **own)
        if beside:
            told["__doc__"] = beside[0].__doc__
            made = _make(name, __base__=(*beside, made), **told)
        return cast(type[P], made)

    return extend


def inside(part: Part) -> Iterator[tuple[str, LawOptions]]:
    """All options in a part of a scenario, with their keys from there."""
    for name, value in part:
        if isinstance(value, LawOptions):
            yield name, value
            yield from ((f"{name}.{key}", each) for key, each in inside(value))


def resolve_options(part: P) -> P:
    """A part of a scenario with all options in it resolved; the same one if nothing changes."""
    update = {}
    for name, value in part:
        if isinstance(value, LawOptions) and (new := resolve_options(value)) is not value:
            update[name] = new
    made = part.model_copy(update=update) if update else part
    return made.resolved() if isinstance(made, LawOptions) else made
