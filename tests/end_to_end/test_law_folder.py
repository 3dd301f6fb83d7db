"""A law is one folder: three that are added beside marsyard's own are found everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import marsyard

ROOT = Path(marsyard.__file__).parents[1]

#: a law of hard ground: a spring and damper between the centre of each wheel and the plane z = 0
CUSHIONS = {
    "about": """
from marsyard.interaction.about import HARD, About, Guide

GUIDE = Guide("air", "loads", "friction", "stiffness", "–", "a test", "small depths")
LAWS = (
    About("cushions", HARD, "springs under wheels", "springs under wheels, no friction",
          guide=GUIDE),
)
""",
    "options": '''
from typing import Annotated

from pydantic import Field

from marsyard.interaction.options import Group, LawOptions
from marsyard.units import Number


class Cushions(LawOptions):
    """Springs under the wheels (law cushions)."""

    stiffness: Annotated[Number, Field(gt=0)] = Field(2e4, description="k [N/m]")
    damping: Annotated[Number, Field(ge=0)] = Field(2e3, description="c [N·s/m]")


OPTIONS = (Group("cushions", Cushions, "numbers of the law cushions"),)
''',
    "kernels": """
from typing import NamedTuple

from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import Kernels
from marsyard.jit import F1, by_reference, law_callback


@by_reference
class Arrays(NamedTuple):
    numbers: F1  # k, c
    radius: F1
    depth: F1


@law_callback(Attachments, Arrays)
def evaluate(A, L, time, h, theta, flag):
    k, c = L.numbers[0], L.numbers[1]
    for n in range(L.radius.shape[0]):
        depth = L.radius[n] - A.point[n, 2]
        L.depth[n] = max(depth, 0.0)
        if depth > 0.0:
            A.active[n] = 1
            A.F[n, 2] = k * (depth - (2.0 * theta - 1.0) * h * A.V[n, 2]) - c * A.V[n, 2]
            A.B[n, 2, 2] = theta * c + theta * theta * h * k
    return 0


kernels = Kernels(evaluate=evaluate)
""",
    "world": """
import numpy as np

from marsyard.interaction.cushions.kernels import Arrays, kernels
from marsyard.interaction.cushions.options import Cushions
from marsyard.interaction.law import PRESENT, Column, Law
from marsyard.interaction.place import Place


class CushionLaw(Law):
    name = "cushions"
    title = "Cushions"
    kernels = kernels

    def __init__(self, place: Place) -> None:
        options = place.scenario.interaction.options(Cushions)
        found = self.wheels(place)
        self.attachments = [attachment for _, attachment in found]
        radius = np.array([wheel.radius for wheel, _ in found])
        numbers = np.array([options.stiffness, options.damping])
        self.arrays = Arrays(numbers, radius, np.zeros(len(found)))

    def wheels(self, place):
        return place.other_wheels()

    def columns(self):
        depth = self.arrays.depth
        return (Column("depth", depth, PRESENT, "m", "how deep the cushion is pressed"),)

    def acted(self):
        return [("stiffness of cushions", float(self.arrays.numbers[0]), "N/m")]


def build_law(place):
    return CushionLaw(place) if place.scenario.interaction.law == "cushions" else None
""",
}
#: a soil model that says of itself what there is to say before it acts
GRAVEL = {
    "about": """
from marsyard.interaction.about import SOIL, About

LAWS = (About("gravel", SOIL, "loose stones", "stones that roll"),)
""",
    "options": '''
from pydantic import Field

from marsyard.interaction.options import Group, LawOptions


class Gravel(LawOptions):
    """Loose stones: options of `model: gravel`."""

    stones: int = Field(100, description="in a litre")


OPTIONS = (Group("gravel", Gravel, "options of gravel"),)
''',
}
#: a wheel model that is a law of its own: the same springs, under the wheels that it is given
CASTERS = {
    "about": """
from marsyard.interaction.about import WHEEL, About

LAWS = (About("casters", WHEEL, "wheels on springs", "wheels that roll freely on springs"),)
""",
    "world": """
from marsyard.interaction.cushions.kernels import kernels
from marsyard.interaction.cushions.world import CushionLaw


class CasterLaw(CushionLaw):
    name = "casters"

    def wheels(self, place):
        return place.wheels()


def build_law(place):
    wheel = place.scenario.interaction.wheel
    return CasterLaw(place) if wheel is not None and wheel.model == "casters" else None
""",
}
#: run by every interpreter: the folder with the laws lies beside those of marsyard
START = """
import marsyard.interaction

