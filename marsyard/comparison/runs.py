"""The same drive under several laws, or with several settings: `marsyard compare SCENARIO`.

The folder of a comparison holds

    compare.csv      a row per law: distance, slip, sinkage, torque, energy, checks, speed
    compare.nc       what the laws recorded, along the dimension `law`
    scenario.yaml    the scenario that was compared, as it stands
    figures/*.png, report.html
    laws/NAME/       the run folder of each law: its own report, results.nc, replay
    ground/          meshes of rough terrain, for laws of rigid contact

Of a study the same study is run under each law; its outputs are overlaid against its axis, and the
folders under laws/ are those of the studies. A second axis of the study (`also`) is ignored: the
laws are the curves.

Each run is that of `marsyard run` with the law's settings, bit for bit.
"""

from __future__ import annotations

import copy
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marsyard.comparison.laws import Variant, known_laws, scenario_under, variants_of
from marsyard.cores import job_count
from marsyard.errors import InputError
from marsyard.run_folder import INPUTS, written_whole
from marsyard.scenario import Scenario, apply_setting, resolve, scenario_data, validate
from marsyard.scenario.short_names import full_paths
from marsyard.single_run import Progress, Run, Say, simulate, versions

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.analysis.wheel_data import WheelData


@dataclass(frozen=True)
class Side:
    """One law of a comparison: its run (or study), settings and folder."""

    variant: Variant
    changes: Mapping[str, Any]
    run: Run
    folder: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.variant.name


def _few_numbers(numbers: Mapping[str, Any], most: int = 6) -> str:
    """The first numbers of a summary, by name."""
    found = [(k, v) for k, v in numbers.items() if isinstance(v, int | float)]
    return ", ".join(f"{name} {value:.4g}" for name, value in found[:most])


@dataclass(frozen=True)
class Comparison:
    """A finished comparison.

    sides: a `Side` per law, in the order asked for. data: all of them along `law`.
    summary: the numbers of each law by name, SI.
    measured: wheel tests beside a study of slip; rms: by law and output, in the output's unit.
    """

    name: str
    scenario: Scenario
    sides: tuple[Side, ...]
    data: xr.Dataset
    summary: Mapping[str, Mapping[str, Any]]
    folder: Path | None
    info: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    measured: WheelData | None = None
    rms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """As a terminal shows it: the numbers of each side."""
        from marsyard.cards import several, text_card

        sides = [(side.name, _few_numbers(self.summary.get(side.name, {}))) for side in self.sides]
        rows = [
            *sides,
            *(("note", text) for text in self.notes),
            ("data", several([str(v) for v in self.data.data_vars], "variable") + " in .data"),
            ("report", self.report),
        ]
        return text_card(f"Comparison on '{self.name}'", rows)

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    @property
    def is_study(self) -> bool:
        """Whether studies were compared."""
        return self.sides[0].run.study is not None

    @property
    def ok(self) -> bool:
        """Whether every run completed; whether its checks passed is part of the comparison."""
        if self.is_study:
            return all(_some_ended(s.run) for s in self.sides)
        return all(s.run.stopped is None for s in self.sides)

    def __getitem__(self, law: str) -> Run:
        for side in self.sides:
            if side.name == law:
                return side.run
        raise KeyError(law)


def _some_ended(run: Any) -> bool:
    return any(r.outcome.stopped is None for r in run.members)


