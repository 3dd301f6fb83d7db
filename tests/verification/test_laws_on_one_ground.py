"""Several soil models on one ground: each with kernels of its own, one flow of the soil a step."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from marsyard.interaction.soil_kernels import SINCE, TRAVELLED, WAY
from marsyard.scenario import apply_setting, load_scenario, scenario_data, validate
from marsyard.simulation import Simulation

FRONT, REAR = ["FL", "FR"], ["RL", "RR"]


def mixture(wheels, **settings):
    """Wheels under Ding's model, all others on the nodes of the soil."""
    data = scenario_data("eldorado2/rough")
    wheel = {**data["interaction"]["wheel"], "model": "ding", "wheels": wheels}
    apply_setting(data, "interaction.wheel", wheel)
    for path, value in settings.items():
        apply_setting(data, path.replace("__", "."), value)
    return Simulation(validate(data, "mixture"))


def acting(sim):
    """The laws that have kernels to be compiled."""
    return [law.name for law in sim.laws if law.kernels is not None]


# --- each law alone


@pytest.mark.parametrize(
    ("name", "settings", "own", "others"),
    [
        ("wheel/pull", {}, "wheel_models", ("soil_contact", "soil_columns")),
        ("soil/wheel", {}, "soil_contact", ("wheel_models", "soil_columns")),
        ("soil/columns-wheel", {}, "soil_columns", ("wheel_models", "soil_contact")),
    ],
)  # fmt: skip
def test_a_world_compiles_the_law_that_acts_and_no_other(name, settings, own, others):
    """Whatever this process has loaded before: in a fresh one."""
    code = f"""
import importlib
from marsyard import load_scenario
from marsyard.simulation import Simulation

Simulation(load_scenario({name!r}, {settings!r})).step(1)
for folder in {(own, *others)!r}:
    kernels = importlib.import_module(f"marsyard.interaction.{{folder}}.kernels")
    print(folder, "address" in vars(kernels.evaluate))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found == {own: "True", **dict.fromkeys(others, "False")}


def test_a_wheel_model_alone_leaves_nothing_to_flow():
    assert acting(Simulation(load_scenario("wheel/pull"))) == ["wheel_model"]
    assert acting(Simulation(load_scenario("soil/wheel"))) == ["soil", "soil_bed"]
    assert acting(mixture(FRONT)) == ["wheel_model", "soil", "soil_bed"]


def test_asking_a_wheel_model_for_its_forces_changes_nothing():
    sim = Simulation(load_scenario("wheel/pull"))
    sim.step(1500)
    before = sim.state().arrays
    sim.evaluate_laws(1e-3, 1.0)
    after = sim.state().arrays
    assert np.abs(before["wheel_model_state"]).max() > 0
    for name in ("wheel_model_state", "soil_depth", "soil_ref", "soil_time"):
        assert np.array_equal(before[name], after[name], equal_nan=True), name


# --- together


@pytest.mark.parametrize("soil", ["scm", "columns"])
def test_a_mixture_is_saved_and_restored_bit_for_bit(soil):
    sim = mixture(FRONT, interaction__soil__model=soil)
    sim.step(300)
    kept = sim.state()
    assert np.abs(kept.arrays["wheel_model_state"]).max() > 0
    assert len(kept.arrays["soil_contact_0_node"]) > 0
    sim.step(300)
    first = sim.state().hash()
    sim.restore(kept)
    assert sim.state().hash() == kept.hash()
    sim.step(300)
    assert sim.state().hash() == first
    fresh = mixture(FRONT, interaction__soil__model=soil)
    fresh.restore(kept)
    fresh.step(300)
    assert fresh.state().hash() == first


@pytest.mark.parametrize("wheels", [FRONT, REAR])
def test_the_ground_flows_once_for_all_laws(wheels):
    """The way since the last flow is that of the fastest body of all laws, once a step."""
    sim = mixture(wheels, interaction__soil__flow_travel=0.2)
    flow, laws = sim.world.soil.ground.flow, sim.attachments
    reach = np.concatenate([[body.reach for body in law.found] for law in sim.world.soil.laws])
    after = 0.2 * sim.world.soil.grid.spacing
    way, since, flows = flow[TRAVELLED], flow[SINCE], 0
    for _ in range(600):
        sim.step(1)
        V = laws.attached.start[: len(reach)]
        spin = reach * np.linalg.norm(V[:, 3:6], axis=1)
        way += 1e-3 * max(np.linalg.norm(V[:, :3], axis=1).max(), spin.max())
        since += 1e-3
        if way >= after:
            way = since = 0.0
            flows += 1
        assert flow[TRAVELLED] == pytest.approx(way, rel=1e-9, abs=1e-15)
        assert flow[SINCE] == pytest.approx(since, rel=1e-9, abs=1e-12) and flow[WAY] == 0.0
    assert flows > 0


def test_wheels_of_all_laws_are_in_the_same_variables():
    sim = mixture(FRONT)
    sim.step(400)
    data = sim.dataset()
    for name in ("contact_area", "pressure_max", "compaction_resistance", "sinkage", "wheel_load"):
        assert np.isfinite(data[name].values[1:]).all(), name
        assert (np.abs(data[name].values[-1]) > 0).all(), name
    # what all bodies of all laws have taken
    own = sum(-np.cumsum(sim.attached(law)[..., 6].sum(axis=1)) for law in ("wheel_model", "soil"))
    assert data.energy_soil.values == pytest.approx(own, rel=1e-12)
    assert "energy_ground" not in data


def test_heaps_slide_under_a_wheel_model():
    """No body of a law that displaces soil: the ground flows for itself."""
    heap = {"kind": "bump", "centre": [1.0, 0.0], "radius": 0.1, "height": 0.1}
    sim = Simulation(load_scenario("wheel/pull", {"ground.0.heaps": [heap]}))
    assert acting(sim) == ["wheel_model", "soil_bed"]
    grid = sim.world.soil.grid
    before = float(grid.change(1.0, 0.0))
    volume = grid.moved_volume()
    sim.step(5)
    assert float(grid.change(1.0, 0.0)) < 0.9 * before
    assert grid.moved_volume() == pytest.approx(volume, rel=1e-12)
