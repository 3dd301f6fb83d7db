"""Control at the control period: kinematics, motors, estimators, path following, planning, gaits.

Names load when first used; the compiled language of torque laws is `marsyard.control.expression`.
"""

from __future__ import annotations

from marsyard.lazy import lazy_names

_HOME = {
    "Arc": "command",
    "Condition": "condition",
    "CostMap": "planner",
    "Crab": "command",
    "Driver": "command",
    "DrivingLimits": "planner",
    "Goal": "command",
    "Limbs": "limb_kinematics",
    "Locomotion": "locomotion",
    "MODES": "steering",
    "Measurement": "command",
    "Mode": "locomotion",
    "Motion": "gait_schedule",
    "Motor": "motor",
    "MotorState": "motor",
    "Motors": "command",
    "Odometry": "odometry",
    "Pace": "gait_transition",
    "Path": "path_following",
    "PathFollower": "path_following",
    "Peristaltic": "peristaltic",
    "PeristalticGait": "peristaltic",
    "Placer": "placement",
    "Pose": "gait_schedule",
    "Rolling": "rolling",
    "RollingGait": "rolling",
    "Route": "command",
    "RoverKinematics": "rover_kinematics",
    "Schedule": "gait_schedule",
    "Sensed": "locomotion",
    "SinkageEstimator": "slip",
    "Slip": "slip",
    "SlipCompensation": "path_following",
    "SlipCoordination": "slip",
    "SpeedServo": "motor",
    "Stand": "placement",
    "SteeringServo": "motor",
    "Turn": "command",
    "Twist": "steering",
    "Until": "locomotion",
    "Wait": "command",
    "Walking": "walking",
    "WalkingGait": "walking",
    "WheelCommand": "steering",
    "WheelLayout": "steering",
    "cost_map": "planner",
    "energy_margin": "stability_margin",
    "estimate_slip": "slip",
    "longitudinal_margin": "stability_margin",
    "mode_command": "steering",
    "mode_twist": "steering",
    "place": "placement",
    "plan": "planner",
    "plan_on": "planner",
    "read_condition": "condition",
    "slip_ratio": "slip",
    "standing": "gait_planner",
    "static_margin": "stability_margin",
    "support_polygon": "stability_margin",
    "tip_over_angle": "stability_margin",
    "transition": "gait_transition",
    "wave_margin": "walking",
}

__all__ = list(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
