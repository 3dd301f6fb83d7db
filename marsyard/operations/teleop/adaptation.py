"""What a drive tells of the ground: numbers of the soil that are nudged by what was observed.

Unknown are a few factors θ_i = ln(p_i/p_i⁰) on the numbers of the soil that the operator believed
in, chosen by the law of the ground:

    soils           tan φ, K, and k_c, k_φ together, as far as the law has them
    rigid ground    friction

Over a window of driving, from t₁ to t₂, the rover told how far it came forwards and sideways in
its own frame, how much it turned, and its mean motor torque and sinkage: y. The operator's model
drives the same orders over the same window from the same pose and gives h(θ), and, with each factor
changed a little, the sensitivities H = ∂h/∂θ. One step of the extended Kalman filter for constant
parameters (A. H. Jazwinski: Stochastic Processes and Filtering Theory, 1970, section 8.3)

    S = H P Hᵀ + R,  K = P Hᵀ S⁻¹,  θ ← θ + K (y − h),  P ← (1 − K H) P (1 − K H)ᵀ + K R Kᵀ + Q

updates them and their covariance P. On-line estimation of φ (with K, n assumed) from torque,
sinkage and slip of a rover's wheels goes back to K. Iagnemma, S. Kang, H. Shibly, S. Dubowsky:
Online terrain parameter estimation for wheeled mobile robots with application to planetary rovers,
IEEE Trans. Robotics 20, 2004; sensitivities by differences of the whole multibody model take the
place of their closed forms here, so that any law can be used.

R says how well the model can agree at best (`Trust`): noise of the told pose, and a share of each
quantity for terrain that is not known. What does not depend on θ (the rover stands: H = 0) changes
nothing but by Q, and Q is added only for distance driven. Innovations of more than three deviations
count as if R were larger, S ← S · ν²/9. Factors stay within `BOUNDS`, and change by no more than
`STEP` at once. Innovations below the rounding of telemetry (float32) are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from marsyard.operations.teleop.session import Belief

if TYPE_CHECKING:
    from marsyard.ground.soil import Soil
    from marsyard.operations.teleop.vehicle import Vehicle
    from marsyard.simulation.simulation import Simulation

#: a factor's prior deviation and its bounds, as logarithms
PRIOR = {"friction_angle": 0.15, "shear_modulus": 0.5, "k_phi": 0.5, "friction": 0.25}
BOUNDS = {
    "friction_angle": math.log(1.8), "shear_modulus": math.log(6.0), "k_phi": math.log(8.0),
    "friction": math.log(3.0),
}  # fmt: skip
#: most a factor changes at once, and by how much it is changed for sensitivities
STEP, DIFFERENCE = 0.4, 0.08
#: drift of a factor per metre driven
DRIFT = 0.02
#: relative rounding of what telemetry tells
ROUNDING = 2.0**-22
UNITS = {"friction_angle": "rad", "shear_modulus": "m", "k_phi": "N/m^(n+2)", "friction": ""}


@dataclass(frozen=True)
class Trust:
    """How well the model can agree with the rover: absolute and relative deviations.

    way: forwards and sideways, [m] and per metre driven. turn: [rad] and per metre driven.
    torque: [N·m] and share of itself. sinkage: [m] and share of itself.
    """

    way: tuple[float, float] = (0.001, 0.03)
    turn: tuple[float, float] = (0.0005, 0.03)
    torque: tuple[float, float] = (0.1, 0.25)
    sinkage: tuple[float, float] = (0.002, 0.4)

    def variance(
        self, driven: float, torque: float, sinkage: float, place: float, heading: float
    ) -> np.ndarray:
        """Variances of displacement forwards and sideways, turn, torque and sinkage; `place` [m]
        and
        `heading` [rad] are the deviations of the told pose."""
        way = _sum(self.way, driven) ** 2 + 2 * place**2
        turn = _sum(self.turn, driven) ** 2 + 2 * heading**2
        return np.array([
            way, way, turn, _sum(self.torque, torque) ** 2, _sum(self.sinkage, sinkage) ** 2,
        ])  # fmt: skip


def _sum(pair: tuple[float, float], value: float) -> float:
    return pair[0] + pair[1] * abs(value)


@dataclass
class Adaptation:
    """Factors on the numbers of the ground, and how surely they are known.

    Attributes:
        names: of the numbers. theta: logarithms of the factors. covariance: of them.
        prior: the numbers as assumed at the start.
        history: time [s], theta and deviations after each update.
    """

    names: tuple[str, ...]
    prior: dict[str, float]
    put: Callable[[dict[str, float]], None]
    trust: Trust = field(default_factory=Trust)
    theta: np.ndarray = field(init=False)
    covariance: np.ndarray = field(init=False)
    history: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.theta = np.zeros(len(self.names))
        self.covariance = np.diag([PRIOR[name] ** 2 for name in self.names])

    def apply(self, theta: np.ndarray | None = None) -> None:
        """Have the vehicle run on these factors; on those believed if none are given."""
        theta = self.theta if theta is None else theta
        self.put(dict(zip(self.names, map(float, np.exp(theta)), strict=True)))

    def update(
        self, time: float, told: np.ndarray, model: np.ndarray, H: np.ndarray, R: np.ndarray,
        driven: float,
    ) -> bool:  # fmt: skip
        """A step of the filter: what was told, what the model gave, its sensitivities [m, n], the
        variances R [m] and the distance driven [m]; whether anything changed."""
        difference = told - model
        rounding = ROUNDING * np.maximum(1.0, np.maximum(np.abs(told), np.abs(model)))
        known = np.isfinite(difference) & np.all(np.isfinite(H), axis=1)
        nu = np.where(np.abs(difference) > rounding, difference, 0.0)[known]
        if not len(self.names) or not np.any(nu):
            return False
        H, P, R = H[known], self.covariance, np.diag(R[known])
        S = H @ P @ H.T + R
        surprise = float(nu @ np.linalg.solve(S, nu)) / len(nu)
        if surprise > 9.0:
            R = R + S * (surprise / 9.0 - 1.0)
            S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        step = K @ nu
        step *= min(1.0, STEP / max(float(np.max(np.abs(step))), 1e-12))
        bound = np.array([BOUNDS[name] for name in self.names])
        self.theta = np.clip(self.theta + step, -bound, bound)
        left = np.eye(len(P)) - K @ H
        self.covariance = left @ P @ left.T + K @ R @ K.T
        self.covariance += np.eye(len(P)) * DRIFT**2 * driven
        most = np.diag([PRIOR[name] ** 2 for name in self.names])
        # never less sure than at the start
        over = np.sqrt(np.minimum(1.0, np.diag(most) / np.diag(self.covariance)))
        self.covariance = self.covariance * np.outer(over, over)
        self.history.append((time, self.theta.copy(), np.sqrt(np.diag(self.covariance))))
        return True

    def beliefs(self) -> tuple[Belief, ...]:
        """What is believed of each number."""
        out = []
        for k, name in enumerate(self.names):
            prior, spread = self.prior[name], math.sqrt(float(self.covariance[k, k]))
            value = _scaled(name, prior, math.exp(self.theta[k]))
            wide = _scaled(name, prior, math.exp(self.theta[k] + spread))
            out.append(Belief(name, UNITS[name], prior, value, abs(wide - value)))
        return tuple(out)


def _scaled(name: str, value: float, factor: float) -> float:
    """A number times a factor; of an angle its tangent is."""
    if factor == 1.0:
        return value
    return math.atan(factor * math.tan(value)) if name == "friction_angle" else factor * value


def adaptation_for(vehicle: Vehicle, trust: Trust | None = None) -> Adaptation:
    """What can be learned of a vehicle's ground."""
    s = vehicle.simulation
    trust = trust or Trust()
    if s.world.soil is not None:
        return _soil_adaptation(s, trust)
    if s.world.surfaces and any(law.has_friction for law in s.laws):
        return _friction_adaptation(s, trust)
    return Adaptation((), {}, lambda factors: None, trust)


