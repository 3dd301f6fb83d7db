"""Recordings of rovers: MCAP files with ROS 2 messages, read back."""

from marsyard.lazy import lazy_names

_HOME = {
    "Recording": "recording",
    "Topics": "reading",
    "bag_scene": "scene",
    "is_recording": "reading",
    "open_bag": "reading",
    "read_bag": "recording",
}

__all__ = ["Recording", "Topics", "bag_scene", "is_recording", "open_bag", "read_bag"]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
