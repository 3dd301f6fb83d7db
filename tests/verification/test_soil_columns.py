"""Soil in columns: avalanches against closed forms and a readable reference, loads against the
triaxial curves, and conservation of matter throughout."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from columns_reference import Row
from columns_rig import EARTH, Columns, Heap, block, wall
from scipy.integrate import cumulative_trapezoid, quad, trapezoid
from scipy.optimize import brentq
from soil_rig import Land, Rig, Sand, Wheel, ball_mesh, box_mesh

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.ground.soil_nodes import COMPACTION, U_X
from marsyard.ground.triaxial import Triaxial
from marsyard.interaction.soil_columns.arrays import STRAIN_R
from marsyard.interaction.soil_columns.numbers import (
    ColumnOptions,
    bearing_factors,
    critical_height,
    curve_rows,
    lateral_pressure,
    law_row,
    strength,
)
from marsyard.interaction.soil_columns.triaxial import share_of_strength
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

PLANAR = Columns(planar=1)


def steepest(z, spacing):
    return float(np.abs(np.diff(z)).max() / spacing)


# --- the surface without load


@pytest.mark.parametrize("phi", [20.0, 30.0, 38.0])
def test_a_heap_comes_to_rest_at_the_critical_slope(phi):
    heap = Heap(block(0.2, 0.3), PLANAR.but(phi=phi), 0.01)
    volume = heap.grid.missing_volume()
    heap.settle()
    x, z = heap.profile(95)
    tan = math.tan(math.radians(phi))
    assert heap.grid.missing_volume() == pytest.approx(volume, rel=1e-12)
    # but for what is thinner than a grain
    assert steepest(z, 0.01) <= 1.01 * tan
    # its sides lie between the angle of rest and the critical one; inertia makes them a little flat
    side = (z > 0.2 * z.max()) & (z < 0.8 * z.max()) & (x > 0)
    slope = -np.polyfit(x[side], z[side], 1)[0]
    assert 0.93 * tan < slope <= tan
    # and the area of a triangle of that slope has its height
    area = 0.41 * 0.3
    assert z.max() == pytest.approx(math.sqrt(area * slope), rel=0.05)


def test_a_heap_in_3d_is_a_cone_of_the_critical_slope():
    heap = Heap(lambda x, y: np.where(x * x + y * y < 0.3**2, 0.3, 0.0), Columns())
    volume = heap.grid.missing_volume()
    heap.settle()
    at = np.arange(-40, 41) * 0.02
    x, y = np.meshgrid(at, at, indexing="ij")
    z = heap.grid.height(x, y)
    slope = np.hypot(*np.gradient(z, 0.02))
    side = (z > 0.15 * z.max()) & (z < 0.8 * z.max())
    tan = math.tan(math.radians(30))
    assert 0.93 * tan < slope[side].mean() < tan
    assert np.percentile(slope[side], 99) < 1.02 * tan
    # round: the foot is as far out along the diagonal as along the axes
    foot = [np.interp(-0.05, -z[40:, 40], at[40:]), np.interp(-0.05, -np.diag(z)[40:], at[40:])]
    assert foot[1] * math.sqrt(2) == pytest.approx(foot[0], rel=0.05)
    assert heap.grid.missing_volume() == pytest.approx(volume, rel=1e-12)


def test_a_slope_below_the_critical_one_stands():
    tan = math.tan(math.radians(29.8))
    heap = Heap(lambda x, y: np.maximum(0.3 - np.abs(x) * tan, 0.0) * (y == 0), PLANAR)
    x, before = heap.profile(40)
    heap.settle()
    assert np.array_equal(heap.profile(40)[1], before)


@pytest.mark.parametrize("spacing", [0.01, 0.005])
@pytest.mark.parametrize("part, stands", [(0.95, True), (1.12, False)])
def test_cohesion_holds_a_cliff_of_the_theoretical_height(part, stands, spacing):
    """(4 c/γ) tan(45° + φ/2), a little more on a grid, where no face is quite upright."""
    c, gamma = 500.0, 1600 * EARTH
    height = part * 4 * c / gamma * math.tan(math.radians(60))
    assert critical_height(math.pi / 2, c, math.radians(30), gamma) == pytest.approx(height / part)
    heap = Heap(wall(0.1, height), PLANAR.but(cohesion=c), spacing)
    heap.run(0.05)
    moved = heap.profile(30)[1].max() < height or heap.grid.height(0.1, 0.0) < height
    assert moved != stands


@pytest.mark.parametrize("angle", [40.0, 50.0, 65.0])
@pytest.mark.parametrize("part, stands", [(0.93, True), (1.07, False)])
def test_cohesion_holds_a_slope_of_culmanns_height(angle, part, stands):
    c, gamma, alpha = 300.0, 1600 * EARTH, math.radians(angle)
    height = part * critical_height(alpha, c, math.radians(30), gamma)
    run = height / math.tan(alpha)
    shape = lambda x, y: np.interp(x, [0.0, run], [height, 0.0])  # noqa: E731
    # the ground goes on far behind the crest
    heap = Heap(shape, PLANAR.but(cohesion=c), run / 60, size=3 * run)
    inside = np.linspace(0.0, run, 50)
    before = heap.grid.height(inside, 0 * inside)
    heap.run(0.02)
    assert np.array_equal(heap.grid.height(inside, 0 * inside), before) == stands


def test_flow_tends_to_its_speed_with_its_time_constant():
    """ẋ = (g sin α/ν)(1 − e^(−νt)) in the middle of a long slope."""
    alpha, nu = math.radians(36), 12.0
    tan = math.tan(alpha)
    # behind the crest there is natural ground
    land = Land(lambda x, y: np.where(x < -6.0, 12.0 * tan, 0.0))
    shape = lambda x, y: np.maximum(6.0 - x, 0.0) * tan * (x > -6.0) * (y == 0)  # noqa: E731
    heap = Heap(shape, PLANAR.but(viscosity=nu, chunk=2e-3), 0.05, size=8.0, land=land)
    for _ in range(25):
        heap.run(0.02)
        node = heap.grid._nodes(np.array([0.0]), np.array([0.0]))[0]
        speed = heap.grid.arrays.column[node, U_X] / math.cos(alpha)
        exact = EARTH * math.sin(alpha) / nu * -math.expm1(-nu * heap.time)
        assert speed == pytest.approx(exact, rel=0.02)
    assert speed == pytest.approx(EARTH * math.sin(alpha) / nu, rel=0.02)


def test_the_kernel_does_what_the_readable_reference_does():
    sand = PLANAR.but(phi=32.0, chunk=4e-3)
    heap = Heap(block(0.12, 0.25), sand)
    x, z = heap.profile(60)
    row = Row(z, 0.02, math.radians(32), 0.96, 10.0, EARTH, 4e-3)
    for _ in range(150):
        heap.run(0.01)
        row.run(0.01)
        assert np.abs(heap.profile(60)[1] - row.H).max() < 1e-9
    assert sum(row.H) == pytest.approx(z.sum(), rel=1e-13)
    assert row.H[60] < 0.2


def test_3d_is_the_planar_model_where_all_is_alike_along_y():
    # steps short enough for the thick corners of the wall, too: the same in both
    flat = Heap(block(0.2, 0.3), PLANAR.but(chunk=4e-3))
    deep = Heap(wall(0.2, 0.3), Columns(chunk=4e-3), size=1.0)
    for _ in range(30):
        flat.run(0.01)
        deep.run(0.01)
    x = np.arange(-30, 31) * 0.02
    # as far from the ends of the wall as nothing has come
    for y in (0.0, 0.1):
        assert np.abs(deep.grid.height(x, y + 0 * x) - flat.grid.height(x, 0 * x)).max() < 1e-9


def test_a_symmetric_heap_stays_symmetric():
    heap = Heap(block(0.2, 0.3), PLANAR)
    heap.settle()
    z = heap.profile(40)[1]
    assert np.abs(z - z[::-1]).max() < 1e-13
    round_ = Heap(lambda x, y: np.where(x * x + y * y < 0.09, 0.25, 0.0), Columns())
    for _ in range(60):
        round_.run(0.01)
    at = np.arange(-30, 31) * 0.02
    z = round_.grid.height(*np.meshgrid(at, at, indexing="ij"))
    for other in (z[::-1], z[:, ::-1], z.T):
        assert np.abs(z - other).max() < 2e-3


def test_the_collapse_of_a_block_converges_with_the_grid():
    """Where the foot and the crest are during the collapse, on finer and finer grids."""
    foot, crest = [], []
    for spacing in (0.02, 0.01, 0.005):
        heap = Heap(block(0.2, 0.3), PLANAR, spacing)
        for _ in range(50):
            heap.run(0.01)
        x, z = heap.profile(round(0.7 / spacing))
        out = x > 0
        foot.append(np.interp(-0.01, -z[out], x[out]))
        crest.append(z[len(z) // 2])
    assert abs(foot[2] - foot[1]) < 0.015
    assert abs(crest[2] - crest[1]) < max(0.7 * abs(crest[1] - crest[0]), 0.004)
    assert foot[2] == pytest.approx(foot[0], rel=0.06)


def test_soil_at_rest_costs_nothing():
    heap = Heap(block(0.2, 0.3), PLANAR)
    heap.settle()
    assert heap.run(0.1) == 0
    assert heap.grid.arrays.queue_ends[1] == 0
    assert np.all(heap.grid.arrays.column[:, :2] == 0.0)


def test_steep_natural_ground_stands_and_loose_soil_on_it_slides():
    tan = math.tan(math.radians(40))
    land = Land(lambda x, y: -tan * x)
    bump = lambda x, y: np.maximum(0.06 - np.hypot(x, y) * 0.5, 0.0)  # noqa: E731
    heap = Heap(bump, Columns(), land=land)
    volume = heap.grid.missing_volume()
    centre = heap.grid.change(0.0, 0.0)
    for _ in range(100):
        heap.run(0.01)
    assert heap.grid.change(0.0, 0.0) < 0.5 * centre
    assert heap.grid.missing_volume() == pytest.approx(volume, rel=1e-12)
    assert heap.grid.change(0.0, 0.8) == 0.0
    a = heap.grid.arrays
    assert np.all((a.ref - a.depth)[: heap.grid.tiles * 1024] > -1e-12)


# --- under load


def press(columns, depth=0.04, speed=0.01, h=1e-3, unload=0.0):
    """A plate 10 × 20 cm pushed slowly into columns; rows of sinkage, stress, rig."""
    rig = Rig([box_mesh((0.1, 0.2, 0.02))], [Sand(phi=columns.phi)], columns=columns)
    rows = []
    steps = round(depth / speed / h)
    back = round(unload / speed / h)
    for i in range(steps + back):
        z = speed * h * (i if i < steps else 2 * steps - i)
        v = -speed if i < steps else speed
        # five by ten columns under it, none on its edge
        rig.place(0, (0.0, 0.01, 0.01 - z), (0, 0, v))
        force = rig.forces(h=h, implicit=0.0, time=i * h)[0]
        if i % 20 == 0:
            rig.flow(h=h, dt=20 * h, time=i * h)
        rows.append((z, force[2] / 0.02))
    rig.flow(dt=0.0)
    return np.array(rows), rig


def hyperbola(columns, z):
    """The law written once more, from the soil's numbers."""
    N_c, N_q, N_g = bearing_factors(math.radians(columns.phi))
    gamma = columns.density * columns.gravity
    q_f = columns.cohesion * N_c + 0.5 * gamma * 0.1 * N_g + gamma * N_q * z
    tri = columns.more.get("triaxial") or Triaxial()
    strain = z / 0.2
    q_0 = columns.cohesion * N_c + 0.5 * gamma * 0.1 * N_g
    R = tri.failure_ratio or 0.8
    return q_f * np.minimum(strain / (q_0 / tri.modulus + R * strain), 1.0)


