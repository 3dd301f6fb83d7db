"""What users run first, so that a wheel can bring the kernels it takes.

    python release/first_runs.py compile [GROUP …]
    python release/first_runs.py collect FOLDER [GROUP …]

`compile` does it all once and leaves the kernels in Numba's cache. `collect` does it again: what is
then loaded from the cache is what a user needs, and is copied to a folder. A kernel that compiles
again could not be cached, and is an error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

import marsyard
from marsyard import library
from marsyard.jit import Callback, Kernel
from marsyard.kernel_cache import MANIFEST, KernelCache, built_here


def engine() -> None:
    """The loop, the solver, the geometry and all laws."""
    from marsyard.simulation import compile_kernels

    compile_kernels()


def scenarios() -> None:
    """Every scenario of the library, until the first record."""
    from marsyard.scenario import load_scenario

    for name in library.names("scenarios"):
        begun = load_scenario(name).run.record_period
        marsyard.run(name, duration=begun, study=False, yes=True)


def reports() -> None:
    """A report on hard ground, one on soil, and one on compliant surfaces."""
    from marsyard.scenario import load_scenario

    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(("rt0448/test-7", "exomars/rocks-and-sand", "compliant/hold")):
            begun = load_scenario(name).run.record_period
            marsyard.run(name, duration=begun, study=False, out=Path(folder) / str(k))


def questions() -> None:
    """What laws would do, where soil lies, and the control of a scenario as a box."""
    from marsyard.modules import ScenarioControl
    from marsyard.scenario import load_scenario
    from marsyard.simulation import Simulation

    simulation = Simulation(load_scenario("exomars/drawbar-pull"))
    simulation.evaluate_laws(0.0, 1.0)
    simulation.world.soil.grid.height(0.0, 0.0)
    box = ScenarioControl(load_scenario("rt0448/test-4"))
    marsyard.run("rt0448/test-4", duration=0.02, control=box)


def grounds() -> None:
    """Every ground of the library and a mesh, as `marsyard ground` looks at them."""
    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.scenario import load_terrain

    with tempfile.TemporaryDirectory() as folder:
        mesh = Path(folder) / "square.obj"
        mesh.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
        for name in (*library.names("grounds"), mesh):
            survey(build_terrain(*load_terrain(name)), spacing=0.5)


def maps() -> None:
    """Traction maps."""
    from marsyard.analysis.traction_map import compile_map_kernels

    compile_map_kernels()


def wheels() -> None:
    """Wheel models, asked directly."""
    from marsyard.interaction.wheel_models import Exit, Wheel, WheelModel

    model = WheelModel("rigid_slip", Wheel(0.1, 0.1, Exit("angle", 0.0)), None, {"friction": 0.5})
    model.under_load(1.0)


def friction() -> None:
    """Problems of friction and contact, asked directly."""
    from marsyard.interaction.nonsmooth import (
        friction_contact_residual,
        one_contact,
        solve_friction_contact,
    )

    W, q, mu = np.eye(3), np.array([-1.0, 0.5, 0.0]), np.array([0.5])
    friction_contact_residual(W, q, mu, solve_friction_contact(W, q, mu).impulse)
    one_contact(W, q, 0.5)


#: what there is, in the order in which it is done
GROUPS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (engine, maps, grounds, wheels, friction, scenarios, reports, questions)
}


class _Compiled(event.Listener):
    """Names of the kernels that compile in this process."""

    def __init__(self) -> None:
        self.names: list[str] = []
        event.register("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """A kernel begins."""
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__name__}")

    def on_end(self, event: Any) -> None:
        """It ends."""


def loaded() -> Iterator[tuple[KernelCache, Any]]:
    """Cache and signature of every kernel that this process has loaded from its cache."""
    modules = [module for name, module in sys.modules.items() if name.startswith("marsyard.")]
    values = {id(value): value for module in modules for value in vars(module).values()}
    for value in values.values():
        if isinstance(value, Kernel):
            value = vars(value).get("compiled")  # if Python has called it
        if isinstance(value, Callback) and value._made.cache_hits:
            yield value._made._cache, value._made._sig
        elif isinstance(value, Dispatcher) and isinstance(value._cache, KernelCache):
            for signature in value.stats.cache_hits:
                yield value._cache, signature


def collect(folder: Path) -> int:
    """Copy what was loaded to a folder of kernels to be brought along; returns how many."""
    codegen, count = cpu_target.target_context.codegen(), 0
    for cache, signature in loaded():
        file = cache.file_in(folder)
        if file is None:
            continue
        key = cache._index_key(signature, codegen)
        library, described, env, own, mode, lifted, _, init, envs = cache._cache_file.load(key)
        Path(file._cache_path).mkdir(parents=True, exist_ok=True)
        # without the annotated source, which is for inspection and names files of this machine
        file.save(key, (library, described, env, own, mode, lifted, "", init, envs))
        count += 1
    (folder / MANIFEST).write_text(json.dumps(built_here()._asdict(), indent=1), encoding="utf-8")
    return count


def main(what: str, *arguments: str) -> None:
    """Compile, or collect."""
    folder, groups = (Path(arguments[0]), arguments[1:]) if what == "collect" else (None, arguments)
    compiled = _Compiled()
    for name in groups or GROUPS:
        print(f"{what} {name}", flush=True)
        GROUPS[name]()
    if folder is None:
        return
    if compiled.names:
        sys.exit(f"not kept in the cache: {', '.join(sorted({*compiled.names}))}")
    print(f"{collect(folder)} kernels")


if __name__ == "__main__":
    main(*sys.argv[1:])
