"""Where sessions come from: the world that is believed, its editing, and sessions on it.

    worlds = Worlds("teleop/slalom", lambda: preset("moon"), folder="runs/slalom-session")
    truth, drawn = worlds.first_truth()       # of the first session, on worlds.scenario
    environment = worlds.environment()        # what is believed, for the editor
    environment.place_rock(2.0, 0.5, 0.3)
    other = worlds.build(environment)         # in runs/slalom-session-2

All sessions have the same link settings and seed. The truth of each is made of what is believed in
it: with the given settings on top, or drawn from the seed (see `truth`). Another scenario as the
truth holds for the first session only: it knows nothing of what is edited.

A session that cannot be built leaves no folder and no process behind.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError
from marsyard.operations.teleop.truth import truth_of

if TYPE_CHECKING:
    from marsyard.operations.editor import Environment
    from marsyard.operations.link import Duplex
    from marsyard.operations.teleop.teleoperation import Teleoperation
    from marsyard.scenario.schema import Scenario


class Worlds:
    """Sessions one after another.

    Args:
        scenario: believed at first; a name of the library or a file.
        link: makes both ways of a link, each time anew.
        settings: by path, on the scenario. truth: by path, on the truth of each session, or what
            the truth is drawn from where it is None. other: scenario that is the truth of the
            first session.
        seed: of link and truth. folder: of the first session; the next ones are numbered.
        make: makes a session of both scenarios, link, folder and seed, and starts it.
    """

    def __init__(
        self,
        scenario: str,
        link: Callable[[], Duplex],
        *,
        settings: Mapping[str, Any] | None = None,
        truth: Mapping[str, Any] | None = None,
        other: str | None = None,
        seed: int = 0,
        folder: str | Path,
        make: Callable[..., Any] | None = None,
    ) -> None:
        from marsyard.scenario import scenario_data, validate
        from marsyard.scenario.scenario import apply_setting

        self.link, self.seed, self.folder = link, seed, Path(folder)
        self._name, self._truth, self._other = scenario, truth, other
        self._make = make or _teleoperation
        self._given = dict(settings or {})
        self._data = copy.deepcopy(scenario_data(scenario))
        for path, value in self._given.items():
            apply_setting(self._data, path, value)
        self._saved_as: Path | None = None
        self._begun = False
        self.scenario: Scenario = validate(copy.deepcopy(self._data), scenario)

    def environment(self) -> Environment:
        """What is believed, to be edited."""
        from marsyard.operations.editor import Environment

        made = Environment(self._data, self._name)
        made.saved_as = self._saved_as
        return made

    def first_truth(self) -> tuple[Scenario, dict[str, float]]:
        """What really is in the first session, and the numbers that were drawn for it."""
        self._begun = True
        drawn = self._truth is None and self._other is None
        return truth_of(
            self._name, seed=self.seed if drawn else None, file=self._other,
            settings={**self._given, **(self._truth or {})},
        )  # fmt: skip

    def build(self, environment: Environment) -> Teleoperation:
        """A session running on an environment; InputError if there can be none."""
        data, folder = environment.data, self.next_folder()
        believed = environment.scenario
        seed = self.seed if self._truth is None else None
        truth, _ = truth_of(data, seed=seed, settings=self._truth)
        _check(environment)
        there = folder.exists()
        try:
            session = self._make(believed, truth, self.link(), folder, self.seed)
        except BaseException:
            if not there:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        _keep(data, folder)
        self._begun = True
        self._data, self._saved_as = data, environment.saved_as
        self._name, self.scenario = environment.name, believed
        return session

    def next_folder(self) -> Path:
        """The folder given if no session was begun, else the first number that is not there yet."""
        if not self._begun:
            return self.folder
        number = 2
        while (folder := self.folder.with_name(f"{self.folder.name}-{number}")).exists():
            number += 1
        return folder


def _check(environment: Environment) -> None:
    """Refuse what cannot be driven before two worlds are built for it."""
    from marsyard.operations.editor import check
    from marsyard.operations.teleop.vehicle import under_orders
    from marsyard.robot import load_robot

    scenario = environment.scenario
    if not load_robot(scenario.robot.name).wheels:
        raise InputError(f"rover: '{scenario.robot.name}' has no wheels and cannot be driven here")
    under_orders(scenario)
    for sentence in check(environment, full=False):
        if sentence.startswith(("The scenario cannot run", "The start")):
            raise InputError(sentence)


def _keep(data: dict[str, Any], folder: Path) -> None:
    """Write what is believed into the session's folder."""
    from marsyard.operations.editor.writing import text_of, write

    write(text_of(data, folder), folder / "scenario.yaml")


def _teleoperation(
    believed: Scenario, truth: Scenario, link: Duplex, folder: Path, seed: int
) -> Teleoperation:
    from marsyard.operations.teleop.teleoperation import Teleoperation

    session = Teleoperation(believed, truth, link, process=True, folder=folder, seed=seed)
    try:
        session.start()
        if session.remote.state == "gone":
            raise InputError(f"the true world cannot be built: {session.remote.reason}")
    except BaseException:
        session.abandon()
        raise
    return session
