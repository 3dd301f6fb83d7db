"""`marsyard export ROBOT --fmu`: a rover and its ground as an FMU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marsyard.scenario import Scenario

#: of a robot without a scenario [s]
RUN = {"run.control_period": 0.02, "run.duration": 10.0}


def write_fmu(
    what: str, out: Path | None, inputs: str, parameters: list[str], ground: str, soil: str,
    settings: list[str],
) -> Path:  # fmt: skip
    """Export a robot on a ground, or a scenario, and return the file."""
    from marsyard.fmi import export_fmu
    from marsyard.scenario import parse_setting

    changes = dict(parse_setting(text) for text in settings)
    scenario = _scenario(what, ground, soil, changes)
    named = _parameters(parameters)
    target = out or Path(
        f"{Path(what).stem if what.endswith('.yaml') else what}.fmu".replace("/", "-")
    )
    return export_fmu(scenario, target, inputs=inputs, parameters=named)


def _scenario(what: str, ground: str, soil: str, settings: dict[str, Any]) -> Scenario:
    from marsyard import library
    from marsyard.errors import InputError, suggest
    from marsyard.operations import base_scenario
    from marsyard.scenario import load_scenario

    rovers, scenarios = library.names("rovers"), library.names("scenarios")
    path = Path(what)
    is_robot = what in rovers or path.name == "robot.yaml" or (path / "robot.yaml").is_file()
    if is_robot:
        if soil and (":" in ground or ground in ("", "plane")):
            raise InputError("--soil: needs a --ground of kind terrain that names no soil yet")
        place = f"{ground}:{soil}" if soil else ground or "plane"
        return base_scenario(what, place, {**RUN, **settings})
    if ground or soil:
        raise InputError(
            f"--ground, --soil: need a robot, and '{what}' is not a rover of the library"
        )
    if what in scenarios or path.suffix in (".yaml", ".yml") or path.exists():
        return load_scenario(what, settings)
    raise InputError(
        f"'{what}' is neither a robot nor a scenario; {suggest(what, [*rovers, *scenarios])}"
    )


def _parameters(texts: list[str]) -> dict[str, str]:
    """Names in the FMU by path in the scenario."""
    from marsyard.errors import InputError

    named: dict[str, str] = {}
    for path, name in map(_parameter, texts):
        if path in named:
            raise InputError(f"--parameter {path}: is given twice; a value can have only one name")
        named[path] = name
    return named


def _parameter(text: str) -> tuple[str, str]:
    """'PATH=NAME' or 'PATH' as path and name."""
    from marsyard.errors import InputError

    path, sign, name = (part.strip() for part in text.partition("="))
    if not path or (sign and not name):
        raise InputError(f"--parameter: '{text}' is not of the form PATH or PATH=NAME")
    return path, name
