"""Rendering without a display: the available OpenGL, and a canvas for a MuJoCo scene.

MuJoCo draws with OpenGL through a platform library: EGL (graphics card or Mesa's software, no
screen needed), OSMesa (software), GLFW (needs a screen) or, on macOS, CGL. They are tried in that
order, each in a process of its own, because a platform that fails can neither be unloaded nor be
trusted not to crash. `MUJOCO_GL` in the environment names the only one to try.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

import mujoco
import numpy as np
from PIL import Image

from marsyard.errors import InputError, suggest

ORDER = {"darwin": ("cgl", "glfw"), "win32": ("glfw",)}
LINUX = ("egl", "osmesa", "glfw")
INSTALL = (
    "install EGL with a driver (Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri; "
    "Fedora: dnf install mesa-libEGL mesa-dri-drivers; conda: conda install -c conda-forge mesalib"
    "), or OSMesa (apt-get install libosmesa6)"
)
_PROBE = """
import sys, importlib, mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(64, 64)
context.make_current()
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
mujoco.MjrContext(model, 100)
from OpenGL import GL
print("drawn by", (GL.glGetString(GL.GL_RENDERER) or b"").decode(errors="replace"))
"""
#: what names of renderers say that draw on the processor
_SOFTWARE = ("llvmpipe", "softpipe", "swrast", "swiftshader", "software", "basic render")
_PATIENCE = 60.0  # [s]
#: pictures are drawn that much larger and made smaller afterwards, for smooth edges; in software
#: this takes half the time of several samples per pixel and smooths textures and shadows too
FINER = 1.5


@lru_cache(maxsize=1)
def platform() -> str:
    """Name of the first platform library that works; `InputError` with what to install if none."""
    wanted = os.environ.get("MUJOCO_GL", "").strip().lower()
    tried = ORDER.get(sys.platform, LINUX)
    if wanted in ("egl", "osmesa", "glfw", "cgl"):
        tried = (wanted,)
    elif wanted in ("disable", "disabled", "off", "false", "0"):
        raise InputError(f"MUJOCO_GL={wanted} disables drawing; unset it or set it to {tried[0]}")
    for name in tried:
        if _renderer(name) is not None:
            return name
    raise InputError(f"no graphics library found (tried {', '.join(tried)}); {INSTALL}")


def is_software() -> bool:
    """Whether pictures are drawn by the processor, because no graphics card is used."""
    name = platform()
    return name == "osmesa" or any(said in (_renderer(name) or "").lower() for said in _SOFTWARE)


@lru_cache
def _renderer(name: str) -> str | None:
    """What draws with a platform library, as OpenGL calls it; none if the library does not work."""
    surroundings = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"}
    surroundings["MUJOCO_GL"] = name
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, name], env=surroundings, capture_output=True,
            text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = [line for line in done.stdout.splitlines() if line.startswith("drawn by")]
    return found[-1].removeprefix("drawn by").strip() if found else None


class Canvas:
    """A picture of `size` (width, height) [pixels] into which a model's scene is drawn."""

    def __init__(self, model: mujoco.MjModel, size: tuple[int, int]) -> None:
        width, height = (round(FINER * n) for n in size)
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        model.vis.quality.offsamples = 0
        self.model, self._size = model, size
        self._context: Any = _context(width, height)
        self._context.make_current()
        self._renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)
        self._area = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), dtype=np.uint8)

    def upload_mesh(self, mesh: int) -> None:
        """Draw a mesh as the model holds it now."""
        mujoco.mjr_uploadMesh(self.model, self._renderer, mesh)

    def upload_height_field(self, field: int) -> None:
        """Draw a field of heights as the model holds it now."""
        mujoco.mjr_uploadHField(self.model, self._renderer, field)

    def upload_texture(self, texture: int) -> None:
        """Draw a texture as the model holds it now."""
        mujoco.mjr_uploadTexture(self.model, self._renderer, texture)

    def draw(self, scene: mujoco.MjvScene) -> np.ndarray:
        """The scene as a picture, shape [height, width, 3], 0 to 255."""
        self._render(scene, None)
        return self.smaller(self._pixels[::-1])

    def draw_finely(self, scene: mujoco.MjvScene) -> tuple[np.ndarray, np.ndarray]:
        """The scene `FINER` than a picture, 0 to 255, and the depth of its pixels, 0 near to 1."""
        depth = np.empty(self._pixels.shape[:2], dtype=np.float32)
        self._render(scene, depth)
        return self._pixels[::-1].copy(), depth[::-1]

    def smaller(self, pixels: np.ndarray) -> np.ndarray:
        """What was drawn finely, as a picture."""
        return np.asarray(Image.fromarray(pixels).resize(self._size, Image.Resampling.BOX))

    def _render(self, scene: mujoco.MjvScene, depth: np.ndarray | None) -> None:
        self._context.make_current()
        mujoco.mjr_render(self._area, scene, self._renderer)
        mujoco.mjr_readPixels(self._pixels, depth, self._area, self._renderer)

    def close(self) -> None:
        """Give the graphics memory back."""
        if self._context is not None:
            self._context.make_current()
            self._renderer.free()
            self._context.free()
            self._context = None

    def __enter__(self) -> Canvas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _context(width: int, height: int) -> Any:
    name = platform()
    try:
        return import_module(f"mujoco.{name}").GLContext(width, height)
    except (ImportError, AttributeError, RuntimeError) as error:
        raise InputError(
            f"{name} works, but not in this process, which has loaded another graphics library "
            f"({error}); set MUJOCO_GL={name} before it starts"
        ) from None


def picture_size(text: str) -> tuple[int, int]:
    """Width and height [pixels] of a text such as 1280x720; both even, as H.264 needs them."""
    parts = text.lower().replace("×", "x").split("x")
    known = [*SIZES, "1280x720"]
    if text in SIZES:
        return SIZES[text]
    if len(parts) != 2 or not all(p.strip().isdigit() for p in parts):
        raise InputError(f"size: '{text}' is not a size such as 1280x720; {suggest(text, known)}")
    return check_size((int(parts[0]), int(parts[1])))


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """The size if a movie can have it."""
    width, height = size
    if not all(64 <= n <= 3840 and n % 2 == 0 for n in (width, height)):
        raise InputError(
            f"size: {width}x{height} must be two even numbers from 64 to 3840, e.g. 1280x720"
        )
    return width, height


SIZES = {"480p": (854, 480), "720p": (1280, 720), "1080p": (1920, 1080)}
