"""All contacts of one wheel with a rigid ground, and its distance from one surface.

See the package docstring for conventions. Both functions are scalar kernels: they allocate
nothing, and may be called from any compiled loop.
"""

from __future__ import annotations

import math

from marsyard.ground.geometry import MESH, PLANE
from marsyard.interaction.contact_geometry.collect import FACE, append, feature_number
from marsyard.interaction.contact_geometry.mesh import (
    SECOND_RIM,
    mesh_contacts,
    mesh_distance,
    triangle_gap,
)
from marsyard.interaction.contact_geometry.wheel import (
    core_to_point,
    rim_to_point,
    support_parts,
    wheel_core,
)
from marsyard.jit import kernel


@kernel
def wheel_contacts(
    kind, radius, width, centre, axis, ground, margin, max_contacts,
    out_point, out_normal, out_gap, out_surface, out_feature,
):  # fmt: skip
    """Every contact of one wheel with the ground whose gap is below `margin`.

    Args:
        kind: SPHERE, DISC, CYLINDER or TORUS.
        radius: rolling radius [m].
        width: half tread width of a CYLINDER, tread radius of a TORUS [m]; else ignored.
        centre: wheel centre in the world [m], shape (3,).
        axis: unit wheel axis in the world, pointing left, shape (3,).
        ground: `GroundArrays` from `marsyard.ground.pack`.
        margin: largest gap to report [m].
        max_contacts: rows to use of the out arrays; the deepest contacts are kept.
        out_point: the contact point on the ground [m], shape (>= max_contacts, 3).
        out_normal: unit normal from the ground into the wheel, shape (>= max_contacts, 3).
        out_gap: signed gap [m], negative when penetrating; the point of the wheel that touches is
            out_point + out_gap * out_normal.
        out_surface: number of the surface, int64.
        out_feature: number of the feature touched, int64, the same from step to step.

    Returns:
        the number of rows written.
    """
    rho, half, ball = wheel_core(kind, radius, width)
    cx, cy, cz = centre[0], centre[1], centre[2]
    ax, ay, az = axis[0], axis[1], axis[2]
    count = 0

    # planes: the support point of the wheel, or the lowest points of both rims
    for i in range(ground.plane_surface.shape[0]):
        nx, ny, nz = ground.plane[i, 0], ground.plane[i, 1], ground.plane[i, 2]
        height = nx * cx + ny * cy + nz * cz - ground.plane[i, 3]
        if height - radius - half - margin > 0.0:
            continue
        s, k, ux, uy, uz = support_parts(nx, ny, nz, ax, ay, az)
        middle = height - rho * k - ball
        number = ground.plane_surface[i]
        rims = 2 if half > 0.0 else 1
        for j in range(rims):
            side = 0.0
            if half > 0.0:
                side = 2.0 * j - 1.0
                if side * s > 0.0 and abs(s) > SECOND_RIM:
                    continue
            gap = middle + side * half * s
            if gap >= margin:
                continue
            # from the centre to the rim's lowest point, then along the normal to the plane
            along = side * half
            px = cx - rho * ux + along * ax - (ball + gap) * nx
            py = cy - rho * uy + along * ay - (ball + gap) * ny
            pz = cz - rho * uz + along * az - (ball + gap) * nz
            rim = j + 1 if half > 0.0 else 0
            count = append(
                count, max_contacts, px, py, pz, nx, ny, nz, gap, number,
                feature_number(number, FACE, 0, rim),
                out_point, out_normal, out_gap, out_surface, out_feature,
            )  # fmt: skip

    # spheres: the point of the wheel nearest to the sphere's centre
    for i in range(ground.sphere_surface.shape[0]):
        ox, oy, oz = ground.sphere[i, 0], ground.sphere[i, 1], ground.sphere[i, 2]
        reach = ground.sphere[i, 3] + radius + half + margin
        dx, dy, dz = ox - cx, oy - cy, oz - cz
        if dx * dx + dy * dy + dz * dz > reach * reach:
            continue
        gap, nx, ny, nz = _sphere_gap(
            rho, half, ball, cx, cy, cz, ax, ay, az, ox, oy, oz, ground.sphere[i, 3]
        )
        if gap < margin:
            number = ground.sphere_surface[i]
            count = append(
                count, max_contacts,
                ox + ground.sphere[i, 3] * nx,
                oy + ground.sphere[i, 3] * ny,
                oz + ground.sphere[i, 3] * nz,
                nx, ny, nz, gap, number, feature_number(number, FACE, 0, 0),
                out_point, out_normal, out_gap, out_surface, out_feature,
            )  # fmt: skip

    # meshes and boxes
    for i in range(ground.mesh.shape[0]):
        count = mesh_contacts(
            i, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground, margin,
            count, max_contacts, out_point, out_normal, out_gap, out_surface, out_feature,
        )  # fmt: skip
    return count


@kernel
def wheel_distance(kind, radius, width, centre, axis, ground, surface):
    """Signed gap [m] between one wheel and one surface, at any distance.

    Args as in `wheel_contacts`; `surface` is the surface's number in the list given to `pack`.
    Infinite if no front side of a mesh faces the wheel.
    """
    return distance_to(kind, radius, width, centre, axis, ground, surface, -1)[0]


@kernel
def distance_to(kind, radius, width, centre, axis, ground, surface, only):
    """As `wheel_distance`, and the nearest triangle of a mesh, or −1; only: a triangle to look at
    alone, or −1 for all."""
    rho, half, ball = wheel_core(kind, radius, width)
    cx, cy, cz = centre[0], centre[1], centre[2]
    ax, ay, az = axis[0], axis[1], axis[2]
    row = ground.surface[surface, 1]
    if ground.surface[surface, 0] == MESH:
        if only < 0:
            return mesh_distance(row, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground)
        gap = triangle_gap(
            row, only, math.inf, radius, rho, half, ball, cx, cy, cz, ax, ay, az, ground
        )
        return gap, only
    if ground.surface[surface, 0] == PLANE:
        nx, ny, nz = ground.plane[row, 0], ground.plane[row, 1], ground.plane[row, 2]
        s, k, _, _, _ = support_parts(nx, ny, nz, ax, ay, az)
        height = nx * cx + ny * cy + nz * cz - ground.plane[row, 3]
        return height - rho * k - half * abs(s) - ball, -1
    gap, _, _, _ = _sphere_gap(
        rho, half, ball, cx, cy, cz, ax, ay, az,
        ground.sphere[row, 0], ground.sphere[row, 1], ground.sphere[row, 2], ground.sphere[row, 3],
    )  # fmt: skip
    return gap, -1


@kernel
def _sphere_gap(rho, half, ball, cx, cy, cz, ax, ay, az, ox, oy, oz, size):
    """Gap to a ground sphere of radius `size` about o, and the unit normal into the wheel.

    A disc or torus touches with its rim (the nearest point of the circle to o, as in the ExoMars
    report rt0448); a cylinder with its nearest point; a sphere along the line of centres.
    """
    if rho == 0.0 and half == 0.0:
        dx, dy, dz = cx - ox, cy - oy, cz - oz
        distance = math.sqrt(dx * dx + dy * dy + dz * dz)
        if distance < 1e-300:
            return -ball - size, 0.0, 0.0, 1.0
        return distance - ball - size, dx / distance, dy / distance, dz / distance
    if half == 0.0:
        distance, nx, ny, nz = rim_to_point(rho, cx, cy, cz, ax, ay, az, ox, oy, oz)
    else:
        distance, nx, ny, nz = core_to_point(rho, half, cx, cy, cz, ax, ay, az, ox, oy, oz)
    return distance - ball - size, nx, ny, nz