def test_bearing_factors_are_those_of_the_tables():
    """Vesić 1973, table of bearing capacity factors."""
    for phi, N_c, N_q, N_gamma in [(0, 5.14, 1.0, 0.0), (30, 30.14, 18.40, 22.40),
                                   (40, 75.31, 64.20, 109.41)]:  # fmt: skip
        found = bearing_factors(math.radians(phi))
        assert found == pytest.approx((N_c, N_q, N_gamma), rel=2e-3, abs=2e-3)


def test_the_lateral_pressure_gives_the_bearing_capacity_by_mohr_and_coulomb():
    soil = Columns(cohesion=700.0, phi=33.0).soil
    P, phi = lateral_pressure(soil, 0.1, EARTH), math.radians(33)
    q_f = (2 * 700 * math.cos(phi) + 2 * P * math.sin(phi)) / (1 - math.sin(phi))
    assert q_f == pytest.approx(strength(soil, 0.1, EARTH)[0])


@pytest.mark.parametrize("cohesion, phi", [(0.0, 30.0), (800.0, 25.0), (200.0, 38.0)])
def test_a_plate_follows_the_triaxial_curve_and_its_change_of_volume(cohesion, phi):
    tri = Triaxial(modulus=3e5, failure_ratio=0.85, dilation_angle=math.radians(6))
    columns = Columns(phi=phi, cohesion=cohesion, more={"triaxial": tri})
    rows, rig = press(columns)
    z, p = rows[5:].T
    assert p == pytest.approx(hyperbola(columns, z), rel=1e-6)
    # the change of volume, from Rowe's rate by quadrature, at the plastic strain
    depth = rig.grid.arrays.depth.max()
    K_p = math.tan(math.radians(45 + phi / 2)) ** 2
    K_cv = K_p * (1 - math.sin(tri.dilation_angle)) / (1 + math.sin(tri.dilation_angle))
    strain_r = hyperbola_strength(columns) / tri.modulus
    share = lambda e: min(e / (strain_r + 0.85 * e), 1.0)  # noqa: E731
    rate = lambda e: 1 - (1 + (K_p - 1) * share(e)) / K_cv  # noqa: E731
    assert depth / 0.2 < strain_r / 0.15, "dilation fades after failure: not in this test"
    expected = 0.2 * quad(rate, 0, depth / 0.2)[0]
    kept = rig.grid.arrays.column[:, COMPACTION]
    assert kept[rig.grid.arrays.depth > 0.99 * depth] == pytest.approx(expected, rel=1e-6)
    assert rig.grid.missing_volume() + rig.waiting() == pytest.approx(0.0, abs=1e-15)
    # what is not kept lies around the plate
    moved = rig.grid.moved_volume()
    pressed = 50 * 0.02**2 * depth
    assert moved == pytest.approx(pressed - 50 * 0.02**2 * expected, rel=1e-6)


