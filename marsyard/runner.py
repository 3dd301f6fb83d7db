"""Run a scenario and keep what it gives: the whole job behind `marsyard run` and `marsyard.run`.

A run folder holds

    results.nc       everything recorded, labelled (NetCDF)
    scenario.yaml    the scenario as resolved, in SI
    model.mjb        the compiled model, for the replay
    figures/*.png
    report.html      one self-contained page

It is written beside its place and moved there when complete, so that nothing half-written is left.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.errors import InputError, suggest

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.results import CheckResult
    from marsyard.scenario import Scenario

Say = Callable[[str], Any]
_OWN = ("results.nc", "scenario.yaml", "model.mjb", "figures", "report.html")
Progress = Callable[[float], Any]


@dataclass(frozen=True)
class Run:
    """A finished run: its data, checks and folder (None if nothing was kept on disk)."""

    name: str
    scenario: Scenario
    data: xr.Dataset
    checks: list[CheckResult]
    folder: Path | None
    info: Mapping[str, Any] = field(default_factory=dict)
    stopped: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    @property
    def ok(self) -> bool:
        """The run went through and every check passed."""
        return self.stopped is None and all(c.ok for c in self.checks)


def run(
    scenario: str | Path | Scenario,
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    **short: Any,
) -> Run:
    """Run a scenario; with `out` also write a run folder.

    `settings` maps dotted paths to values ({"interaction.friction": 0.6}); `short` takes the last
    part alone where it is unambiguous (friction=0.6, duration=5). `say` gets a line about each
    stage, `progress` the simulated time [s].

        marsyard.run("rt0448/test-1", friction=0.6, out="runs/slippery").report
    """
    from marsyard.scenario import Scenario, load_scenario

    say = say or (lambda text: None)
    overrides = {**(settings or {}), **{_full_path(k): v for k, v in short.items()}}
    if isinstance(scenario, Scenario):
        if overrides:
            raise InputError("settings: apply to a scenario given by name, not to an object")
        name, resolved = scenario.title or "scenario", scenario
    else:
        name, resolved = str(scenario), load_scenario(scenario, overrides)
    target = None if out is None else Path(out)
    made: list[Path] = []
    staging = None if target is None else _staging_folder(target, made)
    try:
        return _run(name, resolved, overrides, target, staging, say, progress)
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
            # a run that could not start leaves no folders behind
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _run(
    name: str,
    scenario: Scenario,
    overrides: Mapping[str, Any],
    target: Path | None,
    staging: Path | None,
    say: Say,
    progress: Progress | None,
) -> Run:
    from marsyard.simulation import Diverged, Simulation

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation = Simulation(scenario, say=say)
        simulation.warm_up()
    heard = tuple(dict.fromkeys(str(w.message) for w in caught))
    for text in heard:
        say(f"warning: {text}")
    started = time.strftime("%Y-%m-%d %H:%M:%S")
    stopped = None
    try:
        simulation.run(progress)
    except Diverged as error:
        stopped = str(error)
    data = simulation.dataset()
    data.attrs["scenario"] = name

    from marsyard.results import evaluate_all

    checks = evaluate_all(data, scenario.report.checks)
    info = {
        "scenario": name,
        "overrides": [f"{k}={v}" for k, v in overrides.items()],
        "steps": simulation.steps,
        "wall_time": simulation.wall_time,
        "compile_time": simulation.compile_time,
        "started": started,
        "versions": versions(),
        "stopped": stopped,
        "warnings": heard,
    }
    if staging is not None and target is not None:
        say("drawing figures and writing the report …")
        _write(staging, simulation, scenario, data, checks, info)
        _move(staging, target)
    return Run(name, scenario, data, checks, target, info, stopped, heard)


def versions() -> dict[str, str]:
    """What was running: package versions, Python and platform."""
    from importlib.metadata import version

    packages = ("marsyard", "mujoco", "numba", "numpy", "xarray")
    out = {p: version(p) for p in packages}
    out["python"] = platform.python_version()
    out["platform"] = f"{sys.platform} {platform.machine()}"
    return out


def default_folder(name: str) -> Path:
    """Where a run goes when no folder is named: runs/<scenario>, slashes made dashes."""
    stem = Path(name).stem if name.endswith((".yaml", ".yml")) else name
    return Path("runs") / stem.replace("/", "-")


# --- writing


def _write(
    folder: Path, simulation: Any, scenario: Scenario, data: Any, checks: Any, info: Any
) -> None:
    import mujoco

    from marsyard.results import save, save_figures, write_report
    from marsyard.scenario import dump

    save(data, folder / "results.nc")
    (folder / "scenario.yaml").write_text(dump(scenario), encoding="utf-8")
    mujoco.mj_saveModel(simulation.model, str(folder / "model.mjb"))
    figures = save_figures(data, scenario.report.figures, folder / "figures")
    write_report(folder, data, scenario, checks, figures, info)


def _staging_folder(target: Path, made: list[Path]) -> Path:
    """An empty folder beside the target; refuses a target that is no run folder or not writable.

    Folders above the target that are missing are made, and noted in `made`.
    """
    try:
        if target.exists():
            if not target.is_dir():
                raise InputError(f"--out: '{target}' is a file; give a folder")
            if any(target.iterdir()) and not (target / "results.nc").exists():
                raise InputError(
                    f"--out: '{target}' holds other files; give a new folder or an earlier run's"
                )
            if not os.access(target, os.W_OK):
                raise InputError(f"--out: '{target}' cannot be written; give a folder that can")
        made += [p for p in target.parents if not p.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InputError(
            f"--out: '{target}' cannot be written ({error.strerror}); give a folder that can"
        ) from None


def _move(staging: Path, target: Path) -> None:
    staging.chmod(0o755)
    if target.exists():
        # what somebody else put into the folder stays there
        for item in target.iterdir():
            if item.name not in _OWN:
                os.rename(item, staging / item.name)
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
        os.rename(target, old / "run")
        os.rename(staging, target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(staging, target)


# --- short names


def _full_path(key: str) -> str:
    """'friction' → 'interaction.friction'; dotted keys stay."""
    from marsyard.scenario import Scenario

    if "." in key or key in Scenario.model_fields:
        return key
    places: dict[str, str] = {}
    for part in ("robot", "interaction", "run"):
        for name in Scenario.model_fields[part].annotation.model_fields:  # type: ignore[union-attr]
            places.setdefault(name, f"{part}.{name}")
    if key not in places:
        valid = [*places, *Scenario.model_fields]
        raise InputError(f"unknown setting '{key}'; {suggest(key, valid)}")
    return places[key]
