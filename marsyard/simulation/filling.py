"""Fills what the compiled loop works on (`arrays`) from a world and its scenario.

Constants first, in the order in which they need each other; then state and scratch, with room for
what may happen at once.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.interaction.contact_geometry import WHEEL_KINDS
from marsyard.interaction.nonsmooth.kernel import AUTO, GAUSS_SEIDEL, NEWTON, work_size
from marsyard.robot import Wheel
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.simulation import arrays
from marsyard.simulation.beam import build_beams
from marsyard.simulation.body_shapes import BodyShapes
from marsyard.simulation.floating import floats_freely, free_roots, group_of_bodies
from marsyard.simulation.inertia import make_tree
from marsyard.simulation.organs import build_parts, is_cone, organ_bodies
from marsyard.simulation.polygonal import SUM_COLUMNS
from marsyard.simulation.polygonal_world import PolygonalWorld
from marsyard.simulation.soil import STRESS_BINS
from marsyard.simulation.world import World, contact_margin

_METHODS = {"auto": AUTO, "gauss_seidel": GAUSS_SEIDEL, "newton": NEWTON}
#: features of the ground near an element that are looked at together
_NEAR = 8


def model_facts(
    world: World,
    scenario: Scenario,
    data: mujoco.MjData,
    polygonal: PolygonalWorld,
    own_ground: bool,
) -> arrays.Model:
    """Constant facts of the model; `own_ground`: an interaction of the user's acts on it."""
    m, robot, law = world.model, world.robot, scenario.interaction.law
    base = m.body(robot.base).id if robot.base else min(1, m.nbody - 1)
    joints = [m.joint(name).id for name in world.joints]
    stiffness = np.zeros(m.nv)
    for j in joints:
        stiffness[m.jnt_dofadr[j]] = m.jnt_stiffness[j]
    nonsmooth, compliant, pairs = law == "nonsmooth", law == "compliant", len(polygonal.names) > 0
    constrained = bool(m.neq > 0 or m.jnt_limited.any() or m.tendon_limited.any())
    by_force = world.soil is not None or own_ground
    organ_body = organ_bodies(robot, m)
    body_organ = np.full(m.nbody, -1, dtype=np.int64)
    # belts know their tracks; what else of a track's frame touches is no track
    feet = len(robot.feet)
    body_organ[organ_body[:feet]] = np.arange(feet)
    collides = (world.geom_surface < 0) & ((m.geom_contype | m.geom_conaffinity) != 0)
    several = len(np.unique(m.geom_bodyid[collides])) > 1
    # loops and tendons may tie trees together, and so may rigid contact of their bodies
    tied = bool(m.neq > 0 or m.ntendon > 0 or (nonsmooth and collides.any()))
    roots = free_roots(m, [tuple(b) for b in polygonal.loop.body], tied)
    # forces of the ground, beams and inertia of tendons couple more than the tree does
    coupled = by_force or compliant or pairs or robot.beams or np.any(m.tendon_armature > 0)
    return arrays.Model(
        nq=m.nq, nv=m.nv, base=base, free_base=_on_free_joint(m, base),
        diagonal=(m.M_rowadr + m.M_rownnz - 1).astype(np.int64),
        stiffness=stiffness, damping=np.array(m.dof_damping),
        geom_body=m.geom_bodyid.astype(np.int64),
        geom_surface=world.geom_surface, geom_wheel=world.geom_wheel,
        has_tendons=m.ntendon > 0, has_actuators=m.nu > 0,
        has_collisions=bool((nonsmooth and collides.any()) or (compliant and several)),
        has_constraints=constrained,
        has_rigid=bool(
            constrained
            or (nonsmooth and world.surfaces)
            or ((nonsmooth or compliant) and several)
        ),
        has_soil=by_force, has_compliant=compliant and bool(world.surfaces),
        floating=not own_ground and floats_freely(m, scenario),
        roots=roots, body_group=group_of_bodies(m, roots), has_polygonal=pairs,
        joint_qpos=np.array([m.jnt_qposadr[j] for j in joints], dtype=np.int64),
        joint_dof=np.array([m.jnt_dofadr[j] for j in joints], dtype=np.int64),
        joint_range=_joint_ranges(m, joints),
        between=len(world.surfaces),
        smooth=scenario.run.integrator != "moreau_jean",
        has_loops=m.neq > 0,
        tree=make_tree(m, data, not coupled, polygonal.dense),
        body_organ=body_organ, organ_body=organ_body,
        has_beams=bool(robot.beams), beams=build_beams(robot, m),
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


def wheel_facts(
    world: World, shape: str | None, shapes: BodyShapes, meshes: np.ndarray, numbers: np.ndarray
) -> arrays.Wheels:
    """Wheels and what else touches; `meshes` is the table of the ground's meshes, `numbers` their
    surfaces."""
    m, wheels = world.model, list(world.robot.wheels.values())
    ids = [m.joint(w.joint).id for w in wheels]
    parts = build_parts(world.robot, m, shape)
    return arrays.Wheels(
        body=np.array([m.body(w.body).id for w in wheels], dtype=np.int64),
        joint=np.array(ids, dtype=np.int64),
        dof=np.array([m.jnt_dofadr[j] for j in ids], dtype=np.int64),
        qpos=np.array([m.jnt_qposadr[j] for j in ids], dtype=np.int64),
        kind=np.array([_kind(w, shape) for w in wheels], dtype=np.int64),
        radius=np.array([w.radius for w in wheels], dtype=float),
        width=np.array([w.width / 2 for w in wheels], dtype=float),
        shapes=shapes, parts=parts.shapes, part_wheel=parts.wheel,
        part_organ=parts.organ, part_dof=parts.dof, part_radius=parts.radius,
        meshes=meshes, mesh_surface=numbers,
    )  # fmt: skip


def _kind(wheel: Wheel, shape: str | None) -> int:
    """The contact kernels' number for a wheel's shape; of a cone, its middle disc."""
    if is_cone(wheel, shape):
        return WHEEL_KINDS["disc"]
    return WHEEL_KINDS[shape or wheel.shape]


def wheel_radii(world: World, scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Where a wheel shears soil, and where it carries [m]: the soil contact model's wheels are
    drums through the tips of their grousers, wheel models carry with the rim."""
    wheels = list(world.robot.wheels.values())
    shape, model = scenario.robot.wheel_shape, scenario.interaction.wheel
    lugs = np.array([w.lug_height if world.soil else 0.0 for w in wheels])
    # a cone rolls on its large end; wheel models know cones by their middle only
    on_rim = [is_cone(w, shape) and not model for w in wheels]
    rolling = [w.largest_radius if r else w.radius for w, r in zip(wheels, on_rim, strict=True)]
    radius = np.array([w.radius for w in wheels], dtype=float)
    shears = np.array(rolling) + lugs * (model.shear_share if model else 1.0)
    return shears, radius + (0.0 if model else lugs)


def law_numbers(world: World, scenario: Scenario) -> arrays.Law:
    """Friction and restitution by surface, and at the end between bodies; couples against rolling
    and spinning likewise."""
    law = scenario.interaction

    def by_surface(field: str) -> np.ndarray:
        values = []
        for surface in world.surfaces:
            own = getattr(law.surfaces.get(surface.name), field, None)
            values.append(getattr(law, field) if own is None else own)
        return np.array([*values, getattr(law, field)], dtype=float)

    rolling, spinning = by_surface("rolling_friction"), by_surface("spinning_friction")
    return arrays.Law(
        by_surface("friction"), by_surface("restitution"), by_surface("restitution_tangential"),
        rolling, spinning, bool(rolling.any() or spinning.any()),
    )  # fmt: skip


def scheme_numbers(scenario: Scenario) -> arrays.Scheme:
    """Numbers of the time stepping and of the solver."""
    run, law = scenario.run, scenario.interaction
    return arrays.Scheme(
        h=run.step, theta=run.theta, activation=run.activation,
        margin=contact_margin(scenario) if law.law in ("nonsmooth", "mujoco") else -np.inf,
        projection=run.projection, projection_tolerance=1e-10,
        tolerance=law.solver.tolerance, max_iterations=law.solver.max_iterations,
        method=_METHODS[law.solver.method],
        steps_per_control=whole_ratio("control_period", run.control_period, "step", run.step),
        controls_per_record=whole_ratio(
            "record_period", run.record_period, "control_period", run.control_period
        ),
    )  # fmt: skip


# --- state and scratch


def contact_room(
    m: mujoco.MjModel, model: arrays.Model, wheels: arrays.Wheels, couples: bool
) -> arrays.Contacts:
    """Room for the contacts of a step and for its equations of loops; `couples`: each of them may
    have one against rolling and one against spinning."""
    c = 8 * (len(wheels.body) + len(wheels.shapes.body) + 1) + 4 * len(wheels.parts.body)
    if model.has_collisions:
        # room for every colliding shape to touch a few others, within reason for the memory
        colliding = np.count_nonzero((m.geom_contype | m.geom_conaffinity) != 0)
        c += min(2048, 64 + 16 * int(colliding))
    if model.has_constraints:
        c += m.njnt + m.ntendon
    if couples:
        c *= 3
    e, nv = 6 * m.neq, m.nv
    f, i = np.zeros, np.int64
    return arrays.Contacts(
        key=f(c, i), body1=f(c, i), body2=f(c, i), wheel=f(c, i), organ=f(c, i),
        belt=f(c, i), belt_radius=f(c), surface=f(c, i), bound=f(c), pressed=f(c),
        point=f((c, 3)), frame=f((c, 3, 3)), gap=f(c), jacobian=f((3 * c, nv)),
        before=f(3 * c), free=f(3 * c), active=f(c, i),
        rows=f((e + 3 * c, nv)), half=f((e + 3 * c, nv)), delassus=f((3 * c, 3 * c)),
        q=f(3 * c), mu=f(c), r=f(3 * c), u=f(3 * c), work=f(work_size(c)),
        bilateral=f(e), bilateral_gram=f((e, e)), bilateral_factor=f((e, e)),
        bilateral_pivot=f(e), bilateral_order=f(e, i), bilateral_group=f(e, i),
        bilateral_scale=f(e), bilateral_impulse=f(e),
        coupling=f((e, 3 * c + 1)),
        old_key=f(c, i), old_r=f(3 * c), old_count=f(1, i),
        near_point=f((_NEAR, 3)), near_normal=f((_NEAR, 3)), near_gap=f(_NEAR),
        near_surface=f(_NEAR, i), near_feature=f(_NEAR, i), near_count=f(1, i),
        place=f((2, 3)), answer=f(4),
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
    soil_shapes: tuple[tuple[int, ...], tuple[int, ...]],
    pairs: int,
) -> arrays.Records:
    """Room for n records; `soil_shapes` are those of the soil's sums and totals."""
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
        soil_sums=f((n, *soil_shapes[0])), soil_total=f((n, *soil_shapes[1])),
        stress=f((n if model.has_soil else 0, w, STRESS_BINS, 3), np.float32),
        ground_work=f(n), pair=f((n, pairs, SUM_COLUMNS)),
        beam_loss=f(n),
    )  # fmt: skip
