"""Laws and variants: their settings of a scenario.

`LAWS` is made of what the laws say of themselves (`interaction.about`). A law sets some paths of
the scenario and, if it is one of rigid contact, puts rigid ground of the same shape in place of the
soil (see `rigid_ground`). Where there is hard ground beside the soil, rocks in sand, such a law is
that of the rocks and the soil stays. The order is: the scenario, what was set for all (`--set`),
the law, what a variant sets itself.

A variant is a name and settings, in text "NAME: path=value, path=value". The path `law` stands for
a law of the table; without it the scenario stays as it is but for the settings:

    "μ 0.4: interaction.friction=0.4"
    "ding, 44 N: law=ding, interaction.wheel.coefficients.mean_load=44.1"

A wheel model keeps exit rule, shares, rut and damping of the scenario's `interaction.wheel`, and of
its coefficients those it knows: so one --set can give the coefficients of several models.
`rigid_slip` takes `interaction.friction` where no coefficient of friction is given.

Laws of plug-ins are compared by their names too, with the options and bodies that the scenario
gives them, if it does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marsyard import plugins
from marsyard.errors import InputError, suggest
from marsyard.interaction import about
from marsyard.scenario import Scenario, apply_setting, parse_setting, resolve, validate
from marsyard.scenario.short_names import full_paths


@dataclass(frozen=True)
class Law:
    """Name and settings of a law, and whether it needs soil or rigid ground."""

    title: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    soil: bool = False
    rigid: bool = False


def _made(kind: str) -> dict[str, Law]:
    return {
        name: Law(each.title, each.sets, soil=kind != about.HARD, rigid=kind == about.HARD)
        for name, each in about.laws(kind).items()
        if each is not about.NONE
    }


#: law → changes of a scenario's data
LAWS: dict[str, Law] = {
    "as_is": Law("the unchanged scenario"),
    **{name: law for kind in about.KINDS for name, law in _made(kind).items()},
}


def known_laws() -> dict[str, Law]:
    """`LAWS`, and the laws of plug-ins."""
    out = dict(LAWS)
    for name, plugin in plugins.found("laws").items():
        sets = {"interaction.plugin.name": name, "run.integrator": "moreau_jean"}
        out.setdefault(name, Law(f"plug-in of {plugin.origin}", sets))
    return out


@dataclass(frozen=True)
class Variant:
    """One side of a comparison: its name, law, and settings by dotted path."""

    name: str
    law: str = "as_is"
    settings: Mapping[str, Any] = field(default_factory=dict)


# --- reading


def variants_of(
    laws: str | Sequence[str] = (),
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    known: Iterable[str] | None = None,
) -> tuple[Variant, ...]:
    """The requested variants: laws by name, then named settings, as texts or mappings."""
    known = known_laws() if known is None else known
    names = [n.strip() for n in laws.split(",")] if isinstance(laws, str) and laws else list(laws)
    known, out = list(known), []
    for name in names:
        _check_law(name, "laws", known)
        out.append(Variant(name, name))
    if isinstance(variants, Mapping):
        out += [_from_mapping(name, settings, known) for name, settings in variants.items()]
    else:
        out += [parse_variant(text, known) for text in variants]
    check_names([v.name for v in out], "laws", known)
    return tuple(out)


def check_names(names: list[str], field: str, known: Iterable[str]) -> None:
    """There is something to compare, and each thing once."""
    if not names:
        raise InputError(f"{field}: nothing to compare; choose from {', '.join(known)}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{field}: '{name}' appears twice; names must differ")


def parse_variant(text: str, known: Iterable[str] | None = None) -> Variant:
    """ "NAME: path=value, path=value" as a variant; values are read as YAML."""
    known = known_laws() if known is None else known
    name, colon, rest = text.partition(":")
    if not colon or not name.strip() or not rest.strip():
        raise InputError(
            f"--variant: '{text}' must be NAME: PATH=VALUE, …, e.g. 'slick: "
            "interaction.friction=0.3'"
        )
    parts = [p.strip() for p in _split(rest)]
    settings = dict(parse_setting(part, f"--variant {name.strip()}") for part in parts)
    return _from_mapping(name.strip(), settings, known)


def _from_mapping(name: str, settings: Mapping[str, Any], known: Iterable[str]) -> Variant:
    own = dict(settings)
    law = str(own.pop("law", "as_is"))
    _check_law(law, f"variant {name}: law", [*known, "as_is"])
    return Variant(name, law, own)


def _check_law(law: str, where: str, known: Sequence[str]) -> None:
    if law not in known:
        raise InputError(f"{where}: unknown law '{law}'; {suggest(law, dict.fromkeys(known))}")


def _split(text: str) -> list[str]:
    """Parts between commas that stand in no bracket or quotation."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


