"""Parameters that can be identified: names, units, bounds, start values, and where they belong.

Soil numbers go by their usual letters or by their names in a soil file:

    c cohesion [Pa]             phi friction_angle [deg]       K shear_modulus [mm]
    Ky shear_modulus_lateral    n exponent                     n1 exponent_slip
    n2 exponent_side
    k k_c/b + k_φ in one [N/m^(n+2)]: what wheels of one width can tell; k_c and k_phi apart need
      wheels of several widths                                 density [kg/m³]

    repose_angle, unloading_stiffness: of the soil contact model alone, which has no n2

The tread: exit (value of the exit rule), shear_share, lug_share (wheels with lugs only).
A model's own coefficients go by their names in its module. `sinkage_offset` [mm] is added to the
computed sinkage where the zero of the measured one is not known.

Bounds are what the quantity can be at all, not what is likely; priors say the latter. Parameters
that span decades (K, Ky, k, k_phi, stiffnesses) are searched by their logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from marsyard.errors import InputError, suggest
from marsyard.interaction.wheel_models import MODELS

#: the soil contact model, which is fitted by runs of a wheel in its rig (`wheel_rig`)
SCM = "scm"
#: all that can be fitted
FITTED = (*MODELS, SCM)

_DEG = math.pi / 180


@dataclass(frozen=True)
class Parameter:
    """A number that can be searched for.

    place: "soil", "wheel", "model" or "data".
    field: its name there.
    low, high: bounds, SI.
    log: searched by its logarithm.
    unit, factor: as it is shown, value · factor.
    dimension: of a text with a unit, see `marsyard.units`.
    """

    name: str
    place: str
    field: str
    low: float
    high: float
    log: bool = False
    unit: str = ""
    factor: float = 1.0
    dimension: str = "number"
    start: float | None = None

    def to_unit(self, value: float) -> float:
        """The value as a fraction of the range between its bounds."""
        low, high, x = self._ends(value)
        return float(min(max((x - low) / (high - low), 0.0), 1.0))

    def from_unit(self, u: float) -> float:
        """The value at a fraction of the range between its bounds."""
        low, high, _ = self._ends(self.low)
        x = low + min(max(u, 0.0), 1.0) * (high - low)
        value = math.exp(x) if self.log else x
        return min(max(value, self.low), self.high)

    @property
    def span(self) -> float:
        """The range from bound to bound, or of its logarithm."""
        low, high, _ = self._ends(self.low)
        return high - low

    def slope(self, u: float) -> float:
        """d value / d u."""
        return self.span * (self.from_unit(u) if self.log else 1.0)

    def _ends(self, value: float) -> tuple[float, float, float]:
        if self.log:
            return math.log(self.low), math.log(self.high), math.log(max(value, 1e-300))
        return self.low, self.high, value


_SOIL = (
    Parameter("c", "soil", "cohesion", 0.0, 2e4, unit="Pa", dimension="pressure"),
    Parameter(
        "phi", "soil", "friction_angle", 1 * _DEG, 60 * _DEG, unit="deg", factor=1 / _DEG,
        dimension="angle",
    ),
    Parameter(
        "K", "soil", "shear_modulus", 2e-4, 0.2, log=True, unit="mm", factor=1e3,
        dimension="length",
    ),
    Parameter(
        "Ky", "soil", "shear_modulus_lateral", 2e-4, 0.5, log=True, unit="mm", factor=1e3,
        dimension="length",
    ),
    Parameter("n", "soil", "exponent", 0.1, 2.5),
    Parameter("n1", "soil", "exponent_slip", 0.0, 2.5),
    Parameter("n2", "soil", "exponent_side", 0.0, 2.5),
    Parameter(
        "k", "soil", "k", 1e3, 1e10, log=True, unit="N/m^(n+2)", dimension="frictional_modulus"
    ),
    Parameter("k_c", "soil", "k_c", -1e6, 1e6, unit="N/m^(n+1)", dimension="cohesive_modulus"),
    Parameter(
        "k_phi", "soil", "k_phi", 1e3, 1e10, log=True, unit="N/m^(n+2)",
        dimension="frictional_modulus",
    ),
    Parameter("density", "soil", "density", 500.0, 4000.0, unit="kg/m³", dimension="density"),
    Parameter(
        "repose_angle", "soil", "repose_angle", 5 * _DEG, 60 * _DEG, unit="deg", factor=1 / _DEG,
        dimension="angle",
    ),
    Parameter(
        "unloading_stiffness", "soil", "unloading_stiffness", 1e6, 1e9, log=True, unit="Pa/m",
        dimension="soil_stiffness",
    ),
)  # fmt: skip
_NEEDS = {
    "c": "strength", "phi": "strength", "K": "shear", "Ky": "shear", "density": "shear",
    "n": "sinkage", "k": "sinkage", "k_c": "sinkage", "k_phi": "sinkage", "n1": "sinkage",
    "n2": "sinkage",
}  # fmt: skip
#: numbers of the soil that the soil contact model works with
_OF_SCM = (
    "c", "phi", "K", "Ky", "n", "n1", "k", "k_c", "k_phi", "repose_angle",
    "unloading_stiffness",
)  # fmt: skip
#: its own bounds: loose soil that stands at a few degrees flows without end (repose_angle is phi
#: where the soil gives none), and runs take minutes
_BOUNDS_OF_SCM = {"phi": (8 * _DEG, 60 * _DEG), "repose_angle": (8 * _DEG, 60 * _DEG)}
_WHEEL = (
    Parameter("exit", "wheel", "exit", 0.0, 2.0),
    Parameter("shear_share", "wheel", "shear_share", 0.0, 1.0),
    Parameter("lug_share", "wheel", "lug_share", 0.0, 1.0),
)
_OFFSET = Parameter(
    "sinkage_offset", "data", "sinkage_offset", -0.3, 0.3, unit="mm", factor=1e3,
    dimension="length", start=0.0,
)  # fmt: skip

#: low, high, log, start of the models' own coefficients
_OWN: dict[str, tuple[float, float, bool, float | None]] = {
    "peak_0": (0.02, 0.95, False, 0.4),
    "peak_1": (-1.0, 1.0, False, 0.15),
    "slope_x": (0.0, 0.3, False, 0.0),
    "slope_y": (0.0, 0.3, False, 0.0),
    "c_P1": (-0.95, 3.0, False, 0.0),
    "c_P2": (-4.0, 4.0, False, 0.0),
    "c_P3": (-4.0, 4.0, False, 0.0),
    "c_M": (-4.0, 4.0, False, 0.0),
    "friction": (0.01, 3.0, False, 0.5),
    "slip_stiffness": (0.05, 500.0, True, 5.0),
    "rolling": (0.0, 1.0, False, 0.05),
    "stiffness": (10.0, 1e9, True, 1e4),
    "torque_0": (-2.0, 2.0, False, 0.0),
    "torque_1": (-2.0, 2.0, False, 0.0),
    "camber_y": (-5.0, 5.0, False, 0.0),
    "combine_x": (0.0, 20.0, False, 0.0),
    "combine_y": (0.0, 20.0, False, 0.0),
    "nominal_load": (1e-3, 1e6, True, None),
    "mean_load": (1e-3, 1e6, True, None),
}
#: the same of the magic formula's curves, along and across
_CURVE = {
    "shape": (0.2, 3.0, False, 1.5),
    "peak": (0.01, 5.0, False, 0.4),
    "peak_load": (-3.0, 3.0, False, 0.0),
    "peak_camber": (-20.0, 20.0, False, 0.0),
    "stiff": (0.05, 100.0, True, 3.0),
    "stiff_load": (-30.0, 30.0, False, 0.0),
    "curve": (-10.0, 1.0, False, 0.0),
    "curve_load": (-5.0, 5.0, False, 0.0),
    "shift": (-0.5, 0.5, False, 0.0),
    "offset": (-1.0, 1.0, False, 0.0),
    "offset_load": (-1.0, 1.0, False, 0.0),
}
for _key, _row in _CURVE.items():
    for _axis in "xy":
        _name, _, _more = _key.partition("_")
        _OWN["_".join(filter(None, (_name, _axis, _more)))] = _row
#: coefficients that are not searched for: they only scale others
_SCALES = ("nominal_load", "mean_load")


def coefficients(model: str) -> Mapping[str, float | None]:
    """A model's own coefficients with their values where not given; None: they must be."""
    return {} if model == SCM else MODELS[_known(model)][1]


