"""From a scenario to a world that can be stepped: MuJoCo model, ground, wheels, laws.

The robot's MJCF is loaded, gravity and joint springs are set, and the ground's planes, balls and
boxes are added as geoms too, so that bodies other than wheels collide with them by MuJoCo's shapes.
Wheels meet the ground through our own exact geometry.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from pydantic import ValidationError

from marsyard.errors import InputError, suggest
from marsyard.ground import Box, Plane, Sphere, Surface, TriangleMesh
from marsyard.ground.rocks import rock_mesh
from marsyard.ground.terrain import Terrain
from marsyard.interaction.about import HARD, NONE, law_of_hard_ground, laws
from marsyard.interaction.hard_ground import HardGround, hard_ground
from marsyard.interaction.law import Law
from marsyard.interaction.registry import build_laws
from marsyard.interaction.soft_ground import terrain_of
from marsyard.interaction.soil_bed import SoilBed
from marsyard.interaction.soil_law import WorldSoil
from marsyard.robot import Robot, Wheel, designed, load_robot
from marsyard.rotations import quaternion_of, quaternion_to
from marsyard.scenario.schema import Ground, Scenario
from marsyard.scenario.soil import TerrainGround

MARGIN = 0.02  # [m]
FASTEST = 10.0  # [m/s]
#: angular distance from which on a joint limit is watched [rad]
LIMIT_MARGIN = 0.05
_TILE = 50.0  # half size of a drawn plane [m]
_AWAY = (1.0, 1.0, 1.0)  # any place but the origin [m]
_SLACK = 1e9  # free length of a tether before the start [m]


@dataclass(frozen=True)
class World:
    """A compiled model with its ground and names."""

    robot: Robot
    model: mujoco.MjModel
    laws: tuple[Law, ...]
    rigid: Any  # the law whose rows place robots on hard ground, whether it acts or not
    hard: HardGround
    joints: tuple[str, ...]  # hinge and slide joints in the model's order
    geom_surface: np.ndarray
    geom_wheel: np.ndarray

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces of hard ground."""
        return self.hard.surfaces

    @cached_property
    def soil(self) -> WorldSoil | None:
        """The soft ground with the laws of its soil, if there is some."""
        bed = next((law for law in self.laws if isinstance(law, SoilBed)), None)
        return None if bed is None else WorldSoil(bed.ground, bed.soil_laws)

    def colliding_bodies(self) -> np.ndarray:
        """MuJoCo's bodies of the robot with geoms that collide, each once."""
        m = self.model
        collides = ((m.geom_contype | m.geom_conaffinity) != 0) & (self.geom_surface < 0)
        return np.unique(m.geom_bodyid[collides])

    def dof_names(self) -> list[str]:
        """A name for every degree of freedom."""
        names: list[str] = []
        for j in range(self.model.njnt):
            name = joint_name(self.model, j)
            kind = int(self.model.jnt_type[j])
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                names += [f"{name}_{c}" for c in ("x", "y", "z", "rot_x", "rot_y", "rot_z")]
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                names += [f"{name}_{c}" for c in ("rot_x", "rot_y", "rot_z")]
            else:
                names.append(name)
        return names


def contact_margin(scenario: Scenario) -> float:
    """Gap up to which contacts are looked for [m]: what closes within a step, up to 10 m/s."""
    return MARGIN + FASTEST * scenario.run.step


def body_name(model: mujoco.MjModel, b: int) -> str:
    """A body's name, or one made from its number."""
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, b) or f"body{b}"


def joint_name(model: mujoco.MjModel, j: int) -> str:
    """A joint's name, or one made from its number."""
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) or f"joint{j}"


def make_surfaces(scenario: Scenario) -> tuple[Surface, ...]:
    """The ground of a scenario as surfaces."""
    surfaces = []
    for ground in scenario.ground:
        if ground.kind == "terrain":
            continue
        try:
            surfaces.append(_surface(ground, scenario))
        except InputError as error:
            raise InputError(f"ground.{ground.name}: {error}") from None
    return tuple(surfaces)


