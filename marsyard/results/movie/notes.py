"""Notes in a still picture: a title, a table of numbers, a legend of layers, names of places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marsyard.drawing.layers import Layer
from marsyard.drawing.meshes import Colour
from marsyard.results.movie.camera import View
from marsyard.results.movie.overlay import WHITE, _font

_PLATE = (30, 22, 18, 165)
_GREY = (214, 205, 196)
_LINE = 1.5  # distance of lines in heights of their letters


class Notes:
    """Writes into pictures of one size [pixels]."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._unit = size[1] / 720

    def write(
        self,
        picture: np.ndarray,
        title: str,
        numbers: Sequence[tuple[str, str]],
        layers: Sequence[Layer] = (),
        view: View | None = None,
    ) -> np.ndarray:
        """The picture with a title, numbers with their names, what the layers are, and with a view
        the names that stand at places."""
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture).convert("RGB")
        draw = ImageDraw.Draw(image, "RGBA")
        if view is not None:
            self._names(draw, layers, view)
        u = self._unit
        top = self._table(draw, [(title, "")], 20 * u, 20 * u, 20, bold=True)
        self._table(draw, numbers, 20 * u, top + 6 * u, 15)
        self._legend(draw, layers)
        return np.asarray(image)

    def _table(
        self, draw: Any, rows: Sequence[tuple[str, str]], left: float, top: float, points: float,
        bold: bool = False,
    ) -> float:  # fmt: skip
        """Rows of name and value on a plate; gives where it ends [pixels]."""
        if not rows:
            return top
        u = self._unit
        face, line = _font(points * u, bold), _LINE * points * u
        first = max(face.getlength(name) for name, _ in rows)
        second = max(face.getlength(value) for _, value in rows)
        width = first + (second + 14 * u if second else 0.0) + 20 * u
        bottom = top + line * len(rows) + 8 * u
        draw.rounded_rectangle((left, top, left + width, bottom), radius=6 * u, fill=_PLATE)
        for k, (name, value) in enumerate(rows):
            y = top + 4 * u + line * (k + 0.5)
            shade = WHITE if bold else _GREY
            draw.text((left + 10 * u, y), name, fill=shade, font=face, anchor="lm")
            if value:
                at = (left + width - 10 * u, y)
                draw.text(at, value, fill=WHITE, font=face, anchor="rm")
        return bottom

    def _legend(self, draw: Any, layers: Sequence[Layer]) -> None:
        """Colour, name and scale of each layer, at the lower right."""
        rows = [(layer.colour, layer.name, layer.words) for layer in layers if layer.words]
        if not rows:
            return
        u = self._unit
        face, line = _font(15 * u, False), _LINE * 15 * u
        first = max(face.getlength(name) for _, name, _ in rows)
        second = max(face.getlength(words) for *_, words in rows)
        width, height = first + second + 64 * u, line * len(rows) + 8 * u
        left, top = self._size[0] - 20 * u - width, self._size[1] - 20 * u - height
        plate = (left, top, left + width, top + height)
        draw.rounded_rectangle(plate, radius=6 * u, fill=_PLATE)
        for k, (colour, name, words) in enumerate(rows):
            y = top + 4 * u + line * (k + 0.5)
            box = (left + 10 * u, y - 6 * u, left + 28 * u, y + 6 * u)
            draw.rounded_rectangle(box, radius=3 * u, fill=_opaque(colour))
            draw.text((left + 38 * u, y), name, fill=WHITE, font=face, anchor="lm")
            at = (left + first + 52 * u, y)
            draw.text(at, words, fill=_GREY, font=face, anchor="lm")

    def _names(self, draw: Any, layers: Sequence[Layer], view: View) -> None:
        """Names at their places, each with a dark rim so that it can be read on anything."""
        labels = [label for layer in layers for label in layer.labels]
        colours = [_light(layer.colour) for layer in layers for _ in layer.labels]
        if not labels:
            return
        u, face = self._unit, _font(14 * self._unit, True)
        places = view.project(np.array([label.at for label in labels]), self._size)
        taken: list[tuple[float, float, float]] = []
        for label, colour, (x, y) in zip(labels, colours, places, strict=True):
            if np.isfinite(x):
                y = _free(taken, x, y, face.getlength(label.text) / 2, 18 * u)
                draw.text(
                    (x, y), label.text, fill=colour, font=face, anchor="mm",
                    stroke_width=max(1, round(2 * u)), stroke_fill=(30, 22, 18),
                )  # fmt: skip


def _free(
    taken: list[tuple[float, float, float]], x: float, y: float, half: float, line: float
) -> float:
    """Where a text as wide as 2 · half fits, at y or further down; it is added to those taken."""
    while any(abs(x - a) < half + h and abs(y - b) < line for a, b, h in taken):
        y += line / 4
    taken.append((x, y, half))
    return y


def _light(colour: Colour) -> tuple[int, ...]:
    """A tint that can be read on dark."""
    return tuple(round(0.45 * c + 0.55 * 255) for c in colour)


def _opaque(colour: Colour) -> tuple[int, int, int, int]:
    return (*colour, 255)
