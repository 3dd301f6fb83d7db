"""What the compiled loop works on: named tuples of plain arrays and numbers.

Numba takes named tuples as arguments and caches the loop for their types. Constant things first
(`Model`, `Scheme`, `Commands`), then state and scratch (`Data`, `Contacts`, `Work`, `Sums`,
`Records`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marsyard.jit import by_reference
from marsyard.simulation.inertia import Tree

Array = np.ndarray


@by_reference
class Model(NamedTuple):
    """Constant facts of the compiled MuJoCo model."""

    nq: int
    nv: int
    base: int  # body whose frame is the robot's base frame
    free_base: bool  # the base has a free joint: qpos[0:7], qvel[0:6]
    diagonal: Array  # int64[nv], place of each diagonal entry in the sparse inertia matrix
    stiffness: Array  # float64[nv], linear joint springs [N·m/rad, N/m]
    damping: Array  # float64[nv], linear joint dampers [N·m·s/rad, N·s/m]
    geom_body: Array  # int64[ngeom]
    geom_surface: Array  # int64[ngeom], number of the ground surface, or -1
    geom_wheel: Array  # int64[ngeom], number of the wheel, or -1
    has_tendons: bool
    has_actuators: bool
    has_collisions: bool  # some geom of the robot collides by MuJoCo's shapes
    has_meshes: bool  # the hard ground has triangles
    has_constraints: bool  # loop closures or joint limits
    has_rigid: bool  # rigid ground, colliding bodies or constraints: there may be impulses
    has_laws: bool  # laws with attachments
    floating: bool  # nothing outside acts: momentum is kept
    roots: Array  # int64[trees, 3], body, first dof and group of trees on free joints
    body_group: Array  # int64[nbody], group of a body's tree, or −1
    joint_qpos: Array  # int64[njoint] of hinge and slide joints
    joint_dof: Array  # int64[njoint]
    joint_range: Array  # float64[njoint, 2], stops; infinite where there are none
    smooth: bool  # step with mj_step instead of Moreau-Jean
    has_loops: bool  # loop closures
    tree: Tree
    body_organ: Array  # int64[nbody], number of the foot, or −1
    organ_body: Array  # int64[organ], bodies of feet, then of tracks


@by_reference
class Data(NamedTuple):
    """Views of the arrays in mjData."""

    qpos: Array
    qvel: Array
    inertia: Array
    inverse_pivots: Array
    bias: Array
    passive: Array
    applied: Array
    actuator: Array
    constraint: Array
    xpos: Array
    xmat: Array
    xquat: Array
    xaxis: Array
    com: Array
    cdof: Array
    com_velocity: Array
    energy: Array
    acceleration: Array
    geom_xpos: Array
    geom_xmat: Array
    tendon_length: Array
    angular_momentum: Array
    mass: Array  # of the subtrees


@by_reference
class Scheme(NamedTuple):
    """Numbers of the time stepping."""

    h: float
    theta: float
    activation: float
    margin: float  # contacts are looked for up to this gap at most [m]
    near: float  # and at least [m]
    projection: bool
    projection_tolerance: float  # [m]
    tolerance: float
    max_iterations: int
    method: int
    steps_per_control: int
    controls_per_record: int


@by_reference
class Commands(NamedTuple):
    """Torque and speed laws as postfix programs; one entry per law and joint."""

    op: Array
    argument: Array
    first: Array
    last: Array
    joint: Array
    start: Array  # int64, first step of the law
    end: Array  # int64, first step after it
    gain: Array  # float64, of a speed law [N·m·s/rad]; 0 for a torque law
    limit: Array  # float64, of a speed law [N·m], infinite if none
    stack: Array
    state: Array
    angles: Array
    rates: Array
    torque: Array  # float64[njoint], what acted last [N·m]
    given: Array  # float64[njoint], the part of it from torque laws
    servo_speed: Array  # float64[njoint], speed to hold [rad/s]
    servo_gain: Array  # float64[njoint], 0 = no speed law
    servo_limit: Array  # float64[njoint]
    servo_full: Array  # float64[njoint], −1, 1 while at the limit, else 0
    servo_lag: Array  # float64[njoint], angle by which the joint is behind [rad]
    manual: Array  # float64[nv], set by hand from Python, added to the laws
    plan: Array  # float64[rows, njoint], angles to follow, in equal steps of time
    plan_at: Array  # int64[3], step of the first row, steps between rows, rows in use
    plan_gain: Array  # float64[njoint], 0 = the joint has no plan
    plan_limit: Array  # float64[njoint]
    motor_most: Array  # float64[njoint], torque that current and gear allow, infinite if no motor
    motor_brake: Array  # float64[njoint], the same while the load drives the motor
    motor_stall: Array  # float64[njoint], torque that the voltage allows at rest
    motor_droop: Array  # float64[njoint], what that loses per rate [N·m·s/rad]
    motor_back: Array  # float64[njoint], 1/η²: torque the gear adds where the load drives
    motor_line: Array  # float64[njoint], −1, 1 while the voltage bounds the torque, else 0


@by_reference
class Contacts(NamedTuple):
    """The problem that the rows of a step make. Capacity `c` contacts, `e` bilateral rows."""

    jacobian: Array  # float64[3c, nv]
    before: Array  # float64[3c], local velocity at the start of the step
    free: Array  # float64[3c], local velocity if there were no contact
    active: Array  # int64[c], contacts in the problem
    rows: Array  # float64[e + 3c, nv], bilateral rows, then those of the active contacts
    half: Array  # float64[e + 3c, nv], rows times the inverse square root of the inertia
    delassus: Array  # float64[3c, 3c]
    q: Array
    mu: Array
    r: Array
    u: Array
    work: Array
    bilateral: Array  # float64[e], right-hand side
    bilateral_gram: Array  # float64[e, e], lower triangle
    bilateral_factor: Array  # float64[e, e]
    bilateral_pivot: Array  # float64[e]
    bilateral_order: Array  # int64[e]
    bilateral_group: Array  # int64[e], the same for rows of one unit of one equality
    bilateral_scale: Array  # float64[e]
    bilateral_impulse: Array  # float64[e]
    coupling: Array  # float64[e, 3c + 1]
    answer: Array  # float64[4], what a callback answers
    place: Array  # float64[2, 3], centre and axis of a shape, for the records


@by_reference
class Work(NamedTuple):
    """Scratch vectors of the step."""

    q_start: Array
    v_start: Array
    v_free: Array
    force: Array
    bias: Array
    rhs: Array
    delta: Array
    root: Array  # square roots of the inverse pivots
    jac1: Array  # float64[3, nv]
    jac2: Array
    stats: Array  # float64: contacts, iterations, residual, unconverged, limited, penetration
    failure: Array  # int64[2]: what became non-finite, its index
    momentum: Array  # float64[groups, 3, 6], to be kept, what is missing, scratch
    left: Array  # float64[nq + nv], state in which the loop left what floats freely
    response: Array  # float64[nv, nv], columns of M⁻¹ for motors under MuJoCo's own integrators


@by_reference
class Sums(NamedTuple):
    """What is added up between two records."""

    normal: Array  # float64[wheel, surface] [N·s]
    tangent: Array  # float64[wheel, surface, 2] [N·s]
    world: Array  # float64[wheel, 3] [N·s]
    point: Array  # float64[wheel, 3], last contact point [m], NaN if open
    reaction: Array  # float64[nv]
    other: Array  # float64[3], on bodies that are no wheels, from the ground [N·s]
    organ: Array  # float64[organ, 3], on feet and tracks, from the ground [N·s]
    work: Array  # float64[1], of the motors [J]
    stats: Array  # float64[6], as Work.stats, largest or added up


@by_reference
class Records(NamedTuple):
    """One row per record."""

    time: Array
    coordinates: Array
    velocities: Array
    base_position: Array
    base_quaternion: Array
    com: Array
    com_velocity: Array
    torque: Array
    normal: Array
    tangent: Array
    world: Array
    point: Array
    gap: Array
    contact_velocity: Array
    reaction: Array
    other: Array
    energy: Array
    motor_work: Array
    stats: Array
    wheel_centre: Array
    wheel_axis: Array
    wheel_velocity: Array
    tether_length: Array
    organ: Array
    organ_position: Array
    attached: Array  # float64[record, attachment, columns of Chains.sums]
    summed: Array  # float64[record, ·], what laws record (`interaction.law.Column`)
    largest: Array  # float64[record, ·]
    present: Array  # float64[record, ·]
    coarse: Array  # float32[record, ·]
