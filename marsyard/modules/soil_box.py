"""marsyard's soil as an interaction box: soil contact model or wheel models on the deformable grid.

The same compiled law as in the engine, called at given states of the organs. The box belongs to
the wheels and other colliding bodies of the scenario's robot and finds them by name among the
organs it is given. It gives the damping of its forces too, with the scenario's θ, so that a
multibody box may take them implicitly. Displaced soil is laid down and slides at the begin of a
call, after the step before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import mujoco
import numpy as np

from marsyard.errors import InputError, suggest
from marsyard.interaction.soil_contact.arrays import NEEDS_TILES
from marsyard.modules.ports import OrganStates, OrganWrenches
from marsyard.scenario import Scenario
from marsyard.simulation.boxes import CALLBACK, unpacked_damping
from marsyard.simulation.port_states import organ_table
from marsyard.simulation.soil import FLOW_PERIOD, FLOW_TIME, FLOWING, soil_aside
from marsyard.simulation.world import build_world

_FLOW = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 5)
#: nodes that one flow of soil may look at, as in the engine
_MOST = 1_000_000


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
        self._implicit = scenario.run.theta
        m, loop = world.model, world.soil.loop
        table = organ_table(world.robot, m)
        self._organ = [table.name[int(np.flatnonzero(table.body == b)[0])] for b in loop.body]
        # geoms lie still in their bodies
        self._place = np.zeros((len(loop.body), 3))
        self._turn = np.tile(np.eye(3), (len(loop.body), 1, 1))
        for b, g in enumerate(loop.geom):
            if g >= 0:
                self._place[b] = m.geom_pos[g]
                mujoco.mju_quat2Mat(self._turn[b].reshape(9), m.geom_quat[g])
        forces, flow = soil_aside.addresses()
        self._forces, self._flow = CALLBACK(forces), _FLOW(flow)

    def __call__(self, time: float, step: float, organs: OrganStates) -> OrganWrenches:
        """Wrenches of the soil on all organs; zero on those that cannot touch it."""
        loop = self.soil.loop
        loop.numbers[:3] = step, self._implicit * step, time
        at = [_index(name, organs.name) for name in self._organ]
        self._let_slide(step)
        arms = self._put(organs, at)
        self._evaluate(step)
        n = len(organs.name)
        wrench, damping = np.zeros((n, 7)), np.zeros((n, 7, 7))
        for b, k in enumerate(at):
            wheel = loop.wheel[b] >= 0
            T = np.eye(7)
            T[:3, 3:6] = -_cross(arms[b])
            wrench[k] += T.T @ loop.force[b]
            damping[k] += T.T @ unpacked_damping(loop.stiff[b], loop.axis[b], wheel) @ T
        return OrganWrenches(wrench[:, :3], wrench[:, 3:6], damping, wrench[:, 6])

    def _put(self, organs: OrganStates, at: list[int]) -> np.ndarray:
        """Place the soil's bodies; returns where they are from their organs' origins."""
        loop = self.soil.loop
        arms = np.zeros((len(at), 3))
        for b, k in enumerate(at):
            v, w = organs.velocity[k], organs.angular_velocity[k]
            arms[b] = organs.rotation[k] @ self._place[b]
            loop.centre[b] = organs.position[k] + arms[b]
            wheel = loop.wheel[b] >= 0
            loop.axis[b] = organs.axis[k] if wheel else organs.rotation[k][:, 1]
            loop.rotation[b] = (organs.rotation[k] @ self._turn[b]).ravel()
            loop.twist[b, :3], loop.twist[b, 3:6] = v + np.cross(w, arms[b]), w
            loop.twist[b, 6] = organs.belt_speed[k] if loop.belt[b] >= 0 else 0.0
        return arms

    def _evaluate(self, step: float) -> None:
        loop = self.soil.loop
        loop.numbers[5] = 0.0
        v, w = (np.linalg.norm(loop.twist[:, k : k + 3], axis=1) for k in (0, 3))
        fast = np.maximum(np.maximum(v, loop.reach * w), np.abs(loop.twist[:, 6]))
        loop.travel[0] += step * max(fast, default=0.0)
        loop.evaluations[0] += 1
        status = NEEDS_TILES
        while status == NEEDS_TILES:
            self._forces(
                loop.table.ctypes.data, len(loop.table), loop.numbers.ctypes.data,
                loop.answer.ctypes.data,
            )  # fmt: skip
            status = int(loop.answer[0])
            if status == NEEDS_TILES:
                self.soil.make_tiles()
        if status != 0:
            raise InputError(self.soil.explain(status))

    def _let_slide(self, step: float) -> None:
        """What the engine does after each step."""
        loop = self.soil.loop
        if loop.evaluations[0] == 0:
            return
        n = loop.numbers
        n[FLOW_TIME] += step
        due = n[FLOWING] > 0.0 and n[FLOW_TIME] >= n[FLOW_PERIOD]
        if due or loop.travel[0] >= loop.flow_after[0]:
            loop.travel[0] = 0.0
            self._flow(
                loop.table.ctypes.data, len(loop.table), loop.numbers.ctypes.data, _MOST,
                loop.answer.ctypes.data,
            )  # fmt: skip
            n[FLOW_TIME], n[FLOWING] = 0.0, float(loop.answer[0])

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
