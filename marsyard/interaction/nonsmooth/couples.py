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

Each couple is one more contact of the step's problem, a row of the kind ROLL or SPIN
(`interaction.rows`): its tangential rows are ℓ t·J_ω, with the Jacobian J_ω of the relative angular
velocity and a length ℓ (the wheel's radius), so that its impulses count in N·s, and its friction
coefficient is ρ/ℓ. Its normal impulse is given: that of the contact in the step before. So couples
are implicit, solved together with contact and friction by the same solver, and only take energy. A
contact that is new has no couple in its first step.

Source of the law: K. L. Johnson, Contact Mechanics (1985), sections 8.5 and 9.5; of the unilateral
form: J. Huang et al., A complementarity formulation of rolling friction, Granular Matter (2017);
V. Acary, F. Bourrier, Coulomb friction with rolling resistance as a cone complementarity problem,
European Journal of Mechanics A 85 (2021).
"""

from __future__ import annotations

from marsyard.interaction.rows import ROLL, SPIN, add_row
from marsyard.jit import inner

#: length of the rows of bodies that are no wheels [m]
LENGTH = 0.1
#: bits that tell the keys of couples from those of their contacts
_ROLLS, _SPINS = 1 << 60, 1 << 61


@inner
def last_normal_impulse(R, i):
    """Normal impulse of contact i in the last step; where a wheel has gone on to another triangle,
    that of its hardest contact which is gone."""
    key = R.key[i]
    wheel = key >> 48
    moved = 0.0
    for k in range(R.last_count[0]):
        if R.last_owner[k] != R.law[0]:
            continue
        old = R.last_key[k]
        if old == key:
            return R.last_impulse[3 * k]
        if key > 0 and old > 0 and old >> 48 == wheel:
            moved = max(moved, R.last_impulse[3 * k])
    return moved


@inner
def add_couples(S, first):
    """Add the couples of all contacts from `first` on; False if they do not fit."""
    R = S.rows
    for c in range(first, R.used[0]):
        s = R.surface[c]
        if R.belt[c] >= 0 or (S.rolling[s] == 0.0 and S.spinning[s] == 0.0):
            continue
        pressed = last_normal_impulse(R, c)
        if pressed <= 0.0:
            continue
        w = R.wheel[c]
        length = S.wheels.radius[w] if w >= 0 else LENGTH
        for spin in range(2):
            lever = S.spinning[s] if spin == 1 else S.rolling[s]
            if lever == 0.0:
                continue
            key = R.key[c] ^ (_SPINS if spin == 1 else _ROLLS)
            i = add_row(R, key, R.body1[c], R.body2[c], 0.0)
            if i < 0:
                return False
            R.kind[i] = SPIN if spin == 1 else ROLL
            R.length[i] = length
            R.pressed[i] = pressed
            R.friction[i] = lever / length
            for k in range(3):
                R.point[i, k] = R.point[c, k]
                for a in range(3):
                    R.frame[i, k, a] = R.frame[c, k, a]
    return True
