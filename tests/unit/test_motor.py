"""Motor and servos against energy balance, the torque-speed line and closed-form responses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marsyard.control import Motor, SpeedServo, SteeringServo
from marsyard.errors import InputError

MOTOR = Motor(
    constant=0.025, resistance=2.0, gear=500, efficiency=0.6, current_max=3.0, voltage_max=24.0
)


@given(torque=st.floats(-40, 40), rate=st.floats(-2.5, 2.5))
def test_power_goes_into_heat_gear_and_load(torque, rate):
    """U i = R i² + gear loss + τ ω, the gear's loss never negative."""
    from dataclasses import replace

    state = replace(MOTOR, regeneration=True).drive(torque, rate)
    lost = state.power - 2.0 * state.current**2 - state.torque * rate
    assert lost >= -1e-9
    shaft = 0.025 * 500 * state.current * rate
    expected = (1 - 0.6) * abs(shaft) if shaft >= 0 else (1 / 0.6 - 1) * abs(shaft)
    assert lost == pytest.approx(expected, abs=1e-9)
    assert abs(state.voltage) <= 24.0 + 1e-9
    if abs(rate) < MOTOR.no_load_rate:
        assert abs(state.current) <= 3.0 + 1e-12
    else:
        assert state.torque * rate <= 0


def test_the_torque_speed_line():
    motor = Motor(constant=0.05, resistance=4.0, gear=100, voltage_max=12.0)
    assert motor.stall_torque == pytest.approx(100 * 0.05 * 12 / 4)
    assert motor.no_load_rate == pytest.approx(12 / 5)
    for share in (0.25, 0.5, 0.75, 1.0):
        high = motor.torque_range(share * motor.no_load_rate)[1]
        assert high == pytest.approx((1 - share) * motor.stall_torque, abs=1e-9)


def test_limits_of_current_and_torque():
    assert MOTOR.stall_torque == pytest.approx(0.6 * 500 * 0.025 * 3.0)
    motor = Motor(constant=0.025, resistance=2.0, gear=500, torque_max=10.0)
    assert motor.drive(99.0, 0.5).torque == pytest.approx(10.0)
    assert motor.drive(99.0, 0.5).current == pytest.approx(10 / 12.5)


def test_braking_feeds_back_only_if_it_may():
    keep = Motor(constant=0.025, resistance=0.5, gear=500, regeneration=True)
    burn = Motor(constant=0.025, resistance=0.5, gear=500)
    braking = keep.drive(-5.0, 1.0)
    assert braking.power == pytest.approx(-5.0 + 0.5 * 0.4**2)
    assert burn.drive(-5.0, 1.0).power == 0
    assert burn.drive(5.0, 1.0).power == pytest.approx(5.0 + 0.5 * 0.4**2)


def test_the_speed_servo_follows_the_closed_form():
    """I ω' = τ with τ = k_p (ω_ref − ω): an exponential; with k_i no error under load is left."""
    inertia, gain, dt = 0.5, 2.0, 1e-3
    servo, rate = SpeedServo(gain=gain), 0.0
    for _ in range(300):
        rate += dt * float(servo.update(1.0, rate, dt)) / inertia
    assert rate == pytest.approx(1 - np.exp(-gain / inertia * 0.3), abs=2e-3)
    servo, rate = SpeedServo(gain=gain, integral_gain=4.0), 0.0
    for _ in range(10_000):
        rate += dt * (float(servo.update(1.0, rate, dt)) - 0.7) / inertia
    assert rate == pytest.approx(1.0, abs=1e-4)
    assert 4.0 * servo.integral == pytest.approx(0.7, abs=1e-3)


def test_a_blocked_wheel_does_not_wind_up():
    """Ten seconds blocked, then free: the overshoot is that of a start from rest."""

    def overshoot(blocked: int) -> float:
        servo, rate, best, dt = SpeedServo(2.0, 4.0, torque_max=1.0), 0.0, 0.0, 1e-3
        for k in range(blocked + 10_000):
            torque = float(servo.update(1.0, rate, dt))
            assert abs(torque) <= 1.0
            rate = 0.0 if k < blocked else rate + dt * torque / 0.5
            best = max(best, rate)
        return best

    assert overshoot(10_000) == pytest.approx(overshoot(0), abs=0.01)


def test_a_motor_bounds_the_servo():
    servo = SpeedServo(gain=1e4, motor=MOTOR)
    torque = servo.update(np.array([5.0, -5.0]), np.zeros(2), 0.1)
    assert np.allclose(torque, [MOTOR.stall_torque, -MOTOR.stall_torque])


def test_steering_moves_at_its_greatest_rate():
    """Over I δ'' = τ, critically damped: a ramp of 0.1 rad/s, then still at the angle."""
    inertia, gain, dt = 0.05, 20.0, 1e-3
    servo = SteeringServo(gain, 2 * np.sqrt(gain * inertia), rate_max=0.1)
    angle = rate = 0.0
    seen = []
    for _ in range(8000):
        rate += dt * float(servo.update(0.5, angle, rate, dt)) / inertia
        angle += dt * rate
        seen.append((angle, rate))
    seen = np.array(seen)
    assert seen[3000, 0] == pytest.approx(0.3, abs=2e-3)
    assert np.allclose(seen[1000:4500, 1], 0.1, atol=1e-3)
    assert seen[-1, 0] == pytest.approx(0.5, abs=1e-6) and seen[:, 0].max() < 0.503


def test_numbers_that_make_no_sense():
    with pytest.raises(InputError, match="motor.resistance: 0"):
        Motor(0.1, 0.0, 10)
    with pytest.raises(InputError, match="motor.efficiency: 1.2"):
        Motor(0.1, 1.0, 10, efficiency=1.2)
