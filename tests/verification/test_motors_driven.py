"""Motors in a world: a flywheel on a motor against closed forms, and speeds held by hand."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import mjcf, simulation

from marsyard.control import Motor
from marsyard.errors import InputError
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation

INERTIA = 0.02  # kg·m²
MOTOR = {
    "constant": 0.02, "resistance": 1.5, "gear": 50, "efficiency": 0.8, "current_max": 4,
    "voltage_max": 12,
}  # fmt: skip
FLYWHEEL = mjcf(
    '<body name="wheel"><joint name="spin" type="hinge" axis="0 1 0"/>'
    f'<inertial pos="0 0 0" mass="1" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/></body>'
)


def flywheel(folder, control, motor=None, duration=2.0, step=1e-3, **more):
    return simulation(
        folder,
        FLYWHEEL,
        ground=[],
        gravity=0,
        interaction={"law": "none"},
        control=control,
        motors={"spin": {**MOTOR, **(motor or {})}},
        run={"duration": duration, "step": step, "record_period": max(step, 1e-3), "theta": 1},
        **more,
    )


@pytest.mark.parametrize("law", [{"torque": 100}, {"speed": 100}])
def test_a_motor_runs_up_along_its_torque_speed_line(tmp_path, law):
    # I ω' = min(n k η i_max, n k η (U − n k ω)/R), whatever is asked for beyond it
    sim = flywheel(tmp_path, [{"joints": "spin", **law}], duration=0.5, step=1e-4).run()
    n, k, eta, R = 50, 0.02, 0.8, 1.5
    cap, stall = n * k * eta * 4, n * k * eta * 12 / R
    free, tau = 12 / (n * k), INERTIA * R / (n * k * n * k * eta)
    bend = free * (1 - cap / stall)  # the rate at which the voltage takes over
    t0 = bend * INERTIA / cap
    t = sim.records.time
    exact = np.where(t < t0, cap / INERTIA * t, free + (bend - free) * np.exp(-(t - t0) / tau))
    # torque held over a step: first order, h/τ of what is left to go
    np.testing.assert_allclose(sim.records.velocities[:, 0], exact, atol=1e-3 * free)
    assert sim.records.velocities[-1, 0] == pytest.approx(free, rel=1e-5)


def test_current_voltage_power_and_energy(tmp_path):
    data = flywheel(tmp_path, [{"joints": "spin", "torque": 1.0}], duration=0.2).run().dataset()
    rate = data.joint_rate.sel(joint="spin").values
    current, voltage = data.motor_current.values[:, 0], data.motor_voltage.values[:, 0]
    np.testing.assert_allclose(current, 1.0 / (50 * 0.02 * 0.8), rtol=1e-12)
    np.testing.assert_allclose(voltage, 1.5 * current + 50 * 0.02 * rate, rtol=1e-12)
    np.testing.assert_allclose(data.electrical_power.values[:, 0], voltage * current, rtol=1e-12)
    # what is not work at the joint is heat: in the winding, and in the gear a fifth of U_emf i
    work = 0.5 * INERTIA * rate[-1] ** 2
    heat = 1.5 * current[0] ** 2 * 0.2 + work / 0.8 * 0.2
    assert float(data.energy_electrical[-1]) == pytest.approx(work + heat, rel=1e-3)


def test_the_rotor_turns_with_the_joint(tmp_path):
    control = [{"joints": "spin", "torque": 0.5}]
    sim = flywheel(tmp_path, control, {"rotor_inertia": 1e-5}, duration=0.1).run()
    assert sim.qvel[0] == pytest.approx(0.5 * 0.1 / (INERTIA + 50**2 * 1e-5), rel=1e-9)


def test_beyond_its_no_load_rate_a_motor_brakes(tmp_path):
    # I ω' = −n k (n k ω − U)/(R η): the load drives the motor through its gear
    robot = {"joint_rates": {"spin": 20.0}}
    control = [{"joints": "spin", "torque": 1}]
    sim = flywheel(tmp_path, control, duration=0.05, step=1e-4, robot=robot).run()
    free, tau = 12.0, INERTIA * 1.5 * 0.8
    exact = free + 8.0 * np.exp(-sim.records.time / tau)
    np.testing.assert_allclose(sim.records.velocities[:, 0], exact, atol=0.01)
    # without a current it turns on
    sim = flywheel(tmp_path, [], duration=0.05, robot=robot).run()
    assert sim.qvel[0] == pytest.approx(20.0, abs=1e-9)


@pytest.mark.parametrize("law", [{"torque": 1e6}, {"speed": 1e3}])
def test_a_steep_line_is_stable_at_any_step(tmp_path, law):
    # a gear of 2000: the rate would overshoot fifty times within a step were the line explicit
    motor = {"gear": 2000, "current_max": 1e9}
    sim = flywheel(tmp_path, [{"joints": "spin", **law}], motor, duration=0.2, step=5e-3).run()
    free = 12 / (2000 * 0.02)
    rate = sim.records.velocities[:, 0]
    assert np.all(np.diff(rate) >= -1e-12) and rate.max() <= free * (1 + 1e-9)
    assert rate[-1] == pytest.approx(free, rel=1e-6)


def test_the_limits_are_those_of_the_motor_alone(tmp_path):
    motor = Motor(**MOTOR)
    for rate in (0.0, 3.0, 8.0, 11.0, 15.0):
        robot = {"joint_rates": {"spin": rate}}
        sim = flywheel(tmp_path, [{"joints": "spin", "torque": 1e3}], robot=robot)
        sim.step()
        # at the end of the step, as the torque is
        assert sim._commands.torque[0] == pytest.approx(
            motor.torque_range(sim.qvel[0])[1], rel=1e-9
        )


@pytest.mark.parametrize("rate", [3.0, 8.0, 11.0, 12.0])
def test_a_motor_brakes_harder_than_it_drives(tmp_path, rate):
    # back-emf and losses of the gear help; close to the no-load rate of 12 rad/s above all
    robot = {"joint_rates": {"spin": rate}}
    sim = flywheel(tmp_path, [{"joints": "spin", "torque": -1e3}], robot=robot)
    sim.step()
    assert sim._commands.torque[0] == pytest.approx(Motor(**MOTOR).torque_range(rate)[0], rel=1e-12)


@pytest.mark.parametrize("step", [1e-3, 5e-3])
@pytest.mark.parametrize("law", [{"torque": 100}, {"speed": 5}])
def test_a_free_wheel_stays_below_the_no_load_rate(tmp_path, law, step):
    # the motor of the library's scenarios, whose line falls by 100 N·m per rad/s
    motor = {"constant": 0.025, "resistance": 2, "gear": 800, "efficiency": 0.5, "current_max": 3,
             "voltage_max": 24}  # fmt: skip
    sim = flywheel(tmp_path, [{"joints": "spin", **law}], motor, duration=1.0, step=step).run()
    assert sim.qvel[0] == pytest.approx(Motor(**motor).no_load_rate, rel=1e-3)


@pytest.mark.parametrize(
    ("motors", "message"),
    [
        ({"spinn": MOTOR}, "motors.spinn: 'spinn' is neither a role nor a joint"),
        ({"spin": {**MOTOR, "gear": -1}}, "motors.spin.gear = -1: must be above 0"),
        ({"spin": {**MOTOR, "efficiency": 1.2}}, "motors.spin.efficiency = 1.2: must be at most 1"),
    ],
)
def test_wrong_motors(tmp_path, motors, message):
    with pytest.raises(InputError) as error:
        simulation(
            tmp_path, FLYWHEEL, ground=[], motors=motors, run={"duration": 1}, gravity=0
        )  # fmt: skip
    assert message in str(error.value) and "\n" not in str(error.value)


def test_speeds_by_hand_are_those_of_a_law(tmp_path):
    by_law = flywheel(tmp_path, [{"joints": "spin", "speed": 2.0, "end": 0.5}], duration=1.0)
    by_hand = flywheel(tmp_path, [{"joints": "spin", "speed": 1.0, "start": 0.6}], duration=1.0)
    by_law.run()
    by_hand.speed["spin"] = 2.0
    assert by_hand.speed["spin"] == 2.0
    by_hand.step(500)
    by_hand.speed["spin"] = None
    assert by_hand.speed["spin"] is None
    by_hand.step(50)
    assert by_hand.qvel[0] == by_law.records.velocities[550, 0]
    # with the speed let go the scenario's own law counts again
    by_hand.step(450)
    assert by_hand.qvel[0] == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(InputError, match="unknown joint 'spinn'"):
        by_hand.speed["spinn"] = 1.0
    with pytest.raises(InputError, match="finite"):
        by_hand.speed["spin"] = np.nan


def test_a_limit_by_hand(tmp_path):
    sim = flywheel(tmp_path, [])
    sim.speed["spin"] = 50.0
    sim.speed.limit("spin", 0.1)
    sim.step(200)
    assert sim.qvel[0] == pytest.approx(0.1 * 0.2 / INERTIA, rel=1e-9)
    later = sim.state()
    sim.step(100)
    end = sim.qvel[0]
    sim.speed["spin"] = None
    sim.restore(later)
    sim.step(100)
    assert sim.qvel[0] == end


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit_damping"])
def test_a_speed_law_under_mujocos_schemes(tmp_path, integrator):
    run = {"duration": 1.0, "step": 1e-3, "record_period": 1e-2, "integrator": integrator}
    sim = simulation(
        tmp_path, FLYWHEEL, ground=[], gravity=0, interaction={"law": "none"}, run=run,
        control=[{"joints": "spin", "speed": "2*min(1, 4*t)", "limit": 0.1, "end": 0.8}],
    )  # fmt: skip
    data = sim.run().dataset()
    rate, time = data.joint_rate.values[:, 0], data.time.values
    # its limit holds it back: ω = τ t/I but for the first step, in which no speed is wanted yet;
    # then it has the speed, and keeps it when let go
    early = (time > 0) & (time < 0.2)
    np.testing.assert_allclose(rate[early], 0.1 / INERTIA * (time[early] - 1e-3), rtol=1e-6)
    np.testing.assert_allclose(rate[time > 0.6], 2.0, rtol=1e-6)
    # and the motor's work is the energy of the wheel
    assert float(data.energy_motors[-1]) == pytest.approx(0.5 * INERTIA * 2.0**2, rel=1e-6)


def test_a_robot_is_settled_for_mujocos_contact_too():
    soft = {"interaction.law": "mujoco", "run.integrator": "semi_implicit"}
    heights = []
    for settings in ({}, soft):
        sim = Simulation(load_scenario("rt0448/test-4", {**settings, "run.duration": 2.0}))
        heights.append(sim.qpos[2])
        sim.run()
        assert abs(sim.qpos[2] - heights[-1]) < 5e-3
    assert heights[0] == pytest.approx(heights[1], abs=1e-6)


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_motors_of_a_leg_hold_their_speeds_together_under_mujoco_s_integrators(step):
    # each motor took the others for idle: the legs of a walker gained a megajoule within 20 ms
    def walked(integrator):
        spec = {
            "robot": {"name": "hexapod"}, "ground": [], "interaction": {"law": "none"},
            "gait": {"modes": [{"mode": "walking", "until": {}}], "repeat": False, "stop": False},
            "run": {
                "duration": 0.1, "step": step, "integrator": integrator, "record_period": 1e-3,
            },
        }  # fmt: skip
        return Simulation(validate(spec)).run().records

    smooth, ours = walked("semi_implicit"), walked("moreau_jean")
    scale = np.abs(ours.coordinates[-1] - ours.coordinates[0]).max()
    assert np.abs(smooth.coordinates[-1] - ours.coordinates[-1]).max() < 0.02 * scale
    work = smooth.motor_work.sum(), ours.motor_work.sum()
    assert work[0] == pytest.approx(work[1], rel=0.05)
