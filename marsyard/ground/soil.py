"""Soils: parameters of soil models, read from the library, a file or a scenario.

Pressure under a plate of width b pressed to the depth z (Bekker 1969), shear stress after the shear
displacement j under the pressure p (Mohr-Coulomb, Janosi and Hanamoto 1961):

    p = (k_c/b + k_φ) zⁿ              exponent n, k_c [N/m^(n+1)], k_phi [N/m^(n+2)]
    τ = (c + p tan φ) (1 − e^(−j/K))  cohesion c [Pa], friction_angle φ [rad], shear_modulus K [m]

The modulus k_c may be negative, as fits to plates of several sizes give it; only k_c/b + k_φ must
be positive for the width at hand. Reece's form p = (c k'_c + ρ g b k'_φ)(z/b)ⁿ has its own numbers;
a soil that has these and no Bekker moduli has the modulus (c k'_c + ρ g b k'_φ)/bⁿ for the width b
at hand, with the gravity g at which its numbers hold.

A soil need not have all numbers: sources often give only strength or only sinkage. A law asks for
those it needs with `require` or `number`. Where another number of the soil stands in, the field
says so; else the typical number of the soil's `kind` does, with a warning (`ground.typical`).

    load_soil("lunar_nominal")
    load_soil({"name": "krenn2008", "shear_modulus": "2 cm", "friction_angle": "30 deg"})
    load_soil("my_soil.yaml")
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from marsyard import library
from marsyard.cards import card, table, text_card
from marsyard.errors import InputError, suggest
from marsyard.files import exists
from marsyard.ground.soil_covariance import SoilCovariance, read_covariance
from marsyard.ground.triaxial import Triaxial, read_triaxial
from marsyard.ground.typical import KINDS, TYPICAL, Typical, warn_stand_in
from marsyard.units import UNITS, gravity_to_si, to_si

#: slope k_u of the pressure when the load is taken off, of soils that give none [Pa/m]; assumed, of
#: the size that Wong reports for sand some centimetres deep
UNLOADING_STIFFNESS = 2e7

PROVENANCE = ("published", "derived", "assumed")
#: standard gravity, at which soils are measured unless they say otherwise [m/s²]
EARTH = 9.81


@dataclass(frozen=True)
class _Kind:
    """A number of a soil: its dimension, what is allowed, and what stands in when it is missing."""

    dimension: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False  # whether `low` itself is excluded
    allowed: str = ""
    stands_in: str | None = None  # another number


_DEG = math.pi / 180


def _above_0(dimension: str, stands_in: str | None = None) -> _Kind:
    return _Kind(dimension, 0.0, open_low=True, allowed="above 0", stands_in=stands_in)


def _from_0(dimension: str) -> _Kind:
    return _Kind(dimension, 0.0, allowed="0 or more")


#: every number a soil can have
NUMBERS: dict[str, _Kind] = {
    "exponent": _Kind("number", 0.0, 2.5, True, "above 0 and at most 2.5"),
    "k_c": _Kind("cohesive_modulus"),
    "k_phi": _Kind("frictional_modulus"),
    "cohesion": _from_0("pressure"),
    "friction_angle": _Kind("angle", 0.0, 60 * _DEG, allowed="from 0 to 60 deg"),
    "shear_modulus": _above_0("length"),
    "density": _above_0("density"),
    "shear_modulus_lateral": _above_0("length", stands_in="shear_modulus"),
    "unloading_stiffness": _above_0("soil_stiffness"),
    "repose_angle": _Kind(
        "angle", 0.0, 89 * _DEG, allowed="from 0 to 89 deg", stands_in="friction_angle"
    ),
    "shear_layer": _from_0("length"),
    "damping": _from_0("soil_damping"),
    "exponent_slip": _Kind("number", 0.0, 2.5, allowed="from 0 to 2.5"),
    "exponent_side": _Kind("number", 0.0, 2.5, allowed="from 0 to 2.5"),
    "reece_kc": _Kind("number"),
    "reece_kphi": _Kind("number"),
}


#: SI units to show
_UNITS = {
    "k_c": "N/m^(n+1)", "k_phi": "N/m^(n+2)", "cohesion": "Pa", "friction_angle": "rad",
    "shear_modulus": "m", "density": "kg/m³", "shear_modulus_lateral": "m",
    "unloading_stiffness": "Pa/m", "repose_angle": "rad", "shear_layer": "m", "damping": "Pa·s/m",
}  # fmt: skip


@dataclass(frozen=True)
class Soil:
    """Numbers of one soil, SI. None: the source does not give it.

    kind: one of `typical.KINDS`, whose typical numbers stand in for missing ones; "": none.
    measured_at: gravity at which the numbers were measured and hold [m/s²]; None: at any.
    exponent: n of the pressure-sinkage law.
    k_c, k_phi: cohesive and frictional modulus [N/m^(n+1)], [N/m^(n+2)].
    cohesion [Pa], friction_angle [rad]: Mohr-Coulomb strength.
    shear_modulus: K, shear displacement over which 63 % of the strength is reached [m].
    density: bulk density [kg/m³].
    shear_modulus_lateral: K across the wheel's heading [m]; None: shear_modulus.
    unloading_stiffness: slope of the pressure when the load is taken off [Pa/m]; None: the law's
        own choice.
    repose_angle: steepest slope the loose soil keeps [rad]; None: friction_angle.
    shear_layer: thickness of the layer that a smooth wheel drags along [m].
    damping: pressure per speed of sinking [Pa·s/m].
    exponent_slip: n₁ of n = exponent + n₁ |s|, s the slip ratio (Ding et al. 2009).
    exponent_side: n₂, the same for motion across a wheel; wheel models only (ours).
    reece_kc, reece_kphi: Reece's k'_c and k'_φ.
    extra: numbers that belong to one law only, by name.
    triaxial: what a triaxial test says, for soil in columns.
    covariance: how surely its numbers are known, see `soil_covariance`.
    """

    name: str
    title: str = ""
    kind: str = ""
    measured_at: float | None = EARTH
    exponent: float | None = None
    k_c: float | None = None
    k_phi: float | None = None
    cohesion: float | None = None
    friction_angle: float | None = None
    shear_modulus: float | None = None
    density: float | None = None
    shear_modulus_lateral: float | None = None
    unloading_stiffness: float | None = None
    repose_angle: float | None = None
    shear_layer: float = 0.0
    damping: float = 0.0
    exponent_slip: float = 0.0
    exponent_side: float = 0.0
    reece_kc: float | None = None
    reece_kphi: float | None = None
    extra: Mapping[str, float] = field(default_factory=dict, hash=False)
    triaxial: Triaxial | None = None
    covariance: SoilCovariance | None = None

    def __post_init__(self) -> None:
        if self.kind and self.kind not in KINDS:
            raise InputError(f"soil {self.name}: kind '{self.kind}'; {suggest(self.kind, KINDS)}")
        at = self.measured_at
        if at is not None and not (math.isfinite(at) and at > 0):
            raise InputError(f"soil {self.name}: measured_at = {at:g} m/s²: above 0, or any")
        for name, kind in NUMBERS.items():
            value = getattr(self, name)
            if value is not None:
                _check(self.name, name, value, kind)

    def __repr__(self) -> str:
        """As a terminal shows it."""
        given = {name: getattr(self, name) for name in NUMBERS} | dict(self.extra)
        rows = [
            (name, f"{value:.4g} {_UNITS.get(name, '')}".rstrip())
            for name, value in given.items()
            if isinstance(value, int | float) and value
        ]
        return text_card(f"Soil '{self.name}'", [("what", self.title), *rows])

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        given = {name: getattr(self, name) for name in NUMBERS}
        rows = [(name, value, _UNITS.get(name, "")) for name, value in given.items() if value]
        rows += [(name, value, "") for name, value in self.extra.items()]
        title = f"{self.name}: {self.title}" if self.title else self.name
        return card(title, "", table(rows, ("number", "value", "unit")))

    def number(self, name: str) -> float:
        """One number, or what stands in for it; an InputError where the soil has neither."""
        value = self._find(name)
        if value is not None:
            return value
        instead = NUMBERS[name].stands_in
        if instead is not None:
            return self.number(instead)
        usual = self.typical(name)
        if usual is None:
            raise InputError(_missing(self.name, name))
        warn_stand_in(f"soil {self.name}", name, number_text(name, usual.value), usual.source)
        return usual.value

    def typical(self, name: str) -> Typical | None:
        """What is typical of the soil's kind where the soil itself gives no such number, which a
        law that asks for it gets with a warning; None where there is nothing or it is given."""
        return None if self.has(name) else TYPICAL[self.kind].get(name)

    def require(self, *names: str) -> None:
        """Raise an InputError that names the first of `names` the soil lacks and how to give it."""
        for name in names:
            self.number(name)

    def has(self, *names: str) -> bool:
        """Whether the soil itself has all of `names`, or other numbers that stand in for them."""
        return all(self._find(name) is not None for name in names)

    def supplies(self, *names: str) -> bool:
        """Whether `number` answers for all of `names`, be it with what is typical."""
        return all(
            self.has(name) or (NUMBERS[name].stands_in or name) in TYPICAL[self.kind]
            for name in names
        )

    @property
    def has_modulus(self) -> bool:
        """Whether `pressure_modulus` is known: from Bekker's numbers or from Reece's."""
        return self.has("k_c", "k_phi") or self._has_reece()

    def _has_reece(self) -> bool:
        return self.has("exponent", "cohesion", "reece_kc", "reece_kphi")

    def pressure_modulus(self, width: float) -> float:
        """k_c/b + k_φ for a plate or wheel of `width` b [m], in N/m^(n+2); always positive."""
        if not width > 0:
            raise InputError(f"soil {self.name}: width = {width:g} m: above 0")
        if not self.has("k_c", "k_phi") and self._has_reece():
            return self._reece_modulus(width)
        k_c, k_phi = self.number("k_c"), self.number("k_phi")
        modulus = k_c / width + k_phi
        if modulus <= 0:
            from_on = f"above {-k_c / k_phi:.3g} m" if k_phi > 0 else "of no size"
            raise InputError(
                f"soil {self.name}: k_c/b + k_phi = {modulus:.4g} N/m^(n+2) is not positive for "
                f"the width b = {width:g} m; these numbers are valid for widths {from_on}"
            )
        return modulus

    def _reece_modulus(self, width: float) -> float:
        """(c k'_c + ρ g b k'_φ)/bⁿ [N/m^(n+2)]."""
        pressure = self.number("cohesion") * self.number("reece_kc")
        weight = self.number("density") * (self.measured_at or EARTH)
        pressure += weight * width * self.number("reece_kphi")
        if pressure <= 0:
            raise InputError(
                f"soil {self.name}: c k'_c + ρ g b k'_φ = {pressure:.4g} Pa is not positive for "
                f"the width b = {width:g} m"
            )
        return float(pressure / width ** self.number("exponent"))

    def pressure(self, sinkage: Any, width: float) -> Any:
        """Pressure [Pa] at the depth `sinkage` [m] under a plate of `width` [m]; 0 above ground."""
        depth = np.maximum(np.asarray(sinkage, dtype=float), 0.0)
        return self.pressure_modulus(width) * depth ** self.number("exponent")

    def sinkage(self, pressure: Any, width: float) -> Any:
        """Depth [m] at which a plate of `width` [m] carries `pressure` [Pa]."""
        ratio = np.maximum(np.asarray(pressure, dtype=float), 0.0) / self.pressure_modulus(width)
        return ratio ** (1.0 / self.number("exponent"))

    def shear_strength(self, pressure: Any) -> Any:
        """Largest shear stress c + p tan φ [Pa] under `pressure` p [Pa]."""
        slope = math.tan(self.number("friction_angle"))
        return self.number("cohesion") + np.maximum(pressure, 0.0) * slope

    def shear(self, pressure: Any, displacement: Any) -> Any:
        """Shear stress [Pa] under `pressure` [Pa] after a shear `displacement` [m]."""
        j = np.maximum(np.asarray(displacement, dtype=float), 0.0)
        return self.shear_strength(pressure) * -np.expm1(-j / self.number("shear_modulus"))

    def _find(self, name: str) -> float | None:
        if name not in NUMBERS:
            raise InputError(f"soil {self.name}: no number '{name}'; {suggest(name, NUMBERS)}")
        value: float | None = getattr(self, name)
        instead = NUMBERS[name].stands_in
        return self._find(instead) if value is None and instead else value


def load_soil(soil: str | Mapping[str, Any], folder: Path | None = None) -> Soil:
    """A soil of the library by name, from a YAML file, or one of these with other numbers.

    soil: a name, a path (from `folder` or from here), or a mapping with `name` and numbers that
        replace those of the named soil; a mapping without `name` is a soil of its own. Numbers are
        SI or texts with a unit: {"name": "krenn2008", "shear_modulus": "2 cm"}, and those that
        belong to one law under `extra`. Of a mapping with a `definition` (see `read_soil`) the name
        is only a label, and nothing is read.
    """
    given: dict[str, Any] = {"name": soil} if isinstance(soil, str) else dict(soil)
    name, definition = given.pop("name", None), given.pop("definition", None)
    start: dict[str, Any] = {"name": "custom soil"}
    if definition is not None:
        start = _values(str(name or start["name"]), definition)
    elif name is not None:
        start = _values(*_file(str(name), folder))
    if "triaxial" in given:
        old = start.get("triaxial") or Triaxial()
        start["triaxial"] = replace(old, **read_triaxial(start["name"], given.pop("triaxial")))
    if "extra" in given:
        extra = _entries(start["name"], given, "extra")
        own = {k: _plain(start["name"], k, value) for k, value in extra.items()}
        start["extra"] = {**start.get("extra", {}), **own}
        del given["extra"]
    for key in ("kind", "measured_at"):
        if key in given:
            start[key] = _property(start["name"], key, given.pop(key))
    for key, value in given.items():
        if key not in NUMBERS:
            known = ["name", "definition", "kind", "measured_at", *NUMBERS, "extra", "triaxial"]
            raise InputError(f"soil {start['name']}: unknown number '{key}'; {suggest(key, known)}")
        start[key] = _si(start["name"], key, value)
    return Soil(**start)


def read_soil(soil: str | Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """A soil as `load_soil` takes it, with the contents of the file that it names as `definition`:
    what the library or the file says later does not change it."""
    given: dict[str, Any] = {"name": soil} if isinstance(soil, str) else dict(soil)
    if given.get("name") is None or given.get("definition") is not None:
        return given
    name, definition = _file(str(given.pop("name")), folder)
    return {"name": name, "definition": definition, **given}


def changed_numbers(soil: str | Mapping[str, Any]) -> dict[str, Any]:
    """What a soil's mapping changes of the soil that it names."""
    given = {} if isinstance(soil, str) else soil
    return {k: v for k, v in given.items() if k not in ("name", "definition")}


