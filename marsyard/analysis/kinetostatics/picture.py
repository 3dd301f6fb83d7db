"""A stance with its kineto-static results as a picture (PNG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.analysis.kinetostatics.drawing import Drawing, drawing_of
from marsyard.analysis.kinetostatics.stance import Stance
from marsyard.drawing.layers import bounds
from marsyard.files.replacing import replacing
from marsyard.results.movie.camera import FIELD_OF_VIEW, View

SIZE = (1280, 720)
#: from the front and the right, against the heading [rad]
AZIMUTH, ELEVATION = math.radians(138.0), math.radians(-17.0)
_ROOM = 0.98  # of the ball around everything that must be in the picture


def draw_stance(
    stance: Stance,
    path: str | Path,
    friction: Any = 0.6,
    torque: Any = None,
    *,
    size: tuple[int, int] = SIZE,
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    distance: float | None = None,
    **options: Any,
) -> Path:
    """Draw a stance with its results into a PNG file.

    Args:
        azimuth: of looking, against the platform's heading; elevation [rad]; distance [m], as far
            as it takes unless told.
        options: see `drawing_of`.
    """
    drawing = drawing_of(stance, friction, torque, **options)
    view = view_of(drawing, azimuth, elevation, distance)
    return save_picture(picture_of(drawing, view, size), Path(path))


def view_of(
    drawing: Drawing,
    azimuth: float = AZIMUTH,
    elevation: float = ELEVATION,
    distance: float | None = None,
) -> View:
    """Where the camera stands so that robot and layers are in the picture."""
    middle, radius = bounds(drawing.layers.values(), drawing.take.cloud(0.0))
    ahead = drawing.stance.rotation[:, 0]
    heading = math.atan2(ahead[1], ahead[0]) if math.hypot(ahead[0], ahead[1]) > 0.2 else 0.0
    away = _ROOM * radius / math.sin(FIELD_OF_VIEW / 2) if distance is None else distance
    return View(middle, away, heading + azimuth, elevation)


def picture_of(drawing: Drawing, view: View, size: tuple[int, int] = SIZE) -> np.ndarray:
    """The picture with its notes, shape [height, width, 3], 0 to 255."""
    from marsyard.results.movie.notes import Notes
    from marsyard.results.movie.stage import Stage

    layers: Sequence = tuple(drawing.layers.values())
    with Stage(drawing.take, size, layers=layers) as stage:
        pixels = stage.picture(0.0, view)
    return Notes(size).write(pixels, drawing.title, drawing.numbers, layers, view)


def save_picture(pixels: np.ndarray, path: Path) -> Path:
    """Write a picture, atomically."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        Image.fromarray(pixels).save(part, format="PNG", optimize=True)
    return path
