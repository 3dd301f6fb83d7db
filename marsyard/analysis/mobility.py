"""Mobility of rovers on soils in closed form: pressures, resistances, pull, slope, step, power.

What tools of chassis design compute before any simulation (RMPET: Patel, Ellery et al., ASTRA 2004;
RCET: Michaud et al., ASTRA 2004). Wheel loads N come from the rover's own masses and geometry
(`statics`); all else is per wheel, and summed for the rover. Each wheel meets fresh soil: ruts of
wheels ahead are not counted.

Rigid wheel of radius r and width b under the load N, k = k_c/b + k_φ (Bekker 1956, 1969; n < 1.3,
sinkages below about r/3):

    z_B = [3 N / ((3 − n) b k √(2 r))]^(2/(2n+1))     static sinkage [m]
    p_B = k z_B^n                                     peak pressure, at the lowest point [Pa]
    R_c = b k z_B^(n+1)/(n+1)                         compaction resistance [N]

    p = N/(b l),  l = r (sin θ₁ − sin θ₂)             nominal ground pressure over the chord of the
                                                      wheel model's contact arc at the slip at work
    MMP = mean of p_B over the wheels                 mean maximum pressure as it is defined
    MMP_R = K W/(2 m b^0.85 d^1.15 √(δ/h))            Rowland 1975, empirical [kPa, kN, m]

Rowland's formula was fitted to pneumatic tyres of military trucks on fine-grained soil: m axles,
d = 2 r, δ/h the deflection of the tyre by its section's height, K = 3.65, 3.90, 4.10, 4.32, 4.60
for 2 to 6 axles, all driven (constants as usually quoted; the original was not seen). It has no
meaning for rigid wheels (δ = 0), so it is given only with `deflection`.

Pull by one of the wheel models (`interaction.wheel_models`) at one slip s for all wheels:

    H − R_σ       soil thrust (shear) and resistance (normal stress) of the model [N]
    R_b           bulldozing resistance [N], see below
    R_r = c_r N   rolling resistance: bearings, flexing wheels; c_r is an input
    R_g = W sin θ slope resistance
    P(s) = Σ (H − R_σ − R_b − R_r)                    drawbar pull of the rover, slope not taken off

R_σ is the model's own compaction resistance and what the pull is made of; Bekker's R_c stands
beside it for comparison. Bulldozing, of the soil ahead of the wheel over the sinkage z, γ = ρ g:

    "passive": R_b = b (γ z² K_p/2 + 2 c z √K_p), K_p = tan²(45° + φ/2)
               Rankine's earth pressure on a blade (Wong, Theory of ground vehicles, ch. 2)
    "bekker":  R_b = b sin(α + φ)/(2 sin α cos φ) (2 z c K_c + γ z² K_γ), cos α = 1 − z/r,
               K_c = (N_c − tan φ) cos²φ, K_γ = (2 N_γ/tan φ + 1) cos²φ (Bekker 1969, the wedge
               term); N_q = e^(2(3π/4 − φ/2) tan φ)/(2 cos²(45° + φ/2)), N_c = (N_q − 1)/tan φ
               (Terzaghi 1943), N_γ = 2 (N_q + 1) tan φ/(1 + 0.4 sin 4φ) (a fit to Terzaghi's
               table). Meant for wide wheels that sink deep; large for small ones
    "none":    R_b = 0, the default: measured wheels do not show it (`interaction.side_wall`)

z in R_b is the model's sinkage. Soils without density get the typical one of their kind, with a
warning.

At work: the smallest slip s* with P(s*) = W sin θ; torque M_i(s*) of the model, wheel rate
ω = v/(r_s (1 − s*)), or v (1 + s*)/r_s for s* < 0, power Σ M_i ω: mechanical, without losses of
motor and gear. r_s is the radius at which the soil shears, that of the lugs' tips; slip counts
there, as in the models and in runs. With an exit rule that lets the soil push from behind s* may be
below 0. Where P stays below W sin θ the rover cannot climb and these are NaN.

Largest slope: root of max_s P(s; N(θ))/W = sin θ, the loads shifting with θ; it ends earlier where
a wheel lifts off. The soil on the slope is as strong as on the level. Largest step: `statics`, with
κ = max P/W of the soil.

Slips are looked at from 0 to 0.95; between the points curves are straight lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from marsyard.analysis.statics import Chassis, Step, chassis_of, largest_step
from marsyard.errors import InputError, suggest
from marsyard.ground.gravity_scaling import SCALINGS, GravityScaling, at_gravity, warn_of_gravity
from marsyard.ground.soil import Soil
from marsyard.ground.typical import one_warning
from marsyard.interaction.side_wall import passive_resistance
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelForces, WheelModel
from marsyard.robot import Robot
from marsyard.units import read_gravity

SLIPS = np.concatenate([np.linspace(0, 0.3, 13), np.linspace(0.34, 0.95, 12)])
_FEW = np.concatenate([np.linspace(0.1, 0.5, 5), np.linspace(0.6, 0.95, 4)])
ROWLAND = {2: 3.65, 3: 3.90, 4: 4.10, 5: 4.32, 6: 4.60}
BULLDOZING = ("none", "passive", "bekker")
CAUSES = ("compaction", "bulldozing", "rolling", "slope")
UNITS = {
    "load": "N", "pressure": "Pa", "peak_pressure": "Pa", "static_sinkage": "m", "sinkage": "m",
    "bekker_resistance": "N", "thrust": "N", "compaction": "N", "bulldozing": "N", "rolling": "N",
    "slope": "N", "pull": "N", "torque": "N·m", "power": "W", "mean_maximum_pressure": "Pa",
    "rowland": "Pa", "pull_20": "N", "pull_max": "N", "slip": "1", "slope_limit": "rad",
    "step": "m", "curve_slip": "1", "curve_pull": "N", "mass": "kg", "weight": "N", "com": "m",
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What is asked.

    model, coefficients: of the wheel models. gravity [m/s²], or a world's name; slope
        [rad], speed [m/s].
    gravity_scaling: what becomes of soils measured at another gravity (`ground.gravity_scaling`).
    exit: of all wheels; None: as each rover's wheels say.
    rolling: c_r. bulldozing: one of `BULLDOZING`.
    friction: of the wheels against the edge of a step.
    deflection: δ/h of Rowland's formula; None: rigid wheels, not evaluated.
    """

    model: str = "wong_reece"
    coefficients: Mapping[str, float] = field(default_factory=dict)
    gravity: float = 3.72
    gravity_scaling: GravityScaling = "none"
    slope: float = 0.0
    speed: float = 0.04
    exit: Exit | None = None
    rolling: float = 0.0
    bulldozing: str = "none"
    friction: float = 0.6
    deflection: float | None = None

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InputError(f"model: unknown wheel model '{self.model}'; "
                             f"{suggest(self.model, MODELS)}")  # fmt: skip
        if self.bulldozing not in BULLDOZING:
            raise InputError(f"bulldozing: unknown formula '{self.bulldozing}'; "
                             f"{suggest(self.bulldozing, BULLDOZING)}")  # fmt: skip
        if self.gravity_scaling not in SCALINGS:
            raise InputError(f"gravity_scaling: '{self.gravity_scaling}'; "
                             f"{suggest(self.gravity_scaling, SCALINGS)}")  # fmt: skip
        object.__setattr__(self, "gravity", read_gravity(self.gravity))
        _within("gravity", self.gravity, 0, 100, open_low=True, unit=" m/s²")
        _within("slope", math.degrees(self.slope), 0, 60, unit="°")
        _within("speed", self.speed, 0, 100, open_low=True, unit=" m/s")
        _within("rolling", self.rolling, 0, 1)
        _within("friction", self.friction, 0, 5)
        if self.deflection is not None:
            _within("deflection", self.deflection, 0, 1, open_low=True)


