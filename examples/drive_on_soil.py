"""One wheel drives through soil, steered from Python: how deep is its rut, how high are its berms?

The rig of the scenario soil/wheel presses a wheel of 0.125 m radius with 100 N and pushes it along
at 10 cm/s while it turns with 30 % slip. Every half second the soil grid is asked how much lower
the ground is behind the axle, and how much higher beside the rut.
"""

from __future__ import annotations

import numpy as np

import marsyard

SLIP = 0.3
HALF_WIDTH = 0.05  # m, of the wheel


def main() -> None:
    settings = {"parameters.slip": SLIP, "study": None}
    sim = marsyard.Simulation(marsyard.load_scenario("soil/wheel", settings))
    sim.step(2500)  # the load is put on, then the wheel starts to roll
    grid = sim.world.soil.grid

    for _ in range(5):
        sim.step(500)
        x = float(sim.qpos[0])
        behind = np.linspace(max(x - 0.25, 0.1), x - 0.1, 16)
        rut = -grid.change(behind, 0.0)
        berm = grid.change(behind, HALF_WIDTH + 0.02)
        print(f"x = {x:.3f} m: rut {1e3 * rut.mean():.1f} mm, berm {1e3 * berm.mean():.1f} mm")

    late = sim.dataset().sel(time=slice(3, None), wheel="W").mean("time")
    print(
        f"sinkage {1e3 * float(late.sinkage):.1f} mm, pull {float(late.drawbar_pull):.1f} N", end=""
    )
    print(f", torque {float(late.driving_torque):.2f} N·m at {100 * SLIP:.0f} % slip")
    print(f"soil above the old surface: {1e6 * grid.moved_volume():.0f} cm³")
    # shallower: the slipping rim pushes soil backwards into it, and some slides back
    if not 0.4 < rut.mean() / float(late.sinkage) < 0.8:
        raise SystemExit("the rut is not about half as deep as the wheel has sunk")


if __name__ == "__main__":
    main()
