"""A terrain in 3D in the browser, coloured by soil, with a slider that stretches its heights."""

from __future__ import annotations

import contextlib
import io
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.ground.terrain import Survey
from marsyard.results.scene_parts import plain_text, sky
from marsyard.results.terrain_figures import shaded_map, summary
from marsyard.web.server import show_page, start_server, wait_for

if TYPE_CHECKING:
    import trimesh
    import viser

MOST_POINTS = 160_000  # sent to the browser


class TerrainView:
    """A running view of a terrain; `stop` ends it."""

    def __init__(self, view: Survey, server: viser.ViserServer, url: str) -> None:
        self.view, self.server, self.url = view, server, url
        self._stop = threading.Event()
        scene = server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=True, cast_shadow=True)
        scene.set_background_image(sky(), format="png")
        size = max(np.ptp(view.x), np.ptp(view.y))
        middle = np.array([np.mean(view.x[[0, -1]]), np.mean(view.y[[0, -1]]), np.mean(view.z)])
        server.initial_camera.look_at = middle
        server.initial_camera.position = middle + size * np.array([-0.55, -0.65, 0.45])
        scene.add_frame("/origin", axes_length=0.05 * size, axes_radius=0.0015 * size)
        self._ground: Any = scene.add_mesh_trimesh("/ground", terrain_mesh(view))
        self._controls()

    def _controls(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(166, 70, 31))
        gui.add_markdown(f"**{plain_text(self.view.title or 'Terrain')}**")
        stretch = gui.add_slider("height exaggeration", 1.0, 10.0, 0.5, 1.0)
        rows = "\n".join(f"| {k} | {plain_text(v)} |" for k, v in summary(self.view))
        gui.add_markdown(f"| | |\n| --- | --- |\n{rows}")

        def redraw(_: Any) -> None:
            self._ground.scale = (1.0, 1.0, float(stretch.value))

        stretch.on_update(redraw)

    def stop(self) -> None:
        """End the view and free the port."""
        self._stop.set()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def wait(self) -> None:
        """Wait until the view is stopped."""
        wait_for(self._stop)


def terrain_mesh(view: Survey) -> trimesh.Trimesh:
    """Triangles of the survey's grid, thinned out where it is fine, coloured by soil."""
    import trimesh

    skip = max(1, math.ceil(math.sqrt(view.z.size / MOST_POINTS)))
    x, y = np.meshgrid(view.x[::skip], view.y[::skip])
    z = view.z[::skip, ::skip]
    rows, columns = z.shape
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=-1).reshape(-1, 3), np.stack([a, c, d], axis=-1).reshape(-1, 3)]
    )
    colours = _colours(view)[::skip, ::skip].reshape(-1, 4)
    return trimesh.Trimesh(
        np.column_stack([x.ravel(), y.ravel(), z.ravel()]), triangles, process=False,
        vertex_colors=colours,
    )  # fmt: skip


def _colours(view: Survey) -> np.ndarray:
    """Tints by soil with the map's shading, linear as 3D renderers take them, [row, column, 4]."""
    shaded = shaded_map(view) ** 0.8
    linear = np.where(shaded <= 0.04045, shaded / 12.92, ((shaded + 0.055) / 1.055) ** 2.4)
    alpha = np.ones((*view.z.shape, 1))
    return (255 * np.concatenate([0.6 * linear, alpha], axis=-1)).astype(np.uint8)


def serve_terrain(
    view: Survey,
    host: str = "127.0.0.1",
    port: int = 8080,
    block: bool = True,
    browser: bool = False,
) -> TerrainView | None:
    """Show the terrain in the browser; with `block` until ctrl-c, else return the running view.
    With `browser` the page is opened where there is a browser."""
    server, url = start_server(host, port, "the 3D view")
    running = TerrainView(view, server, url)
    what = f"view of {view.title or 'the terrain'}"
    return running if show_page(running, running.url, what, browser, block) else None