@dataclass(frozen=True)
class WheelMobility:
    """One wheel at work on one soil; SI, see the head of the module for the symbols.

    load N, pressure p, peak_pressure p_B, static_sinkage z_B, bekker_resistance R_c; at the slip at
    work (NaN where there is none): sinkage, thrust H, compaction R_σ, bulldozing R_b, rolling R_r,
    pull H − R_σ − R_b − R_r, torque, power.
    """

    name: str
    load: float
    pressure: float
    peak_pressure: float
    static_sinkage: float
    bekker_resistance: float
    sinkage: float
    thrust: float
    compaction: float
    bulldozing: float
    rolling: float
    pull: float
    torque: float
    power: float


@dataclass(frozen=True)
class SoilMobility:
    """A rover on one soil.

    slip s*; thrust, resistances by cause, pull, torque and power of the whole rover at s*.
    pull_20, pull_max: P on level ground at 20 % slip and at its best, slip_max.
    slope_limit [rad] and what ends it: "traction", "lift-off" or "60 deg".
    step: see `statics`. notes: what was taken because the soil or the rover does not say.
    curve_slip, curve_pull: P(s) on level ground.
    """

    soil: str
    wheels: tuple[WheelMobility, ...]
    slip: float
    thrust: float
    compaction: float
    bulldozing: float
    rolling: float
    slope: float
    bekker_resistance: float
    pull: float
    torque: float
    power: float
    mean_maximum_pressure: float
    rowland: float | None
    pull_20: float
    pull_max: float
    slip_max: float
    slope_limit: float
    slope_limit_by: str
    step: Step
    curve_slip: np.ndarray
    curve_pull: np.ndarray
    notes: tuple[str, ...]

    @property
    def climbs(self) -> bool:
        """Whether the rover gets up the slope that was asked for."""
        return math.isfinite(self.slip)


