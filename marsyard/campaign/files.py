"""Reading the file of a campaign and the scenario it names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from marsyard import library
from marsyard.errors import InputError
from marsyard.file_mistakes import sentence
from marsyard.files import exists
from marsyard.results.study_checks import variable_name
from marsyard.scenario import scenario_data
from marsyard.study.axes import label_of, name_of
from marsyard.units import Time

Study = TypeVar("Study", bound=BaseModel)


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


#: paths of a scenario: one, or a list of them
Paths = Annotated[tuple[str, ...], BeforeValidator(_several)]
#: keys that every campaign has
TimeLimit = Annotated[
    Annotated[Time, Field(gt=0)] | None,
    Field(
        description="wall-clock limit of each run: a run that takes longer is stopped and counts "
        "as failed; results then depend on the machine"
    ),
]
Seed = Annotated[int, Field(ge=0, description="seed of all random draws")]


def made(kind: type[Study], data: Mapping[str, Any], name: str) -> Study:
    """The study that `data` describes, or an InputError that says what is wrong with it."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error, kind)}") from None


def read(kind: type[Study], study: str | Path | Mapping[str, Any]) -> tuple[Study, Path, str]:
    """A study from its file, or from the same as a mapping; the folder from which its paths count,
    and its name."""
    if isinstance(study, Mapping):
        return made(kind, study, "study"), Path(), "study"
    file = Path(study)
    if file.is_dir():
        raise InputError(f"{file}: is a folder; give the study's YAML file")
    return made(kind, library.read_yaml(file), file.name), file.parent, file.name


def data_of(scenario: str, folder: Path) -> dict[str, Any]:
    """The data of the scenario a study names; a file beside the study goes before others."""
    beside = folder / scenario
    if scenario not in library.names("scenarios") and exists(beside):
        return scenario_data(beside)
    return scenario_data(scenario)


def refuse_names(outputs: Sequence[str], reserved: Sequence[str]) -> None:
    """Refuse outputs called like one another, or like what the data set has besides them."""
    seen: dict[str, str] = {}
    for output in outputs:
        name = variable_name(output)
        if name in reserved:
            raise InputError(f"outputs: '{name}' is reserved in the results; rename '{output}'")
        if name in seen:
            raise InputError(
                f"outputs: '{seen[name]}' and '{output}' are both '{name}' in the results; "
                "rename one"
            )
        seen[name] = output


def name_and_label(key: str, path: str, label: str) -> tuple[str, str]:
    """What data sets and figures call a thing that a study varies: by its key, or by its first path
    where the key is a path; a label that is given goes before."""
    if "." in key:
        return name_of(path), label or label_of(path)
    return re.sub(r"\W+", "_", key), label or key.replace("_", " ")


def refuse_twice(paths: Mapping[str, Sequence[str]]) -> None:
    """Refuse a path that is varied under two names."""
    driven = [path for many in paths.values() for path in many]
    for path in driven:
        if driven.count(path) > 1:
            raise InputError(f"vary: '{path}' is varied twice; remove one of them")
