"""Where feet touch, against what can be worked out by hand."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

import marsyard
from marsyard.control import Limbs
from marsyard.errors import InputError
from marsyard.robot import load_robot
from marsyard.robot.contact_bodies import Foot
from marsyard.robot.soles import sole

SHANKS = {
    "ball": ('<geom type="sphere" pos="0.1 0 -0.3" size="0.02"/>', (0.1, 0, -0.3), 0.02),
    "capsule": ('<geom type="capsule" fromto="0 0 0 0.06 0 -0.3" size="0.02"/>',
                (0.06, 0, -0.3), 0.02),
    "capsule upside down": ('<geom type="capsule" fromto="0.06 0 -0.3 0 0 0" size="0.02"/>',
                            (0.06, 0, -0.3), 0.02),
    "ski": ('<geom type="capsule" fromto="-0.2 0 -0.3 0.2 0 -0.3" size="0.02"/>',
            (0, 0, -0.3), 0.0),
    "post": ('<geom type="cylinder" fromto="0 0 0 0 0 -0.3" size="0.02"/>', (0, 0, -0.3), 0.0),
    "beam": ('<geom type="box" pos="0.05 0 -0.15" size="0.02 0.02 0.15"/>', (0.05, 0, -0.3), 0.0),
    "plate": ('<geom type="box" pos="0 0 -0.3" size="0.1 0.05 0.01"/>', (0, 0, -0.3), 0.0),
    "shank and ball": ('<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.01"/>'
                       '<geom type="sphere" pos="0 0 -0.3" size="0.02"/>', (0, 0, -0.3), 0.02),
    "two toes": ('<geom type="sphere" pos="0.1 0 -0.3" size="0.02"/>'
                 '<geom type="sphere" pos="-0.04 0 -0.3" size="0.02"/>', (0.03, 0, -0.3), 0.0),
    "drawn hoof": ('<geom type="sphere" pos="0 0 -0.3" size="0.02"/><geom type="box" '
                   'pos="0 0 -0.4" size="0.1 0.1 0.1" contype="0" conaffinity="0"/>',
                   (0, 0, -0.3), 0.02),
}  # fmt: skip


def _model(geoms: str, turn: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body name="Shank" pos="0 0 1" {turn}>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint/>{geoms}</body></worldbody>'
        "</mujoco>"
    )


@pytest.mark.parametrize("kind", SHANKS)
def test_the_lowest_end_is_found(kind):
    geoms, point, radius = SHANKS[kind]
    found = sole(_model(geoms), Foot(body="Shank"), "it")
    assert found.point == pytest.approx(point, abs=1e-9)
    assert found.radius == radius


def test_a_shank_that_is_a_mesh_touches_by_its_lower_end():
    corners = " ".join(f"{0.05 + x} {y} {z}" for x in (-0.02, 0.02) for y in (-0.015, 0.015)
                       for z in (0.0, -0.3))  # fmt: skip
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="m" vertex="{corners}"/></asset><worldbody><body name="Shank" '
        'pos="0 0 1"><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    found = sole(model, Foot(body="Shank"), "it")
    assert found.point == pytest.approx([0.05, 0, -0.3], abs=1e-6)


def test_low_is_low_in_the_world():
    """A capsule along a body's x axis that hangs down because the body is turned."""
    model = _model('<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>', 'euler="0 90 0"')
    assert sole(model, Foot(body="Shank"), "it").point == pytest.approx([0.3, 0, 0], abs=1e-9)


def test_a_point_that_is_given_counts():
    model = _model(SHANKS["capsule"][0])
    given = Foot.model_validate({"body": "Shank", "point": ["6 cm", 0, -0.3]})
    assert sole(model, given, "it").radius == 0.02
    aside = sole(model, Foot(body="Shank", point=(0.0, 0.0, -0.2)), "it")
    assert aside.point == pytest.approx([0, 0, -0.2]) and aside.radius == 0


def test_a_foot_that_touches_nothing():
    model = _model('<geom type="sphere" size="0.1" contype="0" conaffinity="0"/>')
    with pytest.raises(InputError, match="body 'Shank' of it has no geom that collides"):
        sole(model, Foot(body="Shank"), "it")


@pytest.fixture(scope="module")
def shanks(tmp_path_factory):
    """The hexapod, written with balls on its shanks instead of bodies for its feet."""
    robot = load_robot("hexapod")
    text = robot.model.read_text()
    foot = re.compile(
        r'<body name="(\w\w)Foot" pos="([^"]*)">\s*(<inertial[^>]*>)\s*<geom ([^>]*)/>\s*</body>'
    )
    text, count = foot.subn(r'<geom \4 pos="\2"/>', text)
    assert count == 6
    folder = tmp_path_factory.mktemp("shanks")
    (folder / "robot.xml").write_text(text)
    described = (robot.model.parent / "robot.yaml").read_text()
    (folder / "robot.yaml").write_text(re.sub(r"(\w\w)Foot\b", r"\1Tibia", described))
    return folder


def test_gaits_see_the_same_feet(shanks):
    ours, theirs = Limbs(load_robot(str(shanks)), True), Limbs("hexapod", True)
    assert ours.clearance == pytest.approx(theirs.clearance)
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = rng.uniform(-0.3, 0.3, 18)
        assert ours.points(q) == pytest.approx(theirs.points(q), abs=1e-12)


def test_records_are_of_the_point(shanks):
    """On level ground the middles of balls that stand are one radius above it; FL swings."""
    given = {"robot.name": str(shanks), "run.duration": 0.2, "report.checks": []}
    run = marsyard.run("walker/flat", settings=given)
    height = run.data["foot_position"].sel(axis="z")
    assert height.drop_sel(foot="FL").values == pytest.approx(0.02, abs=1e-4)
    assert 0.03 < float(height.sel(foot="FL")[-1]) < 0.05
    assert "point" in run.data["foot_position"].attrs["long_name"]