@dataclass(frozen=True)
class RoverMobility:
    """A rover on several soils. free: wheel loads that statics leaves open, see `statics`."""

    rover: str
    title: str
    mass: float
    weight: float
    com: tuple[float, float, float]
    exits: tuple[str, ...]
    free: int
    loads_level: dict[str, float]
    loads: dict[str, float]
    soils: tuple[SoilMobility, ...]
    settings: Settings


def evaluate(robot: Robot, soils: Sequence[Soil], settings: Settings) -> RoverMobility:
    """The mobility of a robot on soils."""
    if not soils:
        raise InputError("soil: at least one soil is needed")
    try:
        chassis = chassis_of(robot)
        wheels = [Wheel.of(w, settings.exit) for w in robot.wheels.values()]
        level = chassis.loads(0.0, settings.gravity)
        if level.min() < 0:
            raise InputError("the rover tips over on level ground")
        loads = chassis.loads(settings.slope, settings.gravity)
    except InputError as error:
        said = str(error)
        raise InputError(said if robot.name in said else f"{robot.name}: {said}") from None
    scaled = [at_gravity(s, settings.gravity, settings.gravity_scaling) for s in soils]
    with one_warning():  # of all numbers that stand in for missing ones
        found = tuple(_on_soil(chassis, wheels, soil, settings, level, loads) for soil in scaled)
    x, y, z = (float(c) for c in chassis.com)
    return RoverMobility(
        rover=robot.name,
        title=robot.title,
        mass=chassis.mass,
        weight=chassis.mass * settings.gravity,
        com=(x, y, z),
        exits=tuple(dict.fromkeys(str(w.exit) for w in wheels)),
        free=chassis.free,
        loads_level=_named(chassis, level),
        loads=_named(chassis, loads),
        soils=found,
        settings=settings,
    )


def compare(
    robots: Sequence[Robot], soils: Sequence[Soil], settings: Settings
) -> list[RoverMobility]:
    """Several rovers on the same soils."""
    if settings.gravity_scaling == "none":
        warn_of_gravity(soils, settings.gravity, "--gravity-scaling", "analysis")
    return [evaluate(robot, soils, settings) for robot in robots]


# --- closed forms of a single wheel


def bekker_sinkage(load: Any, radius: float, width: float, soil: Soil) -> Any:
    """z_B [m] of a rigid wheel."""
    n = soil.number("exponent")
    stiff = (3 - n) * width * soil.pressure_modulus(width) * math.sqrt(2 * radius)
    return (3 * np.maximum(load, 0.0) / stiff) ** (2 / (2 * n + 1))


def bekker_resistance(load: Any, radius: float, width: float, soil: Soil) -> Any:
    """R_c [N] of a rigid wheel."""
    n = soil.number("exponent")
    depth = bekker_sinkage(load, radius, width, soil)
    return width * soil.pressure_modulus(width) * depth ** (n + 1) / (n + 1)


