"""Write the shapes of the docking model: profiles and meshes of marsyard/library/rovers/smart_olev.

python docs/make_smart_olev.py

Axial coordinates [m]: s from the nozzle's throat towards its exit; u from the foot of the capture
tool, where the boom ends, towards its nose; z from the tip of the crown, likewise outwards. With
the tool seated, s = NOSE + SEATED − u. Radii r [m].

Nozzle (400 N class): chamber, cone, throat arcs of 1.5 and 0.382 throat radii, and a bell as that
of G. V. R. Rao (Jet Propulsion 28, 1958) is usually approximated: a parabola between the angles
BELL_START and BELL_END of 0.8 times the length of a 15° cone with the same area ratio.

Tool: a body of revolution whose rounded shoulder touches the bell along a circle of radius SHOULDER
when it is seated; the end of its nose lies at s = SEATED then, just behind the throat.

Crown: wires between the nose and a bolt that is drawn back by q. A wire of length ℓ₀ whose ends are
ℓ = ℓ₀ − q apart bulges as half a wave of a sine, of height b:

    ℓ₀ ≈ ℓ + π² b²/(4 ℓ)   →   b = (2/π) √(ℓ (ℓ₀ − ℓ)),   r(z) = CROWN + b sin(π (z + ℓ)/ℓ)

(arc length to second order in b/ℓ; the ring of wires counts as a surface of revolution).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "marsyard/library/rovers/smart_olev"
DEG = math.pi / 180

THROAT, EXIT, CHAMBER = 0.0082, 0.122, 0.020
CONE, BELL_START, BELL_END = 40 * DEG, 35 * DEG, 7 * DEG
CHAMBER_DEPTH = 0.070  # of the chamber's end behind the throat
BELL = 0.8 * (EXIT - THROAT) / math.tan(15 * DEG)

SEATED = -0.0015  # s of the nose's end
NOSE = 0.250  # u of the nose's end
SHOULDER, ROUNDING = 0.045, 0.060
BODY, NOSE_RADIUS = 0.050, 0.0058

WIRE, CROWN = 0.030, 0.0050
STROKE = 0.011
BOLT_SHAFT, BOLT_HEAD, BOLT_LENGTH = 0.0030, 0.0050, 0.010

RING_RADIUS, RING_WIDTH, RING_HEIGHT = 0.597, 0.022, 0.025

HEAD = """# Surfaces of the docking model for polygonal contact; written by docs/make_smart_olev.py;
# it has the equations. Lengths in m. A surface of revolution is a curve r over the place along its
# axis; `solid: outside` has the material around it. The crown changes its curve with its joint.
"""


def nozzle() -> np.ndarray:
    """(s, r) of the inner wall, from the chamber over the throat to the exit."""
    up, down = 1.5 * THROAT, 0.382 * THROAT
    a = np.linspace(CONE, 0, 10)[:-1]
    before = np.column_stack([-up * np.sin(a), THROAT + up * (1 - np.cos(a))])
    begin = before[0] + (CHAMBER - before[0, 1]) * np.array([-1 / math.tan(CONE), 1.0])
    a = np.linspace(0, BELL_START, 6)
    after = np.column_stack([down * np.sin(a), THROAT + down * (1 - np.cos(a))])
    n, e = after[-1], np.array([BELL, EXIT])
    # a parabola by its tangents at both ends
    tn, te = math.tan(BELL_START), math.tan(BELL_END)
    s = (e[1] - te * e[0] - n[1] + tn * n[0]) / (tn - te)
    q = np.array([s, n[1] + tn * (s - n[0])])
    t = np.linspace(0, 1, 41)[1:, None] ** 1.5
    bell = (1 - t) ** 2 * n + 2 * t * (1 - t) * q + t**2 * e
    cone = np.linspace(begin, before[0], 7)[:-1]
    chamber = np.array([[-CHAMBER_DEPTH, CHAMBER], [-0.045, CHAMBER], [-0.030, CHAMBER]])
    return np.concatenate([chamber, cone, before, after, bell])


def tool() -> np.ndarray:
    """(u, r) of the capture tool, from its foot to its nose."""
    wall = nozzle()
    wall = wall[wall[:, 0] > 0]
    s = float(np.interp(SHOULDER, wall[:, 1], wall[:, 0]))
    slope = float(np.interp(s, wall[:, 0], np.gradient(wall[:, 1], wall[:, 0])))
    angle = math.atan(slope)
    # a circle inside the bell that touches it at (s, SHOULDER)
    centre = np.array([s + ROUNDING * math.sin(angle), SHOULDER - ROUNDING * math.cos(angle)])
    first = math.acos(min(1.0, (BODY - centre[1]) / ROUNDING)) if centre[1] + ROUNDING > BODY else 0
    a = np.linspace(first, angle + 22 * DEG, 25)
    arc = np.column_stack([centre[0] - ROUNDING * np.sin(a), centre[1] + ROUNDING * np.cos(a)])
    end = SEATED
    knee = np.array([end + 0.012, NOSE_RADIUS])
    cone = np.linspace(arc[-1], knee, 8)[1:]
    nose = np.array([[end + 0.004, NOSE_RADIUS], [end, CROWN]])
    foot = NOSE + SEATED
    body = np.array([[foot, 0.035], [foot - 0.02, 0.035], [foot - 0.03, BODY]])
    curve = np.concatenate([body, arc, cone, nose])
    return np.column_stack([NOSE + SEATED - curve[:, 0], curve[:, 1]])


def bulge(q: float) -> tuple[float, float]:
    """Length ℓ of the crown and height b of its bulge when it is drawn back by q."""
    length = WIRE - q
    return length, 2 / math.pi * math.sqrt(max(length * q, 0.0))


def crown(q: float) -> np.ndarray:
    """(z, r) of the wires, from the nose of the tool (z = −ℓ) to the bolt's head (z = 0)."""
    length, height = bulge(q)
    z = np.linspace(-length, 0, 41)
    return np.column_stack([z, CROWN + height * np.sin(math.pi * (z + length) / length)])


