"""Each of the four modules of a simulation replaced by a few lines of Python.

Multibody: a plate on a dashpot sinks into marsyard's soil, as deep as Bekker says. Interaction: a
ground of springs and dampers under a rover. Control: that rover is steered by a hand-written law.
Post-processing: its mean slip goes into the report.
"""

from __future__ import annotations

import tempfile
from math import pi
from pathlib import Path

import numpy as np

import marsyard
from marsyard.ground.soil import load_soil
from marsyard.modules import (
    BaseState,
    ContactBodyStates,
    ContactBodyWrenches,
    JointCommands,
    JointStates,
    Yard,
)

WEIGHT = 50.0  # N, on the plate
RUN = {"duration": 6, "step": 2e-3, "control_period": 0.02, "record_period": 0.02, "theta": 1}


# --8<-- multibody
class Plate:
    """A plate under a weight: 5 kg on a dashpot, free to move up and down."""

    z, v = 0.0, 0.0

    def organs(self):
        return ContactBodyStates(("Plate",), [[0, 0, self.z]], [[0, 0, self.v]])

    def joints(self):
        return JointStates((), [], [])

    def base(self):
        return BaseState([0, 0, self.z], [1, 0, 0, 0], [0, 0, self.v], [0, 0, 0])

    def advance(self, step, commands, wrenches):
        force = wrenches.force[0, 2] - WEIGHT - 1000 * self.v
        self.v += step * force / (5 + 1000 * step)  # the dashpot is implicit
        self.z += step * self.v


# --8<-- interaction
def springs(time, step, organs):
    """Level ground of springs, with viscous friction, under each wheel."""
    depth = np.maximum(organs.radius - organs.position[:, 2], 0)
    rim = np.cross(organs.angular_velocity, [0, 0, -1]) * organs.radius[:, None]
    slide = np.where(depth[:, None] > 0, organs.velocity + rim, 0)
    force = -500.0 * slide
    force[:, 2] += 2e4 * depth
    return ContactBodyWrenches(force, moment=np.cross([0, 0, -1], force) * organs.radius[:, None])


# --8<-- control
def turn_left(time, joints, base, wrenches):
    """Wheels of the right side turn faster until the rover heads 20° to the left."""
    heading = 2 * np.arctan2(base.quaternion[3], base.quaternion[0])
    turn = 4.0 * (np.radians(20) - heading)
    speed = {"LWheel_y": 0.5 - turn, "RWheel_y": 0.5 + turn, "Steering_z": 0.0}
    held = [[v for end, v in speed.items() if name.endswith(end)] for name in joints.name]
    return JointCommands(speed=[v[0] if v else np.nan for v in held])


# --8<-- post-processing
def mean_slip(data):
    """Mean slip of all wheels over the second half of the run."""
    return float(data.slip_ratio.isel(time=slice(data.sizes["time"] // 2, None)).mean())


# --8<-- end


def sink_a_plate() -> None:
    changes = {"study": None, "run.duration": 3, "control": []}
    scenario = marsyard.load_scenario("soil/plate", changes)
    yard = Yard(scenario, multibody=Plate()).run()
    depth = -float(yard.dataset().contact_body_position.sel(axis="z")[-1, 0])
    soil, radius = load_soil("soil_wheel_default"), 0.05
    pressure = WEIGHT / (pi * radius**2)
    bekker = (pressure / soil.pressure_modulus(radius)) ** (1 / soil.number("exponent"))
    print(f"plate: sinks {1e3 * depth:.2f} mm, by Bekker {1e3 * bekker:.2f} mm")
    if abs(depth - bekker) > 0.02 * bekker:
        raise SystemExit("the plate does not sink as Bekker says")


def drive_on_springs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = marsyard.run(
            "rt0448/test-1",
            settings={"run": RUN, "robot.settle": True, "robot.velocity": [0, 0, 0]},
            control=turn_left, interaction=springs, post={"mean slip": mean_slip},
            out=Path(folder) / "run",
        )  # fmt: skip
        page = out.report.read_text(encoding="utf-8")
    load = out.data.contact_body_force.sel(axis="z").isel(time=-1)
    q = out.data.quaternion_base.isel(time=-1)
    heading = np.degrees(2 * np.arctan2(q.sel(quat="z"), q.sel(quat="w")))
    print(f"rover: {float(load.sum()):.1f} N on its wheels, weight {out.data.weight:.1f} N")
    print(f"heading {float(heading):.1f}°, mean slip {out.post['mean slip']:.3f}")
    if abs(float(heading) - 20) > 2 or "mean slip" not in page:
        raise SystemExit("the rover does not head to the left, or the report lacks its slip")


def main() -> None:
    sink_a_plate()
    drive_on_springs()


if __name__ == "__main__":
    main()
