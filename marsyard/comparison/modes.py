"""Modes of locomotion against the slope: `marsyard compare SCENARIO --modes … --slopes …`.

The scenario is run in each mode on one slope after the other. A mode that fails on a slope is tried
on no steeper one; the interval between its last success and that failure is halved until it is no
wider than the tolerance. What is measured is told in `mode_measures`.

Which mode costs least: between two slopes log(energy per metre) of a mode goes straight, and where
two of these lines cross the modes change places. A mode that is ahead by less than 3 % between two
spans of another one is not counted as ahead.

The ground must have a slope: a plane, or a terrain with a layer of kind plane. The robot starts as
the scenario says, turned so that it stands on the slope.

The folder of such a comparison holds

    compare.csv, compare.nc    a row per run; the same over mode and slope
    figures/*.png, report.html
    scenario.yaml              the scenario as it stands
    modes/NAME/SLOPE/          run folders, if they are kept
"""

from __future__ import annotations

import copy
import math
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.comparison.mode_measures import Row, measure, planned
from marsyard.comparison.runs import base_data, run_quietly
from marsyard.errors import InputError, suggest
from marsyard.run_folder import written_whole
from marsyard.runner import Progress, Say, versions
from marsyard.scenario import Scenario, apply_setting, validate

if TYPE_CHECKING:
    import xarray as xr

#: names of modes
MODES = ("rolling", "peristaltic", "walking")
#: by which energies of two modes may differ by chance, relative
CHANCE = 0.03
#: slopes when none are given [°]
SLOPES = "0:30:5"


@dataclass(frozen=True)
class ModeVariant:
    """A mode under a name: fields of the mode, and settings of the scenario."""

    name: str
    mode: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """How steep a mode climbs [rad]; None where it climbs no slope, or all that were tried."""

    mode: str
    climbs: float | None
    fails: float | None


@dataclass(frozen=True)
class Cheapest:
    """A range of slopes [rad] in which a mode costs less than every other that climbs there."""

    start: float
    end: float
    mode: str


@dataclass(frozen=True)
class ModeComparison:
    """A finished comparison of modes.

    rows: a run each, by mode and slope. limits: how steep each mode climbs. cheapest: which costs
    least where, over the slopes that several climb. basis: electrical or mechanical energy.
    words: the answer. data: the numbers over mode and slope.
    """

    name: str
    scenario: Scenario
    modes: tuple[ModeVariant, ...]
    rows: tuple[Row, ...]
    limits: tuple[Limit, ...]
    cheapest: tuple[Cheapest, ...]
    basis: str
    words: str
    folder: Path | None
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def report(self) -> Path | None:
        """The report's page."""
        return None if self.folder is None else self.folder / "report.html"

    @property
    def ok(self) -> bool:
        """Some mode climbs some slope."""
        return any(row.climbs for row in self.rows)

    @property
    def crossings(self) -> tuple[float, ...]:
        """Slopes at which another mode begins to cost least, while both climb [rad]."""
        return tuple(
            b.start for a, b in zip(self.cheapest, self.cheapest[1:], strict=False)
            if a.mode != b.mode and abs(a.end - b.start) < 1e-9 and not self._ends(a.mode, a.end)
        )  # fmt: skip

    def _ends(self, mode: str, slope: float) -> bool:
        """Whether the mode climbs no further than this slope."""
        own = next(limit for limit in self.limits if limit.mode == mode)
        return own.climbs is not None and slope >= own.climbs - 1e-9

    @property
    def data(self) -> xr.Dataset:
        """The numbers of the rows over mode and slope."""
        from marsyard.comparison.mode_files import dataset

        return dataset(self)

    def of(self, mode: str) -> list[Row]:
        """The runs of a mode, from level to steep."""
        return sorted((r for r in self.rows if r.mode == mode), key=lambda r: r.slope)


