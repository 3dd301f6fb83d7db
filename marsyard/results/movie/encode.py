"""Encoding frames to MP4 (H.264), GIF, PNG. Files are written atomically.

MP4: H.264 with yuv420p colours and the index in front, so that browsers and slides play it at once.
GIF: one palette of 256 colours for all pictures, smaller and fewer of them a second; times are
multiples of 10 ms, rounded so that the whole lasts as long as the MP4.

    with open_writer(Path("drive.mp4"), (1280, 720), rate=30) as add:
        add(picture)  # shape [height, width, 3], 0 to 255
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from marsyard.errors import InputError
from marsyard.files.replacing import replacing

QUALITY = 20  # of H.264, lower is better
GIF_WIDTH = 480  # [pixels]
GIF_RATE = 12.5  # [1/s]
MOST_GIF_PICTURES = 1200
_PALETTE_PICTURES = 12

Add = Callable[[np.ndarray], None]


def open_writer(path: Path, size: tuple[int, int], rate: float) -> AbstractContextManager[Add]:
    """A function that adds a picture of `size` (width, height) to a file, `rate` of them a second;
    the file is there when the block ends without error."""
    return _mp4(path, size, rate) if path.suffix == ".mp4" else _gif(path, size, rate)


def check_target(path: Path, endings: Sequence[str]) -> None:
    """Refuse a path that can't be written before any work is done."""
    if path.suffix not in endings:
        raise InputError(f"out: '{path}' must end with {' or '.join(endings)}")
    if path.is_dir():
        raise InputError(f"out: '{path}' is a folder; give a file")
    above = next(p for p in path.absolute().parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"out: '{path}' cannot be written; '{above}' is not a writable folder")
    if path.suffix == ".mp4":
        _av()


def write_picture(picture: np.ndarray, path: Path) -> None:
    """A single picture as a PNG."""
    from PIL import Image

    with replacing(path) as part:
        Image.fromarray(picture).save(part, format="PNG", optimize=True)


# --- MP4


@contextmanager
def _mp4(path: Path, size: tuple[int, int], rate: float) -> Iterator[Add]:
    av = _av()
    front = {"movflags": "+faststart"}
    with (
        replacing(path) as part,
        av.open(str(part), "w", format="mp4", container_options=front) as file,
    ):
        stream = file.add_stream("libx264", rate=Fraction(rate).limit_denominator(1001))
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": str(QUALITY), "preset": "veryfast"}

        def add(picture: np.ndarray) -> None:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            file.mux(stream.encode(frame))

        yield add
        file.mux(stream.encode(None))


def _av() -> Any:
    try:
        import av
    except ImportError:
        raise InputError(
            "an MP4 needs the package 'av'; pip install 'marsyard[movie]', or write a GIF with "
            "--out FILE.gif"
        ) from None
    return av


# --- GIF


@contextmanager
def _gif(path: Path, size: tuple[int, int], rate: float) -> Iterator[Add]:
    from PIL import Image

    scale = min(1.0, GIF_WIDTH / size[0])
    small = (round(scale * size[0]), round(scale * size[1]))
    every = max(1, math.ceil(rate / GIF_RATE - 1e-9))
    pictures: list[Any] = []
    count = 0

    def add(picture: np.ndarray) -> None:
        nonlocal count
        if count % every == 0:
            if len(pictures) >= MOST_GIF_PICTURES:
                raise InputError(
                    f"a GIF of more than {MOST_GIF_PICTURES} pictures is too large; give --start "
                    "and --end or a higher --speed, or write an MP4"
                )
            pictures.append(Image.fromarray(picture).resize(small, Image.Resampling.BOX))
        count += 1

    yield add
    palette = _common_palette(pictures)
    paletted = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    with replacing(path) as part:
        paletted[0].save(
            part, format="GIF", save_all=True, append_images=paletted[1:], loop=0,
            duration=gif_durations(count, every, rate), optimize=True, disposal=1,
        )  # fmt: skip


def gif_durations(count: int, every: int, rate: float) -> list[int]:
    """How long each `every`-th of `count` pictures, `rate` a second, is shown [ms]: whole
    hundredths of a second that add up to the whole."""
    first = np.append(np.arange(0, count, every), count)
    return (10 * np.diff(np.rint(100 * first / rate)).astype(int)).tolist()


def _common_palette(pictures: Sequence[Any]) -> Any:
    """256 colours that suit all pictures, taken from a few of them."""
    from PIL import Image

    picked = np.unique(np.linspace(0, len(pictures) - 1, _PALETTE_PICTURES).astype(int))
    width, height = pictures[0].size
    sheet = Image.new("RGB", (width, height * len(picked)))
    for row, k in enumerate(picked):
        sheet.paste(pictures[k], (0, row * height))
    return sheet.quantize(256, method=Image.Quantize.MEDIANCUT)