def hyperbola_strength(columns):
    N_c, _, N_g = bearing_factors(math.radians(columns.phi))
    return columns.cohesion * N_c + 0.5 * columns.density * columns.gravity * 0.1 * N_g


def test_a_plate_follows_measured_curves():
    points = ((0.0, 0.0), (0.02, 60e3), (0.06, 100e3), (0.15, 80e3))
    volume = ((0.0, 0.0), (0.03, 0.01), (0.2, -0.01))
    columns = Columns(more={"triaxial": Triaxial(curve=points, volume_curve=volume)})
    rows, rig = press(columns)
    z, p = rows[5:].T
    q0, q1 = strength(columns.soil, 0.1, EARTH)
    share = np.interp(z / 0.2, *np.array(points).T) / 100e3
    assert p == pytest.approx((q0 + q1 * z) * share, rel=1e-6)
    depth = rig.grid.arrays.depth.max()
    expected = 0.2 * np.interp(depth / 0.2, *np.array(volume).T)
    kept = rig.grid.arrays.column[:, COMPACTION]
    assert kept[rig.grid.arrays.depth > 0.99 * depth] == pytest.approx(expected, rel=1e-6)
    assert rig.grid.missing_volume() + rig.waiting() == pytest.approx(0.0, abs=1e-15)


