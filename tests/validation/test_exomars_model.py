"""The rover model against values computed independently from the report's own data.

oracle.npz holds inertia matrices, inertia and gravity forces, wheel centres and Jacobians at 24
random states in the report's coordinates: base x, y, z, Cardan angles R = Rz(q5) Ry(q4) Rx(q3),
then the joints.
MuJoCo's base velocity is linear in the world, angular in the body: v_mj = T(q) q̇ with
T = diag(1, E(angles), 1), hence M = Tᵀ M_mj T and N = Tᵀ (M_mj Ṫ q̇ + bias_mj).
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from marsyard.robot import load_robot
from marsyard.rotations import quaternion_of

ORACLE = Path(__file__).parents[2].parent / "shared" / "reference" / "exomars-rt0448" / "oracle.npz"
JOINTS = [
    "RBogie_x", "RLSteering_z", "RRSteering_z", "RLWheel_y", "RRWheel_y",
    "FLBogie_y", "CLSteering_z", "FLSteering_z", "CLWheel_y", "FLWheel_y",
    "FRBogie_y", "CRSteering_z", "FRSteering_z", "CRWheel_y", "FRWheel_y",
]  # fmt: skip
STATES = range(24)


@pytest.fixture(scope="module")
def rover():
    """The model with the gravity of the oracle, 3.69 m/s²."""
    model = load_robot("exomars_rt0448").spec().compile()
    model.opt.gravity[:] = 0, 0, -3.69
    return model


@pytest.fixture(scope="module")
def oracle():
    if not ORACLE.exists():
        pytest.skip("reference data are not beside this checkout")
    with np.load(ORACLE) as file:
        return {name: file[name] for name in file.files}


def rates_to_spin(angles, rates):
    """E and Ė of ω_body = E(angles) · (roll, pitch, yaw rates)."""
    (sr, cr), (sp, cp) = ((np.sin(a), np.cos(a)) for a in angles[:2])
    dr, dp = rates[:2]
    E = np.array([[1, 0, -sp], [0, cr, sr * cp], [0, -sr, cr * cp]])
    D = np.array(
        [
            [0, 0, -cp * dp],
            [0, -sr * dr, cr * dr * cp - sr * sp * dp],
            [0, -cr * dr, -sr * dr * cp - cr * sp * dp],
        ]
    )
    return E, D


def put(model, q, v, variant):
    """Data of one state of the oracle, with T, Ṫ and the order and sign of the joints in T."""
    data = mujoco.MjData(model)
    sign = np.ones(15)
    if variant == "B":
        sign[0] = -1.0  # the rear bogie turns about −x there
    data.qpos[:3] = q[:3]
    data.qpos[3:7] = quaternion_of(*q[3:6])
    T, dT = np.zeros((21, 21)), np.zeros((21, 21))
    T[:3, :3] = np.eye(3)
    T[3:6, 3:6], dT[3:6, 3:6] = rates_to_spin(q[3:6], v[3:6])
    for k, name in enumerate(JOINTS):
        joint = model.joint(name)
        data.qpos[joint.qposadr[0]] = sign[k] * q[6 + k]
        T[joint.dofadr[0], 6 + k] = sign[k]
    data.qvel[:] = T @ v
    mujoco.mj_forward(model, data)
    return data, T, dT


def test_mass_and_degrees_of_freedom(rover):
    assert rover.body_subtreemass[0] == pytest.approx(64.6, abs=1e-12)
    assert rover.nv == 21
    assert rover.nbody - 1 == 16


def test_cardan_rates(rover):
    # E and Ė themselves, by differences of the quaternion: ω_body = 2 q̄ ∘ q̇
    rng = np.random.default_rng(3)
    a, da, e = rng.normal(size=3), rng.normal(size=3), 1e-6
    q0, q1 = (quaternion_of(*(a + s * e * da)) for s in (-1, 1))
    spin = np.zeros(3)
    mujoco.mju_subQuat(spin, q1, q0)
    E, D = rates_to_spin(a, da)
    assert np.abs(spin / (2 * e) - E @ da).max() < 1e-8
    up, down = (rates_to_spin(a + s * e * da, da)[0] for s in (1, -1))
    assert np.abs((up - down) / (2 * e) - D).max() < 1e-8


@pytest.mark.parametrize("variant", ["A", "B"])
def test_inertia_matrix(rover, oracle, variant):
    for k in STATES:
        data, T, _ = put(rover, oracle["q"][k], oracle["v"][k], variant)
        M = np.zeros((21, 21))
        mujoco.mj_fullM(rover, data, M)
        expected = oracle[f"M_{variant}"][k]
        assert np.abs(T.T @ M @ T - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("variant", ["A", "B"])
def test_inertia_and_gravity_forces(rover, oracle, variant):
    for k in STATES:
        v = oracle["v"][k]
        data, T, dT = put(rover, oracle["q"][k], v, variant)
        M = np.zeros((21, 21))
        mujoco.mj_fullM(rover, data, M)
        forces = T.T @ (M @ (dT @ v) + data.qfrc_bias)
        expected = oracle[f"N_correct_{variant}"][k]
        assert np.abs(forces - expected).max() < 2e-8 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("variant", ["A", "B"])
def test_wheel_centres_and_jacobians(rover, oracle, variant):
    for k in STATES:
        data, T, _ = put(rover, oracle["q"][k], oracle["v"][k], variant)
        for w, name in enumerate(oracle["wheel_order"]):
            body = rover.body(f"{name}Wheel").id
            assert np.abs(data.xpos[body] - oracle[f"wheel_center_{variant}"][k, w]).max() < 1e-8
            J = np.zeros((3, 21))
            mujoco.mj_jacBody(rover, data, J, None, body)
            expected = oracle[f"wheel_center_jac_{variant}"][k, w]
            assert np.abs(J @ T - expected).max() < 1e-8


@pytest.mark.parametrize("variant", ["A", "B"])
def test_bodies_and_centre_of_mass(rover, oracle, variant):
    for k in STATES:
        data, _, _ = put(rover, oracle["q"][k], oracle["v"][k], variant)
        assert np.abs(data.subtree_com[0] - oracle[f"com_{variant}"][k]).max() < 1e-8
        for b, name in enumerate(oracle["body_names"]):
            body = rover.body(str(name)).id
            assert np.abs(data.xpos[body] - oracle[f"body_pos_{variant}"][k, b]).max() < 1e-8
            rotation = data.xmat[body].reshape(3, 3)
            assert np.abs(rotation - oracle[f"body_rot_{variant}"][k, b]).max() < 1e-8
