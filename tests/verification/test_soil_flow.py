"""Displaced soil: conserved, laid down by the paper's weights, at rest at the angle of repose."""

from __future__ import annotations

import math

import numpy as np
import pytest
import soil_reference as reference
from soil_rig import Land, Rig, Sand, Shape, Wheel, box_mesh

from marsyard.ground.soil_nodes import UNDER, wake
from marsyard.interaction.soil_contact.arrays import (
    LANES,
    NX,
    PUSH_X,
    PUSH_Y,
    PX,
    V_PUSHED,
    V_SINKAGE,
    WEIGHT,
    Z,
)
from marsyard.interaction.soil_kernels import T_VOLUME

DS = 0.02


# --- conservation


@pytest.mark.soak
def test_no_soil_is_lost_in_a_hundred_thousand_steps():
    # three wheels drive in rings through each other's tracks, slip and bob; what was displaced is
    # on the grid again or waits in the contact
    wheel = Shape(0.06, 0.06)
    rig = Rig([wheel] * 3, [Sand(layer=0.004, repose=32.0)], DS)
    h, displaced = 2e-3, 0.0
    for step in range(100_000):
        t = h * step
        for b in range(3):
            ring, rate = 0.25 + 0.1 * b, 0.4 * (1 if b < 2 else -1)
            angle = rate * t + 2.1 * b
            c, s = math.cos(angle), math.sin(angle)
            z = 0.048 + 0.006 * math.sin(0.7 * t + b) - 0.00005 * t
            forward = np.array([-s, c]) * math.copysign(1, rate)
            axis = np.array([-forward[1], forward[0], 0.0])
            v = ring * abs(rate)
            rig.place(
                b, (1 + ring * c, 1 + ring * s, z), (v * forward[0], v * forward[1], 0.0),
                axis * 1.4 * v / 0.06 + [0, 0, rate], axis,
            )  # fmt: skip
        rig.forces(h=h, time=t)
        displaced += float(rig.patch.total[:, T_VOLUME].sum())
        if step % 20 == 0:
            rig.flow(h=h, time=t)
    lost = rig.grid.missing_volume() + rig.waiting()
    assert displaced > 0.05
    assert abs(lost) < 1e-12 * displaced
    assert rig.grid.moved_volume() > 1e-3


def test_volume_under_a_wheel_that_is_lifted():
    # the last displaced soil goes back to the nodes it came from
    rig = Rig([Shape()], [Sand()], DS)
    rig.place(0, (0.3, 0.3, 0.1), (0, 0, -0.1))
    rig.forces()
    assert rig.waiting() > 1e-5
    rig.place(0, (0.3, 0.3, 0.5))
    rig.forces()
    rig.flow()
    assert rig.waiting() == 0.0
    assert abs(rig.grid.missing_volume()) < 1e-17


# --- heaps


def heap(rig, centre, radius, height):
    """Put a column of soil on the grid; its tiles are made, others must be asked for."""
    g, ds = rig.grid, rig.grid.spacing
    x, y = centre
    g.make_area(x - radius, x + radius, y - radius, y + radius)
    count = 0
    for i in range(math.ceil((x - radius) / ds), math.floor((x + radius) / ds) + 1):
        for j in range(math.ceil((y - radius) / ds), math.floor((y + radius) / ds) + 1):
            if math.hypot(i * ds - x, j * ds - y) <= radius:
                node = int(g._nodes(np.array([i * ds]), np.array([j * ds]))[0])
                g.arrays.ref[node] += height
                wake(g.arrays, node)
                count += 1
    return count * height * ds**2


def let_flow(rig, rounds=30):
    for _ in range(rounds):
        done = rig.flow()
        made = rig.grid.fill_requests()
        if done == 0 and made == 0:
            break


def steepest(rig, tan):
    """Largest slope between neighbours over the angle of repose."""
    heights, ds = rig.surface(), rig.grid.spacing
    worst = 0.0
    for (i, j), z in heights.items():
        for a, b in ((1, 0), (0, 1), (1, 1), (1, -1)):
            other = heights.get((i + a, j + b))
            if other is not None:
                worst = max(worst, abs(z - other) / (math.hypot(a, b) * ds * tan))
    return worst


def far_away(repose, ds=DS, land=None):
    rig = Rig([Shape()], [Sand(repose=repose)], ds, land)
    rig.place(0, (50.0, 50.0, 10.0))
    return rig