# --- applying


def scenario_under(
    data: Mapping[str, Any], variant: Variant, name: str, files: Path | None = None
) -> tuple[Scenario, dict[str, Any]]:
    """The scenario that `data` describes under a variant, and what the variant changed.

    `files` is a folder for the mesh that stands for rough terrain under a law of rigid contact.
    """
    law = known_laws()[variant.law]
    own: dict[str, Any] = copy.deepcopy(dict(data))
    try:
        _fits(law, own)
        changes = {k: v for k, v in law.sets.items() if _at(own, k) != v}
        if "interaction.plugin.name" in changes:
            _set(own, "interaction.plugin", None)  # options are those of another law
        for path, value in law.sets.items():
            _set(own, path, value)
        if law.soil and law.sets.get("interaction.wheel.model"):
            changes |= _coefficients(own, law.sets["interaction.wheel.model"])
        if law.rigid and not _has_hard_ground(own):
            from marsyard.comparison.rigid_ground import make_rigid

            changes |= make_rigid(own, files)
        settings = full_paths(variant.settings, own)
        for path, value in settings.items():
            _set(own, path, value)
        return resolve(validate(own, name)), {**changes, **settings}
    except InputError as error:
        raise InputError(f"{variant.name}: {error}") from None


def _fits(law: Law, data: Mapping[str, Any]) -> None:
    ground = data.get("ground") or []
    kinds = [str(g.get("kind")) for g in ground if isinstance(g, Mapping)]
    if law.soil and "terrain" not in kinds:
        have = ", ".join(kinds) or "no ground"
        raise InputError(
            f"the law needs ground of kind terrain, and the scenario has {have}; laws of hard "
            f"ground are {', '.join(_made(about.HARD))}"
        )


def _has_hard_ground(data: Mapping[str, Any]) -> bool:
    ground = data.get("ground") or []
    return any(isinstance(g, Mapping) and g.get("kind") != "terrain" for g in ground)


def _at(data: Any, path: str) -> Any:
    """The value at a path of a scenario's data, or its default where it is not given."""
    model: Any = Scenario
    default = None
    for part in path.split("."):
        known = getattr(model, "model_fields", {}).get(part)
        default = None if known is None else known.default
        model = None if known is None else known.annotation
        data = data.get(part) if isinstance(data, Mapping) else None
    return default if data is None and isinstance(default, str | float) else data


def _set(data: dict[str, Any], path: str, value: Any) -> None:
    # a group that was switched off begins anew
    head = path.split(".")
    for k in range(1, len(head)):
        above = ".".join(head[:k])
        if k > 1 and _at(data, above) is None and isinstance(_at(data, head[0]), dict | None):
            apply_setting(data, above, {}, "variant")
    apply_setting(data, path, value, "variant")


def _coefficients(data: dict[str, Any], model: str) -> dict[str, Any]:
    """Keep the coefficients a model knows; give rigid_slip the scenario's friction."""
    from marsyard.interaction.wheel_models import MODELS

    if model not in MODELS:
        return {}
    wheel = data["interaction"]["wheel"]
    given = wheel.get("coefficients") or {}
    anyone = {name for _, known, _ in MODELS.values() for name in known}
    # a name that no model knows stays, so that the error is said
    own = {k: v for k, v in given.items() if k in MODELS[model][1] or k not in anyone}
    wheel["coefficients"] = own
    if model == "rigid_slip" and "friction" not in own:
        friction = _at(data, "interaction.friction")
        own["friction"] = friction
        return {"interaction.wheel.coefficients.friction": friction}
    return {}