def compare_modes(
    scenario: str | Path | Scenario,
    modes: str | Sequence[str] = (),
    slopes: str | Sequence[Any] = SLOPES,
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    tolerance: float = math.radians(0.5),
    least: float = 0.1,
    slope_of: str = "",
    keep: bool = False,
    out: str | Path | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
) -> ModeComparison:
    """Which mode climbs further, which costs less, and where they change places.

        marsyard.compare_modes("modes/sandy-slope", "rolling,peristaltic", "0:30:2.5")

    modes: of the scenario's gait, or with their defaults; all of the scenario's if none are given.
    slopes: "start:stop:step" or a list, in degrees or with a unit. variants: modes under names,
    {"long": {"mode": "peristaltic", "stride": 0.24}}; other keys are paths of the scenario.
    settings: for all. tolerance: of the steepest slope [rad], 0 for no refinement. least: share of
    the planned speed that a mode must make to count as climbing. slope_of: path of the slope where
    the scenario has several. keep: also write every run's folder. `say`, `progress`, `jobs`, `out`
    as in `marsyard.run`.
    """
    say = say or (lambda text: None)
    _check(jobs, tolerance, least)
    angles = parse_slopes(slopes)
    name, data, _ = base_data(scenario, settings or {}, study=False)
    base = validate(data, name)
    asked = mode_variants(base, modes, variants)
    ramp = find_ramp(base, slope_of)
    began, started = time.perf_counter(), time.strftime("%Y-%m-%d %H:%M:%S")
    target = None if out is None else Path(out)
    with written_whole(target) as staging:
        kept = staging if keep else None
        crew = _Crew(name, base, ramp, asked, least, settings or {}, kept, jobs, say, progress)
        crew.try_all(angles[0])
        searches = [Search(angles, tolerance) for _ in asked]
        rows = crew.run(searches)
        limits = [Limit(v.name, s.climbs, s.fails) for v, s in zip(asked, searches, strict=True)]
        result = _result(name, base, asked, rows, limits, target, {
            "scenario": name, "overrides": [f"{k}={v}" for k, v in (settings or {}).items()],
            "jobs": jobs, "elapsed": time.perf_counter() - began, "started": started,
            "versions": versions(), "least": least, "tolerance": tolerance,
        })  # fmt: skip
        if staging is not None:
            say("drawing figures and writing the report …")
            from marsyard.comparison.mode_files import write_modes

            write_modes(staging, result)
    return result


def _check(jobs: int, tolerance: float, least: float) -> None:
    if jobs < 1:
        raise InputError(f"jobs = {jobs}: must be at least 1")
    if not tolerance >= 0:
        raise InputError(f"tolerance = {tolerance}: must be at least 0")
    if not 0 <= least < 1:
        raise InputError(f"least = {least:g}: must be a share of the planned speed, from 0 to 1")


# --- what is asked for


def parse_slopes(given: str | Sequence[Any]) -> list[float]:
    """Ascending slopes [rad] of "0:30:2.5", "0,5,10" or a list; bare numbers are degrees."""
    text = given if isinstance(given, str) else ",".join(str(v) for v in given)
    parts = [p.strip() for p in text.split(":")]
    if len(parts) == 3:
        start, stop, step = (_angle(p, text) for p in parts)
        if step <= 0 or stop < start:
            raise InputError(f"slopes: '{text}' must be start:stop:step, upwards, e.g. 0:30:2.5")
        if (stop - start) / step > 1000:
            raise InputError(f"slopes: '{text}' are more than 1000; choose a larger step")
        count = math.floor((stop - start) / step + 1e-9) + 1
        slopes = [start + k * step for k in range(count)]
    elif len(parts) == 1:
        slopes = sorted({_angle(p.strip(), text) for p in text.split(",")})
    else:
        raise InputError(f"slopes: '{text}' must be start:stop:step or numbers with commas")
    for slope in slopes:
        if not 0 <= slope < math.pi / 2:
            shown = f"{math.degrees(slope):g}"
            raise InputError(
                f"slopes: {shown}° is no slope to climb; from 0 to below 90° it must be"
            )
    return slopes


def _angle(text: str, whole: str) -> float:
    from marsyard.units import to_si

    try:
        return math.radians(float(text))
    except ValueError:
        pass
    try:
        return to_si(text, "angle")
    except ValueError:
        raise InputError(
            f"slopes: '{text}' in '{whole}' is no angle; give degrees, e.g. 0:30:2.5"
        ) from None