@pytest.mark.parametrize("repose", [20.0, 30.0, 38.0])
@pytest.mark.parametrize("ds", [0.02, 0.01])
def test_a_column_collapses_to_a_cone_at_the_angle_of_repose(repose, ds):
    rig, tan = far_away(repose, ds), math.tan(math.radians(repose))
    rig.grid.make_area(-0.8, 0.8, -0.8, 0.8)
    volume = heap(rig, (0.0, 0.0), 0.1, 0.3)
    let_flow(rig)
    assert steepest(rig, tan) <= 1 + 1e-9
    assert rig.grid.missing_volume() == pytest.approx(volume, rel=1e-13)
    # a cone of that volume and slope: V = π r³ tan φ/3; sliding stops between 0.96 and 1 of it, and
    # eight directions make it an octagon
    radius = (3 * volume / (math.pi * tan)) ** (1 / 3)
    assert rig.grid.change(0.0, 0.0) == pytest.approx(radius * tan, rel=0.1)
    # on the flanks the slope is that of repose
    for angle in (0.0, math.pi / 4, math.pi / 2, math.pi):
        at = [
            np.array(f) * radius * np.array([math.cos(angle), math.sin(angle)]) for f in (0.3, 0.7)
        ]
        drop = float(rig.grid.change(*at[0]) - rig.grid.change(*at[1]))
        nodes = [np.rint(a / ds) * ds for a in at]
        assert drop / np.linalg.norm(nodes[1] - nodes[0]) == pytest.approx(tan, rel=0.08)


