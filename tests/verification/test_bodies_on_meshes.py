"""Bodies other than wheels on a mesh of triangles: they come to rest where geometry says."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation

# shape, height of its centre when it lies on a plane [m]
SHAPES = {
    "box": ("type='box' size='.1 .15 .05'", 0.05),
    "ball": ("type='sphere' size='.1'", 0.1),
    "capsule": ("type='capsule' size='.05 .2' euler='0 90 0'", 0.05),
    "cylinder": ("type='cylinder' size='.1 .05' euler='90 0 0'", 0.1),
}


def flat_mesh(n: int = 9, half: float = 3.0) -> list:
    """Triangles of the square |x|, |y| ≤ half at z = 0."""
    x = np.linspace(-half, half, n)
    p = np.array([[a, b, 0.0] for a in x for b in x]).reshape(n, n, 3)
    triangles = []
    for i in range(n - 1):
        for j in range(n - 1):
            triangles.append([p[i, j], p[i + 1, j], p[i, j + 1]])
            triangles.append([p[i, j + 1], p[i + 1, j], p[i + 1, j + 1]])
    return np.array(triangles).tolist()


def world(tmp_path, bodies: str) -> Simulation:
    path = tmp_path / "bodies.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    return Simulation(
        validate(
            {
                "robot": {"name": str(path)},
                "ground": [{"kind": "mesh", "triangles": flat_mesh()}],
                "interaction": {"friction": 0.5},
                "run": {"duration": 0.8, "step": 0.001},
            }
        )
    )


def test_rest_on_a_flat_mesh(tmp_path):
    bodies = "".join(
        f"<body name='{name}' pos='{k} 0.1 .3'><freejoint/><geom mass='1' {shape}/></body>"
        for k, (name, (shape, _)) in enumerate(SHAPES.items())
    )
    simulation = world(tmp_path, bodies).run()
    heights = simulation.qpos.reshape(-1, 7)[:, 2]
    np.testing.assert_allclose(heights, [h for _, h in SHAPES.values()], atol=1e-9)
    assert np.abs(simulation.qvel).max() < 1e-9
    assert simulation.dataset().penetration.max() < 1e-9


def test_a_mesh_rests_on_the_corners_of_its_hull(tmp_path):
    # a wedge: an upright triangle 0.2 m high, 0.3 m long and 0.2 m wide, on its side of 0.3 m
    corners = [(x, y, z) for y in (-0.1, 0.1) for x, z in ((0, 0), (0.3, 0), (0, 0.2))]
    wedge = " ".join(f"{v}" for corner in corners for v in corner)
    path = tmp_path / "wedge.xml"
    path.write_text(
        f"<mujoco><asset><mesh name='wedge' vertex='{wedge}'/></asset><worldbody>"
        "<body pos='0 0 .1'><freejoint/><geom type='mesh' mesh='wedge' mass='1'/></body>"
        "</worldbody></mujoco>"
    )
    ground = [{"kind": "mesh", "triangles": flat_mesh()}]
    run = {"duration": 0.6, "step": 0.001}
    simulation = Simulation(
        validate({"robot": {"name": str(path)}, "ground": ground, "run": run})
    ).run()
    assert simulation.qpos[2] == pytest.approx(0, abs=1e-6)
    assert simulation.qpos[3:] == pytest.approx([1, 0, 0, 0], abs=1e-6)


def test_a_shape_that_cannot_meet_a_mesh_is_named(tmp_path):
    egg = "<geom name='egg' type='ellipsoid' size='.1 .2 .3'/>"
    body = f"<body pos='0 0 1'><freejoint/>{egg}</body>"
    with pytest.raises(InputError, match="'egg' cannot collide with a mesh"):
        world(tmp_path, body)


@pytest.mark.parametrize("height", [0.0, 0.5])
def test_contacts_are_looked_for_as_far_as_they_can_come_in_a_step(height):
    """A rover that drives over rough ground, or falls onto it at 3 m/s: the same motion, whether
    contacts are looked for by its speed or in all of 3 cm. (Their order may differ, and so the last
    digits.)"""
    ground = np.array(flat_mesh(61, 1.5))
    ground[..., 2] = 0.02 * np.sin(17 * ground[..., 0]) * np.cos(13 * ground[..., 1])
    ends = []
    for near in (1e-3, 0.03):
        sim = Simulation(
            validate(
                {
                    "robot": {"name": "eldorado2_like", "position": [0, 0, 0.5], "settle": True},
                    "ground": [{"kind": "mesh", "triangles": ground.tolist()}],
                    "control": [{"joints": "drives", "speed": 5.0}],
                    "run": {"duration": 0.4, "step": 0.001},
                }
            )
        )
        sim.data.qpos[2] += height
        sim.data.qvel[2] = -6.0 * height
        sim._scheme = sim._scheme._replace(near=near)
        touched = 0.0
        while not sim.done:
            sim.step(20)
            touched = max(touched, sim.records.stats[-1, 0])
        ends.append(np.concatenate([sim.qpos, sim.data.qvel]))
        assert touched >= 4
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)