def _surface(g: Ground, scenario: Scenario) -> Surface:
    name = str(g.name)
    if g.kind == "rocks":
        return rock_mesh(g, _terrain(scenario))
    if g.kind == "plane":
        return Plane.slope(g.slope, g.uphill, g.through, name=name)
    if g.kind == "sphere":
        return Sphere(g.centre, g.radius, name=name)
    if g.kind == "box":
        half = tuple(s / 2 for s in g.size)
        return Box(g.centre, half, quaternion_of(*g.attitude).tolist(), name=name)
    assert g.kind == "mesh"
    if g.file is not None:
        return TriangleMesh.from_file(g.file, name=name, edge_normal=g.edge_normal)
    triangles = np.array(g.triangles, dtype=float)
    return TriangleMesh.from_triangles(triangles, name=name, edge_normal=g.edge_normal)


def _terrain(scenario: Scenario) -> Terrain | None:
    """The undisturbed terrain of a scenario."""
    for ground in scenario.ground:
        if isinstance(ground, TerrainGround):
            try:
                return terrain_of(ground)
            except InputError as error:
                raise InputError(f"the terrain they lie on: {error}") from None
    return None


def build_world(
    scenario: Scenario, robot: Robot | None = None, own_law: type[Law] | None = None
) -> World:
    """Load the robot, add the ground, set gravity and springs, compile; an `own_law` acts on all
    bodies in place of the scenario's."""
    robot = _with_changes(robot, scenario) if robot else robot_of(scenario)
    surfaces = make_surfaces(scenario)
    spec = robot.spec()
    _check_roles(spec, robot)
    _warn_of_nothing(robot, scenario)
    _set_geoms(spec, robot, scenario)
    _add_tethers(spec, robot, scenario)
    _add_rotors(spec, robot, scenario)
    spec.option.gravity = [0.0, 0.0, -scenario.gravity]
    spec.option.timestep = scenario.run.step
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    _set_integrator(spec, scenario)
    law = law_of_hard_ground(scenario)
    if law.is_mujocos:
        _soft_wheels(spec, robot, scenario)
    if law is NONE:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for surface in surfaces:
        _add_ground_geom(spec, surface, scenario)
    # contacts and limits are to be seen before they close
    if law.bodies_collide:
        for geom in spec.geoms:
            geom.margin = max(geom.margin, contact_margin(scenario))
    if scenario.run.integrator == "moreau_jean":
        for joint in spec.joints:
            joint.margin = LIMIT_MARGIN
        for tendon in spec.tendons:
            tendon.margin = MARGIN
    if scenario.run.integrator != "moreau_jean":
        # held nearly rigid by mujoco's own solver, then exactly (`projection.close_loops`)
        for equality in spec.equalities:
            equality.solref = [2.0 * scenario.run.step, 1.0]
            equality.solimp = [0.9999, 0.9999, 0.001, 0.5, 2.0]
    terrain = any(g.kind == "terrain" for g in scenario.ground)
    if law.couples_freedoms or terrain or robot.beams:
        _couple_all(spec)
    model = _compile(spec, robot)
    _check_sprockets(model, robot)
    if np.any(model.dof_frictionloss > 0) and not law.joint_friction:
        raise InputError(
            f"{robot.name}: frictionloss on a joint is not supported with the {law.name} law; "
            "remove it, or use interaction.law mujoco with run.integrator semi_implicit"
        )
    joints = tuple(
        joint_name(model, j)
        for j in range(model.njnt)
        if int(model.jnt_type[j]) in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    )
    _set_springs(model, robot, joints, scenario)
    names = [s.name for s in surfaces]
    geom_surface = np.full(model.ngeom, -1, dtype=np.int64)
    geom_wheel = np.full(model.ngeom, -1, dtype=np.int64)
    wheel_bodies = {
        mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, w.body): i
        for i, w in enumerate(robot.wheels.values())
    }
    for g in range(model.ngeom):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or ""
        if name.startswith("ground:"):
            geom_surface[g] = names.index(name.removeprefix("ground:"))
        geom_wheel[g] = wheel_bodies.get(int(model.geom_bodyid[g]), -1)
    _check_axles(model, robot)
    hard = hard_ground(scenario, robot, model, surfaces)
    built = build_laws(scenario, robot, model, hard, own_law)
    rigid = next(law for law in built if law.places)
    acting = tuple(law for law in built if law.acts)
    return World(robot, model, acting, rigid, hard, joints, geom_surface, geom_wheel)


