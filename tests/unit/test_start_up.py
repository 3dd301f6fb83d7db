"""Heavy packages load when something needs them, and not before."""

import gc
import json
import subprocess
import sys

import pytest

from marsyard.lazy import gc_paused

#: of xarray and beyond: nothing that moves a rover needs them
DATA = {"xarray", "pandas", "dask", "distributed", "h5py", "h5netcdf", "pyarrow"}
DRAWING = {"matplotlib", "PIL", "viser", "trimesh", "av"}
TERMINAL = {"typer", "rich"}


def loaded(code: str) -> list[set[str]]:
    """Packages loaded in a fresh interpreter, whenever `code` calls tell()."""
    told = (
        "import json, sys\n"
        "def tell(*_):\n"
        "    print('loaded', json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", told + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    return [set(json.loads(line.removeprefix("loaded "))) for line in lines]


@pytest.mark.parametrize(
    "code, unwanted",
    [
        ("import marsyard", {"numpy", "numba", "mujoco", "pydantic", *DATA, *DRAWING, *TERMINAL}),
        ("import marsyard.cli", {"numpy", "numba", "mujoco", "pydantic", *DATA, *DRAWING, "rich"}),
        ("import marsyard.scenario", {"numba", "mujoco", *DATA, *DRAWING, *TERMINAL}),
        ("from marsyard.simulation import Simulation", {*DATA, *DRAWING, *TERMINAL}),
    ],
)
def test_imports_stay_small(code: str, unwanted: set[str]) -> None:
    (after,) = loaded(f"{code}\ntell()")
    assert not after & unwanted


def test_a_run_draws_after_its_checks_and_needs_no_cluster(tmp_path) -> None:
    """xarray brings pandas, and dask where it is installed; the rest waits for its use."""
    folder = tmp_path / "run"
    before, after = loaded(
        "import marsyard\n"
        f"marsyard.run('rt0448/test-1', duration=0.01, out={str(folder)!r}, checked=tell)\ntell()"
    )
    assert not before & {*DRAWING, "h5netcdf"}
    assert not after & {"distributed", "viser", "trimesh", "av"}
    assert (folder / "report.html").exists()


COLLECTIONS = """
import gc, json, sys
import marsyard.lazy  # what the import itself needs
seen = []
gc.collect()
gc.callbacks.append(lambda phase, info: seen.append(phase))
import marsyard.simulation
during = len(seen)
kept = [[] for _ in range(10_000)]
print(json.dumps([during, len(seen), gc.get_freeze_count()]))
"""


def test_imports_without_garbage_collection() -> None:
    """What was imported is not looked through, then collection goes on."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTIONS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    during, after, frozen = json.loads(done.stdout)
    assert (during, frozen) == (0, 0) and after > 0


def test_gc_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