def _file(name: str, folder: Path | None) -> tuple[str, dict[str, Any]]:
    """The soil's own name and its file as a mapping."""
    if name in library.names("soils"):
        return name, library.read_yaml(library.path_of("soils", name))
    if not name.endswith((".yaml", ".yml")):
        raise InputError(f"unknown soil '{name}'; {suggest(name, library.names('soils'))}")
    candidates = [Path(name)] if folder is None else [folder / name, Path(name)]
    path = next((p for p in candidates if exists(p)), None)
    if path is None:
        raise InputError(f"soil: no such file '{name}'")
    return path.stem, library.read_yaml(path)


def _values(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of Soil from a soil's file."""
    if not isinstance(data, Mapping):
        raise InputError(f"soil {name}: definition: a mapping as in a soil's file is expected")
    known = (
        "title", "description", "kind", "measured_at", "numbers", "extra", "covariance", "triaxial",
        "sources",
    )  # fmt: skip
    for key in data:
        if key not in known:
            raise InputError(f"soil {name}: unknown key '{key}'; {suggest(str(key), known)}")
    values: dict[str, Any] = {"name": name, "title": str(data.get("title", ""))}
    for key in ("kind", "measured_at"):
        if key in data:
            values[key] = _property(name, key, data[key])
    for key, entry in _entries(name, data, "numbers").items():
        if key not in NUMBERS:
            raise InputError(
                f"soil {name}: numbers: unknown number '{key}'; {suggest(key, NUMBERS)}"
            )
        values[key] = _si(name, key, _with_unit(name, key, entry))
    extra = _entries(name, data, "extra")
    if data.get("triaxial"):
        values["triaxial"] = Triaxial(**read_triaxial(name, data["triaxial"]))
    values["extra"] = {k: _plain(name, k, _with_unit(name, k, e)) for k, e in extra.items()}
    if data.get("covariance") is not None:
        values["covariance"] = _covariance(name, data["covariance"], values)
    return values


def with_covariance(soil: Soil, data: Mapping[str, Any]) -> Soil:
    """The soil with the `covariance` that a file would have; an empty one is none."""
    values = {**{number: getattr(soil, number) for number in NUMBERS}, "extra": soil.extra}
    return replace(soil, covariance=_covariance(soil.name, data, values) if data else None)


def _covariance(name: str, data: Any, values: Mapping[str, Any]) -> SoilCovariance:
    """The `covariance` of a soil with these numbers and these under `extra`."""
    dimensions = {number: kind.dimension for number, kind in NUMBERS.items()}
    has = {k: v for k, v in {**values, **values["extra"]}.items() if isinstance(v, float)}
    return read_covariance(name, data, dimensions, has)


def _entries(name: str, data: Mapping[str, Any], part: str) -> dict[str, Any]:
    entries = data.get(part) or {}
    if not isinstance(entries, Mapping):
        raise InputError(f"soil {name}: {part}: a mapping of numbers is expected")
    return {str(k): v for k, v in entries.items()}


def _with_unit(name: str, key: str, entry: Any) -> Any:
    """{value: 5, unit: cm} as the text "5 cm"; a bare number or text stays."""
    if not isinstance(entry, Mapping):
        return entry
    if "value" not in entry:
        raise InputError(f"soil {name}: {key}: 'value' is missing")
    value, unit = entry["value"], str(entry.get("unit") or "")
    if unit and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r} {unit}"
    return value


