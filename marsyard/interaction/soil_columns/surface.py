"""A surface without load: avalanches, Grand et al. 2001, eqs. (14) to (19).

Columns of height H_i [m] and width l [m]; matter crosses the faces between them. Over each face,
with α the slope of the surface there,

    ẍ = −ν ẋ + g sin α                                                      eq. (15)
    Φ = γ ẋ cos α e                                                         eq. (16)
    ΔH_i = Δt/(γ l) (Φ_(i−½) − Φ_(i+½)),  Φ positive towards larger x       for eq. (19)

The flow has inertia: its speed tends to g sin α/ν with the time constant 1/ν. The state of a face
is the horizontal part u = ẋ cos α [m/s] of its speed, u̇ = −ν u + g sin α cos α. Over a step this is
integrated exactly for a constant slope, and the mean of u moves the matter.

Eq. (19) as printed has a factor of 2, 2Δt/(γ l), and Φ_i − Φ_(i−1) with the sign of a flow towards
smaller i. The factor comes from eq. (18), which gives a column only half its width, γ l/2; eqs.
(17) and (18) together would even demand ΔW_i = ΔH_i γ l/2 and ΔW_(i−1) = 0. What flows over a face
in Δt has the mass Φ Δt by eq. (16), and a column of width l that takes it in rises by Φ Δt/(γ l):
the factor is 1. (With the printed one heights still sum up to the same, but twice as much matter
moves as eq. (16) says.)

Eq. (15) belongs to an element of matter. What arrives in a column brings its speed along and mixes
with what lies there, u ← (e u + Σ ΔH_in u_in)/(e + Σ ΔH_in). Were speed tied to the place, every
new column at the foot would start from rest, and an avalanche would be the slower the finer the
grid. Eqs. (15) and (16) also carry waves, of the speed √(g e): steps are short enough for them, and
speeds of neighbouring faces are evened out by ½ √(g e) Δt/l, which damps waves of a few columns
only.

Thickness e. The paper draws the layer but does not say how thick it is. With e vertical, ẋ cos α e
is the volume per width and time. Matter can move if it lies above the surface that would rest: the
highest one below the present that is nowhere steeper than the angle of rest β_r,

    S = max { s : s ≤ H, |∇s| ≤ tan β_r },    e = H − S,

taken over the columns beside faces that flow or are steeper than β_r (level ground behind a crest
stands until the crest has gone). On a plane slope e grows with the height over its toe as the wedge
above the plane of β_r does, whatever the grid. e at a face is that of the column that gives. A face
steeper than 45° pulls as one of 45°: a cliff does not slide along itself.

Start and end. Flow starts where the slope exceeds the critical β₀, or, without cohesion, where
moving matter arrives on a slope above β_r ("an avalanche can result from a small perturbation"). On
slopes below β_r (within half a percent), tan β_r = rest · tan β₀, friction is more than the weight
along them: flow slows by g cos² α (tan β_r − tan α) and ends. It also ends where e is gone.

Critical slope after Li and Moshell (1993): limit equilibrium of the wedge above a plane failure
surface. A slope of angle α and height h in a soil of cohesion c, friction angle φ, unit weight γ
carries itself while

    h ≤ h_c = 4 c/γ · sin α cos φ / (1 − cos(α − φ))                        (Culmann)

which is β₀ = φ for c = 0 and lets a vertical cut stand up to (4 c/γ) tan(45° + φ/2). The height
below a face follows from e: h = e/(1 − tan β_r/tan α), exact for a plane slope and for a cliff.
Soil that flows has lost its cohesion until it rests. A soil that gives an angle of repose has it as
β₀, without cohesion.

In 3D the slope of a face is that of the surface: √(t² + s²) with t along the face's axis and s
across it, mean of the four differences there. The pull along the axis is its part t/√(t² + s²). S
comes from the first-order (Godunov) form of |∇S| = tan β_r. Where all is alike along y, every row
does what the planar model does. In the planar model rows do not exchange matter. Natural slopes
stand as they are, however steep: limits are never below the slope of the undisturbed ground.

Not to overshoot: a column gives away no more than half of e in a step (steps are cut so that this
hardly ever counts), and no face is made to slope the other way, given what arrives above and leaves
below in the same step. Under bodies only the free height is filled, and columns under a body
neither give nor take.

Only columns that rose, fell or move are looked at. Every height that leaves a column arrives at
another one: matter is conserved to rounding.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import (
    ARRIVES,
    AWAKE,
    BASE,
    F_X,
    F_Y,
    FREE,
    L_X,
    LEAVES,
    M_X,
    N_X,
    NODES,
    QUEUED,
    RESTING,
    SHIFT,
    SIDE,
    STEEP,
    T_X,
    TIME,
    U_X,
    U_Y,
    UNDER,
    beside,
    deposit,
    remove,
    surface,
    wake,
    wake_around,
)
from marsyard.interaction.soil_columns.arrays import (
    COS_START,
    SIN_START,
    SLOPE_COHESION,
    TAN_REST,
    TAN_START,
    UNIT_WEIGHT,
)
from marsyard.interaction.soil_contact.footprint import clearance
from marsyard.jit import inlined, kernel

#: a layer thinner than this part of the spacing does not flow
_THIN = 5e-3
#: flow ends when the slope is as near as this to that of rest
_NEAR = 1.005
#: of a step: waves of the speed √(g e) go no further than this part of a column
_COURANT = 0.65
#: flow slower than this part of g/ν comes to a stop where it is not steep
_CREEP = 2e-3
#: a column gives away no more than this part of its layer at once
_MOST = 0.5
#: sweeps of the surface that would rest, and of the limits on what flows
_SWEEPS = 60
_LIMITS = 2
#: a flow is cut into no more steps than this
_PARTS = 1000
#: under a body this much free height counts as none [m]
_TIGHT = 1e-6


@kernel
def flow_of_columns(grid, soils, bodies, patch, options):
    """Let the surface flow for the time options.dt. Returns how many columns are still awake."""
    rest = options.dt
    for _ in range(_PARTS):
        if grid.queue_ends[1] == 0 or rest <= 1e-9 * options.dt:
            break
        # equal steps, not one that is left over
        dt = rest / math.ceil(rest / options.chunk * (1.0 - 1e-9))
        rest -= surface_step(grid, soils, bodies, patch, options, dt)
    return grid.queue_ends[1]


@kernel
def surface_step(grid, soils, bodies, patch, options, dt):
    """One step of all columns that are awake, of dt or less. Returns the step."""
    for k in range(grid.queue_ends[1]):
        stir(grid, entry(grid, k))
    flows = find_slopes(grid, soils, options.planar)
    if flows:
        thickest = find_resting(grid, soils, options.planar)
        dt = min(dt, _COURANT * grid.spacing[0] / math.sqrt(options.gravity * thickest + 1e-12))
        speeds(grid, soils, options, dt)
        limit_flow(grid, bodies, patch, options.planar)
        mix_speeds(grid, soils, options, dt)
        move(grid, options.planar, options.time)
    rebuild(grid)
    return dt


@inlined
def entry(grid, k):
    """Number k of the columns that are awake."""
    at = grid.queue_ends[0] + k
    size = grid.queue.shape[0]
    return grid.queue[at - size if at >= size else at]


@kernel
def stir(grid, node):
    """Wake a column and the eight around it."""
    local = node & (NODES - 1)
    i, j = local >> SHIFT, local & (SIDE - 1)
    if i == 0 or j == 0 or i == SIDE - 1 or j == SIDE - 1:
        wake_around(grid, node)
        return
    for row in range(node - SIDE, node + SIDE + 1, SIDE):
        for other in range(row - 1, row + 2):
            if not grid.flag[other] & QUEUED:
                wake(grid, other)


@inlined
def across(grid, node, di, dj, natural):
    """Twice the spacing times the slope of the surface along (di, dj) at a node; of the undisturbed
    ground if `natural`. Where a neighbour is missing or under a body its height counts as the
    node's own."""
    here = grid.node[node, BASE] if natural else surface(grid, node)
    before, after = here, here
    other = beside(grid, node, -di, -dj)
    if other >= 0 and not grid.flag[other] & UNDER:
        before = grid.node[other, BASE] if natural else surface(grid, other)
    other = beside(grid, node, di, dj)
    if other >= 0 and not grid.flag[other] & UNDER:
        after = grid.node[other, BASE] if natural else surface(grid, other)
    return (before - here) + (here - after)


