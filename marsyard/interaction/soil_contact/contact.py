"""Stresses and forces between a body and the soil under it, node by node.

Krenn and Hirzinger 2008, eqs. (3) to (5), on the nodes of the footprint. For a node with soil
level L = base + ref [m] under the body's lower surface at height w, sinkage z = L − w [m]:

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
Slip carries soil along, too: a layer of thickness δ (grouser height plus the soil's `shear_layer`)
moves with the body's surface to the end of the contact of length l, as far as stress and motion go
together, which lowers the soil by
    dz = δ (m·v_t) h / l.
A wheel rolling with slip s thus sinks by δ s/(1 − s) more, Reece's slip sinkage of a wheel with
grousers of height δ; one that spins on the spot digs itself in.

Resistance split. The part of p n along the heading that soil at the undisturbed level would give,
p (z_u/z)^n with z_u = base − w, counts as compaction; the rest, from soil piled up above that
level, as bulldozing resistance. It is worked out in every eighth step only.
"""

from __future__ import annotations

import math

from marsyard.ground.soil_nodes import DEPTH, REF, TIME, UNDER, wake_around
from marsyard.interaction.soil_contact.arrays import (
    COHESION,
    DAMPING,
    EXPONENT,
    F_ACROSS,
    F_ALONG,
    F_AREA,
    F_PRESSURE,
    F_X,
    F_Y,
    F_Z,
    K_ACROSS,
    K_ALONG,
    LEFT_THE_MAP,
    M_ACROSS,
    M_ALONG,
    NX,
    NY,
    NZ,
    OK,
    PUSH_X,
    PUSH_Y,
    PX,
    PY,
    PZ,
    T_AREA,
    T_BULLDOZING,
    T_COMPACTION,
    T_NODES,
    T_NORMAL,
    T_PLAN,
    T_PLASTIC_WORK,
    T_PRESSURE,
    T_SHEAR,
    T_SHEAR_WORK,
    T_VOLUME,
    TAN_PHI,
    TOO_MANY_NODES,
    UNLOADING,
    V_PUSHED,
    V_SINKAGE,
    WEIGHT,
    WHEEL,
    Z,
)
from marsyard.interaction.soil_contact.footprint import mesh_footprint, wheel_footprint
from marsyard.jit import inlined, kernel

#: steepest surface whose area is counted in full, as 1/cos
_LARGEST_SLANT = 10.0


@inlined
def normal_stress(z, z_p, k, n, k_u):
    """Pressure p [Pa], its slope dp/dz while loading, and the plastic sinkage [m] after it."""
    elastic = k_u * (z - z_p)
    # powers are the costly part: n = 1 is common, and n = 0.5 cheap
    if n == 1.0:
        loaded = k * z
    elif n == 0.5:
        loaded = k * math.sqrt(z)
    else:
        loaded = k * math.exp(n * math.log(z))
    if elastic <= loaded:
        return elastic, k_u, z_p
    return loaded, n * loaded / z, z - loaded / k_u


@inlined
def mobilise(m_along, m_across, along, across, x):
    """m after a step in the direction (along, across), x = |v| h/K; also 1 − exp(−x)."""
    if x < 1e-2:
        gone = x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x / 24.0)))
    else:
        gone = 1.0 - math.exp(-x)
    m_along += gone * (along - m_along)
    m_across += gone * (across - m_across)
    return m_along, m_across, gone


@kernel
def body_contact(grid, soils, bodies, patch, options, b):
    """Forces on body b; soil state and contact state are brought up to date. Returns a status."""
    c = bodies.centre[b]
    if not (options.xmin <= c[0] <= options.xmax and options.ymin <= c[1] <= options.ymax):
        return LEFT_THE_MAP
    if bodies.kind[b] == WHEEL:
        s = bodies.shape[b]
        found = wheel_footprint(grid, patch, s[0], s[1], s[2], s[3], c, bodies.axis[b])
    else:
        found = mesh_footprint(
            grid, patch, b, bodies.triangle, bodies.triangles[b, 0], bodies.triangles[b, 1],
            bodies.reach[b], c, bodies.rotation[b],
        )  # fmt: skip
    if found < 0:
        return -found
    if not match(grid, patch, b, found):
        return TOO_MANY_NODES
    stresses(grid, soils, bodies, patch, options, b, found)
    return OK


