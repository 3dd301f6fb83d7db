"""Control at the control period: kinematics, motors, estimators, path following, planning.

Names load when first used; the compiled language of torque laws is `marsyard.control.expression`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "CostMap": "planner",
    "Driver": "command",
    "DrivingLimits": "planner",
    "Goal": "command",
    "MODES": "steering",
    "Measurement": "command",
    "Motor": "motor",
    "MotorState": "motor",
    "Motors": "command",
    "Odometry": "odometry",
    "Path": "path_following",
    "PathFollower": "path_following",
    "Placer": "placement",
    "Route": "command",
    "RoverKinematics": "rover_kinematics",
    "SinkageEstimator": "slip",
    "Slip": "slip",
    "SlipCompensation": "path_following",
    "SlipCoordination": "slip",
    "SpeedServo": "motor",
    "Stand": "placement",
    "SteeringServo": "motor",
    "Twist": "steering",
    "WheelCommand": "steering",
    "WheelLayout": "steering",
    "cost_map": "planner",
    "estimate_slip": "slip",
    "mode_command": "steering",
    "mode_twist": "steering",
    "place": "placement",
    "plan": "planner",
    "plan_on": "planner",
    "slip_ratio": "slip",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"marsyard.control.{_HOME[name]}"), name)
    raise AttributeError(f"module 'marsyard.control' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
