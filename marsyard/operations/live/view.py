"""The live view: one thread that draws the newest snapshot, at most 25 times a second.

All viewers share a scene; each has a panel of his own. viser keeps, for every property of every
thing, only its newest value, and sends to each viewer what has changed since it last sent, as fast
as he takes it. A slow viewer therefore skips pictures, and nothing piles up. What is dear (numbers,
soil) is done less often, so that it takes no more than a share of the time.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time as clock
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import xarray as xr

from marsyard.drawing.meshes import body_shapes, ground_meshes
from marsyard.operations.live.history import Track
from marsyard.operations.live.mailbox import Mailbox, read_speed
from marsyard.operations.live.numbers import Numbers, mean_forces
from marsyard.operations.live.panel import Panel
from marsyard.operations.live.physics import Physics, Snapshot
from marsyard.operations.live.soil import COLOURS, LiveSoil
from marsyard.results.scene_parts import (
    add_lines,
    arrow_points,
    draw_arrows,
    draw_bodies,
    draw_ground,
    plain_text,
    reach_of,
    set_stage,
    track_lines,
)

if TYPE_CHECKING:
    import viser

_log = logging.getLogger(__name__)

FRAME_RATE = 25.0
SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "5×", "10×", "50×", "max")
AHEAD = 4.0  # ground is drawn anew when the robot is this far out of where it was [m]


class Rate:
    """Lets something happen not too often: at most every `period` [s], and for no more than a
    `share` of the time."""

    def __init__(self, period: float, share: float) -> None:
        self._period, self._share, self._next = period, share, 0.0

    @property
    def due(self) -> bool:
        """Whether it may happen now."""
        return clock.perf_counter() >= self._next

    @contextlib.contextmanager
    def spent(self) -> Any:
        """Wrap what happens."""
        began = clock.perf_counter()
        yield
        now = clock.perf_counter()
        self._next = max(began + self._period, now + (now - began) * (1 / self._share - 1))


class LiveView:
    """A view of a simulation that runs elsewhere; `stop` ends it, not the server."""

    def __init__(
        self, physics: Physics, server: viser.ViserServer, title: str = "", name: str = ""
    ) -> None:
        self.server, self.physics = server, physics
        self.simulation, self.mailbox = physics.simulation, physics.mailbox
        s = self.simulation
        self.wheels = tuple(s.world.robot.wheels)
        self.numbers = Numbers(s)
        self._data = mujoco.MjData(s.model)
        self._base_body = s.model.body(s.world.robot.base).id if s.world.robot.base else 1
        shapes = {b: parts for b, parts in body_shapes(s.model).items() if parts}
        self._bodies = list(shapes)
        self._shapes = list(shapes.values())
        self._move(physics.latest)
        self.size = reach_of(self.base, self._data.xpos[self._bodies], self._shapes)
        self._panels: dict[int, Panel] = {}
        self._stop = threading.Event()
        self._changed = True
        self._drawn: tuple[int, str] = (-1, "")
        self._rows = 0
        self._track = Track(len(self.wheels))
        self._track_handles: list[Any] = []
        self._track_version = 0
        self._rates = {"numbers": Rate(0.4, 0.15), "soil": Rate(0.2, 0.2), "track": Rate(0.1, 0.1)}
        self.frames = 0
        self._failed = False
        self._draw_scene()
        self._make_controls(title or s.scenario.title or name, name)
        server.on_client_connect(self._connected)
        server.on_client_disconnect(self._left)
        self._thread = threading.Thread(target=self._play, name="live view", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the drawing; the server stays."""
        self._stop.set()
        self._thread.join(timeout=5.0)
        with contextlib.suppress(AttributeError, ValueError):
            self.server._client_connect_cb.remove(self._connected)
            self.server._client_disconnect_cb.remove(self._left)

    # --- what the panels ask

    @property
    def base(self) -> np.ndarray:
        """Last drawn position of the robot's base [m]."""
        return self._data.xpos[self._base_body].copy()

    def wheel_centre(self, wheel: str) -> np.ndarray:
        """Last drawn position of a wheel [m]."""
        body = self.simulation.model.body(self.simulation.world.robot.wheels[wheel].body).id
        return self._data.xpos[body].copy()

    def wheel_radius(self, wheel: str) -> float:
        """Radius of a wheel [m]."""
        return self.simulation.world.robot.wheels[wheel].radius

    @property
    def viewers(self) -> int:
        """Number of viewers."""
        return len(self._panels)

    # --- setting up

    def _draw_scene(self) -> None:
        s, view = self.simulation, self.server.scene
        floats = not s.world.surfaces and s.world.soil is None
        set_stage(self.server, floats)
        self._seen = np.stack([self.base, self.base])
        self._draw_ground()
        self._soil = None if s.world.soil is None else LiveSoil(s, view)
        of_body = {w.body: name for name, w in s.world.robot.wheels.items()}

        def clicked(body: str) -> Any:
            if body not in of_body:
                return None
            return lambda event: self._pick(event.client_id, of_body[body])

        names = [s.model.body(b).name or f"body {b}" for b in self._bodies]
        self._frames = draw_bodies(view, names, self._shapes, clicked)
        self._arrows = draw_arrows(view)
        none = np.zeros((1, 2, 3))
        self._head = add_lines(view, "/tracks/head", none, none)
        weight = float(np.sum(s.model.body_mass)) * abs(s.scenario.gravity)
        usual = weight / max(len(self.wheels), 1)
        self._arrow_length = 0.5 * min(self.size, 1.0) / usual if usual else 0.0
        camera, reach = self.server.initial_camera, max(self.size, 0.3)
        camera.look_at = self.base
        camera.position = self.base + reach * np.array([-1.9, -2.1, 1.25])

    def _draw_ground(self) -> None:
        """Hard ground around where the robot has been."""
        track = xr.Dataset({"position_base": (("time", "axis"), self._seen)})
        draw_ground(self.server.scene, ground_meshes(self.simulation.world.surfaces, track))

    def _make_controls(self, title: str, name: str) -> None:
        gui = self.server.gui
        shown = f"\n\n`{name}`" if name and name != title else ""
        gui.add_markdown(f"**{plain_text(title)}**{shown}")
        self._status = gui.add_markdown("")
        self._pause = gui.add_button("Pause")
        self._single = gui.add_button("Step", hint="pause and advance by one control period")
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value=_nearest(self.mailbox))
        # after what each viewer has of his own
        with gui.add_folder("Display", order=1e12):
            self._make_display(gui)
        self._pause.on_click(lambda _: self._toggle())
        self._single.on_click(lambda _: self.mailbox.step())
        self._speed.on_update(lambda _: self.mailbox.set_speed(read_speed(self._speed.value)))
        for control in (self._forces, self._scale, self._show_tracks):
            control.on_update(lambda _: self._touch())

    def _make_display(self, gui: Any) -> None:
        soil = self.simulation.world.soil
        self._forces = gui.add_checkbox("show forces", True)
        self._scale = gui.add_slider("arrow length", 0.1, 5.0, 0.1, 1.0)
        self._show_tracks = gui.add_checkbox("show wheel tracks", soil is None)
        self._colour: Any = None
        if soil is not None:
            self._colour = gui.add_dropdown("colour of the soil", COLOURS)
            self._legend = gui.add_markdown("")
            self._colour.on_update(lambda _: self._touch())

    def _toggle(self) -> None:
        if self.mailbox.peek().paused:
            self.mailbox.go_on()
        else:
            self.mailbox.pause()
        self._touch()

    def _touch(self) -> None:
        self._changed = True

    def _connected(self, client: Any) -> None:
        self._panels[client.client_id] = Panel(client, self)
        self._touch()

    def _left(self, client: Any) -> None:
        self._panels.pop(client.client_id, None)

    def _pick(self, client_id: int, wheel: str) -> None:
        panel = self._panels.get(client_id)
        if panel is not None:
            panel.pick(wheel)

    # --- drawing

    def _play(self) -> None:
        while not self._stop.is_set():
            began = clock.perf_counter()
            if self._panels:
                self._try_to_draw()
            spent = clock.perf_counter() - began
            # no more than half of the time, however slow the machine
            self._stop.wait(max(1 / FRAME_RATE - spent, spent))

    def _try_to_draw(self) -> None:
        """Draw; a picture that fails is told once, and must not be the last."""
        try:
            self._draw(self.physics.latest)
        except Exception:
            self._changed = True
            if not self._failed:
                self._failed = True
                _log.exception("a picture of the live view could not be drawn")

    def _draw(self, now: Snapshot) -> None:
        """Show a snapshot, if it is not shown yet."""
        mark = (now.steps, now.state)
        if mark != self._drawn or self._changed:
            self._changed, self._drawn = False, mark
            self._show(now)
            self.frames += 1
        # what was not due with the last picture may be now
        self._show_track(now)
        self._show_soil(now)
        self._show_numbers(now)

    def _move(self, now: Snapshot) -> None:
        self._data.qpos[:] = now.qpos
        mujoco.mj_kinematics(self.simulation.model, self._data)

    def _show(self, now: Snapshot) -> None:
        self._move(now)
        point, force = mean_forces(now)
        arrows = arrow_points(point, force, self._arrow_length * self._scale.value)
        with self.server.atomic():
            for body, frame in zip(self._bodies, self._frames, strict=True):
                frame.position = self._data.xpos[body]
                frame.wxyz = self._data.xquat[body]
            visible = bool(self._forces.value and len(arrows))
            if visible:
                self._arrows.points = arrows
            if self._arrows.visible != visible:
                self._arrows.visible = visible
        self._follow_ground()
        for panel in list(self._panels.values()):
            panel.follow()
        paused = self.mailbox.peek().paused and now.state != "ended"
        label = "Resume" if paused else "Pause"
        if self._pause.label != label:
            self._pause.label = label
        self._status.content = _status(now, self.simulation.scenario.run.duration)

    def _follow_ground(self) -> None:
        base = self.base
        if np.any(base < self._seen[0] - AHEAD) or np.any(base > self._seen[1] + AHEAD):
            self._seen = np.stack(
                [np.minimum(base, self._seen[0]), np.maximum(base, self._seen[1])]
            )
            self._draw_ground()

    def _show_numbers(self, now: Snapshot) -> None:
        rate, new = self._rates["numbers"], False
        if rate.due:
            with rate.spent():
                new = self.numbers.update(now)
        for panel in list(self._panels.values()):
            if new or panel.dirty:
                panel.refresh()

    def _show_soil(self, now: Snapshot) -> None:
        rate = self._rates["soil"]
        if self._soil is None or not rate.due:
            return
        with rate.spent():
            self._soil.update(now, self._colour.value, self.base)
            words = {
                "height change": "blue: lower, red: higher than before; full colour at "
                f"± {1000 * self._soil.scale:.3g} mm",
                "normal stress": "largest normal stress so far; darkest at "
                f"{self._soil.stress_scale / 1000:.3g} kPa",
            }.get(self._colour.value, "")
            if self._legend.content != words:
                self._legend.content = words

    def _show_track(self, now: Snapshot) -> None:
        rate = self._rates["track"]
        if not self.wheels or not rate.due:
            return
        with rate.spent():
            if now.count > self._rows:
                rows = np.linspace(self._rows, now.count - 1, min(now.count - self._rows, 200))
                self._track.add(now.records.point[np.unique(rows.astype(int))])
                self._rows = now.count
            self._draw_track(bool(self._show_tracks.value))

    def _draw_track(self, wanted: bool) -> None:
        track = self._track
        if track.version != self._track_version:
            for handle in self._track_handles:
                handle.remove()
            self._track_handles, self._track_version = [], track.version
        while len(self._track_handles) < track.pieces:
            number = len(self._track_handles)
            lines = self._lines(track.piece(number))
            handle = add_lines(self.server.scene, f"/tracks/{number}", *lines)
            handle.visible = wanted
            self._track_handles.append(handle)
        for handle in self._track_handles:
            if handle.visible != wanted:
                handle.visible = wanted
        points, colours = self._lines(track.piece(track.pieces))
        shown = wanted and len(points) > 0
        if shown:
            self._head.points = points.astype(np.float32)
            self._head.colors = colours.astype(np.uint8)
        if self._head.visible != shown:
            self._head.visible = shown

    def _lines(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [track_lines(rows[:, w], name, w) for w, name in enumerate(self.wheels)]
        points, colours = (np.concatenate(p) for p in zip(*parts, strict=True))
        return points, colours


def _nearest(mailbox: Mailbox) -> str:
    """The speed of the list that is nearest to the one ordered."""
    speed = mailbox.peek().speed
    if math.isinf(speed):
        return SPEEDS[-1]
    return min(SPEEDS[:-1], key=lambda text: abs(math.log(read_speed(text) / speed)))


def _status(now: Snapshot, duration: float) -> str:
    pace = f", {now.pace:.2g} times real time" if now.state == "running" and now.pace else ""
    return f"time **{now.time:.3f} s** of {duration:g} s\n\n{now.state}{pace}"
