"""From a scenario to compliant contact: the elements of wheels, tracks and colliding geoms.

Each body that may touch hard ground is one attachment: a wheel by its analytic shape, a
track by its belt, every other body by those of its geoms that collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ground import GroundArrays, Plane, pack
from marsyard.interaction.attachments import Attachment, Attachments
from marsyard.interaction.compliant import curves, elements
from marsyard.interaction.compliant.about import LAWS
from marsyard.interaction.compliant.elements import Balls, Belt, Elements
from marsyard.interaction.compliant.finding import LISTED, smallest_element_gap
from marsyard.interaction.compliant.kernels import (
    STATE_COLUMNS,
    TOUCH_COLUMNS,
    CompliantArrays,
    kernels,
)
from marsyard.interaction.compliant.options import CompliantContact
from marsyard.interaction.contact_geometry.callbacks import geometry_aside, ground_table
from marsyard.interaction.geoms import colliding_geoms
from marsyard.interaction.law import PRESS, Law, check_range
from marsyard.interaction.place import Place
from marsyard.robot import Robot
from marsyard.robot.belt import outline
from marsyard.rotations import matrix_of
from marsyard.scenario.schema import Scenario

#: K of a curve that says nothing [m]
THIN_LAYER = 1e-3
#: radius of the ball through which an element looks at the ground [m]
INSIDE = 0.03
#: distance up to which balls look for ground [m]
_FAR = 0.05
#: features of the ground near an element that are looked at together
_NEAR = 8
#: arrays that belong to the state
STATE = ("state", "now", "touching", "before", "counts")


@dataclass
class _Body:
    name: str
    body: int
    joint: int
    wheel: int
    organ: int
    elements: Elements
    balls: Balls
    sprocket: int = -1
    belt_size: tuple[float, float] = (0.0, 1.0)
    along: np.ndarray = field(default_factory=lambda: np.zeros(0))
    outline: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))


def curve_of(scenario: Scenario) -> curves.Curve:
    """The scenario's curve of friction."""
    given = scenario.interaction.options(CompliantContact).resolved().curve
    if given.kind == "loose":
        length = given.displacement
        return curves.loose(THIN_LAYER if length is None else length)
    if given.kind == "dense":
        return curves.dense(given.displacement, given.peak)
    return curves.table(given.points)


