"""Drive a simulated rover along a path with the controllers of `marsyard.control`.

Once per control period of 0.1 s a driver turns the path into wheel rates and steering angles; every
5 ms servos turn those into torques, within what a motor can give. The pose the driver knows is its
own dead reckoning; how far that strays from the truth is printed at the end.
"""

from __future__ import annotations

import numpy as np

import marsyard
from marsyard.control import (
    Driver,
    Measurement,
    Motor,
    Odometry,
    Path,
    Route,
    SpeedServo,
    SteeringServo,
    WheelLayout,
)

PERIOD, SERVO = 0.1, 0.005  # s
SPEED = 0.15  # m/s


def main() -> None:
    scenario = marsyard.load_scenario(
        "rt0448/test-3",
        {"control": [], "run.step": "2.5 ms", "run.record_period": PERIOD, "robot.springs": {}},
    )
    sim = marsyard.Simulation(scenario)
    layout = WheelLayout.of("exomars_rt0448")
    q = {name: int(sim.model.joint(name).qposadr[0]) for name in sim.world.joints}
    v = {name: int(sim.model.joint(name).dofadr[0]) for name in sim.world.joints}
    drives, steers = list(layout.drive_joint), list(layout.steering_joint)
    q_steer, v_steer, v_drive = (
        [d[n] for n in g] for d, g in ((q, steers), (v, steers), (v, drives))
    )

    start = sim.qpos[:2].copy()
    x = np.linspace(0, 2.5, 12)
    path = Path(start + np.column_stack([x, 0.2 * (1 - np.cos(2 * np.pi * x / 2.5))]), smooth=True)
    driver = Driver(layout, PERIOD, compensate=False)
    driver.command(Route(path, SPEED))

    def joints() -> dict[str, float]:
        return {name: float(sim.qpos[k]) for name, k in q.items()}

    motor = Motor(constant=0.02, resistance=1.5, gear=300, efficiency=0.7, voltage_max=24)
    wheels = SpeedServo(gain=0.1, integral_gain=1.0, motor=motor)
    steering = SteeringServo(gain=6.0, damping=0.15, rate_max=0.5)
    odometry = Odometry("exomars_rt0448", sim.qpos[:3], sim.qpos[3:7], joints())
    energy = 0.0
    while not driver.arrived and sim.time < 40:
        odometry.update(sim.qpos[3:7], joints())
        place = (*odometry.position[:2], odometry.heading)
        command = driver.update(Measurement(*place, sim.qvel[v_drive], sim.qpos[q_steer]))
        for _ in range(round(PERIOD / SERVO)):
            rate = sim.qvel[v_drive]
            torque = wheels.update(command.rate, rate, SERVO)
            energy += SERVO * float(motor.drive(torque, rate).power.sum())
            turn = steering.update(command.angle, sim.qpos[q_steer], sim.qvel[v_steer], SERVO)
            for name, value in zip(drives + steers, [*torque, *turn], strict=True):
                sim.torque[name] = float(value)
            sim.step(round(SERVO / scenario.run.step))

    end = path.point(path.length)
    print(f"{'arrived' if driver.arrived else 'not there'} after {sim.time:.1f} s")
    print(f"distance to the end of the path: {np.hypot(*(sim.qpos[:2] - end)):.3f} m")
    strayed = np.linalg.norm(odometry.position - sim.qpos[:3])
    print(f"dead reckoning strayed by {strayed:.4f} m on {odometry.distance:.2f} m")
    print(f"electrical energy of the drives: {energy:.1f} J")


if __name__ == "__main__":
    main()