def compare(
    scenario: str | Path | Scenario,
    laws: str | Sequence[str] = (),
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    study: bool = True,
    jobs: int | None = 1,
    measured: str | Path | WheelData | None = None,
    where: Sequence[str] = (),
    wheel: Mapping[str, float] | None = None,
    load: float | None = None,
) -> Comparison:
    """Run a scenario, or its study, with several laws or settings.

        marsyard.compare("eldorado2/rough", "scm,ding,nonsmooth", settings={"run.duration": 20})
        marsyard.compare("rt0448/test-4", variants={"μ 0.4": {"interaction.friction": 0.4},
                                                    "μ 0.8": {"interaction.friction": 0.8}})

    laws: names of `LAWS`, or of plug-ins. variants: settings by name, see `laws`. settings: for all
    of them.
    measured: a CSV file of wheel tests beside a study of slip; `where`, `wheel` and `load` choose
    rows and say what the file does not, as for `read_wheel_data`.
    With `out` also write a folder. `say`, `progress`, `study` and `jobs` as in `marsyard.run`.
    """
    say = say or (lambda text: None)
    processes = job_count(jobs)
    asked = variants_of(laws, variants)
    name, data, notes = base_data(scenario, settings or {}, study)
    settings = full_paths(settings or {}, data)
    began, started = time.perf_counter(), time.strftime("%Y-%m-%d %H:%M:%S")
    target = None if out is None else Path(out)
    with ExitStack() as stack:
        staging = stack.enter_context(written_whole(target))
        files = staging or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = [scenario_under(data, v, name, files / "ground") for v in asked]
        base = _as_it_stands(data, name, made[0][0])
        points = None
        if measured is not None:
            from marsyard.comparison.measured import other_wheel, read_points

            points = read_points(measured, made[0][0].study, wheel, load, where)
            notes += (*points.notes, *other_wheel(points, base))
        begun = [_try(v, name, m[0], say) for v, m in zip(asked, made, strict=True)]
        made = [(_drawn(m[0], ds, begun), m[1]) for m, ds in zip(made, begun, strict=True)]
        folders = _folders(asked)
        crew = _Crew(name, settings, staging, processes, say, progress)
        runs = crew.run(asked, [m[0] for m in made], folders)
        sides = tuple(
            Side(v, changes, run, folder)
            for v, (_, changes), run, folder in zip(asked, made, runs, folders, strict=True)
        )
        result = _result(name, base, sides, target, notes, {
            "scenario": name, "overrides": [f"{k}={v}" for k, v in (settings or {}).items()],
            "jobs": processes, "elapsed": time.perf_counter() - began, "started": started,
            "versions": versions(),
        })  # fmt: skip
        if points is not None:
            from marsyard.comparison.measured import misfits

            result = replace(result, measured=points, rms=misfits(result.data, points))
        if staging is not None:
            say("drawing figures and writing the report …")
            from marsyard.comparison.run_files import write_comparison

            assert target is not None
            _point_at(staging, target)
            write_comparison(staging, result)
    return result


# --- what is compared


