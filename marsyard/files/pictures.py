"""Pictures of limited size, read by Pillow."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from marsyard.errors import InputError
from marsyard.files.regular import format_reason, open_file

MOST_PIXELS = 100_000_000


def load_picture(path: str | Path, by_colour: bool = False) -> tuple[str, np.ndarray]:
    """Pillow's mode of a picture and its values without opacity, shape [rows, columns] or [rows,
    columns, 3]; `by_colour` turns indices of a palette into colours."""
    from PIL import Image

    name = Path(path).name
    with open_file(path, "picture", name) as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                image = Image.open(file)
            if image.width * image.height > MOST_PIXELS:
                raise InputError(
                    f"{name}: has {image.width} × {image.height} points, more than "
                    f"{MOST_PIXELS // 10**6} million"
                )
            mode = image.mode
            values = np.asarray(image.convert("RGB") if mode == "P" and by_colour else image)
        except InputError:
            raise
        except Exception as error:  # its readers raise whatever they meet
            said = format_reason(error)
            raise InputError(f"{name}: cannot be read as a picture ({said})") from None
    if mode in ("LA", "RGBA") and values.ndim == 3:
        values = values[..., :-1]
    return mode, values
