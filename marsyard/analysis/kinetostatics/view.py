"""A stance with its kineto-static results in the browser, with layers that can be shown and
hidden.
"""

from __future__ import annotations

import contextlib
import io
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.analysis.kinetostatics.drawing import THINGS, USUAL, Drawing, drawing_of
from marsyard.analysis.kinetostatics.drawing_layers import number
from marsyard.analysis.kinetostatics.picture import view_of
from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.drawing.layers import Layer
from marsyard.results.scene_parts import plain_text, sky
from marsyard.web.server import show_page, start_server, wait_for

if TYPE_CHECKING:
    import viser


class StanceView:
    """A running view of a stance; `stop` ends it.

    boxes: the check boxes, by name of the layer; handles: what each shows.
    """

    def __init__(
        self, drawing: Drawing, server: viser.ViserServer, url: str, shown: tuple[str, ...] = USUAL
    ) -> None:
        self.drawing, self.server, self.url = drawing, server, url
        self._stop = threading.Event()
        self.boxes: dict[str, Any] = {}
        self.handles: dict[str, list[Any]] = {}
        self._draw_robot()
        for name, layer in drawing.layers.items():
            self.handles[name] = add_layer(server.scene, layer, drawing.radius)
        self._controls(shown)

    def _draw_robot(self) -> None:
        scene, take = self.server.scene, self.drawing.take.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=True, cast_shadow=False)
        scene.set_background_image(sky(), format="png")
        for k, mesh in enumerate(take.ground):
            scene.add_mesh_simple(
                f"/ground/{k}", np.asarray(mesh.vertices, dtype=np.float32),
                np.asarray(mesh.triangles, dtype=np.uint32), color=mesh.colour, side="double",
                cast_shadow=False,
            )  # fmt: skip
        self._robot: list[Any] = []
        for b, parts in enumerate(take.shapes):
            scene.add_frame(
                f"/robot/{b}", show_axes=False, position=take.position[0, b],
                wxyz=take.quaternion[0, b],
            )  # fmt: skip
            for k, shape in enumerate(parts):
                made = scene.add_mesh_simple(
                    f"/robot/{b}/{k}", shape.vertices.astype(np.float32),
                    shape.triangles.astype(np.uint32), color=shape.colour,
                )  # fmt: skip
                self._robot.append(made)
        view = view_of(self.drawing)
        # nearer, since a browser takes in more; to the left of the controls
        right = np.array([np.sin(view.azimuth), -np.cos(view.azimuth), 0.0])
        target = view.target + 0.25 * self.drawing.radius * right
        self.server.initial_camera.look_at = target
        self.server.initial_camera.position = target + 0.52 * (view.eye - view.target)

    def _controls(self, shown: tuple[str, ...]) -> None:
        gui = self.server.gui
        gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium",
            brand_color=(166, 70, 31),
        )  # fmt: skip
        gui.add_markdown(f"**{plain_text(self.drawing.title)}**")
        with gui.add_folder("Show"):
            for name, layer in self.drawing.layers.items():
                box = gui.add_checkbox(layer.name, name in shown, hint=layer.words or None)
                box.on_update(partial(self._boxed, name))
                self.boxes[name] = box
                self._update(name)
            self.opacity = gui.add_slider("robot", 0.1, 1.0, 0.1, 0.4, hint="how solid it is drawn")
            self.opacity.on_update(lambda _: self._fade())
        self._fade()
        with gui.add_folder("Numbers"):
            gui.add_markdown(_rows(("", ""), self.drawing.numbers))
        if self.drawing.table:
            with gui.add_folder("Contacts"):
                rows = [(n, number(load), f"{use:.3f}") for n, load, use in self.drawing.table]
                gui.add_markdown(_rows(("contact", "load [N]", "friction use"), rows))
        with gui.add_folder("Scales"):
            scales = [(v.name, v.words) for v in self.drawing.layers.values() if v.words]
            gui.add_markdown(_rows(("", ""), scales))

    def _boxed(self, name: str, _: Any) -> None:
        self._update(name)

    def _update(self, name: str) -> None:
        for handle in self.handles[name]:
            handle.visible = bool(self.boxes[name].value)

    def _fade(self) -> None:
        share = float(self.opacity.value)
        for part in self._robot:
            part.opacity = None if share > 0.99 else share

    def stop(self) -> None:
        """End the view and free the port."""
        self._stop.set()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def wait(self) -> None:
        """Wait until the view is stopped."""
        wait_for(self._stop)


def add_layer(scene: Any, layer: Layer, size: float) -> list[Any]:
    """Put a layer into a viser scene; gives what was put there."""
    root = "/layers/" + layer.name.replace(" ", "-")
    made: list[Any] = []
    for k, solid in enumerate(layer.solids):
        made.append(scene.add_mesh_simple(
            f"{root}/solid{k}", solid.vertices.astype(np.float32),
            solid.triangles.astype(np.uint32), color=solid.colour, opacity=layer.opacity,
            flat_shading=not solid.smooth, side="double", cast_shadow=False, receive_shadow=False,
        ))  # fmt: skip
    for k, strokes in enumerate(layer.strokes):
        if len(strokes.points):
            made.append(scene.add_line_segments(
                f"{root}/line{k}", strokes.points.astype(np.float32), strokes.colour,
                thickness=strokes.width, thickness_units="screen",
            ))  # fmt: skip
    for k, arrow in enumerate(layer.arrows):
        points = np.array([[arrow.start, arrow.end]], dtype=np.float32)
        head = min(6 * arrow.width, 0.5 * float(np.linalg.norm(arrow.end - arrow.start)))
        made.append(scene.add_arrows(
            f"{root}/arrow{k}", points, arrow.colour, shaft_radius=arrow.width,
            head_radius=2.4 * arrow.width, head_length=head,
        ))  # fmt: skip
    for k, label in enumerate(layer.labels):
        made.append(scene.add_label(
            f"{root}/label{k}", label.text, position=label.at, anchor="bottom-center",
            font_screen_scale=0.8,
        ))  # fmt: skip
    return made


def view_stance(
    stance: Stance,
    friction: Any = 0.6,
    torque: Any = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    block: bool = True,
    browser: bool = False,
    shown: tuple[str, ...] = USUAL,
    **options: Any,
) -> StanceView | None:
    """Show a stance in the browser; with `block` until ctrl-c, else return the running view.

    Args:
        browser: open the page where there is a browser.
        shown: which of `THINGS` are shown first; all can be.
        options: see `drawing_of`.
    """
    drawing = drawing_of(stance, friction, torque, show=THINGS, **options)
    server, url = start_server(host, port, "the 3D view")
    running = StanceView(drawing, server, url, shown)
    runs = show_page(running, running.url, f"view of {drawing.title}", browser, block)
    return running if runs else None


def _rows(head: tuple[str, ...], rows: Any) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(plain_text(str(c)) for c in row) + " |" for row in rows]
    return "\n".join(lines)
