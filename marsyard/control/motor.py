"""DC motor with gear, and the servos of wheel speed and steering angle.

Motor, armature inductance neglected (its time constant is far below a control period):

    U = R i + k n ω               voltage [V]; k [V·s/rad = N·m/A], n gear ratio, ω output [rad/s]
    τ = n k i · η^(±1)            torque at the output [N·m]; × η if the motor drives the load
                                  (τ ω ≥ 0), ÷ η if the load drives the motor
    P = U i                       electrical power [W]; negative is fed back, or, without
                                  `regeneration`, burnt, so that P = max(U i, 0)

The gear's inertia and its no-load friction are not in the law; reflect n² J_motor as `armature` of
the joint in the model. Limits: |i| ≤ i_max (controller), |U| ≤ U_max (battery), |τ| ≤ τ_max (gear).
At rate ω the battery allows i between (−U_max − k n ω)/R and (U_max − k n ω)/R: the torque-speed
line. Beyond the no-load rate U_max/(k n) that forces a braking current, whatever i_max is.

Speed servo: PI with the integral held while the torque is at a limit that the error would push
further (conditional integration: K. J. Åström, T. Hägglund: Advanced PID control, 2006, chapter 3),

    τ = k_p (ω_ref − ω) + k_i ∫ (ω_ref − ω) dt + τ_feedforward

Steering servo: the reference moves to the wanted angle at no more than `rate_max`, and a PD law
holds it: τ = k_p (δ_ref − δ) + k_d (δ'_ref − δ').
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from marsyard.errors import InputError


class MotorState(NamedTuple):
    """Torque at the output [N·m], current [A], voltage [V], electrical power [W]."""

    torque: np.ndarray
    current: np.ndarray
    voltage: np.ndarray
    power: np.ndarray


@dataclass(frozen=True)
class Motor:
    """A DC motor with gear.

    Attributes:
        constant: k, of torque [N·m/A] and of back-emf [V·s/rad].
        resistance: R of the armature [Ω].
        gear: n, motor turns per output turn.
        efficiency: η of the gear, 0 < η ≤ 1.
        current_max: [A]. voltage_max: [V]. torque_max: at the output [N·m].
        regeneration: whether braking feeds the battery.
    """

    constant: float
    resistance: float
    gear: float
    efficiency: float = 1.0
    current_max: float = np.inf
    voltage_max: float = np.inf
    torque_max: float = np.inf
    regeneration: bool = False

    def __post_init__(self) -> None:
        names = ("constant", "resistance", "gear", "current_max", "voltage_max", "torque_max")
        for name in names:
            if not getattr(self, name) > 0:
                raise InputError(f"motor.{name}: {getattr(self, name):g}; it must be above 0")
        if not 0 < self.efficiency <= 1:
            raise InputError(f"motor.efficiency: {self.efficiency:g}; above 0 and at most 1")

    def drive(self, torque, rate) -> MotorState:
        """State of the motor for a commanded `torque` [N·m] at the output rate [rad/s]."""
        rate = np.asarray(rate, dtype=float)
        asked = np.clip(np.asarray(torque, dtype=float), -self.torque_max, self.torque_max)
        low, high = self.current_range(rate)
        current = np.clip(asked / self._torque_per_ampere(asked, rate), low, high)
        given = current * self._torque_per_ampere(current, rate)
        return self._state(given, current, rate)

    def torque_range(self, rate) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest torque at the output [N·m] at a rate [rad/s]."""
        ends = [self.drive(sign * 1e30, rate).torque for sign in (-1, 1)]
        return ends[0], ends[1]

    def current_range(self, rate) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest current [A] at an output rate [rad/s]."""
        emf = self.constant * self.gear * np.asarray(rate, dtype=float)
        low = (-self.voltage_max - emf) / self.resistance
        high = (self.voltage_max - emf) / self.resistance
        return np.clip(-self.current_max, low, high), np.clip(self.current_max, low, high)

    @property
    def no_load_rate(self) -> float:
        """Output rate at which the battery gives no more torque [rad/s]."""
        return self.voltage_max / (self.constant * self.gear)

    @property
    def stall_torque(self) -> float:
        """Greatest torque at rest [N·m]."""
        return float(self.torque_range(0.0)[1])

    def _torque_per_ampere(self, torque_or_current, rate) -> np.ndarray:
        driving = np.asarray(torque_or_current) * rate >= 0
        loss = np.where(driving, self.efficiency, 1 / self.efficiency)
        return self.gear * self.constant * loss

    def _state(self, torque, current, rate) -> MotorState:
        voltage = self.resistance * current + self.constant * self.gear * rate
        power = voltage * current
        power = power if self.regeneration else np.maximum(power, 0.0)
        return MotorState(torque, current, voltage, power)


@dataclass
class SpeedServo:
    """Torque that holds wheel rates; arrays or numbers alike.

    Attributes:
        gain: k_p [N·m·s/rad].
        integral_gain: k_i [N·m/rad].
        motor: whose limits count; none for `torque_max` alone.
        torque_max: [N·m].
        integral: the error's integral so far [rad].
    """

    gain: float
    integral_gain: float = 0.0
    motor: Motor | None = None
    torque_max: float = np.inf
    integral: np.ndarray = field(default_factory=lambda: np.zeros(()))

    def update(self, wanted, rate, dt: float, feedforward=0.0) -> np.ndarray:
        """Torque [N·m] for the wanted and the measured rate [rad/s], once every dt [s]."""
        error = np.asarray(wanted, dtype=float) - np.asarray(rate, dtype=float)
        low, high = self._limits(rate)
        stored = self.integral + error * dt
        asked = self.gain * error + self.integral_gain * stored + feedforward
        # at a limit only an error that leads away from it is stored
        pushing = ((asked > high) & (error > 0)) | ((asked < low) & (error < 0))
        self.integral = np.where(pushing, self.integral, stored)
        asked = self.gain * error + self.integral_gain * self.integral + feedforward
        return np.clip(asked, low, high)

    def _limits(self, rate) -> tuple[np.ndarray, np.ndarray]:
        bound = np.asarray(self.torque_max, dtype=float)
        if self.motor is None:
            return -bound, bound
        low, high = self.motor.torque_range(rate)
        return np.maximum(low, -bound), np.minimum(high, bound)


@dataclass
class SteeringServo:
    """Torque that brings steering joints to their angles.

    Attributes:
        gain: k_p [N·m/rad].
        damping: k_d [N·m·s/rad].
        rate_max: of the reference [rad/s].
        torque_max: [N·m].
        reference: where the reference is [rad]; none before the first call.
    """

    gain: float
    damping: float
    rate_max: float
    torque_max: float = np.inf
    reference: np.ndarray | None = None

    def update(self, wanted, angle, rate, dt: float) -> np.ndarray:
        """Torque [N·m] for wanted and measured angle [rad] and measured rate [rad/s]."""
        angle = np.asarray(angle, dtype=float)
        start = angle if self.reference is None else self.reference
        self.reference, speed = limited(start, wanted, self.rate_max, dt)
        torque = self.gain * (self.reference - angle) + self.damping * (speed - np.asarray(rate))
        return np.clip(torque, -self.torque_max, self.torque_max)


def limited(now, wanted, rate_max: float, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """The value after dt [s] on the way to `wanted` at no more than rate_max, and its rate."""
    now = np.asarray(now, dtype=float)
    wanted = np.asarray(wanted, dtype=float)
    change = np.clip(wanted - now, -rate_max * dt, rate_max * dt)
    # exactly where it is to be, once it is that near
    return np.where(change == wanted - now, wanted, now + change), change / dt
