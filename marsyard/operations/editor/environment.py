"""An edited scenario: ground, soils, rover and start, with undo; saved as a scenario file.

    place = Environment.new()                 # or Environment.open("control/goal")
    place.generate("rough", roughness=0.03, seed=4)
    place.place_crater(4.0, 1.0, diameter=3.0)
    place.place_rock(2.0, -0.5, diameter=0.35)
    place.soft_patch(5.0, 0.0, radius=0.8, stiffness=0.3)
    place.undo()
    place.save("mine.yaml")                   # marsyard run mine.yaml

Lengths are metres, angles radians. What is edited is the data of the scenario file itself, so that
all the file says stays as it was unless an edit touches it. Every edit is checked before it is
taken over: the scenario must be valid and its ground must come out. If not, an InputError says what
is wrong in one sentence and nothing has changed.

    rock          an entry of a ground of kind `rocks`: hard, a closed mesh, partly buried
    crater        a layer of the terrain, profile of Pike 1977 (`ground.terrain.craters`)
    mound         a layer of the terrain, cos²; negative for a hollow
    soil          a circle of the terrain's `places`, or a band along a stroke; later ones win
    soft patch    such a circle of a soil with smaller numbers, kept under the ground's `soils`

A soft patch takes the soil that lies there and multiplies what carries (k_c, k_φ, Reece's k'_c and
k'_φ) by `stiffness` s, and the strength (c, tan φ) by `strength` t:

    p = s (k_c/b + k_φ) zⁿ,     τ_max = t (c + p tan φ).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from marsyard import library
from marsyard.errors import InputError, suggest
from marsyard.files import read_yaml_text
from marsyard.interaction import about
from marsyard.operations.editor import kinds
from marsyard.operations.editor.items import Item, find, items_of
from marsyard.operations.editor.relief import Area, Relief, ReliefMaker
from marsyard.operations.editor.writing import check_target, degrees, metres, share, text_of, write
from marsyard.scenario import Scenario, scenario_data, validate
from marsyard.scenario.scenario import resolve_files
from marsyard.scenario.terrain_file import terrain_data
from marsyard.units import to_si

MOST_STEPS = 200  # that can be undone
Data = dict[str, Any]
#: parts of a scenario that are about one robot
_OF_ROBOT = ("control", "motors", "gait", "tethers", "report", "study")
_KEPT_OF_ROBOT = ("name", "position", "attitude", "settle")
#: wheel models that take nothing from the soil's stiffness and strength
_WITHOUT_SOIL = ("magic_formula", "rigid_slip")


class Environment:
    """A scenario under edit."""

    def __init__(self, data: Data, name: str = "scenario", area: Area | None = None) -> None:
        """`data` as of a scenario file, with absolute paths; `area`: what is shown of a ground
        without end [m]."""
        self.name = name
        self._maker = ReliefMaker()
        self._area = area
        data = copy.deepcopy(data)
        validate(data, name)
        _in_place(data)
        self._data, self._scenario, self._relief = self._made(data)
        self._past: list[tuple[str, Data]] = []
        self._future: list[tuple[str, Data]] = []
        self.saved_as: Path | None = None
        self._saved = self._data

    @classmethod
    def new(cls, robot: str = "exomars", soil: str = "mars_sand_zhou2023") -> Environment:
        """A level ground of soil with a rover that is to drive 4 m."""
        return cls(kinds.new_scenario(robot, soil), "new scenario")

    @classmethod
    def open(cls, name: str | Path) -> Environment:
        """A scenario of the library, or a file."""
        made = cls(scenario_data(name), str(name))
        if str(name) not in library.names("scenarios"):
            path = Path(name)
            made.saved_as = path / "scenario.yaml" if path.is_dir() else path
        return made

    # --- what is there

    @property
    def scenario(self) -> Scenario:
        """The scenario as it is now."""
        return self._scenario

    @property
    def relief(self) -> Relief:
        """Heights and soils on a grid, for looking at."""
        return self._relief

    @property
    def items(self) -> list[Item]:
        """All items on the ground."""
        return items_of(self._scenario)

    @property
    def data(self) -> Data:
        """A copy of what is written to the file."""
        return copy.deepcopy(self._data)

    @property
    def changed(self) -> bool:
        """Whether something was edited since it was opened or saved."""
        return self._data != self._saved

    @property
    def start(self) -> tuple[float, float, float]:
        """x, y [m] and heading [rad] of the rover's start."""
        robot = self._scenario.robot
        x, y, _ = robot.position or (0.0, 0.0, 0.0)
        return x, y, (robot.attitude or (0.0, 0.0, 0.0))[2]

    @property
    def soils(self) -> list[str]:
        """Soils that can be painted: the ground's own, and those of the library that have the
        numbers the law of the scenario needs."""
        ground = next((g for g in self._scenario.ground if g.kind == "terrain"), None)
        own = ground.soils if ground else {}
        return list(dict.fromkeys([*kinds.fitting_soils(self._scenario), *own]))

    @property
    def goal(self) -> tuple[float, float] | None:
        """The last goal of the drive [m]."""
        drive = self._scenario.drive
        goals = [getattr(c, "goal", None) for c in (drive.commands if drive else ())]
        return next((g for g in reversed(goals) if g is not None), None)

    @property
    def soil(self) -> str:
        """What the terrain's own soil is called; none on hard ground."""
        return self._relief.soils[0] if self._soil_name() is None else str(self._soil_name())

    def look(self, area: Area | None) -> None:
        """Show another part of the ground [m]; None: all of it, or 20 m around the origin."""
        if area is not None and not (area[0] < area[1] and area[2] < area[3]):
            raise InputError("area: the first of x and of y must be lower than the second")
        self._relief = self._maker.make(self._scenario, area)
        self._area = area

    # --- the ground as a whole

    def new_ground(self, name: str = "flat") -> None:
        """Replace the terrain by one of the library or of a file; soil, rover and hard rocks stay,
        hard planes go."""
        self._replace_terrain(terrain_data(name), f"ground {name}")

    def load_dem(self, path: str | Path, **options: Any) -> None:
        """Replace the terrain by an elevation file; its middle becomes x = y = 0 and its height
        there 0. Options are those of a layer of kind file (`spacing`, `unit`, `holes`, …)."""
        file = Path(path)
        if not file.is_file():
            raise InputError(f"elevation map: '{path}' does not exist")
        layer: Data = {"kind": "file", "file": str(file.absolute())}
        if file.suffix.lower() in (".stl", ".obj", ".ply"):
            layer["kind"] = "mesh"
        else:
            layer |= {"origin": "centre", "datum": "origin"}
        layer |= {k: v for k, v in options.items() if v is not None}
        self._maker.forget()
        self._replace_terrain({"title": file.name, "layers": [layer]}, f"map {file.name}")

    def generate(self, kind: str, seed: int = 0, **numbers: float) -> Item:
        """Add generated ground: slope, rough, waves, craters or rocks, with numbers of the kind
        (`kinds.KINDS` has them with their defaults); rocks are a field of hard ones. The start of
        the rover is kept free of craters and rocks."""
        area, start = self.relief.area, self.start[:2]
        made = kinds.generated(kind, seed, numbers, area, start)

        def add(data: Data) -> str:
            if kind == "rocks":
                return _add_ground(data, {"kind": "rocks", "seed": seed, "field": made}) + ".field"
            return self._add_layer(data, made)

        return self._add(kind, add)

    def choose_soil(self, soil: str | Data) -> None:
        """Give the terrain another soil of its own: a name of the library or of `soils`, or a
        mapping that changes numbers of one."""
        self._known_soil(soil)

        def choose(data: Data) -> None:
            _terrain_ground(data)["soil"] = soil

        self._edit(f"soil {soil if isinstance(soil, str) else soil.get('name')}", choose)

    # --- single things

    def place_rock(
        self,
        x: float,
        y: float,
        diameter: float,
        *,
        height: float | None = None,
        buried: float = 0.5,
        elongation: float = 1.0,
        heading: float = 0.0,
        seed: int | None = None,
    ) -> Item:
        """A hard rock: diameter and height of the whole of it [m], share of the height buried."""
        _above_zero("rock", diameter=diameter, height=height)
        self._within("rock", x, y)
        rock: Data = {"place": [metres(x), metres(y)], "diameter": metres(diameter)}
        if height is not None:
            rock["height"] = metres(height)
        if elongation != 1.0:
            rock |= {"elongation": share(elongation), "heading": degrees(heading)}
        rock |= {"buried": share(buried), "seed": self._free_seed() if seed is None else seed}

        def place(data: Data) -> str:
            number = _rock_ground(data)
            rocks = data["ground"][number].setdefault("rocks", [])
            rocks.append(rock)
            return f"ground.{number}.rocks.{len(rocks) - 1}"

        return self._add("rock", place)

    def place_crater(
        self,
        x: float,
        y: float,
        diameter: float,
        *,
        depth: float | None = None,
        rim: float | None = None,
    ) -> Item:
        """A crater: diameter from crest to crest, depth below the crest and height of the crest
        over the plain [m]; default: those of a fresh one, 0.196 and 0.036 diameters."""
        _above_zero("crater", diameter=diameter, depth=depth)
        self._within("crater", x, y)
        layer: Data = {
            "kind": "crater", "centre": [metres(x), metres(y)], "diameter": metres(diameter),
        }  # fmt: skip
        if depth is not None:
            layer["depth_ratio"] = share(depth / diameter)
        if rim is not None:
            layer["rim_ratio"] = share(rim / diameter)
        return self._add("crater", lambda data: self._add_layer(data, layer))

    def place_mound(self, x: float, y: float, radius: float, height: float) -> Item:
        """A round mound, or a hollow of negative height [m]."""
        _above_zero("mound", radius=radius)
        self._within("mound", x, y)
        layer: Data = {
            "kind": "bump", "centre": [metres(x), metres(y)], "radius": metres(radius),
            "height": metres(height),
        }  # fmt: skip
        return self._add("mound", lambda data: self._add_layer(data, layer))

    def paint_soil(self, x: float, y: float, radius: float, soil: str) -> Item:
        """A soil within a circle; circles that lie wholly below it are taken away."""
        return self.paint_stroke([(x, y)], radius, soil)

    def paint_stroke(self, points: list[tuple[float, float]], radius: float, soil: str) -> Item:
        """A soil within a radius of a line through points, as a brush paints it [m]."""
        _above_zero("soil", radius=radius)
        self._known_soil(soil)
        for x, y in points:
            self._within("soil", x, y)
        return self._add(f"soil {soil}", lambda data: _paint(data, points, radius, soil))

    def soft_patch(
        self,
        x: float,
        y: float,
        radius: float,
        *,
        soil: str | None = None,
        stiffness: float = 0.3,
        strength: float = 1.0,
    ) -> Item:
        """Softer soil within a circle: a soil of another name, or the one that lies there with its
        stiffness and strength multiplied by numbers above 0."""
        _above_zero("soft patch", radius=radius)
        self._within("soft patch", x, y)
        if soil is not None:
            return self.paint_soil(x, y, radius, soil)
        _above_zero("soft patch", unit="", stiffness=stiffness, strength=strength)
        law = self._scenario.interaction.wheel
        if law is not None and law.model in _WITHOUT_SOIL:
            raise InputError(
                f"soft patch: the wheel model {law.model} takes no stiffness from the soil; choose "
                "another soil for the patch, or another law"
            )
        below = self.relief.soil_at(x, y)

        def place(data: Data) -> str:
            name = kinds.softer(_terrain_ground(data), below, stiffness, strength, self._columns())
            return _paint(data, [(x, y)], radius, name, prune=False)

        return self._add("soft patch", place)

    # --- the rover

    def choose_robot(self, name: str) -> list[str]:
        """Another rover. What the scenario says of the former one's joints is dropped: names of
        those parts."""
        if name not in library.names("rovers") and not Path(name).exists():
            raise InputError(f"robot: unknown '{name}'; {suggest(name, library.names('rovers'))}")
        dropped: list[str] = []

        def choose(data: Data) -> None:
            robot = data["robot"]
            if name != robot["name"]:
                dropped.extend(f"robot.{k}" for k in robot if k not in _KEPT_OF_ROBOT)
                dropped.extend(k for k in _OF_ROBOT if k in data)
                for key in _OF_ROBOT:
                    data.pop(key, None)
                for key in [k for k in robot if k not in _KEPT_OF_ROBOT]:
                    del robot[key]
                robot["name"] = name
                robot["settle"] = True
            if not any(k in data for k in ("drive", "gait", "control")):
                x, y, heading = self.start
                ahead = x + 3 * math.cos(heading), y + 3 * math.sin(heading)
                data["drive"] = kinds.drive_to(*ahead)

        self._edit(f"rover {name}", choose)
        return dropped

    def place_robot(self, x: float, y: float, heading: float | None = None) -> None:
        """Start there, in a direction [rad]; the rover is put on the ground."""
        self._within("start", x, y)
        turn = self.start[2] if heading is None else heading
        up = float(self.relief.height(x, y)) + 1.0

        def place(data: Data) -> None:
            robot = data["robot"]
            robot["position"] = [metres(x), metres(y), metres(up)]
            robot["attitude"] = ["0 deg", "0 deg", degrees(turn)]
            robot["settle"] = True

        self._edit("start", place)

    def place_goal(self, x: float, y: float) -> None:
        """Drive there: the last goal of the drive is moved, or a goal is added."""
        self._within("goal", x, y)

        def place(data: Data) -> None:
            goal = kinds.drive_to(x, y)
            commands = data.setdefault("drive", goal).setdefault("commands", goal["commands"])
            goals = [c for c in commands if isinstance(c, dict) and "goal" in c]
            if goals:
                goals[-1]["goal"] = goal["commands"][0]["goal"]
            else:
                commands.append(goal["commands"][0])

        self._edit("goal", place)

    def set_title(self, title: str) -> None:
        """The scenario's title."""
        self._edit("title", lambda data: data.update(title=title))

    # --- items

    def remove(self, key: str) -> None:
        """Remove an item."""
        item = find(self.items, key)
        self._edit(f"remove {item.kind}", lambda data: _remove(data, item))

    def move(self, key: str, x: float, y: float) -> None:
        """Move an item that has a position [m]."""
        item = find(self.items, key)
        self._within(item.kind, x, y)

        def shift(data: Data) -> None:
            part = _at(data, item.path)
            field = next((f for f in ("place", "centre", "points") if f in part), None)
            if field is None or item.place is None:
                raise InputError(f"{item.kind}: has no single position and cannot be moved")
            if field == "points":
                dx, dy = x - item.place[0], y - item.place[1]
                part[field] = [[metres(_si(a) + dx), metres(_si(b) + dy)] for a, b in part[field]]
            else:
                part[field] = [metres(x), metres(y), *part[field][2:]]

        self._edit(f"move {item.kind}", shift)

    def change(self, key: str, **values: Any) -> None:
        """Give fields of an item other values, as in a scenario file."""
        item = find(self.items, key)
        self._edit(f"change {item.kind}", lambda data: _at(data, item.path).update(values))

    def split(self, key: str) -> int:
        """Take a field of rocks or craters apart, so that each can be moved and removed; how many
        there are. Craters stay what they are; rocks keep place and size, and get other bumps."""
        item = find(self.items, key)
        scenario, terrain = self._scenario, self._relief.terrain

        def take_apart(data: Data) -> int:
            return kinds.take_apart(data, item, scenario, terrain)

        return int(self._edit(f"split {item.kind}", take_apart))

    # --- undo

    def undo(self) -> str | None:
        """Undo the last edit; returns its description, None if there is none."""
        return self._step(self._past, self._future)

    def redo(self) -> str | None:
        """Redo the last undone edit."""
        return self._step(self._future, self._past)

    @property
    def can_undo(self) -> str | None:
        """Description of the edit that undo would revert."""
        return self._past[-1][0] if self._past else None

    @property
    def can_redo(self) -> str | None:
        """Description of the edit that redo would repeat."""
        return self._future[-1][0] if self._future else None

    def _step(self, source: list[tuple[str, Data]], target: list[tuple[str, Data]]) -> str | None:
        if not source:
            return None
        what, data = source[-1]
        made = self._made(data)
        source.pop()
        target.append((what, self._data))
        self._data, self._scenario, self._relief = made
        return what

    # --- files

    def text(self, folder: Path | None = None) -> str:
        """The scenario file for a folder."""
        return text_of(self._data, folder or Path.cwd())

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the scenario file, atomically. A file that is there already is replaced if
        it is the one that was opened or saved before, or with `overwrite`."""
        target = Path(path)
        known = self.saved_as is not None and target.absolute() == self.saved_as.absolute()
        check_target(target, overwrite or known)
        text = self.text(target.parent)
        again = read_yaml_text(text, target.name)
        resolve_files(again, target.parent)
        if validate(again, target.name) != self._scenario:
            raise RuntimeError("the edited values could not be written to the scenario's text")
        write(text, target)
        self.saved_as, self._saved = target, self._data
        return target

    def load(self, name: str | Path) -> None:
        """Load another scenario; can be undone."""
        data = scenario_data(name)
        validate(data, str(name))
        _in_place(data)

        def replace(old: Data) -> None:
            old.clear()
            old.update(data)

        self._edit(f"load {name}", replace)
        self.name, self.saved_as = str(name), None

    # --- inside

    def _made(self, data: Data) -> tuple[Data, Scenario, Relief]:
        scenario = validate(data, "scenario")
        return data, scenario, self._maker.make(scenario, self._area)

    def _edit(self, what: str, change: Callable[[Data], Any]) -> Any:
        data = copy.deepcopy(self._data)
        answer = change(data)
        made = self._made(data)
        kinds.check_rocks(made[1], made[2].terrain)
        self._past.append((what, self._data))
        del self._past[:-MOST_STEPS]
        self._future.clear()
        self._data, self._scenario, self._relief = made
        return answer

    def _add(self, what: str, change: Callable[[Data], str]) -> Item:
        key = self._edit(what, change)
        return find(self.items, key)

    def _add_layer(self, data: Data, layer: Data) -> str:
        number, terrain = _terrain_of(data)
        layers = terrain.setdefault("layers", [])
        layers.append(layer)
        return f"ground.{number}.terrain.layers.{len(layers) - 1}"

    def _replace_terrain(self, terrain: Data, what: str) -> None:
        soil: Any = terrain.pop("soil", None)

        def replace(data: Data) -> None:
            grounds = data.setdefault("ground", [])
            old = next((g for g in grounds if g.get("kind") == "terrain"), None)
            if old is None:
                name = _free_name(data, "soil")
                old = {"kind": "terrain", "name": name, "terrain": {}, "spacing": "2 cm"}
                data["ground"] = [old, *(g for g in grounds if g.get("kind") != "plane")]
                _drop_surfaces(data)
            old["terrain"] = terrain
            old.pop("heaps", None)
            old.setdefault("soil", soil or "mars_sand_zhou2023")

        self._edit(what, replace)

    def _known_soil(self, soil: str | Data) -> None:
        from marsyard.ground.soil import load_soil

        ground = next((g for g in self._scenario.ground if g.kind == "terrain"), None)
        own = ground.soils if ground is not None else {}
        if isinstance(soil, str) and soil in own:
            return
        if isinstance(soil, str) and soil not in library.names("soils"):
            known = [*own, *library.names("soils")]
            raise InputError(f"soil: unknown '{soil}'; {suggest(soil, known)}")
        kinds.check_fit(load_soil(soil), self._scenario)

    def _soil_name(self) -> str | None:
        ground = next((g for g in self._scenario.ground if g.kind == "terrain"), None)
        if ground is None or ground.soil is None:
            return None
        return ground.soil if isinstance(ground.soil, str) else str(ground.soil.get("name"))

    def _columns(self) -> bool:
        return about.laws(about.SOIL)[self._scenario.interaction.soil.model].columns

    def _within(self, what: str, x: float, y: float) -> None:
        if not (math.isfinite(x) and math.isfinite(y)):
            raise InputError(f"{what}: its position must be two finite numbers")
        bounds = self._relief.bounds
        if bounds is None:
            return
        x0, x1, y0, y1 = bounds
        if not (x0 <= x <= x1 and y0 <= y <= y1):
            raise InputError(
                f"{what}: ({x:.2f}, {y:.2f}) m is outside the ground, which is x {x0:g} to {x1:g}, "
                f"y {y0:g} to {y1:g} m"
            )

    def _free_seed(self) -> int:
        """A seed that no rock has, so that rocks look different."""
        seeds = [r.seed for g in self._scenario.ground if g.kind == "rocks" for r in g.rocks]
        return max((s for s in seeds if s is not None), default=0) + 1


# --- the data of a scenario


def _in_place(data: Data) -> None:
    """Write the ground out: the default plane, names, and the terrain itself instead of a name."""
    grounds = data.setdefault("ground", [{"kind": "plane"}])
    for k, ground in enumerate(grounds):
        if not ground.get("name"):
            ground["name"] = _free_name(data, str(ground["kind"]), but=k)
        if ground["kind"] == "terrain":
            terrain = ground.get("terrain", "flat")
            if isinstance(terrain, str):
                terrain = terrain_data(terrain)
            ground["terrain"] = terrain


def _free_name(data: Data, wanted: str, but: int | None = None) -> str:
    taken = [g.get("name") for k, g in enumerate(data.get("ground", ())) if k != but]
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _terrain_of(data: Data) -> tuple[int, Data]:
    """Number of the ground of kind terrain, and its terrain."""
    for k, ground in enumerate(data.get("ground", ())):
        if ground.get("kind") == "terrain":
            return k, ground["terrain"]
    raise InputError(
        "ground: this scenario has only hard ground; create or load a terrain first (New ground)"
    )


def _terrain_ground(data: Data) -> Data:
    ground: Data = data["ground"][_terrain_of(data)[0]]
    return ground


def _add_ground(data: Data, ground: Data) -> str:
    name = _free_name(data, ground["kind"])
    data["ground"].append({"kind": ground.pop("kind"), "name": name, **ground})
    return f"ground.{len(data['ground']) - 1}"


def _rock_ground(data: Data) -> int:
    """Number of the ground for single rocks; it is made where there is none."""
    for k, ground in enumerate(data["ground"]):
        if ground.get("kind") == "rocks" and not ground.get("field"):
            return k
    _add_ground(data, {"kind": "rocks", "rocks": []})
    return len(data["ground"]) - 1


def _paint(
    data: Data,
    points: list[tuple[float, float]],
    radius: float,
    soil: str,
    prune: bool = True,
) -> str:
    number, terrain = _terrain_of(data)
    places = list(terrain.get("places", ()))
    if prune:
        places = [p for p in places if not any(_hidden(p, x, y, radius) for x, y in points)]
    where = [[metres(x), metres(y)] for x, y in points]
    if len(points) == 1:
        shape: Data = {"kind": "circle", "soil": soil, "centre": where[0]}
    else:
        shape = {"kind": "band", "soil": soil, "points": where}
    places.append({**shape, "radius": metres(radius)})
    terrain["places"] = places
    return f"ground.{number}.terrain.places.{len(places) - 1}"


def _hidden(place: Data, x: float, y: float, radius: float) -> bool:
    """Whether a circle lies wholly below a new one."""
    if place.get("kind") != "circle":
        return False
    cx, cy = (_si(v) for v in place.get("centre", (0.0, 0.0)))
    return math.hypot(cx - x, cy - y) + _si(place["radius"]) <= radius


def _si(length: Any) -> float:
    return to_si(length, "length")


def _remove(data: Data, item: Item) -> None:
    *where, last = item.path
    holder = _at(data, tuple(where))
    if isinstance(last, int) and where[-1] == "layers" and _drawn_after(holder, last):
        # layers without a seed of their own are drawn by their number, which must stay
        holder[last] = {"kind": "plane"}
        return
    del holder[last]
    ground = data["ground"][int(item.path[1])] if len(item.path) > 2 else None
    if ground is not None and ground.get("kind") == "rocks":
        if not ground.get("rocks") and not ground.get("field"):
            del data["ground"][int(item.path[1])]
    _drop_surfaces(data)


def _drawn_after(layers: list[Data], number: int) -> bool:
    return any(p["kind"] in kinds.RANDOM and p.get("seed") is None for p in layers[number + 1 :])


def _drop_surfaces(data: Data) -> None:
    """Forget the friction of surfaces that are gone."""
    surfaces = (data.get("interaction") or {}).get("surfaces")
    if surfaces:
        names = {g.get("name") for g in data["ground"]}
        for gone in [s for s in surfaces if s not in names]:
            del surfaces[gone]


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


def _above_zero(what: str, unit: str = " m", **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"{what}: {name} = {value:g}{unit}: must be above 0")
