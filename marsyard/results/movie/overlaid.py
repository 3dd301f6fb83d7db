"""Layers (`drawing.layers`) laid over a picture, translucent, faint where something is before them.

Each layer is drawn alone, with the depth of its pixels; by that of the picture below a pixel c of
the layer lies before or behind what is there, and is mixed in with

    picture ← (1 − a) picture + a c,      a = opacity, or opacity · behind.

Lines and arrows have opacity 1. The picture below is faded a little. Layers do not hide each other;
later ones lie above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from marsyard.drawing.layers import Layer, Solid
from marsyard.results.movie.graphics import FINER, Canvas
from marsyard.results.movie.pieces import ARROW, LINE, add_mesh, connect, leave_plain, normals_of
from marsyard.rotations import matrix_of

_GLOW = 0.45
#: how far the picture below is faded towards a pale grey, so that layers stand out
_FADE, _PALE = 0.3, 205.0
_NEAR = 2e-5  # depths that are the same
_MESH = mujoco.mjtGeom.mjGEOM_MESH


def add_layer_meshes(spec: mujoco.MjSpec, layers: Sequence[Layer]) -> None:
    """Add the solids of layers to a model, without any geom that would show them."""
    for i, layer in enumerate(layers):
        for k, solid in enumerate(layer.solids):
            vertices, triangles = _shaded(solid)
            normals = normals_of(vertices, triangles)
            add_mesh(spec, _name(i, k), vertices, triangles, normals)


class LayerScenes:
    """A scene per layer; `height` of the pictures [pixels]."""

    def __init__(self, model: mujoco.MjModel, layers: Sequence[Layer], height: int) -> None:
        self._model, self._layers = model, tuple(layers)
        self._pixel = FINER * height / 720
        most = max(_count(layer) for layer in layers)
        self._scene = mujoco.MjvScene(model, most + 10)
        leave_plain(self._scene)

    def picture(
        self,
        canvas: Canvas,
        below: mujoco.MjvScene,
        fill: Callable[[mujoco.MjvScene, int], None],
    ) -> np.ndarray:
        """The scene below with all layers; `fill` puts camera and lights into a scene."""
        pixels, depth = canvas.draw_finely(below)
        mixed = (1 - _FADE) * pixels.astype(np.float32) + _FADE * _PALE
        for number, layer in enumerate(self._layers):
            for put, opacity in ((self._put_solids, layer.opacity), (self._put_lines, 1.0)):
                fill(self._scene, 0)
                if put(number, layer):
                    drawn = canvas.draw_finely(self._scene)
                    lay_over(mixed, depth, *drawn, opacity, layer.behind)
        return canvas.smaller(np.clip(mixed, 0, 255).astype(np.uint8))

    def _put_solids(self, number: int, layer: Layer) -> bool:
        for k, solid in enumerate(layer.solids):
            self._put_mesh(self._model.mesh(_name(number, k)).id, solid)
        return bool(layer.solids)

    def _put_lines(self, _: int, layer: Layer) -> bool:
        scene = self._scene
        for strokes in layer.strokes:
            for a, b in strokes.points:
                width = strokes.width * self._pixel
                connect(scene, LINE, width, a, b, np.array(strokes.colour) / 255, 1.0)
        for arrow in layer.arrows:
            colour = np.array(arrow.colour) / 255
            connect(scene, ARROW, arrow.width, arrow.start, arrow.end, colour, _GLOW)
        return bool(layer.strokes or layer.arrows)

    def _put_mesh(self, mesh: int, solid: Solid) -> None:
        scene, turn = self._scene, matrix_of(self._model.mesh_quat[mesh]).ravel()
        geom = scene.geoms[scene.ngeom]
        rgba = np.array([*np.array(solid.colour) / 255, 1.0], dtype=np.float32)
        mujoco.mjv_initGeom(geom, _MESH, np.zeros(3), self._model.mesh_pos[mesh], turn, rgba)
        geom.dataid = 2 * mesh
        geom.emission = _GLOW
        scene.ngeom += 1


def lay_over(
    mixed: np.ndarray, depth: np.ndarray, pixels: np.ndarray, own: np.ndarray, opacity: float,
    behind: float,
) -> None:  # fmt: skip
    """Mix pixels with their own depth into a picture with its depth."""
    rows, columns = np.nonzero(own < 1.0)
    hidden = own[rows, columns] > depth[rows, columns] + _NEAR
    share = (opacity * np.where(hidden, behind, 1.0))[:, None].astype(np.float32)
    below = mixed[rows, columns]
    mixed[rows, columns] = below + share * (pixels[rows, columns] - below)


def _shaded(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles; with own vertices for each where it is not to look smooth."""
    if solid.smooth:
        return solid.vertices, solid.triangles
    vertices = solid.vertices[solid.triangles].reshape(-1, 3)
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _count(layer: Layer) -> int:
    return len(layer.solids) + len(layer.arrows) + sum(len(s.points) for s in layer.strokes)


def _name(layer: int, solid: int) -> str:
    return f"layer{layer}_{solid}"
