"""marsyard's soil as an interaction box: soil contact model or wheel models on the deformable grid.

The same compiled law as in the engine, called at given states of the organs. The box belongs to
the wheels and other colliding bodies of the scenario's robot and finds them by name among the
organs it is given. It gives the damping of its forces too, with the scenario's θ, so that a
multibody box may take them implicitly. Displaced soil is laid down and slides at the begin of a
call, after the step before.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.interaction.law import NEEDS_ROOM
from marsyard.ports import OrganStates, OrganWrenches
from marsyard.scenario import Scenario
from marsyard.simulation.attached import COMMIT, EVALUATE, PREPARE, RELAX
from marsyard.simulation.attaching import attach
from marsyard.simulation.boxes import CALLBACK
from marsyard.simulation.port_states import organ_table
from marsyard.simulation.world import build_world


class SoilInteraction:
    """The soil of a scenario under the organs of its robot.

    soil = SoilInteraction(load_scenario("soil/wheel"))
    wrenches = soil(time, step, organs)
    """

    def __init__(self, scenario: Scenario) -> None:
        world = build_world(scenario)
        if world.soil is None:
            raise InputError("ground: has no soil; a ground of kind terrain is needed")
        self.soil = world.soil
        self._theta = scenario.run.theta
        data = mujoco.MjData(world.model)
        self._attached = attach([self.soil], world.model, data, 0)
        table = organ_table(world.robot, world.model)
        bodies = [a.body[0] for a in self.soil.attachments]
        self._organ = [table.name[int(np.flatnonzero(table.body == b)[0])] for b in bodies]
        self._calls = [CALLBACK(address) for address in self.soil.calls()]
        self._began = False

    def __call__(self, time: float, step: float, organs: OrganStates) -> OrganWrenches:
        """Wrenches of the soil on all organs; zero on those that cannot touch it."""
        at = [_index(name, organs.name) for name in self._organ]
        if self._began:
            self._call(RELAX, time, step)
        self._began = True
        arms = self._put(organs, at)
        a = self._attached.loop.attached
        a.F[:], a.B[:] = 0.0, 0.0
        while self._call(PREPARE, time, step) == NEEDS_ROOM:
            self.soil.make_room()
            self.soil.refresh()
        status = self._call(EVALUATE, time, step)
        if status != 0:
            raise InputError(self.soil.explain(status))
        self._call(COMMIT, time, step)
        n = len(organs.name)
        wrench, damping = np.zeros((n, 7)), np.zeros((n, 7, 7))
        for b, k in enumerate(at):
            T = np.eye(7)
            T[:3, 3:6] = -_cross(arms[b])
            B = np.tril(a.B[b]) + np.tril(a.B[b], -1).T
            wrench[k] += T.T @ a.F[b]
            damping[k] += T.T @ B @ T
        return OrganWrenches(wrench[:, :3], wrench[:, 3:6], damping, wrench[:, 6])

    def _call(self, which: int, time: float, step: float) -> int:
        assert self.soil.packed is not None
        view, own = self._attached.views[0].address, self.soil.packed.address
        return int(self._calls[which](view, own, time, step, self._theta, 0))

    def _put(self, organs: OrganStates, at: list[int]) -> np.ndarray:
        """Place the soil's bodies; returns where they are from their organs' origins."""
        a = self._attached.loop.attached
        arms = np.zeros((len(at), 3))
        for b, (k, own) in enumerate(zip(at, self.soil.attachments, strict=True)):
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
        return self.soil.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go back to a state."""
        self.soil.restore(dict(state))


def _index(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise InputError(f"organs.name: the soil carries '{name}', which is none of the organs; "
                         f"{suggest(name, names)}")  # fmt: skip
    return names.index(name)


def _cross(r: np.ndarray) -> np.ndarray:
    """The matrix of r ×."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
