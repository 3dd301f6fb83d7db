"""The laws of torque and speed of a scenario as a control box.

Expressions are evaluated as in the engine, on joints and base alone. A drive or a gait works
inside the engine and is no such box.
"""

from __future__ import annotations

import numpy as np

from marsyard.control.expression import evaluate
from marsyard.errors import InputError
from marsyard.ports import BaseState, ContactBodyWrenches, JointCommands, JointStates
from marsyard.results.dataset import attitude
from marsyard.scenario import Scenario
from marsyard.scenario.fmu import FmuLaw
from marsyard.simulation import build_world
from marsyard.simulation.commands import build_commands


class ScenarioControl:
    """`control` of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        for key in ("drive", "gait"):
            if getattr(scenario, key) is not None:
                raise InputError(
                    f"{key}: only works inside the engine; use Simulation, or give a control"
                )
        if any(isinstance(law, FmuLaw) for law in scenario.control):
            raise InputError("control: an FMU only works inside the engine; use Simulation")
        world = build_world(scenario)
        self._names = world.joints
        self._table = build_commands(scenario, world)
        self._step = scenario.run.step
        self._laws = len(scenario.control)

    def __call__(
        self, time: float, joints: JointStates, base: BaseState, wrenches: ContactBodyWrenches
    ) -> JointCommands:
        """Torques and speeds by the laws that act at `time`."""
        if not self._laws:
            return JointCommands()
        t = self._table
        at = joints.index(*self._names)
        angle, rate = joints.angle[at], joints.rate[at]
        state = np.concatenate(
            [[time], base.position, base.velocity, attitude(base.quaternion[None])[0]]
        )
        # torque, speed, limit, gain of all joints
        out = np.tile([[0.0], [np.nan], [np.inf], [1e5]], len(joints.name))
        step = round(time / self._step)
        for k, j in enumerate(t.joint):
            if t.start[k] <= step < t.end[k]:
                value = evaluate(
                    t.op, t.argument, t.first[k], t.last[k], state, angle, rate, j, t.stack
                )
                if t.gain[k] > 0:
                    out[1:, at[j]] = value, t.limit[k], t.gain[k]
                else:
                    out[0, at[j]] += value
        return JointCommands(*out)
