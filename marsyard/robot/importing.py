"""From a model file to a robot of marsyard: roles, conventions, checks.

`plan_import` reads a file, guesses its roles (`guess`) and brings the model to the conventions
(`import_frames`) and to what every law can do (`import_shapes`); what couples joints stays
(`import_ties`). Nothing is written (`robot_folder`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from pydantic import ValidationError

from marsyard.errors import InputError, few
from marsyard.exit_rule import Exit
from marsyard.robot import extent
from marsyard.robot.closing import close_loops, closed_pose, length
from marsyard.robot.contact_bodies import Roller, Track, Wheel
from marsyard.robot.flat_model import FlatModel, flatten
from marsyard.robot.guess import guess
from marsyard.robot.import_checks import find_blocked_steering, find_low_bodies
from marsyard.robot.import_frames import (
    free_base,
    no_dry_friction,
    only_base,
    put_front,
    put_stance,
    put_up,
    turn_joints,
)
from marsyard.robot.import_shapes import (
    exclude_overlaps,
    fit_collision_shapes,
    give_soles,
    keep_used_assets,
    only_draw_rolling,
    stand,
)
from marsyard.robot.import_ties import drop_still_ties, equalities, gear_loops, ties_of
from marsyard.robot.loops import GearLoop, add_loops
from marsyard.robot.model_file import ModelFile, quiet, read_model
from marsyard.robot.roles import Roles, Wish


@dataclass
class Plan:
    """A robot before it is written."""

    source: Path
    flat: FlatModel
    roles: Roles
    model: mujoco.MjModel
    wheels: dict[str, Wheel]
    tracks: dict[str, Track]
    loops: dict[str, GearLoop]
    equalities: list[str]
    flipped: list[str]
    notes: list[str]
    warnings: list[str]

    @property
    def pose(self) -> dict[str, float]:
        """Angles of the file's first keyframe by joint [rad, m], without those that are 0."""
        signs = {n: -1.0 if n in self.flipped else 1.0 for n in self.flat.pose}
        kept = {n for n, role in self.roles.joints.items() if role != "locked"}
        kept -= {w.joint for w in self.wheels.values()}
        return {n: signs[n] * v for n, v in self.flat.pose.items() if n in kept and v != 0}

    @property
    def data(self) -> mujoco.MjData:
        """The model in its reference pose."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        return data

    @property
    def mass(self) -> float:
        """Of the whole robot [kg]."""
        return float(self.model.body_subtreemass[0])

    @property
    def centre_of_mass(self) -> np.ndarray:
        """In the base frame, reference pose [m]."""
        data, base = self.data, self.model.body(self.roles.base).id
        return data.xmat[base].reshape(3, 3).T @ (data.subtree_com[0] - data.xpos[base])

    @property
    def height(self) -> float:
        """From the lowest to the highest point, reference pose [m]."""
        geoms = list(range(self.model.ngeom))
        low, high = (f(self.model, self.data, geoms) for f in (extent.lowest, extent.highest))
        return high - low if geoms else 0.0


def plan_import(
    path: Path,
    wish: Wish | None = None,
    meshes: tuple[Path, ...] = (),
    collisions: str = "pieces",
    exit_rule: Exit | None = None,
    repair: bool = False,
) -> Plan:
    """Read a model file and make a robot of it; what stands in the way is one InputError."""
    wish = wish or Wish()
    file = read_model(path, meshes, repair)
    flat = flatten(file)
    only_base(flat, wish)
    put_up(flat, wish.up)
    put_stance(flat, wish.stance)
    model = flat.compile()
    before = float(model.body_subtreemass[0])
    try:
        roles = guess(model, file.motors, ties_of(flat, model, file), wish)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith("--") else f"{path.name}: {said}") from None
    notes = list(flat.notes)
    free_base(flat, roles, model, notes)
    for name in roles.of("locked"):
        flat.lock(name)
    drop_still_ties(flat, roles)
    put_front(flat, roles)
    flipped = turn_joints(flat, roles)
    tracks = _tracks(flat.compile(), roles)
    only_draw_rolling(flat, roles)
    no_dry_friction(flat, model, notes)
    fit_collision_shapes(flat, collisions, notes, roles.warnings)
    give_soles(flat, roles, notes)
    keep_used_assets(flat)
    stand(flat)
    exclude_overlaps(flat, notes)
    final = flat.compile()
    if abs(final.body_subtreemass[0] - before) > 1e-6 * before:
        raise InputError(
            f"{path.name}: its mass changed during the import; please report this file"
        )
    loops = gear_loops(file, roles, flipped)
    plan = Plan(
        path, flat, roles, final, _wheels(roles, exit_rule), tracks, loops,
        equalities(flat), flipped, notes, list(roles.warnings),
    )  # fmt: skip
    _check_loops(plan)
    _look_over(plan, file)
    return plan


def _check_loops(plan: Plan) -> None:
    """Refuse loops that cannot close; say which are open in the reference pose."""
    with quiet():
        spec = mujoco.MjSpec.from_string(plan.flat.text(), assets=plan.flat.assets)
        add_loops(spec, dict(plan.loops), plan.source.name)
        model = spec.compile()
    data = mujoco.MjData(model)
    start = data.qpos.copy()
    close_loops(model, data, plan.source.name)
    moved = float(np.abs(data.qpos - start).max()) if model.nq else 0.0
    if moved > 0:
        gap = closed_pose(model, start).worst
        plan.notes.append(
            f"closed loops are open in the reference pose; a run starts from the nearest pose that "
            f"closes them ({length(max(moved, gap))} or rad away at most)"
        )


def _wheels(roles: Roles, exit_rule: Exit | None) -> dict[str, Wheel]:
    out = {}
    for key, guess_ in roles.wheels.items():
        radius, width = _short(guess_.round.radius), _short(guess_.round.width)
        fields = {"body": guess_.body, "joint": guess_.joint, "radius": radius, "width": width,
                  "shape": guess_.shape, "exit": exit_rule}  # fmt: skip
        out[key] = Wheel.model_validate(fields)
    return out


def _tracks(model: mujoco.MjModel, roles: Roles) -> dict[str, Track]:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    out = {}
    for key, track in roles.tracks.items():
        body = model.body(track.body).id
        turn, place = data.xmat[body].reshape(3, 3), data.xpos[body]
        points = [turn.T @ (r.place + r.round.middle * r.axis - place) for r in track.rollers]
        rollers = [
            Roller(x=_short(p[0]), z=_short(p[2]), radius=_short(r.round.radius))
            for p, r in zip(points, track.rollers, strict=True)
        ]
        try:
            out[key] = Track(
                body=track.body, joint=track.rollers[0].joint, sprocket=rollers[0],
                idler=rollers[-1], road_wheels=tuple(rollers[1:-1]),
                y=_short(float(np.mean([p[1] for p in points]))),
                width=_short(max(r.round.width for r in track.rollers)),
            )  # fmt: skip
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise InputError(f"track {key}: {reason}; assign its rollers with --tracks") from None
    return out


def _short(value: float) -> float:
    return float(f"{value:.6g}") if abs(value) > 1e-9 else 0.0


def _zero_beyond_stops(model: mujoco.MjModel, name: str) -> bool:
    j = model.joint(name).id
    low, high = model.jnt_range[j]
    return bool(model.jnt_limited[j]) and not low - 1e-6 <= 0 <= high + 1e-6


def _look_over(plan: Plan, file: ModelFile) -> None:
    say = plan.warnings.append
    plan.warnings += find_low_bodies(plan.model, plan.roles)
    plan.warnings += find_blocked_steering(plan.model, plan.roles)
    if not 0.05 < plan.mass < 1e5:
        say(f"the mass is {plan.mass:.3g} kg: are the units right?")
    if not 0.02 < plan.height < 50:
        say(f"the robot is {plan.height:.3g} m high: are the lengths in metres?")
    moving = [n for n, r in plan.roles.joints.items() if r != "locked"]
    if moving and not file.motors.named:
        say("the file defines no motors, so driven and passive joints are guessed from shapes and "
            "names"
            "")  # fmt: skip
    beyond = [n for n in moving if _zero_beyond_stops(plan.model, n)]
    if beyond:
        say(f"zero is beyond the stops of {few(beyond)}: robot.joints of a scenario sets their "
            f"start angles; gaits stand with all joints at zero: give --stance"
            "")  # fmt: skip
    places = [w.place for w in plan.roles.wheels.values()]
    if len(places) >= 3 and not plan.roles.fixed:
        x = plan.centre_of_mass + plan.data.xpos[plan.model.body(plan.roles.base).id]
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        if np.any(x[:2] < low[:2]) or np.any(x[:2] > high[:2]):
            say("the centre of mass is not above the wheels: it will tip over")