def needs(model: str) -> tuple[str, ...]:
    """What a model needs of a soil: strength, sinkage, shear."""
    return ("strength", "sinkage", "shear") if model == SCM else MODELS[_known(model)][2]


def has_exit(model: str) -> bool:
    """Whether the forces of a model depend on an exit rule."""
    return model != SCM and "strength" in needs(model)


def _known(model: str) -> str:
    if model not in FITTED:
        raise InputError(f"model '{model}'; {suggest(model, FITTED)}")
    return model


def _of_soil(model: str) -> list[Parameter]:
    """Numbers of the soil that a model works with."""
    if model == SCM:
        bounds = {p.name: (p.low, p.high) for p in _SOIL} | _BOUNDS_OF_SCM
        found = [p for p in _SOIL if p.name in _OF_SCM]
        return [replace(p, low=bounds[p.name][0], high=bounds[p.name][1]) for p in found]
    return [p for p in _SOIL if _NEEDS.get(p.name) in needs(model)]


def parameters(model: str) -> dict[str, Parameter]:
    """All parameters of a model by name."""
    own = coefficients(model)
    found = {p.name: p for p in _of_soil(model)}
    if has_exit(model):
        found |= {p.name: p for p in _WHEEL}
    for name in own:
        low, high, log, start = _OWN[name]
        unit, dimension = ("N", "force") if name in _SCALES else ("", "number")
        if name == "stiffness":
            unit = "N/m"
        if name.startswith("slope_"):
            unit = "m/rad"
        found[name] = Parameter(
            name, "model", name, low, high, log, unit, 1.0, dimension, start
        )  # fmt: skip
    found[_OFFSET.name] = _OFFSET
    return found


