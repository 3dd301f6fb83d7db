"""Polygonal contact by itself: closed forms of the elastic foundation, detection, conservation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.interaction.polygonal import (
    Layer,
    Material,
    Pair,
    PolygonalContact,
    ball,
    box,
    closed_surface,
    in_series,
    mesh,
    plane,
    resample,
    revolution,
    solid_box,
    sphere,
    turned,
)
from marsyard.interaction.polygonal.arrays import FN
from marsyard.interaction.polygonal.distance import mesh_distance, section_distance
from marsyard.interaction.polygonal.surface import pack_shapes
from marsyard.robot.shapes import check_profile

K = 1e9
ELASTIC = Layer(K, 0.0, 0.0, 0.5 * K, 0.0, 0.5, 0.4, 1e-4)
R = 0.1
LYING = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # z of the section along y


def about(axis, angle):
    """Rotation matrix."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    c = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * c + (1 - math.cos(angle)) * c @ c


# --- closed forms


def test_sphere_on_a_plane():
    """F = π k (R δ² − δ³/3), the Winkler foundation; area π (2 R δ − δ²), seen along the normal."""
    depth = 1e-3
    force, area = math.pi * K * (R * depth**2 - depth**3 / 3), math.pi * (2 * R * depth - depth**2)
    errors = []
    for size in (0.02, 0.01, 0.005):
        pressed = PolygonalContact(Pair(ball(R, size), plane(), ELASTIC)).press((0, 0, R - depth))
        errors.append(abs(pressed.force[2] / force - 1))
    assert errors[-1] < 1e-3
    assert errors[0] / errors[-1] > 8
    fine = PolygonalContact(Pair(ball(R, 0.0025), plane(), ELASTIC)).press((0, 0, R - depth))
    assert fine.area == pytest.approx(area, rel=1e-3)
    assert fine.depth == pytest.approx(depth, rel=0.03)


def test_cylinder_on_a_plane():
    """F = k L R² (φ − sin φ cos φ), the area of the segment; A = 2 L R sin φ; cos φ = 1 − δ/R."""
    depth, length = 2e-4, 0.08
    section = np.array([[-length / 2, R], [length / 2, R]])
    phi = math.acos(1 - depth / R)
    force = K * length * R**2 * (phi - math.sin(phi) * math.cos(phi))
    errors = []
    for steps in (180, 360, 720):
        contact = PolygonalContact(Pair(turned(section, 0.02, steps), plane(), ELASTIC))
        # over all angles of the polygon
        found = [
            contact.press((0, 0, R - depth), LYING @ about((0, 0, 1), a)).force[2]
            for a in np.linspace(0, 2 * math.pi / steps, 7)
        ]
        errors.append(max(abs(f / force - 1) for f in found))
    assert errors[-1] < 2e-3
    assert errors[0] / errors[-1] > 8
    pressed = contact.press((0, 0, R - depth), LYING)
    assert pressed.area == pytest.approx(2 * length * R * math.sin(phi), rel=1e-3)


def test_flat_punch_is_exact():
    """F = k A δ; tilted by a small angle θ, M = k I θ − F h θ about a point h above the base."""
    half = np.array([0.06, 0.04, 0.02])
    contact = PolygonalContact(Pair(box(half, 0.01), plane(), ELASTIC))
    depth, tilt = 1e-4, 1e-4
    pressed = contact.press((0, 0, half[2] - depth))
    assert pressed.force == pytest.approx([0, 0, K * 4 * half[0] * half[1] * depth], abs=1e-6)
    assert pressed.area == pytest.approx(4 * half[0] * half[1], rel=1e-12)
    assert np.ptp(pressed.pressure) < 1e-6 * K * depth
    pressed = contact.press((0, 0, half[2] - depth), about((0, 1, 0), tilt))
    moment = K * (2 * half[1]) * (2 * half[0]) ** 3 / 12 * tilt - pressed.force[2] * half[2] * tilt
    assert pressed.torque[1] == pytest.approx(-moment, rel=1e-4)


