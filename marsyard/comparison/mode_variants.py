"""Modes to compare: of the scenario's gait, with their defaults or custom names; and the scenario
of a mode on a slope.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marsyard.comparison.laws import check_names
from marsyard.comparison.mode_measures import planned
from marsyard.comparison.mode_slopes import Ramp
from marsyard.errors import InputError, suggest
from marsyard.scenario import Scenario, apply_setting, validate
from marsyard.scenario.short_names import full_paths, setting_names

#: names of modes
MODES = ("rolling", "peristaltic", "walking")


@dataclass(frozen=True)
class ModeVariant:
    """A mode under a name: fields of the mode, and settings of the scenario."""

    name: str
    mode: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def mode_variants(
    scenario: Scenario,
    modes: str | Sequence[str],
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str],
) -> tuple[ModeVariant, ...]:
    """The modes to compare, in their order."""
    own: dict[str, Any] = {}
    for m in scenario.gait.modes if scenario.gait else ():
        own.setdefault(m.mode, m)
    names = [n.strip() for n in modes.split(",")] if isinstance(modes, str) else list(modes)
    names = [n for n in names if n]
    if not names and not variants:
        names = list(own)
    out = [ModeVariant(n, _known(n, "modes"), _given(own.get(n))) for n in names]
    for name, settings in _named(variants):
        mode = _known(str(settings.pop("mode", "")), f"variant {name}: mode")
        known = _fields_of(mode)
        fields = {k: v for k, v in settings.items() if k in known}
        others = {k: v for k, v in settings.items() if k not in known}
        parameters = {"parameters": scenario.parameters}
        valid = setting_names(parameters)
        for key in others:
            if "." not in key and key not in valid:
                raise InputError(
                    f"variant {name}: '{key}' is neither of mode {mode} nor of a scenario; "
                    f"{suggest(key, [*known, *valid])}"
                )
        rest = full_paths(others, parameters, f"variant {name}")
        out.append(ModeVariant(name, mode, {**_given(own.get(mode)), **fields}, rest))
    check_names([v.name for v in out], "modes", MODES)
    return tuple(out)


def _known(mode: str, where: str) -> str:
    if mode not in MODES:
        raise InputError(f"{where}: unknown mode '{mode}'; {suggest(mode, MODES)}")
    return mode


def _given(mode: Any) -> dict[str, Any]:
    """What the scenario says of a mode, but for when to leave it."""
    if mode is None:
        return {}
    return mode.model_dump(mode="json", exclude_unset=True, exclude={"mode", "until"})


def _fields_of(mode: str) -> list[str]:
    from marsyard.scenario import gait

    kinds = {"rolling": gait.RollingMode, "peristaltic": gait.PeristalticMode}
    model: Any = kinds.get(mode, gait.WalkingMode)
    return [f for f in model.model_fields if f not in ("mode", "until")]


def _named(
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str],
) -> list[tuple[str, dict[str, Any]]]:
    from marsyard.comparison.laws import parse_variant

    if isinstance(variants, Mapping):
        return [(name, dict(settings)) for name, settings in variants.items()]
    parsed = [parse_variant(text) for text in variants]
    return [(v.name, dict(v.settings)) for v in parsed]


def scenario_at(base: Scenario, variant: ModeVariant, ramp: Ramp, slope: float) -> Scenario:
    """The scenario in a mode on a slope [rad]."""
    data: dict[str, Any] = base.model_dump(mode="json", exclude_unset=True, exclude={"study"})
    full = base.model_dump(mode="json", exclude={"study"})
    head = ramp.path.split(".")[0]
    if head not in data:
        data[head] = copy.deepcopy(full[head])
    gait = dict(data.get("gait") or {})
    gait.pop("repeat", None)
    data["gait"] = {**gait, "modes": [{**variant.fields, "mode": variant.mode}]}
    apply_setting(data, ramp.path, slope, "slopes:")
    data["robot"]["attitude"] = ramp.attitude(slope)
    for path, value in variant.settings.items():
        apply_setting(data, path, value, f"variant {variant.name}:")
    try:
        made = validate(data, f"{variant.name} at {math.degrees(slope):g}°")
    except InputError as error:
        raise InputError(f"mode {variant.name}: {error}") from None
    return made


def must_measure(made: Scenario, variant: ModeVariant) -> None:
    """Refuse a mode of which nothing can be measured."""
    assert made.gait is not None
    mode = made.gait.modes[0]
    if planned(mode)[0] == 0:
        raise InputError(f"mode {variant.name}: does not move; give it a speed or a stride")
    if made.run.duration < 3 * mode.period:
        raise InputError(
            f"mode {variant.name}: run.duration = {made.run.duration:g} s "
            f"contains fewer than three cycles of {mode.period:g} s; make it longer"
        )
