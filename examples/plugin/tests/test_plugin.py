"""What this package brings works in marsyard; needs it installed."""

import numpy as np
import pytest

import marsyard
from marsyard import library, plugins
from marsyard.scenario import scenario_data, validate
from marsyard.scenario.scenario import apply_setting
from marsyard.simulation import Simulation


def test_everything_is_found():
    assert "four_wheeler" in library.names("rovers")
    assert "dune_sand" in library.names("soils")
    assert "dune_field" in library.names("grounds")
    assert library.origin_of("scenarios", "dunes/crossing").startswith("marsyard-dunes")
    assert {"elastic_bed", "rigid_slip_outside", "cable"} <= plugins.found("laws").keys()
    assert "hold_heading" in plugins.found("controllers")
    assert "dunes" in plugins.found("generators")


def test_rover_crosses_dunes():
    data = marsyard.run("dunes/crossing").data
    assert 2.0 < float(data.position_base.sel(axis="x")[-1]) < 4.0
    assert abs(float(data.position_base.sel(axis="y")[-1])) < 0.3
    assert np.ptp(data.position_base.sel(axis="z").values) > 0.05


def test_rover_turns_on_the_elastic_bed():
    result = marsyard.run("dunes/elastic-bed")
    assert result.ok, [(c.name, c.computed) for c in result.checks]


def test_a_wrong_option_is_told():
    with pytest.raises(marsyard.InputError, match="options: stiffness, damping, friction"):
        marsyard.run("dunes/elastic-bed", settings={"interaction.plugin.options.stifness": 1e4})


# --- the compiled law


def simulation(name="dunes/two-laws", **settings):
    data = scenario_data(name)
    for path, value in settings.items():
        apply_setting(data, path.replace("__", "."), value)
    return Simulation(validate(data, name))


def test_a_compiled_law_acts_beside_the_soil_contact_model():
    sim = simulation()
    assert [law.name for law in sim.laws] == ["rigid_slip_outside", "soil", "soil_bed"]
    sim.step(500)
    data = sim.dataset()
    # both carry the rover, each under its own wheels
    load = data.wheel_load.values[1:].mean(axis=0)
    half = 0.5 * data.attrs["weight"]
    assert [load[:2].sum(), load[2:].sum()] == pytest.approx([half, half], rel=0.2)
    own = data.rigid_slip_outside_force.sel(axis="z").values[1:].mean(axis=0)
    assert own == pytest.approx(load[2:])
    # only the soil contact model knows nodes, stresses and ruts
    assert np.isnan(data.stress_normal.values[-1, 2:]).all()
    assert (data.stress_normal.values[-1, :2].max(axis=1) > 0).all()


def test_what_it_records_has_units():
    sim = simulation()
    sim.step(100)
    slip = sim.dataset().rigid_slip_outside_slip
    assert slip.dims[:2] == ("time", "rigid_slip_outside") and slip.attrs["units"] == "1"
    assert list(slip.rigid_slip_outside.values) == ["RL", "RR"]
    assert np.abs(slip.values[-1]).max() > 0


def test_it_is_saved_and_restored_bit_for_bit():
    sim = simulation()
    sim.step(200)
    kept = sim.state()
    assert np.abs(kept.arrays["rigid_slip_outside_state"]).max() > 0
    sim.step(300)
    first = sim.state().hash()
    sim.restore(kept)
    # it works on the ground that was restored
    assert sim.laws[0].arrays.grid.node is sim.world.soil.grid.arrays.node
    sim.step(300)
    assert sim.state().hash() == first


def test_it_needs_no_kernel_but_its_own():
    sim = simulation("dunes/crossing", interaction__plugin={"name": "rigid_slip_outside"})
    acting = [law.name for law in sim.laws if law.kernels is not None]
    assert acting == ["rigid_slip_outside"]


def test_it_does_what_the_law_inside_does():
    numbers = {"friction": 0.7, "slip_stiffness": 10.0, "rolling": 0.02, "stiffness": 5e4}
    wheel = {"model": "rigid_slip", "coefficients": numbers, "rut": False}
    inside = simulation("dunes/crossing", interaction__wheel=wheel)
    use = {"name": "rigid_slip_outside", "options": numbers}
    outside = simulation("dunes/crossing", interaction__plugin=use)
    for sim in (inside, outside):
        sim.step(1000)
    assert inside.qpos[0] > 0.5
    assert outside.qpos[:3] == pytest.approx(inside.qpos[:3], abs=1e-3)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("options.frictoin", 0.5, "options: friction, slip_stiffness"),
        ("options.friction", -1.0, "friction = -1.0: must be above 0"),
        ("bodies", ["RL", "RX"], "'RX' is not a wheel, foot, track or body of four_wheeler"),
        ("name", "rigid_slip_outsid", "did you mean 'rigid_slip_outside'"),
    ],
)
def test_mistakes_are_told_in_one_sentence(path, value, said):
    with pytest.raises(marsyard.InputError, match=said):
        simulation(**{f"interaction__plugin__{path.replace('.', '__')}": value})


# --- the constraint law


def test_a_cable_holds_the_rover_in_the_sand():
    result = marsyard.run("dunes/tethered")
    assert result.ok, [(c.name, c.computed) for c in result.checks]
    data = result.data
    anchor = np.array([0.0, 0.0, 0.3])
    away = np.linalg.norm(data.position_base.values - anchor, axis=1)
    assert away.max() == pytest.approx(2.0, abs=1e-6)
    pull = data.cable_tension
    assert pull.attrs["units"] == "N" and pull.values[data.cable_slack.values > 0.01].max() == 0.0
    # held, the wheels dig in by their slip; sand carries the rover as before
    held = data.sel(time=slice(14, None))
    assert float(held.cable_tension.min()) > 1.0 and float(held.slip_ratio.mean()) > 0.9
    load = held.wheel_load.sum("wheel").values.mean()
    assert load == pytest.approx(data.attrs["weight"], rel=0.1)


def test_a_cable_is_saved_and_restored_bit_for_bit():
    sim = simulation("dunes/tethered", interaction__plugin__options__length=0.3)
    sim.step(400)
    kept = sim.state()
    sim.step(200)
    assert sim.dataset().cable_tension.values.max() > 0.0
    last = sim.qpos.copy(), sim.qvel.copy()
    sim.restore(kept)
    sim.step(200)
    assert (sim.qpos == last[0]).all() and (sim.qvel == last[1]).all()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [("length", 0.0, "length = 0.0: must be above 0"), ("restitution", 2.0, "between 0 and 1"),
     ("body", "hull", "there is no 'hull'"), ("lenght", 1.0, "options: length, x, y, z")],
)  # fmt: skip
def test_a_wrong_cable_is_refused(option, value, told):
    with pytest.raises(marsyard.InputError, match=told):
        simulation("dunes/tethered", **{f"interaction__plugin__options__{option}": value})