def find(model: str, name: str, option: str = "free") -> Parameter:
    """A parameter of a model by its letter or its name in a soil file."""
    known = parameters(model)
    if name in known:
        return known[name]
    for parameter in known.values():
        if name == parameter.field:
            return parameter
    elsewhere = next((m for m in FITTED if name in parameters(m)), None)
    why = f"{model} does not use it" if elsewhere else suggest(name, known)
    raise InputError(
        f"{option}: no parameter '{name}' of {model}; "
        + (f"{why}, valid: {', '.join(known)}." if elsewhere else why)
    )


def searchable(model: str, name: str) -> Parameter:
    """The same, for a parameter that is to be searched for."""
    parameter = find(model, name)
    if parameter.name in _SCALES:
        raise InputError(f"free: '{name}' only scales other coefficients; fix it instead")
    return parameter


#: what is searched for where nothing is said
DEFAULT_FREE: dict[str, tuple[str, ...]] = {
    "wong_reece": ("phi", "K", "k", "n1", "exit"),
    "ishigami": ("phi", "K", "k", "n1", "exit"),
    "ding": ("phi", "K", "k", "n1", "c_P1", "c_P2"),
    "magic_formula": ("k", "n1", "peak_x", "stiff_x", "offset_x", "torque_0", "torque_1"),
    "rigid_slip": ("friction", "slip_stiffness", "rolling", "stiffness"),
    SCM: ("phi", "K", "k", "n1"),
}
#: added where side forces were measured
SIDE_FREE: dict[str, tuple[str, ...]] = {
    "wong_reece": ("Ky",),
    "ishigami": ("Ky", "slope_x"),
    "ding": ("Ky",),
    "magic_formula": ("peak_y", "stiff_y", "combine_x", "combine_y"),
    "rigid_slip": (),
    SCM: ("Ky",),
}


def default_free(
    model: str,
    measured: tuple[str, ...],
    relative_sinkage: bool = False,
    sinkage_aside: bool = False,
    several_loads: bool = False,
    several_widths: bool = False,
) -> tuple[str, ...]:
    """What is searched for where nothing is said, for these measured quantities.

    sinkage_aside: sinkages were measured at several slip angles; several_loads: at several loads,
        several_widths: of wheels whose widths differ.
    """
    names = DEFAULT_FREE[_known(model)] + (SIDE_FREE[model] if "side" in measured else ())
    if sinkage_aside and "n2" in parameters(model):
        names += ("n2",)
    if several_loads and "n" in parameters(model):
        names += ("n",)
    if several_widths and "k_c" in parameters(model):
        at = names.index("k")
        names = (*names[:at], "k_c", "k_phi", *names[at + 1 :])
    gone = set()
    if "torque" not in measured:
        gone |= {"torque_0", "torque_1"}
    # this model's sinkage does not depend on slip: without its zero it says nothing
    if model == "rigid_slip" and (relative_sinkage or "sinkage" not in measured):
        gone |= {"stiffness"}
    # forces alone do not tell how deep the wheel is, nor, without torque, where the pull comes from
    if "sinkage" not in measured:
        gone |= {"k", "k_c", "k_phi", "n1"}
        if "torque" not in measured:
            gone |= {"c_P1", "c_P2"}
    return tuple(n for n in names if n not in gone)
