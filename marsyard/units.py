"""Conversion of units at the interface: numbers are SI, texts may have a unit, all internal values
are SI.

>>> to_si("10 deg", "angle")
0.17453292519943295
>>> to_si("5 cm", "length")
0.05
"""

from __future__ import annotations

import difflib
import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from marsyard.errors import InputError, clip, quote, suggest

_DEG = math.pi / 180.0

#: factor to SI of every unit, by dimension; the first of each is the SI unit
UNITS: dict[str, dict[str, float]] = {
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "km": 1e3},
    "area": {"m²": 1.0, "mm²": 1e-6, "cm²": 1e-4},
    "angle": {"rad": 1.0, "deg": _DEG, "°": _DEG, "mrad": 1e-3, "turn": 2 * math.pi},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0, "h": 3600.0},
    "mass": {"kg": 1.0, "g": 1e-3, "t": 1e3},
    "speed": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1 / 3.6},
    "angular_speed": {"rad/s": 1.0, "deg/s": _DEG, "°/s": _DEG, "rpm": 2 * math.pi / 60},
    "acceleration": {"m/s²": 1.0, "m/s^2": 1.0, "m/s2": 1.0},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "pressure": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9},
    "torque": {"N·m": 1.0, "N.m": 1.0, "N*m": 1.0, "Nm": 1.0, "mN·m": 1e-3, "mNm": 1e-3},
    "current": {"A": 1.0, "mA": 1e-3},
    "energy": {"J": 1.0, "kJ": 1e3, "Wh": 3600.0},
    "temperature_rise": {"K": 1.0},
    "thermal_resistance": {"K/W": 1.0},
    "heat_capacity": {"J/K": 1.0},
    "angular_stiffness": {"N·m/rad": 1.0, "Nm/rad": 1.0, "N.m/rad": 1.0, "N·m/deg": 1 / _DEG},
    "beam_stiffness": {"N·m²": 1.0, "N·m^2": 1.0, "Nm²": 1.0, "N.m2": 1.0, "kN·m²": 1e3},
    "density": {"kg/m³": 1.0, "kg/m^3": 1.0, "g/cm³": 1e3, "g/cm^3": 1e3},
    "soil_stiffness": {
        "Pa/m": 1.0,
        "kPa/m": 1e3,
        "MPa/m": 1e6,
        "GPa/m": 1e9,
        "N/m³": 1.0,
        "N/m^3": 1.0,
    },
    "soil_damping": {"Pa·s/m": 1.0, "kPa·s/m": 1e3},
    "cohesive_modulus": {"N/m^(n+1)": 1.0, "kN/m^(n+1)": 1e3},
    "frictional_modulus": {"N/m^(n+2)": 1.0, "kN/m^(n+2)": 1e3},
    "angular_damping": {"N·m·s/rad": 1.0, "Nms/rad": 1.0, "N.m.s/rad": 1.0},
    "data_rate": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6},
    "data_size": {"B": 1.0, "kB": 1e3, "MB": 1e6},
    "number": {"": 1.0, "%": 1e-2},
}

#: gravity on the ground of each world [m/s²]
WORLDS = {"mars": 3.72, "moon": 1.62, "earth": 9.81}

