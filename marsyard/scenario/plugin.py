"""Parts of a scenario that are provided by plug-ins (`marsyard.plugins`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from marsyard.fields import Part


class PluginUse(Part):
    """Something that a plug-in brings, with its options; `marsyard list` shows what there is."""

    name: str = Field(min_length=1, description="name in the plug-in")
    options: dict[str, Any] = Field({}, description="options of the plug-in; numbers in SI")


class LawUse(PluginUse):
    """A law that a plug-in brings (`marsyard list laws`)."""

    bodies: tuple[str, ...] | None = Field(
        None,
        description="names of the wheels, feet, tracks or bodies on which it acts; the scenario's "
        "own laws act on all others. Default: all, in place of the ground"
        "",
    )


class PluginLayer(Part):
    """Heights made by a generator of a plug-in (`marsyard list generators`)."""

    kind: Literal["plugin"]
    generator: str = Field(min_length=1, description="name of the generator")
    options: dict[str, Any] = Field({}, description="options of the plug-in; numbers in SI")
    seed: int | None = Field(
        None,
        ge=0,
        description="seed of this layer; default: derived from the terrain's seed and "
        "the layer's index",
    )
