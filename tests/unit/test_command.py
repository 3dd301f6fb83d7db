"""The driver on a kinematic rover with slow steering and slip, at all three levels."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.control import Driver, Goal, Measurement, Motors, Path, Route, Twist, WheelLayout
from marsyard.errors import InputError
from marsyard.ground.terrain import build_terrain
from marsyard.scenario import validate_terrain

LAYOUT = WheelLayout.of("exomars")
PERIOD = 0.5


def _terrain(*layers, **more):
    return build_terrain(validate_terrain({"title": "t", "layers": list(layers), **more}, "t"))


class KinematicRover:
    """Wheels obey at once, steering at 0.1 rad/s; the base moves as the wheels least disagree."""

    def __init__(self, slip=0.0, side=0.0, heading=0.0):
        self.x = self.y = 0.0
        self.heading, self.slip, self.side = heading, slip, side
        self.rate, self.angle, self.twist = np.zeros(6), np.zeros(6), Twist()
        self.worst, self.trace = 0.0, []

    def measure(self):
        return Measurement(self.x, self.y, self.heading, self.rate, self.angle, self.twist)

    def obey(self, command):
        h = PERIOD / 10
        for _ in range(10):
            self.angle = self.angle + np.clip(command.angle - self.angle, -0.1 * h, 0.1 * h)
            self.rate = command.rate
            wheels, left_over = LAYOUT.twist(self.rate, self.angle)
            self.worst = max(self.worst, float(np.abs(left_over).max()))
            v = wheels.forward * (1 - self.slip)
            self.twist = Twist(v, wheels.left - self.side * abs(v), wheels.turn * (1 - self.slip))
            c, s = np.cos(self.heading), np.sin(self.heading)
            self.x += h * (c * self.twist.forward - s * self.twist.left)
            self.y += h * (s * self.twist.forward + c * self.twist.left)
            self.heading += h * self.twist.turn
            self.trace.append((self.x, self.y))


def _drive(driver, rover, seconds):
    states = []
    for _ in range(int(seconds / PERIOD)):
        rover.obey(driver.update(rover.measure()))
        states.append(driver.state)
        if driver.arrived:
            break
    return states


def test_a_goal_around_a_crater():
    ground = _terrain({"kind": "crater", "centre": [4, 0], "diameter": 3, "depth_ratio": 0.25})
    driver = Driver(LAYOUT, PERIOD, ground)
    driver.command(Goal(8.0, 0.0, speed=0.05))
    rover = KinematicRover(slip=0.2, side=0.1)
    _drive(driver, rover, 600)
    assert driver.arrived
    assert np.hypot(rover.x - 8, rover.y) < 0.05
    assert np.hypot(*(np.array(rover.trace) - [4, 0]).T).min() > 1.2
    still = driver.update(rover.measure())
    assert np.all(still.rate == 0) and np.allclose(still.angle, rover.angle)


@pytest.mark.parametrize("mode", ["free", "double_ackermann"])
def test_a_path_in_two_modes(mode):
    x = np.linspace(0, 6, 20)
    path = Path(np.column_stack([x, 0.4 * np.sin(x)]), smooth=True)
    driver = Driver(LAYOUT, PERIOD, mode=mode)
    driver.command(Route(path, speed=0.05))
    rover = KinematicRover(slip=0.2, side=0.1, heading=path.heading(0))
    _drive(driver, rover, 400)
    assert driver.arrived
    away = [abs(path.cross_track(x, y, path.nearest(x, y))) for x, y in rover.trace]
    assert max(away[len(away) // 3 :]) < 0.05


def test_the_rover_turns_to_face_a_path_behind_it():
    driver = Driver(LAYOUT, PERIOD)
    driver.command(Route(Path([[0, 0], [-3, 0]]), speed=0.05))
    rover = KinematicRover()
    states = _drive(driver, rover, 400)
    assert states[0] == "turning" and states[-1] == "arrived" and "driving" in states
    trace = np.array(rover.trace)
    # on the spot first, then straight: never far from the line
    assert np.abs(trace[:, 1]).max() < 0.05 and trace[:, 0].max() < 0.05
    assert np.hypot(rover.x + 3, rover.y) < 0.05


def test_wheels_wait_for_the_steering():
    driver = Driver(LAYOUT, PERIOD)
    driver.command(Route(Path([[0, 0], [-3, 0]]), speed=0.05))
    rover = KinematicRover()
    first = driver.update(rover.measure())
    assert np.all(first.rate == 0) and np.abs(first.angle).max() > 0.5
    _drive(driver, rover, 400)
    # wheels never work against each other by more than a tenth of the speed of a turn
    assert rover.worst < 0.1 * 0.05


def test_motors_are_passed_on_within_limits():
    layout = WheelLayout.of("exomars", angle_limit=0.5, rate_max=0.4)
    driver = Driver(layout, PERIOD)
    driver.command(Motors(np.full(6, 0.5), np.array([0, 0.1, 0.2, 0.6, -0.6, 0])))
    rover = KinematicRover()
    command = driver.update(rover.measure())
    assert np.allclose(command.rate, 0.4)
    assert np.allclose(command.angle, [0, 0.1, 0.2, 0.5, -0.5, 0])
    driver.stop()
    assert np.all(driver.update(rover.measure()).rate == 0)


def test_refusals():
    driver = Driver(LAYOUT, PERIOD)
    with pytest.raises(InputError, match="needs a ground"):
        driver.command(Goal(1, 1))
    with pytest.raises(InputError, match="motors.angle: give 6 numbers"):
        driver.command(Motors(np.zeros(6), np.zeros(5)))
    with pytest.raises(InputError, match="did you mean 'double_ackermann'"):
        Driver(LAYOUT, PERIOD, mode="double_akermann")
    hole = _terrain({"kind": "plane", "slope": "30 deg"})
    driver = Driver(LAYOUT, PERIOD, hole)
    driver.command(Goal(4, 0))
    with pytest.raises(InputError, match="start: .* slope 30°"):
        driver.update(KinematicRover().measure())
