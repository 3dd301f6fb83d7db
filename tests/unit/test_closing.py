"""Closing loops at the start, against the geometry of four-bar linkages."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.robot import BallLoop, GearLoop, HingeLoop
from marsyard.robot.closing import close_loops, closed_pose
from marsyard.robot.loops import add_loops

CRANK, COUPLER, ROCKER = 0.2, 0.5, 0.4


def _four_bar(ground=0.5, loops=None, extra="", free=False):
    """Crank at the origin, coupler on it, rocker at x = ground; the cut is coupler to rocker."""
    root = '<freejoint/><geom size="0.05"/>' if free else '<geom size="0.05"/>'
    xml = f"""<mujoco><compiler angle="radian"/><worldbody><body name="frame">{root}
      <body name="crank"><joint name="crank" axis="0 -1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 {CRANK} 0 0"/>
        <body name="coupler" pos="{CRANK} 0 0"><joint name="coupler" axis="0 -1 0"/>
          <geom type="capsule" size="0.01" fromto="0 0 0 {COUPLER} 0 0"/></body></body>
      <body name="rocker" pos="{ground} 0 0"><joint name="rocker" axis="0 -1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 {ROCKER} 0 0"/></body>
    {extra}</body></worldbody></mujoco>"""
    spec = mujoco.MjSpec.from_string(xml)
    if loops is None:
        loops = {"knee": _pin(BallLoop)}
    add_loops(spec, loops, "bar")
    model = spec.compile()
    return model, mujoco.MjData(model)


def _pin(kind):
    name = "ball" if kind is BallLoop else "hinge"
    return kind(kind=name, body="coupler", other="rocker", point=(COUPLER, 0, 0),
                other_point=(ROCKER, 0, 0))  # fmt: skip


def _ends(q, ground=0.5):
    """Both sides of the cut in the plane, by trigonometry."""
    crank, coupler, rocker = q[-3:]
    first = CRANK * np.exp(1j * crank) + COUPLER * np.exp(1j * (crank + coupler))
    return first, ground + ROCKER * np.exp(1j * rocker)


def _nearest(start, ground=0.5):
    """The closed pose nearest to `start`, by looking along the one-parameter family of poses."""
    best, found = np.inf, None
    for crank in start[0] + np.linspace(-1.5, 1.5, 60001):
        pin = CRANK * np.exp(1j * crank)
        across = ground - pin
        far = abs(across)
        if not abs(COUPLER - ROCKER) <= far <= COUPLER + ROCKER:
            continue
        inner = np.arccos((COUPLER**2 + far**2 - ROCKER**2) / (2 * COUPLER * far))
        for side in (1, -1):
            heading = np.angle(across) + side * inner
            knee = pin + COUPLER * np.exp(1j * heading)
            pose = np.array([crank, heading - crank, np.angle(knee - ground)])
            step = (pose - start + np.pi) % (2 * np.pi) - np.pi
            if step @ step < best:
                best, found = step @ step, start + step
    return found


@pytest.mark.parametrize("start", [(0.9, 0.4, 1.5), (1.2, -0.2, 2.0), (0.3, 1.0, 1.0)])
def test_an_open_four_bar_goes_to_the_nearest_closed_pose(start):
    model, data = _four_bar()
    data.qpos[:] = start
    a, b = _ends(data.qpos)
    assert abs(a - b) > 0.02
    close_loops(model, data, "bar")
    a, b = _ends(data.qpos)
    assert abs(a - b) < 1e-12
    assert data.qpos == pytest.approx(_nearest(np.array(start)), abs=1e-4)


def test_a_free_base_stays_where_it_is():
    model, data = _four_bar(free=True)
    data.qpos[:7] = (1.0, 2.0, 3.0, np.cos(0.2), 0.0, np.sin(0.2), 0.0)
    data.qpos[7:] = (0.9, 0.4, 1.5)
    held = data.qpos[:7].copy()
    close_loops(model, data, "bar")
    assert np.array_equal(data.qpos[:7], held)
    a, b = _ends(data.qpos)
    assert abs(a - b) < 1e-11


def test_a_closed_pose_is_left_bit_for_bit():
    model, data = _four_bar()
    data.qpos[:] = (0.9, 0.4, 1.5)
    close_loops(model, data, "bar")
    before = data.qpos.copy()
    close_loops(model, data, "bar")
    assert np.array_equal(before, data.qpos)
    assert before.tobytes() == data.qpos.tobytes()


def test_redundant_equations_do_no_harm():
    # a hinge across a plane linkage: six equations, two of them independent
    model, data = _four_bar(loops={"knee": _pin(HingeLoop), "again": _pin(BallLoop)})
    data.qpos[:] = (0.9, 0.4, 1.5)
    close_loops(model, data, "bar")
    plain, other = _four_bar()
    other.qpos[:] = (0.9, 0.4, 1.5)
    close_loops(plain, other, "bar")
    a, b = _ends(data.qpos)
    assert abs(a - b) < 1e-11
    assert data.qpos == pytest.approx(other.qpos, abs=1e-6)


def test_links_in_line_are_left_sideways():
    # stretched out on the ground line, too long: every step by the slope keeps the line
    model, data = _four_bar()
    data.qpos[:] = (0.0, 0.0, 0.0)
    close_loops(model, data, "bar")
    a, b = _ends(data.qpos)
    assert abs(a - b) < 1e-9


def test_a_loop_that_cannot_close_is_one_sentence():
    # ground 1.132 m, links 1.1 m: 3.2 cm short when stretched
    model, data = _four_bar(ground=1.132)
    data.qpos[:] = (0.2, 0.1, 3.0)
    before = data.qpos.copy()
    with pytest.raises(InputError) as error:
        close_loops(model, data, "bar")
    assert str(error.value) == "bar: loops.knee cannot close: its ends stay 3.2 cm apart at best"
    assert np.array_equal(before, data.qpos)
    assert closed_pose(model, before).worst == pytest.approx(0.032, abs=1e-6)


@pytest.mark.parametrize("kind", [BallLoop, HingeLoop])
def test_names_of_loops_are_told_whole(kind):
    """Colons in names are not those that stand between the parts of a loop."""
    model, data = _four_bar(ground=1.132, loops={"left:knee:1": _pin(kind)})
    with pytest.raises(InputError, match=r"^bar: loops\.left:knee:1 cannot close"):
        close_loops(model, data, "bar")


def test_gears_close_and_say_angles_when_they_cannot():
    gear = GearLoop(kind="gear", joint="rocker", other="crank", ratio=-1.0)
    model, data = _four_bar(loops={"differential": gear})
    data.qpos[:] = (0.3, 0.5, 0.1)
    close_loops(model, data, "bar")
    # the nearest point of the line rocker = -crank
    assert data.qpos == pytest.approx([0.1, 0.5, -0.1], abs=1e-12)
    against = GearLoop(kind="gear", joint="rocker", other="crank", ratio=-1.0, offset=0.1)
    model, data = _four_bar(loops={"one": gear, "two": against})
    with pytest.raises(InputError, match=r"^bar: loops.(one|two) cannot close: its joints stay"):
        close_loops(model, data, "bar")


def test_a_model_without_loops_is_left_alone():
    model, data = _four_bar(loops={})
    data.qpos[:] = (0.9, 0.4, 1.5)
    close_loops(model, data, "bar")
    assert data.qpos.tolist() == [0.9, 0.4, 1.5]
