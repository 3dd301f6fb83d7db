"""Kineto-static results drawn on a robot: shapes, scales, pixels and figures follow the data."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from marsyard.analysis.kinetostatics import drawing_layers as draw
from marsyard.analysis.kinetostatics import figures
from marsyard.analysis.kinetostatics.balance import Balance, Forces
from marsyard.analysis.kinetostatics.drawing import THINGS, drawing_of
from marsyard.analysis.kinetostatics.ground_patches import (
    common_plane,
    grid_around,
    ground_of,
    plates,
    step_meshes,
)
from marsyard.analysis.kinetostatics.picture import draw_stance, picture_of, view_of
from marsyard.analysis.kinetostatics.polytope import Polytope, wrench_polytope
from marsyard.analysis.kinetostatics.stance import stance_at
from marsyard.analysis.kinetostatics.transmission import Ellipsoid
from marsyard.drawing.layers import (
    Arrow,
    Layer,
    Strokes,
    ball_solid,
    bounds,
    cone_solid,
    dashes,
    edges,
    ellipsoid_solid,
    slab,
)
from marsyard.errors import InputError
from marsyard.results.movie.camera import View
from marsyard.results.movie.notes import _free
from marsyard.results.movie.overlaid import lay_over
from marsyard.results.movie.stage import Stage

RED = (255, 0, 0)


@pytest.fixture(scope="module")
def bent():
    """RobuRoc with its front wheels on a slope, pitched and turned."""
    return stance_at(
        "roburoc", {"pitch_front": -0.3}, {"FL": 0.7, "FR": 0.6}, attitude=(0.05, -0.1, 0.8)
    )


@pytest.fixture(scope="module")
def level():
    return stance_at("roburoc")


def rotation(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Volume within a closed surface whose triangles turn outward, by Gauss."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


# --- shapes


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_ellipsoid_vertices_satisfy_its_equation(sign):
    axes, turn = np.array([2.0, 0.7, 0.3]), rotation(1)
    turn *= sign * np.sign(np.linalg.det(turn))
    centre = np.array([1.0, -2.0, 0.5])
    solid = ellipsoid_solid(centre, axes, turn, RED)
    inside = ((solid.vertices - centre) @ turn.T) / axes
    assert np.linalg.norm(inside, axis=1) == pytest.approx(1.0, abs=1e-9)
    # inscribed, so a little less than the ellipsoid; outward, so positive
    expected = 4 / 3 * math.pi * axes.prod()
    assert 0.98 * expected < volume(solid.vertices - centre, solid.triangles) < expected


def test_flat_ellipsoid_is_a_disc():
    solid = ellipsoid_solid(np.zeros(3), np.array([2.0, 1.0, 0.0]), np.eye(3), RED)
    assert np.abs(solid.vertices[:, 2]).max() < 0.02
    assert np.abs(solid.vertices[:, 0]).max() == pytest.approx(2.0, rel=1e-3)


def test_cone_opens_by_the_angle_of_friction():
    axis = rotation(2)[0]
    apex = np.array([0.3, 0.1, -0.2])
    solid = cone_solid(apex, axis, 0.6, 0.5, RED)
    away = solid.vertices - apex
    rim = away[np.linalg.norm(away, axis=1) > 0.51]
    angle = np.arccos(rim @ axis / np.linalg.norm(rim, axis=1))
    assert angle == pytest.approx(math.atan(0.6), abs=1e-9)
    assert rim @ axis == pytest.approx(0.5)
    expected = math.pi / 3 * 0.5 * (0.6 * 0.5) ** 2
    assert volume(away, solid.triangles) == pytest.approx(expected, rel=5e-3)


def test_slab_has_its_top_at_the_point():
    frame = rotation(3)
    point = np.array([1.0, 2.0, 3.0])
    vertices, triangles = slab(point, frame, (0.2, 0.4), 0.1)
    own = (vertices - point) @ frame.T
    assert own.max(axis=0) == pytest.approx([0.0, 0.2, 0.4])
    assert own.min(axis=0) == pytest.approx([-0.1, -0.2, -0.4])
    assert volume(vertices - point, triangles) == pytest.approx(0.1 * 0.4 * 0.8)


def test_only_sharp_edges_of_a_box_are_drawn():
    from scipy.spatial import ConvexHull

    corners = np.array(np.meshgrid([0, 1], [0, 2], [0, 3])).reshape(3, -1).T.astype(float)
    hull = ConvexHull(corners)
    middle = corners.mean(axis=0)
    triangles = np.array([
        t if np.cross(corners[t[1]] - corners[t[0]], corners[t[2]] - corners[t[0]])
        @ (corners[t[0]] - middle) > 0 else t[::-1] for t in hull.simplices
    ])  # fmt: skip
    found = edges(corners, triangles, 0.1)
    length = np.linalg.norm(found[:, 1] - found[:, 0], axis=1)
    assert sorted(length) == pytest.approx([1.0] * 4 + [2.0] * 4 + [3.0] * 4)


def test_dashes_lie_on_their_line():
    a, b = np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 0.0])
    found = dashes(a, b, 0.1).reshape(-1, 3)
    share = (found - a) @ (b - a) / ((b - a) @ (b - a))
    assert found == pytest.approx(a + share[:, None] * (b - a))
    assert np.all(np.diff(share) > 0)
    assert share[0] > 0
    assert share[-1] < 1


# --- scales and layers


def test_scale_is_round_and_keeps_the_length():
    for size in np.geomspace(1e-3, 1e6, 60):
        scale = draw.round_scale(size, 0.4)
        assert size / scale <= 0.4 * (1 + 1e-6)
        assert size / scale > 0.25
        assert float(f"{scale:.2g}") == pytest.approx(scale)
    assert draw.round_scale(200.0, 0.4) == pytest.approx(500.0)
    assert draw.scale_words(500.0, "N", 1.0) == "1 m = 500 N"
    assert draw.scale_words(500.0, "N", 0.2) == "10 cm = 50 N"


def test_force_arrows_balance_the_weight(bent):
    forces = Balance(bent, 0.6).forces()
    layer = draw.force_layer(bent, forces, 500.0, 1.0)
    total = sum(500.0 * (a.end - a.start) for a in layer.arrows)
    assert total == pytest.approx([0.0, 0.0, bent.mass * 9.81], abs=1e-3)
    starts = np.array([a.start for a in layer.arrows])
    assert starts == pytest.approx(bent.to_world(bent.points))


def test_force_that_uses_all_friction_ends_on_the_rim_of_its_cone(bent):
    demand, forces = Balance(bent).friction_demand()
    assert demand > 0.05
    friction = np.full(len(bent.contacts), demand)
    cones = draw.cone_layer(bent, friction, forces.normal, 500.0, 0.1)
    arrows = draw.force_layer(bent, forces, 500.0, 0.1).arrows
    full = int(np.argmax(forces.use))
    gaps = np.linalg.norm(cones.solids[full].vertices - arrows[full].end, axis=1)
    rim = float(demand * forces.normal[full] / 500.0)
    # between two of 64 points of the rim
    assert gaps.min() <= 1.01 * rim * math.sin(math.pi / 64)


def test_polytope_is_drawn_at_its_forces(bent):
    found = wrench_polytope(Balance(bent, 0.6), tolerance=0.05, most=1.0)
    layer = draw.polytope_layer(bent, found, 2000.0, 1.0)
    solid = layer.solids[0]
    back = 2000.0 * (solid.vertices - bent.origin) @ bent.rotation
    assert back == pytest.approx(found.points, abs=1e-9)
    assert volume(solid.vertices - bent.origin, solid.triangles) == pytest.approx(
        found.size / 2000.0**3, rel=1e-9
    )
    assert "cut at 1570 N" in layer.words


def test_support_margin_of_a_pitched_robot():
    pitch = 0.6
    stance = stance_at("roburoc", attitude=(0.0, pitch, 0.0))
    x, z = 0.52, 0.17
    high = z + stance.com[2]
    ahead = x * math.cos(pitch) - high * math.sin(pitch)
    assert draw.support_margin(stance) == pytest.approx(min(ahead, 0.32), abs=1e-9)
    # on the wheels behind its middle only, nose down: it tips
    tips = stance_at("roburoc", attitude=(0.0, pitch, 0.0), lifted=("FL", "FR"))
    assert draw.support_margin(tips) == pytest.approx(-high * math.sin(pitch), abs=1e-9)
    layer = draw.support_layer(tips, 1.0)
    assert "outside" in layer.words


def test_uncontrolled_turn_is_drawn_about_its_axis(level):
    point, way = np.array([0.2, -0.1, 0.3]), np.array([0.0, 0.6, 0.8])
    twist = np.concatenate([np.cross(point, way), way])
    layer = draw.motion_layer(level, twist[None], ["a turn"], 1.0)
    on_axis = layer.strokes[0].points.reshape(-1, 3) - level.to_world(point)
    assert np.cross(on_axis, way) == pytest.approx(np.zeros_like(on_axis), abs=1e-9)
    arc = layer.strokes[1].points.reshape(-1, 3) - level.to_world(point)
    assert np.linalg.norm(np.cross(arc, way), axis=1) == pytest.approx(0.14)


# --- ground


def test_level_contacts_stand_on_a_plane(level):
    plane = common_plane(level)
    assert np.asarray(plane.normal) == pytest.approx([0, 0, 1])
    assert plane.point[2] == pytest.approx(0.0, abs=1e-9)
    tilted = common_plane(stance_at("roburoc", attitude=(0.0, 0.2, 0.0)))
    assert np.asarray(tilted.normal) == pytest.approx([math.sin(0.2), 0.0, math.cos(0.2)])


def test_other_contacts_stand_on_plates_square_to_their_normals(bent):
    assert common_plane(bent) is None
    surfaces, meshes = ground_of(bent, 1.0)
    assert not surfaces
    assert len(meshes) == 6
    points, axes = bent.to_world(bent.points), bent.in_world(bent.axes)
    for point, frame, mesh in zip(points, axes, plates(bent, 1.0), strict=True):
        height = (mesh.vertices - point) @ frame[0]
        assert height.max() == pytest.approx(0.0, abs=1e-12)
        top = mesh.vertices[height > -1e-9]
        assert top.mean(axis=0) == pytest.approx(point)


def test_terrain_is_drawn_where_it_is(level):
    wavy = SimpleNamespace(height=lambda x, y: 0.1 * np.sin(x) + 0.02 * y)
    mesh = grid_around(level, wavy, 1.0)
    x, y, z = mesh.vertices.T
    assert z == pytest.approx(0.1 * np.sin(x) + 0.02 * y)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    step, floor = step_meshes(0.2)
    assert step.vertices[:, 2].max() == pytest.approx(0.2)
    assert step.vertices[:, 0].min() == pytest.approx(0.0)
    assert floor.vertices[:, 2].max() == pytest.approx(0.0)


# --- pictures


def test_pixels_are_mixed_by_opacity_and_depth():
    mixed = np.full((1, 3, 3), 100.0, dtype=np.float32)
    depth = np.array([[0.5, 0.5, 0.5]], dtype=np.float32)
    pixels = np.full((1, 3, 3), 200, dtype=np.uint8)
    own = np.array([[0.3, 0.7, 1.0]], dtype=np.float32)
    lay_over(mixed, depth, pixels, own, 0.5, 0.2)
    # before, behind, nothing there
    assert mixed[0, :, 0] == pytest.approx([150.0, 110.0, 100.0])


def test_layer_is_drawn_where_the_camera_projects_it(level):
    take = drawing_of(level, show=()).take
    places = np.array([[0.1, 0.2, 0.9], [-0.5, -0.3, 1.0]])
    view = View(np.array([0.0, 0.0, 0.5]), 4.0, 2.2, -0.3)
    for place in places:
        layer = Layer("ball", RED, solids=(ball_solid(place, 0.04, RED),))
        with Stage(take, (320, 180), layers=[layer]) as stage:
            picture = stage.picture(0.0, view).astype(int)
        red = (picture[..., 0] > 120) & (picture[..., 1] < 60)
        rows, columns = np.nonzero(red)
        x, y = view.project(place, (320, 180))[0]
        assert columns.mean() + 0.5 == pytest.approx(x, abs=0.6)
        assert rows.mean() + 0.5 == pytest.approx(y, abs=0.6)
    behind = view.eye - view.direction
    assert np.isnan(view.project(behind, (320, 180))).all()


def test_arrows_and_lines_end_where_they_should(level):
    take = drawing_of(level, show=()).take
    a, b = np.array([-0.6, -0.5, 0.9]), np.array([0.5, 0.6, 1.3])
    view = View(np.array([0.0, 0.0, 0.9]), 5.0, 2.2, -0.3)
    ends = view.project(np.array([a, b]), (640, 360))
    way = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    layers = (
        Layer("arrow", RED, arrows=(Arrow(a, b, RED, 0.02),)),
        Layer("line", RED, strokes=(Strokes(np.array([[a, b]]), RED, 4.0),)),
    )
    for layer in layers:
        with Stage(take, (640, 360), layers=[layer]) as stage:
            picture = stage.picture(0.0, view).astype(int)
        rows, columns = np.nonzero((picture[..., 0] > 150) & (picture[..., 1] < 90))
        along = (np.stack([columns + 0.5, rows + 0.5], axis=1) - ends[0]) @ way
        length = float(np.linalg.norm(ends[1] - ends[0]))
        assert along.min() == pytest.approx(0.0, abs=3.0)
        assert along.max() == pytest.approx(length, abs=3.0)


def test_everything_is_in_the_picture(bent):
    drawing = drawing_of(bent, show=THINGS)
    assert list(drawing.layers) == list(THINGS)
    view = view_of(drawing)
    points = np.concatenate([layer.points() for layer in drawing.layers.values()])
    x, y = view.project(points, (1280, 720)).T
    assert ((x > 0) & (x < 1280) & (y > 0) & (y < 720)).all()
    middle, radius = bounds(drawing.layers.values(), drawing.take.cloud(0.0))
    assert np.linalg.norm(points - middle, axis=1).max() <= radius + 1e-9


def test_picture_shows_what_is_asked_for(bent, tmp_path):
    path = draw_stance(bent, tmp_path / "forces.png", size=(320, 180), show=("forces",))
    with Image.open(path) as image:
        assert image.size == (320, 180)
    drawing = drawing_of(bent, show=("forces",))
    view = view_of(drawing)
    plain = picture_of(drawing_of(bent, show=("frames",)), view, (320, 180)).astype(int)
    forces = picture_of(drawing, view, (320, 180)).astype(int)

    def red(picture):
        return ((picture[..., 0] > 1.8 * picture[..., 1]) & (picture[..., 0] > 150)).sum()

    assert red(forces) > red(plain) + 50


def test_names_do_not_cover_each_other():
    taken: list[tuple[float, float, float]] = []
    heights = [_free(taken, x, 50.0, 20.0, 10.0) for x in (100.0, 110.0, 130.0, 300.0)]
    assert heights[0] == heights[3] == 50.0
    for i, (a, b, h) in enumerate(taken):
        assert all(abs(a - c) >= h + k or abs(b - d) >= 10.0 for c, d, k in taken[:i])


def test_what_cannot_be_drawn_is_refused(level):
    with pytest.raises(InputError, match="'cone' cannot be drawn.*cones"):
        drawing_of(level, show=("cone",))


def test_numbers_say_that_friction_is_not_enough(bent):
    drawing = drawing_of(bent, 0.02, show=("forces",))
    numbers = dict(drawing.numbers)
    assert numbers["largest pull left"] == "no equilibrium"
    assert float(numbers["friction demand"]) > 0.1
    # the forces drawn are then those of least friction
    assert max(use for *_, use in drawing.table) == pytest.approx(
        float(numbers["friction demand"]), rel=1e-2
    )


# --- figures


def test_outline_of_an_ellipsoid_is_where_it_reaches():
    matrix = np.random.default_rng(5).normal(size=(3, 5))
    left, size, _ = np.linalg.svd(matrix)
    solid = Ellipsoid(matrix, size, left.T)
    line = figures.projected_ellipse(solid, (0, 2), 2000)
    for angle in np.linspace(0, np.pi, 7):
        way = np.array([math.cos(angle), 0.0, math.sin(angle)])
        assert (line @ way[[0, 2]]).max() == pytest.approx(solid.reach(way), rel=1e-5)


def test_map_marks_where_the_index_vanishes():
    x = np.radians(np.linspace(-30, 30, 31))
    y = np.radians(np.linspace(-20, 20, 21))
    values = np.hypot(x - math.radians(10), (y - math.radians(-8))[:, None])
    canvas = figures.sigma_map(x, y, values, ("front", "rear"), mark={"level": (0.0, 0.0)})
    lines = {line.get_label(): line for line in canvas.axes[0].lines}
    least = next(line for name, line in lines.items() if str(name).startswith("least"))
    assert np.concatenate(least.get_data()) == pytest.approx([10.0, -8.0])
    assert np.concatenate(lines["level"].get_data()) == pytest.approx([0.0, 0.0])
    with pytest.raises(InputError, match="values"):
        figures.sigma_map(x, y, values.T, ("front", "rear"))


def test_map_of_both_signs_draws_the_line_between():
    x = y = np.linspace(-0.5, 0.5, 21)
    canvas = figures.sigma_map(x, y, x - 0.2 + 0 * y[:, None], ("a", "b"))
    zero = [c for c in canvas.axes[0].collections if list(getattr(c, "levels", [])) == [0.0]]
    points = np.concatenate([p.vertices for p in zero[0].get_paths()])
    assert points[:, 0] == pytest.approx(math.degrees(0.2))


def test_section_draws_the_ring_and_where_it_is_cut():
    ring = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 2.0], [-1.0, 2.0]]) * 100
    cut = np.array([[False, False], [False, True]])
    found = Polytope(("fx", "fz"), ring, np.zeros((0, 3), int), 6e4, cut)
    canvas = figures.polytope_section([found], names=["side"])
    lines = {line.get_label(): np.array(line.get_data()) for line in canvas.axes[0].lines}
    drawn = lines["friction and torques"]
    assert np.allclose(drawn.T, np.vstack([ring, ring[:1]]))
    assert lines["truncated"] == pytest.approx(np.array([[-100, 100], [200, 200]]))
    with pytest.raises(InputError, match="two axes"):
        figures.polytope_section([Polytope(("fx",), ring[:, :1], np.zeros((0, 3), int), 0.0, cut)])


def test_bars_are_as_high_as_loads_and_use():
    names = ("FL", "FL", "RR")
    forces = Forces(
        names, np.array([10.0, 20.0, 40.0]), np.array([3.0, 0.0, 8.0]), np.array([4.0, 5.0, 6.0]),
        {}, {}, np.zeros(6),
    )  # fmt: skip
    canvas = figures.friction_use(forces, {"FL": 0.6, "RR": 0.3}, 0.4)
    top, bottom = canvas.axes
    assert [p.get_height() for p in top.patches] == [10.0, 20.0, 40.0]
    assert [p.get_height() for p in bottom.patches] == pytest.approx([0.5, 0.25, 0.25])
    assert [t.get_text() for t in bottom.get_xticklabels()] == ["FL (1)", "FL (2)", "RR"]


def climb(demands, complete=True):
    moments = tuple(
        SimpleNamespace(axle=k // 3, wheels=("FL", "FR") if k < 3 else ("RL", "RR"),
                        progress=(k % 3) / 2, demand=d)
        for k, d in enumerate(demands)
    )  # fmt: skip
    hardest = max(moments, key=lambda m: m.demand)
    return SimpleNamespace(step=0.1, moments=moments, complete=complete, hardest=hardest)


def test_climb_marks_the_hardest_pose_and_where_it_ends():
    canvas = figures.climb_demand(
        [climb([0.3, 0.2, 0.0, 0.7, 0.4, 0.1]), climb([0.3, 0.2, 0.1, math.inf], False)], 0.6
    )
    ax = canvas.axes[0]
    rings = [
        line.get_data() for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata())
    ]
    assert np.concatenate(rings[0]) == pytest.approx([1.0, 0.7])
    assert [t.get_text() for t in ax.texts if t.get_text() in ("0.70", "none")] == ["0.70", "none"]
    assert "FL, FR" in [t.get_text() for t in ax.texts]


def test_run_shows_where_there_is_no_balance():
    time = np.arange(5.0)
    found = xr.Dataset(
        {"sigma": ("time", [1.0, 0.5, 0.2, 0.5, np.nan]), "height": ("time", time / 10),
         "demand": ("time", [0.1, 0.2, np.inf, 0.3, np.nan]),
         "use": ("time", [0.2, 0.3, 0.6, 0.4, 0.0])},
        coords={"time": time}, attrs={"friction": 0.6, "scenario": "a/b"},
    )  # fmt: skip
    canvas = figures.along_figure(found)
    lines = {line.get_label(): line for line in canvas.axes[1].lines}
    assert list(lines["higher, or no equilibrium"].get_xdata()) == [2.0]
    assert np.isnan(lines["demand of the stance"].get_ydata()[2])
    assert lines["μ = 0.6"].get_ydata()[0] == pytest.approx(0.6)


def test_the_drawn_forces_are_those_of_the_tables():
    stance = stance_at("exomars", attitude=(0.3, 0.0, 0.0))
    demand, least = Balance(stance, 0.6).friction_demand()
    assert least is not None
    loads = {name: load for name, load, _ in drawing_of(stance, 0.6).table}
    assert 0.2 < demand < 0.4
    assert [loads[n] for n in stance.contacts] == pytest.approx(list(least.normal), rel=1e-3)


def test_a_centre_of_mass_above_an_edge_is_not_outside_by_nothing():
    assert draw.centimetres(-5.55e-18) == "0"
    assert draw.centimetres(0.621) == "62.1"