marsyard.interaction.__path__.append({!r})
"""


@pytest.fixture(scope="module")
def laws(tmp_path_factory) -> Path:
    """A folder with three laws, and what makes interpreters see it."""
    base = tmp_path_factory.mktemp("laws")
    for name, files in (("cushions", CUSHIONS), ("gravel", GRAVEL), ("casters", CASTERS)):
        folder = base / "laws" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        for file, text in files.items():
            (folder / f"{file}.py").write_text(text, encoding="utf-8")
    (base / "sitecustomize.py").write_text(START.format(str(base / "laws")), encoding="utf-8")
    return base


def python(laws: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(laws), str(ROOT), str(ROOT / "docs")])
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path}, cwd=laws,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def command(laws: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(laws, "-m", "marsyard", *arguments)


def test_it_is_listed(laws):
    done = command(laws, "list", "laws")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "cushions springs under wheels [interaction.law]" in lines
    assert "gravel loose stones [interaction.soil.model]" in lines
    assert "casters wheels on springs [interaction.wheel.model]" in lines


def test_the_schema_has_its_name_and_options(laws):
    done = command(laws, "show", "--schema", "rt0448/test-1")
    assert done.returncode == 0, done.stderr
    models = json.loads(done.stdout)["$defs"]
    assert "cushions" in models["Interaction"]["properties"]["law"]["enum"]
    assert models["Interaction"]["properties"]["cushions"]["description"]
    assert models["Cushions"]["properties"]["stiffness"]["default"] == 2e4
    assert "gravel" in models["SoilContact"]["properties"]["model"]["enum"]
    assert "gravel" in models["SoilContact"]["properties"]


def test_the_reference_has_a_chapter_of_it(laws):
    done = python(laws, "-c", "import make_reference; print(make_reference.page())")
    assert done.returncode == 0, done.stderr
    assert "## `interaction.cushions`" in done.stdout and "| k [N/m] |" in done.stdout
    assert "## `interaction.soil.gravel`" in done.stdout and "| in a litre |" in done.stdout
    assert "cushions: springs under wheels, no friction" in done.stdout


def test_the_table_that_helps_to_choose_has_a_row_of_it(laws):
    done = python(laws, "-c", "import make_reference; print(make_reference.choosing())")
    assert done.returncode == 0, done.stderr
    row = "| `cushions` | air | loads | friction | stiffness | – | a test |"
    assert row in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["interaction.cushions.stifness=1"], "did you mean 'stiffness'?"),
        (["interaction.law=cushion"], "did you mean 'cushions'?"),
        (["interaction.soil.gravel.stone=1"], "did you mean 'stones'?"),
        (
            ["interaction.law=cushions", "run.integrator=semi_implicit"],
            "'semi_implicit' is MuJoCo's and does not support the cushions law; use moreau_jean",
        ),
    ],
)
def test_mistakes_are_one_sentence(laws, settings, said):
    sets = [part for each in settings for part in ("--set", each)]
    done = command(laws, "run", "rt0448/test-1", *sets)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


def test_it_runs_is_recorded_and_told(laws):
    done = command(
        laws, "run", "rt0448/test-1", "--out", "run", "--set", "interaction.law=cushions",
        "--set", "interaction.cushions.stiffness=1e4", "--set", "run.duration=1.0",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr  # checks are those of another law
    import xarray as xr

    with xr.open_dataset(laws / "run" / "results.nc") as data:
        depth, force = data.cushions_depth, data.cushions_force.sel(axis="z")
        assert depth.attrs["units"] == "m" and float(depth.max()) > 0
        assert float(force.values[-1].sum()) > 0
    page = (laws / "run" / "report.html").read_text(encoding="utf-8")
    assert "Cushions" in page and "stiffness of cushions" in page


def test_it_is_compared(laws):
    done = command(
        laws, "compare", "rt0448/test-1", "--laws", "nonsmooth,cushions", "--out", "both",
        "--set", "run.duration=0.1",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cushions" in done.stdout


def test_a_wheel_model_of_its_own_shares_a_rover_with_the_soil(laws):
    code = """
from marsyard import load_scenario
from marsyard.simulation import Simulation

wheels = ["FL", "FR"]
settings = {"interaction.wheel": {"model": "casters", "wheels": wheels}}
sim = Simulation(load_scenario("exomars/rough", settings))
sim.step(50)
print([law.name for law in sim.laws])
print([a.name for a in sim.laws[0].attachments], sorted(sim.world.soil.wheels))
"""
    done = python(laws, "-c", code)
    assert done.returncode == 0, done.stderr
    names, wheels = done.stdout.splitlines()
    assert names == "['casters', 'soil', 'soil_bed']"
    assert wheels.startswith("['FL', 'FR']")


def test_a_wheel_model_needs_no_other_law_of_soil(laws):
    """It works on the grid of the ground, whatever acts on other bodies there."""
    code = """
from marsyard import load_scenario
from marsyard.simulation import Simulation

sim = Simulation(load_scenario("wheel/pull", {"interaction.soil.model": "gravel"}))
sim.step(1000)
print([law.name for law in sim.laws], float(sim.dataset().wheel_load[-1, 0]) > 10.0)
"""
    done = python(laws, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['wheel_model', 'soil_bed'] True"
