"""Wheel contact against closed forms and against independent minimisation.

The oracles share nothing with the kernels. Apart: the least distance between a wheel and a set of
triangles, by a grid on each triangle that closes in on the minimum of the (convex) distance from a
point to the wheel. Inside a convex body: the largest separation over all directions,

    gap = max_n [ min_w n·w - max_g n·g ],

by dense sampling of the sphere of directions and a simplex search.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from marsyard.ground import Box, Plane, Sphere, TriangleMesh, pack
from marsyard.interaction.contact_geometry import (
    CYLINDER,
    DISC,
    SPHERE,
    TORUS,
    wheel_contacts,
    wheel_distance,
)

KINDS = [SPHERE, DISC, CYLINDER, TORUS]
R, W = 0.129, 0.03


def contacts(kind, centre, axis, ground, margin, room=24, radius=R, width=W):
    """Point, normal, gap, surface and feature of every contact; outputs pre-filled with garbage."""
    out = (
        np.full((room, 3), np.nan), np.full((room, 3), np.nan), np.full(room, np.nan),
        np.full(room, -9), np.full(room, -9),
    )  # fmt: skip
    count = wheel_contacts(
        kind, radius, width, np.array(centre, float), np.array(axis, float), ground,
        margin, room, *out,
    )  # fmt: skip
    return tuple(array[:count] for array in out)


def distance(kind, centre, axis, ground, surface=0):
    return wheel_distance(
        kind, R, W, np.array(centre, float), np.array(axis, float), ground, surface
    )


def core(kind):
    """rho, half width and ball radius of the four kinds."""
    return {SPHERE: (0, 0, R), DISC: (R, 0, 0), CYLINDER: (R, W, 0), TORUS: (R - W, 0, W)}[kind]


def wheel_to_points(kind, centre, axis, points):
    """Distance from points (n, 3) to the solid wheel, zero inside its core."""
    rho, half, ball = core(kind)
    d = points - centre
    h = d @ axis
    radial = np.linalg.norm(d - h[:, None] * axis, axis=1)
    return np.hypot(np.maximum(radial - rho, 0), np.maximum(abs(h) - half, 0)) - ball


def support(kind, centre, axis, n):
    """min over the wheel of n·w for directions n (m, 3)."""
    rho, half, ball = core(kind)
    s = n @ axis
    return n @ centre - rho * np.sqrt(np.maximum(1 - s * s, 0)) - half * abs(s) - ball


def brute_distance(kind, centre, axis, corners):
    """Least distance between the wheel and triangles (m, 3, 3), by grids that close in."""
    u, v = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9))
    keep = u + v <= 1
    grid = np.stack([1 - u[keep] - v[keep], u[keep], v[keep]], axis=1)
    near = np.linalg.norm(corners.mean(axis=1) - centre, axis=1)
    best = math.inf
    for triangle in corners[np.argsort(near)]:
        reach = np.max(np.linalg.norm(triangle - triangle.mean(axis=0), axis=1))
        if np.linalg.norm(triangle.mean(axis=0) - centre) - reach - R - W > best:
            continue
        weights = grid
        for level in range(45):
            values = wheel_to_points(kind, centre, axis, weights @ triangle)
            i = int(np.argmin(values))
            best = min(best, values[i])
            # the next grid is half as large, about the best point, kept inside the triangle
            weights = weights[i] + 0.55**level * (grid - 1 / 3)
            weights = np.maximum(weights, 0)
            weights /= weights.sum(axis=1)[:, None]
            if level == 8 and best < values[i] - reach * 0.1:
                break
    return best


def random_axis(rng, tilt, heading=math.pi):
    """A unit axis, up to `heading` from +y, leaning by up to `tilt` [rad]."""
    yaw, lean = rng.uniform(-heading, heading), rng.uniform(-tilt, tilt)
    return np.array(
        [-math.sin(yaw) * math.cos(lean), math.cos(yaw) * math.cos(lean), math.sin(lean)]
    )


def rough(cells, cell, height, seed):
    """A random rough square about the origin: corners (m, 3, 3)."""
    rng = np.random.default_rng(seed)
    x = (np.arange(cells + 1) - cells / 2) * cell
    p = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    p = np.concatenate([p, height * rng.standard_normal((cells + 1, cells + 1, 1))], axis=-1)
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    first = np.stack([a, b, c], axis=2).reshape(-1, 3, 3)
    return np.concatenate([first, np.stack([a, c, d], axis=2).reshape(-1, 3, 3)])


# ---------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("kind", KINDS)
def test_upright_wheel_on_a_level_plane(kind):
    point, normal, gap, surface, _ = contacts(
        kind, (1, 2, R + 0.3), (0, 1, 0), pack([Plane.horizontal(0.302)]), 0.01
    )
    expected = [[1, 2 - W, 0.302], [1, 2 + W, 0.302]] if kind == CYLINDER else [[1, 2, 0.302]]
    np.testing.assert_allclose(point, expected, atol=1e-15)
    np.testing.assert_allclose(gap, -0.002, atol=1e-15)
    np.testing.assert_array_equal(normal, [[0, 0, 1]] * len(gap))
    assert np.all(surface == 0)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("camber", [0.0, 0.2, -0.5])
def test_leaning_wheels_on_a_slope(slope, camber):
    """Camber γ against the slope's normal: the disc's centre is R cos γ above it, the torus's
    (R - r) cos γ + r, the cylinder's lower rim R cos γ + w sin|γ|."""
    n = np.array([-math.sin(slope), 0, math.cos(slope)])
    t = np.array([math.cos(slope), 0, math.sin(slope)])
    left = np.cross(n, t)
    axis = math.cos(camber) * left + math.sin(camber) * n
    foot = np.array([0.3, -0.2, 0.0]) - 0.3 * n[0] / n[2] * np.array([0, 0, 1.0])
    ground = pack([Plane.slope(slope)])
    height = {
        SPHERE: R,
        DISC: R * math.cos(camber),
        CYLINDER: R * math.cos(camber) + W * math.sin(abs(camber)),
        TORUS: (R - W) * math.cos(camber) + W,
    }
    for kind in KINDS:
        centre = foot + (height[kind] + 0.001) * n
        point, normal, gap, _, feature = contacts(kind, centre, axis, ground, 0.002)
        lowest = int(np.argmin(gap))
        assert gap[lowest] == pytest.approx(0.001, abs=1e-14)
        np.testing.assert_allclose(normal[lowest], n, atol=1e-15)
        # the touching point of the wheel is R sin γ to the side of the centre's foot
        side = (point[lowest] - foot) @ left
        rim = {SPHERE: 0, DISC: R, CYLINDER: R, TORUS: R - W}[kind] * math.sin(camber)
        if kind == CYLINDER and camber != 0:
            rim -= math.copysign(W * math.cos(camber), camber)
        if not (kind == CYLINDER and camber == 0):
            assert side == pytest.approx(rim, abs=1e-14)
        if kind == CYLINDER and camber == 0:
            assert sorted(feature & 3) == [1, 2]