def base_data(
    scenario: str | Path | Scenario, settings: Mapping[str, Any], study: bool
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Name and raw data of the scenario with the settings for all, and what was left out."""
    data: dict[str, Any]
    if isinstance(scenario, Scenario):
        name = scenario.title or "scenario"
        data = scenario.model_dump(mode="json", exclude_unset=True)
    else:
        name, data = str(scenario), dict(scenario_data(scenario))
    for path, value in settings.items():
        apply_setting(data, path, value)
    if not study or not data.get("study"):
        data.pop("study", None)
        return name, data, ()
    data["study"], note = _one_axis(data["study"])
    return name, data, note


def _one_axis(given: Any) -> tuple[Any, tuple[str, ...]]:
    """A study without its second axis, and the points and checks that belong to it."""
    if not isinstance(given, Mapping) or not given.get("also"):
        return given, ()
    study: dict[str, Any] = copy.deepcopy(dict(given))
    paths = ", ".join(study.pop("also"))
    study["checks"] = [c for c in study.get("checks") or [] if _of_all_curves(c)]
    for figure in study.get("figures") or []:
        figure["reference"] = [r for r in figure.get("reference") or [] if _of_all_curves(r)]
    note = f"the study's second axis ({paths}) is ignored: the laws are the curves"
    return study, (note,)


def _of_all_curves(part: Any) -> bool:
    return not isinstance(part, Mapping) or part.get("also") is None


def _as_it_stands(data: Mapping[str, Any], name: str, instead: Scenario) -> Scenario:
    """The scenario without any law, for title, figures and file; a variant's if it is not whole."""
    try:
        return resolve(validate(data, name))
    except InputError:
        return instead


def _try(variant: Variant, name: str, scenario: Scenario, say: Say) -> xr.Dataset:
    """Build a law's simulation once: wrong input shows, and kernels compile, before any run.

    Its first record, which tells what there is to see.
    """
    import warnings

    from marsyard.simulation import Simulation
    from marsyard.study import Family

    try:
        first = scenario
        if scenario.study is not None:
            _varies(variant, scenario)
            first = Family(name, scenario).grid()[0].scenario
        # nothing moves here, so the robot may stay in the air
        robot = first.robot.model_copy(update={"settle": False})
        first = first.model_copy(update={"robot": robot})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulation = Simulation(first, say=say)
            simulation.warm_up()
        pilot = simulation.drive or simulation.gait
        if pilot is not None:
            # what it says is recorded from its first period on
            pilot.update()
        ds = simulation.dataset()
        for output in scenario.study.outputs if scenario.study else ():
            if output.of != "impact" and not _has(ds, output.of):
                raise InputError(
                    f""
                    f"the study's output '{output.name}' is missing: '{output.of}' is not "
                    f"recorded with this law"
                )
        return ds
    except InputError as error:
        hint = _hint(str(error))
        raise InputError(f"{variant.name}: {error}{hint}") from None


def _drawn(scenario: Scenario, ds: xr.Dataset, others: Sequence[xr.Dataset]) -> Scenario:
    """The scenario with those panels of its figures that the law has something for.

    What no law has is a mistake of the scenario, and stays to be said.
    """

    def there(name: str) -> bool:
        return _has(ds, name) or not any(_has(other, name) for other in others)

    figures = []
    for figure in scenario.report.figures:
        panels = [tuple(n for n in panel if there(n)) for panel in figure.panels]
        if any(panels) and (figure.against is None or there(figure.against)):
            figures.append(figure.model_copy(update={"panels": tuple(p for p in panels if p)}))
    report = scenario.report.model_copy(update={"figures": tuple(figures)})
    return scenario.model_copy(update={"report": report})


def _has(ds: xr.Dataset, name: str) -> bool:
    from marsyard.results import series

    try:
        series(ds, name)
    except InputError:
        return False
    return True


def _varies(variant: Variant, scenario: Scenario) -> None:
    """A study may vary only what the law has."""
    assert scenario.study is not None
    law = known_laws()[variant.law]
    for path in scenario.study.driven:
        gone = [p for p, value in law.sets.items() if value is None and path.startswith(p)]
        if gone or (law.rigid and path.startswith("ground.")):
            raise InputError(f"the study varies '{path}', which this law does not have")


def _hint(text: str) -> str:
    """How to give a coefficient that a wheel model misses."""
    if "coefficient '" not in text or "is missing" not in text:
        return ""
    name = text.split("coefficient '")[1].split("'")[0]
    return f"; give it with --set interaction.wheel.coefficients.{name}=…"


def _folders(variants: Sequence[Variant]) -> list[str]:
    """A folder's name for each variant; numbers tell equal ones apart."""
    names: list[str] = []
    for v in variants:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", v.name).strip("-.")[:60] or "law"
        same = sum(n == plain or n.startswith(f"{plain}--") for n in names)
        names.append(f"{plain}--{same + 1}" if same else plain)
    return names


def _point_at(staging: Path, target: Path) -> None:
    """Scenarios and reports name the meshes where they will lie when the folder is complete."""
    if not (staging / "ground").is_dir():
        return
    old, new = str((staging / "ground").absolute()), str((target / "ground").absolute())
    for name in ("scenario.yaml", "report.html"):
        for path in staging.glob(f"laws/**/{name}"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(old, new), encoding="utf-8")


# --- the runs


def run_quietly(
    name: str,
    scenario: Scenario,
    overrides: Mapping[str, Any],
    folder: Path | None,
    tell: Callable[[float], Any],
    inputs: Path | None = None,
) -> Run:
    """A run as `marsyard run` makes it, into a new folder if one is given; says nothing, and `tell`
    hears the simulated time [s]. `inputs` is for copies of files that runs share."""
    if folder is not None:
        folder.mkdir(parents=True)
    return simulate(
        name, scenario, overrides, folder, lambda text: None, lambda t, total, what: tell(t),
        inputs=inputs,
    )  # fmt: skip


@dataclass(frozen=True)
class _Task:
    """One law's run, in whichever process."""

    name: str
    scenario: Scenario
    overrides: Mapping[str, Any]
    folder: Path | None
    inputs: Path | None = None

    def work(self, tell: Callable[[float], Any]) -> _Done:
        """The run as `marsyard run` makes it; `tell` hears the simulated time [s]."""
        run = run_quietly(self.name, self.scenario, self.overrides, self.folder, tell, self.inputs)
        # the grid of soil is on disk, and too large to pass between processes
        return _Done(replace(run, ground=None))


@dataclass(frozen=True)
class _Done:
    run: Run

    @property
    def simulated(self) -> float:
        """Time that was simulated [s]."""
        return float(self.run.data["time"][-1])


@dataclass(frozen=True)
class _Crew:
    """Runs the laws of a comparison."""

    name: str
    settings: Mapping[str, Any]
    staging: Path | None
    jobs: int
    say: Say
    progress: Progress | None

    def run(
        self, variants: Sequence[Variant], scenarios: Sequence[Scenario], folders: Sequence[str]
    ) -> list[Run]:
        places = [None if self.staging is None else self.staging / "laws" / f for f in folders]
        if scenarios[0].study is not None:
            return [
                self._study(v, s, place)
                for v, s, place in zip(variants, scenarios, places, strict=True)
            ]
        return self._runs(variants, scenarios, places)

    def _overrides(self, variant: Variant) -> dict[str, Any]:
        return {**self.settings, **variant.settings}

    def _study(self, variant: Variant, scenario: Scenario, place: Path | None) -> Run:
        from marsyard.study import run_study

        self.say(f"{variant.name} …")
        report_state = self.progress and (
            lambda t, total, what: self.progress and self.progress(
                t, total, f"{variant.name}, {what}")
        )  # fmt: skip
        overrides = self._overrides(variant)
        run = run_study(
            f"{self.name}, {variant.name}",
            scenario,
            overrides,
            place,
            self.jobs,
            self.say,
            report_state,
        )
        return replace(run, name=self.name)

    def _runs(
        self,
        variants: Sequence[Variant],
        scenarios: Sequence[Scenario],
        places: Sequence[Path | None],
    ) -> list[Run]:
        from marsyard.executors import Workers

        inputs = None if self.staging is None else self.staging / INPUTS
        tasks = [
            _Task(f"{self.name}, {v.name}", s, self._overrides(v), place, inputs)
            for v, s, place in zip(variants, scenarios, places, strict=True)
        ]
        total = sum(s.run.duration for s in scenarios)
        ended: list[str] = []

        def tell(simulated: float) -> None:
            if self.progress:
                self.progress(simulated, total, f"law {min(len(ended) + 1, len(tasks))} of "
                              f"{len(tasks)}")  # fmt: skip

        def done(index: int, outcome: _Done) -> None:
            run = outcome.run
            ended.append(run.name)
            how = run.stopped or f"{outcome.simulated:g} s in {run.info['wall_time']:.2f} s"
            self.say(f"{variants[index].name}: {how}")
            for text in run.warnings:
                self.say(f"warning: {variants[index].name}: {text}")

        with Workers(self.jobs, len(tasks)) as workers:
            return [o.run for o in workers.run(tasks, tell, done)]


def _result(
    name: str,
    scenario: Scenario,
    sides: tuple[Side, ...],
    target: Path | None,
    notes: tuple[str, ...],
    info: Mapping[str, Any],
) -> Comparison:
    from marsyard.comparison.summary import along_law, studies_along_law, summary

    names = [s.name for s in sides]
    if sides[0].run.study is not None:
        data = studies_along_law(names, [s.run.data for s in sides])
        numbers: dict[str, dict[str, Any]] = {s.name: summary(s.run) for s in sides}
    else:
        data = along_law(names, [s.run.data for s in sides])
        numbers = {s.name: summary(s.run, sides[0].run) for s in sides}
    placed = tuple(
        replace(
            s, run=replace(s.run, folder=None if target is None else target / "laws" / s.folder)
        )
        for s in sides
    )
    return Comparison(name, scenario, placed, data, numbers, target, info, notes)