def mode_variants(
    scenario: Scenario,
    modes: str | Sequence[str],
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str],
) -> tuple[ModeVariant, ...]:
    """The modes to compare, in their order."""
    own: dict[str, Any] = {}
    for m in scenario.gait.modes if scenario.gait else ():
        own.setdefault(m.mode, m)
    names = [n.strip() for n in modes.split(",")] if isinstance(modes, str) else list(modes)
    names = [n for n in names if n]
    if not names and not variants:
        names = list(own)
    out = [ModeVariant(n, _known(n, "modes"), _given(own.get(n))) for n in names]
    for name, settings in _named(variants):
        mode = _known(str(settings.pop("mode", "")), f"variant {name}: mode")
        known = _fields_of(mode)
        fields = {k: v for k, v in settings.items() if k in known}
        rest = {k: v for k, v in settings.items() if k not in known}
        for key in rest:
            if "." not in key and key not in Scenario.model_fields:
                raise InputError(
                    f"variant {name}: '{key}' is neither of mode {mode} nor of a scenario; "
                    f"{suggest(key, [*known, *Scenario.model_fields])}"
                )
        out.append(ModeVariant(name, mode, {**_given(own.get(mode)), **fields}, rest))
    if not out:
        raise InputError(f"modes: nothing to compare; give some of {', '.join(MODES)}")
    for variant in out:
        if [v.name for v in out].count(variant.name) > 1:
            raise InputError(f"modes: '{variant.name}' stands twice; names must differ")
    return tuple(out)


def _known(mode: str, where: str) -> str:
    if mode not in MODES:
        raise InputError(f"{where}: unknown mode '{mode}'; {suggest(mode, MODES)}")
    return mode


def _given(mode: Any) -> dict[str, Any]:
    """What the scenario says of a mode, but for when to leave it."""
    if mode is None:
        return {}
    return mode.model_dump(mode="json", exclude_unset=True, exclude={"mode", "until"})


def _fields_of(mode: str) -> list[str]:
    from marsyard.scenario import gait

    kinds = {"rolling": gait.RollingMode, "peristaltic": gait.PeristalticMode}
    model: Any = kinds.get(mode, gait.WalkingMode)
    return [f for f in model.model_fields if f not in ("mode", "until")]


def _named(
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str],
) -> list[tuple[str, dict[str, Any]]]:
    from marsyard.comparison.laws import parse_variant

    if isinstance(variants, Mapping):
        return [(name, dict(settings)) for name, settings in variants.items()]
    parsed = [parse_variant(text) for text in variants]
    return [(v.name, dict(v.settings)) for v in parsed]


@dataclass(frozen=True)
class Ramp:
    """The slope of a scenario's ground: its path, where it rises to, and the robot's heading."""

    path: str
    uphill: float
    heading: float

    def attitude(self, slope: float) -> list[float]:
        """Roll, pitch, yaw of a robot of this heading that stands on the slope [rad]."""
        relative = self.heading - self.uphill
        pitch = -math.atan(math.tan(slope) * math.cos(relative))
        across = -math.sin(slope) * math.sin(relative)
        upright = math.cos(slope) * math.cos(pitch) - math.sin(slope) * math.sin(pitch) * math.cos(
            relative
        )
        return [math.atan2(across, upright), pitch, self.heading]


def find_ramp(scenario: Scenario, path: str = "") -> Ramp:
    """The slope to vary: the only one of the ground, or the one asked for."""
    found: dict[str, float] = {}
    for k, ground in enumerate(scenario.ground):
        if ground.kind == "plane":
            found[f"ground.{k}.slope"] = ground.uphill
        elif ground.kind == "terrain" and not isinstance(ground.terrain, str):
            for j, layer in enumerate(ground.terrain.layers):
                if layer.kind == "plane":
                    found[f"ground.{k}.terrain.layers.{j}.slope"] = layer.uphill
    if not found:
        raise InputError(
            "compare --modes: the scenario's ground has no slope; give it a plane, or a terrain "
            "with a layer {kind: plane, slope: 0}"
        )
    if path and path not in found:
        raise InputError(f"slope-of: '{path}' is no slope of the ground; {suggest(path, found)}")
    if not path and len(found) > 1:
        raise InputError(f"slope-of: the ground has several slopes; give one of {', '.join(found)}")
    chosen = path or next(iter(found))
    attitude = scenario.robot.attitude
    return Ramp(chosen, found[chosen], attitude[2] if attitude else 0.0)


