"""A simulation: a scenario made into a world that is stepped by the compiled loop."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from marsyard.cards import several, text_card
from marsyard.compile_watch import tell_compiling
from marsyard.errors import InputError, suggest
from marsyard.ground.typical import one_warning
from marsyard.interaction.about import law_of_hard_ground
from marsyard.interaction.contact_geometry.callbacks import geometry_aside
from marsyard.interaction.law import NEEDS_ROOM
from marsyard.interaction.nonsmooth.callback import solver_aside
from marsyard.interaction.registry import all_kernels, are_compiled
from marsyard.interaction.rows import NEARBY
from marsyard.kernel_cache import unfit
from marsyard.robot.closing import close_loops, close_rates
from marsyard.robot.model_file import quiet
from marsyard.rotations import quaternion_of
from marsyard.scenario.fmu import FmuLaw
from marsyard.scenario.resolving import resolve
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.simulation import arrays, build_arrays, live_readings, loop, moreau_jean
from marsyard.simulation.attached import LAW
from marsyard.simulation.attaching import attach, read_only
from marsyard.simulation.commands import (
    build_commands,
)
from marsyard.simulation.cost import check_cost, check_nodes
from marsyard.simulation.drive import Drive
from marsyard.simulation.gait import GaitRun
from marsyard.simulation.live_readings import Pose
from marsyard.simulation.moreau_jean import update_positions
from marsyard.simulation.mujoco_c import functions, offsets
from marsyard.simulation.plausibility import Watch
from marsyard.simulation.plugged import own_boxes, without_plugins
from marsyard.simulation.plugin_adapters import BoxError, OwnControl, OwnInteraction
from marsyard.simulation.rows import collect_rows, collide
from marsyard.simulation.settle import place_on_ground
from marsyard.simulation.state import State
from marsyard.simulation.state_check import check_state
from marsyard.simulation.view import SimulationView
from marsyard.simulation.world import (
    World,
    body_name,
    build_world,
    check_between_stops,
    fix_tethers,
    start_angles,
)

if TYPE_CHECKING:
    import xarray as xr

    from marsyard.interaction.law import Law
    from marsyard.ports import Control, Interaction
    from marsyard.simulation.fmu_laws import FmuLaws

#: control periods between two records that do not come
_NEVER = 2**40


class Diverged(RuntimeError):
    """A step produced something that is not a finite number; says when, where and why."""


class Simulation(SimulationView):
    """A world that can be run to the end or stepped manually.

        sim = Simulation(load_scenario("rt0448/test-1"))
        sim.run()                  # to the end of the scenario
        sim.step(100)              # or by hand
        sim.qpos, sim.qvel         # live views of the state (mujoco's layout)
        sim.pose.x, sim.slip["FL"], sim.sinkage["FL"]   # the base [m, rad], wheels by name
        sim.torque["RLWheel_y"] = 0.1   # [N·m] by hand, on top of the scenario's laws
        sim.speed["RLWheel_y"] = 0.2    # [rad/s] held from now on
        later = sim.state()        # save, restore, hash

    Controller and law of the ground may be functions of one's own, see `marsyard.ports`:

        Simulation(scenario, control=my_control, interaction=my_ground)

    A law may also be a compiled one of one's own, a class made of `interaction.law.Law`.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World | None = None,
        say: Callable[[str], Any] | None = None,
        *,
        control: Control | None = None,
        interaction: Interaction | type[Law] | None = None,
    ) -> None:
        """Build the world; `say` hears when kernels must be compiled, once the input is checked;
        without it a line of the log tells.

        A `control` of one's own replaces control, drive and gait of the scenario, an `interaction`
        its ground (`marsyard.ports`); robot.settle still places the robot on that ground.
        Those that the scenario takes from plug-ins do the same, unless one is given here.
        """
        law = interaction if isinstance(interaction, type) else None
        interaction = None if isinstance(interaction, type) else interaction
        self._own_law = law
        scenario = resolve(scenario)
        boxes = own_boxes(scenario, control, interaction)
        control, interaction = boxes.control, boxes.interaction
        self._as_given = without_plugins(scenario)
        self.scenario = scenario = _replaced(scenario, control, interaction)
        if world is None:
            check_nodes(scenario)
        with one_warning():  # of all numbers that stand in for missing ones
            self.world = world or build_world(scenario, own_law=law)
        self.model = self.world.model
        self.data = mujoco.MjData(self.model)
        self.compile_time = 0.0
        self.wall_time = 0.0
        self.stopped: str | None = None
        self.interaction = None
        if interaction is not None:
            self.interaction = OwnInteraction(self, interaction, boxes.interaction_name)
        self._build_constants(own_control=control is not None)
        self._build_state()
        self.control = None
        if control is not None:
            self.control = OwnControl(self, control, boxes.control_name)
        _announce_compiling(self.world, say or tell_compiling)
        self._functions, self._offsets = functions(), offsets()
        self._find_geometry()
        self._ready = False
        self._say = say
        self._watch = Watch(self)
        self._start()
        self.drive = Drive(self) if scenario.drive is not None else None
        self.gait = GaitRun(self) if scenario.gait is not None else None
        self.fmus = _fmu_laws(self)

    # --- looking

    @property
    def pose(self) -> Pose:
        """Place [m] and roll, pitch, yaw [rad] of the robot's base in the world, now."""
        return live_readings.pose(self)

    @property
    def slip(self) -> dict[str, float]:
        """Slip ratio of each wheel by its name, now: (r ω − v)/max(|r ω|, |v|), 0 at rest."""
        return live_readings.slip(self)

    @property
    def slip_angle(self) -> dict[str, float]:
        """Slip angle of each wheel by its name, now [rad]; 0 at rest."""
        return live_readings.slip_angle(self)

    @property
    def sinkage(self) -> dict[str, float]:
        """Depth of each wheel below the undisturbed surface by its name, now [m]; 0 without
        contact. InputError on hard ground."""
        return live_readings.sinkage(self)

    def __repr__(self) -> str:
        """As a terminal shows it: where it stands."""
        run, robot = self.scenario.run, self.world.robot
        at = f"{self.time:.6g} of {run.duration:g} s, {self.steps} steps of {1000 * run.step:g} ms"
        read = "pose, slip, " + ("sinkage, " if self.world.soil is not None else "") + "qpos, qvel"
        rows = [
            ("time", at),
            ("robot", ", ".join(filter(None, (
                robot.name, several(list(robot.wheels), "wheel"),
                several(list(robot.tracks), "track"),
            )))),
            ("pose", str(self.pose)[5:-1]),
            ("stopped", self.stopped),
            ("read", f"{read}; dataset() has the records"),
            ("do", "step(n), run(); torque[JOINT], speed[JOINT] by hand; state(), restore(state)"),
        ]  # fmt: skip
        return text_card(f"Simulation of '{self.scenario.title}'", rows)

    # --- running

    def run(
        self, progress: Callable[[float], Any] | None = None, *, yes: bool = False
    ) -> Simulation:
        """Run to the end of the scenario; `progress` is called with the simulated time [s].

        What would take longer than a day or most of the memory is refused, unless `yes`.

        A run that diverges raises `Diverged`; what it recorded is kept.
        """
        check_cost(self.scenario, yes, robot=self.world.robot)
        run = self.scenario.run
        total = whole_ratio("duration", run.duration, "step", run.step)
        chunk = max(1, self._scheme.steps_per_control)
        with self._watch.whole_run():
            while self._counters[0] < total and not self._carried_out:
                began = clock.perf_counter()
                self.step(min(chunk, total - self.steps), to_the_end=False)
                spent = clock.perf_counter() - began
                # about ten calls a second keep the bar alive and ctrl-c answered
                chunk = int(min(max(chunk * 0.1 / max(spent, 1e-4), 1), 10 * chunk, 10_000_000))
                if progress is not None:
                    progress(self.time)
        if self._carried_out and self.records.time[-1] < self.time - 0.5 * run.step:
            self.record_now()
        for remark in self._watch.remarks():
            warnings.warn(remark, stacklevel=2)
        return self

    def step(self, count: int = 1, *, to_the_end: bool = True) -> None:
        """Advance by `count` physics steps, recording when due; not beyond the end of the drive or
        gait unless `to_the_end`.
        """
        if count < 0:
            raise InputError(f"step: count = {count}: must be at least 0")
        if self.stopped is not None:
            raise Diverged(self.stopped)
        self._reserve(count)
        if count > 0:
            self._resolve_addresses()
        began = clock.perf_counter()
        end = self.steps + count
        status = moreau_jean.OK
        while self.steps < end and status == moreau_jean.OK:
            ahead = end - self.steps
            if self.drive is not None:
                if self.drive.due == 0:
                    self._update(self.drive)
                    if self._carried_out and not to_the_end:
                        break
                ahead = min(ahead, self.drive.due or self.drive.steps)
            if self.gait is not None:
                if self.gait.due == 0:
                    self._update(self.gait)
                    if self._carried_out and not to_the_end:
                        break
                ahead = min(ahead, self.gait.due)
            if self.control is not None:
                if self.control.due == 0:
                    self._update(self.control)
                ahead = min(ahead, self.control.due or self._scheme.steps_per_control)
            if self.fmus is not None:
                if self.fmus.due == 0:
                    self._update(self.fmus)
                ahead = min(ahead, self.fmus.ahead)
            # why a run stops is told here; MuJoCo would leave a log file where the user is
            with quiet():
                status = self._advance_in_room(ahead)
        self.wall_time += clock.perf_counter() - began
        self.data.time = self.time
        absurd = self._watch.check()
        if status != moreau_jean.OK:
            self._blame_interaction()
            absurd = absurd or self._explain(status)
        self._end_if(absurd)

    def _end_if(self, reason: str | None) -> None:
        """End the run where there is a reason; what was recorded until then is kept."""
        if reason is not None:
            self.stopped = reason
            raise Diverged(reason)

    def _blame_interaction(self) -> None:
        """End the run where an interaction of the user's made an error."""
        error = self.interaction.take_error() if self.interaction is not None else None
        if isinstance(error, InputError):
            self._stop(error)
        if error is not None:
            raise error

    def _update(self, pilot: Drive | GaitRun | OwnControl | FmuLaws) -> None:
        """Have drive, gait, a controller or FMUs decide; one that cannot go on ends the run, what
        it recorded is kept."""
        try:
            pilot.update()
        except InputError as error:
            self._stop(error)

    def _stop(self, error: InputError) -> None:
        """End the run, unless it has not begun: then the input is to blame."""
        if self.steps == 0:
            raise error
        at = "" if isinstance(error, BoxError) else f" at t = {self.time:.6g} s"
        self.stopped = self._watch.check() or f"stopped{at}: {error}"
        raise Diverged(self.stopped) from error

    def _advance_in_room(self, count: int) -> int:
        """Advance by `count` steps, with room made for laws where they need it on the way."""
        end = self.steps + count
        status = self._advance(count)
        while status >= LAW and status % LAW == NEEDS_ROOM:
            try:
                self.make_room(status)
            except InputError as error:
                self._stop(error)
            status = self._advance(end - self.steps)
        return status

    def make_room(self, status: int) -> None:
        """Enlarge arrays as requested by a law through the status of the loop."""
        self.laws[status // LAW - 1].make_room()
        for law in self.laws:
            law.refresh()

    def _advance(self, count: int) -> int:
        return self.advance_loop(self._model, self._scheme, self._counters, count)

    def advance_loop(
        self,
        facts: arrays.Model,
        scheme: arrays.Scheme,
        counters: np.ndarray,
        count: int,
        slow: float = 0.0,
    ) -> int:
        """Have the compiled loop do `count` steps, and no more once nothing moves faster than
        `slow` [m/s, rad/s]; numbers may be others than the run's own. What it answers."""
        return loop.advance(
            self._functions, self._offsets, self.model._address, self.data._address,
            facts, self._data, self._wheels, self.world.hard.table, scheme, self._commands,
            self._attached.loop, self._contacts, self._work, self._sums, self._records, counters,
            count, slow,
        )  # fmt: skip

    @contextmanager
    def replaced(self, facts: arrays.Model) -> Iterator[None]:
        """Temporarily replace constants of the model."""
        before = self._model
        self._model = facts
        try:
            yield
        finally:
            self._model = before

    def find_contacts(self, margin: float) -> int:
        """Look for contacts with gaps below a margin [m] at the present pose, with hard ground as
        if it were rigid: how many there are now in `rows`, or below 0 if they do not fit in."""
        pointers = self.model._address, self.data._address
        update_positions(self._functions, *pointers, self._model)
        collide(self._functions, *pointers, self._model)
        with self.world.rigid.on_rigid_ground():
            return collect_rows(
                self._offsets, pointers[1], self._model, self._attached.loop, margin, NEARBY
            )

    def forget_sums(self) -> None:
        """Reset the sums of the current record, and solve the next step without a warm start."""
        self._attached.loop.chains.sums[:] = 0.0
        self._attached.loop.rows.last_count[0] = 0
        for array in self._sums:
            array[:] = 0.0
        self._sums.point[:] = np.nan

    def _find_geometry(self) -> None:
        """Have the addresses of the contact geometry. What is not in the cache is compiled here
        and in other processes at once, the loop here."""
        if self._model.has_rigid:
            solver_aside.start()
        for law in self.every_law:
            law.start()
        if needs_compiling():
            self._advance(0)
        self._functions = self._functions._replace(distance=geometry_aside.addresses()[1])
        for k, law in enumerate(self.every_law):
            if law.gives_rows:
                self._attached.loop.calls[k] = law.calls()

    def _resolve_addresses(self) -> None:
        """Have the addresses of the solver and of the laws before the first step; the loop is
        compiled meanwhile."""
        if self._ready:
            return
        self._advance(0)
        for k, law in enumerate(self.every_law):
            self._attached.loop.calls[k] = law.calls()
        if self._model.has_rigid or self._model.smooth or self._kind.places_as_rigid:
            # under a smooth scheme, too, a robot is settled with exact contact
            self._functions = self._functions._replace(solve=solver_aside.addresses()[0])
        self._ready = True

    def dataset(self) -> xr.Dataset:
        """Everything recorded so far as a labelled data set."""
        from marsyard.simulation.recorder import dataset

        return dataset(self)

    def pressure(self, pair: str) -> Any:
        """What passes between a pair of surfaces at present, under a law that knows pairs: force,
        area, and the field of pressure face by face."""
        law = next((law for law in self.laws if pair in law.surface_pairs), None)
        if law is None:
            known = [name for law in self.laws for name in law.surface_pairs]
            raise InputError(f"pair: there is no '{pair}'; {suggest(pair, known)}")
        self.evaluate_laws(0.0, 1.0)
        return law.pressed(pair)

    def evaluate_laws(self, h: float, theta: float, velocity: np.ndarray | None = None) -> None:
        """Evaluate the laws in the present state without a step: with the step h [s] and θ for
        which they are to be stable, at this velocity or another. See `law_forces`."""
        self._resolve_addresses()
        self.look_at_attachments()
        v = self.data.qvel if velocity is None else velocity
        status = NEEDS_ROOM
        while status % LAW == NEEDS_ROOM:
            status = loop.evaluate(self._data, self._attached.loop, v, self.time, h, theta)
            if status % LAW == NEEDS_ROOM:
                self.make_room(status)
        self._end_if(None if status == 0 else self._explain(status))

    def law_forces(self, law: str) -> np.ndarray:
        """Force [N], moment [N·m] and belt force [N] of a law on each of its attachments, as last
        evaluated or as they acted in the last step, float64[attachment, 7]."""
        return self._attached.loop.attached.F[self._attached.rows[law]].copy()

    def look_at_attachments(self) -> None:
        """Update positions and poses of attachments to the present state."""
        update_positions(self._functions, self.model._address, self.data._address, self._model)
        loop.place_attachments(self._data, self._attached.loop, self.data.qvel)

    def state(self) -> State:
        """A copy of the whole state."""
        arrays = {name: np.array(array) for name, array in self.state_arrays().items()}
        laws = {k: v for law in self.laws for k, v in law.state().items()}
        drive = self.drive.state() if self.drive else {}
        gait = self.gait.state() if self.gait else {}
        own = (self.control, self.fmus)
        boxes = [box.state() for box in own if box is not None]
        return State(
            {**arrays, **laws, **drive, **gait, **{k: v for b in boxes for k, v in b.items()}}
        )

    def restore(self, state: State) -> None:
        """Restore a state of this world; later records are discarded."""
        check_state(self, state)
        for law in self.laws:
            law.restore(state.arrays)
        for law in self.laws:
            law.refresh()
        for name, array in self.state_arrays().items():
            array[...] = state.arrays[name]
        if self.drive is not None:
            self.drive.restore(state.arrays)
        if self.gait is not None:
            self.gait.restore(state.arrays)
        later = self.records.time > self.time + 0.5 * self.scenario.run.step
        self._counters[1] -= np.count_nonzero(later)
        if self.control is not None:
            self.control.restore(state.arrays)
        if self.fmus is not None:
            self.fmus.restore(state.arrays)
        self.data.time = self.time
        self.stopped = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies (`copy.deepcopy`) and pickles: the scenario built anew, in this state and with
        these records. What was changed in `model` by hand is not copied."""
        own = (self.control, self.interaction, self._own_law)
        if any(each is not None for each in own):
            raise InputError(
                "a simulation with a custom control or interaction cannot be copied; build "
                "another one with the same functions and restore the state"
                ""
            )
        kept = self.records._asdict(), self._scheme, self.stopped, self.wall_time
        return _built_again, (self.scenario, self.state(), *kept)

    def close(self) -> None:
        """Release the scenario's FMUs; nothing else needs closing."""
        if self.fmus is not None:
            self.fmus.close()

    def stop_recording(self) -> None:
        """Stop writing records, for simulations that are stepped indefinitely."""
        self._scheme = self._scheme._replace(controls_per_record=_NEVER)

    def warm_up(self) -> None:
        """Compile or load the loop, without moving anything."""
        before = clock.perf_counter()
        self._resolve_addresses()
        self.compile_time += clock.perf_counter() - before
        self.wall_time = 0.0

    # --- building

    def _build_constants(self, own_control: bool) -> None:
        m, world, scenario = self.model, self.world, self.scenario
        self._kind = law_of_hard_ground(scenario)
        own = () if self.interaction is None else (self.interaction,)
        self.laws = (*own, *world.laws)
        self._attached = attach(self.every_law, m, self.data, len(world.surfaces))
        self._model = build_arrays.model_facts(
            world, scenario, self.data, self._attached, self.interaction is not None
        )
        self._data = build_arrays.data_views(m, self.data)
        self._wheels = world.hard.wheels
        self._slip_radius, self._carrying_radius = build_arrays.wheel_radii(world, scenario)
        self._scheme = build_arrays.scheme_numbers(scenario)
        self._commands = build_commands(scenario, world, own_control)

    def _build_state(self) -> None:
        self._contacts = build_arrays.problem_room(self.model, len(self._attached.loop.rows.gap))
        self._work = build_arrays.scratch(self._model)
        self._sums = build_arrays.empty_sums(
            self._model, len(self._wheels.body), len(self.world.surfaces)
        )
        self._views = (
            read_only(self._commands), read_only(self._sums), read_only(self._attached.loop),
            read_only(self.world.rigid.friction),
        )  # fmt: skip
        self._counters = np.zeros(2, np.int64)
        self._records = self._new_records(0)

    def _new_records(self, n: int) -> arrays.Records:
        return build_arrays.record_room(n, self.world, self._model, self._attached)

    def _reserve(self, steps: int) -> None:
        per_record = self._scheme.steps_per_control * self._scheme.controls_per_record
        need = int(self._counters[1]) + steps // per_record + 2
        have = len(self._records.time)
        if need > have:
            grown = self._new_records(max(need, 2 * have))
            for new, old in zip(grown, self._records, strict=True):
                new[:have] = old
            self._records = grown

    def _start(self) -> None:
        robot, world, d, m = self.scenario.robot, self.world, self.data, self.model
        if self._model.free_base:
            if robot.position is not None:
                d.qpos[:3] = robot.position
            if robot.attitude is not None:
                d.qpos[3:7] = quaternion_of(*robot.attitude)
        angles = start_angles(world.robot, world.joints, self.scenario)
        for name, angle in angles.items():
            check_between_stops(m, name, angle)
            d.qpos[m.jnt_qposadr[m.joint(name).id]] = angle
        close_loops(m, d, world.robot.name, angles)
        if robot.settle and self.interaction is not None:
            d.qpos[:] = Simulation(self._as_given).qpos
        elif robot.settle:
            self._resolve_addresses()
            place_on_ground(self, self._say)
        elif self.interaction is None:
            self._watch.check_start()
        if self._model.free_base:
            d.qvel[:3] = robot.velocity
            d.qvel[3:6] = robot.angular_velocity
        for name, rate in start_angles(world.robot, world.joints, self.scenario, True).items():
            d.qvel[m.jnt_dofadr[m.joint(name).id]] = rate
        close_rates(m, d)
        fix_tethers(self.world, d, self.scenario)
        loop.command(self._model, self._data, self._commands, self._scheme.h, 0)
        self.record_now()

    def record_now(self) -> None:
        """Write a record of the current state (done automatically when one is due)."""
        self._reserve(0)
        began = clock.perf_counter()
        loop.record(
            self._functions, self._offsets, self.model._address, self.data._address,
            self._model, self._data, self._wheels, self.world.hard.table, self._scheme,
            self._commands,
            self._contacts, self._work, self._sums, self._records, self._attached.loop,
            int(self._counters[1]), self.time,
        )  # fmt: skip
        self._counters[1] += 1
        self.compile_time += clock.perf_counter() - began

    # --- state and failure

    def state_arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the state whose shapes do not change, live."""
        d, rows = self.data, self._attached.loop.rows
        out = {
            "qpos": d.qpos, "qvel": d.qvel, "act": d.act, "ctrl": d.ctrl,
            "qacc_warmstart": d.qacc_warmstart, "applied": d.qfrc_applied,
            "counters": self._counters[:1], "torque": self._commands.torque,
            "manual": self._commands.manual, "given": self._commands.given,
            "servo_speed": self._commands.servo_speed, "servo_gain": self._commands.servo_gain,
            "servo_limit": self._commands.servo_limit, "servo_full": self._commands.servo_full,
            "servo_lag": self._commands.servo_lag, "plan_at": self._commands.plan_at,
            "plan_gain": self._commands.plan_gain, "plan_limit": self._commands.plan_limit,
            "plan": self._commands.plan, "law_argument": self._commands.argument,
            "law_start": self._commands.start, "law_limit": self._commands.limit,
            "law_gain": self._commands.gain,
            "contact_owner": rows.last_owner, "contact_key": rows.last_key,
            "contact_impulse": rows.last_impulse, "contact_count": rows.last_count,
            "attached_sums": self._attached.loop.chains.sums,
        }  # fmt: skip
        if self._model.floating:
            out["momentum"], out["momentum_of"] = self._work.momentum, self._work.left
        out.update({f"sum_{n}": a for n, a in zip(self._sums._fields, self._sums, strict=True)})
        return out

    def _explain(self, status: int) -> str:
        at = f"t = {self.time + self.scenario.run.step:.6g} s"
        if status >= LAW:
            return f"stopped at {at}: {self.laws[status // LAW - 1].explain(status % LAW)}"
        if status == moreau_jean.TOO_MANY_CONTACTS:
            return (
                f"stopped at {at}: more than {len(self.rows.gap)} contacts at once; "
                "is a body deep inside the ground?"
            )
        index = int(self._work.failure[1])
        causes = {
            moreau_jean.NOT_FINITE_FORCE: "the forces acting on it are not finite or far too large",
            moreau_jean.NOT_FINITE_VELOCITY: "the contact impulses made its velocity non-finite",
            moreau_jean.NOT_FINITE_POSITION: "its position is not finite",
        }
        if status == moreau_jean.NOT_FINITE_POSITION:
            index = int(np.searchsorted(self.model.jnt_qposadr, index, side="right")) - 1
            index = int(self.model.jnt_dofadr[index])
        body = body_name(self.model, int(self.model.dof_bodyid[index]))
        dof = self.world.dof_names()[index]
        torques = self._commands.torque
        cause = causes[status]
        if not np.all(np.isfinite(torques)):
            joint = self.world.joints[int(np.flatnonzero(~np.isfinite(torques))[0])]
            cause = f"the torque law on joint '{joint}' gave a value that is not finite"
        return f"stopped at {at}: body '{body}' (degree of freedom {dof}): {cause}"


def _built_again(
    scenario: Scenario, state: State, records: dict[str, np.ndarray], *kept: Any
) -> Simulation:
    """A copy of a simulation, of what `Simulation.__reduce__` gave."""
    copy = Simulation(scenario)
    copy._records = arrays.Records(**{name: np.array(values) for name, values in records.items()})
    copy._counters[1] = len(records["time"])
    copy.restore(state)
    copy._scheme, copy.stopped, copy.wall_time = kept
    return copy


def _replaced(
    scenario: Scenario, control: Control | None, interaction: Interaction | None
) -> Scenario:
    """The scenario without what boxes of the user's do."""
    change: dict[str, Any] = {}
    if control is not None:
        change |= {"control": (), "drive": None, "gait": None}
    if interaction is not None:
        if scenario.run.integrator != "moreau_jean":
            raise InputError(
                f"run.integrator: '{scenario.run.integrator}' does not support a custom "
                f"interaction; use moreau_jean"
                ""
            )
        change["ground"] = ()
    return scenario.model_copy(update=change)


def _fmu_laws(simulation: Simulation) -> FmuLaws | None:
    """The scenario's FMUs, where it has some."""
    if not any(isinstance(law, FmuLaw) for law in simulation.scenario.control):
        return None
    from marsyard.simulation.fmu_laws import FmuLaws

    return FmuLaws(simulation)


def _announce_compiling(world: World, say: Callable[[str], Any]) -> None:
    """Say that kernels will compile, and how long that takes."""
    if needs_compiling():
        if unfit():
            say(unfit())
        say("compiling the physics kernels, once: one to four minutes; later runs start at once")
    elif not are_compiled(world.laws):
        say("compiling the kernels of this ground, once: up to a minute; later runs start at once")


def needs_compiling() -> bool:
    """True when the loop is not in the cache on disk (or the cache cannot be asked)."""
    try:
        return not loop.advance.cached
    except (AttributeError, OSError):
        return False


def compile_kernels() -> None:
    """Compile everything a run may need, including meshes, into the cache on disk."""
    from marsyard.scenario import load_scenario

    # the loop in this process, the others meanwhile in theirs
    geometry_aside.start()
    solver_aside.start()
    for kernels in all_kernels():
        kernels.start()
    for name in ("rt0448/test-7", "exomars/drawbar-pull"):
        Simulation(load_scenario(name)).warm_up()
