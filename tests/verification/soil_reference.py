"""The soil contact model once more: slow, plain NumPy, written from the paper and the docstrings.

R. Krenn, G. Hirzinger, Contact dynamics simulation for space robotics applications (2008), section
III, with the additions that `marsyard.interaction.soil_contact` documents (elastic unloading, shear
displacement, prediction over the step, free height under wheels). Nothing is shared with the
compiled kernels but the numbering of nodes, x = i ds, y = j ds, and the order in which they are
looked at (tiles of 32 × 32 nodes, rows, columns): sliding soil comes to rest in a way that depends
on the order, and so do sums of floating-point numbers.

Vectors are NumPy arrays of 3. The wheel's lower side is found by bisection of the implicit surface.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

TILE = 32
UP = np.array([0.0, 0.0, 1.0])
#: neighbours in the order of the erosion step
AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def key(node):
    """Place of a node in the order of all nodes."""
    i, j = node
    return i // TILE, j // TILE, i, j


@dataclass
class Wheel:
    """A surface of revolution: radius R(y) at the place y along the axle, |y| ≤ half."""

    radius: float
    half: float
    rounding: float
    crown: float
    centre: np.ndarray
    axis: np.ndarray

    def tread(self, y):
        """R(y) [m]."""
        R = self.radius + 0.0 * np.asarray(y, dtype=float)
        if self.crown > 0:
            R += np.sqrt(np.maximum(self.crown**2 - np.square(y), 0.0)) - self.crown
        if self.rounding > 0:
            over = np.maximum(np.abs(y) - self.half + self.rounding, 0.0)
            R += np.sqrt(np.maximum(self.rounding**2 - over**2, 0.0)) - self.rounding
        return R

    def outside(self, points):
        """Distance from the axle less R(y): negative inside the tread. Points are float[k, 3]."""
        y = np.clip(points @ self.axis, -self.half, self.half)
        return np.linalg.norm(points - np.outer(y, self.axis), axis=1) - self.tread(y)

    def undersides(self, places):
        """Where the verticals through `places`, float[k, 2] from the centre, enter the wheel.

        For each line None if it misses the wheel, else the height over the centre, the normal into
        the wheel, and the place y along the axle.
        """
        feet = np.column_stack([places, np.zeros(len(places))])
        u, az = feet @ self.axis, float(self.axis[2])
        far = 2.0 * (self.radius + self.half)
        low, high = np.full(len(feet), -far), np.full(len(feet), far)
        if abs(az) > 1e-12:
            ends = np.sort([(-self.half - u) / az, (self.half - u) / az], axis=0)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        missed = (np.abs(u) > self.half) if abs(az) <= 1e-12 else (low > high)

        def outside(t):
            return self.outside(feet + np.outer(t, UP))

        # outside() is convex along a line: golden section to its lowest place, then bisection
        inside = _lowest(outside, low, high)
        missed |= outside(inside) > 0
        through_side = (outside(low + 1e-13) <= 0) if abs(az) > 1e-12 else np.zeros(len(u), bool)
        out, t = low.copy(), inside.copy()
        for _ in range(60):
            middle = 0.5 * (out + t)
            beyond = outside(middle) > 0
            out, t = np.where(beyond, middle, out), np.where(beyond, t, middle)
        found = []
        for k in range(len(feet)):
            if missed[k]:
                found.append(None)
            elif through_side[k]:
                side = math.copysign(1.0, az)
                found.append((low[k], side * self.axis, -side * self.half))
            else:
                found.append((t[k], *self._normal(feet[k] + t[k] * UP)))
        return found

    def _normal(self, point):
        y = float(self.axis @ point)
        radial = point - y * self.axis
        d = 1e-6 * self.half
        slope = float(self.tread(y + d) - self.tread(y - d)) / (2 * d)
        normal = -radial / np.linalg.norm(radial) + slope * self.axis
        return normal / np.linalg.norm(normal), y

    def weight(self, y, ds, on_side=False, level=0.0, place=(0.0, 0.0)):
        """Part of a cell of the grid that a node stands for (head of `footprint`); level and place
        are those from the wheel's centre."""
        flat = math.hypot(self.axis[0], self.axis[1])
        rows = ds * max(abs(self.axis[0]), abs(self.axis[1])) / flat
        if abs(y) >= self.half * (1 - 1e-12) and on_side:
            ahead = np.array([self.axis[1], -self.axis[0]]) / flat
            rim = math.sqrt(max(self.radius**2 - float(ahead @ place) ** 2, 0.0))
            depth = level + rim * flat + self.half * abs(self.axis[2])
            return min(1.0, 2 * depth * abs(self.axis[2]) / flat / rows)

        def strip(edge):
            return 0.5 * rows if edge >= rows else edge

        return (strip(self.half - y) + strip(self.half + y)) / rows


