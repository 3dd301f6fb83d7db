"""One watch over every run, whatever its laws: what cannot be true ends the run or is named.

Start. A robot that stands deeper in the ground than its wheels' radius (without wheels: a tenth of
its size) is refused; one that stands a little in it is named. Depths are those of the law that
acts: exact gaps of hard contact, elements, MuJoCo's contacts, or heights over the undisturbed soil;
in boxes, that of the lowest point towards the nearest face.

On the way, record by record:

    not finite          a coordinate, velocity, torque or energy                     ends the run
    speed               max |v| > 1e5 m/s or rad/s                                   ends the run
    energy              G > 10 E_0                                                   ends the run
                        G > 0.05 A + 0.01 m g l                                      is named
                        G > 0.05 A + 1e-4 m g l after a start inside the ground      is named

The ground is passive, so that mechanical energy E = T + V less the work W of the motors cannot grow
beyond its value at the start; and with the work taken by soil, layers and elements counted, it
cannot grow at all, but by what soft contact gives back. The gain G is the larger of

    max over t of  (E − W)(t) − (E − W)(0),     max over s < t of  D(s) − D(t),
    D = W − (E(t) − E(0)) − (work taken by the ground)

E_0 = T(0) + ∫|dW| + m g l + ½ m (1 m/s)² is what the run could dispose of, with l the size of the
robot; A = T(0) + ∫|dW| + (largest − smallest V) what it has moved. Two causes of a gain are named
with it: ground that the robot starts inside and that pushes it out (elastic soil, elements and
layers hold energy then that nobody has put in), and turns of more than 0.1 rad in a step, whose
inertia forces a step takes at one configuration only. Both bounds are left out for models
with actuators of MuJoCo's, whose work is not counted, and the first gain for laws of the user's own
or of plug-ins, which may be more than a ground.

At the end are named: wheels that were deeper in soil than their radius, and contact problems that
did not converge in more than one of a hundred steps.

All of it looks at records, so that a step costs nothing. The first record that cannot be true is
dropped with all after it, but for that of the start.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.about import NONE, law_of_hard_ground
from marsyard.interaction.law import stored_energy
from marsyard.simulation.attached import WORK
from marsyard.simulation.owner import part_of
from marsyard.simulation.recorder import wheel_sinkage, wheel_touching
from marsyard.simulation.settle import box_gap, law_gap, smallest_gap
from marsyard.simulation.world import body_name

if TYPE_CHECKING:
    from marsyard.simulation.simulation import Simulation

#: elements and soil that start deeper than this in the ground are worth a warning [m]
DEEP = 0.01
#: nothing that drives is faster [m/s, rad/s]
FASTEST = 1e5
#: no motor is stronger [N·m, N]
STRONG = 1e6
#: gain of energy that ends a run, by what it could dispose of
ABSURD = 10.0
#: gain of energy that is named: by what has been moved, and by weight times size
NAMED, NAMED_LIFT = 0.05, 0.01
#: by weight times size where the robot started inside the ground
NAMED_INSIDE = 1e-4
#: turn in a step that is named as the cause of a gain [rad]
FAR = 0.1
#: share of steps that may stay unconverged without a word
UNCONVERGED = 0.01


# --- the start


def _check_start(s: Simulation) -> float:
    """Name a start inside the ground, and refuse one deep inside it; returns the depth [m]."""
    gap, where = _start_gap(s)
    depth = max(-gap, 0.0)
    exact = law_of_hard_ground(s.scenario).gives_rows and s.world.soil is None
    allowed = 1e-6 if exact else DEEP
    if not depth > allowed:
        return depth
    text = (
        f"robot.position: the robot starts {depth * 1000:.3g} mm inside the ground ({where}); "
        "set robot.settle to true to place it on the ground"
    )
    radius = max((w.radius for w in s.world.robot.wheels.values()), default=0.1 * _size(s))
    if depth > radius:
        raise InputError(text)
    warnings.warn(text, stacklevel=5)
    return depth


def _start_gap(s: Simulation) -> tuple[float, str]:
    """Smallest gap to any ground at the start [m], and the body it belongs to."""
    found = [(np.inf, "")]
    law = law_of_hard_ground(s.scenario)
    if law.places_as_rigid:
        found.append(smallest_gap(s))
    elif law.is_mujocos:
        found.append(_soft_gap(s))
    found.append(law_gap(s))
    if law is not NONE:
        mujoco.mj_kinematics(s.model, s.data)
        found.append(box_gap(s))
    return min(found)


def _soft_gap(s: Simulation) -> tuple[float, str]:
    """Smallest distance of MuJoCo's contacts with the ground."""
    m, d = s.model, s.data
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    mujoco.mj_collision(m, d)
    best = np.inf, ""
    for contact in d.contact[: d.ncon]:
        ground = [int(s.world.geom_surface[g]) >= 0 for g in contact.geom]
        if any(ground) and contact.dist < best[0]:
            body = int(m.geom_bodyid[contact.geom[0 if ground[1] else 1]])
            best = float(contact.dist), f"body '{body_name(m, body)}'"
    return best