def test_dense_soil_softens_to_its_residual_strength():
    tri = Triaxial(
        modulus=8e6, failure_ratio=0.8, residual_angle=math.radians(30), softening_strain=0.02
    )
    columns = Columns(phi=40.0, more={"triaxial": tri})
    rows, _ = press(columns, depth=0.05)
    z, p = rows[5:].T
    q0, q1 = strength(columns.soil, 0.1, EARTH)
    share = p / (q0 + q1 * z)
    K = {a: math.tan(math.radians(45 + a / 2)) ** 2 for a in (30, 40)}
    assert share.max() == pytest.approx(1.0, rel=0.02)
    assert share[-1] == pytest.approx((K[30] - 1) / (K[40] - 1), rel=0.03)


def test_unloading_is_elastic():
    columns = Columns()
    rows, rig = press(columns, depth=0.03, unload=0.0005)
    z, p = rows.T
    top = int(np.argmax(z))
    late = (np.arange(len(z)) > top + 1) & (p > 0)
    assert late.sum() > 10
    slope = np.polyfit(z[late], p[late], 1)[0]
    assert slope == pytest.approx(2e7, rel=1e-3)


def test_the_derived_modulus_meets_bekkers_law_where_it_says():
    rows, _ = press(Columns(), depth=0.011)
    z, p = rows.T
    assert np.interp(0.01, z, p) == pytest.approx(84000 * 0.01**0.63, rel=1e-3)