def test_partly_immersed_punch():
    """A punch tilted so far that only an edge is in: linear pressure on a part, exactly clipped."""
    half = np.array([0.05, 0.04, 0.05])
    tilt = 0.02
    contact = PolygonalContact(Pair(box(half, 0.03), plane(), ELASTIC, refine=0))
    # lowest edge 1e-4 below the plane
    c, s = math.cos(tilt), math.sin(tilt)
    lowest = 1e-4
    pressed = contact.press((0, 0, half[0] * s + half[2] * c - lowest), about((0, 1, 0), tilt))
    # seen from above: what is in of the bottom, and of the side
    wide = lowest / math.tan(tilt) + lowest * math.tan(tilt)
    assert pressed.area == pytest.approx(wide * 2 * half[1], rel=1e-9)
    assert pressed.force[2] == pytest.approx(0.5 * K * lowest * wide * 2 * half[1], rel=1e-9)


@pytest.mark.parametrize("size", [0.02, 0.005])
def test_faces_larger_than_the_contact_are_cut(size):
    """A ball between the corners of coarse faces: found and integrated by cutting them."""
    depth = 2e-4
    a = math.sqrt(R**2 - (R - depth) ** 2)
    rho = np.linspace(0, a, 20001)
    far = np.hypot(rho, R - depth)
    force = K * np.trapezoid(2 * math.pi * rho * (R - far), rho)
    errors = []
    for refine in (0, 2, 4, 6):
        pair = Pair(box(np.array([0.1, 0.1, 0.02]), size), sphere(R), ELASTIC, refine)
        pressed = PolygonalContact(pair).press((0.0013, 0.0021, R + 0.02 - depth))
        errors.append(abs(pressed.force[2] / force - 1))
    assert errors[-1] < 0.01
    assert errors[-1] <= errors[0]
    assert size < 0.01 or errors[0] > 0.2


# --- detection

BELL = np.stack([z := np.linspace(0, 0.3, 61), 0.05 + 0.6 * (z - 0.1) ** 2], axis=1)


def test_distance_to_mesh_and_to_section_agree():
    """A concave body of revolution by its section and by its polygons, near and far."""
    surface = turned(BELL, 0.005, 192)
    shapes, _, _ = pack_shapes(
        [], [mesh(closed_surface(surface.vertices, surface.triangles, "bell"))]
    )
    points = np.random.default_rng(1).uniform([-0.1, -0.1, -0.05], [0.1, 0.1, 0.35], (3000, 3))
    by_mesh = np.array([mesh_distance(shapes, 0, 1.0, *p) for p in points])
    by_section = np.array(
        [section_distance(BELL, 0, len(BELL), 1.0, p[2], np.hypot(p[0], p[1])) for p in points]
    )
    assert np.abs(by_mesh[:, 0] - by_section[:, 0]).max() < 2e-5
    clear = np.abs(by_section[:, 0]) > 2e-5
    assert np.all((by_mesh[clear, 0] < 0) == (by_section[clear, 0] < 0))
    # directions: where the nearest place is not one of several
    radial = np.einsum("ij,ij->i", by_mesh[:, 1:3], points[:, :2]) / np.hypot(*points[:, :2].T)
    same = np.abs(radial - by_section[:, 2]) < 0.02
    assert np.count_nonzero(same) > 0.98 * len(points)


def test_distance_to_mesh_against_all_triangles():
    """The hierarchy finds what a look at every triangle finds; the sign is that of the volume."""
    rng = np.random.default_rng(2)
    surface = ball(0.1, 0.05)
    # a star: concave, with sharp edges
    stretch = rng.uniform(0.6, 1.4, len(surface.vertices))
    star = closed_surface(surface.vertices * stretch[:, None], surface.triangles, "star")
    shapes, _, _ = pack_shapes([], [mesh(star)])
    points = rng.uniform(-0.15, 0.15, (60, 3))
    corners = star.vertices[star.triangles]
    for p in points:
        d, *n = mesh_distance(shapes, 0, 1.0, *p)
        brute = min(_to_triangle(p, t) for t in corners)
        assert abs(d) == pytest.approx(brute, abs=1e-12)
        assert (d < 0) == (_winding(p, corners) > 0.5)
        # going along the direction by −d ends on the surface
        assert abs(mesh_distance(shapes, 0, 1.0, *(p - d * np.array(n)))[0]) < 1e-9


def _to_triangle(p, t):
    """Distance by minimising over the barycentric coordinates of face, sides and corners."""
    best = min(np.linalg.norm(p - c) for c in t)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        e = t[b] - t[a]
        s = np.clip((p - t[a]) @ e / (e @ e), 0, 1)
        best = min(best, np.linalg.norm(p - t[a] - s * e))
    n = np.cross(t[1] - t[0], t[2] - t[0])
    q = p - (p - t[0]) @ n / (n @ n) * n
    u = np.linalg.lstsq(np.stack([t[1] - t[0], t[2] - t[0]], axis=1), q - t[0], rcond=None)[0]
    if u.min() >= 0 and u.sum() <= 1:
        best = min(best, np.linalg.norm(p - q))
    return best


