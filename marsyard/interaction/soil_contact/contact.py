"""Stresses and forces between a body and the soil under it, node by node.

Krenn and Hirzinger 2008, eqs. (3) to (5), on the nodes of the footprint or, under a wheel, on the
strips of their cells (`footprint`); node stands for both here. For a node with soil level
L = base + ref [m] under the body's lower surface at height w, sinkage z = L − w [m]:

normal stress [Pa]
    p = k z^n,   k = k_c/b + k_φ                                            eq. (3), Bekker
    reece:  p = (c k'_c + γ b k'_φ) (z/b)^n, that is another k for the same power law
    elastic unloading and reloading:  p = min(k_u (z − z_p), k z^n); where the second is the
    smaller, soil yields and z_p ← z − p/k_u. Without elastic unloading (Krenn) k_u is so large
    that the stress is gone after microns; p = 0 where z ≤ z_p.
    damping:  p ← max(0, p − R v_n), v_n [m/s] the body's velocity along the normal n, out of the
    soil positive.

shear stress [Pa], on the body against its motion, in the tangent plane
    τ = (c + p tan φ) m,   |m| ≤ 1                                          eq. (5)
    ṁ = (v_t − |v_t| m)/K                                                    Janosi-Hanamoto

    m is how much of the soil's strength is mobilised, and where to. For a steady slip this is
    Janosi and Hanamoto's m = 1 − exp(−j/K) with shear displacement j = ∫|v_t| dt, exactly. Unlike
    that formula it also says what happens when the slip turns or reverses: the stress follows
    within a shear displacement of some K, with hysteresis, and at rest it stays (it is Dahl's
    friction model for K and the soil's strength). The energy ½ τ_max K |m|² is stored and
    τ_max |v_t| |m|² dissipated, never negative. Over a step m is integrated exactly for constant
    v_t: m ← v̂ + (m − v̂) exp(−|v_t| h/K).
    Krenn's Coulomb form, τ = (c + p tan φ) v̂, is the limit of small K; it is taken with a stick
    length of a tenth of a millimetre in place of K, which removes its singularity at rest.
    K may differ along and across the wheel.
    m belongs to the contact of this body with this node: it starts at zero when the body arrives,
    and is forgotten with the first flow after it has left.

force on the body [N]
    F = A (p n − τ m-direction),   A = weight · ds²/n_z                      eq. (4)
    A is the area of the body's surface above the node: the horizontal part of the normal stresses
    of a wheel is then b ∫ p dz, Bekker's compaction resistance.

Time stepping. The stress is predicted for the end of the step, p ← p − θ h (∂p/∂z) v_n, and the
forces' derivative with respect to the body's velocity V = (v_centre, spin about the axle; the
whole angular velocity for bodies other than wheels),

    B = Σ A [ (R + θ h ∂p/∂z) n nᵀ + τ_max (∂m/∂v) ],   symmetric and not negative,

goes into the inertia matrix (M + h JᵀBJ): the step is linearly implicit in the soil, stable
however stiff it is. With x = |v|h/K, ∂m/∂v is (h/K) e^(−x) (1 − m·v̂) along v̂ and
(1 − e^(−x))/|v| across.

Displaced soil. What a step presses down, dz = Δz_p, is split by the kinematics at the node
(v_N, v_T normal and tangential velocity):
    sinkage v_Nz²/v²,   bulldozing (v_Nx² + v_Ny²)/v²,   shearing v_T²/v²     eqs. (6) to (8)
and is laid down by `flow`.
Slip carries soil along, too, which is not pressed (`digging`); soil under a wheel that slips is
softer (`tread`), its slip being that built up over its contact.

Resistance split. The part of p n along the heading that soil at the undisturbed level would give,
p (z_u/z)^n with z_u = base − w, counts as compaction; the rest, from soil piled up above that
level, as bulldozing resistance. Like the stresses of the single nodes it is worked out in every
sixteenth step only.

How it is computed. The nodes under a body stand in blocks (see `arrays`), all of one soil. What is
alike for all nodes is done in plain loops over a block, without branches, on vector units; nodes
and lists are only touched one by one to read them before and to write them after.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import MOST_STRIPS, REF
from marsyard.interaction.slip import softened
from marsyard.interaction.soil_contact.arrays import (
    AREA,
    BELT,
    CARRIED,
    COHESION,
    CX,
    CY,
    CZ,
    DAMPING,
    EXPONENT,
    EXPONENT_SLIP,
    F_ACROSS,
    F_ALONG,
    F_AREA,
    F_PRESSURE,
    F_X,
    F_Y,
    F_Z,
    FILLED,
    FLUX,
    FORCE_C,
    FORCE_N,
    FORCE_T,
    K_ACROSS,
    K_ALONG,
    KAPPA,
    LEFT_OUT,
    LOADED,
    MOBILE_ACROSS,
    MOBILE_ALONG,
    NX,
    NY,
    NZ,
    PLASTIC_WORK,
    PRESSURE,
    PUSHED_VOLUME,
    PUSHED_X,
    PUSHED_Y,
    PX,
    PY,
    PZ,
    RATE_C,
    RATE_N,
    RATE_T,
    SHEAR_WORK,
    SINKAGE,
    SLIP_X,
    SLIP_Y,
    SOFTENING,
    STRENGTH,
    SUNK,
    SUNK_VOLUME,
    TAN_PHI,
    TAN_REPOSE,
    TANGENT,
    TX,
    TY,
    TZ,
    UNLOADING,
    WEIGHT,
    WHEEL,
    Z,
)
from marsyard.interaction.soil_contact.belt import add_load, give_way
from marsyard.interaction.soil_contact.digging import cut_ahead, depth_dug, move_soil
from marsyard.interaction.soil_contact.footprint import has_axle, strip_area
from marsyard.interaction.soil_contact.nodes import find_nodes, take_mobilised
from marsyard.interaction.soil_contact.powers import decay, power
from marsyard.interaction.soil_contact.side_wall import push_on_wall
from marsyard.interaction.soil_kernels import (
    OK,
    T_AREA,
    T_BULLDOZING,
    T_COMPACTION,
    T_NODES,
    T_PLASTIC_WORK,
    T_PRESSURE,
    T_SHEAR,
    T_SHEAR_WORK,
    T_VOLUME,
)
from marsyard.jit import VECTOR, inlined, kernel

#: steepest surface whose area is counted in full, as 1/cos
_LARGEST_SLANT = 10.0


@kernel
def body_contact(grid, soils, bodies, patch, options, belts, b):
    """Forces on body b; soil state and contact state are brought up to date. Returns a status."""
    status = find_nodes(grid, bodies, patch, b, MOST_STRIPS)
    if status != OK:
        return status
    stresses(grid, soils, bodies, patch, options, belts, b)
    move_belt(bodies, belts, b)
    return OK


@kernel
def stresses(grid, soils, bodies, patch, options, belts, b):
    """Stresses on all nodes found, summed to the force, its derivative and the totals."""
    cell = strip_area(grid, patch, b)
    twist, axis, strip = bodies.twist[b], bodies.axis[b], has_axle(bodies, b)
    rolls, kappa = bodies.kind[b] == WHEEL, bodies.slip[b, KAPPA]
    begin_sums(patch, options, b)
    for k in range(patch.blocks[0]):
        padded = take_mobilised(patch, b, k)
        soil, w = patch.block_soil[k], patch.block[k]
        q = soils.table[soil]
        modulus = soils.modulus[b, soil] * softened(q[SOFTENING] * q[EXPONENT], kappa)
        exponent = q[EXPONENT] + q[EXPONENT_SLIP] * abs(kappa)
        layer, released = soils.layer[b, soil], soils.released[b, soil]
        dug, rise = depth_dug(bodies, b, layer, released, q[TAN_REPOSE])
        cut_ahead(w, padded, dug, patch.share[b])
        first_loading(w, padded, modulus, exponent)
        press(w, padded, q, soils.strength[b, soil], twist, axis, strip, rolls, options.h,
              options.implicit, cell, rise)  # fmt: skip
        sum_block(bodies, patch, options, belts, b, k, padded)
        if options.survey:
            survey(grid, patch, b, k, exponent, axis)
    move_soil(grid, soils, bodies, patch, options, b)
    push_on_wall(grid, soils, bodies, patch, options.h, b)
    patch.total[b, T_SHEAR_WORK] *= options.h


# --- shared by all laws of bodies on nodes


@kernel
def begin_sums(patch, options, b):
    """Empty the sums of body b."""
    force, stiff, total = patch.force[b], patch.stiff[b], patch.total[b]
    for i in range(force.shape[0]):
        force[i] = 0.0
    for i in range(stiff.shape[0]):
        stiff[i] = 0.0
    if options.survey or patch.touched[b] == 0:
        for column in (T_COMPACTION, T_BULLDOZING, T_PRESSURE, T_SHEAR):
            total[column] = 0.0
        patch.field_count[b] = 0
    for column in (T_AREA, T_PLASTIC_WORK, T_SHEAR_WORK, T_VOLUME):
        total[column] = 0.0
    total[T_NODES] = patch.touched[b]


@inlined
def sum_block(bodies, patch, options, belts, b, k, padded):
    """Add a pressed block to all sums."""
    w, count, axis = patch.block[k], patch.block_count[k], bodies.axis[b]
    is_belt = bodies.kind[b] == BELT
    add_up(w, padded, axis, is_belt, patch.force[b], patch.stiff[b], patch.total[b])
    if bodies.kind[b] != WHEEL:
        add_rotation(w, count, is_belt, patch.stiff[b])
    if is_belt and belts.nodes[b] > 0:
        add_load(belts, b, w, count, bodies.rotation[b], options.implicit)


@inlined
def move_belt(bodies, belts, b):
    """Let the lower run of a track give way to what presses on it."""
    if bodies.kind[b] == BELT and belts.nodes[b] > 0:
        give_way(belts, bodies, b)


@kernel(fastmath=VECTOR)
def first_loading(w, count, k, n):
    """Pressure on first loading, k zⁿ [Pa], and its derivative. Powers are costly: n = 1 and n = ½
    are common."""
    if n == 1.0:
        for i in range(count):
            w[LOADED + i] = k * w[Z + i]
    elif n == 0.5:
        for i in range(count):
            w[LOADED + i] = k * math.sqrt(w[Z + i])
    else:
        for i in range(count):
            w[LOADED + i] = k * power(w[Z + i], n)
    for i in range(count):
        w[TANGENT + i] = n * w[LOADED + i] / w[Z + i]


@kernel(fastmath=VECTOR)
def press(w, count, q, tread, twist, axis, has_axis, rolls, h, ahead, cell, rise):
    """Stresses, forces and their derivatives, and what becomes of the soil, in a block; `dug`: how
    deep slip digs, `rise`: how far what it releases fills the gap behind a wheel [m]."""
    V0, V1, V2, W0, W1, W2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    belt = twist[6]
    cohesion, tan_phi, k_u, damping = tread[COHESION], tread[TAN_PHI], q[UNLOADING], q[DAMPING]
    per_along, per_across = h / tread[K_ALONG], h / tread[K_ACROSS]
    per_k_u = 1.0 / k_u
    # across: the axle's (or the world's y) direction in the tangent plane; along: heading
    ax, ay, az = 0.0, 1.0, 0.0
    if has_axis:
        ax, ay, az = axis[0], axis[1], axis[2]
    for k in range(count):
        nx, ny, nz = w[NX + k], w[NY + k], w[NZ + k]
        px, py, pz = w[PX + k], w[PY + k], w[PZ + k]
        weight = w[WEIGHT + k]
        touches = weight > 0.0
        flat = weight * cell
        area = flat * min(1.0 / nz, _LARGEST_SLANT)

        # velocity of the body's surface here, along the normal and in the tangent plane
        vx = V0 + W1 * pz - W2 * py
        vy = V1 + W2 * px - W0 * pz
        vz = V2 + W0 * py - W1 * px
        vn = vx * nx + vy * ny + vz * nz
        f = ax * nx + ay * ny + az * nz
        cx, cy, cz = ax - f * nx, ay - f * ny, az - f * nz
        # the axle stands on the surface: any direction will do
        upright = cx * cx + cy * cy + cz * cz < 1e-12
        cx = 1.0 - nx * nx if upright else cx
        cy = -nx * ny if upright else cy
        cz = -nx * nz if upright else cz
        f = 1.0 / math.sqrt(cx * cx + cy * cy + cz * cz)
        cx, cy, cz = f * cx, f * cy, f * cz
        tx, ty, tz = cy * nz - cz * ny, cz * nx - cx * nz, cx * ny - cy * nx
        along = vx * tx + vy * ty + vz * tz - belt
        across = vx * cx + vy * cy + vz * cz
        speed = math.sqrt(along * along + across * across)

        # shear: how much of the strength is mobilised at the end of the step
        xa, xc = along * per_along, across * per_across
        x = math.sqrt(xa * xa + xc * xc)
        moves = speed > 1e-12
        per_speed = 1.0 / speed if moves else 0.0
        along *= per_speed
        across *= per_speed
        gone = decay(x) if touches else 0.0
        m_along = w[MOBILE_ALONG + k]
        m_across = w[MOBILE_ACROSS + k]
        m_along += gone * (along - m_along)
        m_across += gone * (across - m_across)
        forward = m_along * along + m_across * across
        square = m_along * m_along + m_across * m_across

        # normal stress now, and at the end of the step; soil that is being left does not yield
        z, z_p, loaded = w[Z + k], w[SUNK + k], w[LOADED + k]
        elastic = k_u * (z - z_p)
        yields = touches and elastic > loaded
        p = loaded if yields else elastic
        slope = w[TANGENT + k] if yields and vn <= 0.0 else k_u
        z_new = max(z - loaded * per_k_u, z_p) if yields else z_p
        dz = z_new - z_p
        rate = damping + ahead * slope * (1.0 - w[LEFT_OUT + k])
        p -= rate * vn
        pressed = touches and p > 0.0
        p = p if pressed else 0.0
        rate = rate if pressed else 0.0
        strength = cohesion + p * tan_phi if pressed else 0.0
        shear = area * strength

        # derivative of m along and across the velocity
        turning = gone * per_speed if moves else per_along
        growing = max(0.0, x * per_speed * (1.0 - gone) * (1.0 - forward)) if moves else per_along
        share = along * along if moves else 0.5

        # plastic sinkage; flux of soil carried along by slip, and where it is taken from
        moves_on = (pressed or w[CARRIED + k] > 0.0) and forward > 0.0
        opens = vn * h / nz if rolls and pressed and vn > 0.0 else 0.0
        square_v = vx * vx + vy * vy + vz * vz
        per = 1.0 / square_v if square_v > 1e-30 else 0.0
        down = vn * vn * nz * nz * per if square_v > 1e-30 else 1.0
        pushed = cell * dz * (1.0 - down)
        # only the direction counts: horizontal part of the velocity, by its share
        push = pushed * math.sqrt(per)

        w[AREA + k] = area
        w[TX + k], w[TY + k], w[TZ + k] = tx, ty, tz
        w[CX + k], w[CY + k], w[CZ + k] = cx, cy, cz
        w[MOBILE_ALONG + k], w[MOBILE_ACROSS + k] = m_along, m_across
        w[PRESSURE + k], w[STRENGTH + k] = p, strength
        w[FORCE_N + k] = area * p
        w[FORCE_T + k] = -shear * m_along
        w[FORCE_C + k] = -shear * m_across
        w[RATE_N + k] = area * rate
        w[RATE_T + k] = shear * (growing * share + turning * (1.0 - share))
        w[RATE_C + k] = shear * (growing * (1.0 - share) + turning * share)
        w[SINKAGE + k] = z_new
        w[FLUX + k] = speed if moves_on else 0.0
        w[FILLED + k] = opens * rise / (rise + loaded * per_k_u + 1e-12)
        w[SLIP_X + k] = along * tx + across * cx
        w[SLIP_Y + k] = along * ty + across * cy
        w[SUNK_VOLUME + k] = cell * dz * down
        w[PUSHED_VOLUME + k] = pushed
        w[PUSHED_X + k] = push * vx
        w[PUSHED_Y + k] = push * vy
        # work of the body, not of soil that slid under it
        w[PLASTIC_WORK + k] = p * min(dz, max(-vn, 0.0) * h / nz) * flat
        w[SHEAR_WORK + k] = shear * speed * square


@kernel(fastmath=VECTOR)
def add_up(w, count, axis, is_belt, force, stiff, total):
    """Add a block to the body's force, its derivative and the totals."""
    ax, ay, az = axis[0], axis[1], axis[2]
    turning = 0.0
    # speed of the surface along t for a unit speed of the belt
    fixed = -1.0 if is_belt else 0.0
    if is_belt:
        ax, ay, az = 0.0, 0.0, 0.0
    Fx = Fy = Fz = Mx = My = Mz = area = plastic = shear = 0.0
    for k in range(count):
        px, py, pz = w[PX + k], w[PY + k], w[PZ + k]
        fn, ft, fc = w[FORCE_N + k], w[FORCE_T + k], w[FORCE_C + k]
        fx = fn * w[NX + k] + ft * w[TX + k] + fc * w[CX + k]
        fy = fn * w[NY + k] + ft * w[TY + k] + fc * w[CY + k]
        fz = fn * w[NZ + k] + ft * w[TZ + k] + fc * w[CZ + k]
        turning += fixed * ft
        Fx += fx
        Fy += fy
        Fz += fz
        Mx += py * fz - pz * fy
        My += pz * fx - px * fz
        Mz += px * fy - py * fx
        area += w[AREA + k]
        plastic += w[PLASTIC_WORK + k]
        shear += w[SHEAR_WORK + k]
    force[0] += Fx
    force[1] += Fy
    force[2] += Fz
    force[3] += Mx
    force[4] += My
    force[5] += Mz
    force[6] += turning
    total[T_AREA] += area
    total[T_PLASTIC_WORK] += plastic
    total[T_SHEAR_WORK] += shear
    Bxx = Bxy = Bxz = Byy = Byz = Bzz = Bxs = Bys = Bzs = Bss = 0.0
    for k in range(count):
        px, py, pz = w[PX + k], w[PY + k], w[PZ + k]
        nx, ny, nz = w[NX + k], w[NY + k], w[NZ + k]
        tx, ty, tz = w[TX + k], w[TY + k], w[TZ + k]
        cx, cy, cz = w[CX + k], w[CY + k], w[CZ + k]
        rn, rt, rc = w[RATE_N + k], w[RATE_T + k], w[RATE_C + k]
        Bxx += rn * nx * nx + rt * tx * tx + rc * cx * cx
        Bxy += rn * nx * ny + rt * tx * ty + rc * cx * cy
        Bxz += rn * nx * nz + rt * tx * tz + rc * cx * cz
        Byy += rn * ny * ny + rt * ty * ty + rc * cy * cy
        Byz += rn * ny * nz + rt * ty * tz + rc * cy * cz
        Bzz += rn * nz * nz + rt * tz * tz + rc * cz * cz
        # speed of the surface along t for a unit spin about the axle; zero for other bodies
        arm = (ay * pz - az * py) * tx + (az * px - ax * pz) * ty + (ax * py - ay * px) * tz
        arm += fixed
        rt *= arm
        Bxs += rt * tx
        Bys += rt * ty
        Bzs += rt * tz
        Bss += rt * arm
    stiff[0] += Bxx
    stiff[1] += Bxy
    stiff[2] += Bxz
    stiff[3] += Byy
    stiff[4] += Byz
    stiff[5] += Bzz
    stiff[6] += Bxs
    stiff[7] += Bys
    stiff[8] += Bzs
    stiff[9] += Bss


