"""Robots: the wheel's optional shape fields, and the test rigs of the library."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from pydantic import ValidationError

from marsyard import InputError, library
from marsyard.robot import Wheel, load_robot

PLAIN = {"body": "W", "joint": "j", "radius": 0.1, "width": 0.06, "shape": "cylinder"}


def _wheel(**fields):
    return Wheel.model_validate({**PLAIN, **fields})


def test_a_plain_wheel_is_smooth_and_sharp():
    wheel = _wheel()
    assert wheel.fillet == 0.0
    assert wheel.crown is None
    assert wheel.grousers is None


def test_shape_fields_take_units():
    bars = {"count": 24, "height": "10 mm", "thickness": "2 mm"}
    wheel = _wheel(fillet="5 mm", crown="30 cm", grousers=bars)
    assert wheel.fillet == pytest.approx(0.005)
    assert wheel.crown == pytest.approx(0.3)
    assert wheel.grousers.count == 24
    assert wheel.grousers.height == pytest.approx(0.010)
    assert wheel.grousers.thickness == pytest.approx(0.002)


def test_limits_are_allowed():
    wheel = _wheel(fillet=0.03, crown=0.03)
    assert (wheel.fillet, wheel.crown) == (0.03, 0.03)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"fillet": 0.031}, "fillet = 0.031 m: at most half the width, 0.03 m"),
        ({"fillet": -0.001}, "greater than or equal to 0"),
        ({"crown": 0.029}, "crown = 0.029 m: at least half the width, 0.03 m"),
        ({"grousers": {"count": 12, "height": 0.1, "thickness": 0.002}}, "below the radius, 0.1 m"),
        ({"grousers": {"count": 0, "height": 0.01, "thickness": 0.002}}, "greater than or equal"),
        ({"grousers": {"count": 12, "height": 0.01}}, "Field required"),
        ({"grousers": {"count": 12, "height": "1 kg", "thickness": 0.002}}, "unit of mass"),
    ],
)
def test_impossible_shapes_are_refused(fields, said):
    with pytest.raises(ValidationError, match=said):
        _wheel(**fields)


def test_the_error_of_a_file_is_one_sentence(tmp_path):
    (tmp_path / "rover.xml").write_text("<mujoco/>")
    file = tmp_path / "robot.yaml"
    file.write_text(
        "model: rover.xml\nwheels:\n"
        "  A: {body: W, joint: j, radius: 0.1, width: 0.06, shape: cylinder, fillet: 0.2}\n"
    )
    with pytest.raises(InputError) as error:
        load_robot(str(file))
    text = str(error.value)
    assert text == "robot.yaml: wheels.A: fillet = 0.2 m: at most half the width, 0.03 m"


@pytest.mark.parametrize("name", library.names("rovers"))
def test_every_number_of_a_rover_has_a_source(name):
    for key, number in load_robot(name).numbers.items():
        assert {"value", "unit", "provenance", "source"} <= set(number), key
        assert number["provenance"] in ("published", "derived", "assumed"), key
        assert len(number["source"]) > 5, key


def _at_zero(name):
    model = load_robot(name).spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _axes(model):
    kinds = {int(mujoco.mjtJoint.mjJNT_SLIDE): "slide", int(mujoco.mjtJoint.mjJNT_HINGE): "hinge"}
    return {
        model.joint(j).name: (kinds[int(model.jnt_type[j])], tuple(model.jnt_axis[j].tolist()))
        for j in range(model.njnt)
    }


def test_the_wheel_rig_touches_the_ground_at_zero():
    robot = load_robot("single_wheel_rig")
    model, data = _at_zero("single_wheel_rig")
    wheel = robot.wheels["W"]
    assert data.body(wheel.body).xpos == pytest.approx([0, 0, wheel.radius], abs=1e-12)
    assert _axes(model) == {
        "travel": ("slide", (1, 0, 0)),
        "lift": ("slide", (0, 0, 1)),
        "steer": ("hinge", (0, 0, 1)),
        "wheel_y": ("hinge", (0, 1, 0)),
    }
    assert not model.dof_armature.any()
    assert not model.dof_damping.any()


def test_the_wheel_rig_has_its_stated_masses():
    robot = load_robot("single_wheel_rig")
    model, data = _at_zero("single_wheel_rig")
    mass = {k: n["value"] for k, n in robot.numbers.items()}
    # inertia seen by each joint: everything that it moves
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    carried = mass["lift_mass"] + mass["wheel_mass"]
    at = {model.joint(j).name: int(model.jnt_dofadr[j]) for j in range(model.njnt)}
    assert inertia[at["travel"], at["travel"]] == pytest.approx(carried + mass["carriage_mass"])
    assert inertia[at["lift"], at["lift"]] == pytest.approx(carried)
    solid = mass["wheel_mass"] * robot.wheels["W"].radius ** 2 / 2
    assert inertia[at["wheel_y"], at["wheel_y"]] == pytest.approx(solid)
    # no joint pushes another: the rig's forces are those of the ground
    assert inertia == pytest.approx(np.diag(np.diag(inertia)), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "half"), [("plate_rig", (0.05, 0.05)), ("plate_rig_rect", (0.15, 0.05))]
)
def test_the_plate_lies_on_the_ground_at_zero(name, half):
    model, data = _at_zero(name)
    geom = model.geom("plate")
    thickness = geom.size[1] if name == "plate_rig" else geom.size[2]
    assert data.geom("plate").xpos[2] - thickness == pytest.approx(0, abs=1e-12)
    side = (geom.size[0], geom.size[0]) if name == "plate_rig" else tuple(geom.size[:2])
    assert side == pytest.approx(half)
    assert _axes(model) == {"press": ("slide", (0, 0, 1))}
    stated = load_robot(name).numbers["plate_mass"]["value"]
    assert model.body_subtreemass[0] == pytest.approx(stated)
    assert model.geom("plate").contype[0] == 1
