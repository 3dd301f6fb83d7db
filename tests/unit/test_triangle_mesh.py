"""Triangle meshes: files, checks, welding, orientation, hierarchy."""

import struct
import warnings

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground import Box, TriangleMesh, pack
from marsyard.ground.shapes import BOX_TRIANGLES

# the four triangles of test 7 of the ExoMars report rt0448: floor, face of a step (2), plateau
STEP = np.array(
    [
        [[10, 5, 0], [5, 0, 0], [5, 10, 0]],
        [[5, 0, 0], [5, 0, 0.1], [5, 10, 0]],
        [[5, 10, 0], [5, 10, 0.1], [5, 0, 0.1]],
        [[5, 0, 0.1], [5, 10, 0.1], [0, 5, 0.1]],
    ],
    dtype=float,
)
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


def normals(mesh: TriangleMesh) -> np.ndarray:
    a, b, c = (mesh.vertices[mesh.triangles[:, j]] for j in range(3))
    n = np.cross(b - a, c - a)
    return n / np.linalg.norm(n, axis=1)[:, None]


def test_step_with_mixed_winding_faces_the_free_side():
    with pytest.warns(UserWarning, match="2 of 4 triangles were turned"):
        mesh = TriangleMesh.from_triangles(STEP, name="step")
    np.testing.assert_allclose(
        normals(mesh), [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15
    )
    assert mesh.turned == 2
    assert len(mesh.vertices) == 6


def test_ground_that_faces_down_is_turned_up():
    with pytest.warns(UserWarning, match="2 of 2 triangles were turned"):
        mesh = TriangleMesh(SQUARE, [[0, 2, 1], [0, 3, 2]])
    np.testing.assert_allclose(normals(mesh), [[0, 0, 1]] * 2)


def test_winding_can_be_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh = TriangleMesh(SQUARE, [[0, 2, 1], [0, 3, 2]], orient=False)
    np.testing.assert_allclose(normals(mesh), [[0, 0, -1]] * 2)


def test_closed_body_is_turned_outwards():
    corners = Box((0, 0, 0), (1, 1, 1)).corners()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TriangleMesh(corners, BOX_TRIANGLES)
    with pytest.warns(UserWarning, match="12 of 12"):
        mesh = TriangleMesh(corners, BOX_TRIANGLES[:, ::-1])
    centres = mesh.vertices[mesh.triangles].mean(axis=1)
    assert np.all(np.sum(normals(mesh) * centres, axis=1) > 0)


def test_upright_wall_keeps_the_winding_of_most_of_it():
    wall = [[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 2, 0], [0, 2, 1]]
    turned = [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 2, 5]]
    with pytest.warns(UserWarning, match="1 of 4"):
        mesh = TriangleMesh(wall, turned)
    np.testing.assert_allclose(normals(mesh), [[1, 0, 0]] * 4)


def test_corners_are_welded_within_a_billionth_of_the_extent():
    rng = np.random.default_rng(0)
    corners = np.array(SQUARE)[[[0, 1, 2], [0, 2, 3]]] + 1e-11 * rng.random((2, 3, 3))
    assert len(TriangleMesh.from_triangles(corners).vertices) == 4
    corners = np.array(SQUARE)[[[0, 1, 2], [0, 2, 3]]] + np.array([[[0, 0, 0]], [[0, 0, 1e-6]]])
    assert len(TriangleMesh.from_triangles(corners).vertices) == 6


def test_flat_regions_edges_and_vertices_of_a_box():
    tables = TriangleMesh(Box((0, 0, 0), (1, 1, 1)).corners(), BOX_TRIANGLES).tables()
    assert len(np.unique(tables.triangle_index[:, 0])) == 6
    np.testing.assert_allclose(tables.edge[:, 13], np.pi / 2)
    assert len(tables.edge) == 12
    assert len(tables.vertex) == 8
    # every edge and vertex is owned by exactly one triangle
    owned = tables.triangle_index[:, 1:4]
    assert sorted(owned[owned >= 0]) == list(range(12))
    owned = tables.triangle_index[:, 4:7]
    assert sorted(owned[owned >= 0]) == list(range(8))
    assert np.all(np.diff(tables.ring) >= 3)


def test_valley_has_no_edge_and_ridge_has_one():
    roof = [[0, 0, 0], [1, 0, 0.5], [1, 1, 0.5], [0, 1, 0], [2, 0, 0], [2, 1, 0]]
    faces = [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]
    ridge = TriangleMesh(roof, faces).tables()
    valley = TriangleMesh(np.array(roof) * [1, 1, -1], faces).tables()
    # six open border pieces each; the ridge's line besides
    assert len(ridge.edge) == 7
    assert len(valley.edge) == 6