@kernel
def add_rotation(w, count, is_belt, stiff):
    """Add c d eᵀ and c e eᵀ, e = r × d for d = n, t, c, to the parts of B that belong to rotation,
    for bodies that are no wheels; for belts −c e of d = t, too."""
    for k in range(count):
        px, py, pz = w[PX + k], w[PY + k], w[PZ + k]
        for d in range(3):
            c, dx, dy, dz = w[RATE_N + k], w[NX + k], w[NY + k], w[NZ + k]
            if d == 1:
                c, dx, dy, dz = w[RATE_T + k], w[TX + k], w[TY + k], w[TZ + k]
            elif d == 2:
                c, dx, dy, dz = w[RATE_C + k], w[CX + k], w[CY + k], w[CZ + k]
            ex, ey, ez = py * dz - pz * dy, pz * dx - px * dz, px * dy - py * dx
            stiff[10] += c * dx * ex
            stiff[11] += c * dx * ey
            stiff[12] += c * dx * ez
            stiff[13] += c * dy * ex
            stiff[14] += c * dy * ey
            stiff[15] += c * dy * ez
            stiff[16] += c * dz * ex
            stiff[17] += c * dz * ey
            stiff[18] += c * dz * ez
            stiff[19] += c * ex * ex
            stiff[20] += c * ex * ey
            stiff[21] += c * ex * ez
            stiff[22] += c * ey * ey
            stiff[23] += c * ey * ez
            stiff[24] += c * ez * ez
            if is_belt and d == 1:
                stiff[25] -= c * ex
                stiff[26] -= c * ey
                stiff[27] -= c * ez


