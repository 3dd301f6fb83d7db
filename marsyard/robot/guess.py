"""Guessing what the parts of a model are for, from its shape, its motors and its names.

All in the reference pose, z up; H is the robot's height from its lowest to its highest point.

    wheel     the last hinge of a chain, without stops, its axis level, its shape round about it
              (the least reach across the axis at least 0.88 of the largest), near the ground
    drives    joints of wheels; of those with motors only, where the file says who has motors
    steering  a hinge with an upright axis that carries one or two wheels
    passive   other hinges and slides above a wheel, or joints without motor where others have one
    foot      the end of a limb of two or more hinges that carries no wheel and comes within 0.1 H
              of the lowest point; `legs` are the joints that move it, and joints above a wheel
              that have a motor or are called so
    frame     a slide with level axis that carries two or more wheels: it moves an axle
    track     three or more rollers on one body and side whose names say track, belt, crawler,
              sprocket, idler, road wheel or roller; one of them turns, the others may be drawn
    locked    all other joints (mast, arm, antenna) of a robot that rolls or walks: held still

The front is the base's +x unless axles say that it is ±y; names with front and rear, or left and
right, say which. Any guess can be replaced by name patterns.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import extent
from marsyard.robot.extent import Round
from marsyard.robot.roles import FRONTS, Roles, TrackGuess, WheelGuess, Wish

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
FREE = int(mujoco.mjtJoint.mjJNT_FREE)

_ROUND = 0.88
_LEVEL, _UPRIGHT = 0.35, 0.8  # of the vertical part of an axis
_NO_WHEEL = re.compile(r"lidar|laser|radar|antenna|fan|prop|rotor|camera|mast|arm_|gripper", re.I)
_PASSIVE = re.compile(r"rocker|bogie|differential|suspension|susp|passive|caster|swivel|free", re.I)
_TRACK = re.compile(r"track|belt|crawler|tread|sprocket|idler|road_?wheel|roller", re.I)
_SPROCKET, _IDLER = re.compile(r"sprocket|drive", re.I), re.compile(r"idler|tension", re.I)
_LEG = re.compile(r"hip|thigh|knee|calf|shank|haa|hfe|kfe|leg", re.I)
_FOOT = re.compile(r"foot|feet|toe|paw|hoof", re.I)
_FRONT = re.compile(r"front|(^|_)(f[lr]?|[lr]f)(_|$)", re.I)
_REAR = re.compile(r"rear|back|hind|(^|_)(r[lr]|[lr]r|b[lr]|[lr]b|h[lr]|[lr]h)(_|$)", re.I)
_LEFT = re.compile(r"left|(^|_)([fcmrbh]?l|l[fcmrbh])(_|$)", re.I)
_RIGHT = re.compile(r"right|(^|_)([fcmbh]?r|r[fcmbh])(_|$)", re.I)


def guess(
    model: mujoco.MjModel,
    motors: set[str],
    ties: Iterable[set[str]] = (),
    wish: Wish | None = None,
) -> Roles:
    """The roles of a model; `motors` are joints with actuators, `ties` joints that belong together
    because an equation couples them."""
    return _Guess(model, motors, [set(t) for t in ties], wish or Wish()).run()


class _Guess:
    def __init__(
        self, model: mujoco.MjModel, motors: set[str], ties: list[set[str]], wish: Wish
    ) -> None:
        self.m, self.motors, self.ties, self.wish = model, motors, ties, wish
        self.d = mujoco.MjData(model)
        mujoco.mj_kinematics(model, self.d)
        self.seen = [g for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
        self.low = extent.lowest(model, self.d, self.seen)
        self.height = max(extent.highest(model, self.d, self.seen) - self.low, 0.0)
        kinds = (HINGE, SLIDE)
        self.joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) in kinds]
        self.names = {j: model.joint(j).name for j in self.joints}
        self.roles = Roles(base="")

    def run(self) -> Roles:
        self._base()
        self._forward()
        self._tracks()
        self._wheels()
        self._feet()
        for role in ("drives", "steering", "passive", "keep"):
            self._wished(role)
        self._steering()
        self._rest()
        self._warn()
        return self.roles

    # --- the tree

    def body_of(self, j: int) -> int:
        return int(self.m.jnt_bodyid[j])

    def body_name(self, b: int) -> str:
        return self.m.body(b).name

    def above(self, b: int) -> list[int]:
        """Bodies from b up to the root."""
        out = []
        while b > 0:
            out.append(b)
            b = int(self.m.body_parentid[b])
        return out

    def joints_above(self, b: int, itself: bool = True) -> list[int]:
        chain = set(self.above(b) if itself else self.above(b)[1:])
        return [j for j in self.joints if self.body_of(j) in chain]

    def rigid(self, b: int) -> list[int]:
        """A body and what is fixed to it."""
        head = int(self.m.body_weldid[b])
        return [k for k in range(self.m.nbody) if int(self.m.body_weldid[k]) == head]

    def geoms(self, b: int) -> list[int]:
        bodies = set(self.rigid(b))
        return [g for g in self.seen if int(self.m.geom_bodyid[g]) in bodies]

    def is_last(self, j: int) -> bool:
        """Whether nothing moves on the body of a joint, and no other joint moves it."""
        b = self.body_of(j)
        moving = [k for k in range(self.m.nbody) if self.m.body_jntnum[k] > 0 and k != b]
        alone = int(self.m.body_jntnum[b]) == 1
        return alone and not any(b in self.above(k) for k in moving)

    def text(self, j: int) -> str:
        return f"{self.names[j]} {self.body_name(self.body_of(j))}"

    # --- patterns

    def matching(self, patterns: list[str], option: str) -> dict[str, list[int]]:
        """Joints by key for 'KEY=pattern' or patterns of joint or body names."""
        out: dict[str, list[int]] = {}
        for text in patterns:
            key, sign, pattern = text.rpartition("=")
            found = [
                j for j in self.joints
                if fnmatch.fnmatchcase(self.names[j], pattern)
                or fnmatch.fnmatchcase(self.body_name(self.body_of(j)), pattern)
            ]  # fmt: skip
            if not found:
                known = list(self.names.values())
                raise InputError(
                    f"--{option}: no joint is called '{pattern}'; {suggest(pattern, known)}"
                )
            group = out.setdefault(key.strip() if sign else "", [])
            group += [j for j in found if j not in group]
        return out

    def _wished(self, role: str) -> None:
        patterns = getattr(self.wish, role)
        if patterns is None:
            return
        role = "other" if role == "keep" else role
        for found in self.matching(patterns, "keep" if role == "other" else role).values():
            for j in found:
                self.roles.give(self.names[j], role, "as you said")

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
                f"{len(tops)} bodies stand in the world ({names}), a robot has one base; say which "
                "by --base NAME, the others are left out"
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
                f"--base: '{name}' hangs on '{self.body_name(top)}'; the base is a body that "
                f"nothing carries: {suggest(name, [self.body_name(t) for t in tops])}"
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
                    f"--forward: '{self.wish.forward}' is no direction; valid: {', '.join(FRONTS)}."
                )
            self.roles.forward = self.wish.forward
            return
        axles = [frame.T @ self._axle(j) for j in self.joints if self._rolls(j) is not None]
        along_x = sum(abs(a[0]) > abs(a[1]) for a in axles)
        choice = ("+y", "-y") if axles and along_x > len(axles) / 2 else ("+x", "-x")
        front = frame.T @ (self._named(_FRONT) - self._named(_REAR))
        side = frame.T @ (self._named(_LEFT) - self._named(_RIGHT))
        said = front if np.all(np.isfinite(front)) else np.cross(side, (0.0, 0.0, 1.0))
        forward = np.array(FRONTS[choice[0]], dtype=float)
        if np.all(np.isfinite(said)) and np.linalg.norm(said[:2]) > 1e-3:
            if abs(said @ forward) < 0.5 * np.linalg.norm(said[:2]):
                self.roles.warnings.append(
                    "names say another front than the axles do; say which by --forward"
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

    def _axle(self, j: int) -> np.ndarray:
        return np.array(self.d.xaxis[j])

    # --- what rolls

    def _rolls(self, j: int) -> Round | None:
        """The shape of a joint's body about it, if it may roll."""
        if int(self.m.jnt_type[j]) != HINGE or not self.is_last(j) or not self._endless(j):
            return None
        if abs(self._axle(j)[2]) > _LEVEL:
            return None
        shape = self._round(j)
        if shape is None or shape.roundness < _ROUND or shape.width > 4 * shape.radius:
            return None
        return shape

    def _endless(self, j: int) -> bool:
        low, high = self.m.jnt_range[j]
        far = 2 * np.pi if re.search("wheel", self.text(j), re.I) else 4 * np.pi
        return not self.m.jnt_limited[j] or high - low > far - 0.1

    def _round(self, j: int) -> Round | None:
        """The best account of the shape about the joint: what collides before what is drawn."""
        m = self.m
        geoms = self.geoms(self.body_of(j))
        hard = [g for g in geoms if m.geom_contype[g] or m.geom_conaffinity[g]]
        soft = [g for g in geoms if g not in hard]
        place, axis = np.array(self.d.xanchor[j]), self._axle(j)
        shapes = [extent.about(m, self.d, group, place, axis) for group in (hard, soft) if group]
        if not shapes:
            return None
        good = [s for s in shapes if s.roundness >= _ROUND]
        best = good[0] if good else shapes[0]
        if len(good) == 2 and self._is_ball(hard) and good[1].width < best.width:
            # a ball collides for a wheel that is drawn
            best = best._replace(width=good[1].width, middle=good[1].middle)
        return best

    def _is_ball(self, geoms: list[int]) -> bool:
        balls = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
        return bool(geoms) and all(int(self.m.geom_type[g]) in balls for g in geoms)

    def _as_wheel(self, j: int, shape: Round) -> WheelGuess:
        ball = self._is_ball(self.geoms(self.body_of(j)))
        kind = self.wish.shape or ("sphere" if ball else "cylinder")
        if self.wish.radius is not None:
            shape = shape._replace(radius=self.wish.radius)
        if self.wish.width is not None:
            shape = shape._replace(width=self.wish.width)
        body = self.body_name(self.body_of(j))
        place = np.array(self.d.xanchor[j])
        return WheelGuess(body, self.names[j], kind, shape, place, self._axle(j))

    def _wheels(self) -> None:
        wheels: list[WheelGuess] = []
        keys: list[str] = []
        if self.wish.wheels is None:
            margin = max(0.25 * self.height, 0.0)
            for j in self.joints:
                shape = None if self.names[j] in self.roles.joints else self._rolls(j)
                if shape is None or _NO_WHEEL.search(self.names[j]):
                    continue
                if extent.lowest(self.m, self.d, self.geoms(self.body_of(j))) > self.low + margin:
                    continue
                wheels.append(self._as_wheel(j, shape))
                keys.append("")
                why = f"no stops, level axle, {100 * shape.roundness:.0f} % round"
                self._is_drive(j, why)
        else:
            for key, found in self.matching(self.wish.wheels, "wheels").items():
                for j in found:
                    wheels.append(self._as_wheel(j, self._size_of(j)))
                    keys.append(key if len(found) == 1 else "")
                    self._is_drive(j, "as you said")
        named = self._keys([w.place for w in wheels], keys)
        pairs = sorted(zip(named, wheels, strict=True), key=lambda pair: self._order(pair[1]))
        self.roles.wheels = dict(pairs)

    def _is_drive(self, j: int, why: str) -> None:
        name = self.names[j]
        if (self.motors and name not in self.motors) or re.search("caster", self.text(j), re.I):
            self.roles.give(name, "passive", f"{why}; no motor")
        else:
            self.roles.give(name, "drives", why)

    def _size_of(self, j: int) -> Round:
        """The size of a wheel that the user named."""
        if int(self.m.jnt_type[j]) != HINGE:
            raise InputError(f"--wheels: '{self.names[j]}' slides; a wheel turns about a hinge")
        shape = self._round(j)
        given = self.wish.radius is not None and self.wish.width is not None
        if shape is None and not given:
            raise InputError(
                f"--wheels: '{self.names[j]}' has no shape to measure; give --wheel-radius and "
                "--wheel-width"
            )
        if shape is None:
            return Round(1.0, 1.0, 0.0, 1.0)
        if shape.roundness < _ROUND and not given:
            raise InputError(
                f"--wheels: '{self.names[j]}' is not round about its axis (its reach across it "
                f"falls to {100 * shape.roundness:.0f} %); give --wheel-radius and --wheel-width"
            )
        return shape if shape.roundness >= _ROUND else shape._replace(middle=0.0)

    # --- keys such as FL

    def _order(self, wheel: WheelGuess) -> tuple[float, float]:
        """From front to rear, left before right."""
        forward = self.roles.front
        left = np.cross((0.0, 0.0, 1.0), forward)
        step = max(wheel.round.radius, 1e-6)
        return -round(float(wheel.place @ forward) / step), -float(wheel.place @ left)

    def _keys(self, places: list[np.ndarray], given: list[str], alone: str = "W") -> list[str]:
        """Names by place: F, C, R from front to rear and L, R, or numbers where that fails."""
        forward = self.roles.front
        left = np.cross((0.0, 0.0, 1.0), forward)
        across = np.array([float(p @ left) for p in places])
        across -= (across.min() + across.max()) / 2 if len(places) else 0.0
        spread = float(np.abs(across).max()) if len(places) else 0.0
        sides: dict[str, list[int]] = {}
        for i, y in enumerate(across):
            side = "" if abs(y) < 0.1 * spread or spread < 1e-6 else "L" if y > 0 else "R"
            sides.setdefault(side, []).append(i)
        keys = [""] * len(places)
        for side, members in sides.items():
            members.sort(key=lambda i: -float(places[i] @ forward))
            count = len(members)
            letters = {1: [""], 2: ["F", "R"], 3: ["F", "C", "R"]}.get(count)
            for k, i in enumerate(members):
                row = letters[k] if letters else str(k + 1)
                keys[i] = (row + side) or alone
        keys = [own or key for own, key in zip(given, keys, strict=True)]
        doubled = len(set(keys)) < len(keys)
        return [f"{key}{i + 1}" for i, key in enumerate(keys)] if doubled else keys

    # --- tracks

    def _tracks(self) -> None:
        groups: dict[str, list[int]] = {}
        if self.wish.tracks is not None:
            groups = self.matching(self.wish.tracks, "tracks")
        elif self.wish.wheels is None:
            left = np.cross((0.0, 0.0, 1.0), self.roles.front)
            sides: dict[tuple[int, bool], list[int]] = {}
            rolling = [j for j in self.joints if self._rolls(j) is not None]
            across = {j: float(self.d.xanchor[j] @ left) for j in rolling}
            middle = (min(across.values()) + max(across.values())) / 2 if rolling else 0.0
            for j in rolling:
                parent = int(self.m.body_parentid[self.body_of(j)])
                side = across[j] > middle
                sides.setdefault((parent, side), []).append(j)
            for (parent, side), found in sides.items():
                text = " ".join([self.body_name(parent), *(self.text(j) for j in found)])
                still = self._still_rollers(found[0])
                if len(found) + len(still) >= 3 and _TRACK.search(text):
                    key = "L" if side else "R"
                    same = sum(name.startswith(key) for name in groups)
                    groups[f"{key}{same + 1}" if same else key] = found
        for key, found in groups.items():
            self._track(key or f"T{len(self.roles.tracks) + 1}", found)

    def _track(self, key: str, found: list[int]) -> None:
        still = self._still_rollers(found[0])
        if len(found) + len(still) < 3:
            raise InputError(
                f"--tracks: {key} has {len(found) + len(still)} rollers; a belt needs a sprocket, "
                "an idler and a road wheel"
            )
        parents = {int(self.m.body_parentid[self.body_of(j)]) for j in found}
        if len(parents) > 1:
            raise InputError(f"--tracks: the rollers of {key} must all hang on the same body")
        rollers = [self._as_wheel(j, self._size_of(j)) for j in found] + still
        rollers.sort(key=lambda r: float(r.place @ self.roles.front))
        sprocket = self._one(rollers, _SPROCKET, self.motors) or next(r for r in rollers if r.joint)
        others = [r for r in rollers if r is not sprocket]
        behind = float((sprocket.place - others[0].place) @ self.roles.front) <= 0
        idler = self._one(others, _IDLER, set()) or (others[-1] if behind else others[0])
        road = [r for r in others if r is not idler]
        self.roles.tracks[key] = TrackGuess(self.body_name(parents.pop()), [sprocket, *road, idler])
        self.roles.give(sprocket.joint, "drives", f"sprocket of track {key}")
        for roller in others:
            if roller.joint:
                why = f"roller of track {key}: the belt moves"
                self.roles.give(roller.joint, "locked", why)

    def _still_rollers(self, j: int) -> list[WheelGuess]:
        """Cylinders on the body that carries a roller, beside it and along its axle."""
        m, axis, shape = self.m, self._axle(j), self._round(j)
        parent = int(m.body_parentid[self.body_of(j)])
        out: dict[tuple[float, ...], WheelGuess] = {}
        for g in self.geoms(parent):
            place = np.array(self.d.geom_xpos[g])
            along = abs(float(self.d.geom_xmat[g].reshape(3, 3)[:, 2] @ axis)) > 0.99
            if int(m.geom_type[g]) != mujoco.mjtGeom.mjGEOM_CYLINDER or not along:
                continue
            own = extent.about(m, self.d, [g], place, axis)
            aside = abs(float((place - self.d.xanchor[j]) @ axis))
            if shape is None or aside > shape.width or not 0.3 < own.radius / shape.radius < 3:
                continue
            key = tuple(np.round(place, 3).tolist())
            if key not in out or out[key].round.radius < own.radius:
                name = m.geom(g).name
                out[key] = WheelGuess(
                    self.body_name(parent), "", "cylinder", own, place, axis, geom=name
                )
        return list(out.values())

    def _one(
        self, rollers: list[WheelGuess], pattern: re.Pattern[str], motors: set[str]
    ) -> WheelGuess | None:
        turning = [r for r in rollers if r.joint]
        by_name = [r for r in turning if pattern.search(f"{r.joint} {r.body}")]
        by_motor = [r for r in turning if r.joint in motors]
        for found in (by_name, by_motor):
            if len(found) == 1:
                return found[0]
        return None

    # --- feet

    def _feet(self) -> None:
        wish = self.wish
        ends: list[int] = []
        keys: list[str] = []
        if wish.feet is not None:
            for key, found in self._bodies(wish.feet).items():
                ends += found
                keys += [key if len(found) == 1 else ""] * len(found)
        else:
            rolling = {w.body for w in self.roles.wheels.values()}
            for j in self.joints:
                b = self.body_of(j)
                if not self.is_last(j) or self.body_name(b) in rolling:
                    continue
                if self.names[j] in self.roles.joints or not self._is_limb(b):
                    continue
                ends.append(self._sole(b))
                keys.append("")
        names = [self.body_name(b) for b in ends]
        named = self._keys([np.array(self.d.xpos[b]) for b in ends], keys, "Foot")
        self.roles.feet = dict(zip(named, names, strict=True))
        for key, b in zip(named, ends, strict=True):
            said = wish.feet is not None
            self.roles.why[f"body {self.body_name(b)}"] = (
                "as you said" if said else "end of a limb that reaches the ground"
            )
            for j in self.joints_above(b):
                if self.names[j] not in self.roles.joints:
                    self.roles.give(self.names[j], "legs", f"moves foot {key}")

    def _is_limb(self, b: int) -> bool:
        hinges = [j for j in self.joints_above(b) if int(self.m.jnt_type[j]) == HINGE]
        geoms = self.geoms(b)
        if len(hinges) < 2 or not geoms:
            return False
        if (self.roles.wheels or self.roles.tracks) and not any(
            _FOOT.search(self.body_name(k)) for k in self.rigid(b)
        ):
            return False
        return extent.lowest(self.m, self.d, geoms) <= self.low + 0.1 * self.height

    def _sole(self, b: int) -> int:
        """Of a body and what is fixed to it, the one that reaches lowest."""
        reach = {}
        for k in self.rigid(b):
            own = [g for g in self.seen if int(self.m.geom_bodyid[g]) == k]
            if own:
                reach[k] = extent.lowest(self.m, self.d, own)
        least = min(reach.values())
        return max(k for k, low in reach.items() if low <= least + 1e-6)

    def _bodies(self, patterns: list[str]) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        bodies = {self.body_name(b): b for b in range(1, self.m.nbody)}
        for text in patterns:
            key, sign, pattern = text.rpartition("=")
            found = [b for name, b in bodies.items() if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise InputError(
                    f"--feet: no body is called '{pattern}'; {suggest(pattern, bodies)}"
                )
            out.setdefault(key.strip() if sign else "", []).extend(found)
        return out

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
            if not 1 <= len(wheels) <= 2 or abs(self._axle(j)[2]) < _UPRIGHT:
                continue
            why = f"upright axis above wheel {' and '.join(wheels)}"
            if (self.motors and name not in self.motors) or _PASSIVE.search(self.text(j)):
                self.roles.give(name, "passive", f"{why}; no motor")
            else:
                self.roles.give(name, "steering", why)

    def _rest(self) -> None:
        moves = bool(self.roles.wheels or self.roles.feet or self.roles.tracks)
        for j in self.joints:
            name, wheels = self.names[j], self._carried(j)
            if name in self.roles.joints:
                continue
            tracks = [k for k, t in self.roles.tracks.items() if self._holds(j, t.body)]
            if self.wish.passive is not None and (wheels or tracks):
                self.roles.give(name, "other", "above a wheel, and not among --passive")
            elif len(wheels) > 1 and self._slides_level(j):
                self.roles.give(name, "frame", f"slides level with wheels {', '.join(wheels)}")
            elif (wheels or tracks) and self._is_leg(j):
                self.roles.give(name, "legs", f"moves wheel {', '.join(wheels or tracks)}")
            elif wheels or tracks:
                self.roles.give(name, "passive", f"above wheel {', '.join(wheels or tracks)}")
            elif self.roles.fixed or not moves:
                self.roles.give(name, "other", "nothing tells what it is for")
            elif _PASSIVE.search(self.text(j)):
                self.roles.give(name, "passive", "by its name")
            else:
                self.roles.give(name, "locked", "neither rolls nor walks: held still")
        # what an equation couples to something that moves cannot be held still
        for _ in self.ties:
            for tie in self.ties:
                known = [n for n in tie if n in self.roles.joints]
                if any(self.roles.joints[n] != "locked" for n in known):
                    for n in known:
                        if self.roles.joints[n] == "locked":
                            self.roles.give(n, "passive", "an equation couples it to others")

    def _slides_level(self, j: int) -> bool:
        """Whether a joint moves an axle to and fro: no suspension does."""
        return int(self.m.jnt_type[j]) == SLIDE and abs(self._axle(j)[2]) < _LEVEL

    def _is_leg(self, j: int) -> bool:
        """Whether a motor moves what the joint carries."""
        if self.motors:
            return self.names[j] in self.motors
        return bool(_LEG.search(self.text(j))) and not _PASSIVE.search(self.text(j))

    def _holds(self, j: int, body: str) -> bool:
        b, own = self.m.body(body).id, self.body_of(j)
        return own in self.above(b) and own != self.m.body(self.roles.base).id

    # --- warnings

    def _warn(self) -> None:
        say = self.roles.warnings.append
        if not (self.roles.wheels or self.roles.feet or self.roles.tracks):
            say("no wheels, feet or tracks found: its bodies touch the ground by their own shapes; "
                "name them by --wheels, --feet or --tracks")  # fmt: skip
            if lying := [j for j in self.joints if self._lies(j)]:
                names = ", ".join(self.names[j] for j in lying[:4])
                say(f"{names}: round and without stops, but the axle is upright; say by --up y (or "
                    "another) which axis of the file points up")  # fmt: skip
        radii = {k: w.round.radius for k, w in self.roles.wheels.items()}
        if radii:
            middle = float(np.median(list(radii.values())))
            odd = [k for k, r in radii.items() if not 0.67 < r / middle < 1.5]
            if odd:
                say(f"wheel {', '.join(odd)}: radius far from the others' ({middle:.3g} m)")
            if not 0.01 < middle < 2:
                say(f"wheels of {middle:.3g} m radius: are the lengths in metres?")
        elsewhere = [k for k, w in self.roles.wheels.items() if self._leans(w)]
        if elsewhere:
            say(f"wheel {', '.join(elsewhere)}: the axle does not point across the front")

    def _lies(self, j: int) -> bool:
        """Whether a joint would be a wheel if its axle were level."""
        if int(self.m.jnt_type[j]) != HINGE or not self.is_last(j) or not self._endless(j):
            return False
        shape = self._round(j)
        upright = abs(self._axle(j)[2]) > _UPRIGHT and not _NO_WHEEL.search(self.names[j])
        return upright and shape is not None and shape.roundness >= _ROUND

    def _leans(self, wheel: WheelGuess) -> bool:
        forward = self.roles.front
        return abs(float(wheel.axis @ forward)) > 0.5
