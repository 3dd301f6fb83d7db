"""What moves: robots as MJCF models with roles."""

from marsyard.robot.robot import Robot, Wheel, load_robot

__all__ = ["Robot", "Wheel", "load_robot"]
