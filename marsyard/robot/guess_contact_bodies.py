"""Guessing the contact bodies of a model: tracks, wheels, feet, and their keys such as FL.

The rules stand at the head of `guess`.
"""

from __future__ import annotations

import fnmatch
import re

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.robot import extent
from marsyard.robot.anatomy import HINGE, ROUND, Anatomy
from marsyard.robot.contact_bodies import MOST_ROAD_WHEELS
from marsyard.robot.extent import Round
from marsyard.robot.motors import Motors
from marsyard.robot.roles import Roles, TrackGuess, WheelGuess, Wish

NO_WHEEL = re.compile(r"lidar|laser|radar|antenna|fan|prop|rotor|camera|mast|arm_|gripper", re.I)
_TRACK = re.compile(r"track|belt|crawler|tread|sprocket|idler|road_?wheel|roller", re.I)
_SPROCKET, _IDLER = re.compile(r"sprocket|drive", re.I), re.compile(r"idler|tension", re.I)
#: so many rollers close together in a row carry a belt, whatever they are called
_ROW = 5
_FOOT = re.compile(r"foot|feet|toe|paw|hoof", re.I)


class Organs(Anatomy):
    """Finds tracks, wheels and feet of a model whose base and front are known; what the user wishes
    comes first, then what the file says of its motors, then names."""

    def __init__(self, model: mujoco.MjModel, motors: Motors, wish: Wish) -> None:
        super().__init__(model)
        self.motors, self.wish = motors, wish
        self.roles = Roles(base="")
        #: rollers by the hub of the omni wheel that carries them
        self.hubs = {j: r for j in self.joints if (r := self.rollers_around(j))}
        rolling = [j for j in self.joints if j in self.hubs or self.rolls(j) is not None]
        #: the motors that the file names move at least one of the wheels it may have
        self.wheels_in_motors = not rolling or any(self.names[j] in motors.named for j in rolling)

    def has_motor(self, j: int) -> bool | None:
        """Whether the file says that a joint has a motor; none where it does not say.

        Motors that move no wheel (those of an arm) say nothing of the joints they do not name.
        """
        said, name = self.motors.says(self.names[j]), self.names[j]
        if said is False and not self.wheels_in_motors and name not in self.motors.without:
            return None
        return said

    # --- wheels

    def _as_wheel(self, j: int, shape: Round) -> WheelGuess:
        ball = self.are_balls(self.geoms(self.body_of(j)))
        kind = self.wish.shape or ("sphere" if ball else "cylinder")
        if self.wish.radius is not None:
            shape = shape._replace(radius=self.wish.radius)
        if self.wish.width is not None:
            shape = shape._replace(width=self.wish.width)
        body = self.body_name(self.body_of(j))
        place = np.array(self.d.xanchor[j])
        return WheelGuess(body, self.names[j], kind, shape, place, self.axle(j))

    def find_wheels(self) -> None:
        """Wheels, in order from front to rear."""
        wheels: list[WheelGuess] = []
        keys: list[str] = []
        if self.wish.wheels is None:
            self._omni_wheels(wheels, keys)
            margin = max(0.25 * self.height, 0.0)
            for j in self.joints:
                shape = None if self.names[j] in self.roles.joints else self.rolls(j)
                if shape is None or NO_WHEEL.search(self.names[j]):
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
                    self._is_drive(j, "as given")
        named = self._keys([w.place for w in wheels], keys)
        pairs = sorted(zip(named, wheels, strict=True), key=lambda pair: self._order(pair[1]))
        self.roles.wheels = dict(pairs)

    def _is_drive(self, j: int, why: str) -> None:
        name, said = self.names[j], self.has_motor(j)
        if said is False or (said is None and re.search("caster", self.text(j), re.I)):
            self.roles.give(name, "passive", f"{why}; no motor")
        else:
            self.roles.give(name, "drives", f"{why}; motor defined in the file" if said else why)

    def _omni_wheels(self, wheels: list[WheelGuess], keys: list[str]) -> None:
        """Rollers of omni wheels are the wheels that touch the ground; their hub is driven."""
        places = [np.array(self.d.xanchor[hub]) for hub in self.hubs]
        named = self._keys(places, [""] * len(places))
        for key, (hub, rollers) in zip(named, self.hubs.items(), strict=True):
            self.roles.hubs[key] = self.body_name(self.body_of(hub))
            self._is_drive(hub, f"hub of omni wheel {key} with {len(rollers)} rollers")
            for k, j in enumerate(rollers, start=1):
                shape = self.round_about(j)
                assert shape is not None  # it has one: see `rollers_around`
                wheels.append(self._as_wheel(j, shape))
                keys.append(f"{key}_{k}")
                self.roles.give(self.names[j], "passive", f"roller {k} of omni wheel {key}")

    def _size_of(self, j: int) -> Round:
        """The size of a wheel that the user named."""
        if int(self.m.jnt_type[j]) != HINGE:
            raise InputError(f"--wheels: '{self.names[j]}' slides; a wheel needs a hinge")
        shape = self.round_about(j)
        given = self.wish.radius is not None and self.wish.width is not None
        if shape is None and not given:
            raise InputError(
                f"--wheels: '{self.names[j]}' has no shape to measure; give --wheel-radius and "
                "--wheel-width"
            )
        if shape is None:
            return Round(1.0, 1.0, 0.0, 1.0)
        if shape.roundness < ROUND and not given:
            raise InputError(
                f"--wheels: '{self.names[j]}' is not round about its axis (its reach across it "
                f"falls to {100 * shape.roundness:.0f} %); give --wheel-radius and --wheel-width"
            )
        return shape if shape.roundness >= ROUND else shape._replace(middle=0.0)

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

    def find_tracks(self) -> None:
        """Belts around rollers."""
        groups: dict[str, list[int]] = {}
        if self.wish.tracks is not None:
            groups = self.matching(self.wish.tracks, "tracks")
        elif self.wish.wheels is None:
            left = np.cross((0.0, 0.0, 1.0), self.roles.front)
            sides: dict[tuple[int, bool], list[int]] = {}
            omni = {j for rollers in self.hubs.values() for j in rollers}
            rolling = [j for j in self.joints if j not in omni and self.rolls(j) is not None]
            across = {j: float(self.d.xanchor[j] @ left) for j in rolling}
            middle = (min(across.values()) + max(across.values())) / 2 if rolling else 0.0
            for j in rolling:
                parent = int(self.m.body_parentid[self.body_of(j)])
                side = across[j] > middle
                sides.setdefault((parent, side), []).append(j)
            for (parent, side), found in sides.items():
                text = " ".join([self.body_name(parent), *(self.text(j) for j in found)])
                still = self._still_rollers(found[0])
                belt = _TRACK.search(text) or self._in_a_row(found)
                if len(found) + len(still) >= 3 and belt:
                    key = "L" if side else "R"
                    same = sum(name.startswith(key) for name in groups)
                    groups[f"{key}{same + 1}" if same else key] = found
        for key, found in groups.items():
            self._track(key or f"T{len(self.roles.tracks) + 1}", found)

    def _in_a_row(self, found: list[int]) -> bool:
        """Whether so many rollers of one size stand so close that a belt runs over them."""
        if len(found) < _ROW:
            return False
        along = np.sort([float(self.d.xanchor[j] @ self.roles.front) for j in found])
        radii = [shape.radius for j in found if (shape := self.round_about(j)) is not None]
        return bool(np.diff(along).max() < 2.2 * float(np.median(radii)))

    def _track(self, key: str, found: list[int]) -> None:
        still = self._still_rollers(found[0])
        if len(found) + len(still) < 3:
            raise InputError(
                f"--tracks: {key} has {len(found) + len(still)} rollers; a belt needs a sprocket, "
                "an idler and a road wheel"
            )
        parents = {int(self.m.body_parentid[self.body_of(j)]) for j in found}
        if len(parents) > 1:
            raise InputError(f"--tracks: the rollers of {key} must all be carried by the same body")
        rollers = [self._as_wheel(j, self._size_of(j)) for j in found] + still
        rollers.sort(key=lambda r: float(r.place @ self.roles.front))
        sprocket = self._one(rollers, _SPROCKET, self.motors.named) or next(
            r for r in rollers if r.joint
        )
        others = [r for r in rollers if r is not sprocket]
        behind = float((sprocket.place - others[0].place) @ self.roles.front) <= 0
        idler = self._one(others, _IDLER, set()) or (others[-1] if behind else others[0])
        road = self._fewer([r for r in others if r is not idler], key)
        kept = [sprocket, *road, idler]
        spare = [r for r in others if all(r is not k for k in kept)]
        self.roles.tracks[key] = TrackGuess(self.body_name(parents.pop()), kept, spare)
        self.roles.give(sprocket.joint, "drives", f"sprocket of track {key}")
        for roller in others:
            if roller.joint:
                why = f"roller of track {key}: the belt moves"
                self.roles.give(roller.joint, "locked", why)

    def _fewer(self, road: list[WheelGuess], key: str) -> list[WheelGuess]:
        """At most as many road wheels as a track may have: those that stand lowest, evenly."""
        if len(road) <= MOST_ROAD_WHEELS:
            return road
        low = min(float(r.place[2]) - r.round.radius for r in road)
        lower = [r for r in road if r.place[2] - r.round.radius < low + r.round.radius]
        picks = np.unique(np.linspace(0, len(lower) - 1, MOST_ROAD_WHEELS).round().astype(int))
        self.roles.warnings.append(
            f"track {key} has {len(road)} road wheels; {len(picks)} of them carry the belt"
        )
        return [lower[i] for i in picks]

    def _still_rollers(self, j: int) -> list[WheelGuess]:
        """Cylinders on the body that carries a roller, beside it and along its axle."""
        m, axis, shape = self.m, self.axle(j), self.round_about(j)
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

    def find_feet(self) -> None:
        """Ends of limbs, and the joints that move them."""
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
                "as given" if said else "end of a limb that reaches the ground"
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
