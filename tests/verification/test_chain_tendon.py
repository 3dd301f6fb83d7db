"""Deep chains whose tendon has inertia of its own: the recursion over the tree cannot hold it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard.scenario import validate
from marsyard.simulation import Simulation

LINKS = 60
STEP = 1e-6


@pytest.mark.parametrize("armature", [0.0, 5.0])
def test_chain_starts_as_in_mujoco(tmp_path, armature):
    links = "".join(
        f'<body name="b{i}" pos="0.1 0 0"><joint name="j{i}" axis="0 1 0"/>'
        '<geom size="0.02" mass="0.1" contype="0" conaffinity="0"/>'
        for i in range(LINKS)
    )
    tendon = f'<tendon><fixed armature="{armature}"><joint joint="j0" coef="1"/>'
    tendon += '<joint joint="j1" coef="1"/></fixed></tendon>'
    path = tmp_path / "chain.xml"
    path.write_text(f"<mujoco><worldbody>{links}{'</body>' * LINKS}</worldbody>{tendon}</mujoco>")
    data = {
        "robot": {"name": str(path)},
        "gravity": 9.81,
        "interaction": {"law": "none"},
        "run": {"duration": 1.0, "step": STEP},
    }
    sim = Simulation(validate(data))
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.gravity[2] = -9.81
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    sim.step(1)
    largest = np.abs(state.qacc).max()
    assert sim.qvel / STEP == pytest.approx(state.qacc, abs=1e-4 * largest)
