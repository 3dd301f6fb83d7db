"""Rows: what the engine makes of the contacts that laws add, whatever the law."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from worlds import G, ball, digest, mjcf

from marsyard.interaction.attachments import Attachments
from marsyard.interaction.law import Kernels, Law
from marsyard.interaction.rows import (
    Bodies,
    Rows,
    add_row,
    frame_from_normal,
    no_bodies,
    no_rows,
)
from marsyard.jit import F1, I1, by_reference, law_callback
from marsyard.scenario import validate
from marsyard.simulation import Simulation

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "plugin" / "src"))
from marsyard_dunes.cable import Cable


def world(folder, bodies, law, ground=(), gravity=G, **parts):
    """Bodies under a law of one's own."""
    (folder / "model.xml").write_text(mjcf(bodies))
    (folder / "robot.yaml").write_text(yaml.safe_dump({"model": "model.xml"}))
    run = {"duration": 1.0, "step": 1e-3, "record_period": 1e-3, **parts.pop("run", {})}
    data = {"robot": {"name": str(folder)}, "gravity": gravity, "ground": list(ground), "run": run,
            **parts}  # fmt: skip
    return Simulation(validate(data), interaction=law)


def cable(**options):
    """The law name in the plug-in with these options."""
    given = dict(options)

    class Own(Cable):
        @classmethod
        def build(cls, place):
            return super().build(place, **given)

    return Own


# --- the cable: one row, found anew in every step


