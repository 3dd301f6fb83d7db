"""Laws through attachments: what the engine makes of F and B, whatever the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from spring_law import Spring
from worlds import G, digest, mjcf

from marsyard import plugins
from marsyard.errors import InputError
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation

TWO = (
    '<body name="a" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="2" '
    'diaginertia=".1 .1 .1"/></body>'
    '<body name="b" pos=".3 .2 1.4"><freejoint/><inertial pos="0 0 0" mass="3" '
    'diaginertia=".2 .2 .2"/></body>'
)
ONE = (
    '<body name="a" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="2" '
    'diaginertia=".1 .1 .1"/></body>'
)


def springs(
    folder, bodies, gravity=0.0, step=1e-3, duration=1.0, theta=0.5, record=None, **numbers
):
    """Bodies on springs, with nothing else."""
    (folder / "model.xml").write_text(mjcf(bodies))
    (folder / "robot.yaml").write_text(yaml.safe_dump({"model": "model.xml"}))
    run = {"duration": duration, "step": step, "record_period": record or step, "theta": theta}
    scenario = {"robot": {"name": str(folder)}, "gravity": gravity, "ground": [],
                "interaction": {"law": "none"}, "run": run}  # fmt: skip
    law = type("Own", (Spring,), numbers)
    return Simulation(validate(scenario), interaction=law)


def test_action_is_reaction(tmp_path):
    """Momentum and angular momentum of two free bodies on a spring stay, to rounding."""
    sim = springs(tmp_path, TWO, damping=1.5)
    sim.qvel[:] = [0.3, -0.1, 0.2, 0, 0, 0, -0.2, 0.4, 0.1, 0, 0, 0]

    def momenta():
        p = np.array([2.0 * sim.qvel[:3], 3.0 * sim.qvel[6:9]])
        x = np.array([sim.qpos[:3], sim.qpos[7:10]])
        return p.sum(axis=0), np.cross(x, p).sum(axis=0)

    linear, angular = momenta()
    sim.run()
    after = momenta()
    assert after[0] == pytest.approx(linear, abs=1e-13)
    assert after[1] == pytest.approx(angular, abs=1e-5)


@pytest.mark.parametrize(("theta", "wanted"), [(0.5, 2), (1.0, 1)])
def test_order_of_the_step(tmp_path, theta, wanted):
    """A mass on a spring and damper: the error falls as the scheme says."""
    k, c, m = 200.0, 2.0, 2.0
    start, t = 0.1, 0.7
    omega, decay = math.sqrt(k / m - (c / m / 2) ** 2), c / m / 2
    exact = start * math.exp(-decay * t) * (
        math.cos(omega * t) + decay / omega * math.sin(omega * t)
    )  # fmt: skip
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        sim = springs(
            tmp_path, ONE, step=h, duration=t, theta=theta, stiffness=k, damping=c, rest=1.0,
            pairs=(("a", ""),),
        )  # fmt: skip
        sim.qpos[2] = 1.0 + start
        sim.run()
        errors.append(abs(sim.qpos[2] - 1.0 - exact))
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    assert order == pytest.approx([wanted] * 2, abs=0.25)


def test_a_stiff_law_is_stable_at_long_steps(tmp_path):
    """k h²/m = 5·10⁴: an explicit step would explode at once; this one stands at m g/k."""
    k, c, m = 1e9, 1e4, 2.0
    sim = springs(
        tmp_path, ONE, gravity=G, step=1e-2, duration=2.0, theta=1.0, stiffness=k, damping=c,
        rest=1.0, pairs=(("a", ""),),
    )  # fmt: skip
    sim.run()
    assert 1.0 - sim.qpos[2] == pytest.approx(m * G / k, rel=1e-6)
    assert sim.law_forces("spring")[0, 2] == pytest.approx(m * G, rel=1e-9)


def test_work_is_accounted_for(tmp_path):
    """What the law took is what body and gravity lost."""
    sim = springs(
        tmp_path, ONE, gravity=G, step=5e-4, duration=1.0, stiffness=200.0, damping=3.0, rest=1.0,
        pairs=(("a", ""),),
    )  # fmt: skip
    data = sim.run().dataset()
    own = data.energy_kinetic + data.energy_potential
    total = (own + data.energy_ground).values
    assert data.energy_ground.values.max() > 1.0
    assert total == pytest.approx(np.full_like(total, total[0]), abs=2e-4)


def test_records_of_a_law_have_names_units_and_sums(tmp_path):
    sim = springs(tmp_path, TWO, record=0.01)
    data = sim.run().dataset()
    longest = data.spring_longest
    assert longest.dims[:2] == ("time", "spring") and longest.attrs["units"] == "m"
    assert list(data.spring.values) == ["a-b"] and data.spring_force.attrs["units"] == "N"
    # largest since the last record: each value is above the length at the record itself
    q = data.coordinates.values
    length = np.linalg.norm(q[:, :3] - q[:, 7:10], axis=1)
    assert (longest.values[1:, 0, 0] >= length[1:] - 1e-3).all()
    # mean force over a record: what changed the momentum of the first body
    change = np.diff(2.0 * data.velocities.values[:, :3], axis=0) / 0.01
    assert data.spring_force.values[1:, 0] == pytest.approx(change, abs=1e-9)


def test_the_same_run_twice_gives_the_same_bits(tmp_path):
    first, second = (springs(tmp_path, TWO, damping=1.0) for _ in range(2))
    assert digest(first.run()) == digest(second.run())


# --- beside other laws


def test_a_law_takes_bodies_from_hard_ground(tmp_path, monkeypatch):
    """A rover of which two wheels hang on springs: hard ground does not touch them any more."""
    law = type("Own", (Spring,), {
        "pairs": (("FLWheel", ""), ("FRWheel", "")), "stiffness": 1.0, "damping": 50.0,
        "rest": 0.0, "anchor": (0.0, 0.0, 1.0),
    })  # fmt: skip
    monkeypatch.setattr(plugins, "law_class", lambda name, field: law)
    monkeypatch.setattr(plugins, "build_law", lambda name, options, place, field: law.build(place))
    data = scenario_data("rt0448/test-3")
    robot = Simulation(validate(data, "test-3")).world.robot
    front = [name for name in robot.wheels if "F" in name][:2]
    law.pairs = tuple((robot.wheels[name].body, "") for name in front)
    apply_setting(data, "interaction.plugin", {"name": "spring", "bodies": front})
    sim = Simulation(validate(data, "test-3"))
    sim.step(200)
    sim.record_now()
    ds = sim.dataset()
    touched = ds.impulse_normal.sum(dim=("time", "surface"))
    assert float(touched.sel(wheel=front).sum()) == 0.0
    others = [name for name in robot.wheels if name not in front]
    assert float(touched.sel(wheel=others).sum()) > 0.0
    assert np.abs(sim.law_forces("spring")).max() > 0.1


def test_wheel_models_and_the_soil_contact_model_share_a_rover():
    data = scenario_data("eldorado2/rough")
    names = ["FL", "FR"]
    wheel = {**data["interaction"]["wheel"], "wheels": names}
    apply_setting(data, "interaction.wheel", wheel)
    sim = Simulation(validate(data, "mixture"))
    sim.step(400)
    ds = sim.dataset()
    load = ds.wheel_load.values[1:].mean(axis=0)
    assert load.sum() == pytest.approx(ds.attrs["weight"], rel=0.03) and (load > 5).all()
    # stresses node by node are those of the soil contact model, which the others do not have
    peak = ds.stress_normal.isel(time=-1).max(dim="contact_angle")
    assert float(peak.sel(wheel=names).max()) == 0.0
    assert float(peak.drop_sel(wheel=names).min()) > 0.0


def test_a_wheel_that_is_not_there_is_named():
    data = scenario_data("eldorado2/rough")
    wheel = {**data["interaction"]["wheel"], "wheels": ["FX"]}
    apply_setting(data, "interaction.wheel", wheel)
    with pytest.raises(InputError, match=r"interaction\.wheel\.wheels: 'FX' is not a wheel of"):
        Simulation(validate(data, "mixture"))


def test_two_laws_of_one_name_are_refused():
    """Their columns and forces would be mistaken for each other's."""
    law = type("Own", (Spring,), {"name": "soil", "pairs": (("Chassis", ""),)})
    with pytest.raises(InputError, match="its law is called 'soil'"):
        Simulation(validate(scenario_data("exomars/drawbar-pull"), "drawbar-pull"), interaction=law)