def _check_axles(model: mujoco.MjModel, robot: Robot) -> None:
    """Results count along the axle: forwards is to its right."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    base = data.xmat[model.body(robot.base).id if robot.base else min(1, model.nbody - 1)]
    axes = {name: data.xaxis[model.joint(w.joint).id] for name, w in robot.wheels.items()}
    wrong = [name for name, axis in axes.items() if axis @ base.reshape(3, 3)[:, 1] < -1e-9]
    if wrong:
        warnings.warn(
            f"{robot.name}: the axes of {', '.join(wrong)} point to the right, so rates, slip, "
            f"pull and torque of these wheels have the wrong sign in the results; make them point "
            f"left"
            "",
            stacklevel=3,
        )


def _check_sprockets(model: mujoco.MjModel, robot: Robot) -> None:
    """A sprocket turns about the left of the frame that carries it: so the belt's speed counts."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for key, track in robot.tracks.items():
        joint, frame = model.joint(track.joint).id, model.body(track.body).id
        where = f"{robot.name}: tracks.{key}.joint: '{track.joint}'"
        if int(model.jnt_type[joint]) != mujoco.mjtJoint.mjJNT_HINGE:
            raise InputError(f"{where} must be a hinge, about which the sprocket turns")
        above = int(model.body_parentid[model.jnt_bodyid[joint]])
        while above not in (0, frame):
            above = int(model.body_parentid[above])
        if above != frame:
            raise InputError(
                f"{where} must move a body that the track's frame '{track.body}' carries, not the "
                "frame itself"
            )
        if data.xaxis[joint] @ data.xmat[frame].reshape(3, 3)[:, 1] < 0.99:
            raise InputError(
                f"{where} must turn about the y axis of '{track.body}', to the left, so that a "
                f"positive rate drives forwards"
                ""
            )


def robot_of(scenario: Scenario, folder: Path | None = None) -> Robot:
    """The robot of a scenario, with all that it changes; see `load_robot` for `folder`."""
    return _with_changes(load_robot(scenario.robot.name, folder), scenario)


def _with_changes(robot: Robot, scenario: Scenario) -> Robot:
    """The robot with the design and the wheel numbers that the scenario changes."""
    given = scenario.robot.wheel.model_dump(exclude_none=True)
    robot = designed(robot, scenario.robot.design)
    if not given:
        return robot
    if given.get("grousers") == "none":
        given["grousers"] = None
    try:
        wheels = {
            name: Wheel.model_validate({**w.model_dump(), **given})
            for name, w in robot.wheels.items()
        }
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"robot.wheel: {message}") from None
    return robot.model_copy(update={"wheels": wheels})


def _set_geoms(spec: mujoco.MjSpec, robot: Robot, scenario: Scenario) -> None:
    for name, size in scenario.robot.geoms.items():
        geom = spec.geom(name)
        if geom is None:
            names = [g.name for g in spec.geoms if g.name]
            raise InputError(
                f"robot.geoms: '{name}' is not a geom of {robot.name}; {suggest(name, names)}"
            )
        if len(size) > 3 or min(size, default=0.0) <= 0:
            raise InputError(f"robot.geoms.{name}: give one to three half sizes above 0 [m]")
        geom.size = [*size, *geom.size[len(size) :]]


def _add_tethers(spec: mujoco.MjSpec, robot: Robot, scenario: Scenario) -> None:
    for k, tether in enumerate(scenario.tethers):
        body = spec.body(tether.body or robot.base or spec.bodies[1].name)
        if body is None:
            names = [b.name for b in spec.bodies]
            raise InputError(
                f"tethers.{k}.body: '{tether.body}' is not a body of {robot.name}; "
                f"{suggest(str(tether.body), names)}"
            )
        name = f"tether:{tether.name}"
        body.add_site(name=f"{name}:near", pos=tether.point)
        # the far end and the free length are set when the start is known; a site at the world's
        # origin would be taken for the origin itself and stay there
        spec.worldbody.add_site(name=f"{name}:far", pos=_AWAY)
        tendon = spec.add_tendon(name=name)
        tendon.stiffness = [tether.stiffness, 0.0, 0.0]
        tendon.springlength = [0.0, _SLACK]
        tendon.wrap_site(f"{name}:near")
        tendon.wrap_site(f"{name}:far")


def fix_tethers(world: World, data: mujoco.MjData, scenario: Scenario) -> None:
    """Set the far ends and free lengths of the tethers for the robot's present pose."""
    m = world.model
    mujoco.mj_kinematics(m, data)
    for tether in scenario.tethers:
        near, far = (m.site(f"tether:{tether.name}:{end}").id for end in ("near", "far"))
        start = data.site_xpos[near].copy()
        if tether.anchor is not None:
            m.site_pos[far] = tether.anchor
        else:
            base = m.body(world.robot.base).id if world.robot.base else 1
            forward = data.xmat[base].reshape(3, 3)[:, 0] * (1.0, 1.0, 0.0)
            m.site_pos[far] = start - tether.behind * forward / np.linalg.norm(forward)
        length = tether.length
        if length is None:
            length = float(np.linalg.norm(start - m.site_pos[far]))
        m.tendon_lengthspring[m.tendon(f"tether:{tether.name}").id] = (0.0, length)


