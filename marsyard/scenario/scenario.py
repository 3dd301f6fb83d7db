"""Reading scenarios: library names, files, `extends`, overrides, and errors in one sentence."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from marsyard import library
from marsyard.errors import InputError, suggest
from marsyard.scenario.schema import Scenario


def load_scenario(name: str | Path, settings: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario of the library by name, or from a YAML file, with settings applied on top.

    `settings` maps dotted paths to values, e.g. {"interaction.friction": 0.5, "run.step": "1 ms"}.
    """
    data = scenario_data(name)
    for key, value in (settings or {}).items():
        apply_setting(data, key, value)
    return validate(data, str(name))


def scenario_data(name: str | Path) -> dict[str, Any]:
    """The merged raw data of a scenario and of those it extends."""
    return _load(_path(str(name), None), [])


def validate(data: Mapping[str, Any], name: str = "scenario") -> Scenario:
    """The scenario that `data` describes, or an InputError with one sentence per first mistake."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error)}") from None


def parse_setting(text: str, what: str = "--set") -> tuple[str, Any]:
    """'path.to.value=…' as (path, value); the value is read as YAML. `what` begins sentences."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"{what}: '{text}' is not of the form path.to.value=VALUE")
    try:
        return key.strip(), yaml.load(value, Loader=library._Loader)
    except yaml.YAMLError:
        raise InputError(f"{what} {key.strip()}: '{value}' is not valid YAML") from None


def dump(scenario: Scenario) -> str:
    """The resolved scenario as YAML, every value in SI."""
    data = scenario.model_dump(mode="json")
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


# --- files


def _path(name: str, base: Path | None) -> Path:
    if name in library.names("scenarios"):
        return library.path_of("scenarios", name)
    candidate = Path(name) if base is None else base / name
    if candidate.suffix in (".yaml", ".yml") or candidate.exists():
        if candidate.is_dir():
            inner = candidate / "scenario.yaml"
            if inner.exists():
                return inner
            raise InputError(f"{candidate}: is a folder without a scenario.yaml")
        if not candidate.exists():
            raise InputError(f"{candidate}: no such file")
        return candidate
    raise InputError(f"unknown scenario '{name}'; {suggest(name, library.names('scenarios'))}")


def _load(path: Path, seen: list[Path]) -> dict[str, Any]:
    if path in seen:
        chain = " → ".join(p.name for p in seen)
        raise InputError(f"{path.name}: extends itself, through {chain}")
    data = library.read_yaml(path)
    _resolve_files(data, path.parent)
    parent = data.pop("extends", None)
    if parent is None:
        return data
    if not isinstance(parent, str):
        raise InputError(f"{path.name}: extends: give the name of one scenario")
    merged = _load(_path(parent, path.parent), [*seen, path])
    return _merge(merged, data)


