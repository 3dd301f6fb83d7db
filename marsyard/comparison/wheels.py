"""Comparison of wheel models without a simulation: forces over slip, and over slip angle.

What is compared is one wheel at steady motion, asked through `WheelModel.under_load`. Its settings,
for all with `settings` or for one variant in its own, are

    radius, width, lug_height [m], load [N]    from the file, the rover, or given
    soil, soil.NUMBER                          a soil of the library or a file; a number of it
    exit                                       where soil leaves the tread: height:0.2, angle:0
    coefficients.NAME                          of the model; what the soil has need not be given
    shear_share, lug_share, gravity [m/s²]
    fit                                        the folder of `marsyard identify`: its model, soil,
                                               exit rule, shares and zero of the sinkage

Of coefficients for all, a model takes those it knows. mean_load (ding) and nominal_load
(magic_formula) are, where not given, the load, or the mean load of the rows. There is no default of
the exit rule: a rover's wheels have their own, else it must be given.

With measured rows, each model is asked at their loads, slips and slip angles; the misfit is

    rms_q = √(mean over rows of (computed − measured)²)

over the rows at which the wheel carries its load. Where the zero of the sinkage is not known, each
model's mean difference is taken off first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard import library
from marsyard.analysis.options import SIZES, quantity_of
from marsyard.analysis.parameters import SCM
from marsyard.analysis.wheel_columns import QUANTITIES
from marsyard.analysis.wheel_data import WheelData
from marsyard.analysis.wheel_files import read_wheel_data
from marsyard.comparison.laws import Variant, variants_of
from marsyard.errors import InputError, suggest
from marsyard.exit_rule import DEFAULT
from marsyard.files import read_json
from marsyard.ground.soil import Soil, load_soil
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel
from marsyard.units import read_gravity

if TYPE_CHECKING:
    import xarray as xr

#: slips and slip angles of the curves
SLIPS = np.round(np.arange(-0.3, 0.8001, 0.02), 10)
ANGLES = np.radians(np.arange(0.0, 40.01, 1.0))
#: a quantity's name in `WheelForces`
FORCES = {"pull": "drawbar_pull", "side": "side_force", "torque": "torque", "sinkage": "sinkage"}
_OWN = ("soil", "exit", "shear_share", "lug_share", "gravity", "fit")
_LENGTHS = {**dict.fromkeys(SIZES, "length"), "load": "force"}


@dataclass(frozen=True)
class Candidate:
    """One model of a comparison: for each wheel of the data a `WheelModel`.

    offset: added to the computed sinkage [m]. exits: its exit rules in words.
    """

    name: str
    law: str
    models: tuple[WheelModel, ...]
    load: float | None
    offset: float = 0.0
    fitted: str = ""

    @property
    def exits(self) -> str:
        """The exit rule in words; nothing for models without one."""
        if "strength" not in MODELS[self.law][2]:
            return ""
        rules = dict.fromkeys(m.wheel.exit for m in self.models)
        return ", ".join(f"{r.rule}:{r.value:.3g}" for r in rules)

    @property
    def soil(self) -> str:
        """Name of the soil; nothing for models without one."""
        soil = self.models[0].soil
        return soil.name if soil is not None and MODELS[self.law][2] else ""


@dataclass(frozen=True)
class WheelComparison:
    """Several wheel models at the same points.

    data: `measured` rows if there are, else None. computed: by candidate and quantity of
    `QUANTITIES`, at the rows. curves: a data set over law, slip and slip angle. rms: by candidate
    and quantity, SI. sunk: rows at which a candidate's wheel sinks to its axle.
    seconds: how long the models took.
    """

    title: str
    candidates: tuple[Candidate, ...]
    data: WheelData | None
    computed: Mapping[str, Mapping[str, np.ndarray]]
    curves: xr.Dataset | None
    rms: Mapping[str, Mapping[str, float]]
    sunk: Mapping[str, int]
    notes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        """As a terminal shows it: how far each model is from what was measured."""
        from marsyard.cards import text_card

        rows = [
            (c.name, ", ".join(f"{q} {v:.4g}" for q, v in self.rms.get(c.name, {}).items()) or "–")
            for c in self.candidates
        ]
        head = "misfits (rms)" if self.rms else "no measured rows"
        return text_card(f"Wheel models on '{self.title}', {head}", rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and texts, SI."""
        out: dict[str, Any] = {"title": self.title, "notes": list(self.notes), "laws": {}}
        for c in self.candidates:
            first = c.models[0]
            own: dict[str, Any] = {
                "model": c.law, "soil": c.soil, "exit": c.exits, "fit": c.fitted,
                "coefficients": dict(zip(MODELS[c.law][1], map(float, first.own_numbers()),
                                         strict=True)),
            }  # fmt: skip
            if self.data is not None:
                own |= {"rms": dict(self.rms[c.name]), "sunk": self.sunk[c.name]}
            out["laws"][c.name] = own
        if self.curves is not None:
            for name in ("slip", "slip_angle", "at_slip", "at_angle"):
                out[name] = self.curves[name].values.tolist()
            for c in self.candidates:
                here = self.curves.sel(law=c.name)
                out["laws"][c.name]["curves"] = {
                    str(n): _plain(here[n].values) for n in self.curves.data_vars
                }
        out["evaluation_seconds"] = self.seconds
        return out


