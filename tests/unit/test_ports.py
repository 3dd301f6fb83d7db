"""What passes between modules: shapes, defaults, and what is said where they do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ports import (
    BaseState,
    ContactBodyStates,
    ContactBodyWrenches,
    JointCommands,
    JointStates,
    ports,
)

MESSAGES = (ContactBodyStates, ContactBodyWrenches, JointStates, JointCommands, BaseState)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.__name__)
def test_every_field_has_shape_and_meaning(message):
    for port in ports(message).values():
        assert port.meaning
        assert set(port.shape.split(", ")) <= {"n", "m", "3", "4", "7"}


def test_fields_left_out_and_single_numbers_are_filled_in():
    organs = ContactBodyStates(("a", "b"), np.zeros((2, 3)), velocity=0.5).fit(n=2)
    assert organs.velocity.tolist() == [[0.5] * 3] * 2
    assert organs.rotation.tolist() == np.stack([np.eye(3)] * 2).tolist()
    assert organs.kind == ("", "")
    commands = JointCommands(torque=[1, 2, 3]).fit(m=3)
    assert commands.torque.dtype == float
    assert np.isnan(commands.speed).all() and np.isinf(commands.limit).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ContactBodyWrenches([1.0, 2.0, 3.0]), r"force: has the shape \(3,\); \(2, 3\)"),
        (lambda: ContactBodyWrenches([[1.0] * 3] * 2, np.inf), "moment: has a value that is not"),
        (lambda: ContactBodyWrenches("up"), "force: must be numbers"),
        (lambda: ContactBodyStates(("a",), 0.0, 0.0), "name: 1 names; 2 are needed"),
    ],
)
def test_what_does_not_fit_is_named(make, says):
    with pytest.raises(InputError, match=says):
        make().fit(n=2)


def test_unknown_joints_are_named():
    joints = JointStates(("knee", "hip"), [0, 0], [0, 0])
    assert joints.index("hip", "knee") == [1, 0]
    with pytest.raises(InputError, match="unknown joint 'kne'; did you mean 'knee'"):
        joints.index("kne")