def _resolve_files(data: dict[str, Any], folder: Path) -> None:
    # paths of meshes and robots count from the scenario's own folder
    ground = data.get("ground")
    for item in ground if isinstance(ground, list) else []:
        if isinstance(item, dict) and isinstance(item.get("file"), str):
            item["file"] = str((folder / item["file"]).absolute())
    robot = data.get("robot")
    if isinstance(robot, dict) and isinstance(robot.get("name"), str):
        path = folder / robot["name"]
        if path.is_file() or (path / "robot.yaml").is_file():
            robot["name"] = str(path.absolute())


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`: mappings merge, everything else (lists too) replaces."""
    out = copy.deepcopy(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(out.get(key), dict):
            out[key] = _merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


def apply_setting(data: dict[str, Any], key: str, value: Any, what: str = "--set") -> None:
    """Put `value` at the dotted path `key` of a scenario's data; `what` begins error sentences."""
    parts = key.split(".")
    known = data.get("parameters") or {}
    if parts[0] == "parameters" and len(parts) == 2 and isinstance(known, dict):
        # a new one would be used nowhere
        if parts[1] not in known:
            raise InputError(f"{what} {key}: no such parameter; {suggest(parts[1], known)}")
    at: Any = data
    for k, part in enumerate(parts):
        last = k == len(parts) - 1
        if isinstance(at, list):
            if not part.isdigit() or int(part) >= len(at):
                raise InputError(f"{what} {key}: '{part}' is not an index from 0 to {len(at) - 1}")
            if last:
                at[int(part)] = value
            else:
                at = at[int(part)]
        elif isinstance(at, dict):
            if last:
                at[part] = value
            else:
                at = at.setdefault(part, {})
        else:
            raise InputError(f"{what} {key}: '{'.'.join(parts[:k])}' holds a value, not a group")


# --- errors in one sentence

_KINDS = {
    "plane", "sphere", "box", "mesh", "terrain", "torque", "speed",
    "step", "bump", "sine", "fractal", "crater", "craters", "rocks", "array", "file",
    "circle", "polygon", "path", "goal", "motors", "walking", "peristaltic", "rolling",
}  # fmt: skip


#: those of them that are modes of a gait
_MODES = ("walking", "peristaltic", "rolling")


def sentence(error: ValidationError, model: type[BaseModel] = Scenario) -> str:
    """What is wrong with a file, where, and what is allowed."""
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
            return f"{where}: does not belong to a {tag}{' mode' if tag in _MODES else ''}"
        return f"{where}: unknown key '{location[-1]}' in {parent}; {suggest(location[-1], valid)}"
    if kind == "missing" and location[-1].isdigit():
        return f"{'.'.join(location[:-1])}: has too few values"
    if kind == "missing":
        return f"{where}: is required and missing"
    if kind == "literal_error":
        valid = _quoted(context["expected"])
        return f"{where}: '{value}' is not allowed; {suggest(str(value), valid)}"
    if kind.startswith("union_tag"):
        allowed = _quoted(str(context.get("expected_tags", "plane, sphere, box, mesh")))
        if context.get("discriminator") == "'mode'":
            given = str(context.get("tag", ""))
            return f"{where}.mode: '{given}' is not allowed; {suggest(given, allowed)}"
        return f"{where}.kind: unknown or missing kind; valid: {', '.join(allowed)}"
    if kind in ("bool_parsing", "bool_type"):
        return f"{where}: '{value}' is not allowed; valid: true, false."
    bounds = {
        "greater_than": "above {gt}", "greater_than_equal": "at least {ge}",
        "less_than": "below {lt}", "less_than_equal": "at most {le}",
    }  # fmt: skip
    if kind in bounds:
        return f"{where} = {value}: must be {bounds[kind].format(**context)}"
    if kind in ("model_type", "dict_type", "dataclass_type"):
        return f"{where}: {value!r} is not a mapping; give keys and values, in curly brackets"
    if kind == "string_type":
        return f"{where}: {value!r} is not a text"
    if kind == "tuple_type":
        return f"{where}: {value!r} is not a list; give one, in square brackets"
    if kind == "float_type" or kind == "float_parsing":
        return f"{where}: {value!r} is not a number"
    if kind == "too_short":
        return f"{where}: holds {context['actual_length']}; at least {context['min_length']} needed"
    return f"{where}: {message}" if where else message


def _is_form(part: str) -> bool:
    """Whether pydantic means one of several forms of a value, not a key."""
    return part.startswith(("→", "function-", "dict[")) or part in ("str", "TerrainSpec")


def _of_its_form(errors: Sequence[Any]) -> Any:
    """The error to tell: of a value with several forms, a mapping among them, the mapping's."""
    first = errors[0]
    *place, form = first["loc"] or ("",)
    if _is_form(str(form)) and isinstance(first.get("input"), Mapping):
        for other in errors[1:]:
            if list(other["loc"][: len(place)]) == place and len(other["loc"]) > len(first["loc"]):
                return other
    return first


def _quoted(text: str) -> list[str]:
    return [t.strip(" '\"") for t in text.replace(" or ", ", ").split(",") if t.strip(" '\"")]


def _fields_at(model: Any, location: list[str]) -> list[str]:
    """Names of the keys allowed at a place of the scenario."""
    from dataclasses import fields, is_dataclass
    from typing import get_args

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
    if isinstance(model, type) and issubclass(model, BaseModel):
        return list(model.model_fields)
    for kind in (model, *get_args(model)):
        if is_dataclass(kind):
            return [f.name for f in fields(kind)]
    return sorted({f for m in _models_in(model) for f in m.model_fields}) if get_args(model) else []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    from typing import get_args

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in get_args(annotation) for m in _models_in(a)]
