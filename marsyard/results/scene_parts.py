"""Pieces of a 3D scene in the browser that the replay and the live view share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from marsyard.drawing.colours import wheel_colour
from marsyard.drawing.meshes import GroundMesh, Shape

LONGEST_ARROW = 2.5  # [m]
SKY = ((176, 150, 126), (232, 214, 194))  # overhead and at the horizon
SPACE = (16, 18, 26)  # behind what floats
BRAND = (166, 70, 31)


# --- what stands in it


def set_stage(server: Any, floats: bool) -> None:
    """Up, lamps, sky (or space) and the look of the panel."""
    view = server.scene
    view.set_up_direction("+z")
    view.configure_default_lights(enabled=True, cast_shadow=True)
    view.set_background_image(space() if floats else sky(), format="png")
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, control_width="medium", brand_color=BRAND
    )


def draw_ground(view: Any, meshes: Iterable[GroundMesh]) -> list[Any]:
    """Hard ground."""
    return [
        view.add_mesh_simple(
            f"/ground/{number}-{mesh.name}",
            np.asarray(mesh.vertices, dtype=np.float32),
            np.asarray(mesh.triangles, dtype=np.uint32),
            color=mesh.colour,
            side="double",
            cast_shadow=False,
        )
        for number, mesh in enumerate(meshes)
    ]


def draw_bodies(
    view: Any,
    bodies: Sequence[str],
    shapes: Sequence[Sequence[Shape]],
    clicked: Callable[[str], Callable[[Any], None] | None] = lambda body: None,
) -> list[Any]:
    """Bodies of the robot, a frame for each; `clicked` may give what a click on a body does."""
    frames = []
    for name, parts in zip(bodies, shapes, strict=True):
        frames.append(view.add_frame(f"/robot/{name}", show_axes=False))
        for number, shape in enumerate(parts):
            mesh = view.add_mesh_simple(
                f"/robot/{name}/{number}",
                shape.vertices.astype(np.float32),
                shape.triangles.astype(np.uint32),
                color=shape.colour,
            )
            act = clicked(name)
            if act is not None:
                mesh.on_click(act)
    return frames


def draw_arrows(view: Any) -> Any:
    """Arrows of forces, hidden until they are set."""
    return view.add_arrows(
        "/forces",
        np.array([[[0, 0, 0], [0, 0, 1.0]]]),
        (220, 30, 60),
        shaft_radius=0.014,
        head_radius=0.038,
        head_length=0.09,
        visible=False,
    )


def arrow_points(point: np.ndarray, force: np.ndarray, scale: float) -> np.ndarray:
    """Starts and tips of arrows [m], [n, 2, 3], for forces [N] at points [m], shape [any, 3], with
    a scale [m/N]; those that are not known or tiny are left out, long ones cut."""
    length = np.linalg.norm(force, axis=-1) * scale
    there = np.flatnonzero(np.isfinite(length) & (length > 1e-3))
    shrink = np.minimum(1.0, LONGEST_ARROW / length[there])[:, None]
    tip = point[there] + force[there] * scale * shrink
    return np.stack([point[there], tip], axis=1).astype(np.float32)


def add_lines(view: Any, name: str, points: np.ndarray, colours: np.ndarray) -> Any:
    """Pieces of line [m], [n, 2, 3], hidden."""
    return view.add_line_segments(
        name,
        points.astype(np.float32),
        colours.astype(np.uint8),
        thickness=3.0,
        thickness_units="screen",
        visible=False,
    )


def track_lines(path: np.ndarray, wheel: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines along a wheel's contact points [m], [n, 3], and their colours, both [m, 2, 3]."""
    pairs = np.stack([path[:-1], path[1:]], axis=1)
    # both ends on the ground and not just the noise of standing still
    length = np.linalg.norm(pairs[:, 1] - pairs[:, 0], axis=-1)
    pairs = pairs[np.isfinite(length) & (length > 1e-6)] + [0.0, 0.0, 0.004]
    colour = np.array(rgb(wheel_colour(wheel, number)), dtype=np.uint8)
    return pairs, np.broadcast_to(colour, pairs.shape)


def usual_force(force: np.ndarray) -> float:
    """Median size of the forces of wheels [N], [any, 3]; 0 without any contact."""
    size = np.linalg.norm(force, axis=-1)
    size = size[np.isfinite(size) & (size > 1e-9)]
    return float(np.median(size)) if size.size else 0.0


def reach_of(base: np.ndarray, position: np.ndarray, shapes: Sequence[Sequence[Shape]]) -> float:
    """Reach of a robot around its base [m], with its bodies at positions [body, 3]."""
    reach = [
        np.linalg.norm(position[b] - base) + np.linalg.norm(s.vertices, axis=1)
        for b, parts in enumerate(shapes)
        for s in parts
    ]
    return float(max((r.max() for r in reach), default=1.0))


# --- small things


def rgb(code: str) -> list[int]:
    """Red, green and blue of "#rrggbb"."""
    return [int(code[i : i + 2], 16) for i in (1, 3, 5)]


def few(count: int, most: int = 300) -> np.ndarray:
    """At most `most` evenly spread numbers of frames."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def plain_text(text: str) -> str:
    """Text in which Markdown and HTML mean nothing."""
    return "".join("\\" + c if c in "\\`*_{}[]<>#|~&" else c for c in text)


def sky() -> np.ndarray:
    """A dusty sky, lighter towards the horizon; picture of shape [64, 16, 3]."""
    high, low = np.array(SKY, dtype=float)
    rows = np.linspace(0.0, 1.0, 64)[:, None, None]
    return np.broadcast_to(high + (low - high) * rows, (64, 16, 3)).astype(np.uint8)


def space() -> np.ndarray:
    """The dark behind what floats; picture of shape [64, 16, 3]."""
    return np.broadcast_to(np.array(SPACE), (64, 16, 3)).astype(np.uint8)
