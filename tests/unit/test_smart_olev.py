"""The docking model on paper: its locking kinematics, masses and frequencies, without a run."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import yaml

from marsyard import library
from marsyard.robot import load_robot

HOME = library.path_of("rovers", "smart_olev").parent
SHAPES = yaml.safe_load((HOME / "shapes.yaml").read_text())["shapes"]
THROAT = 0.0082
#: places of the tool's nose and of the throat along their bodies' axes [m]
NOSE = 0.25


@pytest.fixture(scope="module")
def model():
    return load_robot("smart_olev").spec().compile()


def profile(name):
    return np.array(SHAPES[name]["revolution"]["profile"])


def wall(s):
    """Radius of the nozzle at s from the throat, positive towards the exit."""
    z, r = profile("nozzle").T
    return np.interp(s, z, r)


def crown(q):
    """Curve of the crown drawn back by q, between those of the file."""
    given = SHAPES["crown"]["revolution"]["profiles"]
    at, curves = np.array(given["at"]), np.array(given["profile"])
    k = int(np.clip(np.searchsorted(at, q) - 1, 0, len(at) - 2))
    part = (q - at[k]) / (at[k + 1] - at[k])
    return (1 - part) * curves[k] + part * curves[k + 1]


def gap(q, nose):
    """Smallest radial gap between crown and nozzle with the end of the nose at s = nose."""
    fine = crown(q)
    z = np.linspace(fine[0, 0], fine[-1, 0], 2000)
    return np.min(wall(nose - (z - z[0])) - np.interp(z, *fine.T))


def tool_gap(nose):
    """Smallest radial gap between tool and nozzle."""
    u, r = profile("tool").T
    fine = np.linspace(u[0], u[-1], 4000)
    return np.min(wall(nose + NOSE - fine) - np.interp(fine, u, r))


def seat():
    """Place of the nose where the tool's shoulder touches the bell, by bisection."""
    low, high = -0.01, 0.01
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tool_gap(middle) < 0 else (low, middle)
    return high


def touching(nose):
    """Way of the crown at which it touches the nozzle."""
    low, high = 1e-5, 0.011
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle, nose) > 0 else (low, middle)
    return high


def test_profiles_go_one_way():
    for name in ("nozzle", "tool", "bolt"):
        assert np.all(np.diff(profile(name)[:, 0]) > 0) and np.all(profile(name)[:, 1] > 0)
    given = SHAPES["crown"]["revolution"]["profiles"]
    assert np.all(np.diff(given["at"]) > 0) and len(given["at"]) == len(given["profile"])
    for curve in np.array(given["profile"]):
        assert np.all(np.diff(curve[:, 0]) > 0)


def test_nozzle_is_of_the_400_newton_class():
    z, r = profile("nozzle").T
    assert r.min() == THROAT and z[r.argmin()] == 0.0
    assert (r[-1] / THROAT) ** 2 == pytest.approx(220, rel=0.01)
    # it opens from the throat to the exit, ever less, and closes before it
    slope = np.diff(r[z >= 0]) / np.diff(z[z >= 0])
    assert np.all(slope > 0) and np.all(np.diff(slope[13:]) < 0)
    assert np.all(np.diff(r[z <= 0]) <= 0)


def test_folded_crown_passes_the_throat():
    assert crown(0.0)[:, 1].max() < THROAT - 3e-3
    assert profile("bolt")[:, 1].max() < THROAT - 3e-3
    assert gap(0.0, seat()) > 3e-3


def test_spread_crown_holds_behind_the_throat():
    nose = seat()
    q = touching(nose)
    assert 2e-3 < q < 10e-3
    # wider than the throat, and wider where it touches: between throat and chamber
    assert crown(q)[:, 1].max() > THROAT + 3e-3
    fine = crown(q)
    s = nose - (fine[:, 0] - fine[0, 0])
    k = np.argmin(wall(s) - fine[:, 1])
    assert -0.02 < s[k] < -0.004 and fine[k, 1] > THROAT + 1e-3
    # with room behind the bolt's head
    assert nose - (0.03 - q) - 0.010 > profile("nozzle")[0, 0]


def test_crown_pulls_the_shoulder_onto_the_bell():
    # from where the tool stops, 4 mm before its seat, each displacement of the crown stands for a
    # place
    places = seat() + np.linspace(4e-3, 0.0, 9)
    ways = [touching(nose) for nose in places]
    assert np.all(np.diff(ways) > 0)
    assert tool_gap(places[0]) > 1e-3 and abs(tool_gap(places[-1])) < 1e-6


def test_surfaces_belong_to_the_model(model):
    for name, shape in SHAPES.items():
        assert model.body(shape["body"]).id > 0, name
        if "geom" in shape:
            assert model.geom(shape["geom"]).bodyid[0] == model.body(shape["body"]).id
        if "mesh" in shape:
            assert (HOME / shape["mesh"]).is_file()
    joint = SHAPES["crown"]["revolution"]["profiles"]
    assert model.joint(joint["joint"]).range == pytest.approx([0, joint["at"][-1]])


def test_ring_mesh_is_closed_and_outside_out():
    trimesh = pytest.importorskip("trimesh")
    ring = trimesh.load(HOME / "ring.obj")
    assert ring.is_watertight and ring.is_winding_consistent
    # Pappus: section times the way of its centroid
    section, height = 0.022, 0.025
    bevels = 2 * 0.002**2 / 2
    expected = (section * height - bevels) * 2 * np.pi * 0.597
    assert ring.volume == pytest.approx(expected, rel=1e-3)
    assert ring.bounds[0, 2] == 0.0


def test_docked_the_ring_lies_on_the_brackets_and_the_tool_sits_in_the_nozzle(model):
    data = mujoco.MjData(model)
    client = model.joint("client").qposadr[0]
    data.qpos[client + 2] -= 1.7
    mujoco.mj_kinematics(model, data)
    ring = data.body("client").xpos[2]
    for k in (1, 2, 3):
        g = model.geom(f"bracket{k}")
        place = data.geom(f"bracket{k}").xpos
        assert place[2] + g.size[2] == pytest.approx(ring, abs=1e-12)
        assert np.hypot(*place[:2]) == pytest.approx(0.597, abs=1e-6)
    throat = data.body("nozzle").xpos[2]
    nose = data.body("tool").xpos[2] + NOSE
    assert throat - nose == pytest.approx(seat(), abs=2e-5)


def test_masses_and_frequencies_are_those_stated(model):
    numbers = load_robot("smart_olev").numbers
    for body in ("chaser", "client"):
        mass = model.body_subtreemass[model.body(body).id]
        assert mass == pytest.approx(numbers[f"{body}_mass"]["value"])
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    for joint, key in (("panel_left", "chaser"), ("client_panel_right", "client")):
        i = model.joint(joint).dofadr[0]
        stiffness = model.jnt_stiffness[model.joint(joint).id]
        omega = np.sqrt(stiffness / full[i, i])
        assert omega / (2 * np.pi) == pytest.approx(
            numbers[f"{key}_panel_frequency"]["value"], rel=1e-3
        )
        ratio = model.dof_damping[i] / (2 * np.sqrt(stiffness * full[i, i]))
        assert ratio == pytest.approx(numbers["panel_damping"]["value"], rel=1e-2)


def test_safety_spring_gives_two_hundred_newton_at_its_stop(model):
    joint = model.joint("cdm_spring")
    assert joint.stiffness[0] * joint.range[1] == pytest.approx(200.0)
    assert model.qpos_spring[joint.qposadr[0]] == 0.0
