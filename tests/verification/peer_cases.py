"""Analytic cases that other simulators test themselves by, computed here.

Each case gives rows of a quantity with its closed form and what marsyard computes. Set-ups are
those of the peer's test where it gives numbers; only facts are taken. `docs/make_peer_cases.py`
writes the table of docs/validation.md from them, `test_peer_cases.py` holds them to their
tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from test_closed_loops import robot, wrapped
from worlds import ball, box, energy, impacting_stick, mjcf, simulation


class Row(NamedTuple):
    """A quantity: its name and unit, the closed form, what was computed, and the greatest
    difference that the step allows."""

    quantity: str
    unit: str
    exact: float
    computed: float
    tolerance: float


class Case(NamedTuple):
    """A case: whose test it is, where that stands, what happens, and how it is computed."""

    peer: str
    source: str
    title: str
    compute: Callable[[Path], list[Row]]


def _run(folder, model, duration, step=1e-3, gravity=9.81, **parts):
    interaction = {"friction": 0, "restitution": 0, **parts.pop("interaction", {})}
    run = {"duration": duration, "step": step, "record_period": step}
    return simulation(folder, model, gravity=gravity, interaction=interaction, run=run, **parts)


# --- flight and impact


def bouncing_ball(folder: Path) -> list[Row]:
    """Falls 1 m, e = 0.9, g = 9.81 m/s²: t₁ = √(2h/g), apexes e²h, e⁴h."""
    e, g, step = 0.9, 9.81, 1e-3
    sim = _run(folder, mjcf(ball(0.1)), 2.6, step, g, robot={"position": [0, 0, 1.1]},
               interaction={"restitution": e}).run()  # fmt: skip
    t, z, v = sim.records.time, sim.records.coordinates[:, 2] - 0.1, sim.records.velocities[:, 2]
    hits = np.flatnonzero(np.diff(v) > 0.2)
    first, second, third = hits[:3]
    # their own step, θ = 1/2: numbers of BouncingBallTS-MoreauJeanGOSI.ref
    theirs = simulation(
        folder, mjcf(ball(0.1)), robot={"position": [0, 0, 1.1]}, gravity=g,
        interaction={"friction": 0.6, "restitution": e},
        run={"duration": 1.2, "step": 5e-3, "record_period": 5e-3, "theta": 0.5},
    ).run()  # fmt: skip
    after = float(theirs.records.velocities[91, 2])
    apex = float(theirs.records.coordinates[91:, 2].max()) - 0.1
    return [
        Row("velocity after the impact, step 5 ms, their .ref", "m/s", 3.97305, after, 1e-6),
        Row("apex, step 5 ms, their .ref", "m", 0.8101765, apex, 1e-6),
        Row("first impact", "s", math.sqrt(2 / g), float(t[first + 1]), 2 * step),
        Row("apex after it", "m", e**2, float(z[first:second].max()), 0.01),
        Row("apex after the second", "m", e**4, float(z[second:third].max()), 0.015),
    ]


def free_fall(folder: Path) -> list[Row]:
    """From 5 m at g = 10 m/s² for 0.5 s: h₀ − g t²/2."""
    sim = _run(folder, mjcf(ball(0.1)), 0.5, gravity=10.0, robot={"position": [0, 0, 5]},
               ground=[]).run()  # fmt: skip
    return [
        Row("height", "m", 5 - 10 * 0.5**2 / 2, float(sim.qpos[2]), 1e-9),
        Row("velocity", "m/s", -5.0, float(sim.qvel[2]), 1e-9),
    ]


def restitution(folder: Path) -> list[Row]:
    """Dropped from 1 m at g = 10 m/s²: rebounds to e² of the height."""
    rows = []
    for e in (0.5, 0.8):
        sim = _run(folder, mjcf(ball(0.05)), 1.2, 5e-4, 10.0, robot={"position": [0, 0, 1.05]},
                   interaction={"restitution": e}).run()  # fmt: skip
        z, v = sim.records.coordinates[:, 2] - 0.05, sim.records.velocities[:, 2]
        hit = int(np.flatnonzero(np.diff(v) > 0.2)[0])
        rows.append(Row(f"rebound, e = {e}", "m", e**2, float(z[hit:].max()), 0.01 * e**2))
    return rows


def stick(folder: Path) -> list[Row]:
    """One end of a stick hits the ground, e = 1, μ = 0.01, and slides back: Newton's law with
    friction would add energy. The end leaves as fast as it came, and no energy is gained."""
    sim, before, after, at_first = impacting_stick(folder)
    return [
        Row("rebound of the end over its approach", "1", 1.0, float(after[2] / -before[2]), 1e-3),
        Row("energy after over before", "1", 1.0, float(energy(sim)[-1] / at_first), 1e-3),
    ]


# --- sliding and rolling


def bowling_ball(folder: Path) -> list[Row]:
    """8 m/s with 4 turns a second about the way: slides in a curve, then rolls straight.

    With L₀ = I ω₀ + m r n × v₀ kept about the contact, v = r/(I + m r²) L₀ × n when it rolls, from
    t = (v₀ − v)·u/(μ g) on, u the direction of sliding.
    """
    r, m, inertia, g, mu = 0.10795, 6.35, 0.0296, 9.8, 0.12
    v0, w0, n = np.array([8.0, 0, 0]), np.array([-8 * math.pi, 0, 0]), np.array([0, 0, 1.0])
    momentum = inertia * w0 + m * r * np.cross(n, v0)
    rolling = r / (inertia + m * r**2) * np.cross(momentum, n)
    slip = v0 + np.cross(w0, -r * n)
    begin = float((v0 - rolling) @ slip / np.linalg.norm(slip)) / (mu * g)
    body = (
        f'<body name="ball"><freejoint/><geom type="sphere" size="{r}"/><inertial pos="0 0 0" '
        f'mass="{m}" diaginertia="{inertia} {inertia} {inertia}"/></body>'
    )
    sim = _run(folder, mjcf(body), 3.0, 1e-3, g, ground=[{"kind": "plane"}],
               interaction={"friction": mu}, robot={"position": [0, 0, r],
               "velocity": v0.tolist(), "angular_velocity": w0.tolist()}).run()  # fmt: skip
    v = sim.records.velocities[:, :3]
    steady = np.linalg.norm(v - v[-1], axis=1) < 1e-3
    started = float(sim.records.time[np.argmax(steady)])
    return [
        Row("rolls from", "s", begin, started, 3e-3),
        Row("speed ahead", "m/s", float(rolling[0]), float(v[-1, 0]), 1e-3),
        Row("speed aside", "m/s", float(rolling[1]), float(v[-1, 1]), 1e-3),
    ]


def sphere_on_incline(folder: Path) -> list[Row]:
    """A solid ball on 15°, μ = 0.3: v = 5/7 g sin θ t."""
    slope, g = math.radians(15), 9.81
    place = [-0.1 * math.sin(slope), 0, 0.1 * math.cos(slope)]
    sim = _run(folder, mjcf(ball(0.1)), 1.0, ground=[{"kind": "plane", "slope": slope}],
               interaction={"friction": 0.3}, robot={"position": place}).run()  # fmt: skip
    speed = float(np.linalg.norm(sim.qvel[:3]))
    return [Row("speed after 1 s", "m/s", 5 / 7 * g * math.sin(slope), speed, 1e-6)]


def block_on_incline(folder: Path) -> list[Row]:
    """On 15°: μ = 0.1 slides with g (sin θ − μ cos θ), μ = 0.3 > tan θ sticks."""
    slope, g, rows = math.radians(15), 9.81, []
    place = [-0.1 * math.sin(slope), 0, 0.1 * math.cos(slope)]
    for mu in (0.1, 0.3):
        sim = _run(folder, mjcf(box("0.2 0.2 0.1")), 1.0,
                   ground=[{"kind": "plane", "slope": slope}], interaction={"friction": mu},
                   robot={"position": place, "attitude": [0, -slope, 0]}).run()  # fmt: skip
        exact = max(0.0, g * (math.sin(slope) - mu * math.cos(slope)))
        speed = float(np.linalg.norm(sim.qvel[:3]))
        rows.append(Row(f"speed after 1 s, μ = {mu}", "m/s", exact, speed, 1e-6))
    return rows


def sliding_to_rolling(folder: Path) -> list[Row]:
    """1 m/s without spin, μ = 0.1: rolls with 5/7 of it after 2 v/(7 μ g)."""
    mu, g = 0.1, 9.81
    sim = _run(folder, mjcf(ball(0.1)), 0.6, ground=[{"kind": "plane"}],
               interaction={"friction": mu},
               robot={"position": [0, 0, 0.1], "velocity": [1, 0, 0]}).run()  # fmt: skip
    v = sim.records.velocities[:, 0]
    started = float(sim.records.time[np.argmax(np.abs(v - v[-1]) < 1e-6)])
    return [
        Row("rolls from", "s", 2 / (7 * mu * g), started, 2e-3),
        Row("speed", "m/s", 5 / 7, float(v[-1]), 1e-6),
    ]


def weight_of_bodies_at_rest(folder: Path) -> list[Row]:
    """Five balls on a plane: the contact forces carry their weight."""
    bodies = "".join(ball(0.1, 1.0 + k, f"b{k}", f"{0.5 * k} 0 0.1") for k in range(5))
    sim = _run(folder, mjcf(bodies), 0.2, ground=[{"kind": "plane"}],
               interaction={"friction": 0.4}).run()  # fmt: skip
    # impulses of a step of 1 ms
    up = sim.dataset().reaction.values[-1].reshape(-1, 6)[:, 2] / 1e-3
    return [
        Row("all contact forces", "N", 15 * 9.81, float(up.sum()), 1e-6),
        Row("that of the heaviest", "N", 5 * 9.81, float(up.max()), 1e-6),
    ]


# --- turning


def free_cylinder(folder: Path) -> list[Row]:
    """Torque-free, I = 0.04, J = 0.02 kg·m² about its axis, ω = (2, 4, 6) rad/s: in the body's
    frame ω turns about the axis with (I − J)/I ω₃ = 3 rad/s."""
    cylinder = (
        '<body name="c"><freejoint/><geom size="0.1" contype="0" conaffinity="0"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.04 0.04 0.02"/></body>'
    )
    sim = _run(folder, mjcf(cylinder), 2.0, 5e-4, ground=[],
               robot={"angular_velocity": [2, 4, 6]}).run()  # fmt: skip
    c, s = math.cos(3 * 2.0), math.sin(3 * 2.0)
    return [
        Row("ω₁ after 2 s", "rad/s", 2 * c + 4 * s, float(sim.qvel[3]), 2e-4),
        Row("ω₂ after 2 s", "rad/s", -2 * s + 4 * c, float(sim.qvel[4]), 2e-4),
        Row("ω₃", "rad/s", 6.0, float(sim.qvel[5]), 1e-9),
    ]


def heavy_top(folder: Path) -> list[Row]:
    """A top at 30°, ω₃ = 200 rad/s about its axis: I₃ ω₃ Ω − I₁ cos θ Ω² = m g l for the steady
    precession Ω, I₁ about the pivot."""
    mass, length, i1, i3, spin, tilt, g = 1.0, 0.1, 0.012, 0.002, 200.0, math.radians(30), 9.81
    a, b, c = i1 * math.cos(tilt), -i3 * spin, mass * g * length
    slow = 2 * c / (-b + math.sqrt(b * b - 4 * a * c))
    body = (
        f'<body name="top" euler="0 {tilt} 0"><joint name="j" type="ball"/>'
        f'<geom size="0.01" contype="0" conaffinity="0"/><inertial pos="0 0 {length}" '
        f'mass="{mass}" diaginertia="{i1 - mass * length**2} {i1 - mass * length**2} {i3}"/></body>'
    )
    sim = _run(folder, mjcf(body), 1.0, 1e-4, g, ground=[])
    # ω of the steady motion in the body's frame: Ω about the vertical, and the spin about its axis
    sim.qvel[:] = -slow * math.sin(tilt), 0.0, spin
    sim.run()
    w, x, y, z = sim.records.coordinates[:, :4].T
    # where the axis points, from its start: the body's z after the joint's turn
    axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    turn = np.array([[math.cos(tilt), 0, math.sin(tilt)], [0, 1, 0],
                     [-math.sin(tilt), 0, math.cos(tilt)]])  # fmt: skip
    axis = axis @ turn.T
    course = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    nods = np.degrees(np.arccos(axis[:, 2]))
    return [
        Row("precession", "rad/s", slow, float(course[-1] - course[0]), 2e-3),
        Row("tilt after 1 s", "deg", 30.0, float(nods[-1]), 0.01),
    ]


def pendulum(folder: Path) -> list[Row]:
    """A ball of 1 cm at 1 m, 0.05 rad, g = 10 m/s²: T = 2π √(I/m g L) (1 + θ²/16)."""
    inertia = 0.4 * 0.01**2 + 1.0
    exact = 2 * math.pi * math.sqrt(inertia / 10) * (1 + 0.05**2 / 16)
    body = (
        '<body name="p"><joint name="a" axis="0 1 0"/><geom type="sphere" size="0.01" '
        'pos="0 0 -1" mass="1" contype="0" conaffinity="0"/></body>'
    )
    sim = _run(folder, mjcf(body), 7.0, 1e-3, 10.0, ground=[], robot={"joints": {"a": 0.05}}).run()
    rate, t = sim.records.velocities[:, 0], sim.records.time
    # times at which it turns: the rate changes its sign
    turns = np.flatnonzero(rate[1:-1] * rate[2:] < 0) + 1
    at = t[turns] - rate[turns] * (t[turns + 1] - t[turns]) / (rate[turns + 1] - rate[turns])
    return [Row("period", "s", exact, float(2 * np.mean(np.diff(at))), 1e-5)]


def conical_pendulum(folder: Path) -> list[Row]:
    """A point mass at 0.5 m, 30° from the vertical, on a circle: ω = √(g/(L cos θ))."""
    length, tilt, g = 0.5, math.radians(30), 9.81
    exact = math.sqrt(g / (length * math.cos(tilt)))
    body = (
        f'<body name="p" euler="0 {tilt} 0"><joint name="j" type="ball"/><inertial '
        f'pos="0 0 {-length}" mass="1" diaginertia="1e-7 1e-7 1e-7"/></body>'
    )
    sim = _run(folder, mjcf(body), 1.0, 2e-4, g, ground=[])
    # ω about the vertical without its part along the string, in the body's frame
    sim.qvel[:] = -exact * math.sin(tilt), 0.0, 0.0
    sim.run()
    places = sim.records.coordinates[:, :4]
    w, x, y, z = places.T
    down = -np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    turn = np.array([[math.cos(tilt), 0, math.sin(tilt)], [0, 1, 0],
                     [-math.sin(tilt), 0, math.cos(tilt)]])  # fmt: skip
    bob = length * down @ turn.T
    course = np.unwrap(np.arctan2(bob[:, 1], bob[:, 0]))
    return [
        Row("rate of the orbit", "rad/s", exact, float(course[-1] - course[0]), 2e-3),
        Row("height below the pivot", "m", length * math.cos(tilt), float(-bob[-1, 2]), 1e-4),
    ]


def spring(folder: Path) -> list[Row]:
    """Mass, damper and spring, underdamped: x = e^{−ζω t}(x₀ cos ω_d t + …)."""
    m, b, k, x0, t = 2.0, 1.5, 50.0, 0.1, 1.0
    natural, decay = math.sqrt(k / m), b / (2 * m)
    damped = math.sqrt(natural**2 - decay**2)
    exact = x0 * math.exp(-decay * t) * (
        math.cos(damped * t) + decay / damped * math.sin(damped * t)
    )  # fmt: skip
    body = (
        f'<body name="m"><joint name="x" type="slide" axis="1 0 0" stiffness="{k}" '
        f'damping="{b}"/><geom size="0.1" mass="{m}" contype="0" conaffinity="0"/></body>'
    )
    sim = _run(folder, mjcf(body), t, 1e-3, 0.0, ground=[], robot={"joints": {"x": x0}}).run()
    return [Row("place after 1 s", "m", exact, float(sim.qpos[0]), 1e-6)]


# --- mechanisms


def four_bar(folder: Path) -> list[Row]:
    """Links 0.2, 0.5, 0.4 m on pivots 0.5 m apart, one turn a second: Freudenstein's equation."""
    a, b, c, d = 0.2, 0.5, 0.4, 0.5
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)

    def rocker(crank):
        x, y, z = k1 - np.cos(crank), -np.sin(crank), k2 * np.cos(crank) - k3
        return np.arctan2(y, x) + np.arccos(z / np.hypot(x, y))

    def coupler(crank):
        r = rocker(crank)
        return np.arctan2(c * np.sin(r) - a * np.sin(crank), d + c * np.cos(r) - a * np.cos(crank))

    model = mjcf(
        f"""<body name="crank"><joint name="a" axis="0 -1 0"/>
          <inertial pos="{a / 2} 0 0" mass="1" diaginertia="0.001 0.01 0.01"/>
          <body name="coupler" pos="{a} 0 0"><joint name="b" axis="0 -1 0"/>
            <inertial pos="{b / 2} 0 0" mass="1" diaginertia="0.001 0.02 0.02"/></body></body>
        <body name="rocker" pos="{d} 0 0"><joint name="c" axis="0 -1 0"/>
          <inertial pos="{c / 2} 0 0" mass="1" diaginertia="0.001 0.02 0.02"/></body>"""
    )
    loops = {"pin": {"kind": "ball", "body": "coupler", "other": "rocker", "point": [b, 0, 0],
                     "other_point": [c, 0, 0]}}  # fmt: skip
    start = {"a": 0.3, "b": float(coupler(0.3)) - 0.3, "c": float(rocker(0.3))}
    sim = robot(folder, model, loops, robot={"joints": start},
                control=[{"joints": "a", "speed": 2 * math.pi}],
                run={"duration": 2.0, "step": 1e-3, "record_period": 0.01}).run()  # fmt: skip
    q = sim.records.coordinates
    off = np.abs(wrapped(q[:, 2] - rocker(q[:, 0]))).max()
    return [
        Row("rocker less closed form, two turns", "rad", 0.0, float(off), 1e-8),
        Row("turns of the crank", "1", 2.0, float((q[-1, 0] - q[0, 0]) / (2 * math.pi)), 0.01),
    ]


