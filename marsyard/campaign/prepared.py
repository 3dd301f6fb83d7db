"""A prepared study: its members as settings, checked before the first one runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marsyard.campaign.base import Base, refuse_set_and_varied, replica_seed
from marsyard.campaign.covariances import expand_covariances
from marsyard.campaign.design import Points, make_points
from marsyard.campaign.files import data_of
from marsyard.campaign.member import Plan
from marsyard.campaign.parameters import Parameter, make_parameters, paths_of
from marsyard.campaign.study_file import StudyFile
from marsyard.campaign.trial import begin, check_outputs, model_digest
from marsyard.errors import InputError, refuse_all
from marsyard.scenario.short_names import full_path
from marsyard.single_run import Say

#: points tried until one of them can begin
_TRIED = 5


@dataclass(frozen=True)
class Prepared:
    """A study whose members can be run.

    Attributes:
        name: of the study. plan: what members share. points: of its design. seeds: paths of what is
            drawn anew in each replica. model: fingerprint of the robot's model.
    """

    name: str
    study: StudyFile
    plan: Plan
    points: Points
    seeds: tuple[str, ...]
    model: str

    def __len__(self) -> int:
        return len(self.points) * self.study.replicas

    def place(self, index: int) -> tuple[int, int]:
        """The point and the replica of a member."""
        return divmod(index, self.study.replicas)

    def settings(self, index: int) -> dict[str, Any]:
        """What a member sets in the scenario."""
        point, replica = self.place(index)
        settings = self.points.settings(point)
        shared = self.study.replica_seeds == "shared"
        for path in self.seeds:
            settings[path] = replica_seed(self.study.seed, None if shared else point, replica, path)
        return settings

    def words(self, index: int) -> str:
        """'friction = 0.4, slope = 5°, replica 2'."""
        point, replica = self.place(index)
        more = f", replica {replica}" if self.study.replicas > 1 else ""
        return self.points.words(point) + more


def prepare(study: StudyFile, name: str, folder: Path, say: Say) -> Prepared:
    """Check a study and make its members; `folder` is where its paths count from."""
    scenario, data = study.scenario, data_of(study.scenario, folder)
    study, joints = expand_covariances(study, name, data)
    base, parameters = make_base(study, name, scenario, data)
    points = make_points(study.design, parameters, study.seed, joints)
    _try_values(study, name, base, parameters, points, say)
    seeds: tuple[str, ...] = ()
    if study.replicas > 1:
        seeds = base.seeds([p for parameter in parameters for p in parameter.paths])
        if not seeds:
            raise InputError(
                f"{name}: replicas = {study.replicas}: nothing in '{study.scenario}' has a seed, "
                "so that all replicas would be the same; leave it out"
            )
    plan = Plan(scenario, base.resolved(), study.outputs, study.time_limit)
    ready = Prepared(name, study, plan, points, seeds, "")
    return replace(ready, model=_try_members(ready, say))


def make_base(
    study: StudyFile, name: str, scenario: str, data: Mapping[str, Any]
) -> tuple[Base, list[Parameter]]:
    """The opened scenario of a study, and its parameters."""
    try:
        fixed = {full_path(path, data): value for path, value in study.set.items()}
        paths = paths_of(study, data)
        base = Base(scenario, data, fixed, [p for found in paths.values() for p in found])
        parameters = make_parameters(study, base, paths)
        refuse_set_and_varied(
            fixed,
            {key: p.paths for key, p in zip(study.vary, parameters, strict=True) if not p.relative},
        )
        return base, parameters
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _try_values(
    study: StudyFile, name: str, base: Base, parameters: list[Parameter], points: Points, say: Say
) -> None:
    """Refuse a value that the scenario cannot take at all, before anything is run; warn of a
    distribution that reaches such values."""
    if study.design.kind == "list":
        tries = [("", points.settings(k)) for k in range(min(len(points), 100))]
    else:
        keyed = list(zip(study.vary, parameters, strict=True))
        tries = [(f"vary.{key}: ", dict(v.settings)) for key, p in keyed for v in p.trials()]
        for key, p in keyed:
            wrong = filter(None, (_wrong(base, name, dict(v.settings)) for v in p.ends()))
            for text in list(wrong)[:1]:
                say(
                    f"warning: {name}: vary.{key} includes values with which runs cannot start: "
                    f"{text}"
                )
    wrong_ones = [
        (where, settings, text)
        for where, settings in tries
        if (text := _wrong(base, name, settings))
    ]
    if len(wrong_ones) == 1:
        raise InputError(f"{name}: {wrong_ones[0][0]}{wrong_ones[0][2]}")
    refuse_all(
        [(f"{where}{_said(settings)}", text) for where, settings, text in wrong_ones],
        len(tries), name, "values are invalid",
    )  # fmt: skip


def _said(settings: Mapping[str, Any]) -> str:
    """'dry_sand', 'dry_sand, 0.3' of the settings of several paths."""
    return ", ".join(dict.fromkeys(str(value) for value in settings.values()))


def _wrong(base: Base, name: str, settings: Mapping[str, Any]) -> str:
    """What is wrong with settings, empty if nothing is."""
    try:
        base.check(settings, name)
    except InputError as error:
        return str(error).removeprefix(f"{name}: ")
    return ""


def _try_members(ready: Prepared, say: Say) -> str:
    """Try the first member that can begin; the fingerprint of its model."""
    first: InputError | None = None
    for index in range(min(len(ready), _TRIED)):
        try:
            simulation, ds = begin(ready.plan.name, ready.plan.data, ready.settings(index), say)
        except InputError as error:
            first = first or error
            continue
        check_outputs(ds, ready.study.outputs, f"{ready.name}: ")
        return model_digest(simulation)
    raise InputError(f"{ready.name}: no run can start: {first}")