def _soil_adaptation(s: Simulation, trust: Trust) -> Adaptation:
    from marsyard.interaction.wheel_models import MODELS

    world, soil = s.world, s.world.soil
    assert soil is not None
    believed = soil.soils
    needs = {"sinkage", "strength", "shear"}
    wheel = s.scenario.interaction.wheel
    if wheel is not None and wheel.model in MODELS:
        needs = set(MODELS[wheel.model][2])
    kinds = {"friction_angle": "strength", "shear_modulus": "shear", "k_phi": "sinkage"}
    names = tuple(n for n, kind in kinds.items() if kind in needs and believed[0].has(n))
    prior = {name: believed[0].number(name) for name in names}

    def put(factors: dict[str, float]) -> None:
        changed = tuple(_changed(one, factors) for one in believed)
        soil.change_soils(s.scenario, world.robot, s.model, changed)

    return Adaptation(names, prior, put, trust)


#: numbers that one factor is for
_TOGETHER = {
    "k_phi": ("k_phi", "k_c"),
    "shear_modulus": ("shear_modulus", "shear_modulus_lateral"),
}


def _changed(soil: Soil, factors: dict[str, float]) -> Soil:
    """A soil with factors on its numbers."""
    new: dict[str, float] = {}
    for name, factor in factors.items():
        for number in _TOGETHER.get(name, (name,)):
            value = getattr(soil, number)
            if value is not None:
                new[number] = _scaled(number, value, factor)
    return replace(soil, **new)  # type: ignore[arg-type]


def _friction_adaptation(s: Simulation, trust: Trust) -> Adaptation:
    believed = s.friction.copy()

    def put(factors: dict[str, float]) -> None:
        s.set_friction(believed * factors["friction"])

    return Adaptation(("friction",), {"friction": float(believed[0])}, put, trust)
