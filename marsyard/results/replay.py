"""Replay of a run in the browser: the robot on its ground, forces, tracks, and a time slider.

`build_scene` works out all poses beforehand; `serve` shows them with viser until it is stopped.
Soft ground is shown with its ruts, which appear when the wheels have passed (see `soil_scene`).
"""

from __future__ import annotations

import contextlib
import io
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import xarray as xr

from marsyard.drawing.colours import GIVEN_PATH
from marsyard.drawing.meshes import GroundMesh, Shape, body_shapes, ground_meshes
from marsyard.errors import InputError
from marsyard.files import check_file
from marsyard.ground import Surface
from marsyard.results.curves import followed_paths
from marsyard.results.dataset import open_results, record_intervals, series
from marsyard.results.ground_file import FILE_NAME as GROUND_FILE
from marsyard.results.ground_file import Ground, load_ground
from marsyard.results.scene_parts import (
    LONGEST_ARROW,
    add_lines,
    arrow_points,
    draw_arrows,
    draw_bodies,
    draw_ground,
    few,
    plain_text,
    reach_of,
    rgb,
    set_stage,
    track_lines,
    usual_force,
)
from marsyard.results.soil_scene import SoilScene, soil_scene
from marsyard.robot.model_file import quiet
from marsyard.robot.model_file import read_model as read_model_file
from marsyard.web.server import show_page, start_server, wait_for

if TYPE_CHECKING:
    import viser

__all__ = ["GroundMesh", "Replay", "Scene", "build_scene", "ground_meshes", "open_scene", "serve"]

MOST_FRAMES = 6000
FRAME_RATE = 30.0  # pictures sent per second of wall time
GROUND_RATE = 5.0  # changes of soft ground sent per second of wall time
TRACK_PIECES = 48
SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "5×", "10×", "50×")