def scenario_at(base: Scenario, variant: ModeVariant, ramp: Ramp, slope: float) -> Scenario:
    """The scenario in a mode on a slope [rad]."""
    data: dict[str, Any] = base.model_dump(mode="json", exclude_unset=True, exclude={"study"})
    full = base.model_dump(mode="json", exclude={"study"})
    head = ramp.path.split(".")[0]
    if head not in data:
        data[head] = copy.deepcopy(full[head])
    gait = dict(data.get("gait") or {})
    gait.pop("repeat", None)
    data["gait"] = {**gait, "modes": [{**variant.fields, "mode": variant.mode}]}
    apply_setting(data, ramp.path, slope, "slopes:")
    data["robot"]["attitude"] = ramp.attitude(slope)
    for path, value in variant.settings.items():
        apply_setting(data, path, value, f"variant {variant.name}:")
    try:
        made = validate(data, f"{variant.name} at {math.degrees(slope):g}°")
    except InputError as error:
        raise InputError(f"mode {variant.name}: {error}") from None
    return made


def _must_measure(made: Scenario, variant: ModeVariant) -> None:
    """Refuse a mode of which nothing can be measured."""
    assert made.gait is not None
    mode = made.gait.modes[0]
    if planned(mode)[0] == 0:
        raise InputError(f"mode {variant.name}: goes nowhere; give it a speed or a stride")
    if made.run.duration < 3 * mode.period:
        raise InputError(
            f"mode {variant.name}: run.duration = {made.run.duration:g} s holds fewer than three "
            f"cycles of {mode.period:g} s; make it longer"
        )


# --- the search for the limit


class Search:
    """Slopes of one mode: up the list to the first failure, then halving."""

    def __init__(self, slopes: Sequence[float], tolerance: float) -> None:
        self._slopes, self._tolerance = list(slopes), tolerance
        self._asked = 0
        self.tried: dict[float, bool] = {}

    @property
    def fails(self) -> float | None:
        """The least slope that was not climbed [rad]."""
        return min((s for s, ok in self.tried.items() if not ok), default=None)

    @property
    def climbs(self) -> float | None:
        """The steepest slope below it that was [rad]."""
        below = math.inf if self.fails is None else self.fails
        return max((s for s, ok in self.tried.items() if ok and s < below), default=None)

    def next(self, count: int) -> list[float]:
        """At most `count` slopes to try now; none when all is known."""
        if self.fails is None:
            more = self._slopes[self._asked : self._asked + count]
            self._asked += len(more)
            return more
        if self.climbs is None or self._tolerance == 0:
            return []
        gap = self.fails - self.climbs
        if gap <= self._tolerance + 1e-9:
            return []
        return [self.climbs + gap / 2]

    def tell(self, slope: float, climbs: bool) -> None:
        """Hear what came out."""
        self.tried[slope] = climbs

    def left(self) -> int:
        """How many runs may still come, for the progress bar."""
        if self.fails is None:
            return len(self._slopes) - self._asked
        if self.climbs is None or self._tolerance == 0:
            return 0
        return max(0, math.ceil(math.log2((self.fails - self.climbs) / self._tolerance) - 1e-9))


# --- the runs


@dataclass(frozen=True)
class _Done:
    row: Row
    simulated: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    """One run of a mode, in whichever process."""

    name: str
    variant: ModeVariant
    scenario: Scenario
    slope: float
    ramp: Ramp
    least: float
    overrides: Mapping[str, Any]
    folder: Path | None

    def work(self, tell: Callable[[float], Any]) -> _Done:
        """Run and measure; `tell` hears the simulated time [s]."""
        run = run_quietly(self.name, self.scenario, self.overrides, self.folder, tell)
        assert self.scenario.gait is not None
        row = measure(
            run.data, self.variant.name, self.scenario.gait.modes[0], self.slope,
            self.ramp.uphill, self.ramp.heading, self.least, run.stopped,
            float(run.info["wall_time"]),
        )  # fmt: skip
        return _Done(row, float(run.data["time"][-1]), run.warnings)


