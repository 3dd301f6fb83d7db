"""The compiled loop: control → step → record, period after period, without Python.

`advance` is entered once for many records; it releases the GIL. Torque laws are evaluated once per
control period on the state at its start and held over it.
"""

from __future__ import annotations

import math

from marsyard.c_calls import read_double, read_int32, read_int64
from marsyard.control.expression import evaluate as evaluate_program
from marsyard.interaction.contact_geometry.frame import place_shape, wheel_frame
from marsyard.interaction.rows import NEARBY
from marsyard.jit import inlined, inner, kernel
from marsyard.simulation.attached import evaluate_laws, place, record_laws, relax_laws
from marsyard.simulation.callables import surface_distance
from marsyard.simulation.floating import is_as_left, leave_state, measure_momentum
from marsyard.simulation.inertia import factor_inertia, make_inertia, solve_inertia
from marsyard.simulation.moreau_jean import (
    NOT_FINITE_FORCE,
    OK,
    SERVO_TIME,
    is_at_stop,
    line_torque,
    step,
    update_positions,
    voltage_limit,
)
from marsyard.simulation.mujoco_c import call_md, call_mdpppi
from marsyard.simulation.projection import close_loops
from marsyard.simulation.rows import collect_rows, collide, point_jacobian


@inlined
def current_limit(commands, j, way):
    """The torque [N·m] that current and gear allow towards `way` at the joint's present rate."""
    return commands.motor_brake[j] if way * commands.rates[j] < 0.0 else commands.motor_most[j]


@kernel
def command(model, data, commands, h, step_index):
    """Evaluate the torque laws for the current state and write the applied forces."""
    if model.free_base:
        w, x, y, z = data.qpos[3], data.qpos[4], data.qpos[5], data.qpos[6]
        for k in range(3):
            commands.state[1 + k] = data.qpos[k]
            commands.state[4 + k] = data.qvel[k]
            commands.state[10 + k] = data.qvel[3 + k]
        # roll, pitch, yaw of R = Rz Ry Rx
        commands.state[7] = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        commands.state[8] = math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))
        commands.state[9] = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    commands.state[0] = step_index * h
    for j in range(commands.angles.shape[0]):
        commands.angles[j] = data.qpos[model.joint_qpos[j]]
        commands.rates[j] = data.qvel[model.joint_dof[j]]
        commands.given[j] = 0.0
        commands.servo_gain[j] = 0.0
    for k in range(commands.joint.shape[0]):
        if commands.start[k] <= step_index < commands.end[k]:
            j = commands.joint[k]
            value = evaluate_program(
                commands.op, commands.argument, commands.first[k], commands.last[k],
                commands.state, commands.angles, commands.rates, j, commands.stack,
            )  # fmt: skip
            if commands.gain[k] > 0.0:
                commands.servo_speed[j] = value
                commands.servo_gain[j] = commands.gain[k]
                most = current_limit(commands, j, value - commands.rates[j])
                commands.servo_limit[j] = min(commands.limit[k], most)
            else:
                commands.given[j] += value
    follow_plan(commands, h, step_index)
    for i in range(model.nv):
        data.applied[i] = commands.manual[i]
    for j in range(commands.torque.shape[0]):
        most = current_limit(commands, j, commands.given[j])
        # what is not a number stays so, for the run to stop at it
        if abs(commands.given[j]) > most:
            commands.given[j] = math.copysign(most, commands.given[j])
        data.applied[model.joint_dof[j]] += commands.given[j]
        commands.torque[j] = commands.given[j]