@dataclass(frozen=True)
class Scene:
    """The content of a replay, computed for every frame.

    Attributes:
        title: what the scenario is called; name: its name in the library.
        time: of the frames [s], shape [frame].
        bodies: names of the bodies with a shape; shapes: of each body, in its own frame; numbers:
            of these bodies in the model.
        position: p_WB of the bodies [m], shape [frame, body, 3].
        quaternion: of the bodies, w x y z, shape [frame, body, 4].
        base: position of the robot's base [m], shape [frame, 3]; speed [m/s], shape [frame].
        wheels: their names; contact_point [m] and contact_force [N], shape [frame, wheel, 3],
            NaN where a wheel is in the air.
        track: where the wheels' tracks are drawn [m], as contact_point; on soft ground its surface.
        soil: soft ground; None without.
        paths: those that a drive followed, on the ground [m], each of shape [point, 3].
    """

    title: str
    name: str
    time: np.ndarray
    bodies: tuple[str, ...]
    shapes: tuple[tuple[Shape, ...], ...]
    position: np.ndarray
    quaternion: np.ndarray
    base: np.ndarray
    speed: np.ndarray
    wheels: tuple[str, ...]
    contact_point: np.ndarray
    contact_force: np.ndarray
    ground: tuple[GroundMesh, ...]
    track: np.ndarray | None = None
    soil: SoilScene | None = None
    paths: tuple[np.ndarray, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def floats(self) -> bool:
        """Whether there is no visible ground: the scene is in space, without a sky."""
        return not self.ground and self.soil is None

    @property
    def size(self) -> float:
        """Reach of the robot around its base in the first frame [m]."""
        return reach_of(self.base[0], self.position[0], self.shapes)


def build_scene(
    model: mujoco.MjModel,
    ds: xr.Dataset,
    ground: Sequence[GroundMesh] = (),
    title: str | None = None,
    soil: Ground | None = None,
    most: int | None = None,
    smooth: bool = True,
) -> Scene:
    """The scene of a run from the robot's model, the run's data set and meshes of the ground.

    `soil` is the soft ground as the run left it, `most` the number of frames at most, `smooth` as
    for `body_shapes`.
    """
    coordinates = series(ds, "coordinates").values
    if coordinates.shape[1] != model.nq:
        raise InputError(
            f"the run has {coordinates.shape[1]} coordinates, the model {model.nq}; "
            "they do not match"
        )
    # a run that broke down is shown up to where it did
    broken = np.flatnonzero(~np.isfinite(coordinates).all(axis=1))
    count = int(broken[0]) if broken.size else len(coordinates)
    if count == 0:
        raise InputError("the run holds no record with finite coordinates; nothing to replay")
    stride = max(1, math.ceil(count / (most or MOST_FRAMES)))
    frames = np.unique(np.append(np.arange(0, count, stride), count - 1))
    shapes = {b: s for b, s in body_shapes(model, smooth).items() if s}
    numbers = list(shapes)
    position, quaternion = _poses(model, coordinates[frames], numbers)
    base = series(ds, "position_base").values[frames]
    point, force = _contacts(ds, frames)
    return Scene(
        title=title or str(ds.attrs.get("title") or ds.attrs.get("scenario") or "A run"),
        name=str(ds.attrs.get("scenario", "")),
        time=ds["time"].values[frames].astype(float),
        bodies=tuple(model.body(b).name or f"body {b}" for b in numbers),
        shapes=tuple(tuple(shapes[b]) for b in numbers),
        position=position,
        quaternion=quaternion,
        base=base,
        speed=series(ds, "speed").values[frames],
        wheels=tuple(str(w) for w in ds["wheel"].values) if "wheel" in ds.coords else (),
        contact_point=point,
        contact_force=force,
        ground=tuple(GroundMesh(*g) for g in ground),
        track=None if soil is None else _on_surface(point, soil),
        soil=None if soil is None else soil_scene(soil, ds),
        paths=tuple(on_ground(path, point, soil) for path in followed_paths(ds)),
        numbers=tuple(numbers),
    )


def open_scene(
    run: str | Path, surfaces: Sequence[Surface] = (), title: str | None = None
) -> Scene:
    """The scene of a run from its folder: `results.nc` and the model, `model.mjb` or `model.xml`.

    `surfaces` is the hard ground to draw; soft ground is taken from `ground.nc`, and the terrain
    around it from `scenario.yaml`.
    """
    ds = open_results(run)
    folder = run_folder(run)
    soil = load_ground(folder) if (folder / GROUND_FILE).exists() else None
    return build_scene(read_model(folder), ds, ground_meshes(surfaces, ds), title, soil)


def run_folder(run: str | Path) -> Path:
    """The folder of a run that is given as such or by its `results.nc`."""
    return Path(run) if Path(run).is_dir() else Path(run).parent


def read_model(folder: Path) -> mujoco.MjModel:
    """The model of a run: `model.mjb`, or `model.xml` where MuJoCo cannot read that."""
    readers: dict[str, Callable[[Path], mujoco.MjModel]] = {
        "model.mjb": _read_binary,
        "model.xml": lambda path: read_model_file(path).compile(),
    }
    there = [folder / name for name in readers if (folder / name).exists()]
    if not there:
        raise InputError(f"'{folder}' has no {' or '.join(readers)}; the robot cannot be drawn")
    problems = []
    for path in there:
        try:
            return readers[path.name](path)
        except (ValueError, RuntimeError, mujoco.FatalError) as error:
            problems.append(f"{path.name}: {' '.join(str(error).split())}")
    raise InputError(f"MuJoCo cannot read the model in '{folder}' ({'; '.join(problems)})")


def _read_binary(path: Path) -> mujoco.MjModel:
    check_file(path, "model")
    with quiet():
        return mujoco.MjModel.from_binary_path(str(path))


def _poses(
    model: mujoco.MjModel, coordinates: np.ndarray, bodies: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and quaternions of the bodies in all frames, by forward kinematics."""
    data = mujoco.MjData(model)
    position = np.empty((len(coordinates), len(bodies), 3))
    quaternion = np.empty((len(coordinates), len(bodies), 4))
    for frame, q in enumerate(coordinates):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        position[frame] = data.xpos[bodies]
        quaternion[frame] = data.xquat[bodies]
    return position, quaternion


def _contacts(ds: xr.Dataset, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Contact points [m] and mean forces over the record interval [N] per wheel."""
    if "contact_point" not in ds or "contact_impulse_world" not in ds:
        nothing = np.full((len(frames), 0, 3), np.nan)
        return nothing, nothing
    order = ("time", "wheel", "axis")
    point = ds["contact_point"].transpose(*order).values[frames]
    impulse = ds["contact_impulse_world"].transpose(*order).values[frames]
    force = impulse / record_intervals(ds).values[frames, None, None]
    return point, np.where(np.isfinite(point), force, np.nan)


def _on_surface(point: np.ndarray, ground: Ground) -> np.ndarray:
    """Points lifted to the final surface of soft ground where they lie below it [m]."""
    out = point.copy()
    known = np.isfinite(point).all(axis=-1)
    base, change = ground.sample(point[known][:, 0], point[known][:, 1])
    out[known, 2] = np.fmax(point[known][:, 2], base + change)
    return out


def on_ground(path: np.ndarray, point: np.ndarray, ground: Ground | None) -> np.ndarray:
    """A path [n, 2] on the final surface of soft ground, or at the contacts' mean height [m]."""
    if ground is not None:
        base, change = ground.sample(path[:, 0], path[:, 1])
        height = np.where(np.isfinite(base + change), base + change, np.nanmean(base))
    else:
        height = np.full(len(path), np.nanmean(point[..., 2]) if np.isfinite(point).any() else 0.0)
    return np.column_stack([path, height + 0.01])


# --- showing it


class Replay:
    """A running replay; `stop` ends it."""

    def __init__(self, scene: Scene, server: viser.ViserServer, url: str):
        self.scene, self.server, self.url = scene, server, url
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._frame = -1
        self._plotted = 0.0
        self._ground_drawn = 0.0
        self._blocks: list[Any] = []
        self._block_state: list[tuple[int, bool]] = []
        self._followed = scene.base[0]
        self._pieces = _track_pieces(scene)
        typical = usual_force(scene.contact_force)
        self._arrow_length = 0.5 * min(scene.size, 1.0) / typical if typical else 0.0
        self._draw_scene()
        self._make_controls()
        self._show(0)
        self._thread = threading.Thread(target=self._play, name="replay", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the replay and free the port."""
        self._stop.set()
        self._changed.set()
        self._thread.join(timeout=2.0)
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def wait(self) -> None:
        """Wait until the replay is stopped."""
        wait_for(self._stop)

    # what stands in the scene

    def _draw_scene(self) -> None:
        scene, view = self.scene, self.server.scene
        set_stage(self.server, scene.floats)
        draw_ground(view, scene.ground)
        if scene.soil is not None:
            self._draw_soil(scene.soil)
        self._bodies = draw_bodies(view, scene.bodies, scene.shapes)
        self._arrows = draw_arrows(view)
        self._tracks = []
        for number, (_, points, colours) in enumerate(self._pieces):
            self._tracks.append(add_lines(view, f"/tracks/{number}", points, colours))
        for number, path in enumerate(scene.paths):
            pairs = np.stack([path[:-1], path[1:]], axis=1)
            violet = np.broadcast_to(np.array(rgb(GIVEN_PATH["color"])), pairs.shape)
            add_lines(view, f"/paths/{number}", pairs, violet).visible = True
        self._head = add_lines(view, "/tracks/head", np.zeros((1, 2, 3)), np.zeros((1, 2, 3)))

        # first view: from behind and to the right, at the height where the robot mostly is
        camera, reach = self.server.initial_camera, max(scene.size, 0.3)
        target = np.append(scene.base[0, :2], np.median(scene.base[:, 2]))
        camera.look_at = target
        camera.position = target + reach * np.array([-1.9, -2.1, 1.25])

    def _draw_soil(self, soil: SoilScene) -> None:
        view = self.server.scene
        around = soil.surroundings()
        if around is not None:
            view.add_glb("/soil/around", around, cast_shadow=False)
        for number, block in enumerate(soil.blocks):
            mesh = soil.mesh(number, -np.inf, False)
            self._blocks.append(view.add_glb(f"/soil/{number}", mesh, cast_shadow=False))
            self._block_state.append((block.state(-np.inf), False))

    def _make_controls(self) -> None:
        scene, gui = self.scene, self.server.gui
        name = f"\n\n`{scene.name}`" if scene.name and scene.name != scene.title else ""
        gui.add_markdown(f"**{plain_text(scene.title)}**{name}")
        start, end = float(scene.time[0]), float(scene.time[-1])
        step = max((end - start) / max(len(scene.time) - 1, 1), 1e-6)
        self._time: Any = gui.add_slider("time [s]", start, max(end, start + step), step, start)
        self._button = gui.add_button("Play")
        self._speed = gui.add_dropdown("speed", SPEEDS, initial_value="1×")
        self._again = gui.add_checkbox("repeat", False)
        self._follow = gui.add_checkbox("follow the robot", False)
        with gui.add_folder("Contact forces"):
            self._forces = gui.add_checkbox("show forces", True)
            self._scale = gui.add_slider(
                "arrow length", 0.1, 5.0, 0.1, 1.0,
                hint=f"at 1, a typical force is drawn half as long as the robot; at most "
                     f"{LONGEST_ARROW} m",
            )  # fmt: skip
            # on soil the ruts tell
            self._show_tracks = gui.add_checkbox("show wheel tracks", scene.soil is None)
        self._colour: Any = None
        if scene.soil is not None:
            with gui.add_folder("Soil"):
                self._colour = gui.add_dropdown("colour", ("height change", "soil"))
                gui.add_markdown(
                    f"blue: lower, red: higher than before; full colour at ± "
                    f"{1000 * scene.soil.scale:.3g} mm. Each node jumps to its final height at "
                    f"its last change."
                )
            self._colour.on_update(lambda _: self._changed.set())
        with gui.add_folder("Now"):
            self._readout = gui.add_markdown("")
            self._plots = [
                (gui.add_uplot(**self._plot(values, label, colour)), values)
                for values, label, colour in (
                    (scene.speed, "speed [m/s]", "#c25a2b"),
                    (scene.base[:, 2], "base z [m]", "#2b5fc0"),
                )
            ]
        self._playing = False
        self._button.on_click(lambda _: self._toggle())
        for control in (self._time, self._forces, self._scale, self._show_tracks, self._follow):
            control.on_update(lambda _: self._changed.set())

    def _plot(self, values: np.ndarray, label: str, colour: str) -> dict[str, Any]:
        """A small plot: the whole run in grey, what has passed in colour."""
        picked = few(len(self.scene.time))
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        room = max(0.08 * (high - low), 1e-3)
        return {
            "data": (self.scene.time[picked], values[picked], np.full(len(picked), np.nan)),
            "series": (
                {"label": "t"},
                {"label": label, "stroke": "#b8b8b8", "width": 1},
                {"label": "so far", "stroke": colour, "width": 2},
            ),
            "scales": {"x": {"time": False}, "y": {"range": (low - room, high + room)}},
            "title": label,
            "legend": {"show": False},
            "height": 130,
        }

    # moving it

    def _toggle(self) -> None:
        self._playing = not self._playing
        at_end = self._time.value >= self.scene.time[-1] - 1e-9
        if self._playing and at_end:
            self._time.value = float(self.scene.time[0])
        self._button.label = "Pause" if self._playing else "Play"
        self._changed.set()

    def _play(self) -> None:
        """The one thread that draws: moves time on when playing, else waits for a change."""
        last: float | None = None
        while not self._stop.is_set():
            self._changed.wait(None if not self._playing else 1 / FRAME_RATE)
            self._changed.clear()
            now = time.perf_counter()
            if self._playing and last is not None:
                self._advance(min(now - last, 0.5))
            last = now if self._playing else None
            frame = int(np.searchsorted(self.scene.time, self._time.value + 1e-9)) - 1
            self._show(max(frame, 0))
            # no faster than the browser can take it
            self._stop.wait(max(0.0, 1 / FRAME_RATE - (time.perf_counter() - now)))

    def _advance(self, elapsed: float) -> None:
        start, end = float(self.scene.time[0]), float(self.scene.time[-1])
        t = self._time.value + elapsed * float(self._speed.value.rstrip("×"))
        if t >= end:
            t = start if self._again.value else end
            if not self._again.value:
                self._toggle()
        self._time.value = min(max(t, start), end)

    def _show(self, frame: int) -> None:
        """Put everything where it is in `frame`."""
        scene = self.scene
        with self.server.atomic():
            if frame != self._frame:
                for b, handle in enumerate(self._bodies):
                    handle.position = scene.position[frame, b]
                    handle.wxyz = scene.quaternion[frame, b]
            self._show_arrows(frame)
            self._show_track(frame)
            self._show_soil(frame)
        self._move_camera(frame)
        self._frame = frame
        self._show_numbers(frame)

    def _show_arrows(self, frame: int) -> None:
        points = arrow_points(
            self.scene.contact_point[frame], self.scene.contact_force[frame],
            self._arrow_length * self._scale.value,
        )  # fmt: skip
        visible = bool(self._forces.value and len(points))
        if visible:
            self._arrows.points = points
        self._arrows.visible = visible

    def _show_track(self, frame: int) -> None:
        wanted = bool(self._show_tracks.value)
        behind = [end <= frame for end, _, _ in self._pieces]
        for handle, passed in zip(self._tracks, behind, strict=True):
            if handle.visible != (wanted and passed):
                handle.visible = wanted and passed
        # the current piece, up to now
        start = max((end for end, _, _ in self._pieces if end <= frame), default=0)
        points, colours = _segments(self.scene, start, frame)
        self._head.visible = wanted and len(points) > 0
        if self._head.visible:
            self._head.points = points.astype(np.float32)
            self._head.colors = colours.astype(np.uint8)

    def _show_soil(self, frame: int) -> None:
        """Bring those blocks of soft ground up to date that look otherwise than they are shown."""
        soil, now = self.scene.soil, time.perf_counter()
        if soil is None or (self._playing and now - self._ground_drawn < 1 / GROUND_RATE):
            return
        at, by_change = float(self.scene.time[frame]), self._colour.value == "height change"
        for number, block in enumerate(soil.blocks):
            state = (block.state(at), by_change)
            if state != self._block_state[number]:
                self._blocks[number].glb_data = soil.mesh(number, at, by_change)
                self._block_state[number] = state
        self._ground_drawn = time.perf_counter()

    def _move_camera(self, frame: int) -> None:
        base = self.scene.base[frame]
        if self._follow.value:
            for client in self.server.get_clients().values():
                with contextlib.suppress(AssertionError, ValueError):
                    client.camera.position = client.camera.position + (base - self._followed)
        self._followed = base

    def _show_numbers(self, frame: int) -> None:
        scene, now = self.scene, time.perf_counter()
        if self._playing and now - self._plotted < 0.2:
            return
        self._plotted = now
        x, y, z = scene.base[frame]
        force = np.nan_to_num(scene.contact_force[frame])
        self._readout.content = (
            f"time **{scene.time[frame]:.3f} s**, speed **{scene.speed[frame]:.3f} m/s**\n\n"
            f"base x {x:.3f}, y {y:.3f}, z {z:.3f} m\n\n"
            # a recording without wrenches does not tell
            + (f"contact force {np.linalg.norm(force.sum(axis=0)):.1f} N" if len(force) else "")
        )
        picked = few(len(scene.time))
        for handle, values in self._plots:
            past = np.where(picked <= frame, values[picked], np.nan)
            handle.data = (scene.time[picked], values[picked], past)


def serve(
    scene: Scene,
    host: str = "127.0.0.1",
    port: int = 8080,
    block: bool = True,
    token: str | None = None,
    browser: bool = False,
) -> Replay | None:
    """Show the scene in the browser at `host`:`port` (0 takes any free port). Its address holds the
    token that it needs, random unless it is given.

    With `block` it returns when ctrl-c is pressed, else at once with the running replay. With
    `browser` the page is opened where there is a browser.
    """
    server, url = start_server(host, port, "the replay", token)
    replay = Replay(scene, server, url)
    runs = show_page(replay, replay.url, f"replay of {scene.title}", browser, block)
    return replay if runs else None


# --- pieces


def _track_pieces(scene: Scene) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """The tracks in pieces, each with the frame at which it is complete."""
    ends = np.unique(np.linspace(0, len(scene.time) - 1, TRACK_PIECES + 1).astype(int))
    pieces = []
    for start, end in zip(ends[:-1], ends[1:], strict=True):
        points, colours = _segments(scene, int(start), int(end))
        if len(points):
            pieces.append((int(end), points, colours))
    return pieces


def _segments(scene: Scene, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines between contact points from frame `start` to `end`: points and colours, [n, 2, 3]."""
    points, colours = [np.zeros((0, 2, 3))], [np.zeros((0, 2, 3), dtype=np.uint8)]
    for w in range(scene.contact_point.shape[1]):
        path = (scene.contact_point if scene.track is None else scene.track)[start : end + 1, w]
        pairs, colour = track_lines(path, scene.wheels[w], w)
        points.append(pairs)
        colours.append(colour)
    return np.concatenate(points), np.concatenate(colours)
