"""What moves: robots as MJCF models with roles."""

from marsyard.robot.robot import ExitRule, Grousers, Robot, Wheel, load_robot

__all__ = ["ExitRule", "Grousers", "Robot", "Wheel", "load_robot"]