@inlined
def slope_of(grid, node, other, axis, planar, natural):
    """Slope of the surface at a face: its part along the axis (down is positive), magnitude."""
    ds = grid.spacing[0]
    if natural:
        t = (grid.node[node, BASE] - grid.node[other, BASE]) / ds
    else:
        t = (surface(grid, node) - surface(grid, other)) / ds
    if planar:
        return t, abs(t)
    s = across(grid, node, axis, 1 - axis, natural) + across(grid, other, axis, 1 - axis, natural)
    s /= 4.0 * ds
    return t, math.sqrt(t * t + s * s)


@kernel
def find_slopes(grid, soils, planar):
    """Slopes of all faces between columns that are awake; those that flow or are steeper than at
    rest are marked, and the columns beside them.

    Returns whether anything flows or may start to.
    """
    flows = False
    k = 0
    # the number grows where a standing slope must be seen as a whole
    while k < grid.queue_ends[1]:
        node = entry(grid, k)
        k += 1
        column = grid.column[node]
        for axis in range(2):
            column[M_X + axis] = -1.0
            column[F_X + axis] = 0.0
            if planar and axis == 1:
                continue
            other = beside(grid, node, 1 - axis, axis)
            if other < 0 and not math.isnan(grid.node[node, TIME]):
                # its tile was asked for
                grid.flag[node] |= AWAKE
            if other < 0 or (grid.flag[node] | grid.flag[other]) & UNDER:
                column[U_X + axis] = 0.0
                continue
            if not grid.flag[other] & QUEUED:
                continue
            t, m = slope_of(grid, node, other, axis, planar, False)
            soil = soils.granular[grid.soil[node if t > 0.0 else other]]
            moves = column[U_X + axis] != 0.0
            limit = _NEAR * soil[TAN_REST]
            natural = 0.0
            if m > limit:
                natural = slope_of(grid, node, other, axis, planar, True)[1] * (1.0 + 1e-9)
                limit = max(limit, natural)
            if m <= limit and not moves:
                continue
            column[M_X + axis] = m
            column[T_X + axis] = t
            column[L_X + axis] = limit
            grid.flag[node] |= STEEP
            grid.flag[other] |= STEEP
            flows = flows or moves or m > max(soil[TAN_START], natural)
            if m > limit and soil[SLOPE_COHESION] > 0.0:
                stir(grid, node)
                stir(grid, other)
    return flows