def _plain(values: np.ndarray) -> Any:
    if values.ndim:
        return [_plain(v) for v in values]
    return float(values) if np.isfinite(values) else None


def compare_wheel(
    what: str | Path | WheelData = "wheel",
    laws: str | Sequence[str] = (),
    variants: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    *,
    soil: Any = None,
    exit: str | Exit | None = None,
    wheel: Mapping[str, float] | None = None,
    load: float | None = None,
    gravity: float | str = 9.81,
    settings: Mapping[str, Any] | None = None,
    where: Sequence[str] = (),
    at_slip: Sequence[float] = (0.2,),
    at_angle: Sequence[float] = (0.0,),
) -> WheelComparison:
    """Evaluate several wheel models for the same wheel.

        marsyard.compare_wheel("tests.csv", "ding,wong_reece", soil="hit_lss1", exit="angle:0",
                               settings={"coefficients.peak_0": 0.43, "coefficients.peak_1": 0.32})
        marsyard.compare_wheel("exomars", "ding,rigid_slip", soil="dry_sand", gravity="mars",
                               settings={"coefficients.friction": 0.6})

    what: a CSV file of wheel tests (or the folder of a run, or `WheelData`), a rover, or "wheel".
    wheel: radius, width, lug_height [m] and load [N], where `what` does not say.
    settings, variants: as the head of the module says. where: rows of the file to take.
    at_slip, at_angle: slips at which curves over the slip angle are made, and slip angles [rad] at
        which those over slip.
    """
    asked = variants_of(laws, variants, MODELS)
    base: dict[str, Any] = {
        "coefficients": {},
        **settings_of({"gravity": gravity, **(settings or {})}),
    }
    given = {"soil": soil, "exit": exit, "load": load, **(wheel or {})}
    base |= {key: value for key, value in given.items() if value is not None}
    _check(base)
    data, notes, title = _measured(what, base, where)
    if data is None:
        _no_rows_chosen(where, what)
        title, more = _wheel_of(str(what), base)
        notes += more
    candidates = tuple(_candidate(v, base, data) for v in asked)
    # loading packages and compiled models is no part of the evaluation
    import xarray  # noqa: F401

    for c in candidates:
        c.models[0].under_load(1.0)
    began = time.perf_counter()
    computed: dict[str, dict[str, np.ndarray]] = {}
    curves = None
    if data is None:
        curves = _curves(candidates, _slips(at_slip), _angles(at_angle))
        notes += [text for c in candidates if (text := _sunk(c, curves))]
    else:
        computed = {c.name: at_rows(c, data) for c in candidates}
    seconds = time.perf_counter() - began
    rms, sunk = _misfits(data, computed)
    if data is not None and data.relative_sinkage:
        notes.append(
            "the zero of the sinkage is unknown: the mean difference of each model is removed"
        )
    return WheelComparison(
        title, candidates, data, computed, curves, rms, sunk, tuple(notes), seconds
    )