def _check_roles(spec: mujoco.MjSpec, robot: Robot) -> None:
    bodies = [b.name for b in spec.bodies]
    joints = [j.name for j in spec.joints]

    def known(name: str, names: list[str], field: str) -> None:
        if name not in names:
            raise InputError(
                f"{robot.name}: {field}: '{name}' is not in {robot.model.name}; "
                f"{suggest(name, names)}"
            )

    if robot.base is not None:
        known(robot.base, bodies, "base")
    for key, wheel in robot.wheels.items():
        known(wheel.body, bodies, f"wheels.{key}.body")
        known(wheel.joint, joints, f"wheels.{key}.joint")
    for key, foot in robot.feet.items():
        known(foot.body, bodies, f"feet.{key}.body")
    for key, track in robot.tracks.items():
        known(track.body, bodies, f"tracks.{key}.body")
        known(track.joint, joints, f"tracks.{key}.joint")
    for role, members in robot.roles.items():
        for joint in members:
            known(joint, joints, f"roles.{role}")
    _check_organs(spec, robot)


def _warn_of_nothing(robot: Robot, scenario: Scenario) -> None:
    """Settings that have nothing to act on in this robot."""
    if scenario.interaction.wheel is not None and not robot.wheels:
        warnings.warn(
            f"interaction.wheel: {robot.name} has no wheels, so the model has no effect",
            stacklevel=2,
        )
    groups = {g for law in scenario.control for g in _names(law.joints)}
    for group in sorted(groups):
        if group == "drives" and robot.roles.get(group) == ():
            warnings.warn(
                f"control: the role '{group}' of {robot.name} contains no joint, so nothing is "
                f"driven"
                "",
                stacklevel=2,
            )


def _names(joints: str | Sequence[str]) -> tuple[str, ...]:
    return (joints,) if isinstance(joints, str) else tuple(joints)