@kernel
def find_resting(grid, soils, planar):
    """S, the surface that would rest, on all marked columns. Returns the largest H − S."""
    count = grid.queue_ends[1]
    for k in range(count):
        node = entry(grid, k)
        if grid.flag[node] & STEEP:
            grid.column[node, RESTING] = surface(grid, node)
    for sweep in range(_SWEEPS):
        changed = False
        for n in range(count):
            node = entry(grid, n if sweep % 2 == 0 else count - 1 - n)
            if grid.flag[node] & STEEP:
                s = rests_on(grid, soils, node, planar)
                if s < grid.column[node, RESTING] - 1e-12:
                    grid.column[node, RESTING] = s
                    changed = True
        if not changed:
            break
    thickest = 0.0
    for k in range(count):
        node = entry(grid, k)
        if grid.flag[node] & STEEP:
            thickest = max(thickest, surface(grid, node) - grid.column[node, RESTING])
    return thickest


@inlined
def lowest(grid, node, di, dj):
    """Lowest resting surface of the two neighbours along (di, dj), and the largest natural drop."""
    low = math.inf
    drop = 0.0
    for side in (-1, 1):
        other = beside(grid, node, side * di, side * dj)
        if other < 0 or grid.flag[other] & UNDER:
            continue
        s = grid.column[other, RESTING] if grid.flag[other] & STEEP else surface(grid, other)
        low = min(low, s)
        drop = max(drop, grid.node[node, BASE] - grid.node[other, BASE])
    return low, drop


@inlined
def rests_on(grid, soils, node, planar):
    """The highest surface that rests on the neighbours of a column."""
    a, drop = lowest(grid, node, 1, 0)
    limit = grid.spacing[0] * soils.granular[grid.soil[node], TAN_REST]
    if planar:
        return a + max(limit, drop)
    b, other = lowest(grid, node, 0, 1)
    limit = math.sqrt(max(limit * limit, drop * drop + other * other))
    if not abs(a - b) < limit:
        return min(a, b) + limit
    return 0.5 * (a + b + math.sqrt(2.0 * limit * limit - (a - b) * (a - b)))


