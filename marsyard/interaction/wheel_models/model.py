"""One interface for all wheel models: a wheel, a soil and a motion in, forces and moments out.

    model = WheelModel("ishigami", Wheel(0.09, 0.11, Exit("height", 0.9)), load_soil("fjs_1"),
                       {"peak_0": 0.4, "peak_1": 0.15})
    model.under_load(64.68, slip=0.2).drawbar_pull

`at_sinkage` asks for the forces at a known sinkage, `under_load` for the sinkage at which the wheel
carries a load, and the forces there. All arguments may be arrays; they are broadcast.

Any motion is allowed: a wheel that travels backward is the mirror image of one that travels
forward, at rest all slips count as zero. Slip ratio s = (w − v_x)/max(|w|, |v_x|) in [−1, 1], slip
angle β = atan(v_y/|v_x|), w = r_s ω at the radius where soil shears (the tips of lugs), as in the
results of runs. The two do not tell the motion of a wheel that travels exactly sideways: v_x = 0
there, and s is 1 for any rim that turns. β = ±90° with s = 1 is taken as w = |v_y|, with s < 1 as a
rim that stands; `moving` takes the three speeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.ground.soil import UNLOADING_STIFFNESS, Soil
from marsyard.ground.typical import warn_stand_in
from marsyard.interaction.side_wall import blade_resistance, passive_resistance
from marsyard.interaction.slip import trench_depth
from marsyard.interaction.tread import SlipSinkage, softening, strength, wall_scale
from marsyard.interaction.wheel_models import (
    ding,
    ishigami,
    magic_formula,
    rigid_slip,
    wong_reece,
)
from marsyard.interaction.wheel_models.arc import DEEPEST, MOST_DUG, slip_ratio
from marsyard.interaction.wheel_models.numbers import (
    ANSWERS,
    BLADE,
    BLADE_SQUARE,
    COHESION,
    DUG,
    EXPONENT,
    EXPONENT_SIDE,
    EXPONENT_SLIP,
    F_X,
    F_Z,
    FRONT,
    FRONT_SQUARE,
    K_X,
    K_Y,
    LAYER,
    LIFTED,
    LUG_RADIUS,
    M_Y,
    M_Z,
    MODULUS,
    RADIUS,
    RESISTANCE,
    SLOPE_X,
    SOFTENING,
    SOIL_NUMBERS,
    TAN_PHI,
    UNLOADING,
    WALLS,
)
from marsyard.interaction.wheel_models.wheel import Wheel
from marsyard.jit import inlined, kernel

#: in front of the wheel
Bulldozing = Literal["none", "passive"]
# the first three give the slopes of their forces
WONG_REECE, ISHIGAMI, DING, MAGIC_FORMULA, RIGID_SLIP = range(5)
#: number, coefficients with their values where not given, and the soil's numbers a model needs
MODELS: dict[str, tuple[int, Mapping[str, float | None], tuple[str, ...]]] = {
    "wong_reece": (WONG_REECE, wong_reece.COEFFICIENTS, ("strength", "sinkage", "shear")),
    "ishigami": (ISHIGAMI, ishigami.COEFFICIENTS, ("strength", "sinkage", "shear")),
    "ding": (DING, ding.COEFFICIENTS, ("strength", "sinkage", "shear")),
    "magic_formula": (MAGIC_FORMULA, magic_formula.COEFFICIENTS, ("sinkage",)),
    "rigid_slip": (RIGID_SLIP, rigid_slip.COEFFICIENTS, ()),
}
_ASKS = {
    "strength": ("cohesion", "friction_angle"),
    "sinkage": ("exponent",),
    "shear": ("shear_modulus", "density"),
}
#: typical coefficients, which stand in with a warning, and their sources
STANDS_IN: dict[str, Mapping[str, str]] = {
    "wong_reece": wong_reece.TYPICAL, "ishigami": wong_reece.TYPICAL, "ding": wong_reece.TYPICAL,
}  # fmt: skip
#: coefficients of a model's source that differ from those that stand in
PUBLISHED: dict[str, Mapping[str, float]] = {"ding": ding.PUBLISHED}

#: sinkages below this many radii count as none
TOUCH = 1e-9

_wong_reece, _ishigami, _ding = wong_reece.wong_reece, ishigami.ishigami, ding.ding
_magic_formula, _rigid_slip = magic_formula.magic_formula, rigid_slip.rigid_slip


@inlined
def push_in_front(soil, z):
    """Resistance of the soil in front of a wheel that presses to the depth z [N]."""
    deep = z + soil[DUG]
    return deep * (soil[FRONT] + deep * soil[FRONT_SQUARE])


@kernel
def wheel_forces(model, wheel, soil, own, z, v_x, v_y, w, camber, out):
    """Forces and moments of a model that presses to the depth z, for motion either way, into
    `out`."""
    if z <= TOUCH * wheel[RADIUS]:
        for i in range(out.shape[0]):
            out[i] = 0.0
        return
    back = v_x < 0.0 or (v_x == 0.0 and w < 0.0)
    if back:
        v_x, w = -v_x, -w
    if model == WONG_REECE:
        _wong_reece(wheel, soil, own, z, v_x, v_y, w, out)
    elif model == ISHIGAMI:
        _ishigami(wheel, soil, own, z, v_x, v_y, w, out)
    elif model == DING:
        _ding(wheel, soil, own, z, v_x, v_y, w, out)
    elif model == MAGIC_FORMULA:
        _magic_formula(wheel, soil, own, z, v_x, v_y, w, camber, out)
    else:
        _rigid_slip(wheel, own, z, v_x, v_y, w, out)
    push = push_in_front(soil, z)
    out[F_X] -= push
    out[RESISTANCE] += push
    if back:
        # thrust and resistance stay relative to the direction of travel
        out[F_X] = -out[F_X]
        out[M_Y] = -out[M_Y]
        out[M_Z] = -out[M_Z]


@kernel
def depth_under(model, wheel, soil, own, load, v_x, v_y, w, camber, out):
    """Depth pressed [m] at which the wheel carries `load` [N], forces in `out`; NaN if it cannot.

    The first crossing between the surface and DEEPEST radii, bracketed by sinkages that grow four
    times; then regula falsi with the Illinois weights on ln F_z over ln z, nearly a straight line.
    """
    if load <= 0.0:
        wheel_forces(model, wheel, soil, own, 0.0, v_x, v_y, w, camber, out)
        return 0.0
    least, deepest = 1e-12 * load, DEEPEST * wheel[RADIUS] - soil[DUG]
    low, high = TOUCH * wheel[RADIUS], 1e-3 * wheel[RADIUS]
    g_low = math.log(least / load)
    while True:
        wheel_forces(model, wheel, soil, own, high, v_x, v_y, w, camber, out)
        g_high = math.log(max(out[F_Z], least) / load)
        if g_high >= 0.0:
            break
        if high >= deepest:
            return math.nan
        low, g_low = high, g_high
        high = min(4.0 * high, deepest)
    side, z = 0, high
    for _ in range(80):
        z = low * (high / low) ** (g_low / (g_low - g_high))
        wheel_forces(model, wheel, soil, own, z, v_x, v_y, w, camber, out)
        if abs(out[F_Z] - load) <= 1e-12 * load or high - low < 1e-13 * wheel[RADIUS]:
            return z
        g = math.log(max(out[F_Z], least) / load)
        if g > 0.0:
            high, g_high = z, g
            if side == 1:
                g_low *= 0.5
            side = 1
        else:
            low, g_low = z, g
            if side == -1:
                g_high *= 0.5
            side = -1
    return z


@inlined
def steadily_dug(wheel, soil, v_x, w):
    """z_s of a driven wheel in steady motion [m]."""
    s = slip_ratio(v_x, w) if v_x > 0.0 or (v_x == 0.0 and w > 0.0) else slip_ratio(-v_x, -w)
    layer = soil[LAYER] * max(s, 0.0) / max(1.0 - s, 1e-9)
    return min(trench_depth(layer, soil[WALLS]), MOST_DUG * wheel[RADIUS])


@kernel
def _many(model, wheel, soil, own, given, loaded, out, sinkage):
    for k in range(given.shape[0]):
        v_x, v_y, w, camber = given[k, 1], given[k, 2], given[k, 3], given[k, 4]
        soil[DUG] = steadily_dug(wheel, soil, v_x, w)
        if loaded:
            depth = depth_under(model, wheel, soil, own, given[k, 0], v_x, v_y, w, camber, out[k])
            sinkage[k] = depth + soil[DUG]
        else:
            sinkage[k] = given[k, 0]
            depth = given[k, 0] - soil[DUG]
            wheel_forces(model, wheel, soil, own, depth, v_x, v_y, w, camber, out[k])


@dataclass(frozen=True)
class WheelForces:
    """Forces and moments on the wheel at its centre; arrays, or numbers where all inputs were.

    drawbar_pull, side_force, load: along x forward, y left, z up [N].
    overturning, torque, steering: about x, against the driving motor, about z [N·m].
    sinkage [m], entry_angle, exit_angle [rad].
    thrust, resistance: the parts of the pull from shear and from normal stress [N].
    """

    drawbar_pull: Any
    side_force: Any
    load: Any
    overturning: Any
    torque: Any
    steering: Any
    entry_angle: Any
    exit_angle: Any
    thrust: Any
    resistance: Any
    sinkage: Any


@dataclass(frozen=True)
class WheelModel:
    """A wheel model with its wheel, soil and coefficients, ready to be asked.

    name: one of `MODELS`.
    coefficients: the model's own, see its module; a soil's `extra` numbers of the same name serve
        where they are not given.
    gravity: for the weight of bulldozed soil [m/s²].
    unloading: k_u of a soil that does not give its own [Pa/m].
    slip_sinkage: "lyasko", "exponent" (the soil's n₁) or "none", see `interaction.tread`.
    carried: whether lugs, and the soil's `shear_layer`, carry soil along.
    bulldozing: "passive" adds passive earth pressure in front of the wheel (`side_wall`).

    A wheel with a surface, Lyasko's slip sinkage and carried soil are what runs have by default;
    without them and with an exit rule of its own the model is the published one.
    """

    name: str
    wheel: Wheel
    soil: Soil | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict, hash=False)
    gravity: float = 9.81
    unloading: float = UNLOADING_STIFFNESS
    slip_sinkage: SlipSinkage = "lyasko"
    carried: bool = True
    bulldozing: Bulldozing = "none"

    def __post_init__(self) -> None:
        if self.name not in MODELS:
            raise InputError(f"wheel model '{self.name}'; {suggest(self.name, MODELS)}")
        _, known, needs = MODELS[self.name]
        for key in self.coefficients:
            if key not in known:
                raise InputError(f"{self.name}: unknown coefficient '{key}'; {suggest(key, known)}")
        if needs and self.soil is None:
            raise InputError(f"{self.name} needs a soil")
        if self.soil is not None:
            if "sinkage" in needs and not self.soil.has_modulus:
                self.soil.require("k_c", "k_phi")
            self.soil.require(*(n for need in needs for n in _ASKS[need]))
        self.own_numbers()

    def own_numbers(self) -> np.ndarray:
        """The model's coefficients as an array."""
        given = {**(self.soil.extra if self.soil is not None else {}), **self.coefficients}
        values = []
        for key, default in MODELS[self.name][1].items():
            value = given.get(key, default)
            if value is None:
                raise InputError(f"{self.name}: coefficient '{key}' is missing")
            if key not in given and key in STANDS_IN.get(self.name, {}):
                warn_stand_in(self.name, key, f"{value:g}", STANDS_IN[self.name][key])
            if not math.isfinite(value):
                raise InputError(f"{self.name}: {key} = {value}: a finite number")
            values.append(float(value))
        return np.array(values)

    def soil_numbers(self) -> np.ndarray:
        """The soil as an array; zeros where the model needs none."""
        out = np.zeros(SOIL_NUMBERS)
        needs = MODELS[self.name][2]
        soil = self.soil
        if soil is None:
            return out
        wheel = self.wheel
        phi = soil.number("friction_angle") if "strength" in needs else 0.0
        out[LUG_RADIUS] = wheel.lug_radius(phi)
        if not (soil.repose_angle is None and soil.friction_angle is None):
            out[WALLS] = wall_scale(soil, wheel.width)
        if "sinkage" in needs:
            out[MODULUS] = soil.pressure_modulus(wheel.width)
            out[EXPONENT] = soil.number("exponent")
            if self.slip_sinkage == "exponent":
                out[EXPONENT_SLIP] = soil.exponent_slip
            out[EXPONENT_SIDE] = soil.exponent_side
            out[UNLOADING] = soil.unloading_stiffness or self.unloading
            out[SOFTENING] = softening(soil, self.slip_sinkage)
            if self.carried and "strength" in needs:
                out[LAYER] = wheel.tread.carried_layer(soil)
                out[LIFTED] = wheel.tread.lifted_share(soil)
        if "shear" in needs:
            K_x, K_y = soil.number("shear_modulus"), soil.number("shear_modulus_lateral")
            mean = strength(soil, wheel.tread, K_x, K_y)
            out[COHESION], out[TAN_PHI], out[K_X], out[K_Y] = mean
            out[BLADE], out[BLADE_SQUARE] = blade_resistance(soil, self.gravity)
            if self.bulldozing == "passive":
                by_depth, by_square = passive_resistance(soil, self.gravity)
                out[FRONT], out[FRONT_SQUARE] = wheel.width * by_depth, wheel.width * by_square
        return out

    def at_sinkage(
        self, sinkage: Any, slip: Any = 0.0, slip_angle: Any = 0.0, camber: Any = 0.0
    ) -> WheelForces:
        """Forces at a given sinkage [m]."""
        return self._ask(sinkage, slip, slip_angle, camber, loaded=False)

    def under_load(
        self, load: Any, slip: Any = 0.0, slip_angle: Any = 0.0, camber: Any = 0.0
    ) -> WheelForces:
        """Sinkage and forces under a load [N]; NaN where the wheel would sink to its axle."""
        return self._ask(load, slip, slip_angle, camber, loaded=True)

    def moving(
        self, load: Any, v_x: Any, v_y: Any = 0.0, rim: Any = 0.0, camber: Any = 0.0
    ) -> WheelForces:
        """The same for speeds along and across the wheel and of the rim r ω [m/s]."""
        return self._answer((load, v_x, v_y, rim, camber), loaded=True)

    def _ask(self, first: Any, slip: Any, slip_angle: Any, camber: Any, loaded: bool) -> Any:
        s, beta = np.broadcast_arrays(np.asarray(slip, float), np.asarray(slip_angle, float))
        if np.any(np.abs(s) > 1):
            raise InputError(f"slip = {s.flat[np.argmax(np.abs(s))]:g}: from −1 to 1")
        return self._answer((first, *motion(s, beta), camber), loaded)

    def _answer(self, inputs: tuple[Any, ...], loaded: bool) -> WheelForces:
        parts = np.broadcast_arrays(*(np.asarray(a, float) for a in inputs))
        shape = parts[0].shape
        first, v_x, v_y, w, gamma = (p.ravel() for p in parts)
        given = np.ascontiguousarray(np.stack([first, v_x, v_y, w, gamma], axis=1))
        out, sinkage = np.zeros((len(first), ANSWERS)), np.zeros(len(first))
        _many(
            MODELS[self.name][0], self.wheel.numbers(), self.soil_numbers(), self.own_numbers(),
            given, loaded, out, sinkage,
        )  # fmt: skip
        out[np.isnan(sinkage)] = np.nan
        out[:, M_Y] *= -1.0
        columns = [*(out[:, k] for k in range(SLOPE_X)), sinkage]
        shaped = [c.reshape(shape) if shape else float(c[0]) for c in columns]
        return WheelForces(**dict(zip((f.name for f in fields(WheelForces)), shaped, strict=True)))


def motion(slip: np.ndarray, slip_angle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """v_x, v_y and w of a wheel with these slips; the larger of rim speed and travel speed is 1."""
    v_x, v_y = np.cos(slip_angle), np.sin(slip_angle)
    sideways = np.abs(v_x) < 1e-9
    v_x = np.where(sideways, 0.0, v_x)
    turns = slip >= 0
    spinning = turns & (slip > 1 - 1e-12)
    w = np.where(turns, v_x / np.where(turns & ~spinning, 1 - slip, 1.0), v_x * (1 + slip))
    # the rim infinitely faster than the wheel, unless that only moves sideways
    w = np.where(spinning, 1.0, w)
    v_x = np.where(spinning, 0.0, v_x)
    v_y = np.where(spinning & ~sideways, 0.0, v_y)
    size = np.maximum(np.maximum(np.abs(w), np.hypot(v_x, v_y)), 1e-300)
    return v_x / size, v_y / size, w / size
