"""Limits of a validation: from a file, their defaults, and those that can be evaluated.

    limits:
      tilt: 25 deg          # of the base against the vertical
      slip: 0.6             # largest |slip ratio| of a wheel, smoothed over a second
      sinkage: 6 cm         # of the deepest wheel
      clearance: 5 cm       # under the belly, at least
      torque: 40 N*m        # at a wheel's joint
      current: 2 A          # of a motor
      temperature: 60 K     # rise of a motor's winding (`validation.winding`)
      energy: 10 Wh         # of the motors, from the start
      deviation: 30 cm      # from the path
      time: 5 min           # from the start
      keep_out:
        - {name: crater, circle: {centre: [4, 0], radius: 1.5}}
        - {name: outcrop, polygon: [[6, 1], [8, 1], [7, 3]]}
    winding: {thermal_resistance: 25 K/W, heat_capacity: 20 J/K}
    policy: {accepted: 0.02, refused: 0.1, confidence: 0.95}

A limit that is not given has a default, `off` takes it away:

| limit | default |
| --- | --- |
| tilt | 30 deg |
| slip | 0.8 |
| sinkage | half the smallest wheel's radius, on soil |
| clearance | 3 cm |
| torque | 95 % of what the wheels' motors can give, where the scenario has motors |
| current | 95 % of `current_max` of the scenario's motors, where it is given |
| temperature | 80 K, where the scenario has motors |
| deviation | 50 cm |
| energy, time, keep_out | off |

Beside these a command has to be carried out (`completion`): it fails when it times out, is aborted
or not finished, when the run diverges, and when the rover rolls over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, field_validator

from marsyard import library
from marsyard.errors import InputError
from marsyard.fields import Part
from marsyard.file_mistakes import sentence
from marsyard.operations.validation.winding import Winding
from marsyard.operations.validation.zones import Zone
from marsyard.operations.verdict import Policy
from marsyard.units import Angle, Current, Energy, Length, Number, TemperatureRise, Time, Torque

if TYPE_CHECKING:
    from marsyard.simulation import Simulation

COMPLETION = "completion"
#: part of what a motor can give at most that is allowed by default
_OF_THE_MOST = 0.95


def _off(value: Any) -> Any:
    """`off` reads as false in YAML; a key that was left empty does not take a limit away."""
    if value is None:
        raise ValueError("has no value; give one, or off")
    return None if value is False or value == "off" else value


_Switch = BeforeValidator(_off)


class LimitValues(Part):
    """Limits by name; off: none."""

    tilt: Annotated[Annotated[Angle, Field(gt=0)] | None, _Switch] = Field(
        None, description="maximum tilt of the base from the vertical [rad]; default: 30 deg"
    )
    slip: Annotated[Annotated[Number, Field(gt=0, lt=1)] | None, _Switch] = Field(
        None, description="maximum slip ratio of a wheel, smoothed over one second; default: 0.8"
    )
    sinkage: Annotated[Annotated[Length, Field(gt=0)] | None, _Switch] = Field(
        None,
        description="maximum sinkage of a wheel [m]; default: half the radius of the "
        "smallest wheel",
    )
    clearance: Annotated[Annotated[Length, Field(ge=0)] | None, _Switch] = Field(
        None, description="minimum clearance between belly and ground [m]; default: 3 cm"
    )
    torque: Annotated[Annotated[Torque, Field(gt=0)] | None, _Switch] = Field(
        None,
        description="maximum torque of a wheel joint [N·m]; default: 95 % of the motors' limit",
    )
    current: Annotated[Annotated[Current, Field(gt=0)] | None, _Switch] = Field(
        None, description="maximum current of a motor [A]; default: 95 % of the motors' current_max"
    )
    temperature: Annotated[Annotated[TemperatureRise, Field(gt=0)] | None, _Switch] = Field(
        None, description="maximum temperature rise of a motor winding [K]; default: 80 K"
    )
    energy: Annotated[Annotated[Energy, Field(gt=0)] | None, _Switch] = Field(
        None, description="maximum energy of all motors since the start [J]; default: none"
    )
    deviation: Annotated[Annotated[Length, Field(gt=0)] | None, _Switch] = Field(
        None,
        description="maximum cross-track distance of the base from its path [m]; default: 50 cm",
    )
    time: Annotated[Annotated[Time, Field(gt=0)] | None, _Switch] = Field(
        None, description="maximum time since the start [s]; default: none"
    )
    keep_out: tuple[Zone, ...] = Field((), description="keep-out zones for the rover's footprint")

    @field_validator("keep_out")
    @classmethod
    def _named(cls, zones: tuple[Zone, ...]) -> tuple[Zone, ...]:
        names = [z.name or f"zone {k + 1}" for k, z in enumerate(zones)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two zones are called '{name}'; names must differ")
        return tuple(z.model_copy(update={"name": n}) for z, n in zip(zones, names, strict=True))


class Accepted(Part):
    """Probabilities that decide (`operations.verdict`)."""

    accepted: Annotated[Number, Field(ge=0, lt=1)] = Field(
        0.02, description="go up to this probability"
    )
    refused: Annotated[Number, Field(gt=0, lt=1)] = Field(
        0.10, description="no-go above this probability"
    )
    confidence: Annotated[Number, Field(ge=0.5, lt=1)] = Field(0.95, description="of intervals")


class Limits(Part):
    """A file of limits."""

    limits: LimitValues = LimitValues()
    winding: Winding = Winding()
    policy: Accepted = Accepted()


@dataclass(frozen=True)
class Limit:
    """A limit that is judged.

    Attributes:
        name: among those of `LimitValues`, or "keep_out: ZONE". label: in words.
        value: [SI]; `least`: it must not be less, else not more. unit, factor: as it is shown.
        zone: of a keep-out zone.
    """

    name: str
    label: str
    value: float
    unit: str = ""
    factor: float = 1.0
    least: bool = False
    zone: Zone | None = None

    def margin(self, values: Any) -> Any:
        """What values leave of it, as a share of it (of a limit of 0: in SI units)."""
        room = values - self.value if self.least else self.value - values
        return room / (abs(self.value) or 1.0)

    def shown(self, value: float) -> str:
        """A value [SI] as it is shown."""
        if not math.isfinite(value):
            return "–"
        text = f"{value / self.factor:.3g}".replace("-", "−")
        return text + self.unit if self.unit == "°" else f"{text} {self.unit}".rstrip()

    @property
    def words(self) -> str:
        """ "tilt at most 25°"."""
        if self.zone is not None:
            return f"outside {self.zone.name}"
        return f"{self.label} {'at least' if self.least else 'at most'} {self.shown(self.value)}"


#: label, unit, factor to SI of what is shown
_SHOWN = {
    "tilt": ("tilt", "°", math.pi / 180),
    "slip": ("slip", "", 1.0),
    "sinkage": ("sinkage", "cm", 0.01),
    "clearance": ("clearance", "cm", 0.01),
    "torque": ("torque", "N·m", 1.0),
    "current": ("current", "A", 1.0),
    "temperature": ("winding", "K", 1.0),
    "energy": ("energy", "Wh", 3600.0),
    "deviation": ("deviation", "cm", 0.01),
    "time": ("time", "s", 1.0),
}


def read_limits(path: str | Path) -> Limits:
    """Read a file of limits."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    return limits_of(library.read_yaml(file), str(file))