def test_disc_and_sphere_touch_at_the_rim_point_nearest_to_the_centre():
    """rt0448 test 6: gap = |rim point - sphere centre| - Rs, rim point nearest in the disc."""
    o, size = np.array([5.0, 5.0, -1.8]), 2.0
    ground = pack([Sphere(o, size)])
    centre, axis = np.array([5.3, 5.75, 0.25]), np.array([0.0, 1.0, 0.0])
    phi = np.linspace(0, 2 * math.pi, 2_000_001)
    rim = centre + R * np.stack([np.cos(phi), np.zeros_like(phi), np.sin(phi)], axis=1)
    i = np.argmin(np.linalg.norm(rim - o, axis=1))
    point, normal, gap, _, _ = contacts(DISC, centre, axis, ground, 1.0)
    assert gap[0] == pytest.approx(np.linalg.norm(rim[i] - o) - size, abs=1e-10)
    np.testing.assert_allclose(point[0] + gap[0] * normal[0], rim[i], atol=1e-6)
    np.testing.assert_allclose(point[0], o + size * normal[0], atol=1e-14)
    assert distance(DISC, centre, axis, ground) == gap[0]


@pytest.mark.parametrize("kind", [SPHERE, CYLINDER, TORUS])
def test_sphere_gap_is_the_distance_of_its_centre_less_its_radius(kind):
    rng = np.random.default_rng(kind)
    for _ in range(100):
        o = rng.uniform(-0.2, 0.2, 3) + [0, 0, -0.5]
        axis = random_axis(rng, 1.4)
        expected = wheel_to_points(kind, np.zeros(3), axis, o[None])[0] - 0.3
        ground = pack([Sphere(o, 0.3)])
        point, normal, gap, _, _ = contacts(kind, (0, 0, 0), axis, ground, 1.0)
        if wheel_to_points(DISC, np.zeros(3), axis, o[None])[0] > abs(o @ axis) or kind != TORUS:
            assert gap[0] == pytest.approx(expected, abs=1e-13)
        assert np.linalg.norm(normal[0]) == pytest.approx(1, abs=1e-14)


