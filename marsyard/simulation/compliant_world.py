"""From a scenario to compliant contact: the elements of wheels, tracks and colliding geoms.

Each body that may touch hard ground is one entry of the loop: a wheel by its analytic shape, a
track by its belt, every other body by those of its geoms that collide.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground import Plane, Surface, TriangleMesh, pack
from marsyard.ground.soil import load_soil
from marsyard.interaction.compliant import curves, elements
from marsyard.interaction.compliant.elements import Balls, Belt, Elements
from marsyard.robot import Robot
from marsyard.robot.belt import outline
from marsyard.scenario.schema import Scenario
from marsyard.simulation.compliant import STATE_COLUMNS, TOUCH_COLUMNS, CompliantLoop
from marsyard.simulation.organs import colliding_geoms
from marsyard.simulation.soil_world import chain_of, fill_addresses

#: K of a curve that says nothing [m]
THIN_LAYER = 1e-3
#: radius of the ball through which an element looks at the ground [m]
INSIDE = 0.03
#: height of the walls below the rim of an open mesh, more than elements see into it [m]
WALL = 0.1
#: distance up to which balls look for ground [m]
_FAR = 0.05
#: arrays of the loop that belong to the state
STATE = ("state", "now", "touching", "before", "counts", "work")


@dataclass
class _Body:
    body: int
    joint: int
    wheel: int
    organ: int
    elements: Elements
    balls: Balls
    belt: tuple[int, int] = (-1, -1)
    belt_size: tuple[float, float] = (0.0, 1.0)
    along: np.ndarray = field(default_factory=lambda: np.zeros(0))
    outline: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))


def curve_of(scenario: Scenario) -> curves.Curve:
    """The scenario's curve of friction."""
    given = scenario.interaction.compliant.curve
    if given.kind == "loose":
        length = given.displacement
        if length is None and given.soil is not None:
            try:
                length = load_soil(given.soil).shear_modulus
            except InputError as error:
                raise InputError(f"interaction.compliant.curve.soil: {error}") from None
            if length is None:
                raise InputError(
                    f"interaction.compliant.curve.soil: '{given.soil}' has no shear_modulus; give "
                    "displacement instead"
                )
        return curves.loose(THIN_LAYER if length is None else length)
    if given.kind == "dense":
        return curves.dense(given.displacement, given.peak)
    return curves.table(given.points)


def no_compliant(nv: int) -> CompliantLoop:
    """For worlds without: nothing that touches."""
    return _assemble([], [], np.zeros((0, 0, 0), dtype=np.int64), nv, (1e8, 0.0), curves.loose(1.0))


def ground_of_law(law: str, surfaces: tuple[Surface, ...]) -> tuple[Surface, ...]:
    """The ground as a law meets it: elements see meshes from within, and need walls at rims."""
    if law != "compliant":
        return surfaces
    return tuple(s.with_walls(WALL) if isinstance(s, TriangleMesh) else s for s in surfaces)


def build_compliant(
    scenario: Scenario, robot: Robot, model: mujoco.MjModel, surfaces: tuple[Surface, ...]
) -> CompliantLoop:
    """Everything of the robot that may touch the hard ground of a scenario."""
    options = scenario.interaction.compliant
    if scenario.interaction.law != "compliant" or not surfaces:
        return no_compliant(model.nv)
    size = options.element_size
    found = [
        *_wheels(robot, model, scenario.robot.wheel_shape, size),
        *_tracks(robot, model, size),
        *_others(robot, model, size),
    ]
    chains = []
    for b in found:
        own = chain_of(model, b.body)
        chains.append(sorted({*own, b.belt[0]} if b.belt[0] >= 0 else own))
    k = max([1, *(len(c) for c in chains)])
    address = np.full((len(found), k, k), -1, dtype=np.int64)
    for row, dofs in enumerate(chains):
        fill_addresses(model, dofs, address[row])
    made = _assemble(
        found, chains, address, model.nv, (options.stiffness, options.damping), curve_of(scenario)
    )
    if all(isinstance(s, Plane) for s in surfaces):
        ground = pack(surfaces)
        made = made._replace(plane=ground.plane, plane_surface=ground.plane_surface)
    made.root[:] = [model.body_rootid[b.body] for b in found]
    return made


