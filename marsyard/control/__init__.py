"""Control at the control period: kinematics, motors, estimators, path following, planning.

Names load when first used; the compiled language of torque laws is `marsyard.control.expression`.
"""

from __future__ import annotations

from marsyard._lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
