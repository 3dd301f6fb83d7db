"""Co-simulation of four modules, step by step in plain Python.

    organs, joints, base = multibody            states at t
    commands = control(t, joints, base, wrenches)       once per control period
    wrenches = interaction(t, h, organs)                before every step
    multibody.advance(h, commands, wrenches)            to t + h

Forces are exchanged explicitly, once per step. Boxes that are left out are marsyard's own for the
scenario: `EngineMultibody`, `SoilInteraction` (none on hard ground, which is a law of constraints
and stays in the multibody box), `ScenarioControl`.

`Simulation` does the same with everything compiled, and takes control and interaction of one's own
as well; the yard is for a multibody system of one's own, and to look at what passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from marsyard.errors import InputError
from marsyard.ports import (
    BaseState,
    ContactBodyStates,
    ContactBodyWrenches,
    Control,
    Interaction,
    JointCommands,
    JointStates,
    Message,
    Multibody,
    PostProcessing,
    ports,
)
from marsyard.scenario.schema import Scenario, whole_ratio
from marsyard.simulation import Diverged
from marsyard.simulation.plugged import own_boxes, without_plugins
from marsyard.simulation.plugin_adapters import answer_of, attribute_errors_to

if TYPE_CHECKING:
    import xarray as xr

#: what is kept of each message, and what its variables in the data set begin with
KEPT: dict[str, tuple[type[Message], tuple[str, ...]]] = {
    "contact_body": (ContactBodyStates, ("position", "velocity", "angular_velocity")),
    "ground": (ContactBodyWrenches, ("force", "moment")),
    "joint": (JointStates, ("angle", "rate")),
    "command": (JointCommands, ("torque", "speed")),
    "base": (BaseState, ("position", "quaternion", "velocity", "angular_velocity")),
}
_DIMS = {"n": "contact_body", "m": "joint", "3": "axis", "4": "quat"}
_AXES = {"axis": ["x", "y", "z"], "quat": ["w", "x", "y", "z"]}


class Yard:
    """A simulation of exchangeable modules.

    yard = Yard(load_scenario("soil/wheel"), multibody=my_rig)
    yard.run().dataset()
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        multibody: Multibody | None = None,
        interaction: Interaction | None = None,
        control: Control | None = None,
    ) -> None:
        self._boxes = own_boxes(scenario, control, interaction)
        control, interaction = self._boxes.control, self._boxes.interaction
        self.scenario = scenario = without_plugins(scenario)
        self.steps = 0
        self.stopped: str | None = None
        soil = any(g.kind == "terrain" for g in scenario.ground)
        if interaction is None and soil:
            from marsyard.modules.soil_box import SoilInteraction

            if not all(g.kind == "terrain" for g in scenario.ground):
                raise InputError("ground: soil beside hard ground needs the engine; use Simulation")
            interaction = SoilInteraction(scenario)
        if multibody is None:
            from marsyard.modules.multibody import EngineMultibody

            multibody = EngineMultibody(scenario, hard_ground=interaction is None)
        elif interaction is None and scenario.ground:
            raise InputError(
                "ground: hard ground is solved inside marsyard's multibody box; give an "
                "interaction, or soil"
            )
        if control is None:
            from marsyard.modules.scenario_laws import ScenarioControl

            control = ScenarioControl(scenario)
        self.multibody, self.interaction, self.control = multibody, interaction, control
        self._commands = JointCommands()
        self._wrenches = ContactBodyWrenches(np.array(0.0))
        self._now: tuple[ContactBodyStates, JointStates, BaseState] | None = None
        self._felt: list[ContactBodyWrenches] = []
        self._rows: list[dict[str, np.ndarray]] = []
        self._times: list[float] = []
        run = scenario.run
        self._per_control = whole_ratio("control_period", run.control_period, "step", run.step)
        self._per_record = whole_ratio("record_period", run.record_period, "step", run.step)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.scenario.run.step

    def run(self, progress: Callable[[float], Any] | None = None) -> Yard:
        """To the end of the scenario."""
        run = self.scenario.run
        total = whole_ratio("duration", run.duration, "step", run.step)
        while self.steps < total:
            self.step(min(self._per_record, total - self.steps))
            if progress is not None:
                progress(self.time)
        return self

    def step(self, count: int = 1) -> None:
        """Advance by `count` steps, recording when due.

        A box that fails ends the run with `Diverged`, before the first step with `InputError`;
        what was recorded is kept.
        """
        if self.stopped is not None:
            raise Diverged(self.stopped)
        for _ in range(count):
            try:
                self._one_step()
            except (InputError, Diverged) as error:
                if self.steps == 0:
                    raise
                self.stopped = f"stopped: {error}"
                raise Diverged(self.stopped) from error

    def _one_step(self) -> None:
        t, h = self.time, self.scenario.run.step
        organs, joints, base = self._now or self._look()
        n, m = len(organs.name), len(joints.name)
        if self.steps % self._per_control == 0:
            with attribute_errors_to(self._boxes.control_name, t):
                commands = self.control(t, joints, base, self._mean_wrenches(n))
                self._commands = answer_of(JointCommands, commands, m=m)
        if self.interaction is not None:
            with attribute_errors_to(self._boxes.interaction_name, t):
                wrenches = self.interaction(t, h, organs)
                self._wrenches = answer_of(ContactBodyWrenches, wrenches, n=n)
        self._felt.append(self._wrenches)
        with attribute_errors_to("multibody", t):
            self.multibody.advance(h, self._commands, self._wrenches)
        self.steps += 1
        self._look()
        if self.steps % self._per_record == 0:
            self._keep()

    def _mean_wrenches(self, n: int) -> ContactBodyWrenches:
        """Of the steps since the last control period."""
        felt, self._felt = self._felt, []
        if not felt:
            return ContactBodyWrenches(np.array(0.0)).fit(n=n)
        force, moment = (
            np.mean([getattr(w, k) for w in felt], axis=0) for k in ("force", "moment")
        )
        return ContactBodyWrenches(force, moment).fit(n=n)

    def _look(self) -> tuple[ContactBodyStates, JointStates, BaseState]:
        """Ask the multibody box where everything is."""
        with attribute_errors_to("multibody", self.time):
            organs: ContactBodyStates = _sized(ContactBodyStates, self.multibody.organs())
            joints: JointStates = _sized(JointStates, self.multibody.joints())
            base: BaseState = _sized(BaseState, self.multibody.base())
        if self._now is None:
            self._wrenches = ContactBodyWrenches(np.array(0.0)).fit(n=len(organs.name))
            self._commands = JointCommands().fit(m=len(joints.name))
        self._now = organs, joints, base
        if not self._times:
            self._keep()
        return self._now

    # --- what is recorded

    def _keep(self) -> None:
        assert self._now is not None
        organs, joints, base = self._now
        messages = (organs, self._wrenches, joints, self._commands, base)
        row = {}
        for (start, (_, names)), message in zip(KEPT.items(), messages, strict=True):
            for name in names:
                row[f"{start}_{name}"] = np.array(getattr(message, name))
        self._times.append(self.time)
        self._rows.append(row)
        self._names = {"contact_body": organs.name, "joint": joints.name}

    def dataset(self) -> xr.Dataset:
        """Everything recorded so far, as labelled data; wrenches and commands are those of the
        step that ends at each time."""
        import xarray as xr

        if not self._rows:
            raise InputError("dataset: nothing is recorded yet; step first")
        coords: dict[str, Any] = {"time": ("time", self._times, {"units": "s"})}
        coords |= {k: list(v) for k, v in self._names.items()} | _AXES
        ds = xr.Dataset(coords=coords)
        for start, (message, names) in KEPT.items():
            for name in names:
                port, key = ports(message)[name], f"{start}_{name}"
                dims = ("time", *(_DIMS[s] for s in port.shape.split(", ")))
                values = np.stack([row[key] for row in self._rows])
                ds[key] = (dims, values, {"units": port.unit, "long_name": port.meaning})
        ds.attrs = {
            "title": self.scenario.title,
            "step": self.scenario.run.step,
            "record_period": float(self.scenario.run.record_period or 0.0),
            "steps": self.steps,
        }
        if self.stopped:
            ds.attrs["stopped"] = self.stopped
        return ds

    def results(self, post: Mapping[str, PostProcessing]) -> dict[str, Any]:
        """What functions of the data set give, by name."""
        from marsyard.modules.post import PostError, evaluate_post

        out = evaluate_post(self.dataset(), post)
        for value in out.values():
            if isinstance(value, PostError):
                raise InputError(value)
        return out


def _sized(kind: type, value: Any) -> Any:
    """A message of the multibody box as arrays, as long as its names."""
    count = len(value.name) if any(f.name == "name" for f in fields(kind)) else 0
    return answer_of(kind, value, n=count, m=count)
