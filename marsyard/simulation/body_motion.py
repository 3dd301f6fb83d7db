"""Bodies on which forces by velocity act: their Jacobian, and what a force does to their chain.

The velocity of a body b is V = (of a point of it, angular, of its belt along itself), V = J v. J
(7 × dofs) has a column for each degree of freedom between the world and the body, its chain, and
for the one that moves its belt. `soil` and `compliant` add JᵀF to the forces and h JᵀBJ to the
inertia matrix.
"""

from __future__ import annotations

from marsyard.jit import inlined


@inlined
def body_motion(data, chain, count, root, point, belt, way, v, J, V):
    """J from mujoco's motion axes, which are about the tree's centre of mass, and V; the dof `belt`
    moves the belt, by `way` [m] per its rate."""
    rx = point[0] - data.com[root, 0]
    ry = point[1] - data.com[root, 1]
    rz = point[2] - data.com[root, 2]
    for k in range(7):
        V[k] = 0.0
    for i in range(count):
        j = chain[i]
        if j == belt:
            # not the frame
            for k in range(6):
                J[k, i] = 0.0
            J[6, i] = way
        else:
            c = data.cdof[j]
            J[3, i], J[4, i], J[5, i] = c[0], c[1], c[2]
            J[0, i] = c[3] + c[1] * rz - c[2] * ry
            J[1, i] = c[4] + c[2] * rx - c[0] * rz
            J[2, i] = c[5] + c[0] * ry - c[1] * rx
            J[6, i] = 0.0
        for k in range(7):
            V[k] += J[k, i] * v[j]


@inlined
def add_to_chain(J, chain, count, force, scale, out):
    """out += scale JᵀF."""
    for i in range(count):
        total = 0.0
        for k in range(7):
            total += J[k, i] * force[k]
        out[chain[i]] += scale * total


@inlined
def add_coupling(inertia, address, i, j, value):
    """Add to the entry of the inertia matrix for dofs i and j of a chain."""
    at = address[i, j]
    if at >= 0:
        inertia[at] += value
    else:
        # mujoco keeps only the diagonal of this pair: put the coupling there
        inertia[address[i, i]] += abs(value)
        inertia[address[j, j]] += abs(value)
