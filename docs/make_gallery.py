"""Run the examples and some scenarios, draw a picture of each, and write docs/gallery.md.

    python docs/make_gallery.py            those whose picture is stale or missing
    python docs/make_gallery.py NAME …     these, whatever their state
    python docs/make_gallery.py --page     the page alone, from what is there

docs/images/gallery/stamps.json keeps for each picture what the example printed and a stamp: a hash
of the example or scenario, of how its picture is drawn, and of the files of the library that they
name (`stamps`). Where today's stamp differs the picture is stale: a test says so without a run.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stamps import stamp

from marsyard import library

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
PICTURES = HERE / "images" / "gallery"
STAMPS = PICTURES / "stamps.json"
SIZE = (720, 406)
HEAD = """# Gallery

Every script of `examples/` and some scenarios of the library: what it shows, how it is run, and a
picture of that very run. `python docs/make_gallery.py` makes the page and its pictures again.
"""


@dataclass
class Ran:
    """What is left of an example that ran: its names, its simulations, its folder, its words."""

    names: dict[str, Any]
    simulations: list[Any]
    folder: Path
    printed: str


# --- pictures


def keep(pixels: Any, out: Path) -> None:
    from PIL import Image

    picture = Image.fromarray(pixels) if not isinstance(pixels, Image.Image) else pixels
    picture = picture.convert("RGB").quantize(96, method=Image.Quantize.MEDIANCUT)
    picture.save(out, optimize=True)


def film(folder: Path, time: float, out: Path, **shot: Any) -> None:
    """A picture of a run at `time` [s]."""
    from PIL import Image

    from marsyard.results import Shot, write_still

    raw = write_still(folder, time, Shot(size=SIZE, **shot), folder / "still.png")
    with Image.open(raw) as picture:
        keep(picture, out)


def last_scene(ran: Ran, out: Path, **shot: Any) -> None:
    """The last simulation as it ended."""
    import mujoco

    from marsyard.results import ground_of, save, save_ground
    from marsyard.scenario import dump

    sim = ran.simulations[-1]
    folder = ran.folder / "last"
    folder.mkdir()
    if float(sim.dataset().time[-1]) < sim.time - 1e-9:
        sim.record_now()
    data = sim.dataset()
    data.attrs["scenario"] = f"examples/{Path(ran.names['__file__']).name}"
    save(data, folder / "results.nc")
    ground = ground_of(sim)
    if ground is not None:
        save_ground(ground, folder)
    (folder / "scenario.yaml").write_text(dump(sim.scenario), encoding="utf-8")
    mujoco.mj_saveModel(sim.model, str(folder / "model.mjb"))
    film(folder, float(data.time[-1]), out, **shot)


def axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.grid(alpha=0.3)
    return figure, ax


def finish(figure: Any, out: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(out, dpi=110)
    plt.close(figure)


def branch(ran: Ran, out: Path) -> None:
    data = ran.simulations[-1].dataset()
    figure, ax = axes("RT-0448 test 5, a state saved at 12 s", "time [s]", "speed along x [m/s]")
    ax.plot(data.time, data.velocity_base.sel(axis="x"))
    ax.axvline(12, color="0.6", ls="--")
    finish(figure, out)


def rovers(ran: Ran, out: Path) -> None:
    rows = re.findall(r"^(\w+) +(\w+) +slip.*slope +([\d.]+)°", ran.printed, re.MULTILINE)
    figure, ax = axes("largest slope that is climbed", "largest slope [°]", "")
    ax.barh([f"{rover}, {soil}" for rover, soil, _ in rows], [float(a) for *_, a in rows])
    ax.invert_yaxis()
    finish(figure, out)


def friction(ran: Ran, out: Path) -> None:
    import numpy as np

    step, mu = ran.names["STEP"], ran.names["MU"]
    pushes = np.linspace(0, 12, 61)
    found = [
        ran.names["solve_friction_contact"](*ran.names["box_problem"](push), mu) for push in pushes
    ]
    friction = [-f.impulse.reshape(4, 3)[:, 1].sum() / step for f in found]
    figure, ax = axes("a box of 1 kg, pushed", "push [N]", "friction of all corners [N]")
    ax.plot(pushes, friction)
    finish(figure, out)


def rut(ran: Ran, out: Path) -> None:
    data = ran.simulations[-1].dataset().sel(wheel="W")
    figure, ax = axes("from firm soil into soft soil and out again", "x [m]", "sinkage [mm]")
    ax.plot(data.position_base.sel(axis="x"), 1e3 * data.sinkage)
    ax.axvspan(0.3, 0.6, color="tab:orange", alpha=0.2, label="soft soil")
    ax.legend()
    finish(figure, out)


def file_of(pattern: str) -> Callable[[Ran, Path], None]:
    """A picture that the example itself draws."""

    def draw(ran: Ran, out: Path) -> None:
        from PIL import Image

        found = sorted(ran.folder.glob(pattern))
        with Image.open(found[0]) as picture:
            picture.thumbnail((SIZE[0], 2 * SIZE[1]))
            keep(picture, out)

    return draw


def any_picture(ran: Ran, out: Path) -> None:
    """What the example itself draws, or the end of its last simulation, or nothing."""
    if next(ran.folder.rglob("*.png"), None):
        file_of("**/*.png")(ran, out)
    elif ran.simulations:
        last_scene(ran, out)


# --- what is shown


def picture_of(name: str, title: str, instead: str = "") -> str:
    file = instead or f"gallery/{name}.png"
    there = (HERE / "images" / file).exists()
    return f"![{title}](images/{file})\n\n" if there else ""


@dataclass(frozen=True)
class Example:
    """A script of examples/ and how its picture is drawn."""

    name: str
    draw: Callable[[Ran, Path], None] = last_scene
    arguments: tuple[str, ...] = ()
    #: a picture that another script made, for an example that takes minutes and is not run here
    instead: str = ""

    @property
    def file(self) -> Path:
        return EXAMPLES / f"{self.name}.py"

    @property
    def code(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        return " ".join((re.search(r'^"""(.*?)"""', self.code, re.DOTALL) or [""] * 2)[1].split())

    def drawn_by(self) -> str:
        return self.instead or inspect.getsource(self.draw) + str(self.arguments)

    def make(self, out: Path) -> str:
        if self.instead:
            return ""
        from marsyard.simulation import Simulation

        made: list[Any] = []
        begin = Simulation.__init__

        def remember(sim: Any, *args: Any, **options: Any) -> None:
            begin(sim, *args, **options)
            made.append(sim)

        argv, here, said = sys.argv, Path.cwd(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            try:
                Simulation.__init__ = remember  # type: ignore[method-assign]
                sys.argv = [str(self.file), *self.arguments]
                os.chdir(folder)
                with contextlib.redirect_stdout(said):
                    names = runpy.run_path(str(self.file), run_name="__main__")
            finally:
                Simulation.__init__ = begin  # type: ignore[method-assign]
                sys.argv = argv
                os.chdir(here)
            self.draw(Ran(names, made, Path(folder), said.getvalue()), out)
        return said.getvalue()

    def section(self, printed: str) -> str:
        title = self.name.replace("_", " ").capitalize()
        text = re.split(r" Give a file name| +python examples", self.text)[0]
        prints = f"It prints\n\n```text\n{printed.rstrip()}\n```\n\n" if printed else ""
        return (
            f"\n## {title}\n\n{text}\n\n{picture_of(self.name, title, self.instead)}"
            f"```\n{' '.join(['python', f'examples/{self.name}.py', *self.arguments])}\n```\n\n"
            f"{prints}"
            f"<details>\n<summary>examples/{self.name}.py</summary>\n\n"
            f"```python\n{self.code}```\n\n</details>\n"
        )


@dataclass(frozen=True)
class Shown:
    """A scenario of the library, the moment that is shown [s] and how it is looked at."""

    scenario: str
    time: float
    shot: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.scenario.replace("/", "-")

    @property
    def code(self) -> str:
        return library.path_of("scenarios", self.scenario).read_text(encoding="utf-8")

    def drawn_by(self) -> str:
        return f"{self.time} {self.shot} {self.settings}"

    def make(self, out: Path) -> str:
        import marsyard

        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            marsyard.run(self.scenario, settings=self.settings, out=run, study=False)
            film(run, self.time, out, **self.shot)
        return ""

    def section(self, printed: str) -> str:
        data = library.read_yaml(library.path_of("scenarios", self.scenario))
        text = " ".join(str(data.get("description", "")).split())
        first = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)[0]
        sets = "".join(f" --set {key}={value}" for key, value in self.settings.items())
        return (
            f"\n## {self.scenario}\n\n{data['title']}. {first}\n\n"
            f"{picture_of(self.name, self.scenario)}"
            f"```\nmarsyard run {self.scenario}{sets}\n"
            f"marsyard view runs/{self.name}\n```\n\n"
            f"<details>\n<summary>{self.scenario}.yaml</summary>\n\n"
            f"```yaml\n{self.code.rstrip()}\n```\n\n</details>\n"
        )


SHOWN: tuple[Example | Shown, ...] = (
    Shown("rt0448/test-7", 15.0),
    Shown("roburoc/stairs", 12.0),
    Shown("tracked/step", 5.0),
    Shown("walker/slope", 6.0),
    Shown("marsokhod/peristaltic", 30.0),
    Shown("hylos/modes", 45.0),
    Example("drop_test"),
    Example("drive_by_hand"),
    Example("branch_a_run", branch),
    Example("sweep_friction", file_of("slide.png"), ("slide.png",)),
    Example("friction_problem", friction),
    Example("drive_on_soil"),
    Example("soil_by_place", rut),
    Example("compare_rovers", rovers),
    Example("own_robot"),
    Example("own_terrain", file_of("ground/*.png")),
    Example("own_modules"),
    Example("follow_a_path"),
    Example("drive_a_sequence"),
    Example("learn_to_climb_out", instead="learning-hollow.png"),
)


def shown() -> tuple[Example | Shown, ...]:
    """All of it: what is listed above, and every other script of examples/."""
    listed = {one.name for one in SHOWN}
    others = [path.stem for path in sorted(EXAMPLES.glob("*.py")) if path.stem not in listed]
    return (*SHOWN, *(Example(name, any_picture) for name in others))


# --- stamps


def stamp_of(one: Example | Shown) -> str:
    return stamp(one.code, one.drawn_by())


def kept() -> dict[str, dict[str, str]]:
    return json.loads(STAMPS.read_text(encoding="utf-8")) if STAMPS.exists() else {}


def stale() -> list[str]:
    """Names of what must be drawn again."""
    have = kept()
    return [
        one.name
        for one in shown()
        if have.get(one.name, {}).get("stamp") != stamp_of(one) or needs_picture(one)
    ]


def needs_picture(one: Example | Shown) -> bool:
    """Whether a picture is missing; examples that are not listed may have none."""
    there = (PICTURES / f"{one.name}.png").exists()
    if isinstance(one, Example) and (one.instead or one.draw is any_picture):
        return False
    return not there


def page() -> str:
    """The page, from the sources and what was kept."""
    have = kept()
    done = [one for one in shown() if one.name in have]
    return HEAD + "".join(one.section(have[one.name]["printed"]) for one in done)


def main(names: list[str]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    todo = [] if names == ["--page"] else names or stale()
    known = {one.name for one in shown()}
    for one in shown():
        if one.name in todo:
            print(one.name, flush=True)
            printed = one.make(PICTURES / f"{one.name}.png")
            have = kept() | {one.name: {"stamp": stamp_of(one), "printed": printed}}
            have = {name: have[name] for name in sorted(have) if name in known}
            STAMPS.write_text(
                json.dumps(have, indent=1, ensure_ascii=False) + "\n",
                encoding="utf-8",
            )
    (HERE / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