# ---------------------------------------------------------------------------- seams


def flat_mesh(rng, tilt):
    """A randomly triangulated square of 2 m in a tilted plane: mesh, plane."""
    from scipy.spatial import Delaunay

    xy = rng.uniform(-1, 1, (400, 2))
    xy = np.concatenate([xy, [[-1, -1], [1, -1], [1, 1], [-1, 1]]])
    triangles = Delaunay(xy).simplices
    turn = Rotation.from_euler("xyz", [tilt, -tilt, 0.3]).as_matrix()
    vertices = np.concatenate([xy, np.zeros((len(xy), 1))], axis=1) @ turn.T + [3.0, -2.0, 0.5]
    mesh = TriangleMesh(vertices, triangles, name="flat")
    return mesh, Plane((3.0, -2.0, 0.5), turn[:, 2]), turn


@pytest.mark.filterwarnings("ignore:mesh")
@pytest.mark.parametrize("tilt", [0.0, 0.2])
def test_seams_of_a_flat_mesh_are_not_felt(tilt):
    """Thousands of places on a random triangulation: exactly the plane's contacts."""
    rng = np.random.default_rng(7)
    mesh, plane, turn = flat_mesh(rng, tilt)
    on_mesh, on_plane = pack([mesh]), pack([plane])
    assert len(np.unique(on_mesh.triangle_index[:, 0])) == 1
    vertices = mesh.vertices[np.max(np.abs((mesh.vertices - plane.point) @ turn), axis=1) < 0.8]
    for i in range(1500):
        # anywhere, and exactly over vertices
        local = np.array([*rng.uniform(-0.8, 0.8, 2), rng.uniform(0.7, 1.05) * R])
        centre = np.array(plane.point) + turn @ local
        if i % 3 == 0:
            centre = vertices[i % len(vertices)] + turn[:, 2] * rng.uniform(0.7, 1.05) * R
        axis = turn @ random_axis(rng, 0.3 if i % 2 else 0.0)
        for kind in KINDS:
            got = contacts(kind, centre, axis, on_mesh, 0.01)
            want = contacts(kind, centre, axis, on_plane, 0.01)
            assert len(got[2]) == len(want[2])
            order = np.argsort(got[4] & 3)
            for a, b in zip(got[:3], want[:3], strict=True):
                np.testing.assert_allclose(a[order], b, rtol=0, atol=1e-12)
    assert len(want[2]) >= 1


def test_feature_number_stays_the_same_over_a_flat_mesh():
    mesh, plane, turn = flat_mesh(np.random.default_rng(1), 0.0)
    ground = pack([mesh])
    seen = set()
    for x in np.linspace(-0.8, 0.8, 300):
        centre = np.array(plane.point) + turn @ [x, 0.37 * x, R]
        seen.update(contacts(DISC, centre, turn[:, 1], ground, 0.01)[4].tolist())
    assert len(seen) == 1


# ---------------------------------------------------------------------------- the step


def step_mesh(height=0.1, pieces=1):
    """Floor for x > 0, a face at x = 0 up to `height`, a plateau for x < 0; cut across y."""
    y = np.linspace(-2, 2, pieces + 1)
    corners = []
    for low, high in zip(y[:-1], y[1:], strict=True):
        profile = [(2, 0), (0, 0), (0, height), (-2, height)]
        for (x0, z0), (x1, z1) in zip(profile[:-1], profile[1:], strict=True):
            a, b = [x0, low, z0], [x0, high, z0]
            c, d = [x1, high, z1], [x1, low, z1]
            corners += [[a, b, c], [a, c, d]]
    return TriangleMesh.from_triangles(np.array(corners), name="step")