def _slips(values: Sequence[float]) -> np.ndarray:
    for value in values:
        if not -1.0 <= value <= 1.0:
            raise InputError(f"at_slip: {value:g}: from −1 to 1")
    return np.array(values, dtype=float)


def _angles(values: Sequence[float]) -> np.ndarray:
    for value in values:
        if abs(value) > math.pi / 2:
            raise InputError(f"at_angle: {math.degrees(value):g}°: from −90° to 90°")
    return np.array(values, dtype=float)


# --- what is known of the wheel


def _check(given: Mapping[str, Any]) -> None:
    """Refuse a load or a gravity that no wheel can have."""
    for key, unit in (("load", "N"), ("gravity", "m/s²")):
        value = given.get(key)
        if value is not None and not 0.0 < float(value) < math.inf:
            raise InputError(f"{key} = {value:g} {unit}: must be above 0")


def settings_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted path as one mapping, checked and in SI."""
    out: dict[str, Any] = {}
    for path, value in settings.items():
        head, _, rest = path.partition(".")
        if head == "coefficients" and rest:
            known = {n for _, own, _ in MODELS.values() for n in own}
            if rest not in known:
                raise InputError(f"{path}: unknown coefficient; {suggest(rest, sorted(known))}")
            number = quantity_of(value, "number", path)
            out.setdefault("coefficients", {})[rest] = number
        elif head == "soil" and rest:
            out.setdefault("soil_numbers", {})[rest] = value
        elif path in _LENGTHS:
            out[path] = quantity_of(value, _LENGTHS[path], path)
        elif path in ("shear_share", "lug_share"):
            out[path] = quantity_of(value, "number", path)
        elif path == "gravity":
            out[path] = read_gravity(value, path)
        elif path in _OWN:
            out[path] = value
        else:
            valid = [*SIZES, "load", *_OWN, "coefficients.NAME", "soil.NUMBER"]
            raise InputError(f"{path}: is not a setting of a wheel; {suggest(path, valid)}")
    return out


def _measured(
    what: str | Path | WheelData, base: dict[str, Any], where: Sequence[str]
) -> tuple[WheelData | None, list[str], str]:
    """The measured rows, if `what` has some."""
    if isinstance(what, WheelData):
        return what, list(what.notes), what.name
    if str(what) == "wheel" or str(what) in library.names("rovers"):
        return None, [], ""
    sizes = {k: base[k] for k in SIZES if k in base}
    data = read_wheel_data(what, wheel=sizes, load=base.get("load"), where=where)
    return data, list(data.notes), data.name


def _no_rows_chosen(where: Sequence[str], what: Any) -> None:
    if where:
        raise InputError(f"where: selects rows of a file, but '{what}' is not a file")


def _wheel_of(what: str, base: dict[str, Any]) -> tuple[str, list[str]]:
    """Put the sizes of a rover's wheel into `base` where they are not given; title and notes."""
    notes = []
    title = "a wheel"
    if what != "wheel":
        from marsyard.robot import load_robot

        robot = load_robot(what)
        title = f"wheel of {what}"
        if not robot.wheels:
            raise InputError(f"{what}: has no wheels")
        name, own = next(iter(robot.wheels.items()))
        sizes = {"radius": own.radius, "width": own.width,
                 "lug_height": own.lug_height}  # fmt: skip
        for key, value in sizes.items():
            base.setdefault(key, value)
        if own.exit is not None:
            base.setdefault("exit", own.exit)
        base["tread"] = {"surface": own.surface}
        if own.grousers is not None:
            base["tread"]["lug_count"] = own.grousers.count
            base["tread"]["lug_thickness"] = own.grousers.thickness
        if len({(w.radius, w.width) for w in robot.wheels.values()}) > 1:
            notes.append(f"the wheels differ; {name} is used")
        if "load" not in base:
            weight = float(sum(robot.compile().body_mass)) * base["gravity"]
            base["load"] = weight / len(robot.wheels)
            notes.append(
                f"load {base['load']:.4g} N: the weight of {weight:.4g} N at {base['gravity']:g} "
                f"m/s² by {len(robot.wheels)} wheels"
            )
    for key, option in (("radius", "--wheel radius=9cm"), ("width", "--wheel width=10cm"),
                        ("load", "--load 60N")):  # fmt: skip
        if key not in base:
            raise InputError(f"{key}: is required and missing; give {option}")
    base.setdefault("lug_height", 0.0)
    lugs = f", lugs {1e3 * base['lug_height']:g} mm" if base["lug_height"] else ", smooth"
    return (
        f"{title}: radius {1e3 * base['radius']:g} mm, width {1e3 * base['width']:g} mm{lugs}, "
        f"load {base['load']:.4g} N"
    ), notes