@kernel
def speeds(grid, soils, options, dt):
    """Speed of the flow over all marked faces at the end of the step, and what crosses them."""
    ds = grid.spacing[0]
    nu, g = options.viscosity, options.gravity
    left = math.exp(-nu * dt)
    for k in range(grid.queue_ends[1]):
        node = entry(grid, k)
        column = grid.column[node]
        for axis in range(2):
            m = column[M_X + axis]
            if m < 0.0:
                continue
            t = column[T_X + axis]
            u = column[U_X + axis]
            forth = u > 0.0 or (u == 0.0 and t > 0.0)
            giver = node if forth else beside(grid, node, 1 - axis, axis)
            e = surface(grid, giver) - grid.column[giver, RESTING]
            soil = soils.granular[grid.soil[giver]]
            # g sin α cos α along the axis; a face steeper than 45° slides as one of 45°
            slide = min(m, 1.0)
            square = 1.0 / (1.0 + slide * slide)
            pull = g * slide * square * t / m if m > 0.0 else 0.0
            little = e * max(abs(u) * nu, abs(pull)) <= _THIN * ds * g
            if little or (u == 0.0 and stands(soil, m, column[L_X + axis], e)):
                column[U_X + axis] = 0.0
                column[M_X + axis] = -1.0
                continue
            steep = m > column[L_X + axis]
            if not steep:
                # friction is more than the weight along the slope
                pull -= math.copysign(g * square * column[L_X + axis], u)
            # eq. (15), exactly, and the mean over the step
            last = pull / nu
            mean = last + (u - last) * (1.0 - left) / (nu * dt)
            end = last + (u - last) * left
            if not steep and end * math.copysign(1.0, u) <= _CREEP * g / nu:
                end = 0.0
                mean = 0.5 * u * left
            column[U_X + axis] = end
            column[F_X + axis] = mean * e * dt / ds


@inlined
def stands(soil, m, limit, e):
    """A slope at rest stays: not steeper than critical, or held by cohesion."""
    if m <= max(soil[TAN_START], limit):
        return True
    c = soil[SLOPE_COHESION]
    if c <= 0.0:
        return False
    cos = 1.0 / math.sqrt(1.0 + m * m)
    sin = m * cos
    height = e / (1.0 - soil[TAN_REST] / m)
    turned = 1.0 - (cos * soil[COS_START] + sin * soil[SIN_START])
    return height * soil[UNIT_WEIGHT] * turned <= 4.0 * c * sin * soil[COS_START]


@inlined
def crossing(grid, node, column):
    """What crosses the face owned by a column; nothing if that is not awake."""
    if node < 0 or not grid.flag[node] & QUEUED:
        return 0.0
    return grid.column[node, column]


@inlined
def sums(grid, node, planar):
    """What leaves a column and what arrives [m]."""
    east = grid.column[node, F_X]
    west = crossing(grid, beside(grid, node, -1, 0), F_X)
    out = max(east, 0.0) + max(-west, 0.0)
    into = max(-east, 0.0) + max(west, 0.0)
    if not planar:
        north = grid.column[node, F_Y]
        south = crossing(grid, beside(grid, node, 0, -1), F_Y)
        out += max(north, 0.0) + max(-south, 0.0)
        into += max(-north, 0.0) + max(south, 0.0)
    return out, into


@kernel
def limit_flow(grid, bodies, patch, planar):
    """Cut what crosses the faces to what columns have, what has room, and what levels a face."""
    count = grid.queue_ends[1]
    for sweep in range(_LIMITS):
        for k in range(count):
            node = entry(grid, k)
            if not grid.flag[node] & STEEP:
                continue
            column = grid.column[node]
            column[LEAVES], column[ARRIVES] = sums(grid, node, planar)
            if sweep == 0:
                column[FREE] = math.inf
                if column[ARRIVES] > 0.0:
                    column[FREE] = clearance(grid, bodies, patch, node)
        for k in range(count):
            node = entry(grid, k)
            for axis in range(2):
                crosses = grid.column[node, F_X + axis]
                if crosses == 0.0:
                    continue
                other = beside(grid, node, 1 - axis, axis)
                upper, lower = (node, other) if crosses > 0.0 else (other, node)
                a, b = grid.column[upper], grid.column[lower]
                drop = surface(grid, upper) - surface(grid, lower)
                part = min(1.0, (drop + b[LEAVES] + a[ARRIVES]) / (a[LEAVES] + b[ARRIVES]))
                e = surface(grid, upper) - a[RESTING]
                part = max(min(part, _MOST * e / a[LEAVES], b[FREE] / b[ARRIVES]), 0.0)
                if b[FREE] <= _TIGHT:
                    # held up by a body: again with the next flow
                    part = 0.0
                    grid.flag[upper] |= AWAKE
                    grid.column[node, U_X + axis] = 0.0
                grid.column[node, F_X + axis] = part * crosses