@kernel
def match(grid, patch, b, found):
    """Carry the contact state over to the nodes now found; both lists are in order of their keys.

    Nodes that were left are woken. They stay listed until the next flow: a node that trembles in
    and out of a wheel's edge is still the same contact.
    """
    old = patch.side[b]
    new = 1 - old
    room = patch.key.shape[2]
    i = 0
    n = 0
    count = patch.listed[old, b]
    for k in range(found + 1):
        key = patch.found_key[k] if k < found else 2**62
        while i < count and patch.key[old, b, i] < key:
            node = patch.node[old, b, i]
            if patch.touching[old, b, i]:
                grid.flag[node] &= ~UNDER & 0xFF
                wake_around(grid, node)
            if n >= room:
                return False
            _carry(patch, old, new, b, i, n)
            patch.touching[new, b, n] = 0
            n += 1
            i += 1
        if k == found:
            break
        if n >= room:
            return False
        if i < count and patch.key[old, b, i] == key:
            _carry(patch, old, new, b, i, n)
            i += 1
        else:
            patch.key[new, b, n] = key
            patch.node[new, b, n] = patch.found_node[k]
            for col in range(patch.state.shape[3]):
                patch.state[new, b, n, col] = 0.0
        patch.touching[new, b, n] = 1
        grid.flag[patch.node[new, b, n]] |= UNDER
        n += 1
    patch.listed[new, b] = n
    patch.side[b] = new
    return True


@inlined
def _carry(patch, old, new, b, i, n):
    patch.key[new, b, n] = patch.key[old, b, i]
    patch.node[new, b, n] = patch.node[old, b, i]
    for col in range(patch.state.shape[3]):
        patch.state[new, b, n, col] = patch.state[old, b, i, col]


