"""Forces of beams in a step (equations in the package's docstring)."""

from __future__ import annotations

from typing import NamedTuple

from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import Kernels
from marsyard.jit import F2, by_reference, inner, law_callback

# components of V, and columns of Arrays.rest
LATERAL, BENDING, TORSION, EXTENSION = 0, 2, 4, 5
# columns of Arrays.numbers
LENGTH, EI, GJ, BETA = range(4)


@by_reference
class Arrays(NamedTuple):
    """What the kernel works on; `n` beams."""

    rest: F2  # [n, 6], joints where the beam is straight and of its given length [m, rad]
    sense: F2  # [n, 2], 1 where the hinge tilts the tip along the slide, else −1
    numbers: F2  # [n, 4]: length, E I, G J, β


@law_callback(Attachments, Arrays)
def evaluate(A, L, time, h, theta, flag):
    """Forces of all beams."""
    for n in range(L.rest.shape[0]):
        bend(A, L, n, h, theta)
    return 0


@inner
def bend(A, L, n, h, theta):
    """Force of a beam at the configuration of the step, and B."""
    q, rest, V, F, B = A.coordinate[n], L.rest[n], A.V[n], A.F[n], A.B[n]
    length = L.numbers[n, LENGTH] + q[EXTENSION] - rest[EXTENSION]
    ei, beta = L.numbers[n, EI], L.numbers[n, BETA]
    # the scheme wants stiffness at q + θ h v, and damping at v
    ahead = (2.0 * theta - 1.0) * h + beta
    implicit = theta * beta + h * theta * theta
    k11 = 12.0 * ei / (length * length * length)
    k12 = -6.0 * ei / (length * length)
    k22 = 4.0 * ei / length
    on_length = 0.0
    for p in range(2):
        i, j, s = LATERAL + p, BENDING + p, L.sense[n, p]
        w, phi = q[i] - rest[i], s * (q[j] - rest[j])
        wa, pa = w + ahead * V[i], phi + ahead * s * V[j]
        F[i] = -(k11 * wa + k12 * pa)
        F[j] = -s * (k12 * wa + k22 * pa)
        B[i, i] = implicit * k11
        B[j, j] = implicit * k22
        B[j, i] = implicit * s * k12
        on_length += 0.5 * (3.0 * k11 * w * w + 4.0 * k12 * w * phi + k22 * phi * phi) / length
    kt = L.numbers[n, GJ] / length
    psi = q[TORSION] - rest[TORSION]
    F[TORSION] = -kt * (psi + ahead * V[TORSION])
    B[TORSION, TORSION] = implicit * kt
    F[EXTENSION] = on_length + 0.5 * kt * psi * psi / length
    A.active[n] = 1


kernels = Kernels(evaluate=evaluate)
