"""Guessing the roles of a model's parts from shapes, motors and names.

All in the reference pose, z up; H is the robot's height from its lowest to its highest point.

    wheel     the last hinge of a chain, without stops, its axis level, its shape round about it
              (the least reach across the axis at least 0.88 of the largest), near the ground
    omni      a hinge without stops whose body carries a ring of three or more round rollers: the
              rollers are wheels without motor, the hub is driven
    drives    joints of wheels and hubs; of those with motors only, where the file says who has
    steering  a hinge with an upright axis that carries one or two wheels
    passive   other hinges and slides above a wheel, or joints without motor where others have one
    foot      the end of a limb of two or more hinges that carries no wheel and comes within 0.1 H
              of the lowest point; `legs` are the joints that move it, and joints above a wheel
              that have a motor or are called so
    frame     a slide with level axis that carries two or more wheels: it moves an axle
    caster    a steering joint and its wheel, both without motor: passive
    track     three or more rollers on one body and side whose names say track, belt, crawler,
              sprocket, idler, road wheel or roller, or five or more nearly touching each other in a
              row; one of them turns, the others may be drawn
    locked    all other joints (mast, arm, antenna) of a robot that rolls or walks: held still

What a file says of its motors (`motors`) comes before names: a joint with a motor is none of a
caster's, whatever it is called, and a rocker without one is no leg. Motors that move no wheel say
nothing of the wheels.

The front is the base's +x unless axles say that it is ±y; names with front and rear, or left and
right, say which. Any guess can be replaced by name patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot.anatomy import FREE, HINGE, LEVEL, ROUND, SLIDE, UPRIGHT
from marsyard.robot.guess_contact_bodies import NO_WHEEL, Organs
from marsyard.robot.motors import Motors
from marsyard.robot.roles import FRONTS, Roles, WheelGuess, Wish

_PASSIVE = re.compile(r"rocker|bogie|differential|suspension|susp|passive|caster|swivel|free", re.I)
_LEG = re.compile(r"hip|thigh|knee|calf|shank|haa|hfe|kfe|leg", re.I)
_FRONT = re.compile(r"front|(^|_)(f[lr]?|[lr]f)(_|$)", re.I)
_REAR = re.compile(r"rear|back|hind|(^|_)(r[lr]|[lr]r|b[lr]|[lr]b|h[lr]|[lr]h)(_|$)", re.I)
_LEFT = re.compile(r"left|(^|_)([fcmrbh]?l|l[fcmrbh])(_|$)", re.I)
_RIGHT = re.compile(r"right|(^|_)([fcmbh]?r|r[fcmbh])(_|$)", re.I)


def guess(
    model: mujoco.MjModel,
    motors: Motors,
    ties: Iterable[set[str]] = (),
    wish: Wish | None = None,
) -> Roles:
    """The roles of a model; `motors` say which joints have one, `ties` are joints that belong
    together because an equation couples them."""
    return _Guess(model, motors, [set(t) for t in ties], wish or Wish()).run()


class _Guess(Organs):
    def __init__(
        self, model: mujoco.MjModel, motors: Motors, ties: list[set[str]], wish: Wish
    ) -> None:
        super().__init__(model, motors, wish)
        self.ties = ties

    def run(self) -> Roles:
        self._base()
        self._forward()
        self.find_tracks()
        self.find_wheels()
        self.find_feet()
        for role in ("drives", "steering", "passive", "keep"):
            self._wished(role)
        self._steering()
        self._rest()
        self._warn()
        return self.roles

    def _wished(self, role: str) -> None:
        patterns = getattr(self.wish, role)
        if patterns is None:
            return
        role = "other" if role == "keep" else role
        for found in self.matching(patterns, "keep" if role == "other" else role).values():
            for j in found:
                self.roles.give(self.names[j], role, "as given")

    # --- base and front

    def _base(self) -> None:
        m, wish = self.m, self.wish
        tops = [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
        if not tops:
            raise InputError("the model has no body; a robot needs at least one")
        if wish.base is not None:
            self._base_by_name(tops, wish.base)
            return
        if len(tops) > 1:
            names = ", ".join(f"'{self.body_name(b)}'" for b in tops[:4])
            raise InputError(
                f"{len(tops)} bodies have no parent ({names}), but a robot has one base; choose "
                f"it with --base NAME, the others are left out"
                ""
            )
        self._take_base(tops[0])

    def _base_by_name(self, tops: list[int], name: str) -> None:
        bodies = {self.body_name(b): b for b in range(1, self.m.nbody)}
        sites = {self.m.site(s).name: int(self.m.site_bodyid[s]) for s in range(self.m.nsite)}
        if name not in bodies and name not in sites:
            known = [self.body_name(b) for b in tops]
            raise InputError(f"--base: no body is called '{name}'; {suggest(name, known)}")
        b = bodies.get(name, sites.get(name, 0))
        top = self.above(b)[-1]
        if b != top:
            raise InputError(
                f"--base: '{name}"
                f"' is carried by '{self.body_name(top)}'; the base must be a body without a "
                f"parent: {suggest(name, [self.body_name(t) for t in tops])}"
            )
        self._take_base(top)
        kept = {k for k in range(self.m.nbody) if top in self.above(k)}
        self.joints = [j for j in self.joints if self.body_of(j) in kept]
        self.names = {j: self.names[j] for j in self.joints}
        self.seen = [g for g in self.seen if int(self.m.geom_bodyid[g]) in kept]

    def _take_base(self, top: int) -> None:
        self.roles.base = self.body_name(top)
        kinds = [int(self.m.jnt_type[j]) for j in range(self.m.njnt) if self.body_of(j) == top]
        self.free = FREE in kinds
        self.roles.fixed = bool(kinds) and not self.free
        if self.wish.fixed is not None:
            self.roles.fixed = self.wish.fixed
        why = "has a free joint" if self.free else "carries all others"
        self.roles.why[f"body {self.roles.base}"] = why

    def _axes(self) -> np.ndarray:
        """The base's axes, level; the world's where the base lies on its side."""
        turn = self.d.xmat[self.m.body(self.roles.base).id].reshape(3, 3)
        if turn[2, 2] < 0.9:
            return np.eye(3)
        x = turn[:, 0] * (1.0, 1.0, 0.0)
        x = x / np.linalg.norm(x)
        return np.column_stack([x, np.cross((0.0, 0.0, 1.0), x), (0.0, 0.0, 1.0)])

    def _forward(self) -> None:
        axes = self._axes()
        self._say_forward(axes)
        self.roles.front = axes @ FRONTS[self.roles.forward]

    def _say_forward(self, frame: np.ndarray) -> None:
        if self.wish.forward is not None:
            if self.wish.forward not in FRONTS:
                raise InputError(
                    f"--forward: '{self.wish.forward}' is not a direction; valid: "
                    f"{', '.join(FRONTS)}."
                )
            self.roles.forward = self.wish.forward
            return
        axles = [frame.T @ self.axle(j) for j in self.joints if self.rolls(j) is not None]
        along_x = sum(abs(a[0]) > abs(a[1]) for a in axles)
        choice = ("+y", "-y") if axles and along_x > len(axles) / 2 else ("+x", "-x")
        front = frame.T @ (self._named(_FRONT) - self._named(_REAR))
        side = frame.T @ (self._named(_LEFT) - self._named(_RIGHT))
        said = front if np.all(np.isfinite(front)) else np.cross(side, (0.0, 0.0, 1.0))
        forward = np.array(FRONTS[choice[0]], dtype=float)
        if np.all(np.isfinite(said)) and np.linalg.norm(said[:2]) > 1e-3:
            if abs(said @ forward) < 0.5 * np.linalg.norm(said[:2]):
                self.roles.warnings.append(
                    "names and axles indicate different fronts; choose one with --forward"
                )
            elif said @ forward < 0:
                choice = choice[::-1]
        self.roles.forward = choice[0]

    def _named(self, pattern: re.Pattern[str]) -> np.ndarray:
        """Mean place of the bodies whose joint or own name fits; nan without any."""
        found = [
            self.d.xanchor[j] for j in self.joints
            if pattern.search(self.names[j]) or pattern.search(self.body_name(self.body_of(j)))
        ]  # fmt: skip
        return np.mean(found, axis=0) if found else np.full(3, np.nan)

    # --- the other joints

    def _carried(self, j: int) -> list[str]:
        """Keys of the wheels below a joint, not counting its own."""
        b = self.body_of(j)
        bodies = {k: self.m.body(w.body).id for k, w in self.roles.wheels.items()}
        own = {k for k, w in self.roles.wheels.items() if w.joint == self.names[j]}
        return [k for k, w in bodies.items() if b in self.above(w) and k not in own]

    def _steering(self) -> None:
        if self.wish.steering is not None:
            return
        for j in self.joints:
            name, wheels = self.names[j], self._carried(j)
            if name in self.roles.joints or int(self.m.jnt_type[j]) != HINGE:
                continue
            if not 1 <= len(wheels) <= 2 or abs(self.axle(j)[2]) < UPRIGHT:
                continue
            why = f"upright axis above wheel {' and '.join(wheels)}"
            said = self.has_motor(j)
            if said is False or (said is None and _PASSIVE.search(self.text(j))):
                free = all(self.roles.joints.get(self._joint(k)) == "passive" for k in wheels)
                caster = "a caster" if free else "turns freely"
                self.roles.give(name, "passive", f"{why}; no motor: {caster}")
            else:
                self.roles.give(
                    name, "steering", f"{why}; motor defined in the file" if said else why
                )

    def _joint(self, key: str) -> str:
        return self.roles.wheels[key].joint

    def _rest(self) -> None:
        moves = bool(self.roles.wheels or self.roles.feet or self.roles.tracks)
        for j in self.joints:
            name, wheels = self.names[j], self._carried(j)
            if name in self.roles.joints:
                continue
            tracks = [k for k, t in self.roles.tracks.items() if self._holds(j, t.body)]
            if self.wish.passive is not None and (wheels or tracks):
                self.roles.give(name, "other", "above a wheel, and not listed in --passive")
            elif len(wheels) > 1 and self._slides_level(j):
                self.roles.give(name, "frame", f"slides level with wheels {', '.join(wheels)}")
            elif (wheels or tracks) and self._is_leg(j):
                self.roles.give(name, "legs", f"moves wheel {', '.join(wheels or tracks)}")
            elif wheels or tracks:
                self.roles.give(name, "passive", f"above wheel {', '.join(wheels or tracks)}")
            elif self.roles.fixed or not moves:
                self.roles.give(name, "other", "purpose unknown")
            elif _PASSIVE.search(self.text(j)):
                self.roles.give(name, "passive", "by its name")
            else:
                self.roles.give(name, "locked", "neither rolls nor walks: held fixed")
        # what an equation couples to something that moves cannot be held still
        for _ in self.ties:
            for tie in self.ties:
                known = [n for n in tie if n in self.roles.joints]
                if any(self.roles.joints[n] != "locked" for n in known):
                    for n in known:
                        if self.roles.joints[n] == "locked":
                            self.roles.give(n, "passive", "coupled to other joints by an equation")

    def _slides_level(self, j: int) -> bool:
        """Whether a joint moves an axle to and fro: no suspension does."""
        return int(self.m.jnt_type[j]) == SLIDE and abs(self.axle(j)[2]) < LEVEL

    def _is_leg(self, j: int) -> bool:
        """Whether a motor moves what the joint carries."""
        said = self.has_motor(j)
        if said is not None:
            return said
        return bool(_LEG.search(self.text(j))) and not _PASSIVE.search(self.text(j))

    def _holds(self, j: int, body: str) -> bool:
        b, own = self.m.body(body).id, self.body_of(j)
        return own in self.above(b) and own != self.m.body(self.roles.base).id

    # --- warnings

    def _warn(self) -> None:
        say = self.roles.warnings.append
        if not (self.roles.wheels or self.roles.feet or self.roles.tracks):
            say("no wheels, feet or tracks found: its bodies touch the ground with their own "
                "shapes; assign them with --wheels, --feet or --tracks"
                "")  # fmt: skip
            if lying := [j for j in self.joints if self._lies(j)]:
                names = ", ".join(self.names[j] for j in lying[:4])
                say(f"{names}: round and without stops, but the axle is vertical; give the upward "
                    f"axis of the file with --up y (or another)"
                    "")  # fmt: skip
        radii = {k: w.round.radius for k, w in self.roles.wheels.items()}
        if radii:
            middle = float(np.median(list(radii.values())))
            odd = [k for k, r in radii.items() if not 0.67 < r / middle < 1.5]
            if odd:
                say(
                    f"wheel {', '.join(odd)}: radius differs greatly from the others' "
                    f"({middle:.3g} m)"
                )
            if not 0.01 < middle < 2:
                say(f"wheels of {middle:.3g} m radius: are the lengths in metres?")
        omni = {self.names[j] for rollers in self.hubs.values() for j in rollers}
        wheels = {k: w for k, w in self.roles.wheels.items() if w.joint not in omni}
        elsewhere = [k for k, w in wheels.items() if self._leans(w)]
        if elsewhere:
            say(
                f"wheel {', '.join(elsewhere)}: the axle is not perpendicular to the forward "
                f"direction"
            )

    def _lies(self, j: int) -> bool:
        """Whether a joint would be a wheel if its axle were level."""
        if int(self.m.jnt_type[j]) != HINGE or not self.is_last(j) or not self.endless(j):
            return False
        shape = self.round_about(j)
        upright = abs(self.axle(j)[2]) > UPRIGHT and not NO_WHEEL.search(self.names[j])
        return upright and shape is not None and shape.roundness >= ROUND

    def _leans(self, wheel: WheelGuess) -> bool:
        forward = self.roles.front
        return abs(float(wheel.axis @ forward)) > 0.5
