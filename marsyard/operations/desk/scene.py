"""The desk's 3D scene: the rover as telemetry tells it, the one that is predicted, and the ground.

    solid, own colours     the rover as it was when the newest telemetry was measured
    translucent blue       where it will be when a command given now arrives
    blue ellipses          hold that place with 95 %; one on the ground, one above the rover, where
                           it does not hide it
    blue line              path from the one to the other, as predicted
    white line             places that telemetry told; blue dots: what had been predicted for them
    green                  a preview of a sequence, with its end
    orange                 goals and points set by clicks
    poles                  gates: yellow the next one, white those behind it, green those passed,
                           red those left out; numbered, a line on the ground between the posts

Only what has changed is given to viser, which sends each viewer the newest of it. Each viewer looks
with a camera of his own.
"""

from __future__ import annotations

import contextlib
import threading
import time as clock
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import xarray as xr

from marsyard.drawing.meshes import Shape, body_shapes, ground_meshes
from marsyard.operations.desk.ground import ClickedGround
from marsyard.results.scene_parts import BRAND, draw_bodies, draw_ground, reach_of, set_stage
from marsyard.results.soil_scene import soil_colours, soil_mesh, square_shade

if TYPE_CHECKING:
    import viser

    from marsyard.operations.teleop.session import Ellipse, Preview, Session, Shown
    from marsyard.results.gates import GateScore
    from marsyard.scenario.gates import Gate

BLUE = (70, 160, 255)
GREEN = (60, 220, 130)
ORANGE = (255, 150, 40)
WHITE = (240, 240, 240)
YELLOW = (255, 214, 40)
RED = (235, 70, 60)
#: colour of a gate by what became of it
GATES = {"passed": GREEN, "missed": RED, "next": YELLOW, "ahead": WHITE}
LIFT = 0.02  # of lines above the ground [m]
MOST_POINTS = 400  # of a line
MARGIN = 12.0  # ground shown around the rover [m]
POST = 0.35  # height of the posts of gates, of the rover's size
CELL = 0.125  # of the terrain as it is drawn [m]
SAME = 0.005  # difference of positions from which on two rovers are drawn [m] or of quaternions
SETTLED = 2.0  # time after which a camera is where it was set [s]
AHEAD = 4.0  # ground is drawn anew when the rover is this far out of where it was [m]