def _property(name: str, key: str, entry: Any) -> str | float | None:
    """What a soil says of itself beside its numbers."""
    if key == "kind":
        return str(entry)
    value = _with_unit(name, key, entry)
    if value == "any":
        return None
    try:
        return gravity_to_si(value)
    except ValueError as error:
        raise InputError(f"soil {name}: {key}: {error}") from None


def _si(name: str, key: str, value: Any) -> float:
    try:
        return to_si(value, NUMBERS[key].dimension)
    except ValueError as error:
        raise InputError(f"soil {name}: {key}: {error}") from None


def _plain(name: str, key: str, value: Any) -> float:
    try:
        return to_si(value, "number")
    except ValueError as error:
        raise InputError(f"soil {name}: extra: {key}: {error}") from None


def _check(soil: str, name: str, value: float, kind: _Kind) -> None:
    below = value <= kind.low if kind.open_low else value < kind.low
    # a hair of room, for angles that were degrees
    if not math.isfinite(value) or below or value > kind.high * (1 + 1e-12):
        shown = f"{value / _DEG:g} deg" if kind.dimension == "angle" else f"{value:g}"
        raise InputError(f"soil {soil}: {name} = {shown}: {kind.allowed or 'a finite number'}")


def number_text(name: str, value: float) -> str:
    """A number of a soil with its unit."""
    return f"{value:g} {_UNITS.get(name, '')}".strip()