@inlined
def arriving(grid, before, node, axis):
    """Height that comes into a column along an axis, and that times its speed."""
    into = max(crossing(grid, before, F_X + axis), 0.0)
    back = max(-grid.column[node, F_X + axis], 0.0)
    carried = back * grid.column[node, U_X + axis]
    if into > 0.0:
        carried += into * grid.column[before, U_X + axis]
    return into + back, carried


@inlined
def differs(grid, node, axis, u):
    """How much faster the flow is over the face owned by a column; 0 if nothing flows there."""
    there = crossing(grid, node, U_X + axis)
    return there - u if there != 0.0 else 0.0


@kernel
def mix_speeds(grid, soils, options, dt):
    """Matter that arrives in a column brings its speed along; waves shorter than a few columns are
    damped."""
    count = grid.queue_ends[1]
    per_ds = dt / grid.spacing[0]
    for axis in range(1 if options.planar else 2):
        for k in range(count):
            node = entry(grid, k)
            if grid.flag[node] & STEEP:
                before = beside(grid, node, axis - 1, -axis)
                came, carried = arriving(grid, before, node, axis)
                grid.column[node, ARRIVES] = came
                grid.column[node, LEAVES] = carried
        for k in range(count):
            node = entry(grid, k)
            column = grid.column[node]
            m = column[M_X + axis]
            if m < 0.0:
                continue
            u = column[U_X + axis]
            forth = u > 0.0 or (u == 0.0 and column[T_X + axis] > 0.0)
            after = beside(grid, node, 1 - axis, axis)
            giver = node if forth else after
            came = grid.column[giver, ARRIVES]
            e = surface(grid, giver) - grid.column[giver, RESTING]
            held = soils.granular[grid.soil[giver], SLOPE_COHESION] > 0.0
            new = u
            if came > 0.0 and (u != 0.0 or not held):
                new = (e * u + grid.column[giver, LEAVES]) / (e + came)
            if u != 0.0:
                wave = min(0.5 * math.sqrt(options.gravity * e) * per_ds, 0.25)
                back = differs(grid, beside(grid, node, axis - 1, -axis), axis, u)
                new += wave * (back + differs(grid, after, axis, u))
            column[N_X + axis] = new
        for k in range(count):
            column = grid.column[entry(grid, k)]
            if column[M_X + axis] >= 0.0:
                column[U_X + axis] = column[N_X + axis]


@kernel
def move(grid, planar, time):
    """Eq. (19) on all columns."""
    for k in range(grid.queue_ends[1]):
        node = entry(grid, k)
        if not grid.flag[node] & STEEP:
            continue
        column = grid.column[node]
        dz = crossing(grid, beside(grid, node, -1, 0), F_X) - column[F_X]
        if not planar:
            dz += crossing(grid, beside(grid, node, 0, -1), F_Y) - column[F_Y]
        if dz != 0.0 or column[U_X] != 0.0 or column[U_Y] != 0.0:
            grid.flag[node] |= AWAKE
        if dz == 0.0:
            continue
        if dz > 0.0:
            deposit(grid, node, dz)
        else:
            remove(grid, node, -dz)
        grid.node[node, TIME] = time


@kernel
def rebuild(grid):
    """Columns at rest are forgotten until something wakes them."""
    size = grid.queue.shape[0]
    for _ in range(grid.queue_ends[1]):
        node = grid.queue[grid.queue_ends[0]]
        grid.queue_ends[0] += 1
        if grid.queue_ends[0] == size:
            grid.queue_ends[0] = 0
        grid.queue_ends[1] -= 1
        again = grid.flag[node] & AWAKE
        grid.flag[node] &= ~(QUEUED | STEEP | AWAKE) & 0xFF
        if again:
            wake(grid, node)
