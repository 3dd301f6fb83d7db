"""Contact, impact and Coulomb friction of rigid bodies against closed forms and balances."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from worlds import (
    LIMITED,
    PENETRATION,
    UNCONVERGED,
    G,
    ball,
    box,
    energy,
    impacting_stick,
    mjcf,
    order,
    simulation,
)

# --- impact


def bounce(tmp_path, restitution, step=1e-3, duration=2.0, **run):
    sim = simulation(
        tmp_path, mjcf(ball(0.1)), robot={"position": [0, 0, 1.1]},
        interaction={"friction": 0, "restitution": restitution},
        run={"duration": duration, "step": step, "record_period": step, **run},
    )  # fmt: skip
    return sim.run()


def impact_times(sim):
    """Times of the steps in which the vertical velocity jumps up by more than 0.2 m/s."""
    v = sim.records.velocities[:, 2]
    return sim.records.time[1:][np.diff(v) > 0.2]


@pytest.mark.parametrize("e", [0.5, 0.7, 0.9])
def test_bouncing_ball_impact_times(tmp_path, e):
    # falls 1 m: t1 = √(2/g), then t_(k+1) = t_k + 2 e^k √(2 g)/g; a step late at most each, O(h)
    t = math.sqrt(2 / G)
    expected = [t]
    while t < 1.9 and len(expected) < 5:
        t += 2 * e ** len(expected) * math.sqrt(2 * G) / G
        expected.append(t)
    expected = [t for t in expected if t < 1.9]
    errors = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        times = impact_times(bounce(tmp_path, e, h))
        errors.append(np.abs(times[: len(expected)] - expected).max())
        assert errors[-1] < 2 * (len(expected) + 1) * h
    # the place of an impact inside its step is chance, so the order is seen over the whole range
    assert errors[-1] < 0.5 * errors[0]


def test_restitution_of_an_impact(tmp_path):
    # Newton: v⁺ = −e v⁻ at the impact, to rounding and the weight of a step
    sim = bounce(tmp_path, 0.6, 1e-3)
    v = sim.records.velocities[:, 2]
    k = int(np.flatnonzero(np.diff(v) > 0.2)[0])
    assert v[k + 1] == pytest.approx(-0.6 * v[k], rel=1e-9)


def test_elastic_ball_keeps_energy(tmp_path):
    # e = 1, θ = ½, without projection: v⁺ = −v⁻ exactly, and free flight keeps energy
    sim = bounce(tmp_path, 1.0, 1e-3, 10.0, projection=False)
    e = energy(sim)
    assert np.abs(e / e[0] - 1).max() < 1e-12
    assert len(impact_times(sim)) >= 10


def test_plastic_impact_rests(tmp_path):
    # e = 0: after √(2/g) the ball rests on the ground, without a rebound
    sim = bounce(tmp_path, 0.0, 1e-3)
    after = sim.records.time > math.sqrt(2 / G) + 1e-3
    assert np.abs(sim.records.velocities[after]).max() < 1e-12
    assert np.abs(sim.records.coordinates[after, 2] - 0.1).max() < 1e-9
    # the support carries the weight: impulse per step m g h
    assert np.abs(sim.records.other[after][1:, 2] - G * 1e-3).max() < 1e-12


def test_restitution_differs_by_surface(tmp_path):
    # two boxes of ground; the ball rebounds with the coefficient of the one it falls on
    ground = [
        {"kind": "box", "name": "hard", "centre": [0, 0, -0.5], "size": [1, 1, 1]},
        {"kind": "box", "name": "soft", "centre": [2, 0, -0.5], "size": [1, 1, 1]},
    ]
    law = {"restitution": 0.3, "surfaces": {"hard": {"restitution": 0.8}}}
    for x, e in ((0, 0.8), (2, 0.3)):
        sim = simulation(
            tmp_path, mjcf(ball(0.1)), robot={"position": [x, 0, 1.1]}, ground=ground,
            interaction=law, run={"duration": 0.6, "step": 1e-3, "record_period": 1e-3},
        )  # fmt: skip
        v = sim.run().records.velocities[:, 2]
        k = int(np.flatnonzero(np.diff(v) > 0.2)[0])
        assert v[k + 1] == pytest.approx(-e * v[k], rel=1e-9)


def test_tangential_restitution(tmp_path):
    # no-slip impact of a spinning ball with e_T: the tangential velocity of the contact point
    # reverses, u_T⁺ = −e_T u_T⁻ (large friction keeps it inside the cone)
    sim = simulation(
        tmp_path, mjcf(ball(0.1)),
        robot={"position": [0, 0, 0.3], "velocity": [0.4, 0, -1], "angular_velocity": [0, 2, 0]},
        interaction={"friction": 5.0, "restitution": 0.5, "restitution_tangential": 0.6},
        run={"duration": 0.4, "step": 1e-4, "record_period": 1e-4},
    )  # fmt: skip
    v = sim.run().records.velocities
    k = int(np.flatnonzero(np.diff(v[:, 2]) > 0.2)[0])
    contact = v[:, 0] - 0.1 * v[:, 4]  # v_x + (ω × r)_x at r = (0, 0, −R)
    assert contact[k] == pytest.approx(0.2, abs=1e-12)
    # the point of contact lies in the middle of the gap, which is up to |v| h wide: rel. v h / R
    assert contact[k + 1] == pytest.approx(-0.6 * contact[k], rel=3e-3)
    # the impulse acts at the contact: 2/5 m R² Δω = −R m Δv_x
    dv, dw = v[k + 1, 0] - v[k, 0], v[k + 1, 4] - v[k, 4]
    assert 0.4 * 0.1 * dw == pytest.approx(-dv, rel=3e-3)


# --- friction on a slope


def block_on_slope(tmp_path, angle, friction, speed=0.0, duration=2.0, h=1e-3, start=None):
    """A box with four contacts lying on a slope that rises towards +x."""
    c, s = math.cos(angle), math.sin(angle)
    robot = {
        "position": [-0.1 * s, 0, 0.1 * c],
        "attitude": [0, -angle, 0],
        "velocity": [-speed * c, 0, -speed * s],
    }
    return simulation(
        tmp_path, mjcf(box()), robot={**robot, **(start or {})},
        ground=[{"kind": "plane", "slope": angle}],
        interaction={"friction": friction, "restitution": 0},
        run={"duration": duration, "step": h, "record_period": 10 * h},
    )  # fmt: skip


def along(sim, angle):
    """Speed downhill at every record [m/s]."""
    v = sim.records.velocities
    return -(v[:, 0] * math.cos(angle) + v[:, 2] * math.sin(angle))


def test_block_sticks_below_the_friction_angle(tmp_path):
    # tan α < μ: rest, no creep at all, for as long as one likes
    sim = block_on_slope(tmp_path, math.radians(20), 0.4, duration=20.0).run()
    assert math.tan(math.radians(20)) < 0.4
    assert np.abs(sim.records.velocities).max() < 1e-9
    assert np.abs(sim.records.coordinates - sim.records.coordinates[0]).max() < 1e-9


@pytest.mark.parametrize(("degrees", "friction"), [(25, 0.4), (40, 0.1), (30, 0.0)])
def test_block_slides_above_it(tmp_path, degrees, friction):
    # a = g (sin α − μ cos α), constant: exact for the scheme
    angle = math.radians(degrees)
    sim = block_on_slope(tmp_path, angle, friction).run()
    a = G * (math.sin(angle) - friction * math.cos(angle))
    t = sim.records.time
    assert np.abs(along(sim, angle) - a * t).max() < 1e-9
    moved = np.linalg.norm(sim.qpos[:3] - sim.records.coordinates[0, :3])
    assert moved == pytest.approx(0.5 * a * t[-1] ** 2, rel=1e-9)


def test_sliding_block_stops_and_stays(tmp_path):
    # level ground: stops after v/(μ g) and v²/(2 μ g), then does not move any more
    sim = block_on_slope(tmp_path, 0.0, 0.5, speed=1.0, duration=2.0).run()
    way = -(sim.qpos[0] - sim.records.coordinates[0, 0])
    assert way == pytest.approx(1 / (2 * 0.5 * G), abs=2e-6)  # the last step: O(h²)
    stopped = sim.records.time > 1 / (0.5 * G) + 1e-3
    assert np.abs(sim.records.velocities[stopped]).max() < 1e-10


@pytest.mark.parametrize("heading", [0.3, 1.0, 2.2])
def test_friction_is_isotropic(tmp_path, heading):
    # sliding in any direction: the friction opposes the velocity, path straight, same distance
    v = [math.cos(heading), math.sin(heading), 0]
    start = {"velocity": v}
    sim = block_on_slope(tmp_path, 0.0, 0.5, start=start, duration=1.0).run()
    moved = sim.qpos[:2] - sim.records.coordinates[0, :2]
    assert math.atan2(moved[1], moved[0]) == pytest.approx(heading, abs=1e-7)
    assert np.hypot(*moved) == pytest.approx(1 / (2 * 0.5 * G), abs=2e-6)


# --- rolling


def ball_on_slope(tmp_path, angle, friction, duration=1.0, h=1e-3, **robot):
    c, s = math.cos(angle), math.sin(angle)
    robot = {"position": [-0.1 * s, 0, 0.1 * c], **robot}
    return simulation(
        tmp_path, mjcf(ball(0.1)), robot=robot, ground=[{"kind": "plane", "slope": angle}],
        interaction={"friction": friction, "restitution": 0},
        run={"duration": duration, "step": h, "record_period": 10 * h},
    )  # fmt: skip


def test_ball_rolls_down_without_slip(tmp_path):
    # a = 5/7 g sin α while μ ≥ 2/7 tan α
    angle = math.radians(20)
    sim = ball_on_slope(tmp_path, angle, 0.3).run()
    assert np.abs(along(sim, angle) - 5 / 7 * G * math.sin(angle) * sim.records.time).max() < 1e-9


def test_ball_rolls_down_with_slip(tmp_path):
    # μ < 2/7 tan α: a = g (sin α − μ cos α), ω̇ = 5 μ g cos α / (2 R)
    angle, mu = math.radians(40), 0.1
    sim = ball_on_slope(tmp_path, angle, mu).run()
    t = sim.records.time
    a = G * (math.sin(angle) - mu * math.cos(angle))
    spin = np.linalg.norm(sim.records.velocities[:, 3:6], axis=1)
    assert np.abs(along(sim, angle) - a * t).max() < 1e-9
    assert np.abs(spin - 5 * mu * G * math.cos(angle) / (2 * 0.1) * t).max() < 1e-8


@pytest.mark.parametrize("spin", [0.0, -15.0])
def test_start_of_rolling_on_a_plane(tmp_path, spin):
    # sliding start with v and ω: rolls after t = 2 (v − R ω)/(7 μ g) with (5 v + 2 R ω)/7
    v, mu = 2.0, 0.2
    slip = v - 0.1 * spin
    t_roll = 2 * slip / (7 * mu * G)
    robot = {"velocity": [v, 0, 0], "angular_velocity": [0, spin, 0]}
    sim = ball_on_slope(tmp_path, 0.0, mu, duration=1.0, **robot).run()
    t, vx = sim.records.time, sim.records.velocities[:, 0]
    sliding = t < t_roll - 1e-3
    assert np.abs(vx - (v - mu * G * t))[sliding].max() < 1e-9
    rolling = t > t_roll + 1e-3
    assert rolling.any()
    assert np.abs(vx - (5 * v + 2 * 0.1 * spin) / 7)[rolling].max() < 1e-9
    contact = vx - 0.1 * sim.records.velocities[:, 4]
    assert np.abs(contact[rolling]).max() < 1e-9


# --- several contacts


def test_rod_lands_on_two_points(tmp_path):
    # a capsule falls flat onto the plane: two contacts, hyperstatic friction; sums are unique
    model = mjcf(
        '<body name="rod"><freejoint/><geom type="capsule" size="0.05 0.5" mass="2" '
        'euler="0 1.5707963267948966 0"/></body>'
    )
    h = 1e-3
    sim = simulation(
        tmp_path, model, robot={"position": [0, 0, 0.3], "velocity": [1.0, 0, 0]},
        interaction={"friction": 0.5, "restitution": 0},
        run={"duration": 1.5, "step": h, "record_period": h},
    )  # fmt: skip
    r = sim.run().records
    assert r.stats[:, 0].max() == 2
    assert r.stats[:, UNCONVERGED].sum() == 0
    # all of it: Σ p_z = m (g T + …) and Σ p_x = −m v0; it ends at rest on the ground
    assert r.other[:, 2].sum() == pytest.approx(2 * G * 1.5, rel=1e-9)
    assert r.other[:, 0].sum() == pytest.approx(-2 * 1.0, rel=1e-9)
    assert np.abs(sim.qvel).max() < 1e-9
    assert sim.qpos[2] == pytest.approx(0.05, abs=1e-9)
    # at rest each step carries the weight
    assert np.abs(r.other[-100:, 2] - 2 * G * h).max() < 1e-10


def test_falling_rod_slides_and_lands(tmp_path):
    # a rod that stands oblique on frictionless ground: its centre falls straight down
    model = mjcf(
        '<body name="rod"><freejoint/><geom type="capsule" size="0.02 0.5" mass="1"/></body>'
    )
    angle = 0.5
    height = 0.5 * math.cos(angle) + 0.02
    sim = simulation(
        tmp_path, model, robot={"position": [0, 0, height], "attitude": [0, angle, 0]},
        interaction={"friction": 0, "restitution": 0},
        run={"duration": 1.0, "step": 1e-3, "record_period": 1e-2},
    )  # fmt: skip
    e = energy(sim.run())
    assert np.abs(sim.records.coordinates[:, :2]).max() < 1e-9
    before = sim.records.time < 0.3  # the tip slides without loss until the rod lies
    assert np.abs(e[before] / e[0] - 1).max() < 1e-3
    assert sim.qpos[2] == pytest.approx(0.02, abs=1e-8)


@pytest.mark.parametrize("taper", [0.0, 0.01])
def test_stacked_boxes_rest(tmp_path, taper):
    # three boxes on each other: no motion, and the ground carries the weight of all
    masses = (3.0, 2.0, 1.0)
    bodies = "".join(
        box(f"{0.2 - taper * k} {0.2 - 2 * taper * k} 0.1", m, f"box{k}", f"0 0 {0.1 + 0.2 * k}")
        for k, m in enumerate(masses)
    )
    h = 1e-3
    sim = simulation(
        tmp_path, mjcf(bodies), robot={"position": [0, 0, 0.1]},
        interaction={"friction": 0.5, "restitution": 0},
        run={"duration": 2.0, "step": h, "record_period": 10 * h},
    )  # fmt: skip
    r = sim.run().records
    assert np.abs(r.velocities).max() < 1e-9
    assert np.abs(r.coordinates - r.coordinates[0]).max() < 1e-8
    assert np.abs(r.other[1:, 2] - 10 * h * sum(masses) * G).max() < 1e-8
    assert r.stats[:, UNCONVERGED].sum() == 0


# --- balances in random worlds

SHAPES = ('type="box" size="0.1 0.15 0.08"', 'type="sphere" size="0.12"',
          'type="capsule" size="0.06 0.12"')  # fmt: skip


def random_world(tmp_path, seed, projection, duration=1.0, count=6, h=2e-3):
    """Bodies of several shapes dropped on a plane and on each other."""
    rng = np.random.default_rng(seed)
    bodies = ""
    for k in range(count):
        x, y, z = rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), 0.3 + 0.35 * k
        bodies += (
            f'<body name="b{k}" pos="{x} {y} {z}"><freejoint/>'
            f'<geom {SHAPES[k % 3]} mass="{rng.uniform(0.5, 3)}"/></body>'
        )
    sim = simulation(
        tmp_path, mjcf(bodies), robot={"position": [0, 0, 0.3]},
        interaction={"friction": float(rng.uniform(0, 1)),
                     "restitution": float(rng.choice([0, 0.3, 0.7, 1.0])),
                     "restitution_tangential": float(rng.choice([0, 0.5]))},
        run={"duration": duration, "step": h, "record_period": h, "projection": projection},
    )  # fmt: skip
    for k in range(count):
        q = rng.normal(size=4)
        sim.qpos[7 * k + 3 : 7 * k + 7] = q / np.linalg.norm(q)
        sim.qvel[6 * k : 6 * k + 6] = rng.normal(size=6)
    sim.record_now()
    return sim


@pytest.mark.parametrize("seed", range(6))
def test_energy_never_grows(tmp_path, seed):
    # e ≤ 1, no projection: no step adds energy. Between contacts θ = ½ keeps it to O(h³) a step
    sim = random_world(tmp_path, seed, projection=False).run()
    e = energy(sim)[1:]
    growth = np.diff(e)
    assert growth.max() < 5e-6 * abs(e[0])
    assert e.max() <= e[0] * (1 + 1e-5)
    assert sim.records.stats[:, UNCONVERGED].sum() == 0


@pytest.mark.parametrize("seed", range(4))
def test_projection_leaves_no_penetration(tmp_path, seed):
    # every gap ≥ −1e-9 at the end of every step; lifting bodies out costs little energy
    sim = random_world(tmp_path, seed, projection=True).run()
    assert sim.records.stats[:, PENETRATION].max() <= 1e-9
    e = energy(sim)[1:]
    assert e.max() <= e[0] * (1 + 1e-2)


def test_drift_without_projection_is_bounded(tmp_path):
    # without projection a penetration is at most what one step covers: |v| h at the impact
    sim = bounce(tmp_path, 0.0, 1e-3, 5.0, projection=False)
    depth = 0.1 - sim.records.coordinates[:, 2]
    assert depth.max() <= math.sqrt(2 * G) * 1e-3
    assert np.ptp(depth[-1000:]) < 1e-12  # and it does not grow


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_impulses_equal_change_of_momentum(tmp_path, seed):
    # Σ p (ground) = m Δv + m g Δt for the whole world (contacts between bodies cancel)
    sim = random_world(tmp_path, seed, projection=True, duration=0.6).run()
    mass = float(sim.model.body_subtreemass[0])
    v = sim.records.com_velocity[1:]
    p = np.cumsum(sim.records.other[2:], axis=0)
    t = sim.records.time[2:]
    change = mass * (v[1:] - v[0])
    change[:, 2] += mass * G * t
    assert np.abs(p - change).max() < 1e-9 * mass * max(1.0, np.abs(v).max())


def test_momentum_of_two_colliding_bodies(tmp_path):
    # no gravity, no ground: central impact of two balls, m1 v1 + m2 v2 kept, relative speed × −e
    model = mjcf(ball(0.1, 1.0, "a") + ball(0.1, 3.0, "b", "0.5 0 0"))
    sim = simulation(
        tmp_path, model, robot={"velocity": [2.0, 0, 0]}, ground=[], gravity=0,
        interaction={"friction": 0.5, "restitution": 0.4},
        run={"duration": 0.5, "step": 1e-3, "record_period": 1e-3},
    )  # fmt: skip
    sim.run()
    a, b = sim.qvel[0], sim.qvel[6]
    assert a + 3 * b == pytest.approx(2.0, abs=1e-12)
    assert a - b == pytest.approx(-0.4 * 2.0, abs=1e-9)  # the solver's tolerance is 1e-10


def test_eccentric_impact_keeps_momentum(tmp_path):
    # a rod hit off its centre by a ball: linear and angular momentum of the pair are kept
    model = mjcf(
        ball(0.1, 1.0, "a") + '<body name="rod" pos="0.25 0.2 0"><freejoint/>'
        '<geom type="capsule" size="0.05 0.4" mass="2" euler="1.5707963267948966 0 0"/></body>'
    )
    sim = simulation(
        tmp_path, model, robot={"velocity": [2.0, 0, 0]}, ground=[], gravity=0,
        interaction={"friction": 0.6, "restitution": 0.5},
        run={"duration": 0.2, "step": 1e-4, "record_period": 1e-2, "projection": False},
    )  # fmt: skip

    def momentum():
        mujoco.mj_forward(sim.model, sim.data)
        mujoco.mj_subtreeVel(sim.model, sim.data)
        return np.r_[3 * sim.data.subtree_linvel[0], sim.data.subtree_angmom[0]]

    start = momentum()
    sim.run()
    assert np.abs(sim.qvel[6:]).max() > 0.1
    assert np.abs(momentum()[:3] - start[:3]).max() < 1e-12
    assert np.abs(momentum()[3:] - start[3:]).max() < 1e-5  # rotation is integrated to O(h²)


def test_contact_order_of_a_landing(tmp_path):
    # the impulse of an impact is m v at the contact; time stepping captures it to O(h)
    errors = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4):
        r = bounce(tmp_path, 0.0, h, 0.8).records
        k = int(np.argmax(r.other[:, 2]))
        errors.append(abs(r.other[k, 2] - math.sqrt(2 * G)))
        assert errors[-1] < 1.5 * G * h
    assert order(errors) > 0.3


def test_restitution_is_limited_only_where_it_would_add_energy(tmp_path):
    # a single contact never adds energy: the safeguard must stay quiet
    assert bounce(tmp_path, 0.9).records.stats[:, LIMITED].sum() == 0


def test_restitution_that_would_add_energy_is_scaled_back_by_what_it_adds(tmp_path):
    # friction, opposed to the motion after the impact, would add 0.06 % of energy; the rebound
    # must give up no more than that (Siconos' ImpactingStick was given e = 0.5)
    sim, before, after, at_first = impacting_stick(tmp_path)
    assert sim.records.stats[:, LIMITED].sum() == 1
    assert before[0] > 0 > after[0]
    assert after[2] / -before[2] == pytest.approx(1.0, abs=1e-3)
    assert 0.999 * at_first < energy(sim)[-1] <= at_first * (1 + 1e-9)
