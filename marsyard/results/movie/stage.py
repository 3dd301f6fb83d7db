"""The scene of a movie: a MuJoCo model made only to be looked at, and pictures of it.

The robot's bodies are moved by hand (MuJoCo calls such bodies mocap), each with the triangles that
the replay shows too. Hard ground is drawn as triangles with a fine grain, so that motion over it
can be seen; soft ground as the replay's blocks, whose points and colours follow the ruts (`ruts`),
with the undisturbed terrain around them. The sun moves along with what
is looked at, so that its shadows stay sharp on long drives; haze hides where the ground ends.
Without any ground the robot is shown in space: dark, with stars, no haze.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from marsyard.drawing.colours import GIVEN_PATH, wheel_colour
from marsyard.drawing.layers import Layer
from marsyard.drawing.meshes import SAND, GroundMesh
from marsyard.results.movie.camera import FIELD_OF_VIEW, View
from marsyard.results.movie.graphics import Canvas
from marsyard.results.movie.overlaid import LayerScenes, add_layer_meshes
from marsyard.results.movie.pieces import (
    ARROW,
    LINE,
    add_mesh,
    connect,
    leave_plain,
    normals_of,
    unit,
)
from marsyard.results.movie.ruts import Ruts
from marsyard.results.movie.take import Take
from marsyard.results.scene_parts import SKY, SPACE
from marsyard.results.soil_scene import SoilScene, soil_colours, squares
from marsyard.rotations import matrix_of

RED = (0.89, 0.15, 0.24)
GRAIN = 512  # pixels along a side of the grain
GRAIN_SIZE = 4.0  # length of that side on the ground [m]
STARS = 0.0008  # share of the pixels of the sky around what floats
TILE = 0.5  # squares on hard ground [m]
FINER = 4  # pixels of the soil's colour per cell
SUN = np.array([0.15, 0.75, -0.9])  # direction of its light
NEAR = 8.0  # from the track the fine terrain is there [m]
FAR = 60.0  # terrain shown beyond the track [m]
WIDE = 64  # points along a side of that terrain
MOST_LINES = 1500
PIECE = 3.0  # of the terrain around, left out where it is not seen [m]
_ARROW_GLOW = 0.6
_HIDDEN = 5  # group of geoms that is not drawn
_MESH = mujoco.mjtGeom.mjGEOM_MESH
_COLOUR_ROLE = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)


class Stage:
    """A take with everything that is drawn of it, and the canvas it is drawn on.

    Args:
        size: width and height of the pictures [pixels].
        force_scale: length of the arrows [m/N]; 0 draws none.
        by_change: soft ground is coloured by its change of height, else by soil.
        layers: laid over all pictures, the first lowest; they do not move.
    """

    def __init__(
        self,
        take: Take,
        size: tuple[int, int],
        force_scale: float = 0.0,
        by_change: bool = True,
        layers: Sequence[Layer] = (),
    ) -> None:
        self.take = take
        self._force_scale = force_scale
        self._by_change = by_change
        soil = take.scene.soil
        self.model = _drawing_model(take, by_change, layers)
        self._data = mujoco.MjData(self.model)
        lines = MOST_LINES + 500
        self._scene = mujoco.MjvScene(self.model, self.model.ngeom + lines)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_FOG] = int(not take.scene.floats)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_HAZE] = 0
        # arrows are drawn apart and laid over, because robots hide where their forces act
        self._arrows = mujoco.MjvScene(self.model, 200)
        leave_plain(self._arrows)
        self._layers = LayerScenes(self.model, layers, size[1]) if layers else None
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._sun = self.model.body("sun").mocapid[0]
        self._bodies = [self.model.body(f"robot{b}").mocapid[0] for b in range(len(_bodies(take)))]
        self._ruts = Ruts(take)
        self._tracks = [] if soil else _tracks(take)
        self._ground = np.flatnonzero(self.model.geom_bodyid == 0)
        self._aspect, self._height = size[0] / size[1], size[1]
        self._canvas = Canvas(self.model, size)

    def picture(self, time: float, view: View) -> np.ndarray:
        """What the camera sees at `time` [s], shape [height, width, 3], 0 to 255."""
        self._pose(time, view)
        self._hide_unseen(view)
        if self.take.scene.soil is not None:
            self._deform(self.take.scene.soil, time)
        camera = self._camera
        camera.lookat[:] = view.target
        camera.distance = view.distance
        camera.azimuth, camera.elevation = np.degrees([view.azimuth, view.elevation])
        self._fill(self._scene, mujoco.mjtCatBit.mjCAT_ALL)
        self._draw_lines(time)
        if self._layers is not None:
            picture = self._layers.picture(self._canvas, self._scene, self._fill)
        else:
            picture = self._canvas.draw(self._scene)
        if self._force_scale > 0:
            self._fill(self._arrows, 0)
            self._draw_forces(time)
            picture = laid_over(picture, self._canvas.draw(self._arrows))
        return picture

    def _fill(self, scene: mujoco.MjvScene, kinds: int) -> None:
        """Put the camera, the light and the geoms of some kinds into a scene."""
        mujoco.mjv_updateScene(
            self.model, self._data, self._option, None, self._camera, kinds, scene
        )

    def close(self) -> None:
        """Give the graphics memory back."""
        self._canvas.close()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- bringing it up to date

    def _pose(self, time: float, view: View) -> None:
        data = self._data
        position, quaternion = self.take.poses(time)
        data.mocap_pos[self._bodies] = position
        data.mocap_quat[self._bodies] = quaternion
        away = 2.2 * self.take.radius
        data.mocap_pos[self._sun] = view.target - away * SUN / np.linalg.norm(SUN)
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_camlight(self.model, data)

    def _hide_unseen(self, view: View) -> None:
        """Leave out the ground beside the picture and behind the camera, which saves much time."""
        ground = self._ground
        seen = view.sees(self._data.geom_xpos[ground], self.model.geom_rbound[ground], self._aspect)
        self.model.geom_group[ground] = np.where(seen, 0, _HIDDEN)

    def _deform(self, soil: SoilScene, time: float) -> None:
        for number in self._ruts.move_to(time):
            height = self._ruts.height(number)
            points, normals, colours = soil.surface(number, height, self._by_change)
            mesh = self.model.mesh(f"soil{number}").id
            _set_points(self.model, mesh, points, normals)
            texture = self.model.texture(f"soil{number}").id
            _set_colours(self.model, texture, _painted(*soil.lines(number), colours))
            self._canvas.upload_mesh(mesh)
            self._canvas.upload_texture(texture)

    def _draw_forces(self, time: float) -> None:
        longest = 2.0 * self.take.radius
        width = 0.016 * self.take.radius
        for point, force in zip(*self.take.forces(time), strict=True):
            arrow = force * self._force_scale
            length = float(np.linalg.norm(arrow))
            if length < 1e-3 * self.take.radius:
                continue
            tip = point + arrow * min(1.0, longest / length)
            connect(self._arrows, ARROW, width, point, tip, RED, _ARROW_GLOW)

    def _draw_lines(self, time: float) -> None:
        scene = self._scene
        width = max(2.0, self._height / 240)  # of lines [pixels]
        for path in self.take.scene.paths:
            violet = _rgb(GIVEN_PATH["color"])
            for a, b in zip(path[:-1], path[1:], strict=True):
                connect(scene, LINE, width, a, b, violet)
        for moments, points, colour in self._tracks:
            for k in range(int(np.searchsorted(moments, time, side="right")) - 1):
                a, b = points[k], points[k + 1]
                if np.isfinite(a + b).all():
                    connect(scene, LINE, width, a, b, colour)


def laid_over(picture: np.ndarray, arrows: np.ndarray) -> np.ndarray:
    """A picture with arrows, drawn on black, laid over it."""
    red = int(round(255 * RED[0] * _ARROW_GLOW))
    strength = np.minimum(arrows[..., 0].astype(np.float32) / red, 1.0)[..., None]
    full = arrows / np.maximum(strength, 1e-3)
    mixed = picture * (1 - strength) + np.minimum(full, 255.0) * strength
    return np.clip(mixed, 0, 255).astype(np.uint8)


# --- the model that is drawn


def _drawing_model(take: Take, by_change: bool, layers: Sequence[Layer]) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    _add_sky(spec, take.scene.floats)
    _add_texture(spec, "grain", np.repeat((255 * _grain())[..., None], 3, axis=2))
    _add_texture(spec, "tiles", np.repeat((255 * _tiles())[..., None], 3, axis=2))
    for number, parts in enumerate(_bodies(take)):
        body = spec.worldbody.add_body(name=f"robot{number}", mocap=True)
        for k, part in enumerate(parts):
            normals = normals_of(part.vertices, part.triangles)
            _add_mesh(
                spec, body, f"robot{number}_{k}", part.vertices, part.triangles, normals,
                material=_material(spec, np.array(part.colour) / 255, shine=0.25),
            )  # fmt: skip
    for number, ground in enumerate(take.scene.ground):
        _add_hard(spec, number, ground)
    if take.scene.ground:
        _add_floor(spec, take)
    if take.scene.soil is not None:
        _add_soil(spec, take, take.scene.soil, by_change)
    add_layer_meshes(spec, layers)
    model = spec.compile()
    _set_looks(model, take.radius)
    return model


def _bodies(take: Take) -> Sequence[Any]:
    return take.scene.shapes


def _add_sky(spec: mujoco.MjSpec, space: bool) -> None:
    high, low = np.array((SPACE, SPACE) if space else SKY) / 255
    sky = spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    sky.builtin = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT
    sky.rgb1, sky.rgb2 = high, low
    sky.width, sky.height = 128, 768
    if space:
        sky.width, sky.height = 512, 3072
        sky.mark, sky.random = mujoco.mjtMark.mjMARK_RANDOM, STARS
        sky.markrgb = [0.75, 0.76, 0.8]
    sun = spec.worldbody.add_body(name="sun", mocap=True)
    light = sun.add_light(name="sun", type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    light.dir = SUN
    light.castshadow = True
    light.diffuse, light.ambient, light.specular = [0.62, 0.58, 0.52], [0.0] * 3, [0.35] * 3


def _set_looks(model: mujoco.MjModel, radius: float) -> None:
    """Light, haze, shadows and what the camera takes in, for a robot of that radius [m]."""
    visual = model.vis
    model.stat.extent = 2 * radius
    visual.global_.fovy = math.degrees(FIELD_OF_VIEW)
    visual.headlight.ambient[:] = 0.4
    visual.headlight.diffuse[:] = 0.14
    visual.headlight.specular[:] = 0.0
    visual.rgba.fog[:] = [*np.array(SKY[1]) / 255, 1.0]
    visual.map.fogstart, visual.map.fogend = 4.0, 14.0
    visual.map.shadowclip = 1.4
    visual.map.znear, visual.map.zfar = 0.02, 100.0
    visual.quality.shadowsize = 2048


def _add_hard(spec: mujoco.MjSpec, number: int, ground: GroundMesh) -> None:
    vertices, triangles = np.asarray(ground.vertices), np.asarray(ground.triangles)
    normals = normals_of(vertices, triangles)
    # planes come in tiles of two shades already
    texture = "grain" if ground.colour in SAND else "tiles"
    material = _material(spec, _sunlit(ground.colour), texture)
    _add_mesh(
        spec, spec.worldbody, f"ground{number}", vertices, triangles, normals, material,
        texture=_laid_on(vertices, normals),
    )  # fmt: skip


def _sunlit(colour: Sequence[int]) -> np.ndarray:
    """Colour of hard ground, 0 to 1, a little brighter than in the replay, whose lamps are."""
    return np.minimum(1.2 * np.array(colour) / 255, 1.0)


def _add_floor(spec: mujoco.MjSpec, take: Take) -> None:
    """A plain up to the horizon, just below the lowest point of hard ground, which ends somewhere.

    It is not part of the ground; without it that would hang in the sky.
    """
    low = min(float(np.min(np.asarray(g.vertices)[:, 2])) for g in take.scene.ground) - 0.01
    xx, yy = _wide_grid(take)
    points = np.column_stack([xx.ravel(), yy.ravel(), np.full(xx.size, low)])
    _add_mesh(
        spec, spec.worldbody, "floor", points, squares(*xx.shape),
        np.tile([0.0, 0.0, 1.0], (xx.size, 1)),
        _material(spec, _sunlit(SAND[0]), texture="grain"),
        texture=points[:, :2] / GRAIN_SIZE,
    )  # fmt: skip


def _wide_grid(take: Take) -> tuple[np.ndarray, np.ndarray]:
    """Places x, y [m] out to where the haze hides all, shape [y, x]."""
    base = take.scene.base
    low, high = base[:, :2].min(axis=0) - FAR, base[:, :2].max(axis=0) + FAR
    x, y = (np.linspace(low[k], high[k], WIDE) for k in range(2))
    xx, yy = np.meshgrid(x, y)
    return xx, yy


def _add_soil(spec: mujoco.MjSpec, take: Take, soil: SoilScene, by_change: bool) -> None:
    for number, block in enumerate(soil.blocks):
        points, normals, colours = soil.surface(number, block.height(-np.inf), by_change)
        name = f"soil{number}"
        painted = _painted(*soil.lines(number), colours)
        _add_texture(spec, name, painted)
        rows, columns = colours.shape[:2]
        down, across = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        place = np.stack([across, down], axis=-1).reshape(-1, 2)
        size = np.array([painted.shape[1], painted.shape[0]])
        material = _material(spec, np.ones(3), texture=name)
        _add_mesh(
            spec, spec.worldbody, name, points, squares(rows, columns), normals, material,
            texture=(FINER * place + 0.5) / size,
        )  # fmt: skip
    if soil.around is not None:
        _add_around(spec, *soil.around)
    if take.terrain is not None:
        _add_far(spec, take)


def _add_around(
    spec: mujoco.MjSpec, points: np.ndarray, normals: np.ndarray, triangles: np.ndarray,
    colours: np.ndarray,
) -> None:  # fmt: skip
    """Undisturbed terrain, in pieces of one colour and moderate size."""
    corner = triangles[:, 0]
    look = np.column_stack([np.round(255 * colours[corner]), np.floor(points[corner, :2] / PIECE)])
    kinds, kind = np.unique(look, axis=0, return_inverse=True)
    for number, colour in enumerate(kinds[:, :3]):
        used, corners = np.unique(triangles[kind.reshape(-1) == number], return_inverse=True)
        _add_mesh(
            spec, spec.worldbody, f"around{number}", points[used], corners.reshape(-1, 3),
            normals[used], _material(spec, colour / 255, texture="grain"),
            texture=points[used, :2] / GRAIN_SIZE,
        )  # fmt: skip


def _add_far(spec: mujoco.MjSpec, take: Take) -> None:
    """Terrain in large cells out to where the haze hides it, sunk where the fine one lies."""
    terrain: Any = take.terrain
    base = take.scene.base
    xx, yy = _wide_grid(take)
    z = terrain.height(xx.ravel(), yy.ravel()).reshape(xx.shape)
    gy, gx = np.gradient(z, yy[:, 0], xx[0])
    track = base[:: max(1, len(base) // 400), :2]
    gap = np.min(np.hypot(xx[..., None] - track[:, 0], yy[..., None] - track[:, 1]), axis=-1)
    # large cells cut through hills: well below where the fine ones lie, a little at their edge
    lowered = z - np.where(gap < NEAR, 0.02 + 0.5 * np.ptp(z) / WIDE, 0.02)
    soil = soil_colours(terrain.soil(track[:1, 0], track[:1, 1]))[0]
    points = np.column_stack([xx.ravel(), yy.ravel(), lowered.ravel()])
    normals = np.column_stack([-gx.ravel(), -gy.ravel(), np.ones(z.size)])
    _add_mesh(
        spec, spec.worldbody, "far", points, squares(*xx.shape), normals,
        _material(spec, 0.965 * soil, texture="grain"), texture=points[:, :2] / GRAIN_SIZE,
    )  # fmt: skip


# --- meshes, textures, materials


def _add_mesh(
    spec: mujoco.MjSpec,
    body: Any,
    name: str,
    vertices: np.ndarray,
    triangles: np.ndarray,
    normals: np.ndarray,
    material: str,
    texture: np.ndarray | None = None,
) -> None:
    add_mesh(spec, name, vertices, triangles, normals, texture)
    geom = body.add_geom(type=_MESH, meshname=name, material=material)
    geom.contype, geom.conaffinity = 0, 0
    geom.mass = 0.0


def _set_points(model: mujoco.MjModel, mesh: int, points: np.ndarray, normals: np.ndarray) -> None:
    """Move the points [m] of a mesh; MuJoCo keeps them about the mesh's own centre and axes."""
    axes = matrix_of(model.mesh_quat[mesh])
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    model.mesh_vert[first : first + count] = (points - model.mesh_pos[mesh]) @ axes
    first, count = model.mesh_normaladr[mesh], model.mesh_normalnum[mesh]
    model.mesh_normal[first : first + count] = unit(normals) @ axes


