"""What a plug-in brings, as a part of a scenario (`marsyard.plugins`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from marsyard.fields import Part


class PluginUse(Part):
    """Something that a plug-in brings, with its options; `marsyard list` shows what there is."""

    name: str = Field(min_length=1, description="of the plug-in")
    options: dict[str, Any] = Field({}, description="its own; SI numbers")


class LawUse(PluginUse):
    """A law that a plug-in brings (`marsyard list laws`)."""

    bodies: tuple[str, ...] | None = Field(
        None,
        description="wheels, feet, tracks or bodies on which it acts, by name; the scenario's own "
        "laws act on all others. Default: it acts on all of them, in place of the ground",
    )


class PluginLayer(Part):
    """Heights made by a generator of a plug-in (`marsyard list generators`)."""

    kind: Literal["plugin"]
    generator: str = Field(min_length=1, description="name of the generator")
    options: dict[str, Any] = Field({}, description="its own; SI numbers")
    seed: int | None = Field(
        None, ge=0, description="of this layer alone; default: from the terrain's and its place"
    )