_NUMBER = re.compile(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")


def to_si(value: Any, dimension: str) -> float:
    """`value` as a finite float in the SI unit of `dimension`.

    A bare number is taken as SI. A text is a number followed by a unit of that dimension.
    Raises ValueError with one sentence that names the unit and those allowed.
    """
    units = UNITS[dimension]
    allowed = ", ".join(u for u in units if u) or "a plain number"
    kind = dimension.replace("_", " ")
    kind = ("an " if kind[0] in "aeiou" else "a ") + kind
    give = f"give a number or one with a unit: {allowed}"
    if isinstance(value, bool):
        raise ValueError(f"'{clip(value)}' is not {kind}; {give}")
    if isinstance(value, int | float):
        number = float(value) if abs(value) < 1e308 else math.inf
    elif isinstance(value, str):
        match = _NUMBER.match(value)
        if match is None:
            raise ValueError(f"'{clip(value)}' is not {kind}; {give}")
        unit = match.group(2)
        if unit and unit not in units:
            other = dimension_of(unit)
            what = f"a unit of {other.replace('_', ' ')}" if other else "not a known unit"
            raise ValueError(f"'{clip(unit)}' in '{clip(value)}' is {what}; {kind} takes {allowed}")
        number = float(match.group(1)) * units.get(unit, 1.0)
    else:
        raise ValueError(f"{quote(value)} is not {kind}; {give}")
    if not math.isfinite(number):
        raise ValueError(f"{quote(value)} is not finite; {kind} must be a finite number")
    return number


def gravity_to_si(value: Any) -> float:
    """Gravity [m/s²] as a number, a number with a unit, or the name of a world.

    >>> gravity_to_si("Moon")
    1.62
    """
    name = value.strip().lower() if isinstance(value, str) else ""
    if name in WORLDS:
        return WORLDS[name]
    if name.isalpha():
        near = difflib.get_close_matches(name, WORLDS, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ValueError(
            f"unknown world '{clip(value.strip())}'; {hint}give mars, moon, earth or a number in "
            "m/s²"
        )
    return to_si(value, "acceleration")


def read_gravity(value: Any, what: str = "gravity") -> float:
    """`gravity_to_si`, of what a user gives; `what` begins the sentence where it cannot be read."""
    try:
        return gravity_to_si(value)
    except ValueError as error:
        raise InputError(f"{what}: {error}") from None


def dimension_of(unit: str) -> str | None:
    """What a unit measures ("deg" → "angle"); None if it is not known."""
    return next((d for d, units in UNITS.items() if unit in units), None)


def unit_of(value: Any) -> str:
    """The unit that a text carries; none for a number."""
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return match.group(2) if match else ""


def any_to_si(value: Any) -> float:
    """`value` in SI whatever it measures: a number, or a text with any known unit."""
    unit = unit_of(value)
    dimension = dimension_of(unit)
    if dimension is None:
        nearest = suggest(unit, [u for units in UNITS.values() for u in units if u])
        raise ValueError(f"'{clip(unit)}' in '{clip(value)}' is not a known unit; {nearest}")
    return to_si(value, dimension)


def in_unit(value: Any, unit: str) -> float:
    """`value` (SI, or a text with a unit) in another unit of the same dimension."""
    own, dimension = unit_of(value), dimension_of(unit)
    if own == unit:
        return float(str(value).removesuffix(unit)) if unit else any_to_si(value)
    if own and dimension_of(own) != dimension:
        raise ValueError(f"'{own}' in '{clip(value)}' cannot be given in '{unit}'")
    return any_to_si(value) / (UNITS[dimension][unit] if dimension else 1.0)


def _quantity(dimension: str) -> Any:
    return BeforeValidator(lambda v: to_si(v, dimension), json_schema_input_type=float | str)


def _typed(dimension: str) -> Any:
    si = next(iter(UNITS[dimension])) or "1"
    return Annotated[float, _quantity(dimension), Field(json_schema_extra={"unit": si})]


Length = _typed("length")
Angle = _typed("angle")
Time = _typed("time")
Mass = _typed("mass")
Force = _typed("force")
Speed = _typed("speed")
AngularSpeed = _typed("angular_speed")
Acceleration = _typed("acceleration")
#: an acceleration, or the name of a world
Gravity = Annotated[
    float,
    BeforeValidator(gravity_to_si, json_schema_input_type=float | str),
    Field(json_schema_extra={"unit": "m/s²"}),
]
AngularStiffness = _typed("angular_stiffness")
AngularDamping = _typed("angular_damping")
Pressure = _typed("pressure")
BeamStiffness = _typed("beam_stiffness")
SoilStiffness = _typed("soil_stiffness")
SoilDamping = _typed("soil_damping")
Torque = _typed("torque")
Current = _typed("current")
Energy = _typed("energy")
TemperatureRise = _typed("temperature_rise")
ThermalResistance = _typed("thermal_resistance")
HeatCapacity = _typed("heat_capacity")
DataRate = _typed("data_rate")
DataSize = _typed("data_size")
Number = _typed("number")
#: a number of any dimension: SI, or a text with any known unit
AnyQuantity = Annotated[float, BeforeValidator(any_to_si, json_schema_input_type=float | str)]
