"""Wheel models: published values, independent integrals, limits, and the whole range of motion."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import wheel_reference
from hypothesis import given, settings
from hypothesis import strategies as st
from wheel_reference import published

from marsyard.errors import InputError
from marsyard.ground.soil import Soil, load_soil
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel, WheelModel

TOHOKU = Wheel(0.09, 0.11, Exit("height", 0.9))
PEAK = {"peak_0": 0.40, "peak_1": 0.15}
MAGIC = {"nominal_load": 60.0, "peak_x": 0.4, "stiff_x": 3.0, "offset_x": -0.1, "peak_y": 0.5,
         "stiff_y": 2.0, "combine_x": 2.0, "combine_y": 2.0, "torque_0": 0.05}  # fmt: skip
OWN = {
    "wong_reece": PEAK, "ishigami": PEAK, "ding": {}, "magic_formula": MAGIC,
    "rigid_slip": {"friction": 0.6, "rolling": 0.02},
}  # fmt: skip


def model(name, wheel=TOHOKU, soil="fjs_1", **own):
    soil = load_soil(soil) if isinstance(soil, str) else soil
    return published(name, wheel, soil, {**OWN[name], **own})


# --- published values


@pytest.mark.parametrize(
    ("exit_", "slip", "sinkage", "pull", "torque"),
    [
        (Exit("height", 0.9), 0.2, 15.57, 10.06, 1.472),
        (Exit("height", 0.9), 0.5, 16.29, 21.27, 2.587),
        (Exit("height", 0.9), 0.8, 17.03, 28.18, 3.306),
        (Exit("angle", 0.0), 0.2, 23.73, -9.11, 1.276),
        (Exit("angle", 0.0), 0.5, 24.20, -2.01, 1.960),
    ],
)
def test_ishigami_by_exit_rule(exit_, slip, sinkage, pull, torque):
    got = model("ishigami", replace(TOHOKU, exit=exit_)).under_load(64.68, slip)
    assert 1e3 * got.sinkage == pytest.approx(sinkage, abs=0.006)
    assert got.drawbar_pull == pytest.approx(pull, abs=0.006)
    assert got.torque == pytest.approx(torque, abs=6e-4)


def test_hegedus_constants():
    # Ishigami et al. 2005, table 1, for φ = 37.2°: D1 = 4.03, D2 = 2.55 of D1 (c d + D2 γ d²)
    soil = Soil("probe", exponent=1.0, k_c=0.0, k_phi=1e5, cohesion=0.0, shear_modulus=1e-9,
                friction_angle=math.radians(37.2), density=1600.0)  # fmt: skip
    stripped = published("ishigami", Wheel(0.5, 1e-9, Exit("angle", 1.0)), soil, PEAK)
    z = 0.01
    # a wheel without width has only its sides; at this slip angle all soil is mobilised
    force = -stripped.at_sinkage(z, 0.0, math.radians(45)).side_force
    x = np.linspace(-math.sqrt(2 * 0.5 * z - z * z), math.sqrt(2 * 0.5 * z - z * z), 20001)
    depth = np.sqrt(0.25 - x * x) - (0.5 - z)
    blade = 4.03 * 2.55 * 1600 * 9.81 * np.trapezoid(depth**2, x)
    assert force == pytest.approx(blade, rel=5e-3)


# --- the integrals


def random_case(rng):
    wheel = Wheel(
        rng.uniform(0.05, 0.3), rng.uniform(0.03, 0.3),
        Exit(str(rng.choice(["height", "angle", "rebound"])), float(rng.choice([0.0, 0.3, 1.1]))),
        lug_height=float(rng.choice([0.0, 0.01])), lug_count=int(rng.integers(4, 40)),
        lug_thickness=2e-3,
    )  # fmt: skip
    soil = Soil(
        "random", exponent=rng.uniform(0.3, 1.5), k_c=rng.uniform(0, 2e4),
        k_phi=rng.uniform(1e5, 3e6),
        cohesion=float(rng.choice([0.0, rng.uniform(0, 3e3)])), density=1600.0,
        friction_angle=rng.uniform(0, 0.75), shear_modulus=rng.uniform(0.003, 0.04),
        shear_modulus_lateral=rng.uniform(0.003, 0.04), exponent_slip=float(rng.choice([0.0, 0.5])),
    )  # fmt: skip
    z = wheel.radius * rng.uniform(0.01, 0.4)
    return wheel, soil, z, rng.uniform(-0.95, 0.99), rng.uniform(-1.4, 1.4)


@pytest.mark.parametrize("name", ["wong_reece", "ishigami"])
@pytest.mark.parametrize("seed", range(12))
def test_quadrature_against_a_fine_rule(name, seed):
    wheel, soil, z, slip, beta = random_case(np.random.default_rng(seed))
    bare = replace(wheel, surface=None)
    for got, tread, sinks in (
        (published(name, wheel, soil, PEAK), bare, False),
        (WheelModel(name, wheel, soil, PEAK), wheel, True),
    ):
        compare_with_a_fine_rule(got, name, tread, soil, z, slip, beta, sinks)


def compare_with_a_fine_rule(made, name, wheel, soil, z, slip, beta, sinks):
    trench = wheel_reference.dug(wheel, soil, slip) if sinks else 0.0
    got = made.at_sinkage(z + trench, slip, beta)
    fine = wheel_reference.arc(
        wheel, soil, z, slip, beta, 0.40, 0.15, name == "wong_reece", sinks=sinks
    )
    own = np.array([got.drawbar_pull, got.side_force, got.load, got.overturning, -got.torque,
                    got.steering])  # fmt: skip
    forces, moments = np.abs(fine[:3]).max(), np.abs(fine[3:]).max()
    # behind a deep trench the contact is several times as long as in front
    most = 1e-3 if sinks else 1e-4
    assert np.abs(own - fine)[:3].max() < most * forces
    assert np.abs(own - fine)[3:].max() < most * moments


@pytest.mark.parametrize("slip", [-0.5, 0.0, 0.3, 0.9])
@pytest.mark.parametrize("cohesion", [0.0, 2000.0])
def test_ding_is_the_integral_of_triangles(slip, cohesion):
    # without corrections: σ and τ linear to θ_m and back; forces by quadrature of those
    soil = load_soil({"name": "fjs_1", "cohesion": cohesion})
    wheel = Wheel(0.12, 0.1, Exit("height", 0.4), lug_height=0.01)
    z = 0.02
    got = published("ding", wheel, soil).at_sinkage(z, slip)
    r, b, r_s, R_j = 0.12, 0.1, 0.13, 0.125
    t1, t2, t1_lug = math.acos(1 - z / r), -math.acos(1 - 0.4 * z / r), math.acos((r - z) / R_j)
    tm = 0.5 * t1
    sigma = soil.pressure_modulus(b) * (r * (math.cos(tm) - math.cos(t1))) ** soil.exponent
    rho = 1 - slip if slip >= 0 else 1 / (1 + slip)
    j = r_s * ((t1_lug - tm) - rho * (math.sin(t1_lug) - math.sin(tm)))
    tau = (soil.cohesion + sigma * math.tan(soil.friction_angle)) * math.copysign(
        1 - math.exp(-abs(j) / soil.shear_modulus), j
    )
    t = np.linspace(t2, t1, 200_001)
    shape = np.where(t < tm, (t - t2) / (tm - t2), (t1 - t) / (t1 - tm))
    moment = b * r_s**2 * np.trapezoid(tau * shape, t)
    pull = b * np.trapezoid((r_s * tau * np.cos(t) - r * sigma * np.sin(t)) * shape, t)
    load = b * np.trapezoid((r_s * tau * np.sin(t) + r * sigma * np.cos(t)) * shape, t)
    assert got.load == pytest.approx(load, rel=1e-8)
    assert got.drawbar_pull == pytest.approx(pull, rel=1e-8)
    assert got.torque == pytest.approx(moment, rel=1e-8)


def test_dings_corrections_do_not_turn_forces_round():
    # c_M of Toyoura sand makes the friction negative above 3.8 times the mean load
    wheel = Wheel(0.11, 0.13, Exit("angle", 0.0))
    made = WheelModel("ding", wheel, load_soil("toyoura_ding2011"), {"mean_load": 44.1})
    slip = np.linspace(0.1, 0.9, 5)
    near, far = made.under_load(44.1, slip), made.under_load(6 * 44.1, slip)
    assert np.all(near.torque > 0) and np.all(far.torque >= 0)
    # what is left is the push of the soil against the wheel, and a little cohesion
    assert np.all(np.diff(near.torque) > 0) and np.all(far.drawbar_pull < 0)
    light = WheelModel(
        "ding", wheel, load_soil("toyoura_ding2011"), {"mean_load": 44.1, "c_P3": 2.0}
    ).under_load(6 * 44.1, slip)
    assert np.all(light.drawbar_pull == 0)


def test_ding_approximates_the_integral():
    # n = 1 is where the stress is nearly a triangle
    soil, wheel = load_soil("fjs_1"), Wheel(0.15, 0.12, Exit("angle", 0.0))
    slip = np.linspace(0, 0.8, 9)
    # θ_m of the source; of loose sand, where shear at θ_m stands for more of the arc
    for own, torque in (
        ({"peak_0": 0.5, "peak_1": 0.0}, 0.15),
        ({"peak_0": 0.18, "peak_1": 0.32}, 0.2),
    ):
        closed = WheelModel("ding", wheel, soil, own).under_load(100.0, slip)
        full = WheelModel("wong_reece", wheel, soil, own).under_load(100.0, slip)
        assert np.abs(closed.drawbar_pull - full.drawbar_pull).max() < 0.06 * 100
        assert np.abs(closed.torque / full.torque - 1)[1:].max() < torque
        assert np.abs(closed.sinkage / full.sinkage - 1).max() < 0.15


@pytest.mark.parametrize("model", ["wong_reece", "ishigami", "ding"])
def test_passive_earth_pressure_in_front_of_the_wheel(model):
    # ∫₀ᶻ b (K_p γ ζ + 2 c √K_p) dζ against the way, whichever, and nothing else
    soil, gravity = load_soil("fjs_1"), 3.72
    wheel = Wheel(0.15, 0.12, lug_height=0.01)
    plain = WheelModel(model, wheel, soil, PEAK, gravity)
    pushes = replace(plain, bulldozing="passive")
    K_p = math.tan(math.pi / 4 + soil.friction_angle / 2) ** 2
    deep = np.linspace(0.0, 1.0, 100_001)
    for slip in (0.0, 0.4):
        z = 0.02
        wall = K_p * soil.density * gravity * z * deep + 2 * soil.cohesion * math.sqrt(K_p)
        push = wheel.width * z * float(np.trapezoid(wall, deep))
        bare, got = plain.at_sinkage(z, slip), pushes.at_sinkage(z, slip)
        assert bare.drawbar_pull - got.drawbar_pull == pytest.approx(push, rel=1e-6)
        assert got.resistance - bare.resistance == pytest.approx(push, rel=1e-6)
        for name in ("load", "torque", "side_force", "sinkage"):
            assert getattr(got, name) == getattr(bare, name)
    back, bare = (m.moving(60.0, -0.1, 0.0, -0.1) for m in (pushes, plain))
    assert back.drawbar_pull > bare.drawbar_pull


# --- limits


def test_no_strength_gives_bekkers_resistance():
    # φ = c = 0, contact ends at the lowest point, stress largest there: b ∫ p dz
    soil = load_soil({"name": "fjs_1", "cohesion": 0.0, "friction_angle": 0.0})
    wheel = Wheel(0.15, 0.12, Exit("angle", 0.0))
    own = {"peak_0": 0.02, "peak_1": 0.0}
    z = 0.02
    got = published("wong_reece", wheel, soil, own).at_sinkage(z, 0.3)
    k, n = soil.pressure_modulus(0.12), soil.exponent
    assert -got.drawbar_pull == pytest.approx(0.12 * k * z ** (n + 1) / (n + 1), rel=2e-3)
    assert got.torque == 0.0


def test_pure_cohesion_at_full_slip():
    # τ = c everywhere: torque b r² c (θ₁ − θ₂)
    soil = load_soil({"name": "fjs_1", "friction_angle": 0.0, "shear_modulus": 1e-7})
    for name in ("wong_reece", "ishigami"):
        got = model(name, soil=soil).at_sinkage(0.02, 1.0)
        arc = got.entry_angle - got.exit_angle
        assert got.torque == pytest.approx(0.11 * 0.09**2 * 800 * arc, rel=1e-6)


def test_shear_together_stays_within_the_strength():
    # along and across at once: the resultant thrust is no larger than straight slip gives
    soft = {"shear_modulus": 1e-6, "shear_modulus_lateral": 1e-6, "cohesion": 0.0, "density": 1e-9}
    soil = replace(load_soil("fjs_1"), **soft)
    slip, beta = 0.5, math.radians(40)
    straight = model("wong_reece", soil=soil).at_sinkage(0.02, slip)
    both = model("wong_reece", soil=soil).at_sinkage(0.02, slip, beta)
    apart = model("ishigami", soil=soil).at_sinkage(0.02, slip, beta)
    most = straight.torque / 0.09
    assert math.hypot(both.torque / 0.09, both.side_force) <= most * (1 + 1e-9)
    assert math.hypot(apart.torque / 0.09, apart.side_force) > 1.2 * most


@pytest.mark.parametrize("name", MODELS)
def test_mirror_images(name):
    m = model(name)
    one, other = (m.under_load(60.0, 0.3, sign * 0.2) for sign in (1, -1))
    assert one.side_force == pytest.approx(-other.side_force)
    assert one.side_force < 0  # motion to the left: force to the right
    assert one.drawbar_pull == pytest.approx(other.drawbar_pull)
    assert one.steering == pytest.approx(-other.steering)


@pytest.mark.parametrize("name", MODELS)
def test_backward_is_forward_in_a_mirror(name):
    from marsyard.interaction.wheel_models.model import ANSWERS, wheel_forces

    m = model(name)
    args = MODELS[name][0], m.wheel.numbers(), m.soil_numbers(), m.own_numbers()
    ahead, back = np.zeros(ANSWERS), np.zeros(ANSWERS)
    wheel_forces(*args, 0.015, 0.08, 0.02, 0.1, 0.0, ahead)
    wheel_forces(*args, 0.015, -0.08, 0.02, -0.1, 0.0, back)
    flip = np.array([-1, 1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1])
    assert back == pytest.approx(flip * ahead, rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_load_is_met_and_sinkage_grows_with_it(name):
    m = model(name)
    load = np.geomspace(0.5, 300, 40)
    got = m.under_load(load, 0.2)
    assert got.load == pytest.approx(load, rel=1e-9)
    assert np.all(np.diff(got.sinkage) > 0)


@pytest.mark.parametrize("name", ["wong_reece", "ishigami", "ding"])
def test_pull_and_torque_grow_with_slip(name):
    # without slip sinkage and with the stress peak in place
    m = model(name, **({} if name == "ding" else {"peak_1": 0.0}))
    got = m.under_load(64.0, np.linspace(-0.98, 0.98, 99))
    assert np.all(np.diff(got.torque) > 0)
    assert np.all(np.diff(got.drawbar_pull) > 0)


def test_slip_sinkage():
    soil = load_soil({"name": "fjs_1", "exponent_slip": 0.5})
    made = replace(model("ding", soil=soil), slip_sinkage="exponent")
    got = made.under_load(64.0, np.array([0.0, 0.4, 0.8]))
    assert np.all(np.diff(got.sinkage) > 2e-3)


def test_side_slip_sinkage():
    # N = n + n₂ |λ| at the forces of a given sinkage: as if the exponent were that
    wheel = replace(TOHOKU, exit=Exit("angle", 0.4))
    for name in ("wong_reece", "ishigami", "ding", "magic_formula"):
        soil = replace(load_soil("fjs_1"), exponent_side=0.5)
        for slip, beta in ((0.0, 0.3), (0.4, 0.8), (-0.5, -0.2)):
            rim = 1 / (1 - slip) if slip >= 0 else 1 + slip
            aside = abs(math.tan(beta)) / max(1.0, rim, abs(math.tan(beta)))
            plain = replace(soil, exponent_side=0.0, exponent=1.0 + 0.5 * aside)
            got, want = (
                published(name, wheel, s, OWN[name]).under_load(64.0, slip, beta)
                for s in (soil, plain)
            )
            assert got.sinkage == pytest.approx(want.sinkage, rel=1e-9)
            assert got.side_force == pytest.approx(want.side_force, rel=1e-9)
        deeper = WheelModel(name, wheel, soil, OWN[name]).under_load(64.0, 0.0, [0.0, 0.3, 0.7])
        assert np.all(np.diff(deeper.sinkage) > 1e-3)


def test_magic_formula_carries_the_integral_of_the_pressure():
    # b ∫ k (z − x²/2r)^N dx over the chord, half of it in contact; Bekker's (3 − n)/3 for n = 1
    r, b, z = 0.15, 0.12, 0.02
    x = np.linspace(0, math.sqrt(2 * r * z), 400_001)
    for n, n1, slip in ((1.0, 0.0, 0.0), (0.6, 0.0, 0.3), (1.1, 0.8, 0.6)):
        soil = Soil("probe", exponent=n, k_c=0.0, k_phi=1e6, exponent_slip=n1)
        body = published("magic_formula", Wheel(r, b, Exit("angle", 0.0)), soil, MAGIC)
        depth = np.maximum(z - x * x / (2 * r), 0.0)
        load = b * 1e6 * np.trapezoid(depth ** (n + n1 * slip), x)
        assert body.at_sinkage(z, slip).load == pytest.approx(load, rel=1e-5)
    assert body.at_sinkage(z, 0.0).load > body.at_sinkage(z, 0.8).load


def test_motion_straight_aside():
    # slip and slip angle leave the rim's speed open there; the three speeds do not
    m = model("wong_reece")
    standing, turning = m.under_load(60.0, 0.0, math.pi / 2), m.under_load(60.0, 1.0, math.pi / 2)
    assert standing.side_force == pytest.approx(m.moving(60.0, 0.0, 1.0, 0.0).side_force, rel=1e-6)
    assert turning.side_force == pytest.approx(m.moving(60.0, 0.0, 1.0, 1.0).side_force, rel=1e-6)
    assert turning.side_force < -10.0 and abs(turning.side_force) < abs(standing.side_force)
    # a wheel that spins on the spot has no side slip, whatever the angle was
    assert m.under_load(60.0, 1.0, 0.5).side_force == 0.0
    for slip, beta in ((0.3, 0.2), (-0.4, 0.6)):
        rim = 1 / (1 - slip) if slip >= 0 else 1 + slip
        by_slips, by_speeds = (
            m.under_load(60.0, slip, beta),
            m.moving(60.0, 0.1, 0.1 * math.tan(beta), 0.1 * rim),
        )
        assert by_speeds.drawbar_pull == pytest.approx(by_slips.drawbar_pull, rel=1e-9)
        assert by_speeds.side_force == pytest.approx(by_slips.side_force, rel=1e-9)


# --- the whole range

#: soils and wheels of the whole range of use
RANGE = {
    "name": st.sampled_from(sorted(MODELS)),
    "slip": st.floats(-1, 1),
    "beta": st.floats(-90, 90),
    "load": st.floats(1, 2000),
    "radius": st.floats(0.04, 0.4),
    "lugs": st.sampled_from([0.0, 0.1]),
    "exit_": st.tuples(st.sampled_from(["height", "angle", "rebound"]), st.floats(0, 1.5)),
    "n": st.floats(0.4, 1.5),
    "more": st.tuples(st.floats(0, 0.8), st.floats(0, 0.8)),
    "phi": st.floats(5, 50),
    "c": st.floats(0, 3000),
    "K": st.floats(2e-3, 0.05),
}


def any_model(name, radius, lugs, exit_, n, more, phi, c, K):
    """A model on a soil whose stiffness at a depth of 2 cm is that of loose sand."""
    soil = Soil("any", exponent=n, k_c=0.0, k_phi=2e4 / 0.02**n, cohesion=c, shear_modulus=K,
                friction_angle=math.radians(phi), density=1500.0, exponent_slip=more[0],
                exponent_side=more[1])  # fmt: skip
    return WheelModel(name, Wheel(radius, radius, Exit(*exit_), lugs * radius), soil, OWN[name])


@settings(max_examples=200, deadline=None)
@given(**RANGE)
def test_under_any_load_and_slip(name, slip, beta, load, **rest):
    m = any_model(name, **rest)
    angle = math.radians(beta)
    got, mirrored = m.under_load(load, slip, [angle, -angle]), m.under_load(load, slip, -angle)
    if math.isnan(mirrored.sinkage):
        # cannot carry it: even to the axle, it does not
        assert m.at_sinkage(0.95 * m.wheel.radius, slip, -angle).load < load
        assert np.all(np.isnan(got.sinkage))
        return
    forces = np.array([got.drawbar_pull, got.side_force, got.torque, got.overturning, got.steering])
    assert np.all(np.isfinite(forces)) and np.all(
        (got.sinkage > 0) & (got.sinkage < m.wheel.radius)
    )
    # the load is met
    assert got.load == pytest.approx([load, load], rel=1e-9)
    # mirror images: pull, torque, sinkage the same, side force and its moments reversed
    even, odd = [forces[0], forces[2], got.sinkage], forces[[1, 3, 4]]
    for values in even:
        assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-9 * load)
    assert odd[:, 0] == pytest.approx(-odd[:, 1], rel=1e-9, abs=1e-9 * load)
    # soil pushes against motion to the side, and the fitted models do so within their friction
    assert got.side_force[0] * angle <= 1e-9 * load
    if name in ("magic_formula", "rigid_slip"):
        assert np.abs(forces[:2]).max() <= load * 1.0
    else:
        # thrust within the strength: r_s b ∫ (c + σ tan φ) cos θ dθ, with r b ∫ σ cos θ dθ the load
        # of the same stresses without shear
        smooth = replace(m.soil, cohesion=0.0, friction_angle=0.0)
        normal = replace(m, soil=smooth).at_sinkage(got.sinkage[0], slip, angle).load
        r_s, arc = m.wheel.shear_radius, got.entry_angle[0] - got.exit_angle[0]
        most = r_s * m.wheel.width * m.soil.cohesion * arc
        most += r_s / m.wheel.radius * math.tan(m.soil.friction_angle) * normal
        assert abs(got.thrust[0]) <= most * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(**RANGE)
def test_no_jumps_and_finite_slopes(name, slip, beta, load, **rest):
    # over a small step forces change little, anywhere but where the wheel spins or stands aside
    m = any_model(name, **rest)
    slip, angle = 0.98 * slip, math.radians(0.97 * beta)
    step = 1e-6
    near = m.under_load(load, [slip, slip + step, slip], [angle, angle, angle + step])
    if np.any(np.isnan(near.sinkage)):
        return
    size = 3 * load + np.abs(near.side_force).max() + np.abs(near.drawbar_pull).max()
    for force in (near.drawbar_pull, near.side_force, near.torque / m.wheel.radius):
        slopes = (force[1:] - force[0]) / step
        assert np.all(np.isfinite(slopes))
        # locked wheels near −1: v/w doubles over ever smaller steps
        assert np.abs(slopes).max() < 2e4 * size
    sinking = (near.sinkage[1:] - near.sinkage[0]) / step
    assert np.abs(sinking).max() < 2e3 * m.wheel.radius


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    z=st.floats(-0.01, 0.2),
    motion=st.tuples(*(st.floats(-3, 3) for _ in range(3))),
    camber=st.floats(-0.5, 0.5),
    exit_=st.floats(0, 2),
    n=st.floats(0.1, 2.5),
    phi=st.floats(0, 1.0),
    c=st.floats(0, 1e5),
    K=st.floats(1e-4, 0.1),
)
def test_any_motion_gives_bounded_forces(name, z, motion, camber, exit_, n, phi, c, K):
    from marsyard.interaction.wheel_models.model import ANSWERS, wheel_forces

    soil = Soil("any", exponent=n, k_c=1e3, k_phi=1e6, cohesion=c, friction_angle=phi,
                shear_modulus=K, density=1500.0)  # fmt: skip
    m = WheelModel(name, Wheel(0.1, 0.1, Exit("height", exit_)), soil, OWN[name])
    out = np.full(ANSWERS, np.nan)
    wheel_forces(MODELS[name][0], m.wheel.numbers(), m.soil_numbers(), m.own_numbers(), z,
                 *motion, camber, out)  # fmt: skip
    assert np.all(np.isfinite(out))
    if z <= 0:
        assert np.all(out == 0)


@pytest.mark.parametrize("name", MODELS)
def test_smooth_in_slip_and_slip_angle(name):
    # differences shrink with the step: no jumps anywhere, also at zero slip and at locked wheels
    m = model(name)
    for beta in (0.0, 0.3, 1.5):
        for fine in (2001, 4001):
            got = m.at_sinkage(0.012, np.linspace(-1, 1, fine), beta)
            jump = max(np.abs(np.diff(f)).max() for f in (got.drawbar_pull, got.side_force))
            if fine == 2001:
                coarse = jump
        assert jump < 0.7 * coarse
    for slip in (-0.4, 0.0, 0.6):
        got = [m.at_sinkage(0.012, slip, np.linspace(-1.5, 1.5, k)) for k in (2001, 4001)]
        jumps = [np.abs(np.diff(g.side_force)).max() for g in got]
        assert jumps[1] < 0.7 * jumps[0]


# --- wrong input


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WheelModel("wong_rece", TOHOKU, load_soil("fjs_1"), PEAK), "did you mean"),
        (lambda: WheelModel("magic_formula", TOHOKU, load_soil("fjs_1"), {}), "nominal_load"),
        (lambda: WheelModel("wong_reece", TOHOKU, None, PEAK), "needs a soil"),
        (lambda: model("ishigami", peak_2=1.0), "unknown coefficient"),
        (lambda: Exit("hight", 0.9), "did you mean"),
        (lambda: Exit("height", -1.0), "from 0 to 2"),
        (lambda: Wheel(-0.1, 0.1, Exit("height", 0.9)), "radius"),
        (lambda: Wheel(0.1, 0.1, Exit("height", 0.9), lug_height=0.2), "lug_height"),
        (lambda: model("ishigami").under_load(60.0, 1.2), "slip"),
        (lambda: model("ishigami", soil=load_soil({"cohesion": 280})), "custom soil has no k_c"),
    ],
)
def test_wrong_input(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value) and "\n" not in str(error.value)
