"""Path planning: the cheapest path over a terrain's grid, by slope and obstacles.

The terrain is sampled on a grid of square cells. Around each cell, in a disc of the rover's
footprint radius ρ, a plane is fitted by least squares; from it (S. B. Goldberg, M. W. Maimone,
L. Matthies: Stereo vision and rover navigation software for planetary exploration, IEEE Aerospace
2002, who use step, slope and roughness in this way):

    slope       inclination of the plane [rad]
    roughness   root mean square of the heights about it [m]
    step        greatest difference of height within 3 x 3 cells less what the plane rises there [m]

A cell is blocked if the slope exceeds its limit there, or a step or roughness beyond its limit lies
within ρ. Driving costs, per metre,

    c = 1 + w_slope (slope/limit)² + w_rough (roughness/limit)² + w_step (step/limit)²

The cost of a path is ∫ c ds. Dijkstra's algorithm (SciPy) finds the cheapest path between
neighbouring cells, in eight directions. Then straight lines replace what is cheaper by less than
0.5 %, points about a metre apart move aside while that lowers the cost, and a spline goes through
them; where the spline would touch a blocked cell or cost 3 % more, corners are cut first (G. M.
Chaikin, 1974), or the polyline stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marsyard.control.path_following import Path
from marsyard.control.placement import Ground
from marsyard.errors import InputError

#: cells of a map beyond which memory (some 500 bytes each) becomes a matter of luck
_MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class DrivingLimits:
    """Limits of traversable ground, and costs.

    Attributes:
        slope: greatest inclination [rad].
        step: greatest step [m].
        roughness: greatest roughness [m].
        footprint: ρ, radius of the ground under the rover [m].
        slope_weight, step_weight, roughness_weight: of the cost.
    """

    slope: float = np.radians(20)
    step: float = 0.15
    roughness: float = 0.10
    footprint: float = 0.8
    slope_weight: float = 3.0
    step_weight: float = 3.0
    roughness_weight: float = 3.0


@dataclass(frozen=True, eq=False)
class CostMap:
    """Traversal cost of a terrain; arrays of shape [len(x), len(y)].

    Attributes:
        x, y: of the cells' middles [m].
        slope [rad], roughness [m], step [m]: see the module.
        blocked: where the rover's middle may not be.
        cost: per metre, infinite where blocked.
    """

    x: np.ndarray
    y: np.ndarray
    slope: np.ndarray
    roughness: np.ndarray
    step: np.ndarray
    blocked: np.ndarray
    cost: np.ndarray

    @property
    def cell(self) -> float:
        """Width of a cell [m]."""
        return float(self.x[1] - self.x[0])

    def index(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """The cell of points x, y [m], at the edge if they lie outside."""
        i = np.rint((np.asarray(x) - self.x[0]) / self.cell).astype(int)
        j = np.rint((np.asarray(y) - self.y[0]) / self.cell).astype(int)
        return np.clip(i, 0, len(self.x) - 1), np.clip(j, 0, len(self.y) - 1)

    def cost_of(self, points: np.ndarray) -> float:
        """∫ c ds along a polyline [n, 2]; infinite if it touches a blocked cell."""
        total = 0.0
        for a, b in zip(points[:-1], points[1:], strict=True):
            length = float(np.hypot(*(b - a)))
            n = max(int(np.ceil(3 * length / self.cell)), 1)
            t = (np.arange(n) + 0.5)[:, None] / n
            total += length * float(np.mean(self.cost[self.index(*(a + t * (b - a)).T)]))
        return total


def cost_map(
    ground: Ground,
    bounds: tuple[float, float, float, float],
    cell: float = 0.1,
    limits: DrivingLimits | None = None,
) -> CostMap:
    """The map of a terrain within bounds (xmin, xmax, ymin, ymax) [m]."""
    from scipy import ndimage

    limits = limits or DrivingLimits()
    x = _cells(bounds[0], bounds[1], cell)
    y = _cells(bounds[2], bounds[3], cell)
    if len(x) * len(y) > _MOST_CELLS:
        raise InputError(
            f"bounds: a map of {np.ptp(x):.0f} by {np.ptp(y):.0f} m has {len(x) * len(y):,} cells "
            f"of {cell:g} m, more than {_MOST_CELLS:,}; give goals that are nearer to each other"
        )
    reach = max(int(np.ceil(limits.footprint / cell)), 1)
    grown = [np.pad(a, reach, "reflect", reflect_type="odd") for a in (x, y)]
    height = ground.height(*np.meshgrid(*grown, indexing="ij"))
    rise_x, rise_y, roughness = _planes(height, reach, cell, limits.footprint)
    slope = np.arctan(np.hypot(rise_x, rise_y))
    inside = (slice(reach, -reach), slice(reach, -reach))
    span = ndimage.maximum_filter(height, 3) - ndimage.minimum_filter(height, 3)
    step = np.maximum(span[inside] - 2 * cell * (np.abs(rise_x) + np.abs(rise_y)), 0.0)
    hard = (step > limits.step) | (roughness > limits.roughness)
    if hard.any():
        hard = ndimage.distance_transform_edt(~hard) * cell <= limits.footprint
    blocked = hard | (slope > limits.slope)
    cost = (
        1
        + limits.slope_weight * (slope / limits.slope) ** 2
        + limits.roughness_weight * (roughness / limits.roughness) ** 2
        + limits.step_weight * (step / limits.step) ** 2
    )
    return CostMap(x, y, slope, roughness, step, blocked, np.where(blocked, np.inf, cost))


def _planes(
    height: np.ndarray, reach: int, cell: float, radius: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rise along x and y of the plane fitted in a disc, and the scatter about it [m]."""
    from scipy.signal import fftconvolve

    height = height - height.mean()
    dx, dy = np.meshgrid(*[cell * np.arange(-reach, reach + 1)] * 2, indexing="ij")
    disc = (np.hypot(dx, dy) <= max(radius, cell) + 1e-9).astype(float)
    count, square = disc.sum(), float((disc * dx**2).sum())

    def around(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return fftconvolve(values, weights[::-1, ::-1], mode="valid")

    mean = around(height, disc) / count
    rise_x, rise_y = around(height, disc * dx) / square, around(height, disc * dy) / square
    scatter = around(height**2, disc) / count - mean**2
    scatter -= (rise_x**2 + rise_y**2) * square / count
    return rise_x, rise_y, np.sqrt(np.maximum(scatter, 0.0))


def plan(
    ground: Ground,
    start: tuple[float, float],
    goal: tuple[float, float],
    *,
    limits: DrivingLimits | None = None,
    cell: float = 0.1,
    bounds: tuple[float, float, float, float] | None = None,
) -> Path:
    """The cheapest path from start to goal [m] on a terrain.

    `bounds` (xmin, xmax, ymin, ymax) [m] is where the path may lie: by default a margin of 5 m or
    half the distance around both, within the terrain's own bounds. Raises InputError in one
    sentence if there is none.
    """
    bounds = _bounds(ground, start, goal) if bounds is None else bounds
    return plan_on(cost_map(ground, bounds, cell, limits), start, goal)


def plan_on(costs: CostMap, start: tuple[float, float], goal: tuple[float, float]) -> Path:
    """The cheapest path on a given map."""
    cells = []
    for name, (x, y) in (("start", start), ("goal", goal)):
        half = costs.cell / 2 + 1e-9
        if not (
            costs.x[0] - half <= x <= costs.x[-1] + half
            and costs.y[0] - half <= y <= costs.y[-1] + half
        ):
            raise InputError(f"{name}: ({x:g}, {y:g}) m lies outside the map's bounds")
        i, j = costs.index(x, y)
        if costs.blocked[i, j]:
            raise InputError(f"{name}: ({x:g}, {y:g}) m is {_why(costs, int(i), int(j))}")
        cells.append(int(i) * len(costs.y) + int(j))
    if cells[0] == cells[1]:
        return Path([start, goal])
    nodes = _cheapest(costs, *cells)
    if nodes is None:
        raise InputError(
            f"goal: no path exists from ({start[0]:g}, {start[1]:g}) m to ({goal[0]:g}, "
            f"{goal[1]:g})"
            " m within the limits of slope, step and roughness"
        )
    i, j = np.divmod(nodes, len(costs.y))
    points = np.column_stack([costs.x[i], costs.y[j]])
    points[0], points[-1] = start, goal
    return _smoothed(costs, _relaxed(costs, _straightened(costs, points)))


def _cheapest(costs: CostMap, start: int, goal: int) -> np.ndarray | None:
    """Cells of the cheapest path, or none."""
    from scipy.sparse.csgraph import dijkstra

    graph = _graph(costs)
    distance, before = dijkstra(graph, indices=start, return_predecessors=True)
    if not np.isfinite(distance[goal]):
        return None
    nodes = [goal]
    while nodes[-1] != start:
        nodes.append(int(before[nodes[-1]]))
    return np.array(nodes[::-1])


def _graph(costs: CostMap) -> Any:
    """Cells as nodes, steps to the eight neighbours as edges."""
    from scipy.sparse import csr_array

    shape = costs.cost.shape
    node = np.arange(costs.cost.size).reshape(shape)
    rows, columns, weights = [], [], []
    for di, dj in ((1, 0), (0, 1), (1, 1), (1, -1)):
        a = (slice(0, shape[0] - di), slice(max(-dj, 0), shape[1] - max(dj, 0)))
        b = (slice(di, None), slice(max(dj, 0), shape[1] + min(dj, 0)))
        weight = costs.cell * np.hypot(di, dj) * (costs.cost[a] + costs.cost[b]) / 2
        free = np.isfinite(weight)
        rows += [node[a][free], node[b][free]]
        columns += [node[b][free], node[a][free]]
        weights += [weight[free]] * 2
    edges = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(edges, shape=(node.size, node.size))


def _straightened(costs: CostMap, points: np.ndarray) -> np.ndarray:
    """Points left when straight lines, each as long as may be, replace what is hardly cheaper."""
    so_far = np.cumsum([0.0, *(costs.cost_of(points[k : k + 2]) for k in range(len(points) - 1))])
    kept = [0]
    while kept[-1] < len(points) - 1:
        a, b = kept[-1], len(points) - 1
        while b > a + 1 and costs.cost_of(points[[a, b]]) > 1.005 * (so_far[b] - so_far[a]):
            b -= 1
        kept.append(b)
    return points[kept]


def _relaxed(costs: CostMap, points: np.ndarray, rounds: int = 60) -> np.ndarray:
    """The path pulled taut: points about a metre apart move aside while that makes it cheaper."""
    if len(points) < 3:
        return points
    points = _divided(points, 1.0)
    angles = np.arange(8) * np.pi / 4
    moves = np.column_stack([np.cos(angles), np.sin(angles)])
    reach = costs.cell
    for _ in range(rounds):
        moved = False
        for k in range(1, len(points) - 1):
            around = points[k - 1 : k + 2].copy()
            least = costs.cost_of(around)
            for move in moves:
                trial = around.copy()
                trial[1] = around[1] + reach * move
                cost = costs.cost_of(trial)
                if cost < least - 1e-9:
                    least, points[k], moved = cost, trial[1], True
        if not moved:
            reach /= 2
            if reach < costs.cell / 5:
                break
    return points


def _divided(points: np.ndarray, longest: float) -> np.ndarray:
    """The same polyline with points no further apart than `longest` [m]."""
    pieces = [points[:1]]
    for a, b in zip(points[:-1], points[1:], strict=True):
        n = max(int(np.ceil(np.hypot(*(b - a)) / longest)), 1)
        pieces.append(a + (b - a) * np.arange(1, n + 1)[:, None] / n)
    return np.vstack(pieces)


def _smoothed(costs: CostMap, points: np.ndarray) -> Path:
    """A spline through the points, or what corner cutting leaves of it, if that path is free."""
    if len(points) < 3:
        return Path(points)
    bound = 1.03 * costs.cost_of(points)
    for trial in (points, _cut(points), _cut(_cut(points))):
        path = Path(trial, smooth=True)
        if costs.cost_of(path.points) <= bound:
            return path
    return Path(points)


def _cut(points: np.ndarray) -> np.ndarray:
    """Corners cut at a quarter of each side."""
    a, b = points[:-1], points[1:]
    cut = np.stack([0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b], axis=1).reshape(-1, 2)
    return np.vstack([points[:1], cut[1:-1], points[-1:]])


def _why(costs: CostMap, i: int, j: int) -> str:
    return (
        f"not traversable: slope {np.degrees(costs.slope[i, j]):.0f}°, "
        f"roughness {costs.roughness[i, j]:.2f} m, or a step or rough ground within the footprint"
    )


def _bounds(ground: Ground, start, goal) -> tuple[float, float, float, float]:
    margin = max(5.0, 0.5 * float(np.hypot(goal[0] - start[0], goal[1] - start[1])))
    wanted = (
        min(start[0], goal[0]) - margin,
        max(start[0], goal[0]) + margin,
        min(start[1], goal[1]) - margin,
        max(start[1], goal[1]) + margin,
    )
    own = getattr(ground, "bounds", None)
    if own is None:
        return wanted
    x0, x1 = max(wanted[0], own[0]), min(wanted[1], own[1])
    y0, y1 = max(wanted[2], own[2]), min(wanted[3], own[3])
    return x0, x1, y0, y1


def _cells(low: float, high: float, cell: float) -> np.ndarray:
    """Middles of cells [m]."""
    if not cell > 0:
        raise InputError(f"cell: {cell:g} m; it must be above 0")
    if not high - low >= 2 * cell:
        raise InputError(
            f"bounds: from {low:g} to {high:g} m; give at least two cells of {cell:g} m"
        )
    if (high - low) / cell > _MOST_CELLS:
        raise InputError(
            f"bounds: from {low:g} to {high:g} m; give at most {_MOST_CELLS:,} cells of {cell:g} m"
        )
    return low + cell * np.arange(int(np.floor((high - low) / cell + 1e-9)) + 1)
