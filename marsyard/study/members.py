"""The members of a study: values, scenario and results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marsyard.errors import InputError, refuse_all
from marsyard.scenario import Scenario, apply_setting, validate
from marsyard.scenario.short_names import full_paths
from marsyard.study.axes import Axis, label_of, make_axis
from marsyard.study.task import Outcome


@dataclass(frozen=True)
class Member:
    """One run of the family: its place on the two axes and its scenario.

    `curve` is the index on the second axis (0 where there is none).
    """

    index: int
    value: float | str
    curve: int
    refined: bool
    label: str
    scenario: Scenario
    settings: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The name of its folder: '03-slip-0.2'."""
        words = re.sub(r"[^a-z0-9.]+", "-", self.label.lower().replace("−", "minus "))
        return f"{self.index + 1:02d}-{words.strip('-.')[:60]}"


@dataclass(frozen=True)
class Result:
    """A member and its outcome."""

    member: Member
    outcome: Outcome


class Family:
    """Makes members: the base scenario with the values of both axes set."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        study = scenario.study
        assert study is not None
        self._name = name
        known = {"parameters": scenario.parameters}
        driven = full_paths(study.driven, known, "study.vary")
        curves = full_paths(study.curves, known, "study.also")
        self.axis = make_axis(driven, "study.values", study.label)
        self.also: Axis | None = make_axis(curves, "study.also") if study.also else None
        if self.also is not None:
            self._tell_apart(driven, curves)
        # only what was given: defaults that follow from others must follow the varied values too
        self._given = scenario.model_dump(mode="json", exclude_unset=True, exclude={"study"})
        self._full = scenario.model_dump(mode="json", exclude={"study"})
        self._count = 0

    def _tell_apart(self, driven: Mapping[str, Any], curves: Mapping[str, Any]) -> None:
        assert self.also is not None
        twice = [path for path in curves if path in driven]
        if twice:
            raise InputError(f"study.also: '{twice[0]}' is varied already; give another path")
        if self.also.name == self.axis.name:
            # start of law 0 and start of law 1: only the whole paths differ
            axes = []
            for axis in (self.axis, self.also):
                path = next(iter(axis.paths))
                label = path if axis.label == label_of(path) else axis.label
                name = re.sub(r"\W+", "_", path)
                axes.append(Axis(name, label, axis.unit, axis.paths, axis.shown, axis.words))
            self.axis, self.also = axes

    @property
    def curves(self) -> int:
        """How many curves there are."""
        return 1 if self.also is None else len(self.also)

    def grid(self) -> list[Member]:
        """A member for each value, curve after curve; refused with all that cannot be made."""
        made, mistakes = [], []
        for curve in range(self.curves):
            for k in range(len(self.axis)):
                value = self.axis.shown[k]
                try:
                    made.append(self._make(value, self.axis.settings(k), curve, refined=False))
                except InputError as error:
                    label = self._label(value, curve)
                    reason = str(error).removeprefix(f"{self._at(label)}: ")
                    mistakes.append((label, reason))
        refuse_all(mistakes, len(made) + len(mistakes), f"{self._name}, study")
        return made

    def between(self, first: int, second: int, part: float, curve: int) -> Member:
        """A member between two values of the axis."""
        value, settings = self.axis.between(first, second, part)
        return self._make(value, settings, curve, refined=True)

    def _make(
        self, value: float | str, settings: dict[str, Any], curve: int, refined: bool
    ) -> Member:
        label = self._label(value, curve)
        if self.also is not None:
            settings = {**settings, **self.also.settings(curve)}
        data: dict[str, Any] = plain_copy(self._given)
        for path, setting in settings.items():
            head = path.split(".")[0]
            if head not in data and self._full.get(head) is not None:
                data[head] = plain_copy(self._full[head])
            apply_setting(data, path, setting, "study:")
        scenario = validate(data, self._at(label))
        self._count += 1
        return Member(self._count - 1, value, curve, refined, label, scenario, settings)

    def _label(self, value: float | str, curve: int) -> str:
        """'slip = 0.2, soil = dry_sand'."""
        label = self.axis.say(value)
        return label if self.also is None else f"{label}, {self.also.say(self.also.shown[curve])}"

    def _at(self, label: str) -> str:
        return f"{self._name}, study at {label}"


def plain_copy(data: Any) -> Any:
    """A copy of mappings and lists; quicker than `copy.deepcopy`."""
    if isinstance(data, dict):
        return {k: plain_copy(v) for k, v in data.items()}
    return [plain_copy(v) for v in data] if isinstance(data, list) else data
