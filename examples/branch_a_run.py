"""Save the state of a run and let it have two futures.

The rover of RT-0448 test 5 climbs a slope under a controller. At 12 s the state is saved. One
future keeps the controller, in the other the front left motor adds a brake torque. Going back to
the saved state and repeating the first future gives the same state, bit for bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import marsyard

SAVED_AT, END = 12.0, 15.0  # s


def main() -> None:
    scenario = marsyard.load_scenario("rt0448/test-5")
    sim = marsyard.Simulation(scenario)
    h = scenario.run.step
    sim.step(round(SAVED_AT / h))
    more = round((END - SAVED_AT) / h)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "at-12-s.npz"
        sim.state().save(file)
        saved = marsyard.State.load(file)

    sim.step(more)
    as_planned = sim.state()
    print(f"as planned: x = {sim.qpos[0]:.4f} m at {sim.time:g} s")

    sim.restore(saved)
    sim.torque["FLWheel_y"] = 0.8
    sim.step(more)
    print(f"with a braking wheel: x = {sim.qpos[0]:.4f} m at {sim.time:g} s")

    sim.restore(saved)  # torques set by hand belong to the state, so this one is gone again
    sim.step(more)
    same = sim.state().hash() == as_planned.hash()
    print(f"repeated: x = {sim.qpos[0]:.4f} m, identical to the first: {same}")
    if not same:
        raise SystemExit("the repeated future differs")


if __name__ == "__main__":
    main()
