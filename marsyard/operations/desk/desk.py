"""The desk: a session, its pages and their 3D scene on one port.

    /           the page (`static/`), its websocket at /ws (`pages`, `messages`)
    /scene/     the 3D scene that the page holds in a frame (viser; `scene`, `editing`)

Both lie behind one gate (`web.gate`).

One page at a time has the control: it steers, sets goals, sends sequences, and edits the ground:
controls and clicks of other pages' scenes are not heeded. Any page may watch, take the control
over, and stop the rover. The stick counts as released when the page that holds it says
nothing for `SILENCE`, leaves, or loses the control; the session does the same on its own.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import threading
import time as clock
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.operations.desk import messages as said
from marsyard.operations.desk.compose import changed, read_text, told, words_of
from marsyard.operations.desk.editing import Editing, Worlds
from marsyard.operations.desk.judged import Judged, Validator
from marsyard.operations.desk.pages import Page, Pages
from marsyard.operations.desk.scene import DeskScene
from marsyard.operations.sequence import Sequence, sequence_text
from marsyard.web.gate import Gate
from marsyard.web.server import address, check_token, free_port, start_scene, wait_for
from marsyard.web.viser_filter import heed_only
from marsyard.web.viser_site import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from marsyard.operations.teleop.session import Preview, Session, Shown
    from marsyard.scenario.schema import Scenario

PERIOD = 0.08  # of states [s]
PLOT_PERIOD = 0.5  # of plots [s]
SILENCE = 0.8  # after which the stick counts as released [s]
MOST_ORDERS = 60
MOST_ERRORS = 400
_LOG = logging.getLogger("marsyard.desk")


@dataclass
class _Aim:
    """What the clicks of the page in control mean, and where it has clicked."""

    at: str = ""
    places: list[np.ndarray] = field(default_factory=list)


class Desk:
    """A running desk at `host`:`port` (0: any free port); `stop` ends it, not the session.

    validate: judges a sequence (see `judged.Validator`); without it sequences are only previewed.
    worlds: where sessions on edited ground come from; without it nothing is edited, without a
    session the desk begins with editing.
    """

    def __init__(
        self,
        session: Session | None,
        host: str = "127.0.0.1",
        port: int = 8080,
        *,
        token: str | None = None,
        validate: Validator | None = None,
        title: str = "",
        worlds: Worlds | None = None,
    ) -> None:
        check_token(token)
        port = free_port(host, port)
        self._session, self._validate = session, validate
        self._given_title = title
        self.editing = Editing(self, worlds)
        self._stage = threading.RLock()  # of session and scene
        self._scene: DeskScene | None = None
        self._left_views: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._left_preview: Preview | None = None
        self._holder: Page | None = None
        self._stick, self._stick_time = (0.0, 0.0), 0.0
        self._aim = _Aim()
        self._judged: tuple[str, Judged] | None = None
        self._job: threading.Event | None = None  # of the running validation; set to end it
        self._previewing = False
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="desk slow")
        self._stopped = threading.Event()
        self._viewers: dict[str, Any] = {}
        self._wanted: dict[str, str] = {}
        self._trouble = ""
        self.server, site = start_scene(host, port, "the desk")
        try:
            if session is not None:
                self._scene = DeskScene(session, self.server)
            self.pages = Pages(self._act, self._joined, self._left)
            self.gate = Gate(host, port, {"/": self.pages, "/scene/": site}, token)
        except BaseException:
            self.server.stop()
            raise
        self.url = address(self.gate)
        heed_only(self.server, self._has_control)
        self.server.on_client_connect(self._viewer_came)
        self.server.on_client_disconnect(self._viewer_left)
        self.server.scene.on_click()(self._clicked)
        try:
            self._show_environment()
        except BaseException:
            self._end_servers()
            raise
        self._thread = threading.Thread(target=self._watch, name="desk", daemon=True)
        self._thread.start()

    def wait(self, asked: Callable[[], bool] = lambda: False) -> None:
        """Wait until it is stopped, or `asked` to end."""
        wait_for(self._stopped, asked)

    def stop(self) -> None:
        """End the desk and free the port."""
        self._stopped.set()
        if self._job is not None:
            self._job.set()
        self._thread.join(timeout=5.0)
        self._release_stick()
        self.editing.finish()
        self._end_servers()

    def _end_servers(self) -> None:
        self.gate.stop()
        self.pages.stop()
        self._slow.shutdown(wait=False, cancel_futures=True)
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    # --- session and scene

    @property
    def has_session(self) -> bool:
        """Whether a session is running."""
        return self._session is not None

    @property
    def session(self) -> Session:
        """The session; InputError before there is one."""
        if self._session is None:
            raise InputError("no session is running yet; press Drive here")
        return self._session

    @property
    def scene(self) -> DeskScene:
        """What is shown of the session; InputError while the ground is edited."""
        scene = self._scene
        if scene is None:
            raise InputError("the ground is being edited; press Drive here or Back first")
        return scene

    @property
    def title(self) -> str:
        """Of the page."""
        if self._given_title or self._session is None:
            return self._given_title
        return self._session.scenario.title

    @property
    def stick(self) -> tuple[float, float]:
        """Where the stick is held."""
        return self._stick

    @property
    def validating(self) -> bool:
        """Whether a validation is running."""
        return self._job is not None

    def _show_environment(self) -> None:
        if self._session is None:
            self.editing.begin()
        else:
            self.pages.publish("environment", self.editing.told())

    def clear_stage(self) -> None:
        """Take the session's scene away; where viewers look from is remembered."""
        with self._stage:
            self._set_aim("")
            self._release_stick()
            self._left_views = {}
            for client in self._viewers.values():
                with contextlib.suppress(AssertionError, ValueError):
                    view = np.array(client.camera.position), np.array(client.camera.look_at)
                    self._left_views[client.client_id] = view
            if self._scene is not None:
                self._left_preview = self._scene.preview
                self._scene.clear()
            self._scene = None

    def set_stage(self) -> None:
        """Show the session again, to each viewer from where he looked before."""
        with self._stage:
            if self._session is None:
                return
            self._scene = DeskScene(self._session, self.server)
            self._scene.update(self._session.shown())
            self._scene.show_preview(self._left_preview)
            for page, client in list(self._viewers.items()):
                mode = self._wanted.get(page, "rover")
                if client.client_id not in self._left_views:
                    self._scene.look(client, mode)
                    continue
                position, look_at = self._left_views.pop(client.client_id)
                self._scene.look(client, mode, position - look_at)
                if mode == "free":
                    with contextlib.suppress(AssertionError, ValueError):
                        client.camera.position, client.camera.look_at = position, look_at

    def take(self, session: Session) -> Session | None:
        """Go on with another session; the one before."""
        with self._stage:
            before, self._session = self._session, session
            self._stick, self._judged = (0.0, 0.0), None
            self._left_views, self._left_preview = {}, None
            self.set_stage()
        return before

    # --- what is shown

    def _watch(self) -> None:
        plots_due = 0.0
        while not self._stopped.is_set():
            began = clock.perf_counter()
            self._release_late_stick()
            try:
                with self._stage:
                    shown = None if self._session is None else self._session.shown()
                    if self.pages.count and shown is not None and self._scene is not None:
                        self._scene.update(shown)
                    state = self._state(shown) if shown is not None else self._no_state()
                if self.pages.count:
                    self.pages.publish("state", state)
                    if shown is not None and began >= plots_due:
                        plots_due = began + PLOT_PERIOD
                        self.pages.publish("plots", _plots(shown))
                self._trouble = ""
            except Exception as error:
                # a display that fails must not end the driving, but it has to be seen
                if str(error) != self._trouble:
                    _LOG.exception("the state cannot be shown")
                self._trouble = str(error) or type(error).__name__
                self.pages.publish("trouble", {"text": f"The state cannot be shown: {error}"})
            spent = clock.perf_counter() - began
            self._stopped.wait(max(PERIOD - spent, spent / 2))

    def _state(self, shown: Shown) -> dict[str, Any]:
        view = shown.link
        holder = self._holder
        return {
            "time": shown.time,
            "control": None if holder is None else holder.name,
            "pages": self.pages.count,
            "paused": getattr(self.session, "paused", None),
            "remote": shown.remote,
            "remote_reason": shown.remote_reason,
            "link": view.link,
            "silence": view.silence,
            "mode": view.mode,
            "stopping": view.stopping,
            "age": view.age,
            "round_trip": view.round_trip,
            "missing": view.missing,
            "late": view.late,
            "words": list(view.words),
            "rover": self._pose(shown.delayed, shown.delayed_time),
            "prediction": self._pose(shown.predicted, shown.predicted_time),
            "ellipse": None if shown.ellipse is None else list(shown.ellipse.axes),
            "heading_deviation": _finite(shown.heading_deviation),
            "numbers": {name: _finite(v) for name, v in shown.numbers.items()},
            "stick": list(self._stick),
            "orders": [
                {"id": o.id, "words": o.words, "state": o.state, "since": o.since,
                 "reason": o.reason, "open": o.open}
                for o in shown.orders[-MOST_ORDERS:]
            ],
            "queue": shown.queue,
            "gates": None if shown.gates is None else {
                "words": shown.gates.words, "passed": shown.gates.passed,
                "count": len(shown.gates.states), "next": shown.gates.next,
            },
        }  # fmt: skip

    def _no_state(self) -> dict[str, Any]:
        """What is known before there is a session."""
        holder = self._holder
        none = ("age", "round_trip", "silence", "rover", "prediction", "ellipse", "paused")
        return {
            "time": 0.0, "control": None if holder is None else holder.name,
            "pages": self.pages.count, "remote": "none", "remote_reason": "", "link": "none",
            "mode": "nominal", "stopping": False, "missing": 0, "late": 0, "words": [],
            "heading_deviation": 0.0, "numbers": {}, "stick": [0.0, 0.0], "orders": [],
            "queue": "", "gates": None,
            **dict.fromkeys(none),
        }  # fmt: skip

    def _pose(self, qpos: np.ndarray | None, time: float | None) -> dict[str, Any] | None:
        if qpos is None or self._scene is None:
            return None
        place, heading = self._scene.pose(qpos)
        return {"x": place[0], "y": place[1], "z": place[2], "heading": heading, "time": time}

    # --- pages

    def _joined(self, page: Page) -> None:
        if self._holder is None:
            self._give_control(page)
        self.pages.tell(
            page, "welcome", id=page.id, name=page.name, title=self.title,
            can_validate=self._validate is not None, can_pause=hasattr(self._session, "pause"),
        )  # fmt: skip

    def _left(self, page: Page) -> None:
        self._wanted.pop(page.id, None)
        if self._holder is page:
            _LOG.warning("%s: had the control and is gone", page.name)
            self._give_control(None)

    def _act(self, page: Page, message: said.Said) -> None:
        """Do what a page says."""
        if not isinstance(message, said.WATCHING) and self._holder is not page:
            if message in (said.Stick(0.0, 0.0), said.Aim("")):
                return  # nothing that it could not let go
            name = type(message).__name__.lower()
            raise said.Refused("control", f"{name}: another page has control; take control first")
        if self.editing.mode != "driving" and isinstance(message, said.DRIVING):
            if message in (said.Stick(0.0, 0.0), said.Aim(""), said.Forget()):
                return
            name = type(message).__name__.lower()
            raise InputError(f"{name}: the ground is being edited; press Drive here or Back first")
        getattr(self, f"_do_{type(message).__name__.lower()}")(page, message)

    def _answer(self, page: Page, text: str, good: bool = True) -> None:
        self.pages.tell(page, "answer", good=good, text=text)

    # --- control

    def _give_control(self, page: Page | None) -> None:
        before, self._holder = self._holder, page
        if before is not page:
            self._release_stick()
            self._set_aim("")
        if before is not None and page is not None and before is not page:
            self._answer(before, f"{page.name} took the control.", good=False)

    def _do_take(self, page: Page, message: said.Take) -> None:
        if message.free and self._holder is not None:
            return
        _LOG.info("%s: takes the control", page.name)
        self._give_control(page)

    def _do_release(self, page: Page, message: said.Release) -> None:
        self._give_control(None)

    def _do_stick(self, page: Page, message: said.Stick) -> None:
        self._stick = (message.forward, message.left)
        self._stick_time = clock.monotonic()
        self.session.steer(*self._stick)

    def _release_late_stick(self) -> None:
        held = any(self._stick)
        if held and clock.monotonic() - self._stick_time > SILENCE:
            _LOG.warning("joystick released: no messages from its page")
            self._release_stick()

    def _release_stick(self) -> None:
        if any(self._stick):
            self._stick = (0.0, 0.0)
            self.session.steer(0.0, 0.0)

    # --- orders

    def _do_goal(self, page: Page, message: said.Goal) -> None:
        number = self.session.goal(message.x, message.y)
        self._answer(page, f"Order {number}: to ({message.x:.2f}, {message.y:.2f}) m.")

    def _do_stop(self, page: Page, message: said.Stop) -> None:
        self._stick = (0.0, 0.0)
        number = self.session.stop(message.reason or "by the operator")
        _LOG.warning("%s: emergency stop, order %d", page.name, number)
        self.pages.tell(None, "answer", good=False, text=f"Emergency stop {number} by {page.name}.")

    def _do_resume(self, page: Page, message: said.Resume) -> None:
        self._answer(page, f"Resume {self.session.resume()} sent.")

    def _do_flush(self, page: Page, message: said.Flush) -> None:
        number = self.session.flush(message.current)
        what = "pending commands and the active one" if message.current else "waiting orders"
        self._answer(page, f"Flush {number}: {what} will be discarded.")

    def _do_pause(self, page: Page, message: said.Pause) -> None:
        pause, go_on = (getattr(self.session, name, None) for name in ("pause", "go_on"))
        if pause is None or go_on is None:
            raise InputError("pause: the clock of this session cannot be paused")
        pause() if message.on else go_on()

    # --- editing

    def _do_environment(self, page: Page, message: said.Environment) -> None:
        if message.do == "edit":
            self.editing.begin()
        elif message.do == "drive":
            self.editing.drive()
        else:
            question = self.editing.back(message.anyway)
            if question:
                self.pages.tell(page, "ask", about="back", text=f"{question} Go back anyway?")

    # --- clicks and cameras

    def _page_of(self, client_id: int) -> str:
        """The id of the page whose scene a viewer of viser is; empty if that is not known."""
        return path_of(self.server, client_id).strip("/").partition("?")[0]

    def _has_control(self, client_id: int) -> bool:
        """Whether a viewer is the scene of the page in control."""
        holder = self._holder
        return holder is not None and self._page_of(client_id) == holder.id

    def _viewer_came(self, client: Any) -> None:
        page = self._page_of(client.client_id)
        if page:
            self._viewers[page] = client
            with self._stage:
                if self._scene is not None:
                    self._scene.look(client, self._wanted.get(page, "rover"))

    def _viewer_left(self, client: Any) -> None:
        if self._scene is not None:
            self._scene.leave(client)
        for page, one in list(self._viewers.items()):
            if one.client_id == client.client_id:
                self._viewers.pop(page, None)

    def _do_camera(self, page: Page, message: said.Camera) -> None:
        self._wanted[page.id] = message.mode
        if page.id in self._viewers and self._scene is not None:
            self._scene.look(self._viewers[page.id], message.mode)

    def _do_aim(self, page: Page, message: said.Aim) -> None:
        self._set_aim(message.at)

    def _do_forget(self, page: Page, message: said.Forget) -> None:
        self._set_aim(self._aim.at)
        self.scene.show_preview(None)

    def _set_aim(self, at: str) -> None:
        if self._aim.places and self._scene is not None:
            self._scene.mark([], [])
        self._aim = _Aim(at)

    def _clicked(self, event: Any) -> None:
        holder, aim = self._holder, self._aim
        if holder is None or not aim.at or not self._has_control(event.client.client_id):
            return
        place = self.scene.ground.hit(event.ray_origin, event.ray_direction)
        if place is None:
            self._answer(holder, "You did not click on the ground.", good=False)
            return
        aim.places = [place] if aim.at == "goal" else [*aim.places, place]
        labels = ["goal"] if aim.at == "goal" else [str(k + 1) for k in range(len(aim.places))]
        self.scene.mark(aim.places, labels)
        x, y, z = (float(v) for v in place)
        self.pages.tell(holder, "clicked", at=aim.at, x=x, y=y, z=z)

    # --- sequences

    def _do_check(self, page: Page, message: said.Check) -> None:
        self._show_text(page, message.text)

    def _do_edit(self, page: Page, message: said.Edit) -> None:
        text = changed(message.text, message.change, message.at, message.line)
        self._show_text(page, text, write=True)

    def _show_text(self, page: Page, text: str, write: bool = False) -> None:
        """Tell a page what a text is; `write`: the page is to take it over."""
        new: dict[str, Any] = {"text": text} if write else {}
        if not text.strip():
            self.pages.tell(page, "checked", good=True, words="", commands=[], **new)
            return
        try:
            sequence = read_text(text)
        except InputError as error:
            self.pages.tell(page, "checked", good=False, words=str(error), commands=[], **new)
            return
        self.pages.tell(page, "checked", good=True, words="", commands=told(sequence), **new)

    def _do_record(self, page: Page, message: said.Record) -> None:
        self._show_text(page, sequence_text(self.session.recorded()), write=True)

    def _do_preview(self, page: Page, message: said.Preview) -> None:
        sequence = read_text(message.text)
        if self._previewing:
            raise InputError("preview: a preview is already running")
        self._previewing = True
        self._slow.submit(self._preview, page, sequence)

    def _preview(self, page: Page, sequence: Sequence) -> None:
        try:
            preview = self.session.preview(sequence)
            self.scene.show_preview(preview)
            x, y = preview.end.centre
            self.pages.tell(
                page, "previewed", outcomes=list(preview.outcomes),
                words=f"ends at ({x:.2f}, {y:.2f}) m ± {max(preview.end.axes):.2g} m after "
                f"{preview.time[-1] - preview.time[0]:.0f} s",
            )  # fmt: skip
        except InputError as error:
            self._answer(page, str(error), good=False)
        except Exception as error:
            _LOG.exception("the preview failed")
            self._answer(page, f"The preview failed: {error}", good=False)
        finally:
            self._previewing = False

    def _do_validate(self, page: Page, message: said.Validate) -> None:
        if self._validate is None:
            raise InputError(
                "validate: validation is not available in this session; use the preview"
            )
        if self._job is not None:
            raise InputError("validate: a validation is already running; cancel it first")
        sequence = read_text(message.text)
        self._job = threading.Event()
        self._slow.submit(self._run_validation, page, sequence, self._job)

    def _do_cancel(self, page: Page, message: said.Cancel) -> None:
        if self._job is not None:
            self._job.set()

    def _run_validation(self, page: Page, sequence: Sequence, end: threading.Event) -> None:
        assert self._validate is not None

        def progress(share: float) -> None:
            self.pages.publish("validation", {"running": True, "share": _finite(share)})

        result: dict[str, Any] = {"running": False}
        try:
            progress(0.0)
            judged = self._validate(sequence, self._from_here(), progress, end.is_set)
            self._judged = (sequence_text(sequence), judged)
            result |= self._told_verdict(judged)
        except InputError as error:
            result["words"] = str(error)
        except Exception as error:
            if end.is_set():
                result["words"] = "The validation was cancelled."
            else:
                _LOG.exception("the validation failed")
                result["words"] = f"The validation failed: {error}"
        self._job = None
        self.pages.publish("validation", result)

    def _from_here(self) -> Scenario:
        """What is believed, with the rover where it will be when a command arrives."""
        shown, scenario = self.session.shown(), self.session.scenario
        qpos = shown.predicted if shown.predicted is not None else shown.delayed
        if qpos is None:
            return scenario
        place, attitude = self.scene.base_of(qpos)
        here = {"position": place, "attitude": attitude, "settle": True}
        return scenario.model_copy(update={"robot": scenario.robot.model_copy(update=here)})

    def _told_verdict(self, judged: Judged) -> dict[str, Any]:
        report = None if judged.report is None else self.pages.offer(judged.report)
        return {
            "verdict": judged.verdict,
            "words": judged.words,
            "commands": [{"verdict": c.verdict, "words": c.words} for c in judged.commands],
            "report": report,
        }

    def _do_send(self, page: Page, message: said.Send) -> None:
        sequence = read_text(message.text)
        doubt = self._doubt(sequence)
        if doubt and not message.anyway:
            self.pages.tell(page, "ask", about="send", text=f"{doubt} Send it anyway?")
            return
        numbers = self.session.send(sequence)
        _LOG.info("%s: sends %d commands (%s)", page.name, len(numbers), doubt or "validated")
        first = words_of(sequence.sequence[0])
        self._answer(page, f"{len(numbers)} commands sent, the first: {first}.")

    def _doubt(self, sequence: Sequence) -> str:
        """Why one might not want to send a sequence; empty where nothing speaks against it."""
        if self._validate is None:
            return ""
        if self._judged is None or self._judged[0] != sequence_text(sequence):
            return "This sequence has not been validated."
        verdict = self._judged[1]
        return f"The verdict is no-go: {verdict.words}" if verdict.verdict == "no-go" else ""


def _plots(shown: Shown) -> dict[str, Any]:
    errors = shown.errors[-MOST_ERRORS:]
    return {
        "errors": [
            [_finite(e.time), _finite(e.distance), _finite(e.heading), _finite(e.driven)]
            for e in errors
        ],
        "beliefs": [
            {"name": b.name, "unit": b.unit, "prior": _finite(b.prior), "value": _finite(b.value),
             "deviation": _finite(b.deviation)}
            for b in shown.beliefs
        ],
    }  # fmt: skip


def _finite(value: float) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None