def _lowest(f, low, high):
    g = 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(80):
        a, b = high - g * (high - low), low + g * (high - low)
        left = f(a) < f(b)
        high, low = np.where(left, b, high), np.where(left, low, a)
    return 0.5 * (low + high)


@dataclass
class Soil:
    """Numbers of a soil for the body at hand."""

    k: float
    n: float
    c: float
    tan_phi: float
    K_along: float
    K_across: float
    k_u: float
    damping: float
    tan_repose: float
    layer: float = 0.0
    released: float = 1 / 3  # share of it


@dataclass
class Touch:
    """What belongs to the contact of the body with one node."""

    m: np.ndarray  # mobilised strength of each strip of the node's cell
    dug: np.ndarray  # height that slip has taken away from each [m]
    sinkage: float = 0.0  # volumes that wait to be laid down [m³]
    pushed: float = 0.0
    direction: np.ndarray = field(default_factory=lambda: np.zeros(2))  # volume × direction
    touching: bool = True


class Ground:
    """A plain grid of nodes, by (i, j)."""

    def __init__(self, ds, base, soil, soil_of=None):
        self.ds, self.base_of, self.soils = ds, base, soil
        self.soil_of = soil_of or (lambda x, y: 0)
        self.base, self.ref, self.depth = {}, {}, {}
        # how the cell was cut into strips, how much deeper than the node each was pressed, and how
        # much higher than the node's level each begins [m]
        self.relief = {}
        self.queue, self.queued, self.under = deque(), set(), set()

    def know(self, node):
        if node not in self.base:
            self.base[node] = self.base_of(node[0] * self.ds, node[1] * self.ds)
            self.ref[node] = self.depth[node] = 0.0

    def base_at(self, node):
        self.know(node)
        return self.base[node]

    def height(self, node):
        self.know(node)
        return self.base[node] + self.ref[node] - self.depth[node]

    def soil(self, node):
        return self.soils[self.soil_of(node[0] * self.ds, node[1] * self.ds)]

    def wake(self, node):
        if node not in self.queued:
            self.queued.add(node)
            self.queue.append(node)

    def put(self, node, dz):
        """Soil comes to rest: first it fills what was pressed down, then it raises the level."""
        fill = min(dz, self.depth[node])
        if node in self.relief:
            cut, relief, levels = self.relief[node]
            if fill > 0:
                relief = relief * (1 - fill / self.depth[node])
            uneven = max(levels.max(), 0.0) - min(levels.min(), 0.0)
            if uneven > 0:
                levels = levels * max(1 - dz / uneven, 0.0)
            self.relief[node] = cut, relief, levels
        self.depth[node] -= fill
        self.ref[node] += dz - fill