def _size(s: Simulation) -> float:
    """Largest extent of the robot [m]."""
    own = s.world.geom_surface < 0
    moving = own & (s.model.geom_bodyid > 0)
    if not moving.any():
        return 1.0
    mujoco.mj_kinematics(s.model, s.data)
    reach = s.model.geom_rbound[moving][:, None]
    low, high = s.data.geom_xpos[moving] - reach, s.data.geom_xpos[moving] + reach
    return float(np.max(high.max(axis=0) - low.min(axis=0)))


def _rotates(m: mujoco.MjModel) -> np.ndarray:
    """Which degrees of freedom turn [nv], those of joints that slide do not."""
    out = m.jnt_type[m.dof_jntid] != mujoco.mjtJoint.mjJNT_SLIDE
    for start in m.jnt_dofadr[m.jnt_type == mujoco.mjtJoint.mjJNT_FREE]:
        out[start : start + 3] = False
    return out


# --- on the way


class Watch:
    """Looks at every record of a run once."""

    # what the account of energy has come to, `_begin_energy` [J]
    _energy_seen: int
    _work: float
    _moved: float
    _taken: float
    _start: float
    _lost: float
    _high: float
    _low: float
    _kinetic: float
    _spare: float
    _named: tuple[float, float, float, str]
    _inside: float

    def __init__(self, simulation: Simulation) -> None:
        self._s: Simulation = part_of(simulation)
        self._seen = 0
        self._lift = 0.0
        self._depth = 0.0
        #: energy is counted over a run, in which nobody changes the state by hand
        self._runs = False

    def check_start(self) -> None:
        """Name a start inside the ground, and refuse one deep inside it."""
        self._depth = _check_start(self._s)

    @contextmanager
    def whole_run(self) -> Iterator[None]:
        """Count energy from here on, whatever was changed by hand before."""
        self._begin_energy()
        self._runs = True
        try:
            yield
        finally:
            self._runs = False

    def check(self) -> str | None:
        """Why the run must end: the first new record that cannot be true, which is dropped with
        all after it. None if all is well."""
        reason = self._check_motion()
        return (self._check_energy() if self._runs else None) or reason

    def _check_motion(self) -> str | None:
        s = self._s
        first, last = self._seen, s.record_count
        if last <= first:
            self._seen = last
            return None
        self._seen = last
        r = s.record_room
        # one number tells for nearly all records that they are finite and slow
        if np.abs(r.velocities[first:last]).max(initial=0.0) < FASTEST and np.isfinite(
            r.torque[first:last].sum() + r.coordinates[first:last].sum()
        ):
            return None
        for k in range(first, last):
            reason = self._judge(k)
            if reason is not None:
                self._seen = max(k, 1)
                s.drop_records(self._seen)
                return f"stopped at t = {r.time[k]:.6g} s: {reason}"
        return None

    def _judge(self, k: int) -> str | None:
        """What cannot be true in record k."""
        s, r = self._s, self._s.record_room
        finite = all(np.isfinite(a[k]).all() for a in (r.coordinates, r.velocities))
        if not finite:
            return "positions or velocities are not finite"
        bad = np.flatnonzero(~np.isfinite(r.torque[k]))
        if len(bad):
            return f"the torque of joint '{s.world.joints[bad[0]]}' is not finite"
        i = int(np.argmax(np.abs(r.velocities[k])))
        speed = abs(float(r.velocities[k, i]))
        if speed >= FASTEST:
            body = body_name(s.model, int(s.model.dof_bodyid[i]))
            torque = dict(zip(s.world.joints, np.abs(r.torque[k]), strict=False))
            joint = max(torque, key=lambda name: torque[name], default="")
            strong = bool(joint) and torque[joint] > STRONG
            also = f", or the torque law on joint '{joint}' too strong" if strong else ""
            return (
                f"body '{body}' (degree of freedom {s.world.dof_names()[i]}) moves at "
                f"{speed:.3g} m/s or rad/s; is run.step = {s.scenario.run.step:g} s too long{also}?"
            )
        return None

    def _check_energy(self) -> str | None:
        """Energy from nowhere, far more than the run could dispose of."""
        s = self._s
        first, last = self._energy_seen, s.record_count
        if last <= first or s.model.nu > 0:
            return None
        r = s.record_room
        stored = stored_energy(s.laws, r.coordinates[first:last])
        potential = r.energy[first:last, 0] + stored
        own = r.energy[first:last, 1] + potential
        work = self._work + np.cumsum(r.motor_work[first:last])
        moved = self._moved + np.cumsum(np.abs(r.motor_work[first:last]))
        # the account of all that laws act on; what they store is their own and the robot's
        taken = self._taken - np.cumsum(r.attached[first:last, :, WORK].sum(axis=1))
        excess = own - work - self._start
        lost = stored - self._stored - excess - taken
        highest = np.maximum(np.maximum.accumulate(lost), self._lost)
        gain = highest - lost
        if all(law.passive for law in s.laws):
            gain = np.maximum(np.maximum(excess, gain), 0.0)
        high = np.maximum(np.maximum.accumulate(potential), self._high)
        low = np.minimum(np.minimum.accumulate(potential), self._low)
        for i in np.flatnonzero(~(gain <= ABSURD * (self._kinetic + moved + self._spare))):
            self._seen = max(first + int(i), 1)
            s.drop_records(self._seen)
            return (
                f"stopped at t = {r.time[first + i]:.6g} s: the robot has gained {gain[i]:.3g} "
                f"J of unexplained energy; is run.step = {s.scenario.run.step:g} s too long, or "
                f"does it "
                "start inside the ground?"
            )
        over = gain - NAMED * (self._kinetic + moved + high - low)
        over -= (NAMED_INSIDE if self._inside > 0.0 else NAMED_LIFT) * self._lift
        k = int(np.argmax(over))
        if over[k] > self._named[0]:
            cause = self._cause(first + k)
            self._named = float(over[k]), float(gain[k]), float(r.time[first + k]), cause
        self._energy_seen = last
        self._work, self._moved = float(work[-1]), float(moved[-1])
        self._taken, self._lost = float(taken[-1]), float(highest[-1])
        self._high, self._low = float(high[-1]), float(low[-1])
        return None

    def remarks(self) -> list[str]:
        """What is to be said of a run that went through."""
        return [*self._energy_remark(), *self._convergence_remark(), *_deep_wheels(self._s)]

    def _begin_energy(self) -> None:
        """Count energy from the present state on."""
        s = self._s
        m, d = s.model, s.data
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        if m.ntendon:
            mujoco.mj_tendon(m, d)
        mujoco.mj_makeM(m, d)
        mujoco.mj_comVel(m, d)
        mujoco.mj_energyPos(m, d)
        mujoco.mj_energyVel(m, d)
        self._stored = float(stored_energy(s.laws, d.qpos[None])[0])
        potential, self._kinetic = float(d.energy[0]) + self._stored, float(d.energy[1])
        mass = float(m.body_subtreemass[0])
        if self._lift == 0.0:
            self._lift = mass * s.scenario.gravity * _size(s)
        self._start = potential + self._kinetic
        self._spare = self._lift + 0.5 * mass
        self._work = self._moved = self._taken = self._lost = 0.0
        self._high = self._low = potential
        self._energy_seen = s.record_count
        self._inside = self._depth if s.steps == 0 and self._depth > 1e-6 else 0.0
        self._named = (1e-9 * max(self._spare, 1e-3), 0.0, 0.0, "")

    def _cause(self, k: int) -> str:
        """What a gain of energy until record k may come from, in words."""
        s = self._s
        step = s.scenario.run.step
        if self._inside > 0.0:
            return (
                f"from the ground: it started {1e3 * self._inside:.3g} mm inside (set robot.settle "
                f"to true to place it on the ground), or run.step = {step:g} s is too long"
            )
        too_long = (
            f"without an explanation: its motion is unreliable; is run.step = {step:g} s too long?"
        )
        turns = step * np.abs(s.record_room.velocities[k]) * _rotates(s.model)
        i = int(np.argmax(turns)) if len(turns) else 0
        if not len(turns) or turns[i] < FAR:
            return too_long
        return f"{too_long} {s.world.dof_names()[i]} turns by {turns[i]:.2g} rad in a step"

    def _energy_remark(self) -> list[str]:
        _, gain, time, cause = self._named
        if gain == 0.0:
            return []
        return [f"the robot has gained {gain:.3g} J until t = {time:.6g} s {cause}"]

    def _convergence_remark(self) -> list[str]:
        s = self._s
        stats = s.records.stats
        missed = float(stats[:, 3].sum())
        if s.steps == 0 or missed <= UNCONVERGED * s.steps:
            return []
        return [
            f"the contact problem did not converge in {missed:.0f} of {s.steps} steps "
            f"({100 * missed / s.steps:.0f} %), with residuals of up to {stats[:, 2].max():.1g}: "
            f"forces of these steps are inaccurate"
            ""
        ]


def _deep_wheels(s: Simulation) -> list[str]:
    """Soil models know wheels that sink by less than their radius: name the first record in which
    one is deeper."""
    if s.world.soil is None or not len(s.carrying_radius) or not len(s.records.time):
        return []
    depth = wheel_sinkage(s, s.records, wheel_touching(s, s.records))
    beyond = depth >= s.carrying_radius
    if not beyond.any():
        return []
    k = int(np.argmax(beyond.any(axis=1)))
    w = int(np.argmax(beyond[k]))
    own = s.scenario.interaction
    law = f"wheel model '{own.wheel.model}'" if own.wheel else f"soil model '{own.soil.model}'"
    return [
        f"wheel {list(s.world.robot.wheels)[w]} is {1e3 * depth[k, w]:.0f} mm deep in the soil at "
        f"t = {s.records.time[k]:.6g} s, more than its radius of "
        f"{1e3 * s.carrying_radius[w]:.0f} mm: the {law} is not valid from there on"
    ]
