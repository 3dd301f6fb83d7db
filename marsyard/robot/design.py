"""Changed dimensions of a robot: `robot.design` of a scenario applied to a model.

Lengths are measured with all joints at zero, in the frame of the base (x forward, y left, z up).
What follows from a size follows by rules, so that a design is a body that could be built:

- `wheel_radius` r, `wheel_width` b: wheels are stretched, at the same mean density: m ∝ r² b.
- `track` T: what carries wheels of one side moves out by (T' − T)/2, as it is; what spans both
  sides is stretched by T'/T.
- `wheelbase` L: axles and pivots move to x₀ + (x − x₀) L'/L, x₀ midway between the outer axles;
  links that carry several wheels are stretched by L'/L.
- `pivots`: the axis of a joint moves; all bodies stay where they are.
- `mass` m: the base takes what the other bodies leave of m.

A body stretched by the matrix S about its frame, at the same density, has

    m' = m det S,   c' = S c,   Σ' = det S · S Σ S,   I = tr(Σ) 1 − Σ

m [kg] mass, c [m] centre of mass, Σ [kg·m²] second moments of mass about the frame's origin, I
[kg·m²] inertia about it. This is exact for any distribution of mass. The base keeps its size: with
another mass its inertia changes in proportion. Struts keep their lengths, so that larger wheels
lift the base, and its clearance, by the difference of the radii. The mass of shafts that get longer
with the track is not counted. Grousers keep their number and height.

A design is refused if wheels would overlap each other, run into a shape of the base that they did
not touch before, or leave the base no mass or no clearance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from pydantic import ValidationError

from marsyard.errors import InputError, suggest
from marsyard.robot.contact_bodies import Wheel
from marsyard.robot.design_bodies import Body, stretch_geoms, write_inertia
from marsyard.robot.design_checks import check_design
from marsyard.robot.model_file import ModelFile
from marsyard.robot.robot import Robot

if TYPE_CHECKING:
    from marsyard.scenario.robot_design import RobotDesign

_RIGID = (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD)


class DesignedRobot(Robot):
    """A robot of other sizes; `plain` is the one it was made from."""

    plain: Robot
    design: Any

    def read_file(self) -> ModelFile:
        """The model with its design."""
        file = self.plain.read_file()
        _Edit(file.spec, self).apply()
        return file


def designed(robot: Robot, design: RobotDesign) -> Robot:
    """The robot with a design applied and checked; the robot itself if the design is empty."""
    given = design.model_dump(exclude_defaults=True)
    if not given:
        return robot
    if not robot.wheels and set(given) - {"mass"}:
        raise InputError(f"robot.design: {robot.name} has no wheels; only 'mass' can change")
    made = DesignedRobot(
        **{name: getattr(robot, name) for name in Robot.model_fields if name != "wheels"},
        wheels={name: _wheel(w, design) for name, w in robot.wheels.items()},
        plain=robot,
        design=design,
    )
    check_design(robot, made)
    return made


def _wheel(wheel: Wheel, design: RobotDesign) -> Wheel:
    sizes = {"radius": design.wheel_radius, "width": design.wheel_width}
    new = {k: v for k, v in sizes.items() if v is not None}
    try:
        return Wheel.model_validate({**wheel.model_dump(), **new})
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"robot.design: {message}") from None


class _Edit:
    """Changes a model's specification to a design."""

    def __init__(self, spec: mujoco.MjSpec, robot: DesignedRobot) -> None:
        self.spec, self.robot, self.design = spec, robot, robot.design
        self.model = spec.compile()
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        self.base = self.model.body(robot.base).id if robot.base else 1
        turn = data.xmat[self.base].reshape(3, 3)
        self.place = (data.xpos - data.xpos[self.base]) @ turn
        self.turn = np.einsum("ji,njk->nik", turn, data.xmat.reshape(-1, 3, 3))
        self.down = turn.T @ (0.0, 0.0, -1.0)
        self.wheels = {self.model.body(w.body).id: w for w in robot.plain.wheels.values()}
        self.new_wheels = {self.model.body(w.body).id: w for w in robot.wheels.values()}
        # wheels that each body carries, itself among them
        self.carries: list[list[int]] = [[] for _ in range(self.model.nbody)]
        for wheel in self.wheels:
            at = wheel
            while at not in (0, self.base):
                self.carries[at].append(wheel)
                at = int(self.model.body_parentid[at])

    def apply(self) -> None:
        design = self.design
        if design.track or design.wheelbase or design.pivots:
            self._refuse_loops()
        # inertias that follow from geoms must not follow from changed ones
        self._fix_inertias()
        bodies: dict[int, Body] = {}
        along, across = self._wheelbase(), self._track()
        for i in range(1, self.model.nbody):
            stretch = self._stretch(i, along, across)
            if not np.array_equal(stretch, np.eye(3)):
                bodies[i] = Body.of(self.model, i).stretched(stretch)
                stretch_geoms(self.spec, self.model, i, stretch)
        self._move(along, across)
        self._move_pivots()
        self._set_mass(bodies)
        for i, body in bodies.items():
            write_inertia(self.spec.bodies[i], body)
        self._lift()

    def _refuse_loops(self) -> None:
        if any(e.type in _RIGID for e in self.spec.equalities) or self.robot.tracks:
            raise InputError(
                f"robot.design: {self.robot.name} has closed loops or tracks, whose geometry a "
                "design cannot move; only wheel_radius, wheel_width and mass can change"
            )

    def _fix_inertias(self) -> None:
        compiler = self.spec.compiler
        for i in range(1, self.model.nbody):
            body = self.spec.bodies[i]
            if compiler.inertiafromgeom == 1 or not body.explicitinertial:
                write_inertia(body, Body.of(self.model, i))
        compiler.inertiafromgeom = 0

    # --- sizes

    def _wheelbase(self) -> tuple[float, float]:
        """Middle between the outer axles [m], and by how much all is stretched about it."""
        x = self.place[list(self.wheels), 0] if self.wheels else np.zeros(1)
        middle, length = (x.max() + x.min()) / 2, x.max() - x.min()
        if self.design.wheelbase is None:
            return middle, 1.0
        if length < 1e-9:
            raise InputError(f"robot.design.wheelbase: {self.robot.name} has a single axle")
        return middle, self.design.wheelbase / length

    def _track(self) -> tuple[float, float]:
        """How far each side moves out [m], and by how much what spans both is stretched."""
        if self.design.track is None:
            return 0.0, 1.0
        y = self.place[list(self.wheels), 1]
        if not y.min() < 0 < y.max():
            raise InputError(f"robot.design.track: {self.robot.name} has wheels on one side only")
        track = y.max() - y.min()
        return (self.design.track - track) / 2, self.design.track / track

    def _sides(self, i: int) -> set[int]:
        """On which sides the wheels are that a body carries: 1 left, −1 right, 0 the middle."""
        return {int(np.sign(np.round(self.place[w, 1], 9))) for w in self.carries[i]}

    def _stretch(self, i: int, along: tuple[float, float], across: tuple[float, float]) -> Any:
        """By what a body is stretched, in its own frame."""
        if i in self.wheels:
            old, new = self.wheels[i], self.new_wheels[i]
            round_ = new.radius / old.radius
            return np.diag([round_, new.width / old.width, round_])
        if i == self.base or len(self.carries[i]) < 2:
            return np.eye(3)
        factors = np.array([along[1], across[1] if len(self._sides(i)) > 1 else 1.0, 1.0])
        if np.all(factors == 1.0):
            return np.eye(3)
        return self.turn[i].T @ np.diag(factors) @ self.turn[i]

    def _move(self, along: tuple[float, float], across: tuple[float, float]) -> None:
        """Put bodies that carry wheels where they belong; those without go along."""
        shifts = np.zeros((self.model.nbody, 3))
        for i in range(1, self.model.nbody):
            parent = int(self.model.body_parentid[i])
            shifts[i] = shifts[parent]
            carried = self.carries[i]
            if not carried:
                continue
            # a strut and its wheel move as one: by where the wheel is
            x = self.place[carried[0] if len(carried) == 1 else i, 0]
            shifts[i, 0] = (along[1] - 1.0) * (x - along[0]) if along[1] != 1.0 else 0.0
            sides = self._sides(i)
            shifts[i, 1] = across[0] * sides.pop() if len(sides) == 1 else 0.0
            change = self.turn[parent].T @ (shifts[i] - shifts[parent])
            if np.any(change):
                self.spec.bodies[i].pos = self.spec.bodies[i].pos + change

    def _move_pivots(self) -> None:
        names = [j.name for j in self.spec.joints]
        fixed = {w.joint for w in self.robot.wheels.values()}
        for group, shift in self.design.pivots.items():
            field = f"robot.design.pivots.{group}"
            for name in self.robot.joints_of(group, names, field):
                joint = self.spec.joint(name)
                hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
                body = int(self.model.jnt_bodyid[self.model.joint(name).id])
                if not hinge or name in fixed or not self.carries[body]:
                    allowed = [n for n in names if self._is_pivot(n)]
                    raise InputError(
                        f"{field}: '{name}' is not a pivot between base and wheels; "
                        f"{suggest(name, allowed)}"
                    )
                joint.pos = joint.pos + self.turn[body].T @ (shift.x, 0.0, shift.z)

    def _is_pivot(self, name: str) -> bool:
        joint = self.model.joint(name)
        body = int(self.model.jnt_bodyid[joint.id])
        hinge = int(self.model.jnt_type[joint.id]) == mujoco.mjtJoint.mjJNT_HINGE
        return hinge and len(self.carries[body]) > 1

    def _set_mass(self, bodies: dict[int, Body]) -> None:
        if self.design.mass is None:
            return
        masses = {i: float(self.model.body_mass[i]) for i in range(1, self.model.nbody)}
        masses |= {i: body.mass for i, body in bodies.items()}
        others = sum(masses.values()) - masses[self.base]
        left = self.design.mass - others
        if left <= 0:
            raise InputError(
                f"robot.design.mass = {self.design.mass:g} kg: "
                f"leaves no mass for the base; everything else weighs {others:.6g} kg"
            )
        bodies[self.base] = Body.of(self.model, self.base).heavier(left / masses[self.base])

    def _lift(self) -> None:
        """Raise the base so that the lowest wheel touches the same ground as before."""
        heights = {i: -float(self.place[i] @ self.down) for i in self.wheels}
        lowest = [
            min((heights[i] - w.largest_radius for i, w in wheels.items()), default=0.0)
            for wheels in (self.wheels, self.new_wheels)
        ]
        if lowest[0] != lowest[1]:
            pos = self.spec.bodies[self.base].pos
            self.spec.bodies[self.base].pos = pos + (0.0, 0.0, lowest[0] - lowest[1])
