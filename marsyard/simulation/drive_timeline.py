"""When each command of a drive began and ended, how, and where: a table that is saved with the run.

Columns: begin, end [s]; how it ended, index of `ENDS`; of an abort the number of the limit that was
broken, -1 for the command's own condition; x, y [m] and heading [rad] of the base at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marsyard.scenario.drive import command_kind

if TYPE_CHECKING:
    from marsyard.simulation.drive_watch import Watch

#: how a command may stand
ENDS = ("not begun", "under way", "reached", "until", "timed out", "aborted", "stopped")


class Event(NamedTuple):
    """What became of a command.

    number, kind, note: of the command. began, ended: [s], NaN if it did not. outcome: one of
    `ENDS`. reason: the condition that ended it, or empty. x, y, heading: of the base at its end.
    """

    number: int
    kind: str
    note: str
    began: float
    ended: float
    outcome: str
    reason: str
    x: float
    y: float
    heading: float


class Timeline:
    """The table of a drive's commands."""

    def __init__(self, commands: tuple, watch: Watch) -> None:
        self._commands, self._watch = commands, watch
        self.table = _blank(len(commands))

    def restore(self, table: np.ndarray, now: int) -> None:
        """Take over what became of the commands up to number `now`."""
        self.table = _blank(len(self._commands))
        known = min(now + 1, len(table))
        self.table[:known] = table[:known]

    def take(self, commands: tuple) -> None:
        """Go on with other commands than those that have not begun."""
        self._commands, table = commands, self.table
        self.restore(table, len(commands) - 2)

    def begin(self, k: int, time: float) -> None:
        """Command k begins."""
        self.table[k, 0], self.table[k, 2] = time, ENDS.index("under way")

    def end(
        self, k: int, time: float, how: str, pose: tuple[float, float, float], limit: int = -1
    ) -> None:
        """Command k ended, with the base at a pose x, y, heading."""
        self.table[k, 1:] = time, ENDS.index(how), limit, *pose

    def outcome(self, k: int) -> str:
        """How command k stands."""
        return ENDS[int(self.table[k, 2])]

    def reason(self, k: int) -> str:
        """The condition that ended command k, empty where none did."""
        watch, how, limit = self._watch, self.outcome(k), int(self.table[k, 3])
        if how == "until":
            found = watch.until[k]
        elif how == "aborted":
            found = list(watch.limits.values())[limit] if limit >= 0 else watch.abort_if[k]
        else:
            return ""
        return "" if found is None else found.text

    def events(self) -> list[Event]:
        """An entry per command."""
        out = []
        for k, (command, row) in enumerate(zip(self._commands, self.table, strict=True)):
            began, ended, _, _, x, y, heading = map(float, row)
            out.append(
                Event(
                    k, command_kind(command), command.note, began, ended, self.outcome(k),
                    self.reason(k), x, y, heading,
                )
            )  # fmt: skip
        return out


def _blank(rows: int) -> np.ndarray:
    table = np.full((rows, 7), np.nan)
    table[:, 2:4] = 0.0, -1.0
    return table