# --- the models


def _candidate(variant: Variant, base: Mapping[str, Any], data: WheelData | None) -> Candidate:
    """A variant's models, one for each wheel of the data."""
    try:
        own = settings_of(variant.settings)
        _check(own)
        if data is not None and (fixed := [k for k in _LENGTHS if k in own]):
            raise InputError(f"{fixed[0]}: is given by the measured rows; set it for all variants")
        law, fit = variant.law, own.pop("fit", base.get("fit"))
        given = {**base, **own}
        given["coefficients"] = {**base["coefficients"], **own.get("coefficients", {})}
        found = _read_fit(str(fit)) if fit is not None else None
        if found is not None:
            law = found["model"] if law == "as_is" else law
            if law != found["model"]:
                raise InputError(f"fit: '{fit}' was made with {found['model']}, not with {law}")
            given.setdefault("fitted", str(fit))
        if law == "as_is":
            raise InputError(f"law: is missing; give law=… of {', '.join(MODELS)}, or fit=FOLDER")
        return _make(variant.name, law, given, own, found, data)
    except InputError as error:
        said = str(error).removeprefix(f"{variant.law}: ")
        raise InputError(f"{variant.name}: {said}") from None


def _make(
    name: str,
    law: str,
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    found: Mapping[str, Any] | None,
    data: WheelData | None,
) -> Candidate:
    coefficients = {k: v for k, v in given["coefficients"].items() if k in MODELS[law][1]}
    unknown = [k for k in own.get("coefficients", {}) if k not in MODELS[law][1]]
    if unknown:
        raise InputError(
            f"unknown coefficient '{unknown[0]}'; {suggest(unknown[0], MODELS[law][1])}"
        )
    soil = _soil(law, given, own, found)
    mean = float(np.mean(data.load)) if data is not None else float(given["load"])
    known = soil.extra if soil is not None else {}
    if found is not None:
        coefficients = {**coefficients, **found["coefficients"], **own.get("coefficients", {})}
    for key in ("mean_load", "nominal_load"):
        if key in MODELS[law][1] and key not in coefficients and key not in known:
            coefficients[key] = mean
    missing = [
        key for key, default in MODELS[law][1].items()
        if default is None and key not in coefficients and key not in known
    ]  # fmt: skip
    if missing:
        raise InputError(
            f"coefficients {', '.join(missing)}: missing; give them with "
            + " ".join(f"--set coefficients.{key}=…" for key in missing)
        )
    sizes = (
        [size for size, _ in data.wheels()]
        if data is not None
        else [tuple(given[k] for k in SIZES)]
    )
    models = []
    for size in sizes:
        exit, shares = _tread(law, given, own, found, size)
        if found is None:
            wheel = Wheel(size[0], size[1], exit, size[2], **shares, **given.get("tread", {}))
            models.append(WheelModel(law, wheel, soil, coefficients, given["gravity"]))
            continue
        # what was found are numbers of the wheel and the soil together
        wheel = Wheel(size[0], size[1], exit, size[2], surface=None, **shares)
        models.append(
            WheelModel(
                law,
                wheel,
                soil,
                coefficients,
                given["gravity"],
                slip_sinkage="exponent",
                carried=False,
            )
        )
    offset = float(found["sinkage_offset"]) if found is not None else 0.0
    load = None if data is not None else mean
    return Candidate(name, law, tuple(models), load, offset, given.get("fitted", ""))