def bulldozing_resistance(
    sinkage: Any, radius: float, width: float, soil: Soil, gravity: float, formula: str = "passive"
) -> Any:
    """R_b [N] of a wheel at a sinkage [m]."""
    z = np.asarray(sinkage, float)
    if formula == "none":
        return np.zeros_like(z)
    phi, c = soil.number("friction_angle"), soil.number("cohesion")
    unit_weight = soil.number("density") * gravity
    if formula == "passive":
        by_depth, by_square = passive_resistance(soil, gravity)
        return width * z * (by_depth + by_square * z)
    if phi < 1e-3:
        raise InputError(f"soil {soil.name}: bulldozing 'bekker' needs a friction angle above 0")
    tan = math.tan(phi)
    N_q = math.exp(2 * (0.75 * math.pi - phi / 2) * tan) / (
        2 * math.cos(math.pi / 4 + phi / 2) ** 2
    )
    N_c = (N_q - 1) / tan
    N_g = 2 * (N_q + 1) * tan / (1 + 0.4 * math.sin(4 * phi))
    K_c = (N_c - tan) * math.cos(phi) ** 2
    K_g = (2 * N_g / tan + 1) * math.cos(phi) ** 2
    alpha = np.arccos(np.clip(1 - z / radius, -1, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        wedge = np.sin(alpha + phi) / (2 * np.sin(alpha) * math.cos(phi))
        out = width * wedge * (2 * z * c * K_c + unit_weight * z**2 * K_g)
    return np.where(z > 0, out, np.where(np.isnan(z), np.nan, 0.0))


def rowland_pressure(
    weight: float, axles: int, width: float, diameter: float, deflection: float
) -> float:
    """MMP [Pa] of a vehicle with tyres, all axles driven; weight [N], widths [m]."""
    if axles not in ROWLAND:
        raise InputError(f"Rowland's formula has constants for 2 to 6 axles, not for {axles}")
    below = 2 * axles * width**0.85 * diameter**1.15 * math.sqrt(deflection)
    return 1e3 * ROWLAND[axles] * (weight / 1e3) / below


# --- a rover on a soil


@dataclass(frozen=True)
class _Ground:
    """Wheel models of a rover on a soil; wheels of one shape share a model."""

    chassis: Chassis
    models: tuple[WheelModel, ...]
    soil: Soil
    settings: Settings

    def ask(self, loads: np.ndarray, slip: np.ndarray) -> list[WheelForces]:
        """Forces of each wheel over the slips, arrays of shape [slip].

        Wheels of one shape are asked together, those under the same load once.
        """
        out: list[WheelForces] = [None] * len(loads)  # type: ignore[list-item]
        for shape in dict.fromkeys(model.wheel for model in self.models):
            same = [k for k, model in enumerate(self.models) if model.wheel == shape]
            distinct, which = np.unique(np.round(loads[same], 9), return_inverse=True)
            forces = self.models[same[0]].under_load(distinct[:, None], slip[None, :])
            for k, row in zip(same, which, strict=True):
                picked = {f.name: getattr(forces, f.name)[row] for f in fields(forces)}
                out[k] = WheelForces(**picked)
        return out

    def bulldozing(self, wheel: int, sinkage: Any) -> Any:
        chassis, settings = self.chassis, self.settings
        if settings.bulldozing != "none" and not self.soil.has("cohesion", "friction_angle"):
            return np.zeros_like(np.asarray(sinkage, float))
        return bulldozing_resistance(
            sinkage, chassis.radius[wheel], chassis.width[wheel], self.soil, settings.gravity,
            settings.bulldozing,
        )  # fmt: skip

    def pull(self, loads: np.ndarray, slip: np.ndarray) -> np.ndarray:
        """P(s) [N]; NaN where a wheel sinks to its axle."""
        total = np.zeros(len(slip))
        for k, forces in enumerate(self.ask(loads, slip)):
            total += forces.drawbar_pull - self.bulldozing(k, forces.sinkage)
        return total - self.settings.rolling * loads.sum()


def _on_soil(
    chassis: Chassis,
    wheels: Sequence[Wheel],
    soil: Soil,
    settings: Settings,
    level: np.ndarray,
    loads: np.ndarray,
) -> SoilMobility:
    coefficients, notes = _coefficients(soil, settings, level)
    missing = [
        key for key, default in MODELS[settings.model][1].items()
        if default is None and key not in coefficients and key not in soil.extra
    ]  # fmt: skip
    if missing:
        raise InputError(
            f"{settings.model}: coefficients {', '.join(missing)}: missing; give them with "
            f"--coefficients {','.join(f'{key}=…' for key in missing)}"
        )
    models = tuple(
        WheelModel(settings.model, w, soil, coefficients, settings.gravity) for w in wheels
    )
    ground = _Ground(chassis, models, soil, settings)
    if settings.bulldozing != "none" and not soil.has("cohesion", "friction_angle"):
        notes.append("no bulldozing: the soil has no strength")
    weight = chassis.mass * settings.gravity
    curve = ground.pull(level, SLIPS)
    slip_max, pull_max = _best(SLIPS, curve)
    limit, by = _slope_limit(ground)
    if math.isnan(pull_max):
        notes.append("the wheels sink to their axles")
    # wheels that sink to their axles hold the rover, as if nothing drove it
    ratio = -settings.friction if math.isnan(pull_max) else pull_max / weight
    step = largest_step(chassis, settings.friction, ratio)
    if loads.min() < 0:
        slip = math.nan
        notes.append("a wheel lifts off on this slope")
    else:
        slip = _working_slip(ground, loads, weight * math.sin(settings.slope), curve)
    rows = _wheels(ground, loads, slip)
    total = {key: sum(getattr(w, key) for w in rows) for key in
             ("thrust", "compaction", "bulldozing", "rolling", "bekker_resistance", "pull",
              "torque", "power")}  # fmt: skip
    rowland = None
    if settings.deflection is not None:
        rowland = rowland_pressure(
            weight, len(chassis.axles()), float(chassis.width.mean()),
            2 * float(chassis.radius.mean()), settings.deflection,
        )  # fmt: skip
    return SoilMobility(
        soil=soil.name,
        wheels=rows,
        slip=slip,
        slope=weight * math.sin(settings.slope),
        mean_maximum_pressure=float(np.mean([w.peak_pressure for w in rows])),
        rowland=rowland,
        pull_20=float(np.interp(0.2, SLIPS, curve)),
        pull_max=pull_max,
        slip_max=slip_max,
        slope_limit=limit,
        slope_limit_by=by,
        step=step,
        curve_slip=SLIPS,
        curve_pull=curve,
        notes=tuple(notes),
        **total,
    )


def _wheels(ground: _Ground, loads: np.ndarray, slip: float) -> tuple[WheelMobility, ...]:
    chassis, settings, soil = ground.chassis, ground.settings, ground.soil
    at = slip if math.isfinite(slip) else 0.0
    rows = []
    sinks = soil.has("exponent", "k_c", "k_phi")
    for k, forces in enumerate(ground.ask(loads, np.array([at]))):
        r, b, load = float(chassis.radius[k]), float(chassis.width[k]), float(loads[k])
        here = {f: float(getattr(forces, f)[0]) for f in
                ("sinkage", "thrust", "resistance", "torque", "drawbar_pull", "entry_angle",
                 "exit_angle")}  # fmt: skip
        if not math.isfinite(slip):
            here = dict.fromkeys(here, math.nan)
        chord = r * (math.sin(here["entry_angle"]) - math.sin(here["exit_angle"]))
        depth = float(bekker_sinkage(load, r, b, soil)) if sinks else math.nan
        doze = float(ground.bulldozing(k, here["sinkage"]))
        roll = settings.rolling * load
        shear = ground.models[k].wheel.shear_radius
        rate = settings.speed / shear * (1 + at if at < 0 else 1 / (1 - at))
        rows.append(
            WheelMobility(
                name=chassis.names[k],
                load=load,
                pressure=load / (b * chord) if chord > 0 else math.nan,
                peak_pressure=float(soil.pressure(depth, b)) if sinks else math.nan,
                static_sinkage=depth,
                bekker_resistance=float(bekker_resistance(load, r, b, soil)) if sinks else math.nan,
                sinkage=here["sinkage"],
                thrust=here["thrust"],
                compaction=here["resistance"],
                bulldozing=doze,
                rolling=roll if math.isfinite(slip) else math.nan,
                pull=here["drawbar_pull"] - doze - roll,
                torque=here["torque"],
                power=here["torque"] * rate,
            )
        )
    return tuple(rows)


def _working_slip(ground: _Ground, loads: np.ndarray, needed: float, level: np.ndarray) -> float:
    """Smallest slip whose pull meets what is needed; NaN if none does."""
    curve = level if ground.settings.slope == 0 else ground.pull(loads, SLIPS)
    slips = SLIPS
    if np.isfinite(curve[0]) and curve[0] >= needed:
        # with soil that pushes from behind a wheel may drive at negative slip
        slips = np.linspace(-0.5, 0.0, 26)
        curve = ground.pull(loads, slips)
        crossing = _first_crossing(slips, curve - needed)
        return 0.0 if crossing is None else _refined(ground, loads, needed, crossing)
    crossing = _first_crossing(slips, curve - needed)
    return math.nan if crossing is None else _refined(ground, loads, needed, crossing)


def _first_crossing(slips: np.ndarray, over: np.ndarray) -> tuple[float, float] | None:
    with np.errstate(invalid="ignore"):
        up = np.flatnonzero((over[:-1] < 0) & (over[1:] >= 0))
    return (float(slips[up[0]]), float(slips[up[0] + 1])) if len(up) else None


def _refined(
    ground: _Ground, loads: np.ndarray, needed: float, between: tuple[float, float]
) -> float:
    from scipy.optimize import brentq

    def over(slip: float) -> float:
        return float(ground.pull(loads, np.array([slip]))[0] - needed)

    return float(brentq(over, *between, xtol=1e-6))


def _best(slips: np.ndarray, curve: np.ndarray) -> tuple[float, float]:
    """Slip and pull where the pull is largest; NaN where the wheels sink to their axles."""
    if np.all(np.isnan(curve)):
        return math.nan, math.nan
    k = int(np.nanargmax(curve))
    return float(slips[k]), float(curve[k])


def _slope_limit(ground: _Ground) -> tuple[float, str]:
    """Largest slope [rad] and what ends it."""
    from scipy.optimize import brentq

    chassis, gravity = ground.chassis, ground.settings.gravity
    weight = chassis.mass * gravity

    def over(slope: float) -> float:
        pull = _best(_FEW, ground.pull(chassis.loads(slope, gravity), _FEW))[1]
        return (pull if math.isfinite(pull) else -weight) / weight - math.sin(slope)

    steep = math.radians(60)

    def stands(slope: float) -> float:
        return float(chassis.loads(slope, gravity).min())

    by = "60 deg"
    if stands(steep) < 0:
        steep, by = float(brentq(stands, 0.0, steep, xtol=1e-5)) - 2e-5, "lift-off"
    if over(0.0) <= 0:
        return 0.0, "traction"
    if over(steep) >= 0:
        return steep, by
    return float(brentq(over, 0.0, steep, xtol=1e-4)), "traction"


def _coefficients(
    soil: Soil, settings: Settings, loads: np.ndarray
) -> tuple[dict[str, float], list[str]]:
    """The model's coefficients: those given and the rover's; with notes."""
    given = dict(settings.coefficients)
    notes: list[str] = []
    if settings.model == "ding" and "mean_load" not in given:
        given["mean_load"] = float(loads.mean())
    return given, notes


def _named(chassis: Chassis, values: np.ndarray) -> dict[str, float]:
    return {name: float(v) for name, v in zip(chassis.names, values, strict=True)}


def _within(
    name: str, value: float, low: float, high: float, open_low: bool = False, unit: str = ""
) -> None:
    inside = low < value <= high if open_low else low <= value <= high
    if not inside:
        span = f"above {low:g} and at most {high:g}" if open_low else f"from {low:g} to {high:g}"
        raise InputError(f"{name} = {value:g}{unit}: {span}")


def as_data(found: Sequence[RoverMobility]) -> dict[str, Any]:
    """Everything as plain numbers and texts, for JSON.

    None stands for what does not exist; as height of a step for a vertical face, see `statics`.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(k): plain(v) for k, v in value.items()}
        if isinstance(value, np.ndarray):
            return [plain(float(v)) for v in value]
        if isinstance(value, list | tuple):
            return [plain(v) for v in value]
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return value

    settings = plain(asdict(found[0].settings)) if found else {}
    rovers = []
    for rover in found:
        data = plain(asdict(rover))
        data.pop("settings")
        rovers.append(data)
    return {"units": UNITS, "settings": settings, "rovers": rovers}
