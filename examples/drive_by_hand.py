"""Step a simulation by hand: set torques, read the state, stop when a condition is met.

The rover stands on a plane. A speed controller written here, in Python, drives its six wheels at
50 Hz; between two calls the compiled loop makes 40 physics steps of 0.5 ms.
"""

from __future__ import annotations

import marsyard

PERIOD = 0.02  # s, of this controller
TARGET = 0.5  # rad/s, rate of the wheels
GAIN = 2.0  # N·m·s/rad
LIMIT = 3.0  # N·m
GOAL = 0.2  # m


def main() -> None:
    # the rover and plane of test 3, standing, without its torque laws
    scenario = marsyard.load_scenario("rt0448/test-3", {"control": [], "run.record_period": PERIOD})
    sim = marsyard.Simulation(scenario)
    drives = sim.world.robot.roles["drives"]
    dof = {name: int(sim.model.joint(name).dofadr[0]) for name in drives}
    steps = round(PERIOD / scenario.run.step)

    start = sim.qpos[0]
    while sim.qpos[0] - start < GOAL:
        for name in drives:
            error = TARGET - sim.qvel[dof[name]]
            sim.torque[name] = max(-LIMIT, min(LIMIT, GAIN * error))
        sim.step(steps)

    ds = sim.dataset()
    way = float(sim.qpos[0] - start)
    speed = float(ds.velocity_base.sel(axis="x")[-1])
    print(f"{way:.3f} m in {sim.time:.2f} s, speed {speed:.4f} m/s (0.129 m · {TARGET} rad/s)")
    slip = float(abs(ds.contact_velocity.sel(component="forward")[-1]).max())
    print(f"largest slip velocity of a wheel: {slip:.1e} m/s")


if __name__ == "__main__":
    main()
