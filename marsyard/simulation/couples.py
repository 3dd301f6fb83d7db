"""Couples of hard contact against rolling and spinning.

A contact with the normal force N resists a relative angular velocity ω of the two bodies by a
couple, as Coulomb's friction resists sliding:

    |M_roll| ≤ ρ_r N  against the part of ω along the surface,
    |M_spin| ≤ ρ_s N  against the part of ω along the normal,

with the full couple opposite to ω where there is motion (maximal dissipation), and any that is
needed within the bound where there is none. ρ_r and ρ_s are lengths: of the offset of the normal
force ahead of a rolling wheel, and of a contact patch that spins (for a Hertzian patch of radius a,
ρ_s = 3π/16 μ a). A ball or wheel of radius R is slowed down by ρ_r/R of its weight and stands on
slopes below atan(ρ_r/R).

Each couple is one more contact of the step's problem: its tangential rows are ℓ t·J_ω, with the
Jacobian J_ω of the relative angular velocity and a length ℓ (the wheel's radius), so that its
impulses count in N·s, and its friction coefficient is ρ/ℓ. Its normal row is empty and its normal
impulse is given: that of the contact in the step before. With any w > 0 on the diagonal of the
Delassus matrix and q_N = −w p,

    0 ≤ u_N = w p_N + q_N ⊥ p_N ≥ 0   ⇒   p_N = p.

So the couples are implicit, solved together with contact and friction by the same solver, and only
take energy. A contact that is new has no couple in its first step.

Source of the law: K. L. Johnson, Contact Mechanics (1985), sections 8.5 and 9.5; of the unilateral
form: J. Huang et al., A complementarity formulation of rolling friction, Granular Matter (2017);
V. Acary, F. Bourrier, Coulomb friction with rolling resistance as a cone complementarity problem,
European Journal of Mechanics A 85 (2021).
"""

from __future__ import annotations

from marsyard.jit import inner
from marsyard.simulation.mujoco_c import call_mdpppi

#: length of the rows of bodies that are no wheels [m]
LENGTH = 0.1
#: bits that tell the keys of couples from those of their contacts
ROLL, SPIN = 1 << 60, 1 << 61


@inner
def last_normal_impulse(contacts, c):
    """Normal impulse of contact c in the last step; where a wheel has gone on to another triangle,
    that of its hardest contact which is gone."""
    key = contacts.key[c]
    wheel = key >> 48
    moved = 0.0
    for k in range(contacts.old_count[0]):
        old = contacts.old_key[k]
        if old == key:
            return contacts.old_r[3 * k]
        if key > 0 and old > 0 and old >> 48 == wheel:
            moved = max(moved, contacts.old_r[3 * k])
    return moved


@inner
def find_couples(F, m, d, nv, law, wheels, found, total, contacts, jac):
    """Add the couples of the first `found` contacts after the first `total`; returns how many there
    are in all, or -1 when there are more than fit."""
    n = total
    for c in range(found):
        s = contacts.surface[c]
        if s < 0 or contacts.belt[c] >= 0:
            continue
        if law.rolling[s] == 0.0 and law.spinning[s] == 0.0:
            continue
        pressed = last_normal_impulse(contacts, c)
        if pressed <= 0.0:
            continue
        w = contacts.wheel[c]
        length = wheels.radius[w] if w >= 0 else LENGTH
        for spin in range(2):
            lever = law.spinning[s] if spin == 1 else law.rolling[s]
            if lever == 0.0:
                continue
            if n >= contacts.gap.shape[0]:
                return -1
            rotation_rows(F, m, d, nv, contacts, c, spin == 1, length, n, jac)
            contacts.key[n] = contacts.key[c] ^ (SPIN if spin == 1 else ROLL)
            contacts.body1[n] = -1
            contacts.body2[n] = -1
            contacts.wheel[n] = -1
            contacts.organ[n] = -1
            contacts.belt[n] = -1
            contacts.surface[n] = -1
            contacts.bound[n] = lever / length
            contacts.pressed[n] = pressed
            contacts.gap[n] = 0.0
            n += 1
    return n


@inner
def rotation_rows(F, m, d, nv, contacts, c, spin, length, n, jac):
    """Rows of the relative angular velocity of contact c, times a length, as those of contact n:
    along both tangents, or along the normal."""
    rows, frame = contacts.jacobian, contacts.frame[c]
    for k in range(3):
        for j in range(nv):
            rows[3 * n + k, j] = 0.0
    point = contacts.point[c].ctypes.data
    for side in range(2):
        body = contacts.body2[c] if side == 0 else contacts.body1[c]
        if body <= 0:
            continue
        sign = length if side == 0 else -length
        call_mdpppi(F.jac, m, d, 0, jac.ctypes.data, point, body)
        for k in range(1, 3):
            if spin and k == 2:
                continue
            t = frame[0] if spin else frame[k]
            for j in range(nv):
                rows[3 * n + k, j] += sign * (
                    t[0] * jac[0, j] + t[1] * jac[1, j] + t[2] * jac[2, j]
                )


@inner
def bind_couples(n, contacts):
    """Fill the diagonal of the Delassus matrix where rows of couples are empty."""
    W = contacts.delassus
    for i in range(n):
        c = contacts.active[i]
        if contacts.surface[c] < 0 and contacts.pressed[c] >= 0.0:
            w = max(W[3 * i + 1, 3 * i + 1], W[3 * i + 2, 3 * i + 2])
            w = w if w > 0.0 else 1.0
            W[3 * i, 3 * i] = w
            for k in range(1, 3):
                if W[3 * i + k, 3 * i + k] == 0.0:
                    W[3 * i + k, 3 * i + k] = w


@inner
def press_couples(n, contacts):
    """Have couples carry the normal impulse of their contacts."""
    for i in range(n):
        c = contacts.active[i]
        if contacts.surface[c] < 0 and contacts.pressed[c] >= 0.0:
            contacts.q[3 * i] = -contacts.delassus[3 * i, 3 * i] * contacts.pressed[c]
