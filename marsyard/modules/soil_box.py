"""marsyard's soil as an interaction box: soil contact model or wheel models on the deformable grid.

The same compiled law as in the engine, called at given states of the contact bodies. The box
belongs to the wheels and other colliding bodies of the scenario's robot and finds them by name
among the contact bodies it is given. It gives the damping of its forces too, with the scenario's θ,
so that a multibody box may take them implicitly. Displaced soil is laid down and slides at the
begin of a call, after the step before.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.interaction.law import NEEDS_ROOM
from marsyard.ports import ContactBodyStates, ContactBodyWrenches
from marsyard.scenario import Scenario
from marsyard.simulation.attached import COMMIT, EVALUATE, PREPARE, RELAX
from marsyard.simulation.attaching import attach
from marsyard.simulation.plugin_adapters import CALLBACK
from marsyard.simulation.port_states import organ_table
from marsyard.simulation.world import build_world


class SoilInteraction:
    """The soil of a scenario under the contact bodies of its robot.

    soil = SoilInteraction(load_scenario("soil/wheel"))
    wrenches = soil(time, step, organs)
    """

    def __init__(self, scenario: Scenario) -> None:
        world = build_world(scenario)
        if world.soil is None:
            raise InputError("ground: has no soil; a ground of kind terrain is needed")
        self._laws = [law for law in world.laws if law.on_soil]
        self._theta = scenario.run.theta
        data = mujoco.MjData(world.model)
        self._attached = attach(self._laws, world.model, data, 0)
        table = organ_table(world.robot, world.model)
        self._attachments = [a for law in self._laws for a in law.attachments]
        bodies = [a.body[0] for a in self._attachments]
        self._organ = [table.name[int(np.flatnonzero(table.body == b)[0])] for b in bodies]
        self._calls = [law.calls() for law in self._laws]
        self._began = False

    def __call__(self, time: float, step: float, organs: ContactBodyStates) -> ContactBodyWrenches:
        """Wrenches of the soil on all contact bodies; zero on those that cannot touch it."""
        at = [_index(name, organs.name) for name in self._organ]
        if self._began:
            self._call(RELAX, time, step)
        self._began = True
        arms = self._put(organs, at)
        a = self._attached.loop.attached
        a.F[:], a.B[:] = 0.0, 0.0
        while NEEDS_ROOM in (answers := self._call(PREPARE, time, step)):
            self._laws[answers.index(NEEDS_ROOM)].make_room()
            self._refresh()
        answers = self._call(EVALUATE, time, step)
        for law, status in zip(self._laws, answers, strict=True):
            if status != 0:
                raise InputError(law.explain(status))
        self._call(COMMIT, time, step)
        n = len(organs.name)
        wrench, damping = np.zeros((n, 7)), np.zeros((n, 7, 7))
        for b, k in enumerate(at):
            T = np.eye(7)
            T[:3, 3:6] = -_cross(arms[b])
            B = np.tril(a.B[b]) + np.tril(a.B[b], -1).T
            wrench[k] += T.T @ a.F[b]
            damping[k] += T.T @ B @ T
        return ContactBodyWrenches(wrench[:, :3], wrench[:, 3:6], damping, wrench[:, 6])

    def _call(self, which: int, time: float, step: float) -> list[int]:
        """Have all laws do something; what they answer."""
        loop, answers = self._attached.loop, []
        for calls, view, own in zip(self._calls, loop.mine, loop.own, strict=True):
            kernel = calls[which]
            given = int(view), int(own), time, step, self._theta, 0
            answers.append(int(CALLBACK(kernel)(*given)) if kernel else 0)
        return answers

    def _refresh(self) -> None:
        for law in self._laws:
            law.refresh()

    def _put(self, organs: ContactBodyStates, at: list[int]) -> np.ndarray:
        """Place the soil's bodies; returns where they are from their organs' origins."""
        a = self._attached.loop.attached
        arms = np.zeros((len(at), 3))
        for b, (k, own) in enumerate(zip(at, self._attachments, strict=True)):
            v, w, R = organs.velocity[k], organs.angular_velocity[k], organs.rotation[k]
            arms[b] = R @ own.at
            turn = R @ own.frame[0][3:].reshape(3, 3)
            a.pose[b, 0] = np.concatenate([organs.position[k] + R @ own.frame[0][:3], turn.ravel()])
            a.point[b] = organs.position[k] + arms[b]
            a.axis[b] = organs.axis[k] if own.wheel >= 0 else turn[:, 1]
            a.V[b, :3], a.V[b, 3:6] = v + np.cross(w, arms[b]), w
            a.V[b, 6] = organs.belt_speed[k] if own.joint >= 0 else 0.0
        a.start[:] = a.V
        return arms

    def state(self) -> dict[str, np.ndarray]:
        """The soil as it lies, and the contacts' memory."""
        return {name: array for law in self._laws for name, array in law.state().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go back to a state."""
        for law in self._laws:
            law.restore(state)
        self._refresh()


def _index(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise InputError(f"organs.name: the soil supports '{name}', which is not one of the "
                         f"contact bodies; "
                         f"{suggest(name, names)}")  # fmt: skip
    return names.index(name)


def _cross(r: np.ndarray) -> np.ndarray:
    """The matrix of r ×."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
