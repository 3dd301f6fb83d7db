"""Elastic booms against the closed forms of the Euler-Bernoulli beam and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import energy, order

from marsyard import InputError
from marsyard.scenario import validate
from marsyard.simulation import Simulation

EI, GJ, L = 400.0, 250.0, 2.0
MASS = 3.0

#: a tip on the world: the boom along z, or along x with axes that turn the other way
UP = {"along": "0 0 1", "e": ("1 0 0", "0 1 0"), "b": ("0 1 0", "1 0 0"), "sense": (1.0, -1.0)}
LEVEL = {"along": "1 0 0", "e": ("0 0 1", "0 1 0"), "b": ("0 1 0", "0 0 1"), "sense": (-1.0, 1.0)}


def tip(axes=UP, mass=MASS, inertia=1e-7, extension=True, inner=""):
    """The body at the end of a beam, with its joints."""
    slide = f'<joint name="long" type="slide" axis="{axes["along"]}" range="-1.5 3"/>'
    joints = "".join(
        f'<joint name="{n}" type="{kind}" axis="{axis}"/>'
        for n, kind, axis in (
            ("w1", "slide", axes["e"][0]), ("w2", "slide", axes["e"][1]),
            ("p1", "hinge", axes["b"][0]), ("p2", "hinge", axes["b"][1]),
            ("twist", "hinge", axes["along"]),
        )
    )  # fmt: skip
    return (
        f'<body name="tip">{slide if extension else ""}{joints}'
        f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>'
        f"{inner}</body>"
    )


def rig(folder, bodies, beam=None, **parts):
    """A simulation of bodies with one beam, in weightlessness."""
    text = f'<mujoco><compiler angle="radian" autolimits="true"/><worldbody>{bodies}</worldbody>'
    (folder / "robot.xml").write_text(text + "</mujoco>")
    numbers = {
        "lateral": "[w1, w2]", "bending": "[p1, p2]", "torsion": "twist", "length": L,
        "bending_stiffness": EI, "torsion_stiffness": GJ, **(beam or {}),
    }  # fmt: skip
    if 'name="long"' in bodies:
        numbers.setdefault("extension", "long")
    said = ", ".join(f"{k}: {v}" for k, v in numbers.items())
    (folder / "robot.yaml").write_text(f"model: robot.xml\nbeams:\n  boom: {{{said}}}\n")
    return Simulation(
        validate(
            {
                "robot": {"name": str(folder / "robot.yaml"), **parts.pop("robot", {})},
                "ground": [],
                "gravity": 0.0,
                "interaction": {"law": "none"},
                **parts,
            }
        )
    )


def coordinate(sim, joint):
    """Present value of a joint."""
    return float(sim.qpos[sim.model.joint(joint).qposadr[0]])


def at_rest(folder, loads, axes=UP, held=(), length=L):
    """The tip under constant loads once it has come to rest."""
    sim = rig(
        folder, tip(axes, inertia=0.1, extension=False), {"damping": 0.5, "length": length},
        control=[{"joints": j, "torque": v} for j, v in loads.items()]
        + [{"joints": j, "speed": 0.0, "gain": 1e10} for j in held],
        run={"duration": 100.0, "step": 0.01, "theta": 1.0},
    )  # fmt: skip
    return sim.run()


@pytest.mark.parametrize("axes", [UP, LEVEL])
@pytest.mark.parametrize("plane", [0, 1])
def test_force_at_the_tip(tmp_path, axes, plane):
    # w = P L³/3EI, slope P L²/2EI
    P, s = 2.0, axes["sense"][plane]
    sim = at_rest(tmp_path, {f"w{plane + 1}": P}, axes)
    assert coordinate(sim, f"w{plane + 1}") == pytest.approx(P * L**3 / (3 * EI), rel=1e-9)
    assert coordinate(sim, f"p{plane + 1}") == pytest.approx(s * P * L**2 / (2 * EI), rel=1e-9)
    other = 2 - plane
    assert abs(coordinate(sim, f"w{other}")) < 1e-12 and abs(coordinate(sim, f"p{other}")) < 1e-12


@pytest.mark.parametrize("axes", [UP, LEVEL])
@pytest.mark.parametrize("plane", [0, 1])
def test_moment_at_the_tip(tmp_path, axes, plane):
    # slope M L/EI, w = M L²/2EI
    M, s = 1.5, axes["sense"][plane]
    sim = at_rest(tmp_path, {f"p{plane + 1}": M}, axes)
    assert coordinate(sim, f"p{plane + 1}") == pytest.approx(M * L / EI, rel=1e-9)
    assert coordinate(sim, f"w{plane + 1}") == pytest.approx(s * M * L**2 / (2 * EI), rel=1e-9)


def test_s_shape(tmp_path):
    # the tip's slope held at 0: w = P L³/12EI, and the holding moment is P L/2
    P = 2.0
    sim = at_rest(tmp_path, {"w1": P}, held=("p1",))
    assert coordinate(sim, "w1") == pytest.approx(P * L**3 / (12 * EI), rel=1e-6)
    moment = sim.records.torque[-1, list(sim.world.joints).index("p1")]
    assert moment == pytest.approx(-P * L / 2, rel=1e-6)


def test_torsion_and_length(tmp_path):
    sim = at_rest(tmp_path, {"twist": 0.7}, length=0.5)
    assert coordinate(sim, "twist") == pytest.approx(0.7 * 0.5 / GJ, rel=1e-9)


def crossings(time, value):
    """Times at which a signal passes zero upwards."""
    k = np.flatnonzero((value[:-1] < 0) & (value[1:] >= 0))
    return time[k] - value[k] * (time[k + 1] - time[k]) / (value[k + 1] - value[k])


@pytest.mark.parametrize("length", [2.0, 1.0])
def test_frequency_with_a_tip_mass(tmp_path, length):
    omega = np.sqrt(3 * EI / (MASS * length**3))
    w = 0.01
    sim = rig(
        tmp_path, tip(extension=False), {"length": length},
        robot={"joints": {"w1": w, "p1": 1.5 * w / length}},
        run={"duration": 10.0, "step": 1e-3, "record_period": 1e-3},
    ).run()  # fmt: skip
    t = crossings(sim.records.time, sim.records.coordinates[:, 0])
    period = (t[-1] - t[0]) / (len(t) - 1)
    # the midpoint rule is slower by (ωh)²/12, known exactly
    h = 1e-3
    expected = np.pi * h / np.arctan(omega * h / 2)
    assert expected == pytest.approx(2 * np.pi / omega, rel=5e-5)
    assert period == pytest.approx(expected, rel=2e-6)


def test_damping_ratio(tmp_path):
    # C = β K: ζ = β ω/2 in every mode
    omega = np.sqrt(3 * EI / (MASS * L**3))
    zeta = 0.02
    sim = rig(
        tmp_path, tip(extension=False), {"damping": 2 * zeta / omega},
        robot={"joints": {"w1": 0.01, "p1": 0.0075}},
        run={"duration": 20.0, "step": 1e-3, "record_period": 1e-3},
    ).run()  # fmt: skip
    e = energy(sim)
    # the beam takes what is lost
    lost = sim.dataset().energy_beams.values
    assert e + lost == pytest.approx(np.full_like(e, e[0]), rel=1e-9)
    t = sim.records.time
    decay = -np.polyfit(t[e > 1e-4 * e[0]], np.log(e[e > 1e-4 * e[0]]), 1)[0]
    assert decay == pytest.approx(2 * zeta * omega, rel=5e-3)


def turning(folder, h):
    """Two free bodies joined by a boom whose drive is let go while everything moves."""
    ghost = 'contype="0" conaffinity="0"'
    inner = f'<geom type="box" size="0.2 0.3 0.4" pos="0.1 0 0.5" mass="8" {ghost}/>'
    body = (
        f'<body name="root"><freejoint/><geom type="box" size="0.5 0.4 0.3" mass="20" {ghost}/>'
        f"{tip(inner=inner)}</body>"
    )
    rates = {"w1": 0.02, "p2": 0.03, "twist": 0.05, "long": 0.1}
    return rig(
        folder, body, robot={"joint_rates": rates, "angular_velocity": [0.02, 0.01, 0.03]},
        run={"duration": 4.0, "step": h, "record_period": 0.04},
    ).run()  # fmt: skip


def test_energy_is_kept_to_second_order(tmp_path):
    errors = []
    for h in (0.01, 0.005, 0.0025):
        e = energy(turning(tmp_path, h))
        errors.append(np.abs(e / e[0] - 1).max())
    assert order(errors) == pytest.approx(2.0, abs=0.3)
    assert errors[-1] < 1e-4


def test_linear_momentum(tmp_path):
    errors = []
    for h in (0.01, 0.005):
        velocity = turning(tmp_path, h).records.com_velocity
        errors.append(np.ptp(velocity, axis=0).max())
    # forces inside cannot move the centre of mass; what is left is the scheme's, of second order
    assert errors[0] < 1e-5 * 0.013 and errors[1] < max(0.3 * errors[0], 1e-14)


def drawn_in(folder, h, speed=-0.02):
    """An oscillating tip that is drawn in from 2 m to 1.2 m."""
    w = 0.02
    return rig(
        folder, tip(inertia=1e-4), robot={"joints": {"w1": w, "p1": 1.5 * w / L}},
        control=[{"joints": "long", "speed": speed}],
        run={"duration": 40.0, "step": h, "record_period": 0.04},
    ).run()  # fmt: skip


def test_work_of_the_drive(tmp_path):
    # what the drive does goes into the boom, whose length changes
    errors = []
    for h in (0.004, 0.002):
        sim = drawn_in(tmp_path, h)
        e, work = energy(sim), np.cumsum(sim.records.motor_work)
        gained = e[-1] - e[0]
        assert gained > 0.5 * e[0]
        errors.append(abs(work[-1] - gained) / gained)
    assert errors[-1] < 1e-3 and errors[-1] < 0.5 * errors[0]


def test_action_is_an_adiabatic_invariant(tmp_path):
    # slowly drawn in: E/ω stays, and so E grows as L^(-3/2)
    sim = drawn_in(tmp_path, 0.004)
    e = energy(sim) - 0.5 * MASS * 0.02**2 * (sim.records.time > 0)
    length = L + sim.records.coordinates[:, 0]
    assert length[-1] == pytest.approx(1.2, abs=1e-3)
    assert np.mean(e[-100:] * length[-100:] ** 1.5) == pytest.approx(e[0] * L**1.5, rel=0.01)


def test_attitude_control_knows_the_rates_of_the_base(tmp_path):
    # a wheel takes the spin of a free body: I ω̇ = −k ω
    spin = (
        '<body name="hull"><freejoint/><geom type="sphere" size="0.5" mass="10" contype="0" '
        'conaffinity="0"/><body name="wheel"><joint name="wheel" axis="0 0 1"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.02"/></body></body>'
    )
    (tmp_path / "hull.xml").write_text(f"<mujoco><worldbody>{spin}</worldbody></mujoco>")
    k, inertia = 0.05, 0.4 * 10 * 0.25
    sim = Simulation(
        validate(
            {
                "robot": {
                    "name": str(tmp_path / "hull.xml"),
                    "attitude": [0.3, -0.2, 0.5],
                    "angular_velocity": [0.0, 0.0, 0.1],
                    "joint_rates": {"wheel": -0.1},
                },
                "ground": [],
                "gravity": 0.0,
                "interaction": {"law": "none"},
                "control": [{"joints": "wheel", "torque": f"{k}*wz + 0*wx + 0*wy"}],
                "run": {"duration": 10.0, "step": 1e-3},
            }
        )
    ).run()
    assert sim.qvel[5] == pytest.approx(0.1 * np.exp(-k / inertia * 10.0), rel=1e-3)
    assert abs(sim.qvel[3]) < 1e-12 and abs(sim.qvel[4]) < 1e-12


BACKWARDS = tip().replace('type="slide" axis="0 0 1"', 'type="slide" axis="0 0 -1"')
MISTAKES = [
    (tip(), {"torsion": "twst"}, "beams.boom.torsion: 'twst' is not a joint of the model; did you"),
    (tip(), {"torsion": "p1"}, "'p1' is named twice"),
    (tip(), {"bending": "[p2, p1]"}, "'p2' must turn in the plane of the beam and of 'w1'"),
    (tip(), {"lateral": "[w1, twist]", "torsion": "w2"}, "joint 'twist' must be a slide"),
    (tip(), {"length": 1.5}, "joint 'long' needs a range that keeps the length, 1.5 m"),
    (tip(), {"length": -1}, "beams.boom.length = -1"),
    (tip(), {"extension": "w1", "lateral": "[long, w2]"}, "must follow each other"),
    (BACKWARDS, {}, "the axis of 'twist' must be that of 'long', which makes the beam longer"),
]


@pytest.mark.parametrize(("bodies", "beam", "said"), MISTAKES)
def test_mistakes(tmp_path, bodies, beam, said):
    with pytest.raises(InputError) as caught:
        rig(tmp_path, bodies, beam, run={"duration": 1.0})
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_mujocos_integrators_know_no_beams(tmp_path):
    with pytest.raises(InputError, match="use moreau_jean"):
        rig(tmp_path, tip(), run={"duration": 1.0, "integrator": "semi_implicit"})