def _winding(p, corners):
    """Solid angle of all triangles over 4π."""
    a, b, c = (corners[:, k] - p for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    top = np.einsum("ij,ij->i", a, np.cross(b, c))
    dot = lambda u, v: np.einsum("ij,ij->i", u, v)  # noqa: E731
    bottom = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return np.sum(2 * np.arctan2(top, bottom)) / (4 * math.pi)


def test_both_detections_agree_on_a_body_of_revolution():
    """A ball in the concave waist of a body of revolution: section and mesh give one force."""
    small = ball(0.03, 0.0015)
    solid = turned(BELL, 0.003, 384)
    results = []
    for other in (revolution(BELL, 1), mesh(solid)):
        contact = PolygonalContact(Pair(small, other, ELASTIC))
        results.append(contact.press((0.0795, 0.0, 0.12)))
    a, b = results
    assert a.normal_force > 30
    assert b.force == pytest.approx(a.force, abs=0.01 * a.normal_force)
    assert b.area == pytest.approx(a.area, rel=0.02)
    assert b.depth == pytest.approx(a.depth, rel=0.02)


def test_contact_in_several_places_and_from_within():
    """A ring of pressure: a ball in a funnel; equal shares all around, nothing sideways."""
    funnel = np.array([[0.0, 0.02], [0.1, 0.12]])
    contact = PolygonalContact(Pair(ball(0.05, 0.002), revolution(funnel, -1), ELASTIC))
    # touches where the wall's distance from the centre is the radius: 45° wall
    z = 0.05 * math.sqrt(2) - 0.02 - 2e-4
    pressed = contact.press((0, 0, z))
    assert pressed.force[2] > 100
    assert abs(pressed.force[:2]).max() < 1e-3 * pressed.force[2]
    angles = np.arctan2(pressed.point[:, 1], pressed.point[:, 0])
    assert np.histogram(angles, 12)[0].min() > 0


def test_a_changing_profile_is_linear_between_its_stations():
    """A cylinder that grows with its coordinate, against a plate."""
    sections = np.array([[[-0.05, 0.02], [0.05, 0.02]], [[-0.05, 0.03], [0.05, 0.03]]])
    other = revolution(sections, 1, np.array([0.0, 0.01]))
    contact = PolygonalContact(Pair(box(np.array([0.1, 0.1, 0.01]), 0.02), other, ELASTIC))
    side = about((0, 1, 0), math.pi / 2)
    for value, radius in ((0.0, 0.02), (0.004, 0.024), (0.01, 0.03), (0.02, 0.03), (-1.0, 0.02)):
        contact.set_profile(value)
        assert contact.press((radius + 0.01 + 1e-6, 0, 0), side).faces == 0
        assert contact.press((radius + 0.01 - 1e-4, 0, 0), side).depth == pytest.approx(
            1e-4, rel=0.05
        )


def test_spreading_against_a_load_takes_its_work():
    """The force on a changing profile's coordinate is that of the energy: −∂U/∂q = −F dr/dq."""
    sections = np.array([[[-0.05, 0.02], [0.05, 0.02]], [[-0.05, 0.03], [0.05, 0.04]]])
    other = revolution(sections, 1, np.array([0.0, 0.01]))
    smooth = ELASTIC._replace(stick=0.0, slip=0.0)
    contact = PolygonalContact(Pair(box(np.array([0.1, 0.02, 0.01]), 0.005), other, smooth, 6))
    side = about((0, 1, 0), math.pi / 2)
    # work of spreading a little at rest equals what the force says
    values = np.linspace(0.004, 0.0042, 21)
    forces, energy = [], []
    for value in values:
        contact.set_profile(value)
        pressed = contact.press((0.036, 0, 0), side)
        forces.append(contact.pairs.force[0, 6])
        energy.append(pressed.force[0])
    assert min(energy) > 10 and max(forces) < 0
    # moved away by what it spreads there, the plate feels the same: virtual work
    contact.set_profile(0.0041)
    pressed = contact.press((0.036, 0, 0), side)
    rows = contact.pairs.touch[: contact.pairs.counts[0, 0]]
    middle = np.average(rows[:, 2], weights=rows[:, FN])
    grows = (0.01 + 0.01 * (middle + 0.05) / 0.1) / 0.01
    assert contact.pairs.force[0, 6] == pytest.approx(-pressed.force[0] * grows, rel=0.02)


# --- conservation and symmetry


@pytest.mark.parametrize("other", [sphere(R), revolution(BELL, 1), solid_box(np.full(3, 0.07))])
def test_no_work_around_a_closed_path(other):
    """Without friction and damping the force has a potential."""
    contact = PolygonalContact(Pair(ball(0.05, 0.004), other, ELASTIC._replace(stick=0, slip=0)))
    middle = np.array([0.0, 0.0, 0.15]) if other.kind == 3 else np.zeros(3)
    reach = {1: R, 2: 0.07, 3: 0.0515}[other.kind] + 0.05 - 8e-4
    n = 200
    work = size = 0.0
    for i in range(n):
        t = 2 * math.pi * (i + 0.5) / n

        def place(t):
            return middle + np.array(
                [reach + 3e-4 * math.cos(t), 4e-3 * math.sin(t), 2e-3 * math.sin(t)]
            )

        step = place(t + math.pi / n) - place(t - math.pi / n)
        power = contact.press(place(t)).force @ step
        work += power
        size += abs(power)
    assert size > 0
    assert abs(work) < 0.01 * size


def test_symmetric_cases_stay_symmetric():
    """A box on its face, a wheel upright, a ball on a ball: nothing sideways, no torque."""
    cases = [
        (box(np.array([0.05, 0.04, 0.02]), 0.01), plane(), (0, 0, 0.0199), None),
        (turned(np.array([[-0.04, R], [0.04, R]]), 0.01, 360), plane(), (0, 0, R - 1e-4), LYING),
        (box(np.array([0.05, 0.05, 0.02]), 0.01), sphere(R), (0, 0, R + 0.02 - 1e-4), None),
    ]
    for faces, other, place, turn in cases:
        pressed = PolygonalContact(Pair(faces, other, ELASTIC)).press(place, turn)
        assert pressed.force[2] > 1
        assert abs(pressed.force[:2]).max() < 1e-9 * pressed.force[2]
        assert abs(pressed.torque).max() < 1e-9 * pressed.force[2]


# --- law and layers


def test_damping_comes_in_over_the_transition():
    """Eq. (1): d_N s/s_d0 below s_d0, d_N above; never adhesive."""
    layer = ELASTIC._replace(damping=1e6, transition=1e-4)
    contact = PolygonalContact(Pair(box(np.array([0.05, 0.05, 0.02]), 0.01), plane(), layer))
    area = 0.01
    for depth, share in ((5e-5, 0.5), (2e-4, 1.0)):
        for speed in (0.01, -0.01):
            pressed = contact.press((0, 0, 0.02 - depth), velocity=(0, 0, -speed))
            expected = max(0.0, area * (K * depth + 1e6 * share * speed))
            assert pressed.force[2] == pytest.approx(expected, rel=1e-9)
    assert contact.press((0, 0, 0.02 - 1e-5), velocity=(0, 0, 1.0)).force[2] == 0.0


def test_stick_slip_and_stick_again():
    """Eq. (2): a spring up to μ_stick F_N, then μ_slip F_N, and what is left when it stops."""
    contact = PolygonalContact(Pair(box(np.array([0.05, 0.05, 0.02]), 0.02), plane(), ELASTIC))
    depth, area, h = 1e-4, 0.01, 1e-3
    normal = K * area * depth
    spring = 0.5 * K * area
    place = np.array([0.0, 0.0, 0.02 - depth])
    slow = np.array([1e-3, 0, 0])
    forces = []
    for _ in range(200):
        forces.append(contact.press(place, velocity=slow, advance=h).force[0])
        place = place + h * slow
    stuck = np.arange(200) * h * 1e-3 * spring
    holds = stuck < 0.49 * normal
    assert np.allclose(-np.array(forces)[holds], stuck[holds], rtol=1e-9, atol=1e-9 * normal)
    assert forces[-1] == pytest.approx(-0.4 * normal, rel=1e-9)
    # stopped: it holds what it held, for ever
    for _ in range(100):
        last = contact.press(place, advance=h).force[0]
    assert last == pytest.approx(-0.4 * normal, rel=1e-9)
    # reversed: unloads along the spring before it slips the other way
    back = [contact.press(place, velocity=-slow, advance=h).force[0] for _ in range(3)]
    assert np.diff(back) == pytest.approx([spring * 1e-6] * 2, rel=1e-6)


def test_layers_in_series():
    """1/k = b₁/K₁ + b₂/K₂, K = E(1−ν)/((1+ν)(1−2ν)); without Poisson's effect K = E."""
    k, shear = in_series([Material(2e6, 0.0, 0.01)])
    assert k == pytest.approx(2e8)
    assert shear == pytest.approx(1e8)
    one = in_series([Material(70e9, 0.33, 0.002)])[0]
    other = in_series([Material(5e6, 0.45, 0.003)])[0]
    both = in_series([Material(70e9, 0.33, 0.002), Material(5e6, 0.45, 0.003)])[0]
    assert 1 / both == pytest.approx(1 / one + 1 / other, rel=1e-12)
    assert one == pytest.approx(70e9 * 0.67 / (1.33 * 0.34) / 0.002, rel=1e-12)


def test_sampling_is_denser_where_a_profile_bends():
    """Quarter circle between two straight lines: most points lie on it."""
    angle = np.linspace(0, math.pi / 2, 100)
    arc = np.stack([0.1 + 0.01 * np.sin(angle), 0.05 - 0.01 * (1 - np.cos(angle))], axis=1)
    line = np.array([[0.0, 0.05]])
    end = np.array([[0.1101, 0.0]])
    profile = np.concatenate([line, arc, end])
    made = resample(profile, 41)
    on_arc = (made[:, 0] >= 0.1) & (made[:, 1] >= 0.04)
    assert np.count_nonzero(on_arc) > 20
    assert made[0] == pytest.approx(profile[0])
    assert made[-1] == pytest.approx(profile[-1])


@pytest.mark.parametrize("count", [5, 6, 7, 20])
def test_sampling_keeps_the_corners(count):
    """A step and a cone between straight lines: no sample cuts them off."""
    profile = np.array([[0, 0.05], [0.1, 0.05], [0.1001, 0.02], [0.3, 0.02], [0.4, 0.0]])
    made = resample(profile, count)
    assert len(made) == count
    assert np.all(np.diff(made[:, 0]) > 0)
    z = np.linspace(0, 0.4, 5001)
    assert np.interp(z, *made.T) == pytest.approx(np.interp(z, *profile.T), abs=1e-12)


def test_sampling_with_fewer_points_than_corners_keeps_the_sharpest():
    profile = np.array([[0, 0.05], [0.1, 0.05], [0.1001, 0.02], [0.3, 0.02], [0.4, 0.0]])
    assert resample(profile, 4)[1:3] == pytest.approx(profile[1:3])


# --- lists of near faces


BOLT = np.array([[-0.1, 0.03], [0.0, 0.05], [0.1, 0.03]])
CROWN = np.stack([BOLT, BOLT + [0.0, 0.01]])
WALL = np.stack([z := np.linspace(0, 0.3, 61), 0.102 + 0.2 * (z - 0.15) ** 2], axis=1)


@pytest.mark.parametrize(
    ("other", "start"),
    [
        (plane(), (0, 0, R)),
        (sphere(R), (0, 0, 2 * R)),
        (solid_box(np.full(3, R)), (0.02, 0.1, 2 * R)),
        (revolution(BOLT, 1), (0.148, 0, 0.01)),
        (revolution(WALL, -1), (0.003, 0, 0.15)),
        (revolution(CROWN, 1, np.array([0.0, 1.0])), (0.152, 0, 0.01)),
        (mesh(ball(R, 0.01)), (0, 0, 2 * R)),
    ],
    ids=["plane", "sphere", "box", "bolt", "wall", "crown", "mesh"],
)
def test_lists_of_near_faces_leave_out_nothing(other, start):
    """A ball moves to and fro, slowly and in leaps: the same bits as without lists."""
    pair = Pair(ball(R, 0.01), other, ELASTIC, refine=2)
    known, fresh = PolygonalContact(pair), PolygonalContact(pair)
    random = np.random.default_rng(3)
    touching = 0
    place, turn = np.array(start), np.eye(3)
    for step in range(300):
        leap = step % 40 == 39
        size = 3e-3 if leap else 2e-5
        place = np.array(start) if leap else place + size * random.normal(size=3)
        turn = about(random.normal(size=3), size / R) @ turn
        fresh.pairs.near_count[:] = -1
        if len(other.station):
            value = 0.5 + 0.4 * math.sin(0.03 * step)
            known.set_profile(value)
            fresh.set_profile(value)
        got, expected = known.press(place, turn), fresh.press(place, turn)
        assert np.array_equal(got.force, expected.force)
        assert np.array_equal(got.torque, expected.torque)
        assert np.array_equal(got.face, expected.face)
        touching += got.faces > 0
    assert touching > 100


# --- bad input


@pytest.mark.parametrize(
    "make",
    [
        lambda: ball(0.1, 1e-6, "shapes.tip"),
        lambda: box(np.full(3, 0.1), 1e-6, "shapes.tip"),
        lambda: turned(np.array([[0, 0.1], [1, 0.1]]), 1e-6, 96, "shapes.tip"),
    ],
)
def test_more_faces_than_there_is_room_for(make):
    with pytest.raises(InputError, match=r"shapes.tip: faces of 1e-06 m would be more than"):
        make()


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[0, 0.1], [0.1, 0.1], [0.05, 0.2]], "z must increase"),
        ([[0, 0.1], [0, 0.2]], "z must increase"),
        ([[0, 0.1]], "at least two points"),
        ([[0, 0.1], [0.1, -0.1]], "must not be below 0"),
        ([[0, 0.0], [0.1, 0.0]], "0 everywhere"),
        ([[0, 0.1], [math.nan, 0.1]], "finite"),
        ("abc", "at least two points"),
    ],
)
def test_profiles_that_are_none(points, words):
    with pytest.raises(InputError, match=words):
        check_profile(points, "shapes.bolt.profile")