def test_a_taut_cable_makes_a_pendulum(tmp_path):
    """Period 4 √(L/g) K(sin θ₀/2) of a mass on a cable let go at 60°, which it reaches again with
    the scheme's first order; the largest tension is m g (3 − 2 cos θ₀)."""
    length, angle = 0.8, math.radians(60.0)
    # the arithmetic-geometric mean gives K
    a, b = 1.0, math.cos(angle / 2)
    while a - b > 1e-15:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    period = 2 * math.pi * math.sqrt(length / G) / a
    start = length * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        run = {"step": h, "record_period": h, "duration": round(period, 3)}
        sim = world(tmp_path, ball(radius=0.01), cable(length=length), run=run)
        sim.qpos[:3] = start
        sim.run()
        place = sim.records.base_position[1:]
        assert np.linalg.norm(place, axis=1) == pytest.approx(length, abs=1e-9)
        errors.append(np.linalg.norm(sim.qpos[:3] - start))
    ratio = np.array(errors[:-1]) / errors[1:]
    assert ratio == pytest.approx([2.0, 2.0], abs=0.2)
    assert errors[-1] < 2e-3
    tension = sim.dataset().cable_tension
    assert tension.attrs["units"] == "N" and tension.dims == ("time",)
    assert float(tension.max()) == pytest.approx(G * (3 - 2 * math.cos(angle)), rel=3e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_jerked_cable(tmp_path, restitution):
    """A mass falls from the anchor on a slack cable and is stopped, or thrown back, when it is
    taut: v⁺ = −e √(2 g L) along the cable, and what moved across it goes on."""
    length, across = 0.5, 0.4
    sim = world(
        tmp_path, ball(radius=0.01), cable(length=length, restitution=restitution),
        run={"step": 1e-4, "record_period": 1e-4, "duration": 0.4},
    )  # fmt: skip
    sim.qvel[0] = across
    while float(sim.dataset().cable_tension[-1]) == 0.0:
        before = sim.qvel[:3].copy()
        sim.step()
    along = sim.qpos[:3] / np.linalg.norm(sim.qpos[:3])
    fall = before @ along
    assert fall > 2.0
    assert sim.qvel[:3] @ along == pytest.approx(-restitution * fall, abs=2e-3)
    left = before - fall * along
    assert sim.qvel[:3] - (sim.qvel[:3] @ along) * along == pytest.approx(left, abs=2e-3)


def test_a_slack_cable_does_nothing(tmp_path):
    sim = world(tmp_path, ball(), cable(length=50.0))
    sim.run()
    assert sim.qpos[2] == pytest.approx(-0.5 * G * sim.time**2, abs=6e-3)
    assert not sim.dataset().cable_tension.values.any()


def test_momentum_is_kept_only_where_no_cable_holds(tmp_path):
    """Without gravity and ground a body floats; on a cable it goes round the anchor. The end
    velocity of a step is tangential at its middle: that costs 1 − cos ωh of the speed a step."""
    sim = world(tmp_path, ball(), cable(length=1.0), gravity=0.0, run={"duration": 3.0})
    sim.qpos[:3], sim.qvel[:3] = (1.0, 0.0, 0.0), (0.0, 0.5, 0.0)
    sim.run()
    speed = 0.5 * math.cos(0.5 * 1e-3) ** sim.steps
    assert np.linalg.norm(sim.qvel[:3]) == pytest.approx(speed, rel=1e-6)
    x, y = math.cos(0.5 * sim.time), math.sin(0.5 * sim.time)
    assert sim.qpos[:3] == pytest.approx([x, y, 0.0], abs=2e-3)


def on_slope(folder, law=None):
    data = {
        "robot": {"name": "vehicle_2001", "settle": True}, "gravity": 3.69,
        "ground": [{"kind": "plane", "slope": "10 deg"}],
        "control": [{"joints": "drives", "speed": -1.0}],
        "run": {"duration": 1.5, "record_period": 0.01},
    }  # fmt: skip
    return Simulation(validate(data), interaction=law)


def test_a_cable_beside_hard_contact(tmp_path):
    """A rover backs down a slope until its cable holds it; wheels stand as without it. The same
    again from a saved state, bit for bit."""
    free = on_slope(tmp_path)
    free.run()
    start = free.dataset().position_base.values[0]
    law = cable(length=0.08, x=start[0], y=start[1], z=start[2])
    sim = on_slope(tmp_path, law)
    assert [each.name for each in sim.laws] == ["cable", "nonsmooth"]
    sim.step(700)
    kept = sim.state()
    sim.step(800)
    data = sim.dataset()
    away = np.linalg.norm(data.position_base.values - start, axis=1)
    assert np.linalg.norm(free.dataset().position_base.values[-1] - start) > 0.14
    assert away.max() < 0.08 + 1e-6 and away[-1] == pytest.approx(0.08, abs=1e-6)
    assert float(data.cable_tension[-1]) > 0.1
    # impulses of the wheels carry what the cable does not
    load = data.contact_impulse_world.sel(axis="z").sum("wheel").values[2:] / 0.01
    assert load[:20].mean() == pytest.approx(data.attrs["weight"], rel=0.05)
    last = digest(sim)
    sim.restore(kept)
    sim.step(800)
    assert digest(sim) == last


# --- hard ground of one's own: the same as the engine's


@by_reference
class Floor(NamedTuple):
    rows: Rows
    bodies: Bodies
    numbers: F1  # radius, normal (3)
    ball: I1


@law_callback(Attachments, Floor)
def floor_rows(A, S, time, h, theta, flag):
    """A ball on a plane through the origin, with friction 0.4 and restitution 0.3."""
    R, b = S.rows, S.ball[0]
    p = S.bodies.position[b]
    nx, ny, nz = S.numbers[1], S.numbers[2], S.numbers[3]
    gap = p[0] * nx + p[1] * ny + p[2] * nz - S.numbers[0]
    if gap > R.margin[0]:
        return 0
    i = add_row(R, 7, 0, b, gap)
    if i < 0:
        return 1
    frame_from_normal(nx, ny, nz, R.frame[i])
    for k in range(3):
        R.point[i, k] = p[k] - S.numbers[0] * R.frame[i, 0, k]
    R.friction[i] = 0.4
    R.restitution[i] = 0.3
    return 0


class OwnFloor(Law):
    name = "floor"
    kernels = Kernels(rows=floor_rows)
    slope = math.radians(20.0)
    most_rows = 1
    shown = False

    @classmethod
    def build(cls, place):
        law = cls()
        law.attachments = []
        normal = (0.1, -math.sin(cls.slope), 0.0, math.cos(cls.slope))
        law.arrays = Floor(no_rows(), no_bodies(), np.array(normal), np.array([1]))
        return law


def test_a_floor_from_outside_is_the_floor_inside(tmp_path):
    """A ball that falls on a slope, bounces and rolls down it: the same path on a plane of the
    engine and on one that a law of one's own finds."""
    place = {"position": [0.0, 0.0, 0.4], "velocity": [0.0, 0.3, 0.0]}
    inside = {"friction": 0.4, "restitution": 0.3}
    plane = {"kind": "plane", "slope": "20 deg"}
    paths = []
    for law, ground in ((OwnFloor, []), (None, [plane])):
        (tmp_path / "model.xml").write_text(mjcf(ball()))
        data = {"robot": {"name": str(tmp_path / "model.xml"), **place}, "gravity": G,
                "interaction": inside, "ground": ground,
                "run": {"duration": 1.5, "step": 1e-3, "record_period": 1e-2}}  # fmt: skip
        sim = Simulation(validate(data), interaction=law)
        sim.run()
        paths.append((sim.records.coordinates, sim.records.velocities))
    assert paths[0][0] == pytest.approx(paths[1][0], abs=1e-9)
    assert paths[0][1] == pytest.approx(paths[1][1], abs=1e-8)
    # it rolls in the end, and did bounce
    vx, spin = paths[0][1][-1, 0], paths[0][1][-1, 3:6]
    assert abs(vx / math.cos(OwnFloor.slope)) > 1.0
    assert np.linalg.norm(paths[0][1][-1, :3]) == pytest.approx(
        0.1 * np.linalg.norm(spin), rel=1e-3
    )


@law_callback(Attachments, Floor)
def too_many_rows(A, S, time, h, theta, flag):
    """More than there is room for."""
    while add_row(S.rows, S.rows.used[0], 0, 1, 0.0) >= 0:
        pass
    return 1


def test_rows_that_do_not_fit_end_the_run(tmp_path):
    flood = type("Flood", (OwnFloor,), {"kernels": Kernels(rows=too_many_rows)})
    sim = world(tmp_path, ball(pos="0 0 1"), flood)
    with pytest.raises(RuntimeError, match="contacts at once; is a body deep inside the ground"):
        sim.run()


def test_frames_are_right_handed():
    rng = np.random.default_rng(0)
    normals = [*rng.normal(size=(50, 3)), *np.eye(3), *-np.eye(3)]
    for n in normals:
        frame = np.full((3, 3), np.nan)
        frame_of(n, frame)
        assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-14)
        assert np.linalg.det(frame) == pytest.approx(1.0, abs=1e-14)
        assert frame[0] == pytest.approx(n / np.linalg.norm(n), abs=1e-15)


def frame_of(n, frame):
    frame_from_normal.py_func(*n, frame)


def test_hard_ground_says_what_acts(tmp_path):
    """Friction and restitution by surface, and between bodies that may meet; nothing where no
    ground is hard."""
    grounds = [{"kind": "plane"}, {"kind": "sphere", "centre": [3, 0, 0], "radius": 0.5}]
    numbers = {"friction": 0.7, "surfaces": {"sphere": {"friction": 0.3, "restitution": 0.2}}}
    two = ball(pos="0 0 1") + ball(name="other", pos="0 0 2")
    for bodies, told in ((ball(pos="0 0 1"), False), (two, True)):
        sim = world(tmp_path, bodies, None, grounds, interaction=numbers)
        said = {name: value for name, value, _ in sim.world.rigid.acted()}
        assert said["friction μ on plane"] == 0.7 and said["friction μ on sphere"] == 0.3
        assert said["restitution on sphere"] == 0.2
        assert ("friction μ between bodies" in said) is told
        assert sim.world.rigid in sim.laws
    sim = world(tmp_path, ball(), None, gravity=0.0)
    assert sim.laws == () and sim.world.rigid.acted() == []