def _soil(
    law: str,
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    found: Mapping[str, Any] | None,
) -> Soil | None:
    if not MODELS[law][2]:
        return None
    base = given.get("soil")
    if found is not None and "soil" not in own:
        base = found["soil"]
    numbers = {**given.get("soil_numbers", {}), **own.get("soil_numbers", {})}
    if found is not None:
        numbers = dict(own.get("soil_numbers", {}))
    if base is None:
        raise InputError("soil: is required and missing; give --soil, see `marsyard list soils`")
    if isinstance(base, Soil):
        return base
    soil = load_soil({"name": base, **numbers} if isinstance(base, str) else {**base, **numbers})
    if found is not None and "soil" not in own:
        soil = replace(soil, name="as fitted")
    if numbers:
        soil = replace(soil, name=", ".join([soil.name, *(f"{k} {v}" for k, v in numbers.items())]))
    # a soil's extra numbers may be those of other models
    return replace(soil, extra={k: v for k, v in soil.extra.items() if k in MODELS[law][1]})


def _tread(
    law: str,
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    found: Mapping[str, Any] | None,
    size: Any,
) -> tuple[Exit, dict[str, Any]]:
    """Exit rule and shares of a wheel."""
    shares: dict[str, Any] = {k: given[k] for k in ("shear_share", "lug_share") if k in given}
    rule = given.get("exit")
    if found is not None:
        fitted = _nearest(found["wheels"], size)
        if "exit" not in own:
            rule = Exit(fitted["exit_rule"], fitted["exit_value"])
        shares = {k: own.get(k, fitted[k]) for k in ("shear_share", "lug_share")}
    if rule is None:
        rule = DEFAULT
    return rule if isinstance(rule, Exit) else Exit.parse(str(rule), "exit"), shares


def _nearest(wheels: Sequence[Mapping[str, Any]], size: Any) -> Mapping[str, Any]:
    """The wheel of a fit that is most like this one."""
    return min(wheels, key=lambda w: sum(abs(w[k] - s) for k, s in zip(SIZES, size, strict=True)))


def _read_fit(folder: str) -> dict[str, Any]:
    path = Path(folder)
    path = path.parent if path.name in ("fit.json", "soil.yaml") else path
    file = path / "fit.json"
    if not file.is_file():
        raise InputError(f"fit: '{folder}' is not the folder of `marsyard identify`: no fit.json")
    found = read_json(file)
    if found.get("model") == SCM:
        raise InputError(
            f"fit: '{folder}' "
            f"was made with scm, whose forces require runs (see its points.csv); supported here: "
            f"{', '.join(MODELS)}"
        )
    try:
        model, own = str(found["model"]), found.get("coefficients") or {}
        coefficients = {k: float(v) for k, v in own.items() if k in MODELS[model][1]}
        wheels, offset = found["wheels"], float(found.get("sinkage_offset") or 0.0)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"fit: '{file}' cannot be read; repeat the identification") from None
    return {
        "model": model, "coefficients": coefficients, "wheels": wheels, "sinkage_offset": offset,
        "soil": str(path / "soil.yaml"),
    }  # fmt: skip


