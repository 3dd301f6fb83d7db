"""Wheels with compiled kernels, as `make wheel` builds them: installed, nothing compiles.

Every time a wheel with the few kernels of terrains, which compile in seconds; with `make soak` the
whole one, in an empty environment with all that it needs.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import numba
import pytest

ROOT = Path(__file__).parents[2]
HEIGHTS = """
import marsyard, numpy
from marsyard.ground.terrain import build_terrain
from marsyard.kernel_cache import unfit
from marsyard.scenario import load_terrain
x = numpy.linspace(-2, 2, 1000)
height = build_terrain(*load_terrain("rocks_sparse")).height(x, numpy.zeros(1000))
print(marsyard.__file__, height.max(), unfit(), sep="\\n")
"""
#: until the run is simulated and checked, before figures are drawn
FIRST_RUN = "import marsyard; marsyard.run('rt0448/test-1', duration=0.05, checked=print)"
#: hard ground, soil, compliant surfaces, polygonal contact, columns of soil
SCENARIOS = (
    "rt0448/test-1", "exomars/rocks-and-sand", "compliant/hold", "docking/smart-olev",
    "soil/columns-wheel",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not runpy.run_path(str(ROOT / "release" / "make_wheel.py"))["can_make"](),
    reason="wheels are made on Linux with a processor of level x86-64-v3",
)


def built(folder: Path, *groups: str) -> Path:
    """A wheel with the kernels of some groups, or of all."""
    script = str(ROOT / "release" / "make_wheel.py")
    called(sys.executable, script, "--out", str(folder), *groups)
    (wheel,) = folder.glob("*.whl")
    return wheel


def called(*command: str, home: Path | None = None, **more: str) -> str:
    """What a command prints; it has no other marsyard, and has a home of its own."""
    known = ("NUMBA_", "PYTHONPATH", "XDG_CACHE_HOME")
    where = {k: v for k, v in os.environ.items() if not k.startswith(known)} | more
    if home is not None:
        where |= {"HOME": str(home)}
    done = subprocess.run(
        command, env=where, cwd=home, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Environment:
    """A virtual environment with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder.parent / f"home-of-{folder.name}"
        self.home.mkdir()
        called(sys.executable, "-m", "venv", "--without-pip", str(folder))
        (self.packages,) = folder.glob("lib/python*/site-packages")

    def install(self, wheel: Path, *options: str) -> None:
        pip = (sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python"))
        called(*pip, "--disable-pip-version-check", "install", "--quiet", *options, str(wheel))

    def run(self, program: str, *arguments: str) -> str:
        return called(str(self.folder / "bin" / program), *arguments, home=self.home)

    def compiled(self) -> list[str]:
        """Kernels that were compiled here: not brought along."""
        found = [*self.packages.rglob("*.nbi"), *self.home.rglob("*.nbi")]
        return sorted(str(p) for p in found if self.brought not in p.parents)

    @property
    def brought(self) -> Path:
        return self.packages / "marsyard" / "compiled"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("dist"), "grounds")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Environment:
    """The wheel in an empty environment, which takes what it needs from the one of the tests."""
    made = Environment(tmp_path_factory.mktemp("wheel") / "environment")
    (made.packages / "needed.pth").write_text(f"{Path(numba.__file__).parents[1]}\n")
    made.install(wheel, "--no-deps", "--no-index", "--no-compile")
    return made


def test_its_name_says_for_which_python_and_platform(wheel) -> None:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.fullmatch(
        rf"marsyard-[^-]+-{python}-{python}-[^-]*linux[^-]*_x86_64\.whl", wheel.name
    )


def test_it_lists_its_files_and_asks_for_the_numba_that_compiled(wheel) -> None:
    with ZipFile(wheel) as files:
        names = files.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(files.read(record).decode().splitlines()))
        for name, digest, size in rows:
            data = files.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert name == record or (digest, size) == (f"sha256={found}", str(len(data)))
        metadata = files.read(record.replace("RECORD", "METADATA")).decode()
    assert sorted(names) == sorted(row[0] for row in rows)
    assert f"Requires-Dist: numba<={numba.__version__}\n" in metadata
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"marsyard"}
    kernels = [name for name in names if name.endswith((".nbi", ".nbc"))]
    assert kernels and all(name.startswith("marsyard/compiled/ground/") for name in kernels)


def test_where_it_is_installed_nothing_compiles(installed) -> None:
    where, _, why = installed.run("python", "-c", HEIGHTS).split("\n")[:3]
    assert Path(where).is_relative_to(installed.packages) and not why
    assert not installed.compiled()


def test_where_its_kernels_do_not_fit_they_compile_in_the_home(installed) -> None:
    """Another numba than that of the build, and a package that may not be written to."""
    manifest = installed.brought / "built.json"
    before, terrain = manifest.read_text(), installed.packages / "marsyard" / "ground" / "terrain"
    _, fast, _ = installed.run("python", "-c", HEIGHTS).split("\n")[:3]
    try:
        manifest.write_text(json.dumps(json.loads(before) | {"numba": "0.1.2"}))
        # a file in the place of the folder: no cache can be written there, not even by root
        for cache in installed.packages.glob("marsyard/ground/terrain/__pycache__"):
            cache.rename(cache.with_name("bytecode"))
        (terrain / "__pycache__").touch()
        _, slow, why = installed.run("python", "-c", HEIGHTS).split("\n")[:3]
    finally:
        manifest.write_text(before)
        (terrain / "__pycache__").unlink()
    assert "numba 0.1.2" in why and f"numba {numba.__version__}" in why
    assert float(slow) == pytest.approx(float(fast), abs=1e-12)
    found = installed.compiled()
    assert found and all(path.startswith(str(installed.home)) for path in found)


@pytest.mark.soak
def test_the_first_run_in_an_empty_environment_starts_in_seconds(tmp_path) -> None:
    """All kernels, all that marsyard needs from a package index, and nothing compiles."""
    whole = built(tmp_path / "dist")
    empty = Environment(tmp_path / "environment")
    empty.install(whole)
    start = time.perf_counter()
    empty.run("python", "-c", FIRST_RUN)
    taken = time.perf_counter() - start
    print(f"{whole.name}: {whole.stat().st_size / 1e6:.1f} MB; first run {taken:.1f} s")
    for name in SCENARIOS:
        told = empty.run("marsyard", "run", name, "--set", "run.duration=1", "--no-study")
        assert "compiling" not in told, name
    empty.run("marsyard", "ground", "rocks_pathfinder", "--size", "4m")
    assert not empty.compiled()
    assert taken < 5.0