def test_meshes_that_are_no_bodies():
    surface = ball(0.1, 0.05)
    with pytest.raises(InputError, match="open"):
        closed_surface(surface.vertices, surface.triangles[1:], "shell")
    with pytest.raises(InputError, match="inside out"):
        closed_surface(surface.vertices, surface.triangles[:, ::-1], "shell")
    some = surface.triangles.copy()
    some[3] = some[3][::-1]
    with pytest.raises(InputError, match="disagree"):
        closed_surface(surface.vertices, some, "shell")
    with pytest.raises(InputError, match="no triangle"):
        closed_surface(surface.vertices, surface.triangles[:0], "shell")


@pytest.mark.parametrize(
    ("material", "words"),
    [
        (Material(1e9, 0.3, 0.0), "thickness"),
        (Material(-1.0, 0.3, 0.01), "modulus"),
        (Material(1e9, 0.5, 0.01), "poisson"),
    ],
)
def test_layers_that_are_none(material, words):
    with pytest.raises(InputError, match=words):
        in_series([material])


# --- what a reviewer found


@pytest.mark.parametrize("deg", [10, 30, 60])
def test_damping_acts_along_the_planes_normal(deg):
    """Else a tilted box that falls is pushed sideways, and damping can do work."""
    tilt = math.radians(deg)
    layer = ELASTIC._replace(damping=1e6, stick=0.0, slip=0.0)
    pair = PolygonalContact(Pair(box(np.full(3, 0.05), 0.02), plane(), layer))
    at = (0, 0, 0.05 * (math.sin(tilt) + math.cos(tilt)) - 1e-3)
    force = pair.press(at, about((0, 1, 0), tilt), velocity=(0, 0, -0.5)).force
    assert abs(force[0]) < 1e-9 * force[2]


def test_a_corner_in_a_plate_is_found_at_any_depth():
    """Between the corners and middles of the plate's faces; the force grows with the depth."""
    turn = about((1, 1, 0), math.atan(math.sqrt(2)))
    plate = box(np.array([0.1, 0.1, 0.02]), 0.01)
    pair = PolygonalContact(Pair(plate, solid_box(np.full(3, 0.05)), ELASTIC))
    pair.pairs.other_pose[0, 3:] = turn.ravel()
    forces = []
    for depth in (3e-4, 5e-4, 1e-3, 2e-3):
        made = pair.press((0.0021, 0.0013, 0.05 * math.sqrt(3) + 0.02 - depth))
        assert made.faces > 0
        forces.append(made.force[2])
    assert np.all(np.diff(forces) > 0)


def test_faces_are_numbered_as_given():
    shape = ball(0.1, 0.02)
    made = PolygonalContact(Pair(shape, plane(), ELASTIC)).press((0, 0, 0.099))
    assert shape.vertices[shape.triangles[made.face]].mean(axis=1)[:, 2].max() < -0.09