def _assemble(
    found: list[_Body],
    chains: list[list[int]],
    address: np.ndarray,
    nv: int,
    stiffness: tuple[float, float],
    curve: curves.Curve,
) -> CompliantLoop:
    n, k = len(found), address.shape[2] if len(found) else 1
    whole = elements.join([b.elements for b in found])
    total = len(whole.area)
    f, i = np.zeros, np.int64
    chain = f((n, k), i)
    for row, dofs in enumerate(chains):
        chain[row, : len(dofs)] = dofs
    balls, nexts, ranges, belts, outlines = [], [], [], [], []
    first_ball = first_element = first_point = 0
    for b in found:
        count = len(b.balls.radius)
        balls.append(np.concatenate([b.balls.centre, b.balls.radius[:, None]], axis=1))
        nexts.append(
            np.stack(
                [
                    b.balls.after + first_ball,
                    b.balls.first + first_element,
                    b.balls.last + first_element,
                ],
                axis=1,
            )  # fmt: skip
        )
        ranges.append((first_ball, first_ball + count))
        belts.append((*b.belt, first_point, first_point + len(b.outline)))
        outlines.append(b.outline)
        first_ball += count
        first_element += len(b.elements.area)
        first_point += len(b.outline)
    along = [b.along if len(b.along) else f(len(b.elements.area)) for b in found]
    scratch = f((6, 3))
    scratch[1, 1] = 1.0

    def numbers(name: str) -> np.ndarray:
        return np.array([getattr(b, name) for b in found], dtype=i)

    return CompliantLoop(
        body=numbers("body"), joint=numbers("joint"), wheel=numbers("wheel"),
        organ=numbers("organ"), root=f(n, i), chain=chain,
        chain_count=np.array([len(c) for c in chains], dtype=i),
        address=np.ascontiguousarray(address),
        balls=np.array(ranges, dtype=i).reshape(n, 2), belt=np.array(belts, dtype=i).reshape(n, 4),
        belt_size=np.array([b.belt_size for b in found], dtype=float).reshape(n, 2),
        outline=np.concatenate([f((0, 4)), *outlines]), along=np.concatenate([f(0), *along]),
        jacobian=f((n, 7, k)), twist=f((n, 7)), start=f((n, 7)), force=f((n, 7)),
        stiff=f((n, 7, 7)),
        ball=np.concatenate([f((0, 4)), *balls]), ball_seen=f((first_ball, 4)),
        ball_next=np.concatenate([f((0, 3), i), *nexts]),
        place=np.ascontiguousarray(whole.place), normal=np.ascontiguousarray(whole.normal),
        size=np.stack([whole.area, whole.length, elements.reach_of(whole)], axis=1),
        arc=np.ascontiguousarray(whole.arc),
        seen=f((total, 4)), state=f((total, STATE_COLUMNS)), now=f(total, i),
        touching=f((total, 3), i), touch=f((total, TOUCH_COLUMNS)), before=f(total, i),
        counts=f(2, i), generalised=f(nv), plane=f((0, 4)), plane_surface=f(0, i),
        numbers=np.array([*stiffness, INSIDE, _FAR]),
        curve=curve.numbers, curve_x=curve.x, curve_y=curve.y, scratch=scratch, column=f(7),
        work=f(2),
    )  # fmt: skip


# --- bodies


def _wheels(robot: Robot, model: mujoco.MjModel, shape: str | None, size: float) -> list[_Body]:
    out = []
    for k, w in enumerate(robot.wheels.values()):
        kind = shape or w.shape
        taper = w.taper if kind == "cylinder" else 0.0
        joint = model.joint(w.joint).id
        made = elements.wheel(kind, w.radius, w.width, taper, model.jnt_axis[joint], size)
        out.append(_Body(model.body(w.body).id, joint, k, -1, *elements.hierarchy(made, INSIDE)))
    return out


def _tracks(robot: Robot, model: mujoco.MjModel, size: float) -> list[_Body]:
    out = []
    for k, track in enumerate(robot.tracks.values()):
        made = elements.belt(outline(track), track.width, track.y, size)
        joint = model.joint(track.joint).id
        dof, qpos = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
        out.append(
            _Body(
                model.body(track.body).id,
                -1,
                -1,
                len(robot.feet) + k,
                made.elements,
                _stations(made),
                (dof, qpos),
                (track.pitch_radius, made.length),
                made.along,
                made.outline,
            )  # fmt: skip
        )
    return out


def _stations(belt: Belt) -> Balls:
    """A ball for each row across a belt, which moves with it."""
    n = len(belt.along) // belt.row
    y = belt.elements.place[: belt.row, 1]
    centre = np.zeros((n, 3))
    centre[:, 1] = y.mean()
    half = float(np.max(np.abs(y - y.mean())))
    radius = half + max(INSIDE, float(belt.elements.length[0]) / 2 + INSIDE)
    rows = np.arange(n, dtype=np.int64)
    return Balls(centre, np.full(n, radius), rows + 1, rows * belt.row, (rows + 1) * belt.row)


def _others(robot: Robot, model: mujoco.MjModel, size: float) -> list[_Body]:
    parts: dict[tuple[int, int], list[Elements]] = {}
    for g, body, _, foot in colliding_geoms(robot, model):
        parts.setdefault((body, foot), []).append(geom_elements(model, g, size))
    return [
        _Body(body, -1, -1, foot, *elements.hierarchy(elements.join(made), INSIDE))
        for (body, foot), made in parts.items()
    ]


def geom_elements(model: mujoco.MjModel, g: int, size: float) -> Elements:
    """Elements of a geom, in the frame of its body."""
    kinds = mujoco.mjtGeom
    kind = kinds(int(model.geom_type[g]))
    half = np.array(model.geom_size[g])
    if kind == kinds.mjGEOM_SPHERE:
        made = elements.ball(half[0], size)
    elif kind == kinds.mjGEOM_ELLIPSOID:
        made = elements.ellipsoid(half, size)
    elif kind == kinds.mjGEOM_CAPSULE:
        made = elements.capsule(half[0], half[1], size)
    elif kind == kinds.mjGEOM_CYLINDER:
        made = elements.cylinder(half[0], half[1], size)
    elif kind == kinds.mjGEOM_BOX:
        made = elements.box(half, size)
    elif kind == kinds.mjGEOM_MESH:
        m = int(model.geom_dataid[g])
        first, count = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
        start, faces = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
        vertices = np.array(model.mesh_vert[first : first + count], dtype=float)
        made = elements.triangles(vertices[model.mesh_face[start : start + faces]], size)
    else:
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}"
        raise InputError(f"geom '{name}': a {kind.name[7:].lower()} cannot be divided in elements")
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.geom_quat[g])
    return made.moved(np.array(model.geom_pos[g]), turn.reshape(3, 3))