def test_two_sided_mesh_has_a_reversed_copy():
    tables = TriangleMesh(SQUARE, [[0, 1, 2], [0, 2, 3]], two_sided=True).tables()
    assert sorted(tables.triangle[:, 11].tolist()) == [-1, -1, 1, 1]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 17, 1000])
def test_hierarchy_encloses_every_triangle_at_every_level(count):
    rng = np.random.default_rng(count)
    corners = rng.random((count, 1, 3)) + 0.1 * rng.random((count, 3, 3))
    tables = TriangleMesh.from_triangles(corners, orient=False).tables()
    leaves = (len(tables.node) + 1) // 2
    seen = 0
    for leaf in range(leaves):
        first, last = leaf * count // leaves, (leaf + 1) * count // leaves
        assert last - first <= 4
        seen += last - first
        points = tables.triangle[first:last, :9].reshape(-1, 3)
        i = leaves + leaf
        while i > 0:
            box = tables.node[i - 1]
            assert np.all(points >= box[:3])
            assert np.all(points <= box[3:])
            i //= 2
    assert seen == count


@pytest.mark.parametrize("kind", ["stl", "obj", "ply"])
def test_files_are_read(tmp_path, kind):
    import trimesh

    box = Box((1, 2, 3), (0.5, 0.5, 0.5))
    path = tmp_path / f"rock.{kind}"
    trimesh.Trimesh(box.corners(), BOX_TRIANGLES, process=False).export(path)
    mesh = TriangleMesh.from_file(path, scale=2.0)
    assert mesh.name == "rock"
    assert mesh.vertices.shape == (8, 3)
    np.testing.assert_allclose(np.sort(mesh.vertices, axis=0)[0], [1, 3, 5], atol=1e-6)
    assert len(pack([mesh]).edge) == 12


def good(**options):
    return TriangleMesh(SQUARE, [[0, 1, 2], [0, 2, 3]], **options)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TriangleMesh.from_file("no/such.stl"), "mesh file 'no/such.stl' does not exist"),
        (lambda: TriangleMesh.from_file("rock.dae"), "mesh file 'rock.dae' must end in .stl"),
        (lambda: TriangleMesh(SQUARE, []), "must have at least one triangle"),
        (lambda: TriangleMesh([], [[0, 1, 2]]), "must have at least one triangle"),
        (lambda: TriangleMesh(SQUARE, [[0, 1, 4]]), "must use vertices 0 to 3; one uses 4"),
        (lambda: TriangleMesh(SQUARE, [[0, 1, -1]]), "one uses -1"),
        (lambda: TriangleMesh(SQUARE, [[0, 1, 2.5]]), "triangles must be whole numbers"),
        (lambda: TriangleMesh(SQUARE, [[0, 1]]), "triangles must be of shape (m, 3)"),
        (lambda: TriangleMesh([[0, 0]], [[0, 1, 2]]), "vertices must be of shape (n, 3)"),
        (lambda: TriangleMesh("abc", [[0, 1, 2]]), "must have numbers"),
        (
            lambda: TriangleMesh([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]]),
            "vertices must be finite; vertex 2 is not",
        ),
        (
            lambda: TriangleMesh([*SQUARE, [2, 0, 0]], [[0, 1, 2], [0, 1, 4], [0, 1, 1]]),
            "area above zero; 2 of 3 have none: 1, 2.",
        ),
        (lambda: TriangleMesh([[1, 1, 1]] * 3, [[0, 1, 2]]), "area above zero"),
        (lambda: good(edge_normal=(0, 0, 0)), "edge_normal must have a length above zero"),
        (lambda: good(name=""), "name must be a non-empty text"),
        (lambda: TriangleMesh.from_triangles([[0, 1, 2]]), "must be a list of triangles"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InputError) as error:
        make()
    assert sentence in str(error.value)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.stl", b"solid of nothing much" * 10),
        ("short.stl", b"\0" * 80 + struct.pack("<I", 100) + b"\0" * 60),
        ("empty.obj", b"# nothing here\n"),
        ("noise.ply", bytes(range(256))),
        ("points.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"),
    ],
)
def test_unreadable_file_is_named(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name):
        TriangleMesh.from_file(path)
    with pytest.raises(InputError, match="scale must be a positive number"):
        TriangleMesh.from_file(path, scale=-1)