def test_columns_push_matter_to_both_sides_and_in_planar_rows_only_along_them():
    both = press(Columns(), depth=0.02)[1]
    side = both.grid.change(np.array([0.08, -0.08, 0.0, 0.0]), np.array([0.01, 0.01, 0.14, -0.12]))
    assert np.all(side > 0.0)
    assert side[0] == pytest.approx(side[1], rel=0.05)
    rows = press(Columns(planar=1), depth=0.02)[1]
    y = np.array([0.14, 0.12, -0.12])
    assert np.all(rows.grid.change(0 * y, y) == 0.0)
    # each row keeps its own matter
    a, at = rows.grid.arrays, rows.nodes()
    matter = a.ref - a.depth + a.column[:, COMPACTION]
    n = rows.grid.tiles * 1024
    for j in np.unique(at["j"]):
        assert abs(matter[:n][at["j"] == j].sum()) < 1e-12


@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_a_wheel_drives_and_keeps_all_matter(h):
    columns = Columns()
    rig = Rig([SHAPE], [Sand()], 0.01, columns=columns)
    wheel = Wheel(shape=SHAPE, sand=Sand(), spacing=0.01, h=h, flow=1, every=1)
    rig.flow_ = rig.flow
    rig.flow = lambda **options: rig.flow_(**{**options, "dt": h})
    out = wheel.run(4.0, rig)
    late = out["t"] > 2.5
    assert rig.grid.missing_volume() + rig.waiting() == pytest.approx(0.0, abs=1e-14)
    assert out["load"][late].mean() == pytest.approx(100.0, rel=0.05)
    assert 0.005 < out["sinkage"][late].mean() < 0.05
    assert 0.0 < out["pull"][late].mean() < 60.0
    assert out["sinkage"][late].std() < 0.004


SHAPE = Wheel().shape


def test_ten_thousand_flows_lose_nothing():
    columns = Columns()
    rig = Rig([ball_mesh(0.06)], [Sand()], columns=columns)
    rng = np.random.default_rng(5)
    x, y, v = 0.0, 0.0, np.zeros(3)
    for i in range(10_000):
        if i % 200 == 0:
            v = rng.uniform(-0.2, 0.2, 3) * [1, 1, 0]
        x, y = np.clip([x + v[0] * 5e-3, y + v[1] * 5e-3], -0.3, 0.3)
        z = 0.05 + 0.03 * math.sin(0.01 * i)
        rig.place(0, (x, y, z), v)
        rig.forces(h=5e-3, implicit=0.0, time=5e-3 * i)
        rig.flow(h=5e-3, dt=5e-3, time=5e-3 * i)
    assert rig.grid.missing_volume() + rig.waiting() == pytest.approx(0.0, abs=1e-12)
    assert rig.grid.moved_volume() > 1e-4


def test_a_wheel_without_flow_sinks_as_the_integral_over_its_arc_says():
    """Vertical equilibrium of stress and shear over the arc, without grid and step."""
    # no rebound behind the lowest point, which the integral does not know
    columns, sand = Columns(), Sand(k_u=1e9)
    rig = Rig([SHAPE], [sand], 0.005, columns=columns)
    wheel = Wheel(shape=SHAPE, sand=sand, spacing=0.005, slip=0.2)
    out = wheel.steady(4.0, rig=rig)
    r, b, tan = SHAPE.radius, SHAPE.width, math.tan(math.radians(30))
    q0, q1 = strength(columns.soil, 0.1, EARTH)
    strain_r = columns.row[STRAIN_R]

    def lift_and_pull(z0):
        first = math.acos(1 - z0 / r)
        angle = np.linspace(0, first, 4001)
        z = r * (np.cos(angle) - math.cos(first))
        p = (q0 + q1 * z) * np.minimum(z / 0.2 / (strain_r + 0.8 * z / 0.2), 1.0)
        # soil stays under the wheel: shear displacement by the time since it was met
        x = r * np.sin(angle)
        speed = 1 / 0.8 - np.cos(angle)
        j = cumulative_trapezoid(speed[::-1], -x[::-1], initial=0)[::-1]
        tau = p * tan * -np.expm1(-j / sand.K)
        lift = b * r * trapezoid(p * np.cos(angle) + tau * np.sin(angle), angle)
        return lift, b * r * trapezoid(tau * np.cos(angle) - p * np.sin(angle), angle)

    z0 = brentq(lambda z: lift_and_pull(z)[0] - 100, 1e-3, 0.08)
    assert out["sinkage"] == pytest.approx(z0, rel=0.03)
    assert out["pull"] == pytest.approx(lift_and_pull(z0)[1], abs=2.0)


# --- in the engine


def world(**settings):
    return Simulation(load_scenario("soil/columns-wheel", {"run.duration": 3, **settings}))