class DeskScene:
    """What all viewers of a desk see in 3D."""

    def __init__(self, session: Session, server: viser.ViserServer) -> None:
        from marsyard.robot import load_robot

        self.server, self.model, self.scenario = server, session.model, session.scenario
        self._other = mujoco.MjData(self.model)  # for whoever asks from another thread
        self.ground = ClickedGround(session.scenario)
        self._data = mujoco.MjData(self.model)
        base = load_robot(session.scenario.robot.name).base
        self._base = self.model.body(base).id if base else 1
        shapes = {b: parts for b, parts in body_shapes(self.model).items() if parts}
        self._bodies, self._shapes = list(shapes), list(shapes.values())
        mujoco.mj_kinematics(self.model, self._data)
        start = self._data.xpos[self._base].copy()
        reach = reach_of(start, self._data.xpos[self._bodies], self._shapes)
        self.size = max(reach, 0.3)
        self._lock = threading.Lock()
        self._cameras: dict[int, tuple[Any, str]] = {}
        self._set_away: dict[int, tuple[np.ndarray, float]] = {}
        self._at = {"rover": start, "prediction": start}
        self._seen: np.ndarray | None = None
        self._terrain: Any = None
        self._hard: list[Any] = []
        self.preview: Preview | None = None
        self._marks: list[Any] = []
        self._last: dict[str, Any] = {}
        self._gates: list[list[Any]] = []  # pieces of each gate
        self._build()
        self._look_first(start)

    def _build(self) -> None:
        view = self.server.scene
        set_stage(self.server, not self.ground.surfaces and self.ground.terrain is None)
        self.server.gui.configure_theme(
            dark_mode=True, show_logo=False, show_share_button=False, brand_color=BRAND
        )
        names = [self.model.body(b).name or f"body {b}" for b in self._bodies]
        self._roots = {
            name: view.add_frame(name, show_axes=False, visible=False)
            for name in ("/robot", "/ghost")
        }
        self._solid = draw_bodies(view, names, self._shapes)
        self._ghost = _draw_ghost(view, names, self._shapes)
        self._lines = {
            "path": _line(view, "/path", BLUE, 3.0),
            "trail": _line(view, "/trail", WHITE, 2.0),
            "ellipse": _line(view, "/ellipse", BLUE, 3.0),
            "halo": _line(view, "/halo", BLUE, 2.0),
            "preview": _line(view, "/preview", GREEN, 3.0),
            "preview end": _line(view, "/preview-end", GREEN, 2.0),
        }
        self._region = _disc(view, "/region", BLUE)
        self._forecasts = view.add_point_cloud(
            "/forecasts",
            np.zeros((1, 3), np.float32),
            BLUE,
            point_size=0.025,
            point_shape="circle",
            visible=False,
        )
        self._labels = {
            "rover": view.add_label("/label-rover", "", visible=False),
            "prediction": view.add_label("/label-prediction", "", visible=False),
        }

    def _draw_gate(self, number: int, gate: Gate, state: str) -> None:
        """A gate in the colour of its state, in place of the one before."""
        view, high = self.server.scene, POST * self.size
        for handle in self._gates[number]:
            handle.remove()
        posts = gate.posts()
        feet = np.column_stack([posts, self._height(posts[:, 0], posts[:, 1])])
        tops = feet + [0, 0, high]
        name, colour = f"/gates/{number}", GATES[state]
        poles = [
            view.add_cylinder(
                f"{name}/post{k}", 0.03 * self.size, high, color=colour,
                position=tuple(foot + [0, 0, high / 2]),
            )
            for k, foot in enumerate(feet)
        ]  # fmt: skip
        line = np.stack([feet[:1], feet[1:]], axis=1) + [0, 0, LIFT]
        across = view.add_line_segments(
            f"{name}/line", line.astype(np.float32), colour, thickness=2.0,
            thickness_units="screen",
        )  # fmt: skip
        label = view.add_label(f"{name}/label", str(number + 1), position=tuple(tops.mean(axis=0)))
        self._gates[number] = [*poles, across, label]

    def _show_gates(self, score: GateScore | None) -> None:
        gates = self.scenario.gates
        states = ("ahead",) * len(gates) if score is None else score.states
        if not self._gates:
            self._gates = [[] for _ in gates]
        for number, (gate, state) in enumerate(zip(gates, states, strict=True)):
            if self._new(f"gate {number}", state):
                self._draw_gate(number, gate, state)

    def clear(self) -> None:
        """Take all of it away."""
        with self._lock, self.server.atomic():
            handles = [
                *(piece for gate in self._gates for piece in gate),
                *self._roots.values(),
                *self._lines.values(),
                *self._labels.values(),
            ]
            handles += [self._region, self._forecasts, *self._hard, *self._marks]
            for handle in (*handles, *([] if self._terrain is None else [self._terrain])):
                with contextlib.suppress(RuntimeError, KeyError):
                    handle.remove()

    # --- the newest state

    def pose(self, qpos: np.ndarray) -> tuple[np.ndarray, float]:
        """Place [m] and heading [rad] of the base."""
        self._move(qpos)
        w, x, y, z = self._data.xquat[self._base]
        heading = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        return self._data.xpos[self._base].copy(), float(heading)

    def base_of(self, qpos: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Place [m] and roll, pitch, yaw [rad] of the base."""
        with self._lock:
            self._other.qpos[:] = qpos
            mujoco.mj_kinematics(self.model, self._other)
            place = tuple(float(v) for v in self._other.xpos[self._base])
            w, x, y, z = (float(v) for v in self._other.xquat[self._base])
        roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        return place, (float(roll), float(pitch), float(yaw))

    def _move(self, qpos: np.ndarray) -> None:
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self._data)

    def update(self, shown: Shown) -> None:
        """Show the newest state."""
        with self._lock, self.server.atomic():
            self._show_rover("rover", "/robot", self._solid, shown.delayed)
            self._show_rover("prediction", "/ghost", self._ghost, shown.predicted)
            self._show_ghost(shown.delayed, shown.predicted)
            self._set_line("path", self._on_ground(_thin(shown.path)), LIFT)
            self._set_line("trail", self._on_ground(_thin(shown.trail)), LIFT / 2)
            self._show_forecasts(shown.forecasts)
            self._show_ellipse(shown.ellipse)
            self._show_labels(shown)
            self._show_gates(shown.gates)
        self._follow_ground()
        self._follow_cameras()

    def _show_rover(self, name: str, root: str, frames: Any, qpos: np.ndarray | None) -> None:
        if root == "/robot" and self._new(root + " there", qpos is not None):
            self._roots[root].visible = qpos is not None
        if qpos is None or not self._new(root, qpos.tobytes()):
            return
        self._move(qpos)
        self._at[name] = self._data.xpos[self._base].copy()
        for body, frame in zip(self._bodies, frames, strict=True):
            frame.position = self._data.xpos[body]
            frame.wxyz = self._data.xquat[body]

    def _show_ghost(self, delayed: np.ndarray | None, predicted: np.ndarray | None) -> None:
        """Two rovers at the same place would only dye each other."""
        there = predicted is not None
        if delayed is not None and predicted is not None:
            there = float(np.abs(predicted[:7] - delayed[:7]).max()) > SAME
        if self._new("ghost", there):
            self._roots["/ghost"].visible = there
            self._labels["prediction"].visible = there

    def _show_forecasts(self, points: np.ndarray) -> None:
        points = _apart(np.asarray(points, dtype=np.float32)[-MOST_POINTS:], 0.08 * self.size)
        if not self._new("forecasts", points.tobytes()):
            return
        self._forecasts.visible = len(points) > 0
        if len(points):
            self._forecasts.points = self._on_ground(points) + [0, 0, LIFT]

    def _show_ellipse(self, ellipse: Ellipse | None) -> None:
        if not self._new("ellipse", ellipse):
            return
        ring = None if ellipse is None else self._ring(ellipse)
        self._set_line("ellipse", np.zeros((0, 3)) if ring is None else ring, LIFT)
        halo = np.zeros((0, 3)) if ring is None else ring * [1, 1, 0]
        self._set_line("halo", halo, float(self._at["prediction"][2]) + 0.55 * self.size)
        self._region.visible = ring is not None
        if ring is not None and ellipse is not None:
            middle = np.append(ellipse.centre, ring[:-1, 2].mean())
            around = np.concatenate([middle[None], ring[:-1]]) + [0, 0, LIFT]
            self._region.vertices = around.astype(np.float32)

    def _ring(self, ellipse: Ellipse) -> np.ndarray:
        """Points of an ellipse on the ground, closed, (n, 3) [m]."""
        turn = np.linspace(0.0, 2 * np.pi, RING + 1)
        c, s = np.cos(ellipse.angle), np.sin(ellipse.angle)
        u, v = ellipse.axes[0] * np.cos(turn), ellipse.axes[1] * np.sin(turn)
        x = ellipse.centre[0] + c * u - s * v
        y = ellipse.centre[1] + s * u + c * v
        return np.stack([x, y, self._height(x, y)], axis=-1)

    def _on_ground(self, points: np.ndarray) -> np.ndarray:
        """Places of the base brought down to the ground, (n, 3) [m]."""
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        height = self._height(points[:, 0], points[:, 1])
        return np.column_stack([points[:, :2], height])

    def _height(self, x: Any, y: Any) -> np.ndarray:
        below = float(self._at["prediction"][2]) - 0.3 * self.size
        return self.ground.height(x, y, below)

    def _set_line(self, name: str, points: np.ndarray, lift: float) -> None:
        points = np.asarray(points, dtype=float)
        if not self._new(f"line {name}", points.tobytes()):
            return
        handle = self._lines[name]
        handle.visible = len(points) > 1
        if len(points) > 1:
            pairs = np.stack([points[:-1], points[1:]], axis=1) + [0, 0, lift]
            handle.points = pairs.astype(np.float32)

    def _show_labels(self, shown: Shown) -> None:
        high = np.array([0, 0, 0.75 * self.size])
        if shown.delayed is not None and shown.delayed_time is not None:
            age = max(0.0, shown.time - shown.delayed_time)
            self._set_label("rover", f"telemetry, {age:.1f} s old", high)
        if shown.predicted is not None and shown.predicted_time is not None:
            ahead = shown.predicted_time - shown.time
            # a prediction that is behind is for a time that has passed: it is shown as now
            when = "now" if ahead < 0.05 else f"in {ahead:.1f} s"
            self._set_label("prediction", f"predicted, {when}", 1.35 * high)

    def _set_label(self, name: str, text: str, above: np.ndarray) -> None:
        label = self._labels[name]
        if self._new(f"label {name}", text):
            label.text = text
            label.visible = name == "rover" or bool(self._last.get("ghost"))
        place = self._at[name] + above
        if self._new(f"label place {name}", place.round(3).tobytes()):
            label.position = place

    def _new(self, key: str, value: Any) -> bool:
        """Whether a value differs from the one last given to viser; it is noted."""
        if key in self._last and self._last[key] == value:
            return False
        self._last[key] = value
        return True

    # --- the ground

    def _follow_ground(self) -> None:
        both = np.stack([self._at["rover"], self._at["prediction"]])[:, :2]
        if self._seen is None:
            self._seen = np.stack([both.min(axis=0), both.max(axis=0)])
        elif np.all(both >= self._seen[0] - AHEAD) and np.all(both <= self._seen[1] + AHEAD):
            return
        self._seen = np.stack(
            [
                np.minimum(both.min(axis=0), self._seen[0]),
                np.maximum(both.max(axis=0), self._seen[1]),
            ]
        )
        track = np.column_stack([self._seen, np.zeros(2)])
        around = xr.Dataset({"position_base": (("time", "axis"), track)})
        meshes = ground_meshes(self.ground.surfaces, around)
        self._hard = draw_ground(self.server.scene, meshes)
        self._draw_terrain()

    def _draw_terrain(self) -> None:
        terrain = self.ground.terrain
        if terrain is None or self._seen is None:
            return
        low, high = self._seen[0] - MARGIN, self._seen[1] + MARGIN
        if terrain.bounds is not None:
            b = np.asarray(terrain.bounds)
            low, high = np.maximum(low, b[[0, 2]]), np.minimum(high, b[[1, 3]])
        cell = CELL * max(1.0, float((high - low).max()) / CELL / 320)
        first = np.floor(low / cell + 1e-9)
        count = np.maximum(np.ceil((high - low) / cell).astype(int), 1)
        x, y = ((first[k] + np.arange(count[k] + 1)) * cell for k in range(2))
        self._terrain = self.server.scene.add_glb(
            "/terrain", _terrain_mesh(terrain, x, y), cast_shadow=False
        )

    # --- marks

    def mark(self, places: list[np.ndarray], labels: list[str]) -> None:
        """Flags at places [m], in place of those before; consecutive ones are joined."""
        view, size = self.server.scene, self.size
        with self._lock, self.server.atomic():
            for handle in self._marks:
                handle.remove()
            self._marks = []
            for k, (place, text) in enumerate(zip(places, labels, strict=True)):
                top = place + [0, 0, 0.6 * size]
                pole = np.stack([place, top])[None].astype(np.float32)
                ball = view.add_icosphere(
                    f"/marks/{k}/ball", 0.05 * size, color=ORANGE, position=tuple(top)
                )
                line = view.add_line_segments(
                    f"/marks/{k}/pole", pole, ORANGE, thickness=3.0, thickness_units="screen"
                )
                label = view.add_label(f"/marks/{k}/label", text, position=tuple(top))
                self._marks += [ball, line, label]
            if len(places) > 1:
                pairs = np.stack([np.array(places[:-1]), np.array(places[1:])], axis=1)
                self._marks.append(
                    view.add_line_segments(
                        "/marks/way", (pairs + [0, 0, LIFT]).astype(np.float32), ORANGE,
                        thickness=2.0, thickness_units="screen",
                    )
                )  # fmt: skip

    def show_preview(self, preview: Preview | None) -> None:
        """Show what a sequence would do, or nothing."""
        self.preview = preview
        with self._lock, self.server.atomic():
            none = np.zeros((0, 3))
            way = none if preview is None else self._on_ground(_thin(preview.places))
            end = none if preview is None else self._ring(preview.end)
            self._set_line("preview", way, LIFT)
            self._set_line("preview end", end, LIFT)

    # --- cameras

    def _look_first(self, start: np.ndarray) -> None:
        camera = self.server.initial_camera
        camera.look_at = start
        camera.position = start + self._away("rover")

    def _away(self, mode: str) -> np.ndarray:
        if mode == "above":
            return self.size * np.array([-0.05, 0.0, 5.5])
        return self.size * np.array([-2.7, -1.7, 1.7])

    def look(self, client: Any, mode: str, away: np.ndarray | None = None) -> None:
        """How a viewer looks: free, at the rover, at the prediction, from above; `away`: from
        where, about what he looks at [m]."""
        self._cameras[client.client_id] = (client, mode)
        if mode == "free":
            return
        target = self._target(mode)
        away = self._away(mode) if away is None else away
        self._set_away[client.client_id] = (away, clock.monotonic() + SETTLED)
        with contextlib.suppress(AssertionError, ValueError):
            client.camera.position = target + away
            client.camera.look_at = target

    def leave(self, client: Any) -> None:
        """A viewer has gone."""
        self._cameras.pop(client.client_id, None)
        self._set_away.pop(client.client_id, None)

    def _target(self, mode: str) -> np.ndarray:
        return self._at["rover" if mode == "rover" else "prediction"]

    def _follow_cameras(self) -> None:
        for client, mode in list(self._cameras.values()):
            if mode == "free":
                continue
            with contextlib.suppress(AssertionError, ValueError):
                camera, target = client.camera, self._target(mode)
                away = np.asarray(camera.position) - np.asarray(camera.look_at)
                set_away, until = self._set_away.get(client.client_id, (away, 0.0))
                if clock.monotonic() < until:
                    # what the viewer tells may be older than what he was told
                    away = set_away
                off = np.linalg.norm(np.asarray(camera.look_at) - target)
                off = max(off, np.linalg.norm(np.asarray(camera.position) - target - away))
                if off > 5e-3:
                    camera.position = target + away
                    camera.look_at = target


# --- pieces

RING = 48  # points of an ellipse


def _draw_ghost(view: Any, names: list[str], shapes: list[list[Shape]]) -> list[Any]:
    """Bodies of one colour, translucent, a frame for each."""
    frames = []
    for name, parts in zip(names, shapes, strict=True):
        frames.append(view.add_frame(f"/ghost/{name}", show_axes=False))
        counts = np.cumsum([0, *(len(p.vertices) for p in parts)])
        vertices = np.concatenate([p.vertices for p in parts])
        triangles = np.concatenate(
            [p.triangles + n for p, n in zip(parts, counts[:-1], strict=True)]
        )
        view.add_mesh_simple(
            f"/ghost/{name}/mesh",
            vertices.astype(np.float32),
            triangles.astype(np.uint32),
            color=BLUE,
            opacity=0.35,
            cast_shadow=False,
            receive_shadow=False,
        )
    return frames


def _line(view: Any, name: str, colour: tuple[int, int, int], thickness: float) -> Any:
    none = np.zeros((1, 2, 3), dtype=np.float32)
    return view.add_line_segments(
        name, none, colour, thickness=thickness, thickness_units="screen", visible=False
    )


def _disc(view: Any, name: str, colour: tuple[int, int, int]) -> Any:
    """A fan of triangles whose corners are set later."""
    k = np.arange(RING)
    fan = np.stack([np.zeros(RING, dtype=int), 1 + k, 1 + (k + 1) % RING], axis=-1)
    return view.add_mesh_simple(
        name,
        np.zeros((RING + 1, 3), dtype=np.float32),
        fan.astype(np.uint32),
        color=colour,
        opacity=0.25,
        side="double",
        material="standard",
        cast_shadow=False,
        receive_shadow=False,
        visible=False,
    )


def _thin(points: np.ndarray) -> np.ndarray:
    """At most `MOST_POINTS` of the points of a line, with both ends."""
    points = np.asarray(points, dtype=float).reshape(-1, 3)
    if len(points) <= MOST_POINTS:
        return points
    return points[np.linspace(0, len(points) - 1, MOST_POINTS).astype(int)]


def _apart(points: np.ndarray, least: float) -> np.ndarray:
    """Those of some points that are not too near to the one before [m]."""
    kept: list[np.ndarray] = []
    for point in points:
        if not kept or np.linalg.norm(point - kept[-1]) > least:
            kept.append(point)
    return np.array(kept, dtype=np.float32).reshape(-1, 3)


def _terrain_mesh(terrain: Any, x: np.ndarray, y: np.ndarray) -> bytes:
    """A terrain over a grid [m] as a glTF file, in squares of two shades half a metre wide."""
    xx, yy = np.meshgrid(x, y)
    z = terrain.height(xx, yy)
    gy, gx = np.gradient(z, y, x)
    tiles = (np.floor(xx / 0.5) + np.floor(yy / 0.5)).astype(int)
    shade = np.where(tiles % 2 == 0, square_shade(0), square_shade(1))
    colours = soil_colours(terrain.soil(xx, yy)) * shade[..., None]
    rows, columns = z.shape
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1, 1)
    corners = np.concatenate([a, a + 1, a + columns + 1, a + columns], axis=1)
    known = np.isfinite(z).reshape(-1)[corners].all(axis=1)
    triangles = corners[known][:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    points = np.stack([xx, yy, np.nan_to_num(z)], axis=-1).reshape(-1, 3)
    normals = np.nan_to_num(np.stack([-gx, -gy, np.ones_like(z)], axis=-1)).reshape(-1, 3)
    return soil_mesh(points, normals, triangles, colours.reshape(-1, 3))