@kernel
def survey(grid, patch, b, block, n, axis):
    """Record the stresses of a block's nodes, their peaks and the split of the resistance."""
    # heading: level, across the axle
    ex, ey = axis[1], -axis[0]
    size = math.sqrt(ex * ex + ey * ey)
    if size > 0.0:
        ex, ey = ex / size, ey / size
    w = patch.block[block]
    total = patch.total[b]
    strips = patch.strips[b]
    at = patch.field_count[b]
    for k in range(patch.block_count[block]):
        if w[WEIGHT + k] == 0.0:
            continue
        # how deep below the undisturbed level
        z = w[Z + k]
        below = z - grid.node[patch.block_node[block, k // strips], REF]
        part = 1.0
        if below < z:
            part = (below / z) ** n if below > 0.0 else 0.0
        resistance = -w[FORCE_N + k] * (w[NX + k] * ex + w[NY + k] * ey)
        total[T_COMPACTION] += part * resistance
        total[T_BULLDOZING] += (1.0 - part) * resistance
        along = -w[STRENGTH + k] * w[MOBILE_ALONG + k]
        across = -w[STRENGTH + k] * w[MOBILE_ACROSS + k]
        total[T_PRESSURE] = max(total[T_PRESSURE], w[PRESSURE + k])
        total[T_SHEAR] = max(total[T_SHEAR], math.sqrt(along * along + across * across))
        cell = patch.field[b, at]
        at += 1
        cell[F_X], cell[F_Y], cell[F_Z] = w[PX + k], w[PY + k], w[PZ + k]
        cell[F_PRESSURE] = w[PRESSURE + k]
        cell[F_ALONG] = along
        cell[F_ACROSS] = across
        cell[F_AREA] = w[AREA + k]
    patch.field_count[b] = at
