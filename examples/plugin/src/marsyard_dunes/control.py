"""A controller: all wheels drive, those of one side faster, so that the rover holds its heading.

    ω_wheel = (v ∓ e g b/2) / r,    e = heading − yaw, left wheels −, right wheels +

v speed [m/s], g gain [1/s], b track and r radius of the wheels [m], taken from the robot.
"""

import numpy as np

from marsyard.modules import JointCommands
from marsyard.robot import load_robot


def hold_heading(scenario, speed=0.1, heading=0.0, gain=1.0):
    """Drive at a speed [m/s] and hold a heading [rad] by skid steering."""
    robot = load_robot(scenario.robot.name)
    wheels = {w.joint: w for w in robot.wheels.values()}
    model = robot.spec().compile()
    side = {joint: np.sign(model.body(w.body).pos[1]) for joint, w in wheels.items()}
    track = 2 * max(abs(model.body(w.body).pos[1]) for w in wheels.values())

    def act(time, joints, base, wrenches):
        w, x, y, z = base.quaternion
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        error = np.angle(np.exp(1j * (heading - yaw)))
        rates = [
            (speed - side[name] * error * gain * track / 2) / wheels[name].radius
            if name in wheels
            else np.nan
            for name in joints.name
        ]
        return JointCommands(speed=rates)

    return act
