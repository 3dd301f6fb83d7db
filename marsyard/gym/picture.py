"""Pictures of an episode: the robot's model on a field of heights that follows the ruts.

The field of heights covers a square around the rover and is read anew for each picture from the
soil as it is; beyond it lies nothing. Drawn with the movie's canvas (`results.movie.graphics`),
without a screen.
"""

from __future__ import annotations

import mujoco
import numpy as np

from marsyard.results.movie.graphics import Canvas, check_size
from marsyard.simulation import Simulation

HALF = 5.0  # half the side of the square [m]
POINTS = 251  # of heights along a side
_SAND = (0.76, 0.5, 0.34, 1.0)
_SKY, _HORIZON = (0.62, 0.53, 0.46), (0.86, 0.76, 0.66)


class Camera:
    """Looks at a rover from behind and above.

    Args:
        simulation: the first that is looked at; others must have the same robot.
        size: width and height of the pictures [pixels].
    """

    def __init__(self, simulation: Simulation, size: tuple[int, int]) -> None:
        spec = simulation.world.robot.spec()
        spec.add_hfield(
            name="soil", nrow=POINTS, ncol=POINTS, size=[HALF, HALF, 1.0, 0.1],
            userdata=np.zeros(POINTS * POINTS),
        )  # fmt: skip
        spec.worldbody.add_geom(
            name="soil", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="soil", rgba=_SAND
        )
        spec.worldbody.add_light(pos=[-3, 4, 6], dir=[0.4, -0.5, -0.75], castshadow=True)
        spec.visual.headlight.ambient = [0.45, 0.43, 0.42]
        spec.visual.headlight.diffuse = [0.35, 0.35, 0.35]
        spec.add_texture(
            type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
            rgb1=_SKY, rgb2=_HORIZON, width=256, height=256,
        )  # fmt: skip
        self.model = spec.compile()
        # mujoco takes a geom at its body's origin to stay there
        self.model.geom_sameframe[self.model.geom("soil").id] = 0
        self._data = mujoco.MjData(self.model)
        self._canvas = Canvas(self.model, check_size(size))
        self._scene = mujoco.MjvScene(self.model, 1000)
        self._option = mujoco.MjvOption()
        self._view = mujoco.MjvCamera()
        self._view.distance, self._view.elevation = 4.5, -25.0

    def picture(self, simulation: Simulation) -> np.ndarray:
        """The rover on its ground as they are now, shape [height, width, 3]."""
        x, y = simulation.qpos[:2]
        self._data.qpos[:] = simulation.qpos
        self._lay_ground(simulation, float(x), float(y))
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        self._view.lookat[:] = simulation.qpos[:3]
        self._view.azimuth = 30.0
        mujoco.mjv_updateScene(
            self.model, self._data, self._option, None, self._view, mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )  # fmt: skip
        return self._canvas.draw(self._scene)

    def _lay_ground(self, simulation: Simulation, x: float, y: float) -> None:
        assert simulation.world.soil is not None
        # on whole cells, so that the surface does not swim
        cell = 2 * HALF / (POINTS - 1)
        x, y = round(x / cell) * cell, round(y / cell) * cell
        row = np.linspace(-HALF, HALF, POINTS)
        # ruts of the nearest nodes on the smooth ground: the nodes' own heights show as ripples
        grid, at = simulation.world.soil.grid, np.meshgrid(x + row, y + row)
        heights = grid.terrain.height(*at) + grid.change(*at)
        low, high = float(heights.min()), float(heights.max())
        span = max(high - low, 1e-3)
        self.model.hfield_size[0] = HALF, HALF, span, 0.1
        self.model.hfield_data[:] = ((heights - low) / span).ravel()
        self.model.geom("soil").pos[:] = x, y, low
        self._canvas.upload_height_field(0)

    def close(self) -> None:
        """Give the graphics memory back."""
        self._canvas.close()