def _check_organs(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Joints move the wheels they name."""
    for key, wheel in robot.wheels.items():
        if not _carries(spec.joint(wheel.joint).parent, spec.body(wheel.body)):
            raise InputError(
                f"{robot.name}: wheels.{key}.joint: '{wheel.joint}' does not move the wheel's body "
                f"'{wheel.body}'; name the joint of its axle"
            )


def _carries(body: mujoco.MjsBody, other: mujoco.MjsBody | None) -> bool:
    """Whether the other body is this one or hangs on it."""
    while other is not None and other.name != "world":
        if other.name == body.name:
            return True
        other = other.parent
    return False


def _set_integrator(spec: mujoco.MjSpec, scenario: Scenario) -> None:
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    # a run that diverges stops and says so; mujoco would start anew without a word
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if scenario.run.integrator == "semi_implicit":
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP


def _couple_all(spec: mujoco.MjSpec) -> None:
    # mujoco keeps only the diagonal of the inertia matrix of a body that stands alone; implicit
    # contact couples its degrees of freedom. An empty child makes it keep all
    for body in spec.worldbody.bodies:
        if not body.bodies:
            body.add_body()


def _soft_wheels(spec: mujoco.MjSpec, robot: Robot, scenario: Scenario) -> None:
    # mujoco's own contact needs a geom that collides on each wheel
    if robot.tracks and not law_of_hard_ground(scenario).belts:
        raise InputError(
            f"{robot.name}: "
            f"mujoco's soft contact does not support belts, so its tracks would not touch the "
            f"ground; use interaction.law {_laws_that('belts')}"
        )
    friction = scenario.interaction.friction
    for name, wheel in robot.wheels.items():
        body = spec.body(wheel.body)
        geom = body.add_geom(name=f"soft:{name}", contype=1, conaffinity=1, mass=0, group=3)
        geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
        geom.size = [wheel.radius, 0, 0]
        geom.friction = [friction, 0.0, 0.0]


def _add_ground_geom(spec: mujoco.MjSpec, surface: Surface, scenario: Scenario) -> None:
    own = scenario.interaction.surfaces.get(surface.name)
    friction = scenario.interaction.friction
    if own is not None and own.friction is not None:
        friction = own.friction
    geom = None
    if isinstance(surface, Plane):
        geom = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[_TILE, _TILE, 1])
        geom.pos = surface.point
        geom.quat = quaternion_to(np.array(surface.normal))
    elif isinstance(surface, Sphere):
        geom = spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[surface.radius, 0, 0]
        )
        geom.pos = surface.centre
    elif isinstance(surface, Box):
        geom = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=surface.half_size)
        geom.pos = surface.centre
        geom.quat = surface.rotation
    elif not law_of_hard_ground(scenario).meshes:
        raise InputError(
            f"ground.{surface.name}: mujoco's soft contact takes only convex shapes, not a mesh of "
            f"triangles; use interaction.law {_laws_that('meshes')}, or build the ground from "
            "planes and boxes"
        )
    if geom is not None:
        geom.name = f"ground:{surface.name}"
        collides = 0 if law_of_hard_ground(scenario).finds_ground else 1
        geom.contype, geom.conaffinity = collides, collides
        geom.friction = [friction, 0.0, 0.0]
        geom.rgba = [0.72, 0.45, 0.3, 1.0]


def _laws_that(know: str) -> str:
    """'a or b' of the laws of hard ground that know something."""
    known = [n for n, a in laws(HARD).items() if getattr(a, know) and a is not NONE]
    return " or ".join(known)


def _compile(spec: mujoco.MjSpec, robot: Robot) -> mujoco.MjModel:
    # wheels have their own geometry: their geoms are only seen, except the soft ones
    wheel_bodies = {w.body for w in robot.wheels.values()}
    for geom in spec.geoms:
        if geom.parent.name in wheel_bodies and not geom.name.startswith("soft:"):
            geom.contype, geom.conaffinity = 0, 0
    for body in spec.bodies:
        if body.explicitinertial and body.mass < 0:
            raise InputError(
                f"{robot.name}: body '{body.name}': mass = {body.mass}: must be above 0"
            )
    try:
        return spec.compile()
    except ValueError as error:
        text = " ".join(str(error).split())
        raise InputError(f"{robot.model.name}: MuJoCo cannot build the model ({text})") from None


def _add_rotors(spec: mujoco.MjSpec, robot: Robot, scenario: Scenario) -> None:
    """Inertia of the motors' rotors, seen through their gears."""
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    joints = {j.name: j for j in spec.joints if j.type in kinds}
    for group, motor in scenario.motors.items():
        for name in robot.joints_of(group, list(joints), f"motors.{group}"):
            joints[name].armature += motor.gear**2 * motor.rotor_inertia
    # a belt moves with its sprocket
    for track in robot.tracks.values():
        joints[track.joint].armature += track.mass * track.pitch_radius**2


def _set_springs(
    model: mujoco.MjModel, robot: Robot, joints: tuple[str, ...], scenario: Scenario
) -> None:
    start = start_angles(robot, joints, scenario)
    for group, spring in scenario.robot.springs.items():
        for name in robot.joints_of(group, list(joints), f"robot.springs.{group}"):
            j = model.joint(name).id
            model.jnt_stiffness[j] = spring.stiffness
            model.dof_damping[model.jnt_dofadr[j]] = spring.damping
            at = model.jnt_qposadr[j]
            model.qpos_spring[at] = start.get(name, model.qpos0[at])


def start_angles(
    robot: Robot, joints: tuple[str, ...], scenario: Scenario, rates: bool = False
) -> dict[str, float]:
    """Start angle [rad] (or rate [rad/s]) of every joint that the scenario names."""
    values: dict[str, float] = {}
    given: dict[str, Any] = scenario.robot.joint_rates if rates else scenario.robot.joints
    field = "robot.joint_rates" if rates else "robot.joints"
    for group, value in given.items():
        for name in robot.joints_of(group, list(joints), f"{field}.{group}"):
            values[name] = value
    return values


def check_between_stops(model: mujoco.MjModel, name: str, value: float) -> None:
    """Refuse a start angle [rad] or position [m] of a joint beyond its stops: being pushed back
    would cost energy that nothing pays for."""
    joint = model.joint(name).id
    low, high = model.jnt_range[joint]
    if model.jnt_limited[joint] and not low - 1e-9 <= value <= high + 1e-9:
        raise InputError(
            f"robot.joints: {name} = {value:.4g} is beyond its stops; it must be between "
            f"{low:.4g} and {high:.4g}"
        )
