"""What moves: robots as MJCF models with roles."""

from marsyard.robot.robot import Grousers, Robot, Wheel, load_robot

__all__ = ["Grousers", "Robot", "Wheel", "load_robot"]