@pytest.mark.parametrize("kind", KINDS)
def test_approach_touches_floor_and_face_then_the_edge(kind):
    ground = pack([step_mesh(0.2)])
    _, normal, _, _, _ = contacts(kind, (R, 0.3, R), (0, 1, 0), ground, 1e-3)
    per_place = 2 if kind == CYLINDER else 1
    assert len(normal) == 2 * per_place
    assert np.sum(np.abs(normal - [0, 0, 1]).max(axis=1) < 1e-14) == per_place
    assert np.sum(np.abs(normal - [1, 0, 0]).max(axis=1) < 1e-14) == per_place
    # on the edge, between face and plateau
    out = np.array([math.sin(0.6), 0, math.cos(0.6)])
    point, normal, gap, _, _ = contacts(
        kind, np.array([0, 0.3, 0.2]) + (R + 1e-4) * out, (0, 1, 0), ground, 1e-3
    )
    assert len(gap) == per_place
    np.testing.assert_allclose(normal, [out] * per_place, atol=1e-12)
    np.testing.assert_allclose(gap, 1e-4, atol=1e-12)
    np.testing.assert_allclose(point[:, [0, 2]], [[0, 0.2]] * per_place, atol=1e-12)


@pytest.mark.parametrize("depth", [-0.001, 0.0, 0.1, 0.35])
@pytest.mark.parametrize("pieces", [1, 37])
@pytest.mark.parametrize("kind", KINDS)
def test_normal_turns_round_the_edge_with_the_wheel(kind, pieces, depth):
    """On a circle about the edge the gap is constant and the normal is the radius; before and
    after it the wheel slides along the face and the plateau with the same gap."""
    ground = pack([step_mesh(1.0, pieces)])
    far = R * (1 - depth)
    for angle in np.linspace(0.0, math.pi / 2, 181):
        out = np.array([math.cos(angle), 0, math.sin(angle)])
        point, normal, gap, _, _ = contacts(
            kind, np.array([0, 0.01, 1.0]) + far * out, (0, 1, 0), ground, 0.02
        )
        assert len(gap) == (2 if kind == CYLINDER else 1)
        np.testing.assert_allclose(gap, far - R, atol=1e-12)
        np.testing.assert_allclose(normal, [out] * len(gap), atol=1e-9)
        if kind == CYLINDER:
            np.testing.assert_allclose(sorted(point[:, 1]), [0.01 - W, 0.01 + W], atol=1e-12)
    for shift in ([0, 0, -0.3], [-0.3, 0, 0]):
        out = np.array([1.0, 0, 0] if shift[2] else [0, 0, 1.0])
        _, _, gap, _, _ = contacts(
            kind, np.array([0, 0.01, 1.0]) + far * out + shift, (0, 1, 0), ground, 0.02
        )
        np.testing.assert_allclose(gap, far - R, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gap_is_continuous_over_a_step(kind):
    """|Δgap| <= |Δcentre|: no jump on a path that dips 0.2 R into floor, face, edge, plateau.

    Headings within 60° of square: a thin wheel that slides into the edge with its side and is
    sunk beside it has two ways out, and changes from one to the other.
    """
    ground = pack([step_mesh(0.1, 5)])
    rng = np.random.default_rng(kind)
    for _ in range(8):
        axis = random_axis(rng, 0.3, 1.05)
        x = np.linspace(0.4, -0.4, 4001)
        low = 0.8 * R * math.cos(0.3)
        z = np.interp(x, [-0.4, 0.0, 0.9 * R, 0.4], [0.1 + low, 0.1 + low, low, low])
        path = np.stack([x, 0.3 * x, z], axis=1)
        gap = np.array([distance(kind, p, axis, ground) for p in path])
        assert np.all(np.isfinite(gap))
        moved = np.linalg.norm(np.diff(path, axis=0), axis=1)
        assert np.max(np.abs(np.diff(gap)) - moved) < 1e-9


def test_cylinder_that_hangs_over_an_edge_keeps_two_contacts():
    """Half off a plateau: the inner rim and the point where the edge cuts the tread."""
    ground = pack([step_mesh(0.5)])
    for lean in (0.0, 1e-6, -1e-6):
        axis = np.array([math.cos(lean), 0, math.sin(lean)])
        point, normal, gap, _, _ = contacts(
            CYLINDER, (-0.01, 0, 0.5 + R), axis, ground, 1e-3, radius=R
        )
        np.testing.assert_allclose(sorted(point[:, 0]), [-0.01 - W, 0.0], atol=1e-5)
        np.testing.assert_allclose(gap, 0.0, atol=1e-6)
        np.testing.assert_allclose(normal, [[0, 0, 1]] * 2, atol=1e-5)


def test_cylinder_on_a_narrow_beam_rests_on_both_edges():
    ground = pack([Box((0, 0, 0), (1, 0.02, 0.1))])
    point, normal, gap, _, _ = contacts(CYLINDER, (0, 0.005, 0.1 + R), (0, 1, 0), ground, 1e-3)
    np.testing.assert_allclose(sorted(point[:, 1]), [-0.02, 0.02], atol=1e-12)
    np.testing.assert_allclose(gap, 0, atol=1e-12)
    np.testing.assert_allclose(normal, [[0, 0, 1]] * 2, atol=1e-12)


def test_named_edge_normal_is_used_on_horizontal_edges_only():
    mesh = step_mesh(0.1)
    fixed = TriangleMesh(mesh.vertices, mesh.triangles, name="step", edge_normal=(0.707, 0, 0.707))
    out = np.array([math.sin(1.2), 0, math.cos(1.2)])
    centre = np.array([0, 0.3, 0.1]) + (R + 1e-4) * out
    n = np.array([1, 0, 1]) / math.sqrt(2)
    point, normal, gap, _, _ = contacts(SPHERE, centre, (0, 1, 0), pack([fixed]), 1e-3)
    np.testing.assert_allclose(normal, [n], atol=1e-15)
    np.testing.assert_allclose(gap, 1e-4, atol=1e-14)
    np.testing.assert_allclose(point[0] + gap[0] * normal[0], centre - R * n, atol=1e-15)
    # the upright border of the face offers nothing
    beside = np.array([0.05, -2.0 - R, 0.05])
    assert len(contacts(SPHERE, beside, (0, 1, 0), pack([fixed]), 0.02)[2]) <= len(
        contacts(SPHERE, beside, (0, 1, 0), pack([mesh]), 0.02)[2]
    )


# ---------------------------------------------------------------------------- edges, vertices


def test_valley_gives_two_face_contacts():
    roof = np.array([[-1, -1, 1], [0, -1, 0], [0, 1, 0], [-1, 1, 1], [1, -1, 1], [1, 1, 1]], float)
    ground = pack([TriangleMesh(roof, [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])])
    centre = (0, 0.1, math.sqrt(2) * R - 1e-3)
    point, normal, gap, _, _ = contacts(DISC, centre, (0, 1, 0), ground, 0.01)
    h = math.sqrt(0.5)
    np.testing.assert_allclose(sorted(normal.tolist()), [[-h, 0, h], [h, 0, h]], atol=1e-14)
    np.testing.assert_allclose(gap, -1e-3 * h, atol=1e-14)


@pytest.mark.parametrize("depth", [-0.01, 0.0, 0.02])
def test_disc_on_an_edge_that_crosses_its_plane(depth):
    """An edge parallel to the axis: radial. Askew by ψ: normal to edge and to the rim there."""
    ground = pack([Box((0, 0, -0.5), (0.005, 1, 0.5))])
    for angle in (0.02, -0.03):
        out = np.array([math.sin(angle), 0, math.cos(angle)])
        _, normal, gap, _, _ = contacts(
            DISC, np.array([0.005, 0, 0]) + (R - depth) * out, (0, 1, 0), ground, 0.02
        )
        i = int(np.argmin(np.abs(normal - out).max(axis=1)))
        if angle > 0:
            np.testing.assert_allclose(normal[i], out, atol=1e-12)
            assert gap[i] == pytest.approx(-depth, abs=1e-12)
    yaw = 0.4
    axis = np.array([-math.sin(yaw), math.cos(yaw), 0])
    ground = pack([step_mesh(0.5)])
    centre = np.array([0.06, 0.1, 0.5 + 0.11 - depth])
    point, normal, gap, _, _ = contacts(DISC, centre, axis, ground, 0.05)
    i = int(np.argmin(np.abs(point[:, 0]) + np.abs(point[:, 2] - 0.5)))
    touch = point[i] + gap[i] * normal[i]
    tangent = np.cross(axis, touch - centre)
    assert np.linalg.norm(touch - centre) == pytest.approx(R, abs=1e-12)
    assert abs((touch - centre) @ axis) < 1e-13
    assert abs(normal[i] @ tangent) < 1e-13
    assert abs(normal[i] @ [0, 1, 0]) < 1e-15


@pytest.mark.parametrize("kind", KINDS)
def test_apart_from_a_rough_mesh_against_brute_force(kind):
    corners = rough(8, 0.08, 0.03, seed=3)
    ground = pack([TriangleMesh.from_triangles(corners)])
    rng = np.random.default_rng(kind)
    for _ in range(25):
        centre = np.array([*rng.uniform(-0.15, 0.15, 2), rng.uniform(0.22, 0.4)])
        axis = random_axis(rng, 1.0)
        want = brute_distance(kind, centre, axis, corners)
        assert want > 0
        assert distance(kind, centre, axis, ground) == pytest.approx(want, abs=1e-7)
        point, normal, gap, _, _ = contacts(kind, centre, axis, ground, want + 0.01)
        assert np.min(gap) == pytest.approx(want, abs=1e-7)
        np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-12)
        # every contact is a local minimum: nothing of the wheel is nearer to its ground point
        if kind != CYLINDER:
            np.testing.assert_allclose(wheel_to_points(kind, centre, axis, point), gap, atol=1e-10)