def slider_crank(folder: Path) -> list[Row]:
    """Crank 0.153 m, rod 0.306 m, at 10 rad/s: x = r cos a + √(l² − r² sin² a)."""
    r, rod, rate = 0.153, 0.306, 10.0
    model = mjcf(
        f"""<body name="crank"><joint name="a" axis="0 -1 0"/>
          <inertial pos="{r / 2} 0 0" mass="0.038" diaginertia="1e-5 7.4e-5 7.4e-5"/>
          <body name="rod" pos="{r} 0 0"><joint name="b" axis="0 -1 0"/>
            <inertial pos="{rod / 2} 0 0" mass="0.038" diaginertia="1e-5 5.9e-4 5.9e-4"/></body>
          </body><body name="piston" pos="{r + rod} 0 0"><joint name="x" type="slide" axis="1 0 0"/>
          <inertial pos="0 0 0" mass="0.076" diaginertia="1e-5 1e-5 1e-5"/></body>"""
    )
    loops = {"pin": {"kind": "ball", "body": "rod", "other": "piston", "point": [rod, 0, 0],
                     "other_point": [0, 0, 0]}}  # fmt: skip
    sim = robot(folder, model, loops, control=[{"joints": "a", "speed": rate}],
                robot={"joint_rates": {"a": rate, "b": -rate * (1 + r / rod)}},
                run={"duration": 1.0, "step": 5e-4, "record_period": 0.005}).run()  # fmt: skip
    angle, _, x = sim.records.coordinates.T
    exact = r * np.cos(angle) + np.sqrt(rod**2 - (r * np.sin(angle)) ** 2) - r - rod
    return [Row("piston less closed form", "m", 0.0, float(np.abs(x - exact).max()), 1e-8)]