def _missing(soil: str, name: str) -> str:
    unit = next(iter(UNITS[NUMBERS[name].dimension]))
    unit = f" [{unit}]" if unit else ""
    typical = [kind for kind in KINDS if name in TYPICAL[kind]]
    kind = f", or its kind ({', '.join(typical)})" if typical else ""
    return (
        f"soil {soil} has no {name}{unit}"
        f", which this law needs; give it with {{name: {soil}, {name}: …}}{kind}"
    )


#: columns of the table: heading, number, factor from SI
COLUMNS = (
    ("n", "exponent", 1.0),
    ("k_c [kN/m^(n+1)]", "k_c", 1e-3),
    ("k_φ [kN/m^(n+2)]", "k_phi", 1e-3),
    ("c [Pa]", "cohesion", 1.0),
    ("φ [°]", "friction_angle", 1 / _DEG),
    ("K [mm]", "shear_modulus", 1e3),
    ("ρ [kg/m³]", "density", 1.0),
)
_MARK = {"published": "", "derived": " ᵈ", "assumed": " ᵃ"}


def soil_table() -> str:
    """All soils of the library as a Markdown table, with marks for derived and assumed numbers."""
    heads = ["soil", *(h for h, _, _ in COLUMNS), "what"]
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    for name in library.names("soils"):
        data = library.read_yaml(library.path_of("soils", name))
        soil = load_soil(name)
        cells = [f"`{name}`"]
        for _, number, factor in COLUMNS:
            value = getattr(soil, number)
            entry = (data.get("numbers") or {}).get(number, {})
            mark = _MARK[entry.get("provenance", "published")]
            cells.append("–" if value is None else f"{value * factor:.5g}{mark}")
        lines.append("| " + " | ".join([*cells, soil.title]) + " |")
    return "\n".join(lines) + "\n"
