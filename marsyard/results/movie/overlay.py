"""What is written into a picture: the time, the title, a caption, the scales of arrows and colours.

Text is set in DejaVu Sans, which comes with matplotlib, in sizes that go with the picture's height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

WHITE = (255, 255, 255)
_SHADE = (30, 22, 18, 150)
_RED = (226, 38, 60)
_BAR = 110  # length of the colour bar at a height of 720 [pixels]


@dataclass(frozen=True)
class Legend:
    """Newtons that an arrow of a metre stands for, and the change of height [m] at the ends of the
    colours; None where these are not drawn."""

    newton_per_metre: float | None = None
    change: float | None = None


class Overlay:
    """Writes into the pictures of one movie: title and caption stay, the time runs."""

    def __init__(
        self, size: tuple[int, int], title: str, caption: str = "", legend: Legend | None = None
    ) -> None:
        self._size = size
        self._unit = size[1] / 720
        self._still = self._standing(title, caption, legend or Legend())

    def write(self, picture: np.ndarray, time: float, speed: float | None) -> np.ndarray:
        """The picture with its texts; `time` [s], `speed` in times real time, None for a still."""
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture).convert("RGB")
        image.paste(self._still, (0, 0), self._still)
        layer = ImageDraw.Draw(image, "RGBA")
        self._label(layer, time_stamp(time, speed), "bottom", 26, bold=True)
        return np.asarray(image)

    def _standing(self, title: str, caption: str, legend: Legend) -> Any:
        from PIL import Image, ImageDraw

        image = Image.new("RGBA", self._size, (0, 0, 0, 0))
        layer = ImageDraw.Draw(image)
        texts = [(title, 22, True)] * bool(title) + [(caption, 20, False)] * bool(caption)
        top = 0.0
        for text, points, bold in texts:
            top = self._label(layer, self._short(text, points, bold), "top", points, bold, top)
        self._legend(image, layer, legend)
        return image

    def _short(self, text: str, points: float, bold: bool) -> str:
        """As much of a text as fits on one line."""
        face, room = _font(points * self._unit, bold), self._size[0] - 80 * self._unit
        if face.getlength(text) <= room:
            return text
        while text and face.getlength(text + "…") > room:
            text = text[:-1]
        return text.rstrip() + "…"

    def _label(
        self, layer: Any, text: str, edge: str, points: float, bold: bool, below: float = 0.0
    ) -> float:
        """A text on a dark plate at the left; gives where the next one may begin [pixels]."""
        u = self._unit
        face = _font(points * u, bold)
        width, height = face.getlength(text), 1.45 * points * u
        left, gap = 20 * u, 20 * u if not below else 4 * u
        top = below + gap if edge == "top" else self._size[1] - 20 * u - height
        plate = (left, top, left + width + 20 * u, top + height)
        layer.rounded_rectangle(plate, radius=6 * u, fill=_SHADE)
        layer.text((left + 10 * u, top + height / 2), text, fill=WHITE, font=face, anchor="lm")
        return top + height

    def _legend(self, image: Any, layer: Any, legend: Legend) -> None:
        """Scales of arrows and colours at the lower right."""
        u = self._unit
        face, line = _font(17 * u, False), 26 * u
        right, bottom = self._size[0] - 20 * u, self._size[1] - 20 * u
        rows = [] if legend.newton_per_metre is None else [force_words(legend.newton_per_metre)]
        if legend.change is not None:
            rows.append(f"−{_millimetres(legend.change)}")
        if not rows:
            return
        end = f"+{_millimetres(legend.change)}" if legend.change is not None else ""
        bar = _BAR * u
        widths = [face.getlength(rows[0]) + 44 * u] if legend.newton_per_metre else []
        if end:
            widths.append(face.getlength(rows[-1]) + face.getlength(end) + bar + 16 * u)
        width = max(widths) + 20 * u
        plate = (right - width, bottom - line * len(rows) - 8 * u, right, bottom)
        layer.rounded_rectangle(plate, radius=6 * u, fill=_SHADE)
        y, left = plate[1] + 4 * u + line / 2, plate[0] + 10 * u
        if legend.newton_per_metre is not None:
            _arrow(layer, left, y, 32 * u)
            layer.text((left + 44 * u, y), rows[0], fill=WHITE, font=face, anchor="lm")
            y += line
        if end:
            layer.text((left, y), rows[-1], fill=WHITE, font=face, anchor="lm")
            start = left + face.getlength(rows[-1]) + 8 * u
            _colour_bar(image, start, y, bar, 12 * u)
            layer.text((start + bar + 8 * u, y), end, fill=WHITE, font=face, anchor="lm")


def time_stamp(time: float, speed: float | None) -> str:
    """The time as it is written, e.g. `t = 12.3 s  ×4`."""
    if speed is None:
        return f"t = {time:.2f} s"
    return f"t = {time:.{2 if speed < 0.5 else 1}f} s  ×{speed:.3g}"


def force_words(newton_per_metre: float) -> str:
    """The scale of the arrows in round numbers, e.g. `200 N are 0.40 m`."""
    force = _round_down(0.5 * newton_per_metre)
    return f"{force:g} N are {force / newton_per_metre:.2f} m"


def _round_down(value: float) -> float:
    """The next smaller of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(k * power for k in (1, 2, 5) if k * power <= value * (1 + 1e-9)))


def _millimetres(metres: float) -> str:
    return f"{1000 * metres:.2g} mm" if metres < 0.1 else f"{100 * metres:.2g} cm"


def _arrow(layer: Any, left: float, y: float, length: float) -> None:
    head = 0.36 * length
    layer.line((left, y, left + length - head, y), fill=_RED, width=max(2, round(length / 8)))
    tip = [(left + length, y), (left + length - head, y - head / 2)]
    layer.polygon([*tip, (left + length - head, y + head / 2)], fill=_RED)


def _colour_bar(image: Any, left: float, y: float, length: float, height: float) -> None:
    from PIL import Image

    from marsyard.results.rut_map import rut_colours

    size = (max(2, round(length)), max(2, round(height)))
    row = (255 * rut_colours()(np.linspace(0.0, 1.0, size[0]))[:, :3]).astype(np.uint8)
    bar = Image.fromarray(np.broadcast_to(row, (size[1], size[0], 3)).copy())
    image.paste(bar, (round(left), round(y - height / 2)))


@lru_cache(maxsize=16)
def _font(points: float, bold: bool) -> Any:
    from matplotlib import get_data_path
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(f"{get_data_path()}/fonts/ttf/{name}", max(6.0, points))
