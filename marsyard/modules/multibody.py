"""marsyard's engine as a multibody box: MuJoCo's mechanics under Moreau-Jean time stepping.

The compiled engine makes one step at a time with the wrenches it is given, implicitly where they
come with a damping. Moreau-Jean's scheme wants forces at q ⊕ (1 − θ) h v, so the contact bodies are
given there. Joint springs, limits, loops, tethers and motors are in the box. So is hard
ground where no other interaction replaces it: its law says which forces *and* velocities go
together, 0 ≤ gap rate ⊥ impulse ≥ 0, and is solved with the inertia matrix at the end of a step. It
cannot be evaluated from the states of the contact bodies, and is no force law.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.errors import InputError
from marsyard.ports import (
    BaseState,
    ContactBodyStates,
    ContactBodyWrenches,
    JointCommands,
    JointStates,
)
from marsyard.scenario import Scenario
from marsyard.simulation import Simulation
from marsyard.simulation.port_states import (
    base_state,
    joint_states,
    look,
    organ_states,
    organ_table,
)


class EngineMultibody:
    """The robot of a scenario; `hard_ground` stays with it, or is left out for an interaction."""

    def __init__(self, scenario: Scenario, hard_ground: bool = False) -> None:
        # commands may change at every step
        run = scenario.run.model_copy(update={"control_period": scenario.run.step})
        alone = scenario.model_copy(update={"run": run})
        self._commands = JointCommands()
        self._wrenches = ContactBodyWrenches(np.array(0.0))
        self._step = scenario.run.step
        self.simulation = Simulation(
            alone,
            control=lambda *_: self._commands,
            interaction=None if hard_ground else lambda *_: self._wrenches,
        )
        self.table = organ_table(self.simulation.world.robot, self.simulation.model)

    def organs(self) -> ContactBodyStates:
        """Wheels, feet, tracks and other bodies that collide, where the step takes its forces."""
        s = self.simulation
        now = s.qpos.copy()
        mujoco.mj_integratePos(s.model, s.data.qpos, s.qvel, (1 - s.scheme.theta) * self._step)
        look(s)
        states = organ_states(s, self.table)
        s.data.qpos[:] = now
        return states

    def joints(self) -> JointStates:
        """Hinges and slides."""
        return joint_states(self.simulation)

    def base(self) -> BaseState:
        """The robot's base."""
        look(self.simulation)
        return base_state(self.simulation)

    def advance(self, step: float, commands: JointCommands, wrenches: ContactBodyWrenches) -> None:
        """One step of the engine."""
        if abs(step - self._step) > 1e-12:
            raise InputError(f"step = {step:g} s: this module was built for {self._step:g} s")
        self._commands, self._wrenches = commands, wrenches
        self.simulation.step()
