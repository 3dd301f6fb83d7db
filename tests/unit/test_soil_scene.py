"""Soft ground of the replay: heights over time, no overlap, no more blocks than a browser takes."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from synthetic import Slope, ground_data, soil_dataset

import marsyard.results.soil_scene as module
from marsyard.results import Ground
from marsyard.results.soil_scene import soil_scene


@pytest.fixture(scope="module")
def ds():
    return soil_dataset(period=0.05)


@pytest.fixture(scope="module")
def ground(ds):
    return Ground(ground_data(ds), terrain=Slope())


@pytest.fixture(scope="module")
def scene(ground, ds):
    return soil_scene(ground, ds)


def test_every_touched_node_is_in_a_block(scene, ground):
    t, i, j = np.nonzero(ground.touched)
    x = ground.data["tile_x"].values[t] + i * ground.spacing
    y = ground.data["tile_y"].values[t] + j * ground.spacing
    boxes = np.array([(b.x[0], b.x[-1], b.y[0], b.y[-1]) for b in scene.blocks])
    inside = (
        (x[:, None] >= boxes[:, 0] - 1e-9) & (x[:, None] <= boxes[:, 1] + 1e-9)
        & (y[:, None] >= boxes[:, 2] - 1e-9) & (y[:, None] <= boxes[:, 3] + 1e-9)
    )  # fmt: skip
    assert inside.any(axis=1).all()


def test_nodes_take_their_final_height_when_they_were_last_changed(scene):
    for block in scene.blocks:
        np.testing.assert_array_equal(block.height(-1.0), block.base)
        np.testing.assert_allclose(block.height(1e9), block.base + block.change)
        middle = block.height(8.0) - block.base
        late = block.time > 8.0 + 1e-5
        assert (middle[late] == 0).all()
        assert block.state(-1.0) == 0 and block.state(1e9) == len(block.moments)
        assert block.state(8.0) == np.count_nonzero(block.time <= 8.0 + 1e-6)


def test_blocks_and_surroundings_meet_and_do_not_overlap(scene):
    points, _, triangles, _ = scene.around
    assert np.abs(points[:, 2] - 0.05 * points[:, 0]).max() < 0.09
    on_top = np.abs(points[:, 2] - 0.05 * points[:, 0]) < 1e-9
    whole = triangles[on_top[triangles].all(axis=1)]
    middle = points[whole].mean(axis=1)
    for block in scene.blocks:
        inside = (middle[:, 0] > block.x[0]) & (middle[:, 0] < block.x[-1])
        inside &= (middle[:, 1] > block.y[0]) & (middle[:, 1] < block.y[-1])
        assert not inside.any()
    # area of terrain and blocks together: a whole number of metres of margin around the track
    assert np.ptp(points[:, 0]) > 2 * module.MARGIN


def test_neighbouring_blocks_share_their_edge(scene):
    by_place = {(round(b.x[0], 6), round(b.y[0], 6)): b for b in scene.blocks}
    pairs = 0
    for (_, y), block in by_place.items():
        right = by_place.get((round(block.x[-1], 6), y))
        if right is not None:
            np.testing.assert_array_equal(block.height(1e9)[:, -1], right.height(1e9)[:, 0])
            pairs += 1
    assert pairs > 0


def test_long_tracks_are_shown_coarser(ground, ds, monkeypatch):
    fine = len(soil_scene(ground, ds).blocks)
    monkeypatch.setattr(module, "MOST_BLOCKS", 6)
    coarse = soil_scene(ground, ds)
    assert len(coarse.blocks) <= 6 < fine
    assert min(b.change.min() for b in coarse.blocks) == pytest.approx(-0.03)
    # where the ground has changed the time is known
    assert all(np.isfinite(b.time[b.change != 0]).all() for b in coarse.blocks)


@pytest.mark.parametrize("by_change", [True, False])
def test_files_for_the_browser_hold_the_mesh(scene, by_change):
    number = int(np.argmin([b.change.min() for b in scene.blocks]))
    data = scene.mesh(number, 1e9, by_change)
    (mesh,) = trimesh.load(io.BytesIO(data), file_type="glb").geometry.values()
    block = scene.blocks[number]
    assert len(mesh.vertices) == 33 * 33 and len(mesh.faces) == 2 * 32 * 32
    np.testing.assert_allclose(mesh.vertices[:, 2].min(), block.height(1e9).min(), atol=1e-6)
    # triangles are seen from above
    assert (mesh.face_normals[:, 2] > 0).all()
    assert len(np.unique(mesh.visual.vertex_colors, axis=0)) > 1
    assert scene.surroundings()[:4] == b"glTF"


def test_without_terrain_only_blocks(ground, ds):
    scene = soil_scene(Ground(ground.data), ds)
    assert scene.around is None and scene.surroundings() is None and scene.blocks


def test_nothing_to_show(ground, ds):
    empty = Ground(ground.data.isel(tile=slice(0, 0)))
    assert soil_scene(empty, ds) is None


def test_columns_are_shown_as_steps(scene):
    flat = scene.surface(0, scene.blocks[0].height(np.inf), by_change=True)
    steps = replace(scene, columns=True)
    points, normals, colours = steps.surface(0, scene.blocks[0].height(np.inf), by_change=True)
    n = len(scene.blocks[0].x)
    assert points.shape == normals.shape == (4 * n * n, 3)
    assert colours.shape == (2 * n, 2 * n, 3)
    # both sides of a column are as high as its node, and nearly touch the next one's
    z = points[:, 2].reshape(2 * n, 2 * n)
    assert np.array_equal(z[::2, ::2], flat[0][:, 2].reshape(n, n))
    assert np.array_equal(z[::2, 1::2], z[::2, ::2])
    x = points[:, 0].reshape(2 * n, 2 * n)[0]
    spacing = scene.blocks[0].x[1] - scene.blocks[0].x[0]
    assert np.diff(x)[1::2] == pytest.approx(np.full(n - 1, 0.02 * spacing), rel=1e-2)
    # half of the outermost columns belongs to the next block
    assert x[[0, -1]] == pytest.approx(scene.blocks[0].x[[0, -1]], abs=2e-6)
