"""Belts of tracks on soil: a surface that moves along itself, and gives way between road wheels.

A track meets soil node by node like any other body (`contact`): Bekker's pressure under it,
Janosi's shear along it. Two things are its own.

Its surface moves with the belt's speed v_b [m/s] against the heading t,

    v_t = (velocity of the frame at the node)·t − v_b

so that soil under the belt is sheared from the front to the rear as it passes, j(x) = i x for a
slip i, and the shear stress's sum over the belt, −Σ τ A, turns the sprocket: v_b is one more
velocity of the body, beside its six.

Its lower run is a string under the tension T [N] between the road wheels, pressed up by the soil:

    T d²w/dx² + b p(x) = 0,   w = 0 at the road wheels                                       (1)

w [m] how far it gives way upwards, b [m] its width, p [Pa] the pressure. In nodes k along the run
with the forces P_k and the soil's stiffness K_k = ∂P_k/∂z of the present step, w changes to the
solution of the tridiagonal

    T ((w_k − w_k−1)/Δx_k−1 + (w_k − w_k+1)/Δx_k) + K_k (w_k − w_k(now)) = P_k               (2)

which is Newton's step to (1) and stable however stiff the soil. The pressure is then highest under
the road wheels, the more so the slacker the belt and the harder the soil (Wong, Theory of Ground
Vehicles, 4th ed., ch. 2.5). The tension is the same everywhere and does not change with the pull;
runs that are not flat between road wheels do not give way; the belt's own weight and inertia
across itself are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marsyard.errors import InputError
from marsyard.interaction.soil_contact.arrays import FORCE_N, PX, PY, PZ, RATE_N
from marsyard.jit import F2, F3, I1, by_reference, kernel
from marsyard.robot.belt import lower_run
from marsyard.robot.contact_bodies import Track

#: nodes along the lower run that there is room for
MOST_NODES = 256


@by_reference
class Belts(NamedTuple):
    """Lower runs of the belts; rows of bodies that are no belts are not used."""

    nodes: I1  # int64[b], how many along the run; 0: it does not give way
    number: F2  # float64[b, 2], tension [N], height of the straight run in the frame [m]
    place: F2  # float64[b, MOST_NODES], x of the nodes in the frame [m]
    fixed: F2  # float64[b, MOST_NODES], 1 at a road wheel
    rise: F2  # float64[b, MOST_NODES], w [m]
    load: F2  # float64[b, MOST_NODES], P [N]
    stiffness: F2  # float64[b, MOST_NODES], K [N/m]
    scratch: F3  # float64[b, 2, MOST_NODES]


def make_belts(bodies: int) -> Belts:
    """No belts yet."""
    f, n = np.zeros, MOST_NODES
    return Belts(
        f(bodies, np.int64), f((bodies, 2)), f((bodies, n)), f((bodies, n)), f((bodies, n)),
        f((bodies, n)), f((bodies, n)), f((bodies, 2, n)),
    )  # fmt: skip


def lay_belt(belts: Belts, b: int, track: Track) -> None:
    """Let the lower run of a track give way, if it has a tension and a run between road wheels."""
    run = lower_run(track)
    if track.tension is None or run is None:
        return
    if len(run.x) > MOST_NODES:
        raise InputError(
            f"road_wheels: the belt has {len(run.x)} nodes between them, at most {MOST_NODES} fit; "
            "leave some road wheels out"
        )
    n = len(run.x)
    belts.nodes[b] = n
    belts.number[b] = track.tension, run.z
    belts.place[b, :n] = run.x
    belts.fixed[b, :n] = run.fixed


@kernel
def add_load(belts, b, w, count, R, ahead):
    """Add a block's normal forces and their stiffness to the nodes of the run."""
    n = belts.nodes[b]
    place = belts.place[b]
    for i in range(count):
        x = R[0] * w[PX + i] + R[3] * w[PY + i] + R[6] * w[PZ + i]
        if not place[0] < x < place[n - 1]:
            continue
        low, high = 0, n - 1
        while high - low > 1:
            middle = (low + high) // 2
            if place[middle] <= x:
                low = middle
            else:
                high = middle
        share = (x - place[low]) / (place[high] - place[low])
        rate = w[RATE_N + i] / ahead
        belts.load[b, low] += (1.0 - share) * w[FORCE_N + i]
        belts.load[b, high] += share * w[FORCE_N + i]
        belts.stiffness[b, low] += (1.0 - share) * rate
        belts.stiffness[b, high] += share * rate


@kernel
def give_way(belts, bodies, b):
    """Move the run to its equilibrium (2), and the triangles of the body with it."""
    n = belts.nodes[b]
    tension = belts.number[b, 0]
    place, rise = belts.place[b], belts.rise[b]
    c, r = belts.scratch[b, 0], belts.scratch[b, 1]
    # Thomas' algorithm; fixed nodes are rows w = 0
    for k in range(n):
        if belts.fixed[b, k] > 0.0:
            c[k] = 0.0
            r[k] = 0.0
            continue
        before = tension / (place[k] - place[k - 1])
        after = tension / (place[k + 1] - place[k])
        K = belts.stiffness[b, k]
        pivot = before + after + K + before * c[k - 1]
        if pivot > 0.0:
            c[k] = -after / pivot
            r[k] = (belts.load[b, k] + K * rise[k] + before * r[k - 1]) / pivot
        else:
            # a slack belt over nothing stays
            c[k] = 0.0
            r[k] = rise[k]
    for k in range(n - 1, -1, -1):
        rise[k] = r[k] - c[k] * rise[k + 1] if k + 1 < n else r[k]
        rise[k] = max(rise[k], 0.0)
    bend(belts, bodies, b)
    for k in range(n):
        belts.load[b, k] = 0.0
        belts.stiffness[b, k] = 0.0


@kernel
def bend(belts, bodies, b):
    """Put the triangles of the lower run, which come first, where it is."""
    straight, rise = belts.number[b, 1], belts.rise[b]
    first = bodies.triangles[b, 0]
    for k in range(belts.nodes[b] - 1):
        z0, z1 = straight + rise[k], straight + rise[k + 1]
        t = bodies.triangle[first + 2 * k]
        t[2], t[5], t[8] = z0, z0, z1
        t = bodies.triangle[first + 2 * k + 1]
        t[2], t[5], t[8] = z1, z0, z1