def separation(kind, centre, axis, points, n):
    """Separation of the wheel and the hull of points along directions n (m, 3)."""
    n = n / np.linalg.norm(n, axis=-1, keepdims=True)
    return support(kind, centre, axis, n) - np.max(n @ points.T, axis=-1)


def largest_separation(kind, centre, axis, points):
    """The largest separation over all directions, and that direction."""
    i = np.arange(5000) + 0.5
    phi, z = i * math.pi * (1 + math.sqrt(5)), 1 - 2 * i / 5000
    n = np.stack([np.cos(phi) * np.sqrt(1 - z * z), np.sin(phi) * np.sqrt(1 - z * z), z], axis=1)
    values = separation(kind, centre, axis, points, n)
    best, direction = -math.inf, None
    for start in n[np.argsort(values)[-1:]]:
        # the function has kinks: the simplex is started again until it stays
        for _ in range(4):
            found = minimize(
                lambda n: -separation(kind, centre, axis, points, n[None])[0], start,
                method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-14, "maxiter": 2000},
            )  # fmt: skip
            start = found.x
        if -found.fun > best:
            best, direction = -found.fun, found.x / np.linalg.norm(found.x)
    return best, direction


@pytest.mark.parametrize("kind", KINDS)
def test_box_gap_against_the_largest_separation(kind):
    """Apart and inside by up to 0.3 half thicknesses: faces, edges and corners of a turned box.

    Inside, a thin wheel may have several ways out; the contact is one of them, a local maximum.
    """
    turn = Rotation.from_euler("xyz", [0.4, 0.3, 0.2])
    box = Box((0.1, 0.2, -0.1), (0.5, 0.4, 0.3), turn.as_quat(scalar_first=True))
    ground, points = pack([box]), box.corners()
    rng = np.random.default_rng(10 + kind)
    tested = exact = 0
    while tested < 15:
        # somewhere about the surface of the box
        face = rng.uniform(-1, 1, 3)
        face /= np.max(np.abs(face))
        out = face / np.linalg.norm(face)
        centre = np.array(box.centre) + turn.apply(face * box.half_size + 0.9 * R * out)
        axis = random_axis(rng, 1.5)
        want, along = largest_separation(kind, centre, axis, points)
        thickness = along @ centre - support(kind, centre, axis, along[None])[0]
        if want < -0.3 * max(thickness, 0.1 * R):
            continue
        tested += 1
        point, normal, gap, _, _ = contacts(kind, centre, axis, ground, 0.2)
        assert len(gap)
        if np.min(np.abs(gap - want)) < 1e-8:
            exact += 1
        else:
            assert want < 0
            i = int(np.argmax(gap))
            around = normal[i] + 1e-3 * rng.standard_normal((200, 3))
            assert np.max(separation(kind, centre, axis, points, around)) < gap[i] + 1e-9
        if want > 0:
            assert distance(kind, centre, axis, ground) == pytest.approx(want, abs=1e-8)
    assert exact >= 12