@kernel
def stresses(grid, soils, bodies, patch, options, b, found):
    """Stresses on all nodes found, summed to the force, its derivative and the totals."""
    h, ahead = options.h, options.implicit
    ds2 = grid.spacing[0] * grid.spacing[0]
    is_wheel = bodies.kind[b] == WHEEL
    V0, V1, V2 = bodies.twist[b, 0], bodies.twist[b, 1], bodies.twist[b, 2]
    W0, W1, W2 = bodies.twist[b, 3], bodies.twist[b, 4], bodies.twist[b, 5]
    ax, ay, az = bodies.axis[b, 0], bodies.axis[b, 1], bodies.axis[b, 2]
    # heading: level, across the axle
    ex, ey = ay, -ax
    f = math.sqrt(ex * ex + ey * ey)
    if f > 0.0:
        ex, ey = ex / f, ey / f
    state = patch.state[patch.side[b], b]
    touching = patch.touching[patch.side[b], b]
    field = patch.field[b]
    stiff = patch.stiff[b]
    for k in range(10, stiff.shape[0]):
        stiff[k] = 0.0
    plan = 0.0
    for k in range(found):
        plan += patch.found[k, WEIGHT] * ds2
    per_length = 0.0
    if plan > 0.0:
        per_length = h / (plan / (2.0 * bodies.shape[b, 1]) if is_wheel else math.sqrt(plan))
    # sums of this body, kept in registers
    Fx = Fy = Fz = Mx = My = Mz = 0.0
    Bxx = Bxy = Bxz = Byy = Byz = Bzz = Bxs = Bys = Bzs = Bss = 0.0
    t_area = t_normal = t_compaction = t_bulldozing = t_pressure = t_shear = 0.0
    t_plastic = t_sheared = t_volume = 0.0
    i = 0
    for k in range(found):
        while not touching[i]:
            i += 1
        node = patch.found_node[k]
        row = patch.found[k]
        z, nx, ny, nz = row[Z], row[NX], row[NY], row[NZ]
        px, py, pz = row[PX], row[PY], row[PZ]
        soil = grid.soil[node]
        q = soils.table[soil]
        z_p = grid.node[node, DEPTH]
        p, slope, z_new = normal_stress(z, z_p, soils.modulus[b, soil], q[EXPONENT], q[UNLOADING])
        dz = z_new - z_p
        flat = row[WEIGHT] * ds2
        area = flat * min(1.0 / nz, _LARGEST_SLANT)

        # velocity of the body's surface here, along the normal and in the tangent plane
        vx = V0 + W1 * pz - W2 * py
        vy = V1 + W2 * px - W0 * pz
        vz = V2 + W0 * py - W1 * px
        vn = vx * nx + vy * ny + vz * nz
        # across: the axle's (or the world's y) direction in the tangent plane; along: heading
        cx, cy, cz = ax, ay, az
        if not is_wheel:
            cx, cy, cz = 0.0, 1.0, 0.0
        f = cx * nx + cy * ny + cz * nz
        if abs(f) > 1e-12:
            cx, cy, cz = cx - f * nx, cy - f * ny, cz - f * nz
            f = cx * cx + cy * cy + cz * cz
            if f < 1e-12:
                cx, cy, cz = 1.0 - nx * nx, -nx * ny, -nx * nz
                f = cx * cx + cy * cy + cz * cz
            f = 1.0 / math.sqrt(f)
            cx, cy, cz = f * cx, f * cy, f * cz
        tx, ty, tz = cy * nz - cz * ny, cz * nx - cx * nz, cx * ny - cy * nx
        v_along = vx * tx + vy * ty + vz * tz
        v_across = vx * cx + vy * cy + vz * cz
        speed = math.sqrt(v_along * v_along + v_across * v_across)

        # shear: how much of the strength is mobilised at the end of the step
        if q[K_ALONG] == q[K_ACROSS]:
            x = h * speed / q[K_ALONG]
        else:
            wa = v_along / q[K_ALONG]
            wc = v_across / q[K_ACROSS]
            x = h * math.sqrt(wa * wa + wc * wc)
        per_speed = 1.0 / speed if speed > 1e-12 else 0.0
        v_along *= per_speed
        v_across *= per_speed
        m_along, m_across, gone = mobilise(
            state[i, M_ALONG], state[i, M_ACROSS], v_along, v_across, x
        )
        state[i, M_ALONG] = m_along
        state[i, M_ACROSS] = m_across
        forward = m_along * v_along + m_across * v_across

        # normal stress at the end of the step; soil that is being left does not yield
        if dz > 0.0 and vn > 0.0:
            slope = q[UNLOADING]
        cn = q[DAMPING] + ahead * slope
        p_end = p - cn * vn
        strength = 0.0
        if p_end > 0.0:
            strength = q[COHESION] + p_end * q[TAN_PHI]
        else:
            p_end = 0.0
            cn = 0.0
        fn = area * p_end
        fa = -area * strength * m_along
        fc = -area * strength * m_across
        fx = fn * nx + fa * tx + fc * cx
        fy = fn * ny + fa * ty + fc * cy
        fz = fn * nz + fa * tz + fc * cz
        Fx += fx
        Fy += fy
        Fz += fz
        Mx += py * fz - pz * fy
        My += pz * fx - px * fz
        Mz += px * fy - py * fx

        # derivative: centre's velocity (3) and spin about the axle
        cn *= area
        across = h / q[K_ALONG]
        ahead_m = across
        share = 0.5
        if per_speed > 0.0:
            across = gone * per_speed
            ahead_m = max(0.0, x * per_speed * (1.0 - gone) * (1.0 - forward))
            share = v_along * v_along
        ga = area * strength * (ahead_m * share + across * (1.0 - share))
        gc = area * strength * (ahead_m * (1.0 - share) + across * share)
        Bxx += cn * nx * nx + ga * tx * tx + gc * cx * cx
        Bxy += cn * nx * ny + ga * tx * ty + gc * cx * cy
        Bxz += cn * nx * nz + ga * tx * tz + gc * cx * cz
        Byy += cn * ny * ny + ga * ty * ty + gc * cy * cy
        Byz += cn * ny * nz + ga * ty * tz + gc * cy * cz
        Bzz += cn * nz * nz + ga * tz * tz + gc * cz * cz
        if is_wheel:
            # speed of the surface along t for a unit spin
            arm = (
                (ay * pz - az * py) * tx + (az * px - ax * pz) * ty + (ax * py - ay * px) * tz
            )  # fmt: skip
            Bxs += ga * arm * tx
            Bys += ga * arm * ty
            Bzs += ga * arm * tz
            Bss += ga * arm * arm
        else:
            for d in range(3):
                coefficient, dx, dy, dz_ = cn, nx, ny, nz
                if d == 1:
                    coefficient, dx, dy, dz_ = ga, tx, ty, tz
                elif d == 2:
                    coefficient, dx, dy, dz_ = gc, cx, cy, cz
                add_rotation(
                    stiff, coefficient, dx, dy, dz_,
                    py * dz_ - pz * dy, pz * dx - px * dz_, px * dy - py * dx,
                )  # fmt: skip

        # plastic sinkage, and soil carried along by slip
        below = z - grid.node[node, REF]
        carried = 0.0
        if p_end > 0.0 and forward > 0.0:
            carried = soils.layer[b, soil] * forward * speed * per_length
            grid.node[node, REF] -= carried
        if dz > 0.0:
            grid.node[node, DEPTH] = z_new
        if dz > 0.0 or carried > 0.0:
            grid.node[node, TIME] = options.time
            if options.flow:
                displace(state[i], ds2, dz, carried, vx, vy, vz, vn, nz,
                         v_along * tx + v_across * cx, v_along * ty + v_across * cy)  # fmt: skip
            t_volume += ds2 * (max(dz, 0.0) + carried)
            # work of the body, not of soil that slid under it
            t_plastic += p_end * min(max(dz, 0.0), max(-vn, 0.0) * h / nz) * flat

        # totals
        t_area += area
        t_normal += fn
        if options.split:
            resistance = -fn * (nx * ex + ny * ey)
            part = 1.0
            if below < z:
                part = (below / z) ** q[EXPONENT] if below > 0.0 else 0.0
            t_compaction += part * resistance
            t_bulldozing += (1.0 - part) * resistance
        square = m_along * m_along + m_across * m_across
        t_pressure = max(t_pressure, p_end)
        t_shear = max(t_shear, strength * strength * square)
        t_sheared += area * strength * speed * square * h
        cell = field[k]
        cell[F_X] = px
        cell[F_Y] = py
        cell[F_Z] = pz
        cell[F_PRESSURE] = p_end
        cell[F_ALONG] = -strength * m_along
        cell[F_ACROSS] = -strength * m_across
        cell[F_AREA] = area
        i += 1
    patch.field_count[b] = found
    force = patch.force[b]
    force[0], force[1], force[2], force[3], force[4], force[5] = Fx, Fy, Fz, Mx, My, Mz
    stiff[0], stiff[1], stiff[2], stiff[3], stiff[4] = Bxx, Bxy, Bxz, Byy, Byz
    stiff[5], stiff[6], stiff[7], stiff[8], stiff[9] = Bzz, Bxs, Bys, Bzs, Bss
    total = patch.total[b]
    total[T_AREA] = t_area
    total[T_PLAN] = plan
    total[T_NORMAL] = t_normal
    if options.split or found == 0:
        total[T_COMPACTION] = t_compaction
        total[T_BULLDOZING] = t_bulldozing
    total[T_PRESSURE] = t_pressure
    total[T_SHEAR] = math.sqrt(t_shear)
    total[T_PLASTIC_WORK] = t_plastic
    total[T_SHEAR_WORK] = t_sheared
    total[T_NODES] = found
    total[T_VOLUME] = t_volume


@inlined
def add_rotation(stiff, c, dx, dy, dz, ex, ey, ez):
    """Add c d eᵀ and c e eᵀ, e = r × d, to the parts of B that belong to rotation."""
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


@inlined
def displace(state, ds2, dz, carried, vx, vy, vz, vn, nz, sx, sy):
    """Add what this step displaced at a node to what waits to be laid down."""
    if dz > 0.0:
        square = vx * vx + vy * vy + vz * vz
        down = 1.0
        if square > 0.0:
            per = 1.0 / square
            down = vn * vn * nz * nz * per
            # only the direction counts: horizontal part of the velocity, by its share
            pushed = ds2 * dz * (1.0 - down) * math.sqrt(per)
            state[PUSH_X] += pushed * vx
            state[PUSH_Y] += pushed * vy
        state[V_SINKAGE] += ds2 * dz * down
        state[V_PUSHED] += ds2 * dz * (1.0 - down)
    if carried > 0.0:
        state[V_PUSHED] += ds2 * carried
        state[PUSH_X] += ds2 * carried * sx
        state[PUSH_Y] += ds2 * carried * sy
