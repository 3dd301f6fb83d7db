"""Fills what the compiled loop works on (`arrays`) from a world and its scenario.

Constants first, in the order in which they need each other; then state and scratch, with room for
what may happen at once.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.ground import Box, TriangleMesh
from marsyard.interaction.about import law_of_hard_ground
from marsyard.interaction.contact_geometry.organs import (
    is_cone,
    organ_bodies,
    organ_of_bodies,
)
from marsyard.interaction.law import COARSE_SUM, LARGEST, PRESENT, SUM
from marsyard.interaction.nonsmooth.codes import AUTO, GAUSS_SEIDEL, NEWTON
from marsyard.interaction.nonsmooth.kernel import work_size
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.simulation import arrays
from marsyard.simulation.attaching import Attached
from marsyard.simulation.floating import floats_freely, free_roots, group_of_bodies
from marsyard.simulation.inertia import make_tree
from marsyard.simulation.world import World, contact_margin

_METHODS = {"auto": AUTO, "gauss_seidel": GAUSS_SEIDEL, "newton": NEWTON}


def model_facts(
    world: World,
    scenario: Scenario,
    data: mujoco.MjData,
    attached: Attached,
    own_ground: bool,
) -> arrays.Model:
    """Constant facts of the model; `own_ground`: an interaction of the user's acts on it."""
    m, robot, law = world.model, world.robot, law_of_hard_ground(scenario)
    base = m.body(robot.base).id if robot.base else min(1, m.nbody - 1)
    joints = [m.joint(name).id for name in world.joints]
    stiffness = np.zeros(m.nv)
    for j in joints:
        stiffness[m.jnt_dofadr[j]] = m.jnt_stiffness[j]
    rows = [law for law in world.laws if law.gives_rows]
    constrained = bool(m.neq > 0 or m.jnt_limited.any() or m.tendon_limited.any())
    attachments = len(attached.loop.chains.body) > 0
    collides = world.colliding_bodies()
    several = len(collides) > 1
    # loops and tendons may tie trees together, and so may rigid contact of their bodies
    tied = bool(m.neq > 0 or m.ntendon > 0 or (law.gives_rows and len(collides) > 0))
    held = bool((attached.loop.chains.body == 0).any()) or any(r.ties_to_world for r in rows)
    pairs = [(int(a), int(b)) for a, b in attached.loop.chains.body if a > 0 and b > 0]
    roots = free_roots(m, pairs, tied)
    # forces of laws and inertia of tendons couple more than the tree does
    coupled = attachments or np.any(m.tendon_armature > 0)
    return arrays.Model(
        nq=m.nq, nv=m.nv, base=base, free_base=_on_free_joint(m, base),
        diagonal=(m.M_rowadr + m.M_rownnz - 1).astype(np.int64),
        stiffness=stiffness, damping=np.array(m.dof_damping),
        geom_body=m.geom_bodyid.astype(np.int64),
        geom_surface=world.geom_surface, geom_wheel=world.geom_wheel,
        has_tendons=m.ntendon > 0, has_actuators=m.nu > 0,
        has_collisions=law.bodies_collide and (several or (law.gives_rows and len(collides) > 0)),
        has_meshes=any(isinstance(each, Box | TriangleMesh) for each in world.surfaces),
        has_constraints=constrained,
        has_rigid=constrained or bool(rows),
        has_laws=attachments or any(r.gives_more for r in rows),
        floating=not (own_ground or held) and floats_freely(m, scenario),
        roots=roots, body_group=group_of_bodies(m, roots),
        joint_qpos=np.array([m.jnt_qposadr[j] for j in joints], dtype=np.int64),
        joint_dof=np.array([m.jnt_dofadr[j] for j in joints], dtype=np.int64),
        joint_range=_joint_ranges(m, joints),
        smooth=scenario.run.integrator != "moreau_jean",
        has_loops=m.neq > 0,
        tree=make_tree(m, data, not coupled, attached.dense),
        body_organ=organ_of_bodies(robot, m), organ_body=organ_bodies(robot, m),
    )  # fmt: skip


def _joint_ranges(m: mujoco.MjModel, joints: list[int]) -> np.ndarray:
    """Stops of joints [rad, m], infinite where there are none."""
    made = np.array(m.jnt_range[joints], dtype=float).reshape(-1, 2)
    made[~np.array(m.jnt_limited[joints], dtype=bool)] = -np.inf, np.inf
    return made


def _on_free_joint(m: mujoco.MjModel, body: int) -> bool:
    """The body hangs on a free joint, whose coordinates are the first."""
    first = m.body_jntadr[body]
    return bool(
        m.body_jntnum[body] == 1
        and int(m.jnt_type[first]) == mujoco.mjtJoint.mjJNT_FREE
        and m.jnt_qposadr[first] == 0
    )


def data_views(m: mujoco.MjModel, d: mujoco.MjData) -> arrays.Data:
    """Views of the arrays in mjData."""
    return arrays.Data(
        d.qpos, d.qvel, d.M, d.qLDiagInv, d.qfrc_bias, d.qfrc_passive, d.qfrc_applied,
        d.qfrc_actuator, d.qfrc_constraint, d.xpos, d.xmat, d.xquat, d.xaxis, d.subtree_com,
        d.cdof, d.subtree_linvel, d.energy, d.qacc, d.geom_xpos, d.geom_xmat, d.ten_length,
        d.subtree_angmom, m.body_subtreemass,
    )  # fmt: skip


