"""Motors with speed laws in a step: servos, and what a motor's voltage allows.

The Moreau-Jean scheme has the gains of servos and the slope of the torque line in its inertia
matrix (`apply_speed_servos`, `commit_servos`). Under MuJoCo's own integrators, whose inertia matrix
cannot be touched, torques are found that would be right at the end of the step if nothing else
acted (`apply_servo_torques`, `commit_servo_torques`).
"""

from __future__ import annotations

import math

from marsyard.jit import inlined, inner
from marsyard.simulation.inertia import (
    add_to_diagonal,
    diagonal_of,
    factor_inertia,
    make_inertia,
    solve_inertia,
)
from marsyard.simulation.mujoco_c import call_md

#: time in which a motor with a speed law makes up for the angle it has missed [s]
SERVO_TIME = 0.1
#: nearer than this a joint that is driven against its stop stands at it [rad, m]: contacts close
#: when their gap is predicted to
AT_STOP = 1e-3
#: sweeps over all servos under MuJoCo's own integrators, and the change of their speeds that ends
#: them, by the largest error of speed
SWEEPS, SETTLED = 50, 1e-6


@inlined
def voltage_limit(commands, j, torque, v):
    """The torque that the motor's voltage allows in the direction of `torque` at the rate v."""
    return commands.motor_stall[j] - commands.motor_droop[j] * math.copysign(v, v * torque)


@inlined
def line_torque(commands, j, side, v):
    """Torque at full voltage towards `side` at the rate v; where the load drives, through the gear
    the other way."""
    torque = side * commands.motor_stall[j] - commands.motor_droop[j] * v
    return torque if torque * side >= 0.0 else torque * commands.motor_back[j]


@inner
def apply_speed_servos(model, data, commands, h, v):
    """Motors with a speed law: torque = gain (ω_s − ω + (α_s − α)/T), α_s = ∫ ω_s dt; and what a
    motor's voltage allows of it, and of torque laws.

    The torque is that at the end of the step, with gain in the inertia matrix. A motor that would
    exceed its limit gives its limit until the speed is reached, and forgets the angle it missed.
    Whether it would is guessed from the joint's own inertia: in the step in which the limit is
    reached the torque may be a little larger. At full voltage the torque falls with the rate at the
    end of the step, likewise in the inertia matrix.
    """
    for j in range(commands.torque.shape[0]):
        i = model.joint_dof[j]
        gain = commands.servo_gain[j]
        torque = commands.given[j]
        wanted = torque
        implicit = 0.0
        commands.motor_line[j] = 0.0
        if gain == 0.0:
            commands.servo_lag[j] = 0.0
            commands.servo_full[j] = 0.0
        else:
            limit = commands.servo_limit[j]
            error = commands.servo_speed[j] - v[i]
            # α_s − α at the end of the step if the speed stays, per T
            error += (commands.servo_lag[j] + h * error) / SERVO_TIME
            implicit = gain * (h + h * h / SERVO_TIME)
            guess = gain * error / (1.0 + implicit / diagonal_of(model, data, i))
            bounded = math.isfinite(limit) or math.isfinite(commands.motor_stall[j])
            if commands.servo_full[j] == 0.0:
                if abs(guess) > limit:
                    commands.servo_full[j] = math.copysign(1.0, error)
            elif commands.servo_full[j] * error <= 0.0 or not bounded:
                commands.servo_full[j] = 0.0
            if commands.servo_full[j] != 0.0:
                torque += commands.servo_full[j] * limit
                wanted = torque
                implicit = 0.0
            else:
                torque += gain * error
                wanted += guess
        if wanted != 0.0 and abs(wanted) > voltage_limit(commands, j, wanted, v[i]):
            side = math.copysign(1.0, wanted)
            commands.motor_line[j] = side
            torque = line_torque(commands, j, side, v[i])
            implicit = h * commands.motor_droop[j]
            if torque * side < 0.0:
                implicit *= commands.motor_back[j]
            if gain > 0.0:
                commands.servo_full[j] = side
        commands.torque[j] = torque
        add_to_diagonal(model, data, i, implicit)


@inlined
def is_at_stop(model, data, j, speed, error):
    """Whether joint j is driven against its stop: near it and far behind its speed. What it misses
    there does not wind its servo up."""
    if speed * error <= 0.5 * speed * speed:
        return False
    q = data.qpos[model.joint_qpos[j]]
    if speed > 0.0:
        return q >= model.joint_range[j, 1] - AT_STOP
    return q <= model.joint_range[j, 0] + AT_STOP