def limits_of(data: Mapping[str, Any] | Limits | None, name: str = "limits") -> Limits:
    """Limits of a mapping with `limits`, `winding` and `policy`."""
    if data is None or isinstance(data, Limits):
        return data or Limits()
    try:
        limits = Limits.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name}: {sentence(error, Limits)}") from None
    policy_of(limits, name)
    return limits


def policy_of(limits: Limits, name: str = "limits") -> Policy:
    """The probabilities that decide."""
    try:
        return Policy(**limits.policy.model_dump())
    except InputError as error:
        raise InputError(f"{name}: policy: {error}") from None


def judged(limits: Limits, simulation: Simulation) -> tuple[tuple[Limit, ...], dict[str, str]]:
    """The limits that this world lets be judged, and why others are not."""
    given, found, left = limits.limits, [], {}
    for name, (label, unit, factor) in _SHOWN.items():
        asked = name in given.model_fields_set
        value = getattr(given, name) if asked else _default(name, simulation)
        lacking = _lacking(name, simulation)
        if value is not None and lacking:
            if asked:
                raise InputError(f"limits.{name}: {lacking}; provide it, or set {name}: off")
            left[name] = lacking
        elif value is None:
            left[name] = "off" if asked or name in ("energy", "time") else _why(name, simulation)
        else:
            found.append(Limit(name, label, float(value), unit, factor, name == "clearance"))
    for zone in given.keep_out:
        name = f"keep_out: {zone.name}"
        found.append(Limit(name, f"keep-out {zone.name}", 0.0, "m", 1.0, True, zone))
    if not given.keep_out:
        left["keep_out"] = "no zones given"
    return tuple(found), left


def _default(name: str, simulation: Simulation) -> float | None:
    """The default of a limit in this world, none where there is none."""
    fixed = {
        "tilt": math.radians(30), "slip": 0.8, "clearance": 0.03, "temperature": 80.0,
        "deviation": 0.5,
    }  # fmt: skip
    if name in fixed:
        return fixed[name]
    if name == "sinkage":
        radii = [w.radius for w in simulation.world.robot.wheels.values()]
        return 0.5 * min(radii) if radii else None
    motors = wheel_motors(simulation)
    if name == "torque":
        most = [m.stall_torque for m in motors.values() if math.isfinite(m.stall_torque)]
        return _OF_THE_MOST * min(most) if most else None
    if name == "current":
        most = [m.current_max for m in motors.values() if math.isfinite(m.current_max)]
        return _OF_THE_MOST * min(most) if most else None
    return None


def _lacking(name: str, simulation: Simulation) -> str:
    """What this world lacks to judge a limit; empty if nothing."""
    if name in ("current", "temperature") and not wheel_motors(simulation):
        return "the scenario has no motors"
    if name == "sinkage" and simulation.world.soil is None:
        return "there is no soil"
    if name == "clearance":
        from marsyard.operations.validation.clearance import belly_points

        if not len(belly_points(simulation.model, simulation.world.robot)):
            return "the robot's base has no shape"
    return ""


def _why(name: str, simulation: Simulation) -> str:
    lacking = _lacking(name, simulation)
    if lacking:
        return lacking
    return {"torque": "no motors that bound it", "current": "no current_max"}.get(name, "off")


def wheel_motors(simulation: Simulation) -> dict[str, Any]:
    """The motors of the scenario, by joint."""
    from marsyard.simulation.commands import motors_of

    return motors_of(simulation.scenario, simulation.world)
