"""Mistakes in robot.yaml: one sentence each, with field, value and what is allowed."""

from __future__ import annotations

import re
import shutil

import pytest

from marsyard import InputError, library, load_scenario
from marsyard.robot import load_robot
from marsyard.simulation.world import build_world

MISTAKES = [
    ("leg_2001", "^loops:", "loop:", "loop: unknown key 'loop' in the file; did you mean 'loops'"),
    ("leg_2001", "kind: hinge, body: Up", "kind: hinges, body: Up", "loops.M.kind: unknown"),
    ("leg_2001", r"point: \[0.06245, 0, 0.05\]", "point: [0, 0]", "loops.M.point: has too few"),
    ("leg_2001", "{kind: hinge,", "{kind: hinge, axis: [0, 0, 0],", "loops.M: axis ="),
    ("tracked_rover", "idler: {[^}]*},", "", "tracks.L.idler: is required and missing"),
    ("tracked_rover", "tension: 200", "tension: -200", "tracks.L.tension = -200: must be at least"),
    ("tracked_rover", "road_wheels: .*", "road_wheels: []}", "tracks.L.road_wheels: holds 0; at"),
    ("marsokhod_like", "taper: 0.175", "tapper: 0.1", "unknown key 'tapper' in wheels.FL; did you"),
    ("marsokhod_like", "taper: 0.175", "taper: 0.9", "taper = 0.9: the cone would end in a point"),
]

MISFITS = [
    ("tracked_rover", "LeftSprocket_y, y", "RightSprocket_y, y",
     "tracks.L.joint: 'RightSprocket_y' must move a body that the track's frame"),
    ("marsokhod_like", "joint: FLWheel_y", "joint: FRWheel_y",
     "wheels.FL.joint: 'FRWheel_y' does not move the wheel's body 'FLWheel'"),
    ("hexapod", "body: FLFoot", "body: FRFoot", "'FRFoot' is the body of feet.FL already"),
    ("hexapod", "body: FLFoot", "body: FLFot", "'FLFot' is not in robot.xml; did you mean 'FLFoot"),
]  # fmt: skip


def _spoilt(folder, name, old, new):
    home = folder / name
    shutil.copytree(library.path_of("rovers", name).parent, home)
    path = home / "robot.yaml"
    text, count = re.subn(old, new, path.read_text(), count=1, flags=re.M)
    assert count == 1
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(("name", "old", "new", "said"), MISTAKES)
def test_a_wrong_key_or_value(tmp_path, name, old, new, said):
    with pytest.raises(InputError) as caught:
        load_robot(_spoilt(tmp_path, name, old, new))
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "old", "new", "said"), MISFITS)
def test_organs_that_do_not_fit_the_model(tmp_path, name, old, new, said):
    robot = _spoilt(tmp_path, name, old, new)
    scenario = load_scenario("rt0448/test-1", {"robot.name": robot})
    with pytest.raises(InputError) as caught:
        build_world(scenario)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_settings_with_nothing_to_act_on_are_warned_of(tmp_path):
    robot = _spoilt(tmp_path, "tracked_rover", "  drives: .*", "  drives: []")
    with pytest.warns(UserWarning, match="'drives' of tracked_rover contains no joint"):
        build_world(load_scenario("tracked/step", {"robot.name": robot}))
    with pytest.warns(UserWarning, match="interaction.wheel: tracked_rover has no wheels"):
        build_world(load_scenario("tracked/sand", {"interaction.wheel.model": "ding"}))


def test_curves_are_named_as_they_stand_in_the_file():
    curve = {"kind": "dense", "peak": 0.5}
    with pytest.raises(InputError, match="interaction.compliant.curve.peak = 0.5: must be at"):
        load_scenario("compliant/hold", {"interaction.compliant.curve": curve})
