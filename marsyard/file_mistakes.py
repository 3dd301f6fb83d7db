"""Errors of pydantic in a file (scenario, robot.yaml, terrain) as one sentence.

A sentence names the place by its dotted path, as a user would write it in `--set`, and what is
allowed there, with the nearest name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from marsyard.errors import clip, quote, suggest

_KINDS = {
    "plane", "sphere", "box", "mesh", "terrain", "torque", "speed", "fmu",
    "step", "bump", "sine", "fractal", "crater", "craters", "rocks", "array", "file",
    "circle", "polygon", "band", "path", "goal", "motors", "walking", "peristaltic", "rolling",
    "arc", "turn", "crab", "wait", "posture", "plugin",
}  # fmt: skip


#: those of them that are modes of a gait
_MODES = ("walking", "peristaltic", "rolling")


def sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with a file that `model` describes, where, and what is allowed."""
    first = _of_its_form(error.errors())
    location = [str(p) for p in first["loc"]]
    # pydantic names the kind of a ground, layer or place between its index and the key
    tag = ""
    for k in range(len(location) - 1, 0, -1):
        if location[k - 1].isdigit() and location[k] in _KINDS:
            tag = location.pop(k)
    # of a curve after that
    if location[:3] == ["interaction", "compliant", "curve"] and len(location) > 3:
        location.pop(3)
    # of a loop after its name
    if len(location) > 2 and location[0] == "loops":
        location.pop(2)
    # and marks which form of a value was taken
    location = [part for part in location if not _is_form(part)]
    where = ".".join(location)
    message = first["msg"].removeprefix("Value error, ")
    context = first.get("ctx", {})
    kind = first["type"]
    value = first.get("input")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        valid = _fields_at(model, location[:-1])
        parent = ".".join(location[:-1]) or "the file"
        if tag and location[-1] in valid:
            whose = "an FMU" if tag == "fmu" else f"a {tag}{' mode' if tag in _MODES else ''}"
            return f"{where}: is not a key of {whose}"
        valid = _fields_at(model, location[:-1], tag)
        return f"{where}: unknown key '{location[-1]}' in {parent}; {suggest(location[-1], valid)}"
    if kind == "missing" and location[-1].isdigit():
        return f"{'.'.join(location[:-1])}: has too few values"
    if kind == "missing":
        return f"{where}: is required and missing"
    if kind == "literal_error":
        valid = _quoted(context["expected"])
        return f"{where}: '{_text(value)}' is not allowed; {suggest(_text(value), valid)}"
    if kind.startswith("union_tag"):
        tags = context.get("expected_tags")
        allowed = _kinds_at(model, location) if tags is None else _quoted(str(tags))
        if context.get("discriminator") == "'mode'":
            given = clip(context.get("tag", ""))
            return f"{where}.mode: '{given}' is not allowed; {suggest(given, allowed)}"
        return f"{where}.kind: unknown or missing kind; valid: {', '.join(allowed)}"
    if kind in ("bool_parsing", "bool_type"):
        return f"{where}: '{_text(value)}' is not allowed; valid: true, false."
    bounds = {
        "greater_than": "above {gt}", "greater_than_equal": "at least {ge}",
        "less_than": "below {lt}", "less_than_equal": "at most {le}",
    }  # fmt: skip
    if kind in bounds:
        return f"{where} = {_text(value)}: must be {bounds[kind].format(**context)}"
    if kind in ("model_type", "dict_type", "dataclass_type"):
        return f"{where}: {quote(value)} is not a mapping; give keys and values, in curly brackets"
    if kind == "string_type" and isinstance(value, bool):
        words = "yes, on or true" if value else "no, off or false"
        return f"{where}: {words} without quotes is not a text; put it in quotes"
    if kind == "string_type":
        return f"{where}: {quote(value)} is not a text"
    if kind == "tuple_type":
        return f"{where}: {quote(value)} is not a list; give one, in square brackets"
    if kind == "float_type" or kind == "float_parsing":
        return f"{where}: {quote(value)} is not a number"
    if kind == "finite_number":
        return f"{where}: {quote(value)} is not a finite number"
    if kind.startswith("int_"):
        return f"{where}: {quote(value)} is not a whole number"
    if kind == "too_short":
        return f"{where}: holds {context['actual_length']}; at least {context['min_length']} needed"
    if kind == "too_long":
        return f"{where}: holds {context['actual_length']}; at most {context['max_length']} allowed"
    return f"{where}: {message}" if where else message


def _text(value: Any) -> str:
    """A value in a sentence: a text without quotes, and a part of a large one."""
    return clip(value) if isinstance(value, str) else quote(value)


def _is_form(part: str) -> bool:
    """Whether pydantic means one of several forms of a value, not a key."""
    return part.startswith(("→", "function-", "dict[")) or part in ("str", "TerrainSpec")


def _of_its_form(errors: Sequence[Any]) -> Any:
    """The error to tell: of a value with several forms, a mapping among them, the mapping's; and
    an unknown key rather than that another one is missing, for it is what was meant."""
    first = errors[0]
    *place, form = first["loc"] or ("",)
    if first["type"] == "missing":
        for other in errors[1:]:
            if other["type"] == "extra_forbidden" and list(other["loc"][:-1]) == place:
                return other
    if _is_form(str(form)) and isinstance(first.get("input"), Mapping):
        for other in errors[1:]:
            if list(other["loc"][: len(place)]) == place and len(other["loc"]) > len(first["loc"]):
                return other
    return first


def _quoted(text: str) -> list[str]:
    return [t.strip(" '\"") for t in text.replace(" or ", ", ").split(",") if t.strip(" '\"")]


def _fields_at(model: Any, location: list[str], tag: str = "") -> list[str]:
    """Names of the keys allowed at a place of the scenario; of one kind alone, if `tag` says so."""
    from dataclasses import fields, is_dataclass
    from typing import get_args

    model = _model_at(model, location)
    if isinstance(model, type) and issubclass(model, BaseModel):
        return list(model.model_fields)
    for kind in (model, *get_args(model)):
        if is_dataclass(kind):
            return [f.name for f in fields(kind)]
    if not get_args(model):
        return []
    models = _models_in(model)
    kinds = [m for m in models if "kind" in m.model_fields]
    if tag and kinds:
        of_kind = [m for m in kinds if tag in get_args(m.model_fields["kind"].annotation)]
        models = of_kind or [m for m in models if m not in kinds]
    return sorted({f for m in models for f in m.model_fields})


def _kinds_at(model: Any, location: list[str]) -> list[str]:
    """The kinds of what may stand at a place of the scenario."""
    from typing import get_args

    models = [m for m in _models_in(_model_at(model, location)) if "kind" in m.model_fields]
    return [str(kind) for m in models for kind in get_args(m.model_fields["kind"].annotation)]


def _model_at(model: Any, location: list[str]) -> Any:
    """The model at a place of the scenario, or the type of what may stand there."""
    for part in location:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            # a list or mapping: the index or key chooses one of its members
            inside = _models_in(model)
            if part.isdigit() or not inside:
                continue
            model = next((m for m in inside if part in m.model_fields), inside[0])
        if isinstance(model, type) and issubclass(model, BaseModel):
            if part in model.model_fields:
                annotation = model.model_fields[part].annotation
                inside = _models_in(annotation)
                model = inside[0] if len(inside) == 1 else annotation
    return model


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    from typing import get_args

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in get_args(annotation) for m in _models_in(a)]
