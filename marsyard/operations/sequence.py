"""Command sequences, independent of rover and ground.

A sequence is a YAML file, or a `Sequence`. Its commands have the shapes of a scenario's
`drive.commands`, its limits those of `drive.abort_limits`:

    title: To the outcrop and back
    limits: {tilt: 20 deg, slip: 0.7, time: 10 min}
    postures:
      drive: {Mast_z: 0}
    sequence:
      - {arc: {radius: 2 m, angle: 90 deg}, speed: 5 cm/s, until: sinkage > 4 cm}
      - {turn: -45 deg}
      - {wait: 10 s}

`on_scenario` puts it onto a scenario in place of what that one's `drive` commands: rover, ground,
steering mode, senses and all other settings stay the scenario's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from marsyard import library
from marsyard.errors import InputError
from marsyard.fields import Part
from marsyard.file_mistakes import sentence
from marsyard.scenario.drive import AbortLimits, Drive, DriveCommand, Posture
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.units import Time


class Sequence(Part):
    """Commands for a rover, in order of execution."""

    title: str = Field("", description="one line")
    description: str = Field("", description="purpose")
    duration: Annotated[Time, Field(gt=0)] | None = Field(
        None, description="maximum duration of the run [s]; default: the scenario's"
    )
    limits: AbortLimits = AbortLimits()
    postures: dict[str, Posture] = Field({}, description="named ones, for the commands")
    sequence: Annotated[tuple[DriveCommand, ...], Field(min_length=1)] = Field(
        description="the commands"
    )


def make_sequence(data: Mapping[str, Any], name: str = "sequence") -> Sequence:
    """The sequence that `data` describes, or an InputError of one sentence."""
    try:
        return Sequence.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error, Sequence)}") from None


def load_sequence(path: str | Path) -> Sequence:
    """Read a sequence from a YAML file."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return make_sequence(library.read_yaml(path), str(path))


def save_sequence(sequence: Sequence, path: str | Path) -> None:
    """Write a sequence to a YAML file, a line per command; reading it gives the same."""
    Path(path).write_text(sequence_text(sequence), encoding="utf-8")


def sequence_text(sequence: Sequence) -> str:
    """The sequence as YAML, in SI."""
    head = sequence.model_dump(mode="json", exclude_defaults=True, exclude={"sequence"})
    # a mapping of single values would be put in brackets
    text = "".join(
        _yaml({k: v}, flow=None if isinstance(v, dict) else False) for k, v in head.items()
    )
    lines = [f"  - {_yaml(_plain(c), flow=True)}" for c in sequence.sequence]
    return f"{text}sequence:\n{''.join(lines)}"


def sequence_of(scenario: Scenario) -> Sequence:
    """The commands of a scenario's drive as a sequence."""
    drive = scenario.drive
    if drive is None:
        raise InputError("sequence: the scenario has no drive, so it has no commands")
    return Sequence(
        title=scenario.title, limits=drive.abort_limits, postures=drive.postures,
        sequence=drive.commands,
    )  # fmt: skip


def on_scenario(
    sequence: Sequence, scenario: Scenario, *, duration: float | None = None
) -> Scenario:
    """The scenario with the sequence in place of its drive's commands.

    It runs for `duration` [s], or that of the sequence, or its own. Laws of `control` that only act
    on wheels and steering, study, checks and questions were made for another drive and are left
    out.
    """
    if scenario.gait is not None:
        raise InputError(
            "sequence: the scenario has a gait; a sequence needs a scenario without one"
        )
    commands = {
        "commands": sequence.sequence,
        "postures": sequence.postures,
        "abort_limits": sequence.limits,
    }
    if scenario.drive is not None:
        drive = scenario.drive.model_copy(update=commands)
    else:
        drive = Drive(**commands, period=_period(scenario))
    run, report = scenario.run, scenario.report
    wanted = duration or sequence.duration
    if wanted is not None:
        steps = max(1, math.ceil(wanted / run.step - 1e-9))
        run = run.model_copy(update={"duration": steps * run.step})
    title = f"{sequence.title}, on {scenario.title}" if scenario.title else sequence.title
    change: dict[str, Any] = {
        "drive": drive, "run": run, "study": None, "control": _other_laws(scenario),
        "report": report.model_copy(update={"checks": (), "questions": ()}),
    }  # fmt: skip
    if sequence.title:
        change["title"] = title
    if sequence.description:
        change["description"] = sequence.description
    return scenario.model_copy(update=change)


def _period(scenario: Scenario) -> float:
    """The drive's usual period, or the next that the scenario's control allows [s]."""
    usual, control = Drive.model_fields["period"].default, scenario.run.control_period
    assert control is not None
    try:
        whole_ratio("drive.period", usual, "run.control_period", control)
    except ValueError:
        return math.ceil(usual / control - 1e-9) * control
    return float(usual)


def _other_laws(scenario: Scenario) -> tuple[Any, ...]:
    """Laws of control on other joints than wheels and steering."""
    if not scenario.control:
        return ()
    from marsyard.robot import load_robot

    robot = load_robot(scenario.robot.name)
    moved = {w.joint for w in robot.wheels.values()} | {*robot.roles.get("drives", ())}
    moved |= {*robot.roles.get("steering", ())}

    def only_moves(joints: str | tuple[str, ...]) -> bool:
        groups = (joints,) if isinstance(joints, str) else joints
        return {j for g in groups for j in robot.roles.get(g, (g,))} <= moved

    return tuple(law for law in scenario.control if not only_moves(law.joints))


# --- writing


def _plain(command: Any) -> dict[str, Any]:
    """A command's keys as one would write them: what it is first."""
    given = command.model_dump(mode="json", exclude_defaults=True)
    first = [k for k in type(command).model_fields if k in given and k not in _CONDITIONS]
    return {k: given[k] for k in [*first, *(k for k in _CONDITIONS if k in given)]}


_CONDITIONS = ("until", "abort_if", "timeout", "note")


class _Dumper(yaml.SafeDumper):
    """Texts of several lines are written as such."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def _yaml(data: Any, flow: bool | None) -> str:
    """As YAML in SI: `flow` in brackets on one line; none: only the innermost mappings so."""
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=flow,
        width=math.inf,
    )  # fmt: skip