CASES = (
    Case("Siconos", "siconos-tutorials/examples/mechanics/BouncingBall", "bouncing ball",
         bouncing_ball),
    Case("Siconos", "siconos-tutorials/examples/mechanics/ImpactingStick", "impact of a stick",
         stick),
    Case("Siconos", "siconos-tutorials/examples/mechanics/SliderCrank", "slider crank without "
         "clearance", slider_crank),
    Case("Newton", "newton/tests/test_physics_verification.py", "free fall", free_fall),
    Case("Newton", "newton/tests/test_physics_verification.py", "pendulum", pendulum),
    Case("Newton", "newton/tests/test_physics_verification.py", "restitution", restitution),
    Case("Newton", "newton/tests/test_physics_verification.py", "conical pendulum",
         conical_pendulum),
    Case("Newton", "newton/tests/test_physics_verification.py", "four-bar linkage", four_bar),
    Case("Drake", "drake/multibody/benchmarks/bowling_ball", "bowling ball", bowling_ball),
    Case("Drake", "drake/multibody/benchmarks/inclined_plane", "ball on an incline",
         sphere_on_incline),
    Case("Drake", "drake/multibody/benchmarks/inclined_plane", "block on an incline",
         block_on_incline),
    Case("Drake", "drake/multibody/benchmarks/free_body", "free precession of a cylinder",
         free_cylinder),
    Case("Drake", "drake/multibody/benchmarks/mass_damper_spring", "mass, damper and spring",
         spring),
    Case("Chrono", "chrono/src/tests/unit_tests/dem/utest_DEM_frictionrolling.cpp",
         "sliding to rolling", sliding_to_rolling),
    Case("Chrono", "chrono/src/tests/unit_tests/physics/utest_CH_compute_contact.cpp",
         "bodies at rest", weight_of_bodies_at_rest),
    Case("textbooks", "H. Goldstein: Classical Mechanics, the heavy symmetrical top", "heavy top",
         heavy_top),
)  # fmt: skip
