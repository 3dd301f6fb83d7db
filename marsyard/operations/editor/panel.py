"""The controls of the editor: tools with their sizes, items, ground, rover and soil, file.

The panel knows widgets and what they are set to; what is done is the editor's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marsyard import library
from marsyard.operations.editor.items import FIELDS
from marsyard.operations.editor.kinds import KINDS
from marsyard.results.scene_parts import plain_text

if TYPE_CHECKING:
    from marsyard.operations.editor.editor import Editor

NOTHING = "nothing"
TOOLS = ("select", "rock", "crater", "mound", "soft patch", "paint soil", "start", "goal")
HINTS = {
    "select": "click on a rock, crater or patch to select it",
    "rock": "click on the ground to place a hard, partly buried rock",
    "crater": "click on the ground to place a crater with rim and ejecta",
    "mound": "click on the ground to place a mound, or a hollow with negative height",
    "soft patch": "click on the ground to soften the soil there",
    "paint soil": "click, or drag over the ground while holding shift",
    "start": "click on the ground to set the start position",
    "goal": "click on the ground to set the goal",
}


@dataclass(frozen=True)
class Size:
    """A slider of a tool: name in words, least, greatest, step and first value."""

    words: str
    low: float
    high: float
    step: float
    first: float


#: sliders by tool [m, deg, 1]
SIZES: dict[str, dict[str, Size]] = {
    "select": {},
    "rock": {
        "diameter": Size("diameter [m]", 0.05, 3.0, 0.01, 0.35),
        "height": Size("height / diameter", 0.2, 1.5, 0.05, 0.8),
        "buried": Size("share buried", 0.0, 0.95, 0.05, 0.5),
        "elongation": Size("length / width", 1.0, 3.0, 0.1, 1.0),
        "heading": Size("heading [deg]", -180.0, 180.0, 1.0, 0.0),
    },
    "crater": {
        "diameter": Size("diameter [m]", 0.2, 20.0, 0.1, 3.0),
        "depth": Size("depth / diameter", 0.02, 0.4, 0.002, 0.196),
    },
    "mound": {
        "radius": Size("radius [m]", 0.1, 10.0, 0.1, 1.0),
        "height": Size("height [m]", -2.0, 2.0, 0.05, 0.3),
    },
    "soft patch": {
        "radius": Size("radius [m]", 0.1, 10.0, 0.1, 0.8),
        "stiffness": Size("stiffness factor", 0.02, 1.0, 0.01, 0.3),
        "strength": Size("strength factor", 0.1, 1.0, 0.01, 1.0),
    },
    "paint soil": {"radius": Size("radius [m]", 0.1, 10.0, 0.1, 1.0)},
    "start": {"heading": Size("heading [deg]", -180.0, 180.0, 1.0, 0.0)},
    "goal": {},
}
#: sizes that the ring around the cursor shows, and their factor
RINGS = {"diameter": 0.5, "radius": 1.0}


class Panel:
    """The panel of an editor; `remove` takes it away."""

    def __init__(self, server: Any, editor: Editor, done: bool) -> None:
        self._gui, self._editor = server.gui, editor
        self._top: list[Any] = []
        self.quiet = False  # values are set by the program just now
        gui = self._gui
        self._title = self._keep(gui.add_markdown("**Environment**"))
        self._message = self._keep(gui.add_markdown(""))
        self._undo = self._keep(gui.add_button("Undo"))
        self._redo = self._keep(gui.add_button("Redo"))
        self._undo.on_click(lambda _: editor.undo())
        self._redo.on_click(lambda _: editor.redo())
        tabs = self._keep(gui.add_tab_group())
        with tabs.add_tab("Tools"):
            self._make_tools()
        with tabs.add_tab("Ground"):
            self._make_ground()
        with tabs.add_tab("Rover, soil"):
            self._make_rover()
        with tabs.add_tab("File"):
            self._make_file()
        self._legend = self._keep(gui.add_html(""))
        if done:
            button = self._keep(gui.add_button("Done", hint="use this environment"))
            button.on_click(lambda _: editor.finish())

    def _keep(self, handle: Any) -> Any:
        self._top.append(handle)
        return handle

    def remove(self) -> None:
        """Take all controls away."""
        for handle in self._top:
            handle.remove()
        self._top = []

    # --- tools and items

    def _make_tools(self) -> None:
        gui = self._gui
        self.tool = gui.add_dropdown("tool", TOOLS, initial_value="select")
        self._hint = gui.add_markdown(HINTS["select"])
        self._sizes: dict[str, dict[str, Any]] = {}
        for tool, sizes in SIZES.items():
            self._sizes[tool] = {
                name: gui.add_slider(s.words, s.low, s.high, s.step, s.first, visible=False)
                for name, s in sizes.items()
            }
            for slider in self._sizes[tool].values():
                slider.on_update(lambda _: self._editor.show_ring())
        soils = self._editor.environment.soils
        first = "dry_sand" if "dry_sand" in soils else soils[0]
        self.paint = gui.add_dropdown("soil to paint", soils, initial_value=first, visible=False)
        self.tool.on_update(lambda _: self._tool_chosen())
        with gui.add_folder("On the ground"):
            self.item = gui.add_dropdown("item", (NOTHING,))
            self._delete = gui.add_button("Delete")
            self.moving = gui.add_checkbox("move to next click", False)
            self._split = gui.add_button("Split", visible=False)
        self.item.on_update(lambda _: self._item_chosen())
        self._delete.on_click(lambda _: self._editor.delete())
        self._split.on_click(lambda _: self._editor.split())

    def _tool_chosen(self) -> None:
        tool = self.tool.value
        self._hint.content = HINTS[tool]
        for name, sliders in self._sizes.items():
            for slider in sliders.values():
                slider.visible = name == tool
        self.paint.visible = tool == "paint soil"
        self._editor.show_ring()

    def _item_chosen(self) -> None:
        if not self.quiet:
            self._editor.show_item()
        self._split.visible = any(self.item.value.split(" ", 1)[-1].startswith(f) for f in FIELDS)

    def sizes(self, tool: str) -> dict[str, float]:
        """What the sliders of a tool are set to."""
        return {name: float(s.value) for name, s in self._sizes[tool].items()}

    @property
    def radius(self) -> float:
        """Of the ring that shows the tool's size [m]."""
        sizes = self.sizes(self.tool.value)
        return next((f * sizes[n] for n, f in RINGS.items() if n in sizes), 0.3)

    # --- ground

    def _make_ground(self) -> None:
        gui, do = self._gui, self._editor
        with gui.add_folder("New ground", expand_by_default=True):
            self.ground = gui.add_dropdown("ground", library.names("grounds"), initial_value="flat")
            gui.add_button("Replace the ground").on_click(lambda _: do.new_ground())
            self.map = gui.add_text("elevation map", "", hint="path of a file on the server")
            self.map_spacing = gui.add_number(
                "its spacing [m]",
                0.0,
                min=0.0,
                hint="for files that do not state it; 0: use the file's",
            )
            self.fill = gui.add_checkbox("fill its holes", False)
            gui.add_button("Load the map").on_click(lambda _: do.load_map())
        with gui.add_folder("Add to the ground"):
            self.kind = gui.add_dropdown("kind", tuple(KINDS), initial_value="rough")
            self._numbers: dict[str, dict[str, Any]] = {}
            for kind, numbers in KINDS.items():
                self._numbers[kind] = {}
                for name, n in numbers.items():
                    turn = math.degrees(1) if n.unit == "rad" else 1.0
                    unit = {"rad": " [deg]", "m": " [m]"}.get(n.unit, "")
                    self._numbers[kind][name] = gui.add_number(
                        n.words + unit, _short(turn * n.default), min=_short(turn * n.low),
                        max=_short(turn * n.high), visible=kind == "rough",
                    )  # fmt: skip
            self.seed = gui.add_number("seed", 1, min=0, step=1)
            gui.add_button("Add").on_click(lambda _: do.generate())
        self.kind.on_update(lambda _: self._kind_chosen())
        with gui.add_folder("View"):
            self.side = gui.add_number("side [m]", 20.0, min=1.0, max=500.0)
            gui.add_button("Look around the start").on_click(lambda _: do.look())

    def _kind_chosen(self) -> None:
        for kind, numbers in self._numbers.items():
            for number in numbers.values():
                number.visible = kind == self.kind.value

    def numbers(self) -> dict[str, float]:
        """Numbers of the kind of ground to generate, in SI."""
        kind = self.kind.value
        return {
            name: float(h.value) * (math.radians(1) if KINDS[kind][name].unit == "rad" else 1.0)
            for name, h in self._numbers[kind].items()
        }

    # --- rover and soil

    def _make_rover(self) -> None:
        gui, editor = self._gui, self._editor
        rovers = library.names("rovers")
        name = editor.environment.scenario.robot.name
        self.rover = gui.add_dropdown("rover", _with(rovers, name), initial_value=name)
        self._about_rover = gui.add_markdown("")
        soils = _with(editor.environment.soils, editor.environment.soil)
        self.soil = gui.add_dropdown("soil", soils, initial_value=editor.environment.soil)
        self._about_soil = gui.add_markdown("")
        self.rover.on_update(lambda _: None if self.quiet else editor.choose_robot())
        self.soil.on_update(lambda _: None if self.quiet else editor.choose_soil())

    # --- file

    def _make_file(self) -> None:
        gui, editor = self._gui, self._editor
        self.title = gui.add_text("title", editor.environment.scenario.title)
        hint = f"in {editor.files.folder}; ends with .yaml"
        self.file = gui.add_text("file", editor.files.first, hint=hint)
        gui.add_button("Save").on_click(lambda _: editor.save())
        gui.add_button("Check", hint="whether the scenario can run").on_click(
            lambda _: editor.check()
        )
        self.other = gui.add_text("scenario", "", hint="name in the library, or a file")
        gui.add_button("Load").on_click(lambda _: editor.load())

    # --- showing

    def say(self, text: str, wrong: bool = False) -> None:
        """A sentence above the controls."""
        self._message.content = f"**{plain_text(text)}**" if wrong else plain_text(text)

    def refresh(self, chosen: str | None = None) -> None:
        """Show what the environment is now; `chosen`: key of the item to choose."""
        e = self._editor.environment
        self.quiet = True
        try:
            name = plain_text(e.scenario.title or e.name)
            self._title.content = f"**{name}**{' (changed)' if e.changed else ''}"
            labels = [f"{k + 1} {item}" for k, item in enumerate(e.items)] or [NOTHING]
            keys = [item.key for item in e.items]
            here = labels[keys.index(chosen)] if chosen in keys else None
            old = self.item.value
            if tuple(labels) != tuple(self.item.options):
                self.item.options = labels
            self.item.value = here or (old if old in labels else labels[-1])
            self._split.visible = any(f" {f}" in self.item.value for f in FIELDS)
            self._set(self.rover, library.names("rovers"), e.scenario.robot.name)
            self._set(self.soil, e.soils, e.soil)
            if tuple(self.paint.options) != tuple(e.soils):
                self.paint.options = e.soils
            self._about_rover.content = _about_rover(e.scenario.robot.name)
            self._about_soil.content = _about_soil(e)
            self._legend.content = _legend(e)
        finally:
            self.quiet = False

    def _set(self, dropdown: Any, options: list[str], value: str) -> None:
        wanted = _with(options, value)
        if tuple(dropdown.options) != tuple(wanted):
            dropdown.options = wanted
        if dropdown.value != value:
            dropdown.value = value