def test_a_collapse_is_symmetric():
    # not to the last bit: nodes are looked at one by one, the top may end half a spacing off
    rig = far_away(30.0)
    rig.grid.make_area(-0.8, 0.8, -0.8, 0.8)
    heap(rig, (0.0, 0.0), 0.1, 0.3)
    let_flow(rig)
    at = np.arange(0.0, 0.4, DS)
    top = float(rig.grid.change(0.0, 0.0))
    rays = [rig.grid.change(c * at, s * at) for c, s in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    assert np.ptp(rays, axis=0).max() < DS * math.tan(math.radians(30)) < 0.1 * top


@pytest.mark.parametrize("centre", [(0.5, 0.32), (0.5, 0.5)])
def test_a_heap_slides_into_tiles_that_are_made_on_the_way(centre):
    rig, tan = far_away(30.0), math.tan(math.radians(30))
    heap(rig, centre, 0.12, 0.6)
    let_flow(rig)
    assert steepest(rig, tan) <= 1 + 1e-9


def test_tiles_asked_for_are_part_of_the_state():
    rig = far_away(30.0)
    heap(rig, (0.5, 0.32), 0.12, 0.6)
    rig.flow()
    asked = int(rig.grid.arrays.request_count[0])
    assert asked > 0
    rig.grid.restore(rig.grid.state())
    assert int(rig.grid.arrays.request_count[0]) == asked


def test_natural_steep_slopes_stand():
    # 45 degrees and a step of half a metre, repose 30: woken everywhere, nothing moves
    land = Land(lambda x, y: x + 0.5 * (y > 0.3))
    rig = far_away(30.0, land=land)
    rig.grid.make_area(0, 1.2, 0, 1.2)
    for node in range(rig.grid.tiles * 1024):
        wake(rig.grid.arrays, node)
    let_flow(rig)
    q = rig.nodes()
    assert np.all(q["ref"] == 0) and np.all(q["depth"] == 0)


def test_soil_heaped_on_a_steep_natural_slope_runs_down_it():
    # steeper than the angle of repose: loose soil finds no hold on it
    land = Land(lambda x, y: 0.9 * x)
    rig = far_away(30.0, land=land)
    rig.grid.make_area(-1.5, 1.5, -1.5, 1.5)
    volume = heap(rig, (0.3, 0.0), 0.08, 0.02)
    rig.flow(most=500_000)
    q = rig.nodes()
    x = q["i"] * DS
    assert float(np.sum(q["ref"] * x) / q["ref"].sum()) < 0.2
    assert q["ref"].min() >= 0.0
    assert rig.grid.missing_volume() == pytest.approx(volume, rel=1e-13)


def test_sliding_on_a_steep_natural_slope_ends():
    land = Land(lambda x, y: 0.6 * x)
    rig = far_away(30.0, land=land)
    rig.grid.make_area(-1.5, 1.5, -1.5, 1.5)
    heap(rig, (0.3, 0.0), 0.08, 0.02)
    assert rig.flow(most=1_000_000) < 1_000_000


def test_settling_can_be_cut_into_pieces():
    # a budget of nodes per flow: the rest waits in order; the end is the same to the last bit
    ends = []
    for most in (10**9, 500):
        rig = far_away(30.0)
        rig.grid.make_area(-0.8, 0.8, -0.8, 0.8)
        heap(rig, (0.0, 0.0), 0.1, 0.3)
        while rig.flow(most=most) > 0:
            pass
        ends.append(rig.nodes()["ref"])
    assert np.array_equal(*ends)


# --- eqs. (6) to (8)


@pytest.mark.parametrize("seed", range(4))
def test_split_of_the_displaced_soil(seed):
    rng = np.random.default_rng(seed)
    rig = Rig([Shape()], [Sand()], DS)
    v, spin = rng.uniform(-0.3, 0.3, 3), np.array([0, rng.uniform(-2, 2), 0])
    v[2] = -abs(v[2])
    rig.place(0, (0.3, 0.3, 0.1), v, spin)
    rig.forces()
    p = rig.patch
    strips, blocks = int(p.strips[0]), int(p.blocks[0])
    assert strips == 4 and blocks > 1
    columns = np.concatenate(
        [p.block[k].reshape(-1, LANES)[:, : p.block_count[k]] for k in range(blocks)], axis=1
    )
    columns = columns.reshape(len(columns), -1, strips)
    places = np.concatenate([p.block_at[k, : p.block_count[k] // strips] for k in range(blocks)])
    cell = DS**2 / strips
    for row, lanes in zip(p.state[p.side[0], 0, places], columns.transpose(1, 2, 0), strict=True):
        sinkage, pushed, push = 0.0, 0.0, np.zeros(2)
        for lane in lanes[lanes[:, WEIGHT // LANES] > 0]:
            normal, place = (lane[at // LANES : at // LANES + 3] for at in (NX, PX))
            z = lane[Z // LANES]
            volume = cell * (z - Sand().k * z ** Sand().n / Sand().k_u)
            u = v + np.cross(spin, place)
            uN = (u @ normal) * normal
            uT = u - uN
            shares = np.array([uN[2] ** 2, uN[0] ** 2 + uN[1] ** 2, uT @ uT]) / (u @ u)
            assert shares.sum() == pytest.approx(1, rel=1e-12)
            sinkage += volume * shares[0]
            pushed += volume * shares[1:].sum()
            # pushed soil goes where the surface goes, counted by how level that is
            push += volume * shares[1:].sum() * u[:2] / np.linalg.norm(u)
        assert row[V_SINKAGE] == pytest.approx(sinkage, rel=1e-9)
        assert row[V_PUSHED] == pytest.approx(pushed, rel=1e-9)
        assert row[[PUSH_X, PUSH_Y]] == pytest.approx(push, rel=1e-9, abs=1e-18)


# --- eqs. (9), (10): a foot on one node


def one_node(velocity, exponent=2.0):
    """Press a small foot onto the node at the origin; soil laid on its neighbours, as shares."""
    rig = Rig([box_mesh((0.6 * DS, 0.6 * DS, DS))], [Sand(k_u=1e9, repose=89.0)], DS,
              exponent=exponent)  # fmt: skip
    rig.place(0, (0.001, 0.002, 0.5 * DS - 0.002), velocity)
    rig.forces()
    volume = rig.waiting()
    assert volume == pytest.approx(0.002 * DS**2, rel=0.01)
    rig.flow()
    assert rig.waiting() == 0.0
    heights = rig.surface()
    out = {(i, j): heights[i, j] * DS**2 / volume for i in (-1, 0, 1) for j in (-1, 0, 1)}
    del out[0, 0]
    return out


def test_sinkage_is_laid_down_by_the_square_of_the_distance():
    shares = one_node((0, 0, -0.1))
    for (i, j), share in shares.items():
        assert share == pytest.approx(1 / 6 if i * j == 0 else 1 / 12, rel=1e-9)


@pytest.mark.parametrize("exponent", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 4, -2.0])
def test_pushed_soil_is_laid_down_by_the_cosine(exponent, angle):
    v = np.array([math.cos(angle), math.sin(angle)])
    shares = one_node((v[0], v[1], 0.0), exponent)
    w = {d: max(0.0, (d[0] * v[0] + d[1] * v[1]) / math.hypot(*d)) ** exponent for d in shares}
    total = sum(w.values())
    for d, share in shares.items():
        assert share == pytest.approx(w[d] / total, rel=1e-9, abs=1e-12)


def test_half_sinking_half_pushed():
    # 45 degrees down: (v_Nz/v)² = ½
    both = one_node((0.1, 0.0, -0.1))
    sink, push = one_node((0, 0, -0.1)), one_node((0.1, 0, 0))
    for d in both:
        assert both[d] == pytest.approx(0.5 * (sink[d] + push[d]), rel=1e-9, abs=1e-12)


# --- under wheels


@pytest.mark.parametrize("slip", [0.1, 0.7])
def test_nothing_is_laid_where_a_wheel_is(slip):
    # drive with flow; after every flow no soil stands inside the wheel but at nodes in contact
    bench = Wheel(sand=Sand(layer=0.008), slip=slip, flow=1, every=1, speed=0.2)
    bench.run(1.2)
    rig = bench.rig
    body = reference.Wheel(*bench.shape.row, rig.bodies.centre[0], rig.bodies.axis[0])
    q = rig.nodes()
    near = np.hypot(q["i"] * DS - body.centre[0], q["j"] * DS - body.centre[1]) < 0.15
    places = np.stack([q["i"], q["j"]], axis=1)[near] * DS - body.centre[:2]
    inside = 0
    z = (q["base"] + q["ref"] - q["depth"])[near]
    for entry, height, flag in zip(body.undersides(places), z, q["flag"][near], strict=True):
        if entry is None:
            continue
        if not flag & UNDER:
            assert height <= body.centre[2] + entry[0] + 1e-9
        inside += 1
    assert inside > 30


def test_a_wheel_bulldozes_a_wall_ahead():
    # a locked wheel: soil gathers in front of it, a rut behind; more resistance than without flow
    push = Wheel(slip=-0.95, flow=1, speed=0.1, spacing=0.02)
    plain = Wheel(slip=-0.95, flow=0, speed=0.1, spacing=0.02)
    got, bare = push.steady(4.0), plain.steady(4.0)
    x = float(push.rig.bodies.centre[0, 0])
    ahead = push.rig.grid.change(x + 0.12 + DS * np.arange(4), 0.0).max()
    behind = push.rig.grid.change(x - 0.15, 0.0)
    assert ahead > 0.005 and behind < -0.005
    assert got["pushed"] > 0.5 and abs(bare["pushed"]) < 1e-9
    assert -got["pull"] > -bare["pull"]


# --- tiles and places


@pytest.mark.parametrize("shift", [(16, 16), (5, -11), (3200, -640)])
def test_borders_of_tiles_make_no_difference(shift):
    # without flow nothing depends on the order of nodes: the same but for rounding
    runs = []
    for s in ((0, 0), shift):
        start = (0.301 + s[0] * DS, 0.299 + s[1] * DS)
        runs.append(Wheel(speed=0.2, heading=0.3, start=start).run(2.0))
    for name, size in (("sinkage", 0.04), ("pull", 15.0), ("torque", 5.0)):
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-6 * size, name


def test_borders_of_tiles_with_flow():
    # sliding soil looks at nodes in order, tile by tile; the forces hardly notice
    runs = []
    for s in ((0, 0), (16, 16)):
        start = (0.301 + s[0] * DS, 0.299 + s[1] * DS)
        bench = Wheel(speed=0.2, heading=0.3, start=start, flow=1)
        runs.append(bench.steady(2.5))
    for name in ("sinkage", "pull", "torque"):
        assert runs[0][name] == pytest.approx(runs[1][name], rel=0.01), name


def test_two_soils_side_by_side():
    # the border under the middle of the wheel: half the force of each, and a moment that lifts the
    # side on the firm soil
    soft, firm = Sand(k=5e4), Sand(k=4e5)
    alone = []
    for sand in (soft, firm):
        rig = Rig([Shape()], [sand], 0.01)
        rig.place(0, (0.2, 0.205, 0.105))
        alone.append(rig.forces()[0])
    land = Land(soil=lambda x, y: (y > 0.2049).astype(int))
    rig = Rig([Shape()], [soft, firm], 0.01, land)
    rig.place(0, (0.2, 0.205, 0.105))
    F = rig.forces()[0]
    assert F[2] == pytest.approx(0.5 * (alone[0][2] + alone[1][2]), rel=1e-9)
    # firm soil at +y, 0.025 m off the middle: moment about x
    assert F[3] == pytest.approx(0.5 * (alone[1][2] - alone[0][2]) * 0.025, rel=1e-9)


def test_each_soil_has_its_own_angle_of_repose():
    land = Land(soil=lambda x, y: (x > 0).astype(int))
    rig = Rig([Shape()], [Sand(repose=20.0), Sand(repose=40.0)], DS, land)
    rig.place(0, (50.0, 50.0, 10.0))
    rig.grid.make_area(-0.8, 0.8, -0.8, 0.8)
    heap(rig, (-0.32, 0.0), 0.08, 0.2)
    heap(rig, (0.32, 0.0), 0.08, 0.2)
    let_flow(rig)
    flat, steep = float(rig.grid.change(-0.32, 0.0)), float(rig.grid.change(0.32, 0.0))
    # height of a cone of one volume ∝ tan^(2/3)
    ratio = (math.tan(math.radians(40)) / math.tan(math.radians(20))) ** (2 / 3)
    assert steep / flat == pytest.approx(ratio, rel=0.08)
