"""What others see of a simulation cannot be written by accident; what may be set has a method."""

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.scenario import load_scenario, validate
from marsyard.simulation import Simulation


@pytest.fixture(scope="module")
def sim():
    return Simulation(load_scenario("rt0448/test-4"))


@pytest.mark.parametrize(
    "look",
    [lambda s: s.commands.torque, lambda s: s.sums.world, lambda s: s.attachments.attached.F,
     lambda s: s.attachments.chains.sums, lambda s: s.rows.gap, lambda s: s.friction],
)  # fmt: skip
def test_tables_are_read_only(sim, look):
    with pytest.raises(ValueError, match="read-only"):
        look(sim)[...] = 1.0


def test_tables_are_live(sim):
    view = sim.commands.manual
    sim.torque["RLWheel_y"] = 0.3
    assert view.max() == 0.3
    assert sim.find_contacts(0.1) >= 6
    assert sim.rows.used[0] >= 6 and np.isfinite(sim.rows.gap[:6]).all()


@pytest.mark.parametrize("law", ["nonsmooth", "compliant"])
def test_friction_is_set_for_all_that_follows(law):
    went = []
    for mu in (0.8, 0.05):
        data = {"robot": {"name": "sojourner", "settle": True}, "interaction": {"law": law},
                "ground": [{"kind": "plane", "slope": "10 deg"}], "run": {"duration": 0.5},
                "control": [{"joints": "drives", "speed": 0.0}]}  # fmt: skip
        sim = Simulation(validate(data, "slope"))
        start = sim.qpos[:3].copy()
        sim.set_friction(mu)
        assert (sim.friction == mu).all()
        sim.run()
        went.append(np.linalg.norm(sim.qpos[:3] - start))
    # on 10 degrees the rover stands with the first and slides down with the second
    assert went[0] < 2e-3 and went[1] > 0.05
    with pytest.raises(InputError, match="friction = .*must be at least 0"):
        sim.set_friction(-0.1)
    with pytest.raises(InputError, match="must be at least 0"):
        sim.set_friction(np.nan)