@inner
def commit_servos(model, data, commands, h, v, sums):
    """Torques as they have acted, now that the end velocity is known, and their work."""
    for j in range(commands.torque.shape[0]):
        i = model.joint_dof[j]
        if commands.motor_line[j] != 0.0:
            commands.servo_lag[j] = 0.0
            # by the branch that was taken: the inertia matrix held its slope
            droop = commands.motor_droop[j]
            if commands.torque[j] * commands.motor_line[j] < 0.0:
                droop *= commands.motor_back[j]
            commands.torque[j] -= droop * (data.qvel[i] - v[i])
        elif commands.servo_gain[j] > 0.0:
            error = commands.servo_speed[j] - data.qvel[i]
            if commands.servo_full[j] == 0.0:
                behind = commands.servo_lag[j] + h * error
                if not is_at_stop(model, data, j, commands.servo_speed[j], error):
                    commands.servo_lag[j] = behind
                torque = commands.servo_gain[j] * (error + behind / SERVO_TIME)
                commands.torque[j] = commands.given[j] + torque
                most = min(
                    commands.servo_limit[j], voltage_limit(commands, j, torque, data.qvel[i])
                )
                if abs(torque) > most:
                    commands.servo_full[j] = math.copysign(1.0, torque)
            else:
                commands.servo_lag[j] = 0.0
        sums.work[0] += 0.5 * h * (commands.torque[j] + commands.manual[i]) * (v[i] + data.qvel[i])


# --- under MuJoCo's own integrators


@inner
def servo_torques(F, m, d, model, data, commands, h, work):
    """Torques of all servos under MuJoCo's own integrators, by degree of freedom into work.force.

    They are to be right at the end of the step, gain (ω_s − ω⁺ + …) with ω⁺ = ω + h M⁻¹τ, all at
    once: each alone would be too strong where one joint moves another, as in a leg. The problem is
    that of a symmetric positive matrix with bounds, which Gauss-Seidel solves.
    """
    for i in range(model.nv):
        work.force[i] = 0.0
    largest = 0.0
    servos = 0
    for j in range(commands.torque.shape[0]):
        commands.servo_full[j] = 0.0
        if commands.servo_gain[j] == 0.0:
            commands.servo_lag[j] = 0.0
            continue
        if servos == 0:
            call_md(F.kinematics, m, d)
            call_md(F.com_pos, m, d)
            make_inertia(F, m, d, model, data)
            factor_inertia(F, m, d, model, data)
        servos += 1
        i = model.joint_dof[j]
        for k in range(model.nv):
            work.rhs[k] = 1.0 if k == i else 0.0
        solve_inertia(F, m, d, model, data, work.response[i], work.rhs)
        largest = max(largest, abs(commands.servo_speed[j] - data.qvel[i]))
    for _ in range(SWEEPS if servos > 1 else servos):
        change = 0.0
        for j in range(commands.torque.shape[0]):
            gain = commands.servo_gain[j]
            if gain == 0.0:
                continue
            i = model.joint_dof[j]
            error = commands.servo_speed[j] - data.qvel[i]
            error += (commands.servo_lag[j] + h * error) / SERVO_TIME
            longer = h + h * h / SERVO_TIME
            before = work.force[i]
            for k in range(model.nv):
                error -= longer * work.response[i, k] * work.force[k]
            own = longer * work.response[i, i]
            servo = gain * (error + own * before) / (1.0 + gain * own)
            commands.servo_full[j] = 0.0
            if abs(servo) > commands.servo_limit[j]:
                commands.servo_full[j] = math.copysign(1.0, servo)
                servo = math.copysign(commands.servo_limit[j], servo)
            work.force[i] = servo
            change = max(change, own * abs(servo - before))
        if change <= SETTLED * largest:
            break


@inner
def apply_servo_torques(F, m, d, model, data, commands, h, work):
    """Motors under MuJoCo's own integrators: as `apply_speed_servos`, with the torques that
    would be right at the end of the step if nothing else acted, and the voltage's bound at its
    begin, since the inertia matrix cannot be touched there. What the joints feel then is M⁻¹;
    loops can only make it more."""
    servo_torques(F, m, d, model, data, commands, h, work)
    for j in range(commands.torque.shape[0]):
        i = model.joint_dof[j]
        v = data.qvel[i]
        torque = commands.given[j] + work.force[i]
        if torque != 0.0 and abs(torque) > voltage_limit(commands, j, torque, v):
            commands.servo_full[j] = math.copysign(1.0, torque)
            torque = line_torque(commands, j, commands.servo_full[j], v)
        commands.torque[j] = torque
        data.applied[i] = commands.manual[i] + torque


@inner
def commit_servo_torques(model, data, commands, h, v, sums):
    """How far the joints of speed laws are behind, and the motors' work."""
    for j in range(commands.torque.shape[0]):
        i = model.joint_dof[j]
        if commands.servo_full[j] != 0.0:
            commands.servo_lag[j] = 0.0
        elif commands.servo_gain[j] > 0.0:
            error = commands.servo_speed[j] - data.qvel[i]
            if not is_at_stop(model, data, j, commands.servo_speed[j], error):
                commands.servo_lag[j] += h * error
        sums.work[0] += 0.5 * h * (commands.torque[j] + commands.manual[i]) * (v[i] + data.qvel[i])