def wheel_radii(world: World, scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Where a wheel shears the ground, and where it carries [m]; on soil as its law says."""
    radii = []
    for number, (name, w) in enumerate(world.robot.wheels.items()):
        # a cone rolls on its large end
        rolls = w.largest_radius if is_cone(w, scenario.robot.wheel_shape) else w.radius
        soil = world.soil
        own = (rolls, w.radius)
        radii.append(own if soil is None else soil.wheel_radii(number, name, w, rolls))
    both = np.array(radii, dtype=float).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def scheme_numbers(scenario: Scenario) -> arrays.Scheme:
    """Numbers of the time stepping and of the solver."""
    run, law = scenario.run, scenario.interaction
    return arrays.Scheme(
        h=run.step, theta=run.theta, activation=run.activation,
        margin=contact_margin(scenario), near=1e-3,
        projection=run.projection, projection_tolerance=1e-10,
        tolerance=law.solver.tolerance, max_iterations=law.solver.max_iterations,
        method=_METHODS[law.solver.method],
        steps_per_control=whole_ratio("control_period", run.control_period, "step", run.step),
        controls_per_record=whole_ratio(
            "record_period", run.record_period, "control_period", run.control_period
        ),
    )  # fmt: skip


# --- state and scratch


def problem_room(m: mujoco.MjModel, c: int) -> arrays.Contacts:
    """Room for the problem of so many contacts, and for the equations of loops."""
    e, nv = 6 * m.neq, m.nv
    f, i = np.zeros, np.int64
    return arrays.Contacts(
        jacobian=f((3 * c, nv)),
        before=f(3 * c), free=f(3 * c), active=f(c, i),
        rows=f((e + 3 * c, nv)), half=f((e + 3 * c, nv)), delassus=f((3 * c, 3 * c)),
        q=f(3 * c), mu=f(c), r=f(3 * c), u=f(3 * c), work=f(work_size(c)),
        bilateral=f(e), bilateral_gram=f((e, e)), bilateral_factor=f((e, e)),
        bilateral_pivot=f(e), bilateral_order=f(e, i), bilateral_group=f(e, i),
        bilateral_scale=f(e), bilateral_impulse=f(e),
        coupling=f((e, 3 * c + 1)),
        answer=f(4), place=f((2, 3)),
    )  # fmt: skip


def scratch(model: arrays.Model) -> arrays.Work:
    """Arrays that a step works in."""
    f, nv = np.zeros, model.nv
    return arrays.Work(
        f(model.nq), f(nv), f(nv), f(nv), f(nv), f(nv), f(nv), f(nv), f((3, nv)),
        f((3, nv)), f(6), f(2, np.int64),
        f((1 + int(model.roots[:, 2].max(initial=0)), 3, 6)),
        # no state is all zero: the first step measures
        f((model.nq + model.nv) if model.floating else 0),
        f((nv, nv) if model.smooth else (0, 0)),
    )  # fmt: skip


def empty_sums(model: arrays.Model, wheels: int, surfaces: int) -> arrays.Sums:
    """Sums over a record's period, at zero."""
    f = np.zeros
    return arrays.Sums(
        f((wheels, surfaces)), f((wheels, surfaces, 2)), f((wheels, 3)),
        np.full((wheels, 3), np.nan), f(model.nv), f(3), f((len(model.organ_body), 3)),
        f(1), f(6),
    )  # fmt: skip


def record_room(
    n: int,
    world: World,
    model: arrays.Model,
    attached: Attached,
) -> arrays.Records:
    """Room for n records."""
    nv, nq = model.nv, model.nq
    w, s, j = len(world.robot.wheels), len(world.surfaces), len(world.joints)
    o = len(model.organ_body)
    f = np.zeros
    return arrays.Records(
        time=f(n), coordinates=f((n, nq)), velocities=f((n, nv)), base_position=f((n, 3)),
        base_quaternion=f((n, 4)), com=f((n, 3)), com_velocity=f((n, 3)), torque=f((n, j)),
        normal=f((n, w, s)), tangent=f((n, w, s, 2)), world=f((n, w, 3)), point=f((n, w, 3)),
        gap=f((n, w, s)), contact_velocity=f((n, w, 3)), reaction=f((n, nv)), other=f((n, 3)),
        energy=f((n, 2)), motor_work=f(n), stats=f((n, 6)), wheel_centre=f((n, w, 3)),
        wheel_axis=f((n, w, 3)), wheel_velocity=f((n, w, 3)),
        tether_length=f((n, world.model.ntendon)), organ=f((n, o, 3)),
        organ_position=f((n, o, 3)),
        attached=f((n, *attached.loop.chains.sums.shape)),
        summed=f((n, attached.sizes[SUM])), largest=f((n, attached.sizes[LARGEST])),
        present=f((n, attached.sizes[PRESENT])),
        coarse=f((n, attached.sizes[COARSE_SUM]), np.float32),
    )  # fmt: skip
