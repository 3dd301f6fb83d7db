"""What recorders, controllers and viewers see of a simulation, and what they may set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.hard_ground import Wheels
from marsyard.interaction.rows import Rows
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.simulation import arrays
from marsyard.simulation.attached import Laws
from marsyard.simulation.attaching import Attached
from marsyard.simulation.commands import Speeds, Table, Torques, command_joints, follow
from marsyard.simulation.world import World

if TYPE_CHECKING:
    from marsyard.interaction.law import Law
    from marsyard.simulation.drive import Drive
    from marsyard.simulation.gait import GaitRun


class SimulationView:
    """The public part of `Simulation` that others look at between steps."""

    scenario: Scenario
    world: World
    model: mujoco.MjModel
    data: mujoco.MjData
    laws: tuple[Law, ...]
    drive: Drive | None
    gait: GaitRun | None
    _model: arrays.Model
    _scheme: arrays.Scheme
    _wheels: Wheels
    _commands: arrays.Commands
    _counters: np.ndarray
    _records: arrays.Records
    _attached: Attached
    _slip_radius: np.ndarray
    _carrying_radius: np.ndarray
    _views: tuple[Any, ...]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._counters[0]) * self.scenario.run.step

    @property
    def qpos(self) -> np.ndarray:
        """Positions, a live view: free joint x, y, z [m], quaternion w, x, y, z; joints [rad]."""
        return self.data.qpos

    @property
    def qvel(self) -> np.ndarray:
        """Velocities, a live view: free joint linear (world) [m/s], angular (body) [rad/s]; then
        the joints."""
        return self.data.qvel

    @property
    def torque(self) -> Torques:
        """Torques set by hand [N·m], by joint; they add to the scenario's laws and stay until
        changed."""
        return Torques(self.world, self._commands)

    @property
    def speed(self) -> Speeds:
        """Speeds held by hand [rad/s], by joint, as by an ideal motor: they replace the scenario's
        laws of speed and stay until changed; None lets the joint go."""
        return Speeds(self.world, self._commands)

    def follow(
        self,
        plan: Table,
        gain: float | np.ndarray = 1e5,
        limit: float | np.ndarray = np.inf,
    ) -> None:
        """Have joints follow angles over time from now on, see `commands.Plan`; gain [N·m·s/rad]
        and largest torque [N·m] of their motors, for all joints or for each."""
        follow(self.world, self._commands, self.scenario.run, plan, self.steps, gain, limit)

    @property
    def facts(self) -> arrays.Model:
        """Facts of the model: addresses of joints, the base, springs, what acts."""
        return self._model

    @property
    def wheels(self) -> Wheels:
        """Bodies, joints and shapes of the wheels."""
        return self._wheels

    @property
    def slip_radius(self) -> np.ndarray:
        """Radius by which each wheel's slip is reckoned [m]."""
        return self._slip_radius

    @property
    def carrying_radius(self) -> np.ndarray:
        """Radius on which each wheel stands [m]."""
        return self._carrying_radius

    @property
    def scheme(self) -> arrays.Scheme:
        """Numbers of the time stepping."""
        return self._scheme

    @property
    def commands(self) -> arrays.Commands:
        """Torques and speeds that are commanded; live, to be read only."""
        return self._views[0]

    @property
    def sums(self) -> arrays.Sums:
        """Impulses and work since the last record; live, to be read only."""
        return self._views[1]

    @property
    def attachments(self) -> Laws:
        """Tables of what laws act on: bodies, poses, velocities, forces; live, to be read only."""
        return self._views[2]

    @property
    def rows(self) -> Rows:
        """Contacts nearby, filled by `find_contacts` and by every step; live, to be read only."""
        return self.attachments.rows

    @property
    def friction(self) -> np.ndarray:
        """Coulomb's coefficient on each surface of hard ground, and between bodies; live, to be
        read only."""
        return self._views[3]

    def set_friction(self, friction: np.ndarray) -> None:
        """Coulomb's coefficient from now on, on each surface and between bodies."""
        values = np.broadcast_to(np.asarray(friction, dtype=float), self.friction.shape)
        if not np.all(values >= 0.0) or not np.all(np.isfinite(values)):
            raise InputError(f"friction = {values}: must be at least 0")
        for law in self.every_law:
            law.set_friction(values)

    def set_setpoint(self, number: int, value: float) -> None:
        """Have a setpoint of the scenario's laws of control, by its number (`commands.setpoints`),
        hold a value from now on [N·m, rad/s or m/s]."""
        self._commands.argument[number] = value

    def command_joints(
        self, torque: np.ndarray, speed: np.ndarray, limit: np.ndarray, gain: np.ndarray
    ) -> None:
        """Command all joints at once from now on, in place of what was commanded by hand: torques
        [N·m], speeds to hold, NaN for none [rad/s, m/s], with largest torques [N·m] and gains
        [N·m·s/rad]."""
        command_joints(self._commands, torque, speed, limit, gain)

    @property
    def every_law(self) -> tuple[Law, ...]:
        """The laws that act, and the one that places robots on hard ground."""
        rigid = self.world.rigid
        return self.laws if rigid in self.laws else (*self.laws, rigid)

    @property
    def has_hard_contact(self) -> bool:
        """Whether bodies may meet hard ground, or each other, by rigid contact."""
        return bool(self.world.surfaces) or len(self.world.colliding_bodies()) > 1

    @property
    def record_count(self) -> int:
        """Records so far."""
        return int(self._counters[1])

    @property
    def record_room(self) -> arrays.Records:
        """The records, with room for those to come."""
        return self._records

    def drop_records(self, first: int) -> None:
        """Forget this record and all after it."""
        self._counters[1] = first

    @property
    def records(self) -> arrays.Records:
        """What was recorded so far, one row per record (a view)."""
        n = int(self._counters[1])
        return arrays.Records(*(a[:n] for a in self._records))

    def column(self, name: str, records: arrays.Records | None = None) -> np.ndarray:
        """What a law has recorded under a name (`interaction.law.Column`), one row per record."""
        column, first = self._attached.columns[name]
        r = self.records if records is None else records
        rows = (r.summed, r.largest, r.present, r.coarse)[column.kind]
        return rows[:, first : first + column.array.size].reshape(len(rows), *column.array.shape)

    def attached(self, law: str, records: arrays.Records | None = None) -> np.ndarray:
        """Impulse (3) and moment (3) on each attachment of a law since the last record [N·s,
        N·m·s], and work done on it [J], one row per record."""
        r = self.records if records is None else records
        return r.attached[:, self._attached.rows[law]]

    @property
    def steps(self) -> int:
        """Steps done."""
        return int(self._counters[0])

    @property
    def done(self) -> bool:
        """Whether the run has come to its end: its duration is over, or its drive or gait is
        carried out and ends it."""
        run = self.scenario.run
        total = whole_ratio("duration", run.duration, "step", run.step)
        return self.steps >= total or self._carried_out

    @property
    def _carried_out(self) -> bool:
        """Whether drive or gait of the scenario are carried out and end the run."""
        pilots = (self.drive, self.gait)
        return any(p is not None and p.finished and p.spec.stop for p in pilots)