@dataclass
class _Crew:
    """Runs the modes of a comparison, round after round."""

    name: str
    base: Scenario
    ramp: Ramp
    modes: Sequence[ModeVariant]
    least: float
    settings: Mapping[str, Any]
    staging: Path | None
    jobs: int
    say: Say
    progress: Progress | None

    def try_all(self, slope: float) -> None:
        """Build each mode's simulation once: wrong input shows before any run."""
        from marsyard.simulation import Simulation

        for variant in self.modes:
            scenario = scenario_at(self.base, variant, self.ramp, slope)
            # nothing moves here, so the robot may stay in the air
            robot = scenario.robot.model_copy(update={"settle": False})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    Simulation(scenario.model_copy(update={"robot": robot}), say=self.say).warm_up()
            except InputError as error:
                raise InputError(f"mode {variant.name}: {error}") from None
            _must_measure(scenario, variant)

    def run(self, searches: Sequence[Search]) -> list[Row]:
        """All rows, by mode and slope."""
        from marsyard.study.workers import Workers

        rows: list[Row] = []
        done_time = 0.0
        with Workers(self.jobs, len(self.modes) * self.jobs) as workers:
            while True:
                open_ = sum(s.left() > 0 for s in searches)
                share = max(1, self.jobs // max(open_, 1))
                tasks = [
                    self._task(v, slope)
                    for v, search in zip(self.modes, searches, strict=True)
                    for slope in search.next(share)
                ]
                if not tasks:
                    break
                left = sum(s.left() for s in searches)
                tell = self._teller(done_time, len(rows), len(tasks), left)
                found = workers.run(tasks, tell, lambda k, done: self._tell_done(done))
                done_time += sum(done.simulated for done in found)
                for done in found:
                    at = [v.name for v in self.modes].index(done.row.mode)
                    searches[at].tell(done.row.slope, done.row.climbs)
                rows += [done.row for done in found]
        order = [v.name for v in self.modes]
        return sorted(rows, key=lambda r: (order.index(r.mode), r.slope))

    def _task(self, variant: ModeVariant, slope: float) -> _Task:
        label = f"{variant.name} at {math.degrees(slope):.4g}°"
        folder = None
        if self.staging is not None:
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", variant.name).strip("-.") or "mode"
            folder = self.staging / "modes" / plain / f"{math.degrees(slope):.4g}"
        scenario = scenario_at(self.base, variant, self.ramp, slope)
        overrides = {**self.settings, **variant.settings, self.ramp.path: slope}
        return _Task(
            f"{self.name}, {label}", variant, scenario, slope, self.ramp, self.least, overrides,
            folder,
        )  # fmt: skip

    def _teller(self, before: float, ran: int, now: int, left: int) -> Callable[[float], Any]:
        span = self.base.run.duration
        total = before + span * (now + left)

        def tell(simulated: float) -> None:
            if self.progress:
                at = ran + min(int(simulated // span) + 1, now)
                self.progress(before + simulated, total, f"run {at} of {ran + now + left} or less")

        return tell

    def _tell_done(self, done: _Done) -> None:
        row = done.row
        how = row.why or (
            f"{1e3 * row.speed:.3g} mm/s, slip {100 * row.slip:.3g} %, "
            f"{row.mechanical:.4g} J/m mechanical"
        )
        if not row.why and math.isfinite(row.electrical):
            how += f", {row.electrical:.4g} J/m electrical"
        self.say(f"{row.mode}, {math.degrees(row.slope):.4g}°: {how}")


# --- the answer


def _result(
    name: str,
    base: Scenario,
    modes: tuple[ModeVariant, ...],
    rows: Sequence[Row],
    limits: Sequence[Limit],
    target: Path | None,
    info: Mapping[str, Any],
) -> ModeComparison:
    known = [r for r in rows if r.climbs]
    basis = "electrical" if known and all(math.isfinite(r.electrical) for r in known) else ""
    basis = basis or "mechanical"
    found = ModeComparison(
        name, base, modes, tuple(rows), tuple(limits), (), basis, "", target, info
    )
    found = replace(found, cheapest=tuple(cheapest(found)))
    return replace(found, words=words(found))


def cheapest(result: ModeComparison) -> list[Cheapest]:
    """Which mode costs least, over all slopes that one climbs."""
    curves = {}
    for variant in result.modes:
        own = [r for r in result.of(variant.name) if r.climbs and getattr(r, result.basis) > 0]
        if own:
            slopes = np.array([r.slope for r in own])
            curves[variant.name] = (slopes, np.log([getattr(r, result.basis) for r in own]))
    knots = sorted({float(s) for slopes, _ in curves.values() for s in slopes})
    pieces: list[Cheapest] = []
    for low, high in zip(knots, knots[1:], strict=False):
        there = {
            name: np.interp([low, high], *curve)
            for name, curve in curves.items()
            if curve[0][0] <= low + 1e-12 and curve[0][-1] >= high - 1e-12
        }
        pieces += _lowest(there, low, high)
    pieces = _joined(pieces)
    # a mode that is ahead by less than chance, between two spans of another, is not ahead
    while weak := [k for k in range(1, len(pieces) - 1) if _chance(pieces, k, curves)]:
        least = min(weak, key=lambda k: pieces[k].end - pieces[k].start)
        pieces[least] = replace(pieces[least], mode=pieces[least - 1].mode)
        pieces = _joined(pieces)
    return pieces


def _joined(pieces: Sequence[Cheapest]) -> list[Cheapest]:
    """Neighbours of the same mode as one."""
    out: list[Cheapest] = []
    for piece in pieces:
        if out and out[-1].mode == piece.mode and abs(out[-1].end - piece.start) < 1e-12:
            out[-1] = replace(out[-1], end=piece.end)
        else:
            out.append(piece)
    return out


def _chance(pieces: Sequence[Cheapest], k: int, curves: Mapping[str, Any]) -> bool:
    """Whether a span lies between two of another mode that is nowhere worse by more than chance."""
    other, own = pieces[k - 1].mode, pieces[k].mode
    top = curves[other][0][-1]
    if pieces[k + 1].mode != other or pieces[k].end > top + 1e-12:
        return False
    inside = np.linspace(pieces[k].start, pieces[k].end, 21)
    ahead = np.interp(inside, *curves[other]) - np.interp(inside, *curves[own])
    return bool(ahead.max() < CHANCE)


def _lowest(lines: Mapping[str, np.ndarray], low: float, high: float) -> list[Cheapest]:
    """The lowest of straight lines between two slopes, piece by piece."""
    if not lines:
        return []
    cuts = {0.0, 1.0}
    names = list(lines)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            before, after = lines[a] - lines[b]
            if before * after < 0:
                cuts.add(float(before / (before - after)))
    parts = sorted(cuts)
    out = []
    for start, end in zip(parts, parts[1:], strict=False):
        middle = (start + end) / 2
        best = min(names, key=lambda n: lines[n][0] + middle * (lines[n][1] - lines[n][0]))
        out.append(Cheapest(low + start * (high - low), low + end * (high - low), best))
    return out


def words(result: ModeComparison) -> str:
    """The answer in a sentence: how steep each climbs, and which costs less where."""
    costs = _cost_words(result) if len(result.modes) > 1 else _own_cost(result)
    return "; ".join(part for part in (_limit_words(result.limits), costs) if part) + "."


def _own_cost(result: ModeComparison) -> str:
    """What a mode that is alone costs on its least and on its steepest slope."""
    own = [r for r in result.rows if r.climbs]
    if not own:
        return ""
    ends = own if len(own) == 1 else [own[0], own[-1]]
    costs = [f"{getattr(r, result.basis):.3g} J/m at {_deg(r.slope)}" for r in ends]
    return f"it costs {' and '.join(costs)} ({result.basis})"


def _limit_words(limits: Sequence[Limit]) -> str:
    order = sorted(limits, key=lambda m: -(math.inf if m.fails is None else m.climbs or -1.0))
    parts = []
    for limit in order:
        if limit.climbs is None:
            parts.append(f"{limit.mode} climbs none")
        elif limit.fails is None:
            parts.append(f"{limit.mode} climbs all to {_deg(limit.climbs)}")
        else:
            parts.append(f"{limit.mode} climbs to {_deg(limit.climbs)}")
    return ", ".join(parts)


def _cost_words(result: ModeComparison) -> str:
    """Which mode costs less, over the slopes that at least two climb."""
    tops = sorted((m.climbs for m in result.limits if m.climbs is not None), reverse=True)
    if len(tops) < 2:
        return "only one climbs, so that costs are not compared" if tops else "none climbs"
    common = tops[1]
    pieces = [c for c in result.cheapest if c.start < common - 1e-9]
    if not pieces:
        return "no two climb the same slopes"
    if len({c.mode for c in pieces}) == 1:
        return f"{pieces[0].mode} costs less wherever both climb"
    if len(pieces) == 2:
        at = _deg(pieces[1].start)
        return f"{pieces[0].mode} costs less below {at}, {pieces[1].mode} above"
    spans = ", ".join(f"{c.mode} from {_deg(c.start)}" for c in pieces)
    return f"cheapest is {spans}"


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.1f}°"