def _with(options: list[str], value: str) -> list[str]:
    return options if value in options else [*options, value]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _about_rover(name: str) -> str:
    if name not in library.names("rovers"):
        return ""
    data = library.read_yaml(library.path_of("rovers", name))
    wheels = len(data.get("wheels") or {})
    return f"{plain_text(str(data.get('title', '')))}" + (f" ({wheels} wheels)" if wheels else "")


def _about_soil(environment: Any) -> str:
    """The numbers of the terrain's own soil as a table."""
    from marsyard.errors import InputError
    from marsyard.ground.soil import COLUMNS, load_soil

    ground = next((g for g in environment.scenario.ground if g.kind == "terrain"), None)
    if ground is None:
        return "hard ground"
    given = ground.soil if ground.soil is not None else environment.soil
    try:
        soil = load_soil(ground.soils.get(given, given) if isinstance(given, str) else given)
    except InputError as error:
        return plain_text(str(error))
    rows = [
        f"| {head} | {getattr(soil, number) * factor:.4g} |"
        for head, number, factor in COLUMNS
        if getattr(soil, number) is not None
    ]
    return "\n".join([plain_text(soil.title), "", "| | |", "| --- | --- |", *rows])


def _legend(environment: Any) -> str:
    """Colours of soils, and what the ground is like."""
    import html

    import numpy as np

    from marsyard.results.soil_scene import soil_colours

    relief = environment.relief
    x0, x1, y0, y1 = relief.area
    lines = []
    if relief.terrain is not None:
        names = [environment.soil, *relief.soils[1:]]
        colours = (255 * soil_colours(np.arange(len(names)))).astype(int)
        for name, (r, g, b) in zip(names, colours, strict=True):
            mark = f'<span style="color:rgb({r},{g},{b})">&#9632;</span>'
            lines.append(f"{mark} {html.escape(name)}")
    gy, gx = np.gradient(relief.z, relief.y, relief.x)
    steep = math.degrees(math.atan(float(np.hypot(gx, gy).max())))
    lines.append(
        f"{x1 - x0:.4g} m × {y1 - y0:.4g} m, heights {relief.z.min():.2f} to "
        f"{relief.z.max():.2f} m, steepest {steep:.0f}°, {len(environment.items)} items"
    )
    return f'<div style="font-size:0.8em;padding:0.5em 0.8em">{"<br/>".join(lines)}</div>'