class CompliantLaw(Law):
    """Everything of a robot that may touch the hard ground, in elements."""

    name = "compliant"
    title = "Compliant contact"
    kernels = kernels
    shown = False
    passive = True
    placing = PRESS
    has_friction = True

    def __init__(
        self,
        arrays: CompliantArrays,
        attachments: list[Attachment],
        bodies: list[str],
        surfaces: tuple[str, ...],
        ground: GroundArrays,
    ) -> None:
        self.arrays = arrays
        self.attachments = attachments
        self._bodies = bodies  # their names
        self.surfaces = surfaces
        self._ground = ground  # kept alive: the arrays have its addresses
        self._friction = arrays.friction.copy()

    def attach(self, attached: Attachments) -> None:
        """The gap is asked for between steps, too."""
        self._attached = attached
        super().attach(attached)

    def calls(self) -> tuple[int, ...]:
        """With those of the geometry of the ground, which the kernels call."""
        self.arrays.geometry[:] = geometry_aside.addresses()
        return super().calls()

    def acted(self) -> list[tuple[str, float | str, str]]:
        """Stiffness, damping and friction."""
        numbers, sizes = self.arrays.numbers, self.arrays.size[:, 0]
        named = zip(self.surfaces, self._friction, strict=True)
        mean = float(np.sqrt(sizes.mean())) if len(sizes) else 0.0
        return [
            ("stiffness", float(numbers[0]), "Pa/m"), ("damping", float(numbers[1]), "Pa·s/m"),
            *((f"friction on {name}", float(mu), "") for name, mu in named),
            ("elements", float(len(sizes)), ""), ("their size, on average", mean, "m"),
        ]  # fmt: skip

    def gap(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest gap of the elements to the ground [m], and the body it belongs to."""
        self.arrays.geometry[:] = geometry_aside.addresses()
        gap, nearest = smallest_element_gap(self._attached, self.arrays)
        if nearest < 0:
            return np.inf, ""
        return float(gap), f"body '{self._bodies[nearest]}'"

    def kept(self) -> dict[str, np.ndarray]:
        """Which elements touch, their displacement and slip."""
        return {f"compliant_{name}": getattr(self.arrays, name) for name in STATE}

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse indices that lead out of the arrays."""
        super().check(arrays)
        elements, bodies = len(self.arrays.now), len(self.attachments)
        check_range("compliant_now", arrays["compliant_now"], 0, 1)
        check_range("compliant_counts", arrays["compliant_counts"], 0, elements)
        check_range("compliant_before", arrays["compliant_before"], 0, elements - 1)
        touching = arrays["compliant_touching"]
        check_range("compliant_touching", touching[:, 0], 0, elements - 1)
        check_range("compliant_touching", touching[:, 1], 0, bodies - 1)
        check_range("compliant_touching", touching[:, 2], 0, max(len(self._friction) - 1, 0))

    def set_friction(self, friction: np.ndarray) -> None:
        """On each surface."""
        self._friction[:] = self.arrays.friction[:] = friction[: len(self._friction)]

    def ease(self, friction: float | None) -> None:
        """Other friction for a while."""
        self.arrays.friction[:] = self._friction if friction is None else friction

    def placed(self) -> None:
        """Its own friction again."""
        self.ease(None)

    def forget(self) -> None:
        """No element is displaced."""
        for name in ("state", "now", "counts"):
            getattr(self.arrays, name)[:] = 0


def build_law(place: Place) -> CompliantLaw | None:
    """Everything of the robot that may touch the hard ground of a scenario, but for bodies of
    another law."""
    scenario, robot, model, surfaces = place.scenario, place.robot, place.model, place.surfaces
    friction, taken = place.friction, place.bodies
    options = scenario.interaction.options(CompliantContact)
    if scenario.interaction.law != "compliant" or not surfaces:
        return None
    size = options.element_size
    found = [
        *_wheels(robot, model, scenario.robot.wheel_shape, size),
        *_tracks(robot, model, size),
        *_others(robot, model, size),
    ]
    found = [b for b in found if b.body not in taken]
    ground = pack(surfaces, LAWS[0].walls)
    made = _assemble(found, (options.stiffness, options.damping), curve_of(scenario))
    made = made._replace(ground=ground_table(ground), friction=friction.copy())
    if all(isinstance(s, Plane) for s in surfaces):
        made = made._replace(plane=ground.plane, plane_surface=ground.plane_surface)
    attachments = [
        Attachment(
            b.name, (b.body, 0), axle=b.joint, wheel=b.wheel, organ=b.organ, joint=b.sprocket,
            scale=b.belt_size[0],
        )
        for b in found
    ]  # fmt: skip
    names = [model.body(b.body).name or f"body{b.body}" for b in found]
    return CompliantLaw(made, attachments, names, tuple(s.name for s in surfaces), ground)


def _assemble(
    found: list[_Body], stiffness: tuple[float, float], curve: curves.Curve
) -> CompliantArrays:
    n = len(found)
    whole = elements.join([b.elements for b in found])
    total = len(whole.area)
    f, i = np.zeros, np.int64
    balls, nexts, ranges, spans, belts, outlines = [], [], [], [], [], []
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
        last = first_point + len(b.outline)
        belts.append((first_point, last) if b.sprocket >= 0 else (-1, -1))
        outlines.append(b.outline)
        spans.append((first_element, first_element + len(b.elements.area)))
        first_ball += count
        first_element += len(b.elements.area)
        first_point = last
    along = [b.along if len(b.along) else f(len(b.elements.area)) for b in found]
    scratch = f((6, 3))
    scratch[1, 1] = 1.0
    return CompliantArrays(
        wheel=np.array([b.wheel for b in found], dtype=i),
        balls=np.array(ranges, dtype=i).reshape(n, 2), belt=np.array(belts, dtype=i).reshape(n, 2),
        belt_size=np.array([b.belt_size for b in found], dtype=float).reshape(n, 2),
        outline=np.concatenate([f((0, 4)), *outlines]), along=np.concatenate([f(0), *along]),
        ball=np.concatenate([f((0, 4)), *balls]), ball_seen=f((first_ball, 4)),
        ball_next=np.concatenate([f((0, 3), i), *nexts]),
        place=np.ascontiguousarray(whole.place), normal=np.ascontiguousarray(whole.normal),
        size=np.stack([whole.area, whole.length, elements.reach_of(whole)], axis=1),
        arc=np.ascontiguousarray(whole.arc), half=elements.half_angles(whole),
        range=np.array(spans, dtype=i).reshape(n, 2), listed=f(total, i), listed_gap=f(total),
        listed_count=np.full(n, -1, dtype=i), listed_at=f((n, LISTED)),
        seen=f((total, 4)), state=f((total, STATE_COLUMNS)), now=f(total, i),
        touching=f((total, 3), i), touch=f((total, TOUCH_COLUMNS)), before=f(total, i),
        counts=f(2, i), friction=f(0), plane=f((0, 4)), plane_surface=f(0, i), ground=f((0, 3), i),
        geometry=f(2, i), near_point=f((_NEAR, 3)), near_normal=f((_NEAR, 3)), near_gap=f(_NEAR),
        near_surface=f(_NEAR, i), near_feature=f(_NEAR, i), near_count=f(1, i), answer=f(4),
        numbers=np.array([*stiffness, INSIDE, _FAR]),
        curve=curve.numbers, curve_x=curve.x, curve_y=curve.y, scratch=scratch,
    )  # fmt: skip


# --- bodies


def _wheels(robot: Robot, model: mujoco.MjModel, shape: str | None, size: float) -> list[_Body]:
    out = []
    for k, (name, w) in enumerate(robot.wheels.items()):
        kind = shape or w.shape
        taper = w.taper if kind == "cylinder" else 0.0
        joint = model.joint(w.joint).id
        made = elements.wheel(kind, w.radius, w.width, taper, model.jnt_axis[joint], size)
        body = model.body(w.body).id
        out.append(_Body(name, body, joint, k, -1, *elements.hierarchy(made, INSIDE)))
    return out


def _tracks(robot: Robot, model: mujoco.MjModel, size: float) -> list[_Body]:
    out = []
    for k, (name, track) in enumerate(robot.tracks.items()):
        made = elements.belt(outline(track), track.width, track.y, size)
        out.append(
            _Body(
                name,
                model.body(track.body).id,
                -1,
                -1,
                len(robot.feet) + k,
                made.elements,
                _stations(made),
                model.joint(track.joint).id,
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
        _Body(
            model.body(body).name,
            body,
            -1,
            -1,
            foot,
            *elements.hierarchy(elements.join(made), INSIDE),
        )  # fmt: skip
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
    return made.moved(np.array(model.geom_pos[g]), matrix_of(model.geom_quat[g]))
