"""The page of the editor: clicks on the ground, tools, panel and messages.

    server, url = start_server("127.0.0.1", 8080, "the editor")
    editor = Editor(server, Environment.new(), on_done=print)
    editor.start()
    …
    editor.stop()               # the server stays

A click is a ray from the camera; what it meets first on the drawn ground is where the chosen tool
works. All viewers edit the same environment; edits come one after another.
"""

from __future__ import annotations

import contextlib
import io
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard import library
from marsyard.errors import InputError
from marsyard.operations.editor.checking import check, rocks_with_keys
from marsyard.operations.editor.environment import Environment
from marsyard.operations.editor.items import Item, find
from marsyard.operations.editor.panel import Panel
from marsyard.operations.editor.save_folder import SaveFolder
from marsyard.operations.editor.scene import EditorScene
from marsyard.results.scene_parts import set_stage
from marsyard.web.server import show_page, start_server, wait_for

if TYPE_CHECKING:
    import viser

Point = tuple[float, float]


class Editor:
    """An environment on a page; `start` shows it, `stop` removes it and leaves the server.

    on_done: called with the environment when the button Done is pressed; there is no such button
    without it. file: where Save writes to at first. Nothing is written outside of the working
    directory, or of the folder of that file (see `save_folder`).
    """

    def __init__(
        self,
        server: viser.ViserServer,
        environment: Environment,
        on_done: Callable[[Environment], Any] | None = None,
        file: str = "",
    ) -> None:
        self.server, self.environment = server, environment
        self.files = SaveFolder(
            file or environment.saved_as or "environment.yaml", environment.saved_as
        )
        self._on_done = on_done
        self._lock = threading.RLock()
        self.scene: EditorScene | None = None
        self.panel: Panel | None = None
        self._at: Point | None = None  # where the ring is [m]
        self._stroke: list[Point] = []

    def start(self) -> None:
        """Draw the environment and the panel, and listen."""
        with self._lock:
            if self.panel is not None:
                return
            set_stage(self.server, floats=False)
            self.scene = EditorScene(self.server)
            self.scene.on_tile(self._listen_to)
            self.panel = Panel(self.server, self, done=self._on_done is not None)
            self.scene.draw(self.environment)
            self.panel.refresh()
            self.panel.say("Choose a tool and click on the ground.")
            self._place_camera()
            self.server.scene.on_click()(self._clicked)

    def stop(self) -> None:
        """Remove scene and panel."""
        with self._lock:
            if self.panel is None or self.scene is None:
                return
            self.server.scene.remove_click_callback(self._clicked)
            self.panel.remove()
            self.scene.clear()
            self.panel = self.scene = None

    def finish(self) -> None:
        """Hand the environment over."""
        if self._on_done is not None:
            self._on_done(self.environment)

    # --- doing things

    @contextlib.contextmanager
    def _doing(self) -> Iterator[Panel]:
        """One thing at a time; what the user did wrong is said above the controls."""
        with self._lock:
            if self.panel is None:
                raise InputError("editor: it has not been started")
            try:
                yield self.panel
            except (InputError, OSError) as error:
                self.panel.say(str(error), wrong=True)
                self.panel.refresh()

    def _shown(self, text: str, chosen: str | None = None) -> None:
        """Show what an edit has changed."""
        assert self.scene is not None and self.panel is not None
        self.scene.draw(self.environment)
        self.panel.refresh(chosen)
        self.panel.say(text)
        self.show_ring()

    def undo(self) -> None:
        """Undo the last edit."""
        with self._lock:
            if self.panel is not None:
                what = self.environment.undo()
                self._shown(f"Undid: {what}." if what else "There is nothing to undo.")

    def redo(self) -> None:
        """Redo an edit."""
        with self._lock:
            if self.panel is not None:
                what = self.environment.redo()
                self._shown(f"Redid: {what}." if what else "There is nothing to redo.")

    def use(self, x: float, y: float) -> Item | None:
        """Use the chosen tool at a place [m]; the item it made."""
        made: list[Item] = []
        if self.panel is not None:
            with self._doing():
                made += self._apply(self.panel.tool.value, x, y)
        return made[0] if made else None

    def _apply(self, tool: str, x: float, y: float) -> list[Item]:
        assert self.panel is not None
        e, sizes = self.environment, self.panel.sizes(tool)
        self._at = (x, y)
        made: Item | None = None
        if tool == "rock":
            made = e.place_rock(
                x, y, sizes["diameter"], height=sizes["height"] * sizes["diameter"],
                buried=sizes["buried"], elongation=sizes["elongation"],
                heading=math.radians(sizes["heading"]),
            )  # fmt: skip
        elif tool == "crater":
            width = sizes["diameter"]
            made = e.place_crater(x, y, width, depth=sizes["depth"] * width)
        elif tool == "mound":
            made = e.place_mound(x, y, sizes["radius"], sizes["height"])
        elif tool == "soft patch":
            made = e.soft_patch(
                x, y, sizes["radius"], stiffness=sizes["stiffness"], strength=sizes["strength"]
            )
        elif tool == "paint soil":
            made = e.paint_soil(x, y, sizes["radius"], self.panel.paint.value)
        elif tool == "start":
            e.place_robot(x, y, math.radians(sizes["heading"]))
        elif tool == "goal":
            e.place_goal(x, y)
        words = f"{tool} at {x:.2f}, {y:.2f} m" if made is None else str(made)
        self._shown(f"Placed: {words}.", made.key if made is not None else None)
        return [] if made is None else [made]

    def delete(self) -> None:
        """Delete the selected item."""
        with self._doing() as panel:
            item = self._chosen(panel)
            self.environment.remove(item.key)
            self._shown(f"Deleted: {item}.")

    def split(self) -> None:
        """Split the selected field."""
        with self._doing() as panel:
            item = self._chosen(panel)
            count = self.environment.split(item.key)
            self._shown(f"{item.kind}: {count} single items.")

    def new_ground(self) -> None:
        """Replace the ground by one of the library."""
        with self._doing() as panel:
            self.environment.new_ground(panel.ground.value)
            self._shown(f"New ground: {panel.ground.value}.")
            self._place_camera()

    def load_map(self) -> None:
        """Replace the ground by an elevation map."""
        with self._doing() as panel:
            name = panel.map.value.strip()
            if not name:
                raise InputError("elevation map: give the path of a file")
            self.environment.look(None)
            self.environment.load_dem(
                name,
                spacing=panel.map_spacing.value or None,
                holes="fill" if panel.fill.value else None,
            )
            self._shown(f"Loaded {name}.")
            self._place_camera()

    def generate(self) -> None:
        """Add generated ground."""
        with self._doing() as panel:
            item = self.environment.generate(
                panel.kind.value, int(panel.seed.value), **panel.numbers()
            )
            self._shown(f"Added: {item}.", item.key)

    def look(self) -> None:
        """Show the ground around the start."""
        with self._doing() as panel:
            x, y, _ = self.environment.start
            half = float(panel.side.value) / 2
            self.environment.look((x - half, x + half, y - half, y + half))
            self._shown(f"{2 * half:g} m around the start.")
            self._place_camera()

    def choose_robot(self) -> None:
        """Use the rover of the panel."""
        with self._doing() as panel:
            if panel.rover.value == self.environment.scenario.robot.name:
                return  # set by the program
            dropped = self.environment.choose_robot(panel.rover.value)
            gone = f" Removed settings of the previous one: {', '.join(dropped)}."
            self._shown(f"Rover: {panel.rover.value}.{gone if dropped else ''}")

    def choose_soil(self) -> None:
        """Use the soil of the panel."""
        with self._doing() as panel:
            if panel.soil.value == self.environment.soil:
                return
            self.environment.choose_soil(panel.soil.value)
            self._shown(f"Soil: {panel.soil.value}.")

    def save(self) -> None:
        """Write the scenario file."""
        with self._doing() as panel:
            e = self.environment
            if panel.title.value != e.scenario.title:
                e.set_title(panel.title.value)
            path = e.save(self.files.target(panel.file.value.strip()), overwrite=True)
            self.files.add(path)
            panel.refresh()
            here = Path.cwd().resolve()
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            panel.say(f"Saved: {shown}. Run it: marsyard run {shown}")

    def load(self) -> None:
        """Load another scenario."""
        with self._doing() as panel:
            name = panel.other.value.strip()
            if not name:
                raise InputError("scenario: give a name of the library or a file")
            self.environment.load(name)
            if name not in library.names("scenarios"):
                file = Path(name)
                self.files.add(file / "scenario.yaml" if file.is_dir() else file)
            panel.title.value = self.environment.scenario.title
            self._shown(f"Loaded {name}.")
            self._place_camera()

    def check(self) -> None:
        """Show whether the scenario can run."""
        with self._doing() as panel:
            panel.say("Checking …")
            found = check(self.environment)
            panel.say(" ".join(found) if found else "The scenario can run.", wrong=bool(found))

    # --- items, ring, camera

    def _chosen(self, panel: Panel) -> Item:
        number = panel.item.value.split(" ", 1)[0]
        if not number.isdigit():
            raise InputError("item: there is nothing on the ground yet")
        return self.environment.items[int(number) - 1]

    def show_item(self) -> None:
        """Put the ring around the selected item."""
        with self._doing() as panel:
            item = self._chosen(panel)
            if self.scene is not None and item.place is not None:
                self.scene.ring(self.environment.relief, item.place, item.radius or 0.3)

    def show_ring(self) -> None:
        """Show the size of the tool at its last position."""
        with self._lock:
            if self.scene is not None and self.panel is not None:
                self.scene.ring(self.environment.relief, self._at, self.panel.radius)

    def _place_camera(self) -> None:
        relief = self.environment.relief
        x0, x1, y0, y1 = relief.area
        middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2, float(relief.z.mean())])
        away = 0.75 * max(x1 - x0, y1 - y0) * np.array([-0.6, -0.75, 0.7])
        camera = self.server.initial_camera
        camera.look_at, camera.position = middle, middle + away
        for client in self.server.get_clients().values():
            with contextlib.suppress(AssertionError, ValueError):
                client.camera.position = middle + away
                client.camera.look_at = middle

    # --- the pointer

    def _clicked(self, event: Any) -> None:
        if self.panel is not None:
            self.click(event.ray_origin, event.ray_direction)

    def click(self, origin: Any, direction: Any) -> None:
        """A click as a ray from the camera [m]."""
        with self._doing() as panel:
            hit = self.environment.relief.hit(origin, direction)
            if panel.tool.value == "select" and not panel.moving.value:
                self._select(panel, origin, direction, hit)
                return
            if hit is None:
                panel.say("The click did not hit the ground.")
                return
            if panel.moving.value:
                item = self._chosen(panel)
                self.environment.move(item.key, hit[0], hit[1])
                panel.moving.value = False
                self._shown(f"Moved: {find(self.environment.items, item.key)}.", item.key)
                return
            self._apply(panel.tool.value, hit[0], hit[1])

    def _select(self, panel: Panel, origin: Any, direction: Any, hit: Any) -> None:
        key = self._rock_hit(origin, direction, hit) or self._item_at(hit)
        if key is None:
            panel.say("There is no item here.")
            return
        item = find(self.environment.items, key)
        panel.refresh(key)
        panel.say(f"Selected: {item}.")
        if self.scene is not None and item.place is not None:
            self.scene.ring(self.environment.relief, item.place, item.radius or 0.3)

    def _rock_hit(self, origin: Any, direction: Any, hit: Any) -> str | None:
        """The first rock, taken as a ball, that a ray meets before the ground."""
        start, ray = np.asarray(origin, float), np.asarray(direction, float)
        ray = ray / np.linalg.norm(ray)
        ground = math.inf if hit is None else float(np.linalg.norm(np.asarray(hit) - start))
        best, nearest = None, math.inf
        for key, row in rocks_with_keys(self.environment):
            x, y, length, width, _, height, buried = (float(v) for v in row)
            z = float(self.environment.relief.height(x, y)) + (0.5 - buried) * height
            away = np.array([x, y, z]) - start
            radius = (length + width + height) / 6
            along = float(away @ ray)
            if along < min(nearest, ground + radius):
                if float(away @ away) - along**2 < radius**2:
                    best, nearest = key, along
        return best

    def _item_at(self, hit: Any) -> str | None:
        """The smallest item that covers a place."""
        if hit is None:
            return None
        over = [
            i
            for i in self.environment.items
            if i.place is not None and math.dist(i.place, hit[:2]) <= i.radius
        ]
        return min(over, key=lambda i: i.radius).key if over else None

    def _listen_to(self, handle: Any) -> None:
        """Paint by dragging with shift held."""
        handle.on_drag("left", modifier="shift")(self._dragged)

    async def _dragged(self, event: Any) -> None:
        if self.panel is None:
            return
        with self._doing() as panel:
            if panel.tool.value != "paint soil" or self.scene is None:
                if event.phase == "end":
                    panel.say("To paint by dragging with shift, choose the tool 'paint soil'.")
                return
            if event.phase == "start":
                self._stroke = []
            camera = np.asarray(event.client.camera.position, float)
            hit = self.environment.relief.hit(camera, np.asarray(event.end_position) - camera)
            self.stroke(None if hit is None else (hit[0], hit[1]), event.phase == "end")

    def stroke(self, place: Point | None, last: bool) -> None:
        """Add a place [m] to the stroke that is being painted; the last one paints it."""
        with self._doing() as panel:
            radius = panel.sizes("paint soil")["radius"]
            if place is not None:
                if not self._stroke or math.dist(place, self._stroke[-1]) > radius / 2:
                    self._stroke.append(place)
                self._at = place
                self.show_ring()
            if last and self._stroke:
                stroke, self._stroke = self._stroke, []
                item = self.environment.paint_stroke(stroke, radius, panel.paint.value)
                self._shown(f"Painted: {panel.paint.value}.", item.key)


class EditorPage:
    """An editor on a server of its own; `stop` ends both."""

    def __init__(self, server: viser.ViserServer, url: str, editor: Editor) -> None:
        self.server, self.url, self.editor = server, url, editor
        self._stopped = threading.Event()
        editor.start()

    def wait(self) -> None:
        """Wait until it is stopped."""
        wait_for(self._stopped)

    def stop(self) -> None:
        """End the editor and free the port."""
        self._stopped.set()
        self.editor.stop()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def serve_editor(
    environment: Environment,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    file: str | Path = "",
    block: bool = True,
    browser: bool = False,
) -> EditorPage:
    """The editor at an address; with `block` until ctrl-c, else the running page is returned. With
    `browser` the page is opened where there is a browser."""
    server, url = start_server(host, port, "the editor", token)
    page = EditorPage(server, url, Editor(server, environment, file=str(file)))
    show_page(page, url, "editor", browser, block)
    return page
