"""Running members and tracking progress: finished ones are journalled, kept in memory, and
reported.

Sweeps and optimisations both hand members to an executor, in one batch or in many. A member is
known by a key: its number, or a fingerprint of what it sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from marsyard.campaign.folder import keep
from marsyard.campaign.journal import Journal
from marsyard.campaign.member import Settings, outcome_of
from marsyard.executors import TOO_LONG, Executor, Finished, run_members, too_long
from marsyard.study.task import Outcome

Key = TypeVar("Key", bound=Hashable)
#: makes the record of a finished member for the journal: key, settings, outcome
Recorder = Callable[[Key, Settings, Outcome], dict[str, Any]]


@dataclass
class Watch:
    """Progress of a study, reported after every few runs.

    total: members. kept: those that need no run, because an earlier call finished them or they
    came up before. done: those of this call. failed: members that did not go to their end, and why.
    where: what runs them.
    """

    total: int
    kept: int = 0
    done: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    where: str = ""


class Interrupted(Exception):
    """A study was interrupted: number of finished members, and the folder."""

    def __init__(self, finished: int, total: int, folder: Path | None) -> None:
        super().__init__(f"{finished} of {total} runs are finished")
        self.finished, self.total, self.folder = finished, total, folder


class Count(Generic[Key]):
    """Runs members, keeps their outcomes by key, and counts.

    `outcomes` are those finished before; `journal` may be given later than at the beginning, but
    before the first run.
    """

    def __init__(
        self,
        total: int,
        outcomes: dict[Key, Outcome],
        record: Recorder[Key],
        tell: Callable[[Watch], Any],
        journal: Journal | None = None,
    ) -> None:
        self.outcomes, self.journal = outcomes, journal
        self.watch = Watch(total)
        self._before = frozenset(outcomes)
        self._repeated = 0
        self._record, self._tell = record, tell
        self._under_way: dict[int, tuple[Key, Settings]] = {}
        self._asked = 0.0
        self._began, self._started = time.perf_counter(), time.strftime("%Y-%m-%d %H:%M:%S")

    def need_no_run(self, keys: Iterable[Key]) -> None:
        """Count members that are known already."""
        for key in keys:
            self.watch.kept += 1
            self._repeated += key not in self._before
            if key in self._before:
                self._note(self.outcomes[key])

    def run(
        self, executor: Executor, members: Iterable[tuple[Key, Settings]], stop: Callable[[], bool]
    ) -> None:
        """Run members that are not known; `Interrupted` if `stop` ends it before all are."""
        self.watch.where = executor.words
        self.tell()
        try:
            if not run_members(
                executor, self._numbered(members), self._done, stop, lambda: self._idle(executor)
            ):
                folder = None if self.journal is None else self.journal.path.parent
                raise Interrupted(len(self.outcomes), self.watch.total, folder)
        finally:
            self._under_way.clear()

    def info(self) -> dict[str, Any]:
        """How it went. ran: runs of this call; kept: finished by earlier ones; repeated: members
        that came up again; simulated, wall_time: of this call's runs [s]."""
        made = [o for key, o in self.outcomes.items() if key not in self._before]
        return {
            "started": self._started, "elapsed": time.perf_counter() - self._began,
            "ran": self.watch.done, "kept": self.watch.kept - self._repeated,
            "repeated": self._repeated,
            "where": self.watch.where, "simulated": sum(o.simulated for o in made),
            "wall_time": sum(o.wall_time for o in made),
        }  # fmt: skip

    def tell(self) -> None:
        """Tell whoever watches."""
        self._tell(self.watch)

    def _numbered(self, members: Iterable[tuple[Key, Settings]]) -> Iterator[tuple[int, Settings]]:
        for number, (key, settings) in enumerate(members):
            self._under_way[number] = key, settings
            yield number, settings

    def _idle(self, executor: Executor) -> None:
        """Workers may come and go while all wait."""
        if time.monotonic() - self._asked > 2.0:
            self._asked = time.monotonic()
            self.watch.where = executor.words
            self.tell()

    def _done(self, finished: list[Finished]) -> None:
        members = [(*self._under_way[number], outcome) for number, outcome in finished]
        if self.journal is not None:
            so_far = f"{len(self.outcomes)} of {self.watch.total} runs"
            keep(self.journal, [self._record(*member) for member in members], so_far)
        for number, _ in finished:
            del self._under_way[number]
        for key, _, outcome in members:
            self.outcomes[key] = outcome
            self._note(outcome)
        self.watch.done += len(finished)
        self.tell()

    def _note(self, outcome: Outcome) -> None:
        if outcome.stopped:
            self.watch.failed[len(self.watch.failed)] = outcome.stopped


def known(
    records: Iterable[Mapping[str, Any]],
    key: Callable[[Mapping[str, Any]], Key | None],
    limit: float | None,
) -> dict[Key, Outcome]:
    """The outcomes in the records of a journal, the last one of each key. Records without a key
    are of no use any more; a run that took too long counts while the limit of time is the same."""
    found: dict[Key, Outcome] = {}
    for record in records:
        name, outcome = key(record), outcome_of(record)
        stale = str(outcome.stopped).startswith(TOO_LONG) and outcome.stopped != too_long(limit)
        if name is not None and not stale:
            found[name] = outcome
    return found