# --- asking them


def at_rows(candidate: Candidate, data: WheelData) -> dict[str, np.ndarray]:
    """What a candidate gives at the measured rows; NaN where its wheel sinks to the axle."""
    out = {q: np.full(len(data), np.nan) for q in QUANTITIES}
    for model, (_, rows) in zip(candidate.models, data.wheels(), strict=True):
        forces = model.under_load(data.load[rows], data.slip[rows], data.slip_angle[rows])
        for q, name in FORCES.items():
            out[q][rows] = getattr(forces, name)
    out["sinkage"] = out["sinkage"] + zero_of(candidate, data, out["sinkage"])
    return out


def zero_of(candidate: Candidate, data: WheelData, sinkage: np.ndarray) -> float:
    """What is added to the computed sinkage [m]: the fit's, or the mean difference."""
    if candidate.fitted or not data.relative_sinkage:
        return candidate.offset
    off = data.measured["sinkage"] - sinkage
    return float(np.nanmean(off)) if np.isfinite(off).any() else 0.0


def _misfits(
    data: WheelData | None, computed: Mapping[str, Mapping[str, np.ndarray]]
) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    if data is None:
        return {}, {}
    rms: dict[str, dict[str, float]] = {}
    sunk: dict[str, int] = {}
    for name, values in computed.items():
        rms[name] = {}
        for q in data.quantities:
            off = values[q] - data.measured[q]
            off = off[np.isfinite(off)]
            rms[name][q] = float(np.sqrt(np.mean(off**2))) if off.size else math.nan
        sunk[name] = int((~np.isfinite(values["pull"])).sum())
    return rms, sunk


def _sunk(candidate: Candidate, curves: xr.Dataset) -> str:
    """A sentence where the wheel does not carry its load without sinking to its axle."""
    pull = curves["drawbar_pull"].sel(law=candidate.name).isel(at_angle=0)
    lost = curves["slip"].values[~np.isfinite(pull.values)]
    if not lost.size:
        return ""
    where = (
        "at all slips" if lost.size == pull.size else f"from slip {lost.min():g} to {lost.max():g}"
    )
    return f"{candidate.name}: the wheel sinks to its axle {where}"


def _curves(
    candidates: Sequence[Candidate], at_slip: np.ndarray, at_angle: np.ndarray
) -> xr.Dataset:
    """Forces over slip at `at_angle` and over slip angle at `at_slip`."""
    import xarray as xr

    over_slip = {q: [] for q in QUANTITIES}  # type: dict[str, list[Any]]
    over_angle = {q: [] for q in QUANTITIES}  # type: dict[str, list[Any]]
    for c in candidates:
        a = c.models[0].under_load(c.load, SLIPS[None, :], at_angle[:, None])
        b = c.models[0].under_load(c.load, at_slip[:, None], ANGLES[None, :])
        for q, name in FORCES.items():
            over_slip[q].append(getattr(a, name))
            over_angle[q].append(getattr(b, name))
    variables: dict[str, Any] = {}
    for q, (unit, _, _, long_name) in QUANTITIES.items():
        attrs = {"units": unit, "long_name": long_name}
        variables[FORCES[q]] = (("law", "at_angle", "slip"), np.stack(over_slip[q]), attrs)
        name = f"{FORCES[q]}_over_angle"
        variables[name] = (("law", "at_slip", "slip_angle"), np.stack(over_angle[q]), attrs)
    coords = {
        "law": np.array([c.name for c in candidates], dtype=object),
        "slip": ("slip", SLIPS, {"units": "1", "long_name": "slip ratio"}),
        "slip_angle": ("slip_angle", ANGLES, {"units": "rad", "long_name": "slip angle"}),
        "at_slip": ("at_slip", at_slip, {"units": "1"}),
        "at_angle": ("at_angle", at_angle, {"units": "rad"}),
    }
    return xr.Dataset(variables, coords=coords)
