"""Robots as MJCF models with roles."""

from marsyard.robot.beams import Beam
from marsyard.robot.closing import close_loops
from marsyard.robot.contact_bodies import Foot, Grousers, Roller, Track, Wheel
from marsyard.robot.design import designed
from marsyard.robot.design_folder import write_designed
from marsyard.robot.loops import BallLoop, GearLoop, HingeLoop, Loop, WeldLoop
from marsyard.robot.robot import Robot, load_robot

__all__ = [
    "BallLoop",
    "Beam",
    "Foot",
    "GearLoop",
    "Grousers",
    "HingeLoop",
    "Loop",
    "Robot",
    "Roller",
    "Track",
    "WeldLoop",
    "Wheel",
    "close_loops",
    "designed",
    "load_robot",
    "write_designed",
]