class Model:
    """One wheel on a ground."""

    def __init__(self, ground, wheel, exponent=2.0):
        self.ground, self.wheel, self.exponent = ground, wheel, exponent
        self.touch: dict[tuple[int, int], Touch] = {}
        self.slip = 0.0  # of the wheel, if it is driven
        self.share = 0.0  # of what lies in the way of the layer, that it takes
        self.cut, self.strips = 0, 1

    # --- footprint

    def footprint(self):
        """Strips of nodes in the wheel, in order: node and strip, sinkage z, plastic sinkage,
        weight, normal, place from the centre."""
        g, w = self.ground, self.wheel
        along = self._cut()
        reach = math.hypot(w.radius, w.half) + 2 * g.ds
        i0, i1 = (int(math.floor((w.centre[0] + s * reach) / g.ds)) for s in (-1, 1))
        j0, j1 = (int(math.floor((w.centre[1] + s * reach) / g.ds)) for s in (-1, 1))
        nodes = sorted(((i, j) for i in range(i0, i1 + 1) for j in range(j0, j1 + 1)), key=key)
        middles = g.ds * np.array(nodes, dtype=float) - w.centre[:2]
        offs = self._offs()
        lean = self._lean()
        ahead = np.array([lean, 1.0] if self.cut else [1.0, lean])
        shifts = offs[:, None] * g.ds * ahead
        places = (middles[:, None] + shifts).reshape(-1, 2)
        entries = w.undersides(places)
        count = self.strips
        self.above = {node: entries[n * count : (n + 1) * count] for n, node in enumerate(nodes)}
        out = []
        for number, node in enumerate(nodes):
            level, depth = self._strips(node, along, offs)
            for k in range(self.strips):
                entry = entries[number * self.strips + k]
                if entry is None:
                    continue
                t, normal, y = entry
                z = level[k] - w.centre[2] - t
                if z > depth[k] and normal[2] >= 0.05:
                    on_side = abs(normal @ w.axis) > 1 - 1e-12
                    x = places[number * self.strips + k]
                    at = level[k] - w.centre[2]
                    weight = w.weight(y, g.ds, on_side, at, x) / self.strips
                    out.append((node, k, z, depth[k], weight, normal, np.array([*x, t])))
        return out

    def _cut(self):
        """Direction from strip to strip; their number."""
        g, (ax, ay, _) = self.ground, np.abs(self.wheel.axis)
        self.strips = max(1, min(8, math.ceil(22 * g.ds / self.wheel.radius)))
        cut = self.cut
        if self.strips > 1 and ((ax > 1.2 * ay and cut == 0) or (ay > 1.2 * ax and cut == 1)):
            self.cut = 1 - cut
            for touch in self.touch.values():
                touch.m[:] = touch.m.mean(axis=0)
        return (0, 1) if self.cut else (1, 0)

    def _offs(self):
        """Places of the strips of a node, in spacings."""
        return (np.arange(self.strips) + 0.5) / self.strips - 0.5

    def _lean(self):
        """How far strips lie across for a spacing along x or y: they follow the heading."""
        ax, ay, _ = self.wheel.axis
        if self.strips == 1 or math.hypot(ax, ay) <= 1e-5:
            return 0.0
        return -ay / ax if self.cut else -ax / ay

    def _strips(self, node, along, offs):
        """Level of the soil before it was pressed, and plastic sinkage, of the strips of a node."""
        g = self.ground
        lean = self._lean()
        level, relief = g.base_at(node) + g.ref[node] + 0.0 * offs, 0.0 * offs
        for di, dj, at in ((*along, offs), (*along[::-1], lean * offs)):
            if self.strips == 1 or (at is not offs and abs(lean) <= 1e-3):
                continue
            row = [(node[0] - di, node[1] - dj), node, (node[0] + di, node[1] + dj)]
            base = [g.base_at(n) for n in row]
            rise = np.where(at < 0, base[1] - base[0], base[2] - base[1])
            level += at * rise
            relief += at * smaller(g.depth, *row)
        cut, known, levels = g.relief.get(node, (None, None, None))
        if cut == (self.strips, self.cut) and self.strips > 1:
            relief = known
            level += levels
        return level, np.maximum(g.depth[node] + relief, 0.0)

    # --- stresses, eqs. (3) to (5)

    def step(self, velocity, spin, h, ahead):
        """Force and moment on the wheel at its centre; the soil and the contact go on by h."""
        g, w = self.ground, self.wheel
        found = self.footprint()
        self._match(found)
        force, moment = np.zeros(3), np.zeros(3)
        self.stresses = []
        moved, gone = [], {}
        for node, strip, z, before, weight, n, place in found:
            q, touch = g.soil(node), self.touch[node]
            # lugs cut what lies in their way, down to the trench, before it is pressed
            trench = self._trench(q)
            over, more = z - before, max(trench - touch.dug[strip], 0.0)
            wanted = min(over, more)
            cut = self.share * wanted
            touch.dug[strip] += cut
            z = max(z - cut, 1e-12)
            kept = 1.0 - self.share if more > over else 1.0

            # normal stress: Bekker on first loading, a stiff spring below
            loaded, elastic = q.k * z**q.n, q.k_u * (z - before)
            if loaded < elastic:
                p, slope = loaded, q.n * q.k * z ** (q.n - 1)
                plastic = max(z - loaded / q.k_u, before)
            else:
                p, slope, plastic = elastic, q.k_u, before
            dz = plastic - before
            v = velocity + np.cross(spin, place)
            vn = float(v @ n)
            if dz > 0 and vn > 0:
                slope = q.k_u
            p_end = max(0.0, p - (q.damping + ahead * slope * kept) * vn)

            # shear: Janosi and Hanamoto, one step at constant velocity
            across = w.axis - (w.axis @ n) * n
            if np.linalg.norm(across) < 1e-6:  # on the flat side: any direction will do
                across = np.array([1.0, 0.0, 0.0]) - n[0] * n
            across /= np.linalg.norm(across)
            along = np.cross(across, n)
            vt = np.array([v @ along, v @ across])
            speed = float(np.linalg.norm(vt))
            if speed > 0:
                x = math.hypot(vt[0] / q.K_along, vt[1] / q.K_across) * h
                touch.m[strip] = vt / speed + (touch.m[strip] - vt / speed) * math.exp(-x)
            m = touch.m[strip]
            strength = q.c + p_end * q.tan_phi if p_end > 0 else 0.0
            area = weight * g.ds**2 / max(n[2], 0.1)
            F = area * (p_end * n - strength * (m[0] * along + m[1] * across))
            force += F
            moment += np.cross(place, F)
            self.stresses.append((p_end, strength * m))

            # plastic sinkage, and where the soil goes
            gone.setdefault(node, {})[strip] = before, plastic, cut
            self._displace(touch, dz, v, n)
            if q.layer > 0:
                drives = (p_end > 0 or cut > 0) and float(m @ vt) > 0
                opens = max(vn, 0.0) * h / n[2] if p_end > 0 else 0.0
                rise = trench * q.released if self.slip > 0 else 0.0
                moved.append((
                    (node, strip), weight, speed * q.layer if drives else 0.0, wanted, cut,
                    cut * q.released, opens * rise / (rise + loaded / q.k_u + 1e-12),
                    vt[0] * along + vt[1] * across,
                ))  # fmt: skip
        filled = self._carry(moved, h)
        for node, strips in gone.items():
            _, relief, levels = g.relief[node]
            absolute, higher, raised = g.depth[node] + relief, levels.copy(), 0.0
            for strip, (before, plastic, cut) in strips.items():
                fill = filled.get((node, strip), 0.0)
                hollow = min(fill, plastic)
                absolute[strip] = plastic - hollow
                g.depth[node] += (plastic - hollow - before) / self.strips
                higher[strip] += fill - hollow - cut
                raised += (fill - hollow - cut) / self.strips
            g.ref[node] += raised
            g.relief[node] = (self.strips, self.cut), absolute - g.depth[node], higher - raised
        return force, moment

    def _trench(self, q):
        """How deep lugs dig under a wheel that rolls steadily: its walls slide in."""
        slip = min(self.slip, 0.999)
        layer = q.layer * (slip / (1 - slip) if slip > 0 else -slip)
        scale = 2 * self.wheel.half * q.tan_repose
        # z + z²/scale = layer
        return 0.5 * scale * (math.sqrt(1 + 4 * layer / scale) - 1) if layer > 0 else 0.0

    def _carry(self, moved, h):
        """The layer that slip takes along, by strips: how much of what lies in its way it can take
        in the next step; a part of what it took is released where the wheel rises again."""
        g, w = self.ground, self.wheel
        cell = g.ds**2 / self.strips
        area = sum(weight for _, weight, flux, *_ in moved if flux > 0)
        flux = sum(weight * flux for _, weight, flux, *_ in moved)
        in_the_way = cell * sum(wanted for *_, wanted, _, _, _, _ in moved)
        taken = cell * sum(cut for *_, cut, _, _, _ in moved)
        lifted = cell * sum(lift for *_, lift, _, _ in moved)
        gap = cell * sum(opens for *_, opens, _ in moved)
        room = h * 2 * w.half * flux / area if area > 0 else 0.0
        self.share = room / max(room, in_the_way) if room > 0 else 0.0
        released = min(1.0, lifted / gap) if gap > 0 else 0.0
        rest = 1.0 - released * gap / taken if taken > 0 else 0.0
        for (node, _), *_, cut, _, _, slides in moved:
            if cut > 0:
                self._push(self.touch[node], rest * cell * cut, slides)
        return {at: released * opens for at, *_, opens, _ in moved}

    def _match(self, found):
        g, along = self.ground, self._cut()
        nodes = list(dict.fromkeys(f[0] for f in found))
        present = set(nodes)
        for node in sorted(self.touch, key=key):
            if node in present:
                continue
            touch = self.touch[node]
            if touch.touching:
                g.under.discard(node)
                g.wake(node)
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if (di, dj) != (0, 0):
                            g.wake((node[0] + di, node[1] + dj))
                touch.touching = False
        # a node that comes back before the next flow is still the same contact
        for node in nodes:
            touch = self.touch.setdefault(
                node, Touch(np.zeros((self.strips, 2)), np.zeros(self.strips))
            )
            if g.relief.get(node, (None,))[0] != (self.strips, self.cut):
                sunk = self._strips(node, along, self._offs())[1]
                g.relief[node] = (self.strips, self.cut), sunk - g.depth[node], 0.0 * sunk
            touch.touching = True
            g.under.add(node)

    def _displace(self, touch, dz, v, n):
        """Eqs. (6) to (8): by the squares of the velocity's parts."""
        cell = self.ground.ds**2 / self.strips
        if dz > 0:
            vN = (v @ n) * n
            vT = v - vN
            vv = float(v @ v)
            sink, doze, shear = 1.0, 0.0, 0.0
            if vv > 0:
                sink, doze = vN[2] ** 2 / vv, (vN[0] ** 2 + vN[1] ** 2) / vv
                shear = float(vT @ vT) / vv
            touch.sinkage += cell * dz * sink
            self._push(touch, cell * dz * (doze + shear), v)

    @staticmethod
    def _push(touch, volume, velocity):
        touch.pushed += volume
        size = float(np.linalg.norm(velocity))
        if size > 0:
            touch.direction = touch.direction + volume * velocity[:2] / size

    # --- flow, eqs. (9) to (12)

    def free(self, node):
        """Free height between the soil and the wheel above it, less a gap of ds/20 [m]."""
        entries = self.above.get(node)
        if entries is None or all(entry is None for entry in entries):
            return math.inf
        level, depth = self._strips(node, (0, 1) if self.cut else (1, 0), self._offs())
        free = (
            self.wheel.centre[2] + entry[0] - level[k] + depth[k]
            for k, entry in enumerate(entries)
            if entry is not None
        )
        return max(0.0, min(free) - 0.05 * self.ground.ds)

    def border(self):
        """Nodes next to the footprint and under no body."""
        g, out = self.ground, {}
        for node in sorted((k for k, t in self.touch.items() if t.touching), key=key):
            for di, dj in AROUND:
                other = (node[0] + di, node[1] + dj)
                if other not in g.under:
                    out.setdefault(other, self.free(other))
        if not out:
            for node in sorted(self.touch, key=key):
                if node not in g.under:
                    out[node] = self.free(node)
        return out

    def beside(self, node):
        """How far a node lies ahead of the wheel and to its left [m]."""
        left = self.wheel.axis[:2] / np.linalg.norm(self.wheel.axis[:2])
        place = self.ground.ds * np.asarray(node, dtype=float) - self.wheel.centre[:2]
        return float(place @ (left[1], -left[0])), float(place @ left)

    def side_of(self, node):
        along, left = self.beside(node)
        if abs(left) >= self.wheel.half:
            return "left" if left > 0 else "right"
        return "front" if along > 0 else "rear"

    def reach(self, border):
        """How far the footprint reaches ahead and behind: to the height of the soil there [m]."""
        out = {"front": 0.0, "rear": 0.0}
        radius = float(self.wheel.tread(0.0))
        for side in out:
            heights = [self.ground.height(n) for n in border if self.side_of(n) == side]
            if heights:
                drop = min(max(float(self.wheel.centre[2] - np.mean(heights)), 0.0), radius)
                out[side] = math.sqrt(radius**2 - drop**2)
        return out

    def to_sides(self, node, reach):
        """Eq. (9a): 1/(d² + ζ²) integrated along the four sides of the footprint."""
        along, left = self.beside(node)
        half, least = self.wheel.half, 1e-3 * self.wheel.half
        far = {"front": reach["front"] - along, "rear": reach["rear"] + along,
               "left": half - left, "right": half + left}  # fmt: skip
        far = {side: max(a, least) for side, a in far.items()}
        ends = {"front": ("left", "right"), "left": ("front", "rear")}
        ends |= {"rear": ends["front"], "right": ends["left"]}
        zone = 0.5 * min(far["front"] + far["rear"], far["left"] + far["right"])
        alpha = {side: math.hypot(a, zone) for side, a in far.items()}
        return {
            side: sum(math.atan2(far[end], a) for end in ends[side]) / a
            for side, a in alpha.items()
        }

    def shares(self, node, touch, border, reach):
        """Volume this node offers to each border node."""
        ds = self.ground.ds
        d = np.array([np.subtract(b, node) * ds for b in border], dtype=float)
        square = np.maximum(np.sum(d * d, axis=1), 0.25 * ds * ds)
        given = np.zeros(len(border))
        sinkage = touch.sinkage
        size = float(np.linalg.norm(touch.direction))
        if touch.pushed > 0:
            w = np.zeros(len(border))
            if size > 1e-9 * touch.pushed:
                cosine = np.maximum(d @ (touch.direction / size), 0.0) / np.sqrt(square)
                w = cosine**self.exponent
            if w.sum() > 0:
                given += touch.pushed * w / w.sum()
            else:
                sinkage += touch.pushed
        sides, parts = np.array([self.side_of(b) for b in border]), self.to_sides(node, reach)
        w, there = 1.0 / square, sum(parts[side] for side in set(sides))
        for side in set(sides):
            on = sides == side
            given[on] += sinkage * parts[side] / there * w[on] / w[on].sum()
        return given

    def pass_on(self, node, dz):
        """Lay soil down further out; returns how much finds no room."""
        g, w = self.ground, self.wheel
        along, left = self.beside(node)
        axis = w.axis[:2] / np.linalg.norm(w.axis[:2])
        across = self.side_of(node) in ("left", "right")
        way = left * axis if across else along * np.array([axis[1], -axis[0]])
        di, dj = (round(float(v)) for v in way / np.linalg.norm(way))
        for k in range(1, int(math.hypot(w.radius, w.half) / g.ds) + 2):
            other = (node[0] + k * di, node[1] + k * dj)
            if other in g.under:
                break
            if other in self.present:
                continue
            given = min(dz, self.free(other))
            if given > 0:
                g.know(other)
                g.put(other, given)
                g.wake(other)
                dz -= given
            if dz <= 0:
                break
        return dz

    def flow(self):
        """Lay down, then let slide."""
        self._lay_down()
        self._slide()

    def _lay_down(self):
        g, cell = self.ground, self.ground.ds**2
        waiting = sum(t.sinkage + t.pushed for t in self.touch.values())
        border = self.border() if waiting > 0 else {}
        if not border:
            self._forget()
            return
        amount, reach, self.present = np.zeros(len(border)), self.reach(border), set(border)
        for node in sorted(self.touch, key=key):
            touch = self.touch[node]
            if touch.sinkage + touch.pushed > 0:
                amount += self.shares(node, touch, list(border), reach)
        free = np.array(list(border.values()))
        offer, rest = amount.copy(), 0.0
        for _ in range(3):
            given = np.minimum(offer, cell * free)
            left = np.zeros(len(border))
            for k, (node, v) in enumerate(zip(border, given, strict=True)):
                g.know(node)
                g.put(node, v / cell)
                if v < offer[k]:
                    left[k] = cell * self.pass_on(node, (offer[k] - v) / cell)
            free = free - given / cell
            rest = float(np.sum(left))
            amount[left > 0] = 0.0
            if rest <= 0 or amount.sum() <= 0:
                break
            offer = amount * rest / amount.sum()
        for node in border:
            g.wake(node)
        for node in list(self.touch):
            touch = self.touch[node]
            touch.sinkage = (touch.sinkage + touch.pushed) * rest / waiting
            touch.pushed, touch.direction = 0.0, np.zeros(2)
        self._forget()

    def _forget(self):
        """Nodes that were left and have nothing to lay down, but not how deep lugs have dug there
        while the wheel stands above."""
        w, ds = self.wheel, self.ground.ds
        for node, touch in list(self.touch.items()):
            if touch.touching:
                continue
            touch.m[:] = 0.0
            x, y = ds * node[0] - w.centre[0], ds * node[1] - w.centre[1]
            u = w.axis[0] * x + w.axis[1] * y
            above = abs(u) <= w.half and x * x + y * y - u * u <= w.radius**2
            if touch.sinkage + touch.pushed <= 0 and not (above and touch.dug.any()):
                del self.touch[node]

    def _slide(self, rest=0.96):
        g, held = self.ground, []
        while g.queue:
            node = g.queue.popleft()
            g.queued.discard(node)
            if node in g.under:
                continue
            g.know(node)
            tan, top = g.soil(node).tan_repose, g.height(node)
            excess, goes, tight = {}, False, set()
            others = [((node[0] + a, node[1] + b), math.hypot(a, b) * g.ds) for a, b in AROUND]
            others = [(o, d) for o, d in others if o not in g.under]
            steep = False
            for other, d in others:
                drop, natural = top - g.height(other), g.base[node] - g.base[other]
                steep = steep or too_steep(drop, d * tan, natural)
            if not steep:
                continue
            for other, d in others:
                drop, natural = top - g.height(other), g.base[node] - g.base[other]
                over = drop - max(rest * d * tan, natural)
                if over <= 0:
                    continue
                if self.free(other) <= 1e-6:
                    tight.add(other)
                    continue
                goes = goes or too_steep(drop, d * tan, natural)
                excess[other] = over
            if tight:
                held.append(node)
            if not goes:
                continue
            # eq. (12): three quarters of the largest excess, in proportion
            factor, gone = 0.75 * max(excess.values()) / sum(excess.values()), 0.0
            for other, over in excess.items():
                dz = min(factor * over, self.free(other))
                g.put(other, dz)
                gone += dz
                g.wake(other)
            g.ref[node] -= gone
            # what has become too steep by that
            for other, d in others:
                drop, natural = g.height(node) - g.height(other), g.base[node] - g.base[other]
                if other in tight:
                    continue
                if drop >= 0:
                    if too_steep(drop, d * tan, natural):
                        g.wake(node)
                elif too_steep(-drop, d * g.soil(other).tan_repose, -natural):
                    g.wake(other)
        for node in held:
            g.wake(node)


