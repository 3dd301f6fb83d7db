"""Ground of kind rocks: sizes, places, burial, closed meshes, the same bits, errors."""

# ruff: noqa: E501
import math

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground.rocks import icosphere, layout, rock_mesh
from marsyard.interaction.polygonal import closed_surface
from marsyard.scenario import validate
from marsyard.scenario.rocks import RocksGround
from marsyard.simulation import make_surfaces

FIELD = {"area": [[0, 12], [-3, 3]], "coverage": 0.2, "smallest": 0.1, "largest": 0.4}


def ground(**options):
    return RocksGround(kind="rocks", name="rocks", **options)


def scenario(*grounds, **options):
    return validate(
        {"robot": {"name": "exomars"}, "ground": list(grounds), "run": {"duration": 1}, **options},
        "test",
    )


def parts(mesh, spec):
    """Vertices of each rock."""
    return mesh.vertices[np.unique(mesh.triangles)].reshape(len(layout(spec, None)[0]), -1, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_the_sphere_has_20_n2_faces_and_is_closed(n):
    points, triangles = icosphere(20 * n * n)
    assert len(triangles) == 20 * n * n
    assert len(points) == 10 * n * n + 2  # Euler
    assert np.allclose(np.linalg.norm(points, axis=1), 1, atol=1e-15)
    closed_surface(points, triangles, "sphere")
    # area and volume come near those of the sphere from below
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert 0.6 < volume / (4 / 3 * math.pi) < 1
    assert 1 - volume / (4 / 3 * math.pi) < 0.65 / n**2


def test_a_single_rock_has_the_size_it_is_given_and_lies_as_deep():
    spec = ground(
        rocks=[
            {
                "place": [2, -1], "diameter": 0.4, "height": 0.25, "elongation": 1.44,
                "heading": 0.6, "buried": 0.3,
            }
        ]
    )  # fmt: skip
    mesh = rock_mesh(spec, None)
    closed_surface(mesh.vertices, mesh.triangles, "rock")
    low, high = mesh.vertices[:, 2].min(), mesh.vertices[:, 2].max()
    assert high - low == pytest.approx(0.25, abs=1e-12)
    assert low == pytest.approx(-0.3 * 0.25, abs=1e-12)
    x, y = (mesh.vertices[:, :2] - [2, -1]).T
    along, across = x * np.cos(0.6) + y * np.sin(0.6), y * np.cos(0.6) - x * np.sin(0.6)
    assert (along.min(), along.max()) == pytest.approx((-0.24, 0.24), abs=1e-12)
    assert (across.min(), across.max()) == pytest.approx((-0.4 / 2.4, 0.4 / 2.4), abs=1e-12)


def test_without_roughness_a_rock_is_an_ellipsoid_and_with_it_is_not():
    rock = {"place": [0, 0], "diameter": 0.4, "height": 0.2, "buried": 0.5}
    smooth = rock_mesh(ground(rocks=[rock], roughness=0, faces=1280), None)
    # extents of the mesh are those of the ellipsoid, so that its points lie just outside it
    level = np.linalg.norm(smooth.vertices / [0.2, 0.2, 0.1], axis=1)
    assert level.min() > 0.99 and level.max() < 1.01
    rough = rock_mesh(ground(rocks=[rock], roughness=0.1, faces=1280), None)
    spread = np.linalg.norm(rough.vertices / [0.2, 0.2, 0.1], axis=1)
    assert 0.03 < spread.std() < 0.2


def test_a_field_covers_what_golombek_counted():
    spec = ground(field={**FIELD, "area": [[0, 60], [0, 60]]}, faces=20, seed=4)
    place, numbers, _ = layout(spec, None)
    share = np.sum(math.pi / 4 * numbers[:, 0] * numbers[:, 1]) / 3600
    k, q = 0.2, 1.79 + 0.152 / 0.2
    assert share == pytest.approx(k * (math.exp(-q * 0.1) - math.exp(-q * 0.4)), rel=0.05)
    assert np.all((numbers[:, 3] > 0.1 - 1e-12) & (numbers[:, 3] < 0.4 + 1e-12))
    # circles about the rocks do not touch
    from scipy.spatial import cKDTree

    for i, j in cKDTree(place).query_pairs(float(numbers[:, 0].max())):
        assert math.dist(place[i], place[j]) > (numbers[i, 0] + numbers[j, 0]) / 2


def test_all_rocks_of_a_field_are_one_closed_surface_and_the_same_bits_from_the_same_seed():
    spec = ground(field=FIELD, seed=3)
    mesh = rock_mesh(spec, None)
    closed_surface(mesh.vertices, mesh.triangles, "rocks")
    count = len(layout(spec, None)[0])
    assert count > 100 and len(mesh.triangles) == 320 * count
    again = rock_mesh(ground(field=FIELD, seed=3), None)
    assert np.array_equal(mesh.vertices, again.vertices)
    other = rock_mesh(ground(field=FIELD, seed=4), None)
    assert other.vertices.shape != mesh.vertices.shape or not np.allclose(
        other.vertices, mesh.vertices
    )


def test_clear_circles_and_single_rocks_keep_the_field_away():
    spec = ground(
        field={**FIELD, "clear": [{"centre": [2, 0], "radius": 1.0}]},
        rocks=[{"place": [7, 0], "diameter": 1.0}],
    )
    place, numbers, _ = layout(spec, None)
    away = np.hypot(place[:, 0] - 2, place[:, 1]) - numbers[:, 0] / 2
    assert away.min() >= 1.0
    assert tuple(place[0]) == (7, 0)
    touching = np.hypot(*(place[1:] - place[0]).T) - numbers[1:, 0] / 2
    assert touching.min() >= 0.5
    # a single rock moves no other one of the field
    alone = layout(ground(field={**FIELD, "clear": [{"centre": [2, 0], "radius": 1.0}]}), None)[0]
    assert {tuple(p) for p in place[1:]} < {tuple(p) for p in alone}


def test_the_shape_of_a_rock_is_that_of_its_seed_wherever_it_stands():
    two = ground(rocks=[{"place": [0, 0], "diameter": 1, "seed": 5},
                        {"place": [3, 1], "diameter": 1, "seed": 5}])  # fmt: skip
    a, b = parts(rock_mesh(two, None), two)
    assert np.allclose(a + [3, 1, 0], b, atol=1e-12)
    other = ground(rocks=[{"place": [0, 0], "diameter": 1, "seed": 6}])
    assert not np.allclose(parts(rock_mesh(other, None), other)[0], a, atol=1e-3)


def test_rocks_lie_on_the_terrain_of_the_scenario():
    slope = math.radians(10)
    made = scenario(
        {"kind": "rocks", "rocks": [{"place": [3, 1], "diameter": 0.4, "buried": 0.5}]},
        {"kind": "terrain", "soil": "krenn2008",
         "terrain": {"layers": [{"kind": "plane", "slope": "10 deg"}]}},
    )  # fmt: skip
    (mesh,) = make_surfaces(made)
    assert mesh.name == "rocks"
    middle = (mesh.vertices[:, 2].min() + mesh.vertices[:, 2].max()) / 2
    assert middle == pytest.approx(3 * math.tan(slope), abs=1e-12)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"rocks": [{"place": [0, 0], "diameter": 0}]}, "ground.0.rocks.0.diameter = 0: must be above 0"),
        ({"rocks": [{"place": [0, 0], "diameter": 1, "buried": 1}]}, "ground.0.rocks.0.buried = 1: must be below 1"),
        ({"field": {**FIELD, "smallest": 0.5}}, "smallest = 0.5 m must be below largest = 0.4 m"),
        ({"field": {**FIELD, "buried": -0.1}}, "ground.0.field.buried = -0.1: must be at least 0"),
        ({"field": {**FIELD, "coverag": 0.1}}, "unknown key 'coverag'"),
        ({"field": {**FIELD, "area": [[2, 1], [0, 1]]}}, "x runs from 2 to 1 m"),
        ({"roughness": 2, "rocks": [{"place": [0, 0], "diameter": 1}]}, "ground.0.roughness = 2: must be at most 0.3"),
        ({}, "give a 'field' of rocks, single 'rocks', or both"),
    ],
)  # fmt: skip
def test_bad_numbers_are_told_in_one_sentence(part, words):
    with pytest.raises(InputError) as error:
        scenario({"kind": "rocks", **part})
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"field": {**FIELD, "area": [[0, 20], [-3, 3]]}}, "field.area: x 0 to 20, y -3 to 3 m reaches beyond the terrain"),
        ({"rocks": [{"place": [20, 0], "diameter": 1}]}, "rocks.0.place: (20, 0) m is outside the terrain"),
        ({"field": {**FIELD, "area": [[0, 3], [0, 3]], "coverage": 0.4, "smallest": 0.05, "largest": 4, "elongation": 3}, "seed": 10}, "field: no space for a rock"),
        ({"field": {**FIELD, "area": [[0, 0.1], [0, 0.1]]}}, "field: it contains no rocks"),
        ({"field": {**FIELD, "coverage": 0.3, "smallest": 0.02}, "faces": 20480}, "triangles; use "
                                                                                  "fewer faces"),
    ],
)  # fmt: skip
def test_what_cannot_be_laid_out_is_told_in_one_sentence(part, words):
    made = scenario(
        {"kind": "rocks", "name": "stones", **part},
        {"kind": "terrain", "soil": "krenn2008", "terrain": {"bounds": [[-1, 15], [-4, 4]]}},
    )
    with pytest.raises(InputError) as error:
        make_surfaces(made)
    assert words in str(error.value) and str(error.value).startswith("ground.stones: ")