@pytest.mark.parametrize("kind", KINDS)
def test_back_sides_do_not_catch(kind):
    ground = pack([TriangleMesh([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]])])
    assert len(contacts(kind, (0.5, 0.5, -R - 0.001), (0, 1, 0), ground, 0.01)[2]) == 0
    two = TriangleMesh([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]], two_sided=True)
    _, normal, gap, _, _ = contacts(kind, (0.5, 0.5, -R - 0.001), (0, 1, 0), pack([two]), 0.01)
    np.testing.assert_allclose(normal, [[0, 0, -1]] * len(gap))
    np.testing.assert_allclose(gap, 0.001, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_far_side_of_a_thin_wall_does_not_pull(kind):
    """Beside a wall of 2 cm, higher or lower than the hub: only what faces the wheel counts."""
    for top in (0.05, 0.3):
        ground = pack([Box((0, 0, top / 2), (0.5, 0.01, top / 2))])
        centre = (0.1, -0.01 - core(kind)[1] - core(kind)[2] - 0.002, R)
        point, normal, gap, _, _ = contacts(kind, centre, (0, 1, 0), ground, 0.01)
        assert np.all(gap > 0)
        assert np.all(normal[:, 1] <= 0)


@settings(max_examples=40, deadline=None)
@given(
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
    move=st.tuples(*[st.floats(-5, 5)] * 3),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 1000),
)
def test_moving_ground_and_wheel_together_changes_nothing(turn, move, kind, seed):
    rng = np.random.default_rng(seed)
    corners = rough(4, 0.1, 0.03, seed)
    centre = np.array([*rng.uniform(-0.1, 0.1, 2), rng.uniform(0.1, 0.15)])
    axis = random_axis(rng, 0.5)
    matrix = Rotation.from_euler("xyz", turn).as_matrix()
    before = contacts(
        kind, centre, axis, pack([TriangleMesh.from_triangles(corners, orient=False)]), 0.01
    )
    moved = TriangleMesh.from_triangles(corners @ matrix.T + move, orient=False)
    after = contacts(kind, matrix @ centre + move, matrix @ axis, pack([moved]), 0.01)
    # deep inside, an edge has several ways out, and which is found depends on rounding
    assume(before[2].min(initial=0.0) > -0.1 * R)
    assert len(before[2]) == len(after[2])
    if len(before[2]) == 0:
        return
    # in the same order: two contacts may share a point and differ in their normals
    back, normal = (after[0] - move) @ matrix, after[1] @ matrix
    i = np.lexsort(np.round(np.hstack([before[0], before[1]]).T, 6))
    j = np.lexsort(np.round(np.hstack([back, normal]).T, 6))
    np.testing.assert_allclose(before[0][i], back[j], atol=1e-9)
    np.testing.assert_allclose(before[1][i], normal[j], atol=1e-9)
    np.testing.assert_allclose(before[2][i], after[2][j], atol=1e-10)


def test_more_contacts_than_room_keeps_the_deepest():
    rng = np.random.default_rng(0)
    balls = [Sphere((*rng.uniform(-0.05, 0.05, 2), -0.3), 0.3, name=f"b{i}") for i in range(12)]
    ground = pack(balls)
    every = contacts(SPHERE, (0, 0, R), (0, 1, 0), ground, 0.05)[2]
    some = contacts(SPHERE, (0, 0, R), (0, 1, 0), ground, 0.05, room=4)[2]
    assert len(every) == 12
    np.testing.assert_array_equal(np.sort(some), np.sort(every)[:4])