def smaller(values, before, node, after):
    """Slope per spacing over three nodes in a row: the smaller of two, none at a peak."""
    left, right = values[node] - values[before], values[after] - values[node]
    return 0.0 if left * right <= 0 else min(left, right, key=abs)


def too_steep(drop, limit, natural, rest=0.96, film=1e-4):
    """Soil slides: steeper than repose; on a natural slope as steep as that, more than a film."""
    if natural >= rest * limit:
        return drop > natural + film
    return drop > limit * (1 + 1e-12) + 1e-12


def surface_force(wheel, height, pressure, count=400):
    """Σ p n dA over the wheel's lower surface, by brute force: `count`² patches of tread and side.

    Knows nothing of a grid: the limit that the sum over nodes must tend to as the grid gets finer,
    on soil that is pressed for the first time. Returns force and moment about the centre.
    """
    a = wheel.axis
    e1 = np.cross(a, UP if abs(a[2]) < 0.9 else np.array([1.0, 0, 0]))
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(a, e1)
    force, moment = np.zeros(3), np.zeros(3)
    angle = (np.arange(4 * count) + 0.5) * 2 * math.pi / (4 * count)
    ring = np.outer(np.cos(angle), e1) + np.outer(np.sin(angle), e2)

    def add(points, normals, areas):
        level = height(wheel.centre[0] + points[:, 0], wheel.centre[1] + points[:, 1])
        z = level - wheel.centre[2] - points[:, 2]
        p = np.where((z > 0) & (normals[:, 2] > 0.05), pressure(np.maximum(z, 0.0)), 0.0)
        F = (p * areas)[:, None] * normals
        force[:] += F.sum(axis=0)
        moment[:] += np.cross(points, F).sum(axis=0)

    # tread: strips at equal steps of an angle, fine where the surface is steep near the edges
    edges = -wheel.half * np.cos(np.linspace(0, math.pi, count + 1))
    for y0, y1 in zip(edges[:-1], edges[1:], strict=True):
        R0, R1 = float(wheel.tread(y0)), float(wheel.tread(y1))
        y, R, slant = 0.5 * (y0 + y1), 0.5 * (R0 + R1), math.hypot(y1 - y0, R1 - R0)
        n = -ring * (y1 - y0) / slant + a * (R1 - R0) / slant
        add(R * ring + y * a, n, np.full(len(ring), slant * R * 2 * math.pi / len(ring)))
    # flat sides
    for side in (-1.0, 1.0):
        rim = float(wheel.tread(side * wheel.half))
        for k in range(count):
            r = (k + 0.5) * rim / count
            dA = r * rim / count * 2 * math.pi / len(ring)
            n = np.broadcast_to(-side * a, ring.shape)
            add(r * ring + side * wheel.half * a, n, np.full(len(ring), dA))
    return force, moment
