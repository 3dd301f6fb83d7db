"""A layout for Foxglove that shows a run's `run.mcap` at once: the rover in 3D, and its plots.

`foxglove_layout.json` is made for the file beside it: only topics that are in it appear, with a
line per wheel of this rover. In Foxglove: Layouts > Import from file.

    3D          frames and URDF of the rover, followed; terrain coloured by `change`; driven paths
    plots       slip ratio, sinkage [m], load of the wheels [N], speed [m/s], motor torque [N·m]

What is not there (sinkage on hard ground) has no panel. The keys are those that Foxglove writes
itself on exporting a layout.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from marsyard.drawing.colours import wheel_colour
from marsyard.results.export.messages import topic_names

LAYOUT_NAME = "foxglove_layout.json"
#: the topics of the 3D panel, and how they look
_SCENE: dict[str, dict[str, Any]] = {
    "/terrain": {
        "visible": True, "colorField": "change", "colorMode": "colormap", "colorMap": "turbo",
        "pointShape": "square", "pointSize": 4, "decayTime": 0,
    },
    "/path": {
        "visible": True, "type": "line", "lineWidth": 0.03, "gradient": ["#ffd628", "#ffd628"],
    },
}  # fmt: skip


def foxglove_layout(
    topics: Collection[str], wheels: Sequence[str], motors: Mapping[str, int]
) -> dict[str, Any]:
    """The layout for a file with some topics, of a rover with wheels by these names; `motors`:
    joints whose torque is shown, and their places in the message of all joints."""
    panels: dict[str, dict[str, Any]] = {"3D!scene": _scene(topics)}
    names = topic_names(wheels)
    for key, title, field in (
        ("slip", "Slip ratio", "slip_ratio.data"),
        ("sinkage", "Sinkage [m]", "sinkage.data"),
        ("load", "Load of the wheels [N]", "wrench.wrench.force.z"),
    ):
        of_wheels = [(f"/wheel/{names[w]}/{field}", w) for w in wheels]
        _add_plot(panels, key, title, of_wheels, topics)
    _add_plot(panels, "speed", "Speed [m/s]", [("/odom.twist.twist.linear.x", "ahead")], topics)
    torques = [(f"/joint_states.effort[{k}]", name) for name, k in motors.items()]
    _add_plot(panels, "torque", "Motor torque [N·m]", torques, topics)
    return {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": _beside("3D!scene", [p for p in panels if p != "3D!scene"]),
    }


def topics_of(layout: dict[str, Any]) -> set[str]:
    """All topics that a layout names."""
    out: set[str] = set()
    for panel in layout["configById"].values():
        out |= {topic for topic, how in panel.get("topics", {}).items() if how.get("visible")}
        out |= {la["topic"] for la in panel.get("layers", {}).values() if la.get("topic")}
        out |= {path["value"].partition(".")[0] for path in panel.get("paths", ())}
    return out


def _scene(topics: Collection[str]) -> dict[str, Any]:
    layers: dict[str, dict[str, Any]] = {
        "grid": {
            "layerId": "foxglove.Grid", "instanceId": "grid", "label": "Grid of 1 m",
            "visible": True, "frameLocked": True, "size": 20, "divisions": 20, "lineWidth": 1,
            "color": "#80808060", "position": [0, 0, 0], "rotation": [0, 0, 0], "order": 1,
        },
    }  # fmt: skip
    if "/robot_description" in topics:
        layers["rover"] = {
            "layerId": "foxglove.Urdf", "instanceId": "rover", "label": "Rover", "visible": True,
            "frameLocked": True, "sourceType": "topic", "topic": "/robot_description", "url": "",
            "filePath": "", "parameter": "", "framePrefix": "", "displayMode": "auto", "order": 2,
        }  # fmt: skip
    return {
        "foxglovePanelTitle": "Rover",
        "followMode": "follow-position",
        "followTf": "base_link",
        "cameraState": {
            "perspective": True, "distance": 4.0, "phi": 65, "thetaOffset": 120, "fovy": 45,
            "near": 0.05, "far": 2000, "target": [0, 0, 0], "targetOffset": [0, 0, 0],
            "targetOrientation": [0, 0, 0, 1],
        },
        "scene": {"meshUpAxis": "z_up", "transforms": {"visible": False}},
        "transforms": {},
        "topics": {topic: how for topic, how in _SCENE.items() if topic in topics},
        "layers": layers,
        "publish": {},
        "imageMode": {},
    }  # fmt: skip


def _add_plot(
    panels: dict[str, dict[str, Any]],
    key: str,
    title: str,
    lines: Sequence[tuple[str, str]],
    topics: Collection[str],
) -> None:
    """A plot of those lines whose topic is in the file, if there is one."""
    paths = [
        {
            "value": value, "label": label, "enabled": True, "timestampMethod": "receiveTime",
            "color": wheel_colour(label, k),
        }
        for k, (value, label) in enumerate(lines)
        if value.partition(".")[0] in topics
    ]  # fmt: skip
    if paths:
        panels[f"Plot!{key}"] = {
            "foxglovePanelTitle": title, "paths": paths, "showXAxisLabels": True,
            "showYAxisLabels": True, "showLegend": True, "legendDisplay": "floating",
            "showPlotValuesInLegend": True, "isSynced": True, "xAxisVal": "timestamp",
            "sidebarDimension": 240,
        }  # fmt: skip


def _beside(first: str, others: Sequence[str]) -> Any:
    """A panel on the left, the others below each other on its right."""
    if not others:
        return first
    return {
        "direction": "row", "first": first, "second": _column(others), "splitPercentage": 60,
    }  # fmt: skip


def _column(panels: Sequence[str]) -> Any:
    if len(panels) == 1:
        return panels[0]
    return {
        "direction": "column", "first": panels[0], "second": _column(panels[1:]),
        "splitPercentage": 100 / len(panels),
    }  # fmt: skip
