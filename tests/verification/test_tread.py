"""Tread and soil: strength of the interface, share of lugs, slip sinkage, end of the contact."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wheel_reference import published

from marsyard.ground.soil import load_soil
from marsyard.interaction.tread import Tread, strength
from marsyard.interaction.wheel_models import PUBLISHED, Exit, Wheel, WheelModel
from marsyard.wheel_surface import MATERIALS, TreadSurface

SAND = load_soil({"name": "hit_lss1", "cohesion": 0.0})
#: contact to the lowest point, stress largest there: Bekker's wheel
FLAT = {"peak_0": 0.02, "peak_1": 0.0}


def test_a_smooth_wheel_slides_at_the_angle_of_the_interface():
    # K → 0: tangential by normal stress is tan δ everywhere, so that for a shallow contact the
    # torque is r tan δ W/(1 − …); here exactly: M = r tan δ · b r ∫ σ dθ
    wheel = Wheel(0.15, 0.1, Exit("angle", 1.0))
    soil = replace(SAND, shear_modulus=1e-9, friction_angle=math.radians(30))
    for ratio in (0.4, 2 / 3, 1.0):
        made = replace(wheel, surface=TreadSurface(friction_ratio=ratio))
        got = WheelModel("wong_reece", made, soil, FLAT).at_sinkage(0.01, 0.5)
        rough = WheelModel("wong_reece", replace(wheel, surface=None), soil, FLAT).at_sinkage(
            0.01, 0.5
        )
        tan_delta = math.tan(ratio * soil.friction_angle)
        assert got.torque / rough.torque == pytest.approx(tan_delta / math.tan(math.radians(30)))


def test_lugs_and_openings_bring_the_soils_strength_back():
    soil = load_soil("fjs_1")
    phi = soil.friction_angle
    full = strength(soil, Tread(0.1), 0.02, 0.01)
    assert full == (800.0, math.tan(phi), 0.02, 0.01)
    smooth = strength(soil, Tread(0.1, TreadSurface()), 0.02, 0.01)
    assert smooth == pytest.approx((400.0, math.tan(2 / 3 * phi), 8.5e-3, 0.01))
    # close lugs, a mesh that is nearly all open, grit
    for tread in (
        Tread(0.1, TreadSurface(), 0.01, 200, 1e-3), Tread(0.1, TreadSurface(), 0.01),
        Tread(0.1, TreadSurface(open_area=0.999999)), Tread(0.1, TreadSurface(material="grit")),
    ):  # fmt: skip
        assert strength(soil, tread, 0.02, 0.01) == pytest.approx(full, rel=1e-5)
    # Rankine's wedges: twelve lugs of 8 mm, 2 mm thick, cover 12 (2 + 8 tan(45° + φ/2))/(2π r)
    share = Tread(0.1425, TreadSurface(), 0.008, 12, 0.002).lug_share(math.radians(30))
    assert share == pytest.approx(12 * (2 + 8 * math.sqrt(3)) / (2 * math.pi * 142.5))


@given(
    st.sampled_from(sorted(MATERIALS)), st.floats(0, 0.95), st.integers(1, 60),
    st.floats(1e-3, 0.03), st.floats(0.05, 0.4),
)  # fmt: skip
def test_strength_lies_between_interface_and_soil(material, opened, count, height, radius):
    soil = load_soil("dry_sand")
    surface = TreadSurface(material=material, open_area=opened)
    got = strength(soil, Tread(radius, surface, height, count, 2e-3), 0.015, 0.02)
    lowest = strength(soil, Tread(radius, TreadSurface(material=material)), 0.015, 0.02)
    highest = strength(soil, Tread(radius), 0.015, 0.02)
    for low, value, high in zip(lowest, got, highest, strict=True):
        assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12)


@pytest.mark.parametrize("slip", [-0.5, 0.0, 0.2, 0.6, 1.0])
def test_lyaskos_slip_sinkage(slip):
    # a plate's law: without shear and with the exit at the lowest point the load goes with k zⁿ⁺½,
    # so that the sinkage under a load grows by K_ss^(n/(n+1) · n/(n+½)), N = n
    n = SAND.exponent
    soil = replace(SAND, friction_angle=0.0)
    wheel = Wheel(0.3, 0.1, Exit("angle", 0.0))
    bare = published("magic_formula", wheel, soil, MAGIC)
    with_slip = replace(bare, slip_sinkage="lyasko")
    grown = with_slip.under_load(50.0, slip).sinkage / bare.under_load(50.0, 0.0).sinkage
    K_ss = (1 + abs(slip)) / (1 - abs(slip) / 2)
    assert grown == pytest.approx(K_ss ** (n / (n + 1) * n / (n + 0.5)), rel=1e-9)
    # n₁ of a soil is another law of the same thing, never added to it
    own = replace(soil, exponent_slip=0.4)
    assert replace(with_slip, soil=own).under_load(50.0, slip).sinkage == pytest.approx(
        with_slip.under_load(50.0, slip).sinkage, rel=1e-12
    )
    steeper = replace(soil, exponent=soil.exponent + 0.4 * abs(slip))
    by_exponent = replace(bare, soil=own).under_load(50.0, slip).sinkage
    assert by_exponent == pytest.approx(
        replace(bare, soil=steeper).under_load(50.0, 0.0).sinkage, rel=1e-9
    )
    none = replace(bare, soil=own, slip_sinkage="none").under_load(50.0, slip).sinkage
    assert none == pytest.approx(bare.under_load(50.0, 0.0).sinkage, rel=1e-9)


MAGIC = {"nominal_load": 50.0, "peak_x": 0.4, "stiff_x": 3.0}


def test_the_contact_ends_where_rebound_and_carried_soil_do():
    soil = load_soil("hit_lss1")
    own = PUBLISHED["ding"]
    smooth = WheelModel("ding", Wheel(0.15, 0.165), soil, own)
    lugged = WheelModel("ding", Wheel(0.15, 0.165, lug_height=0.01), soil, own)
    z = 0.012
    for slip in (0.0, 0.1, 0.3, 0.5):
        rise = {}
        for made in (smooth, lugged):
            dug = trench(made.wheel.lug_height * slip / (1 - slip), soil, 0.165)
            got = made.at_sinkage(z + dug, slip)
            top = 0.5 * got.entry_angle
            K_ss = (1 + slip) / (1 - slip / 2)
            n = soil.exponent
            k = soil.pressure_modulus(0.165) * K_ss ** (-n * n / (n + 1))
            sigma = k * (0.15 * (math.cos(top) - math.cos(got.entry_angle))) ** n
            rise[made.wheel.lug_height] = 0.15 * (1 - math.cos(got.exit_angle))
            assert rise[made.wheel.lug_height] == pytest.approx(sigma / 2e7 + dug / 3)
        # the smooth wheel's contact ends within a millimetre of rise at any slip
        assert rise[0.0] < 1e-3


def trench(layer, soil, width):
    """z + z²/(b tan φ_r) = layer: what a trench and its two walls hold is carried away."""
    scale = width * math.tan(soil.friction_angle)
    return 0.5 * scale * (math.sqrt(1 + 4 * layer / scale) - 1)


def test_slip_sinkage_of_lugs_is_reeces_with_walls_that_slide_in():
    # the same pressure a trench deeper, with a contact that ends at the lowest point
    soil = load_soil("hit_lss1")
    wheel = Wheel(0.15, 0.165, Exit("angle", 0.0), lug_height=0.01, surface=None)
    for slip, deep in ((0.0, 0.0), (0.05, None), (0.2, None), (0.6, None), (1.0, 0.075)):
        dug, plain = (
            WheelModel("ding", wheel, soil, carried=c).under_load(80.0, slip) for c in (True, False)
        )
        # without end at 100 %, where half a radius is the limit
        deep = trench(0.01 * slip / (1 - slip), soil, 0.165) if deep is None else deep
        assert dug.sinkage - plain.sinkage == pytest.approx(deep, rel=1e-9)
        assert dug.drawbar_pull == pytest.approx(plain.drawbar_pull, rel=1e-9)
    # a shallow trench is Reece's layer, δ s/(1 − s)
    assert trench(0.01 * 0.05 / 0.95, soil, 0.165) == pytest.approx(0.01 * 0.05 / 0.95, rel=6e-3)


def test_material_names_and_numbers():
    with pytest.raises(ValueError, match="polished_metal"):
        TreadSurface(material="teflon")
    with pytest.raises(ValueError, match="less than or equal to 1"):
        TreadSurface(friction_ratio=1.2)
    assert all(m.source for m in MATERIALS.values())