def _add_texture(spec: mujoco.MjSpec, name: str, picture: np.ndarray) -> None:
    height, width = picture.shape[:2]
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D)
    texture.width, texture.height, texture.nchannel = width, height, 3
    texture.data = np.ascontiguousarray(picture.astype(np.uint8)).tobytes()


def _set_colours(model: mujoco.MjModel, texture: int, picture: np.ndarray) -> None:
    first = int(model.tex_adr[texture])
    model.tex_data[first : first + picture.size] = picture.astype(np.uint8).ravel()


def _material(
    spec: mujoco.MjSpec, colour: np.ndarray, texture: str | None = None, shine: float = 0.0
) -> str:
    """Name of the material of that colour (sRGB, 0 to 1), made if it is new."""
    red, green, blue = (round(255 * float(c)) for c in colour)
    name = f"{red}-{green}-{blue}-{texture}-{shine:g}"
    if spec.material(name) is None:
        material = spec.add_material(name=name, rgba=[*colour, 1.0])
        material.specular, material.shininess = shine, 0.4
        if texture is not None:
            material.textures[_COLOUR_ROLE] = texture
    return name


def _laid_on(vertices: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Places on the grain, seen along the axis that a face looks to most."""
    axis = np.argmax(np.abs(normals), axis=1)
    pairs = np.array([[1, 2], [0, 2], [0, 1]])[axis]
    return np.take_along_axis(vertices, pairs, axis=1) / GRAIN_SIZE


# --- the look of the ground


def _grain() -> np.ndarray:
    """Brightness of bare ground, coarse and fine, that repeats without a seam; [row, column]."""
    random = np.random.default_rng(7)
    frequency = np.fft.fftfreq(GRAIN, 1 / GRAIN)
    length = np.hypot(*np.meshgrid(frequency, frequency))
    amplitude = 1 / np.maximum(length, 6.0) ** 0.9
    amplitude[0, 0] = 0.0
    noise = np.fft.ifft2(np.fft.fft2(random.normal(size=(GRAIN, GRAIN))) * amplitude).real
    return np.clip(0.93 + 0.055 * noise / noise.std(), 0.6, 1.0)


def _tiles() -> np.ndarray:
    """The grain with squares of two shades."""
    number = (np.arange(GRAIN) * GRAIN_SIZE / GRAIN // TILE).astype(int)
    dark = (number[:, None] + number) % 2 == 1
    return _grain() * np.where(dark, 0.88, 1.0)


def _painted(x: np.ndarray, y: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Colours at nodes x, y [m] between which it is interpolated, with the grain; 0 to 255."""
    fine = _finer(_finer(colours).swapaxes(0, 1)).swapaxes(0, 1)
    columns, rows = (
        np.floor(np.linspace(v[0], v[-1], FINER * (len(v) - 1) + 1) * GRAIN / GRAIN_SIZE)
        for v in (x, y)
    )
    grain = _GRAIN[np.ix_(rows.astype(int) % GRAIN, columns.astype(int) % GRAIN)]
    return 255 * np.clip(fine * grain[..., None], 0.0, 1.0)


def _finer(colours: np.ndarray) -> np.ndarray:
    """Values with `FINER` times as many steps along the first axis."""
    parts = np.arange(FINER)[:, None, None] / FINER
    steps = colours[:-1, None] * (1 - parts) + colours[1:, None] * parts
    return np.concatenate([steps.reshape(-1, *colours.shape[1:]), colours[-1:]])


_GRAIN = _grain()


def _tracks(take: Take) -> list[tuple[np.ndarray, np.ndarray, Any]]:
    """Of each wheel the times [s] and points [m] of its track, and its colour."""
    scene = take.scene
    wheels = scene.contact_point.shape[1]
    stride = max(1, math.ceil(len(scene.time) * max(wheels, 1) / MOST_LINES))
    lifted = scene.contact_point[::stride] + [0.0, 0.0, 0.004]
    return [
        (scene.time[::stride], lifted[:, w], _rgb(wheel_colour(scene.wheels[w], w)))
        for w in range(wheels)
    ]


def _rgb(code: str) -> tuple[float, float, float]:
    red, green, blue = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
