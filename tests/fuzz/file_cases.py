"""Every kind of file that marsyard takes from a user: good ones, and how each is read.

`build_seeds(folder)` writes the good files. `KINDS` maps the name of a kind to its files and to the
function that does with one what the command line does, up to a long computation. A use either
accepts a file or raises `InputError`.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]

LIBRARY = REPOSITORY / "marsyard" / "library"
SCENARIOS = (
    "rt0448/test-1", "rt0448/test-7", "exomars/drawbar-pull", "control/goal", "control/path",
    "docking/smart-olev", "compliant/hold", "walker/flat", "marsokhod/rolling", "tracked/step",
    "soil/columns-heap", "exomars/rocks-and-sand", "modes/sandy-slope", "soil/wheel",
)  # fmt: skip


class Kind(NamedTuple):
    """Good files of one kind, relative to the folder of seeds, and what reads them.

    The mutated file stands at the place of the good one, in a copy of the folder `around` where
    others belong to it.
    """

    files: tuple[str, ...]
    use: Callable[[Path], Any]
    around: str = ""


# --- uses


def _scenario(path: Path) -> None:
    from marsyard.scenario import load_scenario
    from marsyard.simulation.world import build_world

    build_world(load_scenario(path))


def _extended(path: Path) -> None:
    (path.parent / "child.yaml").write_text(f"extends: {path.name}\n")
    _scenario(path.parent / "child.yaml")


def _setting(path: Path) -> None:
    from marsyard.scenario import load_scenario, parse_setting

    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    load_scenario("rt0448/test-1", dict([parse_setting(text)]))


def _robot(path: Path) -> None:
    from marsyard.robot import load_robot

    load_robot(str(path.parent)).compile()


def _import(path: Path) -> None:
    from marsyard.robot.importing import plan_import
    from marsyard.robot.robot_folder import write_robot
    from marsyard.robot.roles import Wish

    write_robot(plan_import(path, Wish()), path.parent / "out")


def _mesh_of_robot(path: Path) -> None:
    _import(path.parents[1] / "urdf" / "my_rover.urdf")


def _mesh_of_ground(path: Path) -> None:
    from marsyard.ground.triangle_mesh import read_mesh

    read_mesh(path)


def _terrain(path: Path) -> None:
    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.scenario import load_terrain

    spec, folder = load_terrain(str(path))
    survey(build_terrain(spec, folder), (4.0, 4.0), None, 0.1)


def _heights(path: Path) -> None:
    more = ", spacing: 0.1" if path.suffix in (".csv", ".npy", ".png") else ""
    more += ", heights: [0, 1]" if path.suffix == ".png" else ""
    (path.parent / "terrain.yaml").write_text(
        f"title: map\nlayers: [{{kind: file, file: {path.name}{more}}}]\n"
    )
    _terrain(path.parent / "terrain.yaml")


def _soil(path: Path) -> None:
    from marsyard.ground.soil import load_soil

    load_soil(str(path))


def _sweep(path: Path) -> None:
    from marsyard.campaign import prepared

    prepared(path, {})


def _optimize(path: Path) -> None:
    from marsyard.campaign.optimize import prepared

    prepared(path, {})


def _sequence(path: Path) -> None:
    from marsyard.operations import load_sequence

    load_sequence(path)


def _limits(path: Path) -> None:
    from marsyard.operations.validation.limits import read_limits

    read_limits(path)


def _uncertain(path: Path) -> None:
    from marsyard.operations.distributions import read_uncertain

    read_uncertain(path)


def _link(path: Path) -> None:
    from marsyard.cli.teleop import _named_link

    _named_link(str(path), {}, 0)


def _environment(path: Path) -> None:
    from marsyard.operations.editor import Environment

    Environment.open(str(path))


def _wheel_log(path: Path) -> None:
    from marsyard.analysis.options import parse_sizes
    from marsyard.analysis.wheel_files import read_wheel_data

    read_wheel_data(path, wheel=parse_sizes("radius=0.14m,width=0.1m"), load=150.0)


def _fit(path: Path) -> None:
    from marsyard.comparison.wheels import _read_fit

    _read_fit(str(path.parent))


@cache
def _simulation(soil: bool) -> Any:
    from marsyard import Simulation, load_scenario

    if soil:
        return Simulation(load_scenario("exomars/drawbar-pull", {"run.duration": "0.4 s"}))
    return Simulation(load_scenario("rt0448/test-1", {"run.duration": "0.4 s"}))


def _state(path: Path) -> None:
    from marsyard.errors import InputError
    from marsyard.simulation import Diverged
    from marsyard.simulation.state import State

    simulation = _simulation("soil" in path.name)
    before = simulation.state()
    try:
        simulation.restore(State.load(path))
        simulation.step(2)
    except Diverged:
        pass
    except InputError:
        # a refused state leaves the simulation as it was
        assert simulation.state().hash() == before.hash(), "a refused state changed the world"
        raise
    finally:
        simulation.restore(before)


def _results(path: Path) -> None:
    from marsyard.results import open_results, open_scene
    from marsyard.results.energy import energy_account

    open_results(path.parent)
    open_scene(path.parent)
    energy_account(open_results(path.parent))


def _export(path: Path) -> None:
    from marsyard.errors import InputError
    from marsyard.results.export import export

    out = path.parent / "made" / "export"
    try:
        export(path.parent, ["csv", "mcap"], out)
    except InputError:
        assert not out.parent.exists(), "a refusal left the folder of the export"
        raise


def _ground(path: Path) -> None:
    from marsyard.results.ground_file import load_ground

    ground = load_ground(path)
    repr(ground)
    ground.bounds()
    ground.window(-0.5, 0.5, -0.5, 0.5)


def _fmu(path: Path) -> None:
    from marsyard.control.fmu import FmuFile

    file = FmuFile(path)
    file.names("input")
    file.close()


def _bag(path: Path) -> None:
    from marsyard.results.bags import Topics, bag_scene

    bag_scene(path, "exomars", Topics.of(["odom=/rover/odometry", "joint_states=/rover/joints"]))


def _journal(path: Path) -> None:
    from marsyard.campaign.journal import Journal

    Journal.open(path).close()


KINDS = {
    "scenario": Kind(
        tuple(f"scenarios/{name.replace('/', '-')}.yaml" for name in SCENARIOS), _scenario
    ),
    "extended scenario": Kind(("scenarios/rt0448-test-1.yaml",), _extended),
    "setting": Kind(("setting.txt",), _setting),
    "robot.yaml": Kind(("rover/robot.yaml",), _robot, "rover"),
    "robot.xml": Kind(("rover/robot.xml",), _robot, "rover"),
    "urdf": Kind(("my_rover/urdf/my_rover.urdf", "urdf/rocker.urdf"), _import, "my_rover"),
    "mjcf": Kind(("rover/robot.xml",), _import),
    "mesh of a robot": Kind(("my_rover/meshes/wheel.stl",), _mesh_of_robot, "my_rover"),
    "mesh": Kind(("meshes/a.stl", "meshes/a.obj", "meshes/a.ply"), _mesh_of_ground),
    "terrain": Kind(tuple(f"grounds/{n}.yaml" for n in ("a", "b", "c", "d")), _terrain),
    "heights": Kind(
        tuple(f"heights/h.{e}" for e in ("csv", "xyz", "npy", "npz", "png", "tif", "asc")), _heights
    ),
    "soil": Kind(("soil.yaml",), _soil),
    "sweep": Kind(("sweep/climb.yaml", "sweep/pull.yaml"), _sweep),
    "optimize": Kind(("optimize/path.yaml",), _optimize, "optimize"),
    "sequence": Kind(("sequence.yaml",), _sequence),
    "limits": Kind(("validate/limits.yaml",), _limits),
    "uncertain": Kind(("validate/uncertain.yaml",), _uncertain),
    "link": Kind(("link.yaml",), _link),
    "environment": Kind(("scenarios/control-goal.yaml",), _environment),
    "wheel log": Kind(("wheel.csv", "log.csv"), _wheel_log),
    "fit": Kind(("fit/fit.json",), _fit, "fit"),
    "state": Kind(("state.npz", "soil-state.npz"), _state),
    "results": Kind(("run/results.nc", "run/model.mjb", "run/scenario.yaml"), _results, "run"),
    "export": Kind(("run/results.nc", "run/model.mjb"), _export, "run"),
    "ground": Kind(("run/ground.nc",), _ground, "run"),
    "fmu": Kind(("controller.fmu",), _fmu),
    "recording": Kind(("drive.mcap",), _bag),
    "journal": Kind(("journal.bin",), _journal),
}


# --- good files


def build_seeds(folder: Path) -> None:
    """Write the good files."""
    from marsyard import library

    for name in SCENARIOS:
        target = folder / "scenarios" / f"{name.replace('/', '-')}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library.path_of("scenarios", name), target)
    (folder / "setting.txt").write_text("run.duration=0.5 s")
    shutil.copytree(LIBRARY / "rovers" / "exomars", folder / "rover")
    _write_robots(folder)
    _write_heights(folder / "heights")
    grounds = ("rocks_pathfinder", "fractal_mild", *library.names("grounds")[:2])
    (folder / "grounds").mkdir()
    for letter, name in zip("abcd", grounds, strict=True):
        shutil.copy(library.path_of("grounds", name), folder / "grounds" / f"{letter}.yaml")
    shutil.copy(library.path_of("soils", library.names("soils")[0]), folder / "soil.yaml")
    for part in ("sweep", "optimize", "validate"):
        shutil.copytree(REPOSITORY / "examples" / part, folder / part)
    shutil.copy(REPOSITORY / "examples" / "sequence.yaml", folder)
    (folder / "link.yaml").write_text("preset: moon\nup: {latency: 1.3 s, loss: 0.01}\n")
    _write_logs(folder)
    _write_runs(folder)


def _write_robots(folder: Path) -> None:
    import robot_files
    import trimesh

    robot_files.four_wheeler(folder)
    (folder / "urdf").mkdir()
    shutil.move(robot_files.rocker_bogie(folder), folder / "urdf" / "rocker.urdf")
    (folder / "meshes").mkdir()
    ball = trimesh.creation.icosphere(2)
    for kind in ("stl", "obj", "ply"):
        ball.export(folder / "meshes" / f"a.{kind}")


def _write_heights(folder: Path) -> None:
    import rasterio
    from PIL import Image

    folder.mkdir()
    x, y = np.meshgrid(np.arange(24) * 0.1, np.arange(20) * 0.1)
    z = np.sin(x) * y
    np.savetxt(folder / "h.csv", z, delimiter=",")
    np.savetxt(folder / "h.xyz", np.column_stack([x.ravel(), y.ravel(), z.ravel()]))
    np.save(folder / "h.npy", z)
    np.savez_compressed(folder / "h.npz", x=x, y=y, z=z)
    Image.fromarray((50 + 100 * z).astype(np.uint8)).save(folder / "h.png")
    np.savetxt(
        folder / "h.asc", z, comments="",
        header="ncols 24\nnrows 20\nxllcorner 0\nyllcorner 0\ncellsize 0.1\nNODATA_value -9999",
    )  # fmt: skip
    with rasterio.open(
        folder / "h.tif", "w", driver="GTiff", width=24, height=20, count=1, dtype="float32",
        transform=rasterio.transform.from_origin(0, 2, 0.1, 0.1), crs="EPSG:32633",
    ) as file:  # fmt: skip
        file.write(z.astype(np.float32), 1)


def _write_logs(folder: Path) -> None:
    slips = np.linspace(0, 0.8, 20)
    rows = "\n".join(f"{s:.3f},{80 * s:.2f},{10 + 5 * s:.2f},{20 * s + 5:.1f}" for s in slips)
    (folder / "wheel.csv").write_text(
        f"# a wheel of our own\nslip [1],drawbar pull [N],torque [Nm],sinkage [mm]\n{rows}\n"
    )
    rows = "\n".join(f"{t / 10};{0.1 + 0.01 * t};{t};{150}" for t in range(60))
    (folder / "log.csv").write_text(f"time [s];slip;drawbar pull [N];load [N]\n{rows}\n")
    (folder / "fit").mkdir()
    (folder / "fit" / "fit.json").write_text(
        '{"model": "ding", "coefficients": {}, "wheels": [{"radius": 0.14, "width": 0.1}], '
        '"sinkage_offset": 0.0}'
    )


def _write_runs(folder: Path) -> None:
    from fmu_files import example_fmu
    from rover_bag import write_rover_bag

    from marsyard.campaign.journal import Journal

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write_run(folder / "run")
        for soil, name in ((False, "state.npz"), (True, "soil-state.npz")):
            simulation = _simulation(soil)
            simulation.step(20)
            simulation.state().save(folder / name)
    example_fmu("speed_controller", folder)
    next(folder.glob("*.fmu")).rename(folder / "controller.fmu")
    write_rover_bag(folder / "drive.mcap", range(6))
    journal = Journal.create(folder / "journal.bin", {"kind": "sweep"})
    journal.append({"member": k, "value": k / 3} for k in range(5))
    journal.close()


def _write_run(folder: Path) -> None:
    """A run's folder, without its report."""
    import mujoco

    from marsyard import Simulation, load_scenario
    from marsyard.results import ground_of, save, save_ground
    from marsyard.scenario import dump

    folder.mkdir()
    scenario = load_scenario("soil/wheel", {"run.duration": "0.3 s"})
    scenario = scenario.model_copy(update={"study": None})
    simulation = Simulation(scenario).run()
    save(simulation.dataset(), folder)
    ground = ground_of(simulation)
    assert ground is not None
    save_ground(ground, folder)
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"), None)
    (folder / "scenario.yaml").write_text(dump(scenario), encoding="utf-8")