@inner
def follow_plan(commands, h, step_index):
    """Have joints follow the angles of the plan: their rate, and how far they are behind."""
    first, apart, rows = commands.plan_at[0], commands.plan_at[1], commands.plan_at[2]
    if rows == 0:
        return
    since = min(max(step_index - first, 0), (rows - 1) * apart)
    row = min(since // apart, max(rows - 2, 0))
    part = (since - row * apart) / apart
    moving = first <= step_index < first + (rows - 1) * apart
    for j in range(commands.torque.shape[0]):
        if commands.plan_gain[j] > 0.0:
            here = commands.plan[row, j]
            step = commands.plan[row + 1, j] - here if rows > 1 else 0.0
            commands.servo_speed[j] = step / (apart * h) if moving else 0.0
            commands.servo_gain[j] = commands.plan_gain[j]
            commands.servo_lag[j] = here + part * step - commands.angles[j]
            error = commands.servo_speed[j] - commands.rates[j]
            error += commands.servo_lag[j] / SERVO_TIME
            most = current_limit(commands, j, error)
            commands.servo_limit[j] = min(commands.plan_limit[j], most)


#: accelerations of a smooth run beyond this count as diverged [m/s², rad/s²]
LARGEST = 1e10


#: sweeps over all servos under MuJoCo's own integrators, and the change of their speeds that ends
#: them, by the largest error of speed
SWEEPS, SETTLED = 50, 1e-6


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
def hold_speeds_alone(F, m, d, model, data, commands, h, work):
    """Motors under MuJoCo's own integrators: as `moreau_jean.hold_speeds`, with the torques that
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
def account_for_speeds(model, data, commands, h, v, sums):
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


@inner
def smooth_step(F, O, m, d, model, data, scheme, commands, contacts, sums, work):
    """One step of MuJoCo's own integrator, with its soft contact if that is on."""
    h = scheme.h
    work.stats[:] = 0.0
    hold_speeds_alone(F, m, d, model, data, commands, h, work)
    for i in range(model.nv):
        work.v_start[i] = data.qvel[i]
    # mj_step without its own checks, which write a log file and start anew
    call_md(F.forward, m, d)
    for i in range(model.nv):
        if not abs(data.acceleration[i]) < LARGEST:
            work.failure[1] = i
            return NOT_FINITE_FORCE
    call_md(F.euler, m, d)
    for i in range(model.nv):
        sums.reaction[i] += h * data.constraint[i]
        if not math.isfinite(data.qvel[i]):
            work.failure[1] = i
            return NOT_FINITE_FORCE
    account_for_speeds(model, data, commands, h, work.v_start, sums)
    count = read_int32(d + O.ncon, 0)
    first = read_int64(d + O.contact, 0)
    forces = read_int64(d + O.efc_force, 0)
    work.stats[0] = count
    for c in range(count):
        at = first + c * O.contact_size
        row = read_int32(at + O.contact_efc_address, 0)
        g1 = read_int32(at + O.contact_geom, 0)
        g2 = read_int32(at + O.contact_geom, 1)
        surface = max(model.geom_surface[g1], model.geom_surface[g2])
        w = max(model.geom_wheel[g1], model.geom_wheel[g2])
        work.stats[5] = max(work.stats[5], -read_double(at + O.contact_dist, 0))
        if row < 0 or surface < 0:
            continue
        # elliptic cone: the rows are normal, first and second tangent of mujoco's frame
        sign = 1.0 if model.geom_surface[g1] >= 0 else -1.0
        organ = model.body_organ[model.geom_body[g2 if sign > 0.0 else g1]]
        for k in range(3):
            world = 0.0
            for a in range(3):
                world += read_double(at + O.contact_frame, 3 * a + k) * read_double(forces, row + a)
            if w >= 0:
                sums.world[w, k] += sign * h * world
                sums.point[w, k] = read_double(at + O.contact_pos, k)
            else:
                sums.other[k] += sign * h * world
                if organ >= 0:
                    sums.organ[organ, k] += sign * h * world
        if w >= 0:
            sums.normal[w, surface] += h * read_double(forces, row)
    return OK


@inner
def smooth_tangents(model, data, wheels, sums, normal, frame):
    """Tangential impulses of a smooth run along the wheels' headings, from the world sums."""
    for w in range(wheels.body.shape[0]):
        total = 0.0
        for s in range(sums.normal.shape[1]):
            total += sums.normal[w, s]
        if total <= 0.0:
            continue
        # mean normal is not kept: take up along z, right on level ground
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        wheel_frame(normal, data.xaxis[wheels.joint[w]], frame)
        for a in range(2):
            value = 0.0
            for k in range(3):
                value += frame[1 + a, k] * sums.world[w, k]
            for s in range(sums.normal.shape[1]):
                sums.tangent[w, s, a] = value * sums.normal[w, s] / total


@kernel
def record(F, O, m, d, model, data, wheels, ground, scheme, commands, contacts, work, sums,
           records, laws, row, time):  # fmt: skip
    """Write one row of records from the current state and empty the sums."""
    nv, R = model.nv, laws.rows
    update_positions(F, m, d, model)
    call_md(F.make_inertia, m, d)
    call_md(F.com_vel, m, d)
    call_md(F.subtree_vel, m, d)
    call_md(F.energy_pos, m, d)
    call_md(F.energy_vel, m, d)
    records.time[row] = time
    for i in range(model.nq):
        records.coordinates[row, i] = data.qpos[i]
    for i in range(nv):
        records.velocities[row, i] = data.qvel[i]
        records.reaction[row, i] = sums.reaction[i]
    for k in range(3):
        records.base_position[row, k] = data.xpos[model.base, k]
        records.com[row, k] = data.com[0, k]
        records.com_velocity[row, k] = data.com_velocity[0, k]
        records.other[row, k] = sums.other[k]
    for k in range(4):
        records.base_quaternion[row, k] = data.xquat[model.base, k]
    for k in range(2):
        records.energy[row, k] = data.energy[k]
    records.motor_work[row] = sums.work[0]
    for i in range(sums.organ.shape[0]):
        for k in range(3):
            records.organ[row, i, k] = sums.organ[i, k]
            records.organ_position[row, i, k] = data.xpos[model.organ_body[i], k]
    for k in range(data.tendon_length.shape[0]):
        records.tether_length[row, k] = data.tendon_length[k]
    if model.has_laws:
        record_laws(laws, records, row)
    for j in range(commands.torque.shape[0]):
        records.torque[row, j] = commands.torque[j] + commands.manual[model.joint_dof[j]]
    for k in range(6):
        records.stats[row, k] = sums.stats[k]

    # wheels: gap to every surface, local velocity at the nearest point
    if model.smooth:
        smooth_tangents(model, data, wheels, sums, contacts.place[0], R.frame[0])
    found = 0
    if model.has_rigid:
        collide(F, m, d, model)
        found = collect_rows(O, d, model, laws, scheme.margin, NEARBY)
    for w in range(wheels.body.shape[0]):
        centre = data.xpos[wheels.body[w]]
        axis = data.xaxis[wheels.joint[w]]
        call_mdpppi(F.jac, m, d, work.jac1.ctypes.data, 0, centre.ctypes.data, wheels.body[w])
        for k in range(3):
            records.wheel_centre[row, w, k] = centre[k]
            records.wheel_axis[row, w, k] = axis[k]
            total = 0.0
            for j in range(nv):
                total += work.jac1[k, j] * data.qvel[j]
            records.wheel_velocity[row, w, k] = total
        nearest = -1
        nearest_gap = math.inf
        triangle = 0.0
        for s in range(records.gap.shape[2]):
            gap = surface_distance(F.distance, wheels, w, centre, axis, ground, s, 0.0, contacts)
            found_triangle = contacts.answer[2]
            for i in range(wheels.part_wheel.shape[0]):
                if wheels.part_wheel[i] == w:
                    place_shape(data.xpos, data.xmat, wheels.parts, i, contacts.place)
                    other = surface_distance(
                        F.distance, wheels.parts, i, contacts.place[0], contacts.place[1], ground,
                        s, 0.0, contacts,
                    )  # fmt: skip
                    gap = min(gap, other)
            records.gap[row, w, s] = gap
            records.normal[row, w, s] = sums.normal[w, s]
            records.tangent[row, w, s, 0] = sums.tangent[w, s, 0]
            records.tangent[row, w, s, 1] = sums.tangent[w, s, 1]
            if gap < nearest_gap:
                nearest_gap = gap
                nearest = s
                triangle = found_triangle
        best = -1
        for c in range(max(found, 0)):
            if R.wheel[c] == w and (best < 0 or R.gap[c] < R.gap[best]):
                best = c
        if best < 0 and nearest >= 0 and math.isfinite(nearest_gap):
            best = R.gap.shape[0] - 1
            far_contact(
                F.distance, wheels, w, centre, axis, ground, nearest, triangle, best, R, contacts
            )
        for k in range(3):
            records.world[row, w, k] = sums.world[w, k]
            records.point[row, w, k] = sums.point[w, k]
            records.contact_velocity[row, w, k] = math.nan
        if best >= 0:
            point_jacobian(F, m, d, nv, R, best, work.jac1, work.jac2, contacts.rows, 0)
            for k in range(3):
                total = 0.0
                for j in range(nv):
                    total += contacts.rows[k, j] * data.qvel[j]
                records.contact_velocity[row, w, k] = total

    sums.normal[:] = 0.0
    sums.tangent[:] = 0.0
    sums.world[:] = 0.0
    sums.point[:] = math.nan
    sums.reaction[:] = 0.0
    sums.other[:] = 0.0
    sums.organ[:] = 0.0
    sums.work[:] = 0.0
    sums.stats[:] = 0.0


@inner
def far_contact(address, wheels, w, centre, axis, ground, surface, triangle, slot, R, contacts):
    """The would-be contact of a wheel far from the ground, into a free slot: its normal is the
    gradient of the distance, by central differences; triangle: the nearest one of a mesh."""
    e = 1e-6
    point = R.point[slot]
    normal = contacts.place[0]
    size = 0.0
    for k in range(3):
        point[k] = centre[k]
    for k in range(3):
        point[k] = centre[k] + e
        up = surface_distance(address, wheels, w, point, axis, ground, surface, triangle, contacts)
        point[k] = centre[k] - e
        down = surface_distance(
            address, wheels, w, point, axis, ground, surface, triangle, contacts
        )
        if triangle > 0.0 and not abs(up - down) < 4.0 * e:
            # what is nearest there belongs to another triangle
            down = surface_distance(address, wheels, w, point, axis, ground, surface, 0.0, contacts)
            point[k] = centre[k] + e
            up = surface_distance(address, wheels, w, point, axis, ground, surface, 0.0, contacts)
        point[k] = centre[k]
        normal[k] = up - down
        size += normal[k] ** 2
    size = math.sqrt(size) if size > 0.0 else 1.0
    for k in range(3):
        normal[k] /= size
        point[k] = centre[k] - wheels.radius[w] * normal[k]
    wheel_frame(normal, axis, R.frame[slot])
    R.body1[slot] = 0
    R.body2[slot] = wheels.body[w]
    R.belt[slot] = -1


@inner
def add_stats(stats, total):
    """Contacts, iterations, residual, penetration: the largest; the counts: their sum."""
    total[0] = max(total[0], stats[0])
    total[1] = max(total[1], stats[1])
    total[2] = max(total[2], stats[2])
    total[3] += stats[3]
    total[4] += stats[4]
    total[5] = max(total[5], stats[5])


@kernel
def advance(F, O, m, d, model, data, wheels, ground, scheme, commands, laws, contacts, work, sums,
            records, counters, steps, slow):  # fmt: skip
    """Run `steps` steps, writing a record whenever one is due.

    counters: int64[2], steps done and records written. Stops early with the code of what went
    wrong; what was recorded stays.

    slow > 0 [m/s, rad/s]: settle instead, see `settle`: no commands and no records, the velocity is
    damped away, and the steps end when nothing moves faster than this.
    """
    per_record = scheme.steps_per_control * scheme.controls_per_record
    if model.floating and steps > 0 and not is_as_left(model, data, work):
        measure_momentum(F, m, d, model, data, work)
    for _ in range(steps):
        if slow == 0.0 and counters[0] % scheme.steps_per_control == 0:
            command(model, data, commands, scheme.h, counters[0])
        if model.smooth:
            status = smooth_step(
                F, O, m, d, model, data, scheme, commands, contacts, sums, work
            )  # fmt: skip
            if status == OK and model.has_loops:
                close_loops(F, O, m, d, model, data, scheme, contacts, work)
        else:
            time = counters[0] * scheme.h if slow == 0.0 else 0.0
            status = step(
                F, O, m, d, model, data, wheels, scheme, commands, laws, time, contacts, work, sums
            )  # fmt: skip
        if status != OK:
            work.failure[0] = status
            return status
        counters[0] += 1
        if model.floating:
            leave_state(model, data, work)
        if model.has_laws:
            now = counters[0] * scheme.h if slow == 0.0 else 0.0
            relax_laws(laws, now, scheme.h, scheme.theta)
        if slow > 0.0:
            if calm(model, data) < slow and counters[0] > 10:
                return OK
            continue
        add_stats(work.stats, sums.stats)
        if counters[0] % per_record == 0:
            record(
                F, O, m, d, model, data, wheels, ground, scheme, commands, contacts, work, sums,
                records, laws, counters[1], counters[0] * scheme.h,
            )  # fmt: skip
            counters[1] += 1
    return OK


@inner
def calm(model, data):
    """Take a tenth of the velocity away; returns the fastest before."""
    fastest = 0.0
    for i in range(model.nv):
        fastest = max(fastest, abs(data.qvel[i]))
        data.qvel[i] *= 0.9
    return fastest


@kernel
def place_attachments(data, laws, v):
    """Poses and velocities of what laws act on; positions must be up to date."""
    place(data, laws, v)


@kernel
def evaluate(data, laws, v, time, h, theta):
    """Forces of the laws as things are, without a step; returns what a law answered, or 0."""
    return evaluate_laws(data, laws, v, time, h, theta)
