"""Compliant contact of elements and friction by displacement, against closed forms and balances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import G, box, digest, energy, mjcf, order, simulation

from marsyard.comparison.laws import Variant, scenario_under
from marsyard.errors import InputError
from marsyard.interaction.compliant import curves, elements
from marsyard.interaction.compliant.law import immersed_arc, shear_path
from marsyard.interaction.compliant.world import curve_of
from marsyard.scenario import validate
from marsyard.simulation import Simulation
from marsyard.simulation.settle import law_gap

K, C = 1e8, 3e5  # the default stiffness [Pa/m] and damping [Pa·s/m]
CURVES = {
    "loose": ({"kind": "loose", "displacement": "2 mm"}, lambda x: 1 - np.exp(-x / 2e-3)),
    "dense": ({"kind": "dense", "displacement": "2 mm", "peak": 1.4}, None),
    "table": (
        {"kind": "table", "points": [[0.001, 0.8], [0.003, 1.2], [0.006, 1.0]]},
        lambda x: np.interp(x, [0, 0.001, 0.003, 0.006], [0, 0.8, 1.2, 1.0]),
    ),
}


def made_curve(name):
    return {
        "loose": curves.loose(2e-3),
        "dense": curves.dense(2e-3, 1.4),
        "table": curves.table([(0.001, 0.8), (0.003, 1.2), (0.006, 1.0)]),
    }[name]


def law(friction=0.7, **compliant):
    return {"law": "compliant", "friction": friction, "compliant": compliant}


def ratios(curve, path):
    out = np.zeros_like(path)
    shear_path(*curve, path, out)
    return out


# --- the curve of friction


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("steps", [7, 400])
def test_displacement_in_one_direction_follows_the_curve(name, steps):
    path = np.linspace(0, 0.02, steps)
    if name == "dense":
        # Wong's form (1 + βE)(1 − E) with its peak where it was asked for
        fine = ratios(made_curve(name), np.linspace(0, 0.02, 20001))
        assert fine.max() == pytest.approx(1.4, rel=1e-9)
        assert np.argmax(fine) * 1e-6 == pytest.approx(2e-3, abs=2e-6)
        assert fine[-1] == pytest.approx(1.0, abs=1e-3)
        assert np.all(np.diff(fine[:2000]) > 0) and np.all(np.diff(fine[2001:]) < 0)
        expected = np.interp(path, np.linspace(0, 0.02, 20001), fine)
        assert ratios(made_curve(name), path) == pytest.approx(expected, abs=1e-6)
    else:
        expected = CURVES[name][1](path)
        assert ratios(made_curve(name), path) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_reversal_has_hysteresis_and_never_gives_energy(name):
    curve = made_curve(name)
    kappa, most = curve.numbers[1], curve.numbers[2]
    rng = np.random.default_rng(1)
    turns = np.concatenate([[0.0], rng.uniform(-0.01, 0.01, 40)])
    path = np.concatenate([np.linspace(a, b, 400) for a, b in zip(turns, turns[1:], strict=False)])
    g = ratios(curve, path)
    assert np.abs(g).max() <= most * (1 + 1e-12)
    # just after a turn it is a spring of the steepest slope
    back = np.linspace(0.008, 0.008 - 0.5 * g[399] / kappa, 5)
    one = ratios(curve, np.concatenate([np.linspace(0, 0.008, 400), back]))
    assert np.diff(one[-4:]) / np.diff(back[-4:]) == pytest.approx(kappa, rel=1e-6)
    # work done on it less what the spring holds only ever grows; the steps are finite
    work = np.concatenate([[0.0], np.cumsum((g[1:] + g[:-1]) / 2 * np.diff(path))])
    lost = work - g**2 / (2 * kappa)
    assert np.diff(lost).min() > -2e-3 * np.ptp(lost) / len(lost)
    assert lost[-1] > 0.05


SLEDGE = (
    '<body name="sledge"><joint name="pull" type="slide" axis="1 0 0"/>'
    '<geom type="sphere" size="0.01" mass="1" contype="0" conaffinity="0" pos="0 0 1"/>'
    '<body name="plate"><joint name="press" type="slide" axis="0 0 1"/>'
    '<geom name="plate" type="box" size="0.1 0.1 0.05" mass="10" pos="0 0 0.05"/></body></body>'
)


@pytest.mark.parametrize("name", CURVES)
def test_slow_shear_test(tmp_path, name):
    # a plate under its weight is dragged to and fro: F_t/F_n against the path, point by point
    depth = 10 * G / (K * 0.04)
    speed = "where(t < 0.8, 0.01, where(t < 1.4, -0.01, 0.01))"
    sim = simulation(
        tmp_path, mjcf(SLEDGE), robot={"joints": {"press": -depth}},
        interaction=law(0.5, curve=CURVES[name][0], element_size=0.05, damping=0),
        control=[{"joints": "pull", "speed": speed, "gain": 1e7}],
        run={"duration": 2.0, "step": 1e-3, "record_period": 1e-3},
    ).run()  # fmt: skip
    r = sim.records
    x = r.coordinates[:, 0]
    force = r.other[1:] / 1e-3
    assert force[:, 2] == pytest.approx(10 * G, rel=1e-6)
    # impulses belong to the middle of a step
    middle = (x[1:] + x[:-1]) / 2
    expected = -0.5 * ratios(made_curve(name), np.concatenate([[0.0], middle]))[1:]
    assert force[:, 0] / force[:, 2] == pytest.approx(expected, abs=0.01)
    assert np.median(np.abs(force[:, 0] / force[:, 2] - expected)) < 5e-4


# --- a block on a slope


def block(tmp_path, slope, friction, duration, step=1e-3, size=0.05, **run):
    a = math.radians(slope)
    return simulation(
        tmp_path, mjcf(box("0.1 0.15 0.1", 20.0)),
        robot={
            "position": [-0.1 * math.sin(a), 0, 0.1 * math.cos(a)], "attitude": [0, -a, 0],
        },
        ground=[{"kind": "plane", "slope": f"{slope} deg"}],
        interaction=law(friction, element_size=size),
        run={"duration": duration, "step": step, **run},
    )  # fmt: skip


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_block_below_the_angle_of_friction_stays(tmp_path, step):
    # μ = 0.7 holds up to 35°; once its rocking has died away nothing moves
    sim = block(tmp_path, 30, 0.7, 60.0, step)
    sim.step(round(10 / step))
    place = sim.qpos[:3].copy()
    sim.run()
    assert np.abs(sim.records.velocities[sim.records.time > 10.0]).max() < 1e-9
    assert np.abs(sim.qpos[:3] - place).max() < 1e-10
    # it has slid until the curve was mobilised: g sin x = μ g cos (x − K), and bounced once
    assert np.linalg.norm(place - [-0.05, 0, 0.1 * math.cos(math.pi / 6)]) < 0.015


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_block_above_the_angle_of_friction_slides(tmp_path, step):
    sim = block(tmp_path, 25, 0.3, 2.0, step, record_period=0.05).run()
    a = math.radians(25)
    along = sim.records.velocities[:, :3] @ [-math.cos(a), 0, -math.sin(a)]
    late = sim.records.time > 0.5
    rate = np.polyfit(sim.records.time[late], along[late], 1)[0]
    assert rate == pytest.approx(G * (math.sin(a) - 0.3 * math.cos(a)), rel=1e-6)


# --- indentation


def force_at(sim):
    """Force of the ground on the first body with the robot at rest where it is [N]."""
    sim.evaluate_laws(1e-3, 0.5, np.zeros(sim.model.nv))
    return sim.law_forces("compliant")[0, :3]


def cylinder_force(radius, length, depth):
    # ∫ k (δ − R (1 − cos φ)) L R dφ over |φ| < φ₀
    phi = math.acos(1 - depth / radius)
    return K * length * radius * 2 * ((depth - radius) * phi + radius * math.sin(phi))


SHAPES = {
    "ball": ('type="sphere" size="0.1"', 0.1, lambda d: math.pi * 0.1 * K * d * d),
    "cylinder": (
        'type="cylinder" size="0.1 0.2" euler="1.5707963267948966 0 0"', 0.1,
        lambda d: cylinder_force(0.1, 0.4, d),
    ),
    "plate": ('type="box" size="0.1 0.05 0.02"', 0.02, lambda d: K * 0.02 * d),
    "tilted plate": (
        # one edge in the ground: a wedge, with the area of the plate itself
        'type="box" size="0.1 0.05 0.02" euler="0 0.02 0"',
        0.1 * math.sin(0.02) + 0.02 * math.cos(0.02),
        lambda d: K * 0.1 * d * d / (2 * math.sin(0.02)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("ground", ["plane", "box"])
def test_indentation(tmp_path, name, ground):
    geom, height, expected = SHAPES[name]
    floor = {"kind": "plane"} if ground == "plane" else {
        "kind": "box", "centre": [0, 0, -0.5], "size": [2, 2, 1],
    }  # fmt: skip
    errors = []
    for size in (0.02, 0.01, 0.005):
        sim = simulation(
            tmp_path,
            mjcf(f'<body name="b"><freejoint name="f"/><geom {geom} mass="1"/></body>'),
            robot={"position": [0, 0, height - 1.5e-3]}, ground=[floor],
            interaction=law(element_size=size), run={"duration": 1},
        )  # fmt: skip
        errors.append(abs(force_at(sim)[2] / expected(1.5e-3) - 1))
    assert errors[-1] < 1e-3
    assert errors[-1] < max(0.3 * errors[0], 1e-9)


WHEELS = {
    "cylinder": (0.002, lambda d: cylinder_force(0.125, 0.1, d)),
    "disc": (0.002, lambda d: cylinder_force(0.125, 0.1, d)),
    "sphere": (0.002, lambda d: math.pi * 0.125 * K * d * d),
    # two curvatures: an ellipse, π √(R r) k δ² to the order δ/r
    "torus": (0.01, lambda d: math.pi * math.sqrt(0.125 * 0.05) * K * d * d),
}


def rig(shape="cylinder", **parts):
    return Simulation(
        validate(
            {
                "robot": {
                    "name": "single_wheel_rig", "wheel_shape": shape,
                    "springs": {"steer": {"stiffness": 1e6, "damping": 1e3}},
                    **parts.pop("robot", {}),
                },
                "gravity": parts.pop("gravity", 0),
                **parts,
            }
        )
    )  # fmt: skip


def test_arc_in_the_ground_against_quadrature():
    # mean depth, part, sine of the middle of pressure and of the middle of the part, its variance
    rng = np.random.default_rng(1)
    for _ in range(200):
        radius, half, middle = (
            rng.uniform(0.05, 0.3),
            rng.uniform(0.01, 0.2),
            rng.uniform(-0.4, 0.4),
        )
        deepest = 10 ** rng.uniform(-4, -1.2)
        got = immersed_arc(deepest, radius, middle, half)
        edge = math.acos(max(1 - deepest / radius, -1.0))
        low, high = max(middle - half, -edge), min(middle + half, edge)
        if low >= high:
            assert got == (0.0, 0.0, 0.0, 0.0, 0.0)
            continue
        psi = np.linspace(low, high, 4001)
        depth, sine = deepest - radius * (1 - np.cos(psi)), np.sin(psi)
        whole, wide = np.trapezoid(depth, psi), high - low
        centre = np.trapezoid(sine, psi) / wide
        spread = np.trapezoid((sine - centre) ** 2, psi) / wide
        expected = (
            whole / (2 * half), wide / (2 * half), np.trapezoid(depth * sine, psi) / whole, centre,
            spread,
        )  # fmt: skip
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-9)
    # barely in the ground, and a wheel on its side
    for deepest in 10.0 ** np.arange(-18, -6):
        for radius, middle in ((0.1, 0.0), (0.1, 1e-6), (0.0, 0.2), (1e-17, 0.2)):
            mean, part, pressed, sine, spread = immersed_arc(deepest, radius, middle, 0.05)
            assert 0 <= mean <= deepest * (1 + 1e-9) and 0 <= part <= 1 + 1e-9 and spread >= 0
            assert abs(pressed - sine) <= 0.05


@pytest.mark.parametrize("shape", WHEELS)
def test_indentation_of_wheels(shape):
    sim = rig(shape, robot={"joints": {"lift": -1.5e-3}}, interaction=law(element_size=0.005),
              run={"duration": 1})  # fmt: skip
    within, expected = WHEELS[shape]
    assert force_at(sim)[2] == pytest.approx(expected(1.5e-3), rel=within)


@pytest.mark.parametrize("shape", WHEELS)
@pytest.mark.parametrize("ground", ["plane", "box"])
def test_pressure_does_not_depend_on_the_angle_of_a_wheel(shape, ground):
    # elements of 3 cm under a contact of 2: at every angle the force of a round wheel, through the
    # axle
    floor = {"kind": "plane"} if ground == "plane" else {
        "kind": "box", "centre": [0, 0, -0.5], "size": [2, 2, 1],
    }  # fmt: skip
    forces, moments = [], []
    for angle in np.linspace(0.0, 0.5, 9):
        sim = rig(shape, robot={"joints": {"lift": -5e-4, "wheel_y": angle}}, ground=[floor],
                  interaction=law(element_size=0.03), run={"duration": 1})  # fmt: skip
        forces.append(force_at(sim)[2])
        moments.append(sim.law_forces("compliant")[0, 4])
    assert np.ptp(forces) < 1e-9 * forces[0]
    assert np.abs(moments).max() < 1e-9 * forces[0]
    if shape in ("cylinder", "disc"):
        assert forces[0] == pytest.approx(WHEELS[shape][1](5e-4), rel=1e-9)


def test_tilted_cylinder(tmp_path):
    # its edge in the ground: against the integral over the tread
    radius, half, tilt, depth = 0.1, 0.05, 0.03, 2e-3
    y, phi = np.meshgrid(np.linspace(-half, half, 2001), np.linspace(-0.4, 0.4, 2001))
    low = radius * np.cos(phi) * math.cos(tilt) - y * math.sin(tilt)
    pressed = np.maximum(0.0, low - (low.max() - depth))
    expected = K * radius * np.trapezoid(np.trapezoid(pressed, y[0], axis=1), phi[:, 0])
    errors = []
    for size in (0.02, 0.01, 0.005):
        euler = f'euler="{math.pi / 2 + tilt} 0 0"'
        body = f'<geom type="cylinder" size="{radius} {half}" {euler} mass="1"/>'
        sim = simulation(
            tmp_path, mjcf(f'<body name="b"><freejoint name="f"/>{body}</body>'),
            robot={"position": [0, 0, low.max() - depth]}, ground=[{"kind": "plane"}],
            interaction=law(element_size=size), run={"duration": 1},
        )  # fmt: skip
        errors.append(abs(force_at(sim)[2] / expected - 1))
    assert errors[0] < 0.03 and errors[-1] < 2e-3


@pytest.mark.parametrize(
    ("made", "area", "volume"),
    [
        (elements.ball(0.1, 0.01), 4 * math.pi * 0.01, 4 / 3 * math.pi * 1e-3),
        (elements.box(np.array([0.1, 0.2, 0.05]), 0.01), 0.28, 0.008),
        (
            elements.capsule(0.05, 0.1, 0.005), 4 * math.pi * 0.0025 + 0.02 * math.pi,
            math.pi * 0.0025 * 0.2 + 4 / 3 * math.pi * 0.05**3,
        ),
        (
            elements.cylinder(0.1, 0.1, 0.01), 2 * math.pi * 0.01 + 0.04 * math.pi,
            math.pi * 0.01 * 0.2,
        ),
    ],
)  # fmt: skip
def test_elements_cover_their_shape(made, area, volume):
    assert made.area.sum() == pytest.approx(area, rel=1e-9)
    # Gauss: ∫ x·m dA = 3 V, and the normals add up to nothing
    assert np.einsum("ij,ij,i", made.place, made.normal, made.area) / 3 == pytest.approx(
        volume, rel=5e-3
    )
    assert np.abs(made.normal.T @ made.area).max() < 2e-3 * area


@pytest.mark.parametrize(
    "geom",
    [
        'type="sphere" size="0.05"', 'type="capsule" size="0.04 0.06" euler="0 1.5707963 0"',
        'type="box" size="0.05 0.05 0.02"', 'type="cylinder" size="0.05 0.02"',
        'type="ellipsoid" size="0.05 0.06 0.04"', 'type="mesh" mesh="m"',
    ],
)  # fmt: skip
def test_foot_of_every_kind_carries_the_weight(tmp_path, geom):
    # three legs on one plate, so that round feet do not roll away
    asset = (
        '<asset><mesh name="m" vertex="-.05 -.05 -.04 .05 -.05 -.04 -.05 .05 -.04 .05 .05 -.04 '
        '0 0 .04"/></asset>'
    )
    legs = "".join(
        f'<body name="foot{i}" pos="{x} {y} -0.2"><geom {geom} mass="1"/></body>'
        for i, (x, y) in enumerate([(0.3, 0), (-0.2, 0.2), (-0.2, -0.2)])
    )
    (tmp_path / "model.xml").write_text(
        mjcf(
            '<body name="base"><freejoint name="f"/><geom type="box" size=".1 .1 .02" mass="9" '
            f'contype="0" conaffinity="0"/>{legs}</body>',
            asset,
        )
    )
    feet = ", ".join(f"f{i}: {{body: foot{i}}}" for i in range(3))
    (tmp_path / "robot.yaml").write_text(f"model: model.xml\nbase: base\nfeet: {{{feet}}}\n")
    sim = Simulation(
        validate(
            {
                "robot": {"name": str(tmp_path / "robot.yaml"), "settle": True,
                          "position": [0, 0, 1]},
                "gravity": G, "interaction": law(), "run": {"duration": 0.5},
            }
        )
    ).run()  # fmt: skip
    ds = sim.dataset()
    total = ds.foot_force.isel(time=-1).sel(axis="z")
    # statics: the centre of mass lies at x = −0.1/12 from the plate's middle
    lever = (0.2 - 0.1 / 12) / 0.5
    weight = 12 * G
    expected = [weight * lever, weight * (1 - lever) / 2, weight * (1 - lever) / 2]
    assert total.values.sum() == pytest.approx(weight, rel=1e-5)
    # a round foot stands a little beside its middle, on its elements
    assert total.values == pytest.approx(expected, rel=0.01)
    assert np.abs(sim.qvel).max() < 1e-6


# --- wheels


DEPTH = 4.27e-4  # of the rig's wheel under its 6 kg [m]


def rolling(damping, shape="cylinder", size=0.005):
    rates = {"travel": 0.25, "wheel_y": 2}
    return rig(
        shape, gravity=G, robot={"joints": {"lift": -DEPTH}, "joint_rates": rates},
        interaction=law(damping=damping, element_size=size),
        run={"duration": 2.0, "record_period": 0.01},
    ).run()  # fmt: skip


def test_wheel_rolls_without_slip_and_without_loss():
    sim = rolling(0.0)
    r = sim.records
    names = sim.world.joints
    x, phi = (r.coordinates[:, names.index(n)] for n in ("travel", "wheel_y"))
    # no damping: the speed stays, and the way is r φ up to what the depth takes from the radius
    depth = -r.coordinates[-1, names.index("lift")]
    assert x[-1] == pytest.approx(0.5, rel=2e-3)
    assert 0.125 - depth < x[-1] / phi[-1] < 0.1251


@pytest.mark.parametrize("size", [0.02, 0.01])
@pytest.mark.parametrize("damping", [0.0, C])
def test_wheel_rolls_evenly_on_coarse_elements(size, damping):
    # without damping nothing levels bumps out; with it, pressure is not where the ground is deepest
    sim = rolling(damping, size=size)
    r, late = sim.records, sim.records.time > 0.2
    load = r.normal[late, 0, 0] / 0.01
    assert np.std(load) < 1e-3 * 6 * G
    if damping == 0.0:
        speed = r.velocities[late, sim.world.joints.index("travel")]
        assert np.ptp(speed) < 2e-4 * 0.25


@pytest.mark.parametrize("size", [0.02, 0.01, 0.001])
def test_rolling_resistance_is_that_of_the_damping(size):
    c = 3e5
    sim = rolling(c, "disc", size)
    r, names = sim.records, sim.world.joints
    v = r.velocities[:, names.index("travel")]
    depth = -np.mean(r.coordinates[-50:, names.index("lift")])
    late = r.time > 0.5
    slowing = -np.polyfit(r.time[late], v[late], 1)[0]
    # power ∫ p δ̇ dA over the contact, p = max(0, k δ + c δ̇)
    phi = np.linspace(-0.2, 0.2, 20001)
    speed = float(np.mean(v[late]))
    rate = speed * np.sin(phi)
    deep = depth - 0.125 * (1 - np.cos(phi))
    pressure = np.where(deep > 0, np.maximum(0, K * deep + c * rate), 0)
    power = np.trapezoid(pressure * rate, phi) * 0.125 * 0.1
    mass = 11 + 0.0078125 / 0.125**2
    # (within an element, what would pull at its trailing end is not left out)
    assert slowing * mass * speed == pytest.approx(power, rel=0.05)


def test_spinning_wheel_reaches_friction():
    sim = rig(
        gravity=G, robot={"joints": {"lift": -DEPTH}},
        interaction=law(0.6, curve={"kind": "loose", "displacement": 1e-4}, element_size=0.005),
        control=[{"joints": "travel", "speed": 0}, {"joints": "wheel_y", "speed": 3}],
        run={"duration": 1.0, "record_period": 0.01},
    ).run()  # fmt: skip
    r = sim.records
    late = r.time > 0.5
    pull = r.tangent[late, 0, 0, 0].sum() / r.normal[late, 0, 0].sum()
    assert pull == pytest.approx(0.6, rel=0.01)
    assert r.normal[late, 0, 0].sum() / late.sum() / 0.01 == pytest.approx(6 * G, rel=1e-3)


def test_track_goes_as_far_as_its_belt():
    sim = Simulation(
        validate(
            {
                "robot": {"name": "tracked_rover", "settle": True},
                "interaction": law(0.8, element_size=0.03), "gravity": G,
                "control": [{"joints": "drives", "speed": "2*min(1, 2*t)"}],
                "run": {"duration": 2.0, "record_period": 0.02},
            }
        )
    ).run()  # fmt: skip
    ds = sim.dataset()
    late = ds.sel(time=slice(1.0, None))
    assert late.velocity_base.mean("time").values == pytest.approx([0.15, 0, 0], abs=2e-3)
    force = late.track_force.mean("time").sel(axis="z").values
    assert force == pytest.approx(2 * [sim.model.body_subtreemass[0] * G / 2], rel=0.01)


# --- rover, energy, order, state


def rover(law_of, step=1e-3, **run):
    return Simulation(
        validate(
            {
                "robot": {"name": "exomars_rt0448", "settle": True}, "gravity": 3.69,
                "interaction": law_of, "control": [{"joints": "drives", "speed": 0}],
                "run": {"duration": 0.5, "step": step, **run},
            }
        )
    ).run()  # fmt: skip


def test_rover_stands_with_the_loads_of_rigid_ground():
    soft, hard = rover(law()), rover({"law": "nonsmooth", "friction": 0.7})
    loads = [s.records.normal[-1].sum(axis=1) for s in (soft, hard)]
    assert loads[0] == pytest.approx(loads[1], rel=0.01)
    assert np.abs(soft.qvel[:6]).max() < 1e-6


@pytest.mark.parametrize("name", ["exomars_rt0448", "sojourner"])
@pytest.mark.parametrize("size", [0.04, 0.01])
def test_rover_without_brakes_stays_on_level_ground(name, size):
    # wheels free to roll: on hollows between elements it would
    sim = Simulation(
        validate(
            {
                "robot": {"name": name, "settle": True}, "gravity": 3.69,
                "interaction": law(element_size=size), "run": {"duration": 5.0},
            }
        )
    ).run()  # fmt: skip
    r = sim.records
    assert np.abs(r.velocities[:, :3]).max() < 1e-6
    assert np.abs(r.velocities[r.time > 1.0]).max() < 1e-8
    assert np.abs(r.coordinates[-1, :3] - r.coordinates[0, :3]).max() < 1e-8


def test_stiff_ground_is_stable_with_long_steps():
    sim = rover(law(damping=0), step=5e-3)
    assert np.abs(sim.qvel).max() < 1e-3
    assert sim.records.normal[-1].sum() == pytest.approx(
        sim.model.body_subtreemass[0] * 3.69 * sim.scenario.run.record_period, rel=1e-2
    )


def thrown(tmp_path, step=1e-3, duration=1.5, **compliant):
    return simulation(
        tmp_path, mjcf(box("0.1 0.15 0.1", 20.0)),
        robot={"position": [0, 0, 0.4], "attitude": [0.3, 0.2, 0], "velocity": [1.5, 0.3, 0],
               "angular_velocity": [0, 2, 1]},
        interaction=law(0.5, element_size=0.02, **compliant),
        run={"duration": duration, "step": step, "record_period": step},
    )  # fmt: skip


@pytest.mark.parametrize("damping", [0.0, 3e5])
def test_energy_is_never_gained(tmp_path, damping):
    sim = thrown(tmp_path, 2.5e-4, damping=damping).run()
    total = energy(sim)
    ground = sim.dataset().energy_ground.values
    # what body and ground have is what there was at the start
    assert total + ground == pytest.approx(total[0] * np.ones_like(total), abs=2e-3 * total[0])
    assert total.max() < total[0] * (1 + 1e-6)
    # and what the ground gave back it had taken before
    assert ground.min() > -1e-6 * total[0]


def test_second_order_in_the_step(tmp_path):
    # a plate bobs on the ground: a damped oscillator with k A and c A
    area, mass = 0.04, 10.0
    k, c = 1e6 * area, 2e3 * area
    start = 0.2 * mass * G / k
    omega, decay = math.sqrt(k / mass - (c / mass / 2) ** 2), c / mass / 2
    t = 0.3
    exact = start * math.exp(-decay * t) * (
        math.cos(omega * t) + decay / omega * math.sin(omega * t)
    )  # fmt: skip
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        sim = simulation(
            tmp_path, mjcf(SLEDGE), robot={"joints": {"press": start - mass * G / k}},
            interaction=law(stiffness=1e6, damping=2e3, element_size=0.05),
            run={"duration": t, "step": h},
        ).run()  # fmt: skip
        errors.append(abs(sim.qpos[1] + mass * G / k - exact))
    assert 1.7 < order(errors) < 2.3
    assert errors[-1] < 0.01 * start


def test_state_is_saved_and_restored_bit_for_bit(tmp_path):
    sim = thrown(tmp_path)
    while sim.laws[0].arrays.counts[0] == 0:
        sim.step(1)
    sim.step(3)
    kept = sim.state()
    assert np.abs(kept.arrays["compliant_state"]).max() > 0
    sim.step(400)
    first = digest(sim)
    sim.restore(kept)
    sim.step(400)
    assert digest(sim) == first


def test_displacement_is_forgotten_in_the_air(tmp_path):
    sim = block(tmp_path, 20, 0.7, 1.0)
    sim.step(300)
    assert np.abs(sim.laws[0].arrays.state).max() > 0
    sim.qpos[2] += 0.5
    sim.step(2)
    assert np.abs(sim.laws[0].arrays.state).max() == 0
    assert law_gap(sim)[0] == pytest.approx(0.5 * math.cos(math.radians(20)), abs=1e-3)


FOUR_BAR = (
    '<body name="a" pos="0 0 0.5"><freejoint name="f"/>'
    '<geom type="box" size=".3 .1 .02" mass="5" contype="0" conaffinity="0"/>'
    '<body name="l" pos="-.2 0 -.1"><joint name="jl" axis="0 1 0"/>'
    '<geom name="left" type="sphere" size=".05" mass="1" pos="0 0 -.2"/></body>'
    '<body name="r" pos=".2 0 -.1"><joint name="jr" axis="0 1 0" range="-.3 .3" limited="true"/>'
    '<geom name="right" type="sphere" size=".05" mass="1" pos="0 0 -.2"/>'
    '<geom type="box" size=".05 .3 .02" mass="1" pos="0 0 -.23"/></body></body>'
)


def test_loops_and_limits_are_exact_beside_it(tmp_path):
    # two legs tied by a gear, one with a stop: the tie holds and the stop is not passed
    (tmp_path / "model.xml").write_text(mjcf(FOUR_BAR))
    (tmp_path / "robot.yaml").write_text(
        "model: model.xml\nbase: a\nloops:\n  tie: {kind: gear, joint: jl, other: jr, ratio: 1}\n"
    )
    sim = Simulation(
        validate(
            {
                "robot": {"name": str(tmp_path / "robot.yaml"), "position": [0, 0, 0.4],
                          "velocity": [0.5, 0, 0]},
                "gravity": G, "interaction": law(), "run": {"duration": 1.0},
            }
        )
    ).run()  # fmt: skip
    left, right = (sim.records.coordinates[:, 7 + k] for k in (0, 1))
    assert np.abs(left - right).max() < 1e-8
    assert np.abs(right).max() < 0.3 + 1e-6
    assert np.abs(right).max() > 0.29
    assert sim.records.other[:, 2].sum() > 0


# --- input


@pytest.mark.parametrize(
    ("compliant", "message"),
    [
        ({"stiffness": -1}, "stiffness"),
        ({"damping": -1}, "damping"),
        ({"element_size": 0}, "element_size"),
        ({"curve": {"kind": "dense", "peak": 0.9}}, "peak"),
        ({"curve": {"kind": "table", "points": [[0.002, 1], [0.001, 1]]}}, "increase"),
        ({"curve": {"kind": "table", "points": [[0.0, 0.5], [0.001, 1]]}}, "0 at displacement 0"),
        ({"curve": {"kind": "loose", "soil": "x", "displacement": 1}}, "not both"),
    ],
)
def test_bad_input_is_refused(compliant, message):
    with pytest.raises(InputError, match=message) as caught:
        validate({"robot": {"name": "sojourner"}, "interaction": law(**compliant),
                  "run": {"duration": 1}})  # fmt: skip
    assert "\n" not in str(caught.value).strip() or len(str(caught.value).splitlines()) <= 2


def test_compliant_needs_our_own_integrator():
    with pytest.raises(InputError, match="does not support the compliant law"):
        validate({"robot": {"name": "sojourner"}, "interaction": law(),
                  "run": {"duration": 1, "integrator": "semi_implicit"}})  # fmt: skip


def test_displacement_from_a_soil():
    from marsyard.ground.soil import load_soil
    from marsyard.interaction.compliant.world import curve_of

    scenario = validate(
        {
            "robot": {"name": "sojourner"}, "run": {"duration": 1},
            "interaction": law(curve={"kind": "loose", "soil": "dry_sand"}),
        }
    )  # fmt: skip
    assert curve_of(scenario).numbers[3] == load_soil("dry_sand").shear_modulus


def test_comparison_of_laws_knows_it():
    data = {"robot": {"name": "sojourner"}, "run": {"duration": 1, "integrator": "semi_implicit"},
            "interaction": {"law": "mujoco"}}  # fmt: skip
    scenario, changes = scenario_under(data, Variant("compliant", "compliant"), "x")
    assert scenario.interaction.law == "compliant"
    assert changes["run.integrator"] == "moreau_jean"


def test_an_unknown_soil_of_a_curve_is_named_with_its_field():
    law = {"law": "compliant", "compliant": {"curve": {"kind": "loose", "soil": "dry_sant"}}}
    scenario = validate(
        {
            "robot": {"name": "hexapod"},
            "ground": [{"kind": "plane"}],
            "interaction": law,
            "run": {"duration": 1.0},
        }
    )
    with pytest.raises(InputError, match=r"^interaction.compliant.curve.soil: .*dry_sand"):
        curve_of(scenario)


def test_lists_of_near_elements_leave_out_nothing():
    """The same bits whether the lists are used for many steps or made anew in each."""
    rates = {"travel": 0.25, "wheel_y": 2}
    known, fresh = (
        rig(
            gravity=G, robot={"joints": {"lift": -DEPTH}, "joint_rates": rates},
            interaction=law(damping=C, element_size=0.01), run={"duration": 1.0},
        )
        for _ in range(2)
    )  # fmt: skip
    known.step(400)
    (contact,) = fresh.world.laws
    for _ in range(400):
        contact.arrays.listed_count[:] = -1
        fresh.step()
    assert np.array_equal(known.qpos, fresh.qpos)
    assert np.array_equal(known.qvel, fresh.qvel)
