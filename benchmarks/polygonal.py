"""Cost of polygonal contact against the number of faces in the mesh: 10³ to 10⁶.

A ball of ever finer faces is pressed on a plane, so deep that some 300 of its faces touch whatever
the mesh: what a step costs then is the search among the others, made again in every 16th
evaluation. Likewise a ball of some thousand faces pressed against a mesh of 10³ to 10⁶. The value
is the cost with a million faces over that with a thousand; a look at every face would be 1000. A
third row presses one mesh ever deeper: cost per face that touches.

python benchmarks/polygonal.py FILE.png    draws the costs
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from marsyard.interaction.polygonal import Layer, Pair, PolygonalContact, ball, mesh, plane
from marsyard.interaction.polygonal.arrays import W_VALID
from marsyard.interaction.polygonal.contact import evaluate

LAYER = Layer(1e9, 1e6, 1e-5, 5e8, 1e6, 0.5, 0.5, 1e-4)
R = 0.1
#: faces of an icosahedron divided n times: 20 · 4ⁿ
LEVELS = (3, 4, 5, 6, 7, 8)
#: evaluations after which the list of near faces is made again, fewer than for wheels that roll
LISTED = 16
#: faces that touch in the first two rows
TOUCHING = 300


def divided(level: int):
    """A ball of 20 · 4ⁿ faces."""
    return ball(R, 1.05 * R / 2**level * 1.0001)


def evaluation_time(contact: PolygonalContact, place: tuple[float, float, float]) -> float:
    """Seconds for the forces of all faces at one place, the best of several passes."""
    contact.press(place)
    shapes, pairs = contact.shapes, contact.pairs
    once = time.thread_time()
    evaluate(shapes, pairs, 0, 1e-3, 0.5)
    count = max(3, int(2e-2 / max(time.thread_time() - once, 1e-7) / LISTED)) * LISTED
    best = math.inf
    for _ in range(5):
        began = time.thread_time()
        for i in range(count):
            if i % LISTED == 0:
                pairs.near_at[0, W_VALID] = 0.0
            evaluate(shapes, pairs, 0, 1e-3, 0.5)
        best = min(best, (time.thread_time() - began) / count)
    return best


def on_plane(level: int) -> tuple[int, int, float]:
    """Faces, those that touch, seconds: a ball on a plane, pressed so that TOUCHING faces touch."""
    surface = divided(level)
    # the cap's area π (2 R δ) over that of all faces
    depth = 2 * R * TOUCHING / len(surface)
    contact = PolygonalContact(Pair(surface, plane(), LAYER))
    place = (0.0, 0.0, R - depth)
    touching = contact.press(place).faces
    return len(surface), touching, evaluation_time(contact, place)


def on_mesh(level: int) -> tuple[int, int, float]:
    """The same number of faces of a ball against ever finer meshes."""
    surface = divided(level)
    contact = PolygonalContact(Pair(divided(5), mesh(surface), LAYER, refine=1))
    place = (0.0, 0.0, 2 * R - 4e-4)
    touching = contact.press(place).faces
    return len(surface), touching, evaluation_time(contact, place)


def deeper() -> list[tuple[int, float]]:
    """Faces that touch and seconds, for one mesh pressed ever deeper on a plane."""
    surface = divided(7)
    contact = PolygonalContact(Pair(surface, plane(), LAYER))
    rows = []
    for touching in (100, 300, 1000, 3000, 10000):
        place = (0.0, 0.0, R - 2 * R * touching / len(surface))
        rows.append((contact.press(place).faces, evaluation_time(contact, place)))
    return rows


def measure():
    """All rows of the benchmark."""
    return [on_plane(n) for n in LEVELS], [on_mesh(n) for n in LEVELS], deeper()


def run() -> list[dict]:
    """The benchmark's rows: name, value, unit, bar, ok, note."""
    first, second, third = measure()
    rows = []
    for name, cases, bar in (("plane", first, 2), ("mesh", second, 20)):
        ratio = cases[-1][2] / cases[0][2]
        note = (
            f"{cases[-1][0]:,} faces against {cases[0][0]:,}; {1e6 * cases[-1][2]:.0f} µs with "
            f"{cases[-1][1]} touching"
        )
        rows.append(
            {"name": f"a thousand times the faces, on a {name}", "value": ratio, "unit": "×",
             "bar": f"≤ {bar}",
             "ok": bool(ratio <= bar), "note": note}
        )  # fmt: skip
    per_face = [seconds / faces for faces, seconds in third]
    rows.append(
        {"name": "per touching face", "value": 1e9 * per_face[-1], "unit": "ns",
         "bar": "≤ 500", "ok": bool(per_face[-1] <= 500e-9),
         "note": f"{third[-1][0]} faces on a plane, {1e6 * third[-1][1]:.0f} µs in all"}
    )  # fmt: skip
    return rows


def plot(path: str) -> None:
    """Draw cost against faces in the mesh, and against faces that touch."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    first, second, third = measure()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for cases, mark, name in (
        (first, "o-", "finer faces on a plane"),
        (second, "s-", "1280 · 4² faces on a finer mesh"),
    ):
        faces, touching, seconds = np.array(cases).T
        label = f"{name}, {touching.min():.0f} to {touching.max():.0f} touch"
        left.loglog(faces, 1e6 * seconds, mark, label=label)
    left.loglog(
        faces, 1e6 * first[0][2] * faces / faces[0], "k:", lw=1, label="a look at every face"
    )
    left.set(xlabel="faces in the mesh", ylabel="time of an evaluation [µs]")
    touching, seconds = np.array(third).T
    right.loglog(touching, 1e6 * seconds, "o-", label="327,680 faces on a plane")
    right.loglog(
        touching, 1e6 * seconds[-1] * touching / touching[-1], "k:", lw=1, label="in proportion"
    )
    right.set(xlabel="faces that touch", ylabel="time of an evaluation [µs]")
    for axes in (left, right):
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    plot(sys.argv[1])