def test_a_run_is_saved_and_restored_bit_for_bit():
    """In the middle of an avalanche: speeds and compaction belong to the state."""
    first = world()
    first.step(60)
    column = first.world.soil.grid.arrays.column
    assert np.abs(column[:, U_X]).max() > 0.05
    state = first.state()
    first.step(1500)
    second = world()
    second.restore(state)
    second.step(1500)
    a, b = first.state().arrays, second.state().arrays
    assert set(a) == set(b)
    for name in a:
        assert np.array_equal(a[name], b[name], equal_nan=True), name
    assert np.abs(a["soil_column"][:, COMPACTION]).max() > 1e-4
    with pytest.raises(InputError, match=r"interaction\.soil\.model"):
        world(**{"interaction.soil.model": "scm"}).restore(state)


@pytest.mark.parametrize("step", ["1 ms", "5 ms"])
def test_a_wheel_rolls_over_a_heap_of_the_library(step):
    sim = Simulation(load_scenario("soil/columns-wheel", {"run.step": step}))
    volume = sim.world.soil.grid.missing_volume()
    sim.run()
    d = sim.dataset()
    load = d.wheel_load.sel(time=slice(3, 12)).mean()
    assert float(load) == pytest.approx(100, rel=0.01)
    # on top of the heap it rides above the undisturbed ground
    assert float(d.sinkage.min()) < -0.04
    assert float(d.sinkage.sel(time=slice(13, 14)).mean()) == pytest.approx(0.0245, abs=0.003)
    assert sim.world.soil.grid.missing_volume() == pytest.approx(volume, abs=2e-5)


def test_the_heap_of_the_library_is_felt_where_it_should_be():
    sim = Simulation(load_scenario("soil/columns-heap"))
    volume = sim.world.soil.grid.missing_volume()
    sim.run()
    d = sim.dataset()
    force = d.slide_force.values.ravel()
    met = float(d.slide_position.values.ravel()[np.argmax(force < -5.0)])
    tan = math.tan(math.radians(30))
    cone = [(3 * volume * (part * tan) ** 2 / math.pi) ** (1 / 3) for part in (0.9, 1.0)]
    assert cone[0] - 0.02 < met < cone[1]


@pytest.mark.parametrize("name", library.names("soils"))
def test_every_soil_that_scm_can_use_runs_in_columns(name):
    own = {"name": name}
    soil = load_soil(name)
    if not soil.has("shear_modulus"):
        own["shear_modulus"] = "1 cm"
    pressure = "bekker" if soil.has("k_c", "k_phi") else "reece"
    settings = {"ground.0.soil": own, "interaction.soil.pressure": pressure}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not soil.has("exponent"):
            with pytest.raises(InputError, match=r"triaxial\.modulus"):
                world(**settings)
            return
        sim = world(**settings)
        sim.step(1500)
    d = sim.dataset()
    assert np.isfinite(d.sinkage.values).all()
    assert float(d.wheel_load.sel(time=slice(1.2, 1.5)).mean()) == pytest.approx(100, rel=0.1)


def test_a_foot_stands_on_columns():
    """A plate as a foot: pressed by its weight, it comes to rest where the law carries it."""
    settings = {
        "interaction.soil": {"model": "columns", "columns": {"gravity": 9.81}},
        # put on gently, for what is pressed down stays
        "control": [{"joints": "press", "torque": "-60*(1 - (1 - min(1, t/4))**2)"}],
        "ground.0.spacing": "1 cm", "run.duration": 5,
    }  # fmt: skip
    sim = Simulation(load_scenario("soil/plate", settings))
    sim.run()
    d = sim.dataset()
    z = -d.slide_position.values.ravel()
    # Bekker's width of a round plate is its radius
    soil = load_soil("soil_wheel_default")
    row = law_row(soil, 0.05, soil.pressure_modulus(0.05), ColumnOptions(EARTH))
    law = lambda z: (row[1] + row[2] * z) * share_of_strength(row, curve_rows(soil), z / row[0])[0]  # noqa: E731
    expected = brentq(lambda z: law(z) * math.pi * 0.05**2 - 60, 1e-4, 0.09)
    assert z[-1] == pytest.approx(expected, rel=0.04)
    assert np.ptp(z[-50:]) < 1e-4


def test_columns_without_gravity_are_refused():
    with pytest.raises(InputError, match=r"interaction\.soil\.columns\.gravity"):
        Simulation(load_scenario("soil/wheel", {"interaction.soil.model": "columns"}))
