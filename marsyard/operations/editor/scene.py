"""The environment in the browser: ground in tiles, rocks, rover, goal, and a ring as cursor.

Only tiles whose heights or soils have changed are sent again, so that an edit of a part of the
ground costs that part.
"""

from __future__ import annotations

import contextlib
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.drawing.meshes import ROCK
from marsyard.errors import InputError
from marsyard.operations.editor.checking import stand, standing
from marsyard.operations.editor.environment import Environment
from marsyard.operations.editor.relief import Relief
from marsyard.results.soil_scene import soil_colours, soil_mesh, squares
from marsyard.rotations import quaternion_of_matrix

if TYPE_CHECKING:
    import viser

    from marsyard.scenario.rocks import RocksGround

TILE = 40  # cells along a tile
SQUARE = 1.0  # side of the squares that are shaded in turn [m]
HOME = "/editor"
CURSOR, START, GOAL = (255, 230, 60), (40, 200, 255), (70, 220, 90)
HARD = (0.62, 0.56, 0.5)  # colour of hard ground, sRGB


class EditorScene:
    """Draws an environment on a server; `clear` takes it away."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server, self._scene = server, server.scene
        self._home = self._scene.add_frame(HOME, show_axes=False)
        self._tiles: dict[tuple[int, int], tuple[Any, tuple[bytes, bytes]]] = {}
        self._grid: tuple[Any, ...] = ()
        self._rocks: dict[str, Any] = {}
        self._robot: tuple[str, list[Any]] = ("", [])
        self._ring: Any = None
        self._goal: Any = None
        self._start: Any = None
        self._on_tile: Any = None
        self.sent = 0  # tiles, so far

    def on_tile(self, act: Any) -> None:
        """Have `act` called with the handle of each new tile."""
        self._on_tile = act
        for handle, _ in self._tiles.values():
            act(handle)

    def draw(self, environment: Environment) -> None:
        """Show the environment as it is now."""
        with self._server.atomic():
            self._draw_ground(environment.relief)
            self._draw_rocks(environment)
            self._draw_robot(environment)
            self._draw_goal(environment)

    def clear(self) -> None:
        """Remove all that was drawn."""
        _remove(self._home)  # and all below
        self._tiles, self._rocks, self._robot = {}, {}, ("", [])
        self._ring = self._goal = self._start = None

    # --- ground

    def _draw_ground(self, relief: Relief) -> None:
        grid = (*relief.area, relief.z.shape)
        if grid != self._grid:
            for handle, _ in self._tiles.values():
                _remove(handle)
            self._tiles, self._grid = {}, grid
        gy, gx = np.gradient(relief.z, relief.y, relief.x)
        rows, columns = relief.z.shape
        for j in range(0, rows - 1, TILE):
            for i in range(0, columns - 1, TILE):
                part = (
                    slice(j, min(j + TILE, rows - 1) + 1),
                    slice(i, min(i + TILE, columns - 1) + 1),
                )
                mark = (relief.z[part].tobytes(), relief.soil[part].tobytes())
                known = self._tiles.get((i, j))
                if known is None or known[1] != mark:
                    self._draw_tile((i, j), part, relief, gx, gy, mark)

    def _draw_tile(
        self, place: tuple[int, int], part: Any, relief: Relief, gx: Any, gy: Any, mark: Any
    ) -> None:
        x, y = np.meshgrid(relief.x[part[1]], relief.y[part[0]])
        z, soil = relief.z[part], relief.soil[part]
        flat = [v.ravel() for v in (x, y, z)]
        normals = np.column_stack([-gx[part].ravel(), -gy[part].ravel(), np.ones(z.size)])
        colours = soil_colours(soil.ravel())
        if relief.terrain is None:
            colours = np.broadcast_to(np.array(HARD), colours.shape)
        # squares that take turns, as a scale for the eye
        odd = (np.floor(flat[0] / SQUARE + 1e-6) + np.floor(flat[1] / SQUARE + 1e-6)) % 2
        colours = colours * (np.where(odd, 1.0, 0.95) * _shade(normals))[:, None]
        data = soil_mesh(np.column_stack(flat), normals, squares(*z.shape), colours)
        known = self._tiles.get(place)
        if known is not None:
            known[0].glb_data = data
            self._tiles[place] = (known[0], mark)
        else:
            handle = self._scene.add_glb(
                f"{HOME}/ground/{place[0]}-{place[1]}", glb_data=data, cast_shadow=False
            )
            if self._on_tile is not None:
                self._on_tile(handle)
            self._tiles[place] = (handle, mark)
        self.sent += 1

    # --- what lies and stands on it

    def _draw_rocks(self, environment: Environment) -> None:
        wanted: dict[str, np.ndarray] = {}
        for ground in environment.scenario.ground:
            if ground.kind == "rocks":
                place, corners, triangles = _level_rocks(ground)
                up = environment.relief.height(place[:, 0], place[:, 1])
                corners = corners + np.array([0.0, 0.0, 1.0]) * up[:, None, None]
                # corners of their own for each triangle, so that edges look like edges
                wanted[str(ground.name)] = corners[:, triangles].reshape(-1, 3)
        for name in [n for n in self._rocks if n not in wanted]:
            _remove(self._rocks.pop(name))
        for name, corners in wanted.items():
            points = corners.astype(np.float32)
            index = np.arange(len(points), dtype=np.uint32).reshape(-1, 3)
            known = self._rocks.get(name)
            if known is not None and known.vertices.shape == points.shape:
                if not np.array_equal(known.vertices, points):
                    known.vertices = points
                continue
            # the same name takes the old one's place
            self._rocks[name] = self._scene.add_mesh_simple(
                f"{HOME}/rocks/{name}", points, index, color=ROCK, flat_shading=True
            )

    def _draw_robot(self, environment: Environment) -> None:
        name = environment.scenario.robot.name
        try:
            robot = standing(name)
            place, turn = stand(environment)
        except InputError:
            return  # said where it was chosen
        if self._robot[0] != name:
            for handle in self._robot[1]:
                _remove(handle)
            base = self._scene.add_frame(f"{HOME}/robot", show_axes=False)
            for number, parts in enumerate(robot.shapes):
                at, wxyz = robot.position[number], quaternion_of_matrix(robot.rotation[number])
                for k, shape in enumerate(parts):
                    self._scene.add_mesh_simple(
                        f"{HOME}/robot/{number}-{k}", shape.vertices.astype(np.float32),
                        shape.triangles.astype(np.uint32), color=shape.colour, position=at,
                        wxyz=wxyz,
                    )  # fmt: skip
            self._robot = (name, [base])
        base = self._robot[1][0]
        base.position, base.wxyz = place, quaternion_of_matrix(turn)
        x, y, heading = environment.start
        reach = 1.3 * max(0.3, float(np.abs(robot.feet[:, 0]).max(initial=0.3)))
        tip = x + reach * math.cos(heading), y + reach * math.sin(heading)
        ends = np.array([[x, y], tip])
        z = environment.relief.height(ends[:, 0], ends[:, 1]) + 0.03
        arrow = np.column_stack([ends, z])[None].astype(np.float32)
        if self._start is None:
            self._start = self._scene.add_arrows(
                f"{HOME}/start", arrow, START, shaft_radius=0.02, head_radius=0.06,
                head_length=0.15,
            )  # fmt: skip
        else:
            self._start.points = arrow

    def _draw_goal(self, environment: Environment) -> None:
        goal = environment.goal
        _remove(self._goal)
        self._goal = None
        if goal is None:
            return
        z = float(environment.relief.height(*goal))
        ring = _ring_points(environment.relief, goal, 0.3)
        pole = np.array([[[*goal, z], [*goal, z + 0.8]]])
        points = np.concatenate([ring, pole]).astype(np.float32)
        self._goal = self._scene.add_line_segments(
            f"{HOME}/goal", points, np.broadcast_to(np.array(GOAL, np.uint8), points.shape),
            thickness=4.0, thickness_units="screen",
        )  # fmt: skip

    def ring(self, relief: Relief, place: tuple[float, float] | None, radius: float) -> None:
        """Show a ring of a radius [m] around a place, or none."""
        if place is None:
            if self._ring is not None:
                self._ring.visible = False
            return
        points = _ring_points(relief, place, max(radius, 0.05))
        if self._ring is None:
            self._ring = self._scene.add_line_segments(
                f"{HOME}/cursor", points, np.broadcast_to(np.array(CURSOR, np.uint8), points.shape),
                thickness=3.0, thickness_units="screen",
            )  # fmt: skip
            return
        self._ring.points = points
        self._ring.visible = True


@lru_cache(maxsize=8)
def _level_rocks(ground: RocksGround) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of rocks [m], [rock, 2], and their corners and triangles as on level ground."""
    from marsyard.ground.rocks import layout, rock_shapes

    return layout(ground, None)[0], *rock_shapes(ground, None)


def _shade(normals: np.ndarray) -> np.ndarray:
    """Brightness by a low lamp in the west, stronger than the scene's own: 1 on level ground."""
    lit = normals @ np.array([-0.75, 0.45, 0.75]) / 0.75
    return np.clip(lit / np.linalg.norm(normals, axis=1), 0.25, 1.5) ** 0.8


def _ring_points(relief: Relief, place: tuple[float, float], radius: float) -> np.ndarray:
    """A ring on the ground as pieces of line [m], [n, 2, 3]."""
    angle = np.linspace(0.0, 2 * math.pi, 65)
    x, y = place[0] + radius * np.cos(angle), place[1] + radius * np.sin(angle)
    points = np.column_stack([x, y, relief.height(x, y) + 0.02])
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def _remove(handle: Any) -> None:
    if handle is not None:
        with contextlib.suppress(RuntimeError, KeyError):
            handle.remove()
