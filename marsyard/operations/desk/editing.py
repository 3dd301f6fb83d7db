"""The editor of environments on the desk: from driving to editing and back, or to a new session.

    driving   the scene shows the session; "edit" leads to editing
    editing   the editor (`operations.editor`) is on the desk's 3D view; the session goes on, the
              rover stands. "back" leads to driving as before, "drive" to building
    building  both worlds of a new session are being built, the old session stays; then driving, or,
              if they cannot be built, editing again with one sentence that says why

Editing may begin only while the rover stands and no order is under way. The old session is closed,
and its folder written, when the new one is there.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import changed_numbers
from marsyard.operations.operator_side import OPEN

if TYPE_CHECKING:
    from marsyard.operations.desk.desk import Desk
    from marsyard.operations.editor import Editor, Environment
    from marsyard.operations.teleop.session import Session, Shown
    from marsyard.scenario.schema import Scenario

STANDS = 0.005  # speed below which a rover stands [m/s]
AHEAD = 0.02  # distance that it is still predicted to travel [m]
#: orders that nothing comes of any more once the rover has acknowledged them
_AT_ONCE = ("flush", "resume", "emergency stop")
_LOG = logging.getLogger("marsyard.desk")


class Worlds(Protocol):
    """Where sessions come from; see `operations.teleop.worlds`."""

    def environment(self) -> Environment:
        """What is believed, to be edited."""

    def build(self, environment: Environment) -> Session:
        """A session running on an environment; InputError if there can be none."""


class Editing:
    """Whether a desk drives, edits or builds.

    Attributes:
        mode: "driving", "editing" or "building". words: what went wrong last, a sentence.
        kept: folders of sessions that were closed.
    """

    def __init__(self, desk: Desk, worlds: Worlds | None) -> None:
        self._desk, self._worlds = desk, worlds
        self.mode, self.words = "driving", ""
        self.kept: list[Path] = []
        self.editor: Editor | None = None
        self._threads: list[threading.Thread] = []

    def told(self) -> dict[str, Any]:
        """What pages show of it."""
        desk, there = self._desk, self._desk.has_session
        if there:
            scenario: Scenario | None = desk.session.scenario
        else:
            scenario = None if self.editor is None else self.editor.environment.scenario
        return {
            "title": desk.title,
            "mode": self.mode,
            "can_edit": self._worlds is not None,
            "can_go_back": there,
            "words": self.words,
            "world": {} if scenario is None else about(scenario),
        }

    def _show(self, mode: str, words: str = "") -> None:
        self.mode, self.words = mode, words
        self._desk.pages.publish("environment", self.told())

    # --- from one to the other

    def begin(self) -> None:
        """Edit what is believed; InputError if that cannot be now."""
        if self._worlds is None:
            raise InputError("edit: this desk cannot start sessions; use marsyard teleop")
        if self.mode != "driving":
            raise InputError(f"edit: the desk is {self.mode} already")
        desk = self._desk
        if desk.has_session:
            why = obstacle(desk.session.shown(), desk.stick)
            if why:
                raise InputError(f"edit: {why}")
        if desk.validating:
            raise InputError("edit: a validation is running; cancel it first")
        environment = self._worlds.environment()
        desk.clear_stage()
        try:
            self._mount(environment)
        except BaseException:
            self._unmount()
            desk.set_stage()
            raise
        _LOG.info("editing begins")
        self._show("editing")

    def _mount(self, environment: Environment) -> None:
        from marsyard.operations.editor import Editor

        self.editor = Editor(self._desk.server, environment)
        self.editor.start()

    def _unmount(self) -> None:
        if self.editor is not None:
            self.editor.stop()
            self.editor = None

    def back(self, anyway: bool = False) -> str:
        """Drive on as before; what to ask first if edits would be lost."""
        if self.mode != "editing" or self.editor is None:
            raise InputError(f"back: the desk is {self.mode}")
        if not self._desk.has_session:
            raise InputError("back: no session is running yet; press Drive here")
        if self.editor.environment.changed and not anyway:
            return "Your changes are not saved and would be lost."
        self._unmount()
        self._desk.set_stage()
        _LOG.info("editing ends; the session goes on")
        self._show("driving")
        return ""

    def drive(self) -> None:
        """Begin a session on what was edited, in a thread."""
        if self.mode != "editing" or self.editor is None:
            raise InputError(f"drive here: the desk is {self.mode}")
        self._show("building")
        self._run(self._build, self.editor.environment)

    def _build(self, environment: Environment) -> None:
        assert self._worlds is not None
        try:
            session = self._worlds.build(environment)
        except InputError as error:
            self._show("editing", str(error))
            return
        except Exception as error:
            _LOG.exception("the session cannot be built")
            self._show("editing", f"The session cannot be built: {error}")
            return
        self._unmount()
        before = self._desk.take(session)
        _LOG.info("a new session: %s", session.scenario.title)
        self._show("driving")
        if before is not None:
            self._close(before)

    def _close(self, session: Session) -> None:
        tell = self._desk.pages.tell
        try:
            kept = session.close()
        except Exception as error:
            _LOG.exception("the session before could not be kept")
            tell(
                None, "answer", good=False, text=f"The previous session could not be saved: {error}"
            )
            return
        if kept is not None:
            self.kept.append(kept)
            tell(None, "answer", good=True, text=f"The previous session is saved in {kept}.")

    def _run(self, work: Any, *given: Any) -> None:
        thread = threading.Thread(target=work, args=given, name="desk building", daemon=True)
        self._threads.append(thread)
        thread.start()

    def finish(self) -> None:
        """Wait for what is active, and take the editor away."""
        for thread in self._threads:
            thread.join()
        self._unmount()


# --- whether, and what


def obstacle(shown: Shown, stick: tuple[float, float] = (0.0, 0.0)) -> str:
    """Why the ground cannot be edited now; empty if it can."""
    if shown.remote in ("gone", "ended"):
        return ""
    if any(stick):
        return "the joystick is active; release it first"
    for order in reversed(shown.orders):
        over = order.state == "acknowledged" and order.words.lower() in _AT_ONCE
        if order.state in OPEN and not over:
            return (
                f"order {order.id} ({order.words}) is {order.state}; wait until it ends, or "
                "flush the queue"
            )
    speed = abs(shown.numbers.get("speed", 0.0))
    if speed > STANDS:
        return f"the rover drives at {100 * speed:.1f} cm/s; wait until it stops"
    if shown.delayed is not None and shown.predicted is not None:
        if float(np.linalg.norm(shown.predicted[:2] - shown.delayed[:2])) > AHEAD:
            return "the rover is predicted to be moving; wait until it stops"
    return ""


def about(scenario: Scenario) -> dict[str, str]:
    """Rover, ground and soil of a scenario in words."""
    from marsyard.operations.editor.items import items_of

    grounds = []
    for ground in scenario.ground:
        if ground.kind == "terrain":
            terrain = ground.terrain
            title = terrain if isinstance(terrain, str) else terrain.name or terrain.title
            grounds.append(f"terrain {title}" if title else "terrain")
    counts = Counter(item.kind for item in items_of(scenario))
    grounds += [kind if n == 1 else f"{n} × {kind}" for kind, n in counts.items()]
    return {
        "rover": _titled("rovers", scenario.robot.name),
        "ground": ", ".join(grounds) or "none",
        "soil": _soil(scenario),
    }


def _soil(scenario: Scenario) -> str:
    ground = next((g for g in scenario.ground if g.kind == "terrain"), None)
    if ground is None or ground.soil is None:
        return f"none: hard ground, friction {scenario.interaction.friction:g}"
    if isinstance(ground.soil, str):
        return _titled("soils", ground.soil)
    title = _titled("soils", str(ground.soil.get("name", "soil")))
    return f"{title}, with changed numbers" if changed_numbers(ground.soil) else title


def _titled(kind: str, name: str) -> str:
    """A name of the library with its title."""
    if name not in library.names(kind):
        return name
    title = str(library.read_yaml(library.path_of(kind, name)).get("title", ""))
    return f"{title} ({name})" if title and title != name else name
