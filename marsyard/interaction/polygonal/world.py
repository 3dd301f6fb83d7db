"""From a scenario to polygonal contact: pairs of the robot with the ground, and of its shapes.

With `interaction.law: polygonal` every wheel and every colliding geom of the robot meets every
surface of the hard ground. Wheels carry faces against planes, balls and boxes; against a mesh (a
field of rocks) the mesh carries the faces and the wheel is an exact body of revolution, however
many rocks there are. `interaction.polygonal.pairs` adds shapes of the robot against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.ground import Box, Plane, Sphere, TriangleMesh
from marsyard.ground import Surface as GroundSurface
from marsyard.interaction.attachments import Attachment, Attachments
from marsyard.interaction.geoms import colliding_geoms
from marsyard.interaction.law import (
    LARGEST,
    RIGID,
    Column,
    Law,
    Recorded,
    Variable,
    check_range,
)
from marsyard.interaction.place import Place
from marsyard.interaction.polygonal import (
    Layer,
    Material,
    Other,
    Pair,
    Pressed,
    Surface,
    ball,
    box,
    closed_surface,
    divided,
    in_series,
    make_pairs,
    mesh,
    open_surface,
    plane,
    resample,
    revolution,
    solid_box,
    sphere,
    turned,
    with_walls,
)
from marsyard.interaction.polygonal.kernels import (
    LARGEST_COLUMNS,
    SUM_COLUMNS,
    PolygonalArrays,
    kernels,
)
from marsyard.interaction.polygonal.layer import RELAXATION
from marsyard.interaction.polygonal.options import ContactLayer
from marsyard.interaction.polygonal.options import PolygonalContact as PolygonalOptions
from marsyard.interaction.polygonal.pairs import MOST_TOUCHING, pressed
from marsyard.interaction.polygonal.profile import around, polygons
from marsyard.robot import Robot, Wheel
from marsyard.robot.shapes import Revolution, Shape
from marsyard.rotations import matrix_of, quaternion_to
from marsyard.scenario.schema import Scenario

#: k of a layer that says nothing [Pa/m]
STIFFNESS = 1e9
#: springs along the surface are at most this part of the mass they move over the squared step
SOFTER = 0.1
#: how far the chords of a wheel's polygon leave its circle [m]
SAGITTA = 2e-6
_HERE = np.concatenate([np.zeros(3), np.eye(3).ravel()])


@dataclass
class _Placed:
    """A pair and where its two shapes sit."""

    name: str
    pair: Pair
    body: tuple[int, int]
    frame: tuple[np.ndarray, np.ndarray]
    sign: float = 0.0
    joint: int = -1
    wheel: int = -1
    organ: int = -1
    surface: int = -1
    change: int = -1  # joint with which the other's profile changes


class PolygonalLaw(Law):
    """The pairs of a world."""

    name = "polygonal"
    title = "Polygonal contact"
    kernels = kernels
    shown = False
    passive = True
    placing = RIGID

    def __init__(
        self,
        arrays: PolygonalArrays,
        attachments: list[Attachment],
        faces: tuple[Surface, ...],
    ) -> None:
        self.arrays = arrays
        self.attachments = attachments
        self.faces = faces  # of the pairs, as they were given

    @property
    def surface_pairs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Their names."""
        return tuple(a.name for a in self.attachments)

    def attach(self, attached: Attachments) -> None:
        """Forces, derivatives and velocities are the engine's arrays."""
        pairs = self.arrays.pairs._replace(
            centre=attached.point, twist=attached.V, force=attached.F, stiff=attached.B
        )
        self.arrays = self.arrays._replace(pairs=pairs)
        super().attach(attached)

    def columns(self) -> tuple[Column, ...]:
        """By pair, see `kernels`."""
        a = self.arrays
        return Column("pair_sums", a.sums), Column("pair_largest", a.largest, LARGEST)

    def coordinates(self) -> dict[str, Any]:
        """The pairs by name."""
        return {"pair": list(self.surface_pairs)}

    def variables(self, seen: Recorded) -> dict[str, Variable]:
        """By pair: means over a record, and the largest in it. Force and torque act on the tested
        body, in the frame of its shape, about its origin."""
        mean = seen.columns["pair_sums"] / seen.interval[:, None, None]
        most = seen.columns["pair_largest"]
        pressure = self.arrays.pairs.numbers[:, 0] * most[..., 0]
        spatial, plain = ("pair", "axis"), ("pair",)
        return {
            "pair_force": Variable(spatial, mean[..., 0:3], "N", "contact force"),
            "pair_torque": Variable(spatial, mean[..., 3:6], "N·m", "contact torque"),
            "pair_normal_force": Variable(
                plain, mean[..., 6], "N", "mean sum of the faces' normal forces"
            ),
            "pair_depth": Variable(plain, most[..., 0], "m", "largest penetration"),
            "pair_pressure": Variable(plain, pressure, "Pa", "largest pressure of the layer"),
            "pair_area": Variable(plain, most[..., 1], "m²", "largest contact area"),
            "pair_faces": Variable(plain, most[..., 2], "1", "largest number of touching faces"),
            "pair_slipping": Variable(plain, most[..., 3], "1", "largest number of slipping faces"),
        }

    def kept(self) -> dict[str, np.ndarray]:
        """Which faces touch, the anchors of their friction, sums since the last record."""
        p = self.arrays.pairs
        return {
            "polygonal_slot": p.slot, "polygonal_count": p.counts, "polygonal_before": p.before,
            "polygonal_anchor": p.state, "polygonal_sums": self.arrays.sums,
            "polygonal_largest": self.arrays.largest,
        }  # fmt: skip

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse indices that lead out of the arrays."""
        super().check(arrays)
        p = self.arrays.pairs
        ends = np.append(p.place[1:, 0], len(p.slot))
        for (slot, place, room), end, counts in zip(
            p.place, ends, arrays["polygonal_count"], strict=True
        ):
            check_range("polygonal_count", counts, 0, room)
            check_range("polygonal_slot", arrays["polygonal_slot"][slot:end], -1, room - 1)
            faces = arrays["polygonal_before"][place : place + room]
            check_range("polygonal_before", faces, 0, end - slot - 1)

    def placed(self) -> None:
        """Forget what was summed."""
        self.arrays.sums[:] = 0.0
        self.arrays.largest[:] = 0.0

    def explain(self, status: int) -> str:
        """Too many faces touch."""
        return (
            f"more than {MOST_TOUCHING} faces of a pair of surfaces touch at once; is a body deep "
            "inside another, or face_size too small?"
        )

    def pressed(self, pair: str) -> Pressed:
        """What passes between a pair, as last evaluated."""
        k = self.surface_pairs.index(pair)
        return pressed(self.arrays.pairs, k, self.faces[k])


def build_law(place: Place) -> PolygonalLaw | None:
    """All pairs of a scenario, with the ground but for bodies of another law; None for most."""
    scenario, robot, model, surfaces = place.scenario, place.robot, place.model, place.surfaces
    taken = place.bodies
    placed = []
    if scenario.interaction.law == "polygonal":
        if robot.tracks and surfaces:
            raise InputError(
                f"{robot.name}: polygonal contact does not support belts; use interaction.law "
                f"nonsmooth or "
                "compliant for robots with tracks"
            )
        on_ground = _with_ground(scenario, robot, model, surfaces)
        placed += [p for p in on_ground if not set(p.body) & set(taken)]
    placed += _between_shapes(scenario, robot, model)
    options, step = scenario.interaction.options(PolygonalOptions), scenario.run.step
    for p in placed:
        # inverse masses by which the two bodies move, as mujoco reckons them in the first pose
        moved = sum(float(model.body_invweight0[b, 0]) for b in p.body)
        cap = SOFTER / (moved * step * step) if moved > 0.0 else math.inf
        p.pair = replace(p.pair, weight=2.0 * options.theta - 1.0, cap=cap)
    return _assemble(placed, model) if placed else None


def contact_layer(given: ContactLayer, friction: float) -> Layer:
    """The numbers of a layer; `friction` where it names none."""
    if given.materials:
        made = [Material(m.modulus, m.poisson, m.thickness) for m in given.materials]
        k, shear = in_series(made)
    else:
        k = STIFFNESS if given.stiffness is None else given.stiffness
        shear = 0.5 * k
    if given.stiffness_tangential is not None:
        shear = given.stiffness_tangential
    damping = RELAXATION * k if given.damping is None else given.damping
    tangential = given.damping_tangential
    slip = friction if given.slip is None else given.slip
    if given.stick is not None and given.stick < slip:
        raise InputError(
            f"interaction.polygonal: stick = {given.stick:g} must not be below slip, which is "
            f"{slip:g} here as the layer names none (interaction.friction, or that of the surface)"
        )
    return Layer(
        k, damping, given.transition, shear,
        RELAXATION * shear if tangential is None else tangential,
        slip if given.stick is None else given.stick, slip, given.slip_speed,
    )  # fmt: skip


# --- robot and ground


def _with_ground(
    scenario: Scenario,
    robot: Robot,
    model: mujoco.MjModel,
    surfaces: tuple[GroundSurface, ...],
) -> list[_Placed]:
    options = scenario.interaction.options(PolygonalOptions)
    bodies = [*_wheels(scenario, robot, model), *_geoms(robot, model, options.face_size)]
    placed = []
    for number, surface in enumerate(surfaces):
        own = scenario.interaction.surfaces.get(surface.name)
        friction = scenario.interaction.friction
        if own is not None and own.friction is not None:
            friction = own.friction
        layer = contact_layer(options.layer, friction)
        # walls reach beyond the depth up to which faces are seen
        other, frame = _ground(surface, 2.0 * options.deepest)
        for part in bodies:
            common = {
                "joint": part.joint, "wheel": part.wheel, "organ": part.organ, "surface": number,
            }  # fmt: skip
            name = f"{part.name}-{surface.name}"
            if isinstance(surface, TriangleMesh) and part.round is not None:
                ground = other.surface
                assert ground is not None
                pair = Pair(ground, part.round, layer, options.refine, options.deepest)
                placed.append(
                    _Placed(name, pair, (0, part.body), (frame, part.frame), -1.0, **common)
                )
            else:
                pair = Pair(part.faces(), other, layer, options.refine, options.deepest)
                placed.append(
                    _Placed(name, pair, (part.body, 0), (part.frame, frame), 1.0, **common)
                )
    return placed


def _ground(surface: GroundSurface, walls: float) -> tuple[Other, np.ndarray]:
    """What faces are tested against, and its frame in the world; meshes get walls of this height
    [m] at their rims."""
    if isinstance(surface, Plane):
        return plane(), _frame(np.array(surface.point), np.array(surface.normal))
    if isinstance(surface, Sphere):
        return sphere(surface.radius), _frame(np.array(surface.centre), np.array([0.0, 0.0, 1.0]))
    if isinstance(surface, Box):
        turn = matrix_of(np.array(surface.rotation))
        here = np.concatenate([surface.centre, turn.ravel()])
        return solid_box(np.array(surface.half_size)), here
    made = open_surface(surface.vertices, surface.triangles, f"ground.{surface.name}")
    return mesh(with_walls(made, walls)), _HERE


@dataclass
class _Part:
    """Something of the robot that may touch the ground."""

    name: str
    body: int
    frame: np.ndarray
    make: Callable[[], Surface]
    round: Other | None = None
    joint: int = -1
    wheel: int = -1
    organ: int = -1
    _made: Surface | None = None

    def faces(self) -> Surface:
        """Its polygons, made when first needed."""
        if self._made is None:
            self._made = self.make()
        return self._made


def _wheels(scenario: Scenario, robot: Robot, model: mujoco.MjModel) -> list[_Part]:
    out = []
    for k, (name, wheel) in enumerate(robot.wheels.items()):
        joint = model.joint(wheel.joint).id
        section = wheel_section(wheel, scenario.robot.wheel_shape or wheel.shape)
        steps = around(float(section[:, 1].max()), SAGITTA)
        out.append(
            _Part(
                name,
                model.body(wheel.body).id,
                _frame(np.zeros(3), model.jnt_axis[joint]),
                # across, faces are as long as its section is straight
                lambda section=section, steps=steps: turned(section, np.inf, steps),  # type: ignore[misc]
                revolution(section, 1),
                joint,
                k,
            )  # fmt: skip
        )
    return out


def wheel_section(wheel: Wheel, shape: str) -> np.ndarray:
    """The longitudinal section of a wheel about its axle: (z, r) [m]."""
    r, half = wheel.radius, wheel.width / 2
    if shape == "sphere":
        angle = np.linspace(0.0, math.pi, 65)
        made = np.stack([-r * np.cos(angle), r * np.sin(angle)], axis=1)
        made[[0, -1], 1] = 0.0
        return made
    if shape == "torus":
        angle = np.linspace(0.0, math.pi, 33)
        rim = np.stack([-half * np.cos(angle), r - half + half * np.sin(angle)], axis=1)
        return rim
    # a disc has no area to carry: it gets its width
    fillet = min(max(wheel.fillet, 1e-3 * r), half)
    taper = wheel.taper
    angle = np.linspace(0.0, math.pi / 2, 9)
    left = np.stack([-half + fillet * (1 - np.sin(angle[::-1])), np.zeros(9)], axis=1)
    left[:, 1] = r - fillet * (1 - np.cos(angle[::-1]))
    right = left[::-1] * [-1.0, 1.0]
    middle = np.zeros((0, 2))
    if wheel.crown is not None:
        y = np.linspace(-half + fillet, half - fillet, 33)[1:-1]
        drop = wheel.crown - np.sqrt(np.maximum(wheel.crown**2 - y**2, 0.0))
        middle = np.stack([y, r - drop], axis=1)
        edge = wheel.crown - math.sqrt(max(wheel.crown**2 - (half - fillet) ** 2, 0.0))
        left[:, 1] -= edge
        right[:, 1] -= edge
    made = np.concatenate([left, middle, right])
    made[:, 1] += taper * made[:, 0]
    keep = np.concatenate([[True], np.diff(made[:, 0]) > 1e-12])
    return made[keep]


def _geoms(robot: Robot, model: mujoco.MjModel, size: float) -> list[_Part]:
    return [
        _Part(
            name,
            body,
            _geom_frame(model, g),
            lambda g=g, name=name: geom_surface(model, g, size, f"geom '{name}'"),  # type: ignore[misc]
            organ=foot,
        )  # fmt: skip
        for g, body, name, foot in colliding_geoms(robot, model)
    ]


def _geom_frame(model: mujoco.MjModel, g: int) -> np.ndarray:
    return np.concatenate([model.geom_pos[g], matrix_of(model.geom_quat[g]).ravel()])


def geom_surface(model: mujoco.MjModel, g: int, size: float, name: str) -> Surface:
    """The polygons of a geom, in its own frame."""
    kinds = mujoco.mjtGeom
    kind = kinds(int(model.geom_type[g]))
    half = np.array(model.geom_size[g])
    if kind == kinds.mjGEOM_SPHERE:
        return ball(half[0], size, name)
    if kind == kinds.mjGEOM_ELLIPSOID:
        unit = ball(1.0, size / float(half.max()), name)
        return Surface(unit.vertices * half, unit.triangles, name)
    if kind == kinds.mjGEOM_BOX:
        return box(half, size, name)
    section = geom_section(kind, half)
    if section is not None:
        return turned(section, size, max(16, 4 * math.ceil(math.pi * half[0] / (2 * size))), name)
    if kind == kinds.mjGEOM_MESH:
        m = int(model.geom_dataid[g])
        first, count = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
        start, faces = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
        vertices = np.array(model.mesh_vert[first : first + count], dtype=float)
        index = np.array(model.mesh_face[start : start + faces], dtype=np.int64)
        return divided(closed_surface(vertices, index, name), size)
    raise InputError(f"{name}: a {kind.name[7:].lower()} has no polygons")


def geom_section(kind: mujoco.mjtGeom, half: np.ndarray) -> np.ndarray | None:
    """The section of a cylinder or capsule about z, or None for other geoms."""
    r, length = float(half[0]), float(half[1])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return np.array([[-length, r], [length, r]])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        angle = np.linspace(0.0, math.pi / 2, 17)
        low = np.stack([-length - r * np.cos(angle), r * np.sin(angle)], axis=1)
        high = np.stack([length + r * np.sin(angle), r * np.cos(angle)], axis=1)
        low[0, 1] = high[-1, 1] = 0.0
        return np.concatenate([low, high])
    return None


# --- shapes of the robot against each other


def _between_shapes(scenario: Scenario, robot: Robot, model: mujoco.MjModel) -> list[_Placed]:
    options = scenario.interaction.options(PolygonalOptions)
    made: dict[str, Surface] = {}
    others: dict[str, tuple[Other, int]] = {}
    placed: list[_Placed] = []
    for k, pair in enumerate(options.pairs):
        where = f"interaction.polygonal.pairs.{k}"
        shapes = []
        for field in ("faces", "against"):
            name = getattr(pair, field)
            if name not in robot.shapes:
                raise InputError(
                    f"{where}.{field}: '{name}' is not a shape of {robot.name}; "
                    f"{suggest(name, list(robot.shapes))}"
                )
            shapes.append(robot.shapes[name])
        faces, against = shapes
        bodies = tuple(
            _body(model, robot, s, n)
            for s, n in zip(shapes, (pair.faces, pair.against), strict=True)
        )
        if model.body_weldid[bodies[0]] == model.body_weldid[bodies[1]]:
            raise InputError(
                f"{where}: '{pair.faces}' and '{pair.against}' belong to bodies that cannot move "
                f"relative to each other"
                ""
            )
        if faces.revolution is not None and faces.revolution.profiles is not None:
            raise InputError(
                f"{where}.faces: the profile of '{pair.faces}' changes, but faces must be "
                f"constant; use it as 'against'"
                ""
            )
        if pair.faces not in made:
            made[pair.faces] = _faces_of(model, robot, faces, pair.faces, options.face_size)
        if pair.against not in others:
            others[pair.against] = _other_of(model, robot, against, pair.against, options.face_size)
        other, change = others[pair.against]
        layer = contact_layer(pair.layer or options.layer, scenario.interaction.friction)
        refine = options.refine if pair.refine is None else pair.refine
        name = pair.name or f"{pair.faces}-{pair.against}"
        if name in [p.name for p in placed]:
            raise InputError(f"{where}.name: two pairs are called '{name}'; names must differ")
        placed.append(
            _Placed(
                name,
                Pair(made[pair.faces], other, layer, refine, options.deepest),
                (bodies[0], bodies[1]),
                (_shape_frame(model, faces), _shape_frame(model, against)),
                change=change,
            )
        )
    return placed


def _body(model: mujoco.MjModel, robot: Robot, shape: Shape, name: str) -> int:
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, shape.body)
    if found < 0:
        names = [model.body(b).name for b in range(1, model.nbody)]
        raise InputError(
            f"{robot.name}: shapes.{name}.body: '{shape.body}' is not in {robot.model.name}; "
            f"{suggest(shape.body, names)}"
        )
    return int(found)


def _geom(model: mujoco.MjModel, robot: Robot, shape: Shape, name: str) -> int:
    assert shape.geom is not None
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, shape.geom)
    body = _body(model, robot, shape, name)
    if found < 0 or int(model.geom_bodyid[found]) != body:
        names = [model.geom(g).name for g in range(model.ngeom) if model.geom_bodyid[g] == body]
        raise InputError(
            f"{robot.name}: shapes.{name}.geom: '{shape.geom}' is not a geom of '{shape.body}'; "
            f"{suggest(shape.geom, [n for n in names if n])}"
        )
    return int(found)


def _shape_frame(model: mujoco.MjModel, shape: Shape) -> np.ndarray:
    if shape.geom is not None:
        return _geom_frame(model, model.geom(shape.geom).id)
    return _frame(np.array(shape.place), np.array(shape.axis))


def _faces_of(model: mujoco.MjModel, robot: Robot, shape: Shape, name: str, size: float) -> Surface:
    size = shape.face_size or size
    label = f"{robot.name}: shapes.{name}"
    if shape.geom is not None:
        return geom_surface(model, _geom(model, robot, shape, name), size, label)
    if shape.mesh is not None:
        return divided(_from_file(robot, shape, label), size)
    assert shape.revolution is not None
    section = _section(shape.revolution)[0]
    if shape.revolution.solid == "inside":
        return turned(section, size, shape.revolution.steps, label)
    vertices, triangles = polygons(section, shape.revolution.steps, closed=False)
    return Surface(vertices, triangles[:, ::-1].copy(), label)


def _section(shape: Revolution) -> np.ndarray:
    """float64[stations, points, 2]."""
    if shape.profiles is not None:
        return np.array(shape.profiles.profile, dtype=float)
    section = np.array(shape.profile, dtype=float)
    if shape.samples is not None:
        section = resample(section, shape.samples)
    return section[None]


def _other_of(
    model: mujoco.MjModel, robot: Robot, shape: Shape, name: str, size: float
) -> tuple[Other, int]:
    """What faces are tested against, and the joint with which it changes, or −1."""
    label = f"{robot.name}: shapes.{name}"
    if shape.geom is not None:
        g = _geom(model, robot, shape, name)
        kind = mujoco.mjtGeom(int(model.geom_type[g]))
        half = np.array(model.geom_size[g])
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            return sphere(float(half[0])), -1
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            return solid_box(half), -1
        section = geom_section(kind, half)
        if section is not None:
            return revolution(section, 1), -1
        return mesh(geom_surface(model, g, shape.face_size or size, label)), -1
    if shape.mesh is not None:
        return mesh(_from_file(robot, shape, label)), -1
    assert shape.revolution is not None
    side = 1 if shape.revolution.solid == "inside" else -1
    section = _section(shape.revolution)
    changing = shape.revolution.profiles
    if changing is None:
        return revolution(section, side), -1
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, changing.joint)
    if joint < 0:
        names = [model.joint(j).name for j in range(model.njnt)]
        raise InputError(
            f"{label}.revolution.profiles.joint: '{changing.joint}' is not in {robot.model.name}; "
            f"{suggest(changing.joint, names)}"
        )
    kind = mujoco.mjtJoint(int(model.jnt_type[joint]))
    if kind not in (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE):
        raise InputError(
            f"{label}.revolution.profiles.joint: '{changing.joint}' is a {kind.name[6:].lower()} "
            "joint; a profile changes with a slide or a hinge"
        )
    return revolution(section, side, np.array(changing.at)), int(joint)


def _from_file(robot: Robot, shape: Shape, label: str) -> Surface:
    from marsyard.ground.triangle_mesh import read_mesh

    path = Path(robot.model).parent / str(shape.mesh)
    try:
        vertices, triangles = read_mesh(path)
    except InputError as error:
        raise InputError(f"{label}.mesh: {error}") from None
    return closed_surface(vertices * shape.scale, triangles, label)


def _frame(place: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Origin and rotation that turns z into the axis."""
    return np.concatenate([place, matrix_of(quaternion_to(axis)).ravel()])


# --- the law


def _assemble(placed: list[_Placed], model: mujoco.MjModel) -> PolygonalLaw:
    shapes, pairs = make_pairs([p.pair for p in placed])
    n = len(placed)
    f, i = np.zeros, np.int64

    def whole(name: str) -> np.ndarray:
        return np.array([getattr(p, name) for p in placed], dtype=i)

    arrays = PolygonalArrays(
        shapes, pairs, changes=(whole("change") >= 0).astype(i),
        sign=np.array([p.sign for p in placed], dtype=float), surface=whole("surface"),
        wheel=whole("wheel"), sums=f((n, SUM_COLUMNS)),
        largest=f((n, LARGEST_COLUMNS)), normal=f(3), tangents=f((3, 3)),
    )  # fmt: skip
    attachments = [
        Attachment(
            p.name, p.body, p.frame, about=0 if p.body[0] > 0 else 1, axle=p.joint, wheel=p.wheel,
            organ=p.organ, sign=p.sign, joint=p.change,
        )
        for p in placed
    ]  # fmt: skip
    return PolygonalLaw(arrays, attachments, tuple(p.pair.faces for p in placed))