def bolt() -> np.ndarray:
    """(z, r) of the bolt: a shaft inside the crown, and a round head before it."""
    a = np.linspace(0, 80 * DEG, 13)
    straight = BOLT_LENGTH - BOLT_HEAD
    head = np.column_stack([straight + BOLT_HEAD * np.sin(a), BOLT_HEAD * np.cos(a)])
    shaft = np.array([[-WIRE, BOLT_SHAFT], [-0.002, BOLT_SHAFT], [0.0, BOLT_HEAD]])
    return np.concatenate([shaft, head])


def flow(points: np.ndarray) -> str:
    """A list of points in one line of YAML, to a tenth of a micrometre."""
    return "[" + ", ".join(f"[{p:.7g}, {r:.7g}]" for p, r in np.round(points, 7)) + "]"


def shapes() -> str:
    """The file shapes.yaml."""
    at = np.linspace(0, STROKE, 23)
    several = ",\n        ".join(flow(crown(q)) for q in at)
    lines = [
        HEAD + "shapes:",
        "  # inner wall of the apogee motor; origin at the throat, axis from chamber to exit",
        "  nozzle:",
        "    body: nozzle",
        "    axis: [0, 0, -1]",
        "    revolution:",
        "      solid: outside",
        "      steps: 48",
        f"      profile: {flow(nozzle())}",
        "  # capture tool; origin at its foot, where the boom ends",
        "  tool:",
        "    body: tool",
        "    revolution:",
        f"      profile: {flow(tool())}",
        "  # wires of the locking crown, by the way of its slide; origin at its tip",
        "  crown:",
        "    body: crown",
        "    revolution:",
        "      profiles:",
        "        joint: crown_slide",
        "        at: [" + ", ".join(f"{q:.4g}" for q in at) + "]",
        f"        profile: [\n        {several}]",
        "  # central bolt, on which the crown is drawn back",
        "  bolt:",
        "    body: crown",
        "    revolution:",
        f"      profile: {flow(bolt())}",
        "  # launch adapter ring of the client, and the brackets on which it comes to rest",
        "  ring: {body: client, mesh: ring.obj}",
        *(f"  bracket{k}: {{body: chaser, geom: bracket{k}}}" for k in (1, 2, 3)),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def revolved(outline: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a closed outline (place, r), counter-clockwise seen with r to the
    right and the place up, turned about z."""
    n = len(outline)
    angle = np.linspace(0, 2 * math.pi, count, endpoint=False)
    z, r = outline.T
    rows = [np.column_stack([r * math.cos(a), r * math.sin(a), z]) for a in angle]
    faces = []
    for k in range(count):
        for i in range(n):
            a, b = k * n + i, k * n + (i + 1) % n
            c, d = (k + 1) % count * n + i, (k + 1) % count * n + (i + 1) % n
            faces += [(a, c, d), (a, d, b)]
    return np.concatenate(rows), np.array(faces)


def obj(name: str, what: str, outline: np.ndarray, count: int) -> None:
    """Write a surface of revolution as OBJ."""
    vertices, faces = revolved(outline, count)
    lines = [f"# {what}; written by docs/make_smart_olev.py [m]"]
    lines += [f"v {x:.7g} {y:.7g} {z:.7g}" for x, y, z in np.round(vertices, 7)]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (HERE / name).write_text("\n".join(lines) + "\n")


def outlines() -> dict[str, tuple[str, np.ndarray, int]]:
    """Closed outlines (z, r) in the frame of the body: file, meaning, outline, segments."""
    w, h, c = RING_WIDTH / 2, RING_HEIGHT, 0.002
    ring = np.array([
        [0, c - w], [0, w - c], [c, w], [h, w], [h, -w], [c, -w],
    ]) + [0, RING_RADIUS]  # fmt: skip
    wall = nozzle()
    wall = np.concatenate([wall[2::2], wall[-1:]])
    # in its body's frame the nozzle opens downwards
    inner = np.column_stack([-wall[:, 0], wall[:, 1]])
    outer = inner[::-1] + [0, 0.0015]
    curve = tool()
    body = np.concatenate([curve, [[curve[-1, 0], 1e-3], [curve[0, 0], 1e-3]]])
    return {
        "ring.obj": ("launch adapter ring, the surface of its contact", ring, 120),
        "nozzle.obj": ("nozzle as it is drawn", np.concatenate([inner, outer]), 36),
        "tool.obj": ("capture tool as it is drawn", body, 36),
    }


def main() -> None:
    """Write all files."""
    (HERE / "shapes.yaml").write_text(shapes())
    for name, (what, outline, count) in outlines().items():
        obj(name, what, outline, count)


if __name__ == "__main__":
    main()
